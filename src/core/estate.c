/* SPDX-License-Identifier: Apache-2.0 */
#include "core/estate.h"

#include <assert.h>
#include <string.h>

#include "core/estate_private.h"
#include "core/lifecycle.h"
#include "core/outlook.h"

/* --- tables --- */

void *
estate_grow(struct estate *estate, void *table, size_t *room, size_t need,
            size_t size)
{
    size_t larger = *room > 0 ? *room : 64;
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

/* The place of an index in a map whose new places say "none". */
static uint32_t *
map_place(struct estate *estate, uint32_t **map, size_t *room, uint32_t index)
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

static void
mark_run(struct estate *estate, struct ref workload)
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

struct estate_pool
estate_pool(const struct estate *estate, struct ref pool)
{
    return pool.index < estate->pool_room ? estate->pools[pool.index]
                                          : (struct estate_pool){ 0 };
}

static void
touch(struct estate *estate, uint32_t number, struct ref pool)
{
    estate->touched[estate->touched_count++ % ESTATE_TOUCHED] = number;
    estate->pools =
        estate_grow(estate, estate->pools, &estate->pool_room,
                    (size_t)pool.index + 1, sizeof(*estate->pools));
    estate->pools[pool.index].changed++;
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
    mark_run(estate, stay->workload);
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
    mark_run(estate, stay->workload);
}

/* --- deriving a site --- */

/* The holds on a card: for whom, and the CPU and memory of instances that
 * begin with one.  All cards of an instance lie on one node. */
static void
derive_holds(const struct estate *estate, struct site *site,
             struct part *parts, size_t number)
{
    const struct world *world = estate->world;
    struct part *part = &parts[number];

    world_each_index(world, KIND_HOLD, 0, part->card, ref) {
        struct ref workload_ref = world_parent(world, ref);
        const struct workload *workload = world_workload(world, workload_ref);
        const struct class *class =
            workload != NULL ? world_class(world, workload->class) : NULL;
        int64_t count = class != NULL && class->form == FORM_WHOLE &&
                                class->count > 0
                            ? class->count
                            : 1;
        int64_t before = 0;

        part->hold_tenant = world_object(world, ref)->scope;
        estate_cut_add(part, &part->cut.held, world_hold(world, ref)->slice,
                       1);
        if (workload == NULL)
            continue;
        for (size_t i = 0; count > 1 && i < number; i++)
            if (parts[i].held_milli > 0)
                world_each_index(world, KIND_HOLD, 0, parts[i].card, other)
                    before += ref_equal(world_parent(world, other),
                                        workload_ref);
        if (before % count != 0)
            continue;
        site->held_cpu += workload->cpu_milli;
        site->held_memory += workload->memory_mib;
    }
}

static void
derive_part(const struct estate *estate, uint32_t number, size_t first,
            struct part *parts, size_t at)
{
    const struct card *card = world_card(estate->world, parts[at].card);
    struct part *part = &parts[at];

    part->memory_mib = card->memory_mib;
    part->site = number;
    part->island = (uint32_t)(first + at);
    part->health = card->health;
    part->handover = card->handover;
    part->missing = card->missing;
    part->foreign = card->foreign;
    part->last_tenant = card->last_tenant;
    part->used_milli = card->used_milli;
    part->used_memory_mib = card->used_memory_mib;
    part->held_milli = card->held_milli;
    part->held_memory_mib = card->held_memory_mib;
    estate_cut_derive(estate, part, at > 0 ? part - 1 : NULL);
    for (size_t i = 0; i < at; i++)
        if (strcmp(world_card(estate->world, parts[i].card)->island,
                   card->island) == 0) {
            part->island = parts[i].island;
            break;
        }
}

static void
add_tenant(const struct estate *estate, struct site *site, struct ref ref)
{
    const struct tenant *tenant = world_tenant(estate->world, ref);
    struct ref *places[] = { &site->tenant, &site->secluded };
    bool *more[] = { &site->shared, &site->secluded_more };

    /* The smallest is kept, so that the order of the list does not matter. */
    for (int i = 0; i < 2; i++) {
        if (i == 1 && (tenant == NULL ||
                       tenant->isolation == ISOLATION_NAMESPACE))
            continue;
        if (!ref_is_none(*places[i]) && !ref_equal(*places[i], ref))
            *more[i] = true;
        if (ref_is_none(*places[i]) || ref.index < places[i]->index)
            *places[i] = ref;
    }
}

static void
derive_stay(struct estate *estate, struct site *site, struct part *parts,
            size_t count, struct ref ref)
{
    const struct instance *instance = world_instance(estate->world, ref);
    struct stay *stay = &estate->inside->stays[ref.index];
    int64_t due_ms;
    bool leaving = estate_is_leaving(estate, instance, &due_ms);

    add_tenant(estate, site, instance->object.scope);
    if (leaving) {
        site->leaving_cpu += instance->cpu_milli;
        site->leaving_memory += instance->memory_mib;
        if (due_ms != 0 && due_ms != stay->due_ms) {
            due_add(&estate->inside->due, due_ms, ref);
            stay->due_ms = due_ms;
        }
    }
    world_each_child(estate->world, KIND_BINDING, ref, child) {
        const struct binding *binding = world_binding(estate->world, child);

        if (binding->to_ms != 0)
            continue;
        for (size_t i = 0; i < count; i++) {
            if (!ref_equal(parts[i].card, binding->card))
                continue;
            parts[i].tenant = instance->object.scope;
            estate_cut_add(&parts[i], &parts[i].cut.used, binding->slice, 1);
            if (leaving) {
                estate_cut_add(&parts[i], &parts[i].cut.leaving,
                               binding->slice, 1);
                parts[i].leaving_milli += binding->milli;
                parts[i].leaving_memory_mib += binding->memory_mib;
            }
        }
    }
}

/* A site whose lease is over is looked at again and again, another one when
 * its lease would be over. */
static void
derive_lease(struct estate *estate, uint32_t number, struct site *site,
             const struct node *node)
{
    struct estate_inside *inside = estate->inside;
    struct site_extra *extra = &inside->extras[number];
    int64_t due_ms = node->seen_ms + inside->lease_ms + 1;

    site->fresh = inside->lease_ms == 0 ||
                  (node->seen_ms > 0 && estate->now_ms < due_ms);
    if (inside->lease_ms == 0)
        return;
    if (!site->fresh) {
        estate_mark(estate, &inside->stale, number);
    } else if (extra->due_ms <= estate->now_ms) {
        due_add(&inside->due, due_ms, site->node);
        extra->due_ms = due_ms;
    }
}

/* Are these the cards that lie in the site's places, in this order? */
static bool
same_cards(const struct estate *estate, const struct site *site,
           const struct part *parts, size_t count)
{
    if (site->count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!ref_equal(estate->parts[site->first + i].card, parts[i].card))
            return false;
    return true;
}

/* Gives the cards their places; the runs on the site have to find them. */
static void
lay_out(struct estate *estate, uint32_t number, const struct part *parts,
        size_t count)
{
    struct estate_inside *inside = estate->inside;
    struct site *site = &estate->sites[number];

    for (size_t i = site->first; i < site->first + site->count; i++) {
        uint32_t index = estate->parts[i].card.index;

        if (inside->part_of[index] == i)
            inside->part_of[index] = ESTATE_NONE;
        memset(&estate->parts[i], 0, sizeof(*estate->parts));
    }
    if (count > site->room) {
        site->room = site->room > 0 ? count * 2 : count;
        site->first = estate->part_count;
        estate->part_count += site->room;
        estate->parts =
            estate_grow(estate, estate->parts, &inside->part_room,
                        estate->part_count, sizeof(*estate->parts));
    }
    site->count = count;
    for (size_t i = 0; i < count; i++)
        *map_place(estate, &inside->part_of, &inside->part_of_room,
                   parts[i].card.index) = (uint32_t)(site->first + i);
    for (uint32_t stay = inside->extras[number].stays; stay != 0;
         stay = inside->stays[stay].next)
        mark_run(estate, inside->stays[stay].workload);
}

/* The cards of a node in the order of seq, in scratch memory. */
static struct part *
list_cards(const struct estate *estate, struct ref node, struct arena *scratch,
           size_t *count_out)
{
    struct part *parts;
    size_t count = 0;

    if (ref_is_none(node))
        return NULL;
    world_each_child(estate->world, KIND_CARD, node, ref)
        count++;
    parts = arena_alloc(scratch, count * sizeof(*parts));
    *count_out = count;
    count = 0;
    world_each_child(estate->world, KIND_CARD, node, ref)
        parts[count++].card = ref;
    return parts;
}

static void
derive_site(struct estate *estate, uint32_t number, struct arena *scratch)
{
    struct estate_inside *inside = estate->inside;
    struct ref ref = estate->sites[number].node;
    const struct node *node = world_node(estate->world, ref);
    struct ref pool = estate->sites[number].pool;
    struct site *site, next;
    size_t count = 0;
    struct part *parts = list_cards(estate, ref, scratch, &count);

    if (!same_cards(estate, &estate->sites[number], parts, count)) {
        lay_out(estate, number, parts, count);
        inside->extras[number].forced = true;
    }
    site = &estate->sites[number];
    memset(&next, 0, sizeof(next));
    next.node = ref;
    next.first = site->first;
    next.count = count;
    next.room = site->room;
    if (node != NULL) {
        pool = next.pool = node->object.parent;
        next.state = node->state;
        next.cpu_milli = node->cpu_milli;
        next.memory_mib = node->memory_mib;
        next.used_cpu = node->used_cpu_milli;
        next.used_memory = node->used_memory_mib;
        derive_lease(estate, number, &next, node);
    }
    for (size_t i = 0; i < count; i++) {
        derive_part(estate, number, site->first, parts, i);
        if (parts[i].held_milli > 0)
            derive_holds(estate, &next, parts, i);
    }
    for (uint32_t stay = inside->extras[number].stays; stay != 0;
         stay = inside->stays[stay].next)
        derive_stay(estate, &next, parts, count,
                    (struct ref){ KIND_INSTANCE, stay });
    if (inside->extras[number].forced ||
        memcmp(site, &next, sizeof(next)) != 0 ||
        (count > 0 && memcmp(&estate->parts[site->first], parts,
                             count * sizeof(*parts)) != 0))
        touch(estate, number, pool);
    inside->extras[number].forced = false;
    memcpy(site, &next, sizeof(next));
    if (count > 0)
        memcpy(&estate->parts[site->first], parts, count * sizeof(*parts));
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
    *map_place(estate, &inside->site_of, &inside->site_of_room, node.index) =
        number;
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

static void
note_card(struct estate *estate, struct ref node)
{
    uint32_t number = estate_site(estate, node);

    if (number == ESTATE_NONE)
        return;
    estate->inside->extras[number].forced = true;
    mark_site(estate, number);
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
        mark_run(estate, step->parent);
}

static void
note_tenant(struct estate *estate, struct ref tenant)
{
    for (size_t i = 0; i < estate->site_count; i++)
        if (estate->sites[i].shared ||
            ref_equal(estate->sites[i].tenant, tenant))
            mark_site(estate, (uint32_t)i);
}

static void
mark_all(struct estate *estate)
{
    for (size_t i = 0; i < estate->site_count; i++)
        mark_site(estate, (uint32_t)i);
    for (size_t i = 0; i < estate->run_count; i++)
        mark_run(estate, estate->runs[i].workload);
}

static void
read_platform(struct estate *estate)
{
    const struct platform *platform =
        world_platform(estate->world, world_platform_ref(estate->world));

    estate->inside->patience_ms = platform != NULL ? platform->hold_ms : 0;
    estate->inside->lease_ms = platform != NULL ? platform->lease_ms : 0;
}

void
estate_note(struct estate *estate, const struct trail_step *step)
{
    switch (step->ref.kind) {
    case KIND_PLATFORM:
        read_platform(estate);
        mark_all(estate);
        break;
    case KIND_CLASS:
        mark_all(estate);
        break;
    case KIND_NODE:
        note_node(estate, step);
        break;
    case KIND_CARD:
        note_card(estate, step->parent);
        break;
    case KIND_INSTANCE:
        note_instance(estate, step->ref);
        mark_run(estate, step->parent);
        break;
    case KIND_BINDING:
    case KIND_HOLD:
        note_part(estate, step);
        break;
    case KIND_TENANT:
        note_tenant(estate, step->ref);
        break;
    case KIND_WORKLOAD:
        mark_run(estate, step->ref);
        break;
    default:
        estate_run_note(estate, step);
        break;
    }
}

/* --- time --- */

static void
note_time(struct estate *estate)
{
    struct estate_inside *inside = estate->inside;
    struct marks *stale = &inside->stale;
    struct due_entry entry;
    size_t kept = 0;

    while (due_take(&inside->due, estate->now_ms, &entry)) {
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
}

/* What is expected changes when the scheduler has learnt. */
static void
read_outlook(struct estate *estate)
{
    const struct platform *platform =
        world_platform(estate->world, world_platform_ref(estate->world));

    if (platform == NULL || platform->expected_upto == estate->outlook_upto)
        return;
    estate->outlook = outlook_read(estate->world, estate->arena);
    estate->outlook_upto = platform->expected_upto;
}

void
estate_settle(struct estate *estate, int64_t now_ms)
{
    struct estate_inside *inside = estate->inside;
    scoped_arena scratch = NULL;

    estate->now_ms = now_ms;
    note_time(estate);
    if (inside->sites.count > 0)
        scratch = arena_new();
    for (size_t i = 0; i < inside->sites.count; i++) {
        inside->sites.flags[inside->sites.list[i]] = 0;
        derive_site(estate, inside->sites.list[i], scratch);
    }
    inside->sites.count = 0;
    for (size_t i = 0; i < inside->runs.count; i++) {
        inside->runs.flags[inside->runs.list[i]] = 0;
        estate_run_derive(estate, inside->runs.list[i]);
    }
    inside->runs.count = 0;
    read_outlook(estate);
}

/* --- the first load --- */

struct estate *
estate_new(struct arena *arena, const struct world *world, int64_t now_ms)
{
    struct estate *estate = arena_alloc(arena, sizeof(*estate));
    struct estate_inside *inside = arena_alloc(arena, sizeof(*inside));

    estate->arena = arena;
    estate->world = world;
    estate->now_ms = now_ms;
    estate->inside = inside;
    ledger_init(&estate->promised, arena);
    ledger_init(&estate->leaving, arena);
    ledger_init(&estate->balance, arena);
    ledger_init(&inside->one, arena);
    numbers_init(&estate->numbers, arena);
    due_init(&inside->due, arena);
    estate->touched =
        arena_alloc(arena, ESTATE_TOUCHED * sizeof(*estate->touched));
    read_platform(estate);
    world_each(world, KIND_NODE, ref)
        add_site(estate, ref);
    world_each(world, KIND_INSTANCE, ref)
        note_instance(estate, ref);
    world_each(world, KIND_WORKLOAD, ref)
        if (lifecycle_is_live(world_workload(world, ref)->state))
            mark_run(estate, ref);
    world_each(world, KIND_HOLD, ref)
        mark_run(estate, world_parent(world, ref));
    estate_settle(estate, now_ms);
    return estate;
}

/* --- trials --- */

void
estate_own(struct estate *estate, struct ref ref, bool on)
{
    const struct world *world = estate->world;
    const struct workload *workload = world_workload(world, ref);
    const struct class *class =
        workload != NULL ? world_class(world, workload->class) : NULL;
    uint32_t run = estate_run(estate, ref);
    int64_t count = 1, number = 0, sign = on ? 1 : -1;

    if (class != NULL && class->form == FORM_WHOLE && class->count > 0)
        count = class->count;
    world_each_child(world, KIND_HOLD, ref, child) {
        const struct hold *hold = world_hold(world, child);
        uint32_t at = estate_part(estate, hold->card);
        struct part *part = &estate->parts[at];
        struct site *site;

        if (at == ESTATE_NONE)
            continue;
        part->own_milli += sign * hold->milli;
        part->own_memory_mib += sign * hold->memory_mib;
        estate_cut_add(part, &part->cut.own, hold->slice, (int)sign);
        if (number++ % count != 0)
            continue;
        site = &estate->sites[part->site];
        site->own_cpu += sign * workload->cpu_milli;
        site->own_memory += sign * workload->memory_mib;
    }
    for (size_t i = 0; run != ESTATE_NONE && i < estate->runs[run].share_count;
         i++) {
        const struct share *share = &estate->runs[run].shares[i];
        struct ref quota = { KIND_QUOTA, share->quota };

        if (share->leaving)
            continue;
        ledger_add(&estate->promised, quota, -sign * share->amount);
        ledger_add(&estate->balance, quota, -sign * share->amount);
    }
}
