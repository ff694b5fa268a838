/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_AUDIT_FILES_H
#define API_AUDIT_FILES_H

#include "api/exchange.h"
#include "core/record.h"

/* Where are the files of the log that a request is about? */

/* ERROR_UNSUPPORTED when the server keeps none. */
int audit_files_directory(const struct exchange *exchange, const char **out,
                          struct error *err);
/* World thread. */
int audit_files_origin(const struct granted *granted,
                       struct exchange *exchange,
                       char origin[RECORD_ORIGIN_MAX], struct error *err);

#endif
