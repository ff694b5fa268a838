/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ANSWER_H
#define RUNNER_ANSWER_H

#include <jansson.h>
#include <stddef.h>

struct node;

/*
 * What is the answer to one request?  See engine/runner_request.h for the
 * operations.  Several threads may ask at once.
 */

/* The whole answer, success or failure; the caller owns it. */
json_t *answer_request(struct node *node, const char *bytes, size_t size);

#endif
