/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/screen.h"

static volatile sig_atomic_t interrupted;

static void
on_interrupt(int number)
{
    interrupted = number;
}

bool
cli_interrupted(void)
{
    return interrupted != 0;
}

/* --- options --- */

const char *
cli_option(const struct cli *cli, const char *name)
{
    for (int i = cli->option_count; i > 0; i--)
        if (strcmp(cli->options[i - 1].name, name) == 0)
            return cli->options[i - 1].value;
    return NULL;
}

bool
cli_has(const struct cli *cli, const char *name)
{
    return cli_option(cli, name) != NULL;
}

int
cli_option_int(const struct cli *cli, const char *name, int64_t min,
               int64_t max, int64_t absent, int64_t *out, struct error *err)
{
    const char *text = cli_option(cli, name);
    long long number;
    char *end;

    if (text == NULL) {
        *out = absent;
        return 0;
    }
    errno = 0;
    number = strtoll(text, &end, 10);
    if (*text == '\0' || *end != '\0' || errno != 0 || number < min ||
        number > max)
        return error_set(err, ERROR_INVALID,
                         "--%s is \"%.40s\", must be %lld to %lld", name,
                         text, (long long)min, (long long)max);
    *out = number;
    return 0;
}

static const struct command_option *
find_option(const struct command_option *list, const char *name, size_t size,
            char letter)
{
    for (; list != NULL && list->name != NULL; list++)
        if (letter != 0 ? list->letter == letter
                        : strlen(list->name) == size &&
                              strncmp(list->name, name, size) == 0)
            return list;
    return NULL;
}

static const struct command_option *
known_option(const struct cli *cli, const char *name, size_t size,
             char letter)
{
    const struct command_option *option =
        cli->command != NULL
            ? find_option(cli->command->options, name, size, letter)
            : NULL;

    return option != NULL ? option
                          : find_option(command_globals, name, size, letter);
}

static int
add_option(struct cli *cli, const char *name, const char *value,
           struct error *err)
{
    if (cli->option_count == CLI_OPTIONS_MAX)
        return error_set(err, ERROR_INVALID, "more than %d options",
                         CLI_OPTIONS_MAX);
    cli->options[cli->option_count++] = (struct cli_option){ name, value };
    return 0;
}

/* Takes the option at *at (and its value), long or short. */
static int
take_option(struct cli *cli, char **argv, int argc, int *at,
            struct error *err)
{
    const char *word = argv[*at];
    bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    size_t size = is_long ? strcspn(name, "=") : 1;
    const char *value = is_long ? (name[size] == '=' ? name + size + 1 : NULL)
                                : (name[1] != '\0' ? name + 1 : NULL);
    const struct command_option *option =
        known_option(cli, name, size, (char)(is_long ? '\0' : name[0]));

    if (option == NULL) {
        (void)error_set(err, ERROR_INVALID, "unknown option \"%.60s\"", word);
        return error_help(err, "add --help to see the options");
    }
    if (option->value == NULL) {
        if (value != NULL)
            return error_set(err, ERROR_INVALID, "--%s takes no value",
                             option->name);
        return add_option(cli, option->name, "", err);
    }
    if (value == NULL) {
        if (*at + 1 >= argc)
            return error_set(err, ERROR_INVALID, "--%s needs a value",
                             option->name);
        value = argv[++*at];
    }
    return add_option(cli, option->name, value, err);
}

static int
add_word(struct cli *cli, const char *word, struct error *err)
{
    if (cli->word_count == CLI_WORDS_MAX)
        return error_set(err, ERROR_INVALID, "more than %d words",
                         CLI_WORDS_MAX);
    cli->words[cli->word_count++] = word;
    return 0;
}

static int
parse_words(struct cli *cli, int argc, char **argv, int at,
            struct error *err)
{
    for (; at < argc; at++) {
        if (strcmp(argv[at], "--") == 0) {
            cli->dashes = cli->word_count;
            for (at++; at < argc; at++)
                if (add_word(cli, argv[at], err) != 0)
                    return -1;
            return 0;
        }
        if (argv[at][0] == '-' && argv[at][1] != '\0') {
            if (take_option(cli, argv, argc, &at, err) != 0)
                return -1;
        } else if (add_word(cli, argv[at], err) != 0) {
            return -1;
        }
    }
    return 0;
}

/* --- choosing the command --- */

/* The command that the first words name; *used_out words are taken. */
static const struct command *
find_command(int argc, char **argv, int *used_out)
{
    const struct command *found = NULL;

    for (const struct command *const *at = command_list; *at != NULL; at++) {
        if (argc < 1 || strcmp((*at)->verb, argv[0]) != 0)
            continue;
        if ((*at)->noun == NULL && found == NULL) {
            found = *at;
            *used_out = 1;
        }
        if ((*at)->noun != NULL && argc > 1 &&
            strcmp((*at)->noun, argv[1]) == 0) {
            *used_out = 2;
            return *at;
        }
    }
    return found;
}

static void
print_options(const struct command_option *list)
{
    for (; list != NULL && list->name != NULL; list++) {
        char left[64];

        (void)snprintf(left, sizeof(left), "%c%c%s--%s%s%s",
                       list->letter != 0 ? '-' : ' ',
                       list->letter != 0 ? list->letter : ' ',
                       list->letter != 0 ? ", " : "  ", list->name,
                       list->value != NULL ? " " : "",
                       list->value != NULL ? list->value : "");
        (void)printf("  %-30s %s\n", left, list->help);
    }
}

static void
print_command_help(const struct command *command)
{
    (void)printf("bulkhead %s%s%s%s%s [OPTION...]\n\n%s\n", command->verb,
                 command->noun != NULL ? " " : "",
                 command->noun != NULL ? command->noun : "",
                 command->words != NULL ? " " : "",
                 command->words != NULL ? command->words : "",
                 command->help);
    if (command->more != NULL)
        (void)printf("\n%s\n", command->more);
    if (command->options != NULL) {
        (void)printf("\nOptions:\n");
        print_options(command->options);
    }
    (void)printf("\nEverywhere:\n");
    print_options(command_globals);
}

static void
print_help(void)
{
    (void)printf("bulkhead COMMAND [WORD...] [OPTION...]\n\n"
                 "Shares GPU infrastructure between tenants.\n\nCommands:\n");
    for (const struct command *const *at = command_list; *at != NULL; at++) {
        char left[40];

        (void)snprintf(left, sizeof(left), "%s%s%s", (*at)->verb,
                       (*at)->noun != NULL ? " " : "",
                       (*at)->noun != NULL ? (*at)->noun : "");
        (void)printf("  %-20s %s\n", left, (*at)->help);
    }
    (void)printf("\nEverywhere:\n");
    print_options(command_globals);
    (void)printf("\nExit codes: 0 ok, 1 failed, 2 usage, 3 denied, 4 login "
                 "or step-up needed,\n5 approval pending, 6 not found, "
                 "7 conflict, 8 outside a quota or\ncondition not met, "
                 "9 verification failed, "
                 "75 temporary, 130 interrupted.\n"
                 "`bulkhead help COMMAND` says more of one command, `bulkhead "
                 "nouns` what there is.\n");
}

/* --- secrets and files --- */

static int
read_line(const char *prompt, char *secret, size_t room, struct error *err)
{
    bool terminal = isatty(STDIN_FILENO) == 1;
    struct termios before, silent;
    size_t used = 0;
    char c;

    if (terminal && tcgetattr(STDIN_FILENO, &before) == 0) {
        silent = before;
        silent.c_lflag &= (tcflag_t)~ECHO;
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &silent);
        (void)fprintf(stderr, "%s: ", prompt);
    }
    while (used + 1 < room && read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
        secret[used++] = c;
    secret[used] = '\0';
    secret[strcspn(secret, "\r")] = '\0';
    if (terminal) {
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
        (void)fputc('\n', stderr);
    }
    if (secret[0] == '\0')
        return error_set(err, ERROR_INVALID, "no %s was given", prompt);
    if (used + 1 == room)
        return error_set(err, ERROR_INVALID,
                         "the %s is longer than %zu characters", prompt,
                         room - 2);
    return 0;
}

int
cli_secret(const struct cli *cli, const char *option, const char *prompt,
           char *secret, size_t room, struct error *err)
{
    const char *path = cli_option(cli, option);
    scoped_buffer bytes = { 0 };
    size_t size;

    if (path == NULL || strcmp(path, "-") == 0)
        return read_line(prompt, secret, room, err);
    if (file_read(path, room - 1, &bytes, err) != 0)
        return error_prefix(err, "--%s", option);
    size = strcspn(buffer_text(&bytes), "\r\n");
    if (size == 0)
        return error_set(err, ERROR_INVALID, "--%s: the file is empty",
                         option);
    memcpy(secret, bytes.bytes, size);
    secret[size] = '\0';
    return 0;
}

int
cli_read_json(const char *path, json_t **out, struct error *err)
{
    scoped_buffer bytes = { 0 };

    if (file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, JSON_SIZE_MAX,
                  &bytes, err) != 0)
        return error_prefix(err, "%s", path);
    *out = json_read(buffer_text(&bytes), bytes.size, err);
    return *out != NULL ? 0 : error_prefix(err, "%s", path);
}

/* --- main --- */

static int
set_form(struct cli *cli, struct error *err)
{
    static const char *const forms[] = { "table", "wide", "json", "yaml",
                                         "csv",   "name", NULL };
    const char *wish = cli_option(cli, "output");

    cli->headers = !cli_has(cli, "no-headers");
    cli->dry_run = cli_has(cli, "dry-run");
    cli->quiet = cli_has(cli, "quiet");
    if (wish == NULL)
        return 0;
    for (int i = 0; forms[i] != NULL; i++)
        if (strcmp(forms[i], wish) == 0) {
            cli->form = (enum output_form)i;
            return 0;
        }
    return error_set(err, ERROR_INVALID,
                     "--output is \"%.40s\", must be table, wide, json, "
                     "yaml, csv or name",
                     wish);
}

static int
check_words(const struct cli *cli, struct error *err)
{
    const struct command *command = cli->command;

    if (cli->word_count >= command->words_min &&
        cli->word_count <= command->words_max)
        return 0;
    (void)error_set(err, ERROR_INVALID, "too %s words",
                    cli->word_count < command->words_min ? "few" : "many");
    return error_help(err, "bulkhead %s%s%s %s", command->verb,
                      command->noun != NULL ? " " : "",
                      command->noun != NULL ? command->noun : "",
                      command->words != NULL ? command->words : "");
}

static bool
asks_for_help(const struct cli *cli, int argc, char **argv)
{
    bool asks = cli_has(cli, "help");

    for (int i = 1; i < argc && !asks; i++)
        asks = strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
    return asks;
}

/* The first word is no command: it may begin one of two words. */
static int
no_command(const struct cli *cli, int argc, char **argv, struct error *err)
{
    scoped_buffer nouns = { 0 };
    bool help = asks_for_help(cli, argc, argv);

    for (const struct command *const *at = command_list; *at != NULL; at++) {
        if (strcmp((*at)->verb, argv[0]) != 0)
            continue;
        buffer_printf(&nouns, "%s%s", nouns.size > 0 ? ", " : "",
                      (*at)->noun);
        if (help)
            (void)printf("bulkhead %s %-12s %s\n", (*at)->verb, (*at)->noun,
                         (*at)->help);
    }
    if (nouns.size == 0) {
        (void)error_set(err, ERROR_INVALID, "there is no command \"%.60s\"",
                        argv[0]);
        return error_help(err, "`bulkhead --help` lists the commands");
    }
    if (help)
        return 0;
    (void)error_set(err, ERROR_INVALID, "%s needs one of these behind it: %s",
                    argv[0], nouns.bytes);
    return error_help(err, "`bulkhead %s --help` says what each does",
                      argv[0]);
}

static int
run(struct cli *cli, int argc, char **argv, struct error *err)
{
    int used = 0, at = 1;
    char version[] = "version";

    if (argc > 1 && strcmp(argv[1], "--version") == 0)
        argv[1] = version;
    /* Options that every command takes may stand before it. */
    for (; at < argc && argv[at][0] == '-'; at++)
        if (take_option(cli, argv, argc, &at, err) != 0)
            return -1;
    if (at + 1 < argc && strcmp(argv[at], "help") == 0) {
        at++;
        if (add_option(cli, "help", "", err) != 0)
            return -1;
    }
    cli->command = find_command(argc - at, argv + at, &used);
    if (cli->command == NULL && at < argc && strcmp(argv[at], "help") != 0)
        return no_command(cli, argc - at, argv + at, err);
    if (parse_words(cli, argc, argv, at + used, err) != 0)
        return -1;
    if (cli->command == NULL) {
        print_help();
        return argc > 1 ? 0
                        : error_set(err, ERROR_INVALID, "a command is needed");
    }
    if (cli_has(cli, "help")) {
        print_command_help(cli->command);
        return 0;
    }
    if (check_words(cli, err) != 0 || set_form(cli, err) != 0 ||
        context_load(cli, err) != 0)
        return -1;
    return cli->command->run(cli, err);
}

/* The next step, where the server has no better one. */
static const char *
way_out(const struct error *err)
{
    if (err->help[0] != '\0')
        return err->help;
    if (err->code == ERROR_STEP_UP)
        return "`bulkhead stepup`, then the same command again";
    if (err->code == ERROR_UNAUTHENTICATED)
        return "`bulkhead login USER`, with -t TENANT for a user of a tenant";
    if (err->code == ERROR_DENIED)
        return "`bulkhead whoami` lists your grants, `bulkhead can-i VERB` "
               "says what decides";
    if (err->code == ERROR_NOT_FOUND)
        return "check the name, -t and -p; what you may not see answers the "
               "same";
    if (err->code == ERROR_VERSION)
        return "somebody changed it meanwhile: look again, then repeat";
    return "";
}

static void
print_error(const struct cli *cli, const struct error *err)
{
    scoped_buffer json = { 0 };
    scoped_buffer text = { 0 };

    if (cli->form == OUTPUT_JSON) {
        buffer_add_text(&json, "{\"code\":");
        json_quote(&json, error_code_text(err->code));
        buffer_add_text(&json, ",\"detail\":");
        json_quote(&json, err->text);
        buffer_add_text(&json, ",\"field\":");
        json_quote(&json, err->field);
        buffer_add_text(&json, ",\"help\":");
        json_quote(&json, err->help);
        buffer_add_byte(&json, '}');
        screen_escape(&text, json.bytes, json.size);
        (void)fprintf(stderr, "%s\n", buffer_text(&text));
        return;
    }
    screen_clean(&text, err->text);
    (void)fprintf(stderr, "bulkhead: %s (%s)\n", buffer_text(&text),
                  error_code_text(err->code));
    buffer_clear(&text);
    screen_clean(&text, way_out(err));
    if (way_out(err)[0] != '\0')
        (void)fprintf(stderr, "  try: %s\n", buffer_text(&text));
}

int
cli_main(int argc, char **argv)
{
    const struct sigaction action = { .sa_handler = on_interrupt };
    struct cli *cli = memory_new(1, sizeof(*cli));
    struct error err = { 0 };
    int code = 0;

    (void)sigaction(SIGINT, &action, NULL);
    cli->arena = arena_new();
    cli->dashes = -1;
    if (run(cli, argc, argv, &err) != 0) {
        (void)fflush(stdout);
        print_error(cli, &err);
        code = error_exit_code(err.code);
    }
    if (fflush(stdout) != 0 && code == 0)
        code = 1;
    arena_free(cli->arena);
    free(cli);
    return code;
}
