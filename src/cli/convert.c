/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/convert.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/job.h"
#include "cli/output.h"
#include "cli/screen.h"

void
convert_note(json_t *notes, const char *fmt, ...)
{
    char text[400];
    va_list list;

    va_start(list, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, list);
    va_end(list);
    (void)json_array_append_new(notes, json_string(text));
}

void
convert_name(json_t *manifest, const char *name, json_t *notes)
{
    char text[64];
    size_t used = 0;

    for (; *name != '\0' && used < sizeof(text) - 1; name++) {
        char letter = *name;

        if (letter >= 'A' && letter <= 'Z')
            letter = (char)(letter - 'A' + 'a');
        if ((letter < 'a' || letter > 'z') && (letter < '0' || letter > '9'))
            letter = '-';
        if (letter != '-' || (used > 0 && text[used - 1] != '-'))
            text[used++] = letter;
    }
    while (used > 0 && text[used - 1] == '-')
        used--;
    text[used] = '\0';
    if (used == 0) {
        convert_note(notes, "it has no name that can be kept: name it");
        (void)snprintf(text, sizeof(text), "job");
    }
    (void)json_object_set_new(manifest, "name", json_string(text));
}

void
convert_cards(json_t *manifest, int64_t cards, const char *model,
              json_t *notes)
{
    (void)json_object_set_new(manifest, "class", json_string(CONVERT_DECIDE));
    if (cards == 0) {
        convert_note(notes, "class: it asks for no card, and work without a "
                            "card is not placed here");
        return;
    }
    convert_note(notes,
                 "class: choose one with %lld card%s%s%s an instance, `bulkhead "
                 "get classes` lists them",
                 (long long)cards, cards == 1 ? "" : "s",
                 model[0] != '\0' ? " of model " : "", model);
}

void
convert_time(json_t *manifest, const char *field, int64_t seconds)
{
    char text[24];

    if (seconds <= 0)
        return;
    if (seconds % 3600 == 0)
        (void)snprintf(text, sizeof(text), "%lldh",
                       (long long)(seconds / 3600));
    else if (seconds % 60 == 0)
        (void)snprintf(text, sizeof(text), "%lldm", (long long)(seconds / 60));
    else
        (void)snprintf(text, sizeof(text), "%llds", (long long)seconds);
    (void)json_object_set_new(manifest, field, json_string(text));
}

/* --- the command --- */

static bool
begins_as_script(const struct buffer *text)
{
    return text->size > 2 && text->bytes[0] == '#' && text->bytes[1] == '!';
}

/* One manifest for each object of a YAML or JSON file. */
static int
read_objects(const struct buffer *text, json_t *manifests, json_t *notes,
             struct error *err)
{
    /* Amounts keep their form, "0.5" and "500m" alike. */
    static const char *const as_text[] = { "limits", "requests", "env",
                                           "args", "command", NULL };
    scoped_json objects = NULL;
    json_t *object, *manifest;
    size_t i;

    if (document_parse(buffer_text(text), text->size, as_text, &objects,
                       err) != 0)
        return -1;
    json_array_foreach(objects, i, object) {
        if (convert_kubernetes(object, &manifest, notes, err) != 0)
            return error_prefix(err, "document %zu", i + 1);
        (void)json_array_append_new(manifests, manifest);
    }
    return json_array_size(manifests) > 0
               ? 0
               : error_set(err, ERROR_INVALID,
                           "neither a script that begins with #! nor a "
                           "Kubernetes Job");
}

static int
read_script(const struct buffer *text, json_t *manifests, json_t *notes,
            struct error *err)
{
    json_t *manifest;

    if (convert_sbatch(buffer_text(text), text->size, &manifest, notes, err) !=
        0)
        return -1;
    return json_array_append_new(manifests, manifest);
}

/* What the options decide needs no note. */
static void
drop_notes(json_t *notes, const char *field)
{
    for (size_t i = json_array_size(notes); i-- > 0;)
        if (strncmp(json_string_value(json_array_get(notes, i)), field,
                    strlen(field)) == 0)
            (void)json_array_remove(notes, i);
}

static void
set_options(const struct cli *cli, json_t *manifests, json_t *notes)
{
    const char *class = cli_option(cli, "class");
    const char *image = cli_option(cli, "image");
    json_t *manifest;
    size_t i;

    if (class != NULL)
        drop_notes(notes, "class: ");
    if (image != NULL)
        drop_notes(notes, "image: ");
    json_array_foreach(manifests, i, manifest) {
        if (class != NULL)
            (void)job_class(class, manifest);
        if (image != NULL)
            (void)json_object_set_new(manifest, "image", json_string(image));
    }
}

static void
print(const json_t *manifests, const json_t *notes)
{
    scoped_buffer text = { 0 }, safe = { 0 };
    const json_t *one;
    size_t i;

    json_array_foreach(notes, i, one) {
        buffer_printf(&text, "# ");
        buffer_add(&text, json_string_value(one), json_string_length(one));
        buffer_add_byte(&text, '\n');
    }
    json_array_foreach(manifests, i, one) {
        if (i > 0)
            buffer_printf(&text, "---\n");
        output_yaml(&text, one);
    }
    screen_escape(&safe, buffer_text(&text), text.size);
    (void)fputs(buffer_text(&safe), stdout);
}

static int
convert(struct cli *cli, struct error *err)
{
    const char *path = cli->words[0];
    scoped_json manifests = json_array();
    scoped_json notes = json_array();
    scoped_buffer text = { 0 };

    if (file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, JSON_SIZE_MAX,
                  &text, err) != 0 ||
        (begins_as_script(&text) ? read_script : read_objects)(
            &text, manifests, notes, err) != 0)
        return error_prefix(err, "%s", path);
    set_options(cli, manifests, notes);
    print(manifests, notes);
    return 0;
}

static const struct command_option options[] = {
    { "class", 'c', "NAME[,NAME...]", "the class of each" },
    { "image", 'i', "IMAGE", "the image of each" },
    { 0 },
};

const struct command command_convert = {
    .verb = "convert",
    .words = "FILE",
    .help = "Print a Slurm script or Kubernetes Job as a manifest.",
    .more = "FILE (- is standard input) begins with #! and has #SBATCH lines, "
            "or is the YAML or JSON\nof Jobs and Pods. What has no "
            "counterpart here stands above the manifest as a comment.\n"
            "  bulkhead convert train.sbatch -i demo -c h100-80g.1 >train.yaml\n"
            "  bulkhead submit -f train.yaml --dry-run",
    .options = options,
    .words_min = 1,
    .words_max = 1,
    .run = convert,
};
