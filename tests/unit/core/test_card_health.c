/* SPDX-License-Identifier: Apache-2.0 */
#include "core/card_health.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A card with flags of its own that asks for nothing; and one without. */
static const struct card_look fine = { HEALTH_HEALTHY, "", true, true, 10 };
static const struct card_look silent = { HEALTH_HEALTHY, "", false, false,
                                         10 };

static struct card_history
known(const struct card_look *look)
{
    struct card_history health;

    card_health_init(&health);
    card_health_look(&health, look, CARD_HEALTH_CLEAN, 1000);
    return health;
}

static bool
hear(struct card_history *health, int64_t number, int64_t pid, int64_t now_ms)
{
    return card_health_heard(
        health,
        &(struct card_event){
            { .number = number, .pid = pid, .instance = -1 }, now_ms, now_ms,
            1, NULL },
        now_ms);
}

static int
after(const struct card_look *look, int64_t number)
{
    struct card_history health = known(look);

    (void)hear(&health, number, 1, 2000);
    return health.health;
}

/* The node found it well for the nth time in a row. */
static void
look_well(struct card_history *health, const struct card_look *as, int64_t clean,
          int64_t now_ms)
{
    struct card_look look = *as;

    look.clean = clean;
    card_health_look(health, &look, CARD_HEALTH_CLEAN, now_ms);
}

static void
look_ill(struct card_history *health, int verdict, const char *reason,
         int64_t now_ms)
{
    card_health_look(health,
                     &(struct card_look){ verdict, reason, true, true, 0 },
                     CARD_HEALTH_CLEAN, now_ms);
}

static struct card_flags
clear_flags(void)
{
    struct card_flags flags;

    card_flags_clear(&flags);
    return flags;
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
    assert_int_equal(xid.instance, -1);
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

/* [N10]: each word of the card leads somewhere; one that nobody knows never
 * takes the card away. */
static void
every_action_of_the_card_has_a_consequence(void **state)
{
    static const int verdicts[] = { HEALTH_HEALTHY,  HEALTH_FAILED,
                                    HEALTH_FAILED,   HEALTH_DEGRADED,
                                    HEALTH_SUSPECT,  HEALTH_DEGRADED };
    struct card_flags flags = clear_flags();

    (void)state;
    assert_int_equal(card_health_flags(&flags).health, HEALTH_HEALTHY);
    for (int action = 0; action < 256; action++) {
        flags.recovery = action;
        assert_int_equal(card_health_flags(&flags).health,
                         action < 6 ? verdicts[action] : HEALTH_DEGRADED);
    }
}

static void
the_card_s_own_action_comes_first(void **state)
{
    struct card_flags flags = clear_flags();

    (void)state;
    /* A number condemns where the card says nothing ... */
    assert_int_equal(after(&silent, 95), HEALTH_FAILED);
    /* ... and not where it says that nothing is to be done. */
    assert_int_equal(after(&fine, 95), HEALTH_SUSPECT);
    /* The worst counts; of two that say the same, the action. */
    flags.recovery = 1;
    flags.remap_failed = 1;
    assert_string_equal(card_health_flags(&flags).reason,
                        "the card asks for a reset");
    flags.recovery = 4;
    assert_int_equal(card_health_flags(&flags).health, HEALTH_FAILED);
}

/* Heat is told apart from the card's own trouble; what software limits is no
 * fault. */
static void
slow_clocks_say_why(void **state)
{
    struct card_flags flags = clear_flags();

    (void)state;
    flags.clock_reasons = 1 | 2 | 4 | 32;
    assert_int_equal(card_health_flags(&flags).health, HEALTH_HEALTHY);
    flags.clock_reasons = 8 | 64;
    assert_int_equal(card_health_flags(&flags).health, HEALTH_SUSPECT);
    assert_string_equal(card_health_flags(&flags).reason,
                        "hardware holds its clocks down for heat: look at the "
                        "cooling");
    flags.clock_reasons = 8 | 128;
    assert_string_equal(card_health_flags(&flags).reason,
                        "hardware holds its clocks down by the power brake: "
                        "look at the power supply");
    flags.clock_reasons = 8;
    assert_string_equal(card_health_flags(&flags).reason,
                        "hardware holds its clocks down");
}

/* [N15] [N17] */
static void
rows_are_judged_by_flags_not_by_events(void **state)
{
    struct card_flags flags = clear_flags();
    struct card_history health = known(&fine);

    (void)state;
    for (int64_t i = 0; i < 5; i++) {
        (void)hear(&health, 63, i, 2000);
        (void)hear(&health, 64, i, 2000);
    }
    assert_int_equal(health.health, HEALTH_HEALTHY);
    /* Where there are no flags the event has to do. */
    assert_int_equal(after(&silent, 63), HEALTH_DEGRADED);
    flags.remap_pending = 1;
    assert_int_equal(card_health_flags(&flags).health, HEALTH_SUSPECT);
    flags.remap_failed = 1;
    assert_int_equal(card_health_flags(&flags).health, HEALTH_FAILED);
    /* Terminal: as long as the flag is there no reset and no look helps. */
    for (int i = 0; i < 10; i++)
        look_ill(&health, HEALTH_FAILED, "rows", 4000 + i);
    card_health_reset(&health, 5000);
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
    look_well(&health, &silent, 1, 3000);
    look_well(&health, &silent, 2, 4000);
    assert_int_equal(health.health, HEALTH_FAILED);
    /* It is heard again: the node counts anew. */
    assert_false(hear(&health, 48, 7, 5000));
    assert_int_equal(health.health, HEALTH_FAILED);
    look_well(&health, &silent, 1, 6000);
    look_well(&health, &silent, 2, 7000);
    assert_int_equal(health.health, HEALTH_FAILED);
    look_well(&health, &silent, 3, 8000);
    assert_int_equal(health.health, HEALTH_HEALTHY);
    assert_int_equal(health.since_ms, 8000);
    assert_int_equal(strncmp(health.reason, "Xid 48: ", 8), 0);
    assert_int_equal(health.past_count, 3);
    assert_int_equal(health.past[1].health, HEALTH_FAILED);
    assert_int_equal(health.past[1].at_ms, 2000);
}

/* What its flags say ends only after clean looks, too: a card at the edge of
 * heat does not come and go. */
static void
flags_that_flicker_hold(void **state)
{
    struct card_history health = known(&fine);

    (void)state;
    look_ill(&health, HEALTH_SUSPECT, "heat", 2000);
    look_well(&health, &fine, 1, 3000);
    look_well(&health, &fine, 2, 4000);
    assert_int_equal(health.health, HEALTH_SUSPECT);
    look_ill(&health, HEALTH_SUSPECT, "heat", 5000);
    look_well(&health, &fine, 2, 6000);
    assert_int_equal(health.health, HEALTH_SUSPECT);
    look_well(&health, &fine, 3, 7000);
    assert_int_equal(health.health, HEALTH_HEALTHY);
    /* Less bad is believed at once. */
    look_ill(&health, HEALTH_FAILED, "asks for a reset", 8000);
    look_ill(&health, HEALTH_SUSPECT, "waits", 9000);
    assert_int_equal(health.health, HEALTH_SUSPECT);
}

/* Told again after a restart, an error of before condemns nobody; the same
 * error that happens again does. */
static void
what_is_settled_counts_no_more(void **state)
{
    struct card_history health = known(&silent);

    (void)state;
    (void)hear(&health, 48, 7, 2000);
    look_well(&health, &silent, 3, 8000);
    assert_int_equal(health.health, HEALTH_HEALTHY);
    assert_false(hear(&health, 48, 7, 2000));
    assert_int_equal(health.health, HEALTH_HEALTHY);
    assert_false(hear(&health, 48, 7, 9500));
    assert_int_equal(health.health, HEALTH_FAILED);
    card_health_reset(&health, 10000);
    assert_int_equal(health.health, HEALTH_HEALTHY);
    /* Also when what was seen had to make room. */
    health.seen_count = 0;
    assert_false(hear(&health, 48, 7, 9500));
    assert_int_equal(health.health, HEALTH_HEALTHY);
}

/* What is not known is not healthy, and no better than it was. */
static void
a_look_that_tells_nothing_is_no_good_news(void **state)
{
    struct card_history health = known(&fine);

    (void)state;
    card_health_look(&health,
                     &(struct card_look){ HEALTH_UNKNOWN, "no answer", false,
                                          false, 0 },
                     CARD_HEALTH_CLEAN, 2000);
    assert_int_equal(health.health, HEALTH_UNKNOWN);
    assert_string_equal(health.reason, "no answer");
    look_well(&health, &fine, 1, 3000);
    assert_int_equal(health.health, HEALTH_HEALTHY);
    look_ill(&health, HEALTH_FAILED, "rows", 4000);
    card_health_look(&health,
                     &(struct card_look){ HEALTH_UNKNOWN, "no answer", false,
                                          false, 0 },
                     CARD_HEALTH_CLEAN, 5000);
    assert_int_equal(health.health, HEALTH_FAILED);
    assert_string_equal(health.reason, "rows");
}

static void
hear_slice(struct card_history *health, int64_t number, int64_t instance,
           const char *slice, int64_t now_ms)
{
    (void)card_health_heard(
        health,
        &(struct card_event){
            { .number = number, .pid = -1, .instance = instance }, now_ms,
            now_ms, 1, slice },
        now_ms);
}

/* [N40]: exactly the slice that it is about; the card when it cannot be told
 * which. */
static void
a_slice_s_fault_is_that_slice_s(void **state)
{
    struct card_history health = known(&silent);

    (void)state;
    hear_slice(&health, 48, 3, "1g.10gb@2", 2000);
    assert_int_equal(health.health, HEALTH_HEALTHY);
    assert_int_equal(health.slice_count, 1);
    assert_string_equal(health.slices[0].name, "1g.10gb@2");
    assert_int_equal(health.slices[0].health, HEALTH_FAILED);
    hear_slice(&health, 31, 4, "1g.10gb@4", 2100);
    assert_int_equal(health.slice_count, 1);
    hear_slice(&health, 48, 3, "1g.10gb@2", 9000);
    assert_int_equal(health.slice_count, 1);
    look_well(&health, &silent, 2, 10000);
    assert_int_equal(health.slice_count, 1);
    look_well(&health, &silent, 3, 11000);
    assert_int_equal(health.slice_count, 0);
    hear_slice(&health, 48, 5, "", 12000);
    assert_int_equal(health.health, HEALTH_SUSPECT);
    (void)hear(&health, 79, -1, 13000);
    assert_int_equal(health.health, HEALTH_FAILED);
}

static void
a_person_s_word_stands_until_it_is_taken_back(void **state)
{
    struct card_history health = known(&fine);

    (void)state;
    card_health_set(&health, HEALTH_DEGRADED, "noisy fan", 2000);
    assert_int_equal(health.health, HEALTH_DEGRADED);
    look_well(&health, &fine, 10, 3000);
    card_health_reset(&health, 4000);
    assert_int_equal(health.health, HEALTH_DEGRADED);
    assert_string_equal(health.reason, "noisy fan");
    card_health_set(&health, HEALTH_HEALTHY, "fan replaced", 5000);
    assert_int_equal(health.health, HEALTH_HEALTHY);
    /* It settles what was heard, and not what the card says. */
    look_ill(&health, HEALTH_FAILED, "rows", 6000);
    (void)hear(&health, 119, -1, 6000);
    card_health_set(&health, HEALTH_HEALTHY, "looks good", 7000);
    assert_int_equal(health.health, HEALTH_FAILED);
    assert_string_equal(health.reason, "rows");
    assert_int_equal(health.heard, HEALTH_HEALTHY);
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

/* What is kept is bounded, and what leaves a mark stays longest. */
static void
faults_of_programs_push_nothing_out(void **state)
{
    struct card_history health = known(&silent);

    (void)state;
    (void)hear(&health, 48, 7, 2000);
    for (int64_t i = 0; i < 1000; i++)
        (void)hear(&health, 31, i, 3000 + i);
    assert_int_equal(health.seen_count, CARD_HEALTH_SEEN);
    assert_int_equal(health.seen[0].number, 48);
    assert_int_equal(health.health, HEALTH_FAILED);
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
        cmocka_unit_test(every_action_of_the_card_has_a_consequence),
        cmocka_unit_test(the_card_s_own_action_comes_first),
        cmocka_unit_test(slow_clocks_say_why),
        cmocka_unit_test(rows_are_judged_by_flags_not_by_events),
        cmocka_unit_test(what_ended_by_itself_is_over),
        cmocka_unit_test(clean_looks_lead_back),
        cmocka_unit_test(a_card_that_nobody_looked_at_is_unknown),
        cmocka_unit_test(a_bad_link_hurts_work_on_several_cards_only),
        cmocka_unit_test(flags_that_flicker_hold),
        cmocka_unit_test(what_is_settled_counts_no_more),
        cmocka_unit_test(a_look_that_tells_nothing_is_no_good_news),
        cmocka_unit_test(a_slice_s_fault_is_that_slice_s),
        cmocka_unit_test(a_person_s_word_stands_until_it_is_taken_back),
        cmocka_unit_test(faults_of_programs_push_nothing_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
