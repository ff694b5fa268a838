/* SPDX-License-Identifier: Apache-2.0 */
/* error: incompatible pointer type: a handler that takes no decision is not a
 * handler of a decided route. */
#include "api/exchange.h"

static int
handler(struct exchange *exchange, struct error *err)
{
    (void)exchange;
    (void)err;
    return 0;
}

const struct route route = { .form = ROUTE_READ, .handle.read = handler };
