/* SPDX-License-Identifier: Apache-2.0 */
#include "control/fold.h"

#include <string.h>

struct entry {
    struct ref subject; /* none: nobody known, or no place left */
    struct ref scope;
    int64_t from_ms;
    unsigned single;
    uint32_t counted;
    char verb[NAME_MAX_SIZE]; /* of the last one that was counted */
    char reason[64];
};

struct fold {
    struct entry entries[FOLD_SUBJECTS]; /* in no order */
    size_t count;
    struct entry nobody;
};

struct fold *
fold_new(void)
{
    return memory_new(1, sizeof(struct fold));
}

void
fold_free(struct fold *fold)
{
    free(fold);
}

static struct entry *
entry_of(struct fold *fold, const struct refusal *refusal, int64_t now_ms)
{
    struct entry *entry;

    if (ref_is_none(refusal->subject))
        return &fold->nobody;
    for (size_t i = 0; i < fold->count; i++)
        if (ref_equal(fold->entries[i].subject, refusal->subject))
            return &fold->entries[i];
    if (fold->count == FOLD_SUBJECTS)
        return &fold->nobody;
    entry = &fold->entries[fold->count++];
    memset(entry, 0, sizeof(*entry));
    entry->subject = refusal->subject;
    entry->from_ms = now_ms;
    return entry;
}

static void
count(struct entry *entry, const struct refusal *refusal)
{
    if (entry->counted < UINT32_MAX)
        entry->counted++;
    if (!ref_is_none(entry->subject))
        entry->scope = refusal->scope;
    (void)snprintf(entry->verb, sizeof(entry->verb), "%s",
                   refusal->verb != NULL ? refusal->verb : "");
    (void)snprintf(entry->reason, sizeof(entry->reason), "%s",
                   refusal->reason != NULL ? refusal->reason : "");
}

bool
fold_admit(struct fold *fold, const struct refusal *refusal, int64_t now_ms)
{
    struct entry *entry = entry_of(fold, refusal, now_ms);

    if (entry->counted == 0 && now_ms >= entry->from_ms + FOLD_WINDOW_MS) {
        entry->from_ms = now_ms;
        entry->single = 0;
    }
    if (!ref_is_none(entry->subject) && entry->single < FOLD_SINGLE) {
        entry->single++;
        return true;
    }
    count(entry, refusal);
    return false;
}

static void
give(struct entry *entry,
     void (*take)(void *context, const struct refusal *refusal,
                  uint32_t counted),
     void *context)
{
    struct refusal refusal = { entry->subject, entry->scope, entry->verb,
                               entry->reason };

    if (entry->counted > 0)
        take(context, &refusal, entry->counted);
    entry->counted = 0;
}

bool
fold_flush(struct fold *fold, int64_t now_ms,
           void (*take)(void *context, const struct refusal *refusal,
                        uint32_t counted),
           void *context)
{
    size_t i = 0;
    bool nobody = fold->nobody.counted > 0 &&
                  now_ms - FOLD_NOBODY_MS >= fold->nobody.from_ms;

    if (nobody)
        give(&fold->nobody, take, context);
    while (i < fold->count) {
        struct entry *entry = &fold->entries[i];

        if (now_ms - FOLD_WINDOW_MS < entry->from_ms) {
            i++;
            continue;
        }
        give(entry, take, context);
        *entry = fold->entries[--fold->count];
    }
    return nobody;
}
