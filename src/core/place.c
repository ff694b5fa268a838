/* SPDX-License-Identifier: Apache-2.0 */
#include "core/place.h"

#include <string.h>

#include "core/cut.h"
#include "core/place_apart.h"
#include "core/place_index.h"
#include "core/place_leaf.h"

const char *
place_filter_text(enum place_filter filter)
{
    static const char *const names[FILTER_COUNT] = {
        "node-state", "lease", "pinned", "lost", "neighbour", "maintenance", "class",
        "compatibility", "image", "quota", "health", "foreign", "handover", "partition", "held", "used",
        "geometry", "cpu", "memory", "spread",
    };

    return names[filter];
}

int64_t
place_memory(const struct class *class, const struct part *part)
{
    if (class->form == FORM_WHOLE)
        return part->memory_mib;
    if (class->form == FORM_HARD)
        return cut_memory(part, class);
    if (class->memory_mib > 0)
        return class->memory_mib;
    return part->memory_mib * class->milli / 1000;
}

static bool
suits(const struct class *class, const struct part_make *make,
      int64_t memory_mib)
{
    return (class->vendor[0] == '\0' ||
            strcmp(class->vendor, make->vendor) == 0) &&
           (class->model[0] == '\0' ||
            strcmp(class->model, make->model) == 0) &&
           memory_mib >= class->min_memory_mib;
}

bool
place_matches(const struct class *class, const struct card *card)
{
    const struct part_make make = { card->vendor, card->model };

    return suits(class, &make, card->memory_mib);
}

bool
place_suits(const struct estate *estate, const struct class *class,
            const struct part *part)
{
    const struct part_make make = estate_make(estate, part);

    return suits(class, &make, part->memory_mib);
}

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int
order(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* For gangs over nodes: the nodes that take most first. */
static int
spread_order(const void *left, const void *right)
{
    const struct option *a = left, *b = right;
    int by;

    if ((by = order(a->avoid, b->avoid)) != 0 ||
        (by = order(b->fit, a->fit)) != 0)
        return by;
    return order(a->site, b->site);
}

/* --- seats --- */

/* Puts the parts of one node into the order in which they are taken: the
 * smallest group that holds all, else the largest ones first; of those that are
 * equal in that, by the other groups in the same way; then cards that need no
 * handover first. */
struct rank {
    struct {
        int64_t misfit, number;
    } groups[PLACE_GROUPS];
    int64_t handover;
    uint32_t part;
};

static int
rank_order(const void *left, const void *right)
{
    const struct rank *a = left, *b = right;
    int by;

    for (int i = 0; i < PLACE_GROUPS; i++)
        if ((by = order(a->groups[i].misfit, b->groups[i].misfit)) != 0 ||
            (by = order(a->groups[i].number, b->groups[i].number)) != 0)
            return by;
    if ((by = order(a->handover, b->handover)) != 0)
        return by;
    return order(a->part, b->part);
}

/* Links count most, then memory, then the bus; what is asked for comes first.
 * A part that has nothing free beside it is like any other such. */
static void
rank_groups(const struct estate *estate, const struct option *option,
            enum place_group first, const struct part *part, int64_t need,
            struct rank *rank)
{
    static const enum place_group orders[PLACE_GROUPS][PLACE_GROUPS] = {
        [GROUP_ISLAND] = { GROUP_ISLAND, GROUP_NUMA, GROUP_SWITCH },
        [GROUP_NUMA] = { GROUP_NUMA, GROUP_ISLAND, GROUP_SWITCH },
        [GROUP_SWITCH] = { GROUP_SWITCH, GROUP_ISLAND, GROUP_NUMA },
    };

    for (int i = 0; i < PLACE_GROUPS; i++) {
        enum place_group group = orders[first][i];
        uint32_t number = part->groups[group];
        int64_t there = place_option_near(estate, option, group, number);

        rank->groups[i].misfit =
            there >= need ? there - need : 2000000 - there;
        rank->groups[i].number = there > 1 ? number : UINT32_MAX;
    }
}

static void
rank_parts(const struct estate *estate, const struct place_request *request,
           enum place_group first, const struct option *option, int64_t need,
           struct arena *arena)
{
    struct rank *ranks = arena_alloc(arena, option->count * sizeof(*ranks));

    for (size_t i = 0; i < option->count; i++) {
        const struct part *part = &estate->parts[option->parts[i]];

        rank_groups(estate, option, first, part, need, &ranks[i]);
        ranks[i].handover = !ref_is_none(part->last_tenant) &&
                            !ref_equal(part->last_tenant, request->tenant);
        ranks[i].part = option->parts[i];
    }
    if (option->count > 1)
        qsort(ranks, option->count, sizeof(*ranks), rank_order);
    for (size_t i = 0; i < option->count; i++)
        option->parts[i] = ranks[i].part;
}

static void
seat_cards(const struct option *option, const uint32_t *parts, int64_t count,
           struct placement *placement)
{
    placement->seats[placement->count++] =
        (struct seat){ .site = option->site,
                       .parts = parts,
                       .part_count = (size_t)count,
                       .milli = 1000 };
}

/* Each instance in a group of its own choice, the smallest that holds it. */
static void
seat_groups(const struct estate *estate, const struct place_request *request,
            enum place_group group, const struct option *option,
            int64_t instances, struct arena *arena,
            struct placement *placement)
{
    int64_t count = request->class->count;
    struct option left = *option;

    for (int64_t i = 0; i < instances; i++) {
        rank_parts(estate, request, group, &left, count, arena);
        seat_cards(option, left.parts, count, placement);
        left.parts += count;
        left.count -= (size_t)count;
    }
}

static void
seat_whole(const struct estate *estate, const struct place_request *request,
           const struct option *option, int64_t instances,
           struct arena *arena, struct placement *placement)
{
    int64_t count = request->class->count;
    enum place_group group;

    if (!request->grouped && place_group_of_class(request->class, &group)) {
        seat_groups(estate, request, group, option, instances, arena,
                    placement);
        return;
    }
    rank_parts(estate, request, request->group, option, instances * count,
               arena);
    for (int64_t i = 0; i < instances; i++)
        seat_cards(option, option->parts + i * count, count, placement);
}

/* Each share goes where it costs least. */
static void
seat_worth(const struct estate *estate, const struct place_request *request,
           enum place_when when, const struct option *option,
           int64_t instances, struct arena *arena,
           struct placement *placement)
{
    uint32_t *taken =
        arena_alloc(arena, (size_t)instances * sizeof(*taken));
    struct place_worth worth;

    place_worth_of(estate, request, when, option->site, option->parts,
                   option->count, instances, &worth, taken);
    for (int64_t i = 0; i < instances; i++)
        placement->seats[placement->count++] =
            (struct seat){ .site = option->site,
                           .parts = &option->parts[taken[i]],
                           .part_count = 1,
                           .milli = request->class->milli };
}

/* Each share goes to the fullest card that still takes it. */
static void
seat_soft(const struct estate *estate, const struct place_request *request,
          enum place_when when, const struct option *option,
          int64_t instances, struct arena *arena, struct placement *placement)
{
    int64_t *left = arena_alloc(arena, option->count * sizeof(*left));

    for (size_t i = 0; i < option->count; i++)
        left[i] = place_option_shares(&estate->parts[option->parts[i]],
                              request->class, when);
    for (int64_t done = 0; done < instances; done++) {
        size_t best = option->count;

        for (size_t i = 0; i < option->count; i++)
            if (left[i] > 0 && (best == option->count || left[i] < left[best]))
                best = i;
        left[best]--;
        placement->seats[placement->count++] = (struct seat){
            .site = option->site,
            .parts = &option->parts[best],
            .part_count = 1,
            .milli = request->class->milli,
        };
    }
}

static void
seat_node(const struct estate *estate, const struct place_request *request,
          enum place_when when, const struct option *option,
          int64_t instances, struct arena *arena, struct placement *placement)
{
    if (request->class->form == FORM_WHOLE)
        seat_whole(estate, request, option, instances, arena, placement);
    else if (request->class->form == FORM_HARD)
        cut_seat(estate, request, when,
                 &(struct cut_parts){ option->site, option->parts,
                                      option->count },
                 instances, arena, placement);
    else if (place_worth_is_known(estate, request))
        seat_worth(estate, request, when, option, instances, arena,
                   placement);
    else
        seat_soft(estate, request, when, option, instances, arena, placement);
}

/* What goes before the loss: the places of the last failure, islands, cards
 * that its tenant uses in part. */
static int
rank_before_loss(const struct option *a, const struct option *b)
{
    int by;

    if ((by = order(a->avoid, b->avoid)) != 0 ||
        (by = order(a->split, b->split)) != 0)
        return by;
    return order(a->worth.opened, b->worth.opened);
}

/* The first node that loses nearly as little as any. */
static struct option *
least_loss(const struct estate *estate, const struct place_request *request,
           enum place_when when, struct option *options, size_t count,
           int64_t instances)
{
    const struct option *best = NULL;
    double most;

    for (size_t i = 0; i < count; i++) {
        struct option *option = &options[i];
        int by;

        if (option->fit < instances)
            continue;
        place_option_score(estate, request, when, option, instances);
        if (request->grouped && option->split)
            continue;
        place_worth_of(estate, request, when, option->site, option->parts,
                       option->count, instances, &option->worth, NULL);
        by = best == NULL ? -1 : rank_before_loss(option, best);
        if (by < 0 || (by == 0 && option->worth.loss < best->worth.loss))
            best = option;
    }
    if (best == NULL)
        return NULL;
    most = best->worth.loss + place_worth_slack(estate);
    for (size_t i = 0; i < count; i++)
        if (options[i].fit >= instances &&
            rank_before_loss(&options[i], best) == 0 &&
            options[i].worth.loss <= most)
            return &options[i];
    return NULL;
}

/* The best single node, NULL when none takes all. */
static struct option *
best_node(const struct estate *estate, const struct place_request *request,
          enum place_when when, struct option *options, size_t count,
          int64_t instances)
{
    struct option *best = NULL;

    if (place_worth_is_known(estate, request))
        return least_loss(estate, request, when, options, count, instances);
    for (size_t i = 0; i < count; i++) {
        if (options[i].fit < instances)
            continue;
        place_option_score(estate, request, when, &options[i], instances);
        if (request->grouped && options[i].split)
            continue;
        if (best == NULL || place_option_order(&options[i], best) < 0)
            best = &options[i];
    }
    return best;
}

/* Largest nodes first, and the rest where it fits best. */
static void
spread(const struct estate *estate, const struct place_request *request,
       enum place_when when, struct option *options, size_t count,
       struct arena *arena, struct placement *placement)
{
    int64_t left = request->instances;

    for (size_t i = 0; i < count; i++)
        options[i].avoid = place_option_fails(
            estate, request, estate->sites[options[i].site].node);
    qsort(options, count, sizeof(*options), spread_order);
    for (size_t i = 0; i < count && left > 0; i++) {
        struct option *last =
            best_node(estate, request, when, options + i, count - i, left);
        int64_t here = least(options[i].fit, left);

        if (last != NULL) {
            seat_node(estate, request, when, last, left, arena, placement);
            return;
        }
        seat_node(estate, request, when, &options[i], here, arena, placement);
        left -= here;
    }
}

static size_t
list_options(const struct estate *estate, const struct place_request *request,
             enum place_when when, struct arena *arena,
             struct option *options, struct place_tally *tally)
{
    size_t count = 0;

    for (size_t i = 0; i < estate->site_count; i++) {
        options[count] = (struct option){ .site = (uint32_t)i };
        place_option_look(estate, request, when, arena, &options[count],
                          tally);
        if (options[count].fit > 0)
            count++;
    }
    place_apart_leaves(estate, request, arena, options, count, tally);
    return count;
}

static void
make_seats(const struct place_request *request, struct arena *arena,
           struct placement *placement)
{
    placement->count = 0;
    placement->seats =
        arena_alloc(arena, (size_t)request->instances * sizeof(struct seat));
}

/* For a gang over several nodes: when those behind one leaf switch take it,
 * only they are left.  False when it has to be one leaf and none does. */
static bool
gather(const struct estate *estate, const struct place_request *request,
       struct arena *arena, struct option *options, size_t *count,
       struct place_tally *tally)
{
    struct place_fit *fits =
        arena_alloc(arena, (*count + 1) * sizeof(*fits));
    size_t kept = 0;
    uint64_t leaf;

    for (size_t i = 0; i < *count; i++)
        fits[i] = (struct place_fit){ estate->sites[options[i].site].leaf,
                                      options[i].fit, options[i].units };
    if (request->per_leaf > 0 && !request->one_leaf)
        return true; /* as far apart as that, not as close as can be */
    if (request->one_leaf)
        tally->largest = place_leaf_largest(fits, *count);
    leaf = place_leaf_choose(fits, *count, request->instances);
    if (leaf == 0)
        return !request->one_leaf;
    for (size_t i = 0; i < *count; i++)
        if (fits[i].leaf == leaf)
            options[kept++] = options[i];
    *count = kept;
    return true;
}

/* Looks at all sites. */
static bool
scan(const struct estate *estate, const struct place_request *request,
     enum place_when when, struct arena *arena,
     struct placement *placement_out, struct place_tally *tally)
{
    struct option *options =
        arena_alloc(arena, (estate->site_count + 1) * sizeof(*options));
    size_t count = list_options(estate, request, when, arena, options, tally);
    struct option *best = best_node(estate, request, when, options, count,
                                    request->instances);
    bool gathered = best != NULL || gather(estate, request, arena, options,
                                           &count, tally);

    if (tally->fit < request->instances || !gathered ||
        (best == NULL && request->one_node))
        return false;
    make_seats(request, arena, placement_out);
    if (best != NULL)
        seat_node(estate, request, when, best, request->instances, arena,
                  placement_out);
    else
        spread(estate, request, when, options, count, arena, placement_out);
    return true;
}

/* The index knows the best site; its parts are looked up anew. */
static void
seat_site(const struct estate *estate, const struct place_request *request,
          enum place_when when, uint32_t site, struct arena *arena,
          struct placement *placement)
{
    struct option option = { .site = site };
    struct place_tally ignored = { 0 };

    place_option_look(estate, request, when, arena, &option, &ignored);
    make_seats(request, arena, placement);
    seat_node(estate, request, when, &option, request->instances, arena,
              placement);
}

/* What there is of it when there is no room for that far apart: each time twice
 * as many together. */
static bool
scan_closer(const struct estate *estate, const struct place_request *request,
            enum place_when when, struct arena *arena,
            struct placement *placement_out, struct place_tally *tally)
{
    struct place_request closer = *request;

    while (closer.per_node + closer.per_leaf < request->instances * 2) {
        *tally = (struct place_tally){ 0 };
        closer.per_node *= 2;
        closer.per_leaf *= 2;
        if (scan(estate, &closer, when, arena, placement_out, tally))
            return true;
    }
    return false;
}

bool
place_find(const struct estate *estate, const struct place_request *request,
           enum place_when when, struct arena *arena,
           struct placement *placement_out, struct place_tally *tally_out)
{
    struct place_tally tally = { 0 };
    enum place_index_answer answer = PLACE_INDEX_LATER;
    bool found = false;
    uint32_t best;

    if (!budget_is_late(estate->budget))
        answer = place_index_find(estate, request, when, arena, &best, &tally);
    switch (answer) {
    case PLACE_INDEX_LATER:
        budget_set_late(estate->budget);
        break;
    case PLACE_INDEX_FOUND:
        if (best != ESTATE_NONE) {
            seat_site(estate, request, when, best, arena, placement_out);
            found = true;
            break;
        }
        if (request->one_node ||
            (tally.fit < request->instances && !request->one_leaf))
            break;
        tally = (struct place_tally){ 0 };
        found = scan(estate, request, when, arena, placement_out, &tally);
        break;
    case PLACE_INDEX_NONE:
        found = scan(estate, request, when, arena, placement_out, &tally);
        if (!found && request->apart_if)
            found = scan_closer(estate, request, when, arena, placement_out,
                                &tally);
        break;
    }
    if (tally_out != NULL)
        *tally_out = tally;
    return found;
}
