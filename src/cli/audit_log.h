/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_AUDIT_LOG_H
#define CLI_AUDIT_LOG_H

#include "cli/cli.h"

/* How are records read from the server?  Of the tenant's log where there is
 * one in the context, else of the platform's. */

#define AUDIT_LOG_PAGE 500

/* "/api/v1/tenants/T/audit" or "/api/v1/audit". */
const char *audit_log_path(const struct cli *cli);
/* {"items", "next", "more"}; raw: the bytes that the log's hashes are of. */
int audit_log_page(const struct cli *cli, int64_t from, int64_t limit,
                   bool raw, json_t **out, struct error *err);

#endif
