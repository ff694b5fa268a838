/* SPDX-License-Identifier: Apache-2.0 */
#include "core/verb.h"

#include <assert.h>
#include <string.h>

struct attributes {
    const char *name;
    enum kind kind;
    enum verb_op op;
    enum verb_level level;
    enum verb_sense sense;
    enum verb_guard guard;
    unsigned flags;
};

static const struct attributes table[VERB_COUNT] = {
#define VERB(symbol, name, kind, op, level, sense, guard, flags)              \
    [VERB_##symbol] = { name,         KIND_##kind,        VERB_OP_##op,       \
                        VERB_LEVEL_##level, VERB_##sense, VERB_GUARD_##guard, \
                        flags },
#include "core/verb.def"
#undef VERB
};

_Static_assert(VERB_COUNT <= 64 * VERB_WORDS, "a verb set has 256 bits");

static const struct attributes *
attributes_of(enum verb verb)
{
    assert((unsigned)verb < VERB_COUNT);
    return &table[verb];
}

const char *
verb_name(enum verb verb)
{
    return (unsigned)verb < VERB_COUNT ? table[verb].name : NULL;
}

int
verb_parse(const char *name)
{
    for (unsigned i = 0; i < VERB_COUNT; i++)
        if (strcmp(table[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* By kind and op, + 1; those named on their own stand behind, each alone. */
#define PLACE(kind, op, verb)                                                 \
    ((op) == VERB_OP_OTHER ? KIND_COUNT * VERB_OP_OTHER + (int)(verb)         \
                           : (int)(kind)*VERB_OP_OTHER + (int)(op))
static const uint16_t places[KIND_COUNT * VERB_OP_OTHER + VERB_COUNT] = {
#define VERB(symbol, name, kind, op, level, sense, guard, flags)              \
    [PLACE(KIND_##kind, VERB_OP_##op, VERB_##symbol)] = VERB_##symbol + 1,
#include "core/verb.def"
#undef VERB
};

int
verb_of(enum kind kind, enum verb_op op)
{
    assert(op != VERB_OP_OTHER && (unsigned)kind < KIND_COUNT);
    return places[PLACE(kind, op, 0)] - 1;
}

enum kind
verb_kind(enum verb verb)
{
    return attributes_of(verb)->kind;
}

enum verb_op
verb_op(enum verb verb)
{
    return attributes_of(verb)->op;
}

enum verb_level
verb_level(enum verb verb)
{
    return attributes_of(verb)->level;
}

enum verb_sense
verb_sense(enum verb verb)
{
    return attributes_of(verb)->sense;
}

enum verb_guard
verb_guard(enum verb verb)
{
    return attributes_of(verb)->guard;
}

bool
verb_is(enum verb verb, enum verb_flag flag)
{
    return (attributes_of(verb)->flags & (unsigned)flag) != 0;
}

bool
verb_writes(enum verb verb)
{
    enum verb_op op = verb_op(verb);

    return op == VERB_OP_CREATE || op == VERB_OP_UPDATE ||
           op == VERB_OP_DELETE || verb_is(verb, VERB_WRITES);
}

enum verb
verbs_first(struct verbs set)
{
    for (unsigned i = 0; i < VERB_COUNT; i++)
        if (verbs_have(&set, (enum verb)i))
            return (enum verb)i;
    return VERB_COUNT;
}

struct verbs
verbs_all(void)
{
    struct verbs set = { { 0 } };

    for (unsigned i = 0; i < VERB_COUNT; i++)
        verbs_add(&set, (enum verb)i);
    return set;
}

static enum verb_level
level_of_node(enum kind node)
{
    if (node == KIND_PLATFORM)
        return VERB_LEVEL_PLATFORM;
    return node == KIND_PROJECT ? VERB_LEVEL_PROJECT : VERB_LEVEL_TENANT;
}

struct verbs
verbs_for(enum kind node)
{
    struct verbs set = { { 0 } };

    for (unsigned i = 0; i < VERB_COUNT; i++)
        if (table[i].level >= level_of_node(node))
            verbs_add(&set, (enum verb)i);
    return set;
}
