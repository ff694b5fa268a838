/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/handlers.h"
#include "api/health.h"
#include "api/objects.h"
#include "core/card_history.h"
#include "core/health_policy.h"
#include "core/observe_health.h"

/*
 * How is a card and what was heard of it, and whose work is hurt by cards that
 * are not well?
 */

#define IMPACT_MAX 5000

const struct body_field health_body[] = {
    {"health", BODY_TEXT, true,
     "suspect, degraded or failed; healthy takes it back"},
    {"reason", BODY_TEXT, true, "why, 1 to 120 characters"},
    {NULL, BODY_TEXT, false, NULL},
};

static void
set_id(json_t *item, const char *name, const struct world *world,
       struct ref ref)
{
    char text[ID_TEXT_MAX];
    if (world_object(world, ref) == NULL)
        return;
    object_id_text(world, ref, text);
    json_object_set_new(item, name, json_string(text));
}

/* --- one card --- */

static json_t *
number_or_null(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static json_t *
readings_json(const struct card_readings *read)
{
    if (read->looked_ms == 0)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "temperature_c",
                     number_or_null(read->temperature_c), "power_mw",
                     number_or_null(read->power_mw), "busy_permille",
                     number_or_null(read->busy_permille), "memory_used_mib",
                     number_or_null(read->memory_used_mib), "ecc_corrected",
                     number_or_null(read->ecc_corrected), "ecc_uncorrected",
                     number_or_null(read->ecc_uncorrected), "clock_reasons",
                     number_or_null(read->clock_reasons));
}

static json_t *
manual_json(const struct card_history *history)
{
    if (history->manual == HEALTH_UNKNOWN)
        return json_null();
    return json_pack("{s:s, s:s}", "health", card_health_text(history->manual),
                     "reason", history->manual_reason);
}

static void
add_policy(json_t *item, const struct granted *granted,
           const struct changes *changes, const struct card *card)
{
    const struct world *world = granted_world(granted);
    struct health_policy policy;
    health_policy_of(&policy, changes,
                     world_parent(world, card->object.parent));
    json_object_set_new(item, "probes", json_integer(policy.probes));
    json_object_set_new(item, "policy", health_policy_json(&policy));
}

int
health_read(const struct granted *granted, struct exchange *exchange,
            struct error *err)
{
    const struct world *world = granted_world(granted);
    struct ref ref = granted_object(granted);
    const struct card *card = world_card(world, ref);
    struct card_history history;
    (void)err;
    card_history_read(&history, card);
    json_t *item = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:b, s:b, s:b, s:b, s:I, s:o, s:o, s:o, "
        "s:o, s:o}",
        "name", card->object.name, "health", card_health_text(card->health),
        "reason", card->health_reason, "since", json_time(card->health_ms),
        "looked", json_time(card->read.looked_ms), "takes_work",
        card_health_is_fit(card), "tolerated", card->tolerated, "stale",
        card->stale, "links_bad", card->links_bad, "clean",
        (json_int_t)history.clean, "manual", manual_json(&history), "readings",
        readings_json(&card->read), "slices", card_history_slices(&history),
        "events", card_history_events(&history),
        "past", card_history_past(&history));
    set_id(item, "id", world, ref);
    set_id(item, "node", world, card->object.parent);
    add_policy(item, granted,
               change_begin(exchange->arena, world,
                            (struct context){granted_now_ms(granted), NULL}),
               card);
    answer_json(&exchange->answer, 200, item);
    return 0;
}

int
health_set(const struct granted *granted, struct changes *changes,
           struct exchange *exchange, struct error *err)
{
    const json_t *body = exchange->body;
    const char *text = json_string_value(json_object_get(body, "health"));
    const char *reason = json_string_value(json_object_get(body, "reason"));
    int health = card_health_parse(text);
    if (health < 0)
        return error_field(err, "/health",
                           "\"%.16s\" is not healthy, suspect, degraded or "
                           "failed",
                           text);
    if (reason[0] == '\0' || strlen(reason) > 120)
        return error_field(err, "/reason", "a reason has 1 to 120 characters");
    return observe_health_set(changes, granted_object(granted), health, reason,
                              err);
}

/* --- impact --- */

static bool
is_ill(const struct card *card)
{
    return card->health != HEALTH_HEALTHY || card->stale || card->links_bad ||
           card->missing || card->ill[0] != '\0';
}

/* A slice that is ill hurts whoever has it, and nobody else. */
static bool
is_hurt(const struct card *card, const struct binding *binding)
{
    return card->stale || card->links_bad || card->missing ||
           card->health == HEALTH_UNKNOWN ||
           observe_health_hurts(card, binding);
}

static const char *
reason_of(const struct card *card)
{
    if (card->missing)
        return "the node does not list the card any more";
    if (card->health != HEALTH_HEALTHY)
        return card->health_reason;
    if (card->ill[0] != '\0')
        return "its slice of the card is ill";
    return card->stale ? "its health was not heard of for too long"
                       : "a link of the card is down";
}

/* Other people than the platform's know the card by the binding alone. */
static json_t *
describe(const struct granted *granted, struct ref ref, const struct card *card)
{
    const struct world *world = granted_world(granted);
    const struct binding *binding = world_binding(world, ref);
    const struct workload *workload = world_workload(world, binding->workload);
    json_t *item = json_pack(
        "{s:s, s:s, s:o, s:s, s:s, s:s, s:o}", "health",
        card_health_text(card->health), "reason", reason_of(card), "since",
        json_time(card->health_ms), "slice", binding->slice, "model",
        card->model, "workload_name",
        workload != NULL ? workload->object.name : "", "from",
        json_time(binding->from_ms));
    set_id(item, "binding", world, ref);
    set_id(item, "instance", world, binding->object.parent);
    set_id(item, "workload", world, binding->workload);
    set_id(item, "project", world, binding->project);
    set_id(item, "tenant", world, world_scope(world, binding->project));
    if (granted_is_platform(granted)) {
        set_id(item, "card", world, binding->card);
        set_id(item, "node", world, card->object.parent);
    }
    return item;
}

static void
add_card(const struct granted *granted, struct ref card, json_t *list)
{
    const struct world *world = granted_world(granted);
    struct ref top = granted_object(granted);
    world_each_index(world, KIND_BINDING, 0, card, ref) {
        const struct binding *binding = world_binding(world, ref);
        if (binding->to_ms == 0 &&
            is_hurt(world_card(world, card), binding) && json_array_size(list) < IMPACT_MAX &&
            world_is_below(world, binding->project, top) &&
            access_visible(granted, ref))
            json_array_append_new(
                list, describe(granted, ref, world_card(world, card)));
    }
}

int
health_impact(const struct granted *granted, struct exchange *exchange,
              struct error *err)
{
    const struct world *world = granted_world(granted);
    json_t *list = json_array();
    (void)err;
    world_each(world, KIND_CARD, card)
        if (is_ill(world_card(world, card)))
            add_card(granted, card, list);
    answer_json(&exchange->answer, 200,
                json_pack("{s:b, s:o}", "complete",
                          json_array_size(list) < IMPACT_MAX, "items", list));
    return 0;
}

/* --- metrics --- */

static void
count_states(struct buffer *out, const struct world *world)
{
    int64_t counts[HEALTH_FAILED + 1] = {0}, stale = 0, links = 0;
    world_each(world, KIND_CARD, ref) {
        const struct card *card = world_card(world, ref);
        counts[card->health]++;
        stale += card->stale;
        links += card->links_bad;
    }
    buffer_add_text(out, "# HELP bulkhead_cards cards by health\n"
                         "# TYPE bulkhead_cards gauge\n");
    for (int health = 0; health <= HEALTH_FAILED; health++)
        buffer_printf(out, "bulkhead_cards{health=\"%s\"} %lld\n",
                      card_health_text(health), (long long)counts[health]);
    buffer_printf(out,
                  "# HELP bulkhead_cards_stale cards whose health nobody has "
                  "told of for too long\n"
                  "# TYPE bulkhead_cards_stale gauge\n"
                  "bulkhead_cards_stale %lld\n"
                  "# HELP bulkhead_cards_links_bad cards with a link down\n"
                  "# TYPE bulkhead_cards_links_bad gauge\n"
                  "bulkhead_cards_links_bad %lld\n",
                  (long long)stale, (long long)links);
}

static const struct {
    const char *name, *help;
    size_t offset;
} measures[] = {
    {"card_temperature_celsius", "of the chip",
     offsetof(struct card_readings, temperature_c)},
    {"card_power_milliwatts", "drawn",
     offsetof(struct card_readings, power_mw)},
    {"card_busy_permille", "time with work on it",
     offsetof(struct card_readings, busy_permille)},
    {"card_memory_used_mib", "by processes",
     offsetof(struct card_readings, memory_used_mib)},
    {"card_ecc_corrected", "memory errors since the driver loaded",
     offsetof(struct card_readings, ecc_corrected)},
    {"card_ecc_uncorrected", "memory errors since the driver loaded",
     offsetof(struct card_readings, ecc_uncorrected)},
};

static void
add_measure(struct buffer *out, const struct world *world, size_t number)
{
    buffer_printf(out, "# HELP bulkhead_%s %s\n# TYPE bulkhead_%s gauge\n",
                  measures[number].name, measures[number].help,
                  measures[number].name);
    world_each(world, KIND_CARD, ref) {
        const struct card *card = world_card(world, ref);
        int64_t value;
        memcpy(&value, (const char *)&card->read + measures[number].offset,
               sizeof value);
        if (card->read.looked_ms != 0 && value >= 0)
            buffer_printf(
                out, "bulkhead_%s{node=\"%s\",card=\"%s\"} %lld\n",
                measures[number].name,
                world_object(world, card->object.parent)->name,
                card->object.name, (long long)value);
    }
}

void
health_metrics(struct buffer *out, const struct world *world)
{
    count_states(out, world);
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
        add_measure(out, world, i);
}
