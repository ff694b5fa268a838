/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "trace/replay.h"

/* Two nodes of two cards, two tenants with two guaranteed cards each. */
static const char estate[] =
    "{\"platform\": {\"tenant_limit_permille\": 1000},"
    " \"pools\": [{\"name\": \"a\"}],"
    " \"nodes\": [{\"pool\": \"a\", \"count\": 2, \"cards\": 2,"
    "              \"model\": \"h100-80g\", \"memory_mib\": 81920}],"
    " \"classes\": [{\"name\": \"h100.1\", \"model\": \"h100-80g\","
    "               \"count\": 1}],"
    " \"tenants\": ["
    "  {\"name\": \"t1\", \"quotas\": [{\"dimension\": \"cards\","
    "    \"guaranteed\": 2000, \"limit\": 4000}],"
    "   \"projects\": [{\"name\": \"p1\", \"class\": \"production\"}]},"
    "  {\"name\": \"t2\", \"quotas\": [{\"dimension\": \"cards\","
    "    \"guaranteed\": 2000, \"limit\": 4000}],"
    "   \"projects\": [{\"name\": \"p2\", \"class\": \"production\"}]}]}";

static int
run(const char *file, const char *work, const struct replay_options *options,
    json_t **report_out, struct error *err)
{
    scoped_arena arena = arena_new();
    scoped_json json = json_loads(file, 0, NULL);
    struct arrivals arrivals;
    struct scenario scenario;

    if (arrivals_read(work, arena, &arrivals, err) != 0 ||
        scenario_build(json, &scenario, err) != 0)
        return -1;
    return replay_run(&scenario, &arrivals, options, report_out, err);
}

static const struct replay_options at_once = { .nodes = { 0, 0, 0 },
                                               .decisions = 100000 };

/* "work.finished" */
static json_int_t
number(const json_t *report, const char *list, const char *field)
{
    const json_t *value = json_object_get(report, list);

    if (field != NULL)
        value = json_object_get(value, field);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static const json_t *
tenant(const json_t *report, size_t at)
{
    const json_t *item =
        json_array_get(json_object_get(report, "tenants"), at);

    assert_non_null(item);
    return item;
}

static void
waits_use_and_shares_are_what_can_be_counted_by_hand(void **state)
{
    scoped_json report = NULL;
    struct error err;

    (void)state;
    /* t1 fills all four cards for 100 s; t1 has two more that wait. */
    if (run(estate,
            "at_s,project,class,run_s,count,preemptible\n"
            "0,t1/p1,h100.1,100,6,true\n",
            &at_once, &report, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(number(report, "work", "submitted"), 6);
    assert_int_equal(number(report, "work", "finished"), 6);
    assert_int_equal(number(report, "work", "waiting"), 0);
    assert_int_equal(number(report, "work", "preemptions"), 0);
    assert_int_equal(number(report, "simulated_ms", NULL), 200000);
    assert_int_equal(number(report, "wait_ms", "p50"), 0);
    assert_int_equal(number(report, "wait_ms", "max"), 100000);
    assert_int_equal(number(report, "cards", "total"), 4);
    /* 600 card-seconds = 166 milli-card-hours. */
    assert_int_equal(number(tenant(report, 0), "card_hours_milli", NULL),
                     166);
    assert_int_equal(number(tenant(report, 1), "card_hours_milli", NULL), 0);
    assert_int_equal(number(report, "violation_count", NULL), 0);
}

static void
a_guarantee_is_served_and_the_victim_comes_back(void **state)
{
    scoped_json report = NULL;
    struct error err;

    (void)state;
    if (run(estate,
            "at_s,project,class,run_s,count,checkpoint_s\n"
            "0,t1/p1,h100.1,100,4,10\n"
            "30,t2/p2,h100.1,40,2,\n",
            &at_once, &report, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(number(report, "work", "preemptions"), 2);
    assert_int_equal(number(tenant(report, 0), "preempted", NULL), 2);
    assert_int_equal(number(tenant(report, 1), "wait_p95_ms", NULL), 0);
    /* The victims saved 30 s, wait 40 s and run 70 s more. */
    assert_int_equal(number(report, "simulated_ms", NULL), 140000);
    assert_int_equal(number(report, "work", "finished"), 6);
    assert_int_equal(number(report, "violation_count", NULL), 0);
}

static void
what_never_fits_is_counted_as_refused(void **state)
{
    scoped_json report = NULL;
    struct error err;

    (void)state;
    if (run(estate,
            "at_s,project,class,run_s,instances\n"
            "0,t1/p1,h100.1,100,5\n",
            &at_once, &report, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(number(report, "work", "refused"), 1);
    assert_int_equal(number(report, "work", "finished"), 0);
}

static void
the_same_files_give_the_same_digest(void **state)
{
    static const char work[] = "at_s,project,class,run_s,count\n"
                               "0,t1/p1,h100.1,100,4\n"
                               "30,t2/p2,h100.1,40,3\n";
    static const char other[] = "at_s,project,class,run_s,count\n"
                                "0,t1/p1,h100.1,100,4\n"
                                "31,t2/p2,h100.1,40,3\n";
    scoped_json one = NULL;
    scoped_json two = NULL;
    scoped_json three = NULL;
    struct error err;

    (void)state;
    assert_int_equal(run(estate, work, &at_once, &one, &err), 0);
    assert_int_equal(run(estate, work, &at_once, &two, &err), 0);
    assert_int_equal(run(estate, other, &at_once, &three, &err), 0);
    assert_true(json_equal(one, two));
    assert_string_not_equal(
        json_string_value(json_object_get(one, "digest")),
        json_string_value(json_object_get(three, "digest")));
}

static void
mistakes_in_the_files_name_their_place(void **state)
{
    static const struct {
        const char *estate, *work, *says;
    } list[] = {
        { "[]", "", "no line of columns" },
        { "[]", "at_s,project,class,run_s\n", "no JSON object" },
        { "{\"pool\": []}", "at_s,project,class,run_s\n", "pool" },
        { "{\"pools\": [{\"name\": \"A b\"}]}", "at_s,project,class,run_s\n",
          "/pools/0" },
        { "{\"nodes\": [{\"pool\": \"x\", \"model\": \"m\","
          " \"memory_mib\": 1}]}",
          "at_s,project,class,run_s\n", "/nodes/0: there is no pool \"x\"" },
        { "{\"tenants\": [{\"name\": \"t\", \"quotas\": [{}]}]}",
          "at_s,project,class,run_s\n", "/tenants/0: /quotas/0" },
        { "{}", "at_s,project,class,run_s\n0,t/p,c,1\n",
          "line 2: there is no project \"t/p\"" },
    };
    scoped_json report = NULL;
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        assert_int_equal(run(list[i].estate, list[i].work, &at_once, &report,
                             &err),
                         -1);
        if (strstr(err.text, list[i].says) == NULL)
            fail_msg("%zu: \"%s\" does not say \"%s\"", i, err.text,
                     list[i].says);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_use_and_shares_are_what_can_be_counted_by_hand),
        cmocka_unit_test(a_guarantee_is_served_and_the_victim_comes_back),
        cmocka_unit_test(what_never_fits_is_counted_as_refused),
        cmocka_unit_test(the_same_files_give_the_same_digest),
        cmocka_unit_test(mistakes_in_the_files_name_their_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
