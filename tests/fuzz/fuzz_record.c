/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <jansson.h>

#include "core/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is printed is one line of JSON, whatever the fields hold. */
static void
check_line(const struct buffer *line)
{
    json_error_t ignored;
    json_t *json;

    if (line->size == 0 || line->bytes[line->size - 1] != '\n' ||
        memchr(line->bytes, '\n', line->size - 1) != NULL)
        __builtin_trap();
    json = json_loadb(line->bytes, line->size - 1, 0, &ignored);
    if (json == NULL)
        __builtin_trap();
    json_decref(json);
}

/* A bundle as someone hands it to the verifier: entries and, every other
 * item, their personal parts. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = data, *end = data + size;
    const uint8_t *entry, *personal;
    size_t entry_size, personal_size;

    while (record_next_item(&at, end, &entry, &entry_size) == 1 &&
           record_next_item(&at, end, &personal, &personal_size) == 1) {
        scoped_buffer line = { 0 };
        scoped_buffer event = { 0 };
        struct record record;
        struct error err;

        if (record_decode(entry, entry_size, personal, personal_size, &record,
                          &err) != 0)
            continue;
        record_add_json(&line, &record);
        check_line(&line);
        record_add_ocsf(&event, &record);
        check_line(&event);
    }
    return 0;
}
