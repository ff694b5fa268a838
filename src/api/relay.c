/* SPDX-License-Identifier: Apache-2.0 */
#include <microhttpd.h>
#include <string.h>

#include "api/handlers.h"
#include "api/state.h"
#include "control/agents.h"

/* An agent proves itself by a signature over the raw body, so that goes on
 * as it came. */

static const char *
header(const struct exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND,
                                       name);
}

static void
on_answer(struct agents_call *call)
{
    struct exchange *exchange = call->data;
    struct answer *answer = &exchange->answer;
    answer->status = call->status;
    answer->type = "application/json";
    buffer_release(&answer->body);
    answer->body = call->answer;
    (void)snprintf(answer->signature, sizeof answer->signature, "%s",
                   call->signature);
    exchange_finish(exchange);
}

static void
relay(struct exchange *exchange,
      void (*take)(struct agents *agents, struct agents_call *call))
{
    struct agents *agents = exchange->api->options.agents;
    if (agents == NULL) {
        error_set(&exchange->error, ERROR_UNSUPPORTED,
                  "this server takes no agents");
        exchange_fail(exchange);
        exchange_finish(exchange);
        return;
    }
    struct agents_call *call = arena_alloc(exchange->arena, sizeof *call);
    call->headers = (struct message_headers){
        .node = header(exchange, "X-Bulkhead-Node"),
        .boot = header(exchange, "X-Bulkhead-Boot"),
        .epoch = header(exchange, "X-Bulkhead-Epoch"),
        .sequence = header(exchange, "X-Bulkhead-Sequence"),
        .signature = header(exchange, "X-Bulkhead-Signature"),
    };
    call->body = buffer_text(&exchange->raw);
    call->body_size = exchange->raw.size;
    call->source = exchange->source;
    call->done = on_answer;
    call->data = exchange;
    take(agents, call);
}

void
relay_enrol(struct exchange *exchange)
{
    relay(exchange, agents_enrol);
}

void
relay_sync(struct exchange *exchange)
{
    relay(exchange, agents_sync);
}
