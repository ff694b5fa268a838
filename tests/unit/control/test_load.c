/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/control/harness.h"

#include <sqlite3.h>

#include "base/json.h"
#include "core/month.h"
#include "core/usage.h"

/* An estate with something of most kinds. */
struct estate {
    struct harness harness;
    struct ref card, project, quota, binding, class;
    char *dump; /* of the whole world */
};

static void
put_rights(struct changes *changes, struct ref tenant)
{
    struct user *user = change_create(changes, KIND_USER, tenant, "eve");
    struct session *session =
        change_create(changes, KIND_SESSION, user->object.self, "");
    struct role *role = change_create(changes, KIND_ROLE, tenant, "king");
    struct grant *grant = change_create(changes, KIND_GRANT, tenant, "");
    struct alarm *alarm =
        change_create(changes, KIND_ALARM, user->object.self, "");

    session->digest[3] = 7;
    verbs_add(&role->verbs, VERB_TENANT_GET);
    grant->subject = user->object.self;
    grant->role = role->object.self;
    grant->use = role->verbs;
    (void)snprintf(alarm->code, sizeof(alarm->code), "test");
}

static struct ref
put_hardware(struct estate *estate, struct changes *changes)
{
    struct ref pool = world_first(changes->world, KIND_POOL);
    struct node *node = change_create(changes, KIND_NODE, pool, "n1");
    struct card *card =
        change_create(changes, KIND_CARD, node->object.self, "card0");

    change_doc(changes, &node->facts, "{\"kernel\":\"6.1\"}");
    card->health = HEALTH_HEALTHY;
    card->memory_mib = 81920;
    usage_start(changes, card);
    estate->card = card->object.self;
    return node->object.self;
}

static void
put_work(struct estate *estate, struct changes *changes, struct ref node)
{
    struct workload *workload =
        change_create(changes, KIND_WORKLOAD, estate->project, "w");
    struct instance *instance = change_create(changes, KIND_INSTANCE,
                                              workload->object.self, "0");
    struct binding *binding = change_create(changes, KIND_BINDING,
                                            instance->object.self, "");

    workload->state = WORKLOAD_RUNNING;
    workload->class = estate->class;
    change_doc(changes, &workload->spec, "{\"command\":[\"true\"]}");
    instance->node = node;
    instance->state = INSTANCE_RUNNING;
    instance->project = estate->project;
    instance->cpu_milli = 500;
    binding->card = estate->card;
    binding->milli = 1000;
    binding->from_ms = binding->cut_ms = changes->context.now_ms;
    binding->project = estate->project;
    binding->workload = workload->object.self;
    binding->class = estate->class;
    binding->pool = world_first(changes->world, KIND_POOL);
    estate->binding = binding->object.self;
}

static void
put_estate(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    struct changes *changes = loop_changes(loop, arena);
    struct ref platform = world_platform_ref(loop_world(loop)), node;
    struct class *class = change_create(changes, KIND_CLASS, platform, "c");
    struct tenant *tenant =
        change_create(changes, KIND_TENANT, platform, "red");
    struct unit *unit =
        change_create(changes, KIND_UNIT, tenant->object.self, "outer");
    struct unit *inner =
        change_create(changes, KIND_UNIT, unit->object.self, "inner");
    struct project *project =
        change_create(changes, KIND_PROJECT, inner->object.self, "work");
    struct quota *quota =
        change_create(changes, KIND_QUOTA, tenant->object.self, "");
    struct quota *time =
        change_create(changes, KIND_QUOTA, unit->object.self, "");

    class->count = 1;
    estate->class = class->object.self;
    quota->dimension = DIMENSION_CARDS;
    quota->limit = 4000;
    time->dimension = DIMENSION_CARD_TIME;
    time->limit = AMOUNT_NONE;
    estate->project = project->object.self;
    estate->quota = time->object.self;
    put_rights(changes, tenant->object.self);
    node = put_hardware(estate, changes);
    put_work(estate, changes, node);
    loop_apply(loop, changes);
}

static void
cut(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    struct changes *changes = loop_changes(loop, arena);

    usage_cut(changes, estate->card);
    loop_apply(loop, changes);
}

static void
dump(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    const struct world *world = loop_world(loop);
    scoped_json all = json_array();

    (void)arena;
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
        world_each(world, (enum kind)kind, ref) {
            (void)json_array_append_new(
                all, object_json(world, world_get(world, ref), true));
            if (kind == KIND_TENANT || kind == KIND_PLATFORM)
                (void)json_array_append_new(
                    all, json_integer(
                             (json_int_t)world_revision(world, ref)));
        }
    (void)json_array_append_new(all,
                                json_integer((json_int_t)world_seq(world)));
    free(estate->dump);
    estate->dump = json_dumps(all, JSON_INDENT(1) | JSON_SORT_KEYS);
}

static void
test_loaded_world_equals_the_one_that_was_left(void **state)
{
    struct estate estate = { 0 };
    char *before;

    (void)state;
    harness_open(&estate.harness);
    harness_run(&estate.harness, put_estate, &estate);
    harness_pass(INT64_C(7300000));
    harness_run(&estate.harness, cut, &estate);
    harness_run(&estate.harness, dump, &estate);
    before = memory_strdup(estate.dump);
    harness_restart(&estate.harness);
    harness_run(&estate.harness, dump, &estate);
    assert_string_equal(estate.dump, before);
    free(before);
    free(estate.dump);
    harness_close(&estate.harness);
}

static void
read_quota(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;

    (void)arena;
    world_each(loop_world(loop), KIND_QUOTA, ref) {
        const struct quota *quota = world_quota(loop_world(loop), ref);

        if (quota->dimension == DIMENSION_CARD_TIME)
            assert_int_equal(quota->used, INT64_C(7300000) * 1000);
        else
            assert_int_equal(quota->used, 1000);
    }
    (void)estate;
}

/* [S4] [S12] Use is derived from what is live and from facts, never from a
 * counter. */
static void
test_quota_use_is_derived_again_at_load(void **state)
{
    struct estate estate = { 0 };

    (void)state;
    harness_open(&estate.harness);
    harness_run(&estate.harness, put_estate, &estate);
    harness_pass(INT64_C(7300000));
    harness_run(&estate.harness, cut, &estate);
    harness_run(&estate.harness, read_quota, &estate);
    harness_restart(&estate.harness);
    harness_run(&estate.harness, read_quota, &estate);
    harness_close(&estate.harness);
}

static void
edit(struct estate *estate, const char *sql)
{
    char path[128];
    sqlite3 *db;

    loop_close(estate->harness.loop);
    estate->harness.loop = NULL;
    (void)snprintf(path, sizeof(path), "%s/bulkhead.db",
                   estate->harness.where);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_true(sqlite3_changes(db) > 0);
    (void)sqlite3_close(db);
}

static void
assert_start_fails(struct estate *estate, const char *words)
{
    struct error err;

    assert_int_equal(loop_open(&estate->harness.options,
                               &estate->harness.loop, &err),
                     -1);
    if (strstr(err.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
    estate->harness.loop = NULL;
}

static void
test_damage_stops_the_start_and_is_named(void **state)
{
    struct estate estate = { 0 };

    (void)state;
    harness_open(&estate.harness);
    harness_run(&estate.harness, put_estate, &estate);
    edit(&estate, "UPDATE card SET health = 'purple'");
    assert_start_fails(&estate, "card.health");
    edit(&estate, "UPDATE card SET health = 'healthy'");
    edit(&estate, "UPDATE binding SET parent = NULL");
    assert_start_fails(&estate, "has no parent");
    edit(&estate, "UPDATE binding SET parent = (SELECT id FROM instance)");
    edit(&estate, "UPDATE counter SET bytes = x'00' WHERE name LIKE 'log:%'");
    assert_start_fails(&estate, "is damaged");
    harness_close(&estate.harness);
}

static void
count_alarms(struct loop *loop, struct arena *arena, void *data)
{
    (void)arena;
    *(size_t *)data = world_count(loop_world(loop), KIND_ALARM);
}

static void
test_alarm_about_something_gone_is_left_out(void **state)
{
    struct estate estate = { 0 };
    size_t count = 9;

    (void)state;
    harness_open(&estate.harness);
    harness_run(&estate.harness, put_estate, &estate);
    edit(&estate, "UPDATE alarm SET parent = "
                  "'wl_aaaaaaaaaaaaaaaaaaaaaaaaaa'");
    harness_start(&estate.harness);
    harness_run(&estate.harness, count_alarms, &count);
    assert_int_equal(count, 0);
    harness_close(&estate.harness);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loaded_world_equals_the_one_that_was_left),
        cmocka_unit_test(test_quota_use_is_derived_again_at_load),
        cmocka_unit_test(test_damage_stops_the_start_and_is_named),
        cmocka_unit_test(test_alarm_about_something_gone_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
