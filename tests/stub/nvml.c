/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libnvidia-ml.so.1 for tests: the interface of the real one, with answers
 * from a file (nvml_stub.h).  Like the real one it refuses NULL, buffers that
 * are too small, handles that are none and version words that it does not
 * know, and knows less about a card that is cut.
 */
#include <signal.h>

#include "tests/stub/nvml_inside.h"

struct stub_world *stub_world;
int stub_ready;
struct nvml_device_inside stub_devices[STUB_CARDS];
struct nvml_device_inside stub_slices[STUB_CARDS][STUB_SLICES];

int
stub_enter(enum stub_symbol symbol, int card)
{
    if (stub_world == NULL) {
        const char *path = getenv(STUB_ENV);

        stub_world = path != NULL ? stub_map(path) : NULL;
        if (stub_world == NULL)
            return NVML_DRIVER_NOT_LOADED;
        for (int i = 0; i < STUB_CARDS; i++) {
            stub_devices[i].card = i;
            stub_devices[i].slice = -1;
            for (int j = 0; j < STUB_SLICES; j++)
                stub_slices[i][j] = (struct nvml_device_inside){ i, j };
        }
    }
    stub_world->calls[symbol]++;
    for (uint32_t i = 0; i < stub_world->fault_count; i++) {
        if (stub_world->faults[i].symbol != symbol ||
            (stub_world->faults[i].card != STUB_ALL &&
             stub_world->faults[i].card != card))
            continue;
        if (stub_world->faults[i].answer == STUB_DIE)
            (void)raise(SIGKILL);
        while (stub_world->faults[i].answer == STUB_HANG)
            (void)pause();
        return stub_world->faults[i].answer;
    }
    return 0;
}

int
stub_card_of(const struct nvml_device_inside *device)
{
    const struct nvml_device_inside *slices = &stub_slices[0][0];

    if (device >= slices && device < slices + STUB_CARDS * STUB_SLICES)
        return device->card;
    if (device < stub_devices || device >= stub_devices + STUB_CARDS)
        return -1;
    return stub_world != NULL &&
                   (uint32_t)device->card >= stub_world->card_count
               ? -1
               : device->card;
}

static int
text(char *out, unsigned room, const char *value)
{
    NEED(out);
    if (strlen(value) >= room)
        return NVML_INSUFFICIENT_SIZE;
    (void)snprintf(out, room, "%s", value);
    return NVML_SUCCESS;
}

/* --- the library --- */

int
nvmlInit_v2(void)
{
    int answer = stub_enter(STUB_nvmlInit_v2, STUB_ALL);

    if (answer == 0)
        stub_ready++;
    return answer;
}

int
nvmlShutdown(void)
{
    ENTER(nvmlShutdown, STUB_ALL);
    stub_ready--;
    return NVML_SUCCESS;
}

int
nvmlSystemGetDriverVersion(char *out, unsigned room)
{
    ENTER(nvmlSystemGetDriverVersion, STUB_ALL);
    return text(out, room, stub_world->driver);
}

int
nvmlSystemGetNVMLVersion(char *out, unsigned room)
{
    ENTER(nvmlSystemGetNVMLVersion, STUB_ALL);
    return text(out, room, "12.570.124.06");
}

int
nvmlSystemGetCudaDriverVersion_v2(int *out)
{
    ENTER(nvmlSystemGetCudaDriverVersion_v2, STUB_ALL);
    NEED(out);
    *out = 12080;
    return NVML_SUCCESS;
}

int
nvmlSystemGetDriverBranch(struct nvml_branch *out, unsigned room)
{
    ENTER(nvmlSystemGetDriverBranch, STUB_ALL);
    NEED(out);
    NEED_WORD(out->version, 0x01000054U);
    return text(out->branch, room, "r570_00");
}

int
nvmlSystemGetConfComputeState(struct nvml_confidential *out)
{
    ENTER(nvmlSystemGetConfComputeState, STUB_ALL);
    NEED(out);
    *out = (struct nvml_confidential){ 0 };
    return NVML_SUCCESS;
}

/* --- which cards --- */

int
nvmlDeviceGetCount_v2(unsigned *out)
{
    ENTER(nvmlDeviceGetCount_v2, STUB_ALL);
    NEED(out);
    *out = stub_world->card_count;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *out)
{
    ENTER(nvmlDeviceGetHandleByIndex_v2, (int)index);
    NEED(out);
    if (index >= stub_world->card_count)
        return NVML_INVALID_ARGUMENT;
    *out = &stub_devices[index];
    return NVML_SUCCESS;
}

int
nvmlGetExcludedDeviceCount(unsigned *out)
{
    ENTER(nvmlGetExcludedDeviceCount, STUB_ALL);
    NEED(out);
    *out = 1;
    return NVML_SUCCESS;
}

int
nvmlGetExcludedDeviceInfoByIndex(unsigned index, struct nvml_excluded *out)
{
    ENTER(nvmlGetExcludedDeviceInfoByIndex, STUB_ALL);
    NEED(out);
    if (index != 0)
        return NVML_INVALID_ARGUMENT;
    (void)text(out->uuid, sizeof(out->uuid), "GPU-excluded");
    return text(out->pci.address, sizeof(out->pci.address), "00000000:E1:00.0");
}

int
nvmlDeviceGetUUID(nvml_device device, char *out, unsigned room)
{
    char value[96];

    ENTER_CARD(nvmlDeviceGetUUID, device);
    if (device->slice < 0)
        return text(out, room, card->uuid);
    (void)snprintf(value, sizeof(value), "MIG-%08u-0000-0000-0000-%012u",
                   (unsigned)number, card->slices[device->slice].id);
    return text(out, room, value);
}

int
nvmlDeviceGetName(nvml_device device, char *out, unsigned room)
{
    ENTER_CARD(nvmlDeviceGetName, device);
    return text(out, room, card->name);
}

int
nvmlDeviceGetSerial(nvml_device device, char *out, unsigned room)
{
    ENTER_CARD(nvmlDeviceGetSerial, device);
    return text(out, room, "1320021000000");
}

int
nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci *out)
{
    ENTER_CARD(nvmlDeviceGetPciInfo_v3, device);
    NEED(out);
    out->bus = 0x41 + (unsigned)number;
    out->id = 0x20B010DEU;
    return text(out->address, sizeof(out->address), card->pci);
}

int
nvmlDeviceGetMinorNumber(nvml_device device, unsigned *out)
{
    ENTER_CARD(nvmlDeviceGetMinorNumber, device);
    NEED(out);
    *out = (unsigned)number;
    return NVML_SUCCESS;
}

/* One number that is the same for every card. */
#define CONSTANT(symbol, value)                                                \
    int symbol(nvml_device device, unsigned *out)                              \
    {                                                                          \
        ENTER_CARD(symbol, device);                                            \
        NEED(out);                                                             \
        *out = (value);                                                        \
        return NVML_SUCCESS;                                                   \
    }
CONSTANT(nvmlDeviceGetModuleId, 3)
CONSTANT(nvmlDeviceGetArchitecture, card->architecture)
CONSTANT(nvmlDeviceGetPowerUsage, 61000)
CONSTANT(nvmlDeviceGetEnforcedPowerLimit, card->power_limit)
CONSTANT(nvmlDeviceGetRetiredPagesPendingStatus, 0)
CONSTANT(nvmlDeviceGetCurrPcieLinkGeneration, 4)
CONSTANT(nvmlDeviceGetCurrPcieLinkWidth, card->width)
CONSTANT(nvmlDeviceGetMaxPcieLinkGeneration, 4)
CONSTANT(nvmlDeviceGetMaxPcieLinkWidth, 16)
CONSTANT(nvmlDeviceGetPcieReplayCounter, 2)
CONSTANT(nvmlDeviceGetNumaNodeId, 1)
CONSTANT(nvmlDeviceGetAccountingMode, card->accounting)
CONSTANT(nvmlDeviceGetComputeMode, card->compute_mode)

int
nvmlDeviceGetPlatformInfo(nvml_device device, struct nvml_platform *out)
{
    ENTER_CARD(nvmlDeviceGetPlatformInfo, device);
    NEED(out);
    NEED_WORD(out->version, 0x0200002CU);
    out->slot = 7;
    out->module = 2;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetCudaComputeCapability(nvml_device device, int *major_out,
                                   int *minor_out)
{
    ENTER_CARD(nvmlDeviceGetCudaComputeCapability, device);
    NEED(major_out);
    NEED(minor_out);
    *major_out = (int)card->major;
    *minor_out = (int)card->minor;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetVbiosVersion(nvml_device device, char *out, unsigned room)
{
    ENTER_CARD(nvmlDeviceGetVbiosVersion, device);
    return text(out, room, "92.00.45.00.05");
}

int
nvmlDeviceGetInforomImageVersion(nvml_device device, char *out, unsigned room)
{
    ENTER_CARD(nvmlDeviceGetInforomImageVersion, device);
    return text(out, room, "G506.0210.00.04");
}

int
nvmlDeviceValidateInforom(nvml_device device)
{
    ENTER_CARD(nvmlDeviceValidateInforom, device);
    return card->store_broken ? NVML_CORRUPTED_INFOROM : NVML_SUCCESS;
}

int
nvmlDeviceGetGspFirmwareMode(nvml_device device, unsigned *on, unsigned *usual)
{
    ENTER_CARD(nvmlDeviceGetGspFirmwareMode, device);
    NEED(on);
    NEED(usual);
    *on = *usual = 1;
    return NVML_SUCCESS;
}

/* --- memory, use --- */

int
nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *out)
{
    ENTER_CARD(nvmlDeviceGetMemoryInfo, device);
    NEED(out);
    out->total = card->memory_mib << 20;
    /* What the driver keeps counts as used here. */
    out->used = (card->used_mib + card->reserved_mib) << 20;
    out->free = out->total - out->used;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetMemoryInfo_v2(nvml_device device, struct nvml_memory_v2 *out)
{
    ENTER_CARD(nvmlDeviceGetMemoryInfo_v2, device);
    NEED(out);
    NEED_WORD(out->version, 0x02000028U);
    out->total = card->memory_mib << 20;
    out->used = card->used_mib << 20;
    out->reserved = card->reserved_mib << 20;
    out->free = out->total - out->used - out->reserved;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetBAR1MemoryInfo(nvml_device device, struct nvml_bar *out)
{
    ENTER_CARD(nvmlDeviceGetBAR1MemoryInfo, device);
    NEED(out);
    *out = (struct nvml_bar){ 64ULL << 30, (64ULL << 30) - (4ULL << 20),
                              4ULL << 20 };
    return NVML_SUCCESS;
}

int
nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_utilization *out)
{
    ENTER_CARD(nvmlDeviceGetUtilizationRates, device);
    NEED(out);
    if (card->sliced)
        return NVML_NOT_SUPPORTED;
    *out = (struct nvml_utilization){ 37, 11 };
    return NVML_SUCCESS;
}

int
nvmlDeviceGetProcessUtilization(nvml_device device,
                                struct nvml_process_sample *out,
                                unsigned *count, unsigned long long since)
{
    ENTER_CARD(nvmlDeviceGetProcessUtilization, device);
    NEED(count);
    (void)since;
    if (card->sliced)
        return NVML_NOT_SUPPORTED;
    if (card->account_count == 0)
        return NVML_NOT_FOUND;
    NEED(out);
    *count = 1;
    out[0] = (struct nvml_process_sample){ .pid = card->accounts[0].pid,
                                           .units = 83 };
    return NVML_SUCCESS;
}

/* Samples are numbers; a metric needs two different ones. */
static unsigned long long samples[64];
static unsigned sample_count;

int
nvmlGpmQueryDeviceSupport(nvml_device device, struct nvml_gpm_support *out)
{
    ENTER_CARD(nvmlGpmQueryDeviceSupport, device);
    NEED(out);
    NEED_WORD(out->version, 1U);
    out->supported = 1;
    return NVML_SUCCESS;
}

int
nvmlGpmSampleAlloc(nvml_gpm_sample *out)
{
    ENTER(nvmlGpmSampleAlloc, STUB_ALL);
    NEED(out);
    *out = (nvml_gpm_sample)(void *)&samples[sample_count++ % 64];
    return NVML_SUCCESS;
}

int
nvmlGpmSampleGet(nvml_device device, nvml_gpm_sample sample)
{
    ENTER_CARD(nvmlGpmSampleGet, device);
    NEED(sample);
    return NVML_SUCCESS;
}

int
nvmlGpmMetricsGet(struct nvml_gpm_metrics *out)
{
    ENTER(nvmlGpmMetricsGet, STUB_ALL);
    NEED(out);
    NEED_WORD(out->version, 1U);
    if (out->first == NULL || out->second == NULL ||
        out->first == out->second || out->count > NVML_GPM_METRICS_MAX)
        return NVML_INVALID_ARGUMENT;
    for (unsigned i = 0; i < out->count; i++) {
        out->list[i].result = NVML_SUCCESS;
        out->list[i].value = 10.0 + out->list[i].id;
    }
    return NVML_SUCCESS;
}

int
nvmlGpmSampleFree(nvml_gpm_sample sample)
{
    ENTER(nvmlGpmSampleFree, STUB_ALL);
    NEED(sample);
    return NVML_SUCCESS;
}

/* --- power, heat, clocks --- */

int
nvmlDeviceGetTotalEnergyConsumption(nvml_device device, unsigned long long *out)
{
    ENTER_CARD(nvmlDeviceGetTotalEnergyConsumption, device);
    NEED(out);
    *out = 123456789ULL;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetPowerManagementLimitConstraints(nvml_device device,
                                             unsigned *least, unsigned *most)
{
    ENTER_CARD(nvmlDeviceGetPowerManagementLimitConstraints, device);
    NEED(least);
    NEED(most);
    *least = 100000;
    *most = 400000;
    return NVML_SUCCESS;
}

int
nvmlDeviceSetPowerManagementLimit(nvml_device device, unsigned limit)
{
    ENTER_CARD(nvmlDeviceSetPowerManagementLimit, device);
    if (limit < 100000 || limit > 400000)
        return NVML_INVALID_ARGUMENT;
    card->power_limit = limit;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetTemperature(nvml_device device, unsigned sensor, unsigned *out)
{
    ENTER_CARD(nvmlDeviceGetTemperature, device);
    NEED(out);
    if (sensor != 0)
        return NVML_INVALID_ARGUMENT;
    *out = 34;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetTemperatureV(nvml_device device, struct nvml_temperature *out)
{
    ENTER_CARD(nvmlDeviceGetTemperatureV, device);
    NEED(out);
    NEED_WORD(out->version, 0x0100000CU);
    out->celsius = 33;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetTemperatureThreshold(nvml_device device, unsigned kind,
                                  unsigned *out)
{
    ENTER_CARD(nvmlDeviceGetTemperatureThreshold, device);
    NEED(out);
    if (kind > 7)
        return NVML_INVALID_ARGUMENT;
    *out = 89;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetMarginTemperature(nvml_device device, struct nvml_margin *out)
{
    ENTER_CARD(nvmlDeviceGetMarginTemperature, device);
    NEED(out);
    NEED_WORD(out->version, 0x01000008U);
    out->celsius = 52;
    return NVML_SUCCESS;
}

#define REASONS(symbol)                                                        \
    int symbol(nvml_device device, unsigned long long *out)                    \
    {                                                                          \
        ENTER_CARD(symbol, device);                                            \
        NEED(out);                                                             \
        *out = card->clock_reasons;                                            \
        return NVML_SUCCESS;                                                   \
    }
REASONS(nvmlDeviceGetCurrentClocksEventReasons)
REASONS(nvmlDeviceGetCurrentClocksThrottleReasons)

int
nvmlDeviceGetClockInfo(nvml_device device, unsigned kind, unsigned *out)
{
    ENTER_CARD(nvmlDeviceGetClockInfo, device);
    NEED(out);
    if (kind > 3)
        return NVML_INVALID_ARGUMENT;
    *out = kind == 2 ? 1215 : 1410;
    return NVML_SUCCESS;
}

#define ACTION(symbol)                                                         \
    int symbol(nvml_device device)                                             \
    {                                                                          \
        ENTER_CARD(symbol, device);                                            \
        return NVML_SUCCESS;                                                   \
    }
ACTION(nvmlDeviceResetGpuLockedClocks)
ACTION(nvmlDeviceResetMemoryLockedClocks)
