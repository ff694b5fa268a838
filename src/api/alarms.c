/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/handlers.h"
#include "core/alarm.h"

const struct body_field alarm_body[] = {
    {"code", BODY_TEXT, true, "as the list of alarms has it"},
    {NULL, BODY_TEXT, false, NULL},
};

/* What says that something happened stays until somebody has looked at it;
 * what says that something is so ends with its cause. */
static bool
stays(const char *code)
{
    return strncmp(code, "report.", 7) == 0 ||
           strcmp(code, "instance.vanished") == 0;
}

int
alarms_clear(const struct granted *granted, struct changes *changes,
             struct exchange *exchange, struct error *err)
{
    const char *code =
        json_string_value(json_object_get(exchange->body, "code"));
    struct ref node = granted_object(granted);

    if (!alarm_stands(changes, node, code))
        return error_set(err, ERROR_NOT_FOUND,
                         "no alarm \"%.60s\" stands about the node", code);
    if (!stays(code))
        return error_set(err, ERROR_CONFLICT,
                         "alarm %s ends by itself with its cause", code);
    alarm_clear(changes, node, code);
    return 0;
}

void
alarms_cleared(const struct granted *granted, const struct changes *changes,
               struct exchange *exchange)
{
    (void)granted;
    (void)changes;
    answer_json(&exchange->answer, 200,
                json_pack("{s:O}", "cleared",
                          json_object_get(exchange->body, "code")));
}
