/* SPDX-License-Identifier: Apache-2.0 */
#include "core/role.h"

#include <assert.h>
#include <string.h>

/*
 * Separation of duties is in these tables and tested there: nobody holds
 * grant and audit retention, the security admin never grants, the auditor writes
 * nothing, the platform admin has no content verb.
 */

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* To see a project without what is inside its work. */
static const enum verb project_view[] = {
    VERB_PROJECT_GET,  VERB_SERVICEACCOUNT_GET, VERB_QUOTA_GET,
    VERB_WORKLOAD_GET, VERB_INSTANCE_GET,       VERB_BINDING_GET,
    VERB_VOLUME_GET,   VERB_ALARM_GET,          VERB_USAGE_READ,
    VERB_CEILING_GET,   VERB_WORKLOAD_WHATIF,    VERB_RESERVATION_GET,
    VERB_REQUEST_GET,
};
/* To see who may do what. */
static const enum verb rights_view[] = {
    VERB_USER_GET,  VERB_APIKEY_GET,  VERB_SESSION_GET, VERB_ROLE_GET,
    VERB_GRANT_GET, VERB_CEILING_GET, VERB_DENY_GET,    VERB_APPROVAL_GET,
    VERB_GROUP_GET, VERB_MEMBER_GET,
    VERB_IDENTITYPROVIDER_GET, VERB_IDENTITY_GET,
    VERB_INVITATION_GET,
};
static const enum verb tenant_view[] = {
    VERB_TENANT_GET, VERB_UNIT_GET, VERB_REPORT_READ, VERB_COMMITMENT_GET,
    VERB_VISIT_GET,
};
static const enum verb estate_view[] = {
    VERB_PLATFORM_GET,  VERB_POOL_GET,      VERB_NODE_GET,
    VERB_JOINTOKEN_GET, VERB_CARD_GET,      VERB_CLASS_GET,
    VERB_PRIORITY_GET,  VERB_PRICE_GET,     VERB_TENANT_GET,
    VERB_UNIT_GET,      VERB_PROJECT_GET,   VERB_QUOTA_GET,
    VERB_WORKLOAD_GET,  VERB_INSTANCE_GET,  VERB_BINDING_GET,
    VERB_VOLUME_GET,    VERB_ALARM_GET,     VERB_USAGE_READ,
    VERB_WORKLOAD_WHATIF, VERB_RESERVATION_GET,
    VERB_REQUEST_GET,   VERB_MAINTENANCE_GET, VERB_REQUIREMENT_GET,
    VERB_COMMITMENT_GET,
};

/* Who watches the estate's doors. */
static const enum verb doors_view[] = {
    VERB_GUARD_GET,     VERB_BREAKGLASS_GET, VERB_WORKORDER_GET,
    VERB_OPDOCUMENT_GET, VERB_VISIT_GET,
};

static const enum verb work[] = {
    VERB_WORKLOAD_CREATE, VERB_WORKLOAD_UPDATE, VERB_WORKLOAD_CANCEL,
    VERB_WORKLOAD_DELETE, VERB_VOLUME_CREATE,   VERB_VOLUME_UPDATE,
    VERB_VOLUME_DELETE,   VERB_ALARM_UPDATE,
};
static const enum verb content[] = {
    VERB_WORKLOAD_SPEC, VERB_WORKLOAD_LOGS,    VERB_INSTANCE_EXEC,
    VERB_VOLUME_READ,   VERB_INFERENCE_INVOKE,
};
static const enum verb project_admin[] = {
    VERB_SERVICEACCOUNT_CREATE, VERB_SERVICEACCOUNT_UPDATE,
    VERB_SERVICEACCOUNT_DELETE, VERB_APIKEY_GET,
    VERB_APIKEY_CREATE,         VERB_APIKEY_UPDATE,
    VERB_APIKEY_DELETE,         VERB_APIKEY_ROTATE,
    VERB_GRANT_GET,
    VERB_GRANT_CREATE,          VERB_GRANT_UPDATE,
    VERB_GRANT_DELETE,          VERB_DENY_GET,
    VERB_REQUEST_CREATE,        VERB_REQUEST_WITHDRAW,
};
static const enum verb tenant_admin[] = {
    VERB_UNIT_CREATE,     VERB_UNIT_UPDATE,    VERB_UNIT_DELETE,
    VERB_PROJECT_CREATE,  VERB_PROJECT_UPDATE, VERB_PROJECT_DELETE,
    VERB_USER_CREATE,     VERB_USER_UPDATE,    VERB_USER_DELETE,
    VERB_USER_PASSWORD,   VERB_SESSION_DELETE, VERB_ROLE_CREATE,
    VERB_ROLE_UPDATE,     VERB_ROLE_DELETE,    VERB_CEILING_CREATE,
    VERB_CEILING_UPDATE,  VERB_CEILING_DELETE, VERB_QUOTA_CREATE,
    VERB_QUOTA_UPDATE,    VERB_QUOTA_DELETE,   VERB_WORKLOAD_CANCEL,
    VERB_WORKLOAD_UPDATE, VERB_ALARM_UPDATE,   VERB_AUDIT_READ,
    VERB_REQUEST_DECIDE,  VERB_GROUP_CREATE,   VERB_GROUP_UPDATE,
    VERB_GROUP_DELETE,    VERB_MEMBER_CREATE,  VERB_MEMBER_DELETE,
    VERB_IDENTITYPROVIDER_CREATE,
    VERB_IDENTITYPROVIDER_UPDATE, VERB_IDENTITYPROVIDER_DELETE,
    VERB_IDENTITYPROVIDER_SECRET, VERB_IDENTITY_CREATE,
    VERB_IDENTITY_DELETE,
    VERB_USER_UNLOCK,     VERB_USER_FACTOR_RESET,
    VERB_INVITATION_CREATE, VERB_INVITATION_DELETE, VERB_TENANT_FACTOR,
};
static const enum verb operate[] = {
    VERB_NODE_UPDATE,  VERB_NODE_DELETE,      VERB_NODE_ENROL,
    VERB_NODE_FENCE,
    VERB_CARD_UPDATE,  VERB_JOINTOKEN_DELETE, VERB_INSTANCE_RELEASE,
    VERB_ALARM_UPDATE, VERB_PLATFORM_CHECK,
    VERB_MAINTENANCE_CREATE, VERB_MAINTENANCE_UPDATE,
    VERB_MAINTENANCE_DELETE,
    VERB_WORKORDER_CLOSE, VERB_WORKORDER_REPORT, VERB_OPDOCUMENT_CREATE,
};
static const enum verb platform_admin[] = {
    VERB_PLATFORM_UPDATE, VERB_PLATFORM_BACKUP,
    VERB_POOL_CREATE,     VERB_POOL_UPDATE,
    VERB_POOL_DELETE,     VERB_CLASS_CREATE,    VERB_CLASS_UPDATE,
    VERB_CLASS_DELETE,    VERB_PRIORITY_CREATE, VERB_PRIORITY_UPDATE,
    VERB_PRIORITY_DELETE, VERB_PRIORITY_ACROSS, VERB_PRICE_CREATE,
    VERB_PRICE_UPDATE,    VERB_PRICE_DELETE,    VERB_TENANT_CREATE,
    VERB_TENANT_UPDATE,   VERB_TENANT_DELETE,   VERB_QUOTA_RAISE,
    VERB_RESERVATION_CREATE, VERB_RESERVATION_UPDATE,
    VERB_RESERVATION_DELETE, VERB_REQUIREMENT_CREATE,
    VERB_REQUIREMENT_UPDATE, VERB_REQUIREMENT_DELETE,
    VERB_COMMITMENT_CREATE, VERB_COMMITMENT_UPDATE, VERB_COMMITMENT_DELETE,
    VERB_WORKORDER_CREATE, VERB_OPDOCUMENT_DELETE,
};
/* To be the second person, and to say what needs one. */
static const enum verb approve[] = { VERB_APPROVAL_DECIDE };
static const enum verb guard_doors[] = {
    VERB_GUARD_CREATE, VERB_GUARD_UPDATE, VERB_GUARD_DELETE,
    VERB_BREAKGLASS_REVIEW,
};
/* Operators see the orders that they help with. */
static const enum verb orders_view[] = { VERB_WORKORDER_GET,
                                         VERB_OPDOCUMENT_GET };
static const enum verb guard_estate[] = {
    VERB_DENY_CREATE,    VERB_DENY_UPDATE,     VERB_DENY_DELETE,
    VERB_SESSION_DELETE, VERB_AUDIT_RETENTION, VERB_AUDIT_READ,
    VERB_REPORT_READ,    VERB_PLATFORM_CHECK,  VERB_USER_UNLOCK,
    VERB_AUDIT_ERASE,    VERB_AUDIT_ROTATE,    VERB_AUDIT_WITNESS,
};
/* Who did it, by name and address: for whoever is given it, of no role. */
static const enum verb persons[] = { VERB_AUDIT_PERSONAL };
static const enum verb audit[] = { VERB_AUDIT_READ, VERB_REPORT_READ };
static const enum verb invoke[] = { VERB_PROJECT_GET, VERB_INFERENCE_INVOKE };
static const enum verb vendor[] = {
    VERB_NODE_GET,      VERB_CARD_GET,         VERB_NODE_UPDATE,
    VERB_WORKORDER_GET, VERB_WORKORDER_REPORT, VERB_OPDOCUMENT_GET,
};

struct part {
    const enum verb *list;
    size_t count;
};
#define PART(list) { list, COUNT(list) }
#define PARTS_MAX 13

static const struct {
    const char *name;
    struct part use[PARTS_MAX];
    /* Handed out: what is used, and this. */
    struct part give[PARTS_MAX];
    bool gives; /* else nothing at all */
} roles[ROLE_BUILTIN_COUNT] = {
    [ROLE_PLATFORM_ADMIN] = { "platform-admin",
                              { PART(estate_view), PART(rights_view),
                                PART(tenant_view), PART(project_view),
                                PART(platform_admin), PART(tenant_admin),
                                PART(project_admin), PART(operate),
                                PART(doors_view), PART(approve),
                                PART(guard_doors) },
                              { PART(work), PART(content), PART(persons),
                                PART(guard_estate) },
                              true },
    [ROLE_SECURITY_ADMIN] = { "security-admin",
                              { PART(estate_view), PART(rights_view),
                                PART(tenant_view), PART(project_view),
                                PART(guard_estate), PART(doors_view),
                                PART(approve), PART(guard_doors) },
                              { { 0 } },
                              false },
    [ROLE_AUDITOR] = { "auditor",
                       { PART(estate_view), PART(rights_view),
                         PART(tenant_view), PART(project_view), PART(audit),
                         PART(doors_view) },
                       { { 0 } },
                       false },
    [ROLE_OPERATIONS_ENGINEER] = { "operations-engineer",
                                   { PART(estate_view), PART(operate),
                                     PART(orders_view) },
                                   { { 0 } },
                                   false },
    [ROLE_TENANT_ADMIN] = { "tenant-admin",
                            { PART(tenant_view), PART(rights_view),
                              PART(project_view), PART(project_admin),
                              PART(tenant_admin), PART(approve) },
                            { PART(work), PART(content), PART(persons) },
                            true },
    [ROLE_PROJECT_ADMIN] = { "project-admin",
                             { PART(project_view), PART(project_admin),
                               PART(work), PART(content) },
                             { { 0 } },
                             true },
    [ROLE_DEVELOPER] = { "developer",
                         { PART(project_view), PART(work), PART(content) },
                         { { 0 } },
                         false },
    [ROLE_END_USER] = { "end-user", { PART(invoke) }, { { 0 } }, false },
    [ROLE_VENDOR] = { "vendor", { PART(vendor) }, { { 0 } }, false },
};

static void
add_parts(struct verbs *set, const struct part *parts)
{
    for (size_t i = 0; i < PARTS_MAX && parts[i].list != NULL; i++)
        for (size_t k = 0; k < parts[i].count; k++)
            verbs_add(set, parts[i].list[k]);
}

const char *
role_name(enum role_builtin role)
{
    assert(role < ROLE_BUILTIN_COUNT);
    return roles[role].name;
}

struct verbs
role_use(enum role_builtin role)
{
    struct verbs set = { { 0 } };

    assert(role < ROLE_BUILTIN_COUNT);
    add_parts(&set, roles[role].use);
    return set;
}

struct verbs
role_give(enum role_builtin role)
{
    struct verbs set = { { 0 } };

    assert(role < ROLE_BUILTIN_COUNT);
    if (!roles[role].gives)
        return set;
    add_parts(&set, roles[role].use);
    add_parts(&set, roles[role].give);
    return set;
}

static bool
is_as_shipped(const struct role *role, enum role_builtin builtin)
{
    struct verbs use = role_use(builtin);
    struct verbs give = role_give(builtin);

    return role->builtin && verbs_within(use, role->verbs) &&
           verbs_within(role->verbs, use) && verbs_within(give, role->give) &&
           verbs_within(role->give, give);
}

static void
put_role(struct changes *changes, struct ref platform,
         enum role_builtin builtin)
{
    struct ref ref = world_find_name(changes->world, KIND_ROLE, platform,
                                     role_name(builtin));
    struct role *role;

    if (ref_is_none(ref))
        role = change_create(changes, KIND_ROLE, platform, role_name(builtin));
    else if (is_as_shipped(world_role(changes->world, ref), builtin))
        return;
    else
        role = change_update(changes, ref);
    role->verbs = role_use(builtin);
    role->give = role_give(builtin);
    role->builtin = true;
}

void
role_install(struct changes *changes, struct ref platform)
{
    for (unsigned i = 0; i < ROLE_BUILTIN_COUNT; i++)
        put_role(changes, platform, (enum role_builtin)i);
}

struct ref
role_find(const struct world *world, enum role_builtin role)
{
    return world_find_name(world, KIND_ROLE, world_platform_ref(world),
                           role_name(role));
}
