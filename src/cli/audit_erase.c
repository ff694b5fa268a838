/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit_log.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"

static int
erase(struct cli *cli, struct error *err)
{
    scoped_json body = json_pack("{s:s}", "subject", cli->words[0]);
    scoped_json answer = NULL;
    struct client_call call = { .method = "POST",
                                .path = arena_printf(cli->arena, "%s/erase",
                                                     audit_log_path(cli)),
                                .body = body };

    if (client_send(cli, &call, &answer, err) != 0)
        return -1;
    if (cli->form == OUTPUT_JSON || cli->form == OUTPUT_YAML)
        output_print(cli, NULL, answer);
    else if (cli->dry_run)
        output_line("personal parts would be destroyed (dry run)");
    else if (!cli->quiet)
        output_line("personal parts about %s below record %lld are being "
                    "destroyed; every hash and proof still holds",
                    json_string_value(json_object_get(answer, "subject")),
                    (long long)json_integer_value(
                        json_object_get(answer, "below")));
    return 0;
}

const struct command command_audit_erase = {
    .verb = "audit",
    .noun = "erase",
    .words = "SUBJECT",
    .help = "Destroy the personal parts of records about somebody.",
    .more = "SUBJECT is a user's name or an id. Name, address and parameters "
            "of all records that\nthe log has now, by or about that subject, "
            "are destroyed with their salt; what was\ndone, and every hash "
            "and proof, stays. Backups and exports that were made before "
            "keep\nthem. Needs audit.erase, a recent proof of identity and an "
            "approval; the order itself\nis a record.",
    .words_min = 1,
    .words_max = 1,
    .run = erase,
};
