/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/news.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct news *
make(size_t cards)
{
    struct news *news = calloc(1, sizeof(*news));

    for (size_t i = 0; i < cards; i++) {
        char uuid[32], pci[32];

        (void)snprintf(uuid, sizeof(uuid), "GPU-%zu", i);
        (void)snprintf(pci, sizeof(pci), "0000:%02zx:00.0", i + 1);
        assert_true(news_know(news, uuid, pci));
    }
    return news;
}

static void
say(struct news *news, const char *line, int64_t at_ms)
{
    assert_true(news_line(news, line, at_ms));
}

/* [N8]: 800,000 lines, 29 of them different, on one card of eight. */
static void
a_storm_costs_less_than_a_second(void **state)
{
    struct news *news = make(8);
    clock_t from = clock();
    const struct news_card *card;
    int64_t total = 0;

    (void)state;
    for (int i = 0; i < 800000; i++) {
        char line[160];

        (void)snprintf(line, sizeof(line),
                       "NVRM: Xid (PCI:0000:03:00): %d, pid=%d, name=train, "
                       "Uncontained memory error",
                       95, 4000 + i % 29);
        say(news, line, 2000 + i / 100);
    }
#ifndef __SANITIZE_ADDRESS__ /* which take longer for the same */
    assert_true(clock() - from < CLOCKS_PER_SEC);
#else
    (void)from;
#endif
    card = news_find(news, "GPU-2");
    assert_int_equal(card->weighty, 800000);
    assert_int_equal(card->dropped, 0);
    assert_int_equal(card->count, NEWS_PROCESSES + 1);
    for (size_t i = 0; i < card->count; i++)
        total += card->items[i].event.count;
    assert_int_equal(total, 800000);
    /* Six processes by name, 27587 or so lines each, the rest as one. */
    assert_int_equal(card->items[0].event.xid.pid, 4000);
    assert_int_equal(card->items[0].event.count, 27587);
    assert_int_equal(card->items[0].event.first_ms, 2000);
    assert_int_equal(card->items[0].event.last_ms, 9999);
    assert_int_equal(card->items[6].event.xid.pid, -1);
    assert_int_equal(news_find(news, "GPU-1")->count, 0);
    free(news);
}

/* [N6]: the log and the library tell of it, with a number and without. */
static void
what_is_told_twice_is_one(void **state)
{
    struct news *news = make(2);
    const struct news_card *card = news_find(news, "GPU-0");
    struct accel_event event = { .kind = ACCEL_EVENT_LOST,
                                 .uuid = "GPU-0",
                                 .instance = -1,
                                 .compute = -1 };

    (void)state;
    say(news, "NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.", 1000);
    say(news, "NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', GPU has "
              "fallen off the bus.",
        1002);
    assert_true(news_event(news, &event, 1500));
    assert_int_equal(card->count, 1);
    assert_int_equal(card->items[0].event.xid.number, 79);
    assert_int_equal(card->items[0].event.count, 2);
    /* A process that only the log names. */
    event.kind = ACCEL_EVENT_XID;
    event.number = 31;
    assert_true(news_event(news, &event, 2000));
    say(news, "NVRM: Xid (PCI:0000:01:00): 31, pid=77, name=a", 2100);
    assert_int_equal(card->count, 2);
    assert_int_equal(card->items[1].event.xid.pid, 77);
    assert_int_equal(card->items[1].event.count, 1);
    /* Another process is another fault. */
    say(news, "NVRM: Xid (PCI:0000:01:00): 31, pid=78, name=a", 2200);
    assert_int_equal(card->count, 3);
    free(news);
}

/* [N40]: a slice and the whole card are told apart. */
static void
a_slice_s_error_is_not_the_card_s(void **state)
{
    struct news *news = make(1);
    const struct news_card *card = news_find(news, "GPU-0");
    struct accel_event event = { .kind = ACCEL_EVENT_XID,
                                 .uuid = "GPU-0",
                                 .number = 94,
                                 .instance = 3,
                                 .compute = 0 };

    (void)state;
    assert_true(news_event(news, &event, 1000));
    event.instance = -1;
    assert_true(news_event(news, &event, 2000));
    event.instance = 5;
    assert_true(news_event(news, &event, 3000));
    assert_int_equal(card->count, 3);
    assert_int_equal(card->items[0].event.xid.instance, 3);
    assert_int_equal(card->items[1].event.xid.instance, -1);
    assert_int_equal(card->items[2].event.xid.instance, 5);
    say(news, "NVRM: Xid (PCI:0000:01:00 GPU-I:06): 45, pid=9, name=a", 90000);
    assert_int_equal(card->items[3].event.xid.instance, 6);
    assert_int_equal(card->items[3].event.xid.pid, 9);
    free(news);
}

/* Many faults of programs never push out what condemns a card. */
static void
room_is_made_by_what_leaves_no_mark(void **state)
{
    struct news *news = make(1);
    const struct news_card *card = news_find(news, "GPU-0");
    bool found = false;

    (void)state;
    say(news, "NVRM: Xid (PCI:0000:01:00): 48, pid=1, name=a", 1000);
    for (int i = 0; i < 5000; i++) {
        char line[128];

        (void)snprintf(line, sizeof(line),
                       "NVRM: Xid (PCI:0000:01:00): %d, pid=%d, name=a",
                       (const int[]){ 13, 31, 43, 45 }[i % 4], i);
        say(news, line, 1000 + (int64_t)i * 1000000);
    }
    assert_int_equal(card->count, NEWS_ITEMS);
    for (size_t i = 0; i < card->count; i++)
        found = found || card->items[i].event.xid.number == 48;
    assert_true(found);
    assert_int_equal(card->weighty, 1);
    assert_true(card->dropped > 0);
    free(news);
}

/* The log begins with the machine, the library may be slow to list. */
static void
what_is_heard_first_is_kept_for_the_card(void **state)
{
    struct news *news = make(1);
    struct accel_event event = { .kind = ACCEL_EVENT_XID,
                                 .uuid = "GPU-9",
                                 .number = 119,
                                 .instance = -1 };

    (void)state;
    assert_true(news_line(news, "NVRM: Xid (PCI:0000:99:00): 79", 1000));
    assert_true(news_event(news, &event, 2000));
    assert_int_equal(news->cards[0].count, 0);
    assert_true(news_know(news, "GPU-9", "0000:99:00.0"));
    assert_int_equal(news_find(news, "GPU-9")->count, 2);
    assert_int_equal(news_find(news, "GPU-9")->weighty, 2);
    assert_ptr_equal(news_find_pci(news, "0000:99:00.0"),
                     news_find(news, "GPU-9"));
    /* By address alone. */
    say(news, "NVRM: Xid (PCI:0000:98:00): 79", 1000);
    assert_true(news_know(news, "GPU-8", "0000:98:00.0"));
    assert_int_equal(news_find(news, "GPU-8")->count, 1);
    free(news);
}

static void
what_tells_of_no_card_is_left(void **state)
{
    struct news *news = make(1);
    struct accel_event event = { .kind = ACCEL_EVENT_RECOVERY,
                                 .uuid = "GPU-0" };

    (void)state;
    assert_false(news_line(news, "usb 1-1: new device", 1000));
    assert_false(news_event(news, &event, 1000));
    event = (struct accel_event){ .kind = ACCEL_EVENT_LOST };
    assert_false(news_event(news, &event, 1000));
    assert_true(
        news_line(news, "NVRM: The GPU has fallen off the bus.", 1000));
    assert_int_equal(news->cards[0].count, 0);
    assert_int_equal(news->count, 1);
    /* What cannot be held is not taken. */
    for (int i = 0; i < 1000; i++) {
        char line[64];

        (void)snprintf(line, sizeof(line),
                       "NVRM: Xid (PCI:%04x:01:00): 79", i + 1);
        (void)news_line(news, line, 1000);
    }
    assert_int_equal(news->count, NEWS_CARDS);
    free(news);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_storm_costs_less_than_a_second),
        cmocka_unit_test(what_is_told_twice_is_one),
        cmocka_unit_test(a_slice_s_error_is_not_the_card_s),
        cmocka_unit_test(room_is_made_by_what_leaves_no_mark),
        cmocka_unit_test(what_is_heard_first_is_kept_for_the_card),
        cmocka_unit_test(what_tells_of_no_card_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
