/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/audit_log.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

#define LIMIT 50

void
audit_log_add_search(const struct cli *cli, struct buffer *path)
{
    static const char *const names[][2] = {
        { "actor", "actor" },       { "object", "object" },
        { "verb", "verb" },         { "decision", "decision" },
        { "since", "after" },       { "until", "until" },
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = cli_option(cli, names[i][0]);

        if (value == NULL)
            continue;
        buffer_printf(path, "&%s=", names[i][1]);
        http_encode(path, value);
    }
}

static int
get_page(const struct cli *cli, int64_t before, size_t limit, json_t **out,
         struct error *err)
{
    scoped_buffer path = { 0 };

    buffer_printf(&path, "%s?before=%lld&limit=%zu", audit_log_path(cli),
                  (long long)before, limit);
    audit_log_add_search(cli, &path);
    if (cli->word_count > 0) {
        buffer_add_text(&path, "&text=");
        http_encode(&path, cli->words[0]);
    }
    return client_get(cli, path.bytes, out, err);
}

/* The server looks at a bounded part of the log at a time, the newest first;
 * on and on until enough are found or the log begins. */
static int
search(struct cli *cli, struct error *err)
{
    scoped_json found = json_pack("{s:[]}", "items");
    json_t *items = json_object_get(found, "items");
    int64_t before = INT64_MAX / 4, limit;
    bool more = true;

    if (cli_option_int(cli, "limit", 1, 10000, LIMIT, &limit, err) != 0)
        return -1;
    while (more && (int64_t)json_array_size(items) < limit) {
        size_t left = (size_t)limit - json_array_size(items);
        scoped_json page = NULL;

        if (get_page(cli, before,
                     left < AUDIT_LOG_PAGE ? left : AUDIT_LOG_PAGE, &page,
                     err) != 0)
            return -1;
        (void)json_array_extend(items, json_object_get(page, "items"));
        before = json_integer_value(json_object_get(page, "next"));
        more = json_is_true(json_object_get(page, "more"));
        if (cli_interrupted())
            return error_set(err, ERROR_INTERRUPTED, "interrupted");
    }
    (void)json_object_set_new(found, "more", json_boolean(more));
    audit_log_print(cli, found);
    if (more && !cli->quiet && cli->form == OUTPUT_TABLE)
        output_line("there may be older ones: --until, --limit");
    return 0;
}

static const struct command_option options[] = {
    AUDIT_LOG_SEARCH,
    { "limit", 0, "N", "at most so many, the newest (1 to 10000; 50)" },
    { 0 },
};

const struct command command_audit_search = {
    .verb = "audit",
    .noun = "search",
    .words = "[TEXT]",
    .help = "Find records of the tenant's log, or the platform's.",
    .more = "All that is given must hold; TEXT stands anywhere in a record, in "
            "upper or lower\ncase. Names, addresses and parameters are found "
            "by those alone who may read\npersonal parts (audit.personal). "
            "The newest come first.",
    .options = options,
    .words_max = 1,
    .run = search,
};
