/* SPDX-License-Identifier: Apache-2.0 */
#include "core/place_worth.h"

#include "core/expect.h"

#include "tests/unit/core/scene.h"

/*
 * What a node loses when work is put there: value(before) - value(after), of
 * what the policy may see of it.  The node has 8 cards, 256 CPUs and 800,000
 * MiB; what is on it is written into the estate's picture.
 */

struct stage {
    struct scene scene;
    struct ref node, tenant;
    struct class one, third;
    struct estate *estate;
    struct arena *arena;
    struct site *site;
    struct part *parts; /* of the site */
    struct place_request request;
};

static void
learn(struct stage *s, const struct ref *classes)
{
    struct ref closed = scene_project(&s->scene, s->tenant, "none");

    scene_quota(&s->scene, s->tenant, DIMENSION_CARDS, 0, CARDS(1000));
    scene_quota(&s->scene, closed, DIMENSION_CARDS, 0, 0);
    for (int i = 0; i < 60; i++)
        (void)scene_submit(&s->scene,
                           (struct job){ .project = closed,
                                         .class = classes[i % 3],
                                         .cpu_milli = 16000,
                                         .memory_mib = 1024 });
    scene_run(&s->scene);
}

static void
look_anew(struct stage *s)
{
    s->estate = estate_new(s->arena, s->scene.world, s->scene.now_ms);
    s->site = &s->estate->sites[estate_site(s->estate, s->node)];
    s->parts = &s->estate->parts[s->site->first];
}

static void
stage_setup(struct stage *s)
{
    struct scene *scene = &s->scene;
    struct ref pool, classes[3];

    *s = (struct stage){ 0 };
    scene_setup(scene);
    pool = scene_pool(scene, "a");
    s->node = scene_node(scene, pool, "n1", 8, "h100");
    {
        scene_edit(scene, changes, node, s->node);
        node->cpu_milli = 256000;
        node->memory_mib = 800000;
        scene_apply(scene, changes);
    }
    classes[0] = scene_class(scene, "h100.1", "h100", 1);
    classes[1] = scene_share(scene, "third", 300, 10000);
    classes[2] = scene_share(scene, "large", 700, 10000);
    s->tenant = scene_tenant(scene, "vision");
    learn(s, classes);
    s->one = *world_class(scene->world, classes[0]);
    s->third = *world_class(scene->world, classes[1]);
    s->arena = arena_new();
    look_anew(s);
    s->request = (struct place_request){ .tenant = s->tenant,
                                         .pool = pool,
                                         .class = &s->one,
                                         .instances = 1,
                                         .cpu_milli = 16000,
                                         .memory_mib = 1024,
                                         .card_memory_max = INT64_MAX };
    assert_true(place_worth_is_known(s->estate, &s->request));
}

static void
stage_teardown(struct stage *s)
{
    arena_free(s->arena);
    scene_teardown(&s->scene);
}

static struct place_worth
worth(const struct stage *s, enum place_when when, int64_t instances,
      uint32_t *taken)
{
    struct place_worth worth;
    uint32_t parts[8];

    for (uint32_t i = 0; i < 8; i++)
        parts[i] = (uint32_t)s->site->first + i;
    place_worth_of(s->estate, &s->request, when,
                   estate_site(s->estate, s->node), parts, s->site->count,
                   instances, &worth, taken);
    return worth;
}

static double
value_free(const struct stage *s, int64_t cpu_milli, int64_t memory_mib,
           const int16_t *free)
{
    struct value_node node = {
        .cpu_milli = cpu_milli,
        .memory_mib = memory_mib,
        .kind = expect_kind(
            s->estate->expect,
            world_card(s->scene.world, scene_card_of(&s->scene, s->node, 0)),
            world_node(s->scene.world, s->node), 8),
        .cards = 8,
    };

    assert_true(node.kind >= 0);
    memcpy(node.free, free, 8 * sizeof(*free));
    /* cmocka has a macro of that name. */
    return value_of((expect_value)(s->estate->expect), &node);
}

static void
assert_loss(double loss, double before, double after)
{
    double off = loss - (before - after);

    assert_true(before > after);
    if (off > 1e-6 || off < -1e-6)
        fail_msg("%.6f is not %.6f - %.6f", loss, before, after);
}

#define ALL_FREE                                                              \
    { 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000 }

static void
an_empty_node_loses_cards_cpu_and_memory(void **state)
{
    static const int16_t before[] = ALL_FREE;
    static const int16_t after[] = { 0,    0,    1000, 1000,
                                     1000, 1000, 1000, 1000 };
    struct stage s;

    (void)state;
    stage_setup(&s);
    assert_loss(worth(&s, PLACE_NOW, 2, NULL).loss,
                value_free(&s, 256000, 800000, before),
                value_free(&s, 224000, 797952, after));
    s.one.count = 2;
    assert_loss(worth(&s, PLACE_NOW, 1, NULL).loss,
                value_free(&s, 256000, 800000, before),
                value_free(&s, 240000, 798976, after));
    stage_teardown(&s);
}

/* Cards that are used, held for others, sick, gone or in foreign use are not
 * free; held for the one who asks is. */
static void
only_what_is_free_for_the_one_who_asks_counts(void **state)
{
    static const int16_t before[] = { 0, 0, 1000, 0, 0, 0, 400, 1000 };
    static const int16_t after[] = { 0, 0, 0, 0, 0, 0, 400, 1000 };
    struct stage s;

    (void)state;
    stage_setup(&s);
    s.parts[0].used_milli = 1000;
    s.parts[1].held_milli = 1000;
    s.parts[2].held_milli = s.parts[2].own_milli = 1000;
    s.parts[3].health = HEALTH_SUSPECT;
    s.parts[4].missing = true;
    s.parts[5].foreign = true;
    s.parts[6].used_milli = 600;
    s.site->used_cpu = 100000;
    s.site->held_cpu = 50000;
    s.site->own_cpu = 20000;
    s.site->used_memory = 795000;
    s.site->held_memory = 4000;
    s.site->own_memory = 1000;
    assert_loss(worth(&s, PLACE_NOW, 1, NULL).loss,
                value_free(&s, 126000, 2000, before),
                value_free(&s, 110000, 976, after));
    stage_teardown(&s);
}

static void
the_future_has_what_leaves_and_what_is_gained(void **state)
{
    static const int16_t now[] = { 0,    0,    1000, 1000,
                                   1000, 1000, 1000, 1000 };
    static const int16_t now_after[] = { 0,    0,    0,    1000,
                                         1000, 1000, 1000, 1000 };
    static const int16_t later[] = { 1000, 700,  1000, 1000,
                                     1000, 1000, 1000, 1000 };
    static const int16_t later_after[] = { 0,    700,  1000, 1000,
                                           1000, 1000, 1000, 1000 };
    struct stage s;

    (void)state;
    stage_setup(&s);
    s.parts[0].used_milli = s.parts[1].used_milli = 1000;
    s.parts[0].leaving_milli = 1000;
    s.parts[1].gain_milli = 700;
    s.site->used_cpu = 160000;
    s.site->leaving_cpu = 40000;
    s.site->gain_cpu = 8000;
    s.site->used_memory = 797000;
    s.site->leaving_memory = 2000;
    s.site->gain_memory = 1000;
    assert_loss(worth(&s, PLACE_NOW, 1, NULL).loss,
                value_free(&s, 96000, 3000, now),
                value_free(&s, 80000, 1976, now_after));
    assert_loss(worth(&s, PLACE_FUTURE, 1, NULL).loss,
                value_free(&s, 144000, 6000, later),
                value_free(&s, 128000, 4976, later_after));
    stage_teardown(&s);
}

/* Cards of another memory are no part of it, and so few make no known kind:
 * then what is free is what it is worth. */
static void
a_node_of_an_unknown_kind_loses_what_is_taken(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s);
    {
        scene_edit(&s.scene, changes, card,
                   scene_card_of(&s.scene, s.node, 7));
        card->memory_mib = 40000;
        scene_apply(&s.scene, changes);
    }
    look_anew(&s);
    assert_true(worth(&s, PLACE_NOW, 2, NULL).loss == 2000);
    stage_teardown(&s);
}

/* 700 free on card 5, which the tenant has a part of: two go there, and only
 * the third opens a card. */
static void
shares_open_a_card_when_no_open_one_takes_them(void **state)
{
    uint32_t taken[3];
    struct stage s;

    (void)state;
    stage_setup(&s);
    s.request.class = &s.third;
    s.parts[5].used_milli = 300;
    s.parts[5].used_memory_mib = 10000;
    assert_int_equal(worth(&s, PLACE_NOW, 2, taken).opened, 0);
    assert_int_equal(taken[0], 5);
    assert_int_equal(taken[1], 5);
    assert_int_equal(worth(&s, PLACE_NOW, 3, taken).opened, 1);
    assert_int_equal(taken[1], 5);
    assert_int_not_equal(taken[2], 5);
    stage_teardown(&s);
}

/* The open card has milli for two more but memory for one; what leaves it
 * counts later. */
static void
shares_go_where_their_memory_is_free(void **state)
{
    uint32_t taken[2];
    struct stage s;

    (void)state;
    stage_setup(&s);
    s.request.class = &s.third;
    s.parts[5].used_milli = 300;
    s.parts[5].used_memory_mib = s.parts[5].memory_mib - 19999;
    s.parts[5].leaving_memory_mib = 1;
    assert_int_equal(worth(&s, PLACE_NOW, 2, taken).opened, 1);
    assert_int_equal(taken[0], 5);
    assert_int_not_equal(taken[1], 5);
    assert_int_equal(worth(&s, PLACE_FUTURE, 2, taken).opened, 0);
    assert_int_equal(taken[1], 5);
    stage_teardown(&s);
}

/* Of two open cards, 700 and 300 free, the one that no large share fits on. */
static void
a_share_takes_the_card_that_loses_least(void **state)
{
    static const int16_t before[] = { 1000, 1000, 700,  1000,
                                      300,  1000, 1000, 1000 };
    static const int16_t after[] = { 1000, 1000, 700,  1000,
                                     0,    1000, 1000, 1000 };
    struct place_worth found;
    uint32_t taken[1];
    struct stage s;

    (void)state;
    stage_setup(&s);
    s.request.class = &s.third;
    s.parts[2].used_milli = 300;
    s.parts[4].used_milli = 700;
    found = worth(&s, PLACE_NOW, 1, taken);
    assert_int_equal(taken[0], 4);
    assert_int_equal(found.opened, 0);
    assert_loss(found.loss, value_free(&s, 256000, 800000, before),
                value_free(&s, 240000, 798976, after));
    stage_teardown(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_node_loses_cards_cpu_and_memory),
        cmocka_unit_test(only_what_is_free_for_the_one_who_asks_counts),
        cmocka_unit_test(the_future_has_what_leaves_and_what_is_gained),
        cmocka_unit_test(a_node_of_an_unknown_kind_loses_what_is_taken),
        cmocka_unit_test(shares_open_a_card_when_no_open_one_takes_them),
        cmocka_unit_test(shares_go_where_their_memory_is_free),
        cmocka_unit_test(a_share_takes_the_card_that_loses_least),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
