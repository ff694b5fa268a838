/* SPDX-License-Identifier: Apache-2.0 */
#include "core/defrag.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/advice.h"
#include "core/card_health.h"
#include "core/forecast.h"
#include "core/lifecycle.h"
#include "core/object.h"

static const struct forecast_options at_once = { 0, 0, -1 };

struct move {
    struct ref workload;
    int64_t cards;
    int64_t lost; /* milli-card-ms */
};

struct candidate {
    struct ref node;
    struct move moves[DEFRAG_MOVES_MAX];
    size_t count;
    int64_t lost;
};

/* In the proof of work that was told to go. */
#define RULE "\"rule\":\"defragment\""

struct defrag {
    struct world *world;
    struct ref pool;
    int64_t now_ms;
};

/* --- what can move --- */

static bool
is_free(const struct card *card)
{
    return card_health_is_fit(card) && !card->missing &&
           !card->foreign && card->used_milli == 0 && card->held_milli == 0;
}

static int64_t
free_on(const struct world *world, struct ref node)
{
    int64_t count = 0;

    world_each_child(world, KIND_CARD, node, ref)
        count += is_free(world_card(world, ref));
    return count;
}

/* May it be told to go for the sake of order?  "": it may. */
static const char *
why_not(const struct world *world, const struct workload *workload,
        int64_t now_ms)
{
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));

    if (workload->state != WORKLOAD_RUNNING)
        return "does not run";
    if (!workload->preemptible)
        return "may not be preempted";
    if (now_ms - workload->started_ms < platform->min_run_ms)
        return "has only begun";
    return "";
}

/* Whole cards that it holds on the node; 0 when it holds parts of cards: then
 * its end frees none for sure.  all_out: with those elsewhere. */
static int64_t
cards_on(const struct world *world, struct ref workload, struct ref node,
         int64_t *all_out)
{
    int64_t cards = 0;

    *all_out = 0;

    world_each_child(world, KIND_INSTANCE, workload, ref) {
        const struct instance *instance = world_instance(world, ref);

        if (instance->state == INSTANCE_RELEASED)
            continue;
        world_each_child(world, KIND_BINDING, ref, at) {
            const struct binding *binding = world_binding(world, at);

            if (binding->to_ms != 0)
                continue;
            if (binding->milli != 1000)
                return 0;
            cards += ref_equal(instance->node, node);
            ++*all_out;
        }
    }
    return cards;
}

/* Card time since the last checkpoint that was seen, else since the start. */
static int64_t
lost_of(const struct workload *workload, int64_t cards, int64_t now_ms)
{
    int64_t since_ms = workload->checkpoint_ms > workload->started_ms
                           ? workload->checkpoint_ms
                           : workload->started_ms;

    return cards * 1000 * (now_ms > since_ms ? now_ms - since_ms : 0);
}

static bool
is_listed(const struct candidate *candidate, struct ref workload)
{
    for (size_t i = 0; i < candidate->count; i++)
        if (ref_equal(candidate->moves[i].workload, workload))
            return true;
    return false;
}

static void
list_moves(const struct world *world, int64_t now_ms,
           struct candidate *candidate)
{
    world_each_index(world, KIND_INSTANCE, 0, candidate->node, ref) {
        const struct instance *instance = world_instance(world, ref);
        struct ref self = instance->object.parent;
        const struct workload *workload = world_workload(world, self);
        int64_t cards, all;

        if (instance->state == INSTANCE_RELEASED || workload == NULL ||
            candidate->count == DEFRAG_MOVES_MAX ||
            is_listed(candidate, self) ||
            why_not(world, workload, now_ms)[0] != '\0')
            continue;
        cards = cards_on(world, self, candidate->node, &all);
        if (cards > 0)
            candidate->moves[candidate->count++] =
                (struct move){ self, cards,
                               lost_of(workload, all, now_ms) };
    }
}

/* --- the fewest losses --- */

/* What loses least for each card comes first. */
static int
move_order(const void *left, const void *right)
{
    const struct move *a = left, *b = right;
    int64_t x = a->lost / a->cards, y = b->lost / b->cards;

    if (x != y)
        return x < y ? -1 : 1;
    if (a->cards != b->cards)
        return a->cards > b->cards ? -1 : 1;
    return (a->workload.index > b->workload.index) -
           (a->workload.index < b->workload.index);
}

/* Takes moves until there is room, then leaves out those that it does without,
 * the dearest first.  False when all are not enough. */
static bool
choose(struct candidate *candidate, int64_t need)
{
    size_t count = 0, kept = 0;
    int64_t freed = 0;

    if (candidate->count > 1)
        qsort(candidate->moves, candidate->count, sizeof(struct move),
              move_order);
    while (count < candidate->count && freed < need)
        freed += candidate->moves[count++].cards;
    if (freed < need)
        return false;
    for (size_t i = count; i > 0; i--) {
        struct move *move = &candidate->moves[i - 1];

        if (freed - move->cards < need)
            continue;
        freed -= move->cards;
        move->cards = 0;
    }
    candidate->lost = 0;
    for (size_t i = 0; i < count; i++)
        if (candidate->moves[i].cards > 0) {
            candidate->lost += candidate->moves[i].lost;
            candidate->moves[kept++] = candidate->moves[i];
        }
    candidate->count = kept;
    return true;
}

static int
candidate_order(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;

    if (a->lost != b->lost)
        return a->lost < b->lost ? -1 : 1;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return (a->node.index > b->node.index) - (a->node.index < b->node.index);
}

static struct candidate *
list_candidates(const struct defrag *defrag, int64_t wanted,
                struct arena *arena, size_t *count_out)
{
    const struct world *world = defrag->world;
    struct candidate *list = arena_alloc(
        arena, (world_count(world, KIND_NODE) + 1) * sizeof(*list));
    size_t count = 0;

    world_each_child(world, KIND_NODE, defrag->pool, node) {
        struct candidate *candidate = &list[count];

        if (world_node(world, node)->state != NODE_SCHEDULABLE)
            continue;
        candidate->node = node;
        candidate->count = 0;
        list_moves(world, defrag->now_ms, candidate);
        count += choose(candidate, wanted - free_on(world, node));
    }
    if (count > 1)
        qsort(list, count, sizeof(*list), candidate_order);
    *count_out = count;
    return list;
}

/* --- the proof --- */

static void
stop(struct changes *changes, struct ref pool, struct ref ref)
{
    const struct world *world = changes->world;
    scoped_buffer text = { 0 };
    scoped_json proof = json_pack(
        "{s:s, s:s, s:I}", "rule", "defragment", "pool",
        world_pool(world, pool)->object.name, "time_ms",
        (json_int_t)changes->context.now_ms);

    json_write(&text, proof);
    lifecycle_stop(changes, ref, WORKLOAD_PREEMPTING, "defragment",
                   buffer_text(&text));
}

static bool
is_waiting(const struct workload *workload)
{
    return workload->reason == REASON_FRAGMENTED &&
           lifecycle_is_waiting(workload->state);
}

/* Did work start that waited for such room? */
static bool
has_served(const struct world *before, const struct world *after)
{
    world_each(before, KIND_WORKLOAD, ref)
        if (is_waiting(world_workload(before, ref)) &&
            world_workload(after, ref) != NULL &&
            lifecycle_is_live(world_workload(after, ref)->state))
            return true;
    return false;
}

/* All that was moved is live again, and the room is there or was used. */
static bool
is_proven(const struct defrag *defrag, const struct candidate *candidate,
          struct advice_room *after)
{
    const struct platform *platform =
        world_platform(defrag->world, world_platform_ref(defrag->world));
    struct forecast *forecast =
        forecast_new(world_clone(defrag->world), defrag->now_ms, &at_once);
    struct changes *changes = forecast_begin(forecast);
    const struct world *world;
    bool proven;

    for (size_t i = 0; i < candidate->count; i++)
        stop(changes, defrag->pool, candidate->moves[i].workload);
    forecast_apply(forecast, changes);
    (void)forecast_run(forecast, defrag->now_ms + platform->grace_max_ms + 1,
                       DEFRAG_DECISIONS_MAX);
    world = forecast_world(forecast);
    proven = !advice_fragmented(world, defrag->pool, after) &&
             (after->largest >= after->wanted ||
              has_served(defrag->world, world));
    for (size_t i = 0; proven && i < candidate->count; i++)
        proven = lifecycle_is_live(
            world_workload(world, candidate->moves[i].workload)->state);
    forecast_free(forecast);
    return proven;
}

/* --- the answer --- */

struct defrag *
defrag_new(const struct granted *granted)
{
    return defrag_copy(granted_world(granted), granted_object(granted),
                       granted_now_ms(granted));
}

struct defrag *
defrag_copy(const struct world *world, struct ref pool, int64_t now_ms)
{
    struct defrag *defrag = memory_new(1, sizeof(*defrag));

    defrag->world = world_clone(world);
    defrag->pool = pool;
    defrag->now_ms = now_ms;
    /* What nodes said last is not in the copy: they are at their posts. */
    world_each(defrag->world, KIND_NODE, ref)
        world_touch_node(defrag->world, ref, defrag->now_ms);
    return defrag;
}

void
defrag_free(struct defrag *defrag)
{
    if (defrag == NULL)
        return;
    world_free(defrag->world);
    free(defrag);
}

static json_t *
room_json(const struct advice_room *room)
{
    return json_pack("{s:I, s:I}", "free", (json_int_t)room->free, "largest",
                     (json_int_t)room->largest);
}

static json_t *
moves_json(const struct defrag *defrag, const struct candidate *candidate)
{
    json_t *list = json_array();

    for (size_t i = 0; i < candidate->count; i++) {
        const struct move *move = &candidate->moves[i];
        const struct workload *workload =
            world_workload(defrag->world, move->workload);

        json_array_append_new(
            list,
            json_pack("{s:o, s:s, s:o, s:I, s:I, s:I}", "workload",
                      object_id_json(defrag->world, move->workload), "name",
                      workload->object.name, "project",
                      object_id_json(defrag->world, workload->object.parent),
                      "cards", (json_int_t)move->cards, "lost_milli_card_ms",
                      (json_int_t)move->lost, "grace_ms",
                      (json_int_t)lifecycle_grace(defrag->world, workload)));
    }
    return list;
}

static json_t *
answer_json_of(const struct defrag *defrag, const struct advice_room *before,
               const struct advice_room *after,
               const struct candidate *candidate, const char *text)
{
    json_t *json = json_pack(
        "{s:o, s:I, s:o, s:o, s:s}", "pool",
        object_id_json(defrag->world, defrag->pool), "wanted",
        (json_int_t)before->wanted, "before", room_json(before), "after",
        after != NULL ? room_json(after) : json_null(), "text", text);

    (void)json_object_set_new(
        json, "node",
        candidate != NULL ? object_id_json(defrag->world, candidate->node)
                          : json_null());
    (void)json_object_set_new(json, "moves",
                              candidate != NULL
                                  ? moves_json(defrag, candidate)
                                  : json_array());
    (void)json_object_set_new(
        json, "lost_milli_card_ms",
        json_integer(candidate != NULL ? candidate->lost : 0));
    return json;
}

json_t *
defrag_answer(struct defrag *defrag)
{
    scoped_arena arena = arena_new();
    const char *name = world_pool(defrag->world, defrag->pool)->object.name;
    struct advice_room before, after;
    struct candidate *list;
    size_t count;

    if (!advice_fragmented(defrag->world, defrag->pool, &before))
        return answer_json_of(
            defrag, &before, NULL, NULL,
            arena_printf(arena,
                         "pool %s: %" PRId64 " cards are free, at most %" PRId64
                         " of them on one node; its largest class needs "
                         "%" PRId64 ": nothing is to be moved",
                         name, before.free, before.largest, before.wanted));
    list = list_candidates(defrag, before.wanted, arena, &count);
    for (size_t i = 0; i < count && i < DEFRAG_TRIES_MAX; i++)
        if (is_proven(defrag, &list[i], &after))
            return answer_json_of(
                defrag, &before, &after, &list[i],
                arena_printf(arena,
                             "pool %s: %zu workloads moved off node %s leave "
                             "%" PRId64 " cards on one node in place of "
                             "%" PRId64,
                             name, list[i].count,
                             world_node(defrag->world, list[i].node)
                                 ->object.name,
                             before.wanted, before.largest));
    return answer_json_of(
        defrag, &before, NULL, NULL,
        arena_printf(arena,
                     "pool %s: %" PRId64 " cards are free, at most %" PRId64
                     " of them on one node; no preemptible work could be "
                     "moved so that %" PRId64 " are",
                     name, before.free, before.largest, before.wanted));
}

/* --- carrying it out --- */

static int
move_one(const struct granted *granted, struct changes *changes,
         const char *text, struct error *err)
{
    const struct world *world = changes->world;
    struct ref pool = granted_object(granted);
    struct ref ref = object_find_text(world, text);
    const struct workload *workload = world_workload(world, ref);
    struct ref instance =
        workload != NULL ? world_first_child(world, KIND_INSTANCE, ref)
                         : (struct ref){ 0 };
    const char *why;

    world_each_child(world, KIND_INSTANCE, ref, at)
        instance = at;
    if (workload == NULL || !access_visible(granted, ref) ||
        ref_is_none(instance) ||
        !ref_equal(world_instance(world, instance)->pool, pool))
        return error_field(err, "/moves",
                           "\"%.40s\" is no workload on cards of the pool",
                           text);
    why = why_not(world, workload, granted_now_ms(granted));
    if (why[0] != '\0') {
        (void)error_set(err, ERROR_CONFLICT,
                        "workload %s %s: the plan is old",
                        workload->object.name, why);
        return error_help(err, "make a new one: `bulkhead advise defragment`");
    }
    stop(changes, pool, ref);
    return 0;
}

int
defrag_apply(const struct granted *granted, struct changes *changes,
             const json_t *moves, struct error *err)
{
    size_t count = json_array_size(moves);

    if (count < 1 || count > DEFRAG_MOVES_MAX)
        return error_field(err, "/moves",
                           "/moves must be a list of 1 to %d workloads",
                           DEFRAG_MOVES_MAX);
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(moves, i));

        if (text == NULL)
            return error_field(err, "/moves", "/moves/%zu must be an id", i);
        if (move_one(granted, changes, text, err) < 0)
            return -1;
    }
    return 0;
}

/* --- by the pool's policy --- */

#define HOUR_MS INT64_C(3600000)
#define MINUTE_MS INT64_C(60000)
#define DAY_MINUTES 1440

static bool
is_time(const struct pool *pool, int64_t now_ms)
{
    int64_t minute = now_ms / MINUTE_MS % DAY_MINUTES;

    if (pool->defrag_from == pool->defrag_to)
        return true;
    return pool->defrag_from < pool->defrag_to
               ? minute >= pool->defrag_from && minute < pool->defrag_to
               : minute >= pool->defrag_from || minute < pool->defrag_to;
}

static bool
is_new_hour(const struct pool *pool, int64_t now_ms)
{
    return pool->defrag_hour_ms == 0 ||
           now_ms - pool->defrag_hour_ms >= HOUR_MS;
}

int64_t
defrag_left(const struct pool *pool, int64_t now_ms)
{
    int64_t moved = is_new_hour(pool, now_ms) ? 0 : pool->defrag_moved;

    if (pool->defrag != DEFRAG_AUTO || !is_time(pool, now_ms) ||
        moved >= pool->defrag_moves)
        return 0;
    return pool->defrag_moves - moved;
}

static int64_t
number_of(const json_t *json, const char *name)
{
    return json_integer_value(json_object_get(json, name));
}

/* How many cards more are on one node afterwards. */
static int64_t
gain_of(const json_t *plan)
{
    return number_of(json_object_get(plan, "after"), "largest") -
           number_of(json_object_get(plan, "before"), "largest");
}

/* On cards of the pool, or was in its last attempt. */
static bool
is_of(const struct world *world, struct ref workload, struct ref pool)
{
    int64_t attempt = world_workload(world, workload)->attempt;

    world_each_child(world, KIND_INSTANCE, workload, ref)
        if (world_instance(world, ref)->attempt == attempt &&
            ref_equal(world_instance(world, ref)->pool, pool))
            return true;
    return false;
}

bool
defrag_is_moving(const struct world *world, struct ref pool)
{
    world_each(world, KIND_WORKLOAD, ref) {
        const struct workload *workload = world_workload(world, ref);

        if ((workload->state == WORKLOAD_PREEMPTING ||
             workload->state == WORKLOAD_QUEUED ||
             workload->state == WORKLOAD_ASSIGNED ||
             workload->state == WORKLOAD_STARTING) &&
            workload->proof != NULL &&
            strstr(workload->proof->bytes, RULE) != NULL &&
            is_of(world, ref, pool))
            return true;
    }
    return false;
}

/* Does the pool look as it did in the plan, and may all of them still go? */
static bool
is_fresh(const struct changes *changes, struct ref pool, const json_t *plan)
{
    const struct world *world = changes->world;
    const json_t *before = json_object_get(plan, "before");
    const json_t *moves = json_object_get(plan, "moves");
    struct advice_room room;
    json_t *move;
    size_t i;

    if (!advice_fragmented(world, pool, &room) ||
        room.wanted != number_of(plan, "wanted") ||
        room.free != number_of(before, "free") ||
        room.largest != number_of(before, "largest"))
        return false;
    json_array_foreach(moves, i, move) {
        struct ref ref = object_find_text(
            world, json_string_value(json_object_get(move, "workload")));
        const struct workload *workload = world_workload(world, ref);

        if (workload == NULL || !is_of(world, ref, pool) ||
            why_not(world, workload, changes->context.now_ms)[0] != '\0')
            return false;
    }
    return true;
}

/* What the policy says to a plan. */
static bool
is_allowed(const struct pool *pool, const json_t *plan, int64_t now_ms)
{
    int64_t count =
        (int64_t)json_array_size(json_object_get(plan, "moves"));

    return count > 0 && count <= DEFRAG_MOVES_MAX &&
           count <= defrag_left(pool, now_ms) &&
           gain_of(plan) >= pool->defrag_gain &&
           (pool->defrag_lost == 0 ||
            number_of(plan, "lost_milli_card_ms") <= pool->defrag_lost);
}

bool
defrag_by_policy(struct changes *changes, struct ref ref, const json_t *plan)
{
    const struct pool *present = world_pool(changes->world, ref);
    const json_t *moves = json_object_get(plan, "moves");
    int64_t now_ms = changes->context.now_ms;
    struct pool *pool;
    json_t *move;
    size_t i;

    if (present == NULL || !is_allowed(present, plan, now_ms) ||
        defrag_is_moving(changes->world, ref) ||
        !is_fresh(changes, ref, plan))
        return false;
    /* Every tenant sees the pool: whose work was moved is not its version's. */
    pool = change_unsaid(changes, ref);
    if (is_new_hour(pool, now_ms)) {
        pool->defrag_hour_ms = now_ms;
        pool->defrag_moved = 0;
    }
    pool->defrag_moved += (int64_t)json_array_size(moves);
    json_array_foreach(moves, i, move)
        stop(changes, ref,
             object_find_text(changes->world,
                              json_string_value(
                                  json_object_get(move, "workload"))));
    return true;
}
