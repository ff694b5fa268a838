/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SYNC_H
#define ENGINE_SYNC_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "core/report.h"

/*
 * What is in an agent's sync?
 *
 * {"protocol", "known", "wait_ms", "challenge", "ready",
 *  "inventory": null | {"simulated", "cpu_milli", "memory_mib", "facts",
 *     "topology",
 *     "cards": [{"uuid", "vendor", "model", "pci", "driver", "firmware",
 *        "arch", "serial", "domain", "runtime", "features", "island", "bus",
 *        "memory_mib", "compute_units", "numa", "health", "health_reason", "foreign",
 *        "foreign_name", "foreign_pid", "foreign_uid", "sliced", "layout",
 *        "foreign_slices", "change", "change_failure"}]},
 *  "instances": null | [{"instance", "incarnation", "state", "failure",
 *     "retryable", "exit_code", "oom", "cpu_us", "checkpoint_step",
 *     "checkpoint_ms", "cpus", "mems", "nics", "pinned"}],
 *  "releases": [{"instance", "incarnation", "cards": [..]}],
 *  "scrubs": [{"uuid", "verified", "text",
 *              "steps": [{"step", "from_ms", "to_ms", "good", "text"}]}],
 *  "volumes": [{"volume", "state", "failure"}],
 *  "logs": [{"request", "bytes" (base64), "next", "complete", "truncated",
 *     "failure"}],
 *  "looks": [{"uuid", "age_ms", "health", "health_reason", "asks_nothing",
 *     "has_rows", "clean", "temperature_c", "power_mw", "busy_permille",
 *     "memory_used_mib", "ecc_corrected", "ecc_uncorrected", "clock_reasons",
 *     "events": [{"xid", "pid", "instance", "slice", "first_ms", "last_ms",
 *        "count", "has_words", "word", "status"}]}]}
 *
 * Everything is repeated until an order shows that it was taken: nothing is
 * lost with an answer.
 */

#define SYNC_FACTS_MAX 4096
#define SYNC_TOPOLOGY_MAX 16384

struct sync {
    const char *known;     /* revision of the last order, "" for none */
    int64_t wait_ms;       /* the answer may wait so long for news */
    const char *challenge; /* the text asked for, "" for none */
    struct report report;
};

void sync_write(struct buffer *out, const struct sync *sync);
/* Strict; all of *sync_out lives in the arena. */
int sync_parse(struct arena *arena, const char *bytes, size_t size,
               struct sync *sync_out, struct error *err);

#endif
