/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_ROTATION_H
#define CONTROL_ROTATION_H

#include "base/sign.h"
#include "control/loop.h"

/*
 * Did the signer change its key?  A head that another key signed says so: then
 * the rotations are fetched and laid down before that head is, and each is
 * recorded in the platform's log (audit.key, the note in its facts).  One
 * thread.
 */

#define ROTATION_VERB "audit.key"
/* Counter: rotations that are recorded. */
#define ROTATION_COUNTER "rotations"

struct rotation {
    struct loop *loop;
    const char *directory, *signer_socket;
    int timeout_ms;
    bool known;
    uint8_t key[SIGN_PUBLIC_SIZE];
    int64_t recorded; /* the counter, and what was posted since */
};

/* note: a head that the signer has just signed. */
int rotation_follow(struct rotation *rotation, const char *note, size_t size,
                    struct error *err);

#endif
