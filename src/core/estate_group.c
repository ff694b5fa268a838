/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/estate_private.h"

/* Which cards of a site are close to each other. */

static bool
are_close(const struct face *a, const struct face *b, enum place_group group)
{
    switch (group) {
    case GROUP_ISLAND:
        return a->island[0] != '\0' && strcmp(a->island, b->island) == 0;
    case GROUP_NUMA:
        return a->numa >= 0 && a->numa == b->numa;
    case GROUP_SWITCH:
        return a->bus[0] != '\0' && strcmp(a->bus, b->bus) == 0;
    }
    return false;
}

void
estate_group_derive(const struct estate *estate, size_t first,
                    struct part *parts, size_t count)
{
    const struct face *faces = &estate->inside->faces[first];

    for (int group = 0; group < PLACE_GROUPS; group++)
        for (size_t i = 0; i < count; i++) {
            size_t at = 0;

            while (at < i && !are_close(&faces[at], &faces[i],
                                        (enum place_group)group))
                at++;
            parts[i].groups[group] = (uint32_t)(first + at);
        }
}
