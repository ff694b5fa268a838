/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/told.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"

/* Beside its final name first. */
static int
put(const struct instance *instance, const char *name, const json_t *document,
    struct error *err)
{
    scoped_buffer bytes = { 0 };
    char path[INSTANCE_PATH_MAX + 16], fresh[32];
    scoped_fd directory = -1;
    scoped_fd fd = -1;

    json_write(&bytes, document);
    buffer_add_byte(&bytes, '\n');
    (void)snprintf(path, sizeof(path), "%s/made/run", instance->place);
    (void)snprintf(fresh, sizeof(fresh), "%s.new", name);
    directory = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return error_set(err, ERROR_INTERNAL, "write %s: %s", name,
                         strerror(errno));
    (void)unlinkat(directory, fresh, 0);
    fd = file_open_beneath(directory, fresh, O_WRONLY | O_CREAT | O_EXCL, 0644,
                           err);
    if (fd < 0 || fchmod(fd, 0644) != 0 ||
        file_write_all(fd, bytes.bytes, bytes.size, err) != 0 ||
        renameat(directory, fresh, directory, name) != 0)
        return error_set(err, ERROR_INTERNAL, "write %s", name);
    return 0;
}

int
told_notice(const struct instance *instance, const char *reason,
            int64_t deadline_ms, struct error *err)
{
    char deadline[CLOCK_TEXT_MAX];
    scoped_json notice = NULL;

    clock_format(deadline_ms, deadline);
    notice = json_pack("{s:s, s:s, s:I}", "reason", reason, "deadline",
                       deadline, "deadline_ms", (json_int_t)deadline_ms);
    return put(instance, "notice.json", notice, err);
}

int
told_share(const struct instance *instance, int64_t used_mib,
           int64_t limit_mib, int64_t stops_ms, struct error *err)
{
    scoped_json document =
        json_pack("{s:I, s:I, s:b, s:o}", "used_mib", (json_int_t)used_mib,
                  "limit_mib", (json_int_t)limit_mib, "over",
                  used_mib > limit_mib, "stops", json_time(stops_ms));

    return put(instance, "share.json", document, err);
}

int
told_gang(const struct instance *instance, const struct gang *gang,
          struct error *err)
{
    scoped_json document = NULL;

    if (gang->instances == 0)
        return 0;
    document = gang_write(gang);
    return put(instance, "gang.json", document, err);
}
