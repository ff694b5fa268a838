/* SPDX-License-Identifier: Apache-2.0 */
/* Intel's backend against a library with the true interface, and the cards of
 * three vendors side by side. */
#include "accel/accel_vendor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "accel/zes.h"
#include "base/clock.h"
#include "base/file.h"
#include "tests/stub/nvml_stub.h"
#include "tests/stub/rsmi_stub.h"
#include "tests/stub/zes_stub.h"
#include "tests/unit/scratch.h"

/* Where the library's own headers are installed they are the judge of ours. */
#if __has_include(<level_zero/zes_api.h>)
#include <level_zero/zes_api.h>
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)
SAME(ZES_DEVICE_LOST, ZE_RESULT_ERROR_DEVICE_LOST);
SAME(ZES_REQUIRES_RESET, ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET);
SAME(ZES_NO_PERMISSION, ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS);
SAME(ZES_NOT_AVAILABLE, ZE_RESULT_ERROR_NOT_AVAILABLE);
SAME(ZES_NO_DEPENDENCY, ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE);
SAME(ZES_UNINITIALIZED, ZE_RESULT_ERROR_UNINITIALIZED);
SAME(ZES_UNSUPPORTED, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
SAME(ZES_INVALID_ARGUMENT, ZE_RESULT_ERROR_INVALID_ARGUMENT);
SAME(ZES_IN_USE, ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
SAME(ZES_KIND_CORE, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
SAME(ZES_KIND_DEVICE, ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES);
SAME(ZES_KIND_PCI, ZES_STRUCTURE_TYPE_PCI_PROPERTIES);
SAME(ZES_KIND_ENGINE, ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES);
SAME(ZES_KIND_FREQUENCY, ZES_STRUCTURE_TYPE_FREQ_PROPERTIES);
SAME(ZES_KIND_MEMORY, ZES_STRUCTURE_TYPE_MEM_PROPERTIES);
SAME(ZES_KIND_POWER, ZES_STRUCTURE_TYPE_POWER_PROPERTIES);
SAME(ZES_KIND_RAS, ZES_STRUCTURE_TYPE_RAS_PROPERTIES);
SAME(ZES_KIND_SENSOR, ZES_STRUCTURE_TYPE_TEMP_PROPERTIES);
SAME(ZES_KIND_STATE, ZES_STRUCTURE_TYPE_DEVICE_STATE);
SAME(ZES_KIND_PROCESS, ZES_STRUCTURE_TYPE_PROCESS_STATE);
SAME(ZES_KIND_PCI_STATE, ZES_STRUCTURE_TYPE_PCI_STATE);
SAME(ZES_KIND_FREQUENCY_STATE, ZES_STRUCTURE_TYPE_FREQ_STATE);
SAME(ZES_KIND_MEMORY_STATE, ZES_STRUCTURE_TYPE_MEM_STATE);
SAME(ZES_KIND_RAS_STATE, ZES_STRUCTURE_TYPE_RAS_STATE);
SAME(ZES_EVENT_RESET, ZES_EVENT_TYPE_FLAG_DEVICE_RESET_REQUIRED);
SAME(ZES_EVENT_MEMORY, ZES_EVENT_TYPE_FLAG_MEM_HEALTH);
SAME(sizeof(struct zes_core), sizeof(ze_device_properties_t));
SAME(sizeof(struct zes_properties), sizeof(zes_device_properties_t));
SAME(sizeof(struct zes_state), sizeof(zes_device_state_t));
SAME(sizeof(struct zes_pci), sizeof(zes_pci_properties_t));
SAME(sizeof(struct zes_pci_state), sizeof(zes_pci_state_t));
SAME(sizeof(struct zes_process), sizeof(zes_process_state_t));
SAME(sizeof(struct zes_memory), sizeof(zes_mem_properties_t));
SAME(sizeof(struct zes_memory_state), sizeof(zes_mem_state_t));
SAME(sizeof(struct zes_engine), sizeof(zes_engine_properties_t));
SAME(sizeof(struct zes_activity), sizeof(zes_engine_stats_t));
SAME(sizeof(struct zes_power), sizeof(zes_power_properties_t));
SAME(sizeof(struct zes_energy), sizeof(zes_power_energy_counter_t));
SAME(sizeof(struct zes_sensor), sizeof(zes_temp_properties_t));
SAME(sizeof(struct zes_ras), sizeof(zes_ras_properties_t));
SAME(sizeof(struct zes_ras_state), sizeof(zes_ras_state_t));
SAME(sizeof(struct zes_frequency), sizeof(zes_freq_properties_t));
SAME(sizeof(struct zes_frequency_state), sizeof(zes_freq_state_t));
SAME(offsetof(struct zes_core, uuid), offsetof(ze_device_properties_t, uuid));
SAME(offsetof(struct zes_core, slices),
     offsetof(ze_device_properties_t, numSlices));
SAME(offsetof(struct zes_properties, driver),
     offsetof(zes_device_properties_t, driverVersion));
SAME(offsetof(struct zes_memory, size),
     offsetof(zes_mem_properties_t, physicalSize));
SAME(offsetof(struct zes_power, usual_mw),
     offsetof(zes_power_properties_t, defaultLimit));
SAME(offsetof(struct zes_pci_state, now), offsetof(zes_pci_state_t, speed));
#endif

#define A "INTEL-86000000-0000-0000-0000-000000000000"
#define B "INTEL-86000000-0000-0000-0000-000000000001"

#define PATIENT_MS 10000
#define HANG_MS 300

static char home[SCRATCH_MAX];
static char all[SCRATCH_MAX];
static char program[256];
static struct zes_stub_world *world;

static int
lay(const char *build, const char *where, const char *file,
    const char *directory)
{
    char from[320], to[320];

    (void)snprintf(from, sizeof(from), "%s/tests/stub/%s/%s", build, where,
                   file);
    (void)snprintf(to, sizeof(to), "%s/%s", directory, file);
    return symlink(from, to);
}

static int
make(void **state)
{
    char own[200];
    char path[128];
    ssize_t size = readlink("/proc/self/exe", own, sizeof(own) - 1);

    (void)state;
    if (size < 0)
        return -1;
    own[size] = '\0';
    *strstr(own, "/tests/unit/") = '\0';
    scratch_make(home, "zes");
    scratch_make(all, "all");
    (void)snprintf(program, sizeof(program), "%s/bulkhead-cards", own);
    if (lay(own, "zes", "libze_loader.so.1", home) != 0 ||
        lay(own, "zes", "libze_loader.so.1", all) != 0 ||
        lay(own, "rocm", "librocm_smi64.so.1", all) != 0 ||
        lay(own, "nvml", "libnvidia-ml.so.1", all) != 0)
        return -1;
    (void)snprintf(path, sizeof(path), "%s/world", home);
    (void)setenv(ZES_STUB_ENV, path, 1);
    world = zes_stub_map(path);
    return world == NULL ? -1 : 0;
}

static int
drop(void **state)
{
    (void)state;
    scratch_remove(home);
    scratch_remove(all);
    return 0;
}

static int
fresh(void **state)
{
    (void)state;
    zes_stub_fill(world, 2);
    return 0;
}

static struct accel
opened(void)
{
    struct accel accel = { 0 };
    struct error err = { 0 };

    if (accel_open(&accel, "zes", home, home, &err) != 0)
        fail_msg("%s", err.text);
    return accel;
}

static struct accel
apart(const char *source, int deadline_ms)
{
    struct accel accel = { 0 };
    struct error err = { 0 };

    if (accel_vendor_open(
            &accel,
            &(struct accel_vendor_options){ .program = program,
                                            .source = source,
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

static enum accel_health
health_of(struct accel *accel, const char *uuid)
{
    struct accel_state state = { .health = ACCEL_UNKNOWN };
    struct error err = { 0 };

    (void)accel_health(accel, uuid, &state, &err);
    return state.health;
}

static void
an_intel_card_is_described_and_measured(void **state)
{
    static const struct {
        enum accel_item item;
        int64_t value;
    } rows[] = {
        { ACCEL_MEMORY_TOTAL, 49152 }, { ACCEL_MEMORY_USED, 30 },
        { ACCEL_BUSY, 250 }, { ACCEL_POWER, 120000 },
        { ACCEL_POWER_DEFAULT, 300000 }, { ACCEL_POWER_MIN, ACCEL_ABSENT },
        { ACCEL_TEMPERATURE, 47 }, { ACCEL_CLOCK, 1550 },
        { ACCEL_ECC_UNCORRECTED, 0 }, { ACCEL_ECC_CORRECTED, ACCEL_ABSENT },
        { ACCEL_PCIE_GENERATION, 4 }, { ACCEL_PCIE_GENERATION_MAX, 5 },
        { ACCEL_ATTENTION, 1 }, { ACCEL_RECOVERY, 0 },
    };
    struct accel accel = opened();
    struct accel_card card = { 0 };
    struct accel_reading reading;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(listed(&accel), 2);
    assert_int_equal(accel_describe(&accel, A, &card, &err), 0);
    assert_string_equal(card.vendor, "intel");
    assert_string_equal(card.model, "Intel(R) Data Center GPU Max 1100");
    assert_string_equal(card.pci, "0000:29:00.0");
    assert_string_equal(card.driver, "1.3.29735");
    assert_int_equal(card.memory_mib, 49152);
    assert_int_equal(card.compute_units, 128);
    assert_int_equal(accel_read(&accel, A, &reading, &err), 0);
    assert_true(reading.value[ACCEL_BUSY] == ACCEL_ABSENT);
    assert_int_equal(accel_read(&accel, A, &reading, &err), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (reading.value[rows[i].item] != rows[i].value)
            fail_msg("%s is %lld", accel_item_text(rows[i].item),
                     (long long)reading.value[rows[i].item]);
    accel_close(&accel);
}

static void
what_intel_s_library_says_of_health_holds(void **state)
{
    struct accel accel = opened();
    struct accel_process list[ACCEL_PROCESSES_MAX];
    struct accel_event events[ACCEL_EVENTS_MAX];
    struct error err = { 0 };
    size_t count = 0;

    (void)state;
    assert_int_equal(health_of(&accel, A), ACCEL_HEALTHY);
    world->cards[0].health = 2;
    assert_int_equal(health_of(&accel, A), ACCEL_SUSPECT);
    world->cards[0].health = 3;
    assert_int_equal(health_of(&accel, A), ACCEL_DEGRADED);
    world->cards[0].health = 4;
    assert_int_equal(health_of(&accel, A), ACCEL_FAILED);
    world->cards[0].health = 1;
    world->cards[0].reset = 1;
    assert_int_equal(health_of(&accel, A), ACCEL_FAILED);
    world->cards[0].process = 77;
    assert_int_equal(accel_processes(&accel, A, list, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_int_equal(list[0].pid, 77);
    assert_int_equal(list[0].used_mib, 5);
    assert_int_equal(accel_reset(&accel, A, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    world->cards[0].process = 0;
    assert_int_equal(accel_reset(&accel, A, &err), 0);
    assert_int_equal(health_of(&accel, A), ACCEL_HEALTHY);
    world->cards[1].event = 1U << 14 | 1U << 13;
    assert_int_equal(accel_events(&accel, 0, events, &count, &err), 0);
    assert_int_equal(count, 2);
    assert_int_equal(events[0].kind, ACCEL_EVENT_RECOVERY);
    assert_int_equal(events[1].kind, ACCEL_EVENT_ECC);
    assert_string_equal(events[1].uuid, B);
    accel_close(&accel);
}

/* The address 0000:29:00.0 has what the kernel calls renderD130. */
static void
an_intel_card_is_given_by_its_render_node_and_cleaned_by_a_reset(void **state)
{
    struct accel accel = opened();
    struct accel_node nodes[ACCEL_NODES_MAX];
    struct accel_scrub done = { 0 };
    struct error err = { 0 };
    char path[200];
    size_t count = 0;

    (void)state;
    assert_int_equal(accel_nodes(&accel, A, nodes, &count, &err), -1);
    assert_int_equal(err.code, ERROR_UNSUPPORTED);
    (void)snprintf(path, sizeof(path),
                   "%s/sys/bus/pci/devices/0000:29:00.0/drm/renderD130", home);
    assert_int_equal(file_make_directory(path, 0700, &err), 0);
    assert_int_equal(accel_nodes(&accel, A, nodes, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_string_equal(nodes[0].name, "dri/renderD130");
    assert_true(nodes[0].plain);
    assert_int_equal(nodes[0].major, 226);
    assert_int_equal(nodes[0].minor, 130);
    world->cards[0].process = 77;
    assert_int_equal(accel_scrub(&accel, A, &done, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    world->cards[0].process = 0;
    assert_int_equal(accel_scrub(&accel, A, &done, &err), 0);
    assert_string_equal(done.method, "reset by the vendor's library");
    accel_close(&accel);
    (void)snprintf(path, sizeof(path), "%s/sys", home);
    scratch_remove(path);
}

static void
ask_all(struct accel *accel, const char *uuid)
{
    struct accel_process processes[ACCEL_PROCESSES_MAX];
    struct accel_event events[ACCEL_EVENTS_MAX];
    struct accel_card card;
    struct error err = { 0 };
    size_t count;

    (void)accel_describe(accel, uuid, &card, &err);
    (void)health_of(accel, uuid);
    (void)accel_processes(accel, uuid, processes, &count, &err);
    (void)accel_reset(accel, uuid, &err);
    (void)accel_events(accel, 0, events, &count, &err);
}

static bool
is_common(const char *symbol)
{
    return symbol[2] != 's' || strcmp(symbol, "zesDriverEventListen") == 0;
}

/* A good answer, one that says that it is not supported, a lost card and a
 * call that hangs: for each function that is declared. */
static void
each_function_fails_alone(void **state)
{
    static const int answers[] = { ZES_SUCCESS, ZES_UNSUPPORTED,
                                   ZES_DEVICE_LOST, ZES_STUB_HANG };

    (void)state;
    for (size_t i = 0; i < ZES_STUB_SYMBOL_COUNT; i++)
        for (size_t j = 0; j < 4; j++) {
            const char *symbol = zes_stub_names[i];
            bool hang = answers[j] == ZES_STUB_HANG;
            struct accel accel;
            int64_t from;

            zes_stub_fill(world, 2);
            if (answers[j] != ZES_SUCCESS)
                zes_stub_fault(world, symbol,
                               is_common(symbol) ? ZES_STUB_ALL : 0,
                               answers[j]);
            accel = apart(home, hang ? HANG_MS : PATIENT_MS);
            from = clock_mono_ms();
            (void)listed(&accel);
            ask_all(&accel, A);
            if (!is_common(symbol) && health_of(&accel, B) != ACCEL_HEALTHY)
                fail_msg("%s: the other card is not healthy", symbol);
            accel_close(&accel);
            if (hang && clock_mono_ms() - from > 7 * HANG_MS + 3000)
                fail_msg("%s: it took too long", symbol);
            if (world->calls[i] == 0)
                fail_msg("%s was not called", symbol);
        }
}

/* One library that hangs as a whole takes no card of another vendor away. */
static void
cards_of_three_vendors_stand_side_by_side(void **state)
{
    char path[128];
    struct stub_world *nvidia;
    struct rsmi_stub_world *amd;
    struct accel accel;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/nvidia", home);
    nvidia = stub_map(path);
    (void)setenv(STUB_ENV, path, 1);
    (void)snprintf(path, sizeof(path), "%s/amd", home);
    amd = rsmi_stub_map(path);
    (void)setenv(RSMI_STUB_ENV, path, 1);
    assert_non_null(nvidia);
    assert_non_null(amd);
    stub_fill(nvidia, 2);
    rsmi_stub_fill(amd, 1);
    accel = apart(all, PATIENT_MS);
    assert_int_equal(listed(&accel), 5);
    assert_int_equal(health_of(&accel, nvidia->cards[1].uuid), ACCEL_HEALTHY);
    assert_int_equal(health_of(&accel, "GPU-d1cc3f11cc4a0000"),
                     ACCEL_HEALTHY);
    assert_int_equal(health_of(&accel, B), ACCEL_HEALTHY);
    accel_close(&accel);
    stub_fault(nvidia, "nvmlInit_v2", STUB_ALL, STUB_HANG);
    accel = apart(all, HANG_MS);
    assert_int_equal(listed(&accel), 3);
    assert_int_equal(health_of(&accel, B), ACCEL_HEALTHY);
    accel_close(&accel);
    (void)unsetenv(STUB_ENV);
    (void)unsetenv(RSMI_STUB_ENV);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_intel_card_is_described_and_measured,
                               fresh),
        cmocka_unit_test_setup(what_intel_s_library_says_of_health_holds,
                               fresh),
        cmocka_unit_test_setup(
            an_intel_card_is_given_by_its_render_node_and_cleaned_by_a_reset,
            fresh),
        cmocka_unit_test_setup(cards_of_three_vendors_stand_side_by_side,
                               fresh),
        cmocka_unit_test(each_function_fails_alone),
    };

    return cmocka_run_group_tests(tests, make, drop);
}
