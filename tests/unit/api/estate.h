/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_API_ESTATE_H
#define TESTS_UNIT_API_ESTATE_H

#include "core/object.h"
#include "core/usage.h"
#include "tests/unit/api/client.h"

/*
 * Two tenants, "research" and "vision", with one object of every kind below
 * each: what one must not see of the other.  ids[kind] of a side are id
 * texts.  Objects that only the platform makes (instances, bindings, alarms)
 * are put into the world directly.
 */

struct side {
    const char *tenant;
    char *admin; /* token of its tenant admin */
    char ids[KIND_COUNT][ID_TEXT_MAX];
};

struct estate {
    struct place place;
    struct side research, vision;
    char *guard; /* token of a security-admin */
};

static inline struct ref
estate_ref(const struct world *world, const struct side *side, enum kind kind)
{
    return object_find_text(world, side->ids[kind]);
}

static inline void
estate_note(const struct changes *changes, struct side *side,
            const void *image)
{
    const struct object *object = image;
    (void)changes;
    id_format(schema_get((enum kind)object->self.kind)->prefix, object->id,
              side->ids[object->self.kind]);
}

/* A card and class once, then a workload with an instance that holds it. */
static inline void
estate_put(struct changes *changes, struct side *side)
{
    const struct world *world = changes->world;
    struct ref platform = world_platform_ref(world);
    struct ref pool = world_first(world, KIND_POOL);
    struct ref project = estate_ref(world, side, KIND_PROJECT);
    struct node *node =
        change_create(changes, KIND_NODE, pool, side->tenant);
    struct card *card =
        change_create(changes, KIND_CARD, node->object.self, "card0");
    struct class *class =
        change_create(changes, KIND_CLASS, platform, side->tenant);
    struct workload *work =
        change_create(changes, KIND_WORKLOAD, project, "secret-work");
    struct instance *instance =
        change_create(changes, KIND_INSTANCE, work->object.self, "0");
    struct binding *binding =
        change_create(changes, KIND_BINDING, instance->object.self, "0");
    struct alarm *alarm =
        change_create(changes, KIND_ALARM, project, "alarm");
    struct volume *volume =
        change_create(changes, KIND_VOLUME, project, "data");
    volume->size_mib = 10;
    estate_note(changes, side, volume);
    node->cpu_milli = 64000;
    node->memory_mib = 262144;
    usage_start(changes, card);
    card->memory_mib = 81920;
    card->health = HEALTH_HEALTHY;
    class->count = 1;
    work->state = WORKLOAD_RUNNING;
    work->class = class->object.self;
    work->user = estate_ref(world, side, KIND_USER);
    work->instances = 1;
    instance->node = node->object.self;
    instance->state = INSTANCE_RUNNING;
    instance->project = project;
    binding->card = card->object.self;
    binding->milli = 1000;
    binding->workload = work->object.self;
    binding->project = project;
    binding->user = work->user;
    binding->pool = pool;
    binding->class = class->object.self;
    binding->from_ms = binding->cut_ms = changes->context.now_ms;
    estate_note(changes, side, node);
    estate_note(changes, side, card);
    estate_note(changes, side, class);
    estate_note(changes, side, work);
    estate_note(changes, side, instance);
    estate_note(changes, side, binding);
    estate_note(changes, side, alarm);
}

static inline int
estate_decide(struct changes *changes, void *data, struct error *err)
{
    (void)err;
    estate_put(changes, data);
    return 0;
}

static inline void
estate_step(struct loop *loop, struct arena *arena, void *data)
{
    struct error err;
    struct deed deed = {.verb = "test.estate",
                        .component = "test",
                        .decide = estate_decide,
                        .data = data};
    assert_int_equal(execute_deed(loop, arena, &deed, &err), 1);
}

/* Makes an object by the API as root and keeps its id. */
static inline void
estate_make(struct estate *estate, struct side *side, enum kind kind,
            const char *path, const char *body)
{
    const char *token =
        kind == KIND_DENY ? estate->guard : estate->place.root;
    char *id =
        ask_text(&estate->place, token, "POST", path, body, 201, "id");
    (void)snprintf(side->ids[kind], ID_TEXT_MAX, "%s", id);
    free(id);
}

static inline void
estate_side(struct estate *estate, struct side *side, const char *name)
{
    char path[256], body[256];
    side->tenant = name;
    (void)snprintf(body, sizeof body, "{\"name\":\"%s\"}", name);
    estate_make(estate, side, KIND_TENANT, "/tenants", body);
#define BELOW(kind, below, text)                                              \
    (void)snprintf(path, sizeof path, "/tenants/%s" below, name);             \
    estate_make(estate, side, kind, path, text)
    BELOW(KIND_UNIT, "/units", "{\"name\":\"unit\"}");
    BELOW(KIND_PROJECT, "/projects", "{\"name\":\"work\"}");
    BELOW(KIND_ROLE, "/roles",
          "{\"name\":\"own\",\"verbs\":[\"project.get\"]}");
    BELOW(KIND_QUOTA, "/quotas",
          "{\"name\":\"storage\",\"dimension\":\"storage\",\"limit\":1000}");
    BELOW(KIND_DENY, "/denies",
          "{\"name\":\"deny\",\"verbs\":[\"instance.exec\"]}");
    BELOW(KIND_SERVICEACCOUNT, "/projects/work/serviceaccounts",
          "{\"name\":\"robot\"}");
#undef BELOW
    side->admin = join(&estate->place, name, "boss", path, NULL);
    scoped_json who =
        ask(&estate->place, side->admin, "GET", "/whoami", NULL, 200);
    (void)snprintf(side->ids[KIND_USER], ID_TEXT_MAX, "%s",
                   json_string_value(json_object_get(who, "id")));
    (void)snprintf(side->ids[KIND_SESSION], ID_TEXT_MAX, "%s",
                   json_string_value(json_object_get(who, "credential")));
    (void)snprintf(path, sizeof path, "/tenants/%s/grants", name);
    (void)snprintf(body, sizeof body,
                   "{\"subject\":\"%s\",\"role\":\"tenant-admin\"}",
                   side->ids[KIND_USER]);
    estate_make(estate, side, KIND_GRANT, path, body);
    (void)snprintf(path, sizeof path, "/tenants/%s/users/boss/apikeys", name);
    (void)snprintf(body, sizeof body, "{\"name\":\"key\"}");
    char *key = ask_text(&estate->place, side->admin, "POST", path, body, 201,
                         "id");
    (void)snprintf(side->ids[KIND_APIKEY], ID_TEXT_MAX, "%s", key);
    free(key);
    (void)snprintf(path, sizeof path, "/tenants/%s/identityproviders", name);
    estate_make(estate, side, KIND_IDENTITYPROVIDER, path,
                "{\"name\":\"corp\",\"issuer\":\"https://sso.example.org\","
                "\"client_id\":\"bulkhead\"}");
    (void)snprintf(path, sizeof path, "/tenants/%s/users/boss/identities",
                   name);
    (void)snprintf(body, sizeof body,
                   "{\"provider\":\"%s\",\"subject\":\"s-1\"}",
                   side->ids[KIND_IDENTITYPROVIDER]);
    estate_make(estate, side, KIND_IDENTITY, path, body);
    harness_run(&estate->place.harness, estate_step, side);
}

static inline void
estate_open(struct estate *estate)
{
    *estate = (struct estate){.place = {.tune = estate->place.tune}};
    place_open(&estate->place);
    estate->guard = join(&estate->place, NULL, "guard", "", "security-admin");
    estate_side(estate, &estate->research, "research");
    estate_side(estate, &estate->vision, "vision");
}

static inline void
estate_close(struct estate *estate)
{
    free(estate->research.admin);
    free(estate->vision.admin);
    free(estate->guard);
    place_close(&estate->place);
}

#endif
