/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "engine/runner_message.h"
#include "engine/runner_request.h"
#include "runner/cap.h"
#include "runner/card.h"
#include "runner/logfile.h"
#include "runner/node.h"
#include "runner/sample.h"
#include "runner/start.h"
#include "runner/stop.h"
#include "runner/volume.h"
#include "runner/told.h"

#define PATH_ROOM 320
#define WAIT_STEP_MS 50
#define EXITS_FRESH_MS 1000
#define RUNNER_VERSION "0.1.0"

typedef int answer_op(struct node *node, const struct runner_request *request,
                      json_t *asked, json_t **out, struct error *err);

static int
answer_node(struct node *node, const struct runner_request *request,
            json_t *asked, json_t **out, struct error *err)
{
    const struct policy *policy = node->policy;
    struct utsname system;
    struct sysinfo memory;
    json_int_t memory_mib;
    json_t *images;
    int64_t count = 0;

    (void)request;
    (void)asked;
    if (uname(&system) != 0 || sysinfo(&memory) != 0)
        return error_set(err, ERROR_INTERNAL, "facts: %s", strerror(errno));
    memory_mib =
        (json_int_t)memory.totalram * (json_int_t)memory.mem_unit / 1048576;
    node_lock(node);
    for (const struct instance *at = node->first; at != NULL; at = at->next)
        count++;
    node_unlock(node);
    *out = json_pack(
        "{s:s, s:b, s:I, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, "
        "s:I, s:I, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I}}",
        "node",
        node->accel.ops->node_name != NULL
            ? node->accel.ops->node_name(&node->accel)
            : "",
        "simulated", node->accel.ops->simulated, "cpus",
        (json_int_t)get_nprocs(), "memory_mib",
        memory_mib, "cgroup",
        cgroup_mode_text(node->mode), "kernel", system.release, "boot_id",
        clock_boot_id(), "version", RUNNER_VERSION, "runtime", node->runtime,
        "monitor", node->monitor, "accel", node->accel.ops->name, "prefix",
        policy->prefix, "instances", (json_int_t)count, "uid_base_min",
        (json_int_t)policy->uid_base_min, "uid_base_max",
        (json_int_t)policy->uid_base_max, "limits", "cpu_milli",
        (json_int_t)policy->cpu_milli_max, "memory_mib",
        (json_int_t)policy->memory_mib_max, "pids",
        (json_int_t)policy->pids_max, "instances",
        (json_int_t)policy->instances_max, "volume_mib",
        (json_int_t)policy->volume_mib_max, "image_mib",
        (json_int_t)policy->image_mib_max, "log_mib",
        (json_int_t)policy->log_mib_max);
    if (node->topology != NULL)
        (void)json_object_set_new(*out, "topology",
                                  topology_json(node->topology));
    images = image_names(&node->images);
    if (images != NULL)
        (void)json_object_set_new(*out, "images", images);
    return 0;
}

static int
answer_image_list(struct node *node, const struct runner_request *request,
                  json_t *asked, json_t **out, struct error *err)
{
    scoped_arena arena = arena_new();

    (void)request;
    (void)asked;
    (void)err;
    *out = json_pack("{s:o}", "images", image_list(&node->images, arena));
    return 0;
}

static int
answer_image_prepare(struct node *node, const struct runner_request *request,
                     json_t *asked, json_t **out, struct error *err)
{
    scoped_arena arena = arena_new();
    struct image *image = arena_alloc(arena, sizeof(*image));

    (void)asked;
    if (image_prepare(&node->images, arena, &request->image, image, err) != 0)
        return -1;
    *out = json_pack("{s:s, s:s, s:I, s:I, s:I, s:b}", "name",
                     request->image.name, "digest", request->image.digest,
                     "size_bytes", (json_int_t)image->bytes, "entries",
                     (json_int_t)image->entries, "skipped",
                     (json_int_t)image->skipped, "cached", image->cached);
    return 0;
}

static int
answer_start(struct node *node, const struct runner_request *request,
             json_t *asked, json_t **out, struct error *err)
{
    return start_instance(node, request, asked, out, err);
}

/* Sends the signal to the first process, if that is still the instance's. */
static int
send_signal(struct node *node, struct instance *instance, int number,
            struct error *err)
{
    scoped_fd fd = -1;
    char top[16];
    char name[INSTANCE_NAME_MAX];

    if (instance->phase != INSTANCE_RUNNING)
        return error_set(err, ERROR_CONFLICT, "the instance has ended");
    fd = pidfd_open(instance->pid, 0);
    (void)snprintf(top, sizeof(top), "/%.8s", node->policy->prefix);
    cgroup_of(instance->pid, top, name, sizeof(name));
    /* The descriptor was opened first, so both speak of one process. */
    if (fd < 0 || strcmp(name, instance->name) != 0 ||
        pidfd_send_signal(fd, number, NULL, 0) != 0)
        return error_set(err, ERROR_CONFLICT, "the instance has ended");
    return 0;
}

static json_t *
record_now(struct node *node, struct instance *instance)
{
    json_t *record;

    node_lock(node);
    (void)instance_refresh(instance, node->policy, node->mode, true);
    record = instance_record(instance);
    node_unlock(node);
    return record;
}

static int
answer_signal(struct node *node, const struct runner_request *request,
              json_t *asked, json_t **out, struct error *err)
{
    struct instance *instance =
        node_claim(node, request->instance, request->incarnation, err);
    int result;

    (void)asked;
    if (instance == NULL)
        return -1;
    result = send_signal(node, instance, request->signal, err);
    if (result == 0)
        *out = record_now(node, instance);
    node_release(node, instance);
    return result;
}

static int
answer_notice(struct node *node, const struct runner_request *request,
              json_t *asked, json_t **out, struct error *err)
{
    struct instance *instance =
        node_claim(node, request->instance, request->incarnation, err);
    int result = 0;
    bool again;

    (void)asked;
    if (instance == NULL)
        return -1;
    again = instance->notice_deadline_ms == request->deadline_ms &&
            strcmp(instance->notice, request->reason) == 0;
    if (!again) {
        result = told_notice(instance, request->reason,
                             request->deadline_ms, err);
        if (result == 0 && instance->start.notice_signal != 0)
            result =
                send_signal(node, instance, instance->start.notice_signal, err);
    }
    if (result == 0) {
        node_lock(node);
        (void)snprintf(instance->notice, sizeof(instance->notice), "%s",
                       request->reason);
        instance->notice_deadline_ms = request->deadline_ms;
        node_unlock(node);
        result = instance_save(instance, err);
    }
    if (result == 0)
        *out = record_now(node, instance);
    node_release(node, instance);
    return result;
}

static int
answer_gang(struct node *node, const struct runner_request *request,
            json_t *asked, json_t **out, struct error *err)
{
    struct instance *instance =
        node_claim(node, request->instance, request->incarnation, err);
    int result = 0;

    (void)asked;
    if (instance == NULL)
        return -1;
    if (memcmp(&instance->gang, &request->gang, sizeof(request->gang)) != 0) {
        result = told_gang(instance, &request->gang, err);
        if (result == 0 && instance->start.notice_signal != 0)
            result = send_signal(node, instance,
                                 instance->start.notice_signal, err);
        if (result == 0) {
            node_lock(node);
            instance->gang = request->gang;
            node_unlock(node);
            result = instance_save(instance, err);
        }
    }
    if (result == 0)
        *out = record_now(node, instance);
    node_release(node, instance);
    return result;
}

static int
answer_kill(struct node *node, const struct runner_request *request,
            json_t *asked, json_t **out, struct error *err)
{
    struct instance *instance =
        node_claim(node, request->instance, request->incarnation, err);
    int result;

    (void)asked;
    if (instance == NULL)
        return -1;
    result = stop_kill(node, instance, err);
    if (result == 0)
        *out = record_now(node, instance);
    node_release(node, instance);
    return result;
}

/* Of an incarnation that is gone there is nothing left to remove, whatever
 * became of it: that is success, and never touches a newer one. */
static int
answer_remove(struct node *node, const struct runner_request *request,
              json_t *asked, json_t **out, struct error *err)
{
    struct error why = { 0 };
    struct instance *instance =
        node_claim(node, request->instance, request->incarnation, &why);
    json_t *record = NULL;

    (void)asked;
    if (instance == NULL) {
        (void)node_removed(node, request->instance, request->incarnation,
                           &record);
    } else if (stop_remove(node, instance, err) != 0) {
        node_release(node, instance);
        return -1;
    } else {
        record = instance_record(instance);
        node_drop(node, instance);
    }
    *out = json_pack("{s:b, s:o}", "removed", 1, "record",
                     record != NULL ? record : json_null());
    return 0;
}

/* Under lock. */
static json_t *
records(struct node *node, const char *id)
{
    json_t *rows = json_array();

    for (struct instance *at = node->first; at != NULL; at = at->next) {
        if (id != NULL && strcmp(at->id, id) != 0)
            continue;
        if (!at->busy && instance_refresh(at, node->policy, node->mode, true))
            node->revision++;
        (void)json_array_append_new(rows, instance_record(at));
    }
    return rows;
}

static int
answer_list(struct node *node, const struct runner_request *request,
            json_t *asked, json_t **out, struct error *err)
{
    json_t *rows;

    (void)asked;
    (void)err;
    node_lock(node);
    rows = records(node, request->instance);
    node_unlock(node);
    *out =
        json_pack("{s:o, s:s}", "instances", rows, "boot_id", clock_boot_id());
    return 0;
}

/* Exit codes come as files into one directory: while that did not change, no
 * instance has ended.  Its time is coarse, so a fresh one counts as news. */
static bool
has_exits(struct node *node)
{
    char path[PATH_ROOM];
    struct stat file;
    int64_t changed_ms;

    (void)snprintf(path, sizeof(path), "%s/exits", node->policy->state_dir);
    if (stat(path, &file) != 0)
        return true;
    changed_ms =
        (int64_t)file.st_mtim.tv_sec * 1000 + file.st_mtim.tv_nsec / 1000000;
    if (changed_ms == node->exits_ms &&
        llabs(clock_wall_ms() - changed_ms) > EXITS_FRESH_MS)
        return false;
    node->exits_ms = changed_ms;
    return true;
}

static void
look_for_changes(struct node *node)
{
    bool exits = has_exits(node);

    for (struct instance *at = node->first; at != NULL; at = at->next) {
        if (at->busy)
            node->exits_ms = 0; /* looked at when it is not */
        else if ((exits || at->start.checkpoint_dir != NULL) &&
                 instance_refresh(at, node->policy, node->mode, false))
            node->revision++;
    }
}

static int
answer_wait(struct node *node, const struct runner_request *request,
            json_t *asked, json_t **out, struct error *err)
{
    int64_t end = clock_mono_ms() + request->timeout_ms;
    int64_t revision;
    json_t *rows;

    (void)asked;
    (void)err;
    node_lock(node);
    for (;;) {
        struct timespec step;

        look_for_changes(node);
        if (node->stopping || node->revision != request->revision ||
            clock_mono_ms() >= end)
            break;
        (void)clock_gettime(CLOCK_REALTIME, &step);
        step.tv_nsec += WAIT_STEP_MS * 1000000L;
        step.tv_sec += step.tv_nsec / 1000000000L;
        step.tv_nsec %= 1000000000L;
        (void)pthread_cond_timedwait(&node->changed, &node->lock, &step);
    }
    rows = records(node, NULL);
    revision = node->revision;
    node_unlock(node);
    *out = json_pack("{s:I, s:o, s:s}", "revision", (json_int_t)revision,
                     "instances", rows, "boot_id", clock_boot_id());
    return 0;
}

static int
read_log(struct node *node, struct instance *instance,
         const struct runner_request *request, json_t **out, struct error *err)
{
    struct container container =
        instance_container(instance, node->policy, node->mode);
    int64_t cap = instance->start.log_mib * 1048576;
    scoped_buffer bytes = { 0 };
    scoped_buffer text = { 0 };
    char path[PATH_ROOM];
    int64_t next = 0;
    bool end = false;
    bool ended;

    node_lock(node);
    (void)instance_refresh(instance, node->policy, node->mode, true);
    node_unlock(node);
    /* Before reading: what is there once the monitor has gone is all. */
    ended = instance->phase != INSTANCE_RUNNING &&
            instance->phase != INSTANCE_STARTING &&
            !container_monitored(&container);
    (void)snprintf(path, sizeof(path), "%s/log", instance->place);
    if (logfile_read(path, request->offset, request->max, &bytes, &next, &end,
                     err) != 0)
        return -1;
    base64_encode(&text, buffer_text(&bytes), bytes.size);
    *out = json_pack("{s:s, s:I, s:b, s:b}", "bytes", buffer_text(&text),
                     "next", (json_int_t)next, "complete", end && ended,
                     "truncated", logfile_is_cut(path, cap));
    return 0;
}

static int
answer_log(struct node *node, const struct runner_request *request,
           json_t *asked, json_t **out, struct error *err)
{
    struct instance *instance =
        node_claim(node, request->instance, request->incarnation, err);
    int result;

    (void)asked;
    if (instance == NULL)
        return -1;
    result = read_log(node, instance, request, out, err);
    node_release(node, instance);
    return result;
}

static int
answer_volume_create(struct node *node, const struct runner_request *request,
                     json_t *asked, json_t **out, struct error *err)
{
    struct volume volume = { .id = request->id,
                             .tenant = request->tenant,
                             .size_mib = request->size_mib };
    int result;

    (void)asked;
    (void)pthread_mutex_lock(&node->volume_lock);
    result = volume_create(node->policy, &volume, err);
    (void)pthread_mutex_unlock(&node->volume_lock);
    if (result == 0)
        *out = json_pack("{s:s, s:I, s:I}", "id", volume.id, "tenant",
                         (json_int_t)volume.tenant, "size_mib",
                         (json_int_t)volume.size_mib);
    return result;
}

static int
answer_volume_remove(struct node *node, const struct runner_request *request,
                     json_t *asked, json_t **out, struct error *err)
{
    size_t users;
    int result = 0;

    (void)asked;
    (void)pthread_mutex_lock(&node->volume_lock);
    node_lock(node);
    users = node_volume_users(node, request->id, NULL);
    node_unlock(node);
    if (users > 0)
        result = error_set(err, ERROR_CONFLICT,
                           "volume %.64s is used by %zu instances", request->id,
                           users);
    else
        result = volume_remove(node->policy, request->id, err);
    (void)pthread_mutex_unlock(&node->volume_lock);
    if (result == 0)
        *out = json_pack("{s:b}", "removed", 1);
    return result;
}

static json_t *
users_of(struct node *node, const char *id)
{
    json_t *users = json_array();

    node_lock(node);
    for (const struct instance *at = node->first; at != NULL; at = at->next)
        for (size_t i = 0; i < at->start.volume_count; i++)
            if (strcmp(at->start.volumes[i].id, id) == 0)
                (void)json_array_append_new(users, json_string(at->id));
    node_unlock(node);
    return users;
}

static int
answer_volume_list(struct node *node, const struct runner_request *request,
                   json_t *asked, json_t **out, struct error *err)
{
    scoped_arena arena = arena_new();
    json_t *rows;
    json_t *row;
    size_t i;

    (void)request;
    (void)asked;
    (void)err;
    (void)pthread_mutex_lock(&node->volume_lock);
    rows = volume_list(node->policy, arena);
    (void)pthread_mutex_unlock(&node->volume_lock);
    json_array_foreach(rows, i, row)(void) json_object_set_new(
        row, "users",
        users_of(node, json_string_value(json_object_get(row, "id"))));
    *out = json_pack("{s:o}", "volumes", rows);
    return 0;
}

static int
answer_cards(struct node *node, const struct runner_request *request,
             json_t *asked, json_t **out, struct error *err)
{
    (void)request;
    (void)asked;
    return card_list(node, out, err);
}

static int
answer_card_scrub(struct node *node, const struct runner_request *request,
                  json_t *asked, json_t **out, struct error *err)
{
    (void)asked;
    CRASH_POINT("runner.scrubbing");
    return card_scrub(node, request->uuid, out, err);
}

static int
answer_release_check(struct node *node, const struct runner_request *request,
                     json_t *asked, json_t **out, struct error *err)
{
    (void)asked;
    return card_release_check(node, request->instance, request->incarnation,
                              out, err);
}

/* Journal first: a runner that dies in between sets it when it begins. */
static int
change_cap(struct node *node, struct instance *instance,
           const struct runner_cap *cap, struct error *err)
{
    if (instance->phase != INSTANCE_RUNNING)
        return error_set(err, ERROR_CONFLICT, "the instance has ended");
    if (memcmp(&instance->cap, cap, sizeof(*cap)) == 0 &&
        !instance->cap_open)
        return 0;
    node_lock(node);
    instance->cap = *cap;
    instance->capped = instance->cap_open = true;
    node->revision++;
    node_unlock(node);
    if (instance_save(instance, err) != 0)
        return -1;
    CRASH_POINT("runner.capping");
    if (cap_apply(node, instance, err) != 0)
        return -1;
    instance->cap_open = false;
    return 0;
}

static int
answer_cap(struct node *node, const struct runner_request *request,
           json_t *asked, json_t **out, struct error *err)
{
    struct instance *instance;
    int result;

    (void)asked;
    if (cap_check(node->policy, &request->cap, err) != 0)
        return -1;
    instance = node_claim(node, request->instance, request->incarnation, err);
    if (instance == NULL)
        return -1;
    result = change_cap(node, instance, &request->cap, err);
    if (result == 0)
        *out = record_now(node, instance);
    node_release(node, instance);
    return result;
}

static int
answer_samples(struct node *node, const struct runner_request *request,
               json_t *asked, json_t **out, struct error *err)
{
    (void)asked;
    return sample_all(node, request->cards, out, err);
}

static answer_op *const answers[RUNNER_OP_COUNT] = {
    [RUNNER_NODE] = answer_node,
    [RUNNER_CARDS] = answer_cards,
    [RUNNER_IMAGE_LIST] = answer_image_list,
    [RUNNER_IMAGE_PREPARE] = answer_image_prepare,
    [RUNNER_START] = answer_start,
    [RUNNER_SIGNAL] = answer_signal,
    [RUNNER_NOTICE] = answer_notice,
    [RUNNER_GANG] = answer_gang,
    [RUNNER_CAP] = answer_cap,
    [RUNNER_SAMPLES] = answer_samples,
    [RUNNER_KILL] = answer_kill,
    [RUNNER_REMOVE] = answer_remove,
    [RUNNER_LIST] = answer_list,
    [RUNNER_WAIT] = answer_wait,
    [RUNNER_LOG] = answer_log,
    [RUNNER_VOLUME_CREATE] = answer_volume_create,
    [RUNNER_VOLUME_REMOVE] = answer_volume_remove,
    [RUNNER_VOLUME_LIST] = answer_volume_list,
    [RUNNER_CARD_SCRUB] = answer_card_scrub,
    [RUNNER_RELEASE_CHECK] = answer_release_check,
};

json_t *
answer_request(struct node *node, const char *bytes, size_t size)
{
    scoped_arena arena = arena_new();
    struct runner_request *request = arena_alloc(arena, sizeof(*request));
    struct error err = { 0 };
    scoped_json asked = NULL;
    json_t *result = NULL;

    if (runner_request_parse(arena, bytes, size, request, &err) != 0)
        return runner_message_failure(&err);
    asked = json_read(bytes, size, &err);
    (void)json_object_del(asked, "protocol");
    (void)json_object_del(asked, "op");
    if (answers[request->op](node, request, asked, &result, &err) != 0)
        return runner_message_failure(&err);
    return runner_message_answer(result);
}
