/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_POLICY_H
#define CORE_HEALTH_POLICY_H

#include "base/json.h"
#include "core/change.h"

/*
 * What is done when a card is in a state?
 *
 * {"probes": 3,
 *  "suspect": {"takes_work": false, "running": "keep"|"drain",
 *              "notify": false, "reset": true, "workorder": false},
 *  "unknown": ..., "degraded": ..., "failed": ...}
 *
 * The pool's document goes before the platform's, that before the shipped
 * table; each value by itself.  A healthy card takes work and nothing is done.
 * A card that is failed takes no work, whatever a document says.
 *
 *   probes      clean looks, one after the other, that lead back to healthy
 *   takes_work  new work may start there
 *   running     drain: work on it is stopped with notice and waits again
 *   notify      the owners of work on it are told
 *   reset       it is reset and cleaned as soon as nobody has it
 *   workorder   an alarm asks for a work order
 */

enum health_running { HEALTH_KEEP, HEALTH_DRAIN };

struct health_rule {
    bool takes_work;
    int running; /* enum health_running */
    bool notify, reset, workorder;
};

struct health_policy {
    int64_t probes;
    struct health_rule rules[HEALTH_FAILED + 1]; /* by enum card_health */
};

/* In force for the cards of a pool. */
void health_policy_of(struct health_policy *out, const struct changes *changes,
                      struct ref pool);
/* Checks a document; NULL is well. */
int health_policy_check(const struct blob *document, struct error *err);
json_t *health_policy_json(const struct health_policy *policy);

#endif
