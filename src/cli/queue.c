/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/place.h"

#define PAUSE_NS 700000000L

/* The first who reads estimates sets their computation off. */
static bool
is_pending(const json_t *answer)
{
    json_t *item;
    size_t i;

    json_array_foreach(json_object_get(answer, "items"), i, item) {
        const char *none = json_string_value(
            json_object_get(json_object_get(item, "estimate"), "none"));

        if (none != NULL && strcmp(none, "pending") == 0)
            return true;
    }
    return false;
}

static int
queue(struct cli *cli, struct error *err)
{
    static const struct column columns[] = {
        { "NAME", "name", 's', false },
        { "STATE", "state", 's', false },
        { "INSTANCES", "instances", 's', false },
        { "FORM", "form", 's', false },
        { "PROJECT", "parent", 's', true },
        { "REASON", "reason", 'r', false },
        { "SENTENCE", "reason_text", 's', false },
        { "STARTS", "estimate", 'f', false },
        { "ID", "id", 's', true },
        { "AGE", "submitted_ms", 'a', false },
        { 0 },
    };
    scoped_json answer = NULL;
    const char *path = "/api/v1/queue";

    if (cli->tenant != NULL) {
        scoped_buffer text = { 0 };

        buffer_add_text(&text, "/api/v1/tenants/");
        http_encode(&text, cli->tenant);
        buffer_add_text(&text, "/queue");
        path = arena_strdup(cli->arena, text.bytes);
    }
    if (client_list(cli, path, 100000, &answer, err) != 0)
        return -1;
    if (is_pending(answer)) {
        const struct timespec pause = { 0, PAUSE_NS };

        json_decref(answer);
        answer = NULL;
        (void)nanosleep(&pause, NULL);
        if (client_list(cli, path, 100000, &answer, err) != 0)
            return -1;
    }
    output_print(cli, columns, answer);
    return 0;
}

const struct command command_queue = {
    .verb = "queue",
    .help = "Show what waits and why.",
    .more = "gated: a quota or a rule stops it before it competes for cards. "
            "queued: it competes.\nheld: `bulkhead hold`. `bulkhead explain "
            "WORKLOAD` has the numbers.\nSTARTS: when it would start if what "
            "runs takes its longest run time and nothing\nelse is submitted, "
            "changed or broken; else why nobody knows: endless (work without "
            "a\nlongest run time is in its way), blocked, held, beyond (not "
            "within 7 days), depth\n(too much waits before it), pending (not "
            "computed yet).",
    .run = queue,
};
