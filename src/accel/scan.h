/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_SCAN_H
#define ACCEL_SCAN_H

#include <sys/types.h>

#include "accel/accel.h"

/*
 * Which processes of this machine have one of these files or device nodes
 * open or mapped?
 *
 * Reading what every process has open costs milliseconds, so all that is asked
 * is looked for in one pass, and a file that nobody has costs one system call.
 */

struct scan_target {
    dev_t dev; /* of the file */
    ino_t ino;
    dev_t rdev;   /* of the node */
    size_t owner; /* whose list a finding goes to */
};

/* Has nobody opened or mapped the plain file?  False also when that cannot be
 * told.  A descriptor that gives no access (O_PATH) is not counted. */
bool scan_is_unused(const char *path);

/* Adds what is found to lists[target.owner], each process once, at most
 * ACCEL_PROCESSES_MAX.  Children of this process that have not become their
 * program yet are not counted: they have its files for a moment. */
int scan_processes(const struct scan_target *targets, size_t target_count,
                   struct accel_crew *lists, struct error *err);

#endif
