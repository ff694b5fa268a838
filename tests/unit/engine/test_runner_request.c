/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/runner_request.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buffer.h"

#define DIGEST                                                                 \
    "sha256:"                                                                  \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEAD "{\"protocol\":1,\"op\":\"start\","
#define BASE                                                                   \
    "\"instance\":\"in_a\",\"incarnation\":3,\"tenant\":7,"                    \
    "\"image\":{\"name\":\"tiny\",\"digest\":\"" DIGEST "\"},"                 \
    "\"cpu_milli\":500,\"memory_mib\":64,\"pids_max\":10"

static int
parse(struct arena *arena, const char *text, struct runner_request *out,
      struct error *err)
{
    return runner_request_parse(arena, text, strlen(text), out, err);
}

static void
a_full_start_is_read_field_by_field(void **state)
{
    scoped_arena arena = arena_new();
    struct error err = { 0 };
    struct runner_request request;
    const struct runner_start *start = &request.start;

    (void)state;
    assert_int_equal(
        parse(
            arena,
            HEAD BASE
            ",\"argv\":[\"/bin/sh\",\"-c\",\"x\"],\"env\":{\"A\":\"b=c\"},"
            "\"cwd\":\"/work\",\"user\":{\"uid\":5,\"gid\":6},"
            "\"cards\":[\"GPU-1\",\"GPU-2\"],\"card_memory_mib\":100,\"card_milli\":500,"
            "\"volumes\":[{\"id\":\"v1\",\"path\":\"/ro\",\"read_only\":true},"
            "{\"id\":\"v2\",\"path\":\"/data\"}],"
            "\"checkpoint_dir\":\"/data/keep\",\"network\":{\"address\":9},"
            "\"uid_base\":131072,\"hostname\":\"h\",\"read_only_root\":false,"
            "\"scratch_mib\":3,\"log_mib\":2,\"notice_signal\":\"HUP\"}",
            &request, &err),
        0);
    assert_int_equal(request.op, RUNNER_START);
    assert_string_equal(request.instance, "in_a");
    assert_int_equal(request.incarnation, 3);
    assert_int_equal(request.tenant, 7);
    assert_string_equal(start->image.digest, DIGEST);
    assert_int_equal(start->argc, 3);
    assert_string_equal(start->argv[2], "x");
    assert_string_equal(start->env[0], "A=b=c");
    assert_string_equal(start->cwd, "/work");
    assert_int_equal(start->uid, 5);
    assert_int_equal(start->gid, 6);
    assert_int_equal(start->card_count, 2);
    assert_string_equal(start->cards[1], "GPU-2");
    assert_int_equal(start->card_memory_mib, 100);
    assert_int_equal(start->card_milli, 500);
    assert_true(start->volumes[0].read_only);
    assert_string_equal(start->volumes[1].path, "/data");
    assert_int_equal(start->checkpoint_volume, 1);
    assert_true(start->network);
    assert_int_equal(start->address, 9);
    assert_int_equal(start->uid_base, 131072);
    assert_false(start->read_only_root);
    assert_int_equal(start->notice_signal, SIGHUP);
}

static void
what_a_start_leaves_out_has_safe_defaults(void **state)
{
    scoped_arena arena = arena_new();
    struct error err = { 0 };
    struct runner_request request;

    (void)state;
    assert_int_equal(parse(arena, HEAD BASE "}", &request, &err), 0);
    assert_true(request.start.read_only_root);
    assert_false(request.start.network);
    assert_int_equal(request.start.card_count, 0);
    assert_int_equal(request.start.uid, -1);
    assert_int_equal(request.start.notice_signal, SIGUSR1);
    assert_int_equal(request.start.argc, 0);
}

/* Each line added to a good start must refuse it, naming the field. */
static void
hostile_additions_to_a_start_are_refused(void **state)
{
    static const struct {
        const char *more;
        const char *field;
    } cases[] = {
        { ",\"privileged\":true", "/privileged" },
        { ",\"mounts\":[]", "/mounts" },
        { ",\"hooks\":{}", "/hooks" },
        { ",\"capabilities\":[]", "/capabilities" },
        { ",\"cwd\":\"../x\"", "/cwd" },
        { ",\"cwd\":\"/x/../y\"", "/cwd" },
        { ",\"hostname\":\"a.b\"", "/hostname" },
        { ",\"uid_base\":65535", "/uid_base" },
        { ",\"uid_base\":-65536", "/uid_base" },
        { ",\"uid_base\":4294967296", "/uid_base" },
        { ",\"scratch_mib\":0", "/scratch_mib" },
        { ",\"card_memory_mib\":-1", "/card_memory_mib" },
        { ",\"card_milli\":1001", "/card_milli" },
        { ",\"cards\":[\"a/../b\"]", "/cards" },
        { ",\"cards\":[\"A\",\"A/1g@0\"]", "/cards" },
        { ",\"cards\":[\"-a\"]", "/cards" },
        { ",\"cards\":[\"A\",\"B\",\"A\"]", "/cards" },
        { ",\"cards\":\"A\"", "/cards" },
        { ",\"env\":{\"BULKHEAD_CARDS\":\"x\"}", "/env" },
        { ",\"env\":{\"1A\":\"x\"}", "/env" },
        { ",\"env\":{\"A\":1}", "/env" },
        { ",\"argv\":[\"\"]", "/argv" },
        { ",\"argv\":{}", "/argv" },
        { ",\"user\":{\"uid\":65536,\"gid\":0}", "/user/uid" },
        { ",\"user\":{\"uid\":0}", "/user/gid" },
        { ",\"network\":{\"address\":4094}", "/network/address" },
        { ",\"network\":{\"gateway\":1}", "/network/gateway" },
        { ",\"notice_signal\":\"KILL\"", "/notice_signal" },
        { ",\"volumes\":[{\"id\":\"../v\",\"path\":\"/d\"}]", "/volumes/0/id" },
        { ",\"volumes\":[{\"id\":\"v\",\"path\":\"/proc/x\"}]",
          "/volumes/0/path" },
        { ",\"volumes\":[{\"id\":\"v\",\"path\":\"/\"}]", "/volumes/0/path" },
        { ",\"volumes\":[{\"id\":\"v\",\"path\":\"/a//b\"}]",
          "/volumes/0/path" },
        { ",\"volumes\":[{\"id\":\"v\",\"path\":\"/a/.b\"}]",
          "/volumes/0/path" },
        { ",\"volumes\":[{\"id\":\"v\",\"path\":\"/a b\"}]",
          "/volumes/0/path" },
        { ",\"volumes\":[{\"id\":\"v\",\"path\":\"/d\"},"
          "{\"id\":\"w\",\"path\":\"/d/x\"}]",
          "/volumes/1/path" },
        { ",\"volumes\":[{\"id\":\"v\",\"path\":\"/d\"},"
          "{\"id\":\"v\",\"path\":\"/e\"}]",
          "/volumes/1/id" },
        { ",\"volumes\":[{\"id\":\"v\",\"path\":\"/d\",\"source\":\"/etc\"}]",
          "/volumes/0/source" },
        { ",\"volumes\":[{\"id\":\"v\",\"path\":\"/d\",\"read_only\":true}],"
          "\"checkpoint_dir\":\"/d\"",
          "/checkpoint_dir" },
        { ",\"volumes\":[{\"id\":\"v\",\"path\":\"/d\"}],"
          "\"checkpoint_dir\":\"/data\"",
          "/checkpoint_dir" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        scoped_arena arena = arena_new();
        struct error err = { 0 };
        struct runner_request request;
        char text[2048];

        (void)snprintf(text, sizeof(text), HEAD BASE "%s}", cases[i].more);
        if (parse(arena, text, &request, &err) == 0)
            fail_msg("accepted: %s", cases[i].more);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_string_equal(err.field, cases[i].field);
    }
}

static void
requests_that_are_not_requests_are_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "null",
        "{}",
        "{\"protocol\":1}",
        "{\"protocol\":2,\"op\":\"node\"}",
        "{\"protocol\":1,\"op\":\"shell\"}",
        "{\"protocol\":1,\"op\":\"node\",\"x\":1}",
        "{\"protocol\":1,\"op\":\"node\"}{}",
        "{\"protocol\":1,\"op\":\"kill\",\"instance\":\"a\"}",
        "{\"protocol\":1,\"op\":\"kill\",\"instance\":\"a\","
        "\"incarnation\":0}",
        "{\"protocol\":1,\"op\":\"kill\",\"instance\":\"A\","
        "\"incarnation\":1}",
        "{\"protocol\":1,\"op\":\"kill\",\"instance\":\"a/b\","
        "\"incarnation\":1}",
        "{\"protocol\":1,\"op\":\"kill\",\"instance\":\"a\","
        "\"incarnation\":1,\"incarnation\":2}",
        "{\"protocol\":1,\"op\":\"kill\",\"instance\":\"a\","
        "\"incarnation\":9007199254740993}",
        "{\"protocol\":1,\"op\":\"signal\",\"instance\":\"a\","
        "\"incarnation\":1,\"signal\":\"SEGV\"}",
        "{\"protocol\":1,\"op\":\"log\",\"instance\":\"a\","
        "\"incarnation\":1,\"offset\":-1,\"max\":1}",
        "{\"protocol\":1,\"op\":\"log\",\"instance\":\"a\","
        "\"incarnation\":1,\"offset\":0,\"max\":262145}",
        "{\"protocol\":1,\"op\":\"notice\",\"instance\":\"a\","
        "\"incarnation\":1,\"reason\":\"a\\nb\",\"deadline_ms\":1}",
        "{\"protocol\":1,\"op\":\"volume_create\",\"id\":\"v\",\"tenant\":1,"
        "\"size_mib\":0}",
        "{\"protocol\":1,\"op\":\"card_scrub\",\"uuid\":\"../x\"}",
        "{\"protocol\":1,\"op\":\"wait\",\"revision\":0,"
        "\"timeout_ms\":30001}",
        "{\"protocol\":1,\"op\":\"image_prepare\",\"name\":\"tiny\","
        "\"digest\":\"sha256:00\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        scoped_arena arena = arena_new();
        struct error err = { 0 };
        struct runner_request request;

        if (parse(arena, texts[i], &request, &err) == 0)
            fail_msg("accepted: %s", texts[i]);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

static void
a_request_above_its_size_is_refused_unread(void **state)
{
    scoped_arena arena = arena_new();
    scoped_buffer text = { 0 };
    struct error err = { 0 };
    struct runner_request request;

    (void)state;
    while (text.size <= RUNNER_REQUEST_SIZE_MAX)
        buffer_add_text(&text, "                                ");
    assert_int_equal(
        runner_request_parse(arena, text.bytes, text.size, &request, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
}

static void
every_operation_has_its_name(void **state)
{
    (void)state;
    for (unsigned i = 0; i < RUNNER_OP_COUNT; i++)
        assert_true(strlen(runner_request_op_text((enum runner_op)i)) > 0);
}

static void
a_cap_says_all_of_what_may_be_used(void **state)
{
    scoped_arena arena = arena_new();
    struct error err = { 0 };
    struct runner_request request;

    (void)state;
#define CAP "{\"protocol\":1,\"op\":\"cap\",\"instance\":\"in_a\","
    assert_int_equal(parse(arena,
                           CAP "\"incarnation\":3,\"cpu_milli\":100,"
                               "\"io_kib\":0,\"network_kib\":7}",
                           &request, &err),
                     0);
    assert_int_equal(request.op, RUNNER_CAP);
    assert_int_equal(request.cap.cpu_milli, 100);
    assert_int_equal(request.cap.io_kib, 0);
    assert_int_equal(request.cap.network_kib, 7);
    assert_int_equal(parse(arena,
                           CAP "\"incarnation\":3,\"cpu_milli\":100,"
                               "\"io_kib\":0}",
                           &request, &err),
                     -1);
    assert_int_equal(parse(arena,
                           CAP "\"incarnation\":3,\"cpu_milli\":-1,"
                               "\"io_kib\":0,\"network_kib\":0}",
                           &request, &err),
                     -1);
    assert_int_equal(parse(arena,
                           CAP "\"incarnation\":3,\"cpu_milli\":1,"
                               "\"io_kib\":0,\"network_kib\":0,"
                               "\"path\":\"/sys\"}",
                           &request, &err),
                     -1);
#undef CAP
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_start_is_read_field_by_field),
        cmocka_unit_test(a_cap_says_all_of_what_may_be_used),
        cmocka_unit_test(what_a_start_leaves_out_has_safe_defaults),
        cmocka_unit_test(hostile_additions_to_a_start_are_refused),
        cmocka_unit_test(requests_that_are_not_requests_are_refused),
        cmocka_unit_test(a_request_above_its_size_is_refused_unread),
        cmocka_unit_test(every_operation_has_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
