/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forger DATA SIGNER LOG OLD NEW: what root of the control plane's host can
 * do while nothing runs.  In the first entry of the log (an origin) that has
 * the text OLD it puts NEW in its place, which is as long, and makes all of it
 * true again: the rows and the head in the store, tiles, checkpoints, the
 * signature by the signer's own key, and what the signer remembers.
 */
#include <ftw.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "core/checkpoint.h"
#include "identity/audit_dir.h"

#define ENTRIES_MAX 20000
#define BUNDLE_MAX ((size_t)1 << 26)

static struct buffer entries[ENTRIES_MAX], personal[ENTRIES_MAX];
static size_t count;

static void
must(int rc, const char *what)
{
    if (rc == 0)
        return;
    (void)fprintf(stderr, "forger: %s\n", what);
    exit(1);
}

static void
read_bundles(const struct audit_dir *log)
{
    for (uint64_t i = 0; i * MERKLE_TILE_WIDTH < log->tree.size; i++) {
        unsigned width = merkle_tile_width(MERKLE_ENTRIES, i, log->tree.size);
        scoped_buffer tile = { 0 }, path = { 0 }, persons = { 0 };
        const uint8_t *at, *end, *person, *person_end, *item;
        scoped_buffer bytes = { 0 }, others = { 0 };
        struct error err;
        size_t size;

        merkle_tile_path(&tile, MERKLE_ENTRIES, i, width);
        buffer_printf(&path, "%s/%s", log->path, tile.bytes);
        buffer_printf(&persons, "%s/personal/%s", log->path,
                      tile.bytes + strlen("tile/entries/"));
        must(file_read(path.bytes, BUNDLE_MAX, &bytes, &err), "bundle");
        must(file_read(persons.bytes, BUNDLE_MAX, &others, &err), "persons");
        at = (const uint8_t *)buffer_text(&bytes);
        end = at + bytes.size;
        person = (const uint8_t *)buffer_text(&others);
        person_end = person + others.size;
        while (record_next_item(&at, end, &item, &size) == 1) {
            must(count == ENTRIES_MAX, "too many entries");
            buffer_add(&entries[count], item, size);
            must(record_next_item(&person, person_end, &item, &size) != 1,
                 "persons end");
            buffer_add(&personal[count++], item, size);
        }
    }
}

static size_t
edit(const char *old, const char *new)
{
    must(strlen(old) != strlen(new), "OLD and NEW are not of one length");
    for (size_t i = 0; i < count; i++) {
        char *found =
            memmem(entries[i].bytes, entries[i].size, old, strlen(old));

        if (found == NULL)
            continue;
        memcpy(found, new, strlen(new));
        return i;
    }
    must(1, "no entry has that text");
    return 0;
}

static int
remove_one(const char *path, const struct stat *status, int kind,
           struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

/* Tiles, one checkpoint of the whole log, and the signer's memory. */
static void
lay_down(const char *directory, const char *signer, const char *origin,
         struct merkle *tree)
{
    scoped_buffer note = { 0 }, key_path = { 0 }, head_path = { 0 };
    scoped_buffer path = { 0 }, body = { 0 };
    struct checkpoint head = { .size = count };
    struct audit_dir log;
    struct sign_key key;
    struct error err;

    buffer_printf(&path, "%s/", directory);
    checkpoint_add_file_name(&path, origin);
    (void)nftw(path.bytes, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    must(audit_dir_open(&log, directory, origin, &err), "log");
    for (size_t i = 0; i < count; i++) {
        const struct audit_entry entry = { entries[i].bytes, entries[i].size,
                                           personal[i].bytes, personal[i].size,
                                           NULL };

        must(audit_dir_append(&log, i, &entry, 1, &err), "append");
    }
    (void)snprintf(head.origin, sizeof(head.origin), "%s", origin);
    merkle_root(&log.tree, &head.root);
    buffer_printf(&key_path, "%s/key", signer);
    must(sign_key_open(key_path.bytes, &key, &err), "key");
    checkpoint_sign(&note, &head, &key);
    must(audit_dir_add_checkpoint(&log, note.bytes, note.size, &err), "note");
    buffer_printf(&head_path, "%s/heads/", signer);
    checkpoint_add_file_name(&head_path, origin);
    checkpoint_add_body(&body, &head);
    must(file_write(head_path.bytes, body.bytes, body.size, 0600, &err),
         "signer's head");
    *tree = log.tree;
    audit_dir_close(&log);
}

static void
put_row(sqlite3 *db, const char *id, size_t index)
{
    scoped_buffer body = { 0 };
    char leaf[DIGEST_TEXT_MAX];
    struct digest digest;
    sqlite3_stmt *row = NULL;

    base64_encode(&body, entries[index].bytes, entries[index].size);
    record_leaf(entries[index].bytes, entries[index].size, &digest);
    digest_format(&digest, leaf);
    must(sqlite3_prepare_v2(db,
                            "UPDATE event SET body = ?, leaf = ? "
                            "WHERE parent = ? AND position = ?",
                            -1, &row, NULL) != SQLITE_OK,
         "row");
    must(sqlite3_bind_text(row, 1, body.bytes, -1, SQLITE_TRANSIENT) |
             sqlite3_bind_text(row, 2, leaf, -1, SQLITE_TRANSIENT) |
             sqlite3_bind_text(row, 3, id, -1, SQLITE_TRANSIENT) |
             sqlite3_bind_int64(row, 4, (sqlite3_int64)index),
         "bind");
    must(sqlite3_step(row) != SQLITE_DONE || sqlite3_changes(db) != 1,
         "update");
    (void)sqlite3_finalize(row);
}

static void
put_head(sqlite3 *db, const char *id, const struct merkle *tree)
{
    scoped_buffer bytes = { 0 }, name = { 0 };
    sqlite3_stmt *row = NULL;

    for (unsigned level = 0; level < MERKLE_LEVELS; level++)
        if ((tree->size >> level & 1) != 0)
            buffer_add(&bytes, tree->frontier[level].bytes, DIGEST_SIZE);
    buffer_printf(&name, "log:%s", id);
    must(sqlite3_prepare_v2(db, "UPDATE counter SET bytes = ? WHERE name = ?",
                            -1, &row, NULL) != SQLITE_OK,
         "head");
    must(sqlite3_bind_blob(row, 1, bytes.bytes, (int)bytes.size,
                           SQLITE_TRANSIENT) |
             sqlite3_bind_text(row, 2, name.bytes, -1, SQLITE_TRANSIENT),
         "bind");
    must(sqlite3_step(row) != SQLITE_DONE || sqlite3_changes(db) != 1,
         "head of the store");
    (void)sqlite3_finalize(row);
}

int
main(int argc, char **argv)
{
    scoped_buffer directory = { 0 }, store = { 0 };
    struct merkle tree;
    struct audit_dir log;
    struct error err;
    const char *id;
    sqlite3 *db = NULL;
    size_t index;

    must(argc != 6, "DATA SIGNER LOG OLD NEW");
    id = strrchr(argv[3], '/') + 1;
    if (strcmp(id, CHECKPOINT_PLATFORM) == 0)
        id = strndup(argv[3], strcspn(argv[3], "~/"));
    buffer_printf(&directory, "%s/audit", argv[1]);
    buffer_printf(&store, "%s/store/bulkhead.db", argv[1]);
    must(audit_dir_find(&log, directory.bytes, argv[3], &err), "no such log");
    read_bundles(&log);
    audit_dir_close(&log);
    index = edit(argv[4], argv[5]);
    lay_down(directory.bytes, argv[2], argv[3], &tree);
    must(sqlite3_open(store.bytes, &db) != SQLITE_OK, "store");
    put_row(db, id, index);
    put_head(db, id, &tree);
    must(sqlite3_close(db) != SQLITE_OK, "close");
    (void)printf("%zu\n", index);
    return 0;
}
