/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_FACTORS_H
#define API_FACTORS_H

#include "api/exchange.h"

/* Is it a code that the user's device shows around now?  step_out: of which
 * time step, so that it is taken once. */
bool factors_check(const struct api *api, const struct world *world,
                   struct ref user, const char *code, int64_t now_ms,
                   int64_t *step_out);

#endif
