/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules.h"

#include <string.h>

#include "core/governance.h"
#include "core/health_policy.h"
#include "core/observe_health.h"
#include "core/usage.h"

/* What the platform owns: pools, nodes, cards, classes, priorities, prices. */

#define JOIN_DEFAULT_MS (3600 * INT64_C(1000))
#define JOIN_LONGEST_MS (24 * 3600 * INT64_C(1000))

void
rules_cut_node(struct changes *changes, struct ref ref)
{
    usage_cut_node(changes, ref);
}

void
rules_cut_card(struct changes *changes, struct ref ref)
{
    usage_cut(changes, ref);
}

/* --- pools --- */

static int
check_pool(const struct pool *pool, struct error *err)
{
    if (pool->kind == POOL_SHARED &&
        (pool->tenants != NULL || pool->lend || pool->overflow))
        return error_field(err, "/kind",
                           "tenants, lend and overflow are for dedicated "
                           "pools");
    if (pool->interference_milli > 0 && pool->interference_milli < 1050)
        return error_field(err, "/interference_milli",
                           "field \"interference_milli\" must be 1050 or "
                           "more (1000 is as alone), or 0 for the standard");
    if (pool->defrag == DEFRAG_AUTO && pool->defrag_moves == 0)
        return error_field(err, "/defrag_moves",
                           "defrag is auto and defrag_moves is 0: say how many "
                           "workloads may be moved in an hour, or take advise");
    return health_policy_check(pool->health, err);
}

int
rules_create_pool(const struct edit *edit, void *image, struct error *err)
{
    struct pool *pool = image;

    if (rules_settle_list(edit, &pool->tenants, KIND_TENANT, "tenants",
                          err) != 0)
        return -1;
    return check_pool(pool, err);
}

int
rules_update_pool(const struct edit *edit, const void *before, void *image,
                  struct error *err)
{
    const struct pool *pool = image;

    (void)before;
    if (rules_create_pool(edit, image, err) != 0)
        return -1;
    if (edit_names(edit, "health"))
        observe_health_policy(edit->changes, pool->object.self);
    return 0;
}

int
rules_delete_pool(const struct edit *edit, struct ref ref, struct error *err)
{
    struct blockers blockers = { 0 };

    rules_block_children(edit, &blockers, KIND_NODE, ref);
    rules_block_work(edit, &blockers, ref);
    if (rules_blocked(&blockers, err) != 0)
        return -1;
    world_each(edit->world, KIND_BOOKING, at)
        if (ref_equal(world_booking(edit->world, at)->pool, ref))
            rules_drop(edit->changes, at);
    rules_drop_children(edit->changes, KIND_JOINTOKEN, ref);
    rules_drop_children(edit->changes, KIND_MAINTENANCE, ref);
    return 0;
}

int
rules_create_jointoken(const struct edit *edit, void *image,
                       struct error *err)
{
    struct jointoken *token = image;

    if (token->expires_ms == 0)
        token->expires_ms = edit->now_ms + JOIN_DEFAULT_MS;
    if (token->expires_ms <= edit->now_ms ||
        token->expires_ms > edit->now_ms + JOIN_LONGEST_MS)
        return error_field(err, "/expires_ms",
                           "a join token is valid for at most 24 hours from "
                           "now");
    return 0;
}

/* --- nodes and cards --- */

/* The lease decides about lost nodes, in both directions. */
int
rules_update_node(const struct edit *edit, const void *before, void *image,
                  struct error *err)
{
    const struct node *old = before;
    struct node *node = image;

    (void)edit;
    if (node->state == old->state)
        return 0;
    /* Whoever sets it by hand takes it out of its planned maintenance. */
    node->maintenance = (struct ref){ 0 };
    node->maintenance_resume = NODE_SCHEDULABLE;
    if (node->state == NODE_LOST)
        return error_field(err, "/state",
                           "a node is lost when its lease is over, not "
                           "because somebody says so");
    if (old->state == NODE_LOST)
        return error_set(err, ERROR_CONFLICT,
                         "the node is lost until its agent is heard again");
    return 0;
}

/* What has ended there is history: it leaves the memory, not the store. */
static void
evict_ended(struct changes *changes, struct ref node)
{
    world_each_index(changes->world, KIND_INSTANCE, 0, node, instance) {
        world_each_child(changes->world, KIND_BINDING, instance, binding)
            change_evict(changes, binding);
        change_evict(changes, instance);
    }
}

int
rules_delete_node(const struct edit *edit, struct ref ref, struct error *err)
{
    struct blockers blockers = { 0 };

    world_each_index(edit->world, KIND_INSTANCE, 0, ref, at)
        rules_block(edit, &blockers, at);
    world_each_index(edit->world, KIND_VOLUME, 0, ref, at)
        rules_block(edit, &blockers, at);
    world_each_child(edit->world, KIND_CARD, ref, card)
        world_each_index(edit->world, KIND_HOLD, 0, card, at)
            rules_block(edit, &blockers, world_parent(edit->world, at));
    if (rules_blocked(&blockers, err) != 0)
        return -1;
    evict_ended(edit->changes, ref);
    world_each_child(edit->world, KIND_CARD, ref, card) {
        world_each_index(edit->world, KIND_BOOKING, 0, card, at)
            rules_drop_children(edit->changes, KIND_BOOKING,
                                world_parent(edit->world, at));
        rules_drop_children(edit->changes, KIND_ALARM, card);
    }
    rules_drop_children(edit->changes, KIND_CARD, ref);
    rules_drop_children(edit->changes, KIND_MAINTENANCE, ref);
    return 0;
}

/* A person's word is kept apart from what the card says. */
static int
set_health(const struct edit *edit, const struct card *old, struct card *card,
           struct error *err)
{
    char reason[sizeof(card->health_reason)];
    int health = card->health;

    if (!edit_has(edit, "health_reason"))
        return error_field(err, "/health_reason",
                           "a verdict set by hand needs its reason");
    memcpy(reason, card->health_reason, sizeof(reason));
    memcpy(card->health_reason, old->health_reason, sizeof(reason));
    card->health = old->health;
    return observe_health_set(edit->changes, card->object.self, health, reason,
                              err);
}

/* An operator's word about slices that the platform did not make: the scrub
 * that ends them takes the whole card. */
static int
clear_foreign(const struct card *old, struct card *card, struct error *err)
{
    if (old->foreign_slices[0] == '\0')
        return error_field(err, "/clear_foreign",
                           "there are no slices on the card that the platform "
                           "did not make");
    if (old->used_milli > 0) {
        (void)error_set(err, ERROR_CONFLICT,
                        "the card is in use: %lld milli-cards are bound",
                        (long long)old->used_milli);
        return error_help(err, "The scrub takes the whole card: cordon its "
                               "node and let the work end first.");
    }
    card->handover = HANDOVER_PENDING;
    return 0;
}

/* Only a scrub makes a card clean; a person can ask for one. */
int
rules_update_card(const struct edit *edit, const void *before, void *image,
                  struct error *err)
{
    const struct card *old = before;
    struct card *card = image;

    if (card->handover != old->handover &&
        card->handover != HANDOVER_PENDING)
        return error_field(err, "/handover",
                           "a handover can only be asked for again "
                           "(pending): a scrub decides it");
    if (card->handover != old->handover && old->used_milli > 0)
        return error_set(err, ERROR_CONFLICT,
                         "the card is in use: %lld milli-cards are bound",
                         (long long)old->used_milli);
    if (card->clear_foreign && !old->clear_foreign &&
        clear_foreign(old, card, err) != 0)
        return -1;
    if (!edit_has(edit, "health") && !edit_has(edit, "health_reason"))
        return 0;
    return set_health(edit, old, card, err);
}

int
rules_update_platform(const struct edit *edit, const void *before, void *image,
                      struct error *err)
{
    const struct platform *platform = image;

    if (!edit_names(edit, "health"))
        return 0;
    (void)before;
    if (health_policy_check(platform->health, err) != 0)
        return -1;
    observe_health_policy(edit->changes, (struct ref){ 0 });
    return 0;
}

/* --- priorities --- */

/* Preempting across tenants is a right of its own, with its own guard. */
static int
check_across(const struct edit *edit, const struct priority *priority,
             struct ref node, struct error *err)
{
    struct granted across;

    if (!priority->preempt_across)
        return 0;
    return access_decide(edit->world, edit->actor, VERB_PRIORITY_ACROSS, node,
                         edit->now_ms, &across, err);
}

static int
check_lists(const struct edit *edit, const struct priority *priority,
            struct error *err)
{
    const struct world *world = edit->world;

    if (governance_check_list(world, priority->roles, "/roles", NULL, err) !=
        0)
        return -1;
    if (governance_check_list(world, priority->project_classes,
                              "/project_classes",
                              schema_field(KIND_PROJECT, "class")->names,
                              err) != 0)
        return -1;
    return governance_check_list(world, priority->kinds, "/kinds",
                                 schema_field(KIND_WORKLOAD, "kind")->names,
                                 err);
}

int
rules_create_priority(const struct edit *edit, void *image, struct error *err)
{
    const struct priority *priority = image;

    if (check_lists(edit, priority, err) != 0)
        return -1;
    return check_across(edit, priority, priority->object.parent, err);
}

int
rules_update_priority(const struct edit *edit, const void *before,
                      void *image, struct error *err)
{
    const struct priority *old = before;
    const struct priority *priority = image;

    if (check_lists(edit, priority, err) != 0)
        return -1;
    if (old->preempt_across && old->value == priority->value)
        return 0;
    return check_across(edit, priority, priority->object.parent, err);
}

int
rules_delete_priority(const struct edit *edit, struct ref ref,
                      struct error *err)
{
    struct blockers blockers = { 0 };

    rules_block_work(edit, &blockers, ref);
    return rules_blocked(&blockers, err);
}

/* --- prices --- */

static bool
overlaps(const struct price *a, const struct price *b)
{
    return a->meter == b->meter && ref_equal(a->tenant, b->tenant) &&
           strcmp(a->model, b->model) == 0 &&
           (a->to_ms == 0 || b->from_ms < a->to_ms) &&
           (b->to_ms == 0 || a->from_ms < b->to_ms);
}

static int
check_price(const struct edit *edit, const struct price *price,
            struct error *err)
{
    char id[ID_TEXT_MAX];

    if (price->to_ms != 0 && price->to_ms <= price->from_ms)
        return error_field(err, "/to_ms", "a price ends after it begins");
    world_each(edit->world, KIND_PRICE, ref) {
        const struct price *other = world_price(edit->world, ref);

        if (ref_equal(ref, price->object.self) || !overlaps(price, other))
            continue;
        object_id_text(edit->world, ref, id);
        return error_set(err, ERROR_CONFLICT,
                         "price %s is in force for a part of that time", id);
    }
    return 0;
}

int
rules_create_price(const struct edit *edit, void *image, struct error *err)
{
    struct price *price = image;

    if (price->from_ms == 0)
        price->from_ms = edit->now_ms;
    if (price->from_ms < edit->now_ms)
        return error_field(err, "/from_ms",
                           "a price begins now or later: what was used is "
                           "charged as it was");
    return check_price(edit, price, err);
}

int
rules_update_price(const struct edit *edit, const void *before, void *image,
                   struct error *err)
{
    const struct price *old = before;
    const struct price *price = image;

    if (old->to_ms != 0 && old->to_ms <= edit->now_ms)
        return error_set(err, ERROR_CONFLICT, "the price has ended");
    if (price->to_ms != 0 && price->to_ms < edit->now_ms)
        return error_field(err, "/to_ms", "a price ends now or later");
    return check_price(edit, price, err);
}

int
rules_delete_price(const struct edit *edit, struct ref ref, struct error *err)
{
    const struct price *price = world_price(edit->world, ref);

    if (price->from_ms > edit->now_ms)
        return 0;
    return error_set(err, ERROR_CONFLICT,
                     "the price is or was in force; set its end instead");
}
