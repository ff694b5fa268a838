/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/devices.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "runner/node.h"
#include "runner/stop.h"

#define PATH_ROOM 320
#define RULES_MAX ((size_t)65536)
/* What a tenant makes below its /dev is not walked for ever. */
#define ENTRIES_MAX 65536
#define DEPTH_MAX 8

/* What every container has; crun's own rules. */
static const char *const usual_rules[] = {
    "c *:* m",   "b *:* m",   "c 1:3 rwm",   "c 1:5 rwm", "c 1:7 rwm",
    "c 1:8 rwm", "c 1:9 rwm", "c 5:0 rwm",   "c 5:1 rwm", "c 5:2 rwm",
    "c 136:* rwm",
};

#define USUAL (sizeof(usual_rules) / sizeof(usual_rules[0]))

static bool
is_usual_node(dev_t device)
{
    unsigned minor_number = minor(device);

    switch (major(device)) {
    case 1:
        return minor_number == 3 || minor_number == 5 || minor_number == 7 ||
               minor_number == 8 || minor_number == 9;
    case 5:
        return minor_number <= 2;
    case 136:
        return true;
    default:
        return false;
    }
}

static void
note(struct devices *out, size_t *count, const char *what, const char *name)
{
    if (out->missing + out->extra == 0)
        (void)snprintf(out->text, sizeof(out->text), "%s %.100s", what, name);
    (*count)++;
}

/* --- nodes --- */

struct walk {
    const struct grant *grant;
    struct devices *out;
    bool *seen; /* of the grant's items */
    dev_t device;
    size_t entries;
};

static void
see_node(struct walk *walk, const char *path, const struct stat *file)
{
    for (size_t i = 0; i < walk->grant->count; i++) {
        const struct grant_item *item = &walk->grant->items[i];

        if (item->kind == ACCEL_DEVICE && S_ISCHR(file->st_mode) &&
            strcmp(item->path, path) == 0 &&
            file->st_rdev == makedev(item->major, item->minor)) {
            walk->seen[i] = true;
            return;
        }
    }
    if (S_ISBLK(file->st_mode) || !is_usual_node(file->st_rdev))
        note(walk->out, &walk->out->extra, "there is the device", path);
}

/* Without links, and not into other file systems: what is mounted there was
 * given by us, and takes no devices. */
static void
walk_directory(struct walk *walk, int fd, const char *path, int depth)
{
    DIR *directory = fdopendir(fd);
    const struct dirent *entry;

    if (directory == NULL) {
        (void)close(fd);
        return;
    }
    while ((entry = readdir(directory)) != NULL &&
           walk->entries++ < ENTRIES_MAX) {
        char below[PATH_ROOM];
        struct stat file;
        int next;

        if (strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0 ||
            fstatat(dirfd(directory), entry->d_name, &file,
                    AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        (void)snprintf(below, sizeof(below), "%.60s/%.200s", path,
                       entry->d_name);
        if (S_ISCHR(file.st_mode) || S_ISBLK(file.st_mode)) {
            see_node(walk, below, &file);
            continue;
        }
        if (!S_ISDIR(file.st_mode) || file.st_dev != walk->device ||
            depth == DEPTH_MAX)
            continue;
        next = openat(dirfd(directory), entry->d_name,
                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next >= 0)
            walk_directory(walk, next, below, depth + 1);
    }
    (void)closedir(directory);
}

static int
look_at_nodes(const struct instance *instance, const struct grant *grant,
              struct devices *out, struct error *err)
{
    struct walk walk = { .grant = grant,
                         .out = out,
                         .seen = memory_new(grant->count + 1, 1) };
    char path[64];
    struct stat file;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/root/dev", (int)instance->pid);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &file) != 0) {
        free(walk.seen);
        return error_set(err, ERROR_GONE, "look at the instance's devices: %s",
                         strerror(errno));
    }
    walk.device = file.st_dev;
    walk_directory(&walk, fd, "/dev", 0);
    if (walk.entries > ENTRIES_MAX)
        note(out, &out->extra, "there is too much below", "/dev");
    for (size_t i = 0; i < grant->count; i++)
        if (grant->items[i].kind == ACCEL_DEVICE && !walk.seen[i])
            note(out, &out->missing, "there is no device",
                 grant->items[i].path);
    free(walk.seen);
    return 0;
}

/* --- rules --- */

static void
rules_path(const struct instance *instance, const char *file,
           char path[PATH_ROOM])
{
    (void)snprintf(path, PATH_ROOM, "/sys/fs/cgroup/devices%s/%s",
                   instance->cgroup, file);
}

static void
rule_of(const struct grant_item *item, char out[48])
{
    (void)snprintf(out, 48, "c %u:%u rw", item->major, item->minor);
}

static bool
has_line(const char *text, const char *line)
{
    size_t size = strlen(line);

    for (const char *at = text; *at != '\0';) {
        size_t here = strcspn(at, "\n");

        if (here == size && strncmp(at, line, size) == 0)
            return true;
        at += here + (at[here] == '\n');
    }
    return false;
}

static bool
is_granted_rule(const struct grant *grant, const char *line)
{
    for (size_t i = 0; i < USUAL; i++)
        if (strcmp(usual_rules[i], line) == 0)
            return true;
    for (size_t i = 0; i < grant->count; i++) {
        char rule[48];

        rule_of(&grant->items[i], rule);
        if (grant->items[i].kind == ACCEL_DEVICE && strcmp(rule, line) == 0)
            return true;
    }
    return false;
}

static void
find_missing(const struct grant *grant, const char *text, struct devices *out)
{
    for (size_t i = 0; i < USUAL; i++)
        if (!has_line(text, usual_rules[i]))
            note(out, &out->missing, "there is no rule", usual_rules[i]);
    for (size_t i = 0; i < grant->count; i++) {
        char rule[48];

        rule_of(&grant->items[i], rule);
        if (grant->items[i].kind == ACCEL_DEVICE && !has_line(text, rule))
            note(out, &out->missing, "there is no rule", rule);
    }
}

static int
look_at_list(const struct instance *instance, const struct grant *grant,
             struct devices *out, struct error *err)
{
    scoped_buffer text = { 0 };
    char path[PATH_ROOM];

    rules_path(instance, "devices.list", path);
    if (file_read(path, RULES_MAX, &text, err) != 0)
        return -1;
    for (const char *at = buffer_text(&text); *at != '\0';) {
        char line[64];
        size_t here = strcspn(at, "\n");

        (void)snprintf(line, sizeof(line), "%.*s", (int)here, at);
        if (!is_granted_rule(grant, line))
            note(out, &out->extra, "there is the rule", line);
        at += here + (at[here] == '\n');
    }
    find_missing(grant, buffer_text(&text), out);
    return 0;
}

/* How many programs decide about the group's devices. */
static int
count_programs(const struct instance *instance, struct error *err)
{
    union bpf_attr query = { 0 };
    uint32_t ids[16];
    char path[PATH_ROOM];
    scoped_fd fd = -1;

    (void)snprintf(path, sizeof(path), "/sys/fs/cgroup%s", instance->cgroup);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    query.query.target_fd = (uint32_t)fd;
    query.query.attach_type = BPF_CGROUP_DEVICE;
    query.query.prog_ids = (uint64_t)(uintptr_t)ids;
    query.query.prog_cnt = sizeof(ids) / sizeof(ids[0]);
    if (fd < 0 || syscall(SYS_bpf, BPF_PROG_QUERY, &query, sizeof(query)) != 0)
        return error_set(err, ERROR_INTERNAL, "look at the device program: %s",
                         strerror(errno));
    return (int)query.query.prog_cnt;
}

static int
look_at_rules(struct node *node, const struct instance *instance,
              const struct grant *grant, struct devices *out, struct error *err)
{
    int count;

    if (node->mode != CGROUP_V2)
        return look_at_list(instance, grant, out, err);
    count = count_programs(instance, err);
    if (count == 0)
        note(out, &out->extra, "there is no rule", "for any device");
    return count < 0 ? -1 : 0;
}

int
devices_look(struct node *node, const struct instance *instance,
             const struct grant *grant, struct devices *out, struct error *err)
{
    *out = (struct devices){ 0 };
    return look_at_nodes(instance, grant, out, err) != 0
               ? -1
               : look_at_rules(node, instance, grant, out, err);
}

int
devices_verify(struct node *node, const struct instance *instance,
               struct error *err)
{
    struct devices found;

    if (devices_look(node, instance, &instance->grant, &found, err) != 0)
        return -1;
    return found.missing + found.extra == 0
               ? 0
               : error_set(err, ERROR_VERIFY,
                           "its devices are not those that it was given: %s",
                           found.text);
}

/* --- the audit --- */

static bool
allow(const struct instance *instance, const char *rule)
{
    char path[PATH_ROOM];
    scoped_fd fd = -1;

    rules_path(instance, "devices.allow", path);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 &&
           write(fd, rule, strlen(rule)) == (ssize_t)strlen(rule);
}

/* All of them: those that are there are as before. */
static void
mend(const struct instance *instance, const struct grant *grant)
{
    for (size_t i = 0; i < USUAL; i++)
        (void)allow(instance, usual_rules[i]);
    for (size_t i = 0; i < grant->count; i++) {
        char rule[48];

        rule_of(&grant->items[i], rule);
        if (grant->items[i].kind == ACCEL_DEVICE)
            (void)allow(instance, rule);
    }
}

struct audit {
    int checked, mended, stopped;
};

static void
end_instance(struct node *node, struct instance *instance,
             const struct devices *found)
{
    struct error err = { 0 };

    log_warn("%s incarnation %" PRId64 " is ended: %s", instance->id,
             instance->incarnation, found->text);
    if (stop_kill(node, instance, &err) != 0)
        log_warn("%s is not ended: %s", instance->id, err.text);
    node_lock(node);
    (void)snprintf(instance->reason, sizeof(instance->reason),
                   "its devices were not those that it was given: %s",
                   found->text);
    node->revision++;
    node_unlock(node);
    (void)instance_save(instance, &err);
}

static void
audit_instance(struct node *node, struct instance *instance,
               struct audit *audit)
{
    scoped_arena arena = arena_new();
    struct devices found;
    struct grant grant;
    struct error err = { 0 };

    /* Who cannot be asked now is asked the next time. */
    if (grant_of(node, instance, arena, &grant, &err) != 0 ||
        devices_look(node, instance, &grant, &found, &err) != 0)
        return;
    audit->checked++;
    if (found.extra > 0) {
        end_instance(node, instance, &found);
        audit->stopped++;
    } else if (found.missing > 0) {
        log_warn("%s incarnation %" PRId64 ": %s; it is put back",
                 instance->id, instance->incarnation, found.text);
        mend(instance, &grant);
        audit->mended++;
    }
}

/* Under lock: one that runs, is nobody's, and comes after that one. */
static struct instance *
next_of(struct node *node, const char *after)
{
    struct instance *best = NULL;

    for (struct instance *at = node->first; at != NULL; at = at->next)
        if (!at->busy && at->phase == INSTANCE_RUNNING &&
            strcmp(at->name, after) > 0 &&
            (best == NULL || strcmp(at->name, best->name) < 0))
            best = at;
    if (best != NULL)
        best->busy = true;
    return best;
}

json_t *
devices_audit(struct node *node)
{
    struct audit audit = { 0 };
    char name[INSTANCE_NAME_MAX] = "";
    struct instance *instance;

    node_lock(node);
    while ((instance = next_of(node, name)) != NULL) {
        (void)snprintf(name, sizeof(name), "%s", instance->name);
        node_unlock(node);
        audit_instance(node, instance, &audit);
        node_lock(node);
        instance->busy = false;
        (void)pthread_cond_broadcast(&node->changed);
    }
    node_unlock(node);
    return json_pack("{s:i, s:i, s:i}", "checked", audit.checked, "mended",
                     audit.mended, "stopped", audit.stopped);
}
