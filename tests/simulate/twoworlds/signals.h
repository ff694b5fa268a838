/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TWOWORLDS_SIGNALS_H
#define TESTS_TWOWORLDS_SIGNALS_H

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

/*
 * What one tenant's use of shared cards tells another: these members of these
 * answers, and nothing else.  docs/boundary.md says the same in words.
 *
 * The others cannot be taken out of an answer: the time that work waits
 * because cards are taken, and that it gets a booked start once later work
 * started often enough.  In the form where use differs each tenant stays
 * within a limit that leaves room for both, so that nothing of b's has to wait
 * for another, and it takes very many starts until one is booked.
 */

struct signal {
    const char *route;  /* the end of its path */
    const char *member; /* of any object in the answer */
};

static const struct signal signals[] = {
    { "/capacity", "free_cards" },
    { "/explain", "free" },
    { "/explain", "fit" },
    { "/explain", "largest" },
    { "/explain", "filters" },
    /* Where work was put is in the digests of its instances and bindings. */
    { "/audit", "facts" },
    { "/audit", "entry" },
    { "/audit", "leaf" },
    { "/what-if", "end" }, /* does anything in the pool still go on */
    { "/what-if", "waiting" }, /* follows from it: ended work that is watched
                                * leaves the copy as its time goes on */
};

static inline void
signals_drop(json_t *value, const char *member)
{
    const char *key;
    json_t *inner;
    size_t index;

    if (json_is_object(value)) {
        (void)json_object_del(value, member);
        json_object_foreach (value, key, inner)
            signals_drop(inner, member);
    }
    json_array_foreach (value, index, inner)
        signals_drop(inner, member);
}

/* Takes the signals of a route out of an answer's body; false when it has
 * none, or the body is no JSON. */
static inline bool
signals_hide(const char *route, json_t *body)
{
    bool has = false;

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        size_t size = strlen(signals[i].route);
        size_t length = strlen(route);

        if (length < size ||
            strcmp(route + length - size, signals[i].route) != 0)
            continue;
        signals_drop(body, signals[i].member);
        has = true;
    }
    return has && body != NULL;
}

#endif
