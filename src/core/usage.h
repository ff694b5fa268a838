/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_USAGE_H
#define CORE_USAGE_H

#include "core/change.h"

/*
 * Where did each milli-card-millisecond go?
 *
 * Conservation: for every card and interval, bound time of its bindings plus
 * one remainder class (idle, reserved, scrub, maintenance, unhealthy or
 * unknown) is 1000 x the wall time.  It holds by construction: a card's time
 * line is cut before anything about the card changes, and each cut gives one
 * fact per live binding and one for what is left.
 *
 * Facts never cross an hour (so no day or month either): one price and one
 * period each.  quantity = milli x (to_ms - from_ms), in milli-card-ms; it
 * fits in 64 bits for any card and hour (1000 x 3.6e6).
 */

/* Emits the facts of the card from its last cut up to the context's time, in
 * pieces cut at hours and at price changes, and moves the cuts there.  Call
 * it BEFORE changing anything about the card or its bindings: bound, released,
 * held, health, handover, missing, or its node's state.  Calling it twice at
 * one time does nothing the second time. */
void usage_cut(struct changes *changes, struct ref ref);
/* Cuts the card of a live binding and closes it now. */
void usage_end(struct changes *changes, struct ref ref);
/* What running work has used is told up to multiples of this. */
#define USAGE_TOLD_MS (5 * 60 * INT64_C(1000))

/* The same for all cards of a node. */
void usage_cut_node(struct changes *changes, struct ref node);

/* Starts the time line of a new card (image from change_create). */
void usage_start(struct changes *changes, struct card *card);

/* The class of what no binding holds, now. */
enum usage_class usage_remainder(const struct changes *changes,
                                 struct ref ref);

/*
 * Counters: tokens, requests, storage, egress, sent by a producer as facts
 * (source, epoch, sequence).  Sequences are dense from 1 within an epoch, and
 * epochs rise, so a repeat is told from a gap without looking into history.
 */
struct usage_count {
    const char *source; /* name of the producer, FIELD_NAME */
    int64_t epoch;      /* >= 1, rises with each start of the producer */
    int64_t sequence;   /* 1, 2, ... in the epoch */
    struct digest digest; /* of the message as it came */
    enum price_meter meter; /* not METER_CARD_HOUR: that is bindings' */
    int64_t quantity;       /* units of the meter, 0..AMOUNT_MAX */
    int64_t from_ms, to_ms; /* when it was used, within one hour of the UTC
                               calendar; from_ms < to_ms <= now */
    struct ref project;     /* who pays */
    struct ref user;        /* or none */
    struct ref workload;    /* or none */
    const char *model;      /* "": none */
};

enum usage_verdict {
    USAGE_ACCEPTED,  /* the set holds the fact */
    USAGE_DUPLICATE, /* the same was accepted last: no effect, a success */
    USAGE_OLDER,     /* before the last one: the store tells whether it is a
                        duplicate; no effect */
    USAGE_CONFLICT,  /* same id, other content */
    USAGE_GAP,       /* one or more before it are missing */
};

/* The producer has cut at hours.  Fails with ERROR_INVALID when a member is
 * out of its range or the project is gone. */
int usage_count(struct changes *changes, const struct usage_count *count,
                enum usage_verdict *verdict_out, struct error *err);

#endif
