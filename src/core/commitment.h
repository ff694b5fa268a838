/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_COMMITMENT_H
#define CORE_COMMITMENT_H

#include "core/world.h"

/*
 * What does a commitment pay for?
 *
 * A commitment is a price term of a tenant: so many cards for a time at a
 * price of their own, billed whether they are used or not.  It keeps no cards
 * from anybody; who uses them otherwise pays the price of that use.
 *
 * It is settled by the hour (UTC), as facts are: in each hour the tenant's
 * bound card time of the model is covered up to the committed time.  What is
 * covered is credited at the price that it was used at, so nothing is billed
 * twice; what is above keeps that price.  When the hour's use is more than is
 * committed, each use is covered in proportion (largest remainder), so that no
 * project has the cover alone.  Commitments of one model come before those of
 * any, the older before the younger.
 */

#define COMMITMENT_HOUR_MS INT64_C(3600000)

/* Bound card time that lies in one hour, of one tenant. */
struct commitment_use {
    int64_t from_ms;
    const char *model;
    int64_t quantity; /* milli-card-ms */
    int64_t covered;  /* of it: filled in */
};

/* Committed milli-card-ms in [from, to). */
int64_t commitment_quantity(const struct commitment *commitment,
                            int64_t from_ms, int64_t to_ms);

/* Fills `covered` of all uses; the hour that holds now_ms is settled up to
 * then.  The order of uses decides about remainders alone. */
void commitment_cover(const struct commitment *list, size_t count,
                      struct commitment_use *uses, size_t use_count,
                      int64_t now_ms);

#endif
