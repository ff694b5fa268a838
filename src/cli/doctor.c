/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/version.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

#define DATA_DEFAULT "/var/lib/bulkhead"
/* A token is refused outside its time; so much between two clocks is no
 * matter. */
#define CLOCK_APART_MAX_MS 30000

void
doctor_find(json_t *findings, const char *check, enum doctor_state state,
            const char *fix, const char *fmt, ...)
{
    static const char *const states[] = { "ok", "warn", "fail" };
    char text[300];
    va_list list;

    va_start(list, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, list);
    va_end(list);
    (void)json_array_append_new(
        findings, json_pack("{s:s, s:s, s:s, s:s}", "check", check, "state",
                            states[state], "found", text, "fix", fix));
}

/* --- the server --- */

/* "Mon, 30 Nov 2026 20:00:00 GMT" (RFC 9110, 5.6.7) */
static bool
read_date(const char *text, int64_t *ms_out)
{
    struct tm parts = { 0 };
    const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &parts);

    if (end == NULL || *end != '\0')
        return false;
    *ms_out = (int64_t)timegm(&parts) * 1000;
    return true;
}

static void
check_clocks(const struct http_answer *answer, json_t *findings)
{
    char date[64];
    int64_t theirs, apart;

    if (http_header(answer, "Date", date, sizeof(date)) != 0 ||
        !read_date(date, &theirs))
        return;
    apart = clock_wall_ms() - theirs;
    if (apart > -CLOCK_APART_MAX_MS && apart < CLOCK_APART_MAX_MS)
        doctor_find(findings, "clocks", DOCTOR_OK, "",
                    "this machine and the server agree");
    else
        doctor_find(findings, "clocks", DOCTOR_FAIL,
                    "keep both in step by a time service; `bulkhead clock "
                    "confirm` takes over a jump of the server's",
                    "this machine is %lld s %s the server",
                    (long long)(apart < 0 ? -apart : apart) / 1000,
                    apart < 0 ? "behind" : "ahead of");
}

/* False when nobody is there to be asked more. */
static bool
check_ready(const struct cli *cli, json_t *findings)
{
    const struct http_request request = { .method = "GET",
                                          .path = "/readyz",
                                          .timeout_ms = 5000 };
    scoped_answer answer = { 0 };
    scoped_json body = NULL;
    const char *reason;
    struct error err = { 0 };

    if (http_send(&cli->target, &request, &answer, &err) != 0) {
        doctor_find(findings, "server", DOCTOR_FAIL,
                    "start bulkheadd, or name its address with --socket or "
                    "--url",
                    "%s", err.text);
        return false;
    }
    body = json_read(buffer_text(&answer.body), answer.body.size, &err);
    reason = json_string_value(json_object_get(body, "reason"));
    if (answer.status == 200)
        doctor_find(findings, "server", DOCTOR_OK, "", "ready");
    else
        doctor_find(findings, "server", DOCTOR_FAIL,
                    "the server's log says more: journalctl -u bulkheadd",
                    "not ready: %s", reason != NULL ? reason : "no reason");
    check_clocks(&answer, findings);
    return true;
}

static void
check_version(const struct cli *cli, json_t *findings)
{
    scoped_json answer = NULL;
    struct error err = { 0 };
    const char *theirs;

    if (client_get(cli, "/api/v1/version", &answer, &err) != 0)
        return;
    theirs = json_string_value(json_object_get(answer, "version"));
    if (theirs != NULL && strcmp(theirs, VERSION) == 0)
        doctor_find(findings, "version", DOCTOR_OK, "", "%s on both sides",
                    VERSION);
    else
        doctor_find(findings, "version", DOCTOR_WARN,
                    "take the bulkhead program of the server's version",
                    "bulkhead %s, bulkheadd %s", VERSION,
                    theirs != NULL ? theirs : "unknown");
}

/* Whoever reads the context file is whom it belongs to. */
static void
check_context(const struct cli *cli, json_t *findings)
{
    struct stat file;

    if (cli->context_path == NULL || stat(cli->context_path, &file) != 0)
        return;
    if ((file.st_mode & 077) == 0)
        doctor_find(findings, "context", DOCTOR_OK, "",
                    "only its owner reads %s", cli->context_path);
    else
        doctor_find(findings, "context", DOCTOR_FAIL,
                    "chmod 600 it, log out and in again: others could have "
                    "read the session",
                    "%s has mode %03o", cli->context_path,
                    (unsigned)file.st_mode & 0777);
}

/* Whether somebody is logged in. */
static bool
check_session(const struct cli *cli, json_t *findings)
{
    scoped_json answer = NULL;
    struct error err = { 0 };
    const char *name, *expires;

    if (client_get(cli, "/api/v1/whoami", &answer, &err) != 0) {
        doctor_find(findings, "session", DOCTOR_WARN,
                    "bulkhead login NAME [-t TENANT]", "%s", err.text);
        return false;
    }
    name = json_string_value(json_object_get(answer, "name"));
    expires = json_string_value(json_object_get(answer, "expires"));
    doctor_find(findings, "session", DOCTOR_OK, "", "%s, until %s",
                name != NULL ? name : "-",
                expires != NULL ? expires : "revoked");
    return true;
}

/* --- what only operators may ask --- */

static void
check_books(const struct cli *cli, json_t *findings)
{
    scoped_json answer = NULL;
    struct error err = { 0 };

    if (client_get(cli, "/api/v1/check", &answer, &err) != 0) {
        if (err.code != ERROR_DENIED && err.code != ERROR_NOT_FOUND)
            doctor_find(findings, "books", DOCTOR_FAIL, "bulkhead check",
                        "%s", err.text);
        return;
    }
    if (json_is_true(json_object_get(answer, "clean")))
        doctor_find(findings, "books", DOCTOR_OK, "",
                    "every counter is what its bindings add up to");
    else
        doctor_find(findings, "books", DOCTOR_FAIL,
                    "bulkhead check says which; keep a backup and tell the "
                    "developers",
                    "counters differ");
}

/* Alarms that stand, each with what it says. */
static void
check_alarms(const struct cli *cli, json_t *findings)
{
    scoped_json answer = NULL;
    struct error err = { 0 };
    const json_t *items, *alarm;
    size_t i, standing = 0;

    if (client_list(cli, "/api/v1/alarms", 1000, &answer, &err) != 0)
        return;
    items = json_object_get(answer, "items");
    json_array_foreach(items, i, alarm) {
        const char *code = json_string_value(json_object_get(alarm, "code"));
        const char *text = json_string_value(json_object_get(alarm, "text"));

        if (!json_is_null(json_object_get(alarm, "cleared_ms")))
            continue;
        standing++;
        doctor_find(findings, "alarm", DOCTOR_WARN,
                    "docs/operate.md, \"Alarms\", says what to do", "%s: %s",
                    code != NULL ? code : "-", text != NULL ? text : "-");
    }
    if (standing == 0)
        doctor_find(findings, "alarm", DOCTOR_OK, "", "none stands");
}

static void
check_nodes(const struct cli *cli, json_t *findings)
{
    scoped_json answer = NULL;
    struct error err = { 0 };
    const json_t *node;
    size_t i, lost = 0, all;

    if (client_list(cli, "/api/v1/nodes", 100000, &answer, &err) != 0)
        return;
    all = json_array_size(json_object_get(answer, "items"));
    json_array_foreach(json_object_get(answer, "items"), i, node) {
        const char *state = json_string_value(json_object_get(node, "state"));
        const char *name = json_string_value(json_object_get(node, "name"));

        if (state == NULL || strcmp(state, "lost") != 0)
            continue;
        lost++;
        doctor_find(findings, "node", DOCTOR_FAIL,
                    "look at bulkhead-agent there: systemctl status "
                    "bulkhead-agent",
                    "%s does not report", name != NULL ? name : "-");
    }
    if (all > 0 && lost == 0)
        doctor_find(findings, "node", DOCTOR_OK, "", "%zu, all report", all);
}

/* --- the command --- */

static const struct column columns[] = {
    { "CHECK", "check", 's', false },
    { "STATE", "state", 's', false },
    { "FOUND", "found", 's', false },
    { "FIX", "fix", 's', false },
    { 0 },
};

static size_t
count_failed(const json_t *findings)
{
    const json_t *one;
    size_t i, failed = 0;

    json_array_foreach(findings, i, one)
        failed += strcmp(json_string_value(json_object_get(one, "state")),
                         "fail") == 0;
    return failed;
}

static int
doctor(struct cli *cli, struct error *err)
{
    const char *data = cli_option(cli, "data");
    scoped_json findings = json_array();
    scoped_json list = NULL;
    size_t failed;

    if (cli_has(cli, "machine")) {
        doctor_machine("", data != NULL ? data : DATA_DEFAULT, findings);
    } else {
        check_context(cli, findings);
        if (check_ready(cli, findings)) {
            check_version(cli, findings);
            if (cli->token != NULL && check_session(cli, findings)) {
                check_books(cli, findings);
                check_nodes(cli, findings);
                check_alarms(cli, findings);
            }
        }
    }
    failed = count_failed(findings);
    list = json_pack("{s:O}", "items", findings);
    output_print(cli, columns, list);
    if (failed == 0)
        return 0;
    (void)fflush(stdout);
    return error_set(err, ERROR_CONDITION, "%zu check%s failed", failed,
                     failed == 1 ? "" : "s");
}

static const struct command_option options[] = {
    { "machine", 0, NULL, "look at this machine as a node, ask no server" },
    { "data", 0, "DIR", "where its files are; /var/lib/bulkhead" },
    { 0 },
};

const struct command command_doctor = {
    .verb = "doctor",
    .help = "Look for what is wrong, and say what helps.",
    .more = "Without options: the server, the session and, for those who may "
            "see them, counters,\nnodes and alarms. With --machine: what a "
            "node needs of the machine it is run on.\nExit code 8 when a "
            "check failed; warnings alone are 0.",
    .options = options,
    .run = doctor,
};
