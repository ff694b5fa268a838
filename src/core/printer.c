/* SPDX-License-Identifier: Apache-2.0 */
#include "core/printer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/canon.h"
#include "base/clock.h"
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

/* A comma, a name between quotes and a colon, and perhaps null. */
#define LEAD_MAX 40
/* The longest value that is written without a look at its length: an id. */
#define SHORT_MAX (ID_TEXT_MAX + 2)

struct member {
    const char *name;
    const struct field *field; /* NULL: of the head */
    enum head head;
    size_t lead_size;
    char lead[LEAD_MAX];
    size_t blank_size; /* of the lead with the value of what is not set */
    char blank[LEAD_MAX];
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

static const char *
blank_of(const struct field *field)
{
    if (field == NULL)
        return "";
    switch (field->type) {
    case FIELD_NAME:
    case FIELD_TEXT:
        return "\"\"";
    case FIELD_INT:
        return "0";
    case FIELD_BOOL:
        return "false";
    case FIELD_TIME:
    case FIELD_REF:
    case FIELD_DOC:
        return "null";
    case FIELD_ENUM:
    case FIELD_BYTES:
    case FIELD_VERBS:
        break;
    }
    return "";
}

static void
add_member(struct printer *printer, const char *name,
           const struct field *field, enum head head)
{
    struct member *member = &printer->members[printer->count++];
    int size;

    *member = (struct member){ .name = name, .field = field, .head = head };
    size = snprintf(member->lead, LEAD_MAX, ",\"%s\":", name);
    assert(size > 0 && size < LEAD_MAX);
    member->lead_size = (size_t)size;
    size = snprintf(member->blank, LEAD_MAX, ",\"%s\":%s", name,
                    blank_of(field));
    assert(size > 0 && size < LEAD_MAX);
    member->blank_size = (size_t)size;
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
    int64_t time_ms; /* the time that was written last */
    char time[CLOCK_TEXT_MAX];
};

/* --- short values, at a place with room for SHORT_MAX; each returns the
 * end --- */

static char *
put_text(char *at, const char *text, size_t size)
{
    memcpy(at, text, size);
    return at + size;
}

static char *
put_null(char *at)
{
    return put_text(at, "null", 4);
}

static char *
put_quoted(char *at, const char *text)
{
    size_t size = strlen(text);

    *at = '"';
    memcpy(at + 1, text, size + 1);
    at[size + 1] = '"';
    return at + size + 2;
}

static char *
put_id(char *at, const char *prefix, struct id id)
{
    *at = '"';
    id_format(prefix, id, at + 1);
    at += strlen(prefix) + 1 + ID_DIGITS + 1;
    *at = '"';
    return at + 1;
}

static char *
put_ref(const struct job_of_writing *job, char *at, struct ref ref)
{
    const struct object *object = world_get(job->world, ref);

    if (object == NULL)
        return put_null(at);
    if (job->link != NULL)
        job->link(job->context, ref);
    return put_id(at, schema_get((enum kind)ref.kind)->prefix, object->id);
}

/* Most times of an object are the same. */
static char *
put_time(struct job_of_writing *job, char *at, int64_t wall_ms)
{
    if (wall_ms == 0)
        return put_null(at);
    if (wall_ms != job->time_ms) {
        clock_format(wall_ms, job->time);
        job->time_ms = wall_ms;
    }
    return put_quoted(at, job->time);
}

static char *
put_bool(char *at, bool value)
{
    return value ? put_text(at, "true", 4) : put_text(at, "false", 5);
}

/* --- long ones --- */

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
        buffer_add(out, "null", 4);
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

/* --- members --- */

/* Most members of most objects are not set. */
static bool
is_blank(const struct printer *printer, const struct field *field,
         const struct object *object)
{
    const void *at = field_at(field, object);

    switch (field->type) {
    case FIELD_NAME:
    case FIELD_TEXT:
        return *(const char *)at == '\0';
    case FIELD_INT:
    case FIELD_TIME:
        return *(const int64_t *)at == 0;
    case FIELD_BOOL:
        return !*(const bool *)at;
    case FIELD_REF:
        return ref_is_none(*(const struct ref *)at) &&
               ((field->flags & FIELD_ALIAS) == 0 || printer->platform);
    case FIELD_DOC:
        return *(struct blob *const *)at == NULL;
    case FIELD_ENUM:
    case FIELD_BYTES:
    case FIELD_VERBS:
        break;
    }
    return false;
}

static void
add_short(struct job_of_writing *job, const struct field *field)
{
    const void *at = field_at(field, job->object);
    char *begin = buffer_room(job->out, SHORT_MAX), *end;

    if (field->type == FIELD_INT)
        end = canon_int_at(begin, *(const int64_t *)at);
    else if (field->type == FIELD_TIME)
        end = put_time(job, begin, *(const int64_t *)at);
    else if (field->type == FIELD_BOOL)
        end = put_bool(begin, *(const bool *)at);
    else
        end = put_ref(job, begin, *(const struct ref *)at);
    buffer_grew(job->out, (size_t)(end - begin));
}

static bool
add_field(struct job_of_writing *job, const struct field *field)
{
    const void *at = field_at(field, job->object);
    struct buffer *out = job->out;

    switch (field->type) {
    case FIELD_NAME:
    case FIELD_TEXT:
        return add_text(job, at);
    case FIELD_ENUM:
        return canon_text(out, field->names[*(const int *)at]);
    case FIELD_REF:
        if ((field->flags & FIELD_ALIAS) != 0 && !job->printer->platform) {
            char text[ID_TEXT_MAX];

            object_alias(job->object->id, text);
            return add_text(job, text);
        }
        add_short(job, field);
        break;
    case FIELD_INT:
    case FIELD_TIME:
    case FIELD_BOOL:
        add_short(job, field);
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
add_head(struct job_of_writing *job, enum head head)
{
    const struct printer *printer = job->printer;
    const struct object *object = job->object;
    char *begin = buffer_room(job->out, SHORT_MAX), *end = begin;

    switch (head) {
    case HEAD_ID:
        end = put_id(begin, printer->schema->prefix, object->id);
        break;
    case HEAD_TYPE:
        return canon_text(job->out, printer->schema->name);
    case HEAD_NAME:
        return add_text(job, object->name);
    case HEAD_PARENT:
        end = put_ref(job, begin, object->parent);
        break;
    case HEAD_VERSION:
        end = canon_int_at(begin, (int64_t)object->version);
        break;
    case HEAD_REVISION:
        /* The platform's revision moves with every tenant's work. */
        if (!printer->platform && object->scope.kind != KIND_TENANT)
            return false;
        end = canon_int_at(begin, (int64_t)object->revision);
        break;
    case HEAD_CREATED:
        end = put_time(job, begin, object->created_ms);
        break;
    case HEAD_UPDATED:
        end = put_time(job, begin, object->updated_ms);
        break;
    case HEAD_COUNT:
        break;
    }
    buffer_grew(job->out, (size_t)(end - begin));
    return true;
}

static void
put_begin(struct buffer *out, const char *text, size_t size, bool first)
{
    memcpy(buffer_room(out, LEAD_MAX), text + first, LEAD_MAX - 1);
    buffer_grew(out, size - first);
}

/* False when the member is not written at all. */
static bool
add_one(struct job_of_writing *job, const struct member *member, bool first)
{
    if (member->field != NULL &&
        is_blank(job->printer, member->field, job->object)) {
        put_begin(job->out, member->blank, member->blank_size, first);
        return true;
    }
    put_begin(job->out, member->lead, member->lead_size, first);
    return member->field != NULL ? add_field(job, member->field)
                                 : add_head(job, member->head);
}

static bool
is_it(const struct member *member, const char *name)
{
    return name != NULL && name[0] == member->name[0] &&
           strcmp(name, member->name) == 0;
}

void
printer_add(const struct printer *printer, struct buffer *out,
            const struct world *world, const void *image, const char *without,
            printer_link *link, void *context)
{
    struct job_of_writing job = { printer, out,  world, image,
                                  link,    context, 0,     "" };
    bool first = true;

    buffer_add_byte(out, '{');
    for (size_t i = 0; i < printer->count; i++) {
        const struct member *member = &printer->members[i];
        size_t mark = out->size;

        if (is_it(member, without))
            continue;
        if (add_one(&job, member, first))
            first = false;
        else
            out->size = mark;
    }
    buffer_add_byte(out, '}');
}
