/* SPDX-License-Identifier: Apache-2.0 */
#include "core/approval.h"
#include "core/guard.h"
#include "tests/unit/core/edits.h"

/*
 * Second persons: root wants to delete the tenant red; sec, the security
 * admin, and ann, a second platform admin that nobody of them made, may
 * approve it.
 */

#define HOUR_MS PEOPLE_HOUR

static struct ref ann;

static int
open_world(void **state)
{
    (void)setup(state);
    ann = people_user(&p, p.platform, "ann", p.platform, ROLE_PLATFORM_ADMIN);
    return 0;
}

/* The operation: DELETE of a tenant without a body. */
static struct actor
deleting(struct ref person, struct ref tenant)
{
    struct actor actor = people_login(&p, person);

    actor.target = tenant;
    memset(actor.query_digest, 1, sizeof(actor.query_digest));
    memset(actor.body_digest, 2, sizeof(actor.body_digest));
    return actor;
}

static struct ref
ask(const struct actor *actor, enum verb verb, const char *body)
{
    const struct approval_wish wish = { .verb = verb,
                                        .method = "DELETE",
                                        .path = "/api/v1/tenants/red",
                                        .body = body,
                                        .reason = "the contract ended" };
    struct changes *changes = people_begin(&p);
    struct ref ref;

    if (approval_ask(changes, actor, &wish, &ref, &err) != 0)
        return none;
    world_apply(p.world, changes);
    return ref;
}

/* By a person who logs in for it; 0, or -1 with err. */
static int
decide(struct ref person, struct ref approval, bool yes)
{
    struct actor actor = people_login(&p, person);
    struct changes *changes = people_begin(&p);
    struct granted granted;

    if (access_decide(p.world, &actor, VERB_APPROVAL_DECIDE, approval,
                      p.now_ms, &granted, &err) != 0 ||
        approval_decide(&granted, changes, yes, yes ? "" : "no", &err) != 0)
        return -1;
    world_apply(p.world, changes);
    return 0;
}

static int
state_of(struct ref approval)
{
    return world_approval(p.world, approval)->state;
}

static enum error_code
tried(const struct actor *actor)
{
    struct granted granted;

    if (!ref_is_none(actor->approval) &&
        approval_check(p.world, actor, p.now_ms, &err) != 0)
        return err.code;
    if (access_decide(p.world, actor, VERB_TENANT_DELETE, actor->target,
                      p.now_ms, &granted, &err) != 0)
        return err.code;
    return ERROR_NONE;
}

static void
made_by(struct ref person, struct ref maker)
{
    struct changes *changes = people_begin(&p);

    ((struct user *)change_update(changes, person))->creator = maker;
    world_apply(p.world, changes);
}

static void
reset_by(struct ref person, struct ref setter)
{
    struct changes *changes = people_begin(&p);

    ((struct user *)change_update(changes, person))->setter = setter;
    world_apply(p.world, changes);
}

/* --- one after the other --- */

static void
a_guarded_verb_waits_for_a_second_person_and_then_goes_once(void **state)
{
    struct actor root = deleting(p.root, p.red);
    struct changes *changes;

    (void)state;
    assert_int_equal(tried(&root), ERROR_APPROVAL);
    assert_non_null(strstr(err.help, "Ask-Approval"));
    root.approval = ask(&root, VERB_TENANT_DELETE, NULL);
    assert_int_equal(tried(&root), ERROR_APPROVAL);
    assert_string_equal(err.text, "the approval is not approved yet");
    assert_int_equal(decide(p.sec, root.approval, true), 0);
    assert_int_equal(state_of(root.approval), APPROVAL_APPROVED);
    assert_int_equal(tried(&root), ERROR_NONE);
    changes = people_begin(&p);
    approval_use(changes, &root);
    world_apply(p.world, changes);
    assert_int_equal(tried(&root), ERROR_APPROVAL);
    assert_non_null(strstr(err.text, "used already"));
}

static void
nobody_approves_their_own_request(void **state)
{
    struct actor root = deleting(p.root, p.red);
    struct ref ref = ask(&root, VERB_TENANT_DELETE, NULL);

    (void)state;
    assert_int_equal(decide(p.root, ref, true), -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_non_null(strstr(err.text, "nobody approves what they asked for"));
    assert_int_equal(state_of(ref), APPROVAL_OPEN);
}

static void
what_differs_from_what_was_approved_is_named(void **state)
{
    struct actor root = deleting(p.root, p.red), other;
    struct changes *changes;

    (void)state;
    root.approval = ask(&root, VERB_TENANT_DELETE, NULL);
    assert_int_equal(decide(p.sec, root.approval, true), 0);
    other = root;
    other.target = p.blue;
    assert_int_equal(tried(&other), ERROR_CONDITION);
    assert_non_null(strstr(err.text, "the object differs"));
    other = root;
    other.body_digest[31] ^= 1;
    assert_int_equal(tried(&other), ERROR_CONDITION);
    assert_non_null(strstr(err.text, "the body differs"));
    other = root;
    other.query_digest[0] ^= 1;
    assert_int_equal(tried(&other), ERROR_CONDITION);
    assert_non_null(strstr(err.text, "method, route or query"));
    changes = people_begin(&p);
    (void)change_update(changes, p.red);
    world_apply(p.world, changes);
    assert_int_equal(tried(&root), ERROR_CONDITION);
    assert_non_null(strstr(err.text, "version of the object"));
    /* The decision itself asks the same, were the check left out. */
    assert_false(people_can(&p, &root, VERB_TENANT_DELETE, p.red));
    assert_false(people_can(&p, &other, VERB_TENANT_DELETE, p.blue));
}

static void
an_approval_is_of_no_use_to_anybody_else(void **state)
{
    struct actor root = deleting(p.root, p.red);
    struct actor other = deleting(ann, p.red);

    (void)state;
    root.approval = ask(&root, VERB_TENANT_DELETE, NULL);
    assert_int_equal(decide(p.sec, root.approval, true), 0);
    other.approval = root.approval;
    assert_int_equal(tried(&other), ERROR_NOT_FOUND);
    assert_false(people_can(&p, &other, VERB_TENANT_DELETE, p.red));
}

static void
an_approval_ends_after_an_hour_to_the_millisecond(void **state)
{
    struct actor root = deleting(p.root, p.red);
    struct changes *changes;

    (void)state;
    root.approval = ask(&root, VERB_TENANT_DELETE, NULL);
    p.now_ms += HOUR_MS / 2;
    assert_int_equal(decide(p.sec, root.approval, true), 0);
    p.now_ms += HOUR_MS / 2 - 1;
    root.proved_ms = p.now_ms;
    assert_int_equal(tried(&root), ERROR_NONE);
    p.now_ms++;
    assert_int_equal(tried(&root), ERROR_APPROVAL);
    assert_non_null(strstr(err.text, "expired"));
    changes = people_begin(&p);
    approval_sweep(changes);
    world_apply(p.world, changes);
    p.now_ms -= HOUR_MS; /* latched: no clock brings it back */
    assert_int_equal(state_of(root.approval), APPROVAL_EXPIRED);
    assert_int_equal(tried(&root), ERROR_APPROVAL);
}

static void
what_was_denied_or_dropped_is_consumed(void **state)
{
    struct actor root = deleting(p.root, p.red);
    struct actor asker = people_login(&p, p.root);
    struct changes *changes;
    struct granted granted;

    (void)state;
    root.approval = ask(&root, VERB_TENANT_DELETE, NULL);
    assert_int_equal(decide(p.sec, root.approval, false), 0);
    assert_int_equal(decide(ann, root.approval, true), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(tried(&root), ERROR_APPROVAL);
    /* [A31] dropped after it was approved: it cannot be used either */
    root.approval = ask(&root, VERB_TENANT_DELETE, NULL);
    assert_int_equal(decide(p.sec, root.approval, true), 0);
    changes = people_begin(&p);
    assert_int_equal(access_decide(p.world, &asker, VERB_APPROVAL_DROP,
                                   root.approval, p.now_ms, &granted, &err),
                     0);
    assert_int_equal(approval_drop(&granted, changes, "", &err), 0);
    world_apply(p.world, changes);
    assert_int_equal(tried(&root), ERROR_APPROVAL);
    assert_non_null(strstr(err.text, "dropped"));
    assert_int_equal(decide(ann, root.approval, true), -1);
}

/* --- who is independent --- */

static void
whom_the_asker_made_or_holds_does_not_count(void **state)
{
    struct actor root = deleting(p.root, p.red);
    struct ref ref = ask(&root, VERB_TENANT_DELETE, NULL);
    struct ref middle = people_user(&p, p.platform, "mid", p.platform,
                                    ROLE_PLATFORM_ADMIN);

    (void)state;
    made_by(ann, p.root);
    assert_int_equal(decide(ann, ref, true), -1);
    assert_non_null(strstr(err.text, "independent"));
    made_by(middle, p.root);
    made_by(ann, middle); /* by a puppet's puppet neither */
    assert_int_equal(decide(ann, ref, true), -1);
    made_by(ann, none);
    reset_by(ann, p.root);
    assert_int_equal(decide(ann, ref, true), -1);
    reset_by(ann, p.sec); /* somebody else set it since */
    assert_int_equal(decide(ann, ref, true), 0);
}

static void
who_made_the_asker_does_not_count_either(void **state)
{
    struct actor root = deleting(p.root, p.red);
    struct ref ref = ask(&root, VERB_TENANT_DELETE, NULL);

    (void)state;
    made_by(p.root, ann);
    assert_int_equal(decide(ann, ref, true), -1);
}

static void
a_right_that_the_asker_gave_does_not_count(void **state)
{
    struct actor root = deleting(p.root, p.red);
    struct ref ref = ask(&root, VERB_TENANT_DELETE, NULL);
    struct ref friend = people_put(&p, KIND_USER, p.platform, "friend");
    struct ref grant = people_grant(&p, friend, p.platform,
                                    ROLE_SECURITY_ADMIN);
    struct changes *changes = people_begin(&p);

    (void)state;
    ((struct grant *)change_update(changes, grant))->granter = p.root;
    world_apply(p.world, changes);
    assert_int_equal(decide(friend, ref, true), -1);
    assert_non_null(strstr(err.text, "not from who asked"));
    changes = people_begin(&p);
    ((struct grant *)change_update(changes, grant))->granter = ann;
    world_apply(p.world, changes);
    assert_int_equal(decide(friend, ref, true), 0);
}

static void
the_right_to_approve_sits_where_the_operations_own_would(void **state)
{
    struct actor root = deleting(p.root, p.red);
    struct ref ref = ask(&root, VERB_TENANT_DELETE, NULL);
    struct ref judy = people_user(&p, p.platform, "judy", p.red,
                                  ROLE_TENANT_ADMIN);

    (void)state;
    /* judy decides about tenant red's people, not about what the platform
     * does with it; and approvals of operators are not hers to see. */
    assert_string_not_equal(approval_bar(p.world, judy, p.root,
                                         VERB_TENANT_DELETE, p.red, p.now_ms),
                            "");
    assert_string_equal(approval_bar(p.world, judy, p.root,
                                     VERB_USER_DELETE, p.dev, p.now_ms),
                        "");
    assert_int_equal(decide(judy, ref, true), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(decide(p.rita, ref, true), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void
for_whom_it_is_does_not_count(void **state)
{
    struct actor root = deleting(p.root, ann);
    struct ref about, named, ref;

    (void)state;
    about = ask(&root, VERB_USER_DELETE, NULL); /* ann herself */
    assert_int_equal(decide(ann, about, true), -1);
    assert_non_null(strstr(err.text, "it is for you"));
    root.target = p.platform;
    named = ask(&root, VERB_GRANT_CREATE,
                BODY("{\"role\":\"x\",\"subject\":\"%s\"}", id(ann)));
    assert_int_equal(decide(ann, named, true), -1);
    assert_non_null(strstr(err.text, "it is for you"));
    assert_int_equal(decide(p.sec, named, true), 0);
    root.target = role_find(p.world, ROLE_PLATFORM_ADMIN);
    ref = ask(&root, VERB_ROLE_UPDATE, NULL); /* a role that she has */
    assert_int_equal(decide(ann, ref, true), -1);
}

static void
keys_and_programs_are_nobodys_second_person(void **state)
{
    struct actor root = deleting(p.root, p.red);
    struct ref ref = ask(&root, VERB_TENANT_DELETE, NULL);
    struct actor key = people_key(&p, p.sec, verbs_all(), none);
    struct actor program = people_key(&p, p.bot, verbs_all(), none);
    struct granted granted;

    (void)state;
    assert_int_equal(access_decide(p.world, &key, VERB_APPROVAL_DECIDE, ref,
                                   p.now_ms, &granted, &err),
                     -1);
    assert_int_equal(err.code, ERROR_STEP_UP);
    (void)people_grant(&p, p.bot, p.red, ROLE_TENANT_ADMIN);
    assert_string_equal(approval_bar(p.world, p.bot, p.rita,
                                     VERB_USER_DELETE, p.dev, p.now_ms),
                        "only a person approves");
    program.target = p.red;
    assert_true(ref_is_none(ask(&program, VERB_TENANT_DELETE, NULL)));
    assert_int_equal(err.code, ERROR_DENIED);
}

/* --- how many --- */

static struct ref
guard_on(const char *name, bool step_up, int64_t approvers)
{
    struct changes *changes = people_begin(&p);
    struct guard *guard =
        change_create(changes, KIND_GUARD, p.platform, name);
    struct ref ref = guard->object.self;

    guard->step_up = step_up;
    guard->approvers = approvers;
    world_apply(p.world, changes);
    return ref;
}

static void
as_many_people_as_the_guard_says_and_all_others(void **state)
{
    struct actor root = deleting(p.root, p.red);
    struct ref ref;

    (void)state;
    (void)guard_on("tenant.delete", false, 2);
    assert_int_equal(tried(&root), ERROR_APPROVAL);
    assert_non_null(strstr(err.text, "2 other people"));
    ref = root.approval = ask(&root, VERB_TENANT_DELETE, NULL);
    assert_int_equal(decide(p.sec, ref, true), 0);
    assert_int_equal(state_of(ref), APPROVAL_OPEN);
    assert_int_equal(decide(p.sec, ref, true), -1); /* again is no second */
    assert_int_equal(err.code, ERROR_CONFLICT);
    made_by(ann, p.sec); /* nor is the first one's creature */
    assert_int_equal(decide(ann, ref, true), -1);
    made_by(ann, none);
    assert_int_equal(decide(ann, ref, true), 0);
    assert_int_equal(state_of(ref), APPROVAL_APPROVED);
    assert_int_equal(tried(&root), ERROR_NONE);
}

static void
all_of_it_is_looked_at_again_when_it_is_used(void **state)
{
    struct actor root = deleting(p.root, p.red);
    struct ref grant = world_first_index(p.world, KIND_GRANT, 0, p.sec);
    struct changes *changes;

    (void)state;
    root.approval = ask(&root, VERB_TENANT_DELETE, NULL);
    assert_int_equal(decide(p.sec, root.approval, true), 0);
    people_state(&p, p.sec, STATE_SUSPENDED);
    assert_int_equal(tried(&root), ERROR_APPROVAL);
    people_state(&p, p.sec, STATE_ACTIVE);
    assert_int_equal(tried(&root), ERROR_NONE);
    (void)guard_on("tenant.delete", false, 2); /* it takes more by now */
    assert_int_equal(tried(&root), ERROR_APPROVAL);
    changes = people_begin(&p);
    change_delete(changes, world_find_name(p.world, KIND_GUARD, p.platform,
                                           "tenant.delete"));
    change_delete(changes, grant);
    world_apply(p.world, changes);
    assert_int_equal(tried(&root), ERROR_APPROVAL);
}

static void
a_guard_asks_for_more_and_never_for_less(void **state)
{
    struct actor pat = people_login(&p, p.pat);
    struct ref guard;

    (void)state;
    guard = guard_on("workload.delete", true, 0);
    assert_true(guard_step_up(p.world, VERB_WORKLOAD_DELETE));
    pat.proved_ms = 0;
    assert_false(people_can(&p, &pat, VERB_WORKLOAD_DELETE, p.alpha_job));
    pat.proved_ms = p.now_ms;
    assert_true(people_can(&p, &pat, VERB_WORKLOAD_DELETE, p.alpha_job));
    assert_false(ref_is_none(guard));
    (void)guard_on("tenant.delete", false, 0);
    (void)guard_on("audit.retention", true, 0);
    assert_int_equal(guard_people(p.world, VERB_TENANT_DELETE), 1);
    assert_int_equal(guard_people(p.world, VERB_AUDIT_RETENTION), 1);
    assert_true(guard_step_up(p.world, VERB_TENANT_DELETE));
}

static void
a_guard_is_set_by_one_and_lifted_or_changed_by_two(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref guard;

    (void)state;
    guard = create(&root, KIND_GUARD, p.platform,
                   "{\"name\":\"pool.delete\",\"approvers\":2}");
    assert_made(guard);
    assert_int_equal(change(&root, guard, "{\"approvers\":1}"), -1);
    assert_int_equal(err.code, ERROR_APPROVAL);
    assert_int_equal(delete (&root, guard), -1);
    assert_int_equal(err.code, ERROR_APPROVAL);
    assert_refused(create(&root, KIND_GUARD, p.platform,
                          "{\"name\":\"approval.decide\",\"approvers\":1}"),
                   ERROR_INVALID);
    assert_refused(create(&root, KIND_GUARD, p.platform,
                          "{\"name\":\"no.verb\",\"approvers\":1}"),
                   ERROR_INVALID);
    assert_refused(create(&root, KIND_GUARD, p.platform,
                          "{\"name\":\"pool.create\"}"),
                   ERROR_INVALID);
}

/* --- who sees it --- */

static void
an_approval_is_seen_by_who_asked_and_who_may_decide(void **state)
{
    struct actor root = deleting(p.root, p.red);
    struct ref ref = ask(&root, VERB_TENANT_DELETE, NULL);
    struct ref unseen[] = { p.rita, p.pat, p.dev, p.eve, p.bea, p.ops };
    struct ref seen[] = { p.root, p.sec, p.aud, ann };

    (void)state;
    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
        struct actor actor = people_login(&p, seen[i]);

        assert_true(access_sees(p.world, &actor, ref, p.now_ms));
    }
    for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++) {
        struct actor actor = people_login(&p, unseen[i]);

        assert_false(access_sees(p.world, &actor, ref, p.now_ms));
    }
}

#define TOLD(test) cmocka_unit_test_setup_teardown(test, open_world, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TOLD(a_guarded_verb_waits_for_a_second_person_and_then_goes_once),
        TOLD(nobody_approves_their_own_request),
        TOLD(what_differs_from_what_was_approved_is_named),
        TOLD(an_approval_is_of_no_use_to_anybody_else),
        TOLD(an_approval_ends_after_an_hour_to_the_millisecond),
        TOLD(what_was_denied_or_dropped_is_consumed),
        TOLD(whom_the_asker_made_or_holds_does_not_count),
        TOLD(who_made_the_asker_does_not_count_either),
        TOLD(a_right_that_the_asker_gave_does_not_count),
        TOLD(the_right_to_approve_sits_where_the_operations_own_would),
        TOLD(for_whom_it_is_does_not_count),
        TOLD(keys_and_programs_are_nobodys_second_person),
        TOLD(as_many_people_as_the_guard_says_and_all_others),
        TOLD(all_of_it_is_looked_at_again_when_it_is_used),
        TOLD(a_guard_asks_for_more_and_never_for_less),
        TOLD(a_guard_is_set_by_one_and_lifted_or_changed_by_two),
        TOLD(an_approval_is_seen_by_who_asked_and_who_may_decide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
