/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_WORKER_H
#define ACCEL_WORKER_H

/*
 * The process that asks a vendor's library in the place of whoever must not
 * hang (accel/remote.h).  It ends when the other side does, also while a call
 * does not come back.
 */

/* Serves descriptors WIRE_SOCKET and WIRE_PAGE until the other side is gone.
 * source as in accel_open, NULL: none.  Returns the exit status. */
int worker_run(const char *backend, const char *source, const char *state_dir);

#endif
