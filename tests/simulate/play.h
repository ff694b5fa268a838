/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PLAY_H
#define TESTS_PLAY_H

#include <inttypes.h>
#include <stdlib.h>

#include "tests/unit/core/scene.h"

#include "core/access.h"
#include "core/explain.h"
#include "core/ledger.h"
#include "core/quota.h"
#include "core/quota_watch.h"
#include "core/usage.h"

/*
 * What may happen on a small estate: tenants, work, faults and edits, drawn by
 * dice.  The dice are a seed's (test_world.c) or the bytes of an input
 * (tests/fuzz/fuzz_world.c).  After every applied set the invariants of the
 * domain are asserted (scene.h); after a calm period, that guarantees were
 * served.
 */

#define TENANTS 3
#define PROJECTS 5
#define NODES 4
#define CLASSES 6 /* and those of slices */
#define CUT 2000  /* seeds from then on: cards are cut, work requires drivers
                     and images */
#define WORK_MAX 40
#define NAMES_MAX 64 /* of an enum */
#define SORTS_MAX 16 /* of commands */

/* By which rule work is told to go: in its proof. */
#define RULES 7
static const char *const play_rules[RULES] = {
    "guarantee",   "priority",    "across",        "loan",
    "reservation", "maintenance", "manual-release",
};

struct play {
    struct scene scene;
    uint64_t random;
    const uint8_t *dice, *dice_end; /* of an input, in place of the seed's */
    uint64_t digest; /* of all decisions */
    bool forgetful;  /* a new scheduler before each pass */
    bool across;     /* a priority class takes burst cards of other tenants */
    struct ref pools[2], nodes[NODES], classes[CLASSES + 3], priorities[3];
    int class_count;
    struct ref tenants[TENANTS], projects[PROJECTS], quotas[16];
    size_t quota_count;
    struct actor people[1 + TENANTS]; /* commands.h: who asks */
    int people_count;
    int number;
    struct hits {
        int64_t reason[NAMES_MAX];
        int64_t state[NAMES_MAX];
        int64_t rule[RULES];
        int64_t assigned, nominated, victims, grown, shrunk;
        int64_t expired, stopped, served, edits,
            refused_edits, lost, back, failed_starts, explained, verified,
            promised, races, permuted, at_risk;
        int64_t allowed[SORTS_MAX], refused[SORTS_MAX];
    } hits; /* over all seeds */
};

/* xorshift64*: the sequence depends on nothing but the seed. */
static inline uint64_t
next(struct play *play)
{
    play->random ^= play->random >> 12;
    play->random ^= play->random << 25;
    play->random ^= play->random >> 27;
    return play->random * UINT64_C(0x2545f4914f6cdd1d);
}

/* 0 when an input has no more. */
static inline int
read_dice(struct play *play, int bound)
{
    int value = play->dice < play->dice_end ? *play->dice++ : 0;

    if (bound > 256 && play->dice < play->dice_end)
        value = value << 8 | *play->dice++;
    return value % bound;
}

static inline int
below(struct play *play, int bound)
{
    if (play->dice != NULL)
        return read_dice(play, bound);
    return (int)(next(play) >> 33) % bound;
}

static inline bool
chance(struct play *play, int percent)
{
    return below(play, 100) < percent;
}

/* --- the stage --- */

static inline void
add_quota(struct play *play, struct ref node, enum dimension dimension,
          int64_t guaranteed, int64_t limit)
{
    play->quotas[play->quota_count++] =
        scene_quota(&play->scene, node, dimension, guaranteed, limit);
}

static inline void
build_estate(struct play *play)
{
    struct scene *scene = &play->scene;

    play->pools[0] = scene_pool(scene, "a");
    play->pools[1] = scene_pool(scene, "b");
    for (int i = 0; i < NODES; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "n%d", i);
        play->nodes[i] =
            scene_node(scene, play->pools[i == NODES - 1], name, 4,
                       i % 2 == 0 ? "h100" : "a100");
    }
    play->classes[0] = scene_class(scene, "h100.1", "h100", 1);
    play->classes[1] = scene_class(scene, "a100.1", "a100", 1);
    play->classes[2] = scene_class(scene, "any.1", "", 1);
    play->classes[3] = scene_class(scene, "any.2", "", 2);
    play->classes[4] = scene_share(scene, "share.3", 300, 20000);
    play->classes[5] = scene_class(scene, "h100.4", "h100", 4);
    play->priorities[0] = scene_priority(scene, "low", 1);
    play->priorities[1] = scene_priority(scene, "middle", 5);
    play->priorities[2] = scene_priority(scene, "high", 9);
}

/* As rules_create_class makes it: it asks for the most that any card charges. */
static inline struct ref
play_slice(struct play *play, const char *name, const char *profile)
{
    struct ref ref = scene_slice(&play->scene, name, profile, 0);
    scene_edit(&play->scene, changes, class, ref);

    assert_true(geometry_most("", "", profile, &class->milli,
                              &class->memory_mib));
    scene_apply(&play->scene, changes);
    return ref;
}

/* A node says which images it has. */
static inline void
play_images(struct play *play, struct ref ref, bool demo)
{
    scene_edit(&play->scene, changes, node, ref);

    change_doc(changes, &node->facts,
               demo ? "{\"images\":[\"base\",\"demo\"]}"
                    : "{\"images\":[\"base\"]}");
    scene_apply(&play->scene, changes);
}

/* Slices of the 80 GB cards; half of the nodes have an older driver, and not
 * all have every image. */
static inline void
build_cut(struct play *play)
{
    struct scene *scene = &play->scene;

    play->classes[CLASSES] = play_slice(play, "any.1g", "1g.10gb");
    play->classes[CLASSES + 1] = play_slice(play, "any.3g", "3g.40gb");
    play->classes[CLASSES + 2] = play_slice(play, "any.2g", "2g.20gb");
    play->class_count = CLASSES + 3;
    for (int i = 0; i < NODES; i++)
        play_images(play, play->nodes[i], i < 2);
    for (int i = 0; i < NODES; i++)
        for (int k = 0; k < 4; k++) {
            struct ref ref = scene_card_of(scene, play->nodes[i], k);
            scene_edit(scene, changes, card, ref);

            (void)snprintf(card->driver, sizeof(card->driver), "%s",
                           i % 2 == 0 ? "550.54" : "535.10");
            scene_apply(scene, changes);
        }
}

static inline void
build_tenants(struct play *play, bool much)
{
    struct scene *scene = &play->scene;

    for (int i = 0; i < TENANTS; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "t%d", i);
        play->tenants[i] = scene_tenant(scene, name);
        add_quota(play, play->tenants[i], DIMENSION_CARDS,
                  CARDS(2 + much + 2 * i), CARDS(12));
    }
    play->projects[0] = scene_project(scene, play->tenants[0], "p0");
    play->projects[1] = scene_project(scene, play->tenants[1], "p1");
    play->projects[2] = scene_project(
        scene, scene_put(scene, KIND_UNIT, play->tenants[1], "u"), "p2");
    play->projects[3] = scene_project(scene, play->tenants[2], "p3");
    play->projects[4] = scene_project(scene, play->tenants[2], "p4");
    add_quota(play, play->projects[2], DIMENSION_CARDS, CARDS(1), CARDS(6));
    add_quota(play, play->projects[3], DIMENSION_CARDS, CARDS(2), CARDS(8));
    add_quota(play, play->projects[0], DIMENSION_WORKLOADS, 0, 8);
    add_quota(play, play->tenants[2], DIMENSION_CPU, 0, 14000);
    add_quota(play, play->tenants[1], DIMENSION_ACCEL_MEMORY, 0,
              9 * SCENE_CARD_MIB);
    add_quota(play, play->projects[4], DIMENSION_CARD_TIME, 0,
              INT64_C(3) * 1000 * 3600000);
}

static inline void
play_platform(struct platform *platform)
{
    platform->grace_batch_ms = 10000;
    platform->grace_service_ms = 5000;
    platform->grace_max_ms = 600000;
    platform->hold_ms = 20000;
    platform->min_run_ms = 30000;
    platform->tenant_limit_permille = 1000;
    platform->burst_factor_permille = 2000;
    platform->free_limit_milli = 1000;
    platform->restart_max = 10;
}

/* A class that takes other tenants' burst cards has to be given by name. */
static inline void
play_allow(struct play *play, struct changes *changes, struct tenant *tenant)
{
    char text[256] = "", id[ID_TEXT_MAX];

    for (int i = 0; i < 3; i++) {
        if (world_get(play->scene.world, play->priorities[i]) == NULL)
            continue;
        object_id_text(play->scene.world, play->priorities[i], id);
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
                       "%s\"%s\"", text[0] == '\0' ? "[" : ",", id);
    }
    (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "]");
    change_doc(changes, &tenant->priorities,
               play->across && text[1] != '\0' ? text : NULL);
}

/* High work takes other tenants' burst cards. */
static inline void
build_across(struct play *play)
{
    struct changes *changes = scene_begin(&play->scene);

    play->across = true;
    ((struct priority *)change_update(changes, play->priorities[2]))
        ->preempt_across = true;
    for (int i = 0; i < TENANTS; i++)
        play_allow(play, changes, change_update(changes, play->tenants[i]));
    scene_apply(&play->scene, changes);
}

static inline void
build(struct play *play, uint64_t seed)
{
    struct hits hits = play->hits;
    struct changes *changes;
    struct platform *platform;

    memset(play, 0, sizeof(*play));
    play->hits = hits;
    play->random = seed * 2 + 1;
    scene_setup(&play->scene);
    build_estate(play);
    build_tenants(play, seed % 4 == 3); /* of 16 cards 15 */
    play->class_count = CLASSES;
    if (seed >= CUT)
        build_cut(play);
    if (seed % 3 == 0)
        build_across(play);
    changes = scene_begin(&play->scene);
    platform = change_update(changes, play->scene.platform);
    play_platform(platform);
    platform->share_half_life_ms = seed % 2 == 0 ? 0 : 600000; /* or off */
    scene_apply(&play->scene, changes);
}

/* --- what happens --- */

static inline void
count_rule(struct play *play, const char *proof)
{
    for (int i = 0; i < RULES; i++) {
        char text[40];

        (void)snprintf(text, sizeof(text), "\"rule\":\"%s\"",
                       play_rules[i]);
        play->hits.rule[i] += strstr(proof, text) != NULL;
    }
}

static inline void
count_states(struct play *play)
{
    world_each(play->scene.world, KIND_WORKLOAD, ref) {
        const struct workload *workload = scene_workload(&play->scene, ref);

        play->hits.state[workload->state]++;
        if (lifecycle_is_waiting(workload->state))
            play->hits.reason[workload->reason]++;
        if (workload->state == WORKLOAD_PREEMPTING &&
            workload->proof != NULL)
            count_rule(play, workload->proof->bytes);
    }
}

static inline void
count_shrunk(struct play *play)
{
    world_each(play->scene.world, KIND_INSTANCE, ref) {
        const struct instance *instance =
            world_instance(play->scene.world, ref);

        play->hits.shrunk += lifecycle_has_left(instance) &&
                             instance->want == WANT_NOTICE;
    }
}

static inline void
schedule(struct play *play)
{
    struct scene *scene = &play->scene;

    if (play->forgetful) {
        scheduler_free(scene->scheduler);
        scene->scheduler = scheduler_new();
    }
    scene_wait(scene, 1000); /* time alone is looked at that often */
    scene_run(scene);
    play->hits.assigned += scene->assigned;
    play->hits.nominated += scene->nominated;
    play->hits.victims += scene->victims;
    play->hits.grown += scene->grown;
    play->hits.expired += scene->expired;
    play->hits.stopped += scene->stopped;
    world_each(scene->world, KIND_WORKLOAD, ref) {
        const struct workload *workload = scene_workload(scene, ref);

        play->digest = (play->digest ^ (uint64_t)workload->state ^
                        (uint64_t)workload->attempt << 8 ^
                        (uint64_t)workload->reason << 20) *
                       UINT64_C(0x100000001b3);
    }
    world_each(scene->world, KIND_BINDING, ref)
        play->digest = (play->digest ^
                        world_binding(scene->world, ref)->card.index) *
                       UINT64_C(0x100000001b3);
}

/* Was it deleted by one of the commands?  Of none it is not said. */
static inline bool
is_gone(const struct play *play, struct ref ref)
{
    const struct project *project = world_project(play->scene.world, ref);

    return !ref_is_none(ref) &&
           (world_get(play->scene.world, ref) == NULL ||
            (project != NULL && project->state == STATE_DELETED));
}

static inline void
submit(struct play *play)
{
    struct job job = { 0 };
    struct verdict verdict;
    struct ref classes[2];
    char name[16];

    if (world_count(play->scene.world, KIND_WORKLOAD) >= WORK_MAX)
        return;
    (void)snprintf(name, sizeof(name), "w%d", play->number++);
    job.name = name;
    job.project = play->projects[below(play, PROJECTS)];
    job.class = play->classes[below(play, play->class_count)];
    job.priority = play->priorities[below(play, 3)];
    job.instances = chance(play, 25) ? 1 + below(play, 5) : 1;
    job.kind = below(play, 3);
    job.fixed = chance(play, 10);
    job.restarts = below(play, 3);
    job.recovery = below(play, 3);
    job.max_run_ms = chance(play, 20) ? 1000 * (1 + below(play, 3600)) : 0;
    job.cpu_milli = 500 * (1 + below(play, 4));
    job.pool = chance(play, 20) ? play->pools[below(play, 2)]
                                : (struct ref){ 0 };
    classes[0] = job.class;
    classes[1] = play->classes[below(play, play->class_count)];
    if (chance(play, 20) && !ref_equal(classes[0], classes[1])) {
        job.classes = classes;
        job.class_count = 2;
    }
    if (is_gone(play, job.project) || is_gone(play, job.class) ||
        is_gone(play, job.priority) || is_gone(play, job.pool) ||
        (job.class_count > 0 && is_gone(play, classes[1])))
        return;
    if (play->class_count > CLASSES && play->number % 7 == 0)
        job.spec = "{\"command\":[\"x\"],\"requires\":{\"driver\":\"540\"}}";
    if (play->class_count > CLASSES && play->number % 5 < 2)
        job.image = play->number % 5 == 0 ? "base" : "demo";
    if (play->number % 9 == 0)
        job.spec = "{\"command\":[\"x\"],\"spread\":{\"level\":\"node\","
                   "\"most\":2}}";
    if (chance(play, 20))
        job.instances_max = job.instances + 1 + below(play, 4);
    verdict = scene_try(&play->scene, job);
    if (verdict.state == WORKLOAD_REJECTED) { /* it leaves no object */
        play->hits.state[WORKLOAD_REJECTED]++;
        play->hits.reason[verdict.reason]++;
        return;
    }
    (void)scene_submit(&play->scene, job);
}

/* One event of one live instance, as its agent would report it. */
static inline void
progress(struct play *play, struct changes *changes, struct ref ref,
         bool calm)
{
    const struct instance *instance =
        world_instance(play->scene.world, ref);
    bool told = instance->want != WANT_RUN;

    switch ((enum instance_state)instance->state) {
    case INSTANCE_ASSIGNED:
        if (!calm && chance(play, 10)) {
            lifecycle_start_failed(changes, ref, "no luck");
            play->hits.failed_starts++;
        } else {
            lifecycle_starting(changes, ref);
        }
        break;
    case INSTANCE_STARTING:
        lifecycle_started(changes, ref);
        break;
    case INSTANCE_RUNNING:
        if (!calm && chance(play, 30)) { /* one die after the other */
            bool oom = chance(play, 20);

            lifecycle_exited(changes, ref, chance(play, 70) ? 0 : 1, oom);
        } else if (!calm)
            lifecycle_checkpoint(changes, ref, below(play, 1000),
                                 play->scene.now_ms);
        break;
    case INSTANCE_STOPPING:
        if (told && (calm || chance(play, 60)))
            lifecycle_exited(changes, ref, chance(play, 60) ? 75 : 143,
                             false);
        break;
    case INSTANCE_EXITED:
        lifecycle_released(changes, ref);
        break;
    case INSTANCE_RELEASED:
    case INSTANCE_LOST:
        break;
    }
}

static inline void
progress_all(struct play *play, int percent, bool calm)
{
    struct changes *changes = scene_begin(&play->scene);

    world_each(play->scene.world, KIND_INSTANCE, ref)
        if (chance(play, percent))
            progress(play, changes, ref, calm);
    scene_apply(&play->scene, changes);
}

/* Late and doubled reports about anything, released instances included. */
static inline void
babble(struct play *play)
{
    struct changes *changes = scene_begin(&play->scene);

    world_each(play->scene.world, KIND_INSTANCE, ref) {
        if (world_instance(play->scene.world, ref)->state !=
                INSTANCE_RELEASED ||
            !chance(play, 20))
            continue;
        lifecycle_released(changes, ref);
        lifecycle_started(changes, ref);
        lifecycle_exited(changes, ref, 3, true);
        lifecycle_back(changes, ref);
    }
    scene_apply(&play->scene, changes);
}

/* Any workload, none when there is none. */
static inline struct ref
any_work(struct play *play)
{
    size_t count = world_count(play->scene.world, KIND_WORKLOAD);
    int skip = count > 0 ? below(play, (int)count) : 0;

    world_each(play->scene.world, KIND_WORKLOAD, ref)
        if (skip-- == 0)
            return ref;
    return (struct ref){ 0 };
}

static inline void
cancel(struct play *play)
{
    struct ref ref = any_work(play);
    struct changes *changes = scene_begin(&play->scene);

    if (!ref_is_none(ref)) {
        int state = scene_state(&play->scene, ref);

        if (lifecycle_is_live(state)) {
            lifecycle_stop(changes, ref, WORKLOAD_CANCELLING, "cancelled",
                           NULL);
        } else if (lifecycle_is_waiting(state)) {
            struct workload *workload = change_update(changes, ref);

            reason_clear(workload);
            workload->state = WORKLOAD_CANCELLED;
            workload->ended_ms = play->scene.now_ms;
            lifecycle_drop_holds(changes, ref);
        }
    }
    scene_apply(&play->scene, changes);
}

static inline void
hold_or_release(struct play *play)
{
    struct ref ref = any_work(play);
    struct changes *changes = scene_begin(&play->scene);
    struct verdict verdict;
    int state;

    if (!ref_is_none(ref)) {
        state = scene_state(&play->scene, ref);
        verdict_set(&verdict,
                    state == WORKLOAD_HELD ? WORKLOAD_QUEUED : WORKLOAD_HELD,
                    state == WORKLOAD_HELD ? REASON_NOT_EVALUATED
                                           : REASON_HELD_BY_USER,
                    "by its user, in the simulation");
        if (state == WORKLOAD_HELD ||
            (lifecycle_is_waiting(state) && chance(play, 30))) {
            lifecycle_drop_holds(changes, ref);
            reason_put(change_update(changes, ref), &verdict,
                       play->scene.now_ms);
        }
    }
    scene_apply(&play->scene, changes);
}

/* Is there nothing but cards that it lacks?  Then cards must help: their lack is
 * what its reason says.  Kept apart it needs nodes too, and cards for slices
 * are not added in what-if. */
static inline bool
lacks_cards(const struct play *play, const struct workload *workload)
{
    return (workload->reason == REASON_CAPACITY ||
            workload->reason == REASON_HANDOVER ||
            workload->reason == REASON_PRIORITY) &&
           workload->spec == NULL && play->class_count == CLASSES &&
           workload->classes == NULL && play->people_count == 0;
}

/* A waiting workload is explained: the change that is named was tried. */
static inline void
explain(struct play *play)
{
    struct ref ref = any_work(play);
    struct arena *arena;
    json_t *json;
    const json_t *nearest;

    if (ref_is_none(ref) ||
        !lifecycle_is_waiting(scene_state(&play->scene, ref)))
        return;
    arena = arena_new();
    json = explain_workload(play->scene.world, ref, play->scene.now_ms,
                            arena);
    assert_non_null(json_object_get(json, "text"));
    nearest = json_object_get(json, "nearest");
    play->hits.explained += nearest != NULL;
    play->hits.verified += json_is_true(json_object_get(nearest, "verified"));
    if (lacks_cards(play, scene_workload(&play->scene, ref)))
        assert_true(json_is_true(json_object_get(nearest, "verified")));
    json_decref(json);
    arena_free(arena);
}

/* Of all cards no more is guaranteed to all tenants than is healthy, whenever
 * one of them is given more (5). */
static inline void
check_promises(const struct play *play)
{
    const struct world *world = play->scene.world;
    int64_t healthy = 0, promised = 0;

    world_each(world, KIND_CARD, ref)
        healthy += world_card(world, ref)->health == HEALTH_HEALTHY &&
                   !world_card(world, ref)->missing;
    world_each(world, KIND_QUOTA, ref) {
        const struct quota *quota = world_quota(world, ref);

        if (quota->dimension == DIMENSION_CARDS && !quota->given &&
            quota->object.parent.kind == KIND_TENANT &&
            ref_is_none(quota->pool) && ref_is_none(quota->class) &&
            quota->vendor[0] == '\0' && quota->model[0] == '\0')
            promised += quota->guaranteed;
    }
    assert_true(promised <= CARDS(healthy));
}

/* Edits go through the check that the API asks. */
static inline void
edit_quota(struct play *play)
{
    struct ref ref = play->quotas[below(play, (int)play->quota_count)];
    struct changes *changes;
    struct quota *quota;
    struct error err;
    bool more;

    if (world_quota(play->scene.world, ref) == NULL)
        return;
    changes = scene_begin(&play->scene);
    quota = change_update(changes, ref);
    if (quota->dimension == DIMENSION_CARDS) {
        quota->guaranteed = CARDS(below(play, 7));
        quota->limit = chance(play, 10) ? AMOUNT_NONE
                                        : CARDS(below(play, 17));
    } else if (quota->dimension != DIMENSION_CARD_TIME) {
        quota->limit = quota->limit + (chance(play, 50) ? 1 : -1);
    }
    play->hits.edits++;
    more = quota->object.parent.kind == KIND_TENANT &&
           quota->guaranteed > world_quota(play->scene.world, ref)->guaranteed;
    if (quota_check(NULL, changes, quota, &err) == 0) {
        scene_apply(&play->scene, changes);
        if (more)
            check_promises(play);
        return;
    }
    play->hits.refused_edits++;
    arena_free(play->scene.arena);
    play->scene.arena = NULL;
}

static inline void
break_card(struct play *play)
{
    struct ref node = play->nodes[below(play, NODES)];
    int number = below(play, 4);
    struct changes *changes;
    struct card *card;

    if (world_node(play->scene.world, node) == NULL)
        return;
    changes = scene_begin(&play->scene);
    usage_cut_node(changes, node);
    card = change_update(changes, scene_card_of(&play->scene, node, number));
    switch (below(play, 3)) {
    case 0:
        card->health = chance(play, 60)        ? HEALTH_HEALTHY
                       : play->number % 2 == 0 ? HEALTH_SUSPECT
                                               : HEALTH_FAILED;
        if (card->health == HEALTH_FAILED)
            lifecycle_card_failed(changes, card->object.self);
        break;
    case 1:
        card->foreign = chance(play, 30);
        break;
    default:
        card->missing = chance(play, 30);
        break;
    }
    scene_apply(&play->scene, changes);
}

static inline void
set_node(struct play *play, struct ref ref, int state)
{
    struct changes *changes;
    struct node *node;
    bool was_lost;

    if (world_node(play->scene.world, ref) == NULL)
        return;
    changes = scene_begin(&play->scene);
    usage_cut_node(changes, ref);
    node = change_update(changes, ref);
    was_lost = node->state == NODE_LOST;
    node->state = state;
    if (state == NODE_LOST && !was_lost) {
        lifecycle_lost(changes, ref);
        play->hits.lost++;
    }
    if (was_lost && state != NODE_LOST)
        world_each_index(play->scene.world, KIND_INSTANCE, 0, ref, instance)
            if (world_instance(play->scene.world, instance)->state ==
                INSTANCE_LOST) {
                lifecycle_back(changes, instance);
                play->hits.back++;
            }
    scene_apply(&play->scene, changes);
}

static inline void
suspend(struct play *play)
{
    struct ref ref = play->tenants[below(play, TENANTS)];
    struct changes *changes;
    struct tenant *tenant;

    if (world_tenant(play->scene.world, ref) == NULL)
        return;
    changes = scene_begin(&play->scene);
    tenant = change_update(changes, ref);
    tenant->state = chance(play, 12) ? STATE_SUSPENDED : STATE_ACTIVE;
    scene_apply(&play->scene, changes);
}

/* Finished work leaves the world, so that it does not grow. */
static inline void
forget(struct play *play)
{
    struct changes *changes = scene_begin(&play->scene);
    const struct world *world = play->scene.world;

    world_each(world, KIND_WORKLOAD, ref) {
        bool bound = false;

        if (!lifecycle_is_over(scene_state(&play->scene, ref)))
            continue;
        world_each_child(world, KIND_INSTANCE, ref, instance)
            bound |= world_instance(world, instance)->state !=
                     INSTANCE_RELEASED;
        if (bound)
            continue;
        world_each_child(world, KIND_INSTANCE, ref, instance) {
            world_each_child(world, KIND_BINDING, instance, binding)
                change_evict(changes, binding);
            change_evict(changes, instance);
        }
        change_delete(changes, ref);
    }
    scene_apply(&play->scene, changes);
}

/* An operator puts an image on a node, or takes it off; else finished work
 * leaves the world. */
static inline void
bring_image(struct play *play)
{
    struct ref ref = play->nodes[below(play, NODES)];

    if (play->class_count == CLASSES)
        forget(play);
    else if (world_node(play->scene.world, ref) != NULL)
        play_images(play, ref, chance(play, 50));
}

static inline void
change_node(struct play *play)
{
    int state = chance(play, 60) ? NODE_SCHEDULABLE
                                 : below(play, NODE_LOST + 1);

    set_node(play, play->nodes[below(play, NODES)], state);
}

static inline void
something(struct play *play)
{
    int dice = below(play, 100);

    if (dice < 34)
        submit(play);
    else if (dice < 66)
        progress_all(play, 40, false);
    else if (dice < 72)
        scene_scrub(&play->scene);
    else if (dice < 77)
        cancel(play);
    else if (dice < 83)
        edit_quota(play);
    else if (dice < 87)
        break_card(play);
    else if (dice < 89)
        change_node(play);
    else if (dice < 91)
        suspend(play);
    else if (dice < 93)
        hold_or_release(play);
    else if (dice < 95)
        babble(play);
    else if (dice < 96)
        forget(play);
    else if (dice < 97)
        bring_image(play);
    else
        scene_wait(&play->scene, 1000 * below(play, 60));
    if (chance(play, 10))
        explain(play);
    scene_wait(&play->scene, below(play, 2000));
}

/* What the platform does now and then. */
static inline void
play_watch(struct play *play)
{
    struct changes *changes = scene_begin(&play->scene);

    quota_watch(changes);
    scene_apply(&play->scene, changes);
}

/* --- calm: everything is sound, victims comply, nothing new comes --- */

static inline void
mend(struct play *play)
{
    for (int i = 0; i < NODES; i++)
        set_node(play, play->nodes[i], NODE_SCHEDULABLE);
    {
        struct changes *changes = scene_begin(&play->scene);

        world_each(play->scene.world, KIND_TENANT, ref) {
            struct tenant *tenant = change_update(changes, ref);

            if (tenant->state == STATE_SUSPENDED)
                tenant->state = STATE_ACTIVE;
        }
        world_each(play->scene.world, KIND_CARD, ref) {
            struct card *card;

            usage_cut(changes, ref);
            card = change_update(changes, ref);
            card->health = HEALTH_HEALTHY;
            card->foreign = card->missing = false;
        }
        scene_apply(&play->scene, changes);
    }
}

/* Could this run be stopped for that waiting work of another tenant, by the
 * guarantee of its tenant, leaving every guarantee whole? */
static inline bool
is_owed(struct play *play, const struct workload *waiting,
        const struct workload *running, struct ref instance_ref)
{
    const struct world *world = play->scene.world;
    const struct instance *instance = world_instance(world, instance_ref);
    struct demand demand, release;
    struct claim claim;

    if (!running->preemptible || running->instances != 1 ||
        running->state != WORKLOAD_RUNNING ||
        ref_equal(running->object.scope, waiting->object.scope) ||
        !ref_equal(instance->class, waiting->class))
        return false;
    quota_demand(world, waiting, instance->pool, SCENE_CARD_MIB, &demand);
    quota_demand(world, running, instance->pool, SCENE_CARD_MIB, &release);
    return quota_may_reclaim(world, &demand, NULL, play->scene.platform,
                             &claim) &&
           quota_release_allowed(world, &release, play->scene.platform, NULL);
}

/* May the work run in that pool now but for a place: with any card there, as far
 * as its quotas know types of cards? */
static inline bool
is_open_in(const struct play *play, const struct workload *waiting,
           struct ref pool)
{
    const struct world *world = play->scene.world;
    scoped_arena arena = arena_new();
    struct ref pools[GATE_POOLS_MAX];
    size_t count = gate_pools(world, waiting, pools, GATE_POOLS_MAX);
    struct place_request request;
    struct verdict ignored;
    struct demand demand;
    struct gate gate;

    gate_init(&gate, world, NULL, play->scene.now_ms, arena);
    if (!gate_check_policy(&gate, waiting, &ignored) ||
        !gate_check_pool(&gate, waiting, pool, &demand, &ignored))
        return false;
    gate_request(&gate, waiting, &demand, &request);
    if (request.bar_count > 0 || request.need_count > 0 ||
        request.card_memory_max < SCENE_CARD_MIB)
        return false;
    for (size_t i = 0; i < count; i++)
        if (ref_equal(pools[i], pool))
            return true;
    return false;
}

/* Is one of its cards kept for a start that is booked, or for a window? */
static inline bool
is_booked(const struct world *world, struct ref instance)
{
    world_each_child(world, KIND_BINDING, instance, ref)
        world_each_index(world, KIND_BOOKING, 0,
                         world_binding(world, ref)->card, booking)
            return true;
    return false;
}

/* After calm no work waits that a burst card of another tenant is owed to
 * (6). */
static inline void
check_guarantees(struct play *play)
{
    const struct world *world = play->scene.world;

    world_each(world, KIND_WORKLOAD, ref) {
        const struct workload *waiting = world_workload(world, ref);

        if (waiting->state != WORKLOAD_QUEUED || waiting->instances != 1 ||
            waiting->next_try_ms > play->scene.now_ms)
            continue;
        world_each(world, KIND_INSTANCE, instance) {
            const struct instance *running = world_instance(world, instance);

            if (running->state == INSTANCE_RUNNING &&
                is_open_in(play, waiting, running->pool) &&
                !is_booked(world, instance))
                assert_false(is_owed(
                    play, waiting,
                    world_workload(world, world_parent(world, instance)),
                    instance));
        }
    }
}

/* Nobody waits: gangs grow into what is free. */
static inline void
rest(struct play *play)
{
    struct changes *changes = scene_begin(&play->scene);

    world_each(play->scene.world, KIND_WORKLOAD, ref) {
        struct workload *workload;

        if (!lifecycle_is_waiting(scene_state(&play->scene, ref)))
            continue;
        lifecycle_drop_holds(changes, ref);
        workload = change_update(changes, ref);
        reason_clear(workload);
        workload->state = WORKLOAD_CANCELLED;
        workload->ended_ms = play->scene.now_ms;
    }
    scene_apply(&play->scene, changes);
    for (int round = 0; round < 3; round++) {
        schedule(play);
        progress_all(play, 100, true);
    }
}

static inline void
calm(struct play *play)
{
    int64_t before = play->hits.assigned;

    mend(play);
    play_watch(play);
    for (int round = 0; round < 30; round++) {
        schedule(play);
        progress_all(play, 100, true);
        scene_scrub(&play->scene);
        scene_wait(&play->scene, 3000);
    }
    schedule(play);
    check_guarantees(play);
    rest(play);
    play->hits.served += play->hits.assigned - before;
}

#endif
