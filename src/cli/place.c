/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/place.h"

#include <string.h>

#include "cli/client.h"

#define ROOT "/api/v1"

enum level {
    LEVEL_NONE,
    LEVEL_PLATFORM = 1,
    LEVEL_TENANT = 2,
    LEVEL_UNIT = 4,
    LEVEL_PROJECT = 8,
};

/* Where the objects of a kind can lie. */
static unsigned
levels_of(enum kind kind)
{
    switch (kind) {
    case KIND_GRANT:
    case KIND_QUOTA:
    case KIND_DENY:
    case KIND_ALARM:
    case KIND_REQUEST:
        return LEVEL_PLATFORM | LEVEL_TENANT | LEVEL_UNIT | LEVEL_PROJECT;
    case KIND_USER:
    case KIND_IDENTITYPROVIDER:
    case KIND_ROLE:
    case KIND_GROUP:
    case KIND_MEMBER:
    case KIND_INVITATION:
        return LEVEL_PLATFORM | LEVEL_TENANT;
    case KIND_RESERVATION:
        return LEVEL_TENANT | LEVEL_UNIT | LEVEL_PROJECT;
    case KIND_CEILING:
        return LEVEL_TENANT | LEVEL_PROJECT;
    case KIND_UNIT:
    case KIND_PROJECT:
        return LEVEL_TENANT | LEVEL_UNIT;
    case KIND_SERVICEACCOUNT:
    case KIND_VOLUME:
    case KIND_WORKLOAD:
    case KIND_INSTANCE:
        return LEVEL_PROJECT;
    case KIND_POOL:
    case KIND_NODE:
    case KIND_CARD:
    case KIND_CLASS:
    case KIND_PRIORITY:
    case KIND_PRICE:
    case KIND_TENANT:
    case KIND_JOINTOKEN:
    case KIND_MAINTENANCE:
    case KIND_REQUIREMENT:
    case KIND_APPROVAL:
    case KIND_GUARD:
    case KIND_BREAKGLASS:
    case KIND_WORKORDER:
    case KIND_OPDOCUMENT:
        return LEVEL_PLATFORM;
    case KIND_COMMITMENT:
    case KIND_VISIT:
        return LEVEL_TENANT;
    case KIND_APIKEY:
    case KIND_SESSION:
    case KIND_IDENTITY:
        return LEVEL_PLATFORM | LEVEL_TENANT | LEVEL_PROJECT;
    case KIND_NONE:
    case KIND_PLATFORM:
    case KIND_BINDING:
    case KIND_HOLD:
    case KIND_BOOKING:
    case KIND_RECEIPT:
    case KIND_SOURCE:
    case KIND_RECENT:
    case KIND_FACT:
    case KIND_EVENT:
    case KIND_COUNT:
        break;
    }
    return LEVEL_NONE;
}

static int
parse_level(const char *text, enum level *level_out, struct error *err)
{
    static const struct {
        const char *text;
        enum level level;
    } levels[] = { { "platform", LEVEL_PLATFORM }, { "tenant", LEVEL_TENANT },
                   { "unit", LEVEL_UNIT }, { "project", LEVEL_PROJECT } };

    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (strcmp(levels[i].text, text) == 0) {
            *level_out = levels[i].level;
            return 0;
        }
    return error_set(err, ERROR_INVALID,
                     "--level is \"%.40s\", must be platform, tenant, unit "
                     "or project",
                     text);
}

/* The deepest level that was named and that is among the allowed. */
static int
choose_level(const struct cli *cli, unsigned allowed, enum level *level_out,
             struct error *err)
{
    const char *wish = cli_option(cli, "level");

    if (wish != NULL) {
        if (parse_level(wish, level_out, err) != 0)
            return -1;
        if ((allowed & *level_out) == 0)
            return error_set(err, ERROR_INVALID,
                             "there are none at the level \"%s\"", wish);
        return 0;
    }
    if ((allowed & LEVEL_PROJECT) != 0 && cli->project != NULL)
        *level_out = LEVEL_PROJECT;
    else if ((allowed & LEVEL_UNIT) != 0 && cli_option(cli, "unit") != NULL)
        *level_out = LEVEL_UNIT;
    else if ((allowed & LEVEL_TENANT) != 0 && cli->tenant != NULL)
        *level_out = LEVEL_TENANT;
    else if ((allowed & LEVEL_PLATFORM) != 0)
        *level_out = LEVEL_PLATFORM;
    else if ((allowed & LEVEL_TENANT) != 0)
        *level_out = LEVEL_TENANT;
    else
        *level_out = LEVEL_PROJECT;
    return 0;
}

static int
need(const char *value, const char *option, struct error *err)
{
    if (value != NULL)
        return 0;
    (void)error_set(err, ERROR_INVALID, "--%s is needed", option);
    return error_help(err, "give it with --%s, in the environment or in the "
                           "context (`bulkhead use`)",
                      option);
}

static int
level_path(const struct cli *cli, enum level level, struct buffer *path,
           struct error *err)
{
    const char *unit = cli_option(cli, "unit");

    buffer_add_text(path, ROOT);
    if (level == LEVEL_PLATFORM)
        return 0;
    if (need(cli->tenant, "tenant", err) != 0)
        return -1;
    buffer_add_text(path, "/tenants/");
    http_encode(path, cli->tenant);
    if (level == LEVEL_UNIT) {
        if (need(unit, "unit", err) != 0)
            return -1;
        buffer_add_text(path, "/units/");
        http_encode(path, unit);
    }
    if (level == LEVEL_PROJECT) {
        if (need(cli->project, "project", err) != 0)
            return -1;
        buffer_add_text(path, "/projects/");
        http_encode(path, cli->project);
    }
    return 0;
}

/* A step such as /users/NAME between the level and the collection. */
static int
middle(const struct cli *cli, const char *segment, const char *option,
       struct buffer *path, struct error *err)
{
    const char *value = cli_option(cli, option);

    if (need(value, option, err) != 0)
        return -1;
    buffer_printf(path, "/%s/", segment);
    http_encode(path, value);
    return 0;
}

static int
middle_path(const struct cli *cli, enum kind kind, struct buffer *path,
            struct error *err)
{
    bool account = cli_option(cli, "serviceaccount") != NULL;

    if (kind == KIND_MEMBER)
        return middle(cli, "groups", "group", path, err);
    if (kind == KIND_JOINTOKEN)
        return middle(cli, "pools", "pool", path, err);
    if (kind == KIND_NODE && cli_option(cli, "pool") != NULL)
        return middle(cli, "pools", "pool", path, err);
    if ((kind == KIND_CARD || kind == KIND_MAINTENANCE) &&
        cli_option(cli, "node") != NULL)
        return middle(cli, "nodes", "node", path, err);
    if (kind == KIND_MAINTENANCE && cli_option(cli, "pool") != NULL)
        return middle(cli, "pools", "pool", path, err);
    if (kind == KIND_OPDOCUMENT ||
        (kind == KIND_USER && cli_option(cli, "workorder") != NULL))
        return middle(cli, "workorders", "workorder", path, err);
    if (kind == KIND_INSTANCE)
        return middle(cli, "workloads", "workload", path, err);
    if (kind == KIND_APIKEY && account)
        return middle(cli, "serviceaccounts", "serviceaccount", path, err);
    if (kind == KIND_APIKEY || kind == KIND_SESSION || kind == KIND_IDENTITY)
        return middle(cli, "users", "user", path, err);
    return 0;
}

int
place_kind(const char *noun, enum kind *kind_out, struct error *err)
{
    *kind_out = schema_find(noun);
    if (*kind_out == KIND_PLATFORM ||
        (*kind_out != KIND_NONE && levels_of(*kind_out) != LEVEL_NONE))
        return 0;
    (void)error_set(err, ERROR_INVALID, "\"%.60s\" is no kind of object",
                    noun);
    return error_help(err, "`bulkhead get --help` lists the nouns");
}

int
place_collection(const struct cli *cli, enum kind kind, const char **path_out,
                 struct error *err)
{
    unsigned allowed = levels_of(kind);
    scoped_buffer path = { 0 };
    enum level level;

    if (kind == KIND_PLATFORM) { /* there is one */
        *path_out = "/api/v1/platform";
        return 0;
    }
    if ((kind == KIND_APIKEY || kind == KIND_SESSION))
        allowed = cli_option(cli, "serviceaccount") != NULL
                      ? LEVEL_PROJECT
                      : LEVEL_PLATFORM | LEVEL_TENANT;
    if (kind == KIND_USER && cli_option(cli, "workorder") != NULL)
        allowed = LEVEL_PLATFORM;
    if (choose_level(cli, allowed, &level, err) != 0 ||
        level_path(cli, level, &path, err) != 0 ||
        middle_path(cli, kind, &path, err) != 0)
        return -1;
    buffer_printf(&path, "/%s", schema_get(kind)->plural);
    *path_out = arena_strdup(cli->arena, path.bytes);
    return 0;
}

int
place_object(const struct cli *cli, enum kind kind, const char *name,
             const char **path_out, struct error *err)
{
    scoped_buffer path = { 0 };
    const char *collection;

    if (place_collection(cli, kind, &collection, err) != 0)
        return -1;
    if (kind == KIND_PLATFORM) {
        *path_out = collection;
        return 0;
    }
    buffer_printf(&path, "%s/", collection);
    http_encode(&path, name);
    *path_out = arena_strdup(cli->arena, path.bytes);
    return 0;
}

/* One collection that may hold the subject; not there is no failure. */
static int
look_in(const struct cli *cli, const char *collection, const char *name,
        const char **id_out, struct error *err)
{
    scoped_buffer path = { 0 };
    scoped_json answer = NULL;
    const char *id;

    buffer_printf(&path, "%s/", collection);
    http_encode(&path, name);
    if (client_get(cli, path.bytes, &answer, err) != 0)
        return err->code == ERROR_NOT_FOUND || err->code == ERROR_DENIED ? 0
                                                                         : -1;
    id = json_string_value(json_object_get(answer, "id"));
    if (id != NULL)
        *id_out = arena_strdup(cli->arena, id);
    return 0;
}

/* Users and groups lie in the tenant or the platform, service accounts in the
 * project. */
static int
find_subject(const struct cli *cli, enum kind kind, const char *name,
             const char **id_out, struct error *err)
{
    static const enum level high[] = { LEVEL_TENANT, LEVEL_PLATFORM };
    static const enum level low[] = { LEVEL_PROJECT };
    bool account = kind == KIND_SERVICEACCOUNT;
    const enum level *levels = account ? low : high;

    for (size_t i = 0; i < (account ? 1 : 2) && *id_out == NULL; i++) {
        scoped_buffer path = { 0 };

        if ((levels[i] != LEVEL_PLATFORM && cli->tenant == NULL) ||
            (levels[i] == LEVEL_PROJECT && cli->project == NULL))
            continue;
        if (level_path(cli, levels[i], &path, err) != 0)
            return -1;
        buffer_printf(&path, "/%s", schema_get(kind)->plural);
        if (look_in(cli, path.bytes, name, id_out, err) != 0)
            return -1;
    }
    return 0;
}

/* "group/devs" is a group, "gp_..." is one already. */
static const char *
after_kind(const char *text, enum kind kind)
{
    const struct schema *schema = schema_get(kind);
    size_t size = strlen(schema->name);

    return strncmp(text, schema->name, size) == 0 && text[size] == '/'
               ? text + size + 1
               : NULL;
}

static bool
is_id_of(const char *text, enum kind kind)
{
    const char *prefix = schema_get(kind)->prefix;
    size_t size = strlen(prefix);

    return strncmp(text, prefix, size) == 0 && text[size] == '_';
}

int
place_subject(const struct cli *cli, const char *text, const char **id_out,
              struct error *err)
{
    static const enum kind kinds[] = { KIND_USER, KIND_SERVICEACCOUNT,
                                       KIND_GROUP };
    const size_t count = sizeof(kinds) / sizeof(kinds[0]);
    const char *id = NULL;
    bool said = false;

    for (size_t i = 0; i < count; i++) {
        if (is_id_of(text, kinds[i])) {
            *id_out = text;
            return 0;
        }
        said = said || after_kind(text, kinds[i]) != NULL;
    }
    for (size_t i = 0; i < count && id == NULL; i++) {
        const char *name = said ? after_kind(text, kinds[i]) : text;

        if (name != NULL &&
            find_subject(cli, kinds[i], name, &id, err) != 0)
            return -1;
    }
    if (id == NULL) {
        (void)error_set(err, ERROR_INVALID,
                        "there is no user, service account or group "
                        "\"%.60s\" here",
                        text);
        return error_help(err, "a user or group is looked for in the tenant "
                               "(-t), then in the platform; a service "
                               "account in the project (-p)");
    }
    *id_out = id;
    return 0;
}

int
place_node(const struct cli *cli, const char **path_out, struct error *err)
{
    scoped_buffer path = { 0 };
    enum level level;

    if (choose_level(cli,
                     LEVEL_PLATFORM | LEVEL_TENANT | LEVEL_UNIT |
                         LEVEL_PROJECT,
                     &level, err) != 0 ||
        level_path(cli, level, &path, err) != 0)
        return -1;
    *path_out = arena_strdup(cli->arena, path.bytes);
    return 0;
}
