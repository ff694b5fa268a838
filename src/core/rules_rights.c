/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules.h"

#include <string.h>

#include "core/network.h"
#include "core/reach.h"
#include "core/role.h"

/* Subjects, credentials and rights. */

#define DAY_MS (24 * 3600 * INT64_C(1000))
#define KEY_DEFAULT_MS (90 * DAY_MS)
#define KEY_LONGEST_MS (365 * DAY_MS)

/* --- subjects --- */

/* Who suspends or revives a subject controls it. */
int
rules_update_subject(const struct edit *edit, const void *before, void *image,
                     struct error *err)
{
    const struct object *object = before;
    const struct field *state =
        schema_field((enum kind)object->self.kind, "state");

    if (rules_update_state(edit, before, image, err) != 0)
        return -1;
    if (*(const int *)field_at(state, before) ==
        *(const int *)field_at(state, image))
        return 0;
    if (ref_equal(object->self, edit->actor->subject))
        return error_set(err, ERROR_CONFLICT, "nobody suspends themselves");
    return access_control_check(edit->world, edit->actor, object->self,
                                edit->now_ms, err);
}

int
rules_delete_subject(const struct edit *edit, struct ref ref,
                     struct error *err)
{
    if (ref_equal(ref, edit->actor->subject))
        return error_set(err, ERROR_CONFLICT, "nobody deletes themselves");
    if (access_control_check(edit->world, edit->actor, ref, edit->now_ms,
                             err) != 0)
        return -1;
    rules_drop_subject(edit->changes, ref);
    return 0;
}

int
rules_create_user(const struct edit *edit, void *image, struct error *err)
{
    (void)err;
    ((struct user *)image)->creator = edit->actor->subject;
    return 0;
}

int
rules_create_serviceaccount(const struct edit *edit, void *image,
                            struct error *err)
{
    (void)err;
    ((struct serviceaccount *)image)->creator = edit->actor->subject;
    return 0;
}

/* --- keys --- */

/* The shortest of the platform's bound and every ceiling above a node. */
static int64_t
key_life(const struct edit *edit, struct ref node, int64_t life_ms)
{
    for (; !ref_is_none(node); node = world_parent(edit->world, node))
        world_each_child(edit->world, KIND_CEILING, node, ref) {
            int64_t bound = world_ceiling(edit->world, ref)->key_life_ms;

            if (bound != 0 && bound < life_ms)
                life_ms = bound;
        }
    return life_ms;
}

static int
settle_expiry(const struct edit *edit, struct apikey *key, struct error *err)
{
    int64_t life_ms = key_life(edit, key->object.parent, KEY_LONGEST_MS);

    life_ms = key_life(edit, key->subtree, life_ms);
    if (key->expires_ms == 0)
        key->expires_ms =
            edit->now_ms + (life_ms < KEY_DEFAULT_MS ? life_ms
                                                     : KEY_DEFAULT_MS);
    if (key->expires_ms <= edit->now_ms)
        return error_field(err, "/expires_ms", "a key expires later than now");
    if (key->expires_ms - edit->now_ms > life_ms) {
        error_set(err, ERROR_QUOTA,
                  "a key lives at most %lld s here, not %lld s",
                  (long long)(life_ms / 1000),
                  (long long)((key->expires_ms - edit->now_ms) / 1000));
        return -1;
    }
    return 0;
}

static int
check_subtree(const struct edit *edit, const struct apikey *key,
              struct error *err)
{
    enum kind kind = (enum kind)key->subtree.kind;

    if (ref_is_none(key->subtree))
        return 0;
    if (kind != KIND_PLATFORM && kind != KIND_TENANT && kind != KIND_UNIT &&
        kind != KIND_PROJECT)
        return error_field(err, "/subtree",
                           "a subtree is a tenant, a unit or a project");
    if (key->object.scope.kind == KIND_TENANT &&
        !world_is_below(edit->world, key->subtree, key->object.scope))
        return error_field(err, "/subtree",
                           "the subtree lies outside the key's tenant");
    return 0;
}

/* A key that makes a key makes a narrower one. */
static int
check_narrower(const struct edit *edit, const struct apikey *key,
               struct error *err)
{
    const struct apikey *own =
        world_apikey(edit->world, edit->actor->credential);

    if (own == NULL)
        return 0;
    if (verbs_within(key->verbs, own->verbs) &&
        key->expires_ms <= own->expires_ms &&
        network_within(key->sources, own->sources) &&
        (ref_is_none(own->subtree) ||
         world_is_below(edit->world, key->subtree, own->subtree)))
        return 0;
    return error_set(err, ERROR_DENIED,
                     "a key made with a key cannot be wider than that");
}

/* An inference key does one thing. */
static int
settle_verbs(const struct edit *edit, struct apikey *key, struct error *err)
{
    struct verbs invoke = { { 0 } };

    verbs_add(&invoke, VERB_INFERENCE_INVOKE);
    if (!edit_has(edit, "verbs"))
        key->verbs = key->sort == APIKEY_INFERENCE ? invoke : verbs_all();
    if (key->sort != APIKEY_INFERENCE || verbs_within(key->verbs, invoke))
        return 0;
    return error_field(err, "/verbs",
                       "an inference key has inference.invoke alone, not %s",
                       verb_name(verbs_first(verbs_minus(key->verbs,
                                                         invoke))));
}

int
rules_check_minter(const struct edit *edit, struct apikey *key, bool said,
                   struct error *err)
{
    struct ref subject = key->object.parent;
    struct ref node = ref_is_none(key->subtree)
                          ? world_parent(edit->world, subject)
                          : key->subtree;
    struct offer offer = { .verbs = key->verbs,
                           .from_ms = edit->now_ms,
                           .to_ms = key->expires_ms,
                           .sources = key->sources };
    struct verbs may, over;

    if (ref_equal(subject, edit->actor->subject))
        return 0;
    if (access_control_check(edit->world, edit->actor, subject, edit->now_ms,
                             err) != 0)
        return -1;
    may = access_may_mint(edit->world, edit->actor, node, &offer,
                          edit->now_ms);
    over = verbs_minus(key->verbs, may);
    if (!said)
        key->verbs = verbs_and(key->verbs, may);
    if (!said || verbs_empty(over))
        return 0;
    error_set(err, ERROR_DENIED,
              "%s is not yours to use there for that long and from there, "
              "and you would hold the key",
              verb_name(verbs_first(over)));
    return error_help(err, "let it be made by somebody who may use it, with "
                           "fewer verbs, or below another subtree");
}

int
rules_create_apikey(const struct edit *edit, void *image, struct error *err)
{
    struct apikey *key = image;

    key->minter = edit->actor->subject;
    if (settle_verbs(edit, key, err) != 0 ||
        network_check("/sources", key->sources, err) != 0 ||
        check_subtree(edit, key, err) != 0 ||
        settle_expiry(edit, key, err) != 0 ||
        rules_check_minter(edit, key,
                           edit_has(edit, "verbs") ||
                               key->sort == APIKEY_INFERENCE,
                           err) != 0)
        return -1;
    return check_narrower(edit, key, err);
}

/* --- roles --- */

static int
check_level(struct verbs verbs, enum kind node, const char *pointer,
            struct error *err)
{
    struct verbs over = verbs_minus(verbs, verbs_for(node));

    if (verbs_empty(over))
        return 0;
    return error_field(err, pointer, "%s does not count on a %s",
                       verb_name(verbs_first(over)), schema_get(node)->name);
}

/* A role is handed out to everyone who has it, for as long as they have it. */
static int
check_role(const struct edit *edit, const struct role *role,
           struct verbs known, struct error *err)
{
    enum kind node = (enum kind)role->object.parent.kind;
    struct offer offer = {
        .verbs = verbs_minus(verbs_or(role->verbs, role->give), known),
        .sources = "",
    };

    if (check_level(role->verbs, node, "/verbs", err) != 0 ||
        check_level(role->give, node, "/give", err) != 0)
        return -1;
    return access_delegate_check(edit->world, edit->actor,
                                 role->object.parent, &offer, edit->now_ms,
                                 err);
}

int
rules_create_role(const struct edit *edit, void *image, struct error *err)
{
    const struct role *role = image;
    struct verbs none = { { 0 } };

    for (unsigned i = 0; i < ROLE_BUILTIN_COUNT; i++)
        if (strcmp(role->object.name, role_name((enum role_builtin)i)) == 0)
            return error_set(err, ERROR_CONFLICT,
                             "\"%s\" is the name of a shipped role",
                             role->object.name);
    return check_role(edit, role, none, err);
}

/* Whoever holds a role does not put into it what they do not have. */
static int
check_own_role(const struct edit *edit, const struct role *role,
               struct verbs added, struct error *err)
{
    reach_each(edit->world, edit->actor->subject, edit->now_ms, reach) {
        const struct grant *grant = world_grant(edit->world, reach.grant);
        struct verbs over;

        if (!ref_equal(grant->role, role->object.self))
            continue;
        over = verbs_minus(added,
                           access_use(edit->world, edit->actor,
                                      grant->object.parent, edit->now_ms));
        if (!verbs_empty(over))
            return error_set(err, ERROR_DENIED,
                             "nobody gives themselves %s: somebody else has "
                             "to",
                             verb_name(verbs_first(over)));
    }
    return 0;
}

/* Verbs to use that become verbs to give are new; so each is compared with
 * its own. */
int
rules_update_role(const struct edit *edit, const void *before, void *image,
                  struct error *err)
{
    const struct role *old = before;
    const struct role *role = image;
    struct verbs added = verbs_or(verbs_minus(role->verbs, old->verbs),
                                  verbs_minus(role->give, old->give));
    struct verbs all = verbs_or(role->verbs, role->give);

    if (old->builtin)
        return error_set(err, ERROR_CONFLICT,
                         "a shipped role cannot be changed");
    if (check_own_role(edit, role, verbs_minus(role->verbs, old->verbs),
                       err) != 0)
        return -1;
    return check_role(edit, role, verbs_minus(all, added), err);
}

int
rules_delete_role(const struct edit *edit, struct ref ref, struct error *err)
{
    struct blockers blockers = { 0 };

    if (world_role(edit->world, ref)->builtin)
        return error_set(err, ERROR_CONFLICT,
                         "a shipped role cannot be deleted");
    world_each(edit->world, KIND_GRANT, at)
        if (ref_equal(world_grant(edit->world, at)->role, ref))
            rules_block(edit, &blockers, at);
    return rules_blocked(&blockers, err);
}

/* --- grants --- */

static int
check_subject(const struct edit *edit, const struct grant *grant,
              struct error *err)
{
    const struct object *subject = world_object(edit->world, grant->subject);
    enum kind kind = (enum kind)grant->subject.kind;

    if (kind != KIND_USER && kind != KIND_SERVICEACCOUNT &&
        kind != KIND_GROUP)
        return error_field(err, "/subject",
                           "a subject is a user, a service account or a "
                           "group");
    if (!access_is_alive(edit->world, grant->subject))
        return error_field(err, "/subject", "the subject is suspended");
    if (subject->scope.kind == KIND_TENANT &&
        !ref_equal(subject->scope, grant->object.scope))
        return error_field(err, "/subject",
                           "a tenant's subject has rights in its tenant "
                           "alone");
    return 0;
}

int64_t
rules_grant_life(const struct world *world, struct ref node)
{
    int64_t life_ms = 0;

    for (; !ref_is_none(node); node = world_parent(world, node))
        world_each_child(world, KIND_CEILING, node, ref) {
            int64_t bound = world_ceiling(world, ref)->grant_life_ms;

            if (bound != 0 && (life_ms == 0 || bound < life_ms))
                life_ms = bound;
        }
    return life_ms;
}

static int
check_window(const struct edit *edit, const struct grant *grant,
             struct error *err)
{
    int64_t from_ms =
        grant->from_ms > edit->now_ms ? grant->from_ms : edit->now_ms;
    int64_t life_ms = rules_grant_life(edit->world, grant->object.parent);

    if (grant->to_ms != 0 && grant->to_ms <= from_ms)
        return error_field(err, "/to_ms",
                           "a grant ends after it begins and after now");
    if (life_ms != 0 &&
        (grant->to_ms == 0 || grant->to_ms - from_ms > life_ms)) {
        error_set(err, ERROR_QUOTA, "such a grant lives at most %lld s here",
                  (long long)(life_ms / 1000));
        return -1;
    }
    return 0;
}

/* Masks that were not given are as wide as the node allows; those that were
 * may not name what does not count there. */
static int
settle_masks(const struct edit *edit, struct grant *grant, struct error *err)
{
    const struct role *role = world_role(edit->world, grant->role);
    enum kind node = (enum kind)grant->object.parent.kind;

    if (!edit_has(edit, "use"))
        grant->use = verbs_for(node);
    if (!edit_has(edit, "give"))
        grant->give = verbs_for(node);
    if (check_level(verbs_and(role->verbs, grant->use), node, "/use",
                    err) != 0)
        return -1;
    return check_level(verbs_and(role->give, grant->give), node, "/give",
                       err);
}

/* Nobody gives themselves what they do not have: to hand out a verb is not to
 * hold it. */
static int
check_own(const struct edit *edit, const struct grant *grant,
          struct verbs use, struct error *err)
{
    struct verbs over;

    if (!reach_is_in(edit->world, edit->actor->subject, grant->subject))
        return 0;
    over = verbs_minus(use, access_use(edit->world, edit->actor,
                                       grant->object.parent, edit->now_ms));
    if (verbs_empty(over))
        return 0;
    return error_set(err, ERROR_DENIED,
                     "nobody gives themselves %s: somebody else has to",
                     verb_name(verbs_first(over)));
}

static int
check_role_place(const struct edit *edit, const struct grant *grant,
                 struct error *err)
{
    struct ref home = world_parent(edit->world, grant->role);

    if (world_is_below(edit->world, grant->object.parent, home))
        return 0;
    return error_field(err, "/role", "the role is not one of this tenant");
}

/* A vendor has no standing rights: its work order makes the grant. */
static int
check_vendor(const struct edit *edit, const struct grant *grant,
             struct error *err)
{
    if (!ref_equal(grant->role, role_find(edit->world, ROLE_VENDOR)))
        return 0;
    (void)error_field(err, "/role",
                      "vendors have no rights but those of a work order");
    return error_help(err, "make one: bulkhead create workorder");
}

/* Devices lie below the platform, so a grant for some of them does too. */
static int
settle_devices(const struct edit *edit, struct grant *grant,
               struct error *err)
{
    if (!edit_has(edit, "devices"))
        return 0;
    if (grant->object.parent.kind != KIND_PLATFORM)
        return error_field(err, "/devices",
                           "devices lie below the platform: so does a grant "
                           "for some of them");
    return rules_settle_devices(edit, &grant->devices, err);
}

int
rules_create_grant(const struct edit *edit, void *image, struct error *err)
{
    struct grant *grant = image;
    const struct role *role = world_role(edit->world, grant->role);
    struct offer offer = { .from_ms = grant->from_ms,
                           .to_ms = grant->to_ms,
                           .sources = grant->sources,
                           .proof_ms = grant->proof_ms,
                           .approval = grant->approval,
                           .factor = grant->factor };
    struct verbs use;

    grant->granter = edit->actor->subject;
    if (check_subject(edit, grant, err) != 0 ||
        check_role_place(edit, grant, err) != 0 ||
        check_vendor(edit, grant, err) != 0 ||
        settle_devices(edit, grant, err) != 0 ||
        network_check("/sources", grant->sources, err) != 0 ||
        check_window(edit, grant, err) != 0 ||
        settle_masks(edit, grant, err) != 0)
        return -1;
    use = verbs_and(role->verbs, grant->use);
    offer.verbs = verbs_or(use, verbs_and(role->give, grant->give));
    if (access_delegate_check(edit->world, edit->actor, grant->object.parent,
                              &offer, edit->now_ms, err) != 0)
        return -1;
    return check_own(edit, grant, use, err);
}

/* --- ceilings and denies --- */

int
rules_create_ceiling(const struct edit *edit, void *image, struct error *err)
{
    const struct ceiling *ceiling = image;

    if (ref_is_none(world_first_child(edit->world, KIND_CEILING,
                                      ceiling->object.parent)))
        return 0;
    return error_set(err, ERROR_CONFLICT,
                     "there is a ceiling here already: change that one");
}

/* A deny of deny verbs could never be lifted again. */
int
rules_create_deny(const struct edit *edit, void *image, struct error *err)
{
    const struct deny *deny = image;

    (void)edit;
    if (verbs_empty(deny->verbs))
        return error_field(err, "/verbs", "a deny names at least one verb");
    for (unsigned i = 0; i < VERB_COUNT; i++)
        if (verbs_have(&deny->verbs, (enum verb)i) &&
            verb_kind((enum verb)i) == KIND_DENY)
            return error_field(err, "/verbs",
                               "%s cannot be denied: nobody could lift it",
                               verb_name((enum verb)i));
    return 0;
}
