/* SPDX-License-Identifier: Apache-2.0 */
#include "api/openapi.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "api/handlers.h"
#include "api/state.h"

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
        return json_pack("{s:[s,s], s:s}", "type", "string", "null",
                         "format", "date-time");
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

static void
add_property(json_t *properties, const char *name, json_t *schema,
             const char *help)
{
    if (help != NULL)
        json_object_set_new(schema, "description", json_string(help));
    json_object_set_new(properties, name, schema);
}

/* What every object begins with (core/object.h). */
static void
add_head(json_t *properties)
{
    add_property(properties, "id", json_pack("{s:s}", "type", "string"),
                 "identity, never used again");
    add_property(properties, "type", json_pack("{s:s}", "type", "string"),
                 "kind of the object");
    add_property(properties, "name", json_pack("{s:s}", "type", "string"),
                 "for people, unique below the parent");
    add_property(properties, "parent",
                 json_pack("{s:[s,s]}", "type", "string", "null"),
                 "object that it lies below");
    add_property(properties, "version",
                 json_pack("{s:s}", "type", "integer"), "the ETag");
    add_property(properties, "revision",
                 json_pack("{s:s}", "type", "integer"),
                 "of its scope at the last change");
    add_property(properties, "created",
                 json_pack("{s:s, s:s}", "type", "string", "format",
                           "date-time"),
                 "when it was made");
    add_property(properties, "updated",
                 json_pack("{s:s, s:s}", "type", "string", "format",
                           "date-time"),
                 "when it was changed last");
}

/* Derived members (core/object.h). */
static void
add_derived(json_t *properties, enum kind kind)
{
    if (kind == KIND_QUOTA)
        add_property(properties, "used", json_pack("{s:s}", "type", "integer"),
                     "in use now");
    if (kind == KIND_APIKEY)
        add_property(properties, "used_ms",
                     json_pack("{s:[s,s], s:s}", "type", "string", "null",
                               "format", "date-time"),
                     "last use");
}

static json_t *
object_schema(enum kind kind)
{
    const struct schema *schema = schema_get(kind);
    json_t *properties = json_object();
    add_head(properties);
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];
        if (!(field->flags & FIELD_SECRET))
            add_property(properties, field->name, field_schema(field),
                         field->help);
    }
    add_derived(properties, kind);
    return json_pack("{s:s, s:s, s:o}", "type", "object", "description",
                     schema->help, "properties", properties);
}

/* A client's body: the fields that it may give. */
static json_t *
body_schema(enum kind kind, unsigned flag)
{
    const struct schema *schema = schema_get(kind);
    json_t *properties = json_object();
    json_t *required = json_array();
    if (flag == FIELD_CREATE)
        add_property(properties, "name",
                     json_pack("{s:s, s:s}", "type", "string", "pattern",
                               NAME_PATTERN),
                     "for people, unique below the parent");
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];
        if (!(field->flags & flag))
            continue;
        add_property(properties, field->name, field_schema(field),
                     field->help);
        if (flag == FIELD_CREATE && (field->flags & FIELD_REQUIRED))
            json_array_append_new(required, json_string(field->name));
    }
    return json_pack("{s:s, s:b, s:o, s:o}", "type", "object",
                     "additionalProperties", 0, "properties", properties,
                     "required", required);
}

static json_t *
problem_schema(void)
{
    static const char *const texts[] = {"type", "title", "code", "detail",
                                        "request_id", "field", "help"};
    json_t *properties = json_object();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        add_property(properties, texts[i],
                     json_pack("{s:s}", "type", "string"), NULL);
    add_property(properties, "status", json_pack("{s:s}", "type", "integer"),
                 NULL);
    return json_pack("{s:s, s:s, s:o, s:[s,s,s,s,s,s]}", "type", "object",
                     "description", "RFC 9457 problem details", "properties",
                     properties, "required", "type", "title", "status",
                     "code", "detail", "request_id");
}

static json_t *
list_schemas(void)
{
    json_t *schemas = json_object();
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
        json_object_set_new(schemas, schema_get((enum kind)kind)->name,
                            object_schema((enum kind)kind));
    json_object_set_new(schemas, "problem", problem_schema());
    return schemas;
}

/* --- operations --- */

static json_t *
reference(const char *name)
{
    char text[96];
    (void)snprintf(text, sizeof text, "#/components/schemas/%s", name);
    return json_pack("{s:s}", "$ref", text);
}

static json_t *
fields_schema(const struct body_field *fields)
{
    static const char *const types[] = {
        [BODY_TEXT] = "string",   [BODY_INT] = "integer",
        [BODY_BOOL] = "boolean",  [BODY_OBJECT] = "object",
        [BODY_LIST] = "array",
    };
    json_t *properties = json_object();
    json_t *required = json_array();
    for (; fields->name != NULL; fields++) {
        add_property(properties, fields->name,
                     json_pack("{s:s}", "type", types[fields->type]),
                     fields->help);
        if (fields->required)
            json_array_append_new(required, json_string(fields->name));
    }
    return json_pack("{s:s, s:b, s:o, s:o}", "type", "object",
                     "additionalProperties", 0, "properties", properties,
                     "required", required);
}

static json_t *
request_body(const struct route *route)
{
    bool patch = strcmp(route->method, "PATCH") == 0;
    json_t *schema;
    if (route->flags & ROUTE_CONTENT)
        schema = body_schema(route->kind, patch ? FIELD_UPDATE : FIELD_CREATE);
    else if (route->body != NULL)
        schema = fields_schema(route->body);
    else
        return NULL;
    return json_pack("{s:b, s:{s:{s:o}}}", "required", 1, "content",
                     patch ? "application/merge-patch+json"
                           : "application/json",
                     "schema", schema);
}

static void
add_parameter(json_t *list, const char *name, const char *in, bool required)
{
    json_array_append_new(list,
                          json_pack("{s:s, s:s, s:b, s:{s:s}}", "name", name,
                                    "in", in, "required", required, "schema",
                                    "type", "string"));
}

static void
add_words(json_t *list, const char *words)
{
    char name[32];
    while (words != NULL && *words != '\0') {
        size_t size = strcspn(words, " ");
        (void)snprintf(name, sizeof name, "%.*s", (int)size, words);
        add_parameter(list, name, "query", false);
        words += size;
        words += *words == ' ';
    }
}

static void
add_path_parameters(json_t *list, const char *path)
{
    char name[32];
    for (const char *at = strchr(path, '{'); at != NULL;
         at = strchr(at, '{')) {
        size_t size = strcspn(++at, "}");
        (void)snprintf(name, sizeof name, "%.*s", (int)size, at);
        add_parameter(list, name, "path", true);
    }
}

static json_t *
list_parameters(const struct route *route)
{
    json_t *list = json_array();
    add_path_parameters(list, route->path);
    if (route->flags & ROUTE_LIST)
        add_words(list, "limit cursor name state");
    if (route->flags & ROUTE_WATCH)
        add_words(list, "watch since");
    add_words(list, route->query);
    if (route->form == ROUTE_WRITE) {
        add_words(list, "dry_run");
        add_parameter(list, "Idempotency-Key", "header", false);
        if (strcmp(route->method, "POST") != 0)
            add_parameter(list, "If-Match", "header",
                          (route->flags & ROUTE_MATCH) != 0);
    }
    return list;
}

static json_t *
content(const char *type, json_t *schema)
{
    return json_pack("{s:{s:o}}", type, "schema", schema);
}

static json_t *
success_content(const struct route *route)
{
    const char *name =
        route->kind == KIND_NONE ? NULL : schema_get(route->kind)->name;
    if (name == NULL || (route->flags & ROUTE_FOLLOW))
        return NULL;
    if (route->flags & ROUTE_LIST)
        return content(
            "application/json",
            json_pack("{s:s, s:{s:{s:s, s:o}, s:{s:s, s:{s:s}}, s:{s:[s,s]}, "
                      "s:{s:s}}}",
                      "type", "object", "properties", "items", "type",
                      "array", "items", reference(name), "names", "type",
                      "object", "additionalProperties", "type", "string",
                      "next", "type", "string", "null", "revision", "type",
                      "integer"));
    if (route->handle.read == objects_get || (route->flags & ROUTE_CONTENT))
        return content("application/json", reference(name));
    return NULL;
}

static json_t *
list_responses(const struct route *route)
{
    json_t *ok = json_pack("{s:s}", "description", "done");
    json_t *body = success_content(route);
    const char *status = "200";
    if (body != NULL)
        json_object_set_new(ok, "content", body);
    if (route->flags & ROUTE_CREATES)
        status = "201";
    json_t *problem =
        json_pack("{s:s, s:o}", "description", "refused or failed", "content",
                  content("application/problem+json", reference("problem")));
    return json_pack("{s:o, s:o}", route->answer == objects_gone ? "204" : status, ok,
                     "default", problem);
}

static const char *
summary_of(const struct route *route, char text[96])
{
    if (route->summary != NULL)
        return route->summary;
    const struct schema *schema = schema_get(route->kind);
    bool list = (route->flags & ROUTE_LIST) != 0;
    const char *verb = list                                   ? "List"
                       : strcmp(route->method, "POST") == 0   ? "Create a"
                       : strcmp(route->method, "PATCH") == 0  ? "Change a"
                       : strcmp(route->method, "DELETE") == 0 ? "Delete a"
                                                              : "Show a";
    (void)snprintf(text, 96, "%s %s", verb,
                   list ? schema->plural : schema->name);
    return text;
}

/* "get_tenants_tenant_projects": unique, since path and method are. */
static void
operation_id(const struct route *route, char out[160])
{
    const char *path = route->path;
    size_t length = 0;
    bool gap = false;
    if (strncmp(path, ROUTE_ROOT, strlen(ROUTE_ROOT)) == 0)
        path += strlen(ROUTE_ROOT);
    for (const char *at = route->method; *at != '\0' && length < 159; at++)
        out[length++] = (char)tolower((unsigned char)*at);
    for (const char *at = path; *at != '\0' && length < 158; at++) {
        bool plain = isalnum((unsigned char)*at) != 0;
        if (plain && gap)
            out[length++] = '_';
        if (plain)
            out[length++] = *at;
        gap = !plain;
    }
    out[length] = '\0';
}

static json_t *
operation(const struct route *route)
{
    char summary[96], id[160];
    operation_id(route, id);
    json_t *described = json_pack(
        "{s:s, s:s, s:o, s:o}", "operationId", id, "summary",
        summary_of(route, summary), "parameters", list_parameters(route),
        "responses", list_responses(route));
    json_t *body = request_body(route);
    if (body != NULL)
        json_object_set_new(described, "requestBody", body);
    if (route->verb == VERB_COUNT)
        json_object_set_new(described, "security", json_array());
    else
        json_object_set_new(described, "x-bulkhead-verb",
                            json_string(verb_name(route->verb)));
    return described;
}

static json_t *
list_paths(void)
{
    json_t *paths = json_object();
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &route_table[i];
        char method[16];
        size_t size = 0;
        json_t *path = json_object_get(paths, route->path);
        if (path == NULL) {
            path = json_object();
            json_object_set_new(paths, route->path, path);
        }
        for (; size < sizeof method - 1 && route->method[size] != '\0'; size++)
            method[size] = (char)tolower((unsigned char)route->method[size]);
        method[size] = '\0';
        json_object_set_new(path, method, operation(route));
    }
    return paths;
}

json_t *
openapi_document(const char *version)
{
    return json_pack(
        "{s:s, s:{s:s, s:s, s:{s:s, s:s}}, s:[{s:s}], s:o, "
        "s:{s:o, s:{s:{s:s, s:s}}}, s:[{s:[]}]}",
        "openapi", "3.1.0", "info", "title", "Bulkhead", "version", version,
        "license", "name", "Apache-2.0", "identifier", "Apache-2.0",
        "servers", "url", "/", "paths", list_paths(), "components",
        "schemas", list_schemas(), "securitySchemes", "bearer", "type",
        "http", "scheme", "bearer", "security", "bearer");
}

char *
openapi_text(const char *version)
{
    struct buffer out = {0};
    json_t *document = openapi_document(version);
    json_write(&out, document);
    json_decref(document);
    buffer_add_byte(&out, '\n');
    return buffer_take(&out);
}

int
openapi_serve(struct exchange *exchange, struct error *err)
{
    (void)err;
    answer_text(&exchange->answer, 200, "application/json",
                exchange->api->openapi);
    return 0;
}
