/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_ACCEL_VENDOR_H
#define ACCEL_ACCEL_VENDOR_H

#include "accel/accel.h"

/*
 * Which cards do the libraries of all vendors have together?
 *
 * Each library is asked in a process of its own (accel/remote.h), so that one
 * that hangs delays nobody by more than the deadline.  A library that is not
 * there has no cards.  What was known once stays known: a card that is not
 * listed any more has failed, one that does not answer is ACCEL_UNKNOWN, and
 * both say why.  accel_list does not fail for one library's sake.
 * NVIDIA's cards are cleaned and reset in a process that is there for that
 * alone (accel_cuda.c) and is gone before the answer comes, so that nothing
 * of ours is left on the card.
 *
 * source: a directory that holds the libraries, and files of the machine
 * below sys/ and proc/ of it; NULL: where the system has them.
 */

/* All of a card's memory is written and read back twice. */
#define ACCEL_CLEAN_MS 300000

struct accel_vendor_options {
    const char *program; /* bulkhead-cards; NULL: beside this program */
    const char *source;
    const char *state_dir;
    int deadline_ms, change_ms; /* as in remote_options */
    int clean_ms; /* of a scrub or reset of NVIDIA's; 0: ACCEL_CLEAN_MS */
};

int accel_vendor_open(struct accel *accel_out,
                      const struct accel_vendor_options *options,
                      struct error *err);

/* How one of the libraries is: its name, then what it says, or why it says
 * nothing.  False when there is no such number. */
bool accel_vendor_library(struct accel *accel, size_t number,
                          const char **name_out,
                          struct accel_survey *survey_out, struct error *err);

#endif
