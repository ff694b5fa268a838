/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
depth_of(const json_t *value)
{
    int deepest = 0, depth;
    const char *key;
    json_t *item;
    size_t i;

    json_array_foreach(value, i, item)
    {
        depth = depth_of(item);
        deepest = depth > deepest ? depth : deepest;
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
    {
        depth = depth_of(item);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + (json_is_array(value) || json_is_object(value));
}

static bool
has_real(const json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;

    json_array_foreach(value, i, item) if (has_real(item)) return true;
    json_object_foreach((json_t *)(uintptr_t)value, key,
                        item) if (has_real(item)) return true;
    return json_is_real(value);
}

/* What is written reads as the same, and is written the same again. */
static void
check_written(const json_t *value)
{
    scoped_buffer first = { 0 };
    scoped_buffer second = { 0 };
    struct error err;

    json_write(&first, value);
    {
        scoped_json again = json_read(first.bytes, first.size, &err);

        if (again == NULL || !json_equal(again, (json_t *)(uintptr_t)value))
            __builtin_trap();
        json_write(&second, again);
    }
    if (first.size != second.size ||
        memcmp(first.bytes, second.bytes, first.size) != 0)
        __builtin_trap();
}

/* Beside jansson on its own: what is taken is what it takes, but for depth
 * and fractions, which are counted here from its tree. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    struct error err = { 0 };
    scoped_json own = json_read(bytes, size, &err);
    scoped_json other =
        json_loadb(bytes, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);

    if (own == NULL && (err.code == ERROR_NONE || err.text[0] == '\0'))
        __builtin_trap();
    if (own != NULL) {
        if (other == NULL || !json_equal(own, other) || has_real(own) ||
            depth_of(own) > JSON_DEPTH_MAX)
            __builtin_trap();
        check_written(own);
    } else if (other != NULL && !has_real(other) &&
               depth_of(other) <= JSON_DEPTH_MAX) {
        __builtin_trap();
    }
    return 0;
}
