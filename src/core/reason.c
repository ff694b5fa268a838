/* SPDX-License-Identifier: Apache-2.0 */
#include "core/reason.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
verdict_set(struct verdict *verdict, int state, enum reason reason,
            const char *fmt, ...)
{
    va_list args;

    memset(verdict, 0, sizeof(*verdict));
    verdict->state = state;
    verdict->reason = reason;
    verdict->limit = AMOUNT_NONE;
    va_start(args, fmt);
    (void)vsnprintf(verdict->text, sizeof(verdict->text), fmt, args);
    va_end(args);
}

void
verdict_numbers(struct verdict *verdict, int64_t need, int64_t have,
                int64_t limit)
{
    verdict->need = need < USAGE_MAX ? need : USAGE_MAX;
    verdict->have = have < 0 ? 0 : have < USAGE_MAX ? have : USAGE_MAX;
    verdict->limit = limit;
}

bool
reason_differs(const struct workload *workload, const struct verdict *verdict)
{
    return workload->state != verdict->state ||
           workload->reason != (int)verdict->reason ||
           workload->need != verdict->need ||
           workload->have != verdict->have ||
           workload->limit != verdict->limit ||
           !ref_equal(workload->reason_quota, verdict->quota) ||
           strcmp(workload->reason_text, verdict->text) != 0;
}

/* The length of a word, its plural left out. */
static size_t
stem(const char *word, size_t length)
{
    return length > 1 && word[length - 1] == 's' ? length - 1 : length;
}

/* Are the sentences the same but for words that are numbers? */
static bool
same_words(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        size_t left = strcspn(a, " "), right = strcspn(b, " ");
        bool number = a[0] >= '0' && a[0] <= '9' && b[0] >= '0' && b[0] <= '9';

        if (!number && (stem(a, left) != stem(b, right) ||
                        memcmp(a, b, stem(a, left)) != 0))
            return false;
        a += left + strspn(a + left, " ");
        b += right + strspn(b + right, " ");
    }
    return *a == *b;
}

bool
verdict_is_other(const struct verdict *a, const struct verdict *b)
{
    return a->state != b->state || a->reason != b->reason ||
           !ref_equal(a->quota, b->quota) || !same_words(a->text, b->text);
}

bool
reason_is_other(const struct workload *workload,
                const struct verdict *verdict)
{
    return workload->state != verdict->state ||
           workload->reason != (int)verdict->reason ||
           !ref_equal(workload->reason_quota, verdict->quota) ||
           !same_words(workload->reason_text, verdict->text);
}

void
reason_put(struct workload *workload, const struct verdict *verdict,
           int64_t now_ms)
{
    bool waited = workload->state == WORKLOAD_GATED ||
                  workload->state == WORKLOAD_QUEUED;

    if (workload->state != verdict->state)
        workload->state_ms = now_ms;
    if (!waited || workload->waiting_ms == 0) {
        workload->waiting_ms = now_ms;
        workload->bypassed = 0;
    }
    workload->state = verdict->state;
    workload->reason = (int)verdict->reason;
    workload->reason_quota = verdict->quota;
    workload->need = verdict->need;
    workload->have = verdict->have;
    workload->limit = verdict->limit;
    (void)snprintf(workload->reason_text, sizeof(workload->reason_text), "%s",
                   verdict->text);
}

void
reason_clear(struct workload *workload)
{
    workload->reason = REASON_NONE;
    workload->reason_quota = (struct ref){ 0 };
    workload->need = 0;
    workload->have = 0;
    workload->limit = AMOUNT_NONE;
    workload->reason_text[0] = '\0';
}

/* "4" or "1.5": thousandths without trailing zeros. */
static void
put_milli(char *text, size_t size, int64_t milli, const char *one,
          const char *many)
{
    int64_t rest = milli % 1000;
    int digits = rest % 10 != 0 ? 3 : rest % 100 != 0 ? 2 : 1;

    if (rest == 0) {
        (void)snprintf(text, size, "%" PRId64 " %s", milli / 1000,
                       milli == 1000 ? one : many);
        return;
    }
    for (int i = digits; i < 3; i++)
        rest /= 10;
    (void)snprintf(text, size, "%" PRId64 ".%0*" PRId64 " %s", milli / 1000,
                   digits, rest, many);
}

const char *
reason_amount(char text[REASON_AMOUNT_MAX], int dimension, int64_t amount)
{
    size_t size = REASON_AMOUNT_MAX;

    switch ((enum dimension)dimension) {
    case DIMENSION_CARDS:
        put_milli(text, size, amount, "card", "cards");
        break;
    case DIMENSION_CARD_TIME: /* milli-card-ms to thousandths of an hour */
        put_milli(text, size, amount / 3600000, "card-hour", "card-hours");
        break;
    case DIMENSION_CPU:
        put_milli(text, size, amount, "CPU", "CPUs");
        break;
    case DIMENSION_ACCEL_MEMORY:
    case DIMENSION_MEMORY:
    case DIMENSION_STORAGE:
        (void)snprintf(text, size, "%" PRId64 " MiB", amount);
        break;
    case DIMENSION_WORKLOADS:
        (void)snprintf(text, size, "%" PRId64 " workload%s", amount,
                       amount == 1 ? "" : "s");
        break;
    case DIMENSION_INSTANCES:
        (void)snprintf(text, size, "%" PRId64 " instance%s", amount,
                       amount == 1 ? "" : "s");
        break;
    case DIMENSION_TOKENS:
        (void)snprintf(text, size, "%" PRId64 " token%s", amount,
                       amount == 1 ? "" : "s");
        break;
    case DIMENSION_COST: /* nano to thousandths of the currency */
        put_milli(text, size, amount / 1000000, "of the currency",
                  "of the currency");
        break;
    case DIMENSION_COUNT:
    default:
        (void)snprintf(text, size, "%" PRId64, amount);
        break;
    }
    return text;
}

const char *
reason_dimension(int dimension)
{
    static const char *const names[DIMENSION_COUNT] = {
        "cards",  "accelerator memory", "CPU",       "memory", "storage",
        "concurrent workloads", "instances", "card time", "tokens", "cost",
    };

    return dimension >= 0 && dimension < DIMENSION_COUNT ? names[dimension]
                                                         : "?";
}

const char *
reason_node(char text[NAME_MAX_SIZE + 16], const struct world *world,
            struct ref node)
{
    const struct object *object = world_object(world, node);

    if (object == NULL || node.kind == KIND_PLATFORM)
        (void)snprintf(text, NAME_MAX_SIZE + 16, "the platform");
    else
        (void)snprintf(text, NAME_MAX_SIZE + 16, "%s %s",
                       schema_get((enum kind)node.kind)->name, object->name);
    return text;
}

const char *
reason_state(int state)
{
    const struct field *field = schema_field(KIND_WORKLOAD, "state");

    return field->names[state];
}
