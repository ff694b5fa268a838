/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_ENROL_H
#define CONTROL_ENROL_H

#include "core/change.h"
#include "engine/message.h"

/*
 * May this machine become that node?
 *
 * A join token lets one machine enrol, under one name, once.  The same
 * machine (the same key) may repeat it, since the answer may have been lost.
 * A node that is enrolled anew gets the next epoch: messages by its old key
 * are refused from then on.
 */

/* Fills the set.  ERROR_UNAUTHENTICATED, with one text for every reason, when
 * the token does not let it. */
int enrol_node(struct changes *changes, const struct message_enrol *message,
               const struct message_envelope *envelope, struct ref *node_out,
               struct error *err);

#endif
