/* SPDX-License-Identifier: Apache-2.0 */
/* AMD's backend against a library with the true interface. */
#include "accel/accel_vendor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "accel/rsmi.h"
#include "base/clock.h"
#include "base/file.h"
#include "tests/stub/rsmi_stub.h"
#include "tests/unit/scratch.h"

/* Where the library's own header is installed it is the judge of ours. */
#if __has_include(<rocm_smi/rocm_smi.h>)
#include <rocm_smi/rocm_smi.h>
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)
SAME(RSMI_SUCCESS, RSMI_STATUS_SUCCESS);
SAME(RSMI_INVALID_ARGS, RSMI_STATUS_INVALID_ARGS);
SAME(RSMI_NOT_SUPPORTED, RSMI_STATUS_NOT_SUPPORTED);
SAME(RSMI_FILE_ERROR, RSMI_STATUS_FILE_ERROR);
SAME(RSMI_PERMISSION, RSMI_STATUS_PERMISSION);
SAME(RSMI_INIT_ERROR, RSMI_STATUS_INIT_ERROR);
SAME(RSMI_NOT_YET_IMPLEMENTED, RSMI_STATUS_NOT_YET_IMPLEMENTED);
SAME(RSMI_NOT_FOUND, RSMI_STATUS_NOT_FOUND);
SAME(RSMI_INSUFFICIENT_SIZE, RSMI_STATUS_INSUFFICIENT_SIZE);
SAME(RSMI_NO_DATA, RSMI_STATUS_NO_DATA);
SAME(RSMI_BUSY, RSMI_STATUS_BUSY);
SAME(RSMI_TEMPERATURE_CRITICAL, RSMI_TEMP_CRITICAL);
SAME(RSMI_TEMPERATURE_MEMORY, RSMI_TEMP_TYPE_MEMORY);
SAME(RSMI_CLOCK_MEMORY, RSMI_CLK_TYPE_MEM);
SAME(RSMI_BLOCK_LAST, RSMI_GPU_BLOCK_LAST);
SAME(RSMI_RAS_DISABLED, RSMI_RAS_ERR_STATE_DISABLED);
SAME(RSMI_PAGE_PENDING, RSMI_MEM_PAGE_STATUS_PENDING);
SAME(RSMI_LINK_XGMI, RSMI_IOLINK_TYPE_XGMI);
SAME(RSMI_LEVEL_AUTO, RSMI_DEV_PERF_LEVEL_AUTO);
SAME(RSMI_EVENT_THERMAL, RSMI_EVT_NOTIF_THERMAL_THROTTLE);
SAME(RSMI_EVENT_POST_RESET, RSMI_EVT_NOTIF_GPU_POST_RESET);
SAME(RSMI_FREQUENCIES, RSMI_MAX_NUM_FREQUENCIES);
SAME(sizeof(struct rsmi_clocks), sizeof(rsmi_frequencies_t));
SAME(sizeof(struct rsmi_errors), sizeof(rsmi_error_count_t));
SAME(sizeof(struct rsmi_page), sizeof(rsmi_retired_page_record_t));
SAME(sizeof(struct rsmi_process), sizeof(rsmi_process_info_t));
SAME(sizeof(struct rsmi_event), sizeof(rsmi_evt_notification_data_t));
SAME(offsetof(struct rsmi_process, vram),
     offsetof(rsmi_process_info_t, vram_usage));
SAME(offsetof(struct rsmi_page, status),
     offsetof(rsmi_retired_page_record_t, status));
SAME(offsetof(struct rsmi_clocks, hertz),
     offsetof(rsmi_frequencies_t, frequency));
#endif

#define A "GPU-d1cc3f11cc4a0000"
#define B "GPU-d1cc3f11cc4a0001"

#define PATIENT_MS 10000
#define HANG_MS 300

static char home[SCRATCH_MAX];
static char program[256];
static struct rsmi_stub_world *world;

static void
make_directory(const char *path)
{
    char full[320];

    (void)snprintf(full, sizeof(full), "%s%s", home, path);
    (void)mkdir(full, 0700);
}

static void
make_text(const char *path, const char *text)
{
    struct error err = { 0 };
    char full[320];

    (void)snprintf(full, sizeof(full), "%s%s", home, path);
    if (file_write(full, text, strlen(text), 0600, &err) != 0)
        fail_msg("%s", err.text);
}

static int
make(void **state)
{
    static const char *const directories[] = {
        "/sys", "/sys/bus", "/sys/bus/pci", "/sys/bus/pci/devices",
        "/sys/bus/pci/devices/0000:c1:00.0",
        "/sys/bus/pci/devices/0000:c2:00.0", "/sys/class",
        "/sys/class/kfd", "/sys/class/kfd/kfd",
        "/sys/class/kfd/kfd/topology", "/sys/class/kfd/kfd/topology/nodes",
        "/sys/class/kfd/kfd/topology/nodes/0",
        "/sys/class/kfd/kfd/topology/nodes/1", "/proc"
    };
    char own[200];
    char from[256], to[256];
    ssize_t size = readlink("/proc/self/exe", own, sizeof(own) - 1);

    (void)state;
    if (size < 0)
        return -1;
    own[size] = '\0';
    *strstr(own, "/tests/unit/") = '\0';
    scratch_make(home, "rocm");
    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
        make_directory(directories[i]);
    make_text("/sys/class/kfd/kfd/topology/nodes/0/properties",
              "cpu_cores_count 64\nsimd_count 0\nunique_id 0\n");
    make_text("/sys/class/kfd/kfd/topology/nodes/1/properties",
              "cpu_cores_count 0\nsimd_count 416\nsimd_per_cu 4\n"
              "gfx_target_version 90010\nunique_id 15117527394850308096\n");
    make_text("/proc/devices", "Character devices:\n226 drm\n235 kfd\n");
    (void)snprintf(program, sizeof(program), "%s/bulkhead-cards", own);
    (void)snprintf(from, sizeof(from),
                   "%s/tests/stub/rocm/librocm_smi64.so.1", own);
    (void)snprintf(to, sizeof(to), "%s/librocm_smi64.so.1", home);
    if (symlink(from, to) != 0)
        return -1;
    (void)snprintf(to, sizeof(to), "%s/world", home);
    (void)setenv(RSMI_STUB_ENV, to, 1);
    world = rsmi_stub_map(to);
    return world == NULL ? -1 : 0;
}

static int
drop(void **state)
{
    (void)state;
    scratch_remove(home);
    return 0;
}

static int
fresh(void **state)
{
    (void)state;
    rsmi_stub_fill(world, 2);
    return 0;
}

static struct accel
opened(void)
{
    struct accel accel = { 0 };
    struct error err = { 0 };

    if (accel_open(&accel, "rocm", home, home, &err) != 0)
        fail_msg("%s", err.text);
    return accel;
}

static struct accel
apart(int deadline_ms)
{
    struct accel accel = { 0 };
    struct error err = { 0 };

    if (accel_vendor_open(
            &accel,
            &(struct accel_vendor_options){ .program = program,
                                            .source = home,
                                            .state_dir = home,
                                            .deadline_ms = deadline_ms,
                                            .change_ms = deadline_ms },
            &err) != 0)
        fail_msg("%s", err.text);
    return accel;
}

static size_t
listed(struct accel *accel)
{
    scoped_arena arena = arena_new();
    const char *const *uuids = NULL;
    struct error err = { 0 };
    size_t count = 0;

    (void)accel_list(accel, arena, &uuids, &count, &err);
    return count;
}

static void
an_amd_card_is_described(void **state)
{
    struct accel accel = opened();
    struct accel_card card = { 0 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(listed(&accel), 2);
    assert_int_equal(accel_describe(&accel, A, &card, &err), 0);
    assert_string_equal(card.vendor, "amd");
    assert_string_equal(card.model, "AMD Instinct MI210");
    assert_string_equal(card.pci, "0000:c1:00.0");
    assert_string_equal(card.driver, "6.3.6");
    assert_string_equal(card.arch, "gfx90a");
    assert_int_equal(card.compute_units, 104);
    assert_int_equal(card.memory_mib, 65536);
    assert_int_equal(card.numa, 0);
    assert_int_equal(card.link_count, 1);
    assert_string_equal(card.links[0].kind, "xgmi");
    assert_string_equal(card.links[0].uuid, B);
    /* One without a number of its own is known by its address. */
    world->cards[1].id = 0;
    assert_int_equal(listed(&accel), 2);
    assert_int_equal(accel_describe(&accel, "AMD-0000:c2:00.0", &card, &err),
                     0);
    accel_close(&accel);
}

static void
an_amd_card_is_measured(void **state)
{
    static const struct {
        enum accel_item item;
        int64_t value;
    } rows[] = {
        { ACCEL_MEMORY_TOTAL, 65536 }, { ACCEL_MEMORY_USED, 10 },
        { ACCEL_BUSY, 640 }, { ACCEL_MEMORY_BUSY, 210 },
        { ACCEL_POWER, 41000 }, { ACCEL_POWER_LIMIT, 500000 },
        { ACCEL_POWER_DEFAULT, 560000 }, { ACCEL_POWER_MAX, 560000 },
        { ACCEL_ENERGY, 30500 }, { ACCEL_TEMPERATURE, 44 },
        { ACCEL_TEMPERATURE_MEMORY, 51 }, { ACCEL_SLOWDOWN, 100 },
        { ACCEL_CLOCK, 1700 }, { ACCEL_CLOCK_MEMORY, 1600 }, { ACCEL_ECC, 1 },
        { ACCEL_ECC_CORRECTED, 4 }, { ACCEL_ECC_UNCORRECTED, 0 },
        { ACCEL_REMAP_PENDING, 0 }, { ACCEL_PCIE_REPLAYS, 3 },
    };
    struct accel accel = opened();
    struct accel_reading reading;
    struct accel_state health;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(accel_read(&accel, A, &reading, &err), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (reading.value[rows[i].item] != rows[i].value)
            fail_msg("%s is %lld", accel_item_text(rows[i].item),
                     (long long)reading.value[rows[i].item]);
    assert_int_equal(accel_health(&accel, A, &health, &err), 0);
    assert_int_equal(health.health, ACCEL_HEALTHY);
    world->cards[0].pages_pending = 1;
    assert_int_equal(accel_health(&accel, A, &health, &err), 0);
    assert_int_equal(health.health, ACCEL_SUSPECT);
    world->cards[1].uncorrected = 5;
    assert_int_equal(accel_health(&accel, B, &health, &err), 0);
    assert_int_equal(health.health, ACCEL_DEGRADED);
    assert_string_equal(health.reason, "5 memory errors were not corrected");
    accel_close(&accel);
}

static void
an_amd_card_is_reset_when_nobody_is_on_it(void **state)
{
    struct accel accel = opened();
    struct accel_process list[ACCEL_PROCESSES_MAX];
    struct accel_node nodes[ACCEL_NODES_MAX];
    struct accel_event events[ACCEL_EVENTS_MAX];
    struct accel_scrub done = { 0 };
    struct error err = { 0 };
    size_t count = 0;

    (void)state;
    world->process_count = 1;
    world->processes[0].pid = 4242;
    world->processes[0].card = 1;
    world->processes[0].vram = 3ULL << 30;
    assert_int_equal(accel_processes(&accel, A, list, &count, &err), 0);
    assert_int_equal(count, 0);
    assert_int_equal(accel_processes(&accel, B, list, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_int_equal(list[0].pid, 4242);
    assert_int_equal(list[0].used_mib, 3072);
    assert_int_equal(accel_reset(&accel, B, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(accel_reset(&accel, A, &err), 0);
    assert_int_equal(world->cards[0].used, 0);
    assert_int_equal(accel_scrub(&accel, B, &done, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(accel_scrub(&accel, A, &done, &err), 0);
    assert_string_equal(done.method, "reset by the vendor's library");
    assert_int_equal(accel_settle(&accel, A, &err), 0);
    assert_int_equal(world->cards[0].cap, 560000000);
    assert_int_equal(accel_nodes(&accel, B, nodes, &count, &err), 0);
    assert_int_equal(count, 2);
    assert_string_equal(nodes[0].name, "dri/renderD129");
    assert_true(nodes[0].plain);
    assert_int_equal(nodes[0].major, 226);
    assert_int_equal(nodes[0].minor, 129);
    assert_int_equal(nodes[1].major, 235);
    assert_true(nodes[1].shared);
    world->event_count = 1;
    world->events[0].card = 1;
    world->events[0].kind = 2;
    assert_int_equal(accel_events(&accel, 0, events, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_int_equal(events[0].kind, ACCEL_EVENT_THERMAL);
    assert_string_equal(events[0].uuid, B);
    accel_close(&accel);
}

/* Everything that is asked about one card, and about all. */
static void
ask_all(struct accel *accel, const char *uuid)
{
    struct accel_process processes[ACCEL_PROCESSES_MAX];
    struct accel_node nodes[ACCEL_NODES_MAX];
    struct accel_event events[ACCEL_EVENTS_MAX];
    struct accel_card card;
    struct accel_state health;
    struct error err = { 0 };
    size_t count;

    (void)accel_describe(accel, uuid, &card, &err);
    (void)accel_health(accel, uuid, &health, &err);
    (void)accel_processes(accel, uuid, processes, &count, &err);
    (void)accel_nodes(accel, uuid, nodes, &count, &err);
    (void)accel_settle(accel, uuid, &err);
    (void)accel_reset(accel, uuid, &err);
    (void)accel_events(accel, 0, events, &count, &err);
}

static void
check_other(struct accel *accel, const char *symbol)
{
    struct accel_card card = { 0 };
    struct accel_state health = { .health = ACCEL_UNKNOWN };
    struct error err = { 0 };

    if (accel_describe(accel, B, &card, &err) != 0 ||
        accel_health(accel, B, &health, &err) != 0 ||
        health.health != ACCEL_HEALTHY)
        fail_msg("%s: the other card: %s %s", symbol, err.text,
                 health.reason);
}

/* Those without which there is no list, or which are about no card. */
static bool
is_common(const char *symbol)
{
    return strcmp(symbol, "rsmi_init") == 0 ||
           strcmp(symbol, "rsmi_shut_down") == 0 ||
           strcmp(symbol, "rsmi_num_monitor_devices") == 0 ||
           strcmp(symbol, "rsmi_version_str_get") == 0 ||
           strcmp(symbol, "rsmi_event_notification_get") == 0 ||
           strncmp(symbol, "rsmi_compute_process", 20) == 0;
}

/* NOT_SUPPORTED, a card whose files are gone, and a call that hangs: for each
 * function that is declared. */
static void
each_function_fails_alone(void **state)
{
    static const int answers[] = { RSMI_SUCCESS, RSMI_NOT_SUPPORTED,
                                   RSMI_FILE_ERROR, RSMI_STUB_HANG };

    (void)state;
    for (size_t i = 0; i < RSMI_STUB_SYMBOL_COUNT; i++)
        for (size_t j = 0; j < 4; j++) {
            const char *symbol = rsmi_stub_names[i];
            bool hang = answers[j] == RSMI_STUB_HANG;
            struct accel accel;
            int64_t from;

            rsmi_stub_fill(world, 2);
            world->process_count = 1;
            world->processes[0].card = 1;
            if (answers[j] != RSMI_SUCCESS)
                rsmi_stub_fault(world, symbol,
                                is_common(symbol) ? RSMI_STUB_ALL : 0,
                                answers[j]);
            accel = apart(hang ? HANG_MS : PATIENT_MS);
            from = clock_mono_ms();
            (void)listed(&accel);
            ask_all(&accel, A);
            if (!is_common(symbol))
                check_other(&accel, symbol);
            accel_close(&accel);
            if (hang && clock_mono_ms() - from > 7 * HANG_MS + 3000)
                fail_msg("%s: it took too long", symbol);
            if (world->calls[i] == 0)
                fail_msg("%s was not called", symbol);
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_amd_card_is_described, fresh),
        cmocka_unit_test_setup(an_amd_card_is_measured, fresh),
        cmocka_unit_test_setup(an_amd_card_is_reset_when_nobody_is_on_it,
                               fresh),
        cmocka_unit_test(each_function_fails_alone),
    };

    return cmocka_run_group_tests(tests, make, drop);
}
