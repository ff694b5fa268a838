/* SPDX-License-Identifier: Apache-2.0 */
#include "control/wallclock.h"
#include "tests/simulate/formula.h"

/*
 * Properties of decisions over generated worlds; CASES (20,000) each.  What is
 * handed out is in test_delegation.c, second persons in test_second.c.
 */

#define QUESTIONS 100 /* of each world */

/* Worlds until there were enough cases. */
#define each_world(seed, cases)                                               \
    for (uint64_t seed = 1; (cases) < cases_wanted(); seed++)

static void
the_decision_is_the_formula(void **state)
{
    size_t cases = 0;

    (void)state;
    each_world(seed, cases / 4) { /* what is rare is met often enough */
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
            cases++;
        }
        lab_close(&lab);
    }
}

static void
without_a_grant_nothing_is_allowed(void **state)
{
    size_t cases = 0;

    (void)state;
    each_world(seed, cases) {
        struct lab lab;
        struct actor stranger;

        lab_open(&lab, seed);
        stranger = people_login(
            &lab.p, people_put(&lab.p, KIND_USER, lab.p.red, "stranger"));
        for (int i = 0; i < QUESTIONS; i++) {
            enum verb verb = a_verb(&lab);
            struct ref object = an_object(&lab);

            if (verb_is(verb, VERB_SELF))
                assert_false(can(&lab, &stranger, verb, lab.p.rita));
            if (!needs_a_grant(verb))
                continue;
            assert_false(can(&lab, &stranger, verb, object));
            hit(HIT_DEFAULT_DENY);
            cases++;
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

/* Says which of the two it was. */
static enum hit
lower_something(struct lab *lab)
{
    struct changes *changes = people_begin(&lab->p);
    struct ref node = chance(lab, 50) ? lab->p.red : lab->p.alpha;
    struct ref ceiling =
        world_first_child(lab->p.world, KIND_CEILING, node);
    struct ceiling *image;

    if (chance(lab, 50)) {
        ((struct deny *)change_create(changes, KIND_DENY, a_node(lab), ""))
            ->verbs = some_verbs(lab, 30);
        world_apply(lab->p.world, changes);
        return HIT_LOST_DENY;
    }
    if (ref_is_none(ceiling)) {
        image = change_create(changes, KIND_CEILING, node, "");
        image->verbs = verbs_all();
    } else {
        image = change_update(changes, ceiling);
    }
    image->verbs = verbs_and(image->verbs, some_verbs(lab, 50));
    world_apply(lab->p.world, changes);
    return HIT_LOST_CEILING;
}

static void
a_deny_more_or_a_lower_ceiling_never_allows_more(void **state)
{
    size_t cases = 0;

    (void)state;
    each_world(seed, cases) {
        struct answers before, after;
        struct lab lab;

        lab_open(&lab, seed);
        ask_all(&lab, seed, &before);
        for (int round = 0; round < 3; round++) {
            enum hit what = lower_something(&lab);

            ask_all(&lab, seed, &after);
            for (int i = 0; i < QUESTIONS; i++) {
                assert_true(before.yes[i] || !after.yes[i]);
                if (before.yes[i] && !after.yes[i])
                    hit(what);
            }
            cases += QUESTIONS;
            before = after;
        }
        lab_close(&lab);
    }
}

/* At each instant: grants come and go, and times pass, between questions. */
static void
change_owner(struct lab *lab, struct ref owner)
{
    struct changes *changes = people_begin(&lab->p);
    struct ref grant = world_first_index(lab->p.world, KIND_GRANT, 0, owner);

    if (chance(lab, 50) || ref_is_none(grant)) {
        (void)some_grant(lab, owner);
        return;
    }
    if (chance(lab, 50))
        change_delete(changes, grant);
    else
        ((struct grant *)change_update(changes, grant))->to_ms =
            lab->p.now_ms + (int64_t)draw(lab, 3) - 1;
    world_apply(lab->p.world, changes);
}

static void
a_key_may_only_what_its_owner_may(void **state)
{
    size_t cases = 0;

    (void)state;
    each_world(seed, cases) {
        struct lab lab;
        struct ref none = { 0 };
        struct actor owner, key;

        lab_open(&lab, seed);
        owner = people_login(&lab.p, lab.p.rita);
        show_factor(&lab, &owner);
        key = people_key(&lab.p, lab.p.rita, some_verbs(&lab, 80),
                         chance(&lab, 50) ? none : a_node(&lab));
        for (int i = 0; i < QUESTIONS; i++) {
            enum verb verb = a_verb(&lab);
            struct ref object = an_object(&lab);
            bool yes = can(&lab, &key, verb, object);

            bool may = can(&lab, &owner, verb, object);

            assert_true(!yes || may);
            if (may)
                hit(yes ? HIT_KEY_SAME : HIT_KEY_LESS);
            cases++;
            if (i % 10 == 9)
                change_owner(&lab, lab.p.rita);
            if (i % 40 == 39)
                lab.p.now_ms++;
        }
        lab_close(&lab);
    }
}

/* [A39] */
static void
a_list_is_what_is_allowed_to_get(void **state)
{
    size_t cases = 0;

    (void)state;
    each_world(seed, cases) {
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
            hit(access_visible(&listing, object) ? HIT_LIST_IN
                                                 : HIT_LIST_OUT);
            cases++;
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
    copy->proof_ms = grant->proof_ms;
    copy->factor = grant->factor;
    copy->approval = grant->approval;
    if (move)
        change_delete(changes, from);
    world_apply(lab->p.world, changes);
}

static void
order_and_duplicates_of_grants_do_not_matter(void **state)
{
    size_t cases = 0;

    (void)state;
    each_world(seed, cases) {
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
        for (int i = 0; i < QUESTIONS; i++)
            hit(after.yes[i] ? HIT_ORDER_YES : HIT_ORDER_NO);
        cases += QUESTIONS;
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
    static const enum hit flips[] = {
        [ACCESS_STEP_UP] = HIT_FLIP_STEP_UP,
        [ACCESS_DENY] = HIT_FLIP_DENY,
        [ACCESS_CEILING] = HIT_FLIP_CEILING,
        [ACCESS_APPROVAL] = HIT_FLIP_APPROVAL,
        [ACCESS_NO_GRANT] = HIT_FLIP_GRANT,
    };

    hit(flips[verdict->outcome]);
    if (verdict->outcome == ACCESS_STEP_UP) {
        actor->proved_ms = lab->p.now_ms;
        show_factor(lab, actor);
    } else if (verdict->outcome == ACCESS_DENY) {
        assert_true(
            verbs_have(&world_deny(lab->p.world, verdict->deny)->verbs,
                       verb));
        take_away(lab, verdict->deny);
    } else if (verdict->outcome == ACCESS_CEILING) {
        assert_non_null(world_ceiling(lab->p.world, verdict->ceiling));
        take_away(lab, verdict->ceiling);
    } else if (verdict->outcome == ACCESS_APPROVAL) {
        (void)people_alone(&lab->p, actor->subject);
    } else {
        give_verb(lab, actor->subject, verb);
    }
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
    size_t cases = 0;

    (void)state;
    each_world(seed, cases) {
        struct lab lab;

        lab_open(&lab, seed);
        for (int i = 0; i < QUESTIONS; i++)
            cases += explain_one(&lab);
        lab_close(&lab);
    }
}

/* [A36] */
static void
hidden_is_random_id_for_every_verb(void **state)
{
    size_t cases = 0;

    (void)state;
    each_world(seed, cases) {
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
            hit(HIT_HIDDEN);
            cases++;
        }
        lab_close(&lab);
    }
}

static void
nothing_of_one_tenant_is_there_for_another(void **state)
{
    size_t cases = 0;

    (void)state;
    each_world(seed, cases) {
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
            hit(HIT_FOREIGN);
            cases++;
        }
        lab_close(&lab);
    }
}

/* Also of a key that ends at one of the siblings. */
static void
a_view_of_many_decides_as_each_alone(void **state)
{
    size_t cases = 0;

    (void)state;
    each_world(seed, cases) {
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
        for (int i = 0; i < QUESTIONS; i++) {
            struct ref object = an_object(&lab);
            enum verb verb = chance(&lab, 50) ? VERB_WORKLOAD_GET
                                              : a_verb(&lab);
            bool alone = can(&lab, &actor, verb, object);

            assert_int_equal(access_view_can(&view, verb, object), alone);
            assert_int_equal(access_view_sees(&view, object),
                             access_sees(lab.p.world, &actor, object,
                                         lab.p.now_ms));
            hit(alone ? HIT_VIEW_YES : HIT_VIEW_NO);
            cases++;
        }
        lab_close(&lab);
    }
}

/* --- what is over --- */

static void
take_all(struct lab *lab, enum kind kind, struct ref subject)
{
    struct changes *changes = people_begin(&lab->p);

    world_each_index(lab->p.world, kind, 0, subject, ref)
        change_delete(changes, ref);
    world_apply(lab->p.world, changes);
}

static void
revoke_credential(struct lab *lab, struct ref credential)
{
    struct changes *changes = people_begin(&lab->p);

    if (credential.kind == KIND_SESSION)
        ((struct session *)change_update(changes, credential))->revoked_ms =
            lab->p.now_ms;
    else
        ((struct apikey *)change_update(changes, credential))->revoked_ms =
            lab->p.now_ms;
    world_apply(lab->p.world, changes);
}

/* Takes something of the actor's away; what it may no more. */
static enum hit
revoke(struct lab *lab, const struct actor *actor)
{
    switch (draw(lab, 4)) {
    case 0:
        take_all(lab, KIND_GRANT, actor->subject);
        return HIT_REVOKED_GRANT;
    case 1:
        take_all(lab, KIND_MEMBER, actor->subject);
        return HIT_REVOKED_MEMBER;
    case 2:
        revoke_credential(lab, actor->credential);
        return HIT_REVOKED_SESSION;
    default:
        people_state(&lab->p, actor->subject, STATE_SUSPENDED);
        return HIT_REVOKED_SUBJECT;
    }
}

/* Did it need what was taken, by the words of the design? */
static bool
is_left(const struct lab *lab, const struct actor *actor, enum hit taken,
        enum verb verb, struct ref object)
{
    struct ref grant;

    if (taken == HIT_REVOKED_SESSION || taken == HIT_REVOKED_SUBJECT)
        return false;
    if (!needs_a_grant(verb))
        return true;
    grant = oracle_grant(lab, actor, verb, object);
    return !ref_is_none(grant) &&
           (world_grant(lab->p.world, grant)->subject.kind == KIND_GROUP) ==
               (taken == HIT_REVOKED_GRANT);
}

static void
what_was_revoked_before_allows_nothing_later(void **state)
{
    size_t cases = 0;

    (void)state;
    each_world(seed, cases) {
        const struct actor *actor;
        enum hit taken;
        struct lab lab;

        lab_open(&lab, seed);
        actor = &lab.actors[draw(&lab, SUBJECTS)];
        taken = revoke(&lab, actor);
        for (int i = 0; i < QUESTIONS; i++) {
            enum verb verb = a_verb(&lab);
            struct ref object = an_object(&lab);

            if (can(&lab, actor, verb, object) &&
                !is_left(&lab, actor, taken, verb, object))
                fail_msg("seed %llu: %s", (unsigned long long)seed,
                         verb_name(verb));
            hit(taken);
            cases++;
            lab.p.now_ms += (int64_t)draw(&lab, 3);
        }
        lab_close(&lab);
    }
}

/* The system's clock jumps; whoever reads the platform's never sees a right
 * come back that had ended. */
static void
a_clock_set_back_extends_nothing(void **state)
{
    size_t cases = 0;

    (void)state;
    each_world(seed, cases) {
        struct wallclock clock;
        struct actor dev;
        int64_t wall_ms = PEOPLE_NOW, mono_ms = 0;
        struct changes *changes;
        bool over = false;
        struct lab lab;

        lab_open(&lab, seed);
        wallclock_start(&clock, 60000, PEOPLE_NOW, 0, wall_ms, mono_ms);
        dev = people_login(&lab.p, people_user(&lab.p, lab.p.red, "last",
                                               lab.p.red, ROLE_DEVELOPER));
        changes = people_begin(&lab.p);
        ((struct grant *)change_update(
             changes, world_first_index(lab.p.world, KIND_GRANT, 0,
                                        dev.subject)))
            ->to_ms = PEOPLE_NOW + 100000;
        world_apply(lab.p.world, changes);
        for (int i = 0; i < QUESTIONS; i++) {
            int64_t back_ms = chance(&lab, 30) ? (int64_t)draw(&lab, 90000)
                                               : 0;
            bool yes;

            mono_ms += (int64_t)draw(&lab, 4000);
            wall_ms += (int64_t)draw(&lab, 8000) - back_ms;
            (void)wallclock_read(&clock, wall_ms, mono_ms);
            lab.p.now_ms = clock.now_ms;
            yes = can(&lab, &dev, VERB_PROJECT_GET, lab.p.gamma) ||
                  !ref_is_none(oracle_grant(&lab, &dev, VERB_WORKLOAD_CREATE,
                                            lab.p.beta)) ||
                  can(&lab, &dev, VERB_WORKLOAD_CREATE, lab.p.beta);
            assert_false(over && yes);
            over = over || lab.p.now_ms >= PEOPLE_NOW + 100000;
            assert_false(lab.p.now_ms >= PEOPLE_NOW + 100000 && yes);
            if (back_ms > 0)
                hit(HIT_CLOCK_BACK);
            if (over)
                hit(HIT_CLOCK_EXPIRED);
            cases++;
        }
        lab_close(&lab);
    }
}

static void
every_rule_was_met(void **state)
{
    (void)state;
    hits_tell(HIT_ALLOWED, HIT_CLOCK_EXPIRED);
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
        cmocka_unit_test(what_was_revoked_before_allows_nothing_later),
        cmocka_unit_test(a_clock_set_back_extends_nothing),
        cmocka_unit_test(every_rule_was_met),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
