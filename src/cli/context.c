/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/context.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define CONTEXT_SIZE_MAX 65536
#define SOCKET_DEFAULT "/run/bulkhead/api.sock"

static const char *
environment(const char *name)
{
    /* Read once, before any thread is started. */
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe) */

    return value != NULL && value[0] != '\0' ? value : NULL;
}

static const char *
context_path(const struct cli *cli)
{
    const char *path = environment("BULKHEAD_CONTEXT");
    const char *base = environment("XDG_CONFIG_HOME");
    const char *home = environment("HOME");

    if (path != NULL)
        return path;
    if (base != NULL)
        return arena_printf(cli->arena, "%s/bulkhead/context.json", base);
    return arena_printf(cli->arena, "%s/.config/bulkhead/context.json",
                        home != NULL ? home : "");
}

static int
read_context(const struct cli *cli, json_t **out, struct error *err)
{
    scoped_buffer bytes = { 0 };

    if (file_read(cli->context_path, CONTEXT_SIZE_MAX, &bytes, err) != 0) {
        if (err->code != ERROR_NOT_FOUND)
            return error_prefix(err, "context file");
        *out = json_object();
        return 0;
    }
    *out = json_read(buffer_text(&bytes), bytes.size, err);
    if (*out == NULL)
        return error_prefix(err, "context file %s", cli->context_path);
    return 0;
}

/* Where a value comes from: the stronger source first. */
enum source { SOURCE_FLAG, SOURCE_ENVIRONMENT, SOURCE_FILE, SOURCE_NONE };

/* flag > environment > file */
static enum source
pick(const struct cli *cli, const char *option, const char *variable,
     const json_t *context, const char *key, const char **value_out)
{
    const char *stored = json_string_value(json_object_get(context, key));
    enum source source = SOURCE_FLAG;
    const char *value = option != NULL ? cli_option(cli, option) : NULL;

    if (value == NULL) {
        source = SOURCE_ENVIRONMENT;
        value = environment(variable);
    }
    if (value == NULL && stored != NULL) {
        source = SOURCE_FILE;
        value = arena_strdup(cli->arena, stored);
    }
    *value_out = value != NULL && value[0] != '\0' ? value : NULL;
    return *value_out != NULL ? source : SOURCE_NONE;
}

/* The server: of socket and URL the one from the stronger source, the socket
 * when both come from the same. */
static void
pick_server(struct cli *cli, const json_t *context)
{
    const char *socket, *url;
    enum source socket_source =
        pick(cli, "socket", "BULKHEAD_SOCKET", context, "socket", &socket);
    enum source url_source =
        pick(cli, "url", "BULKHEAD_URL", context, "url", &url);

    if (url_source < socket_source)
        socket = NULL;
    else if (socket != NULL)
        url = NULL;
    cli->target.unix_path =
        url == NULL && socket == NULL ? SOCKET_DEFAULT : socket;
    cli->target.url = url;
}

/* A kept project belongs to the kept tenant: it is none of another that a
 * stronger source names. */
static void
pick_place(struct cli *cli, const json_t *context)
{
    const char *kept = json_string_value(json_object_get(context, "tenant"));
    enum source tenant = pick(cli, "tenant", "BULKHEAD_TENANT", context,
                              "tenant", &cli->tenant);
    enum source project = pick(cli, "project", "BULKHEAD_PROJECT", context,
                               "project", &cli->project);

    if (project == SOURCE_FILE && tenant < SOURCE_FILE && kept != NULL &&
        strcmp(kept, cli->tenant) != 0)
        cli->project = NULL;
}

int
context_load(struct cli *cli, struct error *err)
{
    scoped_json context = NULL;

    cli->context_path = context_path(cli);
    if (read_context(cli, &context, err) != 0)
        return -1;
    pick_server(cli, context);
    pick_place(cli, context);
    (void)pick(cli, NULL, "BULKHEAD_TOKEN", context, "token", &cli->token);
    return 0;
}

int
context_set(const struct cli *cli, const char *const *keys,
            const char *const *values, int count, struct error *err)
{
    char *directory = arena_strdup(cli->arena, cli->context_path);
    scoped_json context = NULL;
    scoped_buffer bytes = { 0 };

    if (read_context(cli, &context, err) != 0)
        return -1;
    for (int i = 0; i < count; i++)
        if (values[i] == NULL)
            (void)json_object_del(context, keys[i]);
        else
            (void)json_object_set_new(context, keys[i],
                                      json_string(values[i]));
    json_write(&bytes, context);
    buffer_add_byte(&bytes, '\n');
    if (file_make_directory(dirname(directory), 0700, err) != 0 ||
        file_write(cli->context_path, bytes.bytes, bytes.size, 0600, err) != 0)
        return error_prefix(err, "context file");
    return 0;
}
