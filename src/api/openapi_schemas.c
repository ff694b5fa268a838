/* SPDX-License-Identifier: Apache-2.0 */
#include "api/openapi_schemas.h"

#include <stdio.h>
#include <string.h>

#include "api/handlers.h"
#include "api/openapi_answers.h"
#include "core/resource.h"

#define NAME_PATTERN "^[a-z0-9]([-._a-z0-9]{0,61}[a-z0-9])?$"

/* --- schemas of objects --- */

static json_t *
enum_schema(const struct field *field)
{
    json_t *names = json_array();
    for (size_t i = 0; field->names[i] != NULL; i++)
        json_array_append_new(names, json_string(field->names[i]));
    return json_pack("{s:s, s:o}", "type", "string", "enum", names);
}

static json_t *
id_pattern(enum kind kind)
{
    char pattern[64];
    if (kind == KIND_NONE)
        return json_pack("{s:[s,s]}", "type", "string", "null");
    (void)snprintf(pattern, sizeof pattern,
                   "^(%s_[a-z2-7]{26}|[a-z0-9][-._a-z0-9]*)$",
                   schema_get(kind)->prefix);
    return json_pack("{s:[s,s], s:s}", "type", "string", "null", "pattern",
                     pattern);
}

static json_t *
field_schema(const struct field *field)
{
    switch (field->type) {
    case FIELD_NAME:
        return json_pack("{s:s, s:s}", "type", "string", "pattern",
                         NAME_PATTERN);
    case FIELD_TEXT:
        return json_pack("{s:s, s:i}", "type", "string", "maxLength",
                         (int)field->size - 1);
    case FIELD_INT:
        return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum",
                         (json_int_t)field->min, "maximum",
                         (json_int_t)field->max);
    case FIELD_BOOL:
        return json_pack("{s:s}", "type", "boolean");
    case FIELD_ENUM:
        return enum_schema(field);
    case FIELD_TIME:
        return json_pack("{s:[s,s], s:s}", "type", "string", "null", "format",
                         "date-time");
    case FIELD_REF:
        return id_pattern(field->kind);
    case FIELD_DOC:
        return json_object();
    case FIELD_BYTES:
        return json_pack("{s:s, s:s}", "type", "string", "pattern",
                         "^[0-9a-f]*$");
    case FIELD_VERBS:
        return json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type",
                         "string");
    }
    return json_object();
}

void
openapi_add_property(json_t *properties, const char *name, json_t *schema,
                     const char *help)
{
    if (help != NULL)
        json_object_set_new(schema, "description", json_string(help));
    json_object_set_new(properties, name, schema);
}

/* A workload's document, as core/manifest.h takes it; it is shown with the
 * ids of volumes. */
static json_t *
spec_schema(void)
{
    return openapi_answer_schema(
        "{'type':'object','required':['command'],'properties':{"
        "'command':{'type':'array','minItems':1,'items':{'type':'string'}},"
        "'env':{'type':'object','additionalProperties':{'type':'string'}},"
        "'workdir':{'type':'string'},"
        "'volumes':{'type':'array','items':{'type':'object',"
        "'required':['volume','path'],'properties':{"
        "'volume':{'type':'string','description':'id or name'},"
        "'path':{'type':'string'},'read_only':{'type':'boolean'}}}},"
        "'ports':{'type':'array','items':{'type':'object',"
        "'required':['name','port'],'properties':{"
        "'name':{'type':'string'},"
        "'port':{'type':'integer','minimum':1,'maximum':65535}}}},"
        "'checkpoint':{'type':'string','description':'path on a volume that "
        "can be written'},"
        "'requires':{'type':'object','description':'what node and card have to "
        "say: a least version, words, or bounds','additionalProperties':{"
        "'anyOf':[{'type':'string'},{'type':'object','properties':{"
        "'at_least':{'type':'string'},'below':{'type':'string'},"
        "'equals':{'type':'string'}},'additionalProperties':false}]}},"
        "'pinning':{'enum':['near','cores','none']},"
        "'topology':{'type':'object','required':['level'],'description':"
        "'all instances together','properties':{"
        "'level':{'enum':['pool','leaf','node','numa','switch','island']},"
        "'mode':{'enum':['required','preferred']}}},"
        "'spread':{'type':'object','required':['level'],'description':"
        "'at most so many instances at one place','properties':{"
        "'level':{'enum':['node','leaf']},"
        "'most':{'type':'integer','minimum':1},"
        "'mode':{'enum':['required','preferred']}}}}}");
}

static void
add_field(json_t *properties, enum kind kind, const struct field *field,
          bool shown)
{
    bool is_spec = kind == KIND_WORKLOAD && strcmp(field->name, "spec") == 0;
    json_t *schema =
        !is_spec ? field_schema(field)
        : shown  ? openapi_answer_schema(
                      "{'anyOf':[{'$ref':'#/components/schemas/spec'},"
                       "{'type':'null'}]}")
                 : openapi_answer_schema(
                      "{'$ref':'#/components/schemas/spec'}");
    openapi_add_property(properties, field->name, schema, field->help);
}

/* What every object begins with (core/object.h). */
static void
add_head(json_t *properties)
{
    openapi_add_property(properties, "id", json_pack("{s:s}", "type", "string"),
                         "identity, never used again");
    openapi_add_property(properties, "type",
                         json_pack("{s:s}", "type", "string"),
                         "kind of the object");
    openapi_add_property(properties, "name",
                         json_pack("{s:s}", "type", "string"),
                         "for people, unique below the parent");
    openapi_add_property(properties, "parent",
                         json_pack("{s:[s,s]}", "type", "string", "null"),
                         "object that it lies below");
    openapi_add_property(properties, "version",
                         json_pack("{s:s}", "type", "integer"), "the ETag");
    openapi_add_property(properties, "revision",
                         json_pack("{s:s}", "type", "integer"),
                         "of its scope at the last change");
    openapi_add_property(
        properties, "created",
        json_pack("{s:s, s:s}", "type", "string", "format", "date-time"),
        "when it was made");
    openapi_add_property(
        properties, "updated",
        json_pack("{s:s, s:s}", "type", "string", "format", "date-time"),
        "when it was changed last");
}

/* Derived members (core/object.h). */
static void
add_derived(json_t *properties, enum kind kind)
{
    if (kind == KIND_QUOTA)
        openapi_add_property(properties, "used",
                             json_pack("{s:s}", "type", "integer"),
                             "in use now");
    if (kind == KIND_WORKLOAD)
        openapi_add_property(
            properties, "estimate",
            openapi_answer_schema(
                "{'type':'object','properties':{"
                "'at':{'type':['string','null'],'format':'date-time'},"
                "'none':{'enum':['pending','held','endless','blocked',"
                "'beyond','depth',null]},'text':{'type':'string'},"
                "'as_of':{'type':['string','null'],"
                "'format':'date-time'}}}"),
            "while it waits: when it starts, or why that is not known");
}

json_t *
openapi_object_schema(enum kind kind)
{
    const struct schema *schema = schema_get(kind);
    json_t *properties = json_object();
    add_head(properties);
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];
        if (!(field->flags & FIELD_SECRET))
            add_field(properties, kind, field, true);
    }
    add_derived(properties, kind);
    return json_pack("{s:s, s:s, s:o}", "type", "object", "description",
                     schema->help, "properties", properties);
}

/* A workload names its class in one of three ways (core/submit.h); without any
 * of them it is refused for want of a class. */
static void
offer_classes(json_t *body)
{
    static const char *const ways[] = { "class", "classes",
                                        "min_accel_memory_mib" };
    json_t *required = json_object_get(body, "required");
    json_t *any = json_array();
    size_t at;
    json_t *name;
    json_array_foreach (required, at, name)
        if (strcmp(json_string_value(name), ways[0]) == 0) {
            (void)json_array_remove(required, at);
            break;
        }
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        json_array_append_new(any,
                              json_pack("{s:[s]}", "required", ways[i]));
    json_object_set_new(body, "anyOf", any);
}

/* A client's body: the fields that it may give. */
json_t *
openapi_body_schema(enum kind kind, unsigned flag)
{
    const struct schema *schema = schema_get(kind);
    json_t *properties = json_object();
    json_t *required = json_array();
    if (flag == FIELD_CREATE)
        openapi_add_property(
            properties, "name",
            json_pack("{s:s, s:s}", "type", "string", "pattern", NAME_PATTERN),
            "for people, unique below the parent");
    if (flag == FIELD_CREATE && resource_is_named(kind))
        json_array_append_new(required, json_string("name"));
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];
        if (!(field->flags & flag))
            continue;
        add_field(properties, kind, field, false);
        if (flag == FIELD_CREATE && (field->flags & FIELD_REQUIRED))
            json_array_append_new(required, json_string(field->name));
    }
    json_t *body = json_pack("{s:s, s:b, s:o, s:o}", "type", "object",
                             "additionalProperties", 0, "properties",
                             properties, "required", required);
    if (kind == KIND_WORKLOAD && flag == FIELD_CREATE)
        offer_classes(body);
    return body;
}

static json_t *
problem_codes(void)
{
    json_t *list = json_array();
    for (int code = 0; code < ERROR_CODE_COUNT; code++)
        if (error_http_status((enum error_code)code) >= 400)
            json_array_append_new(
                list, json_string(error_code_text((enum error_code)code)));
    return list;
}

static json_t *
problem_schema(void)
{
    static const char *const texts[] = { "type",   "title",      "code",
                                         "detail", "request_id", "field",
                                         "help" };
    json_t *properties = json_object();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        openapi_add_property(properties, texts[i],
                             json_pack("{s:s}", "type", "string"), NULL);
    json_object_set_new(json_object_get(properties, "code"), "enum",
                        problem_codes());
    openapi_add_property(properties, "status",
                         json_pack("{s:s}", "type", "integer"), NULL);
    return json_pack("{s:s, s:s, s:o, s:[s,s,s,s,s,s]}", "type", "object",
                     "description", "RFC 9457 problem details", "properties",
                     properties, "required", "type", "title", "status", "code",
                     "detail", "request_id");
}

/* What a change would answer and do (dispatch.c). */
static json_t *
trial_schema(void)
{
    return openapi_answer_schema(
        "{'type':'object','description':'What dry_run=1 says: the answer "
        "that would come, and what would change','properties':{"
        "'dry_run':{'const':true},'status':{'type':'integer'},"
        "'body':{'type':['object','null'],'description':'as without "
        "dry_run'},'changes':{'type':'array','items':{'type':'object',"
        "'properties':{'op':{'enum':['create','update','delete']},"
        "'kind':{'type':'string'}}}}},"
        "'required':['dry_run','status','body','changes']}");
}

/* Is there a route that shows one with names=1? */
static bool
is_named(enum kind kind)
{
    for (size_t i = 0; i < route_count; i++)
        if (route_table[i].kind == kind &&
            route_takes(&route_table[i], "names"))
            return true;
    return false;
}

/* What a GET with names=1 adds (objects_get). */
static json_t *
shown_schema(enum kind kind)
{
    json_t *schema = openapi_object_schema(kind);
    if (!is_named(kind))
        return schema;
    openapi_add_property(
        json_object_get(schema, "properties"), "names",
        openapi_answer_schema("{'type':'object','additionalProperties':"
                              "{'type':'string'}}"),
        "only with names=1: what the ids in it are called");
    return schema;
}

/* Is there a route that answers with objects of the kind? */
static bool
is_shown(enum kind kind)
{
    for (size_t i = 0; i < route_count; i++)
        if (route_table[i].kind == kind &&
            ((route_table[i].flags & (ROUTE_LIST | ROUTE_CONTENT)) != 0 ||
             route_table[i].handle.read == objects_get))
            return true;
    return false;
}

json_t *
openapi_schemas(void)
{
    json_t *schemas = json_object();
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
        if (is_shown((enum kind)kind))
            json_object_set_new(schemas, schema_get((enum kind)kind)->name,
                                shown_schema((enum kind)kind));
    json_object_set_new(schemas, "spec", spec_schema());
    json_object_set_new(schemas, "problem", problem_schema());
    json_object_set_new(schemas, "trial", trial_schema());
    return schemas;
}
