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

/* As a table of records, or as the user asked for. */
void audit_log_print(const struct cli *cli, json_t *answer);

/* Options of a search, for tables of options. */
#define AUDIT_LOG_SEARCH                                                      \
    { "actor", 0, "WHO", "by this user (name or id), or platform" },          \
        { "object", 0, "ID", "about this object" },                           \
        { "verb", 0, "VERB", "workload.create, or workload.* for all" },      \
        { "decision", 0, "WORD", "allow or deny" },                           \
        { "since", 0, "TIME", "from then on (RFC 3339)" },                    \
        { "until", 0, "TIME", "up to then" }

/* Appends "&name=value" for each of them. */
void audit_log_add_search(const struct cli *cli, struct buffer *path);

#endif
