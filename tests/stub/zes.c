/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libze_loader.so.1 for tests: the interface of the real one, with answers
 * from a file (zes_stub.h).  Like the real one it refuses NULL and structs
 * that do not say their kind, and has no management when the environment did
 * not ask for it.
 */
#include "accel/zes.h"
#include "tests/stub/zes_stub.h"

#define ZES(symbol, arguments) int symbol arguments;
#include "accel/zes.def"
#undef ZES

struct zes_driver_inside {
    int number;
};
struct zes_device_inside {
    int card;
};
struct zes_part_inside {
    int card;
};

static struct zes_stub_world *world;
static int ready;
static struct zes_driver_inside the_driver;
static struct zes_device_inside devices[ZES_STUB_CARDS];
static struct zes_part_inside parts[ZES_STUB_CARDS];

static int
enter(enum zes_stub_symbol symbol, int card)
{
    if (world == NULL) {
        const char *path = getenv(ZES_STUB_ENV);

        world = path != NULL && getenv("ZES_ENABLE_SYSMAN") != NULL
                    ? zes_stub_map(path)
                    : NULL;
        if (world == NULL)
            return ZES_UNINITIALIZED;
        for (int i = 0; i < ZES_STUB_CARDS; i++)
            devices[i].card = parts[i].card = i;
    }
    world->calls[symbol]++;
    for (uint32_t i = 0; i < world->fault_count; i++) {
        if (world->faults[i].symbol != symbol ||
            (world->faults[i].card != ZES_STUB_ALL &&
             world->faults[i].card != card))
            continue;
        while (world->faults[i].answer == ZES_STUB_HANG)
            (void)pause();
        return world->faults[i].answer;
    }
    return symbol != ZES_STUB_zeInit && !ready ? ZES_UNINITIALIZED : 0;
}

#define ENTER(symbol, handle)                                                  \
    int card = (handle)->card;                                                 \
    int answer_ = enter(ZES_STUB_##symbol, card);                              \
    if (answer_ != 0)                                                          \
        return answer_;                                                        \
    (void)card
#define NEED(pointer)                                                          \
    if ((pointer) == NULL)                                                     \
    return ZES_NULL_POINTER
#define NEED_KIND(pointer, number)                                             \
    NEED(pointer);                                                             \
    if ((pointer)->kind != (number))                                           \
    return ZES_INVALID_ARGUMENT

int
zeInit(unsigned flags)
{
    int answer = enter(ZES_STUB_zeInit, ZES_STUB_ALL);

    (void)flags;
    ready += answer == 0;
    return answer;
}

int
zeDriverGet(uint32_t *count, zes_driver *out)
{
    int answer = enter(ZES_STUB_zeDriverGet, ZES_STUB_ALL);

    if (answer != 0)
        return answer;
    NEED(count);
    if (*count > 0 && out != NULL)
        out[0] = &the_driver;
    *count = 1;
    return ZES_SUCCESS;
}

int
zeDeviceGet(zes_driver driver, uint32_t *count, zes_device *out)
{
    int answer = enter(ZES_STUB_zeDeviceGet, ZES_STUB_ALL);

    if (answer != 0)
        return answer;
    NEED(driver);
    NEED(count);
    for (uint32_t i = 0; out != NULL && i < *count && i < world->card_count;
         i++)
        out[i] = &devices[i];
    *count = world->card_count;
    return ZES_SUCCESS;
}

int
zesDeviceGetProperties(zes_device device, struct zes_properties *out)
{
    ENTER(zesDeviceGetProperties, device);
    NEED_KIND(out, 0x1);
    out->core.vendor = 0x8086;
    out->core.slices = 8;
    out->core.subslices = 16;
    out->core.uuid[0] = 0x86;
    out->core.uuid[15] = (uint8_t)card;
    (void)snprintf(out->core.name, sizeof(out->core.name),
                   "Intel(R) Data Center GPU Max 1100");
    (void)snprintf(out->serial, sizeof(out->serial), "0x1234");
    (void)snprintf(out->driver, sizeof(out->driver), "1.3.29735");
    return ZES_SUCCESS;
}

int
zesDeviceGetState(zes_device device, struct zes_state *out)
{
    ENTER(zesDeviceGetState, device);
    NEED_KIND(out, 0x15);
    out->reset = world->cards[card].reset;
    return ZES_SUCCESS;
}

int
zesDevicePciGetProperties(zes_device device, struct zes_pci *out)
{
    ENTER(zesDevicePciGetProperties, device);
    NEED_KIND(out, 0x2);
    out->bus = 0x29 + (uint32_t)card;
    out->most = (struct zes_speed){ 5, 16, 0 };
    return ZES_SUCCESS;
}

int
zesDevicePciGetState(zes_device device, struct zes_pci_state *out)
{
    ENTER(zesDevicePciGetState, device);
    NEED_KIND(out, 0x17);
    out->now = (struct zes_speed){ 4, 16, 0 };
    return ZES_SUCCESS;
}

int
zesDeviceProcessesGetState(zes_device device, uint32_t *count,
                           struct zes_process *out)
{
    ENTER(zesDeviceProcessesGetState, device);
    NEED(count);
    if (world->cards[card].process == 0) {
        *count = 0;
        return ZES_SUCCESS;
    }
    NEED_KIND(out, 0x16);
    out[0].pid = world->cards[card].process;
    out[0].memory = 5ULL << 20;
    *count = 1;
    return ZES_SUCCESS;
}

int
zesDeviceReset(zes_device device, uint8_t force)
{
    ENTER(zesDeviceReset, device);
    if (world->cards[card].process != 0 && !force)
        return ZES_IN_USE;
    world->cards[card].reset = 0;
    return ZES_SUCCESS;
}

/* A card has one part of each kind. */
#define ENUMERATE(symbol)                                                      \
    int symbol(zes_device device, uint32_t *count, zes_part *out)              \
    {                                                                          \
        ENTER(symbol, device);                                                 \
        NEED(count);                                                           \
        if (*count > 0 && out != NULL)                                         \
            out[0] = &parts[card];                                             \
        *count = 1;                                                            \
        return ZES_SUCCESS;                                                    \
    }
ENUMERATE(zesDeviceEnumMemoryModules)
ENUMERATE(zesDeviceEnumEngineGroups)
ENUMERATE(zesDeviceEnumPowerDomains)
ENUMERATE(zesDeviceEnumTemperatureSensors)
ENUMERATE(zesDeviceEnumRasErrorSets)
ENUMERATE(zesDeviceEnumFrequencyDomains)

int
zesMemoryGetProperties(zes_part part, struct zes_memory *out)
{
    ENTER(zesMemoryGetProperties, part);
    NEED_KIND(out, 0xB);
    out->location = 1;
    out->size = world->cards[card].size;
    return ZES_SUCCESS;
}

int
zesMemoryGetState(zes_part part, struct zes_memory_state *out)
{
    ENTER(zesMemoryGetState, part);
    NEED_KIND(out, 0x1E);
    out->health = world->cards[card].health;
    out->size = world->cards[card].size;
    out->free = world->cards[card].free;
    return ZES_SUCCESS;
}

int
zesEngineGetProperties(zes_part part, struct zes_engine *out)
{
    ENTER(zesEngineGetProperties, part);
    NEED_KIND(out, 0x5);
    return ZES_SUCCESS;
}

/* A quarter of the time. */
int
zesEngineGetActivity(zes_part part, struct zes_activity *out)
{
    ENTER(zesEngineGetActivity, part);
    NEED(out);
    world->time_us += 1000000;
    *out = (struct zes_activity){ world->time_us / 4, world->time_us };
    return ZES_SUCCESS;
}

int
zesPowerGetProperties(zes_part part, struct zes_power *out)
{
    ENTER(zesPowerGetProperties, part);
    NEED_KIND(out, 0xD);
    out->usual_mw = 300000;
    out->least_mw = -1;
    out->most_mw = 300000;
    return ZES_SUCCESS;
}

/* 120 W */
int
zesPowerGetEnergyCounter(zes_part part, struct zes_energy *out)
{
    ENTER(zesPowerGetEnergyCounter, part);
    NEED(out);
    *out = (struct zes_energy){ world->time_us * 120, world->time_us };
    return ZES_SUCCESS;
}

int
zesTemperatureGetProperties(zes_part part, struct zes_sensor *out)
{
    ENTER(zesTemperatureGetProperties, part);
    NEED_KIND(out, 0x14);
    out->type = 1;
    return ZES_SUCCESS;
}

int
zesTemperatureGetState(zes_part part, double *out)
{
    ENTER(zesTemperatureGetState, part);
    NEED(out);
    *out = 47.6;
    return ZES_SUCCESS;
}

int
zesRasGetProperties(zes_part part, struct zes_ras *out)
{
    ENTER(zesRasGetProperties, part);
    NEED_KIND(out, 0xF);
    out->type = 1;
    return ZES_SUCCESS;
}

int
zesRasGetState(zes_part part, uint8_t clear, struct zes_ras_state *out)
{
    ENTER(zesRasGetState, part);
    NEED_KIND(out, 0x22);
    if (clear)
        return ZES_NO_PERMISSION;
    /* Programs' own errors do not count. */
    out->category[1] = 99;
    out->category[5] = world->cards[card].uncorrected;
    return ZES_SUCCESS;
}

int
zesFrequencyGetProperties(zes_part part, struct zes_frequency *out)
{
    ENTER(zesFrequencyGetProperties, part);
    NEED_KIND(out, 0x9);
    return ZES_SUCCESS;
}

int
zesFrequencyGetState(zes_part part, struct zes_frequency_state *out)
{
    ENTER(zesFrequencyGetState, part);
    NEED_KIND(out, 0x1B);
    out->actual = 1550.0;
    return ZES_SUCCESS;
}

int
zesDeviceEventRegister(zes_device device, unsigned events)
{
    ENTER(zesDeviceEventRegister, device);
    return events >= 1U << 15 ? ZES_INVALID_ARGUMENT : ZES_SUCCESS;
}

int
zesDriverEventListen(zes_driver driver, uint32_t wait_ms, uint32_t count,
                     zes_device *list, uint32_t *changed, unsigned *events)
{
    int answer = enter(ZES_STUB_zesDriverEventListen, ZES_STUB_ALL);

    if (answer != 0)
        return answer;
    NEED(driver);
    NEED(list);
    NEED(changed);
    NEED(events);
    (void)wait_ms;
    *changed = 0;
    for (uint32_t i = 0; i < count; i++) {
        events[i] = world->cards[list[i]->card].event;
        *changed += events[i] != 0;
        world->cards[list[i]->card].event = 0;
    }
    return ZES_SUCCESS;
}
