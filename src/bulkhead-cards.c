/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulkhead-cards: what the vendors' libraries of this machine say about its
 * cards; and, with --serve, the process that asks one of them in the place of
 * a runner that must not hang (accel/remote.h).
 *
 *   bulkhead-cards                        a table
 *   bulkhead-cards --output json          everything that is measured
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "accel/accel_vendor.h"
#include "accel/worker.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/json.h"

static const char usage_text[] =
    "usage: bulkhead-cards [--libraries DIR] [--output table|json]\n"
    "                      [--deadline-ms N]\n"
    "\n"
    "Shows the accelerators of this machine as their vendors' libraries see\n"
    "them, side by side, and which libraries there are.\n"
    "\n"
    "  --libraries DIR   load libraries from there, not from the system\n"
    "  --output FORMAT   table, or json with everything that is measured\n"
    "  --deadline-ms N   how long one answer may take (3000)\n"
    "  --help\n";

struct options {
    const char *serve, *libraries, *state, *output;
    int deadline_ms;
    bool help;
};

static int
parse(int argc, char **argv, struct options *out)
{
    static const struct option longs[] = {
        { "serve", required_argument, NULL, 'w' },
        { "libraries", required_argument, NULL, 'l' },
        { "state", required_argument, NULL, 's' },
        { "output", required_argument, NULL, 'o' },
        { "deadline-ms", required_argument, NULL, 'd' },
        { "help", no_argument, NULL, 'h' },
        { 0 },
    };
    int option;
    char *end = NULL;

    while ((option = getopt_long(argc, argv, "ho:", longs, NULL)) != -1)
        if (option == 'w')
            out->serve = optarg;
        else if (option == 'l')
            out->libraries = optarg;
        else if (option == 's')
            out->state = optarg;
        else if (option == 'o')
            out->output = optarg;
        else if (option == 'd')
            out->deadline_ms = (int)strtol(optarg, &end, 10);
        else
            out->help = option == 'h';
    if (out->help)
        return 0;
    return optind == argc && (end == NULL || *end == '\0') &&
                   out->deadline_ms >= 0 && out->deadline_ms <= 600000 &&
                   (strcmp(out->output, "table") == 0 ||
                    strcmp(out->output, "json") == 0)
               ? 0
               : -1;
}

/* One card with all that was found out. */
struct row {
    struct accel_card card;
    struct accel_state state;
    struct accel_reading reading;
    struct accel_slice slices[ACCEL_SLICES_MAX];
    size_t slice_count;
    int processes; /* -1: not known */
};

static void
fill(struct accel *accel, const char *uuid, struct row *row)
{
    struct accel_process list[ACCEL_PROCESSES_MAX];
    struct error err = { 0 };
    size_t count = 0;

    accel_reading_clear(&row->reading);
    row->card.island = row->card.numa = -1;
    if (accel_describe(accel, uuid, &row->card, &err) != 0)
        (void)snprintf(row->card.uuid, sizeof(row->card.uuid), "%s", uuid);
    if (accel_health(accel, uuid, &row->state, &err) != 0) {
        row->state.health = ACCEL_UNKNOWN;
        (void)snprintf(row->state.reason, sizeof(row->state.reason), "%.127s",
                       err.text);
    }
    (void)accel_read(accel, uuid, &row->reading, &err);
    if (row->state.sliced)
        (void)accel_slices(accel, uuid, row->slices, &row->slice_count, &err);
    row->processes =
        accel_processes(accel, uuid, list, &count, &err) == 0 ? (int)count : -1;
}

static struct row *
look(struct accel *accel, struct arena *arena, size_t *count_out,
     struct error *err)
{
    const char *const *uuids = NULL;
    struct accel_card *cards;
    struct row *rows;

    if (accel_list(accel, arena, &uuids, count_out, err) != 0)
        return NULL;
    rows = arena_alloc(arena, (*count_out + 1) * sizeof(*rows));
    cards = arena_alloc(arena, (*count_out + 1) * sizeof(*cards));
    for (size_t i = 0; i < *count_out; i++) {
        rows[i] = (struct row){ 0 };
        fill(accel, uuids[i], &rows[i]);
        cards[i] = rows[i].card;
    }
    accel_islands(cards, *count_out);
    for (size_t i = 0; i < *count_out; i++)
        rows[i].card.island = cards[i].island;
    return rows;
}

/* --- as a table --- */

/* Whole, or its slices by name. */
static void
form_of(const struct row *row, struct buffer *out)
{
    buffer_clear(out);
    buffer_add_text(out, row->state.sliced ? "sliced" : "whole");
    for (size_t i = 0; i < row->slice_count; i++)
        buffer_printf(out, "%s%s", i == 0 ? ": " : " ", row->slices[i].name);
}

static void
print_value(const struct row *row, enum accel_item item, int64_t divisor,
            int width)
{
    int64_t value = row->reading.value[item];

    if (value == ACCEL_ABSENT)
        (void)printf("%*s ", width, "-");
    else
        (void)printf("%*" PRId64 " ", width, value / divisor);
}

static void
print_rows(const struct row *rows, size_t count)
{
    scoped_buffer form = { 0 };

    (void)printf("%-7s %-28s %-9s %-5s %-12s %4s %6s %8s %5s %5s %5s %s\n",
                 "VENDOR", "MODEL", "MEMORY", "UNITS", "PCI", "NUMA", "ISLAND",
                 "USED MIB", "BUSY%", "TEMP", "WATT", "FORM");
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];

        form_of(row, &form);
        (void)printf("%-7s %-28s %6" PRId64 "GiB %5d %-12s %4d %6d ",
                     row->card.vendor, row->card.model,
                     row->card.memory_mib / 1024, (int)row->card.compute_units,
                     row->card.pci, (int)row->card.numa, (int)row->card.island);
        print_value(row, ACCEL_MEMORY_USED, 1, 8);
        print_value(row, ACCEL_BUSY, 10, 5);
        print_value(row, ACCEL_TEMPERATURE, 1, 5);
        print_value(row, ACCEL_POWER, 1000, 5);
        (void)printf("%s\n", buffer_text(&form));
        (void)printf("        %s, driver %s, %s%s%s, processes: %d\n",
                     row->card.uuid, row->card.driver,
                     accel_health_text(row->state.health),
                     row->state.reason[0] != '\0' ? ": " : "",
                     row->state.reason, row->processes);
    }
}

static void
print_libraries(struct accel *accel)
{
    struct accel_survey survey;
    struct error err;
    const char *name;

    for (size_t i = 0; accel_vendor_library(accel, i, &name, &survey, &err);
         i++)
        if (err.code != ERROR_NONE)
            (void)printf("%s: %s\n", name, err.text);
        else
            (void)printf("%s: library %s, driver %s%s%s, cards %zu, on the "
                         "bus %zu\n",
                         name, survey.library, survey.driver,
                         survey.runtime[0] != '\0' ? ", " : "", survey.runtime,
                         survey.listed, survey.on_bus);
}

/* --- as JSON --- */

static json_t *
json_of(const struct row *row)
{
    json_t *values = json_object();
    json_t *slices = json_array();

    for (size_t i = 0; i < ACCEL_ITEM_COUNT; i++)
        if (row->reading.value[i] != ACCEL_ABSENT)
            (void)json_object_set_new(
                values, accel_item_text((enum accel_item)i),
                json_integer((json_int_t)row->reading.value[i]));
    for (size_t i = 0; i < row->slice_count; i++)
        (void)json_array_append_new(
            slices, json_pack("{s:s, s:s, s:I}", "name", row->slices[i].name,
                              "uuid", row->slices[i].uuid, "memory_mib",
                              (json_int_t)row->slices[i].memory_mib));
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:i, s:i, s:i, s:s, "
        "s:s, s:i, s:o, s:o}",
        "uuid", row->card.uuid, "vendor", row->card.vendor, "model",
        row->card.model, "pci", row->card.pci, "driver", row->card.driver,
        "serial", row->card.serial, "firmware", row->card.firmware, "arch",
        row->card.arch, "memory_mib", (json_int_t)row->card.memory_mib,
        "compute_units", (int)row->card.compute_units, "numa",
        (int)row->card.numa, "island", (int)row->card.island, "health",
        accel_health_text(row->state.health), "health_reason",
        row->state.reason, "processes", row->processes, "slices", slices,
        "readings", values);
}

static void
print_json(const struct row *rows, size_t count)
{
    scoped_json list = json_array();
    scoped_buffer text = { 0 };

    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(list, json_of(&rows[i]));
    json_write(&text, list);
    (void)printf("%s\n", buffer_text(&text));
}

static int
show(const struct options *options)
{
    scoped_arena arena = arena_new();
    struct accel accel = { 0 };
    struct error err = { 0 };
    const struct row *rows;
    size_t count = 0;

    if (accel_vendor_open(&accel,
                          &(struct accel_vendor_options){
                              .source = options->libraries,
                              .state_dir = options->state,
                              .deadline_ms = options->deadline_ms },
                          &err) != 0) {
        (void)fprintf(stderr, "bulkhead-cards: %s\n", err.text);
        return error_exit_code(err.code);
    }
    rows = look(&accel, arena, &count, &err);
    if (strcmp(options->output, "json") == 0)
        print_json(rows, count);
    else {
        if (count > 0)
            print_rows(rows, count);
        print_libraries(&accel);
    }
    accel_close(&accel);
    return 0;
}

int
main(int argc, char **argv)
{
    struct options options = { .state = "/nonexistent", .output = "table" };

    if (parse(argc, argv, &options) != 0) {
        (void)fputs(usage_text, stderr);
        return 2;
    }
    if (options.help) {
        (void)fputs(usage_text, stdout);
        return 0;
    }
    if (options.serve != NULL)
        return worker_run(options.serve, options.libraries, options.state);
    return show(&options);
}
