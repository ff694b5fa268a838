/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/control/harness.h"

#include <sqlite3.h>

#include "control/check.h"
#include "core/usage.h"
#include "core/world_private.h"

/* One card, bound to one running workload for a while. */
struct estate {
    struct harness harness;
    struct ref node, card, tenant, project, quota, class, workload, instance;
    struct ref binding;
    int (*what)(struct estate *estate, struct changes *changes);
};

static int
decide(struct changes *changes, void *data, struct error *err)
{
    struct estate *estate = data;

    (void)err;
    return estate->what(estate, changes);
}

static void
do_deed(struct loop *loop, struct arena *arena, void *data)
{
    struct deed deed = { .verb = "test",
                         .component = "test",
                         .decide = decide,
                         .data = data };
    struct error err;

    harness_must(execute_deed(loop, arena, &deed, &err) == 1 ? 0 : -1, &err);
}

static void
deed(struct estate *estate,
     int (*what)(struct estate *estate, struct changes *changes))
{
    estate->what = what;
    harness_run(&estate->harness, do_deed, estate);
}

static int
put_hardware(struct estate *estate, struct changes *changes)
{
    struct ref platform = world_platform_ref(changes->world);
    struct ref pool = world_first(changes->world, KIND_POOL);
    struct node *node = change_create(changes, KIND_NODE, pool, "n1");
    struct card *card;
    struct class *class = change_create(changes, KIND_CLASS, platform, "c1");

    class->count = 1;
    estate->class = class->object.self;
    node->cpu_milli = 8000;
    node->memory_mib = 8192;
    estate->node = node->object.self;
    card = change_create(changes, KIND_CARD, estate->node, "card0");
    card->memory_mib = 81920;
    card->health = HEALTH_HEALTHY;
    usage_start(changes, card);
    estate->card = card->object.self;
    return 0;
}

static int
put_tenant(struct estate *estate, struct changes *changes)
{
    struct ref platform = world_platform_ref(changes->world);
    struct tenant *tenant =
        change_create(changes, KIND_TENANT, platform, "red");
    struct project *project;
    struct quota *quota;

    estate->tenant = tenant->object.self;
    project = change_create(changes, KIND_PROJECT, estate->tenant, "work");
    estate->project = project->object.self;
    quota = change_create(changes, KIND_QUOTA, estate->tenant, "");
    quota->dimension = DIMENSION_CARDS;
    quota->guaranteed = 1000;
    quota->limit = 2000;
    estate->quota = quota->object.self;
    return 0;
}

static int
put_work(struct estate *estate, struct changes *changes)
{
    struct workload *workload =
        change_create(changes, KIND_WORKLOAD, estate->project, "w");
    struct instance *instance;
    struct binding *binding;

    workload->state = WORKLOAD_RUNNING;
    workload->class = estate->class;
    estate->workload = workload->object.self;
    instance = change_create(changes, KIND_INSTANCE, estate->workload, "0");
    instance->node = estate->node;
    instance->state = INSTANCE_RUNNING;
    instance->project = estate->project;
    instance->cpu_milli = 1000;
    instance->memory_mib = 512;
    estate->instance = instance->object.self;
    usage_cut(changes, estate->card);
    binding = change_create(changes, KIND_BINDING, estate->instance, "");
    binding->card = estate->card;
    binding->milli = 1000;
    binding->memory_mib = 81920;
    binding->from_ms = binding->cut_ms = changes->context.now_ms;
    binding->project = estate->project;
    binding->workload = estate->workload;
    binding->class = estate->class;
    estate->binding = binding->object.self;
    return 0;
}

static int
cut(struct estate *estate, struct changes *changes)
{
    usage_cut(changes, estate->card);
    return 0;
}

static void
open_estate(struct estate *estate)
{
    memset(estate, 0, sizeof(*estate));
    harness_open(&estate->harness);
    deed(estate, put_hardware);
    deed(estate, put_tenant);
    harness_pass(1234567);
    deed(estate, put_work);
    harness_pass(7654321);
    deed(estate, cut);
}

/* --- running the check --- */

static void
look_at_world(struct loop *loop, struct arena *arena, void *data)
{
    (void)arena;
    check_world(data, loop_world(loop));
}

static void
look_at_history(struct job *job, struct store_reader *reader)
{
    struct error err;

    harness_must(check_history(job->data, reader, &err), &err);
}

static void
run_check(struct estate *estate, struct arena *arena, struct check *check)
{
    check_begin(check, arena, 0);
    harness_run(&estate->harness, look_at_world, check);
    harness_read(&estate->harness, look_at_history, check);
}

static void
assert_clean(struct estate *estate)
{
    scoped_arena arena = arena_new();
    struct check check;

    run_check(estate, arena, &check);
    if (check.broken > 0)
        fail_msg("%s: %s", check_rule_text(check.findings[0].rule),
                 check.findings[0].text);
    for (unsigned rule = 0; rule < CHECK_RULE_COUNT; rule++)
        assert_true(check.looked[rule] > 0);
}

static void
assert_broken(struct estate *estate, enum check_rule rule, const char *words)
{
    scoped_arena arena = arena_new();
    struct check check;
    bool found = false;

    run_check(estate, arena, &check);
    for (size_t i = 0; i < check.broken && i < CHECK_FINDINGS; i++)
        if (check.findings[i].rule == rule &&
            strstr(check.findings[i].text, words) != NULL)
            found = true;
    if (!found)
        fail_msg("%s is not among %zu findings, the first is \"%s\"", words,
                 check.broken, check.findings[0].text);
}

/* Somebody with the file edits the database behind the platform's back. */
static void
edit(struct estate *estate, const char *sql)
{
    char path[128];
    sqlite3 *db;

    (void)snprintf(path, sizeof(path), "%s/bulkhead.db",
                   estate->harness.where);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_true(sqlite3_changes(db) > 0);
    (void)sqlite3_close(db);
}

static void
test_sound_platform_has_no_findings_also_after_a_restart(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate);
    assert_clean(&estate);
    harness_restart(&estate.harness);
    assert_clean(&estate);
    harness_close(&estate.harness);
}

static void
miscount(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    struct quota *quota = world_slot(loop_world(loop), estate->quota);
    struct card *card = world_slot(loop_world(loop), estate->card);
    struct node *node = world_slot(loop_world(loop), estate->node);

    (void)arena;
    quota->used -= 1000;
    card->held_milli++;
    node->used_cpu_milli = 0;
}

/* [S12b] a release that counts twice would leave such a counter */
static void
test_wrong_counter_is_found(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate);
    harness_run(&estate.harness, miscount, &estate);
    assert_broken(&estate, CHECK_COUNTERS, "used is 0, counted 1000");
    assert_broken(&estate, CHECK_COUNTERS, "held_milli is 1, counted 0");
    assert_broken(&estate, CHECK_COUNTERS,
                  "used_cpu_milli is 0, counted 1000");
    harness_close(&estate.harness);
}

static void
test_edit_behind_the_log_is_found(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate);
    edit(&estate, "UPDATE quota SET \"limit\" = 999999");
    assert_broken(&estate, CHECK_RECORD, "is not as its record");
    harness_close(&estate.harness);
}

static void
test_object_without_a_record_is_found(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate);
    edit(&estate, "UPDATE quota SET version = 7");
    assert_broken(&estate, CHECK_RECORD, "has no record of its version 7");
    harness_close(&estate.harness);
}

static void
test_record_that_was_dropped_or_changed_is_found(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate);
    edit(&estate, "UPDATE event SET leaf = substr(leaf, 2) || '0' "
                  "WHERE position = 0");
    assert_broken(&estate, CHECK_RECORD, "is not what its leaf commits to");
    edit(&estate, "DELETE FROM event WHERE position = 0");
    assert_broken(&estate, CHECK_RECORD, "record 0 of the log is missing");
    harness_close(&estate.harness);
}

static void
test_two_on_a_card_in_the_past_are_found(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate);
    edit(&estate,
         "INSERT INTO binding (id, seq, parent, name, card, milli, from_ms, "
         "to_ms, live) SELECT 'bi_x', 999, parent, '', card, 500, "
         "from_ms + 10, from_ms + 20, 0 FROM binding");
    assert_broken(&estate, CHECK_EXCLUSIVE, "was bound 1500 / 1000");
    harness_close(&estate.harness);
}

static void
test_bindings_that_meet_do_not_overlap(void **state)
{
    struct estate estate;
    scoped_arena arena = arena_new();
    struct check check;

    (void)state;
    open_estate(&estate);
    edit(&estate,
         "INSERT INTO binding (id, seq, parent, name, card, milli, from_ms, "
         "to_ms, live) SELECT 'bi_x', 999, parent, '', card, 1000, "
         "from_ms - 10, from_ms, 0 FROM binding");
    run_check(&estate, arena, &check);
    assert_int_equal(check.broken, 0);
    harness_close(&estate.harness);
}

static void
test_usage_that_does_not_add_up_is_found(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate);
    edit(&estate, "UPDATE fact SET quantity = quantity + 1 WHERE rowid = 1");
    assert_broken(&estate, CHECK_USAGE, "milli-card-ms");
    harness_close(&estate.harness);
}

static void
test_hole_in_the_usage_is_found(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate);
    edit(&estate, "DELETE FROM fact WHERE rowid = "
                  "(SELECT MAX(rowid) - 1 FROM fact)");
    assert_broken(&estate, CHECK_USAGE, "nothing from");
    harness_close(&estate.harness);
}

static int
lower_parent(struct estate *estate, struct changes *changes)
{
    struct quota *quota =
        change_create(changes, KIND_QUOTA, estate->project, "");

    quota->dimension = DIMENSION_CARDS;
    quota->guaranteed = 1001;
    quota->limit = AMOUNT_NONE;
    return 0;
}

static void
test_guarantees_above_the_parents_are_found(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate);
    deed(&estate, lower_parent);
    assert_broken(&estate, CHECK_GUARANTEE,
                  "guarantees 1000, those below 1001");
    harness_close(&estate.harness);
}

static int
release_instance(struct estate *estate, struct changes *changes)
{
    struct instance *instance = change_update(changes, estate->instance);

    instance->state = INSTANCE_RELEASED;
    return 0;
}

static void
test_binding_of_a_released_instance_is_found(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate);
    deed(&estate, release_instance);
    assert_broken(&estate, CHECK_LIFE, "is live, its instance is not");
    harness_close(&estate.harness);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_sound_platform_has_no_findings_also_after_a_restart),
        cmocka_unit_test(test_wrong_counter_is_found),
        cmocka_unit_test(test_edit_behind_the_log_is_found),
        cmocka_unit_test(test_object_without_a_record_is_found),
        cmocka_unit_test(test_record_that_was_dropped_or_changed_is_found),
        cmocka_unit_test(test_two_on_a_card_in_the_past_are_found),
        cmocka_unit_test(test_bindings_that_meet_do_not_overlap),
        cmocka_unit_test(test_usage_that_does_not_add_up_is_found),
        cmocka_unit_test(test_hole_in_the_usage_is_found),
        cmocka_unit_test(test_guarantees_above_the_parents_are_found),
        cmocka_unit_test(test_binding_of_a_released_instance_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
