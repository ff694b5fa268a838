/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_PRESENCE_H
#define CONTROL_PRESENCE_H

#include "core/model.h"
#include "engine/message.h"
#include "engine/order.h"

/*
 * Is this message the node's newest?
 *
 * The signature says who; this says when.  A sequence is used once within a
 * boot, also over restarts of the control plane: the stored node.sequence is
 * a reservation, never below a number that was accepted.  A boot that is not
 * the stored one is proven by repeating a challenge.
 */

/* How far ahead the stored number is: ten minutes of microseconds. */
#define PRESENCE_RESERVE INT64_C(600000000)

struct presence {
    struct id node;   /* whose it is; other: start anew */
    bool heard;       /* since the control plane's start */
    int64_t sequence; /* last accepted, when heard */
    char challenge[MESSAGE_CHALLENGE_MAX + 1]; /* "": none asked */
    bool ready; /* its agent has read what it has, in this boot */
    int64_t seen_ms;  /* UTC, of the last accepted message */
    int64_t alive_ms; /* monotonic, of the same */
};

/* 0: accepted, and noted in presence.  -1: refused; the texts of refusal_out
 * live as long as the presence. */
int presence_admit(struct presence *presence, const struct node *node,
                  const struct message_envelope *envelope,
                  const char *challenge, struct order_refusal *refusal_out);

/* Must boot or reservation be stored for an accepted message? */
bool presence_is_due(const struct node *node,
                    const struct message_envelope *envelope);
/* Stores them in the node's image. */
void presence_store(struct node *node,
                   const struct message_envelope *envelope);

#endif
