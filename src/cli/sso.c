/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sso.h"

#include "cli/browser.h"
#include "cli/client.h"
#include "cli/context.h"

static void
put(json_t *body, const char *field, const char *text)
{
    if (text != NULL)
        (void)json_object_set_new(body, field, json_string(text));
}

/* Begins at `path`, lets the person log in, and ends at path/callback. */
static int
visit(struct cli *cli, const char *path, json_t *body, json_t **out,
      struct error *err)
{
    struct client_call begin = { .method = "POST",
                                 .path = path,
                                 .body = body };
    struct client_call end = { .method = "POST" };
    scoped_json begun = NULL;
    scoped_json answer = json_object();
    struct browser browser;
    struct browser_answer came;
    const char *url;
    int rc;

    if (browser_open(&browser, cli_has(cli, "paste"), err) != 0)
        return -1;
    put(body, "redirect", browser.redirect);
    rc = client_send(cli, &begin, &begun, err);
    url = json_string_value(json_object_get(begun, "url"));
    if (rc == 0 && url == NULL)
        rc = error_set(err, ERROR_INTERNAL, "the answer has no address");
    if (rc == 0) {
        browser_send(&browser, url);
        rc = browser_wait(cli, &browser, &came, err);
    }
    browser_close(&browser);
    if (rc != 0)
        return -1;
    put(answer, "attempt",
        json_string_value(json_object_get(begun, "attempt")));
    put(answer, "state", came.state);
    put(answer, "code", came.code);
    put(answer, "error", came.error);
    put(answer, "iss", came.iss);
    end.path = arena_printf(cli->arena, "%s/callback", path);
    end.body = answer;
    return client_send(cli, &end, out, err);
}

int
sso_log_in(struct cli *cli, const char *provider, const char **user_out,
           struct error *err)
{
    static const char *const keys[] = { "token", "tenant", "project", "url",
                                        "socket", "user" };
    scoped_json body = json_object();
    scoped_json answer = NULL;
    const char *values[6] = { NULL, cli->tenant, cli->project,
                              cli->target.url, cli->target.unix_path, NULL };
    const char *user;

    put(body, "provider", provider);
    put(body, "tenant", cli->tenant);
    cli->token = NULL;
    if (visit(cli, "/api/v1/login/sso", body, &answer, err) != 0)
        return -1;
    values[0] = json_string_value(json_object_get(answer, "token"));
    user = json_string_value(json_object_get(answer, "user_name"));
    if (values[0] == NULL || user == NULL)
        return error_set(err, ERROR_INTERNAL, "the answer has no token");
    *user_out = values[5] = arena_strdup(cli->arena, user);
    return context_set(cli, keys, values, 6, err);
}

int
sso_step_up(struct cli *cli, struct error *err)
{
    scoped_json body = json_object();
    scoped_json answer = NULL;

    return visit(cli, "/api/v1/stepup/sso", body, &answer, err);
}
