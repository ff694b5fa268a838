/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "core/quota.h"

/*
 * Kin of the faults that users of other schedulers met: the same kind of
 * fault by another way, in another dimension, with a restart in the middle.
 */

struct stage {
    struct scene scene;
    struct ref pool, node, one, two, four, low, high;
    struct ref a, b, c, pa, pb, pc;
};

static void
stage_setup(struct stage *s, int cards)
{
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    s->node = scene_node(&s->scene, s->pool, "n1", cards, "h100");
    s->one = scene_class(&s->scene, "h100.1", "h100", 1);
    s->two = scene_class(&s->scene, "h100.2", "h100", 2);
    s->four = scene_class(&s->scene, "h100.4", "h100", 4);
    s->low = scene_priority(&s->scene, "low", 10);
    s->high = scene_priority(&s->scene, "high", 20);
    s->a = scene_tenant(&s->scene, "a");
    s->b = scene_tenant(&s->scene, "b");
    s->c = scene_tenant(&s->scene, "c");
    s->pa = scene_project(&s->scene, s->a, "pa");
    s->pb = scene_project(&s->scene, s->b, "pb");
    s->pc = scene_project(&s->scene, s->c, "pc");
}

static struct ref
cards_of(struct stage *s, struct ref node, int64_t guaranteed, int64_t limit)
{
    return scene_quota(&s->scene, node, DIMENSION_CARDS, guaranteed, limit);
}

static struct job
job_in(const struct stage *s, struct ref project, int64_t instances)
{
    return (struct job){ .project = project,
                         .class = s->one,
                         .priority = s->low,
                         .instances = instances };
}

static int
state_of(const struct stage *s, struct ref ref)
{
    return scene_state(&s->scene, ref);
}

static int
reason_of(const struct stage *s, struct ref ref)
{
    return scene_workload(&s->scene, ref)->reason;
}

/* The scheduler forgets all that it does not find in the world. */
static void
restart(struct stage *s)
{
    scheduler_free(s->scene.scheduler);
    s->scene.scheduler = scheduler_new();
    scene_run(&s->scene);
}

static int
count_in(const struct stage *s, int state)
{
    int count = 0;

    world_each(s->scene.world, KIND_WORKLOAD, ref)
        count += state_of(s, ref) == state;
    return count;
}

static void
give_way(struct stage *s, struct ref victim)
{
    assert_int_equal(state_of(s, victim), WORKLOAD_PREEMPTING);
    scene_exit(&s->scene, victim, EXIT_CHECKPOINTED);
    scene_release(&s->scene, victim);
    scene_scrub(&s->scene);
}

/* --- over-admission --- */

/* [S1] One large victim frees enough for two; a restart in between does not
 * spend it again, and the third ask gets nothing of it. */
static void
what_one_victim_frees_is_spent_once_S1(void **state)
{
    struct stage s;
    struct ref big, first, second, third;

    (void)state;
    stage_setup(&s, 4);
    cards_of(&s, s.a, 0, CARDS(4));
    cards_of(&s, s.b, CARDS(2), CARDS(4));
    cards_of(&s, s.c, CARDS(2), CARDS(4));
    big = scene_running(&s.scene, (struct job){ .project = s.pa,
                                                .class = s.four,
                                                .priority = s.low });
    first = scene_submit(&s.scene, job_in(&s, s.pb, 2));
    scene_run(&s.scene);
    restart(&s);
    second = scene_submit(&s.scene, job_in(&s, s.pc, 2));
    third = scene_submit(&s.scene, job_in(&s, s.pc, 1));
    restart(&s);
    assert_int_equal(state_of(&s, big), WORKLOAD_PREEMPTING);
    give_way(&s, big);
    restart(&s);
    assert_int_equal(state_of(&s, first), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, second), WORKLOAD_ASSIGNED);
    assert_true(lifecycle_is_waiting(state_of(&s, third)));
    scene_teardown(&s.scene);
}

/* [S1] Two tenants want a half each of the one card that is taken back: the
 * card is never shared by them. */
static void
a_freed_card_is_not_split_between_two_tenants_S1(void **state)
{
    struct stage s;
    struct ref half, full, first, second;

    (void)state;
    stage_setup(&s, 1);
    half = scene_share(&s.scene, "half", 500, 1000);
    cards_of(&s, s.a, 0, CARDS(1));
    cards_of(&s, s.b, 500, CARDS(1));
    cards_of(&s, s.c, 500, CARDS(1));
    full = scene_running(&s.scene, job_in(&s, s.pa, 1));
    first = scene_submit(&s.scene,
                         (struct job){ .project = s.pb, .class = half });
    second = scene_submit(&s.scene,
                          (struct job){ .project = s.pc, .class = half });
    scene_run(&s.scene);
    give_way(&s, full);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, first), WORKLOAD_ASSIGNED);
    assert_true(lifecycle_is_waiting(state_of(&s, second)));
    scene_teardown(&s.scene);
}

/* [S2] The default limit, a burst by shares, and a limit that was cut below
 * use are caps as well. */
static void
every_limit_counts_the_whole_request_S2(void **state)
{
    struct stage s;
    struct ref share, quota, work, more;

    (void)state;
    stage_setup(&s, 20);
    share = scene_share(&s.scene, "share", 700, 1000);
    quota = cards_of(&s, s.a, CARDS(5), AMOUNT_NONE); /* so 10 */
    work = scene_running(&s.scene, job_in(&s, s.pa, 9));
    more = scene_submit(&s.scene, (struct job){ .project = s.pa,
                                                .class = share,
                                                .instances = 2 });
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, more), WORKLOAD_GATED);
    assert_int_equal(scene_try(&s.scene, job_in(&s, s.pa, 11)).reason,
                     REASON_LIMIT_NEVER);
    scene_change_quota(&s.scene, quota, 0, CARDS(8));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_RUNNING);
    assert_int_equal(state_of(&s, more), WORKLOAD_GATED);
    scene_finish(&s.scene, work, 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, more), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S2] Work that was stopped passes the gate again before it comes back. */
static void
what_comes_back_passes_the_gate_again_S2(void **state)
{
    struct stage s;
    struct ref work, quota;
    struct job job;

    (void)state;
    stage_setup(&s, 4);
    quota = cards_of(&s, s.a, 0, CARDS(4));
    job = job_in(&s, s.pa, 3);
    job.restarts = 3;
    work = scene_running(&s.scene, job);
    scene_change_quota(&s.scene, quota, 0, CARDS(2));
    scene_exit(&s.scene, work, 1);
    scene_release(&s.scene, work);
    scene_wait(&s.scene, 60000);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_GATED);
    assert_int_equal(reason_of(&s, work), REASON_LIMIT_NEVER);
    scene_teardown(&s.scene);
}

/* [S3] Three units deep, in another dimension, and at the platform. */
static void
each_of_many_ancestors_is_tested_S3(void **state)
{
    static const enum dimension dimensions[] = {
        DIMENSION_CARDS, DIMENSION_ACCEL_MEMORY, DIMENSION_CPU,
        DIMENSION_MEMORY, DIMENSION_INSTANCES, DIMENSION_WORKLOADS,
    };
    static const int64_t limits[] = { CARDS(1), SCENE_CARD_MIB, 1000,
                                      1024, 1, 1 };

    (void)state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        for (int level = 0; level < 5; level++) {
            struct stage s;
            struct ref at[6], first, second, left, right;

            stage_setup(&s, 4);
            cards_of(&s, s.a, 0, CARDS(4));
            at[0] = s.scene.platform;
            at[1] = s.a;
            at[2] = scene_put(&s.scene, KIND_UNIT, s.a, "u1");
            at[3] = scene_put(&s.scene, KIND_UNIT, at[2], "u2");
            at[4] = scene_put(&s.scene, KIND_UNIT, at[3], "u3");
            left = scene_project(&s.scene, at[4], "left");
            right = scene_project(&s.scene, at[4], "right");
            if (level == 1 && dimensions[i] == DIMENSION_CARDS)
                scene_change_quota(&s.scene,
                                   world_first_child(s.scene.world,
                                                     KIND_QUOTA, s.a),
                                   0, limits[i]);
            else
                scene_quota(&s.scene, at[level], dimensions[i], 0, limits[i]);
            first = scene_submit(&s.scene, job_in(&s, left, 1));
            second = scene_submit(&s.scene, job_in(&s, right, 1));
            scene_run(&s.scene);
            assert_int_equal(state_of(&s, first), WORKLOAD_ASSIGNED);
            assert_int_equal(state_of(&s, second), WORKLOAD_GATED);
            scene_finish(&s.scene, first, 0);
            scene_run(&s.scene);
            assert_int_equal(state_of(&s, second), WORKLOAD_ASSIGNED);
            scene_teardown(&s.scene);
        }
}

/* [S4] In every dimension, card time of the month too, a quota that is made
 * anew knows what is and was used; one with another scope as well. */
static void
a_quota_made_anew_counts_in_every_dimension_S4(void **state)
{
    struct stage s;
    struct ref quota[DIMENSION_COUNT], work;
    int64_t used[DIMENSION_COUNT];
    struct changes *changes;

    (void)state;
    stage_setup(&s, 4);
    cards_of(&s, s.a, 0, CARDS(4));
    for (int d = 0; d < DIMENSION_COUNT; d++)
        quota[d] = scene_quota(&s.scene, s.pa, (enum dimension)d, 0,
                               AMOUNT_MAX / 2);
    work = scene_running(&s.scene, job_in(&s, s.pa, 1));
    scene_wait(&s.scene, 60000);
    scene_finish(&s.scene, work, 0);
    (void)scene_running(&s.scene, job_in(&s, s.pa, 2));
    assert_int_equal(
        world_quota(s.scene.world, quota[DIMENSION_CARD_TIME])->used,
        CARDS(1) * 60000);
    changes = scene_begin(&s.scene);
    for (int d = 0; d < DIMENSION_COUNT; d++) {
        used[d] = world_quota(s.scene.world, quota[d])->used;
        change_delete(changes, quota[d]);
    }
    scene_apply(&s.scene, changes);
    for (int d = 0; d < DIMENSION_COUNT; d++) {
        quota[d] = scene_quota(&s.scene, s.pa, (enum dimension)d, 0, 1);
        assert_int_equal(world_quota(s.scene.world, quota[d])->used, used[d]);
    }
    assert_int_equal(used[DIMENSION_INSTANCES], 2);
    changes = scene_begin(&s.scene);
    {
        struct quota *other =
            change_create(changes, KIND_QUOTA, s.a, "");
        struct ref ref = other->object.self;

        other->dimension = DIMENSION_CARDS;
        other->pool = s.pool;
        other->class = s.one;
        other->limit = CARDS(2);
        scene_apply(&s.scene, changes);
        assert_int_equal(world_quota(s.scene.world, ref)->used, CARDS(2));
    }
    scene_teardown(&s.scene);
}

/* [S7] Cards times run time would wrap into next to nothing, or below zero;
 * the largest limit there is does not let it pass either. */
static void
card_time_that_would_wrap_is_refused_S7(void **state)
{
    static const int64_t runs[] = { INT64_C(922337203685478),
                                    INT64_C(500000000000000), AMOUNT_MAX };
    static const int64_t limits[] = { AMOUNT_MAX / 10, AMOUNT_MAX };

    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 2; k++) {
            struct stage s;
            struct job job;

            stage_setup(&s, 20);
            cards_of(&s, s.a, 0, CARDS(20));
            scene_quota(&s.scene, s.a, DIMENSION_CARD_TIME, 0, limits[k]);
            job = job_in(&s, s.pa, 20);
            job.max_run_ms = runs[i];
            assert_int_equal(scene_try(&s.scene, job).state,
                             WORKLOAD_REJECTED);
            assert_int_equal(scene_try(&s.scene, job).reason,
                             REASON_LIMIT_NEVER);
            job.max_run_ms = 1000;
            assert_int_equal(scene_try(&s.scene, job).state, WORKLOAD_QUEUED);
            scene_teardown(&s.scene);
        }
}

/* --- guarantees --- */

/* [S15] Work that cannot be stopped leaves a sibling's guarantee alone. */
static void
fixed_work_spares_what_is_guaranteed_to_siblings_S15(void **state)
{
    struct stage s;
    struct ref other, first, second, sibling;
    struct job job;

    (void)state;
    stage_setup(&s, 8);
    other = scene_project(&s.scene, s.a, "pa2");
    cards_of(&s, s.a, CARDS(4), CARDS(8));
    cards_of(&s, other, CARDS(3), CARDS(8));
    job = job_in(&s, s.pa, 1);
    job.fixed = true;
    first = scene_submit(&s.scene, job);
    second = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, first), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, second), WORKLOAD_GATED);
    job = job_in(&s, other, 3);
    job.fixed = true;
    sibling = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, sibling), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, second), WORKLOAD_GATED);
    scene_teardown(&s.scene);
}

/* [S15] Thirds, thousandths, memory, and a guarantee two levels up. */
static void
fixed_work_is_counted_to_the_last_unit_S15(void **state)
{
    static const struct {
        int64_t milli, guaranteed;
        int fit;
    } cases[] = { { 333, 1000, 3 }, { 334, 1000, 2 }, { 501, 1001, 1 },
                  { 999, 1997, 1 }, { 999, 1998, 2 } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct stage s;
        struct ref share, unit, project;

        stage_setup(&s, 4);
        share = scene_share(&s.scene, "share", cases[i].milli, 1000);
        unit = scene_put(&s.scene, KIND_UNIT, s.a, "u");
        project = scene_project(&s.scene, unit, "p");
        cards_of(&s, s.a, cases[i].guaranteed, CARDS(4));
        cards_of(&s, unit, cases[i].guaranteed, CARDS(4));
        for (int k = 0; k < 4; k++)
            (void)scene_submit(&s.scene, (struct job){ .project = project,
                                                       .class = share,
                                                       .fixed = true });
        scene_run(&s.scene);
        assert_int_equal(count_in(&s, WORKLOAD_ASSIGNED), cases[i].fit);
        assert_int_equal(count_in(&s, WORKLOAD_GATED), 4 - cases[i].fit);
        scene_teardown(&s.scene);
    }
}

/* [S17] A guarantee that is taken away altogether, of a unit, in one pool. */
static void
a_guarantee_that_goes_leaves_burst_behind_S17(void **state)
{
    struct stage s;
    struct ref unit, project, own, work[4], peer;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 4);
    unit = scene_put(&s.scene, KIND_UNIT, s.a, "u");
    project = scene_project(&s.scene, unit, "p");
    cards_of(&s, s.a, CARDS(4), CARDS(4));
    own = cards_of(&s, unit, CARDS(4), CARDS(4));
    for (int i = 0; i < 4; i++)
        work[i] = scene_running(&s.scene, job_in(&s, project, 1));
    changes = scene_begin(&s.scene);
    change_delete(changes, own);
    scene_apply(&s.scene, changes);
    cards_of(&s, s.pa, CARDS(2), CARDS(4));
    peer = scene_submit(&s.scene, job_in(&s, s.pa, 2));
    scene_run(&s.scene);
    assert_int_equal(count_in(&s, WORKLOAD_PREEMPTING), 2);
    give_way(&s, work[3]);
    give_way(&s, work[2]);
    restart(&s);
    assert_int_equal(state_of(&s, peer), WORKLOAD_ASSIGNED);
    assert_int_equal(count_in(&s, WORKLOAD_RUNNING), 2);
    scene_teardown(&s.scene);
}

/* [S17] What cannot be stopped runs on after the cut. */
static void
fixed_work_runs_on_after_the_cut_S17(void **state)
{
    struct stage s;
    struct ref quota, fixed, burst, peer;
    struct job job;

    (void)state;
    stage_setup(&s, 4);
    quota = cards_of(&s, s.a, CARDS(4), CARDS(4));
    cards_of(&s, s.b, CARDS(2), CARDS(4));
    job = job_in(&s, s.pa, 2);
    job.fixed = true;
    fixed = scene_running(&s.scene, job);
    burst = scene_running(&s.scene, job_in(&s, s.pa, 2));
    scene_change_quota(&s.scene, quota, CARDS(1), CARDS(4));
    peer = scene_submit(&s.scene, job_in(&s, s.pb, 2));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, fixed), WORKLOAD_RUNNING);
    give_way(&s, burst);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, peer), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* --- cards --- */

/* [S34] A gang of shares fills cards exactly; another tenant's wait, and
 * whole cards find none. */
static void
a_gang_of_shares_fills_cards_and_no_more_S34(void **state)
{
    struct stage s;
    struct ref half, gang, other, whole;

    (void)state;
    stage_setup(&s, 8);
    half = scene_share(&s.scene, "half", 500, 40960);
    cards_of(&s, s.a, 0, CARDS(64));
    cards_of(&s, s.b, 0, CARDS(64));
    gang = scene_submit(&s.scene, (struct job){ .project = s.pa,
                                                .class = half,
                                                .instances = 15 });
    other = scene_submit(&s.scene,
                         (struct job){ .project = s.pb, .class = half });
    whole = scene_submit(&s.scene,
                         (struct job){ .project = s.pa, .class = s.one });
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, gang), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, other), WORKLOAD_QUEUED);
    assert_int_equal(state_of(&s, whole), WORKLOAD_QUEUED);
    other = scene_submit(&s.scene,
                         (struct job){ .project = s.pa, .class = half });
    restart(&s);
    assert_int_equal(state_of(&s, other), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S35] Shares of two sizes, and a quota of accelerator memory, in MiB. */
static void
memory_of_cards_is_floored_never_rounded_S35(void **state)
{
    struct stage s;
    struct ref node, small, large;

    (void)state;
    stage_setup(&s, 0);
    node = scene_node(&s.scene, s.pool, "l40", 0, "l40");
    (void)scene_card(&s.scene, node, 0, "l40", 46068);
    (void)scene_card(&s.scene, node, 1, "l40", 46068);
    small = scene_share(&s.scene, "small", 1, 2000);
    large = scene_share(&s.scene, "large", 1, 23035);
    cards_of(&s, s.a, 0, CARDS(2));
    (void)scene_running(&s.scene,
                        (struct job){ .project = s.pa, .class = large });
    for (int i = 0; i < 40; i++)
        (void)scene_submit(&s.scene,
                           (struct job){ .project = s.pa, .class = small });
    scene_run(&s.scene);
    assert_int_equal(count_in(&s, WORKLOAD_ASSIGNED), 11 + 23);
    scene_teardown(&s.scene);
    stage_setup(&s, 2);
    small = scene_share(&s.scene, "small", 1, 2000);
    cards_of(&s, s.a, 0, CARDS(2));
    scene_quota(&s.scene, s.a, DIMENSION_ACCEL_MEMORY, 0, 46068);
    for (int i = 0; i < 40; i++)
        (void)scene_submit(&s.scene,
                           (struct job){ .project = s.pa, .class = small });
    scene_run(&s.scene);
    assert_int_equal(count_in(&s, WORKLOAD_ASSIGNED), 23);
    scene_teardown(&s.scene);
}

/* [S45] A gang gives back as a whole before it is done, each part once; what
 * was stopped before it began is still there until that is confirmed. */
static void
parts_of_a_gang_come_back_one_by_one_S45(void **state)
{
    struct stage s;
    struct ref quota, gang, unborn, next, first;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 3);
    quota = cards_of(&s, s.a, 0, CARDS(3));
    gang = scene_running(&s.scene, job_in(&s, s.pa, 2));
    unborn = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    scene_run(&s.scene);
    next = scene_submit(&s.scene, job_in(&s, s.pa, 2));
    changes = scene_begin(&s.scene);
    lifecycle_stop(changes, gang, WORKLOAD_CANCELLING, "cancelled", NULL);
    lifecycle_stop(changes, unborn, WORKLOAD_CANCELLING, "cancelled", NULL);
    scene_apply(&s.scene, changes);
    scene_run(&s.scene);
    assert_int_equal(world_quota(s.scene.world, quota)->used, CARDS(3));
    scene_exit(&s.scene, gang, 143);
    first = world_first_child(s.scene.world, KIND_INSTANCE, gang);
    for (int i = 0; i < 2; i++) { /* told twice */
        changes = scene_begin(&s.scene);
        lifecycle_released(changes, first);
        scene_apply(&s.scene, changes);
    }
    restart(&s);
    assert_int_equal(world_quota(s.scene.world, quota)->used, CARDS(2));
    assert_int_equal(state_of(&s, gang), WORKLOAD_CANCELLING);
    assert_true(lifecycle_is_waiting(state_of(&s, next)));
    scene_release(&s.scene, gang);
    assert_int_equal(state_of(&s, gang), WORKLOAD_CANCELLED);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, next), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, unborn), WORKLOAD_CANCELLING);
    assert_int_equal(world_quota(s.scene.world, quota)->used, CARDS(3));
    scene_teardown(&s.scene);
}

/* [S41] A card that breaks under its holder is neither free nor anybody
 * else's when the holder ends; the healthy ones beside it are. */
static void
health_is_of_each_card_S41(void **state)
{
    struct stage s;
    struct ref work[4], next, all, bad;

    (void)state;
    stage_setup(&s, 4);
    cards_of(&s, s.a, 0, CARDS(8));
    for (int i = 0; i < 4; i++)
        work[i] = scene_running(&s.scene, job_in(&s, s.pa, 1));
    bad = world_binding(s.scene.world,
                        world_first_child(s.scene.world, KIND_BINDING,
                                          scene_instance(&s.scene, work[1])))
              ->card;
    {
        scene_edit(&s.scene, changes, card, bad);
        card->health = HEALTH_FAILED;
        scene_apply(&s.scene, changes);
    }
    all = scene_submit(&s.scene, job_in(&s, s.pa, 4));
    next = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, next), WORKLOAD_QUEUED);
    scene_finish(&s.scene, work[1], 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, next), WORKLOAD_QUEUED);
    scene_finish(&s.scene, work[0], 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, next), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, all), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* [S48] A gang of which one member cannot start gives all back and does not
 * go to that node first again. */
static void
a_gang_that_cannot_start_goes_elsewhere_S48(void **state)
{
    struct stage s;
    struct ref work, bad;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 2);
    (void)scene_node(&s.scene, s.pool, "n2", 2, "h100");
    cards_of(&s, s.a, 0, CARDS(4));
    work = scene_submit(&s.scene, job_in(&s, s.pa, 2));
    scene_run(&s.scene);
    bad = world_instance(s.scene.world, scene_instance(&s.scene, work))->node;
    changes = scene_begin(&s.scene);
    lifecycle_start_failed(changes, scene_instance(&s.scene, work), "full");
    scene_apply(&s.scene, changes);
    scene_release(&s.scene, work);
    scene_scrub(&s.scene);
    assert_int_equal(reason_of(&s, work), REASON_BACKOFF);
    assert_int_equal(world_count(s.scene.world, KIND_INSTANCE), 2);
    scene_wait(&s.scene, 4000);
    restart(&s);
    assert_int_equal(state_of(&s, work), WORKLOAD_QUEUED);
    scene_wait(&s.scene, 2000);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_ASSIGNED);
    assert_false(ref_equal(
        world_instance(s.scene.world, scene_instance(&s.scene, work))->node,
        bad));
    scene_teardown(&s.scene);
}

/* --- states --- */

/* [S10] A service, a restart, a cancelled and a failed workload: no event of
 * an earlier attempt brings them back or charges them. */
static void
no_late_event_brings_work_back_S10(void **state)
{
    static const int ends[] = { WORKLOAD_CANCELLED, WORKLOAD_FAILED,
                                WORKLOAD_SUCCEEDED };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct stage s;
        struct ref work, quota, instance;
        struct changes *changes;
        struct job job;

        stage_setup(&s, 2);
        quota = cards_of(&s, s.a, 0, CARDS(2));
        job = job_in(&s, s.pa, 2);
        job.kind = i == 0 ? WORKLOAD_SERVICE : WORKLOAD_INTERACTIVE;
        work = scene_running(&s.scene, job);
        instance = scene_instance(&s.scene, work);
        changes = scene_begin(&s.scene);
        if (ends[i] == WORKLOAD_CANCELLED)
            lifecycle_stop(changes, work, WORKLOAD_CANCELLING, "cancelled",
                           NULL);
        scene_apply(&s.scene, changes);
        scene_exit(&s.scene, work, ends[i] == WORKLOAD_SUCCEEDED ? 0 : 1);
        scene_release(&s.scene, work);
        assert_int_equal(state_of(&s, work), ends[i]);
        for (int round = 0; round < 3; round++) {
            changes = scene_begin(&s.scene);
            lifecycle_back(changes, instance);
            lifecycle_starting(changes, instance);
            lifecycle_started(changes, instance);
            lifecycle_start_failed(changes, instance, "late");
            lifecycle_exited(changes, instance, round, round == 1);
            lifecycle_lost(changes, s.node);
            lifecycle_released(changes, instance);
            lifecycle_stop(changes, work, WORKLOAD_CANCELLING, "x", NULL);
            scene_apply(&s.scene, changes);
            scene_wait(&s.scene, 3600000);
            restart(&s);
        }
        assert_int_equal(state_of(&s, work), ends[i]);
        assert_int_equal(world_quota(s.scene.world, quota)->used, 0);
        scene_teardown(&s.scene);
    }
}

/* [S12b] Work that is preempted, then cancelled, then told gone twice. */
static void
a_second_wish_to_stop_releases_nothing_twice_S12b(void **state)
{
    struct stage s;
    struct ref work, other, quota, running;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 2);
    quota = cards_of(&s, s.a, 0, CARDS(2));
    running = scene_quota(&s.scene, s.a, DIMENSION_WORKLOADS, 0, 2);
    work = scene_running(&s.scene, job_in(&s, s.pa, 1));
    other = scene_running(&s.scene, job_in(&s, s.pa, 1));
    changes = scene_begin(&s.scene);
    lifecycle_stop(changes, work, WORKLOAD_PREEMPTING, "preempted", "{}");
    lifecycle_stop(changes, work, WORKLOAD_CANCELLING, "cancelled", NULL);
    lifecycle_stop(changes, work, WORKLOAD_PREEMPTING, "preempted", "{}");
    scene_apply(&s.scene, changes);
    for (int i = 0; i < 3; i++) {
        scene_exit(&s.scene, work, 143);
        scene_release(&s.scene, work);
        restart(&s);
        assert_int_equal(world_quota(s.scene.world, quota)->used, CARDS(1));
        assert_int_equal(world_quota(s.scene.world, running)->used, 1);
    }
    assert_int_equal(state_of(&s, work), WORKLOAD_CANCELLED);
    assert_int_equal(state_of(&s, other), WORKLOAD_RUNNING);
    scene_teardown(&s.scene);
}

/* [S46] Lost while it is being stopped, and back after that: bound all the
 * time, then done as was wished. */
static void
work_lost_while_it_stops_stays_bound_S46(void **state)
{
    struct stage s;
    struct ref work, next, instance, quota;
    struct changes *changes;
    struct job job;

    (void)state;
    stage_setup(&s, 1);
    quota = cards_of(&s, s.a, 0, CARDS(2));
    (void)scene_node(&s.scene, s.pool, "n2", 1, "h100");
    job = job_in(&s, s.pa, 1);
    job.recovery = RECOVERY_ANY;
    work = scene_running(&s.scene, job);
    instance = scene_instance(&s.scene, work);
    changes = scene_begin(&s.scene);
    lifecycle_stop(changes, work, WORKLOAD_CANCELLING, "cancelled", NULL);
    scene_apply(&s.scene, changes);
    changes = scene_begin(&s.scene);
    lifecycle_lost(changes, s.node);
    scene_apply(&s.scene, changes);
    next = scene_submit(&s.scene, job_in(&s, s.pa, 2));
    restart(&s);
    assert_int_equal(state_of(&s, work), WORKLOAD_CANCELLING);
    assert_int_equal(world_quota(s.scene.world, quota)->used, CARDS(1));
    assert_int_equal(state_of(&s, next), WORKLOAD_GATED);
    changes = scene_begin(&s.scene);
    lifecycle_back(changes, instance);
    scene_apply(&s.scene, changes);
    assert_int_not_equal(world_instance(s.scene.world, instance)->want,
                         WANT_RUN);
    scene_exit(&s.scene, work, 143);
    scene_release(&s.scene, work);
    assert_int_equal(state_of(&s, work), WORKLOAD_CANCELLED);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, next), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* --- isolation and reasons --- */

/* [S49] What is wrong in one pool, unit or priority stops nobody else. */
static void
what_is_wrong_elsewhere_stops_nobody_S49(void **state)
{
    struct stage s;
    struct ref bad[3], good, empty, pool, gone;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 2);
    empty = scene_pool(&s.scene, "empty");
    pool = scene_pool(&s.scene, "broken");
    gone = scene_node(&s.scene, pool, "n2", 1, "h100");
    cards_of(&s, s.a, 0, CARDS(2));
    cards_of(&s, s.b, 0, CARDS(2));
    bad[0] = scene_submit(&s.scene, (struct job){ .project = s.pb,
                                                  .class = s.one,
                                                  .pool = empty });
    bad[1] = scene_submit(&s.scene, (struct job){ .project = s.pb,
                                                  .class = s.four });
    bad[2] = scene_submit(&s.scene, job_in(&s, s.pb, 1));
    changes = scene_begin(&s.scene);
    ((struct node *)change_update(changes, gone))->cpu_milli = 0;
    ((struct node *)change_update(changes, gone))->memory_mib = 0;
    change_doc(changes, &((struct tenant *)change_update(changes, s.b))->pools,
               "[\"po_nothing\"]");
    change_doc(changes,
               &((struct tenant *)change_update(changes, s.b))->classes,
               "{broken");
    scene_apply(&s.scene, changes);
    good = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, good), WORKLOAD_ASSIGNED);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(state_of(&s, bad[i]), WORKLOAD_GATED);
        assert_int_not_equal(reason_of(&s, bad[i]), REASON_NOT_EVALUATED);
    }
    scene_teardown(&s.scene);
}

/* [S58] Whatever is suspended above it or asked for it, that is the reason,
 * and its end lets the work start. */
static void
whatever_is_suspended_is_the_reason_S58(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct stage s;
        struct ref unit, inner, project, account, user, at[5], work;
        const struct field *field;
        struct changes *changes;
        int suspended = STATE_SUSPENDED, active = STATE_ACTIVE;

        stage_setup(&s, 1);
        cards_of(&s, s.a, 0, CARDS(1));
        unit = scene_put(&s.scene, KIND_UNIT, s.a, "u");
        inner = scene_put(&s.scene, KIND_UNIT, unit, "v");
        project = scene_project(&s.scene, inner, "p");
        account = scene_put(&s.scene, KIND_SERVICEACCOUNT, project, "bot");
        user = scene_put(&s.scene, KIND_USER, s.a, "dev");
        at[0] = s.a, at[1] = unit, at[2] = inner, at[3] = account;
        at[4] = user;
        work = scene_submit(&s.scene, job_in(&s, project, 1));
        changes = scene_begin(&s.scene);
        ((struct workload *)change_update(changes, work))->user =
            i == 4 ? user : account;
        field = schema_field((enum kind)at[i].kind, "state");
        memcpy(field_of(field, change_update(changes, at[i])), &suspended,
               sizeof(suspended));
        scene_apply(&s.scene, changes);
        scene_run(&s.scene);
        assert_int_equal(state_of(&s, work), WORKLOAD_GATED);
        assert_int_equal(reason_of(&s, work), REASON_SUSPENDED);
        changes = scene_begin(&s.scene);
        memcpy(field_of(field, change_update(changes, at[i])), &active,
               sizeof(active));
        scene_apply(&s.scene, changes);
        scene_run(&s.scene);
        assert_int_equal(state_of(&s, work), WORKLOAD_ASSIGNED);
        scene_teardown(&s.scene);
    }
}

/* [A37] What all others use of the platform's own limit is no part of a
 * tenant's reason. */
static void
the_platforms_limit_tells_no_use_of_others_A37(void **state)
{
    struct stage s;
    struct ref quota, work;

    (void)state;
    stage_setup(&s, 4);
    cards_of(&s, s.a, 0, CARDS(4));
    cards_of(&s, s.b, 0, CARDS(4));
    quota = cards_of(&s, s.scene.platform, 0, CARDS(4));
    (void)scene_running(&s.scene, job_in(&s, s.pa, 3));
    work = scene_submit(&s.scene, job_in(&s, s.pb, 2));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_GATED);
    assert_int_equal(scene_workload(&s.scene, work)->have, 0);
    assert_null(strstr(scene_workload(&s.scene, work)->reason_text, "3 "));
    scene_change_quota(&s.scene, quota, 0, CARDS(1));
    scene_run(&s.scene);
    assert_int_equal(reason_of(&s, work), REASON_LIMIT_NEVER);
    assert_int_equal(scene_workload(&s.scene, work)->have, 0);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_victim_frees_is_spent_once_S1),
        cmocka_unit_test(a_freed_card_is_not_split_between_two_tenants_S1),
        cmocka_unit_test(every_limit_counts_the_whole_request_S2),
        cmocka_unit_test(what_comes_back_passes_the_gate_again_S2),
        cmocka_unit_test(each_of_many_ancestors_is_tested_S3),
        cmocka_unit_test(a_quota_made_anew_counts_in_every_dimension_S4),
        cmocka_unit_test(card_time_that_would_wrap_is_refused_S7),
        cmocka_unit_test(fixed_work_spares_what_is_guaranteed_to_siblings_S15),
        cmocka_unit_test(fixed_work_is_counted_to_the_last_unit_S15),
        cmocka_unit_test(a_guarantee_that_goes_leaves_burst_behind_S17),
        cmocka_unit_test(fixed_work_runs_on_after_the_cut_S17),
        cmocka_unit_test(a_gang_of_shares_fills_cards_and_no_more_S34),
        cmocka_unit_test(memory_of_cards_is_floored_never_rounded_S35),
        cmocka_unit_test(parts_of_a_gang_come_back_one_by_one_S45),
        cmocka_unit_test(health_is_of_each_card_S41),
        cmocka_unit_test(a_gang_that_cannot_start_goes_elsewhere_S48),
        cmocka_unit_test(no_late_event_brings_work_back_S10),
        cmocka_unit_test(a_second_wish_to_stop_releases_nothing_twice_S12b),
        cmocka_unit_test(work_lost_while_it_stops_stays_bound_S46),
        cmocka_unit_test(what_is_wrong_elsewhere_stops_nobody_S49),
        cmocka_unit_test(whatever_is_suspended_is_the_reason_S58),
        cmocka_unit_test(the_platforms_limit_tells_no_use_of_others_A37),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
