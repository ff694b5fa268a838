/* SPDX-License-Identifier: Apache-2.0 */
#include "api/budget.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void
budget_init(struct budget *budget, int64_t full_us)
{
    *budget = (struct budget){.full_us = full_us};
}

void
budget_release(struct budget *budget)
{
    free(budget->lines);
    *budget = (struct budget){0};
}

static void
refill(const struct budget *budget, struct budget_line *line, int64_t now_ms)
{
    int64_t passed_ms = now_ms - line->at_ms;
    int64_t missing_us = budget->full_us - line->left_us;
    line->at_ms = now_ms;
    if (passed_ms > missing_us / BUDGET_REFILL_US)
        line->left_us = budget->full_us;
    else if (passed_ms > 0)
        line->left_us += passed_ms * BUDGET_REFILL_US;
}

/* The account of a scope, NULL: full and without questions.  Others that are
 * so are forgotten on the way. */
static struct budget_line *
find(struct budget *budget, struct id scope, int64_t now_ms)
{
    struct budget_line *found = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < budget->count; i++) {
        struct budget_line *line = &budget->lines[i];
        refill(budget, line, now_ms);
        if (line->flight == 0 && line->left_us == budget->full_us)
            continue;
        budget->lines[kept] = *line;
        if (memcmp(&budget->lines[kept].scope, &scope, sizeof scope) == 0)
            found = &budget->lines[kept];
        kept++;
    }
    budget->count = kept;
    return found;
}

static struct budget_line *
open_line(struct budget *budget, struct id scope, int64_t now_ms)
{
    if (budget->count == budget->room) {
        budget->room = 2 * budget->room + 16;
        budget->lines = memory_grow(budget->lines, budget->room,
                                    sizeof *budget->lines);
    }
    struct budget_line *line = &budget->lines[budget->count++];
    *line = (struct budget_line){scope, budget->full_us, now_ms, 0};
    return line;
}

int
budget_enter(struct budget *budget, struct id scope, int64_t now_ms,
             unsigned *wait_s_out, struct error *err)
{
    struct budget_line *line = find(budget, scope, now_ms);
    if (line == NULL)
        line = open_line(budget, scope, now_ms);
    if (line->left_us <= 0) {
        int64_t wait_ms = -line->left_us / BUDGET_REFILL_US + 1;
        *wait_s_out = (unsigned)((wait_ms + 999) / 1000);
        (void)error_set(err, ERROR_RATE,
                        "what-if and explain cost much, and your tenant has "
                        "used up its time for them");
        return error_help(err, "ask again in %u s, and fewer questions at a "
                               "time",
                          *wait_s_out);
    }
    if (line->flight >= BUDGET_FLIGHT_MAX) {
        *wait_s_out = 1;
        (void)error_set(err, ERROR_RATE,
                        "%u such questions of your tenant are being "
                        "answered, at most %d are at a time",
                        line->flight, BUDGET_FLIGHT_MAX);
        return error_help(err, "ask again when one of them is answered");
    }
    line->flight++;
    return 0;
}

void
budget_leave(struct budget *budget, struct id scope, int64_t spent_us,
             int64_t now_ms)
{
    struct budget_line *line = find(budget, scope, now_ms);
    assert(line != NULL && line->flight > 0);
    line->flight--;
    line->left_us -= spent_us > BUDGET_LEAST_US ? spent_us : BUDGET_LEAST_US;
}
