/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIMULATE_LAB_H
#define TESTS_SIMULATE_LAB_H

#include "tests/unit/core/people.h"

/*
 * Generated worlds for properties of access: random people, roles, grants
 * with all conditions, groups, denies, ceilings, keys, emergencies and
 * suspensions.  The same seed makes the same worlds.
 */

#define SUBJECTS 12
#define ROLES 6
#define OBJECTS 36

struct lab {
    struct people p;
    uint64_t random;
    struct ref roles[ROLES];
    struct ref nodes[8];
    struct ref objects[OBJECTS];
    size_t object_count;
    struct actor actors[SUBJECTS];
};

static inline uint64_t
draw(struct lab *lab, uint64_t below)
{
    uint64_t z = (lab->random += UINT64_C(0x9E3779B97F4A7C15));

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % below;
}

static inline bool
chance(struct lab *lab, uint64_t percent)
{
    return draw(lab, 100) < percent;
}

static inline struct verbs
some_verbs(struct lab *lab, uint64_t percent)
{
    struct verbs set = { { 0 } };

    for (int i = 0; i < VERB_COUNT; i++)
        if (chance(lab, percent))
            verbs_add(&set, (enum verb)i);
    return set;
}

static inline enum verb
a_verb(struct lab *lab)
{
    return (enum verb)draw(lab, VERB_COUNT);
}

static inline struct ref
an_object(struct lab *lab)
{
    return lab->objects[draw(lab, lab->object_count)];
}

static inline struct ref
a_node(struct lab *lab)
{
    return lab->nodes[draw(lab, 6)];
}

static inline const char *
networks(struct lab *lab)
{
    static const char *const lists[] = { "", "", "", "192.0.2.0/24",
                                         "10.0.0.0/8" };

    return lists[draw(lab, 5)];
}

static inline struct ref
some_grant(struct lab *lab, struct ref subject)
{
    struct changes *changes = people_begin(&lab->p);
    struct grant *grant =
        change_create(changes, KIND_GRANT, a_node(lab), "");
    struct ref ref = grant->object.self;

    grant->subject = subject;
    grant->role = lab->roles[draw(lab, ROLES)];
    grant->use = chance(lab, 50) ? verbs_all() : some_verbs(lab, 90);
    grant->give = some_verbs(lab, 50);
    if (chance(lab, 20))
        grant->from_ms = lab->p.now_ms + (int64_t)draw(lab, 3) - 1;
    if (chance(lab, 20))
        grant->to_ms = lab->p.now_ms + (int64_t)draw(lab, 3) - 1;
    (void)snprintf(grant->sources, sizeof(grant->sources), "%s",
                   networks(lab));
    if (chance(lab, 10))
        grant->proof_ms = 60000;
    grant->factor = chance(lab, 10);
    grant->approval = chance(lab, 10);
    world_apply(lab->p.world, changes);
    return ref;
}

static inline void
make_roles(struct lab *lab)
{
    struct changes *changes = people_begin(&lab->p);

    for (size_t i = 0; i < ROLES; i++) {
        struct role *role =
            change_create(changes, KIND_ROLE, lab->p.platform, "");

        role->verbs = some_verbs(lab, 30);
        role->give = some_verbs(lab, 30);
        lab->roles[i] = role->object.self;
    }
    world_apply(lab->p.world, changes);
}

static inline void
add_object(struct lab *lab, struct ref ref)
{
    assert_true(lab->object_count < OBJECTS);
    lab->objects[lab->object_count++] = ref;
}

static inline void
make_objects(struct lab *lab)
{
    struct people *p = &lab->p;
    struct ref nodes[] = { p->platform, p->red,   p->unit,
                           p->alpha,    p->beta,  p->blue,
                           p->gamma,    p->shared };

    memcpy(lab->nodes, nodes, sizeof(nodes));
    for (size_t i = 0; i < 8; i++)
        add_object(lab, nodes[i]);
    add_object(lab, p->alpha_job);
    add_object(lab, p->gamma_job);
    add_object(lab, p->alpha_data);
    add_object(lab, p->rita);
    add_object(lab, p->bot);
    add_object(lab, p->root);
    add_object(lab, p->class);
    add_object(lab, people_put(p, KIND_QUOTA, p->red, ""));
    add_object(lab, people_put(p, KIND_QUOTA, p->alpha, ""));
    add_object(lab, people_put(p, KIND_CEILING, p->beta, ""));
    add_object(lab, people_put(p, KIND_ALARM, p->alpha_job, ""));
    add_object(lab, world_first_index(p->world, KIND_GRANT, 0, p->dev));
}

/* The session has shown a second factor. */
static inline void
show_factor(struct lab *lab, const struct actor *actor)
{
    struct changes *changes = people_begin(&lab->p);

    ((struct session *)change_update(changes, actor->credential))->factor_ms =
        lab->p.now_ms;
    world_apply(lab->p.world, changes);
}

static inline void
make_actors(struct lab *lab)
{
    struct people *p = &lab->p;
    struct ref people[] = { p->root, p->sec, p->aud, p->ops, p->rita,
                            p->pat,  p->dev, p->eve, p->bea, p->bob };
    struct ref none = { 0 };

    for (size_t i = 0; i < 10; i++) {
        lab->actors[i] = people_login(p, people[i]);
        if (chance(lab, 50))
            show_factor(lab, &lab->actors[i]);
        if (chance(lab, 60))
            (void)some_grant(lab, people[i]);
        if (chance(lab, 30))
            (void)some_grant(lab, people[i]);
        if (chance(lab, 30))
            (void)people_alone(p, people[i]);
    }
    lab->actors[10] = people_key(p, p->bot, some_verbs(lab, 70),
                                 chance(lab, 50) ? none : p->alpha);
    lab->actors[11] = people_key(p, p->rita, some_verbs(lab, 70),
                                 chance(lab, 50) ? none : a_node(lab));
    for (size_t i = 0; i < SUBJECTS; i++)
        if (chance(lab, 20))
            lab->actors[i].proved_ms -= PEOPLE_HOUR;
}

static inline void
put_member(struct lab *lab, struct ref group, struct ref subject)
{
    struct changes *changes = people_begin(&lab->p);
    struct membership *member =
        change_create(changes, KIND_MEMBER, group, "");

    member->subject = subject;
    if (chance(lab, 20))
        member->to_ms = lab->p.now_ms + (int64_t)draw(lab, 3) - 1;
    world_apply(lab->p.world, changes);
}

/* Two of each home; everybody may be in both of theirs. */
static inline void
make_groups(struct lab *lab)
{
    struct people *p = &lab->p;
    struct ref homes[] = { p->platform, p->red, p->blue };

    for (size_t i = 0; i < 6; i++) {
        struct ref home = homes[i / 2];
        struct ref group = people_put(p, KIND_GROUP, home, "");

        for (int k = 0; k < 2; k++)
            if (chance(lab, 60))
                (void)some_grant(lab, group);
        for (size_t a = 0; a < SUBJECTS - 1; a++)
            if (ref_equal(world_scope(p->world, lab->actors[a].subject),
                          home) &&
                chance(lab, 25))
                put_member(lab, group, lab->actors[a].subject);
    }
}

static inline void
make_bounds(struct lab *lab)
{
    struct people *p = &lab->p;

    if (chance(lab, 30))
        (void)people_deny(p, a_node(lab), a_verb(lab));
    if (chance(lab, 30))
        (void)people_ceiling(p, chance(lab, 50) ? p->red : p->alpha,
                             some_verbs(lab, 80));
    if (chance(lab, 10))
        people_state(p, chance(lab, 50) ? p->alpha : p->unit,
                     STATE_SUSPENDED);
    if (chance(lab, 5))
        people_state(p, p->blue, STATE_SUSPENDED);
    if (chance(lab, 5))
        people_state(p, p->beta, STATE_DELETED);
}

static inline void
lab_open(struct lab *lab, uint64_t seed)
{
    memset(lab, 0, sizeof(*lab));
    lab->random = seed;
    people_setup(&lab->p);
    make_roles(lab);
    make_objects(lab);
    make_actors(lab);
    make_groups(lab);
    make_bounds(lab);
}

static inline void
lab_close(struct lab *lab)
{
    people_release(&lab->p);
}

static inline bool
can(const struct lab *lab, const struct actor *actor, enum verb verb,
    struct ref object)
{
    return people_can(&lab->p, actor, verb, object);
}

#endif
