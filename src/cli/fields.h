/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FIELDS_H
#define CLI_FIELDS_H

#include "base/clock.h"
#include "cli/cli.h"
#include "core/schema.h"

/*
 * FIELD=VALUE words as a JSON body: numbers, switches, lists of verbs and
 * documents take their type from the kind's schema; everything else is text.
 * A value of "null" is null.  Times may be "now" and "+30d", and a price's
 * amount can be given as price=3.5 instead of nano=3500000000.
 */
int fields_read(const struct cli *cli, enum kind kind, int first,
                json_t *body, struct error *err);

/* Amounts as people write them; the result is in the smallest unit. */
/* "1.5" -> 1500, at most three digits behind the point. */
int fields_milli(const char *text, int64_t *out, struct error *err);
/* "90s", "10m", "2h", "7d" -> ms; a bare number is seconds. */
int fields_duration(const char *text, int64_t *out, struct error *err);
/* "now" and "+30d" by this machine's clock, as RFC 3339; else as it is. */
int fields_time(const char *text, char out[CLOCK_TEXT_MAX],
                struct error *err);
/* "512", "512m", "4g", "4GiB" -> MiB. */
int fields_mib(const char *text, int64_t *out, struct error *err);
/* "3.5" -> 3500000000, at most nine digits behind the point. */
int fields_nano(const char *text, int64_t *out, struct error *err);

/* An amount of a quota's dimension ("cards") as people read it: "2 cards",
 * "4096 MiB", "10 card-hours". */
void fields_amount(const char *dimension, int64_t amount, char *text,
                   size_t room);

/* An amount of a quota's dimension in the unit that people use, "none": -1. */
int fields_quota(const char *dimension, const char *text, int64_t *out,
                 struct error *err);

#endif
