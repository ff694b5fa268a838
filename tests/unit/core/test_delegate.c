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

static struct grant *
grant_of(struct changes *changes, struct ref subject)
{
    return change_update(changes, world_first_index(p.world, KIND_GRANT, 0,
                                                    subject));
}

static int
offers(const struct actor *actor, const struct offer *offer)
{
    struct error err;

    return access_delegate_check(p.world, actor, p.alpha, offer, p.now_ms,
                                 &err);
}

static void
what_takes_a_second_person_is_handed_out_so_bound(void **state)
{
    struct actor pat = people_login(&p, p.pat);
    struct offer offer = { .verbs = people_verbs(VERB_WORKLOAD_GET),
                           .sources = "" };
    struct changes *changes = people_begin(&p);

    (void)state;
    assert_int_equal(offers(&pat, &offer), 0);
    grant_of(changes, p.pat)->approval = true;
    world_apply(p.world, changes);
    assert_int_equal(offers(&pat, &offer), -1);
    offer.approval = true;
    assert_int_equal(offers(&pat, &offer), 0);
}

static void
what_takes_a_proof_is_handed_out_with_one_at_least_as_new(void **state)
{
    struct actor pat = people_login(&p, p.pat);
    struct offer offer = { .verbs = people_verbs(VERB_WORKLOAD_GET),
                           .sources = "",
                           .proof_ms = 60000 };
    struct changes *changes = people_begin(&p);

    (void)state;
    grant_of(changes, p.pat)->proof_ms = 60000;
    world_apply(p.world, changes);
    assert_int_equal(offers(&pat, &offer), 0);
    offer.proof_ms = 60001;
    assert_int_equal(offers(&pat, &offer), -1);
    offer.proof_ms = 0;
    assert_int_equal(offers(&pat, &offer), -1);
    offer.proof_ms = 1;
    assert_int_equal(offers(&pat, &offer), 0);
    pat.proved_ms = p.now_ms - 60001; /* the giver's own is too old */
    assert_int_equal(offers(&pat, &offer), -1);
}

static void
show_factor(const struct actor *actor)
{
    struct changes *changes = people_begin(&p);

    ((struct session *)change_update(changes, actor->credential))->factor_ms =
        p.now_ms;
    world_apply(p.world, changes);
}

static void
what_takes_a_second_factor_is_handed_out_so_bound_by_who_showed_it(
    void **state)
{
    struct actor pat = people_login(&p, p.pat);
    struct offer offer = { .verbs = people_verbs(VERB_WORKLOAD_GET),
                           .sources = "",
                           .factor = true };
    struct changes *changes = people_begin(&p);

    (void)state;
    grant_of(changes, p.pat)->factor = true;
    world_apply(p.world, changes);
    assert_int_equal(offers(&pat, &offer), -1);
    show_factor(&pat);
    assert_int_equal(offers(&pat, &offer), 0);
    offer.factor = false;
    assert_int_equal(offers(&pat, &offer), -1);
}

/* The group's grant lasts; eve is in the group for an hour. */
static void
who_is_in_a_group_for_a_time_hands_out_for_no_longer(void **state)
{
    struct ref group = people_put(&p, KIND_GROUP, p.red, "leads");
    struct actor eve = people_login(&p, p.eve);
    struct offer offer = { .verbs = people_verbs(VERB_WORKLOAD_GET),
                           .sources = "",
                           .to_ms = PEOPLE_NOW + PEOPLE_HOUR };
    struct changes *changes;
    struct membership *member;

    (void)state;
    (void)people_grant(&p, group, p.alpha, ROLE_PROJECT_ADMIN);
    assert_int_equal(offers(&eve, &offer), -1);
    changes = people_begin(&p);
    member = change_create(changes, KIND_MEMBER, group, "");
    member->subject = p.eve;
    member->to_ms = PEOPLE_NOW + PEOPLE_HOUR;
    world_apply(p.world, changes);
    assert_int_equal(offers(&eve, &offer), 0);
    offer.to_ms++;
    assert_int_equal(offers(&eve, &offer), -1);
    offer.to_ms = 0;
    assert_int_equal(offers(&eve, &offer), -1);
    offer.to_ms = PEOPLE_NOW + PEOPLE_HOUR;
    p.now_ms += PEOPLE_HOUR;
    assert_int_equal(offers(&eve, &offer), -1); /* it is over */
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
        CASE(what_takes_a_second_person_is_handed_out_so_bound),
        CASE(what_takes_a_proof_is_handed_out_with_one_at_least_as_new),
        CASE(what_takes_a_second_factor_is_handed_out_so_bound_by_who_showed_it),
        CASE(who_is_in_a_group_for_a_time_hands_out_for_no_longer),
        CASE(nobody_controls_someone_stronger),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
