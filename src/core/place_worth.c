/* SPDX-License-Identifier: Apache-2.0 */
#include "core/place_worth.h"

#include <string.h>

#include "core/expect.h"

bool
place_worth_is_known(const struct estate *estate,
                     const struct place_request *request)
{
    return estate->expect != NULL && request->class->form != FORM_HARD;
}

double
place_worth_slack(const struct estate *estate)
{
    return value_slack(expect_value(estate->expect));
}

/* --- the node as the policy sees it --- */

/* The cards of a site that are like one of them. */
struct view {
    struct value_node node;
    uint32_t parts[VALUE_CARDS]; /* of the node's cards */
};

static bool
like(const struct estate *estate, const struct part *a, const struct part *b)
{
    struct part_make left, right;

    if (a->memory_mib != b->memory_mib)
        return false;
    if (a->type != ESTATE_NONE && b->type != ESTATE_NONE)
        return a->type == b->type;
    left = estate_make(estate, a);
    right = estate_make(estate, b);
    return strcmp(left.vendor, right.vendor) == 0 &&
           strcmp(left.model, right.model) == 0;
}

static int16_t
free_of(const struct part *part, enum place_when when)
{
    int64_t free = 1000 - part->used_milli -
                   (part->held_milli - part->own_milli);

    if (when == PLACE_FUTURE)
        free += part->leaving_milli + part->gain_milli;
    if (part->health != HEALTH_HEALTHY || part->missing || part->foreign ||
        part->stale)
        return 0;
    return (int16_t)(free < 0 ? 0 : free > 1000 ? 1000 : free);
}

static void
look_at(const struct estate *estate, uint32_t index, const struct part *first,
        enum place_when when, struct view *view)
{
    const struct site *site = &estate->sites[index];
    int64_t cards = 0;

    *view = (struct view){ 0 };
    view->node.cpu_milli =
        site->cpu_milli - site->used_cpu - (site->held_cpu - site->own_cpu);
    view->node.memory_mib = site->memory_mib - site->used_memory -
                            (site->held_memory - site->own_memory);
    if (when == PLACE_FUTURE) {
        view->node.cpu_milli += site->leaving_cpu + site->gain_cpu;
        view->node.memory_mib += site->leaving_memory + site->gain_memory;
    }
    for (size_t i = site->first; i < site->first + site->count; i++) {
        const struct part *part = &estate->parts[i];

        if (ref_is_none(part->card) || !like(estate, first, part))
            continue;
        cards++;
        if (view->node.cards == VALUE_CARDS)
            continue;
        view->parts[view->node.cards] = (uint32_t)i;
        view->node.free[view->node.cards++] = free_of(part, when);
    }
    view->node.kind =
        expect_kind(estate->expect, world_card(estate->world, first->card),
                     world_node(estate->world, site->node), cards);
}

/* The place of a part among the view's cards, -1: not looked at. */
static int
place_in(const struct view *view, uint32_t part)
{
    for (int i = 0; i < view->node.cards; i++)
        if (view->parts[i] == part)
            return i;
    return -1;
}

/* A node of a kind that was not there when the expect was made is worth what
 * is free on it. */
static double
worth(const struct estate *estate, const struct view *view)
{
    double free = 0;

    if (view->node.kind >= 0)
        return value_of(expect_value(estate->expect), &view->node);
    for (int i = 0; i < view->node.cards; i++)
        free += view->node.free[i];
    return free;
}

/* --- shares --- */

struct hand {
    const struct estate *estate;
    const struct place_request *request;
    enum place_when when;
    const uint32_t *parts;
    size_t count;
    struct view *view;
};

/* Milli of a part that the shares placed so far have left; memory likewise. */
static int64_t
rest_of(const struct hand *hand, const uint32_t *taken, int64_t done,
        size_t i)
{
    const struct part *part = &hand->estate->parts[hand->parts[i]];
    const struct class *class = hand->request->class;
    int64_t memory = place_memory(class, part), shares;
    int64_t free_memory = part->memory_mib - part->used_memory_mib -
                          (part->held_memory_mib - part->own_memory_mib);

    if (hand->when == PLACE_FUTURE)
        free_memory += part->leaving_memory_mib + part->gain_memory_mib;
    shares = free_of(part, hand->when) / class->milli;
    if (memory > 0 && free_memory / memory < shares)
        shares = free_memory / memory;
    for (int64_t d = 0; d < done; d++)
        shares -= taken[d] == i;
    return shares;
}

static bool
is_open(const struct hand *hand, const uint32_t *taken, int64_t done, size_t i)
{
    if (free_of(&hand->estate->parts[hand->parts[i]], hand->when) < 1000)
        return true;
    for (int64_t d = 0; d < done; d++)
        if (taken[d] == i)
            return true;
    return false;
}

/* The card that the next share costs least on. */
static size_t
next_card(const struct hand *hand, const uint32_t *taken, int64_t done,
          bool *opens_out)
{
    int16_t milli = (int16_t)hand->request->class->milli;
    size_t best = hand->count;
    double most = 0;
    bool best_open = false;

    for (size_t i = 0; i < hand->count; i++) {
        int place = place_in(hand->view, hand->parts[i]);
        bool open = is_open(hand, taken, done, i);
        double then = 0;

        if (rest_of(hand, taken, done, i) < 1 ||
            (best < hand->count && best_open && !open))
            continue;
        if (place >= 0) {
            hand->view->node.free[place] =
                (int16_t)(hand->view->node.free[place] - milli);
            then = worth(hand->estate, hand->view);
            hand->view->node.free[place] =
                (int16_t)(hand->view->node.free[place] + milli);
        }
        if (best == hand->count || (open && !best_open) || then > most) {
            best = i;
            most = then;
            best_open = open;
        }
    }
    *opens_out = !best_open;
    return best;
}

static int64_t
put_shares(struct hand *hand, int64_t instances, uint32_t *taken)
{
    int64_t opened = 0;

    for (int64_t done = 0; done < instances; done++) {
        bool opens = false;
        size_t card = next_card(hand, taken, done, &opens);
        int place;

        if (card == hand->count)
            break;
        place = place_in(hand->view, hand->parts[card]);
        taken[done] = (uint32_t)card;
        opened += opens;
        if (place >= 0)
            hand->view->node.free[place] =
                (int16_t)(hand->view->node.free[place] -
                          hand->request->class->milli);
    }
    return opened;
}

static void
put_whole(struct view *view, int64_t cards)
{
    for (int i = 0; i < view->node.cards && cards > 0; i++)
        if (view->node.free[i] == 1000) {
            view->node.free[i] = 0;
            cards--;
        }
}

void
place_worth_of(const struct estate *estate,
               const struct place_request *request, enum place_when when,
               uint32_t site, const uint32_t *parts, size_t count,
               int64_t instances, struct place_worth *out,
               uint32_t *taken_out)
{
    scoped_arena arena = arena_new();
    uint32_t first = count > 0 ? parts[0]
                               : (uint32_t)estate->sites[site].first;
    bool empty = count == 0 && estate->sites[site].count == 0;
    uint32_t *taken =
        arena_alloc(arena, (size_t)instances * sizeof(*taken));
    struct view view;
    struct hand hand = { estate, request, when, parts, count, &view };
    double before;

    *out = (struct place_worth){ 0 };
    if (empty)
        return;
    look_at(estate, site, &estate->parts[first], when, &view);
    before = worth(estate, &view);
    view.node.cpu_milli -= instances * request->cpu_milli;
    view.node.memory_mib -= instances * request->memory_mib;
    if (request->class->form == FORM_WHOLE)
        put_whole(&view, instances * request->class->count);
    else
        out->opened = put_shares(&hand, instances, taken);
    out->loss = before - worth(estate, &view);
    if (taken_out != NULL)
        memcpy(taken_out, taken, (size_t)instances * sizeof(*taken));
}
