/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_NAMES_H
#define API_NAMES_H

#include "base/json.h"
#include "core/access.h"

/*
 * What are the objects called that an answer refers to?  {id: name} of those
 * that the asker may see, so that a list reads without further questions.
 */

struct names;

/* In the arena; granted and the arena outlive it. */
struct names *names_new(struct arena *arena, const struct granted *granted);
/* The object, once; a printer_link with the names as its context. */
void names_add(void *context, struct ref ref);
/* What the texts of an object's members refer to. */
void names_add_all(struct names *names, const json_t *item);
/* Appends them as a JSON object in the order of its keys. */
void names_write(struct names *names, struct buffer *out);

#endif
