/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_ANSWER_H
#define API_ANSWER_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"

/*
 * What goes back to the client?  A status, a few headers and a body, built
 * before anything is sent.  Failures are RFC 9457 problem details.
 */

struct answer {
    int status; /* 0: not yet built */
    const char *type; /* of the body; static text */
    struct buffer body;
    int file; /* the body is this file instead, unless it is 0; owned */
    char etag[32];      /* "" : none */
    char location[512]; /* "" : none */
    char allow[64];     /* "" : none */
    char signature[256]; /* of an answer to an agent, "" : none */
    int64_t log_next;  /* of a piece of a log: where the next begins */
    bool log_complete; /* ... and nothing follows it */
    unsigned retry_s;   /* ask again after, 0: the usual second */
    bool replayed;      /* comes from a stored receipt */
    bool dry_run;
};

void answer_release(struct answer *answer);
/* Takes over value.  Replaces what was there. */
void answer_json(struct answer *answer, int status, json_t *value);
void answer_text(struct answer *answer, int status, const char *type,
                 const char *text);
void answer_etag(struct answer *answer, uint64_t version);

/* The problem of err: {type, title, status, code, detail, request_id} and,
 * when set, field and help.  Everything that is not found reads the same:
 * what an error says about a hidden object never gets out. */
void answer_problem(struct answer *answer, const struct error *err,
                    const char *request_id);

#endif
