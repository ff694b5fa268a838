/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_OBSERVE_H
#define CORE_OBSERVE_H

#include "core/change.h"
#include "core/report.h"

/*
 * What does a node's word change?
 *
 * A node is believed about itself only: about its cards, and about instances
 * that are assigned to it in the incarnation that it names.  Each fact is
 * taken or refused alone; a refused one changes nothing and raises an alarm
 * about the node:
 *
 *   report.instance    an instance that is not known, or another node's
 *   report.incarnation an incarnation that was never ordered
 *   report.inflated    more CPU time than the node has had since
 *   report.release     a release of something not its own, of an instance
 *                      that neither ended nor was told to, or that leaves out
 *                      one of its cards
 *   report.card        a card that another node has, or that changed its make
 *
 * Late and repeated facts are taken and change nothing.  On a platform that
 * was restored from a backup, what it does not know is an orphan instead
 * (core/orphan.h).
 */

/* Returns how many facts were refused. */
size_t observe_report(struct changes *changes, struct ref node,
                      const struct report *report);

/* The node is at its post: it takes work again when it was lost, or is
 * cordoned when it was fenced.  Its instances come back as they are observed.
 * A report says so only when it is ready and knows all instances, and when
 * nothing that was given up with the node is left there. */
void observe_seen(struct changes *changes, struct ref node);
/* Its lease is over: it takes no work and its instances are lost. */
void observe_lost(struct changes *changes, struct ref node);

#endif
