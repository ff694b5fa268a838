/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "cli/cli.h"

/*
 * How does a command talk to the server?  One call is one request; answers
 * that are problems become errors with the code that the server named.  A
 * mutation carries an Idempotency-Key and is repeated with the same key when
 * its outcome is unknown, so it happens once.
 */

struct client_call {
    const char *method;
    const char *path;      /* with query, percent-encoded */
    const json_t *body;    /* NULL: none */
    int64_t version;       /* If-Match; 0: none */
    const char *approval;  /* in whose name; NULL: that of --approval */
    long timeout_ms;       /* 0: 30 s */
};

/* *out: a new reference, NULL when the answer had no body. */
int client_send(const struct cli *cli, const struct client_call *call,
                json_t **out, struct error *err);
/* GET of a path. */
int client_get(const struct cli *cli, const char *path, json_t **out,
               struct error *err);
/* GET of an answer that is not JSON. */
int client_get_text(const struct cli *cli, const char *path,
                    struct http_answer *out, struct error *err);
/* GET of all pages of a list: one object {"items": [...]}, at most max. */
int client_list(const struct cli *cli, const char *path, size_t max,
                json_t **out, struct error *err);
/* A streamed GET; take returns false to stop. */
int client_stream(const struct cli *cli, const char *path,
                  bool (*take)(const char *bytes, size_t size, void *data),
                  void *data, struct error *err);
/* Fills err from an answer with a status of 400 or more. */
int client_problem(const struct http_answer *answer, struct error *err);

#endif
