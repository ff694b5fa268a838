/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_GANG_H
#define ENGINE_GANG_H

#include <jansson.h>

#include "base/error.h"

/*
 * What is an instance told about its gang?
 *
 * {"number": of this instance, "instances": that there are, "least", "most"}
 *
 * The number is its own as long as it runs.  An elastic gang (least < most) is
 * told anew when it grows or shrinks; those that leave get a notice besides.
 */

struct gang {
    int64_t number, instances, least, most;
};

json_t *gang_write(const struct gang *gang);
/* Strict.  object may be NULL or null: then all is zero. */
int gang_read(const json_t *object, struct gang *gang_out, struct error *err);

#endif
