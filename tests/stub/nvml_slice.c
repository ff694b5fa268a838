/* SPDX-License-Identifier: Apache-2.0 */
/* Hard slices, processes and settings of the stub's cards (an A100 of 40
 * GB). */
#include "tests/stub/nvml_inside.h"

static const struct {
    unsigned selector, id, slices, size, units;
    unsigned starts; /* mask */
    unsigned long long memory_mib;
    const char *name;
} profiles[] = {
    { 0, 19, 1, 1, 14, 0x7F, 4864, "MIG 1g.5gb" },
    { 1, 14, 2, 2, 28, 0x15, 9856, "MIG 2g.10gb" },
    { 2, 9, 3, 4, 42, 0x11, 19968, "MIG 3g.20gb" },
    { 3, 5, 4, 4, 56, 0x01, 19968, "MIG 4g.20gb" },
    { 4, 0, 7, 8, 98, 0x01, 40192, "MIG 7g.40gb" },
    { 7, 20, 1, 1, 14, 0x7F, 4864, "MIG 1g.5gb+me" },
    { 9, 15, 1, 2, 14, 0x55, 9856, "MIG 1g.10gb" },
};

#define PROFILES (sizeof(profiles) / sizeof(profiles[0]))

static struct nvml_instance_inside instances[STUB_CARDS][STUB_SLICES];
static struct nvml_compute_inside computes[STUB_CARDS][STUB_SLICES];

static int
by_selector(unsigned selector)
{
    for (size_t i = 0; i < PROFILES; i++)
        if (profiles[i].selector == selector)
            return (int)i;
    return -1;
}

static int
by_id(unsigned id)
{
    for (size_t i = 0; i < PROFILES; i++)
        if (profiles[i].id == id)
            return (int)i;
    return -1;
}

int
nvmlDeviceGetMigMode(nvml_device device, unsigned *now, unsigned *pending)
{
    ENTER_CARD(nvmlDeviceGetMigMode, device);
    NEED(now);
    NEED(pending);
    if (card->architecture < 7)
        return NVML_NOT_SUPPORTED;
    *now = *pending = card->sliced;
    return NVML_SUCCESS;
}

int
nvmlDeviceSetMigMode(nvml_device device, unsigned on, int *activation)
{
    ENTER_CARD(nvmlDeviceSetMigMode, device);
    NEED(activation);
    if (on > 1)
        return NVML_INVALID_ARGUMENT;
    if (card->process_count > 0) {
        *activation = NVML_IN_USE;
        return NVML_SUCCESS;
    }
    for (int i = 0; i < STUB_SLICES; i++)
        if (card->slices[i].there)
            return NVML_IN_USE;
    card->sliced = on;
    *activation = NVML_SUCCESS;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetGpuInstanceProfileInfo(nvml_device device, unsigned selector,
                                    struct nvml_profile *out)
{
    int at = by_selector(selector);

    ENTER_CARD(nvmlDeviceGetGpuInstanceProfileInfo, device);
    NEED(out);
    if (selector > 17)
        return NVML_INVALID_ARGUMENT;
    if (at < 0)
        return NVML_NOT_SUPPORTED;
    *out = (struct nvml_profile){ .id = profiles[at].id,
                                  .slices = profiles[at].slices,
                                  .units = profiles[at].units,
                                  .count = 7 / profiles[at].slices,
                                  .memory_mib = profiles[at].memory_mib };
    return NVML_SUCCESS;
}

int
nvmlDeviceGetGpuInstanceProfileInfoV(nvml_device device, unsigned selector,
                                     struct nvml_profile_v2 *out)
{
    int at = by_selector(selector);

    ENTER_CARD(nvmlDeviceGetGpuInstanceProfileInfoV, device);
    NEED(out);
    if (!stub_world->profile_words)
        return NVML_VERSION_MISMATCH;
    NEED_WORD(out->version, 0x02000098U);
    if (selector > 17)
        return NVML_INVALID_ARGUMENT;
    if (at < 0)
        return NVML_NOT_SUPPORTED;
    out->id = profiles[at].id;
    out->slices = profiles[at].slices;
    out->units = profiles[at].units;
    out->count = 7 / profiles[at].slices;
    out->memory_mib = profiles[at].memory_mib;
    (void)snprintf(out->name, sizeof(out->name), "%s", profiles[at].name);
    return NVML_SUCCESS;
}

/* All of them, whatever is taken; NULL asks for their number. */
int
nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvml_device device, unsigned id,
                                              struct nvml_placement *out,
                                              unsigned *count)
{
    unsigned found = 0;
    int at = by_id(id);

    ENTER_CARD(nvmlDeviceGetGpuInstancePossiblePlacements_v2, device);
    NEED(count);
    if (at < 0)
        return NVML_INVALID_ARGUMENT;
    for (unsigned start = 0; start < 8; start++)
        if ((profiles[at].starts >> start & 1) != 0) {
            if (out != NULL && found < *count)
                out[found] =
                    (struct nvml_placement){ start, profiles[at].size };
            found++;
        }
    *count = found;
    return NVML_SUCCESS;
}

static int
overlaps(const struct stub_card *card, unsigned start, unsigned size)
{
    for (int i = 0; i < STUB_SLICES; i++)
        if (card->slices[i].there &&
            start < card->slices[i].start + card->slices[i].size &&
            card->slices[i].start < start + size)
            return 1;
    return 0;
}

int
nvmlDeviceCreateGpuInstanceWithPlacement(nvml_device device, unsigned id,
                                         const struct nvml_placement *where,
                                         nvml_instance *out)
{
    int at = by_id(id);

    ENTER_CARD(nvmlDeviceCreateGpuInstanceWithPlacement, device);
    NEED(where);
    NEED(out);
    if (!card->sliced)
        return NVML_NOT_SUPPORTED;
    if (at < 0 || where->start > 7 || where->size != profiles[at].size ||
        (profiles[at].starts >> where->start & 1) == 0)
        return NVML_INVALID_ARGUMENT;
    if (overlaps(card, where->start, where->size))
        return NVML_INSUFFICIENT_RESOURCES;
    for (int i = 0; i < STUB_SLICES; i++) {
        if (card->slices[i].there)
            continue;
        card->slices[i] = (struct stub_slice){
            .there = 1,
            .id = ++card->next_instance,
            .profile = id,
            .start = where->start,
            .size = where->size,
        };
        instances[number][i] = (struct nvml_instance_inside){ number, i };
        *out = &instances[number][i];
        return NVML_SUCCESS;
    }
    return NVML_INSUFFICIENT_RESOURCES;
}

int
nvmlDeviceGetGpuInstances(nvml_device device, unsigned id, nvml_instance *out,
                          unsigned *count)
{
    unsigned found = 0;

    ENTER_CARD(nvmlDeviceGetGpuInstances, device);
    NEED(out);
    NEED(count);
    if (!card->sliced)
        return NVML_NOT_SUPPORTED;
    for (int i = 0; i < STUB_SLICES; i++)
        if (card->slices[i].there && card->slices[i].profile == id) {
            instances[number][i] = (struct nvml_instance_inside){ number, i };
            out[found++] = &instances[number][i];
        }
    *count = found;
    return NVML_SUCCESS;
}

/* For a call on an instance: `card`, `slice`. */
#define ENTER_INSTANCE(symbol, instance)                                       \
    struct stub_card *card;                                                    \
    struct stub_slice *slice;                                                  \
    ENTER(symbol, (instance) != NULL ? (instance)->card : -1);                 \
    NEED(instance);                                                            \
    card = &stub_world->cards[(instance)->card];                               \
    slice = &card->slices[(instance)->slice];                                  \
    if (!slice->there)                                                         \
    return NVML_INVALID_ARGUMENT

int
nvmlGpuInstanceGetInfo(nvml_instance instance, struct nvml_instance_info *out)
{
    ENTER_INSTANCE(nvmlGpuInstanceGetInfo, instance);
    NEED(out);
    *out = (struct nvml_instance_info){ .device = &stub_devices[instance->card],
                                        .id = slice->id,
                                        .profile = slice->profile,
                                        .placement = { slice->start,
                                                       slice->size } };
    return NVML_SUCCESS;
}

static int
has_process(const struct stub_card *card, unsigned id)
{
    for (uint32_t i = 0; i < card->process_count; i++)
        if (card->processes[i].instance == id)
            return 1;
    return 0;
}

int
nvmlGpuInstanceDestroy(nvml_instance instance)
{
    ENTER_INSTANCE(nvmlGpuInstanceDestroy, instance);
    if (slice->compute != 0 || has_process(card, slice->id))
        return NVML_IN_USE;
    slice->there = 0;
    return NVML_SUCCESS;
}

static const unsigned compute_slices[] = { 1, 2, 3, 4, 7 };

int
nvmlGpuInstanceGetComputeInstanceProfileInfoV(
    nvml_instance instance, unsigned selector, unsigned engine,
    struct nvml_compute_profile_v2 *out)
{
    ENTER_INSTANCE(nvmlGpuInstanceGetComputeInstanceProfileInfoV, instance);
    NEED(out);
    NEED_WORD(out->version, 0x02000088U);
    if (engine != 0 || selector > 8)
        return NVML_INVALID_ARGUMENT;
    if (selector > 4 ||
        compute_slices[selector] > profiles[by_id(slice->profile)].slices)
        return NVML_NOT_SUPPORTED;
    out->id = selector;
    out->slices = compute_slices[selector];
    return NVML_SUCCESS;
}

int
nvmlGpuInstanceCreateComputeInstance(nvml_instance instance, unsigned id,
                                     nvml_compute *out)
{
    ENTER_INSTANCE(nvmlGpuInstanceCreateComputeInstance, instance);
    NEED(out);
    if (id > 4)
        return NVML_INVALID_ARGUMENT;
    if (slice->compute != 0)
        return NVML_INSUFFICIENT_RESOURCES;
    slice->compute = id + 1;
    computes[instance->card][instance->slice] =
        (struct nvml_compute_inside){ instance->card, instance->slice };
    *out = &computes[instance->card][instance->slice];
    return NVML_SUCCESS;
}

int
nvmlGpuInstanceGetComputeInstances(nvml_instance instance, unsigned id,
                                   nvml_compute *out, unsigned *count)
{
    ENTER_INSTANCE(nvmlGpuInstanceGetComputeInstances, instance);
    NEED(out);
    NEED(count);
    *count = 0;
    if (slice->compute != id + 1)
        return NVML_SUCCESS;
    computes[instance->card][instance->slice] =
        (struct nvml_compute_inside){ instance->card, instance->slice };
    out[0] = &computes[instance->card][instance->slice];
    *count = 1;
    return NVML_SUCCESS;
}

int
nvmlComputeInstanceDestroy(nvml_compute compute)
{
    ENTER_INSTANCE(nvmlComputeInstanceDestroy, compute);
    if (has_process(card, slice->id))
        return NVML_IN_USE;
    slice->compute = 0;
    return NVML_SUCCESS;
}

/* --- handles of slices --- */

int
nvmlDeviceGetMaxMigDeviceCount(nvml_device device, unsigned *out)
{
    ENTER_CARD(nvmlDeviceGetMaxMigDeviceCount, device);
    NEED(out);
    *out = card->sliced ? 7 : 0;
    return NVML_SUCCESS;
}

/* Sparse: holes are not found. */
int
nvmlDeviceGetMigDeviceHandleByIndex(nvml_device device, unsigned index,
                                    nvml_device *out)
{
    ENTER_CARD(nvmlDeviceGetMigDeviceHandleByIndex, device);
    NEED(out);
    if (index >= 7)
        return NVML_INVALID_ARGUMENT;
    if (!card->slices[index].there || card->slices[index].compute == 0)
        return NVML_NOT_FOUND;
    *out = &stub_slices[number][index];
    return NVML_SUCCESS;
}

#define ENTER_SLICE(symbol, device)                                            \
    ENTER_CARD(symbol, device);                                                \
    if ((device)->slice < 0)                                                   \
    return NVML_INVALID_ARGUMENT

int
nvmlDeviceGetGpuInstanceId(nvml_device device, unsigned *out)
{
    ENTER_SLICE(nvmlDeviceGetGpuInstanceId, device);
    NEED(out);
    *out = card->slices[device->slice].id;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetComputeInstanceId(nvml_device device, unsigned *out)
{
    ENTER_SLICE(nvmlDeviceGetComputeInstanceId, device);
    NEED(out);
    *out = 0;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetAttributes_v2(nvml_device device, struct nvml_attributes *out)
{
    int at;

    ENTER_SLICE(nvmlDeviceGetAttributes_v2, device);
    NEED(out);
    at = by_id(card->slices[device->slice].profile);
    *out = (struct nvml_attributes){ .units = profiles[at].units,
                                     .slices = profiles[at].slices,
                                     .compute = profiles[at].slices,
                                     .memory_mib = profiles[at].memory_mib };
    return NVML_SUCCESS;
}

/* --- processes --- */

static int
is_listed(const struct stub_card *card, nvml_device device, unsigned kind,
          const struct stub_process *process)
{
    return process->kind == kind &&
           (device->slice < 0 ||
            process->instance == card->slices[device->slice].id);
}

static int
processes(const struct stub_card *card, nvml_device device, unsigned kind,
          unsigned *count, void *out, size_t stride)
{
    unsigned room;
    unsigned found = 0;

    NEED(count);
    room = *count;
    for (uint32_t i = 0; i < card->process_count; i++) {
        const struct stub_process *process = &card->processes[i];
        struct nvml_process_wide record = { 0 };

        if (!is_listed(card, device, kind, process))
            continue;
        record.pid = process->pid;
        record.used = process->used;
        record.instance = process->instance;
        record.compute = process->instance == NVML_WHOLE ? NVML_WHOLE : 0;
        if (found < room && out != NULL)
            memcpy((char *)out + found * stride, &record, stride);
        found++;
    }
    *count = found;
    return found > room ? NVML_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

#define PROCESSES(symbol, kind, size)                                          \
    int symbol(nvml_device device, unsigned *count, void *out)                 \
    {                                                                          \
        ENTER_CARD(symbol, device);                                            \
        return processes(card, device, (kind), count, out, (size));            \
    }
#define NEWEST (stub_world->wide ? 32U : 24U)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, 0, NEWEST)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, 1, NEWEST)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, 2, NEWEST)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, 0, 24U)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, 1, 24U)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, 2, 24U)

int
nvmlDeviceGetRunningProcessDetailList(nvml_device device,
                                      struct nvml_detail_list *out)
{
    ENTER_CARD(nvmlDeviceGetRunningProcessDetailList, device);
    NEED(out);
    NEED_WORD(out->version, 0x01000018U);
    return processes(card, device, out->mode, &out->count, out->list, 32);
}

/* --- accounting and settings --- */

int
nvmlDeviceSetAccountingMode(nvml_device device, unsigned on)
{
    ENTER_CARD(nvmlDeviceSetAccountingMode, device);
    card->accounting = on;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetAccountingPids(nvml_device device, unsigned *count, unsigned *out)
{
    ENTER_CARD(nvmlDeviceGetAccountingPids, device);
    NEED(count);
    if (card->sliced)
        return NVML_NOT_SUPPORTED;
    if (*count < card->account_count || out == NULL) {
        *count = card->account_count;
        return NVML_INSUFFICIENT_SIZE;
    }
    *count = card->account_count;
    for (uint32_t i = 0; i < card->account_count; i++)
        out[i] = card->accounts[i].pid;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetAccountingStats(nvml_device device, unsigned pid,
                             struct nvml_accounting *out)
{
    ENTER_CARD(nvmlDeviceGetAccountingStats, device);
    NEED(out);
    for (uint32_t i = 0; i < card->account_count; i++)
        if (card->accounts[i].pid == pid) {
            *out =
                (struct nvml_accounting){ .gpu = card->accounts[i].percent,
                                          .memory_peak = card->accounts[i].peak,
                                          .time_ms = card->accounts[i].time_ms,
                                          .running =
                                              card->accounts[i].running };
            return NVML_SUCCESS;
        }
    return NVML_NOT_FOUND;
}

int
nvmlDeviceClearAccountingPids(nvml_device device)
{
    ENTER_CARD(nvmlDeviceClearAccountingPids, device);
    card->account_count = 0;
    return NVML_SUCCESS;
}

int
nvmlDeviceSetComputeMode(nvml_device device, unsigned mode)
{
    ENTER_CARD(nvmlDeviceSetComputeMode, device);
    if (mode > 3)
        return NVML_INVALID_ARGUMENT;
    card->compute_mode = mode;
    return NVML_SUCCESS;
}
