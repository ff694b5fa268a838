/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_SCAN_H
#define ACCEL_SCAN_H

#include <sys/types.h>

#include "accel/accel.h"

/*
 * Which processes of this machine have one of these files or device nodes
 * open or mapped?
 */

struct scan_target {
    dev_t dev; /* of the file */
    ino_t ino;
    dev_t rdev; /* of the node */
};

/* At most ACCEL_PROCESSES_MAX, each once. */
int scan_processes(const struct scan_target *targets, size_t target_count,
                   struct accel_process list[ACCEL_PROCESSES_MAX],
                   size_t *count_out, struct error *err);

#endif
