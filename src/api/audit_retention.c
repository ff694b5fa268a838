/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "api/handlers.h"
#include "api/state.h"
#include "control/pruner.h"
#include "core/object.h"

/* How long a log keeps what its records say; control/pruner.h carries it
 * out.  A tenant may read it, the platform alone may change it. */

const struct body_field retention_body[] = {
    {"keep_days", BODY_INT, false,
     "days that records are kept, 90 to 36500; 0: for ever"},
    {"as_platform", BODY_BOOL, false,
     "true: a tenant's log is kept as the platform's is"},
    {"hold", BODY_BOOL, false, "true: nothing is pruned until this is false"},
    {NULL, BODY_TEXT, false, NULL},
};

static json_t *
days(int64_t keep_ms)
{
    return keep_ms == RETENTION_AS_PLATFORM
               ? json_null()
               : json_integer(keep_ms / RETENTION_DAY_MS);
}

/* What applies, and what is set for this log. */
static json_t *
describe(struct loop *loop, const char *log,
         const struct retention_policy *policy)
{
    const struct journal *journal = loop_journal(loop);
    const struct journal_keep keep = journal_keep(journal, log);
    const struct world *world = loop_world(loop);
    struct retention_rule rule;
    struct journal_keep all;
    char platform[ID_TEXT_MAX];

    object_id_text(world, world_platform_ref(world), platform);
    all = journal_keep(journal, platform);
    rule = retention_rule(policy, &all.policy);
    return json_pack("{s:s, s:o, s:b, s:o, s:b, s:I, s:I, s:I}", "log", log,
                     "keep_days",
                     days(rule.platform ? all.policy.keep_ms
                                        : policy->keep_ms),
                     "hold", policy->hold || all.policy.hold,
                     "own_keep_days", days(policy->keep_ms), "own_hold",
                     policy->hold, "records",
                     (json_int_t)journal_size(journal, log), "ordered",
                     (json_int_t)keep.ordered, "pruned",
                     (json_int_t)keep.pruned);
}

int
audit_retention_read(const struct granted *granted, struct exchange *exchange,
                     struct error *err)
{
    struct loop *loop = exchange->api->loop;
    struct journal_keep keep;
    char log[ID_TEXT_MAX];

    (void)err;
    object_id_text(granted_world(granted), granted_object(granted), log);
    keep = journal_keep(loop_journal(loop), log);
    answer_json(&exchange->answer, 200, describe(loop, log, &keep.policy));
    return 0;
}

static int
set_days(struct retention_policy *policy, const json_t *value,
         struct error *err)
{
    int64_t wanted = json_integer_value(value);

    if (wanted != 0 &&
        (wanted < RETENTION_DAYS_MIN || wanted > RETENTION_DAYS_MAX))
        return error_field(err, "/keep_days",
                           "%" PRId64 " is not between %d and %d; 0 keeps "
                           "records for ever",
                           wanted, RETENTION_DAYS_MIN, RETENTION_DAYS_MAX);
    policy->keep_ms = wanted * RETENTION_DAY_MS;
    return 0;
}

static int
set_as_platform(struct retention_policy *policy, struct ref node,
                const json_t *body, struct error *err)
{
    if (node.kind != KIND_TENANT)
        return error_field(err, "/as_platform",
                           "this is the platform's own log: set keep_days");
    if (json_object_get(body, "keep_days") != NULL)
        return error_field(err, "/as_platform",
                           "as_platform and keep_days exclude each other");
    policy->keep_ms = RETENTION_AS_PLATFORM;
    return 0;
}

int
audit_retention_set(const struct granted *granted, struct changes *changes,
                    struct exchange *exchange, struct error *err)
{
    struct retention_policy *policy =
        arena_alloc(exchange->arena, sizeof *policy);
    const struct ref node = granted_object(granted);
    const json_t *body = exchange->body;
    char log[ID_TEXT_MAX];

    (void)changes;
    object_id_text(granted_world(granted), node, log);
    *policy = journal_keep(loop_journal(exchange->api->loop), log).policy;
    exchange->data = policy;
    if (json_object_size(body) == 0)
        return error_field(err, "/keep_days",
                           "nothing is set: keep_days, as_platform or hold");
    if (json_object_get(body, "keep_days") != NULL &&
        set_days(policy, json_object_get(body, "keep_days"), err) != 0)
        return -1;
    if (json_is_true(json_object_get(body, "as_platform")) &&
        set_as_platform(policy, node, body, err) != 0)
        return -1;
    if (json_object_get(body, "hold") != NULL)
        policy->hold = json_is_true(json_object_get(body, "hold"));
    return 0;
}

void
audit_retention_answer(const struct granted *granted,
                       const struct changes *changes,
                       struct exchange *exchange)
{
    struct loop *loop = exchange->api->loop;
    const struct ref node = granted_object(granted);
    char log[ID_TEXT_MAX];

    (void)changes;
    object_id_text(granted_world(granted), node, log);
    if (!exchange->dry_run)
        pruner_set(loop, exchange->arena, node, exchange->data);
    answer_json(&exchange->answer, 200, describe(loop, log, exchange->data));
}
