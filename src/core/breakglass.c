/* SPDX-License-Identifier: Apache-2.0 */
#include "core/breakglass.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alarm.h"
#include "core/approval.h"
#include "core/deeds.h"
#include "core/reach.h"
#include "core/role.h"

struct ref
breakglass_active(const struct world *world, struct ref person,
                  int64_t now_ms)
{
    struct ref none = { 0 };

    if (world_count(world, KIND_BREAKGLASS) == 0)
        return none;
    world_each_child(world, KIND_BREAKGLASS, person, ref) {
        const struct breakglass *glass = world_breakglass(world, ref);

        if (glass->from_ms <= now_ms && now_ms < glass->to_ms)
            return ref;
    }
    return none;
}

/* --- breaking it --- */

static bool
is_listed(const struct blob *roles, const char *name)
{
    char quoted[NAME_MAX_SIZE + 2];

    if (roles == NULL)
        return strcmp(name, role_name(ROLE_PLATFORM_ADMIN)) == 0;
    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", name);
    return strstr(roles->bytes, quoted) != NULL;
}

/* Roles of the platform only: a tenant may call its own what it likes. */
static bool
has_role(const struct world *world, const struct actor *actor, int64_t now_ms)
{
    struct ref platform = world_platform_ref(world);
    const struct platform *policy = world_platform(world, platform);

    reach_each(world, actor->subject, now_ms, reach) {
        const struct grant *grant = world_grant(world, reach.grant);
        const struct object *role = world_object(world, grant->role);

        if (role != NULL && ref_equal(role->parent, platform) &&
            ref_is_none(grant->workorder) &&
            is_listed(policy->breakglass_roles, role->name) &&
            access_has_role(world, actor, grant, grant->object.parent,
                            now_ms))
            return true;
    }
    return false;
}

static int
settle_window(const struct world *world, struct breakglass *image,
              int64_t now_ms, struct error *err)
{
    const struct platform *policy =
        world_platform(world, world_platform_ref(world));
    int64_t most = policy->breakglass_ms > 0 ? policy->breakglass_ms
                                             : BREAKGLASS_MS;

    image->from_ms = now_ms;
    if (image->to_ms == 0)
        image->to_ms = now_ms + most;
    if (image->to_ms <= now_ms)
        return error_field(err, "/to_ms", "/to_ms lies in the past");
    if (image->to_ms - now_ms > most)
        return error_field(err, "/to_ms",
                           "a break-glass lasts at most %" PRId64 " s here",
                           most / 1000);
    return 0;
}

int
breakglass_open(const struct actor *actor, struct changes *changes,
                struct breakglass *image, struct error *err)
{
    const struct world *world = changes->world;
    int64_t now_ms = changes->context.now_ms;

    if (actor->kind != ACTOR_USER || actor->credential.kind != KIND_SESSION ||
        !has_role(world, actor, now_ms)) {
        (void)error_set(err, ERROR_DENIED,
                        "the glass is broken by people in a session who have "
                        "a role that the platform's breakglass_roles name");
        return error_help(err, "ask for an approval: --ask-approval REASON");
    }
    if (image->reason[0] == '\0')
        return error_field(err, "/reason",
                           "/reason is empty: it is shown to everybody whom "
                           "it concerns");
    if (!ref_is_none(breakglass_active(world, actor->subject, now_ms)))
        return error_set(err, ERROR_CONFLICT,
                         "you have broken the glass already: it is in force");
    if (settle_window(world, image, now_ms, err) != 0)
        return -1;
    alarm_raise(changes, image->object.self, "glass.broken",
                "%s broke the glass: %.150s",
                world_object(world, actor->subject)->name, image->reason);
    return 0;
}

int
breakglass_end(const struct granted *granted, struct changes *changes,
               struct error *err)
{
    struct ref ref = granted_object(granted);
    int64_t now_ms = granted_now_ms(granted);
    struct breakglass *image;

    if (world_breakglass(granted_world(granted), ref)->to_ms <= now_ms)
        return error_set(err, ERROR_CONFLICT, "it is over already");
    image = change_update(changes, ref);
    image->to_ms = now_ms;
    return 0;
}

/* --- what was done meanwhile --- */

static bool
lives_on(const struct changes *changes, struct ref tenant)
{
    const struct tenant *image = change_get(changes, tenant);

    return image != NULL && image->state != STATE_DELETED;
}

void
breakglass_note(struct changes *changes, const struct actor *actor,
                enum verb verb, struct ref object, bool second)
{
    const struct world *world = changes->world;
    struct ref ref = breakglass_active(world, actor->subject,
                                       changes->context.now_ms);
    struct ref tenant = world_scope(world, object);
    struct breakglass *glass;

    if (ref_is_none(ref) || verb_kind(verb) == KIND_BREAKGLASS)
        return;
    glass = change_update(changes, ref);
    deeds_add(changes, &glass->actions, &glass->count, verb, object);
    if (second && tenant.kind == KIND_TENANT && lives_on(changes, tenant))
        alarm_raise(changes, tenant, "glass.broken",
                    "an operator did %s here without a second person: %.150s",
                    verb_name(verb), glass->reason);
}

/* --- review --- */

/* The notices of tenants end with the review of the last one that is open. */
static void
clear_notices(struct changes *changes, struct ref reviewed)
{
    world_each(changes->world, KIND_BREAKGLASS, ref)
        if (!ref_equal(ref, reviewed) &&
            world_breakglass(changes->world, ref)->reviewed_ms == 0)
            return;
    world_each(changes->world, KIND_TENANT, tenant)
        alarm_clear(changes, tenant, "glass.broken");
}

int
breakglass_review(const struct granted *granted, struct changes *changes,
                  const char *note, struct error *err)
{
    const struct world *world = granted_world(granted);
    struct ref ref = granted_object(granted);
    struct ref reviewer = granted_actor(granted)->subject;
    const struct breakglass *present = world_breakglass(world, ref);
    struct ref person = present->object.parent;
    struct breakglass *glass;

    if (present->reviewed_ms != 0)
        return error_set(err, ERROR_CONFLICT, "it is reviewed already");
    if (granted_now_ms(granted) < present->to_ms)
        return error_set(err, ERROR_CONFLICT,
                         "it is still in force: it can be ended first");
    if (ref_equal(person, reviewer))
        return error_set(err, ERROR_DENIED,
                         "nobody reviews what they did themselves");
    if (!approval_independent(world, person, reviewer))
        return error_set(err, ERROR_DENIED,
                         "one of you made the other, or set the other's "
                         "password: it takes somebody independent");
    if (note[0] == '\0')
        return error_field(err, "/note", "/note is empty: say what you found");
    if (schema_check_text("/note", note, TEXT_MAX_SIZE, err) != 0)
        return -1;
    glass = change_update(changes, ref);
    glass->reviewer = reviewer;
    glass->reviewed_ms = granted_now_ms(granted);
    (void)snprintf(glass->review, sizeof(glass->review), "%s", note);
    alarm_clear(changes, ref, "glass.broken");
    alarm_clear(changes, ref, "glass.unreviewed");
    clear_notices(changes, ref);
    return 0;
}

void
breakglass_sweep(struct changes *changes)
{
    int64_t now_ms = changes->context.now_ms;

    world_each(changes->world, KIND_BREAKGLASS, ref) {
        const struct breakglass *glass =
            world_breakglass(changes->world, ref);

        if (glass->reviewed_ms == 0 &&
            glass->from_ms + BREAKGLASS_REVIEW_MS <= now_ms)
            alarm_raise(changes, ref, "glass.unreviewed",
                        "nobody has reviewed in %d h what was done",
                        (int)(BREAKGLASS_REVIEW_MS / 3600000));
    }
}
