/* SPDX-License-Identifier: Apache-2.0 */
#include "base/archive.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/file.h"

#define VERSION_NUMBER 1
#define HEAD_MAX ((size_t)1024 * 1024)
#define CHUNK ((size_t)256 * 1024)
#define LINE_MAX_SIZE 80

/* Sends size bytes of `from`, from offset on, to `to` (-1: nowhere) and gives
 * their digest. */
static int
pass(int from, int64_t offset, int64_t size, int to, struct digest *out,
     struct error *err)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    char *chunk = memory_new(1, CHUNK);
    int rc = context != NULL &&
                     EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1
                 ? 0
                 : error_set(err, ERROR_INTERNAL, "archive: no SHA-256");

    while (rc == 0 && size > 0) {
        size_t want = size < (int64_t)CHUNK ? (size_t)size : CHUNK;
        ssize_t got = pread(from, chunk, want, offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            rc = error_set(err, got == 0 ? ERROR_VERIFY : ERROR_INTERNAL,
                           "archive: a part ends early");
            break;
        }
        (void)EVP_DigestUpdate(context, chunk, (size_t)got);
        if (to >= 0)
            rc = file_write_all(to, chunk, (size_t)got, err);
        offset += got;
        size -= got;
    }
    if (rc == 0)
        (void)EVP_DigestFinal_ex(context, out->bytes, NULL);
    EVP_MD_CTX_free(context);
    free(chunk);
    return rc;
}

/* --- writing --- */

static int
size_of(int fd, int64_t *size_out, struct error *err)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        return error_set(err, ERROR_INTERNAL, "archive: %s", strerror(errno));
    *size_out = status.st_size;
    return 0;
}

static int
describe(const struct archive_source *sources, size_t count,
         json_t **list_out, struct error *err)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        char text[DIGEST_TEXT_MAX];
        struct digest digest = { { 0 } };
        int64_t size = 0;

        if (size_of(sources[i].fd, &size, err) != 0 ||
            pass(sources[i].fd, 0, size, -1, &digest, err) != 0) {
            json_decref(list);
            return -1;
        }
        digest_format(&digest, text);
        (void)json_array_append_new(
            list, json_pack("{s:s, s:I, s:s}", "name", sources[i].name,
                            "size", (json_int_t)size, "sha256", text));
    }
    *list_out = list;
    return 0;
}

int
archive_write(int fd, const char *kind, const json_t *facts,
              const struct archive_source *sources, size_t count,
              char digest_out[DIGEST_TEXT_MAX], struct error *err)
{
    scoped_json head = json_object();
    scoped_buffer bytes = { 0 }, line = { 0 };
    json_t *list = NULL;
    struct digest digest;

    if (describe(sources, count, &list, err) != 0)
        return -1;
    (void)json_object_set_new(head, "facts", json_deep_copy(facts));
    (void)json_object_set_new(head, "parts", list);
    json_write(&bytes, head);
    buffer_printf(&line, "%s %d %zu\n", kind, VERSION_NUMBER, bytes.size);
    digest_of(bytes.bytes, bytes.size, &digest);
    buffer_add_byte(&bytes, '\n');
    if (file_write_all(fd, line.bytes, line.size, err) != 0 ||
        file_write_all(fd, bytes.bytes, bytes.size, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        int64_t size = json_integer_value(json_object_get(item, "size"));
        struct digest again;
        char text[DIGEST_TEXT_MAX];

        if (pass(sources[i].fd, 0, size, fd, &again, err) != 0)
            return -1;
        digest_format(&again, text);
        if (strcmp(text, json_string_value(json_object_get(
                             item, "sha256"))) != 0)
            return error_set(err, ERROR_CONFLICT,
                             "archive: %s changed meanwhile",
                             sources[i].name);
    }
    digest_format(&digest, digest_out);
    return 0;
}

/* --- reading --- */

static int
damaged(struct error *err)
{
    return error_set(err, ERROR_VERIFY, "the file is damaged");
}

static int
read_line(int fd, const char *kind, size_t *line_out, size_t *size_out,
          struct error *err)
{
    char text[LINE_MAX_SIZE + 1] = "";
    size_t length = strlen(kind);
    ssize_t got = pread(fd, text, LINE_MAX_SIZE, 0);
    const char *end = got > 0 ? memchr(text, '\n', (size_t)got) : NULL;
    char *after;
    long long version, size;

    if (end == NULL || strncmp(text, kind, length) != 0 ||
        text[length] != ' ')
        return error_set(err, ERROR_UNSUPPORTED, "the file is no %s", kind);
    version = strtoll(text + length, &after, 10);
    if (version != VERSION_NUMBER)
        return error_set(err, ERROR_UNSUPPORTED,
                         "the file has version %lld of its format; this "
                         "program knows %d",
                         version, VERSION_NUMBER);
    size = strtoll(after, &after, 10);
    if (after != end || size <= 0 || size > (long long)HEAD_MAX)
        return damaged(err);
    *line_out = (size_t)(end - text) + 1;
    *size_out = (size_t)size;
    return 0;
}

static int
read_part(const json_t *item, int64_t offset, struct archive_part *out,
          struct error *err)
{
    const char *name = NULL, *digest = NULL;

    if (json_text(item, "name", true, ARCHIVE_NAME_MAX - 1, &name, err) !=
            0 ||
        json_int(item, "size", true, 0, INT64_MAX / ARCHIVE_PARTS,
                 &out->size, err) != 0 ||
        json_text(item, "sha256", true, DIGEST_TEXT_MAX - 1, &digest, err) !=
            0 ||
        digest_parse(digest, &out->digest) != 0)
        return damaged(err);
    (void)snprintf(out->name, sizeof(out->name), "%s", name);
    out->offset = offset;
    return 0;
}

static int
read_parts(int fd, const json_t *list, int64_t offset, struct archive *out,
           struct error *err)
{
    int64_t size = 0;

    if (json_array_size(list) > ARCHIVE_PARTS ||
        size_of(fd, &size, err) != 0)
        return damaged(err);
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct archive_part *part = &out->parts[out->count];

        if (read_part(json_array_get(list, i), offset, part, err) != 0)
            return -1;
        offset += part->size;
        out->count++;
    }
    if (offset == size)
        return 0;
    return error_set(err, ERROR_VERIFY,
                     "the file has %lld bytes and should have %lld",
                     (long long)size, (long long)offset);
}

int
archive_open(int fd, const char *kind, struct archive *archive_out,
             struct error *err)
{
    struct archive archive = { 0 };
    scoped_json head = NULL;
    scoped_buffer bytes = { 0 };
    size_t line = 0, size = 0;
    struct digest digest;
    char *text;
    ssize_t got;

    if (read_line(fd, kind, &line, &size, err) != 0)
        return -1;
    text = memory_new(1, size + 1);
    got = pread(fd, text, size, (off_t)line);
    if (got > 0)
        buffer_add(&bytes, text, (size_t)got);
    free(text);
    if (bytes.size != size)
        return damaged(err);
    head = json_read(bytes.bytes, size, err);
    if (head == NULL ||
        read_parts(fd, json_object_get(head, "parts"),
                   (int64_t)(line + size + 1), &archive, err) != 0) {
        err->code = ERROR_VERIFY;
        return -1;
    }
    digest_of(bytes.bytes, size, &digest);
    digest_format(&digest, archive.digest);
    archive.facts = json_incref(json_object_get(head, "facts"));
    *archive_out = archive;
    return 0;
}

static int
pass_part(int fd, const struct archive_part *part, int to, struct error *err)
{
    struct digest digest = { { 0 } };

    if (pass(fd, part->offset, part->size, to, &digest, err) != 0)
        return -1;
    if (digest_compare(&digest, &part->digest) != 0)
        return error_set(err, ERROR_VERIFY,
                         "the part \"%s\" is not the one that was written",
                         part->name);
    return 0;
}

int
archive_check(int fd, const struct archive *archive, struct error *err)
{
    for (size_t i = 0; i < archive->count; i++)
        if (pass_part(fd, &archive->parts[i], -1, err) != 0)
            return -1;
    return 0;
}

int
archive_extract(int fd, const struct archive *archive, const char *name,
                int to, struct error *err)
{
    for (size_t i = 0; i < archive->count; i++)
        if (strcmp(archive->parts[i].name, name) == 0)
            return pass_part(fd, &archive->parts[i], to, err);
    return error_set(err, ERROR_VERIFY, "the file has no part \"%s\"", name);
}

void
archive_release(struct archive *archive)
{
    json_decref(archive->facts);
    archive->facts = NULL;
}
