/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/archive.h"
#include "base/file.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

#define KIND "bulkhead-backup" /* as in store/backup.h */

struct download {
    int fd;
    struct error error;
    bool failed;
};

static bool
take(const char *bytes, size_t size, void *data)
{
    struct download *download = data;

    download->failed =
        file_write_all(download->fd, bytes, size, &download->error) != 0;
    return !download->failed && !cli_interrupted();
}

static int
fail(const char *path, struct error *err)
{
    return error_set(err, ERROR_INVALID, "%s: %s", path, strerror(errno));
}

static int
open_partial(const char *partial, struct error *err)
{
    int fd = open(partial, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return fail(partial, err);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        (void)close(fd);
        return error_set(err, ERROR_CONFLICT,
                         "another backup is being written to %s", partial);
    }
    if (ftruncate(fd, 0) == 0 && fchmod(fd, 0600) == 0)
        return fd;
    (void)fail(partial, err);
    (void)close(fd);
    return -1;
}

/* Whole, durable, and what the server says it is. */
static int
settle(struct download *download, const char *partial, const char *path,
       struct archive *archive, struct error *err)
{
    if (archive_open(download->fd, KIND, archive, err) != 0)
        return -1;
    if (archive_check(download->fd, archive, err) != 0)
        return -1;
    if (fsync(download->fd) != 0 || rename(partial, path) != 0)
        return fail(path, err);
    return 0;
}

static int
sync_beside(const struct cli *cli, const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    const char *directory =
        slash == NULL ? "."
                      : arena_strndup(cli->arena, path,
                                      (size_t)(slash - path) + 1);
    scoped_fd fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 && fsync(fd) == 0 ? 0 : fail(directory, err);
}

static void
report(const struct cli *cli, const char *path, int fd,
       const struct archive *archive)
{
    struct stat status = { 0 };
    scoped_json object = json_deep_copy(archive->facts);

    (void)fstat(fd, &status);
    (void)json_object_set_new(object, "file", json_string(path));
    (void)json_object_set_new(object, "size",
                              json_integer((json_int_t)status.st_size));
    (void)json_object_set_new(object, "sha256", json_string(archive->digest));
    if (cli->form == OUTPUT_JSON || cli->form == OUTPUT_YAML) {
        output_print(cli, NULL, object);
        return;
    }
    output_line("%s: %lld bytes, sha256 %s", path, (long long)status.st_size,
                archive->digest);
    if (!cli->quiet)
        output_line("left out: %s", json_string_value(json_object_get(
                                        archive->facts, "left_out")));
}

static int
fetch(const struct cli *cli, struct download *download, struct error *err)
{
    if (client_stream(cli, "/api/v1/backup", take, download, err) != 0)
        return -1;
    if (download->failed) {
        *err = download->error;
        return -1;
    }
    return cli_interrupted() ? error_set(err, ERROR_BUSY, "interrupted") : 0;
}

static int
backup(struct cli *cli, struct error *err)
{
    const char *path = cli->words[0];
    const char *partial = arena_printf(cli->arena, "%s.partial", path);
    struct archive archive = { 0 };
    struct download download = { .fd = open_partial(partial, err) };
    scoped_fd fd = download.fd;
    int rc;

    if (fd < 0)
        return -1;
    rc = fetch(cli, &download, err);
    if (rc == 0)
        rc = settle(&download, partial, path, &archive, err);
    if (rc != 0)
        (void)unlink(partial);
    if (rc == 0)
        rc = sync_beside(cli, path, err);
    if (rc == 0)
        report(cli, path, fd, &archive);
    archive_release(&archive);
    return rc;
}

const struct command command_backup = {
    .verb = "backup",
    .words = "FILE",
    .help = "Write a backup of the whole platform to FILE.",
    .more = "The platform goes on meanwhile; the backup is one committed "
            "state of it, audit logs\nincluded. FILE is there whole or not at "
            "all, readable by its owner alone. No key is in it:\nkeep "
            "control.key and the signer's key apart from it. It is put back "
            "by\n`bulkheadd --data DIR --restore FILE`. Needs a recent "
            "`bulkhead stepup`.",
    .words_min = 1,
    .words_max = 1,
    .run = backup,
};
