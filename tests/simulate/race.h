/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RACE_H
#define TESTS_RACE_H

#include "tests/simulate/play.h"

/*
 * Reports of agents that race: what several instances report within one
 * instant is applied to copies of the world in different orders, one set each,
 * and then a new scheduler decides.  Whatever came first, the same work has the
 * same state and the same cards in the end.
 */

#define RACE_EVENTS 8
#define RACE_ORDERS 6

struct race {
    struct race_event {
        struct ref instance;
        int what; /* 0: started, 1: exited, 2: released */
        int64_t code;
    } events[RACE_EVENTS];
    size_t count;
};

static inline void
race_apply(struct scene *scene, const struct race_event *event)
{
    struct changes *changes = scene_begin(scene);

    switch (event->what) {
    case 0:
        lifecycle_started(changes, event->instance);
        break;
    case 1:
        lifecycle_exited(changes, event->instance, event->code, false);
        break;
    default:
        lifecycle_released(changes, event->instance);
        break;
    }
    scene_apply(scene, changes);
}

/* What is due of some instances, each of another workload: which member of a
 * gang fails first is not all the same. */
static inline void
race_draw(struct play *play, struct race *race)
{
    const struct world *world = play->scene.world;
    struct ref last = { 0 };

    race->count = 0;
    world_each(world, KIND_INSTANCE, ref) {
        const struct instance *instance = world_instance(world, ref);
        struct race_event event = { .instance = ref };

        if (race->count == RACE_EVENTS ||
            ref_equal(instance->object.parent, last) ||
            instance->state == INSTANCE_LOST ||
            instance->state == INSTANCE_RELEASED || !chance(play, 70))
            continue;
        event.what = instance->state == INSTANCE_EXITED    ? 2
                     : instance->state == INSTANCE_RUNNING ||
                             instance->state == INSTANCE_STOPPING
                         ? 1
                         : 0;
        event.code = below(play, 2);
        last = instance->object.parent;
        race->events[race->count++] = event;
    }
}

static inline uint64_t
race_mix(uint64_t digest, int64_t value)
{
    return (digest ^ (uint64_t)value) * UINT64_C(0x100000001b3);
}

static inline uint64_t
race_digest(const struct world *world)
{
    uint64_t digest = 0;

    world_each(world, KIND_WORKLOAD, ref) {
        const struct workload *workload = world_workload(world, ref);

        digest = race_mix(digest, workload->state);
        digest = race_mix(digest, workload->reason);
        digest = race_mix(digest, workload->attempt);
        digest = race_mix(digest, workload->failures);
        digest = race_mix(digest, workload->instances_now);
    }
    world_each(world, KIND_CARD, ref) {
        const struct card *card = world_card(world, ref);

        digest = race_mix(digest, card->handover);
        digest = race_mix(digest, card->used_milli);
        digest = race_mix(digest, card->last_tenant.index);
        world_each_index(world, KIND_BINDING, 0, ref, at)
            if (world_binding(world, at)->to_ms == 0)
                digest = race_mix(
                    digest, world_binding(world, at)->workload.index);
    }
    world_each(world, KIND_QUOTA, ref)
        digest = race_mix(digest, world_quota(world, ref)->used);
    return digest;
}

/* One order, on a copy. */
static inline uint64_t
race_play(const struct play *play, const struct race *race,
          const size_t *order)
{
    struct scene scene = play->scene;
    uint64_t digest;

    scene.world = world_clone(play->scene.world);
    scene.scheduler = scheduler_new();
    scene.on_decision = NULL;
    scene.sample = 1000000;
    for (size_t i = 0; i < race->count; i++)
        race_apply(&scene, &race->events[order[i]]);
    scene_run(&scene);
    digest = race_digest(scene.world);
    scheduler_free(scene.scheduler);
    world_free(scene.world);
    return digest;
}

static inline void
race_shuffle(struct play *play, size_t *order, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t at = (size_t)below(play, (int)i), kept = order[i - 1];

        order[i - 1] = order[at];
        order[at] = kept;
    }
}

static inline void
race(struct play *play)
{
    size_t order[RACE_EVENTS];
    struct race race;
    uint64_t first;

    race_draw(play, &race);
    if (race.count < 2)
        return;
    for (size_t i = 0; i < race.count; i++)
        order[i] = i;
    first = race_play(play, &race, order);
    play->hits.races++;
    for (int i = 1; i < RACE_ORDERS; i++) {
        race_shuffle(play, order, race.count);
        assert_int_equal(race_play(play, &race, order), first);
        play->hits.permuted++;
    }
}

#endif
