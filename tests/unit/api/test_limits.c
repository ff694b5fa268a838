/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

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
            one_subject_has_a_bounded_number_in_flight_over_all_its_tokens),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
