/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules.h"

#include <string.h>

#include "core/breakglass.h"
#include "core/guard.h"
#include "core/workorder.h"

/* Guards, break-glasses, work orders, and conditions of grants. */

/* --- guards --- */

static int
check_guard(const struct guard *guard, struct error *err)
{
    int verb = verb_parse(guard->object.name);

    if (verb < 0)
        return error_field(err, "/name",
                           "a guard is named like its verb; \"%s\" is none",
                           guard->object.name);
    if (!guard_fits((enum verb)verb))
        return error_field(err, "/name",
                           "%s takes no guard: it changes nothing, or it is "
                           "what guards are lifted with",
                           guard->object.name);
    if (!guard->step_up && guard->approvers == 0)
        return error_field(err, "/approvers",
                           "a guard asks for something: step_up, or approvers "
                           "of 1 and more; to lift it, delete it");
    return 0;
}

int
rules_create_guard(const struct edit *edit, void *image, struct error *err)
{
    (void)edit;
    return check_guard(image, err);
}

int
rules_update_guard(const struct edit *edit, const void *before, void *image,
                   struct error *err)
{
    (void)edit;
    (void)before;
    return check_guard(image, err);
}

int
rules_create_breakglass(const struct edit *edit, void *image,
                        struct error *err)
{
    return breakglass_open(edit->actor, edit->changes, image, err);
}

/* --- devices --- */

static struct ref
find_device(const struct edit *edit, const char *text)
{
    struct ref ref = object_find_text(edit->world, text);

    if (ref_is_none(ref))
        world_each(edit->world, KIND_NODE, node)
            if (strcmp(world_object(edit->world, node)->name, text) == 0)
                ref = node;
    if ((ref.kind != KIND_NODE && ref.kind != KIND_CARD) ||
        !access_visible(edit->granted, ref))
        return (struct ref){ 0 };
    return ref;
}

int
rules_settle_devices(const struct edit *edit, struct blob **list,
                     struct error *err)
{
    const json_t *given = json_object_get(edit->body, "devices"), *item;
    scoped_json ids = json_array();
    scoped_buffer text = { 0 };
    size_t i;

    if (!edit_has(edit, "devices"))
        return 0;
    if (!json_is_array(given))
        return error_field(err, "/devices",
                           "must be a list of nodes and cards");
    json_array_foreach(given, i, item) {
        const char *name = json_string_value(item);
        struct ref ref = { 0 };

        if (name != NULL)
            ref = find_device(edit, name);
        if (ref_is_none(ref))
            return error_field(err, "/devices",
                               "item %zu is not a node or card", i);
        (void)json_array_append_new(ids, object_id_json(edit->world, ref));
    }
    json_write(&text, ids);
    change_doc(edit->changes, list, buffer_text(&text));
    return 0;
}

/* --- work orders --- */

int
rules_create_workorder(const struct edit *edit, void *image,
                       struct error *err)
{
    struct workorder *order = image;

    if (rules_settle_devices(edit, &order->devices, err) != 0)
        return -1;
    return workorder_make(edit->actor, edit->changes, order, err);
}

#define CONTENT_MAX 16384

int
rules_create_opdocument(const struct edit *edit, void *image,
                        struct error *err)
{
    const json_t *content = json_object_get(edit->body, "content");
    struct opdocument *text = image;

    if (!json_is_string(content) || json_string_length(content) > CONTENT_MAX)
        return error_field(err, "/content",
                           "the content is a text of at most %d bytes",
                           CONTENT_MAX);
    text->author = edit->actor->subject;
    return 0;
}
