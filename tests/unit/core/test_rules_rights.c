/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules.h"

#include "tests/unit/core/edits.h"

static void
a_grant_hands_out_what_its_giver_may_and_no_more(void **state)
{
    struct actor pat = people_login(&p, p.pat);
    struct actor rita = people_login(&p, p.rita);
    struct actor dev;

    (void)state;
    assert_made(give(&pat, p.eve, p.alpha, ROLE_DEVELOPER, ""));
    assert_made(give(&pat, p.eve, p.alpha, ROLE_PROJECT_ADMIN, ""));
    assert_refused(give(&pat, p.eve, p.alpha, ROLE_TENANT_ADMIN, ""),
                   ERROR_DENIED);
    assert_refused(give(&pat, p.eve, p.red, ROLE_DEVELOPER, ""),
                   ERROR_DENIED);
    dev = people_login(&p, p.dev);
    assert_refused(give(&dev, p.eve, p.alpha, ROLE_DEVELOPER, ""),
                   ERROR_DENIED);
    assert_made(give(&rita, p.dev, p.red, ROLE_TENANT_ADMIN, ""));
    /* as much of it as counts on a tenant, and that is hers to give */
    assert_refused(give(&rita, p.dev, p.red, ROLE_PLATFORM_ADMIN, ""),
                   ERROR_DENIED);
    assert_made(give(&rita, p.dev, p.red, ROLE_PLATFORM_ADMIN,
                     ",\"give\":[]"));
    dev = people_login(&p, p.dev);
    assert_false(people_can(&p, &dev, VERB_TENANT_UPDATE, p.red));
    assert_false(people_can(&p, &dev, VERB_NODE_UPDATE, p.shared));
}

/* [A17] */
static void
a_role_does_not_lift_its_holder_above_the_node(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    struct ref grant;

    (void)state;
    grant = give(&root, p.dev, p.red, ROLE_AUDITOR, "");
    assert_made(grant);
    assert_true(verbs_within(world_grant(p.world, grant)->use,
                             verbs_for(KIND_TENANT)));
    assert_refused(give(&root, p.dev, p.red, ROLE_PLATFORM_ADMIN,
                        ",\"use\":[\"tenant.update\"]"),
                   ERROR_INVALID);
    assert_string_equal(err.field, "/use");
    assert_refused(create(&rita, KIND_ROLE, p.red,
                          "{\"name\":\"king\","
                          "\"verbs\":[\"tenant.update\"]}"),
                   ERROR_INVALID);
    assert_refused(create(&rita, KIND_ROLE, p.red,
                          "{\"name\":\"developer\","
                          "\"verbs\":[\"workload.get\"]}"),
                   ERROR_CONFLICT);
    assert_refused(give(&root, p.dev, p.platform, ROLE_AUDITOR, ""),
                   ERROR_INVALID);
    assert_string_equal(err.field, "/subject");
}

static void
nobody_gives_themselves_what_they_do_not_have(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref role;

    (void)state;
    assert_refused(give(&rita, p.rita, p.alpha, ROLE_DEVELOPER, ""),
                   ERROR_DENIED);
    role = create(&rita, KIND_ROLE, p.red,
                  "{\"name\":\"peek\",\"verbs\":[\"workload.get\"]}");
    assert_made(role);
    assert_made(create(&rita, KIND_GRANT, p.alpha,
                       BODY("{\"subject\":\"%s\",\"role\":\"peek\"}",
                            id(p.rita))));
    assert_int_equal(change(&rita, role,
                            "{\"verbs\":[\"workload.get\","
                            "\"workload.logs\"]}"),
                     -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_false(people_can(&p, &rita, VERB_WORKLOAD_LOGS, p.alpha_job));
}

/* [A21] */
static void
a_role_edit_is_a_way_to_hand_out_and_asks_the_same(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    struct ref role = create(&rita, KIND_ROLE, p.red,
                             "{\"name\":\"peek\","
                             "\"verbs\":[\"workload.get\"]}");
    struct ref grant;

    (void)state;
    grant = create(&rita, KIND_GRANT, p.alpha,
                   BODY("{\"subject\":\"%s\",\"role\":\"peek\"}", id(p.eve)));
    assert_made(grant);
    assert_int_equal(change(&rita, role,
                            "{\"verbs\":[\"workload.logs\"]}"),
                     0);
    assert_int_equal(change(&rita, role, "{\"give\":[\"workload.logs\"]}"),
                     0);
    (void)people_ceiling(&p, p.red, role_use(ROLE_TENANT_ADMIN));
    assert_int_equal(change(&rita, role,
                            "{\"verbs\":[\"workload.logs\","
                            "\"instance.exec\"]}"),
                     -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_int_equal(change(&root, role_find(p.world, ROLE_AUDITOR),
                            "{\"verbs\":[\"audit.retention\"]}"),
                     -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(delete (&rita, role), -1);
    assert_non_null(strstr(err.text, id(grant)));
    assert_int_equal(delete (&rita, grant), 0);
    assert_int_equal(delete (&rita, role), 0);
}

static void
a_grant_keeps_to_windows_of_giver_and_ceiling(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor root = people_login(&p, p.root);
    struct ref ceiling;

    (void)state;
    ceiling = people_ceiling(&p, p.red, verbs_all());
    assert_int_equal(change(&root, ceiling, "{\"grant_life_ms\":3600000}"),
                     0);
    assert_refused(give(&rita, p.eve, p.alpha, ROLE_DEVELOPER, ""),
                   ERROR_QUOTA);
    assert_refused(give(&rita, p.eve, p.alpha, ROLE_DEVELOPER,
                        ",\"to_ms\":\"2027-01-15T09:00:00.001Z\""),
                   ERROR_QUOTA);
    assert_made(give(&rita, p.eve, p.alpha, ROLE_DEVELOPER,
                     ",\"to_ms\":\"2027-01-15T09:00:00Z\""));
    assert_refused(give(&rita, p.eve, p.alpha, ROLE_DEVELOPER,
                        ",\"to_ms\":\"2027-01-15T08:00:00Z\""),
                   ERROR_INVALID);
    assert_refused(give(&rita, p.eve, p.alpha, ROLE_DEVELOPER,
                        ",\"sources\":\"10.0.0.1/8\","
                        "\"to_ms\":\"2027-01-15T09:00:00Z\""),
                   ERROR_INVALID);
}

static void
a_vendor_has_no_standing_rights(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref fixer = people_put(&p, KIND_USER, p.platform, "fixer");

    (void)state;
    assert_refused(give(&root, fixer, p.platform, ROLE_VENDOR,
                        ",\"to_ms\":\"2027-01-15T12:00:00Z\""),
                   ERROR_INVALID);
    assert_non_null(strstr(err.text, "work order"));
}

/* [A18] */
static void
a_password_is_reset_by_those_who_are_stronger(void **state)
{
    struct actor pat = people_login(&p, p.pat);
    struct actor rita = people_login(&p, p.rita);
    struct actor root = people_login(&p, p.root);
    struct actor dev = people_login(&p, p.dev);
    struct changes *changes = people_begin(&p);
    struct granted granted;

    (void)state;
    assert_int_equal(access_decide(p.world, &pat, VERB_USER_PASSWORD, p.rita,
                                   p.now_ms, &granted, &err),
                     -1);
    /* a tenant admin who also works for the platform is out of reach */
    assert_int_equal(access_decide(p.world, &rita, VERB_USER_PASSWORD, p.dev,
                                   p.now_ms, &granted, &err),
                     0);
    assert_int_equal(resource_set_password(&granted, changes, "$argon2id$x",
                                           &err),
                     0);
    world_apply(p.world, changes);
    assert_string_equal(world_user(p.world, p.dev)->password, "$argon2id$x");
    assert_false(people_can(&p, &dev, VERB_PROJECT_GET, p.alpha));
    (void)people_grant(&p, p.pat, p.red, ROLE_TENANT_ADMIN);
    (void)people_put(&p, KIND_ROLE, p.red, "odd");
    changes = people_begin(&p);
    ((struct role *)change_update(
         changes, world_find_name(p.world, KIND_ROLE, p.red, "odd")))
        ->verbs = people_verbs(VERB_AUDIT_ERASE);
    world_apply(p.world, changes);
    assert_made(create(&root, KIND_USER, p.red, "{\"name\":\"strong\"}"));
    changes = people_begin(&p);
    struct ref strong = world_find_name(p.world, KIND_USER, p.red, "strong");
    struct grant *grant = change_create(changes, KIND_GRANT, p.red, "");
    grant->subject = strong;
    grant->role = world_find_name(p.world, KIND_ROLE, p.red, "odd");
    grant->use = verbs_all();
    world_apply(p.world, changes);
    changes = people_begin(&p);
    assert_int_equal(access_decide(p.world, &rita, VERB_USER_PASSWORD, strong,
                                   p.now_ms, &granted, &err),
                     0);
    assert_int_equal(resource_set_password(&granted, changes, "$argon2id$x",
                                           &err),
                     -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_int_equal(change(&rita, strong, "{\"state\":\"suspended\"}"), -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_int_equal(delete (&rita, strong), -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_refused(create(&rita, KIND_APIKEY, strong, "{\"name\":\"mine\"}"),
                   ERROR_DENIED);
}

static void
a_key_is_a_narrowing_with_an_end(void **state)
{
    struct actor dev = people_login(&p, p.dev);
    struct actor root = people_login(&p, p.root);
    struct changes *changes;
    struct ref key, ceiling;
    struct actor narrow;
    struct verbs verbs;

    (void)state;
    key = create(&dev, KIND_APIKEY, p.dev,
                 BODY("{\"name\":\"ci\",\"verbs\":[\"workload.get\"],"
                      "\"subtree\":\"%s\"}",
                      id(p.alpha)));
    assert_made(key);
    assert_true(world_apikey(p.world, key)->expires_ms > p.now_ms);
    verbs = world_apikey(p.world, key)->verbs;
    assert_true(verbs_within(verbs, people_verbs(VERB_WORKLOAD_GET)));
    assert_refused(create(&dev, KIND_APIKEY, p.dev,
                          "{\"expires_ms\":\"2030-01-01T00:00:00Z\"}"),
                   ERROR_QUOTA);
    assert_refused(create(&dev, KIND_APIKEY, p.dev,
                          BODY("{\"subtree\":\"%s\"}", id(p.gamma))),
                   ERROR_INVALID);
    assert_refused(create(&dev, KIND_APIKEY, p.eve, "{}"), ERROR_NOT_FOUND);
    ceiling = people_ceiling(&p, p.red, verbs_all());
    assert_int_equal(change(&root, ceiling, "{\"key_life_ms\":60000}"), 0);
    key = create(&dev, KIND_APIKEY, p.dev, "{}");
    assert_int_equal(world_apikey(p.world, key)->expires_ms,
                     p.now_ms + 60000);
    /* a key that proved itself just now makes no wider key */
    verbs_add(&verbs, VERB_APIKEY_CREATE);
    narrow = people_key(&p, p.dev, verbs, none);
    narrow.proved_ms = p.now_ms;
    assert_refused(create(&narrow, KIND_APIKEY, p.dev, "{}"), ERROR_DENIED);
    changes = people_begin(&p);
    assert_true(change_is_empty(changes));
}

/* [A23] */
static void
a_deleted_person_leaves_no_right_and_no_credential(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor dev = people_login(&p, p.dev);
    struct actor key = people_key(&p, p.dev, verbs_all(), none);
    struct ref again;

    (void)state;
    assert_int_equal(delete (&rita, p.dev), 0);
    assert_false(people_can(&p, &dev, VERB_PROJECT_GET, p.alpha));
    assert_false(people_can(&p, &key, VERB_PROJECT_GET, p.alpha));
    assert_true(ref_is_none(
        world_first_index(p.world, KIND_GRANT, 0, p.dev)));
    assert_null(world_get(p.world, key.credential));
    again = create(&rita, KIND_USER, p.red, "{\"name\":\"dev\"}");
    assert_made(again);
    dev = people_login(&p, again);
    assert_false(people_can(&p, &dev, VERB_PROJECT_GET, p.alpha));
    assert_int_equal(delete (&rita, p.rita), -1);
    assert_int_equal(change(&rita, p.rita, "{\"state\":\"suspended\"}"), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
}

static void
a_deny_cannot_shut_in_its_own_key(void **state)
{
    struct actor sec = people_login(&p, p.sec);
    struct actor root = people_login(&p, p.root);
    struct ref deny;

    (void)state;
    assert_refused(create(&sec, KIND_DENY, p.platform,
                          "{\"verbs\":[\"deny.delete\"]}"),
                   ERROR_INVALID);
    assert_refused(create(&sec, KIND_DENY, p.red, "{\"verbs\":[]}"),
                   ERROR_INVALID);
    assert_refused(create(&root, KIND_DENY, p.red,
                          "{\"verbs\":[\"grant.create\"]}"),
                   ERROR_DENIED);
    deny = create(&sec, KIND_DENY, p.red, "{\"verbs\":[\"grant.create\"]}");
    assert_made(deny);
    assert_int_equal(delete (&sec, deny), 0);
    assert_made(create(&root, KIND_CEILING, p.red, "{\"verbs\":[]}"));
    assert_refused(create(&root, KIND_CEILING, p.red, "{\"verbs\":[]}"),
                   ERROR_CONFLICT);
}

/* [A25] */
static void
wrong_passwords_lock_for_a_while_that_grows(void **state)
{
    const uint8_t digest[32] = { 7 };
    struct changes *changes;
    struct ref session;

    (void)state;
    for (int i = 0; i < 4; i++) {
        changes = people_begin(&p);
        resource_log_in_failed(changes, p.dev);
        world_apply(p.world, changes);
    }
    assert_int_equal(world_user(p.world, p.dev)->locked_ms, 0);
    for (int i = 0; i < 2; i++) {
        changes = people_begin(&p);
        resource_log_in_failed(changes, p.dev);
        world_apply(p.world, changes);
    }
    assert_int_equal(world_user(p.world, p.dev)->locked_ms, p.now_ms + 2000);
    changes = people_begin(&p);
    assert_int_equal(resource_log_in(changes, p.dev, digest, &session, &err),
                     -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    p.now_ms += 2000;
    changes = people_begin(&p);
    assert_int_equal(resource_log_in(changes, p.dev, digest, &session, &err),
                     0);
    world_apply(p.world, changes);
    assert_int_equal(world_user(p.world, p.dev)->failures, 0);
    for (int i = 0; i < 40; i++) {
        changes = people_begin(&p);
        resource_log_in_failed(changes, p.dev);
        world_apply(p.world, changes);
    }
    assert_int_equal(world_user(p.world, p.dev)->locked_ms,
                     p.now_ms + 15 * 60 * 1000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_grant_hands_out_what_its_giver_may_and_no_more),
        CASE(a_role_does_not_lift_its_holder_above_the_node),
        CASE(nobody_gives_themselves_what_they_do_not_have),
        CASE(a_role_edit_is_a_way_to_hand_out_and_asks_the_same),
        CASE(a_grant_keeps_to_windows_of_giver_and_ceiling),
        CASE(a_vendor_has_no_standing_rights),
        CASE(a_password_is_reset_by_those_who_are_stronger),
        CASE(a_key_is_a_narrowing_with_an_end),
        CASE(a_deleted_person_leaves_no_right_and_no_credential),
        CASE(a_deny_cannot_shut_in_its_own_key),
        CASE(wrong_passwords_lock_for_a_while_that_grows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
