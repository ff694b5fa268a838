/* SPDX-License-Identifier: Apache-2.0 */
#include "control/pruner.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/hashmap.h"
#include "base/log.h"
#include "core/object.h"
#include "store/row.h"

#define WIDTH ((uint64_t)MERKLE_TILE_WIDTH)
#define STEP_BUNDLES 2 /* in one transaction */
#define STEP_RECORDS (STEP_BUNDLES * MERKLE_TILE_WIDTH)
#define FILES_BUNDLES 1024 /* removed in one pass */
#define LOOK_MS (60 * 60 * INT64_C(1000))

/* --- counters --- */

#define KEEP "keep:"
#define ORDERED "prune:"
#define PRUNED "pruned:"

static const char *
after(const char *name, const char *prefix)
{
    const size_t size = strlen(prefix);

    return strncmp(name, prefix, size) == 0 &&
                   strlen(name + size) < ID_TEXT_MAX
               ? name + size
               : NULL;
}

/* Whose counter it is; NULL: it is about something else. */
static const char *
log_of(const struct store_counter *counter)
{
    const char *log = after(counter->name, KEEP);

    if (log == NULL)
        log = after(counter->name, ORDERED);
    return log != NULL ? log : after(counter->name, PRUNED);
}

static void
take(struct journal_keep *keep, const struct store_counter *counter)
{
    const uint8_t *bytes = counter->bytes;

    if (after(counter->name, PRUNED) != NULL) {
        keep->pruned = (uint64_t)counter->value;
    } else if (after(counter->name, KEEP) != NULL) {
        keep->policy.keep_ms = counter->value;
        keep->policy.hold = counter->size == 1 && bytes[0] == 1;
    } else if (counter->size == sizeof(uint64_t) + 1) {
        keep->ordered = (uint64_t)counter->value;
        memcpy(&keep->recorded, bytes, sizeof(keep->recorded));
        keep->elsewhere = bytes[sizeof(uint64_t)] == 1;
    }
}

bool
pruner_load(struct journal *journal, const struct store_counter *counter)
{
    const char *log = log_of(counter);
    struct journal_keep keep;

    if (log == NULL)
        return false;
    keep = journal_keep(journal, log);
    take(&keep, counter);
    journal_set_keep(journal, log, &keep);
    return true;
}

static void
put(struct loop *loop, const char *prefix, const char *log, uint64_t value,
    const void *bytes, size_t size)
{
    char name[ID_TEXT_MAX + 8];

    (void)snprintf(name, sizeof(name), "%s%s", prefix, log);
    loop_counter(loop, name, (int64_t)value, bytes, size);
}

/* --- on the world thread --- */

struct retention_rule
pruner_rule(struct loop *loop, const char *log)
{
    const struct world *world = loop_world(loop);
    char platform[ID_TEXT_MAX];
    struct journal_keep own = journal_keep(loop_journal(loop), log);
    struct journal_keep all;

    object_id_text(world, world_platform_ref(world), platform);
    all = journal_keep(loop_journal(loop), platform);
    return retention_rule(&own.policy, &all.policy);
}

void
pruner_set(struct loop *loop, struct arena *arena, struct ref scope,
           const struct retention_policy *policy)
{
    const uint8_t hold = policy->hold ? 1 : 0;
    scoped_buffer facts = { 0 };
    struct record record = { .action.verb = RETENTION_VERB_KEEP,
                             .actor.kind = "platform",
                             .decision.allow = true,
                             .outcome.status = RECORD_SUCCESS };
    struct journal_keep keep;
    char log[ID_TEXT_MAX];

    object_id_text(loop_world(loop), scope, log);
    keep = journal_keep(loop_journal(loop), log);
    keep.policy = *policy;
    journal_set_keep(loop_journal(loop), log, &keep);
    put(loop, KEEP, log, (uint64_t)policy->keep_ms, &hold, 1);
    retention_add_policy(&facts, policy);
    record.facts = buffer_text(&facts);
    journal_append(loop, arena, scope, &record, NULL);
}

/* An order, or a step of one. */
struct pruning {
    struct job job;
    struct pruner *pruner;
    char log[ID_TEXT_MAX];
    uint64_t from, to;
    int64_t time_ms; /* of entry `to`, which stays */
    struct digest root; /* of an order: of the entries below `to` */
    struct digest leaves[STEP_RECORDS]; /* of a step */
};

static bool
is_allowed(struct loop *loop, const struct pruning *pruning)
{
    struct retention_rule rule = pruner_rule(loop, pruning->log);

    return retention_allows(&rule, pruning->time_ms,
                            loop_context(loop).now_ms);
}

static void
append_order(struct loop *loop, struct arena *arena,
             const struct pruning *pruning, struct journal_keep *keep)
{
    const struct world *world = loop_world(loop);
    struct ref scope = object_find_text(world, pruning->log);
    struct retention_pruning facts = {
        .below = pruning->to,
        .root = pruning->root,
        .rule = pruner_rule(loop, pruning->log)
    };
    scoped_buffer text = { 0 };
    struct record record = { .observer.component = "retention",
                             .actor.kind = "platform",
                             .action.verb = RETENTION_VERB_PRUNE,
                             .decision.allow = true,
                             .outcome.status = RECORD_SUCCESS };
    char platform[ID_TEXT_MAX];
    bool fits;

    object_id_text(world, world_platform_ref(world), platform);
    fits = journal_origin(platform,
                          journal_epoch(loop_journal(loop), pruning->log),
                          pruning->log, facts.origin);
    assert(fits);
    retention_add_pruning(&text, &facts);
    record.facts = buffer_text(&text);
    keep->elsewhere = world_object(world, scope) == NULL;
    journal_append(loop, arena, scope, &record, NULL);
    keep->recorded =
        journal_size(loop_journal(loop),
                     keep->elsewhere ? platform : pruning->log) - 1;
}

static void
run_order(struct loop *loop, struct job *job)
{
    const struct pruning *pruning = job->data;
    struct journal_keep keep = journal_keep(loop_journal(loop), pruning->log);
    uint8_t bytes[sizeof(uint64_t) + 1];

    if (pruning->to <= keep.ordered || keep.ordered != keep.pruned ||
        !is_allowed(loop, pruning))
        return;
    append_order(loop, job->arena, pruning, &keep);
    keep.ordered = pruning->to;
    memcpy(bytes, &keep.recorded, sizeof(keep.recorded));
    bytes[sizeof(uint64_t)] = keep.elsewhere ? 1 : 0;
    put(loop, ORDERED, pruning->log, keep.ordered, bytes, sizeof(bytes));
    journal_set_keep(loop_journal(loop), pruning->log, &keep);
}

static void
run_step(struct loop *loop, struct job *job)
{
    const struct pruning *pruning = job->data;
    struct journal_keep keep = journal_keep(loop_journal(loop), pruning->log);

    if (pruning->from != keep.pruned || pruning->to > keep.ordered ||
        !is_allowed(loop, pruning))
        return;
    for (uint64_t at = pruning->from; at < pruning->to; at += WIDTH) {
        char name[STORE_LEAVES_NAME_MAX];

        store_leaves_name(pruning->log, at / WIDTH, name);
        loop_counter(loop, name, (int64_t)at,
                     &pruning->leaves[at - pruning->from],
                     WIDTH * DIGEST_SIZE);
    }
    loop_prune_records(loop, pruning->log, (int64_t)pruning->from,
                       (int64_t)pruning->to);
    CRASH_POINT("bulkheadd.pruning");
    keep.pruned = pruning->to;
    put(loop, PRUNED, pruning->log, keep.pruned, NULL, 0);
    journal_set_keep(loop_journal(loop), pruning->log, &keep);
}

/* --- on the thread that lays records down --- */

struct watched {
    char id[ID_TEXT_MAX];
    struct journal_keep keep;
    uint64_t removed; /* bundles whose files are removed, since the start */
    int64_t looked_ms; /* monotonic; 0: not yet */
    int64_t looked_keep_ms; /* by this rule: another one looks at once */
    bool stuck; /* store and files differ: told, and nothing is pruned */
    UT_hash_handle hh;
};

struct pruner {
    struct loop *loop;
    int64_t look_ms;
    struct watched *logs;
    _Atomic bool busy; /* a job is under way */
    bool idle; /* none was since before the counters of this pass were read */
    /* The owner's, and one of the job under way, which may end later. */
    atomic_uint holds;
};

struct pruner *
pruner_new(struct loop *loop, int64_t look_ms)
{
    struct pruner *pruner = memory_new(1, sizeof(*pruner));

    pruner->loop = loop;
    pruner->look_ms = look_ms > 0 ? look_ms : LOOK_MS;
    atomic_init(&pruner->holds, 1);
    return pruner;
}

void
pruner_free(struct pruner *pruner)
{
    struct watched *log, *next;

    if (atomic_fetch_sub(&pruner->holds, 1) != 1)
        return;
    log = pruner->logs;
    HASH_CLEAR(hh, pruner->logs);
    for (; log != NULL; log = next) {
        next = log->hh.next;
        free(log);
    }
    free(pruner);
}

static struct watched *
watch(struct pruner *pruner, const char *id)
{
    struct watched *log;

    HASH_FIND_STR(pruner->logs, id, log);
    if (log != NULL)
        return log;
    log = memory_new(1, sizeof(*log));
    (void)snprintf(log->id, sizeof(log->id), "%s", id);
    log->keep = journal_keep_default(id);
    HASH_ADD_STR(pruner->logs, id, log);
    return log;
}

void
pruner_begin(struct pruner *pruner)
{
    pruner->idle = !atomic_load(&pruner->busy);
}

void
pruner_note(struct pruner *pruner, const struct store_counter *counter)
{
    const char *log = log_of(counter);

    if (log != NULL)
        take(&watch(pruner, log)->keep, counter);
}

static void
end_pruning(struct job *job)
{
    struct pruning *pruning = job->data;
    struct pruner *pruner = pruning->pruner;

    arena_free(job->arena);
    free(pruning);
    atomic_store(&pruner->busy, false);
    pruner_free(pruner);
}

static struct pruning *
begin_pruning(struct pruner *pruner, const char *log, uint64_t from,
              uint64_t to, void (*run)(struct loop *loop, struct job *job))
{
    struct pruning *pruning = memory_new(1, sizeof(*pruning));

    pruning->pruner = pruner;
    (void)snprintf(pruning->log, sizeof(pruning->log), "%s", log);
    pruning->from = from;
    pruning->to = to;
    pruning->job = (struct job){ .run = run,
                                 .done = end_pruning,
                                 .arena = arena_new(),
                                 .data = pruning };
    atomic_store(&pruner->busy, true);
    pruner->idle = false;
    atomic_fetch_add(&pruner->holds, 1);
    return pruning;
}

/* What is too busy now comes in a later pass. */
static int
post(struct pruner *pruner, struct pruning *pruning, int rc,
     struct error *err)
{
    if (rc == 0 && loop_post(pruner->loop, &pruning->job, err) == 0)
        return 0;
    end_pruning(&pruning->job);
    return rc;
}

/* --- looking --- */

static int
take_time(void *context, const struct value *values, struct error *err)
{
    (void)err;
    *(int64_t *)context = row_int(KIND_EVENT, values, "time_ms");
    return 1;
}

static int
read_time(struct store_reader *reader, const char *log, uint64_t index,
          int64_t *time_out, struct error *err)
{
    *time_out = INT64_MAX;
    return store_events(reader, log, (int64_t)index, 1, take_time, time_out,
                        err);
}

/* The last bundle that may stay the first: entries before it are as old as
 * its own first one, which is old enough.  Times of a log do not run back. */
static int
find_below(struct store_reader *reader, const struct watched *log,
           uint64_t size, const struct retention_rule *rule, int64_t now_ms,
           uint64_t *below_out, struct error *err)
{
    uint64_t low = log->keep.pruned / WIDTH, high = (size - 1) / WIDTH;

    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        int64_t time_ms;

        if (read_time(reader, log->id, middle * WIDTH, &time_ms, err) != 0)
            return -1;
        if (retention_allows(rule, time_ms, now_ms))
            low = middle;
        else
            high = middle - 1;
    }
    *below_out = low * WIDTH;
    return 0;
}

static int
look(struct pruner *pruner, struct store_reader *reader,
     struct watched *watched, const struct pruner_log *log,
     const struct retention_rule *rule, struct error *err)
{
    struct pruning *pruning;
    struct merkle tree;
    uint64_t below = 0;
    int rc;

    if (log->vouched == 0)
        return 0;
    watched->looked_ms = clock_mono_ms();
    watched->looked_keep_ms = rule->keep_ms;
    if (find_below(reader, watched, log->vouched, rule,
                   loop_now(pruner->loop), &below, err) != 0)
        return -1;
    if (below <= watched->keep.pruned)
        return 0;
    pruning = begin_pruning(pruner, watched->id, watched->keep.pruned, below,
                            run_order);
    rc = read_time(reader, watched->id, below, &pruning->time_ms, err);
    if (rc == 0)
        rc = merkle_load(audit_dir_read_node, log->files, below, &tree, err);
    if (rc == 0)
        merkle_root(&tree, &pruning->root);
    return post(pruner, pruning, rc, err);
}

/* --- stepping --- */

struct compare {
    const struct pruning *pruning;
    uint64_t next;
};

/* What goes has to be what the tiles say. */
static int
compare_leaf(void *context, const struct value *values, struct error *err)
{
    struct compare *compare = context;
    const struct pruning *pruning = compare->pruning;
    const char *text = row_text(KIND_EVENT, values, "leaf");
    struct digest leaf;

    if (row_int(KIND_EVENT, values, "position") != (int64_t)compare->next ||
        text == NULL || digest_parse(text, &leaf) != 0 ||
        digest_compare(&leaf, &pruning->leaves[compare->next -
                                               pruning->from]) != 0)
        return error_set(err, ERROR_VERIFY,
                         "record %llu is not the one that was laid down",
                         (unsigned long long)compare->next);
    return ++compare->next == pruning->to ? 1 : 0;
}

static int
read_leaves(struct store_reader *reader, const struct audit_dir *files,
            struct pruning *pruning, struct error *err)
{
    struct compare compare = { pruning, pruning->from };

    for (uint64_t at = pruning->from; at < pruning->to; at += WIDTH)
        if (audit_dir_read_leaves(files, at / WIDTH,
                                  &pruning->leaves[at - pruning->from],
                                  err) != 0)
            return -1;
    if (store_events(reader, pruning->log, (int64_t)pruning->from,
                     (int64_t)(pruning->to - pruning->from), compare_leaf,
                     &compare, err) != 0)
        return -1;
    return compare.next == pruning->to
               ? 0
               : error_set(err, ERROR_VERIFY, "record %llu is missing",
                           (unsigned long long)compare.next);
}

static int
go_on(struct pruner *pruner, struct store_reader *reader,
      struct watched *watched, const struct pruner_log *log,
      struct error *err)
{
    const uint64_t from = watched->keep.pruned;
    uint64_t to = from + STEP_RECORDS;
    struct pruning *pruning;
    int rc;

    if (to > watched->keep.ordered)
        to = watched->keep.ordered;
    pruning = begin_pruning(pruner, watched->id, from, to, run_step);
    rc = read_time(reader, watched->id, to, &pruning->time_ms, err);
    if (rc == 0)
        rc = read_leaves(reader, log->files, pruning, err);
    if (rc != 0 && err->code == ERROR_VERIFY) {
        watched->stuck = true;
        log_error("retention: log %s: %s; nothing of it is pruned",
                  watched->id, err->text);
        end_pruning(&pruning->job);
        return 0;
    }
    return post(pruner, pruning, rc, err);
}

static int
remove_files(struct watched *watched, const struct pruner_log *log,
             struct error *err)
{
    const uint64_t bundles = watched->keep.pruned / WIDTH;
    uint64_t to = watched->removed + FILES_BUNDLES;

    if (to > bundles)
        to = bundles;
    if (audit_dir_prune(log->files, watched->removed, to, err) != 0)
        return -1;
    watched->removed = to;
    return 0;
}

int
pruner_step(struct pruner *pruner, struct store_reader *reader,
            const struct pruner_log *log, struct error *err)
{
    struct watched *watched = watch(pruner, log->id);
    const struct retention_rule rule = retention_rule(
        &watched->keep.policy, &watch(pruner, log->platform)->keep.policy);
    const uint64_t vouched = watched->keep.elsewhere ? log->platform_vouched
                                                     : log->vouched;

    if (watched->removed < watched->keep.pruned / WIDTH &&
        remove_files(watched, log, err) != 0)
        return -1;
    if (rule.keep_ms == 0 || watched->stuck || !pruner->idle)
        return 0;
    if (watched->keep.pruned < watched->keep.ordered)
        return watched->keep.recorded < vouched
                   ? go_on(pruner, reader, watched, log, err)
                   : 0;
    if (watched->looked_ms != 0 && watched->looked_keep_ms == rule.keep_ms &&
        clock_mono_ms() - watched->looked_ms < pruner->look_ms)
        return 0;
    return look(pruner, reader, watched, log, &rule, err);
}
