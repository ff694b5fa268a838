/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

/* Who makes room for whom, and who must not. */

struct stage {
    struct scene scene;
    struct ref pool, node, one, two, three, four, eight, low, high;
    struct ref a, b, c, pa, pb, pc, qa, qb, qc;
};

/* Three tenants with a project each; node has `cards` cards. */
static void
stage_setup(struct stage *s, int cards)
{
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    s->node = scene_node(&s->scene, s->pool, "n1", cards, "h100");
    s->one = scene_class(&s->scene, "h100.1", "h100", 1);
    s->two = scene_class(&s->scene, "h100.2", "h100", 2);
    s->three = scene_class(&s->scene, "h100.3", "h100", 3);
    s->four = scene_class(&s->scene, "h100.4", "h100", 4);
    s->eight = scene_class(&s->scene, "h100.8", "h100", 8);
    s->low = scene_priority(&s->scene, "low", 10);
    s->high = scene_priority(&s->scene, "high", 20);
    s->a = scene_tenant(&s->scene, "a");
    s->b = scene_tenant(&s->scene, "b");
    s->c = scene_tenant(&s->scene, "c");
    s->pa = scene_project(&s->scene, s->a, "pa");
    s->pb = scene_project(&s->scene, s->b, "pb");
    s->pc = scene_project(&s->scene, s->c, "pc");
}

static void
guarantees(struct stage *s, int64_t a, int64_t b, int64_t c)
{
    s->qa = scene_quota(&s->scene, s->a, DIMENSION_CARDS, CARDS(a), CARDS(64));
    s->qb = scene_quota(&s->scene, s->b, DIMENSION_CARDS, CARDS(b), CARDS(64));
    s->qc = scene_quota(&s->scene, s->c, DIMENSION_CARDS, CARDS(c), CARDS(64));
}

static struct ref
submit(struct stage *s, struct ref project, struct ref class,
       struct ref priority)
{
    return scene_submit(&s->scene, (struct job){ .project = project,
                                                 .class = class,
                                                 .priority = priority });
}

static struct ref
running(struct stage *s, struct ref project, struct ref class)
{
    return scene_running(&s->scene, (struct job){ .project = project,
                                                  .class = class,
                                                  .priority = s->low });
}

static int
state_of(const struct stage *s, struct ref ref)
{
    return scene_state(&s->scene, ref);
}

static int
count_state(const struct stage *s, const struct ref *list, int count,
            int state)
{
    int found = 0;

    for (int i = 0; i < count; i++)
        found += state_of(s, list[i]) == state;
    return found;
}

/* The victim ends after its notice, is released and the card is clean. */
static void
give_way(struct stage *s, struct ref victim)
{
    assert_int_equal(state_of(s, victim), WORKLOAD_PREEMPTING);
    scene_exit(&s->scene, victim, EXIT_CHECKPOINTED);
    scene_release(&s->scene, victim);
    scene_scrub(&s->scene);
    scene_run(&s->scene);
}

/* A tenant below its guarantee takes back burst use: notice, grace, hold,
 * confirmed release, start; the victim waits again. */
static void
guarantee_takes_back_burst_use_after_grace(void **state)
{
    struct stage s;
    struct ref burst[4], work;

    (void)state;
    stage_setup(&s, 4);
    guarantees(&s, 0, 2, 0);
    for (int i = 0; i < 4; i++)
        burst[i] = running(&s, s.pa, s.one);
    work = submit(&s, s.pb, s.two, s.low);
    scene_run(&s.scene);
    assert_int_equal(count_state(&s, burst, 4, WORKLOAD_PREEMPTING), 2);
    /* least lost work is equal: the newest go */
    assert_int_equal(state_of(&s, burst[3]), WORKLOAD_PREEMPTING);
    assert_int_equal(state_of(&s, burst[2]), WORKLOAD_PREEMPTING);
    assert_int_equal(state_of(&s, work), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, work)->reason,
                     REASON_RECLAIMING);
    assert_non_null(scene_workload(&s.scene, burst[3])->proof);
    assert_null(strstr(scene_workload(&s.scene, burst[3])->proof->bytes,
                       "pb"));
    {
        const struct instance *instance = world_instance(
            s.scene.world, scene_instance(&s.scene, burst[3]));

        assert_int_equal(instance->want, WANT_NOTICE);
        assert_int_equal(instance->deadline_ms, s.scene.now_ms + 120000);
    }
    give_way(&s, burst[3]);
    assert_int_equal(state_of(&s, work), WORKLOAD_QUEUED);
    assert_int_equal(state_of(&s, burst[3]), WORKLOAD_QUEUED);
    give_way(&s, burst[2]);
    assert_int_equal(state_of(&s, work), WORKLOAD_ASSIGNED);
    assert_true(lifecycle_is_waiting(state_of(&s, burst[2])));
    assert_int_equal(scene_workload(&s.scene, burst[2])->preemptions, 1);
    scene_teardown(&s.scene);
}

/* [S1] Two tenants ask for their guarantee in one pass: a freed card is spent
 * once, so each gets its own victims. */
static void
a_victim_is_spent_once_S1(void **state)
{
    struct stage s;
    struct ref burst[2], first, second;

    (void)state;
    stage_setup(&s, 8);
    guarantees(&s, 0, 4, 4);
    burst[0] = running(&s, s.pa, s.four);
    burst[1] = running(&s, s.pa, s.four);
    first = submit(&s, s.pb, s.four, s.low);
    second = submit(&s, s.pc, s.four, s.low);
    scene_run(&s.scene);
    assert_int_equal(count_state(&s, burst, 2, WORKLOAD_PREEMPTING), 2);
    assert_int_equal(s.scene.nominated, 2);
    give_way(&s, burst[0]);
    give_way(&s, burst[1]);
    assert_int_equal(state_of(&s, first), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, second), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S1] With one victim only, one waits; use never exceeds the cards. */
static void
one_victim_makes_room_for_one_S1(void **state)
{
    struct stage s;
    struct ref burst, fixed, first, second;

    (void)state;
    stage_setup(&s, 8);
    guarantees(&s, 4, 4, 4);
    fixed = scene_running(&s.scene, (struct job){ .project = s.pa,
                                                  .class = s.four,
                                                  .fixed = true });
    burst = running(&s, s.pa, s.four);
    first = submit(&s, s.pb, s.four, s.low);
    second = submit(&s, s.pc, s.four, s.low);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, burst), WORKLOAD_PREEMPTING);
    assert_int_equal(state_of(&s, fixed), WORKLOAD_RUNNING);
    give_way(&s, burst);
    assert_int_equal(state_of(&s, first), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, second), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* [S17] A guarantee lowered below use turns the rest into burst. */
static void
lowered_guarantee_is_reclaimable_S17(void **state)
{
    struct stage s;
    struct ref work[10], peer;

    (void)state;
    stage_setup(&s, 10);
    guarantees(&s, 10, 0, 0);
    for (int i = 0; i < 10; i++)
        work[i] = running(&s, s.pa, s.one);
    scene_change_quota(&s.scene, s.qa, CARDS(4), CARDS(10));
    scene_change_quota(&s.scene, s.qb, CARDS(6), CARDS(10));
    peer = scene_submit(&s.scene, (struct job){ .project = s.pb,
                                                .class = s.one,
                                                .instances = 6 });
    scene_run(&s.scene);
    assert_int_equal(count_state(&s, work, 10, WORKLOAD_PREEMPTING), 6);
    for (int i = 4; i < 10; i++)
        give_way(&s, work[i]);
    assert_int_equal(state_of(&s, peer), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S17] One large victim must not take its tenant below the guarantee. */
static void
guarantee_is_tested_after_the_release_S17(void **state)
{
    struct stage s;
    struct ref big, work;

    (void)state;
    stage_setup(&s, 8);
    guarantees(&s, 4, 4, 0);
    big = running(&s, s.pa, s.eight); /* 4 over, but one piece */
    work = submit(&s, s.pb, s.four, s.low);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, big), WORKLOAD_RUNNING);
    assert_int_equal(state_of(&s, work), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, work)->reason,
                     REASON_CAPACITY);
    scene_teardown(&s.scene);
}

/* Two releases in one pass together must not either. */
static void
releases_under_way_count_in_the_test(void **state)
{
    struct stage s;
    struct ref burst[4], first, second;

    (void)state;
    stage_setup(&s, 8);
    guarantees(&s, 3, 4, 1);
    for (int i = 0; i < 4; i++)
        burst[i] = running(&s, s.pa, s.two); /* 8 used, 5 over */
    first = submit(&s, s.pb, s.four, s.low);
    second = submit(&s, s.pc, s.one, s.low);
    scene_run(&s.scene);
    assert_int_equal(count_state(&s, burst, 4, WORKLOAD_PREEMPTING), 2);
    assert_int_equal(state_of(&s, first), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, first)->reason,
                     REASON_RECLAIMING);
    assert_int_equal(state_of(&s, second), WORKLOAD_QUEUED);
    assert_int_not_equal(scene_workload(&s.scene, second)->reason,
                         REASON_RECLAIMING);
    scene_teardown(&s.scene);
}

/* [S23] Nothing is preempted for work that will not start. */
static void
impossible_work_preempts_nobody_S23(void **state)
{
    struct stage s;
    struct ref burst[3], impossible, possible;

    (void)state;
    stage_setup(&s, 3);
    guarantees(&s, 0, 3, 0);
    scene_change_quota(&s.scene, s.qb, CARDS(3), CARDS(3));
    for (int i = 0; i < 3; i++)
        burst[i] = running(&s, s.pa, s.one);
    impossible = submit(&s, s.pb, s.four, s.low);
    scene_run(&s.scene);
    assert_int_equal(count_state(&s, burst, 3, WORKLOAD_RUNNING), 3);
    assert_int_equal(state_of(&s, impossible), WORKLOAD_GATED);
    assert_int_equal(scene_try(&s.scene, (struct job){ .project = s.pb,
                                                       .class = s.four })
                         .state,
                     WORKLOAD_REJECTED);
    possible = submit(&s, s.pb, s.three, s.low);
    scene_run(&s.scene);
    assert_int_equal(count_state(&s, burst, 3, WORKLOAD_PREEMPTING), 3);
    for (int i = 0; i < 3; i++)
        give_way(&s, burst[i]);
    assert_int_equal(state_of(&s, possible), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S26c] Capacity that is being freed counts before new victims are named. */
static void
freeing_capacity_counts_before_new_victims_S26c(void **state)
{
    struct stage s;
    struct ref burst[4], ending, work;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 6);
    guarantees(&s, 0, 4, 0);
    for (int i = 0; i < 4; i++)
        burst[i] = running(&s, s.pa, s.one);
    ending = running(&s, s.pa, s.two);
    changes = scene_begin(&s.scene);
    lifecycle_stop(changes, ending, WORKLOAD_CANCELLING, "cancelled", NULL);
    scene_apply(&s.scene, changes);
    work = submit(&s, s.pb, s.two, s.low);
    scene_run(&s.scene);
    assert_int_equal(count_state(&s, burst, 4, WORKLOAD_RUNNING), 4);
    assert_int_equal(s.scene.victims, 0);
    /* The same shortage is not paid for twice by a second pass. */
    scene_wait(&s.scene, 5000);
    scene_run(&s.scene);
    assert_int_equal(count_state(&s, burst, 4, WORKLOAD_RUNNING), 4);
    scene_exit(&s.scene, ending, 143);
    scene_release(&s.scene, ending);
    assert_int_equal(state_of(&s, ending), WORKLOAD_CANCELLED);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S26c] Many asks for one shortage name as many victims as are needed. */
static void
asks_beyond_the_guarantee_name_nobody_S26c(void **state)
{
    struct stage s;
    struct ref burst[8];

    (void)state;
    stage_setup(&s, 8);
    guarantees(&s, 0, 3, 0);
    for (int i = 0; i < 8; i++)
        burst[i] = running(&s, s.pa, s.one);
    for (int i = 0; i < 8; i++)
        (void)submit(&s, s.pb, s.one, s.low);
    for (int i = 0; i < 3; i++) {
        scene_run(&s.scene);
        scene_wait(&s.scene, 2000);
    }
    assert_int_equal(count_state(&s, burst, 8, WORKLOAD_PREEMPTING), 3);
    scene_teardown(&s.scene);
}

/* [S29] Every alternative without a victim comes first. */
static void
alternatives_come_before_victims_S29(void **state)
{
    struct stage s;
    struct ref burst, any, work, other, second;

    (void)state;
    stage_setup(&s, 2);
    guarantees(&s, 0, 2, 0);
    any = scene_class(&s.scene, "any.2", "", 2);
    (void)scene_node(&s.scene, s.pool, "n2", 2, "a100");
    burst = running(&s, s.pa, s.two);
    work = submit(&s, s.pb, any, s.high);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, burst), WORKLOAD_RUNNING);
    assert_int_equal(state_of(&s, work), WORKLOAD_ASSIGNED);
    /* Another pool is an alternative too. */
    second = scene_pool(&s.scene, "b");
    (void)scene_node(&s.scene, second, "n3", 2, "h100");
    scene_finish(&s.scene, work, 0);
    other = submit(&s, s.pb, s.two, s.high);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, burst), WORKLOAD_RUNNING);
    assert_int_equal(state_of(&s, other), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S30] Victims spread over nodes that no place comes from are spared. */
static void
victims_only_for_a_place_that_exists_S30(void **state)
{
    struct stage s;
    struct ref low[8], work;
    int count = 0;

    (void)state;
    stage_setup(&s, 8);
    guarantees(&s, 24, 0, 8);
    for (int n = 0; n < 3; n++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "m%d", n);
        (void)scene_node(&s.scene, s.pool, name, 8, "h100");
    }
    for (int n = 0; n < 4; n++) { /* fills node by node */
        for (int i = 0; i < 6; i++)
            (void)scene_running(&s.scene, (struct job){ .project = s.pa,
                                                        .class = s.one,
                                                        .fixed = true });
        for (int i = 0; i < 2; i++)
            low[count++] = running(&s, s.pb, s.one);
    }
    work = submit(&s, s.pc, s.eight, s.high);
    scene_run(&s.scene);
    assert_int_equal(count_state(&s, low, 8, WORKLOAD_RUNNING), 8);
    assert_int_equal(state_of(&s, work), WORKLOAD_QUEUED);
    assert_true(ref_is_none(
        world_first_child(s.scene.world, KIND_HOLD, work)));
    scene_teardown(&s.scene);
}

/* Victims: batch before service, most over guarantee, lowest priority, least
 * lost work. */
static void
victims_are_taken_in_their_order(void **state)
{
    struct stage s;
    struct ref service, batch, saved;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 3);
    guarantees(&s, 0, 0, 1);
    service = scene_running(&s.scene, (struct job){ .project = s.pa,
                                                    .class = s.one,
                                                    .kind = WORKLOAD_SERVICE,
                                                    .priority = s.low });
    batch = running(&s, s.pa, s.one);
    saved = running(&s, s.pa, s.one);
    scene_wait(&s.scene, 60000);
    changes = scene_begin(&s.scene);
    lifecycle_checkpoint(changes, scene_instance(&s.scene, batch), 5,
                         s.scene.now_ms - 1000);
    scene_apply(&s.scene, changes);
    (void)submit(&s, s.pc, s.one, s.low);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, service), WORKLOAD_RUNNING);
    assert_int_equal(state_of(&s, saved), WORKLOAD_RUNNING);
    assert_int_equal(state_of(&s, batch), WORKLOAD_PREEMPTING);
    scene_teardown(&s.scene);
}

static void
tenant_most_over_its_guarantee_goes_first(void **state)
{
    struct stage s;
    struct ref a[3], b;

    (void)state;
    stage_setup(&s, 4);
    guarantees(&s, 0, 0, 2);
    b = running(&s, s.pb, s.one);
    for (int i = 0; i < 3; i++)
        a[i] = running(&s, s.pa, s.one);
    (void)submit(&s, s.pc, s.two, s.low);
    scene_run(&s.scene);
    assert_int_equal(count_state(&s, a, 3, WORKLOAD_PREEMPTING), 2);
    assert_int_equal(state_of(&s, b), WORKLOAD_RUNNING);
    scene_teardown(&s.scene);
}

/* A victim that makes no room for the placement is left out. */
static void
victim_set_is_minimal(void **state)
{
    struct stage s;
    struct ref small, big;

    (void)state;
    stage_setup(&s, 4);
    guarantees(&s, 0, 4, 0);
    (void)scene_node(&s.scene, s.pool, "n2", 1, "h100");
    big = running(&s, s.pa, s.four);
    small = running(&s, s.pa, s.one); /* newest: first in the order */
    (void)submit(&s, s.pb, s.four, s.low);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, big), WORKLOAD_PREEMPTING);
    assert_int_equal(state_of(&s, small), WORKLOAD_RUNNING);
    scene_teardown(&s.scene);
}

/* Freed parts go to nobody else, and a nomination ends. */
static void
held_parts_go_to_nobody_else_until_they_expire(void **state)
{
    struct stage s;
    struct ref burst[2], work, thief;

    (void)state;
    stage_setup(&s, 2);
    guarantees(&s, 0, 2, 0);
    burst[0] = running(&s, s.pa, s.one);
    burst[1] = running(&s, s.pa, s.one);
    work = submit(&s, s.pb, s.two, s.low);
    scene_run(&s.scene);
    thief = submit(&s, s.pc, s.one, s.high);
    give_way(&s, burst[0]);
    assert_int_equal(state_of(&s, thief), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, thief)->reason,
                     REASON_PRIORITY);
    /* The other victim never leaves: after grace and hold time the part is
     * free for all. */
    scene_wait(&s.scene, 120000 + 300000);
    scene_run(&s.scene);
    assert_int_equal(s.scene.expired, 1);
    assert_int_equal(state_of(&s, thief), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, work), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* What is promised to a nominated workload is not there for its siblings:
 * else victims were stopped for work that its limit then keeps out. */
static void
promised_quota_is_not_given_twice_S23(void **state)
{
    struct stage s;
    struct ref burst, work, sibling, any;

    (void)state;
    stage_setup(&s, 2);
    guarantees(&s, 0, 2, 0);
    scene_change_quota(&s.scene, s.qb, CARDS(2), CARDS(2));
    (void)scene_node(&s.scene, s.pool, "n2", 1, "a100");
    any = scene_class(&s.scene, "a100.1", "a100", 1);
    burst = running(&s, s.pa, s.two);
    work = submit(&s, s.pb, s.two, s.low);
    scene_run(&s.scene);
    sibling = submit(&s, s.pb, any, s.low);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, sibling), WORKLOAD_GATED);
    assert_int_equal(scene_workload(&s.scene, sibling)->reason, REASON_LIMIT);
    give_way(&s, burst);
    assert_int_equal(state_of(&s, work), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* A nomination whose place has become impossible gives up what it holds. */
static void
impossible_nomination_is_given_up(void **state)
{
    struct stage s;
    struct ref burst[2], work, other;

    (void)state;
    stage_setup(&s, 2);
    guarantees(&s, 0, 2, 0);
    burst[0] = running(&s, s.pa, s.one);
    burst[1] = running(&s, s.pa, s.one);
    work = submit(&s, s.pb, s.two, s.low);
    scene_run(&s.scene);
    give_way(&s, burst[0]);
    {
        struct changes *changes = scene_begin(&s.scene);
        struct card *card =
            change_update(changes, scene_card_of(&s.scene, s.node, 1));

        card->health = HEALTH_FAILED;
        scene_apply(&s.scene, changes);
    }
    other = submit(&s, s.pc, s.one, s.high);
    scene_run(&s.scene);
    assert_true(ref_is_none(
        world_first_child(s.scene.world, KIND_HOLD, work)));
    assert_int_not_equal(scene_workload(&s.scene, work)->reason,
                         REASON_RECLAIMING);
    assert_int_equal(state_of(&s, other), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* Higher priority goes first in a project, also where the limit is full. */
static void
priority_preempts_inside_the_project(void **state)
{
    struct stage s;
    struct ref low, high, quota;

    (void)state;
    stage_setup(&s, 4);
    guarantees(&s, 1, 0, 0);
    quota = scene_quota(&s.scene, s.pa, DIMENSION_CARDS, 0, CARDS(1));
    low = running(&s, s.pa, s.one);
    high = submit(&s, s.pa, s.one, s.high);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, low), WORKLOAD_PREEMPTING);
    give_way(&s, low);
    assert_int_equal(state_of(&s, high), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, low), WORKLOAD_GATED);
    assert_int_equal(world_quota(s.scene.world, quota)->used, CARDS(1));
    scene_teardown(&s.scene);
}

static void
priority_does_not_cross_tenants_unless_it_may(void **state)
{
    struct stage s;
    struct ref low, high;

    (void)state;
    stage_setup(&s, 1);
    guarantees(&s, 0, 0, 0);
    low = running(&s, s.pa, s.one);
    high = submit(&s, s.pb, s.one, s.high);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, low), WORKLOAD_RUNNING);
    {
        scene_edit(&s.scene, changes, priority, s.high);
        char id[ID_TEXT_MAX], list[64];
        struct tenant *tenant = change_update(changes, s.b);

        priority->preempt_across = true;
        id_format("pr", priority->object.id, id);
        (void)snprintf(list, sizeof(list), "[\"%s\"]", id);
        change_doc(changes, &tenant->priorities, list);
        scene_apply(&s.scene, changes);
    }
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, low), WORKLOAD_PREEMPTING);
    give_way(&s, low);
    assert_int_equal(state_of(&s, high), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* A project takes back from its sibling, not from another tenant. */
static void
project_takes_back_from_its_sibling(void **state)
{
    struct stage s;
    struct ref sibling, project, own[3], foreign;

    (void)state;
    stage_setup(&s, 4);
    guarantees(&s, 3, 0, 0);
    project = scene_project(&s.scene, s.a, "pa2");
    scene_quota(&s.scene, project, DIMENSION_CARDS, CARDS(1), CARDS(3));
    for (int i = 0; i < 3; i++)
        own[i] = running(&s, s.pa, s.one);
    foreign = running(&s, s.pb, s.one);
    sibling = submit(&s, project, s.one, s.low);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, foreign), WORKLOAD_RUNNING);
    assert_int_equal(count_state(&s, own, 3, WORKLOAD_PREEMPTING), 1);
    give_way(&s, own[2]);
    assert_int_equal(state_of(&s, sibling), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* Preemption ends: nobody displaces each other for ever. */
static void
preemption_is_finite(void **state)
{
    struct stage s;
    struct ref work[6];
    int preempted = 0;

    (void)state;
    stage_setup(&s, 4);
    guarantees(&s, 2, 2, 0);
    for (int i = 0; i < 3; i++) {
        work[i] = submit(&s, s.pa, s.one, s.low);
        work[3 + i] = submit(&s, s.pb, s.one, s.high);
    }
    for (int round = 0; round < 20; round++) {
        scene_run(&s.scene);
        preempted += s.scene.victims;
        for (int i = 0; i < 6; i++) {
            if (state_of(&s, work[i]) == WORKLOAD_ASSIGNED)
                scene_start(&s.scene, work[i]);
            if (state_of(&s, work[i]) == WORKLOAD_PREEMPTING)
                give_way(&s, work[i]);
        }
        scene_wait(&s.scene, 60000);
    }
    assert_true(preempted <= 2);
    assert_int_equal(count_state(&s, work, 3, WORKLOAD_RUNNING), 2);
    assert_int_equal(count_state(&s, work + 3, 3, WORKLOAD_RUNNING), 2);
    scene_teardown(&s.scene);
}

/* [S26] Higher work that comes later takes over what is kept for lower work
 * of its tenant, when nobody else can be stopped. */
static void
nomination_moves_to_higher_work_S26(void **state)
{
    struct stage s;
    struct ref burst, lower, higher;

    (void)state;
    stage_setup(&s, 2);
    guarantees(&s, 0, 2, 0);
    burst = running(&s, s.pa, s.two);
    lower = submit(&s, s.pb, s.two, s.low);
    scene_run(&s.scene);
    assert_false(ref_is_none(
        world_first_child(s.scene.world, KIND_HOLD, lower)));
    higher = submit(&s, s.pb, s.two, s.high);
    scene_run(&s.scene);
    assert_true(ref_is_none(
        world_first_child(s.scene.world, KIND_HOLD, lower)));
    assert_false(ref_is_none(
        world_first_child(s.scene.world, KIND_HOLD, higher)));
    give_way(&s, burst);
    assert_int_equal(state_of(&s, higher), WORKLOAD_ASSIGNED);
    assert_true(lifecycle_is_waiting(state_of(&s, lower)));
    scene_teardown(&s.scene);
}

/* [S14] A tenant that may lose nothing does not end the search. */
static void
protected_tenant_does_not_end_the_search_S14(void **state)
{
    struct stage s;
    struct ref kept, burst, work;

    (void)state;
    stage_setup(&s, 8);
    guarantees(&s, 3, 1, 2);
    kept = running(&s, s.pa, s.four); /* one over, but in one piece */
    burst = running(&s, s.pb, s.four);
    scene_change_quota(&s.scene, s.qb, CARDS(0), CARDS(64));
    work = submit(&s, s.pc, s.two, s.low);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, kept), WORKLOAD_RUNNING);
    assert_int_equal(state_of(&s, burst), WORKLOAD_PREEMPTING);
    give_way(&s, burst);
    assert_int_equal(state_of(&s, work), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S22] Burst work preempts no burst work of another tenant. */
static void
burst_preempts_no_burst_of_others_S22(void **state)
{
    struct stage s;
    struct ref other, more;

    (void)state;
    stage_setup(&s, 6);
    guarantees(&s, 3, 0, 0);
    (void)running(&s, s.pa, s.four);
    (void)running(&s, s.pa, s.one);
    other = running(&s, s.pb, s.one);
    more = submit(&s, s.pa, s.one, s.high);
    for (int i = 0; i < 5; i++) {
        scene_run(&s.scene);
        scene_wait(&s.scene, 60000);
    }
    assert_int_equal(state_of(&s, other), WORKLOAD_RUNNING);
    assert_int_not_equal(state_of(&s, more), WORKLOAD_CANCELLED);
    scene_teardown(&s.scene);
}

/* b has one card above its guarantee: the second of two equal victims would
 * take from the guarantee. */
static void
of_equal_victims_only_those_above_the_guarantee_go(void **state)
{
    struct stage s;
    struct ref list[4], claim;

    (void)state;
    stage_setup(&s, 4);
    guarantees(&s, 2, 3, 0);
    for (int i = 0; i < 4; i++)
        list[i] = running(&s, s.pb, s.one);
    claim = submit(&s, s.pa, s.two, s.low);
    scene_run(&s.scene);
    assert_int_equal(count_state(&s, list, 4, WORKLOAD_RUNNING), 4);
    assert_true(lifecycle_is_waiting(state_of(&s, claim)));
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            of_equal_victims_only_those_above_the_guarantee_go),
        cmocka_unit_test(guarantee_takes_back_burst_use_after_grace),
        cmocka_unit_test(a_victim_is_spent_once_S1),
        cmocka_unit_test(one_victim_makes_room_for_one_S1),
        cmocka_unit_test(lowered_guarantee_is_reclaimable_S17),
        cmocka_unit_test(guarantee_is_tested_after_the_release_S17),
        cmocka_unit_test(releases_under_way_count_in_the_test),
        cmocka_unit_test(impossible_work_preempts_nobody_S23),
        cmocka_unit_test(freeing_capacity_counts_before_new_victims_S26c),
        cmocka_unit_test(asks_beyond_the_guarantee_name_nobody_S26c),
        cmocka_unit_test(alternatives_come_before_victims_S29),
        cmocka_unit_test(victims_only_for_a_place_that_exists_S30),
        cmocka_unit_test(victims_are_taken_in_their_order),
        cmocka_unit_test(tenant_most_over_its_guarantee_goes_first),
        cmocka_unit_test(victim_set_is_minimal),
        cmocka_unit_test(held_parts_go_to_nobody_else_until_they_expire),
        cmocka_unit_test(promised_quota_is_not_given_twice_S23),
        cmocka_unit_test(impossible_nomination_is_given_up),
        cmocka_unit_test(priority_preempts_inside_the_project),
        cmocka_unit_test(priority_does_not_cross_tenants_unless_it_may),
        cmocka_unit_test(project_takes_back_from_its_sibling),
        cmocka_unit_test(preemption_is_finite),
        cmocka_unit_test(nomination_moves_to_higher_work_S26),
        cmocka_unit_test(protected_tenant_does_not_end_the_search_S14),
        cmocka_unit_test(burst_preempts_no_burst_of_others_S22),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
