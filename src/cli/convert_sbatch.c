/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TEXT_MAX 256

/* What the #SBATCH lines say, as far as it has a counterpart. */
struct asked {
    char name[TEXT_MAX];
    char model[TEXT_MAX];
    int64_t nodes, tasks, tasks_per_node, cpus_per_task;
    int64_t cards, cards_per_node, cards_per_task;
    int64_t memory_mib, memory_per_cpu_mib, memory_per_card_mib;
    int64_t run_s, grace_s; /* 0: none */
    char workdir[TEXT_MAX];
    json_t *notes;
};

/* --- values --- */

/* A count at the beginning of text; -1 when there is none. */
static int64_t
number(const char *text, const char **rest)
{
    size_t size = strspn(text, "0123456789");

    if (size == 0 || size > 12)
        return -1;
    if (rest != NULL)
        *rest = text + size;
    return strtoll(text, NULL, 10);
}

static int
read_count(const char *option, const char *text, int64_t *out,
           struct error *err)
{
    const char *rest;
    int64_t count = number(text, &rest);

    /* --nodes may be a range; the least is what is waited for. */
    if (count < 1 || (*rest != '\0' && *rest != '-'))
        return error_set(err, ERROR_INVALID, "--%s=%.60s: not a count", option,
                         text);
    *out = count;
    return 0;
}

/* N[K|M|G|T], MiB without a letter. */
static int
read_memory(const char *option, const char *text, int64_t *out,
            struct error *err)
{
    const char *rest;
    int64_t amount = number(text, &rest);

    if (amount >= 0 && (*rest == '\0' || *rest == 'M' || *rest == 'm'))
        *out = amount;
    else if (amount >= 0 && (*rest == 'G' || *rest == 'g'))
        *out = amount * 1024;
    else if (amount >= 0 && (*rest == 'T' || *rest == 't'))
        *out = amount * 1024 * 1024;
    else if (amount >= 0 && (*rest == 'K' || *rest == 'k'))
        *out = (amount + 1023) / 1024;
    else
        return error_set(err, ERROR_INVALID,
                         "--%s=%.60s: not an amount of memory", option, text);
    return 0;
}

/* M, M:S, H:M:S, D-H, D-H:M, D-H:M:S; UNLIMITED and INFINITE are none. */
static int
read_time(const char *text, int64_t *seconds_out, struct error *err)
{
    int64_t days = 0, part[3] = { 0 };
    const char *at = text, *dash = strchr(text, '-');
    int count = 0;

    *seconds_out = 0;
    if (strcasecmp(text, "UNLIMITED") == 0 ||
        strcasecmp(text, "INFINITE") == 0)
        return 0;
    if (dash != NULL) {
        days = number(text, &at);
        at = days >= 0 && at == dash ? dash + 1 : "x";
    }
    for (; count < 3; at++) {
        part[count] = number(at, &at);
        if (part[count++] < 0 || *at != ':')
            break;
    }
    if (count == 0 || part[count - 1] < 0 || *at != '\0')
        return error_set(err, ERROR_INVALID,
                         "--time=%.60s: not minutes, H:M:S or D-H:M:S", text);
    if (dash != NULL)
        *seconds_out =
            days * 86400 + part[0] * 3600 + part[1] * 60 + part[2];
    else if (count == 3)
        *seconds_out = part[0] * 3600 + part[1] * 60 + part[2];
    else
        *seconds_out = part[0] * 60 + part[1];
    return 0;
}

/* [gpu:][MODEL:]N of --gres, --gpus and their kin; several by commas. */
static int
read_cards(struct asked *asked, const char *option, const char *text,
           int64_t *out, struct error *err)
{
    size_t size = strcspn(text, ",");
    char one[TEXT_MAX];
    char *count;

    if (text[size] == ',')
        convert_note(asked->notes, "--%s=%.100s: only the first is kept",
                     option, text);
    (void)snprintf(one, sizeof(one), "%.*s", (int)size, text);
    if (strcmp(option, "gres") == 0) {
        if (strcmp(one, "gpu") != 0 && strncmp(one, "gpu:", 4) != 0) {
            convert_note(asked->notes, "--gres=%.100s: left out", one);
            return 0;
        }
        memmove(one, one + (one[3] == ':' ? 4 : 3),
                strlen(one + (one[3] == ':' ? 4 : 3)) + 1);
    }
    count = strrchr(one, ':');
    count = count != NULL ? count + 1 : one;
    *out = 1;
    if (*count >= '0' && *count <= '9') {
        if (read_count(option, count, out, err) != 0)
            return -1;
        if (count > one)
            count[-1] = '\0';
        else
            one[0] = '\0';
    }
    if (one[0] != '\0')
        (void)snprintf(asked->model, sizeof(asked->model), "%s", one);
    return 0;
}

/* [[R][B]:]SIGNAL[@SECONDS] */
static void
read_signal(struct asked *asked, const char *text)
{
    const char *at = strchr(text, '@');

    asked->grace_s = at != NULL ? number(at + 1, NULL) : 60;
    convert_note(asked->notes,
                 "--signal=%.60s: notice comes as a file and SIGTERM, "
                 "grace says how long before the stop",
                 text);
}

/* --- options --- */

/* Long names of those that are known by a letter. */
static const struct {
    char letter;
    const char *name;
} letters[] = {
    { 'J', "job-name" },      { 't', "time" },   { 'N', "nodes" },
    { 'n', "ntasks" },        { 'c', "cpus-per-task" },
    { 'G', "gpus" },          { 'D', "chdir" },  { 'p', "partition" },
    { 'A', "account" },       { 'q', "qos" },    { 'a', "array" },
    { 'd', "dependency" },    { 'o', "output" }, { 'e', "error" },
    { 'i', "input" },         { 'w', "nodelist" }, { 'x', "exclude" },
    { 'C', "constraint" },    { 'b', "begin" },  { 'L', "licenses" },
    { 'k', "no-kill" },       { 'H', "hold" },   { 'W', "wait" },
    { 's', "oversubscribe" }, { 'M', "clusters" },
};

/* Those that need no value. */
static bool
is_switch(const char *name)
{
    static const char *const list[] = {
        "exclusive", "requeue",  "no-requeue",    "hold",       "no-kill",
        "overcommit", "contiguous", "oversubscribe", "wait", "spread-job",
        "use-min-nodes", "reboot", "quiet", "parsable", "verbose",
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

/* What to do about options that have another counterpart. */
static void
advise(json_t *notes, const char *name, const char *value)
{
    static const struct {
        const char *name, *text;
    } list[] = {
        { "partition", "submit into a pool with `pool:`, or leave it out: "
                       "the class decides" },
        { "account", "the project it belongs to: bulkhead submit -p PROJECT" },
        { "qos", "choose a priority class: `bulkhead get priorities`" },
        { "array", "no counterpart yet: submit one manifest for each index" },
        { "dependency", "no counterpart yet: submit when the other has "
                        "ended, `bulkhead wait NAME`" },
        { "output", "what it writes is kept: `bulkhead logs NAME`" },
        { "error", "what it writes is kept: `bulkhead logs NAME`" },
        { "export", "the environment is not carried over: write env:" },
        { "requeue", "preempted work waits again by itself; `restarts:` "
                     "starts it after a failed exit" },
        { "no-requeue", "`preemptible: false` if it fits the guarantee" },
        { "exclusive", "a whole node is a class with all its cards" },
        { "hold", "`bulkhead hold NAME` before it starts" },
        { "begin", "no counterpart: submit it then, or reserve cards: "
                   "`bulkhead create reservation`" },
        { "reservation", "reserved cards are used by the tenant's or "
                         "project's work by itself" },
        { "constraint", "`requires:` names least versions, the class names "
                        "the model" },
        { "nodelist", "nodes are not chosen by name" },
        { "exclude", "nodes are not chosen by name" },
    };
    const char *text = "no counterpart, left out";

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (strcmp(name, list[i].name) == 0)
            text = list[i].text;
    convert_note(notes, "--%s%s%.100s: %s", name, value[0] != '\0' ? "=" : "",
                 value, text);
}

static int
take_option(struct asked *asked, const char *name, const char *value,
            struct error *err)
{
    const struct {
        const char *name;
        int64_t *count, *memory, *cards;
        char *text;
    } list[] = {
        { "nodes", &asked->nodes, NULL, NULL, NULL },
        { "ntasks", &asked->tasks, NULL, NULL, NULL },
        { "ntasks-per-node", &asked->tasks_per_node, NULL, NULL, NULL },
        { "cpus-per-task", &asked->cpus_per_task, NULL, NULL, NULL },
        { "mem", NULL, &asked->memory_mib, NULL, NULL },
        { "mem-per-cpu", NULL, &asked->memory_per_cpu_mib, NULL, NULL },
        { "mem-per-gpu", NULL, &asked->memory_per_card_mib, NULL, NULL },
        { "gres", NULL, NULL, &asked->cards_per_node, NULL },
        { "gpus-per-node", NULL, NULL, &asked->cards_per_node, NULL },
        { "gpus-per-task", NULL, NULL, &asked->cards_per_task, NULL },
        { "gpus", NULL, NULL, &asked->cards, NULL },
        { "job-name", NULL, NULL, NULL, asked->name },
        { "chdir", NULL, NULL, NULL, asked->workdir },
    };

    if (strcmp(name, "time") == 0)
        return read_time(value, &asked->run_s, err);
    if (strcmp(name, "signal") == 0) {
        read_signal(asked, value);
        return 0;
    }
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        if (strcmp(name, list[i].name) != 0)
            continue;
        if (list[i].count != NULL)
            return read_count(name, value, list[i].count, err);
        if (list[i].memory != NULL)
            return read_memory(name, value, list[i].memory, err);
        if (list[i].cards != NULL)
            return read_cards(asked, name, value, list[i].cards, err);
        (void)snprintf(list[i].text, TEXT_MAX, "%s", value);
        return 0;
    }
    advise(asked->notes, name, value);
    return 0;
}

/* The next word of a line, quotes taken off; false at its end. */
static bool
next_word(const char **line, char *word, size_t room)
{
    const char *at = *line + strspn(*line, " \t");
    size_t used = 0;
    char quote = '\0';

    if (*at == '\0' || *at == '#')
        return false;
    for (; *at != '\0' && (quote != '\0' || (*at != ' ' && *at != '\t'));
         at++) {
        if (quote == '\0' && (*at == '"' || *at == '\''))
            quote = *at;
        else if (*at == quote)
            quote = '\0';
        else if (used < room - 1)
            word[used++] = *at;
    }
    word[used] = '\0';
    *line = at;
    return true;
}

/* "--name=value", "--name value", "-n value", "-nvalue". */
static int
read_option(struct asked *asked, const char *word, const char **line,
            struct error *err)
{
    char name[TEXT_MAX] = "", value[TEXT_MAX] = "";
    const char *given = NULL;

    if (strncmp(word, "--", 2) == 0) {
        size_t size = strcspn(word + 2, "=");

        (void)snprintf(name, sizeof(name), "%.*s", (int)size, word + 2);
        given = word[2 + size] == '=' ? word + 3 + size : NULL;
    } else if (word[0] == '-' && word[1] != '\0') {
        (void)snprintf(name, sizeof(name), "%c", word[1]);
        for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
            if (letters[i].letter == word[1])
                (void)snprintf(name, sizeof(name), "%s", letters[i].name);
        given = word[2] != '\0' ? word + 2 : NULL;
    } else {
        return error_set(err, ERROR_INVALID,
                         "\"%.60s\" is not an option of sbatch", word);
    }
    if (given != NULL)
        (void)snprintf(value, sizeof(value), "%s", given);
    else if (!is_switch(name) && !next_word(line, value, sizeof(value)))
        return error_set(err, ERROR_INVALID, "--%.60s has no value", name);
    return take_option(asked, name, value, err);
}

static int
read_line(struct asked *asked, const char *line, struct error *err)
{
    char word[TEXT_MAX];

    while (next_word(&line, word, sizeof(word)))
        if (read_option(asked, word, &line, err) != 0)
            return -1;
    return 0;
}

/* --- the script --- */

/* Options stand above the first line that is a command. */
static int
read_head(struct asked *asked, const char *text, struct error *err)
{
    size_t row = 0;

    for (const char *at = text; *at != '\0'; row++) {
        size_t size = strcspn(at, "\n");
        char line[1024];

        (void)snprintf(line, sizeof(line), "%.*s",
                       (int)(size < sizeof(line) ? size : sizeof(line) - 1),
                       at);
        line[strcspn(line, "\r")] = '\0';
        if (line[strspn(line, " \t")] != '\0' && line[0] != '#')
            return 0;
        if (strncmp(line, "#SBATCH", 7) == 0 &&
            strchr(" \t", line[7]) != NULL &&
            read_line(asked, line + 7, err) != 0)
            return error_prefix(err, "line %zu", row + 1);
        at += size + (at[size] == '\n');
    }
    return 0;
}

/* What only Slurm's own programs and variables do. */
static void
note_words(const char *text, json_t *notes)
{
    static const struct {
        const char *word, *text;
    } list[] = {
        { "srun", "srun: the command runs once in each instance; take srun "
                  "away" },
        { "module load", "module load: what it needs is in the image" },
        { "scontrol", "scontrol: is not there" },
        { "$SLURM_", "$SLURM_...: BULKHEAD_NUMBER is the instance's number, "
                     "BULKHEAD_INSTANCES how many there are, BULKHEAD_CARDS "
                     "its cards" },
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (strstr(text, list[i].word) != NULL)
            convert_note(notes, "%s", list[i].text);
}

/* The words behind #! and the script for it. */
static void
set_command(const char *text, json_t *manifest)
{
    json_t *command = json_array();
    size_t size = strcspn(text + 2, "\r\n");
    char line[TEXT_MAX], word[TEXT_MAX];
    const char *at = line;

    (void)snprintf(line, sizeof(line), "%.*s",
                   (int)(size < sizeof(line) ? size : sizeof(line) - 1),
                   text + 2);
    while (next_word(&at, word, sizeof(word)))
        (void)json_array_append_new(command, json_string(word));
    if (json_array_size(command) == 0)
        (void)json_array_append_new(command, json_string("/bin/sh"));
    (void)json_array_append_new(command, json_string("-c"));
    (void)json_array_append_new(command, json_string(text));
    (void)json_object_set_new(manifest, "command", command);
}

static int64_t
or_one(int64_t count)
{
    return count > 0 ? count : 1;
}

/* Per node: what an instance gets. */
static void
set_amounts(const struct asked *asked, json_t *manifest)
{
    int64_t nodes = or_one(asked->nodes), tasks = asked->tasks_per_node, cpus;
    int64_t cards = asked->cards_per_node, memory = asked->memory_mib;
    char text[40];

    if (tasks == 0)
        tasks = (or_one(asked->tasks) + nodes - 1) / nodes;
    cpus = tasks * or_one(asked->cpus_per_task);
    if (cards == 0)
        cards = asked->cards_per_task * tasks;
    if (cards == 0)
        cards = (asked->cards + nodes - 1) / nodes;
    if (memory == 0)
        memory = asked->memory_per_cpu_mib > 0
                     ? asked->memory_per_cpu_mib * cpus
                     : asked->memory_per_card_mib * cards;
    convert_cards(manifest, cards, asked->model, asked->notes);
    if (nodes > 1)
        (void)json_object_set_new(manifest, "instances", json_integer(nodes));
    (void)json_object_set_new(manifest, "cpu", json_integer(cpus));
    if (memory > 0) {
        (void)snprintf(text, sizeof(text), "%lldMiB", (long long)memory);
        (void)json_object_set_new(manifest, "memory", json_string(text));
    }
    if (tasks > 1)
        convert_note(asked->notes,
                     "%lld tasks a node: the command runs once in each "
                     "instance and starts its own processes",
                     (long long)tasks);
}

int
convert_sbatch(const char *text, size_t size, json_t **manifest_out,
               json_t *notes, struct error *err)
{
    struct asked asked = { .notes = notes };
    json_t *manifest;

    if (strlen(text) != size)
        return error_set(err, ERROR_INVALID, "the script holds a zero byte");
    if (read_head(&asked, text, err) != 0)
        return -1;
    manifest = json_object();
    convert_name(manifest, asked.name[0] != '\0' ? asked.name : "job", notes);
    (void)json_object_set_new(manifest, "image", json_string(CONVERT_DECIDE));
    convert_note(notes, "image: name one that holds what the script calls");
    set_amounts(&asked, manifest);
    convert_time(manifest, "max_run", asked.run_s);
    convert_time(manifest, "grace", asked.grace_s);
    if (asked.workdir[0] != '\0')
        (void)json_object_set_new(manifest, "workdir",
                                  json_string(asked.workdir));
    set_command(text, manifest);
    note_words(text, notes);
    *manifest_out = manifest;
    return 0;
}
