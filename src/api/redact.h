/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_REDACT_H
#define API_REDACT_H

#include "api/route.h"
#include "base/buffer.h"

/*
 * What of a request's body may stand in a record?  What the route takes, but
 * nothing that is a secret or may be one:
 *
 *   - nothing of routes that take secrets;
 *   - no value of a member that is no field there: somebody wrote a secret
 *     where it does not belong;
 *   - no value of a member whose name speaks of a secret, at any depth, and no
 *     value of an environment;
 *   - no text that holds something with the form of the platform's tokens.
 *
 * REDACT_MARK stands in their place.
 */

#define REDACT_MARK "(left out)"

/* Writes the body for the record as canonical JSON; nothing of a route that
 * takes secrets.  The body is left as it is. */
void redact_body(const struct route *route, const json_t *body,
                 struct buffer *out);

/* Puts stars over what has the form of a token: an error repeats what was
 * sent, which may be a token where none belongs. */
void redact_text(char *text);

#endif
