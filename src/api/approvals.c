/* SPDX-License-Identifier: Apache-2.0 */
#include "api/approvals.h"

#include <string.h>

#include "api/dispatch.h"
#include "api/handlers.h"
#include "api/objects.h"
#include "core/approval.h"
#include "core/breakglass.h"
#include "core/object.h"
#include "core/workorder.h"

const struct body_field report_body[] = {
    {"after", BODY_BOOL, false, "true: what the work left; else before it"},
    {"values", BODY_OBJECT, true, "firmware and its digest, as texts"},
    {NULL, BODY_TEXT, false, NULL},
};

/* --- what is asked for --- */

/* Of method, route and every parameter that changes what is done. */
static void
digest_query(const struct exchange *exchange, uint8_t out[DIGEST_SIZE])
{
    scoped_buffer text = {0};
    struct digest digest;
    buffer_add_sized(&text, exchange->method, strlen(exchange->method));
    buffer_add_sized(&text, exchange->route->path,
                     strlen(exchange->route->path));
    for (size_t i = 0; i < exchange->url.parameter_count; i++) {
        const struct url_parameter *parameter = &exchange->url.parameters[i];
        if (strcmp(parameter->name, "dry_run") == 0)
            continue;
        buffer_add_sized(&text, parameter->name, strlen(parameter->name));
        buffer_add_sized(&text, parameter->value, strlen(parameter->value));
    }
    digest_of(text.bytes, text.size, &digest);
    memcpy(out, digest.bytes, DIGEST_SIZE);
}

static void
digest_body(const struct exchange *exchange, uint8_t out[DIGEST_SIZE])
{
    scoped_buffer text = {0};
    struct digest digest;
    if (exchange->body != NULL)
        json_write(&text, exchange->body);
    digest_of(text.bytes, text.size, &digest);
    memcpy(out, digest.bytes, DIGEST_SIZE);
}

int
approvals_present(const struct world *world, struct exchange *exchange,
                  struct error *err)
{
    struct actor *actor = &exchange->actor;
    if (!route_changes(exchange->route) ||
        (exchange->ask == NULL && exchange->approval == NULL))
        return 0;
    actor->target = exchange->object;
    actor->asking = exchange->ask != NULL && exchange->dry_run;
    digest_query(exchange, actor->query_digest);
    digest_body(exchange, actor->body_digest);
    if (exchange->approval == NULL)
        return 0;
    if (exchange->ask != NULL)
        return error_set(err, ERROR_INVALID,
                         "Ask-Approval and Approval are in one request: ask "
                         "first, carry it out when it is approved");
    actor->approval = object_find_text(world, exchange->approval);
    if (actor->approval.kind != KIND_APPROVAL ||
        ref_is_none(actor->approval))
        return access_not_found(err);
    return 0;
}

/* --- asking --- */

/* Bodies that hold a secret or what people wrote are not kept: who approves
 * then approves their digest. */
static const char *
body_to_show(const struct exchange *exchange)
{
    const struct route *route = exchange->route;
    scoped_buffer text = {0};
    if (exchange->body == NULL || (route->flags & ROUTE_SECRET) ||
        route->kind == KIND_WORKLOAD)
        return NULL;
    json_write(&text, exchange->body);
    return arena_strdup(exchange->arena, buffer_text(&text));
}

static int
decide_ask(const struct granted *granted, struct changes *changes, void *data,
           struct error *err)
{
    struct exchange *exchange = data;
    const struct approval_wish wish = {
        .verb = approval_verb(granted_world(granted), exchange->route->verb),
        .method = exchange->method,
        .path = exchange->target,
        .body = body_to_show(exchange),
        .reason = exchange->ask,
    };
    exchange->platform = granted_is_platform(granted);
    return approval_ask(changes, granted_actor(granted), &wish,
                        &exchange->created, err);
}

static void
answer_ask(const struct granted *granted, const struct changes *changes,
           void *data)
{
    struct exchange *exchange = data;
    const struct world *world = granted_world(granted);
    (void)changes;
    const struct object *object = world_object(world, exchange->created);
    answer_json(&exchange->answer, 202,
                objects_json(granted, exchange->created, NULL));
    answer_etag(&exchange->answer, object->version);
}

static int
make_approval(struct loop *loop, struct exchange *exchange, struct error *err)
{
    struct request request = dispatch_request(exchange);
    struct command command = {
        .actor = &exchange->actor,
        .request = &request,
        .verb = VERB_APPROVAL_CREATE,
        .object = exchange->actor.subject,
        .decide = decide_ask,
        .answer = answer_ask,
        .data = exchange,
    };
    return execute(loop, exchange->arena, &command, err);
}

int
approvals_ask(struct loop *loop, struct exchange *exchange,
              int (*try)(struct loop *loop, struct exchange *exchange,
                         struct error *err),
              struct error *err)
{
    if (try(loop, exchange, err) == 0)
        return error_set(err, ERROR_CONFLICT,
                         "this needs no approval: repeat it without "
                         "Ask-Approval");
    if (err->code != ERROR_APPROVAL)
        return -1;
    exchange->actor.asking = true;
    int rc = try(loop, exchange, err);
    exchange->actor.asking = false;
    return rc != 0 ? -1 : make_approval(loop, exchange, err);
}

/* --- deciding --- */

static const char *
note_of(const struct exchange *exchange)
{
    const char *note =
        json_string_value(json_object_get(exchange->body, "note"));
    return note != NULL ? note : "";
}

int
approvals_approve(const struct granted *granted, struct changes *changes,
                  struct exchange *exchange, struct error *err)
{
    return approval_decide(granted, changes, true, note_of(exchange), err);
}

int
approvals_deny(const struct granted *granted, struct changes *changes,
               struct exchange *exchange, struct error *err)
{
    return approval_decide(granted, changes, false, note_of(exchange), err);
}

int
approvals_drop(const struct granted *granted, struct changes *changes,
               struct exchange *exchange, struct error *err)
{
    return approval_drop(granted, changes, note_of(exchange), err);
}

/* --- break-glass --- */

int
approvals_end_glass(const struct granted *granted, struct changes *changes,
                    struct exchange *exchange, struct error *err)
{
    (void)exchange;
    return breakglass_end(granted, changes, err);
}

int
approvals_review_glass(const struct granted *granted, struct changes *changes,
                       struct exchange *exchange, struct error *err)
{
    return breakglass_review(granted, changes, note_of(exchange), err);
}

/* --- work orders --- */

int
approvals_close_order(const struct granted *granted, struct changes *changes,
                      struct exchange *exchange, struct error *err)
{
    (void)exchange;
    return workorder_close(granted, changes, err);
}

int
approvals_report(const struct granted *granted, struct changes *changes,
                 struct exchange *exchange, struct error *err)
{
    bool after = json_is_true(json_object_get(exchange->body, "after"));
    return workorder_report(granted, changes, after,
                            json_object_get(exchange->body, "values"), err);
}
