/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_OBJECT_H
#define CORE_OBJECT_H

#include "base/json.h"
#include "core/change.h"

/*
 * How does an object look outside the world?  As JSON for clients, as column
 * values for the store, as canonical bytes for digests: all made from the
 * schema's tables.
 */

/* --- store --- */

enum value_type { VALUE_NULL, VALUE_INT, VALUE_TEXT };
struct value {
    enum value_type type;
    int64_t integer;
    const char *text; /* NUL-terminated; owned by the arena or the source */
};

/* Columns before the fields: id, seq, version, revision, created_ms,
 * updated_ms, parent, name. */
#define OBJECT_COLUMNS 8
#define OBJECT_COLUMN_SEQ 1
size_t object_column_count(enum kind kind);
/* Column name and whether it holds text (else a 64-bit integer). */
const char *object_column(enum kind kind, size_t column, bool *is_text_out);
/* Values of all columns; references become ids.  arena owns the texts. */
struct value *object_values(const struct world *world, enum kind kind,
                            const void *image, struct arena *arena);
/* The reverse, at load: ids become references that world_reserve gave.
 * Fails with ERROR_INTERNAL when a value does not fit its field. */
int object_from_values(const struct world *world, enum kind kind,
                       const struct value *values, struct arena *arena,
                       void **image_out, struct error *err);

/* --- ids as clients see them --- */

void object_id_text(const struct world *world, struct ref ref,
                    char text[ID_TEXT_MAX]);
/* The same as a copy in the arena, NULL when there is no such object. */
const char *object_id_copy(const struct world *world, struct ref ref,
                           struct arena *arena);
/* The same as a new JSON value, null when there is no such object. */
json_t *object_id_json(const struct world *world, struct ref ref);
/* Any kind, told by its prefix; none when malformed or not there. */
struct ref object_find_text(const struct world *world, const char *text);

/* --- JSON --- */

/* What others than the platform's people are shown for a FIELD_ALIAS of the
 * object with this id: the same as long as the object lives, and never the
 * same in two objects. */
void object_alias(struct id id, char text[ID_TEXT_MAX]);

/* A new reference.  Every field but FIELD_SECRET ones; FIELD_PLATFORM ones
 * only when platform is true, FIELD_ALIAS ones then as they are.  References are id texts; `revision` is the
 * scope's; no seq. */
json_t *object_json(const struct world *world, const void *image,
                    bool platform);
/* Members of the JSON beyond the schema's: counters that are derived. */
const struct field *object_derived(enum kind kind, size_t *count_out);
/* Reads a client's body into an image: known fields only, each allowed at
 * creation (create) or change, types, bounds, required ones.  References may
 * be ids, or names where `base` (the image's parent) or the platform has a
 * child of that kind and name.  `name` is read at creation.  Fails with the
 * field's pointer, the rule and the value. */
int object_read_json(struct changes *changes, enum kind kind,
                     const json_t *body, bool create, void *image,
                     struct error *err);

/* What a text in a field of an image's body refers to, as object_read_json
 * finds it; none when it is not there.  Looked at before the rest of a body,
 * so that what comes after it in the checks does not tell that it is there. */
struct ref object_find_target(const struct changes *changes,
                              const struct field *field,
                              const struct object *image, const char *text);

/* The error of a reference to what is not there, or not for this client to
 * see: the one error for both. */
int object_no_target(const struct field *field, const char *text,
                     struct error *err);

/* Canonical digest of an object's stored values (audit: version after). */
void object_digest(const struct world *world, const void *image,
                   struct digest *out);

#endif
