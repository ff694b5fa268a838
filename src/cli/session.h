/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/cli.h"

#define SESSION_SECRET_MAX 1025

/* Logs in and keeps the session (and the tenant) in the context file.
 * limit_out, when not NULL: what the session lacks, "none" when nothing. */
int session_open(struct cli *cli, const char *user, const char *password,
                 const char **limit_out, struct error *err);

/* Proves the identity again: by a code (--code-file, --recovery-file), else by
 * the password (--password-file); factor: by a code whatever was given. */
int session_prove(struct cli *cli, bool factor, struct error *err);

#endif
