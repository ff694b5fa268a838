/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_STATE_H
#define API_STATE_H

#include <pthread.h>

#include "api/budget.h"
#include "api/cursor.h"
#include "api/exchange.h"
#include "api/peers.h"
#include "api/server.h"
#include "api/stream.h"
#include "api/tries.h"
#include "base/hash.h"
#include "base/seal.h"

/*
 * What do the requests of one server share?  Its options, how many are in
 * flight, how often a source failed to log in, counters, and the streams.
 * All functions may be called from any thread.
 */

/* Three ways in, and those that took the place of a removed socket. */
#define API_DAEMONS_MAX 32
#define STATE_BUCKETS 4096 /* a power of two */

struct MHD_Daemon;
struct sso;

/* Counts share a bucket when the keyed hash of their owners is equal: memory
 * stays bounded, and nobody can aim at another's bucket. */
struct state_known {
    uint8_t token[DIGEST_SIZE];
    struct id subject;
};

struct state_metrics {
    uint64_t requests[6]; /* by the first digit of the status */
    uint64_t micros;      /* sum of their times */
    uint64_t slow;        /* over 100 ms */
};

struct api {
    struct loop *loop;
    struct api_options options;
    uint16_t port;
    struct MHD_Daemon *daemons[API_DAEMONS_MAX];
    int sockets[API_DAEMONS_MAX]; /* they listened on, when it stops */
    const char *paths[API_DAEMONS_MAX]; /* of Unix sockets, else NULL */
    size_t daemon_count;
    struct hub *hub;
    struct sso *sso; /* NULL: no identity provider is asked */
    struct peers *peers;
    struct cursor_key cursor_key;
    struct seal_key seal_key; /* of what is kept to be used again */
    char *openapi; /* the document; owned */
    struct printer *printers[KIND_COUNT][2]; /* for others, for platform's */

    pthread_mutex_t lock; /* for what follows */
    pthread_cond_t idle;
    struct hash_key key;
    bool stopping; /* no new daemon any more */
    bool draining;
    unsigned flight;
    unsigned tasks; /* chains of work behind streams */
    unsigned owners[STATE_BUCKETS];
    unsigned heavy; /* of them on routes that are ROUTE_HEAVY */
    unsigned heavy_owners[STATE_BUCKETS];
    struct state_known known[STATE_BUCKETS];
    struct tries tries; /* logins that failed (attempt.h) */
    struct state_metrics metrics;
    struct budget budget; /* of questions that cost much */
    struct estimator *estimator; /* world thread */
};

/* How objects of a kind are written for these viewers. */
const struct printer *state_printer(const struct api *api, enum kind kind,
                                    bool platform);

struct api *state_new(struct loop *loop, const struct api_options *options);
void state_free(struct api *api);
/* Waits until nothing is in flight and all streams have ended. */
void state_drain(struct api *api);

/* Counts an exchange in; ERROR_BUSY, ERROR_RATE when there are too many. */
int state_admit(struct exchange *exchange, struct error *err);
/* Remembers whose credential this is, so that all of one subject's count
 * together. */
void state_learn(struct exchange *exchange, struct id subject);
/* A question that costs much, of this scope: ERROR_RATE when it has no time
 * left for them.  What it takes is counted when it is counted out. */
int state_think(struct exchange *exchange, struct id scope,
                struct error *err);
/* Counts it out and into the metrics: its answer leaves. */
void state_count(struct exchange *exchange);
/* Counts it out, if it is still in: its connection is gone. */
void state_forget(struct exchange *exchange);

/* Work that outlives its exchange; api_stop waits for its end. */
int state_task_begin(struct api *api, struct error *err);
void state_task_end(struct api *api);

struct state_metrics state_metrics(struct api *api, unsigned *flight_out);

#endif
