/* SPDX-License-Identifier: Apache-2.0 */
#include "core/month.h"

static int
is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t
days_before_year(int64_t year)
{
    int64_t past = year - 1;

    /* 719162 days lie before 1970. */
    return past * 365 + past / 4 - past / 100 + past / 400 - 719162;
}

/* Start of the month that holds ms, and of the next one. */
static void
month_bounds(int64_t ms, int64_t *start_out, int64_t *next_out)
{
    static const int lengths[12] = { 31, 28, 31, 30, 31, 30,
                                     31, 31, 30, 31, 30, 31 };
    int64_t day = ms / DAY_MS;
    int64_t year = 1970 + day / 366; /* never too late */
    int64_t start, length;
    int month = 0;

    while (days_before_year(year + 1) <= day)
        year++;
    start = days_before_year(year);
    for (;; month++) {
        length = lengths[month] + (month == 1 && is_leap(year));
        if (day < start + length)
            break;
        start += length;
    }
    *start_out = start * DAY_MS;
    *next_out = (start + length) * DAY_MS;
}

int64_t
month_start(int64_t ms)
{
    int64_t start, next;

    month_bounds(ms, &start, &next);
    return start;
}

int64_t
month_next(int64_t ms)
{
    int64_t start, next;

    month_bounds(ms, &start, &next);
    return next;
}
