/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define TOP "/sys/fs/cgroup"
#define PATH_ROOM 512
#define DEPTH_MAX 8

/* Any of these may be a link to another (cpu -> cpu,cpuacct). */
static const char *const hierarchies[] = { "memory",  "pids",     "cpu",
                                           "cpuacct", "devices",  "freezer",
                                           "blkio",   "cpuset",   "systemd",
                                           "net_cls", "net_prio", "perf_event",
                                           "hugetlb", "misc",     "rdma" };
#define HIERARCHIES (sizeof(hierarchies) / sizeof(hierarchies[0]))

static bool
is_v2(const char *path)
{
    struct statfs fs;

    return statfs(path, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

enum cgroup_mode
cgroup_mode_get(void)
{
    if (is_v2(TOP))
        return CGROUP_V2;
    return is_v2(TOP "/unified") ? CGROUP_HYBRID : CGROUP_V1;
}

const char *
cgroup_mode_text(enum cgroup_mode mode)
{
    static const char *const texts[] = {
        [CGROUP_V1] = "v1", [CGROUP_HYBRID] = "hybrid", [CGROUP_V2] = "v2"
    };

    return texts[mode];
}

static void
place(enum cgroup_mode mode, const char *hierarchy, const char *path,
      const char *file, char out[PATH_ROOM])
{
    if (mode == CGROUP_V2)
        (void)snprintf(out, PATH_ROOM, TOP "%s/%s", path, file);
    else
        (void)snprintf(out, PATH_ROOM, TOP "/%s%s/%s", hierarchy, path, file);
}

static ssize_t
read_small(const char *path, char *text, size_t room)
{
    scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, room - 1);

    text[size > 0 ? size : 0] = '\0';
    return size;
}

/* The number behind key ("" for a file that is only a number). */
static int64_t
read_number(const char *path, const char *key)
{
    char text[4096];
    const char *at = text;
    size_t size = strlen(key);

    if (read_small(path, text, sizeof(text)) <= 0)
        return 0;
    while (size > 0 && at != NULL &&
           (strncmp(at, key, size) != 0 || at[size] != ' ')) {
        at = strchr(at, '\n');
        at = at != NULL ? at + 1 : NULL;
    }
    return at == NULL ? 0 : strtoll(at + size, NULL, 10);
}

static int64_t
number(enum cgroup_mode mode, const char *hierarchy, const char *path,
       const char *file, const char *key)
{
    char full[PATH_ROOM];

    place(mode, hierarchy, path, file, full);
    return read_number(full, key);
}

bool
cgroup_exists(enum cgroup_mode mode, const char *path)
{
    char full[PATH_ROOM];

    place(mode, "memory", path, "cgroup.procs", full);
    return access(full, F_OK) == 0;
}

void
cgroup_usage_get(enum cgroup_mode mode, const char *path,
                 struct cgroup_usage *usage_out)
{
    struct cgroup_usage usage = { 0 };

    if (mode == CGROUP_V2) {
        usage.cpu_us = number(mode, "", path, "cpu.stat", "usage_usec");
        usage.memory_bytes = number(mode, "", path, "memory.current", "");
        usage.memory_peak_bytes = number(mode, "", path, "memory.peak", "");
        usage.oom_kills = number(mode, "", path, "memory.events", "oom_kill");
        usage.processes = number(mode, "", path, "pids.current", "");
    } else {
        usage.cpu_us =
            number(mode, "cpuacct", path, "cpuacct.usage", "") / 1000;
        usage.memory_bytes =
            number(mode, "memory", path, "memory.usage_in_bytes", "");
        usage.memory_peak_bytes =
            number(mode, "memory", path, "memory.max_usage_in_bytes", "");
        usage.oom_kills =
            number(mode, "memory", path, "memory.oom_control", "oom_kill");
        usage.processes = number(mode, "pids", path, "pids.current", "");
    }
    *usage_out = usage;
}

/* Kills all in the group and below; returns how many there were. */
static int
kill_tree(const char *directory, int depth)
{
    char path[PATH_ROOM];
    FILE *file;
    DIR *below;
    const struct dirent *entry;
    char line[32];
    int count = 0;

    (void)snprintf(path, sizeof(path), "%.480s/cgroup.procs", directory);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        pid_t pid = (pid_t)strtol(line, NULL, 10);

        count++;
        if (pid > 1)
            (void)kill(pid, SIGKILL);
    }
    if (file != NULL)
        (void)fclose(file);
    below = depth < DEPTH_MAX ? opendir(directory) : NULL;
    while (below != NULL && (entry = readdir(below)) != NULL) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof(path), "%.250s/%.250s", directory,
                       entry->d_name);
        count += kill_tree(path, depth + 1);
    }
    if (below != NULL)
        (void)closedir(below);
    return count;
}

int
cgroup_kill(enum cgroup_mode mode, const char *path, int timeout_ms,
            struct error *err)
{
    int64_t end = clock_mono_ms() + timeout_ms;
    struct timespec pause = { .tv_nsec = 1000000 };
    char full[PATH_ROOM];
    size_t size;

    place(mode, "pids", path, "", full);
    size = strlen(full);
    full[size - 1] = '\0';
    while (kill_tree(full, 0) > 0) {
        if (clock_mono_ms() > end)
            return error_set(err, ERROR_BUSY,
                             "processes of the instance do not end");
        (void)nanosleep(&pause, NULL);
    }
    return 0;
}

static void
remove_tree(const char *directory, int depth)
{
    DIR *below = depth < DEPTH_MAX ? opendir(directory) : NULL;
    const struct dirent *entry;
    char path[PATH_ROOM];

    while (below != NULL && (entry = readdir(below)) != NULL) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof(path), "%.250s/%.250s", directory,
                       entry->d_name);
        remove_tree(path, depth + 1);
    }
    if (below != NULL)
        (void)closedir(below);
    (void)rmdir(directory);
}

void
cgroup_remove(enum cgroup_mode mode, const char *path)
{
    char full[PATH_ROOM];

    for (size_t i = 0; i < (mode == CGROUP_V2 ? 1 : HIERARCHIES); i++) {
        place(mode, hierarchies[i], path, "", full);
        full[strlen(full) - 1] = '\0';
        remove_tree(full, 0);
    }
    if (mode == CGROUP_HYBRID) {
        place(mode, "unified", path, "", full);
        full[strlen(full) - 1] = '\0';
        remove_tree(full, 0);
    }
}

/* --- CPUs and memory nodes --- */

bool
cgroup_can_pin(enum cgroup_mode mode)
{
    char text[512];

    if (mode != CGROUP_V2)
        return access(TOP "/cpuset/cpuset.cpus", R_OK) == 0;
    return read_small(TOP "/cgroup.controllers", text, sizeof(text)) > 0 &&
           strstr(text, "cpuset") != NULL;
}

static int
write_list(enum cgroup_mode mode, const char *path, const char *file,
           const char *list, struct error *err)
{
    char full[PATH_ROOM];
    scoped_fd fd = -1;

    place(mode, "cpuset", path, file, full);
    fd = open(full, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, errno == ENOENT ? ERROR_GONE : ERROR_INTERNAL,
                         "%s: %s", file, strerror(errno));
    if (write(fd, list, strlen(list)) != (ssize_t)strlen(list))
        return error_set(err, ERROR_INTERNAL, "%s is not set to %s: %s", file,
                         list, strerror(errno));
    return 0;
}

int
cgroup_pin(enum cgroup_mode mode, const char *path, const char *cpus,
           const char *mems, struct error *err)
{
    if (write_list(mode, path, "cpuset.cpus", cpus, err) != 0)
        return -1;
    return write_list(mode, path, "cpuset.mems", mems, err);
}

void
cgroup_of(pid_t pid, const char *top, char *name, size_t room)
{
    char path[64];
    char line[PATH_ROOM];
    size_t size = strlen(top);
    FILE *file;

    name[0] = '\0';
    (void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    file = fopen(path, "re");
    while (file != NULL && name[0] == '\0' &&
           fgets(line, sizeof(line), file) != NULL) {
        const char *at = strchr(line, ':');

        at = at != NULL ? strchr(at + 1, ':') : NULL;
        if (at != NULL && strncmp(at + 1, top, size) == 0 &&
            at[1 + size] == '/')
            (void)snprintf(name, room, "%.*s",
                           (int)strcspn(at + 2 + size, "/\n"), at + 2 + size);
    }
    if (file != NULL)
        (void)fclose(file);
}
