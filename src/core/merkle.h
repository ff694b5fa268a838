/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_MERKLE_H
#define CORE_MERKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"

/*
 * Is this entry in the log, and does this log extend that one?
 *
 * Hashing of RFC 6962 section 2.1: a leaf is SHA-256(0x00 || entry), a node
 * SHA-256(0x01 || left || right), the root of nothing SHA-256("").  A node is
 * named (level, index): it covers the leaves [index << level,
 * (index + 1) << level), all of them present.  Tiles are those of C2SP
 * tlog-tiles: 256 hashes each, tile level L holds the nodes of level 8 L.
 */

#define MERKLE_LEVELS 64
/* No proof in a tree of fewer than 2^63 leaves has more hashes; append keeps
 * the size below that. */
#define MERKLE_PROOF_MAX 64

/* A log's head: what is needed to append and to know the root.  Zero is the
 * empty log.  frontier[l] is used when bit l of size is set. */
struct merkle {
    uint64_t size;
    struct digest frontier[MERKLE_LEVELS];
};

void merkle_hash_leaf(const void *entry, size_t size, struct digest *out);
void merkle_hash_node(const struct digest *left, const struct digest *right,
                      struct digest *out);

/* leaf is the leaf's hash (merkle_hash_leaf, record_leaf). */
void merkle_append(struct merkle *tree, const struct digest *leaf);
/* Appends 2^level leaves at once by their node; size must be a multiple of
 * 2^level. */
void merkle_append_node(struct merkle *tree, unsigned level,
                        const struct digest *node);
void merkle_root(const struct merkle *tree, struct digest *root_out);

/* Gives the hash of a complete node; 0, or -1 with err. */
typedef int merkle_read(void *context, unsigned level, uint64_t index,
                        struct digest *out, struct error *err);

/* The head of the first `size` leaves, from stored nodes. */
int merkle_load(merkle_read *read, void *context, uint64_t size,
                struct merkle *tree_out, struct error *err);

struct merkle_proof {
    size_t count;
    struct digest hash[MERKLE_PROOF_MAX];
};

/* RFC 6962 2.1.1: leaf `index` is in the tree of `size` leaves.
 * index < size. */
int merkle_prove_inclusion(merkle_read *read, void *context, uint64_t index,
                           uint64_t size, struct merkle_proof *proof_out,
                           struct error *err);
/* RFC 6962 2.1.2: the tree of new_size leaves extends that of old_size.
 * old_size <= new_size; the proof is empty when they are equal or old is 0. */
int merkle_prove_consistency(merkle_read *read, void *context,
                             uint64_t old_size, uint64_t new_size,
                             struct merkle_proof *proof_out,
                             struct error *err);
/* The same proof without stored nodes: old is the head at the old size and
 * leaves are the hashes of the `count` leaves that came after. */
void merkle_prove_extension(const struct merkle *old,
                            const struct digest *leaves, size_t count,
                            struct merkle_proof *proof_out);

bool merkle_check_inclusion(uint64_t index, uint64_t size,
                            const struct digest *leaf,
                            const struct digest *proof, size_t count,
                            const struct digest *root);
bool merkle_check_consistency(uint64_t old_size, const struct digest *old_root,
                              uint64_t new_size,
                              const struct digest *new_root,
                              const struct digest *proof, size_t count);

#define MERKLE_TILE_WIDTH 256U
#define MERKLE_TILE_LEVELS 8U
/* In place of a tile level: the bundles of entries. */
#define MERKLE_ENTRIES (-1)

/* Nodes (level -1: entries) that the tiles of one level hold for a log of
 * `size` entries. */
uint64_t merkle_tile_nodes(int level, uint64_t size);
/* Width of tile `index` of a level in a log of `size`: 256 when it is full, 0
 * when there is none. */
unsigned merkle_tile_width(int level, uint64_t index, uint64_t size);
/* The tile that holds what node (level, index) is computed from, and the node
 * from that tile's bytes; false when the tile is too short. */
void merkle_tile_of(unsigned level, uint64_t index, int *tile_level_out,
                    uint64_t *tile_index_out);
bool merkle_tile_node(const void *tile, size_t size, unsigned level,
                      uint64_t index, struct digest *out);
/* Appends "tile/1/x001/x234/067", with ".p/WIDTH" when width < 256. */
void merkle_tile_path(struct buffer *out, int level, uint64_t index,
                      unsigned width);

#endif
