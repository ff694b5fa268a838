/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/order.h"

#include <assert.h>
#include <string.h>

#include "base/digest.h"
#include "base/json.h"
#include "engine/codec.h"
#include "engine/gang.h"
#include "engine/message.h"
#include "engine/part.h"

#define NUMBER_MAX (INT64_C(1) << 53)
#define AMOUNT (INT64_C(1) << 40)
#define ID_MAX (ID_TEXT_MAX - 1)

static const char *const want_words[] = { "run", "notice", "stop", NULL };

static const struct codec_field instance_fields[] = {
    CODEC_FIELD(struct order_instance, instance, CODEC_ID, 0, ID_MAX),
    CODEC_FIELD(struct order_instance, incarnation, CODEC_INT, 1,
                NUMBER_MAX),
    CODEC_FIELD(struct order_instance, tenant, CODEC_INT, 0, 4095),
    CODEC_WORDS(struct order_instance, want, want_words),
    CODEC_FIELD(struct order_instance, reason, CODEC_TEXT, 0, 63),
    CODEC_FIELD(struct order_instance, deadline_ms, CODEC_INT, 0,
                NUMBER_MAX),
    { .name = "cards", .type = CODEC_MINE },
    { .name = "cap", .type = CODEC_MINE },
    { .name = "gang", .type = CODEC_MINE },
    { .name = "start", .type = CODEC_MINE },
};
static const struct codec instance_codec =
    CODEC(struct order_instance, instance_fields);

static const struct codec_field cap_fields[] = {
    CODEC_FIELD(struct report_cap, cpu_milli, CODEC_INT, 0, AMOUNT),
    CODEC_FIELD(struct report_cap, io_kib, CODEC_INT, 0, AMOUNT),
    CODEC_FIELD(struct report_cap, network_kib, CODEC_INT, 0, AMOUNT),
};
static const struct codec cap_codec = CODEC(struct report_cap, cap_fields);

static const struct codec_field volume_fields[] = {
    CODEC_FIELD(struct order_volume, volume, CODEC_ID, 0, ID_MAX),
    CODEC_FIELD(struct order_volume, tenant, CODEC_INT, 1, 4095),
    CODEC_FIELD(struct order_volume, size_mib, CODEC_INT, 1, AMOUNT),
    CODEC_FIELD(struct order_volume, remove, CODEC_BOOL, 0, 0),
};
static const struct codec volume_codec =
    CODEC(struct order_volume, volume_fields);

static const struct codec_field log_fields[] = {
    CODEC_FIELD(struct order_log, request, CODEC_INT, 1, NUMBER_MAX),
    CODEC_FIELD(struct order_log, instance, CODEC_ID, 0, ID_MAX),
    CODEC_FIELD(struct order_log, incarnation, CODEC_INT, 1, NUMBER_MAX),
    CODEC_FIELD(struct order_log, offset, CODEC_INT, 0, NUMBER_MAX),
    CODEC_FIELD(struct order_log, max, CODEC_INT, 1, 65536),
    CODEC_FIELD(struct order_log, wait_ms, CODEC_INT, 0,
                MESSAGE_WAIT_MAX_MS),
};
static const struct codec log_codec = CODEC(struct order_log, log_fields);

static const struct codec_field order_fields[] = {
    { .name = "protocol", .type = CODEC_MINE },
    CODEC_FIELD(struct order, node, CODEC_ID, 0, ID_MAX),
    CODEC_FIELD(struct order, now_ms, CODEC_INT, 0, NUMBER_MAX),
    CODEC_FIELD(struct order, serial, CODEC_INT, 1, NUMBER_MAX),
    CODEC_FIELD(struct order, revision, CODEC_ID, 0, ORDER_REVISION_MAX - 1),
    CODEC_FIELD(struct order, same, CODEC_BOOL, 0, 0),
    { .name = "instances", .type = CODEC_MINE },
    { .name = "volumes", .type = CODEC_MINE },
    { .name = "scrubs", .type = CODEC_MINE },
    { .name = "logs", .type = CODEC_MINE },
};
static const struct codec order_codec = CODEC(struct order, order_fields);

static void
write_start(json_t *item, const void *record)
{
    const struct order_instance *instance = record;

    (void)json_object_set_new(
        item, "cards",
        codec_write_ids(instance->cards, instance->card_count));
    if (instance->cap.cpu_milli > 0 || instance->cap.io_kib > 0 ||
        instance->cap.network_kib > 0)
        (void)json_object_set_new(item, "cap",
                                  codec_write(&cap_codec, &instance->cap));
    if (instance->gang != NULL)
        (void)json_object_set(item, "gang",
                              (json_t *)(uintptr_t)instance->gang);
    if (instance->start != NULL)
        (void)json_object_set(item, "start",
                              (json_t *)(uintptr_t)instance->start);
    else
        (void)json_object_set_new(item, "start", json_null());
}

static void
write_desired(json_t *object, const struct order *order)
{
    (void)json_object_set_new(
        object, "instances",
        codec_write_list(&instance_codec, order->instances,
                         order->instance_count, write_start));
    (void)json_object_set_new(object, "volumes",
                              codec_write_list(&volume_codec, order->volumes,
                                               order->volume_count, NULL));
    (void)json_object_set_new(
        object, "scrubs", codec_write_ids(order->scrubs, order->scrub_count));
}

void
order_revision(const struct order *order, char revision[ORDER_REVISION_MAX])
{
    scoped_json object = json_object();
    scoped_buffer bytes = { 0 };
    struct digest digest;

    assert(object != NULL);
    write_desired(object, order);
    json_write(&bytes, object);
    digest_of(bytes.bytes, bytes.size, &digest);
    digest_format(&digest, revision);
}

void
order_write(struct buffer *out, const struct order *order)
{
    scoped_json object = codec_write(&order_codec, order);

    (void)json_object_set_new(object, "protocol",
                              json_integer(MESSAGE_PROTOCOL));
    if (!order->same)
        write_desired(object, order);
    (void)json_object_set_new(object, "logs",
                              codec_write_list(&log_codec, order->logs,
                                               order->log_count, NULL));
    json_write(out, object);
}

static int
read_start(struct arena *arena, const json_t *item, void *record,
           struct error *err)
{
    struct order_instance *instance = record;
    const json_t *cap = json_object_get(item, "cap");
    struct gang gang;

    if (cap != NULL &&
        codec_read(arena, &cap_codec, cap, &instance->cap, err) != 0)
        return error_prefix(err, "cap");
    if (codec_read_ids(arena, item, "cards", ORDER_CARDS_MAX,
                       PART_TEXT_MAX - 1,
                       &instance->cards, &instance->card_count, err) != 0)
        return -1;
    instance->gang = json_object_get(item, "gang");
    if (gang_read(instance->gang, &gang, err) != 0)
        return error_prefix(err, "gang");
    if (json_is_null(instance->gang))
        instance->gang = NULL;
    instance->start = json_object_get(item, "start");
    if (json_is_object(instance->start))
        return 0;
    if (!json_is_null(instance->start))
        return error_field(err, "/start",
                           "field \"start\" must be an object or null");
    instance->start = NULL;
    return 0;
}

static const struct codec_list instance_list = { "instances",
                                                 &instance_codec,
                                                 ORDER_INSTANCES_MAX,
                                                 read_start };
static const struct codec_list volume_list = { "volumes", &volume_codec,
                                               ORDER_VOLUMES_MAX, NULL };
static const struct codec_list log_list = { "logs", &log_codec,
                                            ORDER_LOGS_MAX, NULL };

static int
read_lists(struct arena *arena, const json_t *object, struct order *order,
           struct error *err)
{
    void *instances, *volumes, *logs;

    if (codec_read_list(arena, &instance_list, object, &instances,
                        &order->instance_count, err) != 0 ||
        codec_read_list(arena, &volume_list, object, &volumes,
                        &order->volume_count, err) != 0 ||
        codec_read_ids(arena, object, "scrubs", ORDER_SCRUBS_MAX,
                       PART_TEXT_MAX - 1,
                       &order->scrubs, &order->scrub_count, err) != 0 ||
        codec_read_list(arena, &log_list, object, &logs, &order->log_count,
                        err) != 0)
        return -1;
    order->instances = instances;
    order->volumes = volumes;
    order->logs = logs;
    return 0;
}

int
order_parse(struct arena *arena, const char *bytes, size_t size,
            json_t **document_out, struct order *order_out,
            struct error *err)
{
    scoped_json object = json_read(bytes, size, err);
    struct order order = { 0 };
    int64_t protocol;

    if (object == NULL)
        return -1;
    if (json_int(object, "protocol", true, MESSAGE_PROTOCOL,
                 MESSAGE_PROTOCOL, &protocol, err) != 0 ||
        codec_read(arena, &order_codec, object, &order, err) != 0 ||
        read_lists(arena, object, &order, err) != 0)
        return -1;
    if (order.same && (order.instance_count | order.volume_count |
                       order.scrub_count) != 0)
        return error_field(err, "/same",
                           "an order that is the same holds no lists");
    *document_out = json_incref(object);
    *order_out = order;
    return 0;
}

/* The error's code travels by its name. */
struct refusal {
    const char *code;
    const char *text;
    int64_t floor;
    const char *challenge;
};

static const struct codec_field refusal_fields[] = {
    { .name = "protocol", .type = CODEC_MINE },
    CODEC_FIELD(struct refusal, code, CODEC_ID, 0, 32),
    CODEC_FIELD(struct refusal, text, CODEC_TEXT, 0, ERROR_TEXT_MAX - 1),
    CODEC_FIELD(struct refusal, floor, CODEC_INT, -1, NUMBER_MAX),
    CODEC_FIELD(struct refusal, challenge, CODEC_TEXT, 0,
                MESSAGE_CHALLENGE_MAX),
};
static const struct codec refusal_codec =
    CODEC(struct refusal, refusal_fields);

void
order_refusal_write(struct buffer *out, const struct order_refusal *refusal)
{
    struct refusal record = { .code = error_code_text(refusal->code),
                              .text = refusal->text,
                              .floor = refusal->floor,
                              .challenge = refusal->challenge };
    scoped_json object = codec_write(&refusal_codec, &record);

    (void)json_object_set_new(object, "protocol",
                              json_integer(MESSAGE_PROTOCOL));
    json_write(out, object);
}

int
order_refusal_parse(struct arena *arena, const char *bytes, size_t size,
                    struct order_refusal *refusal_out, struct error *err)
{
    scoped_json object = json_read(bytes, size, err);
    struct refusal record = { 0 };
    int64_t protocol;

    if (object == NULL)
        return -1;
    if (json_int(object, "protocol", true, MESSAGE_PROTOCOL,
                 MESSAGE_PROTOCOL, &protocol, err) != 0 ||
        codec_read(arena, &refusal_codec, object, &record, err) != 0)
        return -1;
    *refusal_out = (struct order_refusal){
        .code = error_code_parse(record.code),
        .text = record.text,
        .floor = record.floor,
        .challenge = record.challenge,
    };
    return 0;
}
