/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/control/harness.h"

#include <sys/stat.h>

#include "control/journal.h"
#include "control/outbox.h"
#include "control/space.h"
#include "core/role.h"
#include "store/row.h"

/* A disk that fills: what changes something is refused before it begins. */

#define LOW 1000

static _Atomic int64_t free_bytes;

static int64_t
pretend(const char *directory)
{
    (void)directory;
    return free_bytes;
}

struct place {
    struct harness harness;
    struct space *space;
    struct ref admin, session;
    char platform[ID_TEXT_MAX];
};

static void
find_admin(struct loop *loop, struct arena *arena, void *data)
{
    struct place *place = data;
    struct changes *changes = loop_changes(loop, arena);
    struct ref platform = world_platform_ref(loop_world(loop));
    struct user *user = change_create(changes, KIND_USER, platform, "root");
    struct grant *grant = change_create(changes, KIND_GRANT, platform, "");
    struct session *session;

    place->admin = user->object.self;
    session = change_create(changes, KIND_SESSION, place->admin, "");
    session->digest[0] = 1;
    session->proved_ms = changes->context.now_ms;
    session->expires_ms = changes->context.now_ms + INT64_C(36000000);
    place->session = session->object.self;
    grant->subject = place->admin;
    grant->role = role_find(changes->world, ROLE_PLATFORM_ADMIN);
    grant->use = role_use(ROLE_PLATFORM_ADMIN);
    grant->give = role_give(ROLE_PLATFORM_ADMIN);
    loop_apply(loop, changes);
    object_id_text(loop_world(loop), platform, place->platform);
}

static int
setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    struct space_options options = { .low = LOW, .free_bytes = pretend };

    assert_non_null(place);
    free_bytes = 2 * LOW;
    harness_open(&place->harness);
    harness_run(&place->harness, find_admin, place);
    options.directory = place->harness.where;
    place->space = space_new(place->harness.loop, &options);
    *state = place;
    return 0;
}

static int
teardown(void **state)
{
    struct place *place = *state;

    harness_close(&place->harness);
    space_free(place->space);
    free(place);
    return 0;
}

static int64_t
reserve_size(const struct place *place)
{
    char path[160];
    struct stat status;

    (void)snprintf(path, sizeof(path), "%s/reserve", place->harness.where);
    return stat(path, &status) == 0 ? (int64_t)status.st_size : -1;
}

/* --- commands --- */

struct attempt {
    const struct place *place;
    enum verb verb;
    int rc;
    bool decided;
    struct error err;
};

static int
decide(const struct granted *granted, struct changes *changes, void *data,
       struct error *err)
{
    struct attempt *attempt = data;

    (void)granted;
    (void)changes;
    (void)err;
    attempt->decided = true;
    return 0;
}

static void
run_attempt(struct loop *loop, struct arena *arena, void *data)
{
    struct attempt *attempt = data;
    struct actor actor = { .kind = ACTOR_USER,
                           .subject = attempt->place->admin,
                           .credential = attempt->place->session,
                           .proved_ms = harness_wall_ms() };
    struct command command = { .actor = &actor,
                               .verb = attempt->verb,
                               .object =
                                   world_platform_ref(loop_world(loop)),
                               .decide = decide,
                               .data = attempt };

    attempt->rc = execute(loop, arena, &command, &attempt->err);
}

static struct attempt
try(struct place *place, enum verb verb)
{
    struct attempt attempt = { .place = place, .verb = verb };

    harness_run(&place->harness, run_attempt, &attempt);
    return attempt;
}

/* --- records --- */

struct counting {
    const char *verb;
    size_t count;
};

static int
count_verb(void *context, const struct value *values, struct error *err)
{
    struct counting *counting = context;
    const char *verb = row_text(KIND_EVENT, values, "verb");

    (void)err;
    counting->count += verb != NULL && strcmp(verb, counting->verb) == 0;
    return 0;
}

static void
nothing(struct loop *loop, struct arena *arena, void *data)
{
    (void)loop;
    (void)arena;
    (void)data;
}

static size_t
records_of(struct place *place, const char *verb)
{
    struct counting counting = { verb, 0 };
    struct store_reader *reader;
    struct error err;

    /* What was posted before is durable after this. */
    harness_run(&place->harness, nothing, NULL);
    harness_must(loop_reader(place->harness.loop, &reader, &err), &err);
    harness_must(store_events(reader, place->platform, 0, 0, count_verb,
                              &counting, &err),
                 &err);
    store_reader_close(reader);
    return counting.count;
}

static void
with_room_commands_run_and_a_reserve_is_kept(void **state)
{
    struct place *place = *state;
    struct attempt attempt = try(place, VERB_POOL_CREATE);

    assert_int_equal(attempt.rc, 0);
    assert_true(attempt.decided);
    assert_int_equal(reserve_size(place), SPACE_RESERVE);
}

static void
without_room_nothing_begins_and_readiness_says_why(void **state)
{
    struct place *place = *state;
    char reason[LOOP_REASON_MAX];
    struct attempt attempt;

    free_bytes = LOW - 1;
    space_look(place->space);
    space_look(place->space);
    attempt = try(place, VERB_POOL_CREATE);
    assert_int_equal(attempt.rc, -1);
    assert_false(attempt.decided);
    assert_int_equal(attempt.err.code, ERROR_BUSY);
    assert_non_null(strstr(attempt.err.text, "nearly full"));
    assert_false(loop_ready(place->harness.loop, reason));
    assert_non_null(strstr(reason, "nearly full"));
    /* The reserve made room for one record of it. */
    assert_int_equal(reserve_size(place), 0);
    assert_int_equal(records_of(place, SPACE_VERB_FULL), 1);
}

static void
what_deletes_goes_on_without_room(void **state)
{
    struct place *place = *state;
    struct attempt attempt;

    free_bytes = LOW - 1;
    space_look(place->space);
    attempt = try(place, VERB_POOL_DELETE);
    assert_int_equal(attempt.rc, 0);
    assert_true(attempt.decided);
}

/* Between once and twice the mark it stays as it is. */
static void
with_twice_the_room_it_goes_on_and_says_what_was_refused(void **state)
{
    struct place *place = *state;
    char reason[LOOP_REASON_MAX];

    free_bytes = LOW - 1;
    space_look(place->space);
    (void)try(place, VERB_POOL_CREATE);
    (void)try(place, VERB_POOL_CREATE);
    free_bytes = 2 * LOW - 1;
    space_look(place->space);
    assert_int_equal(try(place, VERB_POOL_CREATE).rc, -1);
    free_bytes = 2 * LOW;
    space_look(place->space);
    assert_int_equal(try(place, VERB_POOL_CREATE).rc, 0);
    assert_true(loop_ready(place->harness.loop, reason));
    assert_int_equal(records_of(place, SPACE_VERB_ROOM), 1);
    assert_int_equal(reserve_size(place), SPACE_RESERVE);
}

#define SPACE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SPACE_TEST(with_room_commands_run_and_a_reserve_is_kept),
        SPACE_TEST(without_room_nothing_begins_and_readiness_says_why),
        SPACE_TEST(what_deletes_goes_on_without_room),
        SPACE_TEST(with_twice_the_room_it_goes_on_and_says_what_was_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
