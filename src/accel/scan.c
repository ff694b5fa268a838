/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/scan.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"

static bool
is_target(const struct stat *file, const struct scan_target *target)
{
    if (S_ISCHR(file->st_mode))
        return file->st_rdev == target->rdev;
    return file->st_dev == target->dev && file->st_ino == target->ino;
}

/* What one process has, target by target. */
struct hits {
    const struct scan_target *targets;
    size_t count;
    bool *found;
    bool any;
};

static void
look_at_open(int process_fd, struct hits *hits)
{
    int fd = openat(process_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (directory == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    while ((entry = readdir(directory)) != NULL) {
        struct stat file;

        if (!isdigit((unsigned char)entry->d_name[0]) ||
            fstatat(fd, entry->d_name, &file, 0) != 0)
            continue;
        for (size_t i = 0; i < hits->count; i++)
            if (is_target(&file, &hits->targets[i]))
                hits->found[i] = hits->any = true;
    }
    (void)closedir(directory);
}

/* A line of maps: ADDRESS RIGHTS OFFSET MAJOR:MINOR INODE PATH. */
static bool
read_mapping(const char *line, struct stat *file_out)
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
    *file_out = (struct stat){
        .st_mode = S_IFREG,
        .st_dev = makedev((unsigned)major_number, (unsigned)minor_number),
        .st_ino = strtoumax(at, NULL, 10),
    };
    return file_out->st_ino != 0;
}

/* A file stays in use through a mapping after its descriptor is closed. */
static void
look_at_mapped(int process_fd, struct hits *hits)
{
    int fd = openat(process_fd, "maps", O_RDONLY | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "re");
    char line[512];

    if (file == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        struct stat mapped;

        if (!read_mapping(line, &mapped))
            continue;
        for (size_t i = 0; i < hits->count; i++)
            if (is_target(&mapped, &hits->targets[i]))
                hits->found[i] = hits->any = true;
    }
    (void)fclose(file);
}

static void
read_name(int process_fd, char *name, size_t room)
{
    scoped_fd fd = openat(process_fd, "comm", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, name, room - 1);

    name[size > 0 ? size : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
}

static pid_t
parent_of(int process_fd)
{
    scoped_fd fd = openat(process_fd, "stat", O_RDONLY | O_CLOEXEC);
    char text[256];
    ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    const char *at;

    text[size > 0 ? size : 0] = '\0';
    at = strrchr(text, ')'); /* PID (NAME) STATE PARENT ... */
    return at != NULL && strlen(at) > 4 ? (pid_t)strtol(at + 4, NULL, 10) : 0;
}

static bool
is_own_child(int process_fd)
{
    struct stat own, other;

    return parent_of(process_fd) == getpid() &&
           stat("/proc/self/exe", &own) == 0 &&
           fstatat(process_fd, "exe", &other, 0) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

static void
keep(struct accel_crew *crew, int process_fd, pid_t pid)
{
    struct accel_process *process = &crew->list[crew->count];

    if ((crew->count > 0 && process[-1].pid == pid) ||
        crew->count == ACCEL_PROCESSES_MAX)
        return;
    *process = (struct accel_process){ .pid = pid,
                                       .used_mib = -1,
                                       .instance = -1 };
    read_name(process_fd, process->name, sizeof(process->name));
    crew->count++;
}

static void
look_at_process(int process_fd, pid_t pid, struct hits *hits,
                struct accel_crew *lists)
{
    memset(hits->found, 0, hits->count * sizeof(*hits->found));
    hits->any = false;
    look_at_open(process_fd, hits);
    look_at_mapped(process_fd, hits);
    if (!hits->any || is_own_child(process_fd))
        return;
    for (size_t i = 0; i < hits->count; i++)
        if (hits->found[i])
            keep(&lists[hits->targets[i].owner], process_fd, pid);
}

int
scan_processes(const struct scan_target *targets, size_t target_count,
               struct accel_crew *lists, struct error *err)
{
    struct hits hits = { .targets = targets, .count = target_count };
    DIR *proc = target_count > 0 ? opendir("/proc") : NULL;
    const struct dirent *entry;

    if (target_count == 0)
        return 0;
    if (proc == NULL)
        return error_set(err, ERROR_INTERNAL, "open the process list: %s",
                         strerror(errno));
    hits.found = memory_new(target_count, sizeof(*hits.found));
    while ((entry = readdir(proc)) != NULL) {
        scoped_fd fd = -1;

        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        fd = openat(dirfd(proc), entry->d_name,
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0)
            look_at_process(fd, (pid_t)strtol(entry->d_name, NULL, 10),
                            &hits, lists);
    }
    free(hits.found);
    (void)closedir(proc);
    return 0;
}

/* The kernel grants a write lease to the only one who has the file, a mapping
 * counts as having it.  Whoever opens it meanwhile waits those microseconds;
 * the signal that tells of them is one that is ignored. */
bool
scan_is_unused(const char *path)
{
    scoped_fd fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0 || fcntl(fd, F_SETSIG, SIGURG) != 0 ||
        fcntl(fd, F_SETLEASE, F_WRLCK) != 0)
        return false;
    (void)fcntl(fd, F_SETLEASE, F_UNLCK);
    return true;
}
