/* SPDX-License-Identifier: Apache-2.0 */
#include "api/openapi.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "api/handlers.h"
#include "api/objects.h"
#include "api/openapi_answers.h"
#include "api/openapi_schemas.h"
#include "api/state.h"

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
        json_t *type = json_string(types[fields->type]);
        if (!fields->required)
            type = json_pack("[o, s]", type, "null");
        json_t *schema = json_pack("{s:o}", "type", type);
        if (fields->type == BODY_LIST)
            json_object_set_new(schema, "items", json_object());
        openapi_add_property(properties, fields->name, schema, fields->help);
        if (fields->required)
            json_array_append_new(required, json_string(fields->name));
    }
    return json_pack("{s:s, s:b, s:o, s:o}", "type", "object",
                     "additionalProperties", 0, "properties", properties,
                     "required", required);
}

/* There is nothing to say, but a client may send an empty object. */
static json_t *
empty_body(void)
{
    return json_pack("{s:b, s:{s:{s:{s:s, s:i}}}}", "required", 0, "content",
                     "application/json", "schema", "type", "object",
                     "maxProperties", 0);
}

static json_t *
request_body(const struct route *route)
{
    bool patch = strcmp(route->method, "PATCH") == 0;
    json_t *schema;
    if (route->flags & ROUTE_CONTENT)
        schema = openapi_body_schema(route->kind,
                                     patch ? FIELD_UPDATE : FIELD_CREATE);
    else if (route->body != NULL)
        schema = fields_schema(route->body);
    else if (route->flags & ROUTE_RAW)
        schema = json_pack("{s:s}", "type", "object");
    else if (strcmp(route->method, "POST") == 0)
        return empty_body();
    else
        return NULL;
    json_t *content = json_object();
    if (route->flags & ROUTE_FORM) {
        json_object_set_new(
            content, "application/x-www-form-urlencoded",
            json_pack("{s:o}", "schema", schema));
        return json_pack("{s:b, s:o}", "required", 1, "content", content);
    }
    if (patch)
        json_object_set_new(content, "application/merge-patch+json",
                            json_pack("{s:O}", "schema", schema));
    json_object_set_new(content, "application/json",
                        json_pack("{s:o}", "schema", schema));
    return json_pack("{s:b, s:o}", "required", 1, "content", content);
}

static const char *
help_of(const char *name)
{
    static const struct {
        const char *name;
        const char *help;
    } helps[] = {
        {"limit", "objects on one page at most"},
        {"cursor", "where the next page begins: `next` of the last one"},
        {"name", "only objects of this name"},
        {"state", "only objects in this state"},
        {"watch", "1: go on as server-sent events from `since`"},
        {"since", "revision that is known already"},
        {"dry_run", "1: decide and say what would happen, change nothing"},
        {"Idempotency-Key",
         "a repetition with the same key gets the first answer again"},
        {"Ask-Approval",
         "why: the change is not made, but other people asked for it"},
        {"Approval", "id of the approval by which the change is made"},
        {"If-Match", "ETag of the version that is changed, * for any"},
        {"from", "begin of the window, RFC 3339; in a log a position"},
        {"to", "end of the window, RFC 3339"},
        {"at", "an instant instead of a window, RFC 3339"},
        {"group", "what to sum by, separated by commas"},
        {"card", "id of a card"},
        {"instance", "id of an instance"},
        {"offset", "first byte that is wanted"},
        {"follow", "1: go on as the instance writes"},
        {"names", "1: also what the ids in it are called, as `names`"},
        {"raw", "1: the bytes of the log instead of what they say"},
        {"verb", "what would be done, like workload.create"},
        {"subject", "id of a user or service account"},
        {"object", "id of what it would be done to"},
    };
    for (size_t i = 0; i < sizeof helps / sizeof *helps; i++)
        if (strcmp(helps[i].name, name) == 0)
            return helps[i].help;
    return "id or name of an object on the way";
}

static void
add_parameter(json_t *list, const char *name, const char *in, bool required)
{
    json_t *schema =
        strcmp(name, "limit") == 0
            ? json_pack("{s:s, s:i, s:i}", "type", "integer", "minimum", 1,
                        "maximum", PAGE_LIMIT_MAX)
            : json_pack("{s:s}", "type", "string");
    json_array_append_new(
        list, json_pack("{s:s, s:s, s:b, s:s, s:o}", "name", name, "in", in,
                        "required", required, "description", help_of(name),
                        "schema", schema));
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

/* The route's path; a parameter that is there a second time, a unit below a
 * unit, has a name of its own. */
static void
document_path(const char *path, struct buffer *out)
{
    char name[32];
    for (const char *at = path; *at != '\0'; at++) {
        size_t size = strcspn(at, "}");
        buffer_add_byte(out, (unsigned char)*at);
        if (*at != '{' || size >= sizeof name - 1)
            continue;
        (void)snprintf(name, sizeof name, "%.*s", (int)size + 1, at);
        buffer_add(out, at + 1, size - 1);
        if (strstr(path, name) < at)
            buffer_add_text(out, "_below");
        at += size - 1;
    }
}

static void
add_path_parameters(json_t *list, const char *path)
{
    char name[32];
    scoped_buffer text = {0};
    document_path(path, &text);
    for (const char *at = strchr(buffer_text(&text), '{'); at != NULL;
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
        add_parameter(list, "Ask-Approval", "header", false);
        add_parameter(list, "Approval", "header", false);
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

/* The object's schema with the members that only this answer has. */
static json_t *
schema_with_more(const struct openapi_more *more)
{
    json_t *schema = openapi_object_schema(more->kind);
    json_t *properties = openapi_answer_schema(more->properties);
    json_object_update(json_object_get(schema, "properties"), properties);
    json_decref(properties);
    return schema;
}

static json_t *
list_schema(json_t *item)
{
    return json_pack("{s:s, s:{s:{s:s, s:o}, s:{s:s, s:{s:s}}, s:{s:[s,s]}, "
                     "s:{s:s}}}",
                     "type", "object", "properties", "items", "type", "array",
                     "items", item, "names", "type", "object",
                     "additionalProperties", "type", "string", "next", "type",
                     "string", "null", "revision", "type", "integer");
}

static json_t *
success_schema(const struct route *route)
{
    const struct openapi_more *more = openapi_more_of(route);
    json_t *item = more != NULL
                       ? schema_with_more(more)
                       : reference(schema_get(route->kind)->name);
    return route->flags & ROUTE_LIST ? list_schema(item) : item;
}

static json_t *
success_content(const struct route *route)
{
    const struct openapi_answer *answer = openapi_answer_of(route);
    if (answer == NULL) {
        json_t *types = content("application/json", success_schema(route));
        if (route->flags & ROUTE_WATCH)
            json_object_set_new(types, "text/event-stream",
                                json_pack("{s:{s:s}}", "schema", "type",
                                          "string"));
        return types;
    }
    if (answer->type == NULL)
        return NULL;
    return content(answer->type,
                   answer->schema == NULL
                       ? json_pack("{s:s}", "type", "string")
                       : openapi_answer_schema(answer->schema));
}

static int
success_status(const struct route *route)
{
    const struct openapi_answer *answer = openapi_answer_of(route);
    if (answer != NULL)
        return answer->status;
    if (route->answer == objects_gone)
        return 204;
    return route->flags & ROUTE_CREATES || route->form == ROUTE_START ? 201
                                                                      : 200;
}

static void
add_response(json_t *responses, int status, const char *description,
             json_t *content)
{
    char text[8];
    json_t *response = json_pack("{s:s}", "description", description);
    if (content != NULL)
        json_object_set_new(response, "content", content);
    (void)snprintf(text, sizeof text, "%d", status);
    json_object_set_new(responses, text, response);
}

/* A trial is answered with 200, also where the change itself is not. */
static void
add_trial(json_t *responses)
{
    json_t *content_of_200 = json_object_get(
        json_object_get(json_object_get(responses, "200"), "content"),
        "application/json");
    json_t *trial = reference("trial");
    if (content_of_200 == NULL) {
        add_response(responses, 200, "what would happen",
                     content("application/json", trial));
        return;
    }
    json_t *schema = json_incref(json_object_get(content_of_200, "schema"));
    json_object_set_new(content_of_200, "schema",
                        json_pack("{s:[o, o]}", "anyOf", schema, trial));
}

static json_t *
retry_after(const char *when)
{
    return json_pack("{s:{s:s, s:{s:s, s:i}}}", "Retry-After", "description",
                     when, "schema", "type", "integer", "minimum", 1);
}

static void
add_refusals(json_t *responses, const struct route *route)
{
    json_t *problem =
        content("application/problem+json", reference("problem"));
    if (route->flags & ROUTE_HEAVY)
        json_object_set_new(
            responses, "429",
            json_pack("{s:s, s:o, s:O}", "description",
                      "costs much, and too much of it was asked lately",
                      "headers", retry_after("seconds to wait"), "content",
                      problem));
    /* Agents are answered by the control plane's own messages. */
    if (route->flags & ROUTE_RAW)
        json_object_set_new(problem, "application/json",
                            json_pack("{s:{s:s}}", "schema", "type",
                                      "object"));
    json_object_set_new(
        responses, "default",
        json_pack("{s:s, s:o, s:o}", "description", "refused or failed",
                  "headers", retry_after("seconds to wait, with 429 and 503"),
                  "content", problem));
}

static json_t *
list_responses(const struct route *route)
{
    const struct openapi_answer *answer = openapi_answer_of(route);
    json_t *responses = json_object();
    int status = success_status(route);
    add_response(responses, status, "done",
                 status == 204 ? NULL : success_content(route));
    if (answer != NULL && answer->other != 0)
        add_response(responses, answer->other, "not now",
                     success_content(route));
    if (route->form == ROUTE_WRITE)
        add_trial(responses);
    if (route->form == ROUTE_WRITE)
        add_response(responses, 202,
                     "with Ask-Approval: other people are asked",
                     content("application/json", reference("approval")));
    add_refusals(responses, route);
    return responses;
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

static const char *
tag_of(const struct route *route)
{
    return route->kind == KIND_NONE ? "system"
                                    : schema_get(route->kind)->plural;
}

static json_t *
describe(const struct route *route, const char *summary)
{
    return route->verb == VERB_COUNT
               ? json_sprintf("%s. Needs no login.", summary)
               : json_sprintf("%s. Needs the verb %s.", summary,
                              verb_name(route->verb));
}

static json_t *
operation(const struct route *route)
{
    char summary[96], id[160];
    operation_id(route, id);
    (void)snprintf(summary, sizeof summary, "%s",
                   summary_of(route, (char[96]){""}));
    json_t *described = json_pack(
        "{s:s, s:s, s:o, s:[s], s:o, s:o}", "operationId", id, "summary",
        summary, "description", describe(route, summary), "tags",
        tag_of(route), "parameters", list_parameters(route), "responses",
        list_responses(route));
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
        scoped_buffer text = {0};
        document_path(route->path, &text);
        json_t *path = json_object_get(paths, buffer_text(&text));
        if (path == NULL) {
            path = json_object();
            json_object_set_new(paths, buffer_text(&text), path);
        }
        for (; size < sizeof method - 1 && route->method[size] != '\0'; size++)
            method[size] = (char)tolower((unsigned char)route->method[size]);
        method[size] = '\0';
        json_object_set_new(path, method, operation(route));
    }
    return paths;
}

static void
add_tag(json_t *tags, const char *name, const char *help)
{
    size_t at = 0;
    while (at < json_array_size(tags) &&
           strcmp(json_string_value(json_object_get(json_array_get(tags, at),
                                                    "name")),
                  name) < 0)
        at++;
    json_array_insert_new(tags, at,
                          json_pack("{s:s, s:s}", "name", name, "description",
                                    help));
}

static bool
is_used(const char *tag)
{
    for (size_t i = 0; i < route_count; i++)
        if (strcmp(tag_of(&route_table[i]), tag) == 0)
            return true;
    return false;
}

static json_t *
list_tags(void)
{
    json_t *tags = json_array();
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
        const struct schema *schema = schema_get((enum kind)kind);
        if (is_used(schema->plural))
            add_tag(tags, schema->plural, schema->help);
    }
    add_tag(tags, "system", "the control plane itself");
    return tags;
}

static json_t *
describe_api(const char *version)
{
    return json_pack(
        "{s:s, s:s, s:s, s:{s:s, s:s}}", "title", "Bulkhead",
        "version", version, "description",
        "Shares GPU infrastructure among tenants: who may use which cards, "
        "what runs, waits and is bound, what it costs, and who did what.",
        "license", "name", "Apache-2.0", "url",
        "https://www.apache.org/licenses/LICENSE-2.0");
}

json_t *
openapi_document(const char *version)
{
    return json_pack("{s:s, s:o, s:[{s:s}], s:o, s:o, "
                     "s:{s:o, s:{s:{s:s, s:s}}}, s:[{s:[]}]}",
                     "openapi", "3.1.0", "info", describe_api(version),
                     "servers", "url", "/", "tags", list_tags(), "paths",
                     list_paths(), "components", "schemas", openapi_schemas(),
                     "securitySchemes", "bearer", "type", "http", "scheme",
                     "bearer", "security", "bearer");
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
