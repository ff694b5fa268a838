/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share.h"

#include "tests/unit/core/scene.h"

#include <math.h>

#include "core/queue.h"
#include "core/usage.h"

/* Four cards; two tenants with two projects each. */
#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

struct stage {
    struct scene scene;
    struct ref one, low, high, node;
    struct ref a, b, pa, pb, pb2;
};

static int
setup(void **state)
{
    struct stage *s = calloc(1, sizeof(*s));
    struct scene *scene = &s->scene;

    scene_setup(scene);
    s->node = scene_node(scene, scene_pool(scene, "a"), "n1", 4, "h100");
    s->one = scene_class(scene, "h100.1", "h100", 1);
    s->low = scene_priority(scene, "low", 10);
    s->high = scene_priority(scene, "high", 20);
    s->a = scene_tenant(scene, "a");
    s->b = scene_tenant(scene, "b");
    s->pa = scene_project(scene, s->a, "pa");
    s->pb = scene_project(scene, s->b, "pb");
    s->pb2 = scene_project(scene, s->b, "pb2");
    (void)scene_quota(scene, s->a, DIMENSION_CARDS, 0, CARDS(4));
    (void)scene_quota(scene, s->b, DIMENSION_CARDS, 0, CARDS(4));
    *state = s;
    return 0;
}

static int
teardown(void **state)
{
    struct stage *s = *state;

    scene_teardown(&s->scene);
    free(s);
    return 0;
}

static void
half_life(struct stage *s, int64_t ms)
{
    scene_edit(&s->scene, changes, platform, s->scene.platform);

    platform->share_half_life_ms = ms;
    scene_apply(&s->scene, changes);
}

static struct ref
subject(struct stage *s, struct ref tenant, const char *name)
{
    return scene_put(&s->scene, KIND_USER, tenant, name);
}

static struct job
job_of(const struct stage *s, struct ref project, struct ref user)
{
    return (struct job){
        .project = project, .user = user, .class = s->one, .priority = s->low
    };
}

static void
submit_many(struct stage *s, struct job job, int count)
{
    for (int i = 0; i < count; i++)
        (void)scene_submit(&s->scene, job);
}

/* A running scheduler and one that is made now decide the same, step by step. */
static void
compare_schedulers(struct stage *s)
{
    scoped_arena arena = arena_new();
    struct id_source ids = s->scene.ids;
    struct world *world = world_clone(s->scene.world);
    struct scheduler *fresh = scheduler_new();
    struct changes *mine = scene_begin(&s->scene);
    struct changes *other =
        change_begin(arena, world, (struct context){ s->scene.now_ms, &ids });
    struct id_source before = s->scene.ids;
    bool decided = schedule_step(s->scene.scheduler, mine);

    assert_int_equal(schedule_step(fresh, other), decided);
    if (decided) {
        struct schedule_decision left = schedule_last(s->scene.scheduler);
        struct schedule_decision right = schedule_last(fresh);

        assert_int_equal(left.what, right.what);
        assert_true(ref_equal(left.workload, right.workload));
    }
    /* It is dropped: the scheduler looks again. */
    s->scene.ids = before;
    arena_free(s->scene.arena);
    s->scene.arena = NULL;
    scheduler_free(fresh);
    world_free(world);
}

/* All that runs ends each run_ms, for a time. */
static void
stream(struct stage *s, int64_t run_ms, int64_t for_ms)
{
    int64_t end_ms = s->scene.now_ms + for_ms;

    while (s->scene.now_ms < end_ms) {
        struct ref list[64];
        size_t count = 0;

        scene_run(&s->scene);
        world_each(s->scene.world, KIND_WORKLOAD, ref)
            if (scene_state(&s->scene, ref) == WORKLOAD_ASSIGNED)
                list[count++] = ref;
        assert_true(count > 0);
        for (size_t i = 0; i < count; i++)
            scene_start(&s->scene, list[i]);
        scene_wait(&s->scene, run_ms);
        for (size_t i = 0; i < count; i++) {
            scene_exit(&s->scene, list[i], 0);
            scene_release(&s->scene, list[i]);
        }
        scene_scrub(&s->scene);
    }
}

/* Metered card time at and below a node, of one user or of all. */
static int64_t
used(const struct stage *s, struct ref node, struct ref user)
{
    int64_t sum = 0;

    world_each(s->scene.world, KIND_WORKLOAD, ref) {
        const struct workload *workload = scene_workload(&s->scene, ref);

        if (world_is_below(s->scene.world, workload->object.parent, node) &&
            (ref_is_none(user) || ref_equal(user, workload->user)))
            sum += workload->card_time;
    }
    return sum;
}

static const struct ref nobody = { 0 };

/* --- numbers --- */

static void
powers_and_fading_are_those_of_long_double(void **state)
{
    const int64_t whole[] = { 1, 3, 1000, 604800000, SHARE_HALF_LIFE_MAX };

    (void)state;
    for (size_t i = 0; i < 5; i++)
        for (int64_t k = 0; k < 997 && k < whole[i]; k++) {
            int64_t part = whole[i] < 997 ? k : whole[i] / 997 * k;
            long double want =
                ldexpl(exp2l((long double)part / (long double)whole[i]), 63);
            long double got = (long double)share_power(part, whole[i]);
            long double left =
                1e15L * exp2l(-2.0L - (long double)part /
                                          (long double)whole[i]);

            assert_true(fabsl(got - want) / want < ldexpl(1, -47));
            assert_true(
                fabsl((long double)share_fade(INT64_C(1000000000000000),
                                              2 * whole[i] + part, whole[i]) -
                      left) <= 1 + left * ldexpl(1, -47));
        }
    assert_int_equal(share_power(0, 7), INT64_MIN);
    assert_int_equal(share_fade(1000, 3 * DAY, DAY), 125);
    assert_int_equal(share_fade(USAGE_MAX, 62 * DAY, DAY), 0);
    /* A day / ln 2 is 124,649,...,  x 1000 */
    assert_int_equal((int64_t)share_steady(1000, DAY) / 1000000, 124648);
}

static void
a_row_is_the_integral_of_what_was_used(void **state)
{
    struct stage *s = *state;
    struct ref user = subject(s, s->a, "ann"), row;
    long double day = 86400000.0L, want;
    struct ref job;

    half_life(s, DAY);
    job = scene_running(&s->scene, job_of(s, s->pa, user));
    scene_wait(&s->scene, 6 * HOUR);
    scene_finish(&s->scene, job, 0);
    row = world_first(s->scene.world, KIND_RECENT);
    assert_int_equal(world_count(s->scene.world, KIND_RECENT), 1);
    /* 1000 x K x (1 - 2^(-1/4)) */
    want = 1000 * day / logl(2) * (1 - exp2l(-0.25L));
    assert_true(fabsl((long double)world_recent(s->scene.world, row)->cards -
                      want) < 1000);
    want = SCENE_CARD_MIB / 1000.0L * day / logl(2) * (1 - exp2l(-0.25L));
    assert_true(fabsl((long double)world_recent(s->scene.world, row)->memory -
                      want) < 100);
    /* The steady use of a quarter of the estate for a quarter of a half-life:
     * 1000 x 1/4 x (1 - 2^(-1/4)) = 39.8. */
    assert_int_equal(share_permille(s->scene.world, s->a, nobody,
                                    s->scene.now_ms), 39);
    assert_int_equal(share_permille(s->scene.world, s->pa, user,
                                    s->scene.now_ms), 39);
    assert_int_equal(share_permille(s->scene.world, s->a, nobody,
                                    s->scene.now_ms + DAY), 19);
    assert_int_equal(share_permille(s->scene.world, s->b, nobody,
                                    s->scene.now_ms), 0);
}

static void
metering_changes_no_share(void **state)
{
    struct stage *s = *state;
    struct share_path before, after;
    int64_t keys[2];

    half_life(s, DAY);
    (void)scene_running(&s->scene, job_of(s, s->pa, nobody));
    scene_wait(&s->scene, 5 * HOUR + 123);
    share_path(s->scene.world, s->pa, nobody, s->scene.now_ms, &before);
    {
        struct changes *changes = scene_begin(&s->scene);

        usage_cut_node(changes, s->node);
        scene_apply(&s->scene, changes);
    }
    share_path(s->scene.world, s->pa, nobody, s->scene.now_ms, &after);
    keys[0] = before.keys[0];
    keys[1] = after.keys[0];
    /* One step of 2^-16 at most, where it was rounded. */
    assert_true(keys[0] > 0 && llabs(keys[0] - keys[1]) <= 1);
}

/* --- between tenants --- */

static void
equal_tenants_get_equal_card_time_whatever_they_submit(void **state)
{
    struct stage *s = *state;

    half_life(s, 7 * DAY);
    submit_many(s, job_of(s, s->pa, nobody), 100); /* all of it before b's */
    scene_wait(&s->scene, 1);
    submit_many(s, job_of(s, s->pb, nobody), 60);
    stream(s, HOUR, 24 * HOUR);
    /* 96 card-hours, half each, to one round of the four cards. */
    assert_true(llabs(used(s, s->a, nobody) - used(s, s->b, nobody)) <=
                4 * 1000 * HOUR);
    assert_int_equal(used(s, s->a, nobody) + used(s, s->b, nobody),
                     96 * 1000 * HOUR);
}

static void
a_weight_of_two_gets_twice_the_card_time(void **state)
{
    struct stage *s = *state;
    int64_t a, b;

    half_life(s, 7 * DAY);
    {
        scene_edit(&s->scene, changes, tenant, s->b);
        tenant->weight = 2000;
        scene_apply(&s->scene, changes);
    }
    submit_many(s, job_of(s, s->pa, nobody), 120);
    submit_many(s, job_of(s, s->pb, nobody), 120);
    stream(s, HOUR, 24 * HOUR);
    a = used(s, s->a, nobody) / (1000 * HOUR);
    b = used(s, s->b, nobody) / (1000 * HOUR);
    assert_int_equal(a + b, 96);
    assert_in_range(a, 30, 34); /* 32 : 64, to half a round */
}

/* Whose work starts next. */
static struct ref
next_start(struct stage *s)
{
    struct schedule_decision last;

    do {
        struct changes *changes = scene_begin(&s->scene);

        assert_true(schedule_step(s->scene.scheduler, changes) ||
                    schedule_has_more(s->scene.scheduler));
        last = schedule_last(s->scene.scheduler);
        scene_apply(&s->scene, changes);
    } while (last.what != SCHEDULE_ASSIGN);
    return world_scope(s->scene.world, last.workload);
}

/* Each start counts for the next one, and so does a weight that is set between
 * two of them: 0 : 0, 1 : 0, 1 : 1, then 2 : 1 / 0.25. */
static void
shares_change_within_one_millisecond(void **state)
{
    struct stage *s = *state;

    half_life(s, 7 * DAY);
    submit_many(s, job_of(s, s->pa, nobody), 4);
    submit_many(s, job_of(s, s->pb, nobody), 4);
    assert_true(ref_equal(next_start(s), s->a));
    assert_true(ref_equal(next_start(s), s->b));
    assert_true(ref_equal(next_start(s), s->a));
    {
        scene_edit(&s->scene, changes, tenant, s->b);
        tenant->weight = 250;
        scene_apply(&s->scene, changes);
    }
    assert_true(ref_equal(next_start(s), s->a));
}

static void
many_projects_gain_nothing(void **state)
{
    struct stage *s = *state;
    char name[NAME_MAX_SIZE];

    half_life(s, 7 * DAY);
    submit_many(s, job_of(s, s->pa, nobody), 70);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof(name), "small%d", i);
        submit_many(s, job_of(s, scene_project(&s->scene, s->b, name), nobody),
                    4);
    }
    stream(s, HOUR, 24 * HOUR);
    assert_true(llabs(used(s, s->a, nobody) - used(s, s->b, nobody)) <=
                4 * 1000 * HOUR);
}

static void
old_use_is_forgotten(void **state)
{
    struct stage *s = *state;
    int64_t day;

    half_life(s, DAY);
    submit_many(s, job_of(s, s->pa, nobody), 24);
    stream(s, HOUR, 6 * HOUR); /* a alone: 24 card-hours */
    submit_many(s, job_of(s, s->pa, nobody), 30);
    submit_many(s, job_of(s, s->pb, nobody), 30);
    day = used(s, s->b, nobody);
    stream(s, HOUR, 2 * HOUR);
    /* It is b's turn first. */
    assert_int_equal(used(s, s->b, nobody) - day, 8 * 1000 * HOUR);
    scene_wait(&s->scene, 30 * DAY);
    scene_run(&s->scene); /* what is over leaves */
    day = used(s, s->b, nobody);
    stream(s, HOUR, 4 * HOUR);
    /* Thirty half-lives later they are equals. */
    assert_int_equal(used(s, s->b, nobody) - day, 8 * 1000 * HOUR);
}

/* --- inside a tenant --- */

static void
a_user_with_many_jobs_does_not_starve_another(void **state)
{
    struct stage *s = *state;
    struct ref ann = subject(s, s->a, "ann"), bob = subject(s, s->a, "bob");

    half_life(s, 7 * DAY);
    submit_many(s, job_of(s, s->pa, ann), 200);
    scene_wait(&s->scene, 1);
    submit_many(s, job_of(s, s->pa, bob), 20);
    stream(s, HOUR, 8 * HOUR);
    assert_int_equal(used(s, s->pa, bob), 16 * 1000 * HOUR);
    assert_int_equal(used(s, s->pa, ann), 16 * 1000 * HOUR);
}

static void
tenants_are_compared_before_their_projects(void **state)
{
    struct stage *s = *state;
    struct share_path a, b, b2;

    half_life(s, 7 * DAY);
    (void)scene_running(&s->scene, job_of(s, s->pb, nobody));
    (void)scene_running(&s->scene, job_of(s, s->pb, nobody));
    (void)scene_running(&s->scene, job_of(s, s->pa, nobody));
    share_path(s->scene.world, s->pa, nobody, s->scene.now_ms, &a);
    share_path(s->scene.world, s->pb, nobody, s->scene.now_ms, &b);
    share_path(s->scene.world, s->pb2, nobody, s->scene.now_ms, &b2);
    assert_int_equal(b2.keys[1], 0); /* pb2 has had nothing, pa a card */
    assert_true(share_compare(&a, &b2) < 0); /* and a less than b */
    assert_true(share_compare(&b2, &b) < 0);
}

/* --- what goes before shares --- */

static void
guarantees_and_priorities_still_go_first(void **state)
{
    struct stage *s = *state;
    struct queue_entry little = { .right = 2, .priority = 10, .seq = 2 };
    struct queue_entry much = { .right = 2, .priority = 10, .seq = 1 };

    (void)s;
    much.share.keys[0] = 5;
    assert_true(queue_before(&little, &much));
    much.priority = 20;
    assert_true(queue_before(&much, &little));
    little.priority = 30;
    much.right = 0;
    assert_true(queue_before(&much, &little));
    much = little;
    much.share.keys[5] = 1; /* the user alone */
    assert_true(queue_before(&little, &much));
}

static void
without_a_half_life_the_order_is_by_time(void **state)
{
    struct stage *s = *state;

    submit_many(s, job_of(s, s->pa, nobody), 12);
    scene_wait(&s->scene, 1);
    submit_many(s, job_of(s, s->pb, nobody), 12);
    stream(s, HOUR, 3 * HOUR);
    assert_int_equal(used(s, s->a, nobody), 12 * 1000 * HOUR);
    assert_int_equal(used(s, s->b, nobody), 0);
    assert_int_equal(world_count(s->scene.world, KIND_RECENT), 0);
}

/* --- after a restart --- */

static struct world *
loaded_anew(const struct world *world)
{
    struct hash_key key = { 3, 4 };
    struct world *copy = world_new(&key);
    scoped_arena arena = arena_new();

    /* The slots are the same when ids are reserved in the order of slots. */
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
        for (uint32_t i = 1; i <= world_count(world, (enum kind)kind); i++) {
            const struct object *object =
                world_get(world, (struct ref){ kind, i });

            assert_non_null(object);
            (void)world_reserve(copy, (enum kind)kind, object->id);
        }
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
        for (uint32_t i = 1; i <= world_count(world, (enum kind)kind); i++) {
            size_t size = schema_get((enum kind)kind)->size;
            struct object *image = arena_alloc(arena, size);

            memcpy(image, world_get(world, (struct ref){ kind, i }), size);
            memset(&image->all, 0, sizeof(image->all));
            memset(&image->siblings, 0, sizeof(image->siblings));
            memset(image->index, 0, sizeof(image->index));
            world_load(copy, image);
        }
    return copy;
}

static void
shares_are_the_same_in_a_world_that_is_loaded(void **state)
{
    struct stage *s = *state;
    struct ref ann = subject(s, s->a, "ann"), bob = subject(s, s->b, "bob");
    struct share_path before, after;
    struct world *copy;

    half_life(s, HOUR);
    submit_many(s, job_of(s, s->pa, ann), 30);
    submit_many(s, job_of(s, s->pb, bob), 30);
    stream(s, 7 * MINUTE, 84 * MINUTE);
    (void)scene_running(&s->scene, job_of(s, s->pb2, bob));
    scene_wait(&s->scene, 17 * MINUTE);
    copy = loaded_anew(s->scene.world);
    for (int64_t later = 0; later < 5 * HOUR; later += 47 * MINUTE) {
        share_path(s->scene.world, s->pb2, bob, s->scene.now_ms + later,
                   &before);
        share_path(copy, s->pb2, bob, s->scene.now_ms + later, &after);
        assert_memory_equal(&before, &after, sizeof(before));
        assert_true(before.keys[0] > before.keys[1] && before.keys[1] > 0);
        share_path(s->scene.world, s->pa, ann, s->scene.now_ms + later,
                   &before);
        share_path(copy, s->pa, ann, s->scene.now_ms + later, &after);
        assert_memory_equal(&before, &after, sizeof(before));
    }
    world_free(copy);
}

static void
a_new_half_life_counts_from_the_rows(void **state)
{
    struct stage *s = *state;
    struct world *copy;
    struct share_path before, after;

    half_life(s, HOUR);
    submit_many(s, job_of(s, s->pa, nobody), 8);
    stream(s, 20 * MINUTE, 20 * MINUTE);
    scene_run(&s->scene);
    half_life(s, DAY);
    copy = loaded_anew(s->scene.world);
    share_path(s->scene.world, s->pa, nobody, s->scene.now_ms + 1, &before);
    share_path(copy, s->pa, nobody, s->scene.now_ms + 1, &after);
    assert_memory_equal(&before, &after, sizeof(before));
    assert_true(before.keys[0] > 0);
    world_free(copy);
}

static void
a_new_scheduler_decides_the_same(void **state)
{
    struct stage *s = *state;
    struct ref users[3] = { subject(s, s->a, "ann"), subject(s, s->b, "bob"),
                            subject(s, s->b, "eve") };

    half_life(s, HOUR);
    for (int i = 0; i < 45; i++) {
        (void)scene_submit(&s->scene,
                           job_of(s, i % 3 == 0   ? s->pa
                                     : i % 3 == 1 ? s->pb
                                                  : s->pb2,
                                  users[i % 3]));
        scene_wait(&s->scene, 1 + i);
    }
    for (int round = 0; round < 10; round++) {
        compare_schedulers(s);
        stream(s, (3 + round % 4) * MINUTE, 1);
        compare_schedulers(s);
    }
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(powers_and_fading_are_those_of_long_double),
        TEST(a_row_is_the_integral_of_what_was_used),
        TEST(metering_changes_no_share),
        TEST(equal_tenants_get_equal_card_time_whatever_they_submit),
        TEST(a_weight_of_two_gets_twice_the_card_time),
        TEST(shares_change_within_one_millisecond),
        TEST(many_projects_gain_nothing),
        TEST(old_use_is_forgotten),
        TEST(a_user_with_many_jobs_does_not_starve_another),
        TEST(tenants_are_compared_before_their_projects),
        TEST(guarantees_and_priorities_still_go_first),
        TEST(without_a_half_life_the_order_is_by_time),
        TEST(shares_are_the_same_in_a_world_that_is_loaded),
        TEST(a_new_half_life_counts_from_the_rows),
        TEST(a_new_scheduler_decides_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
