/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef error_set
#undef error_field
#undef error_help
#undef error_prefix

static const struct {
    const char *text;
    const char *title;
    int http_status;
    int exit_code;
} codes[] = {
#define ERROR(name, text, title, http, exit)                                  \
    [ERROR_##name] = { text, title, http, exit },
#include "base/error.def"
#undef ERROR
};

__attribute__((format(printf, 3, 0))) static void
error_fill(struct error *err, enum error_code code, const char *fmt,
           va_list args)
{
    assert(code != ERROR_NONE && code < ERROR_CODE_COUNT);
    err->code = code;
    err->field[0] = '\0';
    err->help[0] = '\0';
    (void)vsnprintf(err->text, sizeof(err->text), fmt, args);
}

int
error_set(struct error *err, enum error_code code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    error_fill(err, code, fmt, args);
    va_end(args);
    return -1;
}

int
error_field(struct error *err, const char *field, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    error_fill(err, ERROR_INVALID, fmt, args);
    va_end(args);
    (void)snprintf(err->field, sizeof(err->field), "%s", field);
    return -1;
}

int
error_help(struct error *err, const char *fmt, ...)
{
    va_list args;

    assert(err->code != ERROR_NONE);
    va_start(args, fmt);
    (void)vsnprintf(err->help, sizeof(err->help), fmt, args);
    va_end(args);
    return -1;
}

int
error_prefix(struct error *err, const char *fmt, ...)
{
    char tail[ERROR_TEXT_MAX];
    va_list args;
    size_t used;

    assert(err->code != ERROR_NONE);
    memcpy(tail, err->text, sizeof(tail));
    va_start(args, fmt);
    (void)vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    used = strlen(err->text);
    (void)snprintf(err->text + used, sizeof(err->text) - used, ": %s", tail);
    return -1;
}

int
error_http_status(enum error_code code)
{
    assert(code < ERROR_CODE_COUNT);
    return codes[code].http_status;
}

int
error_exit_code(enum error_code code)
{
    assert(code < ERROR_CODE_COUNT);
    return codes[code].exit_code;
}

const char *
error_code_text(enum error_code code)
{
    assert(code < ERROR_CODE_COUNT);
    return codes[code].text;
}

const char *
error_code_title(enum error_code code)
{
    assert(code < ERROR_CODE_COUNT);
    return codes[code].title;
}

enum error_code
error_code_parse(const char *text)
{
    for (unsigned code = 0; code < ERROR_CODE_COUNT; code++)
        if (strcmp(codes[code].text, text) == 0)
            return (enum error_code)code;
    return ERROR_INTERNAL;
}
