/* SPDX-License-Identifier: Apache-2.0 */
#include "core/assign.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "core/lifecycle.h"
#include "core/manifest.h"
#include "core/price.h"
#include "core/usage.h"

/* A nomination that is over as soon as it is made would be made again at once,
 * for ever. */
#define HOLD_MIN_MS INT64_C(1000)

/* --- start --- */

/* The numbers that the last instance of this set got. */
struct taken {
    int64_t uid, address;
};

static struct instance *
add_instance(const struct estate *estate, struct changes *changes,
             const struct workload *workload,
             const struct place_request *request, uint32_t site,
             int64_t number, struct taken *taken)
{
    char name[NAME_MAX_SIZE];
    struct instance *instance;

    taken->uid = numbers_uid(&estate->numbers, taken->uid);
    taken->address = numbers_address(&estate->numbers, request->tenant,
                                     taken->address);
    assert(taken->uid > 0 && taken->address > 0);
    (void)snprintf(name, sizeof(name), "%" PRId64 "-%" PRId64,
                   workload->attempt, number);
    instance = change_create(changes, KIND_INSTANCE,
                             workload->object.self, name);
    instance->number = number;
    instance->attempt = workload->attempt;
    instance->incarnation = 1;
    instance->node = estate->sites[site].node;
    instance->assigned_ms = changes->context.now_ms;
    instance->uid_base = taken->uid;
    instance->address = taken->address;
    instance->project = workload->object.parent;
    instance->pool = request->pool;
    instance->class = request->class->object.self;
    instance->cpu_milli = workload->cpu_milli;
    instance->memory_mib = workload->memory_mib;
    return instance;
}

static void
bind(struct changes *changes,
     const struct workload *workload, const struct place_request *request,
     struct ref instance, const struct part *part, const struct seat *seat)
{
    const struct card *seen = change_get(changes, part->card);
    int64_t now_ms = changes->context.now_ms;
    struct binding *binding;

    usage_cut(changes, part->card);
    if (seen->handover == HANDOVER_PENDING) {
        /* The same tenant's card: there is nothing to hand over. */
        struct card *card = change_update(changes, part->card);

        card->handover = HANDOVER_CLEAN;
    }
    binding = change_create(changes, KIND_BINDING, instance, "");
    binding->card = part->card;
    binding->milli = seat->milli;
    binding->memory_mib = place_memory(request->class, part);
    binding->from_ms = now_ms;
    binding->cut_ms = now_ms;
    binding->workload = workload->object.self;
    binding->project = workload->object.parent;
    binding->user = workload->user;
    binding->pool = request->pool;
    binding->class = request->class->object.self;
    binding->form = request->class->form;
    if (seat->profile != NULL)
        (void)geometry_format(binding->slice, seat->profile->name,
                              seat->start);
    binding->priority = workload->priority;
    memcpy(binding->vendor, seen->vendor, sizeof(binding->vendor));
    memcpy(binding->model, seen->model, sizeof(binding->model));
    binding->price_nano = price_at(changes->world, METER_CARD_HOUR,
                                   seen->model, request->tenant, now_ms);
    if (workload->max_run_ms > 0)
        binding->until_ms = now_ms + workload->max_run_ms;
}

/* Volumes that lie nowhere yet come to the node of their first user. */
static void
settle_volumes(struct changes *changes, const struct workload *workload,
               struct ref node)
{
    struct ref volumes[MANIFEST_VOLUMES_MAX];
    size_t count = manifest_volumes(changes->world, workload->spec, volumes,
                                    MANIFEST_VOLUMES_MAX);

    for (size_t i = 0; i < count; i++) {
        const struct volume *volume = change_get(changes, volumes[i]);

        if (volume != NULL && ref_is_none(volume->node))
            ((struct volume *)change_update(changes, volumes[i]))->node =
                node;
    }
}

static struct workload *
begin_attempt(struct changes *changes, struct ref ref)
{
    struct workload *workload = change_update(changes, ref);

    reason_clear(workload);
    workload->state = WORKLOAD_ASSIGNED;
    workload->state_ms = changes->context.now_ms;
    workload->attempt++;
    workload->instances_now = workload->instances;
    workload->started_ms = 0;
    workload->ended_ms = 0;
    workload->next_try_ms = 0;
    workload->replacing_ms = 0;
    workload->exit_code = 0;
    workload->oom = false;
    return workload;
}

/* One instance on its parts. */
static void
take_seat(const struct estate *estate, struct changes *changes,
          const struct workload *workload,
          const struct place_request *request, const struct seat *seat,
          int64_t number, struct taken *taken)
{
    struct ref instance = add_instance(estate, changes, workload, request,
                                       seat->site, number, taken)
                              ->object.self;

    for (size_t k = 0; k < seat->part_count; k++)
        bind(changes, workload, request, instance,
             &estate->parts[seat->parts[k]], seat);
    settle_volumes(changes, workload, estate->sites[seat->site].node);
}

void
assign_start(const struct estate *estate, struct changes *changes,
             const struct workload *present,
             const struct place_request *request,
             const struct placement *placement)
{
    struct ref self = present->object.self;
    struct workload *workload;
    struct taken taken = { 0 };

    lifecycle_drop_holds(changes, self);
    workload = begin_attempt(changes, self);
    workload->class = request->class->object.self;
    workload->form = request->class->form;
    for (size_t i = 0; i < placement->count; i++)
        take_seat(estate, changes, workload, request, &placement->seats[i],
                  (int64_t)i, &taken);
}

/* --- growth --- */

/* Who had this number in the gang before leaves the memory. */
static void
retire_former(struct changes *changes, const struct workload *workload,
              int64_t number)
{
    world_each_child(changes->world, KIND_INSTANCE, workload->object.self,
                     ref) {
        const struct instance *instance =
            world_instance(changes->world, ref);

        if (instance->attempt != workload->attempt ||
            instance->number != number)
            continue;
        world_each_child(changes->world, KIND_BINDING, ref, binding)
            change_evict(changes, binding);
        change_evict(changes, ref);
    }
}

static void
prove_growth(struct changes *changes, struct workload *workload,
             int64_t number)
{
    scoped_buffer text = { 0 };
    scoped_json proof = json_pack(
        "{s:s, s:I, s:I, s:I, s:I}", "rule", "growth", "number",
        (json_int_t)number, "instances", (json_int_t)workload->instances_now,
        "instances_max", (json_int_t)workload->instances_max, "time_ms",
        (json_int_t)changes->context.now_ms);

    json_write(&text, proof);
    change_doc(changes, &workload->proof, buffer_text(&text));
}

void
assign_grow(const struct estate *estate, struct changes *changes,
            const struct workload *present,
            const struct place_request *request, const struct seat *seat,
            int64_t number)
{
    struct workload *workload = change_update(changes, present->object.self);
    struct taken taken = { 0 };

    workload->instances_now++;
    retire_former(changes, workload, number);
    take_seat(estate, changes, workload, request, seat, number, &taken);
    prove_growth(changes, workload, number);
}

/* --- nominate --- */

static json_t *
claim_json(const struct world *world, const char *rule,
           const struct claim *claim)
{
    char node[NAME_MAX_SIZE + 16];

    return json_pack("{s:s, s:s, s:I, s:I}", "rule", rule, "node",
                     reason_node(node, world, claim->node), "used_milli",
                     (json_int_t)claim->used, "guaranteed_milli",
                     (json_int_t)claim->guaranteed);
}

/* What the victim may know: its own node's numbers and the rule, nothing of
 * whom it makes room for. */
static void
stop_victim(const struct estate *estate, struct changes *changes,
            const struct reclaim_victim *victim)
{
    const struct run *run = &estate->runs[victim->run];
    scoped_buffer text = { 0 };
    scoped_json proof = claim_json(changes->world,
                                   reclaim_rule_text(victim->rule),
                                   &victim->over);

    json_object_set_new(
        proof, "released_milli",
        json_integer((json_int_t)run->demand.of[DIMENSION_CARDS]));
    json_object_set_new(proof, "lost_milli_card_ms",
                        json_integer((json_int_t)victim->lost_work));
    json_object_set_new(proof, "time_ms",
                        json_integer((json_int_t)changes->context.now_ms));
    json_write(&text, proof);
    if (run->surplus)
        lifecycle_shrink(changes, run->instance, buffer_text(&text));
    else
        lifecycle_stop(changes, run->workload, WORKLOAD_PREEMPTING,
                       "preempted", buffer_text(&text));
}

/* The last deadline of those who make room, so that the nomination outlives
 * their grace. */
static int64_t
last_deadline(const struct estate *estate, const struct changes *changes,
              const struct reclaim_plan *plan)
{
    const struct platform *platform =
        world_platform(changes->world, world_platform_ref(changes->world));
    int64_t grace = plan->count > 0 ? 0 : platform->grace_max_ms;

    for (size_t i = 0; i < plan->count; i++) {
        const struct workload *workload = world_workload(
            changes->world, estate->runs[plan->victims[i].run].workload);
        int64_t own = lifecycle_grace(changes->world, workload);

        if (own > grace)
            grace = own;
    }
    return changes->context.now_ms + grace;
}

/* A card that nobody has is put into the mode that its holder needs; until
 * its scrub is done nobody gets it. */
static void
cut_card(struct changes *changes, struct ref ref, bool on)
{
    const struct card *seen = change_get(changes, ref);
    struct card *card;

    if (seen->sliced == on || seen->used_milli != 0 ||
        seen->handover == HANDOVER_FAILED)
        return;
    usage_cut(changes, ref);
    card = change_update(changes, ref);
    card->sliced = on;
    card->handover = HANDOVER_PENDING;
    card->dirty[0] = '\0'; /* the scrub is of all of it */
    card->last_tenant = (struct ref){ 0 };
}

void
assign_cut(struct changes *changes, struct ref workload)
{
    world_each_child(changes->world, KIND_HOLD, workload, ref) {
        const struct hold *hold = world_hold(changes->world, ref);

        cut_card(changes, hold->card, hold->slice[0] != '\0');
    }
}

static void
hold_parts(const struct estate *estate, struct changes *changes,
           const struct workload *workload,
           const struct place_request *request,
           const struct placement *placement, int64_t expires_ms)
{
    for (size_t i = 0; i < placement->count; i++) {
        const struct seat *seat = &placement->seats[i];

        for (size_t k = 0; k < seat->part_count; k++) {
            const struct part *part = &estate->parts[seat->parts[k]];
            struct hold *hold;

            usage_cut(changes, part->card);
            hold = change_create(changes, KIND_HOLD, workload->object.self,
                                 "");
            hold->card = part->card;
            hold->milli = seat->milli;
            hold->memory_mib = place_memory(request->class, part);
            hold->expires_ms = expires_ms;
            if (seat->profile != NULL)
                (void)geometry_format(hold->slice, seat->profile->name,
                                      seat->start);
            cut_card(changes, part->card, seat->profile != NULL);
        }
    }
}

/* The sentence goes by the rule of the first victim. */
static void
say_nominated(struct verdict *verdict, const struct changes *changes,
              const struct demand *demand, const struct reclaim_plan *plan)
{
    char cards[REASON_AMOUNT_MAX], node[NAME_MAX_SIZE + 16];
    int64_t need = demand->of[DIMENSION_CARDS];
    const struct reclaim_victim *first =
        plan->count > 0 ? &plan->victims[0] : NULL;

    reason_amount(cards, DIMENSION_CARDS, need);
    if (first == NULL && plan->cut)
        verdict_set(verdict, WORKLOAD_QUEUED, REASON_RECLAIMING,
                    "%s are being cut into what it needs; it starts when "
                    "that is done",
                    cards);
    else if (first == NULL)
        verdict_set(verdict, WORKLOAD_QUEUED, REASON_RECLAIMING,
                    "%s are kept for it as they are given back; it starts "
                    "when all are free and clean",
                    cards);
    else if (first->rule == RECLAIM_GUARANTEE)
        verdict_set(verdict, WORKLOAD_QUEUED, REASON_RECLAIMING,
                    "%s are being freed for it by the guarantee of %s; it "
                    "starts when all are given back and clean",
                    cards, reason_node(node, changes->world,
                                       first->claim.node));
    else if (first->rule == RECLAIM_LOAN)
        verdict_set(verdict, WORKLOAD_QUEUED, REASON_RECLAIMING,
                    "%s that it has booked were lent and are called in; it "
                    "starts when all are given back and clean",
                    cards);
    else if (first->rule == RECLAIM_OWNER)
        verdict_set(verdict, WORKLOAD_QUEUED, REASON_RECLAIMING,
                    "%s of its tenant's own pool were lent and are called "
                    "in; it starts when all are given back and clean",
                    cards);
    else
        verdict_set(verdict, WORKLOAD_QUEUED, REASON_RECLAIMING,
                    "%s are being freed for it by its priority; it starts "
                    "when all are given back and clean",
                    cards);
    verdict_numbers(verdict, need, 0, AMOUNT_NONE);
}

static void
prove(struct changes *changes, struct workload *workload,
      const struct demand *demand, const struct reclaim_plan *plan)
{
    const struct reclaim_victim *first = &plan->victims[0];
    scoped_buffer text = { 0 };
    scoped_json proof =
        claim_json(changes->world, reclaim_rule_text(first->rule),
                   first->rule == RECLAIM_GUARANTEE ? &first->claim
                                                    : &first->over);

    json_object_set_new(
        proof, "need_milli",
        json_integer((json_int_t)demand->of[DIMENSION_CARDS]));
    json_object_set_new(
        proof, "alternatives",
        json_string("no place without stopping others, in no pool"));
    json_object_set_new(proof, "time_ms",
                        json_integer((json_int_t)changes->context.now_ms));
    if (first->rule != RECLAIM_GUARANTEE) {
        json_object_del(proof, "node");
        json_object_del(proof, "used_milli");
        json_object_del(proof, "guaranteed_milli");
    }
    json_write(&text, proof);
    change_doc(changes, &workload->proof, buffer_text(&text));
}

void
assign_nominate(const struct estate *estate, struct changes *changes,
                const struct workload *present, const struct demand *demand,
                const struct place_request *request,
                const struct reclaim_plan *plan)
{
    const struct platform *platform =
        world_platform(changes->world, world_platform_ref(changes->world));
    int64_t expires_ms =
        last_deadline(estate, changes, plan) +
        (platform->hold_ms > HOLD_MIN_MS ? platform->hold_ms : HOLD_MIN_MS);
    struct ref self = present->object.self;
    struct workload *workload;
    struct verdict verdict;

    /* Its booking still says that it came before others. */
    lifecycle_drop_nomination(changes, self);
    for (size_t i = 0; i < plan->count; i++)
        stop_victim(estate, changes, &plan->victims[i]);
    workload = change_update(changes, self);
    workload->class = request->class->object.self;
    workload->form = request->class->form;
    say_nominated(&verdict, changes, demand, plan);
    reason_put(workload, &verdict, changes->context.now_ms);
    if (plan->count > 0)
        prove(changes, workload, demand, plan);
    hold_parts(estate, changes, workload, request, &plan->placement,
               expires_ms);
}
