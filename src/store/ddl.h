/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_DDL_H
#define STORE_DDL_H

#include "base/buffer.h"
#include "core/object.h"

/*
 * Which tables hold the objects?  One table per kind, with the columns of
 * object_column and `live`; indexes for the questions of store.h; one row
 * that fences writers; the counters.  tools/make-schema prints this into the
 * migration that a store begins with.
 */

void ddl_print(struct buffer *out);

/* "INSERT INTO kind (...) VALUES (?1, ...)", objects replacing the row of
 * the same id. */
void ddl_print_put(struct buffer *out, enum kind kind);

#endif
