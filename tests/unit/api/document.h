/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_API_DOCUMENT_H
#define TESTS_UNIT_API_DOCUMENT_H

#include <stdarg.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "base/json.h"

/*
 * Is a value as a schema of the OpenAPI document says?  Of JSON Schema what
 * the document uses: $ref, anyOf, type, const, enum, minimum, maximum, items,
 * required, properties.  Clients must bear members that they do not know; here
 * a member that is not named is a difference.
 */

/* Appends to out what differs, one line each. */
static inline void document_compare(const json_t *document,
                                    const json_t *schema, const json_t *value,
                                    const char *at, struct buffer *out);

static inline const json_t *
document_resolve(const json_t *document, const json_t *schema)
{
    const char *text = json_string_value(json_object_get(schema, "$ref"));
    if (text == NULL)
        return schema;
    const json_t *schemas = json_object_get(
        json_object_get(document, "components"), "schemas");
    return json_object_get(schemas, strrchr(text, '/') + 1);
}

static inline bool
document_is_type(const char *type, const json_t *value)
{
    return strcmp(type, "object") == 0    ? json_is_object(value)
           : strcmp(type, "array") == 0   ? json_is_array(value)
           : strcmp(type, "string") == 0  ? json_is_string(value)
           : strcmp(type, "integer") == 0 ? json_is_integer(value)
           : strcmp(type, "boolean") == 0 ? json_is_boolean(value)
                                          : json_is_null(value);
}

static inline bool
document_has_type(const json_t *types, const json_t *value)
{
    size_t index;
    json_t *type;
    if (types == NULL)
        return true;
    if (json_is_string(types))
        return document_is_type(json_string_value(types), value);
    json_array_foreach (types, index, type)
        if (document_is_type(json_string_value(type), value))
            return true;
    return false;
}

static inline bool
document_is_one_of(const json_t *list, const json_t *value)
{
    size_t index;
    json_t *one;
    json_array_foreach (list, index, one)
        if (json_equal(one, value))
            return true;
    return list == NULL;
}

static inline bool
document_is_within(const json_t *schema, const json_t *value)
{
    const json_t *least = json_object_get(schema, "minimum");
    const json_t *most = json_object_get(schema, "maximum");
    json_int_t number = json_integer_value(value);
    return !json_is_integer(value) ||
           ((least == NULL || number >= json_integer_value(least)) &&
            (most == NULL || number <= json_integer_value(most)));
}

static inline bool
document_fits_any(const json_t *document, const json_t *any,
                  const json_t *value)
{
    size_t index;
    json_t *one;
    json_array_foreach (any, index, one) {
        scoped_buffer ignored = {0};
        document_compare(document, one, value, "", &ignored);
        if (ignored.size == 0)
            return true;
    }
    return any == NULL;
}

static inline void
document_members(const json_t *document, const json_t *schema,
                 const json_t *value, const char *at, struct buffer *out)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    const char *key;
    json_t *member, *name;
    size_t index;
    json_object_foreach ((json_t *)(uintptr_t)value, key, member) {
        char below[256];
        const json_t *known = json_object_get(properties, key);
        (void)snprintf(below, sizeof below, "%s/%s", at, key);
        if (known == NULL && json_is_object(others))
            known = others;
        if (known != NULL)
            document_compare(document, known, member, below, out);
        else if (properties != NULL)
            buffer_printf(out, "%s is not named\n", below);
    }
    json_array_foreach (json_object_get(schema, "required"), index, name)
        if (json_object_get(value, json_string_value(name)) == NULL)
            buffer_printf(out, "%s/%s is missing\n", at,
                          json_string_value(name));
}

static inline void
document_compare(const json_t *document, const json_t *schema,
                 const json_t *value, const char *at, struct buffer *out)
{
    schema = document_resolve(document, schema);
    const json_t *constant = json_object_get(schema, "const");
    const json_t *items = json_object_get(schema, "items");
    if (!document_has_type(json_object_get(schema, "type"), value))
        buffer_printf(out, "%s is of another type\n", at);
    if (!document_is_one_of(json_object_get(schema, "enum"), value) ||
        (constant != NULL && !json_equal(constant, value)))
        buffer_printf(out, "%s is none of its values\n", at);
    if (!document_is_within(schema, value))
        buffer_printf(out, "%s is out of its bounds\n", at);
    if (!document_fits_any(document, json_object_get(schema, "anyOf"), value))
        buffer_printf(out, "%s is nothing of what it may be\n", at);
    if (json_is_object(value))
        document_members(document, schema, value, at, out);
    for (size_t i = 0; items != NULL && i < json_array_size(value); i++) {
        char below[256];
        (void)snprintf(below, sizeof below, "%s/%zu", at, i);
        document_compare(document, items, json_array_get(value, i), below,
                         out);
    }
}

/* The operation, or fails; path as the document writes it. */
static inline const json_t *
document_operation(const json_t *document, const char *method,
                   const char *path)
{
    const json_t *found = json_object_get(
        json_object_get(json_object_get(document, "paths"), path), method);
    if (found == NULL)
        fail_msg("the document has no %s %s", method, path);
    return found;
}

/* The content that it describes for a status and media type, or fails. */
static inline const json_t *
document_content(const json_t *operation, const char *status,
                 const char *type)
{
    const json_t *response = json_object_get(
        json_object_get(operation, "responses"), status);
    const json_t *content =
        json_object_get(json_object_get(response, "content"), type);
    if (content == NULL)
        fail_msg("%s: %s with %s is not described",
                 json_string_value(json_object_get(operation, "operationId")),
                 status, type);
    return json_object_get(content, "schema");
}

#endif
