/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit_gaps.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "core/checkpoint.h"
#include "core/merkle.h"

#define WIDTH ((uint64_t)MERKLE_TILE_WIDTH)
#define TILE_SIZE ((size_t)MERKLE_TILE_WIDTH * DIGEST_SIZE)

void
audit_gaps_release(struct audit_gaps *gaps)
{
    free(gaps->first_ms);
    *gaps = (struct audit_gaps){ 0 };
}

void
audit_gaps_begin(struct audit_gaps *gaps, uint64_t bundle, int64_t wall_ms)
{
    if (bundle != gaps->count)
        return;
    if (gaps->count == gaps->room) {
        gaps->room = gaps->room == 0 ? 256 : 2 * gaps->room;
        gaps->first_ms =
            memory_grow(gaps->first_ms, gaps->room, sizeof(int64_t));
    }
    gaps->first_ms[gaps->count++] = wall_ms;
}

void
audit_gaps_add(struct audit_gaps *gaps, uint64_t bundle)
{
    if (gaps->end == 0)
        gaps->begin = bundle * WIDTH;
    gaps->end = (bundle + 1) * WIDTH;
    gaps->records += WIDTH;
    audit_gaps_begin(gaps, bundle, AUDIT_GAP);
}

/* --- what the log says --- */

const char *
audit_gaps_policy(struct audit_gaps *gaps, const struct record *record)
{
    gaps->policy_known = record->facts != NULL &&
                         retention_read_policy(record->facts, &gaps->policy);
    return gaps->policy_known ? NULL
                              : "what the entry says of the policy cannot be "
                                "read";
}

/* From the tiles, which the walk compares with the entries. */
static int
read_node(void *context, unsigned level, uint64_t index, struct digest *out,
          struct error *err)
{
    const struct audit_walk *walk = context;
    scoped_buffer path = { 0 }, tile = { 0 };
    uint64_t tile_index;
    int tile_level;

    merkle_tile_of(level, index, &tile_level, &tile_index);
    audit_walk_path(&path, walk->path, tile_level, tile_index,
                    merkle_tile_width(tile_level, tile_index, walk->size),
                    false);
    if (file_read(path.bytes, TILE_SIZE, &tile, err) != 0)
        return -1;
    return merkle_tile_node(buffer_text(&tile), tile.size, level, index, out)
               ? 0
               : error_set(err, ERROR_VERIFY, "a tile is cut");
}

static bool
is_root(const struct audit_walk *walk, const struct retention_pruning *said)
{
    struct audit_walk copy = *walk;
    struct merkle tree;
    struct digest root;
    struct error err;

    if (merkle_load(read_node, &copy, said->below, &tree, &err) != 0)
        return false;
    merkle_root(&tree, &root);
    return digest_compare(&root, &said->root) == 0;
}

/* The platform's policy at that time; NULL: nothing was said by then. */
static const struct retention_policy *
platform_policy(const struct audit_walk *walk, int64_t wall_ms)
{
    const struct retention_policy *policy = NULL;

    for (size_t i = 0; walk->policies != NULL && i < walk->policies->count;
         i++)
        if (walk->policies->list[i].wall_ms <= wall_ms)
            policy = &walk->policies->list[i].is;
    return policy;
}

void
audit_policies_add(struct audit_policies *policies,
                   const struct record *record)
{
    struct audit_policy policy = { .wall_ms = record->wall_ms };

    if (!retention_read_policy(record->facts, &policy.is))
        return;
    if (policies->count == policies->room) {
        policies->room = policies->room == 0 ? 16 : 2 * policies->room;
        policies->list =
            memory_grow(policies->list, policies->room, sizeof(policy));
    }
    policies->list[policies->count++] = policy;
}

static bool
follows_policy(const struct audit_gaps *gaps, const struct audit_walk *walk,
               const struct audit_prune *prune)
{
    const struct retention_rule *rule = &prune->is.rule;
    const struct retention_policy *platform =
        platform_policy(walk, prune->wall_ms);
    const struct retention_policy unknown = { rule->keep_ms, false };
    struct retention_policy own = gaps->policy;
    struct retention_rule said;

    if (!gaps->policy_known)
        own = (struct retention_policy){
            rule->platform ? RETENTION_AS_PLATFORM : rule->keep_ms, false
        };
    said = retention_rule(&own, platform != NULL ? platform : &unknown);
    return said.keep_ms == rule->keep_ms && said.platform == rule->platform;
}

static const char *
check_prune(const struct audit_gaps *gaps, const struct audit_walk *walk,
            const struct audit_prune *prune)
{
    const uint64_t bundle = prune->is.below / WIDTH;
    int64_t first_ms;

    if (!follows_policy(gaps, walk, prune))
        return "the pruning follows another policy than the log's";
    if (bundle >= gaps->count)
        return "the pruning goes further than the entries do";
    first_ms = gaps->first_ms[bundle];
    /* When that is gone as well a later pruning has to explain it. */
    if (first_ms != AUDIT_GAP &&
        !retention_allows(&prune->is.rule, first_ms, prune->wall_ms))
        return "more was pruned than the policy allows";
    return is_root(walk, &prune->is) ? NULL
                                     : "the pruning names another head than "
                                       "the one of what was pruned";
}

static void
take_prune(struct audit_gaps *gaps, const struct audit_prune *prune,
           bool elsewhere)
{
    if (prune->is.below <= gaps->prune.is.below)
        return;
    gaps->prune = *prune;
    gaps->elsewhere = elsewhere;
}

const char *
audit_gaps_pruning(struct audit_gaps *gaps, const struct audit_walk *walk,
                   const struct record *record)
{
    struct audit_prune prune = { .wall_ms = record->wall_ms,
                                 .index = record->seq };
    const char *why;

    if (record->facts == NULL ||
        !retention_read_pruning(record->facts, &prune.is))
        return "what the entry says of the pruning cannot be read";
    if (!checkpoint_same_log(prune.is.origin, walk->origin))
        return NULL; /* of a tenant that is gone, in the platform's log */
    why = check_prune(gaps, walk, &prune);
    if (why == NULL)
        take_prune(gaps, &prune, false);
    return why;
}

const char *
audit_gaps_platform(struct audit_gaps *gaps, const struct audit_walk *walk)
{
    const char *why;

    if (walk->prune == NULL || gaps->end == 0)
        return NULL;
    why = check_prune(gaps, walk, walk->prune);
    if (why == NULL)
        take_prune(gaps, walk->prune, true);
    return why;
}

bool
audit_gaps_unsaid(const struct audit_gaps *gaps, uint64_t *from_out,
                  uint64_t *to_out)
{
    uint64_t at = gaps->prune.is.below / WIDTH, end;

    while (at < gaps->count && gaps->first_ms[at] != AUDIT_GAP)
        at++;
    for (end = at; end < gaps->count && gaps->first_ms[end] == AUDIT_GAP;)
        end++;
    *from_out = at * WIDTH;
    *to_out = end * WIDTH;
    return end > at;
}

void
audit_gaps_report(const struct audit_gaps *gaps, const char *origin,
                  struct audit_count *count)
{
    struct audit_pruned *pruned;

    if (count->pruning_count++ >= AUDIT_PRUNED_MAX)
        return;
    pruned = &count->prunings[count->pruning_count - 1];
    *pruned = (struct audit_pruned){
        .records = gaps->records,
        .from = gaps->begin,
        .to = gaps->end,
        .keep_ms = gaps->prune.is.rule.keep_ms,
        .recorded_ms = gaps->prune.wall_ms,
        .index = gaps->prune.index,
        .elsewhere = gaps->elsewhere,
    };
    (void)snprintf(pruned->log, sizeof(pruned->log), "%s", origin);
}
