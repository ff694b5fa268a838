/* SPDX-License-Identifier: Apache-2.0 */
#include "control/intent.h"

#include <string.h>

#include "control/journal.h"
#include "core/object.h"

#define PREFIX "intent:"
#define OPEN_MAX 256 /* as many as may be at work at once, and more */

struct open_intent {
    char id[ID_TEXT_MAX];
    char log[ID_TEXT_MAX];
    char verb[NAME_MAX_SIZE];
};

struct intents {
    struct open_intent list[OPEN_MAX];
    size_t count;
};

struct intents *
intents_new(void)
{
    return memory_new(1, sizeof(struct intents));
}

void
intents_free(struct intents *intents)
{
    free(intents);
}

/* "LOG VERB" */
static void
read_open(struct open_intent *open, const struct store_counter *counter)
{
    const char *bytes = counter->bytes;
    const char *space = memchr(bytes, ' ', counter->size);

    (void)snprintf(open->id, sizeof(open->id), "%s",
                   counter->name + strlen(PREFIX));
    if (space == NULL)
        return;
    (void)snprintf(open->log, sizeof(open->log), "%.*s", (int)(space - bytes),
                   bytes);
    (void)snprintf(open->verb, sizeof(open->verb), "%.*s",
                   (int)(counter->size - (size_t)(space - bytes) - 1),
                   space + 1);
}

bool
intents_load(struct intents *intents, const struct store_counter *counter)
{
    if (strncmp(counter->name, PREFIX, strlen(PREFIX)) != 0)
        return false;
    if (counter->value != 0 && counter->bytes != NULL &&
        intents->count < OPEN_MAX)
        read_open(&intents->list[intents->count++], counter);
    return true;
}

static void
put(struct loop *loop, const char *id, bool open, const char *text)
{
    char name[sizeof(PREFIX) + ID_TEXT_MAX];

    (void)snprintf(name, sizeof(name), PREFIX "%s", id);
    loop_counter(loop, name, open ? 1 : 0, text,
                 text != NULL ? strlen(text) : 0);
}

void
intent_begin(struct loop *loop, struct arena *arena, struct ref scope,
             struct record *record, char id_out[ID_TEXT_MAX])
{
    char log[ID_TEXT_MAX], text[ID_TEXT_MAX + NAME_MAX_SIZE];

    object_id_text(loop_world(loop), scope, log);
    record->outcome.status = RECORD_PENDING;
    journal_append(loop, arena, scope, record, id_out);
    (void)snprintf(text, sizeof(text), "%s %s", log, record->action.verb);
    put(loop, id_out, true, text);
}

void
intent_end(struct loop *loop, const char *id)
{
    put(loop, id, false, NULL);
}

void
intents_recover(struct loop *loop, struct arena *arena)
{
    struct intents *intents = journal_intents(loop_journal(loop));

    for (size_t i = 0; i < intents->count; i++) {
        const struct open_intent *open = &intents->list[i];
        struct record record = {
            .observer.component = "recovery",
            .actor.kind = "platform",
            .action.verb = open->verb,
            .decision.allow = true,
            .decision.reason = "the platform stopped before it knew",
            .outcome.status = RECORD_UNKNOWN,
            .links.parent = open->id,
        };

        journal_append(loop, arena,
                       object_find_text(loop_world(loop), open->log), &record,
                       NULL);
        intent_end(loop, open->id);
    }
    intents->count = 0;
}
