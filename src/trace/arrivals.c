/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/arrivals.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 32
#define SECONDS_MAX INT64_C(1000000000)
#define LINE_MAX_SIZE 4096

enum column {
    COLUMN_AT,
    COLUMN_PROJECT,
    COLUMN_CLASS,
    COLUMN_RUN, /* the ones up to here are needed */
    COLUMN_NAME,
    COLUMN_COUNT,
    COLUMN_INSTANCES,
    COLUMN_PRIORITY,
    COLUMN_KIND,
    COLUMN_PREEMPTIBLE,
    COLUMN_MAX_RUN,
    COLUMN_CHECKPOINT,
    COLUMN_CPU,
    COLUMN_MEMORY,
    COLUMN_END
};
static const char *const names[COLUMN_END] = {
    "at_s",        "project",   "class",        "run_s",     "name",
    "count",       "instances", "priority",     "kind",      "preemptible",
    "max_run_s",   "checkpoint_s", "cpu_milli", "memory_mib",
};

struct reader {
    struct arena *arena;
    enum column columns[COLUMNS_MAX]; /* of the file */
    size_t column_count;
    size_t line;
    struct arrivals *out;
    size_t room;
};

/* Cuts a line at its commas; returns how many cells, COLUMNS_MAX + 1 for too
 * many. */
static size_t
split(char *line, char *cells[COLUMNS_MAX + 1])
{
    size_t count = 0;

    for (char *at = line; count <= COLUMNS_MAX; at++) {
        size_t size = strcspn(at, ",");
        bool last = at[size] == '\0';

        cells[count++] = at;
        at[size] = '\0';
        at += size;
        if (last)
            break;
    }
    return count;
}

/* "12", "0.5", "1.125": thousandths. */
static int
parse_seconds(const char *text, int64_t *ms_out)
{
    char *end;
    long long whole = strtoll(text, &end, 10);
    int64_t part = 0, unit = 100;

    if (end == text || whole < 0 || whole > SECONDS_MAX || text[0] == '-' ||
        text[0] == '+' || text[0] == ' ')
        return -1;
    if (*end == '.')
        for (end++; *end >= '0' && *end <= '9' && unit > 0; end++) {
            part += (*end - '0') * unit;
            unit /= 10;
        }
    if (*end != '\0')
        return -1;
    *ms_out = whole * 1000 + part;
    return 0;
}

static int
parse_number(const char *text, int64_t max, int64_t *out)
{
    char *end;
    long long number = strtoll(text, &end, 10);

    if (end == text || *end != '\0' || number < 1 || number > max)
        return -1;
    *out = number;
    return 0;
}

static int
parse_project(const struct reader *reader, const char *text,
              struct arrival *arrival)
{
    size_t size = strcspn(text, "/");

    if (size == 0 || text[size] != '/' || text[size + 1] == '\0')
        return -1;
    arrival->tenant = arena_strndup(reader->arena, text, size);
    arrival->project = arena_strdup(reader->arena, text + size + 1);
    return 0;
}

static int
parse_bool(const char *text, int *out)
{
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return -1;
    *out = text[0] == 't';
    return 0;
}

/* One cell that is not empty; -1 when it breaks its rule. */
static int
read_cell(const struct reader *reader, enum column column, const char *text,
          struct arrival *arrival)
{
    switch (column) {
    case COLUMN_AT:
        return parse_seconds(text, &arrival->at_ms);
    case COLUMN_PROJECT:
        return parse_project(reader, text, arrival);
    case COLUMN_CLASS:
        arrival->class = arena_strdup(reader->arena, text);
        return 0;
    case COLUMN_RUN:
        return parse_seconds(text, &arrival->run_ms) != 0 ||
                       arrival->run_ms < 1
                   ? -1
                   : 0;
    case COLUMN_NAME:
        arrival->name = arena_strdup(reader->arena, text);
        return 0;
    case COLUMN_COUNT:
        return parse_number(text, ARRIVALS_MAX, &arrival->count);
    case COLUMN_INSTANCES:
        return parse_number(text, 100000, &arrival->instances);
    case COLUMN_PRIORITY:
        arrival->priority = arena_strdup(reader->arena, text);
        return 0;
    case COLUMN_KIND:
        arrival->kind = arena_strdup(reader->arena, text);
        return 0;
    case COLUMN_PREEMPTIBLE:
        return parse_bool(text, &arrival->preemptible);
    case COLUMN_MAX_RUN:
        return parse_seconds(text, &arrival->max_run_ms);
    case COLUMN_CHECKPOINT:
        return parse_seconds(text, &arrival->checkpoint_ms);
    case COLUMN_CPU:
        return parse_number(text, INT64_C(1000000000), &arrival->cpu_milli);
    case COLUMN_MEMORY:
        return parse_number(text, INT64_C(1000000000), &arrival->memory_mib);
    case COLUMN_END:
        break;
    }
    return -1;
}

static const char *
rule_of(enum column column)
{
    switch (column) {
    case COLUMN_AT:
    case COLUMN_RUN:
    case COLUMN_MAX_RUN:
    case COLUMN_CHECKPOINT:
        return "seconds, at most three digits behind the point";
    case COLUMN_PROJECT:
        return "TENANT/PROJECT";
    case COLUMN_PREEMPTIBLE:
        return "true or false";
    case COLUMN_COUNT:
    case COLUMN_INSTANCES:
    case COLUMN_CPU:
    case COLUMN_MEMORY:
        return "a whole number from 1";
    case COLUMN_CLASS:
    case COLUMN_NAME:
    case COLUMN_PRIORITY:
    case COLUMN_KIND:
    case COLUMN_END:
        break;
    }
    return "text";
}

static int
read_header(struct reader *reader, char *line, struct error *err)
{
    char *cells[COLUMNS_MAX + 1] = { NULL };
    bool seen[COLUMN_END] = { false };
    size_t count = split(line, cells);

    if (count > COLUMNS_MAX)
        return error_set(err, ERROR_INVALID,
                         "line 1 has more than %d columns", COLUMNS_MAX);
    for (size_t i = 0; i < count; i++) {
        enum column column = COLUMN_AT;

        while (column < COLUMN_END && strcmp(cells[i], names[column]) != 0)
            column++;
        if (column == COLUMN_END || seen[column])
            return error_set(err, ERROR_INVALID,
                             "line 1: \"%.40s\" %s", cells[i],
                             column == COLUMN_END ? "is no column"
                                                  : "stands there twice");
        seen[column] = true;
        reader->columns[reader->column_count++] = column;
    }
    for (enum column column = COLUMN_AT; column <= COLUMN_RUN; column++)
        if (!seen[column])
            return error_set(err, ERROR_INVALID,
                             "line 1: the column %s is missing",
                             names[column]);
    return 0;
}

static int
read_line(struct reader *reader, char *line, struct error *err)
{
    char *cells[COLUMNS_MAX + 1] = { NULL };
    size_t count = split(line, cells);
    struct arrival arrival = { .count = 1,
                               .instances = 1,
                               .tenant = "",
                               .project = "",
                               .class = "",
                               .name = "",
                               .priority = "",
                               .kind = "",
                               .preemptible = -1,
                               .line = reader->line };

    if (count != reader->column_count)
        return error_set(err, ERROR_INVALID,
                         "line %zu has %zu cells, line 1 has %zu",
                         reader->line, count, reader->column_count);
    for (size_t i = 0; i < count; i++) {
        enum column column = reader->columns[i];

        assert(column < COLUMN_END && cells[i] != NULL);
        if (cells[i][0] == '\0' ? column <= COLUMN_RUN
                                : read_cell(reader, column, cells[i],
                                            &arrival) != 0)
            return error_set(err, ERROR_INVALID,
                             "line %zu: %s is \"%.40s\", must be %s",
                             reader->line, names[column], cells[i],
                             rule_of(column));
    }
    if (reader->out->count == ARRIVALS_MAX)
        return error_set(err, ERROR_INVALID, "there are more than %d lines",
                         ARRIVALS_MAX);
    if (reader->out->count == reader->room) {
        struct arrival *list = arena_alloc(
            reader->arena, (2 * reader->room + 1024) * sizeof(*list));

        if (reader->out->count > 0)
            memcpy(list, reader->out->list,
                   reader->out->count * sizeof(*list));
        reader->out->list = list;
        reader->room = 2 * reader->room + 1024;
    }
    reader->out->list[reader->out->count++] = arrival;
    return 0;
}

static int
order(const void *left, const void *right)
{
    const struct arrival *a = left, *b = right;

    if (a->at_ms != b->at_ms)
        return a->at_ms < b->at_ms ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

int
arrivals_read(const char *text, struct arena *arena, struct arrivals *out,
              struct error *err)
{
    struct reader reader = { .arena = arena, .out = out };
    char line[LINE_MAX_SIZE];

    *out = (struct arrivals){ NULL, 0 };
    while (*text != '\0') {
        size_t size = strcspn(text, "\n");
        size_t kept = size > 0 && text[size - 1] == '\r' ? size - 1 : size;

        reader.line++;
        if (kept >= sizeof(line))
            return error_set(err, ERROR_INVALID,
                             "line %zu has more than %d bytes", reader.line,
                             LINE_MAX_SIZE - 1);
        memcpy(line, text, kept);
        line[kept] = '\0';
        text += size + (text[size] == '\n');
        if (kept == 0)
            continue;
        if ((reader.column_count == 0 ? read_header(&reader, line, err)
                                      : read_line(&reader, line, err)) != 0)
            return -1;
    }
    if (reader.column_count == 0)
        return error_set(err, ERROR_INVALID, "there is no line of columns");
    if (out->count > 1)
        qsort(out->list, out->count, sizeof(*out->list), order);
    return 0;
}
