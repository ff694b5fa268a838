/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit_walk.h"

#include "cli/audit_gaps.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/sign.h"
#include "core/checkpoint.h"
#include "core/merkle.h"
#include "core/table.h"

#define TILE_SIZE ((size_t)MERKLE_TILE_WIDTH * DIGEST_SIZE)
#define BUNDLE_MAX (MERKLE_TILE_WIDTH * (RECORD_SIZE_MAX + 2UL))

/* An intent, waiting for its outcome or not any more. */
struct intent {
    uint64_t index;
    int64_t wall_ms;
    bool open;
};

/* Found by a name in the files, which an enemy may have chosen. */
struct named {
    struct table table; /* name -> place in one of the arrays below */
    size_t count;
    size_t room;
};

struct state {
    const struct audit_walk *walk;
    struct audit_count *count;
    struct audit_finding *finding;
    struct hash_key key;
    struct merkle tree;
    char origin[RECORD_ORIGIN_MAX]; /* of the epoch that the entries are in */
    struct digest tile[MERKLE_TILE_LEVELS][MERKLE_TILE_WIDTH];
    struct buffer entries;
    struct buffer personal;
    struct buffer hashes;
    struct named intents;
    struct intent *intent;
    struct named boots;
    int64_t *boot_ms;     /* last time of each boot */
    struct buffer boot;   /* name of the last entry's */
    size_t boot_at;       /* and its place */
    size_t mark;        /* the next one */
    const struct audit_mark *bad; /* the first mark that did not hold */
    uint64_t good;                /* size of the last that held before it */
    bool good_after_bad;
    int64_t wall_ms;
    struct audit_gaps gaps;
    bool wider; /* of the tiles read last, one is wider than the head says */
};

void
audit_walk_path(struct buffer *out, const char *path, int level,
                uint64_t index, unsigned width, bool personal)
{
    static const char entries[] = "tile/entries/";
    scoped_buffer tile = { 0 };

    merkle_tile_path(&tile, level, index, width);
    if (personal)
        buffer_printf(out, "%s/personal/%s", path,
                      tile.bytes + sizeof(entries) - 1);
    else
        buffer_printf(out, "%s/%s", path, tile.bytes);
}

#define lie(state, kind, index, ...)                                          \
    audit_finding_set((state)->finding, (state)->walk->origin, (kind),        \
                      (index), err, __VA_ARGS__)

/* The place of a name in the array, which grows when the name is new. */
static size_t
named_place(struct state *state, struct named *named, const char *name,
            void **array, size_t size, bool *new_out)
{
    const size_t length = strlen(name);
    struct table_entry *entry =
        table_find(&named->table, &state->key, name, length);

    *new_out = entry == NULL;
    if (entry != NULL)
        return entry->number;
    if (named->count == named->room) {
        named->room = named->room == 0 ? 64 : 2 * named->room;
        *array = memory_grow(*array, named->room, size);
    }
    entry = table_put(&named->table, &state->key, name, length);
    entry->number = named->count++;
    return entry->number;
}

/* Some partial tile in the directory of `path` ("N.p/W") that is at least as
 * wide, or the full one "N"; "" when there is none. */
static void
find_wider(const char *path, unsigned width, struct buffer *out)
{
    const char *slash = strrchr(path, '/');
    const size_t size = (size_t)(slash - path);
    struct dirent **entries = NULL;
    scoped_buffer directory = { 0 };
    int count;

    buffer_add(&directory, path, size);
    count = scandir(directory.bytes, &entries, NULL, NULL);
    for (int i = 0; i < count; i++) {
        long found = strtol(entries[i]->d_name, NULL, 10);

        if (out->size == 0 && found >= (long)width)
            buffer_printf(out, "%s/%ld", directory.bytes, found);
        free(entries[i]);
    }
    free((void *)entries);
    if (out->size == 0 && size > 2 && memcmp(slash - 2, ".p", 2) == 0)
        buffer_add(out, path, size - 2);
}

/* Reads a tile that the head says is there. */
static int
read_part(struct state *state, int level, uint64_t index, bool personal,
          size_t max, struct buffer *out, struct error *err)
{
    const unsigned width = merkle_tile_width(level, index, state->walk->size);
    scoped_buffer path = { 0 }, wider = { 0 };
    int result;

    audit_walk_path(&path, state->walk->path, level, index, width, personal);
    buffer_clear(out);
    result = file_read(path.bytes, max, out, err);
    if (result != 0 && err->code == ERROR_NOT_FOUND &&
        width < MERKLE_TILE_WIDTH) {
        find_wider(path.bytes, width, &wider);
        result = file_read(buffer_text(&wider), max, out, err);
        state->wider = result == 0;
    }
    if (result == 0)
        return 0;
    if (err->code == ERROR_NOT_FOUND || err->code == ERROR_TOO_LARGE)
        return lie(state, AUDIT_DAMAGED, state->tree.size,
                   "%s is missing or too large",
                   path.bytes + strlen(state->walk->path) + 1);
    return -1;
}

static int
check_tile(struct state *state, int level, uint64_t index, unsigned width,
           struct error *err)
{
    const size_t size = width * (size_t)DIGEST_SIZE;

    state->wider = false;
    if (read_part(state, level, index, false, TILE_SIZE, &state->hashes,
                  err) != 0)
        return -1;
    if (state->hashes.size < size ||
        (state->hashes.size > size && !state->wider) ||
        memcmp(state->hashes.bytes, state->tile[level], size) != 0)
        return lie(state, AUDIT_EDITED,
                   (index * MERKLE_TILE_WIDTH) << (8 * (unsigned)level),
                   "a tile of level %d is not what its entries give", level);
    return 0;
}

/* Puts a leaf's hash into the tiles; full ones above level 0 are compared with
 * the files (level 0 was, hash by hash). */
static int
push(struct state *state, const struct digest *leaf, struct error *err)
{
    struct digest hash = *leaf;

    merkle_append(&state->tree, leaf);
    for (int level = 0; level < (int)MERKLE_TILE_LEVELS; level++) {
        uint64_t last = merkle_tile_nodes(level, state->tree.size) - 1;
        struct digest *tile = state->tile[level];
        unsigned up = 8 * ((unsigned)level + 1);

        tile[last % MERKLE_TILE_WIDTH] = hash;
        if ((last + 1) % MERKLE_TILE_WIDTH != 0)
            return 0;
        if (level > 0 && check_tile(state, level, last / MERKLE_TILE_WIDTH,
                                    MERKLE_TILE_WIDTH, err) != 0)
            return -1;
        /* A full tile's root is in the frontier while its bit is set, else
         * it went into a larger node already. */
        if (((state->tree.size >> up) & 1) != 0) {
            hash = state->tree.frontier[up];
        } else {
            struct merkle node = { 0 };

            for (unsigned i = 0; i < MERKLE_TILE_WIDTH; i++)
                merkle_append(&node, &tile[i]);
            merkle_root(&node, &hash);
        }
    }
    return 0;
}

/* Holds the head against the marks of this size. */
static void
check_marks(struct state *state)
{
    const struct audit_walk *walk = state->walk;
    struct digest root;

    if (state->mark >= walk->mark_count ||
        walk->marks[state->mark].size != state->tree.size)
        return;
    merkle_root(&state->tree, &root);
    for (; state->mark < walk->mark_count &&
           walk->marks[state->mark].size == state->tree.size;
         state->mark++) {
        const struct audit_mark *mark = &walk->marks[state->mark];

        if (digest_compare(&mark->root, &root) != 0)
            state->bad = state->bad == NULL ? mark : state->bad;
        else if (state->bad == NULL)
            state->good = mark->size;
        else
            state->good_after_bad = true;
    }
}

/* Entries after this one in the bundle: is the one that should be here among
 * them? */
static bool
comes_later(const uint8_t *at, const uint8_t *end, uint64_t seq)
{
    struct record record;
    const uint8_t *item;
    struct error err;
    size_t size;

    while (record_next_item(&at, end, &item, &size) == 1) {
        if (record_decode(item, size, NULL, 0, &record, &err) == 0 &&
            record.seq == seq)
            return true;
    }
    return false;
}

static bool
begins_epoch(const struct record *record)
{
    return record->action.verb != NULL &&
           strcmp(record->action.verb, RECORD_VERB_EPOCH) == 0;
}

/* The record of an epoch names the head that was restored: it has to be the
 * one of all entries in front of it. */
static int
check_epoch(struct state *state, const struct record *record,
            struct error *err)
{
    const uint64_t index = state->tree.size;
    const char *facts = record->facts != NULL ? record->facts : "";
    char old[RECORD_ORIGIN_MAX] = "";
    struct digest root, named = { { 0 } };
    uint64_t size = 0;

    merkle_root(&state->tree, &root);
    if (record_next_head(&facts, old, &size, &named) != 1 || size != index ||
        digest_compare(&root, &named) != 0 ||
        !checkpoint_same_log(old, record->log) ||
        (state->origin[0] != '\0' && strcmp(old, state->origin) != 0) ||
        checkpoint_epoch(record->log) <= checkpoint_epoch(old))
        return lie(state, AUDIT_UNDECLARED, index,
                   "the record of the restore names another head than the "
                   "one that was restored");
    return 0;
}

static int
check_origin(struct state *state, const struct record *record,
             struct error *err)
{
    const uint64_t index = state->tree.size;

    /* As nearly all are. */
    if (index > 0 && record->log != NULL &&
        strcmp(record->log, state->origin) == 0 && !begins_epoch(record))
        return 0;
    if (record->log == NULL || strlen(record->log) >= RECORD_ORIGIN_MAX ||
        !checkpoint_same_log(record->log, state->walk->origin))
        return lie(state, AUDIT_EDITED, index, "the entry is of another log");
    if (begins_epoch(record)) {
        if (check_epoch(state, record, err) != 0)
            return -1;
    } else if (index == 0 ? checkpoint_epoch(record->log) != 0
                          : state->origin[0] != '\0' &&
                                strcmp(record->log, state->origin) != 0) {
        return lie(state, AUDIT_UNDECLARED, index,
                   "the entry is of another epoch, and no record says that "
                   "the log was restored");
    }
    (void)snprintf(state->origin, sizeof(state->origin), "%s", record->log);
    return 0;
}

static int
check_order(struct state *state, const struct record *record,
            const uint8_t *rest, const uint8_t *end, struct error *err)
{
    const uint64_t index = state->tree.size;

    if (record->seq == index)
        return check_origin(state, record, err);
    if (record->log == NULL ||
        !checkpoint_same_log(record->log, state->walk->origin))
        return lie(state, AUDIT_EDITED, index, "the entry is of another log");
    if (record->seq > index && !comes_later(rest, end, index))
        return lie(state, AUDIT_DELETED, index,
                   "entry %" PRIu64 " is followed by entry %" PRIu64,
                   index - 1, record->seq);
    return lie(state, AUDIT_REORDERED, index,
               "entry %" PRIu64 " stands in place %" PRIu64, record->seq,
               index);
}

static int
check_time(struct state *state, const struct record *record,
           struct error *err)
{
    const char *boot = record->boot == NULL ? "" : record->boot;
    void *array = state->boot_ms;
    bool new = false;

    state->wall_ms = record->wall_ms;
    if (state->boots.count == 0 ||
        strcmp(buffer_text(&state->boot), boot) != 0) {
        state->boot_at = named_place(state, &state->boots, boot, &array,
                                     sizeof(*state->boot_ms), &new);
        state->boot_ms = array;
        buffer_clear(&state->boot);
        buffer_add_text(&state->boot, boot);
    }
    if (!new && record->mono_ms < state->boot_ms[state->boot_at])
        return lie(state, AUDIT_TIME, state->tree.size,
                   "%" PRId64 " ms after boot comes behind %" PRId64 " ms",
                   record->mono_ms, state->boot_ms[state->boot_at]);
    state->boot_ms[state->boot_at] = record->mono_ms;
    return 0;
}

static void
open_intent(struct state *state, const struct record *record)
{
    void *array = state->intent;
    bool new;
    size_t at = named_place(state, &state->intents,
                            record->id == NULL ? "" : record->id, &array,
                            sizeof(*state->intent), &new);

    state->intent = array;
    if (new)
        state->intent[at] =
            (struct intent){ state->tree.size, record->wall_ms, true };
}

static void
note_intent(struct state *state, const struct record *record)
{
    const struct table_entry *entry;

    if (record->outcome.status == RECORD_PENDING) {
        open_intent(state, record);
        return;
    }
    if (record->links.parent == NULL)
        return;
    entry = table_find(&state->intents.table, &state->key,
                       record->links.parent, strlen(record->links.parent));
    if (entry != NULL)
        state->intent[entry->number].open = false;
}

struct item {
    const uint8_t *bytes;
    size_t size;
};

/* One pass over the bytes when all is well; only a personal part that does
 * not fit asks for a second look without it. */
static int
decode(const struct item *entry, const struct item *personal,
       struct record *record_out, bool *person_fits_out)
{
    struct error err;

    *person_fits_out = true;
    if (record_decode(entry->bytes, entry->size, personal->bytes,
                      personal->size, record_out, &err) == 0)
        return 0;
    *person_fits_out = false;
    return record_decode(entry->bytes, entry->size, NULL, 0, record_out, &err);
}

/* How long the log is kept, and what was pruned of it. */
static int
note_retention(struct state *state, const struct record *record,
               struct error *err)
{
    const char *verb = record->action.verb, *why = NULL;

    if (verb == NULL || strncmp(verb, "audit.", 6) != 0)
        return 0;
    if (strcmp(verb, RETENTION_VERB_KEEP) == 0)
        why = audit_gaps_policy(&state->gaps, record);
    else if (strcmp(verb, RETENTION_VERB_PRUNE) == 0)
        why = audit_gaps_pruning(&state->gaps, state->walk, record);
    if (why == NULL)
        return 0;
    return lie(state, AUDIT_PRUNED, state->tree.size, "%s", why);
}

static int
check_entry(struct state *state, const struct item *entry,
            const struct item *personal, const uint8_t *rest,
            const uint8_t *end, struct error *err)
{
    const uint64_t index = state->tree.size;
    const size_t tile_at = (size_t)(index % MERKLE_TILE_WIDTH) * DIGEST_SIZE;
    struct record record;
    struct digest leaf;
    bool person_fits;

    if (decode(entry, personal, &record, &person_fits) != 0)
        return lie(state, AUDIT_EDITED, index, "the entry cannot be read");
    if (check_order(state, &record, rest, end, err) != 0)
        return -1;
    record_leaf(entry->bytes, entry->size, &leaf);
    if (state->hashes.size < tile_at + DIGEST_SIZE ||
        memcmp(leaf.bytes, state->hashes.bytes + tile_at, DIGEST_SIZE) != 0)
        return lie(state, AUDIT_EDITED, index,
                   "the entry does not give the hash in its tile");
    if (!person_fits)
        return lie(state, AUDIT_EDITED, index,
                   "the personal part is not the one logged");
    if (check_time(state, &record, err) != 0)
        return -1;
    if (tile_at == 0)
        audit_gaps_begin(&state->gaps, index / MERKLE_TILE_WIDTH,
                         record.wall_ms);
    note_intent(state, &record);
    if (note_retention(state, &record, err) != 0)
        return -1;
    if (state->walk->visit != NULL &&
        state->walk->visit(state->walk->context, &record, err) != 0)
        return -1;
    if (push(state, &leaf, err) != 0)
        return -1;
    if (index == state->walk->watch)
        state->count->watched_ms = record.wall_ms;
    state->count->erased += personal->size == 0;
    state->count->records++;
    check_marks(state);
    return 0;
}

/* A whole bundle that is not there: its hashes stand for it, and in the end
 * somebody has to have said so (audit_gaps.h). */
static bool
is_gone(const struct state *state, uint64_t index, unsigned width)
{
    scoped_buffer path = { 0 };

    audit_walk_path(&path, state->walk->path, MERKLE_ENTRIES, index, width,
                    false);
    return width == MERKLE_TILE_WIDTH && access(path.bytes, F_OK) != 0 &&
           errno == ENOENT;
}

static int
skip_bundle(struct state *state, uint64_t index, struct error *err)
{
    state->wider = false;
    if (read_part(state, 0, index, false, TILE_SIZE, &state->hashes, err) !=
        0)
        return -1;
    if (state->hashes.size != TILE_SIZE)
        return lie(state, AUDIT_DAMAGED, state->tree.size,
                   "a tile of level 0 is cut");
    audit_gaps_add(&state->gaps, index);
    state->origin[0] = '\0';
    for (size_t i = 0; i < MERKLE_TILE_WIDTH; i++) {
        struct digest leaf;

        memcpy(leaf.bytes, state->hashes.bytes + i * DIGEST_SIZE,
               DIGEST_SIZE);
        if (push(state, &leaf, err) != 0)
            return -1;
        check_marks(state);
    }
    state->count->records += MERKLE_TILE_WIDTH;
    state->count->pruned += MERKLE_TILE_WIDTH;
    return 0;
}

static int
check_bundle(struct state *state, uint64_t index, struct error *err)
{
    const unsigned width =
        merkle_tile_width(MERKLE_ENTRIES, index, state->walk->size);
    const uint8_t *at, *end, *person, *person_end;
    struct item entry, personal;

    if (is_gone(state, index, width))
        return skip_bundle(state, index, err);
    state->wider = false;
    if (read_part(state, MERKLE_ENTRIES, index, false, BUNDLE_MAX,
                  &state->entries, err) != 0 ||
        read_part(state, MERKLE_ENTRIES, index, true, BUNDLE_MAX,
                  &state->personal, err) != 0 ||
        read_part(state, 0, index, false, TILE_SIZE, &state->hashes, err) != 0)
        return -1;
    at = (const uint8_t *)buffer_text(&state->entries);
    end = at + state->entries.size;
    person = (const uint8_t *)buffer_text(&state->personal);
    person_end = person + state->personal.size;
    for (unsigned i = 0; i < width; i++) {
        if (record_next_item(&at, end, &entry.bytes, &entry.size) != 1)
            return lie(state, AUDIT_TRUNCATED, state->tree.size,
                       "the bundle ends before the size that the head claims");
        if (record_next_item(&person, person_end, &personal.bytes,
                             &personal.size) != 1)
            return lie(state, AUDIT_DAMAGED, state->tree.size,
                       "the personal parts end early");
        if (check_entry(state, &entry, &personal, at, end, err) != 0)
            return -1;
    }
    if (!state->wider && (at != end || person != person_end))
        return lie(state, AUDIT_DAMAGED, state->tree.size,
                   "a bundle has more than its name says");
    return 0;
}

/* Partial tiles above level 0 at the end of the log, and level 0 for excess. */
static int
check_partial_tiles(struct state *state, struct error *err)
{
    for (int level = 0; level < (int)MERKLE_TILE_LEVELS; level++) {
        uint64_t nodes = merkle_tile_nodes(level, state->walk->size);
        unsigned width = (unsigned)(nodes % MERKLE_TILE_WIDTH);

        if (width != 0 && check_tile(state, level, nodes / MERKLE_TILE_WIDTH,
                                     width, err) != 0)
            return -1;
    }
    return 0;
}

/* A head that does not hold while a later one does was never this log's: then
 * somebody was shown another log.  When none holds after it, the entries
 * themselves were rewritten. */
static int
judge_marks(struct state *state, struct error *err)
{
    const struct audit_walk *walk = state->walk;
    const struct audit_mark *next = &walk->marks[state->mark];

    if (state->bad != NULL && !state->good_after_bad &&
        !state->bad->committed && state->bad->size != state->good)
        return lie(state, AUDIT_EDITED, state->good,
                   "entries from %" PRIu64 " to %" PRIu64
                   " do not give the root that was signed",
                   state->good, state->bad->size);
    if (state->bad != NULL)
        return lie(state, AUDIT_FORKED, state->good,
                   "%s of size %" PRIu64 " has another root",
                   state->bad->committed ? "the platform's head"
                                         : "a checkpoint",
                   state->bad->size);
    if (state->mark < walk->mark_count)
        return lie(state, next->committed ? AUDIT_MISSING : AUDIT_TRUNCATED,
                   walk->size,
                   "%s %" PRIu64 " entries, %" PRIu64 " are there",
                   next->committed ? "the platform committed to"
                                   : "the signer signed",
                   walk->marks[walk->mark_count - 1].size, walk->size);
    return 0;
}

static int
judge_gaps(struct state *state, struct error *err)
{
    const char *why = audit_gaps_platform(&state->gaps, state->walk);
    uint64_t from, to;

    if (why != NULL)
        return lie(state, AUDIT_PRUNED, state->gaps.prune.is.below, "%s", why);
    if (audit_gaps_unsaid(&state->gaps, &from, &to))
        return lie(state, AUDIT_DELETED, from,
                   "entries %" PRIu64 " to %" PRIu64 " are gone, and no "
                   "record says that they were pruned",
                   from, to - 1);
    if (state->gaps.end > 0)
        audit_gaps_report(&state->gaps, state->walk->origin, state->count);
    return 0;
}

static int
judge_intents(struct state *state, struct error *err)
{
    for (size_t i = 0; i < state->intents.count; i++) {
        const struct intent *intent = &state->intent[i];

        /* What ended it may be among what is pruned. */
        if (!intent->open || intent->index < state->gaps.end)
            continue;
        if (intent->wall_ms <= state->wall_ms - state->walk->grace_ms)
            return lie(state, AUDIT_OPEN, intent->index,
                       "the intent has no outcome");
        state->count->open++;
    }
    return 0;
}

static int
walk_all(struct state *state, struct error *err)
{
    const uint64_t size = state->walk->size;

    check_marks(state);
    for (uint64_t i = 0; i * MERKLE_TILE_WIDTH < size; i++) {
        if (check_bundle(state, i, err) != 0)
            return -1;
    }
    if (check_partial_tiles(state, err) != 0 || judge_marks(state, err) != 0 ||
        judge_gaps(state, err) != 0)
        return -1;
    if (size > 0 && state->origin[0] != '\0' && strcmp(state->origin, state->walk->origin) != 0)
        return lie(state, AUDIT_UNDECLARED, size,
                   "the log is named after an epoch that no record begins");
    return judge_intents(state, err);
}

int
audit_walk(const struct audit_walk *walk, struct audit_count *count,
           struct audit_finding *finding_out, struct error *err)
{
    struct state *state = memory_new(1, sizeof(*state));
    int result;

    random_bytes(&state->key, sizeof(state->key));
    state->walk = walk;
    state->count = count;
    state->finding = finding_out;
    result = walk_all(state, err);
    table_release(&state->intents.table);
    table_release(&state->boots.table);
    free(state->intent);
    free(state->boot_ms);
    audit_gaps_release(&state->gaps);
    buffer_release(&state->boot);
    buffer_release(&state->entries);
    buffer_release(&state->personal);
    buffer_release(&state->hashes);
    free(state);
    return result;
}
