/* SPDX-License-Identifier: Apache-2.0 */
#include "core/place.h"

#include <string.h>

#include "core/cut.h"
#include "core/place_worth.h"

const char *
place_filter_text(enum place_filter filter)
{
    static const char *const names[FILTER_COUNT] = {
        "node-state", "lease", "pinned", "neighbour", "class", "quota",
        "health", "foreign", "handover", "partition", "held", "used",
        "geometry", "cpu", "memory",
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

bool
place_matches(const struct class *class, const struct card *card)
{
    return (class->vendor[0] == '\0' ||
            strcmp(class->vendor, card->vendor) == 0) &&
           (class->model[0] == '\0' ||
            strcmp(class->model, card->model) == 0) &&
           card->memory_mib >= class->min_memory_mib;
}

/* Is a quota for cards of this type full? */
static bool
is_barred(const struct place_request *request, const struct card *card)
{
    for (size_t i = 0; i < request->bar_count; i++) {
        const struct quota_bar *bar = &request->bars[i];

        if ((bar->vendor[0] == '\0' ||
             strcmp(bar->vendor, card->vendor) == 0) &&
            (bar->model[0] == '\0' || strcmp(bar->model, card->model) == 0))
            return true;
    }
    return false;
}

/* --- what is there --- */

static int64_t
soon_milli(const struct part *part, enum place_when when)
{
    return when == PLACE_FUTURE ? part->leaving_milli + part->gain_milli : 0;
}

static int64_t
free_milli(const struct part *part, enum place_when when)
{
    return 1000 - part->used_milli - (part->held_milli - part->own_milli) +
           soon_milli(part, when);
}

static int64_t
free_memory(const struct part *part, enum place_when when)
{
    int64_t soon = when == PLACE_FUTURE
                       ? part->leaving_memory_mib + part->gain_memory_mib
                       : 0;

    return part->memory_mib - part->used_memory_mib -
           (part->held_memory_mib - part->own_memory_mib) + soon;
}

static int64_t
free_cpu(const struct estate *estate, const struct site *site,
         enum place_when when)
{
    const struct node *node = world_node(estate->world, site->node);
    int64_t soon =
        when == PLACE_FUTURE ? site->leaving_cpu + site->gain_cpu : 0;

    return node->cpu_milli - site->used_cpu -
           (site->held_cpu - site->own_cpu) + soon;
}

static int64_t
free_node_memory(const struct estate *estate, const struct site *site,
                 enum place_when when)
{
    const struct node *node = world_node(estate->world, site->node);
    int64_t soon =
        when == PLACE_FUTURE ? site->leaving_memory + site->gain_memory : 0;

    return node->memory_mib - site->used_memory -
           (site->held_memory - site->own_memory) + soon;
}

/* --- filters --- */

/* A nodepool tenant shares its nodes with nobody, and nobody with it. */
static bool
has_neighbour(const struct site *site, const struct place_request *request)
{
    struct ref other = request->exclusive ? site->tenant : site->secluded;
    bool more = request->exclusive ? site->shared : site->secluded_more;

    return more ||
           (!ref_is_none(other) && !ref_equal(other, request->tenant));
}

static enum place_filter
filter_site(const struct estate *estate, const struct site *site,
            const struct place_request *request)
{
    if (world_node(estate->world, site->node)->state != NODE_SCHEDULABLE)
        return FILTER_NODE_STATE;
    if (!site->fresh)
        return FILTER_LEASE;
    if (!ref_is_none(request->node) && !ref_equal(request->node, site->node))
        return FILTER_PINNED;
    if (has_neighbour(site, request))
        return FILTER_NEIGHBOUR;
    return FILTER_COUNT;
}

/* Room for one whole card or one share, and for whom it is kept if not. */
static enum place_filter
filter_room(const struct part *part, const struct place_request *request,
            enum place_when when)
{
    const struct class *class = request->class;
    int64_t milli = class->form == FORM_WHOLE ? 1000 : class->milli;
    int64_t memory = place_memory(class, part);
    int64_t used = part->used_milli - soon_milli(part, when);
    int64_t held = part->held_milli - part->own_milli;

    if (held > 0 && !ref_equal(part->hold_tenant, request->tenant))
        return FILTER_HELD;
    if (used > 0 && !ref_equal(part->tenant, request->tenant))
        return FILTER_USED;
    if (free_milli(part, when) < milli || free_memory(part, when) < memory)
        return used + milli <= 1000 && held > 0 ? FILTER_HELD : FILTER_USED;
    return FILTER_COUNT;
}

static enum place_filter
filter_part(const struct estate *estate, const struct part *part,
            const struct place_request *request, enum place_when when)
{
    const struct card *card = world_card(estate->world, part->card);

    if (!place_matches(request->class, card) ||
        (request->class->form == FORM_HARD &&
         cut_profile(part, request->class) == NULL))
        return FILTER_CLASS;
    if (place_memory(request->class, part) > request->card_memory_max ||
        is_barred(request, card))
        return FILTER_QUOTA;
    if (card->health != HEALTH_HEALTHY || card->missing)
        return FILTER_HEALTH;
    if (card->foreign)
        return FILTER_FOREIGN;
    if (card->handover == HANDOVER_FAILED ||
        (when == PLACE_NOW && card->handover == HANDOVER_PENDING &&
         !ref_equal(card->last_tenant, request->tenant)))
        return FILTER_HANDOVER;
    if (request->class->form == FORM_HARD)
        return cut_filter(part, request, when);
    if (part->cut.on && !cut_is_empty(part, when))
        return FILTER_USED;
    if (part->cut.on && when == PLACE_NOW)
        return FILTER_CUT;
    return filter_room(part, request, when);
}

/* --- options: the nodes that are left --- */

struct option {
    uint32_t site;
    uint32_t *parts; /* that passed, in order */
    size_t count;
    int64_t fit;     /* instances */
    bool avoid;
    bool split;      /* no one island holds all */
    int64_t left;    /* best fit: less is better */
    int64_t second;
    int64_t handovers;
    struct place_worth worth;
};

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Shares that one part still takes. */
static int64_t
part_shares(const struct part *part, const struct class *class,
            enum place_when when)
{
    int64_t memory = place_memory(class, part);
    int64_t shares;

    if (class->form == FORM_HARD)
        return cut_room(part, class, when);
    shares = free_milli(part, when) / class->milli;

    return memory > 0 ? least(shares, free_memory(part, when) / memory)
                      : shares;
}

static void
fill_parts(const struct estate *estate, const struct place_request *request,
           enum place_when when, struct arena *arena, struct option *option,
           struct place_tally *tally)
{
    const struct site *site = &estate->sites[option->site];

    option->parts = arena_alloc(arena, site->count * sizeof(uint32_t));
    for (size_t i = site->first; i < site->first + site->count; i++) {
        enum place_filter filter =
            filter_part(estate, &estate->parts[i], request, when);

        if (filter == FILTER_COUNT)
            option->parts[option->count++] = (uint32_t)i;
        else
            tally->out_cards[filter]++;
        if (filter == FILTER_GEOMETRY)
            cut_note(&estate->parts[i], &tally->slice);
    }
}

/* Instances that the cards of an option take, CPU and memory aside. */
static int64_t
cards_fit(const struct estate *estate, const struct option *option,
          const struct place_request *request, enum place_when when,
          int64_t *units_out)
{
    const struct class *class = request->class;
    int64_t shares = 0;

    if (class->form == FORM_WHOLE) {
        *units_out = (int64_t)option->count;
        return class->count > 0 ? *units_out / class->count
                                : request->instances;
    }
    for (size_t i = 0; i < option->count; i++)
        shares += part_shares(&estate->parts[option->parts[i]], class, when);
    *units_out = shares;
    return shares;
}

/* Free parts of the option on the island of one of them. */
static int64_t
island_count(const struct estate *estate, const struct option *option,
             uint32_t island)
{
    int64_t count = 0;

    for (size_t i = 0; i < option->count; i++)
        count += estate->parts[option->parts[i]].island == island;
    return count;
}

static int64_t
largest_island(const struct estate *estate, const struct option *option)
{
    int64_t largest = 0;

    for (size_t i = 0; i < option->count; i++) {
        int64_t there = island_count(
            estate, option, estate->parts[option->parts[i]].island);

        if (there > largest)
            largest = there;
    }
    return largest;
}

static bool
class_is_whole(const struct place_request *request)
{
    return request->class->form == FORM_WHOLE;
}

static void
fill_fit(const struct estate *estate, const struct place_request *request,
         enum place_when when, struct option *option,
         struct place_tally *tally)
{
    const struct site *site = &estate->sites[option->site];
    int64_t cpu = free_cpu(estate, site, when);
    int64_t memory = free_node_memory(estate, site, when);
    int64_t units = 0;
    int64_t fit = cards_fit(estate, option, request, when, &units);

    tally->free += units;
    if (request->one_island && class_is_whole(request))
        units = largest_island(estate, option);
    if (units > tally->largest)
        tally->largest = units;
    if (request->cpu_milli > 0) {
        if (fit > 0 && cpu < request->cpu_milli)
            tally->out_nodes[FILTER_CPU]++;
        fit = least(fit, cpu > 0 ? cpu / request->cpu_milli : 0);
    }
    if (request->memory_mib > 0) {
        if (fit > 0 && memory < request->memory_mib)
            tally->out_nodes[FILTER_MEMORY]++;
        fit = least(fit, memory > 0 ? memory / request->memory_mib : 0);
    }
    option->fit = fit;
    tally->fit += fit;
}

static bool
just_failed(const struct estate *estate, const struct place_request *request,
            struct ref node)
{
    const struct workload *workload =
        world_workload(estate->world, request->workload);

    if (workload == NULL || workload->failures == 0)
        return false;
    world_each_child(estate->world, KIND_INSTANCE, request->workload, ref) {
        const struct instance *instance = world_instance(estate->world, ref);

        if (instance->failure[0] != '\0' && ref_equal(instance->node, node))
            return true;
    }
    return false;
}

/* The score of an option, were `instances` of the request put there. */
static void
score(const struct estate *estate, const struct place_request *request,
      enum place_when when, struct option *option, int64_t instances)
{
    int64_t need = instances * request->class->count, same = 0;
    bool whole = request->class->form == FORM_WHOLE;

    option->avoid =
        just_failed(estate, request, estate->sites[option->site].node);
    option->split = whole && need > 1;
    option->left = whole ? (int64_t)option->count - need : INT64_MAX;
    option->second = (int64_t)option->count;
    for (size_t i = 0; i < option->count; i++) {
        const struct part *part = &estate->parts[option->parts[i]];
        const struct card *card = world_card(estate->world, part->card);

        same += ref_is_none(card->last_tenant) ||
                ref_equal(card->last_tenant, request->tenant);
        if (whole && option->split &&
            island_count(estate, option, part->island) >= need)
            option->split = false;
        if (!whole)
            option->left = least(option->left,
                                 request->class->form == FORM_HARD
                                     ? cut_left(part, when)
                                     : free_milli(part, when));
    }
    option->handovers = need > same ? need - same : 0;
}

static int
order(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int
option_order(const struct option *a, const struct option *b)
{
    int by;

    if ((by = order(a->avoid, b->avoid)) != 0 ||
        (by = order(a->split, b->split)) != 0 ||
        (by = order(a->left, b->left)) != 0 ||
        (by = order(a->second, b->second)) != 0 ||
        (by = order(a->handovers, b->handovers)) != 0)
        return by;
    return order(a->site, b->site);
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
 * smallest island that holds all, else the largest ones first; on an island
 * cards that need no handover first. */
struct rank {
    int64_t misfit, island, handover;
    uint32_t part;
};

static int
rank_order(const void *left, const void *right)
{
    const struct rank *a = left, *b = right;
    int by;

    if ((by = order(a->misfit, b->misfit)) != 0 ||
        (by = order(a->island, b->island)) != 0 ||
        (by = order(a->handover, b->handover)) != 0)
        return by;
    return order(a->part, b->part);
}

static void
rank_parts(const struct estate *estate, const struct place_request *request,
           const struct option *option, int64_t need, struct arena *arena)
{
    struct rank *ranks = arena_alloc(arena, option->count * sizeof(*ranks));

    for (size_t i = 0; i < option->count; i++) {
        const struct part *part = &estate->parts[option->parts[i]];
        const struct card *card = world_card(estate->world, part->card);
        int64_t there = island_count(estate, option, part->island);

        ranks[i].misfit = there >= need ? there - need : 2000000 - there;
        ranks[i].island = part->island;
        ranks[i].handover = !ref_is_none(card->last_tenant) &&
                            !ref_equal(card->last_tenant, request->tenant);
        ranks[i].part = option->parts[i];
    }
    if (option->count > 1)
        qsort(ranks, option->count, sizeof(*ranks), rank_order);
    for (size_t i = 0; i < option->count; i++)
        option->parts[i] = ranks[i].part;
}

static void
seat_whole(const struct estate *estate, const struct place_request *request,
           const struct option *option, int64_t instances,
           struct arena *arena, struct placement *placement)
{
    int64_t count = request->class->count;

    rank_parts(estate, request, option, instances * count, arena);
    for (int64_t i = 0; i < instances; i++)
        placement->seats[placement->count++] =
            (struct seat){ .site = option->site,
                           .parts = option->parts + i * count,
                           .part_count = (size_t)count,
                           .milli = 1000 };
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
        left[i] = part_shares(&estate->parts[option->parts[i]],
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
        score(estate, request, when, option, instances);
        if (request->one_island && option->split)
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
        score(estate, request, when, &options[i], instances);
        if (request->one_island && options[i].split)
            continue;
        if (best == NULL || option_order(&options[i], best) < 0)
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
        options[i].avoid = just_failed(estate, request,
                                       estate->sites[options[i].site].node);
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
        const struct site *site = &estate->sites[i];
        struct option option = { .site = (uint32_t)i };
        enum place_filter filter;

        if (!ref_equal(site->pool, request->pool))
            continue;
        tally->nodes++;
        tally->cards += (int64_t)site->count;
        filter = filter_site(estate, site, request);
        if (filter != FILTER_COUNT) {
            tally->out_nodes[filter]++;
            tally->out_cards[filter] += (int64_t)site->count;
            continue;
        }
        fill_parts(estate, request, when, arena, &option, tally);
        fill_fit(estate, request, when, &option, tally);
        if (option.fit > 0)
            options[count++] = option;
    }
    return count;
}

bool
place_find(const struct estate *estate, const struct place_request *request,
           enum place_when when, struct arena *arena,
           struct placement *placement_out, struct place_tally *tally_out)
{
    struct place_tally tally = { 0 };
    struct option *options =
        arena_alloc(arena, estate->site_count * sizeof(*options));
    size_t count =
        list_options(estate, request, when, arena, options, &tally);
    struct option *best = best_node(estate, request, when, options, count,
                                    request->instances);

    if (tally_out != NULL)
        *tally_out = tally;
    if (tally.fit < request->instances || (best == NULL && request->one_node))
        return false;
    placement_out->count = 0;
    placement_out->seats =
        arena_alloc(arena, (size_t)request->instances * sizeof(struct seat));
    if (best != NULL)
        seat_node(estate, request, when, best, request->instances, arena,
                  placement_out);
    else
        spread(estate, request, when, options, count, arena, placement_out);
    return true;
}
