/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_KIN_H
#define TESTS_KIN_H

#include "tests/unit/core/scene.h"

/*
 * A stage for the kin of faults that users of other schedulers met: the same
 * kind of fault by another way, in another dimension, with a restart in the
 * middle.  Three tenants a, b, c with a project each, and one node.
 */

struct stage {
    struct scene scene;
    struct ref pool, node, one, two, four, low, high;
    struct ref a, b, c, pa, pb, pc;
};

static inline void
stage_setup(struct stage *s, int cards)
{
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    s->node = scene_node(&s->scene, s->pool, "n1", cards, "h100");
    s->one = scene_class(&s->scene, "h100.1", "h100", 1);
    s->two = scene_class(&s->scene, "h100.2", "h100", 2);
    s->four = scene_class(&s->scene, "h100.4", "h100", 4);
    s->low = scene_priority(&s->scene, "low", 10);
    s->high = scene_priority(&s->scene, "high", 20);
    s->a = scene_tenant(&s->scene, "a");
    s->b = scene_tenant(&s->scene, "b");
    s->c = scene_tenant(&s->scene, "c");
    s->pa = scene_project(&s->scene, s->a, "pa");
    s->pb = scene_project(&s->scene, s->b, "pb");
    s->pc = scene_project(&s->scene, s->c, "pc");
}

static inline struct ref
cards_of(struct stage *s, struct ref node, int64_t guaranteed, int64_t limit)
{
    return scene_quota(&s->scene, node, DIMENSION_CARDS, guaranteed, limit);
}

static inline struct job
job_in(const struct stage *s, struct ref project, int64_t instances)
{
    return (struct job){ .project = project,
                         .class = s->one,
                         .priority = s->low,
                         .instances = instances };
}

static inline int
state_of(const struct stage *s, struct ref ref)
{
    return scene_state(&s->scene, ref);
}

static inline int
reason_of(const struct stage *s, struct ref ref)
{
    return scene_workload(&s->scene, ref)->reason;
}

/* The scheduler forgets all that it does not find in the world. */
static inline void
restart(struct stage *s)
{
    scheduler_free(s->scene.scheduler);
    s->scene.scheduler = scheduler_new();
    scene_run(&s->scene);
}

static inline int
count_in(const struct stage *s, int state)
{
    int count = 0;

    world_each(s->scene.world, KIND_WORKLOAD, ref)
        count += state_of(s, ref) == state;
    return count;
}

static inline void
give_way(struct stage *s, struct ref victim)
{
    assert_int_equal(state_of(s, victim), WORKLOAD_PREEMPTING);
    scene_exit(&s->scene, victim, EXIT_CHECKPOINTED);
    scene_release(&s->scene, victim);
    scene_scrub(&s->scene);
}

#endif
