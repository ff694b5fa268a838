/* SPDX-License-Identifier: Apache-2.0 */
#include "core/verb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

static void
every_verb_is_found_by_its_name_and_no_other_is(void **state)
{
    (void)state;
    for (int i = 0; i < VERB_COUNT; i++)
        assert_int_equal(verb_parse(verb_name((enum verb)i)), i);
    assert_int_equal(verb_parse("workload.creat"), -1);
    assert_int_equal(verb_parse("workload.create "), -1);
    assert_int_equal(verb_parse(""), -1);
    assert_null(verb_name((enum verb)VERB_COUNT));
}

static void
a_verb_is_named_kind_dot_operation(void **state)
{
    static const char *const ops[] = { "get", "list", "create", "update",
                                       "delete" };
    char name[64];

    (void)state;
    for (int i = 0; i < VERB_COUNT; i++) {
        enum verb_op op = verb_op((enum verb)i);

        if (op == VERB_OP_OTHER || i == VERB_NODE_ENROL)
            continue;
        (void)snprintf(name, sizeof(name), "%s.%s",
                       schema_get(verb_kind((enum verb)i))->name, ops[op]);
        assert_string_equal(verb_name((enum verb)i), name);
        assert_int_equal(verb_of(verb_kind((enum verb)i), op), i);
    }
    assert_int_equal(verb_of(KIND_JOINTOKEN, VERB_OP_CREATE),
                     VERB_NODE_ENROL);
    assert_int_equal(verb_of(KIND_RECEIPT, VERB_OP_GET), -1);
}

static void
every_kind_that_is_listed_can_be_got(void **state)
{
    (void)state;
    for (int kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
        if (verb_of((enum kind)kind, VERB_OP_LIST) >= 0)
            assert_true(verb_of((enum kind)kind, VERB_OP_GET) >= 0);
}

/* [A33] */
static void
what_people_wrote_is_read_by_content_verbs_alone(void **state)
{
    (void)state;
    assert_int_equal(verb_sense(VERB_WORKLOAD_SPEC), VERB_CONTENT);
    assert_int_equal(verb_sense(VERB_WORKLOAD_LOGS), VERB_CONTENT);
    assert_int_equal(verb_sense(VERB_INSTANCE_EXEC), VERB_CONTENT);
    assert_int_equal(verb_sense(VERB_VOLUME_READ), VERB_CONTENT);
    assert_int_equal(verb_sense(VERB_INFERENCE_INVOKE), VERB_CONTENT);
    for (int i = 0; i < VERB_COUNT; i++)
        if (verb_op((enum verb)i) != VERB_OP_OTHER)
            assert_int_equal(verb_sense((enum verb)i), VERB_METADATA);
}

static void
what_hands_out_or_bounds_rights_is_guarded(void **state)
{
    (void)state;
    for (int i = 0; i < VERB_COUNT; i++)
        if (verb_is((enum verb)i, VERB_GIVES) ||
            verb_is((enum verb)i, VERB_ABOVE))
            assert_true(verb_guard((enum verb)i) == VERB_GUARD_STEP_UP ||
                        verb_guard((enum verb)i) == VERB_GUARD_BOTH);
    assert_int_equal(verb_guard(VERB_USER_PASSWORD), VERB_GUARD_STEP_UP);
    assert_int_equal(verb_guard(VERB_APIKEY_CREATE), VERB_GUARD_STEP_UP);
    assert_int_equal(verb_guard(VERB_TENANT_DELETE), VERB_GUARD_BOTH);
    assert_int_equal(verb_guard(VERB_AUDIT_RETENTION), VERB_GUARD_BOTH);
    assert_int_equal(verb_guard(VERB_PRIORITY_ACROSS), VERB_GUARD_BOTH);
}

/* [A17] */
static void
a_verb_counts_on_its_level_and_above(void **state)
{
    struct verbs tenant = verbs_for(KIND_TENANT);
    struct verbs project = verbs_for(KIND_PROJECT);

    (void)state;
    assert_true(verbs_within(verbs_all(), verbs_for(KIND_PLATFORM)));
    assert_false(verbs_have(&tenant, VERB_TENANT_DELETE));
    assert_true(verbs_have(&tenant, VERB_PROJECT_CREATE));
    assert_false(verbs_have(&project, VERB_PROJECT_UPDATE));
    assert_true(verbs_have(&project, VERB_WORKLOAD_CREATE));
    assert_true(verbs_within(project, tenant));
}

static void
sets_add_subtract_and_compare(void **state)
{
    struct verbs a = { { 0 } }, b = { { 0 } };

    (void)state;
    verbs_add(&a, VERB_WORKLOAD_GET);
    verbs_add(&b, VERB_WORKLOAD_GET);
    verbs_add(&b, VERB_AUDIT_RETENTION);
    assert_true(verbs_within(a, b));
    assert_false(verbs_within(b, a));
    assert_int_equal(verbs_first(verbs_minus(b, a)), VERB_AUDIT_RETENTION);
    assert_true(verbs_empty(verbs_minus(a, b)));
    assert_int_equal(verbs_first(verbs_minus(a, a)), VERB_COUNT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_is_found_by_its_name_and_no_other_is),
        cmocka_unit_test(a_verb_is_named_kind_dot_operation),
        cmocka_unit_test(every_kind_that_is_listed_can_be_got),
        cmocka_unit_test(what_people_wrote_is_read_by_content_verbs_alone),
        cmocka_unit_test(what_hands_out_or_bounds_rights_is_guarded),
        cmocka_unit_test(a_verb_counts_on_its_level_and_above),
        cmocka_unit_test(sets_add_subtract_and_compare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
