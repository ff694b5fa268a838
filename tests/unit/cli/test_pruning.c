/* SPDX-License-Identifier: Apache-2.0 */
/* A control plane prunes what a policy of 90 days no longer keeps: what is in
 * the store and the files then, and what the verifier says to them. */
#include "tests/unit/control/harness.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/file.h"
#include "cli/audit_verify.h"
#include "control/check.h"
#include "control/eraser.h"
#include "control/outbox.h"
#include "control/pruner.h"
#include "store/row.h"

#define DAY_MS RETENTION_DAY_MS
#define WAIT_MS 20000
/* Records of the tenant that are old in the end: 4 bundles and a part. */
#define OLD 1200
#define OLD_BUNDLES 4

struct place {
    struct harness harness;
    char directory[128];
    char platform[ID_TEXT_MAX], tenant[ID_TEXT_MAX];
    struct ref tenant_ref;
    struct outbox *outbox;
    struct retention_policy policy;
    struct ref scope; /* whose policy is set */
};

static void
put_tenant(struct loop *loop, struct arena *arena, void *data)
{
    struct place *place = data;
    struct changes *changes = loop_changes(loop, arena);
    struct ref platform = world_platform_ref(loop_world(loop));
    struct tenant *tenant =
        change_create(changes, KIND_TENANT, platform, "red");

    place->tenant_ref = tenant->object.self;
    loop_apply(loop, changes);
    object_id_text(loop_world(loop), place->tenant_ref, place->tenant);
    object_id_text(loop_world(loop), platform, place->platform);
}

static void
write_records(struct loop *loop, struct arena *arena, void *data)
{
    const struct place *place = data;

    for (int i = 0; i < OLD / 4; i++) {
        struct record record = { .action.verb = "test",
                                 .actor.name = "somebody",
                                 .object.id = "wl_1",
                                 .decision.allow = true,
                                 .outcome.status = RECORD_SUCCESS };

        journal_append(loop, arena, place->tenant_ref, &record, NULL);
    }
    (void)journal_commit_heads(loop, arena, true);
}

/* The platform is heard again after a stop, as tick.c would say. */
static void
start_again(struct loop *loop, struct arena *arena, void *data)
{
    struct record record = { .action.verb = RECORD_VERB_START,
                             .actor.kind = "platform",
                             .decision.allow = true,
                             .outcome.status = RECORD_SUCCESS };

    (void)data;
    loop_clock_confirm(loop);
    journal_append(loop, arena, world_platform_ref(loop_world(loop)), &record,
                   NULL);
}

static void
set_policy(struct loop *loop, struct arena *arena, void *data)
{
    struct place *place = data;

    pruner_set(loop, arena, place->scope, &place->policy);
}

static void
keep(struct place *place, struct ref scope, int64_t days, bool hold)
{
    place->scope = scope;
    place->policy = (struct retention_policy){ days * DAY_MS, hold };
    harness_run(&place->harness, set_policy, place);
}

static void
start_outbox(struct place *place)
{
    struct outbox_options options = { .directory = place->directory,
                                      .period_ms = 5,
                                      .look_ms = 1 };
    struct error err;

    harness_must(outbox_start(place->harness.loop, &options, &place->outbox,
                              &err),
                 &err);
}

/* The outbox thread needs the loop; the loop its end. */
static void
stop(struct place *place)
{
    outbox_stop(place->outbox);
    place->outbox = NULL;
}

static int
setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));

    assert_non_null(place);
    harness_open(&place->harness);
    (void)snprintf(place->directory, sizeof(place->directory), "%s/audit",
                   place->harness.where);
    harness_run(&place->harness, put_tenant, place);
    for (int i = 0; i < 4; i++)
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

/* 91 days go by; new records come, which stay. */
static void
pass(struct place *place, int64_t days)
{
    harness_pass(days * DAY_MS);
    harness_run(&place->harness, start_again, place);
    harness_run(&place->harness, write_records, place);
}

struct asked {
    const char *log;
    struct journal_keep keep;
    uint64_t size;
};

static void
ask_keep(struct loop *loop, struct arena *arena, void *data)
{
    struct asked *asked = data;

    (void)arena;
    asked->keep = journal_keep(loop_journal(loop), asked->log);
    asked->size = journal_size(loop_journal(loop), asked->log);
}

static struct asked
ask(struct place *place, const char *log)
{
    struct asked asked = { .log = log };

    harness_run(&place->harness, ask_keep, &asked);
    return asked;
}

static bool
await_pruned(struct place *place, const char *log, uint64_t pruned)
{
    for (int i = 0; i < WAIT_MS / 10; i++) {
        if (ask(place, log).keep.pruned == pruned)
            return true;
        (void)usleep(10000);
    }
    return false;
}

/* Some hundred passes, in which what may not happen would. */
static void
let_it_run(void)
{
    (void)usleep(500000);
}

static int
count_row(void *context, const struct value *values, struct error *err)
{
    (void)values;
    (void)err;
    ++*(size_t *)context;
    return 0;
}

static size_t
count_rows(struct place *place, const char *log)
{
    struct store_reader *reader;
    struct error err;
    size_t count = 0;

    harness_must(loop_reader(place->harness.loop, &reader, &err), &err);
    harness_must(store_events(reader, log, 0, 0, count_row, &count, &err),
                 &err);
    store_reader_close(reader);
    return count;
}

static bool
has_bundle(const struct place *place, const char *log, const char *kind,
           unsigned number)
{
    char origin[RECORD_ORIGIN_MAX], name[64];
    scoped_buffer path = { 0 };

    assert_true(journal_origin(place->platform, 0, log, origin));
    buffer_printf(&path, "%s/", place->directory);
    checkpoint_add_file_name(&path, origin);
    (void)snprintf(name, sizeof(name), "/%s/%03u", kind, number);
    buffer_add_text(&path, name);
    return access(path.bytes, F_OK) == 0;
}

static void
await_files(const struct place *place, const char *log, unsigned bundles)
{
    for (int i = 0; i < WAIT_MS / 10 &&
                    has_bundle(place, log, "personal", bundles - 1);
         i++)
        (void)usleep(10000);
    for (unsigned i = 0; i < bundles; i++) {
        assert_false(has_bundle(place, log, "tile/entries", i));
        assert_false(has_bundle(place, log, "personal", i));
        assert_true(has_bundle(place, log, "tile/0", i));
    }
}

static void
await_laid_down(const struct place *place)
{
    for (int i = 0; i < WAIT_MS / 10 &&
                    !has_bundle(place, place->tenant, "tile/0", 3);
         i++)
        (void)usleep(10000);
}

static struct audit_report
verify(const struct place *place)
{
    struct checkpoint_key key = { .witness = false };
    struct audit_verify_options options = { .keys = &key, .key_count = 1 };
    struct audit_report report;
    struct error err;

    if (audit_verify(place->directory, &options, &report, &err) != 0)
        fail_msg("%s", err.text);
    return report;
}

static size_t
check(struct place *place)
{
    struct store_reader *reader;
    scoped_arena arena = arena_new();
    struct check check;
    struct error err;

    harness_must(loop_reader(place->harness.loop, &reader, &err), &err);
    check_begin(&check, arena, 0);
    harness_must(check_history(&check, reader, &err), &err);
    for (size_t i = 0; i < check.broken && i < 3; i++)
        print_message("%s: %s\n", check.findings[i].object,
                      check.findings[i].text);
    store_reader_close(reader);
    return check.broken;
}

static void
what_is_older_than_the_policy_goes_and_all_verifies(void **state)
{
    struct place *place = *state;
    struct audit_report report;
    uint64_t size;

    pass(place, 89);
    keep(place, place->tenant_ref, 90, false);
    let_it_run();
    assert_int_equal(ask(place, place->tenant).keep.pruned, 0);
    pass(place, 1);
    assert_true(await_pruned(place, place->tenant, OLD_BUNDLES * 256));
    await_files(place, place->tenant, OLD_BUNDLES);
    assert_true(has_bundle(place, place->tenant, "tile/entries", OLD_BUNDLES));
    size = ask(place, place->tenant).size;
    assert_int_equal(count_rows(place, place->tenant),
                     size - (size_t)OLD_BUNDLES * 256);
    stop(place);
    report = verify(place);
    assert_int_equal(report.count.pruned, OLD_BUNDLES * 256);
    assert_int_equal(report.count.prunings[0].to, OLD_BUNDLES * 256);
    assert_int_equal(report.count.prunings[0].keep_ms, 90 * DAY_MS);
    assert_int_equal(check(place), 0);
    /* The platform's log has no policy, and keeps all. */
    assert_int_equal(ask(place, place->platform).keep.pruned, 0);
}

static void
a_restart_changes_nothing_and_goes_on(void **state)
{
    struct place *place = *state;
    struct asked before, after;

    pass(place, 91);
    keep(place, place->tenant_ref, 90, false);
    stop(place);
    before = ask(place, place->tenant);
    harness_restart(&place->harness);
    after = ask(place, place->tenant);
    assert_int_equal(after.keep.ordered, before.keep.ordered);
    assert_int_equal(after.keep.recorded, before.keep.recorded);
    assert_int_equal(after.keep.pruned, before.keep.pruned);
    assert_int_equal(after.keep.policy.keep_ms, 90 * DAY_MS);
    start_outbox(place);
    assert_true(await_pruned(place, place->tenant, OLD_BUNDLES * 256));
    stop(place);
    harness_restart(&place->harness);
    after = ask(place, place->tenant);
    assert_int_equal(after.keep.pruned, OLD_BUNDLES * 256);
    assert_int_equal(after.keep.ordered, OLD_BUNDLES * 256);
    start_outbox(place);
    await_files(place, place->tenant, OLD_BUNDLES);
    stop(place);
    (void)verify(place);
    assert_int_equal(check(place), 0);
}

static void
a_hold_keeps_everything_until_it_is_lifted(void **state)
{
    struct place *place = *state;

    keep(place, place->tenant_ref, 90, true);
    pass(place, 91);
    let_it_run();
    assert_int_equal(ask(place, place->tenant).keep.ordered, 0);
    keep(place, place->tenant_ref, 90, false);
    assert_true(await_pruned(place, place->tenant, OLD_BUNDLES * 256));
    stop(place);
    (void)verify(place);
}

static void
a_hold_of_the_platform_holds_every_log(void **state)
{
    struct place *place = *state;
    struct ref platform =
        world_platform_ref(loop_world(place->harness.loop));

    keep(place, platform, 0, true);
    keep(place, place->tenant_ref, 90, false);
    pass(place, 91);
    let_it_run();
    assert_int_equal(ask(place, place->tenant).keep.ordered, 0);
}

static void
a_tenants_log_is_kept_as_the_platforms_unless_it_has_its_own(void **state)
{
    struct place *place = *state;
    struct ref platform =
        world_platform_ref(loop_world(place->harness.loop));

    keep(place, place->tenant_ref, 0, false); /* for ever */
    keep(place, platform, 90, false);
    pass(place, 91);
    let_it_run();
    assert_int_equal(ask(place, place->tenant).keep.ordered, 0);
    place->scope = place->tenant_ref;
    place->policy =
        (struct retention_policy){ RETENTION_AS_PLATFORM, false };
    harness_run(&place->harness, set_policy, place);
    assert_true(await_pruned(place, place->tenant, OLD_BUNDLES * 256));
    stop(place);
    (void)verify(place);
}

static void
delete_tenant(struct loop *loop, struct arena *arena, void *data)
{
    const struct place *place = data;
    struct changes *changes = loop_changes(loop, arena);

    change_evict(changes, place->tenant_ref);
    loop_apply(loop, changes);
}

/* It has a log still, and the platform's log says what became of it. */
static void
the_log_of_a_tenant_that_is_gone_is_pruned_as_well(void **state)
{
    struct place *place = *state;
    struct audit_report report;

    harness_run(&place->harness, delete_tenant, place);
    keep(place, world_platform_ref(loop_world(place->harness.loop)), 90,
         false);
    harness_pass(91 * DAY_MS);
    harness_run(&place->harness, start_again, place);
    assert_true(await_pruned(place, place->tenant, OLD_BUNDLES * 256));
    await_files(place, place->tenant, OLD_BUNDLES);
    stop(place);
    report = verify(place);
    assert_true(report.count.prunings[0].elsewhere);
}

/* The files of a log that is put back are made anew from the store. */
static void
files_are_laid_down_anew_from_what_is_left(void **state)
{
    struct place *place = *state;
    struct audit_report report;

    keep(place, place->tenant_ref, 90, false);
    pass(place, 91);
    assert_true(await_pruned(place, place->tenant, OLD_BUNDLES * 256));
    stop(place);
    (void)nftw(place->directory, harness_remove_one, 8, FTW_DEPTH | FTW_PHYS);
    start_outbox(place);
    stop(place);
    report = verify(place);
    assert_int_equal(report.count.pruned, OLD_BUNDLES * 256);
    assert_true(has_bundle(place, place->tenant, "tile/0", 0));
    assert_false(has_bundle(place, place->tenant, "tile/entries", 0));
}

/* A record that nobody signed yet explains nothing to who verifies. */
static void
without_the_signers_word_nothing_goes(void **state)
{
    struct place *place = *state;
    struct outbox_options options = { .directory = place->directory,
                                      .signer_socket = "/nowhere/signer",
                                      .period_ms = 5,
                                      .look_ms = 1 };
    struct error err;

    stop(place);
    keep(place, place->tenant_ref, 90, false);
    pass(place, 91);
    harness_must(outbox_start(place->harness.loop, &options, &place->outbox,
                              &err),
                 &err);
    let_it_run();
    assert_int_equal(ask(place, place->tenant).keep.ordered, 0);
    assert_int_equal(ask(place, place->tenant).keep.pruned, 0);
}

/* Whoever edits the database sees nothing pruned over it. */
static void
what_store_and_files_differ_in_is_not_pruned(void **state)
{
    struct place *place = *state;
    char origin[RECORD_ORIGIN_MAX];
    scoped_buffer path = { 0 }, tile = { 0 };
    struct error err;

    await_laid_down(place);
    stop(place);
    assert_true(journal_origin(place->platform, 0, place->tenant, origin));
    buffer_printf(&path, "%s/", place->directory);
    checkpoint_add_file_name(&path, origin);
    buffer_add_text(&path, "/tile/0/000");
    assert_int_equal(file_read(path.bytes, 1 << 20, &tile, &err), 0);
    tile.bytes[40] ^= 1;
    assert_int_equal(
        file_write(path.bytes, tile.bytes, tile.size, 0600, &err), 0);
    start_outbox(place);
    keep(place, place->tenant_ref, 90, false);
    pass(place, 91);
    for (int i = 0; i < WAIT_MS / 10 &&
                    ask(place, place->tenant).keep.ordered == 0;
         i++)
        (void)usleep(10000);
    let_it_run();
    assert_int_equal(ask(place, place->tenant).keep.ordered,
                     OLD_BUNDLES * 256);
    assert_int_equal(ask(place, place->tenant).keep.pruned, 0);
    assert_true(count_rows(place, place->tenant) > OLD);
}

/* --- a pass that knows less than the store --- */

struct pass {
    struct pruner *pruner;
    struct store_reader *reader;
    struct pruner_log log;
};

static int
note_counter(void *context, const struct store_counter *counter,
             struct error *err)
{
    (void)err;
    pruner_note(context, counter);
    return 0;
}

static void
make_pass(struct pass *pass)
{
    struct error err;

    pruner_begin(pass->pruner);
    harness_must(store_counters(pass->reader, note_counter, pass->pruner,
                                &err),
                 &err);
    harness_must(pruner_step(pass->pruner, pass->reader, &pass->log, &err),
                 &err);
}

/* What a step did was done after the counters were read: the next step waits
 * for the next pass, and takes nothing for a lie. */
static void
a_pass_does_nothing_on_what_it_knew_before(void **state)
{
    struct place *place = *state;
    char origin[RECORD_ORIGIN_MAX];
    struct audit_dir files;
    struct pass pass = { .log = { .id = place->tenant,
                                  .platform = place->platform,
                                  .files = &files,
                                  .vouched = OLD,
                                  .platform_vouched = 0 } };
    struct error err;

    await_laid_down(place);
    stop(place);
    assert_true(journal_origin(place->platform, 0, place->tenant, origin));
    harness_must(audit_dir_open(&files, place->directory, origin, &err), &err);
    keep(place, place->tenant_ref, 90, false);
    harness_pass(91 * DAY_MS);
    harness_run(&place->harness, start_again, place);
    harness_must(loop_reader(place->harness.loop, &pass.reader, &err), &err);
    pass.pruner = pruner_new(place->harness.loop, 1);
    pass.log.vouched = ask(place, place->tenant).size;
    make_pass(&pass); /* gives the order */
    pass.log.vouched = pass.log.platform_vouched = 1 << 20;
    for (uint64_t pruned = 512; pruned <= 1024; pruned += 512) {
        for (int i = 0; ask(place, place->tenant).keep.pruned < pruned; i++) {
            assert_true(i < WAIT_MS / 10);
            make_pass(&pass);
            (void)usleep(10000);
        }
        /* The same pass goes on, and the job ended meanwhile. */
        harness_must(
            pruner_step(pass.pruner, pass.reader, &pass.log, &err), &err);
        assert_int_equal(ask(place, place->tenant).keep.pruned, pruned);
    }
    pruner_free(pass.pruner);
    store_reader_close(pass.reader);
    audit_dir_close(&files);
}

/* --- killed --- */

/* Ends the process once the pruning has gone on, just then or a moment later:
 * before, while, or after that is written. */
static void
prune_until_killed(struct place *place, long after_us)
{
    struct asked seen, now;

    harness_start(&place->harness);
    seen = now = ask(place, place->tenant);
    start_outbox(place);
    for (int i = 0; i < WAIT_MS && now.keep.ordered == seen.keep.ordered &&
                    now.keep.pruned == seen.keep.pruned;
         i++) {
        (void)usleep(1000);
        now = ask(place, place->tenant);
    }
    (void)usleep((unsigned)after_us);
    (void)kill(getpid(), SIGKILL);
}

static void
kill_while_pruning(struct place *place, long after_us)
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        prune_until_killed(place, after_us);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Gives the order, and each step: none is lost, and none is half done. */
static void
killed_at_any_step_it_goes_on_and_all_verifies(void **state)
{
    struct place *place = *state;
    struct asked asked = { 0 };
    unsigned kills = 0;

    await_laid_down(place);
    stop(place);
    keep(place, place->tenant_ref, 90, false);
    pass(place, 91);
    while (asked.keep.pruned < (uint64_t)OLD_BUNDLES * 256) {
        assert_true(kills < 60);
        loop_close(place->harness.loop);
        kill_while_pruning(place, kills++ % 4 * 3000);
        harness_start(&place->harness);
        asked = ask(place, place->tenant);
        assert_int_equal(asked.keep.pruned % 512, 0);
        assert_int_equal(count_rows(place, place->tenant),
                         asked.size - asked.keep.pruned);
        /* put_tenant wrote no record: told while the log is whole */
        assert_int_equal(check(place), asked.keep.pruned == 0 ? 1 : 0);
        (void)verify(place);
    }
    assert_true(kills >= 3);
    start_outbox(place);
    await_files(place, place->tenant, OLD_BUNDLES);
    stop(place);
    assert_int_equal(verify(place).count.pruned, OLD_BUNDLES * 256);
    assert_int_equal(check(place), 0);
}

int
main(void)
{
#define PLACE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        PLACE(what_is_older_than_the_policy_goes_and_all_verifies),
        PLACE(a_restart_changes_nothing_and_goes_on),
        PLACE(a_hold_keeps_everything_until_it_is_lifted),
        PLACE(a_hold_of_the_platform_holds_every_log),
        PLACE(a_tenants_log_is_kept_as_the_platforms_unless_it_has_its_own),
        PLACE(the_log_of_a_tenant_that_is_gone_is_pruned_as_well),
        PLACE(files_are_laid_down_anew_from_what_is_left),
        PLACE(without_the_signers_word_nothing_goes),
        PLACE(what_store_and_files_differ_in_is_not_pruned),
        PLACE(a_pass_does_nothing_on_what_it_knew_before),
        PLACE(killed_at_any_step_it_goes_on_and_all_verifies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
