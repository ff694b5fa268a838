/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/control/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "control/journal.h"
#include "control/outbox.h"
#include "core/checkpoint.h"
#include "identity/audit_dir.h"

struct estate {
    struct harness harness;
    char directory[128];
    char tenant[ID_TEXT_MAX], platform[ID_TEXT_MAX];
    struct outbox *outbox;
    const char *socket; /* of a signer; NULL: none */
    struct ref tenant_ref;
};

static void
remove_tree(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;

    if (directory == NULL) {
        (void)unlink(path);
        return;
    }
    while ((entry = readdir(directory)) != NULL) {
        char name[512];

        if (strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0)
            continue;
        (void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        remove_tree(name);
    }
    (void)closedir(directory);
    (void)rmdir(path);
}

static void
put_tenant(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    struct changes *changes = loop_changes(loop, arena);
    struct ref platform = world_platform_ref(loop_world(loop));
    struct tenant *tenant =
        change_create(changes, KIND_TENANT, platform, "red");

    estate->tenant_ref = tenant->object.self;
    loop_apply(loop, changes);
    object_id_text(loop_world(loop), estate->tenant_ref, estate->tenant);
    object_id_text(loop_world(loop), platform, estate->platform);
}

static void
start_outbox(struct estate *estate)
{
    struct outbox_options options = { .directory = estate->directory,
                                      .signer_socket = estate->socket,
                                      .period_ms = 20 };
    struct error err;

    harness_must(outbox_start(estate->harness.loop, &options, &estate->outbox,
                              &err),
                 &err);
}

static void
open_estate(struct estate *estate)
{
    harness_open(&estate->harness);
    (void)snprintf(estate->directory, sizeof(estate->directory), "%s/audit",
                   estate->harness.where);
    harness_run(&estate->harness, put_tenant, estate);
}

static void
close_estate(struct estate *estate)
{
    outbox_stop(estate->outbox);
    remove_tree(estate->directory);
    harness_close(&estate->harness);
}

static void
write_records(struct loop *loop, struct arena *arena, void *data)
{
    const struct estate *estate = data;

    for (int i = 0; i < 300; i++) {
        struct record record = { .action.verb = "test",
                                 .actor.name = "somebody",
                                 .decision.allow = true,
                                 .outcome.status = RECORD_SUCCESS };

        journal_append(loop, arena, estate->tenant_ref, &record, NULL);
    }
    (void)journal_commit_heads(loop, arena, false);
}

/* What the files of a log say: entries laid down. */
static uint64_t
laid_down(const struct estate *estate, const char *log)
{
    struct audit_dir files;
    char origin[RECORD_ORIGIN_MAX];
    struct error err;
    uint64_t size;

    assert_true(journal_origin(estate->platform, 0, log, origin));
    harness_must(audit_dir_open(&files, estate->directory, origin, &err),
                 &err);
    size = files.tree.size;
    audit_dir_close(&files);
    return size;
}

static void
test_committed_records_become_tiles(void **state)
{
    struct estate estate = { 0 };

    (void)state;
    open_estate(&estate);
    start_outbox(&estate);
    for (int i = 0; i < 4; i++)
        harness_run(&estate.harness, write_records, &estate);
    outbox_stop(estate.outbox);
    estate.outbox = NULL;
    assert_int_equal(laid_down(&estate, estate.tenant), 1200);
    /* two of the bootstrap, four with heads */
    assert_int_equal(laid_down(&estate, estate.platform), 6);
    close_estate(&estate);
}

static void
test_outbox_goes_on_after_a_stop(void **state)
{
    struct estate estate = { 0 };

    (void)state;
    open_estate(&estate);
    start_outbox(&estate);
    harness_run(&estate.harness, write_records, &estate);
    outbox_stop(estate.outbox);
    harness_run(&estate.harness, write_records, &estate);
    assert_int_equal(laid_down(&estate, estate.tenant), 300);
    harness_restart(&estate.harness);
    harness_run(&estate.harness, write_records, &estate);
    start_outbox(&estate);
    outbox_stop(estate.outbox);
    estate.outbox = NULL;
    assert_int_equal(laid_down(&estate, estate.tenant), 900);
    close_estate(&estate);
}

/* --- with the signer as it runs in production --- */

/* Of the same build as this test: build/BUILD/tests/unit/control/test. */
static bool
find_signer(char *path, size_t room)
{
    ssize_t size = readlink("/proc/self/exe", path, room - 32);

    if (size < 0)
        return false;
    path[size] = '\0';
    for (int i = 0; i < 4 && strrchr(path, '/') != NULL; i++)
        *strrchr(path, '/') = '\0';
    (void)snprintf(path + strlen(path), 32, "/bulkhead-signer");
    return access(path, X_OK) == 0;
}

static pid_t
start_signer(const char *program, const char *directory, const char *socket)
{
    const char *argv[] = { program,    "--directory", directory,
                           "--socket", socket,        NULL };
    union {
        const char **in;
        char *const *out;
    } arguments = { argv };
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        (void)execv(program, arguments.out);
        _exit(127);
    }
    for (int tries = 0; access(socket, F_OK) != 0 && tries < 500; tries++)
        (void)usleep(10000);
    return child;
}

static void
read_checkpoint(const struct estate *estate, const char *log,
                struct checkpoint *out)
{
    scoped_buffer path = { 0 }, note = { 0 };
    char origin[RECORD_ORIGIN_MAX];
    struct error err;
    size_t used;

    assert_true(journal_origin(estate->platform, 0, log, origin));
    buffer_printf(&path, "%s/", estate->directory);
    checkpoint_add_file_name(&path, origin);
    buffer_add_text(&path, "/checkpoint");
    harness_must(file_read(buffer_text(&path), 65536, &note, &err), &err);
    harness_must(checkpoint_parse(note.bytes, note.size, out, &used, &err),
                 &err);
}

static void
test_signer_vouches_for_what_is_laid_down(void **state)
{
    struct estate estate = { 0 };
    char directory[100], socket[120], program[400];
    char reason[LOOP_REASON_MAX];
    struct checkpoint head;
    pid_t signer;

    (void)state;
    if (!find_signer(program, sizeof(program)))
        skip();
    open_estate(&estate);
    (void)snprintf(directory, sizeof(directory), "%s-signer",
                   estate.harness.where);
    (void)snprintf(socket, sizeof(socket), "%s/socket", directory);
    assert_int_equal(mkdir(directory, 0700), 0);
    signer = start_signer(program, directory, socket);
    estate.socket = socket;
    start_outbox(&estate);
    harness_run(&estate.harness, write_records, &estate);
    outbox_stop(estate.outbox);
    read_checkpoint(&estate, estate.tenant, &head);
    assert_int_equal(head.size, 300);
    start_outbox(&estate);
    harness_run(&estate.harness, write_records, &estate);
    outbox_stop(estate.outbox);
    estate.outbox = NULL;
    read_checkpoint(&estate, estate.tenant, &head);
    assert_int_equal(head.size, 600);
    assert_true(loop_ready(estate.harness.loop, reason));
    assert_int_equal(kill(signer, SIGKILL), 0);
    assert_int_equal(waitpid(signer, NULL, 0), signer);
    remove_tree(directory);
    close_estate(&estate);
}

static void
test_missing_signer_shows_in_readiness(void **state)
{
    struct estate estate = { .socket = "/nonexistent/signer.sock" };
    char reason[LOOP_REASON_MAX];

    (void)state;
    open_estate(&estate);
    start_outbox(&estate);
    harness_run(&estate.harness, write_records, &estate);
    for (int tries = 0;
         tries < 300 && loop_ready(estate.harness.loop, reason); tries++)
        (void)usleep(10000);
    assert_false(loop_ready(estate.harness.loop, reason));
    assert_non_null(strstr(reason, "audit"));
    close_estate(&estate);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_committed_records_become_tiles),
        cmocka_unit_test(test_outbox_goes_on_after_a_stop),
        cmocka_unit_test(test_signer_vouches_for_what_is_laid_down),
        cmocka_unit_test(test_missing_signer_shows_in_readiness),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
