/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

/* --- what is left to be decided --- */

static const struct column held_columns[] = {
    { "ID", "id", 's', false },
    { "NAME", "name", 'r', false },
    { "OWNER", "owner_name", 'r', false },
    { "EXPIRES", "expires_ms", 't', false },
    { "AGE", "created", 'a', false },
    { 0 },
};
static const struct column orphan_columns[] = {
    { "INSTANCE", "instance", 's', false },
    { "NODE", "node", 's', false },
    { "INCARNATION", "incarnation", 's', false },
    { "STATE", "state", 's', false },
    { "STOP", "stop", 'b', false },
    { 0 },
};

static void
print_part(const struct cli *cli, const json_t *answer, const char *member,
           const struct column *columns)
{
    json_t *items = json_object_get(answer, member);
    scoped_json list = json_pack("{s:O}", "items", items);

    output_line("%zu %s%s", json_array_size(items),
                strcmp(member, "orphans") == 0 ? "" : "held ", member);
    if (json_array_size(items) > 0)
        output_print(cli, columns, list);
}

static int
restore(struct cli *cli, struct error *err)
{
    scoped_json answer = NULL;
    const char *time;

    if (client_get(cli, "/api/v1/restore", &answer, err) != 0)
        return -1;
    if (cli->form == OUTPUT_JSON || cli->form == OUTPUT_YAML) {
        output_print(cli, NULL, answer);
        return 0;
    }
    time = json_string_value(json_object_get(answer, "restored_ms"));
    if (time == NULL) {
        output_line("never restored from a backup");
        return 0;
    }
    output_line("restored %s, %s", time,
                json_is_true(json_object_get(answer, "observing"))
                    ? "observing: nothing is started until "
                      "`bulkhead restore confirm`"
                    : "confirmed");
    print_part(cli, answer, "orphans", orphan_columns);
    print_part(cli, answer, "keys", held_columns);
    print_part(cli, answer, "sessions", held_columns);
    return 0;
}

const struct command command_restore = {
    .verb = "restore",
    .help = "Say what a restore from a backup left to be decided.",
    .more = "Orphans are containers that the restored platform does not "
            "know: they run on, and their\ncards are kept from everybody, "
            "until `bulkhead restore stop NODE INSTANCE`. Keys and\nsessions "
            "are held until `bulkhead review keys` and `bulkhead review "
            "sessions`.",
    .run = restore,
};

/* --- deciding --- */

static int
confirm(struct cli *cli, struct error *err)
{
    scoped_json body = json_object();
    scoped_json answer = NULL;
    const struct client_call call = { .method = "POST",
                                      .path = "/api/v1/restore/confirm",
                                      .body = body };

    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    if (!cli->quiet)
        output_line(cli->dry_run ? "would be confirmed"
                                 : "confirmed: the platform works again");
    return 0;
}

const struct command command_restore_confirm = {
    .verb = "restore",
    .noun = "confirm",
    .help = "End the observation after a restore: work is started again.",
    .more = "Look at `bulkhead restore` and at the alarms first. What the "
            "restored state wants is then\ndone: work that it knows and that "
            "is gone is started again, what waits is scheduled.\nOrphans stay "
            "as they are. Needs a recent `bulkhead stepup`.",
    .run = confirm,
};

static int
stop(struct cli *cli, struct error *err)
{
    scoped_json body = json_pack("{s:s}", "instance", cli->words[1]);
    scoped_json answer = NULL;
    scoped_buffer path = { 0 };
    struct client_call call = { .method = "POST", .body = body };

    buffer_add_text(&path, "/api/v1/nodes/");
    http_encode(&path, cli->words[0]);
    buffer_add_text(&path, "/orphans");
    call.path = path.bytes;
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "orphan", cli->words[1], "is stopped", answer);
    return 0;
}

const struct command command_restore_stop = {
    .verb = "restore",
    .noun = "stop",
    .words = "NODE INSTANCE",
    .help = "Stop a container that the restored platform does not know.",
    .more = "Its cards are scrubbed before anybody gets them. Needs a recent "
            "`bulkhead stepup`.",
    .words_min = 2,
    .words_max = 2,
    .run = stop,
};

static int
send_review(const struct cli *cli, const char *kind, const char *action,
            const char *id, int64_t *count, struct error *err)
{
    scoped_json body =
        json_pack("{s:s, s:s}", "kind", kind, "action", action);
    scoped_json answer = NULL;
    const struct client_call call = { .method = "POST",
                                      .path = "/api/v1/restore/review",
                                      .body = body };

    if (id != NULL)
        (void)json_object_set_new(body, "id", json_string(id));
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    *count += json_integer_value(json_object_get(
        cli->dry_run ? json_object_get(answer, "body") : answer, "count"));
    return 0;
}

static int
list_held(struct cli *cli, const char *kind, struct error *err)
{
    scoped_json answer = NULL;
    scoped_json list = NULL;

    if (client_get(cli, "/api/v1/restore", &answer, err) != 0)
        return -1;
    list = json_pack("{s:O}", "items", json_object_get(answer, kind));
    output_print(cli, held_columns, list);
    return 0;
}

static int
review(struct cli *cli, const char *kind, struct error *err)
{
    bool revokes = cli_has(cli, "revoke");
    int64_t count = 0;

    if (cli_has(cli, "release") == revokes) {
        if (!revokes && cli->word_count == 0)
            return list_held(cli, kind, err);
        return error_set(err, ERROR_INVALID,
                         "say --release or --revoke, one of them");
    }
    if (cli_has(cli, "all") == (cli->word_count > 0))
        return error_set(err, ERROR_INVALID,
                         "say which: IDs, or --all and no ID");
    if (cli->word_count == 0 &&
        send_review(cli, kind, revokes ? "revoke" : "release", NULL, &count,
                    err) != 0)
        return -1;
    for (int i = 0; i < cli->word_count; i++)
        if (send_review(cli, kind, revokes ? "revoke" : "release",
                        cli->words[i], &count, err) != 0)
            return -1;
    if (!cli->quiet)
        output_line("%lld %s %s%s", (long long)count, kind,
                    revokes ? "revoked" : "released",
                    cli->dry_run ? " (dry run)" : "");
    return 0;
}

static int
review_keys(struct cli *cli, struct error *err)
{
    return review(cli, "keys", err);
}

static int
review_sessions(struct cli *cli, struct error *err)
{
    return review(cli, "sessions", err);
}

static const struct command_option review_options[] = {
    { "release", 0, NULL, "they may be used again" },
    { "revoke", 0, NULL, "they may never be used again" },
    { "all", 0, NULL, "all that are held" },
    { 0 },
};
static const char review_more[] =
    "Without an option: lists them. Some of them may have been revoked behind "
    "the backup, which\nthe restored platform cannot know. Needs a recent "
    "`bulkhead stepup`.";

const struct command command_review_keys = {
    .verb = "review",
    .noun = "keys",
    .words = "[ID...]",
    .help = "Release or revoke API keys that a restore holds.",
    .more = review_more,
    .options = review_options,
    .words_max = CLI_WORDS_MAX,
    .run = review_keys,
};

const struct command command_review_sessions = {
    .verb = "review",
    .noun = "sessions",
    .words = "[ID...]",
    .help = "Release or revoke sessions that a restore holds.",
    .more = review_more,
    .options = review_options,
    .words_max = CLI_WORDS_MAX,
    .run = review_sessions,
};
