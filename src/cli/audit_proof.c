/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit_proof.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "cli/audit_walk.h"
#include "core/merkle.h"

#define TITLE "c2sp.org/tlog-proof@v1\n"
#define TILE_SIZE ((size_t)MERKLE_TILE_WIDTH * DIGEST_SIZE)
#define BUNDLE_MAX (MERKLE_TILE_WIDTH * (RECORD_SIZE_MAX + 2UL))

/* A log whose tiles are read. */
struct source {
    const char *path;
    uint64_t size;
};

static int
read_node(void *context, unsigned level, uint64_t index, struct digest *out,
          struct error *err)
{
    const struct source *log = context;
    scoped_buffer path = { 0 }, tile = { 0 };
    uint64_t tile_index;
    int tile_level;

    merkle_tile_of(level, index, &tile_level, &tile_index);
    audit_walk_path(&path, log->path, tile_level, tile_index,
                    merkle_tile_width(tile_level, tile_index, log->size),
                    false);
    if (file_read(path.bytes, TILE_SIZE, &tile, err) != 0)
        return -1;
    if (!merkle_tile_node(buffer_text(&tile), tile.size, level, index, out))
        return error_set(err, ERROR_VERIFY, "audit log: a tile is cut");
    return 0;
}

static int
read_entry(const struct source *log, uint64_t index, struct buffer *entry,
           struct error *err)
{
    const uint64_t bundle_index = index / MERKLE_TILE_WIDTH;
    scoped_buffer path = { 0 }, bundle = { 0 };
    const uint8_t *at, *end, *item;
    size_t size;

    audit_walk_path(
        &path, log->path, MERKLE_ENTRIES, bundle_index,
        merkle_tile_width(MERKLE_ENTRIES, bundle_index, log->size), false);
    if (file_read(path.bytes, BUNDLE_MAX, &bundle, err) != 0) {
        if (err->code != ERROR_NOT_FOUND)
            return -1;
        (void)error_set(err, ERROR_GONE,
                        "entry %" PRIu64 " is not here any more: its hash is "
                        "all that is left",
                        index);
        return error_help(err, "audit verify says whether it was pruned by "
                               "policy; a copy or a proof of before has it");
    }
    at = (const uint8_t *)buffer_text(&bundle);
    end = at + bundle.size;
    for (uint64_t i = 0; i <= index % MERKLE_TILE_WIDTH; i++) {
        if (record_next_item(&at, end, &item, &size) != 1)
            return error_set(err, ERROR_VERIFY, "audit log: a bundle is cut");
    }
    buffer_add(entry, item, size);
    return 0;
}

/* Reads LOG/head for the size of the tiles and LOG/checkpoint. */
static int
open_source(struct source *log, struct checkpoint *checkpoint,
            struct buffer *note, struct error *err)
{
    scoped_buffer path = { 0 }, text = { 0 };
    struct checkpoint head;
    size_t used;

    buffer_printf(&path, "%s/head", log->path);
    if (file_read(path.bytes, CHECKPOINT_NOTE_MAX, &text, err) != 0)
        return error_prefix(err, "audit log");
    if (checkpoint_parse_body(buffer_text(&text), text.size, &head) !=
            text.size ||
        text.size == 0)
        return error_set(err, ERROR_VERIFY, "audit log: the head is damaged");
    log->size = head.size;
    buffer_clear(&path);
    buffer_printf(&path, "%s/checkpoint", log->path);
    if (file_read(path.bytes, CHECKPOINT_NOTE_MAX, note, err) != 0)
        return err->code == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_CONFLICT,
                               "audit log: it has no checkpoint yet")
                   : -1;
    return checkpoint_parse(buffer_text(note), note->size, checkpoint, &used,
                            err);
}

static void
add_proof(struct buffer *out, uint64_t index, const struct buffer *entry,
          const struct merkle_proof *proof, const struct buffer *note)
{
    buffer_add_text(out, TITLE "extra ");
    base64_encode(out, entry->bytes, entry->size);
    buffer_printf(out, "\nindex %" PRIu64 "\n", index);
    for (size_t i = 0; i < proof->count; i++) {
        base64_encode(out, proof->hash[i].bytes, DIGEST_SIZE);
        buffer_add_byte(out, '\n');
    }
    buffer_add_byte(out, '\n');
    buffer_add(out, note->bytes, note->size);
}

int
audit_proof_make(const char *directory, const char *origin, uint64_t index,
                 struct buffer *proof_out, struct error *err)
{
    scoped_buffer path = { 0 }, entry = { 0 }, note = { 0 };
    struct checkpoint checkpoint = { .size = 0 };
    struct merkle_proof proof = { 0 };
    struct source log = { 0 };

    buffer_printf(&path, "%s/", directory);
    checkpoint_add_file_name(&path, origin);
    log.path = path.bytes;
    if (open_source(&log, &checkpoint, &note, err) != 0)
        return -1;
    if (index >= log.size)
        return error_set(err, ERROR_NOT_FOUND,
                         "audit log: it has %" PRIu64 " entries", log.size);
    if (index >= checkpoint.size || checkpoint.size > log.size)
        return error_set(err, ERROR_CONFLICT,
                         "audit log: the newest checkpoint covers %" PRIu64
                         " entries",
                         checkpoint.size);
    if (read_entry(&log, index, &entry, err) != 0 ||
        merkle_prove_inclusion(read_node, &log, index, checkpoint.size, &proof,
                               err) != 0)
        return -1;
    add_proof(proof_out, index, &entry, &proof, &note);
    return 0;
}

/* A position in the text of a proof. */
struct reader {
    const char *at;
    const char *end;
};

/* The next line behind `prefix`; NULL when there is none. */
static const char *
next_line(struct reader *in, const char *prefix, size_t *size_out)
{
    const size_t skip = strlen(prefix);
    const char *line = in->at;
    const char *stop = line < in->end
                           ? memchr(line, '\n', (size_t)(in->end - line))
                           : NULL;

    if (stop == NULL || (size_t)(stop - line) < skip ||
        memcmp(line, prefix, skip) != 0)
        return NULL;
    in->at = stop + 1;
    *size_out = (size_t)(stop - line) - skip;
    return line + skip;
}

static int
read_extra(struct reader *in, struct buffer *entry)
{
    uint8_t *bytes;
    const char *text;
    size_t size;
    int got;

    text = next_line(in, "extra ", &size);
    if (text == NULL)
        return -1;
    bytes = memory_new(size + 1, 1);
    got = base64_decode(text, size, bytes, size);
    if (got > 0)
        buffer_add(entry, bytes, (size_t)got);
    free(bytes);
    return got > 0 ? 0 : -1;
}

static int
read_index(struct reader *in, uint64_t *index_out)
{
    uint64_t index = 0;
    const char *text;
    size_t size;

    text = next_line(in, "index ", &size);
    if (text == NULL || size == 0 || size > 18 || (size > 1 && *text == '0'))
        return -1;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        index = 10 * index + (uint64_t)(text[i] - '0');
    }
    *index_out = index;
    return 0;
}

static int
read_hashes(struct reader *in, struct merkle_proof *proof)
{
    const char *text;
    size_t size;

    for (proof->count = 0;
         (text = next_line(in, "", &size)) != NULL && size > 0;
         proof->count++) {
        if (proof->count >= MERKLE_PROOF_MAX ||
            base64_decode(text, size, proof->hash[proof->count].bytes,
                          DIGEST_SIZE) != DIGEST_SIZE)
            return -1;
    }
    return text == NULL ? -1 : 0;
}

static int
check(const struct reader *in, const struct merkle_proof *hashes,
      const uint8_t public_key[SIGN_PUBLIC_SIZE], struct audit_proof *proof,
      struct error *err)
{
    const size_t size = (size_t)(in->end - in->at);
    struct digest leaf;
    size_t used;

    if (checkpoint_check(in->at, size, public_key, &proof->checkpoint, &used,
                         err) != 0)
        return -1;
    record_leaf(proof->entry.bytes, proof->entry.size, &leaf);
    if (used != size ||
        !merkle_check_inclusion(proof->index, proof->checkpoint.size, &leaf,
                                hashes->hash, hashes->count,
                                &proof->checkpoint.root))
        return error_set(err, ERROR_VERIFY,
                         "proof: the entry is not in the signed log");
    if (record_decode(proof->entry.bytes, proof->entry.size, NULL, 0,
                      &proof->record, err) != 0)
        return -1;
    if (proof->record.seq != proof->index || proof->record.log == NULL ||
        strcmp(proof->record.log, proof->checkpoint.origin) != 0)
        return error_set(err, ERROR_VERIFY,
                         "proof: the entry is of another log or place");
    return 0;
}

int
audit_proof_check(const char *text, size_t size,
                  const uint8_t public_key[SIGN_PUBLIC_SIZE],
                  struct audit_proof *proof_out, struct error *err)
{
    struct reader in = { text, text + size };
    struct audit_proof proof = { 0 };
    struct merkle_proof hashes;
    int result;

    if (size > AUDIT_PROOF_MAX || size < strlen(TITLE) ||
        memcmp(text, TITLE, strlen(TITLE)) != 0)
        return error_set(err, ERROR_INVALID, "proof: not a tlog-proof");
    in.at += strlen(TITLE);
    if (read_extra(&in, &proof.entry) != 0 ||
        read_index(&in, &proof.index) != 0 || read_hashes(&in, &hashes) != 0)
        result = error_set(err, ERROR_INVALID, "proof: a line is malformed");
    else
        result = check(&in, &hashes, public_key, &proof, err);
    if (result == 0)
        *proof_out = proof;
    else
        buffer_release(&proof.entry);
    return result;
}
