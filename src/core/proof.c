/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proof.h"

static const struct platform *
policy_of(const struct world *world)
{
    return world_platform(world, world_platform_ref(world));
}

enum second_factor
proof_need(const struct world *world, struct ref user)
{
    const struct platform *platform = policy_of(world);
    const struct object *person = world_object(world, user);
    const struct tenant *tenant =
        person == NULL ? NULL : world_tenant(world, person->scope);
    int need = platform != NULL ? platform->second_factor : FACTOR_OFF;

    if (tenant != NULL && tenant->second_factor > need)
        need = tenant->second_factor;
    return (enum second_factor)need;
}

bool
proof_is_enrolled(const struct world *world, struct ref user)
{
    const struct user *person = world_user(world, user);

    return person != NULL && person->factor_ms != 0;
}

int64_t
proof_ms(const struct world *world, struct ref session)
{
    const struct session *open = world_session(world, session);
    struct ref user = world_parent(world, session);

    if (open == NULL)
        return 0;
    return proof_is_enrolled(world, user) ||
                   proof_need(world, user) != FACTOR_OFF
               ? open->factor_ms
               : open->proved_ms;
}

static bool
is_outworn(const struct world *world, const struct user *user, int64_t now_ms)
{
    const struct platform *platform = policy_of(world);
    int64_t life_ms = platform != NULL ? platform->password_life_ms : 0;

    return user->password[0] != '\0' &&
           (user->temporary ||
            (life_ms != 0 && now_ms >= user->password_ms + life_ms));
}

enum proof_limit
proof_limit(const struct world *world, struct ref credential, int64_t now_ms)
{
    const struct session *session = world_session(world, credential);
    struct ref ref = world_parent(world, credential);
    const struct user *user = world_user(world, ref);

    if (session == NULL || user == NULL)
        return PROOF_FREE;
    if (proof_need(world, ref) == FACTOR_LOGIN && session->factor_ms == 0)
        return user->factor_ms == 0 ? PROOF_ENROL : PROOF_CODE;
    /* Who came by an identity provider used no password. */
    return ref_is_none(session->provider) && is_outworn(world, user, now_ms)
               ? PROOF_PASSWORD
               : PROOF_FREE;
}

const char *
proof_limit_text(enum proof_limit limit)
{
    switch (limit) {
    case PROOF_FREE:
        break;
    case PROOF_PASSWORD:
        return "password";
    case PROOF_ENROL:
        return "enrol";
    case PROOF_CODE:
        return "code";
    }
    return "none";
}

bool
proof_is_fresh(const struct world *world, const struct session *session,
               int64_t now_ms)
{
    const struct platform *platform = policy_of(world);
    int64_t idle_ms = platform != NULL ? platform->session_idle_ms : 0;
    int64_t last_ms = session->object.created_ms;

    if (session->used_ms > last_ms)
        last_ms = session->used_ms;
    if (session->seen.ms > last_ms)
        last_ms = session->seen.ms;
    return idle_ms == 0 || now_ms < last_ms + idle_ms;
}

int64_t
proof_session_life(const struct world *world)
{
    const struct platform *platform = policy_of(world);

    return platform != NULL && platform->session_ms != 0
               ? platform->session_ms
               : PROOF_SESSION_MS;
}

int64_t
proof_password_min(const struct world *world)
{
    const struct platform *platform = policy_of(world);

    return platform != NULL && platform->password_min > PROOF_PASSWORD_MIN
               ? platform->password_min
               : PROOF_PASSWORD_MIN;
}
