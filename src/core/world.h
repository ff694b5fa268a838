/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_WORLD_H
#define CORE_WORLD_H

#include "base/arena.h"
#include "base/hash.h"
#include "core/holdings.h"
#include "core/model.h"

/*
 * What is true now?  The world holds every live object, indexed by slot, id,
 * name below a parent, parent, and the references that the schema marks.
 * It is changed by world_apply alone (change.h), which cannot fail; what-if
 * works on a clone.  All lists are in the order of seq, so decisions do not
 * depend on slots, hash seeds or restarts.
 *
 * References stay valid until the object is deleted; then world_get gives
 * NULL until the slot is used again, which never happens within one change
 * set.  Pointers stay valid until the next world_apply.
 */

struct world;

/* The key seeds the tables whose keys users choose. */
struct world *world_new(const struct hash_key *key);
void world_free(struct world *world);
struct world *world_clone(const struct world *world);
/* Without the answers that are kept for repeated requests: no decision reads
 * them, and there may be more of them than of all else.  Whose they were is
 * not to be deleted there. */
struct world *world_clone_to_plan(const struct world *world);

/* The object, NULL when ref is none or the object is gone. */
const void *world_get(const struct world *world, struct ref ref);
/* Asks for the head of an object, and what comes first behind it, to be in the
 * cache: whoever goes through a list asks for those that come later. */
void world_prefetch(const struct world *world, struct ref ref);
/* The same as world_get, NULL also when it is of another kind. */
const void *world_get_kind(const struct world *world, enum kind kind,
                           struct ref ref);

/* world_workload(world, ref) and so on: typed, NULL when gone. */
#define WORLD_KINDS(X)                                                        \
    X(PLATFORM, platform) X(POOL, pool) X(NODE, node) X(CARD, card)           \
    X(JOINTOKEN, jointoken) X(CLASS, class) X(PRIORITY, priority)             \
    X(PRICE, price) X(TENANT, tenant) X(UNIT, unit) X(PROJECT, project)       \
    X(USER, user) X(SERVICEACCOUNT, serviceaccount) X(APIKEY, apikey)         \
    X(SESSION, session) X(IDENTITYPROVIDER, identityprovider)                 \
    X(IDENTITY, identity) X(ROLE, role) X(GRANT, grant) X(CEILING, ceiling)     \
    X(DENY, deny) X(QUOTA, quota) X(WORKLOAD, workload)                       \
    X(INSTANCE, instance) X(BINDING, binding) X(HOLD, hold)                   \
    X(BOOKING, booking) X(RESERVATION, reservation) X(VOLUME, volume)         \
    X(ALARM, alarm) X(REQUEST, wish) X(RECEIPT, receipt) X(SOURCE, source) \
    X(RECENT, recent) X(MAINTENANCE, maintenance)                             \
    X(REQUIREMENT, requirement) X(COMMITMENT, commitment)                     \
    X(GROUP, team) X(MEMBER, membership)                                      \
    X(APPROVAL, approval) X(GUARD, guard) X(BREAKGLASS, breakglass)           \
    X(WORKORDER, workorder) X(OPDOCUMENT, opdocument) X(VISIT, visit)                  \
    X(INVITATION, invitation)
#define WORLD_GETTER(KIND, name)                                              \
    static inline const struct name *world_##name(const struct world *world,  \
                                                  struct ref ref)             \
    {                                                                         \
        return world_get_kind(world, KIND_##KIND, ref);                       \
    }
WORLD_KINDS(WORLD_GETTER)
#undef WORLD_GETTER

/* Any object's head. */
static inline const struct object *
world_object(const struct world *world, struct ref ref)
{
    return world_get(world, ref);
}

/* Lookups; a ref of none when there is nothing. */
struct ref world_platform_ref(const struct world *world);
struct ref world_find(const struct world *world, enum kind kind,
                      struct id id);
struct ref world_find_name(const struct world *world, enum kind kind,
                           struct ref parent, const char *name);
/* By a FIELD_UNIQUE member of the kind (32 bytes); zeros are no digest. */
struct ref world_find_digest(const struct world *world, enum kind kind,
                             const uint8_t digest[32]);

/* Lists in the order of seq. */
struct ref world_first(const struct world *world, enum kind kind);
struct ref world_next(const struct world *world, struct ref ref);
struct ref world_first_child(const struct world *world, enum kind kind,
                             struct ref parent);
struct ref world_last_child(const struct world *world, enum kind kind,
                            struct ref parent);
struct ref world_next_child(const struct world *world, struct ref ref);
/* Objects of kind whose slot-th FIELD_INDEX member (0-based, in the order of
 * the schema) is target. */
struct ref world_first_index(const struct world *world, enum kind kind,
                             unsigned slot, struct ref target);
struct ref world_next_index(const struct world *world, unsigned slot,
                            struct ref ref);

/* A subject's own grants, in the order of seq, NULL when there are none; see
 * core/reach.h for those that count for it. */
const struct holdings_list *world_holdings(const struct world *world,
                                           struct ref subject);

/* A subject will be asked about an object: has them brought from memory while
 * other things are looked at.  Either may be none. */
void world_fetch(const struct world *world, struct ref subject,
                 struct ref object);

/* each: the name of the struct ref that the loop declares. */
#define world_each(world, kind, each)                                         \
    for (struct ref each = world_first(world, kind); !ref_is_none(each);      \
         each = world_next(world, each))
#define world_each_child(world, kind, target, each)                           \
    for (struct ref each = world_first_child(world, kind, target);            \
         !ref_is_none(each); each = world_next_child(world, each))
#define world_each_index(world, kind, slot, target, each)                     \
    for (struct ref each = world_first_index(world, kind, slot, target);      \
         !ref_is_none(each); each = world_next_index(world, slot, each))

size_t world_count(const struct world *world, enum kind kind);

/* The parent; none for the platform. */
struct ref world_parent(const struct world *world, struct ref ref);
/* The nearest ancestor-or-self of that kind, or none. */
struct ref world_ancestor(const struct world *world, enum kind kind,
                          struct ref ref);
/* The tenant that ref belongs to, or the platform. */
struct ref world_scope(const struct world *world, struct ref ref);
/* Is node an ancestor of ref, or ref itself? */
bool world_is_below(const struct world *world, struct ref ref,
                    struct ref node);

/* Counters.  seq: of the newest object.  revision: of one scope (a tenant or
 * the platform), raised by each change set that touches it. */
uint64_t world_seq(const struct world *world);
uint64_t world_revision(const struct world *world, struct ref scope);
/* Counts change sets since the process started; for waiting on durability. */
uint64_t world_generation(const struct world *world);

/* Who used what at which price: the finest key that facts are summed by. */
struct world_usage {
    struct ref project, pool, class, user, priority;
    char vendor[32];
    char model[64];
    int64_t meter; /* enum price_meter */
    int64_t price_nano;
};
/* Card time or cost that is used or promised in the month of now: metered,
 * running on, and reserved by longest run times; for another quota what is
 * metered in that month. */
int64_t world_committed(const struct world *world, const struct quota *quota,
                        int64_t now_ms);

/* The same without what is reserved: used by now. */
int64_t world_spent(const struct world *world, const struct quota *quota,
                    int64_t now_ms);
/* Card time of work of a priority class, the same way. */
int64_t world_priority_committed(const struct world *world, struct ref ref,
                                 int64_t now_ms);
/* Milli-cards of a pool that work of a priority class holds. */
int64_t world_share(const struct world *world, struct ref priority,
                    struct ref pool);

/* --- soft state: kept in memory, not stored each time --- */

void world_touch_node(struct world *world, struct ref node, int64_t now_ms);
void world_touch_card(struct world *world, struct ref card,
                      const struct card_readings *readings);
/* A session or key was used.  True when what is stored of it is older than
 * stale_ms or of another address, and, with note, that was not said since
 * world_stored_credential. */
bool world_touch_credential(struct world *world, struct ref ref,
                            const char *from, int64_t now_ms,
                            int64_t stale_ms, bool note);
void world_stored_credential(struct world *world, struct ref ref);

/* --- loading at start (control/load only) --- */

/* Takes a slot for an object whose image comes later. */
struct ref world_reserve(struct world *world, enum kind kind, struct id id);
/* Inserts a loaded image; self, parent and all references are resolved.
 * Called in the order of enum kind, then seq. */
void world_load(struct world *world, const void *image);
void world_load_counters(struct world *world, uint64_t seq);
void world_load_revision(struct world *world, struct ref scope,
                         uint64_t revision);
/* Month-to-date use, from facts. */
void world_load_usage(struct world *world, const struct world_usage *of,
                      int64_t month_ms, int64_t quantity);

#endif
