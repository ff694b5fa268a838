/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "engine/sync.h"

#define ID "in_aaaaaaaaaaaaaaaaaaaaaaaaaa"

static const char *const cards[] = { "GPU-1", "GPU-2" };
static const struct report_card card = {
    .uuid = "GPU-1",       .vendor = "nvidia",
    .model = "H100-80GB",  .pci = "0000:10:00.0",
    .driver = "sim",       .island = "0",
    .firmware = "96.00.74", .arch = "hopper sm_90",
    .serial = "13200",     .domain = "ab/7",
    .memory_mib = 81559,   .compute_units = 132,
    .numa = -1,            .health = REPORT_DEGRADED,
    .health_reason = "hot", .foreign = 1,
    .foreign_name = "miner", .foreign_pid = 4711,
    .foreign_uid = -1,
    .sliced = true,
    .layout = "1g.10gb@0", .foreign_slices = "1g.10gb@0",
    .change = "remove 1g.10gb@0", .change_failure = "busy",
};
static const struct report_inventory inventory = {
    true, 8000, 16384, "{\"kernel\":\"6.1\"}", "{\"cores\":4}", &card, 1, NULL, 0
};
static const struct report_instance instance = {
    ID, 2, REPORT_EXITED, "it \"fell\"", true, 137, true, 5, 40, 1000,
    "0-3", "0", "eth0", true, cards, 2, { 10000, 95, 5, 7, 8, -1 },
    { 0, 0, 0 }
};
static const struct report_release release = { ID, 2, cards, 2 };
static const struct report_step step = { "scrub", 1000, 2500, true,
                                         "A5, 00" };
static const struct report_scrub scrub = { "GPU-1", true, "patterns", &step, 1 };
static const struct report_volume volume = {
    "vo_aaaaaaaaaaaaaaaaaaaaaaaaaa", REPORT_VOLUME_FAILED, "full"
};
static const struct report_log piece = { 9, "a\0b", 3, 12, true, false, "" };

static const struct report_event event = {
    144, 4242, 3, "1g.10gb@2", 1000, 2000, 800000, true, 0x21, 2
};
static const struct report_look look = {
    "GPU-1", 1500, REPORT_DEGRADED, "hot", true, true, 2, 81,
    300000,  17,   80000,           5,     0,    64,   &event, 1
};

static struct sync
full(void)
{
    return (struct sync){
        .known = "abc",
        .wait_ms = 10000,
        .challenge = "c0ffee",
        .report = { &inventory, true, true, &instance, 1, &release, 1, &scrub, 1,
                    &volume, 1, &piece, 1, &look, 1 },
    };
}

static void
everything_is_read_as_it_was_written(void **state)
{
    struct arena *arena = arena_new();
    struct sync sync = full(), out;
    struct buffer bytes = { 0 }, again = { 0 };
    struct error err;

    (void)state;
    sync_write(&bytes, &sync);
    assert_int_equal(sync_parse(arena, bytes.bytes, bytes.size, &out, &err),
                     0);
    assert_int_equal(out.wait_ms, 10000);
    assert_true(out.report.ready);
    assert_int_equal(out.report.inventory->cards[0].foreign_pid, 4711);
    assert_int_equal(out.report.inventory->cards[0].foreign_uid, -1);
    assert_int_equal(out.report.inventory->cards[0].health, REPORT_DEGRADED);
    assert_int_equal(out.report.instances[0].exit_code, 137);
    assert_true(out.report.instances[0].oom);
    assert_int_equal(out.report.instances[0].card_count, 2);
    assert_string_equal(out.report.instances[0].cards[1], cards[1]);
    assert_string_equal(out.report.instances[0].failure, "it \"fell\"");
    assert_string_equal(out.report.releases[0].cards[1], "GPU-2");
    assert_int_equal(out.report.volumes[0].state, REPORT_VOLUME_FAILED);
    assert_memory_equal(out.report.logs[0].bytes, "a\0b", 3);
    assert_int_equal(out.report.look_count, 1);
    assert_int_equal(out.report.looks[0].temperature_c, 81);
    assert_int_equal(out.report.looks[0].events[0].count, 800000);
    assert_string_equal(out.report.looks[0].events[0].slice, "1g.10gb@2");
    sync_write(&again, &out);
    assert_string_equal(bytes.bytes, again.bytes);
    buffer_release(&bytes);
    buffer_release(&again);
    arena_free(arena);
}

static void
lists_that_are_not_there_say_nothing(void **state)
{
    struct arena *arena = arena_new();
    struct sync sync = { .known = "", .challenge = "" }, out;
    struct buffer bytes = { 0 };
    struct error err;

    (void)state;
    sync_write(&bytes, &sync);
    assert_int_equal(sync_parse(arena, bytes.bytes, bytes.size, &out, &err),
                     0);
    assert_false(out.report.instances_known);
    assert_null(out.report.inventory);
    assert_int_equal(out.report.release_count, 0);
    buffer_release(&bytes);
    arena_free(arena);
}

/* Writes a full message, changes one value, and gives what reading says. */
static int
read_changed(const char *list, const char *key, json_t *value,
             struct error *err)
{
    struct arena *arena = arena_new();
    struct sync sync = full(), out;
    struct buffer bytes = { 0 }, changed = { 0 };
    json_t *object, *at;
    int result;

    sync_write(&bytes, &sync);
    object = json_read(bytes.bytes, bytes.size, err);
    at = list == NULL ? object : json_object_get(object, list);
    if (json_is_array(at))
        at = json_array_get(at, 0);
    if (value == NULL)
        (void)json_object_del(at, key);
    else
        (void)json_object_set_new(at, key, value);
    json_write(&changed, object);
    result = sync_parse(arena, changed.bytes, changed.size, &out, err);
    json_decref(object);
    buffer_release(&bytes);
    buffer_release(&changed);
    arena_free(arena);
    return result;
}

static void
refused(const char *list, const char *key, json_t *value)
{
    struct error err;

    if (read_changed(list, key, value, &err) == 0)
        fail_msg("%s/%s was taken", list != NULL ? list : "", key);
    assert_true(err.code == ERROR_INVALID || err.code == ERROR_TOO_LARGE);
}

static void
hostile_values_are_refused(void **state)
{
    (void)state;
    refused(NULL, "protocol", json_integer(2));
    refused(NULL, "protocol", NULL);
    refused(NULL, "extra", json_true());
    refused(NULL, "wait_ms", json_integer(10001));
    refused(NULL, "wait_ms", json_string("1"));
    refused(NULL, "instances", json_object());
    refused(NULL, "challenge", json_string("a\nb"));
    refused("instances", "instance", json_string(""));
    refused("instances", "instance", json_string("../etc"));
    refused("instances", "instance",
            json_string("in_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
    refused("instances", "incarnation", json_integer(0));
    refused("instances", "incarnation", json_integer(INT64_MAX));
    refused("instances", "exit_code", json_integer(256));
    refused("instances", "exit_code", json_integer(-1));
    refused("instances", "state", json_string("dead"));
    refused("instances", "cpu_us", json_integer(-5));
    refused("instances", "cpu_us", NULL);
    refused("instances", "checkpoint_step", json_integer(-2));
    refused("instances", "use", json_object());
    refused("instances", "use",
            json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "ms", 0, "cpu_us", 1,
                      "wait_us", 1, "io_kib", 1, "network_kib", 1,
                      "card_permille", 1));
    refused("instances", "use",
            json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "ms", 1, "cpu_us", -1,
                      "wait_us", 1, "io_kib", 1, "network_kib", 1,
                      "card_permille", 1));
    refused("releases", "cards", json_string("GPU-1"));
    refused("releases", "cards", json_pack("[i]", 1));
    refused("scrubs", "verified", json_integer(1));
    refused("volumes", "state", json_string("gone"));
    refused("logs", "bytes", json_string("no base64!"));
    refused("logs", "request", json_integer(0));
    refused("inventory", "cpu_milli", json_integer(0));
    refused("inventory", "cards", json_integer(3));
}

static void
an_error_names_the_place(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(read_changed("instances", "exit_code",
                                  json_integer(256), &err),
                     -1);
    assert_string_equal(err.field, "/instances/0/exit_code");
}

static void
a_log_piece_is_bounded(void **state)
{
    char *text = memory_new(REPORT_LOG_BYTES_MAX * 2, 1);

    (void)state;
    memset(text, 'A', REPORT_LOG_BYTES_MAX * 4 / 3 + 4);
    refused("logs", "bytes", json_string(text));
    free(text);
}

/* A start that failed with several coloured lines, in a limit's middle of a
 * character: the report must still be taken, or the node would be lost. */
static void
any_reason_can_be_reported(void **state)
{
    static const char *const reasons[] = { "line\nline \033[31mred\033[0m\t\x7F",
                                           "half a character: \xC3",
                                           "not UTF-8: \xFF\xFE" };
    char long_text[300] = "a";

    (void)state;
    for (size_t i = 1; i + 2 < sizeof(long_text); i += 2)
        memcpy(long_text + i, "\xC3\xA4", 2);
    for (size_t i = 0; i <= 3; i++) {
        struct arena *arena = arena_new();
        struct report_instance fact = instance;
        struct sync sync = full(), out;
        struct buffer bytes = { 0 };
        struct error err;

        fact.failure = i < 3 ? reasons[i] : long_text;
        sync.report.instances = &fact;
        sync_write(&bytes, &sync);
        assert_int_equal(
            sync_parse(arena, bytes.bytes, bytes.size, &out, &err), 0);
        assert_true(out.report.instances[0].failure[0] != '\0');
        buffer_release(&bytes);
        arena_free(arena);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read_as_it_was_written),
        cmocka_unit_test(lists_that_are_not_there_say_nothing),
        cmocka_unit_test(hostile_values_are_refused),
        cmocka_unit_test(an_error_names_the_place),
        cmocka_unit_test(a_log_piece_is_bounded),
        cmocka_unit_test(any_reason_can_be_reported),
    };

    return cmocka_run_group_tests_name("sync", tests, NULL, NULL);
}
