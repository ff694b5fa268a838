/* SPDX-License-Identifier: Apache-2.0 */
/* Intel's cards, through the system management part of libze_loader.so.1. */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "accel/accel.h"
#include "accel/pci.h"
#include "accel/zes.h"
#include "base/arena.h"
#include "base/file.h"

#define LIBRARY "libze_loader.so.1"
#define VENDOR_ID 0x8086U
#define PARTS_MAX 64
#define MIB 1048576U

struct zes_functions {
#define ZES(symbol, arguments) int(*symbol) arguments;
#include "accel/zes.def"
#undef ZES
};

struct card {
    zes_device device;
    zes_driver driver;
    char uuid[ACCEL_ID_MAX + 1];
    char pci[24];
    struct zes_activity activity; /* of the look before; 0: none */
    struct zes_energy energy;
    bool has_events;
};

struct zes {
    struct accel *accel;
    void *library;
    char *root;
    struct zes_functions fn;
    size_t count;
    struct card cards[ACCEL_CARDS_MAX];
};

static void
enter(const struct zes *zes, const char *call)
{
    struct accel_trail *trail = zes->accel->watch.trail;

    if (trail != NULL)
        (void)snprintf(trail->call, sizeof(trail->call), "%s", call);
}

#define CALL(zes, symbol, ...)                                                 \
    ((zes)->fn.symbol == NULL                                                  \
         ? (int)ZES_MISSING                                                    \
         : (enter((zes), #symbol), (zes)->fn.symbol(__VA_ARGS__)))

static int
fail(struct error *err, int result, const char *call, const char *card)
{
    static const struct {
        int result;
        enum error_code code;
        const char *text;
    } meanings[] = {
        { ZES_DEVICE_LOST, ERROR_GONE, "the card is lost" },
        { ZES_REQUIRES_RESET, ERROR_CONFLICT,
          "the card has to be reset first" },
        { ZES_NO_PERMISSION, ERROR_DENIED, "the driver wants more rights" },
        { ZES_NOT_AVAILABLE, ERROR_CONFLICT, "somebody is on it" },
        { ZES_IN_USE, ERROR_CONFLICT, "somebody is on it" },
        { ZES_NO_DEPENDENCY, ERROR_UNSUPPORTED, "the driver is not loaded" },
        { ZES_UNINITIALIZED, ERROR_UNSUPPORTED, "there is no driver" },
        { ZES_UNSUPPORTED, ERROR_UNSUPPORTED, "the card cannot do it" },
        { ZES_INVALID_ARGUMENT, ERROR_INVALID, "the library refuses it" },
        { ZES_MISSING, ERROR_UNSUPPORTED, "the library has no such function" },
    };
    const char *text = "the library failed";
    enum error_code code = ERROR_INTERNAL;

    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
        if (meanings[i].result == result) {
            text = meanings[i].text;
            code = meanings[i].code;
        }
    return error_set(err, code, "%s%s%s (%s answers 0x%x)", card,
                     card[0] != '\0' ? ": " : "", text, call, (unsigned)result);
}

/* --- opening --- */

static void
close_backend(struct accel *accel)
{
    struct zes *zes = accel->state;

    if (zes == NULL)
        return;
    if (zes->library != NULL)
        (void)dlclose(zes->library);
    free(zes->root);
    free(zes);
    accel->state = NULL;
}

/* The loader reads its environment once: management has to be asked for
 * before it is loaded. */
static int
open_library(struct zes *zes, const char *directory, struct error *err)
{
    char path[256] = LIBRARY;
    int result;

    if (directory != NULL)
        (void)snprintf(path, sizeof(path), "%s/%s", directory, LIBRARY);
    (void)setenv("ZES_ENABLE_SYSMAN", "1", 1);
    zes->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (zes->library == NULL) {
        (void)error_set(err, ERROR_NOT_FOUND, "%s is not there", LIBRARY);
        return error_help(err, "It comes with Intel's Level Zero.");
    }
#define ZES(symbol, arguments)                                                 \
    *(void **)&zes->fn.symbol = dlsym(zes->library, #symbol);
#include "accel/zes.def"
#undef ZES
    result = CALL(zes, zeInit, 0U);
    return result == ZES_SUCCESS ? 0 : fail(err, result, "zeInit", "");
}

static int
open_backend(struct accel *accel, const char *source, const char *state_dir,
             struct error *err)
{
    struct zes *zes = memory_new(1, sizeof(*zes));

    (void)state_dir;
    zes->accel = accel;
    zes->root = memory_strdup(source != NULL ? source : "");
    accel->state = zes;
    if (open_library(zes, source, err) != 0) {
        close_backend(accel);
        return -1;
    }
    return 0;
}

/* --- which cards --- */

static void
say_card(const struct zes *zes, const char *key)
{
    if (zes->accel->watch.trail != NULL)
        (void)snprintf(zes->accel->watch.trail->card,
                       sizeof(zes->accel->watch.trail->card), "%s", key);
}

static bool
may(const struct zes *zes, const char *card)
{
    const struct accel_watch *watch = &zes->accel->watch;

    for (size_t i = 0; i < watch->mute_count; i++)
        if (strcmp(watch->mute[i].card, card) == 0)
            return false;
    return true;
}

static void
put_uuid(const uint8_t bytes[16], char *out, size_t room)
{
    char text[37];
    size_t at = 0;

    for (size_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text[at++] = '-';
        (void)snprintf(text + at, 3, "%02x", bytes[i]);
        at += 2;
    }
    (void)snprintf(out, room, "INTEL-%s", text);
}

static int
look_at(struct zes *zes, unsigned number, struct card *card)
{
    struct zes_properties properties = { .kind = ZES_KIND_DEVICE,
                                         .core.kind = ZES_KIND_CORE };
    struct zes_pci pci = { .kind = ZES_KIND_PCI };
    char key[16];
    int result;

    (void)snprintf(key, sizeof(key), "#%u", number);
    if (!may(zes, key))
        return ZES_NOT_AVAILABLE;
    say_card(zes, key);
    result = CALL(zes, zesDeviceGetProperties, card->device, &properties);
    if (result == ZES_SUCCESS)
        result = CALL(zes, zesDevicePciGetProperties, card->device, &pci);
    if (result != ZES_SUCCESS)
        return result;
    if (properties.core.vendor != VENDOR_ID)
        return ZES_UNSUPPORTED;
    put_uuid(properties.core.uuid, card->uuid, sizeof(card->uuid));
    (void)snprintf(card->pci, sizeof(card->pci), "%04x:%02x:%02x.%x",
                   pci.domain & 0xFFFF, pci.bus & 0xFF, pci.device & 0x1F,
                   pci.function & 0x7);
    return ZES_SUCCESS;
}

/* What is kept from one look to the next. */
static void
keep(struct zes *zes, const struct card *before, size_t count,
     struct card *fresh)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(before[i].uuid, fresh->uuid) == 0) {
            fresh->activity = before[i].activity;
            fresh->energy = before[i].energy;
            fresh->has_events =
                before[i].has_events && before[i].device == fresh->device;
        }
    zes->cards[zes->count++] = *fresh;
}

static int
look(struct zes *zes, struct error *err)
{
    size_t before_count = zes->count;
    struct card *before;
    zes_driver drivers[8];
    uint32_t driver_count = 8;
    int result;
    unsigned number = 0;

    say_card(zes, "");
    result = CALL(zes, zeDriverGet, &driver_count, drivers);
    if (result != ZES_SUCCESS)
        return fail(err, result, "zeDriverGet", "");
    before = memory_new(before_count + 1, sizeof(*before));
    memcpy(before, zes->cards, before_count * sizeof(*before));
    zes->count = 0;
    for (uint32_t i = 0; i < driver_count && i < 8; i++) {
        zes_device devices[PARTS_MAX];
        uint32_t count = PARTS_MAX;

        say_card(zes, "");
        if (CALL(zes, zeDeviceGet, drivers[i], &count, devices) != ZES_SUCCESS)
            continue;
        for (uint32_t j = 0; j < count && j < PARTS_MAX; j++, number++) {
            struct card fresh = { .device = devices[j], .driver = drivers[i] };

            if (zes->count < ACCEL_CARDS_MAX &&
                look_at(zes, number, &fresh) == ZES_SUCCESS)
                keep(zes, before, before_count, &fresh);
        }
    }
    free(before);
    return 0;
}

static struct card *
known(struct zes *zes, const char *part)
{
    for (size_t i = 0; i < zes->count; i++)
        if (strcmp(zes->cards[i].uuid, part) == 0)
            return &zes->cards[i];
    return NULL;
}

static struct card *
find(struct accel *accel, const char *part, struct error *err)
{
    struct zes *zes = accel->state;
    struct card *card;

    zes->accel = accel;
    card = known(zes, part);
    if (card == NULL && look(zes, err) != 0)
        return NULL;
    card = known(zes, part);
    if (card == NULL)
        (void)error_set(err, ERROR_NOT_FOUND, "there is no card %.40s", part);
    else
        say_card(zes, card->uuid);
    return card;
}

static int
list(struct accel *accel, struct arena *arena, const char *const **uuids_out,
     size_t *count_out, struct error *err)
{
    struct zes *zes = accel->state;
    const char **uuids;

    zes->accel = accel;
    if (look(zes, err) != 0)
        return -1;
    uuids = arena_alloc(arena, (zes->count + 1) * sizeof(*uuids));
    for (size_t i = 0; i < zes->count; i++)
        uuids[i] = arena_strdup(arena, zes->cards[i].uuid);
    *uuids_out = uuids;
    *count_out = zes->count;
    return 0;
}

/* --- the parts of a card --- */

struct memory {
    uint64_t size, free;
    unsigned health; /* the worst */
    bool told;
};

static int
read_memory(struct zes *zes, const struct card *card, struct memory *out)
{
    zes_part parts[PARTS_MAX];
    uint32_t count = PARTS_MAX;
    int result =
        CALL(zes, zesDeviceEnumMemoryModules, card->device, &count, parts);

    for (uint32_t i = 0; result == ZES_SUCCESS && i < count && i < PARTS_MAX;
         i++) {
        struct zes_memory memory = { .kind = ZES_KIND_MEMORY };
        struct zes_memory_state state = { .kind = ZES_KIND_MEMORY_STATE };

        if (CALL(zes, zesMemoryGetProperties, parts[i], &memory) !=
                ZES_SUCCESS ||
            memory.location != 1)
            continue;
        result = CALL(zes, zesMemoryGetState, parts[i], &state);
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
read_activity(struct zes *zes, struct card *card, struct accel_reading *out)
{
    zes_part parts[PARTS_MAX];
    uint32_t count = PARTS_MAX;

    if (CALL(zes, zesDeviceEnumEngineGroups, card->device, &count, parts) !=
        ZES_SUCCESS)
        return;
    for (uint32_t i = 0; i < count && i < PARTS_MAX; i++) {
        struct zes_engine engine = { .kind = ZES_KIND_ENGINE };
        struct zes_activity now = { 0 };
        uint64_t past;

        if (CALL(zes, zesEngineGetProperties, parts[i], &engine) !=
                ZES_SUCCESS ||
            engine.type != 0 || engine.on_subdevice ||
            CALL(zes, zesEngineGetActivity, parts[i], &now) != ZES_SUCCESS)
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
read_power(struct zes *zes, struct card *card, struct accel_reading *out)
{
    zes_part parts[PARTS_MAX];
    uint32_t count = PARTS_MAX;

    if (CALL(zes, zesDeviceEnumPowerDomains, card->device, &count, parts) !=
        ZES_SUCCESS)
        return;
    for (uint32_t i = 0; i < count && i < PARTS_MAX; i++) {
        struct zes_power power = { .kind = ZES_KIND_POWER };
        struct zes_energy now = { 0 };

        if (CALL(zes, zesPowerGetProperties, parts[i], &power) != ZES_SUCCESS ||
            power.on_subdevice)
            continue;
        accel_reading_set(out, ACCEL_POWER_DEFAULT, power.usual_mw);
        accel_reading_set(out, ACCEL_POWER_MIN, power.least_mw);
        accel_reading_set(out, ACCEL_POWER_MAX, power.most_mw);
        if (CALL(zes, zesPowerGetEnergyCounter, parts[i], &now) != ZES_SUCCESS)
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
read_heat(struct zes *zes, const struct card *card, struct accel_reading *out)
{
    static const enum accel_item items[] = { ACCEL_TEMPERATURE,
                                             ACCEL_TEMPERATURE,
                                             ACCEL_TEMPERATURE_MEMORY };
    zes_part parts[PARTS_MAX];
    uint32_t count = PARTS_MAX;

    if (CALL(zes, zesDeviceEnumTemperatureSensors, card->device, &count,
             parts) != ZES_SUCCESS)
        return;
    for (uint32_t i = 0; i < count && i < PARTS_MAX; i++) {
        struct zes_sensor sensor = { .kind = ZES_KIND_SENSOR };
        double value = 0;

        if (CALL(zes, zesTemperatureGetProperties, parts[i], &sensor) !=
                ZES_SUCCESS ||
            sensor.type > 2 ||
            CALL(zes, zesTemperatureGetState, parts[i], &value) !=
                ZES_SUCCESS ||
            !(value > -100 && value < 300))
            continue;
        if ((int64_t)value > out->value[items[sensor.type]])
            accel_reading_set(out, items[sensor.type], (int64_t)value);
    }
}

/* Since the start; resets and programs' own errors are no fault of memory. */
static void
read_errors(struct zes *zes, const struct card *card, struct accel_reading *out)
{
    zes_part parts[PARTS_MAX];
    uint32_t count = PARTS_MAX;

    if (CALL(zes, zesDeviceEnumRasErrorSets, card->device, &count, parts) !=
        ZES_SUCCESS)
        return;
    for (uint32_t i = 0; i < count && i < PARTS_MAX; i++) {
        struct zes_ras ras = { .kind = ZES_KIND_RAS };
        struct zes_ras_state state = { .kind = ZES_KIND_RAS_STATE };
        enum accel_item item;
        int64_t sum = 0;

        if (CALL(zes, zesRasGetProperties, parts[i], &ras) != ZES_SUCCESS ||
            ras.type > 1 ||
            CALL(zes, zesRasGetState, parts[i], (uint8_t)0, &state) !=
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
read_clocks(struct zes *zes, const struct card *card, struct accel_reading *out)
{
    zes_part parts[PARTS_MAX];
    uint32_t count = PARTS_MAX;

    if (CALL(zes, zesDeviceEnumFrequencyDomains, card->device, &count, parts) !=
        ZES_SUCCESS)
        return;
    for (uint32_t i = 0; i < count && i < PARTS_MAX; i++) {
        struct zes_frequency clock = { .kind = ZES_KIND_FREQUENCY };
        struct zes_frequency_state state = { .kind = ZES_KIND_FREQUENCY_STATE };

        if (CALL(zes, zesFrequencyGetProperties, parts[i], &clock) !=
                ZES_SUCCESS ||
            CALL(zes, zesFrequencyGetState, parts[i], &state) != ZES_SUCCESS ||
            !(state.actual >= 0 && state.actual < 100000))
            continue;
        accel_reading_set(out,
                          clock.type == 0 ? ACCEL_CLOCK : ACCEL_CLOCK_MEMORY,
                          (int64_t)state.actual);
    }
}

static void
read_bus(struct zes *zes, const struct card *card, struct accel_reading *out)
{
    struct zes_pci pci = { .kind = ZES_KIND_PCI };
    struct zes_pci_state state = { .kind = ZES_KIND_PCI_STATE };

    if (CALL(zes, zesDevicePciGetProperties, card->device, &pci) ==
        ZES_SUCCESS) {
        accel_reading_set(out, ACCEL_PCIE_GENERATION_MAX, pci.most.generation);
        accel_reading_set(out, ACCEL_PCIE_WIDTH_MAX, pci.most.width);
    }
    if (CALL(zes, zesDevicePciGetState, card->device, &state) == ZES_SUCCESS) {
        accel_reading_set(out, ACCEL_PCIE_GENERATION, state.now.generation);
        accel_reading_set(out, ACCEL_PCIE_WIDTH, state.now.width);
    }
}

static int
read_card(struct accel *accel, const char *uuid,
          struct accel_reading *reading_out, struct error *err)
{
    struct zes *zes = accel->state;
    struct card *card = find(accel, uuid, err);
    struct zes_state state = { .kind = ZES_KIND_STATE };
    struct memory memory = { 0 };
    int result;

    accel_reading_clear(reading_out);
    if (card == NULL)
        return -1;
    result = CALL(zes, zesDeviceGetState, card->device, &state);
    if (result == ZES_SUCCESS)
        accel_reading_set(reading_out, ACCEL_RECOVERY,
                          (state.reset & 1) != 0   ? 1
                          : (state.reset & 2) != 0 ? 4
                                                   : 0);
    if (result != ZES_DEVICE_LOST)
        result = read_memory(zes, card, &memory);
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

static int
health(struct accel *accel, const char *uuid, struct accel_state *state_out,
       struct error *err)
{
    struct accel_reading reading;

    if (read_card(accel, uuid, &reading, err) != 0)
        return -1;
    accel_judge(&reading, state_out);
    return 0;
}

/* --- what a card is, who is on it --- */

static int
describe(struct accel *accel, const char *uuid, struct accel_card *card_out,
         struct error *err)
{
    struct zes *zes = accel->state;
    struct card *card = find(accel, uuid, err);
    struct zes_properties is = { .kind = ZES_KIND_DEVICE,
                                 .core.kind = ZES_KIND_CORE };
    struct accel_card out = { .numa = -1, .island = -1, .vendor = "intel" };
    struct memory memory = { 0 };
    int result;

    if (card == NULL)
        return -1;
    result = CALL(zes, zesDeviceGetProperties, card->device, &is);
    if (result != ZES_SUCCESS)
        return fail(err, result, "zesDeviceGetProperties", uuid);
    result = read_memory(zes, card, &memory);
    if (result != ZES_SUCCESS)
        return fail(err, result, "zesDeviceEnumMemoryModules", uuid);
    (void)snprintf(out.uuid, sizeof(out.uuid), "%s", card->uuid);
    (void)snprintf(out.pci, sizeof(out.pci), "%s", card->pci);
    (void)snprintf(out.model, sizeof(out.model), "%.127s", is.core.name);
    (void)snprintf(out.driver, sizeof(out.driver), "%.63s", is.driver);
    (void)snprintf(out.serial, sizeof(out.serial), "%.63s", is.serial);
    out.memory_mib = (int64_t)(memory.size / MIB);
    /* Subslices are what is sold as Xe cores. */
    out.compute_units =
        (int32_t)((is.core.slices & 0xFF) * (is.core.subslices & 0xFF));
    out.numa = pci_numa(zes->root, card->pci);
    *card_out = out;
    return 0;
}

static void
read_name(uint32_t pid, char *name, size_t room)
{
    char path[48];
    scoped_fd fd = -1;
    ssize_t size;

    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    size = fd < 0 ? 0 : read(fd, name, room - 1);
    name[size > 0 ? size : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
}

static int
processes(struct accel *accel, const char *part,
          struct accel_process list_out[ACCEL_PROCESSES_MAX], size_t *count_out,
          struct error *err)
{
    struct zes *zes = accel->state;
    struct card *card = find(accel, part, err);
    struct zes_process found[ACCEL_PROCESSES_MAX] = { 0 };
    uint32_t count = ACCEL_PROCESSES_MAX;
    int result;

    if (card == NULL)
        return -1;
    for (size_t i = 0; i < ACCEL_PROCESSES_MAX; i++)
        found[i].kind = ZES_KIND_PROCESS;
    result = CALL(zes, zesDeviceProcessesGetState, card->device, &count, found);
    if (result != ZES_SUCCESS)
        return fail(err, result, "zesDeviceProcessesGetState", part);
    if (count > ACCEL_PROCESSES_MAX)
        count = ACCEL_PROCESSES_MAX;
    for (uint32_t i = 0; i < count; i++) {
        list_out[i] =
            (struct accel_process){ .pid = (pid_t)found[i].pid,
                                    .used_mib =
                                        (int64_t)(found[i].memory / MIB),
                                    .instance = -1 };
        read_name(found[i].pid, list_out[i].name, sizeof(list_out[i].name));
    }
    *count_out = count;
    return 0;
}

/* Not by force: whoever is on it keeps it. */
static int
reset(struct accel *accel, const char *uuid, struct error *err)
{
    struct zes *zes = accel->state;
    struct card *card = find(accel, uuid, err);
    int result;

    if (card == NULL)
        return -1;
    result = CALL(zes, zesDeviceReset, card->device, (uint8_t)0);
    return result == ZES_SUCCESS ? 0
                                 : fail(err, result, "zesDeviceReset", uuid);
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
translate(const struct card *card, unsigned bits, struct accel_event *out,
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

static int
events(struct accel *accel, int wait_ms,
       struct accel_event list_out[ACCEL_EVENTS_MAX], size_t *count_out,
       struct error *err)
{
    struct zes *zes = accel->state;
    zes_device devices[PARTS_MAX];
    unsigned bits[PARTS_MAX] = { 0 };
    uint32_t changed = 0;
    uint32_t number = 0;
    unsigned mask = 0;
    int result;

    zes->accel = accel;
    *count_out = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        mask |= kinds[i].bit;
    for (size_t i = 0; i < zes->count && number < PARTS_MAX; i++) {
        struct card *card = &zes->cards[i];

        say_card(zes, card->uuid);
        if (!card->has_events)
            card->has_events = CALL(zes, zesDeviceEventRegister, card->device,
                                    mask) == ZES_SUCCESS;
        /* One driver is listened to: all cards are of one vendor. */
        if (card->has_events && card->driver == zes->cards[0].driver)
            devices[number++] = card->device;
    }
    if (number == 0)
        return 0;
    say_card(zes, "");
    result = CALL(zes, zesDriverEventListen, zes->cards[0].driver,
                  (uint32_t)wait_ms, number, devices, &changed, bits);
    if (result != ZES_SUCCESS)
        return fail(err, result, "zesDriverEventListen", "");
    for (uint32_t i = 0; changed > 0 && i < number; i++)
        for (size_t j = 0; j < zes->count; j++)
            if (zes->cards[j].device == devices[i])
                *count_out +=
                    translate(&zes->cards[j], bits[i], &list_out[*count_out],
                              ACCEL_EVENTS_MAX - *count_out);
    return 0;
}

static int
survey(struct accel *accel, struct accel_survey *out, struct error *err)
{
    const struct zes *zes = accel->state;

    (void)err;
    (void)snprintf(out->library, sizeof(out->library), "%s", LIBRARY);
    out->listed = zes->count;
    out->on_bus = pci_count(zes->root, VENDOR_ID);
    return 0;
}

static const char *
node_name(const struct accel *accel)
{
    (void)accel;
    return "";
}

const struct accel_ops accel_zes_ops = {
    .name = "zes",
    .open = open_backend,
    .close = close_backend,
    .node_name = node_name,
    .survey = survey,
    .list = list,
    .describe = describe,
    .health = health,
    .read = read_card,
    .processes = processes,
    .reset = reset,
    .events = events,
};
