/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/grant.h"

#include <string.h>

#include "engine/part.h"
#include "runner/node.h"

/* "%u" is the card's place in the list of the instance. */
static const char *
path_of(struct arena *arena, const struct accel_node *node, size_t alias)
{
    const char *mark = strstr(node->name, "%u");

    if (node->kind == ACCEL_LIBRARY)
        return arena_printf(arena, GRANT_LIBRARIES "/%s", node->name);
    if (node->plain)
        return arena_printf(arena, "/dev/%s", node->name);
    if (mark == NULL)
        return arena_printf(arena, "/dev/bulkhead/%s", node->name);
    return arena_printf(arena, "/dev/bulkhead/%.*s%zu%s",
                        (int)(mark - node->name), node->name, alias, mark + 2);
}

static bool
has_path(const struct grant_item *items, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(items[i].path, path) == 0)
            return true;
    return false;
}

int
grant_of(struct node *node, const struct instance *instance,
         struct arena *arena, struct grant *out, struct error *err)
{
    const struct runner_start *start = &instance->start;
    struct grant_item *items = arena_alloc(
        arena, (start->card_count * ACCEL_NODES_MAX + 1) * sizeof(*items));
    size_t count = 0;

    for (size_t i = 0; i < start->card_count; i++) {
        struct accel_node list[ACCEL_NODES_MAX];
        size_t found = 0;

        if (accel_nodes(&node->accel, start->cards[i], list, &found, err) != 0)
            return -1;
        for (size_t k = 0; k < found; k++) {
            const char *path = path_of(arena, &list[k], i);

            if ((list[k].manage && start->card_memory_mib > 0) ||
                has_path(items, count, path))
                continue;
            items[count++] = (struct grant_item){
                .kind = list[k].kind,
                .path = path,
                .host_path = arena_strdup(arena, list[k].host_path),
                .major = list[k].major,
                .minor = list[k].minor,
            };
        }
    }
    *out = (struct grant){ .count = count, .items = items };
    return 0;
}

bool
grant_has_libraries(const struct grant *grant)
{
    for (size_t i = 0; i < grant->count; i++)
        if (grant->items[i].kind == ACCEL_LIBRARY)
            return true;
    return false;
}

bool
grant_is_selector(const char *entry, bool of_image)
{
    /* Runtimes that put cards into containers read these. */
    static const char *const runtimes[] = {
        "NVIDIA_VISIBLE_DEVICES",     "NVIDIA_MIG_CONFIG_DEVICES",
        "NVIDIA_MIG_MONITOR_DEVICES", "NVIDIA_IMEX_CHANNELS",
        "NVIDIA_DRIVER_CAPABILITIES", "AMD_VISIBLE_DEVICES",
        "ASCEND_VISIBLE_DEVICES",     "HABANA_VISIBLE_DEVICES",
    };
    /* Libraries read these, and can only take away. */
    static const char *const libraries[] = {
        "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
        "GPU_DEVICE_ORDINAL",   "ZE_AFFINITY_MASK",
    };
    size_t size = strcspn(entry, "=");

    for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
        if (strlen(runtimes[i]) == size &&
            strncmp(entry, runtimes[i], size) == 0)
            return true;
    for (size_t i = 0;
         of_image && i < sizeof(libraries) / sizeof(libraries[0]); i++)
        if (strlen(libraries[i]) == size &&
            strncmp(entry, libraries[i], size) == 0)
            return true;
    return false;
}

const char *
grant_selector(struct node *node, const struct instance *instance,
               struct arena *arena)
{
    const struct runner_start *start = &instance->start;
    const char *list = NULL;

    for (size_t i = 0; i < start->card_count; i++) {
        struct accel_card card;
        struct error ignored = { 0 };

        if (part_slice(start->cards[i])[0] != '\0' ||
            node->accel.ops->simulated ||
            accel_describe(&node->accel, start->cards[i], &card, &ignored) !=
                0 ||
            strcmp(card.vendor, "nvidia") != 0)
            continue;
        list = list == NULL
                   ? arena_strdup(arena, card.uuid)
                   : arena_printf(arena, "%s,%s", list, card.uuid);
    }
    return arena_printf(arena, "NVIDIA_VISIBLE_DEVICES=%s",
                        list != NULL ? list : "void");
}
