/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "core/manifest.h"
#include "core/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The canonical form of what is accepted is accepted and stays as it is. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct hash_key key = { 1, 2 };
    struct world *world = world_new(&key);
    const struct ref project = { 0 };
    struct error err;
    json_t *spec = json_read((const char *)data, size, &err);
    json_t *first = NULL, *second = NULL;

    if (spec != NULL &&
        manifest_check(world, project, spec, "/spec", &first, &err) == 0 &&
        (manifest_check(world, project, first, "/spec", &second, &err) != 0 ||
         !json_equal(first, second)))
        __builtin_trap();
    json_decref(spec);
    json_decref(first);
    json_decref(second);
    world_free(world);
    return 0;
}
