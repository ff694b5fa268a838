/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/control/harness.h"

#include <ftw.h>

#include "base/file.h"
#include "control/eraser.h"
#include "control/journal.h"
#include "control/outbox.h"
#include "identity/audit_dir.h"
#include "store/row.h"

/* Somebody's personal parts are destroyed, in the store and in the files; all
 * else stays. */

#define ADA "us_aaaaaaaaaaaaaaaaaaaaaaaaaa"
#define BOB "us_bbbbbbbbbbbbbbbbbbbbbbbbbb"
#define EACH 300 /* more than one turn carries out */
#define WAIT_MS 20000

struct place {
    struct harness harness;
    char directory[128];
    char platform[ID_TEXT_MAX];
    struct outbox *outbox;
};

static void
write_records(struct loop *loop, struct arena *arena, void *data)
{
    struct place *place = data;
    struct ref platform = world_platform_ref(loop_world(loop));

    object_id_text(loop_world(loop), platform, place->platform);
    for (int i = 0; i < EACH; i++) {
        struct record record = { .action.verb = "test",
                                 .actor.id = i % 3 == 0 ? ADA : BOB,
                                 .actor.name = "somebody",
                                 .object.id = i % 3 == 1 ? ADA : NULL,
                                 .decision.allow = true,
                                 .outcome.status = RECORD_SUCCESS };

        journal_append(loop, arena, platform, &record, NULL);
    }
}

static void
start_outbox(struct place *place)
{
    struct outbox_options options = { .directory = place->directory,
                                      .period_ms = 20 };
    struct error err;

    harness_must(outbox_start(place->harness.loop, &options, &place->outbox,
                              &err),
                 &err);
}

static int
setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));

    assert_non_null(place);
    harness_open(&place->harness);
    (void)snprintf(place->directory, sizeof(place->directory), "%s/audit",
                   place->harness.where);
    harness_run(&place->harness, write_records, place);
    start_outbox(place);
    *state = place;
    return 0;
}

static int
teardown(void **state)
{
    struct place *place = *state;

    outbox_stop(place->outbox);
    harness_close(&place->harness);
    free(place);
    return 0;
}

static void
order_ada(struct loop *loop, struct arena *arena, void *data)
{
    const struct place *place = data;

    (void)arena;
    eraser_order(loop, place->platform, ADA,
                 (int64_t)journal_size(loop_journal(loop), place->platform));
}

/* Records with a personal part: of Ada, and of others alone. */
struct tally {
    size_t ada, others, records;
};

static int
count_row(void *context, const struct value *values, struct error *err)
{
    struct tally *tally = context;
    const char *actor = row_text(KIND_EVENT, values, "actor");
    const char *target = row_text(KIND_EVENT, values, "target");
    bool has = row_text(KIND_EVENT, values, "personal") != NULL;
    bool ada = (actor != NULL && strcmp(actor, ADA) == 0) ||
               (target != NULL && strcmp(target, ADA) == 0);

    (void)err;
    tally->records++;
    tally->ada += has && ada;
    tally->others += has && !ada;
    return 0;
}

static struct tally
count_store(const struct place *place)
{
    struct store_reader *reader;
    struct tally tally = { 0 };
    struct error err;

    harness_must(loop_reader(place->harness.loop, &reader, &err), &err);
    harness_must(store_events(reader, place->platform, 0, 0, count_row,
                              &tally, &err),
                 &err);
    store_reader_close(reader);
    return tally;
}

/* Personal parts in the files that are erased. */
static size_t
count_erased_files(const struct place *place)
{
    char origin[RECORD_ORIGIN_MAX];
    struct audit_dir files;
    struct error err;
    size_t erased = 0;

    assert_true(journal_origin(place->platform, 0, place->platform, origin));
    harness_must(audit_dir_find(&files, place->directory, origin, &err),
                 &err);
    for (uint64_t i = 0; i * MERKLE_TILE_WIDTH < files.tree.size; i++) {
        scoped_buffer path = { 0 }, tile = { 0 }, bundle = { 0 };
        const uint8_t *at, *end, *item;
        size_t size;

        merkle_tile_path(&tile, MERKLE_ENTRIES, i,
                         merkle_tile_width(MERKLE_ENTRIES, i,
                                           files.tree.size));
        buffer_printf(&path, "%s/personal/%s", files.path,
                      tile.bytes + strlen("tile/entries/"));
        harness_must(file_read(path.bytes, (size_t)1 << 26, &bundle, &err),
                     &err);
        at = (const uint8_t *)buffer_text(&bundle);
        end = at + bundle.size;
        while (record_next_item(&at, end, &item, &size) == 1)
            erased += size == 0;
    }
    audit_dir_close(&files);
    return erased;
}

static void
await_erased(const struct place *place)
{
    for (int waited = 0; count_store(place).ada > 0; waited += 50) {
        if (waited > WAIT_MS)
            fail_msg("%zu are left", count_store(place).ada);
        (void)usleep(50000);
    }
}

/* Of 300 records 100 are by Ada and 100 about her. */
static void
what_is_personal_about_a_subject_goes_and_the_rest_stays(void **state)
{
    struct place *place = *state;
    struct tally before = count_store(place), after;

    assert_int_equal(before.ada, 200);
    harness_run(&place->harness, order_ada, place);
    await_erased(place);
    after = count_store(place);
    assert_int_equal(after.others, before.others);
    assert_int_equal(after.records, before.records);
    assert_int_equal(count_erased_files(place), 200);
}

static void
an_order_outlives_a_stop(void **state)
{
    struct place *place = *state;

    outbox_stop(place->outbox);
    place->outbox = NULL;
    harness_run(&place->harness, order_ada, place);
    harness_restart(&place->harness);
    assert_int_equal(count_store(place).ada, 200);
    start_outbox(place);
    await_erased(place);
    assert_int_equal(count_erased_files(place), 200);
}

/* What comes later is not meant. */
static void
records_behind_the_order_keep_their_personal_part(void **state)
{
    struct place *place = *state;

    harness_run(&place->harness, order_ada, place);
    await_erased(place);
    harness_run(&place->harness, write_records, place);
    assert_int_equal(count_store(place).ada, 200);
    outbox_stop(place->outbox);
    start_outbox(place);
    (void)usleep(300000);
    assert_int_equal(count_store(place).ada, 200);
}

static void
order_first_half(struct loop *loop, struct arena *arena, void *data)
{
    const struct place *place = data;

    (void)arena;
    eraser_order(loop, place->platform, ADA,
                 (int64_t)journal_size(loop_journal(loop),
                                       place->platform) -
                     EACH / 2);
}

/* Of the last 150 records 50 are by Ada and 50 about her. */
static void
an_order_reaches_what_lies_below_it_alone(void **state)
{
    struct place *place = *state;

    harness_run(&place->harness, order_first_half, place);
    for (int waited = 0; count_store(place).ada > 100; waited += 50) {
        if (waited > WAIT_MS)
            fail_msg("%zu are left", count_store(place).ada);
        (void)usleep(50000);
    }
    (void)usleep(200000); /* it would go on */
    assert_int_equal(count_store(place).ada, 100);
    assert_int_equal(count_erased_files(place), 100);
}

#define ERASER_TEST(name)                                                     \
    cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ERASER_TEST(what_is_personal_about_a_subject_goes_and_the_rest_stays),
        ERASER_TEST(an_order_outlives_a_stop),
        ERASER_TEST(an_order_reaches_what_lies_below_it_alone),
        ERASER_TEST(records_behind_the_order_keep_their_personal_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
