/* SPDX-License-Identifier: Apache-2.0 */
#include "core/approval.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/guard.h"
#include "core/judge.h"
#include "core/object.h"
#include "core/reach.h"

/* --- who stands behind whom --- */

#define CHAIN_MAX 8

/* Is who made by on, or in its hands, by any number of steps?  A chain that
 * is too long to follow counts as one that leads there. */
static bool
stands_behind(const struct world *world, struct ref on, struct ref who,
              int depth)
{
    const struct user *user = world_user(world, who);
    const struct serviceaccount *account = world_serviceaccount(world, who);

    if (ref_is_none(who))
        return false;
    if (ref_equal(who, on) || depth == CHAIN_MAX)
        return true;
    if (account != NULL)
        return stands_behind(world, on, account->creator, depth + 1);
    return user != NULL &&
           (stands_behind(world, on, user->creator, depth + 1) ||
            stands_behind(world, on, user->setter, depth + 1));
}

bool
approval_independent(const struct world *world, struct ref a, struct ref b)
{
    return !stands_behind(world, a, b, 0) && !stands_behind(world, b, a, 0);
}

/* --- who may approve --- */

/* Whom an operation is for: the subject itself, and who holds a role that is
 * changed.  Who is named in the body is looked for by names_person. */
static bool
is_beneficiary(const struct world *world, struct ref person,
               struct ref object)
{
    if (world_is_below(world, object, person))
        return true;
    if (object.kind == KIND_QUOTA)
        return ref_equal(world_quota(world, object)->user, person);
    if (object.kind == KIND_REQUEST)
        return ref_equal(world_wish(world, object)->requester, person);
    if (object.kind == KIND_GROUP)
        /* NOLINTNEXTLINE(readability-suspicious-call-argument): as declared */
        return reach_is_in(world, person, object);
    if (object.kind != KIND_ROLE)
        return false;
    reach_each(world, person, REACH_EVER, reach)
        if (ref_equal(world_grant(world, reach.grant)->role, object))
            return true;
    return false;
}

static bool
names(const struct world *world, const struct approval *approval,
      struct ref ref)
{
    const struct object *object = world_object(world, ref);

    return object != NULL &&
           schema_lists_id(approval->body, (enum kind)ref.kind, object->id);
}

/* Is the id of the person, or of a group that they are in, the value of some
 * field of the body? */
static bool
names_person(const struct world *world, const struct approval *approval,
             struct ref person)
{
    if (names(world, approval, person))
        return true;
    world_each_index(world, KIND_MEMBER, 0, person, ref)
        if (names(world, approval, world_parent(world, ref)))
            return true;
    return false;
}

/* Did somebody else than who asks, or one of theirs, give it, and let the
 * approver into the group that it comes by? */
static bool
is_given_by_others(const struct world *world, const struct reach *reach,
                   struct ref requester)
{
    const struct membership *member =
        world_membership(world, reach->member);

    return !stands_behind(world, requester,
                          world_grant(world, reach->grant)->granter, 0) &&
           (member == NULL ||
            !stands_behind(world, requester, member->adder, 0));
}

/* By a grant that sits where the operation's own right would have to, and
 * that does not come from who asks. */
static bool
may_decide(const struct question *question, struct ref approver,
           struct ref requester)
{
    reach_each(question->world, approver, question->now_ms, reach)
        if (judge_stands(question, world_grant(question->world, reach.grant),
                         VERB_APPROVAL_DECIDE) &&
            is_given_by_others(question->world, &reach, requester))
            return true;
    return false;
}

const char *
approval_bar(const struct world *world, struct ref approver,
             struct ref requester, enum verb verb, struct ref object,
             int64_t now_ms)
{
    const struct actor nobody = { .kind = ACTOR_NONE };
    struct access_verdict verdict;
    struct question question = judge_ask(world, &nobody, verb, object, now_ms,
                                         &verdict);

    if (approver.kind != KIND_USER || !access_is_alive(world, approver))
        return "only a person approves";
    if (ref_equal(approver, requester))
        return "nobody approves what they asked for themselves";
    if (!approval_independent(world, approver, requester))
        return "one of you made the other, or set the other's password: it "
               "takes somebody independent";
    if (is_beneficiary(world, approver, object))
        return "it is for you: it takes somebody else";
    if (!judge_path(&question) || !may_decide(&question, approver, requester))
        return "it takes approval.decide where the operation's own right "
               "would have to sit, and not from who asked";
    return "";
}

/* --- the list of those who did --- */

static json_t *
read_approvers(const struct approval *approval)
{
    struct error ignored;
    json_t *list = approval->approvers == NULL
                       ? NULL
                       : json_read(approval->approvers->bytes,
                                   approval->approvers->size, &ignored);

    return list != NULL ? list : json_array();
}

void
approval_names(const struct approval *approval, struct buffer *out)
{
    scoped_json list = read_approvers(approval);
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
        buffer_printf(out, "%s%s", i > 0 ? "," : "",
                      json_string_value(json_object_get(item, "user")));
}

/* Those who count now, each independent of those before. */
static int64_t
count_approvers(const struct world *world, const struct approval *approval,
                enum verb verb, struct ref object, int64_t now_ms)
{
    struct ref counted[APPROVAL_PEOPLE_MAX];
    scoped_json list = read_approvers(approval);
    const json_t *item;
    int64_t count = 0;
    size_t i;

    json_array_foreach(list, i, item) {
        const char *id = json_string_value(json_object_get(item, "user"));
        struct ref who = object_find_text(world, id);
        bool good = count < APPROVAL_PEOPLE_MAX && !ref_is_none(who) &&
                    !names_person(world, approval, who) &&
                    approval_bar(world, who, approval->object.parent, verb,
                                 object, now_ms)[0] == '\0';

        for (int64_t k = 0; good && k < count; k++)
            good = approval_independent(world, who, counted[k]);
        if (good)
            counted[count++] = who;
    }
    return count;
}

/* --- using one --- */

/* What of the operation is not as it was approved; "" when all is. */
static const char *
difference(const struct world *world, const struct actor *actor,
           const struct approval *approval)
{
    const struct object *target = world_object(world, actor->target);
    char id[ID_TEXT_MAX] = "";

    if (target != NULL)
        object_id_text(world, actor->target, id);
    if (memcmp(approval->query_digest, actor->query_digest, DIGEST_SIZE) != 0)
        return "method, route or query";
    if (strcmp(approval->target, id) != 0)
        return "object";
    if (memcmp(approval->body_digest, actor->body_digest, DIGEST_SIZE) != 0)
        return "body";
    return target == NULL ||
                   (int64_t)target->version != approval->target_version
               ? "version of the object"
               : "";
}

bool
approval_covers(const struct world *world, const struct actor *actor,
                enum verb verb, struct ref object, int64_t people,
                int64_t now_ms)
{
    const struct approval *approval = world_approval(world, actor->approval);

    return approval != NULL && approval->state == APPROVAL_APPROVED &&
           ref_equal(approval->object.parent, actor->subject) &&
           now_ms < approval->expires_ms &&
           difference(world, actor, approval)[0] == '\0' &&
           count_approvers(world, approval, verb, object, now_ms) >= people;
}

static int
check_state(const struct approval *approval, int64_t now_ms,
            struct error *err)
{
    static const char *const states[] = {
        [APPROVAL_OPEN] = "is not approved yet",
        [APPROVAL_APPROVED] = "has expired",
        [APPROVAL_DENIED] = "was denied",
        [APPROVAL_DROPPED] = "was dropped",
        [APPROVAL_USED] = "was used already: it is good for once",
        [APPROVAL_EXPIRED] = "has expired",
    };

    if (approval->state == APPROVAL_APPROVED && now_ms < approval->expires_ms)
        return 0;
    error_set(err, ERROR_APPROVAL, "the approval %s",
              approval->state == APPROVAL_OPEN &&
                      now_ms >= approval->expires_ms
                  ? states[APPROVAL_EXPIRED]
                  : states[approval->state]);
    return approval->state == APPROVAL_OPEN
               ? error_help(err, "wait until other people have approved it")
               : error_help(err, "ask again, with Ask-Approval "
                                 "(--ask-approval REASON)");
}

int
approval_check(const struct world *world, const struct actor *actor,
               int64_t now_ms, struct error *err)
{
    const struct approval *approval = world_approval(world, actor->approval);
    const char *part;

    if (approval == NULL ||
        !ref_equal(approval->object.parent, actor->subject))
        return access_not_found(err);
    if (check_state(approval, now_ms, err) != 0)
        return -1;
    part = difference(world, actor, approval);
    if (part[0] == '\0')
        return 0;
    error_set(err, ERROR_CONDITION,
              "this is not the operation that was approved: the %s differs",
              part);
    return error_help(err, "carry out what was approved (bulkhead execute "
                           "approval), or ask for this");
}

void
approval_use(struct changes *changes, const struct actor *actor)
{
    struct approval *approval;

    if (ref_is_none(actor->approval))
        return;
    approval = change_update(changes, actor->approval);
    approval->state = APPROVAL_USED;
    approval->decided_ms = changes->context.now_ms;
}

/* --- asking --- */

int
approval_needed(const struct world *world, enum verb verb, struct error *err)
{
    int64_t people = guard_people(world, verb);

    if (people > 1)
        (void)error_set(err, ERROR_APPROVAL,
                        "%s needs the approval of %" PRId64 " other people",
                        verb_name(verb), people);
    else
        (void)error_set(err, ERROR_APPROVAL,
                        "%s needs the approval of a second person",
                        verb_name(verb));
    return error_help(err,
                      "ask for it: the same call with the header "
                      "Ask-Approval: REASON (--ask-approval REASON); when "
                      "there is nobody and no time: bulkhead break glass");
}

enum verb
approval_verb(const struct world *world, enum verb verb)
{
    if (guard_people(world, verb) == 0 &&
        (verb == VERB_PRIORITY_CREATE || verb == VERB_PRIORITY_UPDATE))
        return VERB_PRIORITY_ACROSS;
    return verb;
}

static int
check_open(const struct world *world, struct ref person, struct error *err)
{
    int open = 0;

    world_each_child(world, KIND_APPROVAL, person, ref)
        open += world_approval(world, ref)->state == APPROVAL_OPEN;
    if (open < APPROVAL_OPEN_MAX)
        return 0;
    (void)error_set(err, ERROR_QUOTA, "%d approvals that you asked for are "
                                      "open",
                    open);
    return error_help(err, "drop those that are not needed: bulkhead drop "
                           "approval ID");
}

int
approval_ask(struct changes *changes, const struct actor *actor,
             const struct approval_wish *wish, struct ref *out,
             struct error *err)
{
    const struct world *world = changes->world;
    const struct object *target = world_object(world, actor->target);
    int64_t people = guard_people(world, wish->verb);
    struct approval *approval;

    if (actor->kind != ACTOR_USER)
        return error_set(err, ERROR_DENIED,
                         "only people ask other people for approval");
    if (wish->reason[0] == '\0')
        return error_set(err, ERROR_INVALID,
                         "Ask-Approval is empty: who approves has to know "
                         "why");
    if (schema_check_text("Ask-Approval", wish->reason, TEXT_MAX_SIZE, err) !=
            0 ||
        check_open(world, actor->subject, err) != 0)
        return -1;
    if (strlen(wish->path) >= TEXT_MAX_SIZE ||
        (wish->body != NULL && strlen(wish->body) > APPROVAL_BODY_MAX))
        return error_set(err, ERROR_TOO_LARGE,
                         "what people approve has a body of at most %d bytes "
                         "and an address of at most %d",
                         APPROVAL_BODY_MAX, TEXT_MAX_SIZE - 1);
    approval = change_create(changes, KIND_APPROVAL, actor->subject, "");
    (void)snprintf(approval->verb, sizeof(approval->verb), "%s",
                   verb_name(wish->verb));
    (void)snprintf(approval->method, sizeof(approval->method), "%s",
                   wish->method);
    (void)snprintf(approval->path, sizeof(approval->path), "%s", wish->path);
    (void)snprintf(approval->reason, sizeof(approval->reason), "%s",
                   wish->reason);
    object_id_text(world, actor->target, approval->target);
    approval->target_version = (int64_t)target->version;
    memcpy(approval->query_digest, actor->query_digest, DIGEST_SIZE);
    memcpy(approval->body_digest, actor->body_digest, DIGEST_SIZE);
    change_doc(changes, &approval->body, wish->body);
    approval->needed = people > 0 ? people : 1;
    approval->expires_ms = changes->context.now_ms + APPROVAL_LIFE_MS;
    *out = approval->object.self;
    return 0;
}

/* --- deciding --- */

static int
check_undecided(const struct approval *approval, int64_t now_ms,
                struct error *err)
{
    static const char *const states[] = { "open", "approved", "denied",
                                          "dropped", "used", "expired" };
    bool over = now_ms >= approval->expires_ms;

    if (approval->state == APPROVAL_OPEN && !over)
        return 0;
    return error_set(err, ERROR_CONFLICT, "the approval is %s already",
                     approval->state <= APPROVAL_APPROVED && over
                         ? "expired"
                         : states[approval->state]);
}

/* A person of whom one of those who approved already is not independent adds
 * nobody. */
static int
check_apart(const struct world *world, const struct approval *approval,
            struct ref approver, struct error *err)
{
    scoped_json list = read_approvers(approval);
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item) {
        struct ref other = object_find_text(
            world, json_string_value(json_object_get(item, "user")));

        if (ref_equal(other, approver))
            return error_set(err, ERROR_CONFLICT,
                             "you have approved it already");
        if (!ref_is_none(other) &&
            !approval_independent(world, approver, other))
            return error_set(err, ERROR_DENIED,
                             "one of you and somebody who approved it "
                             "already made the other: it takes somebody "
                             "independent");
    }
    return 0;
}

static void
add_approver(struct changes *changes, struct approval *approval,
             struct ref approver, const char *note)
{
    scoped_json list = read_approvers(approval);
    scoped_buffer text = { 0 };

    (void)json_array_append_new(
        list, json_pack("{s:o, s:o, s:s}", "user",
                        object_id_json(changes->world, approver), "at",
                        json_time(changes->context.now_ms), "note", note));
    json_write(&text, list);
    change_doc(changes, &approval->approvers, buffer_text(&text));
}

static int
check_second(const struct world *world, const struct approval *approval,
             struct ref approver, int64_t now_ms, struct error *err)
{
    struct ref object = object_find_text(world, approval->target);
    int verb = verb_parse(approval->verb);
    const char *bar;

    if (verb < 0 || ref_is_none(object))
        return error_set(err, ERROR_CONFLICT,
                         "what it is about is not there any more");
    bar = approval_bar(world, approver, approval->object.parent,
                       (enum verb)verb, object, now_ms);
    if (bar[0] == '\0' && names_person(world, approval, approver))
        bar = "it is for you: it takes somebody else";
    if (bar[0] != '\0')
        return error_set(err, ERROR_DENIED, "you may not: %s", bar);
    return check_apart(world, approval, approver, err);
}

static void
settle(struct changes *changes, struct approval *approval,
       enum approval_state state, struct ref decider, const char *note)
{
    approval->state = (int)state;
    approval->decided_ms = changes->context.now_ms;
    approval->decider = decider;
    (void)snprintf(approval->note, sizeof(approval->note), "%s", note);
}

int
approval_decide(const struct granted *granted, struct changes *changes,
                bool approve, const char *note, struct error *err)
{
    const struct world *world = granted_world(granted);
    struct ref ref = granted_object(granted);
    const struct approval *present = world_approval(world, ref);
    struct ref person = granted_actor(granted)->subject;
    int64_t now_ms = granted_now_ms(granted);
    struct approval *approval;

    if (check_undecided(present, now_ms, err) != 0 ||
        schema_check_text("/note", note, TEXT_MAX_SIZE, err) != 0)
        return -1;
    if (!approve && note[0] == '\0')
        return error_field(err, "/note",
                           "/note is empty: who asked has to know why not");
    if (check_second(world, present, person, now_ms, err) != 0)
        return -1;
    approval = change_update(changes, ref);
    if (!approve) {
        settle(changes, approval, APPROVAL_DENIED, person, note);
        return 0;
    }
    add_approver(changes, approval, person, note);
    if (count_approvers(world, approval, (enum verb)verb_parse(approval->verb),
                        object_find_text(world, approval->target),
                        now_ms) >= approval->needed) {
        approval->state = APPROVAL_APPROVED;
        approval->decided_ms = now_ms;
    }
    return 0;
}

int
approval_drop(const struct granted *granted, struct changes *changes,
              const char *note, struct error *err)
{
    struct ref ref = granted_object(granted);
    const struct approval *present =
        world_approval(granted_world(granted), ref);

    if (schema_check_text("/note", note, TEXT_MAX_SIZE, err) != 0)
        return -1;
    if (present->state != APPROVAL_APPROVED &&
        check_undecided(present, granted_now_ms(granted), err) != 0)
        return -1;
    settle(changes, change_update(changes, ref), APPROVAL_DROPPED,
           granted_actor(granted)->subject, note);
    return 0;
}

/* --- time --- */

#define SWEEP_MAX 200

void
approval_sweep(struct changes *changes)
{
    int64_t now_ms = changes->context.now_ms;

    world_each(changes->world, KIND_APPROVAL, ref) {
        const struct approval *approval = world_approval(changes->world, ref);
        struct approval *image;

        if (changes->count >= SWEEP_MAX)
            return;
        if (approval->state > APPROVAL_APPROVED) {
            if (approval->decided_ms + APPROVAL_KEEP_MS <= now_ms)
                change_delete(changes, ref);
            continue;
        }
        if (now_ms < approval->expires_ms)
            continue;
        image = change_update(changes, ref);
        image->state = APPROVAL_EXPIRED;
        image->decided_ms = now_ms;
    }
}
