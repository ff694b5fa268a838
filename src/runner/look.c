/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/look.h"

#include <stdbool.h>

#include "runner/node.h"

/* The slice with that number of the driver's, as it is there now; "": none. */
static const char *
slice_name(const struct accel_slice *list, size_t count, int64_t instance)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].instance == instance)
            return list[i].name;
    return "";
}

static json_t *
event_row(const struct card_event *event, const char *slice)
{
    return json_pack(
        "{s:I, s:I, s:I, s:s, s:I, s:I, s:I, s:b, s:I, s:I}", "xid",
        (json_int_t)event->xid.number, "pid", (json_int_t)event->xid.pid,
        "instance", (json_int_t)event->xid.instance, "slice", slice, "first_ms",
        (json_int_t)event->first_ms, "last_ms", (json_int_t)event->last_ms,
        "count", (json_int_t)event->count, "has_words", event->xid.has_words,
        "word", (json_int_t)event->xid.word, "status",
        (json_int_t)event->xid.status);
}

static json_t *
events_of(struct node *node, const char *uuid, const struct watch_view *view)
{
    struct accel_slice slices[ACCEL_SLICES_MAX];
    json_t *rows = json_array();
    struct error ignored;
    size_t count = 0;
    bool sliced = false;

    for (size_t i = 0; i < view->count; i++)
        sliced = sliced || view->events[i].xid.instance >= 0;
    if (sliced &&
        accel_slices(&node->accel, uuid, slices, &count, &ignored) != 0)
        count = 0;
    for (size_t i = 0; i < view->count; i++)
        (void)json_array_append_new(
            rows, event_row(&view->events[i],
                            slice_name(slices, count,
                                       view->events[i].xid.instance)));
    return rows;
}

static json_int_t
value_of(const struct accel_reading *reading, enum accel_item item)
{
    return reading->value[item] == ACCEL_ABSENT
               ? -1
               : (json_int_t)reading->value[item];
}

/* What was measured, what the flags can tell, and what was heard. */
json_t *
look_row(struct node *node, const struct accel_card *card,
        const struct accel_state *state)
{
    struct accel_reading reading;
    struct card_flags flags;
    struct watch_view view;
    struct error ignored;

    accel_reading_clear(&reading);
    if (state->health != ACCEL_UNKNOWN)
        (void)accel_read(&node->accel, card->uuid, &reading, &ignored);
    accel_flags(&reading, &flags);
    watch_know(node->watch, card->uuid, card->pci);
    watch_look(node->watch, card->uuid, state->health == ACCEL_HEALTHY, &view);
    return json_pack(
        "{s:I, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "clean",
        (json_int_t)view.clean, "asks_nothing", flags.recovery == 0,
        "has_rows", flags.remap_failed >= 0 && flags.remap_pending >= 0,
        "temperature_c", value_of(&reading, ACCEL_TEMPERATURE), "power_mw",
        value_of(&reading, ACCEL_POWER), "busy_permille",
        value_of(&reading, ACCEL_BUSY), "memory_used_mib",
        value_of(&reading, ACCEL_MEMORY_USED), "ecc_corrected",
        value_of(&reading, ACCEL_ECC_CORRECTED), "ecc_uncorrected",
        value_of(&reading, ACCEL_ECC_UNCORRECTED), "clock_reasons",
        value_of(&reading, ACCEL_CLOCK_REASONS), "events",
        events_of(node, card->uuid, &view));
}
