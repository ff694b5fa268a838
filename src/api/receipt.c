/* SPDX-License-Identifier: Apache-2.0 */
#include "api/receipt.h"

#include <string.h>

/* Of method, address and the canonical body. */
static void
digest_request(const struct exchange *exchange, struct digest *out)
{
    scoped_buffer text = {0};
    buffer_add_sized(&text, exchange->method, strlen(exchange->method));
    buffer_add_sized(&text, exchange->target, strlen(exchange->target));
    if (exchange->body != NULL)
        json_write(&text, exchange->body);
    if (exchange->ask != NULL)
        buffer_add_sized(&text, exchange->ask, strlen(exchange->ask));
    digest_of(text.bytes, text.size, out);
}

static void
digest_key(const struct world *world, const struct exchange *exchange,
           struct digest *out)
{
    char subject[ID_TEXT_MAX];
    scoped_buffer text = {0};
    object_id_text(world, exchange->actor.subject, subject);
    buffer_add_sized(&text, subject, strlen(subject));
    buffer_add_sized(&text, exchange->route->method,
                     strlen(exchange->route->method));
    buffer_add_sized(&text, exchange->route->path,
                     strlen(exchange->route->path));
    buffer_add_sized(&text, exchange->key, strlen(exchange->key));
    digest_of(text.bytes, text.size, out);
}

static void
copy_text(char *out, size_t room, const json_t *from, const char *name)
{
    const char *text = json_string_value(json_object_get(from, name));
    (void)snprintf(out, room, "%s", text == NULL ? "" : text);
}

/* The answer was made for another credential of the subject perhaps, one that
 * may read what this one may not. */
static void
drop_content(const struct world *world, const struct exchange *exchange,
             json_t *body)
{
    if (exchange->route->kind == KIND_WORKLOAD &&
        !access_can(world, &exchange->actor, VERB_WORKLOAD_SPEC,
                    exchange->object, exchange->now_ms))
        (void)json_object_del(body, "spec");
}

static void
replay(const struct world *world, struct exchange *exchange,
       const struct receipt *receipt)
{
    struct answer *answer = &exchange->answer;
    struct error ignored;
    scoped_json stored =
        json_read(receipt->answer->bytes, receipt->answer->size, &ignored);
    copy_text(answer->etag, sizeof answer->etag, stored, "etag");
    copy_text(answer->location, sizeof answer->location, stored, "location");
    json_t *body = json_object_get(stored, "body");
    answer->replayed = true;
    answer->status = (int)receipt->status;
    if (!json_is_object(body))
        return;
    drop_content(world, exchange, body);
    answer_json(answer, (int)receipt->status, json_incref(body));
}

int
receipt_find(const struct world *world, struct exchange *exchange,
             struct error *err)
{
    struct digest key, digest;
    if (exchange->key == NULL)
        return 0;
    digest_key(world, exchange, &key);
    const struct receipt *receipt = world_receipt(
        world, world_find_digest(world, KIND_RECEIPT, key.bytes));
    if (receipt == NULL || receipt->expires_ms <= exchange->now_ms ||
        receipt->answer == NULL)
        return 0;
    digest_request(exchange, &digest);
    if (memcmp(receipt->digest, digest.bytes, sizeof digest.bytes) != 0)
        return error_set(err, ERROR_REUSED_KEY,
                         "this Idempotency-Key was used for another request");
    replay(world, exchange, receipt);
    return 1;
}

/* The body without the secret that it may show. */
static json_t *
body_to_keep(const struct exchange *exchange)
{
    struct error ignored;
    const struct buffer *body = &exchange->answer.body;
    if (body->size == 0)
        return json_null();
    json_t *value = json_read(body->bytes, body->size, &ignored);
    if (value != NULL && exchange->secret != NULL)
        (void)json_object_set_new(value, exchange->secret, json_null());
    return value == NULL ? json_null() : value;
}

void
receipt_keep(struct loop *loop, struct exchange *exchange)
{
    struct digest key, digest;
    scoped_buffer text = {0};
    digest_key(loop_world(loop), exchange, &key);
    digest_request(exchange, &digest);
    scoped_json stored = json_pack(
        "{s:s, s:s, s:o}", "etag", exchange->answer.etag, "location",
        exchange->answer.location, "body", body_to_keep(exchange));
    json_write(&text, stored);
    execute_receipt(loop, exchange->arena, exchange->actor.subject, key.bytes,
                    digest.bytes, exchange->answer.status,
                    buffer_text(&text));
}
