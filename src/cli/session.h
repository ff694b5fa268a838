/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/cli.h"

#define SESSION_SECRET_MAX 1025

/* Logs in and keeps the session (and the tenant) in the context file. */
int session_open(struct cli *cli, const char *user, const char *password,
                 struct error *err);

#endif
