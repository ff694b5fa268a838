/* SPDX-License-Identifier: Apache-2.0 */
#include "core/evaluate_private.h"

#include <string.h>

#include "core/alternative.h"
#include "core/cut.h"
#include "core/maintenance.h"
#include "core/queue.h"
#include "core/shortage.h"
#include "core/timeline.h"

void
evaluate_near(struct look *look, const struct booking_bars *bars)
{
    look->outlook->barred |=
        booking_near(look->estate->world, look->alternatives,
                     look->alternative_count, look->outlook->pools, bars);
}

/* What goes before it: what is promised and, to nominated work, only what was
 * promised before.  Later nominations change neither its limits nor its right,
 * nor which bookings bar it. */
static void
look_back(struct look *look)
{
    struct estate *estate = look->estate;

    look->gate->promised = &estate->promised;
    if (look->nominated) {
        estate_earlier(estate, look->workload->object.self, look->arena,
                       &look->promised);
        look->gate->promised = &look->promised;
    }
    look->right =
        queue_right(estate, look->workload, look->gate->promised);
    booking_bars(estate, look->workload, look->right, BOOKING_NOW,
                 look->arena, &look->bars);
    evaluate_near(look, &look->bars);
}

/* What is booked counts too; the same with the releases under way taken off
 * it. */
static void
look_ahead(struct look *look)
{
    struct estate *estate = look->estate;
    const struct ledger *balance = &estate->balance;
    struct ref self = look->workload->object.self;
    const struct object *hold = world_object(
        estate->world, world_first_child(estate->world, KIND_HOLD, self));

    if (look->nominated || look->bars.count > 0) {
        if (!look->nominated)
            ledger_copy(&look->promised, &estate->promised, look->arena);
        booking_charge(estate, &look->bars,
                       hold != NULL ? hold->seq : UINT64_MAX,
                       &look->promised);
        look->gate->promised = &look->promised;
        ledger_copy(&look->balance, &look->promised, look->arena);
        ledger_merge(&look->balance, &estate->leaving);
        balance = &look->balance;
    }
    gate_init(&look->soon, estate->world, balance, estate->now_ms,
              look->arena);
    look->soon.shapes = look->gate->shapes;
    look->soon.images = look->gate->images;
}

/* Is it closed by what work of any tenant may give back, in any pool: a limit
 * of the platform, its month, or that of a priority class? */
static bool
is_everybodys(const struct world *world, const struct verdict *verdict)
{
    const struct quota *quota = world_quota(world, verdict->quota);

    return (quota != NULL && quota->object.parent.kind == KIND_PLATFORM) ||
           verdict->reason == REASON_GOVERNANCE;
}

/* Does a quota of its tenant keep it from some cards that are there? */
static bool
is_narrowed(const struct workload *workload,
            const struct place_request *request)
{
    int64_t cards = workload->instances *
                    (request->class->form == FORM_WHOLE ? request->class->count
                                                        : 1);

    return request->bar_count > 0 ||
           request->card_memory_max <
               (cards > 0 ? AMOUNT_MAX / cards : AMOUNT_MAX);
}

static void
look_at_pool(struct look *look, struct option *option)
{
    const struct workload *workload =
        &look->alternatives[option->alternative];
    struct verdict *closed = &look->closed[option->alternative];
    struct verdict verdict, later;
    struct demand demand;

    option->open = gate_check_pool(look->gate, workload, option->pool,
                                   &option->demand, &verdict);
    if (option->open) {
        option->soon = true;
        look->any_open = true;
    } else {
        if (closed->text[0] == '\0' ||
            (closed->state == WORKLOAD_REJECTED &&
             verdict.state == WORKLOAD_GATED))
            *closed = verdict;
        look->outlook->limits = true;
        if (is_everybodys(look->estate->world, &verdict))
            look->outlook->abroad = true;
        if (verdict.reason != REASON_LIMIT)
            return;
        option->soon = gate_check_pool(&look->soon, workload,
                                       option->pool, &demand, &later);
    }
    gate_request(option->open ? look->gate : &look->soon, workload,
                 &option->demand, &option->request);
    look->outlook->limits |= is_narrowed(workload, &option->request);
    if (option->demand.of[DIMENSION_CARDS] == 0) /* CPU alone is enough */
        look->outlook->change = true;
}

bool
evaluate_now(struct look *look, struct evaluation *evaluation)
{
    for (size_t i = 0; i < look->count; i++) {
        struct option *option = &look->options[i];

        if (!option->open ||
            !place_find(look->estate, &option->request, PLACE_NOW,
                        look->arena, &evaluation->plan.placement,
                        &option->tally))
            continue;
        if (!numbers_has(&look->estate->numbers, option->request.tenant,
                         look->workload->instances)) {
            look->outlook->abroad = true;
            continue;
        }
        evaluation->act = ACT_ASSIGN;
        evaluation->demand = option->demand;
        evaluation->request = option->request;
        return true;
    }
    return false;
}

struct option *
evaluate_soon(struct look *look, struct placement *placement)
{
    for (size_t i = 0; i < look->count; i++) {
        struct option *option = &look->options[i];

        if (option->soon &&
            place_find(look->estate, &option->request, PLACE_FUTURE,
                       look->arena, placement, NULL))
            return option;
    }
    return NULL;
}

static void
watch(const struct estate *estate, struct outlook *outlook, uint32_t part)
{
    size_t count = outlook->place_count;
    uint32_t site = estate->parts[part].site;

    if (count == 0 || outlook->places[count - 1].site != site)
        outlook->places[outlook->place_count++] =
            (struct outlook_place){ site, ESTATE_ITSELF };
    outlook->places[outlook->place_count - 1].parts |=
        estate_part_bit(estate, part);
}

/* The parts that are held for it, and those of its place: they differ when one
 * that is held broke. */
static void
watch_places(struct look *look, const struct placement *placement)
{
    const struct estate *estate = look->estate;
    const struct world *world = estate->world;
    struct ref self = look->workload->object.self;
    struct outlook *outlook = look->outlook;
    size_t count = placement->count;

    world_each_child(world, KIND_HOLD, self, ref)
        count++;
    outlook->places = arena_alloc(look->arena, count * sizeof(*outlook->places));
    world_each_child(world, KIND_HOLD, self, ref) {
        uint32_t part = estate_part(estate, world_hold(world, ref)->card);

        if (part != ESTATE_NONE)
            watch(estate, outlook, part);
    }
    for (size_t i = 0; i < placement->count; i++)
        for (size_t k = 0; k < placement->seats[i].part_count; k++)
            watch(estate, outlook, placement->seats[i].parts[k]);
}

/* All is still as it was when it was nominated: on its way, for it. */
static void
wait_nominated(struct look *look, const struct placement *placement,
               struct evaluation *evaluation)
{
    const struct workload *workload = look->workload;
    const struct verdict verdict = {
        WORKLOAD_QUEUED, REASON_RECLAIMING, workload->reason_quota,
        workload->need,  workload->have,    workload->limit, ""
    };

    look->outlook->held = true;
    watch_places(look, placement);
    evaluation->verdict = verdict;
    (void)snprintf(evaluation->verdict.text, sizeof(evaluation->verdict.text),
                   "%s", workload->reason_text);
}

/* Turns to the bookings that bar it when it does not start now (on), or back.
 * What is nominated has to stand until it starts. */
static void
turn_to_soon(struct look *look, struct booking_bars *other, bool on)
{
    struct booking_bars bars = look->bars;

    if (on) {
        booking_bars(look->estate, look->workload, look->right, BOOKING_SOON,
                     look->arena, other);
        evaluate_near(look, other);
    }
    booking_bar(look->estate, &look->bars, -1);
    look->bars = *other;
    *other = bars;
    booking_bar(look->estate, &look->bars, 1);
}

struct option *
evaluate_nominee(struct look *look, struct placement *placement)
{
    struct booking_bars bars = { 0 };
    struct option *option;

    turn_to_soon(look, &bars, true);
    option = evaluate_soon(look, placement);
    turn_to_soon(look, &bars, false);
    return option != NULL && option->demand.of[DIMENSION_CARDS] > 0 ? option
                                                                    : NULL;
}

/* A claimant gets what is under way held, and so does work whose cards have to
 * be cut, and what a card failed under. */
static bool
nominate_soon(struct look *look, struct evaluation *evaluation)
{
    struct placement placement;
    const struct option *option = evaluate_nominee(look, &placement);
    bool cut;

    if (option == NULL)
        return false;
    cut = cut_is_due(look->estate, option->request.class, &placement);
    if (!(option->open && cut) &&
        !(look->workload->replacing_ms != 0 && !look->booked) &&
        !reclaim_is_claimant(look->estate, &option->demand))
        return false;
    evaluation->act = ACT_NOMINATE;
    evaluation->demand = option->demand;
    evaluation->request = option->request;
    evaluation->plan =
        (struct reclaim_plan){ .placement = placement, .cut = cut };
    return true;
}

/* Waits for what is under way; a claimant gets it held. */
static void
wait_soon(struct look *look, struct option *option,
          const struct placement *placement, struct evaluation *evaluation)
{
    const struct workload *workload = look->workload;

    if (!look->nominated && nominate_soon(look, evaluation))
        return;
    evaluation->demand = option->demand;
    evaluation->request = option->request;
    if (look->nominated && workload->reason == REASON_RECLAIMING) {
        wait_nominated(look, placement, evaluation);
        return;
    }
    look->outlook->change = look->outlook->kin = true;
    if (!option->open) {
        evaluation->verdict = look->closed[option->alternative];
        evaluation->verdict.state = WORKLOAD_GATED;
    } else {
        shortage_say(look->estate->world, &option->request,
                     &option->tally, &evaluation->verdict);
    }
}

/* Only when no alternative has a place, now or soon. */
static bool
find_victims(struct look *look, struct evaluation *evaluation)
{
    struct booking_bars bars = { 0 };
    bool found = false;

    turn_to_soon(look, &bars, true);
    for (size_t i = 0; i < look->count && !found; i++) {
        struct option *option = &look->options[i];

        /* A pool that is closed for good was never asked for. */
        if (option->request.class == NULL ||
            option->demand.of[DIMENSION_CARDS] == 0 ||
            !reclaim_find(look->estate,
                          &look->alternatives[option->alternative],
                          &option->demand,
                          &option->request, &look->bars, look->arena,
                          &evaluation->plan, look->outlook))
            continue;
        evaluation->act = ACT_NOMINATE;
        evaluation->demand = option->demand;
        evaluation->request = option->request;
        found = true;
    }
    turn_to_soon(look, &bars, false);
    return found;
}

/* Time alone will have something else to say then. */
static void
look_again(struct look *look, int64_t at_ms)
{
    struct outlook *outlook = look->outlook;

    if (at_ms != TIMELINE_NEVER &&
        (outlook->due_ms == 0 || at_ms < outlook->due_ms))
        outlook->due_ms = at_ms;
}

/* Whom a booking bars depends on its owner's right, which wakes by itself when
 * it is its tenant's alone (queue_booker.c), and on the time: more and more of
 * them as it passes. */
static void
look_at_bars(struct look *look)
{
    int64_t now_ms = look->estate->now_ms;
    int64_t next_ms = look->bars.next_ms;

    look->outlook->abroad |= look->bars.rights &&
                             booking_concerns_all(look->estate->world);
    if (next_ms < now_ms + EVALUATE_LOOK_MS)
        next_ms = now_ms + EVALUATE_LOOK_MS;
    if (next_ms != TIMELINE_NEVER)
        look_again(look, next_ms);
}

void
evaluate_all(struct look *look)
{
    struct estate *estate = look->estate;

    look_back(look);
    look_at_bars(look);
    booking_bar(estate, &look->bars, 1);
    look_ahead(look);
    look->any_open = false;
    for (size_t i = 0; i < look->count; i++) {
        struct option *at = &look->options[i];

        *at = (struct option){ .pool = at->pool,
                               .alternative = at->alternative };
        look_at_pool(look, at);
    }
}

/* --- the verdict --- */

/* With one class: the verdict of the open pool where most is free, else of
 * the gate. */
static void
say_alternative(struct look *look, size_t alternative,
                struct verdict *verdict)
{
    const struct option *best = NULL;

    for (size_t i = 0; i < look->count; i++)
        if (look->options[i].alternative == alternative &&
            look->options[i].open &&
            (best == NULL || look->options[i].tally.free > best->tally.free))
            best = &look->options[i];
    if (best != NULL)
        shortage_say(look->estate->world, &best->request, &best->tally,
                     verdict);
    else
        *verdict = look->closed[alternative];
}

/* The verdict when nothing can be done. */
static void
say_wait(struct look *look, struct verdict *verdict)
{
    size_t count = look->alternative_count;
    struct verdict *verdicts =
        arena_alloc(look->arena, count * sizeof(*verdicts));

    for (size_t i = 0; i < count; i++)
        say_alternative(look, i, &verdicts[i]);
    alternative_say(look->estate->world, look->alternatives, verdicts, count,
                    verdict);
    if (verdict->state == WORKLOAD_REJECTED)
        verdict->state = WORKLOAD_GATED;
    for (size_t i = 0; i < look->count; i++)
        if (look->options[i].open &&
            quota_say_unmet(look->estate->world, &look->options[i].demand,
                            look->gate->promised, verdict))
            break;
}

/* The classes that policy allows, each in each pool. */
static void
list_options(struct look *look)
{
    size_t count = look->pool_count;

    look->options =
        arena_alloc(look->arena, look->alternative_count * count *
                                     sizeof(*look->options));
    for (size_t k = 0; k < look->alternative_count; k++) {
        if (look->closed[k].text[0] != '\0')
            continue;
        if (count == 0)
            gate_say_no_pool(look->estate->world, look->workload,
                             &look->closed[k]);
        for (size_t i = 0; i < count; i++)
            look->options[look->count++] =
                (struct option){ .pool = look->pools[i], .alternative = k };
    }
}

/* Is what was asked for not whole yet?  Then nothing is found any more. */
static bool
is_late(const struct look *look)
{
    return budget_is_late(look->estate->budget);
}

static void
evaluate_pools(struct look *look, struct evaluation *evaluation)
{
    struct placement placement;
    struct option *option;

    list_options(look);
    for (size_t i = 0; i < look->count; i++)
        look_at_pool(look, &look->options[i]);
    if (evaluate_now(look, evaluation) || is_late(look))
        return;
    evaluation->act = ACT_WAIT;
    option = evaluate_soon(look, &placement);
    if (is_late(look))
        return;
    if (option != NULL) {
        wait_soon(look, option, &placement, evaluation);
        return;
    }
    evaluation->drop = look->nominated;
    if (evaluate_book_loans(look, evaluation) || find_victims(look, evaluation) ||
        is_late(look))
        return;
    say_wait(look, &evaluation->verdict);
    (void)evaluate_transfer(look, evaluation);
}

/* What is counted by the month changes by itself, and with all that is
 * metered; a limit that is raised for a time falls by itself. */
static void
look_at_limits(struct look *look)
{
    const struct world *world = look->estate->world;
    const struct priority *priority =
        world_priority(world, look->workload->priority);
    int64_t now_ms = look->estate->now_ms;

    if (priority != NULL && priority->card_time > 0)
        look->outlook->timed = true;
    if (priority != NULL && priority->share_permille > 0)
        look->outlook->change = look->outlook->kin = true;
    for (struct ref node = look->workload->object.parent; !ref_is_none(node);
         node = world_parent(world, node))
        world_each_child(world, KIND_QUOTA, node, ref) {
            const struct quota *quota = world_quota(world, ref);

            if (quota->dimension >= DIMENSION_CARD_TIME)
                look->outlook->timed = true;
            if (quota_is_raised(quota, now_ms))
                look_again(look, quota->raised_until_ms);
        }
}

/* What it depends on besides places and limits.  Work that is not preemptible
 * depends on how much others in its tenant use of their guarantees. */
static void
look_out(struct look *look)
{
    const struct world *world = look->estate->world;
    struct outlook *outlook = look->outlook;

    look->pool_count =
        gate_pools(world, look->workload, look->pools, GATE_POOLS_MAX);
    for (size_t i = 0; i < look->pool_count; i++)
        outlook->pools |= UINT64_C(1) << (look->pools[i].index % 64);
    look_at_limits(look);
    look_again(look, maintenance_look_ms(world, look->workload,
                                         look->estate->now_ms));
    /* What is on loan from it is called in when it is time. */
    if (look->booked || outlook->timed)
        look_again(look, look->estate->now_ms + EVALUATE_LOOK_MS);
    outlook->abroad = look->nominated && booking_concerns_all(world);
    if (look->booked || outlook->timed)
        outlook->change = outlook->kin = true;
    if (look->nominated && !look->workload->preemptible)
        outlook->kin = true;
    if (!look->workload->preemptible)
        outlook->limits = true;
}

/* Any of its classes; those that it does not are closed from here on. */
static bool
policy_allows(struct look *look, struct verdict *verdict)
{
    bool any = false;

    for (size_t i = 0; i < look->alternative_count; i++)
        if (gate_check_policy(look->gate, &look->alternatives[i],
                              &look->closed[i])) {
            look->closed[i].text[0] = '\0';
            any = true;
        }
    if (!any)
        alternative_say(look->estate->world, look->alternatives, look->closed,
                        look->alternative_count, verdict);
    return any;
}

void
evaluate_workload(struct gate *gate, struct estate *estate,
                  const struct workload *workload, struct arena *arena,
                  struct evaluation *evaluation_out)
{
    const struct world *world = estate->world;
    struct ref self = workload->object.self;
    struct look look = { .gate = gate,
                         .estate = estate,
                         .arena = arena,
                         .workload = workload };

    memset(evaluation_out, 0, sizeof(*evaluation_out));
    look.alternatives = alternative_copies(world, workload, arena,
                                           &look.alternative_count);
    look.closed =
        arena_alloc(arena, look.alternative_count * sizeof(*look.closed));
    look.outlook = &evaluation_out->outlook;
    look.nominated = !ref_is_none(world_first_child(world, KIND_HOLD, self));
    look.booked = booking_has(world, self);
    look_out(&look);
    if (!policy_allows(&look, &evaluation_out->verdict)) {
        evaluation_out->verdict.state = WORKLOAD_GATED;
        evaluation_out->drop = look.nominated || look.booked;
        /* Whoever sets a policy anew wakes all whom it concerns. */
        evaluation_out->outlook = (struct outlook){ 0 };
        return;
    }
    estate_own(estate, self, true);
    look_back(&look);
    evaluation_out->right = look.right;
    look_at_bars(&look);
    booking_bar(estate, &look.bars, 1);
    look_ahead(&look);
    evaluate_pools(&look, evaluation_out);
    if (!is_late(&look))
        evaluate_book(&look, evaluation_out);
    booking_bar(estate, &look.bars, -1);
    estate_own(estate, self, false);
    gate->promised = &estate->promised;
    if (is_late(&look))
        evaluation_out->act = ACT_LATER;
}
