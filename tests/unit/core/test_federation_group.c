/* SPDX-License-Identifier: Apache-2.0 */
#include "core/federation.h"
#include "core/reach.h"

#include "tests/unit/core/edits.h"

/* What a claim says about groups: "ml" in groups is in the group devs, which
 * has developer on alpha. */

#define MINUTE (60 * INT64_C(1000))

static struct federation_login in; /* the last one */
static struct ref devs;

static struct ref
corp(const struct actor *by, const char *more)
{
    devs = create(by, KIND_GROUP, p.red, "{\"name\":\"devs\"}");
    assert_made(devs);
    assert_made(give(by, devs, p.alpha, ROLE_DEVELOPER, ""));
    return create(by, KIND_IDENTITYPROVIDER, p.red,
                  BODY("{\"name\":\"corp\","
                       "\"issuer\":\"https://sso.example.org\","
                       "\"client_id\":\"bulkhead\",\"mapping\":["
                       "{\"claim\":\"groups\",\"value\":\"ml\","
                       "\"group\":\"devs\"}]%s}",
                       more));
}

static int
log_in(struct ref provider, const char *subject, const char *claims)
{
    struct changes *changes = people_begin(&p);
    scoped_json value = body_of(claims);
    struct federation_person person = { .subject = subject,
                                        .name = "ada",
                                        .claims = value };
    uint8_t digest[32];
    int rc;

    people_digest(&p, digest);
    rc = federation_log_in(changes, provider, &person, digest, &in, &err);
    if (rc == 0)
        world_apply(p.world, changes);
    return rc;
}

static bool
may_work(void)
{
    const struct actor actor = { .kind = ACTOR_USER,
                                 .subject = in.user,
                                 .credential = in.session };

    return people_can(&p, &actor, VERB_WORKLOAD_CREATE, p.alpha);
}

static struct ref
member_of(struct ref user)
{
    return world_first_index(p.world, KIND_MEMBER, 0, user);
}

static void
a_claim_lets_into_a_group_for_a_time(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, ",\"fresh_ms\":600000");
    const struct membership *member;

    (void)state;
    assert_made(provider);
    assert_int_equal(log_in(provider, "s-1", "{\"groups\":[\"ml\"]}"), 0);
    member = world_membership(p.world, member_of(in.user));
    assert_true(ref_equal(member->object.parent, devs));
    assert_true(ref_equal(member->provider, provider));
    assert_true(ref_equal(member->adder, p.rita));
    assert_string_equal(member->object.name, "ada");
    assert_int_equal(member->to_ms, p.now_ms + 10 * MINUTE);
    assert_true(may_work());
    assert_true(ref_is_none(
        world_first_index(p.world, KIND_GRANT, 0, in.user)));
    p.now_ms += 10 * MINUTE;
    assert_false(may_work());
    assert_int_equal(log_in(provider, "s-1", "{\"groups\":[\"ml\"]}"), 0);
    assert_true(may_work()); /* the same membership, for longer */
    assert_int_equal(world_count(p.world, KIND_MEMBER), 1);
}

/* [A27] */
static void
a_claim_that_is_gone_takes_the_membership_away(void **state)
{
    static const char *const nothing[] = { "{\"groups\":[]}", "{}",
                                           "{\"groups\":[\"mlx\"]}" };
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, "");

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(log_in(provider, "s-1", "{\"groups\":\"ml\"}"), 0);
        assert_true(may_work());
        assert_int_equal(log_in(provider, "s-1", nothing[i]), 0);
        assert_false(may_work());
        assert_int_equal(world_count(p.world, KIND_MEMBER), 0);
    }
}

/* [A23] */
static void
what_the_mapping_or_the_provider_takes_back_is_gone_at_once(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, "");

    (void)state;
    assert_int_equal(log_in(provider, "s-1", "{\"groups\":\"ml\"}"), 0);
    assert_int_equal(change(&rita, provider, "{\"mapping\":null}"), 0);
    assert_true(ref_is_none(member_of(in.user)));
    assert_int_equal(change(&rita, provider,
                            "{\"mapping\":[{\"claim\":\"groups\","
                            "\"value\":\"ml\",\"group\":\"devs\"}]}"),
                     0);
    assert_int_equal(log_in(provider, "s-1", "{\"groups\":\"ml\"}"), 0);
    assert_true(may_work());
    assert_int_equal(change(&rita, provider, "{\"state\":\"suspended\"}"), 0);
    assert_true(ref_is_none(member_of(in.user)));
}

static void
whom_somebody_put_in_by_hand_stays(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, ""), member;

    (void)state;
    assert_int_equal(log_in(provider, "s-1", "{}"), 0);
    member = create(&rita, KIND_MEMBER, devs,
                    BODY("{\"subject\":\"%s\"}", id(in.user)));
    assert_made(member);
    assert_int_equal(log_in(provider, "s-1", "{\"groups\":\"ml\"}"), 0);
    assert_int_equal(log_in(provider, "s-1", "{}"), 0);
    assert_int_equal(delete (&rita, provider), 0);
    assert_true(ref_equal(member_of(in.user), member));
    assert_int_equal(world_membership(p.world, member)->to_ms, 0);
}

/* bob's role may write providers; what the group has is not his to give. */
static void
a_mapping_to_a_group_hands_out_no_more_than_its_author_may(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor root = people_login(&p, p.root);
    struct ref provider = corp(&rita, ""), odd;
    struct changes *changes;
    struct grant *grant;

    (void)state;
    assert_int_equal(change(&rita, provider, "{\"mapping\":null}"), 0);
    changes = people_begin(&p);
    odd = ((struct object *)change_create(changes, KIND_ROLE, p.platform,
                                          "odd"))
              ->self;
    world_apply(p.world, changes);
    changes = people_begin(&p);
    ((struct role *)change_update(changes, odd))->verbs =
        people_verbs(VERB_AUDIT_ERASE);
    grant = change_create(changes, KIND_GRANT, p.red, "");
    grant->subject = devs;
    grant->role = odd;
    grant->use = verbs_all();
    world_apply(p.world, changes);
    assert_int_equal(change(&rita, provider,
                            "{\"mapping\":[{\"claim\":\"groups\","
                            "\"value\":\"ml\",\"group\":\"devs\"}]}"),
                     -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_non_null(strstr(err.text, "audit.erase"));
    assert_non_null(strstr(err.help, "devs"));
    (void)root;
}

static void
a_mapping_names_a_group_of_the_providers_people(void **state)
{
    static const char *const wrong[] = {
        "{\"claim\":\"g\",\"value\":\"v\",\"group\":\"never\"}",
        ("{\"claim\":\"g\",\"value\":\"v\",\"group\":\"devs\","
         "\"role\":\"developer\"}"),
        "{\"claim\":\"g\",\"value\":\"v\",\"group\":\"blues\"}",
        "{\"claim\":\"g\",\"value\":\"v\",\"group\":7}",
        "{\"claim\":\"\",\"value\":\"v\",\"group\":\"devs\"}",
    };
    struct actor rita = people_login(&p, p.rita);
    struct actor bea = people_login(&p, p.bea);
    struct ref provider = corp(&rita, "");
    struct ref blues =
        create(&bea, KIND_GROUP, p.blue, "{\"name\":\"blues\"}");

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_int_equal(change(&rita, provider,
                                BODY("{\"mapping\":[%s]}", wrong[i])),
                         -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_string_equal(err.field, "/mapping/0");
    }
    assert_int_equal(change(&rita, provider,
                            BODY("{\"mapping\":[{\"claim\":\"g\","
                                 "\"value\":\"v\",\"group\":\"%s\"}]}",
                                 id(blues))),
                     -1);
    assert_int_equal(err.code, ERROR_INVALID);
}

/* A user's groups are bounded, by hand and by claims alike. */
static void
who_is_in_all_groups_that_one_can_be_in_comes_into_no_other(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, "");

    (void)state;
    assert_int_equal(log_in(provider, "s-1", "{}"), 0);
    for (int i = 0; i < REACH_GROUPS_MAX; i++) {
        struct ref group = create(&rita, KIND_GROUP, p.red,
                                  BODY("{\"name\":\"g%d\"}", i));

        assert_made(create(&rita, KIND_MEMBER, group,
                           BODY("{\"subject\":\"%s\"}", id(in.user))));
    }
    assert_int_equal(log_in(provider, "s-1", "{\"groups\":\"ml\"}"), 0);
    assert_false(may_work());
    assert_int_equal(world_count(p.world, KIND_MEMBER), REACH_GROUPS_MAX);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_claim_lets_into_a_group_for_a_time),
        CASE(a_claim_that_is_gone_takes_the_membership_away),
        CASE(what_the_mapping_or_the_provider_takes_back_is_gone_at_once),
        CASE(whom_somebody_put_in_by_hand_stays),
        CASE(a_mapping_to_a_group_hands_out_no_more_than_its_author_may),
        CASE(a_mapping_names_a_group_of_the_providers_people),
        CASE(who_is_in_all_groups_that_one_can_be_in_comes_into_no_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
