/* SPDX-License-Identifier: Apache-2.0 */
#include "core/usage.h"

#include "tests/unit/core/small.h"

#include "core/month.h"

/* Sum of quantity per usage class of the facts in a set. */
static int64_t
sum(const struct changes *changes, int usage, int *count_out)
{
    int64_t total = 0;

    *count_out = 0;
    for (size_t i = 0; i < changes->count; i++) {
        const struct object *object = changes->list[i].image;
        const struct fact *fact = changes->list[i].image;

        if (object == NULL || object->self.kind != KIND_FACT ||
            (usage >= 0 && fact->usage != usage))
            continue;
        assert_int_equal(hour_start(fact->from_ms),
                         hour_start(fact->to_ms - 1));
        total += fact->quantity;
        ++*count_out;
    }
    return total;
}

static void
a_card_s_time_is_conserved_and_cut_at_hours(void **state)
{
    struct small *small = *state;
    struct changes *changes;
    int count;

    small->now_ms += 10 * 60 * 1000;
    (void)small_bind(small, 250);
    small->now_ms += 100 * 60 * 1000; /* until 01:50 */
    changes = small_begin(small);
    usage_cut(changes, small->card);
    assert_int_equal(sum(changes, USAGE_BOUND, &count),
                     250 * INT64_C(100) * 60000);
    assert_int_equal(count, 2);
    assert_int_equal(sum(changes, USAGE_IDLE, &count),
                     750 * INT64_C(100) * 60000);
    assert_int_equal(sum(changes, -1, &count), 1000 * INT64_C(100) * 60000);
    world_apply(small->world, changes);
    changes = small_begin(small);
    usage_cut(changes, small->card);
    assert_int_equal(sum(changes, -1, &count), 0);
}

static void
card_time_counts_in_its_own_month(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);
    struct quota *quota =
        change_create(changes, KIND_QUOTA, small->project, "");
    struct ref ref = quota->object.self;

    quota->dimension = DIMENSION_CARD_TIME;
    world_apply(small->world, changes);
    small->now_ms = month_next(small->now_ms) - 1000;
    (void)small_bind(small, 1000);
    small->now_ms += 3000; /* two seconds into the next month */
    changes = small_begin(small);
    usage_cut(changes, small->card);
    world_apply(small->world, changes);
    assert_int_equal(world_quota(small->world, ref)->used, 2000 * 1000);
    assert_int_equal(world_quota(small->world, ref)->used_month_ms,
                     month_start(small->now_ms));
}

static void
a_new_price_begins_a_new_fact(void **state)
{
    struct small *small = *state;
    const struct fact *facts[4];
    struct changes *changes = small_begin(small);
    struct price *price =
        change_create(changes, KIND_PRICE, small->platform, "");
    int count = 0;

    price->nano = 7;
    price->from_ms = small->now_ms + 600000;
    world_apply(small->world, changes);
    small->now_ms += 900000;
    changes = small_begin(small);
    usage_cut(changes, small->card);
    for (size_t i = 0; i < changes->count && count < 4; i++)
        if (((const struct object *)changes->list[i].image)->self.kind ==
            KIND_FACT)
            facts[count++] = changes->list[i].image;
    assert_int_equal(count, 2);
    assert_int_equal(facts[0]->price_nano, 0);
    assert_int_equal(facts[0]->quantity, INT64_C(600000) * 1000);
    assert_int_equal(facts[1]->price_nano, 7);
    assert_int_equal(facts[1]->quantity, INT64_C(300000) * 1000);
    assert_int_equal(facts[0]->to_ms, facts[1]->from_ms);
}

/* A second passes; what was not bound in it is all of this class. */
static void
expect_class(struct small *small, enum usage_class usage)
{
    struct changes *changes;
    int count;

    small->now_ms += 1000;
    changes = small_begin(small);
    assert_int_equal(usage_remainder(changes, small->card), usage);
    usage_cut(changes, small->card);
    assert_int_equal(sum(changes, (int)usage, &count), 1000 * 1000);
    assert_int_equal(sum(changes, -1, &count), 1000 * 1000);
    world_apply(small->world, changes);
}

/* Cuts, then changes one member of the card or node. */
#define SET(type, member, value)                                               \
    do {                                                                       \
        struct changes *set = small_begin(small);                              \
        usage_cut(set, small->card);                                           \
        ((struct type *)change_update(set, small->type))->member = (value);    \
        world_apply(small->world, set);                                        \
    } while (0)

static void
what_is_not_bound_says_why(void **state)
{
    struct small *small = *state;
    struct changes *changes;
    struct hold *hold;

    SET(node, state, NODE_SCHEDULABLE);
    expect_class(small, USAGE_IDLE);
    SET(card, handover, HANDOVER_PENDING);
    expect_class(small, USAGE_SCRUB);
    SET(card, handover, HANDOVER_FAILED);
    expect_class(small, USAGE_UNHEALTHY);
    SET(card, handover, HANDOVER_CLEAN);
    changes = small_begin(small);
    usage_cut(changes, small->card);
    hold = change_create(changes, KIND_HOLD, small->workload, "");
    hold->card = small->card;
    hold->milli = 1000;
    world_apply(small->world, changes);
    expect_class(small, USAGE_RESERVED);
    SET(card, health, HEALTH_FAILED);
    expect_class(small, USAGE_UNHEALTHY);
    SET(node, state, NODE_MAINTENANCE);
    expect_class(small, USAGE_MAINTENANCE);
    SET(node, state, NODE_LOST);
    expect_class(small, USAGE_UNKNOWN);
}

#undef SET

static void
work_knows_the_card_time_that_it_has_used(void **state)
{
    struct small *small = *state;
    struct changes *changes;
    struct ref binding;

    small->now_ms += 1000;
    binding = small_bind(small, 250);
    small->now_ms += 4000;
    changes = small_begin(small);
    usage_end(changes, binding);
    usage_cut(changes, small->card); /* a second time at one time: nothing */
    world_apply(small->world, changes);
    assert_int_equal(world_workload(small->world, small->workload)->card_time,
                     250 * 4000);
}

/* The card of running work is cut when something about it changes, and when
 * all cards are.  What the work has used is told by the clock, so it says
 * nothing of that; nor does a version. */
static void
cuts_in_between_do_not_show_in_the_work(void **state)
{
    static const struct {
        int64_t at_ms, told;
    } cuts[] = {
        { 5000, 0 },         { 299999, 0 },      { 300000, 299000 },
        { 300001, 299000 },  { 899999, 599000 }, { 1000000, 899000 },
    };
    struct small *small = *state;
    int64_t start_ms = small->now_ms;
    struct changes *changes;
    struct ref binding;
    uint64_t version;

    small->now_ms = start_ms + 1000;
    binding = small_bind(small, 250);
    version = world_object(small->world, small->workload)->version;
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        small->now_ms = start_ms + cuts[i].at_ms;
        changes = small_begin(small);
        usage_cut(changes, small->card);
        world_apply(small->world, changes);
        assert_int_equal(
            world_workload(small->world, small->workload)->card_time,
            250 * cuts[i].told);
        assert_int_equal(world_binding(small->world, binding)->cut_ms,
                         small->now_ms);
    }
    assert_int_equal(world_object(small->world, small->workload)->version,
                     version);
    assert_int_equal(world_object(small->world, binding)->version, 1);
    small->now_ms = start_ms + 1000001;
    changes = small_begin(small);
    usage_end(changes, binding);
    world_apply(small->world, changes);
    assert_int_equal(world_workload(small->world, small->workload)->card_time,
                     250 * 999001);
}

/* Sends one count of input tokens; applies what was accepted. */
static enum usage_verdict
count_tokens(struct small *small, int64_t epoch, int64_t sequence,
             int64_t quantity)
{
    struct changes *changes = small_begin(small);
    struct usage_count count = {
        .source = "gateway-1",
        .epoch = epoch,
        .sequence = sequence,
        .meter = METER_TOKEN_IN,
        .quantity = quantity,
        .from_ms = small->now_ms - 1000,
        .to_ms = small->now_ms,
        .project = small->project,
        .model = "bigram",
    };
    enum usage_verdict verdict = USAGE_GAP;
    struct error err;

    digest_of(&quantity, sizeof(quantity), &count.digest);
    assert_int_equal(usage_count(changes, &count, &verdict, &err), 0);
    if (verdict == USAGE_ACCEPTED)
        assert_int_equal(changes->count, 2);
    else
        assert_true(change_is_empty(changes));
    world_apply(small->world, changes);
    return verdict;
}

static void
a_counter_is_taken_once_and_in_order(void **state)
{
    struct small *small = *state;

    small->now_ms += 5000;
    assert_int_equal(count_tokens(small, 1, 2, 10), USAGE_GAP);
    assert_int_equal(count_tokens(small, 1, 1, 10), USAGE_ACCEPTED);
    assert_int_equal(count_tokens(small, 1, 1, 10), USAGE_DUPLICATE);
    assert_int_equal(count_tokens(small, 1, 1, 11), USAGE_CONFLICT);
    assert_int_equal(count_tokens(small, 1, 3, 10), USAGE_GAP);
    assert_int_equal(count_tokens(small, 1, 2, 0), USAGE_ACCEPTED);
    assert_int_equal(count_tokens(small, 1, 1, 10), USAGE_OLDER);
    assert_int_equal(count_tokens(small, 2, 2, 10), USAGE_GAP);
    assert_int_equal(count_tokens(small, 2, 1, 10), USAGE_ACCEPTED);
    assert_int_equal(count_tokens(small, 1, 3, 10), USAGE_OLDER);
}

static void
counters_out_of_range_are_refused(void **state)
{
    struct small *small = *state;
    const struct usage_count good = {
        .source = "gateway-1",
        .epoch = 1,
        .sequence = 1,
        .meter = METER_REQUEST,
        .quantity = 1,
        .from_ms = small->now_ms,
        .to_ms = small->now_ms + 1000,
        .project = small->project,
        .model = "",
    };
    struct usage_count bad[7];
    enum usage_verdict verdict;
    struct error err;

    small->now_ms += 1000;
    for (size_t i = 0; i < 7; i++)
        bad[i] = good;
    bad[0].quantity = -1;
    bad[1].quantity = INT64_MAX;
    bad[2].to_ms = small->now_ms + 1;
    bad[3].from_ms -= HOUR_MS;
    bad[4].meter = METER_CARD_HOUR;
    bad[5].project = small->tenant;
    bad[6].source = "Not a name";
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(
            usage_count(small_begin(small), &bad[i], &verdict, &err), -1);
    assert_int_equal(usage_count(small_begin(small), &good, &verdict, &err), 0);
    assert_int_equal(verdict, USAGE_ACCEPTED);
}

static void
a_new_class_in_an_old_slot_starts_with_no_card_time(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);
    struct ref old = ((struct object *)change_create(
                         changes, KIND_CLASS, small->platform, "old"))
                         ->self;
    struct quota *quota;
    struct ref new, of_class, of_all, binding;

    world_apply(small->world, changes);
    binding = small_bind(small, 1000);
    changes = small_begin(small);
    ((struct binding *)change_update(changes, binding))->class = old;
    world_apply(small->world, changes);
    small->now_ms += 7000;
    changes = small_begin(small);
    usage_cut(changes, small->card);
    ((struct binding *)change_update(changes, binding))->class =
        (struct ref){ 0 };
    change_delete(changes, old);
    world_apply(small->world, changes);
    changes = small_begin(small);
    new = ((struct object *)change_create(changes, KIND_CLASS,
                                          small->platform, "new"))
              ->self;
    quota = change_create(changes, KIND_QUOTA, small->tenant, "");
    quota->dimension = DIMENSION_CARD_TIME;
    quota->class = new;
    of_class = quota->object.self;
    quota = change_create(changes, KIND_QUOTA, small->tenant, "");
    quota->dimension = DIMENSION_CARD_TIME;
    of_all = quota->object.self;
    world_apply(small->world, changes);
    assert_int_equal(new.index, old.index);
    assert_int_equal(world_quota(small->world, of_class)->used, 0);
    assert_int_equal(world_quota(small->world, of_all)->used, 7000 * 1000);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, small_open, small_close)
    static const struct CMUnitTest tests[] = {
        T(a_card_s_time_is_conserved_and_cut_at_hours),
        T(card_time_counts_in_its_own_month),
        T(a_new_class_in_an_old_slot_starts_with_no_card_time),
        T(a_new_price_begins_a_new_fact),
        T(what_is_not_bound_says_why),
        T(work_knows_the_card_time_that_it_has_used),
        T(cuts_in_between_do_not_show_in_the_work),
        T(a_counter_is_taken_once_and_in_order),
        T(counters_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
