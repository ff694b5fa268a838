/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries in processes of their own.  Each function of NVIDIA's library
 * that is declared is called with a good answer, with NOT_SUPPORTED, by a
 * card that is lost and by one that hangs; a function that nothing here calls
 * is a failure.
 */
#include "accel/accel_vendor.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "accel/nvml.h"
#include "accel/remote.h"
#include "base/clock.h"
#include "tests/stub/nvml_stub.h"
#include "tests/unit/scratch.h"

#define U0 "GPU-00000000-aaaa-bbbb-cccc-0123456789ab"
#define U1 "GPU-00000001-aaaa-bbbb-cccc-0123456789ab"
#define SLICE U0 "/1g.5gb@0"

/* Longer than any answer that comes; a hang costs as much. */
#define PATIENT_MS 10000
#define HANG_MS 300

static char home[SCRATCH_MAX];
static char program[256];
static char libraries[256];
static struct stub_world *world;

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
    (void)snprintf(program, sizeof(program), "%s/bulkhead-cards", own);
    (void)snprintf(libraries, sizeof(libraries), "%s/tests/stub/nvml", own);
    scratch_make(home, "vendor");
    (void)snprintf(path, sizeof(path), "%s/world", home);
    (void)setenv(STUB_ENV, path, 1);
    world = stub_map(path);
    return world == NULL ? -1 : 0;
}

static int
drop(void **state)
{
    (void)state;
    scratch_remove(home);
    return 0;
}

static struct accel
opened(int deadline_ms)
{
    struct accel accel = { 0 };
    struct error err = { 0 };

    if (accel_vendor_open(&accel,
                          &(struct accel_vendor_options){
                              .program = program,
                              .source = libraries,
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

    assert_int_equal(accel_list(accel, arena, &uuids, &count, &err), 0);
    return count;
}

static void
check_good(struct accel *accel, const char *uuid, const char *what)
{
    struct accel_card card = { 0 };
    struct accel_state state = { .health = ACCEL_UNKNOWN };
    struct error err = { 0 };

    if (accel_describe(accel, uuid, &card, &err) != 0 ||
        accel_health(accel, uuid, &state, &err) != 0 ||
        state.health != ACCEL_HEALTHY || card.memory_mib != 40960)
        fail_msg("%s: the other card: %s %s", what, err.text, state.reason);
}

/* --- what calls what --- */

enum where {
    LIST,
    DESCRIBE,
    HEALTH,
    ACTIVITY, /* two readings */
    PROCESSES,
    USAGE,
    SETTLE,
    CUT,
    CREATE,
    SLICES,
    SLICE_PROCESSES,
    DESTROY,
    NODES,
    EVENTS,
    SURVEY,
    CLOSE
};

enum scope {
    CARD,    /* asked about one card */
    LIBRARY, /* asked about none */
    PAIR,    /* asked about two */
    NAME     /* asked about one that has not said its name yet */
};

static const struct row {
    const char *symbol;
    enum where where;
    enum scope scope;
    const char *instead; /* not there: then the symbol is called */
    const char *and;     /* likewise */
} rows[] = {
    { "nvmlInit_v2", LIST, LIBRARY, NULL, NULL },
    { "nvmlShutdown", CLOSE, LIBRARY, NULL, NULL },
    { "nvmlSystemGetDriverVersion", LIST, LIBRARY, NULL, NULL },
    { "nvmlSystemGetNVMLVersion", SURVEY, LIBRARY, NULL, NULL },
    { "nvmlSystemGetCudaDriverVersion_v2", SURVEY, LIBRARY, NULL, NULL },
    { "nvmlSystemGetDriverBranch", SURVEY, LIBRARY, NULL, NULL },
    { "nvmlSystemGetConfComputeState", SURVEY, LIBRARY, NULL, NULL },
    { "nvmlDeviceGetCount_v2", LIST, LIBRARY, NULL, NULL },
    { "nvmlDeviceGetHandleByIndex_v2", LIST, NAME, NULL, NULL },
    { "nvmlGetExcludedDeviceCount", SURVEY, LIBRARY, NULL, NULL },
    { "nvmlGetExcludedDeviceInfoByIndex", SURVEY, LIBRARY, NULL, NULL },
    { "nvmlDeviceGetUUID", LIST, NAME, NULL, NULL },
    { "nvmlDeviceGetName", DESCRIBE, CARD, NULL, NULL },
    { "nvmlDeviceGetSerial", DESCRIBE, CARD, NULL, NULL },
    { "nvmlDeviceGetPciInfo_v3", LIST, NAME, NULL, NULL },
    { "nvmlDeviceGetMinorNumber", NODES, CARD, NULL, NULL },
    { "nvmlDeviceGetModuleId", HEALTH, CARD, "nvmlDeviceGetPlatformInfo",
      NULL },
    { "nvmlDeviceGetPlatformInfo", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetArchitecture", DESCRIBE, CARD, NULL, NULL },
    { "nvmlDeviceGetCudaComputeCapability", DESCRIBE, CARD, NULL, NULL },
    { "nvmlDeviceGetVbiosVersion", DESCRIBE, CARD, NULL, NULL },
    { "nvmlDeviceGetInforomImageVersion", DESCRIBE, CARD, NULL, NULL },
    { "nvmlDeviceValidateInforom", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetGspFirmwareMode", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetAttributes_v2", SLICES, CARD, NULL, NULL },
    { "nvmlDeviceGetMemoryInfo", HEALTH, CARD, "nvmlDeviceGetMemoryInfo_v2",
      NULL },
    { "nvmlDeviceGetMemoryInfo_v2", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetBAR1MemoryInfo", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetUtilizationRates", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetProcessUtilization", USAGE, CARD, NULL, NULL },
    { "nvmlGpmQueryDeviceSupport", HEALTH, CARD, NULL, NULL },
    { "nvmlGpmSampleAlloc", HEALTH, LIBRARY, NULL, NULL },
    { "nvmlGpmSampleGet", HEALTH, CARD, NULL, NULL },
    { "nvmlGpmMetricsGet", ACTIVITY, LIBRARY, NULL, NULL },
    { "nvmlGpmSampleFree", ACTIVITY, LIBRARY, NULL, NULL },
    { "nvmlDeviceGetPowerUsage", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetTotalEnergyConsumption", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetEnforcedPowerLimit", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetPowerManagementLimitConstraints", HEALTH, CARD, NULL,
      NULL },
    { "nvmlDeviceSetPowerManagementLimit", SETTLE, CARD, NULL, NULL },
    { "nvmlDeviceGetTemperature", HEALTH, CARD, "nvmlDeviceGetTemperatureV",
      NULL },
    { "nvmlDeviceGetTemperatureV", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetTemperatureThreshold", HEALTH, CARD,
      "nvmlDeviceGetMarginTemperature", NULL },
    { "nvmlDeviceGetMarginTemperature", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetCurrentClocksEventReasons", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetCurrentClocksThrottleReasons", HEALTH, CARD,
      "nvmlDeviceGetCurrentClocksEventReasons", NULL },
    { "nvmlDeviceGetClockInfo", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceResetGpuLockedClocks", SETTLE, CARD, NULL, NULL },
    { "nvmlDeviceResetMemoryLockedClocks", SETTLE, CARD, NULL, NULL },
    { "nvmlDeviceGetEccMode", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetTotalEccErrors", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetMemoryErrorCounter", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetSramEccErrorStatus", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetRetiredPages_v2", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetRetiredPagesPendingStatus", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetRemappedRows", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetRowRemapperHistogram", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetUnrepairableMemoryFlag_v1", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetRepairStatus", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetFieldValues", HEALTH, CARD, NULL, NULL },
    { "nvmlEventSetCreate", EVENTS, LIBRARY, NULL, NULL },
    { "nvmlDeviceGetSupportedEventTypes", EVENTS, CARD, NULL, NULL },
    { "nvmlDeviceRegisterEvents", EVENTS, CARD, NULL, NULL },
    { "nvmlEventSetWait_v2", EVENTS, LIBRARY, NULL, NULL },
    { "nvmlEventSetFree", CLOSE, LIBRARY, NULL, NULL },
    { "nvmlDeviceGetNvLinkState", DESCRIBE, CARD, NULL, NULL },
    { "nvmlDeviceGetNvLinkVersion", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetNvLinkRemotePciInfo_v2", DESCRIBE, CARD, NULL, NULL },
    { "nvmlDeviceGetNvLinkRemoteDeviceType", DESCRIBE, CARD, NULL, NULL },
    { "nvmlDeviceGetNvLinkErrorCounter", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetGpuFabricInfoV", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetGpuFabricInfo", HEALTH, CARD,
      "nvmlDeviceGetGpuFabricInfoV", NULL },
    { "nvmlDeviceGetTopologyCommonAncestor", DESCRIBE, PAIR, NULL, NULL },
    { "nvmlDeviceGetP2PStatus", DESCRIBE, PAIR, NULL, NULL },
    { "nvmlDeviceGetMemoryAffinity", DESCRIBE, CARD, NULL, NULL },
    { "nvmlDeviceGetNumaNodeId", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetCurrPcieLinkGeneration", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetCurrPcieLinkWidth", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetMaxPcieLinkGeneration", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetMaxPcieLinkWidth", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetPcieReplayCounter", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceGetMigMode", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceSetMigMode", CUT, CARD, NULL, NULL },
    { "nvmlDeviceGetGpuInstanceProfileInfo", SLICES, CARD,
      "nvmlDeviceGetGpuInstanceProfileInfoV", NULL },
    { "nvmlDeviceGetGpuInstanceProfileInfoV", SLICES, CARD, NULL, NULL },
    { "nvmlDeviceGetGpuInstancePossiblePlacements_v2", CREATE, CARD, NULL,
      NULL },
    { "nvmlDeviceCreateGpuInstanceWithPlacement", CREATE, CARD, NULL, NULL },
    { "nvmlDeviceGetGpuInstances", SLICES, CARD, NULL, NULL },
    { "nvmlGpuInstanceGetInfo", SLICES, CARD, NULL, NULL },
    { "nvmlGpuInstanceDestroy", DESTROY, CARD, NULL, NULL },
    { "nvmlGpuInstanceGetComputeInstanceProfileInfoV", CREATE, CARD, NULL,
      NULL },
    { "nvmlGpuInstanceCreateComputeInstance", CREATE, CARD, NULL, NULL },
    { "nvmlGpuInstanceGetComputeInstances", DESTROY, CARD, NULL, NULL },
    { "nvmlComputeInstanceDestroy", DESTROY, CARD, NULL, NULL },
    { "nvmlDeviceGetMaxMigDeviceCount", SLICES, CARD, NULL, NULL },
    { "nvmlDeviceGetMigDeviceHandleByIndex", SLICES, CARD, NULL, NULL },
    { "nvmlDeviceGetGpuInstanceId", SLICE_PROCESSES, CARD, NULL, NULL },
    { "nvmlDeviceGetComputeInstanceId", SLICES, CARD, NULL, NULL },
    { "nvmlDeviceGetComputeRunningProcesses_v3", PROCESSES, CARD, NULL,
      NULL },
    { "nvmlDeviceGetGraphicsRunningProcesses_v3", PROCESSES, CARD, NULL,
      NULL },
    { "nvmlDeviceGetMPSComputeRunningProcesses_v3", PROCESSES, CARD, NULL,
      NULL },
    { "nvmlDeviceGetComputeRunningProcesses_v2", PROCESSES, CARD,
      "nvmlDeviceGetComputeRunningProcesses_v3", NULL },
    { "nvmlDeviceGetGraphicsRunningProcesses_v2", PROCESSES, CARD,
      "nvmlDeviceGetGraphicsRunningProcesses_v3", NULL },
    { "nvmlDeviceGetMPSComputeRunningProcesses_v2", PROCESSES, CARD,
      "nvmlDeviceGetMPSComputeRunningProcesses_v3", NULL },
    { "nvmlDeviceGetRunningProcessDetailList", PROCESSES, CARD,
      "nvmlDeviceGetComputeRunningProcesses_v3",
      "nvmlDeviceGetComputeRunningProcesses_v2" },
    { "nvmlDeviceGetAccountingMode", USAGE, CARD, NULL, NULL },
    { "nvmlDeviceSetAccountingMode", USAGE, CARD, NULL, NULL },
    { "nvmlDeviceGetAccountingPids", USAGE, CARD, NULL, NULL },
    { "nvmlDeviceGetAccountingStats", USAGE, CARD, NULL, NULL },
    { "nvmlDeviceClearAccountingPids", SETTLE, CARD, NULL, NULL },
    { "nvmlDeviceGetComputeMode", HEALTH, CARD, NULL, NULL },
    { "nvmlDeviceSetComputeMode", SETTLE, CARD, NULL, NULL },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static size_t
symbol_of(const char *name)
{
    for (size_t i = 0; i < STUB_SYMBOL_COUNT; i++)
        if (strcmp(stub_names[i], name) == 0)
            return i;
    fail_msg("%s is not declared", name);
    return 0;
}

static void
each_declared_function_is_called(void **state)
{
    (void)state;
    assert_int_equal(ROWS, STUB_SYMBOL_COUNT);
    for (size_t i = 0; i < STUB_SYMBOL_COUNT; i++) {
        size_t found = 0;

        for (size_t j = 0; j < ROWS; j++)
            found += strcmp(rows[j].symbol, stub_names[i]) == 0;
        if (found != 1)
            fail_msg("%s is not in the table", stub_names[i]);
    }
}

/* Two linked cards; the first has what the call is about. */
static void
prepare(const struct row *row)
{
    struct stub_card *card = &world->cards[0];

    stub_fill(world, 2);
    for (int i = 0; i < 2; i++)
        world->cards[i].links[0] = world->cards[i].links[1] = 1 - i;
    card->account_count = 1;
    card->accounts[0].pid = 11;
    card->accounts[0].running = 1;
    if (row->where == SLICES || row->where == SLICE_PROCESSES ||
        row->where == DESTROY || row->where == CREATE) {
        card->sliced = 1;
        card->next_instance = 1;
    }
    if (row->where == SLICES || row->where == SLICE_PROCESSES ||
        row->where == DESTROY)
        card->slices[0] = (struct stub_slice){ .there = 1,
                                               .id = 1,
                                               .profile = 19,
                                               .size = 1,
                                               .compute = 1 };
    if (row->instead != NULL)
        stub_fault(world, row->instead, STUB_ALL, NVML_FUNCTION_NOT_FOUND);
    if (row->and != NULL)
        stub_fault(world, row->and, STUB_ALL, NVML_FUNCTION_NOT_FOUND);
}

static int
read_twice(struct accel *accel, struct error *err)
{
    struct accel_reading reading;

    if (accel_read(accel, U0, &reading, err) != 0)
        return -1;
    (void)usleep(160000);
    return accel_read(accel, U0, &reading, err);
}

/* What a state says is put as an error is. */
static int
ask_health(struct accel *accel, struct error *err)
{
    struct accel_state state = { .health = ACCEL_UNKNOWN };

    if (accel_health(accel, U0, &state, err) != 0)
        return -1;
    if (state.health == ACCEL_HEALTHY)
        return 0;
    return error_set(err,
                     state.health == ACCEL_FAILED ? ERROR_GONE : ERROR_BUSY,
                     "%s", state.reason);
}

static int
act(struct accel *accel, enum where where, struct error *err)
{
    union {
        struct accel_card card;
        struct accel_process processes[ACCEL_PROCESSES_MAX];
        struct accel_usage usage[ACCEL_PROCESSES_MAX];
        struct accel_slice slices[ACCEL_SLICES_MAX];
        struct accel_node nodes[ACCEL_NODES_MAX];
        struct accel_event events[ACCEL_EVENTS_MAX];
        struct accel_survey survey;
    } out;
    size_t count = 0;
    const char *name;

    switch (where) {
    case LIST:
    case SURVEY:
        (void)accel_vendor_library(accel, 0, &name, &out.survey, err);
        return err->code == ERROR_NONE ? 0 : -1;
    case DESCRIBE:
        return accel_describe(accel, U0, &out.card, err);
    case HEALTH:
        return ask_health(accel, err);
    case ACTIVITY:
        return read_twice(accel, err);
    case PROCESSES:
        return accel_processes(accel, U0, out.processes, &count, err);
    case SLICE_PROCESSES:
        return accel_processes(accel, SLICE, out.processes, &count, err);
    case USAGE:
        return accel_usage(accel, U0, out.usage, &count, err);
    case SETTLE:
        return accel_settle(accel, U0, err);
    case CUT:
        return accel_cut(accel, U0, true, err);
    case CREATE:
        return accel_slice_create(accel, SLICE, err);
    case SLICES:
        return accel_slices(accel, U0, out.slices, &count, err);
    case DESTROY:
        return accel_slice_destroy(accel, SLICE, err);
    case NODES:
        return accel_nodes(accel, U0, out.nodes, &count, err);
    case EVENTS:
        return accel_events(accel, 0, out.events, &count, err);
    case CLOSE:
        return accel_events(accel, 0, out.events, &count, err);
    }
    return -1;
}

static void
each_function_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        struct accel accel;
        struct error err = { 0 };

        prepare(&rows[i]);
        accel = opened(PATIENT_MS);
        assert_int_equal(listed(&accel), 2);
        if (act(&accel, rows[i].where, &err) != 0)
            fail_msg("%s: %s", rows[i].symbol, err.text);
        accel_close(&accel);
        if (world->calls[symbol_of(rows[i].symbol)] == 0)
            fail_msg("%s was not called", rows[i].symbol);
    }
}

/* What a card or a driver does not have takes nothing else away. */
static void
what_is_not_supported_is_missing_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        struct accel accel;
        struct error err = { 0 };

        if (row->scope == LIBRARY && row->where == LIST)
            continue; /* there is no library without these */
        prepare(row);
        stub_fault(world, row->symbol, row->scope == LIBRARY ? STUB_ALL : 0,
                   NVML_NOT_SUPPORTED);
        accel = opened(PATIENT_MS);
        assert_int_equal(listed(&accel), row->scope == NAME ? 1 : 2);
        if (act(&accel, row->where, &err) != 0 &&
            err.code != ERROR_UNSUPPORTED && err.code != ERROR_NOT_FOUND)
            fail_msg("%s: %s", row->symbol, err.text);
        check_good(&accel, U1, row->symbol);
        accel_close(&accel);
        if (world->calls[symbol_of(row->symbol)] == 0)
            fail_msg("%s was not called", row->symbol);
    }
}

/* [N5] for each function. */
static void
a_lost_card_is_lost_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        struct accel accel;
        struct error err = { 0 };
        int result;

        if (row->scope == LIBRARY)
            continue;
        prepare(row);
        stub_fault(world, row->symbol, 0, NVML_GPU_IS_LOST);
        accel = opened(PATIENT_MS);
        assert_int_equal(listed(&accel), row->scope == NAME ? 1 : 2);
        result = act(&accel, row->where, &err);
        if (row->scope == CARD && row->where != EVENTS &&
            (result == 0 || err.code != ERROR_GONE))
            fail_msg("%s: the card is not seen to be lost: %s", row->symbol,
                     err.text);
        check_good(&accel, U1, row->symbol);
        accel_close(&accel);
    }
}

static void
check_hang(struct accel *accel, const struct row *row)
{
    struct error err = { 0 };
    int64_t from = clock_mono_ms();
    int result = act(accel, row->where, &err);

    if (clock_mono_ms() - from > HANG_MS + 2000)
        fail_msg("%s: it took %lld ms", row->symbol,
                 (long long)(clock_mono_ms() - from));
    if (row->where == EVENTS || row->where == CLOSE || row->scope == NAME)
        return;
    if (result == 0 || err.code != ERROR_BUSY ||
        strstr(err.text, row->symbol) == NULL)
        fail_msg("%s: not said to hang: %s", row->symbol, err.text);
    /* The second time nobody waits. */
    from = clock_mono_ms();
    err = (struct error){ 0 };
    (void)act(accel, row->where, &err);
    if (row->scope == CARD && clock_mono_ms() - from > HANG_MS / 2)
        fail_msg("%s: it is asked again: %s", row->symbol, err.text);
}

static void
a_call_that_hangs_costs_one_deadline_and_one_card(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        struct accel accel;
        size_t there;

        prepare(row);
        stub_fault(world, row->symbol, row->scope == LIBRARY ? STUB_ALL : 0,
                   STUB_HANG);
        accel = opened(HANG_MS);
        there = listed(&accel);
        if (row->scope != LIBRARY)
            assert_int_equal(there, row->scope == NAME ? 1 : 2);
        check_hang(&accel, row);
        if (row->scope != LIBRARY)
            check_good(&accel, U1, row->symbol);
        if (row->scope == PAIR)
            check_good(&accel, U0, row->symbol);
        accel_close(&accel);
        if (world->calls[symbol_of(row->symbol)] == 0)
            fail_msg("%s was not called", row->symbol);
    }
}

/* A driver that is dead as a whole is not waited for card by card. */
static void
a_library_that_hangs_for_all_cards_is_left_alone(void **state)
{
    struct accel_state health = { 0 };
    struct error err = { 0 };
    struct accel accel;

    (void)state;
    stub_fill(world, 8);
    stub_fault(world, "nvmlDeviceGetEccMode", STUB_ALL, STUB_HANG);
    accel = opened(HANG_MS);
    assert_int_equal(listed(&accel), 8);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(accel_health(&accel, world->cards[i].uuid, &health,
                                      &err),
                         0);
        assert_int_equal(health.health, ACCEL_UNKNOWN);
        assert_non_null(strstr(health.reason, "nvmlDeviceGetEccMode"));
    }
    assert_int_equal(world->calls[symbol_of("nvmlDeviceGetEccMode")], 3);
    accel_close(&accel);
}

/* --- what stays known --- */

/* [N7] */
static void
a_card_that_is_listed_no_more_has_failed(void **state)
{
    struct accel_card card = { 0 };
    struct accel_state health = { 0 };
    struct error err = { 0 };
    struct accel accel;

    (void)state;
    stub_fill(world, 2);
    accel = opened(PATIENT_MS);
    assert_int_equal(listed(&accel), 2);
    assert_int_equal(accel_describe(&accel, U0, &card, &err), 0);
    stub_fault(world, "nvmlDeviceGetHandleByIndex_v2", 0, NVML_GPU_IS_LOST);
    assert_int_equal(listed(&accel), 2);
    assert_int_equal(accel_describe(&accel, U0, &card, &err), 0);
    assert_string_equal(card.pci, "0000:41:00.0");
    assert_int_equal(accel_health(&accel, U0, &health, &err), 0);
    assert_int_equal(health.health, ACCEL_FAILED);
    assert_string_equal(health.reason, "the card is gone: its library does "
                                       "not list it any more");
    check_good(&accel, U1, "gone");
    /* It is back. */
    world->fault_count = 0;
    assert_int_equal(listed(&accel), 2);
    check_good(&accel, U0, "back");
    accel_close(&accel);
}

static void
a_library_that_is_not_there_has_no_cards(void **state)
{
    struct accel accel = { 0 };
    struct accel_survey survey;
    struct error err = { 0 };
    const char *name;

    (void)state;
    assert_int_equal(
        accel_vendor_open(&accel,
                          &(struct accel_vendor_options){
                              .program = program,
                              .source = home,
                              .state_dir = home },
                          &err),
        0);
    assert_int_equal(listed(&accel), 0);
    assert_true(accel_vendor_library(&accel, 0, &name, &survey, &err));
    assert_string_equal(name, "nvml");
    assert_string_equal(err.text, "libnvidia-ml.so.1 is not there");
    accel_close(&accel);
    assert_int_equal(accel_vendor_open(&accel,
                                       &(struct accel_vendor_options){
                                           .program = "/nonexistent",
                                           .state_dir = home },
                                       &err),
                     -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

/* A library that takes its process down is one that gives no answer. */
static void
a_worker_that_dies_is_started_anew(void **state)
{
    const struct wire_request list = { .op = WIRE_LIST };
    struct wire_uuid uuids[ACCEL_CARDS_MAX];
    struct remote *remote =
        remote_new(&(struct remote_options){ .program = program,
                                             .backend = "nvml",
                                             .source = libraries,
                                             .state_dir = home,
                                             .deadline_ms = PATIENT_MS });
    struct error err = { 0 };
    size_t size = 0;
    pid_t first;

    (void)state;
    stub_fill(world, 2);
    assert_int_equal(remote_call(remote, &list, uuids, sizeof(uuids), &size,
                                 &err),
                     0);
    assert_int_equal(size, 2 * sizeof(uuids[0]));
    first = remote_pid(remote);
    assert_true(first > 0);
    assert_int_equal(kill(first, SIGKILL), 0);
    /* It died between two requests: of no call. */
    assert_int_equal(remote_call(remote, &list, uuids, sizeof(uuids), &size,
                                 &err),
                     0);
    assert_int_equal(size, 2 * sizeof(uuids[0]));
    assert_true(remote_pid(remote) != first);
    assert_int_equal(kill(first, 0), -1);
    remote_free(remote);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_declared_function_is_called),
        cmocka_unit_test(each_function_answers),
        cmocka_unit_test(what_is_not_supported_is_missing_alone),
        cmocka_unit_test(a_lost_card_is_lost_alone),
        cmocka_unit_test(a_call_that_hangs_costs_one_deadline_and_one_card),
        cmocka_unit_test(a_library_that_hangs_for_all_cards_is_left_alone),
        cmocka_unit_test(a_card_that_is_listed_no_more_has_failed),
        cmocka_unit_test(a_library_that_is_not_there_has_no_cards),
        cmocka_unit_test(a_worker_that_dies_is_started_anew),
    };

    return cmocka_run_group_tests(tests, make, drop);
}
