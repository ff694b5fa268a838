/* SPDX-License-Identifier: Apache-2.0 */
#include "core/drain.h"

#include "core/gate.h"
#include "core/lifecycle.h"
#include "tests/unit/core/edits.h"

/* What becomes of work when its tenant or project is suspended or ends. */

static struct ref
put_work(struct ref project, const char *name, enum workload_state state)
{
    struct changes *changes = people_begin(&p);
    struct workload *workload =
        change_create(changes, KIND_WORKLOAD, project, name);
    struct ref ref = workload->object.self;

    workload->state = (int)state;
    workload->class = p.class;
    workload->attempt = 1;
    if (state == WORKLOAD_RUNNING) {
        struct instance *instance =
            change_create(changes, KIND_INSTANCE, ref, "");

        instance->state = INSTANCE_RUNNING;
        instance->attempt = 1;
        instance->node = world_first(p.world, KIND_NODE);
        instance->started_ms = p.now_ms;
        instance->project = project;
    }
    world_apply(p.world, changes);
    return ref;
}

static int
state_of(struct ref work)
{
    return world_workload(p.world, work)->state;
}

static int
drain(const struct actor *actor, struct ref node, enum drain how,
      size_t most, struct drained *out)
{
    struct changes *changes = people_begin(&p);
    struct granted granted;
    int result = access_decide(p.world, actor, VERB_WORKLOAD_CANCEL, node,
                               p.now_ms, &granted, &err);

    if (result == 0)
        result = drain_node(&granted, changes, node, how, "it ends", most,
                            out, &err);
    if (result == 0)
        world_apply(p.world, changes);
    return result;
}

static void
confirm_gone(struct ref work, int code)
{
    struct ref instance = world_first_child(p.world, KIND_INSTANCE, work);
    struct changes *changes = people_begin(&p);

    lifecycle_exited(changes, instance, code, false);
    world_apply(p.world, changes);
    changes = people_begin(&p);
    lifecycle_released(changes, instance);
    world_apply(p.world, changes);
}

static void
a_project_is_deleted_when_its_work_was_drained(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref runs, waits, over;
    struct drained drained;

    (void)state;
    add_cards(1);
    runs = put_work(p.beta, "runs", WORKLOAD_RUNNING);
    waits = put_work(p.beta, "waits", WORKLOAD_QUEUED);
    over = put_work(p.beta, "over", WORKLOAD_SUCCEEDED);
    assert_int_equal(delete (&rita, p.beta), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_non_null(strstr(err.text, "2 objects are in the way"));
    assert_non_null(strstr(err.text, "runs"));
    assert_int_equal(drain(&rita, p.beta, DRAIN_END, DRAIN_MAX, &drained), 0);
    assert_int_equal(drained.stopped, 2);
    assert_int_equal(drained.left, 0);
    assert_int_equal(drained.leaving, 1);
    assert_int_equal(state_of(runs), WORKLOAD_CANCELLING);
    assert_int_equal(state_of(waits), WORKLOAD_CANCELLED);
    assert_int_equal(state_of(over), WORKLOAD_SUCCEEDED);
    /* it gets its notice first: the project is not gone before it is */
    assert_int_equal(delete (&rita, p.beta), -1);
    assert_non_null(strstr(err.text, "1 object is in the way"));
    assert_int_equal(drain(&rita, p.beta, DRAIN_END, DRAIN_MAX, &drained), 0);
    assert_int_equal(drained.stopped, 0);
    assert_int_equal(drained.leaving, 1);
    confirm_gone(runs, 75);
    assert_int_equal(state_of(runs), WORKLOAD_CANCELLED);
    assert_int_equal(delete (&rita, p.beta), 0);
    assert_int_equal(world_project(p.world, p.beta)->state, STATE_DELETED);
}

static void
a_drain_goes_on_where_it_ended(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct drained drained;
    char name[16];

    (void)state;
    for (int i = 0; i < 7; i++) {
        (void)snprintf(name, sizeof(name), "w%d", i);
        (void)put_work(i < 4 ? p.beta : p.alpha, name, WORKLOAD_QUEUED);
    }
    /* the job of alpha is another one that waits */
    assert_int_equal(drain(&rita, p.red, DRAIN_END, 3, &drained), 0);
    assert_int_equal(drained.stopped, 3);
    assert_int_equal(drained.left + 3,
                     7 + !lifecycle_is_over(state_of(p.alpha_job)));
    assert_int_equal(drain(&rita, p.red, DRAIN_END, 100, &drained), 0);
    assert_int_equal(drained.left, 0);
    assert_int_equal(drain(&rita, p.red, DRAIN_END, 100, &drained), 0);
    assert_int_equal(drained.stopped, 0);
    /* another tenant's is nobody's to drain */
    assert_int_equal(drain(&rita, p.gamma, DRAIN_END, 100, &drained), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void
set_suspend(enum suspend_work policy)
{
    struct changes *changes = people_begin(&p);

    ((struct platform *)change_update(changes, p.platform))->suspend_work =
        (int)policy;
    world_apply(p.world, changes);
}

static void
work_of_what_is_suspended_runs_on_or_is_drained_by_policy(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor dev = people_login(&p, p.dev);
    struct ref runs;

    (void)state;
    add_cards(1);
    runs = put_work(p.alpha, "runs", WORKLOAD_RUNNING);
    assert_int_equal(change(&root, p.red, "{\"state\":\"suspended\"}"), 0);
    assert_int_equal(state_of(runs), WORKLOAD_RUNNING);
    assert_false(people_can(&p, &dev, VERB_WORKLOAD_GET, runs));
    assert_int_equal(change(&root, p.red, "{\"state\":\"active\"}"), 0);
    assert_true(people_can(&p, &dev, VERB_WORKLOAD_GET, runs));
    set_suspend(SUSPEND_DRAIN);
    assert_int_equal(change(&root, p.alpha, "{\"state\":\"suspended\"}"), 0);
    assert_int_equal(state_of(runs), WORKLOAD_PREEMPTING);
    assert_non_null(strstr(world_workload(p.world, runs)->proof->bytes,
                           "suspended"));
    confirm_gone(runs, 75);
    assert_int_equal(state_of(runs), WORKLOAD_QUEUED);
    /* it waits there, and has lost nothing */
    assert_int_equal(change(&root, p.alpha, "{\"state\":\"active\"}"), 0);
    assert_int_equal(state_of(runs), WORKLOAD_QUEUED);
}

/* [A24] [A25] */
static void
what_a_tenant_has_is_dead_while_it_is_suspended_and_alive_after(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor pat = people_login(&p, p.pat);
    struct actor bot = people_key(&p, p.bot, verbs_all(), none);
    struct actor bob = people_login(&p, p.bob);

    (void)state;
    assert_int_equal(change(&root, p.red, "{\"state\":\"suspended\"}"), 0);
    assert_false(people_can(&p, &pat, VERB_PROJECT_GET, p.alpha));
    assert_false(people_can(&p, &bot, VERB_PROJECT_GET, p.alpha));
    assert_false(access_may_log_in(p.world, p.pat, p.now_ms));
    assert_true(people_can(&p, &bob, VERB_PROJECT_GET, p.gamma));
    root.asking = true; /* as one who has the approval */
    assert_int_equal(delete (&root, p.red), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(change(&root, p.red, "{\"state\":\"active\"}"), 0);
    assert_true(people_can(&p, &pat, VERB_PROJECT_GET, p.alpha));
    assert_true(people_can(&p, &bot, VERB_PROJECT_GET, p.alpha));
}

static int
drain_one(const struct actor *actor, struct ref node, enum drain_policy policy)
{
    struct changes *changes = people_begin(&p);
    struct granted granted;
    int result = access_decide(p.world, actor, VERB_INSTANCE_RELEASE, node,
                               p.now_ms, &granted, &err);

    if (result == 0)
        result = drain_machine(&granted, changes, node, policy, "fans fail",
                               &err);
    if (result == 0)
        world_apply(p.world, changes);
    return result;
}

/* What may be stopped first, then all, each once; nothing by finish. */
static void
a_node_is_drained_by_its_policy(void **state)
{
    struct actor ops = people_login(&p, p.ops);
    struct ref node, soft, hard;
    struct changes *changes;

    (void)state;
    add_cards(2);
    node = world_first(p.world, KIND_NODE);
    soft = put_work(p.beta, "soft", WORKLOAD_RUNNING);
    hard = put_work(p.beta, "hard", WORKLOAD_RUNNING);
    changes = people_begin(&p);
    ((struct workload *)change_update(changes, soft))->preemptible = true;
    world_apply(p.world, changes);
    assert_int_equal(drain_one(&ops, node, DRAIN_FINISH), 0);
    assert_int_equal(world_node(p.world, node)->state, NODE_DRAINING);
    assert_int_equal(state_of(soft), WORKLOAD_RUNNING);
    assert_int_equal(drain_one(&ops, node, DRAIN_PREEMPT), 0);
    assert_int_equal(state_of(soft), WORKLOAD_PREEMPTING);
    assert_non_null(strstr(world_workload(p.world, soft)->proof->bytes,
                           "fans fail"));
    assert_int_equal(state_of(hard), WORKLOAD_RUNNING);
    assert_int_equal(drain_one(&ops, node, DRAIN_MOVE), 0);
    assert_int_equal(state_of(hard), WORKLOAD_PREEMPTING);
    assert_int_equal(world_workload(p.world, soft)->preemptions, 1);
}

static void
what_cannot_be_told_to_go_is_not_drained(void **state)
{
    struct actor ops = people_login(&p, p.ops);
    struct ref node;
    struct changes *changes;

    (void)state;
    add_cards(1);
    node = world_first(p.world, KIND_NODE);
    changes = people_begin(&p);
    ((struct node *)change_update(changes, node))->state = NODE_LOST;
    world_apply(p.world, changes);
    assert_int_equal(drain_one(&ops, node, DRAIN_PREEMPT), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_non_null(strstr(err.text, "is lost"));
    assert_non_null(strstr(err.help, "bulkhead fence node"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_project_is_deleted_when_its_work_was_drained),
        CASE(a_drain_goes_on_where_it_ended),
        CASE(a_node_is_drained_by_its_policy),
        CASE(what_cannot_be_told_to_go_is_not_drained),
        CASE(work_of_what_is_suspended_runs_on_or_is_drained_by_policy),
        CASE(what_a_tenant_has_is_dead_while_it_is_suspended_and_alive_after),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
