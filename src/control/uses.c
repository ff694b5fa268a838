/* SPDX-License-Identifier: Apache-2.0 */
#include "control/uses.h"

#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "control/execute.h"
#include "control/loop_private.h"

/* More than are noted in a minute of one installation; what does not fit is
 * noted at its next use. */
#define USES_MAX 65536

void
uses_note(struct loop *loop, struct ref credential, const char *from)
{
    struct loop_uses *uses = &loop->uses;

    if (!world_touch_credential(loop->world, credential, from,
                                loop->clock.now_ms, USES_STALE_MS,
                                uses->count < USES_MAX))
        return;
    if (uses->count == uses->room) {
        uses->room = uses->room == 0 ? 64 : uses->room * 2;
        uses->list =
            memory_grow(uses->list, uses->room, sizeof(*uses->list));
    }
    uses->list[uses->count++] = credential;
}

static void
store_one(struct changes *changes, struct ref ref)
{
    const struct apikey *key = world_apikey(changes->world, ref);
    const struct session *session = world_session(changes->world, ref);

    if (key != NULL) {
        struct apikey *image = change_update(changes, ref);

        image->used_ms = key->seen.ms;
        memcpy(image->used_from, key->seen.from, sizeof(image->used_from));
    } else if (session != NULL) {
        struct session *image = change_update(changes, ref);

        image->used_ms = session->seen.ms;
        memcpy(image->used_from, session->seen.from,
               sizeof(image->used_from));
    }
}

static int
store(struct changes *changes, void *data, struct error *err)
{
    const struct loop_uses *uses = data;

    (void)err;
    for (size_t i = 0; i < uses->count; i++)
        store_one(changes, uses->list[i]);
    return 0;
}

void
uses_store(struct loop *loop)
{
    scoped_arena arena = arena_new();
    struct deed deed = { .verb = "credential.use",
                         .component = "api",
                         .reason = "last used",
                         .decide = store,
                         .data = &loop->uses };
    struct error err;

    if (loop->uses.count == 0)
        return;
    if (execute_deed(loop, arena, &deed, &err) < 0)
        log_error("uses: %s", err.text);
    for (size_t i = 0; i < loop->uses.count; i++)
        world_stored_credential(loop->world, loop->uses.list[i]);
    loop->uses.count = 0;
}
