/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_FARM_H
#define TRACE_FARM_H

#include "core/index.h"
#include "trace/fgd.h"
#include "trace/room.h"
#include "trace/run.h"

/* A cluster under one policy: takes and gives back pods. */

struct farm {
    const struct run_settings *settings;
    const struct openb_trace *trace;
    struct value_supply supply;
    struct value_node *nodes; /* in the order that breaks ties */
    size_t count;
    struct arena *arena;
    struct index *index;
    struct room *room; /* which classes have room on a node */
    double *worth;         /* of each node as it is; has_worth says if known */
    bool *has_worth;
    /* Untouched nodes of one form share their scores. */
    uint16_t *form;        /* of each node; UINT16_MAX: touched */
    struct {
        uint32_t class;
        float score;
    } *fresh;              /* by form: its score for that class */
    const struct value *value;
    struct fgd *fgd;
    int64_t used_milli;
};

/* Where a pod is; site INDEX_NONE: nowhere. */
struct farm_place {
    uint32_t site, cards;
};

void farm_init(struct farm *farm, const struct openb_cluster *cluster,
               const struct openb_trace *trace, const uint32_t *order,
               const struct run_settings *settings);
void farm_release(struct farm *farm);
struct farm_place farm_put(struct farm *farm, uint32_t class);
void farm_remove(struct farm *farm, uint32_t class, struct farm_place place);

#endif
