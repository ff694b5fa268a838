/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include "core/alarm.h"
#include "core/fence.h"
#include "core/observe.h"
#include "core/recovery.h"

/* Loss, recovery and fencing, with two nodes of two cards each. */

struct stage {
    struct scene scene;
    struct ref pool, n1, n2, class, tenant, project, quota;
};

static void
setup(struct stage *s)
{
    memset(s, 0, sizeof(*s));
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "p");
    s->n1 = scene_node(&s->scene, s->pool, "n1", 2, "h100");
    s->n2 = scene_node(&s->scene, s->pool, "n2", 2, "h100");
    s->class = scene_class(&s->scene, "x1", "h100", 1);
    s->tenant = scene_tenant(&s->scene, "a");
    s->project = scene_project(&s->scene, s->tenant, "pa");
    s->quota = scene_quota(&s->scene, s->tenant, DIMENSION_CARDS, 0, CARDS(4));
}

static struct job
job(const struct stage *s, int recovery)
{
    return (struct job){ .project = s->project,
                         .class = s->class,
                         .recovery = recovery };
}

static struct ref
node_of(const struct stage *s, struct ref work)
{
    return world_instance(s->scene.world, scene_instance(&s->scene, work))
        ->node;
}

static void
lose(struct stage *s, struct ref node)
{
    struct changes *changes = scene_begin(&s->scene);

    observe_lost(changes, node);
    scene_apply(&s->scene, changes);
}

static int
fence(struct stage *s, struct ref node, const char *reason, struct error *err)
{
    struct changes *changes = scene_begin(&s->scene);
    int result = fence_node(changes, node, reason, err);

    if (result == 0) {
        scene_apply(&s->scene, changes);
    } else {
        arena_free(s->scene.arena);
        s->scene.arena = NULL;
    }
    return result;
}

/* The node says what it has; instance NULL: nothing. */
static void
say(struct stage *s, struct ref node, const char *instance,
    enum report_state state, bool released)
{
    struct report_instance fact = { .instance = instance,
                                    .incarnation = 1,
                                    .state = state,
                                    .failure = "",
                                    .checkpoint_step = -1 };
    struct report_release release = { .instance = instance,
                                      .incarnation = 1 };
    struct report report = { .ready = true,
                             .instances_known = true,
                             .instances = &fact,
                             .instance_count = instance != NULL,
                             .releases = &release,
                             .release_count = released };
    struct changes *changes = scene_begin(&s->scene);

    (void)observe_report(changes, node, &report);
    scene_apply(&s->scene, changes);
}

static const char *
id_of(struct ref ref, const struct stage *s, char text[ID_TEXT_MAX])
{
    object_id_text(s->scene.world, ref, text);
    return text;
}

static int64_t
used(const struct stage *s)
{
    return world_quota(s->scene.world, s->quota)->used;
}

static const struct node *
node_at(const struct stage *s, struct ref ref)
{
    return world_node(s->scene.world, ref);
}

/* The first recovery comes at once, the second 5 s later, and the third, its
 * limit says, is none.  It never goes where it was lost. */
static void
recovery_has_a_limit_waits_longer_and_shuns_the_place(void **state)
{
    struct stage s;
    struct ref work, first, second;

    (void)state;
    setup(&s);
    {
        scene_edit(&s.scene, changes, platform, s.scene.platform);

        platform->recovery_limit = 2;
        scene_apply(&s.scene, changes);
    }
    (void)scene_node(&s.scene, s.pool, "n3", 1, "h100");
    work = scene_running(&s.scene, job(&s, RECOVERY_ANY));
    first = node_of(&s, work);
    lose(&s, first);
    scene_run(&s.scene);
    scene_start(&s.scene, work);
    second = node_of(&s, work);
    assert_false(ref_equal(first, second));
    say(&s, first, NULL, REPORT_GONE, false);
    assert_int_equal(node_at(&s, first)->state, NODE_SCHEDULABLE);
    scene_scrub(&s.scene);
    lose(&s, second);
    assert_int_equal(scene_workload(&s.scene, work)->recoveries, 2);
    assert_int_equal(scene_workload(&s.scene, work)->next_try_ms,
                     s.scene.now_ms + 5000);
    scene_wait(&s.scene, 4999);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    scene_wait(&s.scene, 1);
    scene_run(&s.scene);
    /* The first node has two free cards, the third node one. */
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    assert_false(ref_equal(node_of(&s, work), first));
    scene_start(&s.scene, work);
    lose(&s, node_of(&s, work));
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_LOST);
    assert_string_equal(
        recovery_why_not(s.scene.world, scene_workload(&s.scene, work)),
        "it has recovered as often as it may");
    scene_teardown(&s.scene);
}

static void
work_waits_when_only_the_place_that_failed_is_free(void **state)
{
    struct stage s;
    struct ref work, at;

    (void)state;
    setup(&s);
    work = scene_running(&s.scene, job(&s, RECOVERY_ANY));
    at = node_of(&s, work);
    {
        struct ref other = ref_equal(at, s.n1) ? s.n2 : s.n1;
        scene_edit(&s.scene, changes, node, other);

        node->state = NODE_CORDONED;
        scene_apply(&s.scene, changes);
    }
    lose(&s, at);
    say(&s, at, NULL, REPORT_GONE, false);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    assert_non_null(strstr(scene_workload(&s.scene, work)->reason_text,
                           "where it was lost before"));
    scene_teardown(&s.scene);
}

/* The narrowest of workload, tenant and platform. */
static void
ceilings_bound_what_a_workload_asks(void **state)
{
    struct stage s;
    struct workload wish;
    struct error err;

    (void)state;
    setup(&s);
    wish = (struct workload){ .object.parent = s.project,
                              .recovery = RECOVERY_ANY };
    assert_int_equal(recovery_check(s.scene.world, &wish, &err), 0);
    assert_int_equal(recovery_limit(s.scene.world, &wish), 3);
    {
        scene_edit(&s.scene, changes, tenant, s.tenant);

        tenant->recovery_most = MOST_SAME_POOL;
        tenant->recovery_limit = 2;
        scene_apply(&s.scene, changes);
    }
    assert_int_equal(recovery_policy(s.scene.world, &wish),
                     RECOVERY_SAME_POOL);
    assert_int_equal(recovery_limit(s.scene.world, &wish), 2);
    assert_int_equal(recovery_check(s.scene.world, &wish, &err), -1);
    assert_string_equal(err.field, "/recovery");
    assert_non_null(strstr(err.text, "which is same-pool"));
    wish.recovery = RECOVERY_SAME_POOL;
    wish.recovery_limit = 3;
    assert_int_equal(recovery_check(s.scene.world, &wish, &err), -1);
    assert_string_equal(err.field, "/recovery_limit");
    wish.recovery_limit = 2;
    assert_int_equal(recovery_check(s.scene.world, &wish, &err), 0);
    {
        scene_edit(&s.scene, changes, platform, s.scene.platform);

        platform->recovery_most = MOST_NEVER;
        scene_apply(&s.scene, changes);
    }
    assert_false(recovery_may(s.scene.world, &wish));
    scene_teardown(&s.scene);
}

/* A node that is heard is drained, not given up; nor twice, nor without a
 * reason. */
static void
only_a_lost_node_is_fenced_and_once(void **state)
{
    struct stage s;
    struct error err;

    (void)state;
    setup(&s);
    assert_int_equal(fence(&s, s.n1, "it is off", &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_non_null(strstr(err.text, "is not lost"));
    assert_non_null(strstr(err.help, "drain node n1"));
    lose(&s, s.n1);
    assert_int_equal(fence(&s, s.n1, "", &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_int_equal(fence(&s, s.n1, "it is off", &err), 0);
    assert_int_equal(fence(&s, s.n1, "it is off", &err), -1);
    assert_non_null(strstr(err.text, "fenced"));
    scene_teardown(&s.scene);
}

/* Until then neither card nor quota of a lost instance is anybody's. */
static void
nothing_of_a_lost_node_is_used_again_before_it_is_fenced(void **state)
{
    struct stage s;
    struct ref work, at;
    struct error err;

    (void)state;
    setup(&s);
    work = scene_running(&s.scene, job(&s, RECOVERY_NEVER));
    at = node_of(&s, work);
    lose(&s, at);
    scene_wait(&s.scene, 3600000);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_LOST);
    assert_int_equal(used(&s), CARDS(1));
    assert_int_equal(fence(&s, at, "power was cut", &err), 0);
    assert_int_equal(used(&s), 0);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_FAILED);
    assert_string_equal(scene_workload(&s.scene, work)->reason_text,
                        "its node was lost and given up, and its recovery "
                        "policy is never; submit it again");
    assert_int_equal(node_at(&s, at)->state, NODE_LOST);
    assert_string_equal(node_at(&s, at)->fence_reason, "power was cut");
    scene_teardown(&s.scene);
}

/* The word was wrong: the container runs on.  It is listed until the node says
 * that it is gone; no scrub counts for its card meanwhile, and the node takes
 * nothing. */
static void
a_fenced_node_kills_what_is_left_before_its_cards_are_free(void **state)
{
    struct stage s;
    struct ref work, at, card = { 0 };
    char id[ID_TEXT_MAX];
    const char *uuid;
    struct error err;

    (void)state;
    setup(&s);
    work = scene_running(&s.scene, job(&s, RECOVERY_NEVER));
    at = node_of(&s, work);
    world_each_child(s.scene.world, KIND_BINDING,
                     scene_instance(&s.scene, work), ref)
        card = world_binding(s.scene.world, ref)->card;
    uuid = world_card(s.scene.world, card)->uuid;
    (void)id_of(scene_instance(&s.scene, work), &s, id);
    lose(&s, at);
    assert_int_equal(fence(&s, at, "it is off", &err), 0);
    assert_true(fence_holds(node_at(&s, at), uuid));
    for (int i = 0; i < 2; i++) {
        struct report_scrub scrub = { .uuid = uuid,
                                      .verified = true,
                                      .text = "patterns" };
        struct report report = { .scrubs = &scrub, .scrub_count = 1 };
        struct changes *changes;

        say(&s, at, id, i == 0 ? REPORT_RUNNING : REPORT_EXITED, false);
        changes = scene_begin(&s.scene);
        (void)observe_report(changes, at, &report);
        scene_apply(&s.scene, changes);
        assert_true(fence_holds(node_at(&s, at), uuid));
        assert_int_equal(node_at(&s, at)->state, NODE_LOST);
        assert_int_equal(world_card(s.scene.world, card)->handover,
                         HANDOVER_PENDING);
    }
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_FAILED);
    say(&s, at, id, REPORT_EXITED, true);
    assert_false(fence_holds(node_at(&s, at), NULL));
    assert_int_equal(node_at(&s, at)->state, NODE_CORDONED);
    assert_int_equal(node_at(&s, at)->fenced_ms, 0);
    /* And only now it is cleaned. */
    {
        struct report_scrub scrub = { .uuid = uuid,
                                      .verified = true,
                                      .text = "patterns" };
        struct report report = { .scrubs = &scrub, .scrub_count = 1 };
        struct changes *changes = scene_begin(&s.scene);

        (void)observe_report(changes, at, &report);
        scene_apply(&s.scene, changes);
    }
    assert_int_equal(world_card(s.scene.world, card)->handover,
                     HANDOVER_CLEAN);
    scene_teardown(&s.scene);
}

/* A machine that was started anew has nothing left of it. */
static void
a_fenced_node_without_the_instance_is_back_at_once(void **state)
{
    struct stage s;
    struct ref work, at;
    struct error err;

    (void)state;
    setup(&s);
    work = scene_running(&s.scene, job(&s, RECOVERY_ANY));
    at = node_of(&s, work);
    lose(&s, at);
    scene_run(&s.scene);
    assert_int_equal(used(&s), CARDS(2));
    assert_int_equal(fence(&s, at, "it is off", &err), 0);
    assert_int_equal(used(&s), CARDS(1));
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    say(&s, at, NULL, REPORT_GONE, false);
    assert_int_equal(node_at(&s, at)->state, NODE_CORDONED);
    scene_teardown(&s.scene);
}

/* Members elsewhere get notice, and it fails as a whole. */
static void
a_gang_does_not_go_on_without_what_was_given_up(void **state)
{
    struct stage s;
    struct job gang;
    struct ref work;
    struct error err;

    (void)state;
    setup(&s);
    gang = job(&s, RECOVERY_NEVER);
    gang.instances = 4;
    work = scene_running(&s.scene, gang);
    lose(&s, s.n1);
    assert_int_equal(fence(&s, s.n1, "it is off", &err), 0);
    assert_int_equal(used(&s), CARDS(2));
    world_each_child(s.scene.world, KIND_INSTANCE, work, ref) {
        const struct instance *instance =
            world_instance(s.scene.world, ref);

        if (ref_equal(instance->node, s.n2))
            assert_int_equal(instance->want, WANT_NOTICE);
        else
            assert_int_equal(instance->state, INSTANCE_RELEASED);
    }
    scene_exit(&s.scene, work, 0);
    scene_release(&s.scene, work);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_FAILED);
    assert_int_equal(used(&s), 0);
    scene_teardown(&s.scene);
}

/* [N26] Not yet known is no refusal: a node has enrolled, and what it has was
 * not told yet. */
static void
work_waits_for_a_node_that_has_not_spoken_yet(void **state)
{
    struct stage s;
    struct ref n3, four;
    struct job wish;
    struct ref work;

    (void)state;
    setup(&s);
    four = scene_class(&s.scene, "x4", "h100", 4);
    wish = (struct job){ .project = s.project, .class = four };
    assert_int_equal(scene_try(&s.scene, wish).state, WORKLOAD_REJECTED);
    n3 = scene_node(&s.scene, s.pool, "n3", 4, "h100");
    {
        scene_edit(&s.scene, changes, node, n3);

        node->epoch = 1;
        node->cpu_milli = node->memory_mib = 0;
        scene_apply(&s.scene, changes);
    }
    assert_int_equal(scene_try(&s.scene, wish).state, WORKLOAD_GATED);
    work = scene_submit(&s.scene, wish);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_GATED);
    assert_non_null(strstr(scene_workload(&s.scene, work)->reason_text,
                           "has not said yet what it has"));
    {
        scene_edit(&s.scene, changes, node, n3);

        node->cpu_milli = 64000;
        node->memory_mib = 262144;
        change_doc(changes, &node->facts, "{\"kernel\":\"6.1\"}");
        scene_apply(&s.scene, changes);
    }
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [N48] Cards that broke while they were held make what is free nothing, and
 * never a large number: more is promised than is healthy. */
static void
fewer_healthy_cards_than_held_ones_leave_nothing_free(void **state)
{
    struct stage s;
    struct job gang;
    struct ref waits;
    int64_t held = 0, healthy = 0;

    (void)state;
    setup(&s);
    gang = job(&s, RECOVERY_NEVER);
    gang.instances = 3;
    (void)scene_running(&s.scene, gang);
    {
        struct changes *changes = scene_begin(&s.scene);

        world_each(s.scene.world, KIND_CARD, ref)
            if (world_card(s.scene.world, ref)->used_milli > 0 &&
                healthy++ < 2)
                ((struct card *)change_update(changes, ref))->health =
                    HEALTH_DEGRADED;
        scene_apply(&s.scene, changes);
    }
    healthy = 0;
    world_each(s.scene.world, KIND_CARD, ref) {
        held += world_card(s.scene.world, ref)->used_milli / 1000;
        healthy += world_card(s.scene.world, ref)->health == HEALTH_HEALTHY;
    }
    assert_int_equal(held, 3);
    assert_int_equal(healthy, 2);
    gang.instances = 2;
    waits = scene_submit(&s.scene, gang);
    scene_run(&s.scene);
    assert_true(lifecycle_is_waiting(scene_state(&s.scene, waits)));
    /* One card is healthy and nobody's: that is all there is. */
    assert_true(scene_workload(&s.scene, waits)->have <= CARDS(4));
    gang.instances = 1;
    waits = scene_submit(&s.scene, gang);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, waits), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            recovery_has_a_limit_waits_longer_and_shuns_the_place),
        cmocka_unit_test(work_waits_when_only_the_place_that_failed_is_free),
        cmocka_unit_test(ceilings_bound_what_a_workload_asks),
        cmocka_unit_test(only_a_lost_node_is_fenced_and_once),
        cmocka_unit_test(
            nothing_of_a_lost_node_is_used_again_before_it_is_fenced),
        cmocka_unit_test(
            a_fenced_node_kills_what_is_left_before_its_cards_are_free),
        cmocka_unit_test(a_fenced_node_without_the_instance_is_back_at_once),
        cmocka_unit_test(a_gang_does_not_go_on_without_what_was_given_up),
        cmocka_unit_test(work_waits_for_a_node_that_has_not_spoken_yet),
        cmocka_unit_test(
            fewer_healthy_cards_than_held_ones_leave_nothing_free),
    };

    return cmocka_run_group_tests_name("fence", tests, NULL, NULL);
}
