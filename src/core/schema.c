/* SPDX-License-Identifier: Apache-2.0 */
#include "core/schema.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/schema_private.h"

const char *const schema_every_names[] = { "once", "day", "week", NULL };
const char *const schema_factor_names[] = { "off", "step-up", "login", NULL };
const char *const schema_most_names[] = { "any", "same-pool", "never", NULL };

const struct schema *
schema_get(enum kind kind)
{
    assert(kind > KIND_NONE && kind < KIND_COUNT);
    if (schema_trust[kind].name != NULL)
        return &schema_trust[kind];
    return schema_estate[kind].name != NULL ? &schema_estate[kind]
                                            : &schema_tenant[kind];
}

enum kind
schema_find(const char *name)
{
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
        if (strcmp(schema_get((enum kind)kind)->name, name) == 0 ||
            strcmp(schema_get((enum kind)kind)->plural, name) == 0)
            return (enum kind)kind;
    return KIND_NONE;
}

const struct field *
schema_field(enum kind kind, const char *name)
{
    const struct schema *schema = schema_get(kind);

    for (size_t i = 0; i < schema->field_count; i++)
        if (strcmp(schema->fields[i].name, name) == 0)
            return &schema->fields[i];
    return NULL;
}

/* The list is canonical JSON: an id stands in it as it is, in quotes. */
bool
schema_lists_id(const struct blob *list, enum kind kind, struct id id)
{
    char quoted[ID_TEXT_MAX + 2];
    char text[ID_TEXT_MAX];

    if (list == NULL)
        return false;
    id_format(schema_get(kind)->prefix, id, text);
    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", text);
    return strstr(list->bytes, quoted) != NULL;
}

int
schema_enum_parse(const char *const *names, const char *text)
{
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], text) == 0)
            return i;
    return -1;
}

static bool
is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

int
schema_check_name(const char *pointer, const char *text, struct error *err)
{
    size_t size = strlen(text);
    bool ok = size > 0 && size < NAME_MAX_SIZE && is_alphanumeric(text[0]) &&
              is_alphanumeric(text[size - 1]);

    for (size_t i = 0; ok && i < size; i++)
        ok = is_alphanumeric(text[i]) || text[i] == '-' || text[i] == '.' ||
             text[i] == '_';
    if (ok)
        return 0;
    return error_field(err, pointer,
                       "\"%.80s\" is not a name: 1 to %d of a-z, 0-9 and "
                       "inner - . _",
                       text, NAME_MAX_SIZE - 1);
}

int
schema_check_text(const char *pointer, const char *text, size_t room,
                  struct error *err)
{
    size_t size = strlen(text);

    if (size >= room)
        return error_field(err, pointer,
                           "text of %zu bytes is longer than %zu", size,
                           room - 1);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            return error_field(err, pointer,
                               "text has a control character at byte %zu", i);
    return 0;
}
