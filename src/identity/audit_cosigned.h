/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IDENTITY_AUDIT_COSIGNED_H
#define IDENTITY_AUDIT_COSIGNED_H

#include "core/witness.h"

/*
 * Which heads did witnesses cosign?  In the directory of each log the file
 * `cosigned` has, behind each other, the newest note of each witness: the
 * signer's signature and that witness's line.  Who may put notes there is up
 * to the caller; whom to believe is up to who verifies.
 */

#define AUDIT_COSIGNED_MAX 16 /* witnesses of one log */

/* Keeps a note for the witness whose line it bears, in place of its last one;
 * an older one changes nothing.  ERROR_INVALID when the note is none,
 * ERROR_NOT_FOUND when the log is not there, ERROR_VERIFY when the line does
 * not hold or the note is not the head of what is laid down, ERROR_CONFLICT
 * when there are too many witnesses. */
int audit_cosigned_add(const char *directory, const char *note, size_t size,
                       const struct checkpoint_key *witness,
                       struct error *err);

/* Appends the request of tlog-witness for the newest signed head of a log, as
 * it follows from the head of old_size.  ERROR_NOT_FOUND when the log is not
 * there or not signed yet, ERROR_CONFLICT when its signed head is smaller than
 * old_size, ERROR_BUSY when it grows just now. */
int audit_cosigned_ask(const char *directory, const char *origin,
                       uint64_t old_size, struct buffer *request_out,
                       struct error *err);

/* Calls take with the newest signed head of each log, in order of names. */
int audit_cosigned_heads(const char *directory,
                         int (*take)(void *context,
                                     const struct checkpoint *head,
                                     struct error *err),
                         void *context, struct error *err);

#endif
