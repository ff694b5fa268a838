/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_MACHINE_H
#define RUNNER_MACHINE_H

#include <stdint.h>

#include "base/error.h"

/*
 * What is an instance told about the machine that it shares?
 *
 * /proc/meminfo, stat, loadavg and uptime speak of all instances together:
 * each one could read there when the others work.  In their place it gets
 * files that say what the instance itself was given, and nothing that
 * changes.  sysinfo(2) and the kernel's clocks still speak of the machine.
 */

/* Names below /proc, NULL ends. */
extern const char *const machine_files[];

/* Writes them into the directory, which is there. */
int machine_write(const char *directory, int64_t cpu_milli,
                  int64_t memory_mib, int64_t now_ms, struct error *err);

/* Open files of all instances together are bounded by the memory of each,
 * which pays for them: the kernel's one number for the whole machine, that
 * one of them could use up, is put out of the way. */
int machine_allow_files(struct error *err);

#endif
