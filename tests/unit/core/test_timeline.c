/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/timeline.h"

#define MINUTE INT64_C(60000)

static void
spans_that_meet_do_not_overlap(void **state)
{
    scoped_arena arena = arena_new();
    struct timeline line;
    int64_t at_ms = 0;

    (void)state;
    timeline_init(&line, arena);
    timeline_add(&line, 10, 20, 3);
    timeline_add(&line, 20, 30, 4);
    timeline_add(&line, 40, TIMELINE_OPEN, 1);
    timeline_add(&line, 50, 50, 99);
    timeline_add(&line, 60, 55, 99);
    timeline_seal(&line);
    assert_int_equal(timeline_level(&line, 9), 0);
    assert_int_equal(timeline_level(&line, 10), 3);
    assert_int_equal(timeline_level(&line, 19), 3);
    assert_int_equal(timeline_level(&line, 20), 4);
    assert_int_equal(timeline_level(&line, 30), 0);
    assert_int_equal(timeline_level(&line, 1000), 1);
    assert_int_equal(timeline_peak(&line, 0, 20, &at_ms), 3);
    assert_int_equal(at_ms, 10);
    assert_int_equal(timeline_peak(&line, 0, 21, &at_ms), 4);
    assert_int_equal(at_ms, 20);
    assert_int_equal(timeline_peak(&line, 25, 25, NULL), 4);
    assert_int_equal(timeline_peak(&line, 30, 40, NULL), 0);
}

/* Level 3 in [10,20), 4 in [20,30), 0 in [30,40), 1 from 40 on. */
static void
the_earliest_start_holds_for_the_whole_time(void **state)
{
    scoped_arena arena = arena_new();
    struct timeline line;

    (void)state;
    timeline_init(&line, arena);
    timeline_add(&line, 10, 20, 3);
    timeline_add(&line, 20, 30, 4);
    timeline_add(&line, 40, TIMELINE_OPEN, 1);
    timeline_seal(&line);
    assert_int_equal(timeline_earliest(&line, 0, 10, 2), 0);
    assert_int_equal(timeline_earliest(&line, 0, 11, 2), 30);
    assert_int_equal(timeline_earliest(&line, 0, 20, 3), 0);
    assert_int_equal(timeline_earliest(&line, 0, 21, 3), 30);
    assert_int_equal(timeline_earliest(&line, 5, 10, 0), 30);
    assert_int_equal(timeline_earliest(&line, 5, 11, 0), TIMELINE_NEVER);
    assert_int_equal(timeline_earliest(&line, 0, TIMELINE_OPEN, 1), 30);
    assert_int_equal(timeline_earliest(&line, 0, TIMELINE_OPEN, 0),
                     TIMELINE_NEVER);
    assert_int_equal(timeline_earliest(&line, 70, TIMELINE_OPEN, 1), 70);
}

static void
an_empty_line_is_free_at_once(void **state)
{
    scoped_arena arena = arena_new();
    struct timeline line;

    (void)state;
    timeline_init(&line, arena);
    timeline_seal(&line);
    assert_int_equal(timeline_level(&line, 5), 0);
    assert_int_equal(timeline_peak(&line, 0, TIMELINE_OPEN, NULL), 0);
    assert_int_equal(timeline_earliest(&line, 7, TIMELINE_OPEN, 0), 7);
}

static void
ends_are_rounded_up_and_never_wrap(void **state)
{
    (void)state;
    assert_int_equal(timeline_round_up(0), 0);
    assert_int_equal(timeline_round_up(1), MINUTE);
    assert_int_equal(timeline_round_up(MINUTE), MINUTE);
    assert_int_equal(timeline_round_up(MINUTE + 1), 2 * MINUTE);
    assert_int_equal(timeline_round_up(TIMELINE_OPEN), TIMELINE_OPEN);
    assert_int_equal(timeline_after(5, TIMELINE_OPEN), TIMELINE_OPEN);
    assert_int_equal(timeline_after(5, 6), 11);
}

/* --- against counting instant by instant --- */

#define INSTANTS 40
#define SPANS 12

struct plain {
    int64_t level[INSTANTS + 1]; /* the last: for ever after */
};

static uint64_t seed;

static int
pick(int below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)below);
}

static void
put_span(struct timeline *line, struct plain *plain)
{
    int from = pick(INSTANTS), to = pick(INSTANTS + 6);
    int64_t amount = 1 + pick(4);

    timeline_add(line, from, to > INSTANTS ? TIMELINE_OPEN : to, amount);
    for (int i = from; i < to && i <= INSTANTS; i++)
        plain->level[i] += amount;
}

static int64_t
plain_level(const struct plain *plain, int at)
{
    return plain->level[at < INSTANTS ? at : INSTANTS];
}

static int64_t
plain_peak(const struct plain *plain, int from, int to)
{
    int64_t peak = plain_level(plain, from);

    for (int i = from; i < to; i++)
        if (plain_level(plain, i) > peak)
            peak = plain_level(plain, i);
    return peak;
}

static int64_t
plain_earliest(const struct plain *plain, int from, int duration,
               int64_t most)
{
    for (int at = from; at <= INSTANTS; at++)
        if (plain_peak(plain, at, at + duration) <= most)
            return at;
    return TIMELINE_NEVER;
}

static void
every_answer_is_that_of_plain_counting(void **state)
{
    (void)state;
    seed = 4711;
    for (int round = 0; round < 400; round++) {
        scoped_arena arena = arena_new();
        struct plain plain = { { 0 } };
        struct timeline line;

        timeline_init(&line, arena);
        for (int i = pick(SPANS); i > 0; i--)
            put_span(&line, &plain);
        timeline_seal(&line);
        for (int i = 0; i < 60; i++) {
            int from = pick(INSTANTS), to = from + 1 + pick(20);
            int64_t most = pick(12);

            assert_int_equal(timeline_level(&line, from),
                             plain_level(&plain, from));
            assert_int_equal(timeline_peak(&line, from, to, NULL),
                             plain_peak(&plain, from, to));
            assert_int_equal(
                timeline_earliest(&line, from, to - from, most),
                plain_earliest(&plain, from, to - from, most));
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_that_meet_do_not_overlap),
        cmocka_unit_test(the_earliest_start_holds_for_the_whole_time),
        cmocka_unit_test(an_empty_line_is_free_at_once),
        cmocka_unit_test(ends_are_rounded_up_and_never_wrap),
        cmocka_unit_test(every_answer_is_that_of_plain_counting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
