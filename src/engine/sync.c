/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/sync.h"

#include <assert.h>
#include <string.h>

#include "base/digest.h"
#include "base/id.h"
#include "base/json.h"
#include "engine/codec.h"
#include "engine/part.h"
#include "engine/message.h"

#define NUMBER_MAX (INT64_C(1) << 53)
#define AMOUNT (INT64_C(1) << 40)
#define ID_MAX (ID_TEXT_MAX - 1)

static const char *const health_words[] = { "unknown",  "healthy", "suspect",
                                            "degraded", "failed",  NULL };
static const char *const state_words[] = { "preparing", "starting",
                                           "running",   "exited",
                                           "failed",    "gone",
                                           NULL };
static const char *const volume_words[] = { "ready", "removed", "failed",
                                            NULL };

static const struct codec_field card_fields[] = {
    CODEC_FIELD(struct report_card, uuid, CODEC_ID, 0, 63),
    CODEC_FIELD(struct report_card, vendor, CODEC_TEXT, 0, 31),
    CODEC_FIELD(struct report_card, model, CODEC_TEXT, 0, 63),
    CODEC_FIELD(struct report_card, pci, CODEC_TEXT, 0, 31),
    CODEC_FIELD(struct report_card, driver, CODEC_TEXT, 0, 31),
    CODEC_FIELD(struct report_card, firmware, CODEC_TEXT, 0, 63),
    CODEC_FIELD(struct report_card, arch, CODEC_TEXT, 0, 31),
    CODEC_FIELD(struct report_card, serial, CODEC_TEXT, 0, 63),
    CODEC_FIELD(struct report_card, domain, CODEC_TEXT, 0, 63),
    CODEC_FIELD(struct report_card, runtime, CODEC_TEXT, 0, 31),
    CODEC_FIELD(struct report_card, features, CODEC_TEXT, 0, 127),
    CODEC_FIELD(struct report_card, island, CODEC_TEXT, 0, 31),
    CODEC_FIELD(struct report_card, bus, CODEC_TEXT, 0, 31),
    CODEC_FIELD(struct report_card, memory_mib, CODEC_INT, 1, AMOUNT),
    CODEC_FIELD(struct report_card, compute_units, CODEC_INT, 0, AMOUNT),
    CODEC_FIELD(struct report_card, numa, CODEC_INT, -1, 1024),
    CODEC_WORDS(struct report_card, health, health_words),
    CODEC_FIELD(struct report_card, health_reason, CODEC_TEXT, 0, 127),
    CODEC_FIELD(struct report_card, foreign, CODEC_INT, 0, 1 << 20),
    CODEC_FIELD(struct report_card, foreign_name, CODEC_TEXT, 0, 63),
    CODEC_FIELD(struct report_card, foreign_pid, CODEC_INT, 0, 1 << 30),
    CODEC_FIELD(struct report_card, foreign_uid, CODEC_INT, -1, NUMBER_MAX),
    CODEC_FIELD(struct report_card, sliced, CODEC_BOOL, 0, 0),
    CODEC_FIELD(struct report_card, layout, CODEC_TEXT, 0, 255),
    CODEC_FIELD(struct report_card, foreign_slices, CODEC_TEXT, 0, 255),
    CODEC_FIELD(struct report_card, change, CODEC_TEXT, 0, 255),
    CODEC_FIELD(struct report_card, change_failure, CODEC_TEXT, 0, 255),
};
static const struct codec card_codec = CODEC(struct report_card, card_fields);

static const struct codec_field inventory_fields[] = {
    CODEC_FIELD(struct report_inventory, simulated, CODEC_BOOL, 0, 0),
    CODEC_FIELD(struct report_inventory, cpu_milli, CODEC_INT, 1, AMOUNT),
    CODEC_FIELD(struct report_inventory, memory_mib, CODEC_INT, 1, AMOUNT),
    CODEC_FIELD(struct report_inventory, facts, CODEC_TEXT, 0,
                SYNC_FACTS_MAX),
    CODEC_FIELD(struct report_inventory, topology, CODEC_TEXT, 0,
                SYNC_TOPOLOGY_MAX),
    { .name = "cards", .type = CODEC_MINE },
};
static const struct codec inventory_codec =
    CODEC(struct report_inventory, inventory_fields);

static const struct codec_field instance_fields[] = {
    CODEC_FIELD(struct report_instance, instance, CODEC_ID, 0, ID_MAX),
    CODEC_FIELD(struct report_instance, incarnation, CODEC_INT, 1,
                NUMBER_MAX),
    CODEC_WORDS(struct report_instance, state, state_words),
    CODEC_FIELD(struct report_instance, failure, CODEC_TEXT, 0, 127),
    CODEC_FIELD(struct report_instance, retryable, CODEC_BOOL, 0, 0),
    CODEC_FIELD(struct report_instance, exit_code, CODEC_INT, 0, 255),
    CODEC_FIELD(struct report_instance, oom, CODEC_BOOL, 0, 0),
    CODEC_FIELD(struct report_instance, cpu_us, CODEC_INT, 0, NUMBER_MAX),
    CODEC_FIELD(struct report_instance, checkpoint_step, CODEC_INT, -1,
                NUMBER_MAX),
    CODEC_FIELD(struct report_instance, checkpoint_ms, CODEC_INT, 0,
                NUMBER_MAX),
    CODEC_FIELD(struct report_instance, cpus, CODEC_TEXT, 0, 255),
    CODEC_FIELD(struct report_instance, mems, CODEC_TEXT, 0, 63),
    CODEC_FIELD(struct report_instance, nics, CODEC_TEXT, 0, 255),
    CODEC_FIELD(struct report_instance, pinned, CODEC_BOOL, 0, 0),
    { .name = "cards", .type = CODEC_MINE },
    { .name = "use", .type = CODEC_MINE },
};
static const struct codec instance_codec =
    CODEC(struct report_instance, instance_fields);

static const struct codec_field use_fields[] = {
    CODEC_FIELD(struct report_use, ms, CODEC_INT, 1, 3600000),
    CODEC_FIELD(struct report_use, cpu_us, CODEC_INT, 0, AMOUNT),
    CODEC_FIELD(struct report_use, wait_us, CODEC_INT, 0, AMOUNT),
    CODEC_FIELD(struct report_use, io_kib, CODEC_INT, 0, AMOUNT),
    CODEC_FIELD(struct report_use, network_kib, CODEC_INT, 0, AMOUNT),
    CODEC_FIELD(struct report_use, card_permille, CODEC_INT, -1, 1000000),
};
static const struct codec use_codec = CODEC(struct report_use, use_fields);

static const struct codec_field release_fields[] = {
    CODEC_FIELD(struct report_release, instance, CODEC_ID, 0, ID_MAX),
    CODEC_FIELD(struct report_release, incarnation, CODEC_INT, 1,
                NUMBER_MAX),
    { .name = "cards", .type = CODEC_MINE },
};
static const struct codec release_codec =
    CODEC(struct report_release, release_fields);

static const struct codec_field step_fields[] = {
    CODEC_FIELD(struct report_step, step, CODEC_ID, 0, 15),
    CODEC_FIELD(struct report_step, from_ms, CODEC_INT, 0, NUMBER_MAX),
    CODEC_FIELD(struct report_step, to_ms, CODEC_INT, 0, NUMBER_MAX),
    CODEC_FIELD(struct report_step, good, CODEC_BOOL, 0, 0),
    CODEC_FIELD(struct report_step, text, CODEC_TEXT, 0, 127),
};
static const struct codec step_codec = CODEC(struct report_step, step_fields);

static const struct codec_field scrub_fields[] = {
    CODEC_FIELD(struct report_scrub, uuid, CODEC_PART, 0,
                PART_TEXT_MAX - 1),
    CODEC_FIELD(struct report_scrub, verified, CODEC_BOOL, 0, 0),
    CODEC_FIELD(struct report_scrub, text, CODEC_TEXT, 0, 127),
    { .name = "steps", .type = CODEC_MINE },
};
static const struct codec scrub_codec =
    CODEC(struct report_scrub, scrub_fields);

static const struct codec_field volume_fields[] = {
    CODEC_FIELD(struct report_volume, volume, CODEC_ID, 0, ID_MAX),
    CODEC_WORDS(struct report_volume, state, volume_words),
    CODEC_FIELD(struct report_volume, failure, CODEC_TEXT, 0, 127),
};
static const struct codec volume_codec =
    CODEC(struct report_volume, volume_fields);

static const struct codec_field log_fields[] = {
    CODEC_FIELD(struct report_log, request, CODEC_INT, 1, NUMBER_MAX),
    { .name = "bytes", .type = CODEC_MINE },
    CODEC_FIELD(struct report_log, next, CODEC_INT, 0, NUMBER_MAX),
    CODEC_FIELD(struct report_log, complete, CODEC_BOOL, 0, 0),
    CODEC_FIELD(struct report_log, truncated, CODEC_BOOL, 0, 0),
    CODEC_FIELD(struct report_log, failure, CODEC_TEXT, 0, 127),
};
static const struct codec log_codec = CODEC(struct report_log, log_fields);

static const struct codec_field event_fields[] = {
    CODEC_FIELD(struct report_event, xid, CODEC_INT, 0, NUMBER_MAX),
    CODEC_FIELD(struct report_event, pid, CODEC_INT, -1, NUMBER_MAX),
    CODEC_FIELD(struct report_event, instance, CODEC_INT, -1, 1024),
    CODEC_FIELD(struct report_event, slice, CODEC_TEXT, 0, 39),
    CODEC_FIELD(struct report_event, first_ms, CODEC_INT, 0, NUMBER_MAX),
    CODEC_FIELD(struct report_event, last_ms, CODEC_INT, 0, NUMBER_MAX),
    CODEC_FIELD(struct report_event, count, CODEC_INT, 1, NUMBER_MAX),
    CODEC_FIELD(struct report_event, has_words, CODEC_BOOL, 0, 0),
    CODEC_FIELD(struct report_event, word, CODEC_INT, 0, UINT32_MAX),
    CODEC_FIELD(struct report_event, status, CODEC_INT, 0, UINT32_MAX),
};
static const struct codec event_codec =
    CODEC(struct report_event, event_fields);

static const struct codec_field look_fields[] = {
    CODEC_FIELD(struct report_look, uuid, CODEC_ID, 0, 63),
    CODEC_FIELD(struct report_look, age_ms, CODEC_INT, -1, NUMBER_MAX),
    CODEC_WORDS(struct report_look, health, health_words),
    CODEC_FIELD(struct report_look, health_reason, CODEC_TEXT, 0, 127),
    CODEC_FIELD(struct report_look, asks_nothing, CODEC_BOOL, 0, 0),
    CODEC_FIELD(struct report_look, has_rows, CODEC_BOOL, 0, 0),
    CODEC_FIELD(struct report_look, clean, CODEC_INT, 0, NUMBER_MAX),
    CODEC_FIELD(struct report_look, temperature_c, CODEC_INT, -1000, 1000),
    CODEC_FIELD(struct report_look, power_mw, CODEC_INT, -1, AMOUNT),
    CODEC_FIELD(struct report_look, busy_permille, CODEC_INT, -1, 1000),
    CODEC_FIELD(struct report_look, memory_used_mib, CODEC_INT, -1, AMOUNT),
    CODEC_FIELD(struct report_look, ecc_corrected, CODEC_INT, -1, NUMBER_MAX),
    CODEC_FIELD(struct report_look, ecc_uncorrected, CODEC_INT, -1,
                NUMBER_MAX),
    CODEC_FIELD(struct report_look, clock_reasons, CODEC_INT, -1, NUMBER_MAX),
    { .name = "events", .type = CODEC_MINE },
};
static const struct codec look_codec = CODEC(struct report_look, look_fields);

static const struct codec_field sync_fields[] = {
    { .name = "protocol", .type = CODEC_MINE },
    CODEC_FIELD(struct sync, known, CODEC_TEXT, 0, 64),
    CODEC_FIELD(struct sync, wait_ms, CODEC_INT, 0, MESSAGE_WAIT_MAX_MS),
    CODEC_FIELD(struct sync, challenge, CODEC_TEXT, 0,
                MESSAGE_CHALLENGE_MAX),
    { .name = "ready",
      .type = CODEC_BOOL,
      .offset = offsetof(struct sync, report.ready) },
    { .name = "inventory", .type = CODEC_MINE },
    { .name = "instances", .type = CODEC_MINE },
    { .name = "releases", .type = CODEC_MINE },
    { .name = "scrubs", .type = CODEC_MINE },
    { .name = "volumes", .type = CODEC_MINE },
    { .name = "logs", .type = CODEC_MINE },
    { .name = "looks", .type = CODEC_MINE },
};
static const struct codec sync_codec = CODEC(struct sync, sync_fields);

static void
write_instance(json_t *item, const void *record)
{
    const struct report_instance *instance = record;

    if (instance->card_count > 0)
        (void)json_object_set_new(item, "cards",
                                  codec_write_ids(instance->cards,
                                                  instance->card_count));
    if (instance->use.ms > 0)
        (void)json_object_set_new(item, "use",
                                  codec_write(&use_codec, &instance->use));
}

static void
write_release(json_t *item, const void *record)
{
    const struct report_release *release = record;

    (void)json_object_set_new(
        item, "cards", codec_write_ids(release->cards, release->card_count));
}

static void
write_scrub(json_t *item, const void *record)
{
    const struct report_scrub *scrub = record;

    (void)json_object_set_new(item, "steps",
                              codec_write_list(&step_codec, scrub->steps,
                                               scrub->step_count, NULL));
}

static void
write_log(json_t *item, const void *record)
{
    const struct report_log *log = record;
    scoped_buffer text = { 0 };

    base64_encode(&text, log->bytes, log->size);
    (void)json_object_set_new(item, "bytes", json_string(buffer_text(&text)));
}

static void
write_look(json_t *item, const void *record)
{
    const struct report_look *look = record;

    (void)json_object_set_new(item, "events",
                              codec_write_list(&event_codec, look->events,
                                               look->event_count, NULL));
}

static json_t *
write_inventory(const struct report_inventory *inventory)
{
    json_t *object;

    if (inventory == NULL)
        return json_null();
    object = codec_write(&inventory_codec, inventory);
    (void)json_object_set_new(object, "cards",
                              codec_write_list(&card_codec, inventory->cards,
                                               inventory->card_count, NULL));
    return object;
}

static void
write_lists(json_t *object, const struct report *report)
{
    (void)json_object_set_new(object, "inventory",
                              write_inventory(report->inventory));
    (void)json_object_set_new(
        object, "instances",
        report->instances_known
            ? codec_write_list(&instance_codec, report->instances,
                               report->instance_count, write_instance)
            : json_null());
    (void)json_object_set_new(
        object, "releases",
        codec_write_list(&release_codec, report->releases,
                         report->release_count, write_release));
    (void)json_object_set_new(object, "scrubs",
                              codec_write_list(&scrub_codec, report->scrubs,
                                               report->scrub_count,
                                               write_scrub));
    (void)json_object_set_new(
        object, "volumes",
        codec_write_list(&volume_codec, report->volumes,
                         report->volume_count, NULL));
    (void)json_object_set_new(object, "logs",
                              codec_write_list(&log_codec, report->logs,
                                               report->log_count, write_log));
    (void)json_object_set_new(
        object, "looks",
        codec_write_list(&look_codec, report->looks, report->look_count,
                         write_look));
}

void
sync_write(struct buffer *out, const struct sync *sync)
{
    scoped_json object = codec_write(&sync_codec, sync);

    (void)json_object_set_new(object, "protocol",
                              json_integer(MESSAGE_PROTOCOL));
    write_lists(object, &sync->report);
    json_write(out, object);
}

static int
read_instance(struct arena *arena, const json_t *item, void *record,
              struct error *err)
{
    struct report_instance *instance = record;
    const json_t *use = json_object_get(item, "use");

    if (use != NULL &&
        codec_read(arena, &use_codec, use, &instance->use, err) != 0)
        return error_prefix(err, "use");
    if (json_object_get(item, "cards") == NULL)
        return 0;
    return codec_read_ids(arena, item, "cards", REPORT_CARDS_MAX, 63,
                          &instance->cards, &instance->card_count, err);
}

static int
read_release(struct arena *arena, const json_t *item, void *record,
             struct error *err)
{
    struct report_release *release = record;

    return codec_read_ids(arena, item, "cards", REPORT_CARDS_MAX,
                          PART_TEXT_MAX - 1,
                          &release->cards, &release->card_count, err);
}

static const struct codec_list step_list = { "steps", &step_codec,
                                             REPORT_STEPS_MAX, NULL };

static int
read_scrub(struct arena *arena, const json_t *item, void *record,
           struct error *err)
{
    struct report_scrub *scrub = record;
    void *steps;

    if (codec_read_list(arena, &step_list, item, &steps, &scrub->step_count,
                        err) != 0)
        return -1;
    scrub->steps = steps;
    return 0;
}

static int
read_log(struct arena *arena, const json_t *item, void *record,
         struct error *err)
{
    struct report_log *log = record;
    const char *text = "";
    char *bytes;
    int size;

    if (json_text(item, "bytes", true, REPORT_LOG_BYTES_MAX * 4 / 3 + 4,
                  &text, err) != 0)
        return -1;
    bytes = arena_alloc(arena, REPORT_LOG_BYTES_MAX + 3);
    size = base64_decode(text, strlen(text), bytes, REPORT_LOG_BYTES_MAX);
    if (size < 0)
        return error_field(err, "/bytes",
                           "field \"bytes\" is not base64 of at most %d bytes",
                           REPORT_LOG_BYTES_MAX);
    log->bytes = bytes;
    log->size = (size_t)size;
    return 0;
}

static const struct codec_list event_list = { "events", &event_codec,
                                              REPORT_EVENTS_MAX, NULL };

static int
read_look(struct arena *arena, const json_t *item, void *record,
          struct error *err)
{
    struct report_look *look = record;
    void *events;

    if (codec_read_list(arena, &event_list, item, &events, &look->event_count,
                        err) != 0)
        return -1;
    look->events = events;
    return 0;
}

static const struct codec_list look_list = { "looks", &look_codec,
                                             REPORT_CARDS_MAX, read_look };
static const struct codec_list card_list = { "cards", &card_codec,
                                             REPORT_CARDS_MAX, NULL };
static const struct codec_list instance_list = { "instances",
                                                 &instance_codec,
                                                 REPORT_INSTANCES_MAX,
                                                 read_instance };
static const struct codec_list release_list = { "releases", &release_codec,
                                                REPORT_INSTANCES_MAX,
                                                read_release };
static const struct codec_list scrub_list = { "scrubs", &scrub_codec,
                                              REPORT_CARDS_MAX, read_scrub };
static const struct codec_list volume_list = { "volumes", &volume_codec,
                                               REPORT_VOLUMES_MAX, NULL };
static const struct codec_list log_list = { "logs", &log_codec,
                                            REPORT_LOGS_MAX, read_log };

static int
read_inventory(struct arena *arena, const json_t *object,
               struct report *report, struct error *err)
{
    const json_t *item = json_object_get(object, "inventory");
    struct report_inventory *inventory;
    void *cards;

    if (item == NULL || json_is_null(item))
        return 0;
    inventory = arena_alloc(arena, sizeof(*inventory));
    if (codec_read(arena, &inventory_codec, item, inventory, err) != 0 ||
        codec_read_list(arena, &card_list, item, &cards,
                        &inventory->card_count, err) != 0)
        return error_prefix(err, "inventory");
    inventory->cards = cards;
    report->inventory = inventory;
    return 0;
}

static int
read_instances(struct arena *arena, const json_t *object,
               struct report *report, struct error *err)
{
    const json_t *item = json_object_get(object, "instances");
    void *list;

    if (codec_read_list(arena, &instance_list, object, &list,
                        &report->instance_count, err) != 0)
        return -1;
    report->instances = list;
    report->instances_known = item != NULL && !json_is_null(item);
    return 0;
}

static int
read_lists(struct arena *arena, const json_t *object, struct report *report,
           struct error *err)
{
    void *releases, *scrubs, *volumes, *logs, *looks;

    if (codec_read_list(arena, &release_list, object, &releases,
                        &report->release_count, err) != 0 ||
        codec_read_list(arena, &scrub_list, object, &scrubs,
                        &report->scrub_count, err) != 0 ||
        codec_read_list(arena, &volume_list, object, &volumes,
                        &report->volume_count, err) != 0 ||
        codec_read_list(arena, &log_list, object, &logs, &report->log_count,
                        err) != 0 ||
        codec_read_list(arena, &look_list, object, &looks,
                        &report->look_count, err) != 0)
        return -1;
    report->releases = releases;
    report->scrubs = scrubs;
    report->volumes = volumes;
    report->logs = logs;
    report->looks = looks;
    return 0;
}

int
sync_parse(struct arena *arena, const char *bytes, size_t size,
           struct sync *sync_out, struct error *err)
{
    scoped_json object = json_read(bytes, size, err);
    struct sync sync = { 0 };
    int64_t protocol;

    if (object == NULL)
        return -1;
    if (json_int(object, "protocol", true, MESSAGE_PROTOCOL,
                 MESSAGE_PROTOCOL, &protocol, err) != 0 ||
        codec_read(arena, &sync_codec, object, &sync, err) != 0 ||
        read_inventory(arena, object, &sync.report, err) != 0 ||
        read_instances(arena, object, &sync.report, err) != 0 ||
        read_lists(arena, object, &sync.report, err) != 0)
        return -1;
    *sync_out = sync;
    return 0;
}
