/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHIPPED_H
#define CORE_SHIPPED_H

#include "core/change.h"

/*
 * With which policy does a platform begin?  The same for a new installation
 * and for a simulated one; operators change it afterwards.
 */

/* The platform itself; currency NULL: EUR. */
struct ref shipped_platform(struct changes *changes, const char *currency);
/* incident > production > development > research. */
void shipped_priorities(struct changes *changes, struct ref platform);

#endif
