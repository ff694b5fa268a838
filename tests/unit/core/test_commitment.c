/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/commitment.h"

#define HOUR COMMITMENT_HOUR_MS
#define T0 (INT64_C(500000) * HOUR)
/* Milli-card-ms of whole cards for an hour. */
#define HOURS(n) (INT64_C(1000) * HOUR * (n))

static struct commitment
commit(const char *model, int64_t cards, int64_t from_ms, int64_t to_ms)
{
    struct commitment made = { .cards = cards,
                               .from_ms = from_ms,
                               .to_ms = to_ms };

    (void)snprintf(made.model, sizeof(made.model), "%s", model);
    return made;
}

static struct commitment_use
use(int64_t from_ms, const char *model, int64_t quantity)
{
    return (struct commitment_use){ from_ms, model, quantity, -1 };
}

static void
use_is_covered_up_to_what_is_committed_in_its_hour(void **state)
{
    struct commitment two = commit("h100", 2, T0, T0 + 2 * HOUR);
    struct commitment_use uses[] = {
        use(T0, "h100", HOURS(1)),         /* below: all of it */
        use(T0 + HOUR, "h100", HOURS(3)),  /* above: two of three */
        use(T0 + 2 * HOUR, "h100", HOURS(1)), /* it has ended */
        use(T0, "a100", HOURS(1)),         /* another model */
    };

    (void)state;
    commitment_cover(&two, 1, uses, 4, T0 + 10 * HOUR);
    assert_int_equal(uses[0].covered, HOURS(1));
    assert_int_equal(uses[1].covered, HOURS(2));
    assert_int_equal(uses[2].covered, 0);
    assert_int_equal(uses[3].covered, 0);
    /* Committed and not used in the first hour is billed all the same. */
    assert_int_equal(commitment_quantity(&two, T0, T0 + 2 * HOUR), HOURS(4));
    assert_int_equal(commitment_quantity(&two, T0 - HOUR, T0), 0);
}

/* 4000 committed of 3 x 3000: 4/9 of each is 1333.3, one is left over, and the
 * first of equal remainders has it. */
static void
too_much_use_is_covered_in_proportion(void **state)
{
    struct commitment one = commit("", 1, T0, T0 + HOUR);
    struct commitment_use uses[] = {
        use(T0, "x", 3),
        use(T0 + 5, "y", 3),
        use(T0 + 9, "x", 3),
    };

    (void)state;
    commitment_cover(&one, 1, uses, 3, T0 + HOUR);
    for (int i = 0; i < 3; i++)
        assert_int_equal(uses[i].covered, 3);
    for (int i = 0; i < 3; i++)
        uses[i].quantity = 3000;
    /* The hour is settled up to now: 4 ms of a card are 4000. */
    commitment_cover(&one, 1, uses, 3, T0 + 4);
    assert_int_equal(uses[0].covered, 1334);
    assert_int_equal(uses[1].covered, 1333);
    assert_int_equal(uses[2].covered, 1333);
}

static void
that_of_a_model_comes_before_that_of_any(void **state)
{
    struct commitment list[] = { commit("", 1, T0, T0 + HOUR),
                                 commit("h100", 1, T0, T0 + HOUR) };
    struct commitment_use uses[] = { use(T0, "h100", HOURS(1)),
                                     use(T0, "a100", HOURS(1)) };

    (void)state;
    /* Were it the other way the a100 would be covered by half. */
    commitment_cover(list, 2, uses, 2, T0 + HOUR);
    assert_int_equal(uses[0].covered, HOURS(1));
    assert_int_equal(uses[1].covered, HOURS(1));
}

static uint64_t seed = 7;

static int64_t
below(int64_t bound)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (int64_t)((seed >> 33) % (uint64_t)bound);
}

/* For each hour and model: covered = min(used, committed), no use is covered
 * twice, and splitting the uses changes no sum. */
static void
covers_conserve_over_random_use(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct commitment list[3] = {
            commit("m", 1 + below(3), T0 + below(HOUR), T0 + 2 * HOUR),
            commit("m", 1, T0, T0 + HOUR + below(HOUR)),
            commit("other", 2, T0, T0 + 2 * HOUR),
        };
        struct commitment_use uses[40];
        size_t count = 1 + (size_t)below(40);
        int64_t used[2] = { 0 }, covered[2] = { 0 };

        for (size_t i = 0; i < count; i++) {
            uses[i] = use(T0 + below(2) * HOUR + below(HOUR), "m",
                          below(HOURS(1)));
            used[(uses[i].from_ms - T0) / HOUR] += uses[i].quantity;
        }
        commitment_cover(list, 3, uses, count, T0 + 2 * HOUR);
        for (size_t i = 0; i < count; i++) {
            assert_in_range(uses[i].covered, 0, uses[i].quantity);
            covered[(uses[i].from_ms - T0) / HOUR] += uses[i].covered;
        }
        for (int h = 0; h < 2; h++) {
            int64_t have =
                commitment_quantity(&list[0], T0 + h * HOUR,
                                    T0 + (h + 1) * HOUR) +
                commitment_quantity(&list[1], T0 + h * HOUR,
                                    T0 + (h + 1) * HOUR);

            assert_int_equal(covered[h], used[h] < have ? used[h] : have);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(use_is_covered_up_to_what_is_committed_in_its_hour),
        cmocka_unit_test(too_much_use_is_covered_in_proportion),
        cmocka_unit_test(that_of_a_model_comes_before_that_of_any),
        cmocka_unit_test(covers_conserve_over_random_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
