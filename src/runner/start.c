/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/start.h"

#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/json.h"
#include "engine/part.h"
#include "runner/baseline.h"
#include "runner/build.h"
#include "runner/devices.h"
#include "runner/node.h"
#include "runner/node_pin.h"
#include "runner/sharer.h"
#include "runner/stop.h"
#include "runner/volume.h"

/* How a start that is asked again is answered. */
enum repeat { REPEAT_NO, REPEAT_SAME, REPEAT_REFUSED };

static int
check_limits(const struct policy *policy, const struct runner_start *start,
             struct error *err)
{
    const struct {
        const char *key;
        int64_t value, max;
    } limits[] = {
        { "cpu_milli", start->cpu_milli, policy->cpu_milli_max },
        { "memory_mib", start->memory_mib, policy->memory_mib_max },
        { "pids_max", start->pids_max, policy->pids_max },
        { "log_mib", start->log_mib, policy->log_mib_max },
    };

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        if (limits[i].value > limits[i].max)
            return error_set(err, ERROR_QUOTA,
                             "%s is %" PRId64 ", the node allows %" PRId64,
                             limits[i].key, limits[i].value, limits[i].max);
    if (!start->read_only_root && !policy->writable_root)
        return error_field(err, "/read_only_root",
                           "the node's policy does not allow a writable root");
    return 0;
}

/* Another tenant's volume is not told apart from one that is not there. */
static int
check_volumes(const struct node *node, const struct instance *instance,
              struct error *err)
{
    for (size_t i = 0; i < instance->start.volume_count; i++) {
        const char *id = instance->start.volumes[i].id;
        struct volume volume = { 0 };

        if (volume_get(node->policy, instance->arena, id, &volume, err) != 0)
            return -1;
        if (volume.tenant != instance->tenant)
            return error_set(err, ERROR_NOT_FOUND, "there is no volume %.64s",
                             id);
    }
    return 0;
}

static bool
has_card(const struct instance *instance, const char *part)
{
    for (size_t i = 0; i < instance->start.card_count; i++)
        if (part_overlap(instance->start.cards[i], part))
            return true;
    return false;
}

static bool
has_exactly(const struct instance *instance, const char *part)
{
    for (size_t i = 0; i < instance->start.card_count; i++)
        if (strcmp(instance->start.cards[i], part) == 0)
            return true;
    return false;
}

/* Whole cards and slices belong to one instance; a soft share has no boundary,
 * so it is only ever with the same tenant. */
static int
check_card(struct node *node, const struct instance *instance, const char *uuid,
           struct error *err)
{
    int64_t wanted = instance->start.card_memory_mib;
    int64_t taken = 0;
    int64_t holder;
    struct accel_card card;

    if (accel_describe(&node->accel, uuid, &card, err) != 0)
        return -1;
    if (part_slice(uuid)[0] != '\0' && !part_is_slice(uuid))
        return error_field(err, "/cards", "%s is no slice", uuid);
    if (node_is_scrubbing(node, uuid))
        return error_set(err, ERROR_BUSY, "card %s is being scrubbed", uuid);
    /* Whoever orders it: nobody gets what another tenant left behind. */
    holder = baseline_holder(node, uuid, instance->tenant);
    if (holder != 0 && holder != instance->tenant)
        return error_set(err, ERROR_CONFLICT,
                         "card %s was not cleaned%s", uuid,
                         holder > 0 ? " after another tenant" : "");
    for (const struct instance *at = node->first; at != NULL; at = at->next) {
        if (!has_card(at, uuid))
            continue;
        if (wanted == 0 || at->start.card_memory_mib == 0 ||
            part_slice(uuid)[0] != '\0' || !has_exactly(at, uuid) ||
            at->tenant != instance->tenant)
            return error_set(err, ERROR_CONFLICT, "card %s is in use", uuid);
        taken += at->start.card_memory_mib;
    }
    if (taken + wanted > card.memory_mib)
        return error_set(err, ERROR_CONFLICT,
                         "card %s has %" PRId64 " MiB, %" PRId64
                         " MiB are shared out, %" PRId64 " MiB are asked for",
                         uuid, card.memory_mib, taken, wanted);
    return 0;
}

static bool
uid_base_taken(const struct node *node, int64_t base)
{
    for (const struct instance *at = node->first; at != NULL; at = at->next)
        if (at->uid_base == base)
            return true;
    return false;
}

static int
pick_uid_base(const struct node *node, struct instance *instance,
              struct error *err)
{
    const struct policy *policy = node->policy;
    int64_t base = instance->start.uid_base;

    if (base != 0) {
        if (base < policy->uid_base_min || base > policy->uid_base_max)
            return error_field(err, "/uid_base",
                               "uid_base is outside the node's range");
        if (uid_base_taken(node, base))
            return error_set(err, ERROR_CONFLICT, "the uid range is in use");
    } else {
        base = policy->uid_base_min;
        while (base <= policy->uid_base_max && uid_base_taken(node, base))
            base += RUNNER_UIDS;
        if (base > policy->uid_base_max)
            return error_set(err, ERROR_BUSY, "no uid range is free");
    }
    instance->uid_base = base;
    return 0;
}

static bool
address_taken(const struct node *node, int64_t tenant, int64_t address)
{
    for (const struct instance *at = node->first; at != NULL; at = at->next)
        if (at->tenant == tenant && at->port.address == address)
            return true;
    return false;
}

static int
pick_address(const struct node *node, struct instance *instance,
             struct error *err)
{
    int64_t address = instance->start.address;

    if (!instance->start.network)
        return 0;
    if (address != 0 && address_taken(node, instance->tenant, address))
        return error_set(err, ERROR_CONFLICT,
                         "address %" PRId64 " of the tenant is in use",
                         address);
    if (address == 0)
        for (address = 1; address <= RUNNER_ADDRESS_MAX &&
                          address_taken(node, instance->tenant, address);
             address++)
            ;
    if (address > RUNNER_ADDRESS_MAX)
        return error_set(err, ERROR_BUSY, "no address of the tenant is free");
    instance->port.address = address;
    return 0;
}

static int
reserve(struct node *node, struct instance *instance, struct error *err)
{
    int64_t count = 0;

    for (const struct instance *at = node->first; at != NULL; at = at->next)
        count++;
    if (count >= node->policy->instances_max)
        return error_set(err, ERROR_QUOTA,
                         "the node has %" PRId64 " instances, as many as it "
                         "allows",
                         count);
    if (check_limits(node->policy, &instance->start, err) != 0 ||
        check_volumes(node, instance, err) != 0)
        return -1;
    for (size_t i = 0; i < instance->start.card_count; i++)
        if (check_card(node, instance, instance->start.cards[i], err) != 0)
            return -1;
    if (pick_uid_base(node, instance, err) != 0 ||
        pick_address(node, instance, err) != 0 ||
        node_pin_choose(node, instance, err) != 0)
        return -1;
    instance->busy = true;
    instance->next = node->first;
    node->first = instance;
    node->revision++;
    if (instance->pin.own)
        node_pin_spread(node);
    return 0;
}

/* Under lock: the same start once more, another one, or a first one. */
static enum repeat
check_repeat(struct node *node, const struct runner_request *request,
             const json_t *asked, json_t **record_out, struct error *err)
{
    struct instance *present;

    while ((present = node_find(node, request->instance)) != NULL &&
           present->busy)
        (void)pthread_cond_wait(&node->changed, &node->lock);
    if (present == NULL) {
        if (node_removed(node, request->instance, request->incarnation, NULL) <
            request->incarnation)
            return REPEAT_NO;
        (void)error_set(err, ERROR_GONE,
                        "incarnation %" PRId64 " is removed or older than "
                        "one that is",
                        request->incarnation);
        return REPEAT_REFUSED;
    }
    if (request->incarnation < present->incarnation)
        (void)error_set(err, ERROR_GONE, "incarnation %" PRId64 " is over",
                        request->incarnation);
    else if (request->incarnation > present->incarnation)
        (void)error_set(err, ERROR_CONFLICT,
                        "incarnation %" PRId64 " is not removed yet",
                        present->incarnation);
    else if (!json_equal(present->request, asked))
        (void)error_set(err, ERROR_CONFLICT,
                        "this incarnation was started with another content");
    else {
        (void)instance_refresh(present, node->policy, node->mode, true);
        *record_out = instance_record(present);
        return REPEAT_SAME;
    }
    return REPEAT_REFUSED;
}

/* A process that the platform did not put on the card makes it not free. */
static int
check_foreign(struct node *node, const struct instance *instance,
              struct error *err)
{
    struct accel_process list[ACCEL_PROCESSES_MAX];
    char top[16];

    (void)snprintf(top, sizeof(top), "/%.8s", node->policy->prefix);
    for (size_t i = 0; i < instance->start.card_count; i++) {
        const char *uuid = instance->start.cards[i];
        size_t count = 0;

        if (accel_processes(&node->accel, uuid, list, &count, err) != 0)
            return -1;
        for (size_t k = 0; k < count; k++) {
            char name[INSTANCE_NAME_MAX];
            const struct instance *owner;
            bool fine;

            if (sharer_is_server(node, uuid, list[k].pid, list[k].name))
                continue;
            cgroup_of(list[k].pid, top, name, sizeof(name));
            node_lock(node);
            owner = node_find_name(node, name);
            fine = owner != NULL && has_card(owner, uuid) &&
                   owner->start.card_memory_mib > 0;
            node_unlock(node);
            if (!fine)
                return error_set(err, ERROR_CONFLICT,
                                 "a process that is not the platform's is on "
                                 "card %s",
                                 uuid);
        }
    }
    return 0;
}

/* The network is made beside the rest: its rules take as long to load as the
 * container to be made. */
struct wiring {
    struct node *node;
    const struct instance *instance;
    char netns[NETWORK_PATH_MAX]; /* "" without network */
    bool running;                 /* thread and sem are there */
    pthread_t thread;
    sem_t made; /* the namespace is there, or could not be made */
    int result;
    struct error err;
};

static void *
wire(void *data)
{
    struct wiring *wiring = data;
    const struct instance *instance = wiring->instance;
    char netns[NETWORK_PATH_MAX];

    wiring->result =
        network_make(wiring->node->policy, instance->name, netns, &wiring->err);
    if (wiring->result == 0)
        memcpy(wiring->netns, netns, sizeof(netns));
    (void)sem_post(&wiring->made);
    if (wiring->result == 0)
        wiring->result = network_join(&wiring->node->network, instance->port,
                                      netns, &wiring->err);
    return NULL;
}

static int
wiring_begin(struct wiring *wiring, struct error *err)
{
    if (wiring->instance->port.address == 0)
        return 0;
    (void)sem_init(&wiring->made, 0, 0);
    if (pthread_create(&wiring->thread, NULL, wire, wiring) != 0)
        return error_set(err, ERROR_BUSY, "no thread for the network");
    wiring->running = true;
    return 0;
}

/* Waits until the container can be given its network; whether that is there
 * is known at the end. */
static int
wiring_made(struct wiring *wiring, struct error *err)
{
    if (!wiring->running)
        return 0;
    while (sem_wait(&wiring->made) != 0)
        ;
    return wiring->netns[0] != '\0'
               ? 0
               : error_set(err, ERROR_INTERNAL, "there is no network");
}

static int
wiring_end(struct wiring *wiring, struct error *err)
{
    if (!wiring->running)
        return 0;
    (void)pthread_join(wiring->thread, NULL);
    (void)sem_destroy(&wiring->made);
    wiring->running = false;
    if (wiring->result != 0)
        *err = wiring->err;
    return wiring->result;
}

/* The place, while conmon loads; then it makes the container from it. */
static int
prepare(struct node *node, struct instance *instance,
        const struct container *container, struct wiring *wiring,
        struct idmap_keeping *keeping, struct container_pending *pending,
        struct error *err)
{
    if (build_ground(node, instance, keeping, err) != 0 ||
        wiring_begin(wiring, err) != 0 ||
        container_begin(container, instance->start.log_mib * 1048576, pending,
                        err) != 0)
        return -1;
    CRASH_POINT("runner.grounded");
    if (build_place(node, instance, keeping, err) == 0) {
        CRASH_POINT("runner.placed");
        if (wiring_made(wiring, err) == 0 &&
            build_container(node, instance, wiring->netns, pending, err) == 0)
            return 0;
    }
    container_abandon(pending);
    return -1;
}

/* The container, and then its network, whose rules and link came up
 * meanwhile: without them it does not run. */
static int
make(struct node *node, struct instance *instance,
     const struct container *container, pid_t *pid_out, struct error *err)
{
    struct container_pending pending = { .sync_fd = -1, .gate_fd = -1 };
    struct wiring wiring = { .node = node, .instance = instance };
    struct idmap_keeping keeping = { 0 };
    int made = prepare(node, instance, container, &wiring, &keeping, &pending,
                       err);

    if (made == 0) {
        CRASH_POINT("runner.creating");
        made = container_created(container, &pending, pid_out, err);
    }
    if (wiring_end(&wiring, err) != 0)
        made = -1;
    idmap_end(&keeping);
    return made;
}

/* Before the program can write to them. */
static int
hold_cards(struct node *node, const struct instance *instance,
           struct error *err)
{
    for (size_t i = 0; i < instance->start.card_count; i++)
        if (baseline_hold(node, instance->start.cards[i], instance->tenant,
                          err) != 0)
            return -1;
    return 0;
}

static int
launch(struct node *node, struct instance *instance, struct error *err)
{
    struct container container =
        instance_container(instance, node->policy, node->mode);
    pid_t pid = 0;

    CRASH_POINT("runner.reserved");
    if (make(node, instance, &container, &pid, err) != 0)
        return -1;
    CRASH_POINT("runner.created");
    /* Others may have taken cores while it was made. */
    node_lock(node);
    node_pin_follow(node, instance);
    node_unlock(node);
    instance->pid = pid;
    instance->started_ms = clock_wall_ms();
    instance->phase = INSTANCE_RUNNING;
    if (devices_verify(node, instance, err) != 0 ||
        hold_cards(node, instance, err) != 0)
        return -1;
    CRASH_POINT("runner.held");
    /* Before it runs: a runner that dies right here must adopt it. */
    if (instance_save(instance, err) != 0)
        return -1;
    CRASH_POINT("runner.saved");
    return container_start(&container, err);
}

static int
run(struct node *node, struct instance *instance, json_t **record_out,
    struct error *err)
{
    if (check_foreign(node, instance, err) != 0 ||
        launch(node, instance, err) != 0) {
        stop_discard(node, instance);
        node_drop(node, instance);
        return -1;
    }
    CRASH_POINT("runner.started");
    *record_out = instance_record(instance);
    node_release(node, instance);
    return 0;
}

int
start_instance(struct node *node, const struct runner_request *request,
               json_t *asked, json_t **record_out, struct error *err)
{
    struct instance *instance;
    enum repeat repeat;
    int reserved = -1;

    instance = instance_new(node->policy, request->instance,
                            request->incarnation, request->tenant, asked, err);
    if (instance == NULL)
        return -1;
    node_lock(node);
    repeat = check_repeat(node, request, asked, record_out, err);
    if (repeat == REPEAT_NO)
        reserved = reserve(node, instance, err);
    node_unlock(node);
    if (reserved == 0)
        return run(node, instance, record_out, err);
    instance_free(instance);
    return repeat == REPEAT_SAME ? 0 : -1;
}
