/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/estate_private.h"
#include "core/maintenance.h"

/* Sites: what is free on a node, derived from its objects as a whole. */

static void
touch(struct estate *estate, uint32_t number, uint64_t parts, struct ref pool,
      bool better)
{
    estate->touched_parts[estate->touched_count % ESTATE_TOUCHED] = parts;
    estate->touched[estate->touched_count++ % ESTATE_TOUCHED] = number;
    estate->pools =
        estate_grow(estate, estate->pools, &estate->pool_room,
                    (size_t)pool.index + 1, sizeof(*estate->pools));
    estate->pools[pool.index].changed++;
    estate->pools[pool.index].better += better;
}

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
        part->cut.held_whole += world_hold(world, ref)->slice[0] == '\0';
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

static uint64_t
model_of(const struct card *card)
{
    static const struct hash_key any = { 0, 0 }; /* nothing depends on it */

    return hash_bytes(&any, card->vendor, strlen(card->vendor)) * 31 +
           hash_bytes(&any, card->model, strlen(card->model));
}

static uint64_t
leaf_of(const struct node *node)
{
    static const struct hash_key any = { 0, 0 };

    return node->leaf[0] != '\0'
               ? hash_bytes(&any, node->leaf, strlen(node->leaf)) | 1
               : 0;
}

static uint64_t
hash_of(const char *text)
{
    static const struct hash_key any = { 0, 0 };

    return text != NULL ? hash_bytes(&any, text, strlen(text)) : 0;
}

struct part_make
estate_make(const struct estate *estate, const struct part *part)
{
    const struct part_type *type;
    const struct card *card;

    if (part->type != ESTATE_NONE) {
        type = &estate->types[part->type];
        return (struct part_make){ type->vendor, type->model };
    }
    card = world_card(estate->world, part->card);
    return (struct part_make){ card->vendor, card->model };
}

/* More of them, and their cards are asked. */
#define TYPES_MAX 256

static uint32_t
type_of(struct estate *estate, const struct card *card)
{
    struct part_type *type;

    for (size_t i = 0; i < estate->type_count; i++)
        if (strcmp(estate->types[i].vendor, card->vendor) == 0 &&
            strcmp(estate->types[i].model, card->model) == 0)
            return (uint32_t)i;
    if (estate->type_count == TYPES_MAX)
        return ESTATE_NONE;
    estate->types = estate_grow(estate, estate->types,
                                &estate->inside->type_room,
                                estate->type_count + 1,
                                sizeof(*estate->types));
    type = &estate->types[estate->type_count];
    memcpy(type->vendor, card->vendor, sizeof(type->vendor));
    memcpy(type->model, card->model, sizeof(type->model));
    return (uint32_t)estate->type_count++;
}

static bool
has_same_traits(const struct card *a, const struct card *b)
{
    return strcmp(a->driver, b->driver) == 0 &&
           strcmp(a->runtime, b->runtime) == 0 &&
           strcmp(a->arch, b->arch) == 0 &&
           strcmp(a->features, b->features) == 0;
}

static uint64_t
traits_of(const struct card *card)
{
    char text[sizeof(card->driver) + sizeof(card->runtime) +
              sizeof(card->arch) + sizeof(card->features)];

    (void)snprintf(text, sizeof(text), "%s\n%s\n%s\n%s", card->driver,
                   card->runtime, card->arch, card->features);
    return hash_of(text);
}

/* Most cards of a node are of one make: like the one before it. */
static void
derive_make(struct estate *estate, struct part *part, const struct card *card,
            const struct part *before)
{
    const struct card *other =
        before != NULL ? world_card(estate->world, before->card) : NULL;
    bool same = other != NULL && strcmp(other->vendor, card->vendor) == 0 &&
                strcmp(other->model, card->model) == 0;

    part->type = same ? before->type : type_of(estate, card);
    part->model = same ? before->model : model_of(card);
    part->traits = same && has_same_traits(other, card)
                       ? before->traits
                       : traits_of(card);
}

/* What a card tells of itself. */
static void
read_card(struct estate *estate, struct part *part, const struct part *before,
          struct face *face)
{
    const struct card *card = world_card(estate->world, part->card);

    part->memory_mib = card->memory_mib;
    derive_make(estate, part, card, before);
    part->health = card->tolerated ? HEALTH_HEALTHY : card->health;
    part->handover = card->handover;
    part->missing = card->missing;
    part->foreign = card->foreign;
    part->stale = card->stale;
    part->links_bad = card->links_bad;
    part->last_tenant = card->last_tenant;
    estate_cut_derive(estate, part, before);
    face->seq = card->object.seq;
    face->version = card->object.version;
    face->dirty = card->dirty[0] != '\0' || card->ill[0] != '\0';
    memcpy(face->island, card->island, sizeof(face->island));
    memcpy(face->bus, card->bus, sizeof(face->bus));
    face->numa = card->numa;
}

/* The same, as it was read before. */
static void
copy_card(struct part *part, const struct part *old)
{
    part->memory_mib = old->memory_mib;
    part->type = old->type;
    part->model = old->model;
    part->traits = old->traits;
    memcpy(part->groups, old->groups, sizeof(part->groups));
    part->health = old->health;
    part->handover = old->handover;
    part->missing = old->missing;
    part->foreign = old->foreign;
    part->stale = old->stale;
    part->links_bad = old->links_bad;
    part->last_tenant = old->last_tenant;
    part->cut.card = old->cut.card;
    part->cut.on = old->cut.on;
}

/* What is had of a card changes without its version.  True when it was read
 * anew. */
static bool
derive_part(struct estate *estate, uint32_t number, size_t first,
            struct part *parts, size_t at)
{
    const struct card *card = world_card(estate->world, parts[at].card);
    struct face *face = &estate->inside->faces[first + at];
    bool anew = face->seq != card->object.seq ||
                face->version != card->object.version;
    struct part *part = &parts[at];

    part->site = number;
    if (anew)
        read_card(estate, part, at > 0 ? part - 1 : NULL, face);
    else
        copy_card(part, &estate->parts[first + at]);
    part->used_milli = card->used_milli;
    part->used_memory_mib = card->used_memory_mib;
    part->held_milli = card->held_milli;
    part->held_memory_mib = card->held_memory_mib;
    estate_kept_derive(estate, part);
    if (face->dirty)
        estate_cut_dirty(estate, part);
    return anew;
}

static bool
has_same_groups(const struct part *a, const struct part *b)
{
    return memcmp(a->groups, b->groups, sizeof(a->groups)) == 0;
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

/* What has to be digested of a node is, once for each version. */
static void
read_node(struct site_extra *extra, const struct node *node,
          const struct site *old, struct site *site)
{
    bool same = extra->seq == node->object.seq &&
                extra->version == node->object.version;

    site->leaf = same ? old->leaf : leaf_of(node);
    site->facts =
        same ? old->facts
             : hash_of(node->facts != NULL ? node->facts->bytes : NULL);
    extra->seq = node->object.seq;
    extra->version = node->object.version;
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
        inside->faces =
            estate_grow(estate, inside->faces, &inside->face_room,
                        estate->part_count, sizeof(*inside->faces));
    }
    site->count = count;
    memset(&inside->faces[site->first], 0, count * sizeof(*inside->faces));
    for (size_t i = 0; i < count; i++)
        *estate_place(estate, &inside->part_of, &inside->part_of_room,
                   parts[i].card.index) = (uint32_t)(site->first + i);
    for (uint32_t stay = inside->extras[number].stays; stay != 0;
         stay = inside->stays[stay].next)
        estate_mark_run(estate, inside->stays[stay].workload);
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

/* --- does it get better? ---
 *
 * For work that holds nothing here: what is kept for others is no place, now or
 * when all that is being stopped has given back.  Whoever holds something
 * looks at each change of the site (queue_watch.c). */

/* Is there more of what can be negative: more kept than there is yet? */
static bool
grows(int64_t old, int64_t new)
{
    return new > 0 && new > old;
}

struct room {
    int64_t milli, memory_mib;
};

static struct room
room_now(const struct part *part)
{
    return (struct room){
        1000 - part->used_milli - part->held_milli,
        part->memory_mib - part->used_memory_mib - part->held_memory_mib
    };
}

static struct room
room_soon(const struct part *part)
{
    struct room room = room_now(part);

    room.milli += part->leaving_milli;
    room.memory_mib += part->leaving_memory_mib;
    return room;
}

static bool
room_grows(struct room old, struct room new)
{
    return grows(old.milli, new.milli) ||
           (new.milli > 0 && grows(old.memory_mib, new.memory_mib));
}

/* Units of slices that are taken now, or for good. */
static uint32_t
taken(const struct cut *cut, bool soon)
{
    return (cut->used.taken & (soon ? ~cut->leaving.taken : ~0U)) |
           cut->held.taken;
}

/* What else a card has few of. */
static bool
has_engines(const struct cut *old, const struct cut *new, int soon)
{
#define SUM(cut, of)                                                          \
    ((cut)->used.of + (cut)->held.of - (soon != 0 ? (cut)->leaving.of : 0))
    return SUM(new, compute) < SUM(old, compute) ||
           SUM(new, media) < SUM(old, media) ||
           SUM(new, all) < SUM(old, all) ||
           SUM(new, engines) < SUM(old, engines);
#undef SUM
}

/* Could there be slices, room for them aside: no whole card or share is in the
 * way? */
static bool
takes_slices(const struct part *part, int soon)
{
    if (part->cut.on || part->cut.held.count > 0)
        return part->cut.held_whole == 0;
    return part->held_milli == 0 &&
           part->used_milli <= (soon != 0 ? part->leaving_milli : 0);
}

static bool
cut_is_better(const struct cut *old, const struct cut *new)
{
    if (old->card != new->card || old->on != new->on)
        return true;
    for (int soon = 0; soon < 2; soon++)
        if ((taken(old, soon != 0) & ~taken(new, soon != 0)) != 0 ||
            has_engines(old, new, soon))
            return true;
    return false;
}

/* Could others get anything of it, now or soon? */
static bool
is_open(const struct part *part)
{
    return room_soon(part).milli > 0 || part->cut.on ||
           part->cut.held.count > 0;
}

/* Does it differ in what may be for some and not for others? */
static bool
suits_others(const struct part *old, const struct part *new)
{
    return new->handover != old->handover ||
           !ref_equal(new->last_tenant, old->last_tenant) ||
           (!ref_is_none(old->tenant) &&
            !ref_equal(old->tenant, new->tenant)) ||
           (new->held_milli > 0 && !ref_is_none(old->hold_tenant) &&
            !ref_equal(old->hold_tenant, new->hold_tenant));
}

/* Could the part take anything now that it could not before?  Taking alone
 * makes nothing better, nor does a start from a hold, nor what is given back
 * to whom it is kept for. */
static bool
part_is_better(const struct part *old, const struct part *new)
{
    bool failed = old->handover == HANDOVER_FAILED;

    return room_grows(room_now(old), room_now(new)) ||
           room_grows(room_soon(old), room_soon(new)) ||
           new->health != old->health || new->stale != old->stale ||
           new->links_bad != old->links_bad ||
           (new->handover == HANDOVER_FAILED) != failed ||
           new->missing != old->missing || new->foreign != old->foreign ||
           new->memory_mib != old->memory_mib || !has_same_groups(old, new) ||
           new->model != old->model || new->traits != old->traits ||
           cut_is_better(&old->cut, &new->cut) ||
           (takes_slices(new, 0) && !takes_slices(old, 0)) ||
           (takes_slices(new, 1) && !takes_slices(old, 1)) ||
           (is_open(new) && suits_others(old, new));
}

static bool
is_other_shape(const struct part *old, const struct part *new)
{
    return new->memory_mib != old->memory_mib || new->model != old->model ||
           new->traits != old->traits || !has_same_groups(old, new);
}

/* A node's CPU and memory make nothing better without a card: one that is open
 * now, or one that will be, for whoever it is kept. */
static bool
has_more(const struct site *old, const struct site *new,
         const struct part *parts)
{
    int64_t cpu = new->cpu_milli - new->used_cpu - new->held_cpu;
    int64_t memory = new->memory_mib - new->used_memory - new->held_memory;
    int64_t old_cpu = old->cpu_milli - old->used_cpu - old->held_cpu;
    int64_t old_memory =
        old->memory_mib - old->used_memory - old->held_memory;
    bool now = grows(old_cpu, cpu) || grows(old_memory, memory);
    bool soon = grows(old_cpu + old->leaving_cpu, cpu + new->leaving_cpu) ||
                grows(old_memory + old->leaving_memory,
                      memory + new->leaving_memory);

    for (size_t i = 0; (now || soon) && i < new->count; i++) {
        const struct part *part = &parts[i];
        bool cut = part->cut.on || part->cut.held.count > 0;

        if ((now && (cut || room_now(part).milli > 0)) ||
            (soon && (cut || room_soon(part).milli + part->held_milli > 0)))
            return true;
    }
    return false;
}

/* Whose instances are there, of those who do not share a node? */
static bool
has_others(const struct site *old, const struct site *new)
{
    return (!new->shared &&
            (old->shared || (!ref_is_none(old->tenant) &&
                             !ref_equal(old->tenant, new->tenant)))) ||
           (!new->secluded_more &&
            (old->secluded_more ||
             (!ref_is_none(old->secluded) &&
              !ref_equal(old->secluded, new->secluded))));
}

static bool
site_is_better(const struct site *old, const struct site *new,
               const struct part *parts)
{
    return has_more(old, new, parts) || has_others(old, new) ||
           new->state != old->state || new->fresh != old->fresh ||
           new->cpu_milli != old->cpu_milli ||
           new->memory_mib != old->memory_mib || new->leaf != old->leaf ||
           new->facts != old->facts ||
           new->stops_ms[0] > old->stops_ms[0] ||
           new->stops_ms[1] > old->stops_ms[1];
}

/* Could it concern whoever has something there?  What others take was there
 * beside it. */
static bool
is_other_itself(const struct site *old, const struct site *new)
{
    return new->state != old->state || new->fresh != old->fresh ||
           new->cpu_milli != old->cpu_milli ||
           new->memory_mib != old->memory_mib || new->leaf != old->leaf ||
           new->facts != old->facts ||
           new->stops_ms[0] != old->stops_ms[0] ||
           new->stops_ms[1] != old->stops_ms[1] ||
           new->used_cpu + new->held_cpu < old->used_cpu + old->held_cpu ||
           new->used_memory + new->held_memory <
               old->used_memory + old->held_memory ||
           new->leaving_cpu < old->leaving_cpu ||
           new->leaving_memory < old->leaving_memory ||
           new->shared != old->shared ||
           new->secluded_more != old->secluded_more ||
           !ref_equal(new->tenant, old->tenant) ||
           !ref_equal(new->secluded, old->secluded);
}

/* Puts the new picture in the place of the old one, and says so. */
static void
replace(struct estate *estate, uint32_t number, struct ref pool,
        const struct site *next, const struct part *parts)
{
    struct site *site = &estate->sites[number];
    struct part *places = &estate->parts[site->first];
    bool forced = estate->inside->extras[number].forced;
    bool better = forced || site_is_better(site, next, parts);
    /* Padding that differs only makes somebody look again. */
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c): see above */
    bool other = forced || memcmp(site, next, sizeof(*next)) != 0;
    bool shape = forced || site->cpu_milli != next->cpu_milli ||
                 site->memory_mib != next->memory_mib ||
                 site->leaf != next->leaf || site->facts != next->facts;
    uint64_t touched = forced                        ? ~UINT64_C(0)
                       : is_other_itself(site, next) ? ESTATE_ITSELF
                                                     : 0;

    estate->inside->extras[number].forced = false;
    memcpy(site, next, sizeof(*next));
    for (size_t i = 0; i < next->count; i++) {
        /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c): see above */
        if (memcmp(&places[i], &parts[i], sizeof(*parts)) == 0)
            continue;
        other = true;
        better = better || part_is_better(&places[i], &parts[i]);
        shape = shape || is_other_shape(&places[i], &parts[i]);
        memcpy(&places[i], &parts[i], sizeof(*parts));
        touched |= estate_part_bit(estate, (uint32_t)(next->first + i));
    }
    estate->shapes += shape;
    if (other)
        touch(estate, number, touched, pool, better);
}

void
estate_site_derive(struct estate *estate, uint32_t number,
                   struct arena *scratch)
{
    struct estate_inside *inside = estate->inside;
    struct ref ref = estate->sites[number].node;
    const struct node *node = world_node(estate->world, ref);
    struct ref pool = estate->sites[number].pool;
    struct site *site, next;
    size_t count = 0;
    struct part *parts = list_cards(estate, ref, scratch, &count);
    bool anew = false;

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
        read_node(&inside->extras[number], node, site, &next);
        maintenance_stops(estate->world, ref, next.stops_ms);
        next.memory_mib = node->memory_mib;
        next.used_cpu = node->used_cpu_milli;
        next.used_memory = node->used_memory_mib;
        derive_lease(estate, number, &next, node);
    }
    for (size_t i = 0; i < count; i++) {
        anew |= derive_part(estate, number, site->first, parts, i);
        if (parts[i].held_milli > 0)
            derive_holds(estate, &next, parts, i);
    }
    if (anew)
        estate_group_derive(estate, site->first, parts, count);
    for (uint32_t stay = inside->extras[number].stays; stay != 0;
         stay = inside->stays[stay].next)
        derive_stay(estate, &next, parts, count,
                    (struct ref){ KIND_INSTANCE, stay });
    replace(estate, number, pool, &next, parts);
}

