/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/place.h"

/* Words come from the command table alone, so completion asks no server and
 * cannot tell names. */

static void
print_verbs(const char *separator)
{
    for (const struct command *const *at = command_list; *at != NULL; at++)
        if ((*at)->noun == NULL ||
            (at > command_list && strcmp((*at)->verb, "audit") == 0 &&
             strcmp(at[-1]->verb, "audit") != 0))
            (void)printf("%s%s", (*at)->verb, separator);
}

static void
print_nouns(const char *separator)
{
    struct error ignored;
    enum kind kind;

    for (unsigned i = KIND_NONE + 1; i < KIND_COUNT; i++)
        if (place_kind(schema_get((enum kind)i)->name, &kind, &ignored) == 0)
            (void)printf("%s%s", schema_get((enum kind)i)->name, separator);
}

static void
print_options(const struct command_option *list, const char *format)
{
    for (; list != NULL && list->name != NULL; list++)
        (void)printf("%s%s ", format, list->name);
}

/* Options by the first two words. */
static void
print_cases(bool two_words)
{
    for (const struct command *const *at = command_list; *at != NULL; at++) {
        if (((*at)->noun != NULL) != two_words)
            continue;
        (void)printf("    \"%s %s\"%s) words=\"", (*at)->verb,
                     two_words ? (*at)->noun : "", two_words ? "" : "*");
        print_options((*at)->options, "--");
        print_options(command_globals, "--");
        (void)printf("\" ;;\n");
    }
}

static void
print_bash(void)
{
    (void)printf("_bulkhead() {\n  local words= "
                 "cur=${COMP_WORDS[COMP_CWORD]} "
                 "prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                 "  if [ \"$COMP_CWORD\" = 1 ]; then\n    words=\"");
    print_verbs(" ");
    (void)printf("\"\n  elif [ \"$COMP_CWORD\" = 2 ] && case $cur in -*) "
                 "false;; esac; then\n    case ${COMP_WORDS[1]} in\n"
                 "    get|create|set|delete) words=\"");
    print_nouns(" ");
    (void)printf("\" ;;\n    audit) "
                 "words=\"tail search export verify prove check-proof witness "
                 "rotate-key erase strangers retention\" ;;\n"
                 "    completion) words=\"bash zsh fish\" ;;\n    esac\n"
                 "  elif case $prev in -o|--output) true;; *) false;; esac; "
                 "then\n    words=\"table wide json yaml csv name\"\n"
                 "  else\n    case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" "
                 "in\n");
    print_cases(true);
    print_cases(false);
    (void)printf("    esac\n  fi\n"
                 "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
                 "complete -F _bulkhead bulkhead\n");
}

static void
print_zsh(void)
{
    (void)printf("#compdef bulkhead\nautoload -U +X bashcompinit && "
                 "bashcompinit\n");
    print_bash();
}

/* Descriptions hold no single quotes; the test looks. */
static void
print_fish(void)
{
    for (const struct command *const *at = command_list; *at != NULL; at++) {
        if ((*at)->noun == NULL)
            (void)printf("complete -c bulkhead -n __fish_use_subcommand -f "
                         "-a %s -d \"%s\"\n",
                         (*at)->verb, (*at)->help);
        for (const struct command_option *option = (*at)->options;
             option != NULL && option->name != NULL; option++)
            (void)printf("complete -c bulkhead -n "
                         "\"__fish_seen_subcommand_from %s\" -l %s\n",
                         (*at)->verb, option->name);
    }
    (void)printf("complete -c bulkhead -n \"__fish_seen_subcommand_from get "
                 "create set delete\" -f -a \"");
    print_nouns(" ");
    (void)printf("\"\n");
}

static int
completion(struct cli *cli, struct error *err)
{
    const char *shell = cli->words[0];

    if (strcmp(shell, "bash") == 0)
        print_bash();
    else if (strcmp(shell, "zsh") == 0)
        print_zsh();
    else if (strcmp(shell, "fish") == 0)
        print_fish();
    else
        return error_set(err, ERROR_INVALID,
                         "\"%.40s\" is not bash, zsh or fish", shell);
    return 0;
}

const struct command command_completion = {
    .verb = "completion",
    .words = "bash|zsh|fish",
    .help = "Print a completion script for a shell.",
    .more = "For example: source <(bulkhead completion bash)",
    .words_min = 1,
    .words_max = 1,
    .run = completion,
};
