/* SPDX-License-Identifier: Apache-2.0 */
#include "core/estate.h"

#include <assert.h>
#include <string.h>

#include "core/ends.h"
#include "core/estate_private.h"
#include "core/lifecycle.h"
#include "core/expect.h"
#include "core/reclaim_index.h"

/* --- tables --- */

void *
estate_grow(struct estate *estate, void *table, size_t *room, size_t need,
            size_t size)
{
    /* What is large belongs to one run mostly, of many. */
    size_t larger = *room > 0 ? *room : size >= 24 ? 4 : 64;
    char *copy;

    if (need <= *room)
        return table;
    while (larger < need)
        larger *= 2;
    copy = arena_alloc(estate->arena, larger * size);
    if (*room > 0)
        memcpy(copy, table, *room * size);
    *room = larger;
    return copy;
}

uint32_t *
estate_place(struct estate *estate, uint32_t **map, size_t *room, uint32_t index)
{
    size_t before = *room;

    *map = estate_grow(estate, *map, room, (size_t)index + 1, sizeof(**map));
    for (size_t i = before; i < *room; i++)
        (*map)[i] = ESTATE_NONE;
    return &(*map)[index];
}

void
estate_mark(struct estate *estate, struct marks *marks, uint32_t number)
{
    marks->flags = estate_grow(estate, marks->flags, &marks->flag_room,
                               (size_t)number + 1, 1);
    if (marks->flags[number] != 0)
        return;
    marks->flags[number] = 1;
    marks->list = estate_grow(estate, marks->list, &marks->room,
                              marks->count + 1, sizeof(*marks->list));
    marks->list[marks->count++] = number;
}

static void
mark_site(struct estate *estate, uint32_t site)
{
    if (site != ESTATE_NONE)
        estate_mark(estate, &estate->inside->sites, site);
}

void
estate_mark_run(struct estate *estate, struct ref workload)
{
    if (workload.kind == KIND_WORKLOAD && workload.index != 0)
        estate_mark(estate, &estate->inside->runs, workload.index);
}

uint32_t
estate_part(const struct estate *estate, struct ref card)
{
    return card.index < estate->inside->part_of_room
               ? estate->inside->part_of[card.index]
               : ESTATE_NONE;
}

uint32_t
estate_site(const struct estate *estate, struct ref node)
{
    return node.index < estate->inside->site_of_room
               ? estate->inside->site_of[node.index]
               : ESTATE_NONE;
}

uint64_t
estate_part_bit(const struct estate *estate, uint32_t part)
{
    const struct site *site = &estate->sites[estate->parts[part].site];

    return UINT64_C(1) << ((part - site->first) % 63);
}

struct estate_pulse
estate_pool(const struct estate *estate, struct ref pool)
{
    return pool.index < estate->pool_room ? estate->pools[pool.index]
                                          : (struct estate_pulse){ 0 };
}

struct estate_pulse
estate_tenant(const struct estate *estate, struct ref tenant)
{
    return tenant.index < estate->tenant_room ? estate->tenants[tenant.index]
                                              : (struct estate_pulse){ 0 };
}

/* --- live instances --- */

bool
estate_is_leaving(const struct estate *estate,
                  const struct instance *instance, int64_t *due_out)
{
    int64_t since = instance->state == INSTANCE_EXITED ? instance->ended_ms
                                                       : instance->deadline_ms;

    *due_out = 0;
    if (instance->state == INSTANCE_LOST)
        return false;
    if (instance->state != INSTANCE_EXITED && instance->want == WANT_RUN)
        return false;
    if (since == 0)
        return true;
    *due_out = since + estate->inside->patience_ms;
    return estate->now_ms < *due_out;
}

static void
stay_end(struct estate *estate, struct stay *stay)
{
    struct estate_inside *inside = estate->inside;

    if (stay->site != ESTATE_NONE) {
        if (stay->previous != 0)
            inside->stays[stay->previous].next = stay->next;
        else
            inside->extras[stay->site].stays = stay->next;
        if (stay->next != 0)
            inside->stays[stay->next].previous = stay->previous;
    }
    numbers_mark(&estate->numbers, stay->tenant, stay->uid_base, stay->address,
                 false);
    mark_site(estate, stay->site);
    estate_mark_run(estate, stay->workload);
    *stay = (struct stay){ 0 };
}

static void
stay_begin(struct estate *estate, struct stay *stay,
           const struct instance *instance)
{
    struct estate_inside *inside = estate->inside;
    uint32_t index = instance->object.self.index;
    uint32_t *first;

    *stay = (struct stay){ .seq = instance->object.seq,
                           .site = estate_site(estate, instance->node),
                           .tenant = instance->object.scope,
                           .workload = instance->object.parent,
                           .uid_base = instance->uid_base,
                           .address = instance->address };
    numbers_mark(&estate->numbers, stay->tenant, stay->uid_base, stay->address,
                 true);
    if (stay->site == ESTATE_NONE)
        return;
    first = &inside->extras[stay->site].stays;
    stay->next = *first;
    if (*first != 0)
        inside->stays[*first].previous = index;
    *first = index;
}

static void
note_instance(struct estate *estate, struct ref ref)
{
    struct estate_inside *inside = estate->inside;
    const struct instance *instance = world_instance(estate->world, ref);
    bool live = instance != NULL && instance->state != INSTANCE_RELEASED;
    struct stay *stay;

    inside->stays = estate_grow(estate, inside->stays, &inside->stay_room,
                                (size_t)ref.index + 1, sizeof(*stay));
    stay = &inside->stays[ref.index];
    if (stay->seq != 0 && (!live || instance->object.seq != stay->seq))
        stay_end(estate, stay);
    if (!live)
        return;
    if (stay->seq == 0)
        stay_begin(estate, stay, instance);
    mark_site(estate, stay->site);
    estate_mark_run(estate, stay->workload);
}

/* --- steps of the trail --- */

static void
add_site(struct estate *estate, struct ref node)
{
    struct estate_inside *inside = estate->inside;
    uint32_t number = (uint32_t)estate->site_count++;
    size_t room = inside->site_room;

    estate->sites = estate_grow(estate, estate->sites, &room,
                                estate->site_count, sizeof(*estate->sites));
    inside->extras =
        estate_grow(estate, inside->extras, &inside->site_room,
                    estate->site_count, sizeof(*inside->extras));
    estate->sites[number].node = node;
    estate->sites[number].pool = world_parent(estate->world, node);
    inside->extras[number].forced = true;
    *estate_place(estate, &inside->site_of, &inside->site_of_room, node.index) =
        number;
    mark_site(estate, number);
}

void
estate_mark_site(struct estate *estate, struct ref node)
{
    uint32_t number = estate_site(estate, node);

    if (number != ESTATE_NONE)
        mark_site(estate, number);
}

static void
note_node(struct estate *estate, const struct trail_step *step)
{
    uint32_t number = estate_site(estate, step->ref);

    if (step->op == TRAIL_CREATED) {
        add_site(estate, step->ref);
        return;
    }
    mark_site(estate, number);
    if (step->op == TRAIL_GONE && number != ESTATE_NONE) {
        estate->sites[number].node = (struct ref){ 0 };
        estate->inside->site_of[step->ref.index] = ESTATE_NONE;
    }
}

/* A binding or hold: its card's site, its instance, its workload. */
static void
note_part(struct estate *estate, const struct trail_step *step)
{
    uint32_t part = estate_part(estate, step->target);

    if (part != ESTATE_NONE)
        mark_site(estate, estate->parts[part].site);
    if (step->parent.kind == KIND_INSTANCE)
        note_instance(estate, step->parent);
    else
        estate_mark_run(estate, step->parent);
}

static void
note_tenant(struct estate *estate, struct ref tenant)
{
    for (size_t i = 0; i < estate->site_count; i++)
        if (estate->sites[i].shared ||
            ref_equal(estate->sites[i].tenant, tenant))
            mark_site(estate, (uint32_t)i);
}

/* Of a node, or of all nodes of a pool. */
static void
note_maintenance(struct estate *estate, struct ref parent)
{
    if (parent.kind == KIND_NODE)
        mark_site(estate, estate_site(estate, parent));
    else
        for (size_t i = 0; i < estate->site_count; i++)
            if (ref_equal(estate->sites[i].pool, parent))
                mark_site(estate, (uint32_t)i);
}

static void
mark_all(struct estate *estate)
{
    for (size_t i = 0; i < estate->site_count; i++)
        mark_site(estate, (uint32_t)i);
    for (size_t i = 0; i < estate->run_count; i++)
        estate_mark_run(estate, estate->runs[i].workload);
}

static void
read_platform(struct estate *estate)
{
    const struct platform *platform =
        world_platform(estate->world, world_platform_ref(estate->world));

    estate->inside->patience_ms = platform != NULL ? platform->hold_ms : 0;
    estate->inside->lease_ms = platform != NULL ? platform->lease_ms : 0;
}

/* What was learnt concerns no site and no run. */
static void
note_platform(struct estate *estate)
{
    uint64_t rest = expect_rest(estate->world);

    if (rest == estate->inside->rest)
        return;
    estate->inside->rest = rest;
    read_platform(estate);
    mark_all(estate);
}

void
estate_note(struct estate *estate, const struct trail_step *step)
{
    assert(estate->inside->load.kind != KIND_NODE); /* sites are listed */
    switch (step->ref.kind) {
    case KIND_PLATFORM:
        note_platform(estate);
        break;
    case KIND_CLASS: /* nothing is of one that is new */
        if (step->op != TRAIL_CREATED)
            mark_all(estate);
        break;
    case KIND_NODE:
        note_node(estate, step);
        break;
    case KIND_CARD:
        mark_site(estate, estate_site(estate, step->parent));
        break;
    case KIND_MAINTENANCE:
        note_maintenance(estate, step->parent);
        break;
    case KIND_INSTANCE:
        note_instance(estate, step->ref);
        estate_mark_run(estate, step->parent);
        break;
    case KIND_BINDING:
    case KIND_HOLD:
        note_part(estate, step);
        break;
    case KIND_TENANT:
        note_tenant(estate, step->ref);
        break;
    case KIND_WORKLOAD:
        estate_mark_run(estate, step->ref);
        estate_kept_note(estate, step->ref);
        break;
    default:
        estate_run_note(estate, step);
        break;
    }
}

static int64_t
cost_of_all(const struct estate *estate)
{
    return 1 + (int64_t)(estate->site_count + estate->run_count) / 16;
}

int64_t
estate_note_cost(const struct estate *estate, const struct trail_step *step)
{
    switch (step->ref.kind) {
    case KIND_PLATFORM:
        return expect_rest(estate->world) == estate->inside->rest
                   ? 20
                   : cost_of_all(estate);
    case KIND_CLASS:
        return step->op == TRAIL_CREATED ? 2 : cost_of_all(estate);
    case KIND_QUOTA:
    case KIND_PRIORITY:
        return 1 + (int64_t)estate->run_count / 64;
    case KIND_TENANT:
        return 1 + (int64_t)estate->site_count / 64;
    default:
        return 2;
    }
}

/* --- time --- */

#define COST_DUE 2

static bool
note_time(struct estate *estate)
{
    struct estate_inside *inside = estate->inside;
    struct marks *stale = &inside->stale;
    struct due_entry entry;
    size_t kept = 0;

    while (due_next(&inside->due) <= estate->now_ms) {
        if (!budget_take(estate->budget, COST_DUE))
            return false;
        (void)due_take(&inside->due, estate->now_ms, &entry);
        if (entry.ref.kind == KIND_NODE)
            mark_site(estate, estate_site(estate, entry.ref));
        else
            note_instance(estate, entry.ref);
    }
    for (size_t i = 0; i < stale->count; i++) {
        uint32_t number = stale->list[i];
        const struct node *node =
            world_node(estate->world, estate->sites[number].node);

        if (node != NULL &&
            (node->seen_ms == 0 ||
             estate->now_ms > node->seen_ms + inside->lease_ms)) {
            stale->list[kept++] = number;
            continue;
        }
        stale->flags[number] = 0;
        mark_site(estate, number);
    }
    stale->count = kept;
    return true;
}

static void
clear_news(struct estate *estate)
{
    struct marks *tenants = &estate->inside->tenants;

    for (size_t i = 0; i < tenants->count; i++)
        tenants->flags[tenants->list[i]] = 0;
    tenants->count = 0;
    estate->news.tenant_count = 0;
    estate->news.start_count = 0;
}

/* What is expected changes when the scheduler has learnt. */
static void
read_expect(struct estate *estate)
{
    const struct platform *platform =
        world_platform(estate->world, world_platform_ref(estate->world));

    if (platform == NULL || platform->expected_upto == estate->expect_upto)
        return;
    estate->expect = expect_read(estate->world, estate->arena);
    estate->expect_upto = platform->expected_upto;
}

/* --- the first load --- */

/* What units of the budget the pieces cost. */
#define COST_LIST 3
#define COST_LOAD 3
#define COST_STAY 10
#define COST_SITE 40
#define COST_RUN 30

static void
load_one(struct estate *estate, struct ref ref)
{
    const struct world *world = estate->world;

    if (ref.kind == KIND_INSTANCE)
        note_instance(estate, ref);
    else if (ref.kind == KIND_HOLD)
        estate_mark_run(estate, world_parent(world, ref));
    else if (lifecycle_is_live(world_workload(world, ref)->state)) {
        estate_mark_run(estate, ref);
        estate_kept_load(estate, ref);
    }
}

bool
estate_list(struct estate *estate)
{
    struct walk *walk = &estate->inside->load;
    struct ref ref;

    while (walk->kind == KIND_NODE) {
        if (!budget_take(estate->budget, COST_LIST))
            return false;
        if (!walk_next(walk, estate->world, &ref))
            walk_begin(walk, estate->world, KIND_INSTANCE);
        else if (estate_site(estate, ref) == ESTATE_NONE)
            add_site(estate, ref);
    }
    return true;
}

bool
estate_is_passed(const struct estate *estate, uint64_t position)
{
    const struct world *world = estate->world;

    if (estate->inside->load.kind != KIND_NODE)
        return false;
    for (; position < trail_end(world); position++) {
        const struct trail_step *step = trail_at(world, position);

        if (step->ref.kind == KIND_NODE && step->op != TRAIL_CHANGED)
            return true;
    }
    return false;
}

/* Instances, then workloads, then holds; sites are there already. */
static bool
load(struct estate *estate)
{
    static const enum kind next[KIND_COUNT] = {
        [KIND_INSTANCE] = KIND_WORKLOAD, [KIND_WORKLOAD] = KIND_HOLD
    };
    struct walk *walk = &estate->inside->load;
    struct ref ref;

    while (walk->kind != KIND_NONE) {
        if (walk_is_over(walk)) {
            walk_begin(walk, estate->world, next[walk->kind]);
            continue;
        }
        if (!budget_take(estate->budget, walk->kind == KIND_INSTANCE
                                             ? COST_STAY
                                             : COST_LOAD))
            return false;
        if (walk_next(walk, estate->world, &ref))
            load_one(estate, ref);
    }
    return true;
}

static void *
room_for(struct estate *estate, size_t *room, size_t count, size_t size)
{
    *room = 2 * count + 64; /* what is not used is not there */
    return arena_alloc(estate->arena, *room * size);
}

/* For what there is, so that the first load copies no large table. */
static void
make_room(struct estate *estate)
{
    const struct world *world = estate->world;
    struct estate_inside *inside = estate->inside;
    size_t sites = world_count(world, KIND_NODE);
    size_t parts = world_count(world, KIND_CARD);
    size_t stays = world_count(world, KIND_INSTANCE);
    size_t runs = world_count(world, KIND_WORKLOAD), site_room = 0;

    if (stays < runs) /* work that is live or nominated, but for a few */
        runs = stays;
    estate->sites = room_for(estate, &site_room, sites,
                             sizeof(*estate->sites));
    inside->extras = room_for(estate, &inside->site_room, sites,
                              sizeof(*inside->extras));
    estate->parts = room_for(estate, &inside->part_room, parts,
                             sizeof(*estate->parts));
    inside->faces = room_for(estate, &inside->face_room, parts,
                             sizeof(*inside->faces));
    estate->runs = room_for(estate, &inside->run_room, runs,
                            sizeof(*estate->runs));
    inside->stays = room_for(estate, &inside->stay_room, stays + 1,
                             sizeof(*inside->stays));
}

static struct estate *
begin(struct arena *arena, const struct world *world, int64_t now_ms)
{
    struct estate *estate = arena_alloc(arena, sizeof(*estate));
    struct estate_inside *inside = arena_alloc(arena, sizeof(*inside));

    estate->arena = arena;
    estate->world = world;
    estate->now_ms = now_ms;
    estate->inside = inside;
    estate->trials = arena_alloc(arena, sizeof(*estate->trials));
    ledger_init(&estate->promised, arena);
    ledger_init(&estate->leaving, arena);
    ledger_init(&estate->balance, arena);
    ledger_init(&inside->one, arena);
    numbers_init(&estate->numbers, arena);
    due_init(&inside->due, arena);
    estate->touched =
        arena_alloc(arena, ESTATE_TOUCHED * sizeof(*estate->touched));
    estate->touched_parts =
        arena_alloc(arena, ESTATE_TOUCHED * sizeof(*estate->touched_parts));
    reclaim_index_on(estate);
    ends_on(estate);
    read_platform(estate);
    inside->rest = expect_rest(world);
    make_room(estate);
    walk_begin(&inside->load, world, KIND_NODE);
    return estate;
}

struct estate *
estate_begin(struct arena *arena, const struct world *world, int64_t now_ms,
             struct budget *budget)
{
    struct estate *estate = begin(arena, world, now_ms);

    estate->budget = budget;
    return estate;
}

struct estate *
estate_new(struct arena *arena, const struct world *world, int64_t now_ms)
{
    struct estate *estate = begin(arena, world, now_ms);

    (void)estate_settle(estate, now_ms);
    return estate;
}

/* --- becoming right --- */

/* The next one on the list; false when there is none. */
static bool
marks_next(struct marks *marks, uint32_t *number_out)
{
    if (marks->done == marks->count) {
        marks->done = marks->count = 0;
        return false;
    }
    *number_out = marks->list[marks->done++];
    marks->flags[*number_out] = 0;
    return true;
}

/* One that cannot be done in this slice. */
static void
marks_return(struct marks *marks)
{
    marks->done--;
    marks->flags[marks->list[marks->done]] = 1;
}

static bool
settle_sites(struct estate *estate)
{
    struct marks *sites = &estate->inside->sites;
    scoped_arena scratch = NULL;
    uint32_t number;

    while (marks_next(sites, &number)) {
        if (!budget_take(estate->budget, COST_SITE)) {
            marks_return(sites);
            return false;
        }
        if (scratch == NULL)
            scratch = arena_new();
        estate_site_derive(estate, number, scratch);
    }
    return true;
}

#define AHEAD 4 /* of many runs, the next ones are asked for */

static void
ask_ahead(const struct estate *estate, const struct marks *runs)
{
    struct ref ref = { KIND_WORKLOAD, 0 };
    uint32_t run;

    if (runs->done + AHEAD >= runs->count)
        return;
    ref.index = runs->list[runs->done + AHEAD];
    world_prefetch(estate->world, ref);
    run = estate_run(estate, ref);
    for (size_t at = 0; run != ESTATE_NONE && at < sizeof(struct run);
         at += 64)
        __builtin_prefetch((const char *)&estate->runs[run] + at);
}

static bool
settle_runs(struct estate *estate)
{
    struct marks *runs = &estate->inside->runs;
    uint32_t number;

    while (marks_next(runs, &number)) {
        ask_ahead(estate, runs);
        if (!budget_take(estate->budget, COST_RUN)) {
            marks_return(runs);
            return false;
        }
        estate_run_derive(estate, number);
    }
    return true;
}

bool
estate_settle(struct estate *estate, int64_t now_ms)
{
    struct estate_inside *inside = estate->inside;

    estate->now_ms = now_ms;
    if (!inside->settling)
        clear_news(estate);
    inside->settling = true;
    if (!estate_list(estate) || !load(estate) || !note_time(estate) ||
        !settle_sites(estate) || !settle_runs(estate))
        return false;
    inside->settling = false;
    estate->news.tenants = inside->tenants.list;
    estate->news.tenant_count = inside->tenants.count;
    read_expect(estate);
    return true;
}
