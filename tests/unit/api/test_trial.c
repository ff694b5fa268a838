/* SPDX-License-Identifier: Apache-2.0 */
#include "api/route.h"
#include "tests/unit/api/estate.h"

/*
 * Every route that changes something is tried with dry_run=1 and then done:
 * the trial has to foretell the answer, and to change nothing.  Paths and
 * bodies follow from the routes and the schema, so new kinds come along by
 * themselves; what is refused has to be foretold as well.
 */

static struct estate estate;

static unsigned tried, succeeded;

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

/* --- what is asked --- */

static void
fill_path(const struct route *route, char out[512])
{
    const char *at = route->path + strlen(ROUTE_ROOT);
    size_t used = 0;
    while (*at != '\0' && used < 400) {
        char name[32];
        size_t size = strcspn(at, "}");
        if (*at != '{') {
            out[used++] = *at++;
            continue;
        }
        (void)snprintf(name, sizeof name, "%.*s", (int)size - 1, at + 1);
        enum kind kind = schema_find(name);
        const char *id = estate.research.ids[kind];
        used += (size_t)snprintf(out + used, 512 - used, "%s",
                                 id[0] == '\0' ? "none" : id);
        at += size + 1;
    }
    out[used] = '\0';
}

static json_t *
value_of(const struct field *field)
{
    switch (field->type) {
    case FIELD_NAME:
    case FIELD_TEXT:
        return json_string("text");
    case FIELD_INT:
        return json_integer(field->min > 1 ? field->min : 1);
    case FIELD_BOOL:
        return json_true();
    case FIELD_TIME:
        return json_string("2031-01-01T00:00:00Z");
    case FIELD_ENUM:
        return json_string(field->names[0]);
    case FIELD_REF:
        return json_string(
            field->kind == KIND_NONE ? estate.research.ids[KIND_USER]
            : field->kind == KIND_ROLE
                ? "viewer"
                : estate.research.ids[field->kind]);
    case FIELD_VERBS:
        return json_pack("[s]", "project.get");
    case FIELD_DOC:
    case FIELD_BYTES:
        break;
    }
    return NULL;
}

static void
put_fields(json_t *body, enum kind kind, unsigned wanted, bool all)
{
    const struct schema *schema = schema_get(kind);
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];
        if ((field->flags & wanted) != wanted ||
            (!all && json_object_size(body) > 0))
            continue;
        json_t *value = value_of(field);
        if (value != NULL)
            json_object_set_new(body, field->name, value);
    }
}

static char *
make_body(const struct route *route)
{
    json_t *body = json_object();
    if (route->flags & ROUTE_CONTENT) {
        if (strcmp(route->method, "POST") == 0) {
            json_object_set_new(body, "name", json_string("trial"));
            put_fields(body, route->kind, FIELD_CREATE | FIELD_REQUIRED, true);
        } else {
            put_fields(body, route->kind, FIELD_UPDATE, false);
        }
    }
    for (const struct body_field *field = route->body;
         field != NULL && field->name != NULL; field++)
        json_object_set_new(body, field->name, json_string(PASSWORD));
    bool none = strcmp(route->method, "DELETE") == 0;
    char *text = none ? NULL : json_dumps(body, 0);
    json_decref(body);
    return text;
}

/* --- what comes of it --- */

struct marks {
    uint64_t platform, tenants; /* revisions: records of the log move none */
};

static void
mark_step(struct loop *loop, struct arena *arena, void *data)
{
    struct marks *marks = data;
    const struct world *world = loop_world(loop);
    (void)arena;
    *marks = (struct marks){world_revision(world, world_platform_ref(world)), 0};
    world_each(world, KIND_TENANT, ref)
        marks->tenants = marks->tenants * 31 + world_revision(world, ref);
}

/* What a trial cannot know: ids, counters, times and secrets to come. */
static void
drop_fresh(json_t *body)
{
    static const char *const names[] = {"id",      "revision", "version",
                                        "created", "updated",  "key",
                                        "token",   "uri",      "request_id",
                                        "used_ms"};
    void *next;
    const char *key;
    json_t *value;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)json_object_del(body, names[i]);
    json_object_foreach_safe(body, next, key, value) {
        size_t size = strlen(key);
        if (size > 3 && strcmp(key + size - 3, "_ms") == 0)
            (void)json_object_del(body, key);
    }
}

static json_t *
send_it(const struct route *route, const char *token, const char *path,
        const char *body, long *status_out)
{
    estate.place.headers[0] =
        route->flags & ROUTE_MATCH ? "If-Match: *" : NULL;
    *status_out = client_send(&estate.place, token, route->method, path, body);
    return client_json(&estate.place);
}

static void
try_and_do(const struct route *route)
{
    char path[512], trial_path[540];
    struct marks before, after;
    long trial_status, status;
    const char *token = route->kind == KIND_DENY ? estate.guard
                                                 : estate.place.root;
    char *body = make_body(route);
    fill_path(route, path);
    (void)snprintf(trial_path, sizeof trial_path, "%s?dry_run=1", path);
    harness_run(&estate.place.harness, mark_step, &before);
    json_t *trial =
        send_it(route, token, trial_path, body, &trial_status);
    harness_run(&estate.place.harness, mark_step, &after);
    if (memcmp(&before, &after, sizeof before) != 0)
        fail_msg("%s %s: the trial changed something", route->method, path);
    json_t *done = send_it(route, token, path, body, &status);
    if (trial_status == 200) {
        json_t *inside = json_incref(json_object_get(trial, "body"));
        trial_status = (long)json_integer_value(
            json_object_get(trial, "status"));
        json_decref(trial);
        trial = inside;
        succeeded++;
    }
    drop_fresh(trial);
    drop_fresh(done);
    tried++;
    if (trial_status != status || !json_equal(trial, done)) {
        char *one = json_dumps(trial, JSON_ENCODE_ANY | JSON_SORT_KEYS);
        char *two = json_dumps(done, JSON_ENCODE_ANY | JSON_SORT_KEYS);
        fail_msg("%s %s %s: the trial said %ld %s, it was %ld %s",
                 route->method, path, body == NULL ? "" : body, trial_status,
                 one, status, two);
    }
    json_decref(trial);
    json_decref(done);
    free(body);
}

static bool
ends_session(const struct route *route)
{
    return strcmp(route->path, ROUTE_ROOT "/logout") == 0;
}

static void
try_all(const char *method, bool backwards)
{
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route =
            &route_table[backwards ? route_count - 1 - i : i];
        if (route_changes(route) && strcmp(route->method, method) == 0 &&
            !ends_session(route))
            try_and_do(route);
    }
}

/* Deletions go from the inside out. */
static void
a_trial_foretells_what_every_change_does(void **state)
{
    size_t changing = 0;
    (void)state;
    try_all("POST", false);
    try_all("PATCH", false);
    try_all("DELETE", true);
    for (size_t i = 0; i < route_count; i++) {
        changing += route_changes(&route_table[i]);
        if (ends_session(&route_table[i]))
            try_and_do(&route_table[i]);
    }
    assert_int_equal(tried, changing);
    print_message("%u changes tried, %u of them allowed\n", tried, succeeded);
    assert_true(succeeded >= 30);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trial_foretells_what_every_change_does),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
