/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_OPENAPI_H
#define API_OPENAPI_H

#include "base/json.h"

/*
 * What can be asked, as an OpenAPI 3.1 document?  Made from the route table,
 * which dispatches, and the schema tables, which read and write the bodies:
 * it cannot say anything else than what happens.
 */

/* A new reference. */
json_t *openapi_document(const char *version);
/* The same as text; the caller frees it. */
char *openapi_text(const char *version);

#endif
