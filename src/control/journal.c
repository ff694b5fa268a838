/* SPDX-License-Identifier: Apache-2.0 */
#include "control/journal.h"

#include <assert.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hashmap.h"
#include "base/sign.h"
#include "base/version.h"
#include "control/fold.h"
#include "control/intent.h"
#include "control/loop.h"
#include "core/checkpoint.h"
#include "core/object.h"

#define HEADS_MAX 400 /* in one record, far below RECORD_SIZE_MAX */

struct log {
    char id[ID_TEXT_MAX]; /* of its tenant or the platform */
    struct merkle tree;
    int64_t epoch;
    uint64_t committed; /* size in the last heads record */
    struct journal_keep keep;
    UT_hash_handle hh;
};

struct journal {
    struct log *logs;
    struct fold *fold;
    struct intents *intents;
    char host[HOST_NAME_MAX + 1]; /* for the platform's own log alone */
    struct strangers strangers;
};

struct journal *
journal_new(void)
{
    struct journal *journal = memory_new(1, sizeof(*journal));

    journal->fold = fold_new();
    journal->intents = intents_new();
    if (gethostname(journal->host, sizeof(journal->host) - 1) != 0)
        journal->host[0] = '\0';
    return journal;
}

void
journal_free(struct journal *journal)
{
    struct log *log, *next;

    if (journal == NULL)
        return;
    log = journal->logs;
    HASH_CLEAR(hh, journal->logs);
    for (; log != NULL; log = next) {
        next = log->hh.next;
        free(log);
    }
    fold_free(journal->fold);
    intents_free(journal->intents);
    free(journal);
}

static struct log *
find_log(const struct journal *journal, const char *id)
{
    struct log *log;

    HASH_FIND_STR(journal->logs, id, log);
    return log;
}

static struct log *
get_log(struct journal *journal, const char *id)
{
    struct log *log = find_log(journal, id);

    if (log != NULL)
        return log;
    log = memory_new(1, sizeof(*log));
    (void)snprintf(log->id, sizeof(log->id), "%s", id);
    log->keep = journal_keep_default(id);
    HASH_ADD_STR(journal->logs, id, log);
    return log;
}

/* --- what is kept --- */

struct journal_keep
journal_keep_default(const char *id)
{
    const char *platform = schema_get(KIND_PLATFORM)->prefix;
    struct journal_keep keep = { .ordered = 0 };

    if (strncmp(id, platform, strlen(platform)) != 0)
        keep.policy.keep_ms = RETENTION_AS_PLATFORM;
    return keep;
}

struct journal_keep
journal_keep(const struct journal *journal, const char *id)
{
    const struct log *log = find_log(journal, id);

    return log != NULL ? log->keep : journal_keep_default(id);
}

void
journal_set_keep(struct journal *journal, const char *id,
                 const struct journal_keep *keep)
{
    get_log(journal, id)->keep = *keep;
}

uint64_t
journal_size(const struct journal *journal, const char *id)
{
    const struct log *log = find_log(journal, id);

    return log != NULL ? log->tree.size : 0;
}

/* --- heads in the store --- */

static void
store_head(struct loop *loop, const struct log *log)
{
    uint8_t bytes[MERKLE_LEVELS * DIGEST_SIZE];
    char name[ID_TEXT_MAX + 8];
    size_t size = 0;

    for (unsigned level = 0; level < MERKLE_LEVELS; level++)
        if ((log->tree.size >> level & 1) != 0) {
            memcpy(bytes + size, log->tree.frontier[level].bytes,
                   DIGEST_SIZE);
            size += DIGEST_SIZE;
        }
    (void)snprintf(name, sizeof(name), "log:%s", log->id);
    loop_counter(loop, name, (int64_t)log->tree.size, bytes, size);
}

int
journal_load(struct journal *journal, const char *id, uint64_t size,
             const void *frontier, size_t frontier_size, struct error *err)
{
    const uint8_t *at = frontier;
    struct log *log;

    if (strlen(id) >= ID_TEXT_MAX || size > INT64_MAX ||
        frontier_size != (size_t)__builtin_popcountll(size) * DIGEST_SIZE)
        return error_set(err, ERROR_INTERNAL,
                         "the head of log %.40s is damaged", id);
    log = get_log(journal, id);
    log->tree.size = size;
    for (unsigned level = 0; level < MERKLE_LEVELS; level++)
        if ((size >> level & 1) != 0) {
            memcpy(log->tree.frontier[level].bytes, at, DIGEST_SIZE);
            at += DIGEST_SIZE;
        }
    return 0;
}

int
journal_load_epoch(struct journal *journal, const char *id, int64_t epoch,
                   struct error *err)
{
    if (strlen(id) >= ID_TEXT_MAX || epoch <= 0)
        return error_set(err, ERROR_INTERNAL,
                         "the epoch of log %.40s is damaged", id);
    get_log(journal, id)->epoch = epoch;
    return 0;
}

int64_t
journal_epoch(const struct journal *journal, const char *id)
{
    const struct log *log = find_log(journal, id);

    return log != NULL ? log->epoch : 0;
}

/* --- appending --- */

bool
journal_origin(const char *estate, int64_t epoch, const char *log,
               char origin[RECORD_ORIGIN_MAX])
{
    const char *name = strcmp(estate, log) == 0 ? CHECKPOINT_PLATFORM : log;
    char mark[24] = "";
    int size;

    if (epoch > 0)
        (void)snprintf(mark, sizeof(mark), "~%lld", (long long)epoch);
    size = snprintf(origin, RECORD_ORIGIN_MAX, "%s%s/%s", estate, mark, name);

    return size > 0 && size < RECORD_ORIGIN_MAX;
}

static void
origin_of(struct loop *loop, const struct log *log,
          char origin[RECORD_ORIGIN_MAX])
{
    const struct world *world = loop_world(loop);
    char estate[ID_TEXT_MAX];
    bool fits;

    object_id_text(world, world_platform_ref(world), estate);
    fits = journal_origin(estate, log->epoch, log->id, origin);
    assert(fits);
}

static void
encode(struct record *record, struct buffer *entry, struct buffer *personal)
{
    struct record_salts salts;
    struct error err;
    int rc;

    random_bytes(&salts, sizeof(salts));
    if (record_encode(record, &salts, entry, personal, &err) == 0)
        return;
    record->params.redacted = NULL;
    rc = record_encode(record, &salts, entry, personal, &err);
    assert(rc == 0);
}

static void
set_text(char *member, size_t room, const char *text)
{
    (void)snprintf(member, room, "%s", text != NULL ? text : "");
}

static void
base64_doc(struct changes *changes, struct blob **member,
           const struct buffer *bytes)
{
    scoped_buffer text = { 0 };

    base64_encode(&text, bytes->bytes, bytes->size);
    change_doc(changes, member, buffer_text(&text));
}

static void
put_event(struct loop *loop, struct changes *changes, struct event *event,
          struct log *log, struct record *record)
{
    scoped_buffer entry = { 0 }, personal = { 0 };
    struct digest leaf;

    encode(record, &entry, &personal);
    record_leaf(entry.bytes, entry.size, &leaf);
    event->index = (int64_t)log->tree.size;
    event->time_ms = record->wall_ms;
    memcpy(event->leaf, leaf.bytes, sizeof(event->leaf));
    base64_doc(changes, &event->body, &entry);
    base64_doc(changes, &event->personal, &personal);
    set_text(event->verb, sizeof(event->verb), record->action.verb);
    set_text(event->actor, sizeof(event->actor), record->actor.id);
    set_text(event->target, sizeof(event->target), record->object.id);
    event->allowed = record->decision.allow;
    merkle_append(&log->tree, &leaf);
    loop_apply(loop, changes);
    store_head(loop, log);
}

void
journal_append(struct loop *loop, struct arena *arena, struct ref scope,
               struct record *record, char id_out[ID_TEXT_MAX])
{
    const struct world *world = loop_world(loop);
    struct changes *changes = loop_changes(loop, arena);
    char *event_id = arena_alloc(arena, ID_TEXT_MAX);
    char *origin = arena_alloc(arena, RECORD_ORIGIN_MAX);
    char log_id[ID_TEXT_MAX];
    struct event *event;
    struct log *log;

    if (scope.kind != KIND_TENANT || world_get(world, scope) == NULL)
        scope = world_platform_ref(world);
    object_id_text(world, scope, log_id);
    log = get_log(loop_journal(loop), log_id);
    event = change_create(changes, KIND_EVENT, scope, "");
    id_format(schema_get(KIND_EVENT)->prefix, event->object.id, event_id);
    origin_of(loop, log, origin);
    record->log = origin;
    record->seq = log->tree.size;
    record->id = event_id;
    record->wall_ms = changes->context.now_ms;
    record->mono_ms = clock_mono_ms();
    record->boot = clock_boot_id();
    record->observer.version = VERSION;
    if (record->observer.component == NULL)
        record->observer.component = "bulkheadd";
    if (record->observer.node == NULL && scope.kind == KIND_PLATFORM &&
        loop_journal(loop)->host[0] != '\0')
        record->observer.node = loop_journal(loop)->host;
    put_event(loop, changes, event, log, record);
    if (id_out != NULL)
        memcpy(id_out, event_id, ID_TEXT_MAX);
}

/* --- restores --- */

static void
begin_epoch(struct loop *loop, struct arena *arena, struct ref scope,
            int64_t epoch, const char *source)
{
    scoped_buffer facts = { 0 };
    struct record record = { .action.verb = RECORD_VERB_EPOCH,
                             .actor.kind = "platform",
                             .observer.component = "restore",
                             .params.digest = source,
                             .decision.allow = true,
                             .outcome.status = RECORD_SUCCESS };
    char id[ID_TEXT_MAX], name[ID_TEXT_MAX + 8];
    char origin[RECORD_ORIGIN_MAX];
    struct digest root;
    struct log *log;

    object_id_text(loop_world(loop), scope, id);
    log = get_log(loop_journal(loop), id);
    merkle_root(&log->tree, &root);
    origin_of(loop, log, origin);
    record_add_head(&facts, origin, log->tree.size, &root);
    record.facts = buffer_text(&facts);
    log->epoch = epoch;
    log->committed = 0;
    (void)snprintf(name, sizeof(name), "epoch:%s", id);
    loop_counter(loop, name, epoch, NULL, 0);
    journal_append(loop, arena, scope, &record, NULL);
}

void
journal_begin_epoch(struct loop *loop, struct arena *arena, int64_t epoch,
                    const char *source)
{
    const struct world *world = loop_world(loop);

    begin_epoch(loop, arena, world_platform_ref(world), epoch, source);
    world_each(world, KIND_TENANT, tenant)
        begin_epoch(loop, arena, tenant, epoch, source);
}

/* --- heads of the tenants' logs --- */

static void
write_heads(struct loop *loop, struct arena *arena, const char *facts)
{
    struct record record = { .action.verb = RECORD_VERB_HEADS,
                             .actor.kind = "platform",
                             .object.kind = "event",
                             .decision.allow = true,
                             .outcome.status = RECORD_SUCCESS,
                             .facts = facts };

    journal_append(loop, arena, world_platform_ref(loop_world(loop)), &record,
                   NULL);
}

bool
journal_commit_heads(struct loop *loop, struct arena *arena, bool always)
{
    struct journal *journal = loop_journal(loop);
    scoped_buffer facts = { 0 };
    struct log *log, *next;
    char estate[ID_TEXT_MAX], origin[RECORD_ORIGIN_MAX];
    unsigned count = 0;

    object_id_text(loop_world(loop), world_platform_ref(loop_world(loop)),
                   estate);
    HASH_ITER(hh, journal->logs, log, next) {
        struct digest root;

        if (strcmp(log->id, estate) == 0 || log->committed == log->tree.size)
            continue;
        merkle_root(&log->tree, &root);
        origin_of(loop, log, origin);
        record_add_head(&facts, origin, log->tree.size, &root);
        log->committed = log->tree.size;
        if (++count % HEADS_MAX == 0) {
            write_heads(loop, arena, buffer_text(&facts));
            buffer_clear(&facts);
        }
    }
    if (facts.size > 0 || (always && count == 0))
        write_heads(loop, arena, buffer_text(&facts));
    return count > 0 || always;
}

/* --- refusals --- */

bool
journal_admit(struct journal *journal, const struct refusal *refusal,
              int64_t now_ms)
{
    return fold_admit(journal->fold, refusal, now_ms);
}

struct flushing {
    struct loop *loop;
    struct arena *arena;
};

static void
write_folded(void *context, const struct refusal *refusal, uint32_t count)
{
    struct flushing *flushing = context;
    const struct world *world = loop_world(flushing->loop);
    char actor[ID_TEXT_MAX];
    struct record record = { .action.verb = refusal->verb,
                             .decision.reason = refusal->reason,
                             .outcome.status = RECORD_FAILURE,
                             .outcome.code = refusal->reason,
                             .count = count };

    object_id_text(world, refusal->subject, actor);
    if (actor[0] != '\0') {
        record.actor.id = actor;
        record.actor.kind =
            schema_get((enum kind)refusal->subject.kind)->name;
    }
    journal_append(flushing->loop, flushing->arena, refusal->scope, &record,
                   NULL);
}

struct intents *
journal_intents(struct journal *journal)
{
    return journal->intents;
}

struct strangers *
journal_strangers(struct journal *journal)
{
    return &journal->strangers;
}

static void
save_strangers(struct loop *loop, struct arena *arena)
{
    struct strangers *strangers = &loop_journal(loop)->strangers;
    size_t size = strangers_size(strangers);
    void *bytes;

    if (!strangers->changed)
        return;
    bytes = arena_alloc(arena, size + 1);
    strangers_save(strangers, bytes);
    loop_counter(loop, STRANGERS_COUNTER, (int64_t)strangers->dropped, bytes,
                 size);
}

void
journal_flush(struct loop *loop, struct arena *arena, bool all)
{
    struct flushing flushing = { loop, arena };
    int64_t now_ms = loop_context(loop).now_ms;

    if (fold_flush(loop_journal(loop)->fold, all ? INT64_MAX : now_ms,
                   write_folded, &flushing))
        save_strangers(loop, arena);
}
