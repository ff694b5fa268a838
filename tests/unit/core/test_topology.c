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

/* --- leaves --- */

static void
set_leaf(struct stage *s, struct ref ref, const char *leaf)
{
    scene_edit(&s->scene, changes, node, ref);

    (void)snprintf(node->leaf, sizeof(node->leaf), "%s", leaf);
    scene_apply(&s->scene, changes);
}

static void
fail_cards(struct stage *s, struct ref node, int count)
{
    for (int i = 0; i < count; i++) {
        scene_edit(&s->scene, changes, card,
                   scene_card_of(&s->scene, node, i));

        card->health = HEALTH_FAILED;
        scene_apply(&s->scene, changes);
    }
}

/* Four nodes of 8: two behind r1, two behind r2. */
static void
add_leaves(struct stage *s, struct ref nodes[4])
{
    static const char *const names[] = { "n1", "n2", "n3", "n4" };

    for (int i = 0; i < 4; i++) {
        nodes[i] = add_node(s, names[i]);
        set_leaf(s, nodes[i], i < 2 ? "r1" : "r2");
    }
}

static int
used_cards(const struct stage *s, struct ref node)
{
    int count = 0;

    world_each_child(s->scene.world, KIND_CARD, node, ref)
        count += world_card(s->scene.world, ref)->used_milli > 0;
    return count;
}

/* r1 has 12 free, r2 has 16: the largest nodes alone would be n2 and n3. */
static void
a_gang_over_nodes_is_put_behind_one_leaf(void **state)
{
    struct stage s;
    struct ref nodes[4], work;

    (void)state;
    stage_setup(&s);
    add_leaves(&s, nodes);
    fail_cards(&s, nodes[0], 4);
    work = scene_submit(&s.scene, gang(&s, 16, NULL));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    assert_int_equal(used_cards(&s, nodes[0]), 0);
    assert_int_equal(used_cards(&s, nodes[1]), 0);
    assert_int_equal(used_cards(&s, nodes[2]), 8);
    assert_int_equal(used_cards(&s, nodes[3]), 8);
    scene_teardown(&s.scene);
}

/* Both could take 12: the one that has less left then does. */
static void
the_fullest_leaf_that_takes_a_gang_is_taken(void **state)
{
    struct stage s;
    struct ref nodes[4], work;

    (void)state;
    stage_setup(&s);
    add_leaves(&s, nodes);
    fail_cards(&s, nodes[2], 3);
    work = scene_submit(&s.scene, gang(&s, 12, NULL));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    assert_int_equal(used_cards(&s, nodes[0]) + used_cards(&s, nodes[1]), 0);
    scene_teardown(&s.scene);
}

/* [S28c] 12 are free behind each leaf, 14 are asked for. */
static void
a_leaf_that_is_required_is_waited_for_S28c(void **state)
{
    struct stage s;
    struct ref nodes[4], work, other;

    (void)state;
    stage_setup(&s);
    add_leaves(&s, nodes);
    fail_cards(&s, nodes[0], 4);
    fail_cards(&s, nodes[2], 4);
    work = scene_submit(&s.scene, gang(&s, 14, NEEDS("leaf", "required")));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, work)->reason,
                     REASON_FRAGMENTED);
    assert_int_equal(scene_workload(&s.scene, work)->have, 24);
    assert_int_equal(scene_workload(&s.scene, work)->limit, 12);
    assert_non_null(strstr(scene_workload(&s.scene, work)->reason_text,
                           "all on one leaf: 24 are free, but at most 12 on "
                           "one leaf"));
    other = scene_submit(&s.scene, gang(&s, 14, NEEDS("leaf", "preferred")));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    assert_int_equal(scene_state(&s.scene, other), WORKLOAD_ASSIGNED);
    scene_finish(&s.scene, other, 0);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    /* A node that moves wakes it. */
    set_leaf(&s, nodes[0], "r2");
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    assert_int_equal(used_cards(&s, nodes[1]), 0);
    scene_teardown(&s.scene);
}

/* [S28c] Nodes without a leaf are behind none, each stands for itself. */
static void
what_no_leaf_could_hold_is_refused_S28c(void **state)
{
    struct stage s;
    struct ref nodes[4];
    struct verdict verdict;

    (void)state;
    stage_setup(&s);
    add_leaves(&s, nodes);
    verdict = scene_try(&s.scene, gang(&s, 17, NEEDS("leaf", "required")));
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_int_equal(verdict.have, 16);
    assert_non_null(strstr(verdict.text, "behind one leaf"));
    verdict = scene_try(&s.scene, gang(&s, 16, NEEDS("leaf", "required")));
    assert_int_equal(verdict.state, WORKLOAD_QUEUED);
    for (int i = 0; i < 4; i++)
        set_leaf(&s, nodes[i], "");
    verdict = scene_try(&s.scene, gang(&s, 9, NEEDS("leaf", "required")));
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_int_equal(verdict.have, 8);
    scene_teardown(&s.scene);
}

/* --- inside a node --- */

/* Eight cards: 0-3 on the first NUMA node, 4-7 on the second; pairs behind a
 * switch; all of them on one island, as behind NVSwitches. */
static struct ref
add_box(struct stage *s, const char *name)
{
    struct ref node = scene_node(&s->scene, s->pool, name, 8, "h100");

    for (int i = 0; i < 8; i++) {
        scene_edit(&s->scene, changes, card,
                   scene_card_of(&s->scene, node, i));

        (void)snprintf(card->island, sizeof(card->island), "0");
        card->numa = i / 4;
        (void)snprintf(card->bus, sizeof(card->bus), "0000:%d0", i / 2);
        scene_apply(&s->scene, changes);
    }
    return node;
}

static void
break_card(struct stage *s, struct ref node, int at)
{
    scene_edit(&s->scene, changes, card, scene_card_of(&s->scene, node, at));

    card->health = HEALTH_FAILED;
    scene_apply(&s->scene, changes);
}

static bool
is_used(const struct stage *s, struct ref node, int at)
{
    return world_card(s->scene.world, scene_card_of(&s->scene, node, at))
               ->used_milli > 0;
}

static void
uses(const struct stage *s, struct ref node, const char *pattern)
{
    for (int i = 0; i < 8; i++)
        assert_int_equal(is_used(s, node, i), pattern[i] == 'x');
}

/* Three are left beside the first, four beside the second: a gang of four goes
 * there, one of two behind the one switch of the first that has two. */
static void
cards_are_taken_beside_one_memory_and_behind_one_switch(void **state)
{
    struct stage s;
    struct ref node, four, two;

    (void)state;
    stage_setup(&s);
    node = add_box(&s, "n1");
    break_card(&s, node, 0);
    four = scene_submit(&s.scene, gang(&s, 4, NULL));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, four), WORKLOAD_ASSIGNED);
    uses(&s, node, "....xxxx");
    two = scene_submit(&s.scene, gang(&s, 2, NULL));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, two), WORKLOAD_ASSIGNED);
    uses(&s, node, "..xxxxxx");
    scene_teardown(&s.scene);
}

/* Four are free on the first island, two on the second: two go there, and the
 * four stay together. */
static void
small_work_leaves_large_islands_whole(void **state)
{
    struct stage s;
    struct ref node, two;

    (void)state;
    stage_setup(&s);
    node = add_node(&s, "n1");
    break_card(&s, node, 4);
    break_card(&s, node, 5);
    two = scene_submit(&s.scene, gang(&s, 2, NULL));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, two), WORKLOAD_ASSIGNED);
    uses(&s, node, "......xx");
    scene_teardown(&s.scene);
}

static void
a_numa_node_that_is_required_is_waited_for(void **state)
{
    struct stage s;
    struct ref node, work;

    (void)state;
    stage_setup(&s);
    node = add_box(&s, "n1");
    break_card(&s, node, 0);
    break_card(&s, node, 5);
    work = scene_submit(&s.scene, gang(&s, 4, NEEDS("numa", "required")));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, work)->limit, 3);
    assert_non_null(strstr(scene_workload(&s.scene, work)->reason_text,
                           "at most 3 on one NUMA node"));
    {
        scene_edit(&s.scene, changes, card,
                   scene_card_of(&s.scene, node, 5));

        card->health = HEALTH_HEALTHY;
        scene_apply(&s.scene, changes);
    }
    scene_run(&s.scene);
    uses(&s, node, "....xxxx");
    scene_teardown(&s.scene);
}

static void
what_no_switch_could_hold_is_refused(void **state)
{
    struct stage s;
    struct verdict verdict;
    struct ref work, node;

    (void)state;
    stage_setup(&s);
    node = add_box(&s, "n1");
    verdict = scene_try(&s.scene, gang(&s, 3, NEEDS("switch", "required")));
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_int_equal(verdict.have, 2);
    assert_non_null(strstr(verdict.text, "behind one PCIe switch"));
    break_card(&s, node, 0);
    work = scene_submit(&s.scene, gang(&s, 2, NEEDS("switch", "required")));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    uses(&s, node, "..xx....");
    scene_teardown(&s.scene);
}

/* A card that says nothing is close to none, not to all others like it. */
static void
what_is_not_known_is_close_to_nothing(void **state)
{
    struct stage s;
    struct ref node;

    (void)state;
    stage_setup(&s);
    node = scene_node(&s.scene, s.pool, "n1", 8, "h100");
    for (int i = 0; i < 8; i++) {
        scene_edit(&s.scene, changes, card,
                   scene_card_of(&s.scene, node, i));

        card->numa = -1;
        scene_apply(&s.scene, changes);
    }
    assert_int_equal(
        scene_try(&s.scene, gang(&s, 2, NEEDS("island", "required"))).state,
        WORKLOAD_REJECTED);
    assert_int_equal(
        scene_try(&s.scene, gang(&s, 2, NEEDS("numa", "required"))).have, 1);
    assert_int_equal(
        scene_try(&s.scene, gang(&s, 2, NEEDS("switch", "required"))).have, 1);
    assert_int_equal(
        scene_try(&s.scene, gang(&s, 2, NEEDS("node", "required"))).state,
        WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

/* Three linked pairs are free, in two islands of four: the class asks for
 * linked pairs, each instance for itself. */
static void
a_class_may_ask_for_linked_cards_of_each_instance(void **state)
{
    struct stage s;
    struct verdict verdict;
    struct ref node, pairs, work, more;

    (void)state;
    stage_setup(&s);
    node = add_node(&s, "n1");
    pairs = scene_class(&s.scene, "h100.2-linked", "h100", 2);
    {
        scene_edit(&s.scene, changes, class, pairs);

        class->interconnect = INTERCONNECT_ISLAND;
        scene_apply(&s.scene, changes);
    }
    verdict = scene_try(&s.scene, (struct job){ .project = s.project,
                                                .class = pairs,
                                                .instances = 5 });
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_int_equal(verdict.have, 4);
    break_card(&s, node, 0);
    break_card(&s, node, 7);
    work = scene_submit(&s.scene, (struct job){ .project = s.project,
                                                .class = pairs,
                                                .instances = 2 });
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_ASSIGNED);
    world_each_child(s.scene.world, KIND_INSTANCE, work, instance) {
        const char *island = NULL;

        world_each_child(s.scene.world, KIND_BINDING, instance, ref) {
            const struct card *card = world_card(
                s.scene.world, world_binding(s.scene.world, ref)->card);

            assert_true(island == NULL || strcmp(island, card->island) == 0);
            island = card->island;
        }
        assert_non_null(island);
    }
    /* One card is left on each: two are free, none are linked. */
    more = scene_submit(&s.scene, (struct job){ .project = s.project,
                                                .class = pairs });
    scene_run(&s.scene);
    assert_int_equal(scene_workload(&s.scene, more)->reason,
                     REASON_FRAGMENTED);
    assert_non_null(strstr(scene_workload(&s.scene, more)->reason_text,
                           "each instance on one island: 2 are free, but at "
                           "most 1 on one island"));
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
        cmocka_unit_test(a_gang_over_nodes_is_put_behind_one_leaf),
        cmocka_unit_test(the_fullest_leaf_that_takes_a_gang_is_taken),
        cmocka_unit_test(a_leaf_that_is_required_is_waited_for_S28c),
        cmocka_unit_test(what_no_leaf_could_hold_is_refused_S28c),
        cmocka_unit_test(
            cards_are_taken_beside_one_memory_and_behind_one_switch),
        cmocka_unit_test(small_work_leaves_large_islands_whole),
        cmocka_unit_test(a_numa_node_that_is_required_is_waited_for),
        cmocka_unit_test(what_no_switch_could_hold_is_refused),
        cmocka_unit_test(what_is_not_known_is_close_to_nothing),
        cmocka_unit_test(a_class_may_ask_for_linked_cards_of_each_instance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
