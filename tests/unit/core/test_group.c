/* SPDX-License-Identifier: Apache-2.0 */
#include "core/reach.h"
#include "core/rules.h"

#include "tests/unit/core/edits.h"

static struct ref
group_of(const struct actor *actor, struct ref home, const char *name)
{
    return create(actor, KIND_GROUP, home, BODY("{\"name\":\"%s\"}", name));
}

static struct ref
join(const struct actor *actor, struct ref group, struct ref subject)
{
    return create(actor, KIND_MEMBER, group,
                  BODY("{\"subject\":\"%s\"}", id(subject)));
}

static void
a_member_has_the_rights_of_its_group_while_it_is_one(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor eve = people_login(&p, p.eve);
    struct ref group = group_of(&rita, p.red, "developers");
    struct ref grant, member;

    (void)state;
    assert_made(group);
    grant = give(&rita, group, p.alpha, ROLE_DEVELOPER, "");
    assert_made(grant);
    assert_false(people_can(&p, &eve, VERB_WORKLOAD_CREATE, p.alpha));
    member = join(&rita, group, p.eve);
    assert_made(member);
    assert_string_equal(world_object(p.world, member)->name, "eve");
    assert_true(people_can(&p, &eve, VERB_WORKLOAD_CREATE, p.alpha));
    assert_false(people_can(&p, &eve, VERB_WORKLOAD_CREATE, p.beta));
    /* nothing was copied */
    assert_int_equal(world_count(p.world, KIND_GRANT),
                     world_count(p.world, KIND_USER) + 1 + 1);
    assert_int_equal(delete (&rita, member), 0);
    assert_false(people_can(&p, &eve, VERB_WORKLOAD_CREATE, p.alpha));
    assert_true(people_can(&p, &eve, VERB_INFERENCE_INVOKE, p.alpha));
}

/* [A23] [A27] */
static void
what_is_taken_from_a_group_is_taken_from_all_its_members(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor eve = people_login(&p, p.eve);
    struct actor bot = people_key(&p, p.bot, verbs_all(), none);
    struct ref beta_devs = group_of(&rita, p.red, "beta-devs");
    struct ref grant;

    (void)state;
    grant = give(&rita, beta_devs, p.beta, ROLE_DEVELOPER, "");
    assert_made(join(&rita, beta_devs, p.eve));
    assert_made(join(&rita, beta_devs, p.bot));
    assert_true(people_can(&p, &eve, VERB_WORKLOAD_CREATE, p.beta));
    assert_true(people_can(&p, &bot, VERB_WORKLOAD_CREATE, p.beta));
    assert_int_equal(delete (&rita, grant), 0);
    assert_false(people_can(&p, &eve, VERB_WORKLOAD_CREATE, p.beta));
    assert_false(people_can(&p, &bot, VERB_WORKLOAD_CREATE, p.beta));
    assert_made(give(&rita, beta_devs, p.beta, ROLE_DEVELOPER, ""));
    assert_true(people_can(&p, &bot, VERB_WORKLOAD_CREATE, p.beta));
    assert_int_equal(delete (&rita, beta_devs), 0);
    assert_false(people_can(&p, &eve, VERB_WORKLOAD_CREATE, p.beta));
    assert_false(people_can(&p, &bot, VERB_WORKLOAD_CREATE, p.beta));
    assert_int_equal(world_count(p.world, KIND_MEMBER), 0);
    /* a group of the same name has none of the old rights */
    beta_devs = group_of(&rita, p.red, "beta-devs");
    assert_made(join(&rita, beta_devs, p.eve));
    assert_false(people_can(&p, &eve, VERB_WORKLOAD_CREATE, p.beta));
}

/* [A15]  A user manager adds itself, or a friend, to a group that carries
 * more than it may hand out. */
static void
who_adds_a_member_could_give_all_that_the_group_has(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    struct ref manager = create(&root, KIND_ROLE, p.platform,
                                "{\"name\":\"user-manager\",\"verbs\":["
                                "\"user.get\",\"user.create\","
                                "\"member.create\",\"group.get\"]}");
    struct ref hannah = people_put(&p, KIND_USER, p.platform, "hannah");
    struct ref friend = people_put(&p, KIND_USER, p.platform, "friend");
    struct ref admins = group_of(&root, p.platform, "admins");
    struct ref empty = group_of(&root, p.platform, "readers");
    struct actor me;

    (void)state;
    assert_made(manager);
    assert_made(create(&root, KIND_GRANT, p.platform,
                       BODY("{\"subject\":\"%s\",\"role\":\"user-manager\"}",
                            id(hannah))));
    assert_made(give(&root, admins, p.platform, ROLE_PLATFORM_ADMIN, ""));
    me = people_login(&p, hannah);
    assert_refused(join(&me, admins, hannah), ERROR_DENIED);
    assert_non_null(strstr(err.text, "not yours to hand out"));
    assert_non_null(strstr(err.help, "admins"));
    assert_refused(join(&me, admins, friend), ERROR_DENIED);
    assert_made(join(&me, empty, friend));
    assert_made(join(&root, admins, friend));
    assert_false(people_can(&p, &me, VERB_TENANT_CREATE, p.platform));
    /* whoever joined it may not be given what the adder cannot give, later
     * either: a grant to the group asks its giver */
    assert_refused(give(&rita, admins, p.red, ROLE_DEVELOPER, ""),
                   ERROR_INVALID);
}

static void
nobody_gives_themselves_through_a_group(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref devs = group_of(&rita, p.red, "devs");
    struct ref role, peeks;

    (void)state;
    assert_made(give(&rita, devs, p.alpha, ROLE_DEVELOPER, ""));
    assert_refused(join(&rita, devs, p.rita), ERROR_DENIED);
    assert_non_null(strstr(err.text, "themselves"));
    peeks = group_of(&rita, p.red, "peeks");
    assert_made(join(&rita, peeks, p.rita));
    assert_refused(give(&rita, peeks, p.alpha, ROLE_DEVELOPER, ""),
                   ERROR_DENIED);
    assert_non_null(strstr(err.text, "themselves"));
    role = create(&rita, KIND_ROLE, p.red,
                  "{\"name\":\"peek\",\"verbs\":[\"workload.get\"]}");
    assert_made(create(&rita, KIND_GRANT, p.alpha,
                       BODY("{\"subject\":\"%s\",\"role\":\"peek\"}",
                            id(peeks))));
    assert_int_equal(change(&rita, role,
                            "{\"verbs\":[\"workload.get\","
                            "\"workload.logs\"]}"),
                     -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_false(people_can(&p, &rita, VERB_WORKLOAD_LOGS, p.alpha_job));
}

static void
a_member_is_of_the_groups_own_tenant_once_and_no_group(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    struct ref devs = group_of(&rita, p.red, "devs");
    struct ref staff = group_of(&root, p.platform, "staff");
    struct ref other = group_of(&rita, p.red, "others");

    (void)state;
    assert_made(join(&rita, devs, p.dev));
    assert_refused(join(&rita, devs, p.dev), ERROR_CONFLICT);
    assert_refused(join(&root, devs, p.bob), ERROR_INVALID);
    assert_string_equal(err.field, "/subject");
    assert_refused(join(&root, staff, p.rita), ERROR_INVALID);
    assert_refused(join(&root, devs, p.ops), ERROR_INVALID);
    assert_refused(join(&rita, devs, other), ERROR_INVALID);
    assert_non_null(strstr(err.text, "groups hold no groups"));
    /* of another tenant: as an id that never was */
    assert_refused(join(&rita, devs, p.bob), ERROR_INVALID);
    char text[sizeof err.text];
    memcpy(text, err.text, sizeof text);
    assert_refused(create(&rita, KIND_MEMBER, devs,
                          "{\"subject\":\"us_aaaaaaaaaaaaaaaaaaaaaaaaaa\"}"),
                   ERROR_INVALID);
    assert_non_null(strstr(text, "subject"));
    people_state(&p, p.eve, STATE_SUSPENDED);
    assert_refused(join(&rita, devs, p.eve), ERROR_INVALID);
}

static void
a_stronger_subject_is_not_put_into_a_group(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref devs = group_of(&rita, p.red, "devs");
    struct changes *changes = people_begin(&p);
    struct role *role = change_create(changes, KIND_ROLE, p.red, "odd");
    struct grant *grant = change_create(changes, KIND_GRANT, p.red, "");

    (void)state;
    role->verbs = people_verbs(VERB_AUDIT_ERASE);
    grant->subject = p.pat;
    grant->role = role->object.self;
    grant->use = verbs_all();
    world_apply(p.world, changes);
    assert_refused(join(&rita, devs, p.pat), ERROR_DENIED);
    assert_made(join(&rita, devs, p.dev));
}

static void
groups_of_a_subject_are_bounded(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    char name[16];

    (void)state;
    for (int i = 0; i < REACH_GROUPS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "g%d", i);
        assert_made(join(&rita, group_of(&rita, p.red, name), p.dev));
    }
    assert_refused(join(&rita, group_of(&rita, p.red, "more"), p.dev),
                   ERROR_QUOTA);
    assert_non_null(strstr(err.text, "32"));
}

/* Ends of windows and networks of a group's grant go with it to the joiner. */
static void
a_groups_window_bounds_who_may_add_to_it(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor eve = people_login(&p, p.eve);
    struct ref devs = group_of(&rita, p.red, "devs");

    (void)state;
    assert_made(give(&rita, devs, p.alpha, ROLE_DEVELOPER,
                     ",\"to_ms\":\"2027-01-15T09:00:00Z\""));
    assert_made(join(&rita, devs, p.eve));
    assert_true(people_can(&p, &eve, VERB_WORKLOAD_CREATE, p.alpha));
    p.now_ms += PEOPLE_HOUR;
    assert_false(people_can(&p, &eve, VERB_WORKLOAD_CREATE, p.alpha));
}

static void
a_deleted_member_and_a_deleted_tenant_leave_no_membership(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    struct ref devs = group_of(&rita, p.red, "devs");
    struct ref team = group_of(&root, p.blue, "team");

    (void)state;
    assert_made(join(&rita, devs, p.dev));
    assert_int_equal(delete (&rita, p.dev), 0);
    assert_int_equal(world_count(p.world, KIND_MEMBER), 0);
    assert_made(join(&root, team, p.bea));
    assert_made(give(&root, team, p.blue, ROLE_AUDITOR, ""));
    struct changes *changes = people_begin(&p);
    change_delete(changes, p.gamma_job);
    change_delete(changes, p.gamma_data);
    world_apply(p.world, changes);
    assert_int_equal(delete (&root, p.gamma), 0);
    root.asking = true; /* as one who has the approval */
    assert_int_equal(delete (&root, p.blue), 0);
    assert_int_equal(world_count(p.world, KIND_MEMBER), 0);
    assert_null(world_get(p.world, team));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_member_has_the_rights_of_its_group_while_it_is_one),
        CASE(what_is_taken_from_a_group_is_taken_from_all_its_members),
        CASE(who_adds_a_member_could_give_all_that_the_group_has),
        CASE(nobody_gives_themselves_through_a_group),
        CASE(a_member_is_of_the_groups_own_tenant_once_and_no_group),
        CASE(a_stronger_subject_is_not_put_into_a_group),
        CASE(groups_of_a_subject_are_bounded),
        CASE(a_groups_window_bounds_who_may_add_to_it),
        CASE(a_deleted_member_and_a_deleted_tenant_leave_no_membership),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
