/* SPDX-License-Identifier: Apache-2.0 */
#include "core/observe_health.h"

#include <stdio.h>
#include <string.h>

#include "core/alarm.h"
#include "core/card_history.h"
#include "core/health_policy.h"
#include "core/lifecycle.h"
#include "core/observe_cards.h"
#include "core/usage.h"

/* A look is fresh while it is younger than a node's lease, or than this. */
#define FRESH_MS 60000

static const struct card *
get_card(const struct changes *changes, struct ref ref)
{
    return change_get(changes, ref);
}

static struct ref
pool_of(const struct changes *changes, struct ref card)
{
    const struct node *node =
        change_get(changes, get_card(changes, card)->object.parent);

    return node != NULL ? node->object.parent : (struct ref){ 0 };
}

/* --- who is on it --- */

static bool
has_slice(const struct card *card, const char *slice)
{
    size_t size = strlen(slice);

    for (const char *at = card->ill; size > 0 && *at != '\0';) {
        size_t here = strcspn(at, " ");

        if (here == size && strncmp(at, slice, size) == 0)
            return true;
        at += here + (at[here] == ' ');
    }
    return false;
}

bool
observe_health_hurts(const struct card *card, const struct binding *binding)
{
    return card->health > HEALTH_HEALTHY || has_slice(card, binding->slice);
}

static void
tell_one(struct changes *changes, struct ref workload, const struct card *card)
{
    const struct workload *present = change_get(changes, workload);

    if (present == NULL || !lifecycle_is_live(present->state))
        return;
    /* A card that became worse is told of anew. */
    alarm_clear(changes, workload, "workload.card");
    if (card->health > HEALTH_HEALTHY)
        alarm_raise(changes, workload, "workload.card",
                    "a card that it runs on is %s: %s",
                    card_health_text(card->health), card->health_reason);
    else
        alarm_raise(changes, workload, "workload.card",
                    "a slice of a card that it runs on is ill");
}

/* Each workload with a live binding on the card. */
static void
each_workload(struct changes *changes, struct ref ref,
              void (*step)(struct changes *changes, struct ref workload,
                           const struct card *card))
{
    world_each_index(changes->world, KIND_BINDING, 0, ref, at) {
        const struct binding *binding = change_get(changes, at);

        if (binding != NULL && binding->to_ms == 0)
            step(changes, binding->workload, get_card(changes, ref));
    }
}

static bool
is_on_ill(const struct changes *changes, struct ref workload)
{
    world_each_child(changes->world, KIND_INSTANCE, workload, instance)
        world_each_child(changes->world, KIND_BINDING, instance, at) {
            const struct binding *binding = change_get(changes, at);
            const struct card *card =
                binding != NULL && binding->to_ms == 0
                    ? get_card(changes, binding->card)
                    : NULL;

            if (card != NULL && observe_health_hurts(card, binding))
                return true;
        }
    return false;
}

void
observe_health_left(struct changes *changes, struct ref workload)
{
    if (change_get(changes, workload) != NULL &&
        !is_on_ill(changes, workload))
        alarm_clear(changes, workload, "workload.card");
}

static void
calm_one(struct changes *changes, struct ref workload, const struct card *card)
{
    (void)card;
    observe_health_left(changes, workload);
}

static void
drain_one(struct changes *changes, struct ref workload, const struct card *card)
{
    (void)card;
    lifecycle_stop(changes, workload, WORKLOAD_PREEMPTING, "card-health",
                   "{\"rule\":\"card-health\"}");
}

/* --- what is done in a state --- */

static void
alarm_health(struct changes *changes, struct ref ref)
{
    const struct card *card = get_card(changes, ref);

    alarm_clear(changes, ref, "card.health");
    if (card->health != HEALTH_HEALTHY)
        alarm_raise(changes, ref, "card.health", "the card is %s: %s",
                    card_health_text(card->health),
                    card->health_reason[0] != '\0' ? card->health_reason
                                                   : "no reason given");
}

/* A free card waits for a scrub, which resets it; one in use does so anyhow
 * when it is given back. */
static void
ask_reset(struct changes *changes, struct ref ref)
{
    const struct card *card = get_card(changes, ref);

    if (card->used_milli == 0 && card->handover == HANDOVER_CLEAN)
        ((struct card *)change_update(changes, ref))->handover =
            HANDOVER_PENDING;
}

static void
act(struct changes *changes, struct ref ref, const struct health_rule *rule)
{
    const struct card *card = get_card(changes, ref);

    if (card->health == HEALTH_FAILED)
        lifecycle_card_failed(changes, ref);
    if (rule->running == HEALTH_DRAIN)
        each_workload(changes, ref, drain_one);
    if (rule->notify)
        each_workload(changes, ref, tell_one);
    if (card->health == HEALTH_HEALTHY)
        each_workload(changes, ref, calm_one);
    if (rule->reset)
        ask_reset(changes, ref);
    if (rule->workorder)
        alarm_raise(changes, ref, "card.workorder",
                    "open a work order for the card: %s", card->health_reason);
    else
        alarm_clear(changes, ref, "card.workorder");
}

/* --- the card from its history --- */

static const struct health_rule *
rule_of(const struct health_policy *policy, int health)
{
    return &policy->rules[health >= 0 && health <= HEALTH_FAILED
                              ? health
                              : HEALTH_UNKNOWN];
}

static void
alarm_links(struct changes *changes, struct ref ref)
{
    if (get_card(changes, ref)->links_bad)
        alarm_raise(changes, ref, "card.links",
                    "a link of the card is down: work on several cards does "
                    "not start on it");
    else
        alarm_clear(changes, ref, "card.links");
}

/* The members that placement and metering look at. */
static void
put_state(struct changes *changes, struct ref ref, int health,
          const char *reason, const struct health_policy *policy)
{
    const struct health_rule *rule = rule_of(policy, health);
    bool tolerated = health != HEALTH_HEALTHY && rule->takes_work;
    const char *shown = health == HEALTH_HEALTHY ? "" : reason;
    const struct card *old = get_card(changes, ref);
    bool other = old->health != health;
    struct card *card;

    if (!other && old->tolerated == tolerated &&
        strcmp(old->health_reason, shown) == 0)
        return;
    usage_cut(changes, ref);
    card = change_update(changes, ref);
    if (other)
        card->health_ms = changes->context.now_ms;
    card->health = health;
    card->tolerated = tolerated;
    (void)snprintf(card->health_reason, sizeof(card->health_reason), "%.127s",
                   shown);
    alarm_health(changes, ref);
    if (other)
        act(changes, ref, rule);
}

static void
list_slices(const struct card_history *health, char out[TEXT_MAX_SIZE])
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < health->slice_count && used + 42 < TEXT_MAX_SIZE;
         i++)
        used += (size_t)snprintf(out + used, TEXT_MAX_SIZE - used, "%s%s",
                                 used > 0 ? " " : "", health->slices[i].name);
}

/* Its owner alone hears of it, and the policy for its state acts on it. */
static void
act_slice(struct changes *changes, struct ref ref,
          const struct card_health_slice *slice,
          const struct health_policy *policy)
{
    const struct health_rule *rule = rule_of(policy, slice->health);

    world_each_index(changes->world, KIND_BINDING, 0, ref, at) {
        const struct binding *binding = change_get(changes, at);

        if (binding == NULL || binding->to_ms != 0 ||
            strcmp(binding->slice, slice->name) != 0)
            continue;
        if (rule->notify)
            tell_one(changes, binding->workload, get_card(changes, ref));
        if (rule->running == HEALTH_DRAIN)
            drain_one(changes, binding->workload, get_card(changes, ref));
    }
}

static void
put_slices(struct changes *changes, struct ref ref,
           const struct card_history *health,
           const struct health_policy *policy)
{
    char ill[TEXT_MAX_SIZE];

    list_slices(health, ill);
    if (strcmp(get_card(changes, ref)->ill, ill) == 0)
        return;
    memcpy(((struct card *)change_update(changes, ref))->ill, ill,
           sizeof(ill));
    alarm_clear(changes, ref, "card.slices");
    if (ill[0] != '\0')
        alarm_raise(changes, ref, "card.slices",
                    "slices of the card are ill: %s", ill);
    for (size_t i = 0; i < health->slice_count; i++)
        act_slice(changes, ref, &health->slices[i], policy);
    if (ill[0] == '\0')
        each_workload(changes, ref, calm_one);
}

static void
put_history(struct changes *changes, struct ref ref,
            const struct card_history *health,
            const struct health_policy *policy)
{
    scoped_buffer text = { 0 };
    const struct card *old = get_card(changes, ref);

    card_history_write(&text, health);
    if (old->heard == NULL || strcmp(old->heard->bytes, text.bytes) != 0)
        change_doc(changes,
                   &((struct card *)change_update(changes, ref))->heard,
                   text.bytes);
    if (old->links_bad != health->links) {
        ((struct card *)change_update(changes, ref))->links_bad =
            health->links;
        alarm_links(changes, ref);
    }
    put_state(changes, ref, health->health, health->reason, policy);
    put_slices(changes, ref, health, policy);
}

/* --- looks --- */

static struct card_event
event_of(const struct report_event *fact)
{
    return (struct card_event){
        .xid = { .number = fact->xid,
                 .pid = fact->pid,
                 .instance = fact->instance,
                 .has_words = fact->has_words,
                 .word = (uint32_t)fact->word,
                 .status = (uint32_t)fact->status },
        .first_ms = fact->first_ms,
        .last_ms = fact->last_ms,
        .count = fact->count,
        .slice = fact->slice,
    };
}

static bool
is_fresh(const struct changes *changes, const struct report_look *look)
{
    const struct platform *platform =
        change_get(changes, world_platform_ref(changes->world));
    int64_t lease_ms = platform != NULL ? platform->lease_ms : 0;

    return look->age_ms >= 0 && look->health != REPORT_UNKNOWN &&
           look->age_ms < (lease_ms > 0 ? lease_ms : FRESH_MS);
}

static void
refresh(struct changes *changes, struct ref ref)
{
    if (!get_card(changes, ref)->stale)
        return;
    usage_cut(changes, ref);
    ((struct card *)change_update(changes, ref))->stale = false;
    alarm_clear(changes, ref, "card.stale");
}

static void
take_look(struct changes *changes, struct ref ref,
          const struct report_look *look, bool blind)
{
    struct health_policy policy;
    struct card_history health;
    int64_t now_ms = changes->context.now_ms;

    health_policy_of(&policy, changes, pool_of(changes, ref));
    card_history_read(&health, get_card(changes, ref));
    for (size_t i = 0; i < look->event_count; i++) {
        const struct card_event event = event_of(&look->events[i]);

        (void)card_health_heard(&health, &event, now_ms);
    }
    if (!blind)
        card_health_look(&health,
                         &(struct card_look){ (int)look->health,
                                              look->health_reason,
                                              look->asks_nothing,
                                              look->has_rows, look->clean },
                         policy.probes, now_ms);
    if (!get_card(changes, ref)->looked)
        ((struct card *)change_update(changes, ref))->looked = true;
    put_history(changes, ref, &health, &policy);
    if (!blind && is_fresh(changes, look))
        refresh(changes, ref);
}

bool
observe_health_blind(struct changes *changes, struct ref node, size_t cards,
                     size_t unseen, const char *reason)
{
    bool blind = cards > 1 && unseen == cards;

    if (blind)
        alarm_raise(changes, node, "node.blind",
                    "the node sees none of its %zu cards: %s; that is the "
                    "driver's fault or the agent's, not theirs",
                    cards, reason[0] != '\0' ? reason : "no reason given");
    else if (cards > unseen)
        alarm_clear(changes, node, "node.blind");
    return blind;
}

size_t
observe_health_looks(struct changes *changes, struct ref node,
                     const struct report *report)
{
    size_t refused = 0;
    size_t unseen = 0;
    const char *reason = "";
    bool blind;

    if (report->look_count == 0)
        return 0;
    for (size_t i = 0; i < report->look_count; i++)
        if (report->looks[i].health == REPORT_UNKNOWN) {
            reason = report->looks[i].health_reason;
            unseen++;
        }
    blind = observe_health_blind(changes, node, report->look_count, unseen,
                                 reason);
    for (size_t i = 0; i < report->look_count; i++) {
        struct ref ref = observe_cards_find(changes, node, report->looks[i].uuid);

        /* One that its inventory has not told of yet says nothing. */
        if (ref_is_none(ref) || get_card(changes, ref)->missing)
            refused++;
        else
            take_look(changes, ref, &report->looks[i], blind);
    }
    return refused;
}

/* --- others' words --- */

void
observe_health_said(struct changes *changes, struct ref card, int health,
                    const char *reason)
{
    const struct card_look look = { .health = health,
                                    .reason = reason,
                                    .clean = CARD_HEALTH_CLEAN_MAX };
    struct health_policy policy;
    struct card_history history;

    if (get_card(changes, card)->looked)
        return;
    health_policy_of(&policy, changes, pool_of(changes, card));
    if (get_card(changes, card)->heard == NULL) {
        put_state(changes, card, health, reason, &policy);
        return;
    }
    card_history_read(&history, get_card(changes, card));
    card_health_look(&history, &look, policy.probes, changes->context.now_ms);
    put_history(changes, card, &history, &policy);
}

void
observe_health_stale(struct changes *changes, struct ref card)
{
    if (get_card(changes, card)->stale)
        return;
    usage_cut(changes, card);
    ((struct card *)change_update(changes, card))->stale = true;
    alarm_raise(changes, card, "card.stale",
                "the node has told nothing of the card's health for too long: "
                "it takes no work until it does");
}

void
observe_health_reset(struct changes *changes, struct ref card)
{
    struct health_policy policy;
    struct card_history health;

    if (get_card(changes, card)->heard == NULL)
        return;
    health_policy_of(&policy, changes, pool_of(changes, card));
    card_history_read(&health, get_card(changes, card));
    card_health_reset(&health, changes->context.now_ms);
    put_history(changes, card, &health, &policy);
}

int
observe_health_set(struct changes *changes, struct ref card, int health,
                   const char *reason, struct error *err)
{
    struct health_policy policy;
    struct card_history history;

    if (health == HEALTH_UNKNOWN)
        return error_field(err, "/health",
                           "a person says healthy, suspect, degraded or "
                           "failed; unknown is what nobody has looked at");
    health_policy_of(&policy, changes, pool_of(changes, card));
    card_history_read(&history, get_card(changes, card));
    card_health_set(&history, health, reason, changes->context.now_ms);
    if (health == HEALTH_HEALTHY && history.health > HEALTH_HEALTHY) {
        (void)error_set(err, ERROR_CONFLICT, "the card itself says: %s",
                        history.reason);
        return error_help(err, "Reset or replace it: what it says of itself "
                               "ends when it no longer says so.");
    }
    put_history(changes, card, &history, &policy);
    return 0;
}

void
observe_health_policy(struct changes *changes, struct ref pool)
{
    world_each(changes->world, KIND_CARD, ref) {
        const struct card *card = get_card(changes, ref);
        struct health_policy policy;

        if (card == NULL || (!ref_is_none(pool) &&
                             !ref_equal(pool_of(changes, ref), pool)))
            continue;
        health_policy_of(&policy, changes, pool_of(changes, ref));
        put_state(changes, ref, card->health, card->health_reason, &policy);
    }
}
