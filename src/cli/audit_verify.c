/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit_verify.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "core/keychain.h"
#include "core/table.h"
#include "identity/audit_dir.h"
#include "identity/witness_dir.h"

#define CHECKPOINTS_MAX ((size_t)1 << 30)
#define COSIGNED_MAX ((size_t)1 << 20)
#define HEAD_MAX 1024
#define KEYS_MAX (16 + KEYCHAIN_MAX)

/* One log: what its files claim and what others say about it. */
struct log {
    char origin[RECORD_ORIGIN_MAX];
    char *path; /* NULL: only the platform's log speaks of it */
    uint64_t size;
    struct audit_mark *marks;
    size_t mark_count;
    size_t mark_room;
    struct buffer newest; /* the file checkpoint */
    struct buffer all;    /* and checkpoints */
    struct buffer cosigned;
    struct audit_prune prune; /* what the platform's log says; below 0: none */
};

struct verify {
    const struct audit_verify_options *options;
    struct audit_report *report;
    struct checkpoint_key keys[KEYS_MAX]; /* trusted, the oldest first */
    size_t key_count;
    struct log **logs; /* in the directory's order of names, then those that
                          only the platform's log speaks of */
    size_t count;
    size_t room;
    struct hash_key key;
    struct table by_origin;
    struct audit_policies policies; /* of the platform */
    uint64_t platform_next; /* the platform's entry that comes next */
    int64_t platform_ms; /* wall time of the platform's newest entry */
    int64_t platform_mono_ms;
    char platform_boot[64];
};

static void
add_mark(struct log *log, uint64_t size, const struct digest *root,
         bool committed, unsigned rank)
{
    if (log->mark_count == log->mark_room) {
        log->mark_room = log->mark_room == 0 ? 16 : 2 * log->mark_room;
        log->marks =
            memory_grow(log->marks, log->mark_room, sizeof(*log->marks));
    }
    log->marks[log->mark_count++] =
        (struct audit_mark){ size, *root, committed, rank };
}

/* Finds the log or adds one that nothing is known of. */
static struct log *
get_log(struct verify *verify, const char *origin)
{
    const size_t size = strlen(origin);
    struct table_entry *entry =
        table_find(&verify->by_origin, &verify->key, origin, size);
    struct log *log;

    if (entry != NULL)
        return verify->logs[entry->number];
    if (verify->count == verify->room) {
        verify->room = verify->room == 0 ? 16 : 2 * verify->room;
        verify->logs = memory_grow((void *)verify->logs, verify->room,
                                   sizeof(struct log *));
    }
    entry = table_put(&verify->by_origin, &verify->key, origin, size);
    entry->number = verify->count;
    log = memory_new(1, sizeof(*log));
    (void)snprintf(log->origin, sizeof(log->origin), "%s", origin);
    verify->logs[verify->count++] = log;
    return log;
}

/* What the platform said about a log before a restore holds for what the log
 * was restored to: the entries are the same up to there. */
static struct log *
get_restored(struct verify *verify, const char *origin)
{
    struct log *log = get_log(verify, origin);
    struct table_entry *entry;

    if (log->path != NULL)
        return log;
    for (size_t i = 0; i < verify->count; i++) {
        if (verify->logs[i]->path == NULL ||
            checkpoint_epoch(verify->logs[i]->origin) <=
                checkpoint_epoch(origin) ||
            !checkpoint_same_log(verify->logs[i]->origin, origin))
            continue;
        entry = table_find(&verify->by_origin, &verify->key, origin,
                           strlen(origin));
        entry->number = i;
        return verify->logs[i];
    }
    return log;
}

static void
release_logs(struct verify *verify)
{
    for (size_t i = 0; i < verify->count; i++) {
        free(verify->logs[i]->path);
        buffer_release(&verify->logs[i]->newest);
        buffer_release(&verify->logs[i]->all);
        buffer_release(&verify->logs[i]->cosigned);
        free(verify->logs[i]->marks);
        free(verify->logs[i]);
    }
    free((void *)verify->logs);
    free(verify->policies.list);
    table_release(&verify->by_origin);
}

static int
lie_of(struct verify *verify, const char *origin, enum audit_lie lie,
       uint64_t index, const char *text, struct error *err)
{
    return audit_finding_set(&verify->report->finding, origin, lie, index,
                             err, "%s", text);
}

static bool
is_wanted(const struct verify *verify, const char *origin)
{
    const char *tenant = verify->options->tenant;
    const char *slash = strrchr(origin, '/');

    return tenant == NULL || checkpoint_is_platform(origin) ||
           strcmp(origin, tenant) == 0 ||
           (slash != NULL && strcmp(slash + 1, tenant) == 0);
}

/* A file of the log, empty when it is not there. */
static int
read_optional(const struct log *log, const char *name, size_t max,
              struct buffer *out, struct error *err)
{
    scoped_buffer path = { 0 };

    buffer_printf(&path, "%s/%s", log->path, name);
    if (file_read(path.bytes, max, out, err) == 0 ||
        err->code == ERROR_NOT_FOUND)
        return 0;
    return -1;
}

/* LOG/head names the log; its directory must be named after it. */
static int
check_head(struct verify *verify, const char *name, const struct buffer *text,
           struct checkpoint *head, struct error *err)
{
    scoped_buffer expected = { 0 };

    if (text->size == 0 ||
        checkpoint_parse_body(text->bytes, text->size, head) != text->size)
        return lie_of(verify, name, AUDIT_DAMAGED, 0,
                      "the head is missing or damaged", err);
    checkpoint_add_file_name(&expected, head->origin);
    if (strcmp(expected.bytes, name) != 0)
        return lie_of(verify, head->origin, AUDIT_DAMAGED, 0,
                      "the directory is named after another log", err);
    return 0;
}

/* A log that grows meanwhile has its entries before they are signed: so
 * signatures are read first. */
static int
read_log(struct verify *verify, const char *name, struct log *log,
         struct error *err)
{
    struct checkpoint head = { .size = 0 };
    scoped_buffer text = { 0 };

    if (read_optional(log, "checkpoint", CHECKPOINT_NOTE_MAX, &log->newest,
                      err) != 0 ||
        read_optional(log, "cosigned", COSIGNED_MAX, &log->cosigned, err) !=
            0 ||
        read_optional(log, "checkpoints", CHECKPOINTS_MAX, &log->all, err) !=
            0 ||
        read_optional(log, "head", HEAD_MAX, &text, err) != 0 ||
        check_head(verify, name, &text, &head, err) != 0)
        return -1;
    (void)snprintf(log->origin, sizeof(log->origin), "%s", head.origin);
    log->size = head.size;
    return 0;
}

static int
open_log(struct verify *verify, const char *directory, const char *name,
         struct error *err)
{
    struct log log = { 0 };
    scoped_buffer path = { 0 };
    int result;

    buffer_printf(&path, "%s/%s", directory, name);
    log.path = path.bytes;
    result = read_log(verify, name, &log, err);
    if (result == 0 && is_wanted(verify, log.origin)) {
        log.path = buffer_take(&path);
        *get_log(verify, log.origin) = log;
        return 0;
    }
    buffer_release(&log.newest);
    buffer_release(&log.all);
    buffer_release(&log.cosigned);
    return result;
}

static int
is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool
is_platform_name(const char *name)
{
    static const char end[] = "%2F" CHECKPOINT_PLATFORM;
    const size_t size = strlen(name);

    return size >= sizeof(end) - 1 &&
           strcmp(name + size - (sizeof(end) - 1), end) == 0;
}

/* The platform's first: what it commits to, the others have already.  Then in
 * order of names, so that the first lie told is not up to chance. */
static int
open_listed(struct verify *verify, const char *directory,
            struct dirent *const *entries, int count, struct error *err)
{
    for (int platform = 1; platform >= 0; platform--) {
        for (int i = 0; i < count; i++) {
            const char *name = entries[i]->d_name;
            scoped_buffer path = { 0 };
            struct stat status;

            buffer_printf(&path, "%s/%s", directory, name);
            if (is_platform_name(name) == (platform == 1) &&
                stat(path.bytes, &status) == 0 && S_ISDIR(status.st_mode) &&
                open_log(verify, directory, name, err) != 0)
                return -1;
        }
    }
    return 0;
}

static int
open_logs(struct verify *verify, const char *directory, struct error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, is_visible, alphasort);
    int result;

    if (count < 0)
        return error_set(err,
                         errno == ENOENT ? ERROR_NOT_FOUND : ERROR_INTERNAL,
                         "%s: %s", directory, strerror(errno));
    result = open_listed(verify, directory, entries, count, err);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free((void *)entries);
    if (result == 0 && verify->count == 0)
        return error_set(err, ERROR_NOT_FOUND, "there is no such log");
    return result;
}

/* The place of the key that signed among those that are trusted; -1: none. */
static int
check_signature(const struct verify *verify, const char *note, size_t size,
                struct checkpoint *checkpoint, size_t *used)
{
    struct error err;

    for (size_t i = 0; i < verify->key_count; i++) {
        if (checkpoint_check(note, size, verify->keys[i].public_key,
                             checkpoint, used, &err) == 0)
            return (int)i;
    }
    return -1;
}

/* Every note must be signed and of this log. */
static int
read_notes(struct verify *verify, struct log *log, const struct buffer *notes,
           uint64_t *cosigned, struct error *err)
{
    const char *at = buffer_text(notes), *end = at + notes->size;
    const struct checkpoint_key *witness = verify->options->witness;
    struct checkpoint checkpoint = { .size = 0 };
    uint64_t time_s = 0;
    size_t used = 0;

    for (; at < end; at += used) {
        uint64_t before = checkpoint.size;
        int rank = check_signature(verify, at, (size_t)(end - at),
                                   &checkpoint, &used);

        if (rank < 0 || strcmp(checkpoint.origin, log->origin) != 0)
            return lie_of(verify, log->origin, AUDIT_FORGED, before,
                          "a checkpoint is not signed by the key", err);
        if (witness != NULL &&
            checkpoint_check_cosignature(at, used, witness, &time_s) == 0 &&
            checkpoint.size + 1 > *cosigned)
            *cosigned = checkpoint.size + 1;
        add_mark(log, checkpoint.size, &checkpoint.root, false,
                 (unsigned)rank);
        verify->report->checkpoints++;
    }
    return 0;
}

/* Once the signer changed its key, the old one signs nothing that is new:
 * whoever stole it cannot go on with it. */
static int
check_ranks(struct verify *verify, const struct log *log, struct error *err)
{
    unsigned newest = 0;
    uint64_t since = 0;

    for (size_t i = 0; i < log->mark_count; i++) {
        const struct audit_mark *mark = &log->marks[i];

        if (mark->committed)
            continue;
        if (mark->rank < newest && mark->size > since)
            return lie_of(verify, log->origin, AUDIT_FORGED, since,
                          "a checkpoint is signed by a key that handed over "
                          "before",
                          err);
        if (mark->rank > newest) {
            newest = mark->rank;
            since = mark->size;
        }
    }
    return 0;
}

/* Two signed heads of one size and different roots need no entries to be seen
 * through. */
static int
check_pairs(struct verify *verify, struct log *log, struct error *err)
{
    uint64_t covered = 0;

    if (log->mark_count > 0)
        qsort(log->marks, log->mark_count, sizeof(*log->marks),
              audit_mark_compare);
    for (size_t i = 1; i < log->mark_count; i++) {
        const struct audit_mark *a = &log->marks[i - 1], *b = a + 1;

        if (a->size == b->size && digest_compare(&a->root, &b->root) != 0)
            return lie_of(verify, log->origin, AUDIT_FORKED, a->size,
                          "two heads of one size have different roots", err);
    }
    if (check_ranks(verify, log, err) != 0)
        return -1;
    for (size_t i = 0; i < log->mark_count; i++) {
        if (!log->marks[i].committed)
            covered = log->marks[i].size;
    }
    if (covered < log->size)
        verify->report->uncovered += log->size - covered;
    return 0;
}

static int
read_checkpoints(struct verify *verify, struct log *log, struct error *err)
{
    const struct buffer *all = &log->all, *newest = &log->newest;
    uint64_t cosigned = 0; /* one more than the size */

    if (read_notes(verify, log, all, &cosigned, err) != 0 ||
        read_notes(verify, log, &log->cosigned, &cosigned, err) != 0)
        return -1;
    /* The newest is one of them; a lie may have changed only one file. */
    if (memmem(buffer_text(all), all->size, buffer_text(newest),
               newest->size) == NULL &&
        read_notes(verify, log, newest, &cosigned, err) != 0)
        return -1;
    if (verify->options->witness == NULL)
        return 0;
    if (cosigned == 0 && (log->size > 0 || log->newest.size > 0))
        return lie_of(verify, log->origin, AUDIT_UNWITNESSED, 0,
                      "no checkpoint bears the witness's cosignature", err);
    if (cosigned > 0 && log->size > cosigned - 1)
        verify->report->unwitnessed += log->size - (cosigned - 1);
    return 0;
}

static bool
is_start(const struct record *record)
{
    const char *verb = record->action.verb;

    return verb != NULL && (strcmp(verb, RECORD_VERB_START) == 0 ||
                            strcmp(verb, RECORD_VERB_EPOCH) == 0);
}

/* Silence has to end with a start, and is told then; within one run of the
 * platform nothing but the heartbeat's end explains it. */
static int
check_heartbeat(struct verify *verify, const struct record *record,
                struct error *err)
{
    const char *boot = record->boot != NULL ? record->boot : "";
    bool same = strcmp(verify->platform_boot, boot) == 0;
    int64_t silent_ms = same ? record->mono_ms - verify->platform_mono_ms
                             : record->wall_ms - verify->platform_ms;

    /* Nobody knows what was behind what is pruned. */
    if (record->seq > 0 && record->seq == verify->platform_next &&
        silent_ms > AUDIT_VERIFY_SILENT_MS) {
        if (!is_start(record))
            return audit_finding_set(
                &verify->report->finding, record->log, AUDIT_SILENT,
                record->seq, err,
                "%lld s before this entry nothing was written, not even a "
                "heartbeat, and no start explains it",
                (long long)(silent_ms / 1000));
        verify->report->stops++;
        if (silent_ms > verify->report->longest_stop_ms)
            verify->report->longest_stop_ms = silent_ms;
    }
    verify->platform_next = record->seq + 1;
    verify->platform_mono_ms = record->mono_ms;
    if (!same) /* seldom, and it costs */
        (void)snprintf(verify->platform_boot, sizeof(verify->platform_boot),
                       "%s", boot);
    return 0;
}

/* What was pruned of the log of a tenant that is gone. */
static void
add_prune(struct verify *verify, const struct record *record)
{
    struct audit_prune prune = { .wall_ms = record->wall_ms,
                                 .index = record->seq };
    struct log *log;

    if (!retention_read_pruning(record->facts, &prune.is) ||
        checkpoint_is_platform(prune.is.origin) ||
        !is_wanted(verify, prune.is.origin))
        return;
    log = get_restored(verify, prune.is.origin);
    if (prune.is.below > log->prune.is.below)
        log->prune = prune;
}

/* Collects what the platform's log says about the others. */
static int
visit_platform(void *context, const struct record *record, struct error *err)
{
    struct verify *verify = context;
    char origin[RECORD_ORIGIN_MAX];
    const char *facts = record->facts;
    struct digest root = { { 0 } };
    uint64_t size = 0;
    int more;

    if (check_heartbeat(verify, record, err) != 0)
        return -1;
    verify->platform_ms = record->wall_ms;
    if (record->action.verb == NULL || facts == NULL)
        return 0;
    if (strcmp(record->action.verb, RETENTION_VERB_KEEP) == 0)
        audit_policies_add(&verify->policies, record);
    if (strcmp(record->action.verb, RETENTION_VERB_PRUNE) == 0)
        add_prune(verify, record);
    if (strcmp(record->action.verb, RECORD_VERB_HEADS) != 0)
        return 0;
    while ((more = record_next_head(&facts, origin, &size, &root)) == 1) {
        if (!is_wanted(verify, origin))
            continue;
        add_mark(get_restored(verify, origin), size, &root, true, 0);
        verify->report->heads++;
    }
    if (more < 0)
        return lie_of(verify, record->log, AUDIT_DAMAGED, record->seq,
                      "the heads in an entry cannot be read", err);
    return 0;
}

/* How many entries of it the platform's log committed. */
static uint64_t
committed_size(const struct log *log)
{
    for (size_t i = log->mark_count; i-- > 0;) {
        if (log->marks[i].committed)
            return log->marks[i].size;
    }
    return 0;
}

static int
walk_log(struct verify *verify, struct log *log, struct error *err)
{
    bool platform = checkpoint_is_platform(log->origin);
    struct audit_walk walk = {
        .path = log->path,
        .origin = log->origin,
        .size = log->size,
        .grace_ms = verify->options->grace_ms,
        .visit = platform ? visit_platform : NULL,
        .context = verify,
    };

    if (check_pairs(verify, log, err) != 0)
        return -1;
    walk.marks = log->marks;
    walk.mark_count = log->mark_count;
    walk.watch = committed_size(log);
    walk.prune = log->prune.is.below > 0 ? &log->prune : NULL;
    walk.policies = platform ? NULL : &verify->policies;
    verify->report->logs++;
    return audit_walk(&walk, &verify->report->count, &verify->report->finding,
                      err);
}

/* An entry that the platform's log left out, though it went on for longer
 * than it may wait, could be changed without its noticing. */
static int
check_committed(struct verify *verify, const struct log *log,
                struct error *err)
{
    const uint64_t committed = committed_size(log);

    if (committed >= log->size ||
        verify->report->count.watched_ms >=
            verify->platform_ms - AUDIT_VERIFY_COMMIT_MS)
        return 0;
    return lie_of(verify, log->origin, AUDIT_UNCOMMITTED, committed,
                  "the platform's log did not commit this entry in time",
                  err);
}

static int
walk_platform(struct verify *verify, struct error *err)
{
    const size_t count = verify->count; /* the walk adds those it speaks of */

    for (size_t i = 0; i < count; i++) {
        struct log *log = verify->logs[i];

        if (!checkpoint_is_platform(log->origin))
            continue;
        if (log->path == NULL && verify->options->tenant != NULL)
            continue;
        if (log->path == NULL)
            return lie_of(verify, log->origin, AUDIT_MISSING, 0,
                          "the witness cosigned a log that is gone", err);
        verify->report->platform = true;
        if (walk_log(verify, log, err) != 0)
            return -1;
    }
    return 0;
}

/* Did anybody vouch for entries of it? */
static bool
has_entries(const struct log *log)
{
    for (size_t i = 0; i < log->mark_count; i++) {
        if (log->marks[i].size > 0)
            return true;
    }
    return false;
}

static int
walk_tenants(struct verify *verify, struct error *err)
{
    for (size_t i = 0; i < verify->count; i++) {
        struct log *log = verify->logs[i];

        if (checkpoint_is_platform(log->origin))
            continue;
        if (log->path == NULL) {
            if (has_entries(log))
                return lie_of(verify, log->origin, AUDIT_MISSING, 0,
                              "the platform committed to a log that is gone",
                              err);
            continue;
        }
        if (walk_log(verify, log, err) != 0 ||
            (verify->report->platform &&
             check_committed(verify, log, err) != 0))
            return -1;
    }
    return 0;
}

/* What a witness had cosigned binds as the signer's own heads do. */
static int
take_seen(void *context, const struct checkpoint *checkpoint,
          const struct buffer *note, struct error *err)
{
    struct verify *verify = context;
    struct checkpoint read;
    size_t used;
    int rank = check_signature(verify, note->bytes, note->size, &read, &used);

    if (!is_wanted(verify, checkpoint->origin))
        return 0;
    if (rank < 0)
        return lie_of(verify, checkpoint->origin, AUDIT_FORGED, 0,
                      "the witness has a head that the key did not sign",
                      err);
    add_mark(get_restored(verify, checkpoint->origin), checkpoint->size,
             &checkpoint->root, false, (unsigned)rank);
    return 0;
}

/* From the keys that are given to those that they handed over to. */
static int
follow_keys(struct verify *verify, const char *directory, struct error *err)
{
    const struct audit_verify_options *options = verify->options;
    scoped_buffer notes = { 0 };

    verify->key_count = options->key_count;
    if (options->key_count > KEYS_MAX)
        return error_set(err, ERROR_INVALID, "more than %d keys", KEYS_MAX);
    memcpy(verify->keys, options->keys,
           options->key_count * sizeof(*options->keys));
    if (audit_dir_read_rotations(directory, &notes, err) != 0)
        return -1;
    if (keychain_follow(buffer_text(&notes), notes.size, verify->keys,
                        &verify->key_count, KEYS_MAX, err) != 0)
        return lie_of(verify, "rotations", AUDIT_FORGED, 0,
                      "a change of the signer's key does not hold", err);
    verify->report->rotations = verify->key_count - options->key_count;
    return 0;
}

static int
verify_all(struct verify *verify, const char *directory, struct error *err)
{
    if (follow_keys(verify, directory, err) != 0 ||
        open_logs(verify, directory, err) != 0 ||
        (verify->options->seen != NULL &&
         witness_dir_each(verify->options->seen, take_seen, verify, err) !=
             0))
        return -1;
    for (size_t i = 0; i < verify->count; i++) {
        if (read_checkpoints(verify, verify->logs[i], err) != 0)
            return -1;
    }
    if (walk_platform(verify, err) != 0)
        return -1;
    return walk_tenants(verify, err);
}

int
audit_verify(const char *directory, const struct audit_verify_options *options,
             struct audit_report *report_out, struct error *err)
{
    struct audit_report report = { 0 };
    struct verify *verify = memory_new(1, sizeof(*verify));
    int result;

    assert(options->key_count > 0);
    verify->options = options;
    verify->report = &report;
    random_bytes(&verify->key, sizeof(verify->key));
    result = verify_all(verify, directory, err);
    release_logs(verify);
    free(verify);
    *report_out = report;
    return result;
}
