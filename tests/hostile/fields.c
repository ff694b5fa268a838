/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fields WHERE TOKENS IDS DOCUMENT: every operation of the API's own document,
 * and each field of it, with what does not belong there.
 *
 * TOKENS is a file with a token a line, of people who may do all of it
 * together, IDS an object of path parameters and ids, both files.  What is
 * refused must be refused with a 4xx problem that says why, and, where a field
 * has the wrong type, which.  What may be right (an empty text, a large number)
 * is tried with dry_run first and sent for good only when that was refused: so
 * nothing may change, which the caller checks.  Ends with `N operations, N
 * requests, N refused, N taken on trial, N findings`.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attacks.h"
#include "base/file.h"
#include "base/json.h"
#include "wire.h"

#define WORKERS 4
#define TOKENS_MAX 8
#define SLOW_MS 5000

struct counts {
    unsigned operations, requests, refused, taken, findings, bases;
    long slowest_ms;
};

struct op {
    const char *method; /* upper case */
    char name[8];
    const char *path;
    const json_t *about;
    const json_t *schema; /* of the body, NULL: none */
    bool trial;           /* takes dry_run */
    bool agent;           /* speaks another language */
};

static struct wire wire;
static const char *tokens[TOKENS_MAX]; /* NULL ends */
static const char *token;
static const json_t *ids;
static json_t *places;       /* path that ends in a parameter: an id there */
static struct counts *count; /* of this worker, shared with the parent */
static struct wire_answer answer;

/* What is being tried, for the reports. */
static const struct op *now;
static char place[64];
static const char *what;

static void
set_place(const char *text)
{
    (void)snprintf(place, sizeof(place), "%s", text);
}

static void
finding(const char *text)
{
    count->findings++;
    printf("%s %s: %s with \"%s\": %s: %d %.200s\n", now->method, now->path,
           place, what, text, answer.status, buffer_text(&answer.body));
}

/* --- sending --- */

struct draft {
    const char *query;    /* "?a=b", or "" */
    const char *replaced; /* parameter of the path, NULL: none */
    const struct buffer *with;
    const struct buffer *body; /* NULL: none */
    const char *header;        /* a line that comes instead of our own */
    bool dry;
};

/* The id for the parameter that the path up to there ends in. */
static const char *
id_at(const char *path, size_t size)
{
    const char *id = json_string_value(json_object_getn(places, path, size));

    return id != NULL ? id : "none";
}

static void
write_path(struct buffer *out, const struct op *op, const struct draft *draft)
{
    char name[40];

    for (const char *at = op->path; *at != '\0'; at++) {
        size_t size = strcspn(at, "}");

        if (*at != '{') {
            buffer_add_byte(out, (unsigned char)*at);
            continue;
        }
        (void)snprintf(name, sizeof(name), "%.*s", (int)size - 1, at + 1);
        if (draft->replaced != NULL && strcmp(draft->replaced, name) == 0)
            buffer_add(out, draft->with->bytes, draft->with->size);
        else
            buffer_add_text(
                out, id_at(op->path, (size_t)(at - op->path) + size + 1));
        at += size;
    }
    buffer_add_text(out, draft->query);
    if (draft->dry)
        buffer_add_text(out,
                        draft->query[0] == '\0' ? "?dry_run=1" : "&dry_run=1");
}

static bool
replaces(const struct draft *draft, const char *line)
{
    return draft->header != NULL &&
           strncasecmp(draft->header, line, strcspn(line, ":") + 1) == 0;
}

static void
add_line(struct buffer *out, const struct draft *draft, const char *line)
{
    if (!replaces(draft, line))
        buffer_printf(out, "%s\r\n", line);
}

static void
send_draft(const struct op *op, const struct draft *draft)
{
    scoped_buffer request = { 0 };
    scoped_buffer line = { 0 };

    buffer_printf(&request, "%s ", op->method);
    write_path(&request, op, draft);
    buffer_add_text(&request, " HTTP/1.1\r\nHost: x\r\n");
    buffer_printf(&line, "Authorization: Bearer %s", token);
    add_line(&request, draft, buffer_text(&line));
    add_line(&request, draft, "If-Match: *");
    if (draft->body != NULL)
        add_line(&request, draft, "Content-Type: application/json");
    if (draft->header != NULL)
        buffer_printf(&request, "%s\r\n", draft->header);
    if (draft->body != NULL || strcmp(op->method, "GET") != 0)
        buffer_printf(&request, "Content-Length: %zu\r\n",
                      draft->body == NULL ? 0 : draft->body->size);
    buffer_add_text(&request, "\r\n");
    if (draft->body != NULL)
        buffer_add(&request, draft->body->bytes, draft->body->size);
    wire_ask(&wire, &request, &answer);
    count->requests++;
}

/* --- judging --- */

static const char *
member(const json_t *problem, const char *name)
{
    const char *text = json_string_value(json_object_get(problem, name));

    return text == NULL ? "" : text;
}

static json_t *
read_problem(void)
{
    return json_loadb(buffer_text(&answer.body), answer.body.size, 0, NULL);
}

/* What this installation lacks, such as a signer, is told so. */
static bool
says_unsupported(void)
{
    return answer.status == 501 &&
           wire_has(&answer, "Content-Type: application/problem+json");
}

/* A refusal is a problem document, complete and without our markup. */
static void
judge_refusal(const char *field, bool named)
{
    scoped_json problem = read_problem();

    count->refused++;
    if (!says_unsupported() && (answer.status >= 500 || answer.status < 400)) {
        finding("no 4xx");
        return;
    }
    if (strcmp(now->method, "HEAD") == 0 || now->agent)
        return;
    /* The HTTP library's own refusals, of what is no request at all. */
    if (!wire_has(&answer, "Content-Type: application/problem+json")) {
        if (!wire_has(&answer, "Connection: close"))
            finding("no problem document");
        return;
    }
    if (problem == NULL || member(problem, "code")[0] == '\0' ||
        member(problem, "detail")[0] == '\0' ||
        json_integer_value(json_object_get(problem, "status")) != answer.status)
        finding("the problem is not complete");
    else if (named &&
             strncmp(member(problem, "field"), field, strlen(field)) != 0)
        finding("the problem does not name the field");
}

static void
judge_common(void)
{
    if (answer.ms > count->slowest_ms)
        count->slowest_ms = answer.ms;
    if (answer.status == 0)
        finding("no answer");
    else if (answer.status >= 500 && !says_unsupported())
        finding("a fault of the server");
    else if (answer.ms > SLOW_MS)
        finding("slow");
    if (wire_has(&answer, "Set-Cookie") || wire_has(&answer, "X-A:"))
        finding("a header of ours came back");
}

static bool
is_taken(void)
{
    return answer.status >= 200 && answer.status < 300;
}

/* What must not be taken.  field: what the refusal has to name, or NULL. */
static void
try_wrong(const struct op *op, const struct draft *draft, const char *field)
{
    send_draft(op, draft);
    judge_common();
    if (is_taken())
        finding("taken");
    else if (answer.status != 0)
        judge_refusal(field, field != NULL);
}

/* What may be right. */
static void
try_odd(const struct op *op, const struct draft *draft)
{
    struct draft trial = *draft;

    trial.dry = op->trial;
    send_draft(op, &trial);
    judge_common();
    if (is_taken()) {
        count->taken++;
        return;
    }
    if (answer.status != 0)
        judge_refusal(NULL, false);
    if (op->trial)
        try_wrong(op, draft, NULL);
}

/* --- bodies --- */

static bool schema_takes(const json_t *property, enum attack_type type);

/* What the document itself says fits. */
static const char *
fitting(const json_t *property)
{
    static char text[80];
    const json_t *list = json_object_get(property, "enum");
    const json_t *items = json_object_get(property, "items");
    const char *format = json_string_value(json_object_get(property, "format"));
    json_int_t least = json_integer_value(json_object_get(property, "minimum"));

    if (json_array_size(list) > 0) {
        (void)snprintf(text, sizeof(text), "\"%s\"",
                       json_string_value(json_array_get(list, 0)));
        return text;
    }
    if (json_object_get(property, "type") == NULL)
        return "\"x\"";
    if (schema_takes(property, ATTACK_INTEGER)) {
        (void)snprintf(text, sizeof(text), "%lld",
                       (long long)(least > 1 ? least : 1));
        return text;
    }
    if (schema_takes(property, ATTACK_BOOLEAN))
        return "true";
    if (schema_takes(property, ATTACK_ARRAY)) {
        list = json_object_get(items, "enum");
        (void)snprintf(text, sizeof(text), "[\"%s\"]",
                       list == NULL
                           ? "project.get"
                           : json_string_value(json_array_get(list, 0)));
        return text;
    }
    if (schema_takes(property, ATTACK_OBJECT))
        return "{}";
    return format != NULL && strcmp(format, "date-time") == 0
               ? "\"2031-01-01T00:00:00Z\""
               : "\"x\"";
}

static const char *
sample_of(const char *name, const json_t *property)
{
    static const char *const samples[][2] = {
        { "name", "\"fz\"" },
        { "image", "\"demo\"" },
        { "dimension", "\"cards\"" },
        { "password", "\"correct horse battery\"" },
        { "secret", "\"wrong\"" },
        { "verbs", "[\"project.get\"]" },
        { "role", "\"developer\"" },
        { "node", "\"other-node\"" },
        { "model", "\"X\"" },
        { "count", "1" },
        { "meter", "\"request\"" },
        { "nano", "1" },
        { "kind", "\"shared\"" },
        { "size_mib", "1" },
        { "limit", "1" },
        { "value", "1" },
        { "state", "\"active\"" },
        { "reason", "\"why\"" },
        { "issuer", "\"https://id.example/other\"" },
        { "to_ms", "\"2031-01-02T00:00:00Z\"" },
        { "from_ms", "\"2031-01-01T00:00:00Z\"" },
        { "fact", "\"driver\"" },
        { "spec", "{\"command\":[\"true\"]}" },
    };
    const json_t *id = json_object_get(ids, name);

    if (strcmp(name, "name") == 0 && strstr(now->path, "/guards") != NULL)
        return "\"pool.delete\"";
    if (strcmp(name, "subject") == 0)
        id = json_object_get(ids, "user");
    if (strcmp(name, "class") == 0 && strstr(now->path, "workloads") == NULL)
        return "\"research\"";
    if (id != NULL && strcmp(name, "node") != 0 && strcmp(name, "role") != 0) {
        static char text[80];

        (void)snprintf(text, sizeof(text), "\"%s\"", json_string_value(id));
        return text;
    }
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        if (strcmp(samples[i][0], name) == 0)
            return samples[i][1];
    return fitting(property);
}

static bool
is_named(const json_t *schema)
{
    return json_object_get(json_object_get(schema, "properties"), "name") !=
           NULL;
}

/* The smallest right body, with one field in the place of its own. */
static void
write_body(struct buffer *out, const json_t *schema, const char *field,
           const struct attack *attack)
{
    json_t *required = json_object_get(schema, "required"), *item;
    const json_t *properties = json_object_get(schema, "properties");
    const char *comma = "";
    size_t i;

    buffer_add_byte(out, '{');
    if (is_named(schema) && (field == NULL || strcmp(field, "name") != 0)) {
        buffer_printf(out, "\"name\":%s", sample_of("name", NULL));
        comma = ",";
    }
    json_array_foreach(required, i, item)
    {
        const char *name = json_string_value(item);

        if ((field != NULL && strcmp(name, field) == 0) ||
            strcmp(name, "name") == 0)
            continue;
        buffer_printf(out, "%s\"%s\":%s", comma, name,
                      sample_of(name, json_object_get(properties, name)));
        comma = ",";
    }
    if (field != NULL) {
        buffer_printf(out, "%s\"%s\":", comma, field);
        attack_write(out, attack);
    }
    buffer_add_byte(out, '}');
}

static bool
schema_takes(const json_t *property, enum attack_type type)
{
    const json_t *types = json_object_get(property, "type");
    const char *name = attack_type_name(type);
    json_t *item;
    size_t i;

    if (types == NULL)
        return true;
    if (json_is_string(types))
        return strcmp(json_string_value(types), name) == 0;
    json_array_foreach(types, i, item) if (strcmp(json_string_value(item),
                                                  name) == 0) return true;
    return false;
}

/* Where a create takes null for "not said", it is no wrong type. */
static bool
is_wrong(const json_t *property, const struct attack *attack)
{
    return attack->type == ATTACK_BROKEN ||
           (attack->type != ATTACK_NULL &&
            !schema_takes(property, attack->type));
}

static void
try_field(const struct op *op, const char *name, const json_t *property,
          bool base_is_right)
{
    char pointer[64];

    (void)snprintf(pointer, sizeof(pointer), "/%s", name);
    set_place(pointer);
    for (size_t i = 0; i < attack_value_count; i++) {
        const struct attack *attack = &attack_values[i];
        scoped_buffer body = { 0 };
        struct draft draft = { .query = "", .body = &body };
        bool broken = attack->type == ATTACK_BROKEN;

        what = attack->name;
        write_body(&body, op->schema, name, attack);
        if (is_wrong(property, attack))
            try_wrong(op, &draft, broken || !base_is_right ? NULL : pointer);
        else if (op->trial)
            try_odd(op, &draft);
    }
}

/* The document says of a manifest only that it is there. */
static void
try_manifest(const struct op *op)
{
    static const struct {
        const char *name;
        enum attack_type type;
    } fields[] = {
        { "command", ATTACK_ARRAY },     { "env", ATTACK_OBJECT },
        { "volumes", ATTACK_ARRAY },     { "ports", ATTACK_ARRAY },
        { "checkpoint", ATTACK_STRING }, { "workdir", ATTACK_STRING },
    };

    for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++)
        for (size_t i = 0; i < attack_value_count; i++) {
            const struct attack *attack = &attack_values[i];
            scoped_buffer body = { 0 };
            struct draft draft = { .query = "", .body = &body };
            char pointer[40];

            (void)snprintf(pointer, sizeof(pointer), "/spec/%s",
                           fields[f].name);
            set_place(pointer);
            what = attack->name;
            buffer_printf(&body,
                          "{\"name\":\"fz\",\"class\":%s,\"image\":\"demo\","
                          "\"spec\":{%s\"%s\":",
                          sample_of("class", NULL),
                          f > 0 ? "\"command\":[\"a\"]," : "", fields[f].name);
            attack_write(&body, attack);
            buffer_add_text(&body, "}}");
            if (attack->type == fields[f].type || attack->type == ATTACK_NULL)
                try_odd(op, &draft);
            else
                try_wrong(op, &draft,
                          attack->type == ATTACK_BROKEN ? NULL : pointer);
        }
}

static void
try_bodies(const struct op *op)
{
    set_place("body");
    for (size_t i = 0; i < attack_body_count; i++) {
        scoped_buffer body = { 0 };
        struct draft draft = { .query = "", .body = &body };

        what = attack_bodies[i].name;
        attack_write(&body, &attack_bodies[i]);
        try_wrong(op, &draft, NULL);
    }
    if (op->schema == NULL)
        return;
    {
        scoped_buffer body = { 0 };
        struct draft draft = { .query = "",
                               .body = &body,
                               .header = "Content-Type: text/plain" };

        what = "text/plain";
        buffer_add_text(&body, "{}");
        try_wrong(op, &draft, NULL);
        draft.header = "Content-Type: multipart/form-data; boundary=a";
        what = "a form";
        try_wrong(op, &draft, NULL);
    }
}

/* Is the body right that the fields are put into? */
static bool
try_base(const struct op *op)
{
    scoped_buffer body = { 0 };
    struct draft draft = { .query = "", .body = &body, .dry = op->trial };

    set_place("body");
    what = "smallest";
    write_body(&body, op->schema, NULL, NULL);
    if (!op->trial)
        return false;
    send_draft(op, &draft);
    judge_common();
    if (is_taken() || strcmp(op->method, "PATCH") == 0)
        count->bases++;
    else
        printf("no right body for %s %s: %d %s", op->method, op->path,
               answer.status, buffer_text(&answer.body));
    return is_taken();
}

static void
try_fields(const struct op *op)
{
    json_t *properties = json_object_get(op->schema, "properties"), *property;
    const char *name;
    bool right;

    if (op->schema == NULL || op->agent)
        return;
    right = try_base(op);
    json_object_foreach(properties, name, property)
        try_field(op, name, property, right);
    if (json_object_get(properties, "spec") != NULL)
        try_manifest(op);
}

/* --- paths, queries, headers --- */

static void
try_segments(const struct op *op, const char *name)
{
    (void)snprintf(place, sizeof(place), "{%s}", name);
    for (size_t i = 0; i < attack_segment_count; i++) {
        scoped_buffer segment = { 0 };
        scoped_buffer body = { 0 };
        struct draft draft = { .query = "",
                               .replaced = name,
                               .with = &segment,
                               .body = op->schema == NULL ? NULL : &body };

        what = attack_segments[i].name;
        attack_write(&segment, &attack_segments[i]);
        if (op->schema != NULL)
            write_body(&body, op->schema, NULL, NULL);
        /* Without its last segment the path is that of a list. */
        if (attack_segments[i].text[0] == '\0' && segment.size == 0 &&
            strcmp(op->method, "GET") == 0)
            try_odd(op, &draft);
        else
            try_wrong(op, &draft, NULL);
    }
}

/* A grammar of its own: what is put there never fits. */
static bool
has_grammar(const char *name, const char *text)
{
    static const char *const names[] = { "limit",  "cursor", "watch", "since",
                                         "offset", "follow", "raw",   "at",
                                         "from",   "to",     "group", "names",
                                         "dry_run" };

    if (text[0] == '\0')
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void
try_queries(const struct op *op, const char *name)
{
    for (size_t i = 0; i < attack_query_count; i++) {
        scoped_buffer query = { 0 };
        scoped_buffer body = { 0 };
        struct draft draft = { .body = op->schema == NULL ? NULL : &body };

        set_place(name);
        what = attack_queries[i].name;
        buffer_printf(&query, "?%s=", name);
        attack_write(&query, &attack_queries[i]);
        draft.query = buffer_text(&query);
        if (op->schema != NULL)
            write_body(&body, op->schema, NULL, NULL);
        if (has_grammar(name, attack_queries[i].text))
            try_wrong(op, &draft, NULL);
        else if (strcmp(name, "dry_run") != 0)
            try_odd(op, &draft);
    }
}

static void
try_query_forms(const struct op *op)
{
    static const char *const queries[] = {
        "?zz=1",
        "?limit=1&limit=2",
        "?%6cimit=1&limit=2",
        "?=1",
        "?%00=1",
        "?a[]=1",
        "?zz",
        "?a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1&i=1&j=1&k=1&l=1",
    };
    struct draft draft = { .query = "" };
    scoped_buffer body = { 0 };

    set_place("query");
    if (op->schema != NULL) {
        write_body(&body, op->schema, NULL, NULL);
        draft.body = &body;
    }
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        what = draft.query = queries[i];
        try_wrong(op, &draft, NULL);
    }
}

static void
try_header(const struct op *op, const char *name)
{
    static const char *const wrong[] = { "",        "\"",      "\"-1\"",
                                         "0x1",     "W/\"1\"", "\"1\", \"2\"",
                                         "\xff\xfe" };
    scoped_buffer line = { 0 };
    scoped_buffer body = { 0 };
    struct draft draft = { .query = "" };
    bool match = strcmp(name, "If-Match") == 0;

    set_place(name);
    if (op->schema != NULL) {
        write_body(&body, op->schema, NULL, NULL);
        draft.body = &body;
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        buffer_clear(&line);
        buffer_printf(&line, "%s: %s", name, wrong[i]);
        what = wrong[i], draft.header = buffer_text(&line);
        if (match || wrong[i][0] == '\0')
            try_wrong(op, &draft, NULL);
    }
    buffer_clear(&line);
    buffer_printf(&line, "%s: ", name);
    for (int i = 0; i < 3000; i++)
        buffer_add_byte(&line, 'k');
    what = "long", draft.header = buffer_text(&line);
    try_wrong(op, &draft, NULL);
    buffer_clear(&line);
    buffer_printf(&line, "%s: a\r\n%s: b", name, name);
    what = "twice", draft.header = buffer_text(&line);
    try_wrong(op, &draft, NULL);
}

static void
try_credentials(const struct op *op)
{
    static const char *const wrong[] = {
        "Authorization: Bearer",
        "Authorization: Bearer \xff\xfe",
        "Authorization: Basic cm9vdDpyb290",
        "Authorization: bh_s_AAAA",
        "Authorization: Bearer bh_s_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "X-None: 1",
    };
    struct draft draft = { .query = "" };
    scoped_buffer body = { 0 };

    set_place("Authorization");
    if (json_object_get(op->about, "x-bulkhead-verb") == NULL)
        return;
    if (op->schema != NULL) {
        write_body(&body, op->schema, NULL, NULL);
        draft.body = &body;
    }
    for (size_t i = 0; i + 1 < sizeof(wrong) / sizeof(wrong[0]); i++) {
        what = draft.header = wrong[i];
        try_wrong(op, &draft, NULL);
        if (answer.status != 401 && answer.status != 400)
            finding("not refused for its credential");
    }
}

static void
try_parameters(const struct op *op)
{
    const json_t *list = json_object_get(op->about, "parameters");
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const char *name = member(item, "name"), *in = member(item, "in");

        if (strcmp(in, "path") == 0)
            try_segments(op, name);
        else if (strcmp(in, "query") == 0)
            try_queries(op, name);
        else
            try_header(op, name);
    }
    try_query_forms(op);
    try_credentials(op);
}

/* --- what there is --- */

/* Of a list the one that IDS names, or else its last. */
static const char *
choose_id(const json_t *items)
{
    const char *key, *chosen = NULL;
    json_t *item, *id;
    size_t i;

    json_array_foreach(items, i, item)
    {
        const char *text = member(item, "id");

        chosen = text;
        json_object_foreach((json_t *)(uintptr_t)ids, key,
                            id) if (strcmp(text, json_string_value(id)) ==
                                    0) return text;
    }
    return chosen;
}

static void
find_place(const char *path)
{
    scoped_buffer list = { 0 };
    struct op op = { .method = "GET" };
    struct draft draft = { .query = "" };

    buffer_add(&list, path, (size_t)(strrchr(path, '/') - path));
    op.path = buffer_text(&list);
    for (size_t i = 0; tokens[i] != NULL; i++) {
        scoped_json page = NULL;
        const char *id;

        token = tokens[i];
        send_draft(&op, &draft);
        page = read_problem();
        id = choose_id(json_object_get(page, "items"));
        if (id == NULL)
            continue;
        json_object_set_new(places, path, json_string(id));
        return;
    }
}

/* Parents before children. */
static void
find_places(const json_t *document)
{
    json_t *paths = json_object_get(document, "paths"), *methods;
    const char *path;

    for (size_t depth = 1; depth < 12; depth++)
        json_object_foreach(paths, path, methods)
        {
            size_t segments = 0;

            for (const char *at = path; *at != '\0'; at++)
                segments += *at == '/';
            if (segments == depth && path[strlen(path) - 1] == '}')
                find_place(path);
        }
}

/* --- one operation --- */

static const json_t *
schema_of(const json_t *about)
{
    const json_t *content =
        json_object_get(json_object_get(about, "requestBody"), "content");

    return json_object_get(json_object_get(content, "application/json"),
                           "schema");
}

static bool
takes_trial(const json_t *about)
{
    json_t *list = json_object_get(about, "parameters"), *item;
    size_t i;

    json_array_foreach(list, i, item) if (strcmp(member(item, "name"),
                                                 "dry_run") == 0) return true;
    return false;
}

/* Ends our own session when it is taken: only what cannot be taken. */
static bool
is_logout(const struct op *op)
{
    return strstr(op->path, "/logout") != NULL;
}

/* Whoever may do it, does. */
static void
choose_token(const struct op *op)
{
    scoped_buffer body = { 0 };
    struct draft draft = { .query = "", .dry = op->trial };

    if (op->schema != NULL) {
        write_body(&body, op->schema, NULL, NULL);
        draft.body = &body;
    }
    for (size_t i = 0; tokens[i] != NULL; i++) {
        token = tokens[i];
        if (!op->trial && strcmp(op->method, "GET") != 0)
            return;
        send_draft(op, &draft);
        if (answer.status != 403 && answer.status != 404)
            return;
    }
    printf("nobody may %s %s: %d %s", op->method, op->path, answer.status,
           buffer_text(&answer.body));
}

static void
try_operation(struct op *op)
{
    now = op;
    count->operations++;
    op->schema = schema_of(op->about);
    op->trial = takes_trial(op->about);
    op->agent = strncmp(op->path, "/agent/", 7) == 0;
    choose_token(op);
    if (strcmp(op->method, "GET") != 0)
        try_bodies(op);
    try_fields(op);
    if (!is_logout(op) && !op->agent)
        try_parameters(op);
}

/* --- all of them --- */

static void
work(const json_t *document, unsigned worker)
{
    json_t *paths = json_object_get(document, "paths"), *methods, *about;
    const char *path, *method;
    unsigned number = 0;

    (void)setvbuf(stdout, NULL, _IOLBF, 65536);
    places = json_object();
    find_places(document);
    json_object_foreach(paths, path,
                        methods){ json_object_foreach(methods, method, about){
        struct op op = { .path = path, .about = about };

    for (size_t i = 0; i < 7 && method[i] != '\0'; i++)
        op.name[i] = (char)(method[i] - 'a' + 'A');
    op.method = op.name;
    if (number++ % WORKERS == worker)
        try_operation(&op);
}
}
(void)fflush(stdout);
}

static json_t *
read_json(const char *path)
{
    json_t *value = json_load_file(path, 0, NULL);

    if (value == NULL)
        fprintf(stderr, "%s is no JSON\n", path);
    return value;
}

static int
report(const struct counts *counts)
{
    struct counts sum = { 0 };

    for (int i = 0; i < WORKERS; i++) {
        sum.operations += counts[i].operations;
        sum.requests += counts[i].requests;
        sum.refused += counts[i].refused;
        sum.taken += counts[i].taken;
        sum.findings += counts[i].findings;
        sum.bases += counts[i].bases;
        if (counts[i].slowest_ms > sum.slowest_ms)
            sum.slowest_ms = counts[i].slowest_ms;
    }
    printf("slowest answer: %ld ms; right bodies to put fields into: %u\n",
           sum.slowest_ms, sum.bases);
    printf("%u operations, %u requests, %u refused, %u taken on trial, "
           "%u findings\n",
           sum.operations, sum.requests, sum.refused, sum.taken, sum.findings);
    return sum.findings == 0 && sum.operations > 0 ? 0 : 1;
}

static void
read_tokens(char *text)
{
    for (size_t i = 0; i + 1 < TOKENS_MAX && *text != '\0'; i++) {
        size_t size = strcspn(text, "\n");

        tokens[i] = text;
        text += size;
        if (*text == '\n')
            *text++ = '\0';
    }
}

int
main(int argc, char **argv)
{
    struct counts *counts =
        mmap(NULL, WORKERS * sizeof(*counts), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    scoped_buffer secret = { 0 };
    struct error err;
    json_t *document;
    int failed = 0;

    if (argc != 5 || counts == MAP_FAILED ||
        file_read(argv[2], 512, &secret, &err) != 0)
        return 2;
    read_tokens(secret.bytes);
    ids = read_json(argv[3]);
    document = read_json(argv[4]);
    if (ids == NULL || document == NULL)
        return 2;
    for (unsigned i = 0; i < WORKERS; i++) {
        if (fork() != 0)
            continue;
        wire = (struct wire){ argv[1], -1 };
        count = &counts[i];
        work(document, i);
        _exit(0);
    }
    for (int i = 0; i < WORKERS; i++) {
        int status = 1;

        (void)wait(&status);
        failed |= status;
    }
    return report(counts) | (failed != 0);
}
