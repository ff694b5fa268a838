/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include "core/cut.h"

/* Hard slices in the scheduler.  Figures are those of an A100 with 40 GiB:
 * 1g.5gb is 142 milli-cards and 4864 MiB, 3g.20gb 428. */

#define A100_MIB 40960

struct stage {
    struct scene scene;
    struct ref pool, node, project, foreign, whole, one, two, three, seven;
};

static struct ref
add_node(struct stage *s, const char *name, int cards, const char *vendor,
         const char *model, int64_t memory_mib)
{
    struct ref node = scene_node(&s->scene, s->pool, name, 0, model);

    for (int i = 0; i < cards; i++) {
        struct ref ref = scene_card(&s->scene, node, i, model, memory_mib);
        scene_edit(&s->scene, changes, card, ref);

        (void)snprintf(card->vendor, sizeof(card->vendor), "%s", vendor);
        card->simulated = true;
        scene_apply(&s->scene, changes);
    }
    return node;
}

static void
stage_setup(struct stage *s, int cards)
{
    struct ref tenant, other;

    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    s->node = add_node(s, "n1", cards, "nvidia", "A100-40GB", A100_MIB);
    tenant = scene_tenant(&s->scene, "blue");
    other = scene_tenant(&s->scene, "green");
    s->project = scene_project(&s->scene, tenant, "p");
    s->foreign = scene_project(&s->scene, other, "q");
    (void)scene_quota(&s->scene, tenant, DIMENSION_CARDS, 0, CARDS(64));
    (void)scene_quota(&s->scene, other, DIMENSION_CARDS, 0, CARDS(64));
    s->whole = scene_class(&s->scene, "a100.1", "A100-40GB", 1);
    s->one = scene_slice(&s->scene, "a100.1g", "1g.5gb", 142);
    s->two = scene_slice(&s->scene, "a100.2g", "2g.10gb", 285);
    s->three = scene_slice(&s->scene, "a100.3g", "3g.20gb", 428);
    s->seven = scene_slice(&s->scene, "a100.7g", "7g.40gb", 1000);
}

static const struct card *
card_of(const struct stage *s, int n)
{
    return world_card(s->scene.world, scene_card_of(&s->scene, s->node, n));
}

static struct ref
submit(struct stage *s, struct ref project, struct ref class,
       int64_t instances)
{
    return scene_submit(&s->scene, (struct job){ .project = project,
                                                 .class = class,
                                                 .instances = instances });
}

/* Submits and runs; what has to be cut first is cut. */
static struct ref
running(struct stage *s, struct ref project, struct ref class)
{
    struct ref work = submit(s, project, class, 1);

    scene_run(&s->scene);
    if (scene_state(&s->scene, work) == WORKLOAD_QUEUED) {
        scene_scrub(&s->scene);
        scene_run(&s->scene);
    }
    assert_int_equal(scene_state(&s->scene, work), WORKLOAD_ASSIGNED);
    scene_start(&s->scene, work);
    return work;
}

static const char *
slice_of(const struct stage *s, struct ref work)
{
    struct ref instance =
        world_first_child(s->scene.world, KIND_INSTANCE, work);
    const struct binding *binding = world_binding(
        s->scene.world,
        world_first_child(s->scene.world, KIND_BINDING, instance));

    assert_non_null(binding);
    return binding->slice;
}

static void
a_whole_card_is_cut_before_its_first_slice(void **state)
{
    struct stage s;
    struct ref work;

    (void)state;
    stage_setup(&s, 1);
    work = submit(&s, s.project, s.three, 1);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    assert_non_null(strstr(scene_workload(&s.scene, work)->reason_text,
                           "being cut"));
    assert_true(card_of(&s, 0)->sliced);
    assert_int_equal(card_of(&s, 0)->handover, HANDOVER_PENDING);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    assert_string_equal(slice_of(&s, work), "3g.20gb@4");
    assert_int_equal(card_of(&s, 0)->used_milli, 428);
    assert_int_equal(card_of(&s, 0)->used_memory_mib, 19968);
    scene_teardown(&s.scene);
}

static void
two_tenants_share_a_card_in_hard_slices(void **state)
{
    struct stage s;
    struct ref first, second;

    (void)state;
    stage_setup(&s, 1);
    first = running(&s, s.project, s.three);
    second = running(&s, s.foreign, s.three);
    assert_string_equal(slice_of(&s, first), "3g.20gb@4");
    assert_string_equal(slice_of(&s, second), "3g.20gb@0");
    assert_int_equal(card_of(&s, 0)->used_milli, 856);
    scene_teardown(&s.scene);
}

/* The vendor says that such parts are for one owner. */
static void
parts_without_a_boundary_stay_with_one_tenant(void **state)
{
    struct stage s;
    struct ref cpx, second, third;

    (void)state;
    stage_setup(&s, 0);
    s.node = add_node(&s, "n2", 1, "amd", "Instinct MI300X", 196608);
    cpx = scene_slice(&s.scene, "mi300x.cpx", "cpx", 125);
    (void)running(&s, s.project, cpx);
    second = submit(&s, s.foreign, cpx, 1);
    third = submit(&s, s.project, cpx, 1);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_QUEUED);
    assert_int_equal(scene_state(&s.scene, third), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

static void
partitions_of_real_cards_of_amd_are_not_offered(void **state)
{
    struct stage s;
    struct ref cpx, work;

    (void)state;
    stage_setup(&s, 0);
    s.node = add_node(&s, "n2", 1, "amd", "Instinct MI300X", 196608);
    {
        scene_edit(&s.scene, changes, card, scene_card_of(&s.scene, s.node, 0));
        card->simulated = false;
        scene_apply(&s.scene, changes);
    }
    assert_null(cut_table(card_of(&s, 0)));
    cpx = scene_slice(&s.scene, "mi300x.cpx", "cpx", 125);
    work = submit(&s, s.project, cpx, 1);
    scene_run(&s.scene);
    assert_int_not_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    assert_false(card_of(&s, 0)->sliced);
    scene_teardown(&s.scene);
}

/* [S40] 1g at 0, 1 and 5: enough is free for 3g, but nowhere in one piece. */
static void
slices_in_the_way_are_told_as_geometry_S40(void **state)
{
    struct stage s;
    struct ref ones[7], work;

    (void)state;
    stage_setup(&s, 1);
    for (int i = 0; i < 7; i++)
        ones[i] = running(&s, s.project, s.one);
    /* They went to 6, 5, 4, 3, 2, 1, 0. */
    assert_string_equal(slice_of(&s, ones[1]), "1g.5gb@5");
    assert_string_equal(slice_of(&s, ones[6]), "1g.5gb@0");
    scene_finish(&s.scene, ones[0], 0);
    for (int i = 2; i < 5; i++)
        scene_finish(&s.scene, ones[i], 0);
    work = submit(&s, s.project, s.three, 1);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, work)->reason, REASON_GEOMETRY);
    assert_non_null(strstr(scene_workload(&s.scene, work)->reason_text,
                           "the largest that fits is 2g.10gb"));
    /* Supplying what it names lets it start. */
    scene_finish(&s.scene, ones[1], 0);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    assert_string_equal(slice_of(&s, work), "3g.20gb@4");
    scene_teardown(&s.scene);
}

static void
a_released_slice_waits_for_its_scrub_alone(void **state)
{
    struct stage s;
    struct ref first, second, work;

    (void)state;
    stage_setup(&s, 1);
    first = running(&s, s.project, s.three);
    second = running(&s, s.project, s.three);
    scene_exit(&s.scene, first, 0);
    scene_release(&s.scene, first);
    assert_string_equal(card_of(&s, 0)->dirty, "3g.20gb@4");
    assert_int_equal(card_of(&s, 0)->handover, HANDOVER_CLEAN);
    /* Not even its own tenant gets it before. */
    work = submit(&s, s.project, s.three, 1);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_RUNNING);
    scene_teardown(&s.scene);
}

static void
set_ill(struct stage *s, const char *slices)
{
    scene_edit(&s->scene, changes, card, scene_card_of(&s->scene, s->node, 0));

    (void)snprintf(card->ill, sizeof(card->ill), "%s", slices);
    scene_apply(&s->scene, changes);
}

/* [N40]: a slice that is ill is given to nobody, its neighbour goes on. */
static void
an_ill_slice_is_left_out(void **state)
{
    struct stage s;
    struct ref first, second, work;

    (void)state;
    stage_setup(&s, 1);
    first = running(&s, s.project, s.three);
    set_ill(&s, "3g.20gb@4");
    second = running(&s, s.project, s.three);
    assert_string_equal(slice_of(&s, second), "3g.20gb@0");
    scene_finish(&s.scene, first, 0);
    scene_scrub(&s.scene);
    work = submit(&s, s.project, s.three, 1);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    set_ill(&s, "");
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    assert_string_equal(slice_of(&s, work), "3g.20gb@4");
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_RUNNING);
    scene_teardown(&s.scene);
}

static void
a_card_becomes_whole_again_when_its_slices_are_gone(void **state)
{
    struct stage s;
    struct ref slice, work;

    (void)state;
    stage_setup(&s, 1);
    slice = running(&s, s.project, s.one);
    work = submit(&s, s.foreign, s.whole, 1);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    assert_true(card_of(&s, 0)->sliced);
    scene_finish(&s.scene, slice, 0);
    scene_run(&s.scene);
    assert_false(card_of(&s, 0)->sliced);
    assert_int_equal(card_of(&s, 0)->handover, HANDOVER_PENDING);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    assert_int_equal(card_of(&s, 0)->used_milli, 1000);
    scene_teardown(&s.scene);
}

/* A bound card is never cut under whoever has it. */
static void
a_card_in_use_is_not_cut(void **state)
{
    struct stage s;
    struct ref whole, share, work;

    (void)state;
    stage_setup(&s, 2);
    whole = running(&s, s.project, s.whole);
    share = running(&s, s.project, scene_share(&s.scene, "half", 500, 1000));
    work = submit(&s, s.project, s.one, 1);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    assert_false(card_of(&s, 0)->sliced || card_of(&s, 1)->sliced);
    scene_finish(&s.scene, share, 0);
    scene_run(&s.scene);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_state(&s.scene, whole), WORKLOAD_RUNNING);
    scene_teardown(&s.scene);
}

static void
cut_cards_are_filled_before_another_is_cut(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s, 2);
    for (int i = 0; i < 7; i++)
        (void)running(&s, i % 2 == 0 ? s.project : s.foreign, s.one);
    assert_true(card_of(&s, 0)->sliced);
    assert_false(card_of(&s, 1)->sliced);
    assert_int_equal(card_of(&s, 0)->used_milli, 7 * 142);
    /* The eighth goes to the other card, which is cut for it. */
    (void)running(&s, s.project, s.one);
    assert_true(card_of(&s, 1)->sliced);
    scene_teardown(&s.scene);
}

static void
of_two_cut_cards_the_fuller_one_is_filled(void **state)
{
    struct stage s;
    struct ref seven;

    (void)state;
    stage_setup(&s, 2);
    seven = running(&s, s.project, s.seven);
    (void)running(&s, s.project, s.one);
    scene_finish(&s.scene, seven, 0);
    (void)running(&s, s.project, s.one);
    assert_int_equal(card_of(&s, 0)->used_milli, 0);
    assert_int_equal(card_of(&s, 1)->used_milli, 2 * 142);
    scene_teardown(&s.scene);
}

static void
a_gang_of_slices_spreads_over_cards_all_or_nothing(void **state)
{
    struct stage s;
    struct ref work, more;

    (void)state;
    stage_setup(&s, 2);
    work = submit(&s, s.project, s.two, 6);
    scene_run(&s.scene);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    assert_int_equal(card_of(&s, 0)->used_milli, 3 * 285);
    assert_int_equal(card_of(&s, 1)->used_milli, 3 * 285);
    /* One 1g fits on each card still, not two. */
    more = submit(&s, s.project, s.one, 3);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, more), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, more)->have, 2);
    scene_teardown(&s.scene);
}

static void
what_no_card_could_hold_is_refused_with_the_bound(void **state)
{
    struct stage s;
    struct verdict verdict;

    (void)state;
    stage_setup(&s, 1);
    verdict = scene_try(&s.scene, (struct job){ .project = s.project,
                                                .class = s.three,
                                                .instances = 3 });
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_int_equal(verdict.reason, REASON_SHAPE);
    assert_int_equal(verdict.have, 2);
    verdict = scene_try(&s.scene,
                        (struct job){ .project = s.project,
                                      .class = scene_slice(&s.scene, "x",
                                                           "3g.40gb", 428) });
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    scene_teardown(&s.scene);
}

/* A guarantee takes back the slice in the way, and no other. */
static void
a_guarantee_reclaims_the_slices_that_make_a_start(void **state)
{
    struct stage s;
    struct ref ones[7], work;
    int stopped = 0;

    (void)state;
    stage_setup(&s, 1);
    for (int i = 0; i < 7; i++)
        ones[i] = running(&s, s.foreign, s.one);
    world_each(s.scene.world, KIND_QUOTA, ref)
        if (ref_equal(world_parent(s.scene.world, ref),
                      world_parent(s.scene.world, s.project)))
            scene_change_quota(&s.scene, ref, 500, CARDS(64));
    work = submit(&s, s.project, s.two, 1);
    scene_run(&s.scene);
    for (int i = 0; i < 7; i++)
        stopped += scene_state(&s.scene, ones[i]) == WORKLOAD_PREEMPTING;
    assert_int_equal(stopped, 2);
    for (int i = 0; i < 7; i++)
        if (scene_state(&s.scene, ones[i]) == WORKLOAD_PREEMPTING) {
            scene_exit(&s.scene, ones[i], 0);
            scene_release(&s.scene, ones[i]);
        }
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

static void
a_reclaimed_card_is_cut_after_its_release(void **state)
{
    struct stage s;
    struct ref whole, work;

    (void)state;
    stage_setup(&s, 1);
    whole = running(&s, s.foreign, s.whole);
    world_each(s.scene.world, KIND_QUOTA, ref)
        if (ref_equal(world_parent(s.scene.world, ref),
                      world_parent(s.scene.world, s.project)))
            scene_change_quota(&s.scene, ref, 500, CARDS(64));
    work = submit(&s, s.project, s.three, 1);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, whole), WORKLOAD_PREEMPTING);
    assert_false(card_of(&s, 0)->sliced);
    scene_exit(&s.scene, whole, 0);
    scene_release(&s.scene, whole);
    scene_run(&s.scene);
    assert_true(card_of(&s, 0)->sliced);
    assert_int_equal(card_of(&s, 0)->handover, HANDOVER_PENDING);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

static void
what_is_kept_for_one_is_in_the_way_of_others(void **state)
{
    struct stage s;
    struct ref first, second;

    (void)state;
    stage_setup(&s, 1);
    first = submit(&s, s.project, s.seven, 1);
    scene_run(&s.scene);
    /* Another tenant's, and first in the queue. */
    second = scene_submit(
        &s.scene,
        (struct job){ .project = s.foreign,
                      .class = s.one,
                      .priority = scene_priority(&s.scene, "high", 100) });
    scene_run(&s.scene);
    assert_int_equal(world_count(s.scene.world, KIND_HOLD), 1);
    assert_int_equal(card_of(&s, 0)->held_milli, 1000);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, first), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* 3g.40gb is 60 of the 132 multiprocessors of an H100: 454 milli-cards, and 42
 * of the 98 of an A100 with 80 GiB: 428.  Quotas are asked for what the class
 * says. */
static void
a_card_that_charges_more_than_the_class_asks_is_none_for_it(void **state)
{
    struct stage s;
    struct job work = { 0 };
    struct ref ref;

    (void)state;
    stage_setup(&s, 1);
    (void)add_node(&s, "n2", 1, "nvidia", "H100", 81920);
    work.project = s.project;
    work.class = scene_slice(&s.scene, "small", "3g.40gb", 428);
    assert_int_equal(scene_try(&s.scene, work).state, WORKLOAD_REJECTED);
    (void)add_node(&s, "n3", 1, "nvidia", "A100", 81920);
    assert_int_equal(scene_try(&s.scene, work).state, WORKLOAD_QUEUED);
    world_each(s.scene.world, KIND_QUOTA, quota)
        scene_change_quota(&s.scene, quota, 0, 428);
    ref = running(&s, s.project, work.class);
    assert_string_equal(slice_of(&s, ref), "3g.40gb@4");
    world_each(s.scene.world, KIND_QUOTA, quota)
        scene_change_quota(&s.scene, quota, 0, 882);
    ref = submit(&s, s.project,
                 scene_slice(&s.scene, "any", "3g.40gb", 454), 1);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, ref), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* A tenant without a quota of cards may use one.  The slice is not bound yet
 * while its card is being cut. */
static void
what_waits_for_its_cut_counts_in_the_free_limit(void **state)
{
    struct stage s;
    struct ref project, slice, whole;

    (void)state;
    stage_setup(&s, 2);
    project = scene_project(&s.scene, scene_tenant(&s.scene, "red"), "r");
    slice = submit(&s, project, s.three, 1);
    scene_run(&s.scene);
    assert_int_equal(world_count(s.scene.world, KIND_HOLD), 1);
    whole = submit(&s, project, s.whole, 1);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, whole), WORKLOAD_GATED);
    assert_int_equal(scene_workload(&s.scene, whole)->have, 428);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, slice), WORKLOAD_ASSIGNED);
    scene_finish(&s.scene, slice, 0);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, whole), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* Beside the slices that push a share off its card there is room for one more:
 * less than there was beside the share, but room for slices. */
static void
slices_wake_when_the_share_in_their_way_goes_for_others(void **state)
{
    struct stage s;
    struct ref share, waiting;

    (void)state;
    stage_setup(&s, 1);
    world_each(s.scene.world, KIND_QUOTA, ref) /* nobody is over it */
        scene_change_quota(&s.scene, ref, 300, CARDS(64));
    share = running(&s, s.project, scene_share(&s.scene, "share", 300, 9000));
    waiting = submit(&s, s.foreign, s.one, 1);
    scene_run(&s.scene);
    assert_int_equal(world_count(s.scene.world, KIND_HOLD), 0);
    (void)scene_submit(
        &s.scene,
        (struct job){ .project = s.project,
                      .class = s.two,
                      .instances = 2,
                      .priority = scene_priority(&s.scene, "high", 100) });
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, share), WORKLOAD_PREEMPTING);
    assert_int_equal(world_count(s.scene.world, KIND_HOLD), 3);
    assert_false(ref_is_none(
        world_first_child(s.scene.world, KIND_HOLD, waiting)));
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_card_is_cut_before_its_first_slice),
        cmocka_unit_test(two_tenants_share_a_card_in_hard_slices),
        cmocka_unit_test(parts_without_a_boundary_stay_with_one_tenant),
        cmocka_unit_test(partitions_of_real_cards_of_amd_are_not_offered),
        cmocka_unit_test(slices_in_the_way_are_told_as_geometry_S40),
        cmocka_unit_test(a_released_slice_waits_for_its_scrub_alone),
        cmocka_unit_test(an_ill_slice_is_left_out),
        cmocka_unit_test(a_card_becomes_whole_again_when_its_slices_are_gone),
        cmocka_unit_test(a_card_in_use_is_not_cut),
        cmocka_unit_test(cut_cards_are_filled_before_another_is_cut),
        cmocka_unit_test(of_two_cut_cards_the_fuller_one_is_filled),
        cmocka_unit_test(a_gang_of_slices_spreads_over_cards_all_or_nothing),
        cmocka_unit_test(what_no_card_could_hold_is_refused_with_the_bound),
        cmocka_unit_test(a_guarantee_reclaims_the_slices_that_make_a_start),
        cmocka_unit_test(a_reclaimed_card_is_cut_after_its_release),
        cmocka_unit_test(what_is_kept_for_one_is_in_the_way_of_others),
        cmocka_unit_test(
            a_card_that_charges_more_than_the_class_asks_is_none_for_it),
        cmocka_unit_test(what_waits_for_its_cut_counts_in_the_free_limit),
        cmocka_unit_test(
            slices_wake_when_the_share_in_their_way_goes_for_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
