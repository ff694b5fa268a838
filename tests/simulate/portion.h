/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PORTION_H
#define TESTS_PORTION_H

#include "tests/simulate/play.h"

/*
 * What is guaranteed while too few cards are healthy (5): each tenant's portion
 * is its guarantee in proportion, nobody claims more, and nobody is stopped
 * below what is kept for it.
 */

static inline int64_t
portion_healthy(const struct world *world)
{
    int64_t cards = 0;

    world_each(world, KIND_CARD, ref) {
        const struct card *card = world_card(world, ref);

        cards += !card->missing && card->health == HEALTH_HEALTHY;
    }
    return CARDS(cards);
}

/* Does the quota count all cards of a tenant's? */
static inline bool
portion_counts_all(const struct quota *quota)
{
    return quota->dimension == DIMENSION_CARDS &&
           quota->object.parent.kind == KIND_TENANT &&
           ref_is_none(quota->pool) && ref_is_none(quota->class) &&
           quota->vendor[0] == '\0' && quota->model[0] == '\0';
}

/* Each tenant has one guarantee, of all cards. */
static inline void
portion_check(struct play *play)
{
    const struct world *world = play->scene.world;
    int64_t healthy = portion_healthy(world), all = 0, portions = 0;

    world_each(world, KIND_QUOTA, ref)
        if (portion_counts_all(world_quota(world, ref)))
            all += world_quota(world, ref)->guaranteed;
    world_each(world, KIND_QUOTA, ref) {
        const struct quota *quota = world_quota(world, ref);
        int64_t portion = quota->guaranteed - quota->unmet;

        if (!portion_counts_all(quota))
            continue;
        assert_true(quota->unkept >= 0 && quota->unkept <= quota->unmet);
        portions += portion;
        if (all <= healthy)
            assert_int_equal(quota->unmet, 0);
        else /* less than a card from what is exact */
            assert_true(labs(portion * all - quota->guaranteed * healthy) <
                        CARDS(1) * all);
    }
    assert_int_equal(portions, all < healthy ? all : healthy);
}

static inline void
portion_watch(struct play *play)
{
    play_watch(play);
    world_each(play->scene.world, KIND_QUOTA, ref)
        play->hits.at_risk += world_quota(play->scene.world, ref)->unmet > 0;
    if (play->people_count == 0) /* they make other quotas and windows */
        portion_check(play);
}

/* More cards than are guaranteed to nobody get sick at once. */
static inline void
portion_break(struct play *play)
{
    for (int i = 0; i < 2; i++) {
        struct ref node = play->nodes[below(play, NODES)];
        struct changes *changes;

        if (world_node(play->scene.world, node) == NULL)
            continue;
        changes = scene_begin(&play->scene);
        usage_cut_node(changes, node);
        world_each_child(play->scene.world, KIND_CARD, node, ref)
            ((struct card *)change_update(changes, ref))->health =
                HEALTH_SUSPECT;
        scene_apply(&play->scene, changes);
    }
    portion_watch(play);
}

/* --- claims --- */

/* Cards of a tenant that are on their way out, with the set; what is late may
 * stay. */
static inline int64_t
portion_leaving(const struct changes *changes, struct ref tenant)
{
    int64_t sum = 0;

    world_each(changes->world, KIND_BINDING, ref) {
        const struct binding *binding = world_binding(changes->world, ref);
        const struct instance *instance =
            change_get(changes, binding->object.parent);

        if (binding->to_ms == 0 && ref_equal(binding->object.scope, tenant) &&
            instance->want != WANT_RUN && instance->state != INSTANCE_LOST &&
            instance->deadline_ms > changes->context.now_ms)
            sum += binding->milli;
    }
    return sum;
}

/* What is held for a tenant, and will be with the set. */
static inline int64_t
portion_held(const struct world *world, const struct changes *changes,
             struct ref tenant)
{
    int64_t sum = 0;

    world_each(world, KIND_HOLD, ref)
        if (ref_equal(world_scope(world, ref), tenant))
            sum += world_hold(world, ref)->milli;
    for (size_t i = 0; changes != NULL && i < changes->count; i++)
        if (changes->list[i].ref.kind == KIND_HOLD &&
            changes->list[i].op == CHANGE_PUT && changes->list[i].created)
            sum += ((const struct hold *)changes->list[i].image)->milli;
    return sum;
}

static inline const struct quota *
portion_quota(const struct world *world, struct ref tenant)
{
    world_each_child(world, KIND_QUOTA, tenant, ref)
        if (portion_counts_all(world_quota(world, ref)) &&
            world_quota(world, ref)->guaranteed > 0)
            return world_quota(world, ref);
    return NULL;
}

/* Whom the set tells to go for a guarantee, of another tenant. */
static inline bool
portion_is_victim(const struct changes *changes, const struct change *change,
                  struct ref tenant)
{
    const struct workload *workload = change->image;

    return change->ref.kind == KIND_WORKLOAD && change->op == CHANGE_PUT &&
           workload->state == WORKLOAD_PREEMPTING &&
           !ref_equal(workload->object.scope, tenant) &&
           world_workload(changes->world, change->ref)->state !=
               WORKLOAD_PREEMPTING &&
           workload->proof != NULL &&
           strstr(workload->proof->bytes, "\"rule\":\"guarantee\"") != NULL;
}

static inline void
portion_check_claim(struct scene *scene, const struct changes *changes)
{
    const struct world *world = changes->world;
    struct schedule_decision last = schedule_last(scene->scheduler);
    struct ref tenant = world_scope(world, last.workload);
    bool claimed = false;
    const struct quota *quota;

    if (last.what != SCHEDULE_NOMINATE || ref_is_none(last.workload))
        return;
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->list[i];
        struct ref other = world_scope(world, change->ref);

        if (!portion_is_victim(changes, change, tenant))
            continue;
        claimed = true;
        quota = portion_quota(world, other);
        if (quota != NULL)
            assert_true(quota->used - portion_leaving(changes, other) >=
                        quota_guaranteed(world, quota, scene->now_ms) -
                            quota->unkept);
    }
    quota = portion_quota(world, tenant);
    if (claimed && quota != NULL && portion_held(world, NULL, tenant) == 0)
        assert_true(quota->used + portion_held(world, changes, tenant) <=
                    quota_guaranteed(world, quota, scene->now_ms) -
                        quota->unmet);
}

#endif
