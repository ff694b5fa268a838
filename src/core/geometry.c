/* SPDX-License-Identifier: Apache-2.0 */
#include "core/geometry.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- the tables --- */

/* Where the profiles of each card begin and end. */
#define ROW_OF(line) ROW_##line
#define ROW_AT(line) ROW_OF(line)
enum row {
#define CARD(key, vendor, words, memory, units, compute, parts, rules)        \
    FIRST_##key, BEFORE_##key = FIRST_##key - 1,
#define PROFILE(name, compute, parts, size, starts, memory, media)            \
    ROW_AT(__LINE__),
#define END(key) LAST_##key, AFTER_##key = LAST_##key - 1,
#include "data/partitions.def"
#undef CARD
#undef PROFILE
#undef END
};

static const struct geometry_profile profiles[] = {
#define CARD(key, vendor, words, memory, units, compute, parts, rules)
#define PROFILE(name, compute, parts, size, starts, memory, media)            \
    { name, compute, size, media, parts, starts, memory },
#define END(key)
#include "data/partitions.def"
#undef CARD
#undef PROFILE
#undef END
};

#define MIXED 1
#define TENANTS 2
static const struct geometry_card cards[] = {
#define CARD(key, vendor, words, memory, units, compute, parts, rules)        \
    { vendor, words,   memory,                                                \
      units,  compute, parts,                                                 \
      ((rules) & MIXED) != 0, ((rules) & TENANTS) != 0,                       \
      FIRST_##key, LAST_##key - FIRST_##key },
#define PROFILE(name, compute, parts, size, starts, memory, media)
#define END(key)
#include "data/partitions.def"
#undef CARD
#undef PROFILE
#undef END
};

const struct geometry_card *
geometry_cards(size_t *count_out)
{
    *count_out = sizeof(cards) / sizeof(cards[0]);
    return cards;
}

const struct geometry_profile *
geometry_profile_at(const struct geometry_card *card, size_t index)
{
    return &profiles[card->first + index];
}

const struct geometry_profile *
geometry_profile(const struct geometry_card *card, const char *name)
{
    for (size_t i = 0; i < card->count; i++)
        if (strcmp(profiles[card->first + i].name, name) == 0)
            return &profiles[card->first + i];
    return NULL;
}

/* Does the word stand alone in the text: not the H200 of a GH200? */
static bool
has_word(const char *text, const char *word, size_t size)
{
    for (const char *at = text; *at != '\0'; at++)
        if (strncasecmp(at, word, size) == 0 &&
            (at == text || !isalnum((unsigned char)at[-1])) &&
            !isalnum((unsigned char)at[size]))
            return true;
    return false;
}

static bool
has_any_word(const char *text, const char *words)
{
    while (*words != '\0') {
        size_t size = strcspn(words, "|");

        if (has_word(text, words, size))
            return true;
        words += size + (words[size] == '|');
    }
    return false;
}

const struct geometry_card *
geometry_card(const char *vendor, const char *model, int64_t memory_mib)
{
    const struct geometry_card *best = NULL;
    int64_t nearest = 0;

    for (size_t i = 0; i < sizeof(cards) / sizeof(cards[0]); i++) {
        int64_t apart = llabs(memory_mib - cards[i].memory_mib);

        if (strcasecmp(vendor, cards[i].vendor) != 0 ||
            apart > cards[i].memory_mib / 8 ||
            (best != NULL && apart >= nearest) ||
            !has_any_word(model, cards[i].words))
            continue;
        best = &cards[i];
        nearest = apart;
    }
    return best;
}

/* --- layouts --- */

static uint32_t
interval(const struct geometry_profile *profile, int start)
{
    return ((UINT32_C(1) << profile->size) - 1) << start;
}

/* Extra engines are there once; whoever has all of them leaves none. */
static bool
engines_fit(const struct layout *layout,
            const struct geometry_profile *profile)
{
    switch ((enum geometry_media)profile->media) {
    case MEDIA_NONE:
        return true;
    case MEDIA_OWN:
        return layout->all == 0;
    case MEDIA:
        return layout->all == 0 && layout->media == 0;
    case MEDIA_ALL:
        return layout->engines == 0;
    }
    return false;
}

bool
geometry_fits(const struct geometry_card *card, const struct layout *layout,
              const struct geometry_profile *profile, int start)
{
    if (start < 0 || start >= card->units ||
        (profile->starts >> start & 1) == 0 ||
        (layout->taken & interval(profile, start)) != 0 ||
        layout->compute + profile->compute > card->compute)
        return false;
    if (!card->mixed && layout->size != layout->count * profile->size)
        return false;
    return engines_fit(layout, profile);
}

static void
count_in(struct layout *layout, const struct geometry_profile *profile,
         int sign)
{
    layout->compute = (int8_t)(layout->compute + sign * profile->compute);
    layout->size = (int8_t)(layout->size + sign * profile->size);
    layout->count = (int8_t)(layout->count + sign);
    if (profile->media == MEDIA)
        layout->media = (int8_t)(layout->media + sign);
    if (profile->media == MEDIA_ALL)
        layout->all = (int8_t)(layout->all + sign);
    if (profile->media != MEDIA_NONE)
        layout->engines = (int8_t)(layout->engines + sign);
}

void
geometry_add(struct layout *layout, const struct geometry_profile *profile,
             int start)
{
    layout->taken |= interval(profile, start);
    count_in(layout, profile, 1);
}

void
geometry_remove(struct layout *layout, const struct geometry_profile *profile,
                int start)
{
    layout->taken &= ~interval(profile, start);
    count_in(layout, profile, -1);
}

static void
merge(struct layout *layout, const struct layout *other, int sign)
{
    layout->compute = (int8_t)(layout->compute + sign * other->compute);
    layout->media = (int8_t)(layout->media + sign * other->media);
    layout->all = (int8_t)(layout->all + sign * other->all);
    layout->engines = (int8_t)(layout->engines + sign * other->engines);
    layout->count = (int8_t)(layout->count + sign * other->count);
    layout->size = (int8_t)(layout->size + sign * other->size);
}

void
geometry_join(struct layout *layout, const struct layout *other)
{
    layout->taken |= other->taken;
    merge(layout, other, 1);
}

void
geometry_part(struct layout *layout, const struct layout *other)
{
    layout->taken &= ~other->taken;
    merge(layout, other, -1);
}

/* --- where --- */

static int64_t
starts_left(const struct geometry_card *card, const struct layout *layout,
            const struct geometry_profile *profile)
{
    int64_t count = 0;

    for (int start = 0; start < card->units; start++)
        count += geometry_fits(card, layout, profile, start);
    return count;
}

/* Does a layout keep more possible than another: more starts for the largest
 * profile, of equal ones for the next? */
static int
compare(const struct geometry_card *card, const struct layout *a,
        const struct layout *b)
{
    for (int size = card->units; size > 0; size--)
        for (int compute = card->compute; compute > 0; compute--)
            for (size_t i = 0; i < card->count; i++) {
                const struct geometry_profile *profile =
                    &profiles[card->first + i];
                int64_t left, right;

                if (profile->size != size || profile->compute != compute)
                    continue;
                left = starts_left(card, a, profile);
                right = starts_left(card, b, profile);
                if (left != right)
                    return left > right ? 1 : -1;
            }
    return 0;
}

int
geometry_start(const struct geometry_card *card, const struct layout *layout,
               const struct geometry_profile *profile)
{
    struct layout best_layout = *layout;
    int best = -1;

    for (int start = 0; start < card->units; start++) {
        struct layout with = *layout;

        if (!geometry_fits(card, layout, profile, start))
            continue;
        geometry_add(&with, profile, start);
        if (best < 0 || compare(card, &with, &best_layout) >= 0) {
            best = start;
            best_layout = with;
        }
    }
    return best;
}

/* The starts of one profile do not overlap, so their order is all the same. */
int64_t
geometry_room(const struct geometry_card *card, const struct layout *layout,
              const struct geometry_profile *profile)
{
    struct layout with = *layout;
    int64_t count = 0;

    for (int start = 0; start < card->units; start++)
        if (geometry_fits(card, &with, profile, start)) {
            geometry_add(&with, profile, start);
            count++;
        }
    return count;
}

const struct geometry_profile *
geometry_largest(const struct geometry_card *card,
                 const struct layout *layout)
{
    const struct geometry_profile *best = NULL;

    for (size_t i = 0; i < card->count; i++) {
        const struct geometry_profile *profile = &profiles[card->first + i];

        if ((best == NULL || profile->size > best->size ||
             (profile->size == best->size &&
              profile->compute > best->compute)) &&
            starts_left(card, layout, profile) > 0)
            best = profile;
    }
    return best;
}

/* --- amounts --- */

int64_t
geometry_milli(const struct geometry_card *card,
               const struct geometry_profile *profile)
{
    return INT64_C(1000) * profile->parts / card->parts;
}

int64_t
geometry_memory(const struct geometry_card *card,
                const struct geometry_profile *profile,
                int64_t card_memory_mib)
{
    int64_t share = card_memory_mib * profile->size / card->units;

    return profile->memory_mib > 0 && profile->memory_mib < share
               ? profile->memory_mib
               : share;
}

bool
geometry_most(const char *vendor, const char *model, const char *name,
              int64_t *milli_out, int64_t *memory_mib_out)
{
    int64_t most = 0, memory = 0;

    for (size_t i = 0; i < sizeof(cards) / sizeof(cards[0]); i++) {
        const struct geometry_profile *profile =
            geometry_profile(&cards[i], name);
        int64_t milli, mib;

        if (profile == NULL ||
            (vendor[0] != '\0' && strcasecmp(vendor, cards[i].vendor) != 0) ||
            (model[0] != '\0' && !has_any_word(model, cards[i].words)))
            continue;
        milli = geometry_milli(&cards[i], profile);
        mib = geometry_memory(&cards[i], profile, cards[i].memory_mib);
        most = milli > most ? milli : most;
        memory = mib > memory ? mib : memory;
    }
    *milli_out = most;
    *memory_mib_out = memory;
    return most > 0;
}

/* --- names --- */

const char *
geometry_format(char text[GEOMETRY_NAME_MAX], const char *profile,
                int64_t start)
{
    (void)snprintf(text, GEOMETRY_NAME_MAX, "%.30s@%d", profile, (int)start);
    return text;
}

bool
geometry_parse(const struct geometry_card *card, const char *text,
               const struct geometry_profile **profile_out, int *start_out)
{
    char name[GEOMETRY_NAME_MAX];
    const char *at = strrchr(text, '@');
    char *end;
    long start;

    if (at == NULL || !isdigit((unsigned char)at[1]) ||
        (size_t)(at - text) >= sizeof(name))
        return false;
    memcpy(name, text, (size_t)(at - text));
    name[at - text] = '\0';
    start = strtol(at + 1, &end, 10);
    *profile_out = geometry_profile(card, name);
    if (*end != '\0' || *profile_out == NULL || start >= card->units ||
        ((*profile_out)->starts >> start & 1) == 0)
        return false;
    *start_out = (int)start;
    return true;
}
