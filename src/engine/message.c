/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/id.h"
#include "base/json.h"
#include "engine/codec.h"

#define REQUEST_CONTEXT "bulkhead agent request 1"
#define ANSWER_CONTEXT "bulkhead agent answer 1"

static int
parse_number(const char *text, const char *what, int64_t *out,
             struct error *err)
{
    char *end;
    long long number;

    errno = 0;
    if (text == NULL || text[0] < '0' || text[0] > '9')
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "header %s is missing or not a number", what);
    number = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0' || number > MESSAGE_SEQUENCE_MAX)
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "header %s is out of range", what);
    *out = number;
    return 0;
}

int
message_envelope_parse(const struct message_headers *headers,
                       struct message_envelope *envelope_out,
                       uint8_t signature_out[SIGN_SIZE], struct error *err)
{
    struct message_envelope envelope = { .node = headers->node,
                                         .boot = headers->boot };

    if (envelope.node == NULL)
        envelope.node = "";
    if (strlen(envelope.node) >= ID_TEXT_MAX)
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "header X-Bulkhead-Node is too long");
    if (envelope.boot == NULL || envelope.boot[0] == '\0' ||
        strlen(envelope.boot) >= MESSAGE_BOOT_MAX)
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "header X-Bulkhead-Boot is missing or too long");
    if (parse_number(headers->epoch, "X-Bulkhead-Epoch", &envelope.epoch,
                     err) != 0 ||
        parse_number(headers->sequence, "X-Bulkhead-Sequence",
                     &envelope.sequence, err) != 0)
        return -1;
    if (headers->signature == NULL ||
        hex_decode(headers->signature, signature_out, SIGN_SIZE) != 0)
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "header X-Bulkhead-Signature is missing or not a "
                         "signature");
    *envelope_out = envelope;
    return 0;
}

static void
add_text(struct buffer *out, const char *text)
{
    buffer_add_sized(out, text, strlen(text));
}

/* Lengths before every part: no two messages share their bytes. */
static void
add_signed(struct buffer *out, const char *context, const char *what,
           const struct message_envelope *envelope, const void *body,
           size_t size)
{
    struct digest digest;

    digest_of(body, size, &digest);
    add_text(out, context);
    add_text(out, what);
    add_text(out, envelope->node);
    add_text(out, envelope->boot);
    buffer_add_u64(out, (uint64_t)envelope->epoch);
    buffer_add_u64(out, (uint64_t)envelope->sequence);
    buffer_add_sized(out, digest.bytes, DIGEST_SIZE);
}

static void
sign(const struct sign_key *key, const struct buffer *bytes,
     char text[MESSAGE_SIGNATURE_TEXT])
{
    uint8_t signature[SIGN_SIZE];

    sign_bytes(key, bytes->bytes, bytes->size, signature);
    hex_encode(signature, SIGN_SIZE, text);
}

static void
add_request(struct buffer *out, const char *path,
            const struct message_envelope *envelope, const void *body,
            size_t size)
{
    scoped_buffer what = { 0 };

    buffer_printf(&what, "POST %s", path);
    add_signed(out, REQUEST_CONTEXT, what.bytes, envelope, body, size);
}

static void
add_answer(struct buffer *out, int status,
           const struct message_envelope *envelope, const void *body,
           size_t size)
{
    scoped_buffer what = { 0 };

    buffer_printf(&what, "%d", status);
    add_signed(out, ANSWER_CONTEXT, what.bytes, envelope, body, size);
}

void
message_sign_request(const struct sign_key *key, const char *path,
                     const struct message_envelope *envelope,
                     const void *body, size_t size,
                     char signature[MESSAGE_SIGNATURE_TEXT])
{
    scoped_buffer bytes = { 0 };

    add_request(&bytes, path, envelope, body, size);
    sign(key, &bytes, signature);
}

int
message_check_request(const uint8_t public_key[SIGN_PUBLIC_SIZE],
                      const char *path,
                      const struct message_envelope *envelope,
                      const void *body, size_t size,
                      const uint8_t signature[SIGN_SIZE], struct error *err)
{
    scoped_buffer bytes = { 0 };

    add_request(&bytes, path, envelope, body, size);
    if (sign_check(public_key, bytes.bytes, bytes.size, signature) == 0)
        return 0;
    return error_set(err, ERROR_UNAUTHENTICATED,
                     "the signature is not by the node's key");
}

void
message_sign_answer(const struct sign_key *key, int status,
                    const struct message_envelope *envelope,
                    const void *body, size_t size,
                    char signature[MESSAGE_SIGNATURE_TEXT])
{
    scoped_buffer bytes = { 0 };

    add_answer(&bytes, status, envelope, body, size);
    sign(key, &bytes, signature);
}

int
message_check_answer(const uint8_t public_key[SIGN_PUBLIC_SIZE], int status,
                     const struct message_envelope *envelope,
                     const void *body, size_t size, const char *signature,
                     struct error *err)
{
    scoped_buffer bytes = { 0 };
    uint8_t raw[SIGN_SIZE];

    add_answer(&bytes, status, envelope, body, size);
    if (signature != NULL && hex_decode(signature, raw, SIGN_SIZE) == 0 &&
        sign_check(public_key, bytes.bytes, bytes.size, raw) == 0)
        return 0;
    return error_set(err, ERROR_VERIFY,
                     "the answer is not signed by the control plane's key");
}

static const struct codec_field enrol_fields[] = {
    { .name = "protocol", .type = CODEC_MINE },
    CODEC_FIELD(struct message_enrol, token, CODEC_TEXT, 0, 256),
    CODEC_FIELD(struct message_enrol, node, CODEC_ID, 0, 63),
    CODEC_FIELD(struct message_enrol, public_key, CODEC_HEX, 0, SIGN_PUBLIC_SIZE),
};
static const struct codec enrol_codec =
    CODEC(struct message_enrol, enrol_fields);

static const struct codec_field enrolled_fields[] = {
    { .name = "protocol", .type = CODEC_MINE },
    CODEC_FIELD(struct message_enrolled, node, CODEC_ID, 0, ID_TEXT_MAX - 1),
    CODEC_FIELD(struct message_enrolled, epoch, CODEC_INT, 1,
          MESSAGE_SEQUENCE_MAX),
    CODEC_FIELD(struct message_enrolled, public_key, CODEC_HEX, 0,
          SIGN_PUBLIC_SIZE),
};
static const struct codec enrolled_codec =
    CODEC(struct message_enrolled, enrolled_fields);

static void
write_record(struct buffer *out, const struct codec *codec,
             const void *record)
{
    scoped_json object = codec_write(codec, record);

    (void)json_object_set_new(object, "protocol",
                              json_integer(MESSAGE_PROTOCOL));
    json_write(out, object);
}

static int
parse_record(struct arena *arena, const struct codec *codec,
             const char *bytes, size_t size, void *record, struct error *err)
{
    scoped_json object = json_read(bytes, size, err);
    int64_t protocol;

    if (object == NULL)
        return -1;
    if (json_int(object, "protocol", true, MESSAGE_PROTOCOL,
                 MESSAGE_PROTOCOL, &protocol, err) != 0)
        return -1;
    return codec_read(arena, codec, object, record, err);
}

void
message_enrol_write(struct buffer *out, const struct message_enrol *message)
{
    write_record(out, &enrol_codec, message);
}

int
message_enrol_parse(struct arena *arena, const char *bytes, size_t size,
                    struct message_enrol *message_out, struct error *err)
{
    struct message_enrol message = { 0 };

    if (parse_record(arena, &enrol_codec, bytes, size, &message, err) != 0)
        return -1;
    *message_out = message;
    return 0;
}

void
message_enrolled_write(struct buffer *out,
                       const struct message_enrolled *message)
{
    write_record(out, &enrolled_codec, message);
}

int
message_enrolled_parse(struct arena *arena, const char *bytes, size_t size,
                       struct message_enrolled *message_out,
                       struct error *err)
{
    struct message_enrolled message = { 0 };

    if (parse_record(arena, &enrolled_codec, bytes, size, &message, err) != 0)
        return -1;
    *message_out = message;
    return 0;
}
