/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/scenario.h"

#include <inttypes.h>
#include <string.h>

#include "core/resource.h"
#include "core/role.h"
#include "core/shipped.h"
#include "core/usage.h"

#define NODES_MAX 100000
#define CARDS_MAX 16
#define LIST_MAX 100000

struct builder {
    struct world *world;
    struct actor actor;
    struct id_source ids;
    struct arena *arena;
};

static struct changes *
begin(struct builder *builder)
{
    builder->arena = arena_new();
    return change_begin(builder->arena, builder->world,
                        (struct context){ SCENARIO_START_MS, &builder->ids });
}

static void
commit(struct builder *builder, struct changes *changes)
{
    world_apply(builder->world, changes);
    arena_free(builder->arena);
}

/* --- what every platform has --- */

static void
add_operator(struct builder *builder, struct ref platform)
{
    struct changes *changes = begin(builder);
    struct object *user =
        change_create(changes, KIND_USER, platform, "operator");
    struct grant *grant = change_create(changes, KIND_GRANT, platform, "");
    struct session *session =
        change_create(changes, KIND_SESSION, user->self, "");

    grant->subject = user->self;
    grant->role = role_find(builder->world, ROLE_PLATFORM_ADMIN);
    grant->use = verbs_all();
    session->expires_ms = INT64_MAX / 2;
    session->proved_ms = SCENARIO_START_MS;
    session->used_ms = INT64_MAX / 4; /* never idle */
    builder->actor = (struct actor){ .kind = ACTOR_USER,
                                     .subject = user->self,
                                     .credential = session->object.self,
                                     .proved_ms = SCENARIO_START_MS };
    commit(builder, changes);
}

static void
add_platform(struct builder *builder)
{
    struct changes *changes = begin(builder);
    struct ref platform = shipped_platform(changes, NULL);

    role_install(changes, platform);
    shipped_priorities(changes, platform);
    commit(builder, changes);
    add_operator(builder, platform);
}

/* The platform's people do not work in projects; in a simulation one does. */
static void
add_worker(struct builder *builder, struct ref project)
{
    struct changes *changes = begin(builder);
    struct grant *grant = change_create(changes, KIND_GRANT, project, "");

    grant->subject = builder->actor.subject;
    grant->role = role_find(builder->world, ROLE_DEVELOPER);
    grant->use = verbs_all();
    commit(builder, changes);
}

/* --- objects as the API makes them --- */

/* The entry without the lists that the file nests in it. */
static json_t *
own_fields(const json_t *entry)
{
    json_t *body = json_copy((json_t *)(uintptr_t)entry);

    (void)json_object_del(body, "quotas");
    (void)json_object_del(body, "projects");
    return body;
}

static int
create(struct builder *builder, enum kind kind, struct ref parent,
       const json_t *entry, struct ref *out, struct error *err)
{
    scoped_json body = own_fields(entry);
    struct changes *changes;
    struct granted granted;

    if (access_decide(builder->world, &builder->actor,
                      (enum verb)verb_of(kind, VERB_OP_CREATE), parent,
                      SCENARIO_START_MS, &granted, err) != 0)
        return -1;
    changes = begin(builder);
    if (resource_create(&granted, changes, kind, parent, body, out, err) !=
        0) {
        arena_free(builder->arena);
        return -1;
    }
    commit(builder, changes);
    return 0;
}

/* One entry of a list, made below parent. */
typedef int make_entry(struct builder *builder, struct ref parent,
                 const json_t *entry, struct error *err);

static int
each(struct builder *builder, const json_t *object, const char *key,
     struct ref parent, make_entry *make_one, struct error *err)
{
    const json_t *list = json_object_get(object, key), *entry;
    char pointer[80];
    size_t i;

    (void)snprintf(pointer, sizeof(pointer), "/%s", key);
    if (list == NULL)
        return 0;
    if (!json_is_array(list) || json_array_size(list) > LIST_MAX)
        return error_field(err, pointer,
                           "%s must be a list of at most %d entries", pointer,
                           LIST_MAX);
    json_array_foreach(list, i, entry) {
        if (!json_is_object(entry))
            return error_field(err, pointer, "%s/%zu is no object", pointer,
                               i);
        if (make_one(builder, parent, entry, err) != 0)
            return error_prefix(err, "%s/%zu", pointer, i);
    }
    return 0;
}

#define MAKE_PLAIN(name, KIND)                                                \
    static int name(struct builder *builder, struct ref parent,               \
                    const json_t *entry, struct error *err)                   \
    {                                                                         \
        struct ref made;                                                      \
                                                                              \
        return create(builder, KIND, parent, entry, &made, err);              \
    }
MAKE_PLAIN(make_pool, KIND_POOL)
MAKE_PLAIN(make_class, KIND_CLASS)
MAKE_PLAIN(make_priority, KIND_PRIORITY)
MAKE_PLAIN(make_quota, KIND_QUOTA)

static int
make_project(struct builder *builder, struct ref parent, const json_t *entry,
             struct error *err)
{
    struct ref project;

    if (create(builder, KIND_PROJECT, parent, entry, &project, err) != 0)
        return -1;
    add_worker(builder, project);
    return each(builder, entry, "quotas", project, make_quota, err);
}

static int
make_tenant(struct builder *builder, struct ref parent, const json_t *entry,
            struct error *err)
{
    struct ref tenant;

    if (create(builder, KIND_TENANT, parent, entry, &tenant, err) != 0 ||
        each(builder, entry, "quotas", tenant, make_quota, err) != 0)
        return -1;
    return each(builder, entry, "projects", tenant, make_project, err);
}

/* --- nodes, as their agents would bring them --- */

struct make_of_node {
    int64_t count, cards, memory_mib, cpu_milli, node_memory_mib;
    const char *pool, *vendor, *model;
};

static int
read_node(const json_t *entry, struct make_of_node *node, struct error *err)
{
    static const char *const keys[] = {
        "pool",       "count",     "cards",           "vendor", "model",
        "memory_mib", "cpu_milli", "node_memory_mib", NULL
    };

    *node = (struct make_of_node){ .count = 1,
                                   .cards = 8,
                                   .cpu_milli = 128000,
                                   .node_memory_mib = 1048576,
                                   .vendor = "nvidia" };
    return json_only(entry, keys, err) != 0 ||
                   json_text(entry, "pool", true, NAME_MAX_SIZE - 1,
                             &node->pool, err) != 0 ||
                   json_text(entry, "vendor", false, 31, &node->vendor, err) !=
                       0 ||
                   json_text(entry, "model", true, 63, &node->model, err) !=
                       0 ||
                   json_int(entry, "count", false, 1, NODES_MAX, &node->count,
                            err) != 0 ||
                   json_int(entry, "cards", false, 1, CARDS_MAX, &node->cards,
                            err) != 0 ||
                   json_int(entry, "memory_mib", true, 1, INT64_C(100000000),
                            &node->memory_mib, err) != 0 ||
                   json_int(entry, "cpu_milli", false, 1,
                            INT64_C(1000000000), &node->cpu_milli, err) !=
                       0 ||
                   json_int(entry, "node_memory_mib", false, 1,
                            INT64_C(1000000000), &node->node_memory_mib,
                            err) != 0
               ? -1
               : 0;
}

static void
add_node(struct builder *builder, struct ref pool,
         const struct make_of_node *make)
{
    struct changes *changes = begin(builder);
    char name[NAME_MAX_SIZE];
    struct node *node;
    struct ref self;

    (void)snprintf(name, sizeof(name), "node-%zu",
                   world_count(builder->world, KIND_NODE));
    node = change_create(changes, KIND_NODE, pool, name);
    self = node->object.self;
    node->cpu_milli = make->cpu_milli;
    node->memory_mib = make->node_memory_mib;
    node->simulated = true;
    for (int64_t i = 0; i < make->cards; i++) {
        struct card *card;

        (void)snprintf(name, sizeof(name), "card%" PRId64, i);
        card = change_create(changes, KIND_CARD, self, name);
        (void)snprintf(card->vendor, sizeof(card->vendor), "%s",
                       make->vendor);
        (void)snprintf(card->model, sizeof(card->model), "%s", make->model);
        (void)snprintf(card->uuid, sizeof(card->uuid), "SIM-%u-%" PRId64,
                       self.index, i);
        (void)snprintf(card->island, sizeof(card->island), "0");
        (void)snprintf(card->bus, sizeof(card->bus), "0");
        card->memory_mib = make->memory_mib;
        card->health = HEALTH_HEALTHY;
        card->simulated = true;
        usage_start(changes, card);
    }
    commit(builder, changes);
    world_touch_node(builder->world, self, SCENARIO_START_MS);
}

static int
make_nodes(struct builder *builder, struct ref parent, const json_t *entry,
           struct error *err)
{
    struct make_of_node node;
    struct ref pool;

    if (read_node(entry, &node, err) != 0)
        return -1;
    pool = world_find_name(builder->world, KIND_POOL, parent, node.pool);
    if (ref_is_none(pool))
        return error_set(err, ERROR_INVALID, "there is no pool \"%.60s\"",
                         node.pool);
    if ((int64_t)world_count(builder->world, KIND_NODE) + node.count >
        NODES_MAX)
        return error_set(err, ERROR_INVALID, "there are more than %d nodes",
                         NODES_MAX);
    for (int64_t i = 0; i < node.count; i++)
        add_node(builder, pool, &node);
    return 0;
}

/* --- the file --- */

static int
set_platform(struct builder *builder, const json_t *file, struct error *err)
{
    struct ref platform = world_platform_ref(builder->world);
    const json_t *patch = json_object_get(file, "platform");
    struct changes *changes;
    struct granted granted;

    if (patch == NULL)
        return 0;
    if (access_decide(builder->world, &builder->actor, VERB_PLATFORM_UPDATE,
                      platform, SCENARIO_START_MS, &granted, err) != 0)
        return -1;
    changes = begin(builder);
    if (!json_is_object(patch) ||
        resource_update(&granted, changes, platform, patch, err) != 0) {
        arena_free(builder->arena);
        return json_is_object(patch)
                   ? error_prefix(err, "/platform")
                   : error_field(err, "/platform", "/platform is no object");
    }
    commit(builder, changes);
    return 0;
}

static int
build(struct builder *builder, const json_t *file, struct error *err)
{
    static const char *const keys[] = { "platform",   "pools",   "nodes",
                                        "classes",    "tenants", "priorities",
                                        NULL };
    struct ref platform = world_platform_ref(builder->world);

    return json_only(file, keys, err) != 0 ||
                   set_platform(builder, file, err) != 0 ||
                   each(builder, file, "pools", platform, make_pool, err) !=
                       0 ||
                   each(builder, file, "nodes", platform, make_nodes, err) !=
                       0 ||
                   each(builder, file, "classes", platform, make_class,
                        err) != 0 ||
                   each(builder, file, "priorities", platform, make_priority,
                        err) != 0 ||
                   each(builder, file, "tenants", platform, make_tenant,
                        err) != 0
               ? -1
               : 0;
}

int
scenario_build(const json_t *file, struct scenario *out, struct error *err)
{
    static const struct hash_key key = { 0, 0 }; /* nothing depends on it */
    struct builder builder = { .world = world_new(&key),
                               .ids = { { 0, 2 }, 0 } };

    if (!json_is_object(file)) {
        (void)error_set(err, ERROR_INVALID, "the estate is no JSON object");
        world_free(builder.world);
        return -1;
    }
    add_platform(&builder);
    if (build(&builder, file, err) != 0) {
        world_free(builder.world);
        return -1;
    }
    *out = (struct scenario){ builder.world, builder.actor };
    return 0;
}
