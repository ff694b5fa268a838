/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_DISPATCH_H
#define API_DISPATCH_H

#include "api/exchange.h"

/*
 * How does a request get from its route to its handler?  Checks that need no
 * world are made on the server's thread; then one job on the world thread
 * authenticates, resolves the path, decides, and runs the handler, and the
 * exchange finishes when all it saw is durable.
 */

/* After the head: finds the route and checks query, headers and token.  An
 * answer that is complete already (OPTIONS) is in the exchange. */
int dispatch_route(struct exchange *exchange, struct error *err);
/* After the body: parses it. */
int dispatch_body(struct exchange *exchange, struct error *err);
/* Hands the exchange over; exchange_finish is called, maybe at once. */
void dispatch_start(struct exchange *exchange);

/* For handlers of ROUTE_START: posts the exchange's job with these parts;
 * finishes the exchange with the error when that fails. */
void dispatch_post(struct exchange *exchange,
                   void (*run)(struct loop *loop, struct job *job));
/* The exchange as the audit record sees it. */
struct request dispatch_request(const struct exchange *exchange);

#endif
