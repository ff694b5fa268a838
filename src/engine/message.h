/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_MESSAGE_H
#define ENGINE_MESSAGE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/sign.h"

/*
 * What does an agent say to the control plane, and how do both know that it
 * was the other?
 *
 * The agent dials out; two routes, both POST with a JSON body:
 *
 *   /agent/v1/enrol  once, with a join token: {"protocol", "token", "node"
 *                    (name), "public_key" (hex)} ->
 *                    {"protocol", "node" (id), "epoch", "public_key" (hex)}
 *   /agent/v1/sync   a report (engine/sync.h) -> an order (engine/order.h)
 *
 * Headers of a request: X-Bulkhead-Node (id; absent when enrolling), -Boot,
 * -Epoch (0 when enrolling), -Sequence, -Signature.  The signature is Ed25519
 * by the node's key over method, path, node, boot, epoch, sequence and the
 * SHA-256 of the body.  Headers of an answer: X-Bulkhead-Signature by the
 * control plane's key over the status, the same node, boot, epoch and
 * sequence and the SHA-256 of the answer: an answer belongs to one request.
 *
 * epoch      counts the enrolments of a node: another one is another key.
 * sequence   rises strictly within a boot; microseconds since boot do that
 *            without a file.  A control plane that was restarted refuses what
 *            may be old and names the floor to go on above.
 * challenge  a boot that the control plane does not know proves to be the
 *            present one by repeating a random text.
 */

#define MESSAGE_PROTOCOL 1
#define MESSAGE_SIZE_MAX ((size_t)1024 * 1024)
#define MESSAGE_WAIT_MAX_MS 10000
#define MESSAGE_ENROL_PATH "/agent/v1/enrol"
#define MESSAGE_SYNC_PATH "/agent/v1/sync"
#define MESSAGE_BOOT_MAX 40
#define MESSAGE_SEQUENCE_MAX (INT64_C(1) << 53)
#define MESSAGE_CHALLENGE_MAX 64
#define MESSAGE_SIGNATURE_TEXT (2 * SIGN_SIZE + 1)

/* What is signed beside the body. */
struct message_envelope {
    const char *node; /* id text, "" when enrolling */
    const char *boot;
    int64_t epoch;
    int64_t sequence;
};

/* The values of the headers, NULL when absent, as they came. */
struct message_headers {
    const char *node;
    const char *boot;
    const char *epoch;
    const char *sequence;
    const char *signature;
};

/* Checks form and bounds; texts stay owned by headers. */
int message_envelope_parse(const struct message_headers *headers,
                           struct message_envelope *envelope_out,
                           uint8_t signature_out[SIGN_SIZE],
                           struct error *err);

void message_sign_request(const struct sign_key *key, const char *path,
                          const struct message_envelope *envelope,
                          const void *body, size_t size,
                          char signature[MESSAGE_SIGNATURE_TEXT]);
/* ERROR_UNAUTHENTICATED when it is not by that key. */
int message_check_request(const uint8_t public_key[SIGN_PUBLIC_SIZE],
                          const char *path,
                          const struct message_envelope *envelope,
                          const void *body, size_t size,
                          const uint8_t signature[SIGN_SIZE],
                          struct error *err);
void message_sign_answer(const struct sign_key *key, int status,
                         const struct message_envelope *envelope,
                         const void *body, size_t size,
                         char signature[MESSAGE_SIGNATURE_TEXT]);
int message_check_answer(const uint8_t public_key[SIGN_PUBLIC_SIZE],
                         int status, const struct message_envelope *envelope,
                         const void *body, size_t size,
                         const char *signature, struct error *err);

struct message_enrol {
    const char *token;
    const char *node; /* name */
    uint8_t public_key[SIGN_PUBLIC_SIZE];
};

struct message_enrolled {
    const char *node; /* id text */
    int64_t epoch;
    uint8_t public_key[SIGN_PUBLIC_SIZE]; /* the control plane's */
};

/* Writers append canonical JSON.  Readers are strict: unknown, missing, and
 * out-of-bounds fields fail with ERROR_INVALID and the field's name; texts
 * live in the arena. */
void message_enrol_write(struct buffer *out,
                         const struct message_enrol *message);
int message_enrol_parse(struct arena *arena, const char *bytes, size_t size,
                        struct message_enrol *message_out, struct error *err);
void message_enrolled_write(struct buffer *out,
                            const struct message_enrolled *message);
int message_enrolled_parse(struct arena *arena, const char *bytes,
                           size_t size, struct message_enrolled *message_out,
                           struct error *err);

#endif
