/* SPDX-License-Identifier: Apache-2.0 */
#include "control/describe.h"

#include <string.h>

#include "base/buffer.h"
#include "core/workorder.h"
#include "store/row.h"

/* About 120 bytes each: well below RECORD_SIZE_MAX. */
#define TOUCHES_MAX 400

static const char *
tenant_of(struct arena *arena, const struct world *world, struct ref ref)
{
    if (ref_is_none(ref) || world_get(world, ref) == NULL)
        return NULL;
    return object_id_copy(world, world_ancestor(world, KIND_TENANT, ref),
                          arena);
}

static const char *
actor_kind_text(enum actor_kind kind)
{
    switch (kind) {
    case ACTOR_NONE:
        return "nobody";
    case ACTOR_USER:
        return "user";
    case ACTOR_SERVICEACCOUNT:
        return "serviceaccount";
    case ACTOR_AGENT:
        return "agent";
    case ACTOR_PLATFORM:
        return "platform";
    }
    return "nobody";
}

/* By what the actor proved who it is. */
static const char *
auth_level(const struct world *world, const struct actor *actor)
{
    const struct session *session = world_session(world, actor->credential);
    bool factor = session != NULL && session->factor_ms > 0;

    if (actor->proved_ms == 0)
        return "token";
    if (session != NULL && !ref_is_none(session->provider))
        return factor ? "sso+factor" : "sso";
    return factor ? "password+factor" : "password";
}

/* A vendor's person works for whoever answers for the work order. */
static const char *
sponsor_of(struct arena *arena, const struct world *world, struct ref subject)
{
    const struct workorder *order =
        world_workorder(world, workorder_of(world, subject));

    return order == NULL ? NULL : object_id_copy(world, order->sponsor, arena);
}

void
describe_actor(struct record *record, struct arena *arena,
               const struct world *world, const struct actor *actor)
{
    const struct object *subject = world_object(world, actor->subject);
    bool session = actor->credential.kind == KIND_SESSION;

    record->actor.kind = actor_kind_text(actor->kind);
    if (actor->source[0] != '\0')
        record->source.ip = arena_strdup(arena, actor->source);
    if (subject == NULL)
        return;
    record->actor.id = object_id_copy(world, actor->subject, arena);
    record->actor.name = arena_strdup(arena, subject->name);
    record->actor.tenant = tenant_of(arena, world, actor->subject);
    record->actor.on_behalf_of = sponsor_of(arena, world, actor->subject);
    record->actor.auth_ms = actor->proved_ms;
    record->actor.auth_level = auth_level(world, actor);
    if (ref_is_none(actor->credential))
        return;
    record->actor.credential = object_id_copy(world, actor->credential, arena);
    record->actor.credential_kind =
        schema_get((enum kind)actor->credential.kind)->name;
    if (session)
        record->actor.session = record->actor.credential;
}

void
describe_object(struct record *record, struct arena *arena,
                const struct world *world, struct ref ref)
{
    const struct object *object = world_object(world, ref);
    struct ref project;

    if (object == NULL)
        return;
    project = world_ancestor(world, KIND_PROJECT, ref);
    record->object.id = object_id_copy(world, ref, arena);
    record->object.kind = schema_get((enum kind)ref.kind)->name;
    record->object.tenant = tenant_of(arena, world, ref);
    if (!ref_is_none(project))
        record->object.project = object_id_copy(world, project, arena);
    record->object.version_before = (int64_t)object->version;
    record->object.version_after = (int64_t)object->version;
}

const char *
describe_touches(struct arena *arena, const struct touch *touches,
                 size_t count, struct ref scope, size_t *next)
{
    scoped_buffer facts = { 0 };
    size_t lines = 0;

    for (; *next < count && lines < TOUCHES_MAX; ++*next) {
        const struct touch *touch = &touches[*next];
        char text[DIGEST_TEXT_MAX];
        struct digest digest;

        if (!ref_equal(touch->scope, scope))
            continue;
        lines++;
        if (touch->values == NULL) {
            buffer_printf(&facts, "%s gone\n", touch->id);
            continue;
        }
        row_digest(touch->kind, touch->values, &digest);
        digest_format(&digest, text);
        buffer_printf(&facts, "%s %lld %s\n", touch->id,
                      (long long)touch->version, text);
    }
    return lines > 0 ? arena_strdup(arena, buffer_text(&facts)) : NULL;
}

int
describe_next_touch(const char **facts, char id[ID_TEXT_MAX],
                    int64_t *version_out, struct digest *digest_out)
{
    const char *at = *facts;
    size_t size = strcspn(at, " \n");
    char hex[DIGEST_TEXT_MAX];
    char *end;

    if (*at == '\0')
        return 0;
    if (size == 0 || size >= ID_TEXT_MAX || at[size] != ' ')
        return -1;
    memcpy(id, at, size);
    id[size] = '\0';
    at += size + 1;
    if (strncmp(at, "gone\n", 5) == 0) {
        *version_out = -1;
        *facts = at + 5;
        return 1;
    }
    *version_out = strtoll(at, &end, 10);
    if (*end != ' ' || strcspn(end + 1, "\n") != DIGEST_TEXT_MAX - 1 ||
        end[DIGEST_TEXT_MAX] != '\n')
        return -1;
    memcpy(hex, end + 1, DIGEST_TEXT_MAX - 1);
    hex[DIGEST_TEXT_MAX - 1] = '\0';
    *facts = end + 1 + DIGEST_TEXT_MAX;
    return digest_parse(hex, digest_out) == 0 ? 1 : -1;
}
