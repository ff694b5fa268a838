/* SPDX-License-Identifier: Apache-2.0 */
#include "control/feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

static const struct ref platform = { KIND_PLATFORM, 1 };
static const struct ref red = { KIND_TENANT, 1 };
static const struct ref blue = { KIND_TENANT, 2 };

#define HOUR_MS (3600 * INT64_C(1000))

static int64_t now_ms;

static struct feed *
open_feed(size_t notes)
{
    now_ms = 1000;
    return feed_new((struct feed_bounds){ notes, notes, HOUR_MS });
}

static void
add_kind(struct feed *feed, struct ref scope, enum kind kind,
         uint64_t revision, uint32_t index)
{
    struct note note = { .revision = revision,
                         .scope = scope,
                         .ref = { (uint32_t)kind, index },
                         .kind = (uint32_t)kind };

    feed_add(feed, &note, now_ms);
}

static void
add(struct feed *feed, struct ref scope, uint64_t revision, uint32_t index)
{
    add_kind(feed, scope, KIND_WORKLOAD, revision, index);
}

static bool
take(void *data, const struct note *note)
{
    char *text = data;

    (void)snprintf(text + strlen(text), 256 - strlen(text), "%u@%llu ",
                   note->ref.index, (unsigned long long)note->revision);
    return true;
}

static int
read_text(const struct feed *feed, struct ref scope, uint64_t since,
          uint64_t now, char text[256], struct error *err)
{
    const struct feed_place place = { scope, KIND_WORKLOAD, since, now,
                                      now_ms };

    text[0] = '\0';
    return feed_read(feed, &place, take, text, err);
}

static void
assert_notes(const struct feed *feed, struct ref scope, uint64_t since,
             uint64_t now, const char *expected)
{
    char text[256];
    struct error err;

    assert_int_equal(read_text(feed, scope, since, now, text, &err), 0);
    assert_string_equal(text, expected);
}

static void
assert_gone(const struct feed *feed, struct ref scope, uint64_t since,
            uint64_t now)
{
    char text[256];
    struct error err;

    assert_int_equal(read_text(feed, scope, since, now, text, &err), -1);
    assert_int_equal(err.code, ERROR_GONE);
    assert_string_equal(text, "");
}

static void
test_scope_sees_its_own_changes_in_order(void **state)
{
    struct feed *feed = open_feed(16);

    (void)state;
    add(feed, red, 1, 10);
    add(feed, blue, 1, 20);
    add(feed, red, 2, 11);
    add(feed, platform, 1, 30);
    add(feed, red, 2, 12);
    assert_notes(feed, red, 0, 2, "10@1 11@2 12@2 ");
    assert_notes(feed, red, 1, 2, "11@2 12@2 ");
    assert_notes(feed, red, 2, 2, "");
    assert_notes(feed, blue, 0, 1, "20@1 ");
    assert_notes(feed, platform, 0, 1, "30@1 ");
    feed_free(feed);
}

static void
test_notes_that_fell_out_are_gone_not_skipped(void **state)
{
    struct feed *feed = open_feed(4);

    (void)state;
    for (uint32_t i = 1; i <= 6; i++)
        add(feed, red, i, i);
    assert_gone(feed, red, 0, 6);
    assert_gone(feed, red, 1, 6);
    assert_notes(feed, red, 2, 6, "3@3 4@4 5@5 6@6 ");
    /* one that nobody pushed out */
    assert_notes(feed, blue, 0, 0, "");
    feed_free(feed);
}

static void
test_what_was_before_the_start_is_gone(void **state)
{
    struct feed *feed = open_feed(4);

    (void)state;
    feed_start(feed, red, 7);
    assert_gone(feed, red, 6, 7);
    assert_notes(feed, red, 7, 7, "");
    add(feed, red, 8, 1);
    assert_notes(feed, red, 7, 8, "1@8 ");
    feed_free(feed);
}

static void
test_revision_of_the_future_is_gone(void **state)
{
    struct feed *feed = open_feed(4);

    (void)state;
    add(feed, red, 1, 1);
    assert_gone(feed, red, 5, 1);
    feed_free(feed);
}

/* A tenant in the slot of a deleted one gets none of its changes. */
static void
test_new_tenant_in_an_old_slot_starts_afresh(void **state)
{
    struct feed *feed = open_feed(16);
    struct note note = { .revision = 1,
                         .scope = red,
                         .ref = red,
                         .kind = KIND_TENANT,
                         .created = true };

    (void)state;
    add(feed, red, 1, 10);
    add(feed, red, 2, 11);
    feed_add(feed, &note, now_ms);
    assert_notes(feed, red, 0, 1, "1@1 ");
    feed_free(feed);
}

/* How far back one may go on tells nothing of how much others do. */
static void
test_what_others_do_pushes_nothing_out(void **state)
{
    struct feed *feed = open_feed(4);

    (void)state;
    add(feed, red, 1, 10);
    add(feed, red, 2, 11);
    add(feed, platform, 1, 20);
    for (uint32_t i = 1; i <= 100; i++)
        add(feed, blue, i, i);
    for (uint32_t i = 2; i <= 100; i++)
        add_kind(feed, platform, KIND_CARD, i, i);
    assert_notes(feed, red, 0, 2, "10@1 11@2 ");
    assert_notes(feed, platform, 0, 100, "20@1 ");
    assert_gone(feed, blue, 95, 100);
    assert_notes(feed, blue, 96, 100, "97@97 98@98 99@99 100@100 ");
    feed_free(feed);
}

/* Read or not, freed or not: at the same age they are gone. */
static void
test_notes_are_gone_when_they_are_too_old(void **state)
{
    struct feed *feed = open_feed(16);

    (void)state;
    add(feed, red, 1, 10);
    now_ms += HOUR_MS - 1;
    add(feed, red, 2, 11);
    assert_notes(feed, red, 0, 2, "10@1 11@2 ");
    now_ms++;
    assert_gone(feed, red, 0, 2);
    assert_notes(feed, red, 1, 2, "11@2 ");
    for (uint32_t i = 1; i <= 500; i++) /* all are swept meanwhile */
        add(feed, blue, i, i);
    assert_gone(feed, red, 0, 2);
    assert_notes(feed, red, 1, 2, "11@2 ");
    now_ms += HOUR_MS;
    assert_gone(feed, red, 1, 2);
    assert_notes(feed, red, 2, 2, "");
    feed_free(feed);
}

static void
test_chain_grows_and_shrinks_in_order(void **state)
{
    struct feed *feed = open_feed(1000);
    char text[256];
    struct error err;

    (void)state;
    for (uint32_t i = 1; i <= 700; i++)
        add(feed, red, i, i);
    now_ms += HOUR_MS;
    for (uint32_t i = 701; i <= 1100; i++)
        add(feed, red, i, i);
    assert_int_equal(read_text(feed, red, 1097, 1100, text, &err), 0);
    assert_string_equal(text, "1098@1098 1099@1099 1100@1100 ");
    assert_gone(feed, red, 699, 1100);
    for (uint32_t i = 1; i <= 2000; i++)
        add(feed, blue, i, i);
    assert_notes(feed, red, 1099, 1100, "1100@1100 ");
    assert_gone(feed, red, 699, 1100);
    feed_free(feed);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scope_sees_its_own_changes_in_order),
        cmocka_unit_test(test_notes_that_fell_out_are_gone_not_skipped),
        cmocka_unit_test(test_what_was_before_the_start_is_gone),
        cmocka_unit_test(test_revision_of_the_future_is_gone),
        cmocka_unit_test(test_new_tenant_in_an_old_slot_starts_afresh),
        cmocka_unit_test(test_what_others_do_pushes_nothing_out),
        cmocka_unit_test(test_notes_are_gone_when_they_are_too_old),
        cmocka_unit_test(test_chain_grows_and_shrinks_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
