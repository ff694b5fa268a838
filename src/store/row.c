/* SPDX-License-Identifier: Apache-2.0 */
#include "store/row.h"

#include <assert.h>
#include <string.h>

size_t
row_column(enum kind kind, const char *name)
{
    size_t count = object_column_count(kind), column = 0;
    bool is_text;

    while (column < count &&
           strcmp(object_column(kind, column, &is_text), name) != 0)
        column++;
    assert(column < count);
    return column;
}

const char *
row_text(enum kind kind, const struct value *values, const char *name)
{
    const struct value *value = &values[row_column(kind, name)];

    return value->type == VALUE_TEXT ? value->text : NULL;
}

int64_t
row_int(enum kind kind, const struct value *values, const char *name)
{
    const struct value *value = &values[row_column(kind, name)];

    return value->type == VALUE_INT ? value->integer : 0;
}

static json_t *
document_json(const char *text)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);

    /* Base64 and the like are documents that are no JSON. */
    return json != NULL ? json : json_string(text);
}

static json_t *
verbs_json(const char *text)
{
    json_t *list = json_array();

    while (*text != '\0') {
        size_t size = strcspn(text, " ");

        (void)json_array_append_new(list, json_stringn(text, size));
        text += size;
        text += strspn(text, " ");
    }
    return list;
}

static json_t *
field_json(const struct field *field, const struct value *value)
{
    if (value->type == VALUE_NULL)
        return json_null();
    if (value->type == VALUE_INT) {
        if (field->type == FIELD_TIME)
            return json_time(value->integer);
        if (field->type == FIELD_BOOL)
            return json_boolean(value->integer != 0);
        return json_integer(value->integer);
    }
    if (field->type == FIELD_VERBS)
        return verbs_json(value->text);
    if (field->type == FIELD_DOC)
        return document_json(value->text);
    return json_string(value->text);
}

/* A row does not hold its scope; these parents are a tenant's own. */
static bool
is_below_tenant(const char *parent)
{
    static const enum kind kinds[] = { KIND_TENANT, KIND_UNIT, KIND_PROJECT,
                                       KIND_WORKLOAD, KIND_INSTANCE };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *prefix = schema_get(kinds[i])->prefix;
        size_t size = strlen(prefix);

        if (parent != NULL && strncmp(parent, prefix, size) == 0 &&
            parent[size] == '_')
            return true;
    }
    return false;
}

static void
head_json(json_t *json, enum kind kind, const struct value *values,
          bool platform)
{
    const char *parent = row_text(kind, values, "parent");

    (void)json_object_set_new(json, "id",
                              json_string(row_text(kind, values, "id")));
    (void)json_object_set_new(json, "type",
                              json_string(schema_get(kind)->name));
    (void)json_object_set_new(json, "parent",
                              parent != NULL ? json_string(parent)
                                             : json_null());
    (void)json_object_set_new(json, "name",
                              json_string(row_text(kind, values, "name")));
    (void)json_object_set_new(
        json, "version", json_integer(row_int(kind, values, "version")));
    if (platform || is_below_tenant(parent))
        (void)json_object_set_new(
            json, "revision", json_integer(row_int(kind, values, "revision")));
    (void)json_object_set_new(
        json, "created", json_time(row_int(kind, values, "created_ms")));
    (void)json_object_set_new(
        json, "updated", json_time(row_int(kind, values, "updated_ms")));
}

static json_t *
alias_json(enum kind kind, const struct value *values)
{
    char text[ID_TEXT_MAX];
    struct id id;

    if (id_parse(schema_get(kind)->prefix, row_text(kind, values, "id"),
                 &id) != 0)
        return json_null();
    object_alias(id, text);
    return json_string(text);
}

json_t *
row_json(enum kind kind, const struct value *values, bool platform)
{
    const struct schema *schema = schema_get(kind);
    json_t *json = json_object();

    head_json(json, kind, values, platform);
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];

        if ((field->flags & FIELD_SECRET) != 0 ||
            ((field->flags & FIELD_PLATFORM) != 0 && !platform))
            continue;
        (void)json_object_set_new(
            json, field->name,
            (field->flags & FIELD_ALIAS) != 0 && !platform
                ? alias_json(kind, values)
                : field_json(field, &values[OBJECT_COLUMNS + i]));
    }
    return json;
}

/* What follows from what other tenants do: the order of creation and what is
 * dealt out in turn.  Who knows the rest of an object could try numbers until
 * the digest in its log fits. */
static bool
is_unsaid(const struct schema *schema, size_t column)
{
    if (column < OBJECT_COLUMNS)
        return column == OBJECT_COLUMN_SEQ;
    return (schema->fields[column - OBJECT_COLUMNS].flags & FIELD_UNSAID) !=
           0;
}

void
row_digest(enum kind kind, const struct value *values, struct digest *out)
{
    const struct schema *schema = schema_get(kind);
    size_t count = object_column_count(kind);
    scoped_buffer bytes = { 0 };

    buffer_add_text(&bytes, schema->name);
    for (size_t i = 0; i < count; i++) {
        if (is_unsaid(schema, i))
            continue;
        buffer_add_byte(&bytes, (unsigned char)values[i].type);
        if (values[i].type == VALUE_INT)
            buffer_add_u64(&bytes, (uint64_t)values[i].integer);
        else if (values[i].type == VALUE_TEXT)
            buffer_add_sized(&bytes, values[i].text, strlen(values[i].text));
    }
    digest_of(bytes.bytes, bytes.size, out);
}
