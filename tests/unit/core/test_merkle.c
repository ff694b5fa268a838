/* SPDX-License-Identifier: Apache-2.0 */
#include "core/merkle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

#include "base/hash.h"

#define LEAVES 300

/* The entries and roots that the Certificate Transparency reference code
 * tests with. */
static const struct {
    size_t size;
    const char *bytes;
} reference[] = {
    { 0, "" },
    { 1, "\x00" },
    { 1, "\x10" },
    { 2, "\x20\x21" },
    { 2, "\x30\x31" },
    { 4, "\x40\x41\x42\x43" },
    { 8, "\x50\x51\x52\x53\x54\x55\x56\x57" },
    { 16, "\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f" },
};

static const char *const roots[] = {
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
};

/* Leaves and heads of all sizes of one log, computed by definition. */
struct fixture {
    struct digest leaf[LEAVES];
    struct digest root[LEAVES + 1];
    struct merkle tree[LEAVES + 1];
};

static void
assert_digest(const struct digest *digest, const char *expected)
{
    char text[DIGEST_TEXT_MAX];

    digest_format(digest, text);
    assert_string_equal(text, expected);
}

/* MTH of RFC 6962, as it is written there. */
static struct digest
definition(const struct digest *leaf, size_t count)
{
    struct digest left, right, root;
    size_t half = 1;

    if (count == 0) {
        digest_of("", 0, &root);
        return root;
    }
    if (count == 1)
        return leaf[0];
    while (half * 2 < count)
        half *= 2;
    left = definition(leaf, half);
    right = definition(leaf + half, count - half);
    merkle_hash_node(&left, &right, &root);
    return root;
}

static int
leaf_read(void *context, unsigned level, uint64_t index, struct digest *out,
          struct error *err)
{
    const struct digest *leaf = context;

    (void)err;
    assert_true(((index + 1) << level) <= LEAVES);
    *out = definition(leaf + (index << level), (size_t)1 << level);
    return 0;
}

static int
failing_read(void *context, unsigned level, uint64_t index,
             struct digest *out, struct error *err)
{
    (void)context;
    (void)level;
    (void)index;
    (void)out;
    return error_set(err, ERROR_NOT_FOUND, "no such tile");
}

static int
setup(void **state)
{
    static struct fixture fixture;
    struct merkle tree = { 0 };

    for (uint32_t i = 0; i < LEAVES; i++)
        merkle_hash_leaf(&i, sizeof(i), &fixture.leaf[i]);
    for (size_t i = 0; i <= LEAVES; i++) {
        fixture.tree[i] = tree;
        merkle_root(&tree, &fixture.root[i]);
        if (i < LEAVES)
            merkle_append(&tree, &fixture.leaf[i]);
    }
    *state = &fixture;
    return 0;
}

static void
reference_entries_give_the_reference_roots(void **state)
{
    struct merkle tree = { 0 };
    struct digest leaf, root;

    (void)state;
    merkle_root(&tree, &root);
    assert_digest(&root, roots[0]);
    for (size_t i = 0; i < 8; i++) {
        merkle_hash_leaf(reference[i].bytes, reference[i].size, &leaf);
        merkle_append(&tree, &leaf);
        merkle_root(&tree, &root);
        assert_digest(&root, roots[i + 1]);
    }
    assert_int_equal(tree.size, 8);
}

static void
the_frontier_root_equals_the_definition(void **state)
{
    const struct fixture *f = *state;

    for (size_t i = 0; i <= LEAVES; i++) {
        struct digest root = definition(f->leaf, i);

        assert_int_equal(digest_compare(&root, &f->root[i]), 0);
    }
}

static void
a_head_is_loaded_from_stored_nodes(void **state)
{
    struct fixture *f = *state;
    struct merkle tree;
    struct digest root;
    struct error err;

    for (size_t i = 0; i <= LEAVES; i++) {
        assert_int_equal(merkle_load(leaf_read, f->leaf, i, &tree, &err), 0);
        merkle_root(&tree, &root);
        assert_int_equal(digest_compare(&root, &f->root[i]), 0);
    }
    assert_int_equal(merkle_load(failing_read, NULL, 3, &tree, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void
whole_nodes_append_like_their_leaves(void **state)
{
    const struct fixture *f = *state;
    struct merkle tree = { 0 };
    struct digest node = definition(f->leaf, 256), root;

    merkle_append_node(&tree, 8, &node);
    for (size_t i = 256; i < LEAVES; i++)
        merkle_append(&tree, &f->leaf[i]);
    merkle_root(&tree, &root);
    assert_int_equal(tree.size, LEAVES);
    assert_int_equal(digest_compare(&root, &f->root[LEAVES]), 0);
}

static void
flip(struct digest *digest, uint64_t random)
{
    digest->bytes[random / 8 % DIGEST_SIZE] ^= (uint8_t)(1U << (random % 8));
}

static void
every_inclusion_proof_verifies_and_no_other_index_does(void **state)
{
    struct fixture *f = *state;
    struct merkle_proof proof;
    struct error err;

    for (size_t size = 1; size <= 70; size++) {
        for (size_t index = 0; index < size; index++) {
            const struct digest *leaf = &f->leaf[index];
            const struct digest *root = &f->root[size];

            assert_int_equal(merkle_prove_inclusion(leaf_read, f->leaf, index,
                                                    size, &proof, &err),
                             0);
            assert_true(merkle_check_inclusion(index, size, leaf, proof.hash,
                                               proof.count, root));
            for (size_t other = 0; other <= size; other++)
                assert_true(other == index ||
                            !merkle_check_inclusion(other, size, leaf,
                                                    proof.hash, proof.count,
                                                    root));
        }
    }
}

static void
an_inclusion_proof_with_a_flipped_bit_or_cut_fails(void **state)
{
    struct fixture *f = *state;
    const struct hash_key key = { 1, 2 };
    struct merkle_proof proof;
    struct error err;

    for (uint64_t round = 0; round < 400; round++) {
        uint64_t random = hash_bytes(&key, &round, sizeof(round));
        uint64_t size = 2 + random % (LEAVES - 1);
        uint64_t index = (random >> 16) % size;
        struct digest leaf = f->leaf[index], root = f->root[size];
        size_t at;

        assert_int_equal(merkle_prove_inclusion(leaf_read, f->leaf, index,
                                                size, &proof, &err),
                         0);
        assert_true(merkle_check_inclusion(index, size, &leaf, proof.hash,
                                           proof.count, &root));
        assert_false(merkle_check_inclusion(index, size, &leaf, proof.hash,
                                            proof.count - 1, &root));
        at = (size_t)((random >> 32) % proof.count);
        flip(&proof.hash[at], random >> 40);
        assert_false(merkle_check_inclusion(index, size, &leaf, proof.hash,
                                            proof.count, &root));
        flip(&proof.hash[at], random >> 40);
        flip(&leaf, random >> 40);
        assert_false(merkle_check_inclusion(index, size, &leaf, proof.hash,
                                            proof.count, &root));
    }
}

static void
every_consistency_proof_verifies(void **state)
{
    struct fixture *f = *state;
    struct merkle_proof proof;
    struct error err;

    for (size_t size = 0; size <= 70; size++) {
        for (size_t old = 0; old <= size; old++) {
            assert_int_equal(merkle_prove_consistency(leaf_read, f->leaf, old,
                                                      size, &proof, &err),
                             0);
            assert_true(merkle_check_consistency(
                old, &f->root[old], size, &f->root[size], proof.hash,
                proof.count));
            assert_true(old == size || old == 0 ||
                        !merkle_check_consistency(
                            old, &f->root[old - 1], size, &f->root[size],
                            proof.hash, proof.count));
            assert_true(size == 0 || !merkle_check_consistency(
                                         old, &f->root[old], size,
                                         &f->root[size - 1], proof.hash,
                                         proof.count) ||
                        old == 0);
        }
    }
    assert_false(merkle_check_consistency(5, &f->root[5], 4, &f->root[4],
                                          NULL, 0));
    assert_false(merkle_check_consistency(5, &f->root[5], 9, &f->root[9],
                                          NULL, 0));
    assert_false(merkle_check_consistency(5, &f->root[5], 5, &f->root[5],
                                          f->leaf, 1));
    assert_false(merkle_check_consistency(0, &f->root[0], 5, &f->root[5],
                                          f->leaf, 1));
    assert_false(merkle_check_consistency(0, &f->root[1], 5, &f->root[5],
                                          NULL, 0));
}

static void
a_consistency_proof_with_a_flipped_bit_fails(void **state)
{
    struct fixture *f = *state;
    const struct hash_key key = { 3, 4 };
    struct merkle_proof proof;
    struct error err;

    for (uint64_t round = 0; round < 400; round++) {
        uint64_t random = hash_bytes(&key, &round, sizeof(round));
        uint64_t size = 2 + random % (LEAVES - 1);
        uint64_t old = 1 + (random >> 16) % (size - 1);

        assert_int_equal(merkle_prove_consistency(leaf_read, f->leaf, old,
                                                  size, &proof, &err),
                         0);
        assert_true(merkle_check_consistency(old, &f->root[old], size,
                                             &f->root[size], proof.hash,
                                             proof.count));
        flip(&proof.hash[(random >> 32) % proof.count], random >> 40);
        assert_false(merkle_check_consistency(old, &f->root[old], size,
                                              &f->root[size], proof.hash,
                                              proof.count));
    }
}

static void
an_extension_proof_equals_the_one_from_stored_nodes(void **state)
{
    struct fixture *f = *state;
    struct merkle_proof stored, extension;
    struct error err;

    for (size_t size = 0; size <= LEAVES; size += 7) {
        for (size_t old = 0; old <= size; old++) {
            assert_int_equal(merkle_prove_consistency(leaf_read, f->leaf, old,
                                                      size, &stored, &err),
                             0);
            merkle_prove_extension(&f->tree[old], &f->leaf[old], size - old,
                                   &extension);
            assert_int_equal(stored.count, extension.count);
            assert_memory_equal(stored.hash, extension.hash,
                                stored.count * sizeof(struct digest));
        }
    }
}

static void
a_proof_in_a_log_of_2_to_the_30_is_under_2_kb(void **state)
{
    struct digest node = { { 7 } };
    struct merkle tree = { 0 };
    struct merkle_proof proof;

    (void)state;
    for (unsigned level = 30; level-- > 0;)
        merkle_append_node(&tree, level, &node);
    merkle_prove_extension(&tree, &node, 1, &proof);
    assert_true(proof.count > 0);
    assert_true(proof.count * DIGEST_SIZE <= 2048);
}

static void
assert_path(int level, uint64_t index, unsigned width, const char *expected)
{
    scoped_buffer path = { 0 };

    merkle_tile_path(&path, level, index, width);
    assert_string_equal(buffer_text(&path), expected);
}

static void
tile_paths_are_those_of_tlog_tiles(void **state)
{
    (void)state;
    assert_path(0, 0, 256, "tile/0/000");
    assert_path(0, 999, 256, "tile/0/999");
    assert_path(1, 1000, 256, "tile/1/x001/000");
    assert_path(2, 1234067, 256, "tile/2/x001/x234/067");
    assert_path(MERKLE_ENTRIES, 273, 112, "tile/entries/273.p/112");
}

static void
tiles_fill_as_the_log_grows(void **state)
{
    (void)state;
    assert_int_equal(merkle_tile_width(0, 0, 255), 255);
    assert_int_equal(merkle_tile_width(0, 0, 256), 256);
    assert_int_equal(merkle_tile_width(0, 1, 256), 0);
    assert_int_equal(merkle_tile_width(1, 0, 256), 1);
    assert_int_equal(merkle_tile_width(1, 0, 255), 0);
    assert_int_equal(merkle_tile_width(1, 1, 70000), 17);
    assert_int_equal(merkle_tile_width(2, 0, 70000), 1);
    assert_int_equal(merkle_tile_width(MERKLE_ENTRIES, 273, 70000), 112);
    assert_int_equal(merkle_tile_width(0, 274, 70000), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_entries_give_the_reference_roots),
        cmocka_unit_test(the_frontier_root_equals_the_definition),
        cmocka_unit_test(a_head_is_loaded_from_stored_nodes),
        cmocka_unit_test(whole_nodes_append_like_their_leaves),
        cmocka_unit_test(
            every_inclusion_proof_verifies_and_no_other_index_does),
        cmocka_unit_test(an_inclusion_proof_with_a_flipped_bit_or_cut_fails),
        cmocka_unit_test(every_consistency_proof_verifies),
        cmocka_unit_test(a_consistency_proof_with_a_flipped_bit_fails),
        cmocka_unit_test(an_extension_proof_equals_the_one_from_stored_nodes),
        cmocka_unit_test(a_proof_in_a_log_of_2_to_the_30_is_under_2_kb),
        cmocka_unit_test(tile_paths_are_those_of_tlog_tiles),
        cmocka_unit_test(tiles_fill_as_the_log_grows),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
