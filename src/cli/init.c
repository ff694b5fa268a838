/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/command.h"

/* A template: what is said first, and what comes behind name, image and
 * class. */
struct template {
    const char *name;
    const char *about;
    const char *rest;
};

static const struct template templates[] = {
    { "batch", "runs once and ends",
      "command: [/bin/sh, -c, \"echo hello from $BULKHEAD_INSTANCE\"]\n"
      "cpu: 1\n"
      "memory: 512MiB\n"
      "max_run: 1h\n" },
    { "train", "writes checkpoints, goes on from them after a preemption",
      "command: [/bin/bigram, --out, /data/model.gguf, --vocab, 256]\n"
      "cpu: 1\n"
      "memory: 1GiB\n"
      "max_run: 24h\n"
      "# Notice before it is stopped for others: time to write a checkpoint.\n"
      "grace: 60s\n"
      "preemptible: true\n"
      "restarts: 2\n"
      "volumes: [data:/data]\n"
      "checkpoint: /data/checkpoints\n" },
    { "gang", "several instances that start together, on close cards",
      "command: [/bin/sh, -c, \"echo $BULKHEAD_NUMBER of "
      "$BULKHEAD_INSTANCES\"]\n"
      "# 2..4: begins with 2 and grows while cards are free.\n"
      "instances: 2\n"
      "# island, node, leaf or pool; node:preferred takes what is closest.\n"
      "topology: node\n"
      "cpu: 1\n"
      "memory: 1GiB\n"
      "max_run: 12h\n" },
    { "inference", "reads many inputs, writes their answers",
      "command: [/bin/sh, -c, \"cat /data/prompts > /data/answers\"]\n"
      "cpu: 2\n"
      "memory: 2GiB\n"
      "max_run: 4h\n"
      "volumes: [data:/data]\n" },
    { "notebook", "for one person, until it is cancelled",
      "kind: interactive\n"
      "command: [/bin/sh, -c, \"while :; do sleep 60; done\"]\n"
      "ports: [{name: http, port: 8888}]\n"
      "cpu: 2\n"
      "memory: 2GiB\n"
      "max_run: 8h\n"
      "volumes: [home:/home]\n" },
    { "service", "runs until it is cancelled, on another node if one is lost",
      "kind: service\n"
      "command: [/bin/sh, -c, \"while :; do sleep 60; done\"]\n"
      "ports: [{name: http, port: 8080}]\n"
      "cpu: 0.5\n"
      "memory: 512MiB\n"
      "instances: 2\n"
      "# Not both on one node.\n"
      "spread: node:1:preferred\n"
      "recovery: any\n"
      "restarts: 5\n" },
    { NULL, NULL, NULL },
};

static const struct template *
template_find(const char *name)
{
    for (size_t i = 0; templates[i].name != NULL; i++)
        if (strcmp(templates[i].name, name) == 0)
            return &templates[i];
    return NULL;
}

static int
init(struct cli *cli, struct error *err)
{
    const char *name = cli->word_count > 0 ? cli->words[0] : "batch";
    const struct template *template = template_find(name);
    const char *image = cli_option(cli, "image");
    const char *class = cli_option(cli, "class");
    scoped_buffer names = { 0 };

    if (template == NULL) {
        for (size_t i = 0; templates[i].name != NULL; i++)
            buffer_printf(&names, "%s%s", i > 0 ? ", " : "",
                          templates[i].name);
        (void)error_set(err, ERROR_INVALID, "\"%.40s\" is no template", name);
        return error_help(err, "one of %s", buffer_text(&names));
    }
    (void)printf("# %s: %s\n"
                 "# bulkhead submit -f FILE --dry-run says where it would "
                 "run.\n"
                 "name: %s\n"
                 "# bulkhead get classes lists what an instance can get.\n"
                 "class: %s\n"
                 "image: %s\n"
                 "%s",
                 template->name, template->about, template->name,
                 class != NULL ? class : "h100-80g.1",
                 image != NULL ? image : "demo", template->rest);
    return 0;
}

static const struct command_option options[] = {
    { "class", 'c', "NAME", "the class it asks for" },
    { "image", 'i', "IMAGE", "the image it runs" },
    { 0 },
};

const struct command command_init = {
    .verb = "init",
    .words = "[TEMPLATE]",
    .help = "Print a manifest to begin with.",
    .more = "Templates: batch (runs once), train (with checkpoints), gang "
            "(several instances),\ninference (many inputs), notebook (for one "
            "person), service (until cancelled).\n"
            "  bulkhead init train -i demo -c h100-80g.1 >train.yaml\n"
            "  bulkhead submit -f train.yaml\n"
            "docs/manifest.md says what else a manifest may hold.",
    .options = options,
    .words_max = 1,
    .run = init,
};
