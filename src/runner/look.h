/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_LOOK_H
#define RUNNER_LOOK_H

#include <jansson.h>

#include "accel/accel.h"

struct node;

/* What was measured of a card, what its flags can tell, and what was heard of
 * it: the member "look" of engine/runner_request.h. */
json_t *look_row(struct node *node, const struct accel_card *card,
                 const struct accel_state *state);

#endif
