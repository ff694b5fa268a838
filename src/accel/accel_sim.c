/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated cards.  The estate file says which there are; each has a real
 * memory file that containers map and a device node that nothing drives, so
 * "who is on the card" and "is its memory clean" are real questions.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "accel/accel_place.h"
#include "accel/accel_sim_private.h"
#include "accel/scan.h"
#include "accel/topology.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"

#define ESTATE_SIZE_MAX ((size_t)1024 * 1024)

static const char *const estate_keys[] = { "simulated", "node",
                                           "memory_file_mib", "cards",
                                           "events", "topology", NULL };
static const char *const card_keys[] = {
    "uuid",   "vendor", "model",         "memory_mib", "compute_units",
    "pci",    "numa",   "island",        "driver",     "health",
    "device", "links",  "health_reason", "arch",        "runtime",
    "features", "bus",  "stuck_mib", NULL
};
static const char *const device_keys[] = { "major", "minor", NULL };
static const char *const link_keys[] = { "uuid", "kind", "lanes", NULL };

static bool
is_uuid(const char *text)
{
    if (text[0] == '-' || text[0] == '\0')
        return false;
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && *text != '-')
            return false;
    return true;
}

static int
read_text(const json_t *object, const char *key, bool required, char *out,
          size_t room, struct error *err)
{
    const char *text = NULL;

    if (json_text(object, key, required, room - 1, &text, err) != 0)
        return -1;
    if (text != NULL)
        (void)snprintf(out, room, "%s", text);
    return 0;
}

static int
read_int32(const json_t *object, const char *key, bool required, int64_t min,
           int32_t *out, struct error *err)
{
    int64_t value = *out;

    if (json_int(object, key, required, min, INT32_MAX, &value, err) != 0)
        return -1;
    *out = (int32_t)value;
    return 0;
}

static int
read_links(const json_t *object, struct accel_card *card, struct error *err)
{
    const json_t *list = json_object_get(object, "links");
    json_t *item;
    size_t i;

    if (list == NULL)
        return 0;
    if (!json_is_array(list) || json_array_size(list) > ACCEL_LINKS_MAX)
        return error_field(err, "/links", "links is a list of at most %d",
                           ACCEL_LINKS_MAX);
    json_array_foreach(list, i, item)
    {
        struct accel_link *link = &card->links[i];

        if (json_only(item, link_keys, err) != 0 ||
            read_text(item, "uuid", true, link->uuid, sizeof(link->uuid),
                      err) != 0 ||
            read_text(item, "kind", true, link->kind, sizeof(link->kind),
                      err) != 0 ||
            read_int32(item, "lanes", true, 1, &link->lanes, err) != 0)
            return -1;
    }
    for (i = 0; i < json_array_size(list); i++)
        card->links[i].level = -1;
    card->link_count = json_array_size(list);
    return 0;
}

/* A major of the experimental ranges, so that no driver can own the node. */
static int
read_device(const json_t *object, struct sim_card *out, struct error *err)
{
    const json_t *device = json_object_get(object, "device");
    int64_t major_number = 0;
    int64_t minor_number = 0;

    if (!json_is_object(device))
        return error_field(err, "/device", "device is an object");
    if (json_only(device, device_keys, err) != 0 ||
        json_int(device, "major", true, 240, 254, &major_number, err) != 0 ||
        json_int(device, "minor", true, 0, 1048575, &minor_number, err) != 0)
        return -1;
    out->major = (unsigned)major_number;
    out->minor = (unsigned)minor_number;
    return 0;
}

static int
read_state(const json_t *object, struct accel_state *state, struct error *err)
{
    char health[16] = "healthy";

    if (read_text(object, "health", false, health, sizeof(health), err) != 0 ||
        read_text(object, "health_reason", false, state->reason,
                  sizeof(state->reason), err) != 0)
        return -1;
    if (accel_health_parse(health, &state->health) != 0)
        return error_field(err, "/health", "\"%s\" is not a health", health);
    return 0;
}

/* Memory that stays in use though nobody is on the card, until a reset. */
static int
read_stuck(const json_t *object, int64_t *stuck_out, struct error *err)
{
    *stuck_out = 0;
    return json_int(object, "stuck_mib", false, 0, 1 << 20, stuck_out, err);
}

static int
read_card(const json_t *object, struct sim_card *out, struct error *err)
{
    struct accel_card *card = &out->card;
    struct accel_state state = { .health = ACCEL_HEALTHY };
    int64_t stuck;

    out->reset_ms = -1;
    card->numa = -1;
    card->island = -1;
    if (!json_is_object(object))
        return error_set(err, ERROR_INVALID, "a card is an object");
    if (json_only(object, card_keys, err) != 0 ||
        read_text(object, "uuid", true, card->uuid, sizeof(card->uuid), err) !=
            0 ||
        read_text(object, "vendor", true, card->vendor, sizeof(card->vendor),
                  err) != 0 ||
        read_text(object, "model", true, card->model, sizeof(card->model),
                  err) != 0 ||
        read_text(object, "pci", true, card->pci, sizeof(card->pci), err) !=
            0 ||
        read_text(object, "driver", true, card->driver, sizeof(card->driver),
                  err) != 0 ||
        read_text(object, "arch", false, card->arch, sizeof(card->arch),
                  err) != 0 ||
        read_text(object, "runtime", false, card->runtime,
                  sizeof(card->runtime), err) != 0 ||
        read_text(object, "features", false, card->features,
                  sizeof(card->features), err) != 0 ||
        read_text(object, "bus", false, card->bus, sizeof(card->bus), err) !=
            0 ||
        json_int(object, "memory_mib", true, 1, 1 << 30, &card->memory_mib,
                 err) != 0 ||
        read_int32(object, "compute_units", true, 1, &card->compute_units,
                   err) != 0 ||
        read_int32(object, "numa", false, -1, &card->numa, err) != 0 ||
        read_int32(object, "island", false, -1, &card->island, err) != 0 ||
        read_device(object, out, err) != 0 ||
        read_state(object, &state, err) != 0 ||
        read_stuck(object, &stuck, err) != 0 || read_links(object, card, err) != 0)
        return -1;
    if (!is_uuid(card->uuid))
        return error_field(err, "/uuid",
                           "a UUID has letters, digits and - only");
    return 0;
}

static json_t *
read_estate(const char *path, struct error *err)
{
    scoped_buffer bytes = { 0 };
    json_t *estate;

    if (file_read(path, ESTATE_SIZE_MAX, &bytes, err) != 0)
        return NULL;
    estate = json_read(buffer_text(&bytes), bytes.size, err);
    if (estate != NULL && !json_is_object(estate)) {
        json_decref(estate);
        (void)error_set(err, ERROR_INVALID, "an estate is an object");
        return NULL;
    }
    return estate;
}

static int
check_twice(const struct sim *sim, size_t at, struct error *err)
{
    const struct sim_card *card = &sim->cards[at];

    for (size_t i = 0; i < at; i++)
        if (strcmp(sim->cards[i].card.uuid, card->card.uuid) == 0 ||
            strcmp(sim->cards[i].card.pci, card->card.pci) == 0 ||
            (sim->cards[i].major == card->major &&
             sim->cards[i].minor == card->minor))
            return error_set(err, ERROR_INVALID,
                             "cards %zu and %zu have the same UUID, PCI "
                             "address or device",
                             i, at);
    return 0;
}

static int
fill(struct sim *sim, const json_t *estate, const json_t *list,
     struct error *err)
{
    bool simulated = false;
    json_t *item;
    size_t i;

    if (json_only(estate, estate_keys, err) != 0 ||
        json_bool(estate, "simulated", true, &simulated, err) != 0 ||
        read_text(estate, "node", true, sim->node, sizeof(sim->node), err) !=
            0 ||
        json_int(estate, "memory_file_mib", false, 1, 1 << 20, &sim->file_mib,
                 err) != 0)
        return -1;
    if (!simulated)
        return error_field(err, "/simulated",
                           "an estate file must say that it is simulated");
    json_array_foreach(list, i, item)
    {
        if (read_card(item, &sim->cards[i], err) != 0)
            return error_prefix(err, "card %zu", i);
        if (check_twice(sim, i, err) != 0)
            return -1;
    }
    return 0;
}

/* The card of a part. */
static const struct sim_card *
find(const struct accel *accel, const char *part, struct error *err)
{
    return sim_find(accel, part, strcspn(part, "/"), err);
}

/* Memory of a card is memory: a tmpfs without room beyond the cards' own, so
 * that a container that owns the file cannot let it grow, and that is gone
 * after a reboot.  Whoever may not mount keeps plain files. */
static int
make_room(const struct sim *sim, struct error *err)
{
    char options[64];
    unsigned long flags = MS_NOSUID | MS_NOEXEC;
    struct statx now;

    if (file_make_directory(sim->state_dir, 0700, err) != 0)
        return -1;
    if (geteuid() != 0)
        return 0;
    if (statx(AT_FDCWD, sim->state_dir, 0, STATX_BASIC_STATS, &now) == 0 &&
        (now.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
        flags |= MS_REMOUNT;
    (void)snprintf(options, sizeof(options), "mode=0700,size=%" PRId64 "k",
                   (int64_t)sim->count * sim->file_mib * 1024 + 64);
    if (mount("tmpfs", sim->state_dir, "tmpfs", flags, options) != 0)
        return error_set(err, ERROR_INTERNAL, "mount the cards' memory: %s",
                         strerror(errno));
    return 0;
}

static int
make_memory(const struct sim *sim, const struct sim_card *card,
            struct error *err)
{
    const struct sim_part part = { .card = card };
    char path[SIM_PATH_MAX];

    if (accel_place_make(sim->state_dir, card->card.uuid, err) != 0)
        return -1;
    if (sim_is_sliced(sim, card))
        return 0;
    sim_memory_path(sim, &part, path);
    return sim_make_memory(path, sim_memory_size(sim, &part), err);
}

static void
sim_close(struct accel *accel)
{
    struct sim *sim = accel->state;

    if (sim == NULL)
        return;
    (void)pthread_mutex_destroy(&sim->looking);
    topology_free(sim->topology);
    free(sim->events);
    free(sim->source);
    free(sim->state_dir);
    free(sim);
    accel->state = NULL;
}

static int
sim_open(struct accel *accel, const char *source, const char *state_dir,
         struct error *err)
{
    scoped_json estate = read_estate(source, err);
    const json_t *list = json_object_get(estate, "cards");
    struct sim *sim;

    if (estate == NULL)
        return error_prefix(err, "estate");
    if (!json_is_array(list) || json_array_size(list) > ACCEL_CARDS_MAX)
        return error_field(err, "/cards", "cards is a list of at most %d",
                           ACCEL_CARDS_MAX);
    if (strlen(state_dir) > 128)
        return error_set(err, ERROR_INVALID, "the state path is too long");
    sim = memory_new(1, sizeof(*sim) +
                            json_array_size(list) * sizeof(sim->cards[0]));
    accel->state = sim;
    (void)pthread_mutex_init(&sim->looking, NULL);
    sim->file_mib = 4;
    sim->source = memory_strdup(source);
    sim->state_dir = memory_strdup(state_dir);
    sim->count = json_array_size(list);
    if (fill(sim, estate, list, err) != 0 ||
        (json_object_get(estate, "topology") != NULL &&
         topology_describe(json_object_get(estate, "topology"),
                           &sim->topology, err) != 0) ||
        sim_script_open(accel, json_object_get(estate, "events"), err) != 0 ||
        make_room(sim, err) != 0)
        goto fail;
    for (size_t i = 0; i < sim->count; i++)
        if (make_memory(sim, &sim->cards[i], err) != 0)
            goto fail;
    return 0;
fail:
    sim_close(accel);
    return error_prefix(err, "estate");
}

static const char *
sim_node_name(const struct accel *accel)
{
    const struct sim *sim = accel->state;

    return sim->node;
}

static const struct topology *
sim_topology(const struct accel *accel)
{
    const struct sim *sim = accel->state;

    return sim->topology;
}

static int
sim_list(struct accel *accel, struct arena *arena,
         const char *const **uuids_out, size_t *count_out, struct error *err)
{
    const struct sim *sim = accel->state;
    const char **uuids = arena_alloc(arena, sim->count * sizeof(*uuids));

    (void)err;
    for (size_t i = 0; i < sim->count; i++)
        uuids[i] = sim->cards[i].card.uuid;
    *uuids_out = uuids;
    *count_out = sim->count;
    return 0;
}

static int
sim_describe(struct accel *accel, const char *uuid, struct accel_card *card_out,
             struct error *err)
{
    const struct sim_card *card = find(accel, uuid, err);

    if (card == NULL)
        return -1;
    *card_out = card->card;
    return 0;
}

/* What the script did to a card that the estate calls healthy. */
static void
judge_script(const struct sim *sim, const struct sim_card *card,
             struct accel_state *state)
{
    struct accel_reading reading;
    bool there = sim_script_read(sim, card, &reading);

    if (state->health != ACCEL_HEALTHY)
        return;
    accel_judge(&reading, state);
    if (there)
        return;
    state->health = ACCEL_FAILED;
    (void)snprintf(state->reason, sizeof(state->reason), "the card is lost");
}

/* Read anew each time: editing the estate makes a card ill or well. */
int
sim_health(struct accel *accel, const char *uuid, struct accel_state *state_out,
           struct error *err)
{
    const struct sim *sim = accel->state;
    struct accel_state state = { .memory_used_mib = -1,
                                 .busy_permille = -1,
                                 .temperature_c = -1,
                                 .power_mw = -1 };
    const struct sim_card *card;
    scoped_json estate = NULL;
    int64_t stuck = 0;
    json_t *item;
    size_t i;

    card = find(accel, uuid, err);
    if (card == NULL)
        return -1;
    estate = read_estate(sim->source, err);
    if (estate == NULL)
        return -1;
    state.sliced = sim_is_sliced(sim, card);
    state.health = ACCEL_FAILED;
    (void)snprintf(state.reason, sizeof(state.reason), "the card is gone");
    json_array_foreach(json_object_get(estate, "cards"), i, item)
    {
        const char *here = json_string_value(json_object_get(item, "uuid"));

        if (here == NULL || strcmp(here, uuid) != 0)
            continue;
        state.reason[0] = '\0';
        if (read_state(item, &state, err) != 0 ||
            read_stuck(item, &stuck, err) != 0)
            return -1;
        judge_script(sim, card, &state);
    }
    state.memory_used_mib =
        stuck > card->freed_mib ? stuck - card->freed_mib : 0;
    *state_out = state;
    return 0;
}

/* A card is its memory and that of all its slices; a slice is its own. */
struct targets {
    const struct sim *sim;
    struct scan_target *list; /* owned */
    size_t count;
    size_t owner;
    bool there; /* a memory of this owner was seen */
};

/* What nobody has needs no look at every process: no driver owns the node's
 * number, so it cannot be open without the memory. */
static int
add_target(void *context, const struct sim_part *part)
{
    struct targets *targets = context;
    char path[SIM_PATH_MAX];
    struct stat file = { 0 };

    sim_memory_path(targets->sim, part, path);
    if (lstat(path, &file) != 0)
        return 0;
    targets->there = true;
    if (scan_is_unused(path))
        return 0;
    targets->list = memory_grow(targets->list, targets->count + 1,
                                sizeof(*targets->list));
    targets->list[targets->count++] = (struct scan_target){
        .dev = file.st_dev,
        .ino = file.st_ino,
        .rdev = makedev(part->card->major, sim_minor(part)),
        .owner = targets->owner,
    };
    return 0;
}

static int
add_part(struct accel *accel, const char *text, struct targets *targets,
         struct error *err)
{
    const struct sim *sim = accel->state;
    struct sim_part part;

    if (sim_part(accel, text, &part, err) != 0)
        return -1;
    targets->there = false;
    (void)add_target(targets, &part);
    if (part.profile == NULL)
        (void)sim_each_slice(sim, part.card, add_target, targets);
    if (!targets->there && part.profile == NULL &&
        !sim_is_sliced(sim, part.card))
        return error_set(err, ERROR_INTERNAL, "a card's memory is gone");
    return 0;
}

/* And those that the script tells of. */
static void
add_scripted(struct accel *accel, const char *text, struct accel_crew *crew)
{
    struct sim_part part;
    struct error ignored;

    if (sim_part(accel, text, &part, &ignored) == 0)
        sim_script_processes(accel->state, &part, crew);
}

static int
sim_census(struct accel *accel, const char *const *parts, size_t count,
           struct accel_crew *crews, struct error *err)
{
    struct sim *sim = accel->state;
    struct targets targets = { .sim = sim };
    int result = 0;

    /* One look at a time: none sees what another has open to look. */
    (void)pthread_mutex_lock(&sim->looking);
    for (size_t i = 0; i < count && result == 0; i++) {
        targets.owner = i;
        crews[i].count = 0;
        result = add_part(accel, parts[i], &targets, err);
    }
    if (result == 0)
        result = scan_processes(targets.list, targets.count, crews, err);
    for (size_t i = 0; i < count && result == 0; i++)
        add_scripted(accel, parts[i], &crews[i]);
    (void)pthread_mutex_unlock(&sim->looking);
    for (size_t i = 0; i < count && result == 0; i++)
        sim_measure(accel, parts[i], &crews[i]);
    free(targets.list);
    return result;
}

static int
sim_processes(struct accel *accel, const char *text,
              struct accel_process list[ACCEL_PROCESSES_MAX], size_t *count_out,
              struct error *err)
{
    struct accel_crew crew = { .list = list };
    int result = sim_census(accel, &text, 1, &crew, err);

    *count_out = crew.count;
    return result;
}

static int
sim_nodes(struct accel *accel, const char *text,
          struct accel_node nodes[ACCEL_NODES_MAX], size_t *count_out,
          struct error *err)
{
    const struct sim *sim = accel->state;
    struct sim_part part;
    char path[SIM_PATH_MAX];

    if (sim_part(accel, text, &part, err) != 0)
        return -1;
    sim_memory_path(sim, &part, path);
    nodes[0] = (struct accel_node){ .kind = ACCEL_FILE, .name = "card%u" };
    (void)snprintf(nodes[0].host_path, sizeof(nodes[0].host_path), "%.255s",
                   path);
    nodes[1] = (struct accel_node){ .kind = ACCEL_DEVICE,
                                    .name = "device%u",
                                    .major = part.card->major,
                                    .minor = sim_minor(&part) };
    *count_out = 2;
    return 0;
}

/* There are no clocks or modes to put back. */
static int
sim_settle(struct accel *accel, const char *uuid, struct error *err)
{
    return find(accel, uuid, err) == NULL ? -1 : 0;
}

const struct accel_ops accel_sim_ops = {
    .name = "sim",
    .simulated = true,
    .open = sim_open,
    .close = sim_close,
    .node_name = sim_node_name,
    .topology = sim_topology,
    .list = sim_list,
    .describe = sim_describe,
    .health = sim_health,
    .processes = sim_processes,
    .census = sim_census,
    .nodes = sim_nodes,
    .settle = sim_settle,
    .reset = sim_reset,
    .scrub = sim_scrub,
    .cut = sim_cut,
    .slice_create = sim_slice_create,
    .slice_destroy = sim_slice_destroy,
    .slices = sim_slices,
    .read = sim_read,
    .events = sim_events,
};
