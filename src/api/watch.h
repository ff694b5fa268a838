/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_WATCH_H
#define API_WATCH_H

#include "api/exchange.h"

/*
 * What changed since?  A watch is a list that goes on: server-sent events of
 * the objects of one kind below one parent, from a revision of their scope
 * on.  A list tells the revision that it was made at, so that a watch from
 * there misses nothing.
 *
 *   id: 17                      revision; the client resumes with since=17
 *   event: put | delete | end
 *   data: the object | {"id": ...} | a problem
 *
 * Changes of one object that follow each other quickly may come as one event
 * with the newest state.  A comment comes every 15 s.  A watch whose revision
 * is no longer kept is answered 410.  The asker's rights are looked at for
 * each event and at least every 5 s; when they end, so does the watch.
 */

bool watch_wanted(const struct exchange *exchange);
/* Makes the exchange's answer a watch.  parent none: objects of the kind in
 * the platform's scope wherever they are. */
int watch_start(const struct granted *granted, struct exchange *exchange,
                enum kind kind, struct ref parent, struct error *err);

#endif
