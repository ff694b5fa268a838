/* SPDX-License-Identifier: Apache-2.0 */
/* The witness protocol against what others published. */
#include "core/witness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

#define DASH "\xe2\x80\x94 "

/* The example of C2SP tlog-witness (c2sp.org/tlog-witness); its keys are not
 * published, so it says what is read, not whether the signatures hold. */
static const char example[] =
    "old 20852014\n"
    "PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\n"
    "jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=\n"
    "5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=\n"
    "/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=\n"
    "\n"
    "example.com/behind-the-sofa\n"
    "20852163\n"
    "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
    "\n" DASH "example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+"
    "ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n" DASH
    "example.com/behind-the-sofa opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXN"
    "qlcVGlCum2Wks+49/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=\n";

/* A whole request that the tests of litewitness send
 * (github.com/FiloSottile/torchwood, cmd/litewitness/testdata/
 * multi-cosigs-ed25519.txt), and the key of its log. */
#define OTHER_LOG                                                             \
    "sigsum.org/v1/tree/"                                                     \
    "985ea163f5af026723561354f51f2ebcdcf2af809ce254ccfb64aa9aadd80f90"
static const char other_key[] =
    "52c05edad1bf5feffa81354faae59a655d9a9a1a793ed2f62c39c26c0be2aecd";
static const char other_request[] =
    "old 0\n\n" OTHER_LOG
    "\n1\nKgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n" DASH OTHER_LOG
    " 7BKT0gOfNZ1J0So9unY3BZtm2YkPIoNYM/dce0Z2avJDs8dxN6ts9bOSwwrVrbjm6P9K3Z"
    "xpK6jJngOG6YvGGzV/lwo=\n";

/* The steps of another test of the same program
 * (github.com/FiloSottile/litetlog, cmd/litewitness/testdata/
 * litewitness.txt): a log of 1, 3 and 5 leaves, its signatures, and proofs of
 * which some are wrong.  There they are lines of another form of the same
 * protocol; here they are put into the one of C2SP. */
#define TREE_LOG                                                              \
    "sigsum.org/v1/tree/"                                                     \
    "4d6d8825a6bb689d459628312889dfbb0bcd41b5211d9e1ce768b0ff0309e562"
static const char tree_key[] =
    "ffdc2d4d98e4124d3feaf788c0c2f9abfd796083d1f0495437f302ec79cf100f";
struct step {
    uint64_t old_size, size;
    const char *root, *signature;
    const char *proof[5];
    enum witness_verdict verdict;
};
#define ROOT_1 "2a00000000000000000000000000000000000000000000000000000000000000"
#define LEAF(n) "2a" n "000000000000000000000000000000000000000000000000000000000000"
#define ROOT_3 "45c088d4d939e9971298811f227d1295eaad57bbafae55cd71c171e7de48c25d"
#define ROOT_5 "42bb57ad06420afa4882c4a63ac6a1ec77480b330b2f20dfc53a0caa5f564e36"
#define SIGNED_3                                                              \
    "655bb4871d15bc05032d67eece88900c4863a27f190393b99176391577f5def971b023d9" \
    "a418c3226b7b7ea47b33686d9b3849451dadc6b07c007c595af1ea0"
#define SIGNED_5                                                              \
    "0fc43899968b48b5150b0e8fe7ad07b17c21c7056a6fe381deb0cd19ece103d59b2119b5" \
    "dbe5d54d8a1262ce67f01245c5898b4b56f747495804a17a2eec0f0c"
static const struct step steps[] = {
    { 0, 1, ROOT_1,
      "b7cf653aa9c565a1ca359db81bd3bc656ab2890c6ea4c0aec42295e80aa05049423505"
      "026434f987923ccdf07d440c152cd59e736e5914d8ada8d7a4d51b2106",
      { NULL }, WITNESS_COSIGN },
    { 1, 3, ROOT_3, SIGNED_3 "b", { LEAF("01"), LEAF("02") },
      WITNESS_UNSIGNED },
    { 1, 3, ROOT_3, SIGNED_3 "a", { NULL }, WITNESS_INCONSISTENT },
    { 1, 3, ROOT_3, SIGNED_3 "a",
      { LEAF("01"),
        "2a02000000000000000000000000000000000000000000000000000000000001" },
      WITNESS_INCONSISTENT },
    { 1, 3, ROOT_3, SIGNED_3 "a", { LEAF("01"), LEAF("02") },
      WITNESS_COSIGN },
    { 1, 5, ROOT_5, SIGNED_5,
      { LEAF("01"),
        "f9f50357e93def4078237b8aaea24ce1a3f5965a0f64ff26bebd99e30470d8b2",
        LEAF("04") },
      WITNESS_CONFLICT },
    { 3, 5, ROOT_5, SIGNED_5,
      { LEAF("02"), LEAF("03"),
        "c2088815d65f60dbfa594d4e96504ab169cb6084bf0c132ab7c521fd2e0eba41",
        LEAF("04") },
      WITNESS_COSIGN },
};

static struct checkpoint_key
key_of(const char *name, const char *hex)
{
    struct checkpoint_key key = { .witness = false };

    (void)snprintf(key.name, sizeof(key.name), "%s", name);
    assert_int_equal(hex_decode(hex, key.public_key, SIGN_PUBLIC_SIZE), 0);
    return key;
}

static void
the_example_of_tlog_witness_is_read(void **state)
{
    struct witness_request request;
    struct error err;
    struct digest first;

    (void)state;
    assert_int_equal(
        witness_parse(example, strlen(example), &request, &err), 0);
    assert_true(request.old_size == 20852014);
    assert_int_equal(request.proof.count, 4);
    assert_int_equal(
        digest_parse("3e544d0abc07a6a846aeea6e7b42fb8316e36cc88a03db5e9afb99"
                     "6430e991ac",
                     &first),
        0);
    assert_int_equal(digest_compare(&request.proof.hash[0], &first), 0);
    assert_string_equal(request.next.origin, "example.com/behind-the-sofa");
    assert_true(request.next.size == 20852163);
}

static void
a_request_is_written_as_the_example_is(void **state)
{
    struct witness_request request;
    scoped_buffer again = { 0 };
    struct error err;

    (void)state;
    assert_int_equal(
        witness_parse(example, strlen(example), &request, &err), 0);
    witness_add_request(&again, request.old_size, &request.proof,
                        request.note, request.note_size);
    assert_string_equal(buffer_text(&again), example);
}

static void
every_cut_of_the_example_is_refused(void **state)
{
    const char *second = strstr(example, "opLq");
    struct witness_request request;
    struct error err;

    (void)state;
    for (size_t size = 0; size < strlen(example); size++) {
        /* With one signature less it is a whole request. */
        if (example + size == second - strlen(DASH
                                              "example.com/behind-the-sofa "))
            continue;
        assert_int_equal(witness_parse(example, size, &request, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

static void
a_published_request_is_cosigned_by_whoever_trusts_its_key(void **state)
{
    struct checkpoint_key key = key_of(OTHER_LOG, other_key);
    struct checkpoint last = { .size = 0 };
    struct witness_request request;
    struct error err;

    (void)state;
    assert_int_equal(witness_parse(other_request, strlen(other_request),
                                   &request, &err),
                     0);
    assert_int_equal(witness_judge(&request, &last, &key, 1), WITNESS_COSIGN);
    key.public_key[0] ^= 1;
    assert_int_equal(witness_judge(&request, &last, &key, 1),
                     WITNESS_UNSIGNED);
}

/* The signature line: key id of the name, type 1 and the key, as in
 * signed-note. */
static void
add_step(struct buffer *out, const struct step *step)
{
    struct checkpoint_key key = key_of(TREE_LOG, tree_key);
    struct merkle_proof proof = { .count = 0 };
    scoped_buffer note = { 0 }, vkey = { 0 };
    struct checkpoint head = { .size = step->size };
    uint8_t line[4 + SIGN_SIZE];
    char id[9] = { 0 };

    (void)snprintf(head.origin, sizeof(head.origin), "%s", TREE_LOG);
    assert_int_equal(digest_parse(step->root, &head.root), 0);
    for (; step->proof[proof.count] != NULL; proof.count++)
        assert_int_equal(digest_parse(step->proof[proof.count],
                                      &proof.hash[proof.count]),
                         0);
    checkpoint_add_key(&vkey, &key);
    memcpy(id, vkey.bytes + strlen(TREE_LOG) + 1, 8);
    assert_int_equal(hex_decode(id, line, 4), 0);
    assert_int_equal(hex_decode(step->signature, line + 4, SIGN_SIZE), 0);
    checkpoint_add_body(&note, &head);
    buffer_add_text(&note, "\n" DASH TREE_LOG " ");
    base64_encode(&note, line, sizeof(line));
    buffer_add_byte(&note, '\n');
    witness_add_request(out, step->old_size, &proof, note.bytes, note.size);
}

static void
published_steps_are_judged_as_their_authors_do(void **state)
{
    struct checkpoint_key key = key_of(TREE_LOG, tree_key);
    struct checkpoint last = { .size = 0 };
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct witness_request request;
        scoped_buffer text = { 0 };
        enum witness_verdict verdict;

        add_step(&text, &steps[i]);
        assert_int_equal(
            witness_parse(text.bytes, text.size, &request, &err), 0);
        verdict = witness_judge(&request, &last, &key, 1);
        if (verdict != steps[i].verdict)
            fail_msg("step %zu: %d", i, (int)verdict);
        if (verdict == WITNESS_COSIGN)
            last = request.next;
    }
    assert_true(last.size == 5);
}

static void
an_old_size_above_the_checkpoint_is_malformed(void **state)
{
    struct checkpoint_key key = key_of(TREE_LOG, tree_key);
    struct checkpoint last = { .size = 9 };
    struct step step = steps[0];
    struct witness_request request;
    scoped_buffer text = { 0 };
    struct error err;

    (void)state;
    step.old_size = 9;
    add_step(&text, &step);
    assert_int_equal(witness_parse(text.bytes, text.size, &request, &err), 0);
    assert_int_equal(witness_judge(&request, &last, &key, 1),
                     WITNESS_MALFORMED);
}

static void
another_root_of_the_size_that_was_cosigned_is_a_conflict(void **state)
{
    struct checkpoint_key key = key_of(TREE_LOG, tree_key);
    struct checkpoint last = { .size = 1 };
    struct step step = steps[0];
    struct witness_request request;
    scoped_buffer text = { 0 };
    struct error err;

    (void)state;
    step.old_size = 1;
    add_step(&text, &step);
    assert_int_equal(witness_parse(text.bytes, text.size, &request, &err), 0);
    last.root = request.next.root;
    assert_int_equal(witness_judge(&request, &last, &key, 1), WITNESS_COSIGN);
    last.root.bytes[31] ^= 1;
    assert_int_equal(witness_judge(&request, &last, &key, 1),
                     WITNESS_CONFLICT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_tlog_witness_is_read),
        cmocka_unit_test(a_request_is_written_as_the_example_is),
        cmocka_unit_test(every_cut_of_the_example_is_refused),
        cmocka_unit_test(
            a_published_request_is_cosigned_by_whoever_trusts_its_key),
        cmocka_unit_test(published_steps_are_judged_as_their_authors_do),
        cmocka_unit_test(an_old_size_above_the_checkpoint_is_malformed),
        cmocka_unit_test(
            another_root_of_the_size_that_was_cosigned_is_a_conflict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
