/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "core/month.h"
#include "core/scope.h"
#include "core/usage.h"

/* What a quota counts: types of card, one subject's work, a month's use. */

struct stage {
    struct scene scene;
    struct ref pool, h100, a100, any, one, other, tenant, project;
    struct ref ada, bob;
};

/* Two h100 and two a100 in one pool, and a tenant that may use all four. */
static void
stage_setup(struct stage *s)
{
    memset(s, 0, sizeof(*s));
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    s->h100 = scene_node(&s->scene, s->pool, "n1", 2, "h100");
    s->a100 = scene_node(&s->scene, s->pool, "n2", 2, "a100");
    s->one = scene_class(&s->scene, "h100.1", "h100", 1);
    s->other = scene_class(&s->scene, "a100.1", "a100", 1);
    s->any = scene_class(&s->scene, "any.1", "", 1);
    s->tenant = scene_tenant(&s->scene, "vision");
    s->project = scene_project(&s->scene, s->tenant, "p1");
    s->ada = scene_put(&s->scene, KIND_USER, s->tenant, "ada");
    s->bob = scene_put(&s->scene, KIND_USER, s->tenant, "bob");
    scene_quota(&s->scene, s->tenant, DIMENSION_CARDS, 0, CARDS(4));
}

static struct ref
put_quota(struct stage *s, struct ref node, enum dimension dimension,
          const char *model, struct ref user, int64_t guaranteed,
          int64_t limit)
{
    struct changes *changes = scene_begin(&s->scene);
    struct quota *quota = change_create(changes, KIND_QUOTA, node, "");
    struct ref ref = quota->object.self;

    quota->dimension = (int)dimension;
    (void)snprintf(quota->model, sizeof(quota->model), "%s", model);
    quota->user = user;
    quota->guaranteed = guaranteed;
    quota->limit = limit;
    scene_apply(&s->scene, changes);
    return ref;
}

static struct job
job_of(const struct stage *s, struct ref class, struct ref user)
{
    return (struct job){ .project = s->project, .class = class,
                         .user = user };
}

static int64_t
used(const struct stage *s, struct ref quota)
{
    return world_quota(s->scene.world, quota)->used;
}

static const char *
model_of(const struct stage *s, struct ref workload)
{
    struct ref binding = world_first_child(
        s->scene.world, KIND_BINDING, scene_instance(&s->scene, workload));

    return world_binding(s->scene.world, binding)->model;
}

static const struct ref nobody = { 0 };

static void
a_typed_request_counts_in_its_type_and_in_any_card(void **state)
{
    struct stage s;
    struct ref typed, all, second;

    (void)state;
    stage_setup(&s);
    typed = put_quota(&s, s.project, DIMENSION_CARDS, "h100", nobody, 0,
                      CARDS(1));
    all = scene_quota(&s.scene, s.project, DIMENSION_CARDS, 0, CARDS(3));
    scene_running(&s.scene, job_of(&s, s.one, s.ada));
    scene_running(&s.scene, job_of(&s, s.other, s.ada));
    assert_int_equal(used(&s, typed), CARDS(1));
    assert_int_equal(used(&s, all), CARDS(2));
    second = scene_submit(&s.scene, job_of(&s, s.one, s.ada));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_GATED);
    assert_non_null(strstr(scene_workload(&s.scene, second)->reason_text,
                           "project p1 of h100 uses 1 card of its limit of "
                           "1 card"));
    scene_teardown(&s.scene);
}

/* [S4] A request that takes any card is no way around the quota of a type:
 * it is put on another, and waits when there is none. */
static void
a_request_for_any_card_does_not_pass_a_full_type_S4(void **state)
{
    struct stage s;
    struct ref typed, first, second, third;

    (void)state;
    stage_setup(&s);
    typed = put_quota(&s, s.project, DIMENSION_CARDS, "h100", nobody, 0,
                      CARDS(1));
    scene_running(&s.scene, job_of(&s, s.one, s.ada));
    first = scene_running(&s.scene, job_of(&s, s.any, s.ada));
    second = scene_running(&s.scene, job_of(&s, s.any, s.ada));
    assert_string_equal(model_of(&s, first), "a100");
    assert_string_equal(model_of(&s, second), "a100");
    third = scene_submit(&s.scene, job_of(&s, s.any, s.ada));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, third), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, third)->reason, REASON_LIMIT);
    assert_non_null(strstr(scene_workload(&s.scene, third)->reason_text,
                           "of a type whose quota has no room"));
    assert_int_equal(used(&s, typed), CARDS(1));
    scene_change_quota(&s.scene, typed, 0, CARDS(2));
    scene_run(&s.scene);
    assert_string_equal(model_of(&s, third), "h100");
    assert_int_equal(used(&s, typed), CARDS(2));
    scene_teardown(&s.scene);
}

static void
one_user_s_cap_in_a_project_is_not_another_s(void **state)
{
    struct stage s;
    struct ref cap, second;

    (void)state;
    stage_setup(&s);
    cap = put_quota(&s, s.project, DIMENSION_CARDS, "", s.ada, 0, CARDS(1));
    scene_running(&s.scene, job_of(&s, s.any, s.ada));
    scene_running(&s.scene, job_of(&s, s.any, s.bob));
    assert_int_equal(used(&s, cap), CARDS(1));
    second = scene_submit(&s.scene, job_of(&s, s.any, s.ada));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, second), WORKLOAD_GATED);
    assert_non_null(
        strstr(scene_workload(&s.scene, second)->reason_text,
               "project p1 by user ada uses 1 card of its limit of 1 card"));
    scene_running(&s.scene, job_of(&s, s.any, s.bob));
    assert_int_equal(used(&s, cap), CARDS(1));
    scene_teardown(&s.scene);
}

/* A subject's guarantee is a level of its own: beyond it the project's still
 * holds, and a peer's is kept from work that cannot be stopped. */
static void
a_user_s_guarantee_is_a_level_below_the_project(void **state)
{
    struct stage s;
    struct job fixed;

    (void)state;
    stage_setup(&s);
    scene_quota(&s.scene, s.project, DIMENSION_CARDS, CARDS(2), CARDS(4));
    put_quota(&s, s.project, DIMENSION_CARDS, "", s.ada, CARDS(1), CARDS(4));
    fixed = job_of(&s, s.any, s.bob);
    fixed.fixed = true;
    scene_running(&s.scene, fixed);
    assert_int_equal(scene_try(&s.scene, fixed).state, WORKLOAD_GATED);
    fixed.user = s.ada;
    scene_running(&s.scene, fixed);
    scene_teardown(&s.scene);
}

/* --- the month --- */

static int64_t
committed(const struct stage *s, struct ref quota)
{
    return world_committed(s->scene.world,
                           world_quota(s->scene.world, quota),
                           s->scene.now_ms);
}

static void
cut(struct stage *s)
{
    struct changes *changes = scene_begin(&s->scene);

    usage_cut_node(changes, s->h100);
    usage_cut_node(changes, s->a100);
    scene_apply(&s->scene, changes);
}

/* The largest estate for a month: 80,000 cards x 31 days are 2.14e17
 * milli-card-ms, 59,520,000 card-hours. */
static void
a_month_of_eighty_thousand_cards_can_be_counted(void **state)
{
    struct stage s;
    struct ref quota;
    struct job job;
    struct world_usage of = { .meter = METER_CARD_HOUR };
    const int64_t month = INT64_C(80000) * 1000 * 31 * DAY_MS;

    (void)state;
    stage_setup(&s);
    quota = scene_quota(&s.scene, s.tenant, DIMENSION_CARD_TIME, 0, month);
    of.project = s.project;
    world_load_usage(s.scene.world, &of, month_start(s.scene.now_ms),
                     month - 3 * 1000 * HOUR_MS);
    assert_int_equal(committed(&s, quota), month - 3 * 1000 * HOUR_MS);
    job = job_of(&s, s.one, s.ada);
    job.max_run_ms = 3 * HOUR_MS;
    assert_int_equal(scene_try(&s.scene, job).state, WORKLOAD_QUEUED);
    job.max_run_ms++;
    assert_int_equal(scene_try(&s.scene, job).state, WORKLOAD_GATED);
    scene_teardown(&s.scene);
}

/* 2 cards x 4 h are reserved at the start; after 1 h the rest comes back. */
static void
what_a_run_does_not_use_of_its_time_comes_back(void **state)
{
    struct stage s;
    struct ref quota, run;
    struct job job;

    (void)state;
    stage_setup(&s);
    quota = scene_quota(&s.scene, s.tenant, DIMENSION_CARD_TIME, 0,
                        10 * 1000 * HOUR_MS);
    job = job_of(&s, s.one, s.ada);
    job.instances = 2;
    job.max_run_ms = 4 * HOUR_MS;
    run = scene_running(&s.scene, job);
    assert_int_equal(committed(&s, quota), 8 * 1000 * HOUR_MS);
    scene_wait(&s.scene, HOUR_MS);
    assert_int_equal(committed(&s, quota), 8 * 1000 * HOUR_MS);
    cut(&s);
    assert_int_equal(committed(&s, quota), 8 * 1000 * HOUR_MS);
    job.class = s.other;
    job.instances = 1;
    assert_int_equal(scene_try(&s.scene, job).state, WORKLOAD_GATED);
    scene_finish(&s.scene, run, 0);
    assert_int_equal(committed(&s, quota), 2 * 1000 * HOUR_MS);
    assert_int_equal(scene_try(&s.scene, job).state, WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* Open work is charged as it goes, and needs an hour's worth to begin. */
static void
open_work_needs_an_hour_s_worth(void **state)
{
    struct stage s;
    struct ref quota;

    (void)state;
    stage_setup(&s);
    quota = scene_quota(&s.scene, s.tenant, DIMENSION_CARD_TIME, 0,
                        2 * 1000 * HOUR_MS);
    scene_running(&s.scene, job_of(&s, s.one, s.ada));
    assert_int_equal(committed(&s, quota), 0);
    scene_wait(&s.scene, HOUR_MS / 2);
    assert_int_equal(committed(&s, quota), 1000 * HOUR_MS / 2);
    assert_int_equal(scene_try(&s.scene, job_of(&s, s.one, s.ada)).state,
                     WORKLOAD_QUEUED);
    scene_wait(&s.scene, HOUR_MS / 2 + 1);
    assert_int_equal(scene_try(&s.scene, job_of(&s, s.one, s.ada)).state,
                     WORKLOAD_GATED);
    cut(&s);
    assert_int_equal(committed(&s, quota), 1000 * (HOUR_MS + 1));
    scene_teardown(&s.scene);
}

/* 2027-01-31 22:00: of a run of 4 h two belong to January, two to February. */
static void
a_run_over_the_end_of_the_month_counts_in_both(void **state)
{
    struct stage s;
    struct ref quota;
    struct job job;

    (void)state;
    stage_setup(&s);
    s.scene.now_ms = INT64_C(1801432800000);
    assert_int_equal(month_next(s.scene.now_ms) - s.scene.now_ms,
                     2 * HOUR_MS);
    cut(&s);
    quota = scene_quota(&s.scene, s.tenant, DIMENSION_CARD_TIME, 0,
                        5 * 1000 * HOUR_MS);
    job = job_of(&s, s.one, s.ada);
    job.max_run_ms = 4 * HOUR_MS;
    scene_running(&s.scene, job);
    scene_running(&s.scene, job); /* 4 in January, 4 in February */
    assert_int_equal(committed(&s, quota), 4 * 1000 * HOUR_MS);
    job.class = s.other;
    assert_int_equal(scene_try(&s.scene, job).state, WORKLOAD_GATED);
    job.max_run_ms = HOUR_MS;
    assert_int_equal(scene_try(&s.scene, job).state, WORKLOAD_QUEUED);
    scene_wait(&s.scene, 2 * HOUR_MS);
    assert_int_equal(committed(&s, quota), 4 * 1000 * HOUR_MS);
    cut(&s);
    assert_int_equal(committed(&s, quota), 4 * 1000 * HOUR_MS);
    scene_teardown(&s.scene);
}

static void
put_price(struct stage *s, int64_t nano)
{
    struct changes *changes = scene_begin(&s->scene);
    struct price *price =
        change_create(changes, KIND_PRICE, s->scene.platform, "");

    price->meter = METER_CARD_HOUR;
    price->nano = nano;
    scene_apply(&s->scene, changes);
}

/* 2 a card-hour: a budget of 10 holds one run of 4 h, and not a second. */
static void
cost_is_reserved_at_the_price_and_settled(void **state)
{
    struct stage s;
    struct ref quota, run;
    struct job job;

    (void)state;
    stage_setup(&s);
    put_price(&s, INT64_C(2000000000));
    quota = scene_quota(&s.scene, s.tenant, DIMENSION_COST, 0,
                        INT64_C(10000000000));
    job = job_of(&s, s.one, s.ada);
    job.max_run_ms = 4 * HOUR_MS;
    run = scene_running(&s.scene, job);
    assert_int_equal(committed(&s, quota), INT64_C(8000000000));
    assert_int_equal(scene_try(&s.scene, job).state, WORKLOAD_GATED);
    scene_wait(&s.scene, HOUR_MS);
    scene_finish(&s.scene, run, 0);
    assert_int_equal(committed(&s, quota), INT64_C(2000000000));
    assert_int_equal(scene_try(&s.scene, job).state, WORKLOAD_QUEUED);
    /* What is counted from nothing is the same. */
    assert_int_equal(committed(&s, scene_quota(&s.scene, s.project,
                                               DIMENSION_COST, 0, 1)),
                     INT64_C(2000000000));
    scene_teardown(&s.scene);
}

static void
a_service_is_admitted_while_tokens_are_left(void **state)
{
    struct stage s;
    struct ref quota;
    struct job job;
    struct world_usage of = { .meter = METER_TOKEN_OUT };

    (void)state;
    stage_setup(&s);
    quota = scene_quota(&s.scene, s.tenant, DIMENSION_TOKENS, 0, 1000);
    of.project = s.project;
    world_load_usage(s.scene.world, &of, month_start(s.scene.now_ms), 999);
    job = job_of(&s, s.one, s.ada);
    job.kind = WORKLOAD_SERVICE;
    assert_int_equal(scene_try(&s.scene, job).state, WORKLOAD_QUEUED);
    world_load_usage(s.scene.world, &of, month_start(s.scene.now_ms), 1);
    assert_int_equal(committed(&s, quota), 1000);
    assert_int_equal(scene_try(&s.scene, job).state, WORKLOAD_GATED);
    job.kind = WORKLOAD_BATCH;
    assert_int_equal(scene_try(&s.scene, job).state, WORKLOAD_QUEUED);
    scene_wait(&s.scene, 31 * DAY_MS);
    assert_int_equal(committed(&s, quota), 0);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_typed_request_counts_in_its_type_and_in_any_card),
        cmocka_unit_test(a_request_for_any_card_does_not_pass_a_full_type_S4),
        cmocka_unit_test(one_user_s_cap_in_a_project_is_not_another_s),
        cmocka_unit_test(a_user_s_guarantee_is_a_level_below_the_project),
        cmocka_unit_test(a_month_of_eighty_thousand_cards_can_be_counted),
        cmocka_unit_test(what_a_run_does_not_use_of_its_time_comes_back),
        cmocka_unit_test(open_work_needs_an_hour_s_worth),
        cmocka_unit_test(a_run_over_the_end_of_the_month_counts_in_both),
        cmocka_unit_test(cost_is_reserved_at_the_price_and_settled),
        cmocka_unit_test(a_service_is_admitted_while_tokens_are_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
