/* SPDX-License-Identifier: Apache-2.0 */
#include "control/intent.h"

#include <string.h>

#include "control/describe.h"
#include "control/journal.h"
#include "core/object.h"

#define PREFIX "intent:"
#define WHAT_MAX 128

struct open_intent {
    char id[ID_TEXT_MAX]; /* of its record, else of the request; "": free */
    char log[ID_TEXT_MAX];
    char verb[NAME_MAX_SIZE];
    char what[WHAT_MAX];
    bool told;      /* it has a record */
    struct id node; /* of what is under way at a node, else none */
};

/* The place in the list is the number in the counter's name, so that those
 * that have ended leave room for others. */
struct intents {
    struct open_intent *list;
    size_t count, nodes;
};

struct intents *
intents_new(void)
{
    return memory_new(1, sizeof(struct intents));
}

void
intents_free(struct intents *intents)
{
    if (intents != NULL)
        free(intents->list);
    free(intents);
}

static struct open_intent *
at(struct intents *intents, size_t number)
{
    if (number >= intents->count) {
        size_t count = number * 2 + 16;

        intents->list =
            memory_grow(intents->list, count, sizeof(*intents->list));
        memset(&intents->list[intents->count], 0,
               (count - intents->count) * sizeof(*intents->list));
        intents->count = count;
    }
    return &intents->list[number];
}

static struct open_intent *
take_free(struct intents *intents)
{
    size_t number = 0;

    while (number < intents->count && intents->list[number].id[0] != '\0')
        number++;
    return at(intents, number);
}

static struct open_intent *
find(struct intents *intents, const char *id)
{
    for (size_t i = 0; i < intents->count; i++)
        if (strcmp(intents->list[i].id, id) == 0)
            return &intents->list[i];
    return NULL;
}

/* --- as a counter: its value is 1 with a record, 2 without, 0 when it is
 * free; the bytes are "ID LOG VERB WHAT" --- */

static void
put(struct loop *loop, const struct open_intent *open)
{
    const struct intents *intents = journal_intents(loop_journal(loop));
    bool used = open->id[0] != '\0';
    scoped_buffer text = { 0 };
    char name[40];

    (void)snprintf(name, sizeof(name), PREFIX "%zu",
                   (size_t)(open - intents->list));
    buffer_printf(&text, "%s %s %s %s", open->id, open->log, open->verb,
                  open->what);
    loop_counter(loop, name, !used ? 0 : open->told ? 1 : 2,
                 used ? text.bytes : NULL, used ? text.size : 0);
}

static const char *
take_word(const char *from, const char *end, char *out, size_t room)
{
    const char *space = memchr(from, ' ', (size_t)(end - from));
    size_t size = (size_t)((space == NULL ? end : space) - from);

    (void)snprintf(out, room, "%.*s", (int)size, from);
    return space == NULL ? end : space + 1;
}

bool
intents_load(struct intents *intents, const struct store_counter *counter)
{
    const char *bytes = counter->bytes;
    struct open_intent *open;

    if (strncmp(counter->name, PREFIX, strlen(PREFIX)) != 0)
        return false;
    if (counter->value == 0 || bytes == NULL)
        return true;
    open = at(intents, (size_t)strtoul(counter->name + strlen(PREFIX), NULL,
                                       10) %
                           65536);
    open->told = counter->value == 1;
    bytes = take_word(bytes, (const char *)counter->bytes + counter->size,
                      open->id, sizeof(open->id));
    bytes = take_word(bytes, (const char *)counter->bytes + counter->size,
                      open->log, sizeof(open->log));
    bytes = take_word(bytes, (const char *)counter->bytes + counter->size,
                      open->verb, sizeof(open->verb));
    (void)snprintf(open->what, sizeof(open->what), "%.*s",
                   (int)((const char *)counter->bytes + counter->size - bytes),
                   bytes);
    return true;
}

/* --- beginning and ending --- */

static struct open_intent *
open_one(struct loop *loop, struct ref scope, const char *verb, const char *id,
         const char *what)
{
    struct open_intent *open = take_free(journal_intents(loop_journal(loop)));

    *open = (struct open_intent){ 0 };
    object_id_text(loop_world(loop), scope, open->log);
    (void)snprintf(open->id, sizeof(open->id), "%s", id);
    (void)snprintf(open->verb, sizeof(open->verb), "%s", verb);
    (void)snprintf(open->what, sizeof(open->what), "%s", what);
    return open;
}

static struct open_intent *
begin(struct loop *loop, struct arena *arena, struct ref scope,
      struct record *record, char id_out[ID_TEXT_MAX])
{
    struct open_intent *open;

    record->outcome.status = RECORD_PENDING;
    journal_append(loop, arena, scope, record, id_out);
    open = open_one(loop, scope, record->action.verb, id_out, "");
    open->told = true;
    return open;
}

void
intent_begin(struct loop *loop, struct arena *arena, struct ref scope,
             struct record *record, char id_out[ID_TEXT_MAX])
{
    put(loop, begin(loop, arena, scope, record, id_out));
}

void
intent_note(struct loop *loop, struct ref scope, const char *verb,
            const char *request, const char *what)
{
    put(loop, open_one(loop, scope, verb, request, what));
}

static void
close_one(struct loop *loop, struct open_intent *open)
{
    struct intents *intents = journal_intents(loop_journal(loop));

    intents->nodes -= open->node.hi != 0 || open->node.lo != 0;
    *open = (struct open_intent){ 0 };
    put(loop, open);
}

void
intent_end(struct loop *loop, const char *id)
{
    struct open_intent *open =
        find(journal_intents(loop_journal(loop)), id);

    if (open != NULL && id[0] != '\0')
        close_one(loop, open);
}

/* --- after a start --- */

static void
end_unknown(struct loop *loop, struct arena *arena, struct open_intent *open)
{
    struct ref scope = object_find_text(loop_world(loop), open->log);
    struct record record = {
        .observer.component = "recovery",
        .actor.kind = "platform",
        .action.verb = open->verb,
        .decision.allow = true,
        .decision.reason = "the platform stopped before it knew",
        .outcome.status = RECORD_UNKNOWN,
    };

    if (open->told)
        record.links.parent = open->id;
    else
        record.links.request = open->id;
    if (open->what[0] != '\0')
        record.decision.reason =
            arena_printf(arena, "the platform stopped before it knew: %s",
                         open->what);
    if (ref_is_none(scope)) /* its tenant is gone, and its log with it */
        scope = world_platform_ref(loop_world(loop));
    journal_append(loop, arena, scope, &record, NULL);
    close_one(loop, open);
}

/* What a node was told, or is about to be, and did not say that it is done. */
struct under_way {
    unsigned start, stop, give_back, scrub;
};

static void
count_instance(const struct instance *instance, struct under_way *out)
{
    switch ((enum instance_state)instance->state) {
    case INSTANCE_ASSIGNED:
    case INSTANCE_STARTING:
        out->start++;
        break;
    case INSTANCE_RUNNING:
        out->stop += instance->want != WANT_RUN;
        break;
    case INSTANCE_STOPPING:
        out->stop++;
        break;
    case INSTANCE_EXITED:
        out->give_back++;
        break;
    case INSTANCE_RELEASED:
    case INSTANCE_LOST:
        break;
    }
}

static bool
count_under_way(const struct world *world, struct ref node,
                struct under_way *out)
{
    *out = (struct under_way){ 0 };
    world_each_index(world, KIND_INSTANCE, 0, node, ref)
        count_instance(world_instance(world, ref), out);
    world_each_child(world, KIND_CARD, node, ref)
        out->scrub += world_card(world, ref)->handover == HANDOVER_PENDING ||
                      world_card(world, ref)->dirty[0] != '\0';
    return out->start + out->stop + out->give_back + out->scrub > 0;
}

static void
begin_node(struct loop *loop, struct arena *arena, struct ref node,
           const struct under_way *way)
{
    const struct world *world = loop_world(loop);
    struct record record = {
        .observer.component = "recovery",
        .actor.kind = "platform",
        .action.verb = INTENT_VERB_RESUME,
        .decision.allow = true,
        .decision.reason = arena_printf(
            arena,
            "under way when the platform started: to start %u, to stop %u, "
            "to give back %u, cards to scrub %u",
            way->start, way->stop, way->give_back, way->scrub),
    };
    struct open_intent *open;
    char id[ID_TEXT_MAX];

    describe_object(&record, arena, world, node);
    open = begin(loop, arena, world_platform_ref(world), &record, id);
    open->node = world_object(world, node)->id;
    journal_intents(loop_journal(loop))->nodes++;
    put(loop, open);
}

void
intents_recover(struct loop *loop, struct arena *arena)
{
    struct intents *intents = journal_intents(loop_journal(loop));
    const struct world *world = loop_world(loop);
    struct under_way way;

    for (size_t i = 0; i < intents->count; i++)
        if (intents->list[i].id[0] != '\0')
            end_unknown(loop, arena, &intents->list[i]);
    world_each(world, KIND_NODE, node)
        if (world_node(world, node)->state != NODE_LOST &&
            count_under_way(world, node, &way))
            begin_node(loop, arena, node, &way);
}

/* --- what became of it at the nodes --- */

static void
end_node(struct loop *loop, struct arena *arena, struct open_intent *open,
         struct ref node, enum record_outcome outcome, const char *reason)
{
    struct record record = {
        .observer.component = "recovery",
        .actor.kind = "platform",
        .action.verb = INTENT_VERB_RESUME,
        .decision.allow = true,
        .decision.reason = reason,
        .outcome.status = outcome,
        .links.parent = arena_strdup(arena, open->id),
    };

    describe_object(&record, arena, loop_world(loop), node);
    journal_append(loop, arena, world_platform_ref(loop_world(loop)), &record,
                   NULL);
    close_one(loop, open);
}

void
intents_heard(struct loop *loop, struct arena *arena, struct ref node)
{
    struct intents *intents = journal_intents(loop_journal(loop));
    const struct object *object = world_object(loop_world(loop), node);

    for (size_t i = 0; intents->nodes > 0 && object != NULL &&
                       i < intents->count;
         i++)
        if (id_equal(intents->list[i].node, object->id))
            end_node(loop, arena, &intents->list[i], node, RECORD_SUCCESS,
                     "the node reported what became of it");
}

void
intents_drop_lost(struct loop *loop, struct arena *arena)
{
    struct intents *intents = journal_intents(loop_journal(loop));
    const struct world *world = loop_world(loop);

    for (size_t i = 0; intents->nodes > 0 && i < intents->count; i++) {
        struct open_intent *open = &intents->list[i];
        struct ref node = world_find(world, KIND_NODE, open->node);

        if ((open->node.hi != 0 || open->node.lo != 0) &&
            (ref_is_none(node) || world_node(world, node)->state == NODE_LOST))
            end_node(loop, arena, open, node, RECORD_UNKNOWN,
                     ref_is_none(node) ? "the node is gone"
                                       : "the node is lost");
    }
}
