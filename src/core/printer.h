/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PRINTER_H
#define CORE_PRINTER_H

#include "base/buffer.h"
#include "core/world.h"

/*
 * How are thousands of objects written as JSON quickly?  A printer is made
 * once for a kind and a sort of viewer, and then appends the bytes that
 * json_write makes of object_json, without a tree in between.
 */

struct printer;

/* platform: as object_json.  The caller frees it; it does not change, so many
 * threads may use it. */
struct printer *printer_new(enum kind kind, bool platform);
void printer_free(struct printer *printer);

/* Called for each object that the written texts name, but for the object's
 * own id; the same one may come again. */
typedef void printer_link(void *context, struct ref ref);

/* without: a member that is left out, NULL: none.  link may be NULL. */
void printer_add(const struct printer *printer, struct buffer *out,
                 const struct world *world, const void *image,
                 const char *without, printer_link *link, void *context);

#endif
