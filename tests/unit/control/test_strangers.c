/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/control/harness.h"

#include "control/journal.h"
#include "control/strangers.h"

/* A flood of failures of nobody known stays in its bounds. */

#define NOW INT64_C(1796040000000)

static struct strangers strangers;

static int
setup(void **state)
{
    (void)state;
    memset(&strangers, 0, sizeof(strangers));
    return 0;
}

static void
fail_from(unsigned host, int64_t now_ms)
{
    char ip[32];

    (void)snprintf(ip, sizeof(ip), "192.0.2.%u", host);
    strangers_add(&strangers, ip, "session.create", "no such account",
                  now_ms);
}

static void
equal_failures_of_a_minute_are_one_line(void **state)
{
    const struct stranger *line;

    (void)state;
    for (int i = 0; i < 1000; i++)
        fail_from(1, NOW + i);
    fail_from(2, NOW + 1000);
    fail_from(1, NOW + 60000);
    line = strangers_at(&strangers, 2);
    assert_string_equal(line->ip, "192.0.2.1");
    assert_int_equal(line->count, 1000);
    assert_int_equal(line->last_ms - line->first_ms, 999);
    assert_int_equal(strangers_at(&strangers, 0)->count, 1);
    assert_null(strangers_at(&strangers, 3));
    assert_int_equal(strangers.dropped, 0);
}

static void
a_minute_has_a_bounded_number_of_lines_and_the_rest_is_counted(void **state)
{
    (void)state;
    for (unsigned i = 0; i < STRANGERS_NEW + 36; i++)
        fail_from(i, NOW);
    assert_int_equal(strangers.dropped, 36);
    assert_non_null(strangers_at(&strangers, STRANGERS_NEW - 1));
    assert_null(strangers_at(&strangers, STRANGERS_NEW));
    /* Those that have a line are still counted there. */
    fail_from(0, NOW + 1);
    assert_int_equal(strangers_at(&strangers, STRANGERS_NEW - 1)->count, 2);
}

static void
the_newest_lines_stay(void **state)
{
    (void)state;
    for (unsigned i = 0; i < STRANGERS_MAX + 10; i++)
        fail_from(i, NOW + (int64_t)i * STRANGERS_WINDOW_MS);
    assert_string_equal(strangers_at(&strangers, 0)->ip, "192.0.2.265");
    assert_string_equal(strangers_at(&strangers, STRANGERS_MAX - 1)->ip,
                        "192.0.2.10");
    assert_null(strangers_at(&strangers, STRANGERS_MAX));
}

static void
what_was_saved_is_loaded_and_damage_is_refused(void **state)
{
    struct stranger bytes[STRANGERS_MAX];
    size_t size;
    struct error err;

    (void)state;
    for (unsigned i = 0; i < 100; i++)
        fail_from(i, NOW);
    size = strangers_size(&strangers);
    assert_int_equal(size, 64 * sizeof(struct stranger));
    strangers_save(&strangers, bytes);
    memset(&strangers, 0, sizeof(strangers));
    assert_int_equal(strangers_load(&strangers, 36, bytes, size, &err), 0);
    assert_string_equal(strangers_at(&strangers, 0)->ip, "192.0.2.63");
    assert_int_equal(strangers.dropped, 36);
    assert_int_equal(strangers_load(&strangers, 36, bytes, size - 1, &err),
                     -1);
    memset(bytes[0].reason, 'x', sizeof(bytes[0].reason));
    assert_int_equal(strangers_load(&strangers, 36, bytes, size, &err), -1);
}

/* --- in the control plane --- */

static void
fail_often(struct loop *loop, struct arena *arena, void *data)
{
    const struct request request = { .ip = "192.0.2.7" };

    (void)arena;
    (void)data;
    for (int i = 0; i < 500; i++)
        execute_anonymous(loop, &request, "session.create",
                          "no such account");
}

static void
flush(struct loop *loop, struct arena *arena, void *data)
{
    uint64_t *size = data;
    char platform[ID_TEXT_MAX];

    journal_flush(loop, arena, false);
    object_id_text(loop_world(loop), world_platform_ref(loop_world(loop)),
                   platform);
    *size = journal_size(loop_journal(loop), platform);
}

static void
look(struct loop *loop, struct arena *arena, void *data)
{
    (void)arena;
    *(uint64_t *)data =
        strangers_at(journal_strangers(loop_journal(loop)), 0)->count;
}

static void
a_flood_is_one_record_a_minute_and_outlives_a_restart(void **state)
{
    struct harness harness = { 0 };
    uint64_t before, after, count = 0;

    (void)state;
    harness_open(&harness);
    harness_run(&harness, flush, &before);
    for (int i = 0; i < 4; i++) {
        harness_run(&harness, fail_often, NULL);
        harness_pass(10000);
        harness_run(&harness, flush, &after);
        assert_int_equal(after, before);
    }
    harness_pass(30000);
    harness_run(&harness, flush, &after);
    assert_int_equal(after, before + 1);
    harness_restart(&harness);
    harness_run(&harness, look, &count);
    assert_int_equal(count, 2000);
    harness_close(&harness);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(equal_failures_of_a_minute_are_one_line,
                               setup),
        cmocka_unit_test_setup(
            a_minute_has_a_bounded_number_of_lines_and_the_rest_is_counted,
            setup),
        cmocka_unit_test_setup(the_newest_lines_stay, setup),
        cmocka_unit_test_setup(what_was_saved_is_loaded_and_damage_is_refused,
                               setup),
        cmocka_unit_test(a_flood_is_one_record_a_minute_and_outlives_a_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
