/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world.h"

#include "tests/unit/core/small.h"

static void
objects_are_found_by_id_name_and_place(void **state)
{
    struct small *small = *state;
    const struct object *tenant = world_object(small->world, small->tenant);

    assert_true(ref_equal(world_find(small->world, KIND_TENANT, tenant->id),
                          small->tenant));
    assert_true(ref_equal(
        world_find_name(small->world, KIND_TENANT, small->platform, "research"),
        small->tenant));
    assert_true(ref_is_none(
        world_find_name(small->world, KIND_TENANT, small->pool, "research")));
    assert_true(ref_is_none(world_find(small->world, KIND_USER, tenant->id)));
    assert_true(
        ref_equal(world_first_child(small->world, KIND_PROJECT, small->tenant),
                  small->project));
    assert_true(
        ref_equal(world_scope(small->world, small->instance), small->tenant));
    assert_true(
        ref_equal(world_scope(small->world, small->card), small->platform));
    assert_true(world_is_below(small->world, small->instance, small->tenant));
    assert_false(world_is_below(small->world, small->card, small->tenant));
}

static void
a_dropped_change_set_changes_nothing(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);
    uint64_t seq = world_seq(small->world);

    (void)small_add(changes, KIND_TENANT, small->platform, "ghost");
    change_delete(changes, small->workload);
    assert_int_equal(world_count(small->world, KIND_TENANT), 1);
    assert_non_null(world_workload(small->world, small->workload));
    assert_null(change_get(changes, small->workload));
    assert_int_equal(world_seq(small->world), seq);
}

static void
lists_keep_the_order_of_seq_when_slots_are_used_again(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);
    struct ref a = small_add(changes, KIND_USER, small->tenant, "a");
    struct ref b = small_add(changes, KIND_USER, small->tenant, "b");
    struct ref c, d, at;

    world_apply(small->world, changes);
    changes = small_begin(small);
    change_delete(changes, a);
    world_apply(small->world, changes);
    assert_null(world_user(small->world, a));
    changes = small_begin(small);
    c = small_add(changes, KIND_USER, small->tenant, "c");
    d = small_add(changes, KIND_USER, small->tenant, "d");
    world_apply(small->world, changes);
    assert_int_equal(c.index, a.index);
    at = world_first_child(small->world, KIND_USER, small->tenant);
    assert_true(ref_equal(at, b));
    at = world_next_child(small->world, at);
    assert_true(ref_equal(at, c));
    at = world_next_child(small->world, at);
    assert_true(ref_equal(at, d));
    assert_true(ref_is_none(world_next_child(small->world, at)));
    assert_int_equal(world_count(small->world, KIND_USER), 3);
}

static void
versions_and_revisions_rise_with_each_change(void **state)
{
    struct small *small = *state;
    uint64_t before = world_revision(small->world, small->tenant);
    uint64_t platform = world_revision(small->world, small->platform);
    struct changes *changes = small_begin(small);
    struct project *project = change_update(changes, small->project);

    project->class = PROJECT_RESEARCH;
    (void)small_add(changes, KIND_USER, small->tenant, "u");
    world_apply(small->world, changes);
    assert_int_equal(world_revision(small->world, small->tenant), before + 1);
    assert_int_equal(world_revision(small->world, small->platform), platform);
    assert_int_equal(world_object(small->world, small->project)->version, 2);
    assert_int_equal(project->object.version, 2);
}

static void
use_is_summed_up_the_tree_and_a_new_quota_counts_what_is_live(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);
    struct quota *quota;
    struct ref early, late, binding;

    quota = change_create(changes, KIND_QUOTA, small->tenant, "");
    quota->dimension = DIMENSION_CARDS;
    early = quota->object.self;
    world_apply(small->world, changes);
    binding = small_bind(small, 600);
    assert_int_equal(world_quota(small->world, early)->used, 600);
    assert_int_equal(world_card(small->world, small->card)->used_milli, 600);
    changes = small_begin(small);
    quota = change_create(changes, KIND_QUOTA, small->project, "");
    quota->dimension = DIMENSION_CARDS;
    quota->pool = small->pool;
    late = quota->object.self;
    world_apply(small->world, changes);
    assert_int_equal(world_quota(small->world, late)->used, 600);
    changes = small_begin(small);
    ((struct binding *)change_update(changes, binding))->to_ms = small->now_ms;
    change_evict(changes, binding);
    world_apply(small->world, changes);
    assert_int_equal(world_quota(small->world, early)->used, 0);
    assert_int_equal(world_quota(small->world, late)->used, 0);
    assert_int_equal(world_card(small->world, small->card)->used_milli, 0);
}

static void
a_clone_goes_its_own_way(void **state)
{
    struct small *small = *state;
    struct world *clone = world_clone(small->world);
    struct changes *changes = change_begin(
        small->arena, clone, (struct context){ small->now_ms, &small->ids });

    change_delete(changes, small->instance);
    world_apply(clone, changes);
    assert_null(world_instance(clone, small->instance));
    assert_non_null(world_instance(small->world, small->instance));
    world_free(clone);
}

static void
a_clone_to_plan_with_has_no_kept_answers(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);
    struct ref user = small_add(changes, KIND_USER, small->tenant, "u");
    struct ref first = { 0 };
    struct world *plan;

    for (int i = 0; i < 300; i++) {
        struct receipt *receipt =
            change_create(changes, KIND_RECEIPT, user, "");

        receipt->key[0] = (uint8_t)i;
        receipt->key[1] = (uint8_t)(i >> 8);
        if (i == 0)
            first = receipt->object.self;
    }
    world_apply(small->world, changes);
    plan = world_clone_to_plan(small->world);
    assert_non_null(world_get(small->world, first));
    assert_null(world_get(plan, first));
    world_each(plan, KIND_RECEIPT, ref)
        fail();
    assert_non_null(world_instance(plan, small->instance));
    assert_true(ref_equal(
        world_find_name(plan, KIND_USER, small->tenant, "u"), user));
    world_free(plan);
    assert_non_null(world_get(small->world, first));
}

static void
a_moved_object_changes_lists(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);
    struct volume *volume =
        change_create(changes, KIND_VOLUME, small->project, "v");
    struct ref ref = volume->object.self;

    world_apply(small->world, changes);
    assert_true(ref_is_none(
        world_first_index(small->world, KIND_VOLUME, 0, small->node)));
    changes = small_begin(small);
    ((struct volume *)change_update(changes, ref))->node = small->node;
    world_apply(small->world, changes);
    assert_true(ref_equal(
        world_first_index(small->world, KIND_VOLUME, 0, small->node), ref));
    assert_true(ref_equal(
        world_find_name(small->world, KIND_VOLUME, small->project, "v"), ref));
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, small_open, small_close)
    static const struct CMUnitTest tests[] = {
        T(objects_are_found_by_id_name_and_place),
        T(a_dropped_change_set_changes_nothing),
        T(lists_keep_the_order_of_seq_when_slots_are_used_again),
        T(versions_and_revisions_rise_with_each_change),
        T(use_is_summed_up_the_tree_and_a_new_quota_counts_what_is_live),
        T(a_clone_goes_its_own_way),
        T(a_clone_to_plan_with_has_no_kept_answers),
        T(a_moved_object_changes_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
