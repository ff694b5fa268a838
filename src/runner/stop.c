/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/file.h"
#include "runner/node.h"
#include "runner/remove.h"
#include "runner/volume.h"

#define KILL_TIMEOUT_MS 15000
#define EXIT_TIMEOUT_MS 5000
#define PATH_ROOM 256

static void
rest(void)
{
    struct timespec pause = { .tv_nsec = 2000000 };

    (void)nanosleep(&pause, NULL);
}

/* conmon writes the exit a moment after the last process is gone, and then
 * the end of the log. */
static void
await_exit(struct node *node, struct instance *instance)
{
    struct container container =
        instance_container(instance, node->policy, node->mode);
    int64_t end = clock_mono_ms() + EXIT_TIMEOUT_MS;

    while (clock_mono_ms() < end && container_monitored(&container))
        rest();
    node_lock(node);
    (void)instance_refresh(instance, node->policy, node->mode, true);
    if (instance->phase == INSTANCE_RUNNING) {
        instance->phase = INSTANCE_FAILED;
        instance->exited_ms = clock_wall_ms();
        (void)snprintf(instance->reason, sizeof(instance->reason),
                       "the monitor is gone; the exit code is not known");
    }
    node_unlock(node);
}

int
stop_kill(struct node *node, struct instance *instance, struct error *err)
{
    if (instance->phase == INSTANCE_RUNNING) {
        if (cgroup_kill(node->mode, instance->cgroup, KILL_TIMEOUT_MS, err) !=
            0)
            return -1;
        await_exit(node, instance);
        return instance_save(instance, err);
    }
    return cgroup_kill(node->mode, instance->cgroup, KILL_TIMEOUT_MS, err);
}

static void
release_volumes(struct node *node, const struct instance *instance)
{
    (void)pthread_mutex_lock(&node->volume_lock);
    for (size_t i = 0; i < instance->start.volume_count; i++) {
        const char *id = instance->start.volumes[i].id;
        size_t users;

        node_lock(node);
        users = node_volume_users(node, id, instance);
        node_unlock(node);
        if (users == 0)
            volume_unmount(node->policy, id);
    }
    (void)pthread_mutex_unlock(&node->volume_lock);
}

/* Everything but processes and the record. */
static int
take_away(struct node *node, struct instance *instance, struct error *err)
{
    struct container container =
        instance_container(instance, node->policy, node->mode);
    int result = 0;

    container_delete(&container);
    cgroup_remove(node->mode, instance->cgroup);
    if (instance->port.address != 0)
        result =
            network_leave(&node->network, instance->port, instance->name, err);
    remove_mounts(instance->place);
    release_volumes(node, instance);
    return result;
}

int
stop_remove(struct node *node, struct instance *instance, struct error *err)
{
    if (stop_kill(node, instance, err) != 0)
        return -1;
    CRASH_POINT("runner.killed");
    if (take_away(node, instance, err) != 0)
        return -1;
    CRASH_POINT("runner.taken");
    if (node_remember_removed(node, instance, err) != 0)
        return -1;
    CRASH_POINT("runner.remembered");
    remove_all(instance->place);
    CRASH_POINT("runner.removed");
    return 0;
}

void
stop_discard(struct node *node, struct instance *instance)
{
    struct container container =
        instance_container(instance, node->policy, node->mode);
    struct error ignored = { 0 };

    container_delete(&container);
    (void)cgroup_kill(node->mode, instance->cgroup, KILL_TIMEOUT_MS, &ignored);
    (void)take_away(node, instance, &ignored);
    remove_all(instance->place);
}

static void
discard_place(const struct policy *policy, enum cgroup_mode mode,
              const char *place)
{
    const char *name = strrchr(place, '/') + 1;
    struct container container = { .policy = policy,
                                   .name = name,
                                   .place = place,
                                   .own_mounts = mode == CGROUP_HYBRID };
    struct error ignored = { 0 };
    char path[PATH_ROOM];

    (void)snprintf(path, sizeof(path), "/%s/%.64s", policy->prefix, name);
    (void)cgroup_kill(mode, path, KILL_TIMEOUT_MS, &ignored);
    container_delete(&container);
    (void)cgroup_kill(mode, path, KILL_TIMEOUT_MS, &ignored);
    cgroup_remove(mode, path);
    remove_mounts(place);
    remove_all(place);
    (void)snprintf(path, sizeof(path), "%s/netns/%.64s", policy->state_dir,
                   name);
    remove_mounts(path);
    (void)unlink(path);
}

void
stop_discard_place(struct node *node, const char *place)
{
    discard_place(node->policy, node->mode, place);
}

static void
clean_instances(const struct policy *policy, enum cgroup_mode mode)
{
    char path[PATH_ROOM];
    DIR *directory;
    const struct dirent *entry;

    (void)snprintf(path, sizeof(path), "%s/instances", policy->state_dir);
    directory = opendir(path);
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        char place[PATH_ROOM * 2];

        (void)snprintf(place, sizeof(place), "%s/%.64s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            discard_place(policy, mode, place);
    }
    if (directory != NULL)
        (void)closedir(directory);
}

static void
clean_volumes(const struct policy *policy)
{
    DIR *directory = opendir(policy->volume_dir);
    const struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        size_t size = strlen(entry->d_name);
        bool json = size > 5 && strcmp(entry->d_name + size - 5, ".json") == 0;
        bool image = size > 4 && strcmp(entry->d_name + size - 4, ".img") == 0;

        if (json || image)
            (void)unlinkat(dirfd(directory), entry->d_name, 0);
    }
    if (directory != NULL)
        (void)closedir(directory);
    (void)rmdir(policy->volume_dir);
}

int
stop_clean(const struct policy *policy, bool volumes, struct error *err)
{
    enum cgroup_mode mode = cgroup_mode_get();
    char group[PATH_ROOM];

    (void)snprintf(group, sizeof(group), "/%s", policy->prefix);
    clean_instances(policy, mode);
    if (cgroup_kill(mode, group, KILL_TIMEOUT_MS, err) != 0)
        return -1;
    cgroup_remove(mode, group);
    remove_mounts(policy->state_dir);
    remove_all(policy->state_dir);
    (void)unlink(policy->socket);
    if (volumes)
        clean_volumes(policy);
    if (access(policy->state_dir, F_OK) == 0)
        return error_set(err, ERROR_BUSY,
                         "something still uses the state directory");
    return 0;
}
