/* SPDX-License-Identifier: Apache-2.0 */
/* How change sets become rows and notes. */
#include "tests/unit/control/harness.h"

#include "store/row.h"

struct estate {
    struct harness harness;
    struct ref project, workload;
    char text[512]; /* what was read */
};

static void
put_project(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    struct changes *changes = loop_changes(loop, arena);
    struct tenant *tenant = change_create(
        changes, KIND_TENANT, world_platform_ref(loop_world(loop)), "red");
    struct project *project =
        change_create(changes, KIND_PROJECT, tenant->object.self, "p");

    estate->project = project->object.self;
    loop_apply(loop, changes);
}

static void
put_workload(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    struct changes *changes = loop_changes(loop, arena);
    struct workload *workload =
        change_create(changes, KIND_WORKLOAD, estate->project, "w");

    change_doc(changes, &workload->spec, "{\"first\":1}");
    estate->workload = workload->object.self;
    loop_apply(loop, changes);
}

/* The end of a workload and its leaving the memory, in one set. */
static void
end_and_evict(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    struct changes *changes = loop_changes(loop, arena);
    struct workload *workload = change_update(changes, estate->workload);

    workload->state = WORKLOAD_SUCCEEDED;
    workload->exit_code = 3;
    change_doc(changes, &workload->proof, "{\"last\":2}");
    change_evict(changes, estate->workload);
    loop_apply(loop, changes);
}

static void
end_and_delete(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    struct changes *changes = loop_changes(loop, arena);
    struct workload *workload = change_update(changes, estate->workload);

    workload->state = WORKLOAD_SUCCEEDED;
    change_delete(changes, estate->workload);
    loop_apply(loop, changes);
}

static int
take_workload(void *context, const struct value *values, struct error *err)
{
    struct estate *estate = context;
    scoped_json json = row_json(KIND_WORKLOAD, values, true);
    scoped_json some = json_pack(
        "{s:O, s:O, s:O, s:O, s:O}", "state", json_object_get(json, "state"),
        "exit", json_object_get(json, "exit_code"), "proof",
        json_object_get(json, "proof"), "spec",
        json_object_get(json, "spec"), "version",
        json_object_get(json, "version"));
    char *text = json_dumps(some, JSON_COMPACT | JSON_SORT_KEYS);

    (void)err;
    (void)snprintf(estate->text + strlen(estate->text),
                   sizeof(estate->text) - strlen(estate->text), "%s", text);
    free(text);
    return 0;
}

static void
read_workloads(struct job *job, struct store_reader *reader)
{
    struct store_query query = { .kind = KIND_WORKLOAD, .live = STORE_ENDED };
    struct error err;

    harness_must(
        store_select(reader, &query, take_workload, job->data, &err), &err);
}

static void
count_stored(struct job *job, struct store_reader *reader)
{
    struct store_query query = { .kind = KIND_WORKLOAD };
    struct error err;

    harness_must(
        store_select(reader, &query, take_workload, job->data, &err), &err);
}

static void
test_last_state_of_evicted_history_is_stored(void **state)
{
    struct estate estate = { 0 };

    (void)state;
    harness_open(&estate.harness);
    harness_run(&estate.harness, put_project, &estate);
    harness_run(&estate.harness, put_workload, &estate);
    harness_read(&estate.harness, read_workloads, &estate);
    assert_string_equal(estate.text, "");
    harness_run(&estate.harness, end_and_evict, &estate);
    harness_read(&estate.harness, read_workloads, &estate);
    assert_string_equal(estate.text,
                        "{\"exit\":3,\"proof\":{\"last\":2},"
                        "\"spec\":{\"first\":1},\"state\":\"succeeded\","
                        "\"version\":2}");
    /* and the memory does not get it back */
    harness_restart(&estate.harness);
    harness_close(&estate.harness);
}

static void
test_deleted_object_leaves_no_row(void **state)
{
    struct estate estate = { 0 };

    (void)state;
    harness_open(&estate.harness);
    harness_run(&estate.harness, put_project, &estate);
    harness_run(&estate.harness, put_workload, &estate);
    harness_run(&estate.harness, end_and_delete, &estate);
    harness_read(&estate.harness, count_stored, &estate);
    assert_string_equal(estate.text, "");
    harness_close(&estate.harness);
}

/* --- facts --- */

static void
put_facts(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    struct changes *changes = loop_changes(loop, arena);

    for (int i = 0; i < 3; i++) {
        struct fact *fact =
            change_create(changes, KIND_FACT, estate->project, "");

        (void)snprintf(fact->source, sizeof(fact->source), "bulkheadd");
        fact->project = estate->project;
        fact->quantity = 10 + i;
    }
    loop_apply(loop, changes);
}

static int
take_fact(void *context, const struct value *values, struct error *err)
{
    struct estate *estate = context;

    (void)err;
    assert_non_null(row_text(KIND_FACT, values, "project"));
    (void)snprintf(estate->text + strlen(estate->text),
                   sizeof(estate->text) - strlen(estate->text),
                   "%lld.%lld=%lld ",
                   (long long)row_int(KIND_FACT, values, "epoch"),
                   (long long)row_int(KIND_FACT, values, "sequence"),
                   (long long)row_int(KIND_FACT, values, "quantity"));
    return 0;
}

static void
read_facts(struct job *job, struct store_reader *reader)
{
    struct store_query query = { .kind = KIND_FACT,
                                 .order = { "epoch", "sequence" } };
    struct error err;

    harness_must(store_select(reader, &query, take_fact, job->data, &err),
                 &err);
}

static void
test_facts_are_numbered_densely_in_each_epoch(void **state)
{
    struct estate estate = { 0 };

    (void)state;
    harness_open(&estate.harness);
    harness_run(&estate.harness, put_project, &estate);
    harness_run(&estate.harness, put_facts, &estate);
    harness_run(&estate.harness, put_facts, &estate);
    harness_restart(&estate.harness);
    harness_run(&estate.harness, put_facts, &estate);
    harness_read(&estate.harness, read_facts, &estate);
    assert_string_equal(estate.text, "1.1=10 1.2=11 1.3=12 1.4=10 1.5=11 "
                                     "1.6=12 2.1=10 2.2=11 2.3=12 ");
    harness_close(&estate.harness);
}

/* --- notes --- */

struct noted {
    struct estate *estate;
    char text[256];
    uint64_t since;
};

static bool
take_note(void *data, const struct note *note)
{
    struct noted *noted = data;

    assert_int_equal(note->revision > noted->since, true);
    (void)snprintf(noted->text + strlen(noted->text),
                   sizeof(noted->text) - strlen(noted->text), "%s%s ",
                   schema_get((enum kind)note->kind)->name,
                   note->deleted ? "-" : note->created ? "+" : "~");
    if (note->kind == KIND_WORKLOAD)
        assert_true(ref_equal(note->parent, noted->estate->project));
    return true;
}

static void
read_notes(struct loop *loop, struct arena *arena, void *data)
{
    struct noted *noted = data;
    struct ref tenant = world_first(loop_world(loop), KIND_TENANT);
    struct error err;

    (void)arena;
    harness_must(
        loop_notes(loop, tenant, KIND_TENANT, noted->since, take_note, noted,
                   &err),
        &err);
}

static void
test_watches_see_creation_change_and_end_with_the_parent(void **state)
{
    struct estate estate = { 0 };
    struct noted noted = { .estate = &estate };

    (void)state;
    harness_open(&estate.harness);
    harness_run(&estate.harness, put_project, &estate);
    harness_run(&estate.harness, put_workload, &estate);
    harness_run(&estate.harness, end_and_delete, &estate);
    harness_run(&estate.harness, read_notes, &noted);
    assert_string_equal(noted.text, "tenant+ project+ workload+ workload- ");
    harness_close(&estate.harness);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_state_of_evicted_history_is_stored),
        cmocka_unit_test(test_deleted_object_leaves_no_row),
        cmocka_unit_test(test_facts_are_numbered_densely_in_each_epoch),
        cmocka_unit_test(
            test_watches_see_creation_change_and_end_with_the_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
