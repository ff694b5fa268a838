/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_API_CLIENT_H
#define TESTS_UNIT_API_CLIENT_H

#include "api/route.h"
#include "api/server.h"
#include "base/file.h"
#include "base/http.h"
#include "base/json.h"
#include "identity/password.h"
#include "tests/unit/control/harness.h"

/*
 * A server in the test's process and people who use it:
 *
 *   place_open(&place);              a platform with its first admin, `root`
 *   ask(&place, root, "POST", "/tenants", "{...}", 201)   the body, or fails
 *   place_close(&place);
 *
 * Paths are below /api/v1 unless they begin with '='.
 */

static const struct password_cost client_cost = {1, 8192};

struct place {
    struct harness harness;
    struct api *api;
    char socket[128];
    char secret[128];
    struct http_target target;
    char *root; /* token of the first admin */
    void (*tune)(struct api_options *options); /* before place_open */
    void (*prepare)(struct loop *loop); /* the same; client_prepare at least */
    const char *headers[4]; /* further ones of the next request */
    struct http_answer last; /* headers and body of the last answer */
};

static struct place *client_place; /* for the harness's hook */

static inline void
client_prepare(struct loop *loop)
{
    struct error err;
    struct place *place = client_place;
    struct api_options options = {.unix_path = place->socket,
                                  .secret_path = place->secret,
                                  .version = "test",
                                  .password_cost = &client_cost};
    if (place->tune != NULL)
        place->tune(&options);
    harness_must(api_start(loop, &options, &place->api, &err), &err);
}

/* Sends; returns the status.  The answer stays in place->last. */
static inline long
client_send(struct place *place, const char *token, const char *method,
            const char *path, const char *body)
{
    struct error err;
    char full[1024], authorization[128];
    size_t count = 0;
    struct http_request request = {.method = method,
                                   .path = full,
                                   .body = body,
                                   .body_size =
                                       body == NULL ? 0 : strlen(body),
                                   .timeout_ms = 20000};
    (void)snprintf(full, sizeof full, "%s%s", path[0] == '=' ? "" : "/api/v1",
                   path[0] == '=' ? path + 1 : path);
    if (token != NULL) {
        (void)snprintf(authorization, sizeof authorization,
                       "Authorization: Bearer %s", token);
        request.headers[count++] = authorization;
    }
    if (body != NULL)
        request.headers[count++] = "Content-Type: application/json";
    for (size_t i = 0; i < 4 && place->headers[i] != NULL; i++)
        request.headers[count++] = place->headers[i];
    memset(place->headers, 0, sizeof place->headers);
    http_answer_release(&place->last);
    place->last = (struct http_answer){0};
    harness_must(http_send(&place->target, &request, &place->last, &err),
                 &err);
    return place->last.status;
}

static inline json_t *
client_json(const struct place *place)
{
    struct error err;
    if (place->last.body.size == 0)
        return json_null();
    json_t *value =
        json_loadb(place->last.body.bytes, place->last.body.size, 0, NULL);
    (void)err;
    if (value == NULL)
        fail_msg("no JSON: %s", buffer_text(&place->last.body));
    return value;
}

/* The body of an answer with that status; a new reference. */
static inline json_t *
ask(struct place *place, const char *token, const char *method,
    const char *path, const char *body, long status)
{
    long got = client_send(place, token, method, path, body);
    if (got != status)
        fail_msg("%s %s: %ld in place of %ld: %s", method, path, got, status,
                 buffer_text(&place->last.body));
    return client_json(place);
}

/* The same, for its effect. */
static inline void
tell(struct place *place, const char *token, const char *method,
     const char *path, const char *body, long status)
{
    json_decref(ask(place, token, method, path, body, status));
}

/* A member of the body as a text of its own. */
static inline char *
ask_text(struct place *place, const char *token, const char *method,
         const char *path, const char *body, long status, const char *member)
{
    scoped_json value = ask(place, token, method, path, body, status);
    const char *text = json_string_value(json_object_get(value, member));
    if (text == NULL)
        fail_msg("%s %s: no %s in %s", method, path, member,
                 buffer_text(&place->last.body));
    return memory_strdup(text);
}

#define PASSWORD "correct horse battery"

static inline char *
log_in(struct place *place, const char *tenant, const char *name)
{
    char body[256];
    if (tenant == NULL)
        (void)snprintf(body, sizeof body,
                       "{\"name\":\"%s\",\"password\":\"" PASSWORD "\"}",
                       name);
    else
        (void)snprintf(body, sizeof body,
                       "{\"name\":\"%s\",\"tenant\":\"%s\",\"password\":"
                       "\"" PASSWORD "\"}",
                       name, tenant);
    return ask_text(place, NULL, "POST", "/login", body, 201, "token");
}

static inline void
place_first_admin(struct place *place)
{
    struct error err;
    char body[512];
    scoped_buffer secret = {0};
    harness_must(file_read(place->secret, 256, &secret, &err), &err);
    secret.bytes[strcspn(secret.bytes, "\n")] = '\0';
    (void)snprintf(body, sizeof body,
                   "{\"secret\":\"%s\",\"name\":\"root\",\"password\":"
                   "\"" PASSWORD "\"}",
                   secret.bytes);
    tell(place, NULL, "POST", "/first-admin", body, 201);
    place->root = log_in(place, NULL, "root");
}

static inline void
place_open(struct place *place)
{
    char directory[] = "/tmp/bulkhead-api-XXXXXX";
    struct error err;
    *place = (struct place){.tune = place->tune,
                            .prepare = place->prepare,
                            .harness.base = place->harness.base};
    client_place = place;
    assert_non_null(mkdtemp(directory));
    (void)snprintf(place->socket, sizeof place->socket, "%s/socket",
                   directory);
    (void)snprintf(place->secret, sizeof place->secret, "%s/first-admin",
                   directory);
    place->target = (struct http_target){place->socket,
                                         "http://localhost", NULL};
    place->harness.prepare =
        place->prepare == NULL ? client_prepare : place->prepare;
    harness_open(&place->harness);
    struct bootstrap bootstrap = {.secret_path = place->secret};
    harness_must(bootstrap_run(place->harness.loop, &bootstrap, &err), &err);
    place_first_admin(place);
}

static inline void
place_close(struct place *place)
{
    api_stop(place->api);
    harness_close(&place->harness);
    api_free(place->api);
    http_answer_release(&place->last);
    free(place->root);
    (void)unlink(place->socket);
    (void)unlink(place->secret);
    *strrchr(place->socket, '/') = '\0';
    (void)rmdir(place->socket);
}

/* A user of a tenant (NULL: an operator) with a role at a node (a path like
 * "/tenants/a"); returns its token. */
static inline char *
join(struct place *place, const char *tenant, const char *name,
     const char *node, const char *role)
{
    char path[512], body[512];
    char parent[128] = "";
    if (tenant != NULL)
        (void)snprintf(parent, sizeof parent, "/tenants/%s", tenant);
    (void)snprintf(path, sizeof path, "%s/users", parent);
    (void)snprintf(body, sizeof body, "{\"name\":\"%s\"}", name);
    char *id = ask_text(place, place->root, "POST", path, body, 201, "id");
    (void)snprintf(path, sizeof path, "%s/users/%s/password", parent, id);
    tell(place, place->root, "POST", path,
         "{\"password\":\"" PASSWORD "\",\"temporary\":false}", 204);
    if (role != NULL) {
        (void)snprintf(path, sizeof path, "%s/grants", node);
        (void)snprintf(body, sizeof body,
                       "{\"subject\":\"%s\",\"role\":\"%s\"}", id, role);
        tell(place, place->root, "POST", path, body, 201);
    }
    free(id);
    return log_in(place, tenant, name);
}

/* A body with the fields that the route needs; NULL: it takes none. */
static inline const char *
client_body(const struct route *route, const char *text, char out[512])
{
    size_t used = 1;
    if (route->flags & ROUTE_CONTENT)
        return "{}";
    if (route->body == NULL)
        return NULL;
    out[0] = '{';
    for (const struct body_field *field = route->body; field->name != NULL;
         field++)
        if (field->required)
            used += (size_t)snprintf(
                out + used, 512 - used,
                field->type == BODY_TEXT   ? "%s\"%s\":\"%s\""
                : field->type == BODY_LIST ? "%s\"%s\":[]"
                                           : "%s\"%s\":1",
                used > 1 ? "," : "", field->name, text);
    (void)snprintf(out + used, 512 - used, "}");
    return out;
}

#endif
