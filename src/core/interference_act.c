/* SPDX-License-Identifier: Apache-2.0 */
#include "core/interference_act.h"

#include <stdio.h>
#include <string.h>

#include "core/alarm.h"
#include "core/lifecycle.h"
#include "core/object.h"
#include "core/usage.h"

/* A neighbour that uses less is nobody's trouble. */
#define CAUSE_RATE_KIB 1024
#define CAUSE_CARD_PERMILLE 100
#define CAUSE_CPU_PERMILLE 100
/* The time of a cap doubles so often. */
#define DOUBLINGS_MAX 4

/* --- who --- */

static int64_t
least_of(const struct interference_room *room,
         enum interference_resource resource)
{
    const struct node *node = change_get(room->changes, room->node);

    switch (resource) {
    case INTERFERENCE_CPU:
        return node->cpu_milli * CAUSE_CPU_PERMILLE / 1000;
    case INTERFERENCE_IO:
    case INTERFERENCE_NETWORK:
        return CAUSE_RATE_KIB;
    case INTERFERENCE_CARD:
        return CAUSE_CARD_PERMILLE;
    case INTERFERENCE_RESOURCES:
        break;
    }
    return 0;
}

/* Who uses most of it, and more than the one that is slowed; NULL: nobody. */
static const struct interference_seat *
cause_of(const struct interference_room *room,
         const struct interference_seat *seat,
         enum interference_resource resource)
{
    const struct interference_seat *found = NULL;
    int64_t most = least_of(room, resource) - 1;

    if (seat->amount[resource] > most)
        most = seat->amount[resource];
    for (size_t i = 0; i < room->count; i++) {
        const struct interference_seat *other = &room->seats[i];

        if (ref_equal(other->workload, seat->workload) ||
            other->amount[resource] <= most ||
            (resource == INTERFERENCE_CARD &&
             !interference_share_card(room->changes, seat->ref, other->ref)))
            continue;
        most = other->amount[resource];
        found = other;
    }
    return found;
}

/* --- caps --- */

/* A card's compute units are fed by the CPU. */
static int64_t *
cap_member(struct instance *image, enum interference_resource resource)
{
    if (resource == INTERFERENCE_IO)
        return &image->cap_io_kib;
    return resource == INTERFERENCE_NETWORK ? &image->cap_network_kib
                                            : &image->cap_cpu_milli;
}

static int64_t
floor_of(enum interference_resource resource)
{
    if (resource == INTERFERENCE_IO)
        return INTERFERENCE_IO_KIB_MIN;
    return resource == INTERFERENCE_NETWORK ? INTERFERENCE_NETWORK_KIB_MIN
                                            : INTERFERENCE_CPU_MILLI_MIN;
}

static int64_t
hold_of(const struct interference_room *room, const struct instance *image)
{
    int64_t times = image->caps > 1 ? image->caps - 1 : 0;

    return room->hold_ms
           << (times < DOUBLINGS_MAX ? times : DOUBLINGS_MAX);
}

static void
cap(struct interference_room *room, const struct interference_seat *cause,
    enum interference_resource resource)
{
    struct instance *image = change_update(room->changes, cause->ref);
    int64_t *member = cap_member(image, resource);
    int64_t amount = resource == INTERFERENCE_CARD
                         ? cause->amount[INTERFERENCE_CPU]
                         : cause->amount[resource];
    int64_t value;

    if (*member > 0 && *member < amount)
        amount = *member;
    value = amount * room->fair_permille / 1000;
    if (value < floor_of(resource))
        value = floor_of(resource);
    if (*member == 0 || value < *member)
        *member = value;
    if (image->cap_until_ms == 0)
        image->caps++;
    image->cap_until_ms =
        room->changes->context.now_ms + hold_of(room, image);
    alarm_raise(room->changes, cause->workload, "fair-use",
                "shared resource contention: it is held to its fair share "
                "for a time; its instances say of what and until when");
}

/* --- policies --- */

static bool
may_move(const struct interference_room *room,
         const struct interference_seat *cause)
{
    const struct changes *changes = room->changes;
    const struct workload *workload = change_get(changes, cause->workload);
    const struct platform *platform =
        world_platform(changes->world, world_platform_ref(changes->world));

    return workload != NULL && workload->state == WORKLOAD_RUNNING &&
           workload->preemptible &&
           changes->context.now_ms - workload->started_ms >=
               platform->min_run_ms;
}

static void
set_isolated(const struct interference_room *room, bool isolated)
{
    struct changes *changes = room->changes;
    const struct node *node = change_get(changes, room->node);
    struct node *image;

    if (isolated && node->state == NODE_SCHEDULABLE)
        alarm_raise(changes, room->node, "node.isolated",
                    "shared resource contention: the node takes no new work "
                    "until it is over");
    else if (isolated || !alarm_stands(changes, room->node, "node.isolated"))
        return;
    else
        alarm_clear(changes, room->node, "node.isolated");
    if (node->state != (isolated ? NODE_SCHEDULABLE : NODE_CORDONED))
        return;
    usage_cut_node(changes, room->node);
    image = change_update(changes, room->node);
    image->state = isolated ? NODE_CORDONED : NODE_SCHEDULABLE;
}

static void
do_policy(struct interference_room *room,
          const struct interference_seat *cause,
          enum interference_resource resource)
{
    enum interference_policy policy =
        (enum interference_policy)room->pool->interference;

    if (policy == INTERFERENCE_OBSERVE)
        return;
    if (policy == INTERFERENCE_ISOLATE)
        set_isolated(room, true);
    if (policy == INTERFERENCE_CAP || !may_move(room, cause))
        cap(room, cause, resource);
    else
        lifecycle_stop(room->changes, cause->workload, WORKLOAD_PREEMPTING,
                       "contention", NULL);
}

/* --- who is told --- */

static void
tell(const struct interference_room *room,
     const struct interference_seat *seat,
     const struct interference_seat *cause,
     enum interference_resource resource)
{
    const struct interference_track *track = &seat->tracks[resource];
    char victim[ID_TEXT_MAX], other[ID_TEXT_MAX];

    alarm_raise(room->changes, seat->workload, "contention",
                "shared resource contention: of %s it gets %lld.%02lld times "
                "less than alone",
                interference_text(resource),
                (long long)(track->index_milli / 1000),
                (long long)(track->index_milli % 1000 / 10));
    if (cause == NULL)
        return;
    object_id_text(room->changes->world, seat->ref, victim);
    object_id_text(room->changes->world, cause->ref, other);
    alarm_raise(room->changes, room->node, "node.contention",
                "instance %s is slowed by %s: %s, index %lld.%02lld", victim,
                other, interference_text(resource),
                (long long)(track->index_milli / 1000),
                (long long)(track->index_milli % 1000 / 10));
}

static bool
is_slowed(const struct interference_seat *seat)
{
    for (size_t i = 0; i < INTERFERENCE_RESOURCES; i++)
        if (seat->tracks[i].slowed)
            return true;
    return false;
}

/* Is any instance of the workload, of those that run here? */
static bool
slows(const struct interference_room *room, struct ref workload)
{
    for (size_t i = 0; i < room->count; i++)
        if (ref_equal(room->seats[i].workload, workload) &&
            is_slowed(&room->seats[i]))
            return true;
    return false;
}

static void
act_on(struct interference_room *room, struct interference_seat *seat,
       enum interference_resource resource)
{
    struct interference_track *track = &seat->tracks[resource];
    const struct interference_seat *cause = cause_of(room, seat, resource);
    int64_t now_ms = room->changes->context.now_ms;

    tell(room, seat, cause, resource);
    if (cause == NULL ||
        (track->acted_ms != 0 && now_ms - track->acted_ms < room->window_ms))
        return;
    object_id_text(room->changes->world, cause->ref, track->cause);
    track->acted_ms = now_ms;
    seat->changed = true;
    do_policy(room, cause, resource);
}

void
interference_act(struct interference_room *room)
{
    bool any = false;

    for (size_t i = 0; i < room->count; i++) {
        struct interference_seat *seat = &room->seats[i];

        for (size_t k = 0; k < INTERFERENCE_RESOURCES; k++)
            if (seat->tracks[k].slowed)
                act_on(room, seat, (enum interference_resource)k);
        any = any || is_slowed(seat);
        if (!slows(room, seat->workload))
            alarm_clear(room->changes, seat->workload, "contention");
    }
    if (any)
        return;
    alarm_clear(room->changes, room->node, "node.contention");
    set_isolated(room, false);
}

/* --- the end of a cap --- */

static bool
is_cause(const struct interference_room *room, struct ref ref)
{
    char text[ID_TEXT_MAX];

    object_id_text(room->changes->world, ref, text);
    for (size_t i = 0; i < room->count; i++)
        for (size_t k = 0; k < INTERFERENCE_RESOURCES; k++)
            if (room->seats[i].tracks[k].slowed &&
                strcmp(room->seats[i].tracks[k].cause, text) == 0)
                return true;
    return false;
}

static bool
is_over(const struct instance *instance)
{
    return instance->state == INSTANCE_EXITED ||
           instance->state == INSTANCE_RELEASED;
}

static void
end_cap(const struct interference_room *room, struct ref ref, bool over)
{
    int64_t now_ms = room->changes->context.now_ms;
    struct instance *image = change_update(room->changes, ref);

    if (!over && is_cause(room, ref)) {
        image->cap_until_ms = now_ms + hold_of(room, image);
        return;
    }
    image->cap_cpu_milli = image->cap_io_kib = image->cap_network_kib = 0;
    image->cap_until_ms = 0;
    alarm_clear(room->changes, image->object.parent, "fair-use");
}

void
interference_lift(struct interference_room *room)
{
    world_each_index(room->changes->world, KIND_INSTANCE, 0, room->node, ref) {
        const struct instance *instance = change_get(room->changes, ref);
        bool over;

        if (instance == NULL)
            continue;
        over = is_over(instance);
        if (instance->cap_until_ms != 0 &&
            (over ||
             instance->cap_until_ms <= room->changes->context.now_ms))
            end_cap(room, ref, over);
        if (over && instance->interference != NULL) {
            struct instance *image = change_unsaid(room->changes, ref);

            alarm_clear(room->changes, image->object.parent, "contention");
            change_doc(room->changes, &image->interference, NULL);
        }
    }
}
