/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/farm.h"

#define NODES 12
#define PODS 400

/* Two kinds of nodes, six classes of pods. */
struct fixture {
    struct arena *arena;
    struct openb_cluster cluster;
    struct openb_trace trace;
    struct shape classes[6];
    uint32_t counts[6];
    struct openb_pod pods[PODS];
    struct mix mix;
};

static void
add_nodes(struct fixture *f)
{
    struct openb_cluster *cluster = &f->cluster;

    cluster->nodes = arena_alloc(f->arena, NODES * sizeof(*cluster->nodes));
    cluster->count = NODES;
    cluster->supply.kinds = 2;
    for (int i = 0; i < NODES; i++) {
        struct value_node *node = &cluster->nodes[i];

        node->kind = i >= 5;
        node->cards = i >= 5 ? 8 : 2;
        node->cpu_milli = i >= 5 ? 96000 : 32000;
        node->memory_mib = i >= 5 ? 400000 : 120000;
        for (int c = 0; c < node->cards; c++)
            node->free[c] = 1000;
        cluster->supply.cards[node->kind] += node->cards;
        cluster->milli += 1000 * (int64_t)node->cards;
    }
}

static int
set_up(void **state)
{
    static const struct shape classes[6] = {
        { 8000, 16000, 0, 0, 0 },      { 4000, 8000, 1, 300, 3 },
        { 6000, 12000, 1, 810, 3 },    { 10000, 30000, 1, 1000, 3 },
        { 10000, 30000, 1, 1000, 1 },  { 80000, 300000, 8, 1000, 2 },
    };
    struct fixture *f = calloc(1, sizeof(*f));

    f->arena = arena_new();
    add_nodes(f);
    memcpy(f->classes, classes, sizeof(classes));
    f->trace = (struct openb_trace){ .name = "small",
                                     .classes = f->classes,
                                     .counts = f->counts,
                                     .class_count = 6,
                                     .pods = f->pods,
                                     .count = PODS,
                                     .has_times = true };
    for (uint32_t i = 0; i < PODS; i++) {
        uint32_t class = i % 40 == 0 ? 5 : i % 5;

        f->pods[i] = (struct openb_pod){ class, i, i + 30 };
        f->counts[class]++;
    }
    run_known_mix(&f->trace, &f->mix);
    *state = f;
    return 0;
}

static int
tear_down(void **state)
{
    struct fixture *f = *state;

    mix_release(&f->mix);
    arena_free(f->arena);
    free(f);
    return 0;
}

/* The first node whose gain is at most slack below the best, all looked at. */
static uint32_t
scan(const struct farm *farm, const struct shape *shape, double slack)
{
    float gains[NODES], best = INDEX_NO;

    for (int i = 0; i < NODES; i++) {
        int card;

        gains[i] = (float)value_gain(farm->value, &farm->nodes[i],
                                     value_of(farm->value, &farm->nodes[i]),
                                     shape, &card);
        best = gains[i] > best ? gains[i] : best;
    }
    for (uint32_t i = 0; i < NODES && best > INDEX_NO; i++)
        if (gains[i] > INDEX_NO && (double)gains[i] >= (double)best - slack)
            return i;
    return INDEX_NONE;
}

/* With departures, which only an index that is told of them survives. */
static void
places_are_those_of_a_full_scan(void **state)
{
    struct fixture *f = *state;
    struct run_settings settings = { .policy = RUN_VALUE,
                                     .profile = &value_default,
                                     .mix = &f->mix };
    struct sequence sequence;
    struct farm_place places[64] = { { 0 } };
    uint32_t classes[64];
    struct farm farm;
    uint64_t random = 7;
    int refused = 0;

    sequence_make(&f->cluster, &f->trace, 3, 1.3, f->arena, &sequence);
    farm_init(&farm, &f->cluster, &f->trace, sequence.order, &settings);
    for (int i = 0; i < 64; i++)
        places[i].site = INDEX_NONE;
    for (int step = 0; step < 5000; step++) {
        size_t i = sequence_below(&random, 64);
        uint32_t class = (uint32_t)sequence_below(&random, 6), expected;

        if (places[i].site != INDEX_NONE)
            farm_remove(&farm, classes[i], places[i]);
        expected = scan(&farm, &f->classes[class], value_default.slack);
        classes[i] = class;
        places[i] = farm_put(&farm, class);
        assert_int_equal(places[i].site, expected);
        refused += expected == INDEX_NONE;
    }
    assert_in_range(refused, 100, 4000);
    for (int i = 0; i < 64; i++)
        if (places[i].site != INDEX_NONE)
            farm_remove(&farm, classes[i], places[i]);
    assert_int_equal(farm.used_milli, 0);
    for (int i = 0; i < NODES; i++)
        assert_memory_equal(&farm.nodes[i],
                            &f->cluster.nodes[sequence.order[i]],
                            sizeof(farm.nodes[i]));
    farm_release(&farm);
}

static void
a_sequence_follows_the_protocol(void **state)
{
    struct fixture *f = *state;
    struct sequence a, b, small;
    int64_t demand = 0, last = 0;
    uint32_t seen[NODES] = { 0 };

    sequence_make(&f->cluster, &f->trace, 1, 8, f->arena, &a);
    sequence_make(&f->cluster, &f->trace, 1, 8, f->arena, &b);
    assert_int_equal(a.count, b.count);
    assert_memory_equal(a.classes, b.classes, a.count * sizeof(uint32_t));
    for (size_t i = 0; i < a.count; i++) {
        last = shape_demand(&f->classes[a.classes[i]]);
        demand += last;
    }
    assert_in_range(demand, 8 * 66000 - 8000, 8 * 66000 + 7000);
    assert_true(a.count > PODS);
    for (int i = 0; i < NODES; i++)
        seen[a.order[i]]++;
    for (int i = 0; i < NODES; i++)
        assert_int_equal(seen[i], 1);
    /* Less than the pods ask for: some are removed. */
    sequence_make(&f->cluster, &f->trace, 1, 1, f->arena, &small);
    assert_true(small.count < PODS);
}

static void
all_that_arrives_is_counted_once(void **state)
{
    struct fixture *f = *state;
    struct run_settings settings = { .policy = RUN_FGD, .mix = &f->mix };
    struct sequence sequence;
    struct run_result run, again;
    int64_t arrived = 0;

    sequence_make(&f->cluster, &f->trace, 2, 1.3, f->arena, &sequence);
    run_sequence(&f->cluster, &f->trace, &sequence, &settings, &run);
    run_sequence(&f->cluster, &f->trace, &sequence, &settings, &again);
    for (int i = 0; i < RUN_SIZES; i++) {
        arrived += run.arrived[i];
        assert_true(run.accepted[i] <= run.arrived[i]);
    }
    assert_int_equal(arrived, sequence.count);
    assert_true(run.alloc_130 <= 100 && run.accepted[RUN_EIGHT] > 0);
    assert_true(run.digest == again.digest);
}

/* Halves of all pods ask for 1 card, halves for 500: on a card with 300 free
 * both lose 300; without CPU all of it. */
static void
fragments_are_what_typical_pods_cannot_use(void **state)
{
    struct fixture *f = *state;
    struct shape one = { 1000, 1, 1, 1000, 1 }, half = { 2000, 1, 1, 500, 1 };
    struct mix mix = { 0 };
    struct value_node node = { 1999, 100, 0, 2, { 300, 1000 } };
    struct fgd *fgd;
    int card;

    mix_count(&mix, &one, 50);
    mix_count(&mix, &half, 50);
    fgd = fgd_new(&mix, f->arena);
    /* one: 300 lost; half: too little CPU, 1300 lost. */
    assert_true(fabs(fgd_of(fgd, &node) - 800) < 1e-9);
    node.cpu_milli = 2000;
    assert_true(fabs(fgd_of(fgd, &node) - 300) < 1e-9);
    /* After the half: 300 and 500 free, no CPU: all 800 lost; 100 / (1 +
     * e^0.5) = 37.75. */
    assert_int_equal(fgd_score(fgd, &node, 300, &half, &card), 37);
    assert_int_equal(card, 1);
    assert_int_equal(fgd_score(fgd, &node, 300,
                               &(struct shape){ 3000, 1, 1, 100, 1 }, &card),
                     -1);
    mix_release(&mix);
}

static void
a_replay_gives_back_what_ends(void **state)
{
    struct fixture *f = *state;
    struct run_settings settings = { .policy = RUN_VALUE,
                                     .profile = &value_default,
                                     .mix = &f->mix };
    struct sequence sequence;
    struct run_replay one, nine;

    sequence_make(&f->cluster, &f->trace, 2, 1.3, f->arena, &sequence);
    run_replay(&f->cluster, &f->trace, &sequence, 1, &settings, &one);
    /* 400 pods of 30 s, one a second: about 30 at a time. */
    assert_int_equal(one.decisions, PODS);
    assert_true(one.placed / one.demand > 0.85);
    run_replay(&f->cluster, &f->trace, &sequence, 9, &settings, &nine);
    assert_int_equal(nine.decisions, 9 * PODS);
    assert_true(nine.placed < nine.demand);
    assert_true(nine.peak > one.peak && nine.peak <= 100);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(places_are_those_of_a_full_scan,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sequence_follows_the_protocol,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_that_arrives_is_counted_once,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            fragments_are_what_typical_pods_cannot_use, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_replay_gives_back_what_ends, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
