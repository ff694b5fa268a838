/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate_private.h"

#include <inttypes.h>
#include <string.h>

#include "core/image.h"

/* What nodes and cards have to say for a workload. */

/* What was asked of images before; one place for many names. */
#define IMAGES_KNOWN 64
struct gate_images {
    struct {
        char name[VERSION_TEXT_MAX];
        bool everywhere;
    } list[IMAGES_KNOWN];
};

void
gate_keep_images(struct gate *gate)
{
    if (gate->images != NULL)
        return;
    gate->images = arena_alloc(gate->arena, sizeof(*gate->images));
    memset(gate->images, 0, sizeof(*gate->images));
}

static bool
is_everywhere(const struct gate *gate, const char *image)
{
    static const struct hash_key any = { 0, 0 }; /* equality alone counts */
    size_t size = (size_t)image_name_size(image), at;
    char *name;

    if (size == 0 || size >= VERSION_TEXT_MAX)
        return true;
    if (gate->images == NULL)
        return image_is_everywhere(gate->world, image);
    at = hash_bytes(&any, image, size) % IMAGES_KNOWN;
    name = gate->images->list[at].name;
    if (strncmp(name, image, size) != 0 || name[size] != '\0') {
        (void)snprintf(name, VERSION_TEXT_MAX, "%.*s", (int)size, image);
        gate->images->list[at].everywhere =
            image_is_everywhere(gate->world, image);
    }
    return gate->images->list[at].everywhere;
}

size_t
gate_needs(const struct gate *gate, const struct workload *workload,
           struct need needs_out[REQUIRE_MAX], uint64_t *digest_out)
{
    return require_list(gate->world, workload,
                        !is_everywhere(gate, workload->image), needs_out,
                        digest_out);
}

bool
gate_say_incompatible(const struct gate *gate, const struct workload *workload,
                 struct ref pool, struct verdict *verdict)
{
    const struct class *class = world_class(gate->world, workload->class);
    struct need needs[REQUIRE_MAX];
    char text[REQUIRE_TEXT_MAX], have[REQUIRE_LACK_MAX];
    struct require_lack lack;
    int64_t capacity, memory;
    uint64_t digest;
    size_t count = gate_needs(gate, workload, needs, &digest);
    const struct place_amount amount = { workload->instances,
                                         workload->cpu_milli,
                                         workload->memory_mib, NULL, 0 };
    size_t hardest;

    if (count == 0 ||
        !place_shape(gate->world, pool, class,
                     manifest_topology(workload->spec), &amount, &capacity,
                     &memory))
        return false;
    hardest = require_hardest(gate->world, pool, class, needs, count, false,
                              &lack);
    verdict_set(verdict, WORKLOAD_REJECTED,
                require_is_image(&needs[hardest]) ? REASON_IMAGE
                                                  : REASON_COMPATIBILITY,
                "it needs %s: %" PRId64 " of the %" PRId64
                " cards of class %s in pool %s do not have it%s%s",
                require_text(text, gate->world, &needs[hardest]), lack.missing,
                lack.cards, class->object.name,
                world_pool(gate->world, pool)->object.name,
                require_is_image(&needs[hardest]) ? "" : ": ",
                require_is_image(&needs[hardest])
                    ? ""
                    : require_lack_text(have, &lack));
    verdict_numbers(verdict, workload->instances, lack.cards - lack.missing,
                    AMOUNT_NONE);
    return true;
}

void
gate_add_needs(const struct gate *gate, const struct workload *workload,
          struct place_request *request)
{
    struct need needs[REQUIRE_MAX], *kept;

    request->need_count = gate_needs(gate, workload, needs, &request->needs_digest);
    if (request->need_count == 0)
        return;
    kept = arena_alloc(gate->arena, request->need_count * sizeof(*kept));
    memcpy(kept, needs, request->need_count * sizeof(*kept));
    request->needs = kept;
}
