/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_GATE_PRIVATE_H
#define CORE_GATE_PRIVATE_H

#include "core/gate.h"

/* What the parts of the gate share (gate_needs.c). */

/* As require_list; its image counts unless every node has it. */
size_t gate_needs(const struct gate *gate, const struct workload *workload,
                  struct need needs_out[REQUIRE_MAX], uint64_t *digest_out);
/* From here on the gate remembers what it asked of images. */
void gate_keep_images(struct gate *gate);
/* Would it be possible if nothing were required?  Then that is why not. */
bool gate_say_incompatible(const struct gate *gate,
                           const struct workload *workload, struct ref pool,
                           struct verdict *verdict);
void gate_add_needs(const struct gate *gate, const struct workload *workload,
                    struct place_request *request);

#endif
