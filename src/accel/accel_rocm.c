/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMD's cards, through librocm_smi64.so.1.  What that library does not tell
 * (compute units, architecture, how a card is partitioned) is read from the
 * kernel's files.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <string.h>

#include "accel/library.h"
#include "accel/pci.h"
#include "accel/rocm_private.h"
#include "base/arena.h"

#define LIBRARY "librocm_smi64.so.1"
#define VENDOR_ID 0x1002U

int
rocm_error(struct error *err, int status, const char *call, const char *card)
{
    static const struct {
        int status;
        enum error_code code;
        const char *text;
    } meanings[] = {
        { RSMI_INVALID_ARGS, ERROR_INVALID, "the library refuses it" },
        { RSMI_NOT_SUPPORTED, ERROR_UNSUPPORTED, "the card cannot do it" },
        { RSMI_FILE_ERROR, ERROR_INTERNAL, "the kernel's file is not there" },
        { RSMI_PERMISSION, ERROR_DENIED, "the driver wants more rights" },
        { RSMI_INIT_ERROR, ERROR_UNSUPPORTED, "the driver is not loaded" },
        { RSMI_NOT_YET_IMPLEMENTED, ERROR_UNSUPPORTED,
          "the library cannot do it" },
        { RSMI_NOT_FOUND, ERROR_NOT_FOUND, "there is no such thing" },
        { RSMI_BUSY, ERROR_BUSY, "the card is busy" },
        { RSMI_MISSING, ERROR_UNSUPPORTED, "the library has no such function" },
    };
    const char *text = "the library failed";
    enum error_code code = ERROR_INTERNAL;

    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
        if (meanings[i].status == status) {
            text = meanings[i].text;
            code = meanings[i].code;
        }
    return error_set(err, code, "%s%s%s (%s answers %d)", card,
                     card[0] != '\0' ? ": " : "", text, call, status);
}

/* --- opening --- */

static void
close_backend(struct accel *accel)
{
    struct rocm *rocm = accel->state;

    if (rocm == NULL)
        return;
    rocm->accel = accel;
    if (rocm->library != NULL) {
        for (size_t i = 0; i < rocm->count; i++)
            if (rocm->cards[i].has_events)
                (void)ROCM_CALL(rocm, rsmi_event_notification_stop,
                                rocm->cards[i].number);
        if (rocm->open && rocm->fn.rsmi_shut_down != NULL) {
            rocm_enter(rocm, "rsmi_shut_down");
            (void)rocm->fn.rsmi_shut_down();
        }
        (void)dlclose(rocm->library);
    }
    free(rocm->root);
    free(rocm);
    accel->state = NULL;
}

static int
open_library(struct rocm *rocm, const char *directory, struct error *err)
{
    int status;

    rocm->library = library_open(directory, LIBRARY, "AMD's ROCm", err);
    if (rocm->library == NULL)
        return -1;
#define RSMI(symbol, arguments)                                                \
    *(void **)&rocm->fn.symbol = dlsym(rocm->library, #symbol);
#include "accel/rsmi.def"
#undef RSMI
    status = ROCM_CALL(rocm, rsmi_init, (uint64_t)0);
    if (status != RSMI_SUCCESS)
        return rocm_error(err, status, "rsmi_init", "");
    rocm->open = true;
    (void)ROCM_CALL(rocm, rsmi_version_str_get, (unsigned)RSMI_COMPONENT_DRIVER,
                    rocm->driver, (uint32_t)sizeof(rocm->driver));
    return 0;
}

static int
open_backend(struct accel *accel, const char *source, const char *state_dir,
             struct error *err)
{
    struct rocm *rocm = memory_new(1, sizeof(*rocm));

    (void)state_dir;
    rocm->accel = accel;
    rocm->root = memory_strdup(source != NULL ? source : "");
    accel->state = rocm;
    if (open_library(rocm, source, err) != 0) {
        close_backend(accel);
        return -1;
    }
    return 0;
}

/* --- which cards --- */

static bool
may(const struct rocm *rocm, const char *card)
{
    const struct accel_watch *watch = &rocm->accel->watch;

    for (size_t i = 0; i < watch->mute_count; i++)
        if (strcmp(watch->mute[i].card, card) == 0 && !watch->mute[i].pair)
            return false;
    return true;
}

/* Domain in the upper half, then bus, device, function. */
static void
put_address(uint64_t id, char out[24])
{
    (void)snprintf(out, 24, "%04x:%02x:%02x.%x", (unsigned)(id >> 32 & 0xFFFF),
                   (unsigned)(id >> 8 & 0xFF), (unsigned)(id >> 3 & 0x1F),
                   (unsigned)(id & 0x7));
}

/* A card without a number of its own is known by its address. */
static int
look_at(struct rocm *rocm, uint32_t number, struct rocm_card *out)
{
    uint64_t id = 0;
    char key[16];
    int status;

    (void)snprintf(key, sizeof(key), "#%" PRIu32, number);
    if (!may(rocm, key))
        return RSMI_BUSY;
    library_say(rocm->accel, key);
    out->number = number;
    status = ROCM_CALL(rocm, rsmi_dev_pci_id_get, number, &id);
    if (status != RSMI_SUCCESS)
        return status;
    put_address(id, out->pci);
    if (ROCM_CALL(rocm, rsmi_dev_unique_id_get, number, &out->id) ==
            RSMI_SUCCESS &&
        out->id != 0)
        (void)snprintf(out->uuid, sizeof(out->uuid), "GPU-%016" PRIx64,
                       out->id);
    else
        (void)snprintf(out->uuid, sizeof(out->uuid), "AMD-%s", out->pci);
    return RSMI_SUCCESS;
}

static int
look(struct rocm *rocm, struct error *err)
{
    uint32_t count = 0;
    int status;

    library_say(rocm->accel, "");
    status = ROCM_CALL(rocm, rsmi_num_monitor_devices, &count);
    if (status != RSMI_SUCCESS)
        return rocm_error(err, status, "rsmi_num_monitor_devices", "");
    rocm->count = 0;
    for (uint32_t i = 0; i < count && rocm->count < ACCEL_CARDS_MAX; i++) {
        struct rocm_card fresh = { 0 };

        if (look_at(rocm, i, &fresh) != RSMI_SUCCESS)
            continue;
        for (size_t j = 0; j < rocm->event_count; j++)
            fresh.has_events |= strcmp(rocm->events[j], fresh.uuid) == 0;
        rocm->cards[rocm->count++] = fresh;
    }
    return 0;
}

static struct library_cards
cards_of(const struct rocm *rocm)
{
    return (struct library_cards){ rocm->cards[0].uuid, sizeof(rocm->cards[0]),
                                   rocm->count };
}

static struct rocm_card *
known(struct rocm *rocm, const char *part)
{
    size_t i = library_find(cards_of(rocm), part, strlen(part));

    return i < rocm->count ? &rocm->cards[i] : NULL;
}

struct rocm_card *
rocm_find(struct accel *accel, const char *part, struct error *err)
{
    struct rocm *rocm = accel->state;
    struct rocm_card *card;

    rocm->accel = accel;
    card = known(rocm, part);
    if (card == NULL && look(rocm, err) != 0)
        return NULL;
    card = known(rocm, part);
    if (card == NULL)
        (void)error_set(err, ERROR_NOT_FOUND, "there is no card %.40s", part);
    else
        library_say(rocm->accel, card->uuid);
    return card;
}

static int
list(struct accel *accel, struct arena *arena, const char *const **uuids_out,
     size_t *count_out, struct error *err)
{
    struct rocm *rocm = accel->state;

    rocm->accel = accel;
    if (look(rocm, err) != 0)
        return -1;
    library_list(cards_of(rocm), arena, uuids_out, count_out);
    return 0;
}

/* --- what a card is --- */

/* "key value" of one of the kernel's lists of nodes; -1: not there. */
static int64_t
property(const char *text, const char *key)
{
    size_t size = strlen(key);

    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, key, size) == 0 && line[size] == ' ')
            return (int64_t)strtoull(line + size + 1, NULL, 10);
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return -1;
}

/* 90010 is gfx90a: two digits for all but the last, which is one of hex. */
static void
put_arch(int64_t version, char *out, size_t room)
{
    if (version > 0)
        (void)snprintf(out, room, "gfx%" PRId64 "%" PRIx64 "%" PRIx64,
                       version / 10000, version / 100 % 100, version % 100);
}

static void
describe_kernel(const struct rocm *rocm, const struct rocm_card *card,
                struct accel_card *out)
{
    for (int i = 0; i < 256; i++) {
        char path[320];
        char text[4096];
        int64_t units, lanes;

        (void)snprintf(path, sizeof(path),
                       "/sys/class/kfd/kfd/topology/nodes/%d/properties", i);
        if (!rocm_text(rocm, path, text, sizeof(text)))
            break;
        if (card->id == 0 || (uint64_t)property(text, "unique_id") != card->id)
            continue;
        units = property(text, "simd_count");
        lanes = property(text, "simd_per_cu");
        if (units > 0 && lanes > 0)
            out->compute_units = (int32_t)(units / lanes);
        put_arch(property(text, "gfx_target_version"), out->arch,
                 sizeof(out->arch));
    }
}

static void
describe_links(struct rocm *rocm, const struct rocm_card *card,
               struct accel_card *out)
{
    for (size_t i = 0; i < rocm->count; i++) {
        const struct rocm_card *other = &rocm->cards[i];
        struct accel_link *link = &out->links[out->link_count];
        uint64_t hops = 0;
        unsigned kind = 0;

        if (other == card || out->link_count == ACCEL_LINKS_MAX ||
            ROCM_CALL(rocm, rsmi_topo_get_link_type, card->number,
                      other->number, &hops, &kind) != RSMI_SUCCESS)
            continue;
        *link =
            (struct accel_link){ .lanes = kind == RSMI_LINK_XGMI, .level = -1 };
        (void)snprintf(link->uuid, sizeof(link->uuid), "%s", other->uuid);
        (void)snprintf(link->kind, sizeof(link->kind), "%s",
                       kind == RSMI_LINK_XGMI ? "xgmi" : "pcie");
        out->link_count++;
    }
}

static int
describe(struct accel *accel, const char *uuid, struct accel_card *card_out,
         struct error *err)
{
    struct rocm *rocm = accel->state;
    const struct rocm_card *card = rocm_find(accel, uuid, err);
    struct accel_card out = { .numa = -1, .island = -1, .vendor = "amd" };
    uint64_t memory = 0;
    uint32_t node = 0;
    int status;

    if (card == NULL)
        return -1;
    (void)snprintf(out.uuid, sizeof(out.uuid), "%s", card->uuid);
    (void)snprintf(out.pci, sizeof(out.pci), "%s", card->pci);
    (void)snprintf(out.driver, sizeof(out.driver), "%s", rocm->driver);
    status = ROCM_CALL(rocm, rsmi_dev_memory_total_get, card->number,
                       (unsigned)RSMI_MEMORY_VRAM, &memory);
    if (status != RSMI_SUCCESS)
        return rocm_error(err, status, "rsmi_dev_memory_total_get", card->uuid);
    out.memory_mib = (int64_t)(memory / 1048576);
    if (ROCM_CALL(rocm, rsmi_dev_name_get, card->number, out.model,
                  sizeof(out.model)) != RSMI_SUCCESS)
        (void)snprintf(out.model, sizeof(out.model), "unknown");
    (void)ROCM_CALL(rocm, rsmi_dev_serial_number_get, card->number, out.serial,
                    (uint32_t)sizeof(out.serial));
    (void)ROCM_CALL(rocm, rsmi_dev_vbios_version_get, card->number,
                    out.firmware, (uint32_t)sizeof(out.firmware));
    out.numa = pci_numa(rocm->root, card->pci);
    if (out.numa < 0 &&
        ROCM_CALL(rocm, rsmi_topo_numa_affinity_get, card->number, &node) ==
            RSMI_SUCCESS &&
        node < 4096)
        out.numa = (int32_t)node;
    describe_kernel(rocm, card, &out);
    describe_links(rocm, card, &out);
    *card_out = out;
    return 0;
}

static int
survey(struct accel *accel, struct accel_survey *out, struct error *err)
{
    struct rocm *rocm = accel->state;

    (void)err;
    rocm->accel = accel;
    (void)snprintf(out->driver, sizeof(out->driver), "%s", rocm->driver);
    (void)snprintf(out->library, sizeof(out->library), "%s", LIBRARY);
    out->listed = rocm->count;
    out->on_bus = pci_count(rocm->root, VENDOR_ID);
    return 0;
}

const struct accel_ops accel_rocm_ops = {
    .name = "rocm",
    .open = open_backend,
    .close = close_backend,
    .node_name = library_node_name,
    .survey = survey,
    .list = list,
    .describe = describe,
    .health = rocm_health,
    .read = rocm_read,
    .processes = rocm_processes,
    .nodes = rocm_nodes,
    .settle = rocm_settle,
    .reset = rocm_reset,
    .scrub = rocm_scrub,
    .events = rocm_events,
};
