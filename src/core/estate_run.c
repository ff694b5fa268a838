/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/booking.h"
#include "core/ends.h"
#include "core/estate_private.h"
#include "core/lifecycle.h"
#include "core/reclaim_index.h"

/* Runs: what each workload has, and what it adds to the ledgers. */

uint32_t
estate_run(const struct estate *estate, struct ref workload)
{
    return workload.index < estate->inside->run_of_room
               ? estate->inside->run_of[workload.index]
               : ESTATE_NONE;
}

uint32_t
estate_first_run(const struct estate *estate, struct ref tenant)
{
    return tenant.index < estate->inside->first_run_room
               ? estate->inside->first_runs[tenant.index]
               : ESTATE_NONE;
}

uint32_t
estate_first_held(const struct estate *estate, struct ref tenant)
{
    return tenant.index < estate->inside->first_held_room
               ? estate->inside->first_held[tenant.index]
               : ESTATE_NONE;
}

/* --- places --- */

static void
run_link(struct estate *estate, uint32_t number, struct ref tenant)
{
    struct estate_inside *inside = estate->inside;
    uint32_t *first = estate_place(estate, &inside->first_runs,
                                   &inside->first_run_room, tenant.index);
    struct run *run = &estate->runs[number];

    run->tenant = tenant;
    run->previous = ESTATE_NONE;
    run->next = *first;
    if (*first != ESTATE_NONE)
        estate->runs[*first].previous = number;
    *first = number;
}

static void
run_unlink(struct estate *estate, const struct run *run)
{
    if (run->previous != ESTATE_NONE)
        estate->runs[run->previous].next = run->next;
    else
        estate->inside->first_runs[run->tenant.index] = run->next;
    if (run->next != ESTATE_NONE)
        estate->runs[run->next].previous = run->previous;
}

static void
held_link(struct estate *estate, uint32_t number)
{
    struct estate_inside *inside = estate->inside;
    struct run *run = &estate->runs[number];
    uint32_t *first = estate_place(estate, &inside->first_held,
                                   &inside->first_held_room,
                                   run->tenant.index);

    if (!run->promised)
        return;
    run->previous_held = ESTATE_NONE;
    run->next_held = *first;
    if (*first != ESTATE_NONE)
        estate->runs[*first].previous_held = number;
    *first = number;
}

static void
held_unlink(struct estate *estate, const struct run *run)
{
    if (!run->promised)
        return;
    if (run->previous_held != ESTATE_NONE)
        estate->runs[run->previous_held].next_held = run->next_held;
    else
        estate->inside->first_held[run->tenant.index] = run->next_held;
    if (run->next_held != ESTATE_NONE)
        estate->runs[run->next_held].previous_held = run->previous_held;
}

static uint32_t
run_take(struct estate *estate)
{
    struct estate_inside *inside = estate->inside;

    if (inside->free_run_count > 0)
        return inside->free_runs[--inside->free_run_count];
    estate->runs = estate_grow(estate, estate->runs, &inside->run_room,
                               estate->run_count + 1, sizeof(*estate->runs));
    estate->runs[estate->run_count].next_surplus = ESTATE_NONE;
    return (uint32_t)estate->run_count++;
}

static void
run_give(struct estate *estate, uint32_t number)
{
    struct estate_inside *inside = estate->inside;

    ends_mark(estate, number);
    inside->free_runs =
        estate_grow(estate, inside->free_runs, &inside->free_run_room,
                    inside->free_run_count + 1, sizeof(*inside->free_runs));
    inside->free_runs[inside->free_run_count++] = number;
}

/* --- ledgers --- */

static void
add_share(struct estate *estate, const struct share *share, int64_t sign)
{
    struct ref quota = ledger_ref(share->quota);

    ledger_add(share->leaving ? &estate->leaving : &estate->promised, quota,
               sign * share->amount);
    ledger_add(&estate->balance, quota, sign * share->amount);
}

/* Charges a demand to the ledgers and remembers each line, so that it can be
 * taken back when the quotas are others. */
static void
charge(struct estate *estate, struct run *run, const struct demand *demand,
       bool leaving)
{
    static const struct hash_key any = { 0, 0 }; /* nothing depends on it */
    struct ledger *one = &estate->inside->one;

    run->charged += hash_bytes(&any, demand->of, sizeof(demand->of)) *
                    (leaving ? 2 : 1);
    quota_charge(estate->world, demand, one, leaving ? -1 : 1);
    for (size_t i = 0; i < one->room; i++) {
        struct share share = { one->lines[i].quota, leaving,
                               one->lines[i].amount };

        if (share.quota == 0 || share.amount == 0)
            continue;
        add_share(estate, &share, 1);
        run->shares = estate_grow(estate, run->shares, &run->share_room,
                                  run->share_count + 1, sizeof(share));
        run->shares[run->share_count++] = share;
    }
    if (one->room > 0)
        memset(one->lines, 0, one->room * sizeof(*one->lines));
    one->count = 0;
}

/* --- what an instance has --- */

static void
add_use(struct estate *estate, struct run *run, const struct use *use)
{
    run->uses = estate_grow(estate, run->uses, &run->use_room, run->count + 1,
                            sizeof(*run->uses));
    run->uses[run->count++] = *use;
}

/* Adds up an instance's bindings; when it stays they become uses. */
static void
add_bindings(struct estate *estate, const struct instance *instance,
             struct demand *demand, struct run *run, bool leaves,
             uint32_t site)
{
    world_each_child(estate->world, KIND_BINDING, instance->object.self, ref) {
        const struct binding *binding = world_binding(estate->world, ref);
        uint32_t part = estate_part(estate, binding->card);
        struct use use = { .site = site,
                           .part = part,
                           .milli = binding->milli,
                           .memory_mib = binding->memory_mib };

        if (binding->to_ms != 0)
            continue;
        run->stays++;
        if (part == ESTATE_NONE)
            continue;
        use.profile = estate_cut_slice(&estate->parts[part], binding->slice,
                                       &use.start);
        quota_demand_binding(binding, demand);
        if (!leaves)
            add_use(estate, run, &use);
    }
}

/* Does it have a run of its own, since the gang goes on without it? */
static bool
is_extra(const struct workload *workload, const struct instance *instance)
{
    return lifecycle_is_elastic(workload) &&
           lifecycle_is_surplus(workload, instance);
}

/* It has ended or was told to, and was not given back in time: to stop it
 * would bring nothing. */
static bool
is_stuck(const struct instance *instance)
{
    return instance->state != INSTANCE_LOST &&
           (instance->state == INSTANCE_EXITED || instance->want != WANT_RUN);
}

/* An instance that runs on is a use, one that is leaving gives back.  True
 * when it gives back. */
static bool
derive_instance(struct estate *estate, struct run *run,
                const struct workload *workload,
                const struct instance *instance)
{
    uint32_t site = estate_site(estate, instance->node);
    struct use use = { .site = site,
                       .part = ESTATE_NONE,
                       .memory_mib = instance->memory_mib,
                       .cpu_milli = instance->cpu_milli };
    struct demand demand = { 0 };
    int64_t due_ms;

    run->stays++;
    if (estate_is_leaving(estate, instance, &due_ms)) {
        quota_demand_instance(estate->world, instance, &demand);
        add_bindings(estate, instance, &demand, run, true, site);
        charge(estate, run, &demand, true);
        run->gives_back = true;
        return true;
    }
    if (is_stuck(instance)) {
        /* nor would its workload be over */
        run->demand.of[DIMENSION_WORKLOADS] = 0;
        add_bindings(estate, instance, &demand, run, true, site);
        return false;
    }
    if (site != ESTATE_NONE && !is_extra(workload, instance)) {
        quota_demand_instance(estate->world, instance, &run->demand);
        add_use(estate, run, &use);
        add_bindings(estate, instance, &run->demand, run, false, site);
    }
    return false;
}

/* A workload that is stopped and gives all back stops to count as one. */
static void
give_back_itself(struct estate *estate, struct run *run,
                 const struct workload *workload)
{
    struct demand demand = { .project = workload->object.parent,
                             .class = workload->class,
                             .asked_pool = workload->pool,
                             .user = workload->user };

    demand.of[DIMENSION_WORKLOADS] = 1;
    charge(estate, run, &demand, true);
}

static void
derive_instances(struct estate *estate, struct run *run,
                 const struct workload *workload)
{
    bool stays = false, any = false;
    struct demand kept;

    world_each_child(estate->world, KIND_INSTANCE, workload->object.self,
                     ref) {
        const struct instance *instance = world_instance(estate->world, ref);

        if (instance->state == INSTANCE_RELEASED)
            continue;
        any = true;
        if (!derive_instance(estate, run, workload, instance))
            stays = true;
    }
    if (any && !stays && lifecycle_is_stopping(workload->state))
        give_back_itself(estate, run, workload);
    if (estate_kept_demand(estate, workload, &kept))
        charge(estate, run, &kept, false);
}

/* What nominated work will use counts as used for everybody else. */
static void
derive_promise(struct estate *estate, struct run *run,
               const struct workload *workload)
{
    const struct world *world = estate->world;
    struct ref first =
        world_first_child(world, KIND_HOLD, workload->object.self);
    struct demand demand;
    uint32_t part;

    if (ref_is_none(first))
        return;
    run->promised = true;
    run->first_hold = first;
    part = estate_part(estate, world_hold(world, first)->card);
    if (part == ESTATE_NONE || world_class(world, workload->class) == NULL)
        return;
    quota_demand(world, workload,
                 estate->sites[estate->parts[part].site].pool,
                 estate->parts[part].memory_mib, &demand);
    charge(estate, run, &demand, false);
}

/* --- surplus --- */

static void
surplus_fill(struct estate *estate, uint32_t number, uint32_t gang,
             const struct workload *workload,
             const struct instance *instance)
{
    struct run *run = &estate->runs[number];
    struct use use = { .site = estate_site(estate, instance->node),
                       .part = ESTATE_NONE,
                       .memory_mib = instance->memory_mib,
                       .cpu_milli = instance->cpu_milli };

    run->workload = estate->runs[gang].workload;
    run->instance = instance->object.self;
    run->surplus = true;
    run->live = true;
    run->fixed = !lifecycle_can_shrink(workload, instance);
    run->priority = estate->runs[gang].priority;
    reclaim_index_rank(run, workload, instance);
    run->demand.asked_pool = estate->runs[gang].demand.asked_pool;
    quota_demand_instance(estate->world, instance, &run->demand);
    add_use(estate, run, &use);
    add_bindings(estate, instance, &run->demand, run, false, use.site);
}

/* One run for each surplus instance that goes on, behind the gang's own. */
static void
surplus_derive(struct estate *estate, uint32_t gang,
               const struct workload *workload)
{
    uint32_t last = gang;
    int64_t due_ms;

    world_each_child(estate->world, KIND_INSTANCE, workload->object.self,
                     ref) {
        const struct instance *instance = world_instance(estate->world, ref);
        uint32_t number;

        if (instance->state == INSTANCE_RELEASED ||
            !is_extra(workload, instance) ||
            estate_site(estate, instance->node) == ESTATE_NONE ||
            estate_is_leaving(estate, instance, &due_ms))
            continue;
        number = run_take(estate);
        run_link(estate, number, workload->object.scope);
        surplus_fill(estate, number, gang, workload, instance);
        reclaim_index_add(estate, number);
        ends_mark(estate, number);
        estate->runs[last].next_surplus = number;
        estate->runs[number].next_surplus = ESTATE_NONE;
        estate->runs[gang].surplus_count++;
        last = number;
    }
}

uint32_t
estate_run_on(const struct estate *estate, struct ref workload, uint32_t part)
{
    uint32_t at = estate_run(estate, workload);

    for (; at != ESTATE_NONE; at = estate->runs[at].next_surplus)
        for (size_t i = 0; i < estate->runs[at].count; i++)
            if (estate->runs[at].uses[i].part == part)
                return at;
    return ESTATE_NONE;
}

/* --- a run --- */

static bool
has_run(const struct world *world, const struct workload *workload)
{
    if (workload == NULL)
        return false;
    if (lifecycle_is_live(workload->state) ||
        !ref_is_none(
            world_first_child(world, KIND_HOLD, workload->object.self)))
        return true;
    /* What was lost and came back after its workload had moved on. */
    world_each_child(world, KIND_INSTANCE, workload->object.self, ref)
        if (world_instance(world, ref)->state != INSTANCE_RELEASED)
            return true;
    return false;
}

static void
run_clear(struct estate *estate, struct run *run)
{
    struct run empty = { .next_surplus = ESTATE_NONE,
                         .shelf = ESTATE_NONE,
                         .uses = run->uses,
                         .use_room = run->use_room,
                         .shares = run->shares,
                         .share_room = run->share_room };

    for (size_t i = 0; i < run->share_count; i++)
        add_share(estate, &run->shares[i], -1);
    *run = empty;
}

static void
run_drop_surplus(struct estate *estate, const struct run *gang)
{
    uint32_t next;

    for (uint32_t at = gang->next_surplus; at != ESTATE_NONE; at = next) {
        struct run *run = &estate->runs[at];

        next = run->next_surplus;
        reclaim_index_remove(estate, at);
        run_unlink(estate, run);
        run_clear(estate, run);
        run_give(estate, at);
    }
}

static void
run_fill(struct estate *estate, struct run *run,
         const struct workload *workload)
{
    const struct priority *priority =
        world_priority(estate->world, workload->priority);

    run->workload = workload->object.self;
    run->fixed = !workload->preemptible || workload->state == WORKLOAD_LOST;
    run->priority = priority != NULL ? priority->value : 0;
    run->live = lifecycle_is_live(workload->state);
    run->leaving = lifecycle_is_stopping(workload->state);
    reclaim_index_rank(run, workload, NULL);
    run->started_ms = workload->started_ms;
    run->end_ms = booking_end_ms(estate->world, workload, run->started_ms);
    run->demand.asked_pool = workload->pool;
    run->demand.of[DIMENSION_WORKLOADS] = 1;
    derive_instances(estate, run, workload);
    derive_promise(estate, run, workload);
}

static bool
has_started(const struct run *old, const struct run *new)
{
    return new->live && !old->live && !new->leaving;
}

static void
keep_promise(struct estate *estate, const struct run *run)
{
    struct estate_inside *inside = estate->inside;

    inside->promise = estate_grow(estate, inside->promise,
                                  &inside->promise_room, run->share_count,
                                  sizeof(*inside->promise));
    inside->promise_count = 0;
    for (size_t i = 0; i < run->share_count && run->promised; i++)
        if (!run->shares[i].leaving)
            inside->promise[inside->promise_count++] = run->shares[i];
}

/* Did it start with less than was promised to it somewhere?  The memory of its
 * cards is promised as that of the first, and it may start elsewhere. */
static bool
starts_with_less(const struct estate *estate, const struct run *new)
{
    const struct estate_inside *inside = estate->inside;
    struct ledger *one = &estate->inside->one;
    bool less = false;

    if (inside->promise_count == 0)
        return false;
    quota_charge(estate->world, &new->demand, one, 1);
    for (size_t i = 0; i < inside->promise_count; i++) {
        struct ref quota = ledger_ref(inside->promise[i].quota);

        less |= ledger_get(one, quota) < inside->promise[i].amount;
    }
    if (one->room > 0)
        memset(one->lines, 0, one->room * sizeof(*one->lines));
    one->count = 0;
    return less;
}

/* Is anything of a limit or guarantee given back? */
static bool
gives(const struct estate *estate, const struct run *old,
      const struct run *new)
{
    bool promise = new->charged != old->charged && old->promised;

    if (new->stays < old->stays)
        return true;
    if (has_started(old, new))
        return starts_with_less(estate, new);
    return (old->live && !new->live) || (old->promised && !new->promised) ||
           (promise && new->promised);
}

/* Is anything sure to be given back that was not, or not any more? */
static bool
leaves(const struct run *old, const struct run *new)
{
    if ((new->leaving && !old->leaving) ||
        new->surplus_count < old->surplus_count ||
        (new->charged != old->charged && !has_started(old, new) &&
         (!new->promised || old->promised)))
        return true;
    for (int i = 0; i < DIMENSION_COUNT; i++)
        if (new->demand.of[i] < old->demand.of[i])
            return true;
    return false;
}

static bool
uses_more(const struct run *old, const struct run *new)
{
    for (int i = 0; i < DIMENSION_COUNT; i++)
        if (new->demand.of[i] > old->demand.of[i])
            return true;
    return false;
}

/* Was it to give back and does not: the guarantees around it may let others go
 * in its place. */
static bool
is_put_off(const struct run *old, const struct run *new)
{
    return old->gives_back && new->stays == old->stays &&
           new->charged != old->charged;
}

/* Could it be a victim where it could not before, or make others one? */
static bool
is_more(const struct run *old, const struct run *new)
{
    if (has_started(old, new) || new->surplus_count > old->surplus_count ||
        is_put_off(old, new))
        return true;
    return new->count > 0 &&
           (uses_more(old, new) || (old->fixed && !new->fixed) ||
            (old->leaving && !new->leaving) ||
            old->priority != new->priority ||
            !ref_equal(old->demand.project, new->demand.project) ||
            !ref_equal(old->demand.pool, new->demand.pool));
}

static bool
is_same(const struct run *old, const struct run *new)
{
    return old->live == new->live && old->leaving == new->leaving &&
           old->fixed == new->fixed && old->promised == new->promised &&
           old->gives_back == new->gives_back &&
           old->charged == new->charged && old->stays == new->stays &&
           old->surplus_count == new->surplus_count &&
           old->priority == new->priority && old->count == new->count &&
           ref_equal(old->demand.project, new->demand.project) &&
           ref_equal(old->demand.pool, new->demand.pool) &&
           memcmp(old->demand.of, new->demand.of, sizeof(new->demand.of)) == 0;
}

static void
count(const struct estate *estate, struct estate_pulse *pulse,
      const struct run *old, const struct run *new)
{
    pulse->changed++;
    pulse->better += gives(estate, old, new);
    pulse->leaving += leaves(old, new);
    pulse->more += !ref_is_none(new->workload) && is_more(old, new);
}

/* One of each tenant: the first load starts all that runs. */
static void
tell_start(struct estate *estate, uint32_t tenant, int64_t priority,
           bool started)
{
    struct estate_inside *inside = estate->inside;
    struct estate_news *news = &estate->news;
    uint32_t *place = estate_place(estate, &inside->start_of,
                                   &inside->start_of_room, tenant);
    struct estate_start *start;

    if (*place >= news->start_count || news->starts[*place].tenant != tenant) {
        news->starts =
            estate_grow(estate, news->starts, &news->start_room,
                        news->start_count + 1, sizeof(*news->starts));
        *place = (uint32_t)news->start_count;
        news->starts[news->start_count++] =
            (struct estate_start){ .tenant = tenant, .priority = priority };
    }
    start = &news->starts[*place];
    if (priority < start->priority)
        start->priority = priority;
    if (started)
        start->started = true;
    else
        start->nominated = true;
}

static void
tell(struct estate *estate, struct ref tenant, const struct run *old,
     const struct run *new)
{
    bool lower = new->priority < old->priority; /* it was given another */
    bool nominated = new->promised && (!old->promised || lower);
    bool started = has_started(old, new) || (!new->fixed && old->fixed) ||
                   new->surplus_count > old->surplus_count ||
                   (new->live && lower) || is_put_off(old, new);

    if (is_same(old, new))
        return;
    estate->tenants =
        estate_grow(estate, estate->tenants, &estate->tenant_room,
                    (size_t)tenant.index + 1, sizeof(*estate->tenants));
    count(estate, &estate->tenants[tenant.index], old, new);
    count(estate, &estate->runs_pulse, old, new);
    estate_mark(estate, &estate->inside->tenants, tenant.index);
    if (started || nominated)
        tell_start(estate, tenant.index, new->priority, started);
}

void
estate_run_derive(struct estate *estate, uint32_t index)
{
    static const struct run none = { 0 };
    struct estate_inside *inside = estate->inside;
    struct ref ref = { KIND_WORKLOAD, index };
    const struct workload *workload = world_workload(estate->world, ref);
    size_t before = inside->run_of_room;
    struct run old = none;
    uint32_t number;

    inside->run_of = estate_grow(estate, inside->run_of, &inside->run_of_room,
                                 (size_t)index + 1, sizeof(*inside->run_of));
    for (size_t i = before; i < inside->run_of_room; i++)
        inside->run_of[i] = ESTATE_NONE;
    number = inside->run_of[index];
    inside->promise_count = 0;
    if (number != ESTATE_NONE) {
        old = estate->runs[number];
        keep_promise(estate, &old);
        reclaim_index_remove(estate, number);
        reclaim_index_stale(estate, old.tenant);
        run_drop_surplus(estate, &old);
        run_unlink(estate, &estate->runs[number]);
        held_unlink(estate, &estate->runs[number]);
        run_clear(estate, &estate->runs[number]);
    }
    if (!has_run(estate->world, workload)) {
        tell(estate, old.tenant, &old, &none);
        if (number != ESTATE_NONE)
            run_give(estate, number);
        inside->run_of[index] = ESTATE_NONE;
        return;
    }
    if (number == ESTATE_NONE)
        number = inside->run_of[index] = run_take(estate);
    run_link(estate, number, workload->object.scope);
    run_fill(estate, &estate->runs[number], workload);
    surplus_derive(estate, number, workload);
    held_link(estate, number);
    reclaim_index_add(estate, number);
    ends_mark(estate, number);
    reclaim_index_stale(estate, workload->object.scope);
    tell(estate, workload->object.scope, &old, &estate->runs[number]);
}

void
estate_run_note(struct estate *estate, const struct trail_step *step)
{
    bool quota = step->ref.kind == KIND_QUOTA;

    if (quota || step->ref.kind == KIND_RESERVATION)
        reclaim_index_stale(estate,
                            quota ? step->scope : (struct ref){ 0 });
    if (!quota && step->ref.kind != KIND_PRIORITY)
        return;
    for (size_t i = 0; i < estate->run_count; i++) {
        const struct run *run = &estate->runs[i];

        if (!ref_is_none(run->workload) &&
            (!quota || run->charged != 0))
            estate_mark(estate, &estate->inside->runs, run->workload.index);
    }
}
