/* SPDX-License-Identifier: Apache-2.0 */
#include "control/restore.h"

#include "base/log.h"
#include "control/execute.h"
#include "control/journal.h"
#include "core/object.h"

/* --- declaring --- */

static int
observe(struct changes *changes, void *data, struct error *err)
{
    struct platform *platform =
        change_update(changes, world_platform_ref(changes->world));
    int64_t now_ms = changes->context.now_ms;

    (void)data;
    (void)err;
    platform->restored_ms = *(int64_t *)data;
    platform->observing = true;
    world_each(changes->world, KIND_SESSION, ref)
        if (world_session(changes->world, ref)->revoked_ms == 0)
            ((struct session *)change_update(changes, ref))->held_ms = now_ms;
    world_each(changes->world, KIND_APIKEY, ref)
        if (world_apikey(changes->world, ref)->revoked_ms == 0)
            ((struct apikey *)change_update(changes, ref))->held_ms = now_ms;
    return 0;
}

/* Later than every epoch before, also when the clock is not. */
static int64_t
next_epoch(struct loop *loop)
{
    const struct world *world = loop_world(loop);
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));
    int64_t now_ms = loop_context(loop).now_ms;

    return now_ms > platform->restored_ms ? now_ms
                                          : platform->restored_ms + 1;
}

static void
run_declare(struct loop *loop, struct job *job)
{
    const char *source = job->data;
    int64_t epoch = next_epoch(loop);
    struct deed deed = { .verb = "platform.restore",
                         .component = "restore",
                         .reason = source,
                         .decide = observe,
                         .data = &epoch };

    journal_begin_epoch(loop, job->arena, epoch, source);
    if (execute_deed(loop, job->arena, &deed, &job->error) < 0)
        job->failed = true;
    loop_counter(loop, STORE_RESTORE, 0, NULL, 0);
}

int
restore_declare(struct loop *loop, struct error *err)
{
    const char *source;
    scoped_arena arena = arena_new();
    struct job job = { .run = run_declare, .arena = arena };

    if (!loop_restored(loop, &source) ||
        ref_is_none(world_platform_ref(loop_world(loop))))
        return 0;
    job.data = arena_strdup(arena, source != NULL ? source : "unknown");
    if (loop_call(loop, &job, err) != 0)
        return error_prefix(err, "restore");
    log_warn("restored from backup %s: keys and sessions are held, nothing "
             "is started until `bulkhead restore confirm`",
             (const char *)job.data);
    return 0;
}

/* --- what operators decide --- */

int
restore_confirm(struct changes *changes, struct error *err)
{
    struct ref ref = world_platform_ref(changes->world);
    struct platform *platform;

    if (!world_platform(changes->world, ref)->observing)
        return error_set(err, ERROR_CONFLICT,
                         "nothing waits for a confirmation: the platform was "
                         "not restored, or that is confirmed");
    platform = change_update(changes, ref);
    platform->observing = false;
    return 0;
}

static int64_t
held_ms(const struct changes *changes, struct ref ref)
{
    const struct apikey *key = world_apikey(changes->world, ref);
    const struct session *session = world_session(changes->world, ref);

    if (key != NULL)
        return key->held_ms;
    return session != NULL ? session->held_ms : 0;
}

static void
decide(struct changes *changes, struct ref ref, bool revoke)
{
    int64_t revoked_ms = revoke ? changes->context.now_ms : 0;

    if (ref.kind == KIND_APIKEY) {
        struct apikey *key = change_update(changes, ref);

        key->held_ms = 0;
        key->revoked_ms = revoked_ms;
    } else {
        struct session *session = change_update(changes, ref);

        session->held_ms = 0;
        session->revoked_ms = revoked_ms;
    }
}

int64_t
restore_review(struct changes *changes, enum kind kind, const char *id,
               bool revoke, struct error *err)
{
    int64_t count = 0;

    world_each(changes->world, kind, ref) {
        char text[ID_TEXT_MAX];

        object_id_text(changes->world, ref, text);
        if (held_ms(changes, ref) == 0 ||
            (id != NULL && strcmp(id, text) != 0))
            continue;
        decide(changes, ref, revoke);
        count++;
    }
    if (count == 0 && id != NULL)
        return error_set(err, ERROR_NOT_FOUND, "%s is not held", id);
    return count;
}
