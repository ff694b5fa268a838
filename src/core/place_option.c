/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/cut.h"
#include "core/lifecycle.h"
#include "core/place_apart.h"
#include "core/place_option.h"
#include "core/recovery.h"

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

/* Is a quota for cards of this type full? */
static bool
is_barred(const struct estate *estate, const struct part *part,
          const struct place_request *request)
{
    for (size_t i = 0; i < request->bar_count; i++) {
        const struct quota_bar *bar = &request->bars[i];
        struct part_make make = estate_make(estate, part);

        if ((bar->vendor[0] == '\0' ||
             strcmp(bar->vendor, make.vendor) == 0) &&
            (bar->model[0] == '\0' || strcmp(bar->model, make.model) == 0))
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
free_cpu(const struct site *site, enum place_when when)
{
    int64_t soon =
        when == PLACE_FUTURE ? site->leaving_cpu + site->gain_cpu : 0;

    return site->cpu_milli - site->used_cpu -
           (site->held_cpu - site->own_cpu) + soon;
}

static int64_t
free_node_memory(const struct site *site, enum place_when when)
{
    int64_t soon =
        when == PLACE_FUTURE ? site->leaving_memory + site->gain_memory : 0;

    return site->memory_mib - site->used_memory -
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
filter_needs(const struct place_request *request, const struct node *node)
{
    const struct need *missed =
        require_node_misses(request->needs, request->need_count, node);

    return missed == NULL              ? FILTER_COUNT
           : require_is_image(missed) ? FILTER_IMAGE
                                       : FILTER_COMPATIBLE;
}

static enum place_filter
filter_site(const struct estate *estate, const struct site *site,
            const struct place_request *request, enum place_when when)
{
    if (site->state != NODE_SCHEDULABLE)
        return FILTER_NODE_STATE;
    if (!site->fresh)
        return FILTER_LEASE;
    if (!ref_is_none(request->node) && !ref_equal(request->node, site->node))
        return FILTER_PINNED;
    if (request->leaf != 0 && site->leaf != request->leaf)
        return FILTER_PINNED;
    if (recovery_was_lost(estate->world, request->workload, site->node))
        return FILTER_LOST;
    if (has_neighbour(site, request))
        return FILTER_NEIGHBOUR;
    if (request->ends_ms[when] > site->stops_ms[0] ||
        request->loans_ms[when] > site->stops_ms[1])
        return FILTER_MAINTENANCE;
    if (request->need_count > 0)
        return filter_needs(request, world_node(estate->world, site->node));
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
    if (!place_suits(estate, request->class, part) ||
        (request->class->form == FORM_HARD &&
         cut_profile(part, request->class) == NULL))
        return FILTER_CLASS;
    if (request->need_count > 0 &&
        !require_card(request->needs, request->need_count,
                      world_card(estate->world, part->card)))
        return FILTER_COMPATIBLE;
    if (place_memory(request->class, part) > request->card_memory_max ||
        is_barred(estate, part, request))
        return FILTER_QUOTA;
    if (part->health != HEALTH_HEALTHY || part->missing ||
        (part->links_bad && request->class->count > 1))
        return FILTER_HEALTH;
    if (part->stale)
        return FILTER_LEASE;
    if (part->foreign)
        return FILTER_FOREIGN;
    if (part->handover == HANDOVER_FAILED ||
        (when == PLACE_NOW && part->handover == HANDOVER_PENDING &&
         !ref_equal(part->last_tenant, request->tenant)))
        return FILTER_HANDOVER;
    if (request->class->form == FORM_HARD)
        return cut_filter(part, request, when);
    if (part->cut.on && !cut_is_empty(part, when))
        return FILTER_USED;
    if (part->cut.on && when == PLACE_NOW)
        return FILTER_CUT;
    if (part->cut.held.count > part->cut.own.count)
        return FILTER_HELD; /* it is to be cut for others */
    return filter_room(part, request, when);
}

/* --- options: the nodes that are left --- */

/* Shares that one part still takes. */
int64_t
place_option_shares(const struct part *part, const struct class *class,
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

/* Free parts of the option in the group of one of them. */
int64_t
place_option_near(const struct estate *estate, const struct option *option,
                  enum place_group group, uint32_t number)
{
    int64_t count = 0;

    for (size_t i = 0; i < option->count; i++)
        count +=
            estate->parts[option->parts[i]].groups[group] == number;
    return count;
}

static int64_t
largest_group(const struct estate *estate, const struct option *option,
              enum place_group group)
{
    int64_t largest = 0;

    for (size_t i = 0; i < option->count; i++) {
        int64_t there = place_option_near(
            estate, option, group,
            estate->parts[option->parts[i]].groups[group]);

        if (there > largest)
            largest = there;
    }
    return largest;
}

/* Instances whose cards are in one group each. */
static int64_t
groups_fit(const struct estate *estate, const struct option *option,
           enum place_group group, int64_t cards)
{
    int64_t fit = 0;

    for (size_t i = 0; i < option->count; i++) {
        uint32_t number = estate->parts[option->parts[i]].groups[group];
        bool first = true;

        for (size_t k = 0; k < i && first; k++)
            first = estate->parts[option->parts[k]].groups[group] != number;
        if (first)
            fit += place_option_near(estate, option, group, number) / cards;
    }
    return fit;
}

/* Instances that the cards of an option take, CPU and memory aside. */
static int64_t
cards_fit(const struct estate *estate, const struct option *option,
          const struct place_request *request, enum place_when when,
          int64_t *units_out)
{
    const struct class *class = request->class;
    enum place_group group;
    int64_t shares = 0;

    if (class->form == FORM_WHOLE) {
        *units_out = (int64_t)option->count;
        if (place_group_of_class(class, &group))
            return groups_fit(estate, option, group, class->count);
        return class->count > 0 ? *units_out / class->count
                                : request->instances;
    }
    for (size_t i = 0; i < option->count; i++)
        shares += place_option_shares(&estate->parts[option->parts[i]], class, when);
    *units_out = shares;
    return shares;
}

bool
place_option_group(const struct place_request *request,
                   enum place_group *group_out)
{
    *group_out = request->group;
    if (request->class->form != FORM_WHOLE)
        return false;
    return request->grouped ||
           place_group_of_class(request->class, group_out);
}

static void
fill_fit(const struct estate *estate, const struct place_request *request,
         enum place_when when, struct option *option,
         struct place_tally *tally)
{
    const struct site *site = &estate->sites[option->site];
    int64_t cpu = free_cpu(site, when);
    int64_t memory = free_node_memory(site, when);
    enum place_group group;
    int64_t units = 0;
    int64_t fit = cards_fit(estate, option, request, when, &units);

    tally->free += units;
    if (place_option_group(request, &group))
        units = largest_group(estate, option, group);
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
    if (request->per_node > 0 &&
        fit > request->per_node - place_apart_there(estate, request, site)) {
        int64_t most =
            request->per_node - place_apart_there(estate, request, site);

        tally->close += fit - (most > 0 ? most : 0);
        tally->out_nodes[FILTER_SPREAD]++;
        fit = most > 0 ? most : 0;
    }
    option->fit = fit;
    option->units = units;
    tally->fit += fit;
}

void
place_option_look(const struct estate *estate,
                  const struct place_request *request, enum place_when when,
                  struct arena *arena, struct option *option,
                  struct place_tally *tally)
{
    const struct site *site = &estate->sites[option->site];
    enum place_filter filter;

    if (!ref_equal(site->pool, request->pool))
        return;
    tally->nodes++;
    tally->cards += (int64_t)site->count;
    filter = filter_site(estate, site, request, when);
    if (filter != FILTER_COUNT) {
        tally->out_nodes[filter]++;
        tally->out_cards[filter] += (int64_t)site->count;
        return;
    }
    fill_parts(estate, request, when, arena, option, tally);
    fill_fit(estate, request, when, option, tally);
}

bool
place_option_fails(const struct estate *estate,
                   const struct place_request *request, struct ref node)
{
    const struct workload *workload =
        world_workload(estate->world, request->workload);

    if (workload == NULL ||
        (workload->failures == 0 && !lifecycle_is_elastic(workload)))
        return false;
    world_each_child(estate->world, KIND_INSTANCE, request->workload, ref) {
        const struct instance *instance = world_instance(estate->world, ref);

        if (instance->failure[0] != '\0' && ref_equal(instance->node, node))
            return true;
    }
    return false;
}

void
place_option_score(const struct estate *estate,
                   const struct place_request *request, enum place_when when,
                   struct option *option, int64_t instances)
{
    int64_t need = instances * request->class->count, same = 0;
    bool whole = request->class->form == FORM_WHOLE;

    option->avoid =
        place_option_fails(estate, request, estate->sites[option->site].node);
    option->split = whole && need > 1;
    option->left = whole ? (int64_t)option->count - need : INT64_MAX;
    option->second = (int64_t)option->count;
    for (size_t i = 0; i < option->count; i++) {
        const struct part *part = &estate->parts[option->parts[i]];

        same += ref_is_none(part->last_tenant) ||
                ref_equal(part->last_tenant, request->tenant);
        if (whole && option->split &&
            place_option_near(estate, option, request->group,
                              part->groups[request->group]) >= need)
            option->split = false;
        if (!whole)
            option->left = least(option->left,
                                 request->class->form == FORM_HARD
                                     ? cut_left(part, when)
                                     : free_milli(part, when));
    }
    option->handovers = need > same ? need - same : 0;
}

int
place_option_order(const struct option *a, const struct option *b)
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
