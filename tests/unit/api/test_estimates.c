/* SPDX-License-Identifier: Apache-2.0 */
#include "api/handlers.h"
#include "tests/unit/api/estate.h"

/*
 * When is a start estimate shown?  Not sooner because another tenant reads
 * them, and not newer because another tenant changed something.
 */

#define WAITS 5000 /* of 10 ms, at most */
#define WORKLOADS "/tenants/%s/projects/work/workloads"

static struct estate estate;
static char *works[2]; /* what waits: of research, of vision */

static char *
submit(const struct side *side)
{
    char path[128], body[256], *token, *id;

    (void)snprintf(path, sizeof(path), "/tenants/%s/projects/work",
                   side->tenant);
    token = join(&estate.place, side->tenant, "coder", path, "developer");
    (void)snprintf(path, sizeof(path), WORKLOADS, side->tenant);
    (void)snprintf(body, sizeof(body),
                   "{\"name\":\"waits\",\"class\":\"%s\",\"image\":\"x\","
                   "\"spec\":{\"command\":[\"x\"]}}",
                   side->tenant);
    id = ask_text(&estate.place, token, "POST", path, body, 201, "id");
    free(token);
    return id;
}

/* When the estimate that its admin is shown was made; NULL: not yet. */
static char *
made(const struct side *side, const char *work)
{
    char path[256];
    scoped_json body = NULL;
    json_t *estimate;

    (void)snprintf(path, sizeof(path), WORKLOADS "/%s", side->tenant, work);
    body = ask(&estate.place, side->admin, "GET", path, NULL, 200);
    estimate = json_object_get(body, "estimate");
    assert_true(json_is_object(estimate));
    if (json_is_null(json_object_get(estimate, "as_of"))) {
        assert_string_equal(
            json_string_value(json_object_get(estimate, "none")), "pending");
        return NULL;
    }
    return memory_strdup(
        json_string_value(json_object_get(estimate, "as_of")));
}

static void
nap(void)
{
    const struct timespec time = { 0, 10000000 };

    (void)nanosleep(&time, NULL);
}

/* Another second of the platform's clock, until there is one. */
static char *
wait_for(const struct side *side, const char *work)
{
    for (int i = 0; i < WAITS; i++) {
        char *text = made(side, work);

        if (text != NULL)
            return text;
        harness_pass(1000);
        nap();
    }
    fail_msg("no estimate came");
    return NULL;
}

/* Both have not read for long; then one of them does. */
static void
a_tenant_that_reads_first_is_told_to_wait_whoever_read_before(void **state)
{
    (void)state;
    free(wait_for(&estate.research, works[0]));
    harness_pass(301000);
    assert_null(made(&estate.research, works[0]));
    free(wait_for(&estate.research, works[0]));
    assert_null(made(&estate.vision, works[1]));
    free(wait_for(&estate.vision, works[1]));
}

/* Within a second nothing that another tenant does makes a new one; after it
 * there is one, though nothing was done. */
static void
an_estimate_is_as_old_whatever_others_change(void **state)
{
    char *before = wait_for(&estate.research, works[0]), *after;

    (void)state;
    for (int i = 0; i < 3; i++) {
        char body[64];

        (void)snprintf(body, sizeof(body), "{\"name\":\"new-%d\"}", i);
        tell(&estate.place, estate.vision.admin, "POST",
             "/tenants/vision/projects", body, 201);
        free(made(&estate.vision, works[1]));
        nap();
    }
    after = made(&estate.research, works[0]);
    assert_string_equal(before, after);
    free(after);
    for (int i = 0; i < WAITS; i++) {
        harness_pass(1000);
        nap();
        after = made(&estate.research, works[0]);
        assert_non_null(after);
        if (strcmp(before, after) != 0)
            break;
        free(after);
        after = NULL;
    }
    assert_non_null(after);
    free(after);
    free(before);
}

static int
set_up(void **state)
{
    (void)state;
    estate_open(&estate);
    works[0] = submit(&estate.research);
    works[1] = submit(&estate.vision);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    free(works[0]);
    free(works[1]);
    estate_close(&estate);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_tenant_that_reads_first_is_told_to_wait_whoever_read_before),
        cmocka_unit_test(an_estimate_is_as_old_whatever_others_change),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
