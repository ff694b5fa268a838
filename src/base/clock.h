/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* Time as the programs see it.  The core never calls these. */

/* Milliseconds UTC since 1970.  In tests a file moves it: when the
 * environment names BULKHEAD_CLOCK_FILE at the first call, its content is an
 * offset in milliseconds that is added (read at each call). */
int64_t clock_wall_ms(void);
/* Milliseconds since boot, never going back. */
int64_t clock_mono_ms(void);
/* Microseconds since boot, for measuring. */
int64_t clock_mono_us(void);
/* Identity of this boot, 36 characters; the same for the process's life. */
const char *clock_boot_id(void);

#define CLOCK_TEXT_MAX 32
/* RFC 3339 in UTC with milliseconds: 2026-11-30T10:15:30.123Z. */
void clock_format(int64_t wall_ms, char text[CLOCK_TEXT_MAX]);
/* Accepts RFC 3339 with Z or an offset, with or without a fraction; returns
 * -1 when text is not one or is outside years 1970..9999. */
int clock_parse(const char *text, int64_t *wall_ms_out);

#endif
