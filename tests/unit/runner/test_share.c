/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct share_table table;

static int
fresh(void **state)
{
    (void)state;
    memset(&table, 0, sizeof(table));
    return 0;
}

static const struct share_seen three[] = {
    { 100, 7, "in_a", 1, 1000, true },
    { 101, 7, "in_a", 1, 500, true },
    { 102, 8, "in_b", 1, 300, true },
};

static size_t
slot_of(pid_t pid)
{
    for (size_t i = 0; i < SHARE_SLOTS; i++)
        if (table.slots[i].live && table.slots[i].pid == pid)
            return i;
    return SHARE_SLOTS;
}

/* [N29] Whoever begins to look sees what everybody has. */
static void
the_table_is_made_from_what_is_on_the_card(void **state)
{
    (void)state;
    share_look(&table, three, 3);
    assert_int_equal(share_use_of(&table, "in_a", 1).used_mib, 1500);
    assert_int_equal(share_use_of(&table, "in_a", 1).processes, 2);
    assert_int_equal(share_use_of(&table, "in_b", 1).used_mib, 300);
    assert_int_equal(share_use_of(&table, "in_a", 2).processes, 0);
    assert_int_equal(share_use_of(&table, "", 0).processes, 0);
}

/* [N28] */
static void
a_survivor_keeps_its_slot_when_another_dies(void **state)
{
    const struct share_seen left[] = { three[1], three[2] };
    const struct share_seen more[] = { three[1], three[2],
                                       { 200, 9, "in_c", 1, 40, true } };
    size_t b, a;
    uint32_t generation;

    (void)state;
    share_look(&table, three, 3);
    a = slot_of(101);
    b = slot_of(102);
    generation = table.slots[slot_of(100)].generation;
    share_look(&table, left, 2);
    assert_int_equal(slot_of(101), a);
    assert_int_equal(slot_of(102), b);
    /* The place is given to the next one, as another generation. */
    share_look(&table, more, 3);
    assert_int_equal(slot_of(102), b);
    assert_int_equal(slot_of(200), 0);
    assert_int_equal(table.slots[0].generation, generation + 1);
    assert_int_equal(share_use_of(&table, "in_c", 1).used_mib, 40);
    assert_int_equal(share_use_of(&table, "in_a", 1).used_mib, 500);
}

/* [N28] The number was given to another process. */
static void
a_process_is_its_number_and_the_time_of_its_start(void **state)
{
    const struct share_seen again[] = { { 100, 99, "in_b", 4, 20, true } };

    (void)state;
    share_look(&table, three, 1);
    share_look(&table, again, 1);
    assert_int_equal(share_use_of(&table, "in_a", 1).processes, 0);
    assert_int_equal(share_use_of(&table, "in_b", 4).used_mib, 20);
    assert_int_equal(table.slots[0].generation, 2);
}

static int64_t
born_of(void *context, pid_t pid)
{
    const pid_t *dead = context;

    return pid == *dead ? -1 : pid == 102 ? 8 : 7;
}

/* [N31] The card does not answer; the kernel does. */
static void
what_has_ended_is_not_counted(void **state)
{
    pid_t dead = 100;

    (void)state;
    share_look(&table, three, 3);
    share_reap(&table, born_of, &dead);
    assert_int_equal(share_use_of(&table, "in_a", 1).used_mib, 500);
    assert_int_equal(share_use_of(&table, "in_b", 1).used_mib, 300);
    share_look(&table, NULL, 0);
    assert_int_equal(share_use_of(&table, "in_a", 1).processes, 0);
}

static void
more_processes_than_slots_are_counted_as_left_out(void **state)
{
    static struct share_seen many[SHARE_SLOTS + 3];

    (void)state;
    for (size_t i = 0; i < SHARE_SLOTS + 3; i++)
        many[i] = (struct share_seen){ (pid_t)(1000 + i), 5, "in_a", 1, 1,
                                       true };
    share_look(&table, many, SHARE_SLOTS + 3);
    assert_int_equal(table.left_out, 3);
    assert_int_equal(share_use_of(&table, "in_a", 1).used_mib, SHARE_SLOTS);
}

/* --- what follows --- */

static enum share_act
judge(struct share_state *state, bool stops, int64_t used, int64_t now_ms)
{
    const struct share_rule rule = { .limit_mib = 1000,
                                     .stops = stops,
                                     .grace_ms = 5000,
                                     .served = true,
                                     .attach_ms = 2000 };
    const struct share_use use = { .used_mib = used, .processes = 1 };
    char text[SHARE_TEXT_MAX];

    return share_judge(state, &rule, &use, now_ms, text);
}

/* [N32] */
static void
over_the_limit_is_warned_of_and_then_stopped(void **state)
{
    struct share_state of = { 0 };

    (void)state;
    assert_int_equal(judge(&of, true, 1000, 1000), SHARE_NOTHING);
    assert_int_equal(judge(&of, true, 1001, 2000), SHARE_WARN);
    assert_int_equal(judge(&of, true, 1001, 6999), SHARE_NOTHING);
    assert_int_equal(judge(&of, true, 1001, 7000), SHARE_STOP);
    /* Who gives back in time begins anew. */
    of = (struct share_state){ 0 };
    assert_int_equal(judge(&of, true, 1001, 2000), SHARE_WARN);
    assert_int_equal(judge(&of, true, 900, 3000), SHARE_CALM);
    assert_int_equal(judge(&of, true, 900, 3500), SHARE_NOTHING);
    assert_int_equal(judge(&of, true, 1001, 7000), SHARE_WARN);
}

static void
a_policy_that_only_warns_stops_nothing(void **state)
{
    struct share_state of = { 0 };

    (void)state;
    assert_int_equal(judge(&of, false, 5000, 1000), SHARE_WARN);
    assert_int_equal(judge(&of, false, 5000, 999000), SHARE_NOTHING);
}

/* [N42] */
static void
a_process_beside_the_server_is_stopped_whatever_the_policy(void **state)
{
    struct share_rule rule = { .limit_mib = 1000,
                               .served = true,
                               .attach_ms = 2000 };
    const struct share_seen seen[] = { { 100, 7, "in_a", 1, 10, true },
                                       { 101, 7, "in_a", 1, 10, false } };
    struct share_state of = { 0 };
    struct share_use use;
    char text[SHARE_TEXT_MAX];

    (void)state;
    share_look(&table, seen, 2);
    use = share_use_of(&table, "in_a", 1);
    assert_int_equal(use.loose, 1);
    assert_int_equal(share_judge(&of, &rule, &use, 1000, text), SHARE_NOTHING);
    assert_int_equal(share_judge(&of, &rule, &use, 2999, text), SHARE_NOTHING);
    assert_int_equal(share_judge(&of, &rule, &use, 3000, text), SHARE_STOP);
    assert_non_null(strstr(text, "process 101"));
    /* It attached after all. */
    of = (struct share_state){ .loose_ms = 1000 };
    use.loose = 0;
    assert_int_equal(share_judge(&of, &rule, &use, 9000, text), SHARE_NOTHING);
    assert_int_equal(of.loose_ms, 0);
    /* Without a server nobody is a client. */
    rule.served = false;
    use.loose = 1;
    assert_int_equal(share_judge(&of, &rule, &use, 99000, text),
                     SHARE_NOTHING);
}

static void
use_that_is_not_known_is_not_held_against_anybody(void **state)
{
    const struct share_seen seen[] = { { 100, 7, "in_a", 1, -1, true },
                                       { 101, 7, "in_a", 1, 10, true } };
    struct share_use use;

    (void)state;
    share_look(&table, seen, 2);
    use = share_use_of(&table, "in_a", 1);
    assert_int_equal(use.used_mib, 10);
    assert_int_equal(use.unknown, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, fresh)
        TEST(the_table_is_made_from_what_is_on_the_card),
        TEST(a_survivor_keeps_its_slot_when_another_dies),
        TEST(a_process_is_its_number_and_the_time_of_its_start),
        TEST(what_has_ended_is_not_counted),
        TEST(more_processes_than_slots_are_counted_as_left_out),
        TEST(over_the_limit_is_warned_of_and_then_stopped),
        TEST(a_policy_that_only_warns_stops_nothing),
        TEST(a_process_beside_the_server_is_stopped_whatever_the_policy),
        TEST(use_that_is_not_known_is_not_held_against_anybody),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
