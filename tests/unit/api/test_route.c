/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "api/handlers.h"
#include "api/openapi.h"
#include "api/route.h"

/* Everything that may be asked without a login, and nothing else. */
static const char *const public_routes[] = {
    "GET /healthz",
    "GET /readyz",
    "GET /api/v1/version",
    "GET /api/v1/openapi.json",
    "POST /api/v1/login",
    "POST /api/v1/login/sso",
    "POST /api/v1/login/sso/callback",
    "POST /api/v1/stepup/sso",
    "POST /api/v1/stepup/sso/callback",
    "POST /api/v1/logout/sso/{identityprovider}",
    "POST /api/v1/first-admin",
    "POST /api/v1/invitations/accept",
    "POST /agent/v1/enrol",
    "POST /agent/v1/sync",
};

static bool
is_public(const struct route *route)
{
    char text[128];
    (void)snprintf(text, sizeof text, "%s %s", route->method, route->path);
    for (size_t i = 0; i < sizeof public_routes / sizeof *public_routes; i++)
        if (strcmp(public_routes[i], text) == 0)
            return true;
    return false;
}

static void
every_route_has_a_verb_or_is_on_the_short_public_list(void **state)
{
    (void)state;
    size_t open = 0;
    assert_true(route_count > 100);
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &route_table[i];
        bool decided =
            route->form == ROUTE_READ || route->form == ROUTE_WRITE;
        if (decided != (route->verb != VERB_COUNT))
            fail_msg("%s %s has no decision", route->method, route->path);
        if (!decided && !is_public(route))
            fail_msg("%s %s is open", route->method, route->path);
        open += !decided;
    }
    assert_int_equal(open, sizeof public_routes / sizeof *public_routes);
}

static void
a_route_that_changes_something_needs_a_verb_that_writes(void **state)
{
    (void)state;
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &route_table[i];
        bool safe = strcmp(route->method, "GET") == 0;
        /* A question that needs a body is posted. */
        if (route->form == ROUTE_READ && !safe && route->body == NULL)
            fail_msg("%s %s reads", route->method, route->path);
        if (route->form == ROUTE_READ && verb_writes(route->verb))
            fail_msg("%s %s is only a read", route->method, route->path);
        if (route->form == ROUTE_WRITE && (safe || !verb_writes(route->verb)))
            fail_msg("%s %s changes something by %s", route->method,
                     route->path, verb_name(route->verb));
    }
}

/* A verb is decided on the object of its own kind, on the parent, or (for
 * reports) on the node that is reported about. */
static void
a_verb_of_a_kind_belongs_to_a_route_of_that_kind(void **state)
{
    (void)state;
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &route_table[i];
        if (route->verb == VERB_COUNT || (route->flags & ROUTE_SELF) ||
            verb_op(route->verb) == VERB_OP_OTHER)
            continue;
        if (verb_kind(route->verb) != route->kind)
            fail_msg("%s %s shows %s by %s", route->method, route->path,
                     schema_get(route->kind)->name, verb_name(route->verb));
        enum verb_op op = verb_op(route->verb);
        const char *method = op == VERB_OP_CREATE   ? "POST"
                             : op == VERB_OP_DELETE ? "DELETE"
                             : op == VERB_OP_UPDATE ? route->method
                                                    : "GET";
        assert_string_equal(method, route->method);
    }
}

/* Splits by copying, so that each segment ends in a NUL of its own. */
static struct url
url_of(struct arena *arena, const char *template)
{
    struct url url = {0};
    for (const char *at = template; *at == '/';) {
        size_t size = strcspn(at + 1, "/");
        url.segments[url.segment_count++] =
            arena_strndup(arena, at + 1, size);
        at += 1 + size;
    }
    return url;
}

static void
each_route_is_found_by_its_own_path_and_no_other(void **state)
{
    (void)state;
    scoped_arena arena = arena_new();
    char methods[64];
    for (size_t i = 0; i < route_count; i++) {
        struct url url = url_of(arena, route_table[i].path);
        const struct route *found =
            route_match(route_table[i].method, &url, methods);
        if (found != &route_table[i])
            fail_msg("%s %s is hidden by another route",
                     route_table[i].method, route_table[i].path);
        url.segments[url.segment_count++] = "nothing-here";
        found = route_match(route_table[i].method, &url, methods);
        if (found != NULL)
            assert_int_equal(strchr(found->path, '{') != NULL, true);
    }
}

static void
a_path_says_which_methods_it_takes(void **state)
{
    (void)state;
    scoped_arena arena = arena_new();
    char methods[64];
    struct url url = url_of(arena, "/api/v1/tenants");
    assert_null(route_match("PUT", &url, methods));
    assert_string_equal(methods, "GET, HEAD, POST");
    assert_non_null(route_match("HEAD", &url, methods));
    url = url_of(arena, "/api/v1/nowhere");
    assert_null(route_match("GET", &url, methods));
    assert_string_equal(methods, "");
    url = url_of(arena, "/api/v1/tenants/t/projects/p/workloads/w/cancel");
    assert_non_null(route_match("POST", &url, methods));
}

static void
a_placeholder_names_a_kind(void **state)
{
    (void)state;
    for (size_t i = 0; i < route_count; i++)
        for (const char *at = strchr(route_table[i].path, '{'); at != NULL;
             at = strchr(at + 1, '{')) {
            char name[32];
            (void)snprintf(name, sizeof name, "%.*s",
                           (int)strcspn(at + 1, "}"), at + 1);
            if (schema_find(name) == KIND_NONE)
                fail_msg("%s: %s is no kind", route_table[i].path, name);
        }
}

static void
a_route_takes_its_own_parameters_only(void **state)
{
    (void)state;
    scoped_arena arena = arena_new();
    char methods[64];
    struct url url = url_of(arena, "/api/v1/tenants");
    const struct route *list = route_match("GET", &url, methods);
    const struct route *create = route_match("POST", &url, methods);
    assert_true(route_takes(list, "limit"));
    assert_true(route_takes(list, "cursor"));
    assert_false(route_takes(list, "dry_run"));
    assert_false(route_takes(list, "lim"));
    assert_false(route_takes(list, "limit cursor"));
    assert_false(route_takes(list, ""));
    assert_true(route_takes(create, "dry_run"));
    assert_false(route_takes(create, "limit"));
}

/* --- the document --- */

static void
check_references(const json_t *schemas, const json_t *value)
{
    const char *key;
    json_t *member;
    size_t index;
    if (json_is_array(value)) {
        json_array_foreach (value, index, member)
            check_references(schemas, member);
        return;
    }
    if (!json_is_object(value))
        return;
    const char *reference =
        json_string_value(json_object_get(value, "$ref"));
    if (reference != NULL) {
        static const char root[] = "#/components/schemas/";
        assert_memory_equal(reference, root, sizeof root - 1);
        assert_non_null(
            json_object_get(schemas, reference + sizeof root - 1));
    }
    json_object_foreach ((json_t *)(uintptr_t)value, key, member)
        check_references(schemas, member);
}

static void
the_document_has_each_route_once(void **state)
{
    (void)state;
    scoped_json document = openapi_document("1.2.3");
    assert_non_null(document);
    scoped_json seen = json_object();
    json_t *paths = json_object_get(document, "paths");
    json_t *schemas = json_object_get(
        json_object_get(document, "components"), "schemas");
    const char *path, *method;
    json_t *methods, *operation;
    size_t count = 0;
    assert_string_equal(
        json_string_value(json_object_get(document, "openapi")), "3.1.0");
    json_object_foreach (paths, path, methods)
        json_object_foreach (methods, method, operation) {
            const char *id = json_string_value(
                json_object_get(operation, "operationId"));
            assert_non_null(id);
            assert_null(json_object_get(seen, id));
            json_object_set_new(seen, id, json_true());
            assert_non_null(json_object_get(operation, "responses"));
            assert_non_null(json_object_get(operation, "summary"));
            count++;
        }
    assert_int_equal(count, route_count);
    check_references(schemas, document);
}

static void
the_document_shows_no_secret_field(void **state)
{
    (void)state;
    char *text = openapi_text("1");
    assert_null(strstr(text, "\"digest\""));
    assert_null(strstr(text, "Argon2id"));
    assert_non_null(strstr(text, "\"x-bulkhead-verb\":\"tenant.create\""));
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_has_a_verb_or_is_on_the_short_public_list),
        cmocka_unit_test(
            a_route_that_changes_something_needs_a_verb_that_writes),
        cmocka_unit_test(a_verb_of_a_kind_belongs_to_a_route_of_that_kind),
        cmocka_unit_test(each_route_is_found_by_its_own_path_and_no_other),
        cmocka_unit_test(a_path_says_which_methods_it_takes),
        cmocka_unit_test(a_placeholder_names_a_kind),
        cmocka_unit_test(a_route_takes_its_own_parameters_only),
        cmocka_unit_test(the_document_has_each_route_once),
        cmocka_unit_test(the_document_shows_no_secret_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
