/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/fields.h"
#include "cli/screen.h"

#define COLUMNS_MAX 48

static const struct column common_columns[] = {
    { "NAME", "name", 's', false }, { "ID", "id", 's', true },
    { "AGE", "created", 'a', false }, { 0 }
};

#define NAME_COLUMN { "NAME", "name", 's', false }
#define END_COLUMNS                                                           \
    { "ID", "id", 's', true }, { "AGE", "created", 'a', false }, { 0 }

static const struct {
    const char *kind;
    struct column columns[COLUMNS_MAX];
} tables[] = {
    { "pool",
      { NAME_COLUMN, { "KIND", "kind", 's', true }, END_COLUMNS } },
    { "node",
      { NAME_COLUMN, { "STATE", "state", 's', false },
        { "SIMULATED", "simulated", 'b', false },
        { "CPU", "cpu_milli", 'm', false },
        { "MEMORY-MIB", "memory_mib", 's', false }, END_COLUMNS } },
    { "card",
      { NAME_COLUMN, { "NODE", "parent", 's', false },
        { "MODEL", "model", 's', false },
        { "MEMORY-MIB", "memory_mib", 's', false },
        { "HEALTH", "health", 's', false },
        { "HANDOVER", "handover", 's', false },
        { "USED", "used_milli", 'm', false },
        { "HELD", "held_milli", 'm', false },
        { "SIMULATED", "simulated", 'b', false },
        { "FOREIGN", "foreign", 'b', true },
        { "SLICED", "sliced", 'b', true }, { "SLICES", "slices", 's', true },
        { "LAYOUT", "layout", 's', true },
        { "FOREIGN-SLICES", "foreign_slices", 's', true },
        { "CHANGE", "layout_change", 's', true },
        { "LAYOUT-FAILURE", "layout_failure", 's', true },
        { "UUID", "uuid", 's', true }, { "DRIVER", "driver", 's', true },
        { "VENDOR", "vendor", 's', true }, { "ARCH", "arch", 's', true },
        { "FIRMWARE", "firmware", 's', true },
        { "RUNTIME", "runtime", 's', true },
        { "FEATURES", "features", 's', true },
        { "NUMA", "numa", 's', true }, { "ISLAND", "island", 's', true },
        { "SWITCH", "bus", 's', true },
        { "SINCE", "health_ms", 't', true }, { "STALE", "stale", 'b', true },
        { "LINKS-BAD", "links_bad", 'b', true },
        { "REASON", "health_reason", 's', true }, END_COLUMNS } },
    { "class",
      { NAME_COLUMN, { "FORM", "form", 's', false },
        { "MODEL", "model", 's', false },
        { "CARDS", "count", 's', false }, { "SHARE", "milli", 'm', false },
        { "PROFILE", "profile", 's', false },
        { "MIN-MIB", "min_memory_mib", 's', false },
        { "ORIGIN", "origin", 's', false },
        { "VENDOR", "vendor", 's', true },
        { "INTERCONNECT", "interconnect", 's', true },
        { "DRIVER", "min_driver", 's', true },
        { "RUNTIME", "min_runtime", 's', true },
        { "CAPABILITY", "min_capability", 's', true },
        { "ARCH", "arch", 's', true },
        { "FEATURES", "features", 's', true }, END_COLUMNS } },
    { "priority",
      { NAME_COLUMN, { "VALUE", "value", 's', false },
        { "ACROSS", "preempt_across", 'b', false }, END_COLUMNS } },
    { "price",
      { { "NAME", "id", 's', false }, { "METER", "meter", 's', false },
        { "MODEL", "model", 's', false }, { "PRICE", "nano", 'c', false },
        { "TENANT", "tenant", 's', true },
        { "FROM", "from_ms", 't', false }, { "TO", "to_ms", 't', false },
        { "AGE", "created", 'a', false }, { 0 } } },
    { "tenant",
      { NAME_COLUMN, { "STATE", "state", 's', false },
        { "ISOLATION", "isolation", 's', false },
        { "DISPLAY", "display", 's', true }, END_COLUMNS } },
    { "project",
      { NAME_COLUMN, { "CLASS", "class", 's', false },
        { "STATE", "state", 's', false }, END_COLUMNS } },
    { "user",
      { NAME_COLUMN, { "STATE", "state", 's', false },
        { "LOCKED", "locked_ms", 't', false },
        { "FACTOR", "factor_ms", 't', false },
        { "TEMPORARY", "temporary", 'b', true },
        { "FAILURES", "failures", 's', true }, END_COLUMNS } },
    { "apikey",
      { NAME_COLUMN, { "EXPIRES", "expires_ms", 't', false },
        { "REVOKED", "revoked_ms", 't', false },
        { "USED", "used_ms", 't', false },
        { "FROM", "used_from", 's', true }, { "SORT", "sort", 's', true },
        { "SOURCES", "sources", 's', true }, END_COLUMNS } },
    { "session",
      { { "NAME", "id", 's', false },
        { "PROVED", "proved_ms", 't', false },
        { "EXPIRES", "expires_ms", 't', false },
        { "REVOKED", "revoked_ms", 't', false },
        { "USED", "used_ms", 't', false }, { "FROM", "used_from", 's', true },
        { "AGE", "created", 'a', false }, { 0 } } },
    { "jointoken",
      { NAME_COLUMN, { "NODE", "node", 's', false },
        { "EXPIRES", "expires_ms", 't', false },
        { "USED", "used_ms", 't', false }, END_COLUMNS } },
    { "role",
      { NAME_COLUMN, { "BUILTIN", "builtin", 'b', false },
        { "VERBS", "verbs", 's', true }, END_COLUMNS } },
    { "group",
      { NAME_COLUMN, { "DISPLAY", "display", 's', false }, END_COLUMNS } },
    { "invitation",
      { NAME_COLUMN, { "EXPIRES", "expires_ms", 't', false },
        { "INVITER", "inviter", 's', true }, END_COLUMNS } },
    { "member",
      { NAME_COLUMN, { "SUBJECT", "subject", 's', false },
        { "ADDER", "adder", 's', true }, END_COLUMNS } },
    { "ceiling",
      { { "NAME", "id", 's', false }, { "VERBS", "verbs", 's', false },
        { "AGE", "created", 'a', false }, { 0 } } },
    { "deny",
      { { "NAME", "id", 's', false }, { "VERBS", "verbs", 's', false },
        { "REASON", "reason", 's', false },
        { "AGE", "created", 'a', false }, { 0 } } },
    { "grant",
      { { "NAME", "id", 's', false }, { "SUBJECT", "subject", 's', false },
        { "ROLE", "role", 's', false }, { "TO", "to_ms", 't', false },
        { "AGE", "created", 'a', false }, { 0 } } },
    { "quota",
      { { "NAME", "id", 's', false },
        { "DIMENSION", "dimension", 's', false },
        { "GUARANTEED", "guaranteed", 'q', false },
        { "LIMIT", "limit", 'q', false }, { "USED", "used", 'q', false },
        { "UNMET", "unmet", 'q', true },
        { "POOL", "pool", 's', true }, { "CLASS", "class", 's', true },
        { "MODEL", "model", 's', true }, { "USER", "user", 's', true },
        { "AGE", "created", 'a', false }, { 0 } } },
    { "approval",
      { { "NAME", "id", 's', false }, { "STATE", "state", 's', false },
        { "VERB", "verb", 's', false }, { "TARGET", "target", 's', false },
        { "BY", "parent", 's', false }, { "REASON", "reason", 's', false },
        { "NEEDED", "needed", 's', true },
        { "EXPIRES", "expires_ms", 't', false },
        { "AGE", "created", 'a', false }, { 0 } } },
    { "guard",
      { NAME_COLUMN, { "STEP-UP", "step_up", 'b', false },
        { "APPROVERS", "approvers", 's', false }, END_COLUMNS } },
    { "breakglass",
      { { "NAME", "id", 's', false }, { "BY", "parent", 's', false },
        { "TO", "to_ms", 't', false }, { "CHANGES", "count", 's', false },
        { "REVIEWED", "reviewed_ms", 't', false },
        { "REASON", "reason", 's', false },
        { "AGE", "created", 'a', false }, { 0 } } },
    { "workorder",
      { NAME_COLUMN, { "STATE", "state", 's', false },
        { "VENDOR", "vendor", 's', false },
        { "DEVICES", "devices", 's', false },
        { "FROM", "from_ms", 't', false }, { "TO", "to_ms", 't', false },
        { "SPONSOR", "sponsor", 's', true },
        { "REASON", "reason", 's', true }, END_COLUMNS } },
    { "opdocument",
      { NAME_COLUMN, { "AUDIENCE", "audience", 's', false },
        { "CONTENT", "content", 's', true }, END_COLUMNS } },
    { "visit",
      { { "NAME", "id", 's', false }, { "VENDOR", "vendor", 's', false },
        { "FROM", "from_ms", 't', false }, { "TO", "to_ms", 't', false },
        { "ENDED", "ended_ms", 't', false },
        { "CHANGES", "count", 's', false },
        { "REASON", "reason", 's', false },
        { "CARDS", "cards", 's', true },
        { "AGE", "created", 'a', false }, { 0 } } },
    { "reservation",
      { NAME_COLUMN, { "STATE", "state", 's', false },
        { "CARDS", "cards", 's', false }, { "POOL", "pool", 's', true },
        { "CLASS", "class", 's', true }, { "FROM", "from_ms", 't', false },
        { "TO", "to_ms", 't', false }, { "EVERY", "every", 's', false },
        { "UNTIL", "until_ms", 't', true }, { "LEND", "lend", 'b', true },
        END_COLUMNS } },
    { "maintenance",
      { NAME_COLUMN, { "STATE", "state", 's', false },
        { "OF", "parent", 's', true }, { "OPENS", "opens_ms", 't', false },
        { "CLOSES", "closes_ms", 't', false },
        { "EVERY", "every", 's', false }, { "UNTIL", "until_ms", 't', true },
        { "POLICY", "policy", 's', false }, { "LEND", "lend", 'b', true },
        { "REASON", "reason", 's', true }, END_COLUMNS } },
    { "requirement",
      { NAME_COLUMN, { "FACT", "fact", 's', false },
        { "AT-LEAST", "at_least", 's', false },
        { "BELOW", "below", 's', false }, { "EQUALS", "equals", 's', false },
        { "CLASS", "class", 's', false }, { "IMAGE", "image", 's', false },
        { "REASON", "reason", 's', true }, END_COLUMNS } },
    { "commitment",
      { { "NAME", "id", 's', false }, { "CARDS", "cards", 's', false },
        { "MODEL", "model", 's', false }, { "NANO", "nano", 's', false },
        { "FROM", "from_ms", 't', false }, { "TO", "to_ms", 't', false },
        { "AGE", "created", 'a', false }, { 0 } } },
    { "workload",
      { NAME_COLUMN, { "KIND", "kind", 's', true },
        { "STATE", "state", 's', false },
        { "INSTANCES", "instances", 's', false },
        { "NOW", "instances_now", 's', true },
        { "ATTEMPT", "attempt", 's', false },
        { "PREEMPTED", "preemptions", 's', true },
        { "EXIT", "exit_code", 'e', false },
        { "CLASS", "class", 's', true },
        { "FORM", "form", 's', true },
        { "USER", "user", 's', true },
        { "REASON", "reason", 'r', false },
        { "BOOKED", "booked_ms", 't', true },
        { "SENTENCE", "reason_text", 's', true }, END_COLUMNS } },
    { "instance",
      { NAME_COLUMN, { "STATE", "state", 's', false },
        { "ATTEMPT", "attempt", 's', false },
        { "INCARNATION", "incarnation", 's', false },
        { "STARTED", "started_ms", 't', false },
        { "EXIT", "exit_code", 'e', false }, { "OOM", "oom", 'b', false },
        { "FAILURE", "failure", 's', true },
        { "CPUS", "cpus", 's', true }, { "MEMS", "mems", 's', true },
        { "NICS", "nics", 's', true }, { "PINNED", "pinned", 'b', true },
        END_COLUMNS } },
    { "binding",
      { { "NAME", "id", 's', false }, { "CARD", "card", 's', false },
        { "WORKLOAD", "workload", 's', false },
        { "INSTANCE", "parent", 's', true },
        { "SHARE", "milli", 'm', false }, { "FORM", "form", 's', false },
        { "SLICE", "slice", 's', true },
        { "FROM", "from_ms", 't', false }, { "TO", "to_ms", 't', false },
        { "PROJECT", "project", 's', true }, { 0 } } },
    { "interference",
      { { "WORKLOAD", "workload", 's', false },
        { "INSTANCE", "instance", 's', false },
        { "RESOURCE", "resource", 's', false },
        { "STATE", "state", 's', false },
        { "INDEX", "index_milli", 'm', false },
        { "ALONE", "base", 's', true }, { "NOW", "pace", 's', true },
        { "SINCE", "since", 't', false }, { "NODE", "node", 's', true },
        { "CAUSE", "cause", 's', true }, { 0 } } },
    { "volume",
      { NAME_COLUMN, { "SIZE-MIB", "size_mib", 's', false },
        { "STATE", "state", 's', false },
        { "FAILURE", "failure", 's', true }, END_COLUMNS } },
    { "alarm",
      { { "NAME", "id", 's', false }, { "ABOUT", "parent", 's', false },
        { "CODE", "code", 's', false }, { "RAISED", "raised_ms", 't', false },
        { "CLEARED", "cleared_ms", 't', false },
        { "TEXT", "text", 's', false }, { 0 } } },
    { "request",
      { { "NAME", "id", 's', false }, { "FOR", "parent", 's', false },
        { "SORT", "sort", 's', false }, { "STATE", "state", 's', false },
        { "DIMENSION", "dimension", 's', true },
        { "GUARANTEED", "guaranteed", 'q', true },
        { "LIMIT", "limit", 'q', true },
        { "CLASS", "class", 's', true },
        { "PRIORITY", "priority", 's', true },
        { "REASON", "reason", 's', false }, { "NOTE", "note", 's', false },
        { "AGE", "created", 'a', false }, { 0 } } },
};

const struct column *
output_columns(const char *kind)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        if (strcmp(tables[i].kind, kind) == 0)
            return tables[i].columns;
    return common_columns;
}

void
output_line(const char *fmt, ...)
{
    char text[8192];
    scoped_buffer line = { 0 };
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    screen_clean(&line, text);
    (void)printf("%s\n", buffer_text(&line));
}

void
output_json_line(const char *text)
{
    scoped_buffer line = { 0 };

    screen_escape(&line, text, strlen(text));
    (void)printf("%s\n", buffer_text(&line));
}

/* A fixed-point number without the zeros at its end. */
static void
decimal(int64_t value, int64_t scale, int digits, char *text, size_t room)
{
    int64_t whole = value / scale, rest = value % scale;
    size_t used;

    if (rest < 0)
        rest = -rest;
    (void)snprintf(text, room, "%s%" PRId64 ".%0*" PRId64,
                   value < 0 && whole == 0 ? "-" : "", whole, digits, rest);
    used = strlen(text);
    while (used > 0 && text[used - 1] == '0')
        text[--used] = '\0';
    if (used > 0 && text[used - 1] == '.')
        text[used - 1] = '\0';
}

void
output_milli(int64_t milli, char *text, size_t room)
{
    decimal(milli, 1000, 3, text, room);
}

void
output_nano(int64_t nano, char *text, size_t room)
{
    decimal(nano, 1000000000, 9, text, room);
}

static void
age(const char *time, char *text, size_t room)
{
    static const struct {
        int64_t ms;
        char unit;
    } units[] = { { 86400000, 'd' }, { 3600000, 'h' }, { 60000, 'm' },
                  { 1000, 's' } };
    int64_t at, ms;

    (void)snprintf(text, room, "<unknown>");
    if (clock_parse(time, &at) != 0)
        return;
    ms = clock_wall_ms() - at;
    if (ms < 0)
        ms = 0;
    for (size_t i = 0; i < 4; i++)
        if (ms >= 2 * units[i].ms || i == 3) {
            (void)snprintf(text, room, "%" PRId64 "%c", ms / units[i].ms,
                           units[i].unit);
            return;
        }
}

static const json_t *
go_down(const json_t *value, const char *field)
{
    while (value != NULL && *field != '\0') {
        char key[64];
        size_t size = strcspn(field, ".");

        (void)snprintf(key, sizeof(key), "%.*s", (int)size, field);
        value = json_object_get(value, key);
        field += size;
        field += *field == '.';
    }
    return value;
}

static void
amount(const json_t *item, int64_t value, char *text, size_t room)
{
    const char *dimension =
        json_string_value(json_object_get(item, "dimension"));

    if (value < 0)
        (void)snprintf(text, room, "none");
    else
        fields_amount(dimension != NULL ? dimension : "", value, text, room);
}

/* What has not ended, or never ran, has none. */
static void
exit_code(const json_t *item, int64_t value, char *text, size_t room)
{
    bool ended = !json_is_null(json_object_get(item, "ended_ms")) &&
                 !json_is_null(json_object_get(item, "started_ms"));

    (void)snprintf(text, room, "-");
    if (ended)
        (void)snprintf(text, room, "%" PRId64, value);
}

/* When it is expected, else the word for why nobody knows. */
static void
forecast(const json_t *value, char *text, size_t room)
{
    const char *at = json_string_value(json_object_get(value, "at"));
    const char *none = json_string_value(json_object_get(value, "none"));

    (void)snprintf(text, room, "%.40s",
                   at != NULL     ? at
                   : none != NULL ? none
                                  : "-");
}

static void
cell(struct buffer *out, const struct column *column, const json_t *item)
{
    const json_t *value = go_down(item, column->field);
    char text[64] = "-";

    if (value == NULL || json_is_null(value)) {
        buffer_add_text(out, "-");
        return;
    }
    if (column->form == 'a' && json_is_string(value))
        age(json_string_value(value), text, sizeof(text));
    else if (column->form == 'b')
        (void)snprintf(text, sizeof(text), "%s",
                       json_is_true(value) ? "yes" : "-");
    else if (column->form == 'm' && json_is_integer(value))
        output_milli(json_integer_value(value), text, sizeof(text));
    else if (column->form == 'h' && json_is_integer(value))
        decimal(json_integer_value(value) / 3600, 1000000, 6, text,
                sizeof(text));
    else if (column->form == 'q' && json_is_integer(value))
        amount(item, json_integer_value(value), text, sizeof(text));
    else if (column->form == 'r' && json_is_string(value) &&
             strcmp(json_string_value(value), "none") == 0)
        (void)snprintf(text, sizeof(text), "-");
    else if (column->form == 'e' && json_is_integer(value))
        exit_code(item, json_integer_value(value), text, sizeof(text));
    else if (column->form == 'f' && json_is_object(value))
        forecast(value, text, sizeof(text));
    else if (column->form == 'c' && json_is_integer(value))
        output_nano(json_integer_value(value), text, sizeof(text));
    else if (json_is_string(value)) {
        screen_clean(out, json_string_length(value) > 0
                              ? json_string_value(value)
                              : "-");
        return;
    } else {
        json_write(out, value);
        return;
    }
    buffer_add_text(out, text);
}

static size_t
display_width(const char *text)
{
    size_t width = 0;

    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static void
print_table(const struct cli *cli, const struct column *columns,
            const json_t *items)
{
    size_t count = 0, rows = json_array_size(items);
    size_t widths[COLUMNS_MAX] = { 0 };
    const struct column *shown[COLUMNS_MAX];
    char **cells;

    for (; columns->title != NULL && count < COLUMNS_MAX; columns++)
        if (!columns->wide || cli->form == OUTPUT_WIDE)
            shown[count++] = columns;
    cells = arena_alloc(cli->arena, (rows + 1) * count * sizeof(*cells));
    for (size_t row = 0; row <= rows; row++)
        for (size_t i = 0; i < count; i++) {
            scoped_buffer text = { 0 };
            size_t width;

            if (row == 0)
                buffer_add_text(&text, shown[i]->title);
            else
                cell(&text, shown[i], json_array_get(items, row - 1));
            cells[row * count + i] =
                arena_strdup(cli->arena, buffer_text(&text));
            width = display_width(buffer_text(&text));
            if (width > widths[i] && (row > 0 || cli->headers))
                widths[i] = width;
        }
    for (size_t row = cli->headers ? 0 : 1; row <= rows; row++) {
        for (size_t i = 0; i < count; i++) {
            const char *text = cells[row * count + i];
            size_t pad = i + 1 < count ? widths[i] + 2 - display_width(text)
                                       : 0;

            (void)printf("%s%*s", text, (int)pad, "");
        }
        (void)putchar('\n');
    }
}

/* RFC 4180.  In a text, = + - @ behind any spaces begin a formula to
 * spreadsheets. */
static void
print_csv_cell(const char *text, bool is_text)
{
    const char *start = text + strspn(text, " ");
    bool formula = is_text && *start != '\0' &&
                   strchr("=+-@", *start) != NULL && strcmp(text, "-") != 0;

    if (!formula && strpbrk(text, ",\"\r\n") == NULL) {
        (void)fputs(text, stdout);
        return;
    }
    (void)fputs(formula ? "\"'" : "\"", stdout);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            (void)putchar('"');
        (void)putchar(*text);
    }
    (void)putchar('"');
}

static void
print_csv(const struct cli *cli, const struct column *columns,
          const json_t *items)
{
    if (cli->headers) {
        for (size_t i = 0; columns[i].title != NULL; i++)
            (void)printf("%s%s", i > 0 ? "," : "", columns[i].field);
        (void)fputs("\r\n", stdout);
    }
    for (size_t row = 0; row < json_array_size(items); row++) {
        for (size_t i = 0; columns[i].title != NULL; i++) {
            const json_t *value =
                go_down(json_array_get(items, row), columns[i].field);
            scoped_buffer text = { 0 };

            if (json_is_string(value))
                screen_clean(&text, json_string_value(value));
            else if (value != NULL && !json_is_null(value))
                json_write(&text, value);
            if (i > 0)
                (void)putchar(',');
            print_csv_cell(buffer_text(&text), json_is_string(value));
        }
        (void)fputs("\r\n", stdout);
    }
}

static void
print_escaped(const char *text, size_t size)
{
    scoped_buffer safe = { 0 };

    screen_escape(&safe, text, size);
    (void)fputs(buffer_text(&safe), stdout);
}

static void
print_yaml(const json_t *value)
{
    scoped_buffer text = { 0 };

    output_yaml(&text, value);
    print_escaped(buffer_text(&text), text.size);
}

static void
print_json(const json_t *value)
{
    char *text = json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY);

    if (text != NULL)
        print_escaped(text, strlen(text));
    (void)putchar('\n');
    free(text);
}

static void
print_names(const json_t *items)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        const char *kind = json_string_value(json_object_get(item, "type"));
        const char *name = json_string_value(json_object_get(item, "name"));
        const char *id = json_string_value(json_object_get(item, "id"));

        output_line("%s/%s", kind != NULL ? kind : "object",
                    name != NULL && name[0] != '\0' ? name
                    : id != NULL                    ? id
                                                    : "-");
    }
}

/* Names where the items refer to other objects by their ids. */
static void
put_names(const json_t *items, const json_t *names)
{
    json_t *item, *value;
    const char *key;
    void *next;
    size_t i;

    json_array_foreach(items, i, item) {
        json_object_foreach_safe(item, next, key, value) {
            json_t *name = json_is_string(value) && strcmp(key, "id") != 0
                               ? json_object_get(names,
                                                 json_string_value(value))
                               : NULL;

            if (name != NULL)
                (void)json_object_set(item, key, name);
        }
    }
}

void
output_print(const struct cli *cli, const struct column *columns,
             const json_t *value)
{
    const json_t *items = json_object_get(value, "items");
    scoped_json single = NULL;

    if (items == NULL) {
        single = json_array();
        /* json_array_append counts the reference, it does not change it. */
        (void)json_array_append(single, (json_t *)(uintptr_t)value);
        items = single;
    }
    if (cli->form != OUTPUT_JSON && cli->form != OUTPUT_YAML)
        put_names(items, json_object_get(value, "names"));
    switch (cli->form) {
    case OUTPUT_JSON:
        print_json(value);
        break;
    case OUTPUT_YAML:
        print_yaml(value);
        break;
    case OUTPUT_CSV:
        print_csv(cli, columns, items);
        break;
    case OUTPUT_NAME:
        print_names(items);
        break;
    case OUTPUT_TABLE:
    case OUTPUT_WIDE:
        print_table(cli, columns, items);
        break;
    }
}

void
output_done(const struct cli *cli, const char *kind, const char *name,
            const char *what, const json_t *object)
{
    if (cli->form == OUTPUT_JSON && object != NULL)
        print_json(object);
    else if (cli->form == OUTPUT_YAML && object != NULL)
        print_yaml(object);
    else if (cli->form == OUTPUT_NAME)
        output_line("%s/%s", kind, name);
    else if (!cli->quiet)
        output_line("%s/%s %s%s", kind, name, what,
                    cli->dry_run ? " (dry run)" : "");
}
