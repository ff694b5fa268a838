/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_FEED_H
#define CONTROL_FEED_H

#include "control/loop.h"

/*
 * What changed in a scope since a revision?  The newest notes of all scopes
 * in one ring, chained by scope, so that a watch costs what it gets.
 */

struct feed;

struct feed *feed_new(size_t room);
void feed_free(struct feed *feed);
/* Nothing before this revision of the scope is known: after loading. */
void feed_start(struct feed *feed, struct ref scope, uint64_t revision);
void feed_add(struct feed *feed, const struct note *note);
/* Notes of the scope with revision > since, oldest first, while take returns
 * true.  ERROR_GONE when some of them are no longer there, or when since is
 * ahead of now, the scope's present revision. */
int feed_read(const struct feed *feed, struct ref scope, uint64_t since,
              uint64_t now,
              bool (*take)(void *data, const struct note *note), void *data,
              struct error *err);

/* The least since that feed_read takes. */
uint64_t feed_floor(const struct feed *feed, struct ref scope);

#endif
