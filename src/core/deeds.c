/* SPDX-License-Identifier: Apache-2.0 */
#include "core/deeds.h"

#include "core/object.h"

void
deeds_add(struct changes *changes, struct blob **list, int64_t *count,
          enum verb verb, struct ref object)
{
    struct error ignored;
    scoped_json all = *list == NULL ? json_array()
                                    : json_read((*list)->bytes,
                                                (*list)->size, &ignored);
    scoped_buffer text = { 0 };

    ++*count;
    if (json_array_size(all) >= DEEDS_MAX)
        return;
    (void)json_array_append_new(
        all, json_pack("{s:s, s:o, s:o}", "verb", verb_name(verb), "object",
                       object_id_json(changes->world, object), "at",
                       json_time(changes->context.now_ms)));
    json_write(&text, all);
    change_doc(changes, list, buffer_text(&text));
}
