/* SPDX-License-Identifier: Apache-2.0 */
#include "api/handlers.h"
#include "api/openapi.h"
#include "api/route.h"
#include "tests/unit/api/estate.h"

/*
 * What does one tenant learn about the other?  Every route is walked with the
 * other tenant's ids, with mixed paths, and with ids that never were: the
 * answers must not differ.
 */

#define NEVER "aaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct estate estate;

static int
set_up(void **state)
{
    (void)state;
    estate_open(&estate);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    estate_close(&estate);
    return 0;
}

/* Writes a route's path with ids of `tenant` for {tenant} and of `rest` for
 * all others; NULL: ids that never were.  False when there is no such id. */
static bool
fill_path(const struct route *route, const struct side *tenant,
          const struct side *rest, char out[512])
{
    size_t length = 0;
    for (const char *at = route->path; *at != '\0';) {
        if (*at != '{') {
            out[length++] = *at++;
            continue;
        }
        char name[32];
        size_t size = strcspn(at + 1, "}");
        (void)snprintf(name, sizeof name, "%.*s", (int)size, at + 1);
        enum kind kind = schema_find(name);
        const struct side *side = kind == KIND_TENANT ? tenant : rest;
        const char *id = side == NULL ? "" : side->ids[kind];
        if (side != NULL && id[0] == '\0')
            return false;
        length += (size_t)snprintf(
            out + length, 512 - length, side == NULL ? "%s_" NEVER : "%s",
            side == NULL ? schema_get(kind)->prefix : id);
        at += size + 2;
    }
    out[length] = '\0';
    return true;
}

/* Sends as the asker; the comparable part of the answer goes to out. */
static long
try_route(const char *token, const struct route *route, const char *path,
          struct buffer *out)
{
    struct place *place = &estate.place;
    char full[600], body_text[512];
    (void)snprintf(full, sizeof full, "=%s", path);
    place->headers[0] = "If-Match: *";
    long status = client_send(place, token, route->method, full,
                              client_body(route, PASSWORD, body_text));
    buffer_clear(out);
    buffer_printf(out, "%ld\n", status);
    for (const char *at = buffer_text(&place->last.headers); *at != '\0';) {
        size_t size = strcspn(at, "\n");
        if (strncasecmp(at, "Date:", 5) != 0 &&
            strncasecmp(at, "X-Request-Id:", 13) != 0 &&
            strncasecmp(at, "HTTP/", 5) != 0)
            buffer_add(out, at, size + (at[size] == '\n'));
        at += size + (at[size] == '\n');
    }
    const char *body = buffer_text(&place->last.body);
    const char *id = strstr(body, "\"request_id\":\"");
    if (id == NULL) {
        buffer_add_text(out, body);
        return status;
    }
    buffer_add(out, body, (size_t)(id - body));
    buffer_add_text(out, strchr(id + 14, '"'));
    return status;
}

static bool
names_an_object(const struct route *route)
{
    return strchr(route->path, '{') != NULL;
}

/* [A6] [A36]: no route lets a tenant's admin reach into the other, and no
 * answer differs from that for an id that never was. */
static void
every_route_hides_the_other_tenant_like_an_id_that_never_was(void **state)
{
    (void)state;
    scoped_buffer real = {0};
    scoped_buffer never = {0};
    size_t walked = 0;
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &route_table[i];
        char path[512], none[512];
        if (strstr(route->path, "{tenant}") == NULL ||
            !fill_path(route, &estate.vision, &estate.vision, path))
            continue;
        (void)fill_path(route, NULL, NULL, none);
        long status = try_route(estate.research.admin, route, path, &real);
        (void)try_route(estate.research.admin, route, none, &never);
        if (status != 404)
            fail_msg("%s %s: %ld %s", route->method, path, status,
                     buffer_text(&real));
        assert_string_equal(buffer_text(&real), buffer_text(&never));
        walked++;
    }
    assert_true(walked > 70);
}

/* [A1]: an id of the other tenant inside one's own path. */
static void
an_id_is_resolved_inside_its_own_path_only(void **state)
{
    (void)state;
    scoped_buffer answer = {0};
    size_t walked = 0;
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &route_table[i];
        char path[512];
        const char *tail = strstr(route->path, "{tenant}");
        if (tail == NULL || strchr(tail + 8, '{') == NULL ||
            !fill_path(route, &estate.research, &estate.vision, path))
            continue;
        long status = try_route(estate.research.admin, route, path, &answer);
        if (status != 404)
            fail_msg("%s %s: %ld", route->method, path, status);
        /* Not even for somebody who may see both. */
        status = try_route(estate.place.root, route, path, &answer);
        if (status != 404)
            fail_msg("%s %s as root: %ld", route->method, path, status);
        walked++;
    }
    assert_true(walked > 50);
}

/* The walk above proves something: on one's own ids reads do succeed. */
static void
every_read_of_ones_own_succeeds(void **state)
{
    (void)state;
    scoped_buffer answer = {0};
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &route_table[i];
        char path[512];
        if (route->form != ROUTE_READ || !names_an_object(route) ||
            strstr(route->path, "{tenant}") == NULL ||
            strstr(route->path, "/log") != NULL ||
            strstr(route->path, "/audit/") != NULL ||
            strstr(route->path, "/ceilings/{") != NULL)
            continue;
        if (!fill_path(route, &estate.vision, &estate.vision, path))
            continue;
        /* Objects that lie below another node than this path's. */
        if (try_route(estate.place.root, route, path, &answer) == 404)
            continue;
        long status = try_route(estate.vision.admin, route, path, &answer);
        if (status != 200)
            fail_msg("GET %s: %s", path, buffer_text(&answer));
    }
}

/* A tenant's admin does nothing to the platform's own objects. */
static void
the_estate_is_not_a_tenants_to_change(void **state)
{
    (void)state;
    scoped_buffer answer = {0};
    size_t walked = 0;
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &route_table[i];
        char path[512];
        if (route->form != ROUTE_WRITE || (route->flags & ROUTE_SELF) ||
            strstr(route->path, "{tenant}/") != NULL ||
            !fill_path(route, &estate.vision, &estate.research, path))
            continue;
        long status = try_route(estate.research.admin, route, path, &answer);
        if (status != 403 && status != 404)
            fail_msg("%s %s: %ld %s", route->method, path, status,
                     buffer_text(&answer));
        walked++;
    }
    assert_true(walked > 30);
}

/* [A39] [A37]: a list is what get would show; there is no total. */
static void
lists_hold_what_one_may_see_and_tell_no_total(void **state)
{
    (void)state;
    struct place *place = &estate.place;
    scoped_json tenants =
        ask(place, estate.research.admin, "GET", "/tenants", NULL, 200);
    json_t *items = json_object_get(tenants, "items");
    assert_int_equal(json_array_size(items), 1);
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(items, 0), "id")),
                        estate.research.ids[KIND_TENANT]);
    assert_int_equal(json_object_size(tenants), 4);
    assert_null(json_object_get(json_object_get(tenants, "names"),
                                estate.vision.ids[KIND_TENANT]));
    scoped_json all = ask(place, place->root, "GET", "/tenants", NULL, 200);
    assert_int_equal(json_array_size(json_object_get(all, "items")), 2);
    scoped_json cards =
        ask(place, estate.research.admin, "GET", "/cards", NULL, 200);
    assert_int_equal(json_array_size(json_object_get(cards, "items")), 0);
    scoped_json queue =
        ask(place, estate.research.admin, "GET", "/queue", NULL, 200);
    assert_int_equal(json_array_size(json_object_get(queue, "items")), 0);
}

/* [A36]: one error for references that are not there and that are hidden. */
static void
a_hidden_reference_in_a_body_reads_like_one_that_never_was(void **state)
{
    (void)state;
    struct place *place = &estate.place;
    char body[256];
    const char *subjects[] = {estate.vision.ids[KIND_USER], "us_" NEVER};
    char *texts[2];
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(body, sizeof body,
                       "{\"subject\":\"%s\",\"role\":\"developer\"}",
                       subjects[i]);
        (void)client_send(place, estate.research.admin, "POST",
                          "/tenants/research/grants", body);
        char *text = memory_strdup(buffer_text(&place->last.body));
        char *id = strstr(text, "\"request_id\":\"rq_");
        assert_non_null(id);
        memset(id + 17, '-', 26);
        /* What the asker sent itself may be told. */
        char *own = strstr(text, subjects[i]);
        if (own != NULL)
            memset(own, '-', strlen(subjects[i]));
        texts[i] = text;
    }
    assert_string_equal(texts[0], texts[1]);
    free(texts[0]);
    free(texts[1]);
}

/* Revisions and versions are of one's own tenant. */
static void
what_the_other_does_moves_no_revision_of_mine(void **state)
{
    (void)state;
    struct place *place = &estate.place;
    scoped_json before = ask(place, estate.research.admin, "GET",
                             "/tenants/research/projects", NULL, 200);
    tell(place, estate.vision.admin, "POST", "/tenants/vision/projects",
         "{\"name\":\"more\"}", 201);
    scoped_json after = ask(place, estate.research.admin, "GET",
                            "/tenants/research/projects", NULL, 200);
    assert_int_equal(
        json_integer_value(json_object_get(before, "revision")),
        json_integer_value(json_object_get(after, "revision")));
}

/* [A33]: metadata is not content. */
static void
an_operator_sees_a_workload_but_not_what_it_runs(void **state)
{
    (void)state;
    struct place *place = &estate.place;
    char path[256];
    (void)snprintf(path, sizeof path,
                   "/tenants/vision/projects/work/workloads/%s",
                   estate.vision.ids[KIND_WORKLOAD]);
    scoped_json seen = ask(place, place->root, "GET", path, NULL, 200);
    assert_null(json_object_get(seen, "spec"));
    (void)snprintf(path, sizeof path,
                   "/tenants/vision/projects/work/workloads/%s/log",
                   estate.vision.ids[KIND_WORKLOAD]);
    tell(place, place->root, "GET", path, NULL, 403);
}

/* What is shown is what the document names, for a member of the tenant. */
static void
objects_have_the_members_that_the_document_names(void **state)
{
    (void)state;
    scoped_json document = openapi_document("1");
    json_t *schemas = json_object_get(
        json_object_get(document, "components"), "schemas");
    size_t looked = 0;
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &route_table[i];
        char path[512], full[600];
        if (route->handle.read != objects_get || route->form != ROUTE_READ ||
            !fill_path(route, &estate.vision, &estate.vision, path))
            continue;
        json_t *properties = json_object_get(
            json_object_get(schemas, schema_get(route->kind)->name),
            "properties");
        (void)snprintf(full, sizeof full, "=%s%s", path,
                       json_object_get(properties, "names") != NULL
                           ? "?names=1"
                           : "");
        if (client_send(&estate.place, estate.place.root, "GET", full,
                        NULL) != 200)
            continue;
        scoped_json shown = client_json(&estate.place);
        const char *name;
        json_t *member;
        json_object_foreach (shown, name, member)
            if (json_object_get(properties, name) == NULL)
                fail_msg("%s: %s is not in the document", path, name);
        /* What it runs is content, when it would start is asked of what waits. */
        json_object_foreach (properties, name, member)
            if (json_object_get(shown, name) == NULL &&
                strcmp(name, "spec") != 0 && strcmp(name, "estimate") != 0)
                fail_msg("%s: %s is not shown", path, name);
        looked++;
    }
    assert_true(looked > 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            every_route_hides_the_other_tenant_like_an_id_that_never_was),
        cmocka_unit_test(an_id_is_resolved_inside_its_own_path_only),
        cmocka_unit_test(every_read_of_ones_own_succeeds),
        cmocka_unit_test(the_estate_is_not_a_tenants_to_change),
        cmocka_unit_test(lists_hold_what_one_may_see_and_tell_no_total),
        cmocka_unit_test(
            a_hidden_reference_in_a_body_reads_like_one_that_never_was),
        cmocka_unit_test(what_the_other_does_moves_no_revision_of_mine),
        cmocka_unit_test(an_operator_sees_a_workload_but_not_what_it_runs),
        cmocka_unit_test(objects_have_the_members_that_the_document_names),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
