/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_WITNESS_H
#define CORE_WITNESS_H

#include <stddef.h>
#include <stdint.h>

#include "core/checkpoint.h"
#include "core/merkle.h"

/*
 * May a witness vouch for this head, given the one that it vouched for last?
 *
 * The request of C2SP tlog-witness (add-checkpoint):
 *
 *   old SIZE\n  {BASE64 HASH\n}  \n  and a signed checkpoint
 *
 * where the hashes prove that the checkpoint's tree extends the one of SIZE,
 * which the witness cosigned last (0 and no hashes: none yet).
 */

#define WITNESS_PROOF_MAX 63
#define WITNESS_REQUEST_MAX 8192U

struct witness_request {
    uint64_t old_size;
    struct merkle_proof proof;
    struct checkpoint next;
    const char *note; /* the signed checkpoint, within the request */
    size_t note_size;
};

/* The statuses of the protocol. */
enum witness_verdict {
    WITNESS_COSIGN = 200,
    WITNESS_MALFORMED = 400,    /* or an old size above the checkpoint's */
    WITNESS_UNSIGNED = 403,     /* by none of the keys */
    WITNESS_CONFLICT = 409,     /* another size or root was cosigned last */
    WITNESS_INCONSISTENT = 422, /* it is not shown to extend the last one */
};

/* ERROR_INVALID when it is not a request. */
int witness_parse(const char *text, size_t size,
                  struct witness_request *request_out, struct error *err);
void witness_add_request(struct buffer *out, uint64_t old_size,
                         const struct merkle_proof *proof, const char *note,
                         size_t note_size);

/* last: what was cosigned last of this log, size 0 when nothing was; its
 * origin is the request's. */
enum witness_verdict witness_judge(const struct witness_request *request,
                                   const struct checkpoint *last,
                                   const struct checkpoint_key *keys,
                                   size_t key_count);

#endif
