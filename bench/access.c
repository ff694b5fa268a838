/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "core/access.h"
#include "core/change.h"
#include "core/role.h"

/*
 * How long does a decision take with 100,000 subjects and 800,000 grants, once
 * the actor is authenticated?
 * Prints p50, p99 and the longest for allowed, refused and hidden objects,
 * and for ids that never were.
 *
 *     access [subjects]
 */

#define TENANTS 100
#define PROJECTS 20 /* of each tenant */
#define GRANTS 8    /* of each subject */
#define ROUNDS 200000

struct estate {
    struct world *world;
    struct id_source ids;
    struct ref platform;
    struct ref projects[TENANTS][PROJECTS];
    struct ref jobs[TENANTS][PROJECTS];
    struct ref *sessions;
    size_t subjects;
};

static const int64_t now_ms = INT64_C(1800000000000);

static struct changes *
begin(struct estate *estate, struct arena *arena)
{
    return change_begin(arena, estate->world,
                        (struct context){ now_ms, &estate->ids });
}

static void
make_platform(struct estate *estate)
{
    scoped_arena arena = arena_new();
    struct changes *changes = begin(estate, arena);
    struct ref none = { 0 };
    struct object *platform =
        change_create(changes, KIND_PLATFORM, none, "platform");

    estate->platform = platform->self;
    role_install(changes, estate->platform);
    world_apply(estate->world, changes);
}

static void
make_tenant(struct estate *estate, unsigned number)
{
    scoped_arena arena = arena_new();
    struct changes *changes = begin(estate, arena);
    char name[32];
    struct object *tenant;
    struct ceiling *ceiling;

    (void)snprintf(name, sizeof(name), "t%u", number);
    tenant = change_create(changes, KIND_TENANT, estate->platform, name);
    ceiling = change_create(changes, KIND_CEILING, tenant->self, "");
    ceiling->verbs = verbs_all();
    for (unsigned i = 0; i < PROJECTS; i++) {
        struct object *project;

        (void)snprintf(name, sizeof(name), "p%u", i);
        project = change_create(changes, KIND_PROJECT, tenant->self, name);
        estate->projects[number][i] = project->self;
        estate->jobs[number][i] =
            ((struct object *)change_create(changes, KIND_WORKLOAD,
                                            project->self, "job"))
                ->self;
    }
    world_apply(estate->world, changes);
}

static void
make_subject(struct estate *estate, struct changes *changes, size_t number)
{
    unsigned tenant = (unsigned)(number % TENANTS);
    struct ref home = world_parent(estate->world,
                                   estate->projects[tenant][0]);
    struct object *user = change_create(changes, KIND_USER, home, "");
    struct session *session =
        change_create(changes, KIND_SESSION, user->self, "");

    session->digest[31] = 1; /* none is all zero: that is no digest */
    session->digest[0] = (uint8_t)number;
    session->digest[1] = (uint8_t)(number >> 8);
    session->digest[2] = (uint8_t)(number >> 16);
    session->expires_ms = now_ms + 1000;
    session->used_ms = now_ms;
    for (unsigned i = 0; i < GRANTS; i++) {
        struct grant *grant = change_create(
            changes, KIND_GRANT,
            estate->projects[tenant][(number / TENANTS + i) % PROJECTS], "");

        grant->subject = user->self;
        grant->role = role_find(estate->world, ROLE_DEVELOPER);
        grant->use = verbs_all();
    }
    estate->sessions[number] = session->object.self;
}

#define BATCH 100

static void
make_subjects(struct estate *estate)
{
    estate->sessions =
        memory_new(estate->subjects, sizeof(*estate->sessions));
    for (size_t i = 0; i < estate->subjects; i += BATCH) {
        scoped_arena arena = arena_new();
        struct changes *changes = begin(estate, arena);

        for (size_t k = i; k < i + BATCH && k < estate->subjects; k++)
            make_subject(estate, changes, k);
        world_apply(estate->world, changes);
    }
}

static int64_t
nanoseconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

enum question { ALLOWED, DENIED, HIDDEN, RANDOM };

static struct ref
target(const struct estate *estate, size_t number, enum question question,
       uint64_t random)
{
    size_t tenant = number % TENANTS;
    size_t first = number / TENANTS;

    switch (question) {
    case ALLOWED:
        return estate->jobs[tenant][(first + random % GRANTS) % PROJECTS];
    case DENIED:
        return estate->projects[tenant][(first + random % GRANTS) % PROJECTS];
    case HIDDEN:
        return estate->jobs[(tenant + 1) % TENANTS][random % PROJECTS];
    case RANDOM:
        break;
    }
    return (struct ref){ 0 };
}

/* As every request does before its decision. */
static int
authenticate(const struct estate *estate, size_t number, struct actor *actor)
{
    struct error err;
    const struct session *session =
        world_session(estate->world, estate->sessions[number]);

    return access_authenticate(estate->world, session->digest, "192.0.2.1",
                               now_ms, actor, &err);
}

static void
measure(const struct estate *estate, const char *name, enum question question)
{
    static int64_t samples[ROUNDS];
    enum verb verb = question == DENIED ? VERB_PROJECT_UPDATE
                                        : VERB_WORKLOAD_CANCEL;
    uint64_t random = 1;
    size_t yes = 0;

    for (size_t i = 0; i < ROUNDS; i++) {
        struct granted granted;
        struct actor actor;
        struct error err;
        size_t number;
        struct ref object;
        int64_t start;

        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        number = (size_t)((random >> 33) % estate->subjects);
        object = target(estate, number, question, random >> 40);
        if (authenticate(estate, number, &actor) != 0)
            abort();
        start = nanoseconds();
        yes += access_decide(estate->world, &actor, verb, object, now_ms,
                             &granted, &err) == 0;
        samples[i] = nanoseconds() - start;
    }
    qsort(samples, ROUNDS, sizeof(samples[0]), compare);
    printf("%-8s p50 %5" PRId64 " ns  p99 %5" PRId64 " ns  max %7" PRId64
           " ns  (%zu of %d allowed)\n",
           name, samples[ROUNDS / 2], samples[ROUNDS / 100 * 99],
           samples[ROUNDS - 1], yes, ROUNDS);
}

int
main(int argc, char **argv)
{
    static struct estate estate;
    struct hash_key key = { 1, 2 };

    estate.subjects = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 100000;
    if (estate.subjects == 0)
        return 2;
    estate.world = world_new(&key);
    estate.ids = (struct id_source){ { 3, 4 }, 0 };
    make_platform(&estate);
    for (unsigned i = 0; i < TENANTS; i++)
        make_tenant(&estate, i);
    make_subjects(&estate);
    printf("%zu subjects, %zu grants\n", estate.subjects,
           world_count(estate.world, KIND_GRANT));
    measure(&estate, "allowed", ALLOWED);
    measure(&estate, "denied", DENIED);
    measure(&estate, "hidden", HIDDEN);
    measure(&estate, "random", RANDOM);
    free(estate.sessions);
    world_free(estate.world);
    return 0;
}
