/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/edits.h"

#include "core/governance.h"
#include "core/lifecycle.h"
#include "core/quota.h"
#include "core/request.h"
#include "core/submit.h"

/* Wishes for more, who decides on them, and who may use a priority. */

static int
decide(const struct actor *actor, struct ref ref, bool grant,
       const char *note)
{
    struct changes *changes = people_begin(&p);
    struct granted granted;
    int result;

    err.code = ERROR_NONE;
    result = access_decide(p.world, actor, VERB_REQUEST_DECIDE, ref, p.now_ms,
                           &granted, &err);
    if (result == 0)
        result = request_decide(&granted, changes, ref, grant, note, &err);
    if (result == 0)
        world_apply(p.world, changes);
    return result;
}

static int
lift(const struct actor *actor, struct ref quota, int64_t limit,
     int64_t for_ms, const char *reason)
{
    struct changes *changes = people_begin(&p);
    struct granted granted;
    int result;

    err.code = ERROR_NONE;
    result = access_decide(p.world, actor, VERB_QUOTA_RAISE, quota, p.now_ms,
                           &granted, &err);
    if (result == 0)
        result = quota_raise(&granted, changes, limit, for_ms, reason, &err);
    if (result == 0)
        world_apply(p.world, changes);
    return result;
}

#define WISH                                                                  \
    "{\"sort\":\"quota\",\"dimension\":\"cards\",\"guaranteed\":2000,"         \
    "\"limit\":4000,\"reason\":\"the next model\"}"

static void
a_tenant_s_wish_is_granted_by_the_platform_and_not_by_itself(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    struct actor dev = people_login(&p, p.dev);
    struct ref wish, quota;

    (void)state;
    add_cards(8);
    assert_refused(create(&dev, KIND_REQUEST, p.alpha, WISH), ERROR_DENIED);
    assert_refused(create(&rita, KIND_REQUEST, p.red,
                          "{\"sort\":\"quota\",\"dimension\":\"cards\","
                          "\"reason\":\"more\"}"),
                   ERROR_INVALID);
    wish = create(&rita, KIND_REQUEST, p.red, WISH);
    assert_made(wish);
    assert_int_equal(decide(&rita, wish, true, ""), -1);
    assert_int_equal(world_count(p.world, KIND_QUOTA), 0);
    assert_int_equal(decide(&root, wish, true, "until May"), 0);
    quota = world_first_child(p.world, KIND_QUOTA, p.red);
    assert_int_equal(world_quota(p.world, quota)->guaranteed, 2000);
    assert_int_equal(world_quota(p.world, quota)->limit, 4000);
    assert_int_equal(world_wish(p.world, wish)->state, REQUEST_GRANTED);
    assert_string_equal(world_wish(p.world, wish)->note, "until May");
    assert_int_equal(decide(&root, wish, false, "no"), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
}

/* What the estate does not have is not granted; the wish stays open. */
static void
a_grant_keeps_every_rule_of_the_change(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    struct ref wish;

    (void)state;
    add_cards(1);
    wish = create(&rita, KIND_REQUEST, p.red, WISH);
    assert_int_equal(decide(&root, wish, true, ""), -1);
    assert_int_equal(err.code, ERROR_QUOTA);
    assert_non_null(strstr(err.text, "1 card"));
    assert_int_equal(world_wish(p.world, wish)->state, REQUEST_OPEN);
    assert_int_equal(decide(&root, wish, false, ""), -1);
    assert_string_equal(err.field, "/note");
    assert_int_equal(decide(&root, wish, false, "no cards left"), 0);
    assert_int_equal(world_wish(p.world, wish)->state, REQUEST_DENIED);
}

static void
nobody_decides_on_their_own_wish(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref wish;

    (void)state;
    add_cards(8);
    wish = create(&root, KIND_REQUEST, p.red, WISH);
    assert_int_equal(decide(&root, wish, true, ""), -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_non_null(strstr(err.text, "their own"));
}

/* A project's wish is its tenant's to decide, within the tenant's own. */
static void
a_project_s_wish_is_decided_by_its_tenant(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    struct actor pat = people_login(&p, p.pat);
    struct ref wish;

    (void)state;
    add_cards(8);
    assert_made(create(&root, KIND_QUOTA, p.red,
                       "{\"dimension\":\"cards\",\"guaranteed\":1000,"
                       "\"limit\":4000}"));
    wish = create(&pat, KIND_REQUEST, p.alpha, WISH);
    assert_int_equal(decide(&pat, wish, true, ""), -1);
    assert_int_equal(decide(&rita, wish, true, ""), -1);
    assert_non_null(strstr(err.text, "would sum to 2 cards, its own is 1"));
    assert_true(ref_is_none(world_first_child(p.world, KIND_QUOTA, p.alpha)));
}

/* --- reservations --- */

/* PEOPLE_NOW is 2027-01-15T08:00:00Z. */
#define TIME(more)                                                            \
    "{\"sort\":\"reservation\",\"limit\":4000,\"reason\":\"exam\","        \
    "\"pool\":\"shared\",\"to_ms\":\"2027-01-20T00:00:00Z\"" more "}"

static void
a_reservation_is_asked_for_and_made_when_it_is_granted(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    const struct reservation *made;
    scoped_json question = NULL;
    struct ref wish, late;

    (void)state;
    add_cards(8);
    wish = create(&rita, KIND_REQUEST, p.red,
                  TIME(",\"from_ms\":\"2027-01-19T00:00:00Z\",\"lend\":true"));
    assert_made(wish);
    question = request_question(p.world, wish, p.now_ms);
    assert_non_null(question);
    assert_int_equal(decide(&rita, wish, true, ""), -1);
    assert_int_equal(world_count(p.world, KIND_RESERVATION), 0);
    assert_int_equal(decide(&root, wish, true, ""), 0);
    made = world_reservation(
        p.world, world_first_child(p.world, KIND_RESERVATION, p.red));
    assert_non_null(made);
    assert_int_equal(made->cards, 4);
    assert_int_equal(made->to_ms - made->from_ms, 24 * PEOPLE_HOUR);
    assert_true(made->lend);
    assert_true(ref_equal(made->pool, p.shared));
    assert_null(request_question(p.world, wish, p.now_ms));
    /* Its beginning has passed when it is granted. */
    late = create(&rita, KIND_REQUEST, p.red, TIME(""));
    p.now_ms += PEOPLE_HOUR;
    root = people_login(&p, p.root);
    assert_int_equal(decide(&root, late, true, ""), 0);
    world_each_child(p.world, KIND_RESERVATION, p.red, ref)
        made = world_reservation(p.world, ref);
    assert_int_equal(made->from_ms, p.now_ms);
}

static void
a_reservation_that_does_not_fit_stays_a_request(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    struct actor pat = people_login(&p, p.pat);
    struct ref wish, below;

    (void)state;
    add_cards(3);
    wish = create(&rita, KIND_REQUEST, p.red, TIME(""));
    assert_int_equal(decide(&root, wish, true, ""), -1);
    assert_int_equal(err.code, ERROR_QUOTA);
    assert_non_null(strstr(err.text, "3 can be reserved"));
    assert_int_equal(world_wish(p.world, wish)->state, REQUEST_OPEN);
    /* A tenant's admin decides what is below, and makes no reservation. */
    below = create(&pat, KIND_REQUEST, p.alpha, TIME(""));
    assert_made(below);
    assert_int_equal(decide(&rita, below, true, ""), -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_non_null(strstr(err.text, "reservation.create"));
}

static void
a_wish_for_a_reservation_has_sound_windows_and_whole_cards(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    static const struct {
        const char *body, *field;
    } bad[] = {
        { TIME(",\"from_ms\":\"2027-01-21T00:00:00Z\""), "/to_ms" },
        { TIME(",\"from_ms\":\"2026-01-21T00:00:00Z\""), "/from_ms" },
        { TIME(",\"every\":\"day\""), "/until_ms" },
        { "{\"sort\":\"reservation\",\"limit\":1500,\"reason\":\"x\","
          "\"pool\":\"shared\",\"to_ms\":\"2027-01-20T00:00:00Z\"}",
          "/limit" },
        { "{\"sort\":\"reservation\",\"limit\":1000,\"reason\":\"x\","
          "\"to_ms\":\"2027-01-20T00:00:00Z\"}",
          "/pool" },
    };

    (void)state;
    add_cards(8);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_refused(create(&rita, KIND_REQUEST, p.red, bad[i].body),
                       ERROR_INVALID);
        assert_string_equal(err.field, bad[i].field);
    }
}

/* --- priorities --- */

static void
rule(const char *roles, const char *classes, const char *kinds, bool approval)
{
    struct changes *changes = people_begin(&p);
    struct priority *priority = change_update(changes, p.priority);

    change_doc(changes, &priority->roles, roles);
    change_doc(changes, &priority->project_classes, classes);
    change_doc(changes, &priority->kinds, kinds);
    priority->approval = approval;
    world_apply(p.world, changes);
}

static int
may_use(const struct actor *actor, char rule_out[TEXT_MAX_SIZE])
{
    struct workload workload = { .object.parent = p.alpha,
                                 .priority = p.priority };

    return governance_check(p.world, actor, &workload, p.now_ms, rule_out,
                            &err);
}

static void
a_priority_is_for_its_roles_projects_and_kinds(void **state)
{
    struct actor pat = people_login(&p, p.pat);
    struct actor dev = people_login(&p, p.dev);
    char text[TEXT_MAX_SIZE];

    (void)state;
    assert_int_equal(may_use(&dev, text), 0);
    rule("[\"project-admin\",\"tenant-admin\"]", NULL, NULL, false);
    assert_int_equal(may_use(&dev, text), -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_non_null(strstr(err.text, "project-admin, tenant-admin"));
    assert_non_null(strstr(err.help, "request priority research"));
    assert_int_equal(may_use(&pat, text), 0);
    assert_non_null(strstr(text, "role project-admin"));
    rule(NULL, "[\"sandbox\"]", NULL, false);
    assert_int_equal(may_use(&pat, text), -1);
    assert_non_null(strstr(err.text, "projects of class sandbox"));
    rule(NULL, NULL, "[\"service\"]", false);
    assert_int_equal(may_use(&pat, text), -1);
    assert_non_null(strstr(err.text, "work of kind service"));
    rule(NULL, "[\"production\"]", "[\"batch\"]", false);
    assert_int_equal(may_use(&dev, text), 0);
    assert_string_equal(text, "research: role any, project class production, "
                              "kind batch");
}

/* The grant by which pat is project-admin, to be changed. */
#define PATS_GRANT(changes, grant)                                            \
    struct changes *changes = people_begin(&p);                               \
    struct grant *grant = change_update(                                      \
        changes, world_first_index(p.world, KIND_GRANT, 0, p.pat))

static void
a_role_counts_by_each_condition_of_its_grant(void **state)
{
    struct actor pat = people_login(&p, p.pat);
    char text[TEXT_MAX_SIZE];

    (void)state;
    rule("[\"project-admin\"]", NULL, NULL, false);
    assert_int_equal(may_use(&pat, text), 0);
    {
        PATS_GRANT(changes, grant);
        grant->factor = true;
        world_apply(p.world, changes);
    }
    assert_int_equal(may_use(&pat, text), -1);
    {
        struct changes *changes = people_begin(&p);
        struct session *session = change_update(changes, pat.credential);

        session->factor_ms = p.now_ms;
        world_apply(p.world, changes);
    }
    assert_int_equal(may_use(&pat, text), 0);
    {
        PATS_GRANT(changes, grant);
        grant->proof_ms = 60000;
        world_apply(p.world, changes);
    }
    pat.proved_ms = p.now_ms - 60000;
    assert_int_equal(may_use(&pat, text), 0);
    pat.proved_ms = p.now_ms - 60001;
    assert_int_equal(may_use(&pat, text), -1);
    pat.proved_ms = p.now_ms;
    {
        PATS_GRANT(changes, grant);
        grant->approval = true;
        world_apply(p.world, changes);
    }
    assert_int_equal(may_use(&pat, text), -1);
    {
        PATS_GRANT(changes, grant);
        grant->approval = false;
        grant->to_ms = p.now_ms;
        world_apply(p.world, changes);
    }
    assert_int_equal(may_use(&pat, text), -1);
}

static void
a_rule_names_what_there_is(void **state)
{
    struct actor root = people_login(&p, p.root);

    (void)state;
    assert_int_equal(change(&root, p.priority, "{\"roles\":[\"nobody\"]}"),
                     -1);
    assert_string_equal(err.field, "/roles");
    assert_int_equal(change(&root, p.priority, "{\"kinds\":[\"cron\"]}"), -1);
    assert_int_equal(change(&root, p.priority,
                            "{\"project_classes\":\"research\"}"),
                     -1);
    assert_int_equal(change(&root, p.priority,
                            "{\"project_classes\":[\"research\"],"
                            "\"roles\":[\"developer\"]}"),
                     0);
    assert_int_equal(change(&root, p.priority, "{\"roles\":null}"), 0);
    assert_null(world_priority(p.world, p.priority)->roles);
}

/* Work with such a priority is held until somebody above grants it. */
static void
an_approval_lets_the_work_compete_and_a_denial_ends_it(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref wish;

    (void)state;
    for (int grant = 0; grant < 2; grant++) {
        struct changes *changes = people_begin(&p);
        struct workload *workload = change_update(changes, p.alpha_job);
        struct verdict verdict;

        workload->priority = p.priority;
        workload->user = p.dev;
        verdict_set(&verdict, WORKLOAD_HELD, REASON_APPROVAL, "waits");
        reason_put(workload, &verdict, p.now_ms);
        request_approval(changes, workload);
        world_apply(p.world, changes);
        wish = none;
        world_each_child(p.world, KIND_REQUEST, p.alpha, ref)
            wish = ref;
        assert_int_equal(decide(&rita, wish, grant == 1, "so be it"), 0);
        assert_int_equal(world_workload(p.world, p.alpha_job)->state,
                         grant ? WORKLOAD_QUEUED : WORKLOAD_CANCELLED);
        assert_true(ref_is_none(world_wish(p.world, wish)->workload));
    }
}

/* --- hero rights --- */

static void
a_raised_limit_ends_by_itself(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    const struct quota *quota;
    struct ref ref;

    (void)state;
    (void)people_alone(&p, p.root);
    add_cards(8);
    ref = create(&root, KIND_QUOTA, p.red,
                 "{\"dimension\":\"cards\",\"limit\":4000}");
    quota = world_quota(p.world, ref);
    assert_int_equal(lift(&rita, ref, 9000, 1000, "demo"), -1);
    assert_int_equal(lift(&root, ref, 4000, 1000, "demo"), -1);
    assert_int_equal(lift(&root, ref, 9000, QUOTA_RAISE_MS_MAX + 1, "demo"),
                     -1);
    assert_int_equal(lift(&root, ref, 9000, 1000, ""), -1);
    assert_int_equal(lift(&root, ref, 9000, 1000, "demo"), 0);
    assert_int_equal(quota_limit_at(p.world, quota, p.now_ms), 9000);
    assert_int_equal(quota_limit_at(p.world, quota, p.now_ms + 999), 9000);
    assert_int_equal(quota_limit_at(p.world, quota, p.now_ms + 1000), 4000);
    assert_int_equal(quota_limit(p.world, quota), 4000);
    assert_string_equal(quota->raised_reason, "demo");
    assert_true(ref_equal(quota->raised_by, p.root));
    assert_int_equal(lift(&root, ref, 0, 0, "over"), 0);
    assert_int_equal(quota_limit_at(p.world, quota, p.now_ms), 4000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_tenant_s_wish_is_granted_by_the_platform_and_not_by_itself),
        CASE(a_grant_keeps_every_rule_of_the_change),
        CASE(nobody_decides_on_their_own_wish),
        CASE(a_project_s_wish_is_decided_by_its_tenant),
        CASE(a_reservation_is_asked_for_and_made_when_it_is_granted),
        CASE(a_reservation_that_does_not_fit_stays_a_request),
        CASE(a_wish_for_a_reservation_has_sound_windows_and_whole_cards),
        CASE(a_priority_is_for_its_roles_projects_and_kinds),
        CASE(a_role_counts_by_each_condition_of_its_grant),
        CASE(a_rule_names_what_there_is),
        CASE(an_approval_lets_the_work_compete_and_a_denial_ends_it),
        CASE(a_raised_limit_ends_by_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
