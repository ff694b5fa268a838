/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/handlers.h"
#include "api/state.h"
#include "control/eraser.h"
#include "control/journal.h"
#include "core/object.h"

/* An order to destroy somebody's personal parts; control/eraser.h carries it
 * out.  The record of the order is its evidence. */

const struct body_field erase_body[] = {
    {"subject", BODY_TEXT, true, "a user's name, or the id of somebody who "
                                 "may be gone"},
    {NULL, BODY_TEXT, false, NULL},
};

struct erasure {
    char log[ID_TEXT_MAX];
    char subject[ID_TEXT_MAX];
    int64_t below;
};

/* Somebody who was deleted has an id still. */
static bool
is_subject_id(const char *text)
{
    struct id id;

    return id_parse(schema_get(KIND_USER)->prefix, text, &id) == 0 ||
           id_parse(schema_get(KIND_SERVICEACCOUNT)->prefix, text, &id) == 0;
}

int
audit_erase(const struct granted *granted, struct changes *changes,
            struct exchange *exchange, struct error *err)
{
    const struct world *world = granted_world(granted);
    struct ref node = granted_object(granted);
    struct erasure *erasure = arena_alloc(exchange->arena, sizeof *erasure);
    const char *text =
        json_string_value(json_object_get(exchange->body, "subject"));
    struct ref user = world_find_name(world, KIND_USER, node, text);

    (void)changes;
    exchange->data = erasure;
    object_id_text(world, node, erasure->log);
    erasure->below = (int64_t)journal_size(
        loop_journal(exchange->api->loop), erasure->log);
    if (!ref_is_none(user))
        object_id_text(world, user, erasure->subject);
    else if (is_subject_id(text))
        (void)snprintf(erasure->subject, sizeof erasure->subject, "%s", text);
    else
        return error_field(err, "/subject",
                           "there is no user %.60s here; who was deleted is "
                           "named by id",
                           text);
    return 0;
}

void
audit_erase_answer(const struct granted *granted,
                   const struct changes *changes, struct exchange *exchange)
{
    const struct erasure *erasure = exchange->data;

    (void)granted;
    (void)changes;
    if (!exchange->dry_run)
        eraser_order(exchange->api->loop, erasure->log, erasure->subject,
                     erasure->below);
    answer_json(&exchange->answer, 200,
                json_pack("{s:s, s:I}", "subject", erasure->subject, "below",
                          (json_int_t)erasure->below));
}
