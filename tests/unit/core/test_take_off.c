/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/edits.h"

#include "core/lifecycle.h"
#include "core/submit.h"

/* Operators take work off its cards, and what ended there is in no way. */

/* The job of alpha runs on a card. */
static struct ref
put_running(struct ref node)
{
    struct changes *changes = people_begin(&p);
    struct workload *workload = change_update(changes, p.alpha_job);
    struct instance *instance;
    struct ref ref;

    workload->state = WORKLOAD_RUNNING;
    workload->attempt = 1;
    workload->class = p.class;
    instance = change_create(changes, KIND_INSTANCE, p.alpha_job, "");
    ref = instance->object.self;
    instance->state = INSTANCE_RUNNING;
    instance->attempt = 1;
    instance->node = node;
    instance->started_ms = p.now_ms;
    instance->project = p.alpha;
    world_apply(p.world, changes);
    return ref;
}

static int
take_off(const struct actor *actor, const char *reason)
{
    struct changes *changes = people_begin(&p);
    struct granted granted;
    int result = access_decide(p.world, actor, VERB_INSTANCE_RELEASE,
                               p.alpha_job, p.now_ms, &granted, &err);

    if (result == 0)
        result = submit_take_off(&granted, changes, p.alpha_job, reason,
                                 &err);
    if (result == 0)
        world_apply(p.world, changes);
    return result;
}

static void
only_an_operator_who_proved_it_takes_work_off(void **state)
{
    struct actor ops = people_login(&p, p.ops);
    struct actor rita = people_login(&p, p.rita);
    struct ref instance;

    (void)state;
    add_cards(1);
    instance = put_running(world_first(p.world, KIND_NODE));
    assert_int_equal(take_off(&rita, "mine"), -1);
    ops.proved_ms = 0; /* not proved lately */
    assert_int_equal(take_off(&ops, "fans of n1 fail"), -1);
    assert_int_equal(err.code, ERROR_STEP_UP);
    ops = people_login(&p, p.ops);
    assert_int_equal(take_off(&ops, ""), -1);
    assert_string_equal(err.field, "/reason");
    assert_int_equal(world_workload(p.world, p.alpha_job)->state,
                     WORKLOAD_RUNNING);
    assert_int_equal(world_instance(p.world, instance)->want, WANT_RUN);
}

static void
work_taken_off_gets_notice_and_the_gate_again(void **state)
{
    struct actor ops = people_login(&p, p.ops);
    const struct workload *workload;
    struct changes *changes;
    struct ref instance;

    (void)state;
    add_cards(1);
    instance = put_running(world_first(p.world, KIND_NODE));
    assert_int_equal(take_off(&ops, "fans of n1 fail"), 0);
    workload = world_workload(p.world, p.alpha_job);
    assert_int_equal(workload->state, WORKLOAD_PREEMPTING);
    assert_non_null(strstr(workload->proof->bytes, "fans of n1 fail"));
    assert_non_null(strstr(workload->proof->bytes, "manual-release"));
    assert_int_equal(world_instance(p.world, instance)->want, WANT_NOTICE);
    assert_string_equal(world_instance(p.world, instance)->want_reason,
                        "released");
    /* Twice is once. */
    assert_int_equal(take_off(&ops, "again"), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    changes = people_begin(&p);
    lifecycle_exited(changes, instance, 75, false);
    world_apply(p.world, changes);
    assert_int_equal(world_workload(p.world, p.alpha_job)->state,
                     WORKLOAD_PREEMPTING);
    changes = people_begin(&p);
    lifecycle_released(changes, instance);
    world_apply(p.world, changes);
    workload = world_workload(p.world, p.alpha_job);
    assert_int_equal(workload->state, WORKLOAD_QUEUED);
    assert_non_null(strstr(workload->reason_text, "operator"));
    assert_int_equal(take_off(&ops, "again"), -1);
    assert_non_null(strstr(err.text, "holds no cards"));
}

static void
an_ended_instance_keeps_no_node_and_a_live_one_names_its_work(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref node, instance;
    struct changes *changes;
    struct instance *image;
    struct workload *work;

    (void)state;
    add_cards(1);
    node = world_first(p.world, KIND_NODE);
    instance = put_running(node);
    assert_int_equal(delete (&root, node), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_non_null(strstr(err.text, "1 object is in the way: workload job"));
    changes = people_begin(&p);
    image = change_update(changes, instance);
    image->state = INSTANCE_RELEASED;
    work = change_update(changes, p.alpha_job);
    work->state = WORKLOAD_SUCCEEDED;
    world_apply(p.world, changes);
    assert_int_equal(delete (&root, node), 0);
    assert_null(world_node(p.world, node));
    assert_null(world_instance(p.world, instance));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(only_an_operator_who_proved_it_takes_work_off),
        CASE(work_taken_off_gets_notice_and_the_gate_again),
        CASE(an_ended_instance_keeps_no_node_and_a_live_one_names_its_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
