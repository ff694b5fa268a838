/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <string.h>

#include "api/attempt.h"
#include "api/state.h"

#define OFFICE "192.0.2.7"
#define ELSEWHERE "198.51.100.1"
#define PROXY "127.0.0.1"

static struct api *api;

static int
setup(void **state)
{
    (void)state;
    api = memory_new(1, sizeof(*api));
    (void)pthread_mutex_init(&api->lock, NULL);
    api->tries.key = (struct hash_key){ 5, 6 };
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    (void)pthread_mutex_destroy(&api->lock);
    free(api);
    return 0;
}

static void
from(struct exchange *exchange, const char *address)
{
    memset(exchange, 0, sizeof(*exchange));
    exchange->api = api;
    (void)snprintf(exchange->source, sizeof(exchange->source), "%s", address);
}

static void
fail_times(const char *address, const struct attempt *attempt, unsigned times)
{
    struct exchange exchange;

    from(&exchange, address);
    for (unsigned i = 0; i < times; i++)
        attempt_failed(&exchange, attempt);
}

/* Seconds that it waits; 0: it may try. */
static unsigned
waits(const char *address, const struct attempt *attempt)
{
    struct exchange exchange;
    struct error err = { 0 };

    from(&exchange, address);
    if (attempt_check(&exchange, attempt, &err) == 0)
        return 0;
    assert_int_equal(err.code, ERROR_RATE);
    assert_true(exchange.answer.retry_s > 0);
    return exchange.answer.retry_s;
}

static void
works(const char *address, const struct attempt *attempt)
{
    struct exchange exchange;

    from(&exchange, address);
    attempt_worked(&exchange, attempt);
}

static const struct attempt red = { "red", "ann", NULL };
static const struct attempt red_other = { "red", "abe", NULL };
static const struct attempt blue = { "blue", "bob", NULL };
static const struct attempt operator = { NULL, "root", NULL };

static void
failures_of_one_address_make_it_wait_whatever_names_it_tries(void **state)
{
    (void)state;
    fail_times(OFFICE, &red, 15);
    fail_times(OFFICE, &red_other, 15);
    assert_true(waits(OFFICE, &red) > 0);
    assert_true(waits(OFFICE, &red_other) > 0);
    assert_int_equal(waits(ELSEWHERE, &red), 0);
}

static void
one_tenants_failures_keep_no_other_tenant_behind_the_address_out(void **state)
{
    (void)state;
    fail_times(OFFICE, &red, 40);
    assert_true(waits(OFFICE, &red) > 60);
    assert_int_equal(waits(OFFICE, &blue), 0);
    assert_int_equal(waits(OFFICE, &operator), 0);
}

/* Who tries names of many tenants is slowed for all of them, shortly. */
static void
who_names_many_tenants_waits_a_moment_for_each(void **state)
{
    char name[32];
    const struct attempt other = { name, "x", NULL };

    (void)state;
    for (unsigned i = 0; i < 299; i++) {
        (void)snprintf(name, sizeof(name), "t%u", i);
        fail_times(OFFICE, &other, 1);
    }
    assert_int_equal(waits(OFFICE, &blue), 0);
    for (unsigned i = 0; i < 40; i++)
        fail_times(OFFICE, &other, 1);
    assert_int_equal(waits(OFFICE, &blue), 2);
}

static void
who_logged_in_there_before_waits_for_own_failures_alone(void **state)
{
    (void)state;
    works(OFFICE, &red);
    fail_times(OFFICE, &red_other, 400);
    assert_int_equal(waits(OFFICE, &red), 0);
    assert_true(waits(OFFICE, &red_other) > 0);
    /* A good login elsewhere says nothing about the office. */
    works(ELSEWHERE, &red_other);
    assert_true(waits(OFFICE, &red_other) > 0);
    fail_times(OFFICE, &red, 30);
    assert_int_equal(waits(OFFICE, &red), 2);
}

static void
behind_a_proxy_of_the_machine_each_account_waits_for_itself(void **state)
{
    (void)state;
    fail_times(PROXY, &red, 40);
    fail_times("", &red, 40);
    assert_true(waits(PROXY, &red) > 60);
    assert_true(waits("", &red) > 60);
    assert_int_equal(waits(PROXY, &red_other), 0);
    assert_int_equal(waits("", &blue), 0);
}

/* A secret of nobody in particular: those who share an address wait 2 s. */
static void
secrets_of_nobody_are_slowed_by_the_address(void **state)
{
    (void)state;
    fail_times(OFFICE, NULL, 40);
    fail_times(PROXY, NULL, 40);
    assert_true(waits(OFFICE, NULL) > 60);
    assert_int_equal(waits(PROXY, NULL), 2);
    assert_int_equal(waits(OFFICE, &red), 0);
}

/* One tenant's people who fail at its provider keep no other's out. */
static void
a_login_by_a_provider_waits_for_that_provider_alone(void **state)
{
    const struct attempt one = { .place = "idp_one" };
    const struct attempt two = { .place = "idp_two" };

    (void)state;
    fail_times(OFFICE, &one, 40);
    fail_times(PROXY, &one, 40);
    assert_true(waits(OFFICE, &one) > 60);
    assert_int_equal(waits(PROXY, &one), 2);
    assert_int_equal(waits(OFFICE, &two), 0);
    assert_int_equal(waits(PROXY, &two), 0);
    assert_int_equal(waits(OFFICE, NULL), 0);
}

static void
a_step_up_waits_for_its_own_session_alone(void **state)
{
    const struct attempt mine = { .session = "aa" };
    const struct attempt other = { .session = "bb" };

    (void)state;
    fail_times(OFFICE, &red, 400);
    fail_times(OFFICE, &other, 40);
    assert_int_equal(waits(OFFICE, &mine), 0);
    assert_true(waits(OFFICE, &other) > 0);
}

static enum error_code
fail_token(const char *address, unsigned char token, unsigned *retry_out)
{
    struct exchange exchange;
    struct error err = { 0 };

    from(&exchange, address);
    memset(exchange.token, token, sizeof(exchange.token));
    (void)error_set(&err, ERROR_UNAUTHENTICATED, "not valid");
    assert_int_equal(attempt_token_failed(&exchange, &err), -1);
    *retry_out = exchange.answer.retry_s;
    return err.code;
}

static void
wrong_credentials_of_one_address_are_told_to_wait(void **state)
{
    unsigned retry_s;

    (void)state;
    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(fail_token(OFFICE, (unsigned char)i, &retry_s),
                         ERROR_UNAUTHENTICATED);
    assert_int_equal(fail_token(OFFICE, 77, &retry_s), ERROR_RATE);
    assert_int_equal(retry_s, 2);
    assert_int_equal(fail_token(ELSEWHERE, 77, &retry_s),
                     ERROR_UNAUTHENTICATED);
    /* Logins are counted apart. */
    assert_int_equal(waits(OFFICE, &red), 0);
    assert_int_equal(waits(OFFICE, NULL), 0);
}

static void
behind_a_proxy_each_wrong_credential_waits_for_itself(void **state)
{
    unsigned retry_s;

    (void)state;
    for (unsigned i = 0; i < 30; i++)
        (void)fail_token(PROXY, 1, &retry_s);
    assert_int_equal(fail_token(PROXY, 1, &retry_s), ERROR_RATE);
    assert_int_equal(fail_token(PROXY, 2, &retry_s), ERROR_UNAUTHENTICATED);
}

int
main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH(failures_of_one_address_make_it_wait_whatever_names_it_tries),
        WITH(one_tenants_failures_keep_no_other_tenant_behind_the_address_out),
        WITH(who_names_many_tenants_waits_a_moment_for_each),
        WITH(who_logged_in_there_before_waits_for_own_failures_alone),
        WITH(behind_a_proxy_of_the_machine_each_account_waits_for_itself),
        WITH(secrets_of_nobody_are_slowed_by_the_address),
        WITH(a_login_by_a_provider_waits_for_that_provider_alone),
        WITH(a_step_up_waits_for_its_own_session_alone),
        WITH(wrong_credentials_of_one_address_are_told_to_wait),
        WITH(behind_a_proxy_each_wrong_credential_waits_for_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
