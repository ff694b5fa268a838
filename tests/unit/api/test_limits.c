/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "api/state.h"
#include "tests/unit/api/client.h"

/* How much of the server may one subject take? */

#define CROWD 24

static struct place place;
/* Slow enough for a crowd to stand in line behind two workers. */
static const struct password_cost slow = {2, 16 * 1024 * 1024};

static void
tune(struct api_options *options)
{
    options->subject_max = 4;
    options->think_ms = 1000;
    options->password_cost = &slow;
}

static int
set_up(void **state)
{
    (void)state;
    place.tune = tune;
    place_open(&place);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    place_close(&place);
    return 0;
}

/* What-if and the like hold up everybody: a few of one asker at a time. */
static void
heavy_requests_of_one_asker_are_two_at_a_time(void **state)
{
    static const struct route route = {.flags = ROUTE_HEAVY};
    struct exchange asked[4];
    struct error err;
    (void)state;
    memset(asked, 0, sizeof asked);
    for (int i = 0; i < 4; i++) {
        asked[i].api = place.api;
        asked[i].route = &route;
        asked[i].has_token = true;
        asked[i].token[0] = (uint8_t)(i == 3 ? 2 : 1);
    }
    assert_int_equal(state_admit(&asked[0], &err), 0);
    assert_int_equal(state_admit(&asked[1], &err), 0);
    assert_int_equal(state_admit(&asked[2], &err), -1);
    assert_int_equal(err.code, ERROR_RATE);
    assert_int_equal(state_admit(&asked[3], &err), 0);
    state_forget(&asked[0]);
    assert_int_equal(state_admit(&asked[2], &err), 0);
    for (int i = 1; i < 4; i++)
        state_forget(&asked[i]);
}

/* Whoever has spent the time of its tenant waits; the other tenant and the
 * platform's people do not. */
static void
costly_questions_of_one_tenant_are_bounded_by_its_own_time(void **state)
{
    (void)state;
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"red\"}", 201);
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"blue\"}", 201);
    char *red = join(&place, "red", "rita", "/tenants/red", "tenant-admin");
    char *blue = join(&place, "blue", "bea", "/tenants/blue", "tenant-admin");
    long status = 0;
    for (int i = 0; i < 200 && status != 429; i++)
        status = client_send(&place, red, "POST", "/tenants/red/what-if",
                             "{}");
    assert_int_equal(status, 429);
    assert_non_null(strstr(place.last.body.bytes, "your tenant"));
    tell(&place, blue, "POST", "/tenants/blue/what-if", "{}", 200);
    tell(&place, place.root, "POST", "/what-if", "{}", 200);
    /* What costs little is not concerned. */
    tell(&place, red, "GET", "/whoami", NULL, 200);
    free(red);
    free(blue);
}

struct caller {
    pthread_t thread;
    const char *token;
    long status;
};

static void *
call(void *data)
{
    struct caller *caller = data;
    struct place own = {.target = place.target};
    caller->status = client_send(&own, caller->token, "POST", "/stepup",
                                 "{\"password\":\"" PASSWORD "\"}");
    http_answer_release(&own.last);
    return NULL;
}

static void
one_subject_has_a_bounded_number_in_flight_over_all_its_tokens(void **state)
{
    (void)state;
    struct caller callers[CROWD];
    size_t done = 0, slowed = 0;
    char *second = log_in(&place, NULL, "root");
    char *other = join(&place, NULL, "other", "", "auditor");
    /* The server knows whose tokens these are once they were used. */
    tell(&place, second, "GET", "/whoami", NULL, 200);
    for (size_t i = 0; i < CROWD; i++) {
        callers[i] = (struct caller){.token = i % 2 == 0 ? place.root
                                                         : second};
        assert_int_equal(
            pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
    }
    tell(&place, other, "GET", "/whoami", NULL, 200);
    for (size_t i = 0; i < CROWD; i++) {
        (void)pthread_join(callers[i].thread, NULL);
        done += callers[i].status == 204;
        slowed += callers[i].status == 429;
    }
    assert_int_equal(done + slowed, CROWD);
    assert_true(done >= 4);
    assert_true(slowed > 0);
    tell(&place, place.root, "GET", "/whoami", NULL, 200);
    free(second);
    free(other);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            costly_questions_of_one_tenant_are_bounded_by_its_own_time),
        cmocka_unit_test(heavy_requests_of_one_asker_are_two_at_a_time),
        cmocka_unit_test(
            one_subject_has_a_bounded_number_in_flight_over_all_its_tokens),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
