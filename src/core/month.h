/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_MONTH_H
#define CORE_MONTH_H

#include <stdint.h>

/* The UTC calendar of quotas and bills, as pure arithmetic on ms since 1970
 * (proleptic Gregorian; no leap seconds, as in POSIX time).  Times >= 0. */

#define HOUR_MS INT64_C(3600000)
#define DAY_MS (24 * HOUR_MS)

/* The first ms of the month that holds the time. */
int64_t month_start(int64_t ms);
/* The first ms of the month behind it. */
int64_t month_next(int64_t ms);
/* The first ms of the hour that holds the time. */
static inline int64_t
hour_start(int64_t ms)
{
    return ms - ms % HOUR_MS;
}

#endif
