/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "control/commit.h"

#define LONG_US 20000000

/* What the committer handed back: batches are empty, so no store is asked. */
struct sight {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned calls, batches;
};

static void
take(void *data, struct batch *batches, const struct error *err)
{
    struct sight *seen = data;

    (void)pthread_mutex_lock(&seen->lock);
    assert_null(err);
    seen->calls++;
    while (batches != NULL) {
        struct batch *next = batches->next;

        seen->batches++;
        batch_free(batches);
        batches = next;
    }
    (void)pthread_cond_signal(&seen->changed);
    (void)pthread_mutex_unlock(&seen->lock);
}

static void
wait_for(struct sight *seen, unsigned batches)
{
    (void)pthread_mutex_lock(&seen->lock);
    while (seen->batches < batches)
        (void)pthread_cond_wait(&seen->changed, &seen->lock);
    (void)pthread_mutex_unlock(&seen->lock);
}

static struct committer *
start(struct sight *seen, int64_t hold_us)
{
    struct committer_options options = { .finish = take,
                                         .data = seen,
                                         .hold_us = hold_us };

    *seen = (struct sight){ PTHREAD_MUTEX_INITIALIZER,
                           PTHREAD_COND_INITIALIZER, 0, 0 };
    return committer_new(&options);
}

static void
batches_that_others_follow_are_one_transaction(void **state)
{
    struct sight seen;
    struct committer *committer = start(&seen, LONG_US);

    (void)state;
    for (int i = 0; i < 63; i++)
        committer_push(committer, batch_new(), true);
    assert_int_equal(seen.batches, 0);
    committer_push(committer, batch_new(), false);
    wait_for(&seen, 64);
    assert_int_equal(seen.calls, 1);
    committer_free(committer);
}

static void
it_is_idle_when_all_that_was_pushed_is_finished(void **state)
{
    struct sight seen;
    struct committer *committer = start(&seen, LONG_US);
    int64_t end_ms = clock_mono_ms() + 10000;

    (void)state;
    assert_true(committer_is_idle(committer));
    committer_push(committer, batch_new(), true);
    assert_false(committer_is_idle(committer));
    /* Taken, and held up where it is finished. */
    (void)pthread_mutex_lock(&seen.lock);
    committer_push(committer, batch_new(), false);
    (void)usleep(50000);
    assert_false(committer_is_idle(committer));
    (void)pthread_mutex_unlock(&seen.lock);
    wait_for(&seen, 2);
    while (!committer_is_idle(committer) && clock_mono_ms() < end_ms)
        (void)usleep(1000);
    assert_true(committer_is_idle(committer));
    committer_free(committer);
}

static void
a_batch_alone_waits_for_nobody(void **state)
{
    struct sight seen;
    struct committer *committer = start(&seen, LONG_US);
    int64_t start_us = clock_mono_us();

    (void)state;
    committer_push(committer, batch_new(), false);
    wait_for(&seen, 1);
    assert_true(clock_mono_us() - start_us < LONG_US / 2);
    committer_free(committer);
}

static void
a_batch_whose_followers_do_not_come_goes_alone(void **state)
{
    struct sight seen;
    struct committer *committer = start(&seen, 1000);

    (void)state;
    committer_push(committer, batch_new(), true);
    wait_for(&seen, 1);
    assert_int_equal(seen.calls, 1);
    committer_free(committer);
}

static void
what_was_pushed_is_written_before_the_end(void **state)
{
    struct sight seen;
    struct committer *committer = start(&seen, LONG_US);
    int64_t start_us = clock_mono_us();

    (void)state;
    committer_push(committer, batch_new(), true);
    committer_free(committer);
    assert_int_equal(seen.batches, 1);
    assert_true(clock_mono_us() - start_us < LONG_US / 2);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_that_others_follow_are_one_transaction),
        cmocka_unit_test(it_is_idle_when_all_that_was_pushed_is_finished),
        cmocka_unit_test(a_batch_alone_waits_for_nobody),
        cmocka_unit_test(a_batch_whose_followers_do_not_come_goes_alone),
        cmocka_unit_test(what_was_pushed_is_written_before_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
