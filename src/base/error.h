/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/*
 * Errors are values owned by the caller: no allocation, no release.
 *
 * A function that can fail returns 0 or -1 and takes struct error *err as its
 * last argument.  On success err is untouched.  On failure it says what went
 * wrong in words that the caller of the API may read: it never holds a secret,
 * a host path or another tenant's name.
 */

#define ERROR_TEXT_MAX 512
#define ERROR_FIELD_MAX 96
#define ERROR_HELP_MAX 256

enum error_code {
#define ERROR(name, text, title, http, exit) ERROR_##name,
#include "base/error.def"
#undef ERROR
    ERROR_CODE_COUNT
};

struct error {
    enum error_code code;
    char text[ERROR_TEXT_MAX];   /* one sentence: what, rule, value */
    char field[ERROR_FIELD_MAX]; /* JSON pointer of the field, or "" */
    char help[ERROR_HELP_MAX];   /* a way out, or "" */
};

/* Fills err (field and help become "") and returns -1, so that callers write
 * `return error_set(...)`. */
int error_set(struct error *err, enum error_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), nonnull(1, 3), cold));

/* error_set with ERROR_INVALID that also names the field (JSON pointer). */
int error_field(struct error *err, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), nonnull(1, 2, 3), cold));

/* Adds a way out to an error that is set; returns -1. */
int error_help(struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), nonnull(1, 2), cold));

/* Puts "prefix: " before the text, to say which step failed; returns -1. */
int error_prefix(struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), nonnull(1, 2), cold));

#ifdef __clang_analyzer__
/* So that the analyzer knows what a reader knows: these never return 0, and
 * behind `return error_set(...)` no output is used. */
#define error_set(...) (error_set(__VA_ARGS__), -1)
#define error_field(...) (error_field(__VA_ARGS__), -1)
#define error_help(...) (error_help(__VA_ARGS__), -1)
#define error_prefix(...) (error_prefix(__VA_ARGS__), -1)
#endif

int error_http_status(enum error_code code);
int error_exit_code(enum error_code code);
/* The stable text that API clients see, "not_found" for example. */
const char *error_code_text(enum error_code code);
const char *error_code_title(enum error_code code);
/* The code with that text; ERROR_INTERNAL when there is none. */
enum error_code error_code_parse(const char *text);

#endif
