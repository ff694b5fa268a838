/* SPDX-License-Identifier: Apache-2.0 */
#include "core/image.h"

#include <string.h>

#include "core/node_type.h"

static const char head[] = "\"images\":[";

int
image_name_size(const char *image)
{
    return (int)strcspn(image, "@");
}

/* Facts are canonical JSON and names need no escapes, so they can be looked
 * through as text: a submission asks this of every node. */
static bool
may_have(const char *facts, const char *name, size_t size)
{
    const char *at = strstr(facts, head);

    if (at == NULL)
        return true;
    for (at += sizeof(head) - 1; *at == '"'; at += *at == ',') {
        size_t length = strcspn(++at, "\"");

        if (length == size && memcmp(at, name, size) == 0)
            return true;
        at += length;
        at += *at == '"';
    }
    return false;
}

bool
image_may_be_on(const struct node *node, const char *name, size_t size)
{
    return node->facts == NULL || may_have(node->facts->bytes, name, size);
}

/* Nodes of one type say the same. */
bool
image_is_everywhere(const struct world *world, const char *image)
{
    size_t size = (size_t)image_name_size(image), count;
    const struct node_type *types = node_type_list(world, &count);

    if (size == 0 || strcmp(image, IMAGE_OPEN) == 0)
        return true;
    for (size_t i = 0; i < count; i++)
        if (!ref_is_none(types[i].first) &&
            !image_may_be_on(world_node(world, types[i].first), image, size))
            return false;
    return true;
}

bool
image_is_nowhere(const struct world *world, const char *image)
{
    size_t size = (size_t)image_name_size(image);
    bool asked = false;

    if (strcmp(image, IMAGE_OPEN) == 0)
        return false;
    world_each(world, KIND_NODE, ref) {
        const struct node *node = world_node(world, ref);

        if (image_may_be_on(node, image, size))
            return false;
        asked = true;
    }
    return asked;
}
