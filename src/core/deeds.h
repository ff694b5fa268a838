/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DEEDS_H
#define CORE_DEEDS_H

#include "core/change.h"
#include "core/verb.h"

/*
 * What was done under a break-glass or a work order?  A JSON list of verb,
 * object and time, kept in the object; the log has all of it, so the list is
 * bounded and the count goes on.
 */

#define DEEDS_MAX 100

void deeds_add(struct changes *changes, struct blob **list, int64_t *count,
               enum verb verb, struct ref object);

#endif
