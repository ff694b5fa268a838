/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_H
#define RUNNER_SERVE_H

#include "base/error.h"

struct node;

/*
 * Who may talk to the runner, and how do connections become answers?  A
 * socket that only the policy's uid may open; each connection's peer is
 * checked again by the kernel's word (SO_PEERCRED) and served by a thread of
 * its own, at most SERVE_CONNECTIONS_MAX at a time.
 */

#define SERVE_CONNECTIONS_MAX 64

/* Serves until stop_fd becomes readable, then waits for the requests that are
 * being worked on. */
int serve_run(struct node *node, int stop_fd, struct error *err);

#endif
