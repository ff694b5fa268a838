/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

/* What events do to workloads and instances. */

struct stage {
    struct scene scene;
    struct ref pool, node, class, tenant, project, quota;
};

static void
stage_setup(struct stage *s, int cards)
{
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    s->node = scene_node(&s->scene, s->pool, "n1", cards, "h100");
    s->class = scene_class(&s->scene, "h100.1", "h100", 1);
    s->tenant = scene_tenant(&s->scene, "vision");
    s->project = scene_project(&s->scene, s->tenant, "p1");
    s->quota = scene_quota(&s->scene, s->tenant, DIMENSION_CARDS, 0,
                           CARDS(cards));
}

static struct job
job_of(const struct stage *s, int64_t instances)
{
    return (struct job){ .project = s->project,
                         .class = s->class,
                         .instances = instances };
}

static int64_t
used(const struct stage *s)
{
    return world_quota(s->scene.world, s->quota)->used;
}

static int
state_of(const struct stage *s, struct ref ref)
{
    return scene_state(&s->scene, ref);
}

static void
break_card(struct stage *s, int number)
{
    struct ref ref = scene_card_of(&s->scene, s->node, number);
    struct changes *changes = scene_begin(&s->scene);

    ((struct card *)change_update(changes, ref))->health = HEALTH_FAILED;
    lifecycle_card_failed(changes, ref);
    scene_apply(&s->scene, changes);
}

/* No restarts are allowed, and none is taken: it runs on another card, before
 * work that came after it. */
static void
a_failed_card_costs_no_restart_and_no_turn(void **state)
{
    struct stage s;
    struct ref work, later;

    (void)state;
    stage_setup(&s, 2);
    work = scene_running(&s.scene, job_of(&s, 1));
    break_card(&s, 0);
    assert_int_equal(state_of(&s, work), WORKLOAD_RUNNING);
    later = scene_submit(&s.scene, job_of(&s, 1));
    scene_exit(&s.scene, work, 1);
    scene_release(&s.scene, work);
    assert_int_equal(state_of(&s, work), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, work)->failures, 0);
    scene_run(&s.scene);
    scene_start(&s.scene, work);
    assert_int_equal(state_of(&s, work), WORKLOAD_RUNNING);
    assert_true(lifecycle_is_waiting(state_of(&s, later)));
    /* On a sound card the same end is its own. */
    scene_exit(&s.scene, work, 1);
    scene_release(&s.scene, work);
    assert_int_equal(state_of(&s, work), WORKLOAD_FAILED);
    scene_teardown(&s.scene);
}

static void
work_goes_through_its_states(void **state)
{
    struct stage s;
    struct ref work, instance;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 1);
    work = scene_submit(&s.scene, job_of(&s, 1));
    assert_int_equal(state_of(&s, work), WORKLOAD_QUEUED);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_workload(&s.scene, work)->attempt, 1);
    instance = scene_instance(&s.scene, work);
    assert_int_equal(world_instance(s.scene.world, instance)->uid_base % 65536,
                     0);
    assert_int_equal(world_instance(s.scene.world, instance)->address, 2);
    changes = scene_begin(&s.scene);
    lifecycle_starting(changes, instance);
    scene_apply(&s.scene, changes);
    assert_int_equal(state_of(&s, work), WORKLOAD_STARTING);
    scene_start(&s.scene, work);
    assert_int_equal(state_of(&s, work), WORKLOAD_RUNNING);
    scene_wait(&s.scene, 1000);
    scene_exit(&s.scene, work, 0);
    assert_int_equal(state_of(&s, work), WORKLOAD_RUNNING);
    scene_release(&s.scene, work);
    assert_int_equal(state_of(&s, work), WORKLOAD_SUCCEEDED);
    assert_int_equal(used(&s), 0);
    scene_teardown(&s.scene);
}

/* [S45] Cards and quota come back by confirmed release alone. */
static void
cards_come_back_by_confirmed_release_alone_S45(void **state)
{
    struct stage s;
    struct ref first, second, card;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 1);
    first = scene_running(&s.scene, job_of(&s, 1));
    second = scene_submit(&s.scene, job_of(&s, 1));
    changes = scene_begin(&s.scene);
    lifecycle_stop(changes, first, WORKLOAD_CANCELLING, "cancelled", NULL);
    scene_apply(&s.scene, changes);
    scene_run(&s.scene);
    assert_int_equal(used(&s), CARDS(1));
    scene_exit(&s.scene, first, 143);
    scene_run(&s.scene);
    assert_int_equal(used(&s), CARDS(1));
    assert_int_equal(state_of(&s, second), WORKLOAD_GATED);
    scene_release(&s.scene, first);
    card = scene_card_of(&s.scene, s.node, 0);
    assert_int_equal(world_card(s.scene.world, card)->handover,
                     HANDOVER_PENDING);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, first), WORKLOAD_CANCELLED);
    assert_int_equal(state_of(&s, second), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* Another tenant waits for the handover, the same one does not. */
static void
another_tenant_waits_for_the_handover(void **state)
{
    struct stage s;
    struct ref other, project, first, second;

    (void)state;
    stage_setup(&s, 1);
    other = scene_tenant(&s.scene, "research");
    project = scene_project(&s.scene, other, "p");
    first = scene_running(&s.scene, job_of(&s, 1));
    second = scene_submit(&s.scene,
                          (struct job){ .project = project,
                                        .class = s.class });
    scene_exit(&s.scene, first, 0);
    scene_release(&s.scene, first);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, second), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, second)->reason,
                     REASON_HANDOVER);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, second), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S12b] A release that is reported again, or late, changes nothing. */
static void
release_happens_once_S12b(void **state)
{
    struct stage s;
    struct ref first, old, again;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 2);
    first = scene_running(&s.scene,
                          (struct job){ .project = s.project,
                                        .class = s.class,
                                        .restarts = 3 });
    old = scene_instance(&s.scene, first);
    scene_exit(&s.scene, first, 1);
    scene_release(&s.scene, first);
    assert_int_equal(used(&s), 0);
    changes = scene_begin(&s.scene);
    lifecycle_released(changes, old);
    scene_apply(&s.scene, changes);
    assert_int_equal(used(&s), 0);
    scene_wait(&s.scene, 3600000);
    again = scene_submit(&s.scene, job_of(&s, 1));
    scene_run(&s.scene);
    scene_start(&s.scene, first);
    assert_int_equal(used(&s), CARDS(2));
    /* A second report about the first attempt, while the next one runs. */
    changes = scene_begin(&s.scene);
    lifecycle_released(changes, old);
    lifecycle_exited(changes, old, 0, false);
    lifecycle_started(changes, old);
    scene_apply(&s.scene, changes);
    assert_int_equal(used(&s), CARDS(2));
    assert_int_equal(state_of(&s, first), WORKLOAD_RUNNING);
    assert_int_equal(state_of(&s, again), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S10] Nothing brings finished work back. */
static void
terminal_states_absorb_S10(void **state)
{
    struct stage s;
    struct ref work, instance;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 1);
    work = scene_running(&s.scene, job_of(&s, 1));
    instance = scene_instance(&s.scene, work);
    scene_exit(&s.scene, work, 0);
    scene_release(&s.scene, work);
    assert_int_equal(state_of(&s, work), WORKLOAD_SUCCEEDED);
    changes = scene_begin(&s.scene);
    lifecycle_starting(changes, instance);
    lifecycle_started(changes, instance);
    lifecycle_start_failed(changes, instance, "late");
    lifecycle_exited(changes, instance, 9, true);
    lifecycle_back(changes, instance);
    lifecycle_lost(changes, s.node);
    lifecycle_released(changes, instance);
    lifecycle_checkpoint(changes, instance, 7, s.scene.now_ms);
    lifecycle_stop(changes, work, WORKLOAD_PREEMPTING, "late", NULL);
    assert_true(change_is_empty(changes));
    scene_apply(&s.scene, changes);
    scene_wait(&s.scene, 3600000);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_SUCCEEDED);
    assert_int_equal(used(&s), 0);
    scene_teardown(&s.scene);
}

/* [S12] The charge target is part of the allocation: a world that is loaded
 * again counts the same, whatever has been reconfigured since. */
static void
reload_counts_the_same_S12(void **state)
{
    static const enum kind kinds[] = {
        KIND_PLATFORM, KIND_POOL,     KIND_NODE,     KIND_CARD,
        KIND_CLASS,    KIND_TENANT,   KIND_PROJECT,  KIND_QUOTA,
        KIND_WORKLOAD, KIND_INSTANCE, KIND_BINDING,
    };
    const struct hash_key key = { 5, 5 };
    struct stage s;
    struct world *again;
    struct ref other;

    (void)state;
    stage_setup(&s, 4);
    other = scene_project(&s.scene, s.tenant, "p2");
    scene_quota(&s.scene, s.project, DIMENSION_CARDS, 0, CARDS(4));
    scene_quota(&s.scene, other, DIMENSION_CARDS, 0, CARDS(4));
    (void)scene_running(&s.scene, job_of(&s, 1));
    (void)scene_running(&s.scene, (struct job){ .project = other,
                                                .class = s.class,
                                                .instances = 2 });
    again = world_new(&key);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        world_each(s.scene.world, kinds[i], ref) {
            struct ref slot = world_reserve(
                again, kinds[i], world_object(s.scene.world, ref)->id);

            assert_int_equal(slot.index, ref.index);
        }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        world_each(s.scene.world, kinds[i], ref) {
            struct arena *arena = arena_new();
            size_t size = schema_get(kinds[i])->size;
            char *image = arena_alloc(arena, size);

            memcpy(image, world_get(s.scene.world, ref), size);
            if (kinds[i] == KIND_QUOTA)
                ((struct quota *)(void *)image)->used = 0;
            if (kinds[i] == KIND_CARD)
                ((struct card *)(void *)image)->used_milli =
                    ((struct card *)(void *)image)->used_memory_mib = 0;
            if (kinds[i] == KIND_NODE)
                ((struct node *)(void *)image)->used_cpu_milli =
                    ((struct node *)(void *)image)->used_memory_mib = 0;
            world_load(again, image);
            arena_free(arena);
        }
    world_each(s.scene.world, KIND_QUOTA, ref)
        assert_int_equal(world_quota(again, ref)->used,
                         world_quota(s.scene.world, ref)->used);
    scene_check(again);
    world_free(again);
    scene_teardown(&s.scene);
}

/* [S46] A node that is silent changes no assignment, and its work goes on
 * when it is back. */
static void
silent_node_changes_no_binding_S46(void **state)
{
    struct stage s;
    struct ref work, second, instance;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 1);
    (void)scene_node(&s.scene, s.pool, "n2", 1, "h100");
    work = scene_running(&s.scene, job_of(&s, 1));
    instance = scene_instance(&s.scene, work);
    s.scene.keep_stale_nodes = true;
    scene_wait(&s.scene, 29000);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_RUNNING);
    scene_wait(&s.scene, 2000);
    changes = scene_begin(&s.scene);
    lifecycle_lost(changes, s.node);
    scene_apply(&s.scene, changes);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_LOST);
    assert_int_equal(used(&s), CARDS(1));
    second = scene_submit(&s.scene, job_of(&s, 1));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, second), WORKLOAD_GATED);
    changes = scene_begin(&s.scene);
    lifecycle_back(changes, instance);
    scene_apply(&s.scene, changes);
    assert_int_equal(state_of(&s, work), WORKLOAD_RUNNING);
    assert_int_equal(scene_workload(&s.scene, work)->attempt, 1);
    scene_teardown(&s.scene);
}

/* By its recovery policy lost work begins elsewhere; the stale instance stays
 * bound until its node confirms, and is stopped when it is back. */
static void
lost_work_recovers_elsewhere_if_it_may(void **state)
{
    struct stage s;
    struct ref work, stale, at;
    struct changes *changes;
    struct job job;

    (void)state;
    stage_setup(&s, 2);
    (void)scene_node(&s.scene, s.pool, "n2", 1, "h100");
    job = job_of(&s, 1);
    job.recovery = RECOVERY_ANY;
    work = scene_running(&s.scene, job);
    stale = scene_instance(&s.scene, work);
    at = world_instance(s.scene.world, stale)->node;
    changes = scene_begin(&s.scene);
    ((struct node *)change_update(changes, at))->state = NODE_LOST;
    lifecycle_lost(changes, at);
    scene_apply(&s.scene, changes);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_workload(&s.scene, work)->attempt, 2);
    assert_int_equal(used(&s), CARDS(2));
    changes = scene_begin(&s.scene);
    lifecycle_back(changes, stale);
    scene_apply(&s.scene, changes);
    assert_int_equal(world_instance(s.scene.world, stale)->want, WANT_STOP);
    changes = scene_begin(&s.scene);
    lifecycle_exited(changes, stale, 137, false);
    lifecycle_released(changes, stale);
    scene_apply(&s.scene, changes);
    assert_int_equal(used(&s), CARDS(1));
    assert_int_equal(state_of(&s, work), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S48] A failed start backs off, goes to another node, and ends at last. */
static void
failed_starts_back_off_and_go_elsewhere_S48(void **state)
{
    struct stage s;
    struct ref work, first;
    int tries = 0;

    (void)state;
    stage_setup(&s, 1);
    (void)scene_node(&s.scene, s.pool, "n2", 1, "h100");
    work = scene_submit(&s.scene, job_of(&s, 1));
    scene_run(&s.scene);
    first = world_instance(s.scene.world, scene_instance(&s.scene, work))
                ->node;
    do {
        struct changes *changes = scene_begin(&s.scene);
        struct ref instance = scene_instance(&s.scene, work);

        lifecycle_start_failed(changes, instance, "no such image");
        scene_apply(&s.scene, changes);
        assert_int_equal(used(&s), CARDS(1));
        changes = scene_begin(&s.scene);
        lifecycle_released(changes, instance);
        scene_apply(&s.scene, changes);
        scene_scrub(&s.scene);
        tries++;
        if (lifecycle_is_over(state_of(&s, work)))
            break;
        assert_int_equal(scene_workload(&s.scene, work)->reason,
                         REASON_BACKOFF);
        scene_run(&s.scene); /* not before its time */
        assert_int_equal(state_of(&s, work), WORKLOAD_QUEUED);
        scene_wait(&s.scene, 601000);
        scene_run(&s.scene);
        assert_int_equal(state_of(&s, work), WORKLOAD_ASSIGNED);
        if (tries == 1)
            assert_false(ref_equal(
                first, world_instance(s.scene.world,
                                      scene_instance(&s.scene, work))
                           ->node));
    } while (tries < 20);
    assert_int_equal(state_of(&s, work), WORKLOAD_FAILED);
    assert_true(tries > 2 && tries < 10);
    assert_non_null(strstr(scene_workload(&s.scene, work)->reason_text,
                           "no such image"));
    scene_teardown(&s.scene);
}

/* Where no node has the image, another try would end as the first did. */
static void
a_start_without_an_image_anywhere_is_not_tried_again(void **state)
{
    struct stage s;
    struct ref work, instance;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 1);
    work = scene_submit(&s.scene, job_of(&s, 1));
    scene_run(&s.scene);
    instance = scene_instance(&s.scene, work);
    changes = scene_begin(&s.scene);
    (void)snprintf(((struct workload *)change_update(changes, work))->image,
                   TEXT_MAX_SIZE, "gone@sha256:00");
    change_doc(changes, &((struct node *)change_update(changes, s.node))->facts,
               "{\"images\":[\"base\"]}");
    lifecycle_start_failed(changes, instance, "there is no image \"gone\"");
    scene_apply(&s.scene, changes);
    scene_release(&s.scene, work);
    assert_int_equal(state_of(&s, work), WORKLOAD_FAILED);
    assert_non_null(strstr(scene_workload(&s.scene, work)->reason_text,
                           "no node has the image \"gone\""));
    assert_int_equal(scene_workload(&s.scene, work)->failures, 1);
    scene_teardown(&s.scene);
}

static void
restarts_are_counted(void **state)
{
    struct stage s;
    struct ref work;
    struct job job;

    (void)state;
    stage_setup(&s, 1);
    job = job_of(&s, 1);
    job.restarts = 1;
    work = scene_running(&s.scene, job);
    scene_exit(&s.scene, work, 3);
    scene_release(&s.scene, work);
    assert_int_equal(state_of(&s, work), WORKLOAD_QUEUED);
    scene_wait(&s.scene, 60000);
    scene_run(&s.scene);
    scene_start(&s.scene, work);
    scene_exit(&s.scene, work, 4);
    scene_release(&s.scene, work);
    assert_int_equal(state_of(&s, work), WORKLOAD_FAILED);
    assert_int_equal(scene_workload(&s.scene, work)->exit_code, 4);
    scene_teardown(&s.scene);
}

/* A gang ends as a whole: one failure stops the others, with notice. */
static void
gang_fails_as_a_whole(void **state)
{
    struct stage s;
    struct ref work, first, second;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 2);
    work = scene_running(&s.scene, job_of(&s, 2));
    first = world_first_child(s.scene.world, KIND_INSTANCE, work);
    second = world_next_child(s.scene.world, first);
    changes = scene_begin(&s.scene);
    lifecycle_exited(changes, first, 2, false);
    scene_apply(&s.scene, changes);
    assert_int_equal(world_instance(s.scene.world, second)->want,
                     WANT_NOTICE);
    changes = scene_begin(&s.scene);
    lifecycle_released(changes, first);
    lifecycle_exited(changes, second, 143, false);
    scene_apply(&s.scene, changes);
    assert_int_equal(state_of(&s, work), WORKLOAD_RUNNING);
    changes = scene_begin(&s.scene);
    lifecycle_released(changes, second);
    scene_apply(&s.scene, changes);
    assert_int_equal(state_of(&s, work), WORKLOAD_FAILED);
    assert_int_equal(scene_workload(&s.scene, work)->exit_code, 2);
    scene_teardown(&s.scene);
}

/* Preempted work that ends well in its grace is done, else it waits again. */
static void
preempted_work_may_end_well(void **state)
{
    struct stage s;
    struct ref work[2];

    (void)state;
    stage_setup(&s, 2);
    for (int i = 0; i < 2; i++) {
        struct changes *changes;

        work[i] = scene_running(&s.scene, job_of(&s, 1));
        changes = scene_begin(&s.scene);
        lifecycle_stop(changes, work[i], WORKLOAD_PREEMPTING, "preempted",
                       "{\"rule\":\"test\"}");
        scene_apply(&s.scene, changes);
    }
    scene_exit(&s.scene, work[0], 0);
    scene_release(&s.scene, work[0]);
    assert_int_equal(state_of(&s, work[0]), WORKLOAD_SUCCEEDED);
    scene_exit(&s.scene, work[1], EXIT_CHECKPOINTED);
    scene_release(&s.scene, work[1]);
    assert_int_equal(state_of(&s, work[1]), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, work[1])->failures, 0);
    scene_teardown(&s.scene);
}

/* Work that was not started yet has nothing to save: it is stopped at once. */
static void
stop_gives_grace_to_what_runs(void **state)
{
    struct stage s;
    struct ref work;
    struct changes *changes;
    const struct instance *instance;

    (void)state;
    stage_setup(&s, 1);
    work = scene_submit(&s.scene, job_of(&s, 1));
    scene_run(&s.scene);
    changes = scene_begin(&s.scene);
    lifecycle_stop(changes, work, WORKLOAD_CANCELLING, "cancelled", NULL);
    scene_apply(&s.scene, changes);
    instance = world_instance(s.scene.world, scene_instance(&s.scene, work));
    assert_int_equal(instance->want, WANT_STOP);
    scene_release(&s.scene, work);
    assert_int_equal(state_of(&s, work), WORKLOAD_CANCELLED);
    scene_teardown(&s.scene);
}

static void
grace_is_capped_by_the_platform(void **state)
{
    struct stage s;
    struct workload work = { .kind = WORKLOAD_BATCH };

    (void)state;
    stage_setup(&s, 1);
    assert_int_equal(lifecycle_grace(s.scene.world, &work), 120000);
    work.kind = WORKLOAD_SERVICE;
    assert_int_equal(lifecycle_grace(s.scene.world, &work), 30000);
    work.grace_ms = INT64_C(86400000);
    assert_int_equal(lifecycle_grace(s.scene.world, &work), 600000);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_goes_through_its_states),
        cmocka_unit_test(a_failed_card_costs_no_restart_and_no_turn),
        cmocka_unit_test(cards_come_back_by_confirmed_release_alone_S45),
        cmocka_unit_test(another_tenant_waits_for_the_handover),
        cmocka_unit_test(release_happens_once_S12b),
        cmocka_unit_test(terminal_states_absorb_S10),
        cmocka_unit_test(reload_counts_the_same_S12),
        cmocka_unit_test(silent_node_changes_no_binding_S46),
        cmocka_unit_test(lost_work_recovers_elsewhere_if_it_may),
        cmocka_unit_test(failed_starts_back_off_and_go_elsewhere_S48),
        cmocka_unit_test(a_start_without_an_image_anywhere_is_not_tried_again),
        cmocka_unit_test(restarts_are_counted),
        cmocka_unit_test(gang_fails_as_a_whole),
        cmocka_unit_test(preempted_work_may_end_well),
        cmocka_unit_test(stop_gives_grace_to_what_runs),
        cmocka_unit_test(grace_is_capped_by_the_platform),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
