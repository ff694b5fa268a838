/* SPDX-License-Identifier: Apache-2.0 */
#include "api/exchange.h"

#include <errno.h>
#include <stdlib.h>

#include "api/redact.h"
#include "api/stream.h"
#include "base/clock.h"

void
exchange_fail(struct exchange *exchange)
{
    if (exchange->stream != NULL)
        stream_leave(exchange->stream);
    exchange->stream = NULL;
    redact_text(exchange->error.text);
    redact_text(exchange->error.field);
    answer_problem(&exchange->answer, &exchange->error, exchange->id);
}

int
exchange_int(const struct exchange *exchange, const char *name, int64_t min,
             int64_t max, int64_t absent, int64_t *out, struct error *err)
{
    const char *text = url_get(&exchange->url, name);
    char *end;
    if (text == NULL) {
        *out = absent;
        return 0;
    }
    errno = 0;
    long long value = strtoll(text, &end, 10);
    bool digits = text[0] == '-' || (text[0] >= '0' && text[0] <= '9');
    if (!digits || *end != '\0' || errno != 0 || value < min || value > max)
        return error_field(err, name, "%s is a number from %lld to %lld",
                           name, (long long)min, (long long)max);
    *out = value;
    return 0;
}

int
exchange_time(const struct exchange *exchange, const char *name,
              int64_t absent, int64_t *out, struct error *err)
{
    const char *text = url_get(&exchange->url, name);
    if (text == NULL) {
        *out = absent;
        return 0;
    }
    if (clock_parse(text, out) != 0)
        return error_field(err, name,
                           "%s is a time like 2026-11-30T10:15:30Z", name);
    return 0;
}
