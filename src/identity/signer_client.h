/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IDENTITY_SIGNER_CLIENT_H
#define IDENTITY_SIGNER_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "core/checkpoint.h"

/*
 * Will the signer process vouch for this head?
 *
 * Both calls connect to the signer's Unix socket, ask once and wait at most
 * timeout_ms.  Errors: ERROR_BUSY when it cannot be reached in time (ask
 * again: the same head gets the same answer), ERROR_VERIFY when it refuses a
 * rollback, a fork, a proof or an epoch that is over, ERROR_CONFLICT when old_size is not the size it
 * signed last (ask signer_head), ERROR_INTERNAL when its state is damaged.
 */

/* Appends the signed note for `head`.  proof shows that it extends the head of
 * old_size, the one signed last (0 and no proof for the first). */
int signer_sign(const char *socket_path, const struct checkpoint *head,
                uint64_t old_size, const struct digest *proof, size_t count,
                int timeout_ms, struct buffer *note_out, struct error *err);

/* The head of this log that was signed last, size 0 when there is none. */
int signer_head(const char *socket_path, const char *origin, int timeout_ms,
                struct checkpoint *head_out, struct error *err);

/* The signer's key now, and all changes of it (core/keychain.h), appended. */
int signer_keys(const char *socket_path, int timeout_ms,
                uint8_t key_out[SIGN_PUBLIC_SIZE],
                struct buffer *rotations_out, struct error *err);
/* The same after it changed its key. */
int signer_rotate(const char *socket_path, int timeout_ms,
                  uint8_t key_out[SIGN_PUBLIC_SIZE],
                  struct buffer *rotations_out, struct error *err);

#endif
