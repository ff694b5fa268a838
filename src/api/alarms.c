/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/handlers.h"
#include "api/objects.h"
#include "api/watch.h"
#include "core/alarm.h"

const struct body_field alarm_body[] = {
    {"code", BODY_TEXT, true, "as the list of alarms has it"},
    {NULL, BODY_TEXT, false, NULL},
};

/* A level's list is what somebody has to look at there: also what is about
 * nodes, cards, projects and workloads below it.  Tenants have lists of their
 * own, with revisions of their own. */
int
alarms_list(const struct granted *granted, struct exchange *exchange,
            struct error *err)
{
    const struct world *world = granted_world(granted);
    struct ref level = granted_object(granted);
    struct ref scope = world_scope(world, level);
    struct page page;

    if (watch_wanted(exchange))
        return watch_start(granted, exchange, KIND_ALARM, level, err);
    if (page_begin(&page, granted, exchange, err) != 0)
        return -1;
    for (struct ref ref = page_first(&page, KIND_ALARM, (struct ref){0});
         !ref_is_none(ref) && !page.more; ref = world_next(world, ref))
        if (ref_equal(world_scope(world, ref), scope) &&
            world_is_below(world, ref, level) && page_takes(&page, ref))
            page_add(&page, ref);
    page_end(&page, level);
    return 0;
}

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
