/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

const struct command *const command_list[] = {
#define COMMAND_ENTRY(name) &command_##name,
    COMMANDS(COMMAND_ENTRY)
#undef COMMAND_ENTRY
    NULL,
};

const struct command_option command_globals[] = {
    { "help", 'h', NULL, "say what the command does" },
    { "output", 'o', "FORM", "table, wide, json, yaml, csv or name" },
    { "no-headers", 0, NULL, "tables and CSV without their first line" },
    { "tenant", 't', "NAME", "tenant (BULKHEAD_TENANT, context)" },
    { "project", 'p', "NAME", "project (BULKHEAD_PROJECT, context)" },
    { "socket", 0, "PATH", "Unix socket of the server (BULKHEAD_SOCKET)" },
    { "url", 0, "URL", "or its address, http://127.0.0.1:7080 "
                       "(BULKHEAD_URL)" },
    { "ask-approval", 0, "REASON",
      "do not do it: ask other people for it" },
    { "approval", 0, "ID", "do it by this approval" },
    { "dry-run", 0, NULL, "say what would happen, change nothing" },
    { "quiet", 'q', NULL, "print only what was asked for" },
    { 0 },
};
