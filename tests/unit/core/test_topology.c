/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

/* How close the cards of a workload have to be. */

#define NEEDS(level, mode)                                                    \
    "{\"command\":[\"x\"],\"topology\":{\"level\":\"" level                     \
    "\",\"mode\":\"" mode "\"}}"

struct stage {
    struct scene scene;
    struct ref pool, project, one;
};

/* A node of 8 cards, the first four and the last four linked. */
static struct ref
add_node(struct stage *s, const char *name)
{
    struct ref node = scene_node(&s->scene, s->pool, name, 8, "h100");

    for (int i = 0; i < 8; i++) {
        scene_edit(&s->scene, changes, card,
                   scene_card_of(&s->scene, node, i));

        (void)snprintf(card->island, sizeof(card->island), "%d", i / 4);
        scene_apply(&s->scene, changes);
    }
    return node;
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
gang(const struct stage *s, int64_t instances, const char *spec)
{
    return (struct job){ .project = s->project,
                         .class = s->one,
                         .instances = instances,
                         .spec = spec };
}

/* One instance on each of two islands of every node. */
static void
take_two_of_each(struct stage *s, struct ref node)
{
    for (int i = 0; i < 8; i += 2) {
        scene_edit(&s->scene, changes, card,
                   scene_card_of(&s->scene, node, i));

        card->health = HEALTH_FAILED;
        scene_apply(&s->scene, changes);
    }
}

static void
an_island_that_is_required_is_waited_for(void **state)
{
    struct stage s;
    struct ref node, work;

    (void)state;
    stage_setup(&s);
    node = add_node(&s, "n1");
    take_two_of_each(&s, node);
    work = scene_submit(&s.scene, gang(&s, 3, NEEDS("island", "required")));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, work)->reason,
                     REASON_FRAGMENTED);
    assert_int_equal(scene_workload(&s.scene, work)->have, 4);
    assert_int_equal(scene_workload(&s.scene, work)->limit, 2);
    assert_non_null(strstr(scene_workload(&s.scene, work)->reason_text,
                           "at most 2 on one island"));
    {
        scene_edit(&s.scene, changes, card,
                   scene_card_of(&s.scene, node, 4));

        card->health = HEALTH_HEALTHY;
        scene_apply(&s.scene, changes);
    }
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    for (int i = 0; i < 8; i++)
        assert_int_equal(world_card(s.scene.world,
                                    scene_card_of(&s.scene, node, i))
                             ->used_milli,
                         i == 4 || i == 5 || i == 7 ? 1000 : 0);
    scene_teardown(&s.scene);
}

static void
a_node_that_is_required_is_waited_for(void **state)
{
    struct stage s;
    struct ref work, other;

    (void)state;
    stage_setup(&s);
    take_two_of_each(&s, add_node(&s, "n1"));
    take_two_of_each(&s, add_node(&s, "n2"));
    work = scene_submit(&s.scene, gang(&s, 5, NEEDS("node", "required")));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    assert_non_null(strstr(scene_workload(&s.scene, work)->reason_text,
                           "at most 4 on one node"));
    other = scene_submit(&s.scene, gang(&s, 5, NEEDS("pool", "required")));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    assert_int_equal(scene_state(&s.scene, other), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

static void
what_is_preferred_is_not_waited_for(void **state)
{
    struct stage s;
    struct ref node, work, close;

    (void)state;
    stage_setup(&s);
    node = add_node(&s, "n1");
    close = scene_submit(&s.scene, gang(&s, 3, NEEDS("island", "preferred")));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, close), WORKLOAD_ASSIGNED);
    /* The closest place is taken all the same. */
    for (int i = 4; i < 8; i++)
        assert_int_equal(world_card(s.scene.world,
                                    scene_card_of(&s.scene, node, i))
                             ->used_milli,
                         0);
    scene_finish(&s.scene, close, 0);
    take_two_of_each(&s, node);
    work = scene_submit(&s.scene, gang(&s, 3, NEEDS("island", "preferred")));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* [S28c] Never is told at once, with the bound of the level. */
static void
what_no_island_could_hold_is_refused_S28c(void **state)
{
    struct stage s;
    struct verdict verdict;

    (void)state;
    stage_setup(&s);
    (void)add_node(&s, "n1");
    (void)add_node(&s, "n2");
    verdict = scene_try(&s.scene, gang(&s, 5, NEEDS("island", "required")));
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_int_equal(verdict.have, 4);
    assert_non_null(strstr(verdict.text, "on one island"));
    verdict = scene_try(&s.scene, gang(&s, 9, NEEDS("node", "required")));
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_int_equal(verdict.have, 8);
    verdict = scene_try(&s.scene, gang(&s, 16, NEEDS("pool", "required")));
    assert_int_equal(verdict.state, WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_island_that_is_required_is_waited_for),
        cmocka_unit_test(a_node_that_is_required_is_waited_for),
        cmocka_unit_test(what_is_preferred_is_not_waited_for),
        cmocka_unit_test(what_no_island_could_hold_is_refused_S28c),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
