/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLASSIFY_H
#define CORE_CLASSIFY_H

#include "core/change.h"

/*
 * Which resource classes does an estate offer before anybody has made some?
 *
 * For a model that no class names yet: "MODEL.1", ".2", ".4", ".8" whole cards
 * up to count, the most cards of it on one node, and "MODEL.half", half a
 * card shared without a boundary.  MODEL is the vendor's name in lower case
 * without the vendor: "NVIDIA H100 80GB HBM3" is h100-80g-hbm3.
 */
void classify_model(struct changes *changes, const char *vendor,
                    const char *model, int64_t memory_mib, int64_t count);

/* The name's first part; at most NAME_MAX_SIZE with its NUL. */
void classify_name(const char *model, char name[NAME_MAX_SIZE]);

#endif
