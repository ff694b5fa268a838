/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli/cli.h"

/*
 * How does an answer look on the screen?  Tables with stable columns for
 * people (first NAME, last AGE), and json, yaml, csv, name for programs.
 * Whatever a server or tenant wrote is printed without control characters
 * (screen.h), and CSV texts that a spreadsheet would run are quoted.
 */

struct column {
    const char *title;
    const char *field; /* of the JSON object; "a.b" goes down */
    char form;         /* 's' text, 'a' age of a time, 't' time, 'm' milli-
                          units as a decimal, 'b' yes or -, 'q' amount of the
                          item's dimension, 'r' text but none is -, 'e' exit
                          code once there is one, 'f' an expected time or why
                          there is none,
                          'h' milli-card-ms as card hours, 'c' nano money */
    bool wide;         /* only with -o wide */
};

/* Prints a list ({"items": [...]}) or one object in the form that the user
 * asked for; columns end with title NULL. */
void output_print(const struct cli *cli, const struct column *columns,
                  const json_t *value);
/* The columns that a kind ("workload") is shown with. */
const struct column *output_columns(const char *kind);
/* "workload/train created" after a mutation, or the object when -o asks. */
void output_done(const struct cli *cli, const char *kind, const char *name,
                 const char *what, const json_t *object);
/* Prints a JSON text as one line, of any length. */
void output_json_line(const char *text);
/* Prints one line for people on standard output, control characters removed
 * (screen.h). */
void output_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The value as a YAML document; texts are in quotes or, with several lines of
 * ASCII, as they are. */
void output_yaml(struct buffer *text, const json_t *value);
/* An amount of milli-units: 1500 -> "1.5". */
void output_milli(int64_t milli, char *text, size_t room);
/* nano units: 1234500000 -> "1.2345". */
void output_nano(int64_t nano, char *text, size_t room);

#endif
