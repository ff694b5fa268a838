/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_DOCUMENT_H
#define CLI_DOCUMENT_H

#include "base/json.h"

/*
 * What does a file that somebody wrote hold?  JSON, or YAML 1.2 in its core
 * schema: plain true, false, null and integers are what they look like,
 * everything else is text (also yes, no, on, off).  What two readers could
 * take for two things is refused with its line: keys given twice, anchors and
 * aliases, tags, 0123, numbers with a point (the platform has integers only).
 */

/* Documents in one file, at most. */
#define DOCUMENT_MAX 1000

/*
 * A new array of all documents in the file, "-" for standard input; empty
 * ones are left out.  Values below a key of the NULL-terminated as_text are
 * text as it stands there, whatever it looks like: "cpu: 1.50" is "1.50".
 * ERROR_INVALID with file, line, rule and value; at most JSON_SIZE_MAX bytes,
 * JSON_DEPTH_MAX levels.
 */
int document_read(const char *path, const char *const *as_text,
                  json_t **documents_out, struct error *err);

/* The same of text in memory. */
int document_parse(const char *text, size_t size, const char *const *as_text,
                   json_t **documents_out, struct error *err);

/* What a person may write as a number or as text, as text; "" for anything
 * else.  number is room for it. */
#define DOCUMENT_NUMBER 24
const char *document_written(const json_t *value,
                             char number[DOCUMENT_NUMBER]);

#endif
