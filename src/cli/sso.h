/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SSO_H
#define CLI_SSO_H

#include "cli/cli.h"

/* Logs in by an identity provider and keeps the session in the context file.
 * *user_out: the user's name. */
int sso_log_in(struct cli *cli, const char *provider, const char **user_out,
               struct error *err);
/* Proves the session's identity there again. */
int sso_step_up(struct cli *cli, struct error *err);

#endif
