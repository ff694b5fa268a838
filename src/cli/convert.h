/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CONVERT_H
#define CLI_CONVERT_H

#include "base/json.h"

/*
 * What would a job of another system be here?  Each reader gives a manifest
 * (job.h) as a new object, and notes: one sentence for each thing that has no
 * counterpart or needs a decision.  Nothing is dropped without a note.
 */

/* A batch script with #SBATCH lines (Slurm's sbatch, options as in its manual
 * page).  An instance is what runs on one node. */
int convert_sbatch(const char *text, size_t size, json_t **manifest_out,
                   json_t *notes, struct error *err);
/* A Job of batch/v1 or a Pod of v1, as document_read gives it. */
int convert_kubernetes(const json_t *object, json_t **manifest_out,
                       json_t *notes, struct error *err);

/* For both: */
void convert_note(json_t *notes, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A name that is taken here: a-z, 0-9 and "-"; others become "-". */
void convert_name(json_t *manifest, const char *name, json_t *notes);
/* Says that a class with so many cards (of that model, "": any) is needed. */
void convert_cards(json_t *manifest, int64_t cards, const char *model,
                   json_t *notes);
/* A time as people write it, "90m"; nothing for 0 and less. */
void convert_time(json_t *manifest, const char *field, int64_t seconds);

/* What stands where somebody has to decide. */
#define CONVERT_DECIDE "CHANGE-ME"

#endif
