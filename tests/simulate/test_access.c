/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>

#include "core/credential.h"
#include "core/network.h"
#include "core/resource.h"
#include "tests/simulate/lab.h"

/* Properties of access over generated worlds. */

#define WORLDS 250
#define QUESTIONS 100 /* of each world: 25,000 cases a property */
#define MOST_CASES (WORLDS * QUESTIONS * 4 / 5)

/* --- the formula once more, slow and straight from the design --- */

static enum state
state_of(const struct world *world, struct ref ref)
{
    const struct field *field =
        schema_field((enum kind)ref.kind, "state");

    if (ref.kind != KIND_TENANT && ref.kind != KIND_UNIT &&
        ref.kind != KIND_PROJECT && ref.kind != KIND_USER &&
        ref.kind != KIND_SERVICEACCOUNT)
        return STATE_ACTIVE;
    return *(const enum state *)field_at(field, world_get(world, ref));
}

static bool
alive(const struct world *world, struct ref ref, enum state worst)
{
    for (; !ref_is_none(ref); ref = world_parent(world, ref))
        if (world_get(world, ref) == NULL || state_of(world, ref) > worst)
            return false;
    return true;
}

static struct ref
governed(const struct world *world, enum verb verb, struct ref object)
{
    return verb_op(verb) == VERB_OP_CREATE ? object
                                           : world_parent(world, object);
}

static bool
denied_or_capped(const struct world *world, enum verb verb, struct ref object)
{
    bool above = verb_is(verb, VERB_ABOVE);

    world_each(world, KIND_DENY, ref)
        if (world_is_below(world, object, world_parent(world, ref)) &&
            verbs_have(&world_deny(world, ref)->verbs, verb))
            return true;
    if (verb_level(verb) == VERB_LEVEL_PLATFORM)
        return false;
    world_each(world, KIND_CEILING, ref) {
        struct ref node = world_parent(world, ref);
        struct ref bound = governed(world, verb, object);

        if (!world_is_below(world, object, node) ||
            verbs_have(&world_ceiling(world, ref)->verbs, verb))
            continue;
        if (!above || (world_is_below(world, bound, node) &&
                       !ref_equal(bound, node)))
            return true;
    }
    return false;
}

/* Of the subject itself, or of a group with it in. */
static bool
is_of(const struct world *world, const struct grant *grant,
      struct ref subject)
{
    world_each(world, KIND_MEMBER, ref)
        if (ref_equal(world_membership(world, ref)->subject, subject) &&
            ref_equal(world_parent(world, ref), grant->subject))
            return true;
    return ref_equal(grant->subject, subject);
}

static bool
grant_counts(const struct lab *lab, const struct actor *actor,
             const struct grant *grant, enum verb verb, struct ref object)
{
    const struct world *world = lab->p.world;
    const struct role *role = world_role(world, grant->role);
    struct ref node = grant->object.parent;
    struct verbs level = verbs_for((enum kind)node.kind);
    struct ref home = world_scope(world, actor->subject);

    if (!is_of(world, grant, actor->subject) ||
        !world_is_below(world, object, node) ||
        !verbs_have(&role->verbs, verb) || !verbs_have(&grant->use, verb) ||
        !verbs_have(&level, verb))
        return false;
    if (lab->p.now_ms < grant->from_ms ||
        (grant->to_ms != 0 && lab->p.now_ms >= grant->to_ms) ||
        !network_match(grant->sources, actor->source))
        return false;
    if (home.kind == KIND_TENANT &&
        !ref_equal(world_scope(world, node), home))
        return false;
    for (struct ref at = object; !ref_is_none(at);
         at = world_parent(world, at))
        if (state_of(world, at) == STATE_SUSPENDED &&
            world_is_below(world, node, at))
            return false;
    if (verb_is(verb, VERB_ABOVE) && node.kind != KIND_PLATFORM) {
        struct ref bound = governed(world, verb, object);

        return world_is_below(world, bound, node) && !ref_equal(bound, node);
    }
    return true;
}

/* Some grant that has the verb here and now, or none. */
static struct ref
oracle_grant(const struct lab *lab, const struct actor *actor, enum verb verb,
             struct ref object)
{
    world_each(lab->p.world, KIND_GRANT, ref)
        if (grant_counts(lab, actor, world_grant(lab->p.world, ref), verb,
                         object))
            return ref;
    return (struct ref){ 0 };
}

static bool
guard_holds(const struct lab *lab, const struct actor *actor, enum verb verb)
{
    bool proved = actor->proved_ms > 0 &&
                  lab->p.now_ms - actor->proved_ms <= ACCESS_STEP_UP_MS;
    bool alone = false; /* the glass is broken: there are no approvals here */

    world_each_child(lab->p.world, KIND_BREAKGLASS, actor->subject, ref)
        alone = alone || world_breakglass(lab->p.world, ref)->to_ms >
                             lab->p.now_ms;
    switch (verb_guard(verb)) {
    case VERB_GUARD_NONE:
        return true;
    case VERB_GUARD_STEP_UP:
        return proved;
    case VERB_GUARD_SECOND:
        return alone;
    case VERB_GUARD_BOTH:
        break;
    }
    return proved && alone;
}

/* For verbs that a grant is needed for: not self, public, list or agent. */
static bool
oracle(const struct lab *lab, const struct actor *actor, enum verb verb,
       struct ref object)
{
    const struct world *world = lab->p.world;
    const struct apikey *key = world_apikey(world, actor->credential);
    enum verb_op op = verb_op(verb);
    bool down = op == VERB_OP_GET || op == VERB_OP_UPDATE ||
                op == VERB_OP_DELETE || verb_is(verb, VERB_WINDS_DOWN);

    if (!alive(world, actor->subject, STATE_ACTIVE) ||
        !alive(world, object, down ? STATE_SUSPENDED : STATE_ACTIVE))
        return false;
    if (key != NULL &&
        (!verbs_have(&key->verbs, verb) ||
         (!ref_is_none(key->subtree) &&
          !world_is_below(world, object, key->subtree))))
        return false;
    return !denied_or_capped(world, verb, object) &&
           !ref_is_none(oracle_grant(lab, actor, verb, object)) &&
           guard_holds(lab, actor, verb);
}

static bool
needs_a_grant(enum verb verb)
{
    return !verb_is(verb, VERB_SELF) && !verb_is(verb, VERB_PUBLIC) &&
           !verb_is(verb, VERB_AGENT) && verb_op(verb) != VERB_OP_LIST;
}

/* --- properties --- */

static void
the_decision_is_the_formula(void **state)
{
    size_t allowed = 0, cases = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct lab lab;

        lab_open(&lab, seed);
        for (int i = 0; i < 4 * QUESTIONS; i++) {
            const struct actor *actor = &lab.actors[draw(&lab, SUBJECTS)];
            enum verb verb = a_verb(&lab);
            struct ref object = an_object(&lab);
            bool yes = can(&lab, actor, verb, object);

            if (!needs_a_grant(verb))
                continue;
            if (yes != oracle(&lab, actor, verb, object))
                fail_msg("seed %llu: %s: %d", (unsigned long long)seed,
                         verb_name(verb), yes);
            allowed += yes;
            cases++;
        }
        lab_close(&lab);
    }
    assert_true(cases >= MOST_CASES);
    assert_true(allowed > cases / 50); /* both answers are frequent */
}

static void
without_a_grant_nothing_is_allowed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct lab lab;
        struct actor stranger;

        lab_open(&lab, seed);
        stranger = people_login(
            &lab.p, people_put(&lab.p, KIND_USER, lab.p.red, "stranger"));
        for (int i = 0; i < QUESTIONS; i++) {
            enum verb verb = a_verb(&lab);
            struct ref object = an_object(&lab);

            if (needs_a_grant(verb))
                assert_false(can(&lab, &stranger, verb, object));
            if (verb_is(verb, VERB_SELF))
                assert_false(can(&lab, &stranger, verb, lab.p.rita));
        }
        lab_close(&lab);
    }
}

/* All answers to a fixed set of questions. */
struct answers {
    bool yes[QUESTIONS];
};

static void
ask_all(struct lab *lab, uint64_t seed, struct answers *answers)
{
    uint64_t kept = lab->random;

    lab->random = seed;
    for (int i = 0; i < QUESTIONS; i++) {
        const struct actor *actor = &lab->actors[draw(lab, SUBJECTS)];
        enum verb verb = a_verb(lab);

        answers->yes[i] = can(lab, actor, verb, an_object(lab));
    }
    lab->random = kept;
}

static void
lower_something(struct lab *lab)
{
    struct ref ceiling = world_first(lab->p.world, KIND_CEILING);
    struct changes *changes;
    struct ceiling *image;

    if (chance(lab, 50)) {
        changes = people_begin(&lab->p);
        ((struct deny *)change_create(changes, KIND_DENY, a_node(lab), ""))
            ->verbs = some_verbs(lab, 30);
        world_apply(lab->p.world, changes);
        return;
    }
    changes = people_begin(&lab->p);
    image = change_update(changes, ceiling);
    image->verbs = verbs_and(image->verbs, some_verbs(lab, 50));
    world_apply(lab->p.world, changes);
}

static void
a_deny_more_or_a_lower_ceiling_never_allows_more(void **state)
{
    size_t lost = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct answers before, after;
        struct lab lab;

        lab_open(&lab, seed);
        ask_all(&lab, seed, &before);
        for (int round = 0; round < 3; round++) {
            lower_something(&lab);
            ask_all(&lab, seed, &after);
            for (int i = 0; i < QUESTIONS; i++) {
                assert_true(before.yes[i] || !after.yes[i]);
                lost += before.yes[i] && !after.yes[i];
            }
            before = after;
        }
        lab_close(&lab);
    }
    assert_true(lost > 100);
}

static void
a_key_may_only_what_its_owner_may(void **state)
{
    size_t allowed = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct lab lab;
        struct ref none = { 0 };
        struct actor owner, key;

        lab_open(&lab, seed);
        owner = people_login(&lab.p, lab.p.rita);
        key = people_key(&lab.p, lab.p.rita, some_verbs(&lab, 80),
                         chance(&lab, 50) ? none : a_node(&lab));
        for (int i = 0; i < QUESTIONS; i++) {
            enum verb verb = a_verb(&lab);
            struct ref object = an_object(&lab);
            bool yes = can(&lab, &key, verb, object);

            assert_true(!yes || can(&lab, &owner, verb, object));
            allowed += yes;
        }
        lab_close(&lab);
    }
    assert_true(allowed > 100);
}

/* [A39] */
static void
a_list_is_what_is_allowed_to_get(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct lab lab;

        lab_open(&lab, seed);
        for (int i = 0; i < QUESTIONS; i++) {
            const struct actor *actor = &lab.actors[draw(&lab, SUBJECTS)];
            struct ref object = an_object(&lab);
            int verb = verb_of((enum kind)object.kind, VERB_OP_GET);
            struct granted listing;
            struct error err;

            if (access_decide(lab.p.world, actor, VERB_WORKLOAD_LIST,
                              lab.p.platform, lab.p.now_ms, &listing,
                              &err) != 0)
                continue;
            assert_int_equal(access_visible(&listing, object),
                             can(&lab, actor, (enum verb)verb, object));
        }
        lab_close(&lab);
    }
}

static void
copy_grant(struct lab *lab, struct ref from, bool move)
{
    struct changes *changes = people_begin(&lab->p);
    const struct grant *grant = world_grant(lab->p.world, from);
    struct grant *copy =
        change_create(changes, KIND_GRANT, grant->object.parent, "");

    copy->subject = grant->subject;
    copy->role = grant->role;
    copy->use = grant->use;
    copy->give = grant->give;
    copy->from_ms = grant->from_ms;
    copy->to_ms = grant->to_ms;
    memcpy(copy->sources, grant->sources, sizeof(copy->sources));
    if (move)
        change_delete(changes, from);
    world_apply(lab->p.world, changes);
}

static void
order_and_duplicates_of_grants_do_not_matter(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct answers before, after;
        struct lab lab;

        lab_open(&lab, seed);
        lab.objects[lab.object_count - 1] = lab.p.alpha; /* not a grant */
        ask_all(&lab, seed, &before);
        for (int round = 0; round < 4; round++)
            copy_grant(&lab, world_first(lab.p.world, KIND_GRANT),
                       chance(&lab, 70));
        ask_all(&lab, seed, &after);
        assert_memory_equal(&before, &after, sizeof(before));
        lab_close(&lab);
    }
}

static void
count_step(void *context, enum access_check check, struct ref ref,
           bool passed, const char *why)
{
    (void)check;
    (void)ref;
    (void)passed;
    (void)why;
    ++*(size_t *)context;
}

static void
take_away(struct lab *lab, struct ref ref)
{
    struct changes *changes = people_begin(&lab->p);

    change_delete(changes, ref);
    world_apply(lab->p.world, changes);
}

static void
give_verb(struct lab *lab, struct ref subject, enum verb verb)
{
    struct changes *changes = people_begin(&lab->p);
    struct role *role =
        change_create(changes, KIND_ROLE, lab->p.platform, "");
    struct grant *grant =
        change_create(changes, KIND_GRANT,
                      world_scope(lab->p.world, subject), "");

    role->verbs = people_verbs(verb);
    grant->subject = subject;
    grant->role = role->object.self;
    grant->use = verbs_all();
    world_apply(lab->p.world, changes);
}

/* What the verdict names is what is missing. */
static void
supply(struct lab *lab, struct actor *actor, enum verb verb,
       const struct access_verdict *verdict)
{
    if (verdict->outcome == ACCESS_STEP_UP)
        actor->proved_ms = lab->p.now_ms;
    else if (verdict->outcome == ACCESS_DENY)
        take_away(lab, verdict->deny);
    else if (verdict->outcome == ACCESS_CEILING)
        take_away(lab, verdict->ceiling);
    else if (verdict->outcome == ACCESS_APPROVAL)
        (void)people_alone(&lab->p, actor->subject);
    else
        give_verb(lab, actor->subject, verb);
}

/* Can something that supply knows change this verdict? */
static bool
can_flip(const struct lab *lab, const struct actor *actor, enum verb verb,
         struct ref object, enum access_outcome outcome)
{
    struct ref home = world_scope(lab->p.world, actor->subject);

    if (!needs_a_grant(verb))
        return false;
    if (outcome == ACCESS_NO_GRANT)
        return world_is_below(lab->p.world, object, home) &&
               !verb_is(verb, VERB_ABOVE) &&
               (verb_level(verb) != VERB_LEVEL_PLATFORM ||
                home.kind == KIND_PLATFORM);
    return outcome == ACCESS_STEP_UP || outcome == ACCESS_APPROVAL ||
           outcome == ACCESS_DENY || outcome == ACCESS_CEILING;
}

static bool
explain_one(struct lab *lab)
{
    struct access_verdict first, told, after;
    struct actor *actor = &lab->actors[draw(lab, 10)];
    struct ref object = an_object(lab);
    enum verb verb = a_verb(lab);
    size_t steps = 0;

    access_judge(lab->p.world, actor, verb, object, lab->p.now_ms, NULL, NULL,
                 &first);
    access_judge(lab->p.world, actor, verb, object, lab->p.now_ms, count_step,
                 &steps, &told);
    assert_int_equal(first.outcome, told.outcome);
    assert_true(steps > 0);
    if (!can_flip(lab, actor, verb, object, told.outcome))
        return false;
    supply(lab, actor, verb, &told);
    access_judge(lab->p.world, actor, verb, object, lab->p.now_ms, NULL, NULL,
                 &after);
    assert_true(after.outcome != told.outcome ||
                !ref_equal(after.deny, told.deny) ||
                !ref_equal(after.ceiling, told.ceiling));
    return true;
}

static void
explaining_agrees_and_supplying_what_is_missing_flips_it(void **state)
{
    size_t flipped = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct lab lab;

        lab_open(&lab, seed);
        for (int i = 0; i < QUESTIONS; i++)
            flipped += explain_one(&lab);
        lab_close(&lab);
    }
    assert_true(flipped > 1000);
}

/* [A36] */
static void
hidden_is_random_id_for_every_verb(void **state)
{
    size_t hidden = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct ref random = { KIND_WORKLOAD, 4000 };
        struct lab lab;

        lab_open(&lab, seed);
        for (int i = 0; i < QUESTIONS; i++) {
            const struct actor *actor = &lab.actors[draw(&lab, SUBJECTS)];
            enum verb verb = a_verb(&lab);
            struct granted granted;
            struct error err, other;

            memset(&err, 0, sizeof(err));
            memset(&other, 0, sizeof(other));
            if (access_decide(lab.p.world, actor, verb, an_object(&lab),
                              lab.p.now_ms, &granted, &err) == 0 ||
                err.code != ERROR_NOT_FOUND)
                continue;
            (void)access_decide(lab.p.world, actor, verb, random,
                                lab.p.now_ms, &granted, &other);
            assert_memory_equal(&err, &other, sizeof(err));
            hidden++;
        }
        lab_close(&lab);
    }
    assert_true(hidden > 1000);
}

static void
nothing_of_one_tenant_is_there_for_another(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct lab lab;

        lab_open(&lab, seed);
        for (int i = 0; i < QUESTIONS; i++) {
            const struct actor *actor = &lab.actors[4 + draw(&lab, 8)];
            struct ref home = world_scope(lab.p.world, actor->subject);
            struct ref object = an_object(&lab);
            enum verb verb = a_verb(&lab);
            struct granted granted;
            struct error err;

            if (world_scope(lab.p.world, object).kind != KIND_TENANT ||
                world_is_below(lab.p.world, object, home))
                continue;
            if (access_decide(lab.p.world, actor, verb, object, lab.p.now_ms,
                              &granted, &err) == 0)
                fail_msg("seed %llu: %s", (unsigned long long)seed,
                         verb_name(verb));
            assert_true(err.code == ERROR_NOT_FOUND ||
                        err.code == ERROR_UNAUTHENTICATED);
        }
        lab_close(&lab);
    }
}

/* --- delegation --- */

static json_t *
verb_list(struct verbs verbs)
{
    json_t *list = json_array();

    for (int i = 0; i < VERB_COUNT; i++)
        if (verbs_have(&verbs, (enum verb)i))
            (void)json_array_append_new(
                list, json_string(verb_name((enum verb)i)));
    return list;
}

static void
id_of(const struct lab *lab, struct ref ref, char text[ID_TEXT_MAX])
{
    id_format(schema_get((enum kind)ref.kind)->prefix,
              world_object(lab->p.world, ref)->id, text);
}

/* Somebody tries to hand a random role to somebody, by the front door. */
static bool
try_grant(struct lab *lab, const struct actor *actor)
{
    struct ref subject = lab->actors[draw(lab, 10)].subject;
    struct ref node = a_node(lab), out;
    struct changes *changes = people_begin(&lab->p);
    char subject_id[ID_TEXT_MAX], role_id[ID_TEXT_MAX];
    struct granted granted;
    struct error err;
    struct verbs none = { { 0 } };
    json_t *body = json_object();
    int result = -1;

    id_of(lab, subject, subject_id);
    id_of(lab, chance(lab, 50) ? lab->roles[draw(lab, ROLES)]
                               : role_find(lab->p.world,
                                           (enum role_builtin)draw(
                                               lab, ROLE_BUILTIN_COUNT)),
          role_id);
    (void)json_object_set_new(body, "subject", json_string(subject_id));
    (void)json_object_set_new(body, "role", json_string(role_id));
    if (chance(lab, 60)) {
        (void)json_object_set_new(body, "use",
                                  verb_list(some_verbs(lab, 10)));
        (void)json_object_set_new(
            body, "give",
            verb_list(chance(lab, 50) ? none : some_verbs(lab, 10)));
    }
    if (access_decide(lab->p.world, actor, VERB_GRANT_CREATE, node,
                      lab->p.now_ms, &granted, &err) == 0)
        result = resource_create(&granted, changes, KIND_GRANT, node, body,
                                 &out, &err);
    if (result == 0)
        world_apply(lab->p.world, changes);
    json_decref(body);
    return result == 0;
}

/* What everybody has on each node. */
struct stock {
    struct verbs use[10][6];
    struct verbs give[10][6];
};

static void
take_stock(const struct lab *lab, struct stock *out)
{
    for (size_t i = 0; i < 10; i++)
        for (size_t n = 0; n < 6; n++) {
            out->use[i][n] = access_use(lab->p.world, &lab->actors[i],
                                        lab->nodes[n], lab->p.now_ms);
            out->give[i][n] = access_give(lab->p.world, &lab->actors[i],
                                          lab->nodes[n], lab->p.now_ms);
        }
}

#define RITA 3

/* One of these alone may hand out anything at first: rita. */
static void
open_court(struct lab *lab, uint64_t seed)
{
    struct people *p = &lab->p;

    memset(lab, 0, sizeof(*lab));
    lab->random = seed;
    people_setup(p);
    struct ref people[] = { p->aud, p->sec, p->ops, p->rita, p->dev,
                            p->eve, p->bob, p->aud, p->dev,  p->eve };
    make_roles(lab);
    make_objects(lab);
    for (size_t i = 0; i < 10; i++)
        lab->actors[i] = people_login(p, people[i]);
}

static void
no_chain_of_grants_hands_out_what_the_first_could_not_give(void **state)
{
    size_t made = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct stock before, after;
        struct lab lab;

        open_court(&lab, seed);
        take_stock(&lab, &before);
        for (int i = 0; i < QUESTIONS; i++)
            made += try_grant(
                &lab, &lab.actors[chance(&lab, 50) ? RITA : draw(&lab, 10)]);
        take_stock(&lab, &after);
        for (size_t i = 0; i < 10; i++)
            for (size_t n = 0; n < 6; n++) {
                struct verbs give = before.give[RITA][n];

                assert_true(verbs_within(
                    after.use[i][n], verbs_or(before.use[i][n], give)));
                assert_true(verbs_within(after.give[i][n], give));
            }
        lab_close(&lab);
    }
    assert_true(made > 500);
}

/* --- control --- */

#define CAST_MAX 160

/* Rita or pat, and whoever they can act as by what they did; all of them go
 * on. */
struct plot {
    struct lab lab;
    struct actor cast[CAST_MAX];
    size_t count;
    struct ref red[64]; /* subjects and groups of her tenant */
    size_t red_count;
    struct ref strong;
    size_t tried, done;
};

static void
plot_join(struct plot *plot, struct actor actor)
{
    if (plot->count < CAST_MAX)
        plot->cast[plot->count++] = actor;
}

static void
plot_know(struct plot *plot, struct ref ref)
{
    if (plot->red_count < sizeof(plot->red) / sizeof(plot->red[0]))
        plot->red[plot->red_count++] = ref;
}

static struct ref
plot_any(struct plot *plot)
{
    return plot->red[draw(&plot->lab, plot->red_count)];
}

/* By the front door; out: what was made, none for other operations. */
static bool
plot_act(struct plot *plot, const struct actor *actor, enum verb verb,
         enum kind kind, struct ref object, json_t *body, struct ref *out)
{
    struct people *p = &plot->lab.p;
    struct changes *changes = people_begin(p);
    struct granted granted;
    struct error err;
    uint8_t digest[32];
    int result = access_decide(p->world, actor, verb, object, p->now_ms,
                               &granted, &err);

    *out = (struct ref){ 0 };
    people_digest(p, digest);
    plot->tried++;
    if (result == 0 && verb == VERB_USER_PASSWORD)
        result = resource_set_password(&granted, changes, "$argon2id$x",
                                       &err);
    else if (result == 0 && verb == VERB_APIKEY_ROTATE)
        result = credential_rotate(&granted, changes, 0, digest, &err);
    else if (result == 0 && verb_op(verb) == VERB_OP_UPDATE)
        result = resource_update(&granted, changes, object, body, &err);
    else if (result == 0)
        result = resource_create(&granted, changes, kind, object, body, out,
                                 &err);
    if (result == 0)
        world_apply(p->world, changes);
    json_decref(body);
    plot->done += result == 0;
    return result == 0;
}

static json_t *
subject_body(const struct plot *plot, struct ref subject, json_t *body)
{
    char id[ID_TEXT_MAX];

    id_of(&plot->lab, subject, id);
    (void)json_object_set_new(body, "subject", json_string(id));
    return body;
}

static void
plot_grant(struct plot *plot, const struct actor *actor)
{
    struct lab *lab = &plot->lab;
    char role[ID_TEXT_MAX];
    json_t *body = json_object();
    struct ref out;

    id_of(lab, chance(lab, 40) ? lab->roles[draw(lab, ROLES)]
                               : role_find(lab->p.world,
                                           (enum role_builtin)draw(
                                               lab, ROLE_BUILTIN_COUNT)),
          role);
    (void)json_object_set_new(body, "role", json_string(role));
    if (chance(lab, 30))
        (void)json_object_set_new(body, "use",
                                  verb_list(some_verbs(lab, 10)));
    (void)plot_act(plot, actor, VERB_GRANT_CREATE, KIND_GRANT, a_node(lab),
                   subject_body(plot, plot_any(plot), body), &out);
}

static void
plot_group(struct plot *plot, const struct actor *actor)
{
    struct ref group = plot_any(plot), out;
    char name[16];

    if (group.kind == KIND_GROUP) {
        (void)plot_act(plot, actor, VERB_MEMBER_CREATE, KIND_MEMBER, group,
                       subject_body(plot, plot_any(plot), json_object()),
                       &out);
        return;
    }
    (void)snprintf(name, sizeof(name), "g%zu", plot->tried);
    if (plot_act(plot, actor, VERB_GROUP_CREATE, KIND_GROUP, plot->lab.p.red,
                 json_pack("{s:s}", "name", name), &out))
        plot_know(plot, out);
}

/* An account of her own, or a key of somebody: whoever makes one holds it. */
static void
plot_key(struct plot *plot, const struct actor *actor)
{
    struct lab *lab = &plot->lab;
    struct ref subject = plot_any(plot), out;
    json_t *body = json_object();
    char name[16];

    if (chance(lab, 15)) {
        (void)snprintf(name, sizeof(name), "s%zu", plot->tried);
        if (plot_act(plot, actor, VERB_SERVICEACCOUNT_CREATE,
                     KIND_SERVICEACCOUNT,
                     chance(lab, 50) ? lab->p.alpha : lab->p.beta,
                     json_pack("{s:s, s:o}", "name", name, "display",
                               json_string("")),
                     &out))
            plot_know(plot, out);
        json_decref(body);
        return;
    }
    if (chance(lab, 50))
        (void)json_object_set_new(body, "verbs",
                                  verb_list(some_verbs(lab, 5)));
    if (!plot_act(plot, actor, VERB_APIKEY_CREATE, KIND_APIKEY, subject, body,
                  &out))
        return;
    plot_join(plot, (struct actor){
                        .kind = subject.kind == KIND_USER
                                    ? ACTOR_USER
                                    : ACTOR_SERVICEACCOUNT,
                        .subject = subject,
                        .credential = out,
                        .source = "192.0.2.1" });
}

/* A password that was set opens the account, once it was changed. */
static void
plot_password(struct plot *plot, const struct actor *actor)
{
    struct people *p = &plot->lab.p;
    struct ref user = plot_any(plot), out;
    struct changes *changes;

    if (user.kind != KIND_USER ||
        !plot_act(plot, actor, VERB_USER_PASSWORD, KIND_USER, user, NULL,
                  &out))
        return;
    changes = people_begin(p);
    resource_keep_password(changes, user);
    world_apply(p->world, changes);
    plot_join(plot, people_login(p, user));
}

static void
plot_invite(struct plot *plot, const struct actor *actor)
{
    struct people *p = &plot->lab.p;
    struct ref out, user;
    struct changes *changes;
    struct error err;
    char name[16];

    (void)snprintf(name, sizeof(name), "i%zu", plot->tried);
    if (!plot_act(plot, actor, VERB_INVITATION_CREATE, KIND_INVITATION,
                  p->red, json_pack("{s:s}", "name", name), &out))
        return;
    user = world_invitation(p->world, out)->user;
    changes = people_begin(p);
    assert_int_equal(credential_accept(changes, out, "$argon2id$x", &err), 0);
    world_apply(p->world, changes);
    plot_know(plot, user);
    plot_join(plot, people_login(p, user));
}

static void
plot_rotate(struct plot *plot, const struct actor *actor)
{
    const struct world *world = plot->lab.p.world;
    struct ref key = world_first_child(world, KIND_APIKEY, plot_any(plot));
    struct ref subject = world_parent(world, key), out;

    if (ref_is_none(key) || !plot_act(plot, actor, VERB_APIKEY_ROTATE,
                                      KIND_APIKEY, key, NULL, &out))
        return;
    plot_join(plot, (struct actor){
                        .kind = subject.kind == KIND_USER
                                    ? ACTOR_USER
                                    : ACTOR_SERVICEACCOUNT,
                        .subject = subject,
                        .credential = key,
                        .source = "192.0.2.1" });
}

static void
plot_role(struct plot *plot, const struct actor *actor)
{
    struct lab *lab = &plot->lab;
    struct ref *role = &lab->roles[draw(lab, ROLES)], out;
    char name[16];

    if (chance(lab, 50) && world_parent(lab->p.world, *role).kind ==
                               KIND_TENANT) {
        (void)plot_act(plot, actor, VERB_ROLE_UPDATE, KIND_ROLE, *role,
                       json_pack("{s:o}", "verbs",
                                 verb_list(some_verbs(lab, 10))),
                       &out);
        return;
    }
    (void)snprintf(name, sizeof(name), "r%zu", plot->tried);
    if (plot_act(plot, actor, VERB_ROLE_CREATE, KIND_ROLE, lab->p.red,
                 json_pack("{s:s, s:o, s:o}", "name", name, "verbs",
                           verb_list(some_verbs(lab, 3)), "give",
                           verb_list(some_verbs(lab, 3))),
                 &out))
        *role = out;
}

static void
plot_step(struct plot *plot)
{
    static void (*const steps[])(struct plot *plot,
                                 const struct actor *actor) = {
        plot_grant, plot_grant, plot_group, plot_group, plot_key,
        plot_key,   plot_role,  plot_password, plot_invite, plot_rotate,
    };
    struct actor actor =
        plot->cast[chance(&plot->lab, 50) ? 0
                                          : draw(&plot->lab, plot->count)];

    steps[draw(&plot->lab, sizeof(steps) / sizeof(steps[0]))](plot, &actor);
}

/* Meanwhile pat's admin gives accounts rights elsewhere, in good faith. */
static void
plot_others(struct plot *plot)
{
    struct people *p = &plot->lab.p;
    struct ref subject = plot_any(plot), out;
    struct actor rita = plot->lab.actors[RITA];
    json_t *body;

    if (ref_equal(plot->cast[0].subject, p->rita) ||
        subject.kind != KIND_SERVICEACCOUNT)
        return;
    body = json_pack("{s:s}", "role", role_name(ROLE_DEVELOPER));
    (void)plot_act(plot, &rita, VERB_GRANT_CREATE, KIND_GRANT, p->unit,
                   subject_body(plot, subject, body), &out);
}

/* Somebody in red, and a group, hold a right that is not theirs to give. */
static void
plot_open(struct plot *plot, uint64_t seed)
{
    struct lab *lab = &plot->lab;
    struct people *p = &lab->p;
    struct changes *changes;
    struct role *role;
    struct grant *grant;
    struct ref elite;

    open_court(lab, seed);
    plot->count = plot->red_count = plot->tried = plot->done = 0;
    plot->strong = people_put(p, KIND_USER, p->red, "strong");
    elite = people_put(p, KIND_GROUP, p->red, "elite");
    changes = people_begin(p);
    role = change_create(changes, KIND_ROLE, p->platform, "odd");
    grant = change_create(changes, KIND_GRANT, p->red, "");
    role->verbs = people_verbs(VERB_AUDIT_ERASE);
    grant->subject = plot->strong;
    grant->role = role->object.self;
    grant->use = verbs_all();
    grant = change_create(changes, KIND_GRANT, p->red, "");
    grant->subject = elite;
    grant->role = role->object.self;
    grant->use = verbs_all();
    world_apply(p->world, changes);
    struct ref red[] = { p->rita, p->pat, p->dev, p->eve, p->bot,
                         plot->strong, elite };
    for (size_t i = 0; i < 7; i++)
        plot_know(plot, red[i]);
    plot_join(plot, seed % 2 == 0 ? lab->actors[RITA]
                                  : people_login(p, p->pat));
}

/* Every verb that lists nothing, asks nobody, or is there for all. */
static struct verbs
published(void)
{
    struct verbs set = { { 0 } };

    for (int i = 0; i < VERB_COUNT; i++)
        if (verb_is((enum verb)i, VERB_PUBLIC))
            verbs_add(&set, (enum verb)i);
    return set;
}

/* Decided one by one, at the node itself. */
static void
check_decisions(const struct plot *plot, const struct actor *actor,
                struct ref node, struct verbs most)
{
    for (int i = 0; i < VERB_COUNT; i++)
        if (needs_a_grant((enum verb)i) && !verbs_have(&most, (enum verb)i))
            assert_false(can(&plot->lab, actor, (enum verb)i, node));
}

static void
plot_check(const struct plot *plot, size_t n, struct verbs use,
           struct verbs give)
{
    const struct world *world = plot->lab.p.world;

    for (size_t i = 0; i < plot->count; i++) {
        const struct actor *actor = &plot->cast[i];
        const struct apikey *key = world_apikey(world, actor->credential);
        struct ref node = plot->lab.nodes[n];
        struct verbs now = access_use(world, actor, node,
                                      plot->lab.p.now_ms);

        assert_true(verbs_within(now, verbs_or(use, give)));
        assert_true(verbs_within(access_give(world, actor, node,
                                             plot->lab.p.now_ms),
                                 give));
        assert_false(ref_equal(actor->subject, plot->strong));
        /* what they made themselves does nothing that they could not do */
        if (key != NULL &&
            ref_equal(key->minter, plot->cast[0].subject) &&
            !ref_equal(actor->subject, plot->cast[0].subject)) {
            assert_true(verbs_within(now, verbs_or(use, published())));
            check_decisions(plot, actor, node, verbs_or(use, published()));
        }
    }
}

/* [A18] [A15] */
static void
no_sequence_of_calls_gains_control_over_a_stronger_subject(void **state)
{
    size_t done = 0, acted = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct verbs use[6], give[6];
        struct plot plot;

        plot_open(&plot, seed);
        for (size_t n = 0; n < 6; n++) {
            use[n] = access_use(plot.lab.p.world, &plot.cast[0],
                                plot.lab.nodes[n], plot.lab.p.now_ms);
            give[n] = access_give(plot.lab.p.world, &plot.cast[0],
                                  plot.lab.nodes[n], plot.lab.p.now_ms);
        }
        for (int i = 0; i < QUESTIONS; i++) {
            plot_step(&plot);
            if (i > QUESTIONS / 2)
                plot_others(&plot);
        }
        for (size_t n = 0; n < 6; n++)
            plot_check(&plot, n, use[n], give[n]);
        done += plot.done;
        acted += plot.count;
        lab_close(&plot.lab);
    }
    assert_true(done > 3000);
    assert_true(acted > 1000);
}

/* Also of a key that ends at one of the siblings. */
static void
a_view_of_many_decides_as_each_alone(void **state)
{
    size_t allowed = 0, refused = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct lab lab;
        struct actor actor;
        struct access_view view = { 0 };
        static const enum kind kinds[] = { KIND_WORKLOAD, KIND_VOLUME,
                                           KIND_ALARM, KIND_GRANT,
                                           KIND_PROJECT };

        lab_open(&lab, seed);
        for (size_t i = 0; i < 20 && lab.object_count < OBJECTS; i++)
            add_object(&lab, people_put(&lab.p, kinds[i % 5],
                                        i % 5 == 4 ? lab.p.red
                                        : i % 2 == 0 ? lab.p.alpha
                                                     : lab.p.gamma,
                                        ""));
        actor = chance(&lab, 30)
                    ? people_key(&lab.p, lab.p.rita, some_verbs(&lab, 70),
                                 chance(&lab, 50) ? lab.p.alpha_job
                                                  : an_object(&lab))
                    : lab.actors[draw(&lab, SUBJECTS)];
        view = (struct access_view){ .world = lab.p.world,
                                     .actor = &actor,
                                     .now_ms = lab.p.now_ms };
        for (int i = 0; i < QUESTIONS * 3; i++) {
            struct ref object = an_object(&lab);
            enum verb verb = chance(&lab, 50) ? VERB_WORKLOAD_GET
                                              : a_verb(&lab);
            bool alone = can(&lab, &actor, verb, object);

            assert_int_equal(access_view_can(&view, verb, object), alone);
            assert_int_equal(access_view_sees(&view, object),
                             access_sees(lab.p.world, &actor, object,
                                         lab.p.now_ms));
            allowed += alone;
            refused += !alone;
        }
        lab_close(&lab);
    }
    assert_true(allowed > 5000 && refused > 5000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_decision_is_the_formula),
        cmocka_unit_test(without_a_grant_nothing_is_allowed),
        cmocka_unit_test(a_deny_more_or_a_lower_ceiling_never_allows_more),
        cmocka_unit_test(a_key_may_only_what_its_owner_may),
        cmocka_unit_test(a_list_is_what_is_allowed_to_get),
        cmocka_unit_test(a_view_of_many_decides_as_each_alone),
        cmocka_unit_test(order_and_duplicates_of_grants_do_not_matter),
        cmocka_unit_test(
            explaining_agrees_and_supplying_what_is_missing_flips_it),
        cmocka_unit_test(hidden_is_random_id_for_every_verb),
        cmocka_unit_test(nothing_of_one_tenant_is_there_for_another),
        cmocka_unit_test(
            no_chain_of_grants_hands_out_what_the_first_could_not_give),
        cmocka_unit_test(
            no_sequence_of_calls_gains_control_over_a_stronger_subject),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
