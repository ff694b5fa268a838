/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_AUDIT_KEYS_H
#define CLI_AUDIT_KEYS_H

#include "cli/cli.h"
#include "core/keychain.h"

/* Which keys of the signer does the user trust? */

#define AUDIT_KEYS_MAX (16 + KEYCHAIN_MAX)
#define AUDIT_KEYS_HELP "the signer's key, or a file of keys, oldest first"

/* --key, which nothing can stand in for: who brings the log and the key with
 * it proves nothing. */
int audit_keys_option(const struct cli *cli,
                      struct checkpoint_key keys[AUDIT_KEYS_MAX],
                      size_t *count_out, struct error *err);

#endif
