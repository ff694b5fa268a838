/* SPDX-License-Identifier: Apache-2.0 */
#include "core/object.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "core/verb.h"

static const char *const head_columns[OBJECT_COLUMNS] = {
    "id",         "seq",        "version", "revision",
    "created_ms", "updated_ms", "parent",  "name"
};

size_t
object_column_count(enum kind kind)
{
    return OBJECT_COLUMNS + schema_get(kind)->field_count;
}

static bool
type_is_text(enum field_type type)
{
    switch (type) {
    case FIELD_INT:
    case FIELD_BOOL:
    case FIELD_TIME:
        return false;
    case FIELD_NAME:
    case FIELD_TEXT:
    case FIELD_ENUM:
    case FIELD_REF:
    case FIELD_DOC:
    case FIELD_BYTES:
    case FIELD_VERBS:
        return true;
    }
    return true;
}

const char *
object_column(enum kind kind, size_t column, bool *is_text_out)
{
    const struct field *field;

    if (column < OBJECT_COLUMNS) {
        *is_text_out = column == 0 || column >= 6;
        return head_columns[column];
    }
    assert(column < object_column_count(kind));
    field = &schema_get(kind)->fields[column - OBJECT_COLUMNS];
    *is_text_out = type_is_text(field->type);
    return field->name;
}

/* --- ids --- */

void
object_id_text(const struct world *world, struct ref ref,
               char text[ID_TEXT_MAX])
{
    const struct object *object = world_get(world, ref);

    if (object == NULL)
        text[0] = '\0';
    else
        id_format(schema_get((enum kind)ref.kind)->prefix, object->id, text);
}

const char *
object_id_copy(const struct world *world, struct ref ref, struct arena *arena)
{
    char text[ID_TEXT_MAX];

    object_id_text(world, ref, text);
    return text[0] != '\0' ? arena_strdup(arena, text) : NULL;
}

json_t *
object_id_json(const struct world *world, struct ref ref)
{
    char text[ID_TEXT_MAX];

    object_id_text(world, ref, text);
    return text[0] != '\0' ? json_string(text) : json_null();
}

static enum kind
kind_of_prefix(const char *text)
{
    size_t size = strcspn(text, "_");

    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
        const char *prefix = schema_get((enum kind)kind)->prefix;

        if (strlen(prefix) == size && strncmp(prefix, text, size) == 0)
            return (enum kind)kind;
    }
    return KIND_NONE;
}

struct ref
object_find_text(const struct world *world, const char *text)
{
    enum kind kind = kind_of_prefix(text);
    struct id id;

    if (kind == KIND_NONE ||
        id_parse(schema_get(kind)->prefix, text, &id) != 0)
        return (struct ref){ 0 };
    return world_find(world, kind, id);
}

/* --- verb sets as text: names with single spaces --- */

static const char *
verbs_text(const struct verbs *verbs, struct arena *arena)
{
    scoped_buffer text = { 0 };

    for (int verb = 0; verb < 64 * VERB_WORDS; verb++) {
        const char *name;

        if ((verbs->word[verb / 64] >> (verb % 64) & 1) == 0)
            continue;
        name = verb_name((enum verb)verb);
        if (name == NULL)
            continue;
        if (text.size > 0)
            buffer_add_byte(&text, ' ');
        buffer_add_text(&text, name);
    }
    return arena_strdup(arena, buffer_text(&text));
}

/* Names that this version does not know are dropped: unknown is deny. */
static struct verbs
verbs_from_text(const char *text, struct arena *arena)
{
    struct verbs verbs = { { 0 } };

    while (*text != '\0') {
        size_t size = strcspn(text, " ");
        int verb = verb_parse(arena_strndup(arena, text, size));

        if (verb >= 0)
            verbs.word[verb / 64] |= UINT64_C(1) << (verb % 64);
        text += size;
        text += strspn(text, " ");
    }
    return verbs;
}

/* --- values for the store --- */

static struct value
text_value(const char *text)
{
    struct value value = { text != NULL ? VALUE_TEXT : VALUE_NULL, 0, text };

    return value;
}

static struct value
int_value(int64_t integer)
{
    struct value value = { VALUE_INT, integer, NULL };

    return value;
}

static struct value
field_value(const struct world *world, const struct field *field,
            const void *image, struct arena *arena)
{
    const void *at = field_at(field, image);
    const struct blob *blob;
    char *hex;

    switch (field->type) {
    case FIELD_NAME:
    case FIELD_TEXT:
        return text_value(arena_strdup(arena, at));
    case FIELD_INT:
    case FIELD_TIME:
        return int_value(*(const int64_t *)at);
    case FIELD_BOOL:
        return int_value(*(const bool *)at);
    case FIELD_ENUM:
        return text_value(field->names[*(const int *)at]);
    case FIELD_REF:
        return text_value(object_id_copy(world, *(const struct ref *)at, arena));
    case FIELD_DOC:
        blob = *(struct blob *const *)at;
        return text_value(blob != NULL ? arena_strndup(arena, blob->bytes,
                                                       blob->size)
                                       : NULL);
    case FIELD_BYTES:
        hex = arena_alloc(arena, 2 * field->size + 1);
        hex_encode(at, field->size, hex);
        return text_value(hex);
    case FIELD_VERBS:
        return text_value(verbs_text(at, arena));
    }
    return text_value(NULL);
}

struct value *
object_values(const struct world *world, enum kind kind, const void *image,
              struct arena *arena)
{
    const struct schema *schema = schema_get(kind);
    const struct object *object = image;
    struct value *values =
        arena_alloc(arena, object_column_count(kind) * sizeof(*values));
    char *id = arena_alloc(arena, ID_TEXT_MAX);

    id_format(schema->prefix, object->id, id);
    values[0] = text_value(id);
    values[1] = int_value((int64_t)object->seq);
    values[2] = int_value((int64_t)object->version);
    values[3] = int_value((int64_t)object->revision);
    values[4] = int_value(object->created_ms);
    values[5] = int_value(object->updated_ms);
    values[6] = text_value(object_id_copy(world, object->parent, arena));
    values[7] = text_value(arena_strdup(arena, object->name));
    for (size_t i = 0; i < schema->field_count; i++)
        values[OBJECT_COLUMNS + i] =
            field_value(world, &schema->fields[i], image, arena);
    return values;
}

static int
bad_value(const struct schema *schema, const char *column, struct error *err)
{
    return error_set(err, ERROR_INTERNAL,
                     "the store holds a value in %s.%s that does not fit",
                     schema->name, column);
}

static int
set_field(const struct world *world, const struct field *field,
          const struct value *value, struct arena *arena, void *image)
{
    void *at = field_of(field, image);
    bool is_null = value->type == VALUE_NULL;
    struct blob *blob;
    int number;

    if (!is_null &&
        (value->type == VALUE_TEXT) != type_is_text(field->type))
        return -1;
    switch (field->type) {
    case FIELD_NAME:
    case FIELD_TEXT:
        if (is_null || strlen(value->text) >= field->size)
            return -1;
        memcpy(at, value->text, strlen(value->text) + 1);
        return 0;
    case FIELD_INT:
    case FIELD_TIME:
        *(int64_t *)at = value->integer;
        return 0;
    case FIELD_BOOL:
        *(bool *)at = value->integer != 0;
        return 0;
    case FIELD_ENUM:
        number = is_null ? -1 : schema_enum_parse(field->names, value->text);
        if (number < 0)
            return -1;
        *(int *)at = number;
        return 0;
    case FIELD_REF:
        /* One that is gone (evicted history) becomes none. */
        if (!is_null)
            *(struct ref *)at = object_find_text(world, value->text);
        return 0;
    case FIELD_DOC:
        if (is_null)
            return 0;
        blob = arena_alloc(arena,
                           sizeof(*blob) + strlen(value->text) + 1);
        blob->refs = 1; /* never reaches 0: the arena owns it */
        blob->size = (uint32_t)strlen(value->text);
        memcpy(blob->bytes, value->text, blob->size);
        *(struct blob **)at = blob;
        return 0;
    case FIELD_BYTES:
        return is_null ? 0 : hex_decode(value->text, at, field->size);
    case FIELD_VERBS:
        *(struct verbs *)at =
            verbs_from_text(is_null ? "" : value->text, arena);
        return 0;
    }
    return -1;
}

int
object_from_values(const struct world *world, enum kind kind,
                   const struct value *values, struct arena *arena,
                   void **image_out, struct error *err)
{
    const struct schema *schema = schema_get(kind);
    struct object *object = arena_alloc(arena, schema->size);

    if (values[0].type != VALUE_TEXT ||
        id_parse(schema->prefix, values[0].text, &object->id) != 0)
        return bad_value(schema, "id", err);
    if (values[7].type != VALUE_TEXT ||
        strlen(values[7].text) >= sizeof(object->name))
        return bad_value(schema, "name", err);
    object->seq = (uint64_t)values[1].integer;
    object->version = (uint64_t)values[2].integer;
    object->revision = (uint64_t)values[3].integer;
    object->created_ms = values[4].integer;
    object->updated_ms = values[5].integer;
    if (values[6].type == VALUE_TEXT)
        object->parent = object_find_text(world, values[6].text);
    memcpy(object->name, values[7].text, strlen(values[7].text) + 1);
    object->self = world_find(world, kind, object->id);
    object->self.kind = kind;
    for (size_t i = 0; i < schema->field_count; i++)
        if (set_field(world, &schema->fields[i], &values[OBJECT_COLUMNS + i],
                      arena, object) != 0)
            return bad_value(schema, schema->fields[i].name, err);
    *image_out = object;
    return 0;
}

/* --- JSON out --- */

static json_t *
json_verbs(const struct verbs *verbs)
{
    json_t *list = json_array();

    for (int verb = 0; verb < 64 * VERB_WORDS; verb++)
        if ((verbs->word[verb / 64] >> (verb % 64) & 1) != 0 &&
            verb_name((enum verb)verb) != NULL)
            (void)json_array_append_new(
                list, json_string(verb_name((enum verb)verb)));
    return list;
}

static json_t *
field_json(const struct world *world, const struct field *field,
           const void *image)
{
    const void *at = field_at(field, image);
    const struct blob *blob;
    char hex[2 * 64 + 1];
    json_t *doc;

    switch (field->type) {
    case FIELD_NAME:
    case FIELD_TEXT:
        return json_string(at);
    case FIELD_INT:
        return json_integer(*(const int64_t *)at);
    case FIELD_TIME:
        return json_time(*(const int64_t *)at);
    case FIELD_BOOL:
        return json_boolean(*(const bool *)at);
    case FIELD_ENUM:
        return json_string(field->names[*(const int *)at]);
    case FIELD_REF:
        return object_id_json(world, *(const struct ref *)at);
    case FIELD_DOC:
        blob = *(struct blob *const *)at;
        doc = blob != NULL ? json_loadb(blob->bytes, blob->size,
                                        JSON_DECODE_ANY, NULL)
                           : NULL;
        return doc != NULL ? doc : json_null();
    case FIELD_BYTES:
        assert(field->size <= 64);
        hex_encode(at, field->size, hex);
        return json_string(hex);
    case FIELD_VERBS:
        return json_verbs(at);
    }
    return json_null();
}

/* Counters that are derived, but that people ask for. */
static const struct field quota_derived[] = {
    { .name = "used", .type = FIELD_INT,
      .offset = offsetof(struct quota, used) },
};

const struct field *
object_derived(enum kind kind, size_t *count_out)
{
    *count_out = kind == KIND_QUOTA ? 1 : 0;
    return quota_derived;
}

static void
add_derived(const struct world *world, json_t *json, const void *image)
{
    const struct object *object = image;
    size_t count;
    const struct field *fields =
        object_derived((enum kind)object->self.kind, &count);

    for (size_t i = 0; i < count; i++)
        (void)json_object_set_new(json, fields[i].name,
                                  field_json(world, &fields[i], image));
}

void
object_alias(struct id id, char text[ID_TEXT_MAX])
{
    id_format("ca", id, text);
}

static json_t *
alias_json(const struct object *object)
{
    char text[ID_TEXT_MAX];

    object_alias(object->id, text);
    return json_string(text);
}

json_t *
object_json(const struct world *world, const void *image, bool platform)
{
    const struct object *object = image;
    enum kind kind = (enum kind)object->self.kind;
    const struct schema *schema = schema_get(kind);
    json_t *json = json_object();
    char id[ID_TEXT_MAX];

    id_format(schema->prefix, object->id, id);
    (void)json_object_set_new(json, "id", json_string(id));
    (void)json_object_set_new(json, "type", json_string(schema->name));
    (void)json_object_set_new(json, "name", json_string(object->name));
    (void)json_object_set_new(json, "parent",
                              object_id_json(world, object->parent));
    (void)json_object_set_new(json, "version",
                              json_integer((json_int_t)object->version));
    /* The platform's revision moves with every tenant's work. */
    if (platform || object->scope.kind == KIND_TENANT)
        (void)json_object_set_new(json, "revision",
                                  json_integer((json_int_t)object->revision));
    (void)json_object_set_new(json, "created",
                              json_time(object->created_ms));
    (void)json_object_set_new(json, "updated",
                              json_time(object->updated_ms));
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];

        if ((field->flags & FIELD_SECRET) != 0 ||
            ((field->flags & FIELD_PLATFORM) != 0 && !platform))
            continue;
        (void)json_object_set_new(
            json, field->name,
            (field->flags & FIELD_ALIAS) != 0 && !platform
                ? alias_json(object)
                : field_json(world, field, image));
    }
    add_derived(world, json, image);
    return json;
}

/* --- JSON in --- */

/* An id of the kind, or the name of a child of an ancestor of the image. */
static struct ref
find_target(const struct changes *changes, enum kind kind,
            const struct object *object, const char *text)
{
    struct ref at = object->parent, found = object_find_text(changes->world,
                                                             text);

    if (!ref_is_none(found))
        return kind == KIND_NONE || found.kind == kind ? found
                                                       : (struct ref){ 0 };
    if (kind == KIND_NONE)
        return (struct ref){ 0 };
    for (; !ref_is_none(at); at = world_parent(changes->world, at)) {
        found = world_find_name(changes->world, kind, at, text);
        if (!ref_is_none(found))
            return found;
    }
    return (struct ref){ 0 };
}

struct ref
object_find_target(const struct changes *changes, const struct field *field,
                   const struct object *image, const char *text)
{
    return find_target(changes, field->kind, image, text);
}

int
object_no_target(const struct field *field, const char *text,
                 struct error *err)
{
    char pointer[80];

    (void)snprintf(pointer, sizeof(pointer), "/%s", field->name);
    return error_field(err, pointer, "field \"%s\": there is no %s \"%.64s\"",
                       field->name,
                       field->kind != KIND_NONE
                           ? schema_get(field->kind)->name
                           : "object",
                       text);
}

static int
read_ref(struct changes *changes, const struct field *field,
         const char *pointer, const json_t *value, struct object *object,
         struct error *err)
{
    struct ref ref = { 0 };

    if (!json_is_null(value)) {
        if (!json_is_string(value))
            return error_field(err, pointer,
                               "field \"%s\" must be an id or a name",
                               field->name);
        ref = find_target(changes, field->kind, object,
                          json_string_value(value));
        if (ref_is_none(ref))
            return object_no_target(field, json_string_value(value), err);
    }
    memcpy(field_of(field, object), &ref, sizeof(ref));
    return 0;
}

static int
read_enum(const struct field *field, const char *pointer, const json_t *value,
          void *at, struct error *err)
{
    scoped_buffer choices = { 0 };
    int number = json_is_string(value)
                     ? schema_enum_parse(field->names,
                                         json_string_value(value))
                     : -1;

    if (number < 0) {
        for (int i = 0; field->names[i] != NULL; i++)
            buffer_printf(&choices, "%s%s", i > 0 ? ", " : "",
                          field->names[i]);
        return error_field(err, pointer, "field \"%s\" must be one of: %s",
                           field->name, choices.bytes);
    }
    *(int *)at = number;
    return 0;
}

static int
read_verbs(const struct field *field, const char *pointer,
           const json_t *value, struct verbs *verbs, struct error *err)
{
    struct verbs set = { { 0 } };
    json_t *item;
    size_t i;

    if (!json_is_array(value))
        return error_field(err, pointer,
                           "field \"%s\" must be a list of verbs",
                           field->name);
    json_array_foreach(value, i, item) {
        int verb = json_is_string(item) ? verb_parse(json_string_value(item))
                                        : -1;

        if (verb < 0)
            return error_field(err, pointer,
                               "field \"%s\": item %zu is not a verb",
                               field->name, i);
        set.word[verb / 64] |= UINT64_C(1) << (verb % 64);
    }
    *verbs = set;
    return 0;
}

static int
read_int(const struct field *field, const char *pointer, const json_t *value,
         int64_t *at, struct error *err)
{
    int64_t number;

    if (!json_is_integer(value))
        return error_field(err, pointer, "field \"%s\" must be an integer",
                           field->name);
    number = json_integer_value(value);
    if (number < field->min || number > field->max)
        return error_field(err, pointer,
                           "field \"%s\" is %lld, must be %lld to %lld",
                           field->name, (long long)number,
                           (long long)field->min, (long long)field->max);
    *at = number;
    return 0;
}

static int
read_text(const struct field *field, const char *pointer, const json_t *value,
          char *at, struct error *err)
{
    const char *text = json_string_value(value);

    if (!json_is_string(value))
        return error_field(err, pointer, "field \"%s\" must be a string",
                           field->name);
    if (field->type == FIELD_NAME
            ? schema_check_name(pointer, text, err) != 0
            : schema_check_text(pointer, text, field->size, err) != 0)
        return -1;
    memcpy(at, text, strlen(text) + 1);
    return 0;
}

static int
read_time(const struct field *field, const char *pointer, const json_t *value,
          int64_t *at, struct error *err)
{
    if (json_is_null(value)) {
        *at = 0;
        return 0;
    }
    if (!json_is_string(value) ||
        clock_parse(json_string_value(value), at) != 0)
        return error_field(err, pointer,
                           "field \"%s\" must be a time such as "
                           "2030-01-31T12:00:00Z",
                           field->name);
    return 0;
}

static int
read_field(struct changes *changes, const struct field *field,
           const json_t *value, void *image, struct error *err)
{
    void *at = field_of(field, image);
    scoped_buffer text = { 0 };
    char pointer[80];

    (void)snprintf(pointer, sizeof(pointer), "/%s", field->name);
    switch (field->type) {
    case FIELD_NAME:
    case FIELD_TEXT:
        return read_text(field, pointer, value, at, err);
    case FIELD_INT:
        return read_int(field, pointer, value, at, err);
    case FIELD_TIME:
        return read_time(field, pointer, value, at, err);
    case FIELD_BOOL:
        if (!json_is_boolean(value))
            return error_field(err, pointer,
                               "field \"%s\" must be true or false",
                               field->name);
        *(bool *)at = json_is_true(value);
        return 0;
    case FIELD_ENUM:
        return read_enum(field, pointer, value, at, err);
    case FIELD_REF:
        return read_ref(changes, field, pointer, value, image, err);
    case FIELD_DOC:
        json_write(&text, value);
        change_doc(changes, at,
                   json_is_null(value) ? NULL : buffer_text(&text));
        return 0;
    case FIELD_VERBS:
        return read_verbs(field, pointer, value, at, err);
    case FIELD_BYTES:
        break;
    }
    return error_field(err, pointer, "field \"%s\" cannot be set",
                       field->name);
}

static int
read_name(const json_t *value, bool create, struct object *object,
          struct error *err)
{
    if (!create)
        return error_field(err, "/name", "a name cannot be changed");
    if (!json_is_string(value))
        return error_field(err, "/name", "field \"name\" must be a string");
    if (schema_check_name("/name", json_string_value(value), err) != 0)
        return -1;
    memcpy(object->name, json_string_value(value),
           strlen(json_string_value(value)) + 1);
    return 0;
}

static int
check_required(const struct schema *schema, const json_t *body,
               struct error *err)
{
    char pointer[80];

    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];
        const json_t *value = json_object_get(body, field->name);

        if ((field->flags & FIELD_REQUIRED) == 0 ||
            (value != NULL && !json_is_null(value)))
            continue;
        (void)snprintf(pointer, sizeof(pointer), "/%s", field->name);
        return error_field(err, pointer, "field \"%s\" (%s) is required",
                           field->name, field->help);
    }
    return 0;
}

int
object_read_json(struct changes *changes, enum kind kind, const json_t *body,
                 bool create, void *image, struct error *err)
{
    const struct schema *schema = schema_get(kind);
    unsigned wanted = create ? FIELD_CREATE : FIELD_UPDATE;
    const char *key;
    json_t *value;

    if (!json_is_object(body))
        return error_set(err, ERROR_INVALID, "the body must be an object");
    json_object_foreach((json_t *)(uintptr_t)body, key, value) {
        const struct field *field = schema_field(kind, key);
        char pointer[80];

        (void)snprintf(pointer, sizeof(pointer), "/%.64s", key);
        if (strcmp(key, "name") == 0) {
            if (read_name(value, create, image, err) != 0)
                return -1;
            continue;
        }
        if (field == NULL || (field->flags & FIELD_SECRET) != 0)
            return error_field(err, pointer, "a %s has no field \"%.64s\"",
                               schema->name, key);
        if ((field->flags & wanted) == 0)
            return error_field(err, pointer,
                               "field \"%s\" of a %s cannot be %s", key,
                               schema->name, create ? "set" : "changed");
        if (json_is_null(value) && create)
            continue;
        if (read_field(changes, field, value, image, err) != 0)
            return -1;
    }
    return create ? check_required(schema, body, err) : 0;
}

/* --- digest --- */

void
object_digest(const struct world *world, const void *image,
              struct digest *out)
{
    const struct object *object = image;
    enum kind kind = (enum kind)object->self.kind;
    scoped_arena arena = arena_new();
    scoped_buffer bytes = { 0 };
    const struct value *values = object_values(world, kind, image, arena);

    for (size_t i = 0; i < object_column_count(kind); i++) {
        buffer_add_byte(&bytes, (unsigned char)values[i].type);
        if (values[i].type == VALUE_INT)
            buffer_add_u64(&bytes, (uint64_t)values[i].integer);
        else if (values[i].type == VALUE_TEXT)
            buffer_add_sized(&bytes, values[i].text, strlen(values[i].text));
    }
    digest_of(bytes.bytes, bytes.size, out);
}
