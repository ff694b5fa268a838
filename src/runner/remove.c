/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/remove.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"

#define LINE_ROOM 8192

static int
remove_one(const char *path, const struct stat *file, int kind,
           struct FTW *place)
{
    (void)file;
    (void)place;
    if (kind == FTW_DP || kind == FTW_D || kind == FTW_DNR)
        (void)rmdir(path);
    else
        (void)unlink(path);
    return 0;
}

void
remove_all(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static bool
is_below(const char *path, const char *top)
{
    size_t size = strlen(top);

    return strncmp(path, top, size) == 0 &&
           (path[size] == '/' || path[size] == '\0');
}

/* The mount points at and below top, in the order they were made. */
static size_t
list_mounts(struct arena *arena, const char *top, const char ***out)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char *line = arena_alloc(arena, LINE_ROOM);
    char *point = arena_alloc(arena, LINE_ROOM);
    const char **list = NULL;
    size_t count = 0;
    size_t room = 0;

    while (file != NULL && fgets(line, LINE_ROOM, file) != NULL) {
        if (sscanf(line, "%*s %*s %*s %*s %8191s", point) != 1 ||
            !is_below(point, top))
            continue;
        if (count == room) {
            const char **more;

            room = room == 0 ? 64 : room * 2;
            more = arena_alloc(arena, room * sizeof(*more));
            if (count > 0)
                memcpy(more, list, count * sizeof(*more));
            list = more;
        }
        list[count++] = arena_strdup(arena, point);
    }
    if (file != NULL)
        (void)fclose(file);
    *out = list;
    return count;
}

void
remove_mounts(const char *path)
{
    scoped_arena arena = arena_new();
    const char **list = NULL;
    size_t count = list_mounts(arena, path, &list);

    while (count > 0)
        (void)umount2(list[--count], MNT_DETACH | UMOUNT_NOFOLLOW);
}

bool
remove_is_mount(const char *path)
{
    struct statx now;

    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS,
                 &now) == 0 &&
           (now.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}
