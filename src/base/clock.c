/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <ctype.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DAY_MS INT64_C(86400000)
#define LAST_MS 253402300799999 /* 9999-12-31T23:59:59.999Z */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *offset_path;
static char boot_id[40];

static void
clock_init(void)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t size;

    offset_path = getenv("BULKHEAD_CLOCK_FILE"); /* NOLINT(concurrency-mt-unsafe) */
    if (fd < 0)
        return;
    size = read(fd, boot_id, 36);
    boot_id[size > 0 ? size : 0] = '\0';
    (void)close(fd);
}

static int64_t
clock_offset_ms(void)
{
    char text[32];
    ssize_t size;
    int fd;

    (void)pthread_once(&once, clock_init);
    if (offset_path == NULL)
        return 0;
    fd = open(offset_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    size = read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    text[size > 0 ? size : 0] = '\0';
    return strtoll(text, NULL, 10);
}

int64_t
clock_wall_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 +
           clock_offset_ms();
}

int64_t
clock_mono_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t
clock_mono_ms(void)
{
    return clock_mono_us() / 1000;
}

const char *
clock_boot_id(void)
{
    (void)pthread_once(&once, clock_init);
    return boot_id;
}

/* Appends a number of so many digits. */
static char *
put_digits(char *at, int value, int count)
{
    for (int i = count - 1; i >= 0; i--, value /= 10)
        at[i] = (char)('0' + value % 10);
    return at + count;
}

/* Proleptic Gregorian date of a day since 1970-01-01: years begin in March,
 * so that the leap day is their last (the 400-year cycle has 146,097 days). */
static char *
put_date(char *at, int64_t day)
{
    int64_t shifted = day + 719468;
    int64_t era = shifted / 146097;
    int of_era = (int)(shifted % 146097);
    int year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) /
               365;
    int of_year = of_era - (365 * year + year / 4 - year / 100);
    int march = (5 * of_year + 2) / 153;
    int month = march < 10 ? march + 3 : march - 9;

    at = put_digits(at, (int)(year + era * 400) + (month <= 2), 4);
    *at++ = '-';
    at = put_digits(at, month, 2);
    *at++ = '-';
    return put_digits(at, of_year - (153 * march + 2) / 5 + 1, 2);
}

void
clock_format(int64_t wall_ms, char text[CLOCK_TEXT_MAX])
{
    int64_t day, rest;
    char *at = text;

    if (wall_ms < 0)
        wall_ms = 0;
    if (wall_ms > LAST_MS)
        wall_ms = LAST_MS;
    day = wall_ms / DAY_MS;
    rest = wall_ms % DAY_MS;
    at = put_date(at, day);
    *at++ = 'T';
    at = put_digits(at, (int)(rest / 3600000), 2);
    *at++ = ':';
    at = put_digits(at, (int)(rest / 60000 % 60), 2);
    *at++ = ':';
    at = put_digits(at, (int)(rest / 1000 % 60), 2);
    *at++ = '.';
    at = put_digits(at, (int)(rest % 1000), 3);
    *at++ = 'Z';
    *at = '\0';
}

static int
digits(const char **text, int count, int *value_out)
{
    int value = 0;

    for (int i = 0; i < count; i++) {
        if (!isdigit((unsigned char)**text))
            return -1;
        value = value * 10 + (*(*text)++ - '0');
    }
    *value_out = value;
    return 0;
}

static int
skip(const char **text, char wanted)
{
    if (**text != wanted)
        return -1;
    (*text)++;
    return 0;
}

static int
parse_fraction(const char **text, int *ms_out)
{
    int scale = 100;

    *ms_out = 0;
    if (**text != '.')
        return 0;
    (*text)++;
    if (!isdigit((unsigned char)**text))
        return -1;
    while (isdigit((unsigned char)**text)) {
        *ms_out += (*(*text)++ - '0') * scale;
        scale /= 10;
    }
    return 0;
}

static int
parse_zone(const char **text, int *minutes_out)
{
    int hours, minutes, sign;

    *minutes_out = 0;
    if (**text == 'Z') {
        (*text)++;
        return 0;
    }
    if (**text != '+' && **text != '-')
        return -1;
    sign = *(*text)++ == '-' ? -1 : 1;
    if (digits(text, 2, &hours) != 0 || skip(text, ':') != 0 ||
        digits(text, 2, &minutes) != 0 || hours > 23 || minutes > 59)
        return -1;
    *minutes_out = sign * (hours * 60 + minutes);
    return 0;
}

int
clock_parse(const char *text, int64_t *wall_ms_out)
{
    struct tm parts = { 0 }, again;
    int64_t wall_ms;
    int ms, zone;
    time_t seconds;

    if (digits(&text, 4, &parts.tm_year) != 0 || skip(&text, '-') != 0 ||
        digits(&text, 2, &parts.tm_mon) != 0 || skip(&text, '-') != 0 ||
        digits(&text, 2, &parts.tm_mday) != 0 || skip(&text, 'T') != 0 ||
        digits(&text, 2, &parts.tm_hour) != 0 || skip(&text, ':') != 0 ||
        digits(&text, 2, &parts.tm_min) != 0 || skip(&text, ':') != 0 ||
        digits(&text, 2, &parts.tm_sec) != 0)
        return -1;
    if (parse_fraction(&text, &ms) != 0 || parse_zone(&text, &zone) != 0 ||
        *text != '\0')
        return -1;
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    again = parts;
    seconds = timegm(&again);
    if (again.tm_mon != parts.tm_mon || again.tm_mday != parts.tm_mday ||
        again.tm_hour != parts.tm_hour || again.tm_min != parts.tm_min ||
        again.tm_sec != parts.tm_sec)
        return -1;
    wall_ms = ((int64_t)seconds - (int64_t)zone * 60) * 1000 + ms;
    if (wall_ms < 0 || wall_ms > LAST_MS)
        return -1;
    *wall_ms_out = wall_ms;
    return 0;
}
