/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/api/client.h"

/*
 * Which role may do what?  The table is written by hand, apart from the roles
 * themselves; the answers come from a running server, by real requests.  The
 * same table is then asked with a decision that always says yes: it must not
 * agree, or the table would prove nothing.
 */

#define ROLES 7
static const char *const roles[ROLES] = {
    "platform-admin", "security-admin", "auditor",  "operations-engineer",
    "tenant-admin",   "project-admin",  "developer"};

struct row {
    const char *method;
    const char *path;
    const char *body;
    /* One letter a role, in their order: y allowed, n denied or hidden. */
    const char *may;
};

/* Bodies that a decision lets through fail later, as invalid: what counts is
 * whether the answer is 403 or 404. */
static const struct row rows[] = {
    /*                                                    PSAOTJD */
    {"POST", "/tenants", "{}",                           "ynnnnnn"},
    {"POST", "/pools", "{}",                             "ynnnnnn"},
    {"POST", "/classes", "{}",                           "ynnnnnn"},
    {"POST", "/prices", "{}",                            "ynnnnnn"},
    {"PATCH", "/platform", "{}",                         "ynnnnnn"},
    {"GET", "/audit", NULL,                              "yyynnnn"},
    {"GET", "/metrics", NULL,                            "yynynnn"},
    {"POST", "/tenants/t/users", "{}",                   "ynnnynn"},
    {"POST", "/tenants/t/projects", "{}",                "ynnnynn"},
    {"POST", "/tenants/t/denies", "{}",                  "nynnnnn"},
    {"POST", "/tenants/t/quotas", "{}",                  "ynnnnnn"},
    {"POST", "/tenants/t/projects/p/grants", "{}",       "ynnnyyn"},
    {"POST", "/tenants/t/projects/p/quotas", "{}",       "ynnnynn"},
    {"POST", "/tenants/t/projects/p/workloads", "{}",    "nnnnnyy"},
    {"POST", "/tenants/t/projects/p/volumes", "{}",      "nnnnnyy"},
    {"GET", "/tenants/t/projects/p/usage", NULL,         "yyyyyyy"},
    {"GET", "/tenants/t/audit", NULL,                    "yyynynn"},
};
#define ROWS (sizeof rows / sizeof *rows)

static struct place place;
static char *tokens[ROLES];

static bool
by_server(size_t row, size_t role)
{
    place.headers[0] = "If-Match: *";
    long status = client_send(&place, tokens[role], rows[row].method,
                              rows[row].path, rows[row].body);
    assert_true(status != 401 && status != 500);
    return status != 403 && status != 404;
}

static bool
by_nobody(size_t row, size_t role)
{
    (void)row;
    (void)role;
    return true;
}

static size_t
compare(bool (*allows)(size_t row, size_t role), bool tell_differences)
{
    size_t wrong = 0;
    for (size_t row = 0; row < ROWS; row++)
        for (size_t role = 0; role < ROLES; role++) {
            bool want = rows[row].may[role] == 'y';
            if (allows(row, role) == want)
                continue;
            wrong++;
            if (tell_differences)
                print_message("%s %s by %s: should be %s\n",
                              rows[row].method, rows[row].path, roles[role],
                              want ? "allowed" : "refused");
        }
    return wrong;
}

static int
set_up(void **state)
{
    (void)state;
    place_open(&place);
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"t\"}", 201);
    tell(&place, place.root, "POST", "/tenants/t/projects",
         "{\"name\":\"p\"}", 201);
    for (size_t i = 0; i < ROLES; i++) {
        const char *node = i < 4    ? ""
                           : i == 4 ? "/tenants/t"
                                    : "/tenants/t/projects/p";
        tokens[i] = join(&place, i < 4 ? NULL : "t", roles[i], node, roles[i]);
    }
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROLES; i++)
        free(tokens[i]);
    place_close(&place);
    return 0;
}

static void
each_role_may_do_what_the_matrix_says(void **state)
{
    (void)state;
    assert_int_equal(compare(by_server, true), 0);
}

static void
a_decision_that_always_says_yes_fails_the_matrix(void **state)
{
    (void)state;
    assert_true(compare(by_nobody, false) > ROWS * ROLES / 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_role_may_do_what_the_matrix_says),
        cmocka_unit_test(a_decision_that_always_says_yes_fails_the_matrix),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
