/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "tests/unit/api/many.h"

/*
 * Clients list, watch, lose the connection at any byte and go on from the
 * last id they saw, while others write.  In the end each knows exactly what
 * is there.
 */

#define WRITERS 4
#define WRITES 60 /* of each */
#define READERS 6
#define KNOWN_MAX 600

static struct place place;
static char *ann; /* somebody of tenant a without any grant */

static void
tune(struct api_options *options)
{
    options->subject_max = 400;
    /* An eighth is what one may have: streams that their readers left must
     * make room. */
    options->streams_max = 8 * 2 * READERS;
}

static int
set_up(void **state)
{
    (void)state;
    place.tune = tune;
    place_open(&place);
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"a\"}", 201);
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"b\"}", 201);
    ann = join(&place, "a", "ann", "", NULL);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    free(ann);
    place_close(&place);
    return 0;
}

/* --- what a client knows --- */

struct known {
    char id[ID_TEXT_MAX];
    long long version;
};

struct reader {
    const char *token;
    const char *path;
    struct known known[KNOWN_MAX];
    size_t count;
    long long since;
    unsigned resumes;
    uint64_t random;
    /* of the present connection */
    struct buffer text;
    size_t room; /* bytes after which it breaks */
    bool ended;  /* "the-end" was seen */
};

static uint64_t
draw(struct reader *reader, uint64_t below)
{
    uint64_t z = (reader->random += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % below;
}

static struct known *
find(struct reader *reader, const char *id)
{
    for (size_t i = 0; i < reader->count; i++)
        if (strcmp(reader->known[i].id, id) == 0)
            return &reader->known[i];
    return NULL;
}

static void
put(struct reader *reader, const json_t *object)
{
    const char *id = json_string_value(json_object_get(object, "id"));
    const char *name = json_string_value(json_object_get(object, "name"));
    long long version =
        json_integer_value(json_object_get(object, "version"));
    struct known *known = find(reader, id);
    if (known == NULL) {
        assert_true(reader->count < KNOWN_MAX);
        known = &reader->known[reader->count++];
        (void)snprintf(known->id, sizeof known->id, "%s", id);
    }
    known->version = version;
    reader->ended |= strcmp(name, "the-end") == 0;
}

static void
drop(struct reader *reader, const json_t *object)
{
    struct known *known =
        find(reader, json_string_value(json_object_get(object, "id")));
    if (known != NULL)
        *known = reader->known[--reader->count];
}

static void
take_list(struct reader *reader)
{
    char path[256];
    const char *next = NULL;
    scoped_json keep = NULL;
    do {
        (void)snprintf(path, sizeof path, "%s?limit=500%s%s", reader->path,
                       next == NULL ? "" : "&cursor=",
                       next == NULL ? "" : next);
        scoped_reply page =
            call(&place, reader->token, "GET", path, NULL, NULL);
        size_t i;
        json_t *item;
        assert_int_equal(page.status, 200);
        json_array_foreach(json_object_get(page.body, "items"), i, item)
            put(reader, item);
        if (keep == NULL)
            reader->since = json_integer_value(
                json_object_get(page.body, "revision"));
        json_decref(keep);
        keep = json_incref(page.body);
        next = json_string_value(json_object_get(keep, "next"));
    } while (next != NULL);
}

/* One event, from "event:" or "id:" to the empty line. */
static void
take_event(struct reader *reader, char *event)
{
    const char *data = strstr(event, "data: ");
    const char *id = strncmp(event, "id: ", 4) == 0 ? event + 4 : NULL;
    if (data == NULL)
        return; /* a comment */
    scoped_json object = json_loads(data + 6, 0, NULL);
    assert_non_null(object);
    if (strstr(event, "event: put\n") != NULL)
        put(reader, object);
    else if (strstr(event, "event: delete\n") != NULL)
        drop(reader, object);
    else
        fail_msg("an unexpected event: %s", event);
    if (id != NULL)
        reader->since = strtoll(id, NULL, 10);
}

static void
take_events(struct reader *reader)
{
    char *at = reader->text.bytes;
    char *end;
    if (at == NULL)
        return;
    while ((end = strstr(at, "\n\n")) != NULL) {
        *end = '\0';
        take_event(reader, at);
        at = end + 2;
    }
}

static bool
take_piece(const char *bytes, size_t size, void *data)
{
    struct reader *reader = data;
    size_t room = reader->room - reader->text.size;
    buffer_add(&reader->text, bytes, size < room ? size : room);
    return reader->text.size < reader->room &&
           strstr(reader->text.bytes, "\"the-end\"") == NULL;
}

/* Also breaks after a while in which nothing came. */
static void
watch_once(struct reader *reader)
{
    struct error err;
    char path[256], authorization[160];
    scoped_answer answer = {0};
    struct http_request request = {.method = "GET",
                                   .path = path,
                                   .headers = {authorization},
                                   .timeout_ms =
                                       100 + (long)draw(reader, 900)};
    (void)snprintf(path, sizeof path, "/api/v1%s?watch=1&since=%lld",
                   reader->path, reader->since);
    (void)snprintf(authorization, sizeof authorization,
                   "Authorization: Bearer %s", reader->token);
    buffer_clear(&reader->text);
    reader->room = 20 + draw(reader, 6000);
    (void)http_stream(&place.target, &request, &answer, take_piece, reader,
                      &err);
    if (answer.status != 0)
        assert_int_equal(answer.status, 200);
    take_events(reader);
    reader->resumes++;
}

/* --- those who write --- */

static int
make_three(struct changes *changes, void *data, struct error *err)
{
    const unsigned *number = data;
    struct ref tenant = world_find_name(changes->world, KIND_TENANT,
                                        world_platform_ref(changes->world),
                                        "a");
    (void)err;
    for (int i = 0; i < 3; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "trio-%u-%d", *number, i);
        (void)change_create(changes, KIND_UNIT, tenant, name);
    }
    return 0;
}

static void
three_step(struct loop *loop, struct arena *arena, void *data)
{
    struct error err;
    struct deed deed = {.verb = "test.three",
                        .component = "test",
                        .decide = make_three,
                        .data = data};
    (void)execute_deed(loop, arena, &deed, &err);
}

static void
write_some(unsigned number, void *data)
{
    (void)data;
    for (unsigned i = 0; i < WRITES; i++) {
        char path[128], body[96];
        unsigned own = number * 1000 + i;
        (void)snprintf(body, sizeof body, "{\"name\":\"u%u\"}", own);
        scoped_reply made = call(&place, place.root, "POST",
                                 "/tenants/a/units", body, NULL);
        assert_int_equal(made.status, 201);
        if (i % 3 == 1) {
            (void)snprintf(path, sizeof path, "/tenants/a/units/u%u", own);
            scoped_reply gone =
                call(&place, place.root, "DELETE", path, NULL, NULL);
            assert_int_equal(gone.status, 204);
        }
        if (i % 3 == 2) {
            (void)snprintf(path, sizeof path, "/tenants/a/units/u%u",
                           own - 2);
            scoped_reply changed =
                call(&place, place.root, "PATCH", path,
                     "{\"display\":\"changed\"}", "If-Match: *");
            assert_int_equal(changed.status, 200);
        }
        if (i % 10 == 9)
            harness_run(&place.harness, three_step, &own);
    }
}

struct scene {
    struct reader readers[READERS];
    atomic_uint writers;
};

static void
read_or_write(unsigned number, void *data)
{
    struct scene *scene = data;
    if (number < WRITERS) {
        write_some(number, NULL);
        if (atomic_fetch_sub(&scene->writers, 1) == 1) {
            scoped_reply last =
                call(&place, place.root, "POST", "/tenants/a/units",
                     "{\"name\":\"the-end\"}", NULL);
            assert_int_equal(last.status, 201);
        }
        return;
    }
    struct reader *reader = &scene->readers[number - WRITERS];
    *reader = (struct reader){.token = place.root,
                              .path = "/tenants/a/units",
                              .random = number};
    take_list(reader);
    for (int64_t end = clock_mono_ms() + 90000;
         !reader->ended && clock_mono_ms() < end;)
        watch_once(reader);
    buffer_release(&reader->text);
}

static void
whoever_resumes_often_loses_no_event(void **state)
{
    (void)state;
    struct scene *scene = memory_new(1, sizeof *scene);
    struct reader *truth = memory_new(1, sizeof *truth);
    unsigned resumes = 0;
    atomic_init(&scene->writers, WRITERS);
    all_at_once(WRITERS + READERS, read_or_write, scene);
    *truth = (struct reader){.token = place.root, .path = "/tenants/a/units"};
    take_list(truth);
    assert_true(truth->count > WRITERS * WRITES / 2);
    for (size_t i = 0; i < READERS; i++) {
        struct reader *reader = &scene->readers[i];
        assert_true(reader->ended);
        assert_int_equal(reader->count, truth->count);
        for (size_t k = 0; k < truth->count; k++) {
            struct known *known = find(reader, truth->known[k].id);
            assert_non_null(known);
            assert_int_equal(known->version, truth->known[k].version);
        }
        resumes += reader->resumes;
    }
    assert_true(resumes > 3 * READERS);
    free(scene);
    free(truth);
}

/* --- what the platform publishes --- */

static void
know(struct reader *reader, const char *path)
{
    memset(reader, 0, sizeof *reader);
    reader->token = ann;
    reader->path = path;
    reader->random = 7;
    take_list(reader);
}

static char *
make(const char *path, const char *body)
{
    return ask_text(&place, place.root, "POST", path, body, 201, "id");
}

/* One that a single tenant may use. */
static char *
make_pool(const char *name, const char *tenant)
{
    char path[64], body[256];
    (void)snprintf(path, sizeof path, "/tenants/%s", tenant);
    char *id = ask_text(&place, place.root, "GET", path, NULL, 200, "id");
    (void)snprintf(body, sizeof body,
                   "{\"name\":\"%s\",\"kind\":\"dedicated\","
                   "\"tenants\":[\"%s\"]}",
                   name, id);
    free(id);
    return make("/pools", body);
}

static void
delete(const char *path, const char *id)
{
    char full[128];
    (void)snprintf(full, sizeof full, "%s/%s", path, id);
    tell(&place, place.root, "DELETE", full, NULL, 204);
}

/* Watches until the object is unknown; false when that does not come. */
static bool
hears_of_the_end_of(struct reader *reader, const char *id)
{
    assert_non_null(find(reader, id));
    for (int i = 0; i < 20 && find(reader, id) != NULL; i++)
        watch_once(reader);
    buffer_release(&reader->text);
    reader->text = (struct buffer){0};
    return find(reader, id) == NULL;
}

static void
a_tenant_hears_that_a_published_object_is_gone(void **state)
{
    (void)state;
    struct reader reader;
    char *id = make("/priorities", "{\"name\":\"soon-gone\",\"value\":7}");
    know(&reader, "/priorities");
    delete("/priorities", id);
    assert_true(hears_of_the_end_of(&reader, id));
    free(id);
}

static void
a_deletion_before_a_restart_sends_the_tenant_back_to_the_list(void **state)
{
    (void)state;
    struct reader reader;
    char path[128];
    char *id = make("/priorities", "{\"name\":\"gone\",\"value\":8}");
    char *pool = make_pool("kept", "a");
    know(&reader, "/priorities");
    delete("/priorities", id);
    struct api *before = place.api;
    api_stop(before);
    harness_restart(&place.harness);
    api_free(before);
    (void)snprintf(path, sizeof path, "/priorities?watch=1&since=%lld",
                   reader.since);
    tell(&place, ann, "GET", path, NULL, 410);
    know(&reader, "/priorities");
    assert_null(find(&reader, id));
    char *other = make("/priorities", "{\"name\":\"later\",\"value\":9}");
    delete("/priorities", other);
    /* From the new list the watch goes on, though much before it is lost. */
    char *last = make("/priorities", "{\"name\":\"last\",\"value\":10}");
    for (int i = 0; i < 20 && find(&reader, last) == NULL; i++)
        watch_once(&reader);
    assert_non_null(find(&reader, last));
    buffer_release(&reader.text);
    /* Also to what does not move what the list says. */
    know(&reader, "/pools");
    delete("/pools", pool);
    assert_true(hears_of_the_end_of(&reader, pool));
    free(pool);
    free(id);
    free(other);
    free(last);
}

static bool
is_told(const char *token, const char *path, const char *id,
        long long since)
{
    struct reader reader = {.token = token, .path = path, .since = since,
                            .random = 9};
    bool told = false;
    for (int i = 0; i < 4; i++) {
        reader.since = since;
        watch_once(&reader);
        for (size_t k = 0; k + 4 < reader.text.size; k++)
            told |= strncmp(reader.text.bytes + k, id, strlen(id)) == 0;
    }
    buffer_release(&reader.text);
    return told;
}

static void
nobody_hears_of_what_was_not_published_to_them(void **state)
{
    (void)state;
    struct reader reader;
    char *theirs = make_pool("theirs", "b");
    char *ours = make_pool("ours", "a");
    know(&reader, "/pools");
    assert_null(find(&reader, theirs));
    assert_non_null(find(&reader, ours));
    delete("/pools", theirs);
    delete("/pools", ours);
    assert_true(is_told(ann, "/pools", ours, reader.since));
    assert_false(is_told(ann, "/pools", theirs, reader.since));
    assert_true(is_told(place.root, "/pools", theirs, reader.since));
    free(theirs);
    free(ours);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_resumes_often_loses_no_event),
        cmocka_unit_test(a_tenant_hears_that_a_published_object_is_gone),
        cmocka_unit_test(nobody_hears_of_what_was_not_published_to_them),
        cmocka_unit_test(
            a_deletion_before_a_restart_sends_the_tenant_back_to_the_list),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
