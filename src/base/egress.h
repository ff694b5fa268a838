/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_EGRESS_H
#define BASE_EGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/*
 * How is a URL asked that somebody else chose?  This is the one way out: no
 * other code connects to an address that a user could name.
 *
 * - https alone; http only to loopback, and only when the operator's
 *   configuration says so (tests).
 * - A name is resolved once for each hop, and the address that is connected to
 *   is the one that was judged: the judgement is made where the socket is
 *   opened, so a second answer of a name server changes nothing.
 * - Public addresses; private ones that the operator's configuration names;
 *   never link-local, multicast, reserved or metadata addresses, nor such that
 *   stand for another address (address.h).
 * - Redirects of a GET are followed to the bound, each judged like the first
 *   URL; those of a POST never.
 * - One time limit for all of it, one size limit; no user name in a URL, no
 *   proxy from the environment, no cookies, no netrc, no compression.
 *
 * It blocks: on the threads of a crew, never on the world thread.  Errors name
 * the host and what was wrong, for the log; what a tenant is told about them is
 * the caller's business, since "refused" and "nobody there" differ.
 */

#define EGRESS_TIMEOUT_MS 10000L
#define EGRESS_REDIRECTS 3
#define EGRESS_URL_MAX 2048

/* The operator's word.  Texts may be NULL. */
struct egress_policy {
    const char *hosts;    /* "sso.example.org, *.example.com"; none: any */
    const char *networks; /* private ones that may be asked */
    const char *ca_file;  /* authorities; NULL: the system's */
    bool loopback;        /* http and https to loopback */
    long timeout_ms;      /* 0: EGRESS_TIMEOUT_MS */
    /* Tests: an address for a name, NULL: the system's resolver. */
    const char *(*resolve)(void *data, const char *host);
    void *data;
};

struct egress_request {
    const char *url;
    const char *form; /* POST of application/x-www-form-urlencoded; NULL: GET */
    const char *basic; /* "user:password" for the server; NULL: none */
    const char *bearer; /* a token for it; NULL: none */
    size_t max;        /* bytes of the body */
};

struct egress_answer {
    long status;
    char type[128]; /* Content-Type, "" when there is none */
    struct buffer body;
};

static inline void
egress_release(struct egress_answer *answer)
{
    buffer_release(&answer->body);
}
#define scoped_egress                                                         \
    __attribute__((cleanup(egress_release))) struct egress_answer

/* Would this URL be asked, as far as it can be told without a name server?
 * ERROR_INVALID: it is no such URL; ERROR_DENIED: the policy says no. */
int egress_check(const struct egress_policy *policy, const char *url,
                 struct error *err);
/* 0 when an answer with any status came that is not followed.  Else as
 * egress_check, ERROR_TOO_LARGE (the body), ERROR_BUSY (no answer in time). */
int egress_fetch(const struct egress_policy *policy,
                 const struct egress_request *request,
                 struct egress_answer *answer, struct error *err);
/* Are the texts of a policy lists of hosts and networks? */
int egress_check_policy(const struct egress_policy *policy,
                        struct error *err);

#endif
