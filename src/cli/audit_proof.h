/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_AUDIT_PROOF_H
#define CLI_AUDIT_PROOF_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "core/checkpoint.h"
#include "core/record.h"

/*
 * How does one entry prove, on its own, that it was logged?
 *
 * A proof is a C2SP tlog-proof file: the entry in its "extra" line, its index,
 * the inclusion proof and the newest signed checkpoint.  Whoever has it and
 * the signer's key needs nothing else, and learns nothing about other entries.
 */

/* Of a proof file, in bytes. */
#define AUDIT_PROOF_MAX ((size_t)1 << 18)

/* Appends the proof of one entry of the log `origin` in an exported directory
 * (identity/audit_dir.h).  ERROR_NOT_FOUND when the log or the entry is not
 * there, ERROR_CONFLICT when no checkpoint covers it yet. */
int audit_proof_make(const char *directory, const char *origin,
                     uint64_t index, struct buffer *proof_out,
                     struct error *err);

struct audit_proof {
    uint64_t index;
    struct checkpoint checkpoint;
    struct buffer entry; /* owned */
    struct record record; /* its texts point into entry; no personal part */
};

/* Checks a proof against the signer's key.  ERROR_INVALID when it is not a
 * proof, ERROR_VERIFY when it does not hold.  On success the caller releases
 * proof_out->entry. */
int audit_proof_check(const char *text, size_t size,
                      const uint8_t public_key[SIGN_PUBLIC_SIZE],
                      struct audit_proof *proof_out, struct error *err);

#endif
