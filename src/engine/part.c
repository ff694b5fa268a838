/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/part.h"

#include <ctype.h>
#include <string.h>

#define UUID_MAX 64
#define SLICE_MAX 39

size_t
part_uuid_size(const char *part)
{
    return strcspn(part, "/");
}

const char *
part_slice(const char *part)
{
    size_t size = part_uuid_size(part);

    return part[size] == '/' ? part + size + 1 : "";
}

bool
part_is_sliced(const char *part)
{
    return strcmp(part_slice(part), "sliced") == 0;
}

bool
part_is_cleared(const char *part)
{
    return strcmp(part_slice(part), "cleared") == 0;
}

bool
part_is_slice(const char *part)
{
    return part_slice(part)[0] != '\0' && !part_is_sliced(part) &&
           !part_is_cleared(part);
}

/* Nothing that a path could be led astray by. */
static bool
is_slice(const char *text)
{
    size_t size = strlen(text);

    if (size == 0 || size > SLICE_MAX || !isalnum((unsigned char)text[0]))
        return false;
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)text[i]) &&
            strchr(".+-@", text[i]) == NULL)
            return false;
    return true;
}

bool
part_is_valid(const char *part)
{
    size_t size = part_uuid_size(part);

    if (size == 0 || size > UUID_MAX || part[0] == '-')
        return false;
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)part[i]) && part[i] != '-')
            return false;
    return part[size] == '\0' || is_slice(part + size + 1);
}

bool
part_overlap(const char *a, const char *b)
{
    size_t size = part_uuid_size(a);
    bool whole_a = !part_is_slice(a);
    bool whole_b = !part_is_slice(b);

    if (size != part_uuid_size(b) || strncmp(a, b, size) != 0)
        return false;
    return whole_a || whole_b || strcmp(part_slice(a), part_slice(b)) == 0;
}
