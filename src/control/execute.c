/* SPDX-License-Identifier: Apache-2.0 */
#include "control/execute.h"

#include <assert.h>
#include <string.h>

#include "base/crash.h"
#include "base/digest.h"
#include "control/describe.h"
#include "control/intent.h"
#include "control/journal.h"
#include "control/loop_private.h"
#include "core/approval.h"
#include "core/breakglass.h"
#include "core/guard.h"
#include "core/workorder.h"

#define RECEIPT_MS (24 * INT64_C(3600000))

/* --- what all records of one command have in common --- */

static void
describe_request(struct record *record, struct arena *arena,
                 const struct request *request)
{
    struct digest digest;
    char text[DIGEST_TEXT_MAX];

    if (request == NULL)
        return;
    record->links.request = request->id;
    record->action.route = request->route;
    record->action.method = request->method;
    if (request->ip != NULL)
        record->source.ip = request->ip;
    record->source.proxy = request->proxy;
    record->source.agent_digest = request->agent_digest;
    record->params.redacted = request->params;
    if (request->params == NULL)
        return;
    digest_of(request->params, strlen(request->params), &digest);
    digest_format(&digest, text);
    record->params.digest = arena_strdup(arena, text);
}

/* Of a tenant the tenant, of everything else the platform. */
static struct ref
scope_of(struct loop *loop, struct ref ref)
{
    const struct object *object = world_object(loop->world, ref);

    return object != NULL && object->scope.kind == KIND_TENANT
               ? object->scope
               : world_platform_ref(loop->world);
}

/* --- records of what was applied --- */

/* The object that a record about a scope names: the command's own when it is
 * there, else a workload, else the first. */
static const struct touch *
spokesman(const struct touch *touches, size_t count, struct ref scope)
{
    const struct touch *first = NULL;

    for (size_t i = 0; i < count; i++) {
        if (!ref_equal(touches[i].scope, scope))
            continue;
        if (touches[i].kind == KIND_WORKLOAD)
            return &touches[i];
        if (first == NULL)
            first = &touches[i];
    }
    return first;
}

static void
describe_touch(struct record *record, struct arena *arena,
               const struct world *world, const struct touch *touch)
{
    struct ref ref = object_find_text(world, touch->id);

    if (ref_is_none(ref)) {
        record->object.id = touch->id;
        record->object.kind = schema_get(touch->kind)->name;
        return;
    }
    describe_object(record, arena, world, ref);
    record->object.version_before = touch->version - 1;
}

/* All that one scope is to keep of a command; more than fits in one record
 * goes into further ones that point to the first. */
static void
record_scope(struct loop *loop, struct arena *arena, struct ref scope,
             struct record *record, size_t from)
{
    const struct touch *touches = loop->batch->touches;
    size_t count = loop->batch->touch_count, next = from;
    char first[ID_TEXT_MAX];

    record->facts = describe_touches(arena, touches, count, scope, &next);
    journal_append(loop, arena, scope, record, first);
    while (next < count) {
        record->facts = describe_touches(arena, touches, count, scope, &next);
        record->links.parent = arena_strdup(arena, first);
        record->params.redacted = NULL;
        if (record->facts != NULL)
            journal_append(loop, arena, scope, record, NULL);
    }
}

static bool
scope_seen(const struct touch *touches, size_t from, size_t before,
           struct ref scope)
{
    for (size_t i = from; i < before; i++)
        if (ref_equal(touches[i].scope, scope))
            return true;
    return false;
}

/* What one tenant learns when another's command or the platform touched it:
 * what happened to its own, and that the platform did it. */
static struct record
record_for_others(const struct record *record)
{
    struct record other = {
        .observer = record->observer,
        .actor.kind = "platform",
        .action.verb = record->action.verb,
        .decision.allow = true,
        .outcome = record->outcome,
    };

    return other;
}

/* The touches of the batch from `from` on, in the logs of their scopes; those
 * of `home` with the whole record, and with `own` those of the platform, too.
 * Returns whether the platform's log got one. */
static bool
record_touches(struct loop *loop, struct arena *arena, struct ref home,
               struct record *record, size_t from, bool own)
{
    size_t count = loop->batch->touch_count;
    bool platform = home.kind != KIND_TENANT;

    record_scope(loop, arena, home, record, from);
    for (size_t i = from; i < count; i++) {
        const struct touch *touches = loop->batch->touches;
        struct ref scope = touches[i].scope;
        struct record other;

        if (ref_equal(scope, home) || scope_seen(touches, from, i, scope))
            continue;
        /* Platform objects may be touched by any tenant's command; the
         * platform's log names who it was. */
        other = scope.kind == KIND_TENANT ? record_for_others(record)
                                          : *record;
        if (scope.kind != KIND_TENANT && !own) {
            other.params.redacted = NULL;
            memset(&other.object, 0, sizeof(other.object));
        }
        if (scope.kind == KIND_TENANT || !own)
            describe_touch(&other, arena, loop->world,
                           spokesman(&touches[from], count - from, scope));
        platform |= scope.kind != KIND_TENANT;
        record_scope(loop, arena, scope, &other, from);
    }
    return platform;
}

/* --- commands --- */

static void
fill_command(struct record *record, struct loop *loop, struct arena *arena,
             const struct command *command)
{
    describe_request(record, arena, command->request);
    describe_actor(record, arena, loop->world, command->actor);
    if (command->request != NULL && command->request->ip != NULL)
        record->source.ip = command->request->ip;
    record->action.verb = verb_name(command->verb);
    record->workorder = object_id_copy(
        loop->world, workorder_of(loop->world, command->actor->subject),
        arena);
}

/* Who else stood behind it: the approval and those who gave it, or the
 * break-glass. */
static void
describe_second(struct record *record, struct loop *loop, struct arena *arena,
                const struct command *command)
{
    struct ref ref = command->actor->approval;
    scoped_buffer names = { 0 };

    if (ref_is_none(ref))
        ref = breakglass_active(loop->world, command->actor->subject,
                                loop->clock.now_ms);
    if (ref_is_none(ref))
        return;
    record->approval.request = object_id_copy(loop->world, ref, arena);
    if (ref.kind != KIND_APPROVAL)
        return;
    approval_names(world_approval(loop->world, ref), &names);
    record->approval.approvers = arena_strdup(arena, buffer_text(&names));
}

/* What the change takes along: an approval is used up, what was done under a
 * break-glass or a work order is listed there. */
static void
settle(struct changes *changes, const struct command *command)
{
    bool second = guard_people(changes->world,
                               approval_verb(changes->world,
                                             command->verb)) > 0 &&
                  ref_is_none(command->actor->approval);

    if (change_is_empty(changes))
        return;
    approval_use(changes, command->actor);
    breakglass_note(changes, command->actor, command->verb, command->object,
                    second);
    workorder_note(changes, command->actor, command->verb, command->object);
}

/* A tenant's log tells nothing about other tenants' people, and a refusal
 * never says that an object is there which its asker must not know. */
static struct ref
refusal_scope(struct loop *loop, const struct command *command, bool hidden)
{
    struct ref own = scope_of(loop, command->actor->subject);
    struct ref theirs = scope_of(loop, command->object);

    if (hidden || ref_equal(own, theirs) || own.kind == KIND_TENANT)
        return own;
    return theirs;
}

static void
record_refusal(struct loop *loop, struct arena *arena,
               const struct command *command, const struct error *err)
{
    bool hidden = err->code == ERROR_NOT_FOUND;
    struct refusal refusal = { command->actor->subject,
                               refusal_scope(loop, command, hidden),
                               verb_name(command->verb),
                               error_code_text(err->code) };
    struct record record = { .decision.reason = error_code_text(err->code),
                             .outcome.status = RECORD_FAILURE,
                             .outcome.code = error_code_text(err->code) };
    struct access_verdict verdict = { 0 };

    if (!journal_admit(loop->journal, &refusal, loop->clock.now_ms))
        return;
    fill_command(&record, loop, arena, command);
    if (!hidden) {
        describe_object(&record, arena, loop->world, command->object);
        access_judge(loop->world, command->actor, command->verb,
                     command->object, loop->clock.now_ms, NULL, NULL,
                     &verdict);
        record.decision.allow = verdict.outcome == ACCESS_ALLOWED;
        record.decision.grant =
            object_id_copy(loop->world, verdict.grant, arena);
        record.decision.ceiling =
            object_id_copy(loop->world, verdict.ceiling, arena);
        record.decision.deny = object_id_copy(loop->world, verdict.deny, arena);
    }
    journal_append(loop, arena, refusal.scope, &record, NULL);
}

/* Of a creation the object that came of it, else the one that was named. */
static void
describe_target(struct record *record, struct loop *loop,
                struct arena *arena, const struct command *command,
                size_t from)
{
    const struct batch *batch = loop->batch;

    if (verb_op(command->verb) == VERB_OP_CREATE)
        for (size_t i = from; i < batch->touch_count; i++)
            if (batch->touches[i].kind == verb_kind(command->verb) &&
                batch->touches[i].version == 1) {
                describe_touch(record, arena, loop->world,
                               &batch->touches[i]);
                return;
            }
    for (size_t i = from; i < batch->touch_count; i++)
        if (record->object.id != NULL &&
            strcmp(batch->touches[i].id, record->object.id) == 0)
            record->object.version_after = batch->touches[i].version;
}

/* What the platform does with a tenant itself is in the tenant's log, which
 * nobody may read once the tenant is gone: so the platform's log has it, too. */
static bool
is_about_tenant(struct loop *loop, const struct command *command)
{
    return !command->read_only && command->object.kind == KIND_TENANT &&
           verb_kind(command->verb) == KIND_TENANT &&
           scope_of(loop, command->actor->subject).kind != KIND_TENANT;
}

static void
record_success(struct loop *loop, struct arena *arena,
               const struct command *command, struct ref home,
               struct record *record, size_t from)
{
    const bool own = is_about_tenant(loop, command);

    if (world_object(loop->world, home) == NULL)
        home = world_platform_ref(loop->world);
    describe_target(record, loop, arena, command, from);
    record->decision.allow = true;
    record->outcome.status = RECORD_SUCCESS;
    if (record_touches(loop, arena, home, record, from, own) || !own)
        return;
    record->facts = NULL;
    journal_append(loop, arena, world_platform_ref(loop->world), record, NULL);
}

static int
execute_read(struct loop *loop, struct arena *arena,
             const struct command *command, const struct granted *granted,
             struct error *err)
{
    struct record record = { 0 };
    int rc = command->decide != NULL
                 ? command->decide(granted, NULL, command->data, err)
                 : 0;

    if (rc != 0) {
        record_refusal(loop, arena, command, err);
        return -1;
    }
    if (command->answer != NULL)
        command->answer(granted, NULL, command->data);
    if (!workorder_has(loop->world, command->actor->subject) &&
        verb_sense(command->verb) != VERB_CONTENT &&
        verb_guard(command->verb) == VERB_GUARD_NONE &&
        verb_kind(command->verb) != KIND_EVENT)
        return 0;
    fill_command(&record, loop, arena, command);
    describe_object(&record, arena, loop->world, command->object);
    record.decision.grant =
        object_id_copy(loop->world, granted_grant(granted), arena);
    record_success(loop, arena, command, scope_of(loop, command->object),
                   &record, loop->batch->touch_count);
    return 0;
}

/* Without room for its record a command does not begin.  What ends something,
 * and the proof of identity that it may need, goes on.  Such refusals are
 * counted, not written: there is no room. */
static int
check_room(struct loop *loop, const struct command *command,
           struct error *err)
{
    char reason[LOOP_REASON_MAX];

    if (command->dry_run || verb_is(command->verb, VERB_WINDS_DOWN) ||
        verb_op(command->verb) == VERB_OP_DELETE ||
        command->verb == VERB_SESSION_CREATE || !loop_is_full(loop, reason))
        return 0;
    (void)error_set(err, ERROR_BUSY, "%s", reason);
    return error_help(err, "make room on the disk of bulkheadd's --data");
}

static int
execute_write(struct loop *loop, struct arena *arena,
              const struct command *command, const struct granted *granted,
              struct error *err)
{
    struct changes *changes = loop_changes(loop, arena);
    struct ref home = scope_of(loop, command->object);
    struct record record = { 0 };
    size_t from = loop->batch->touch_count;

    if (check_room(loop, command, err) != 0)
        return -1;
    if (command->decide(granted, changes, command->data, err) != 0) {
        record_refusal(loop, arena, command, err);
        return -1;
    }
    if (!command->dry_run) {
        CRASH_POINT("bulkheadd.decided");
        /* Before it is applied: the command may delete its own object. */
        fill_command(&record, loop, arena, command);
        describe_second(&record, loop, arena, command);
        describe_object(&record, arena, loop->world, command->object);
        record.decision.grant =
            object_id_copy(loop->world, granted_grant(granted), arena);
        if (command->intent != NULL) {
            record.links.parent = command->intent;
            intent_end(loop, command->intent);
        }
        settle(changes, command);
        loop_apply(loop, changes);
        CRASH_POINT("bulkheadd.applied");
        record_success(loop, arena, command, home, &record, from);
        CRASH_POINT("bulkheadd.recorded");
    }
    if (command->answer != NULL)
        command->answer(granted, changes, command->data);
    return 0;
}

/* --- effects outside of the store --- */

static void
fill_effect(struct record *record, struct loop *loop, struct arena *arena,
            const struct command *command)
{
    fill_command(record, loop, arena, command);
    describe_second(record, loop, arena, command);
    describe_object(record, arena, loop->world, command->object);
    record->decision.allow = true;
}

void
execute_intent(struct loop *loop, struct arena *arena,
               const struct command *command, char id_out[ID_TEXT_MAX])
{
    struct record record = { 0 };

    fill_effect(&record, loop, arena, command);
    intent_begin(loop, arena, scope_of(loop, command->object), &record,
                 id_out);
}

void
execute_outcome(struct loop *loop, struct arena *arena,
                const struct command *command, enum record_outcome outcome,
                const char *code)
{
    struct record record = { .outcome = { outcome, code },
                             .links.parent = command->intent };

    fill_effect(&record, loop, arena, command);
    journal_append(loop, arena, scope_of(loop, command->object), &record,
                   NULL);
    intent_end(loop, command->intent);
}

int
execute(struct loop *loop, struct arena *arena, const struct command *command,
        struct error *err)
{
    struct granted granted;

    assert(loop->batch != NULL);
    assert(!command->actor->asking || command->dry_run);
    if ((!ref_is_none(command->actor->approval) &&
         approval_check(loop->world, command->actor, loop->clock.now_ms,
                        err) != 0) ||
        access_decide(loop->world, command->actor, command->verb,
                      command->object, loop->clock.now_ms, &granted,
                      err) != 0) {
        record_refusal(loop, arena, command, err);
        return -1;
    }
    if (command->read_only)
        return execute_read(loop, arena, command, &granted, err);
    return execute_write(loop, arena, command, &granted, err);
}

/* --- what the platform does by itself --- */

/* decide may still say in the deed what it was and about what. */
static void
describe_deed(struct record *record, struct arena *arena,
              const struct world *world, const struct deed *deed,
              struct ref object)
{
    record->observer.component = deed->component;
    record->observer.node = deed->node;
    record->actor.kind = "platform";
    record->action.verb = deed->verb;
    record->decision.allow = true;
    record->decision.reason = deed->reason;
    record->outcome.status = RECORD_SUCCESS;
    describe_object(record, arena, world, object);
}

int
execute_deed(struct loop *loop, struct arena *arena, const struct deed *deed,
             struct error *err)
{
    struct changes *changes = loop_changes(loop, arena);
    struct record record = { 0 };
    size_t from = loop->batch->touch_count;
    struct ref object, home;

    if (deed->decide(changes, deed->data, err) != 0)
        return -1;
    if (change_is_empty(changes))
        return 0;
    object = deed->object;
    if (ref_is_none(object))
        object = world_platform_ref(loop->world);
    home = scope_of(loop, object);
    describe_deed(&record, arena, loop->world, deed, object);
    loop_apply(loop, changes);
    /* The first deed of all makes the platform. */
    if (ref_is_none(home))
        home = world_platform_ref(loop->world);
    (void)record_touches(loop, arena, home, &record, from, false);
    CRASH_POINT("bulkheadd.deed");
    return 1;
}

void
execute_anonymous(struct loop *loop, const struct request *request,
                  const char *verb, const char *reason)
{
    struct refusal refusal = { .verb = verb, .reason = reason };

    strangers_add(journal_strangers(loop->journal),
                  request != NULL ? request->ip : NULL, verb, reason,
                  loop->clock.now_ms);
    (void)journal_admit(loop->journal, &refusal, loop->clock.now_ms);
}

/* The answer that gives way to one more of the subject, or none.  Answers
 * are kept in memory: so many of one subject, so many of all.  When all is
 * full a subject with few is spared, whoever else kept many. */
static struct ref
receipt_to_drop(const struct world *world, struct ref subject,
                int64_t *number)
{
    struct ref oldest = world_first_child(world, KIND_RECEIPT, subject);
    const struct receipt *first = world_receipt(world, oldest);
    const struct receipt *last = world_receipt(
        world, world_last_child(world, KIND_RECEIPT, subject));
    int64_t kept = first != NULL ? last->number - first->number + 1 : 0;

    *number = last != NULL ? last->number + 1 : 1;
    if (kept >= EXECUTE_RECEIPTS_OF_ONE)
        return oldest;
    if (world_count(world, KIND_RECEIPT) < EXECUTE_RECEIPTS)
        return (struct ref){ 0 };
    return kept >= EXECUTE_RECEIPTS_SPARED ? oldest
                                           : world_first(world, KIND_RECEIPT);
}

void
execute_receipt(struct loop *loop, struct arena *arena, struct ref subject,
                const uint8_t key[32], const uint8_t digest[32], int status,
                const char *answer)
{
    struct changes *changes = loop_changes(loop, arena);
    int64_t number;
    struct ref drop = receipt_to_drop(loop->world, subject, &number);
    struct receipt *receipt =
        change_create(changes, KIND_RECEIPT, subject, "");

    memcpy(receipt->key, key, sizeof(receipt->key));
    memcpy(receipt->digest, digest, sizeof(receipt->digest));
    receipt->status = status;
    receipt->expires_ms = changes->context.now_ms + RECEIPT_MS;
    receipt->number = number;
    change_doc(changes, &receipt->answer, answer);
    if (!ref_is_none(drop))
        change_delete(changes, drop);
    loop_apply(loop, changes);
}
