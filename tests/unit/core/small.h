/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SMALL_H
#define TESTS_SMALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/usage.h"

/*
 * A small world for tests of single modules: one tenant, one project, one
 * card and one instance, at midnight of a new year.  small_open and
 * small_close are cmocka's setup and teardown.
 */

struct small {
    struct arena *arena;
    struct world *world;
    struct id_source ids;
    int64_t now_ms;
    struct ref platform, pool, node, card;
    struct ref tenant, project, workload, instance;
};

static inline struct changes *
small_begin(struct small *small)
{
    return change_begin(small->arena, small->world,
                        (struct context){ small->now_ms, &small->ids });
}

static inline struct ref
small_add(struct changes *changes, enum kind kind, struct ref parent,
          const char *name)
{
    struct object *object = change_create(changes, kind, parent, name);

    return object->self;
}

static inline int
small_open(void **state)
{
    static const struct hash_key key = { 1, 2 };
    struct small *small = memory_new(1, sizeof(*small));
    struct changes *changes;

    small->arena = arena_new();
    small->world = world_new(&key);
    small->ids.key = key;
    small->now_ms = INT64_C(1798761600000); /* 2027-01-01T00:00:00Z */
    changes = small_begin(small);
    small->platform =
        small_add(changes, KIND_PLATFORM, (struct ref){ 0 }, "platform");
    small->pool = small_add(changes, KIND_POOL, small->platform, "main");
    small->node = small_add(changes, KIND_NODE, small->pool, "n1");
    small->card = small_add(changes, KIND_CARD, small->node, "card0");
    small->tenant =
        small_add(changes, KIND_TENANT, small->platform, "research");
    small->project = small_add(changes, KIND_PROJECT, small->tenant, "train");
    small->workload = small_add(changes, KIND_WORKLOAD, small->project, "job");
    small->instance = small_add(changes, KIND_INSTANCE, small->workload, "0");
    ((struct card *)change_update(changes, small->card))->health =
        HEALTH_HEALTHY;
    usage_start(changes, change_update(changes, small->card));
    world_apply(small->world, changes);
    *state = small;
    return 0;
}

static inline int
small_close(void **state)
{
    struct small *small = *state;

    world_free(small->world);
    arena_free(small->arena);
    free(small);
    return 0;
}

static inline struct ref
small_bind(struct small *small, int64_t milli)
{
    struct changes *changes = small_begin(small);
    struct binding *binding;

    usage_cut(changes, small->card);
    binding = change_create(changes, KIND_BINDING, small->instance, "");
    binding->card = small->card;
    binding->milli = milli;
    binding->from_ms = binding->cut_ms = small->now_ms;
    binding->workload = small->workload;
    binding->project = small->project;
    binding->pool = small->pool;
    world_apply(small->world, changes);
    return binding->object.self;
}

#endif
