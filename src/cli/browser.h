/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BROWSER_H
#define CLI_BROWSER_H

#include "cli/cli.h"

/*
 * How does an answer come from a browser to this program?  The browser is sent
 * to a listener on loopback that takes one request (RFC 8252 7.3).  Where
 * there is no browser on this machine, the address that it ended at on another
 * one is typed in.
 */

#define BROWSER_WAIT_MS 300000

struct browser {
    int fd; /* of the listener; -1: the address is typed in */
    char redirect[64];
};

/* What the address had behind "?"; texts are the cli's. */
struct browser_answer {
    const char *state, *code, *error, *iss; /* NULL: none */
};

int browser_open(struct browser *browser, bool paste, struct error *err);
void browser_close(const struct browser *browser);
/* Tells the person where to go; starts $BROWSER when it is set. */
void browser_send(const struct browser *browser, const char *url);
/* Waits for the answer. ERROR_INTERRUPTED, ERROR_BUSY after a while. */
int browser_wait(const struct cli *cli, const struct browser *browser,
                 struct browser_answer *out, struct error *err);

#endif
