/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_EXCHANGE_H
#define API_EXCHANGE_H

#include "api/answer.h"
#include "api/route.h"
#include "api/url.h"
#include "base/digest.h"
#include "control/execute.h"
#include "control/loop.h"

/*
 * What is one request and its answer, from the first header to the last
 * byte?  It is filled on a server thread, handed to the world thread, and
 * given back when its answer may leave; never on two threads at once.
 */

#define EXCHANGE_ID_MAX 36
#define EXCHANGE_BODY_MAX ((size_t)1024 * 1024)
#define EXCHANGE_KEY_MAX 128
#define EXCHANGE_PARAMS_MAX 16384 /* of the copy in the record */

struct api;
struct stream;

struct exchange {
    struct api *api;
    struct arena *arena;
    struct job job;
    char id[EXCHANGE_ID_MAX];

    /* the request */
    const char *target; /* path and query as they came */
    struct url url;
    const struct route *route;
    const char *method;
    char source[64];
    const char *forwarded; /* the client, as a configured proxy says */
    char agent_digest[DIGEST_TEXT_MAX];
    const char *authorization; /* NULL: none */
    const char *content_type;
    const char *if_match;
    const char *key; /* Idempotency-Key, NULL: none */
    const char *ask; /* Ask-Approval: the reason, NULL: none */
    const char *approval; /* Approval: its id, NULL: none */
    bool dry_run;
    struct buffer raw;
    json_t *body; /* NULL when the route takes none */
    const char *params; /* of the record; NULL: none */

    /* who asks for what; valid on the world thread */
    bool has_token;
    uint8_t token[DIGEST_SIZE];
    struct actor actor;
    struct ref object; /* the last object that the path names */
    bool platform;     /* the asker belongs to the platform itself */

    /* the result */
    struct answer answer;
    struct error error;
    const char *secret; /* shown once, never in a receipt; NULL: none */
    struct ref created;
    struct stream *stream; /* the body comes from here */
    void *data;            /* the handler's own, in the arena */
    bool worked;           /* the route's slow step is done */
    char intent[ID_TEXT_MAX]; /* record of what it is to do; "": none open */
    int64_t now_ms;

    /* the server's own */
    void *connection;
    int stage;
    int64_t start_us;
    int64_t start_ms;
    bool counted;
    bool thinks; /* its time is counted to its tenant */
    struct id thinker;
    int64_t thought_us;
    size_t bucket;
    bool decline; /* the body went over the limit */
};

/* Fills answer with the problem of error. */
void exchange_fail(struct exchange *exchange);
/* Ends the exchange's turn: its answer may leave.  Any thread. */
void exchange_finish(struct exchange *exchange);

/* A query parameter as an integer, within bounds; `absent` when not given. */
int exchange_int(const struct exchange *exchange, const char *name,
                 int64_t min, int64_t max, int64_t absent, int64_t *out,
                 struct error *err);
/* As a time: RFC 3339. */
int exchange_time(const struct exchange *exchange, const char *name,
                  int64_t absent, int64_t *out, struct error *err);

#endif
