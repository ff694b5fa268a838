/* SPDX-License-Identifier: Apache-2.0 */
#include "api/handlers.h"
#include "api/state.h"
#include "control/journal.h"

/* The newest first; addresses are personal. */

int
audit_strangers(const struct granted *granted, struct exchange *exchange,
                struct error *err)
{
    const struct strangers *strangers =
        journal_strangers(loop_journal(exchange->api->loop));
    bool personal = access_can(granted_world(granted), granted_actor(granted),
                               VERB_AUDIT_PERSONAL, granted_object(granted),
                               granted_now_ms(granted));
    json_t *items = json_array();
    const struct stranger *line;

    (void)err;
    for (size_t i = 0; (line = strangers_at(strangers, i)) != NULL; i++)
        (void)json_array_append_new(
            items,
            json_pack("{s:o, s:o, s:I, s:s?, s:s, s:s}", "first",
                      json_time(line->first_ms), "last",
                      json_time(line->last_ms), "count",
                      (json_int_t)line->count, "ip",
                      personal && line->ip[0] != '\0' ? line->ip : NULL,
                      "verb", line->verb, "reason", line->reason));
    answer_json(&exchange->answer, 200,
                json_pack("{s:I, s:o}", "dropped",
                          (json_int_t)strangers->dropped, "items", items));
    return 0;
}
