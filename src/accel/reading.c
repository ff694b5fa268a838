/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "accel/accel.h"

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

static void
verdict(struct accel_state *state, enum accel_health health, const char *reason)
{
    if (state->health != ACCEL_HEALTHY)
        return;
    state->health = health;
    (void)snprintf(state->reason, sizeof(state->reason), "%s", reason);
}

/* Its own action comes first: it has seen all of what follows. */
static void
judge_recovery(const struct accel_reading *reading, struct accel_state *state)
{
    static const struct {
        enum accel_health health;
        const char *reason;
    } actions[] = {
        [1] = { ACCEL_FAILED, "the card asks for a reset" },
        [2] = { ACCEL_FAILED, "the card asks for a reboot of the node" },
        [3] = { ACCEL_DEGRADED, "the card asks for its links to be drained" },
        [4] = { ACCEL_SUSPECT, "the card asks to be drained and reset" },
        [5] = { ACCEL_DEGRADED, "the fabric's domain has to be recovered" },
    };
    int64_t action = reading->value[ACCEL_RECOVERY];

    if (action == ACCEL_ABSENT || action == 0)
        return;
    if (action < (int64_t)(sizeof(actions) / sizeof(actions[0])))
        verdict(state, actions[action].health, actions[action].reason);
    else
        verdict(state, ACCEL_DEGRADED, "the card asks for something unknown");
}

static void
judge_memory(const struct accel_reading *reading, struct accel_state *state)
{
    if (accel_reading_is(reading, ACCEL_REMAP_FAILED))
        verdict(state, ACCEL_FAILED,
                "memory rows could not be replaced: replace the card");
    if (accel_reading_is(reading, ACCEL_UNREPAIRABLE))
        verdict(state, ACCEL_FAILED,
                "its memory is beyond repair: replace the card");
    if (accel_reading_is(reading, ACCEL_SRAM_EXCEEDED))
        verdict(state, ACCEL_FAILED,
                "SRAM errors are beyond the vendor's bound: replace the card");
    if (reading->value[ACCEL_PAGES_RETIRED] >= 64)
        verdict(state, ACCEL_FAILED,
                "64 memory pages are given up: replace the card");
    if (accel_reading_is(reading, ACCEL_BANKS_SPENT))
        verdict(state, ACCEL_DEGRADED, "a memory bank has no spare row left");
    if (accel_reading_is(reading, ACCEL_REMAP_PENDING) ||
        accel_reading_is(reading, ACCEL_REPAIR_PENDING) ||
        accel_reading_is(reading, ACCEL_PAGES_PENDING))
        verdict(state, ACCEL_SUSPECT,
                "a memory repair waits for a reset of the card");
}

static void
judge_vendor(const struct accel_reading *reading, struct accel_state *state)
{
    if (reading->value[ACCEL_ATTENTION] >= 4)
        verdict(state, ACCEL_FAILED, "the vendor says: replace the card");
    else if (reading->value[ACCEL_ATTENTION] == 3)
        verdict(state, ACCEL_DEGRADED, "the vendor says: it is in a bad way");
    else if (reading->value[ACCEL_ATTENTION] == 2)
        verdict(state, ACCEL_SUSPECT, "the vendor says: it is worn");
}

/* Fewer lanes than both ends can is a fault also of an idle card; a lower
 * generation is not. */
static void
judge_speed(const struct accel_reading *reading, struct accel_state *state)
{
    int64_t reasons = reading->value[ACCEL_CLOCK_REASONS];
    int64_t width = reading->value[ACCEL_PCIE_WIDTH];

    if (reasons != ACCEL_ABSENT && (reasons & 0xC8) != 0)
        verdict(state, ACCEL_SUSPECT, "hardware holds its clocks down");
    if (width > 0 && width < reading->value[ACCEL_PCIE_WIDTH_MAX])
        verdict(state, ACCEL_SUSPECT, "its bus has fewer lanes than it could");
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

    judge_recovery(reading, &state);
    judge_memory(reading, &state);
    judge_vendor(reading, &state);
    judge_speed(reading, &state);
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
