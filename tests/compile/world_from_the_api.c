/* SPDX-License-Identifier: Apache-2.0 */
/* error: undefined type: an exchange leads to no world. */
#include "api/exchange.h"

const struct world *world_of(const struct exchange *exchange);

const struct world *
world_of(const struct exchange *exchange)
{
    return exchange->api->world;
}
