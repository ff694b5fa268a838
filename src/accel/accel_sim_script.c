/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to simulated cards, by a script in the estate file:
 *
 *   "events": [{"at_ms": 0, "uuid": "...", "event": "xid", "number": 79,
 *               "instance": 1, "name": "..."}, ...]
 *
 * at_ms counts from the opening and does not go back; number, instance (a
 * slice's) and name may be left out.  Events are told once (accel_events), and what
 * they do to a card stays in its readings:
 *
 *   xid       told only: what a number means is judged elsewhere
 *   ecc       1 corrected, 2 not: counted
 *   remap     1 rows wait for a reset, 2 no spare row was left
 *   poison    told only
 *   recovery  the action that the card asks for (reading.def), 0 none
 *   thermal   the temperature, C; above 0 hardware holds the clocks down
 *   lost      the card is gone, until
 *   back      it is there again, as new
 *   process   somebody's process (pid number, called name) is on the card: not
 *             told, but listed, as those that are really there, until
 *   exit      the one with that pid ends
 *
 * A reset ends what waits for one.
 */
#include <poll.h>
#include <string.h>

#include "accel/accel_sim_private.h"
#include "base/clock.h"
#include "base/json.h"

static const char *const event_keys[] = { "at_ms",  "uuid",     "event",
                                          "number", "instance", "name",
                                          NULL };

static const struct {
    const char *text;
    enum accel_event_kind kind;
    bool back;
    int process;
} words[] = {
    { "xid", ACCEL_EVENT_XID, false, 0 },
    { "ecc", ACCEL_EVENT_ECC, false, 0 },
    { "remap", ACCEL_EVENT_REMAP, false, 0 },
    { "poison", ACCEL_EVENT_POISON, false, 0 },
    { "recovery", ACCEL_EVENT_RECOVERY, false, 0 },
    { "thermal", ACCEL_EVENT_THERMAL, false, 0 },
    { "lost", ACCEL_EVENT_LOST, false, 0 },
    { "back", ACCEL_EVENT_RECOVERY, true, 0 },
    { "process", ACCEL_EVENT_FAULT, false, 1 },
    { "exit", ACCEL_EVENT_FAULT, false, -1 },
};

static int
read_word(const char *text, struct sim_event *out, struct error *err)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].text, text) == 0) {
            out->kind = words[i].kind;
            out->back = words[i].back;
            out->process = words[i].process;
            return 0;
        }
    return error_field(err, "/event",
                       "\"%.32s\" is not xid, ecc, remap, poison, recovery, "
                       "thermal, lost, back, process or exit",
                       text);
}

static int
read_event(const struct accel *accel, const json_t *object, int64_t least_ms,
           struct sim_event *out, struct error *err)
{
    const char *uuid = NULL;
    const char *word = NULL;
    const char *name = "?";
    int64_t instance = -1;

    if (json_only(object, event_keys, err) != 0 ||
        json_int(object, "at_ms", true, least_ms, INT64_C(1) << 40, &out->at_ms,
                 err) != 0 ||
        json_text(object, "uuid", true, ACCEL_ID_MAX, &uuid, err) != 0 ||
        json_text(object, "event", true, 32, &word, err) != 0 ||
        json_int(object, "number", false, 0, INT64_C(1) << 40, &out->number,
                 err) != 0 ||
        json_int(object, "instance", false, 0, 64, &instance, err) != 0 ||
        json_text(object, "name", false, sizeof(out->name) - 1, &name, err) !=
            0 ||
        read_word(word, out, err) != 0)
        return -1;
    if (out->process != 0 && (out->number < 1 || out->number > INT32_MAX))
        return error_field(err, "/number",
                           "the pid of a process is a number from 1 up");
    out->instance = (int32_t)instance;
    (void)snprintf(out->name, sizeof(out->name), "%s", name);
    out->card = sim_find(accel, uuid, strlen(uuid), err);
    return out->card != NULL ? 0 : -1;
}

int
sim_script_open(const struct accel *accel, const json_t *list,
                struct error *err)
{
    struct sim *sim = accel->state;
    int64_t last_ms = 0;
    json_t *item;
    size_t i;

    sim->opened_ms = clock_mono_ms();
    if (list == NULL)
        return 0;
    if (!json_is_array(list) || json_array_size(list) > SIM_EVENTS_MAX)
        return error_field(err, "/events", "events is a list of at most %d",
                           SIM_EVENTS_MAX);
    sim->events = memory_new(json_array_size(list) + 1, sizeof(sim->events[0]));
    json_array_foreach(list, i, item)
    {
        if (!json_is_object(item))
            return error_field(err, "/events", "an event is an object");
        if (read_event(accel, item, last_ms, &sim->events[i], err) != 0)
            return error_prefix(err, "event %zu", i);
        last_ms = sim->events[i].at_ms;
        sim->event_count++;
    }
    return 0;
}

/* --- what has happened so far --- */

static void
count_one(struct accel_reading *reading, enum accel_item item)
{
    accel_reading_set(reading, item, reading->value[item] + 1);
}

static void
apply(const struct sim_event *event, bool was_reset,
      struct accel_reading *reading, bool *gone)
{
    switch (event->kind) {
    case ACCEL_EVENT_ECC:
        count_one(reading, event->number == 2 ? ACCEL_ECC_UNCORRECTED
                                              : ACCEL_ECC_CORRECTED);
        break;
    case ACCEL_EVENT_REMAP:
        if (event->number == 2)
            accel_reading_set(reading, ACCEL_REMAP_FAILED, 1);
        else if (!was_reset)
            accel_reading_set(reading, ACCEL_REMAP_PENDING, 1);
        break;
    case ACCEL_EVENT_RECOVERY:
        if (!was_reset)
            accel_reading_set(reading, ACCEL_RECOVERY, event->number);
        break;
    case ACCEL_EVENT_THERMAL:
        accel_reading_set(reading, ACCEL_TEMPERATURE, event->number);
        accel_reading_set(reading, ACCEL_CLOCK_REASONS,
                          event->number > 0 ? 0x40 : 0);
        break;
    case ACCEL_EVENT_LOST:
        *gone = true;
        break;
    case ACCEL_EVENT_XID:
    case ACCEL_EVENT_POISON:
    case ACCEL_EVENT_SLICES:
    case ACCEL_EVENT_FAULT:
        break;
    }
}

static void
start_reading(const struct sim *sim, const struct sim_card *card,
              struct accel_reading *reading)
{
    accel_reading_clear(reading);
    accel_reading_set(reading, ACCEL_MEMORY_TOTAL, card->card.memory_mib);
    accel_reading_set(reading, ACCEL_ECC_CORRECTED, 0);
    accel_reading_set(reading, ACCEL_ECC_UNCORRECTED, 0);
    accel_reading_set(reading, ACCEL_REMAP_PENDING, 0);
    accel_reading_set(reading, ACCEL_REMAP_FAILED, 0);
    accel_reading_set(reading, ACCEL_RECOVERY, 0);
    accel_reading_set(reading, ACCEL_CLOCK_REASONS, 0);
    accel_reading_set(reading, ACCEL_SLICED, sim_is_sliced(sim, card));
}

bool
sim_script_read(const struct sim *sim, const struct sim_card *card,
                struct accel_reading *reading_out)
{
    int64_t now_ms = clock_mono_ms() - sim->opened_ms;
    bool gone = false;

    start_reading(sim, card, reading_out);
    for (size_t i = 0; i < sim->event_count; i++) {
        const struct sim_event *event = &sim->events[i];

        if (event->at_ms > now_ms)
            break;
        if (event->card != card || event->process != 0)
            continue;
        if (event->back) {
            start_reading(sim, card, reading_out);
            gone = false;
        } else
            apply(event, event->at_ms <= card->reset_ms, reading_out, &gone);
    }
    return !gone;
}

int
sim_read(struct accel *accel, const char *uuid,
         struct accel_reading *reading_out, struct error *err)
{
    const struct sim *sim = accel->state;
    const struct sim_card *card = sim_find(accel, uuid, strlen(uuid), err);

    if (card == NULL)
        return -1;
    return sim_script_read(sim, card, reading_out)
               ? 0
               : error_set(err, ERROR_GONE, "%s: the card is lost", uuid);
}

/* --- somebody's processes --- */

static bool
has_ended(const struct sim *sim, size_t begun, int64_t now_ms)
{
    const struct sim_event *process = &sim->events[begun];

    for (size_t i = begun + 1; i < sim->event_count; i++)
        if (sim->events[i].at_ms <= now_ms && sim->events[i].process < 0 &&
            sim->events[i].card == process->card &&
            sim->events[i].number == process->number)
            return true;
    return false;
}

void
sim_script_processes(const struct sim *sim, const struct sim_part *part,
                     struct accel_crew *crew)
{
    int64_t now_ms = clock_mono_ms() - sim->opened_ms;

    for (size_t i = 0; i < sim->event_count; i++) {
        const struct sim_event *event = &sim->events[i];
        struct accel_process *process = &crew->list[crew->count];

        if (event->at_ms > now_ms || crew->count == ACCEL_PROCESSES_MAX)
            return;
        if (event->process <= 0 || event->card != part->card ||
            (part->profile != NULL && event->instance != part->start) ||
            has_ended(sim, i, now_ms))
            continue;
        *process = (struct accel_process){ .pid = (pid_t)event->number,
                                           .used_mib = -1,
                                           .instance = event->instance };
        (void)snprintf(process->name, sizeof(process->name), "%s",
                       event->name);
        crew->count++;
    }
}

/* --- telling --- */

static size_t
take_due(struct sim *sim, struct accel_event list[ACCEL_EVENTS_MAX])
{
    int64_t now_ms = clock_mono_ms() - sim->opened_ms;
    size_t count = 0;

    while (count < ACCEL_EVENTS_MAX && sim->told < sim->event_count &&
           sim->events[sim->told].at_ms <= now_ms) {
        const struct sim_event *event = &sim->events[sim->told++];

        if (event->process != 0)
            continue;
        list[count] = (struct accel_event){ .kind = event->kind,
                                            .number = event->number,
                                            .instance = event->instance,
                                            .compute = -1 };
        (void)snprintf(list[count].uuid, sizeof(list[count].uuid), "%s",
                       event->card->card.uuid);
        count++;
    }
    return count;
}

int
sim_events(struct accel *accel, int wait_ms,
           struct accel_event list[ACCEL_EVENTS_MAX], size_t *count_out,
           struct error *err)
{
    struct sim *sim = accel->state;
    int64_t until_ms = clock_mono_ms() + wait_ms;

    (void)err;
    for (;;) {
        int64_t left_ms = until_ms - clock_mono_ms();

        *count_out = take_due(sim, list);
        if (*count_out > 0 || left_ms <= 0)
            return 0;
        (void)poll(NULL, 0, left_ms < 20 ? (int)left_ms : 20);
    }
}

/* --- slices --- */

struct listing {
    struct accel_slice *list;
    size_t count;
};

static int
add_slice(void *context, const struct sim_part *slice)
{
    struct listing *out = context;
    struct accel_slice *at = &out->list[out->count];
    char name[GEOMETRY_NAME_MAX];

    if (out->count == ACCEL_SLICES_MAX)
        return 1;
    *at = (struct accel_slice){
        .instance = slice->start,
        .compute = 0,
        .compute_units = (int32_t)(slice->card->card.compute_units *
                                   slice->profile->parts / slice->table->parts),
        .memory_mib = geometry_memory(slice->table, slice->profile,
                                      slice->card->card.memory_mib),
    };
    (void)snprintf(at->name, sizeof(at->name), "%.39s",
                   geometry_format(name, slice->profile->name, slice->start));
    out->count++;
    return 0;
}

int
sim_slices(struct accel *accel, const char *uuid,
           struct accel_slice list[ACCEL_SLICES_MAX], size_t *count_out,
           struct error *err)
{
    const struct sim_card *card = sim_find(accel, uuid, strlen(uuid), err);
    struct listing listing = { .list = list };

    if (card == NULL)
        return -1;
    (void)sim_each_slice(accel->state, card, add_slice, &listing);
    *count_out = listing.count;
    return 0;
}
