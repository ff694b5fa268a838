/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/output.h"
#include "cli/place.h"

/* "We need more": asking, and deciding about it. */

static void
put(json_t *body, const char *field, const char *text)
{
    if (text != NULL)
        (void)json_object_set_new(body, field, json_string(text));
}

/* Sends a request of a sort below the placed node. */
static int
ask(struct cli *cli, const char *sort, json_t *body, struct error *err)
{
    struct client_call call = { .method = "POST", .body = body };
    scoped_json answer = NULL;
    const char *reason = cli_option(cli, "reason"), *id;

    if (reason == NULL) {
        (void)error_set(err, ERROR_INVALID, "--reason is needed");
        return error_help(err, "who decides has to know what it is for");
    }
    put(body, "sort", sort);
    put(body, "reason", reason);
    if (place_collection(cli, KIND_REQUEST, &call.path, err) != 0 ||
        client_send(cli, &call, &answer, err) != 0)
        return -1;
    id = json_string_value(json_object_get(answer, "id"));
    output_done(cli, "request", id != NULL ? id : "-", "is open", answer);
    return 0;
}

static int
request_quota(struct cli *cli, struct error *err)
{
    static const char *const amounts[] = { "guaranteed", "limit" };
    scoped_json body = json_object();
    const char *user = cli_option(cli, "of-user"), *id;

    put(body, "dimension", cli->words[0]);
    for (size_t i = 0; i < 2; i++) {
        const char *text = cli_option(cli, amounts[i]);
        int64_t amount;

        if (text == NULL)
            continue;
        if (fields_quota(cli->words[0], text, &amount, err) != 0)
            return error_prefix(err, "--%s", amounts[i]);
        (void)json_object_set_new(body, amounts[i], json_integer(amount));
    }
    put(body, "pool", cli_option(cli, "in-pool"));
    put(body, "class", cli_option(cli, "of-class"));
    put(body, "vendor", cli_option(cli, "of-vendor"));
    put(body, "model", cli_option(cli, "of-model"));
    if (user != NULL) {
        if (place_subject(cli, user, &id, err) != 0)
            return -1;
        put(body, "user", id);
    }
    return ask(cli, "quota", body, err);
}

static int
request_class(struct cli *cli, struct error *err)
{
    scoped_json body = json_object();

    put(body, "class", cli->words[0]);
    return ask(cli, "class", body, err);
}

static int
request_priority(struct cli *cli, struct error *err)
{
    scoped_json body = json_object();

    put(body, "priority", cli->words[0]);
    return ask(cli, "priority", body, err);
}

static int
request_reservation(struct cli *cli, struct error *err)
{
    static const char *const times[] = { "from", "to", "until" };
    scoped_json body = json_object();
    int64_t amount;

    if (fields_milli(cli->words[0], &amount, err) != 0)
        return error_prefix(err, "CARDS");
    (void)json_object_set_new(body, "limit", json_integer(amount));
    put(body, "pool", cli_option(cli, "in-pool"));
    put(body, "class", cli_option(cli, "of-class"));
    put(body, "every", cli_option(cli, "every"));
    if (cli_has(cli, "lend"))
        (void)json_object_set_new(body, "lend", json_true());
    for (size_t i = 0; i < 3; i++) {
        const char *text = cli_option(cli, times[i]);
        char field[16], time[CLOCK_TEXT_MAX];

        if (text == NULL)
            continue;
        if (fields_time(text, time, err) != 0)
            return error_prefix(err, "--%s", times[i]);
        (void)snprintf(field, sizeof(field), "%s_ms", times[i]);
        put(body, field, time);
    }
    return ask(cli, "reservation", body, err);
}

/* --- deciding --- */

static int
decide(struct cli *cli, const char *verb, const char *done,
       struct error *err)
{
    struct client_call call = { .method = "POST" };
    scoped_json body = json_object();
    scoped_json answer = NULL;

    put(body, "note", cli_option(cli, "note"));
    call.body = body;
    call.path = arena_printf(cli->arena, "/api/v1/requests/%s/%s",
                             cli->words[0], verb);
    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    output_done(cli, "request", cli->words[0], done, answer);
    return 0;
}

static int
approve(struct cli *cli, struct error *err)
{
    return decide(cli, "grant", "granted", err);
}

static int
deny(struct cli *cli, struct error *err)
{
    return decide(cli, "deny", "denied", err);
}

static int
withdraw(struct cli *cli, struct error *err)
{
    return decide(cli, "withdraw", "withdrawn", err);
}

static const struct command_option quota_options[] = {
    { "guaranteed", 'g', "AMOUNT", "guarantee that is needed" },
    { "limit", 'l', "AMOUNT", "limit that is needed" },
    { "in-pool", 0, "NAME", "only in this pool" },
    { "of-class", 0, "NAME", "only of this class" },
    { "of-vendor", 0, "NAME", "only cards of this vendor" },
    { "of-model", 0, "NAME", "only cards of this model" },
    { "of-user", 0, "NAME", "only this subject's work in the project" },
    { "reason", 'r', "TEXT", "what it is for" },
    PLACE_OPTIONS,
    { 0 },
};

static const struct command_option plain_options[] = {
    { "reason", 'r', "TEXT", "what it is for" },
    PLACE_OPTIONS,
    { 0 },
};

static const struct command_option reservation_options[] = {
    { "in-pool", 0, "NAME", "in this pool" },
    { "of-class", 0, "NAME", "of this class" },
    { "from", 0, "TIME", "from; default: when it is granted" },
    { "to", 0, "TIME", "up to, not including" },
    { "every", 0, "day|week", "again each day or week (UTC)" },
    { "until", 0, "TIME", "no window begins from then on" },
    { "lend", 0, NULL, "idle cards go to burst work of others" },
    { "reason", 'r', "TEXT", "what it is for" },
    PLACE_OPTIONS,
    { 0 },
};

static const struct command_option note_options[] = {
    { "note", 0, "TEXT", "for who asked" },
    { 0 },
};

const struct command command_request_quota = {
    .verb = "request",
    .noun = "quota",
    .words = "DIMENSION",
    .help = "Ask for more quota.",
    .more = "For example: bulkhead request quota cards -t research -g 8 "
            "--reason \"training of\nthe next model begins in May\"\n"
            "`bulkhead list requests` shows what became of it.",
    .options = quota_options,
    .words_min = 1,
    .words_max = 1,
    .run = request_quota,
};

const struct command command_request_class = {
    .verb = "request",
    .noun = "class",
    .words = "CLASS",
    .help = "Ask for a class that the tenant may not use yet.",
    .options = plain_options,
    .words_min = 1,
    .words_max = 1,
    .run = request_class,
};

const struct command command_request_priority = {
    .verb = "request",
    .noun = "priority",
    .words = "PRIORITY",
    .help = "Ask for a priority that the tenant may not use yet.",
    .options = plain_options,
    .words_min = 1,
    .words_max = 1,
    .run = request_priority,
};

const struct command command_request_reservation = {
    .verb = "request",
    .noun = "reservation",
    .words = "CARDS",
    .help = "Ask for cards to be kept for a time.",
    .more = "Times are RFC 3339, now, or +2h from now. For example:\n"
            "  bulkhead request reservation 4 -t research --in-pool main "
            "--from +1d --to +3d --reason exam\n"
            "Whoever grants it makes the reservation; `bulkhead what-if "
            "--request REQUEST` tells\nbefore what would start and who would "
            "be preempted.",
    .options = reservation_options,
    .words_min = 1,
    .words_max = 1,
    .run = request_reservation,
};

const struct command command_approve_request = {
    .verb = "approve",
    .noun = "request",
    .words = "REQUEST",
    .help = "Grant a request: the change is made at once.",
    .more = "`bulkhead what-if --request REQUEST` tells before what would start "
            "and who would be\npreempted. When the change is refused, the "
            "request stays open.",
    .options = note_options,
    .words_min = 1,
    .words_max = 1,
    .run = approve,
};

const struct command command_deny_request = {
    .verb = "deny",
    .noun = "request",
    .words = "REQUEST",
    .help = "Refuse a request, with a note for who asked.",
    .options = note_options,
    .words_min = 1,
    .words_max = 1,
    .run = deny,
};

const struct command command_withdraw_request = {
    .verb = "withdraw",
    .noun = "request",
    .words = "REQUEST",
    .help = "Take a request back.",
    .options = note_options,
    .words_min = 1,
    .words_max = 1,
    .run = withdraw,
};
