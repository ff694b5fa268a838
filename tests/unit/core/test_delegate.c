/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/people.h"

static struct people p;

static int
setup(void **state)
{
    (void)state;
    people_setup(&p);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    people_release(&p);
    return 0;
}

static void
nobody_hands_out_more_than_they_may(void **state)
{
    struct actor pat = people_login(&p, p.pat);
    struct actor dev = people_login(&p, p.dev);
    struct offer offer = { .verbs = role_use(ROLE_DEVELOPER),
                           .sources = "" };
    struct error err;

    (void)state;
    assert_int_equal(access_delegate_check(p.world, &pat, p.alpha, &offer,
                                           p.now_ms, &err),
                     0);
    assert_int_equal(access_delegate_check(p.world, &dev, p.alpha, &offer,
                                           p.now_ms, &err),
                     -1);
    assert_int_equal(access_delegate_check(p.world, &pat, p.red, &offer,
                                           p.now_ms, &err),
                     -1);
    assert_int_equal(access_delegate_check(p.world, &pat, p.beta, &offer,
                                           p.now_ms, &err),
                     -1);
    verbs_add(&offer.verbs, VERB_PROJECT_UPDATE);
    assert_int_equal(access_delegate_check(p.world, &pat, p.alpha, &offer,
                                           p.now_ms, &err),
                     -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_non_null(strstr(err.text, "project.update"));
}

static void
an_offer_stays_within_window_networks_and_ceilings(void **state)
{
    struct actor pat = people_login(&p, p.pat);
    struct changes *changes;
    struct grant *grant;
    struct offer offer = { .verbs = people_verbs(VERB_WORKLOAD_GET),
                           .to_ms = PEOPLE_NOW + PEOPLE_HOUR,
                           .sources = "10.1.0.0/16" };
    struct error err;

    (void)state;
    changes = people_begin(&p);
    grant = change_update(changes,
                          world_first_index(p.world, KIND_GRANT, 0, p.pat));
    grant->to_ms = PEOPLE_NOW + PEOPLE_HOUR;
    (void)snprintf(grant->sources, sizeof(grant->sources),
                   "10.0.0.0/8, 192.0.2.0/24");
    world_apply(p.world, changes);
    assert_int_equal(access_delegate_check(p.world, &pat, p.alpha, &offer,
                                           p.now_ms, &err),
                     0);
    offer.to_ms++;
    assert_int_equal(access_delegate_check(p.world, &pat, p.alpha, &offer,
                                           p.now_ms, &err),
                     -1);
    offer.to_ms = 0;
    assert_int_equal(access_delegate_check(p.world, &pat, p.alpha, &offer,
                                           p.now_ms, &err),
                     -1);
    offer.to_ms = PEOPLE_NOW + PEOPLE_HOUR;
    offer.sources = "";
    assert_int_equal(access_delegate_check(p.world, &pat, p.alpha, &offer,
                                           p.now_ms, &err),
                     -1);
    offer.sources = "10.1.0.0/16";
    (void)people_ceiling(&p, p.red, people_verbs(VERB_WORKLOAD_CREATE));
    assert_int_equal(access_delegate_check(p.world, &pat, p.alpha, &offer,
                                           p.now_ms, &err),
                     -1);
}

/* [A18] */
static void
nobody_controls_someone_stronger(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor pat = people_login(&p, p.pat);
    struct actor root = people_login(&p, p.root);
    struct error err;

    (void)state;
    assert_int_equal(access_control_check(p.world, &rita, p.dev, p.now_ms,
                                          &err),
                     0);
    assert_int_equal(access_control_check(p.world, &rita, p.rita, p.now_ms,
                                          &err),
                     0);
    assert_int_equal(access_control_check(p.world, &pat, p.rita, p.now_ms,
                                          &err),
                     -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_int_equal(access_control_check(p.world, &rita, p.bea, p.now_ms,
                                          &err),
                     -1);
    assert_int_equal(access_control_check(p.world, &root, p.rita, p.now_ms,
                                          &err),
                     0);
    (void)people_grant(&p, p.sec, p.red, ROLE_TENANT_ADMIN);
    assert_int_equal(access_control_check(p.world, &rita, p.sec, p.now_ms,
                                          &err),
                     -1);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(nobody_hands_out_more_than_they_may),
        CASE(an_offer_stays_within_window_networks_and_ceilings),
        CASE(nobody_controls_someone_stronger),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
