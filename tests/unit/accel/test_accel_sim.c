/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/accel.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "accel/scan.h"
#include "base/file.h"

static char home[] = "/tmp/bulkhead-sim.XXXXXX";
static char estate[64];
static char cards[64];

#define CARD(n, health)                                                        \
    "{\"uuid\":\"SIM-" n "\",\"vendor\":\"nvidia\",\"model\":\"M\","           \
    "\"memory_mib\":100,\"compute_units\":10,\"pci\":\"0000:0" n ":00.0\","    \
    "\"driver\":\"d\",\"health\":\"" health "\","                              \
    "\"device\":{\"major\":245,\"minor\":" n "}}"
#define ESTATE(list)                                                           \
    "{\"simulated\":true,\"node\":\"n1\",\"memory_file_mib\":1,\"cards\":"     \
    "[" list "]}"

static void
write_estate(const char *text)
{
    struct error err = { 0 };

    assert_int_equal(file_write(estate, text, strlen(text), 0644, &err), 0);
}

static int
make(void **state)
{
    (void)state;
    if (mkdtemp(home) == NULL)
        return -1;
    (void)snprintf(estate, sizeof(estate), "%s/estate.json", home);
    (void)snprintf(cards, sizeof(cards), "%s/cards", home);
    return 0;
}

static int
drop(void **state)
{
    char command[128];

    (void)state;
    (void)umount2(cards, MNT_DETACH);
    (void)snprintf(command, sizeof(command), "%s/SIM-1/memory", cards);
    (void)unlink(command);
    (void)unlink(estate);
    return 0;
}

static struct accel
open_two(void)
{
    struct accel accel;
    struct error err = { 0 };

    write_estate(ESTATE(CARD("1", "healthy") "," CARD("2", "degraded")));
    if (accel_open(&accel, "sim", estate, cards, &err) != 0)
        fail_msg("%s", err.text);
    return accel;
}

static void
an_estate_is_described_card_by_card(void **state)
{
    scoped_arena arena = arena_new();
    struct accel accel = open_two();
    const char *const *uuids = NULL;
    struct accel_card card;
    struct accel_state health;
    struct error err = { 0 };
    size_t count = 0;

    (void)state;
    assert_true(accel.ops->simulated);
    assert_string_equal(accel.ops->node_name(&accel), "n1");
    assert_int_equal(accel_list(&accel, arena, &uuids, &count, &err), 0);
    assert_int_equal(count, 2);
    assert_int_equal(accel_describe(&accel, "SIM-2", &card, &err), 0);
    assert_int_equal(card.memory_mib, 100);
    assert_int_equal(card.numa, -1);
    assert_int_equal(accel_health(&accel, "SIM-2", &health, &err), 0);
    assert_int_equal(health.health, ACCEL_DEGRADED);
    assert_int_equal(accel_describe(&accel, "SIM-3", &card, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    accel_close(&accel);
}

static void
a_card_that_leaves_the_estate_has_failed(void **state)
{
    struct accel accel = open_two();
    struct accel_state health;
    struct error err = { 0 };

    (void)state;
    write_estate(ESTATE(CARD("1", "healthy")));
    assert_int_equal(accel_health(&accel, "SIM-2", &health, &err), 0);
    assert_int_equal(health.health, ACCEL_FAILED);
    assert_string_equal(health.reason, "the card is gone");
    accel_close(&accel);
}

#define EVENT(at, n, rest) \
    "{\"at_ms\":" #at ",\"uuid\":\"SIM-" n "\"," rest "}"

static int
try_script(struct accel *accel, const char *events, struct error *err)
{
    char text[2048];

    (void)snprintf(text, sizeof(text),
                   "{\"simulated\":true,\"node\":\"n1\","
                   "\"memory_file_mib\":1,\"cards\":[" CARD("1", "healthy") ","
                   CARD("2", "healthy") "],\"events\":[%s]}",
                   events);
    write_estate(text);
    return accel_open(accel, "sim", estate, cards, err);
}

static enum accel_health
health_of(struct accel *accel, const char *uuid)
{
    struct accel_state state = { .health = ACCEL_UNKNOWN };
    struct error err = { 0 };

    (void)accel_health(accel, uuid, &state, &err);
    return state.health;
}

static void
a_script_makes_cards_ill_and_tells_of_it(void **state)
{
    struct accel_event list[ACCEL_EVENTS_MAX];
    struct accel_reading reading;
    struct accel accel = { 0 };
    struct error err = { 0 };
    size_t count = 0;

    (void)state;
    if (try_script(&accel,
                   EVENT(0, "1", "\"event\":\"xid\",\"number\":63") ","
                   EVENT(0, "1", "\"event\":\"remap\",\"number\":1") ","
                   EVENT(0, "2", "\"event\":\"ecc\",\"number\":2,"
                                 "\"instance\":3") ","
                   EVENT(300, "2", "\"event\":\"lost\"") ","
                   EVENT(600, "2", "\"event\":\"back\""),
                   &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(accel_events(&accel, 0, list, &count, &err), 0);
    assert_int_equal(count, 3);
    assert_int_equal(list[0].kind, ACCEL_EVENT_XID);
    assert_int_equal(list[0].number, 63);
    assert_string_equal(list[0].uuid, "SIM-1");
    assert_int_equal(list[0].instance, -1);
    assert_int_equal(list[2].instance, 3);
    assert_int_equal(health_of(&accel, "SIM-1"), ACCEL_SUSPECT);
    assert_int_equal(health_of(&accel, "SIM-2"), ACCEL_HEALTHY);
    assert_int_equal(accel_read(&accel, "SIM-2", &reading, &err), 0);
    assert_int_equal(reading.value[ACCEL_ECC_UNCORRECTED], 1);
    assert_int_equal(reading.value[ACCEL_MEMORY_TOTAL], 100);
    /* A reset ends what waited for one. */
    assert_int_equal(accel_reset(&accel, "SIM-1", &err), 0);
    assert_int_equal(health_of(&accel, "SIM-1"), ACCEL_HEALTHY);
    /* Events come when their time has come, each once. */
    assert_int_equal(accel_events(&accel, 5000, list, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_int_equal(list[0].kind, ACCEL_EVENT_LOST);
    assert_int_equal(health_of(&accel, "SIM-2"), ACCEL_FAILED);
    assert_int_equal(accel_read(&accel, "SIM-2", &reading, &err), -1);
    assert_int_equal(err.code, ERROR_GONE);
    assert_int_equal(accel_events(&accel, 5000, list, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_int_equal(health_of(&accel, "SIM-2"), ACCEL_HEALTHY);
    assert_int_equal(accel_events(&accel, 0, list, &count, &err), 0);
    assert_int_equal(count, 0);
    accel_close(&accel);
}

/* [N17]: no reset ends it. */
static void
a_script_s_failed_remap_outlives_a_reset(void **state)
{
    struct accel accel = { 0 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(try_script(&accel, EVENT(0, "1", "\"event\":\"remap\","
                                                      "\"number\":2"),
                                &err),
                     0);
    assert_int_equal(accel_reset(&accel, "SIM-1", &err), 0);
    assert_int_equal(health_of(&accel, "SIM-1"), ACCEL_FAILED);
    accel_close(&accel);
}

static void
a_script_that_cannot_be_read_is_refused(void **state)
{
    static const char *const cases[] = {
        EVENT(0, "9", "\"event\":\"xid\""),
        EVENT(0, "1", "\"event\":\"boom\""),
        EVENT(0, "1", "\"event\":\"xid\",\"code\":1"),
        EVENT(-1, "1", "\"event\":\"xid\""),
        EVENT(5, "1", "\"event\":\"xid\"") ","
        EVENT(4, "1", "\"event\":\"xid\""),
        "7",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct accel accel = { 0 };
        struct error err = { 0 };

        if (try_script(&accel, cases[i], &err) == 0)
            fail_msg("taken: %s", cases[i]);
    }
}

static int
open_memory(const char *uuid)
{
    char path[128];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s/memory", cards, uuid);
    fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    return fd;
}

static size_t
count_on(struct accel *accel, const char *uuid)
{
    struct accel_process list[ACCEL_PROCESSES_MAX];
    struct error err = { 0 };
    size_t count = 0;

    assert_int_equal(accel_processes(accel, uuid, list, &count, &err), 0);
    if (count > 0)
        assert_int_equal(list[0].pid, getpid());
    return count;
}

static void
a_process_is_on_the_card_while_its_memory_is_open_or_mapped(void **state)
{
    struct accel accel = open_two();
    int fd;
    void *map;

    (void)state;
    assert_int_equal(count_on(&accel, "SIM-1"), 0);
    fd = open_memory("SIM-1");
    assert_int_equal(count_on(&accel, "SIM-1"), 1);
    assert_int_equal(count_on(&accel, "SIM-2"), 0);
    map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    (void)close(fd);
    assert_int_equal(count_on(&accel, "SIM-1"), 1);
    (void)munmap(map, 4096);
    assert_int_equal(count_on(&accel, "SIM-1"), 0);
    accel_close(&accel);
}

static void
one_look_tells_who_is_on_which_card(void **state)
{
    static const char *const uuids[] = { "SIM-1", "SIM-2" };
    struct accel accel = open_two();
    struct accel_process first[ACCEL_PROCESSES_MAX];
    struct accel_process second[ACCEL_PROCESSES_MAX];
    struct accel_crew crews[2] = { { .list = first }, { .list = second } };
    struct error err = { 0 };
    int one = open_memory("SIM-2");
    int two = open_memory("SIM-2");

    (void)state;
    assert_int_equal(accel_census(&accel, uuids, 2, crews, &err), 0);
    assert_int_equal(crews[0].count, 0);
    assert_int_equal(crews[1].count, 1); /* once, however often it has it */
    assert_int_equal(second[0].pid, getpid());
    (void)close(one);
    (void)close(two);
    one = open_memory("SIM-1");
    assert_int_equal(accel_census(&accel, uuids, 2, crews, &err), 0);
    assert_int_equal(crews[0].count, 1);
    assert_int_equal(crews[1].count, 0);
    (void)close(one);
    accel_close(&accel);
}

static void
a_file_is_unused_only_while_nobody_has_it(void **state)
{
    struct accel accel = open_two();
    char path[512];
    int fd;
    void *map;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/%s/memory", cards, "SIM-1");
    assert_true(scan_is_unused(path));
    fd = open_memory("SIM-1");
    assert_false(scan_is_unused(path));
    map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close(fd);
    assert_false(scan_is_unused(path));
    (void)munmap(map, 4096);
    assert_true(scan_is_unused(path));
    fd = open(path, O_RDONLY);
    assert_false(scan_is_unused(path));
    (void)close(fd);
    assert_false(scan_is_unused("/nonexistent/memory"));
    accel_close(&accel);
}

/* A child that has the file only until it becomes its program is none. */
static void
a_child_that_only_began_is_not_on_the_card(void **state)
{
    struct accel accel = open_two();
    int fd = open_memory("SIM-1");
    int gate[2];
    pid_t child;
    char byte = 0;

    (void)state;
    assert_int_equal(pipe(gate), 0);
    child = fork();
    if (child == 0) {
        (void)!read(gate[0], &byte, 1);
        _exit(0);
    }
    assert_int_equal(count_on(&accel, "SIM-1"), 1); /* this process alone */
    (void)close(fd);
    assert_int_equal(count_on(&accel, "SIM-1"), 0);
    assert_int_equal(write(gate[1], &byte, 1), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    accel_close(&accel);
}

static void
a_scrub_leaves_nothing_and_waits_for_nobody(void **state)
{
    struct accel accel = open_two();
    struct accel_scrub done = { 0 };
    struct error err = { 0 };
    int fd = open_memory("SIM-1");
    char text[6] = "";

    (void)state;
    assert_int_equal(pwrite(fd, "secret", 6, 500000), 6);
    assert_int_equal(accel_scrub(&accel, "SIM-1", &done, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    (void)close(fd);
    assert_int_equal(accel_scrub(&accel, "SIM-1", &done, &err), 0);
    assert_int_equal(done.bytes, 1048576);
    fd = open_memory("SIM-1");
    assert_int_equal(pread(fd, text, 6, 500000), 6);
    assert_memory_equal(text, "\0\0\0\0\0\0", 6);
    (void)close(fd);
    accel_close(&accel);
}

static void
what_a_backend_lacks_is_named_not_a_crash(void **state)
{
    static const struct accel_ops none = { .name = "none" };
    struct accel accel = { .ops = &none };
    struct accel_card card;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(accel_describe(&accel, "x", &card, &err), -1);
    assert_int_equal(err.code, ERROR_UNSUPPORTED);
    assert_int_equal(accel_reset(&accel, "x", &err), -1);
    assert_int_equal(err.code, ERROR_UNSUPPORTED);
    assert_int_equal(accel_open(&accel, "none", NULL, "/tmp", &err), -1);
    assert_int_equal(err.code, ERROR_UNSUPPORTED);
}

static void
estates_that_cannot_be_are_refused(void **state)
{
    static const char *const texts[] = {
        "{",
        "[]",
        "{\"simulated\":true,\"node\":\"n\"}",
        "{\"simulated\":false,\"node\":\"n\",\"cards\":[]}",
        "{\"node\":\"n\",\"cards\":[]}",
        ESTATE(CARD("1", "healthy") "," CARD("1", "healthy")),
        ESTATE(CARD("1", "splendid")),
        ESTATE("{\"uuid\":\"../x\",\"vendor\":\"v\",\"model\":\"m\","
               "\"memory_mib\":1,\"compute_units\":1,\"pci\":\"p\","
               "\"driver\":\"d\",\"device\":{\"major\":245,\"minor\":0}}"),
        ESTATE("{\"uuid\":\"x\",\"vendor\":\"v\",\"model\":\"m\","
               "\"memory_mib\":1,\"compute_units\":1,\"pci\":\"p\","
               "\"driver\":\"d\",\"device\":{\"major\":8,\"minor\":0}}"),
        ESTATE("{\"uuid\":\"x\",\"vendor\":\"v\",\"model\":\"m\","
               "\"memory_mib\":0,\"compute_units\":1,\"pci\":\"p\","
               "\"driver\":\"d\",\"device\":{\"major\":245,\"minor\":0}}"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct accel accel;
        struct error err = { 0 };

        write_estate(texts[i]);
        if (accel_open(&accel, "sim", estate, cards, &err) == 0)
            fail_msg("accepted: %s", texts[i]);
        assert_true(err.text[0] != '\0');
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_script_makes_cards_ill_and_tells_of_it),
        cmocka_unit_test(a_script_s_failed_remap_outlives_a_reset),
        cmocka_unit_test(a_script_that_cannot_be_read_is_refused),
        cmocka_unit_test(an_estate_is_described_card_by_card),
        cmocka_unit_test(a_card_that_leaves_the_estate_has_failed),
        cmocka_unit_test(
            a_process_is_on_the_card_while_its_memory_is_open_or_mapped),
        cmocka_unit_test(one_look_tells_who_is_on_which_card),
        cmocka_unit_test(a_file_is_unused_only_while_nobody_has_it),
        cmocka_unit_test(a_child_that_only_began_is_not_on_the_card),
        cmocka_unit_test(a_scrub_leaves_nothing_and_waits_for_nobody),
        cmocka_unit_test(what_a_backend_lacks_is_named_not_a_crash),
        cmocka_unit_test(estates_that_cannot_be_are_refused),
    };

    return cmocka_run_group_tests(tests, make, drop);
}
