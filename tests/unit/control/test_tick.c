/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/control/harness.h"

#include <time.h>

#include "control/journal.h"
#include "control/tick.h"
#include "core/usage.h"
#include "store/row.h"

static struct tick *tick;

static void
prepare(struct loop *loop)
{
    struct tick_options options = { 0 };

    tick = tick_start(loop, &options);
}

struct estate {
    struct harness harness;
    struct ref user, workload, card;
    size_t sessions, receipts;
    int state;
    int64_t cut_ms;
    uint64_t records;
};

static void
open_estate(struct estate *estate)
{
    memset(estate, 0, sizeof(*estate));
    estate->harness.prepare = prepare;
    harness_open(&estate->harness);
}

static void
close_estate(struct estate *estate)
{
    harness_close(&estate->harness);
    tick_free(tick);
}

static void
put_user(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    struct changes *changes = loop_changes(loop, arena);
    struct user *user =
        change_create(changes, KIND_USER,
                      world_platform_ref(loop_world(loop)), "root");
    struct session *session =
        change_create(changes, KIND_SESSION, user->object.self, "");
    uint8_t key[32] = { 1 };

    session->digest[0] = 1;
    session->expires_ms = changes->context.now_ms + INT64_C(3600000);
    estate->user = user->object.self;
    loop_apply(loop, changes);
    execute_receipt(loop, arena, estate->user, key, key, 201, "{}");
}

static void
count_credentials(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;

    (void)arena;
    estate->sessions = world_count(loop_world(loop), KIND_SESSION);
    estate->receipts = world_count(loop_world(loop), KIND_RECEIPT);
}

/* Lets the loop come round to its timers. */
static void
let_pass(struct estate *estate, int64_t ms,
         void (*look)(struct loop *loop, struct arena *arena, void *data),
         bool (*is_there)(const struct estate *estate))
{
    const struct timespec pause = { 0, 2000000 };

    harness_pass(ms);
    for (int tries = 0; tries < 500; tries++) {
        harness_run(&estate->harness, look, estate);
        if (is_there(estate))
            return;
        (void)nanosleep(&pause, NULL);
    }
    fail_msg("it did not happen");
}

static bool
receipt_is_gone(const struct estate *estate)
{
    return estate->receipts == 0;
}

static bool
session_is_gone(const struct estate *estate)
{
    return estate->sessions == 0;
}

static void
test_sweep_forgets_what_has_expired_and_nothing_else(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate);
    harness_run(&estate.harness, put_user, &estate);
    harness_run(&estate.harness, count_credentials, &estate);
    assert_int_equal(estate.sessions, 1);
    assert_int_equal(estate.receipts, 1);
    let_pass(&estate, INT64_C(86400000) + 1, count_credentials,
             receipt_is_gone);
    /* the session expired but its record may still be looked up */
    assert_int_equal(estate.sessions, 1);
    let_pass(&estate, INT64_C(3600000) + 1, count_credentials,
             session_is_gone);
    close_estate(&estate);
}

/* --- how many answers are kept --- */

/* Answers to keys from .. to of a subject; a key's first bytes are its
 * number, its last one is the subject's. */
static void
keep_answers(struct loop *loop, struct arena *arena, struct ref subject,
             uint8_t who, uint32_t from, uint32_t to)
{
    uint8_t key[32] = { 0 };

    key[31] = who;
    for (uint32_t i = from; i <= to; i++) {
        memcpy(key, &i, sizeof(i));
        execute_receipt(loop, arena, subject, key, key, 201, "{}");
    }
}

static bool
is_kept(struct loop *loop, uint8_t who, uint32_t number)
{
    uint8_t key[32] = { 0 };

    key[31] = who;
    memcpy(key, &number, sizeof(number));
    return !ref_is_none(
        world_find_digest(loop_world(loop), KIND_RECEIPT, key));
}

static struct ref
put_person(struct loop *loop, struct arena *arena, const char *name)
{
    struct changes *changes = loop_changes(loop, arena);
    struct user *user =
        change_create(changes, KIND_USER,
                      world_platform_ref(loop_world(loop)), name);

    loop_apply(loop, changes);
    return user->object.self;
}

static void
keep_more_than_of_one(struct loop *loop, struct arena *arena, void *data)
{
    struct ref ann = put_person(loop, arena, "ann");
    struct ref bob = put_person(loop, arena, "bob");

    (void)data;
    keep_answers(loop, arena, bob, 2, 1, 1);
    keep_answers(loop, arena, ann, 1, 1, 16384);
    assert_true(is_kept(loop, 1, 1));
    keep_answers(loop, arena, ann, 1, 16385, 16387);
    for (uint32_t i = 1; i <= 3; i++)
        assert_false(is_kept(loop, 1, i));
    assert_true(is_kept(loop, 1, 4));
    assert_true(is_kept(loop, 1, 16387));
    assert_true(is_kept(loop, 2, 1));
    assert_int_equal(world_count(loop_world(loop), KIND_RECEIPT), 16386);
}

static void
test_the_oldest_answers_of_whoever_keeps_many_give_way(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate);
    harness_run(&estate.harness, put_user, &estate);
    harness_run(&estate.harness, keep_more_than_of_one, &estate);
    close_estate(&estate);
}

static void
fill_all_room(struct loop *loop, struct arena *arena, void *data)
{
    struct ref few = put_person(loop, arena, "few");
    struct ref ann = put_person(loop, arena, "ann");

    (void)data;
    keep_answers(loop, arena, few, 255, 1, 255);
    keep_answers(loop, arena, ann, 1, 1, 16384);
    for (uint8_t who = 2; who < 8; who++) {
        char name[] = { 'p', (char)('0' + who), 0 };
        keep_answers(loop, arena, put_person(loop, arena, name), who, 1,
                     16384);
    }
    struct ref late = put_person(loop, arena, "late");
    /* put_user's own answer is one of all */
    keep_answers(loop, arena, late, 8, 1, 131072 - 7 * 16384 - 255 - 1);
    assert_int_equal(world_count(loop_world(loop), KIND_RECEIPT), 131072);
    /* who keeps many gives up its own */
    keep_answers(loop, arena, late, 8, 16129, 16129);
    assert_false(is_kept(loop, 8, 1));
    assert_true(is_kept(loop, 255, 1));
    /* who keeps few takes the oldest of all: put_user's, then its own first */
    keep_answers(loop, arena, few, 255, 256, 256);
    assert_true(is_kept(loop, 255, 1));
    keep_answers(loop, arena, few, 255, 257, 257);
    assert_false(is_kept(loop, 255, 1));
    assert_true(is_kept(loop, 1, 1));
    assert_int_equal(world_count(loop_world(loop), KIND_RECEIPT), 131072);
}

static void
test_full_room_for_answers_costs_those_who_fill_it(void **state)
{
    struct estate estate;

    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* 131,072 changes take minutes there; one thread makes them all */
#endif
    open_estate(&estate);
    harness_run(&estate.harness, put_user, &estate);
    harness_run(&estate.harness, fill_all_room, &estate);
    close_estate(&estate);
}

static void
put_card(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    struct changes *changes = loop_changes(loop, arena);
    struct node *node = change_create(
        changes, KIND_NODE, world_first(loop_world(loop), KIND_POOL), "n");
    struct card *card =
        change_create(changes, KIND_CARD, node->object.self, "card0");

    usage_start(changes, card);
    estate->card = card->object.self;
    loop_apply(loop, changes);
}

static void
read_cut(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;

    (void)arena;
    estate->cut_ms = world_card(loop_world(loop), estate->card)->cut_ms;
}

static bool
is_cut(const struct estate *estate)
{
    return estate->cut_ms == harness_wall_ms();
}

static void
test_time_lines_are_cut_without_any_event(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate);
    harness_run(&estate.harness, put_card, &estate);
    let_pass(&estate, INT64_C(300001), read_cut, is_cut);
    close_estate(&estate);
}

static void
count_records(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    char id[ID_TEXT_MAX];

    (void)arena;
    object_id_text(loop_world(loop), world_platform_ref(loop_world(loop)),
                   id);
    estate->records = journal_size(loop_journal(loop), id);
}

static void
test_start_is_recorded(void **state)
{
    struct estate estate;
    struct error err;
    uint64_t before;

    (void)state;
    open_estate(&estate);
    harness_run(&estate.harness, count_records, &estate);
    before = estate.records;
    harness_must(tick_record_start(estate.harness.loop, &err), &err);
    harness_run(&estate.harness, count_records, &estate);
    assert_int_equal(estate.records, before + 1);
    close_estate(&estate);
}

/* --- the scheduler comes after a change, not after its period --- */

static void
put_workload(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    struct changes *changes = loop_changes(loop, arena);
    struct ref platform = world_platform_ref(loop_world(loop));
    struct class *class = change_create(changes, KIND_CLASS, platform, "c");
    struct tenant *tenant =
        change_create(changes, KIND_TENANT, platform, "red");
    struct project *project =
        change_create(changes, KIND_PROJECT, tenant->object.self, "p");
    struct workload *workload =
        change_create(changes, KIND_WORKLOAD, project->object.self, "w");

    class->count = 1;
    workload->class = class->object.self;
    workload->priority = world_first(loop_world(loop), KIND_PRIORITY);
    workload->instances = 1;
    workload->cpu_milli = 1000;
    workload->memory_mib = 100;
    workload->state = WORKLOAD_QUEUED;
    workload->submitted_ms = changes->context.now_ms;
    estate->workload = workload->object.self;
    loop_apply(loop, changes);
}

static void
read_reason(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    const struct workload *workload =
        world_workload(loop_world(loop), estate->workload);

    (void)arena;
    estate->state = workload->reason;
}

static bool
has_reason(const struct estate *estate)
{
    return estate->state != 0;
}

/* The clock stands still: no period can be over. */
static void
test_waiting_work_gets_its_reason_at_once(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate);
    harness_run(&estate.harness, put_workload, &estate);
    let_pass(&estate, 0, read_reason, has_reason);
    close_estate(&estate);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_sweep_forgets_what_has_expired_and_nothing_else),
        cmocka_unit_test(
            test_the_oldest_answers_of_whoever_keeps_many_give_way),
        cmocka_unit_test(test_full_room_for_answers_costs_those_who_fill_it),
        cmocka_unit_test(test_time_lines_are_cut_without_any_event),
        cmocka_unit_test(test_start_is_recorded),
        cmocka_unit_test(test_waiting_work_gets_its_reason_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
