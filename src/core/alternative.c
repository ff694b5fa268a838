/* SPDX-License-Identifier: Apache-2.0 */
#include "core/alternative.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "core/object.h"

size_t
alternative_list(const struct world *world, const struct workload *workload,
                 struct ref classes_out[ALTERNATIVE_MAX])
{
    struct error ignored;
    scoped_json list = NULL;
    size_t count = 0;

    if (workload->classes != NULL)
        list = json_read(workload->classes->bytes, workload->classes->size,
                         &ignored);
    for (size_t i = 0; i < json_array_size(list) && count < ALTERNATIVE_MAX;
         i++) {
        const char *id = json_string_value(json_array_get(list, i));
        struct ref ref =
            id != NULL ? object_find_text(world, id) : (struct ref){ 0 };

        if (ref.kind == KIND_CLASS && world_class(world, ref) != NULL)
            classes_out[count++] = ref;
    }
    if (count == 0)
        classes_out[count++] = workload->class;
    return count;
}

const struct workload *
alternative_copies(const struct world *world, const struct workload *workload,
                   struct arena *arena, size_t *count_out)
{
    struct ref classes[ALTERNATIVE_MAX];
    size_t count = alternative_list(world, workload, classes);
    struct workload *copies;

    *count_out = count;
    if (count == 1 && ref_equal(classes[0], workload->class))
        return workload;
    copies = arena_alloc(arena, count * sizeof(*copies));
    for (size_t i = 0; i < count; i++) {
        copies[i] = *workload;
        copies[i].class = classes[i];
        copies[i].classes = NULL;
    }
    return copies;
}

/* --- the verdict --- */

/* Not now is nearer than never, a limit nearer than a shape. */
static int
distance(const struct verdict *verdict)
{
    if (verdict->state == WORKLOAD_QUEUED)
        return 0;
    if (verdict->state == WORKLOAD_GATED)
        return 1;
    return verdict->reason == REASON_LIMIT_NEVER ? 2 : 3;
}

size_t
alternative_nearest(const struct verdict *verdicts, size_t count)
{
    size_t nearest = 0;

    for (size_t i = 1; i < count; i++)
        if (distance(&verdicts[i]) < distance(&verdicts[nearest]))
            nearest = i;
    return nearest;
}

static void
say_quota(struct buffer *text, const struct world *world,
          const struct verdict *verdict)
{
    const struct quota *quota = world_quota(world, verdict->quota);
    char need[REASON_AMOUNT_MAX], have[REASON_AMOUNT_MAX],
        limit[REASON_AMOUNT_MAX], node[NAME_MAX_SIZE + 16];

    buffer_printf(text, "%s needed, ",
                  reason_amount(need, quota->dimension, verdict->need));
    /* The use of the whole platform is not told. */
    if (verdict->limit == AMOUNT_NONE) {
        buffer_add_text(text, "the limit of the platform is reached");
        return;
    }
    if (verdict->state != WORKLOAD_REJECTED)
        buffer_printf(text, "%s used of ",
                      reason_amount(have, quota->dimension, verdict->have));
    else
        buffer_add_text(text, "at most ");
    buffer_printf(text, "%s in %s",
                  reason_amount(limit, quota->dimension, verdict->limit),
                  reason_node(node, world, quota->object.parent));
}

/* What binds one alternative, in few words. */
static void
say_bound(struct buffer *text, const struct world *world,
          const struct verdict *verdict)
{
    if (world_quota(world, verdict->quota) != NULL)
        say_quota(text, world, verdict);
    else if (verdict->reason == REASON_POLICY)
        buffer_add_text(text, "not allowed");
    else if (verdict->reason == REASON_SHAPE && verdict->need > 0)
        buffer_printf(text, "%" PRId64 " needed, %" PRId64
                            " possible if all were empty",
                      verdict->need, verdict->have);
    else if (verdict->reason == REASON_FRAGMENTED)
        buffer_printf(text, "%" PRId64 " needed, %" PRId64
                            " free, at most %" PRId64 " in one place",
                      verdict->need, verdict->have, verdict->limit);
    else if (verdict->state == WORKLOAD_QUEUED)
        buffer_printf(text, "%" PRId64 " needed, %" PRId64 " free",
                      verdict->need, verdict->have);
    else
        buffer_add_text(text, schema_field(KIND_WORKLOAD, "reason")
                                  ->names[verdict->reason]);
}

void
alternative_say(const struct world *world, const struct workload *copies,
                const struct verdict *verdicts, size_t count,
                struct verdict *verdict_out)
{
    scoped_buffer text = { 0 };
    size_t shown = 0;

    *verdict_out = verdicts[alternative_nearest(verdicts, count)];
    if (count < 2)
        return;
    buffer_add_text(&text,
                    verdict_out->state == WORKLOAD_REJECTED
                        ? "it can never start with any of its classes: "
                        : "none of its classes has room for it now: ");
    for (size_t i = 0; i < count; i++) {
        const struct class *class = world_class(world, copies[i].class);
        size_t before = text.size;

        buffer_printf(&text, "%s%s: ", i > 0 ? "; " : "",
                      class != NULL ? class->object.name : "?");
        say_bound(&text, world, &verdicts[i]);
        if (text.size > TEXT_MAX_SIZE - sizeof("; 8 more: `explain`")) {
            text.size = before;
            break;
        }
        shown++;
    }
    (void)snprintf(verdict_out->text, sizeof(verdict_out->text), "%.*s",
                   (int)text.size, text.bytes);
    if (shown < count)
        (void)snprintf(verdict_out->text + text.size,
                       sizeof(verdict_out->text) - text.size,
                       "; %zu more: `explain`", count - shown);
}
