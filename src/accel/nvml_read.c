/* SPDX-License-Identifier: Apache-2.0 */
/* What NVIDIA's library measures.  A value that is refused is absent. */
#include <inttypes.h>
#include <string.h>

#include "accel/nvml_private.h"
#include "accel/pci.h"
#include "base/clock.h"

#define MIB 1048576ULL
/* Two samples nearer than this have nothing to say. */
#define SAMPLE_MS 150

struct look {
    struct nvml *nvml;
    struct nvml_card *card;
    struct accel_reading *out;
};

static void
put(const struct look *look, enum accel_item item, unsigned long long value)
{
    if (value != NVML_NOT_AVAILABLE && value <= (unsigned long long)INT64_MAX)
        accel_reading_set(look->out, item, (int64_t)value);
}

static bool
is_good(int result)
{
    return result == NVML_SUCCESS;
}

/* A call that answers with one number. */
#define PUT(look, item, symbol)                                                \
    do {                                                                       \
        unsigned value_ = 0;                                                   \
        if (is_good(NVML_CALL((look)->nvml, symbol, (look)->card->device,      \
                              &value_)))                                       \
            put((look), (item), value_);                                       \
    } while (0)

static void
read_memory(const struct look *look)
{
    struct nvml_memory_v2 memory = { .version =
                                         NVML_WORD(struct nvml_memory_v2, 2) };
    struct nvml_memory old = { 0 };
    struct nvml_bar bar = { 0 };
    int result = NVML_CALL(look->nvml, nvmlDeviceGetMemoryInfo_v2,
                           look->card->device, &memory);

    if (is_good(result)) {
        put(look, ACCEL_MEMORY_TOTAL, memory.total / MIB);
        put(look, ACCEL_MEMORY_USED, memory.used / MIB);
        put(look, ACCEL_MEMORY_RESERVED, memory.reserved / MIB);
    } else if (nvml_is_older(result) &&
               is_good(NVML_CALL(look->nvml, nvmlDeviceGetMemoryInfo,
                                 look->card->device, &old))) {
        put(look, ACCEL_MEMORY_TOTAL, old.total / MIB);
        put(look, ACCEL_MEMORY_USED, old.used / MIB);
    }
    if (is_good(NVML_CALL(look->nvml, nvmlDeviceGetBAR1MemoryInfo,
                          look->card->device, &bar)))
        put(look, ACCEL_BAR_USED, bar.used / MIB);
}

/* --- use --- */

enum { METRIC_UNITS = 2, METRIC_DRAM = 10 };

static void
put_metrics(const struct look *look, struct nvml_gpm_metrics *metrics)
{
    static const enum accel_item items[] = { ACCEL_UNITS_BUSY,
                                             ACCEL_DRAM_BUSY };

    if (!is_good(NVML_CALL(look->nvml, nvmlGpmMetricsGet, metrics)))
        return;
    for (size_t i = 0; i < 2; i++)
        if (metrics->list[i].result == NVML_SUCCESS &&
            metrics->list[i].value >= 0 && metrics->list[i].value <= 100)
            put(look, items[i],
                (unsigned long long)(metrics->list[i].value * 10 + 0.5));
}

/* Activity lies between two samples: the last one is kept. */
static void
read_activity(const struct look *look)
{
    struct nvml *nvml = look->nvml;
    struct nvml_card *card = look->card;
    struct nvml_gpm_support support = { .version = NVML_GPM_VERSION };
    struct nvml_gpm_metrics metrics = { .version = NVML_GPM_VERSION,
                                        .count = 2 };
    nvml_gpm_sample fresh = NULL;

    if (card->sample != NULL && clock_mono_ms() - card->sample_ms < SAMPLE_MS)
        return;
    if (!is_good(NVML_CALL(nvml, nvmlGpmQueryDeviceSupport, card->device,
                           &support)) ||
        support.supported == 0 ||
        !is_good(NVML_CALL(nvml, nvmlGpmSampleAlloc, &fresh)))
        return;
    if (!is_good(NVML_CALL(nvml, nvmlGpmSampleGet, card->device, fresh))) {
        (void)NVML_CALL(nvml, nvmlGpmSampleFree, fresh);
        return;
    }
    if (card->sample != NULL) {
        metrics.first = card->sample;
        metrics.second = fresh;
        metrics.list[0].id = METRIC_UNITS;
        metrics.list[1].id = METRIC_DRAM;
        put_metrics(look, &metrics);
        (void)NVML_CALL(nvml, nvmlGpmSampleFree, card->sample);
    }
    card->sample = fresh;
    card->sample_ms = clock_mono_ms();
}

static void
read_use(const struct look *look)
{
    struct nvml_utilization use = { 0 };

    if (is_good(NVML_CALL(look->nvml, nvmlDeviceGetUtilizationRates,
                          look->card->device, &use))) {
        put(look, ACCEL_BUSY, use.gpu * 10ULL);
        put(look, ACCEL_MEMORY_BUSY, use.memory * 10ULL);
    }
    read_activity(look);
}

/* --- power, heat, clocks --- */

static void
read_power(const struct look *look)
{
    unsigned long long energy = 0;
    unsigned least = 0;
    unsigned most = 0;

    PUT(look, ACCEL_POWER, nvmlDeviceGetPowerUsage);
    PUT(look, ACCEL_POWER_LIMIT, nvmlDeviceGetEnforcedPowerLimit);
    if (is_good(NVML_CALL(look->nvml, nvmlDeviceGetTotalEnergyConsumption,
                          look->card->device, &energy)))
        put(look, ACCEL_ENERGY, energy);
    if (is_good(NVML_CALL(look->nvml,
                          nvmlDeviceGetPowerManagementLimitConstraints,
                          look->card->device, &least, &most))) {
        put(look, ACCEL_POWER_MIN, least);
        put(look, ACCEL_POWER_MAX, most);
    }
}

/* Thresholds are withdrawn step by step on newer cards: the margin first. */
static void
read_heat(const struct look *look)
{
    struct nvml_temperature now = { .version =
                                        NVML_WORD(struct nvml_temperature, 1) };
    struct nvml_margin margin = { .version = NVML_WORD(struct nvml_margin, 1) };
    unsigned value = 0;
    int result = NVML_CALL(look->nvml, nvmlDeviceGetTemperatureV,
                           look->card->device, &now);

    if (is_good(result))
        accel_reading_set(look->out, ACCEL_TEMPERATURE, now.celsius);
    else if (nvml_is_older(result) &&
             is_good(NVML_CALL(look->nvml, nvmlDeviceGetTemperature,
                               look->card->device, 0U, &value)))
        put(look, ACCEL_TEMPERATURE, value);
    result = NVML_CALL(look->nvml, nvmlDeviceGetMarginTemperature,
                       look->card->device, &margin);
    if (is_good(result))
        accel_reading_set(look->out, ACCEL_MARGIN, margin.celsius);
    else if (nvml_is_older(result) &&
             is_good(NVML_CALL(look->nvml, nvmlDeviceGetTemperatureThreshold,
                               look->card->device, 1U, &value)))
        put(look, ACCEL_SLOWDOWN, value);
}

static void
read_clocks(const struct look *look)
{
    unsigned long long reasons = 0;
    unsigned value = 0;
    int result = NVML_CALL(look->nvml, nvmlDeviceGetCurrentClocksEventReasons,
                           look->card->device, &reasons);

    if (nvml_is_older(result))
        result =
            NVML_CALL(look->nvml, nvmlDeviceGetCurrentClocksThrottleReasons,
                      look->card->device, &reasons);
    if (is_good(result))
        put(look, ACCEL_CLOCK_REASONS, reasons);
    if (is_good(NVML_CALL(look->nvml, nvmlDeviceGetClockInfo,
                          look->card->device, 1U, &value)))
        put(look, ACCEL_CLOCK, value);
    if (is_good(NVML_CALL(look->nvml, nvmlDeviceGetClockInfo,
                          look->card->device, 2U, &value)))
        put(look, ACCEL_CLOCK_MEMORY, value);
}

/* --- fields --- */

static unsigned long long
value_of(const struct nvml_field *field)
{
    switch ((enum nvml_value_type)field->type) {
    case NVML_DOUBLE:
        return field->value.number < 0
                   ? NVML_NOT_AVAILABLE
                   : (unsigned long long)field->value.number;
    case NVML_UINT:
        return field->value.uint;
    case NVML_ULONG:
        return field->value.ulong;
    case NVML_ULLONG:
        return field->value.ullong;
    case NVML_SLLONG:
        return field->value.sllong < 0
                   ? NVML_NOT_AVAILABLE
                   : (unsigned long long)field->value.sllong;
    case NVML_SINT:
        return field->value.sint < 0 ? NVML_NOT_AVAILABLE
                                     : (unsigned long long)field->value.sint;
    case NVML_USHORT:
        return field->value.ushort;
    }
    return NVML_NOT_AVAILABLE;
}

static const struct {
    unsigned id;
    enum accel_item item;
} fields[] = {
    { NVML_FIELD_MEMORY_TEMPERATURE, ACCEL_TEMPERATURE_MEMORY },
    { NVML_FIELD_POWER_NOW, ACCEL_POWER_NOW },
    { NVML_FIELD_POWER_DEFAULT, ACCEL_POWER_DEFAULT },
    { NVML_FIELD_RECOVERY, ACCEL_RECOVERY },
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

/* Each entry has an answer of its own: the call may succeed while all of them
 * have failed. */
void
nvml_read_fields(struct nvml *nvml, struct nvml_card *card,
                 struct accel_reading *out)
{
    const struct look look = { nvml, card, out };
    struct nvml_field list[FIELD_COUNT] = { 0 };

    for (size_t i = 0; i < FIELD_COUNT; i++) {
        list[i].id = fields[i].id;
        list[i].result = NVML_NOT_SUPPORTED;
    }
    if (!is_good(NVML_CALL(nvml, nvmlDeviceGetFieldValues, card->device,
                           (int)FIELD_COUNT, list)))
        return;
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (is_good(nvml_note(nvml, list[i].result)))
            put(&look, fields[i].item, value_of(&list[i]));
}

/* --- faults --- */

static void
read_count(const struct look *look, enum accel_item item, unsigned kind,
           unsigned counter)
{
    unsigned long long count = 0;

    if (is_good(NVML_CALL(look->nvml, nvmlDeviceGetTotalEccErrors,
                          look->card->device, kind, counter, &count)))
        put(look, item, count);
}

static void
read_place(const struct look *look, enum accel_item item, unsigned location)
{
    unsigned long long count = 0;

    if (is_good(NVML_CALL(look->nvml, nvmlDeviceGetMemoryErrorCounter,
                          look->card->device, 1U, 0U, location, &count)))
        put(look, item, count);
}

static void
read_ecc(const struct look *look)
{
    struct nvml_sram sram = { .version = NVML_WORD(struct nvml_sram, 1) };
    unsigned current = 0;
    unsigned pending = 0;

    if (is_good(NVML_CALL(look->nvml, nvmlDeviceGetEccMode, look->card->device,
                          &current, &pending))) {
        put(look, ACCEL_ECC, current);
        put(look, ACCEL_ECC_PENDING, pending);
    }
    read_count(look, ACCEL_ECC_CORRECTED, 0, 0);
    read_count(look, ACCEL_ECC_UNCORRECTED, 1, 0);
    read_count(look, ACCEL_ECC_CORRECTED_LIFE, 0, 1);
    read_count(look, ACCEL_ECC_UNCORRECTED_LIFE, 1, 1);
    read_place(look, ACCEL_ECC_DRAM, 2);
    read_place(look, ACCEL_ECC_SRAM, 7);
    if (is_good(NVML_CALL(look->nvml, nvmlDeviceGetSramEccErrorStatus,
                          look->card->device, &sram)))
        put(look, ACCEL_SRAM_EXCEEDED, sram.exceeded != 0);
}

/* Before Ampere cards give up pages; causes are 0 corrected, 1 not. */
static void
read_pages(const struct look *look)
{
    unsigned long long total = 0;
    bool told = false;

    for (unsigned cause = 0; cause < 2; cause++) {
        unsigned long long addresses[64];
        unsigned long long times[64];
        unsigned count = 64;

        if (!is_good(NVML_CALL(look->nvml, nvmlDeviceGetRetiredPages_v2,
                               look->card->device, cause, &count, addresses,
                               times)))
            continue;
        told = true;
        total += count;
    }
    if (told)
        put(look, ACCEL_PAGES_RETIRED, total);
    PUT(look, ACCEL_PAGES_PENDING, nvmlDeviceGetRetiredPagesPendingStatus);
}

/* Cards that cannot replace rows answer with zeros; they have no banks
 * either, which is how they are told apart. */
static void
read_rows(const struct look *look)
{
    struct nvml_rows rows = { 0 };
    unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    bool banks =
        is_good(NVML_CALL(look->nvml, nvmlDeviceGetRowRemapperHistogram,
                          look->card->device, &rows));

    if (banks &&
        rows.max + rows.high + rows.partial + rows.low + rows.none == 0)
        return;
    if (banks) {
        put(look, ACCEL_BANKS_SPENT, rows.none);
        put(look, ACCEL_BANKS_LOW, rows.low);
    }
    if (!is_good(NVML_CALL(look->nvml, nvmlDeviceGetRemappedRows,
                           look->card->device, &corrected, &uncorrected,
                           &pending, &failed)))
        return;
    put(look, ACCEL_REMAPPED_CORRECTED, corrected);
    put(look, ACCEL_REMAPPED_UNCORRECTED, uncorrected);
    put(look, ACCEL_REMAP_PENDING, pending != 0);
    put(look, ACCEL_REMAP_FAILED, failed != 0);
}

static void
read_repair(const struct look *look)
{
    struct nvml_unrepairable memory = { 0 };
    struct nvml_repair repair = { .version = NVML_WORD(struct nvml_repair, 1) };

    if (is_good(NVML_CALL(look->nvml, nvmlDeviceGetUnrepairableMemoryFlag_v1,
                          look->card->device, &memory)))
        put(look, ACCEL_UNREPAIRABLE, memory.flag != 0);
    if (is_good(NVML_CALL(look->nvml, nvmlDeviceGetRepairStatus,
                          look->card->device, &repair)))
        put(look, ACCEL_REPAIR_PENDING, repair.channel != 0 || repair.tpc != 0);
}

/* --- the rest --- */

static void
read_bus(const struct look *look)
{
    PUT(look, ACCEL_PCIE_GENERATION, nvmlDeviceGetCurrPcieLinkGeneration);
    PUT(look, ACCEL_PCIE_GENERATION_MAX, nvmlDeviceGetMaxPcieLinkGeneration);
    PUT(look, ACCEL_PCIE_WIDTH, nvmlDeviceGetCurrPcieLinkWidth);
    PUT(look, ACCEL_PCIE_WIDTH_MAX, nvmlDeviceGetMaxPcieLinkWidth);
    PUT(look, ACCEL_PCIE_REPLAYS, nvmlDeviceGetPcieReplayCounter);
}

static void
read_modes(const struct look *look)
{
    struct nvml_platform place = { .version =
                                       NVML_WORD(struct nvml_platform, 2) };
    unsigned current = 0;
    unsigned other = 0;

    if (is_good(NVML_CALL(look->nvml, nvmlDeviceGetMigMode, look->card->device,
                          &current, &other))) {
        put(look, ACCEL_SLICED, current);
        put(look, ACCEL_SLICED_PENDING, other);
    }
    if (is_good(NVML_CALL(look->nvml, nvmlDeviceGetGspFirmwareMode,
                          look->card->device, &current, &other)))
        put(look, ACCEL_FIRMWARE_OWN, current != 0);
    if (is_good(NVML_CALL(look->nvml, nvmlDeviceGetPlatformInfo,
                          look->card->device, &place))) {
        put(look, ACCEL_MODULE, place.module);
        put(look, ACCEL_SLOT, place.slot);
    } else
        PUT(look, ACCEL_MODULE, nvmlDeviceGetModuleId);
    PUT(look, ACCEL_ACCOUNTING, nvmlDeviceGetAccountingMode);
    PUT(look, ACCEL_COMPUTE_MODE, nvmlDeviceGetComputeMode);
    PUT(look, ACCEL_NUMA_OWN, nvmlDeviceGetNumaNodeId);
}

static void
read_links(const struct look *look)
{
    struct accel_card ignored = { 0 };

    nvml_fabric(look->nvml, look->card, &ignored, look->out);
}

int
nvml_read(struct accel *accel, const char *uuid,
          struct accel_reading *reading_out, struct error *err)
{
    struct nvml_card *card = nvml_find(accel, uuid, err);
    const struct look look = { accel->state, card, reading_out };

    accel_reading_clear(reading_out);
    if (card == NULL)
        return -1;
    read_memory(&look);
    read_use(&look);
    read_power(&look);
    read_heat(&look);
    read_clocks(&look);
    nvml_read_fields(look.nvml, card, reading_out);
    read_ecc(&look);
    read_pages(&look);
    read_rows(&look);
    read_repair(&look);
    read_bus(&look);
    read_modes(&look);
    read_links(&look);
    return nvml_end(look.nvml, card, err);
}

/* The store on the card is checked once: it is slow. */
static void
check_store(struct nvml *nvml, struct nvml_card *card,
            struct accel_state *state)
{
    if (!card->checked) {
        card->broken = NVML_CALL(nvml, nvmlDeviceValidateInforom,
                                 card->device) == NVML_CORRUPTED_INFOROM;
        card->checked = true;
    }
    if (card->broken && state->health == ACCEL_HEALTHY) {
        state->health = ACCEL_DEGRADED;
        (void)snprintf(state->reason, sizeof(state->reason),
                       "the card's own store is broken");
    }
}

int
nvml_health(struct accel *accel, const char *uuid,
            struct accel_state *state_out, struct error *err)
{
    struct nvml *nvml = accel->state;
    struct accel_reading reading;
    struct nvml_card *card;

    if (nvml_read(accel, uuid, &reading, err) != 0) {
        if (err->code != ERROR_GONE)
            return -1;
        accel_judge(&reading, state_out);
        state_out->health = ACCEL_FAILED;
        (void)snprintf(state_out->reason, sizeof(state_out->reason),
                       "the card is lost");
        return 0;
    }
    accel_judge(&reading, state_out);
    card = nvml_find(accel, uuid, err);
    if (card == NULL)
        return -1;
    check_store(nvml, card, state_out);
    if (nvml->lost) {
        state_out->health = ACCEL_FAILED;
        (void)snprintf(state_out->reason, sizeof(state_out->reason),
                       "the card is lost");
    } else if (!pci_is_there(nvml->root, card->pci)) {
        state_out->health = ACCEL_FAILED;
        (void)snprintf(state_out->reason, sizeof(state_out->reason),
                       "its slot %s on the bus is empty", card->pci);
    }
    return 0;
}
