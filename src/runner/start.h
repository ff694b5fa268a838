/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_START_H
#define RUNNER_START_H

#include <jansson.h>

#include "base/error.h"
#include "engine/runner_request.h"

struct node;

/*
 * How does an instance come to run?  First everything it asks for is reserved
 * in the table, so that two starts never get the same card, address or ids;
 * then it is made while conmon and the network are at work side by side; it
 * runs when its rules are read back.  When anything fails, all of it is
 * undone.
 */

/* request: the parsed start; asked: the same as JSON, without "protocol" and
 * "op".  Gives the record. */
int start_instance(struct node *node, const struct runner_request *request,
                   json_t *asked, json_t **record_out, struct error *err);

#endif
