/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "core/cut.h"
#include "core/node_type.h"

/* The types of nodes, and what is asked of them instead of all nodes. */

struct types {
    int used;          /* types that have nodes */
    int64_t nodes;     /* of all types */
    int64_t most;      /* nodes of the largest type */
    int leaves, parts; /* leaf switches (none is one), types behind them */
};

static struct types
types_of(const struct world *world)
{
    struct types found = { 0 };
    size_t count;
    const struct node_type *types = node_type_list(world, &count);
    const struct node_leaf *leaves;

    for (size_t i = 0; i < count; i++) {
        found.used += types[i].count > 0;
        found.nodes += types[i].count;
        if (types[i].count > found.most)
            found.most = types[i].count;
        assert_int_equal(types[i].count > 0,
                         world_node(world, types[i].first) != NULL);
    }
    leaves = node_type_leaves(world, &count);
    for (size_t i = 0; i < count; i++) {
        found.leaves += leaves[i].part != NODE_TYPE_NONE;
        for (uint32_t part = leaves[i].part; part != NODE_TYPE_NONE;
             part = node_type_part(world, part)->next)
            found.parts++;
    }
    return found;
}

static void
assert_types(const struct world *world, int used, int64_t nodes, int64_t most)
{
    struct types found = types_of(world);

    assert_int_equal(found.used, used);
    assert_int_equal(found.nodes, nodes);
    assert_int_equal(found.most, most);
}

static void
put_on_island(struct scene *scene, struct ref ref, const char *island)
{
    scene_edit(scene, changes, card, ref);

    (void)snprintf(card->island, sizeof(card->island), "%s", island);
    scene_apply(scene, changes);
}

static void
put_behind(struct scene *scene, struct ref ref, const char *leaf)
{
    scene_edit(scene, changes, node, ref);

    (void)snprintf(node->leaf, sizeof(node->leaf), "%s", leaf);
    scene_apply(scene, changes);
}

static void
take_away(struct scene *scene, struct ref ref)
{
    struct changes *changes = scene_begin(scene);

    if (ref.kind == KIND_NODE)
        world_each_child(scene->world, KIND_CARD, ref, card)
            change_delete(changes, card);
    change_delete(changes, ref);
    scene_apply(scene, changes);
}

static void
equal_nodes_of_a_pool_are_one_type(void **state)
{
    struct scene scene;
    struct ref a, b, other;

    (void)state;
    scene_setup(&scene);
    a = scene_pool(&scene, "a");
    b = scene_pool(&scene, "b");
    assert_types(scene.world, 0, 0, 0);
    for (int i = 0; i < 3; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "n%d", i);
        (void)scene_node(&scene, a, name, 4, "h100");
    }
    assert_types(scene.world, 1, 3, 3);
    other = scene_node(&scene, a, "n3", 4, "a100");
    (void)scene_node(&scene, b, "n4", 4, "h100");
    assert_types(scene.world, 3, 5, 3);
    take_away(&scene, other);
    assert_types(scene.world, 2, 4, 3);
    scene_teardown(&scene);
}

static void
a_node_whose_card_changes_is_of_another_type(void **state)
{
    struct scene scene;
    struct ref pool, nodes[2];
    struct world *clone;

    (void)state;
    scene_setup(&scene);
    pool = scene_pool(&scene, "a");
    nodes[0] = scene_node(&scene, pool, "n0", 2, "h100");
    nodes[1] = scene_node(&scene, pool, "n1", 2, "h100");
    assert_types(scene.world, 1, 2, 2);
    clone = world_clone(scene.world);
    {
        scene_edit(&scene, changes, card, scene_card_of(&scene, nodes[0], 1));

        card->memory_mib = 40960;
        scene_apply(&scene, changes);
    }
    assert_types(scene.world, 2, 2, 1);
    take_away(&scene, scene_card_of(&scene, nodes[1], 1));
    assert_types(scene.world, 2, 2, 1);
    take_away(&scene, scene_card_of(&scene, nodes[0], 1));
    assert_types(scene.world, 1, 2, 2);
    /* A copy keeps what was when it was made. */
    assert_types(clone, 1, 2, 2);
    world_free(clone);
    scene_teardown(&scene);
}

static void
islands_count_by_who_shares_them_and_not_by_name(void **state)
{
    struct scene scene;
    struct ref pool, nodes[2];

    (void)state;
    scene_setup(&scene);
    pool = scene_pool(&scene, "a");
    nodes[0] = scene_node(&scene, pool, "n0", 2, "h100");
    nodes[1] = scene_node(&scene, pool, "n1", 2, "h100");
    /* Alone on one is as on none. */
    put_on_island(&scene, scene_card_of(&scene, nodes[0], 0), "x");
    assert_types(scene.world, 1, 2, 2);
    put_on_island(&scene, scene_card_of(&scene, nodes[0], 1), "x");
    assert_types(scene.world, 2, 2, 1);
    put_on_island(&scene, scene_card_of(&scene, nodes[1], 0), "y");
    put_on_island(&scene, scene_card_of(&scene, nodes[1], 1), "y");
    assert_types(scene.world, 1, 2, 2);
    scene_teardown(&scene);
}

static void
nodes_behind_a_leaf_switch_are_counted_there(void **state)
{
    struct scene scene;
    struct ref pool, nodes[4];
    struct types found;

    (void)state;
    scene_setup(&scene);
    pool = scene_pool(&scene, "a");
    for (int i = 0; i < 4; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "n%d", i);
        nodes[i] = scene_node(&scene, pool, name, i == 3 ? 1 : 2, "h100");
    }
    put_behind(&scene, nodes[0], "left");
    put_behind(&scene, nodes[1], "left");
    put_behind(&scene, nodes[3], "left");
    found = types_of(scene.world); /* left with two types, and none */
    assert_int_equal(found.used, 2);
    assert_int_equal(found.leaves, 2);
    assert_int_equal(found.parts, 3);
    put_behind(&scene, nodes[2], "left");
    found = types_of(scene.world);
    assert_int_equal(found.leaves, 1);
    assert_int_equal(found.parts, 2);
    scene_teardown(&scene);
}

/* --- whether a request could ever fit, by a walk of all nodes --- */

struct ask {
    struct ref pool;
    struct ref class;
    enum topology level;
    int64_t instances, cpu_milli, memory_mib;
};

static int64_t
least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Are two cards close to each other, by what is written on them? */
static bool
is_close(enum topology level, const struct card *a, const struct card *b)
{
    if (a == b || level < TOPOLOGY_NUMA)
        return true;
    if (level == TOPOLOGY_NUMA)
        return a->numa == b->numa && a->numa != -1;
    return level == TOPOLOGY_SWITCH
               ? a->bus[0] != '\0' && strcmp(a->bus, b->bus) == 0
               : a->island[0] != '\0' && strcmp(a->island, b->island) == 0;
}

/* Instances that the cards of a node take; near: only those close to it. */
static int64_t
walk_cards(const struct world *world, struct ref node, enum topology level,
           const struct card *near, const struct class *class)
{
    int64_t fit = 0, cards = 0;

    world_each_child(world, KIND_CARD, node, ref) {
        const struct card *card = world_card(world, ref);

        if (!place_matches(class, card) ||
            (near != NULL && !is_close(level, near, card)))
            continue;
        cards++;
        if (class->form == FORM_SOFT)
            fit += least_of(1000 / class->milli,
                            card->memory_mib / class->memory_mib);
        else if (class->form == FORM_HARD)
            fit += cut_empty_room(class, card);
    }
    return class->form == FORM_WHOLE ? cards / class->count : fit;
}

static int64_t
walk_node(const struct world *world, struct ref ref, const struct ask *ask)
{
    const struct class *class = world_class(world, ask->class);
    const struct node *node = world_node(world, ref);
    int64_t fit = 0;

    if (ask->level < TOPOLOGY_NUMA || class->form != FORM_WHOLE) {
        fit = walk_cards(world, ref, ask->level, NULL, class);
    } else {
        world_each_child(world, KIND_CARD, ref, card) {
            int64_t here = walk_cards(world, ref, ask->level,
                                      world_card(world, card), class);

            fit = here > fit ? here : fit;
        }
    }
    fit = least_of(fit, node->cpu_milli / ask->cpu_milli);
    fit = least_of(fit, node->memory_mib / ask->memory_mib);
    return least_of(fit, ask->instances);
}

static int64_t
walk_pool(const struct world *world, const struct ask *ask)
{
    int64_t best = 0;

    world_each_child(world, KIND_NODE, ask->pool, ref) {
        const char *leaf = world_node(world, ref)->leaf;
        int64_t sum = 0;

        world_each_child(world, KIND_NODE, ask->pool, other)
            if (ref_equal(ref, other) || ask->level == TOPOLOGY_POOL ||
                (ask->level == TOPOLOGY_LEAF && leaf[0] != '\0' &&
                 strcmp(leaf, world_node(world, other)->leaf) == 0))
                sum += walk_node(world, other, ask);
        best = sum > best ? sum : best;
    }
    return best;
}

struct chance {
    uint64_t random;
};

static int
below(struct chance *chance, int bound)
{
    chance->random = chance->random * UINT64_C(6364136223846793005) + 1;
    return (int)(chance->random >> 33) % bound;
}

/* Something about a node changes. */
static void
change_node(struct scene *scene, struct chance *chance, struct ref ref)
{
    static const char *const names[] = { "", "x", "y" };
    static const char *const models[] = { "h100", "a100" };
    struct changes *changes = scene_begin(scene);
    struct ref at = world_first_child(scene->world, KIND_CARD, ref);
    struct card *card = ref_is_none(at) ? NULL : change_update(changes, at);
    struct node *node = change_update(changes, ref);

    switch (below(chance, 5)) {
    case 0:
        (void)snprintf(node->leaf, sizeof(node->leaf), "%s",
                       names[below(chance, 3)]);
        break;
    case 1:
        node->cpu_milli = 4000 * (1 + below(chance, 3));
        break;
    case 2:
        if (card != NULL)
            (void)snprintf(card->model, sizeof(card->model), "%s",
                           models[below(chance, 2)]);
        break;
    case 3:
        if (card == NULL)
            break;
        (void)snprintf(card->island, sizeof(card->island), "%s",
                       names[below(chance, 3)]);
        (void)snprintf(card->bus, sizeof(card->bus), "%s",
                       names[below(chance, 3)]);
        card->numa = below(chance, 3) - 1;
        break;
    default:
        node->memory_mib = 8192 * (1 + below(chance, 3));
        break;
    }
    scene_apply(scene, changes);
}

static void
compare(const struct world *world, const struct ask *ask)
{
    int64_t capacity, memory, walked = walk_pool(world, ask);
    const struct place_amount amount = { ask->instances, ask->cpu_milli,
                                         ask->memory_mib, NULL, 0 };
    bool possible = place_shape(world, ask->pool, world_class(world, ask->class),
                                ask->level, &amount, &capacity, &memory);

    assert_int_equal(capacity, walked);
    assert_int_equal(possible, walked >= ask->instances);
}

static void
compare_all(struct scene *scene, struct chance *chance, struct ref pool,
            const struct ref *classes, int count)
{
    for (int i = 0; i < count; i++)
        for (int level = TOPOLOGY_POOL; level <= TOPOLOGY_ISLAND; level++) {
            struct ask ask = { pool,
                               classes[i],
                               (enum topology)level,
                               1 + below(chance, 12),
                               1000 * (1 + below(chance, 6)),
                               1024 * (1 + below(chance, 10)) };

            compare(scene->world, &ask);
        }
}

static void
what_types_can_hold_is_what_a_walk_of_all_nodes_finds(void **state)
{
    struct chance chance = { 4711 };
    struct scene scene;
    struct ref pool, classes[5];

    (void)state;
    scene_setup(&scene);
    pool = scene_pool(&scene, "a");
    classes[0] = scene_class(&scene, "h100.1", "h100", 1);
    classes[1] = scene_class(&scene, "any.2", "", 2);
    classes[2] = scene_class(&scene, "a100.4", "a100", 4);
    classes[3] = scene_share(&scene, "share", 300, 20000);
    classes[4] = scene_slice(&scene, "slice", "1g.10gb", 125);
    for (int i = 0; i < 300; i++) {
        size_t nodes = world_count(scene.world, KIND_NODE);
        struct ref any = world_first(scene.world, KIND_NODE);
        char name[16];

        for (int skip = nodes > 0 ? below(&chance, (int)nodes) : 0; skip > 0;
             skip--)
            any = world_next(scene.world, any);
        (void)snprintf(name, sizeof(name), "n%d", i);
        if (nodes < 3 || (nodes < 8 && below(&chance, 6) == 0))
            (void)scene_node(&scene, pool, name, below(&chance, 5), "h100");
        else if (below(&chance, 10) == 0)
            take_away(&scene, any);
        else
            change_node(&scene, &chance, any);
        assert_int_equal(types_of(scene.world).nodes,
                         world_count(scene.world, KIND_NODE));
        compare_all(&scene, &chance, pool, classes, 5);
    }
    scene_teardown(&scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_nodes_of_a_pool_are_one_type),
        cmocka_unit_test(a_node_whose_card_changes_is_of_another_type),
        cmocka_unit_test(islands_count_by_who_shares_them_and_not_by_name),
        cmocka_unit_test(nodes_behind_a_leaf_switch_are_counted_there),
        cmocka_unit_test(what_types_can_hold_is_what_a_walk_of_all_nodes_finds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
