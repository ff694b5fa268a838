/* SPDX-License-Identifier: Apache-2.0 */
#include "api/handlers.h"
#include "core/quota.h"
#include "core/request.h"
#include "core/whatif.h"

static const char *
text_of(const struct exchange *exchange, const char *field)
{
    const char *text =
        json_string_value(json_object_get(exchange->body, field));
    return text != NULL ? text : "";
}

int
requests_grant(const struct granted *granted, struct changes *changes,
               struct exchange *exchange, struct error *err)
{
    return request_decide(granted, changes, granted_object(granted), true,
                          text_of(exchange, "note"), err);
}

int
requests_deny(const struct granted *granted, struct changes *changes,
              struct exchange *exchange, struct error *err)
{
    return request_decide(granted, changes, granted_object(granted), false,
                          text_of(exchange, "note"), err);
}

int
requests_withdraw(const struct granted *granted, struct changes *changes,
                  struct exchange *exchange, struct error *err)
{
    (void)exchange;
    return request_withdraw(granted, changes, granted_object(granted), err);
}

/* The copy is made here; it runs on a reader's thread. */
int
requests_whatif(const struct granted *granted, struct exchange *exchange,
                struct error *err)
{
    const struct world *world = granted_world(granted);
    struct ref request = granted_object(granted);
    json_t *question = request_question(world, request,
                                        granted_now_ms(granted));
    struct granted inner;
    if (question == NULL)
        return error_set(err, ERROR_UNSUPPORTED,
                         "what-if tells about open requests for a "
                         "reservation, or that change a quota which is "
                         "there");
    int rc = access_decide(world, granted_actor(granted), VERB_WORKLOAD_WHATIF,
                           world_parent(world, request),
                           granted_now_ms(granted), &inner, err);
    if (rc == 0)
        exchange->data = whatif_new(&inner, question, err);
    json_decref(question);
    return rc == 0 && exchange->data != NULL ? 0 : -1;
}

int
requests_raise(const struct granted *granted, struct changes *changes,
               struct exchange *exchange, struct error *err)
{
    json_t *body = exchange->body;
    return quota_raise(granted, changes,
                       json_integer_value(json_object_get(body, "limit")),
                       json_integer_value(json_object_get(body, "for_ms")),
                       text_of(exchange, "reason"), err);
}
