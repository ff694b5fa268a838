/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_ROW_H
#define STORE_ROW_H

#include "base/digest.h"
#include "base/json.h"
#include "core/object.h"

/*
 * What does a stored row say?  Rows of history are read without the world:
 * references are id texts, enums are names.
 */

/* The column's number in object_column order; naming no column is a bug. */
size_t row_column(enum kind kind, const char *name);
/* The text, NULL when null. */
const char *row_text(enum kind kind, const struct value *values,
                     const char *name);
/* The number, 0 when null. */
int64_t row_int(enum kind kind, const struct value *values, const char *name);

/* The same JSON as object_json gives for an object in the world, without
 * what is derived there from other objects: no FIELD_SECRET members; only
 * when platform is true FIELD_PLATFORM ones and the revision of what is not
 * below a tenant.  A new reference. */
json_t *row_json(enum kind kind, const struct value *values, bool platform);

/* SHA-256 over the columns in order, unambiguous: what the audit record says
 * of an object, and what a check computes again from the store.  Without
 * those that tell of other tenants: seq and FIELD_UNSAID. */
void row_digest(enum kind kind, const struct value *values,
                struct digest *out);

#endif
