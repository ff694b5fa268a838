/* SPDX-License-Identifier: Apache-2.0 */
#include "core/place_index.h"

#include <string.h>

#include "core/estate_private.h"
#include "core/place_apart.h"

#define TREES 32
/* A tenant to whom more sites are something else has trees of its own. */
#define STAKES_MAX 128
/* More sites than that are not looked at one by one: a scan is as good. */
#define LOOKS_MAX 256
/* What units of the budget the pieces cost. */
#define COST_STAKE 4
#define COST_LOOK 12
#define COST_BUILD 12

/* What is counted of one site. */
struct brief {
    int64_t free, fit;
    uint32_t cards;
    uint16_t out[FILTER_COUNT]; /* of its cards */
    uint8_t filter;             /* that it failed; FILTER_COUNT: none */
    bool inside, no_cpu, no_memory; /* inside: of the pool */
};

/* The best place of a subtree, and the most that is free on one site. */
struct knot {
    uint64_t rank; /* less is better; NOWHERE: no place */
    double loss;   /* of equal ones */
    int64_t largest;
};
#define NOWHERE UINT64_MAX
static const struct knot nowhere = { NOWHERE, 0, 0 };

/* Sites that are something else to a tenant, in no order; and the tenants of
 * one site. */
struct stakes {
    uint32_t *list;
    size_t count, room;
};

struct tree {
    /* The shape; class and texts of the request are the tree's own. */
    struct place_request request;
    struct class class;
    struct bar {
        char vendor[sizeof(((struct quota *)0)->vendor)];
        char model[sizeof(((struct quota *)0)->model)];
    } bars[QUOTA_BARS_MAX];
    struct need *needs; /* room for REQUIRE_MAX; NULL: never had any */
    enum place_when when;
    bool begun;
    size_t done; /* sites before it have been looked at; all: it is made */
    const struct expect *expect;
    uint64_t seen, asked;
    size_t leaves; /* of knots; knots[1] is the top, i has 2i and 2i + 1 */
    struct knot *knots; /* those above no site that is done mean nothing */
    struct brief *briefs; /* by site; room: leaves of both */
    size_t room;
    struct place_tally sum;
    /* Sites where a trial was on when they were to be looked at.  As long as
     * it is, they are looked at for each request. */
    struct stakes owed;
};

struct place_index {
    struct estate *estate; /* whose cache it is: asking changes no answer */
    struct tree trees[TREES];
    uint64_t asked, kept; /* trees asked later than kept stay */
    struct stakes *tenants; /* by index of the tenant */
    size_t tenant_room;
    struct stakes *sites;
    size_t site_room;
    struct stakes scratch;
    size_t staked; /* sites that were looked at since it began */
    bool valued;   /* there was an expect */
    uint64_t seen;
    uint64_t *stamps; /* by site: the walk that met it last */
    size_t stamp_room;
    uint64_t walk;
    struct stakes looks; /* sites to be looked at for one request */
    struct mask {        /* what they are to the tree */
        struct brief brief;
        struct knot knot;
    } masks[LOOKS_MAX];
};

void
place_index_on(struct estate *estate)
{
    estate->places = arena_alloc(estate->arena, sizeof(*estate->places));
    estate->places->estate = estate;
}

/* --- who is something else to a site --- */

static void
push(struct estate *estate, struct stakes *stakes, uint32_t number)
{
    stakes->list = estate_grow(estate, stakes->list, &stakes->room,
                               stakes->count + 1, sizeof(*stakes->list));
    stakes->list[stakes->count++] = number;
}

static void
drop(struct stakes *stakes, uint32_t number)
{
    for (size_t i = 0; i < stakes->count; i++)
        if (stakes->list[i] == number) {
            stakes->list[i] = stakes->list[--stakes->count];
            return;
        }
}

static void
add_once(struct estate *estate, struct stakes *stakes, struct ref tenant)
{
    if (ref_is_none(tenant))
        return;
    for (size_t i = 0; i < stakes->count; i++)
        if (stakes->list[i] == tenant.index)
            return;
    push(estate, stakes, tenant.index);
}

/* A card that is full stays so for everybody; on one that is not, its tenant,
 * the one for whom it is held and the one who had it last may do more than
 * others. */
static void
add_part(struct estate *estate, struct stakes *stakes, const struct part *part)
{
    int64_t later = part->used_milli - part->leaving_milli;

    if (part->held_milli > 0)
        add_once(estate, stakes, part->hold_tenant);
    if (later < 1000 && part->used_milli > 0)
        add_once(estate, stakes, part->tenant);
    if (part->handover == HANDOVER_PENDING ||
        (later < 1000 && estate->expect == NULL))
        add_once(estate, stakes, part->last_tenant);
}

static void
stake_site(struct estate *estate, uint32_t number)
{
    struct place_index *index = estate->places;
    const struct site *site = &estate->sites[number];
    struct stakes *fresh = &index->scratch, *old = &index->sites[number];

    fresh->count = 0;
    add_once(estate, fresh, site->secluded);
    for (size_t i = site->first; i < site->first + site->count; i++)
        add_part(estate, fresh, &estate->parts[i]);
    if (fresh->count == old->count &&
        (old->count == 0 || memcmp(fresh->list, old->list,
                                   old->count * sizeof(*old->list)) == 0))
        return;
    for (size_t i = 0; i < old->count; i++)
        drop(&index->tenants[old->list[i]], number);
    old->count = 0;
    for (size_t i = 0; i < fresh->count; i++) {
        uint32_t tenant = fresh->list[i];

        index->tenants = estate_grow(estate, index->tenants,
                                     &index->tenant_room, (size_t)tenant + 1,
                                     sizeof(*index->tenants));
        push(estate, old, tenant);
        push(estate, &index->tenants[tenant], number);
    }
}

/* Brings the stakes up to the estate; false when the slice is over. */
static bool
follow_stakes(struct estate *estate)
{
    struct place_index *index = estate->places;
    bool valued = estate->expect != NULL;

    index->sites = estate_grow(estate, index->sites, &index->site_room,
                               estate->site_count, sizeof(*index->sites));
    index->stamps = estate_grow(estate, index->stamps, &index->stamp_room,
                                estate->site_count, sizeof(*index->stamps));
    if (index->valued != valued ||
        estate->touched_count - index->seen > ESTATE_TOUCHED) {
        index->staked = 0;
        index->valued = valued;
        index->seen = estate->touched_count;
    }
    for (; index->seen < estate->touched_count; index->seen++) {
        if (!budget_take(estate->budget, COST_STAKE))
            return false;
        stake_site(estate, estate->touched[index->seen % ESTATE_TOUCHED]);
    }
    for (; index->staked < estate->site_count; index->staked++) {
        if (!budget_take(estate->budget, COST_STAKE))
            return false;
        stake_site(estate, (uint32_t)index->staked);
    }
    return true;
}

/* --- what a site is to a shape --- */

static uint64_t
rank_of(const struct option *option, bool known)
{
    uint64_t first = (uint64_t)option->avoid << 61 |
                     (uint64_t)option->split << 60;

    if (known)
        return first | (uint64_t)option->worth.opened;
    return first | (uint64_t)option->left << 40 |
           (uint64_t)option->second << 20 | (uint64_t)option->handovers;
}

static void
brief_of(const struct place_tally *tally, const struct option *option,
         struct brief *brief)
{
    memset(brief, 0, sizeof(*brief));
    brief->inside = tally->nodes > 0;
    brief->cards = (uint32_t)tally->cards;
    brief->free = tally->free;
    brief->fit = option->fit;
    brief->no_cpu = tally->out_nodes[FILTER_CPU] > 0;
    brief->no_memory = tally->out_nodes[FILTER_MEMORY] > 0;
    brief->filter = FILTER_COUNT;
    for (int i = 0; i < FILTER_COUNT; i++) {
        brief->out[i] = (uint16_t)tally->out_cards[i];
        if (i < FILTER_CPU && tally->out_nodes[i] > 0)
            brief->filter = (uint8_t)i;
    }
}

static void
look_at(const struct estate *estate, const struct place_request *request,
        enum place_when when, uint32_t site, struct arena *arena,
        struct brief *brief, struct knot *knot)
{
    struct option option = { .site = site };
    struct place_tally tally = { 0 };
    bool known = place_worth_is_known(estate, request);

    place_option_look(estate, request, when, arena, &option, &tally);
    brief_of(&tally, &option, brief);
    *knot = (struct knot){ NOWHERE, 0, tally.largest };
    if (option.fit < request->instances || option.fit == 0)
        return;
    place_option_score(estate, request, when, &option, request->instances);
    if (request->grouped && option.split)
        return;
    if (known) {
        place_worth_of(estate, request, when, site, option.parts,
                       option.count, request->instances, &option.worth, NULL);
        knot->loss = option.worth.loss;
    }
    knot->rank = rank_of(&option, known);
}

/* --- trees --- */

static void
count(struct place_tally *sum, const struct brief *brief, int64_t sign)
{
    if (!brief->inside)
        return;
    sum->nodes += sign;
    sum->cards += sign * brief->cards;
    sum->free += sign * brief->free;
    sum->fit += sign * brief->fit;
    sum->out_nodes[FILTER_CPU] += sign * brief->no_cpu;
    sum->out_nodes[FILTER_MEMORY] += sign * brief->no_memory;
    if (brief->filter < FILTER_COUNT)
        sum->out_nodes[brief->filter] += sign;
    for (int i = 0; i < FILTER_COUNT; i++)
        sum->out_cards[i] += sign * brief->out[i];
}

static bool
is_before(const struct knot *a, const struct knot *b)
{
    return a->rank < b->rank || (a->rank == b->rank && a->loss < b->loss);
}

static struct knot
join(const struct knot *left, const struct knot *right)
{
    struct knot best = is_before(right, left) ? *right : *left;

    best.largest = left->largest > right->largest ? left->largest
                                                  : right->largest;
    return best;
}

static bool
same_knot(const struct knot *a, const struct knot *b)
{
    return a->rank == b->rank && !is_before(a, b) && !is_before(b, a) &&
           a->largest == b->largest;
}

static void
set(struct tree *tree, uint32_t site, const struct brief *brief,
    const struct knot *knot)
{
    struct knot *knots = tree->knots;
    size_t i = tree->leaves + site;

    count(&tree->sum, &tree->briefs[site], -1);
    tree->briefs[site] = *brief;
    count(&tree->sum, brief, 1);
    if (same_knot(&knots[i], knot))
        return;
    knots[i] = *knot;
    while (i > 1) {
        struct knot best;

        i /= 2;
        best = join(&knots[2 * i], &knots[2 * i + 1]);
        if (same_knot(&knots[i], &best))
            return;
        knots[i] = best;
    }
}

static bool
is_tried(const struct estate *estate, uint32_t site)
{
    return site < estate->trials->flag_room &&
           estate->trials->flags[site] != 0;
}

static void
make_room(struct estate *estate, struct tree *tree)
{
    tree->leaves = 1;
    while (tree->leaves < estate->site_count)
        tree->leaves *= 2;
    if (tree->leaves <= tree->room)
        return;
    tree->room = tree->leaves; /* nothing of what was there is kept */
    tree->knots = arena_alloc(estate->arena,
                              2 * tree->room * sizeof(*tree->knots));
    tree->briefs =
        arena_alloc(estate->arena, tree->room * sizeof(*tree->briefs));
}

static void
build_begin(struct estate *estate, struct tree *tree)
{
    make_room(estate, tree);
    tree->sum = (struct place_tally){ 0 };
    tree->owed.count = 0;
    tree->knots[1] = nowhere;
    tree->begun = true;
    tree->done = 0;
    tree->expect = estate->expect;
    tree->seen = estate->touched_count;
}

/* A piece of the tree that is being made. */
static void
build_site(struct estate *estate, struct tree *tree, uint32_t site,
           struct arena *arena)
{
    tree->briefs[site] = (struct brief){ 0 };
    tree->knots[tree->leaves + site] = nowhere;
    if (is_tried(estate, site))
        push(estate, &tree->owed, site);
    else
        look_at(estate, &tree->request, tree->when, site, arena,
                &tree->briefs[site], &tree->knots[tree->leaves + site]);
    count(&tree->sum, &tree->briefs[site], 1);
}

/* The knots above the leaves up to one, as far as their sites are done.  Behind
 * the last site there is nothing. */
static void
join_up(struct tree *tree, size_t done, bool all)
{
    size_t i = tree->leaves + done - 1;

    for (size_t width = 2; i > 1; width *= 2) {
        if (!all && done % width != 0)
            return;
        if (all && i % 2 == 0)
            tree->knots[i + 1] = nowhere;
        i /= 2;
        tree->knots[i] = join(&tree->knots[2 * i], &tree->knots[2 * i + 1]);
    }
}

static bool
build_on(struct estate *estate, struct tree *tree, struct arena *arena)
{
    while (tree->done < estate->site_count) {
        if (!budget_take(estate->budget, COST_BUILD))
            return false;
        build_site(estate, tree, (uint32_t)tree->done++, arena);
        join_up(tree, tree->done, tree->done == estate->site_count);
    }
    return true;
}

static void
renew(struct estate *estate, struct tree *tree, uint32_t site,
      struct arena *arena)
{
    struct place_index *index = estate->places;
    struct brief brief;
    struct knot knot;

    if (index->stamps[site] == index->walk || site >= tree->done)
        return;
    index->stamps[site] = index->walk;
    if (is_tried(estate, site)) {
        push(estate, &tree->owed, site);
        return;
    }
    look_at(estate, &tree->request, tree->when, site, arena, &brief, &knot);
    set(tree, site, &brief, &knot);
}

/* Those where a trial was on: a few, at once. */
static void
renew_owed(struct estate *estate, struct tree *tree, struct arena *arena)
{
    size_t owed = tree->owed.count;

    estate->places->walk++;
    for (size_t i = 0; i < owed; i++)
        renew(estate, tree, tree->owed.list[i], arena);
    if (tree->owed.count > owed)
        memmove(tree->owed.list, tree->owed.list + owed,
                (tree->owed.count - owed) * sizeof(*tree->owed.list));
    tree->owed.count -= owed;
}

/* Brings the tree up to the estate; false when the slice is over. */
static bool
follow(struct estate *estate, struct tree *tree, struct arena *arena)
{
    if (!tree->begun || tree->expect != estate->expect ||
        tree->leaves < estate->site_count ||
        estate->touched_count - tree->seen > ESTATE_TOUCHED)
        build_begin(estate, tree);
    estate->places->walk++;
    for (; tree->seen < estate->touched_count; tree->seen++) {
        if (!budget_take(estate->budget, COST_LOOK))
            return false;
        renew(estate, tree, estate->touched[tree->seen % ESTATE_TOUCHED],
              arena);
    }
    if (!build_on(estate, tree, arena))
        return false;
    if (tree->owed.count > 0)
        renew_owed(estate, tree, arena);
    return true;
}

/* The first site that loses at most slack more than the best one. */
static uint32_t
descend(const struct tree *tree, double slack)
{
    struct knot most = tree->knots[1];
    size_t i = 1;

    if (most.rank == NOWHERE)
        return ESTATE_NONE;
    most.loss += slack;
    while (i < tree->leaves)
        i = is_before(&most, &tree->knots[2 * i]) ? 2 * i + 1 : 2 * i;
    return (uint32_t)(i - tree->leaves);
}

/* --- which tree --- */

static bool
same_bars(const struct place_request *a, const struct place_request *b)
{
    if (a->bar_count != b->bar_count)
        return false;
    for (size_t i = 0; i < a->bar_count; i++)
        if (strcmp(a->bars[i].vendor, b->bars[i].vendor) != 0 ||
            strcmp(a->bars[i].model, b->bars[i].model) != 0)
            return false;
    return true;
}

static bool
same_class(const struct class *a, const struct class *b)
{
    return a->form == b->form && a->count == b->count &&
           a->milli == b->milli && a->memory_mib == b->memory_mib &&
           a->min_memory_mib == b->min_memory_mib &&
           a->interconnect == b->interconnect &&
           strcmp(a->model, b->model) == 0 &&
           strcmp(a->vendor, b->vendor) == 0;
}

static bool
same_shape(const struct place_request *a, const struct place_request *b)
{
    return ref_equal(a->tenant, b->tenant) && ref_equal(a->pool, b->pool) &&
           a->instances == b->instances && a->cpu_milli == b->cpu_milli &&
           a->memory_mib == b->memory_mib &&
           a->card_memory_max == b->card_memory_max &&
           a->one_node == b->one_node && a->grouped == b->grouped &&
           a->group == b->group &&
           a->exclusive == b->exclusive && same_class(a->class, b->class) &&
           a->needs_digest == b->needs_digest &&
           memcmp(a->ends_ms, b->ends_ms, sizeof(a->ends_ms)) == 0 &&
           memcmp(a->loans_ms, b->loans_ms, sizeof(a->loans_ms)) == 0 &&
           same_bars(a, b);
}

/* Few shapes need anything: the room is made when it is. */
static void
keep_needs(struct place_index *index, struct tree *tree,
           const struct place_request *request)
{
    if (request->need_count == 0)
        return;
    if (tree->needs == NULL)
        tree->needs = arena_alloc(index->estate->arena,
                                  REQUIRE_MAX * sizeof(*tree->needs));
    memcpy(tree->needs, request->needs,
           request->need_count * sizeof(*tree->needs));
    tree->request.needs = tree->needs;
}

static void
begin(struct tree *tree, const struct place_request *request,
      enum place_when when)
{
    tree->begun = false;
    tree->when = when;
    tree->request = *request;
    tree->class = *request->class;
    tree->request.class = &tree->class;
    for (size_t i = 0; i < request->bar_count; i++) {
        struct bar *bar = &tree->bars[i];

        (void)snprintf(bar->vendor, sizeof(bar->vendor), "%s",
                       request->bars[i].vendor);
        (void)snprintf(bar->model, sizeof(bar->model), "%s",
                       request->bars[i].model);
        tree->request.bars[i] = (struct quota_bar){ bar->vendor, bar->model };
    }
}

/* The tree of the shape; in the place of the one that was not asked for the
 * longest time when there is none.  Those that were asked since the look began
 * stay, else a look in slices would lose what it made before; NULL when all
 * are of those. */
static struct tree *
tree_of(struct estate *estate, const struct place_request *shape,
        enum place_when when)
{
    struct place_index *index = estate->places;
    struct tree *oldest = &index->trees[0];

    for (size_t i = 0; i < TREES; i++) {
        struct tree *tree = &index->trees[i];

        if (tree->asked > 0 && tree->when == when &&
            same_shape(&tree->request, shape)) {
            tree->asked = ++index->asked;
            return tree;
        }
        if (tree->asked < oldest->asked)
            oldest = tree;
    }
    if (estate->budget != NULL && oldest->asked > index->kept)
        return NULL;
    begin(oldest, shape, when);
    keep_needs(index, oldest, shape);
    oldest->asked = ++index->asked;
    return oldest;
}

void
place_index_keep(struct estate *estate)
{
    estate->places->kept = estate->places->asked;
}

/* --- one request --- */

static void
add_look(struct estate *estate, uint32_t site)
{
    struct place_index *index = estate->places;

    if (site == ESTATE_NONE || index->stamps[site] == index->walk)
        return;
    index->stamps[site] = index->walk;
    push(estate, &index->looks, site);
}

/* The sites that the tree does not know for this request.  stakes: those of
 * its tenant, or NULL. */
static void
list_looks(struct estate *estate, const struct place_request *request,
           const struct stakes *stakes)
{
    const struct world *world = estate->world;
    const struct workload *workload = world_workload(world, request->workload);
    size_t tried;
    const uint32_t *sites = estate_tried(estate, &tried);

    estate->places->walk++;
    estate->places->looks.count = 0;
    for (size_t i = 0; i < tried; i++)
        add_look(estate, sites[i]);
    for (size_t i = 0; stakes != NULL && i < stakes->count; i++)
        add_look(estate, stakes->list[i]);
    if (workload == NULL ||
        (workload->failures == 0 && workload->recoveries == 0))
        return;
    world_each_child(world, KIND_INSTANCE, request->workload, ref) {
        const struct instance *instance = world_instance(world, ref);

        if (instance->failure[0] != '\0' || instance->lost_ms != 0)
            add_look(estate, estate_site(estate, instance->node));
    }
}

/* Puts into the tree what the looks' sites are to the request. */
static void
mask(struct estate *estate, struct tree *tree,
     const struct place_request *request, struct arena *arena)
{
    struct place_index *index = estate->places;

    for (size_t i = 0; i < index->looks.count; i++) {
        uint32_t site = index->looks.list[i];
        struct brief brief;
        struct knot knot;

        index->masks[i] = (struct mask){ tree->briefs[site],
                                         tree->knots[tree->leaves + site] };
        look_at(estate, request, tree->when, site, arena, &brief, &knot);
        set(tree, site, &brief, &knot);
    }
}

static void
unmask(struct place_index *index, struct tree *tree)
{
    for (size_t i = index->looks.count; i > 0; i--)
        set(tree, index->looks.list[i - 1], &index->masks[i - 1].brief,
            &index->masks[i - 1].knot);
}

static const struct stakes *
stakes_of(const struct place_index *index, struct ref tenant)
{
    return tenant.index < index->tenant_room ? &index->tenants[tenant.index]
                                             : NULL;
}

enum place_index_answer
place_index_find(const struct estate *of,
                 const struct place_request *request, enum place_when when,
                 struct arena *arena, uint32_t *best_out,
                 struct place_tally *tally_out)
{
    struct place_index *index = of->places;
    struct estate *estate = index != NULL ? index->estate : NULL;
    struct place_request shape = *request;
    const struct stakes *stakes;
    struct tree *tree;

    if (index == NULL || request->class->form == FORM_HARD ||
        !ref_is_none(request->node) || request->leaf != 0 ||
        place_apart_is_on(request))
        return PLACE_INDEX_NONE;
    if (!follow_stakes(estate))
        return PLACE_INDEX_LATER;
    stakes = stakes_of(index, request->tenant);
    if (stakes != NULL && stakes->count > STAKES_MAX)
        stakes = NULL;
    else
        shape.tenant = (struct ref){ KIND_TENANT, UINT32_MAX };
    shape.workload = (struct ref){ 0 };
    list_looks(estate, request, stakes);
    if (index->looks.count > LOOKS_MAX)
        return PLACE_INDEX_NONE;
    tree = tree_of(estate, &shape, when);
    if (tree == NULL)
        return PLACE_INDEX_NONE;
    if (!follow(estate, tree, arena))
        return PLACE_INDEX_LATER;
    mask(estate, tree, request, arena);
    *best_out = descend(tree, place_worth_is_known(estate, request)
                                  ? place_worth_slack(estate)
                                  : 0);
    *tally_out = tree->sum;
    tally_out->largest = tree->knots[1].largest;
    unmask(index, tree);
    return PLACE_INDEX_FOUND;
}
