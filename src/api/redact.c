/* SPDX-License-Identifier: Apache-2.0 */
#include "api/redact.h"

#include <ctype.h>
#include <string.h>

#include "base/json.h"
#include "core/schema.h"

/* What follows "bh_" in a token, at least; shorter ones are no token. */
#define TOKEN_LEAST 24

/* Parts of names, in small letters. */
static const char *const secret_words[] = {
    "password", "passwd", "secret", "token", "credential",
    "apikey",   "api_key", "private", "seed", "recovery",
    "authorization", "cookie",
};

static bool
speaks_of_secret(const char *name)
{
    char small[128];
    size_t size = 0;

    for (; size < sizeof(small) - 1 && name[size] != '\0'; size++)
        small[size] = (char)tolower((unsigned char)name[size]);
    small[size] = '\0';
    for (size_t i = 0; i < sizeof(secret_words) / sizeof(*secret_words); i++)
        if (strstr(small, secret_words[i]) != NULL)
            return true;
    return false;
}

/* The first thing with the form of a token, NULL when there is none. */
static const char *
find_token(const char *text, size_t *size_out)
{
    while ((text = strstr(text, "bh_")) != NULL) {
        *size_out = strspn(text + 3, "abcdefghijklmnopqrstuvwxyz"
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_-");
        text += 3;
        if (*size_out >= TOKEN_LEAST)
            return text;
    }
    return NULL;
}

void
redact_text(char *text)
{
    size_t size;
    const char *at;

    while ((at = find_token(text, &size)) != NULL) {
        text += at - text;
        memset(text, '*', size);
    }
}

static bool
takes(const struct route *route, const char *name)
{
    const struct body_field *field = route->body;

    for (; field != NULL && field->name != NULL; field++)
        if (strcmp(field->name, name) == 0)
            return true;
    return (route->flags & ROUTE_CONTENT) != 0 &&
           (strcmp(name, "name") == 0 ||
            schema_field(route->kind, name) != NULL);
}

/* --- inside --- */

static json_t *clean(const json_t *value);

static bool
is_scalar_secret(const char *name, const json_t *value)
{
    return speaks_of_secret(name) && !json_is_boolean(value) &&
           !json_is_null(value);
}

static json_t *
clean_object(const json_t *object, bool environment)
{
    json_t *copy = json_object(), *value;
    const char *name;

    json_object_foreach ((json_t *)(uintptr_t)object, name, value)
        json_object_set_new(copy, name,
                            environment || is_scalar_secret(name, value)
                                ? json_string(REDACT_MARK)
                            : strcmp(name, "env") == 0 && json_is_object(value)
                                ? clean_object(value, true)
                                : clean(value));
    return copy;
}

static json_t *
clean(const json_t *value)
{
    size_t index;
    json_t *copy, *item;

    if (json_is_object(value))
        return clean_object(value, false);
    if (json_is_string(value) &&
        find_token(json_string_value(value), &index) != NULL)
        return json_string(REDACT_MARK);
    if (!json_is_array(value))
        return json_deep_copy(value);
    copy = json_array();
    json_array_foreach (value, index, item)
        json_array_append_new(copy, clean(item));
    return copy;
}

void
redact_body(const struct route *route, const json_t *body, struct buffer *out)
{
    scoped_json copy = NULL;
    const char *name;
    json_t *value;

    if ((route->flags & ROUTE_SECRET) != 0)
        return;
    copy = clean(body);
    json_object_foreach (copy, name, value)
        if (!takes(route, name))
            json_object_set_new(copy, name, json_string(REDACT_MARK));
    json_write(out, copy);
}
