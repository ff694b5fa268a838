/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "core/alarm.h"
#include "core/month.h"
#include "core/quota_watch.h"

/* Marks, months that are used up, limits that take back. */

struct stage {
    struct scene scene;
    struct ref pool, node, one, tenant, project;
};

static void
stage_setup(struct stage *s)
{
    memset(s, 0, sizeof(*s));
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    s->node = scene_node(&s->scene, s->pool, "n1", 8, "h100");
    s->one = scene_class(&s->scene, "h100.1", "h100", 1);
    s->tenant = scene_tenant(&s->scene, "vision");
    s->project = scene_project(&s->scene, s->tenant, "p1");
}

static void
look(struct stage *s)
{
    struct changes *changes = scene_begin(&s->scene);

    quota_watch(changes);
    scene_apply(&s->scene, changes);
}

static const struct alarm *
risk_of(const struct stage *s, struct ref about)
{
    world_each_child(s->scene.world, KIND_ALARM, about, ref) {
        const struct alarm *alarm = world_alarm(s->scene.world, ref);

        if (strcmp(alarm->code, "quota.at-risk") == 0 &&
            alarm->cleared_ms == 0)
            return alarm;
    }
    return NULL;
}

static void
set_health(struct stage *s, int number, int health)
{
    scene_edit(&s->scene, changes, card,
               scene_card_of(&s->scene, s->node, number));
    card->health = health;
    scene_apply(&s->scene, changes);
}

/* 5 and 3 of 8 cards are guaranteed; then one fails. */
static void
health_that_breaks_guarantees_names_who_is_at_risk(void **state)
{
    struct stage s;
    struct ref work;

    (void)state;
    stage_setup(&s);
    (void)scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, CARDS(5),
                      CARDS(8));
    (void)scene_quota(&s.scene, scene_tenant(&s.scene, "speech"),
                      DIMENSION_CARDS, CARDS(3), CARDS(8));
    (void)scene_tenant(&s.scene, "nobody");
    work = scene_running(
        &s.scene, (struct job){ .project = s.project, .class = s.one });
    look(&s);
    assert_null(risk_of(&s, s.scene.platform));
    set_health(&s, 7, HEALTH_FAILED);
    look(&s);
    assert_string_equal(risk_of(&s, s.scene.platform)->text,
                        "7 cards are healthy, 8 cards are guaranteed and 0 "
                        "cards reserved at most: at risk are vision 5 cards, "
                        "speech 3 cards");
    /* No guarantee is of the pool alone. */
    assert_null(risk_of(&s, s.pool));
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_RUNNING);
    set_health(&s, 7, HEALTH_HEALTHY);
    look(&s);
    assert_null(risk_of(&s, s.scene.platform));
    scene_teardown(&s.scene);
}

static struct ref
put_quota(struct stage *s, enum dimension dimension, int64_t guaranteed,
          int64_t limit, int64_t soft, int action, bool reclaim)
{
    struct changes *changes = scene_begin(&s->scene);
    struct quota *quota =
        change_create(changes, KIND_QUOTA, s->tenant, "");
    struct ref ref = quota->object.self;

    quota->dimension = (int)dimension;
    quota->guaranteed = guaranteed;
    quota->limit = limit;
    quota->soft = soft;
    quota->action = action;
    quota->reclaim = reclaim;
    scene_apply(&s->scene, changes);
    return ref;
}

static struct job
job_of(const struct stage *s)
{
    return (struct job){ .project = s->project, .class = s->one };
}

/* Alarms that stand on an object. */
static int
standing(const struct stage *s, struct ref about, const char *word)
{
    int count = 0;

    world_each_child(s->scene.world, KIND_ALARM, about, ref) {
        const struct alarm *alarm = world_alarm(s->scene.world, ref);

        count += alarm->cleared_ms == 0 && strstr(alarm->code, word) != NULL;
    }
    return count;
}

static void
a_soft_amount_is_told_once_and_taken_back(void **state)
{
    struct stage s;
    struct ref run;

    (void)state;
    stage_setup(&s);
    put_quota(&s, DIMENSION_CARDS, 0, CARDS(4), CARDS(2), 0, false);
    run = scene_running(&s.scene, job_of(&s));
    look(&s);
    assert_int_equal(standing(&s, s.tenant, "quota.soft"), 0);
    scene_running(&s.scene, job_of(&s));
    look(&s);
    look(&s);
    assert_int_equal(standing(&s, s.tenant, "quota.soft"), 1);
    assert_int_equal(world_count(s.scene.world, KIND_ALARM), 1);
    scene_finish(&s.scene, run, 0);
    look(&s);
    assert_int_equal(standing(&s, s.tenant, "quota.soft"), 0);
    scene_teardown(&s.scene);
}

/* By policy a used up month only admits nothing more, or stops gracefully. */
static void
a_used_up_month_stops_work_only_when_it_says_so(void **state)
{
    (void)state;
    for (int action = QUOTA_STOP_ADMITTING; action <= QUOTA_STOP; action++) {
        struct stage s;
        struct ref run;

        stage_setup(&s);
        scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, 0, CARDS(4));
        put_quota(&s, DIMENSION_CARD_TIME, 0, 2 * 1000 * HOUR_MS, 0, action,
                  false);
        run = scene_running(&s.scene, job_of(&s));
        scene_wait(&s.scene, 2 * HOUR_MS - 1);
        look(&s);
        assert_int_equal(scene_state(&s.scene, run), WORKLOAD_RUNNING);
        scene_wait(&s.scene, 1);
        look(&s);
        assert_int_equal(standing(&s, s.tenant, "quota.used-up"), 1);
        if (action == QUOTA_STOP_ADMITTING) {
            assert_int_equal(scene_state(&s.scene, run), WORKLOAD_RUNNING);
        } else {
            assert_int_equal(scene_state(&s.scene, run),
                             WORKLOAD_PREEMPTING);
            scene_exit(&s.scene, run, 75);
            scene_release(&s.scene, run);
            scene_scrub(&s.scene);
            scene_run(&s.scene);
            assert_int_equal(scene_state(&s.scene, run), WORKLOAD_GATED);
            assert_int_equal(scene_workload(&s.scene, run)->reason,
                             REASON_CARD_TIME);
            scene_wait(&s.scene, 31 * DAY_MS);
            scene_run(&s.scene);
            assert_int_equal(scene_state(&s.scene, run), WORKLOAD_ASSIGNED);
        }
        scene_teardown(&s.scene);
    }
}

/* [S17] A limit lowered below use admits nothing; with reclaim the newest go
 * until it holds, and no more than that. */
static void
a_lowered_limit_takes_back_only_when_asked_S17(void **state)
{
    (void)state;
    for (int reclaim = 0; reclaim < 2; reclaim++) {
        struct stage s;
        struct ref quota, runs[4];
        int stopping = 0;

        stage_setup(&s);
        quota = put_quota(&s, DIMENSION_CARDS, 0, CARDS(4), 0, 0,
                          reclaim == 1);
        for (int i = 0; i < 4; i++)
            runs[i] = scene_running(&s.scene, job_of(&s));
        scene_change_quota(&s.scene, quota, 0, CARDS(2));
        look(&s);
        look(&s);
        for (int i = 0; i < 4; i++)
            stopping +=
                scene_state(&s.scene, runs[i]) == WORKLOAD_PREEMPTING;
        assert_int_equal(stopping, reclaim == 1 ? 2 : 0);
        assert_int_equal(scene_state(&s.scene, runs[0]), WORKLOAD_RUNNING);
        assert_int_equal(scene_try(&s.scene, job_of(&s)).state,
                         WORKLOAD_GATED);
        scene_teardown(&s.scene);
    }
}

/* Grows to its most, all of it running. */
static struct ref
running_gang(struct stage *s, int64_t least, int64_t most)
{
    struct job job = job_of(s);
    struct ref ref;

    job.instances = least;
    job.instances_max = most;
    ref = scene_running(&s->scene, job);
    for (int64_t i = least; i < most; i++) {
        scene_run(&s->scene);
        scene_start(&s->scene, ref);
    }
    assert_int_equal(scene_workload(&s->scene, ref)->instances_now, most);
    return ref;
}

/* [S17] Limit 6, of which a gang of 2 to 4 has 4 and a job 2: lowered to 5 one
 * surplus instance goes; lowered to 3 the other one would not be enough, and
 * the job alone is. */
static void
a_limit_takes_surplus_before_whole_work_S17(void **state)
{
    struct stage s;
    struct job two;
    struct ref quota, gang, job;

    (void)state;
    stage_setup(&s);
    quota = put_quota(&s, DIMENSION_CARDS, 0, CARDS(6), 0, 0, true);
    gang = running_gang(&s, 2, 4);
    two = job_of(&s);
    two.class = scene_class(&s.scene, "h100.2", "h100", 2);
    job = scene_running(&s.scene, two);
    scene_change_quota(&s.scene, quota, 0, CARDS(5));
    look(&s);
    look(&s); /* what leaves already counts as gone */
    assert_int_equal(scene_workload(&s.scene, gang)->instances_now, 3);
    assert_int_equal(scene_state(&s.scene, gang), WORKLOAD_RUNNING);
    assert_int_equal(scene_state(&s.scene, job), WORKLOAD_RUNNING);
    assert_non_null(strstr(scene_workload(&s.scene, gang)->proof->bytes,
                           "quota-reclaim"));
    scene_change_quota(&s.scene, quota, 0, CARDS(3));
    look(&s);
    look(&s);
    assert_int_equal(scene_workload(&s.scene, gang)->instances_now, 3);
    assert_int_equal(scene_state(&s.scene, gang), WORKLOAD_RUNNING);
    assert_int_equal(scene_state(&s.scene, job), WORKLOAD_PREEMPTING);
    scene_teardown(&s.scene);
}

/* One of two surplus instances leaves for a reason of its own: what it gives
 * back is enough for the limit. */
static void
what_leaves_a_gang_already_counts_as_given_back(void **state)
{
    struct stage s;
    struct ref quota, gang, leaver = { 0 };
    struct changes *changes;

    (void)state;
    stage_setup(&s);
    quota = put_quota(&s, DIMENSION_CARDS, 0, CARDS(4), 0, 0, true);
    gang = running_gang(&s, 2, 4);
    world_each_child(s.scene.world, KIND_INSTANCE, gang, ref)
        if (world_instance(s.scene.world, ref)->number == 2)
            leaver = ref;
    changes = scene_begin(&s.scene);
    lifecycle_shrink(changes, leaver, NULL);
    scene_apply(&s.scene, changes);
    scene_change_quota(&s.scene, quota, 0, CARDS(3));
    look(&s);
    assert_int_equal(scene_workload(&s.scene, gang)->instances_now, 3);
    scene_teardown(&s.scene);
}

/* Two projects, one guaranteed 2 of the tenant's 4: lowered to 2, the other
 * one's older work goes, not the guaranteed newer one. */
static void
a_limit_takes_what_is_above_a_guarantee_below_it(void **state)
{
    struct stage s;
    struct ref quota, other, burst[2], kept[2];
    struct job job;

    (void)state;
    stage_setup(&s);
    quota = put_quota(&s, DIMENSION_CARDS, CARDS(2), CARDS(4), 0, 0, true);
    other = scene_project(&s.scene, s.tenant, "p2");
    scene_quota(&s.scene, other, DIMENSION_CARDS, CARDS(2), CARDS(4));
    job = job_of(&s);
    for (int i = 0; i < 2; i++)
        burst[i] = scene_running(&s.scene, job);
    job.project = other;
    for (int i = 0; i < 2; i++)
        kept[i] = scene_running(&s.scene, job);
    scene_change_quota(&s.scene, quota, CARDS(2), CARDS(2));
    look(&s);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(scene_state(&s.scene, kept[i]), WORKLOAD_RUNNING);
        assert_int_equal(scene_state(&s.scene, burst[i]),
                         WORKLOAD_PREEMPTING);
    }
    scene_teardown(&s.scene);
}

/* A small job comes first in the order, but the large one behind it is enough
 * alone. */
static void
a_limit_stops_no_more_than_it_has_to(void **state)
{
    struct stage s;
    struct ref quota, large, small;
    struct job job;

    (void)state;
    stage_setup(&s);
    quota = put_quota(&s, DIMENSION_CARDS, 0, CARDS(5), 0, 0, true);
    job = job_of(&s);
    job.instances = 4;
    large = scene_running(&s.scene, job);
    small = scene_running(&s.scene, job_of(&s)); /* newer */
    scene_change_quota(&s.scene, quota, 0, CARDS(3));
    look(&s);
    assert_int_equal(scene_state(&s.scene, large), WORKLOAD_PREEMPTING);
    assert_int_equal(scene_state(&s.scene, small), WORKLOAD_RUNNING);
    scene_teardown(&s.scene);
}

/* Of two that are equal the one that saved its work goes, older or not. */
static void
a_limit_takes_what_loses_least(void **state)
{
    struct stage s;
    struct ref quota, saved, newer;

    (void)state;
    stage_setup(&s);
    quota = put_quota(&s, DIMENSION_CARDS, 0, CARDS(2), 0, 0, true);
    saved = scene_running(&s.scene, job_of(&s));
    scene_wait(&s.scene, HOUR_MS);
    newer = scene_running(&s.scene, job_of(&s));
    scene_wait(&s.scene, HOUR_MS);
    scene_edit(&s.scene, changes, workload, saved);
    workload->checkpoint_ms = s.scene.now_ms - 1000;
    scene_apply(&s.scene, changes);
    scene_change_quota(&s.scene, quota, 0, CARDS(1));
    look(&s);
    assert_int_equal(scene_state(&s.scene, saved), WORKLOAD_PREEMPTING);
    assert_int_equal(scene_state(&s.scene, newer), WORKLOAD_RUNNING);
    scene_teardown(&s.scene);
}

/* A month that is used up stops the gang as a whole, surplus and all. */
static void
a_used_up_month_stops_a_gang_with_its_surplus(void **state)
{
    struct stage s;
    struct ref gang;

    (void)state;
    stage_setup(&s);
    scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, 0, CARDS(4));
    put_quota(&s, DIMENSION_CARD_TIME, 0, 8 * 1000 * HOUR_MS, 0, QUOTA_STOP,
              false);
    gang = running_gang(&s, 2, 4);
    scene_wait(&s.scene, 2 * HOUR_MS);
    look(&s);
    assert_int_equal(scene_state(&s.scene, gang), WORKLOAD_PREEMPTING);
    world_each_child(s.scene.world, KIND_INSTANCE, gang, ref)
        assert_int_not_equal(world_instance(s.scene.world, ref)->want,
                             WANT_RUN);
    scene_teardown(&s.scene);
}

/* [S17] What cannot be stopped runs on above a lowered guarantee: the newest
 * of it is flagged, until the guarantee holds it again. */
static void
fixed_work_above_a_lowered_guarantee_is_flagged_S17(void **state)
{
    struct stage s;
    struct job fixed;
    struct ref quota, first, second;

    (void)state;
    stage_setup(&s);
    quota = put_quota(&s, DIMENSION_CARDS, CARDS(2), CARDS(4), 0, 0, true);
    fixed = job_of(&s);
    fixed.fixed = true;
    first = scene_running(&s.scene, fixed);
    second = scene_running(&s.scene, fixed);
    look(&s);
    assert_int_equal(world_count(s.scene.world, KIND_ALARM), 0);
    scene_change_quota(&s.scene, quota, CARDS(1), CARDS(1));
    look(&s);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_RUNNING);
    assert_int_equal(standing(&s, first, "beyond"), 0);
    assert_int_equal(standing(&s, second, "beyond"), 1);
    scene_change_quota(&s.scene, quota, CARDS(2), CARDS(2));
    look(&s);
    assert_int_equal(standing(&s, second, "beyond"), 0);
    scene_teardown(&s.scene);
}

/* The share of a priority class is one of the pool's cards in use by it. */
static void
a_priority_class_keeps_to_its_share_and_its_month(void **state)
{
    struct stage s;
    struct ref urgent;
    struct job job;
    struct verdict verdict;

    (void)state;
    stage_setup(&s);
    scene_quota(&s.scene, s.tenant, DIMENSION_CARDS, 0, CARDS(8));
    urgent = scene_priority(&s.scene, "urgent", 900);
    {
        scene_edit(&s.scene, changes, priority, urgent);
        priority->share_permille = 250; /* 2 of 8 */
        priority->card_time = 5 * 1000 * HOUR_MS;
        scene_apply(&s.scene, changes);
    }
    job = job_of(&s);
    job.priority = urgent;
    job.max_run_ms = 2 * HOUR_MS;
    scene_running(&s.scene, job);
    assert_int_equal(world_share(s.scene.world, urgent, s.pool), CARDS(1));
    job.instances = 3;
    assert_int_equal(scene_try(&s.scene, job).state, WORKLOAD_REJECTED);
    job.instances = 2;
    verdict = scene_try(&s.scene, job);
    assert_int_equal(verdict.state, WORKLOAD_GATED);
    assert_int_equal(verdict.reason, REASON_GOVERNANCE);
    assert_non_null(strstr(verdict.text, "priority urgent may hold 2 cards"));
    assert_int_equal(verdict.have, 0); /* nobody's use is told */
    job.instances = 1;
    scene_running(&s.scene, job); /* 4 of 5 h are promised */
    assert_int_equal(world_priority_committed(s.scene.world, urgent,
                                              s.scene.now_ms),
                     4 * 1000 * HOUR_MS);
    {
        scene_edit(&s.scene, changes, priority, urgent);
        priority->share_permille = 0;
        scene_apply(&s.scene, changes);
    }
    verdict = scene_try(&s.scene, job);
    assert_int_equal(verdict.state, WORKLOAD_GATED);
    assert_non_null(strstr(verdict.text, "a month"));
    job.max_run_ms = HOUR_MS;
    assert_int_equal(scene_try(&s.scene, job).state, WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(health_that_breaks_guarantees_names_who_is_at_risk),
        cmocka_unit_test(a_soft_amount_is_told_once_and_taken_back),
        cmocka_unit_test(a_used_up_month_stops_work_only_when_it_says_so),
        cmocka_unit_test(a_lowered_limit_takes_back_only_when_asked_S17),
        cmocka_unit_test(a_limit_takes_surplus_before_whole_work_S17),
        cmocka_unit_test(what_leaves_a_gang_already_counts_as_given_back),
        cmocka_unit_test(a_limit_takes_what_is_above_a_guarantee_below_it),
        cmocka_unit_test(a_limit_stops_no_more_than_it_has_to),
        cmocka_unit_test(a_limit_takes_what_loses_least),
        cmocka_unit_test(a_used_up_month_stops_a_gang_with_its_surplus),
        cmocka_unit_test(fixed_work_above_a_lowered_guarantee_is_flagged_S17),
        cmocka_unit_test(a_priority_class_keeps_to_its_share_and_its_month),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
