/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_ROUTE_H
#define API_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/url.h"
#include "core/access.h"
#include "store/store.h"

/*
 * What can be asked for?  One table of routes (route.def) dispatches,
 * authorizes and documents.  A handler gets a struct granted, which only
 * access_decide makes, so a handler that skipped the decision would have
 * nothing to work on; routes without a verb have handlers that see no world.
 */

struct exchange;

enum route_form {
    ROUTE_OPEN,  /* no world: health, version, documents */
    ROUTE_START, /* no login: takes the exchange over (login, agents) */
    ROUTE_READ,  /* one decision, answered from the world or from history */
    ROUTE_WRITE, /* one decision, one change set, one record */
};

enum route_flag {
    ROUTE_LIST = 1,      /* pages: limit, cursor, name, state */
    ROUTE_WATCH = 2,     /* watch, since */
    ROUTE_MATCH = 4,     /* needs If-Match */
    ROUTE_SELF = 8,      /* decided on the asker's own subject, no path */
    ROUTE_CREATES = 16,  /* 201 with Location */
    ROUTE_RAW = 32,      /* the body is not parsed here */
    ROUTE_SECRET = 64,   /* no receipt, no redacted copy of the body */
    ROUTE_FOLLOW = 128,  /* follow: the answer may be a stream */
    ROUTE_CONTENT = 256, /* body fields come from the schema of `kind` */
    ROUTE_FORM = 1024,   /* ROUTE_RAW: it is a form */
    ROUTE_EFFECT = 2048, /* what its slow step does, no transaction holds: an
                            intent is recorded before */
    ROUTE_HEAVY = 512,   /* much work on the world thread: few at a time */
};

enum body_type { BODY_TEXT, BODY_INT, BODY_BOOL, BODY_OBJECT, BODY_LIST };
struct body_field {
    const char *name; /* NULL ends a list */
    enum body_type type;
    bool required;
    const char *help;
};

struct route {
    const char *method;
    const char *path; /* template: "/tenants/{tenant}/projects" */
    enum route_form form;
    enum verb verb;
    enum kind kind; /* of the object that the answer shows, or NONE */
    unsigned flags;
    const struct body_field *body; /* NULL: none or by schema */
    const char *query;             /* further parameters, space separated */
    const char *summary;
    union {
        int (*open)(struct exchange *exchange, struct error *err);
        void (*start)(struct exchange *exchange);
        int (*read)(const struct granted *granted, struct exchange *exchange,
                    struct error *err);
        int (*write)(const struct granted *granted, struct changes *changes,
                     struct exchange *exchange, struct error *err);
    } handle;
    /* ROUTE_READ: then, on a reader thread; NULL: none. */
    int (*history)(struct exchange *exchange, struct store_reader *reader,
                   struct error *err);
    /* ROUTE_WRITE: slow arithmetic between a trial and the write; NULL:
     * none. */
    int (*work)(struct exchange *exchange, struct error *err);
    /* ROUTE_WRITE: makes the answer from what was applied. */
    void (*answer)(const struct granted *granted,
                   const struct changes *changes, struct exchange *exchange);
};

#define ROUTE_ROOT "/api/v1"

extern const struct route route_table[];
extern const size_t route_count;

/* The route for a method ("HEAD" is "GET") and path, NULL when there is none;
 * then methods_out, when not empty, names what the path does take. */
const struct route *route_match(const char *method, const struct url *url,
                                char methods_out[64]);
/* Is the parameter one that the route takes? */
bool route_takes(const struct route *route, const char *parameter);
bool route_changes(const struct route *route);

#endif
