/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/scan.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"

static bool
is_target(const struct stat *file, const struct scan_target *target)
{
    if (S_ISCHR(file->st_mode))
        return file->st_rdev == target->rdev;
    return file->st_dev == target->dev && file->st_ino == target->ino;
}

static bool
has_open(int process_fd, const struct scan_target *target)
{
    int fd = openat(process_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    bool found = false;
    const struct dirent *entry;

    if (directory == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return false;
    }
    while (!found && (entry = readdir(directory)) != NULL) {
        struct stat file;

        found = isdigit((unsigned char)entry->d_name[0]) &&
                fstatat(fd, entry->d_name, &file, 0) == 0 &&
                is_target(&file, target);
    }
    (void)closedir(directory);
    return found;
}

/* A line of maps: ADDRESS RIGHTS OFFSET MAJOR:MINOR INODE PATH. */
static bool
maps_target(const char *line, const struct scan_target *target)
{
    unsigned long major_number;
    unsigned long minor_number;
    char *at;

    for (int i = 0; i < 3; i++) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    major_number = strtoul(line, &at, 16);
    if (*at != ':')
        return false;
    minor_number = strtoul(at + 1, &at, 16);
    return strtoumax(at, NULL, 10) == target->ino &&
           makedev((unsigned)major_number, (unsigned)minor_number) ==
               target->dev;
}

/* A file stays in use through a mapping after its descriptor is closed. */
static bool
has_mapped(int process_fd, const struct scan_target *target)
{
    int fd = openat(process_fd, "maps", O_RDONLY | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "re");
    char line[512];
    bool found = false;

    if (file == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return false;
    }
    while (!found && fgets(line, sizeof(line), file) != NULL)
        found = maps_target(line, target);
    (void)fclose(file);
    return found;
}

static void
read_name(int process_fd, char *name, size_t room)
{
    scoped_fd fd = openat(process_fd, "comm", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, name, room - 1);

    name[size > 0 ? size : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
}

/* Does the process have any of the targets? */
static bool
has_any(int process_fd, const struct scan_target *targets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (has_open(process_fd, &targets[i]) ||
            has_mapped(process_fd, &targets[i]))
            return true;
    return false;
}

int
scan_processes(const struct scan_target *targets, size_t target_count,
               struct accel_process list[ACCEL_PROCESSES_MAX],
               size_t *count_out, struct error *err)
{
    DIR *proc = opendir("/proc");
    size_t count = 0;
    const struct dirent *entry;

    if (proc == NULL)
        return error_set(err, ERROR_INTERNAL, "open the process list: %s",
                         strerror(errno));
    while (count < ACCEL_PROCESSES_MAX && (entry = readdir(proc)) != NULL) {
        scoped_fd fd = -1;

        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        fd = openat(dirfd(proc), entry->d_name,
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || !has_any(fd, targets, target_count))
            continue;
        list[count].pid = (pid_t)strtol(entry->d_name, NULL, 10);
        list[count].used_mib = -1;
        list[count].shared = false;
        list[count].instance = -1;
        read_name(fd, list[count].name, sizeof(list[count].name));
        count++;
    }
    (void)closedir(proc);
    *count_out = count;
    return 0;
}
