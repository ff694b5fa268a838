/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/node.h"
#include "runner/node_pin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "engine/part.h"
#include "runner/cap.h"
#include "runner/machine.h"
#include "runner/process.h"
#include "runner/remove.h"
#include "runner/seccomp.h"
#include "runner/sharer.h"
#include "runner/stop.h"
#include "runner/volume.h"

#define PATH_ROOM 256
#define REMOVED_KEPT 10000
#define PARTITION_WAIT_MS 1000
#define RECORD_MAX ((size_t)256 * 1024)

void
node_lock(struct node *node)
{
    (void)pthread_mutex_lock(&node->lock);
}

void
node_unlock(struct node *node)
{
    (void)pthread_mutex_unlock(&node->lock);
}

struct instance *
node_find(struct node *node, const char *id)
{
    struct instance *at = node->first;

    while (at != NULL && strcmp(at->id, id) != 0)
        at = at->next;
    return at;
}

struct instance *
node_find_name(struct node *node, const char *name)
{
    struct instance *at = node->first;

    while (at != NULL && strcmp(at->name, name) != 0)
        at = at->next;
    return at;
}

size_t
node_volume_users(struct node *node, const char *volume,
                  const struct instance *except)
{
    size_t count = 0;

    for (const struct instance *at = node->first; at != NULL; at = at->next)
        for (size_t i = 0; i < at->start.volume_count; i++)
            count +=
                at != except && strcmp(at->start.volumes[i].id, volume) == 0;
    return count;
}

bool
node_is_scrubbing(const struct node *node, const char *part)
{
    for (size_t i = 0; i < NODE_SCRUBS_MAX; i++)
        if (node->scrubbing[i][0] != '\0' &&
            part_overlap(node->scrubbing[i], part))
            return true;
    return false;
}

static int
check_present(const struct instance *instance, int64_t incarnation,
              struct error *err)
{
    if (incarnation < instance->incarnation)
        return error_set(err, ERROR_GONE,
                         "incarnation %" PRId64 " is over; the present one "
                         "is %" PRId64,
                         incarnation, instance->incarnation);
    if (incarnation > instance->incarnation)
        return error_set(err, ERROR_NOT_FOUND,
                         "incarnation %" PRId64 " is not here; the present "
                         "one is %" PRId64,
                         incarnation, instance->incarnation);
    return 0;
}

struct instance *
node_claim(struct node *node, const char *id, int64_t incarnation,
           struct error *err)
{
    struct instance *instance;
    int result = 0;

    node_lock(node);
    while ((instance = node_find(node, id)) != NULL && instance->busy)
        (void)pthread_cond_wait(&node->changed, &node->lock);
    if (instance != NULL) {
        result = check_present(instance, incarnation, err);
        if (result == 0)
            instance->busy = true;
    }
    node_unlock(node);
    if (instance != NULL)
        return result == 0 ? instance : NULL;
    if (node_removed(node, id, incarnation, NULL) >= incarnation)
        (void)error_set(err, ERROR_GONE, "incarnation %" PRId64 " is removed",
                        incarnation);
    else
        (void)error_set(err, ERROR_NOT_FOUND, "there is no such instance");
    return NULL;
}

void
node_release(struct node *node, struct instance *instance)
{
    node_lock(node);
    node_pin_follow(node, instance);
    instance->busy = false;
    node->revision++;
    (void)pthread_cond_broadcast(&node->changed);
    node_unlock(node);
}

void
node_drop(struct node *node, struct instance *instance)
{
    struct instance **at = &node->first;

    node_lock(node);
    while (*at != NULL && *at != instance)
        at = &(*at)->next;
    if (*at != NULL)
        *at = instance->next;
    if (instance->pin.own)
        node_pin_spread(node);
    node->revision++;
    (void)pthread_cond_broadcast(&node->changed);
    node_unlock(node);
    instance_free(instance);
}

static void
removed_path(const struct node *node, const char *id, char path[PATH_ROOM])
{
    (void)snprintf(path, PATH_ROOM, "%s/removed/%.64s", node->policy->state_dir,
                   id);
}

int64_t
node_removed(struct node *node, const char *id, int64_t incarnation,
             json_t **record_out)
{
    struct error ignored = { 0 };
    scoped_buffer bytes = { 0 };
    scoped_json record = NULL;
    char path[PATH_ROOM];
    int64_t highest;

    removed_path(node, id, path);
    if (file_read(path, RECORD_MAX, &bytes, &ignored) != 0)
        return 0;
    record = json_read(bytes.bytes, bytes.size, &ignored);
    highest = json_integer_value(json_object_get(record, "incarnation"));
    if (record_out != NULL && highest == incarnation)
        *record_out = json_incref(record);
    return highest;
}

/* Keeps the directory bounded: the oldest go first. */
static void
prune_removed(const struct node *node)
{
    char path[PATH_ROOM];
    DIR *directory;
    const struct dirent *entry;
    struct timespec oldest = { .tv_sec = INT64_MAX };
    char victim[NAME_MAX + 1] = "";
    size_t count = 0;

    removed_path(node, "", path);
    directory = opendir(path);
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        struct stat file;

        if (entry->d_name[0] == '.' ||
            fstatat(dirfd(directory), entry->d_name, &file, 0) != 0)
            continue;
        count++;
        if (file.st_mtim.tv_sec < oldest.tv_sec) {
            oldest = file.st_mtim;
            (void)snprintf(victim, sizeof(victim), "%s", entry->d_name);
        }
    }
    if (directory != NULL && count > REMOVED_KEPT && victim[0] != '\0')
        (void)unlinkat(dirfd(directory), victim, 0);
    if (directory != NULL)
        (void)closedir(directory);
}

int
node_remember_removed(struct node *node, const struct instance *instance,
                      struct error *err)
{
    scoped_json record = instance_record(instance);
    scoped_buffer bytes = { 0 };
    char path[PATH_ROOM];

    json_write(&bytes, record);
    removed_path(node, instance->id, path);
    if (file_write(path, bytes.bytes, bytes.size, 0600, err) != 0)
        return -1;
    prune_removed(node);
    return 0;
}

/* The state directory is a mount of its own whose mounts and unmounts reach
 * every container's monitor: so a volume that is unmounted here is free. */
static int
prepare_state(const struct policy *policy, struct error *err)
{
    static const char *const names[] = { "instances", "exits", "crun",
                                         "removed", "handover" };
    char path[PATH_ROOM];

    if (file_make_directory(policy->state_dir, 0711, err) != 0)
        return -1;
    if (chown(policy->state_dir, 0, 0) != 0 ||
        chmod(policy->state_dir, 0711) != 0)
        return error_set(err, ERROR_INTERNAL, "own the state directory: %s",
                         strerror(errno));
    if (!remove_is_mount(policy->state_dir) &&
        (mount(policy->state_dir, policy->state_dir, NULL, MS_BIND, NULL) !=
             0 ||
         mount(NULL, policy->state_dir, NULL, MS_PRIVATE, NULL) != 0 ||
         mount(NULL, policy->state_dir, NULL, MS_SHARED, NULL) != 0))
        return error_set(err, ERROR_INTERNAL, "mount the state directory: %s",
                         strerror(errno));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", policy->state_dir,
                       names[i]);
        if (file_make_directory(path, i == 0 ? 0711 : 0700, err) != 0)
            return -1;
    }
    return 0;
}

static void
end_with_boot(struct instance *instance)
{
    if (instance->phase != INSTANCE_RUNNING)
        return;
    instance->phase = INSTANCE_FAILED;
    instance->exited_ms = clock_wall_ms();
    (void)snprintf(instance->reason, sizeof(instance->reason),
                   "the machine was restarted");
}

/* One instance directory: running ones are kept, half-made ones undone. */
static void
adopt_place(struct node *node, const char *place)
{
    struct error err = { 0 };
    struct instance *instance = instance_load(node->policy, place, &err);
    struct container container;

    if (instance == NULL) {
        log_warn("an instance directory without a journal is removed: %s",
                 err.text);
        stop_discard_place(node, place);
        return;
    }
    container = instance_container(instance, node->policy, node->mode);
    if (!instance_is_of_boot(place))
        end_with_boot(instance);
    else if (instance->phase == INSTANCE_RUNNING &&
             container_is_waiting(&container))
        instance->phase = INSTANCE_STARTING;
    instance->next = node->first;
    node->first = instance;
}

static int
adopt(struct node *node, struct error *err)
{
    char path[PATH_ROOM];
    DIR *directory;
    const struct dirent *entry;

    (void)snprintf(path, sizeof(path), "%s/instances", node->policy->state_dir);
    directory = opendir(path);
    if (directory == NULL)
        return error_set(err, ERROR_INTERNAL, "read the instances: %s",
                         strerror(errno));
    while ((entry = readdir(directory)) != NULL) {
        char place[PATH_ROOM * 2];

        (void)snprintf(place, sizeof(place), "%s/%.64s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            adopt_place(node, place);
    }
    (void)closedir(directory);
    return 0;
}

static int
open_network(struct node *node, struct error *err)
{
    size_t count = 0;
    struct network_port *ports;
    int result;

    for (const struct instance *at = node->first; at != NULL; at = at->next)
        count += at->port.address != 0;
    ports = memory_new(count + 1, sizeof(*ports));
    count = 0;
    for (const struct instance *at = node->first; at != NULL; at = at->next)
        if (at->port.address != 0)
            ports[count++] = at->port;
    result = network_open(&node->network, node->policy, ports, count, err);
    free(ports);
    return result;
}

static void
undo_half_made(struct node *node)
{
    struct instance *at = node->first;

    while (at != NULL) {
        struct instance *next = at->next;

        if (at->phase == INSTANCE_STARTING) {
            log_warn("%s incarnation %" PRId64
                     " was being started and is undone",
                     at->id, at->incarnation);
            stop_discard(node, at);
            node_drop(node, at);
        }
        at = next;
    }
}

/* Without it crun makes the same from its configuration, at every start. */
static void
make_filter(struct node *node)
{
    scoped_buffer program = { 0 };
    struct error err = { 0 };

    if (seccomp_program(&program, &err) == 0)
        base64_encode(&node->filter, program.bytes, program.size);
    else
        log_warn("%s", err.text);
}

/* --- how cards are cut --- */

/* For the partition manager: what is being started counts as well. */
static bool
is_bound(void *context, const char *part, const void *holder)
{
    struct node *node = context;
    bool bound = false;

    node_lock(node);
    for (const struct instance *at = node->first; at != NULL; at = at->next)
        for (size_t i = 0; i < at->start.card_count && at != holder; i++)
            bound = bound || part_overlap(at->start.cards[i], part);
    node_unlock(node);
    return bound;
}

static int
open_partition(struct node *node, struct error *err)
{
    char path[PATH_ROOM];

    (void)snprintf(path, sizeof(path), "%s/partitions",
                   node->policy->state_dir);
    return partition_open(&node->partition,
                          &(struct partition_options){
                              .accel = &node->accel,
                              .directory = path,
                              .is_bound = is_bound,
                              .context = node,
                              .wait_ms = PARTITION_WAIT_MS },
                          err);
}

static void
tell_resumed(void *context, const char *text)
{
    (void)context;
    log_warn("%s", text);
}

/* The revision begins with the time, so that none of an earlier runner is
 * taken for one of this. */
int
node_open(struct node *node, const struct policy *given, struct error *err)
{
    const struct policy *policy = &node->own;
    char cards[PATH_ROOM];

    *node = (struct node){ .own = *given,
                           .policy = policy,
                           .mode = cgroup_mode_get(),
                           .revision = clock_wall_ms() };
    node->counts_swap =
        node->mode == CGROUP_V2 ||
        access("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", F_OK) == 0;
    (void)pthread_mutex_init(&node->volume_lock, NULL);
    (void)pthread_mutex_init(&node->lock, NULL);
    (void)pthread_mutex_init(&node->baseline_lock, NULL);
    (void)pthread_cond_init(&node->changed, NULL);
    (void)snprintf(cards, sizeof(cards), "%s/cards", policy->state_dir);
    container_version("/usr/bin/crun", node->runtime, sizeof(node->runtime));
    container_version("/usr/bin/conmon", node->monitor, sizeof(node->monitor));
    if (node->runtime[0] == '\0' || node->monitor[0] == '\0')
        return error_set(err, ERROR_UNSUPPORTED,
                         "crun and conmon must be installed");
    if (machine_allow_files(err) != 0)
        log_warn("%s", err->text);
    make_filter(node);
    idmaps_init(&node->maps);
    if (prepare_state(policy, err) != 0)
        return -1;
    /* The state's mounts arrive in a view that was made after them. */
    node->own.view_fd = process_view();
    if (accel_open(&node->accel, policy->accel,
                   policy->estate != NULL ? policy->estate
                                          : policy->libraries,
                   cards, err) != 0 ||
        node_pin_open(node, err) != 0 || open_partition(node, err) != 0 ||
        image_store_init(&node->images, policy, err) != 0 ||
        volume_store_init(policy, err) != 0 || adopt(node, err) != 0 ||
        open_network(node, err) != 0)
        return -1;
    undo_half_made(node);
    partition_resume(node->partition, tell_resumed, NULL);
    cap_adopt(node);
    node->watch = watch_new(&node->accel, policy->kernel_log);
    return sharer_begin(node, err);
}

void
node_close(struct node *node)
{
    sharer_finish(node);
    while (node->first != NULL) {
        struct instance *instance = node->first;

        node->first = instance->next;
        instance_free(instance);
    }
    buffer_release(&node->filter);
    idmaps_release(&node->maps);
    if (node->own.view_fd > 0)
        (void)close(node->own.view_fd);
    network_close(&node->network);
    image_store_release(&node->images);
    watch_free(node->watch);
    node_pin_close(node);
    partition_close(node->partition);
    accel_close(&node->accel);
}
