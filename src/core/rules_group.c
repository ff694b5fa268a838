/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules.h"

#include "core/reach.h"

/*
 * Groups: whoever joins gets all that the group's grants have, so adding a
 * member asks for each of them what handing it out asks.
 */

void
rules_drop_group(struct changes *changes, struct ref group)
{
    world_each_index(changes->world, KIND_GRANT, 0, group, ref)
        rules_drop(changes, ref);
    rules_drop_children(changes, KIND_MEMBER, group);
    rules_drop(changes, group);
}

int
rules_delete_group(const struct edit *edit, struct ref ref, struct error *err)
{
    (void)err;
    rules_drop_group(edit->changes, ref);
    return 0;
}

static int
check_subject(const struct edit *edit, const struct membership *member,
              struct error *err)
{
    const struct object *subject = world_object(edit->world, member->subject);

    if (member->subject.kind != KIND_USER &&
        member->subject.kind != KIND_SERVICEACCOUNT)
        return error_field(err, "/subject",
                           "a member is a user or a service account; groups "
                           "hold no groups");
    if (!access_is_alive(edit->world, member->subject))
        return error_field(err, "/subject", "the subject is suspended");
    if (!ref_equal(subject->scope, member->object.scope))
        return error_field(err, "/subject",
                           "a member belongs where its group does: to the "
                           "same tenant, or to the platform");
    return 0;
}

static int
check_room(const struct edit *edit, const struct membership *member,
           struct error *err)
{
    struct ref group = member->object.parent;
    size_t members = 0, groups = 0;

    world_each_index(edit->world, KIND_MEMBER, 0, member->subject, ref) {
        const struct membership *other = world_membership(edit->world, ref);

        if (ref_equal(other->object.parent, group)) {
            error_set(err, ERROR_CONFLICT, "the subject is a member already");
            return other->to_ms == 0
                       ? -1
                       : error_help(err, "until its end; delete that "
                                         "membership first");
        }
        groups++;
    }
    if (groups >= REACH_GROUPS_MAX)
        return error_set(err, ERROR_QUOTA,
                         "a subject is in at most %d groups; this one is in "
                         "%zu",
                         REACH_GROUPS_MAX, groups);
    world_each_child(edit->world, KIND_MEMBER, group, ref)
        members++;
    if (members >= REACH_MEMBERS_MAX)
        return error_set(err, ERROR_QUOTA,
                         "a group has at most %d members, and there are %zu",
                         REACH_MEMBERS_MAX, members);
    return 0;
}

/* A member is found by its subject's name, while no other one has it. */
static void
take_name(const struct edit *edit, struct membership *member)
{
    const char *name = world_object(edit->world, member->subject)->name;

    if (member->object.name[0] == '\0' &&
        ref_is_none(world_find_name(edit->world, KIND_MEMBER,
                                    member->object.parent, name)))
        (void)snprintf(member->object.name, sizeof(member->object.name), "%s",
                       name);
}

/* The earlier end; 0: none. */
static int64_t
earlier(int64_t a_ms, int64_t b_ms)
{
    return a_ms == 0 || (b_ms != 0 && b_ms < a_ms) ? b_ms : a_ms;
}

/* What one grant of the group hands to whoever joins it until to_ms. */
static int
check_grant(const struct edit *edit, struct ref subject, int64_t to_ms,
            const struct grant *grant, struct error *err)
{
    const struct role *role = world_role(edit->world, grant->role);
    struct ref node = grant->object.parent;
    struct verbs use = verbs_and(role->verbs, grant->use);
    struct offer offer = {
        .verbs = verbs_or(use, verbs_and(role->give, grant->give)),
        .from_ms = grant->from_ms,
        .to_ms = earlier(grant->to_ms, to_ms),
        .sources = grant->sources,
        .proof_ms = grant->proof_ms,
        .approval = grant->approval,
        .factor = grant->factor,
    };
    struct verbs over;

    if (access_delegate_check(edit->world, edit->actor, node, &offer,
                              edit->now_ms, err) != 0)
        return -1;
    if (!ref_equal(subject, edit->actor->subject))
        return 0;
    over = verbs_minus(use, access_use(edit->world, edit->actor, node,
                                       edit->now_ms));
    if (verbs_empty(over))
        return 0;
    return error_set(err, ERROR_DENIED,
                     "nobody gives themselves %s: somebody else has to",
                     verb_name(verbs_first(over)));
}

int
rules_check_joining(const struct edit *edit, struct ref group,
                    struct ref subject, int64_t to_ms, struct error *err)
{
    world_each_index(edit->world, KIND_GRANT, 0, group, ref) {
        const struct grant *grant = world_grant(edit->world, ref);

        if (grant->to_ms != 0 && grant->to_ms <= edit->now_ms)
            continue;
        if (check_grant(edit, subject, to_ms, grant, err) != 0)
            return error_help(err, "the group \"%s\" has that right, and "
                                   "whoever joins it gets it",
                              world_object(edit->world, group)->name);
    }
    return 0;
}

int
rules_create_member(const struct edit *edit, void *image, struct error *err)
{
    struct membership *member = image;

    member->adder = edit->actor->subject;
    if (member->to_ms != 0 && member->to_ms <= edit->now_ms)
        return error_field(err, "/to_ms", "/to_ms lies in the past");
    if (check_subject(edit, member, err) != 0 ||
        check_room(edit, member, err) != 0 ||
        access_control_check(edit->world, edit->actor, member->subject,
                             edit->now_ms, err) != 0 ||
        rules_check_joining(edit, member->object.parent, member->subject,
                            member->to_ms, err) != 0)
        return -1;
    take_name(edit, member);
    return 0;
}
