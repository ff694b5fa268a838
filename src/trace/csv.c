/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/csv.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define FILE_MAX ((size_t)256 << 20)

/* Cuts a line into fields in place; returns their number, -1: too many. */
static int
cut(char *line, char **fields)
{
    int count = 0;

    for (;;) {
        char *comma = strchr(line, ',');

        if (count == CSV_COLUMNS)
            return -1;
        fields[count++] = line;
        if (comma == NULL)
            return count;
        *comma = '\0';
        line = comma + 1;
    }
}

static char *
next_line(struct csv *csv)
{
    char *line = csv->next, *end;

    if (line == NULL || *line == '\0')
        return NULL;
    end = strchr(line, '\n');
    csv->next = end == NULL ? NULL : end + 1;
    if (end == NULL)
        end = line + strlen(line);
    if (end > line && end[-1] == '\r')
        end--;
    *end = '\0';
    csv->line++;
    return line;
}

int
csv_open(struct csv *csv, const char *directory, const char *name,
         struct error *err)
{
    struct buffer path = { 0 };
    char *line;
    int failed;

    *csv = (struct csv){ .name = name };
    buffer_printf(&path, "%s/%s", directory, name);
    failed = file_read(buffer_text(&path), FILE_MAX, &csv->bytes, err);
    buffer_release(&path);
    if (failed)
        return -1;
    csv->next = csv->bytes.bytes;
    line = next_line(csv);
    csv->column_count = line == NULL ? 0 : cut(line, csv->columns);
    if (csv->column_count <= 0)
        return error_set(err, ERROR_INVALID, "%s has no line of names", name);
    return 0;
}

void
csv_close(struct csv *csv)
{
    buffer_release(&csv->bytes);
}

int
csv_next(struct csv *csv, struct error *err)
{
    char *line = next_line(csv);

    if (line == NULL)
        return 0;
    csv->field_count = cut(line, csv->fields);
    if (csv->field_count != csv->column_count)
        return error_set(err, ERROR_INVALID,
                         "%s line %d does not have %d fields", csv->name,
                         csv->line, csv->column_count);
    return 1;
}

int
csv_column(const struct csv *csv, const char *name)
{
    for (int i = 0; i < csv->column_count; i++)
        if (strcmp(csv->columns[i], name) == 0)
            return i;
    return -1;
}

int
csv_need(const struct csv *csv, const char *name, int *out, struct error *err)
{
    int column = csv_column(csv, name);

    if (column < 0)
        return error_set(err, ERROR_INVALID, "%s has no column %s", csv->name,
                         name);
    *out = column;
    return 0;
}

const char *
csv_text(const struct csv *csv, int column)
{
    return column < 0 ? "" : csv->fields[column];
}

int
csv_int(const struct csv *csv, int column, int64_t max, int64_t absent,
        int64_t *out, struct error *err)
{
    const char *text = csv_text(csv, column);
    char *end;
    long long value;

    *out = absent;
    if (*text == '\0')
        return 0;
    value = strtoll(text, &end, 10);
    /* Some writers put whole numbers as 12.0. */
    if (strcmp(end, ".0") == 0)
        end += 2;
    if (end == text || *end != '\0' || value < 0 || value > max)
        return error_set(err, ERROR_INVALID,
                         "%s line %d: %s is \"%s\", not a number from 0 to "
                         "%lld",
                         csv->name, csv->line, csv->columns[column], text,
                         (long long)max);
    *out = value;
    return 0;
}
