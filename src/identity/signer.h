/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IDENTITY_SIGNER_H
#define IDENTITY_SIGNER_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/sign.h"
#include "core/keychain.h"

/*
 * May this head be signed, given the heads that were signed before?
 *
 * The rules of bulkhead-signer, without its socket.  A request is one of
 *
 *   sign OLD-SIZE\n  {BASE64 HASH\n}  \n  ORIGIN\n  SIZE\n  BASE64 ROOT\n
 *   head ORIGIN\n
 *   keys\n
 *   rotate\n
 *
 * where the hashes prove that the tree of SIZE extends the one of OLD-SIZE
 * that was signed last.  The answer is one of
 *
 *   ok\n     and the signed note
 *   head\n   and the three lines signed last, size 0 when there are none
 *   keys\n   the base64 of its key in a line, and all rotations so far
 *             (core/keychain.h); a rotation gives the same, with the new key
 *   refused NAME\n  and a sentence; NAME is one of
 *       malformed  not a request
 *       rollback   smaller than what was signed last
 *       fork       the same size as signed last, with another root
 *       stale      OLD-SIZE is not the size signed last; the sentence says it
 *       proof      the proof does not hold
 *       superseded a later epoch of the log was signed (core/checkpoint.h): a
 *                  restore was declared, and its log goes on under that name
 *       full       the key was changed too often
 *       failed     the state cannot be read or written
 *
 * The head is on disk before its signature leaves, so after a crash the same
 * request gets the same answer and no other head of that size ever does.
 */

#define SIGNER_REQUEST_MAX 8192U
#define SIGNER_ANSWER_MAX (KEYCHAIN_SIZE_MAX + 8192U)

struct signer {
    char *directory; /* owned */
    char *heads; /* directory: one file for each origin; owned */
    struct sign_key key;
    struct buffer rotations;
    unsigned rotation_count;
};

/* directory (which must exist) holds "key" (0600, made at first), "heads/",
 * and, once the key was changed, "rotations".  A change that a crash cut is
 * ended or undone. */
int signer_open(struct signer *signer_out, const char *directory,
                struct error *err);
void signer_close(struct signer *signer);

/* Appends the answer to a request of `size` bytes. */
void signer_answer(struct signer *signer, const char *request,
                   size_t size, struct buffer *answer_out);

#endif
