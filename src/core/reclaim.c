/* SPDX-License-Identifier: Apache-2.0 */
#include "core/reclaim.h"

#include <string.h>

const char *
reclaim_rule_text(enum reclaim_rule rule)
{
    static const char *const names[] = { "guarantee", "priority", "across",
                                         "loan" };

    return names[rule];
}

bool
reclaim_is_claimant(const struct estate *estate, const struct demand *demand)
{
    struct claim claim;

    for (struct ref node = demand->project; !ref_is_none(node);
         node = world_parent(estate->world, node))
        if (quota_may_reclaim(estate->world, demand, &estate->promised,
                              world_parent(estate->world, node), &claim))
            return true;
    return false;
}

/* --- candidates --- */

/* Ancestors between which a beneficiary can have rights: platform, tenant,
 * units, project. */
#define RIGHTS_MAX 8

struct right {
    struct ref ancestor;
    bool may;
    struct claim claim;
};

/* Candidates whose release is the same to all quotas: what is asked about one
 * is asked once. */
struct group {
    const struct demand *demand; /* of its first candidate */
    struct ref ancestor;
    struct right right; /* of the beneficiary, once asked */
    bool asked;
    struct group *next; /* of the bucket */
    unsigned round;     /* of choose, in which the rest was looked up */
    bool tested, allowed;
    int64_t over;
    struct claim claim;
};
#define GROUP_BUCKETS 256 /* a power of two */

/* What one search looks at. */
struct search {
    struct estate *estate;
    const struct workload *workload;
    const struct demand *demand;
    const struct place_request *request;
    struct arena *arena;
    int64_t priority;
    bool across;        /* its priority class may preempt across tenants */
    int64_t min_run_ms; /* before a second preemption */
    struct ledger leaving; /* releases under way, and the victims' */
    struct ledger balance; /* the same, and what is promised to others */
    struct right rights[RIGHTS_MAX]; /* of the beneficiary by ancestor */
    size_t right_count;
    struct group *groups[GROUP_BUCKETS];
    unsigned round;
    bool abroad; /* may it name anybody of another tenant? */
    int64_t protected_ms; /* when the next of those who were spared is not */
    struct candidate *list;
    size_t count, room;
};

struct candidate {
    struct reclaim_victim victim;
    struct group *group;
    int64_t kind; /* batch first */
    int64_t priority;
    uint64_t seq;
    bool named;
};

/* Time since the last checkpoint that the platform saw, x cards. */
static int64_t
lost_work(const struct estate *estate, const struct run *run,
          const struct workload *workload)
{
    int64_t since = workload->started_ms;
    int64_t product;

    if (workload->checkpoint_ms > since)
        since = workload->checkpoint_ms;
    if (since == 0 || since >= estate->now_ms)
        return 0;
    if (__builtin_mul_overflow(estate->now_ms - since,
                               run->demand.of[DIMENSION_CARDS], &product))
        return INT64_MAX;
    return product;
}

#define SURPLUS_FIRST (-1) /* before every whole workload */

static int64_t
kind_order(int kind)
{
    switch ((enum workload_kind)kind) {
    case WORKLOAD_BATCH:
        return 0;
    case WORKLOAD_INTERACTIVE:
        return 1;
    case WORKLOAD_SERVICE:
    default:
        return 2;
    }
}

/* Does stopping it free anything that the request could use: something in
 * its pool, or room below a limit of its own tenant? */
static bool
is_useful(const struct search *search, const struct run *run)
{
    if (ref_equal(run->tenant, search->workload->object.scope))
        return true;
    return search->abroad &&
           ref_equal(run->demand.pool, search->request->pool);
}

/* The right of the beneficiary's guarantees across an ancestor. */
static const struct right *
right_across(struct search *search, struct ref ancestor)
{
    struct right *right = search->rights;

    for (size_t i = 0; i < search->right_count; i++, right++)
        if (ref_equal(right->ancestor, ancestor))
            return right;
    if (search->right_count < RIGHTS_MAX)
        search->right_count++;
    else
        right--;
    right->ancestor = ancestor;
    right->may = !ref_equal(ancestor, search->demand->project) &&
                 quota_may_reclaim(search->estate->world, search->demand,
                                   &search->estate->promised, ancestor,
                                   &right->claim);
    return right;
}

static bool
same_parts(const struct demand *a, const struct demand *b)
{
    if (a->part_count != b->part_count)
        return false;
    for (unsigned i = 0; i < a->part_count; i++)
        if (a->parts[i].milli != b->parts[i].milli ||
            a->parts[i].memory_mib != b->parts[i].memory_mib ||
            strcmp(a->parts[i].vendor, b->parts[i].vendor) != 0 ||
            strcmp(a->parts[i].model, b->parts[i].model) != 0)
            return false;
    return true;
}

/* Do two demands count the same in all quotas? */
static bool
same_demand(const struct demand *a, const struct demand *b)
{
    return ref_equal(a->project, b->project) && ref_equal(a->pool, b->pool) &&
           ref_equal(a->class, b->class) &&
           ref_equal(a->asked_pool, b->asked_pool) &&
           ref_equal(a->user, b->user) && a->run_ms == b->run_ms &&
           memcmp(a->of, b->of, sizeof(a->of)) == 0 && same_parts(a, b);
}

static struct group *
group_of(struct search *search, const struct demand *demand)
{
    uint32_t hash = demand->project.index * UINT32_C(2654435761) +
                    demand->class.index * UINT32_C(40503);
    struct group **bucket =
        &search->groups[(hash >> 16) % GROUP_BUCKETS];
    struct group *group = *bucket;

    while (group != NULL && !same_demand(group->demand, demand))
        group = group->next;
    if (group != NULL)
        return group;
    group = arena_alloc(search->arena, sizeof(*group));
    group->demand = demand;
    group->ancestor = quota_ancestor(search->estate->world,
                                     search->demand->project, demand->project);
    group->next = *bucket;
    *bucket = group;
    return group;
}

/* It was preempted before and has not had its minimum run since. */
static bool
is_protected(struct search *search, const struct run *run)
{
    const struct workload *victim =
        world_workload(search->estate->world, run->workload);
    int64_t until_ms = victim->started_ms + search->min_run_ms;

    if (victim->preemptions == 0 || run->surplus ||
        search->estate->now_ms >= until_ms)
        return false;
    if (search->protected_ms == 0 || until_ms < search->protected_ms)
        search->protected_ms = until_ms;
    return true;
}

/* The rule by which the candidate may be named; false when there is none.
 * Rules that hold only up to now: guarantees after the release are tested
 * when it is chosen. */
static bool
find_rule(struct search *search, const struct run *run,
          struct candidate *candidate)
{
    struct reclaim_victim *named = &candidate->victim;
    struct group *group = candidate->group;

    if (!group->asked) {
        group->asked = true;
        group->right = *right_across(search, group->ancestor);
    }
    if (group->right.may) {
        named->claim = group->right.claim;
        named->rule = RECLAIM_GUARANTEE;
        return true;
    }
    if (run->priority >= search->priority || is_protected(search, run))
        return false;
    if (group->ancestor.kind != KIND_PLATFORM) {
        named->rule = RECLAIM_PRIORITY;
        return true;
    }
    named->rule = RECLAIM_ACROSS;
    return search->across;
}

/* Fills what a candidate is ordered by; false when it cannot be named. */
static bool
fill_candidate(struct search *search, struct candidate *candidate)
{
    const struct estate *estate = search->estate;
    struct run *run = &estate->runs[candidate->victim.run];
    const struct workload *victim;

    if (!run->live || run->leaving || run->fixed || run->count == 0)
        return false;
    victim = world_workload(estate->world, run->workload);
    if (victim == NULL)
        return false;
    run->demand.now_ms = estate->now_ms;
    candidate->group = group_of(search, &run->demand);
    candidate->kind = run->surplus ? SURPLUS_FIRST : kind_order(victim->kind);
    candidate->priority = run->priority;
    candidate->seq =
        run->surplus ? world_object(estate->world, run->instance)->seq
                     : victim->object.seq;
    candidate->victim.lost_work = lost_work(estate, run, victim);
    return true;
}

static void
add_candidate(struct search *search, uint32_t number)
{
    const struct run *run = &search->estate->runs[number];
    struct candidate candidate = { .victim.run = number };

    if (!is_useful(search, run) || !fill_candidate(search, &candidate) ||
        !find_rule(search, run, &candidate))
        return;
    if (search->count == search->room) {
        size_t room = search->room > 0 ? search->room * 2 : 16;
        struct candidate *list =
            arena_alloc(search->arena, room * sizeof(*list));

        if (search->count > 0)
            memcpy(list, search->list, search->count * sizeof(*list));
        search->list = list;
        search->room = room;
    }
    search->list[search->count++] = candidate;
}

/* Of its own tenant, or of all when it may name others. */
static void
list_candidates(struct search *search)
{
    const struct estate *estate = search->estate;
    struct ref tenant = search->workload->object.scope;

    if (search->abroad) {
        for (size_t i = 0; i < estate->run_count; i++)
            add_candidate(search, (uint32_t)i);
        return;
    }
    for (uint32_t i = estate_first_run(estate, tenant); i != ESTATE_NONE;
         i = estate->runs[i].next)
        add_candidate(search, i);
}

/* What the group's nodes use above their guarantee now. */
static int64_t
over_of(struct search *search, struct group *group)
{
    if (group->round != search->round) {
        group->round = search->round;
        group->tested = false;
        group->claim = (struct claim){ 0 };
        group->over =
            quota_over(search->estate->world, group->demand, group->ancestor,
                       &search->leaving, &group->claim);
    }
    return group->over;
}

/* Do they keep their guarantees when one more is released? */
static bool
may_release(struct search *search, struct group *group)
{
    if (!group->tested) {
        group->tested = true;
        group->allowed =
            quota_release_allowed(search->estate->world, group->demand,
                                  group->ancestor, &search->leaving);
    }
    return group->allowed;
}

/* Is a the better victim?  over: use above guarantee, looked up for both. */
static bool
is_better(const struct candidate *a, int64_t over_a,
          const struct candidate *b, int64_t over_b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind;
    if (over_a != over_b)
        return over_a > over_b;
    if (a->priority != b->priority)
        return a->priority < b->priority;
    if (a->victim.lost_work != b->victim.lost_work)
        return a->victim.lost_work < b->victim.lost_work;
    return a->seq > b->seq;
}

/* The surplus of a gang that is not named yet: it goes before the gang. */
static bool
has_surplus(const struct search *search, const struct candidate *gang)
{
    const struct run *run = &search->estate->runs[gang->victim.run];

    if (run->surplus || run->surplus_count == 0)
        return false;
    for (size_t i = 0; i < search->count; i++) {
        const struct candidate *other = &search->list[i];

        if (!other->named && search->estate->runs[other->victim.run].surplus &&
            ref_equal(search->estate->runs[other->victim.run].workload,
                      run->workload))
            return true;
    }
    return false;
}

/* The next victim in order whose nodes keep their guarantee without it; each
 * choice makes its node less over, so the order is looked up anew. */
static struct candidate *
choose(struct search *search)
{
    struct candidate *best = NULL;
    int64_t best_over = 0;

    search->round++;
    for (size_t i = 0; i < search->count; i++) {
        struct candidate *candidate = &search->list[i];
        int64_t over;

        if (candidate->named || has_surplus(search, candidate))
            continue;
        over = over_of(search, candidate->group);
        if (best != NULL && !is_better(candidate, over, best, best_over))
            continue;
        if (!may_release(search, candidate->group))
            continue;
        best = candidate;
        best_over = over;
    }
    if (best != NULL)
        best->victim.over = best->group->claim;
    return best;
}

/* --- the set --- */

/* Counts a victim as stopped (sign 1), or as running again. */
static void
count_victim(struct search *search, const struct reclaim_victim *victim,
             int sign)
{
    const struct run *run = &search->estate->runs[victim->run];
    const struct world *world = search->estate->world;

    estate_gain(search->estate, run, sign);
    quota_charge(world, &run->demand, &search->leaving, -sign);
    quota_charge(world, &run->demand, &search->balance, -sign);
}

/* Limits, guarantee and cards, with all that is counted as stopped. */
static bool
fits(const struct search *search, struct placement *placement)
{
    const struct estate *estate = search->estate;
    struct verdict ignored;

    return quota_fits(estate->world, search->demand, &search->balance,
                      estate->now_ms, &ignored) &&
           (search->workload->preemptible ||
            quota_fits_guarantee(estate->world, search->demand,
                                 &search->balance, &ignored)) &&
           place_find(estate, search->request, PLACE_FUTURE, search->arena,
                      placement, NULL);
}

/* Counts all that are not named yet as stopped, or as running again. */
static void
count_others(struct search *search, int sign)
{
    for (size_t i = 0; i < search->count; i++)
        if (!search->list[i].named)
            count_victim(search, &search->list[i].victim, sign);
}

/* Would it fit were all candidates stopped?  If not, no set will do. */
static bool
could_fit(struct search *search)
{
    struct placement placement;
    bool could;

    count_others(search, 1);
    could = fits(search, &placement);
    count_others(search, -1);
    return could;
}

#define FEW_VICTIMS 2

/* Names victims in order until the request fits; how many, 0 when never.
 * Their gains stay counted. */
static size_t
name_victims(struct search *search, struct reclaim_victim *victims,
             struct placement *placement)
{
    struct candidate *next;
    size_t count = 0;

    while ((next = choose(search)) != NULL) {
        next->named = true;
        victims[count++] = next->victim;
        count_victim(search, &next->victim, 1);
        if (fits(search, placement))
            return count;
        if (budget_is_late(search->estate->budget))
            break;
        /* To ask this is dear, and few victims are mostly enough. */
        if (count == FEW_VICTIMS && !could_fit(search))
            break;
    }
    for (size_t i = 0; i < count; i++)
        count_victim(search, &victims[i], -1);
    return 0;
}

/* It goes with its gang, which is named too. */
static bool
goes_anyhow(const struct search *search, const struct reclaim_victim *victims,
            size_t count, const struct reclaim_victim *victim)
{
    const struct run *runs = search->estate->runs;

    if (!runs[victim->run].surplus)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!runs[victims[i].run].surplus &&
            ref_equal(runs[victims[i].run].workload,
                      runs[victim->run].workload))
            return true;
    return false;
}

/* Leaves out every victim without which the request fits too, the last named
 * (the least fit as a victim) first. */
static size_t
leave_out(struct search *search, struct reclaim_victim *victims, size_t count,
          struct placement *placement)
{
    struct placement other;

    for (size_t i = count; i > 0; i--) {
        struct reclaim_victim victim = victims[i - 1];

        if (goes_anyhow(search, victims, count, &victim))
            continue;
        count_victim(search, &victim, -1);
        if (fits(search, &other)) {
            *placement = other;
            memmove(&victims[i - 1], &victims[i],
                    (count - i) * sizeof(*victims));
            count--;
        } else {
            count_victim(search, &victim, 1);
        }
    }
    return count;
}

static void
search_init(struct search *search, struct estate *estate,
            const struct workload *workload, const struct demand *demand,
            const struct place_request *request,
            const struct booking_bars *bars, struct arena *arena)
{
    const struct world *world = estate->world;
    const struct priority *priority =
        world_priority(world, workload->priority);
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));

    *search = (struct search){ .estate = estate,
                               .workload = workload,
                               .demand = demand,
                               .request = request,
                               .arena = arena };
    search->priority = priority != NULL ? priority->value : 0;
    search->across = priority != NULL && priority->preempt_across;
    search->min_run_ms = platform != NULL ? platform->min_run_ms : 0;
    ledger_copy(&search->leaving, &estate->leaving, arena);
    ledger_copy(&search->balance, &estate->balance, arena);
    booking_charge(estate, bars, &search->balance);
    search->abroad =
        search->across ||
        right_across(search, world_platform_ref(world))->may;
}

/* A minimal set of the candidates, in their order, and the place. */
static bool
choose_set(struct search *search, struct reclaim_plan *plan_out)
{
    struct reclaim_victim *victims;
    struct placement placement;
    size_t count;

    if (search->count == 0)
        return false;
    victims = arena_alloc(search->arena, search->count * sizeof(*victims));
    count = name_victims(search, victims, &placement);
    if (count == 0)
        return false;
    count = leave_out(search, victims, count, &placement);
    for (size_t i = 0; i < count; i++)
        count_victim(search, &victims[i], -1);
    *plan_out = (struct reclaim_plan){ .victims = victims,
                                       .count = count,
                                       .placement = placement };
    return count > 0;
}

bool
reclaim_find(struct estate *estate, const struct workload *workload,
             const struct demand *demand,
             const struct place_request *request,
             const struct booking_bars *bars, struct arena *arena,
             struct reclaim_plan *plan_out, struct outlook *outlook)
{
    struct search search;

    search_init(&search, estate, workload, demand, request, bars, arena);
    list_candidates(&search);
    outlook->rivals |= search.abroad;
    /* More use around a candidate may let its nodes spare it. */
    outlook->claims |= search.count > 0 || reclaim_is_claimant(estate, demand);
    if (search.protected_ms > 0 && (outlook->due_ms == 0 ||
                                    search.protected_ms < outlook->due_ms))
        outlook->due_ms = search.protected_ms;
    return choose_set(&search, plan_out);
}

bool
reclaim_loans(struct estate *estate, const struct workload *workload,
              const struct demand *demand,
              const struct place_request *request,
              const struct booking_bars *bars, const uint32_t *runs,
              size_t count, struct arena *arena,
              struct reclaim_plan *plan_out)
{
    struct search search;

    search_init(&search, estate, workload, demand, request, bars, arena);
    search.list = arena_alloc(arena, count * sizeof(*search.list));
    for (size_t i = 0; i < count; i++) {
        struct candidate candidate = { .victim.run = runs[i],
                                       .victim.rule = RECLAIM_LOAN };

        if (!fill_candidate(&search, &candidate))
            continue;
        search.list[search.count++] = candidate;
    }
    return choose_set(&search, plan_out);
}
