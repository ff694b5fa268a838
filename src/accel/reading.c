/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "accel/accel.h"

/* Given up for errors: more than a card of that kind may have. */
#define PAGES_MOST 64

static const struct {
    const char *text, *unit;
    int64_t min, max;
} items[] = {
#define READING(name, text, unit, min, max, meaning) { text, unit, min, max },
#include "accel/reading.def"
#undef READING
};

void
accel_reading_clear(struct accel_reading *reading)
{
    for (size_t i = 0; i < ACCEL_ITEM_COUNT; i++)
        reading->value[i] = ACCEL_ABSENT;
}

const char *
accel_item_text(enum accel_item item)
{
    return items[item].text;
}

const char *
accel_item_unit(enum accel_item item)
{
    return items[item].unit;
}

void
accel_reading_set(struct accel_reading *reading, enum accel_item item,
                  int64_t value)
{
    if (value >= items[item].min && value <= items[item].max)
        reading->value[item] = value;
}

bool
accel_reading_is(const struct accel_reading *reading, enum accel_item item)
{
    return reading->value[item] != ACCEL_ABSENT && reading->value[item] != 0;
}

/* --- the verdict of the card's own flags --- */

static int
flag_of(const struct accel_reading *reading, enum accel_item item)
{
    int64_t value = reading->value[item];

    return value == ACCEL_ABSENT ? -1 : value > INT16_MAX ? INT16_MAX
                                                           : (int)value;
}

static bool
is_any(const struct accel_reading *reading, enum accel_item a,
       enum accel_item b, enum accel_item c)
{
    return accel_reading_is(reading, a) || accel_reading_is(reading, b) ||
           accel_reading_is(reading, c);
}

void
accel_flags(const struct accel_reading *reading, struct card_flags *out)
{
    int64_t pages = reading->value[ACCEL_PAGES_RETIRED];
    int64_t width = reading->value[ACCEL_PCIE_WIDTH];

    *out = (struct card_flags){
        .recovery = flag_of(reading, ACCEL_RECOVERY),
        .remap_failed = flag_of(reading, ACCEL_REMAP_FAILED),
        .remap_pending = is_any(reading, ACCEL_REMAP_PENDING,
                                ACCEL_REPAIR_PENDING, ACCEL_PAGES_PENDING)
                             ? 1
                             : flag_of(reading, ACCEL_REMAP_PENDING),
        .unrepairable = flag_of(reading, ACCEL_UNREPAIRABLE),
        .sram_exceeded = flag_of(reading, ACCEL_SRAM_EXCEEDED),
        .pages_spent = pages == ACCEL_ABSENT ? -1 : pages >= PAGES_MOST,
        .banks_spent = flag_of(reading, ACCEL_BANKS_SPENT),
        .attention = flag_of(reading, ACCEL_ATTENTION),
        .clock_reasons = flag_of(reading, ACCEL_CLOCK_REASONS),
        .lanes_missing =
            width > 0 && width < reading->value[ACCEL_PCIE_WIDTH_MAX],
    };
}

static int32_t
small(int64_t value)
{
    return value == ACCEL_ABSENT || value > INT32_MAX ? -1 : (int32_t)value;
}

void
accel_judge(const struct accel_reading *reading, struct accel_state *state_out)
{
    int64_t used = reading->value[ACCEL_MEMORY_USED];
    struct accel_state state = {
        .health = ACCEL_HEALTHY,
        .sliced = accel_reading_is(reading, ACCEL_SLICED),
        .memory_used_mib = used == ACCEL_ABSENT ? -1 : used,
        .busy_permille = small(reading->value[ACCEL_BUSY]),
        .temperature_c = small(reading->value[ACCEL_TEMPERATURE]),
        .power_mw = small(reading->value[ACCEL_POWER]),
    };

    static const enum accel_health healths[] = {
        [HEALTH_UNKNOWN] = ACCEL_UNKNOWN,   [HEALTH_HEALTHY] = ACCEL_HEALTHY,
        [HEALTH_SUSPECT] = ACCEL_SUSPECT,   [HEALTH_DEGRADED] = ACCEL_DEGRADED,
        [HEALTH_FAILED] = ACCEL_FAILED,
    };
    struct card_flags flags;
    struct card_verdict verdict;

    accel_flags(reading, &flags);
    verdict = card_health_flags(&flags);
    state.health = healths[verdict.health];
    (void)snprintf(state.reason, sizeof(state.reason), "%s", verdict.reason);
    *state_out = state;
}

/* --- islands --- */

static bool
is_linked(const struct accel_card *a, const struct accel_card *b)
{
    bool to_switch = false;
    bool both = false;

    for (size_t i = 0; i < a->link_count; i++) {
        if (strcmp(a->links[i].uuid, b->uuid) == 0 &&
            strcmp(a->links[i].kind, "pcie") != 0)
            return true;
        to_switch = to_switch || strcmp(a->links[i].kind, "switch") == 0;
    }
    for (size_t i = 0; i < b->link_count; i++)
        both = both || strcmp(b->links[i].kind, "switch") == 0;
    return to_switch && both && strcmp(a->domain, b->domain) == 0;
}

static bool
joins(const struct accel_card *cards, size_t at, int32_t island)
{
    bool some = false;

    for (size_t i = 0; i < at; i++) {
        if (cards[i].island != island)
            continue;
        if (!is_linked(&cards[i], &cards[at]) ||
            !is_linked(&cards[at], &cards[i]))
            return false;
        some = true;
    }
    return some;
}

/* An island of one is none. */
static void
drop_single(struct accel_card *cards, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;

        for (size_t j = 0; j < count; j++)
            same += cards[j].island == cards[i].island;
        if (same == 1)
            cards[i].island = -1;
    }
}

void
accel_islands(struct accel_card *cards, size_t count)
{
    int32_t islands = 0;

    for (size_t i = 0; i < count; i++) {
        int32_t at = 0;

        while (at < islands && !joins(cards, i, at))
            at++;
        cards[i].island = at;
        if (at == islands)
            islands++;
    }
    drop_single(cards, count);
}
