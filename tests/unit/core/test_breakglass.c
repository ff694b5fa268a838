/* SPDX-License-Identifier: Apache-2.0 */
#include "core/alarm.h"
#include "core/breakglass.h"
#include "tests/unit/core/edits.h"

/* root breaks the glass; ann, another platform admin, reviews; the tenants are
 * red and blue. */

#define HOUR PEOPLE_HOUR

static struct ref ann;

static int
open_world(void **state)
{
    (void)setup(state);
    ann = people_user(&p, p.platform, "ann", p.platform, ROLE_PLATFORM_ADMIN);
    return 0;
}

static struct ref
break_it(struct ref person, const char *more)
{
    struct actor actor = people_login(&p, person);

    return create(&actor, KIND_BREAKGLASS, person,
                  BODY("{\"reason\":\"fire\"%s}", more));
}

static int
review(struct ref person, struct ref glass, const char *note)
{
    struct actor actor = people_login(&p, person);
    struct changes *changes = people_begin(&p);
    struct granted granted;

    if (access_decide(p.world, &actor, VERB_BREAKGLASS_REVIEW, glass, p.now_ms,
                      &granted, &err) != 0 ||
        breakglass_review(&granted, changes, note, &err) != 0)
        return -1;
    world_apply(p.world, changes);
    return 0;
}

static int
end(struct ref person, struct ref glass)
{
    struct actor actor = people_login(&p, person);
    struct changes *changes = people_begin(&p);
    struct granted granted;

    if (access_decide(p.world, &actor, VERB_BREAKGLASS_END, glass, p.now_ms,
                      &granted, &err) != 0 ||
        breakglass_end(&granted, changes, &err) != 0)
        return -1;
    world_apply(p.world, changes);
    return 0;
}

static bool
stands(struct ref about, const char *code)
{
    return alarm_stands(people_begin(&p), about, code);
}

static void
note(const struct actor *actor, enum verb verb, struct ref object,
     bool second)
{
    struct changes *changes = people_begin(&p);

    breakglass_note(changes, actor, verb, object, second);
    world_apply(p.world, changes);
}

static void
set_policy(const char *roles, int64_t longest_ms)
{
    struct changes *changes = people_begin(&p);
    struct platform *policy = change_update(changes, p.platform);

    change_doc(changes, &policy->breakglass_roles, roles);
    policy->breakglass_ms = longest_ms;
    world_apply(p.world, changes);
}

static void
who_has_the_role_needs_no_second_person_for_an_hour(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref glass;

    (void)state;
    assert_false(people_can(&p, &root, VERB_TENANT_DELETE, p.red));
    glass = break_it(p.root, "");
    assert_made(glass);
    assert_true(stands(glass, "glass.broken"));
    assert_true(people_can(&p, &root, VERB_TENANT_DELETE, p.red));
    p.now_ms += HOUR - 1;
    assert_true(ref_equal(breakglass_active(p.world, p.root, p.now_ms),
                          glass));
    p.now_ms += 1;
    root.proved_ms = p.now_ms;
    assert_true(ref_is_none(breakglass_active(p.world, p.root, p.now_ms)));
    assert_false(people_can(&p, &root, VERB_TENANT_DELETE, p.red));
}

static void
it_gives_no_right_and_spares_no_proof(void **state)
{
    struct actor root = people_login(&p, p.root);

    (void)state;
    assert_made(break_it(p.root, ""));
    assert_false(people_can(&p, &root, VERB_WORKLOAD_LOGS, p.alpha_job));
    root.proved_ms = 0;
    assert_false(people_can(&p, &root, VERB_TENANT_DELETE, p.red));
}

static void
those_without_the_role_break_nothing(void **state)
{
    struct actor root_key = people_key(&p, p.root, verbs_all(), none);

    (void)state;
    assert_refused(break_it(p.sec, ""), ERROR_DENIED);
    assert_non_null(strstr(err.help, "approval"));
    assert_refused(break_it(p.rita, ""), ERROR_DENIED);
    root_key.proved_ms = p.now_ms;
    assert_refused(create(&root_key, KIND_BREAKGLASS, p.root,
                          "{\"reason\":\"fire\"}"),
                   ERROR_DENIED); /* keys do not */
    set_policy("[\"security-admin\"]", 0);
    assert_refused(break_it(p.root, ""), ERROR_DENIED);
    assert_made(break_it(p.sec, ""));
}

/* A tenant calls a role of its own like the platform's. */
static void
a_tenants_role_of_that_name_is_not_the_platforms(void **state)
{
    struct changes *changes = people_begin(&p);
    struct role *role =
        change_create(changes, KIND_ROLE, p.red, "platform-admin");
    struct grant *grant = change_create(changes, KIND_GRANT, p.red, "");

    (void)state;
    grant->subject = p.rita;
    grant->role = role->object.self;
    grant->use = verbs_all();
    world_apply(p.world, changes);
    assert_refused(break_it(p.rita, ""), ERROR_DENIED);
}

static void
a_role_that_is_over_breaks_nothing(void **state)
{
    struct changes *changes = people_begin(&p);

    (void)state;
    ((struct grant *)change_update(
         changes, world_first_index(p.world, KIND_GRANT, 0, ann)))
        ->to_ms = p.now_ms;
    world_apply(p.world, changes);
    assert_refused(break_it(ann, ""), ERROR_DENIED);
}

/* The grant takes a second factor, which the session has not shown. */
static void
a_role_breaks_nothing_while_its_grant_lacks_something(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct changes *changes = people_begin(&p);
    struct grant *grant = change_update(
        changes, world_first_index(p.world, KIND_GRANT, 0, p.root));

    (void)state;
    grant->factor = true;
    world_apply(p.world, changes);
    assert_refused(create(&root, KIND_BREAKGLASS, p.root,
                          "{\"reason\":\"fire\"}"),
                   ERROR_DENIED);
    changes = people_begin(&p);
    ((struct session *)change_update(changes, root.credential))->factor_ms =
        p.now_ms;
    world_apply(p.world, changes);
    assert_made(create(&root, KIND_BREAKGLASS, p.root,
                       "{\"reason\":\"fire\"}"));
}

static void
it_has_a_reason_an_end_and_is_broken_once(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref glass;

    (void)state;
    assert_refused(create(&root, KIND_BREAKGLASS, p.root,
                          "{\"reason\":\"\"}"),
                   ERROR_INVALID);
    set_policy(NULL, 10 * 60000);
    assert_refused(break_it(p.root, BODY(",\"to_ms\":\"%s\"",
                                         "2100-01-01T00:00:00Z")),
                   ERROR_INVALID);
    assert_non_null(strstr(err.text, "600 s"));
    glass = break_it(p.root, "");
    assert_made(glass);
    assert_int_equal(world_breakglass(p.world, glass)->to_ms,
                     p.now_ms + 10 * 60000);
    assert_refused(break_it(p.root, ""), ERROR_CONFLICT);
    assert_int_equal(end(p.root, glass), 0);
    assert_int_equal(end(p.root, glass), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_false(people_can(&p, &root, VERB_TENANT_DELETE, p.red));
}

static void
what_is_done_is_listed_and_the_tenant_is_told(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor other = people_login(&p, ann);
    struct ref glass = break_it(p.root, "");
    const struct breakglass *image;

    (void)state;
    note(&root, VERB_PROJECT_UPDATE, p.alpha, false);
    assert_false(stands(p.red, "glass.broken")); /* no one was left out */
    note(&root, VERB_TENANT_DELETE, p.red, true);
    note(&other, VERB_TENANT_DELETE, p.blue, true); /* not of this glass */
    image = world_breakglass(p.world, glass);
    assert_int_equal(image->count, 2);
    assert_non_null(strstr(image->actions->bytes, "project.update"));
    assert_non_null(strstr(image->actions->bytes, "tenant.delete"));
    assert_true(stands(p.red, "glass.broken"));
    assert_false(stands(p.blue, "glass.broken"));
}

static void
somebody_independent_reviews_it_once_when_it_is_over(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref glass = break_it(p.root, "");
    struct changes *changes;

    (void)state;
    note(&root, VERB_TENANT_DELETE, p.red, true);
    assert_int_equal(review(ann, glass, "fine"), -1);
    assert_int_equal(err.code, ERROR_CONFLICT); /* still in force */
    p.now_ms += HOUR;
    assert_int_equal(review(p.root, glass, "fine"), -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_int_equal(review(ann, glass, ""), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    changes = people_begin(&p);
    ((struct user *)change_update(changes, ann))->creator = p.root;
    world_apply(p.world, changes);
    assert_int_equal(review(ann, glass, "fine"), -1);
    assert_int_equal(err.code, ERROR_DENIED); /* root made ann */
    assert_int_equal(review(p.sec, glass, "fine"), 0);
    assert_true(ref_equal(world_breakglass(p.world, glass)->reviewer, p.sec));
    assert_string_equal(world_breakglass(p.world, glass)->review, "fine");
    assert_false(stands(glass, "glass.broken"));
    assert_false(stands(p.red, "glass.broken"));
    assert_int_equal(review(p.sec, glass, "fine"), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
}

static void
a_tenant_is_told_until_the_last_one_is_reviewed(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref first = break_it(p.root, ""), second;

    (void)state;
    note(&root, VERB_TENANT_DELETE, p.red, true);
    second = break_it(ann, "");
    assert_made(second);
    p.now_ms += HOUR;
    assert_int_equal(review(p.sec, first, "fine"), 0);
    assert_true(stands(p.red, "glass.broken"));
    assert_int_equal(review(p.sec, second, "fine"), 0);
    assert_false(stands(p.red, "glass.broken"));
}

static void
what_nobody_reviews_in_a_day_is_told_again(void **state)
{
    struct ref glass = break_it(p.root, "");
    struct changes *changes;

    (void)state;
    p.now_ms += 24 * HOUR - 1;
    changes = people_begin(&p);
    breakglass_sweep(changes);
    assert_false(alarm_stands(changes, glass, "glass.unreviewed"));
    p.now_ms += 1;
    changes = people_begin(&p);
    breakglass_sweep(changes);
    world_apply(p.world, changes);
    assert_true(stands(glass, "glass.unreviewed"));
    assert_int_equal(review(p.sec, glass, "late"), 0);
    assert_false(stands(glass, "glass.unreviewed"));
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, open_world, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(who_has_the_role_needs_no_second_person_for_an_hour),
        WITH(it_gives_no_right_and_spares_no_proof),
        WITH(those_without_the_role_break_nothing),
        WITH(a_tenants_role_of_that_name_is_not_the_platforms),
        WITH(a_role_that_is_over_breaks_nothing),
        WITH(a_role_breaks_nothing_while_its_grant_lacks_something),
        WITH(it_has_a_reason_an_end_and_is_broken_once),
        WITH(what_is_done_is_listed_and_the_tenant_is_told),
        WITH(somebody_independent_reviews_it_once_when_it_is_over),
        WITH(a_tenant_is_told_until_the_last_one_is_reviewed),
        WITH(what_nobody_reviews_in_a_day_is_told_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
