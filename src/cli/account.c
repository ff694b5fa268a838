/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/session.h"

/* Accounts: invite and accept, unlock, rotate a key, drain a project. */

static int
unlock(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "POST" };
    scoped_json answer = NULL;
    const char *path;

    if (place_object(cli, KIND_USER, cli->words[0], &path, err) != 0)
        return -1;
    call.path = arena_printf(cli->arena, "%s/unlock", path);
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "user", cli->words[0], "is not locked", answer);
    return 0;
}

static int
lockouts(struct cli *cli, struct error *err)
{
    static const struct column columns[] = {
        { "NAME", "name", 's', false },
        { "OF", "parent", 's', false },
        { "FAILURES", "failures", 's', false },
        { "LOCKED", "locked_ms", 't', false },
        { "ID", "id", 's', true },
        { 0 },
    };
    scoped_json answer = NULL;

    if (client_list(cli, "/api/v1/lockouts", 100000, &answer, err) != 0)
        return -1;
    output_print(cli, columns, answer);
    return 0;
}

/* The token alone on standard output, as other secrets. */
static int
invite(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "POST" };
    const char *display = cli_option(cli, "display");
    const char *life = cli_option(cli, "for"), *token;
    scoped_json body = json_object();
    scoped_json answer = NULL;
    char time[CLOCK_TEXT_MAX];
    int64_t ms;

    (void)json_object_set_new(body, "name", json_string(cli->words[0]));
    if (display != NULL)
        (void)json_object_set_new(body, "display", json_string(display));
    if (life != NULL) {
        if (fields_duration(life, &ms, err) != 0)
            return error_prefix(err, "--for");
        clock_format(clock_wall_ms() + ms, time);
        (void)json_object_set_new(body, "expires_ms", json_string(time));
    }
    call.body = body;
    if (place_collection(cli, KIND_INVITATION, &call.path, err) != 0 ||
        client_send(cli, &call, &answer, err) != 0)
        return -1;
    if (cli->form == OUTPUT_JSON || cli->form == OUTPUT_YAML) {
        output_print(cli, output_columns("invitation"), answer);
        return 0;
    }
    token = json_string_value(json_object_get(answer, "token"));
    output_line("%s", token != NULL ? token : "invited (dry run)");
    if (!cli->quiet && token != NULL)
        (void)fprintf(stderr, "Give it to %s, who sets a password with "
                              "`bulkhead accept`. It is shown once.\n",
                      cli->words[0]);
    return 0;
}

static int
accept(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "POST",
                                .path = "/api/v1/invitations/accept" };
    scoped_json body = json_object();
    scoped_json answer = NULL;
    char token[256], password[SESSION_SECRET_MAX];
    const char *name;

    cli->token = NULL;
    if (cli_secret(cli, "token-file", "invitation", token, sizeof(token),
                   err) != 0 ||
        cli_secret(cli, "password-file", "new password", password,
                   sizeof(password), err) != 0)
        return -1;
    (void)json_object_set_new(body, "token", json_string(token));
    (void)json_object_set_new(body, "password", json_string(password));
    call.body = body;
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    name = json_string_value(json_object_get(answer, "name"));
    output_done(cli, "user", name != NULL ? name : "-", "can log in now",
                answer);
    return 0;
}

static int
rotate(struct cli *cli, struct error *err)
{
    struct client_call call = { .method = "POST" };
    const char *overlap = cli_option(cli, "overlap"), *path, *key;
    scoped_json body = json_object();
    scoped_json answer = NULL;
    int64_t ms;

    if (overlap != NULL) {
        if (fields_duration(overlap, &ms, err) != 0)
            return error_prefix(err, "--overlap");
        (void)json_object_set_new(body, "overlap_ms", json_integer(ms));
    }
    if (place_object(cli, KIND_APIKEY, cli->words[0], &path, err) != 0)
        return -1;
    call.body = body;
    call.path = arena_printf(cli->arena, "%s/rotate", path);
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    if (cli->form == OUTPUT_JSON || cli->form == OUTPUT_YAML) {
        output_print(cli, output_columns("apikey"), answer);
        return 0;
    }
    key = json_string_value(json_object_get(answer, "key"));
    output_line("%s", key != NULL ? key : "rotated (dry run)");
    if (!cli->quiet && key != NULL)
        (void)fprintf(stderr, "This secret is shown once; the one before "
                              "works until %s.\n",
                      json_string_value(
                          json_object_get(answer, "old_until_ms")));
    return 0;
}

static int
drain(struct cli *cli, struct error *err)
{
    static const struct column columns[] = {
        { "STOPPED", "stopped", 's', false },
        { "LEFT", "left", 's', false },
        { "LEAVING", "leaving", 's', false },
        { 0 },
    };
    struct client_call call = { .method = "POST" };
    const char *reason = cli_option(cli, "reason"), *path;
    scoped_json body = json_object();
    scoped_json answer = NULL;

    if (reason == NULL) {
        (void)error_set(err, ERROR_INVALID, "--reason is needed");
        return error_help(err, "the owners of the work are told why");
    }
    (void)json_object_set_new(body, "reason", json_string(reason));
    (void)json_object_set_new(body, "cancel",
                              json_boolean(cli_has(cli, "cancel")));
    if (place_node(cli, &path, err) != 0)
        return -1;
    call.body = body;
    call.path = arena_printf(cli->arena, "%s/drain", path);
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_print(cli, columns, answer);
    return 0;
}

static const struct command_option node_options[] = {
    PLACE_NODE_OPTIONS,
    { 0 },
};
static const struct command_option invite_options[] = {
    { "display", 0, "TEXT", "name for people" },
    { "for", 0, "TIME", "how long it can be accepted: 12h, 7d" },
    PLACE_NODE_OPTIONS,
    { 0 },
};
static const struct command_option accept_options[] = {
    { "token-file", 0, "FILE",
      "file with the invitation; else standard input is asked" },
    { "password-file", 0, "FILE",
      "file with the new password; else standard input is asked" },
    { 0 },
};
static const struct command_option rotate_options[] = {
    { "overlap", 0, "TIME", "how long the secret before works on: 0s, 24h" },
    PLACE_OPTIONS,
    { 0 },
};
static const struct command_option drain_options[] = {
    { "reason", 'r', "TEXT", "why, for the owners of the work" },
    { "cancel", 0, NULL, "end the work for good, waiting work too" },
    PLACE_NODE_OPTIONS,
    { 0 },
};

const struct command command_unlock = {
    .verb = "unlock",
    .words = "USER",
    .help = "Open an account again that failed logins have locked.",
    .options = node_options,
    .words_min = 1,
    .words_max = 1,
    .run = unlock,
};
const struct command command_lockouts = {
    .verb = "lockouts",
    .help = "Show the accounts with failed logins, of all tenants.",
    .run = lockouts,
};
const struct command command_invite = {
    .verb = "invite",
    .words = "USER",
    .help = "Make a user who sets their own first password.",
    .more = "The token is printed once. Until it is accepted nobody can log "
            "in as them; rights can be\ngiven already. `bulkhead delete "
            "invitation USER` takes it back.",
    .options = invite_options,
    .words_min = 1,
    .words_max = 1,
    .run = invite,
};
const struct command command_accept = {
    .verb = "accept",
    .help = "Accept an invitation: set your first password.",
    .options = accept_options,
    .run = accept,
};
const struct command command_rotate_key = {
    .verb = "rotate",
    .noun = "apikey",
    .words = "NAME",
    .help = "Give an API key another secret; the one before works on a while.",
    .more = "For example: bulkhead rotate apikey ci -t research -p train "
            "--serviceaccount builder --overlap 24h",
    .options = rotate_options,
    .words_min = 1,
    .words_max = 1,
    .run = rotate,
};
const struct command command_drain = {
    .verb = "drain",
    .help = "Take all work of a tenant or project off its cards.",
    .more = "Work gets notice and grace. Of a suspended tenant or project it "
            "waits on; with --cancel\nit is over, which a deletion needs. "
            "Repeat it while LEFT is not 0. For example:\n"
            "  bulkhead drain -t research -p train --reason \"project ends\" "
            "--cancel",
    .options = drain_options,
    .run = drain,
};
