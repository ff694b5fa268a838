/* SPDX-License-Identifier: Apache-2.0 */
#include "control/outbox.h"

#include <assert.h>
#include <string.h>

#include "base/crash.h"
#include "base/file.h"
#include "base/hashmap.h"
#include "base/log.h"
#include "control/eraser.h"
#include "control/journal.h"
#include "control/pruner.h"
#include "control/rotation.h"
#include "control/space.h"
#include "core/checkpoint.h"
#include "identity/audit_dir.h"
#include "identity/signer_client.h"
#include "store/row.h"

#define ENTRIES_MAX 512 /* laid down at a time */
#define SIGNER_MS 2000

struct log {
    char id[ID_TEXT_MAX];
    uint64_t committed; /* entries in the store */
    uint64_t pruned;    /* of which these are hashes alone */
    int64_t epoch;
    bool is_platform;
    bool open;
    struct audit_dir files;
    bool asked;       /* the signer was asked for its last head */
    uint64_t vouched; /* size of that head */
    UT_hash_handle hh;
};

struct outbox {
    struct loop *loop;
    char *directory, *signer_socket;
    int64_t period_ms;
    struct store_reader *reader;
    struct rotation rotation;
    struct eraser *eraser;
    struct pruner *pruner;
    struct space *space;
    struct log *logs;
    struct log *platform;
    unsigned failures;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    _Atomic bool stopping; /* read between two steps of a long round */
};

/* --- which logs are there, and how long are they? --- */

static struct log *
get_log(struct outbox *outbox, const char *id)
{
    struct log *log;

    HASH_FIND_STR(outbox->logs, id, log);
    if (log != NULL)
        return log;
    log = memory_new(1, sizeof(*log));
    (void)snprintf(log->id, sizeof(log->id), "%s", id);
    log->is_platform = strncmp(id, "pl_", 3) == 0;
    if (log->is_platform)
        outbox->platform = log;
    HASH_ADD_STR(outbox->logs, id, log);
    return log;
}

static int
take_size(void *context, const struct store_counter *counter,
          struct error *err)
{
    struct outbox *outbox = context;
    const char *colon = strchr(counter->name, ':');

    (void)err;
    eraser_note(outbox->eraser, counter);
    pruner_note(outbox->pruner, counter);
    if (strcmp(counter->name, ROTATION_COUNTER) == 0 &&
        counter->value > outbox->rotation.recorded)
        outbox->rotation.recorded = counter->value;
    if (colon == NULL || strlen(colon + 1) >= ID_TEXT_MAX)
        return 0;
    if (strncmp(counter->name, "log:", 4) == 0)
        get_log(outbox, colon + 1)->committed = (uint64_t)counter->value;
    else if (strncmp(counter->name, "pruned:", 7) == 0)
        get_log(outbox, colon + 1)->pruned = (uint64_t)counter->value;
    else if (strncmp(counter->name, "epoch:", 6) == 0)
        get_log(outbox, colon + 1)->epoch = counter->value;
    return 0;
}

/* --- laying down --- */

struct page {
    struct arena *arena;
    struct audit_entry entries[ENTRIES_MAX];
    size_t count;
    int64_t from;
};

static int
decode(struct page *page, const char *text, const void **bytes_out,
       size_t *size_out)
{
    size_t size = text != NULL ? strlen(text) : 0;
    unsigned char *bytes = arena_alloc(page->arena, size + 1);
    int decoded = base64_decode(text != NULL ? text : "", size, bytes,
                                size + 1);

    if (decoded < 0)
        return -1;
    *bytes_out = bytes;
    *size_out = (size_t)decoded;
    return 0;
}

static int
take_entry(void *context, const struct value *values, struct error *err)
{
    struct page *page = context;
    struct audit_entry *entry = &page->entries[page->count];
    int64_t position = row_int(KIND_EVENT, values, "position");

    if (position != page->from + (int64_t)page->count)
        return error_set(err, ERROR_VERIFY, "record %lld is missing",
                         (long long)page->from + (long long)page->count);
    if (decode(page, row_text(KIND_EVENT, values, "body"), &entry->entry,
               &entry->size) != 0 ||
        decode(page, row_text(KIND_EVENT, values, "personal"),
               &entry->personal, &entry->personal_size) != 0)
        return error_set(err, ERROR_VERIFY, "record %lld is damaged",
                         (long long)position);
    page->count++;
    return 0;
}

/* Of a log that was put back the pruned part is laid down as hashes. */
static int
add_pruned(struct outbox *outbox, const struct log *log, struct page *page,
           uint64_t count, struct error *err)
{
    struct digest *leaves = NULL;
    uint64_t at = (uint64_t)page->from;

    for (; page->count < count && at < log->pruned; at++) {
        if (leaves == NULL || at % MERKLE_TILE_WIDTH == 0) {
            leaves = arena_alloc(page->arena,
                                 MERKLE_TILE_WIDTH * sizeof(*leaves));
            if (store_leaves(outbox->reader, log->id, at / MERKLE_TILE_WIDTH,
                             leaves, err) != 0)
                return -1;
        }
        page->entries[page->count++].leaf = &leaves[at % MERKLE_TILE_WIDTH];
    }
    return 0;
}

static int
lay_page(struct outbox *outbox, struct log *log, uint64_t count,
         struct error *err)
{
    struct page *page = memory_new(1, sizeof(*page));
    int rc;

    page->arena = arena_new();
    page->from = (int64_t)log->files.tree.size;
    rc = add_pruned(outbox, log, page, count, err);
    if (rc == 0 && page->count < count)
        rc = store_events(outbox->reader, log->id,
                          page->from + (int64_t)page->count,
                          (int64_t)(count - page->count), take_entry, page,
                          err);
    if (rc == 0 && page->count != count)
        rc = error_set(err, ERROR_VERIFY, "%zu of %llu records are there",
                       page->count, (unsigned long long)count);
    if (rc == 0)
        rc = audit_dir_append(&log->files, (uint64_t)page->from,
                              page->entries, page->count, err);
    CRASH_POINT("bulkheadd.laid");
    arena_free(page->arena);
    free(page);
    return rc;
}

static int
open_log(struct outbox *outbox, struct log *log, struct error *err)
{
    char origin[RECORD_ORIGIN_MAX];

    if (log->open)
        return 0;
    if (!journal_origin(outbox->platform->id, log->epoch, log->id, origin))
        return error_set(err, ERROR_INTERNAL, "the origin is too long");
    if (audit_dir_open(&log->files, outbox->directory, origin, err) != 0)
        return -1;
    log->open = true;
    return 0;
}

static int
lay_down(struct outbox *outbox, struct log *log, struct error *err)
{
    if (open_log(outbox, log, err) != 0)
        return -1;
    if (log->files.tree.size > log->committed)
        return error_set(err, ERROR_VERIFY,
                         "the files hold %llu records, the store %llu",
                         (unsigned long long)log->files.tree.size,
                         (unsigned long long)log->committed);
    while (log->files.tree.size < log->committed) {
        uint64_t count = log->committed - log->files.tree.size;

        if (lay_page(outbox, log, count < ENTRIES_MAX ? count : ENTRIES_MAX,
                     err) != 0)
            return -1;
    }
    return 0;
}

/* --- signing --- */

static int
ask_signer(struct outbox *outbox, struct log *log, struct error *err)
{
    struct checkpoint head;

    if (log->asked)
        return 0;
    if (signer_head(outbox->signer_socket, log->files.origin, SIGNER_MS,
                    &head, err) != 0)
        return -1;
    if (head.size > log->files.tree.size)
        return error_set(err, ERROR_VERIFY,
                         "the signer vouched for %llu records, %llu are "
                         "there: the store was set back without a declared "
                         "restore (bulkheadd --restore)",
                         (unsigned long long)head.size,
                         (unsigned long long)log->files.tree.size);
    log->vouched = head.size;
    log->asked = true;
    return 0;
}

static int
sign_head(struct outbox *outbox, struct log *log, struct error *err)
{
    struct checkpoint head = { .size = log->files.tree.size };
    struct merkle_proof proof = { 0 };
    scoped_buffer note = { 0 };

    (void)snprintf(head.origin, sizeof(head.origin), "%s",
                   log->files.origin);
    merkle_root(&log->files.tree, &head.root);
    if (merkle_prove_consistency(audit_dir_read_node, &log->files,
                                 log->vouched, head.size, &proof, err) != 0 ||
        signer_sign(outbox->signer_socket, &head, log->vouched, proof.hash,
                    proof.count, SIGNER_MS, &note, err) != 0) {
        log->asked = false;
        return -1;
    }
    CRASH_POINT("bulkheadd.signed");
    log->vouched = head.size;
    if (rotation_follow(&outbox->rotation, note.bytes, note.size, err) != 0)
        return -1;
    return audit_dir_add_checkpoint(&log->files, note.bytes, note.size, err);
}

/* Entries whose record nobody can take back any more. */
static uint64_t
settled(const struct outbox *outbox, const struct log *log)
{
    if (outbox->signer_socket == NULL)
        return log->open ? log->files.tree.size : 0;
    return log->vouched;
}

static int
prune(struct outbox *outbox, struct log *log, struct error *err)
{
    const struct pruner_log at = {
        .id = log->id,
        .platform = outbox->platform->id,
        .files = &log->files,
        .vouched = settled(outbox, log),
        .platform_vouched = settled(outbox, outbox->platform),
    };

    return pruner_step(outbox->pruner, outbox->reader, &at, err);
}

static int
publish(struct outbox *outbox, struct log *log, struct error *err)
{
    if (lay_down(outbox, log, err) != 0)
        return error_prefix(err, "log %s", log->id);
    if (!outbox->stopping &&
        eraser_step(outbox->eraser, outbox->reader, log->id, &log->files,
                    err) != 0)
        return error_prefix(err, "erasing in log %s", log->id);
    if (!outbox->stopping && prune(outbox, log, err) != 0)
        return error_prefix(err, "pruning log %s", log->id);
    if (outbox->signer_socket == NULL || log->committed == 0)
        return 0;
    if (log->asked && log->vouched == log->files.tree.size)
        return 0;
    if (ask_signer(outbox, log, err) != 0 || sign_head(outbox, log, err) != 0)
        return error_prefix(err, "signing log %s", log->id);
    return 0;
}

static int
publish_all(struct outbox *outbox, struct error *err)
{
    struct log *log, *next;

    pruner_begin(outbox->pruner);
    if (store_counters(outbox->reader, take_size, outbox, err) != 0)
        return -1;
    if (outbox->platform == NULL)
        return 0;
    /* The platform's log last: it commits heads of the others, which must be
     * there when somebody looks. */
    HASH_ITER(hh, outbox->logs, log, next)
        if (!log->is_platform && publish(outbox, log, err) != 0)
            return -1;
    return publish(outbox, outbox->platform, err);
}

/* --- the thread --- */

static void
tell(struct outbox *outbox, int rc, const struct error *err)
{
    if (rc == 0) {
        if (outbox->failures >= OUTBOX_PATIENCE)
            log_info("audit: checkpoints are written again");
        outbox->failures = 0;
        loop_set_reason(outbox->loop, "audit", NULL);
        return;
    }
    if (++outbox->failures == OUTBOX_PATIENCE) {
        char reason[LOOP_REASON_MAX];

        log_error("audit: %s", err->text);
        (void)snprintf(reason, sizeof(reason), "audit: %.200s", err->text);
        loop_set_reason(outbox->loop, "audit", reason);
    }
}

/* False when the outbox is to end. */
static bool
wait_a_period(struct outbox *outbox)
{
    struct timespec until;
    bool stopping;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(outbox->period_ms / 1000);
    until.tv_nsec += (long)(outbox->period_ms % 1000) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_mutex_lock(&outbox->lock);
    if (!outbox->stopping)
        (void)pthread_cond_timedwait(&outbox->wake, &outbox->lock, &until);
    stopping = outbox->stopping;
    (void)pthread_mutex_unlock(&outbox->lock);
    return !stopping;
}

static void *
run_outbox(void *argument)
{
    struct outbox *outbox = argument;
    struct error err;

    do {
        if (outbox->space != NULL)
            space_look(outbox->space);
        tell(outbox, publish_all(outbox, &err), &err);
    } while (wait_a_period(outbox));
    /* What came up to the stop. */
    tell(outbox, publish_all(outbox, &err), &err);
    return NULL;
}

static void
outbox_free(struct outbox *outbox)
{
    struct log *log = outbox->logs, *next;

    HASH_CLEAR(hh, outbox->logs);
    for (; log != NULL; log = next) {
        next = log->hh.next;
        if (log->open)
            audit_dir_close(&log->files);
        free(log);
    }
    store_reader_close(outbox->reader);
    (void)pthread_cond_destroy(&outbox->wake);
    (void)pthread_mutex_destroy(&outbox->lock);
    free(outbox->directory);
    free(outbox->signer_socket);
    eraser_free(outbox->eraser);
    pruner_free(outbox->pruner);
    free(outbox);
}

int
outbox_start(struct loop *loop, const struct outbox_options *options,
             struct outbox **outbox_out, struct error *err)
{
    struct outbox *outbox = memory_new(1, sizeof(*outbox));

    outbox->loop = loop;
    outbox->directory = memory_strdup(options->directory);
    if (options->signer_socket != NULL)
        outbox->signer_socket = memory_strdup(options->signer_socket);
    outbox->period_ms = options->period_ms > 0 ? options->period_ms : 1000;
    outbox->eraser = eraser_new(loop);
    outbox->pruner = pruner_new(loop, options->look_ms);
    outbox->space = options->space;
    outbox->rotation = (struct rotation){
        .loop = loop,
        .directory = outbox->directory,
        .signer_socket = outbox->signer_socket,
        .timeout_ms = SIGNER_MS,
    };
    (void)pthread_mutex_init(&outbox->lock, NULL);
    (void)pthread_cond_init(&outbox->wake, NULL);
    if (file_make_directory(options->directory, 0750, err) != 0 ||
        loop_reader(loop, &outbox->reader, err) != 0)
        goto fail;
    if (pthread_create(&outbox->thread, NULL, run_outbox, outbox) != 0) {
        (void)error_set(err, ERROR_INTERNAL, "thread of the outbox");
        goto fail;
    }
    *outbox_out = outbox;
    return 0;
fail:
    outbox_free(outbox);
    return -1;
}

void
outbox_stop(struct outbox *outbox)
{
    if (outbox == NULL)
        return;
    (void)pthread_mutex_lock(&outbox->lock);
    outbox->stopping = true;
    (void)pthread_cond_signal(&outbox->wake);
    (void)pthread_mutex_unlock(&outbox->lock);
    (void)pthread_join(outbox->thread, NULL);
    outbox_free(outbox);
}
