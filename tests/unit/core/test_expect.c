/* SPDX-License-Identifier: Apache-2.0 */
#include "core/expect.h"

#include "tests/unit/core/scene.h"

#include "core/place.h"

/* What is learnt from submissions, and where work goes because of it. */

struct stage {
    struct scene scene;
    struct ref pool, tight, ample, tenant, other, project, foreign, closed;
    struct ref one, none, third;
};

static void
set_node(struct scene *scene, struct ref ref, int64_t cpu, int64_t memory)
{
    scene_edit(scene, changes, node, ref);

    node->cpu_milli = cpu;
    node->memory_mib = memory;
    scene_apply(scene, changes);
}

/* Two nodes: 4 cards with 16 CPUs for each, 8 cards with 32 for each. */
static void
stage_setup(struct stage *s)
{
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    s->tight = scene_node(&s->scene, s->pool, "n1", 4, "h100");
    s->ample = scene_node(&s->scene, s->pool, "n2", 8, "h100");
    set_node(&s->scene, s->tight, 64000, 400000);
    set_node(&s->scene, s->ample, 256000, 800000);
    s->one = scene_class(&s->scene, "h100.1", "h100", 1);
    s->none = scene_class(&s->scene, "cpu", "", 0);
    s->third = scene_share(&s->scene, "third", 300, 0);
    s->tenant = scene_tenant(&s->scene, "vision");
    s->other = scene_tenant(&s->scene, "research");
    s->project = scene_project(&s->scene, s->tenant, "p1");
    s->foreign = scene_project(&s->scene, s->other, "q1");
    s->closed = scene_project(&s->scene, s->tenant, "none");
    scene_quota(&s->scene, s->tenant, DIMENSION_CARDS, 0, CARDS(1000));
    scene_quota(&s->scene, s->other, DIMENSION_CARDS, 0, CARDS(1000));
    scene_quota(&s->scene, s->closed, DIMENSION_CARDS, 0, 0);
    scene_quota(&s->scene, s->closed, DIMENSION_INSTANCES, 0, 0);
}

/* Work that is submitted but never starts: it is counted all the same. */
static void
submit_many(struct stage *s, int count, struct ref class, int64_t cpu_milli)
{
    for (int i = 0; i < count; i++)
        (void)scene_submit(&s->scene, (struct job){ .project = s->closed,
                                                    .class = class,
                                                    .cpu_milli = cpu_milli,
                                                    .memory_mib = 1024 });
    scene_run(&s->scene);
}

static const struct platform *
platform_of(const struct stage *s)
{
    return world_platform(s->scene.world, s->scene.platform);
}

static struct ref
node_of(const struct stage *s, struct ref workload)
{
    return world_instance(s->scene.world,
                          world_first_child(s->scene.world, KIND_INSTANCE,
                                            workload))
        ->node;
}

static struct ref
card_of(const struct stage *s, struct ref workload)
{
    const struct world *world = s->scene.world;
    struct ref instance = world_first_child(world, KIND_INSTANCE, workload);

    return world_binding(world,
                         world_first_child(world, KIND_BINDING, instance))
        ->card;
}

static void
the_mix_is_learnt_after_32_submissions_and_each_doubling(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s);
    submit_many(&s, 31, s.one, 16000);
    assert_null(platform_of(&s)->expected);
    submit_many(&s, 1, s.one, 16000);
    assert_non_null(platform_of(&s)->expected);
    assert_int_equal(platform_of(&s)->expected_count, 32);
    submit_many(&s, 31, s.none, 1000);
    assert_int_equal(platform_of(&s)->expected_count, 32);
    submit_many(&s, 1, s.none, 1000);
    assert_int_equal(platform_of(&s)->expected_count, 64);
    scene_teardown(&s.scene);
}

/* Classes in the order of their first submission; both kinds of nodes. */
static void
classes_and_nodes_are_written_down(void **state)
{
    static const char begins[] =
        "{\"classes\":[[\"\",\"h100\",0,1,1000,16000,1024,20],"
        "[\"\",\"\",0,1,300,1000,1024,12]],"
        "\"kinds\":[[\"nvidia\",\"h100\",81920,4,64000,400000,4,[0,";
    struct stage s;

    (void)state;
    stage_setup(&s);
    submit_many(&s, 20, s.one, 16000);
    submit_many(&s, 12, s.third, 1000);
    assert_non_null(platform_of(&s)->expected);
    assert_int_equal(strncmp(platform_of(&s)->expected->bytes, begins,
                             strlen(begins)),
                     0);
    assert_non_null(strstr(platform_of(&s)->expected->bytes,
                           "[\"nvidia\",\"h100\",81920,8,256000,800000,8,["));
    scene_teardown(&s.scene);
}

static void
expected_kinds(const struct stage *s, const char *const *kinds, size_t count)
{
    const char *at = strstr(platform_of(s)->expected->bytes, "\"kinds\":[");

    for (size_t i = 0; i < count; i++) {
        assert_non_null(at);
        at = strstr(at + 1, "[\"nvidia\"");
        assert_non_null(at);
        assert_int_equal(strncmp(at, kinds[i], strlen(kinds[i])), 0);
    }
    assert_null(strstr(at + 1, "[\"nvidia\""));
}

/* In the order of their first cards; a node with two makes of cards is of two
 * kinds.  The numbers: memory, cards of a node, CPU, memory, all cards. */
static void
kinds_are_counted_over_all_their_nodes(void **state)
{
    static const char *const kinds[] = {
        "[\"nvidia\",\"h100\",81920,4,48000,300000,4,[",
        "[\"nvidia\",\"h100\",81920,8,256000,800000,8,[",
        "[\"nvidia\",\"h100\",81920,4,64000,400000,8,[",
        "[\"nvidia\",\"h100\",81920,2,32000,100000,2,[",
        "[\"nvidia\",\"a100\",40960,1,32000,100000,1,[",
    };
    struct stage s;
    struct ref node;

    (void)state;
    stage_setup(&s);
    for (int i = 3; i < 5; i++) {
        node = scene_node(&s.scene, s.pool, i == 3 ? "n3" : "n4", 4, "h100");
        set_node(&s.scene, node, 64000, 400000);
    }
    set_node(&s.scene, s.tight, 48000, 300000);
    node = scene_node(&s.scene, s.pool, "n5", 2, "h100");
    (void)scene_card(&s.scene, node, 2, "a100", 40960);
    set_node(&s.scene, node, 32000, 100000);
    submit_many(&s, 32, s.one, 16000);
    assert_non_null(platform_of(&s)->expected);
    expected_kinds(&s, kinds, 5);
    scene_teardown(&s.scene);
}

/* Best fit would take the small node, whose cards would then lack CPU. */
static void
work_without_cards_leaves_the_cards_their_cpu(void **state)
{
    struct stage s;
    struct ref first, second;

    (void)state;
    stage_setup(&s);
    first = scene_running(&s.scene, (struct job){ .project = s.project,
                                                  .class = s.none,
                                                  .cpu_milli = 16000 });
    assert_true(ref_equal(node_of(&s, first), s.tight));
    scene_finish(&s.scene, first, 0);
    submit_many(&s, 31, s.one, 16000);
    second = scene_running(&s.scene, (struct job){ .project = s.project,
                                                   .class = s.none,
                                                   .cpu_milli = 16000 });
    assert_true(ref_equal(node_of(&s, second), s.ample));
    scene_teardown(&s.scene);
}

static void
shares_fill_a_card_of_their_tenant_before_they_open_one(void **state)
{
    struct stage s;
    struct ref a, b, c, d;
    struct job job;

    (void)state;
    stage_setup(&s);
    job = (struct job){ .project = s.project, .class = s.third };
    submit_many(&s, 32, s.third, 1000);
    a = scene_running(&s.scene, job);
    b = scene_running(&s.scene, job);
    job.project = s.foreign;
    c = scene_running(&s.scene, job);
    job.project = s.project;
    d = scene_running(&s.scene, job);
    assert_true(ref_equal(card_of(&s, a), card_of(&s, b)));
    assert_true(ref_equal(card_of(&s, a), card_of(&s, d)));
    assert_false(ref_equal(card_of(&s, a), card_of(&s, c)));
    scene_teardown(&s.scene);
}

static void
set_health(struct stage *s, struct ref node, int first, int count, int health)
{
    for (int i = first; i < first + count; i++) {
        struct changes *changes = scene_begin(&s->scene);

        ((struct card *)change_update(changes,
                                      scene_card_of(&s->scene, node, i)))
            ->health = health;
        scene_apply(&s->scene, changes);
    }
}

/* Expected work wants seven tenths of a card: what is left beside three would
 * be worth more to it than a whole one, and still no card is opened, one that
 * comes first neither. */
static void
a_share_opens_no_card_while_one_has_room(void **state)
{
    struct stage s;
    struct ref a, b, seven;
    struct job job;

    (void)state;
    stage_setup(&s);
    seven = scene_share(&s.scene, "seven", 700, 0);
    submit_many(&s, 32, seven, 1000);
    job = (struct job){ .project = s.project, .class = s.third };
    set_health(&s, s.tight, 0, 1, HEALTH_FAILED);
    set_health(&s, s.ample, 0, 1, HEALTH_FAILED);
    a = scene_running(&s.scene, job);
    set_health(&s, s.tight, 0, 1, HEALTH_HEALTHY);
    set_health(&s, s.ample, 0, 1, HEALTH_HEALTHY);
    b = scene_running(&s.scene, job);
    assert_true(ref_equal(card_of(&s, a), card_of(&s, b)));
    scene_teardown(&s.scene);
}

/* Expected work wants pairs.  One node has two free cards and one that is held,
 * the other three free: whoever wants one takes it where a pair is left. */
static void
what_is_held_is_worth_nothing_to_others(void **state)
{
    struct stage s;
    struct estate *estate;
    struct place_request request;
    struct placement placement;
    scoped_arena arena = arena_new();
    struct ref two, holder;

    (void)state;
    stage_setup(&s);
    two = scene_class(&s.scene, "h100.2", "h100", 2);
    submit_many(&s, 32, two, 16000);
    holder = scene_submit(&s.scene, (struct job){ .project = s.foreign,
                                                  .class = s.one });
    set_health(&s, s.tight, 0, 1, HEALTH_FAILED);
    set_health(&s, s.ample, 0, 5, HEALTH_FAILED);
    {
        struct changes *changes = scene_begin(&s.scene);
        struct hold *hold = change_create(changes, KIND_HOLD, holder, "");

        hold->card = scene_card_of(&s.scene, s.tight, 1);
        hold->milli = 1000;
        hold->memory_mib = SCENE_CARD_MIB;
        hold->expires_ms = s.scene.now_ms + 1000000;
        scene_apply(&s.scene, changes);
    }
    estate = estate_new(arena, s.scene.world, s.scene.now_ms);
    request = (struct place_request){
        .tenant = s.tenant,
        .pool = s.pool,
        .class = world_class(s.scene.world, s.one),
        .instances = 1,
        .cpu_milli = 16000,
        .memory_mib = 1024,
        .card_memory_max = INT64_MAX,
    };
    assert_true(place_find(estate, &request, PLACE_NOW, arena, &placement,
                           NULL));
    assert_true(ref_equal(estate->sites[placement.seats[0].site].node,
                          s.ample));
    scene_teardown(&s.scene);
}

/* The estate of another reader places as the scheduler does. */
static void
the_same_durable_state_gives_the_same_place(void **state)
{
    struct stage s;
    struct estate *estate;
    struct place_request request;
    struct placement placement;
    scoped_arena arena = arena_new();
    struct ref workload;

    (void)state;
    stage_setup(&s);
    submit_many(&s, 20, s.one, 16000);
    submit_many(&s, 12, s.none, 30000);
    estate = estate_new(arena, s.scene.world, s.scene.now_ms);
    request = (struct place_request){
        .tenant = s.tenant,
        .pool = s.pool,
        .class = world_class(s.scene.world, s.one),
        .instances = 1,
        .cpu_milli = 16000,
        .memory_mib = 1024,
        .card_memory_max = INT64_MAX,
    };
    assert_true(place_find(estate, &request, PLACE_NOW, arena, &placement,
                           NULL));
    workload = scene_running(&s.scene, (struct job){ .project = s.project,
                                                     .class = s.one,
                                                     .cpu_milli = 16000 });
    assert_true(ref_equal(estate->sites[placement.seats[0].site].node,
                          node_of(&s, workload)));
    scene_teardown(&s.scene);
}

/* A gang of four on the small node, which it leaves empty of free cards, not
 * on the large one, whose eight serve the others of that class. */
static void
gangs_take_the_node_that_they_fill(void **state)
{
    struct stage s;
    struct ref eight, gang;

    (void)state;
    stage_setup(&s);
    eight = scene_class(&s.scene, "h100.8", "h100", 8);
    submit_many(&s, 16, eight, 100000);
    submit_many(&s, 16, s.one, 4000);
    gang = scene_running(&s.scene, (struct job){ .project = s.project,
                                                 .class = s.one,
                                                 .instances = 4,
                                                 .cpu_milli = 4000 });
    assert_true(ref_equal(node_of(&s, gang), s.tight));
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            the_mix_is_learnt_after_32_submissions_and_each_doubling),
        cmocka_unit_test(classes_and_nodes_are_written_down),
        cmocka_unit_test(kinds_are_counted_over_all_their_nodes),
        cmocka_unit_test(work_without_cards_leaves_the_cards_their_cpu),
        cmocka_unit_test(
            shares_fill_a_card_of_their_tenant_before_they_open_one),
        cmocka_unit_test(a_share_opens_no_card_while_one_has_room),
        cmocka_unit_test(what_is_held_is_worth_nothing_to_others),
        cmocka_unit_test(the_same_durable_state_gives_the_same_place),
        cmocka_unit_test(gangs_take_the_node_that_they_fill),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
