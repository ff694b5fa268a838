/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include "core/booking.h"
#include "core/month.h"
#include "core/queue.h"
#include "core/resource.h"
#include "core/usage.h"

/* What wakes waiting work besides places and limits.  scene_run compares with
 * an evaluation of all that waits. */

struct stage {
    struct scene scene;
    struct ref pool, node, class;
    struct ref tenants[2], projects[2];
};

static void
stage_setup(struct stage *s)
{
    struct scene *scene = &s->scene;

    memset(s, 0, sizeof(*s));
    scene_setup(scene);
    s->pool = scene_pool(scene, "p");
    s->node = scene_node(scene, s->pool, "n1", 4, "h100");
    s->class = scene_class(scene, "x1", "h100", 1);
    for (int i = 0; i < 2; i++) {
        s->tenants[i] = scene_tenant(scene, i == 0 ? "a" : "b");
        s->projects[i] =
            scene_project(scene, s->tenants[i], i == 0 ? "pa" : "pb");
    }
}

static struct job
job_of(const struct stage *s, int tenant)
{
    return (struct job){ .project = s->projects[tenant], .class = s->class };
}

/* Its priority class may use 5 card-hours a month, whoever uses them. */
static void
a_month_that_another_tenant_gives_back_lets_work_start(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;
    struct ref urgent, first, second;
    struct job job;

    (void)state;
    stage_setup(&s);
    for (int i = 0; i < 2; i++)
        scene_quota(scene, s.tenants[i], DIMENSION_CARDS, 0, CARDS(4));
    urgent = scene_priority(scene, "urgent", 900);
    {
        scene_edit(scene, changes, priority, urgent);
        priority->card_time = 5 * 1000 * HOUR_MS;
        scene_apply(scene, changes);
    }
    job = job_of(&s, 0);
    job.priority = urgent;
    job.max_run_ms = 4 * HOUR_MS;
    first = scene_running(scene, job);
    job.project = s.projects[1];
    job.pool = scene_pool(scene, "q");
    scene_node(scene, job.pool, "n2", 4, "h100");
    second = scene_submit(scene, job);
    scene_run(scene);
    assert_int_equal(scene_workload(scene, second)->reason,
                     REASON_GOVERNANCE);
    scene_finish(scene, first, 0);
    scene_run(scene);
    assert_int_equal(scene_state(scene, second), WORKLOAD_ASSIGNED);
    scene_teardown(scene);
}

static void
a_limit_that_was_raised_for_a_time_falls_by_itself(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;
    struct ref limited, waiting;
    struct job job;

    (void)state;
    stage_setup(&s);
    job = job_of(&s, 0);
    limited = scene_quota(scene, s.tenants[0], DIMENSION_CARDS, 0, CARDS(1));
    {
        scene_edit(scene, changes, quota, limited);
        quota->raised_limit = CARDS(2);
        quota->raised_until_ms = scene->now_ms + HOUR_MS;
        scene_apply(scene, changes);
    }
    (void)scene_running(scene, job);
    job.instances = 2;
    waiting = scene_submit(scene, job);
    scene_run(scene);
    assert_int_equal(scene_workload(scene, waiting)->limit, CARDS(2));
    scene_wait(scene, HOUR_MS - 1000);
    scene_run(scene);
    assert_int_equal(scene_workload(scene, waiting)->limit, CARDS(2));
    assert_true(schedule_due_ms(scene->scheduler) <= scene->now_ms + 1000);
    scene_wait(scene, 1000);
    scene_run(scene);
    assert_int_equal(scene_workload(scene, waiting)->limit, CARDS(1));
    scene_teardown(scene);
}

/* Waiting workloads whose rows an event costs. */
static int
count_told(struct scene *scene, struct ref *waiting, int count)
{
    char before[64][TEXT_MAX_SIZE];
    int changed = 0;

    for (int i = 0; i < count; i++)
        memcpy(before[i], scene_workload(scene, waiting[i])->reason_text,
               TEXT_MAX_SIZE);
    scene_run(scene);
    for (int i = 0; i < count; i++)
        changed += strcmp(before[i],
                          scene_workload(scene, waiting[i])->reason_text) != 0;
    return changed;
}

/* [S21] Each waits for 4 cards below a limit of 4, of which 2 are in use. */
static void
other_numbers_are_told_to_a_few_and_another_reason_to_all(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;
    struct ref quota, first, second, waiting[64];
    struct job job;

    (void)state;
    stage_setup(&s);
    quota = scene_quota(scene, s.tenants[0], DIMENSION_CARDS, 0, CARDS(4));
    first = scene_running(scene, job_of(&s, 0));
    second = scene_running(scene, job_of(&s, 0));
    job = job_of(&s, 0);
    job.instances = 4;
    for (int i = 0; i < 64; i++)
        waiting[i] = scene_submit(scene, job);
    scene_run(scene);
    scene_finish(scene, first, 0); /* 1 of 4 used instead of 2 */
    assert_int_equal(count_told(scene, waiting, 64), QUEUE_EXACT);
    assert_int_equal(scene_workload(scene, waiting[0])->have, CARDS(1));
    assert_int_equal(scene_workload(scene, waiting[63])->have, CARDS(2));
    scene_change_quota(scene, quota, 0, CARDS(8)); /* no limit in its way */
    assert_int_equal(count_told(scene, waiting, 64), 64);
    assert_int_not_equal(scene_workload(scene, waiting[63])->reason,
                         REASON_LIMIT);
    scene_finish(scene, second, 0); /* the first one starts, others move up */
    (void)count_told(scene, waiting, 64);
    assert_int_equal(scene_state(scene, waiting[0]), WORKLOAD_ASSIGNED);
    scene_teardown(scene);
}

/* Of tenant a is booked in pool p, tenant b waits in pool q. */
static void
a_booking_wakes_those_whom_it_concerns_alone_S52(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;
    struct ref booked;
    struct job job;
    uint64_t looks;

    (void)state;
    stage_setup(&s);
    for (int i = 0; i < 2; i++)
        scene_quota(scene, s.tenants[i], DIMENSION_CARDS, 0, CARDS(1));
    (void)scene_running(scene, job_of(&s, 0));
    job = job_of(&s, 0);
    job.pool = s.pool;
    booked = scene_submit(scene, job);
    job.project = s.projects[1];
    job.pool = scene_pool(scene, "q");
    scene_node(scene, job.pool, "n2", 1, "h100");
    (void)scene_running(scene, job);
    (void)scene_submit(scene, job);
    scene_run(scene);
    {
        struct changes *changes = scene_begin(scene);
        struct booking *booking =
            change_create(changes, KIND_BOOKING, booked, "");

        booking->pool = s.pool;
        scene_apply(scene, changes);
    }
    looks = schedule_looks(scene->scheduler);
    scene_run(scene); /* the booked work is in a group of its own now */
    for (int i = 0; i < 5; i++) {
        scene_wait(scene, 1000);
        scene_run(scene);
    }
    assert_int_equal(schedule_looks(scene->scheduler) - looks, 6);
    scene_teardown(scene);
}

/* What the n-th claim costs does not depend on how many were nominated
 * before. */
static void
nominated_work_sleeps_while_others_are_nominated(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;
    uint64_t looks[8];

    (void)state;
    stage_setup(&s);
    for (int i = 4; i < 8; i++)
        (void)scene_card(scene, s.node, i, "h100", SCENE_CARD_MIB);
    scene_quota(scene, s.tenants[0], DIMENSION_CARDS, 0, CARDS(8));
    scene_quota(scene, s.tenants[1], DIMENSION_CARDS, CARDS(8), CARDS(8));
    for (int i = 0; i < 8; i++)
        (void)scene_running(scene, job_of(&s, 0));
    for (int i = 0; i < 8; i++) {
        looks[i] = schedule_looks(scene->scheduler);
        (void)scene_submit(scene, job_of(&s, 1));
        scene_run(scene);
        assert_int_equal(scene->nominated, 1);
        looks[i] = schedule_looks(scene->scheduler) - looks[i];
    }
    for (int i = 2; i < 8; i++)
        assert_int_equal(looks[i], looks[1]);
    scene_teardown(scene);
}

static uint64_t
looks_until_rest(struct scene *scene)
{
    uint64_t looks = schedule_looks(scene->scheduler);

    scene_run(scene);
    return schedule_looks(scene->scheduler) - looks;
}

/* It says which place is best, not whether there is one; all else that the
 * platform says may concern everybody. */
static void
what_was_learnt_wakes_nobody(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;

    (void)state;
    stage_setup(&s);
    for (int i = 0; i < 2; i++)
        scene_quota(scene, s.tenants[i], DIMENSION_CARDS, 0, CARDS(4));
    for (int i = 0; i < 4; i++)
        (void)scene_running(scene, job_of(&s, 0));
    (void)scene_submit(scene, job_of(&s, 1));
    scene_run(scene);
    {
        scene_edit(scene, changes, platform, scene->platform);
        platform->expected_count++;
        scene_apply(scene, changes);
    }
    assert_int_equal(looks_until_rest(scene), 0);
    {
        scene_edit(scene, changes, platform, scene->platform);
        platform->hold_ms++;
        scene_apply(scene, changes);
    }
    assert_int_equal(looks_until_rest(scene), 1);
    scene_teardown(scene);
}

static void
fail_log_in(struct scene *scene, struct ref ref, int state)
{
    scene_edit(scene, changes, user, ref);

    resource_log_in_failed(changes, ref);
    user->state = state;
    scene_apply(scene, changes);
}

/* Whoever knows a name could keep the scheduler busy. */
static void
failed_logins_wake_nobody_and_a_suspension_does(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;
    struct ref user;
    struct job job;

    (void)state;
    stage_setup(&s);
    scene_quota(scene, s.tenants[0], DIMENSION_CARDS, 0, CARDS(4));
    {
        struct changes *changes = scene_begin(scene);
        struct user *made =
            change_create(changes, KIND_USER, s.tenants[0], "ada");

        user = made->object.self;
        scene_apply(scene, changes);
    }
    job = job_of(&s, 0);
    job.user = user;
    for (int i = 0; i < 5; i++)
        (void)scene_submit(scene, job);
    scene_run(scene);
    for (int i = 0; i < 3; i++) {
        fail_log_in(scene, user, STATE_ACTIVE);
        assert_int_equal(world_user(scene->world, user)->failures, i + 1);
        assert_int_equal(looks_until_rest(scene), 0);
    }
    fail_log_in(scene, user, STATE_SUSPENDED);
    assert_int_equal(looks_until_rest(scene), 1);
    scene_teardown(scene);
}

/* The booking of b's four cards keeps work without a card from the CPU that
 * the booked work will need, until b uses a card elsewhere: then that would be
 * above its guarantee. */
static void
another_right_of_booked_work_wakes_whom_it_keeps_away(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;
    struct ref booked, kept;
    struct job job;

    (void)state;
    stage_setup(&s);
    {
        scene_edit(scene, changes, platform, scene->platform);
        platform->bypass_ms = 60000;
        scene_apply(scene, changes);
    }
    scene_quota(scene, s.tenants[0], DIMENSION_CARDS, CARDS(2), CARDS(8));
    scene_quota(scene, s.tenants[0], DIMENSION_CPU, 60000, 128000);
    scene_quota(scene, s.tenants[1], DIMENSION_CARDS, CARDS(4), CARDS(8));
    job = job_of(&s, 0);
    job.pool = s.pool;
    (void)scene_running(scene, job);
    job = job_of(&s, 1);
    job.pool = s.pool;
    job.class = scene_class(scene, "x4", "h100", 4);
    job.cpu_milli = 100000;
    booked = scene_submit(scene, job);
    scene_run(scene);
    scene_wait(scene, 61000);
    scene_run(scene);
    assert_true(booking_has(scene->world, booked));
    job = job_of(&s, 0);
    job.pool = s.pool;
    job.class = scene_class(scene, "cpu", "", 0);
    job.cpu_milli = 40000;
    kept = scene_submit(scene, job);
    scene_run(scene);
    assert_int_equal(scene_state(scene, kept), WORKLOAD_QUEUED);
    job = job_of(&s, 1);
    job.pool = scene_pool(scene, "q");
    scene_node(scene, job.pool, "n2", 4, "h100");
    scene_run(scene);
    assert_int_equal(scene_state(scene, kept), WORKLOAD_QUEUED);
    (void)scene_submit(scene, job);
    scene_run(scene);
    assert_int_equal(scene_state(scene, kept), WORKLOAD_ASSIGNED);
    scene_teardown(scene);
}

/* One card of the platform in all: another tenant's, in another pool. */
static void
a_limit_of_the_platform_wakes_whoever_waits_for_it(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;
    struct ref first, second;
    struct job job;

    (void)state;
    stage_setup(&s);
    for (int i = 0; i < 2; i++)
        scene_quota(scene, s.tenants[i], DIMENSION_CARDS, 0, CARDS(4));
    scene_quota(scene, scene->platform, DIMENSION_CARDS, 0, CARDS(1));
    job = job_of(&s, 0);
    job.pool = s.pool;
    first = scene_running(scene, job);
    job.project = s.projects[1];
    job.pool = scene_pool(scene, "q");
    scene_node(scene, job.pool, "n2", 4, "h100");
    second = scene_submit(scene, job);
    scene_run(scene);
    assert_int_equal(scene_workload(scene, second)->reason, REASON_LIMIT);
    scene_finish(scene, first, 0);
    scene_run(scene);
    assert_int_equal(scene_state(scene, second), WORKLOAD_ASSIGNED);
    scene_teardown(scene);
}

static void
lose_instances(struct scene *scene, struct ref node)
{
    struct changes *changes = scene_begin(scene);

    lifecycle_lost(changes, node);
    scene_apply(scene, changes);
}

static bool
is_held(const struct scene *scene, struct ref ref)
{
    return !ref_is_none(world_first_child(scene->world, KIND_HOLD, ref));
}

/* Tenant a may use one card: what runs in pool q makes room for what comes
 * before it in pool p, where a card is free. */
static struct ref
nominate_by_limit(struct stage *s, struct ref *victim, struct ref *node)
{
    struct scene *scene = &s->scene;
    struct ref waiting;
    struct job job;

    stage_setup(s);
    scene_quota(scene, s->tenants[0], DIMENSION_CARDS, 0, CARDS(1));
    job = job_of(s, 0);
    job.priority = scene_priority(scene, "low", 1);
    job.pool = scene_pool(scene, "q");
    *node = scene_node(scene, job.pool, "n2", 1, "h100");
    *victim = scene_running(scene, job);
    job.priority = scene_priority(scene, "high", 9);
    job.pool = s->pool;
    waiting = scene_submit(scene, job);
    scene_run(scene);
    assert_int_equal(scene_state(scene, *victim), WORKLOAD_PREEMPTING);
    assert_true(is_held(scene, waiting));
    return waiting;
}

static void
nominated_work_starts_when_its_limit_has_room(void **state)
{
    struct stage s;
    struct ref victim, node;
    struct ref waiting = nominate_by_limit(&s, &victim, &node);

    (void)state;
    scene_exit(&s.scene, victim, EXIT_CHECKPOINTED);
    scene_release(&s.scene, victim);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, waiting), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

static void
a_nomination_ends_when_its_victim_is_lost(void **state)
{
    struct stage s;
    struct ref victim, node;
    struct ref waiting = nominate_by_limit(&s, &victim, &node);

    (void)state;
    lose_instances(&s.scene, node);
    scene_run(&s.scene);
    assert_false(is_held(&s.scene, waiting));
    scene_teardown(&s.scene);
}

/* A card is free, the CPU beside it is to be given back by other work. */
static void
a_nomination_ends_when_the_cpu_beside_it_stays(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;
    struct ref other, waiting;
    struct changes *changes;
    struct job job;

    (void)state;
    stage_setup(&s);
    for (int i = 0; i < 2; i++)
        scene_quota(scene, s.tenants[i], DIMENSION_CARDS, CARDS(2), CARDS(4));
    job = job_of(&s, 0);
    job.cpu_milli = 100000;
    other = scene_running(scene, job);
    changes = scene_begin(scene);
    lifecycle_stop(changes, other, WORKLOAD_CANCELLING, "cancelled", NULL);
    scene_apply(scene, changes);
    job.project = s.projects[1];
    waiting = scene_submit(scene, job);
    scene_run(scene);
    assert_true(is_held(scene, waiting));
    lose_instances(scene, s.node);
    scene_run(scene);
    assert_false(is_held(scene, waiting));
    scene_teardown(scene);
}

/* Within the guarantee of its tenant and above the limit of its project, which
 * work in another pool is about to give back. */
static void
a_claim_is_held_parts_when_its_limit_will_have_room(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;
    struct ref first, waiting;
    struct changes *changes;
    struct job job;

    (void)state;
    stage_setup(&s);
    scene_quota(scene, s.tenants[0], DIMENSION_CARDS, CARDS(3), CARDS(4));
    scene_quota(scene, s.projects[0], DIMENSION_CARDS, 0, CARDS(1));
    job = job_of(&s, 0);
    job.pool = scene_pool(scene, "q");
    scene_node(scene, job.pool, "n2", 1, "h100");
    first = scene_running(scene, job);
    job.pool = s.pool;
    waiting = scene_submit(scene, job);
    scene_run(scene);
    assert_int_equal(scene_workload(scene, waiting)->reason, REASON_LIMIT);
    changes = scene_begin(scene);
    lifecycle_stop(changes, first, WORKLOAD_CANCELLING, "cancelled", NULL);
    scene_apply(scene, changes);
    scene_run(scene);
    assert_true(is_held(scene, waiting));
    scene_teardown(scene);
}

/* --- the order of who is ready --- */

struct ordered {
    struct arena *arena;
    struct estate *estate;
    struct queue *queue;
    uint64_t position; /* in the trail */
};

static struct ref
first_ready(struct ordered *o, const struct scene *scene)
{
    const struct world *world = scene->world;

    for (; o->position < trail_end(world); o->position++) {
        estate_note(o->estate, trail_at(world, o->position));
        queue_note(o->queue, trail_at(world, o->position));
    }
    assert_true(estate_settle(o->estate, scene->now_ms));
    assert_true(queue_settle(o->queue, o->estate));
    return queue_first(o->queue, o->estate)->entry.workload;
}

/* Meters the first card's work and writes what its user has had. */
static void
meter(struct stage *s, int tenant, int64_t cards)
{
    struct scene *scene = &s->scene;
    struct changes *changes;

    scene_wait(scene, 60000);
    changes = scene_begin(scene);
    for (int i = 0; i < 4; i++) {
        struct ref card = scene_card_of(scene, s->node, i);
        struct ref binding = { 0 };

        world_each_index(scene->world, KIND_BINDING, 0, card, ref)
            binding = ref;
        if (ref_equal(world_binding(scene->world, binding)->project,
                      s->projects[tenant]))
            usage_cut(changes, card);
    }
    for (size_t i = 0; i < changes->count; i++)
        if (changes->list[i].image != NULL &&
            ((struct object *)changes->list[i].image)->self.kind ==
                KIND_RECENT)
            ((struct recent *)changes->list[i].image)->cards = cards;
    scene_apply(scene, changes);
}

/* Writes what a tenant's people have had, and no time passes. */
static void
remember(struct stage *s, int tenant, int64_t cards)
{
    struct scene *scene = &s->scene;
    struct changes *changes = scene_begin(scene);
    int count = 0;

    world_each(scene->world, KIND_RECENT, ref) {
        if (!ref_equal(world_scope(scene->world, ref), s->tenants[tenant]))
            continue;
        ((struct recent *)change_update(changes, ref))->cards = cards;
        count++;
    }
    assert_true(count > 0);
    scene_apply(scene, changes);
}

/* Metering rounds what a tenant had; here a has nothing at all any more, after
 * 278 card-hours.  Its work is ready meanwhile and goes before that of b, whose
 * three cards run. */
static void
ready_work_moves_up_when_its_tenant_is_metered_less(void **state)
{
    struct stage s;
    struct scene *scene = &s.scene;
    struct ordered o = { .arena = arena_new() };
    struct ref waiting[2];

    (void)state;
    stage_setup(&s);
    {
        scene_edit(scene, changes, platform, scene->platform);
        platform->share_half_life_ms = HOUR_MS;
        scene_apply(scene, changes);
    }
    for (int i = 0; i < 2; i++)
        scene_quota(scene, s.tenants[i], DIMENSION_CARDS, 0, CARDS(4));
    for (int i = 0; i < 4; i++)
        (void)scene_running(scene, job_of(&s, i > 0));
    meter(&s, 0, INT64_C(1000000000000));
    for (int i = 0; i < 2; i++)
        waiting[i] = scene_submit(scene, job_of(&s, i));
    o.estate = estate_begin(o.arena, scene->world, scene->now_ms, NULL);
    o.queue = queue_new(o.arena, scene->world);
    o.position = trail_end(scene->world);
    assert_true(ref_equal(first_ready(&o, scene), waiting[1]));
    meter(&s, 0, 0);
    assert_true(ref_equal(first_ready(&o, scene), waiting[0]));
    remember(&s, 0, INT64_C(1000000000000));
    assert_true(ref_equal(first_ready(&o, scene), waiting[1]));
    queue_free(o.queue);
    arena_free(o.arena);
    scene_teardown(scene);
}

static void
set_priority(struct scene *scene, struct ref ref, struct ref priority)
{
    scene_edit(scene, changes, workload, ref);

    workload->priority = priority;
    scene_apply(scene, changes);
}

/* One card of tenant a's, which waiting work of the same priority could not
 * have. */
static void
lower_work_gives_way_to_who_waits(bool nominated)
{
    struct stage s;
    struct scene *scene = &s.scene;
    struct ref low, middle, holder, waiting;
    struct job job;

    stage_setup(&s);
    scene_quota(scene, s.tenants[0], DIMENSION_CARDS, 0, CARDS(4));
    low = scene_priority(scene, "low", 1);
    middle = scene_priority(scene, "middle", 5);
    job = job_of(&s, 0);
    job.pool = scene_pool(scene, "q");
    scene_node(scene, job.pool, "n2", 1, "h100");
    job.priority = nominated ? low : middle;
    holder = scene_running(scene, job);
    job.priority = middle;
    if (nominated) {
        holder = scene_submit(scene, job);
        scene_run(scene);
    }
    job.cpu_milli = 2000; /* not of its group */
    waiting = scene_submit(scene, job);
    scene_run(scene);
    assert_int_equal(world_count(scene->world, KIND_HOLD), nominated);
    set_priority(scene, holder, low);
    scene_run(scene);
    assert_int_equal(world_count(scene->world, KIND_HOLD), 1);
    assert_false(
        ref_is_none(world_first_child(scene->world, KIND_HOLD, waiting)));
    scene_teardown(scene);
}

static void
a_nomination_of_lower_work_goes_to_who_waits(void **state)
{
    (void)state;
    lower_work_gives_way_to_who_waits(true);
}

static void
work_that_is_given_a_lower_priority_gives_way_to_who_waits(void **state)
{
    (void)state;
    lower_work_gives_way_to_who_waits(false);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nomination_of_lower_work_goes_to_who_waits),
        cmocka_unit_test(
            work_that_is_given_a_lower_priority_gives_way_to_who_waits),
        cmocka_unit_test(
            a_month_that_another_tenant_gives_back_lets_work_start),
        cmocka_unit_test(a_limit_that_was_raised_for_a_time_falls_by_itself),
        cmocka_unit_test(
            other_numbers_are_told_to_a_few_and_another_reason_to_all),
        cmocka_unit_test(nominated_work_sleeps_while_others_are_nominated),
        cmocka_unit_test(nominated_work_starts_when_its_limit_has_room),
        cmocka_unit_test(a_nomination_ends_when_its_victim_is_lost),
        cmocka_unit_test(a_nomination_ends_when_the_cpu_beside_it_stays),
        cmocka_unit_test(a_claim_is_held_parts_when_its_limit_will_have_room),
        cmocka_unit_test(another_right_of_booked_work_wakes_whom_it_keeps_away),
        cmocka_unit_test(a_limit_of_the_platform_wakes_whoever_waits_for_it),
        cmocka_unit_test(a_booking_wakes_those_whom_it_concerns_alone_S52),
        cmocka_unit_test(what_was_learnt_wakes_nobody),
        cmocka_unit_test(failed_logins_wake_nobody_and_a_suspension_does),
        cmocka_unit_test(ready_work_moves_up_when_its_tenant_is_metered_less),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
