/* SPDX-License-Identifier: Apache-2.0 */
#include "control/rotation.h"

#include <string.h>

#include "base/log.h"
#include "control/journal.h"
#include "core/checkpoint.h"
#include "core/keychain.h"
#include "identity/audit_dir.h"
#include "identity/signer_client.h"

struct telling {
    struct job job;
    struct buffer notes;
    int64_t recorded;
};

static void
append(struct loop *loop, struct arena *arena, const char *note, size_t size)
{
    struct record record = { .observer.component = "signer",
                             .actor.kind = "platform",
                             .action.verb = ROTATION_VERB,
                             .decision.allow = true,
                             .outcome.status = RECORD_SUCCESS };

    record.facts = arena_strndup(arena, note, size);
    journal_append(loop, arena, world_platform_ref(loop_world(loop)), &record,
                   NULL);
}

static void
run_telling(struct loop *loop, struct job *job)
{
    struct telling *telling = job->data;
    const char *at = buffer_text(&telling->notes);
    const char *end = at + telling->notes.size;
    struct keychain_rotation rotation;
    struct error ignored;
    int64_t count = 0;
    size_t used;

    for (; at < end && keychain_read(at, (size_t)(end - at), &rotation, &used,
                                     &ignored) == 0;
         at += used)
        if (++count > telling->recorded)
            append(loop, job->arena, at, used);
    loop_counter(loop, ROTATION_COUNTER, count, NULL, 0);
}

static void
end_telling(struct job *job)
{
    struct telling *telling = job->data;

    buffer_release(&telling->notes);
    arena_free(job->arena);
    free(telling);
}

static int
tell(struct rotation *rotation, struct buffer *notes, int64_t count,
     struct error *err)
{
    struct telling *telling = memory_new(1, sizeof(*telling));

    telling->notes = *notes;
    *notes = (struct buffer){ 0 };
    telling->recorded = rotation->recorded;
    telling->job = (struct job){ .run = run_telling,
                                 .done = end_telling,
                                 .arena = arena_new(),
                                 .data = telling };
    if (loop_post(rotation->loop, &telling->job, err) != 0) {
        end_telling(&telling->job);
        return -1;
    }
    rotation->recorded = count;
    return 0;
}

static int64_t
count_notes(const struct buffer *notes)
{
    const char *at = buffer_text(notes), *end = at + notes->size;
    struct keychain_rotation rotation;
    struct error ignored;
    int64_t count = 0;
    size_t used;

    for (; at < end && keychain_read(at, (size_t)(end - at), &rotation, &used,
                                     &ignored) == 0;
         at += used)
        count++;
    return count;
}

int
rotation_follow(struct rotation *rotation, const char *note, size_t size,
                struct error *err)
{
    scoped_buffer notes = { 0 };
    struct checkpoint read;
    size_t used;
    int64_t count;

    if (rotation->known && checkpoint_check(note, size, rotation->key, &read,
                                            &used, err) == 0)
        return 0;
    if (signer_keys(rotation->signer_socket, rotation->timeout_ms,
                    rotation->key, &notes, err) != 0 ||
        audit_dir_put_rotations(rotation->directory, &notes, err) != 0)
        return -1;
    count = count_notes(&notes);
    if (count > rotation->recorded && tell(rotation, &notes, count, err) != 0)
        return -1;
    rotation->known = true;
    return 0;
}
