/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_BASELINE_H
#define RUNNER_BASELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "accel/accel.h"
#include "base/error.h"

struct node;

/*
 * What must be remembered of a card from one tenant to the next?
 *
 * STATE/handover/UUID.json:
 *   {"base_mib", "base_ms", "base_how", "boot", "driver",
 *    "held": {"": tenant, "1g.5gb@0": tenant}}
 *
 * base_mib   memory in use when nobody is on the card: measured after its
 *            reset, or when it was first seen idle; never later, so that what
 *            each tenant leaves behind does not become the measure.  Of
 *            another boot or driver it is measured anew.
 * held       who had the card, or a slice of it, since it was last clean.  It
 *            is written before the tenant's program runs: whoever dies then,
 *            the next runner knows it.
 */

/* So much more than the base line is still idle. */
#define BASELINE_SLACK_MIB 16
/* No idle card has more of its memory in use than this part. */
#define BASELINE_PART 16

struct baseline {
    int64_t mib;   /* -1: none */
    int64_t at_ms;
    char how[32];
};

/* That of this boot and driver, measured now when there is none.  used_mib:
 * in use now, nobody is on it.  ERROR_VERIFY when that cannot be idle. */
int baseline_get(struct node *node, const struct accel_card *card,
                 int64_t used_mib, struct baseline *out, struct error *err);
/* The card has just been reset. */
int baseline_after_reset(struct node *node, const struct accel_card *card,
                         int64_t used_mib, struct baseline *out,
                         struct error *err);

/* The tenant has the part from now on. */
int baseline_hold(struct node *node, const char *part, int64_t tenant,
                  struct error *err);
/* It could not be cleaned: nobody gets it, nor does who had it last. */
int baseline_taint(struct node *node, const char *part, struct error *err);
/* The part is clean. */
int baseline_clear(struct node *node, const char *part, struct error *err);
/* The tenant that last had something of the part and after whom it was not
 * cleaned; 0: none, -1: nobody may have it.  Another than `tenant` goes
 * first. */
int64_t baseline_holder(struct node *node, const char *part, int64_t tenant);

#endif
