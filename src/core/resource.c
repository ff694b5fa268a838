/* SPDX-License-Identifier: Apache-2.0 */
#include "core/resource.h"

#include <assert.h>
#include <string.h>

#include "core/lifecycle.h"
#include "core/proof.h"
#include "core/rules.h"

#define BELOW(kind) (UINT64_C(1) << KIND_##kind)
#define BELOW_NODES                                                           \
    (BELOW(PLATFORM) | BELOW(TENANT) | BELOW(UNIT) | BELOW(PROJECT))

_Static_assert(KIND_COUNT <= 64, "kinds fit in the bits of parents");

static const struct rule rules[KIND_COUNT] = {
    [KIND_PLATFORM] = { .update = rules_update_platform },
    [KIND_POOL] = { .parents = BELOW(PLATFORM),
                    .named = true,
                    .create = rules_create_pool,
                    .update = rules_update_pool,
                    .remove = rules_delete_pool },
    [KIND_NODE] = { .before = rules_cut_node,
                    .update = rules_update_node,
                    .remove = rules_delete_node },
    [KIND_CARD] = { .before = rules_cut_card, .update = rules_update_card },
    [KIND_JOINTOKEN] = { .parents = BELOW(POOL),
                         .create = rules_create_jointoken },
    [KIND_CLASS] = { .parents = BELOW(PLATFORM),
                     .named = true,
                     .create = rules_create_class,
                     .update = rules_update_class,
                     .remove = rules_delete_class },
    [KIND_PRIORITY] = { .parents = BELOW(PLATFORM),
                        .named = true,
                        .create = rules_create_priority,
                        .update = rules_update_priority,
                        .remove = rules_delete_priority },
    [KIND_PRICE] = { .parents = BELOW(PLATFORM),
                     .create = rules_create_price,
                     .update = rules_update_price,
                     .remove = rules_delete_price },
    [KIND_TENANT] = { .parents = BELOW(PLATFORM),
                      .named = true,
                      .create = rules_create_tenant,
                      .update = rules_update_tenant,
                      .remove = rules_delete_tenant,
                      .keeps_row = true },
    [KIND_UNIT] = { .parents = BELOW(TENANT) | BELOW(UNIT),
                    .named = true,
                    .create = rules_create_unit,
                    .update = rules_update_state,
                    .remove = rules_delete_unit,
                    .keeps_row = true },
    [KIND_PROJECT] = { .parents = BELOW(TENANT) | BELOW(UNIT),
                       .named = true,
                       .create = rules_create_project,
                       .update = rules_update_state,
                       .remove = rules_delete_project,
                       .keeps_row = true },
    [KIND_USER] = { .parents = BELOW(PLATFORM) | BELOW(TENANT),
                    .named = true,
                    .create = rules_create_user,
                    .update = rules_update_subject,
                    .remove = rules_delete_subject,
                    .keeps_row = true },
    [KIND_SERVICEACCOUNT] = { .parents = BELOW(PROJECT),
                              .named = true,
                              .create = rules_create_serviceaccount,
                              .update = rules_update_subject,
                              .remove = rules_delete_subject,
                              .keeps_row = true },
    [KIND_APIKEY] = { .parents = BELOW(USER) | BELOW(SERVICEACCOUNT),
                      .create = rules_create_apikey },
    [KIND_IDENTITYPROVIDER] = { .parents = BELOW(PLATFORM) | BELOW(TENANT),
                                .named = true,
                                .create = rules_create_identityprovider,
                                .update = rules_update_identityprovider,
                                .remove = rules_delete_identityprovider },
    [KIND_IDENTITY] = { .parents = BELOW(USER),
                        .create = rules_create_identity,
                        .remove = rules_delete_identity },
    [KIND_ROLE] = { .parents = BELOW(PLATFORM) | BELOW(TENANT),
                    .named = true,
                    .create = rules_create_role,
                    .update = rules_update_role,
                    .remove = rules_delete_role },
    [KIND_GRANT] = { .parents = BELOW_NODES, .create = rules_create_grant },
    [KIND_GROUP] = { .parents = BELOW(PLATFORM) | BELOW(TENANT),
                     .named = true,
                     .remove = rules_delete_group },
    [KIND_MEMBER] = { .parents = BELOW(GROUP),
                      .create = rules_create_member },
    [KIND_INVITATION] = { .parents = BELOW(PLATFORM) | BELOW(TENANT),
                          .named = true,
                          .create = rules_create_invitation },
    [KIND_CEILING] = { .parents = BELOW(TENANT) | BELOW(PROJECT),
                       .create = rules_create_ceiling },
    [KIND_DENY] = { .parents = BELOW_NODES, .create = rules_create_deny },
    [KIND_QUOTA] = { .parents = BELOW_NODES,
                     .create = rules_create_quota,
                     .update = rules_update_quota,
                     .remove = rules_delete_quota },
    [KIND_REQUEST] = { .parents = BELOW(TENANT) | BELOW(UNIT) |
                                  BELOW(PROJECT),
                       .create = rules_create_request },
    [KIND_RESERVATION] = { .parents = BELOW(TENANT) | BELOW(UNIT) |
                                      BELOW(PROJECT),
                           .named = true,
                           .create = rules_create_reservation,
                           .update = rules_update_reservation,
                           .remove = rules_delete_reservation },
    [KIND_MAINTENANCE] = { .parents = BELOW(POOL) | BELOW(NODE),
                           .named = true,
                           .create = rules_create_maintenance,
                           .update = rules_update_maintenance,
                           .remove = rules_delete_maintenance },
    [KIND_REQUIREMENT] = { .parents = BELOW(PLATFORM),
                           .named = true,
                           .create = rules_create_requirement,
                           .update = rules_update_requirement },
    [KIND_COMMITMENT] = { .parents = BELOW(TENANT),
                          .create = rules_create_commitment,
                          .update = rules_update_commitment,
                          .remove = rules_delete_commitment },
    [KIND_GUARD] = { .parents = BELOW(PLATFORM),
                     .named = true,
                     .create = rules_create_guard,
                     .update = rules_update_guard },
    [KIND_BREAKGLASS] = { .parents = BELOW(USER),
                          .create = rules_create_breakglass },
    [KIND_WORKORDER] = { .parents = BELOW(PLATFORM),
                         .named = true,
                         .create = rules_create_workorder },
    [KIND_OPDOCUMENT] = { .parents = BELOW(WORKORDER),
                          .named = true,
                          .create = rules_create_opdocument },
    [KIND_WORKLOAD] = { .update = rules_update_workload,
                        .remove = rules_delete_workload },
    [KIND_VOLUME] = { .parents = BELOW(PROJECT),
                      .named = true,
                      .create = rules_create_volume,
                      .remove = rules_delete_volume },
};

const struct rule *
rules_of(enum kind kind)
{
    assert(kind > KIND_NONE && kind < KIND_COUNT);
    return &rules[kind];
}

/* Workloads are made by core/submit.h. */
bool
resource_is_named(enum kind kind)
{
    return rules_of(kind)->named;
}

bool
resource_lies_below(enum kind kind, enum kind parent)
{
    if (kind == KIND_WORKLOAD)
        return parent == KIND_PROJECT;
    return (rules_of(kind)->parents >> parent & 1) != 0;
}

static struct edit
edit_begin(const struct granted *granted, struct changes *changes,
           const json_t *body)
{
    assert(changes->world == granted_world(granted));
    return (struct edit){ granted,
                          changes,
                          granted_world(granted),
                          granted_actor(granted),
                          granted_now_ms(granted),
                          body };
}

/* A right is per object: the decision must have been about this one. */
static void
assert_granted(const struct granted *granted, enum kind kind, enum verb_op op,
               struct ref object)
{
    assert((int)granted_verb(granted) == verb_of(kind, op));
    assert(ref_equal(granted_object(granted), object));
}

static int
unsupported(enum kind kind, const char *what, struct error *err)
{
    return error_set(err, ERROR_UNSUPPORTED, "a %s is not %s by clients",
                     schema_get(kind)->name, what);
}

/* --- references in a body --- */

/* May the object be named in this field?  A subject within the tenant can be
 * given rights by people who may not list the tenant's users. */
static bool
may_name(const struct edit *edit, const struct field *field,
         const struct object *image, struct ref target)
{
    const struct object *object = world_object(edit->world, target);

    if (object == NULL)
        return false;
    if (access_visible(edit->granted, target))
        return true;
    return (image->self.kind == KIND_GRANT ||
            image->self.kind == KIND_MEMBER) &&
           strcmp(field->name, "subject") == 0 &&
           access_is_alive(edit->world, target) &&
           image->scope.kind == KIND_TENANT &&
           ref_equal(object->scope, image->scope);
}

/* What the actor does not see was never there.  This comes before all other
 * checks of the body: else the next fault in it would tell the difference. */
static int
check_targets(const struct edit *edit, const struct object *image,
              unsigned wanted, struct error *err)
{
    const struct schema *schema = schema_get((enum kind)image->self.kind);

    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];
        const char *text =
            json_string_value(json_object_get(edit->body, field->name));
        struct ref target;

        if (field->type != FIELD_REF || text == NULL ||
            (field->flags & wanted) == 0)
            continue;
        target = object_find_target(edit->changes, field, image, text);
        if (!may_name(edit, field, image, target))
            return object_no_target(field, text, err);
    }
    return 0;
}

/* --- names --- */

static bool
is_deleted(const struct world *world, struct ref ref)
{
    const struct field *field = schema_field((enum kind)ref.kind, "state");
    const void *object = world_get(world, ref);

    return field != NULL && field->type == FIELD_ENUM && object != NULL &&
           strcmp(field->names[*(const int *)field_at(field, object)],
                  "deleted") == 0;
}

static bool
is_taken(const struct changes *changes, const struct object *image)
{
    struct ref ref =
        world_find_name(changes->world, (enum kind)image->self.kind,
                        image->parent, image->name);

    if (!ref_is_none(ref) && !is_deleted(changes->world, ref))
        return true;
    for (size_t i = 0; i < changes->count; i++) {
        const struct object *other = changes->list[i].image;

        if (other != NULL && other != image && changes->list[i].created &&
            other->self.kind == image->self.kind &&
            ref_equal(other->parent, image->parent) &&
            strcmp(other->name, image->name) == 0)
            return true;
    }
    return false;
}

static int
check_name(const struct edit *edit, const struct object *image,
           struct error *err)
{
    enum kind kind = (enum kind)image->self.kind;

    if (image->name[0] == '\0' && rules_of(kind)->named)
        return error_field(err, "/name", "field \"name\" is required");
    if (image->name[0] == '\0' || !is_taken(edit->changes, image))
        return 0;
    error_set(err, ERROR_CONFLICT, "there is a %s \"%s\" here already",
              schema_get(kind)->name, image->name);
    return -1;
}

/* --- create, update, delete --- */

int
resource_create(const struct granted *granted, struct changes *changes,
                enum kind kind, struct ref parent, const json_t *body,
                struct ref *out, struct error *err)
{
    const struct rule *rule = rules_of(kind);
    struct edit edit = edit_begin(granted, changes, body);
    struct object *image;

    if (rule->parents == 0)
        return unsupported(kind, "created", err);
    assert_granted(granted, kind, VERB_OP_CREATE, parent);
    if ((rule->parents >> parent.kind & 1) == 0)
        return error_set(err, ERROR_INVALID, "a %s cannot be below a %s",
                         schema_get(kind)->name,
                         schema_get((enum kind)parent.kind)->name);
    image = change_create(changes, kind, parent, "");
    if (check_targets(&edit, image, FIELD_CREATE, err) != 0 ||
        object_read_json(changes, kind, body, true, image, err) != 0 ||
        check_name(&edit, image, err) != 0)
        return -1;
    if (rule->create != NULL && rule->create(&edit, image, err) != 0)
        return -1;
    if (kind == KIND_QUOTA)
        change_count(changes, (struct quota *)(void *)image);
    *out = image->self;
    return 0;
}

int
resource_update(const struct granted *granted, struct changes *changes,
                struct ref ref, const json_t *patch, struct error *err)
{
    enum kind kind = (enum kind)ref.kind;
    const struct rule *rule = rules_of(kind);
    struct edit edit = edit_begin(granted, changes, patch);
    void *image;

    assert_granted(granted, kind, VERB_OP_UPDATE, ref);
    if (rule->before != NULL)
        rule->before(changes, ref);
    image = change_update(changes, ref);
    if (check_targets(&edit, image, FIELD_UPDATE, err) != 0 ||
        object_read_json(changes, kind, patch, false, image, err) != 0)
        return -1;
    if (rule->update == NULL)
        return 0;
    return rule->update(&edit, world_get(edit.world, ref), image, err);
}

int
resource_delete(const struct granted *granted, struct changes *changes,
                struct ref ref, struct error *err)
{
    enum kind kind = (enum kind)ref.kind;
    const struct rule *rule = rules_of(kind);
    struct edit edit = edit_begin(granted, changes, NULL);

    assert_granted(granted, kind, VERB_OP_DELETE, ref);
    if (rule->before != NULL)
        rule->before(changes, ref);
    if (rule->remove != NULL && rule->remove(&edit, ref, err) != 0)
        return -1;
    if (rule->keeps_row) {
        rules_mark_deleted(changes, ref);
    } else if (kind != KIND_VOLUME) { /* its node removes it first */
        rules_drop_children(changes, KIND_ALARM, ref);
        rules_drop(changes, ref);
    }
    return 0;
}

/* --- what is in the way, what goes along --- */

void
rules_block(const struct edit *edit, struct blockers *blockers,
            struct ref ref)
{
    const struct instance *instance = world_instance(edit->world, ref);
    const struct object *object;
    size_t used = strlen(blockers->names);
    char id[ID_TEXT_MAX];

    /* How its gang ends is not known without it. */
    if (instance != NULL && instance->state == INSTANCE_RELEASED &&
        !lifecycle_is_current(
            world_workload(edit->world, instance->object.parent), instance))
        return;
    if (instance != NULL)
        ref = instance->object.parent;
    if (blockers->count > 0 && ref_equal(ref, blockers->last))
        return;
    object = world_object(edit->world, ref);
    blockers->last = ref;
    blockers->count++;
    if (!access_visible(edit->granted, ref) ||
        used + NAME_MAX_SIZE + 40 > sizeof(blockers->names))
        return;
    object_id_text(edit->world, ref, id);
    (void)snprintf(blockers->names + used, sizeof(blockers->names) - used,
                   "%s%s %s", used > 0 ? ", " : ": ",
                   schema_get((enum kind)ref.kind)->name,
                   object->name[0] != '\0' ? object->name : id);
}

void
rules_block_children(const struct edit *edit, struct blockers *blockers,
                     enum kind kind, struct ref parent)
{
    world_each_child(edit->world, kind, parent, ref)
        if (!is_deleted(edit->world, ref))
            rules_block(edit, blockers, ref);
}

int
rules_blocked(const struct blockers *blockers, struct error *err)
{
    if (blockers->count == 0)
        return 0;
    return error_set(err, ERROR_CONFLICT, "%zu object%s in the way%s",
                     blockers->count,
                     blockers->count == 1 ? " is" : "s are",
                     blockers->names);
}

void
rules_drop(struct changes *changes, struct ref ref)
{
    if (change_get(changes, ref) != NULL)
        change_delete(changes, ref);
}

void
rules_drop_children(struct changes *changes, enum kind kind,
                    struct ref parent)
{
    world_each_child(changes->world, kind, parent, ref)
        rules_drop(changes, ref);
}

void
rules_mark_deleted(struct changes *changes, struct ref ref)
{
    const struct field *field = schema_field((enum kind)ref.kind, "state");
    int deleted = STATE_DELETED;

    assert(field != NULL);
    memcpy(field_of(field, change_update(changes, ref)), &deleted,
           sizeof(deleted));
}

void
rules_drop_subject(struct changes *changes, struct ref subject)
{
    rules_drop_children(changes, KIND_APIKEY, subject);
    rules_drop_children(changes, KIND_SESSION, subject);
    rules_drop_children(changes, KIND_IDENTITY, subject);
    rules_drop_children(changes, KIND_RECEIPT, subject);
    rules_drop_children(changes, KIND_APPROVAL, subject);
    world_each_index(changes->world, KIND_GRANT, 0, subject, ref)
        rules_drop(changes, ref);
    world_each_index(changes->world, KIND_MEMBER, 0, subject, ref)
        rules_drop(changes, ref);
    rules_drop_invitations(changes, subject);
    rules_mark_deleted(changes, subject);
}

void
rules_drop_node_rights(struct changes *changes, struct ref node)
{
    static const enum kind kinds[] = { KIND_GRANT, KIND_DENY, KIND_CEILING,
                                       KIND_QUOTA, KIND_ALARM,
                                       KIND_REQUEST };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        rules_drop_children(changes, kinds[i], node);
    world_each_child(changes->world, KIND_RESERVATION, node, ref)
        rules_drop_reservation(changes, ref);
}

/* --- secrets --- */

static void *
fresh_image(struct changes *changes, struct ref ref)
{
    for (size_t i = 0; i < changes->count; i++)
        if (changes->list[i].created && ref_equal(changes->list[i].ref, ref))
            return changes->list[i].image;
    return NULL;
}

void
resource_set_digest(struct changes *changes, struct ref ref,
                    const uint8_t digest[32])
{
    void *image = fresh_image(changes, ref);

    assert(image != NULL &&
           (ref.kind == KIND_APIKEY || ref.kind == KIND_JOINTOKEN ||
            ref.kind == KIND_INVITATION));
    if (ref.kind == KIND_APIKEY)
        memcpy(((struct apikey *)image)->digest, digest, 32);
    else if (ref.kind == KIND_INVITATION)
        memcpy(((struct invitation *)image)->digest, digest, 32);
    else
        memcpy(((struct jointoken *)image)->digest, digest, 32);
}

static void
forget_failures(struct user *user)
{
    user->failures = 0;
    user->locked_ms = 0;
}

static void
put_password(const struct changes *changes, struct user *user,
             const char *password)
{
    assert(strlen(password) < sizeof(user->password));
    memcpy(user->password, password, strlen(password) + 1);
    user->password_ms = changes->context.now_ms;
    user->temporary = false;
    forget_failures(user);
}

void
resource_first_password(struct changes *changes, struct ref user,
                        const char *password)
{
    assert(user.kind == KIND_USER);
    put_password(changes, change_update(changes, user), password);
}

int
resource_set_password(const struct granted *granted, struct changes *changes,
                      const char *password, struct error *err)
{
    const struct actor *actor = granted_actor(granted);
    struct ref ref = granted_object(granted);
    struct user *user;

    assert(granted_verb(granted) == VERB_USER_PASSWORD);
    if (access_control_check(granted_world(granted), actor, ref,
                             granted_now_ms(granted), err) != 0)
        return -1;
    user = change_update(changes, ref);
    put_password(changes, user, password);
    user->temporary = !ref_equal(ref, actor->subject);
    if (user->temporary)
        user->setter = actor->subject;
    rules_drop_invitations(changes, ref);
    world_each_child(changes->world, KIND_SESSION, ref, at)
        if (!ref_equal(at, actor->credential))
            rules_drop(changes, at);
    return 0;
}

void
resource_keep_password(struct changes *changes, struct ref user)
{
    ((struct user *)change_update(changes, user))->temporary = false;
}

/* --- logins --- */

int
resource_log_in(struct changes *changes, struct ref user,
                const uint8_t digest[32], struct ref *session_out,
                struct error *err)
{
    int64_t now_ms = changes->context.now_ms;
    const struct user *person = world_user(changes->world, user);
    struct session *session;

    if (!access_may_log_in(changes->world, user, now_ms))
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "the credential is not valid");
    if (person->failures != 0 || person->locked_ms != 0)
        forget_failures(change_unsaid(changes, user));
    session = change_create(changes, KIND_SESSION, user, "");
    memcpy(session->digest, digest, sizeof(session->digest));
    session->expires_ms = now_ms + proof_session_life(changes->world);
    session->proved_ms = now_ms;
    *session_out = session->object.self;
    return 0;
}

void
resource_prove(struct changes *changes, struct ref session)
{
    struct session *image = change_update(changes, session);

    image->proved_ms = changes->context.now_ms;
}

#define FAILURES_FREE 5
#define LOCK_FIRST_MS INT64_C(1000)
#define LOCK_LONGEST_MS (15 * 60 * INT64_C(1000))

void
resource_log_in_failed(struct changes *changes, struct ref user)
{
    struct user *image = change_unsaid(changes, user);
    int64_t over = image->failures + 1 - FAILURES_FREE;
    int64_t lock_ms = LOCK_LONGEST_MS;

    if (image->failures < AMOUNT_MAX)
        image->failures++;
    if (over < 0)
        return;
    if (over < 10)
        lock_ms = LOCK_FIRST_MS << over;
    if (lock_ms > LOCK_LONGEST_MS)
        lock_ms = LOCK_LONGEST_MS;
    image->locked_ms = changes->context.now_ms + lock_ms;
}
