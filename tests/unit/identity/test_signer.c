/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/signer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "core/checkpoint.h"
#include "core/merkle.h"
#include "identity/signer_client.h"
#include "tests/unit/scratch.h"

#define ORIGIN "e.org/tn_a"
#define LEAVES 40
#define TIMEOUT_MS 3000

/* A log and a signer that has signed nothing. */
struct fixture {
    char directory[SCRATCH_MAX];
    char socket[SCRATCH_MAX + 8];
    struct signer signer;
    struct digest leaf[LEAVES];
    struct merkle tree[LEAVES + 1];
    pid_t process;
};

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct error err;

    assert_non_null(f);
    scratch_make(f->directory, "signer");
    (void)snprintf(f->socket, sizeof(f->socket), "%s/socket", f->directory);
    assert_int_equal(signer_open(&f->signer, f->directory, &err), 0);
    for (uint32_t i = 0; i < LEAVES; i++) {
        merkle_hash_leaf(&i, sizeof(i), &f->leaf[i]);
        f->tree[i + 1] = f->tree[i];
        merkle_append(&f->tree[i + 1], &f->leaf[i]);
    }
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    if (f->process > 0) {
        assert_int_equal(kill(f->process, SIGKILL), 0);
        assert_int_equal(waitpid(f->process, NULL, 0), f->process);
    }
    signer_close(&f->signer);
    scratch_remove(f->directory);
    free(f);
    return 0;
}

static struct checkpoint
head_of(const struct fixture *f, size_t size)
{
    struct checkpoint head = { ORIGIN, size, { { 0 } } };

    merkle_root(&f->tree[size], &head.root);
    return head;
}

/* The request to sign `next`, proven from the log's size `proven` but said to
 * start at `old`. */
static void
add_request(struct buffer *out, const struct fixture *f, size_t old,
            size_t proven, const struct checkpoint *next)
{
    struct merkle_proof proof;

    merkle_prove_extension(&f->tree[proven], &f->leaf[proven],
                           (size_t)next->size - proven, &proof);
    buffer_printf(out, "sign %zu\n", old);
    for (size_t i = 0; i < proof.count; i++) {
        base64_encode(out, proof.hash[i].bytes, DIGEST_SIZE);
        buffer_add_byte(out, '\n');
    }
    buffer_add_byte(out, '\n');
    checkpoint_add_body(out, next);
}

static void
assert_answer(struct fixture *f, const struct buffer *request,
              const char *expected)
{
    scoped_buffer answer = { 0 };

    signer_answer(&f->signer, buffer_text(request), request->size, &answer);
    if (strncmp(answer.bytes, expected, strlen(expected)) != 0)
        fail_msg("expected %s, got %s", expected, answer.bytes);
}

static void
assert_signs(struct fixture *f, size_t old, size_t size)
{
    struct checkpoint head = head_of(f, size);
    scoped_buffer request = { 0 };

    add_request(&request, f, old, old, &head);
    assert_answer(f, &request, "ok\n");
}

static void
heads_that_extend_the_last_are_signed(void **state)
{
    struct fixture *f = *state;
    struct checkpoint head = head_of(f, 7), read;
    scoped_buffer request = { 0 }, answer = { 0 };
    struct error err;
    size_t used;

    assert_signs(f, 0, 3);
    add_request(&request, f, 3, 3, &head);
    signer_answer(&f->signer, request.bytes, request.size, &answer);
    assert_memory_equal(answer.bytes, "ok\n", 3);
    assert_int_equal(checkpoint_check(answer.bytes + 3, answer.size - 3,
                                      f->signer.key.public_key, &read, &used,
                                      &err),
                     0);
    assert_int_equal(read.size, 7);
}

static void
a_repeated_request_gets_the_same_answer(void **state)
{
    struct fixture *f = *state;
    struct checkpoint head = head_of(f, 5);
    scoped_buffer request = { 0 }, first = { 0 }, second = { 0 };
    struct signer again;
    struct error err;

    add_request(&request, f, 0, 0, &head);
    signer_answer(&f->signer, request.bytes, request.size, &first);
    assert_int_equal(signer_open(&again, f->directory, &err), 0);
    signer_answer(&again, request.bytes, request.size, &second);
    assert_string_equal(first.bytes, second.bytes);
    assert_memory_equal(first.bytes, "ok\n", 3);
    signer_close(&again);
}

/* The head of a restored log: `size` leaves under another epoch's name. */
static void
assert_epoch(struct fixture *f, const char *origin, size_t old,
             size_t size, const char *expected)
{
    struct checkpoint head = head_of(f, size);
    scoped_buffer request = { 0 };

    (void)snprintf(head.origin, sizeof(head.origin), "%s", origin);
    add_request(&request, f, old, old, &head);
    assert_answer(f, &request, expected);
}

static void
a_declared_restore_is_signed_and_ends_the_epoch_before(void **state)
{
    struct fixture *f = *state;

    assert_signs(f, 0, 20);
    /* Shorter than what was signed, and under its own name. */
    assert_epoch(f, "e.org~1700/tn_a", 0, 12, "ok\n");
    assert_epoch(f, ORIGIN, 20, 25, "refused superseded\n");
    assert_epoch(f, "e.org~1699/tn_a", 0, 9, "refused superseded\n");
    assert_epoch(f, "e.org~1700/tn_a", 12, 14, "ok\n");
    assert_epoch(f, "e.org~1800/tn_a", 0, 5, "ok\n");
    assert_epoch(f, "e.org~1700/tn_a", 14, 15, "refused superseded\n");
    /* Another log of the estate goes on. */
    assert_epoch(f, "e.org/tn_b", 0, 3, "ok\n");
    assert_epoch(f, "e.org~x/tn_b", 0, 3, "refused malformed\n");
}

static void
a_rollback_a_fork_and_a_bad_proof_are_refused_by_name(void **state)
{
    struct fixture *f = *state;
    struct checkpoint smaller = head_of(f, 4), fork = head_of(f, 9);
    struct checkpoint rewritten = head_of(f, 12);
    scoped_buffer request = { 0 };

    assert_signs(f, 0, 9);
    add_request(&request, f, 0, 0, &smaller);
    assert_answer(f, &request, "refused rollback\n");

    buffer_clear(&request);
    fork.root.bytes[0] ^= 1;
    add_request(&request, f, 9, 9, &fork);
    assert_answer(f, &request, "refused fork\n");

    buffer_clear(&request);
    rewritten.root.bytes[0] ^= 1;
    add_request(&request, f, 9, 9, &rewritten);
    assert_answer(f, &request, "refused proof\n");

    buffer_clear(&request);
    rewritten = head_of(f, 12);
    add_request(&request, f, 9, 8, &rewritten);
    assert_answer(f, &request, "refused proof\n");

    buffer_clear(&request);
    add_request(&request, f, 8, 8, &rewritten);
    assert_answer(f, &request, "refused stale\nthe size signed last is 9\n");

    assert_signs(f, 9, 12);
}

static void
a_rewritten_history_is_never_signed(void **state)
{
    struct fixture *f = *state;
    struct merkle forged = { 0 };
    struct merkle_proof proof;
    struct checkpoint head = { ORIGIN, 20, { { 0 } } };
    scoped_buffer request = { 0 };

    assert_signs(f, 0, 10);
    for (size_t i = 0; i < 10; i++)
        merkle_append(&forged, &f->leaf[i == 4 ? 5 : i]);
    merkle_prove_extension(&forged, &f->leaf[10], 10, &proof);
    for (size_t i = 10; i < 20; i++)
        merkle_append(&forged, &f->leaf[i]);
    merkle_root(&forged, &head.root);
    buffer_add_text(&request, "sign 10\n");
    for (size_t i = 0; i < proof.count; i++) {
        base64_encode(&request, proof.hash[i].bytes, DIGEST_SIZE);
        buffer_add_byte(&request, '\n');
    }
    buffer_add_byte(&request, '\n');
    checkpoint_add_body(&request, &head);
    assert_answer(f, &request, "refused proof\n");
}

static void
logs_are_signed_each_on_its_own(void **state)
{
    struct fixture *f = *state;
    struct checkpoint other = head_of(f, 2);
    scoped_buffer request = { 0 };

    assert_signs(f, 0, 9);
    (void)snprintf(other.origin, sizeof(other.origin), "../../etc/passwd");
    add_request(&request, f, 0, 0, &other);
    assert_answer(f, &request, "ok\n");
    buffer_clear(&request);
    buffer_add_text(&request, "head " ORIGIN "\n");
    assert_answer(f, &request, "head\n" ORIGIN "\n9\n");
    buffer_clear(&request);
    buffer_add_text(&request, "head e.org/none\n");
    assert_answer(f, &request, "head\ne.org/none\n0\n");
}

static void
what_is_not_a_request_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "sign",
        "sign \n",
        "sign 0\n",
        "sign 0\n\n",
        "sign 01\n\ne\n1\nq80AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
        "sign -1\n\ne\n1\nq80AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
        "sign 0\nxx\n\ne\n1\nq80AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
        "sign 0\n\ne\n1\nq80AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nmore",
        "sign 0\n\ne e\n1\nq80AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
        "head \n",
        "head a b\n",
        "head a",
        "give key\n",
    };
    struct fixture *f = *state;
    scoped_buffer request = { 0 };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        buffer_clear(&request);
        buffer_add_text(&request, bad[i]);
        assert_answer(f, &request, "refused malformed\n");
    }
    buffer_clear(&request);
    buffer_add_text(&request, "sign 0\n");
    for (size_t i = 0; i <= MERKLE_PROOF_MAX; i++)
        buffer_add_text(&request,
                        "q80AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n");
    assert_answer(f, &request, "refused malformed\n");
}

static void
a_damaged_state_signs_nothing(void **state)
{
    struct fixture *f = *state;
    struct checkpoint head = head_of(f, 6);
    scoped_buffer request = { 0 }, path = { 0 };
    struct error err;

    assert_signs(f, 0, 3);
    buffer_printf(&path, "%s/heads/e.org%%2Ftn_a", f->directory);
    assert_int_equal(file_write(path.bytes, "", 0, 0600, &err), 0);
    add_request(&request, f, 3, 3, &head);
    assert_answer(f, &request, "refused failed\n");
}

/* Starts the real program, which stands in the build folder. */
static void
start_process(struct fixture *f)
{
    char self[512] = { 0 };
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 64);
    char *tests = strstr(self, "/tests/unit/");
    struct stat status;

    assert_true(size > 0 && tests != NULL);
    (void)snprintf(tests, 32, "/bulkhead-signer");
    (void)unlink(f->socket);
    f->process = fork();
    assert_true(f->process >= 0);
    if (f->process == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

        (void)dup2(null, STDERR_FILENO);
        execl(self, self, "--directory", f->directory, "--socket", f->socket,
              (char *)NULL);
        _exit(127);
    }
    for (int tries = 0; stat(f->socket, &status) != 0; tries++) {
        assert_true(tries < 500);
        (void)usleep(10000);
    }
}

static int
ask_to_sign(const struct fixture *f, size_t old, size_t size,
            struct buffer *note, struct error *err)
{
    struct checkpoint head = head_of(f, size);
    struct merkle_proof proof;

    merkle_prove_extension(&f->tree[old], &f->leaf[old], size - old, &proof);
    return signer_sign(f->socket, &head, old, proof.hash, proof.count,
                       TIMEOUT_MS, note, err);
}

static void
the_process_signs_and_remembers_after_kill_9(void **state)
{
    struct fixture *f = *state;
    scoped_buffer first = { 0 }, second = { 0 }, third = { 0 };
    struct checkpoint head;
    struct error err;

    start_process(f);
    assert_int_equal(ask_to_sign(f, 0, 8, &first, &err), 0);
    assert_int_equal(kill(f->process, SIGKILL), 0);
    assert_int_equal(waitpid(f->process, NULL, 0), f->process);
    start_process(f);
    assert_int_equal(
        signer_head(f->socket, ORIGIN, TIMEOUT_MS, &head, &err), 0);
    assert_int_equal(head.size, 8);
    assert_int_equal(ask_to_sign(f, 0, 8, &second, &err), 0);
    assert_string_equal(first.bytes, second.bytes);
    assert_int_equal(ask_to_sign(f, 0, 5, &third, &err), -1);
    assert_int_equal(err.code, ERROR_VERIFY);
    assert_non_null(strstr(err.text, "rollback"));
    assert_int_equal(ask_to_sign(f, 7, 9, &third, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(ask_to_sign(f, 8, 9, &third, &err), 0);
}

static void
the_process_outlives_malformed_and_flooding_requests(void **state)
{
    struct fixture *f = *state;
    scoped_buffer note = { 0 };
    struct checkpoint wrong = { "e.org/x y", 1, { { 0 } } };
    struct error err;

    start_process(f);
    assert_int_equal(signer_sign(f->socket, &wrong, 0, NULL, 0, TIMEOUT_MS,
                                 &note, &err),
                     -1);
    assert_int_equal(err.code, ERROR_INVALID);
    {
        struct digest flood[250] = { { { 0 } } };
        struct checkpoint head = head_of(f, 1);

        assert_int_equal(signer_sign(f->socket, &head, 0, flood, 250,
                                     TIMEOUT_MS, &note, &err),
                         -1);
    }
    assert_int_equal(ask_to_sign(f, 0, 8, &note, &err), 0);
}

static void
a_signer_that_is_away_is_busy(void **state)
{
    struct fixture *f = *state;
    scoped_buffer note = { 0 };
    struct error err;

    assert_int_equal(ask_to_sign(f, 0, 8, &note, &err), -1);
    assert_int_equal(err.code, ERROR_BUSY);
    assert_int_equal(note.size, 0);
}

/* --- the key changes --- */

static void
rotate(struct fixture *f, const char *expected)
{
    scoped_buffer request = { 0 };

    buffer_add_text(&request, "rotate\n");
    assert_answer(f, &request, expected);
}

/* By which of the keys that follow from the first one is a head signed? */
static size_t
signed_by(struct fixture *f, const struct checkpoint_key *first, size_t old,
          size_t size)
{
    struct checkpoint_key keys[8] = { *first };
    struct checkpoint head = head_of(f, size), read;
    scoped_buffer request = { 0 }, answer = { 0 };
    struct error err;
    size_t count = 1, used;

    assert_int_equal(keychain_follow(buffer_text(&f->signer.rotations),
                                     f->signer.rotations.size, keys, &count,
                                     8, &err),
                     0);
    add_request(&request, f, old, old, &head);
    signer_answer(&f->signer, request.bytes, request.size, &answer);
    assert_memory_equal(answer.bytes, "ok\n", 3);
    for (size_t i = 0; i < count; i++)
        if (checkpoint_check(answer.bytes + 3, answer.size - 3,
                             keys[i].public_key, &read, &used, &err) == 0)
            return i;
    return count;
}

static struct checkpoint_key
key_now(const struct fixture *f)
{
    struct checkpoint_key key = { .name = ORIGIN };

    memcpy(key.public_key, f->signer.key.public_key, SIGN_PUBLIC_SIZE);
    return key;
}

static void
the_new_key_signs_and_the_old_one_vouched_for_it(void **state)
{
    struct fixture *f = *state;
    struct checkpoint_key first = key_now(f);
    struct error err;

    assert_int_equal(signed_by(f, &first, 0, 3), 0);
    rotate(f, "keys\n");
    assert_int_equal(signed_by(f, &first, 3, 5), 1);
    rotate(f, "keys\n");
    assert_int_equal(signed_by(f, &first, 5, 6), 2);
    /* And so it is after a start. */
    signer_close(&f->signer);
    assert_int_equal(signer_open(&f->signer, f->directory, &err), 0);
    assert_int_equal(f->signer.rotation_count, 2);
    assert_int_equal(signed_by(f, &first, 6, 7), 2);
}

/* Puts a file of the signer's directory aside or back. */
static void
move(const struct fixture *f, const char *from, const char *to)
{
    scoped_buffer source = { 0 }, target = { 0 };

    buffer_printf(&source, "%s/%s", f->directory, from);
    buffer_printf(&target, "%s/%s", f->directory, to);
    assert_int_equal(rename(source.bytes, target.bytes), 0);
}

static void
a_change_that_was_cut_before_the_old_key_signed_is_undone(void **state)
{
    struct fixture *f = *state;
    struct checkpoint_key first = key_now(f);
    scoped_buffer next = { 0 };
    struct sign_key key;
    struct error err;

    buffer_printf(&next, "%s/key.next", f->directory);
    assert_int_equal(sign_key_open(next.bytes, &key, &err), 0);
    signer_close(&f->signer);
    assert_int_equal(signer_open(&f->signer, f->directory, &err), 0);
    assert_int_not_equal(access(next.bytes, F_OK), 0);
    assert_int_equal(signed_by(f, &first, 0, 3), 0);
}

static void
a_change_that_was_cut_behind_that_is_ended(void **state)
{
    struct fixture *f = *state;
    struct checkpoint_key first = key_now(f);
    scoped_buffer old = { 0 }, path = { 0 };
    struct error err;

    buffer_printf(&path, "%s/key", f->directory);
    assert_int_equal(file_read(path.bytes, 100, &old, &err), 0);
    rotate(f, "keys\n");
    move(f, "key", "key.next");
    assert_int_equal(file_write(path.bytes, old.bytes, old.size, 0600, &err),
                     0);
    signer_close(&f->signer);
    assert_int_equal(signer_open(&f->signer, f->directory, &err), 0);
    assert_int_equal(signed_by(f, &first, 0, 3), 1);
}

static void
a_key_that_nobody_handed_over_to_signs_nothing(void **state)
{
    struct fixture *f = *state;
    struct error err;

    rotate(f, "keys\n");
    move(f, "key", "lost");
    signer_close(&f->signer);
    /* A new key would be made where there is none. */
    assert_int_equal(signer_open(&f->signer, f->directory, &err), -1);
    move(f, "lost", "key");
    assert_int_equal(signer_open(&f->signer, f->directory, &err), 0);
}

static void
a_key_changes_a_bounded_number_of_times(void **state)
{
    struct fixture *f = *state;

    for (unsigned i = 0; i < KEYCHAIN_MAX; i++)
        rotate(f, "keys\n");
    rotate(f, "refused full\n");
    assert_true(f->signer.rotations.size <= KEYCHAIN_SIZE_MAX);
}

#define SIGNER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SIGNER_TEST(the_new_key_signs_and_the_old_one_vouched_for_it),
        SIGNER_TEST(a_change_that_was_cut_before_the_old_key_signed_is_undone),
        SIGNER_TEST(a_change_that_was_cut_behind_that_is_ended),
        SIGNER_TEST(a_key_that_nobody_handed_over_to_signs_nothing),
        SIGNER_TEST(a_key_changes_a_bounded_number_of_times),
        SIGNER_TEST(heads_that_extend_the_last_are_signed),
        SIGNER_TEST(a_repeated_request_gets_the_same_answer),
        SIGNER_TEST(a_declared_restore_is_signed_and_ends_the_epoch_before),
        SIGNER_TEST(a_rollback_a_fork_and_a_bad_proof_are_refused_by_name),
        SIGNER_TEST(a_rewritten_history_is_never_signed),
        SIGNER_TEST(logs_are_signed_each_on_its_own),
        SIGNER_TEST(what_is_not_a_request_is_refused),
        SIGNER_TEST(a_damaged_state_signs_nothing),
        SIGNER_TEST(the_process_signs_and_remembers_after_kill_9),
        SIGNER_TEST(the_process_outlives_malformed_and_flooding_requests),
        SIGNER_TEST(a_signer_that_is_away_is_busy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
