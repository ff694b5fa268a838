/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_SERVER_H
#define API_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "control/loop.h"

/*
 * Who listens for clients?  libmicrohttpd daemons, one for each way in, with
 * a polling thread of its own; watches and followed logs may have their own
 * ways in, since many of them slow the others.  A request is read and checked
 * on such a thread, decided on the world thread, answered when it is durable.
 *
 * Before anything is decided a request has passed limits on its address,
 * headers, body, JSON depth, time to arrive, and on how many of one
 * credential are in flight.
 */

struct agents;
struct egress_policy;
struct seal_key;
struct password_cost;
struct api;

struct api_options {
    const char *unix_path;   /* NULL: no Unix socket; mode 0666, since each
                                request carries its own credential */
    const char *address;     /* NULL: no TCP; "127.0.0.1", "::1" */
    uint16_t port;           /* 0: any free one, see api_port */
    const char *stream_path; /* further socket for watches; NULL: none */
    const char *secret_path; /* of the first-admin secret; NULL: none */
    const char *audit_path;  /* directory of the audit logs; NULL: none */
    const char *signer_socket; /* NULL: nothing is signed */
    const struct store_ops *store_ops;
    const char *store_path;  /* directory of the store; NULL: no backups */
    const char *version;     /* of the program */
    const struct password_cost *password_cost; /* NULL: the default */
    struct agents *agents;   /* NULL: agents are answered 501 */
    const struct egress_policy *egress; /* NULL: nobody outside is asked */
    const char *redirects; /* of logins, beside loopback; NULL: none */
    const char *proxies;   /* networks whose X-Forwarded-For is recorded */
    const struct seal_key *seal; /* of kept secrets; NULL: none are kept */
    int64_t refetch_ms; /* of keys that are not known, 0: control/sso.h */
    unsigned connections_max; /* 0: 1024 */
    unsigned flight_max;      /* requests in flight, 0: 512 */
    unsigned subject_max;     /* of one credential, 0: 64 */
    unsigned streams_max;     /* 0: 256 */
    unsigned timeout_s;       /* of a silent client, 0: 30 */
    unsigned think_ms; /* a tenant's time for what-if and explain, 0: 20000 */
};

/* Between loop_open and loop_start: it takes timers and hooks.  Requests that
 * come before loop_start wait for it.  Also after a failure *api_out is to be
 * stopped and freed. */
int api_start(struct loop *loop, const struct api_options *options,
              struct api **api_out, struct error *err);
/* Before loop_stop: takes no new requests, waits for those in flight, ends
 * the streams.  NULL is nothing. */
void api_stop(struct api *api);
/* Behind loop_stop, whose ticks and hooks reach it until then. */
void api_free(struct api *api);
/* The TCP port in use, 0 without TCP. */
uint16_t api_port(const struct api *api);

/* Makes the Unix sockets again that somebody removed; any thread, every
 * second. */
void server_mend(struct api *api);

#endif
