/* SPDX-License-Identifier: Apache-2.0 */
/* Who is on one of NVIDIA's cards, who was, and what is put back after. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "accel/nvml_private.h"
#include "base/file.h"

#define MIB 1048576ULL
/* Bytes that no driver writes by chance in all of a record. */
#define GUARD 0xA5

struct listing {
    struct accel_process *list;
    size_t count;
};

static void
read_name(unsigned pid, char *name, size_t room)
{
    char path[48];
    scoped_fd fd = -1;
    ssize_t size;

    (void)snprintf(path, sizeof(path), "/proc/%u/comm", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    size = fd < 0 ? 0 : read(fd, name, room - 1);
    name[size > 0 ? size : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
}

static void
add(struct listing *out, unsigned pid, unsigned long long used,
    unsigned instance, bool shared)
{
    struct accel_process *process = NULL;

    for (size_t i = 0; i < out->count && process == NULL; i++)
        if (out->list[i].pid == (pid_t)pid)
            process = &out->list[i];
    if (process == NULL) {
        if (out->count == ACCEL_PROCESSES_MAX)
            return;
        process = &out->list[out->count++];
        *process = (struct accel_process){ .pid = (pid_t)pid,
                                           .used_mib = -1,
                                           .instance = -1 };
        read_name(pid, process->name, sizeof(process->name));
    }
    if (used != NVML_NOT_AVAILABLE && process->used_mib < 0)
        process->used_mib = (int64_t)(used / MIB);
    if (instance != NVML_WHOLE && process->instance < 0)
        process->instance = (int32_t)instance;
    process->shared = process->shared || shared;
}

/* How long are the records?  Some drivers of one branch fill 32 bytes where
 * the call of the same name has 24: the last byte that was written tells. */
static size_t
stride_of(const unsigned char *bytes, size_t count)
{
    size_t end = count * sizeof(struct nvml_process_wide);

    while (end > 0 && bytes[end - 1] == GUARD)
        end--;
    return end > count * sizeof(struct nvml_process)
               ? sizeof(struct nvml_process_wide)
               : sizeof(struct nvml_process);
}

static void
add_records(struct listing *out, const unsigned char *bytes, size_t count,
            bool shared)
{
    size_t stride = stride_of(bytes, count);

    for (size_t i = 0; i < count; i++) {
        struct nvml_process process;

        memcpy(&process, bytes + i * stride, sizeof(process));
        add(out, process.pid, process.used, process.instance, shared);
    }
}

enum kind { COMPUTE, GRAPHICS, MPS, KIND_COUNT };

static int
ask(struct nvml *nvml, nvml_device device, enum kind kind, bool newest,
    unsigned *count, void *records)
{
    switch (kind) {
    case COMPUTE:
        return newest ? NVML_CALL(nvml, nvmlDeviceGetComputeRunningProcesses_v3,
                                  device, count, records)
                      : NVML_CALL(nvml, nvmlDeviceGetComputeRunningProcesses_v2,
                                  device, count, records);
    case GRAPHICS:
        return newest
                   ? NVML_CALL(nvml, nvmlDeviceGetGraphicsRunningProcesses_v3,
                               device, count, records)
                   : NVML_CALL(nvml, nvmlDeviceGetGraphicsRunningProcesses_v2,
                               device, count, records);
    case MPS:
        return newest
                   ? NVML_CALL(nvml, nvmlDeviceGetMPSComputeRunningProcesses_v3,
                               device, count, records)
                   : NVML_CALL(nvml, nvmlDeviceGetMPSComputeRunningProcesses_v2,
                               device, count, records);
    case KIND_COUNT:
        break;
    }
    return NVML_FUNCTION_NOT_FOUND;
}

/* The list that says its own form: where neither of the others is there. */
static int
add_details(struct nvml *nvml, nvml_device device, enum kind kind,
            struct listing *out)
{
    struct nvml_detail details[ACCEL_PROCESSES_MAX] = { 0 };
    struct nvml_detail_list list = { .version =
                                         NVML_WORD(struct nvml_detail_list, 1),
                                     .mode = (unsigned)kind,
                                     .count = ACCEL_PROCESSES_MAX,
                                     .list = details };
    int result =
        NVML_CALL(nvml, nvmlDeviceGetRunningProcessDetailList, device, &list);

    for (unsigned i = 0;
         result == NVML_SUCCESS && i < list.count && i < ACCEL_PROCESSES_MAX;
         i++)
        add(out, details[i].pid, details[i].used, details[i].instance,
            kind == MPS);
    return result;
}

static int
add_kind(struct nvml *nvml, nvml_device device, enum kind kind,
         struct listing *out)
{
    unsigned char
        records[ACCEL_PROCESSES_MAX * sizeof(struct nvml_process_wide)];
    unsigned count = ACCEL_PROCESSES_MAX;
    int result;

    memset(records, GUARD, sizeof(records));
    result = ask(nvml, device, kind, true, &count, records);
    if (nvml_is_older(result)) {
        count = ACCEL_PROCESSES_MAX;
        memset(records, GUARD, sizeof(records));
        result = ask(nvml, device, kind, false, &count, records);
    }
    if (nvml_is_older(result))
        return add_details(nvml, device, kind, out);
    if (result == NVML_SUCCESS && count <= ACCEL_PROCESSES_MAX)
        add_records(out, records, count, kind == MPS);
    return result;
}

/* Graphics and MPS may be things that a card does not have; who computes on
 * it must be known. */
int
nvml_processes(struct accel *accel, const char *part,
               struct accel_process list[ACCEL_PROCESSES_MAX],
               size_t *count_out, struct error *err)
{
    static const char *const calls[KIND_COUNT] = {
        "nvmlDeviceGetComputeRunningProcesses",
        "nvmlDeviceGetGraphicsRunningProcesses",
        "nvmlDeviceGetMPSComputeRunningProcesses"
    };
    struct nvml *nvml = accel->state;
    struct nvml_card *card = nvml_find(accel, part, err);
    struct listing out = { .list = list };
    nvml_device device;

    if (card == NULL || nvml_part(nvml, card, part, &device, err) != 0)
        return -1;
    for (enum kind kind = COMPUTE; kind < KIND_COUNT; kind++) {
        int result = add_kind(nvml, device, kind, &out);

        if (result != NVML_SUCCESS &&
            (kind == COMPUTE || !nvml_is_older(result)))
            return nvml_fail(card, result, calls[kind], err);
    }
    *count_out = out.count;
    return nvml_end(nvml, card, err);
}

/* --- accounting --- */

/* What the last second says about those that still run. */
static void
add_samples(struct nvml *nvml, const struct nvml_card *card,
            struct accel_usage *list, size_t count)
{
    struct nvml_process_sample samples[ACCEL_PROCESSES_MAX] = { 0 };
    unsigned found = ACCEL_PROCESSES_MAX;

    if (NVML_CALL(nvml, nvmlDeviceGetProcessUtilization, card->device, samples,
                  &found, 0ULL) != NVML_SUCCESS)
        return;
    for (unsigned i = 0; i < found && i < ACCEL_PROCESSES_MAX; i++)
        for (size_t j = 0; j < count; j++)
            if (list[j].running && list[j].pid == (pid_t)samples[i].pid &&
                samples[i].units <= 100)
                list[j].busy_permille = (int32_t)samples[i].units * 10;
}

static void
add_usage(struct nvml *nvml, const struct nvml_card *card, unsigned pid,
          struct accel_usage *list, size_t *count)
{
    struct nvml_accounting stats = { 0 };

    if (NVML_CALL(nvml, nvmlDeviceGetAccountingStats, card->device, pid,
                  &stats) != NVML_SUCCESS)
        return;
    list[(*count)++] = (struct accel_usage){
        .pid = (pid_t)pid,
        .busy_permille = stats.gpu <= 100 ? (int32_t)stats.gpu * 10 : -1,
        .memory_peak_mib = stats.memory_peak == NVML_NOT_AVAILABLE
                               ? -1
                               : (int64_t)(stats.memory_peak / MIB),
        .time_ms = (int64_t)(stats.time_ms & INT64_MAX),
        .running = stats.running != 0,
    };
}

/* Counting is lost when the driver is loaded anew: it is turned on here. */
int
nvml_usage(struct accel *accel, const char *uuid,
           struct accel_usage list[ACCEL_PROCESSES_MAX], size_t *count_out,
           struct error *err)
{
    struct nvml *nvml = accel->state;
    struct nvml_card *card = nvml_find(accel, uuid, err);
    unsigned pids[4096];
    unsigned found = sizeof(pids) / sizeof(pids[0]);
    unsigned on = 0;
    size_t count = 0;
    int result;

    if (card == NULL)
        return -1;
    result = NVML_CALL(nvml, nvmlDeviceGetAccountingMode, card->device, &on);
    if (result == NVML_SUCCESS && on == 0)
        result = NVML_CALL(nvml, nvmlDeviceSetAccountingMode, card->device, 1U);
    if (result != NVML_SUCCESS)
        return nvml_fail(card, result, "nvmlDeviceGetAccountingMode", err);
    result = NVML_CALL(nvml, nvmlDeviceGetAccountingPids, card->device, &found,
                       pids);
    if (result != NVML_SUCCESS)
        return nvml_fail(card, result, "nvmlDeviceGetAccountingPids", err);
    for (unsigned i = 0; i < found && count < ACCEL_PROCESSES_MAX; i++)
        add_usage(nvml, card, pids[i], list, &count);
    add_samples(nvml, card, list, count);
    *count_out = count;
    return nvml_end(nvml, card, err);
}

/* --- handing back --- */

/* What a card does not have needs no putting back. */
static bool
is_settled(int result)
{
    return result == NVML_SUCCESS || nvml_is_older(result);
}

static int
settle_power(struct nvml *nvml, struct nvml_card *card, struct error *err)
{
    struct accel_reading reading;
    int64_t limit;
    int result;

    accel_reading_clear(&reading);
    nvml_read_fields(nvml, card, &reading);
    limit = reading.value[ACCEL_POWER_DEFAULT];
    if (limit == ACCEL_ABSENT || limit > UINT32_MAX)
        return 0;
    result = NVML_CALL(nvml, nvmlDeviceSetPowerManagementLimit, card->device,
                       (unsigned)limit);
    return is_settled(result)
               ? 0
               : nvml_fail(card, result, "nvmlDeviceSetPowerManagementLimit",
                           err);
}

int
nvml_settle(struct accel *accel, const char *uuid, struct error *err)
{
    struct nvml *nvml = accel->state;
    struct nvml_card *card = nvml_find(accel, uuid, err);
    const char *call = "nvmlDeviceClearAccountingPids";
    int result;

    if (card == NULL)
        return -1;
    result = NVML_CALL(nvml, nvmlDeviceClearAccountingPids, card->device);
    if (is_settled(result)) {
        call = "nvmlDeviceResetGpuLockedClocks";
        result = NVML_CALL(nvml, nvmlDeviceResetGpuLockedClocks, card->device);
    }
    if (is_settled(result)) {
        call = "nvmlDeviceResetMemoryLockedClocks";
        result =
            NVML_CALL(nvml, nvmlDeviceResetMemoryLockedClocks, card->device);
    }
    if (is_settled(result)) {
        call = "nvmlDeviceSetComputeMode";
        result = NVML_CALL(nvml, nvmlDeviceSetComputeMode, card->device, 0U);
    }
    if (!is_settled(result))
        return nvml_fail(card, result, call, err);
    return settle_power(nvml, card, err);
}
