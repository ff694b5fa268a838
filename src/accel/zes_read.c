/* SPDX-License-Identifier: Apache-2.0 */
/* What Intel's cards measure, and what happens to them. */
#include <string.h>

#include "accel/library.h"
#include "accel/pci.h"
#include "accel/zes_private.h"

#define MIB 1048576U

/* --- the parts of a card --- */

int
zes_memory_of(struct zes *zes, const struct zes_card *card, struct zes_sum *out)
{
    zes_part parts[ZES_PARTS_MAX];
    uint32_t count = ZES_PARTS_MAX;
    int result =
        ZES_CALL(zes, zesDeviceEnumMemoryModules, card->device, &count, parts);

    for (uint32_t i = 0;
         result == ZES_SUCCESS && i < count && i < ZES_PARTS_MAX; i++) {
        struct zes_memory memory = { .kind = ZES_KIND_MEMORY };
        struct zes_memory_state state = { .kind = ZES_KIND_MEMORY_STATE };

        if (ZES_CALL(zes, zesMemoryGetProperties, parts[i], &memory) !=
                ZES_SUCCESS ||
            memory.location != 1)
            continue;
        result = ZES_CALL(zes, zesMemoryGetState, parts[i], &state);
        if (result != ZES_SUCCESS)
            break;
        out->size += memory.size > 0 ? memory.size : state.size;
        out->free += state.free;
        if (state.health > out->health)
            out->health = state.health;
        out->told = true;
    }
    return result;
}

/* Both come as sums with a time: the rate lies between two looks. */
static void
read_activity(struct zes *zes, struct zes_card *card, struct accel_reading *out)
{
    zes_part parts[ZES_PARTS_MAX];
    uint32_t count = ZES_PARTS_MAX;

    if (ZES_CALL(zes, zesDeviceEnumEngineGroups, card->device, &count, parts) !=
        ZES_SUCCESS)
        return;
    for (uint32_t i = 0; i < count && i < ZES_PARTS_MAX; i++) {
        struct zes_engine engine = { .kind = ZES_KIND_ENGINE };
        struct zes_activity now = { 0 };
        uint64_t past;

        if (ZES_CALL(zes, zesEngineGetProperties, parts[i], &engine) !=
                ZES_SUCCESS ||
            engine.type != 0 || engine.on_subdevice ||
            ZES_CALL(zes, zesEngineGetActivity, parts[i], &now) != ZES_SUCCESS)
            continue;
        past = now.time_us - card->activity.time_us;
        if (card->activity.time_us != 0 && past > 0 &&
            now.time_us > card->activity.time_us &&
            now.active_us >= card->activity.active_us)
            accel_reading_set(
                out, ACCEL_BUSY,
                (int64_t)((now.active_us - card->activity.active_us) * 1000 /
                          past));
        card->activity = now;
        return;
    }
}

static void
read_power(struct zes *zes, struct zes_card *card, struct accel_reading *out)
{
    zes_part parts[ZES_PARTS_MAX];
    uint32_t count = ZES_PARTS_MAX;

    if (ZES_CALL(zes, zesDeviceEnumPowerDomains, card->device, &count, parts) !=
        ZES_SUCCESS)
        return;
    for (uint32_t i = 0; i < count && i < ZES_PARTS_MAX; i++) {
        struct zes_power power = { .kind = ZES_KIND_POWER };
        struct zes_energy now = { 0 };

        if (ZES_CALL(zes, zesPowerGetProperties, parts[i], &power) !=
                ZES_SUCCESS ||
            power.on_subdevice)
            continue;
        accel_reading_set(out, ACCEL_POWER_DEFAULT, power.usual_mw);
        accel_reading_set(out, ACCEL_POWER_MIN, power.least_mw);
        accel_reading_set(out, ACCEL_POWER_MAX, power.most_mw);
        if (ZES_CALL(zes, zesPowerGetEnergyCounter, parts[i], &now) !=
            ZES_SUCCESS)
            return;
        accel_reading_set(out, ACCEL_ENERGY,
                          (int64_t)(now.energy_uj / 1000 & INT64_MAX));
        if (card->energy.time_us != 0 && now.time_us > card->energy.time_us &&
            now.energy_uj >= card->energy.energy_uj)
            accel_reading_set(
                out, ACCEL_POWER,
                (int64_t)((now.energy_uj - card->energy.energy_uj) * 1000 /
                          (now.time_us - card->energy.time_us)));
        card->energy = now;
        return;
    }
}

static void
read_heat(struct zes *zes, const struct zes_card *card,
          struct accel_reading *out)
{
    static const enum accel_item items[] = { ACCEL_TEMPERATURE,
                                             ACCEL_TEMPERATURE,
                                             ACCEL_TEMPERATURE_MEMORY };
    zes_part parts[ZES_PARTS_MAX];
    uint32_t count = ZES_PARTS_MAX;

    if (ZES_CALL(zes, zesDeviceEnumTemperatureSensors, card->device, &count,
                 parts) != ZES_SUCCESS)
        return;
    for (uint32_t i = 0; i < count && i < ZES_PARTS_MAX; i++) {
        struct zes_sensor sensor = { .kind = ZES_KIND_SENSOR };
        double value = 0;

        if (ZES_CALL(zes, zesTemperatureGetProperties, parts[i], &sensor) !=
                ZES_SUCCESS ||
            sensor.type > 2 ||
            ZES_CALL(zes, zesTemperatureGetState, parts[i], &value) !=
                ZES_SUCCESS ||
            !(value > -100 && value < 300))
            continue;
        if ((int64_t)value > out->value[items[sensor.type]])
            accel_reading_set(out, items[sensor.type], (int64_t)value);
    }
}

/* Since the start; resets and programs' own errors are no fault of memory. */
static void
read_errors(struct zes *zes, const struct zes_card *card,
            struct accel_reading *out)
{
    zes_part parts[ZES_PARTS_MAX];
    uint32_t count = ZES_PARTS_MAX;

    if (ZES_CALL(zes, zesDeviceEnumRasErrorSets, card->device, &count, parts) !=
        ZES_SUCCESS)
        return;
    for (uint32_t i = 0; i < count && i < ZES_PARTS_MAX; i++) {
        struct zes_ras ras = { .kind = ZES_KIND_RAS };
        struct zes_ras_state state = { .kind = ZES_KIND_RAS_STATE };
        enum accel_item item;
        int64_t sum = 0;

        if (ZES_CALL(zes, zesRasGetProperties, parts[i], &ras) != ZES_SUCCESS ||
            ras.type > 1 ||
            ZES_CALL(zes, zesRasGetState, parts[i], (uint8_t)0, &state) !=
                ZES_SUCCESS)
            continue;
        item = ras.type == 0 ? ACCEL_ECC_CORRECTED : ACCEL_ECC_UNCORRECTED;
        for (size_t j = 3; j <= 5; j++)
            sum += (int64_t)(state.category[j] & 0xFFFFFFFFFFFF);
        if (out->value[item] != ACCEL_ABSENT)
            sum += out->value[item];
        accel_reading_set(out, item, sum);
    }
}

static void
read_clocks(struct zes *zes, const struct zes_card *card,
            struct accel_reading *out)
{
    zes_part parts[ZES_PARTS_MAX];
    uint32_t count = ZES_PARTS_MAX;

    if (ZES_CALL(zes, zesDeviceEnumFrequencyDomains, card->device, &count,
                 parts) != ZES_SUCCESS)
        return;
    for (uint32_t i = 0; i < count && i < ZES_PARTS_MAX; i++) {
        struct zes_frequency clock = { .kind = ZES_KIND_FREQUENCY };
        struct zes_frequency_state state = { .kind = ZES_KIND_FREQUENCY_STATE };

        if (ZES_CALL(zes, zesFrequencyGetProperties, parts[i], &clock) !=
                ZES_SUCCESS ||
            ZES_CALL(zes, zesFrequencyGetState, parts[i], &state) !=
                ZES_SUCCESS ||
            !(state.actual >= 0 && state.actual < 100000))
            continue;
        accel_reading_set(out,
                          clock.type == 0 ? ACCEL_CLOCK : ACCEL_CLOCK_MEMORY,
                          (int64_t)state.actual);
    }
}

static void
read_bus(struct zes *zes, const struct zes_card *card,
         struct accel_reading *out)
{
    struct zes_pci pci = { .kind = ZES_KIND_PCI };
    struct zes_pci_state state = { .kind = ZES_KIND_PCI_STATE };

    if (ZES_CALL(zes, zesDevicePciGetProperties, card->device, &pci) ==
        ZES_SUCCESS) {
        accel_reading_set(out, ACCEL_PCIE_GENERATION_MAX, pci.most.generation);
        accel_reading_set(out, ACCEL_PCIE_WIDTH_MAX, pci.most.width);
    }
    if (ZES_CALL(zes, zesDevicePciGetState, card->device, &state) ==
        ZES_SUCCESS) {
        accel_reading_set(out, ACCEL_PCIE_GENERATION, state.now.generation);
        accel_reading_set(out, ACCEL_PCIE_WIDTH, state.now.width);
    }
}

int
zes_read(struct accel *accel, const char *uuid,
         struct accel_reading *reading_out, struct error *err)
{
    struct zes *zes = accel->state;
    struct zes_card *card = zes_find(accel, uuid, err);
    struct zes_state state = { .kind = ZES_KIND_STATE };
    struct zes_sum memory = { 0 };
    int result;

    accel_reading_clear(reading_out);
    if (card == NULL)
        return -1;
    result = ZES_CALL(zes, zesDeviceGetState, card->device, &state);
    if (result == ZES_SUCCESS)
        accel_reading_set(reading_out, ACCEL_RECOVERY,
                          (state.reset & 1) != 0   ? 1
                          : (state.reset & 2) != 0 ? 4
                                                   : 0);
    if (result != ZES_DEVICE_LOST)
        result = zes_memory_of(zes, card, &memory);
    if (result == ZES_DEVICE_LOST || !pci_is_there(zes->root, card->pci))
        return error_set(err, ERROR_GONE, "%s: the card is lost", uuid);
    if (memory.told) {
        accel_reading_set(reading_out, ACCEL_MEMORY_TOTAL,
                          (int64_t)(memory.size / MIB));
        if (memory.free <= memory.size)
            accel_reading_set(reading_out, ACCEL_MEMORY_USED,
                              (int64_t)((memory.size - memory.free) / MIB));
        if (memory.health > 0)
            accel_reading_set(reading_out, ACCEL_ATTENTION, memory.health);
    }
    read_activity(zes, card, reading_out);
    read_power(zes, card, reading_out);
    read_heat(zes, card, reading_out);
    read_errors(zes, card, reading_out);
    read_clocks(zes, card, reading_out);
    read_bus(zes, card, reading_out);
    return 0;
}

int
zes_health(struct accel *accel, const char *uuid, struct accel_state *state_out,
           struct error *err)
{
    struct accel_reading reading;

    if (zes_read(accel, uuid, &reading, err) != 0)
        return -1;
    accel_judge(&reading, state_out);
    return 0;
}

/* --- what happens --- */

static const struct {
    unsigned bit;
    enum accel_event_kind kind;
    int64_t number;
} kinds[] = {
    { ZES_EVENT_DETACH, ACCEL_EVENT_LOST, 0 },
    { ZES_EVENT_RESET, ACCEL_EVENT_RECOVERY, 1 },
    { ZES_EVENT_UNCORRECTED, ACCEL_EVENT_ECC, 2 },
    { ZES_EVENT_CORRECTED, ACCEL_EVENT_ECC, 1 },
    { ZES_EVENT_MEMORY, ACCEL_EVENT_RECOVERY, 0 },
    { ZES_EVENT_HOT, ACCEL_EVENT_THERMAL, 0 },
    { ZES_EVENT_THROTTLED, ACCEL_EVENT_THERMAL, 0 },
};

static size_t
translate(const struct zes_card *card, unsigned bits, struct accel_event *out,
          size_t room)
{
    size_t count = 0;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && count < room;
         i++) {
        if ((bits & kinds[i].bit) == 0)
            continue;
        out[count] = (struct accel_event){ .kind = kinds[i].kind,
                                           .number = kinds[i].number,
                                           .instance = -1,
                                           .compute = -1 };
        (void)snprintf(out[count].uuid, sizeof(out[count].uuid), "%s",
                       card->uuid);
        count++;
    }
    return count;
}

int
zes_events(struct accel *accel, int wait_ms,
           struct accel_event list_out[ACCEL_EVENTS_MAX], size_t *count_out,
           struct error *err)
{
    struct zes *zes = accel->state;
    zes_device devices[ZES_PARTS_MAX];
    unsigned bits[ZES_PARTS_MAX] = { 0 };
    uint32_t changed = 0;
    uint32_t number = 0;
    unsigned mask = 0;
    int result;

    zes->accel = accel;
    *count_out = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        mask |= kinds[i].bit;
    for (size_t i = 0; i < zes->count && number < ZES_PARTS_MAX; i++) {
        struct zes_card *card = &zes->cards[i];

        library_say(zes->accel, card->uuid);
        if (!card->has_events)
            card->has_events = ZES_CALL(zes, zesDeviceEventRegister,
                                        card->device, mask) == ZES_SUCCESS;
        /* One driver is listened to: all cards are of one vendor. */
        if (card->has_events && card->driver == zes->cards[0].driver)
            devices[number++] = card->device;
    }
    if (number == 0)
        return 0;
    library_say(zes->accel, "");
    result = ZES_CALL(zes, zesDriverEventListen, zes->cards[0].driver,
                      (uint32_t)wait_ms, number, devices, &changed, bits);
    if (result != ZES_SUCCESS)
        return zes_fail(err, result, "zesDriverEventListen", "");
    for (uint32_t i = 0; changed > 0 && i < number; i++)
        for (size_t j = 0; j < zes->count; j++)
            if (zes->cards[j].device == devices[i])
                *count_out +=
                    translate(&zes->cards[j], bits[i], &list_out[*count_out],
                              ACCEL_EVENTS_MAX - *count_out);
    return 0;
}
