/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules.h"

#include <string.h>

#include "core/drain.h"
#include "core/gate.h"
#include "core/governance.h"
#include "core/manifest.h"
#include "core/quota.h"
#include "core/scope.h"

/* Tenants, units, projects, volumes and quotas. */

#define UNIT_DEPTH_MAX 3

/* --- lists of objects of the platform --- */

static struct ref
find_listed(const struct edit *edit, enum kind kind, const char *text)
{
    struct ref ref = object_find_text(edit->world, text);

    if (ref_is_none(ref))
        ref = world_find_name(edit->world, kind,
                              world_platform_ref(edit->world), text);
    if (ref.kind != kind || !access_visible(edit->granted, ref))
        return (struct ref){ 0 };
    return ref;
}

/* Fills ids with the list; -1 at the first that is none. */
static int
list_ids(const struct edit *edit, const json_t *list, enum kind kind,
         const char *pointer, json_t *ids, struct error *err)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(list))
        return error_field(err, pointer, "must be a list of %s",
                           schema_get(kind)->plural);
    json_array_foreach(list, i, item) {
        const char *text = json_string_value(item);
        struct ref ref = { 0 };
        char id[ID_TEXT_MAX];

        if (text != NULL)
            ref = find_listed(edit, kind, text);
        if (ref_is_none(ref))
            return error_field(err, pointer, "item %zu is not a %s", i,
                               schema_get(kind)->name);
        object_id_text(edit->world, ref, id);
        (void)json_array_append_new(ids, json_string(id));
    }
    return 0;
}

int
rules_settle_list(const struct edit *edit, struct blob **list,
                  enum kind kind, const char *field, struct error *err)
{
    scoped_json ids = json_array();
    scoped_buffer text = { 0 };
    char pointer[80];

    if (!edit_has(edit, field))
        return 0;
    (void)snprintf(pointer, sizeof(pointer), "/%s", field);
    if (list_ids(edit, json_object_get(edit->body, field), kind, pointer, ids,
                 err) != 0)
        return -1;
    json_write(&text, ids);
    change_doc(edit->changes, list, buffer_text(&text));
    return 0;
}

/* --- states --- */

static int
check_state(int old, int state, struct error *err)
{
    if (state != STATE_DELETED || old == STATE_DELETED)
        return 0;
    return error_field(err, "/state", "to delete it, delete it");
}

/* Nobody gives a larger share of what is above to themselves. */
static int
check_weight(const struct edit *edit, const void *before, const void *image,
             struct error *err)
{
    const struct object *object = before;
    enum kind kind = (enum kind)object->self.kind;
    const struct field *weight = schema_field(kind, "weight");
    enum verb verb =
        kind == KIND_UNIT ? VERB_UNIT_UPDATE : VERB_PROJECT_UPDATE;
    struct verbs above;

    if ((kind != KIND_UNIT && kind != KIND_PROJECT) ||
        memcmp(field_at(weight, before), field_at(weight, image),
               weight->size) == 0)
        return 0;
    above = access_use(edit->world, edit->actor, object->parent,
                       edit->now_ms);
    if (verbs_have(&above, verb))
        return 0;
    return error_set(err, ERROR_DENIED,
                     "/weight: it is a share of what is above, so %s there is "
                     "needed; ask who has it",
                     verb_name(verb));
}

/* The platform's policy says what becomes of the work of what is suspended.
 * Nothing new starts in any case. */
static int
drain_suspended(const struct edit *edit, struct ref node, struct error *err)
{
    const struct platform *platform =
        world_platform(edit->world, world_platform_ref(edit->world));
    struct drained drained;

    if (platform->suspend_work != SUSPEND_DRAIN ||
        (node.kind != KIND_TENANT && node.kind != KIND_UNIT &&
         node.kind != KIND_PROJECT))
        return 0;
    return drain_node(edit->granted, edit->changes, node, DRAIN_WAIT,
                      "suspended", SIZE_MAX, &drained, err);
}

int
rules_update_state(const struct edit *edit, const void *before, void *image,
                   struct error *err)
{
    const struct object *object = before;
    const struct field *field =
        schema_field((enum kind)object->self.kind, "state");
    int old = *(const int *)field_at(field, before);
    int new = *(const int *)field_at(field, image);

    if (check_weight(edit, before, image, err) != 0 ||
        check_state(old, new, err) != 0)
        return -1;
    return old != new && new == STATE_SUSPENDED
               ? drain_suspended(edit, object->self, err)
               : 0;
}

/* --- tenants --- */

static int
settle_tenant(const struct edit *edit, struct tenant *tenant,
              struct error *err)
{
    if (rules_settle_list(edit, &tenant->pools, KIND_POOL, "pools", err) != 0)
        return -1;
    if (rules_settle_list(edit, &tenant->classes, KIND_CLASS, "classes",
                          err) != 0)
        return -1;
    return rules_settle_list(edit, &tenant->priorities, KIND_PRIORITY,
                             "priorities", err);
}

/* A new tenant is guaranteed a little, as far as whole cards are there that
 * nobody was promised; its quota says how much that was, 0 included. */
static void
give_guarantee(const struct edit *edit, const struct tenant *tenant)
{
    const struct platform *platform =
        world_platform(edit->world, world_platform_ref(edit->world));
    struct quota trial = { .object.parent = tenant->object.self,
                           .dimension = DIMENSION_CARDS,
                           .guaranteed = platform->tenant_guarantee_milli,
                           .limit = AMOUNT_NONE,
                           .given = true };
    int64_t room;
    struct error ignored;
    struct quota *quota;

    if (trial.guaranteed == 0)
        return;
    room = quota_given_room(edit->changes);
    if (room < trial.guaranteed)
        trial.guaranteed = room / 1000 * 1000;
    if (quota_check(NULL, edit->changes, &trial, &ignored) != 0)
        trial.guaranteed = 0;
    quota = change_create(edit->changes, KIND_QUOTA, tenant->object.self, "");
    quota->dimension = trial.dimension;
    quota->guaranteed = trial.guaranteed;
    quota->limit = trial.limit;
    quota->given = true;
}

/* Deleted tenants keep their row, so the highest number is never lost. */
int
rules_create_tenant(const struct edit *edit, void *image, struct error *err)
{
    struct tenant *tenant = image;

    world_each(edit->world, KIND_TENANT, ref) {
        int64_t number = world_tenant(edit->world, ref)->number;

        if (number > tenant->number)
            tenant->number = number;
    }
    tenant->number++;
    if (tenant->weight == 0)
        tenant->weight = SHARE_WEIGHT;
    if (settle_tenant(edit, tenant, err) != 0)
        return -1;
    give_guarantee(edit, tenant);
    return 0;
}

int
rules_update_tenant(const struct edit *edit, const void *before, void *image,
                    struct error *err)
{
    if (rules_update_state(edit, before, image, err) != 0)
        return -1;
    return settle_tenant(edit, image, err);
}

int
rules_delete_tenant(const struct edit *edit, struct ref ref,
                    struct error *err)
{
    struct blockers blockers = { 0 };

    rules_block_children(edit, &blockers, KIND_UNIT, ref);
    rules_block_children(edit, &blockers, KIND_PROJECT, ref);
    if (rules_blocked(&blockers, err) != 0)
        return -1;
    rules_drop_node_rights(edit->changes, ref);
    world_each_child(edit->world, KIND_USER, ref, user)
        rules_drop_subject(edit->changes, user);
    rules_drop_children(edit->changes, KIND_INVITATION, ref);
    world_each_child(edit->world, KIND_GROUP, ref, group)
        rules_drop_group(edit->changes, group);
    rules_drop_children(edit->changes, KIND_ROLE, ref);
    rules_drop_children(edit->changes, KIND_IDENTITYPROVIDER, ref);
    return 0;
}

/* --- units and projects --- */

int
rules_create_unit(const struct edit *edit, void *image, struct error *err)
{
    struct unit *unit = image;
    struct ref at = unit->object.parent;
    int depth = 1;

    if (unit->weight == 0)
        unit->weight = SHARE_WEIGHT;
    for (; at.kind == KIND_UNIT; at = world_parent(edit->world, at))
        depth++;
    if (depth <= UNIT_DEPTH_MAX)
        return 0;
    return error_set(err, ERROR_INVALID, "units nest at most %d deep",
                     UNIT_DEPTH_MAX);
}

int
rules_create_project(const struct edit *edit, void *image, struct error *err)
{
    struct project *project = image;

    (void)edit;
    (void)err;
    if (project->weight == 0)
        project->weight = SHARE_WEIGHT;
    return 0;
}

int
rules_delete_unit(const struct edit *edit, struct ref ref, struct error *err)
{
    struct blockers blockers = { 0 };

    rules_block_children(edit, &blockers, KIND_UNIT, ref);
    rules_block_children(edit, &blockers, KIND_PROJECT, ref);
    if (rules_blocked(&blockers, err) != 0)
        return -1;
    rules_drop_node_rights(edit->changes, ref);
    return 0;
}

static bool
is_over(const struct workload *workload)
{
    return workload->state == WORKLOAD_REJECTED ||
           workload->state == WORKLOAD_SUCCEEDED ||
           workload->state == WORKLOAD_FAILED ||
           workload->state == WORKLOAD_CANCELLED;
}

int
rules_delete_project(const struct edit *edit, struct ref ref,
                     struct error *err)
{
    struct blockers blockers = { 0 };

    world_each_child(edit->world, KIND_WORKLOAD, ref, at)
        if (!is_over(world_workload(edit->world, at)))
            rules_block(edit, &blockers, at);
    rules_block_children(edit, &blockers, KIND_VOLUME, ref);
    if (rules_blocked(&blockers, err) != 0)
        return -1;
    rules_drop_node_rights(edit->changes, ref);
    world_each_child(edit->world, KIND_SERVICEACCOUNT, ref, account)
        rules_drop_subject(edit->changes, account);
    return 0;
}

/* --- volumes --- */

/* Names the numbers of a quota to those alone who may see it. */
static int
storage_full(const struct edit *edit, struct ref ref, int64_t need_mib,
             struct error *err)
{
    const struct quota *quota = world_quota(edit->world, ref);
    char id[ID_TEXT_MAX];

    if (!access_visible(edit->granted, ref))
        return error_set(err, ERROR_QUOTA,
                         "%lld MiB do not fit the storage quota above the "
                         "project",
                         (long long)need_mib);
    object_id_text(edit->world, ref, id);
    return error_set(err, ERROR_QUOTA,
                     "%lld MiB do not fit: quota %s has %lld of %lld MiB in "
                     "use",
                     (long long)need_mib, id, (long long)quota->used,
                     (long long)quota->limit);
}

int
rules_create_volume(const struct edit *edit, void *image, struct error *err)
{
    const struct volume *volume = image;
    struct ref at = volume->object.parent;

    for (; !ref_is_none(at); at = world_parent(edit->world, at))
        world_each_child(edit->world, KIND_QUOTA, at, ref) {
            const struct quota *quota = world_quota(edit->world, ref);

            if (quota->dimension == DIMENSION_STORAGE &&
                ref_is_none(quota->pool) && ref_is_none(quota->class) &&
                quota->limit != AMOUNT_NONE &&
                volume->size_mib > quota->limit - quota->used)
                return storage_full(edit, ref, volume->size_mib, err);
        }
    return 0;
}

static bool
uses_volume(const struct world *world, const struct workload *workload,
            struct ref volume)
{
    struct ref used[MANIFEST_VOLUMES_MAX];
    size_t count = manifest_volumes(world, workload->spec, used,
                                    MANIFEST_VOLUMES_MAX);

    for (size_t i = 0; i < count; i++)
        if (ref_equal(used[i], volume))
            return true;
    return false;
}

/* A volume that lies on a node goes when the node has removed it. */
int
rules_delete_volume(const struct edit *edit, struct ref ref,
                    struct error *err)
{
    const struct volume *volume = world_volume(edit->world, ref);
    struct blockers blockers = { 0 };

    world_each_child(edit->world, KIND_WORKLOAD, volume->object.parent, at) {
        const struct workload *workload = world_workload(edit->world, at);

        if (!is_over(workload) && uses_volume(edit->world, workload, ref))
            rules_block(edit, &blockers, at);
    }
    if (rules_blocked(&blockers, err) != 0)
        return -1;
    if (ref_is_none(volume->node))
        rules_drop(edit->changes, ref);
    else
        ((struct volume *)change_update(edit->changes, ref))->state =
            VOLUME_DELETING;
    return 0;
}

/* --- workloads: submission and ends are in submit.h --- */

/* The priority of a workload is bounded by its tenant whether it comes with
 * the submission or later, and what is over is not changed. */
int
rules_update_workload(const struct edit *edit, const void *before,
                      void *image, struct error *err)
{
    const struct workload *old = before;
    struct workload *workload = image;
    const struct tenant *tenant =
        world_tenant(edit->world, old->object.scope);

    if (is_over(old))
        return error_set(err, ERROR_CONFLICT,
                         "the workload is over: nothing of it changes");
    if (tenant != NULL &&
        !gate_allows_priority(edit->world, tenant, workload->priority))
        return error_field(err, "/priority",
                           "the priority is not among those that tenant %s "
                           "may use",
                           tenant->object.name);
    if (ref_equal(old->priority, workload->priority))
        return 0;
    if (governance_needs_approval(edit->world, workload->priority) ||
        old->reason == REASON_APPROVAL)
        return error_field(err, "/priority",
                           "the priority needs an approval: cancel the work "
                           "and submit it with that priority");
    return governance_check(edit->world, edit->actor, workload, edit->now_ms,
                            workload->priority_rule, err);
}

/* Its instances and holds go with it: core/submit.h. */
int
rules_delete_workload(const struct edit *edit, struct ref ref,
                      struct error *err)
{
    (void)edit;
    (void)ref;
    return error_set(err, ERROR_UNSUPPORTED,
                     "work is deleted with what it has had");
}

/* --- quotas --- */

/* Work that waits for this quota is looked at anew. */
static void
forget_quota(const struct edit *edit, struct ref ref)
{
    world_each(edit->world, KIND_WORKLOAD, at) {
        const struct workload *workload = world_workload(edit->world, at);

        if (ref_equal(workload->reason_quota, ref))
            ((struct workload *)change_update(edit->changes, at))
                ->reason_quota = (struct ref){ 0 };
    }
}

/* Whoever sets a quota sets it in the place of what was given. */
static void
replace_given(const struct edit *edit, const struct quota *quota)
{
    world_each_child(edit->world, KIND_QUOTA, quota->object.parent, ref) {
        const struct quota *other = world_quota(edit->world, ref);

        if (!other->given || !scope_equal(other, quota))
            continue;
        forget_quota(edit, ref);
        rules_drop(edit->changes, ref);
    }
}

static int
check_quota(const struct edit *edit, const struct quota *quota,
            struct error *err)
{
    if (quota_check(edit->granted, edit->changes, quota, err) != 0)
        return -1;
    if (quota->dimension == DIMENSION_CARDS && quota->guaranteed > 0 &&
        quota->object.parent.kind == KIND_TENANT)
        (void)quota_yield(edit->changes, quota, NULL);
    return 0;
}

int
rules_create_quota(const struct edit *edit, void *image, struct error *err)
{
    struct quota *quota = image;

    if (!edit_has(edit, "limit"))
        quota->limit = AMOUNT_NONE;
    replace_given(edit, quota);
    return check_quota(edit, quota, err);
}

int
rules_update_quota(const struct edit *edit, const void *before, void *image,
                   struct error *err)
{
    (void)before;
    ((struct quota *)image)->given = false;
    return check_quota(edit, image, err);
}

/* Of the same scope, or of a subject in it? */
static bool
leans_on(const struct quota *quota, const struct quota *above)
{
    struct quota whole = *quota;

    whole.user = above->user;
    return scope_equal(&whole, above);
}

/* Guarantees below lean on the one that is to go. */
static int
check_leaning(const struct edit *edit, struct ref ref, struct error *err)
{
    const struct quota *quota = world_quota(edit->world, ref);

    if (quota->guaranteed == 0 ||
        quota->object.parent.kind == KIND_PLATFORM)
        return 0;
    world_each(edit->world, KIND_QUOTA, at) {
        const struct quota *other = world_quota(edit->world, at);
        char id[ID_TEXT_MAX];

        if (ref_equal(at, ref) || other->guaranteed == 0 ||
            /* NOLINTNEXTLINE(readability-suspicious-call-argument): other is below */
            !leans_on(other, quota) ||
            !world_is_below(edit->world, other->object.parent,
                            quota->object.parent))
            continue;
        object_id_text(edit->world, at, id);
        return error_set(err, ERROR_QUOTA,
                         "quota %s below guarantees %lld out of the %lld of "
                         "this one",
                         id, (long long)other->guaranteed,
                         (long long)quota->guaranteed);
    }
    return 0;
}

int
rules_delete_quota(const struct edit *edit, struct ref ref, struct error *err)
{
    if (check_leaning(edit, ref, err) != 0)
        return -1;
    forget_quota(edit, ref);
    return 0;
}
