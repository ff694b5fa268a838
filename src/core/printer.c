/* SPDX-License-Identifier: Apache-2.0 */
#include "core/printer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/canon.h"
#include "base/json.h"
#include "core/object.h"
#include "core/verb.h"

/* What stands before the fields of every kind. */
enum head {
    HEAD_ID,
    HEAD_TYPE,
    HEAD_NAME,
    HEAD_PARENT,
    HEAD_VERSION,
    HEAD_REVISION,
    HEAD_CREATED,
    HEAD_UPDATED,
    HEAD_COUNT
};

static const char *const head_names[HEAD_COUNT] = {
    "id",      "type",     "name",    "parent",
    "version", "revision", "created", "updated",
};

struct member {
    const char *name;
    const struct field *field; /* NULL: of the head */
    enum head head;
    char *lead; /* comma, quoted name and colon; owned */
    size_t lead_size;
};

struct printer {
    const struct schema *schema;
    bool platform;
    size_t count;
    struct member members[]; /* in the order of json_write */
};

/* --- making one --- */

static int
compare_members(const void *a, const void *b)
{
    const struct member *one = a, *two = b;

    return canon_compare(one->name, strlen(one->name), two->name,
                         strlen(two->name));
}

static void
add_member(struct printer *printer, const char *name,
           const struct field *field, enum head head)
{
    struct member *member = &printer->members[printer->count++];
    struct buffer lead = { 0 };

    buffer_add_byte(&lead, ',');
    (void)canon_text(&lead, name);
    buffer_add_byte(&lead, ':');
    *member = (struct member){ .name = name, .field = field, .head = head };
    member->lead_size = lead.size;
    member->lead = buffer_take(&lead);
}

static bool
is_shown(const struct field *field, bool platform)
{
    return (field->flags & FIELD_SECRET) == 0 &&
           ((field->flags & FIELD_PLATFORM) == 0 || platform);
}

struct printer *
printer_new(enum kind kind, bool platform)
{
    const struct schema *schema = schema_get(kind);
    size_t derived_count;
    const struct field *derived = object_derived(kind, &derived_count);
    size_t room = HEAD_COUNT + schema->field_count + derived_count;
    struct printer *printer =
        memory_new(1, sizeof(*printer) + room * sizeof(struct member));

    printer->schema = schema;
    printer->platform = platform;
    for (unsigned head = 0; head < HEAD_COUNT; head++)
        add_member(printer, head_names[head], NULL, (enum head)head);
    for (size_t i = 0; i < schema->field_count; i++)
        if (is_shown(&schema->fields[i], platform))
            add_member(printer, schema->fields[i].name, &schema->fields[i],
                       HEAD_COUNT);
    for (size_t i = 0; i < derived_count; i++)
        add_member(printer, derived[i].name, &derived[i], HEAD_COUNT);
    qsort(printer->members, printer->count, sizeof(struct member),
          compare_members);
    return printer;
}

void
printer_free(struct printer *printer)
{
    if (printer == NULL)
        return;
    for (size_t i = 0; i < printer->count; i++)
        free(printer->members[i].lead);
    free(printer);
}

/* --- writing --- */

struct job_of_writing {
    const struct printer *printer;
    struct buffer *out;
    const struct world *world;
    const struct object *object;
    printer_link *link;
    void *context;
};

static void
add_null(struct buffer *out)
{
    buffer_add(out, "null", 4);
}

static void
add_id(struct buffer *out, const char *prefix, struct id id)
{
    char text[ID_TEXT_MAX + 2] = "\"";
    size_t size;

    id_format(prefix, id, text + 1);
    size = strlen(text);
    text[size] = '"';
    buffer_add(out, text, size + 1);
}

static void
add_ref(const struct job_of_writing *job, struct ref ref)
{
    const struct object *object = world_get(job->world, ref);

    if (object == NULL) {
        add_null(job->out);
        return;
    }
    add_id(job->out, schema_get((enum kind)ref.kind)->prefix, object->id);
    if (job->link != NULL)
        job->link(job->context, ref);
}

/* A text that a client set may be an id as well. */
static bool
add_text(const struct job_of_writing *job, const char *text)
{
    if (!canon_text(job->out, text))
        return false;
    if (job->link != NULL && strchr(text, '_') != NULL) {
        struct ref ref = object_find_text(job->world, text);

        if (!ref_is_none(ref))
            job->link(job->context, ref);
    }
    return true;
}

static void
add_doc(struct buffer *out, const struct blob *blob)
{
    scoped_json doc = NULL;

    if (blob != NULL && canon_check(blob->bytes, blob->size)) {
        buffer_add(out, blob->bytes, blob->size);
        return;
    }
    if (blob != NULL)
        doc = json_loadb(blob->bytes, blob->size, JSON_DECODE_ANY, NULL);
    if (doc != NULL)
        json_write(out, doc);
    else
        add_null(out);
}

static void
add_verbs(struct buffer *out, const struct verbs *verbs)
{
    bool first = true;

    buffer_add_byte(out, '[');
    for (int verb = 0; verb < 64 * VERB_WORDS; verb++) {
        if ((verbs->word[verb / 64] >> (verb % 64) & 1) == 0 ||
            verb_name((enum verb)verb) == NULL)
            continue;
        if (!first)
            buffer_add_byte(out, ',');
        (void)canon_text(out, verb_name((enum verb)verb));
        first = false;
    }
    buffer_add_byte(out, ']');
}

static void
add_bytes(struct buffer *out, const void *bytes, size_t size)
{
    char hex[2 * 64 + 1];

    assert(size <= 64);
    hex_encode(bytes, size, hex);
    (void)canon_text(out, hex);
}

static bool
add_field(const struct job_of_writing *job, const struct field *field)
{
    const void *at = field_at(field, job->object);
    struct buffer *out = job->out;

    switch (field->type) {
    case FIELD_NAME:
    case FIELD_TEXT:
        return add_text(job, at);
    case FIELD_INT:
        canon_int(out, *(const int64_t *)at);
        break;
    case FIELD_TIME:
        canon_time(out, *(const int64_t *)at);
        break;
    case FIELD_BOOL:
        buffer_add_text(out, *(const bool *)at ? "true" : "false");
        break;
    case FIELD_ENUM:
        return canon_text(out, field->names[*(const int *)at]);
    case FIELD_REF:
        if ((field->flags & FIELD_ALIAS) != 0 && !job->printer->platform) {
            char text[ID_TEXT_MAX];

            object_alias(job->object->id, text);
            return add_text(job, text);
        }
        add_ref(job, *(const struct ref *)at);
        break;
    case FIELD_DOC:
        add_doc(out, *(struct blob *const *)at);
        break;
    case FIELD_BYTES:
        add_bytes(out, at, field->size);
        break;
    case FIELD_VERBS:
        add_verbs(out, at);
        break;
    }
    return true;
}

/* False when the member is not written at all. */
static bool
add_head(const struct job_of_writing *job, enum head head)
{
    const struct printer *printer = job->printer;
    const struct object *object = job->object;

    switch (head) {
    case HEAD_ID:
        add_id(job->out, printer->schema->prefix, object->id);
        break;
    case HEAD_TYPE:
        return canon_text(job->out, printer->schema->name);
    case HEAD_NAME:
        return add_text(job, object->name);
    case HEAD_PARENT:
        add_ref(job, object->parent);
        break;
    case HEAD_VERSION:
        canon_int(job->out, (int64_t)object->version);
        break;
    case HEAD_REVISION:
        /* The platform's revision moves with every tenant's work. */
        if (!printer->platform && object->scope.kind != KIND_TENANT)
            return false;
        canon_int(job->out, (int64_t)object->revision);
        break;
    case HEAD_CREATED:
        canon_time(job->out, object->created_ms);
        break;
    case HEAD_UPDATED:
        canon_time(job->out, object->updated_ms);
        break;
    case HEAD_COUNT:
        break;
    }
    return true;
}

void
printer_add(const struct printer *printer, struct buffer *out,
            const struct world *world, const void *image, const char *without,
            printer_link *link, void *context)
{
    const struct job_of_writing job = { printer, out,  world,
                                        image,   link, context };
    bool first = true;

    buffer_add_byte(out, '{');
    for (size_t i = 0; i < printer->count; i++) {
        const struct member *member = &printer->members[i];
        size_t mark = out->size;

        if (without != NULL && strcmp(without, member->name) == 0)
            continue;
        buffer_add(out, member->lead + first, member->lead_size - first);
        if (member->field != NULL ? add_field(&job, member->field)
                                  : add_head(&job, member->head))
            first = false;
        else
            out->size = mark;
    }
    buffer_add_byte(out, '}');
}
