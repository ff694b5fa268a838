/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

static const char *
type_text(const struct field *field)
{
    switch (field->type) {
    case FIELD_NAME:
        return "name";
    case FIELD_TEXT:
        return "text";
    case FIELD_INT:
        return "integer";
    case FIELD_BOOL:
        return "true or false";
    case FIELD_ENUM:
        return "one of";
    case FIELD_TIME:
        return "time";
    case FIELD_REF:
        return field->kind == KIND_NONE ? "id"
                                        : schema_get(field->kind)->name;
    case FIELD_DOC:
        return "JSON";
    case FIELD_BYTES:
        return "hexadecimal";
    case FIELD_VERBS:
        return "verbs, with commas";
    }
    return "-";
}

static const char *
use_text(const struct field *field)
{
    if ((field->flags & FIELD_REQUIRED) != 0)
        return (field->flags & FIELD_UPDATE) != 0 ? "create (needed), set"
                                                  : "create (needed)";
    if ((field->flags & FIELD_CREATE) != 0)
        return (field->flags & FIELD_UPDATE) != 0 ? "create, set" : "create";
    return (field->flags & FIELD_UPDATE) != 0 ? "set" : "-";
}

static json_t *
describe_field(const struct field *field)
{
    scoped_buffer help = { 0 };

    buffer_add_text(&help, field->help);
    for (int i = 0; field->type == FIELD_ENUM && field->names[i] != NULL; i++)
        buffer_printf(&help, "%s%s", i == 0 ? ": " : ", ", field->names[i]);
    return json_pack("{s:s, s:s, s:s, s:s}", "name", field->name, "type",
                     type_text(field), "use", use_text(field), "meaning",
                     buffer_text(&help));
}

static int
print_fields(const struct cli *cli, struct error *err)
{
    static const struct column columns[] = {
        { "FIELD", "name", 's', false },
        { "TYPE", "type", 's', false },
        { "GIVEN-AT", "use", 's', false },
        { "MEANING", "meaning", 's', false },
        { 0 },
    };
    json_t *items = json_array();
    scoped_json list = json_pack("{s:o}", "items", items);
    const struct schema *schema;
    enum kind kind;

    if (place_kind(cli->words[0], &kind, err) != 0)
        return -1;
    schema = schema_get(kind);
    for (size_t i = 0; i < schema->field_count; i++)
        if ((schema->fields[i].flags & FIELD_SECRET) == 0)
            (void)json_array_append_new(items,
                                        describe_field(&schema->fields[i]));
    output_print(cli, columns, list);
    return 0;
}

static void
print_kinds(const struct cli *cli)
{
    static const struct column columns[] = {
        { "NOUN", "name", 's', false },
        { "WHAT-IT-IS", "meaning", 's', false },
        { 0 },
    };
    json_t *items = json_array();
    scoped_json list = json_pack("{s:o}", "items", items);
    struct error ignored;

    for (unsigned i = KIND_NONE + 1; i < KIND_COUNT; i++) {
        const struct schema *schema = schema_get((enum kind)i);
        enum kind kind;

        if (place_kind(schema->name, &kind, &ignored) == 0)
            (void)json_array_append_new(
                items, json_pack("{s:s, s:s}", "name", schema->name,
                                 "meaning", schema->help));
    }
    output_print(cli, columns, list);
}

static int
nouns(struct cli *cli, struct error *err)
{
    if (cli->word_count > 0)
        return print_fields(cli, err);
    print_kinds(cli);
    return 0;
}

const struct command command_nouns = {
    .verb = "nouns",
    .words = "[NOUN]",
    .help = "Say what kinds of object there are, or which fields one has.",
    .more = "Times are 2030-01-31T00:00:00Z, now or +30d. Fields with a unit "
            "in their name take whole\nnumbers of it: _ms milliseconds, _mib "
            "MiB, milli thousandths, nano billionths.",
    .words_max = 1,
    .run = nouns,
};
