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
        CASE(a_priority_is_for_its_roles_projects_and_kinds),
        CASE(a_rule_names_what_there_is),
        CASE(an_approval_lets_the_work_compete_and_a_denial_ends_it),
        CASE(a_raised_limit_ends_by_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
