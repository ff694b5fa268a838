/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit/core/scene.h"

#include "core/booking.h"

/*
 * Random work on a busy estate, minute by minute.  What has booked a start
 * begins by then, its time never moves later, and nothing waits for ever.
 */

#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)
#define JOBS_MAX 2000

struct lab {
    struct scene scene;
    uint64_t random;
    struct ref projects[2], classes[4];
    struct {
        struct ref ref;
        int64_t run_ms;    /* how long it runs in truth */
        int64_t booked_ms; /* the time that it was told, 0: none yet */
    } jobs[JOBS_MAX];
    size_t count;
    int booked, kept, started;
};

static int64_t
draw(struct lab *lab, int64_t below)
{
    lab->random = lab->random * UINT64_C(6364136223846793005) +
                  UINT64_C(1442695040888963407);
    return (int64_t)((lab->random >> 33) % (uint64_t)below);
}

static void
lab_open(struct lab *lab, uint64_t seed)
{
    static const int64_t sizes[] = { 1, 2, 4, 8 };
    struct ref pool;

    memset(lab, 0, sizeof(*lab));
    lab->random = seed;
    scene_setup(&lab->scene);
    {
        scene_edit(&lab->scene, changes, platform, lab->scene.platform);

        platform->bypass_max = 5;
        platform->bypass_ms = 30 * MINUTE;
        platform->min_run_ms = MINUTE;
        scene_apply(&lab->scene, changes);
    }
    pool = scene_pool(&lab->scene, "p");
    (void)scene_node(&lab->scene, pool, "n1", 8, "h100");
    for (size_t i = 0; i < 4; i++) {
        char name[8] = { 'x', (char)('0' + sizes[i]), '\0' };

        lab->classes[i] = scene_class(&lab->scene, name, "h100", sizes[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        struct ref tenant = scene_tenant(&lab->scene, i == 0 ? "a" : "b");

        lab->projects[i] =
            scene_project(&lab->scene, tenant, i == 0 ? "pa" : "pb");
        (void)scene_quota(&lab->scene, tenant, DIMENSION_CARDS, 0, CARDS(8));
    }
}

/* Small work mostly; ended: it says for how long it runs at most. */
static void
submit(struct lab *lab, bool ended)
{
    int64_t size = draw(lab, 10);
    int64_t most_ms = (10 + draw(lab, 60)) * MINUTE;
    struct job job = {
        .project = lab->projects[draw(lab, 2)],
        .class = lab->classes[size < 6 ? 0 : size < 8 ? 1 : size < 9 ? 2 : 3],
        .max_run_ms = ended || draw(lab, 2) > 0 ? most_ms : 0
    };

    assert_true(lab->count < JOBS_MAX);
    lab->jobs[lab->count].ref = scene_submit(&lab->scene, job);
    lab->jobs[lab->count++].run_ms = 1 + draw(lab, most_ms);
}

/* Ends what is over; what was told to stop goes at its deadline. */
static void
live(struct lab *lab)
{
    struct scene *scene = &lab->scene;

    for (size_t i = 0; i < lab->count; i++) {
        struct ref ref = lab->jobs[i].ref;
        const struct workload *workload = scene_workload(scene, ref);

        if (workload == NULL)
            continue;
        if (workload->state == WORKLOAD_RUNNING &&
                   scene->now_ms >=
                       workload->started_ms + lab->jobs[i].run_ms) {
            scene_finish(scene, ref, 0);
        } else if ((workload->state == WORKLOAD_PREEMPTING ||
                    workload->state == WORKLOAD_CANCELLING) &&
                   scene->now_ms >= workload->state_ms + 2 * MINUTE) {
            scene_exit(scene, ref, EXIT_CHECKPOINTED);
            scene_release(scene, ref);
            scene_scrub(scene);
        }
    }
}

static void
start_assigned(struct lab *lab)
{
    for (size_t i = 0; i < lab->count; i++) {
        const struct workload *workload =
            scene_workload(&lab->scene, lab->jobs[i].ref);

        if (workload != NULL && workload->state == WORKLOAD_ASSIGNED)
            scene_start(&lab->scene, lab->jobs[i].ref);
    }
}

static void
watch(struct lab *lab, size_t i)
{
    const struct world *world = lab->scene.world;
    struct ref ref = lab->jobs[i].ref;
    const struct booking *booking =
        world_booking(world, world_first_child(world, KIND_BOOKING, ref));
    const struct workload *workload = world_workload(world, ref);

    if (workload == NULL)
        return;
    if (workload->state == WORKLOAD_PREEMPTING)
        lab->jobs[i].booked_ms = 0;
    if (workload->state == WORKLOAD_ASSIGNED && lab->jobs[i].booked_ms > 0) {
        lab->kept++;
        assert_true(lab->scene.now_ms <= lab->jobs[i].booked_ms);
        lab->jobs[i].booked_ms = 0;
    }
    lab->started += workload->state == WORKLOAD_ASSIGNED;
    if (lifecycle_is_waiting(workload->state)) /* nobody waits for ever */
        assert_true(lab->scene.now_ms - workload->waiting_ms < 20 * HOUR);
    if (booking == NULL || booking->from_ms == 0)
        return;
    lab->booked += lab->jobs[i].booked_ms == 0;
    assert_true(lab->jobs[i].booked_ms == 0 ||
                booking->from_ms <= lab->jobs[i].booked_ms);
    lab->jobs[i].booked_ms = booking->from_ms;
}

static void
run(struct lab *lab, int minutes, bool ended)
{
    for (int i = 0; i < minutes; i++) {
        if (draw(lab, 100) < 12)
            submit(lab, ended);
        live(lab);
        scene_run(&lab->scene);
        for (size_t k = 0; k < lab->count; k++)
            watch(lab, k);
        start_assigned(lab);
        scene_wait(&lab->scene, MINUTE);
    }
}

static void
booked_starts_are_kept_S52(void **state)
{
    int booked = 0, kept = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct lab lab;

        lab_open(&lab, seed);
        run(&lab, 1200, true);
        booked += lab.booked;
        kept += lab.kept;
        scene_teardown(&lab.scene);
    }
    assert_true(booked > 20);
    assert_true(kept > 15);
}

static void
nothing_waits_for_ever_S21(void **state)
{
    (void)state;
    for (uint64_t seed = 11; seed <= 14; seed++) {
        struct lab lab;

        lab_open(&lab, seed);
        run(&lab, 1500, false);
        assert_true(lab.started > 50);
        scene_teardown(&lab.scene);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(booked_starts_are_kept_S52),
        cmocka_unit_test(nothing_waits_for_ever_S21),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
