/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PRICE_H
#define CORE_PRICE_H

#include "core/world.h"

/*
 * What does it cost?  Integers only: nano units of the platform's currency,
 * 128-bit products.
 */

/* The price in force at a time, nano per unit of the meter, for a card model
 * (or "") and a tenant.  The most particular row wins: tenant and model,
 * tenant, model, list; among equals the newest.  0 when there is none. */
int64_t price_at(const struct world *world, enum price_meter meter,
                 const char *model, struct ref tenant, int64_t now_ms);

/* The same when the model is not known ("" among others): the highest. */
int64_t price_most(const struct world *world, enum price_meter meter,
                   const char *model, struct ref tenant, int64_t now_ms);

/* The first time behind from_ms and before to_ms at which a price row of the
 * meter begins or ends; to_ms when there is none. */
int64_t price_next_change(const struct world *world, enum price_meter meter,
                          int64_t from_ms, int64_t to_ms);

/* nano per card-hour x milli-card-ms, in nano, rounded half to even once.
 * Returns -1 when the result does not fit; then *cost_out is untouched. */
int price_of_card_time(int64_t nano_per_card_hour, int64_t milli_card_ms,
                       int64_t *cost_out);

#endif
