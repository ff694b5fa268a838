/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_H
#define CORE_SHARE_H

#include "core/change.h"

/*
 * Who has had how much lately?
 *
 * Use fades with a half-life H (platform.share_half_life_ms; 0: fair share is
 * off, and order is by time of submission).  What r milli-cards used from a to
 * b counts at a time t >= b as
 *
 *     r x K x (2^((b - t) / H) - 2^((a - t) / H)),    K = H / ln 2,
 *
 * the integral of r x 2^((s - t) / H) over s.  Two amounts are kept:
 * milli-card-ms, and MiB-seconds of accelerator memory.  For each user in a
 * project a row (kind recent) says what has been metered, faded to the time of
 * its last change.  It is written with the facts, never by itself.
 *
 * Sums of a tenant, unit and project are not stored: they are sums of rows and
 * of live bindings (recent.c), kept in the forward form of the decay (Cormode,
 * Shkapenyuk, Srivastava, Xu, "Forward decay: a practical time decay model for
 * streaming systems", ICDE 2009): each is weighted by 2^(t / H) with the time t
 * that it is true for.  Nothing has to be touched as time passes, sums are
 * exact in any order, and a restart has the same ones.
 *
 * Else a burst of free cards would all go to one tenant, as nobody has used
 * any yet: what runs or is kept for somebody counts as if it had been used for
 * SHARE_AHEAD_MS (or H if that is less) already.
 */

#define SHARE_AHEAD_MS INT64_C(3600000)

enum share_amount { SHARE_CARDS, SHARE_MEMORY, SHARE_AMOUNTS };

/* Tenant, three units, project, user. */
#define SHARE_LEVELS 6

/* An extension that gcc and clang share. */
__extension__ typedef __int128 share_sum;
__extension__ typedef unsigned __int128 share_product;

/* 2^(part / whole) x 2^63 for 0 <= part < whole: a product of the roots 2^(2^-i)
 * for the bits of the exponent, 48 of them.  Relative error below
 * 2^-48 + 48 x 2^-62. */
uint64_t share_power(int64_t part, int64_t whole);
/* What is left of an amount (0 .. 2^62) after a time; rounded down. */
int64_t share_fade(int64_t amount, int64_t past_ms, int64_t half_life_ms);
/* K x rate: what a use that never began nor ends counts. */
share_sum share_steady(share_sum rate, int64_t half_life_ms);

/* Puts the use of a binding up to the context's time into its user's row.
 * Part of usage_cut. */
void share_cut(struct changes *changes, const struct binding *binding);

/* Where a tenant, unit or project stands: the larger of its parts in the cards
 * and in their memory of the whole estate, over its weight.  Keys are of one
 * time, or of an earlier one: they only grow with use, as others do not have to
 * be faded.  The form is logarithmic: 2^16 is a factor of 2; the step of 2^-16
 * makes equals of those who differ by less than 0.002 %. */
struct share_path {
    int64_t keys[SHARE_LEVELS]; /* from the tenant down; then 0 */
};

/* What all keys depend on besides use and weights. */
struct share_basis {
    int64_t capacity[SHARE_AMOUNTS], half_life_ms;
};
struct share_basis share_basis(const struct world *world);

void share_path(const struct world *world, struct ref project,
                struct ref user, int64_t now_ms, struct share_path *path);
/* Level by level from the tenant: < 0 when a has had less. */
int share_compare(const struct share_path *a, const struct share_path *b);

/* What one of them had lately, as permille of the estate, before its weight;
 * user: none, or of a project. */
int64_t share_permille(const struct world *world, struct ref node,
                       struct ref user, int64_t now_ms);
int64_t share_weight(const struct world *world, struct ref node);

#endif
