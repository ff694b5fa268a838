/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_PARTITION_H
#define ACCEL_PARTITION_H

#include "accel/accel.h"

/*
 * How is a card cut so that a failure, or a death in the middle, leaves no
 * half layout?
 *
 * What is to become of a card (the intent) is on disk before the first call
 * that changes it, and taken off when it is done.  A change that fails is
 * taken back: the layout that was there is there again.  A process that dies
 * in between leaves its intent; partition_resume of the next one takes back
 * what only added slices, since whoever asked for them is gone too, and
 * completes everything else, or takes it back when that fails.  An intent that
 * can be neither completed nor taken back stays, is shown, and is tried again
 * before anything else is changed on that card.
 *
 * Only what is touched has to be idle: a slice for its own end, the whole card
 * for a change of its mode.  A change waits for the last process at most
 * wait_ms, before anything is touched.
 *
 * The slices that were made here are known by name.  Any other one is
 * foreign: it is shown, never given to anybody, and ended only when the
 * caller brings an operator's word (clear).
 *
 * Thread-safe; changes go one after the other.
 */

#define PARTITION_TEXT_MAX 256

struct partition;

struct partition_options {
    struct accel *accel;
    const char *directory; /* of the records, root's own; made when missing */
    /* Does anybody but holder have a part of it?  Called without locks. */
    bool (*is_bound)(void *context, const char *part, const void *holder);
    void *context;
    int wait_ms;
};

struct partition_view {
    bool sliced;
    size_t count;
    struct accel_slice slices[ACCEL_SLICES_MAX];
    char layout[PARTITION_TEXT_MAX];  /* "1g.5gb@2 3g.20gb@4" */
    char foreign[PARTITION_TEXT_MAX]; /* those that were not made here */
    char intent[PARTITION_TEXT_MAX];  /* "create 3g.20gb@4", "": none */
    char failure[PARTITION_TEXT_MAX]; /* of the last change, "": it was done */
    int64_t failed_ms;
};

/* Reads the records.  One that cannot be read knows no slices: all on that
 * card are foreign then. */
int partition_open(struct partition **out,
                   const struct partition_options *options, struct error *err);
void partition_close(struct partition *partition);

/* Before anything else is changed.  tell: one sentence for each card where
 * something was left; may be NULL. */
void partition_resume(struct partition *partition,
                      void (*tell)(void *context, const char *text),
                      void *context);

/* A new, clean slice for holder.  One of that name that was made here is made
 * anew.  ERROR_CONFLICT: a slice that is bound, busy or foreign is in the
 * way, or the card is whole. */
int partition_create(struct partition *partition, const char *part,
                     const void *holder, struct error *err);
/* One that is not there is gone already. */
int partition_destroy(struct partition *partition, const char *part,
                      struct error *err);
/* ERROR_CONFLICT when it is there and was not made here. */
int partition_check_own(struct partition *partition, const char *part,
                        struct error *err);
/* The card's mode; its slices end.  clear: foreign ones too. */
int partition_cut(struct partition *partition, const char *uuid, bool on,
                  bool clear, struct error *err);

/* What is there now.  A card that cannot be cut has none, and no record. */
int partition_look(struct partition *partition, const char *uuid,
                   struct partition_view *view_out, struct error *err);

#endif
