/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_LINK_H
#define AGENT_LINK_H

#include "base/arena.h"
#include "base/error.h"
#include "engine/message.h"
#include "engine/order.h"
#include "engine/sync.h"

/*
 * How does the agent talk to the control plane?
 *
 * Keeps who the node is (key, id, epoch, the control plane's pinned key) in
 * its state directory, signs every request and takes no answer that is not
 * signed for that request.  Any number of threads may sync at once.
 */

struct link;

struct link_options {
    const char *control;    /* path of a Unix socket, or http[s]://HOST:PORT */
    const char *ca_file;    /* whose certificates are good; NULL: the system's */
    const char *state;      /* directory, mode 0700 */
    const char *node;       /* name to enrol under */
    const char *token_file; /* join token; NULL: enrolled before */
};

/* Makes the node's key when there is none and reads what enrolment left. */
int link_open(const struct link_options *options, struct link **link_out,
              struct error *err);
void link_close(struct link *link); /* NULL is nothing */

bool link_is_enrolled(struct link *link);
/* Enrols with the join token; repeating it is harmless. */
int link_enrol(struct link *link, struct error *err);

/* One sync.  document_out: see order_parse.  ERROR_BUSY: nobody answered;
 * ERROR_VERIFY: the answer is not the control plane's, it is ignored.  An
 * outdated sequence and a challenge are dealt with inside. */
int link_sync(struct link *link, const struct sync *sync,
              struct arena *arena, json_t **document_out,
              struct order *order_out, struct error *err);

#endif
