/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/json.h"

static const char *name = "bulkhead";
static enum log_level threshold = LOG_INFO;

void
log_open(const char *program, enum log_level least)
{
    name = program;
    threshold = least;
}

void
log_write(enum log_level level, const char *request, const char *fmt, ...)
{
    static const char *const levels[] = { "debug", "info", "warn", "error" };
    scoped_buffer line = { 0 };
    char text[2048], now[CLOCK_TEXT_MAX];
    va_list args;

    if (level < threshold)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    clock_format(clock_wall_ms(), now);
    buffer_printf(&line, "{\"time\":\"%s\",\"level\":\"%s\",\"program\":\"%s\"",
                  now, levels[level], name);
    if (request != NULL) {
        buffer_add_text(&line, ",\"request\":");
        json_quote(&line, request);
    }
    buffer_add_text(&line, ",\"text\":");
    json_quote(&line, text);
    buffer_add_text(&line, "}\n");
    /* One write, so that lines of several threads do not mix. */
    if (write(STDERR_FILENO, line.bytes, line.size) < 0)
        return;
}
