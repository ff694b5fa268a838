/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_RUNNER_CHECK_H
#define ENGINE_RUNNER_CHECK_H

#include <stdbool.h>

#include "base/error.h"

/* Which texts may name things in a request to the runner? */

#define RUNNER_CHECK_PATH_MAX 255

/* A lower-case letter, then those, digits and the characters in more. */
bool runner_check_label(const char *text, const char *more);
/* Letters, digits and -, not first. */
int runner_check_part(const char *text, const char *field, struct error *err);
/* Absolute and in normal form, of characters that need no quoting. */
int runner_check_path(const char *path, const char *field, struct error *err);
/* True when path is top or lies below it. */
bool runner_check_within(const char *path, const char *top);

#endif
