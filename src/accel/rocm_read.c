/* SPDX-License-Identifier: Apache-2.0 */
/* What AMD's cards measure, who is on them, and what happens to them. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "accel/pci.h"
#include "accel/rocm_private.h"
#include "base/file.h"

#define MIB 1048576U

bool
rocm_text(const struct rocm *rocm, const char *path, char *out, size_t room)
{
    char full[512];
    scoped_fd fd = -1;
    ssize_t size;

    (void)snprintf(full, sizeof(full), "%s%s", rocm->root, path);
    fd = open(full, O_RDONLY | O_CLOEXEC);
    size = fd < 0 ? -1 : read(fd, out, room - 1);
    out[size > 0 ? size : 0] = '\0';
    return size > 0;
}

static void
put(struct accel_reading *out, enum accel_item item, uint64_t value)
{
    if (value <= (uint64_t)INT64_MAX)
        accel_reading_set(out, item, (int64_t)value);
}

static void
read_memory(struct rocm *rocm, uint32_t number, struct accel_reading *out)
{
    uint64_t value = 0;
    uint32_t percent = 0;

    if (ROCM_CALL(rocm, rsmi_dev_memory_total_get, number,
                  (unsigned)RSMI_MEMORY_VRAM, &value) == RSMI_SUCCESS)
        put(out, ACCEL_MEMORY_TOTAL, value / MIB);
    if (ROCM_CALL(rocm, rsmi_dev_memory_usage_get, number,
                  (unsigned)RSMI_MEMORY_VRAM, &value) == RSMI_SUCCESS)
        put(out, ACCEL_MEMORY_USED, value / MIB);
    if (ROCM_CALL(rocm, rsmi_dev_busy_percent_get, number, &percent) ==
        RSMI_SUCCESS)
        put(out, ACCEL_BUSY, percent * UINT64_C(10));
    if (ROCM_CALL(rocm, rsmi_dev_memory_busy_percent_get, number, &percent) ==
        RSMI_SUCCESS)
        put(out, ACCEL_MEMORY_BUSY, percent * UINT64_C(10));
}

/* Power comes in microwatts, energy in steps of so many microjoules. */
static void
read_power(struct rocm *rocm, uint32_t number, struct accel_reading *out)
{
    uint64_t value = 0;
    uint64_t least = 0;
    uint64_t time_ns = 0;
    float step = 0;

    if (ROCM_CALL(rocm, rsmi_dev_power_ave_get, number, 0U, &value) ==
        RSMI_SUCCESS)
        put(out, ACCEL_POWER, value / 1000);
    if (ROCM_CALL(rocm, rsmi_dev_power_cap_get, number, 0U, &value) ==
        RSMI_SUCCESS)
        put(out, ACCEL_POWER_LIMIT, value / 1000);
    if (ROCM_CALL(rocm, rsmi_dev_power_cap_default_get, number, &value) ==
        RSMI_SUCCESS)
        put(out, ACCEL_POWER_DEFAULT, value / 1000);
    if (ROCM_CALL(rocm, rsmi_dev_power_cap_range_get, number, 0U, &value,
                  &least) == RSMI_SUCCESS) {
        put(out, ACCEL_POWER_MAX, value / 1000);
        put(out, ACCEL_POWER_MIN, least / 1000);
    }
    if (ROCM_CALL(rocm, rsmi_dev_energy_count_get, number, &value, &step,
                  &time_ns) == RSMI_SUCCESS &&
        step > 0 && value < UINT64_C(1) << 53)
        put(out, ACCEL_ENERGY,
            (uint64_t)((double)value * (double)step / 1000.0));
}

static void
read_heat(struct rocm *rocm, uint32_t number, struct accel_reading *out)
{
    static const struct {
        enum accel_item item;
        unsigned sensor, metric;
    } rows[] = {
        { ACCEL_TEMPERATURE, RSMI_TEMPERATURE_EDGE, RSMI_TEMPERATURE_CURRENT },
        { ACCEL_TEMPERATURE, RSMI_TEMPERATURE_JUNCTION,
          RSMI_TEMPERATURE_CURRENT },
        { ACCEL_TEMPERATURE_MEMORY, RSMI_TEMPERATURE_MEMORY,
          RSMI_TEMPERATURE_CURRENT },
        { ACCEL_SLOWDOWN, RSMI_TEMPERATURE_JUNCTION,
          RSMI_TEMPERATURE_CRITICAL },
    };

    /* Thousandths of a degree; the hottest point where it is told. */
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t value = 0;

        if (ROCM_CALL(rocm, rsmi_dev_temp_metric_get, number, rows[i].sensor,
                      rows[i].metric, &value) == RSMI_SUCCESS)
            accel_reading_set(out, rows[i].item, value / 1000);
    }
}

static void
read_clock(struct rocm *rocm, uint32_t number, unsigned kind,
           enum accel_item item, struct accel_reading *out)
{
    struct rsmi_clocks clocks = { 0 };

    if (ROCM_CALL(rocm, rsmi_dev_gpu_clk_freq_get, number, kind, &clocks) ==
            RSMI_SUCCESS &&
        clocks.current < clocks.supported && clocks.current < RSMI_FREQUENCIES)
        put(out, item, clocks.hertz[clocks.current] / 1000000);
}

/* Errors are counted block by block; those of memory stand alone. */
static void
read_errors(struct rocm *rocm, uint32_t number, struct accel_reading *out)
{
    uint64_t enabled = 0;
    uint64_t corrected = 0;
    uint64_t uncorrected = 0;
    bool told = false;

    if (ROCM_CALL(rocm, rsmi_dev_ecc_enabled_get, number, &enabled) !=
        RSMI_SUCCESS)
        return;
    put(out, ACCEL_ECC, (enabled & RSMI_BLOCK_MEMORY) != 0);
    for (uint64_t block = 1; block <= RSMI_BLOCK_LAST; block <<= 1) {
        struct rsmi_errors errors = { 0 };
        unsigned state = 0;

        if ((enabled & block) == 0 ||
            ROCM_CALL(rocm, rsmi_dev_ecc_status_get, number, block, &state) !=
                RSMI_SUCCESS ||
            state == (unsigned)RSMI_RAS_DISABLED ||
            ROCM_CALL(rocm, rsmi_dev_ecc_count_get, number, block, &errors) !=
                RSMI_SUCCESS)
            continue;
        told = true;
        corrected += errors.corrected;
        uncorrected += errors.uncorrected;
        if (block == RSMI_BLOCK_MEMORY)
            put(out, ACCEL_ECC_DRAM, errors.uncorrected);
    }
    if (!told)
        return;
    put(out, ACCEL_ECC_CORRECTED, corrected);
    put(out, ACCEL_ECC_UNCORRECTED, uncorrected);
}

static void
read_pages(struct rocm *rocm, uint32_t number, struct accel_reading *out)
{
    struct rsmi_page pages[256];
    uint32_t count = 256;
    uint64_t pending = 0;

    if (ROCM_CALL(rocm, rsmi_dev_memory_reserved_pages_get, number, &count,
                  pages) != RSMI_SUCCESS)
        return;
    for (uint32_t i = 0; i < count && i < 256; i++)
        pending += pages[i].status == RSMI_PAGE_PENDING;
    put(out, ACCEL_REMAPPED_UNCORRECTED, count);
    put(out, ACCEL_REMAP_PENDING, pending > 0);
}

/* A card that is partitioned shows several logical ones. */
static void
read_modes(struct rocm *rocm, const struct rocm_card *card,
           struct accel_reading *out)
{
    char mode[32];
    uint64_t replays = 0;
    unsigned links = 0;

    if (pci_text(rocm->root, card->pci, "current_compute_partition", mode,
                 sizeof(mode)))
        put(out, ACCEL_SLICED, strcmp(mode, "SPX") != 0);
    if (ROCM_CALL(rocm, rsmi_dev_pci_replay_counter_get, card->number,
                  &replays) == RSMI_SUCCESS)
        put(out, ACCEL_PCIE_REPLAYS, replays);
    if (ROCM_CALL(rocm, rsmi_dev_xgmi_error_status, card->number, &links) ==
        RSMI_SUCCESS)
        put(out, ACCEL_LINK_ERRORS, links);
}

int
rocm_read(struct accel *accel, const char *uuid,
          struct accel_reading *reading_out, struct error *err)
{
    struct rocm *rocm = accel->state;
    const struct rocm_card *card = rocm_find(accel, uuid, err);

    accel_reading_clear(reading_out);
    if (card == NULL)
        return -1;
    if (!pci_is_there(rocm->root, card->pci))
        return error_set(err, ERROR_GONE, "%s: its slot on the bus is empty",
                         uuid);
    read_memory(rocm, card->number, reading_out);
    read_power(rocm, card->number, reading_out);
    read_heat(rocm, card->number, reading_out);
    read_clock(rocm, card->number, RSMI_CLOCK_SYSTEM, ACCEL_CLOCK, reading_out);
    read_clock(rocm, card->number, RSMI_CLOCK_MEMORY, ACCEL_CLOCK_MEMORY,
               reading_out);
    read_errors(rocm, card->number, reading_out);
    read_pages(rocm, card->number, reading_out);
    read_modes(rocm, card, reading_out);
    return 0;
}

/* A card whose files are gone says nothing at all: then it is lost. */
int
rocm_health(struct accel *accel, const char *uuid,
            struct accel_state *state_out, struct error *err)
{
    struct accel_reading reading;

    if (rocm_read(accel, uuid, &reading, err) != 0)
        return -1;
    if (reading.value[ACCEL_MEMORY_TOTAL] == ACCEL_ABSENT &&
        reading.value[ACCEL_MEMORY_USED] == ACCEL_ABSENT)
        return error_set(err, ERROR_GONE, "%s: the card says nothing", uuid);
    accel_judge(&reading, state_out);
    if (state_out->health == ACCEL_HEALTHY &&
        reading.value[ACCEL_ECC_UNCORRECTED] > 0) {
        state_out->health = ACCEL_DEGRADED;
        (void)snprintf(state_out->reason, sizeof(state_out->reason),
                       "%" PRId64 " memory errors were not corrected",
                       reading.value[ACCEL_ECC_UNCORRECTED]);
    }
    return 0;
}

/* --- who is on it --- */

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

/* The library lists processes of all cards together. */
static int
is_on(struct rocm *rocm, uint32_t pid, uint32_t number, bool *on_out)
{
    uint32_t cards[ACCEL_CARDS_MAX];
    uint32_t count = ACCEL_CARDS_MAX;
    int status =
        ROCM_CALL(rocm, rsmi_compute_process_gpus_get, pid, cards, &count);

    *on_out = false;
    for (uint32_t i = 0;
         status == RSMI_SUCCESS && i < count && i < ACCEL_CARDS_MAX; i++)
        *on_out = *on_out || cards[i] == number;
    /* It has ended meanwhile. */
    return status == RSMI_NOT_FOUND ? RSMI_SUCCESS : status;
}

int
rocm_processes(struct accel *accel, const char *part,
               struct accel_process list[ACCEL_PROCESSES_MAX],
               size_t *count_out, struct error *err)
{
    struct rocm *rocm = accel->state;
    const struct rocm_card *card = rocm_find(accel, part, err);
    struct rsmi_process found[ACCEL_PROCESSES_MAX] = { 0 };
    uint32_t number = ACCEL_PROCESSES_MAX;
    const char *call = "rsmi_compute_process_info_get";
    size_t count = 0;
    int status;

    if (card == NULL)
        return -1;
    status = ROCM_CALL(rocm, rsmi_compute_process_info_get, found, &number);
    for (uint32_t i = 0;
         status == RSMI_SUCCESS && i < number && i < ACCEL_PROCESSES_MAX; i++) {
        bool on = false;

        call = "rsmi_compute_process_gpus_get";
        status = is_on(rocm, found[i].pid, card->number, &on);
        if (!on)
            continue;
        list[count] =
            (struct accel_process){ .pid = (pid_t)found[i].pid,
                                    .used_mib = (int64_t)(found[i].vram / MIB),
                                    .instance = -1 };
        read_name(found[i].pid, list[count].name, sizeof(list[count].name));
        count++;
    }
    if (status != RSMI_SUCCESS)
        return rocm_error(err, status, call, part);
    *count_out = count;
    return 0;
}

/* A card's own node, and the one that all of them share. */
int
rocm_nodes(struct accel *accel, const char *part,
           struct accel_node nodes[ACCEL_NODES_MAX], size_t *count_out,
           struct error *err)
{
    struct rocm *rocm = accel->state;
    const struct rocm_card *card = rocm_find(accel, part, err);
    char devices[8192];
    const char *line;
    uint32_t minor_number = 0;
    int status;

    if (card == NULL)
        return -1;
    status = ROCM_CALL(rocm, rsmi_dev_drm_render_minor_get, card->number,
                       &minor_number);
    if (status != RSMI_SUCCESS)
        return rocm_error(err, status, "rsmi_dev_drm_render_minor_get", part);
    nodes[0] = (struct accel_node){
        .kind = ACCEL_DEVICE, .major = 226, .minor = minor_number, .plain = true
    };
    (void)snprintf(nodes[0].name, sizeof(nodes[0].name), "dri/renderD%" PRIu32,
                   minor_number);
    *count_out = 1;
    if (!rocm_text(rocm, "/proc/devices", devices, sizeof(devices)))
        return 0;
    line = strstr(devices, " kfd\n");
    while (line != NULL && line > devices && line[-1] != '\n')
        line--;
    if (line != NULL)
        nodes[(*count_out)++] =
            (struct accel_node){ .kind = ACCEL_DEVICE,
                                 .name = "kfd",
                                 .major = (unsigned)strtoul(line, NULL, 10),
                                 .plain = true,
                                 .shared = true };
    return 0;
}

/* --- handing back --- */

int
rocm_settle(struct accel *accel, const char *uuid, struct error *err)
{
    struct rocm *rocm = accel->state;
    const struct rocm_card *card = rocm_find(accel, uuid, err);
    const char *call = "rsmi_dev_perf_level_set";
    uint64_t limit = 0;
    int status;

    if (card == NULL)
        return -1;
    status = ROCM_CALL(rocm, rsmi_dev_perf_level_set, (int32_t)card->number,
                       (unsigned)RSMI_LEVEL_AUTO);
    if ((status == RSMI_SUCCESS || status == RSMI_NOT_SUPPORTED) &&
        ROCM_CALL(rocm, rsmi_dev_power_cap_default_get, card->number, &limit) ==
            RSMI_SUCCESS) {
        call = "rsmi_dev_power_cap_set";
        status =
            ROCM_CALL(rocm, rsmi_dev_power_cap_set, card->number, 0U, limit);
    }
    return status == RSMI_SUCCESS || status == RSMI_NOT_SUPPORTED
               ? 0
               : rocm_error(err, status, call, uuid);
}

int
rocm_reset(struct accel *accel, const char *uuid, struct error *err)
{
    struct accel_process list[ACCEL_PROCESSES_MAX];
    struct rocm *rocm = accel->state;
    const struct rocm_card *card;
    size_t count = 0;
    int status;

    if (rocm_processes(accel, uuid, list, &count, err) != 0)
        return -1;
    if (count > 0)
        return error_set(err, ERROR_CONFLICT, "%zu processes are on card %s",
                         count, uuid);
    card = rocm_find(accel, uuid, err);
    if (card == NULL)
        return -1;
    status = ROCM_CALL(rocm, rsmi_dev_gpu_reset, (int32_t)card->number);
    return status == RSMI_SUCCESS
               ? 0
               : rocm_error(err, status, "rsmi_dev_gpu_reset", uuid);
}

/* Nothing of a card's memory outlives its reset. */
int
rocm_scrub(struct accel *accel, const char *uuid, struct accel_scrub *done_out,
           struct error *err)
{
    if (rocm_reset(accel, uuid, err) != 0)
        return -1;
    *done_out = (struct accel_scrub){ .method = "reset by the vendor's library" };
    return 0;
}

/* --- what happens --- */

static void
listen(struct rocm *rocm, struct rocm_card *card)
{
    uint64_t mask = 0;

    for (unsigned kind = RSMI_EVENT_FAULT; kind <= RSMI_EVENT_POST_RESET;
         kind++)
        mask |= UINT64_C(1) << (kind - 1);
    if (card->has_events ||
        ROCM_CALL(rocm, rsmi_event_notification_init, card->number) !=
            RSMI_SUCCESS ||
        ROCM_CALL(rocm, rsmi_event_notification_mask_set, card->number, mask) !=
            RSMI_SUCCESS)
        return;
    card->has_events = true;
    if (rocm->event_count < ACCEL_CARDS_MAX)
        (void)snprintf(rocm->events[rocm->event_count++],
                       sizeof(rocm->events[0]), "%s", card->uuid);
}

static bool
translate(const struct rocm *rocm, const struct rsmi_event *event,
          struct accel_event *out)
{
    *out = (struct accel_event){ .instance = -1, .compute = -1 };
    for (size_t i = 0; i < rocm->count; i++)
        if (rocm->cards[i].number == event->card)
            (void)snprintf(out->uuid, sizeof(out->uuid), "%s",
                           rocm->cards[i].uuid);
    switch (event->kind) {
    case RSMI_EVENT_FAULT:
        out->kind = ACCEL_EVENT_FAULT;
        return true;
    case RSMI_EVENT_THERMAL:
        out->kind = ACCEL_EVENT_THERMAL;
        return true;
    case RSMI_EVENT_PRE_RESET:
        out->kind = ACCEL_EVENT_RECOVERY;
        out->number = 1;
        return true;
    case RSMI_EVENT_POST_RESET:
        out->kind = ACCEL_EVENT_RECOVERY;
        return true;
    default:
        return false;
    }
}

int
rocm_events(struct accel *accel, int wait_ms,
            struct accel_event list[ACCEL_EVENTS_MAX], size_t *count_out,
            struct error *err)
{
    struct rocm *rocm = accel->state;
    struct rsmi_event found[ACCEL_EVENTS_MAX] = { 0 };
    uint32_t number = ACCEL_EVENTS_MAX;
    size_t count = 0;
    int status;

    rocm->accel = accel;
    for (size_t i = 0; i < rocm->count; i++) {
        struct rocm_card *card = rocm_find(accel, rocm->cards[i].uuid, err);

        if (card != NULL)
            listen(rocm, card);
    }
    status =
        ROCM_CALL(rocm, rsmi_event_notification_get, wait_ms, &number, found);
    *count_out = 0;
    if (status == RSMI_NO_DATA || status == RSMI_INSUFFICIENT_SIZE)
        return 0;
    if (status != RSMI_SUCCESS)
        return rocm_error(err, status, "rsmi_event_notification_get", "");
    for (uint32_t i = 0; i < number && i < ACCEL_EVENTS_MAX; i++)
        count += translate(rocm, &found[i], &list[count]);
    *count_out = count;
    return 0;
}
