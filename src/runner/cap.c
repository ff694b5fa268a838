/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/cap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"

#define PATH_ROOM 512
#define PERIOD_US 100000
#define QUOTA_MIN_US 1000

int
cap_check(const struct policy *policy, const struct runner_cap *cap,
          struct error *err)
{
    const struct {
        const char *field, *what;
        int64_t value, least;
    } rows[] = {
        { "/cpu_milli", "milli-CPU", cap->cpu_milli,
          policy->cap_cpu_milli_min },
        { "/io_kib", "KiB/s of a disk", cap->io_kib, policy->cap_io_kib_min },
        { "/network_kib", "KiB/s of network", cap->network_kib,
          policy->cap_network_kib_min },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].value != 0 && rows[i].value < rows[i].least) {
            (void)error_field(err, rows[i].field,
                              "a cap of %" PRId64 " %s is below %" PRId64
                              ", the least that this machine allows",
                              rows[i].value, rows[i].what, rows[i].least);
            err->code = ERROR_QUOTA;
            return error_help(err, "ask for that much, or have the machine's "
                                   "root lower it in the runner's policy");
        }
    return 0;
}

static void
place(const struct cap_tree *tree, const char *hierarchy, const char *path,
      const char *file, char out[PATH_ROOM])
{
    if (tree->mode == CGROUP_V2)
        (void)snprintf(out, PATH_ROOM, "%.150s%.200s/%s", tree->groups, path,
                       file);
    else
        (void)snprintf(out, PATH_ROOM, "%.150s/%s%.200s/%s", tree->groups,
                       hierarchy, path, file);
}

/* One write is one setting; 0 or the errno. */
static int
set(const char *path, const char *text)
{
    scoped_fd fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return errno;
    return 0;
}

static int
set_cpu(const struct cap_tree *tree, const char *path, int64_t milli,
        struct error *err)
{
    int64_t quota_us = milli * PERIOD_US / 1000;
    char full[PATH_ROOM];
    char text[48];
    int code;

    if (quota_us < QUOTA_MIN_US)
        quota_us = QUOTA_MIN_US;
    if (tree->mode == CGROUP_V2) {
        place(tree, "", path, "cpu.max", full);
        (void)snprintf(text, sizeof(text), "%" PRId64 " %d\n", quota_us,
                       PERIOD_US);
    } else {
        place(tree, "cpu", path, "cpu.cfs_quota_us", full);
        (void)snprintf(text, sizeof(text), "%" PRId64 "\n", quota_us);
    }
    code = set(full, text);
    return code == 0 ? 0
                     : error_set(err, ERROR_INTERNAL, "cap the CPU: %s",
                                 strerror(code));
}

/* MAJOR:MINOR of a disk; false for one without a medium. */
static bool
read_disk(const struct cap_tree *tree, const char *name, char numbers[24])
{
    static const char *const files[] = { "size", "dev" };
    char text[2][24] = { "", "" };

    for (size_t i = 0; i < 2; i++) {
        char path[PATH_ROOM];
        scoped_fd fd = -1;
        ssize_t got;

        (void)snprintf(path, sizeof(path), "%.150s/%.100s/%s", tree->disks,
                       name, files[i]);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        got = fd < 0 ? -1 : read(fd, text[i], sizeof(text[i]) - 1);
        if (got <= 0)
            return false;
        text[i][got] = '\0';
        text[i][strcspn(text[i], "\n")] = '\0';
    }
    memcpy(numbers, text[1], sizeof(text[1]));
    return strcmp(text[0], "0") != 0;
}

static int
set_disk(const struct cap_tree *tree, const char *path, const char *numbers,
         int64_t kib)
{
    static const char *const files[] = { "blkio.throttle.read_bps_device",
                                         "blkio.throttle.write_bps_device" };
    char full[PATH_ROOM];
    char text[96];
    int code = 0;

    if (tree->mode == CGROUP_V2) {
        place(tree, "", path, "io.max", full);
        if (kib == 0)
            (void)snprintf(text, sizeof(text), "%s rbps=max wbps=max\n",
                           numbers);
        else
            (void)snprintf(text, sizeof(text),
                           "%s rbps=%" PRId64 " wbps=%" PRId64 "\n", numbers,
                           kib * 1024, kib * 1024);
        return set(full, text);
    }
    (void)snprintf(text, sizeof(text), "%s %" PRId64 "\n", numbers,
                   kib * 1024);
    for (size_t i = 0; i < 2 && code == 0; i++) {
        place(tree, "blkio", path, files[i], full);
        code = set(full, text);
    }
    return code;
}

/* Some devices take no limit; that none does is a failure. */
static int
set_disks(const struct cap_tree *tree, const char *path, int64_t kib,
          struct error *err)
{
    DIR *directory = opendir(tree->disks);
    const struct dirent *entry;
    size_t taken = 0;
    int code = ENODEV;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        char numbers[24];
        int result;

        if (entry->d_name[0] == '.' ||
            !read_disk(tree, entry->d_name, numbers))
            continue;
        result = set_disk(tree, path, numbers, kib);
        if (result == 0)
            taken++;
        else
            code = result;
    }
    if (directory != NULL)
        (void)closedir(directory);
    if (taken > 0 || kib == 0)
        return 0;
    return error_set(err, ERROR_INTERNAL, "cap the disks: %s",
                     strerror(code));
}

int
cap_group(const struct cap_tree *tree, const char *path, int64_t cpu_milli,
          const struct runner_cap *cap, struct error *err)
{
    /* Never above what it was started with. */
    int64_t milli = cap->cpu_milli > 0 && cap->cpu_milli < cpu_milli
                        ? cap->cpu_milli
                        : cpu_milli;

    if (set_cpu(tree, path, milli, err) != 0 ||
        set_disks(tree, path, cap->io_kib, err) != 0)
        return -1;
    return 0;
}

int
cap_apply(struct node *node, const struct instance *instance,
          struct error *err)
{
    const struct cap_tree tree = { node->mode, "/sys/fs/cgroup",
                                   "/sys/block" };

    if (cap_group(&tree, instance->cgroup, instance->start.cpu_milli,
                  &instance->cap, err) != 0)
        return -1;
    if (instance->port.address == 0)
        return 0;
    return network_limit(&node->network, instance->port, instance->name,
                         instance->cap.network_kib * 1024, err);
}

void
cap_adopt(struct node *node)
{
    for (const struct instance *at = node->first; at != NULL; at = at->next) {
        struct error err = { 0 };

        if (at->phase == INSTANCE_RUNNING && at->capped &&
            cgroup_exists(node->mode, at->cgroup) &&
            cap_apply(node, at, &err) != 0)
            log_warn("%s: %s", at->id, err.text);
    }
}
