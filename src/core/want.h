/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_WANT_H
#define CORE_WANT_H

#include "base/json.h"
#include "core/world.h"

/*
 * Which classes give an instance that much accelerator memory on one card?
 *
 * A request may say how much memory it needs instead of a class.  Every class
 * of the platform is looked at: what an instance of it gets on the smallest
 * card there is for it, in the pools where the workload may run.  Those that
 * give enough come cheapest first: by price, then by the share of a card that
 * is taken, then by what is left over.
 */

enum want_why {
    WANT_FITS,
    WANT_NOT_ALLOWED, /* the tenant may not use the class */
    WANT_SEVERAL,     /* several cards, or none: memory is not one piece */
    WANT_NO_CARD,     /* no card of it in those pools */
    WANT_TOO_SMALL,
};

struct want {
    struct ref class;
    uint64_t seq; /* of the class */
    enum want_why why;
    int64_t memory_mib; /* of an instance; 0: no card */
    int64_t milli;      /* of a card */
    int64_t cost_nano;  /* of an hour of it */
};

/* All classes, the fitting ones first and in order; in the arena. */
struct want *want_list(const struct world *world,
                       const struct workload *workload, int64_t mib,
                       int64_t now_ms, struct arena *arena,
                       size_t *count_out);

/* "12288 MiB, 40960 needed"; what is wrong, for people. */
#define WANT_TEXT_MAX 120
const char *want_text(char text[WANT_TEXT_MAX], const struct want *want,
                      int64_t mib);

/* The ids of those that fit, at most ALTERNATIVE_MAX; -1 when there is none,
 * with what each lacks. */
int want_classes(const struct world *world, const struct workload *workload,
                 int64_t mib, int64_t now_ms, json_t *ids,
                 struct error *err);

/* The list for explain: {class, memory_mib, fits, text, cost_nano}.  A new
 * reference. */
json_t *want_json(const struct world *world, const struct workload *workload,
                  int64_t now_ms, struct arena *arena);

#endif
