/* SPDX-License-Identifier: Apache-2.0 */
#include "core/merkle.h"

#include <assert.h>
#include <string.h>

void
merkle_hash_leaf(const void *entry, size_t size, struct digest *out)
{
    digest_of_two("\x00", 1, entry, size, out);
}

void
merkle_hash_node(const struct digest *left, const struct digest *right,
                 struct digest *out)
{
    uint8_t node[1 + 2 * DIGEST_SIZE];

    node[0] = 1;
    memcpy(node + 1, left->bytes, DIGEST_SIZE);
    memcpy(node + 1 + DIGEST_SIZE, right->bytes, DIGEST_SIZE);
    digest_of(node, sizeof(node), out);
}

void
merkle_append_node(struct merkle *tree, unsigned level,
                   const struct digest *node)
{
    const uint64_t leaves = UINT64_C(1) << level;
    struct digest carry = *node;
    unsigned at = level;

    assert(level < MERKLE_LEVELS - 1 && (tree->size & (leaves - 1)) == 0);
    assert(tree->size < (UINT64_C(1) << 63) - leaves);
    for (; ((tree->size >> at) & 1) != 0; at++)
        merkle_hash_node(&tree->frontier[at], &carry, &carry);
    tree->frontier[at] = carry;
    tree->size += leaves;
}

void
merkle_append(struct merkle *tree, const struct digest *leaf)
{
    merkle_append_node(tree, 0, leaf);
}

void
merkle_root(const struct merkle *tree, struct digest *root_out)
{
    struct digest root;
    bool any = false;

    for (unsigned level = 0; level < MERKLE_LEVELS; level++) {
        if (((tree->size >> level) & 1) == 0)
            continue;
        if (any)
            merkle_hash_node(&tree->frontier[level], &root, &root);
        else
            root = tree->frontier[level];
        any = true;
    }
    if (!any)
        digest_of("", 0, &root);
    *root_out = root;
}

/* The level of the largest complete node that begins at `start` and ends at or
 * before `end`; in the ranges used here start is aligned to it. */
static unsigned
largest_level(uint64_t start, uint64_t end)
{
    return 63U - (unsigned)__builtin_clzll(end - start);
}

/* MTH(D[start:end]) for a range that RFC 6962 splits off. */
static int
range_hash(merkle_read *read, void *context, uint64_t start, uint64_t end,
           struct digest *out, struct error *err)
{
    struct digest piece[MERKLE_LEVELS];
    unsigned count = 0;

    while (start < end) {
        unsigned level = largest_level(start, end);

        if (read(context, level, start >> level, &piece[count], err) != 0)
            return -1;
        start += UINT64_C(1) << level;
        count++;
    }
    assert(count > 0);
    *out = piece[--count];
    while (count > 0)
        merkle_hash_node(&piece[--count], out, out);
    return 0;
}

int
merkle_load(merkle_read *read, void *context, uint64_t size,
            struct merkle *tree_out, struct error *err)
{
    struct merkle tree = { .size = size };

    for (unsigned level = 0; level < MERKLE_LEVELS; level++) {
        if (((size >> level) & 1) != 0 &&
            read(context, level, (size >> level) - 1, &tree.frontier[level],
                 err) != 0)
            return -1;
    }
    *tree_out = tree;
    return 0;
}

/* The leaves of the left child of a node over `count` > 1 leaves: the largest
 * power of two below count. */
static uint64_t
left_leaves(uint64_t count)
{
    return UINT64_C(1) << (63U - (unsigned)__builtin_clzll(count - 1));
}

/* Proofs are found from the root down and written from the leaf up. */
static void
proof_reverse(struct merkle_proof *proof)
{
    for (size_t i = 0, j = proof->count; i + 1 < j; i++, j--) {
        struct digest swap = proof->hash[i];

        proof->hash[i] = proof->hash[j - 1];
        proof->hash[j - 1] = swap;
    }
}

int
merkle_prove_inclusion(merkle_read *read, void *context, uint64_t index,
                       uint64_t size, struct merkle_proof *proof_out,
                       struct error *err)
{
    struct merkle_proof proof = { 0 };
    uint64_t start = 0, end = size;

    assert(index < size);
    while (end - start > 1) {
        uint64_t middle = start + left_leaves(end - start);
        bool left = index < middle;

        if (range_hash(read, context, left ? middle : start,
                       left ? end : middle, &proof.hash[proof.count],
                       err) != 0)
            return -1;
        proof.count++;
        if (left)
            end = middle;
        else
            start = middle;
    }
    proof_reverse(&proof);
    *proof_out = proof;
    return 0;
}

int
merkle_prove_consistency(merkle_read *read, void *context, uint64_t old_size,
                         uint64_t new_size, struct merkle_proof *proof_out,
                         struct error *err)
{
    struct merkle_proof proof = { 0 };
    uint64_t start = 0, end = new_size;

    assert(old_size <= new_size);
    while (old_size > 0 && end != old_size) {
        uint64_t middle = start + left_leaves(end - start);
        bool left = old_size <= middle;

        if (range_hash(read, context, left ? middle : start,
                       left ? end : middle, &proof.hash[proof.count],
                       err) != 0)
            return -1;
        proof.count++;
        if (left)
            end = middle;
        else
            start = middle;
    }
    /* When the old tree is itself a node of the new one, the verifier has its
     * root already. */
    if (start > 0) {
        if (range_hash(read, context, start, end, &proof.hash[proof.count],
                       err) != 0)
            return -1;
        proof.count++;
    }
    proof_reverse(&proof);
    *proof_out = proof;
    return 0;
}

struct extension {
    const struct merkle *old;
    const struct digest *leaves;
    size_t count;
};

/* A consistency proof holds only nodes of the old frontier and nodes wholly
 * behind the old size. */
static int
extension_read(void *context, unsigned level, uint64_t index,
               struct digest *out, struct error *err)
{
    const struct extension *at = context;
    uint64_t start = index << level, end = (index + 1) << level;
    struct merkle tree = { 0 };

    (void)err;
    if (end <= at->old->size) {
        assert(((at->old->size >> level) & 1) != 0 &&
               index == (at->old->size >> level) - 1);
        *out = at->old->frontier[level];
        return 0;
    }
    assert(start >= at->old->size && end - at->old->size <= at->count);
    for (uint64_t i = start; i < end; i++)
        merkle_append(&tree, &at->leaves[i - at->old->size]);
    merkle_root(&tree, out);
    return 0;
}

void
merkle_prove_extension(const struct merkle *old, const struct digest *leaves,
                       size_t count, struct merkle_proof *proof_out)
{
    struct extension at = { old, leaves, count };
    struct error err;
    int result = merkle_prove_consistency(extension_read, &at, old->size,
                                          old->size + count, proof_out, &err);

    assert(result == 0);
}

/* RFC 9162 2.1.3.2. */
bool
merkle_check_inclusion(uint64_t index, uint64_t size,
                       const struct digest *leaf, const struct digest *proof,
                       size_t count, const struct digest *root)
{
    uint64_t at = index, last = size - 1;
    struct digest hash = *leaf;

    if (index >= size)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (last == 0)
            return false;
        if ((at & 1) != 0 || at == last) {
            merkle_hash_node(&proof[i], &hash, &hash);
            while ((at & 1) == 0 && at != 0) {
                at >>= 1;
                last >>= 1;
            }
        } else {
            merkle_hash_node(&hash, &proof[i], &hash);
        }
        at >>= 1;
        last >>= 1;
    }
    return last == 0 && digest_compare(&hash, root) == 0;
}

/* RFC 9162 2.1.4.2, from the node where the two trees part upwards. */
static bool
check_from(uint64_t at, uint64_t last, const struct digest *node,
           const struct digest *proof, size_t count,
           const struct digest *old_root, const struct digest *new_root)
{
    struct digest old_hash = *node, new_hash = *node;

    for (size_t i = 0; i < count; i++) {
        if (last == 0)
            return false;
        if ((at & 1) != 0 || at == last) {
            merkle_hash_node(&proof[i], &old_hash, &old_hash);
            merkle_hash_node(&proof[i], &new_hash, &new_hash);
            while ((at & 1) == 0 && at != 0) {
                at >>= 1;
                last >>= 1;
            }
        } else {
            merkle_hash_node(&new_hash, &proof[i], &new_hash);
        }
        at >>= 1;
        last >>= 1;
    }
    return last == 0 && digest_compare(&old_hash, old_root) == 0 &&
           digest_compare(&new_hash, new_root) == 0;
}

bool
merkle_check_consistency(uint64_t old_size, const struct digest *old_root,
                         uint64_t new_size, const struct digest *new_root,
                         const struct digest *proof, size_t count)
{
    uint64_t at = old_size - 1, last = new_size - 1;
    struct digest empty;

    if (old_size > new_size)
        return false;
    if (old_size == new_size)
        return count == 0 && digest_compare(old_root, new_root) == 0;
    if (old_size == 0) {
        digest_of("", 0, &empty);
        return count == 0 && digest_compare(old_root, &empty) == 0;
    }
    while ((at & 1) != 0) {
        at >>= 1;
        last >>= 1;
    }
    if ((old_size & (old_size - 1)) == 0)
        return check_from(at, last, old_root, proof, count, old_root,
                          new_root);
    return count > 0 && check_from(at, last, &proof[0], proof + 1, count - 1,
                                   old_root, new_root);
}

uint64_t
merkle_tile_nodes(int level, uint64_t size)
{
    return level <= 0 ? size : size >> (8U * (unsigned)level);
}

unsigned
merkle_tile_width(int level, uint64_t index, uint64_t size)
{
    uint64_t nodes = merkle_tile_nodes(level, size);

    if (index < nodes / MERKLE_TILE_WIDTH)
        return MERKLE_TILE_WIDTH;
    return index == nodes / MERKLE_TILE_WIDTH
               ? (unsigned)(nodes % MERKLE_TILE_WIDTH)
               : 0;
}

void
merkle_tile_of(unsigned level, uint64_t index, int *tile_level_out,
               uint64_t *tile_index_out)
{
    *tile_level_out = (int)(level / 8);
    *tile_index_out = (index << (level % 8)) / MERKLE_TILE_WIDTH;
}

bool
merkle_tile_node(const void *tile, size_t size, unsigned level, uint64_t index,
                 struct digest *out)
{
    const size_t count = (size_t)1 << (level % 8);
    const size_t first = (size_t)(index << (level % 8)) % MERKLE_TILE_WIDTH;
    const uint8_t *bytes = tile;
    struct merkle node = { 0 };
    struct digest hash;

    if (size < (first + count) * DIGEST_SIZE)
        return false;
    for (size_t i = first; i < first + count; i++) {
        memcpy(hash.bytes, bytes + i * DIGEST_SIZE, DIGEST_SIZE);
        merkle_append(&node, &hash);
    }
    merkle_root(&node, out);
    return true;
}

void
merkle_tile_path(struct buffer *out, int level, uint64_t index, unsigned width)
{
    uint64_t scale = 1;

    if (level == MERKLE_ENTRIES)
        buffer_add_text(out, "tile/entries/");
    else
        buffer_printf(out, "tile/%d/", level);
    while (index / scale >= 1000)
        scale *= 1000;
    for (; scale > 1; scale /= 1000)
        buffer_printf(out, "x%03u/", (unsigned)(index / scale % 1000));
    buffer_printf(out, "%03u", (unsigned)(index % 1000));
    if (width < MERKLE_TILE_WIDTH)
        buffer_printf(out, ".p/%u", width);
}
