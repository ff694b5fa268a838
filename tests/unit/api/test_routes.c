/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "core/role.h"
#include "core/verb.h"
#include "tests/unit/api/estate.h"

/*
 * Every route of the table as every role, on objects of one's own tenant and
 * of the other.  What is expected is worked out here from the role table and
 * the attributes of verbs, by plain rules about one grant, and not by access.c.
 * A route whose path cannot be filled gets its objects made; one that is not
 * reached fails.  Writes are trials (dry_run), so nothing changes.
 */

/* Vendors have no rights but those of a work order: test_approvals. */
#define ROLES 8
#define BELOW "/tenants/research"

enum seat { AT_PLATFORM, AT_TENANT, AT_PROJECT };

static const struct {
    enum role_builtin role;
    enum seat seat;
} actors[ROLES] = {
    { ROLE_PLATFORM_ADMIN, AT_PLATFORM },
    { ROLE_SECURITY_ADMIN, AT_PLATFORM },
    { ROLE_AUDITOR, AT_PLATFORM },
    { ROLE_OPERATIONS_ENGINEER, AT_PLATFORM },
    { ROLE_TENANT_ADMIN, AT_TENANT },
    { ROLE_PROJECT_ADMIN, AT_PROJECT },
    { ROLE_DEVELOPER, AT_PROJECT },
    { ROLE_END_USER, AT_PROJECT },
};

static struct estate estate;
static size_t reached, decisions, hidden;
static char *tokens[ROLES];
static struct ref subjects[ROLES];

/* --- what is expected --- */

struct asked {
    const struct world *world;
    size_t actor;
    struct ref node; /* of its one grant */
};

static bool
is_above(const struct world *world, struct ref high, struct ref low)
{
    for (; !ref_is_none(low); low = world_parent(world, low))
        if (ref_equal(low, high))
            return true;
    return false;
}

static bool
has_right(const struct asked *asked, enum verb verb, struct ref object)
{
    struct verbs use = role_use(actors[asked->actor].role);
    enum kind seat = (enum kind)asked->node.kind;
    struct ref governed = object;

    if (!verbs_have(&use, verb) ||
        !is_above(asked->world, asked->node, object))
        return false;
    if ((verb_level(verb) == VERB_LEVEL_PLATFORM && seat != KIND_PLATFORM) ||
        (verb_level(verb) == VERB_LEVEL_TENANT && seat == KIND_PROJECT))
        return false;
    if (!verb_is(verb, VERB_ABOVE) || seat == KIND_PLATFORM)
        return true;
    /* Bounds are set from above what they bind. */
    if (verb_op(verb) != VERB_OP_CREATE)
        governed = world_parent(asked->world, object);
    return !ref_equal(asked->node, governed) &&
           is_above(asked->world, asked->node, governed);
}

/* Shared pools, and what is there for all that live below its parent. */
static bool
is_published(const struct asked *asked, enum verb verb, struct ref object)
{
    struct ref home = world_scope(asked->world, subjects[asked->actor]);
    const struct pool *pool = world_pool(asked->world, object);
    const struct price *price = world_price(asked->world, object);
    struct ref parent = world_parent(asked->world, object);

    if (!verb_is(verb, VERB_PUBLIC) || object.kind != verb_kind(verb) ||
        ref_is_none(parent) ||
        !is_above(asked->world, parent, subjects[asked->actor]))
        return false;
    if (pool != NULL)
        return pool->kind == POOL_SHARED || home.kind == KIND_PLATFORM;
    return price == NULL || ref_is_none(price->tenant) ||
           ref_equal(price->tenant, home);
}

static bool may(const struct asked *asked, enum verb verb, struct ref object);

static bool
sees(const struct asked *asked, struct ref object)
{
    int get = verb_of((enum kind)object.kind, VERB_OP_GET);

    return (get >= 0 && may(asked, (enum verb)get, object)) ||
           is_above(asked->world, object, subjects[asked->actor]) ||
           is_above(asked->world, object, asked->node);
}

static bool
may(const struct asked *asked, enum verb verb, struct ref object)
{
    if (verb_is(verb, VERB_AGENT))
        return false;
    if (verb_op(verb) == VERB_OP_LIST)
        return sees(asked, object);
    if (verb_is(verb, VERB_SELF) &&
        is_above(asked->world, subjects[asked->actor], object))
        return true;
    if (has_right(asked, verb, object))
        return true;
    return is_published(asked, verb, object);
}

/* --- objects for every path --- */

static bool
leads_to(const struct world *world, struct ref parent, struct ref ref)
{
    return is_above(world, parent, ref) && !ref_equal(parent, ref);
}

static struct ref
make_object(struct changes *changes, enum kind kind, struct ref parent)
{
    static unsigned number;
    char name[32];
    struct object *made;

    if (parent.kind == KIND_PLATFORM &&
        (kind == KIND_NODE || kind == KIND_JOINTOKEN))
        parent = world_first(changes->world, KIND_POOL);
    if (parent.kind == KIND_PLATFORM && kind == KIND_CARD)
        parent = world_first(changes->world, KIND_NODE);
    (void)snprintf(name, sizeof(name), "made-%u", number++);
    made = change_create(changes, kind, parent, name);
    if (kind == KIND_CEILING)
        memset(&((struct ceiling *)made)->verbs, 0xff, sizeof(struct verbs));
    return made->self;
}

/* The object of the kind below parent that belongs to the side, or one that
 * is made. */
static struct ref
object_for(struct loop *loop, struct arena *arena, const struct side *side,
           enum kind kind, struct ref parent)
{
    const struct world *world = loop_world(loop);
    struct ref own = estate_ref(world, side, kind), made;
    struct changes *changes;

    if (!ref_is_none(own) && leads_to(world, parent, own) &&
        (kind == KIND_TENANT || parent.kind != KIND_PLATFORM ||
         world_scope(world, own).kind == KIND_PLATFORM) &&
        (parent.kind == KIND_PLATFORM ||
         ref_equal(world_parent(world, own), parent) ||
         kind == KIND_PROJECT || kind == KIND_CARD || kind == KIND_ALARM))
        return own;
    world_each(world, kind, ref)
        if (ref_equal(world_parent(world, ref), parent))
            return ref;
    changes = loop_changes(loop, arena);
    made = make_object(changes, kind, parent);
    loop_apply(loop, changes);
    return made;
}

struct filling {
    const struct route *route;
    const struct side *side;
    char path[600];
    struct ref object;
    bool want[ROLES], seen[ROLES];
};

static void
expect(struct filling *filling, const struct world *world)
{
    for (size_t i = 0; i < ROLES; i++) {
        struct ref tenant = estate_ref(world, &estate.research, KIND_TENANT);
        struct ref project =
            estate_ref(world, &estate.research, KIND_PROJECT);
        struct asked asked = { world, i,
                               actors[i].seat == AT_PLATFORM
                                   ? world_platform_ref(world)
                               : actors[i].seat == AT_TENANT ? tenant
                                                             : project };

        filling->want[i] = (filling->route->flags & ROUTE_SELF) != 0 ||
                           may(&asked, filling->route->verb, filling->object);
        filling->seen[i] = sees(&asked, filling->object);
    }
}

static void
fill(struct loop *loop, struct arena *arena, void *data)
{
    struct filling *filling = data;
    const char *at = filling->route->path;
    struct ref ref = world_platform_ref(loop_world(loop));
    size_t length = 0;

    while (*at != '\0') {
        size_t size = strcspn(at + 1, "}");
        char name[32], id[ID_TEXT_MAX];

        if (*at != '{') {
            filling->path[length++] = *at++;
            continue;
        }
        (void)snprintf(name, sizeof(name), "%.*s", (int)size, at + 1);
        ref = object_for(loop, arena, filling->side, schema_find(name), ref);
        object_id_text(loop_world(loop), ref, id);
        length += (size_t)snprintf(filling->path + length, 500 - length, "%s",
                                   id);
        at += size + 2;
    }
    filling->path[length] = '\0';
    filling->object = ref;
    expect(filling, loop_world(loop));
}

/* --- asking --- */

/* The fields that the route needs, each of its type. */
static const char *
write_body(const struct route *route, char out[512])
{
    static const char *const values[] = { [BODY_TEXT] = "\"" PASSWORD "\"",
                                          [BODY_INT] = "1",
                                          [BODY_BOOL] = "true",
                                          [BODY_OBJECT] = "{}",
                                          [BODY_LIST] = "[]" };
    size_t used = 1;

    if ((route->flags & ROUTE_CONTENT) != 0)
        return "{}";
    if (route->body == NULL)
        return NULL;
    out[0] = '{';
    for (const struct body_field *field = route->body; field->name != NULL;
         field++)
        if (field->required)
            used += (size_t)snprintf(out + used, 512 - used, "%s\"%s\":%s",
                                     used > 1 ? "," : "", field->name,
                                     values[field->type]);
    (void)snprintf(out + used, 512 - used, "}");
    return out;
}

static long
send_as(size_t actor, const struct route *route, const char *path)
{
    char body[512], full[700];

    (void)snprintf(full, sizeof(full), "=%s%s", path,
                   route->form == ROUTE_WRITE ? "?dry_run=1" : "");
    estate.place.headers[0] = "If-Match: *";
    return client_send(&estate.place, tokens[actor], route->method, full,
                       write_body(route, body));
}

/* What the last answer was, but for date and request id. */
static void
take_answer(struct buffer *out)
{
    const char *body = buffer_text(&estate.place.last.body);
    const char *id = strstr(body, "\"request_id\":\"");

    buffer_clear(out);
    for (const char *at = buffer_text(&estate.place.last.headers);
         *at != '\0';) {
        size_t size = strcspn(at, "\n");

        if (strncasecmp(at, "Date:", 5) != 0 &&
            strncasecmp(at, "X-Request-Id:", 13) != 0)
            buffer_add(out, at, size);
        at += size + (at[size] == '\n');
    }
    buffer_add(out, body, id == NULL ? strlen(body) : (size_t)(id - body));
    if (id != NULL)
        buffer_add_text(out, strchr(id + 14, '"'));
}

/* The same path with ids that never were. */
static void
make_never(const char *path, char out[600])
{
    char *at = out;

    (void)snprintf(out, 600, "%s", path);
    while ((at = strchr(at, '_')) != NULL)
        if (strspn(++at, "abcdefghijklmnopqrstuvwxyz234567") == ID_DIGITS)
            memset(at, 'a', ID_DIGITS);
}

/* What this actor may not see answers as what is not there. */
static unsigned
compare_hidden(size_t actor, const struct filling *filling)
{
    scoped_buffer real = { 0 };
    scoped_buffer never = { 0 };
    char path[600];

    make_never(filling->path, path);
    if (strcmp(path, filling->path) == 0)
        return 0;
    take_answer(&real);
    (void)send_as(actor, filling->route, path);
    take_answer(&never);
    hidden++;
    if (strcmp(buffer_text(&real), buffer_text(&never)) == 0)
        return 0;
    print_message("%s %s by %s is not as if it never was: %s\n",
                  filling->route->method, filling->path,
                  role_name(actors[actor].role), buffer_text(&real));
    return 1;
}

/* A rule about the people or rights in the body refuses by itself, and who may
 * do what needs a second person is told to ask for it. */
static bool
has_more_rules(const struct route *route, long status)
{
    const char *end = strrchr(route->path, '/');

    if (status == 404) /* the body names what is not there */
        return strcmp(end, "/orphans") == 0 || strcmp(end, "/clear") == 0;
    if (status == 403 && strstr(buffer_text(&estate.place.last.body),
                                "\"code\":\"approval\"") != NULL)
        return verb_guard(route->verb) == VERB_GUARD_SECOND ||
               verb_guard(route->verb) == VERB_GUARD_BOTH;
    return status == 403 && (verb_is(route->verb, VERB_CONTROL) ||
                             verb_is(route->verb, VERB_GIVES));
}

static unsigned
compare(size_t actor, const struct filling *filling)
{
    long status = send_as(actor, filling->route, filling->path);
    bool allowed = status != 403 && status != 404 && status != 401;
    long refusal = filling->seen[actor] ? 403 : 404;

    if (filling->want[actor]
            ? allowed || has_more_rules(filling->route, status)
            : status == refusal)
        return !filling->want[actor] && refusal == 404
                   ? compare_hidden(actor, filling)
                   : 0;
    print_message("%s %s by %s: %ld in place of %s: %s\n",
                  filling->route->method, filling->path,
                  role_name(actors[actor].role), status,
                  filling->want[actor] ? "a permission"
                  : refusal == 403     ? "403"
                                       : "404",
                  buffer_text(&estate.place.last.body));
    return 1;
}


static unsigned
walk(const struct side *side)
{
    unsigned wrong = 0;

    for (size_t i = 0; i < route_count; i++) {
        struct filling filling = { .route = &route_table[i], .side = side };

        if (filling.route->form == ROUTE_OPEN ||
            filling.route->form == ROUTE_START)
            continue;
        harness_run(&estate.place.harness, fill, &filling);
        for (size_t actor = 0; actor < ROLES; actor++, decisions++)
            wrong += compare(actor, &filling);
        reached++;
    }
    return wrong;
}

static void
each_role_may_do_what_its_table_says_in_its_own_tenant(void **state)
{
    (void)state;
    assert_int_equal(walk(&estate.research), 0);
}

static void
each_role_may_do_what_its_table_says_in_the_other_tenant(void **state)
{
    (void)state;
    assert_int_equal(walk(&estate.vision), 0);
}

/* Before a login nothing is decided: the route is there and says so. */
static void
what_needs_no_login_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &route_table[i];
        char path[128], body[512];
        long status;

        if (route->form != ROUTE_OPEN && route->form != ROUTE_START)
            continue;
        (void)snprintf(path, sizeof(path), "=%s", route->path);
        status = client_send(&estate.place, NULL, route->method, path,
                             write_body(route, body));
        if (status == 404 || status == 500)
            fail_msg("%s %s: %ld", route->method, route->path, status);
        reached++;
    }
}

static void
every_route_was_reached(void **state)
{
    size_t open = 0;

    (void)state;
    for (size_t i = 0; i < route_count; i++)
        open += route_table[i].form == ROUTE_OPEN ||
                route_table[i].form == ROUTE_START;
    assert_int_equal(reached, 2 * (route_count - open) + open);
    assert_true(hidden > 500);
    print_message("%zu routes, %zu decisions, %zu of them hidden\n",
                  route_count, decisions, hidden);
}

/* --- --- */

static void
find_subjects(struct loop *loop, struct arena *arena, void *data)
{
    (void)arena;
    (void)data;
    world_each(loop_world(loop), KIND_USER, ref)
        for (size_t i = 0; i < ROLES; i++) {
            char name[64];

            (void)snprintf(name, sizeof(name), "as-%s",
                           role_name(actors[i].role));
            if (strcmp(world_object(loop_world(loop), ref)->name, name) == 0)
                subjects[i] = ref;
        }
}

static int
set_up(void **state)
{
    static const char *const seats[] = { "", BELOW, BELOW "/projects/work" };

    (void)state;
    estate_open(&estate);
    tell(&estate.place, estate.place.root, "POST", "/pools",
         "{\"name\":\"common\",\"kind\":\"shared\"}", 201);
    for (size_t i = 0; i < ROLES; i++) {
        char name[64];

        (void)snprintf(name, sizeof(name), "as-%s", role_name(actors[i].role));
        tokens[i] = join(&estate.place,
                         actors[i].seat == AT_PLATFORM ? NULL : "research",
                         name, seats[actors[i].seat],
                         role_name(actors[i].role));
    }
    harness_run(&estate.place.harness, find_subjects, NULL);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROLES; i++)
        free(tokens[i]);
    estate_close(&estate);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            each_role_may_do_what_its_table_says_in_its_own_tenant),
        cmocka_unit_test(
            each_role_may_do_what_its_table_says_in_the_other_tenant),
        cmocka_unit_test(what_needs_no_login_answers),
        cmocka_unit_test(every_route_was_reached),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
