/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's cards, through libnvidia-ml.so.1.  The library is loaded when the
 * backend is opened; each function is looked up alone.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <string.h>

#include "accel/library.h"
#include "accel/nvml_private.h"
#include "accel/pci.h"
#include "base/arena.h"

#define LIBRARY "libnvidia-ml.so.1"
#define VENDOR_ID 0x10DEU

/* --- what answers mean --- */

static const struct {
    int result;
    enum error_code code;
    const char *text;
} meanings[] = {
    { NVML_INVALID_ARGUMENT, ERROR_INVALID, "the driver refuses the request" },
    { NVML_NOT_SUPPORTED, ERROR_UNSUPPORTED, "the card cannot do it" },
    { NVML_NO_PERMISSION, ERROR_DENIED, "the driver wants more rights" },
    { NVML_NOT_FOUND, ERROR_NOT_FOUND, "there is no such thing on the card" },
    { NVML_DRIVER_NOT_LOADED, ERROR_UNSUPPORTED, "the driver is not loaded" },
    { NVML_TIMEOUT, ERROR_BUSY, "the driver gave no answer in time" },
    { NVML_FUNCTION_NOT_FOUND, ERROR_UNSUPPORTED,
      "the library has no such function" },
    { NVML_CORRUPTED_INFOROM, ERROR_VERIFY, "the card's own store is broken" },
    { NVML_GPU_IS_LOST, ERROR_GONE, "the card is lost" },
    { NVML_RESET_REQUIRED, ERROR_CONFLICT, "the card has to be reset first" },
    { NVML_OPERATING_SYSTEM, ERROR_INTERNAL,
      "the operating system refuses: device rules of this process, or the "
      "driver" },
    { NVML_LIBRARY_MISMATCH, ERROR_BUSY,
      "library and driver are of two versions" },
    { NVML_IN_USE, ERROR_CONFLICT, "somebody is on it" },
    { NVML_INSUFFICIENT_RESOURCES, ERROR_CONFLICT,
      "it does not fit beside what is there" },
    { NVML_VERSION_MISMATCH, ERROR_UNSUPPORTED,
      "the library wants another form of the request" },
    { NVML_NOT_READY, ERROR_BUSY, "the card is not ready" },
    { NVML_GPU_NOT_FOUND, ERROR_NOT_FOUND, "there is no such card" },
};

int
nvml_error(struct error *err, int result, const char *call, const char *card)
{
    const char *text = "the driver failed";
    enum error_code code = ERROR_INTERNAL;

    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
        if (meanings[i].result == result) {
            text = meanings[i].text;
            code = meanings[i].code;
        }
    (void)error_set(err, code, "%s%s%s (%s answers %d)", card,
                    card[0] != '\0' ? ": " : "", text, call, result);
    if (result == NVML_LIBRARY_MISMATCH)
        return error_help(err, "An upgrade is under way: reload the driver, "
                               "or start the node anew.");
    if (result == NVML_NO_PERMISSION)
        return error_help(err, "Run it as root.");
    return -1;
}

int
nvml_fail(const struct nvml_card *card, int result, const char *call,
          struct error *err)
{
    return nvml_error(err, result, call, card->uuid);
}

int
nvml_end(const struct nvml *nvml, const struct nvml_card *card,
         struct error *err)
{
    return nvml->lost
               ? error_set(err, ERROR_GONE, "%s: the card is lost", card->uuid)
               : 0;
}

/* --- opening --- */

static void
load(struct nvml *nvml)
{
#define NVML(symbol, arguments)                                                \
    *(void **)&nvml->fn.symbol = dlsym(nvml->library, #symbol);
#include "accel/nvml.def"
#undef NVML
}

static void
forget_samples(struct nvml *nvml)
{
    for (size_t i = 0; i < nvml->count; i++)
        if (nvml->cards[i].sample != NULL) {
            (void)NVML_CALL(nvml, nvmlGpmSampleFree, nvml->cards[i].sample);
            nvml->cards[i].sample = NULL;
        }
}

static void
close_backend(struct accel *accel)
{
    struct nvml *nvml = accel->state;

    if (nvml == NULL)
        return;
    nvml->accel = accel;
    if (nvml->library != NULL) {
        forget_samples(nvml);
        nvml_events_close(nvml);
        (void)NVML_CALL0(nvml, nvmlShutdown);
        (void)dlclose(nvml->library);
    }
    free(nvml->root);
    free(nvml);
    accel->state = NULL;
}

static int
open_library(struct nvml *nvml, const char *directory, struct error *err)
{
    int result;

    nvml->library = library_open(directory, LIBRARY, "NVIDIA's driver", err);
    if (nvml->library == NULL)
        return -1;
    load(nvml);
    result = NVML_CALL0(nvml, nvmlInit_v2);
    if (result != NVML_SUCCESS)
        return nvml_error(err, result, "nvmlInit_v2", "");
    (void)NVML_CALL(nvml, nvmlSystemGetDriverVersion, nvml->driver,
                    (unsigned)sizeof(nvml->driver));
    return 0;
}

static int
open_backend(struct accel *accel, const char *source, const char *state_dir,
             struct error *err)
{
    struct nvml *nvml = memory_new(1, sizeof(*nvml));

    (void)state_dir;
    nvml->accel = accel;
    nvml->root = memory_strdup(source != NULL ? source : "");
    accel->state = nvml;
    if (open_library(nvml, source, err) != 0) {
        close_backend(accel);
        return -1;
    }
    return 0;
}

/* --- which cards --- */

bool
nvml_may(const struct nvml *nvml, const char *call, const char *card)
{
    const struct accel *accel = nvml->accel;

    for (size_t i = 0; i < accel->watch.mute_count; i++)
        if (strcmp(accel->watch.mute[i].card, card) == 0 &&
            (call[0] == '\0' || strcmp(accel->watch.mute[i].call, call) == 0))
            return false;
    return true;
}

void
nvml_address(const struct nvml_pci *pci, char out[24])
{
    const char *text = pci->address;

    if (strnlen(text, sizeof(pci->address)) == 16 &&
        strncmp(text, "0000", 4) == 0)
        text += 4;
    (void)snprintf(out, 24, "%.23s", text);
    for (char *at = out; *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
}

/* Between its handle and its UUID a card has no other name than "#index",
 * which is good for one look only. */
static int
look_at(struct nvml *nvml, unsigned index, struct nvml_card *out)
{
    struct nvml_pci pci = { 0 };
    char key[16];
    int result;

    (void)snprintf(key, sizeof(key), "#%u", index);
    if (!nvml_may(nvml, "", key))
        return NVML_TIMEOUT;
    library_say(nvml->accel, key);
    result =
        NVML_CALL(nvml, nvmlDeviceGetHandleByIndex_v2, index, &out->device);
    if (result == NVML_SUCCESS)
        result = NVML_CALL(nvml, nvmlDeviceGetUUID, out->device, out->uuid,
                           (unsigned)sizeof(out->uuid));
    if (result == NVML_SUCCESS)
        result = NVML_CALL(nvml, nvmlDeviceGetPciInfo_v3, out->device, &pci);
    if (result == NVML_SUCCESS)
        nvml_address(&pci, out->pci);
    return result;
}

/* A card that was known keeps what is kept about it. */
static void
keep(struct nvml *nvml, const struct nvml_card *fresh, size_t seen)
{
    struct nvml_card *spare = &nvml->cards[seen];

    for (size_t i = seen; i < nvml->count; i++)
        if (strcmp(nvml->cards[i].uuid, fresh->uuid) == 0) {
            struct nvml_card known = nvml->cards[i];

            nvml->cards[i] = *spare;
            known.device = fresh->device;
            (void)snprintf(known.pci, sizeof(known.pci), "%s", fresh->pci);
            *spare = known;
            return;
        }
    /* What stood there moves behind. */
    if (nvml->count < ACCEL_CARDS_MAX)
        nvml->cards[nvml->count++] = *spare;
    *spare = *fresh;
}

int
nvml_look(struct nvml *nvml, struct error *err)
{
    unsigned count = 0;
    size_t seen = 0;
    size_t refused = 0;
    int last = NVML_SUCCESS;
    int result;

    library_say(nvml->accel, "");
    result = NVML_CALL(nvml, nvmlDeviceGetCount_v2, &count);
    if (result != NVML_SUCCESS)
        return nvml_error(err, result, "nvmlDeviceGetCount_v2", "");
    for (unsigned i = 0; i < count && seen < ACCEL_CARDS_MAX; i++) {
        struct nvml_card fresh = { 0 };

        result = look_at(nvml, i, &fresh);
        if (result == NVML_SUCCESS) {
            keep(nvml, &fresh, seen++);
            continue;
        }
        last = result;
        refused++;
    }
    for (size_t i = seen; i < nvml->count; i++)
        if (nvml->cards[i].sample != NULL)
            (void)NVML_CALL(nvml, nvmlGpmSampleFree, nvml->cards[i].sample);
    nvml->count = seen;
    /* All at once is the fault of whoever asks, or of the driver. */
    if (seen == 0 && refused > 0 && last != NVML_GPU_IS_LOST &&
        last != NVML_TIMEOUT)
        return nvml_error(err, last, "nvmlDeviceGetHandleByIndex_v2", "");
    return 0;
}

static struct library_cards
cards_of(const struct nvml *nvml)
{
    return (struct library_cards){ nvml->cards[0].uuid, sizeof(nvml->cards[0]),
                                   nvml->count };
}

static struct nvml_card *
known(struct nvml *nvml, const char *part)
{
    size_t i = library_find(cards_of(nvml), part, strcspn(part, "/"));

    return i < nvml->count ? &nvml->cards[i] : NULL;
}

struct nvml_card *
nvml_find(struct accel *accel, const char *part, struct error *err)
{
    struct nvml *nvml = accel->state;
    struct nvml_card *card;

    nvml->accel = accel;
    card = known(nvml, part);
    if (card == NULL) {
        if (nvml_look(nvml, err) != 0)
            return NULL;
        card = known(nvml, part);
    }
    if (card == NULL) {
        (void)error_set(err, ERROR_NOT_FOUND, "there is no card %.40s", part);
        return NULL;
    }
    library_say(nvml->accel, card->uuid);
    nvml->lost = false;
    return card;
}

static int
list(struct accel *accel, struct arena *arena, const char *const **uuids_out,
     size_t *count_out, struct error *err)
{
    struct nvml *nvml = accel->state;

    nvml->accel = accel;
    if (nvml_look(nvml, err) != 0)
        return -1;
    library_list(cards_of(nvml), arena, uuids_out, count_out);
    return 0;
}

/* --- what a card is --- */

static void
describe_arch(struct nvml *nvml, const struct nvml_card *card,
              struct accel_card *out)
{
    static const struct {
        unsigned number;
        const char *name;
    } names[] = { { 2, "kepler" }, { 3, "maxwell" }, { 4, "pascal" },
                  { 5, "volta" },  { 6, "turing" },  { 7, "ampere" },
                  { 8, "ada" },    { 9, "hopper" },  { 10, "blackwell" },
                  { 13, "rubin" } };
    unsigned number = 0;
    int major_number = 0;
    int minor_number = 0;
    const char *name = "";

    if (NVML_CALL(nvml, nvmlDeviceGetArchitecture, card->device, &number) ==
        NVML_SUCCESS)
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            if (names[i].number == number)
                name = names[i].name;
    (void)snprintf(out->arch, sizeof(out->arch), "%s", name);
    if (NVML_CALL(nvml, nvmlDeviceGetCudaComputeCapability, card->device,
                  &major_number, &minor_number) == NVML_SUCCESS)
        (void)snprintf(out->arch, sizeof(out->arch), "%s%ssm_%d%d", name,
                       name[0] != '\0' ? " " : "", major_number, minor_number);
}

/* The newest CUDA that the driver serves. */
static void
describe_runtime(struct nvml *nvml, char runtime[32])
{
    int cuda = 0;

    if (NVML_CALL(nvml, nvmlSystemGetCudaDriverVersion_v2, &cuda) ==
        NVML_SUCCESS)
        (void)snprintf(runtime, 32, "CUDA %d.%d", cuda / 1000,
                       cuda % 1000 / 10);
}

static void
describe_texts(struct nvml *nvml, const struct nvml_card *card,
               struct accel_card *out)
{
    char name[96] = "";
    char rom[32] = "";
    char store[16] = "";

    if (NVML_CALL(nvml, nvmlDeviceGetName, card->device, name,
                  (unsigned)sizeof(name)) != NVML_SUCCESS)
        (void)snprintf(name, sizeof(name), "unknown");
    (void)snprintf(out->model, sizeof(out->model), "%s", name);
    (void)NVML_CALL(nvml, nvmlDeviceGetSerial, card->device, out->serial,
                    (unsigned)sizeof(out->serial) - 1);
    (void)NVML_CALL(nvml, nvmlDeviceGetVbiosVersion, card->device, rom,
                    (unsigned)sizeof(rom));
    (void)NVML_CALL(nvml, nvmlDeviceGetInforomImageVersion, card->device, store,
                    (unsigned)sizeof(store));
    (void)snprintf(out->firmware, sizeof(out->firmware), "%s%s%s", rom,
                   store[0] != '\0' ? " " : "", store);
    (void)snprintf(out->driver, sizeof(out->driver), "%s", nvml->driver);
}

/* The node of the memory that is nearest, where the machine's files say
 * nothing. */
static int32_t
numa_of(struct nvml *nvml, const struct nvml_card *card)
{
    unsigned long set[4] = { 0 };
    int32_t node = pci_numa(nvml->root, card->pci);

    if (node >= 0 || NVML_CALL(nvml, nvmlDeviceGetMemoryAffinity, card->device,
                               4U, set, 0U) != NVML_SUCCESS)
        return node;
    for (int i = 0; i < 256; i++)
        if ((set[i / 64] >> (i % 64) & 1) != 0)
            return i;
    return -1;
}

static int64_t
memory_of(struct nvml *nvml, const struct nvml_card *card)
{
    struct nvml_memory_v2 memory = { .version =
                                         NVML_WORD(struct nvml_memory_v2, 2) };
    struct nvml_memory old = { 0 };

    if (nvml_is_older(NVML_CALL(nvml, nvmlDeviceGetMemoryInfo_v2, card->device,
                                &memory))) {
        (void)NVML_CALL(nvml, nvmlDeviceGetMemoryInfo, card->device, &old);
        memory.total = old.total;
    }
    return (int64_t)(memory.total / 1048576);
}

/* Multiprocessors, from the profile that is the whole card. */
static int32_t
units_of(struct nvml *nvml, const struct nvml_card *card)
{
    unsigned best = 0;

    for (unsigned i = 0; i < 18; i++) {
        struct nvml_profile_v2 profile = { .version = NVML_WORD(
                                               struct nvml_profile_v2, 2) };
        int result = NVML_CALL(nvml, nvmlDeviceGetGpuInstanceProfileInfoV,
                               card->device, i, &profile);

        if (result == NVML_INVALID_ARGUMENT ||
            result == NVML_FUNCTION_NOT_FOUND)
            break;
        if (result == NVML_SUCCESS && profile.units > best)
            best = profile.units;
    }
    return (int32_t)best;
}

static int
describe(struct accel *accel, const char *uuid, struct accel_card *card_out,
         struct error *err)
{
    struct nvml *nvml = accel->state;
    struct nvml_card *card = nvml_find(accel, uuid, err);
    struct accel_card out = { .numa = -1, .island = -1, .vendor = "nvidia" };

    if (card == NULL)
        return -1;
    (void)snprintf(out.uuid, sizeof(out.uuid), "%s", card->uuid);
    (void)snprintf(out.pci, sizeof(out.pci), "%s", card->pci);
    out.memory_mib = memory_of(nvml, card);
    describe_texts(nvml, card, &out);
    describe_arch(nvml, card, &out);
    describe_runtime(nvml, out.runtime);
    out.compute_units = units_of(nvml, card);
    out.numa = numa_of(nvml, card);
    nvml_fabric(nvml, card, &out, NULL);
    nvml_links(nvml, card, &out);
    if (nvml_end(nvml, card, err) != 0)
        return -1;
    *card_out = out;
    return 0;
}

/* What the driver left out when it loaded, and what the bus has and the
 * library does not list. */
static int
survey(struct accel *accel, struct accel_survey *out, struct error *err)
{
    struct nvml *nvml = accel->state;
    struct nvml_confidential state = { 0 };
    struct nvml_branch branch = { .version = NVML_WORD(struct nvml_branch, 1) };
    unsigned excluded = 0;

    nvml->accel = accel;
    (void)err;
    (void)snprintf(out->driver, sizeof(out->driver), "%s", nvml->driver);
    (void)NVML_CALL(nvml, nvmlSystemGetNVMLVersion, out->library,
                    (unsigned)sizeof(out->library));
    describe_runtime(nvml, out->runtime);
    if (NVML_CALL(nvml, nvmlSystemGetDriverBranch, &branch,
                  (unsigned)sizeof(branch.branch)) == NVML_SUCCESS)
        (void)snprintf(out->branch, sizeof(out->branch), "%.63s",
                       branch.branch);
    out->confidential = NVML_CALL(nvml, nvmlSystemGetConfComputeState,
                                  &state) == NVML_SUCCESS &&
                        state.feature != 0;
    if (NVML_CALL(nvml, nvmlGetExcludedDeviceCount, &excluded) == NVML_SUCCESS)
        for (unsigned i = 0; i < excluded && out->excluded < 8; i++) {
            struct nvml_excluded card = { 0 };

            if (NVML_CALL(nvml, nvmlGetExcludedDeviceInfoByIndex, i, &card) ==
                NVML_SUCCESS)
                nvml_address(&card.pci, out->excluded_pci[out->excluded++]);
        }
    out->listed = nvml->count;
    out->on_bus = pci_count(nvml->root, VENDOR_ID);
    return 0;
}

const struct accel_ops accel_nvml_ops = {
    .name = "nvml",
    .open = open_backend,
    .close = close_backend,
    .node_name = library_node_name,
    .survey = survey,
    .list = list,
    .describe = describe,
    .health = nvml_health,
    .processes = nvml_processes,
    .nodes = nvml_nodes,
    .settle = nvml_settle,
    .cut = nvml_cut,
    .slice_create = nvml_slice_create,
    .slice_destroy = nvml_slice_destroy,
    .slices = nvml_slices,
    .read = nvml_read,
    .usage = nvml_usage,
    .events = nvml_events,
};
