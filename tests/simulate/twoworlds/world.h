/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TWOWORLDS_WORLD_H
#define TESTS_TWOWORLDS_WORLD_H

#include "tests/simulate/twoworlds/inject.h"

#include "api/dispatch.h"
#include "api/state.h"
#include "control/outbox.h"
#include "control/tick.h"
#include "core/lifecycle.h"
#include "core/usage.h"
#include "tests/unit/api/client.h"

/*
 * A world: a platform with nodes, tenant a, whose private state differs from
 * world to world, and tenant b, who looks.  Requests go through all of the
 * server but its socket (world_ask), or through that too (world_ask_socket);
 * both give all that leaves for the asker as one text.
 */

#define WORLD_NODE_CARDS 8 /* of each of two nodes; crowded: two */
#define WORLD_PEOPLE 5 /* of a tenant, see world_people */

struct world_person {
    const char *name, *role;
    bool in_project;
};

static const struct world_person world_people[WORLD_PEOPLE] = {
    { "boss", "tenant-admin", false },
    { "lead", "project-admin", true },
    { "dev", "developer", true },
    { "user", "end-user", true },
    { "guest", NULL, false },
};

struct twin {
    struct place place;
    struct tick *tick;
    char *tokens[2][WORLD_PEOPLE]; /* of a's people, of b's */
    struct buffer said;            /* the last answer */
};

static struct twin *world_opening;

static inline void
world_tune(struct api_options *options)
{
    options->think_ms = 1000000000;
}

/* --- asking --- */

static inline void
world_take(struct exchange *exchange, struct error *err)
{
    if (url_parse(exchange->arena, exchange->target, &exchange->url, err) !=
            0 ||
        dispatch_route(exchange, err) != 0) {
        exchange_fail(exchange);
        return;
    }
    if (exchange->answer.status != 0)
        return;
    if (dispatch_body(exchange, err) != 0 || state_admit(exchange, err) != 0) {
        exchange_fail(exchange);
        return;
    }
    if (exchange->route->form == ROUTE_OPEN) {
        if (exchange->route->handle.open(exchange, err) != 0)
            exchange_fail(exchange);
        return;
    }
    dispatch_start(exchange);
    while (sem_wait(&inject_finished) != 0)
        ;
}

static inline void
world_write(const struct exchange *exchange, struct buffer *out)
{
    const struct answer *answer = &exchange->answer;

    buffer_clear(out);
    buffer_printf(out, "%d\nid %s\netag %s\nlocation %s\nallow %s\n",
                  answer->status, exchange->id, answer->etag,
                  answer->location, answer->allow);
    buffer_printf(out, "retry %u\nnext %lld%s%s%s\ntype %s\n\n",
                  answer->retry_s, (long long)answer->log_next,
                  answer->log_complete ? " complete" : "",
                  answer->replayed ? " replayed" : "",
                  answer->dry_run ? " dry" : "",
                  answer->type == NULL ? "" : answer->type);
    buffer_add(out, answer->body.bytes, answer->body.size);
    buffer_add(out, inject_watched.bytes, inject_watched.size);
}

struct asking {
    const char *method, *path; /* with the query */
    const char *body;          /* NULL: none */
    const char *key;           /* Idempotency-Key, NULL: none */
};

/* Returns the status; the rest is in twin->said. */
static inline int
world_ask(struct twin *twin, const char *token, const struct asking *asking)
{
    struct arena *arena = arena_new();
    struct exchange *exchange = arena_alloc(arena, sizeof(*exchange));
    struct id id;
    int status;

    __wrap_random_bytes(&id, sizeof(id));
    id_format("rq", id, exchange->id);
    exchange->api = twin->place.api;
    exchange->arena = arena;
    exchange->method = asking->method;
    exchange->target = arena_printf(arena, "/api/v1%s", asking->path);
    exchange->authorization = arena_printf(arena, "Bearer %s", token);
    exchange->key = asking->key;
    if (strcmp(asking->method, "PATCH") == 0 ||
        strcmp(asking->method, "DELETE") == 0)
        exchange->if_match = "*";
    if (asking->body != NULL) {
        exchange->content_type = "application/json";
        buffer_add_text(&exchange->raw, asking->body);
    }
    buffer_clear(&inject_watched);
    world_take(exchange, &exchange->error);
    world_write(exchange, &twin->said);
    status = exchange->answer.status;
    state_count(exchange);
    state_forget(exchange);
    json_decref(exchange->body);
    buffer_release(&exchange->raw);
    answer_release(&exchange->answer);
    arena_free(arena);
    return status;
}

/* The same over the socket: what a client reads, but for the date. */
static inline int
world_ask_socket(struct twin *twin, const char *token,
                 const struct asking *asking)
{
    struct place *place = &twin->place;
    char key[160];
    size_t count = 0;
    long status;

    if (strcmp(asking->method, "PATCH") == 0 ||
        strcmp(asking->method, "DELETE") == 0)
        place->headers[count++] = "If-Match: *";
    if (asking->key != NULL) {
        (void)snprintf(key, sizeof(key), "Idempotency-Key: %s", asking->key);
        place->headers[count++] = key;
    }
    status = client_send(place, token, asking->method, asking->path,
                         asking->body);
    buffer_clear(&twin->said);
    for (const char *at = buffer_text(&place->last.headers); *at != '\0';) {
        size_t size = strcspn(at, "\n");

        if (strncasecmp(at, "Date:", 5) != 0)
            buffer_add(&twin->said, at, size + (at[size] == '\n'));
        at += size + (at[size] == '\n');
    }
    buffer_add(&twin->said, place->last.body.bytes, place->last.body.size);
    return (int)status;
}

/* --- the estate --- */

static inline void
world_put_node(struct changes *changes, struct ref pool, const char *name,
               int cards)
{
    struct node *node = change_create(changes, KIND_NODE, pool, name);
    struct ref ref = node->object.self;

    node->cpu_milli = 128000;
    node->memory_mib = 1048576;
    for (int i = 0; i < cards; i++) {
        char text[NAME_MAX_SIZE];
        struct card *card;

        (void)snprintf(text, sizeof(text), "card%d", i);
        card = change_create(changes, KIND_CARD, ref, text);
        (void)snprintf(card->uuid, sizeof(card->uuid), "GPU-%s-%d", name, i);
        (void)snprintf(card->vendor, sizeof(card->vendor), "nvidia");
        (void)snprintf(card->model, sizeof(card->model), "h100");
        card->memory_mib = 81920;
        card->health = HEALTH_HEALTHY;
        usage_start(changes, card);
    }
}

static inline void
world_put_estate(struct loop *loop, struct arena *arena, void *data)
{
    struct changes *changes = loop_changes(loop, arena);
    struct ref pool =
        world_find_name(loop_world(loop), KIND_POOL,
                        world_platform_ref(loop_world(loop)), "shared");

    int cards = *(bool *)data ? 2 : WORLD_NODE_CARDS;

    world_put_node(changes, pool, "n1", cards);
    world_put_node(changes, pool, "n2", cards);
    loop_apply(loop, changes);
}

/* What an agent would say about an instance, by its state and age alone. */
static inline void
world_progress(struct changes *changes, struct ref ref)
{
    const struct instance *instance = world_instance(changes->world, ref);
    int64_t now_ms = changes->context.now_ms;

    switch ((enum instance_state)instance->state) {
    case INSTANCE_ASSIGNED:
        lifecycle_starting(changes, ref);
        break;
    case INSTANCE_STARTING:
        lifecycle_started(changes, ref);
        break;
    case INSTANCE_RUNNING:
        if (now_ms - instance->started_ms > 60000)
            lifecycle_exited(changes, ref, 0, false);
        break;
    case INSTANCE_STOPPING:
        lifecycle_exited(changes, ref, 143, false);
        break;
    case INSTANCE_EXITED:
        lifecycle_released(changes, ref);
        break;
    case INSTANCE_RELEASED:
    case INSTANCE_LOST:
        break;
    }
}

static inline int
world_live(struct changes *changes, void *data, struct error *err)
{
    const struct world *world = changes->world;

    (void)data;
    (void)err;
    world_each(world, KIND_INSTANCE, ref)
        world_progress(changes, ref);
    world_each(world, KIND_CARD, ref) {
        const struct card *card = world_card(world, ref);

        if (card->handover == HANDOVER_PENDING && card->used_milli == 0)
            ((struct card *)change_update(changes, ref))->handover =
                HANDOVER_CLEAN;
        if (card->dirty[0] != '\0')
            ((struct card *)change_update(changes, ref))->dirty[0] = '\0';
    }
    return 0;
}

/* The nodes are heard and say what became of their work; then the platform
 * does what is due. */
static inline void
world_pass(struct loop *loop, struct arena *arena, void *data)
{
    struct error err;
    struct deed deed = { .verb = "node.report",
                         .component = "agent",
                         .decide = world_live };

    world_each(loop_world(loop), KIND_NODE, node)
        loop_touch(loop, node);
    if (data != NULL)
        assert_true(execute_deed(loop, arena, &deed, &err) >= 0);
    inject_run_ticks(loop, arena, NULL);
}

/* live: the nodes' work goes on as well. */
static inline void
world_settle(struct twin *twin, bool live)
{
    harness_run(&twin->place.harness, world_pass, live ? twin : NULL);
}

/* --- opening --- */

static inline void
world_start_ticks(struct loop *loop)
{
    const struct tick_options options = { 0 };

    client_prepare(loop);
    inject_takes = true;
    world_opening->tick = tick_start(loop, &options);
    inject_takes = false;
}

static inline void
world_add_tenant(struct twin *twin, int side, const char *name)
{
    struct place *place = &twin->place;
    char path[128], body[256], project[160];

    (void)snprintf(body, sizeof(body), "{\"name\":\"%s\"}", name);
    tell(place, place->root, "POST", "/tenants", body, 201);
    (void)snprintf(path, sizeof(path), "/tenants/%s/projects", name);
    tell(place, place->root, "POST", path, "{\"name\":\"work\"}", 201);
    (void)snprintf(project, sizeof(project), "%s/work", path);
    (void)snprintf(path, sizeof(path), "/tenants/%s", name);
    for (size_t i = 0; i < WORLD_PEOPLE; i++)
        twin->tokens[side][i] =
            join(place, name, world_people[i].name,
                 world_people[i].in_project ? project : path,
                 world_people[i].role);
}

/* crowded: either tenant may take all cards, so that each waits for the
 * other. */
static inline void
world_build(struct twin *twin, bool crowded)
{
    struct place *place = &twin->place;

    tell(place, place->root, "POST", "/pools",
         "{\"name\":\"shared\",\"kind\":\"shared\"}", 201);
    tell(place, place->root, "POST", "/classes",
         "{\"name\":\"one\",\"count\":1,\"model\":\"h100\"}", 201);
    if (crowded)
        tell(place, place->root, "POST", "/classes",
             "{\"name\":\"two\",\"count\":2,\"model\":\"h100\"}", 201);
    /* What a tenant gets by itself: a quarter of a pool, so that nobody waits
     * for the other, or all of it.  That the platform promises a start to what
     * was passed over often is a signal (signals.h), so that takes very long;
     * that it is counted must not tell. */
    place->headers[0] = "If-Match: *";
    tell(place, place->root, "PATCH", "/platform",
         crowded ? "{\"tenant_limit_permille\":1000}"
                 : "{\"tenant_limit_permille\":250,\"bypass_max\":1000000}",
         200);
    harness_run(&place->harness, world_put_estate, &crowded);
    world_add_tenant(twin, 0, "alpha");
    world_add_tenant(twin, 1, "beta");
}

static inline void
world_open(struct twin *twin, uint64_t seed, bool crowded)
{
    memset(twin, 0, sizeof(*twin));
    world_opening = twin;
    twin->place.tune = world_tune;
    /* What a disk costs is no part of the question. */
    twin->place.harness.base =
        access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NULL;
    inject_begin(seed << 32);
    twin->place.prepare = world_start_ticks;
    place_open(&twin->place);
    world_build(twin, crowded);
}

static inline void
world_close(struct twin *twin)
{
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < WORLD_PEOPLE; i++)
            free(twin->tokens[side][i]);
    buffer_release(&twin->said);
    tick_free(twin->tick); /* no timer runs it any more */
    place_close(&twin->place);
}

#endif
