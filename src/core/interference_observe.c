/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "core/interference_act.h"

/* Neighbours that use less than this part are quiet, permille. */
#define QUIET_PERMILLE 100
/* An index that moved by less is not written again, permille. */
#define MOVED_PERMILLE 50

int64_t
interference_amount(enum interference_resource resource,
                    const struct report_use *use)
{
    int64_t ms = use->ms > 0 ? use->ms : 1;

    switch (resource) {
    case INTERFERENCE_CPU:
        return use->cpu_us / ms;
    case INTERFERENCE_IO:
        return use->io_kib * 1000 / ms;
    case INTERFERENCE_NETWORK:
        return use->network_kib * 1000 / ms;
    case INTERFERENCE_CARD:
        return use->card_permille > 0 ? use->card_permille : 0;
    case INTERFERENCE_RESOURCES:
        break;
    }
    return 0;
}

bool
interference_share_card(const struct changes *changes, struct ref left,
                        struct ref right)
{
    world_each_child(changes->world, KIND_BINDING, left, one) {
        const struct binding *mine = change_get(changes, one);

        if (mine == NULL || mine->to_ms != 0)
            continue;
        world_each_child(changes->world, KIND_BINDING, right, two) {
            const struct binding *other = change_get(changes, two);

            if (other != NULL && other->to_ms == 0 &&
                ref_equal(mine->card, other->card))
                return true;
        }
    }
    return false;
}

/* What all but its own workload use of what it uses too. */
static int64_t
others_of(const struct interference_room *room,
          const struct interference_seat *seat,
          enum interference_resource resource)
{
    int64_t sum = 0;

    for (size_t i = 0; i < room->count; i++) {
        const struct interference_seat *other = &room->seats[i];

        if (ref_equal(other->workload, seat->workload) ||
            other->amount[resource] == 0 ||
            (resource == INTERFERENCE_CARD &&
             !interference_share_card(room->changes, seat->ref, other->ref)))
            continue;
        sum += other->amount[resource];
    }
    return sum;
}

static bool
is_quiet(const struct interference_room *room,
         const struct interference_seat *seat,
         enum interference_resource resource)
{
    const struct node *node = change_get(room->changes, room->node);
    int64_t others = others_of(room, seat, resource);

    switch (resource) {
    case INTERFERENCE_CPU:
        return others * 1000 <= node->cpu_milli * QUIET_PERMILLE;
    case INTERFERENCE_IO:
    case INTERFERENCE_NETWORK:
        return others * 1000 <= seat->amount[resource] * QUIET_PERMILLE;
    case INTERFERENCE_CARD:
        return others <= QUIET_PERMILLE;
    case INTERFERENCE_RESOURCES:
        break;
    }
    return true;
}

/* Is it worth a write? */
static bool
has_moved(const struct interference_track *was,
          const struct interference_track *now)
{
    int64_t step = llabs(now->index_milli - was->index_milli) * 1000;

    return was->slowed != now->slowed ||
           (was->turning_ms == 0) != (now->turning_ms == 0) ||
           (was->quiet != now->quiet &&
            (was->quiet < INTERFERENCE_LEARNT ||
             llabs(now->base - was->base) * 1000 >
                 was->base * MOVED_PERMILLE)) ||
           step > was->index_milli * MOVED_PERMILLE;
}

static void
judge_seat(const struct interference_room *room,
           struct interference_seat *seat)
{
    for (size_t i = 0; i < INTERFERENCE_RESOURCES; i++) {
        enum interference_resource resource = (enum interference_resource)i;
        struct interference_track was = seat->tracks[i];

        interference_judge(&seat->tracks[i],
                           interference_pace(resource, seat->use),
                           is_quiet(room, seat, resource),
                           room->threshold_milli, room->window_ms,
                           room->changes->context.now_ms);
        seat->changed = seat->changed || has_moved(&was, &seat->tracks[i]);
    }
}

/* Its own instance that runs, in the incarnation that is meant. */
static bool
take_seat(struct interference_room *room, const struct report_instance *fact,
          struct interference_seat *seat)
{
    const struct instance *instance = NULL;
    struct ref ref = { 0 };
    struct id id;

    if (fact->use.ms <= 0 || fact->state != REPORT_RUNNING ||
        id_parse(schema_get(KIND_INSTANCE)->prefix, fact->instance, &id) != 0)
        return false;
    ref = world_find(room->changes->world, KIND_INSTANCE, id);
    if (!ref_is_none(ref))
        instance = change_get(room->changes, ref);
    if (instance == NULL || !ref_equal(instance->node, room->node) ||
        instance->incarnation != fact->incarnation ||
        instance->state != INSTANCE_RUNNING)
        return false;
    *seat = (struct interference_seat){ .ref = ref,
                                        .workload = instance->object.parent,
                                        .use = &fact->use };
    interference_read(instance, seat->tracks);
    for (size_t i = 0; i < INTERFERENCE_RESOURCES; i++)
        seat->amount[i] = interference_amount((enum interference_resource)i,
                                              &fact->use);
    return true;
}

static int64_t
or_else(int64_t value, int64_t standard)
{
    return value > 0 ? value : standard;
}

static void
set_policy(struct interference_room *room)
{
    const struct node *node = change_get(room->changes, room->node);
    const struct pool *pool =
        change_get(room->changes, node->object.parent);

    room->pool = pool;
    room->threshold_milli =
        or_else(pool->interference_milli, INTERFERENCE_INDEX_MILLI);
    room->window_ms =
        or_else(pool->interference_window_ms, INTERFERENCE_WINDOW_MS);
    room->hold_ms = or_else(pool->interference_hold_ms, INTERFERENCE_HOLD_MS);
    room->fair_permille =
        or_else(pool->interference_fair, INTERFERENCE_FAIR_PERMILLE);
}

/* Others' doings are in it, so its owner is not told of the writing. */
static void
keep(const struct interference_room *room,
     const struct interference_seat *seat)
{
    scoped_json all = interference_write(seat->tracks);
    scoped_buffer text = { 0 };
    struct instance *image = change_unsaid(room->changes, seat->ref);

    json_write(&text, all);
    change_doc(room->changes, &image->interference, buffer_text(&text));
}

void
interference_observe(struct changes *changes, struct ref node,
                     const struct report *report)
{
    scoped_arena arena = arena_new();
    struct interference_room room = { .changes = changes, .node = node };

    set_policy(&room);
    room.seats =
        arena_alloc(arena, (report->instance_count + 1) * sizeof(*room.seats));
    for (size_t i = 0; i < report->instance_count; i++)
        if (take_seat(&room, &report->instances[i], &room.seats[room.count]))
            room.count++;
    if (room.count > 0) {
        for (size_t i = 0; i < room.count; i++)
            judge_seat(&room, &room.seats[i]);
        interference_act(&room);
        for (size_t i = 0; i < room.count; i++)
            if (room.seats[i].changed)
                keep(&room, &room.seats[i]);
    }
    interference_lift(&room);
}
