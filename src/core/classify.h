/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLASSIFY_H
#define CORE_CLASSIFY_H

#include "core/change.h"

/*
 * Which resource classes does an estate offer before anybody has made some?
 *
 * For a model that no class names yet: "MODEL.1", ".2", ".4", ".8" whole cards
 * up to count, the most cards of it on one node; ".2-linked" and so on for as
 * many as are linked to each other there; "MODEL.half", half a card shared
 * without a boundary; and one for each profile of slices.  MODEL is the
 * vendor's name in lower case without the vendor: "NVIDIA H100 80GB HBM3" is
 * h100-80g-hbm3.
 *
 * A node that has more of a known model than any before it brings the sizes
 * that were not possible until then.  What is there already, under whatever
 * hand, is never changed, and what somebody deleted does not come back.
 */
struct classify {
    const char *vendor, *model;
    int64_t memory_mib;
    int64_t count;  /* on the node */
    int64_t linked; /* most of them that are linked to each other */
    bool uncut;     /* slices of it are not offered (cut_table) */
};
void classify_model(struct changes *changes, const struct classify *found);

/* The name's first part; at most NAME_MAX_SIZE with its NUL. */
void classify_name(const char *model, char name[NAME_MAX_SIZE]);

#endif
