/* SPDX-License-Identifier: Apache-2.0 */
#include "core/retention.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/merkle.h"

struct retention_rule
retention_rule(const struct retention_policy *own,
               const struct retention_policy *platform)
{
    struct retention_rule rule = { .keep_ms = own->keep_ms };

    rule.platform = own->keep_ms == RETENTION_AS_PLATFORM;
    if (rule.platform)
        rule.keep_ms = platform->keep_ms;
    if (own->hold || platform->hold || rule.keep_ms < 0)
        rule.keep_ms = 0;
    return rule;
}

bool
retention_allows(const struct retention_rule *rule, int64_t time_ms,
                 int64_t now_ms)
{
    return rule->keep_ms >= RETENTION_DAYS_MIN * RETENTION_DAY_MS &&
           time_ms <= now_ms - rule->keep_ms;
}

/* --- facts --- */

/* "WORD NUMBER" followed by `end`; moves *at behind it. */
static bool
read_number(const char **at, const char *word, char end, int64_t *out)
{
    const size_t size = strlen(word);
    char *behind;

    if (strncmp(*at, word, size) != 0 || (*at)[size] != ' ')
        return false;
    *out = strtoll(*at + size + 1, &behind, 10);
    if (behind == *at + size + 1 || *behind != end)
        return false;
    *at = behind + 1;
    return true;
}

void
retention_add_policy(struct buffer *facts,
                     const struct retention_policy *policy)
{
    buffer_printf(facts, "keep %" PRId64 " hold %d\n", policy->keep_ms,
                  policy->hold);
}

bool
retention_read_policy(const char *facts, struct retention_policy *policy_out)
{
    const char *at = facts;
    int64_t keep_ms, hold;

    if (!read_number(&at, "keep", ' ', &keep_ms) ||
        !read_number(&at, "hold", '\n', &hold) || *at != '\0' ||
        keep_ms < RETENTION_AS_PLATFORM || hold < 0 || hold > 1)
        return false;
    *policy_out = (struct retention_policy){ keep_ms, hold == 1 };
    return true;
}

void
retention_add_pruning(struct buffer *facts,
                      const struct retention_pruning *pruning)
{
    record_add_head(facts, pruning->origin, pruning->below, &pruning->root);
    buffer_printf(facts, "keep %" PRId64 " by %d\n", pruning->rule.keep_ms,
                  pruning->rule.platform);
}

bool
retention_read_pruning(const char *facts,
                       struct retention_pruning *pruning_out)
{
    struct retention_pruning pruning = { .below = 0 };
    const char *end = strchr(facts, '\n');
    scoped_buffer line = { 0 };
    const char *at;
    int64_t by;

    if (end == NULL)
        return false;
    buffer_add(&line, facts, (size_t)(end + 1 - facts));
    at = line.bytes;
    if (record_next_head(&at, pruning.origin, &pruning.below,
                         &pruning.root) != 1)
        return false;
    at = end + 1;
    if (!read_number(&at, "keep", ' ', &pruning.rule.keep_ms) ||
        !read_number(&at, "by", '\n', &by) || *at != '\0' || by < 0 ||
        by > 1 || pruning.below % MERKLE_TILE_WIDTH != 0)
        return false;
    pruning.rule.platform = by == 1;
    *pruning_out = pruning;
    return true;
}
