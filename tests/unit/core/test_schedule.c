/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include <time.h>

#include "core/explain.h"

/* Who starts next and where, and what the others are told. */

struct stage {
    struct scene scene;
    struct ref pool, node, one, tenant, other, project, foreign;
};

static void
stage_setup(struct stage *s, int cards)
{
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    s->node = scene_node(&s->scene, s->pool, "n1", cards, "h100");
    s->one = scene_class(&s->scene, "h100.1", "h100", 1);
    s->tenant = scene_tenant(&s->scene, "vision");
    s->other = scene_tenant(&s->scene, "research");
    s->project = scene_project(&s->scene, s->tenant, "p1");
    s->foreign = scene_project(&s->scene, s->other, "q1");
    scene_quota(&s->scene, s->tenant, DIMENSION_CARDS, 0, CARDS(1000));
    scene_quota(&s->scene, s->other, DIMENSION_CARDS, 0, CARDS(1000));
}

static struct job
job_of(const struct stage *s, struct ref class, int64_t instances)
{
    return (struct job){ .project = s->project,
                         .class = class,
                         .instances = instances };
}

static int
state_of(const struct stage *s, struct ref ref)
{
    return scene_state(&s->scene, ref);
}

static int
reason_of(const struct stage *s, struct ref ref)
{
    return scene_workload(&s->scene, ref)->reason;
}

/* [S28] Two gangs that do not fit together: one starts whole, one waits. */
static void
gangs_start_whole_or_not_at_all_S28(void **state)
{
    struct stage s;
    struct ref first, second;

    (void)state;
    stage_setup(&s, 8);
    (void)scene_node(&s.scene, s.pool, "n2", 8, "h100");
    first = scene_submit(&s.scene, job_of(&s, s.one, 10));
    second = scene_submit(&s.scene, (struct job){ .project = s.foreign,
                                                  .class = s.one,
                                                  .instances = 10 });
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, first), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, second), WORKLOAD_QUEUED);
    assert_int_equal(world_count(s.scene.world, KIND_INSTANCE), 10);
    assert_int_equal(scene_workload(&s.scene, second)->need, 10);
    assert_int_equal(scene_workload(&s.scene, second)->have, 6);
    scene_finish(&s.scene, first, 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, second), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S32] Free, but not on one node, is said as such. */
static void
fragmented_capacity_is_named_S32(void **state)
{
    struct stage s;
    struct ref four, work;

    (void)state;
    stage_setup(&s, 2);
    (void)scene_node(&s.scene, s.pool, "n2", 2, "h100");
    (void)scene_node(&s.scene, s.pool, "n3", 4, "h100");
    four = scene_class(&s.scene, "h100.4", "h100", 4);
    (void)scene_running(&s.scene, job_of(&s, four, 1));
    work = scene_submit(&s.scene, job_of(&s, four, 1));
    scene_run(&s.scene);
    assert_int_equal(reason_of(&s, work), REASON_FRAGMENTED);
    assert_int_equal(scene_workload(&s.scene, work)->have, 4);
    assert_int_equal(scene_workload(&s.scene, work)->limit, 2);
    scene_teardown(&s.scene);
}

/* [S34] Sixteen halves on eight cards fill them exactly, no card is over. */
static void
shares_never_exceed_a_card_S34(void **state)
{
    struct stage s;
    struct ref half, jobs[17];

    (void)state;
    stage_setup(&s, 8);
    half = scene_share(&s.scene, "half", 500, 1000);
    for (int i = 0; i < 17; i++)
        jobs[i] = scene_submit(&s.scene, job_of(&s, half, 1));
    scene_run(&s.scene);
    for (int i = 0; i < 16; i++)
        assert_int_equal(state_of(&s, jobs[i]), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, jobs[16]), WORKLOAD_QUEUED);
    world_each(s.scene.world, KIND_CARD, ref)
        assert_int_equal(world_card(s.scene.world, ref)->used_milli, 1000);
    scene_teardown(&s.scene);
}

/* [S34] Memory is part of the card's ledger too. */
static void
shares_never_exceed_the_memory_of_a_card_S34(void **state)
{
    struct stage s;
    struct ref share, first, second;

    (void)state;
    stage_setup(&s, 1);
    share = scene_share(&s.scene, "big", 100, SCENE_CARD_MIB / 2 + 1);
    first = scene_submit(&s.scene, job_of(&s, share, 1));
    second = scene_submit(&s.scene, job_of(&s, share, 1));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, first), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, second), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* [S35] 46,068 MiB hold 23 shares of 2,000 MiB, not 24. */
static void
memory_of_shares_is_counted_in_whole_mib_S35(void **state)
{
    struct stage s;
    struct ref share, node;
    int started = 0;

    (void)state;
    stage_setup(&s, 0);
    node = scene_node(&s.scene, s.pool, "l40", 0, "l40");
    (void)scene_card(&s.scene, node, 0, "l40", 46068);
    share = scene_share(&s.scene, "share", 41, 2000);
    for (int i = 0; i < 24; i++)
        (void)scene_submit(&s.scene, job_of(&s, share, 1));
    scene_run(&s.scene);
    world_each(s.scene.world, KIND_WORKLOAD, ref)
        started += state_of(&s, ref) == WORKLOAD_ASSIGNED;
    assert_int_equal(started, 23);
    scene_teardown(&s.scene);
}

/* Two tenants never share a card. */
static void
shares_of_two_tenants_take_two_cards(void **state)
{
    struct stage s;
    struct ref share, first, second, third;

    (void)state;
    stage_setup(&s, 2);
    share = scene_share(&s.scene, "share", 100, 1000);
    first = scene_submit(&s.scene, job_of(&s, share, 1));
    second = scene_submit(&s.scene, (struct job){ .project = s.foreign,
                                                  .class = share });
    third = scene_submit(&s.scene, job_of(&s, share, 1));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, first), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, second), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, third), WORKLOAD_ASSIGNED);
    world_each(s.scene.world, KIND_CARD, ref)
        assert_int_not_equal(world_card(s.scene.world, ref)->used_milli, 0);
    scene_teardown(&s.scene);
}

/* A blocked or gated head holds up nobody. */
static void
blocked_head_lets_others_pass(void **state)
{
    struct stage s;
    struct ref eight, head, small, gated;

    (void)state;
    stage_setup(&s, 8);
    eight = scene_class(&s.scene, "h100.8", "h100", 8);
    (void)scene_running(&s.scene, job_of(&s, s.one, 1));
    head = scene_submit(&s.scene, job_of(&s, eight, 1));
    scene_quota(&s.scene, s.foreign, DIMENSION_WORKLOADS, 0, 1);
    (void)scene_running(&s.scene, (struct job){ .project = s.foreign,
                                                .class = s.one });
    gated = scene_submit(&s.scene, (struct job){ .project = s.foreign,
                                                 .class = s.one });
    small = scene_submit(&s.scene, job_of(&s, s.one, 1));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, head), WORKLOAD_QUEUED);
    assert_int_equal(state_of(&s, gated), WORKLOAD_GATED);
    assert_int_equal(state_of(&s, small), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* Guarantee before burst, then priority, then time, then sequence. */
static void
queue_is_in_its_order(void **state)
{
    struct stage s;
    struct ref low, high, late, early, urgent, guaranteed, project, tenant;
    struct job job;

    (void)state;
    stage_setup(&s, 1);
    low = scene_priority(&s.scene, "low", 1);
    high = scene_priority(&s.scene, "high", 2);
    tenant = scene_tenant(&s.scene, "third");
    project = scene_project(&s.scene, tenant, "r1");
    scene_quota(&s.scene, tenant, DIMENSION_CARDS, CARDS(1), CARDS(1));
    job = job_of(&s, s.one, 1);
    job.priority = low;
    job.fixed = false;
    early = scene_submit(&s.scene, job);
    scene_wait(&s.scene, 10);
    late = scene_submit(&s.scene, job);
    job.priority = high;
    urgent = scene_submit(&s.scene, job);
    guaranteed = scene_submit(&s.scene, (struct job){ .project = project,
                                                      .class = s.one,
                                                      .priority = low });
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, guaranteed), WORKLOAD_ASSIGNED);
    scene_finish(&s.scene, guaranteed, 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, urgent), WORKLOAD_ASSIGNED);
    scene_finish(&s.scene, urgent, 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, early), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, late), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* [S42] What is not healthy, silent, drained or foreign gets nothing. */
static void
only_sound_cards_get_work_S42(void **state)
{
    struct stage s;
    struct ref work, card;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 1);
    card = scene_card_of(&s.scene, s.node, 0);
    changes = scene_begin(&s.scene);
    ((struct card *)change_update(changes, card))->health = HEALTH_SUSPECT;
    scene_apply(&s.scene, changes);
    work = scene_submit(&s.scene, job_of(&s, s.one, 1));
    scene_run(&s.scene);
    assert_int_equal(reason_of(&s, work), REASON_HEALTH);
    changes = scene_begin(&s.scene);
    ((struct card *)change_update(changes, card))->health = HEALTH_HEALTHY;
    ((struct card *)change_update(changes, card))->foreign = true;
    scene_apply(&s.scene, changes);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_QUEUED);
    changes = scene_begin(&s.scene);
    ((struct card *)change_update(changes, card))->foreign = false;
    ((struct node *)change_update(changes, s.node))->state = NODE_DRAINING;
    scene_apply(&s.scene, changes);
    scene_run(&s.scene);
    assert_int_equal(reason_of(&s, work), REASON_NODE);
    changes = scene_begin(&s.scene);
    ((struct node *)change_update(changes, s.node))->state =
        NODE_SCHEDULABLE;
    scene_apply(&s.scene, changes);
    s.scene.keep_stale_nodes = true;
    scene_wait(&s.scene, 31000);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_QUEUED);
    s.scene.keep_stale_nodes = false;
    scene_wait(&s.scene, 2000); /* hearing of the node changes no world */
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* CPU and memory of the node are filters as well. */
static void
node_resources_are_kept(void **state)
{
    struct stage s;
    struct ref first, second;
    struct job job;

    (void)state;
    stage_setup(&s, 4);
    job = job_of(&s, s.one, 1);
    job.cpu_milli = 100000;
    first = scene_submit(&s.scene, job);
    second = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, first), WORKLOAD_ASSIGNED);
    assert_int_equal(reason_of(&s, second), REASON_NODE);
    scene_teardown(&s.scene);
}

/* [S49] Bad objects of one tenant stop nobody else. */
static void
bad_configuration_of_one_stops_nobody_else_S49(void **state)
{
    struct stage s;
    struct ref broken, gone, work, bad[4];
    struct changes *changes;

    (void)state;
    stage_setup(&s, 2);
    broken = scene_share(&s.scene, "broken", 0, 0);
    gone = scene_class(&s.scene, "gone", "h100", 1);
    bad[0] = scene_submit(&s.scene, (struct job){ .project = s.foreign,
                                                  .class = broken });
    bad[1] = scene_submit(&s.scene, (struct job){ .project = s.foreign,
                                                  .class = gone });
    bad[2] = scene_submit(&s.scene,
                          (struct job){ .project = s.foreign,
                                        .class = s.one,
                                        .spec = "{\"volumes\":[{]" });
    changes = scene_begin(&s.scene);
    change_delete(changes, gone);
    ((struct workload *)change_update(changes, bad[0]))->instances = -3;
    scene_apply(&s.scene, changes);
    scene_quota(&s.scene, s.foreign, DIMENSION_CARDS, 0, -7);
    work = scene_submit(&s.scene, job_of(&s, s.one, 1));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_ASSIGNED);
    for (int i = 0; i < 3; i++)
        assert_int_equal(state_of(&s, bad[i]), WORKLOAD_GATED);
    scene_teardown(&s.scene);
}

/* [S58] From the first moment there is a reason, and it stays true. */
static void
waiting_work_always_has_a_reason_S58(void **state)
{
    struct stage s;
    struct ref work, blocker;
    char first[TEXT_MAX_SIZE];

    (void)state;
    stage_setup(&s, 2);
    blocker = scene_running(&s.scene, job_of(&s, s.one, 2));
    work = scene_submit(&s.scene, job_of(&s, s.one, 2));
    assert_int_equal(reason_of(&s, work), REASON_NOT_EVALUATED);
    scene_run(&s.scene);
    assert_int_equal(reason_of(&s, work), REASON_CAPACITY);
    assert_non_null(
        strstr(scene_workload(&s.scene, work)->reason_text, "0 free"));
    (void)snprintf(first, sizeof(first), "%s",
                   scene_workload(&s.scene, work)->reason_text);
    {
        struct changes *changes = scene_begin(&s.scene);
        struct card *card =
            change_update(changes, scene_card_of(&s.scene, s.node, 0));

        card->health = HEALTH_FAILED;
        scene_apply(&s.scene, changes);
    }
    scene_finish(&s.scene, blocker, 0);
    scene_run(&s.scene);
    assert_int_equal(reason_of(&s, work), REASON_HEALTH);
    assert_string_not_equal(
        first, scene_workload(&s.scene, work)->reason_text);
    scene_teardown(&s.scene);
}

/* [S58] Suspension is a reason, and its end lets work start. */
static void
suspended_tenants_wait_with_that_reason_S58(void **state)
{
    struct stage s;
    struct ref work;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 1);
    changes = scene_begin(&s.scene);
    ((struct tenant *)change_update(changes, s.tenant))->state =
        STATE_SUSPENDED;
    scene_apply(&s.scene, changes);
    work = scene_submit(&s.scene, job_of(&s, s.one, 1));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_GATED);
    assert_int_equal(reason_of(&s, work), REASON_SUSPENDED);
    changes = scene_begin(&s.scene);
    ((struct tenant *)change_update(changes, s.tenant))->state = STATE_ACTIVE;
    scene_apply(&s.scene, changes);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* Work goes where its volumes lie; a new volume comes to its first user. */
static void
volumes_pin_work_to_their_node(void **state)
{
    struct stage s;
    struct ref volume, node2, first, second, third;
    char id[ID_TEXT_MAX], spec[128];
    struct job job;

    (void)state;
    stage_setup(&s, 1);
    node2 = scene_node(&s.scene, s.pool, "n2", 2, "h100");
    volume = scene_put(&s.scene, KIND_VOLUME, s.project, "data");
    id_format("vo", world_volume(s.scene.world, volume)->object.id, id);
    (void)snprintf(spec, sizeof(spec),
                   "{\"volumes\":[{\"path\":\"/d\",\"volume\":\"%s\"}]}", id);
    job = job_of(&s, s.one, 1);
    job.spec = spec;
    first = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_true(ref_equal(world_volume(s.scene.world, volume)->node, s.node));
    second = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, second), WORKLOAD_QUEUED);
    job.spec = NULL;
    third = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_true(ref_equal(
        world_instance(s.scene.world, scene_instance(&s.scene, third))->node,
        node2));
    scene_finish(&s.scene, first, 0);
    scene_run(&s.scene);
    assert_true(ref_equal(
        world_instance(s.scene.world, scene_instance(&s.scene, second))
            ->node,
        s.node));
    scene_teardown(&s.scene);
}

/* Best fit keeps whole nodes free, islands together, cards with tenants. */
static void
placement_keeps_islands_together(void **state)
{
    struct stage s;
    struct ref two, work, instance;
    struct changes *changes;
    const char *island = NULL;

    (void)state;
    stage_setup(&s, 4);
    two = scene_class(&s.scene, "h100.2", "h100", 2);
    for (int i = 0; i < 4; i++) {
        changes = scene_begin(&s.scene);
        (void)snprintf(((struct card *)change_update(
                            changes, scene_card_of(&s.scene, s.node, i)))
                           ->island,
                       32, "%s", i == 0 || i == 3 ? "x" : "y");
        scene_apply(&s.scene, changes);
    }
    work = scene_submit(&s.scene, job_of(&s, two, 1));
    scene_run(&s.scene);
    instance = scene_instance(&s.scene, work);
    world_each_child(s.scene.world, KIND_BINDING, instance, ref) {
        const struct card *card = world_card(
            s.scene.world, world_binding(s.scene.world, ref)->card);

        assert_true(island == NULL || strcmp(island, card->island) == 0);
        island = card->island;
    }
    scene_teardown(&s.scene);
}

static void
nodepool_tenants_share_no_node(void **state)
{
    struct stage s;
    struct ref own, mine, theirs;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 4);
    own = scene_pool(&s.scene, "own");
    changes = scene_begin(&s.scene);
    ((struct tenant *)change_update(changes, s.tenant))->isolation =
        ISOLATION_NODEPOOL;
    ((struct pool *)change_update(changes, s.pool))->overflow = true;
    (void)own;
    scene_apply(&s.scene, changes);
    mine = scene_submit(&s.scene, job_of(&s, s.one, 1));
    theirs = scene_submit(&s.scene, (struct job){ .project = s.foreign,
                                                  .class = s.one });
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, mine), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, theirs), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* What is named as the nearest change does let it start. */
static void
explanation_names_a_change_that_helps(void **state)
{
    struct stage s;
    struct ref work;
    struct arena *arena = arena_new();
    json_t *json;

    (void)state;
    stage_setup(&s, 2);
    scene_quota(&s.scene, s.project, DIMENSION_CARDS, 0, CARDS(3));
    (void)scene_running(&s.scene, job_of(&s, s.one, 2));
    work = scene_submit(&s.scene, job_of(&s, s.one, 2));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, work), WORKLOAD_GATED);
    json = explain_workload(s.scene.world, work, s.scene.now_ms, arena);
    assert_true(json_is_true(json_object_get(json_object_get(json, "nearest"),
                                             "verified")));
    assert_int_equal(json_array_size(json_object_get(
                         json_object_get(json, "nearest"), "changes")),
                     2); /* the limit, and cards */
    json_decref(json);
    arena_free(arena);
    scene_teardown(&s.scene);
}

/* The same world gives the same decisions, whatever the scheduler saw. */
static void
a_new_scheduler_decides_the_same(void **state)
{
    struct stage a, b;
    struct ref left, right;

    (void)state;
    stage_setup(&a, 6);
    stage_setup(&b, 6);
    for (int i = 0; i < 12; i++) {
        struct job job = job_of(&a, a.one, 1 + i % 3);

        (void)scene_submit(&a.scene, job);
        (void)scene_submit(&b.scene, job);
        if (i % 2 == 0) {
            scene_run(&a.scene);
            scheduler_free(b.scene.scheduler);
            b.scene.scheduler = scheduler_new();
            scene_run(&b.scene);
        }
    }
    scene_run(&a.scene);
    scene_run(&b.scene);
    left = world_first(a.scene.world, KIND_BINDING);
    right = world_first(b.scene.world, KIND_BINDING);
    while (!ref_is_none(left) && !ref_is_none(right)) {
        assert_true(ref_equal(world_binding(a.scene.world, left)->card,
                              world_binding(b.scene.world, right)->card));
        left = world_next(a.scene.world, left);
        right = world_next(b.scene.world, right);
    }
    assert_true(ref_is_none(left) && ref_is_none(right));
    scene_teardown(&a.scene);
    scene_teardown(&b.scene);
}

/* Work without cards needs a node's CPU and memory alone. */
static void
work_without_cards_is_placed_by_its_node(void **state)
{
    struct stage s;
    struct ref none, first, second;
    struct job job;

    (void)state;
    stage_setup(&s, 0);
    none = scene_class(&s.scene, "cpu", "", 0);
    job = job_of(&s, none, 2);
    job.cpu_milli = 50000;
    first = scene_running(&s.scene, job);
    second = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_int_equal(reason_of(&s, second), REASON_NODE);
    scene_finish(&s.scene, first, 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, second), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* Finished work is history after a day: it leaves the memory. */
static void
old_work_leaves_the_memory(void **state)
{
    struct stage s;
    struct ref work, live;

    (void)state;
    stage_setup(&s, 2);
    work = scene_running(&s.scene, job_of(&s, s.one, 1));
    live = scene_running(&s.scene, job_of(&s, s.one, 1));
    scene_finish(&s.scene, work, 0);
    scene_wait(&s.scene, INT64_C(23) * 3600000);
    scene_run(&s.scene);
    assert_int_equal(world_count(s.scene.world, KIND_WORKLOAD), 2);
    scene_wait(&s.scene, INT64_C(2) * 3600000);
    scene_run(&s.scene);
    assert_int_equal(world_count(s.scene.world, KIND_WORKLOAD), 1);
    assert_int_equal(world_count(s.scene.world, KIND_INSTANCE), 1);
    assert_int_equal(world_count(s.scene.world, KIND_BINDING), 1);
    assert_int_equal(state_of(&s, live), WORKLOAD_RUNNING);
    scene_teardown(&s.scene);
}

/* A pass over 1,000 waiting workloads and 1,000 cards. */
static void
a_large_pass_is_quick(void **state)
{
    struct scene scene;
    struct ref pool, class, eight;
    struct timespec from, to;
    int64_t ms;
    bool more;
    int steps = 0;

    (void)state;
    scene_setup(&scene);
    pool = scene_pool(&scene, "a");
    for (int i = 0; i < 125; i++) {
        struct arena *arena = arena_new();
        struct changes *changes = change_begin(
            arena, scene.world,
            (struct context){ scene.now_ms, &scene.ids });
        char name[32];
        struct node *node;

        (void)snprintf(name, sizeof(name), "n%d", i);
        node = change_create(changes, KIND_NODE, pool, name);
        node->cpu_milli = node->memory_mib = 1000000;
        for (int k = 0; k < 8; k++) {
            struct card *card =
                change_create(changes, KIND_CARD, node->object.self, "");

            (void)snprintf(card->model, sizeof(card->model), "h100");
            card->memory_mib = SCENE_CARD_MIB;
            card->health = HEALTH_HEALTHY;
            card->cut_ms = scene.now_ms;
        }
        world_apply(scene.world, changes);
        world_touch_node(scene.world, node->object.self, scene.now_ms);
        arena_free(arena);
    }
    class = scene_class(&scene, "h100.1", "h100", 1);
    eight = scene_class(&scene, "h100.8", "h100", 8);
    for (int t = 0; t < 20; t++) {
        char name[32];
        struct ref tenant, project;
        struct arena *arena;
        struct changes *changes;

        (void)snprintf(name, sizeof(name), "t%d", t);
        tenant = scene_tenant(&scene, name);
        project = scene_project(&scene, tenant, "p");
        scene_quota(&scene, tenant, DIMENSION_CARDS, CARDS(10), CARDS(1000));
        arena = arena_new();
        changes = change_begin(arena, scene.world,
                               (struct context){ scene.now_ms, &scene.ids });
        for (int i = 0; i < 100; i++) {
            struct job job = { .project = project,
                               .class = i % 3 == 0 ? eight : class };
            struct workload *workload = scene_image(changes, &job);

            workload->state = WORKLOAD_QUEUED;
            workload->reason = REASON_NOT_EVALUATED;
            (void)snprintf(workload->reason_text,
                           sizeof(workload->reason_text), "not evaluated");
            workload->submitted_ms = scene.now_ms;
        }
        world_apply(scene.world, changes);
        arena_free(arena);
    }
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    do {
        struct arena *arena = arena_new();
        struct changes *changes = change_begin(
            arena, scene.world,
            (struct context){ scene.now_ms, &scene.ids });

        more = schedule_step(scene.scheduler, changes);
        if (more)
            world_apply(scene.world, changes);
        arena_free(arena);
        steps++;
    } while (more || schedule_has_more(scene.scheduler));
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    ms = (to.tv_sec - from.tv_sec) * 1000 +
         (to.tv_nsec - from.tv_nsec) / 1000000;
    print_message("first pass: %d steps, %lld ms\n", steps, (long long)ms);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    {
        struct scheduler *again = scheduler_new();
        struct arena *arena = arena_new();
        struct changes *changes = change_begin(
            arena, scene.world,
            (struct context){ scene.now_ms, &scene.ids });

        (void)schedule_step(again, changes);
        arena_free(arena);
        scheduler_free(again);
    }
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    ms = (to.tv_sec - from.tv_sec) * 1000 +
         (to.tv_nsec - from.tv_nsec) / 1000000;
    print_message("a pass that changes nothing: %lld ms\n", (long long)ms);
    assert_true(ms < 1000); /* far above what it takes, also with sanitizers */
    scene_teardown(&scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gangs_start_whole_or_not_at_all_S28),
        cmocka_unit_test(fragmented_capacity_is_named_S32),
        cmocka_unit_test(shares_never_exceed_a_card_S34),
        cmocka_unit_test(shares_never_exceed_the_memory_of_a_card_S34),
        cmocka_unit_test(memory_of_shares_is_counted_in_whole_mib_S35),
        cmocka_unit_test(shares_of_two_tenants_take_two_cards),
        cmocka_unit_test(blocked_head_lets_others_pass),
        cmocka_unit_test(queue_is_in_its_order),
        cmocka_unit_test(only_sound_cards_get_work_S42),
        cmocka_unit_test(node_resources_are_kept),
        cmocka_unit_test(bad_configuration_of_one_stops_nobody_else_S49),
        cmocka_unit_test(waiting_work_always_has_a_reason_S58),
        cmocka_unit_test(suspended_tenants_wait_with_that_reason_S58),
        cmocka_unit_test(volumes_pin_work_to_their_node),
        cmocka_unit_test(placement_keeps_islands_together),
        cmocka_unit_test(nodepool_tenants_share_no_node),
        cmocka_unit_test(explanation_names_a_change_that_helps),
        cmocka_unit_test(a_new_scheduler_decides_the_same),
        cmocka_unit_test(work_without_cards_is_placed_by_its_node),
        cmocka_unit_test(old_work_leaves_the_memory),
        cmocka_unit_test(a_large_pass_is_quick),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
