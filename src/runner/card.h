/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CARD_H
#define RUNNER_CARD_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"

struct node;

/*
 * Who holds the cards, who is on them, and are they clean for the next?
 * Results are those of the operations `cards`, `card_scrub` and
 * `release_check` (engine/runner_request.h); the caller owns them.
 */

int card_list(struct node *node, json_t **out, struct error *err);
/* Nobody can start on the card meanwhile. */
int card_scrub(struct node *node, const char *part, json_t **out,
               struct error *err);
int card_release_check(struct node *node, const char *id, int64_t incarnation,
                       json_t **out, struct error *err);

#endif
