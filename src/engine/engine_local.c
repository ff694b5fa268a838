/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine_local.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "engine/runner_message.h"
#include "engine/runner_request.h"
#include "engine/sync.h"

/* Kills and removals wait for processes to be gone; an image may be large. */
#define CALL_MS 30000
#define START_MS 600000
/* A wait, a reset, a scrub and another wait, each with its own bound. */
#define SCRUB_MS 1800000

struct engine_local {
    struct engine engine;
    char *socket_path;
};

static int
call(struct engine *engine, json_t *request, int timeout_ms,
     json_t **result_out, struct error *err)
{
    const struct engine_local *local = (const struct engine_local *)engine;
    scoped_fd fd = runner_message_connect(local->socket_path, err);

    if (fd < 0) {
        json_decref(request);
        return -1;
    }
    return runner_message_call(fd, request, timeout_ms, result_out, err);
}

static json_t *
make(const char *op)
{
    json_t *request = json_object();

    assert(request != NULL);
    (void)json_object_set_new(request, "op", json_string(op));
    return request;
}

static json_t *
make_for(const char *op, const char *instance, int64_t incarnation)
{
    json_t *request = make(op);

    (void)json_object_set_new(request, "instance", json_string(instance));
    (void)json_object_set_new(request, "incarnation",
                              json_integer(incarnation));
    return request;
}

static int
call_for(struct engine *engine, const char *op, const char *instance,
         int64_t incarnation, struct error *err)
{
    scoped_json result = NULL;

    return call(engine, make_for(op, instance, incarnation), CALL_MS, &result,
                err);
}

/* --- reading what the runner says --- */

/* Texts of the runner, "" when absent, cut to what a report can carry. */
static const char *
text_of(struct arena *arena, const json_t *object, const char *key,
        size_t max)
{
    const char *text = json_string_value(json_object_get(object, key));
    char *copy;

    if (text == NULL)
        return "";
    copy = arena_strndup(arena, text, strnlen(text, max));
    for (char *at = copy; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            *at = ' ';
    return copy;
}

static int64_t
number_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static enum report_state
state_of(const char *text)
{
    if (strcmp(text, "starting") == 0)
        return REPORT_STARTING;
    if (strcmp(text, "running") == 0)
        return REPORT_RUNNING;
    if (strcmp(text, "exited") == 0)
        return REPORT_EXITED;
    return REPORT_START_FAILED;
}

static void
read_cards(struct arena *arena, const json_t *list,
           struct report_instance *out)
{
    size_t count = json_array_size(list);
    const char **uuids;

    if (count > REPORT_CARDS_MAX)
        count = REPORT_CARDS_MAX;
    uuids = arena_alloc(arena, (count + 1) * sizeof(*uuids));
    for (size_t i = 0; i < count; i++) {
        const char *uuid = json_string_value(json_array_get(list, i));

        if (uuid != NULL)
            uuids[out->card_count++] = arena_strdup(arena, uuid);
    }
    out->cards = uuids;
}

static void
read_record(struct arena *arena, const json_t *record,
            struct report_instance *out)
{
    const json_t *checkpoint = json_object_get(record, "checkpoint");
    const json_t *cap = json_object_get(record, "cap");

    *out = (struct report_instance){
        .instance = text_of(arena, record, "instance", ID_TEXT_MAX - 1),
        .incarnation = number_of(record, "incarnation"),
        .state = state_of(text_of(arena, record, "state", 16)),
        .failure = text_of(arena, record, "reason", 127),
        .exit_code = number_of(record, "exit_code"),
        .oom = json_is_true(json_object_get(record, "oom")),
        .cpu_us = number_of(record, "cpu_us"),
        .cpus = text_of(arena, record, "cpus", 255),
        .mems = text_of(arena, record, "mems", 63),
        .nics = text_of(arena, record, "nics", 255),
        .pinned = json_is_true(json_object_get(record, "pinned")),
        .checkpoint_step = -1,
        .cap = { number_of(cap, "cpu_milli"), number_of(cap, "io_kib"),
                 number_of(cap, "network_kib") },
    };
    read_cards(arena, json_object_get(record, "cards"), out);
    if (json_is_object(checkpoint)) {
        out->checkpoint_step = number_of(checkpoint, "step");
        out->checkpoint_ms = number_of(checkpoint, "time_ms");
    }
}

static int
local_observe(struct engine *engine, int64_t revision, int wait_ms,
              struct arena *arena, struct engine_view *view_out,
              struct error *err)
{
    json_t *request = make("wait");
    scoped_json result = NULL;
    struct report_instance *list;
    const json_t *records;
    size_t count;

    (void)json_object_set_new(request, "revision", json_integer(revision));
    (void)json_object_set_new(request, "timeout_ms", json_integer(wait_ms));
    if (call(engine, request, wait_ms + CALL_MS, &result, err) != 0)
        return -1;
    records = json_object_get(result, "instances");
    count = json_array_size(records);
    if (count > REPORT_INSTANCES_MAX)
        count = REPORT_INSTANCES_MAX;
    list = arena_alloc(arena, count * sizeof(*list));
    for (size_t i = 0; i < count; i++)
        read_record(arena, json_array_get(records, i), &list[i]);
    *view_out = (struct engine_view){
        .revision = number_of(result, "revision"),
        .boot = text_of(arena, result, "boot_id", 40),
        .instances = list,
        .count = count,
    };
    return 0;
}

/* --- inventory --- */

static enum report_health
health_of(const char *text)
{
    static const char *const words[] = { "unknown", "healthy", "suspect",
                                         "degraded", "failed" };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i], text) == 0)
            return (enum report_health)i;
    return REPORT_UNKNOWN;
}

static void
count_foreign(struct arena *arena, const json_t *card,
              struct report_card *out)
{
    const json_t *processes = json_object_get(card, "processes");

    out->foreign_name = "";
    for (size_t i = 0; i < json_array_size(processes); i++) {
        const json_t *process = json_array_get(processes, i);

        if (strcmp(text_of(arena, process, "owner", 64), "foreign") != 0)
            continue;
        if (out->foreign++ > 0)
            continue;
        out->foreign_name = text_of(arena, process, "name", 63);
        out->foreign_pid = number_of(process, "pid");
        out->foreign_uid = number_of(process, "uid");
    }
}

/* An island is a number or a word. */
static const char *
island_of(struct arena *arena, const json_t *card)
{
    const json_t *island = json_object_get(card, "island");

    if (json_is_integer(island) && json_integer_value(island) < 0)
        return ""; /* none */
    if (json_is_integer(island))
        return arena_printf(arena, "%lld",
                            (long long)json_integer_value(island));
    return text_of(arena, card, "island", 31);
}

static void
read_card(struct arena *arena, const json_t *card, struct report_card *out)
{
    *out = (struct report_card){
        .uuid = text_of(arena, card, "uuid", 63),
        .vendor = text_of(arena, card, "vendor", 31),
        .model = text_of(arena, card, "model", 63),
        .pci = text_of(arena, card, "pci", 31),
        .driver = text_of(arena, card, "driver", 31),
        .firmware = text_of(arena, card, "firmware", 63),
        .arch = text_of(arena, card, "arch", 31),
        .serial = text_of(arena, card, "serial", 63),
        .domain = text_of(arena, card, "domain", 63),
        .runtime = text_of(arena, card, "runtime", 31),
        .features = text_of(arena, card, "features", 127),
        .island = island_of(arena, card),
        .bus = text_of(arena, card, "bus", 31),
        .memory_mib = number_of(card, "memory_mib"),
        .compute_units = number_of(card, "compute_units"),
        .numa = number_of(card, "numa"),
        .health = health_of(text_of(arena, card, "health", 16)),
        .health_reason = text_of(arena, card, "health_reason", 127),
        .sliced = json_is_true(json_object_get(card, "sliced")),
        .layout = text_of(arena, card, "layout", 255),
        .foreign_slices = text_of(arena, card, "foreign_slices", 255),
        .change = text_of(arena, card, "change", 255),
        .change_failure = text_of(arena, card, "change_failure", 255),
    };
    count_foreign(arena, card, out);
}

/* --- looks --- */

static void
read_event(struct arena *arena, const json_t *event, struct report_event *out)
{
    *out = (struct report_event){
        .xid = number_of(event, "xid"),
        .pid = number_of(event, "pid"),
        .instance = number_of(event, "instance"),
        .slice = text_of(arena, event, "slice", 39),
        .first_ms = number_of(event, "first_ms"),
        .last_ms = number_of(event, "last_ms"),
        .count = number_of(event, "count"),
        .has_words = json_is_true(json_object_get(event, "has_words")),
        .word = number_of(event, "word"),
        .status = number_of(event, "status"),
    };
}

static void
read_events(struct arena *arena, const json_t *list, struct report_look *out)
{
    size_t count = json_array_size(list);
    struct report_event *events;

    if (count > REPORT_EVENTS_MAX)
        count = REPORT_EVENTS_MAX;
    events = arena_alloc(arena, (count + 1) * sizeof(*events));
    for (size_t i = 0; i < count; i++)
        read_event(arena, json_array_get(list, i), &events[i]);
    out->events = events;
    out->event_count = count;
}

static void
read_look(struct arena *arena, const json_t *card,
          const struct report_card *fact, struct report_look *out)
{
    const json_t *look = json_object_get(card, "look");

    *out = (struct report_look){
        .uuid = fact->uuid,
        .health = fact->health,
        .health_reason = fact->health_reason,
        .asks_nothing = json_is_true(json_object_get(look, "asks_nothing")),
        .has_rows = json_is_true(json_object_get(look, "has_rows")),
        .clean = number_of(look, "clean"),
        .temperature_c = number_of(look, "temperature_c"),
        .power_mw = number_of(look, "power_mw"),
        .busy_permille = number_of(look, "busy_permille"),
        .memory_used_mib = number_of(look, "memory_used_mib"),
        .ecc_corrected = number_of(look, "ecc_corrected"),
        .ecc_uncorrected = number_of(look, "ecc_uncorrected"),
        .clock_reasons = number_of(look, "clock_reasons"),
    };
    read_events(arena, json_object_get(look, "events"), out);
}

/* What the node is, in words; what changes all the time stays out. */
static const char *
make_facts(struct arena *arena, const json_t *node)
{
    static const char *const keys[] = { "cgroup",  "kernel", "version",
                                        "runtime", "monitor", "accel",
                                        "limits", "images" };
    scoped_json facts = json_object();
    scoped_buffer bytes = { 0 };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (json_object_get(node, keys[i]) != NULL)
            (void)json_object_set(facts, keys[i],
                                  json_object_get(node, keys[i]));
    json_write(&bytes, facts);
    return arena_strdup(arena, buffer_text(&bytes));
}

/* "" when the runner does not tell it. */
static const char *
make_topology(struct arena *arena, const json_t *node)
{
    const json_t *topology = json_object_get(node, "topology");
    scoped_buffer bytes = { 0 };

    if (!json_is_object(topology))
        return "";
    json_write(&bytes, topology);
    return bytes.size <= SYNC_TOPOLOGY_MAX
               ? arena_strdup(arena, buffer_text(&bytes))
               : "";
}

static int
local_inventory(struct engine *engine, struct arena *arena,
                struct report_inventory *inventory_out, struct error *err)
{
    scoped_json node = NULL;
    scoped_json result = NULL;
    struct report_card *list;
    struct report_look *looks;
    const json_t *cards;
    size_t count;

    if (call(engine, make("node"), CALL_MS, &node, err) != 0 ||
        call(engine, make("cards"), CALL_MS, &result, err) != 0)
        return -1;
    cards = json_object_get(result, "cards");
    count = json_array_size(cards);
    if (count > REPORT_CARDS_MAX)
        count = REPORT_CARDS_MAX;
    list = arena_alloc(arena, count * sizeof(*list));
    looks = arena_alloc(arena, (count + 1) * sizeof(*looks));
    for (size_t i = 0; i < count; i++) {
        read_card(arena, json_array_get(cards, i), &list[i]);
        read_look(arena, json_array_get(cards, i), &list[i], &looks[i]);
    }
    *inventory_out = (struct report_inventory){
        .simulated = json_is_true(json_object_get(node, "simulated")),
        .cpu_milli = number_of(node, "cpus") * 1000,
        .memory_mib = number_of(node, "memory_mib"),
        .facts = make_facts(arena, node),
        .topology = make_topology(arena, node),
        .cards = list,
        .card_count = count,
        .looks = looks,
        .look_count = count,
    };
    return 0;
}

/* --- instances --- */

/* Gives an image that was named without a digest the one that is there. */
static int
resolve_image(struct engine *engine, json_t *start, struct error *err)
{
    json_t *image = json_object_get(start, "image");
    const char *name = json_string_value(json_object_get(image, "name"));
    scoped_json result = NULL;
    const json_t *list;

    if (name == NULL)
        return error_set(err, ERROR_INVALID, "the image has no name");
    if (json_object_get(image, "digest") != NULL)
        return 0;
    if (call(engine, make("image_list"), CALL_MS, &result, err) != 0)
        return -1;
    list = json_object_get(result, "images");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *found = json_string_value(json_object_get(item, "name"));

        if (found != NULL && strcmp(found, name) == 0) {
            (void)json_object_set(image, "digest",
                                  json_object_get(item, "digest"));
            return 0;
        }
    }
    return error_set(err, ERROR_NOT_FOUND, "no image \"%s\" on the node",
                     name);
}

static int
local_apply(struct engine *engine, const struct order_instance *wanted,
            struct error *err)
{
    json_t *request = json_deep_copy(wanted->start);
    scoped_json result = NULL;

    assert(request != NULL);
    if (resolve_image(engine, request, err) != 0) {
        json_decref(request);
        return -1;
    }
    (void)json_object_set_new(request, "op", json_string("start"));
    (void)json_object_set_new(request, "instance",
                              json_string(wanted->instance));
    (void)json_object_set_new(request, "incarnation",
                              json_integer(wanted->incarnation));
    (void)json_object_set_new(request, "tenant",
                              json_integer(wanted->tenant));
    return call(engine, request, START_MS, &result, err);
}

static int
local_notice(struct engine *engine, const char *instance,
             int64_t incarnation, const char *reason, int64_t deadline_ms,
             struct error *err)
{
    json_t *request = make_for("notice", instance, incarnation);
    scoped_json result = NULL;

    (void)json_object_set_new(request, "reason", json_string(reason));
    (void)json_object_set_new(request, "deadline_ms",
                              json_integer(deadline_ms));
    return call(engine, request, CALL_MS, &result, err);
}

static int
local_gang(struct engine *engine, const char *instance, int64_t incarnation,
           const json_t *gang, struct error *err)
{
    json_t *request = make_for("gang", instance, incarnation);
    scoped_json result = NULL;

    (void)json_object_set(request, "gang", (json_t *)(uintptr_t)gang);
    return call(engine, request, CALL_MS, &result, err);
}

static int
local_cap(struct engine *engine, const char *instance, int64_t incarnation,
          const struct report_cap *cap, struct error *err)
{
    json_t *request = make_for("cap", instance, incarnation);
    scoped_json result = NULL;

    (void)json_object_set_new(request, "cpu_milli",
                              json_integer(cap->cpu_milli));
    (void)json_object_set_new(request, "io_kib", json_integer(cap->io_kib));
    (void)json_object_set_new(request, "network_kib",
                              json_integer(cap->network_kib));
    return call(engine, request, CALL_MS, &result, err);
}

static void
read_sample(struct arena *arena, const json_t *row, struct engine_sample *out)
{
    *out = (struct engine_sample){
        .instance = text_of(arena, row, "instance", ID_TEXT_MAX - 1),
        .incarnation = number_of(row, "incarnation"),
        .cpu_us = number_of(row, "cpu_us"),
        .wait_us = number_of(row, "wait_us"),
        .io_bytes =
            number_of(row, "read_bytes") + number_of(row, "written_bytes"),
        .network_bytes =
            number_of(row, "received_bytes") + number_of(row, "sent_bytes"),
        .card_permille = number_of(row, "card_permille"),
    };
}

static int
local_samples(struct engine *engine, bool cards, struct arena *arena,
              struct engine_samples *samples_out, struct error *err)
{
    json_t *request = make("samples");
    scoped_json result = NULL;
    struct engine_sample *list;
    const json_t *rows;
    size_t count;

    (void)json_object_set_new(request, "cards", json_boolean(cards));
    if (call(engine, request, CALL_MS, &result, err) != 0)
        return -1;
    rows = json_object_get(result, "instances");
    count = json_array_size(rows);
    if (count > REPORT_INSTANCES_MAX)
        count = REPORT_INSTANCES_MAX;
    list = arena_alloc(arena, (count + 1) * sizeof(*list));
    for (size_t i = 0; i < count; i++)
        read_sample(arena, json_array_get(rows, i), &list[i]);
    *samples_out = (struct engine_samples){
        .time_ms = number_of(result, "time_ms"), .list = list, .count = count
    };
    return 0;
}

static int
local_terminate(struct engine *engine, const char *instance,
                int64_t incarnation, struct error *err)
{
    json_t *request = make_for("signal", instance, incarnation);
    scoped_json result = NULL;

    (void)json_object_set_new(request, "signal", json_string("TERM"));
    return call(engine, request, CALL_MS, &result, err);
}

static int
local_kill(struct engine *engine, const char *instance, int64_t incarnation,
           struct error *err)
{
    return call_for(engine, "kill", instance, incarnation, err);
}

static int
local_remove(struct engine *engine, const char *instance,
             int64_t incarnation, struct error *err)
{
    return call_for(engine, "remove", instance, incarnation, err);
}

static int
local_released(struct engine *engine, const char *instance,
               int64_t incarnation, bool *released_out, struct error *err)
{
    scoped_json result = NULL;

    if (call(engine, make_for("release_check", instance, incarnation),
             CALL_MS, &result, err) != 0)
        return -1;
    *released_out = json_is_true(json_object_get(result, "released"));
    return 0;
}

/* --- volumes, cards, logs --- */

static int
local_volume(struct engine *engine, const struct order_volume *wanted,
             struct error *err)
{
    json_t *request =
        make(wanted->remove ? "volume_remove" : "volume_create");
    scoped_json result = NULL;

    (void)json_object_set_new(request, "id", json_string(wanted->volume));
    if (!wanted->remove) {
        (void)json_object_set_new(request, "tenant",
                                  json_integer(wanted->tenant));
        (void)json_object_set_new(request, "size_mib",
                                  json_integer(wanted->size_mib));
    }
    return call(engine, request, START_MS, &result, err);
}

static void
read_steps(struct arena *arena, const json_t *list, struct engine_scrub *out)
{
    for (size_t i = 0; i < json_array_size(list) && i < REPORT_STEPS_MAX; i++) {
        const json_t *item = json_array_get(list, i);
        struct engine_step *step = &out->steps[out->count++];

        *step = (struct engine_step){
            .from_ms = number_of(item, "from_ms"),
            .to_ms = number_of(item, "to_ms"),
            .good = json_is_true(json_object_get(item, "good")),
        };
        (void)snprintf(step->step, sizeof(step->step), "%s",
                       text_of(arena, item, "step", 15));
        (void)snprintf(step->text, sizeof(step->text), "%s",
                       text_of(arena, item, "text", 127));
    }
}

static int
local_scrub(struct engine *engine, const char *uuid,
            struct engine_scrub *scrub_out, struct error *err)
{
    scoped_arena arena = arena_new();
    json_t *request = make("card_scrub");
    scoped_json result = NULL;

    *scrub_out = (struct engine_scrub){ 0 };
    (void)json_object_set_new(request, "uuid", json_string(uuid));
    if (call(engine, request, SCRUB_MS, &result, err) != 0)
        return -1;
    read_steps(arena, json_object_get(result, "steps"), scrub_out);
    (void)snprintf(scrub_out->text, sizeof(scrub_out->text), "%s",
                   text_of(arena, result, "text", 127));
    return json_is_true(json_object_get(result, "verified"))
               ? 0
               : error_set(err, ERROR_VERIFY, "%s", scrub_out->text);
}

static int
local_log(struct engine *engine, const char *instance, int64_t incarnation,
          int64_t offset, int64_t max, struct engine_log *log_out,
          struct error *err)
{
    json_t *request = make_for("log", instance, incarnation);
    scoped_json result = NULL;
    const char *text;
    char *bytes;
    int size;

    (void)json_object_set_new(request, "offset", json_integer(offset));
    (void)json_object_set_new(request, "max", json_integer(max));
    if (call(engine, request, CALL_MS, &result, err) != 0)
        return -1;
    text = json_string_value(json_object_get(result, "bytes"));
    bytes = memory_new((size_t)max + 3, 1);
    size = text != NULL
               ? base64_decode(text, strlen(text), bytes, (size_t)max)
               : -1;
    if (size >= 0)
        buffer_add(&log_out->bytes, bytes, (size_t)size);
    free(bytes);
    if (size < 0)
        return error_set(err, ERROR_INTERNAL,
                         "the runner gave a log that is not base64");
    log_out->next = number_of(result, "next");
    log_out->complete = json_is_true(json_object_get(result, "complete"));
    log_out->truncated = json_is_true(json_object_get(result, "truncated"));
    return 0;
}

static void
local_close(struct engine *engine)
{
    struct engine_local *local = (struct engine_local *)engine;

    free(local->socket_path);
    free(local);
}

static const struct engine_ops local_ops = {
    .name = "local",
    .capabilities = ENGINE_CARDS | ENGINE_VOLUMES | ENGINE_NETWORKS |
                    ENGINE_NOTICE | ENGINE_SCRUB | ENGINE_LOGS,
    .observe = local_observe,
    .inventory = local_inventory,
    .apply = local_apply,
    .notice = local_notice,
    .gang = local_gang,
    .cap = local_cap,
    .samples = local_samples,
    .terminate = local_terminate,
    .kill = local_kill,
    .remove = local_remove,
    .released = local_released,
    .volume = local_volume,
    .scrub = local_scrub,
    .log = local_log,
    .close = local_close,
};

struct engine *
engine_local_new(const char *runner_socket)
{
    struct engine_local *local = memory_new(1, sizeof(*local));

    local->engine.ops = &local_ops;
    local->socket_path = memory_strdup(runner_socket);
    return &local->engine;
}
