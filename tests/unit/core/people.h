/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PEOPLE_H
#define TESTS_PEOPLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

#include "base/arena.h"
#include "core/access.h"
#include "core/change.h"
#include "core/role.h"

/*
 * A small world for tests of rights: two tenants, red and blue, their people,
 * and the platform's staff.
 *
 *   platform      root platform-admin, sec security-admin, aud auditor,
 *                 ops operations-engineer
 *   red           rita tenant-admin
 *     unit
 *       beta
 *     alpha       pat project-admin, dev developer, eve end-user,
 *                 bot service account (developer)
 *   blue          bea tenant-admin
 *     gamma       bob developer
 *
 * Each project has a workload "job" and a volume "data".
 */

#define PEOPLE_NOW INT64_C(1800000000000)
#define PEOPLE_HOUR (3600 * INT64_C(1000))

struct people {
    struct arena *arena;
    struct world *world;
    struct id_source ids;
    uint8_t digests; /* makes token digests that differ */
    int64_t now_ms;
    struct ref platform, shared, reserved, class, priority;
    struct ref red, blue, unit, alpha, beta, gamma;
    struct ref root, sec, aud, ops, rita, pat, dev, eve, bea, bob, bot;
    struct ref alpha_job, gamma_job, alpha_data, gamma_data;
};

static inline struct changes *
people_begin(struct people *people)
{
    return change_begin(people->arena, people->world,
                        (struct context){ people->now_ms, &people->ids });
}

static inline struct ref
people_put(struct people *people, enum kind kind, struct ref parent,
           const char *name)
{
    struct changes *changes = people_begin(people);
    struct object *object = change_create(changes, kind, parent, name);
    struct ref ref = object->self;

    world_apply(people->world, changes);
    return ref;
}

/* A digest that no other token of the test has. */
static inline void
people_digest(struct people *people, uint8_t digest[32])
{
    memset(digest, 0, 32);
    digest[0] = ++people->digests;
    digest[1] = 0xD1;
}

static inline struct ref
people_grant(struct people *people, struct ref subject, struct ref node,
             enum role_builtin role)
{
    struct changes *changes = people_begin(people);
    struct grant *grant = change_create(changes, KIND_GRANT, node, "");
    struct ref ref = grant->object.self;

    grant->subject = subject;
    grant->role = role_find(people->world, role);
    grant->use = verbs_for((enum kind)node.kind);
    grant->give = verbs_for((enum kind)node.kind);
    world_apply(people->world, changes);
    return ref;
}

static inline struct ref
people_user(struct people *people, struct ref home, const char *name,
            struct ref node, enum role_builtin role)
{
    struct ref user = people_put(people, KIND_USER, home, name);

    (void)people_grant(people, user, node, role);
    return user;
}

static inline struct actor
people_login(struct people *people, struct ref user)
{
    struct changes *changes = people_begin(people);
    struct session *session =
        change_create(changes, KIND_SESSION, user, "");
    struct actor actor = { .kind = ACTOR_USER,
                           .subject = user,
                           .credential = session->object.self,
                           .proved_ms = people->now_ms,
                           .source = "192.0.2.1" };

    people_digest(people, session->digest);
    session->expires_ms = people->now_ms + 12 * PEOPLE_HOUR;
    session->proved_ms = people->now_ms;
    world_apply(people->world, changes);
    return actor;
}

static inline struct actor
people_key(struct people *people, struct ref subject, struct verbs verbs,
           struct ref subtree)
{
    struct changes *changes = people_begin(people);
    struct apikey *key = change_create(changes, KIND_APIKEY, subject, "");
    struct actor actor = { .kind = subject.kind == KIND_SERVICEACCOUNT
                                       ? ACTOR_SERVICEACCOUNT
                                       : ACTOR_USER,
                           .subject = subject,
                           .credential = key->object.self,
                           .source = "192.0.2.1" };

    people_digest(people, key->digest);
    key->verbs = verbs;
    key->subtree = subtree;
    key->expires_ms = people->now_ms + PEOPLE_HOUR;
    world_apply(people->world, changes);
    return actor;
}

static inline void
people_state(struct people *people, struct ref ref, enum state state)
{
    struct changes *changes = people_begin(people);
    const struct field *field =
        schema_field((enum kind)ref.kind, "state");
    int value = (int)state;

    memcpy(field_of(field, change_update(changes, ref)), &value,
           sizeof(value));
    world_apply(people->world, changes);
}

static inline struct ref
people_deny(struct people *people, struct ref node, enum verb verb)
{
    struct changes *changes = people_begin(people);
    struct deny *deny = change_create(changes, KIND_DENY, node, "");
    struct ref ref = deny->object.self;

    verbs_add(&deny->verbs, verb);
    world_apply(people->world, changes);
    return ref;
}

static inline struct ref
people_ceiling(struct people *people, struct ref node, struct verbs verbs)
{
    struct changes *changes = people_begin(people);
    struct ceiling *ceiling = change_create(changes, KIND_CEILING, node, "");
    struct ref ref = ceiling->object.self;

    ceiling->verbs = verbs;
    world_apply(people->world, changes);
    return ref;
}

/* The glass is broken: no second person is asked for. */
static inline struct ref
people_alone(struct people *people, struct ref user)
{
    struct changes *changes = people_begin(people);
    struct breakglass *glass =
        change_create(changes, KIND_BREAKGLASS, user, "");
    struct ref ref = glass->object.self;

    glass->from_ms = people->now_ms;
    glass->to_ms = people->now_ms + 12 * PEOPLE_HOUR;
    world_apply(people->world, changes);
    return ref;
}

static inline struct verbs
people_verbs(enum verb verb)
{
    struct verbs set = { { 0 } };

    verbs_add(&set, verb);
    return set;
}

static inline struct ref
people_estate(struct people *people)
{
    struct changes *changes = people_begin(people);
    struct ref none = { 0 };
    struct object *platform =
        change_create(changes, KIND_PLATFORM, none, "platform");
    struct platform *knobs = (struct platform *)platform;

    knobs->tenant_limit_permille = 1000;
    knobs->burst_factor_permille = 2000;
    knobs->free_limit_milli = 1000;
    role_install(changes, platform->self);
    world_apply(people->world, changes);
    return platform->self;
}

static inline void
people_tree(struct people *p)
{
    struct changes *changes;

    p->shared = people_put(p, KIND_POOL, p->platform, "shared");
    p->reserved = people_put(p, KIND_POOL, p->platform, "reserved");
    changes = people_begin(p);
    ((struct pool *)change_update(changes, p->reserved))->kind =
        POOL_DEDICATED;
    world_apply(p->world, changes);
    p->class = people_put(p, KIND_CLASS, p->platform, "h100.1");
    p->priority = people_put(p, KIND_PRIORITY, p->platform, "research");
    p->red = people_put(p, KIND_TENANT, p->platform, "red");
    p->blue = people_put(p, KIND_TENANT, p->platform, "blue");
    p->unit = people_put(p, KIND_UNIT, p->red, "unit");
    p->alpha = people_put(p, KIND_PROJECT, p->red, "alpha");
    p->beta = people_put(p, KIND_PROJECT, p->unit, "beta");
    p->gamma = people_put(p, KIND_PROJECT, p->blue, "gamma");
    p->alpha_job = people_put(p, KIND_WORKLOAD, p->alpha, "job");
    p->gamma_job = people_put(p, KIND_WORKLOAD, p->gamma, "job");
    p->alpha_data = people_put(p, KIND_VOLUME, p->alpha, "data");
    p->gamma_data = people_put(p, KIND_VOLUME, p->gamma, "data");
}

static inline void
people_setup(struct people *p)
{
    struct hash_key key = { 1, 2 };

    memset(p, 0, sizeof(*p));
    p->arena = arena_new();
    p->world = world_new(&key);
    p->ids = (struct id_source){ { 3, 4 }, 0 };
    p->now_ms = PEOPLE_NOW;
    p->platform = people_estate(p);
    people_tree(p);
    p->root = people_user(p, p->platform, "root", p->platform,
                          ROLE_PLATFORM_ADMIN);
    p->sec = people_user(p, p->platform, "sec", p->platform,
                         ROLE_SECURITY_ADMIN);
    p->aud = people_user(p, p->platform, "aud", p->platform, ROLE_AUDITOR);
    p->ops = people_user(p, p->platform, "ops", p->platform,
                         ROLE_OPERATIONS_ENGINEER);
    p->rita = people_user(p, p->red, "rita", p->red, ROLE_TENANT_ADMIN);
    p->pat = people_user(p, p->red, "pat", p->alpha, ROLE_PROJECT_ADMIN);
    p->dev = people_user(p, p->red, "dev", p->alpha, ROLE_DEVELOPER);
    p->eve = people_user(p, p->red, "eve", p->alpha, ROLE_END_USER);
    p->bea = people_user(p, p->blue, "bea", p->blue, ROLE_TENANT_ADMIN);
    p->bob = people_user(p, p->blue, "bob", p->gamma, ROLE_DEVELOPER);
    p->bot = people_put(p, KIND_SERVICEACCOUNT, p->alpha, "bot");
    (void)people_grant(p, p->bot, p->alpha, ROLE_DEVELOPER);
}

static inline void
people_release(struct people *p)
{
    world_free(p->world);
    arena_free(p->arena);
}

static inline bool
people_can(const struct people *p, const struct actor *actor, enum verb verb,
           struct ref object)
{
    return access_can(p->world, actor, verb, object, p->now_ms);
}

#endif
