/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "api/hub.h"
#include "base/clock.h"
#include "tests/unit/api/client.h"

static struct place place;

static int
set_up(void **state)
{
    (void)state;
    place_open(&place);
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"a\"}", 201);
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"b\"}", 201);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    place_close(&place);
    return 0;
}

/* --- somebody who watches --- */

struct watching {
    pthread_t thread;
    pthread_mutex_t lock;
    struct buffer text;
    const char *token;
    char path[256];
    bool stop;
    bool ended;
    long status;
};

static bool
take_piece(const char *bytes, size_t size, void *data)
{
    struct watching *watching = data;
    (void)pthread_mutex_lock(&watching->lock);
    buffer_add(&watching->text, bytes, size);
    bool stop = watching->stop;
    (void)pthread_mutex_unlock(&watching->lock);
    return !stop;
}

static void *
watch_thread(void *data)
{
    struct watching *watching = data;
    struct error err;
    char authorization[128];
    scoped_answer answer = {0};
    (void)snprintf(authorization, sizeof authorization,
                   "Authorization: Bearer %s", watching->token);
    struct http_request request = {.method = "GET",
                                   .path = watching->path,
                                   .headers = {authorization},
                                   .timeout_ms = 60000};
    (void)http_stream(&place.target, &request, &answer, take_piece, watching,
                      &err);
    (void)pthread_mutex_lock(&watching->lock);
    watching->status = answer.status;
    watching->ended = true;
    (void)pthread_mutex_unlock(&watching->lock);
    return NULL;
}

static void
watch(struct watching *watching, const char *token, const char *path)
{
    memset(watching, 0, sizeof *watching);
    (void)pthread_mutex_init(&watching->lock, NULL);
    watching->token = token;
    (void)snprintf(watching->path, sizeof watching->path, "/api/v1%s", path);
    assert_int_equal(pthread_create(&watching->thread, NULL, watch_thread,
                                    watching),
                     0);
}

/* Waits until the text has been seen `times` times; false after 8 s. */
static bool
sees(struct watching *watching, const char *text, int times)
{
    for (int64_t end = clock_mono_ms() + 8000; clock_mono_ms() < end;) {
        int seen = 0;
        (void)pthread_mutex_lock(&watching->lock);
        const char *at = buffer_text(&watching->text);
        while ((at = strstr(at, text)) != NULL) {
            at += strlen(text);
            seen++;
        }
        (void)pthread_mutex_unlock(&watching->lock);
        if (seen >= times)
            return true;
        (void)usleep(10000);
    }
    return false;
}

static bool
has(struct watching *watching, const char *text)
{
    (void)pthread_mutex_lock(&watching->lock);
    bool there = strstr(buffer_text(&watching->text), text) != NULL;
    (void)pthread_mutex_unlock(&watching->lock);
    return there;
}

static bool
ends(struct watching *watching)
{
    for (int64_t end = clock_mono_ms() + 8000; clock_mono_ms() < end;) {
        (void)pthread_mutex_lock(&watching->lock);
        bool ended = watching->ended;
        (void)pthread_mutex_unlock(&watching->lock);
        if (ended)
            return true;
        (void)usleep(10000);
    }
    return false;
}

/* Stops it; `nudge` makes a change that it is told of. */
static void
leave(struct watching *watching, const char *nudge)
{
    char body[64];
    (void)pthread_mutex_lock(&watching->lock);
    watching->stop = true;
    (void)pthread_mutex_unlock(&watching->lock);
    if (nudge != NULL) {
        (void)snprintf(body, sizeof body, "{\"name\":\"%s\"}", nudge);
        tell(&place, place.root, "POST", "/tenants/a/projects", body, 201);
    }
    (void)pthread_join(watching->thread, NULL);
    buffer_release(&watching->text);
    (void)pthread_mutex_destroy(&watching->lock);
}

static long long
revision_of(const char *path)
{
    scoped_json list = ask(&place, place.root, "GET", path, NULL, 200);
    return json_integer_value(json_object_get(list, "revision"));
}

/* --- what is seen --- */

static void
a_watch_goes_on_where_the_list_ended(void **state)
{
    (void)state;
    struct watching watching;
    char path[128];
    long long revision = revision_of("/tenants/a/projects");
    tell(&place, place.root, "POST", "/tenants/a/projects",
         "{\"name\":\"between\"}", 201);
    (void)snprintf(path, sizeof path,
                   "/tenants/a/projects?watch=1&since=%lld", revision);
    watch(&watching, place.root, path);
    assert_true(sees(&watching, "\"name\":\"between\"", 1));
    tell(&place, place.root, "POST", "/tenants/a/projects",
         "{\"name\":\"after\"}", 201);
    assert_true(sees(&watching, "\"name\":\"after\"", 1));
    tell(&place, place.root, "POST", "/tenants/a/units",
         "{\"name\":\"other-kind\"}", 201);
    tell(&place, place.root, "POST", "/tenants/b/projects",
         "{\"name\":\"other-tenant\"}", 201);
    place.headers[0] = "If-Match: *";
    tell(&place, place.root, "PATCH", "/tenants/a/projects/after",
         "{\"display\":\"changed\"}", 200);
    assert_true(sees(&watching, "\"display\":\"changed\"", 1));
    assert_true(has(&watching, "event: put\ndata: {"));
    assert_true(has(&watching, "\nid: "));
    assert_false(has(&watching, "other-kind"));
    assert_false(has(&watching, "other-tenant"));
    leave(&watching, "end-1");
}

static void
a_deletion_is_told_by_its_id(void **state)
{
    (void)state;
    struct watching watching;
    char *id = ask_text(&place, place.root, "POST", "/tenants/a/units",
                        "{\"name\":\"short\"}", 201, "id");
    char path[128], text[128];
    watch(&watching, place.root, "/tenants/a/units?watch=1");
    assert_true(sees(&watching, ": watching", 1));
    (void)snprintf(path, sizeof path, "/tenants/a/units/%s", id);
    tell(&place, place.root, "DELETE", path, NULL, 204);
    (void)snprintf(text, sizeof text, "\"id\":\"%s\"", id);
    assert_true(sees(&watching, text, 1));
    (void)pthread_mutex_lock(&watching.lock);
    watching.stop = true;
    (void)pthread_mutex_unlock(&watching.lock);
    tell(&place, place.root, "POST", "/tenants/a/units",
         "{\"name\":\"bye\"}", 201);
    leave(&watching, NULL);
    free(id);
}

/* A group that has the slot of a deleted one has none of its past. */
static void
a_watch_tells_of_its_own_parents_children_alone(void **state)
{
    (void)state;
    static const char members[] = "/tenants/a/groups/new/members";
    static const char groups[] = "/tenants/a/groups";
    struct watching watching;
    char path[128], body[2][128];
    long long revision = revision_of(groups);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(body[i], sizeof body[i], "{\"name\":\"member-%d\"}", i);
        char *user = ask_text(&place, place.root, "POST", "/tenants/a/users",
                              body[i], 201, "id");
        (void)snprintf(body[i], sizeof body[i], "{\"subject\":\"%s\"}", user);
        free(user);
    }
    tell(&place, place.root, "POST", groups, "{\"name\":\"old\"}", 201);
    char *id = ask_text(&place, place.root, "POST",
                        "/tenants/a/groups/old/members", body[0], 201, "id");
    tell(&place, place.root, "DELETE", "/tenants/a/groups/old", NULL, 204);
    tell(&place, place.root, "POST", groups, "{\"name\":\"new\"}", 201);
    (void)snprintf(path, sizeof path, "%s?watch=1&since=%lld", members,
                   revision);
    watch(&watching, place.root, path);
    tell(&place, place.root, "POST", members, body[0], 201);
    assert_true(sees(&watching, "event: put", 1));
    assert_false(has(&watching, id));
    assert_false(has(&watching, "event: delete"));
    (void)pthread_mutex_lock(&watching.lock);
    watching.stop = true;
    (void)pthread_mutex_unlock(&watching.lock);
    tell(&place, place.root, "POST", members, body[1], 201);
    leave(&watching, NULL);
    free(id);
}

static void
nothing_is_lost_between_a_list_and_many_watches(void **state)
{
    (void)state;
    struct watching first, second;
    char path[128], body[64], text[64];
    long long revision = revision_of("/tenants/a/projects");
    (void)snprintf(path, sizeof path,
                   "/tenants/a/projects?watch=1&since=%lld", revision);
    watch(&first, place.root, path);
    for (int i = 0; i < 40; i++) {
        (void)snprintf(body, sizeof body, "{\"name\":\"many-%d\"}", i);
        tell(&place, place.root, "POST", "/tenants/a/projects", body, 201);
    }
    watch(&second, place.root, path);
    for (int i = 0; i < 40; i++) {
        (void)snprintf(text, sizeof text, "\"name\":\"many-%d\"", i);
        assert_true(sees(&first, text, 1));
        assert_true(sees(&second, text, 1));
    }
    leave(&first, "end-2");
    leave(&second, "end-3");
}

/* More than one slice of the hub takes, of two subjects. */
static void
everybody_is_told_however_many_listen(void **state)
{
    (void)state;
    static struct watching all[HUB_SLICE_MAX + 8];
    const size_t count = sizeof all / sizeof *all;
    char *token = join(&place, "a", "eve", "/tenants/a", "tenant-admin");
    for (size_t i = 0; i < count; i++)
        watch(&all[i], i % 2 == 0 ? place.root : token,
              "/tenants/a/projects?watch=1");
    for (size_t i = 0; i < count; i++)
        assert_true(sees(&all[i], ": watching", 1));
    tell(&place, place.root, "POST", "/tenants/a/projects",
         "{\"name\":\"for-all\"}", 201);
    for (size_t i = 0; i < count; i++)
        assert_true(sees(&all[i], "\"name\":\"for-all\"", 1));
    for (size_t i = 0; i < count; i++) {
        (void)pthread_mutex_lock(&all[i].lock);
        all[i].stop = true;
        (void)pthread_mutex_unlock(&all[i].lock);
    }
    leave(&all[0], "end-all");
    for (size_t i = 1; i < count; i++)
        leave(&all[i], NULL);
    free(token);
}

static void
a_watcher_sees_what_it_may_see(void **state)
{
    (void)state;
    struct watching watching;
    char *token = join(&place, "a", "ann", "/tenants/a/projects/between",
                       "developer");
    watch(&watching, token, "/tenants/a/projects?watch=1");
    assert_true(sees(&watching, ": watching", 1));
    tell(&place, place.root, "POST", "/tenants/a/projects",
         "{\"name\":\"hidden\"}", 201);
    place.headers[0] = "If-Match: *";
    tell(&place, place.root, "PATCH", "/tenants/a/projects/between",
         "{\"display\":\"mine\"}", 200);
    assert_true(sees(&watching, "\"display\":\"mine\"", 1));
    assert_false(has(&watching, "hidden"));
    /* [A24] [A30] and when the right to look ends, so does the watch. */
    place.headers[0] = "If-Match: *";
    tell(&place, place.root, "PATCH", "/tenants/a/users/ann",
         "{\"state\":\"suspended\"}", 200);
    assert_true(ends(&watching));
    assert_true(has(&watching, "event: end"));
    leave(&watching, NULL);
    free(token);
}

#define STREAM_ENDS_MS 5000

static char *
session_of(const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/tenants/a/users/%s/sessions?limit=1",
                   name);
    scoped_json list = ask(&place, place.root, "GET", path, NULL, 200);
    const json_t *first = json_array_get(json_object_get(list, "items"), 0);
    return memory_strdup(
        json_string_value(json_object_get(first, "id")));
}

/* A watch of the project by the token; then the request takes away what it
 * rests on. */
static void
watch_ends_by(const char *token, const char *method, const char *path,
              const char *body, long status)
{
    struct watching watching;
    watch(&watching, token, "/tenants/a/projects?watch=1");
    assert_true(sees(&watching, ": watching", 1));
    char *root = log_in(&place, NULL, "root");
    int64_t begin_ms = clock_mono_ms();
    tell(&place, root, method, path, body, status);
    assert_true(ends(&watching));
    assert_true(clock_mono_ms() - begin_ms < STREAM_ENDS_MS);
    assert_true(has(&watching, "event: end"));
    leave(&watching, NULL);
    free(root);
}

/* [A30] */
static void
a_stream_ends_soon_after_what_it_rests_on(void **state)
{
    (void)state;
    char path[160], body[160];
    char *sam = join(&place, "a", "sam", "/tenants/a", "developer");
    char *id = session_of("sam");
    (void)snprintf(path, sizeof path, "/tenants/a/users/sam/sessions/%s", id);
    watch_ends_by(sam, "DELETE", path, NULL, 204);
    tell(&place, sam, "GET", "/whoami", NULL, 401);
    free(sam);
    free(id);
    /* a key by its secret from before a rotation, and by its deletion */
    sam = log_in(&place, "a", "sam");
    char *key = ask_text(&place, sam, "POST",
                         "/tenants/a/users/sam/apikeys", "{\"name\":\"k\"}",
                         201, "key");
    struct watching watching;
    watch(&watching, key, "/tenants/a/projects?watch=1");
    assert_true(sees(&watching, ": watching", 1));
    char *next = ask_text(&place, sam, "POST",
                          "/tenants/a/users/sam/apikeys/k/rotate",
                          "{\"overlap_ms\":0}", 200, "key");
    assert_true(ends(&watching));
    leave(&watching, NULL);
    watch_ends_by(next, "DELETE", "/tenants/a/users/sam/apikeys/k", NULL,
                  204);
    /* the password that somebody else set */
    watch_ends_by(sam, "POST", "/tenants/a/users/sam/password",
                  "{\"password\":\"another long sentence\"}", 204);
    /* a policy that the session does not meet */
    (void)snprintf(body, sizeof body, "{\"second_factor\":\"login\"}");
    char *tim = join(&place, "a", "tim", "/tenants/a", "developer");
    watch_ends_by(tim, "POST", "/tenants/a/second-factor", body, 200);
    tell(&place, place.root, "POST", "/tenants/a/second-factor",
         "{\"second_factor\":\"off\"}", 200);
    free(sam);
    free(key);
    free(next);
    free(tim);
}

/* [A23] [A30]  The right came by a group. */
static void
a_stream_ends_with_the_membership_that_it_rests_on(void **state)
{
    (void)state;
    char body[160];
    char *gil = join(&place, "a", "gil", "/tenants/a", NULL);
    char *group = ask_text(&place, place.root, "POST", "/tenants/a/groups",
                           "{\"name\":\"seers\"}", 201, "id");
    char *user = ask_text(&place, place.root, "GET", "/tenants/a/users/gil",
                          NULL, 200, "id");
    char *root = log_in(&place, NULL, "root");
    (void)snprintf(body, sizeof body,
                   "{\"subject\":\"%s\",\"role\":\"developer\"}", group);
    tell(&place, root, "POST", "/tenants/a/projects/between/grants", body,
         201);
    (void)snprintf(body, sizeof body, "{\"subject\":\"%s\"}", user);
    tell(&place, root, "POST", "/tenants/a/groups/seers/members", body, 201);
    struct watching watching;
    watch(&watching, gil, "/tenants/a/projects/between/workloads?watch=1");
    assert_true(sees(&watching, ": watching", 1));
    int64_t begin_ms = clock_mono_ms();
    tell(&place, root, "DELETE", "/tenants/a/groups/seers/members/gil", NULL,
         204);
    assert_true(ends(&watching));
    assert_true(clock_mono_ms() - begin_ms < STREAM_ENDS_MS);
    leave(&watching, NULL);
    free(gil);
    free(group);
    free(user);
    free(root);
}

static void
a_watch_that_cannot_be_is_refused(void **state)
{
    (void)state;
    tell(&place, place.root, "GET",
         "/tenants/a/projects?watch=1&since=999999", NULL, 400);
    tell(&place, place.root, "GET", "/tenants?watch=1", NULL, 501);
    tell(&place, NULL, "GET", "/tenants/a/projects?watch=1", NULL, 401);
    tell(&place, place.root, "GET", "/tenants/none/projects?watch=1", NULL,
         404);
}

static void
a_position_from_before_a_restart_is_gone(void **state)
{
    (void)state;
    struct watching watching;
    char path[128];
    long long revision = revision_of("/tenants/a/projects");
    watch(&watching, place.root, "/tenants/a/projects?watch=1");
    assert_true(sees(&watching, ": watching", 1));
    struct api *before = place.api;
    api_stop(before);
    assert_true(ends(&watching));
    leave(&watching, NULL);
    harness_restart(&place.harness);
    api_free(before);
    (void)snprintf(path, sizeof path,
                   "/tenants/a/projects?watch=1&since=%lld", revision - 1);
    tell(&place, place.root, "GET", path, NULL, 410);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_goes_on_where_the_list_ended),
        cmocka_unit_test(a_deletion_is_told_by_its_id),
        cmocka_unit_test(a_watch_tells_of_its_own_parents_children_alone),
        cmocka_unit_test(nothing_is_lost_between_a_list_and_many_watches),
        cmocka_unit_test(everybody_is_told_however_many_listen),
        cmocka_unit_test(a_watcher_sees_what_it_may_see),
        cmocka_unit_test(a_stream_ends_soon_after_what_it_rests_on),
        cmocka_unit_test(a_stream_ends_with_the_membership_that_it_rests_on),
        cmocka_unit_test(a_watch_that_cannot_be_is_refused),
        cmocka_unit_test(a_position_from_before_a_restart_is_gone),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
