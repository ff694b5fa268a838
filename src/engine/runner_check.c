/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/runner_check.h"

#include <ctype.h>
#include <string.h>

#include "engine/part.h"
#include "engine/runner_request.h"

bool
runner_check_label(const char *text, const char *more)
{
    if (!islower((unsigned char)text[0]))
        return false;
    for (const char *s = text; *s != '\0'; s++)
        if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s) &&
            strchr(more, *s) == NULL)
            return false;
    return true;
}

int
runner_check_part(const char *text, const char *field, struct error *err)
{
    if (part_is_valid(text))
        return 0;
    return error_field(err, field,
                       "a card is a UUID of letters, digits and -, a slice "
                       "of it follows behind a slash: profile@start");
}

int
runner_check_path(const char *path, const char *field, struct error *err)
{
    size_t size = strlen(path);

    if (size < 2 || size > RUNNER_CHECK_PATH_MAX || path[0] != '/')
        return error_field(err, field,
                           "a path is absolute, not / itself, and at most %d "
                           "bytes",
                           RUNNER_CHECK_PATH_MAX);
    for (size_t i = 0; i < size; i++) {
        if (!isalnum((unsigned char)path[i]) && strchr("/._-", path[i]) == NULL)
            return error_field(err, field,
                               "a path has letters, digits, / . _ and -");
        if (path[i] != '/')
            continue;
        if (path[i + 1] == '\0' || path[i + 1] == '/' || path[i + 1] == '.')
            return error_field(err, field,
                               "a path has no empty part and no part that "
                               "begins with a dot");
    }
    return 0;
}

bool
runner_check_within(const char *path, const char *top)
{
    size_t size = strlen(top);

    return strncmp(path, top, size) == 0 &&
           (path[size] == '\0' || path[size] == '/');
}
