/* SPDX-License-Identifier: Apache-2.0 */
/*
 * librocm_smi64.so.1 for tests: the interface of the real one, with answers
 * from a file (rsmi_stub.h).  Like the real one it refuses NULL and numbers of
 * cards that there are not.
 */
#include "accel/rsmi.h"
#include "tests/stub/rsmi_stub.h"

#define RSMI(symbol, arguments) int symbol arguments;
#include "accel/rsmi.def"
#undef RSMI

static struct rsmi_stub_world *world;
static int ready;

static int
enter(enum rsmi_stub_symbol symbol, int64_t card)
{
    if (world == NULL) {
        const char *path = getenv(RSMI_STUB_ENV);

        world = path != NULL ? rsmi_stub_map(path) : NULL;
        if (world == NULL)
            return RSMI_INIT_ERROR;
    }
    world->calls[symbol]++;
    for (uint32_t i = 0; i < world->fault_count; i++) {
        if (world->faults[i].symbol != symbol ||
            (world->faults[i].card != RSMI_STUB_ALL &&
             world->faults[i].card != card))
            continue;
        while (world->faults[i].answer == RSMI_STUB_HANG)
            (void)pause();
        return world->faults[i].answer;
    }
    if (symbol != RSMI_STUB_rsmi_init && !ready)
        return RSMI_INIT_ERROR;
    return card >= (int64_t)world->card_count ? RSMI_INVALID_ARGS : 0;
}

#define ENTER(symbol, card)                                                    \
    do {                                                                       \
        int answer_ = enter(RSMI_STUB_##symbol, (card));                       \
        if (answer_ != 0)                                                      \
            return answer_;                                                    \
    } while (0)
#define NEED(pointer)                                                          \
    if ((pointer) == NULL)                                                     \
    return RSMI_INVALID_ARGS

static int
text(char *out, size_t room, const char *value)
{
    NEED(out);
    if (strlen(value) >= room)
        return RSMI_INSUFFICIENT_SIZE;
    (void)snprintf(out, room, "%s", value);
    return RSMI_SUCCESS;
}

int
rsmi_init(uint64_t flags)
{
    (void)flags;
    ENTER(rsmi_init, RSMI_STUB_ALL);
    ready++;
    return RSMI_SUCCESS;
}

int
rsmi_shut_down(void)
{
    ENTER(rsmi_shut_down, RSMI_STUB_ALL);
    ready--;
    return RSMI_SUCCESS;
}

int
rsmi_version_str_get(unsigned component, char *out, uint32_t room)
{
    ENTER(rsmi_version_str_get, RSMI_STUB_ALL);
    return component != 0 ? RSMI_INVALID_ARGS : text(out, room, "6.3.6");
}

int
rsmi_num_monitor_devices(uint32_t *out)
{
    ENTER(rsmi_num_monitor_devices, RSMI_STUB_ALL);
    NEED(out);
    *out = world->card_count;
    return RSMI_SUCCESS;
}

#define NUMBER(symbol, type, value)                                            \
    int symbol(uint32_t card, type *out)                                       \
    {                                                                          \
        ENTER(symbol, card);                                                   \
        NEED(out);                                                             \
        *out = (value);                                                        \
        return RSMI_SUCCESS;                                                   \
    }
NUMBER(rsmi_dev_unique_id_get, uint64_t, world->cards[card].id)
NUMBER(rsmi_dev_pci_id_get, uint64_t, world->cards[card].pci)
NUMBER(rsmi_dev_drm_render_minor_get, uint32_t, 128 + card)
NUMBER(rsmi_dev_memory_busy_percent_get, uint32_t, 21)
NUMBER(rsmi_dev_busy_percent_get, uint32_t, 64)
NUMBER(rsmi_dev_power_cap_default_get, uint64_t, 560000000)
NUMBER(rsmi_dev_ecc_enabled_get, uint64_t, 0x5)
NUMBER(rsmi_dev_xgmi_error_status, unsigned, 0)
NUMBER(rsmi_dev_pci_replay_counter_get, uint64_t, 3)
NUMBER(rsmi_topo_numa_affinity_get, uint32_t, card / 2)

#define WORDS(symbol, size, value)                                             \
    int symbol(uint32_t card, char *out, size room)                            \
    {                                                                          \
        ENTER(symbol, card);                                                   \
        return text(out, room, (value));                                       \
    }
WORDS(rsmi_dev_name_get, size_t, "AMD Instinct MI210")
WORDS(rsmi_dev_serial_number_get, uint32_t, "692231000131")
WORDS(rsmi_dev_vbios_version_get, uint32_t, "113-D67301-059")

#define SENSOR(symbol, value)                                                  \
    int symbol(uint32_t card, uint32_t sensor, uint64_t *out)                  \
    {                                                                          \
        ENTER(symbol, card);                                                   \
        NEED(out);                                                             \
        if (sensor != 0)                                                       \
            return RSMI_NOT_SUPPORTED;                                         \
        *out = (value);                                                        \
        return RSMI_SUCCESS;                                                   \
    }
SENSOR(rsmi_dev_memory_total_get, world->cards[card].memory)
SENSOR(rsmi_dev_memory_usage_get, world->cards[card].used)
SENSOR(rsmi_dev_power_ave_get, 41000000)
SENSOR(rsmi_dev_power_cap_get, world->cards[card].cap)

int
rsmi_dev_power_cap_range_get(uint32_t card, uint32_t sensor, uint64_t *most,
                             uint64_t *least)
{
    ENTER(rsmi_dev_power_cap_range_get, card);
    NEED(most);
    NEED(least);
    if (sensor != 0)
        return RSMI_NOT_SUPPORTED;
    *most = 560000000;
    *least = 0;
    return RSMI_SUCCESS;
}

int
rsmi_dev_power_cap_set(uint32_t card, uint32_t sensor, uint64_t cap)
{
    ENTER(rsmi_dev_power_cap_set, card);
    if (sensor != 0 || cap > 560000000)
        return RSMI_INVALID_ARGS;
    world->cards[card].cap = cap;
    return RSMI_SUCCESS;
}

int
rsmi_dev_energy_count_get(uint32_t card, uint64_t *out, float *step,
                          uint64_t *time_ns)
{
    ENTER(rsmi_dev_energy_count_get, card);
    NEED(out);
    NEED(step);
    NEED(time_ns);
    *out = 2000000;
    *step = 15.25F;
    *time_ns = 1;
    return RSMI_SUCCESS;
}

/* Sensors: edge, junction, memory; metric 5 is the critical point. */
int
rsmi_dev_temp_metric_get(uint32_t card, uint32_t sensor, unsigned metric,
                         int64_t *out)
{
    static const int64_t now[] = { 38000, 44000, 51000 };

    ENTER(rsmi_dev_temp_metric_get, card);
    NEED(out);
    if (sensor > 2 || (metric != 0 && metric != 5))
        return RSMI_NOT_SUPPORTED;
    *out = metric == 0 ? now[sensor] : 100000;
    return RSMI_SUCCESS;
}

int
rsmi_dev_gpu_clk_freq_get(uint32_t card, unsigned kind, struct rsmi_clocks *out)
{
    ENTER(rsmi_dev_gpu_clk_freq_get, card);
    NEED(out);
    *out = (struct rsmi_clocks){
        .supported = 2,
        .current = 1,
        .hertz = { 500000000, kind == 4 ? 1600000000 : 1700000000 }
    };
    return RSMI_SUCCESS;
}

int
rsmi_dev_ecc_count_get(uint32_t card, uint64_t block, struct rsmi_errors *out)
{
    ENTER(rsmi_dev_ecc_count_get, card);
    NEED(out);
    *out = (struct rsmi_errors){ 2, block == 1 ? world->cards[card].uncorrected
                                               : 0 };
    return RSMI_SUCCESS;
}

int
rsmi_dev_ecc_status_get(uint32_t card, uint64_t block, unsigned *out)
{
    ENTER(rsmi_dev_ecc_status_get, card);
    NEED(out);
    (void)block;
    *out = 6;
    return RSMI_SUCCESS;
}

int
rsmi_dev_memory_reserved_pages_get(uint32_t card, uint32_t *count,
                                   struct rsmi_page *out)
{
    ENTER(rsmi_dev_memory_reserved_pages_get, card);
    NEED(count);
    *count = world->cards[card].pages_pending;
    for (uint32_t i = 0; out != NULL && i < *count; i++)
        out[i] = (struct rsmi_page){ 0x1000, 4096, 1 };
    return RSMI_SUCCESS;
}

int
rsmi_topo_get_link_type(uint32_t card, uint32_t other, uint64_t *hops,
                        unsigned *kind)
{
    ENTER(rsmi_topo_get_link_type, card);
    NEED(hops);
    NEED(kind);
    if (other >= world->card_count || other == card)
        return RSMI_INVALID_ARGS;
    *hops = 1;
    *kind = card / 2 == other / 2 ? 2 : 1;
    return RSMI_SUCCESS;
}

int
rsmi_compute_process_info_get(struct rsmi_process *out, uint32_t *count)
{
    ENTER(rsmi_compute_process_info_get, RSMI_STUB_ALL);
    NEED(count);
    for (uint32_t i = 0; out != NULL && i < *count && i < world->process_count;
         i++)
        out[i] = (struct rsmi_process){ .pid = world->processes[i].pid,
                                        .vram = world->processes[i].vram };
    *count = world->process_count;
    return RSMI_SUCCESS;
}

int
rsmi_compute_process_gpus_get(uint32_t pid, uint32_t *out, uint32_t *count)
{
    ENTER(rsmi_compute_process_gpus_get, RSMI_STUB_ALL);
    NEED(out);
    NEED(count);
    for (uint32_t i = 0; i < world->process_count; i++)
        if (world->processes[i].pid == pid) {
            out[0] = world->processes[i].card;
            *count = 1;
            return RSMI_SUCCESS;
        }
    return RSMI_NOT_FOUND;
}

int
rsmi_dev_perf_level_set(int32_t card, unsigned level)
{
    ENTER(rsmi_dev_perf_level_set, card);
    return level > 8 ? RSMI_INVALID_ARGS : RSMI_SUCCESS;
}

int
rsmi_dev_gpu_reset(int32_t card)
{
    ENTER(rsmi_dev_gpu_reset, card);
    world->cards[card].used = 0;
    return RSMI_SUCCESS;
}

int
rsmi_event_notification_init(uint32_t card)
{
    ENTER(rsmi_event_notification_init, card);
    return RSMI_SUCCESS;
}

int
rsmi_event_notification_mask_set(uint32_t card, uint64_t mask)
{
    ENTER(rsmi_event_notification_mask_set, card);
    return mask == 0 || mask > 0xF ? RSMI_INVALID_ARGS : RSMI_SUCCESS;
}

int
rsmi_event_notification_get(int wait_ms, uint32_t *count,
                            struct rsmi_event *out)
{
    ENTER(rsmi_event_notification_get, RSMI_STUB_ALL);
    NEED(count);
    (void)wait_ms;
    if (world->event_count == 0)
        return RSMI_NO_DATA;
    for (uint32_t i = 0; out != NULL && i < *count && i < world->event_count;
         i++)
        out[i] = (struct rsmi_event){ .card = world->events[i].card,
                                      .kind = world->events[i].kind };
    *count = world->event_count;
    world->event_count = 0;
    return RSMI_SUCCESS;
}

int
rsmi_event_notification_stop(uint32_t card)
{
    ENTER(rsmi_event_notification_stop, card);
    return RSMI_SUCCESS;
}
