/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/share.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- the table --- */

static struct share_slot *
find(struct share_table *table, pid_t pid, int64_t born)
{
    for (size_t i = 0; i < SHARE_SLOTS; i++)
        if (table->slots[i].live && table->slots[i].pid == pid &&
            table->slots[i].born == born)
            return &table->slots[i];
    return NULL;
}

static struct share_slot *
take(struct share_table *table, const struct share_seen *seen)
{
    for (size_t i = 0; i < SHARE_SLOTS; i++) {
        struct share_slot *slot = &table->slots[i];

        if (slot->live)
            continue;
        *slot = (struct share_slot){ .live = true,
                                     .generation = slot->generation + 1,
                                     .pid = seen->pid,
                                     .born = seen->born };
        return slot;
    }
    return NULL;
}

static bool
is_seen(const struct share_slot *slot, const struct share_seen *seen,
        size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (seen[i].pid == slot->pid && seen[i].born == slot->born)
            return true;
    return false;
}

void
share_look(struct share_table *table, const struct share_seen *seen,
           size_t count)
{
    table->left_out = 0;
    for (size_t i = 0; i < SHARE_SLOTS; i++)
        if (table->slots[i].live && !is_seen(&table->slots[i], seen, count))
            table->slots[i].live = false;
    for (size_t i = 0; i < count; i++) {
        struct share_slot *slot = find(table, seen[i].pid, seen[i].born);

        if (slot == NULL)
            slot = take(table, &seen[i]);
        if (slot == NULL) {
            table->left_out++;
            continue;
        }
        (void)snprintf(slot->owner, sizeof(slot->owner), "%s", seen[i].owner);
        slot->incarnation = seen[i].incarnation;
        slot->used_mib = seen[i].used_mib;
        slot->client = seen[i].client;
    }
}

void
share_reap(struct share_table *table,
           int64_t (*born_of)(void *context, pid_t pid), void *context)
{
    for (size_t i = 0; i < SHARE_SLOTS; i++)
        if (table->slots[i].live &&
            born_of(context, table->slots[i].pid) != table->slots[i].born)
            table->slots[i].live = false;
}

struct share_use
share_use_of(const struct share_table *table, const char *owner,
             int64_t incarnation)
{
    struct share_use use = { 0 };

    for (size_t i = 0; i < SHARE_SLOTS; i++) {
        const struct share_slot *slot = &table->slots[i];

        if (!slot->live || slot->incarnation != incarnation ||
            strcmp(slot->owner, owner) != 0)
            continue;
        use.processes++;
        if (slot->used_mib < 0)
            use.unknown++;
        else
            use.used_mib += slot->used_mib;
        if (!slot->client && use.loose++ == 0)
            use.first_loose = slot->pid;
    }
    return use;
}

/* --- what follows --- */

static enum share_act
judge_memory(struct share_state *state, const struct share_rule *rule,
             const struct share_use *use, int64_t now_ms,
             char text_out[SHARE_TEXT_MAX])
{
    bool was = state->over_ms != 0;

    if (use->used_mib <= rule->limit_mib) {
        state->over_ms = 0;
        return was ? SHARE_CALM : SHARE_NOTHING;
    }
    (void)snprintf(text_out, SHARE_TEXT_MAX,
                   "it uses %" PRId64 " MiB of the card, its share is %" PRId64
                   " MiB",
                   use->used_mib, rule->limit_mib);
    if (!was) {
        state->over_ms = now_ms;
        return SHARE_WARN;
    }
    return rule->stops && now_ms - state->over_ms >= rule->grace_ms
               ? SHARE_STOP
               : SHARE_NOTHING;
}

/* A process beside the server has no limit at all: that is not for the policy
 * to allow. */
static bool
is_loose_for_long(struct share_state *state, const struct share_rule *rule,
                  const struct share_use *use, int64_t now_ms,
                  char text_out[SHARE_TEXT_MAX])
{
    if (!rule->served || use->loose == 0) {
        state->loose_ms = 0;
        return false;
    }
    if (state->loose_ms == 0)
        state->loose_ms = now_ms;
    if (now_ms - state->loose_ms < rule->attach_ms)
        return false;
    (void)snprintf(text_out, SHARE_TEXT_MAX,
                   "its process %d is on the card beside the sharing server, "
                   "so the limits of its share do not hold",
                   (int)use->first_loose);
    return true;
}

enum share_act
share_judge(struct share_state *state, const struct share_rule *rule,
            const struct share_use *use, int64_t now_ms,
            char text_out[SHARE_TEXT_MAX])
{
    text_out[0] = '\0';
    if (is_loose_for_long(state, rule, use, now_ms, text_out))
        return SHARE_STOP;
    return judge_memory(state, rule, use, now_ms, text_out);
}
