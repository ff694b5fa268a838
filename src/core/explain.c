/* SPDX-License-Identifier: Apache-2.0 */
#include "core/explain.h"

#include <inttypes.h>
#include <string.h>

#include "core/alternative.h"
#include "core/change.h"
#include "core/gate.h"
#include "core/grow.h"
#include "core/lifecycle.h"
#include "core/object.h"
#include "core/queue.h"
#include "core/shortage.h"
#include "core/want.h"

/* Limits that are raised one after the other in a trial. */
#define RAISES_MAX 8

/* One trial: a copy of the world that changes are tried on. */
struct trial {
    struct world *world;
    struct arena *arena;
    int64_t now_ms;
    struct id_source ids;
    struct ref workload;
};

static json_t *
number(int64_t value)
{
    return json_integer((json_int_t)value);
}

static void
put(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

static void
put_id(json_t *object, const char *key, const struct world *world,
       struct ref ref)
{
    char id[ID_TEXT_MAX];

    if (ref_is_none(ref))
        return;
    object_id_text(world, ref, id);
    put(object, key, json_string(id));
}

/* --- the quotas on the way up --- */

static json_t *
quota_json(const struct world *world, const struct quota *quota,
           const struct demand *demand, int64_t now_ms)
{
    char node[NAME_MAX_SIZE + 16];
    const struct field *field = schema_field(KIND_QUOTA, "dimension");
    json_t *json = json_object();
    int64_t limit = quota_limit_at(world, quota, now_ms);

    put(json, "node",
        json_string(reason_node(node, world, quota->object.parent)));
    put(json, "dimension", json_string(field->names[quota->dimension]));
    put_id(json, "quota", world, quota->object.self);
    put_id(json, "pool", world, quota->pool);
    put_id(json, "class", world, quota->class);
    if (quota->vendor[0] != '\0')
        put(json, "vendor", json_string(quota->vendor));
    if (quota->model[0] != '\0')
        put(json, "model", json_string(quota->model));
    put_id(json, "user", world, quota->user);
    put(json, "need", number(quota_need(world, quota, demand)));
    put(json, "guaranteed",
        number(quota_guaranteed(world, quota, now_ms)));
    if (quota_is_raised(quota, now_ms))
        put(json, "raised_until_ms", json_time(quota->raised_until_ms));
    put(json, "limit", limit == AMOUNT_NONE ? json_null() : number(limit));
    /* The use of the whole platform is not told. */
    if (quota->object.parent.kind != KIND_PLATFORM)
        put(json, "used",
            number(quota_used(world, quota, now_ms)));
    return json;
}

static json_t *
quotas_json(const struct world *world, const struct workload *workload,
            const struct demand *demand, int64_t now_ms)
{
    json_t *list = json_array();

    for (struct ref node = workload->object.parent; !ref_is_none(node);
         node = world_parent(world, node))
        world_each_child(world, KIND_QUOTA, node, ref) {
            const struct quota *quota = world_quota(world, ref);

            if (quota_need(world, quota, demand) > 0)
                json_array_append_new(
                    list, quota_json(world, quota, demand, now_ms));
        }
    return list;
}

/* --- the pools --- */

static json_t *
filters_json(const struct place_tally *tally)
{
    json_t *list = json_array();

    for (int i = 0; i < FILTER_COUNT; i++) {
        json_t *filter;

        if (tally->out_nodes[i] == 0 && tally->out_cards[i] == 0)
            continue;
        filter = json_object();
        put(filter, "filter",
            json_string(place_filter_text((enum place_filter)i)));
        put(filter, "nodes", number(tally->out_nodes[i]));
        put(filter, "cards", number(tally->out_cards[i]));
        json_array_append_new(list, filter);
    }
    return list;
}

static void
put_verdict(json_t *json, const struct world *world,
            const struct verdict *verdict)
{
    const struct field *field = schema_field(KIND_WORKLOAD, "reason");

    put(json, "reason", json_string(field->names[verdict->reason]));
    put(json, "text", json_string(verdict->text));
    put(json, "need", number(verdict->need));
    put(json, "have", number(verdict->have));
    put(json, "limit", verdict->limit == AMOUNT_NONE ? json_null()
                                                     : number(verdict->limit));
    put(json, "never", json_boolean(verdict->state == WORKLOAD_REJECTED));
    put_id(json, "quota", world, verdict->quota);
}

static json_t *
pool_json(struct estate *estate, struct gate *gate,
          const struct workload *workload, struct ref pool,
          struct arena *arena)
{
    const struct pool *at = world_pool(estate->world, pool);
    json_t *json = json_object();
    struct place_request request;
    struct place_tally tally;
    struct placement placement;
    struct verdict verdict;
    struct demand demand;
    bool open, placed;

    open = gate_check_pool(gate, workload, pool, &demand, &verdict);
    gate_request(gate, workload, &demand, &request);
    placed = place_find(estate, &request, PLACE_NOW, arena, &placement,
                        &tally);
    put(json, "pool", json_string(at->object.name));
    put(json, "class",
        json_string(world_object(estate->world, workload->class)->name));
    put(json, "starts", json_boolean(open && placed));
    if (open && !placed)
        shortage_say(estate->world, &request, &tally, &verdict);
    if (!open || !placed)
        put_verdict(json, estate->world, &verdict);
    put(json, "nodes", number(tally.nodes));
    put(json, "cards", number(tally.cards));
    put(json, "free", number(tally.free));
    put(json, "largest", number(tally.largest));
    put(json, "fit", number(tally.fit));
    put(json, "filters", filters_json(&tally));
    put(json, "quotas",
        quotas_json(estate->world, workload, &demand, gate->now_ms));
    return json;
}

/* --- what would help, tried --- */

static struct changes *
trial_begin(struct trial *trial)
{
    return change_begin(trial->arena, trial->world,
                        (struct context){ trial->now_ms, &trial->ids });
}

/* Where it came closest to a start. */
struct spot {
    struct ref pool, class;
};

/* Does it start with its one class? */
static bool
trial_starts_with(struct trial *trial, struct estate *estate,
                  const struct workload *workload, struct verdict *verdict,
                  struct spot *spot_out)
{
    struct ref pools[GATE_POOLS_MAX];
    size_t count =
        gate_pools(trial->world, workload, pools, GATE_POOLS_MAX);
    struct gate gate;
    bool said = false;

    gate_init(&gate, trial->world, NULL, trial->now_ms, trial->arena);
    verdict_set(verdict, WORKLOAD_GATED, REASON_POLICY, "no pool");
    if (!gate_check_policy(&gate, workload, verdict))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct place_request request;
        struct place_tally tally;
        struct placement placement;
        struct verdict closed;
        struct demand demand;

        if (!gate_check_pool(&gate, workload, pools[i], &demand, &closed)) {
            if (!said && (i == 0 || gate_is_nearer(&closed, verdict)))
                *verdict = closed;
            continue;
        }
        *spot_out = (struct spot){ pools[i], workload->class };
        gate_request(&gate, workload, &demand, &request);
        if (place_find(estate, &request, PLACE_NOW, trial->arena, &placement,
                       &tally))
            return true;
        shortage_say(trial->world, &request, &tally, verdict);
        said = true;
    }
    return false;
}

/* Does it start in the trial's world, alone in the queue?  With none of its
 * classes: the nearest verdict, and the place of it. */
static bool
trial_starts(struct trial *trial, struct verdict *verdict,
             struct spot *spot_out)
{
    struct estate *estate =
        estate_new(trial->arena, trial->world, trial->now_ms);
    size_t count;
    const struct workload *copies = alternative_copies(
        trial->world, world_workload(trial->world, trial->workload),
        trial->arena, &count);
    struct verdict verdicts[ALTERNATIVE_MAX];
    size_t nearest;

    estate_own(estate, trial->workload, true);
    for (size_t i = 0; i < count; i++) {
        struct spot spot = { 0 };

        if (trial_starts_with(trial, estate, &copies[i], &verdicts[i], &spot))
            return true;
        if (i == 0 || ref_is_none(spot_out->pool))
            *spot_out = spot;
    }
    nearest = alternative_nearest(verdicts, count);
    *verdict = verdicts[nearest];
    return false;
}

/* Raises the limit (and guarantee, when that binds) that is named. */
static bool
trial_raise(struct trial *trial, const struct verdict *verdict, json_t *list)
{
    const struct quota *present = world_quota(trial->world, verdict->quota);
    char node[NAME_MAX_SIZE + 16], amount[REASON_AMOUNT_MAX],
        text[TEXT_MAX_SIZE];
    struct changes *changes;
    struct quota *quota;
    bool platform;

    if (present == NULL)
        return false;
    platform = present->object.parent.kind == KIND_PLATFORM;
    changes = trial_begin(trial);
    quota = change_update(changes, verdict->quota);
    if (verdict->limit == present->guaranteed &&
        verdict->limit != quota_limit(trial->world, present))
        quota->guaranteed = verdict->have + verdict->need;
    if (quota_limit(trial->world, present) != AMOUNT_NONE)
        quota->limit = (platform ? present->used : verdict->have) +
                       verdict->need;
    (void)snprintf(text, sizeof(text), "the quota for %s of %s raised to %s",
                   reason_dimension(quota->dimension),
                   reason_node(node, trial->world, quota->object.parent),
                   platform ? "hold it"
                            : reason_amount(amount, quota->dimension,
                                            verdict->have + verdict->need));
    json_array_append_new(list, json_string(text));
    world_apply(trial->world, changes);
    return true;
}

/* Shares of the class that one card holds. */
static int64_t
shares_for(const struct class *class)
{
    return class->form == FORM_WHOLE ? 1 : 1000 / class->milli;
}

/* Memory of a card for all of them. */
static int64_t
memory_for(const struct class *class)
{
    int64_t memory_mib = class->memory_mib * shares_for(class);

    return class->min_memory_mib > memory_mib ? class->min_memory_mib
                                              : memory_mib;
}

/* Puts a node with such cards into the pool. */
static void
trial_add_cards(struct trial *trial, const struct spot *spot, int64_t cards,
                int64_t number)
{
    char node_name[NAME_MAX_SIZE];
    const struct workload *workload =
        world_workload(trial->world, trial->workload);
    const struct class *class = world_class(trial->world, spot->class);
    struct need list[REQUIRE_MAX];
    scoped_buffer facts = { 0 };
    uint64_t digest;
    size_t needs;
    struct changes *changes = trial_begin(trial);
    struct node *node;
    struct ref ref;

    needs = require_list(trial->world, workload, true, list, &digest);
    (void)snprintf(node_name, sizeof(node_name), "what-if-node%" PRId64,
                   number);
    node = change_create(changes, KIND_NODE, spot->pool, node_name);
    ref = node->object.self;
    node->cpu_milli = workload->cpu_milli * workload->instances;
    node->memory_mib = workload->memory_mib * workload->instances;
    for (int64_t i = 0; i < cards; i++) {
        char name[NAME_MAX_SIZE];
        struct card *card;

        (void)snprintf(name, sizeof(name), "card%" PRId64, i);
        card = change_create(changes, KIND_CARD, ref, name);
        memcpy(card->vendor, class->vendor, sizeof(card->vendor));
        memcpy(card->model, class->model, sizeof(card->model));
        (void)snprintf(card->island, sizeof(card->island), "what-if");
        (void)snprintf(card->bus, sizeof(card->bus), "what-if");
        card->health = HEALTH_HEALTHY;
        card->memory_mib = memory_for(class);
        buffer_clear(&facts);
        require_fulfil(list, needs, &facts, card);
    }
    change_doc(changes, &node->facts, buffer_text(&facts));
    world_apply(trial->world, changes);
    world_touch_node(trial->world, ref, trial->now_ms);
}

/* Cards of a share class: so many that all its shares fit. */
static int64_t
cards_for(const struct class *class, int64_t instances)
{
    int64_t per_card = shares_for(class);

    if (class->form == FORM_WHOLE)
        return class->count * instances;
    return (instances + per_card - 1) / per_card;
}

/* Kept apart, each of the missing needs a node of its own at most. */
static bool
trial_add_nodes(struct trial *trial, const struct verdict *verdict,
                const struct spot *spot, json_t *list)
{
    const struct class *class = world_class(trial->world, spot->class);
    int64_t missing = verdict->need - verdict->have;
    int64_t cards = cards_for(class, 1);
    struct trial grown = *trial;
    struct spot ignored = { 0 };
    struct verdict after;
    char text[TEXT_MAX_SIZE];
    bool starts;

    grown.world = world_clone(trial->world);
    for (int64_t i = 0; i < missing && i < RAISES_MAX * 4; i++)
        trial_add_cards(&grown, spot, cards, i);
    starts = trial_starts(&grown, &after, &ignored);
    world_free(grown.world);
    (void)snprintf(text, sizeof(text),
                   "%" PRId64 " more node%s with %" PRId64
                   " free card%s of class %s each in pool %s",
                   missing, missing == 1 ? "" : "s", cards,
                   cards == 1 ? "" : "s", class->object.name,
                   world_pool(trial->world, spot->pool)->object.name);
    json_array_append_new(list, json_string(text));
    return starts;
}

/* Tries the missing cards first, then a node that holds all. */
static bool
trial_grow(struct trial *trial, const struct verdict *verdict,
           const struct spot *spot, json_t *list)
{
    const struct workload *workload =
        world_workload(trial->world, trial->workload);
    const struct class *class = world_class(trial->world, spot->class);
    int64_t all = cards_for(class, workload->instances);
    int64_t missing = class->form == FORM_WHOLE && verdict->need > verdict->have
                          ? verdict->need - verdict->have
                          : all;
    const struct pool *at = world_pool(trial->world, spot->pool);
    struct verdict after;
    char text[TEXT_MAX_SIZE];
    bool starts = false;

    if (at == NULL)
        return false;
    if (verdict->reason == REASON_SPREAD)
        return trial_add_nodes(trial, verdict, spot, list);
    for (int64_t cards = missing < all ? missing : all;; cards = all) {
        struct trial grown = *trial;
        struct spot ignored = { 0 };

        grown.world = world_clone(trial->world);
        trial_add_cards(&grown, spot, cards, 0);
        starts = trial_starts(&grown, &after, &ignored);
        world_free(grown.world);
        missing = cards;
        if (starts || cards == all)
            break;
    }
    (void)snprintf(text, sizeof(text),
                   "%" PRId64 " more free card%s of class %s in pool %s%s",
                   missing, missing == 1 ? "" : "s", class->object.name,
                   at->object.name, missing == all ? ", on one node" : "");
    json_array_append_new(list, json_string(text));
    return starts;
}

static json_t *
nearest_json(const struct world *world, struct ref workload, int64_t now_ms,
             struct arena *arena)
{
    struct trial trial = { .world = world_clone(world),
                           .arena = arena,
                           .now_ms = now_ms,
                           .ids = { { 0, 1 }, 0 },
                           .workload = workload };
    json_t *list = json_array();
    json_t *json = json_object();
    struct verdict verdict;
    struct spot spot = { 0 };
    bool starts = trial_starts(&trial, &verdict, &spot);

    for (int i = 0; !starts && i < RAISES_MAX; i++) {
        if (!trial_raise(&trial, &verdict, list))
            break;
        starts = trial_starts(&trial, &verdict, &spot);
    }
    if (!starts && !ref_is_none(spot.pool))
        starts = trial_grow(&trial, &verdict, &spot, list);
    put(json, "changes", list);
    put(json, "verified", json_boolean(starts));
    world_free(trial.world);
    return json;
}

/* --- all together --- */

/* How many of its own tenant's waiting workloads go before it. */
static int64_t
rank_of(struct estate *estate, const struct workload *workload)
{
    const struct world *world = estate->world;
    struct queue_entry self = queue_entry(estate, workload->object.self);
    int64_t rank = 0;

    world_each(world, KIND_WORKLOAD, ref) {
        const struct workload *other = world_workload(world, ref);
        struct queue_entry entry;

        if ((other->state != WORKLOAD_GATED &&
             other->state != WORKLOAD_QUEUED) ||
            !ref_equal(other->object.scope, workload->object.scope))
            continue;
        entry = queue_entry(estate, ref);
        rank += queue_before(&entry, &self);
    }
    return rank;
}

/* Each of its classes in each pool; what policy does not allow has no pools. */
static void
put_alternatives(json_t *json, struct estate *estate, struct gate *gate,
                 const struct workload *workload, struct arena *arena)
{
    const struct world *world = estate->world;
    struct ref pools[GATE_POOLS_MAX];
    size_t pool_count = gate_pools(world, workload, pools, GATE_POOLS_MAX);
    json_t *list = json_array(), *names = json_array();
    size_t count;
    const struct workload *copies =
        alternative_copies(world, workload, arena, &count);

    put(json, "pools", list);
    put(json, "alternatives", names);
    for (size_t i = 0; i < count; i++) {
        const struct object *class = world_object(world, copies[i].class);
        json_t *one = json_object();
        struct verdict verdict;
        bool allowed = gate_check_policy(gate, &copies[i], &verdict);

        put(one, "class", json_string(class != NULL ? class->name : "?"));
        put(one, "allowed", json_boolean(allowed));
        json_array_append_new(names, one);
        if (!allowed) {
            put_verdict(one, world, &verdict);
            continue;
        }
        if (!gate_check(gate, &copies[i], &verdict))
            put_verdict(one, world, &verdict);
        for (size_t k = 0; k < pool_count; k++)
            json_array_append_new(
                list, pool_json(estate, gate, &copies[i], pools[k], arena));
    }
}

/* One who shares with others: how much lately, for which weight. */
static json_t *
share_json(const struct world *world, struct ref node, struct ref user,
           const char *what, int64_t now_ms)
{
    const struct object *object =
        world_object(world, ref_is_none(user) ? node : user);
    json_t *json = json_object();

    put(json, "of", json_string(what));
    put(json, "name", json_string(object != NULL ? object->name : ""));
    put(json, "used_permille",
        number(share_permille(world, node, user, now_ms)));
    put(json, "weight",
        number(ref_is_none(user) ? share_weight(world, node) : SHARE_WEIGHT));
    return json;
}

/* From the user up to the tenant: all of it is the reader's own. */
static json_t *
shares_json(const struct world *world, const struct workload *workload,
            int64_t now_ms)
{
    struct ref none = { 0 }, at = workload->object.parent;
    json_t *list = json_array();

    if (world_platform(world, world_platform_ref(world))
            ->share_half_life_ms == 0)
        return list;
    if (!ref_is_none(workload->user))
        json_array_append_new(list, share_json(world, at, workload->user,
                                               "user", now_ms));
    for (; at.kind != KIND_PLATFORM && !ref_is_none(at);
         at = world_parent(world, at))
        json_array_append_new(
            list, share_json(world, at, none,
                             schema_get((enum kind)at.kind)->name, now_ms));
    return list;
}

static void
put_waiting(json_t *json, const struct world *world,
            const struct workload *workload, int64_t now_ms,
            struct arena *arena)
{
    struct estate *estate = estate_new(arena, world, now_ms);
    struct verdict policy;
    struct gate gate;

    put(json, "ahead", number(rank_of(estate, workload)));
    put(json, "shares", shares_json(world, workload, now_ms));
    estate_own(estate, workload->object.self, true);
    gate_init(&gate, world, &estate->promised, now_ms, arena);
    put_alternatives(json, estate, &gate, workload, arena);
    if (json_array_size(json_object_get(json, "pools")) == 0 &&
        !gate_check(&gate, workload, &policy)) {
        put_verdict(json, world, &policy);
        return;
    }
    put(json, "nearest",
        nearest_json(world, workload->object.self, now_ms, arena));
}

/* Why an elastic gang is not larger. */
static void
put_growth(json_t *json, const struct world *world,
           const struct workload *workload, int64_t now_ms,
           struct arena *arena)
{
    struct estate *estate = estate_new(arena, world, now_ms);
    struct verdict verdict = { 0 };
    struct growth growth;
    struct gate gate;
    json_t *said = json_object();

    gate_init(&gate, world, &estate->promised, now_ms, arena);
    put(said, "instances", number(workload->instances_now));
    put(said, "least", number(workload->instances));
    put(said, "most", number(workload->instances_max));
    if (workload->instances_now >= workload->instances_max)
        put(said, "text", json_string("it is as large as it asked to be"));
    else if (grow_one(&gate, estate, NULL, workload, arena, &growth, &verdict))
        put(said, "text", json_string("it grows with the next decision"));
    else
        put_verdict(said, world, &verdict);
    put(json, "growth", said);
}

json_t *
explain_workload(const struct world *world, struct ref ref, int64_t now_ms,
                 struct arena *arena)
{
    const struct workload *workload = world_workload(world, ref);
    json_t *json = json_object();
    struct verdict stored;

    if (workload == NULL)
        return json;
    stored = (struct verdict){ workload->state, (enum reason)workload->reason,
                               workload->reason_quota, workload->need,
                               workload->have, workload->limit, "" };
    (void)snprintf(stored.text, sizeof(stored.text), "%s",
                   workload->reason_text);
    put_verdict(json, world, &stored);
    put(json, "state", json_string(reason_state(workload->state)));
    put(json, "waits_ms",
        number(lifecycle_is_waiting(workload->state)
                   ? now_ms - workload->state_ms
                   : 0));
    if (workload->replacing_ms != 0)
        put(json, "replacing_ms", json_time(workload->replacing_ms));
    if (workload->min_accel_memory_mib > 0)
        put(json, "considered", want_json(world, workload, now_ms, arena));
    if (workload->state == WORKLOAD_RUNNING && lifecycle_is_elastic(workload))
        put_growth(json, world, workload, now_ms, arena);
    if (workload->state == WORKLOAD_GATED ||
        workload->state == WORKLOAD_QUEUED)
        put_waiting(json, world, workload, now_ms, arena);
    return json;
}
