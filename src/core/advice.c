/* SPDX-License-Identifier: Apache-2.0 */
#include "core/advice.h"

#include <string.h>

#include "core/card_health.h"

const char *
advice_kind_text(enum advice_kind kind)
{
    static const char *const names[] = { "guarantee-unused",
                                         "guarantee-short", "fragmented" };

    return names[kind];
}

int64_t
advice_window(const struct quota *quota, int64_t now_ms)
{
    int64_t window_ms = now_ms - quota->object.updated_ms;

    if (window_ms > ADVICE_WINDOW_MS)
        window_ms = ADVICE_WINDOW_MS;
    return window_ms >= ADVICE_WINDOW_MIN_MS ? window_ms : 0;
}

static int64_t
whole_cards_up(int64_t milli)
{
    return (milli + 999) / 1000 * 1000;
}

bool
advice_guarantee(const struct quota *quota, int64_t limit, int64_t card_time,
                 int64_t window_ms, struct advice *advice_out)
{
    struct advice advice = { .guaranteed = quota->guaranteed,
                             .window_ms = window_ms };

    if (quota->dimension != DIMENSION_CARDS || window_ms <= 0 ||
        !ref_is_none(quota->pool) || !ref_is_none(quota->class))
        return false;
    advice.used = card_time / window_ms;
    if (quota->guaranteed > 0 && advice.used * 2 < quota->guaranteed) {
        advice.kind = ADVICE_UNUSED;
        advice.recommended = whole_cards_up(advice.used + advice.used / 4);
    } else if (advice.used > quota->guaranteed) {
        advice.kind = ADVICE_SHORT;
        advice.recommended = whole_cards_up(advice.used);
        if (limit != AMOUNT_NONE && advice.recommended > limit)
            advice.recommended = limit;
    } else {
        return false;
    }
    if (advice.recommended == quota->guaranteed)
        return false;
    *advice_out = advice;
    return true;
}

/* --- fragments --- */

static bool
is_free(const struct card *card)
{
    return card_health_is_fit(card) && !card->missing &&
           !card->foreign && card->used_milli == 0 && card->held_milli == 0;
}

/* Cards that the largest whole-card class needs of the pool's models. */
static int64_t
largest_class(const struct world *world, struct ref pool)
{
    int64_t largest = 0;

    world_each(world, KIND_CLASS, ref) {
        const struct class *class = world_class(world, ref);
        bool there = false;

        if (class->form != FORM_WHOLE || class->count <= largest)
            continue;
        world_each_child(world, KIND_NODE, pool, node) {
            const struct card *card = world_card(
                world, world_first_child(world, KIND_CARD, node));

            there |= card != NULL && (class->model[0] == '\0' ||
                                      strcmp(class->model, card->model) == 0);
        }
        if (there)
            largest = class->count;
    }
    return largest;
}

bool
advice_fragmented(const struct world *world, struct ref pool,
                  struct advice_room *room_out)
{
    struct advice_room room = { .wanted = largest_class(world, pool) };

    world_each_child(world, KIND_NODE, pool, node) {
        int64_t free = 0;

        if (world_node(world, node)->state != NODE_SCHEDULABLE)
            continue;
        world_each_child(world, KIND_CARD, node, ref)
            free += is_free(world_card(world, ref));
        room.free += free;
        if (free > room.largest)
            room.largest = free;
    }
    *room_out = room;
    return room.wanted > 1 && room.free >= room.wanted &&
           room.largest < room.wanted;
}
