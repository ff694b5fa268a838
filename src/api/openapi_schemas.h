/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_OPENAPI_SCHEMAS_H
#define API_OPENAPI_SCHEMAS_H

#include <jansson.h>

#include "core/schema.h"

/*
 * What do objects, bodies and problems look like, in terms of JSON Schema?
 * Made from the field tables (core/schema.h); all results are new references.
 */

/* An object of the kind as it is shown. */
json_t *openapi_object_schema(enum kind kind);
/* What a client may send: flag is FIELD_CREATE or FIELD_UPDATE. */
json_t *openapi_body_schema(enum kind kind, unsigned flag);
/* The document's components: every kind that some route shows, problems,
 * trials, and the document of a workload. */
json_t *openapi_schemas(void);
/* Takes the schema over; help may be NULL. */
void openapi_add_property(json_t *properties, const char *name, json_t *schema,
                          const char *help);

#endif
