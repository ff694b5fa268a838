/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "base/json.h"

/*
 * Is everything there that the platform needs, and if not, what helps?  Each
 * finding is an object {"check", "state": ok|warn|fail, "found", "fix"}; the
 * fix is "" for what is in order.  docs/operate.md has a line for each check.
 */

enum doctor_state { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

/* Adds a finding; fmt says what was found. */
void doctor_find(json_t *findings, const char *check, enum doctor_state state,
                 const char *fix, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/*
 * What a machine needs to run instances: kernel, control groups, name spaces,
 * programs, clock, room, cards and their drivers.  root stands before each
 * path that is read ("" for this machine's own); data is the directory of the
 * platform's files.
 */
void doctor_machine(const char *root, const char *data, json_t *findings);

#endif
