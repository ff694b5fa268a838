/* SPDX-License-Identifier: Apache-2.0 */
#include "store/backup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/archive.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/crash.h"
#include "base/file.h"
#include "base/id.h"
#include "base/sign.h"

#define NOTE_MAX 4096
#define KEYS_MAX ((size_t)1024 * 1024)
#define AUDIT_MAX ((size_t)256 * 1024 * 1024)

static int
fail(const char *what, struct error *err)
{
    return error_set(err, ERROR_INTERNAL, "backup: %s: %s", what,
                     strerror(errno));
}

/* A name below a directory; free() it. */
static char *
below(const char *directory, const char *name)
{
    struct buffer path = { 0 };

    buffer_printf(&path, "%s/%s", directory, name);
    return path.bytes;
}

#define scoped_path __attribute__((cleanup(free_path))) char *
static void
free_path(char *const *path)
{
    free(*path);
}

static int
sync_directory(const char *path, struct error *err)
{
    scoped_fd fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 && fsync(fd) == 0 ? 0 : fail("sync", err);
}

/* --- what the audit files have that the database has not --- */

static void
add_note(json_t *notes, const char *audit, const char *log)
{
    scoped_path directory = below(audit, log);
    scoped_path path = below(directory, "checkpoint");
    scoped_buffer note = { 0 };
    struct error ignored;

    if (log[0] != '.' && file_read(path, NOTE_MAX, &note, &ignored) == 0)
        (void)json_object_set_new(notes, log,
                                  json_string(buffer_text(&note)));
}

static json_t *
describe_audit(const char *audit)
{
    scoped_path path = audit != NULL ? below(audit, "keys") : NULL;
    DIR *directory = audit != NULL ? opendir(audit) : NULL;
    json_t *notes = json_object();
    scoped_buffer keys = { 0 };
    const struct dirent *entry;
    struct error ignored;

    if (path != NULL)
        (void)file_read(path, KEYS_MAX, &keys, &ignored);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of its own */
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        add_note(notes, audit, entry->d_name);
    if (directory != NULL)
        (void)closedir(directory);
    return json_pack("{s:s, s:o}", "keys", buffer_text(&keys), "checkpoints",
                     notes);
}

/* --- writing --- */

/* A file without a name that holds the bytes. */
static int
hold(const char *directory, const struct buffer *bytes, struct error *err)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0)
        return fail("temporary file", err);
    if (file_write_all(fd, bytes->bytes, bytes->size, err) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* The copy of the database; it has no name any more when this returns. */
static int
copy_store(const struct backup_source *source, struct store_copy *copy_out,
           struct error *err)
{
    char name[48];
    unsigned char random[8];
    scoped_path path = NULL;
    int fd, rc;

    random_bytes(random, sizeof(random));
    (void)snprintf(name, sizeof(name), STORE_COPY_PREFIX);
    hex_encode(random, sizeof(random), name + strlen(name));
    path = below(source->store, name);
    rc = source->ops->copy(source->store, path, copy_out, err);
    CRASH_POINT("backup.copied");
    fd = rc == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (rc == 0 && fd < 0)
        (void)fail("copy", err);
    (void)unlink(path);
    return fd;
}

static json_t *
make_facts(const struct backup_source *source, const struct store_copy *copy,
           struct backup_info *info)
{
    static const char what[] =
        "every key: control.key, the signer's key, the key that seals "
        "secrets; keep them apart from this file";

    clock_format(source->now_ms, info->created);
    (void)snprintf(info->version, sizeof(info->version), "%s",
                   source->version);
    info->schema = copy->schema;
    info->revision = copy->position.revision;
    return json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:s}", "version",
                     info->version, "created", info->created, "store",
                     source->ops->name, "schema", (json_int_t)copy->schema,
                     "revision", (json_int_t)copy->position.revision,
                     "epoch", (json_int_t)copy->position.epoch, "left_out",
                     what);
}

int
backup_write(const struct backup_source *source, int fd,
             struct backup_info *info_out, struct error *err)
{
    struct backup_info info = { 0 };
    struct store_copy copy = { 0 };
    /* Before the copy: what was signed is in it. */
    scoped_json audit = describe_audit(source->audit);
    scoped_json facts = NULL;
    scoped_buffer bytes = { 0 };
    scoped_fd store = -1, notes = -1;
    struct stat status;

    json_write(&bytes, audit);
    store = copy_store(source, &copy, err);
    if (store < 0)
        return -1;
    notes = hold(source->store, &bytes, err);
    if (notes < 0)
        return -1;
    facts = make_facts(source, &copy, &info);
    if (archive_write(fd, BACKUP_KIND, facts,
                      (struct archive_source[]){ { "store", store },
                                                 { "audit", notes } },
                      2, info.digest, err) != 0)
        return -1;
    CRASH_POINT("backup.written");
    if (fsync(fd) != 0 || fstat(fd, &status) != 0)
        return fail("sync", err);
    info.size = status.st_size;
    *info_out = info;
    return 0;
}

/* The directory of a path; free() it. */
static char *
directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct buffer text = { 0 };

    if (slash == NULL || slash == path)
        buffer_add_text(&text, slash == NULL ? "." : "/");
    else
        buffer_add(&text, path, (size_t)(slash - path));
    return text.bytes;
}

/* Opens PATH.partial, left over or new, for this writer alone. */
static int
open_partial(const char *partial, struct error *err)
{
    int fd = open(partial, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return fail("open", err);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        (void)close(fd);
        return error_set(err, ERROR_CONFLICT,
                         "another backup is being written there");
    }
    if (ftruncate(fd, 0) == 0 && fchmod(fd, 0600) == 0)
        return fd;
    (void)fail("open", err);
    (void)close(fd);
    return -1;
}

int
backup_file(const struct backup_source *source, const char *path,
            struct backup_info *info_out, struct error *err)
{
    scoped_path directory = directory_of(path);
    scoped_buffer partial = { 0 };
    scoped_fd fd = -1;

    buffer_printf(&partial, "%s.partial", path);
    fd = open_partial(partial.bytes, err);
    if (fd < 0)
        return -1;
    if (backup_write(source, fd, info_out, err) != 0) {
        (void)unlink(partial.bytes);
        return -1;
    }
    if (rename(partial.bytes, path) != 0)
        return fail("rename", err);
    return sync_directory(directory, err);
}

/* --- reading --- */

static int
read_info(const struct archive *archive, int fd, struct backup_info *info,
          struct error *err)
{
    const char *version = "", *created = "";
    struct stat status = { 0 };

    if (json_text(archive->facts, "version", true, 31, &version, err) != 0 ||
        json_text(archive->facts, "created", true, 31, &created, err) != 0 ||
        json_int(archive->facts, "schema", true, 1, 1000000, &info->schema,
                 err) != 0 ||
        json_int(archive->facts, "revision", true, 0, INT64_MAX,
                 &info->revision, err) != 0)
        return error_prefix(err, "backup");
    (void)snprintf(info->version, sizeof(info->version), "%s", version);
    (void)snprintf(info->created, sizeof(info->created), "%s", created);
    (void)snprintf(info->digest, sizeof(info->digest), "%s",
                   archive->digest);
    (void)fstat(fd, &status);
    info->size = status.st_size;
    return 0;
}

/* The descriptor, with the archive to be released, or -1. */
static int
open_checked(const char *path, struct archive *archive,
             struct backup_info *info, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return error_set(err, ERROR_NOT_FOUND, "backup: %s: %s", path,
                         strerror(errno));
    if (archive_open(fd, BACKUP_KIND, archive, err) != 0) {
        (void)close(fd);
        return -1;
    }
    if (archive_check(fd, archive, err) == 0 &&
        read_info(archive, fd, info, err) == 0)
        return fd;
    archive_release(archive);
    (void)close(fd);
    return -1;
}

int
backup_check(const char *path, struct backup_info *info_out,
             struct error *err)
{
    struct archive archive;
    struct backup_info info = { 0 };
    int fd = open_checked(path, &archive, &info, err);

    if (fd < 0)
        return -1;
    archive_release(&archive);
    (void)close(fd);
    *info_out = info;
    return 0;
}

/* --- putting back --- */

static int
extract(int fd, const struct archive *archive, const char *part,
        const char *path, struct error *err)
{
    scoped_fd to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (to < 0)
        return fail("create", err);
    if (archive_extract(fd, archive, part, to, err) != 0)
        return -1;
    return fsync(to) == 0 ? 0 : fail("sync", err);
}

/* A directory of plain files, left over from before. */
static void
clear(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;

    if (directory == NULL)
        return;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of its own */
    while ((entry = readdir(directory)) != NULL) {
        scoped_path name = below(path, entry->d_name);

        if (entry->d_name[0] != '.')
            (void)unlink(name);
    }
    (void)closedir(directory);
    (void)rmdir(path);
}

static int
unpack(const struct store_ops *ops, int fd, const struct archive *archive,
       const char *fresh, struct error *err)
{
    scoped_path store = below(fresh, "store");
    scoped_path audit = below(fresh, "audit");
    scoped_path database = below(store, ops->file);
    scoped_path notes = below(audit, "inherited");

    clear(store);
    clear(audit);
    if (file_make_directory(store, 0700, err) != 0 ||
        file_make_directory(audit, 0750, err) != 0 ||
        extract(fd, archive, "store", database, err) != 0 ||
        extract(fd, archive, "audit", notes, err) != 0 ||
        ops->mark(database, archive->digest, err) != 0)
        return -1;
    CRASH_POINT("restore.unpacked");
    if (sync_directory(store, err) != 0 || sync_directory(audit, err) != 0)
        return -1;
    return sync_directory(fresh, err);
}

int
backup_restore(const struct store_ops *ops, const char *path,
               const char *data, struct backup_info *info_out,
               struct error *err)
{
    scoped_path fresh = below(data, "restore.new");
    scoped_path ready = below(data, "restore.ready");
    struct backup_info info = { 0 };
    struct archive archive;
    scoped_fd fd = open_checked(path, &archive, &info, err);
    int rc;

    if (fd < 0)
        return -1;
    rc = backup_finish(data, err);
    if (rc == 0)
        rc = file_make_directory(fresh, 0700, err);
    if (rc == 0)
        rc = unpack(ops, fd, &archive, fresh, err);
    archive_release(&archive);
    if (rc != 0)
        return -1;
    if (rename(fresh, ready) != 0)
        return fail("rename", err);
    CRASH_POINT("restore.ready");
    if (sync_directory(data, err) != 0 || backup_finish(data, err) != 0)
        return -1;
    *info_out = info;
    return 0;
}

/* The first "before-restore-N" that has no such part yet. */
static int
make_aside(const char *data, const char *part, struct buffer *out,
           struct error *err)
{
    for (unsigned number = 1;; number++) {
        scoped_buffer inside = { 0 };

        buffer_clear(out);
        buffer_printf(out, "%s/before-restore-%u", data, number);
        buffer_printf(&inside, "%s/%s", out->bytes, part);
        if (access(inside.bytes, F_OK) != 0)
            return file_make_directory(out->bytes, 0700, err);
    }
}

static int
put(const char *data, const char *ready, const char *part, struct error *err)
{
    scoped_path from = below(ready, part);
    scoped_path to = below(data, part);
    scoped_buffer aside = { 0 };

    if (access(from, F_OK) != 0)
        return 0;
    if (access(to, F_OK) == 0) {
        scoped_path old = NULL;

        if (make_aside(data, part, &aside, err) != 0)
            return -1;
        old = below(aside.bytes, part);
        if (rename(to, old) != 0)
            return fail("move aside", err);
        CRASH_POINT("restore.aside");
        if (sync_directory(aside.bytes, err) != 0)
            return -1;
    }
    if (rename(from, to) != 0)
        return fail("move", err);
    CRASH_POINT("restore.moved");
    return sync_directory(data, err);
}

int
backup_finish(const char *data, struct error *err)
{
    scoped_path ready = below(data, "restore.ready");

    if (access(ready, F_OK) != 0)
        return 0;
    /* The store last: while it is not there, all is done again. */
    if (put(data, ready, "audit", err) != 0 ||
        put(data, ready, "store", err) != 0)
        return -1;
    if (rmdir(ready) != 0)
        return fail("end", err);
    return sync_directory(data, err);
}
