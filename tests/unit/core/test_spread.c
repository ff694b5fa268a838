/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include "core/explain.h"

/* How far apart the instances of a workload have to be. */

#define APART(level, most, mode)                                              \
    "{\"command\":[\"x\"],\"spread\":{\"level\":\"" level "\",\"mode\":\"" mode  \
    "\",\"most\":" most "}}"

struct stage {
    struct scene scene;
    struct ref pool, project, one;
};

static struct ref
add_node(struct stage *s, const char *name, const char *leaf)
{
    struct ref ref = scene_node(&s->scene, s->pool, name, 4, "h100");
    scene_edit(&s->scene, changes, node, ref);

    (void)snprintf(node->leaf, sizeof(node->leaf), "%s", leaf);
    scene_apply(&s->scene, changes);
    return ref;
}

static void
stage_setup(struct stage *s)
{
    struct ref tenant;

    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    tenant = scene_tenant(&s->scene, "blue");
    s->project = scene_project(&s->scene, tenant, "p");
    (void)scene_quota(&s->scene, tenant, DIMENSION_CARDS, 0, CARDS(64));
    s->one = scene_class(&s->scene, "h100.1", "h100", 1);
}

static struct job
replicas(const struct stage *s, int64_t instances, const char *spec)
{
    return (struct job){ .project = s->project,
                         .class = s->one,
                         .instances = instances,
                         .kind = WORKLOAD_SERVICE,
                         .spec = spec };
}

static int64_t
on_node(const struct stage *s, struct ref work, struct ref node)
{
    int64_t count = 0;

    world_each_child(s->scene.world, KIND_INSTANCE, work, ref)
        count += ref_equal(world_instance(s->scene.world, ref)->node, node);
    return count;
}

static void
fill(struct stage *s, struct ref node)
{
    for (int i = 0; i < 4; i++) {
        scene_edit(&s->scene, changes, card,
                   scene_card_of(&s->scene, node, i));

        card->foreign = true;
        scene_apply(&s->scene, changes);
    }
}

static void
each_replica_gets_its_own_node(void **state)
{
    struct stage s;
    struct ref nodes[3], work;

    (void)state;
    stage_setup(&s);
    nodes[0] = add_node(&s, "n1", "r1");
    nodes[1] = add_node(&s, "n2", "r1");
    nodes[2] = add_node(&s, "n3", "r2");
    work = scene_running(&s.scene,
                         replicas(&s, 3, APART("node", "1", "required")));
    for (int i = 0; i < 3; i++)
        assert_int_equal(on_node(&s, work, nodes[i]), 1);
    scene_teardown(&s.scene);
}

/* Four nodes, one of them full: 12 cards are free, 3 nodes fit. */
static void
the_reason_names_the_nodes_that_are_missing(void **state)
{
    struct stage s;
    struct ref full, work;
    struct arena *arena = arena_new();
    json_t *json;
    const json_t *nearest;

    (void)state;
    stage_setup(&s);
    (void)add_node(&s, "n1", "");
    (void)add_node(&s, "n2", "");
    (void)add_node(&s, "n3", "");
    full = add_node(&s, "n4", "");
    fill(&s, full);
    work = scene_submit(&s.scene,
                        replicas(&s, 4, APART("node", "1", "required")));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, work)->reason, REASON_SPREAD);
    assert_non_null(strstr(scene_workload(&s.scene, work)->reason_text,
                           "each instance needs its own node: 3 nodes fit, "
                           "4 needed"));
    json = explain_workload(s.scene.world, work, s.scene.now_ms, arena);
    nearest = json_object_get(json, "nearest");
    assert_true(json_is_true(json_object_get(nearest, "verified")));
    assert_string_equal(
        json_string_value(
            json_array_get(json_object_get(nearest, "changes"), 0)),
        "1 more node with 1 free card of class h100.1 each in pool a");
    json_decref(json);
    arena_free(arena);
    scene_teardown(&s.scene);
}

static void
what_no_pool_could_keep_apart_is_refused(void **state)
{
    struct stage s;
    struct verdict verdict;

    (void)state;
    stage_setup(&s);
    (void)add_node(&s, "n1", "r1");
    (void)add_node(&s, "n2", "r1");
    verdict = scene_try(&s.scene,
                        replicas(&s, 3, APART("node", "1", "required")));
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_int_equal(verdict.have, 2);
    assert_non_null(strstr(verdict.text, "at most 1 on one node"));
    verdict = scene_try(&s.scene,
                        replicas(&s, 4, APART("node", "2", "required")));
    assert_int_equal(verdict.state, WORKLOAD_QUEUED);
    verdict = scene_try(&s.scene,
                        replicas(&s, 2, APART("leaf", "1", "required")));
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    verdict = scene_try(&s.scene,
                        replicas(&s, 3, APART("node", "1", "preferred")));
    assert_int_equal(verdict.state, WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* Two leaves of two nodes, at most two behind each: 2 and 2. */
static void
leaves_take_so_many_together(void **state)
{
    struct stage s;
    struct ref nodes[4], work;

    (void)state;
    stage_setup(&s);
    for (int i = 0; i < 4; i++)
        nodes[i] = add_node(&s, (const char *[]){ "a", "b", "c", "d" }[i],
                            i < 2 ? "r1" : "r2");
    work = scene_running(&s.scene,
                         replicas(&s, 4, APART("leaf", "2", "required")));
    assert_int_equal(on_node(&s, work, nodes[0]) + on_node(&s, work, nodes[1]),
                     2);
    assert_int_equal(on_node(&s, work, nodes[2]) + on_node(&s, work, nodes[3]),
                     2);
    scene_teardown(&s.scene);
}

/* One node has room: what is preferred gives way, step by step. */
static void
what_is_preferred_is_as_far_apart_as_there_is_room(void **state)
{
    struct stage s;
    struct ref nodes[2], work;

    (void)state;
    stage_setup(&s);
    nodes[0] = add_node(&s, "n1", "");
    nodes[1] = add_node(&s, "n2", "");
    work = scene_running(&s.scene,
                         replicas(&s, 4, APART("node", "1", "preferred")));
    assert_int_equal(on_node(&s, work, nodes[0]), 2);
    assert_int_equal(on_node(&s, work, nodes[1]), 2);
    scene_teardown(&s.scene);
}

/* What runs counts: the third replica of an elastic service has no node. */
static void
a_gang_that_grows_stays_apart(void **state)
{
    struct stage s;
    struct ref work;
    struct job job;

    (void)state;
    stage_setup(&s);
    (void)add_node(&s, "n1", "");
    (void)add_node(&s, "n2", "");
    job = replicas(&s, 1, APART("node", "1", "required"));
    job.instances_max = 3;
    work = scene_running(&s.scene, job);
    scene_run(&s.scene);
    scene_start(&s.scene, work);
    scene_run(&s.scene);
    assert_int_equal(scene_workload(&s.scene, work)->instances_now, 2);
    (void)add_node(&s, "n3", "");
    scene_run(&s.scene);
    assert_int_equal(scene_workload(&s.scene, work)->instances_now, 3);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_replica_gets_its_own_node),
        cmocka_unit_test(the_reason_names_the_nodes_that_are_missing),
        cmocka_unit_test(what_no_pool_could_keep_apart_is_refused),
        cmocka_unit_test(leaves_take_so_many_together),
        cmocka_unit_test(what_is_preferred_is_as_far_apart_as_there_is_room),
        cmocka_unit_test(a_gang_that_grows_stays_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
