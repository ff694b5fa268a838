/* SPDX-License-Identifier: Apache-2.0 */
#include "core/interference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "core/alarm.h"
#include "core/object.h"

/* One node of four CPUs; two tenants with a workload of one instance each, and
 * a second instance of the first.  Windows of ten seconds. */

enum { VICTIM, NOISY, SIBLING, INSTANCES };

struct scene {
    struct arena *arena;
    struct world *world;
    struct id_source ids;
    int64_t now_ms;
    struct ref platform, pool, node, work[2], instance[INSTANCES];
    char id[INSTANCES][ID_TEXT_MAX];
    struct report_use use[INSTANCES]; /* of the next report */
};

static struct changes *
begin(struct scene *scene)
{
    return change_begin(scene->arena, scene->world,
                        (struct context){ scene->now_ms, &scene->ids });
}

static struct ref
add_work(struct scene *scene, struct changes *changes, const char *tenant)
{
    struct object *owner =
        change_create(changes, KIND_TENANT, scene->platform, tenant);
    struct object *project =
        change_create(changes, KIND_PROJECT, owner->self, "p");
    struct workload *workload =
        change_create(changes, KIND_WORKLOAD, project->self, "job");

    workload->state = WORKLOAD_RUNNING;
    workload->preemptible = true;
    workload->instances = 1;
    workload->attempt = 1;
    workload->started_ms = scene->now_ms;
    return workload->object.self;
}

static void
add_instance(struct scene *scene, struct changes *changes, int number,
             struct ref workload)
{
    struct instance *instance =
        change_create(changes, KIND_INSTANCE, workload,
                      number == SIBLING ? "1" : "0");

    instance->attempt = 1;
    instance->incarnation = 1;
    instance->node = scene->node;
    instance->state = INSTANCE_RUNNING;
    instance->assigned_ms = instance->started_ms = scene->now_ms;
    instance->pool = scene->pool;
    instance->cpu_milli = 2000;
    scene->instance[number] = instance->object.self;
    id_format(schema_get(KIND_INSTANCE)->prefix, instance->object.id,
              scene->id[number]);
}

static int
scene_open(void **state)
{
    static const struct hash_key key = { 3, 4 };
    struct scene *scene = memory_new(1, sizeof(*scene));
    struct changes *changes;
    struct node *node;

    scene->arena = arena_new();
    scene->world = world_new(&key);
    scene->ids.key = key;
    scene->now_ms = INT64_C(1798761600000);
    changes = begin(scene);
    scene->platform =
        ((struct object *)change_create(changes, KIND_PLATFORM,
                                        (struct ref){ 0 }, "platform"))
            ->self;
    scene->pool = ((struct object *)change_create(changes, KIND_POOL,
                                                  scene->platform, "main"))
                      ->self;
    node = change_create(changes, KIND_NODE, scene->pool, "n1");
    node->cpu_milli = 4000;
    scene->node = node->object.self;
    scene->work[0] = add_work(scene, changes, "research");
    scene->work[1] = add_work(scene, changes, "vision");
    add_instance(scene, changes, VICTIM, scene->work[0]);
    add_instance(scene, changes, NOISY, scene->work[1]);
    add_instance(scene, changes, SIBLING, scene->work[0]);
    world_apply(scene->world, changes);
    *state = scene;
    return 0;
}

static int
scene_close(void **state)
{
    struct scene *scene = *state;

    world_free(scene->world);
    arena_free(scene->arena);
    free(scene);
    return 0;
}

static void
set_pool(struct scene *scene, int policy)
{
    struct changes *changes = begin(scene);
    struct pool *pool = change_update(changes, scene->pool);

    pool->interference = policy;
    pool->interference_window_ms = 20000;
    pool->interference_hold_ms = 60000;
    world_apply(scene->world, changes);
}

/* A window later the node says what its instances used. */
static void
report(struct scene *scene)
{
    struct report_instance facts[INSTANCES];
    struct report report = { .instances = facts };
    struct changes *changes;

    for (int i = 0; i < INSTANCES; i++)
        if (scene->use[i].ms > 0)
            facts[report.instance_count++] =
                (struct report_instance){ .instance = scene->id[i],
                                          .incarnation = 1,
                                          .state = REPORT_RUNNING,
                                          .failure = "",
                                          .use = scene->use[i] };
    scene->now_ms += 10000;
    changes = begin(scene);
    interference_observe(changes, scene->node, &report);
    world_apply(scene->world, changes);
}

/* CPU in percent of one, and how much of its wish it got, percent. */
static void
uses_cpu(struct scene *scene, int number, int64_t percent, int64_t of_wish)
{
    int64_t cpu_us = percent * 100000;

    scene->use[number] = (struct report_use){
        .ms = 10000,
        .cpu_us = cpu_us,
        .wait_us = cpu_us * (100 - of_wish) / of_wish,
        .card_permille = -1,
    };
}

static struct interference_track
track(const struct scene *scene, int number, int resource)
{
    struct interference_track tracks[INTERFERENCE_RESOURCES];

    interference_read(world_instance(scene->world, scene->instance[number]),
                      tracks);
    return tracks[resource];
}

static bool
stands(struct scene *scene, struct ref about, const char *code)
{
    return alarm_stands(begin(scene), about, code);
}

static const char *
alarm_text(const struct scene *scene, struct ref about, const char *code)
{
    world_each_child(scene->world, KIND_ALARM, about, ref)
        if (strcmp(world_alarm(scene->world, ref)->code, code) == 0)
            return world_alarm(scene->world, ref)->text;
    return "";
}

static const struct instance *
instance(const struct scene *scene, int number)
{
    return world_instance(scene->world, scene->instance[number]);
}

/* Alone it gets 95 of 100. */
static void
learn_alone(struct scene *scene)
{
    for (int i = 0; i < 3; i++) {
        uses_cpu(scene, VICTIM, 95, 95);
        uses_cpu(scene, NOISY, 1, 100);
        report(scene);
    }
}

/* Beside the noise it gets 47.5 of 100. */
static void
disturb(struct scene *scene, int windows)
{
    for (int i = 0; i < windows; i++) {
        uses_cpu(scene, VICTIM, 47, 47);
        uses_cpu(scene, NOISY, 200, 90);
        report(scene);
    }
}

static void
the_base_is_the_pace_alone_and_the_index_how_much_slower(void **state)
{
    struct scene *scene = *state;

    learn_alone(scene);
    assert_int_equal(track(scene, VICTIM, INTERFERENCE_CPU).base, 950);
    assert_int_equal(track(scene, VICTIM, INTERFERENCE_CPU).quiet, 3);
    disturb(scene, 1);
    /* 950 / 470. */
    assert_int_equal(track(scene, VICTIM, INTERFERENCE_CPU).index_milli,
                     2021);
}

static void
noise_never_counts_towards_the_base(void **state)
{
    struct scene *scene = *state;

    disturb(scene, 5);
    assert_int_equal(track(scene, VICTIM, INTERFERENCE_CPU).base, 0);
    assert_int_equal(track(scene, VICTIM, INTERFERENCE_CPU).index_milli, 0);
    learn_alone(scene);
    disturb(scene, 5);
    assert_int_equal(track(scene, VICTIM, INTERFERENCE_CPU).base, 950);
}

static void
what_its_own_workload_uses_is_no_noise(void **state)
{
    struct scene *scene = *state;

    for (int i = 0; i < 3; i++) {
        uses_cpu(scene, VICTIM, 95, 95);
        uses_cpu(scene, SIBLING, 200, 90);
        report(scene);
    }
    assert_int_equal(track(scene, VICTIM, INTERFERENCE_CPU).base, 950);
    for (int i = 0; i < 5; i++) {
        uses_cpu(scene, VICTIM, 40, 40);
        report(scene);
    }
    assert_false(stands(scene, scene->work[0], "contention"));
}

static void
one_bad_window_is_nothing_and_several_are(void **state)
{
    struct scene *scene = *state;

    set_pool(scene, INTERFERENCE_OBSERVE);
    learn_alone(scene);
    disturb(scene, 2);
    learn_alone(scene);
    assert_false(stands(scene, scene->work[0], "contention"));
    disturb(scene, 3);
    assert_true(track(scene, VICTIM, INTERFERENCE_CPU).slowed);
    assert_true(stands(scene, scene->work[0], "contention"));
    /* Half as far above 1000 is the way back: 1.15. */
    for (int i = 0; i < 5; i++) {
        uses_cpu(scene, VICTIM, 78, 78); /* index 1217 */
        report(scene);
    }
    assert_true(stands(scene, scene->work[0], "contention"));
    for (int i = 0; i < 3; i++) {
        uses_cpu(scene, VICTIM, 90, 90); /* index 1055 */
        report(scene);
    }
    assert_false(stands(scene, scene->work[0], "contention"));
    assert_false(stands(scene, scene->node, "node.contention"));
}

static void
owners_are_told_and_neighbours_are_not_named(void **state)
{
    struct scene *scene = *state;
    scoped_json own = NULL;
    scoped_json full = NULL;
    scoped_buffer text = { 0 };

    set_pool(scene, INTERFERENCE_CAP);
    learn_alone(scene);
    disturb(scene, 3);
    assert_non_null(strstr(alarm_text(scene, scene->work[0], "contention"),
                           "shared resource contention"));
    assert_non_null(strstr(alarm_text(scene, scene->work[1], "fair-use"),
                           "shared resource contention"));
    for (int i = 0; i < 2; i++) {
        const char *other = scene->id[i == 0 ? NOISY : VICTIM];
        const char *said = alarm_text(scene, scene->work[i],
                                      i == 0 ? "contention" : "fair-use");

        assert_null(strstr(said, other));
        assert_null(strstr(said, i == 0 ? "vision" : "research"));
    }
    /* The node's alarm is for the platform's people. */
    assert_non_null(strstr(alarm_text(scene, scene->node, "node.contention"),
                           scene->id[VICTIM]));
    assert_non_null(strstr(alarm_text(scene, scene->node, "node.contention"),
                           scene->id[NOISY]));
    own = interference_json(instance(scene, VICTIM), false);
    json_write(&text, own);
    assert_null(strstr(buffer_text(&text), scene->id[NOISY]));
    assert_non_null(strstr(buffer_text(&text), "\"slowed\""));
    full = interference_json(instance(scene, VICTIM), true);
    text.size = 0;
    json_write(&text, full);
    assert_non_null(strstr(buffer_text(&text), scene->id[NOISY]));
}

static void
observing_changes_nothing_but_alarms(void **state)
{
    struct scene *scene = *state;

    set_pool(scene, INTERFERENCE_OBSERVE);
    learn_alone(scene);
    disturb(scene, 8);
    assert_true(stands(scene, scene->work[0], "contention"));
    assert_false(stands(scene, scene->work[1], "fair-use"));
    assert_int_equal(instance(scene, NOISY)->cap_cpu_milli, 0);
    assert_int_equal(instance(scene, NOISY)->caps, 0);
}

static void
a_cap_is_half_of_what_is_used_again_and_again_and_ends(void **state)
{
    struct scene *scene = *state;

    set_pool(scene, INTERFERENCE_CAP);
    learn_alone(scene);
    disturb(scene, 3);
    assert_int_equal(instance(scene, NOISY)->cap_cpu_milli, 1000);
    assert_int_equal(instance(scene, NOISY)->caps, 1);
    assert_int_equal(instance(scene, NOISY)->cap_until_ms,
                     scene->now_ms + 60000);
    /* It does not help: half again when a window of the pool has passed. */
    disturb(scene, 1);
    assert_int_equal(instance(scene, NOISY)->cap_cpu_milli, 1000);
    disturb(scene, 1);
    assert_int_equal(instance(scene, NOISY)->cap_cpu_milli, 500);
    assert_int_equal(instance(scene, VICTIM)->cap_cpu_milli, 0);
    /* It helps: after its time all is as it was. */
    for (int i = 0; i < 7; i++) {
        uses_cpu(scene, VICTIM, 94, 94);
        uses_cpu(scene, NOISY, 50, 90);
        report(scene);
    }
    assert_int_equal(instance(scene, NOISY)->cap_cpu_milli, 0);
    assert_int_equal(instance(scene, NOISY)->cap_until_ms, 0);
    assert_int_equal(instance(scene, NOISY)->caps, 1);
    assert_false(stands(scene, scene->work[1], "fair-use"));
}

static void
a_second_cap_holds_twice_as_long(void **state)
{
    struct scene *scene = *state;

    set_pool(scene, INTERFERENCE_CAP);
    learn_alone(scene);
    disturb(scene, 3);
    for (int i = 0; i < 7; i++)
        learn_alone(scene);
    assert_int_equal(instance(scene, NOISY)->cap_until_ms, 0);
    disturb(scene, 3);
    assert_int_equal(instance(scene, NOISY)->caps, 2);
    assert_int_equal(instance(scene, NOISY)->cap_until_ms,
                     scene->now_ms + 120000);
}

static void
a_cap_goes_no_lower_than_what_everybody_is_left(void **state)
{
    struct scene *scene = *state;

    set_pool(scene, INTERFERENCE_CAP);
    learn_alone(scene);
    disturb(scene, 20);
    assert_int_equal(instance(scene, NOISY)->cap_cpu_milli, 50);
}

static void
a_cap_ends_with_its_instance(void **state)
{
    struct scene *scene = *state;
    struct changes *changes;
    struct instance *image;

    set_pool(scene, INTERFERENCE_CAP);
    learn_alone(scene);
    disturb(scene, 3);
    changes = begin(scene);
    image = change_update(changes, scene->instance[NOISY]);
    image->state = INSTANCE_EXITED;
    world_apply(scene->world, changes);
    scene->use[NOISY].ms = 0;
    report(scene);
    assert_int_equal(instance(scene, NOISY)->cap_cpu_milli, 0);
    assert_null(instance(scene, NOISY)->interference);
    assert_false(stands(scene, scene->work[1], "fair-use"));
}

static void
a_mover_is_stopped_with_notice_and_one_that_may_not_be_is_capped(void **state)
{
    struct scene *scene = *state;
    struct changes *changes;
    struct workload *image;

    set_pool(scene, INTERFERENCE_MOVE);
    learn_alone(scene);
    changes = begin(scene);
    image = change_update(changes, scene->work[1]);
    image->preemptible = false;
    world_apply(scene->world, changes);
    disturb(scene, 3);
    assert_int_equal(instance(scene, NOISY)->cap_cpu_milli, 1000);
    changes = begin(scene);
    image = change_update(changes, scene->work[1]);
    image->preemptible = true;
    world_apply(scene->world, changes);
    disturb(scene, 2);
    assert_int_equal(world_workload(scene->world, scene->work[1])->state,
                     WORKLOAD_PREEMPTING);
    assert_string_equal(instance(scene, NOISY)->want_reason, "contention");
    assert_int_equal(world_node(scene->world, scene->node)->state,
                     NODE_SCHEDULABLE);
}

static void
an_isolated_node_takes_no_new_work_until_it_is_over(void **state)
{
    struct scene *scene = *state;

    set_pool(scene, INTERFERENCE_ISOLATE);
    learn_alone(scene);
    disturb(scene, 3);
    assert_int_equal(world_node(scene->world, scene->node)->state,
                     NODE_CORDONED);
    assert_true(stands(scene, scene->node, "node.isolated"));
    scene->use[NOISY].ms = 0;
    for (int i = 0; i < 3; i++) {
        uses_cpu(scene, VICTIM, 95, 95);
        report(scene);
    }
    assert_int_equal(world_node(scene->world, scene->node)->state,
                     NODE_SCHEDULABLE);
    assert_false(stands(scene, scene->node, "node.isolated"));
}

/* An operator's own cordon stays. */
static void
a_cordon_that_was_there_before_stays(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);
    struct node *image = change_update(changes, scene->node);

    image->state = NODE_CORDONED;
    world_apply(scene->world, changes);
    set_pool(scene, INTERFERENCE_ISOLATE);
    learn_alone(scene);
    disturb(scene, 3);
    learn_alone(scene);
    assert_int_equal(world_node(scene->world, scene->node)->state,
                     NODE_CORDONED);
}

static void
disks_and_networks_are_judged_by_what_gets_through(void **state)
{
    struct scene *scene = *state;
    const struct report_use alone = { .ms = 10000,
                                      .io_kib = 100000,
                                      .network_kib = 50000,
                                      .card_permille = -1 };
    const struct report_use beside = { .ms = 10000,
                                       .io_kib = 20000,
                                       .network_kib = 50000,
                                       .card_permille = -1 };
    const struct report_use noise = { .ms = 10000,
                                      .io_kib = 900000,
                                      .card_permille = -1 };

    set_pool(scene, INTERFERENCE_CAP);
    scene->use[VICTIM] = alone;
    for (int i = 0; i < 3; i++)
        report(scene);
    assert_int_equal(track(scene, VICTIM, INTERFERENCE_IO).base, 10000);
    scene->use[VICTIM] = beside;
    scene->use[NOISY] = noise;
    for (int i = 0; i < 3; i++)
        report(scene);
    assert_int_equal(track(scene, VICTIM, INTERFERENCE_IO).index_milli, 5000);
    assert_int_equal(track(scene, VICTIM, INTERFERENCE_NETWORK).index_milli,
                     1000);
    assert_int_equal(instance(scene, NOISY)->cap_io_kib, 45000);
    assert_int_equal(instance(scene, NOISY)->cap_network_kib, 0);
    assert_int_equal(instance(scene, NOISY)->cap_cpu_milli, 0);
}

/* What it keeps is read back the same, so a restart of the control plane
 * forgets nothing. */
static void
it_goes_on_after_a_restart(void **state)
{
    struct interference_track one = { .slowed = false };

    (void)state;
    for (int i = 0; i < 3; i++)
        interference_judge(&one, 900, true, 1300, 20000, 1000 + i);
    interference_judge(&one, 450, false, 1300, 20000, 100000);
    assert_int_equal(one.index_milli, 2000);
    assert_int_equal(one.turning_ms, 100000);
    interference_judge(&one, 450, false, 1300, 20000, 119999);
    assert_false(one.slowed);
    interference_judge(&one, 450, false, 1300, 20000, 120000);
    assert_true(one.slowed);
    assert_int_equal(one.since_ms, 120000);
}

static void
an_idle_window_says_nothing_about_the_pace(void **state)
{
    const struct report_use idle = { .ms = 10000,
                                     .cpu_us = 10000,
                                     .wait_us = 400000,
                                     .io_kib = 639,
                                     .card_permille = 49 };
    const struct report_use busy = { .ms = 10000,
                                     .cpu_us = 250000,
                                     .wait_us = 250000,
                                     .io_kib = 640,
                                     .card_permille = 50 };

    (void)state;
    assert_int_equal(interference_pace(INTERFERENCE_CPU, &idle), -1);
    assert_int_equal(interference_pace(INTERFERENCE_IO, &idle), -1);
    assert_int_equal(interference_pace(INTERFERENCE_CARD, &idle), -1);
    assert_int_equal(interference_pace(INTERFERENCE_CPU, &busy), 500);
    assert_int_equal(interference_pace(INTERFERENCE_IO, &busy), 64);
    assert_int_equal(interference_pace(INTERFERENCE_CARD, &busy), 50);
}

#define SCENE(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE(the_base_is_the_pace_alone_and_the_index_how_much_slower),
        SCENE(noise_never_counts_towards_the_base),
        SCENE(what_its_own_workload_uses_is_no_noise),
        SCENE(one_bad_window_is_nothing_and_several_are),
        SCENE(owners_are_told_and_neighbours_are_not_named),
        SCENE(observing_changes_nothing_but_alarms),
        SCENE(a_cap_is_half_of_what_is_used_again_and_again_and_ends),
        SCENE(a_second_cap_holds_twice_as_long),
        SCENE(a_cap_goes_no_lower_than_what_everybody_is_left),
        SCENE(a_cap_ends_with_its_instance),
        SCENE(
            a_mover_is_stopped_with_notice_and_one_that_may_not_be_is_capped),
        SCENE(an_isolated_node_takes_no_new_work_until_it_is_over),
        SCENE(a_cordon_that_was_there_before_stays),
        SCENE(disks_and_networks_are_judged_by_what_gets_through),
        SCENE(it_goes_on_after_a_restart),
        SCENE(an_idle_window_says_nothing_about_the_pace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
