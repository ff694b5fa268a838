/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cut.h"

#include <stdio.h>

/* Quotas are asked for what the class says, and what is bound is charged as
 * the card's table says: a card that charges more is none for the class. */
static const struct geometry_profile *
profile_on(const struct geometry_card *table, const struct class *class)
{
    const struct geometry_profile *profile =
        table != NULL ? geometry_profile(table, class->profile) : NULL;

    return profile != NULL && geometry_milli(table, profile) <= class->milli
               ? profile
               : NULL;
}

const struct geometry_profile *
cut_profile(const struct part *part, const struct class *class)
{
    return profile_on(part->cut.card, class);
}

int64_t
cut_memory(const struct part *part, const struct class *class)
{
    const struct geometry_profile *profile = cut_profile(part, class);

    return profile != NULL ? geometry_memory(part->cut.card, profile,
                                             part->memory_mib)
                           : 0;
}

int64_t
cut_milli(const struct part *part, const struct class *class)
{
    const struct geometry_profile *profile = cut_profile(part, class);

    return profile != NULL ? geometry_milli(part->cut.card, profile) : 0;
}

/* What stays on the card: bound, dirty, and kept for others. */
static struct layout
layout_of(const struct part *part, enum place_when when)
{
    struct layout layout = part->cut.used;
    struct layout held = part->cut.held;

    if (when == PLACE_FUTURE) {
        geometry_part(&layout, &part->cut.leaving);
        geometry_part(&layout, &part->cut.gain);
    }
    geometry_part(&held, &part->cut.own);
    geometry_join(&layout, &held);
    return layout;
}

/* Slices stand on it, or will: others are kept there already. */
static bool
is_on(const struct part *part)
{
    return part->cut.on || part->cut.held.count > 0;
}

bool
cut_is_empty(const struct part *part, enum place_when when)
{
    return layout_of(part, when).count == 0;
}

/* Whole cards and shares that are on it must go, all of them. */
static enum place_filter
filter_whole(const struct part *part, enum place_when when)
{
    int64_t used = part->used_milli;

    if (when == PLACE_FUTURE)
        used -= part->leaving_milli + part->gain_milli;
    if (used > 0)
        return FILTER_USED;
    if (part->held_milli > part->own_milli)
        return FILTER_HELD;
    return when == PLACE_NOW ? FILTER_CUT : FILTER_COUNT;
}

enum place_filter
cut_filter(const struct part *part, const struct place_request *request,
           enum place_when when)
{
    const struct geometry_card *card = part->cut.card;
    const struct geometry_profile *profile = cut_profile(part, request->class);
    struct layout layout = layout_of(part, when);

    if (!is_on(part))
        return filter_whole(part, when);
    if (part->cut.held_whole > part->cut.own_whole)
        return FILTER_HELD; /* it is to be whole for others */
    if (when == PLACE_NOW && !part->cut.on)
        return FILTER_CUT;
    if (!card->tenants && layout.count > 0 &&
        ((part->used_milli > 0 &&
          !ref_equal(part->tenant, request->tenant)) ||
         (part->held_milli > part->own_milli &&
          !ref_equal(part->hold_tenant, request->tenant))))
        return FILTER_USED;
    if (geometry_room(card, &layout, profile) > 0)
        return FILTER_COUNT;
    geometry_part(&layout, &part->cut.held);
    geometry_join(&layout, &part->cut.own);
    if (part->cut.held.count > part->cut.own.count &&
        geometry_room(card, &layout, profile) > 0)
        return FILTER_HELD;
    layout = layout_of(part, when);
    return layout.compute + profile->compute <= card->compute &&
                   layout.size + profile->size <= card->units
               ? FILTER_GEOMETRY
               : FILTER_USED;
}

int64_t
cut_room(const struct part *part, const struct class *class,
         enum place_when when)
{
    struct layout layout = layout_of(part, when);

    return geometry_room(part->cut.card, &layout, cut_profile(part, class));
}

const struct geometry_card *
cut_table(const struct card *card)
{
    return card->simulated || strcmp(card->vendor, "amd") != 0
               ? geometry_card(card->vendor, card->model, card->memory_mib)
               : NULL;
}

int64_t
cut_empty_room(const struct class *class, const struct card *card)
{
    const struct geometry_card *table = cut_table(card);
    const struct geometry_profile *profile = profile_on(table, class);
    struct layout empty = { 0 };

    return profile != NULL ? geometry_room(table, &empty, profile) : 0;
}

int64_t
cut_left(const struct part *part, enum place_when when)
{
    struct layout layout = layout_of(part, when);

    return part->cut.card->units - layout.size + (is_on(part) ? 0 : 1000);
}

void
cut_note(const struct part *part, const struct geometry_profile **largest)
{
    struct layout layout = layout_of(part, PLACE_NOW);
    const struct geometry_profile *fits =
        geometry_largest(part->cut.card, &layout);

    if (fits != NULL && (*largest == NULL || fits->size > (*largest)->size))
        *largest = fits;
}

/* --- seats --- */

/* The fullest card on which one more fits, count when there is none. */
static size_t
fullest(const struct estate *estate, const struct place_request *request,
        const struct cut_parts *parts, const struct layout *layouts)
{
    size_t best = parts->count;
    int64_t best_left = 0;

    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &estate->parts[parts->parts[i]];
        int64_t left = part->cut.card->units - layouts[i].size +
                       (is_on(part) || layouts[i].count > 0 ? 0 : 1000);

        if ((best < parts->count && left >= best_left) ||
            geometry_room(part->cut.card, &layouts[i],
                          cut_profile(part, request->class)) == 0)
            continue;
        best = i;
        best_left = left;
    }
    return best;
}

void
cut_seat(const struct estate *estate, const struct place_request *request,
         enum place_when when, const struct cut_parts *parts,
         int64_t instances, struct arena *arena, struct placement *placement)
{
    struct layout *layouts =
        arena_alloc(arena, parts->count * sizeof(*layouts));

    for (size_t i = 0; i < parts->count; i++)
        layouts[i] = layout_of(&estate->parts[parts->parts[i]], when);
    for (int64_t done = 0; done < instances; done++) {
        size_t at = fullest(estate, request, parts, layouts);
        const struct part *part = &estate->parts[parts->parts[at]];
        const struct geometry_profile *profile =
            cut_profile(part, request->class);
        int start = geometry_start(part->cut.card, &layouts[at], profile);

        geometry_add(&layouts[at], profile, start);
        placement->seats[placement->count++] = (struct seat){
            .site = parts->site,
            .parts = &parts->parts[at],
            .part_count = 1,
            .milli = geometry_milli(part->cut.card, profile),
            .profile = profile,
            .start = start,
        };
    }
}

bool
cut_is_due(const struct estate *estate, const struct class *class,
           const struct placement *placement)
{
    bool on = class->form == FORM_HARD;

    for (size_t i = 0; i < placement->count; i++)
        for (size_t k = 0; k < placement->seats[i].part_count; k++) {
            const struct part *part =
                &estate->parts[placement->seats[i].parts[k]];

            if (part->cut.on != on && part->used_milli == 0)
                return true;
        }
    return false;
}

const char *
cut_part(char text[CUT_PART_MAX], const char *uuid, const char *slice)
{
    (void)snprintf(text, CUT_PART_MAX, "%s%s%s", uuid,
                   slice[0] != '\0' ? "/" : "", slice);
    return text;
}
