/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/change.h"
#include "core/month.h"
#include "core/object.h"
#include "core/price.h"
#include "core/usage.h"

/* A world with one tenant, one project, one card and one instance. */
struct scene {
    struct arena *arena;
    struct world *world;
    struct id_source ids;
    int64_t now_ms;
    struct ref platform, pool, node, card, tenant, project, workload, instance;
};

static struct changes *
begin(struct scene *scene)
{
    return change_begin(scene->arena, scene->world,
                        (struct context){ scene->now_ms, &scene->ids });
}

static struct ref
add(struct changes *changes, enum kind kind, struct ref parent,
    const char *name)
{
    struct object *object = change_create(changes, kind, parent, name);

    return object->self;
}

static int
scene_open(void **state)
{
    static const struct hash_key key = { 1, 2 };
    struct scene *scene = memory_new(1, sizeof(*scene));
    struct changes *changes;

    scene->arena = arena_new();
    scene->world = world_new(&key);
    scene->ids.key = key;
    scene->now_ms = INT64_C(1798761600000); /* 2027-01-01T00:00:00Z */
    changes = begin(scene);
    scene->platform = add(changes, KIND_PLATFORM, (struct ref){ 0 },
                          "platform");
    scene->pool = add(changes, KIND_POOL, scene->platform, "main");
    scene->node = add(changes, KIND_NODE, scene->pool, "n1");
    scene->card = add(changes, KIND_CARD, scene->node, "card0");
    scene->tenant = add(changes, KIND_TENANT, scene->platform, "research");
    scene->project = add(changes, KIND_PROJECT, scene->tenant, "train");
    scene->workload = add(changes, KIND_WORKLOAD, scene->project, "job");
    scene->instance = add(changes, KIND_INSTANCE, scene->workload, "0");
    ((struct card *)change_update(changes, scene->card))->health =
        HEALTH_HEALTHY;
    usage_start(changes, change_update(changes, scene->card));
    world_apply(scene->world, changes);
    *state = scene;
    return 0;
}

static int
scene_close(void **state)
{
    struct scene *scene = *state;

    world_free(scene->world);
    arena_free(scene->arena);
    free(scene);
    return 0;
}

static struct ref
bind(struct scene *scene, int64_t milli)
{
    struct changes *changes = begin(scene);
    struct binding *binding;

    usage_cut(changes, scene->card);
    binding = change_create(changes, KIND_BINDING, scene->instance, "");
    binding->card = scene->card;
    binding->milli = milli;
    binding->from_ms = binding->cut_ms = scene->now_ms;
    binding->workload = scene->workload;
    binding->project = scene->project;
    binding->pool = scene->pool;
    world_apply(scene->world, changes);
    return binding->object.self;
}

static void
objects_are_found_by_id_name_and_place(void **state)
{
    struct scene *scene = *state;
    const struct object *tenant = world_object(scene->world, scene->tenant);

    assert_true(ref_equal(world_find(scene->world, KIND_TENANT, tenant->id),
                          scene->tenant));
    assert_true(ref_equal(world_find_name(scene->world, KIND_TENANT,
                                          scene->platform, "research"),
                          scene->tenant));
    assert_true(ref_is_none(world_find_name(scene->world, KIND_TENANT,
                                            scene->pool, "research")));
    assert_true(ref_is_none(world_find(scene->world, KIND_USER, tenant->id)));
    assert_true(ref_equal(world_first_child(scene->world, KIND_PROJECT,
                                            scene->tenant),
                          scene->project));
    assert_true(ref_equal(world_scope(scene->world, scene->instance),
                          scene->tenant));
    assert_true(ref_equal(world_scope(scene->world, scene->card),
                          scene->platform));
    assert_true(world_is_below(scene->world, scene->instance, scene->tenant));
    assert_false(world_is_below(scene->world, scene->card, scene->tenant));
}

static void
a_dropped_change_set_changes_nothing(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);
    uint64_t seq = world_seq(scene->world);

    (void)add(changes, KIND_TENANT, scene->platform, "ghost");
    change_delete(changes, scene->workload);
    assert_int_equal(world_count(scene->world, KIND_TENANT), 1);
    assert_non_null(world_workload(scene->world, scene->workload));
    assert_null(change_get(changes, scene->workload));
    assert_int_equal(world_seq(scene->world), seq);
}

static void
lists_keep_the_order_of_seq_when_slots_are_used_again(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);
    struct ref a = add(changes, KIND_USER, scene->tenant, "a");
    struct ref b = add(changes, KIND_USER, scene->tenant, "b");
    struct ref c, d, at;

    world_apply(scene->world, changes);
    changes = begin(scene);
    change_delete(changes, a);
    world_apply(scene->world, changes);
    assert_null(world_user(scene->world, a));
    changes = begin(scene);
    c = add(changes, KIND_USER, scene->tenant, "c");
    d = add(changes, KIND_USER, scene->tenant, "d");
    world_apply(scene->world, changes);
    assert_int_equal(c.index, a.index);
    at = world_first_child(scene->world, KIND_USER, scene->tenant);
    assert_true(ref_equal(at, b));
    at = world_next_child(scene->world, at);
    assert_true(ref_equal(at, c));
    at = world_next_child(scene->world, at);
    assert_true(ref_equal(at, d));
    assert_true(ref_is_none(world_next_child(scene->world, at)));
    assert_int_equal(world_count(scene->world, KIND_USER), 3);
}

static void
versions_and_revisions_rise_with_each_change(void **state)
{
    struct scene *scene = *state;
    uint64_t before = world_revision(scene->world, scene->tenant);
    uint64_t platform = world_revision(scene->world, scene->platform);
    struct changes *changes = begin(scene);
    struct project *project = change_update(changes, scene->project);

    project->class = PROJECT_RESEARCH;
    (void)add(changes, KIND_USER, scene->tenant, "u");
    world_apply(scene->world, changes);
    assert_int_equal(world_revision(scene->world, scene->tenant), before + 1);
    assert_int_equal(world_revision(scene->world, scene->platform), platform);
    assert_int_equal(world_object(scene->world, scene->project)->version, 2);
    assert_int_equal(project->object.version, 2);
}

static void
use_is_summed_up_the_tree_and_a_new_quota_counts_what_is_live(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);
    struct quota *quota;
    struct ref early, late, binding;

    quota = change_create(changes, KIND_QUOTA, scene->tenant, "");
    quota->dimension = DIMENSION_CARDS;
    early = quota->object.self;
    world_apply(scene->world, changes);
    binding = bind(scene, 600);
    assert_int_equal(world_quota(scene->world, early)->used, 600);
    assert_int_equal(world_card(scene->world, scene->card)->used_milli, 600);
    changes = begin(scene);
    quota = change_create(changes, KIND_QUOTA, scene->project, "");
    quota->dimension = DIMENSION_CARDS;
    quota->pool = scene->pool;
    late = quota->object.self;
    world_apply(scene->world, changes);
    assert_int_equal(world_quota(scene->world, late)->used, 600);
    changes = begin(scene);
    ((struct binding *)change_update(changes, binding))->to_ms =
        scene->now_ms;
    change_evict(changes, binding);
    world_apply(scene->world, changes);
    assert_int_equal(world_quota(scene->world, early)->used, 0);
    assert_int_equal(world_quota(scene->world, late)->used, 0);
    assert_int_equal(world_card(scene->world, scene->card)->used_milli, 0);
}

static void
a_clone_goes_its_own_way(void **state)
{
    struct scene *scene = *state;
    struct world *clone = world_clone(scene->world);
    struct changes *changes =
        change_begin(scene->arena, clone,
                     (struct context){ scene->now_ms, &scene->ids });

    change_delete(changes, scene->instance);
    world_apply(clone, changes);
    assert_null(world_instance(clone, scene->instance));
    assert_non_null(world_instance(scene->world, scene->instance));
    world_free(clone);
}

/* Sum of quantity per usage class of the facts in a set. */
static int64_t
sum(const struct changes *changes, int usage, int *count_out)
{
    int64_t total = 0;

    *count_out = 0;
    for (size_t i = 0; i < changes->count; i++) {
        const struct object *object = changes->list[i].image;
        const struct fact *fact = changes->list[i].image;

        if (object == NULL || object->self.kind != KIND_FACT ||
            (usage >= 0 && fact->usage != usage))
            continue;
        assert_int_equal(hour_start(fact->from_ms),
                         hour_start(fact->to_ms - 1));
        total += fact->quantity;
        ++*count_out;
    }
    return total;
}

static void
a_card_s_time_is_conserved_and_cut_at_hours(void **state)
{
    struct scene *scene = *state;
    struct changes *changes;
    int count;

    scene->now_ms += 10 * 60 * 1000;
    (void)bind(scene, 250);
    scene->now_ms += 100 * 60 * 1000; /* until 01:50 */
    changes = begin(scene);
    usage_cut(changes, scene->card);
    assert_int_equal(sum(changes, USAGE_BOUND, &count),
                     250 * INT64_C(100) * 60000);
    assert_int_equal(count, 2);
    assert_int_equal(sum(changes, USAGE_IDLE, &count),
                     750 * INT64_C(100) * 60000);
    assert_int_equal(sum(changes, -1, &count), 1000 * INT64_C(100) * 60000);
    world_apply(scene->world, changes);
    changes = begin(scene);
    usage_cut(changes, scene->card);
    assert_int_equal(sum(changes, -1, &count), 0);
}

static void
card_time_counts_in_its_own_month(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);
    struct quota *quota = change_create(changes, KIND_QUOTA, scene->project,
                                        "");
    struct ref ref = quota->object.self;

    quota->dimension = DIMENSION_CARD_TIME;
    world_apply(scene->world, changes);
    scene->now_ms = month_next(scene->now_ms) - 1000;
    (void)bind(scene, 1000);
    scene->now_ms += 3000; /* two seconds into the next month */
    changes = begin(scene);
    usage_cut(changes, scene->card);
    world_apply(scene->world, changes);
    assert_int_equal(world_quota(scene->world, ref)->used, 2000 * 1000);
    assert_int_equal(world_quota(scene->world, ref)->used_month_ms,
                     month_start(scene->now_ms));
}

static void
months_are_those_of_the_calendar(void **state)
{
    (void)state;
    assert_int_equal(month_start(0), 0);
    assert_int_equal(month_next(0), 31 * DAY_MS);
    /* 2028-02-29T23:59:59.999Z, a leap day. */
    assert_int_equal(month_next(INT64_C(1835481599999)),
                     INT64_C(1835481600000));
    assert_int_equal(month_start(INT64_C(1835481599999)),
                     INT64_C(1832976000000));
    for (int64_t at = 0; at < 3000 * DAY_MS; at += DAY_MS / 2) {
        assert_true(month_start(at) <= at && at < month_next(at));
        assert_int_equal(month_start(month_next(at) - 1), month_start(at));
    }
}

static void
the_most_particular_price_is_in_force(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);
    struct price *price = change_create(changes, KIND_PRICE, scene->platform,
                                        "");
    int64_t cost;

    price->nano = 10;
    price = change_create(changes, KIND_PRICE, scene->platform, "");
    price->nano = 20;
    memcpy(price->model, "X1", 3);
    price = change_create(changes, KIND_PRICE, scene->platform, "");
    price->nano = 5;
    price->tenant = scene->tenant;
    price->to_ms = scene->now_ms + 100;
    world_apply(scene->world, changes);
    assert_int_equal(price_at(scene->world, METER_CARD_HOUR, "X1",
                              scene->tenant, scene->now_ms),
                     5);
    assert_int_equal(price_at(scene->world, METER_CARD_HOUR, "X1",
                              scene->tenant, scene->now_ms + 100),
                     20);
    assert_int_equal(price_at(scene->world, METER_CARD_HOUR, "Y",
                              (struct ref){ 0 }, scene->now_ms),
                     10);
    assert_int_equal(price_next_change(scene->world, METER_CARD_HOUR,
                                       scene->now_ms, scene->now_ms + 500),
                     scene->now_ms + 100);
    /* Half a card for an hour at 3: 1.5, to even. */
    assert_int_equal(price_of_card_time(3, 500 * HOUR_MS, &cost), 0);
    assert_int_equal(cost, 2);
    assert_int_equal(price_of_card_time(1, 500 * HOUR_MS, &cost), 0);
    assert_int_equal(cost, 0);
    assert_int_equal(price_of_card_time(INT64_MAX, INT64_MAX, &cost), -1);
}

static void
values_come_back_from_the_store_as_they_went(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);
    struct workload *workload = change_update(changes, scene->workload);
    const struct value *values;
    struct digest before, after;
    struct error err;
    void *image;

    change_doc(changes, &workload->spec, "{\"command\":[\"true\"]}");
    workload->exit_code = -1;
    workload->state = WORKLOAD_PREEMPTING;
    workload->pool = scene->pool;
    world_apply(scene->world, changes);
    values = object_values(scene->world, KIND_WORKLOAD,
                           world_get(scene->world, scene->workload),
                           scene->arena);
    assert_int_equal(object_from_values(scene->world, KIND_WORKLOAD, values,
                                        scene->arena, &image, &err),
                     0);
    object_digest(scene->world, world_get(scene->world, scene->workload),
                  &before);
    object_digest(scene->world, image, &after);
    assert_int_equal(digest_compare(&before, &after), 0);
    assert_int_equal(((struct workload *)image)->state, WORKLOAD_PREEMPTING);
}

/* Reads a body into a new tenant; returns the error's text or "". */
static const char *
read_tenant(struct scene *scene, const char *body, struct error *err)
{
    scoped_json json = json_read(body, strlen(body), err);
    struct changes *changes = begin(scene);
    void *image = change_create(changes, KIND_TENANT, scene->platform, "");

    assert_non_null(json);
    err->text[0] = err->field[0] = '\0';
    if (object_read_json(changes, KIND_TENANT, json, true, image, err) == 0)
        return "";
    return err->text;
}

static void
bodies_are_read_strictly_and_errors_name_field_rule_and_value(void **state)
{
    struct scene *scene = *state;
    struct error err;

    assert_string_equal(read_tenant(scene, "{\"name\":\"a\"}", &err), "");
    (void)read_tenant(scene, "{\"name\":\"A b\"}", &err);
    assert_string_equal(err.field, "/name");
    assert_non_null(strstr(err.text, "\"A b\" is not a name"));
    (void)read_tenant(scene, "{\"name\":\"a\",\"extra\":1}", &err);
    assert_string_equal(err.field, "/extra");
    (void)read_tenant(scene, "{\"name\":\"a\",\"number\":7}", &err);
    assert_string_equal(err.field, "/number");
    assert_non_null(strstr(err.text, "cannot be set"));
    (void)read_tenant(scene, "{\"name\":\"a\",\"isolation\":\"no\"}", &err);
    assert_non_null(strstr(err.text, "namespace, nodepool, cluster"));
    (void)read_tenant(scene, "{\"name\":\"a\",\"display\":\"x\\u0007\"}",
                      &err);
    assert_string_equal(err.field, "/display");
}

static void
secrets_and_platform_fields_do_not_show(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);
    struct user *user = change_create(changes, KIND_USER, scene->tenant,
                                      "u");
    scoped_json user_json = NULL;
    scoped_json tenant_json = NULL;
    scoped_json platform_json = NULL;

    memcpy(user->password, "$argon2id$x", 12);
    world_apply(scene->world, changes);
    user_json = object_json(scene->world, user, true);
    assert_null(json_object_get(user_json, "password"));
    tenant_json = object_json(
        scene->world, world_get(scene->world, scene->tenant), false);
    assert_null(json_object_get(tenant_json, "number"));
    assert_null(json_object_get(tenant_json, "seq"));
    platform_json = object_json(
        scene->world, world_get(scene->world, scene->tenant), true);
    assert_non_null(json_object_get(platform_json, "number"));
}

/* Sends one count of input tokens; applies what was accepted. */
static enum usage_verdict
count_tokens(struct scene *scene, int64_t epoch, int64_t sequence,
             int64_t quantity)
{
    struct changes *changes = begin(scene);
    struct usage_count count = {
        .source = "gateway-1",
        .epoch = epoch,
        .sequence = sequence,
        .meter = METER_TOKEN_IN,
        .quantity = quantity,
        .from_ms = scene->now_ms - 1000,
        .to_ms = scene->now_ms,
        .project = scene->project,
        .model = "bigram",
    };
    enum usage_verdict verdict = USAGE_GAP;
    struct error err;

    digest_of(&quantity, sizeof(quantity), &count.digest);
    assert_int_equal(usage_count(changes, &count, &verdict, &err), 0);
    if (verdict == USAGE_ACCEPTED)
        assert_int_equal(changes->count, 2);
    else
        assert_true(change_is_empty(changes));
    world_apply(scene->world, changes);
    return verdict;
}

static void
a_counter_is_taken_once_and_in_order(void **state)
{
    struct scene *scene = *state;

    scene->now_ms += 5000;
    assert_int_equal(count_tokens(scene, 1, 2, 10), USAGE_GAP);
    assert_int_equal(count_tokens(scene, 1, 1, 10), USAGE_ACCEPTED);
    assert_int_equal(count_tokens(scene, 1, 1, 10), USAGE_DUPLICATE);
    assert_int_equal(count_tokens(scene, 1, 1, 11), USAGE_CONFLICT);
    assert_int_equal(count_tokens(scene, 1, 3, 10), USAGE_GAP);
    assert_int_equal(count_tokens(scene, 1, 2, 0), USAGE_ACCEPTED);
    assert_int_equal(count_tokens(scene, 1, 1, 10), USAGE_OLDER);
    assert_int_equal(count_tokens(scene, 2, 2, 10), USAGE_GAP);
    assert_int_equal(count_tokens(scene, 2, 1, 10), USAGE_ACCEPTED);
    assert_int_equal(count_tokens(scene, 1, 3, 10), USAGE_OLDER);
}

static void
counters_out_of_range_are_refused(void **state)
{
    struct scene *scene = *state;
    const struct usage_count good = {
        .source = "gateway-1", .epoch = 1, .sequence = 1,
        .meter = METER_REQUEST, .quantity = 1,
        .from_ms = scene->now_ms, .to_ms = scene->now_ms + 1000,
        .project = scene->project, .model = "",
    };
    struct usage_count bad[7];
    enum usage_verdict verdict;
    struct error err;

    scene->now_ms += 1000;
    for (size_t i = 0; i < 7; i++)
        bad[i] = good;
    bad[0].quantity = -1;
    bad[1].quantity = INT64_MAX;
    bad[2].to_ms = scene->now_ms + 1;
    bad[3].from_ms -= HOUR_MS;
    bad[4].meter = METER_CARD_HOUR;
    bad[5].project = scene->tenant;
    bad[6].source = "Not a name";
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(usage_count(begin(scene), &bad[i], &verdict, &err),
                         -1);
    assert_int_equal(usage_count(begin(scene), &good, &verdict, &err), 0);
    assert_int_equal(verdict, USAGE_ACCEPTED);
}

static void
a_moved_object_changes_lists(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);
    struct volume *volume = change_create(changes, KIND_VOLUME,
                                          scene->project, "v");
    struct ref ref = volume->object.self;

    world_apply(scene->world, changes);
    assert_true(ref_is_none(
        world_first_index(scene->world, KIND_VOLUME, 0, scene->node)));
    changes = begin(scene);
    ((struct volume *)change_update(changes, ref))->node = scene->node;
    world_apply(scene->world, changes);
    assert_true(ref_equal(
        world_first_index(scene->world, KIND_VOLUME, 0, scene->node), ref));
    assert_true(ref_equal(world_find_name(scene->world, KIND_VOLUME,
                                          scene->project, "v"),
                          ref));
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, scene_open, scene_close)
    static const struct CMUnitTest tests[] = {
        T(objects_are_found_by_id_name_and_place),
        T(a_dropped_change_set_changes_nothing),
        T(lists_keep_the_order_of_seq_when_slots_are_used_again),
        T(versions_and_revisions_rise_with_each_change),
        T(use_is_summed_up_the_tree_and_a_new_quota_counts_what_is_live),
        T(a_clone_goes_its_own_way),
        T(a_card_s_time_is_conserved_and_cut_at_hours),
        T(card_time_counts_in_its_own_month),
        T(months_are_those_of_the_calendar),
        T(the_most_particular_price_is_in_force),
        T(values_come_back_from_the_store_as_they_went),
        T(bodies_are_read_strictly_and_errors_name_field_rule_and_value),
        T(secrets_and_platform_fields_do_not_show),
        T(a_counter_is_taken_once_and_in_order),
        T(counters_out_of_range_are_refused),
        T(a_moved_object_changes_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
