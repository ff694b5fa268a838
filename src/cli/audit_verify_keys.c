/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/file.h"
#include "cli/audit_verify.h"

#define KEYS_FILE_MAX 65536

int
audit_verify_keys(const char *text, struct checkpoint_key *keys_out,
                  size_t room, struct error *err)
{
    scoped_buffer file = { 0 };
    size_t count = 0;

    if (room > 0 && checkpoint_parse_key(text, keys_out, err) == 0)
        return 1;
    if (file_read(text, KEYS_FILE_MAX, &file, err) != 0)
        return error_set(err, ERROR_INVALID,
                         "%s is neither a key nor a file of keys", text);
    for (char *line = file.bytes; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n');

        if (end != NULL)
            *end = '\0';
        if (*line != '\0' &&
            (count == room ||
             checkpoint_parse_key(line, &keys_out[count++], err) != 0))
            return error_set(err, ERROR_INVALID,
                             "%s: a line is not a key, or there are more "
                             "than %zu",
                             text, room);
        line = end == NULL ? NULL : end + 1;
    }
    return count > 0 ? (int)count
                     : error_set(err, ERROR_INVALID, "%s has no key", text);
}
