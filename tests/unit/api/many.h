/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_API_MANY_H
#define TESTS_UNIT_API_MANY_H

#include <pthread.h>
#include <stdatomic.h>

#include "tests/unit/api/client.h"

/*
 * Many clients of one server at once: each call has an answer of its own, so
 * threads may make them side by side.  A failure in a thread ends the test.
 */

struct reply {
    long status;
    char etag[32];
    bool replayed;
    json_t *body; /* NULL: none; owned */
};

static inline void
reply_release(struct reply *reply)
{
    json_decref(reply->body);
}

#define scoped_reply __attribute__((cleanup(reply_release))) struct reply

static inline void
reply_header(struct reply *reply, const struct http_answer *answer)
{
    char value[16];
    if (http_header(answer, "ETag", reply->etag, sizeof reply->etag) != 0)
        reply->etag[0] = '\0';
    reply->replayed = http_header(answer, "Idempotency-Replayed", value,
                                  sizeof value) == 0;
}

/* header: one more, NULL: none.  Paths are below /api/v1. */
static inline struct reply
call(const struct place *place, const char *token, const char *method,
     const char *path, const char *body, const char *header)
{
    struct reply reply = {0};
    struct error err;
    scoped_answer answer = {0};
    char full[512], authorization[160];
    struct http_request request = {.method = method,
                                   .path = full,
                                   .body = body,
                                   .body_size =
                                       body == NULL ? 0 : strlen(body),
                                   .timeout_ms = 60000};
    size_t count = 0;
    (void)snprintf(full, sizeof full, "/api/v1%s", path);
    (void)snprintf(authorization, sizeof authorization,
                   "Authorization: Bearer %s", token);
    request.headers[count++] = authorization;
    if (body != NULL)
        request.headers[count++] = "Content-Type: application/json";
    if (header != NULL)
        request.headers[count++] = header;
    if (http_send(&place->target, &request, &answer, &err) != 0) {
        (void)fprintf(stderr, "%s %s: %s\n", method, path, err.text);
        abort();
    }
    reply.status = answer.status;
    reply_header(&reply, &answer);
    if (answer.body.size > 0)
        reply.body =
            json_loadb(answer.body.bytes, answer.body.size, 0, NULL);
    return reply;
}

static inline const char *
reply_text(const struct reply *reply, const char *member)
{
    const char *text = json_string_value(json_object_get(reply->body, member));
    return text == NULL ? "" : text;
}

/* Runs `work` on so many threads, with their numbers, and waits for all. */
struct crew_member {
    pthread_t thread;
    unsigned number;
    void *data;
    void (*work)(unsigned number, void *data);
};

static inline void *
crew_start(void *data)
{
    struct crew_member *member = data;
    member->work(member->number, member->data);
    return NULL;
}

static inline void
all_at_once(unsigned count, void (*work)(unsigned number, void *data),
            void *data)
{
    struct crew_member *list = memory_new(count, sizeof *list);
    for (unsigned i = 0; i < count; i++) {
        list[i] = (struct crew_member){.number = i, .data = data,
                                       .work = work};
        assert_int_equal(
            pthread_create(&list[i].thread, NULL, crew_start, &list[i]), 0);
    }
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(list[i].thread, NULL);
    free(list);
}

#endif
