/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

/* "tenant-admin at tenant research", one line each. */
static void
print_grants(const struct cli *cli, const json_t *answer)
{
    const json_t *grants = json_object_get(answer, "grants");
    json_t *grant;
    size_t i;

    if (cli->quiet)
        return;
    if (json_array_size(grants) == 0)
        output_line("no grants: whoever administers the tenant or project "
                    "makes one (`bulkhead create grant`)");
    json_array_foreach(grants, i, grant) {
        const char *role = json_string_value(json_object_get(grant, "role"));
        const char *at = json_string_value(json_object_get(grant, "at"));
        const char *to = json_string_value(json_object_get(grant, "to"));
        const char *group =
            json_string_value(json_object_get(grant, "group_name"));

        output_line("%s at %s%s%s%s%s", role != NULL ? role : "-",
                    at != NULL ? at : "-", to != NULL ? " until " : "",
                    to != NULL ? to : "", group != NULL ? " by group " : "",
                    group != NULL ? group : "");
    }
}

static int
whoami(struct cli *cli, struct error *err)
{
    static const struct column columns[] = {
        { "NAME", "name", 's', false },
        { "TYPE", "kind", 's', false },
        { "TENANT", "tenant_name", 's', false },
        { "EXPIRES", "expires", 't', false },
        { "PROVED", "proved", 't', true },
        { "CREDENTIAL", "credential", 's', true },
        { "ID", "id", 's', true },
        { 0 },
    };
    scoped_json answer = NULL;

    if (client_get(cli, "/api/v1/whoami", &answer, err) != 0)
        return -1;
    output_print(cli, columns, answer);
    if (cli->form == OUTPUT_TABLE || cli->form == OUTPUT_WIDE)
        print_grants(cli, answer);
    return 0;
}

const struct command command_whoami = {
    .verb = "whoami",
    .help = "Say who asks, by which credential, with which grants.",
    .run = whoami,
};
