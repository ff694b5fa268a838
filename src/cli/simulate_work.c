/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/output.h"
#include "trace/replay.h"

#define ARRIVALS_BYTES_MAX ((size_t)256 * 1024 * 1024)

static int
read_options(const struct cli *cli, struct replay_options *options,
             struct error *err)
{
    static const struct {
        const char *name;
        size_t offset;
    } times[] = {
        { "start-time", offsetof(struct replay_options, nodes.start_ms) },
        { "scrub-time", offsetof(struct replay_options, nodes.scrub_ms) },
        { "stop-time", offsetof(struct replay_options, nodes.stop_ms) },
        { "until", offsetof(struct replay_options, until_ms) },
    };

    *options = (struct replay_options){ .nodes.stop_ms = -1,
                                        .decisions = INT64_MAX };
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        const char *text = cli_option(cli, times[i].name);
        int64_t *at = (int64_t *)(void *)((char *)options + times[i].offset);

        if (text != NULL && fields_duration(text, at, err) != 0)
            return error_prefix(err, "--%s", times[i].name);
    }
    return 0;
}

static void
print_report(const json_t *report)
{
    static const struct {
        const char *title, *list, *field;
    } lines[] = {
        { "submitted", "work", "submitted" },
        { "refused", "work", "refused" },
        { "finished", "work", "finished" },
        { "still waiting", "work", "waiting" },
        { "preemptions", "work", "preemptions" },
        { "cards", "cards", "total" },
        { "used, permille", "cards", "used_permille" },
        { "idle, permille", "cards", "idle_permille" },
        { "wait p50, ms", "wait_ms", "p50" },
        { "wait p95, ms", "wait_ms", "p95" },
        { "wait max, ms", "wait_ms", "max" },
    };
    const json_t *violations = json_object_get(report, "violations");
    json_t *text;
    size_t i;

    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        output_line("%-16s %lld", lines[i].title,
                    (long long)json_integer_value(json_object_get(
                        json_object_get(report, lines[i].list),
                        lines[i].field)));
    output_line("%-16s %lld", "fairness, permille",
                (long long)json_integer_value(
                    json_object_get(report, "fairness_permille")));
    output_line("%-16s %lld", "violations",
                (long long)json_integer_value(
                    json_object_get(report, "violation_count")));
    json_array_foreach(violations, i, text)
        output_line("  %s", json_string_value(text));
    output_line("%-16s %s", "digest",
                json_string_value(json_object_get(report, "digest")));
}

static int
print_all(const struct cli *cli, const json_t *report)
{
    static const struct column tenants[] = {
        { "TENANT", "tenant", 's', false },
        { "SUBMITTED", "submitted", 's', false },
        { "REFUSED", "refused", 's', false },
        { "FINISHED", "finished", 's', false },
        { "WAITING", "waiting", 's', false },
        { "PREEMPTED", "preempted", 's', false },
        { "WAIT-P50-MS", "wait_p50_ms", 's', false },
        { "WAIT-P95-MS", "wait_p95_ms", 's', false },
        { "CARD-HOURS", "card_hours_milli", 'm', false },
        { "GUARANTEED", "guaranteed", 'm', false },
        { 0 },
    };
    scoped_json list =
        json_pack("{s:O}", "items", json_object_get(report, "tenants"));

    if (cli->form == OUTPUT_TABLE || cli->form == OUTPUT_WIDE) {
        print_report(report);
        output_print(cli, tenants, list);
    } else if (cli->form == OUTPUT_CSV || cli->form == OUTPUT_NAME) {
        output_print(cli, tenants, list);
    } else {
        output_print(cli, tenants, report);
    }
    return 0;
}

static int
simulate(struct cli *cli, struct error *err)
{
    struct replay_options options;
    struct scenario scenario;
    struct arrivals arrivals;
    scoped_buffer text = { 0 };
    scoped_json estate = NULL;
    scoped_json report = NULL;

    if (read_options(cli, &options, err) != 0 ||
        cli_read_json(cli->words[0], &estate, err) != 0)
        return -1;
    if (file_read(cli->words[1], ARRIVALS_BYTES_MAX, &text, err) != 0)
        return error_prefix(err, "%s", cli->words[1]);
    if (arrivals_read(buffer_text(&text), cli->arena, &arrivals, err) != 0)
        return error_prefix(err, "%s", cli->words[1]);
    if (scenario_build(estate, &scenario, err) != 0)
        return error_prefix(err, "%s", cli->words[0]);
    if (replay_run(&scenario, &arrivals, &options, &report, err) != 0)
        return error_prefix(err, "%s", cli->words[1]);
    (void)print_all(cli, report);
    if (json_integer_value(json_object_get(report, "violation_count")) > 0)
        return error_set(err, ERROR_VERIFY, "a rule was broken");
    return 0;
}

static const struct command_option options[] = {
    { "until", 0, "TIME", "end then; else when nothing more happens" },
    { "start-time", 0, "TIME", "from assignment to running: 5s; none" },
    { "scrub-time", 0, "TIME", "handover of a card: 10s; none" },
    { "stop-time", 0, "TIME", "from notice to gone; else the whole grace" },
    { 0 },
};

const struct command command_simulate_work = {
    .verb = "simulate",
    .words = "ESTATE.json WORK.csv",
    .help = "Run the scheduler on an estate and a list of work from files.",
    .more = "Waits, use of the cards, fairness, preemptions and every broken "
            "rule (there should be\nnone), without a server. "
            "docs/simulate.md describes the files. The same files give\n"
            "the same digest on every machine.",
    .options = options,
    .words_min = 2,
    .words_max = 2,
    .run = simulate,
};
