/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RESERVATION_H
#define CORE_RESERVATION_H

#include "core/estate.h"
#include "core/timeline.h"

/*
 * Capacity promised to a tenant or a project for a time.
 *
 * A reservation has one window [from, to), or one each day or week until it
 * ends (UTC, so no hour is missing or there twice).  When it is made, the
 * guarantees of all tenants and what is reserved at each instant must fit the
 * healthy cards of its pool.  Some time before a window opens concrete cards
 * are chosen and booked for it; burst work on them gets notice and its grace.
 * In the window only work of its node runs on them, and burst work of others
 * if it lends.
 *
 *   scheduled -> opening (cards chosen) -> open -> scheduled | over
 */

/* Windows of one reservation at most: a daily one for two years. */
#define RESERVATION_WINDOWS_MAX 800
#define RESERVATION_DAY_MS (24 * INT64_C(3600000))

/* The window that holds this instant, else the next one; false: none. */
bool reservation_window(const struct reservation *reservation, int64_t at_ms,
                        int64_t *from_out, int64_t *to_out);
/* Adds all its windows that end after from_ms, its milli-cards as amount. */
void reservation_add(const struct reservation *reservation, int64_t from_ms,
                     struct timeline *timeline);
/* The time between the choice of cards and the window. */
int64_t reservation_lead_ms(const struct world *world);

/* Milli-cards of this pool and class (none: any) that others have reserved,
 * at most at one instant from now on, or of the windows of `self` alone (may
 * be NULL). */
int64_t reservation_peak(const struct changes *changes, struct ref pool,
                         struct ref class, const struct reservation *self,
                         int64_t now_ms, int64_t *at_out);
/* Are its windows sound? */
int reservation_check_times(const struct reservation *reservation,
                            int64_t now_ms, struct error *err);
/* Are its fields sound, and do its windows fit beside what is guaranteed and
 * reserved?  Refusals tell the numbers. */
int reservation_check(const struct changes *changes,
                      const struct reservation *reservation, int64_t now_ms,
                      struct error *err);

/* May this work use what is reserved? */
bool reservation_is_for(const struct world *world,
                        const struct reservation *reservation,
                        const struct workload *workload);

/* Milli-cards that open reservations add to this quota's guarantee and limit:
 * those of its node and below whose cards it counts. */
int64_t reservation_extra(const struct world *world,
                          const struct quota *quota);

/* When something is to be done about it next; now or earlier: due.
 * TIMELINE_NEVER when it is over. */
int64_t reservation_due_ms(const struct estate *estate,
                           const struct reservation *reservation);
/* Does what is due: chooses cards, opens, closes.  False: nothing was.
 * victims_out: how many workloads got notice. */
bool reservation_step(const struct estate *estate, struct changes *changes,
                      struct ref ref, size_t *victims_out);

#endif
