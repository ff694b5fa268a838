/* SPDX-License-Identifier: Apache-2.0 */
#include "api/answer.h"

#include <stdio.h>
#include <unistd.h>

#define NOT_FOUND_TEXT "there is nothing by this address that you may see"
#define INTERNAL_TEXT "an internal error; the log has it by the request id"

void
answer_release(struct answer *answer)
{
    buffer_release(&answer->body);
    if (answer->file > 0)
        (void)close(answer->file);
}

void
answer_json(struct answer *answer, int status, json_t *value)
{
    answer->status = status;
    answer->type = "application/json";
    buffer_clear(&answer->body);
    json_write(&answer->body, value);
    buffer_add_byte(&answer->body, '\n');
    json_decref(value);
}

void
answer_text(struct answer *answer, int status, const char *type,
            const char *text)
{
    answer->status = status;
    answer->type = type;
    buffer_clear(&answer->body);
    buffer_add_text(&answer->body, text);
}

void
answer_etag(struct answer *answer, uint64_t version)
{
    (void)snprintf(answer->etag, sizeof answer->etag, "\"%llu\"",
                   (unsigned long long)version);
}

static const char *
problem_detail(const struct error *err)
{
    if (err->code == ERROR_NOT_FOUND)
        return NOT_FOUND_TEXT;
    if (err->code == ERROR_INTERNAL)
        return INTERNAL_TEXT;
    return err->text;
}

static void
add_member(struct buffer *body, const char *name, const char *text)
{
    if (body->size > 1)
        buffer_add_byte(body, ',');
    json_quote(body, name);
    buffer_add_byte(body, ':');
    json_quote(body, text);
}

/* Written by hand, since texts that quote a client's bytes may be cut in the
 * middle of a character, which jansson refuses. */
void
answer_problem(struct answer *answer, const struct error *err,
               const char *request_id)
{
    struct buffer *body = &answer->body;
    const char *code = error_code_text(err->code);
    char type[96];
    (void)snprintf(type, sizeof type, "urn:bulkhead:problem:%s", code);
    answer->status = error_http_status(err->code);
    answer->type = "application/problem+json";
    answer->etag[0] = answer->location[0] = '\0';
    buffer_clear(body);
    buffer_add_byte(body, '{');
    add_member(body, "code", code);
    add_member(body, "detail", problem_detail(err));
    if (err->field[0] != '\0')
        add_member(body, "field", err->field);
    if (err->help[0] != '\0' && err->code != ERROR_NOT_FOUND)
        add_member(body, "help", err->help);
    add_member(body, "request_id", request_id);
    buffer_printf(body, ",\"status\":%d", answer->status);
    add_member(body, "title", error_code_title(err->code));
    add_member(body, "type", type);
    buffer_add_text(body, "}\n");
}
