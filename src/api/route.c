/* SPDX-License-Identifier: Apache-2.0 */
#include "api/route.h"

#include <stdio.h>
#include <string.h>

#include "api/handlers.h"
#include "api/route_tree.h"

#define NO_VERB ((enum verb)VERB_COUNT)

const struct body_field login_body[] = {
    {"name", BODY_TEXT, true, "the user's name"},
    {"tenant", BODY_TEXT, false, "its tenant's name; none: an operator"},
    {"workorder", BODY_TEXT, false, "id of the work order of a vendor"},
    {"password", BODY_TEXT, true, "its password"},
    {NULL, BODY_TEXT, false, NULL},
};
const struct body_field first_admin_body[] = {
    {"secret", BODY_TEXT, true, "content of the one-time file"},
    {"name", BODY_TEXT, true, "name of the first administrator"},
    {"password", BODY_TEXT, true, "its password"},
    {NULL, BODY_TEXT, false, NULL},
};
const struct body_field stepup_body[] = {
    {"password", BODY_TEXT, false, "the asker's password"},
    {"code", BODY_TEXT, false, "or a code of the second factor"},
    {"recovery", BODY_TEXT, false, "or a recovery code, once each"},
    {NULL, BODY_TEXT, false, NULL},
};
const struct body_field password_body[] = {
    {"password", BODY_TEXT, true, "the new password"},
    {"temporary", BODY_BOOL, false,
     "to be changed at the next login; default for somebody else's"},
    {NULL, BODY_TEXT, false, NULL},
};

const struct body_field rotate_body[] = {
    {"overlap_ms", BODY_INT, false,
     "the secret before works that much longer, ms; default a day"},
    {NULL, BODY_TEXT, false, NULL},
};
const struct body_field code_body[] = {
    {"code", BODY_TEXT, true, "what the device shows"},
    {NULL, BODY_TEXT, false, NULL},
};
const struct body_field accept_body[] = {
    {"token", BODY_TEXT, true, "the invitation"},
    {"password", BODY_TEXT, true, "of the new user"},
    {NULL, BODY_TEXT, false, NULL},
};
const struct body_field factor_policy_body[] = {
    {"second_factor", BODY_TEXT, true, "off, step-up or login"},
    {NULL, BODY_TEXT, false, NULL},
};
const struct body_field drain_body[] = {
    {"reason", BODY_TEXT, true, "why, for the owners of the work"},
    {"cancel", BODY_BOOL, false,
     "end all work for good; else running work goes back to waiting"},
    {NULL, BODY_TEXT, false, NULL},
};
const struct body_field take_off_body[] = {
    {"reason", BODY_TEXT, true, "why, for the workload's owner"},
    {NULL, BODY_TEXT, false, NULL},
};
const struct body_field whatif_body[] = {
    {"horizon_ms", BODY_INT, false, "how far to look ahead; a day"},
    {"change", BODY_LIST, false,
     "set_quota, add_nodes, reserve, set_node, cancel: tried in this order"},
    {"submit", BODY_LIST, false, "project, count, run_ms, workload"},
    {"watch", BODY_LIST, false, "ids of workloads to be told about"},
    {NULL, BODY_TEXT, false, NULL},
};

const struct body_field note_body[] = {
    {"note", BODY_TEXT, false, "for who asked"},
    {NULL, BODY_TEXT, false, NULL},
};
const struct body_field raise_body[] = {
    {"limit", BODY_INT, true, "limit in force for that time"},
    {"for_ms", BODY_INT, true, "how long, ms; 0: it ends now"},
    {"reason", BODY_TEXT, true, "why"},
    {NULL, BODY_TEXT, false, NULL},
};

/* clang-format off */
#define READ(m, p, v, k, f, q, h, hist, s)                                    \
    {.method = #m, .path = ROUTE_ROOT p, .form = ROUTE_READ,                  \
     .verb = VERB_##v, .kind = KIND_##k, .flags = f, .query = q,              \
     .summary = s, .handle.read = h, .history = hist},
#define WRITE(m, p, v, k, f, b, h, w, a, s)                                   \
    {.method = #m, .path = ROUTE_ROOT p, .form = ROUTE_WRITE,                 \
     .verb = VERB_##v, .kind = KIND_##k, .flags = f, .body = b,               \
     .summary = s, .handle.write = h, .work = w, .answer = a},
/* A question with a body. */
#define ASK(m, p, v, k, f, b, h, hist, s)                                     \
    {.method = #m, .path = ROUTE_ROOT p, .form = ROUTE_READ,                  \
     .verb = VERB_##v, .kind = KIND_##k, .flags = f, .body = b,               \
     .summary = s, .handle.read = h, .history = hist},
#define OPEN_AT(m, p, h, s)                                                   \
    {.method = #m, .path = p, .form = ROUTE_OPEN, .verb = NO_VERB,            \
     .summary = s, .handle.open = h},
#define START_AT(m, p, f, b, h, s)                                            \
    {.method = #m, .path = p, .form = ROUTE_START, .verb = NO_VERB,           \
     .flags = f, .body = b, .summary = s, .handle.start = h},
#define PLAIN(m, p, h, s) OPEN_AT(m, p, h, s)
#define OPEN(m, p, h, s) OPEN_AT(m, ROUTE_ROOT p, h, s)
#define START(m, p, f, b, h, s) START_AT(m, ROUTE_ROOT p, f, b, h, s)
#define AGENT(m, p, h, s) START_AT(m, p, ROUTE_RAW, NULL, h, s)
#define LIST(p, k)                                                            \
    READ(GET, p, k##_LIST, k, ROUTE_LIST | ROUTE_WATCH, NULL, objects_list,   \
         NULL, NULL)
#define GET(p, k, one)                                                        \
    READ(GET, p "/" one, k##_GET, k, 0, "names", objects_get, NULL, NULL)
#define CREATE(p, k)                                                          \
    WRITE(POST, p, k##_CREATE, k, ROUTE_CREATES | ROUTE_CONTENT, NULL,        \
          objects_create, NULL, objects_answer, NULL)
#define UPDATE(p, k, one)                                                     \
    WRITE(PATCH, p "/" one, k##_UPDATE, k, ROUTE_MATCH | ROUTE_CONTENT, NULL, \
          objects_update, NULL, objects_answer, NULL)
#define DELETE(p, k, one)                                                     \
    WRITE(DELETE, p "/" one, k##_DELETE, k, 0, NULL, objects_delete, NULL,    \
          objects_gone, NULL)
#define CRUD(p, k, one)                                                       \
    LIST(p, k) CREATE(p, k) GET(p, k, one) UPDATE(p, k, one) DELETE(p, k, one)
/* clang-format on */

const struct route route_table[] = {
#include "api/route.def"
};
const size_t route_count = sizeof route_table / sizeof *route_table;

static void
add_method(char methods[64], const char *method)
{
    size_t used = strlen(methods);
    bool get = strcmp(method, "GET") == 0;
    (void)snprintf(methods + used, 64 - used, "%s%s%s", used > 0 ? ", " : "",
                   method, get ? ", HEAD" : "");
}

const struct route *
route_match(const char *method, const struct url *url, char methods_out[64])
{
    uint16_t found[ROUTE_TREE_FOUND_MAX];
    size_t count = route_tree_find(url, found);

    if (strcmp(method, "HEAD") == 0)
        method = "GET";
    methods_out[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const struct route *route = &route_table[found[i]];

        if (strcmp(route->method, method) == 0)
            return route;
        add_method(methods_out, route->method);
    }
    return NULL;
}

static bool
has_word(const char *words, const char *word)
{
    size_t size = strlen(word);
    if (words == NULL || size == 0)
        return false;
    for (const char *at = words; *at != '\0';) {
        size_t length = strcspn(at, " ");
        if (length == size && memcmp(at, word, size) == 0)
            return true;
        at += length;
        at += *at == ' ';
    }
    return false;
}

bool
route_changes(const struct route *route)
{
    return route->form == ROUTE_WRITE;
}

bool
route_takes(const struct route *route, const char *parameter)
{
    if (route_changes(route) && strcmp(parameter, "dry_run") == 0)
        return true;
    if ((route->flags & ROUTE_LIST) &&
        has_word("limit cursor name state", parameter))
        return true;
    if ((route->flags & ROUTE_WATCH) && has_word("watch since", parameter))
        return true;
    return has_word(route->query, parameter);
}
