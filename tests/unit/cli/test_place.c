/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

/* tenant and project as the context gives them, the rest as options. */
static void
give(struct cli *cli, const char *name, const char *value)
{
    if (strcmp(name, "tenant") == 0)
        cli->tenant = value;
    else if (strcmp(name, "project") == 0)
        cli->project = value;
    else
        cli->options[cli->option_count++] =
            (struct cli_option){ name, value };
}

/* Pairs of name and value, NULL ends. */
static void
place(struct cli *cli, const char *const *given)
{
    memset(cli, 0, sizeof(*cli));
    cli->arena = arena_new();
    for (; given[0] != NULL; given += 2)
        give(cli, given[0], given[1]);
}

#define GIVEN(...) ((const char *const[]){ __VA_ARGS__, NULL, NULL })

static void
lies_at(enum kind kind, const char *const *given, const char *expected)
{
    struct error err = { 0 };
    const char *path = NULL;
    struct cli cli;

    place(&cli, given);
    if (place_collection(&cli, kind, &path, &err) != 0)
        fail_msg("%s: %s", expected, err.text);
    assert_string_equal(path, expected);
    arena_free(cli.arena);
}

static void
lies_nowhere(enum kind kind, const char *const *given, const char *said)
{
    struct error err = { 0 };
    const char *path = NULL;
    struct cli cli;

    place(&cli, given);
    assert_int_equal(place_collection(&cli, kind, &path, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    if (strstr(err.text, said) == NULL)
        fail_msg("\"%s\" is not said in: %s", said, err.text);
    assert_null(path);
    arena_free(cli.arena);
}

static void
a_kind_lies_at_the_deepest_node_that_can_hold_it(void **state)
{
    (void)state;
    lies_at(KIND_QUOTA, GIVEN("tenant", "t", "project", "p"),
            "/api/v1/tenants/t/projects/p/quotas");
    lies_at(KIND_QUOTA, GIVEN("tenant", "t", "unit", "u"),
            "/api/v1/tenants/t/units/u/quotas");
    lies_at(KIND_QUOTA, GIVEN("tenant", "t"), "/api/v1/tenants/t/quotas");
    lies_at(KIND_QUOTA, GIVEN("none", "x"), "/api/v1/quotas");
    lies_at(KIND_USER, GIVEN("tenant", "t", "project", "p"),
            "/api/v1/tenants/t/users");
    lies_at(KIND_TENANT, GIVEN("tenant", "t", "project", "p"),
            "/api/v1/tenants");
    lies_at(KIND_PROJECT, GIVEN("tenant", "t", "unit", "u"),
            "/api/v1/tenants/t/units/u/projects");
}

static void
a_level_that_is_named_goes_before(void **state)
{
    (void)state;
    lies_at(KIND_QUOTA, GIVEN("tenant", "t", "project", "p", "level", "tenant"),
            "/api/v1/tenants/t/quotas");
    lies_at(KIND_GRANT, GIVEN("tenant", "t", "level", "platform"),
            "/api/v1/grants");
    lies_nowhere(KIND_WORKLOAD,
                 GIVEN("tenant", "t", "project", "p", "level", "tenant"),
                 "level");
    lies_nowhere(KIND_QUOTA, GIVEN("level", "galaxy"), "galaxy");
}

static void
what_lies_below_an_object_needs_its_name(void **state)
{
    (void)state;
    lies_at(KIND_INSTANCE,
            GIVEN("tenant", "t", "project", "p", "workload", "w"),
            "/api/v1/tenants/t/projects/p/workloads/w/instances");
    lies_at(KIND_JOINTOKEN, GIVEN("pool", "default"),
            "/api/v1/pools/default/jointokens");
    lies_at(KIND_APIKEY, GIVEN("tenant", "t", "user", "u"),
            "/api/v1/tenants/t/users/u/apikeys");
    lies_at(KIND_APIKEY,
            GIVEN("tenant", "t", "project", "p", "serviceaccount", "s"),
            "/api/v1/tenants/t/projects/p/serviceaccounts/s/apikeys");
    lies_nowhere(KIND_INSTANCE, GIVEN("tenant", "t", "project", "p"),
                 "--workload");
    lies_nowhere(KIND_WORKLOAD, GIVEN("project", "p"), "--tenant");
    lies_nowhere(KIND_WORKLOAD, GIVEN("tenant", "t"), "--project");
}

static void
names_cannot_leave_their_place_in_the_path(void **state)
{
    struct error err = { 0 };
    const char *path = NULL;
    struct cli cli;

    (void)state;
    lies_at(KIND_PROJECT, GIVEN("tenant", "a/../b?x=1#c d%2f"),
            "/api/v1/tenants/a%2F..%2Fb%3Fx%3D1%23c%20d%252f/projects");
    place(&cli, GIVEN("tenant", "t"));
    assert_int_equal(
        place_object(&cli, KIND_PROJECT, "p/q?dry_run=1", &path, &err), 0);
    assert_string_equal(path,
                        "/api/v1/tenants/t/projects/p%2Fq%3Fdry_run%3D1");
    arena_free(cli.arena);
}

static void
nouns_are_singular_or_plural_and_history_has_none(void **state)
{
    struct error err = { 0 };
    enum kind kind;

    (void)state;
    assert_int_equal(place_kind("workload", &kind, &err), 0);
    assert_int_equal(kind, KIND_WORKLOAD);
    assert_int_equal(place_kind("classes", &kind, &err), 0);
    assert_int_equal(kind, KIND_CLASS);
    assert_int_equal(place_kind("facts", &kind, &err), -1);
    assert_int_equal(place_kind("receipts", &kind, &err), -1);
    assert_int_equal(place_kind("", &kind, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kind_lies_at_the_deepest_node_that_can_hold_it),
        cmocka_unit_test(a_level_that_is_named_goes_before),
        cmocka_unit_test(what_lies_below_an_object_needs_its_name),
        cmocka_unit_test(names_cannot_leave_their_place_in_the_path),
        cmocka_unit_test(nouns_are_singular_or_plural_and_history_has_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
