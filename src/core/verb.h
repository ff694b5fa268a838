/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_VERB_H
#define CORE_VERB_H

#include "core/schema.h"

/*
 * What can be done at all, and how dangerous is it?  verb.def is the closed
 * list; outside the process a verb is its name.  A set of verbs is a
 * struct verbs (256 bits); a name that is not in the list is denied.
 */

enum verb {
#define VERB(symbol, name, kind, op, level, sense, guard, flags)              \
    VERB_##symbol,
#include "core/verb.def"
#undef VERB
    VERB_COUNT
};

/* What a verb does to an object of its kind; OTHER: named on its own. */
enum verb_op {
    VERB_OP_GET,
    VERB_OP_LIST, /* on the parent; nobody is granted it, see access.h */
    VERB_OP_CREATE, /* on the parent */
    VERB_OP_UPDATE,
    VERB_OP_DELETE,
    VERB_OP_OTHER,
};

/* The lowest node on which a grant of the verb counts. */
enum verb_level {
    VERB_LEVEL_PLATFORM,
    VERB_LEVEL_TENANT, /* tenant and unit */
    VERB_LEVEL_PROJECT,
};

enum verb_sense { VERB_METADATA, VERB_CONTENT };

enum verb_guard {
    VERB_GUARD_NONE,
    VERB_GUARD_STEP_UP, /* a proof of identity within the last minutes */
    VERB_GUARD_SECOND,  /* an approval by someone else */
    VERB_GUARD_BOTH,
};

enum verb_flag {
    VERB_SELF = 1,      /* a subject may, on itself and what is below it */
    VERB_SELF_FREE = 2, /* ... and then without the guard */
    VERB_PUBLIC = 4,    /* everyone at or below the object's parent may */
    VERB_CONTROL = 8,   /* controls a subject: the control rule applies */
    VERB_GIVES = 16,    /* hands out verbs: the delegation rule applies */
    VERB_ABOVE = 32,    /* the grant must sit above the node it bounds */
    VERB_AGENT = 64,    /* a node's agent, on its node, and nobody else */
    VERB_WRITES = 128,  /* changes something (create, update, delete do) */
    VERB_WINDS_DOWN = 256, /* possible below a suspended node */
};

/* "workload.create"; NULL for a number that is no verb. */
const char *verb_name(enum verb verb);
/* The verb's number, -1 when there is none of that name. */
int verb_parse(const char *name);
/* The verb for an operation on a kind, -1 when there is none. */
int verb_of(enum kind kind, enum verb_op op);

enum kind verb_kind(enum verb verb);
enum verb_op verb_op(enum verb verb);
enum verb_level verb_level(enum verb verb);
enum verb_sense verb_sense(enum verb verb);
enum verb_guard verb_guard(enum verb verb);
bool verb_is(enum verb verb, enum verb_flag flag);
bool verb_writes(enum verb verb);

/* --- sets --- */

static inline bool
verbs_have(const struct verbs *set, enum verb verb)
{
    return (set->word[(unsigned)verb / 64] >> ((unsigned)verb % 64)) & 1U;
}

static inline void
verbs_add(struct verbs *set, enum verb verb)
{
    set->word[(unsigned)verb / 64] |= UINT64_C(1) << ((unsigned)verb % 64);
}

static inline struct verbs
verbs_and(struct verbs a, struct verbs b)
{
    for (unsigned i = 0; i < VERB_WORDS; i++)
        a.word[i] &= b.word[i];
    return a;
}

static inline struct verbs
verbs_or(struct verbs a, struct verbs b)
{
    for (unsigned i = 0; i < VERB_WORDS; i++)
        a.word[i] |= b.word[i];
    return a;
}

static inline struct verbs
verbs_minus(struct verbs a, struct verbs b)
{
    for (unsigned i = 0; i < VERB_WORDS; i++)
        a.word[i] &= ~b.word[i];
    return a;
}

static inline bool
verbs_empty(struct verbs set)
{
    return (set.word[0] | set.word[1] | set.word[2] | set.word[3]) == 0;
}

/* Is every verb of a in b? */
static inline bool
verbs_within(struct verbs a, struct verbs b)
{
    return verbs_empty(verbs_minus(a, b));
}

/* The first verb of a set, VERB_COUNT when it is empty. */
enum verb verbs_first(struct verbs set);
/* Every verb that there is. */
struct verbs verbs_all(void);
/* Every verb whose grant may sit on a node of that kind. */
struct verbs verbs_for(enum kind node);

#endif
