/* SPDX-License-Identifier: Apache-2.0 */
#include "api/route.h"
#include "tests/unit/api/estate.h"

/*
 * The faults of test_strangers.c by other ways: between two projects of one
 * tenant, by names in place of ids, by a patch, a key, a list or a past.
 */

#define NEVER "aaaaaaaaaaaaaaaaaaaaaaaaaa"
#define WORK "/tenants/vision/projects/work"

static struct estate estate;
static char *neighbour; /* project-admin of vision's project "side" */

static int
set_up(void **state)
{
    (void)state;
    estate_open(&estate);
    tell(&estate.place, estate.place.root, "POST", "/tenants/vision/projects",
         "{\"name\":\"side\"}", 201);
    neighbour = join(&estate.place, "vision", "neighbour",
                     "/tenants/vision/projects/side", "project-admin");
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    free(neighbour);
    estate_close(&estate);
    return 0;
}

static long
send(const char *token, const char *method, const char *path,
     const char *body)
{
    estate.place.headers[0] = "If-Match: *";
    return client_send(&estate.place, token, method, path, body);
}

static void
expect(const char *token, const char *method, const char *path,
       const char *body, long status)
{
    long got = send(token, method, path, body);
    if (got != status)
        fail_msg("%s %s: %ld in place of %ld: %s", method, path, got, status,
                 buffer_text(&estate.place.last.body));
}

/* Members of the last answer that may differ for equal refusals. */
static char *
answer_of(long status)
{
    scoped_json body = client_json(&estate.place);
    scoped_buffer text = {0};
    (void)json_object_del(body, "request_id");
    buffer_printf(&text, "%ld ", status);
    json_write(&text, body);
    return memory_strdup(buffer_text(&text));
}

/* What stands for {kind}: an id or name of vision, or one that never was. */
static bool
fill(char *out, size_t size, enum kind kind, bool names, bool never)
{
    static const char *const known[KIND_COUNT] = {
        [KIND_TENANT] = "vision",       [KIND_PROJECT] = "work",
        [KIND_UNIT] = "unit",           [KIND_ROLE] = "own",
        [KIND_QUOTA] = "storage",       [KIND_DENY] = "deny",
        [KIND_SERVICEACCOUNT] = "robot", [KIND_USER] = "boss",
        [KIND_APIKEY] = "key",          [KIND_WORKLOAD] = "secret-work",
        [KIND_INSTANCE] = "0",          [KIND_BINDING] = "0",
        [KIND_ALARM] = "alarm",         [KIND_VOLUME] = "data",
        [KIND_IDENTITYPROVIDER] = "corp",
    };
    const char *id = estate.vision.ids[kind];
    if (names && never)
        (void)snprintf(out, size, "never-was");
    else if (names)
        (void)snprintf(out, size, "%s",
                       known[kind] == NULL ? "" : known[kind]);
    else if (never)
        (void)snprintf(out, size, "%s_" NEVER, schema_get(kind)->prefix);
    else
        (void)snprintf(out, size, "%s", id);
    return out[0] != '\0';
}

/* hidden: the first kind of the path that the asker must not see. */
static bool
path_of(const struct route *route, enum kind hidden, bool names, bool never,
        char out[600])
{
    size_t length = 0;
    bool below = false;
    out[length++] = '=';
    for (const char *at = route->path; *at != '\0';) {
        char word[64] = {*at, '\0'};
        size_t size = 1;
        if (*at == '{') {
            char name[32];
            size = strcspn(at, "}") + 1;
            (void)snprintf(name, sizeof name, "%.*s", (int)size - 2, at + 1);
            enum kind kind = schema_find(name);
            below |= kind == hidden;
            if (!fill(word, sizeof word, kind, names, never && below))
                return false;
        }
        length += (size_t)snprintf(out + length, 600 - length, "%s", word);
        at += size;
    }
    out[length] = '\0';
    return below;
}

static size_t
walk(const char *token, enum kind hidden, bool names)
{
    size_t walked = 0;
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &route_table[i];
        char path[600], none[600], text[512];
        if (!path_of(route, hidden, names, false, path) ||
            !path_of(route, hidden, names, true, none))
            continue;
        const char *body = client_body(route, PASSWORD, text);
        long status = send(token, route->method, path, body);
        char *real = answer_of(status);
        if (status != 404)
            fail_msg("%s %s: %s", route->method, path, real);
        char *never = answer_of(send(token, route->method, none, body));
        assert_string_equal(real, never);
        free(real);
        free(never);
        walked++;
    }
    return walked;
}

/* [A1] [A2] [A6] [A13] [A36]: a project's admin reaches nothing of the
 * project beside it, by ids or by names, by any route. */
static void
no_route_reaches_the_project_beside_ones_own(void **state)
{
    (void)state;
    assert_true(walk(neighbour, KIND_PROJECT, false) > 45);
    assert_true(walk(neighbour, KIND_PROJECT, true) > 45);
}

/* [A36]: names that are somebody's read like names that are nobody's. */
static void
no_name_of_the_other_tenant_tells_that_it_is_there(void **state)
{
    (void)state;
    assert_true(walk(estate.research.admin, KIND_TENANT, true) > 70);
}

/* [A36]: what a submission names is hidden like what never was. */
static void
a_submission_guesses_nothing(void **state)
{
    (void)state;
    static const char *const members[] = {"class", "pool", "priority",
                                          "image\":\"x\",\"pool"};
    char *developer = join(&estate.place, "research", "dev",
                           "/tenants/research/projects/work", "developer");
    tell(&estate.place, estate.place.root, "POST", "/pools",
         "{\"name\":\"closed\",\"kind\":\"dedicated\"}", 201);
    const char *guesses[][2] = {
        {estate.vision.ids[KIND_WORKLOAD], "wl_" NEVER},
        {estate.vision.ids[KIND_VOLUME], "vo_" NEVER},
        {"closed", "nothin"},
        {estate.vision.ids[KIND_TENANT], "tn_" NEVER}};
    for (size_t i = 0; i < 4 * 4; i++) {
        char *texts[2];
        for (size_t k = 0; k < 2; k++) {
            const char *guess = guesses[i / 4][k];
            char body[400];
            (void)snprintf(body, sizeof body,
                           "{\"name\":\"w\",\"image\":\"x\",\"spec\":{"
                           "\"command\":[\"x\"]},\"%s\":\"%s\"}",
                           members[i % 4], guess);
            texts[k] = answer_of(send(developer, "POST",
                                      "/tenants/research/projects/work/"
                                      "workloads",
                                      body));
            for (char *at; (at = strstr(texts[k], guess)) != NULL;)
                memset(at, '-', strlen(guess));
        }
        assert_string_equal(texts[0], texts[1]);
        free(texts[0]);
        free(texts[1]);
    }
    free(developer);
}

/* --- credentials --- */

/* By somebody who may use what the key has. */
static char *
key_of(const char *account, const char *verbs)
{
    char path[256], body[512];
    static int number;
    static char *lead;
    if (lead == NULL)
        lead = join(&estate.place, "vision", "lead", WORK, "project-admin");
    (void)snprintf(path, sizeof path, WORK "/serviceaccounts/%s/apikeys",
                   account);
    (void)snprintf(body, sizeof body, "{\"name\":\"k%d\",\"verbs\":[%s]}",
                   number++, verbs);
    return ask_text(&estate.place, lead, "POST", path, body, 201, "key");
}

static void
grant_robot(const char *account, const char *role)
{
    char body[256];
    char path[256];
    (void)snprintf(path, sizeof path, WORK "/serviceaccounts/%s", account);
    char *id = ask_text(&estate.place, estate.vision.admin, "GET", path, NULL,
                        200, "id");
    (void)snprintf(body, sizeof body,
                   "{\"subject\":\"%s\",\"role\":\"%s\"}", id, role);
    tell(&estate.place, estate.vision.admin, "POST", WORK "/grants", body,
         201);
    free(id);
}

/* What is over has left the memory, and is history. */
static int
retire(struct changes *changes, void *data, struct error *err)
{
    (void)data;
    (void)err;
    world_each(changes->world, KIND_WORKLOAD, ref)
        if (world_workload(changes->world, ref)->state == WORKLOAD_CANCELLED)
            change_evict(changes, ref);
    return 0;
}

static void
retire_step(struct loop *loop, struct arena *arena, void *data)
{
    struct error err;
    struct deed deed = {.verb = "test.retire",
                        .component = "test",
                        .decide = retire,
                        .data = data};
    assert_int_equal(execute_deed(loop, arena, &deed, &err), 1);
}

/* [A33]: a key for metadata gets no content by any view: get, list, the
 * answer to a change, a trial of it, what is over, why it waits. */
static void
a_key_for_metadata_gets_content_by_no_view(void **state)
{
    (void)state;
    static const char secret[] = "hunter2-in-the-environment";
    struct place *place = &estate.place;
    char path[256], body[512];
    grant_robot("robot", "developer");
    char *full = key_of("robot", "\"workload.get\",\"workload.create\","
                                 "\"workload.spec\",\"class.get\","
                                 "\"workload.update\"");
    char *plain = key_of("robot", "\"workload.get\",\"workload.update\","
                                  "\"workload.cancel\",\"project.get\",\"serviceaccount.get\"");
    tell(place, place->root, "POST", "/tenants/vision/quotas",
         "{\"dimension\":\"workloads\",\"limit\":1}", 201);
    (void)snprintf(body, sizeof body,
                   "{\"name\":\"held\",\"class\":\"vision\",\"image\":\"x\","
                   "\"memory_mib\":1,\"cpu_milli\":1,"
                   "\"spec\":{\"command\":[\"x\"],\"env\":{\"K\":\"%s\"}}}",
                   secret);
    expect(full, "POST", WORK "/workloads", body, 201);
    assert_non_null(strstr(buffer_text(&place->last.body), secret));
    (void)snprintf(path, sizeof path, WORK "/workloads/held");
    /* An answer that is given again is cut to the key that asks again. */
    for (int i = 0; i < 2; i++) {
        place->headers[0] = "If-Match: *";
        place->headers[1] = "Idempotency-Key: the-same";
        tell(place, i == 0 ? full : plain, "PATCH", path,
             "{\"priority\":null}", 200);
        assert_int_equal(
            strstr(buffer_text(&place->last.body), secret) != NULL, i == 0);
    }
    const struct {
        const char *method, *tail, *body;
    } views[] = {{"GET", "", NULL},
                 {"GET", "/explain", NULL},
                 {"PATCH", "", "{\"priority\":null}"},
                 {"PATCH", "?dry_run=1", "{\"priority\":null}"},
                 {"GET", "?names=1", NULL},
                 {"POST", "/cancel?dry_run=1", NULL},
                 {"POST", "/cancel", NULL},
                 {"GET", "", NULL}};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        char full_path[400];
        (void)snprintf(full_path, sizeof full_path, "%s%s", path,
                       views[i].tail);
        expect(plain, views[i].method, full_path, views[i].body, 200);
        assert_null(strstr(buffer_text(&place->last.body), secret));
        assert_null(strstr(buffer_text(&place->last.body), "\"spec\""));
    }
    (void)snprintf(body, sizeof body, "%s/log", path);
    assert_true(send(plain, "GET", body, NULL) >= 403);
    harness_run(&place->harness, retire_step, NULL);
    static const char *const lists[] = {WORK "/workloads", WORK "/history",
                                        "/queue", "/tenants/vision/queue"};
    for (size_t i = 0; i < 4; i++) {
        expect(plain, "GET", lists[i], NULL, 200);
        assert_null(strstr(buffer_text(&place->last.body), "\"spec\""));
    }
    expect(full, "GET", WORK "/history", NULL, 200);
    assert_non_null(strstr(buffer_text(&place->last.body), secret));
    expect(estate.vision.admin, "GET", "/tenants/vision/audit", NULL, 200);
    assert_null(strstr(buffer_text(&place->last.body), secret));
    free(full);
    free(plain);
}

/* [A34]: keys too are what they are, to the last character. */
static void
a_key_is_exactly_what_was_shown(void **state)
{
    (void)state;
    char *key = key_of("robot", "\"serviceaccount.get\"");
    size_t size = strlen(key);
    expect(key, "GET", "/whoami", NULL, 200);
    for (size_t cut = size - 1; cut > size - 12; cut--) {
        char text[128];
        (void)snprintf(text, sizeof text, "%.*s", (int)cut, key);
        expect(text, "GET", "/whoami", NULL, 401);
    }
    for (size_t i = 0; i < size; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "%s", key);
        text[i] = (char)(text[i] ^ 0x20); /* the other case */
        if (text[i] > 0x20 && text[i] < 0x7f)
            expect(text, "GET", "/whoami", NULL, 401);
    }
    free(key);
}

/* [A14]: no header makes anybody somebody else. */
static void
a_header_lends_no_identity(void **state)
{
    (void)state;
    char *key = key_of("robot", "\"serviceaccount.get\"");
    scoped_json plain = ask(&estate.place, key, "GET", "/whoami", NULL, 200);
    estate.place.headers[0] = "X-Forwarded-User: root";
    estate.place.headers[1] = "X-Remote-User: root";
    estate.place.headers[2] = "Cookie: session=root";
    scoped_json who = ask(&estate.place, key, "GET", "/whoami", NULL, 200);
    assert_string_equal(json_string_value(json_object_get(who, "id")),
                        json_string_value(json_object_get(plain, "id")));
    estate.place.headers[0] = "X-Forwarded-User: root";
    tell(&estate.place, NULL, "GET", "/whoami", NULL, 401);
    free(key);
}

/* [A24]: whatever above the account is suspended, its key is dead, no new one
 * is made and nobody logs in, until that is lifted. */
static void
what_is_suspended_above_ends_credentials_below(void **state)
{
    (void)state;
    static const char *const nodes[] = {"/tenants/vision", WORK,
                                        WORK "/serviceaccounts/robot"};
    struct place *place = &estate.place;
    char *key = key_of("robot", "\"serviceaccount.get\"");
    for (size_t i = 0; i < 3; i++) {
        expect(key, "GET", "/whoami", NULL, 200);
        expect(place->root, "PATCH", nodes[i], "{\"state\":\"suspended\"}",
               200);
        expect(key, "GET", "/whoami", NULL, 401);
        assert_true(send(estate.vision.admin, "POST",
                         WORK "/serviceaccounts/robot/apikeys",
                         "{\"name\":\"late\"}") >= 401);
        assert_true(send(place->root, "POST",
                         WORK "/serviceaccounts/robot/apikeys",
                         "{\"name\":\"late\"}") >= 401);
        if (i == 0)
            expect(NULL, "POST", "/login",
                   "{\"name\":\"boss\",\"tenant\":\"vision\","
                   "\"password\":\"" PASSWORD "\"}",
                   401);
        expect(place->root, "PATCH", nodes[i], "{\"state\":\"active\"}", 200);
    }
    expect(key, "GET", "/whoami", NULL, 200);
    free(key);
}

/* [A18]: who may manage users but is weaker takes over nobody: not by the
 * password, a key, a state or a deletion. */
static void
a_manager_of_users_takes_over_nobody_stronger(void **state)
{
    (void)state;
    struct place *place = &estate.place;
    char body[256];
    tell(place, place->root, "POST", "/tenants/vision/roles",
         "{\"name\":\"clerk\",\"verbs\":[\"user.get\",\"user.update\","
         "\"user.create\",\"user.delete\",\"user.password\","
         "\"apikey.create\",\"apikey.get\"]}",
         201);
    char *clerk = join(place, "vision", "clerk", "/tenants/vision", "clerk");
    (void)snprintf(body, sizeof body, "/tenants/vision/users/%s",
                   estate.vision.ids[KIND_USER]);
    for (int by_name = 0; by_name < 2; by_name++) {
        char path[400];
        const char *user =
            by_name ? "/tenants/vision/users/boss" : body;
        (void)snprintf(path, sizeof path, "%s/password", user);
        expect(clerk, "POST", path, "{\"password\":\"a fresh long secret\"}",
               403);
        (void)snprintf(path, sizeof path, "%s/apikeys", user);
        expect(clerk, "POST", path, "{\"name\":\"mine\"}", 403);
        expect(clerk, "PATCH", user, "{\"state\":\"suspended\"}", 403);
        expect(clerk, "DELETE", user, NULL, 403);
    }
    expect(clerk, "POST", "/users/root/password",
           "{\"password\":\"a fresh long secret\"}", 404);
    expect(clerk, "POST", "/tenants/vision/users", "{\"name\":\"temp\"}",
           201);
    expect(clerk, "POST", "/tenants/vision/users/temp/password",
           "{\"password\":\"a fresh long secret\"}", 204);
    free(clerk);
}

/* --- lists --- */

/* [A39] [A37]: who may only use a project's models sees no work of it, by
 * list, queue, past, watch or report; a page tells of nothing more. */
static void
a_list_by_any_route_is_what_may_be_got(void **state)
{
    (void)state;
    static const char *const lists[] = {
        WORK "/workloads", WORK "/history", WORK "/volumes",
        WORK "/serviceaccounts", WORK "/grants", WORK "/quotas",
        WORK "/alarms", "/queue", "/tenants/vision/queue",
        "/tenants/vision/users", "/tenants/vision/grants", "/nodes",
        "/cards", "/users", "/grants",
    };
    char *user = join(&estate.place, "vision", "reader", WORK, "end-user");
    expect(user, "GET", WORK, NULL, 200);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char path[256];
        (void)snprintf(path, sizeof path, "%s%s", lists[i],
                       strstr(lists[i], "history") != NULL ? "" : "?limit=1");
        long status = send(user, "GET", path, NULL);
        scoped_json list = client_json(&estate.place);
        if (status == 403 || status == 404)
            continue;
        assert_int_equal(status, 200);
        json_t *items = json_object_get(list, "items");
        json_t *item;
        size_t index;
        json_array_foreach (items, index, item) {
            /* oneself, at most */
            if (strcmp(lists[i], "/tenants/vision/users") != 0 ||
                strcmp(json_string_value(json_object_get(item, "name")),
                       "reader") != 0)
                fail_msg("%s: %s", path, buffer_text(&estate.place.last.body));
        }
        assert_true(json_is_null(json_object_get(list, "next")) ||
                    json_object_get(list, "next") == NULL);
    }
    assert_true(send(user, "GET", WORK "/usage", NULL) >= 403);
    assert_true(send(user, "GET", WORK "/bindings", NULL) >= 403);
    scoped_json mine = ask(&estate.place, estate.research.admin, "GET",
                           "/tenants?limit=1", NULL, 200);
    assert_true(json_is_null(json_object_get(mine, "next")));
    free(user);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_route_reaches_the_project_beside_ones_own),
        cmocka_unit_test(no_name_of_the_other_tenant_tells_that_it_is_there),
        cmocka_unit_test(a_submission_guesses_nothing),
        cmocka_unit_test(a_key_for_metadata_gets_content_by_no_view),
        cmocka_unit_test(a_key_is_exactly_what_was_shown),
        cmocka_unit_test(a_header_lends_no_identity),
        cmocka_unit_test(what_is_suspended_above_ends_credentials_below),
        cmocka_unit_test(a_manager_of_users_takes_over_nobody_stronger),
        cmocka_unit_test(a_list_by_any_route_is_what_may_be_got),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
