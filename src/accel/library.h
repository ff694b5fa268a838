/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the backends of vendors' libraries share.
 */
#ifndef BULKHEAD_ACCEL_LIBRARY_H
#define BULKHEAD_ACCEL_LIBRARY_H

#include "accel/accel.h"

/* Loads the library `name`, from `directory` when there is one, else from
 * where the system has it; `origin` says with what it comes.
 * NULL: ERROR_NOT_FOUND. */
void *library_open(const char *directory, const char *name, const char *origin,
                   struct error *err);
/* The calls that follow are about that card, "": about none. */
void library_say(const struct accel *accel, const char *key);
/* Cards are on this node, whatever it is called. */
const char *library_node_name(const struct accel *accel);

#endif
