/* SPDX-License-Identifier: Apache-2.0 */
/* Intel's cards, through the system management part of libze_loader.so.1. */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "accel/library.h"
#include "accel/pci.h"
#include "accel/zes_private.h"
#include "base/arena.h"
#include "base/file.h"

#define LIBRARY "libze_loader.so.1"
#define VENDOR_ID 0x8086U
#define MIB 1048576U

int
zes_fail(struct error *err, int result, const char *call, const char *card)
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
    int result;

    (void)setenv("ZES_ENABLE_SYSMAN", "1", 1);
    zes->library = library_open(directory, LIBRARY, "Intel's Level Zero", err);
    if (zes->library == NULL)
        return -1;
#define ZES(symbol, arguments)                                                 \
    *(void **)&zes->fn.symbol = dlsym(zes->library, #symbol);
#include "accel/zes.def"
#undef ZES
    result = ZES_CALL(zes, zeInit, 0U);
    return result == ZES_SUCCESS ? 0 : zes_fail(err, result, "zeInit", "");
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
look_at(struct zes *zes, unsigned number, struct zes_card *card)
{
    struct zes_properties properties = { .kind = ZES_KIND_DEVICE,
                                         .core.kind = ZES_KIND_CORE };
    struct zes_pci pci = { .kind = ZES_KIND_PCI };
    char key[16];
    int result;

    (void)snprintf(key, sizeof(key), "#%u", number);
    if (!may(zes, key))
        return ZES_NOT_AVAILABLE;
    library_say(zes->accel, key);
    result = ZES_CALL(zes, zesDeviceGetProperties, card->device, &properties);
    if (result == ZES_SUCCESS)
        result = ZES_CALL(zes, zesDevicePciGetProperties, card->device, &pci);
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
keep(struct zes *zes, const struct zes_card *before, size_t count,
     struct zes_card *fresh)
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
    struct zes_card *before;
    zes_driver drivers[8];
    uint32_t driver_count = 8;
    int result;
    unsigned number = 0;

    library_say(zes->accel, "");
    result = ZES_CALL(zes, zeDriverGet, &driver_count, drivers);
    if (result != ZES_SUCCESS)
        return zes_fail(err, result, "zeDriverGet", "");
    before = memory_new(before_count + 1, sizeof(*before));
    memcpy(before, zes->cards, before_count * sizeof(*before));
    zes->count = 0;
    for (uint32_t i = 0; i < driver_count && i < 8; i++) {
        zes_device devices[ZES_PARTS_MAX];
        uint32_t count = ZES_PARTS_MAX;

        library_say(zes->accel, "");
        if (ZES_CALL(zes, zeDeviceGet, drivers[i], &count, devices) !=
            ZES_SUCCESS)
            continue;
        for (uint32_t j = 0; j < count && j < ZES_PARTS_MAX; j++, number++) {
            struct zes_card fresh = { .device = devices[j],
                                      .driver = drivers[i] };

            if (zes->count < ACCEL_CARDS_MAX &&
                look_at(zes, number, &fresh) == ZES_SUCCESS)
                keep(zes, before, before_count, &fresh);
        }
    }
    free(before);
    return 0;
}

static struct library_cards
cards_of(const struct zes *zes)
{
    return (struct library_cards){ zes->cards[0].uuid, sizeof(zes->cards[0]),
                                   zes->count };
}

static struct zes_card *
known(struct zes *zes, const char *part)
{
    size_t i = library_find(cards_of(zes), part, strlen(part));

    return i < zes->count ? &zes->cards[i] : NULL;
}

struct zes_card *
zes_find(struct accel *accel, const char *part, struct error *err)
{
    struct zes *zes = accel->state;
    struct zes_card *card;

    zes->accel = accel;
    card = known(zes, part);
    if (card == NULL && look(zes, err) != 0)
        return NULL;
    card = known(zes, part);
    if (card == NULL)
        (void)error_set(err, ERROR_NOT_FOUND, "there is no card %.40s", part);
    else
        library_say(zes->accel, card->uuid);
    return card;
}

static int
list(struct accel *accel, struct arena *arena, const char *const **uuids_out,
     size_t *count_out, struct error *err)
{
    struct zes *zes = accel->state;

    zes->accel = accel;
    if (look(zes, err) != 0)
        return -1;
    library_list(cards_of(zes), arena, uuids_out, count_out);
    return 0;
}

/* --- what a card is, who is on it --- */

static int
describe(struct accel *accel, const char *uuid, struct accel_card *card_out,
         struct error *err)
{
    struct zes *zes = accel->state;
    struct zes_card *card = zes_find(accel, uuid, err);
    struct zes_properties is = { .kind = ZES_KIND_DEVICE,
                                 .core.kind = ZES_KIND_CORE };
    struct accel_card out = { .numa = -1, .island = -1, .vendor = "intel" };
    struct zes_sum memory = { 0 };
    int result;

    if (card == NULL)
        return -1;
    result = ZES_CALL(zes, zesDeviceGetProperties, card->device, &is);
    if (result != ZES_SUCCESS)
        return zes_fail(err, result, "zesDeviceGetProperties", uuid);
    result = zes_memory_of(zes, card, &memory);
    if (result != ZES_SUCCESS)
        return zes_fail(err, result, "zesDeviceEnumMemoryModules", uuid);
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
    struct zes_card *card = zes_find(accel, part, err);
    struct zes_process found[ACCEL_PROCESSES_MAX] = { 0 };
    uint32_t count = ACCEL_PROCESSES_MAX;
    int result;

    if (card == NULL)
        return -1;
    for (size_t i = 0; i < ACCEL_PROCESSES_MAX; i++)
        found[i].kind = ZES_KIND_PROCESS;
    result =
        ZES_CALL(zes, zesDeviceProcessesGetState, card->device, &count, found);
    if (result != ZES_SUCCESS)
        return zes_fail(err, result, "zesDeviceProcessesGetState", part);
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
    struct zes_card *card = zes_find(accel, uuid, err);
    int result;

    if (card == NULL)
        return -1;
    result = ZES_CALL(zes, zesDeviceReset, card->device, (uint8_t)0);
    return result == ZES_SUCCESS
               ? 0
               : zes_fail(err, result, "zesDeviceReset", uuid);
}

/* The library gives a card back when its reset is done, and as new. */
static int
scrub(struct accel *accel, const char *uuid, struct accel_scrub *done_out,
      struct error *err)
{
    struct accel_process list_out[ACCEL_PROCESSES_MAX];
    size_t count = 0;

    if (processes(accel, uuid, list_out, &count, err) != 0)
        return -1;
    if (count > 0)
        return error_set(err, ERROR_CONFLICT, "%zu processes are on card %s",
                         count, uuid);
    if (reset(accel, uuid, err) != 0)
        return -1;
    *done_out = (struct accel_scrub){ .method = "reset by the vendor's library" };
    return 0;
}

/* Its render node: the other one is for whoever governs the card. */
static int
nodes(struct accel *accel, const char *part,
      struct accel_node nodes_out[ACCEL_NODES_MAX], size_t *count_out,
      struct error *err)
{
    const struct zes *zes = accel->state;
    const struct zes_card *card = zes_find(accel, part, err);
    int32_t minor = card != NULL ? pci_render(zes->root, card->pci) : -1;

    if (card == NULL)
        return -1;
    if (minor < 0)
        return error_set(err, ERROR_UNSUPPORTED,
                         "the kernel has no render node for card %s",
                         card->uuid);
    nodes_out[0] = (struct accel_node){ .kind = ACCEL_DEVICE,
                                        .major = 226,
                                        .minor = (unsigned)minor,
                                        .plain = true };
    (void)snprintf(nodes_out[0].name, sizeof(nodes_out[0].name),
                   "dri/renderD%d", minor);
    *count_out = 1;
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

const struct accel_ops accel_zes_ops = {
    .name = "zes",
    .open = open_backend,
    .close = close_backend,
    .node_name = library_node_name,
    .survey = survey,
    .list = list,
    .describe = describe,
    .health = zes_health,
    .read = zes_read,
    .processes = processes,
    .nodes = nodes,
    .reset = reset,
    .scrub = scrub,
    .events = zes_events,
};
