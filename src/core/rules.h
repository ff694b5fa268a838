/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RULES_H
#define CORE_RULES_H

#include "core/object.h"
#include "core/resource.h"

/*
 * What must hold for each kind that clients write?  The inside of
 * resource.c: one row per kind, with the rules in rules_estate.c (what the
 * platform owns), rules_tree.c (tenants down to volumes, quotas) and
 * rules_rights.c (subjects, credentials, rights).
 */

/* One operation under way. */
struct edit {
    const struct granted *granted;
    struct changes *changes;
    const struct world *world;
    const struct actor *actor;
    int64_t now_ms;
    const json_t *body; /* NULL for a deletion */
};

/* A rule looks at the image after the client's fields were read into it, and
 * may complete it.  before: the object as it is. */
typedef int rule_create(const struct edit *edit, void *image,
                        struct error *err);
typedef int rule_update(const struct edit *edit, const void *before,
                        void *image, struct error *err);
/* Looks for what is in the way, takes out what goes along; ref itself is
 * dealt with by the caller unless the rule has a state for it. */
typedef int rule_delete(const struct edit *edit, struct ref ref,
                        struct error *err);
/* Before anything about the object changes. */
typedef void rule_before(struct changes *changes, struct ref ref);

struct rule {
    uint64_t parents; /* bit for each kind that may be the parent; 0: only
                         the platform itself makes them */
    bool named;       /* must have a name */
    rule_before *before;
    rule_create *create;
    rule_update *update;
    rule_delete *remove; /* NULL: nothing is in the way */
    bool keeps_row;      /* deleted by state, not from the store */
};

const struct rule *rules_of(enum kind kind);

rule_before rules_cut_node, rules_cut_card;
rule_create rules_create_pool, rules_create_class, rules_create_price,
    rules_create_priority, rules_create_jointoken;
rule_update rules_update_platform, rules_update_pool, rules_update_node, rules_update_card,
    rules_update_price, rules_update_priority, rules_update_class;
rule_delete rules_delete_pool, rules_delete_node, rules_delete_class,
    rules_delete_priority, rules_delete_price;

rule_create rules_create_tenant, rules_create_unit, rules_create_project,
    rules_create_quota, rules_create_volume, rules_create_request;
rule_update rules_update_tenant, rules_update_state, rules_update_quota,
    rules_update_workload;
rule_delete rules_delete_tenant, rules_delete_unit, rules_delete_project,
    rules_delete_quota, rules_delete_volume, rules_delete_workload;

rule_create rules_create_reservation;
rule_update rules_update_reservation;
rule_delete rules_delete_reservation;

rule_create rules_create_maintenance, rules_create_requirement,
    rules_create_commitment;
rule_update rules_update_maintenance, rules_update_requirement,
    rules_update_commitment;
rule_delete rules_delete_maintenance, rules_delete_commitment;

rule_create rules_create_guard, rules_create_breakglass,
    rules_create_workorder, rules_create_opdocument, rules_create_user;
rule_update rules_update_guard;

rule_create rules_create_serviceaccount, rules_create_apikey,
    rules_create_role, rules_create_grant, rules_create_ceiling,
    rules_create_deny;
rule_create rules_create_member, rules_create_invitation;
rule_delete rules_delete_group;
rule_update rules_update_subject, rules_update_role;
rule_delete rules_delete_subject, rules_delete_role;

rule_create rules_create_identityprovider, rules_create_identity;
rule_update rules_update_identityprovider;
rule_delete rules_delete_identityprovider, rules_delete_identity;

/* --- for rules --- */

static inline bool
edit_has(const struct edit *edit, const char *field)
{
    const json_t *value = json_object_get(edit->body, field);

    return value != NULL && !json_is_null(value);
}

/* Is it in the body, perhaps as null? */
static inline bool
edit_names(const struct edit *edit, const char *field)
{
    return json_object_get(edit->body, field) != NULL;
}

/* A document that lists objects of a kind by id or name below the platform:
 * checks each, and makes it a list of ids.  null stays null. */
int rules_settle_list(const struct edit *edit, struct blob **list,
                      enum kind kind, const char *field, struct error *err);

/* The field "devices": nodes and cards, by id or name, become ids. */
int rules_settle_devices(const struct edit *edit, struct blob **list,
                         struct error *err);

/* What stands in the way of a deletion.  Zero-initialise. */
struct blockers {
    size_t count;
    struct ref last;
    char names[256];
};

/* Notes an object; it is named when the actor sees it.  An instance stands
 * for its workload, and one that has given everything back for nothing. */
void rules_block(const struct edit *edit, struct blockers *blockers,
                 struct ref ref);
/* All that names a class, pool or priority in a field. */
void rules_block_work(const struct edit *edit, struct blockers *blockers,
                      struct ref ref);
/* All children of a kind, apart from deleted ones. */
void rules_block_children(const struct edit *edit, struct blockers *blockers,
                          enum kind kind, struct ref parent);
/* 0, or -1 and ERROR_CONFLICT naming what was noted. */
int rules_blocked(const struct blockers *blockers, struct error *err);

/* Deletes unless that is done already. */
void rules_drop(struct changes *changes, struct ref ref);
void rules_drop_children(struct changes *changes, enum kind kind,
                         struct ref parent);
/* Keys, sessions, grants, memberships and stored answers of a subject; then its
 * state. */
void rules_drop_subject(struct changes *changes, struct ref subject);
/* Control and minting, for a key that is made or gets a new secret.  said: its
 * verbs were asked for, so more than may be is refused and not left out. */
int rules_check_minter(const struct edit *edit, struct apikey *key, bool said,
                       struct error *err);
/* What was sent to somebody who has not accepted. */
void rules_drop_invitations(struct changes *changes, struct ref user);
/* A group with its members and its grants. */
void rules_drop_group(struct changes *changes, struct ref group);
/* Grants, denies, ceilings, quotas, reservations and alarms of a node. */
void rules_drop_node_rights(struct changes *changes, struct ref node);
/* A reservation with what is booked for it. */
void rules_drop_reservation(struct changes *changes, struct ref ref);
/* Can the actor hand out what a group's grants have, to who joins it until
 * to_ms (0: for ever)? */
int rules_check_joining(const struct edit *edit, struct ref group,
                        struct ref subject, int64_t to_ms, struct error *err);
/* The shortest life of a grant that the ceilings above a node allow, 0: no
 * bound. */
int64_t rules_grant_life(const struct world *world, struct ref node);
/* Sets STATE_DELETED on a kind that has one. */
void rules_mark_deleted(struct changes *changes, struct ref ref);

#endif
