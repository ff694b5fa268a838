/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_PARTITION_RECORD_H
#define ACCEL_PARTITION_RECORD_H

#include "accel/accel.h"

/*
 * What is kept on disk about the layout of one card?  Which slices were made
 * here, what is being changed, and why the last change failed.
 *
 * DIRECTORY/UUID.json:
 * {"version": 1, "card": UUID, "own": ["3g.20gb@4"...],
 *  "intent": null | {"mode": "keep"|"cut"|"whole", "remove": [..],
 *                    "create": [..]},
 *  "failure": text, "failed_ms": N}
 */

#define RECORD_NAME_MAX 40
#define RECORD_TEXT_MAX 256

enum record_mode { RECORD_KEEP, RECORD_CUT, RECORD_WHOLE };

struct record_names {
    size_t count;
    char list[ACCEL_SLICES_MAX][RECORD_NAME_MAX];
};

/* Removals come first, then the mode, then what is created. */
struct record_plan {
    enum record_mode mode;
    struct record_names remove, create;
};

struct partition_record {
    char uuid[ACCEL_ID_MAX + 1];
    struct record_names own;
    bool pending; /* plan has begun and is not known to be done */
    struct record_plan plan;
    char failure[RECORD_TEXT_MAX];
    int64_t failed_ms;
};

bool record_has(const struct record_names *names, const char *name);
/* No effect when it is there, or no more can be. */
void record_add(struct record_names *names, const char *name);
void record_drop(struct record_names *names, const char *name);
/* "remove 1g.5gb@0, make the card whole" */
void record_say(const struct record_plan *plan, char text[RECORD_TEXT_MAX]);

/* Durable when it returns. */
int record_save(const struct partition_record *record, const char *directory,
                struct error *err);
/* uuid is the file's name without its end. */
int record_load(struct partition_record *record_out, const char *directory,
                const char *uuid, struct error *err);

#endif
