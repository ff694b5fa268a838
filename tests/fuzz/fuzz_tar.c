/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runner/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
    const uint8_t *at;
    size_t left;
};

static ssize_t
read_source(void *data, void *bytes, size_t size, struct error *err)
{
    struct source *source = data;

    (void)err;
    if (size > source->left)
        size = source->left;
    if (size > 0)
        memcpy(bytes, source->at, size);
    source->at += size;
    source->left -= size;
    return (ssize_t)size;
}

/* An entry gives no more bytes than it has, texts end, sizes are bounded. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source source = { data, size };
    struct tar tar = { .read = read_source, .source = &source };
    static struct tar_entry entry;
    struct error err;
    char bytes[300];

    while (tar_next(&tar, &entry, &err) == 1) {
        int64_t got = 0;
        ssize_t part;

        if (entry.size < 0 || memchr(entry.path, 0, TAR_PATH_MAX) == NULL ||
            memchr(entry.link, 0, TAR_PATH_MAX) == NULL)
            __builtin_trap();
        /* Every third entry is left unread, as a caller may. */
        if (entry.size % 3 == 2)
            continue;
        while ((part = tar_data(&tar, bytes, sizeof(bytes), &err)) > 0)
            got += part;
        if (part == 0 && got != entry.size)
            __builtin_trap();
        if (part < 0)
            return 0;
    }
    return 0;
}
