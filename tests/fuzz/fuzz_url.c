/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What gets through has no segment that means something else to a proxy. */
static void
check_segment(const char *segment)
{
    if (segment[0] == '\0' || strcmp(segment, ".") == 0 ||
        strcmp(segment, "..") == 0)
        __builtin_trap();
    for (const char *at = segment; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || *at == '/' || *at == 0x7f)
            __builtin_trap();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena arena = arena_new();
    char *target = arena_strndup(arena, (const char *)data, size);
    struct url url;
    struct error err;
    if (url_parse(arena, target, &url, &err) != 0)
        return 0;
    if (url.segment_count > URL_SEGMENTS_MAX ||
        url.parameter_count > URL_PARAMETERS_MAX)
        __builtin_trap();
    for (size_t i = 0; i < url.segment_count; i++)
        check_segment(url.segments[i]);
    for (size_t i = 0; i < url.parameter_count; i++)
        if (url_get(&url, url.parameters[i].name) == NULL)
            __builtin_trap();
    return 0;
}
