/* SPDX-License-Identifier: Apache-2.0 */
#include "core/credential.h"

#include <assert.h>
#include <string.h>

#include "core/resource.h"
#include "core/rules.h"

#define DAY_MS (24 * 3600 * INT64_C(1000))
#define INVITATION_MS (7 * DAY_MS)
#define INVITATION_LONGEST_MS (30 * DAY_MS)

/* --- keys --- */

int
credential_rotate(const struct granted *granted, struct changes *changes,
                  int64_t overlap_ms, const uint8_t digest[32],
                  struct error *err)
{
    struct ref ref = granted_object(granted);
    struct apikey *key = change_update(changes, ref);
    int64_t now_ms = granted_now_ms(granted);
    int64_t until_ms;
    struct edit edit = { granted, changes, granted_world(granted),
                         granted_actor(granted), now_ms, NULL };

    assert(granted_verb(granted) == VERB_APIKEY_ROTATE);
    if (overlap_ms < 0 || overlap_ms > CREDENTIAL_OVERLAP_MAX_MS)
        return error_field(err, "/overlap_ms",
                           "the secret before works 0 to %lld ms longer",
                           (long long)CREDENTIAL_OVERLAP_MAX_MS);
    if (key->revoked_ms != 0 || key->held_ms != 0 ||
        key->expires_ms <= now_ms) {
        error_set(err, ERROR_CONFLICT,
                  "the key is over: it expired, was revoked, or is held "
                  "since a restore");
        return error_help(err, "make another one");
    }
    until_ms = now_ms + overlap_ms;
    if (rules_check_minter(&edit, key, true, err) != 0)
        return -1;
    key->minter = edit.actor->subject;
    memcpy(key->old_digest, key->digest, sizeof(key->old_digest));
    memcpy(key->digest, digest, sizeof(key->digest));
    key->old_until_ms =
        until_ms < key->expires_ms ? until_ms : key->expires_ms;
    key->rotated_ms = now_ms;
    return 0;
}

/* --- second factors --- */

static struct user *
own_user(const struct granted *granted, struct changes *changes,
         struct error *err)
{
    struct ref ref = granted_object(granted);

    assert(granted_verb(granted) == VERB_USER_FACTOR);
    if (ref.kind == KIND_USER &&
        granted_actor(granted)->credential.kind == KIND_SESSION)
        return change_update(changes, ref);
    (void)error_set(err, ERROR_DENIED,
                    "a second factor belongs to a user in an open session");
    return NULL;
}

static void
clear_factor(struct user *user)
{
    memset(user->factor, 0, sizeof(user->factor));
    memset(user->recovery, 0, sizeof(user->recovery));
    user->factor_ms = 0;
    user->recovery_left = 0;
}

static void
put_codes(struct user *user,
          const uint8_t digests[CREDENTIAL_CODES][CREDENTIAL_CODE_SIZE])
{
    _Static_assert(sizeof(user->recovery) ==
                       (size_t)CREDENTIAL_CODES * CREDENTIAL_CODE_SIZE,
                   "room for all codes");
    memcpy(user->recovery, digests, sizeof(user->recovery));
    user->recovery_left = CREDENTIAL_CODES;
}

static void
prove(struct changes *changes, struct ref session)
{
    struct session *image = change_update(changes, session);

    image->factor_ms = changes->context.now_ms;
    image->proved_ms = changes->context.now_ms;
}

int
credential_enrol(const struct granted *granted, struct changes *changes,
                 const char *sealed, struct error *err)
{
    struct user *user = own_user(granted, changes, err);

    if (user == NULL)
        return -1;
    if (user->factor_ms != 0) {
        error_set(err, ERROR_CONFLICT, "a second factor is enrolled already");
        return error_help(err, "take it off first: `bulkhead drop factor`");
    }
    assert(strlen(sealed) < sizeof(user->factor));
    clear_factor(user);
    (void)snprintf(user->factor, sizeof(user->factor), "%s", sealed);
    return 0;
}

int
credential_confirm(
    const struct granted *granted, struct changes *changes, int64_t step,
    const uint8_t digests[CREDENTIAL_CODES][CREDENTIAL_CODE_SIZE],
    struct error *err)
{
    struct user *user = own_user(granted, changes, err);

    if (user == NULL)
        return -1;
    if (user->factor_ms != 0 || user->factor[0] == '\0') {
        error_set(err, ERROR_CONFLICT, "no second factor waits for this");
        return error_help(err, "`bulkhead enrol factor` begins");
    }
    user->factor_ms = granted_now_ms(granted);
    user->factor_step = step;
    put_codes(user, digests);
    prove(changes, granted_actor(granted)->credential);
    return 0;
}

static int
no_factor(struct error *err)
{
    return error_set(err, ERROR_CONFLICT, "no second factor is enrolled");
}

int
credential_renew_codes(
    const struct granted *granted, struct changes *changes,
    const uint8_t digests[CREDENTIAL_CODES][CREDENTIAL_CODE_SIZE],
    struct error *err)
{
    struct user *user = own_user(granted, changes, err);

    if (user == NULL)
        return -1;
    if (user->factor_ms == 0)
        return no_factor(err);
    put_codes(user, digests);
    return 0;
}

int
credential_drop_factor(const struct granted *granted, struct changes *changes,
                       struct error *err)
{
    struct user *user = own_user(granted, changes, err);

    if (user == NULL)
        return -1;
    if (user->factor[0] == '\0')
        return no_factor(err);
    clear_factor(user);
    return 0;
}

int
credential_reset_factor(const struct granted *granted,
                        struct changes *changes, struct error *err)
{
    struct ref ref = granted_object(granted);
    const struct actor *actor = granted_actor(granted);

    assert(granted_verb(granted) == VERB_USER_FACTOR_RESET);
    if (ref_equal(ref, actor->subject)) {
        error_set(err, ERROR_CONFLICT, "nobody resets their own");
        return error_help(err, "`bulkhead drop factor`, which asks for it, "
                               "or a recovery code");
    }
    if (access_control_check(granted_world(granted), actor, ref,
                             granted_now_ms(granted), err) != 0)
        return -1;
    if (world_user(granted_world(granted), ref)->factor[0] == '\0')
        return no_factor(err);
    clear_factor(change_update(changes, ref));
    rules_drop_children(changes, KIND_SESSION, ref);
    return 0;
}

bool
credential_take_step(struct changes *changes, struct ref session,
                     int64_t step)
{
    struct ref user = world_parent(changes->world, session);
    struct user *image;

    if (step <= world_user(changes->world, user)->factor_step)
        return false;
    image = change_unsaid(changes, user);
    image->factor_step = step;
    prove(changes, session);
    return true;
}

static bool
is_zero(const uint8_t *bytes, size_t size)
{
    while (size > 0 && bytes[size - 1] == 0)
        size--;
    return size == 0;
}

bool
credential_take_recovery(struct changes *changes, struct ref session,
                         const uint8_t digest[CREDENTIAL_CODE_SIZE])
{
    struct ref ref = world_parent(changes->world, session);
    const struct user *user = world_user(changes->world, ref);

    if (is_zero(digest, CREDENTIAL_CODE_SIZE))
        return false;
    for (size_t i = 0; i < CREDENTIAL_CODES; i++) {
        size_t at = i * CREDENTIAL_CODE_SIZE;
        struct user *image;

        if (memcmp(user->recovery + at, digest, CREDENTIAL_CODE_SIZE) != 0)
            continue;
        image = change_update(changes, ref);
        memset(image->recovery + at, 0, CREDENTIAL_CODE_SIZE);
        image->recovery_left--;
        prove(changes, session);
        return true;
    }
    return false;
}

/* --- locks --- */

void
credential_unlock(const struct granted *granted, struct changes *changes)
{
    struct user *user = change_update(changes, granted_object(granted));

    assert(granted_verb(granted) == VERB_USER_UNLOCK);
    user->failures = 0;
    user->locked_ms = 0;
}

/* --- invitations --- */

void
rules_drop_invitations(struct changes *changes, struct ref user)
{
    world_each_child(changes->world, KIND_INVITATION,
                     world_parent(changes->world, user), ref)
        if (ref_equal(world_invitation(changes->world, ref)->user, user))
            rules_drop(changes, ref);
}

/* Who is invited: a new user of that name, or one that never had a password
 * and that the inviter controls. */
static int
find_invited(const struct edit *edit, struct invitation *invitation,
             struct error *err)
{
    struct ref parent = invitation->object.parent;
    struct ref ref = world_find_name(edit->world, KIND_USER, parent,
                                     invitation->object.name);
    const struct user *user = world_user(edit->world, ref);

    if (user == NULL || user->state == STATE_DELETED) {
        struct object *made = change_create(edit->changes, KIND_USER, parent,
                                            invitation->object.name);

        invitation->user = made->self;
        return 0;
    }
    invitation->user = ref;
    if (access_control_check(edit->world, edit->actor, ref, edit->now_ms,
                             err) != 0)
        return -1;
    if (user->password[0] == '\0')
        return 0;
    error_set(err, ERROR_CONFLICT, "there is a user \"%s\" here already",
              user->object.name);
    return error_help(err, "`bulkhead passwd` sets a password that they have "
                           "to change");
}

int
rules_create_invitation(const struct edit *edit, void *image,
                        struct error *err)
{
    struct invitation *invitation = image;

    invitation->inviter = edit->actor->subject;
    if (invitation->expires_ms == 0)
        invitation->expires_ms = edit->now_ms + INVITATION_MS;
    if (invitation->expires_ms <= edit->now_ms ||
        invitation->expires_ms > edit->now_ms + INVITATION_LONGEST_MS)
        return error_field(err, "/expires_ms",
                           "an invitation can be accepted for at most 30 "
                           "days from now");
    return find_invited(edit, invitation, err);
}

struct ref
credential_invitation(const struct world *world, const uint8_t digest[32],
                      int64_t now_ms)
{
    struct ref ref = world_find_digest(world, KIND_INVITATION, digest);
    const struct invitation *invitation = world_invitation(world, ref);
    const struct user *user =
        invitation == NULL ? NULL : world_user(world, invitation->user);

    if (user == NULL || now_ms >= invitation->expires_ms ||
        user->password[0] != '\0' ||
        !access_is_alive(world, invitation->user))
        return (struct ref){ 0 };
    return ref;
}

int
credential_accept(struct changes *changes, struct ref invitation,
                  const char *password, struct error *err)
{
    const struct invitation *image =
        world_invitation(changes->world, invitation);

    if (image == NULL)
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "the invitation is not valid: it was used, "
                         "withdrawn, or is over");
    resource_first_password(changes, image->user, password);
    rules_drop(changes, invitation);
    return 0;
}
