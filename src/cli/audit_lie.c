/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>

#include "cli/audit_walk.h"

/* How a lie is told, and how heads are ordered. */

const char *
audit_lie_text(enum audit_lie lie)
{
    static const char *const texts[AUDIT_LIE_COUNT] = {
#define X(name, text) [AUDIT_##name] = (text),
        AUDIT_LIES(X)
#undef X
    };

    return texts[lie];
}

int
audit_finding_set(struct audit_finding *finding, const char *log,
                  enum audit_lie lie, uint64_t index, struct error *err,
                  const char *fmt, ...)
{
    va_list args;

    finding->lie = lie;
    finding->index = index;
    (void)snprintf(finding->log, sizeof(finding->log), "%s", log);
    va_start(args, fmt);
    (void)vsnprintf(finding->text, sizeof(finding->text), fmt, args);
    va_end(args);
    return error_set(err, ERROR_VERIFY, "%s: %s at %" PRIu64 ": %s",
                     finding->log, audit_lie_text(lie), index, finding->text);
}

int
audit_mark_compare(const void *a, const void *b)
{
    const struct audit_mark *left = a, *right = b;
    int roots = digest_compare(&left->root, &right->root);

    if (left->size != right->size)
        return left->size < right->size ? -1 : 1;
    return roots != 0 ? roots : left->committed - right->committed;
}
