/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HTTP_H
#define BASE_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/*
 * A small HTTP client on libcurl, for our own programs talking to our own
 * servers: over a Unix socket or loopback TCP.  Redirects are not followed.
 */

#define HTTP_HEADERS_MAX 16
#define HTTP_ANSWER_MAX ((size_t)64 * 1024 * 1024)

struct http_target {
    const char *unix_path; /* NULL: TCP to the host in url */
    const char *url;       /* scheme and host, "http://127.0.0.1:7080" */
    const char *ca_file;   /* https: whose certificates are good; NULL: the
                              system's */
};

struct http_request {
    const char *method;
    const char *path; /* begins with '/', already percent-encoded */
    const char *headers[HTTP_HEADERS_MAX]; /* "Name: value", NULL ends */
    const void *body;                      /* NULL: none */
    size_t body_size;
    long timeout_ms; /* whole request; 0: none */
};

struct http_answer {
    long status;
    struct buffer headers; /* as received, one a line */
    struct buffer body;    /* unused when a callback takes the body */
    bool connected; /* the request may have arrived, also when none came */
};

void http_answer_release(struct http_answer *answer);
#define scoped_answer                                                         \
    __attribute__((cleanup(http_answer_release))) struct http_answer

/* Returns 0 when an answer with any status came, -1 (ERROR_BUSY) when none
 * did: the server is down, did not answer in time, or broke off.  The last
 * two leave it open whether the request was carried out: see connected. */
int http_send(const struct http_target *target,
              const struct http_request *request, struct http_answer *answer,
              struct error *err);

/* The same, but each piece of the body goes to take(); it returns false to
 * stop.  Used for followed logs and watches. */
int http_stream(const struct http_target *target,
                const struct http_request *request,
                struct http_answer *answer,
                bool (*take)(const char *bytes, size_t size, void *data),
                void *data, struct error *err);

/* Copies a header's value (name in any case) into value; -1 when absent. */
int http_header(const struct http_answer *answer, const char *name,
                char *value, size_t room);

/* Appends text percent-encoded for a path segment or query value. */
void http_encode(struct buffer *out, const char *text);

#endif
