/* SPDX-License-Identifier: Apache-2.0 */
#include "control/space.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "control/journal.h"

struct space {
    struct loop *loop;
    char *directory;
    int64_t low;
    int64_t (*free_bytes)(const char *directory);
    bool full;
};

static int64_t
ask_system(const char *directory)
{
    struct statvfs status;

    if (statvfs(directory, &status) != 0)
        return INT64_MAX; /* a failed commit will tell */
    return (int64_t)(status.f_bavail * status.f_frsize);
}

static void
reserve_path(struct buffer *out, const struct space *space)
{
    buffer_printf(out, "%s/reserve", space->directory);
}

static void
allocate_reserve(const struct space *space)
{
    scoped_buffer path = { 0 };
    scoped_fd fd = -1;

    reserve_path(&path, space);
    fd = open(path.bytes, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || posix_fallocate(fd, 0, SPACE_RESERVE) != 0)
        log_warn("the reserve for a full disk could not be allocated");
}

static void
release_reserve(const struct space *space)
{
    scoped_buffer path = { 0 };

    reserve_path(&path, space);
    if (truncate(path.bytes, 0) != 0)
        log_warn("the reserve for a full disk could not be given up");
}

struct space *
space_new(struct loop *loop, const struct space_options *options)
{
    struct space *space = memory_new(1, sizeof(*space));

    space->loop = loop;
    space->directory = memory_strdup(options->directory);
    space->low = options->low;
    space->free_bytes =
        options->free_bytes != NULL ? options->free_bytes : ask_system;
    if (space->free_bytes(space->directory) >= space->low)
        allocate_reserve(space);
    return space;
}

void
space_free(struct space *space)
{
    if (space == NULL)
        return;
    free(space->directory);
    free(space);
}

/* --- the record of it --- */

struct telling {
    struct job job;
    bool full;
    uint64_t refused;
    int64_t free;
};

static void
run_telling(struct loop *loop, struct job *job)
{
    const struct telling *telling = job->data;
    struct record record = { .observer.component = "space",
                             .actor.kind = "platform",
                             .decision.allow = true,
                             .outcome.status = RECORD_SUCCESS };

    record.action.verb = telling->full ? SPACE_VERB_FULL : SPACE_VERB_ROOM;
    record.decision.reason =
        telling->full
            ? arena_printf(job->arena, "%lld bytes are free",
                           (long long)telling->free)
            : arena_printf(job->arena, "%llu commands were refused",
                           (unsigned long long)telling->refused);
    journal_append(loop, job->arena, world_platform_ref(loop_world(loop)),
                   &record, NULL);
}

static void
end_telling(struct job *job)
{
    arena_free(job->arena);
    free(job->data);
}

static void
tell(const struct space *space, uint64_t refused, int64_t free)
{
    struct telling *telling = memory_new(1, sizeof(*telling));
    struct error err;

    telling->full = space->full;
    telling->refused = refused;
    telling->free = free;
    telling->job = (struct job){ .run = run_telling,
                                 .done = end_telling,
                                 .arena = arena_new(),
                                 .data = telling };
    if (loop_post(space->loop, &telling->job, &err) != 0)
        end_telling(&telling->job);
}

/* --- --- */

static void
become_full(struct space *space, int64_t free)
{
    char reason[LOOP_REASON_MAX];

    (void)snprintf(reason, sizeof(reason),
                   "the disk of the audit log is nearly full (%lld MiB are "
                   "free, %lld are needed): nothing is changed until there "
                   "is room",
                   (long long)(free >> 20), (long long)(space->low >> 20));
    log_error("%s", reason);
    release_reserve(space);
    space->full = true;
    (void)loop_set_full(space->loop, reason);
    tell(space, 0, free);
}

static void
become_roomy(struct space *space, int64_t free)
{
    space->full = false;
    log_info("there is room for the audit log again");
    tell(space, loop_set_full(space->loop, NULL), free);
    allocate_reserve(space);
}

void
space_look(struct space *space)
{
    int64_t free = space->free_bytes(space->directory);

    if (!space->full && free < space->low)
        become_full(space, free);
    else if (space->full && free >= 2 * space->low)
        become_roomy(space, free);
}
