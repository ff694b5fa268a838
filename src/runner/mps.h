/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_MPS_H
#define RUNNER_MPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * How are shares of one of NVIDIA's cards held to their limits by the driver?
 *
 * A control daemon for each card that is shared (nvidia-cuda-mps-control),
 * with directories of its own; its server runs everybody's work on that card
 * and limits each client's memory and multiprocessors.  Every instance has ids
 * of its own, so the server is one for several users.  The limits of a client
 * come with its environment, where it could leave them out: the server's own
 * default is the largest share on the card, and what is used is measured from
 * outside besides (share.h).
 *
 * Nothing is started on a share whose control directory is missing, is not
 * root's, cannot be entered by others, or whose daemon does not answer:
 * without them a program would run with no limit at all.  Every question has
 * a deadline.
 */

#define MPS_INSIDE "/dev/bulkhead/mps" /* the pipe directory, inside */
#define MPS_CLIENTS_MAX 256
#define MPS_PATH_MAX 320
#define MPS_SERVERS_MAX 8

struct mps {
    const char *program;   /* nvidia-cuda-mps-control */
    const char *directory; /* of all cards */
    int timeout_ms;        /* of one question */
};

/* DIRECTORY/UUID/pipe: what instances on the card are given. */
void mps_pipe(const struct mps *mps, const char *uuid,
              char path[MPS_PATH_MAX]);

/* ERROR_UNSUPPORTED: the directory is not as it has to be.  ERROR_BUSY: no
 * answer. */
int mps_check(const struct mps *mps, const char *uuid, struct error *err);
/* Makes the daemon answer and sets what the server limits by default.  alone:
 * nobody is on the card, so a daemon that does not answer may be replaced. */
int mps_start(const struct mps *mps, const char *uuid, bool alone,
              int64_t largest_mib, struct error *err);
/* The processes that are the card's servers. */
int mps_servers(const struct mps *mps, const char *uuid,
                pid_t list[MPS_SERVERS_MAX], size_t *count_out,
                struct error *err);
/* The clients of the card's servers, as the host sees them. */
int mps_clients(const struct mps *mps, const char *uuid,
                pid_t list[MPS_CLIENTS_MAX], size_t *count_out,
                struct error *err);
/* Ends it when nobody shares the card any more; it may be gone already. */
void mps_end(const struct mps *mps, const char *uuid);

#endif
