/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_COMMON_DURABLE_H
#define BENCH_COMMON_DURABLE_H

#include <stdint.h>

#include "base/error.h"
#include "core/record.h"

/*
 * How many audit records a second become durable?  A control plane in the
 * process, on a store of its own: so many jobs are in flight, each appends a
 * record, and is posted again as soon as the record is on disk.
 */

struct durable {
    uint64_t records;
    int64_t us;          /* that it took */
    int64_t cpu_us;      /* of the whole process */
    uint64_t commits;    /* transactions, each with one sync of the log */
    int64_t p50_us;      /* from posting to being durable */
    int64_t p99_us;
    int64_t sync_p50_us; /* one fdatasync of as many bytes, on the same disk */
    int64_t sync_p99_us;
};

/* sample: what each record is. */
int durable_run(const char *directory, unsigned in_flight, int64_t ms,
                const struct record *sample, struct durable *out,
                struct error *err);

#endif
