/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CARD_HISTORY_H
#define CORE_CARD_HISTORY_H

#include "base/json.h"
#include "core/card_health.h"
#include "core/model.h"

/*
 * How is what was heard of a card kept?  A JSON object with all members of
 * struct card_history but the verdict itself, which is the card's.
 */

/* NULL: nothing was heard yet, and what is said of it is as before. */
void card_history_read(struct card_history *out, const struct card *card);
/* Canonical: the same history is the same text. */
void card_history_write(struct buffer *out, const struct card_history *health);
/* The parts that people are shown: "events" and "past". */
json_t *card_history_events(const struct card_history *health);
json_t *card_history_slices(const struct card_history *health);
json_t *card_history_past(const struct card_history *health);

#endif
