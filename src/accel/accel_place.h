/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_PLACE_H
#define ACCEL_PLACE_H

#include "base/error.h"

/*
 * Where does a card's state lie?  A file that is mounted into an instance
 * shows its path there (/proc/self/mountinfo), and must not tell which card
 * it is: the directory has a random name, and a link leads to it.
 */

/* Makes directory/name, if it is not there: a link to a new directory beside
 * it, for its owner only. */
int accel_place_make(const char *directory, const char *name,
                     struct error *err);

#endif
