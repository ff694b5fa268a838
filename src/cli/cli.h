/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/http.h"
#include "base/json.h"

/*
 * What does a command have at hand?  Its words and options, where the server
 * is, who asks, and how to print.  Precedence everywhere: flag, environment,
 * context file.
 *
 * Environment: BULKHEAD_SOCKET, BULKHEAD_URL, BULKHEAD_TOKEN,
 * BULKHEAD_TENANT, BULKHEAD_PROJECT, BULKHEAD_CONTEXT (the context file;
 * default $XDG_CONFIG_HOME/bulkhead/context.json or ~/.config/...),
 * NO_COLOR.
 */

enum output_form {
    OUTPUT_TABLE,
    OUTPUT_WIDE,
    OUTPUT_JSON,
    OUTPUT_YAML,
    OUTPUT_CSV,
    OUTPUT_NAME,
};

#define CLI_WORDS_MAX 64
#define CLI_OPTIONS_MAX 64

struct cli_option {
    const char *name; /* without dashes; short ones are mapped to long */
    const char *value; /* "" for switches */
};

struct cli {
    struct arena *arena;
    const struct command *command;
    const char *words[CLI_WORDS_MAX]; /* behind verb and noun */
    int word_count;
    int dashes; /* words before "--"; -1: there was none */
    struct cli_option options[CLI_OPTIONS_MAX];
    int option_count;
    struct http_target target;
    const char *token; /* NULL: not logged in */
    const char *tenant;
    const char *project;
    const char *context_path;
    enum output_form form;
    bool headers;
    bool dry_run;
    bool quiet;
};

/* One command: a file of its own with one const entry. */
struct command_option {
    const char *name;  /* long name without dashes */
    char letter;       /* 0: none */
    const char *value; /* what its value is, "FILE"; NULL: a switch */
    const char *help;
};
struct command {
    const char *verb;
    const char *noun;  /* second word, or NULL */
    const char *words; /* "NAME [FIELD=VALUE...]", for usage */
    const char *help;  /* one sentence */
    const char *more;  /* paragraphs for --help, or NULL */
    const struct command_option *options; /* name NULL ends; may be NULL */
    int words_min, words_max;
    /* 0, or -1 with err; the exit code is the error's. */
    int (*run)(struct cli *cli, struct error *err);
};

/* The value of an option; NULL when not given, "" for a switch. */
const char *cli_option(const struct cli *cli, const char *name);
bool cli_has(const struct cli *cli, const char *name);
/* An integer option or absent; fails when malformed or out of bounds. */
int cli_option_int(const struct cli *cli, const char *name, int64_t min,
                   int64_t max, int64_t absent, int64_t *out,
                   struct error *err);
/* Reads a secret: from the file that the option names, "-" and absent: one
 * line of standard input, without echo on a terminal.  Never from argv. */
int cli_secret(const struct cli *cli, const char *option, const char *prompt,
               char *secret, size_t room, struct error *err);
/* Reads FILE or "-" whole as JSON. */
int cli_read_json(const char *path, json_t **out, struct error *err);
/* Was an interrupt asked for? (for loops that wait) */
bool cli_interrupted(void);

/* The whole program; returns the exit code. */
int cli_main(int argc, char **argv);

#endif
