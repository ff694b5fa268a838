/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTILE_WIRE_H
#define HOSTILE_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/*
 * HTTP by hand: the campaigns send what no decent client would, byte for
 * byte, and read what comes back.
 */

struct wire {
    const char *where; /* path of a Unix socket, or ADDRESS:PORT */
    int fd;            /* -1: not connected */
};

struct wire_answer {
    int status; /* 0: none came */
    struct buffer head;
    struct buffer body;
    long ms;
};

/* A socket, or -1. */
int wire_connect(const char *where);
/* Sends and reads one answer, connecting when needed; a connection that the
 * server ends is connected anew next time. */
void wire_ask(struct wire *wire, const struct buffer *request,
              struct wire_answer *answer);
void wire_answer_release(struct wire_answer *answer);
/* Is there a header line that begins with that text, in any case? */
bool wire_has(const struct wire_answer *answer, const char *line);

#endif
