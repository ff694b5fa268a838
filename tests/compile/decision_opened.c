/* SPDX-License-Identifier: Apache-2.0 */
/* error: no member: what is inside a decision can neither be read nor set. */
#include "api/exchange.h"

const struct world *world_of(struct granted *granted);

const struct world *
world_of(struct granted *granted)
{
    return granted->world;
}
