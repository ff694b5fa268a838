/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_OBSERVE_HEALTH_H
#define CORE_OBSERVE_HEALTH_H

#include "core/change.h"
#include "core/report.h"

/*
 * What does the health of cards, as their node or a person tells of it,
 * change?
 *
 * core/card_health.h judges, core/health_policy.h says what is done then: the
 * card takes work or not, work on it is stopped or goes on, owners are told,
 * it is reset, a work order is asked for.  Alarms: card.health and
 * card.workorder about the card, card.links about its links, card.stale when
 * nobody has heard of it, workload.card about each workload on it, node.blind
 * when the node cannot see any of its cards: that is no card's fault.
 *
 * The first look of a card makes its health a matter of looks: inventories
 * say nothing about it any more.
 */

/* Each card of the node alone; returns how many facts were refused. */
size_t observe_health_looks(struct changes *changes, struct ref node,
                            const struct report *report);
/* Is work of the binding on a card, or on a slice, that is not well? */
bool observe_health_hurts(const struct card *card,
                          const struct binding *binding);
/* What an inventory says about a card that nobody looks at. */
void observe_health_said(struct changes *changes, struct ref card, int health,
                         const char *reason);
/* Does the node see none of several cards?  Then an alarm stands. */
bool observe_health_blind(struct changes *changes, struct ref node,
                          size_t cards, size_t unseen, const char *reason);
/* Nobody has heard of the card's health for too long. */
void observe_health_stale(struct changes *changes, struct ref card);
/* It was reset, and cleaned. */
void observe_health_reset(struct changes *changes, struct ref card);
/* A person's word.  ERROR_CONFLICT: the card itself says something else. */
int observe_health_set(struct changes *changes, struct ref card, int health,
                       const char *reason, struct error *err);
/* Work left a card: its owner need not look any more, unless more of it is on
 * cards that are not well. */
void observe_health_left(struct changes *changes, struct ref workload);
/* Another policy is in force for the cards of a pool, none: of all. */
void observe_health_policy(struct changes *changes, struct ref pool);

#endif
