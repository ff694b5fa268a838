/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_TRIES_H
#define API_TRIES_H

#include <stdbool.h>

#include "base/hash.h"

/*
 * How long does a source wait after failed logins, and from where did one go
 * well?
 *
 * So many failures as the caller says (TRIES_FREE) cost nothing, and one is
 * forgotten each TRIES_FORGET_MS.  Each one more doubles the wait, from TRIES_FORGET_MS up to what the caller
 * says; it is all forgotten when a source was quiet for TRIES_QUIET_MS after
 * its wait.
 *
 * The table is bounded.  An entry is of one source alone (by 64 bits of a
 * keyed hash), so nobody waits for what another did; when a place is needed,
 * who has failed least is forgotten.  Sources of good logins lie apart: only a
 * good one takes the place of another.
 */

#define TRIES_FREE 30
#define TRIES_FORGET_MS INT64_C(2000)
#define TRIES_QUIET_MS (15 * 60 * INT64_C(1000))
#define TRIES_WAIT_MAX_MS (15 * 60 * INT64_C(1000))

#define TRIES_SETS 2048
#define TRIES_WAYS 4

struct tries_entry {
    uint64_t tag; /* 0: free */
    unsigned failures;
    unsigned free; /* failures that cost nothing */
    int64_t last_ms;  /* what was forgotten is forgotten up to then */
    int64_t until_ms; /* none before */
};

struct tries {
    struct hash_key key;
    struct tries_entry entries[TRIES_SETS][TRIES_WAYS];
    uint64_t friends[TRIES_SETS][TRIES_WAYS]; /* tags, the newest first */
};

/* ms until the source may try again; 0: now. */
int64_t tries_wait(struct tries *tries, const char *source, int64_t now_ms);
void tries_failed(struct tries *tries, const char *source, unsigned free,
                  int64_t most_ms, int64_t now_ms);
/* A login went well, and: did one? */
void tries_welcome(struct tries *tries, const char *source);
bool tries_knows(const struct tries *tries, const char *source);
/* Of whom an address is: IPv4 itself, IPv6 its /64, since whoever has one has
 * all of these. */
void tries_network(const char *address, char out[64]);

#endif
