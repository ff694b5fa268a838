/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ALARM_H
#define CORE_ALARM_H

#include "core/change.h"

/*
 * What stands out about an object?  An alarm is below the object that it is
 * about, one for each code: raising it again while it stands changes nothing,
 * raising it after it was cleared starts it anew.
 */

/* code is a dotted word ("card.missing"); the text is cut to fit. */
void alarm_raise(struct changes *changes, struct ref about, const char *code,
                 const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The same, but what it says is kept up while it stands. */
void alarm_tell(struct changes *changes, struct ref about, const char *code,
                const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Nothing when it does not stand. */
void alarm_clear(struct changes *changes, struct ref about, const char *code);
/* Does it stand, in the set or in the world? */
bool alarm_stands(const struct changes *changes, struct ref about,
                  const char *code);

#endif
