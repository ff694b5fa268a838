/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/people.h"

#define FOR_EACH_ROLE(role)                                                   \
    for (enum role_builtin role = 0; role < ROLE_BUILTIN_COUNT; role++)

static bool
uses(enum role_builtin role, enum verb verb)
{
    struct verbs use = role_use(role);

    return verbs_have(&use, verb);
}

static bool
gives(enum role_builtin role, enum verb verb)
{
    struct verbs give = role_give(role);

    return verbs_have(&give, verb);
}

static void
no_role_holds_grant_and_audit_retention(void **state)
{
    (void)state;
    FOR_EACH_ROLE(role)
    {
        if (uses(role, VERB_AUDIT_RETENTION))
            for (int i = 0; i < VERB_COUNT; i++)
                if (verb_is((enum verb)i, VERB_GIVES))
                    assert_false(uses(role, (enum verb)i));
    }
    assert_true(uses(ROLE_SECURITY_ADMIN, VERB_AUDIT_RETENTION));
}

static void
the_security_admin_never_grants(void **state)
{
    (void)state;
    assert_true(verbs_empty(role_give(ROLE_SECURITY_ADMIN)));
    for (int i = 0; i < VERB_COUNT; i++)
        if (verb_is((enum verb)i, VERB_GIVES) ||
            verb_is((enum verb)i, VERB_CONTROL))
            assert_false(uses(ROLE_SECURITY_ADMIN, (enum verb)i));
    assert_true(uses(ROLE_SECURITY_ADMIN, VERB_DENY_CREATE));
}

static void
the_auditor_writes_nothing_and_reads_no_content(void **state)
{
    (void)state;
    for (int i = 0; i < VERB_COUNT; i++)
        if (verb_writes((enum verb)i) ||
            verb_sense((enum verb)i) == VERB_CONTENT)
            assert_false(uses(ROLE_AUDITOR, (enum verb)i));
    assert_true(uses(ROLE_AUDITOR, VERB_AUDIT_READ));
    assert_true(verbs_empty(role_give(ROLE_AUDITOR)));
}

static void
no_admin_of_others_has_a_content_verb(void **state)
{
    static const enum role_builtin admins[] = {
        ROLE_PLATFORM_ADMIN, ROLE_SECURITY_ADMIN, ROLE_OPERATIONS_ENGINEER,
        ROLE_TENANT_ADMIN,   ROLE_VENDOR,
    };

    (void)state;
    for (size_t k = 0; k < sizeof(admins) / sizeof(admins[0]); k++)
        for (int i = 0; i < VERB_COUNT; i++)
            if (verb_sense((enum verb)i) == VERB_CONTENT)
                assert_false(uses(admins[k], (enum verb)i));
}

static void
a_tenant_admin_hands_out_what_it_may_not_do(void **state)
{
    (void)state;
    assert_false(uses(ROLE_TENANT_ADMIN, VERB_INFERENCE_INVOKE));
    assert_true(gives(ROLE_TENANT_ADMIN, VERB_INFERENCE_INVOKE));
    assert_false(gives(ROLE_TENANT_ADMIN, VERB_TENANT_UPDATE));
}

static void
whoever_grants_can_hand_out_the_roles_below(void **state)
{
    struct verbs tenant = role_give(ROLE_TENANT_ADMIN);
    struct verbs project = role_give(ROLE_PROJECT_ADMIN);

    (void)state;
    assert_true(verbs_within(role_use(ROLE_PROJECT_ADMIN), tenant));
    assert_true(verbs_within(project, tenant));
    assert_true(verbs_within(tenant, role_give(ROLE_PLATFORM_ADMIN)));
    assert_true(verbs_within(role_use(ROLE_SECURITY_ADMIN),
                             role_give(ROLE_PLATFORM_ADMIN)));
    assert_true(verbs_within(role_use(ROLE_DEVELOPER), project));
    assert_true(verbs_within(role_use(ROLE_END_USER), project));
}

static void
no_role_has_the_verbs_of_agents_or_lists(void **state)
{
    (void)state;
    FOR_EACH_ROLE(role)
    {
        for (int i = 0; i < VERB_COUNT; i++)
            if (verb_is((enum verb)i, VERB_AGENT) ||
                verb_op((enum verb)i) == VERB_OP_LIST) {
                assert_false(uses(role, (enum verb)i));
                assert_false(gives(role, (enum verb)i));
            }
    }
}

static void
every_other_verb_is_in_some_role(void **state)
{
    (void)state;
    for (int i = 0; i < VERB_COUNT; i++) {
        bool found = verb_is((enum verb)i, VERB_AGENT) ||
                     verb_op((enum verb)i) == VERB_OP_LIST ||
                     i == VERB_SESSION_CREATE || i == VERB_USER_FACTOR ||
                     i == VERB_AUDIT_PERSONAL ||
                     i == VERB_APPROVAL_CREATE || i == VERB_APPROVAL_DROP ||
                     i == VERB_BREAKGLASS_CREATE || i == VERB_BREAKGLASS_END;

        FOR_EACH_ROLE(role)
        {
            found = found || uses(role, (enum verb)i);
        }
        if (!found)
            fail_msg("%s is in no role", verb_name((enum verb)i));
    }
}

static void
installing_twice_changes_nothing_and_repairs_what_was_changed(void **state)
{
    struct people people;
    struct changes *changes;
    struct ref ref;

    (void)state;
    people_setup(&people);
    changes = people_begin(&people);
    role_install(changes, people.platform);
    assert_true(change_is_empty(changes));
    changes = people_begin(&people);
    ref = role_find(people.world, ROLE_AUDITOR);
    verbs_add(&((struct role *)change_update(changes, ref))->verbs,
              VERB_AUDIT_RETENTION);
    world_apply(people.world, changes);
    changes = people_begin(&people);
    role_install(changes, people.platform);
    assert_int_equal(changes->count, 1);
    world_apply(people.world, changes);
    assert_true(verbs_within(world_role(people.world, ref)->verbs,
                             role_use(ROLE_AUDITOR)));
    people_release(&people);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_role_holds_grant_and_audit_retention),
        cmocka_unit_test(the_security_admin_never_grants),
        cmocka_unit_test(the_auditor_writes_nothing_and_reads_no_content),
        cmocka_unit_test(no_admin_of_others_has_a_content_verb),
        cmocka_unit_test(a_tenant_admin_hands_out_what_it_may_not_do),
        cmocka_unit_test(whoever_grants_can_hand_out_the_roles_below),
        cmocka_unit_test(no_role_has_the_verbs_of_agents_or_lists),
        cmocka_unit_test(every_other_verb_is_in_some_role),
        cmocka_unit_test(
            installing_twice_changes_nothing_and_repairs_what_was_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
