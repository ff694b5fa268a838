/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>

#include "core/credential.h"
#include "core/resource.h"
#include "tests/simulate/formula.h"

/*
 * Properties of handing out: nobody gets, by whatever steps, what the first of
 * them could not give; nobody gains control over somebody stronger.  CASES
 * (20,000) steps each.
 */

#define QUESTIONS 100 /* steps in each world */

#define each_world(seed, cases)                                               \
    for (uint64_t seed = 1; (cases) < cases_wanted(); seed++)

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
    size_t cases = 0;

    (void)state;
    each_world(seed, cases) {
        struct stock before, after;
        struct lab lab;

        open_court(&lab, seed);
        take_stock(&lab, &before);
        for (int i = 0; i < QUESTIONS; i++)
            hit(try_grant(&lab, &lab.actors[chance(&lab, 50)
                                                ? RITA
                                                : draw(&lab, 10)])
                    ? HIT_CHAIN_MADE
                    : HIT_CHAIN_REFUSED);
        cases += QUESTIONS;
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
    size_t tried;
};

static void
plot_join(struct plot *plot, struct actor actor)
{
    if (plot->count == CAST_MAX)
        return;
    hit(HIT_PLOT_ACTED);
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
    hit(result == 0 ? HIT_PLOT_DONE : HIT_PLOT_REFUSED);
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
    plot->count = plot->red_count = plot->tried = 0;
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
    size_t cases = 0;

    (void)state;
    each_world(seed, cases) {
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
        cases += QUESTIONS;
        lab_close(&plot.lab);
    }
}

static void
every_rule_was_met(void **state)
{
    (void)state;
    hits_tell(HIT_CHAIN_MADE, HIT_PLOT_ACTED);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            no_chain_of_grants_hands_out_what_the_first_could_not_give),
        cmocka_unit_test(
            no_sequence_of_calls_gains_control_over_a_stronger_subject),
        cmocka_unit_test(every_rule_was_met),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
