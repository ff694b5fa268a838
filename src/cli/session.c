/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/session.h"

#include "cli/client.h"
#include "cli/context.h"

int
session_open(struct cli *cli, const char *user, const char *password,
             const char **limit_out, struct error *err)
{
    static const char *const keys[] = { "token", "tenant", "project", "url",
                                        "socket", "user" };
    struct client_call call = { .method = "POST", .path = "/api/v1/login" };
    const char *values[6] = { NULL, cli->tenant, cli->project,
                              cli->target.url, cli->target.unix_path, user };
    scoped_json body = json_object();
    scoped_json answer = NULL;

    (void)json_object_set_new(body, "name", json_string(user));
    (void)json_object_set_new(body, "password", json_string(password));
    if (cli->tenant != NULL)
        (void)json_object_set_new(body, "tenant", json_string(cli->tenant));
    if (cli_option(cli, "workorder") != NULL)
        (void)json_object_set_new(body, "workorder",
                                  json_string(cli_option(cli, "workorder")));
    call.body = body;
    cli->token = NULL;
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    values[0] = json_string_value(json_object_get(answer, "token"));
    if (values[0] == NULL)
        return error_set(err, ERROR_INTERNAL, "the answer has no token");
    if (limit_out != NULL) {
        const char *limit =
            json_string_value(json_object_get(answer, "limit"));

        *limit_out =
            arena_strdup(cli->arena, limit != NULL ? limit : "none");
    }
    cli->token = arena_strdup(cli->arena, values[0]);
    return context_set(cli, keys, values, 6, err);
}

int
session_prove(struct cli *cli, bool factor, struct error *err)
{
    struct client_call call = { .method = "POST", .path = "/api/v1/stepup" };
    bool recovery = cli_has(cli, "recovery-file");
    const char *field = recovery ? "recovery" : factor ? "code" : "password";
    const char *option = recovery ? "recovery-file"
                         : factor ? "code-file"
                                  : "password-file";
    scoped_json body = json_object();
    scoped_json answer = NULL;
    char secret[SESSION_SECRET_MAX];

    if (cli_secret(cli, option, recovery ? "recovery code" : field, secret,
                   sizeof(secret), err) != 0)
        return -1;
    (void)json_object_set_new(body, field, json_string(secret));
    call.body = body;
    return client_send(cli, &call, &answer, err);
}
