/* SPDX-License-Identifier: Apache-2.0 */
#include "core/trail.h"

#include "tests/unit/core/small.h"

/* What a cache learns of the world's changes. */

static void
each_change_leaves_one_step_with_what_it_was(void **state)
{
    struct small *small = *state;
    uint64_t at = trail_end(small->world);
    struct ref binding = small_bind(small, 500);
    struct changes *changes = small_begin(small);
    const struct trail_step *step;

    while (!ref_equal(trail_at(small->world, at)->ref, binding))
        at++;
    step = trail_at(small->world, at);
    assert_int_equal(step->op, TRAIL_CREATED);
    assert_true(ref_equal(step->parent, small->instance));
    assert_true(ref_equal(step->target, small->card));
    assert_true(ref_equal(step->scope, small->tenant));
    at = trail_end(small->world);
    ((struct binding *)change_update(changes, binding))->to_ms = 1;
    change_evict(changes, binding);
    world_apply(small->world, changes);
    assert_int_equal(trail_end(small->world), at + 2);
    assert_int_equal(trail_at(small->world, at)->op, TRAIL_CHANGED);
    step = trail_at(small->world, at + 1);
    assert_int_equal(step->op, TRAIL_GONE);
    assert_true(ref_equal(step->target, small->card));
}

static void
a_trail_forgets_its_oldest_steps(void **state)
{
    struct small *small = *state;
    uint64_t begin = trail_begin(small->world);

    assert_int_equal(begin, 0);
    while (trail_end(small->world) < TRAIL_ROOM + 10) {
        struct changes *changes = small_begin(small);

        for (int i = 0; i < 1000; i++)
            (void)small_add(changes, KIND_ALARM, small->node, "");
        world_apply(small->world, changes);
    }
    assert_int_equal(trail_begin(small->world),
                     trail_end(small->world) - TRAIL_ROOM);
    assert_int_equal(
        trail_at(small->world, trail_end(small->world) - 1)->ref.kind,
        KIND_ALARM);
}

static void
the_trail_of_a_clone_begins_with_it(void **state)
{
    struct small *small = *state;
    struct world *clone = world_clone(small->world);

    assert_true(trail_end(small->world) > trail_begin(small->world));
    assert_int_equal(trail_begin(clone), trail_end(clone));
    world_free(clone);
    assert_int_equal(trail_at(small->world, 0)->ref.kind, KIND_PLATFORM);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            each_change_leaves_one_step_with_what_it_was, small_open,
            small_close),
        cmocka_unit_test_setup_teardown(a_trail_forgets_its_oldest_steps,
                                        small_open, small_close),
        cmocka_unit_test_setup_teardown(the_trail_of_a_clone_begins_with_it,
                                        small_open, small_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
