/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/signer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/crash.h"
#include "base/file.h"
#include "core/checkpoint.h"
#include "core/merkle.h"

struct request {
    uint64_t old_size;
    struct merkle_proof proof;
    struct checkpoint next;
};

/* --- the key, and its change --- */

static void
path_of(struct buffer *out, const struct signer *signer, const char *name)
{
    buffer_printf(out, "%s/%s", signer->directory, name);
}

/* The key that the last rotation handed over to; false when there is none. */
static bool
last_rotation(const struct buffer *notes, unsigned *count_out,
              struct keychain_rotation *last, struct error *err)
{
    const char *at = buffer_text(notes), *end = at + notes->size;
    size_t used = 0;

    for (*count_out = 0; at < end; at += used, ++*count_out) {
        if (keychain_read(at, (size_t)(end - at), last, &used, err) != 0)
            return false;
    }
    return true;
}

/* Puts the new key in the place of the old one. */
static int
settle_key(const struct signer *signer, struct error *err)
{
    scoped_buffer key = { 0 }, next = { 0 };
    scoped_fd fd = open(signer->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    path_of(&key, signer, "key");
    path_of(&next, signer, "key.next");
    if (fd < 0 || rename(next.bytes, key.bytes) != 0 || fsync(fd) != 0)
        return error_set(err, ERROR_INTERNAL, "new key: %s", strerror(errno));
    return 0;
}

static int
drop_key(const char *path, struct error *err)
{
    return unlink(path) == 0 ? 0
                             : error_set(err, ERROR_INTERNAL, "new key: %s",
                                         strerror(errno));
}

/* A change of the key counts from when its rotation is on disk. */
static int
finish_rotation(struct signer *signer, struct error *err)
{
    struct keychain_rotation last = { .number = 0 };
    scoped_buffer next = { 0 };
    struct sign_key key;
    struct stat status;

    if (!last_rotation(&signer->rotations, &signer->rotation_count, &last,
                       err))
        return -1;
    path_of(&next, signer, "key.next");
    if (stat(next.bytes, &status) != 0)
        return 0;
    if (signer->rotation_count == 0)
        return drop_key(next.bytes, err);
    if (sign_key_open(next.bytes, &key, err) != 0)
        return -1;
    if (memcmp(key.public_key, last.new_key, SIGN_PUBLIC_SIZE) != 0)
        return drop_key(next.bytes, err);
    return settle_key(signer, err);
}

static int
open_keys(struct signer *signer, struct error *err)
{
    scoped_buffer key = { 0 }, rotations = { 0 };
    struct keychain_rotation last = { .number = 0 };

    path_of(&key, signer, "key");
    path_of(&rotations, signer, "rotations");
    if (file_read(rotations.bytes, KEYCHAIN_SIZE_MAX, &signer->rotations,
                  err) != 0 &&
        err->code != ERROR_NOT_FOUND)
        return -1;
    if (finish_rotation(signer, err) != 0 ||
        sign_key_open(key.bytes, &signer->key, err) != 0)
        return -1;
    if (last_rotation(&signer->rotations, &signer->rotation_count, &last,
                      err) &&
        signer->rotation_count > 0 &&
        memcmp(signer->key.public_key, last.new_key, SIGN_PUBLIC_SIZE) != 0)
        return error_set(err, ERROR_INTERNAL,
                         "the key is not the one that was handed over to");
    return 0;
}

int
signer_open(struct signer *signer_out, const char *directory,
            struct error *err)
{
    scoped_buffer heads = { 0 };
    struct signer signer = { .directory = memory_strdup(directory) };

    buffer_printf(&heads, "%s/heads", directory);
    signer.heads = memory_strdup(heads.bytes);
    if (file_make_directory(heads.bytes, 0700, err) != 0 ||
        open_keys(&signer, err) != 0) {
        signer_close(&signer);
        return error_prefix(err, "signer");
    }
    *signer_out = signer;
    return 0;
}

void
signer_close(struct signer *signer)
{
    free(signer->directory);
    free(signer->heads);
    buffer_release(&signer->rotations);
    sodium_memzero(signer, sizeof(*signer));
}

static int
rotate(struct signer *signer, struct error *err)
{
    scoped_buffer next = { 0 }, path = { 0 }, notes = { 0 };
    struct sign_key key;

    path_of(&next, signer, "key.next");
    path_of(&path, signer, "rotations");
    (void)unlink(next.bytes);
    if (sign_key_open(next.bytes, &key, err) != 0)
        return -1;
    buffer_add(&notes, signer->rotations.bytes, signer->rotations.size);
    keychain_add(&notes, signer->rotation_count + 1, &signer->key, &key);
    CRASH_POINT("signer.rotating");
    if (file_write(path.bytes, notes.bytes, notes.size, 0600, err) != 0)
        return -1;
    CRASH_POINT("signer.handed-over");
    if (settle_key(signer, err) != 0)
        return -1;
    CRASH_POINT("signer.rotated");
    buffer_clear(&signer->rotations);
    buffer_add(&signer->rotations, notes.bytes, notes.size);
    signer->rotation_count++;
    signer->key = key;
    secret_clear(&key, sizeof(key));
    return 0;
}

static void
head_path(struct buffer *out, const struct signer *signer, const char *origin)
{
    buffer_printf(out, "%s/", signer->heads);
    checkpoint_add_file_name(out, origin);
}

/* An absent file is a log that was never signed; one that cannot be read or
 * understood is a failure, never a fresh start. */
static int
head_read(const struct signer *signer, const char *origin,
          struct checkpoint *last_out, struct error *err)
{
    struct checkpoint last = { .size = 0 };
    scoped_buffer path = { 0 }, text = { 0 };

    head_path(&path, signer, origin);
    (void)snprintf(last.origin, sizeof(last.origin), "%s", origin);
    digest_of("", 0, &last.root);
    if (file_read(path.bytes, CHECKPOINT_NOTE_MAX, &text, err) != 0) {
        if (err->code != ERROR_NOT_FOUND)
            return -1;
    } else if (checkpoint_parse_body(buffer_text(&text), text.size, &last) !=
                   text.size ||
               text.size == 0 || strcmp(last.origin, origin) != 0) {
        return error_set(err, ERROR_INTERNAL,
                         "the state of this log is damaged");
    }
    *last_out = last;
    return 0;
}

/* Of all epochs of a log: the last that was begun, beside its heads. */
static void
epoch_path(struct buffer *out, const struct signer *signer,
           const char *origin)
{
    char first[RECORD_ORIGIN_MAX];
    size_t estate = strcspn(origin, "~/");
    const char *slash = strrchr(origin, '/');

    (void)snprintf(first, sizeof(first), "%.*s%s", (int)estate, origin,
                   slash != NULL ? slash : "");
    head_path(out, signer, first);
    buffer_add_text(out, ".epoch");
}

static int
epoch_read(const struct signer *signer, const char *origin,
           int64_t *epoch_out, struct error *err)
{
    scoped_buffer path = { 0 }, text = { 0 };
    char *end;
    int64_t epoch;

    epoch_path(&path, signer, origin);
    *epoch_out = 0;
    if (file_read(path.bytes, 64, &text, err) != 0)
        return err->code == ERROR_NOT_FOUND ? 0 : -1;
    epoch = strtoll(buffer_text(&text), &end, 10);
    if (epoch <= 0 || *end != '\n')
        return error_set(err, ERROR_INTERNAL,
                         "the epoch of this log is damaged");
    *epoch_out = epoch;
    return 0;
}

static int
epoch_write(const struct signer *signer, const char *origin, int64_t epoch,
            struct error *err)
{
    scoped_buffer path = { 0 }, text = { 0 };

    epoch_path(&path, signer, origin);
    buffer_printf(&text, "%" PRId64 "\n", epoch);
    return file_write(path.bytes, text.bytes, text.size, 0600, err);
}

static int
head_write(const struct signer *signer, const struct checkpoint *next,
           struct error *err)
{
    scoped_buffer path = { 0 }, text = { 0 };

    head_path(&path, signer, next->origin);
    checkpoint_add_body(&text, next);
    return file_write(path.bytes, text.bytes, text.size, 0600, err);
}

/* The line at *at without its newline; 0, or -1 when there is none. */
static int
next_line(const char **at, const char *end, const char **line_out,
          size_t *size_out)
{
    const char *stop = *at < end ? memchr(*at, '\n', (size_t)(end - *at))
                                 : NULL;

    if (stop == NULL)
        return -1;
    *line_out = *at;
    *size_out = (size_t)(stop - *at);
    *at = stop + 1;
    return 0;
}

static int
parse_old_size(const char *text, size_t size, uint64_t *old_out)
{
    uint64_t old = 0;

    if (size == 0 || size > 18 || (size > 1 && text[0] == '0'))
        return -1;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        old = 10 * old + (uint64_t)(text[i] - '0');
    }
    *old_out = old;
    return 0;
}

static int
parse_sign(const char *text, size_t size, struct request *out)
{
    const char *at = text, *end = text + size, *line;
    size_t line_size;

    if (next_line(&at, end, &line, &line_size) != 0 || line_size < 5 ||
        parse_old_size(line + 5, line_size - 5, &out->old_size) != 0)
        return -1;
    out->proof.count = 0;
    for (;;) {
        if (next_line(&at, end, &line, &line_size) != 0)
            return -1;
        if (line_size == 0)
            break;
        if (out->proof.count >= MERKLE_PROOF_MAX ||
            base64_decode(line, line_size,
                          out->proof.hash[out->proof.count++].bytes,
                          DIGEST_SIZE) != DIGEST_SIZE)
            return -1;
    }
    return at < end && checkpoint_parse_body(at, (size_t)(end - at),
                                             &out->next) == (size_t)(end - at)
               ? 0
               : -1;
}

static void
refuse(struct buffer *answer, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void
refuse(struct buffer *answer, const char *name, const char *fmt, ...)
{
    char text[256];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    buffer_printf(answer, "refused %s\n%s\n", name, text);
}

/* True when the answer is a refusal. */
static bool
refuse_step(const struct checkpoint *last, const struct request *request,
            struct buffer *answer)
{
    const struct checkpoint *next = &request->next;

    if (next->size == last->size &&
        digest_compare(&next->root, &last->root) == 0)
        return false;
    if (next->size < last->size)
        refuse(answer, "rollback",
               "size %" PRIu64 " is below %" PRIu64 ", which was signed; a "
               "restore has to be declared",
               next->size, last->size);
    else if (next->size == last->size)
        refuse(answer, "fork", "another root of size %" PRIu64 " was signed",
               last->size);
    else if (request->old_size != last->size)
        refuse(answer, "stale", "the size signed last is %" PRIu64,
               last->size);
    else if (!merkle_check_consistency(last->size, &last->root, next->size,
                                       &next->root, request->proof.hash,
                                       request->proof.count))
        refuse(answer, "proof",
               "size %" PRIu64 " is not shown to extend size %" PRIu64,
               next->size, last->size);
    else
        return false;
    return true;
}

/* A restore that was declared begins a later epoch of a log; from its first
 * head on the earlier one is over, whoever goes on with it.  True when the
 * answer is a refusal. */
static bool
refuse_epoch(const struct signer *signer, const char *origin,
             struct buffer *answer)
{
    int64_t epoch = checkpoint_epoch(origin), begun;
    struct error err;

    if (epoch < 0) {
        refuse(answer, "malformed", "the epoch of the log is no number");
        return true;
    }
    if (epoch_read(signer, origin, &begun, &err) != 0 ||
        (epoch > begun && epoch_write(signer, origin, epoch, &err) != 0)) {
        refuse(answer, "failed", "%s", err.text);
        return true;
    }
    CRASH_POINT("signer.begun");
    if (epoch < begun)
        refuse(answer, "superseded",
               "the log was restored: epoch %" PRId64 " began", begun);
    return epoch < begun;
}

static void
answer_keys(const struct signer *signer, struct buffer *answer)
{
    buffer_add_text(answer, "keys\n");
    base64_encode(answer, signer->key.public_key, SIGN_PUBLIC_SIZE);
    buffer_add_byte(answer, '\n');
    buffer_add(answer, signer->rotations.bytes, signer->rotations.size);
}

/* After a failure nobody knows which key is on disk: the next start finds
 * out. */
static void
answer_rotate(struct signer *signer, struct buffer *answer)
{
    struct error err;

    if (signer->rotation_count == KEYCHAIN_MAX)
        refuse(answer, "full", "the key was changed %d times", KEYCHAIN_MAX);
    else if (rotate(signer, &err) != 0)
        refuse(answer, "failed", "%s", err.text);
    else
        answer_keys(signer, answer);
}

static void
answer_sign(const struct signer *signer, const struct request *request,
            struct buffer *answer)
{
    struct checkpoint last = { .size = 0 };
    struct error err;

    if (head_read(signer, request->next.origin, &last, &err) != 0) {
        refuse(answer, "failed", "%s", err.text);
        return;
    }
    if (refuse_step(&last, request, answer) ||
        refuse_epoch(signer, request->next.origin, answer))
        return;
    CRASH_POINT("signer.checked");
    if (request->next.size > last.size &&
        head_write(signer, &request->next, &err) != 0) {
        refuse(answer, "failed", "%s", err.text);
        return;
    }
    CRASH_POINT("signer.remembered");
    buffer_add_text(answer, "ok\n");
    checkpoint_sign(answer, &request->next, &signer->key);
}

static void
answer_head(const struct signer *signer, const char *origin,
            struct buffer *answer)
{
    struct checkpoint last = { .size = 0 };
    struct error err;

    if (head_read(signer, origin, &last, &err) != 0) {
        refuse(answer, "failed", "%s", err.text);
        return;
    }
    buffer_add_text(answer, "head\n");
    checkpoint_add_body(answer, &last);
}

void
signer_answer(struct signer *signer, const char *request, size_t size,
              struct buffer *answer_out)
{
    char origin[RECORD_ORIGIN_MAX] = { 0 };
    struct request sign = { 0 };

    if (size >= 5 && memcmp(request, "sign ", 5) == 0 &&
        parse_sign(request, size, &sign) == 0) {
        answer_sign(signer, &sign, answer_out);
        return;
    }
    if (size > 6 && size - 6 < sizeof(origin) &&
        memcmp(request, "head ", 5) == 0 && request[size - 1] == '\n') {
        memcpy(origin, request + 5, size - 6);
        if (strlen(origin) == size - 6 && checkpoint_origin_valid(origin)) {
            answer_head(signer, origin, answer_out);
            return;
        }
    }
    if (size == 5 && memcmp(request, "keys\n", 5) == 0)
        answer_keys(signer, answer_out);
    else if (size == 7 && memcmp(request, "rotate\n", 7) == 0)
        answer_rotate(signer, answer_out);
    else
        refuse(answer_out, "malformed", "not a request");
}
