/* SPDX-License-Identifier: Apache-2.0 */
#include "core/approval.h"
#include "core/guard.h"
#include "tests/simulate/lab.h"

/*
 * Properties of second persons over random histories: people who made each
 * other, set each other's passwords and gave each other rights ask, approve,
 * deny, drop and use, while rights go, guards change and time passes.  A
 * model that knows nothing of the code keeps what each approval is worth.
 */

#define HISTORIES 1000
#define STEPS 120 /* of each: 120,000 */
#define PERSONS 7
#define ASKED 24

/* What the model remembers of one approval. */
struct paper {
    struct ref ref;
    int asker;
    int64_t asked_ms;
    uint64_t version; /* of the object, when it was asked */
    bool by[PERSONS];
    bool spent; /* used, denied, dropped, or seen to have expired */
};

struct room {
    struct lab lab; /* its people, its random numbers */
    struct ref person[PERSONS];
    bool made[PERSONS][PERSONS]; /* [a][b]: a made b or set its password */
    bool gave[PERSONS][PERSONS]; /* [a][b]: b's right comes from a */
    struct paper papers[ASKED];
    int paper_count;
    size_t used, refused;
};

static struct people *
world_of(struct room *room)
{
    return &room->lab.p;
}

static bool
toss(struct room *room, uint64_t percent)
{
    return chance(&room->lab, percent);
}

/* --- the people --- */

/* Whom a person made, directly or by others: closed under going on. */
static void
close_over(struct room *room)
{
    for (int k = 0; k < PERSONS; k++)
        for (int a = 0; a < PERSONS; a++)
            for (int b = 0; b < PERSONS; b++)
                if (room->made[a][k] && room->made[k][b])
                    room->made[a][b] = true;
}

/* Each is made, and given its right, by an earlier one or by nobody. */
static void
make_person(struct room *room, int i)
{
    struct people *p = world_of(room);
    struct changes *changes;
    struct grant *grant;
    struct user *user;
    char name[16];
    struct ref at;

    (void)snprintf(name, sizeof(name), "p%d", i);
    room->person[i] = people_put(p, KIND_USER, p->platform, name);
    at = people_grant(p, room->person[i], p->platform, ROLE_PLATFORM_ADMIN);
    changes = people_begin(p);
    user = change_update(changes, room->person[i]);
    grant = change_update(changes, at);
    if (i > 0 && toss(room, 25)) {
        int maker = (int)draw(&room->lab, (uint64_t)i);

        user->creator = room->person[maker];
        room->made[maker][i] = true;
    }
    if (i > 0 && toss(room, 15)) {
        int setter = (int)draw(&room->lab, (uint64_t)i);

        user->setter = room->person[setter];
        room->made[setter][i] = true;
    }
    if (i > 0 && toss(room, 25)) {
        int giver = (int)draw(&room->lab, (uint64_t)i);

        grant->granter = room->person[giver];
        room->gave[giver][i] = true;
    }
    world_apply(p->world, changes);
}

static void
room_open(struct room *room, uint64_t seed)
{
    memset(room, 0, sizeof(*room));
    room->lab.random = seed;
    people_setup(world_of(room));
    for (int i = 0; i < PERSONS; i++)
        make_person(room, i);
    close_over(room);
}

/* --- what the model says --- */

static bool
are_apart(const struct room *room, int a, int b)
{
    return a != b && !room->made[a][b] && !room->made[b][a];
}

/* Did b get its right from a, or from one whom a made? */
static bool
owes_right(const struct room *room, int a, int b)
{
    for (int g = 0; g < PERSONS; g++)
        if (room->gave[g][b] && (g == a || room->made[a][g]))
            return true;
    return false;
}

static bool
may_second(struct room *room, int asker, int who)
{
    const struct world *world = world_of(room)->world;

    return are_apart(room, asker, who) && !owes_right(room, asker, who) &&
           access_is_alive(world, room->person[who]);
}

/* Is there a choice of `people` of them that are all apart?  Whoever came
 * earlier has signed when the later one was let in, so all who count are. */
static int64_t
worth(struct room *room, const struct paper *paper)
{
    int64_t count = 0;

    for (int i = 0; i < PERSONS; i++)
        count += paper->by[i] && may_second(room, paper->asker, i);
    return count;
}

/* --- steps --- */

static struct actor
acting(struct room *room, int who)
{
    struct actor actor = people_login(world_of(room), room->person[who]);

    actor.target = world_of(room)->red;
    return actor;
}

static void
ask_one(struct room *room)
{
    const struct approval_wish wish = { .verb = VERB_TENANT_DELETE,
                                        .method = "DELETE",
                                        .path = "/api/v1/tenants/red",
                                        .reason = "a reason" };
    struct people *p = world_of(room);
    int who = (int)draw(&room->lab, PERSONS);
    struct actor actor = acting(room, who);
    struct changes *changes = people_begin(p);
    struct paper *paper = &room->papers[room->paper_count];
    struct error err;

    if (room->paper_count == ASKED ||
        !access_is_alive(p->world, room->person[who]) ||
        approval_ask(changes, &actor, &wish, &paper->ref, &err) != 0)
        return;
    world_apply(p->world, changes);
    paper->asker = who;
    paper->asked_ms = p->now_ms;
    paper->version = world_object(p->world, p->red)->version;
    room->paper_count++;
}

static struct paper *
a_paper(struct room *room)
{
    return room->paper_count == 0
               ? NULL
               : &room->papers[draw(&room->lab, (uint64_t)room->paper_count)];
}

static bool
is_live(struct room *room, const struct paper *paper)
{
    return !paper->spent &&
           world_of(room)->now_ms < paper->asked_ms + APPROVAL_LIFE_MS;
}

static bool
knows_one_who_signed(const struct room *room, const struct paper *paper,
                     int who)
{
    for (int i = 0; i < PERSONS; i++)
        if (paper->by[i] && !are_apart(room, i, who))
            return true;
    return false;
}

static void
decide_one(struct room *room, bool yes)
{
    struct people *p = world_of(room);
    struct paper *paper = a_paper(room);
    int who = (int)draw(&room->lab, PERSONS);
    struct actor actor = acting(room, who);
    struct changes *changes = people_begin(p);
    struct granted granted;
    struct error err;
    bool done, open;

    if (paper == NULL)
        return;
    open = world_approval(p->world, paper->ref)->state == APPROVAL_OPEN;
    done = access_decide(p->world, &actor, VERB_APPROVAL_DECIDE, paper->ref,
                         p->now_ms, &granted, &err) == 0 &&
           approval_decide(&granted, changes, yes, "note", &err) == 0;
    if (done) {
        assert_true(is_live(room, paper) && open);
        assert_true(who != paper->asker);
        assert_true(may_second(room, paper->asker, who));
        assert_false(knows_one_who_signed(room, paper, who));
        world_apply(p->world, changes);
        paper->by[who] = paper->by[who] || yes;
        paper->spent = paper->spent || !yes;
    } else if (is_live(room, paper) && open &&
               access_is_alive(p->world, room->person[paper->asker])) {
        assert_true(!may_second(room, paper->asker, who) ||
                    knows_one_who_signed(room, paper, who));
    }
}

static void
drop_one(struct room *room)
{
    struct people *p = world_of(room);
    struct paper *paper = a_paper(room);
    struct changes *changes;
    struct granted granted;
    struct error err;
    struct actor actor;

    if (paper == NULL)
        return;
    actor = acting(room, paper->asker);
    changes = people_begin(p);
    if (access_decide(p->world, &actor, VERB_APPROVAL_DROP, paper->ref,
                      p->now_ms, &granted, &err) != 0 ||
        approval_drop(&granted, changes, "", &err) != 0)
        return;
    world_apply(p->world, changes);
    paper->spent = true;
}

/* Somebody comes with it, mostly who asked: it works exactly when the model
 * says so, and then never again. */
static void
use_one(struct room *room)
{
    struct people *p = world_of(room);
    struct paper *paper = a_paper(room);
    int64_t people = guard_people(p->world, VERB_TENANT_DELETE);
    struct changes *changes;
    struct actor actor;
    struct granted granted;
    struct error err;
    bool must, works;
    int who;

    if (paper == NULL)
        return;
    who = toss(room, 80) ? paper->asker : (int)draw(&room->lab, PERSONS);
    actor = acting(room, who);
    actor.approval = paper->ref;
    must = who == paper->asker && is_live(room, paper) &&
           access_is_alive(p->world, room->person[who]) &&
           world_approval(p->world, paper->ref)->state == APPROVAL_APPROVED &&
           worth(room, paper) >= people &&
           world_object(p->world, p->red)->version == paper->version;
    works = access_decide(p->world, &actor, VERB_TENANT_DELETE, p->red,
                          p->now_ms, &granted, &err) == 0;
    assert_int_equal(works, must);
    if (!works) {
        room->refused++;
        return;
    }
    room->used++;
    changes = people_begin(p);
    approval_use(changes, &actor);
    world_apply(p->world, changes);
    paper->spent = true;
}

static void
change_guard(struct room *room)
{
    struct people *p = world_of(room);
    struct ref ref = world_find_name(p->world, KIND_GUARD, p->platform,
                                     "tenant.delete");
    struct changes *changes = people_begin(p);
    struct guard *guard =
        ref_is_none(ref)
            ? change_create(changes, KIND_GUARD, p->platform, "tenant.delete")
            : change_update(changes, ref);

    guard->approvers = (int64_t)draw(&room->lab, 4);
    world_apply(p->world, changes);
}

/* Time passes; what has expired is latched, so that it stays expired when a
 * clock is set back. */
static void
pass_time(struct room *room)
{
    struct people *p = world_of(room);
    struct changes *changes;

    p->now_ms += (int64_t)draw(&room->lab, 25 * 60000);
    if (toss(room, 50))
        return; /* nobody has swept yet */
    changes = people_begin(p);
    approval_sweep(changes);
    world_apply(p->world, changes);
    for (int i = 0; i < room->paper_count; i++)
        if (!is_live(room, &room->papers[i]))
            room->papers[i].spent = true;
    if (toss(room, 20))
        p->now_ms -= (int64_t)draw(&room->lab, 25 * 60000);
}

static void
one_step(struct room *room)
{
    struct people *p = world_of(room);
    uint64_t what = draw(&room->lab, 100);
    struct ref who = room->person[draw(&room->lab, PERSONS)];
    struct changes *changes;

    if (what < 20)
        ask_one(room);
    else if (what < 62)
        decide_one(room, what < 59);
    else if (what < 66)
        drop_one(room);
    else if (what < 84)
        use_one(room);
    else if (what < 88)
        change_guard(room);
    else if (what < 94)
        pass_time(room);
    else if (what < 98)
        people_state(p, who, what < 96 ? STATE_SUSPENDED : STATE_ACTIVE);
    else {
        changes = people_begin(p);
        (void)change_update(changes, p->red); /* a new version */
        world_apply(p->world, changes);
    }
}

static void
an_approval_is_worth_what_others_made_of_it_and_once(void **state)
{
    size_t used = 0, refused = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        struct room room;

        room_open(&room, seed);
        for (int i = 0; i < STEPS; i++)
            one_step(&room);
        used += room.used;
        refused += room.refused;
        people_release(world_of(&room));
    }
    print_message("%zu used, %zu refused\n", used, refused);
    assert_true(used > 1000);
    assert_true(refused > 10000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_approval_is_worth_what_others_made_of_it_and_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
