/* SPDX-License-Identifier: Apache-2.0 */
#include "core/card_health.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static const struct card_flags fine = { 0, 0, 0, 0, 0 };
static const struct card_flags silent = { -1, -1, -1, -1, -1 };

static struct card_history
known(const struct card_flags *flags)
{
    struct card_history health;

    card_health_init(&health);
    card_health_look(&health, flags, true, 1000);
    return health;
}

static bool
hear(struct card_history *health, int64_t number, int64_t pid, int64_t now_ms)
{
    return card_health_error(
        health, &(struct xid){ .number = number, .pid = pid }, now_ms);
}

static int
after(const struct card_flags *flags, int64_t number)
{
    struct card_history health = known(flags);

    (void)hear(&health, number, 1, 2000);
    return health.health;
}

/* --- lines --- */

static void
a_line_of_the_log_is_read(void **state)
{
    struct xid xid;

    (void)state;
    assert_true(xid_parse("[  12.3] NVRM: Xid (PCI:0000:C1:00): 31, pid=4242, "
                          "name=python, Ch 00000008, MMU Fault",
                          &xid));
    assert_int_equal(xid.number, 31);
    assert_int_equal(xid.pid, 4242);
    assert_string_equal(xid.card, "0000:c1:00.0");
    assert_true(xid_parse("NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', "
                          "name=<unknown>, GPU has fallen off the bus.",
                          &xid));
    assert_int_equal(xid.number, 79);
    assert_int_equal(xid.pid, -1);
    assert_false(xid_parse("NVRM: loading the module", &xid));
    assert_false(xid_parse("Xid (PCI:0000:41:00): 79", &xid));
    assert_false(xid_parse("NVRM: Xid (PCI:0000:41:00): many", &xid));
    assert_false(xid_parse("NVRM: Xid (PCI:", &xid));
}

/* [N6] */
static void
a_card_off_the_bus_needs_no_number(void **state)
{
    struct xid xid;

    (void)state;
    assert_true(xid_parse("NVRM: GPU 0000:41:00.0: GPU has fallen off the "
                          "bus.",
                          &xid));
    assert_int_equal(xid.number, XID_LOST);
    assert_string_equal(xid.card, "0000:41:00.0");
    assert_true(xid_parse("NVRM: The GPU has fallen off the bus.", &xid));
    assert_string_equal(xid.card, "");
}

static void
links_are_judged_by_unit_and_status(void **state)
{
    struct xid xid;

    (void)state;
    /* 144, unit SAW_MVB: bit 0 is ignored, bit 1 wants a reset. */
    assert_int_equal(xid_link(144, 0x21, 0x1), XID_IGNORED);
    assert_int_equal(xid_link(144, 0x21, 0x2), XID_RESET);
    assert_int_equal(xid_link(144, 0x21, 0x3), XID_RESET);
    /* A word that no unit has. */
    assert_int_equal(xid_link(144, 0x3F, 0x2), XID_NOTED);
    assert_true(xid_parse("NVRM: Xid (PCI:0018:01:00): 144, SAW_MVB Fatal XC0 "
                          "i0 Link 08 (0x00000021 0x00000002 0x0 0x0 0x0 0x0)",
                          &xid));
    assert_true(xid.has_words);
    assert_int_equal(xid.word, 0x21);
    assert_int_equal(xid.status, 2);
}

/* [N10]: each class leads somewhere, and what is in no list takes no card
 * away. */
static void
every_number_has_a_consequence(void **state)
{
    (void)state;
    for (int64_t number = 0; number < 1100; number++) {
        int health = after(&silent, number);

        assert_in_range(health, HEALTH_HEALTHY, HEALTH_FAILED);
        if (xid_class(number) == XID_CLASS_UNKNOWN ||
            xid_class(number) == XID_CLASS_UNUSED)
            assert_int_equal(health, HEALTH_DEGRADED);
        assert_true(xid_meaning(number)[0] != '\0');
    }
}

/* [N3] [N1] */
static void
a_program_s_own_fault_leaves_no_mark(void **state)
{
    static const int64_t numbers[] = { 13, 31, 43, 45, 69, 94 };
    struct card_history health = known(&fine);

    (void)state;
    for (size_t i = 0; i < 6; i++)
        for (int64_t j = 0; j < 1000; j++)
            (void)hear(&health, numbers[i], j, 2000 + j);
    assert_int_equal(health.health, HEALTH_HEALTHY);
    assert_false(health.links);
}

static void
the_card_s_own_action_comes_first(void **state)
{
    struct card_flags flags = fine;
    struct card_history health;

    (void)state;
    /* A number condemns where the card says nothing ... */
    assert_int_equal(after(&silent, 95), HEALTH_FAILED);
    /* ... and not where it says that nothing is to be done. */
    assert_int_equal(after(&fine, 95), HEALTH_SUSPECT);
    flags.recovery = 1;
    health = known(&flags);
    assert_int_equal(health.health, HEALTH_FAILED);
    assert_string_equal(health.reason, "the card asks for a reset");
    flags.recovery = 77;
    assert_int_equal(known(&flags).health, HEALTH_DEGRADED);
}

/* [N15] [N17] */
static void
rows_are_judged_by_flags_not_by_events(void **state)
{
    struct card_flags flags = fine;
    struct card_history health = known(&fine);

    (void)state;
    for (int64_t i = 0; i < 5; i++)
        (void)hear(&health, 63, i, 2000);
    assert_int_equal(health.health, HEALTH_HEALTHY);
    /* Where there are no flags the event has to do. */
    assert_int_equal(after(&silent, 63), HEALTH_DEGRADED);
    flags.remap_pending = 1;
    card_health_look(&health, &flags, true, 3000);
    assert_int_equal(health.health, HEALTH_SUSPECT);
    flags.remap_pending = 0;
    flags.remap_failed = 1;
    card_health_look(&health, &flags, true, 4000);
    card_health_reset(&health, 5000);
    for (int i = 0; i < 10; i++)
        card_health_look(&health, &flags, true, 6000 + i);
    assert_int_equal(health.health, HEALTH_FAILED);
    assert_int_equal(health.since_ms, 4000);
}

/* [N11] */
static void
what_ended_by_itself_is_over(void **state)
{
    struct card_history health = known(&silent);

    (void)state;
    (void)hear(&health, 163, -1, 2000);
    assert_int_equal(health.health, HEALTH_DEGRADED);
    (void)hear(&health, 162, -1, 3000);
    assert_int_equal(health.health, HEALTH_HEALTHY);
}

/* [N1]: the way back, which keeps the reason. */
static void
clean_looks_lead_back(void **state)
{
    struct card_history health = known(&silent);

    (void)state;
    (void)hear(&health, 48, 7, 2000);
    assert_int_equal(health.health, HEALTH_FAILED);
    card_health_look(&health, &silent, true, 3000);
    card_health_look(&health, &silent, true, 4000);
    assert_int_equal(health.health, HEALTH_FAILED);
    card_health_look(&health, &silent, false, 5000);
    card_health_look(&health, &silent, true, 6000);
    card_health_look(&health, &silent, true, 7000);
    assert_int_equal(health.health, HEALTH_FAILED);
    card_health_look(&health, &silent, true, 8000);
    assert_int_equal(health.health, HEALTH_HEALTHY);
    assert_int_equal(health.since_ms, 8000);
    assert_int_equal(strncmp(health.reason, "Xid 48: ", 8), 0);
}

/* [N2]: of a card that nobody has looked at nothing good is assumed. */
static void
a_card_that_nobody_looked_at_is_unknown(void **state)
{
    struct card_history health;

    (void)state;
    card_health_init(&health);
    assert_int_equal(health.health, HEALTH_UNKNOWN);
    (void)hear(&health, 31, 7, 1000);
    assert_int_equal(health.health, HEALTH_UNKNOWN);
    (void)hear(&health, 79, -1, 1000);
    assert_int_equal(health.health, HEALTH_FAILED);
}

static void
a_bad_link_hurts_work_on_several_cards_only(void **state)
{
    struct card_history health = known(&silent);

    (void)state;
    (void)hear(&health, 74, -1, 2000);
    assert_int_equal(health.health, HEALTH_HEALTHY);
    assert_true(health.links);
    card_health_reset(&health, 3000);
    assert_false(health.links);
}

/* [N8]: 800,000 lines, 29 of them different. */
static void
a_storm_of_errors_is_a_few_events(void **state)
{
    struct card_history health = known(&silent);
    clock_t from = clock();
    int64_t news = 0;
    int64_t total = 0;

    (void)state;
    for (int i = 0; i < 800000; i++) {
        char line[160];
        struct xid xid;

        (void)snprintf(line, sizeof(line),
                       "NVRM: Xid (PCI:0000:41:00): 95, pid=%d, name=train, "
                       "Uncontained memory error",
                       4000 + i % 29);
        assert_true(xid_parse(line, &xid));
        news += card_health_error(&health, &xid, 2000 + i / 100);
    }
    assert_true(clock() - from < CLOCKS_PER_SEC);
    assert_int_equal(news, 29);
    assert_int_equal(health.seen_count, 29);
    for (size_t i = 0; i < health.seen_count; i++)
        total += health.seen[i].count;
    assert_int_equal(total, 800000);
    assert_int_equal(health.seen[0].first_ms, 2000);
    assert_true(health.seen[28].last_ms >= 9999);
    assert_int_equal(health.health, HEALTH_FAILED);
    /* Another day it is news again; what is kept is bounded. */
    for (int64_t i = 0; i < 100; i++)
        assert_true(hear(&health, 95, 4000, 2000 + (i + 1) * 86400000));
    assert_int_equal(health.seen_count, CARD_HEALTH_SEEN);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_of_the_log_is_read),
        cmocka_unit_test(a_card_off_the_bus_needs_no_number),
        cmocka_unit_test(links_are_judged_by_unit_and_status),
        cmocka_unit_test(every_number_has_a_consequence),
        cmocka_unit_test(a_program_s_own_fault_leaves_no_mark),
        cmocka_unit_test(the_card_s_own_action_comes_first),
        cmocka_unit_test(rows_are_judged_by_flags_not_by_events),
        cmocka_unit_test(what_ended_by_itself_is_over),
        cmocka_unit_test(clean_looks_lead_back),
        cmocka_unit_test(a_card_that_nobody_looked_at_is_unknown),
        cmocka_unit_test(a_bad_link_hurts_work_on_several_cards_only),
        cmocka_unit_test(a_storm_of_errors_is_a_few_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
