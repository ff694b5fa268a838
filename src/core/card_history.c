/* SPDX-License-Identifier: Apache-2.0 */
#include "core/card_history.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

static int64_t
number_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void
read_text(const json_t *object, const char *key, char out[128])
{
    const char *text = json_string_value(json_object_get(object, key));

    (void)snprintf(out, 128, "%.127s", text != NULL ? text : "");
}

static void
read_seen(struct card_history *out, const json_t *list)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        int64_t value[6];

        if (out->seen_count == CARD_HEALTH_SEEN)
            return;
        for (size_t j = 0; j < 6; j++)
            value[j] = json_integer_value(json_array_get(item, j));
        out->seen[out->seen_count++] = (struct card_health_seen){
            value[0], value[1], value[2], value[3], value[4], value[5]
        };
    }
}

static void
read_past(struct card_history *out, const json_t *list)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        struct card_health_past *past = &out->past[out->past_count];

        if (out->past_count == CARD_HEALTH_PAST)
            return;
        past->at_ms = number_of(item, "at");
        past->health = (int)number_of(item, "health");
        read_text(item, "reason", past->reason);
        out->past_count++;
    }
}

static void
read_slices(struct card_history *out, const json_t *list)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        struct card_health_slice *slice = &out->slices[out->slice_count];
        const char *name =
            json_string_value(json_object_get(item, "slice"));

        if (out->slice_count == CARD_HEALTH_SLICES || name == NULL)
            return;
        (void)snprintf(slice->name, sizeof(slice->name), "%.39s", name);
        slice->health = (int)number_of(item, "health");
        slice->number = number_of(item, "number");
        out->slice_count++;
    }
}

static void
read_document(struct card_history *out, const json_t *object)
{
    read_text(object, "reason", out->reason);
    out->manual = (int)number_of(object, "manual");
    read_text(object, "manual_reason", out->manual_reason);
    out->said = (int)number_of(object, "said");
    out->said_now = (int)number_of(object, "said_now");
    read_text(object, "said_reason", out->said_reason);
    out->blind = json_is_true(json_object_get(object, "blind"));
    read_text(object, "blind_reason", out->blind_reason);
    out->asks_nothing = json_is_true(json_object_get(object, "asks_nothing"));
    out->has_rows = json_is_true(json_object_get(object, "has_rows"));
    out->heard = (int)number_of(object, "heard");
    out->heard_number = number_of(object, "heard_number");
    out->settled_ms = number_of(object, "settled");
    out->clean = number_of(object, "clean");
    read_seen(out, json_object_get(object, "seen"));
    read_past(out, json_object_get(object, "past"));
    read_slices(out, json_object_get(object, "slices"));
}

void
card_history_read(struct card_history *out, const struct card *card)
{
    struct error ignored;
    json_t *object = NULL;

    card_health_init(out);
    if (card->heard != NULL)
        object = json_read(card->heard->bytes, card->heard->size, &ignored);
    if (object != NULL) {
        read_document(out, object);
    } else if (card->health != HEALTH_UNKNOWN) {
        out->said = out->said_now = card->health;
        (void)snprintf(out->said_reason, sizeof(out->said_reason), "%s",
                       card->health_reason);
    }
    json_decref(object);
    out->health = card->health;
    out->since_ms = card->health_ms;
    out->links = card->links_bad;
}

/* Of a healthy card the count of its looks is no news. */
static int64_t
clean_of(const struct card_history *health)
{
    return health->health == HEALTH_HEALTHY && !health->links &&
                   health->slice_count == 0
               ? 0
               : health->clean;
}

static json_t *
write_seen(const struct card_history *health)
{
    json_t *list = json_array();

    for (size_t i = 0; i < health->seen_count; i++) {
        const struct card_health_seen *seen = &health->seen[i];

        (void)json_array_append_new(
            list, json_pack("[I, I, I, I, I, I]", (json_int_t)seen->number,
                            (json_int_t)seen->pid, (json_int_t)seen->instance,
                            (json_int_t)seen->first_ms,
                            (json_int_t)seen->last_ms,
                            (json_int_t)seen->count));
    }
    return list;
}

static json_t *
write_past(const struct card_history *health)
{
    json_t *list = json_array();

    for (size_t i = 0; i < health->past_count; i++)
        (void)json_array_append_new(
            list,
            json_pack("{s:I, s:i, s:s}", "at",
                      (json_int_t)health->past[i].at_ms, "health",
                      health->past[i].health, "reason",
                      health->past[i].reason));
    return list;
}

static json_t *
write_slices(const struct card_history *health)
{
    json_t *list = json_array();

    for (size_t i = 0; i < health->slice_count; i++)
        (void)json_array_append_new(
            list, json_pack("{s:s, s:i, s:I}", "slice",
                            health->slices[i].name, "health",
                            health->slices[i].health, "number",
                            (json_int_t)health->slices[i].number));
    return list;
}

void
card_history_write(struct buffer *out, const struct card_history *health)
{
    json_t *object = json_pack(
        "{s:s, s:i, s:s, s:i, s:i, s:s, s:b, s:s, s:b, s:b, s:i, s:I, s:I, "
        "s:I, s:o, s:o, s:o}",
        "reason", health->reason, "manual", health->manual, "manual_reason",
        health->manual_reason, "said", health->said, "said_now",
        health->said_now, "said_reason", health->said_reason, "blind",
        health->blind, "blind_reason", health->blind_reason, "asks_nothing",
        health->asks_nothing, "has_rows", health->has_rows, "heard",
        health->heard, "heard_number", (json_int_t)health->heard_number,
        "settled", (json_int_t)health->settled_ms, "clean",
        (json_int_t)clean_of(health), "seen", write_seen(health), "past",
        write_past(health), "slices", write_slices(health));

    json_write(out, object);
    json_decref(object);
}

json_t *
card_history_events(const struct card_history *health)
{
    json_t *list = json_array();

    for (size_t i = health->seen_count; i-- > 0;) {
        const struct card_health_seen *seen = &health->seen[i];

        (void)json_array_append_new(
            list,
            json_pack("{s:I, s:s, s:o, s:o, s:o, s:o, s:I}", "xid",
                      (json_int_t)seen->number, "meaning",
                      xid_meaning(seen->number), "pid",
                      seen->pid < 0 ? json_null() : json_integer(seen->pid),
                      "slice",
                      seen->instance < 0 ? json_null()
                                         : json_integer(seen->instance),
                      "first", json_time(seen->first_ms), "last",
                      json_time(seen->last_ms), "count",
                      (json_int_t)seen->count));
    }
    return list;
}

json_t *
card_history_slices(const struct card_history *health)
{
    json_t *list = json_array();

    for (size_t i = 0; i < health->slice_count; i++)
        (void)json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:I, s:s}", "slice", health->slices[i].name,
                      "health", card_health_text(health->slices[i].health),
                      "xid", (json_int_t)health->slices[i].number, "meaning",
                      xid_meaning(health->slices[i].number)));
    return list;
}

json_t *
card_history_past(const struct card_history *health)
{
    json_t *list = json_array();

    for (size_t i = health->past_count; i-- > 0;)
        (void)json_array_append_new(
            list, json_pack("{s:o, s:s, s:s}", "at",
                            json_time(health->past[i].at_ms), "health",
                            card_health_text(health->past[i].health), "reason",
                            health->past[i].reason));
    return list;
}
