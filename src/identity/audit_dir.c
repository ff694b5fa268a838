/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/audit_dir.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/file.h"
#include "core/checkpoint.h"
#include "core/keychain.h"

#define DIRECTORY_MODE 0750
#define FILE_MODE 0640
#define TILE_SIZE ((size_t)MERKLE_TILE_WIDTH * DIGEST_SIZE)
/* A bundle of 256 items of the largest size. */
#define BUNDLE_MAX (MERKLE_TILE_WIDTH * (RECORD_SIZE_MAX + 2UL))
#define KEYS_MAX 65536

enum kind { KIND_TILE, KIND_ENTRIES, KIND_PERSONAL };

/* The tiles and bundles at the right edge of the log, growing. */
struct edge {
    struct audit_dir *log;
    struct merkle tree;
    struct buffer entries;
    struct buffer personal;
    bool pruned; /* an entry of the last bundle was */
    struct digest tile[MERKLE_TILE_LEVELS][MERKLE_TILE_WIDTH];
};

static void
add_path(struct buffer *out, const struct audit_dir *log, enum kind kind,
         int level, uint64_t index, unsigned width)
{
    static const char entries[] = "tile/entries/";
    scoped_buffer tile = { 0 };

    buffer_printf(out, "%s/", log->path);
    if (kind == KIND_TILE) {
        merkle_tile_path(out, level, index, width);
        return;
    }
    merkle_tile_path(&tile, MERKLE_ENTRIES, index, width);
    if (kind == KIND_ENTRIES)
        buffer_add(out, tile.bytes, tile.size);
    else
        buffer_printf(out, "personal/%s", tile.bytes + sizeof(entries) - 1);
}

/* Replaces a file; it is durable only after sync_log. */
static int
put_file(const char *path, const void *bytes, size_t size, struct error *err)
{
    scoped_buffer temporary = { 0 }, directory = { 0 };
    const char *slash = strrchr(path, '/');
    scoped_fd fd = -1;

    assert(slash != NULL);
    buffer_add(&directory, path, (size_t)(slash - path));
    if (file_make_directory(directory.bytes, DIRECTORY_MODE, err) != 0)
        return -1;
    buffer_printf(&temporary, "%s.XXXXXX", path);
    fd = mkostemp(temporary.bytes, O_CLOEXEC);
    if (fd < 0)
        return error_set(err, ERROR_INTERNAL, "create tile: %s",
                         strerror(errno));
    if (file_write_all(fd, bytes, size, err) != 0) {
        (void)unlink(temporary.bytes);
        return -1;
    }
    if (fchmod(fd, FILE_MODE) != 0 || rename(temporary.bytes, path) != 0) {
        (void)error_set(err, ERROR_INTERNAL, "write tile: %s",
                        strerror(errno));
        (void)unlink(temporary.bytes);
        return -1;
    }
    return 0;
}

static int
put_tile(const struct audit_dir *log, enum kind kind, int level,
         uint64_t index, unsigned width, const void *bytes, size_t size,
         struct error *err)
{
    scoped_buffer path = { 0 };

    add_path(&path, log, kind, level, index, width);
    return put_file(path.bytes, bytes, size, err);
}

static int
sync_log(const struct audit_dir *log, struct error *err)
{
    scoped_fd fd = open(log->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || syncfs(fd) != 0)
        return error_set(err, ERROR_INTERNAL, "sync log: %s",
                         strerror(errno));
    return 0;
}

static int
write_head(const struct audit_dir *log, const struct merkle *tree,
           struct error *err)
{
    struct checkpoint head = { .size = tree->size };
    scoped_buffer path = { 0 }, text = { 0 };

    (void)snprintf(head.origin, sizeof(head.origin), "%s", log->origin);
    merkle_root(tree, &head.root);
    checkpoint_add_body(&text, &head);
    buffer_printf(&path, "%s/head", log->path);
    return file_write(path.bytes, text.bytes, text.size, FILE_MODE, err);
}

static int
read_tile(const struct audit_dir *log, enum kind kind, int level,
          uint64_t index, size_t max, struct buffer *out, struct error *err)
{
    scoped_buffer path = { 0 };

    add_path(&path, log, kind, level, index,
             merkle_tile_width(kind == KIND_TILE ? level : MERKLE_ENTRIES,
                               index, log->tree.size));
    return file_read(path.bytes, max, out, err);
}

int
audit_dir_read_node(void *context, unsigned level, uint64_t index,
                    struct digest *out, struct error *err)
{
    const struct audit_dir *log = context;
    scoped_buffer tile = { 0 };
    uint64_t tile_index;
    int tile_level;

    merkle_tile_of(level, index, &tile_level, &tile_index);
    if (read_tile(log, KIND_TILE, tile_level, tile_index, TILE_SIZE, &tile,
                  err) != 0)
        return -1;
    if (!merkle_tile_node(buffer_text(&tile), tile.size, level, index, out))
        return error_set(err, ERROR_VERIFY, "audit log: a tile is cut");
    return 0;
}

/* head -> tree, checked against the tiles. */
static int
load(struct audit_dir *log, const char *text, size_t size, struct error *err)
{
    struct checkpoint head;
    struct digest root;

    if (size == 0 || checkpoint_parse_body(text, size, &head) != size ||
        strcmp(head.origin, log->origin) != 0)
        return error_set(err, ERROR_VERIFY, "audit log: the head is damaged");
    log->tree.size = head.size;
    if (merkle_load(audit_dir_read_node, log, head.size, &log->tree, err) != 0)
        return error_prefix(err, "audit log");
    merkle_root(&log->tree, &root);
    if (digest_compare(&root, &head.root) != 0)
        return error_set(err, ERROR_VERIFY,
                         "audit log: the tiles do not give the head's root");
    return 0;
}

int
audit_dir_open(struct audit_dir *log_out, const char *directory,
               const char *origin, struct error *err)
{
    scoped_buffer path = { 0 }, head = { 0 }, text = { 0 };
    struct audit_dir log = { 0 };
    int result;

    if (!checkpoint_origin_valid(origin))
        return error_set(err, ERROR_INVALID, "audit log: not an origin");
    buffer_printf(&path, "%s/", directory);
    checkpoint_add_file_name(&path, origin);
    buffer_printf(&head, "%s/head", path.bytes);
    if (file_make_directory(path.bytes, DIRECTORY_MODE, err) != 0)
        return error_prefix(err, "audit log");
    (void)snprintf(log.origin, sizeof(log.origin), "%s", origin);
    log.path = buffer_take(&path);
    result = file_read(head.bytes, CHECKPOINT_NOTE_MAX, &text, err);
    if (result == 0)
        result = load(&log, buffer_text(&text), text.size, err);
    else if (err->code == ERROR_NOT_FOUND)
        result = write_head(&log, &log.tree, err);
    if (result != 0) {
        free(log.path);
        return -1;
    }
    *log_out = log;
    return 0;
}

int
audit_dir_find(struct audit_dir *log_out, const char *directory,
               const char *origin, struct error *err)
{
    scoped_buffer path = { 0 }, text = { 0 };
    struct audit_dir log = { 0 };

    if (!checkpoint_origin_valid(origin))
        return error_set(err, ERROR_NOT_FOUND, "there is no such log");
    buffer_printf(&path, "%s/", directory);
    checkpoint_add_file_name(&path, origin);
    (void)snprintf(log.origin, sizeof(log.origin), "%s", origin);
    log.path = memory_strdup(path.bytes);
    buffer_add_text(&path, "/head");
    if (file_read(path.bytes, CHECKPOINT_NOTE_MAX, &text, err) != 0) {
        free(log.path);
        return error_set(err, ERROR_NOT_FOUND, "there is no such log");
    }
    if (load(&log, buffer_text(&text), text.size, err) != 0) {
        free(log.path);
        return err->code == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_BUSY, "the log grows: ask again")
                   : -1;
    }
    *log_out = log;
    return 0;
}

void
audit_dir_close(struct audit_dir *log)
{
    free(log->path);
    *log = (struct audit_dir){ 0 };
}

/* Reads the partial tiles of the present head. */
static int
edge_open(struct edge *edge, struct error *err)
{
    const struct audit_dir *log = edge->log;
    const uint64_t size = log->tree.size;

    edge->tree = log->tree;
    if (size % MERKLE_TILE_WIDTH != 0 &&
        (read_tile(log, KIND_ENTRIES, 0, size / MERKLE_TILE_WIDTH, BUNDLE_MAX,
                   &edge->entries, err) != 0 ||
         read_tile(log, KIND_PERSONAL, 0, size / MERKLE_TILE_WIDTH, BUNDLE_MAX,
                   &edge->personal, err) != 0))
        return -1;
    for (int level = 0; level < (int)MERKLE_TILE_LEVELS; level++) {
        uint64_t nodes = merkle_tile_nodes(level, size);
        size_t width = (size_t)(nodes % MERKLE_TILE_WIDTH);
        scoped_buffer tile = { 0 };

        if (width == 0)
            continue;
        if (read_tile(log, KIND_TILE, level, nodes / MERKLE_TILE_WIDTH,
                      TILE_SIZE, &tile, err) != 0)
            return -1;
        if (tile.size != width * DIGEST_SIZE)
            return error_set(err, ERROR_VERIFY, "audit log: a tile is cut");
        memcpy(edge->tile[level], tile.bytes, tile.size);
    }
    return 0;
}

static void
edge_close(struct edge *edge)
{
    buffer_release(&edge->entries);
    buffer_release(&edge->personal);
    free(edge);
}

/* Puts a hash into the tiles; a full tile is written and becomes a hash of the
 * level above.  edge->tree.size counts the leaf already. */
static int
edge_push(struct edge *edge, const struct digest *leaf, struct error *err)
{
    const uint64_t size = edge->tree.size;
    struct digest hash = *leaf;

    for (int level = 0; level < (int)MERKLE_TILE_LEVELS; level++) {
        uint64_t last = merkle_tile_nodes(level, size) - 1;
        struct digest *tile = edge->tile[level];
        struct merkle node = { 0 };

        tile[last % MERKLE_TILE_WIDTH] = hash;
        if ((last + 1) % MERKLE_TILE_WIDTH != 0)
            return 0;
        if (put_tile(edge->log, KIND_TILE, level, last / MERKLE_TILE_WIDTH,
                     MERKLE_TILE_WIDTH, tile, TILE_SIZE, err) != 0)
            return -1;
        for (unsigned i = 0; i < MERKLE_TILE_WIDTH; i++)
            merkle_append(&node, &tile[i]);
        merkle_root(&node, &hash);
    }
    return 0;
}

static int
edge_put_bundles(struct edge *edge, unsigned width, struct error *err)
{
    const uint64_t index = (edge->tree.size - 1) / MERKLE_TILE_WIDTH;

    if (edge->pruned && width < MERKLE_TILE_WIDTH)
        return error_set(err, ERROR_VERIFY,
                         "audit log: the newest entries are pruned");
    if (!edge->pruned &&
        (put_tile(edge->log, KIND_ENTRIES, 0, index, width,
                  edge->entries.bytes, edge->entries.size, err) != 0 ||
         put_tile(edge->log, KIND_PERSONAL, 0, index, width,
                  edge->personal.bytes, edge->personal.size, err) != 0))
        return -1;
    edge->pruned = false;
    buffer_clear(&edge->entries);
    buffer_clear(&edge->personal);
    return 0;
}

static struct digest
leaf_of(const struct audit_entry *entry)
{
    struct digest leaf;

    if (entry->entry == NULL)
        return *entry->leaf;
    record_leaf(entry->entry, entry->size, &leaf);
    return leaf;
}

static int
edge_add(struct edge *edge, const struct audit_entry *entry,
         struct error *err)
{
    const struct digest leaf = leaf_of(entry);

    if (entry->entry == NULL) {
        edge->pruned = true;
    } else {
        record_add_item(&edge->entries, entry->entry, entry->size);
        record_add_item(&edge->personal, entry->personal,
                        entry->personal_size);
    }
    merkle_append(&edge->tree, &leaf);
    if (edge_push(edge, &leaf, err) != 0)
        return -1;
    if (edge->tree.size % MERKLE_TILE_WIDTH == 0)
        return edge_put_bundles(edge, MERKLE_TILE_WIDTH, err);
    return 0;
}

/* Writes the partial tiles of the new head. */
static int
edge_flush(struct edge *edge, struct error *err)
{
    const uint64_t size = edge->tree.size;
    const unsigned rest = (unsigned)(size % MERKLE_TILE_WIDTH);

    if (rest != 0 && edge_put_bundles(edge, rest, err) != 0)
        return -1;
    for (int level = 0; level < (int)MERKLE_TILE_LEVELS; level++) {
        uint64_t nodes = merkle_tile_nodes(level, size);
        unsigned width = (unsigned)(nodes % MERKLE_TILE_WIDTH);

        if (width != 0 &&
            put_tile(edge->log, KIND_TILE, level, nodes / MERKLE_TILE_WIDTH,
                     width, edge->tile[level], width * (size_t)DIGEST_SIZE,
                     err) != 0)
            return -1;
    }
    return sync_log(edge->log, err);
}

static void
remove_partial(const struct audit_dir *log, enum kind kind, int level,
               uint64_t index, unsigned width)
{
    scoped_buffer path = { 0 };

    if (width == 0 || width == MERKLE_TILE_WIDTH)
        return;
    add_path(&path, log, kind, level, index, width);
    (void)unlink(path.bytes);
    *strrchr(path.bytes, '/') = '\0';
    (void)rmdir(path.bytes);
}

/* Partial tiles of the old head that the new one has wider.  What cannot be
 * removed is left: it does no harm. */
static void
remove_old_partials(const struct audit_dir *log, uint64_t old_size)
{
    for (int level = -1; level < (int)MERKLE_TILE_LEVELS; level++) {
        uint64_t index = merkle_tile_nodes(level, old_size) /
                         MERKLE_TILE_WIDTH;
        unsigned width = merkle_tile_width(level, index, old_size);

        if (width == merkle_tile_width(level, index, log->tree.size))
            continue;
        remove_partial(log, level < 0 ? KIND_ENTRIES : KIND_TILE, level, index,
                       width);
        if (level < 0)
            remove_partial(log, KIND_PERSONAL, level, index, width);
    }
}

/* What is laid down must be what is given. */
static int
check_same(struct audit_dir *log, uint64_t index,
           const struct audit_entry *entry, struct error *err)
{
    const struct digest leaf = leaf_of(entry);
    struct digest stored;

    if (audit_dir_read_node(log, 0, index, &stored, err) != 0)
        return -1;
    if (digest_compare(&leaf, &stored) != 0)
        return error_set(err, ERROR_VERIFY,
                         "audit log: another entry is laid down at %llu",
                         (unsigned long long)index);
    return 0;
}

static int
append_new(struct audit_dir *log, const struct audit_entry *entries,
           size_t count, struct error *err)
{
    struct edge *edge = memory_new(1, sizeof(*edge));
    const uint64_t old_size = log->tree.size;
    int result;

    edge->log = log;
    result = edge_open(edge, err);
    for (size_t i = 0; result == 0 && i < count; i++)
        result = edge_add(edge, &entries[i], err);
    if (result == 0)
        result = edge_flush(edge, err);
    if (result == 0)
        result = write_head(log, &edge->tree, err);
    if (result == 0) {
        log->tree = edge->tree;
        remove_old_partials(log, old_size);
    }
    edge_close(edge);
    return result;
}

int
audit_dir_append(struct audit_dir *log, uint64_t from,
                 const struct audit_entry *entries, size_t count,
                 struct error *err)
{
    size_t known = 0;

    if (from > log->tree.size)
        return error_set(err, ERROR_CONFLICT,
                         "audit log: %llu entries are laid down, the next "
                         "would be %llu",
                         (unsigned long long)log->tree.size,
                         (unsigned long long)from);
    for (; known < count && from + known < log->tree.size; known++) {
        if (check_same(log, from + known, &entries[known], err) != 0)
            return -1;
    }
    return known == count
               ? 0
               : append_new(log, entries + known, count - known, err);
}

/* The length of `notes` without a note that a crash cut: notes end with the
 * newline of a signature line. */
static size_t
whole_notes(const char *notes, size_t size)
{
    size_t whole = 0, used;
    struct checkpoint read;
    struct error err;

    while (whole < size && checkpoint_parse(notes + whole, size - whole, &read,
                                            &used, &err) == 0)
        whole += used;
    return whole;
}

/* Where the next note goes in the file of all notes: behind the newest one and
 * what a crash left whole behind it.  -1 when the newest is not there. */
static off_t
notes_end(int fd, const struct buffer *newest, struct error *err)
{
    char tail[2 * CHECKPOINT_NOTE_MAX];
    off_t size = lseek(fd, 0, SEEK_END), start;
    const char *at = tail, *found = newest->size > 0 ? NULL : tail;
    ssize_t got;

    start = size > (off_t)sizeof(tail) ? size - (off_t)sizeof(tail) : 0;
    got = pread(fd, tail, sizeof(tail), start);
    if (size < 0 || got < 0)
        return error_set(err, ERROR_INTERNAL, "checkpoints: %s",
                         strerror(errno));
    while (newest->size > 0 &&
           (at = memmem(at, (size_t)(tail + got - at), newest->bytes,
                        newest->size)) != NULL)
        found = at += newest->size;
    if (found == NULL || (newest->size == 0 && start > 0))
        return error_set(err, ERROR_VERIFY,
                         "checkpoints: the newest one is not among them");
    return start + (found - tail) +
           (off_t)whole_notes(found, (size_t)(tail + got - found));
}

static int
append_note(const char *path, const struct buffer *newest, const char *note,
            size_t size, struct error *err)
{
    scoped_fd fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE);
    off_t end = -1;

    if (fd >= 0)
        end = notes_end(fd, newest, err);
    else
        (void)error_set(err, ERROR_INTERNAL, "checkpoints: %s",
                        strerror(errno));
    if (end < 0)
        return -1;
    if (ftruncate(fd, end) != 0 || lseek(fd, end, SEEK_SET) != end)
        return error_set(err, ERROR_INTERNAL, "checkpoints: %s",
                         strerror(errno));
    if (file_write_all(fd, note, size, err) != 0)
        return -1;
    return fdatasync(fd) == 0 ? 0
                              : error_set(err, ERROR_INTERNAL,
                                          "checkpoints: %s", strerror(errno));
}

/* The note must be the head of the entries that are laid down, now or at the
 * size that it names. */
static int
check_note(struct audit_dir *log, const char *note, size_t size,
           struct error *err)
{
    struct checkpoint checkpoint;
    struct merkle tree;
    struct digest root;
    size_t used;

    if (checkpoint_parse(note, size, &checkpoint, &used, err) != 0)
        return -1;
    if (used != size || strcmp(checkpoint.origin, log->origin) != 0)
        return error_set(err, ERROR_INVALID,
                         "checkpoint: not of the log %s", log->origin);
    if (checkpoint.size > log->tree.size)
        return error_set(err, ERROR_CONFLICT,
                         "checkpoint: its entries are not laid down yet");
    if (merkle_load(audit_dir_read_node, log, checkpoint.size, &tree, err) !=
        0)
        return -1;
    merkle_root(&tree, &root);
    if (digest_compare(&root, &checkpoint.root) != 0)
        return error_set(err, ERROR_VERIFY,
                         "checkpoint: not the head of what is laid down");
    return 0;
}

int
audit_dir_add_checkpoint(struct audit_dir *log, const char *note, size_t size,
                         struct error *err)
{
    scoped_buffer newest = { 0 }, all = { 0 }, old = { 0 };

    if (check_note(log, note, size, err) != 0)
        return -1;
    buffer_printf(&newest, "%s/checkpoint", log->path);
    buffer_printf(&all, "%s/checkpoints", log->path);
    if (file_read(newest.bytes, CHECKPOINT_NOTE_MAX, &old, err) != 0 &&
        err->code != ERROR_NOT_FOUND)
        return -1;
    if (old.size == size && memcmp(old.bytes, note, size) == 0)
        return 0;
    if (append_note(all.bytes, &old, note, size, err) != 0)
        return -1;
    return file_write(newest.bytes, note, size, FILE_MODE, err);
}

int
audit_dir_erase(struct audit_dir *log, uint64_t index, struct error *err)
{
    const uint64_t tile = index / MERKLE_TILE_WIDTH;
    scoped_buffer bundle = { 0 }, erased = { 0 }, path = { 0 };
    const uint8_t *at, *end, *item;
    size_t size;

    if (index >= log->tree.size)
        return error_set(err, ERROR_NOT_FOUND, "audit log: no such entry");
    if (read_tile(log, KIND_PERSONAL, 0, tile, BUNDLE_MAX, &bundle, err) != 0)
        return -1;
    at = (const uint8_t *)buffer_text(&bundle);
    end = at + bundle.size;
    for (uint64_t i = tile * MERKLE_TILE_WIDTH;
         record_next_item(&at, end, &item, &size) == 1; i++)
        record_add_item(&erased, item, i == index ? 0 : size);
    if (at != end)
        return error_set(err, ERROR_VERIFY, "audit log: a bundle is cut");
    add_path(&path, log, KIND_PERSONAL, 0, tile,
             merkle_tile_width(MERKLE_ENTRIES, tile, log->tree.size));
    return file_write(path.bytes, erased.bytes, erased.size, FILE_MODE, err);
}

int
audit_dir_prune(const struct audit_dir *log, uint64_t from, uint64_t to,
                struct error *err)
{
    static const enum kind kinds[] = { KIND_ENTRIES, KIND_PERSONAL };

    assert(to <= log->tree.size / MERKLE_TILE_WIDTH);
    for (uint64_t bundle = from; bundle < to; bundle++)
        for (size_t i = 0; i < 2; i++) {
            scoped_buffer path = { 0 };

            add_path(&path, log, kinds[i], 0, bundle, MERKLE_TILE_WIDTH);
            if (unlink(path.bytes) != 0 && errno != ENOENT)
                return error_set(err, ERROR_INTERNAL, "remove tile: %s",
                                 strerror(errno));
        }
    return 0;
}

int
audit_dir_read_leaves(const struct audit_dir *log, uint64_t bundle,
                      struct digest leaves[MERKLE_TILE_WIDTH],
                      struct error *err)
{
    scoped_buffer tile = { 0 };

    if (read_tile(log, KIND_TILE, 0, bundle, TILE_SIZE, &tile, err) != 0)
        return -1;
    if (tile.size != TILE_SIZE)
        return error_set(err, ERROR_VERIFY, "audit log: a tile is cut");
    memcpy(leaves, tile.bytes, TILE_SIZE);
    return 0;
}

int
audit_dir_add_key(const char *directory, const char *key, struct error *err)
{
    scoped_buffer path = { 0 }, keys = { 0 }, line = { 0 };
    struct checkpoint_key read;

    if (checkpoint_parse_key(key, &read, err) != 0 ||
        file_make_directory(directory, DIRECTORY_MODE, err) != 0)
        return -1;
    buffer_printf(&path, "%s/keys", directory);
    checkpoint_add_key(&line, &read);
    buffer_add_byte(&line, '\n');
    if (file_read(path.bytes, KEYS_MAX, &keys, err) != 0 &&
        err->code != ERROR_NOT_FOUND)
        return -1;
    if (strstr(buffer_text(&keys), line.bytes) != NULL)
        return 0;
    buffer_add(&keys, line.bytes, line.size);
    return file_write(path.bytes, keys.bytes, keys.size, FILE_MODE, err);
}

static void
rotations_path(struct buffer *out, const char *directory)
{
    buffer_printf(out, "%s/rotations", directory);
}

int
audit_dir_read_rotations(const char *directory, struct buffer *notes_out,
                         struct error *err)
{
    scoped_buffer path = { 0 };

    rotations_path(&path, directory);
    if (file_read(path.bytes, KEYCHAIN_SIZE_MAX, notes_out, err) != 0 &&
        err->code != ERROR_NOT_FOUND)
        return error_prefix(err, "key rotations");
    return 0;
}

int
audit_dir_put_rotations(const char *directory, const struct buffer *notes,
                        struct error *err)
{
    scoped_buffer path = { 0 }, old = { 0 };

    if (audit_dir_read_rotations(directory, &old, err) != 0)
        return -1;
    if (old.size > notes->size ||
        (old.size > 0 && memcmp(old.bytes, notes->bytes, old.size) != 0))
        return error_set(err, ERROR_CONFLICT,
                         "key rotations: those that are here are not the "
                         "beginning of these");
    if (old.size == notes->size)
        return 0;
    rotations_path(&path, directory);
    return file_write(path.bytes, notes->bytes, notes->size, FILE_MODE, err);
}
