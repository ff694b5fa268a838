/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/control/harness.h"

#include <time.h>

#include "control/defragger.h"
#include "core/model.h"

/*
 * A pool of two nodes with four cards; one card of n1 and two of n2 are used,
 * and the largest class needs four.  To move the one off n1 loses least.
 */

#define CARDS_EACH 4
#define HOUR_MS INT64_C(3600000)

static struct defragger *defragger;

static void
prepare(struct loop *loop)
{
    defragger = defragger_start(loop);
}

struct estate {
    struct harness harness;
    struct ref pool, nodes[2], cards[2 * CARDS_EACH], classes[3];
    struct ref project, small, large;
    int policy, small_state, large_state;
    int64_t moved;
    bool alarm;
};

static void
put_nodes(struct estate *estate, struct changes *changes)
{
    for (int i = 0; i < 2 * CARDS_EACH; i++) {
        char name[16];
        struct node *node;
        struct card *card;

        (void)snprintf(name, sizeof(name), "n%d", i / CARDS_EACH + 1);
        if (i % CARDS_EACH == 0) {
            node = change_create(changes, KIND_NODE, estate->pool, name);
            node->cpu_milli = 64000;
            node->memory_mib = 262144;
            estate->nodes[i / CARDS_EACH] = node->object.self;
        }
        (void)snprintf(name, sizeof(name), "card%d", i);
        card = change_create(changes, KIND_CARD,
                             estate->nodes[i / CARDS_EACH], name);
        (void)snprintf(card->uuid, sizeof(card->uuid), "GPU-%d", i);
        (void)snprintf(card->vendor, sizeof(card->vendor), "nvidia");
        (void)snprintf(card->model, sizeof(card->model), "h100");
        card->memory_mib = 81920;
        card->health = HEALTH_HEALTHY;
        card->cut_ms = changes->context.now_ms;
        estate->cards[i] = card->object.self;
    }
}

static void
put_classes(struct estate *estate, struct changes *changes, struct ref parent)
{
    for (int i = 0; i < 3; i++) {
        char name[16];
        struct class *class;

        (void)snprintf(name, sizeof(name), "h100.%d", 1 << i);
        class = change_create(changes, KIND_CLASS, parent, name);
        (void)snprintf(class->model, sizeof(class->model), "h100");
        class->form = FORM_WHOLE;
        class->count = 1 << i;
        estate->classes[i] = class->object.self;
    }
}

/* Runs since an hour, on so many cards from the first on. */
static struct ref
put_work(const struct estate *estate, struct changes *changes,
         const char *name, int class, int first)
{
    int64_t since_ms = changes->context.now_ms - HOUR_MS;
    struct workload *workload =
        change_create(changes, KIND_WORKLOAD, estate->project, name);
    struct ref self = workload->object.self;
    struct instance *instance;

    workload->state = WORKLOAD_RUNNING;
    workload->preemptible = true;
    workload->class = estate->classes[class];
    workload->instances = workload->instances_now = 1;
    workload->attempt = 1;
    workload->cpu_milli = 1000;
    workload->memory_mib = 1024;
    workload->submitted_ms = workload->started_ms = since_ms;
    instance = change_create(changes, KIND_INSTANCE, self, "0");
    instance->state = INSTANCE_RUNNING;
    instance->attempt = instance->incarnation = 1;
    instance->node = estate->nodes[first / CARDS_EACH];
    instance->project = estate->project;
    instance->pool = estate->pool;
    instance->class = workload->class;
    instance->cpu_milli = 1000;
    instance->memory_mib = 1024;
    instance->assigned_ms = since_ms;
    for (int i = 0; i < 1 << class; i++) {
        struct binding *binding =
            change_create(changes, KIND_BINDING, instance->object.self, "");

        binding->card = estate->cards[first + i];
        binding->milli = 1000;
        binding->memory_mib = 81920;
        binding->from_ms = binding->cut_ms = changes->context.now_ms;
        binding->workload = self;
        binding->project = estate->project;
        binding->pool = estate->pool;
        binding->class = workload->class;
    }
    return self;
}

static void
build(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    struct changes *changes = loop_changes(loop, arena);
    struct ref platform = world_platform_ref(loop_world(loop));
    struct pool *pool = change_create(changes, KIND_POOL, platform, "main");
    struct ref tenant;
    struct quota *quota;

    pool->defrag = estate->policy;
    pool->defrag_moves = 5;
    estate->pool = pool->object.self;
    put_nodes(estate, changes);
    put_classes(estate, changes, platform);
    tenant = ((struct object *)change_create(changes, KIND_TENANT, platform,
                                             "red"))
                 ->self;
    estate->project = ((struct object *)change_create(changes, KIND_PROJECT,
                                                      tenant, "p"))
                          ->self;
    quota = change_create(changes, KIND_QUOTA, tenant, "");
    quota->dimension = DIMENSION_CARDS;
    quota->guaranteed = quota->limit = 8000;
    estate->small = put_work(estate, changes, "small", 0, 0);
    estate->large = put_work(estate, changes, "large", 1, CARDS_EACH);
    loop_apply(loop, changes);
    for (int i = 0; i < 2; i++)
        loop_touch(loop, estate->nodes[i]);
}

static void
open_estate(struct estate *estate, int policy)
{
    memset(estate, 0, sizeof(*estate));
    estate->policy = policy;
    estate->harness.prepare = prepare;
    harness_open(&estate->harness);
    harness_run(&estate->harness, build, estate);
}

static void
close_estate(struct estate *estate)
{
    harness_close(&estate->harness);
    defragger_free(defragger);
}

static void
look(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    const struct world *world = loop_world(loop);

    (void)arena;
    estate->small_state = world_workload(world, estate->small)->state;
    estate->large_state = world_workload(world, estate->large)->state;
    estate->moved = world_pool(world, estate->pool)->defrag_moved;
    estate->alarm = false;
    world_each_child(world, KIND_ALARM, estate->pool, ref)
        estate->alarm |=
            strcmp(world_alarm(world, ref)->code, "pool.fragmented") == 0 &&
            world_alarm(world, ref)->cleared_ms == 0;
}

static void
tick_now(struct loop *loop, struct arena *arena, void *data)
{
    (void)arena;
    (void)data;
    defragger_tick(loop, defragger);
}

/* Some ticks, with time for a plan after each; ends early when it moved. */
static void
let_it(struct estate *estate)
{
    const struct timespec pause = { 0, 10000000 };

    for (int i = 0; i < 50; i++) {
        harness_run(&estate->harness, tick_now, estate);
        (void)nanosleep(&pause, NULL);
        harness_run(&estate->harness, look, estate);
        if (estate->moved > 0 && i > 5)
            return;
    }
}

static void
a_pool_without_a_policy_is_left_alone(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate, DEFRAG_NEVER);
    let_it(&estate);
    assert_false(estate.alarm);
    assert_int_equal(estate.small_state, WORKLOAD_RUNNING);
    assert_int_equal(estate.moved, 0);
    close_estate(&estate);
}

static void
advice_is_an_alarm_and_moves_nothing(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate, DEFRAG_ADVISE);
    let_it(&estate);
    assert_true(estate.alarm);
    assert_int_equal(estate.small_state, WORKLOAD_RUNNING);
    assert_int_equal(estate.moved, 0);
    close_estate(&estate);
}

/* Once: what it moved is on its way, and was counted, also after a restart. */
static void
what_loses_least_is_moved_once_over_a_restart_too(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate, DEFRAG_AUTO);
    let_it(&estate);
    assert_int_equal(estate.small_state, WORKLOAD_PREEMPTING);
    assert_int_equal(estate.large_state, WORKLOAD_RUNNING);
    assert_int_equal(estate.moved, 1);
    loop_close(estate.harness.loop);
    defragger_free(defragger);
    harness_start(&estate.harness);
    let_it(&estate);
    assert_int_equal(estate.small_state, WORKLOAD_PREEMPTING);
    assert_int_equal(estate.large_state, WORKLOAD_RUNNING);
    assert_int_equal(estate.moved, 1);
    assert_true(estate.alarm);
    close_estate(&estate);
}

static void
fix(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    struct changes *changes = loop_changes(loop, arena);

    ((struct workload *)change_update(changes, estate->small))->preemptible =
        false;
    ((struct workload *)change_update(changes, estate->large))->preemptible =
        false;
    loop_apply(loop, changes);
}

static void
work_that_may_not_be_preempted_is_never_moved(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate, DEFRAG_AUTO);
    harness_run(&estate.harness, fix, &estate);
    let_it(&estate);
    assert_true(estate.alarm);
    assert_int_equal(estate.small_state, WORKLOAD_RUNNING);
    assert_int_equal(estate.large_state, WORKLOAD_RUNNING);
    assert_int_equal(estate.moved, 0);
    close_estate(&estate);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_without_a_policy_is_left_alone),
        cmocka_unit_test(advice_is_an_alarm_and_moves_nothing),
        cmocka_unit_test(what_loses_least_is_moved_once_over_a_restart_too),
        cmocka_unit_test(work_that_may_not_be_preempted_is_never_moved),
    };

    return cmocka_run_group_tests_name("defragger", tests, NULL, NULL);
}
