/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/link.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/http.h"
#include "base/id.h"
#include "base/json.h"

#define TOKEN_FILE_MAX 512
#define TRIES 3
#define ANSWER_SLACK_MS 10000

struct link {
    char *unix_path; /* or */
    char *url;
    char *state;
    char *node_name;
    char *token_file;
    char *ca_file; /* NULL: the system's */
    struct sign_key key;

    pthread_mutex_t lock; /* of all below */
    bool enrolled;
    char node[ID_TEXT_MAX];
    int64_t epoch;
    uint8_t control_key[SIGN_PUBLIC_SIZE];
    int64_t sequence;
    char challenge[MESSAGE_CHALLENGE_MAX + 1];
};

/* Who asks, as of one moment. */
struct passport {
    char node[ID_TEXT_MAX];
    int64_t epoch;
    int64_t sequence;
    uint8_t control_key[SIGN_PUBLIC_SIZE];
    char challenge[MESSAGE_CHALLENGE_MAX + 1];
};

/* --- what is kept --- */

static void
state_path(const struct link *link, const char *name, struct buffer *path)
{
    buffer_printf(path, "%s/%s", link->state, name);
}

static int
load(struct link *link, struct error *err)
{
    scoped_arena arena = arena_new();
    scoped_buffer path = { 0 };
    scoped_buffer bytes = { 0 };
    struct message_enrolled enrolled;

    state_path(link, "node.json", &path);
    if (access(path.bytes, F_OK) != 0)
        return 0;
    if (file_read(path.bytes, 4096, &bytes, err) != 0 ||
        message_enrolled_parse(arena, bytes.bytes, bytes.size, &enrolled,
                               err) != 0)
        return error_prefix(err, "node.json");
    (void)snprintf(link->node, sizeof(link->node), "%s", enrolled.node);
    link->epoch = enrolled.epoch;
    memcpy(link->control_key, enrolled.public_key, SIGN_PUBLIC_SIZE);
    link->enrolled = true;
    return 0;
}

static int
save(struct link *link, const struct message_enrolled *enrolled,
     struct error *err)
{
    scoped_buffer path = { 0 };
    scoped_buffer bytes = { 0 };

    state_path(link, "node.json", &path);
    message_enrolled_write(&bytes, enrolled);
    if (file_write(path.bytes, bytes.bytes, bytes.size, 0600, err) != 0)
        return -1;
    (void)pthread_mutex_lock(&link->lock);
    (void)snprintf(link->node, sizeof(link->node), "%s", enrolled->node);
    link->epoch = enrolled->epoch;
    memcpy(link->control_key, enrolled->public_key, SIGN_PUBLIC_SIZE);
    link->enrolled = true;
    (void)pthread_mutex_unlock(&link->lock);
    return 0;
}

int
link_open(const struct link_options *options, struct link **link_out,
          struct error *err)
{
    struct link *link = memory_new(1, sizeof(*link));
    scoped_buffer path = { 0 };

    if (strncmp(options->control, "http://", 7) == 0 ||
        strncmp(options->control, "https://", 8) == 0)
        link->url = memory_strdup(options->control);
    else
        link->unix_path = memory_strdup(options->control);
    link->state = memory_strdup(options->state);
    link->node_name = memory_strdup(options->node);
    if (options->token_file != NULL)
        link->token_file = memory_strdup(options->token_file);
    if (options->ca_file != NULL)
        link->ca_file = memory_strdup(options->ca_file);
    (void)pthread_mutex_init(&link->lock, NULL);
    state_path(link, "agent.key", &path);
    if (file_make_directory(link->state, 0700, err) != 0 ||
        sign_key_open(path.bytes, &link->key, err) != 0 ||
        load(link, err) != 0)
        goto fail;
    *link_out = link;
    return 0;
fail:
    link_close(link);
    return -1;
}

void
link_close(struct link *link)
{
    if (link == NULL)
        return;
    (void)pthread_mutex_destroy(&link->lock);
    free(link->unix_path);
    free(link->ca_file);
    free(link->url);
    free(link->state);
    free(link->node_name);
    free(link->token_file);
    free(link);
}

bool
link_is_enrolled(struct link *link)
{
    bool enrolled;

    (void)pthread_mutex_lock(&link->lock);
    enrolled = link->enrolled;
    (void)pthread_mutex_unlock(&link->lock);
    return enrolled;
}

/* --- one signed request --- */

/* Microseconds since boot rise within a boot, also over restarts of the
 * agent; a floor that the control plane named goes before them. */
static void
take_passport(struct link *link, struct passport *out)
{
    int64_t now_us = clock_mono_us();

    (void)pthread_mutex_lock(&link->lock);
    link->sequence = link->sequence + 1 > now_us ? link->sequence + 1
                                                 : now_us;
    (void)snprintf(out->node, sizeof(out->node), "%s", link->node);
    (void)snprintf(out->challenge, sizeof(out->challenge), "%s",
                   link->challenge);
    out->epoch = link->epoch;
    out->sequence = link->sequence;
    memcpy(out->control_key, link->control_key, SIGN_PUBLIC_SIZE);
    (void)pthread_mutex_unlock(&link->lock);
}

struct wire_headers {
    char node[64];
    char boot[96];
    char epoch[64];
    char sequence[64];
    char signature[MESSAGE_SIGNATURE_TEXT + 32];
};

static void
write_headers(const struct message_envelope *envelope, const char *signature,
              struct wire_headers *out)
{
    (void)snprintf(out->node, sizeof(out->node), "X-Bulkhead-Node: %s",
                   envelope->node);
    (void)snprintf(out->boot, sizeof(out->boot), "X-Bulkhead-Boot: %s",
                   envelope->boot);
    (void)snprintf(out->epoch, sizeof(out->epoch), "X-Bulkhead-Epoch: %lld",
                   (long long)envelope->epoch);
    (void)snprintf(out->sequence, sizeof(out->sequence),
                   "X-Bulkhead-Sequence: %lld",
                   (long long)envelope->sequence);
    (void)snprintf(out->signature, sizeof(out->signature),
                   "X-Bulkhead-Signature: %s", signature);
}

static int
post(struct link *link, const char *path,
     const struct message_envelope *envelope, const struct buffer *body,
     long timeout_ms, struct http_answer *answer, struct error *err)
{
    struct http_target target = { .unix_path = link->unix_path,
                                  .url = link->url,
                                  .ca_file = link->ca_file };
    char signature[MESSAGE_SIGNATURE_TEXT];
    struct wire_headers headers;
    struct http_request request = {
        .method = "POST",
        .path = path,
        .headers = { headers.boot, headers.epoch, headers.sequence,
                     headers.signature, "Content-Type: application/json",
                     envelope->node[0] != '\0' ? headers.node : NULL },
        .body = body->bytes,
        .body_size = body->size,
        .timeout_ms = timeout_ms,
    };

    message_sign_request(&link->key, path, envelope, body->bytes, body->size,
                         signature);
    write_headers(envelope, signature, &headers);
    return http_send(&target, &request, answer, err);
}

static int
check_answer(const uint8_t control_key[SIGN_PUBLIC_SIZE],
             const struct message_envelope *envelope,
             const struct http_answer *answer, struct error *err)
{
    char signature[MESSAGE_SIGNATURE_TEXT] = "";

    (void)http_header(answer, "X-Bulkhead-Signature", signature,
                      sizeof(signature));
    return message_check_answer(control_key, (int)answer->status, envelope,
                                buffer_text(&answer->body),
                                answer->body.size, signature, err);
}

/* --- enrol --- */

static int
read_token(const struct link *link, struct buffer *token, struct error *err)
{
    if (link->token_file == NULL)
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "the node is not enrolled and has no join token");
    if (file_read(link->token_file, TOKEN_FILE_MAX, token, err) != 0)
        return error_prefix(err, "join token");
    while (token->size > 0 && (token->bytes[token->size - 1] == '\n' ||
                               token->bytes[token->size - 1] == ' '))
        token->bytes[--token->size] = '\0';
    return 0;
}

/* An answer tells the key that it is signed by; it is pinned from then on. */
static int
take_enrolment(struct link *link, const struct message_envelope *envelope,
               const struct http_answer *answer, struct error *err)
{
    scoped_arena arena = arena_new();
    struct message_enrolled enrolled;
    struct order_refusal refusal;

    if (answer->status != 200) {
        if (order_refusal_parse(arena, buffer_text(&answer->body),
                                answer->body.size, &refusal, err) != 0)
            return error_prefix(err, "enrolment (status %ld)",
                                answer->status);
        return error_set(err, refusal.code, "enrolment: %s", refusal.text);
    }
    if (message_enrolled_parse(arena, buffer_text(&answer->body),
                               answer->body.size, &enrolled, err) != 0 ||
        check_answer(enrolled.public_key, envelope, answer, err) != 0)
        return error_prefix(err, "enrolment");
    if (link_is_enrolled(link) &&
        memcmp(enrolled.public_key, link->control_key, SIGN_PUBLIC_SIZE) != 0)
        return error_set(err, ERROR_VERIFY,
                         "the control plane's key is not the pinned one");
    return save(link, &enrolled, err);
}

int
link_enrol(struct link *link, struct error *err)
{
    struct message_enrol message = { .node = link->node_name };
    struct message_envelope envelope = { .node = "" };
    scoped_buffer token = { 0 };
    scoped_buffer body = { 0 };
    scoped_answer answer = { 0 };
    struct passport passport;

    if (read_token(link, &token, err) != 0)
        return -1;
    take_passport(link, &passport);
    envelope.boot = clock_boot_id();
    envelope.sequence = passport.sequence;
    message.token = buffer_text(&token);
    memcpy(message.public_key, link->key.public_key, SIGN_PUBLIC_SIZE);
    message_enrol_write(&body, &message);
    if (post(link, MESSAGE_ENROL_PATH, &envelope, &body, ANSWER_SLACK_MS,
             &answer, err) != 0)
        return -1;
    return take_enrolment(link, &envelope, &answer, err);
}

/* --- sync --- */

/* True when the refusal says what to do differently. */
static bool
heed(struct link *link, const struct order_refusal *refusal)
{
    bool heeded = refusal->floor >= 0 || refusal->challenge[0] != '\0';

    (void)pthread_mutex_lock(&link->lock);
    if (refusal->floor > link->sequence)
        link->sequence = refusal->floor;
    if (refusal->challenge[0] != '\0')
        (void)snprintf(link->challenge, sizeof(link->challenge), "%s",
                       refusal->challenge);
    (void)pthread_mutex_unlock(&link->lock);
    return heeded;
}

static int
take_answer(const struct passport *passport, const struct http_answer *answer,
            struct arena *arena, json_t **document_out,
            struct order *order_out, struct order_refusal *refusal,
            struct error *err)
{
    const char *body = buffer_text(&answer->body);

    if (answer->status != 200) {
        if (order_refusal_parse(arena, body, answer->body.size, refusal,
                                err) != 0)
            return -1;
        return error_set(err, refusal->code, "%s", refusal->text);
    }
    if (order_parse(arena, body, answer->body.size, document_out, order_out,
                    err) != 0)
        return -1;
    if (strcmp(order_out->node, passport->node) == 0)
        return 0;
    json_decref(*document_out);
    return error_set(err, ERROR_VERIFY, "the order is for another node");
}

static int
sync_once(struct link *link, const struct sync *sync, struct arena *arena,
          json_t **document_out, struct order *order_out,
          struct order_refusal *refusal, struct error *err)
{
    struct sync message = *sync;
    struct message_envelope envelope;
    struct passport passport;
    scoped_buffer body = { 0 };
    scoped_answer answer = { 0 };

    take_passport(link, &passport);
    envelope = (struct message_envelope){ passport.node, clock_boot_id(),
                                          passport.epoch,
                                          passport.sequence };
    message.challenge = passport.challenge;
    sync_write(&body, &message);
    if (post(link, MESSAGE_SYNC_PATH, &envelope, &body,
             (long)sync->wait_ms + ANSWER_SLACK_MS, &answer, err) != 0 ||
        check_answer(passport.control_key, &envelope, &answer, err) != 0)
        return -1;
    return take_answer(&passport, &answer, arena, document_out, order_out,
                       refusal, err);
}

int
link_sync(struct link *link, const struct sync *sync, struct arena *arena,
          json_t **document_out, struct order *order_out, struct error *err)
{
    for (int i = 0;; i++) {
        struct order_refusal refusal = { .floor = -1, .challenge = "" };

        if (sync_once(link, sync, arena, document_out, order_out, &refusal,
                      err) == 0)
            return 0;
        if (i + 1 == TRIES || !heed(link, &refusal))
            return -1;
    }
}
