/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_CSV_H
#define TRACE_CSV_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/*
 * Lines of comma-separated values under a line of names.  No quotes: a field
 * ends at the next comma.
 */

#define CSV_COLUMNS 32

struct csv {
    struct buffer bytes;
    const char *name; /* of the file, for errors */
    char *next;       /* the next line */
    int line;
    char *columns[CSV_COLUMNS]; /* names */
    int column_count;
    char *fields[CSV_COLUMNS]; /* of the line that was read last */
    int field_count;
};

/* Reads file NAME of the directory; csv_close in any case. */
int csv_open(struct csv *csv, const char *directory, const char *name,
             struct error *err);
void csv_close(struct csv *csv);
/* 1: a line, 0: the end, -1: err. */
int csv_next(struct csv *csv, struct error *err);
/* The place of a column, -1 when there is none. */
int csv_column(const struct csv *csv, const char *name);
/* The column must be there. */
int csv_need(const struct csv *csv, const char *name, int *out,
             struct error *err);
/* Text of a field; "" without the column. */
const char *csv_text(const struct csv *csv, int column);
/* A number between 0 and max; absent where the field is empty or not there. */
int csv_int(const struct csv *csv, int column, int64_t max, int64_t absent,
            int64_t *out, struct error *err);

#endif
