/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fields.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/model.h"
#include "core/reason.h"

static json_t *
read_list(const char *text)
{
    json_t *list = json_array();

    while (*text != '\0') {
        size_t size = strcspn(text, ",");

        if (size > 0)
            (void)json_array_append_new(list, json_stringn(text, size));
        text += size;
        text += *text == ',';
    }
    return list;
}

static int
read_int(const char *name, const char *text, json_t **out, struct error *err)
{
    long long number;
    char *end;

    errno = 0;
    number = strtoll(text, &end, 10);
    if ((*text != '-' && (*text < '0' || *text > '9')) || end == text ||
        *end != '\0' || errno != 0)
        return error_set(err, ERROR_INVALID, "%s: \"%.40s\" is not an integer",
                         name, text);
    *out = json_integer(number);
    return 0;
}

/* "now" and "+30d" by this machine's clock; everything else is as it is. */
static json_t *
read_time(const char *text)
{
    char time[CLOCK_TEXT_MAX];
    struct error ignored;
    int64_t ms = 0;

    if (strcmp(text, "now") != 0 &&
        (text[0] != '+' || fields_duration(text + 1, &ms, &ignored) != 0))
        return json_string(text);
    clock_format(clock_wall_ms() + ms, time);
    return json_string(time);
}

static int
read_value(const struct field *field, const char *name, const char *text,
           json_t **out, struct error *err)
{
    if (strcmp(text, "null") == 0) {
        *out = json_null();
        return 0;
    }
    if (field != NULL && field->type == FIELD_INT)
        return read_int(name, text, out, err);
    if (field != NULL && field->type == FIELD_BOOL &&
        (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)) {
        *out = json_boolean(text[0] == 't');
        return 0;
    }
    if (field != NULL && field->type == FIELD_TIME) {
        *out = read_time(text);
        return *out != NULL ? 0
                            : error_set(err, ERROR_INVALID,
                                        "%s: the value is not UTF-8", name);
    }
    if (field != NULL && field->type == FIELD_VERBS) {
        *out = read_list(text);
        return 0;
    }
    if (field != NULL && field->type == FIELD_DOC &&
        strcmp(name, "content") != 0) {
        *out = json_read(text, strlen(text), err);
        return *out != NULL ? 0 : error_prefix(err, "%s", name);
    }
    *out = json_string(text);
    return *out != NULL ? 0
                        : error_set(err, ERROR_INVALID,
                                    "%s: the value is not UTF-8", name);
}

int
fields_read(const struct cli *cli, enum kind kind, int first, json_t *body,
            struct error *err)
{
    for (int i = first; i < cli->word_count; i++) {
        const char *word = cli->words[i];
        size_t size = strcspn(word, "=");
        const char *name = arena_strndup(cli->arena, word, size);
        json_t *value = NULL;
        int64_t nano;

        if (word[size] != '=' || size == 0)
            return error_set(err, ERROR_INVALID,
                             "\"%.60s\" is not FIELD=VALUE", word);
        if ((kind == KIND_PRICE || kind == KIND_COMMITMENT) &&
            strcmp(name, "price") == 0) {
            if (fields_nano(word + size + 1, &nano, err) != 0)
                return error_prefix(err, "price");
            (void)json_object_set_new(body, "nano", json_integer(nano));
            continue;
        }
        if (json_object_get(body, name) != NULL)
            return error_set(err, ERROR_INVALID, "%s is given twice", name);
        if (read_value(schema_field(kind, name), name, word + size + 1,
                       &value, err) != 0)
            return -1;
        (void)json_object_set_new(body, name, value);
    }
    return 0;
}

/* A decimal with at most `most` digits behind the point, as a whole number of
 * its smallest parts. */
static int
read_decimal(const char *text, int most, int64_t *out, struct error *err)
{
    int64_t value = 0;
    int digits = -1; /* behind the point; -1: before it */
    const char *at = text;

    for (; *at != '\0'; at++) {
        if (*at == '.' && digits < 0) {
            digits = 0;
            continue;
        }
        if (*at < '0' || *at > '9' || digits == most ||
            __builtin_mul_overflow(value, INT64_C(10), &value) ||
            __builtin_add_overflow(value, (int64_t)(*at - '0'), &value))
            break;
        digits += digits >= 0;
    }
    if (*at != '\0' || at == text || strcmp(text, ".") == 0)
        return error_set(err, ERROR_INVALID,
                         "\"%.40s\" is not an amount such as 2 or 0.5 (at "
                         "most %d digits behind the point)",
                         text, most);
    for (digits = digits < 0 ? 0 : digits; digits < most; digits++)
        if (__builtin_mul_overflow(value, INT64_C(10), &value))
            value = INT64_MAX;
    if (value > AMOUNT_MAX)
        return error_set(err, ERROR_INVALID, "\"%.40s\" is too much", text);
    *out = value;
    return 0;
}

int
fields_milli(const char *text, int64_t *out, struct error *err)
{
    return read_decimal(text, 3, out, err);
}

int
fields_nano(const char *text, int64_t *out, struct error *err)
{
    return read_decimal(text, 9, out, err);
}

void
fields_amount(const char *dimension, int64_t amount, char *text, size_t room)
{
    const struct field *field = schema_field(KIND_QUOTA, "dimension");
    char amount_text[REASON_AMOUNT_MAX];

    (void)snprintf(text, room, "%lld", (long long)amount);
    for (int i = 0; field->names[i] != NULL; i++)
        if (strcmp(field->names[i], dimension) == 0)
            (void)snprintf(text, room, "%s",
                           reason_amount(amount_text, i, amount));
}

int
fields_time(const char *text, char out[CLOCK_TEXT_MAX], struct error *err)
{
    int64_t ms = 0;

    if (text[0] == '+' && fields_duration(text + 1, &ms, err) != 0)
        return -1;
    if (text[0] == '+' || strcmp(text, "now") == 0)
        clock_format(clock_wall_ms() + ms, out);
    else if (strlen(text) < CLOCK_TEXT_MAX)
        (void)snprintf(out, CLOCK_TEXT_MAX, "%s", text);
    else
        return error_set(err, ERROR_INVALID,
                         "\"%.40s\" is no time: now, +2h or "
                         "2030-01-31T00:00:00Z",
                         text);
    return 0;
}

/* A whole number and one unit of the table (the first is the default). */
static int
with_unit(const char *text, const char *units, const int64_t *factors,
          const char *example, int64_t *out, struct error *err)
{
    const char *unit;
    long long number;
    char *end;

    errno = 0;
    number = strtoll(text, &end, 10);
    unit = *end == '\0' ? units : strchr(units, *end);
    if (text[0] < '0' || text[0] > '9' || errno != 0 || unit == NULL ||
        (*end != '\0' && end[1] != '\0') ||
        number > AMOUNT_MAX / factors[unit - units])
        return error_set(err, ERROR_INVALID,
                         "\"%.40s\" is not an amount such as %s", text,
                         example);
    *out = (int64_t)number * factors[unit - units];
    return 0;
}

int
fields_duration(const char *text, int64_t *out, struct error *err)
{
    static const int64_t factors[] = { 1000, 60000, 3600000, 86400000 };

    return with_unit(text, "smhd", factors, "90s, 10m, 2h or 7d", out, err);
}

int
fields_mib(const char *text, int64_t *out, struct error *err)
{
    static const int64_t factors[] = { 1, 1024, 1048576 };
    size_t size = strlen(text);
    char plain[24];

    /* "40GiB" is "40g". */
    if (size > 3 && size < sizeof(plain) &&
        strcmp(text + size - 2, "iB") == 0 &&
        strchr("MGT", text[size - 3]) != NULL) {
        (void)snprintf(plain, sizeof(plain), "%.*s%c", (int)size - 3, text,
                       text[size - 3] - 'A' + 'a');
        text = plain;
    }
    return with_unit(text, "mgt", factors,
                     "512m, 4g or 4GiB (MiB without a unit)", out, err);
}

#define MILLI_CARD_MS_PER_HOUR (INT64_C(1000) * 3600000)

int
fields_quota(const char *dimension, const char *text, int64_t *out,
            struct error *err)
{
    bool is_milli = strcmp(dimension, "cards") == 0 ||
                    strcmp(dimension, "cpu") == 0;

    if (strcmp(text, "none") == 0) {
        *out = -1;
        return 0;
    }
    if (strcmp(dimension, "card_time") == 0) {
        if (fields_milli(text, out, err) != 0)
            return -1;
        if (*out > USAGE_MAX / (MILLI_CARD_MS_PER_HOUR / 1000))
            return error_set(err, ERROR_INVALID,
                             "\"%.40s\" card-hours are too many", text);
        *out *= MILLI_CARD_MS_PER_HOUR / 1000;
        return 0;
    }
    if (strcmp(dimension, "cost") == 0)
        return fields_nano(text, out, err);
    if (is_milli)
        return fields_milli(text, out, err);
    if (strcmp(dimension, "memory") == 0 ||
        strcmp(dimension, "accel_memory") == 0 ||
        strcmp(dimension, "storage") == 0)
        return fields_mib(text, out, err);
    if (fields_milli(text, out, err) != 0)
        return -1;
    if (*out % 1000 != 0)
        return error_set(err, ERROR_INVALID, "\"%.40s\" must be whole", text);
    *out /= 1000;
    return 0;
}
