/* SPDX-License-Identifier: Apache-2.0 */
#include "core/place_group.h"

#include <string.h>

bool
place_group_is_same(enum place_group group, const struct card *a,
                    const struct card *b)
{
    if (a == b)
        return true;
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

bool
place_group_differs(const struct card *a, const struct card *b)
{
    return strcmp(a->island, b->island) != 0 || a->numa != b->numa ||
           strcmp(a->bus, b->bus) != 0;
}

bool
place_group_of_level(enum topology level, enum place_group *group_out)
{
    switch (level) {
    case TOPOLOGY_POOL:
    case TOPOLOGY_LEAF:
    case TOPOLOGY_NODE:
        return false;
    case TOPOLOGY_NUMA:
        *group_out = GROUP_NUMA;
        return true;
    case TOPOLOGY_SWITCH:
        *group_out = GROUP_SWITCH;
        return true;
    case TOPOLOGY_ISLAND:
        *group_out = GROUP_ISLAND;
        return true;
    }
    return false;
}

bool
place_group_of_class(const struct class *class, enum place_group *group_out)
{
    if (class->form != FORM_WHOLE || class->count < 2)
        return false;
    switch ((enum class_interconnect)class->interconnect) {
    case INTERCONNECT_ANY:
        return false;
    case INTERCONNECT_NUMA:
        *group_out = GROUP_NUMA;
        return true;
    case INTERCONNECT_SWITCH:
        *group_out = GROUP_SWITCH;
        return true;
    case INTERCONNECT_ISLAND:
        *group_out = GROUP_ISLAND;
        return true;
    }
    return false;
}

const char *
place_group_text(enum place_group group)
{
    static const char *const texts[PLACE_GROUPS] = { "island", "NUMA node",
                                                     "PCIe switch" };

    return texts[group];
}
