/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SECCOMP_H
#define RUNNER_SECCOMP_H

#include <jansson.h>

#include "base/buffer.h"
#include "base/error.h"

/*
 * Which system calls may an instance make?  A list of what programs need
 * without privileges; everything else is refused: what could reach out of the
 * instance with EPERM, what the list does not know with ENOSYS, so that C
 * libraries fall back to older calls.
 */

/* The "seccomp" object of an OCI configuration; the caller owns it. */
json_t *seccomp_filter_new(void);
/* The same as the program that the kernel runs (struct sock_filter[]): made
 * once, since compiling it takes as long as much of a start. */
int seccomp_program(struct buffer *out, struct error *err);

#endif
