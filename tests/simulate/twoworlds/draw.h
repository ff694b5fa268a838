/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TWOWORLDS_DRAW_H
#define TESTS_TWOWORLDS_DRAW_H

#include "core/schema.h"
#include "core/verb.h"
#include "tests/simulate/twoworlds/world.h"

/*
 * What is asked?  Any route of the table, with ids that were seen in answers,
 * ids of the other tenant, and ids that never were; bodies by the schema of
 * the route's kind.  A new route or field is drawn without being named here.
 *
 * A draft holds what the dice decided, apart from the texts that people
 * choose: draw_text writes it out for one world, with that world's words.
 */

#define DRAW_SEEN 24 /* ids kept of a kind, the newest */

#define DRAW_ROUTES 1024

struct sighting {
    char ids[KIND_COUNT][DRAW_SEEN][ID_TEXT_MAX];
    unsigned count[KIND_COUNT];
    uint64_t revision[DRAW_ROUTES]; /* that its list told; 0: none */
};

struct dice {
    uint64_t state;
};

static inline uint64_t
roll(struct dice *dice, uint64_t below)
{
    dice->state += UINT64_C(0x9E3779B97F4A7C15);
    return inject_mix(dice->state) % below;
}

static inline bool
luck(struct dice *dice, unsigned percent)
{
    return roll(dice, 100) < percent;
}

/* --- what was seen --- */

static inline enum kind
kind_of_prefix(const char *at, size_t size)
{
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
        if (strlen(schema_get((enum kind)kind)->prefix) == size &&
            memcmp(schema_get((enum kind)kind)->prefix, at, size) == 0)
            return (enum kind)kind;
    return KIND_NONE;
}

static inline void
see_id(struct sighting *seen, enum kind kind, const char *text, size_t size)
{
    unsigned count = seen->count[kind];

    for (unsigned i = 0; i < DRAW_SEEN && i < count; i++)
        if (strncmp(seen->ids[kind][i], text, size) == 0)
            return;
    (void)snprintf(seen->ids[kind][count % DRAW_SEEN], ID_TEXT_MAX, "%.*s",
                   (int)size, text);
    seen->count[kind]++;
}

/* Takes every id out of an answer. */
static inline void
see_answer(struct sighting *seen, const char *text)
{
    for (const char *at = text; (at = strchr(at, '_')) != NULL; at++) {
        size_t digits = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz234567");
        size_t size = 0;
        enum kind kind;

        while (size < 8 && at - size > text && at[-(int)size - 1] >= 'a' &&
               at[-(int)size - 1] <= 'z')
            size++;
        if (digits != ID_DIGITS || size == 0)
            continue;
        kind = kind_of_prefix(at - size, size);
        if (kind != KIND_NONE)
            see_id(seen, kind, at - size, size + 1 + digits);
    }
}

/* From where on a watch of the list goes on: its last member. */
static inline void
see_revision(struct sighting *seen, const struct route *route,
             const char *text)
{
    static const char mark[] = "\"revision\":";
    const char *at = NULL;

    if ((route->flags & ROUTE_WATCH) == 0 || strncmp(text, "200", 3) != 0)
        return;
    while ((text = strstr(text, mark)) != NULL)
        at = text += strlen(mark);
    if (at != NULL && inject_mix(inject_turn) % 4 == 0)
        seen->revision[route - route_table] = strtoull(at, NULL, 10);
}

/* --- drafts --- */

/* In a draft: '\1' stands for the world's word, '\2' for a longer text. */
#define DRAW_WORD "\1"
#define DRAW_TEXT "\2"

struct draft {
    const struct route *route;
    int person;
    char path[700];
    struct buffer body;
    bool has_body;
    char key[24]; /* Idempotency-Key, "": none */
};

static inline void
draft_release(struct draft *draft)
{
    buffer_release(&draft->body);
}

struct drawing {
    struct dice *dice;
    const struct sighting *own, *other;
    struct draft *draft;
    unsigned number;
    bool watches; /* lists may go on */
};

static inline void
draw_id(const struct drawing *drawing, enum kind kind, char out[ID_TEXT_MAX])
{
    const struct sighting *from = drawing->own;
    unsigned chance = (unsigned)roll(drawing->dice, 100);
    unsigned count;

    if (chance < 8)
        from = drawing->other;
    count = from->count[kind] < DRAW_SEEN ? from->count[kind] : DRAW_SEEN;
    if (count > 0 && chance < 96) {
        (void)snprintf(out, ID_TEXT_MAX, "%s",
                       from->ids[kind][roll(drawing->dice, count)]);
        return;
    }
    id_format(schema_get(kind)->prefix,
              (struct id){ roll(drawing->dice, UINT64_MAX),
                           roll(drawing->dice, UINT64_MAX) },
              out);
}

/* A tenant's own tenant and project come first, else hardly a path fits. */
static inline void
draw_segment(const struct drawing *drawing, const char *name, size_t size,
             char out[ID_TEXT_MAX])
{
    char kind_name[32];
    enum kind kind;

    (void)snprintf(kind_name, sizeof(kind_name), "%.*s", (int)size, name);
    kind = schema_find(kind_name);
    if ((kind == KIND_TENANT || kind == KIND_PROJECT) &&
        drawing->own->count[kind] > 0 && luck(drawing->dice, 88))
        (void)snprintf(out, ID_TEXT_MAX, "%s", drawing->own->ids[kind][0]);
    else
        draw_id(drawing, kind, out);
}

static inline void
draw_path(const struct drawing *drawing)
{
    struct draft *draft = drawing->draft;
    const char *at = draft->route->path + strlen(ROUTE_ROOT);
    size_t length = 0;

    while (*at != '\0') {
        size_t size;
        char id[ID_TEXT_MAX];

        if (*at != '{') {
            draft->path[length++] = *at++;
            continue;
        }
        size = strcspn(at + 1, "}");
        draw_segment(drawing, at + 1, size, id);
        length += (size_t)snprintf(draft->path + length, 600 - length, "%s",
                                   id);
        at += size + 2;
    }
    draft->path[length] = '\0';
}

static inline void
draw_verbs(const struct drawing *drawing, struct buffer *out)
{
    unsigned count = 1 + (unsigned)roll(drawing->dice, 4);

    buffer_add_text(out, "[");
    for (unsigned i = 0; i < count; i++)
        buffer_printf(out, "%s\"%s\"", i > 0 ? "," : "",
                      verb_name((enum verb)roll(drawing->dice, VERB_COUNT)));
    buffer_add_text(out, "]");
}

static inline void
draw_subject(const struct drawing *drawing, struct buffer *out)
{
    static const enum kind kinds[] = { KIND_USER, KIND_USER, KIND_GROUP,
                                       KIND_SERVICEACCOUNT, KIND_PROJECT };
    char id[ID_TEXT_MAX];

    draw_id(drawing, kinds[roll(drawing->dice, 5)], id);
    buffer_printf(out, "\"%s\"", id);
}

static inline void
draw_time(const struct drawing *drawing, struct buffer *out)
{
    char text[CLOCK_TEXT_MAX];

    clock_format(harness_wall_ms() +
                     (int64_t)(1 + roll(drawing->dice, 500)) * 60000,
                 text);
    buffer_printf(out, "\"%s\"", text);
}

static inline void
draw_value(const struct drawing *drawing, const struct field *field,
           struct buffer *out)
{
    struct dice *dice = drawing->dice;
    char id[ID_TEXT_MAX];
    size_t names = 0;

    switch (field->type) {
    case FIELD_TEXT:
        buffer_add_text(out, "\"" DRAW_TEXT "\"");
        break;
    case FIELD_BOOL:
        buffer_add_text(out, luck(dice, 50) ? "true" : "false");
        break;
    case FIELD_INT:
        buffer_printf(out, "%lld",
                      (long long)field->min +
                          (long long)roll(dice, luck(dice, 80) ? 4 : 3000));
        break;
    case FIELD_TIME:
        draw_time(drawing, out);
        break;
    case FIELD_ENUM:
        while (field->names[names] != NULL)
            names++;
        buffer_printf(out, "\"%s\"", field->names[roll(dice, names)]);
        break;
    case FIELD_REF:
        if (field->kind == KIND_NONE) {
            draw_subject(drawing, out);
            break;
        }
        draw_id(drawing, field->kind, id);
        buffer_printf(out, "\"%s\"", id);
        break;
    case FIELD_VERBS:
        draw_verbs(drawing, out);
        break;
    case FIELD_DOC:
        buffer_add_text(out, strcmp(field->name, "spec") == 0
                                 ? "{\"command\":[\"" DRAW_TEXT "\"],"
                                   "\"env\":{\"A\":\"" DRAW_TEXT "\"}}"
                                 : "null");
        break;
    case FIELD_NAME:
    case FIELD_BYTES:
        buffer_add_text(out, "null");
        break;
    }
}

/* Texts with a form of their own, and what would make most work refused. */
static inline bool
is_left_out(const struct field *field)
{
    static const char *const names[] = { "sources", "vendor", "model",
                                         "instances_max", "cpu_milli",
                                         "memory_mib", "recovery" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(field->name, names[i]) == 0)
            return true;
    return false;
}

static inline void
draw_fields(const struct drawing *drawing, enum kind kind, bool creates)
{
    const struct schema *schema = schema_get(kind);
    struct buffer *out = &drawing->draft->body;
    unsigned want = creates ? FIELD_CREATE : FIELD_UPDATE;
    bool first = true;

    buffer_add_text(out, "{");
    if (creates && luck(drawing->dice, 90)) {
        buffer_printf(out, "\"name\":\"" DRAW_WORD "-%u\"", drawing->number);
        first = false;
    }
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];
        bool required = (field->flags & FIELD_REQUIRED) != 0 && creates;

        if ((field->flags & want) == 0 || is_left_out(field) ||
            (strcmp(field->name, "state") == 0 && !luck(drawing->dice, 5)) ||
            (!required && !luck(drawing->dice, creates ? 12 : 30)))
            continue;
        buffer_printf(out, "%s\"%s\":", first ? "" : ",", field->name);
        draw_value(drawing, field, out);
        first = false;
    }
    buffer_add_text(out, "}");
}

static inline void
draw_route_body(const struct drawing *drawing)
{
    struct buffer *out = &drawing->draft->body;
    const struct body_field *field = drawing->draft->route->body;
    bool first = true;

    buffer_add_text(out, "{");
    for (; field->name != NULL; field++) {
        if (!field->required && luck(drawing->dice, 60))
            continue;
        buffer_printf(out, "%s\"%s\":", first ? "" : ",", field->name);
        first = false;
        switch (field->type) {
        case BODY_TEXT:
            buffer_add_text(out, "\"" DRAW_TEXT "\"");
            break;
        case BODY_INT:
            buffer_printf(out, "%u", (unsigned)roll(drawing->dice, 5));
            break;
        case BODY_BOOL:
            buffer_add_text(out, "true");
            break;
        case BODY_OBJECT:
            buffer_add_text(out, "{}");
            break;
        case BODY_LIST:
            buffer_add_text(out, "[]");
            break;
        }
    }
    buffer_add_text(out, "}");
}

/* A question about the future has a form of its own. */
static inline void
draw_whatif(const struct drawing *drawing)
{
    char project[ID_TEXT_MAX], class[ID_TEXT_MAX], work[ID_TEXT_MAX];

    draw_id(drawing, KIND_PROJECT, project);
    draw_id(drawing, KIND_CLASS, class);
    draw_id(drawing, KIND_WORKLOAD, work);
    buffer_printf(&drawing->draft->body,
                  "{\"submit\":[{\"project\":\"%s\",\"count\":%u,"
                  "\"run_ms\":90000,\"workload\":{\"class\":\"%s\","
                  "\"image\":\"x\",\"spec\":{\"command\":[\"x\"]}}}]",
                  project, 1 + (unsigned)roll(drawing->dice, 6), class);
    if (luck(drawing->dice, 40))
        buffer_printf(&drawing->draft->body, ",\"watch\":[\"%s\"]", work);
    buffer_add_text(&drawing->draft->body, "}");
}

static inline void
draw_body(const struct drawing *drawing)
{
    struct draft *draft = drawing->draft;
    const struct route *route = draft->route;

    buffer_clear(&draft->body);
    draft->has_body =
        route->body != NULL || (route->flags & ROUTE_CONTENT) != 0;
    if (!draft->has_body)
        return;
    if (strcmp(route->method, "POST") == 0 &&
        strstr(route->path, "/what-if") != NULL)
        draw_whatif(drawing);
    else if (route->flags & ROUTE_CONTENT)
        draw_fields(drawing, route->kind,
                    (route->flags & ROUTE_CREATES) != 0);
    else
        draw_route_body(drawing);
}

/* No agents, no login (a hash each), nothing that ends a person's session. */
static inline bool
is_drawn(const struct route *route)
{
    return route->form != ROUTE_START && (route->flags & ROUTE_SECRET) == 0 &&
           strncmp(route->path, ROUTE_ROOT, strlen(ROUTE_ROOT)) == 0 &&
           strcmp(route->path, ROUTE_ROOT "/openapi.json") != 0 &&
           strcmp(route->path, ROUTE_ROOT "/logout") != 0;
}

/* What ends most of what follows: drawn, but seldom. */
static inline bool
is_final(const struct route *route)
{
    return route->kind == KIND_CEILING ? route_changes(route)
                                       : strcmp(route->method, "DELETE") == 0 &&
                                             (route->kind == KIND_PROJECT ||
                                              route->kind == KIND_USER ||
                                              route->kind == KIND_GRANT ||
                                              route->kind == KIND_SESSION);
}

/* At first tenants furnish themselves; later a third is about work. */
static inline bool
is_wanted(const struct route *route, unsigned number, unsigned mood)
{
    bool creates = (route->flags & ROUTE_CREATES) != 0 &&
                   strstr(route->path, "{tenant}") != NULL;

    if (number < 200)
        return creates;
    if (mood < 25)
        return strstr(route->path, "/workloads") != NULL;
    return mood >= 35 || (creates && strstr(route->path, "workloads") != NULL);
}

static inline const struct route *
draw_route(struct dice *dice, unsigned number)
{
    const unsigned mood = (unsigned)roll(dice, 100);
    const struct route *route;

    do
        route = &route_table[roll(dice, route_count)];
    while (!is_drawn(route) || !is_wanted(route, number, mood) ||
           (is_final(route) && (number < 200 || !luck(dice, 4))));
    return route;
}

/* What came of a list since it was read. */
static inline bool
draw_watch(const struct drawing *drawing, char *out, size_t room)
{
    const struct route *route = drawing->draft->route;
    uint64_t since = drawing->own->revision[route - route_table];

    if ((route->flags & ROUTE_WATCH) == 0 || !drawing->watches || since == 0 ||
        !luck(drawing->dice, 40))
        return false;
    (void)snprintf(out, room, "?watch=1&since=%llu",
                   (unsigned long long)since);
    return true;
}

static inline void
draw_query(const struct drawing *drawing)
{
    struct draft *draft = drawing->draft;
    struct dice *dice = drawing->dice;
    const struct route *route = draft->route;
    const char *query = "";
    char watch[64];
    size_t size;

    if (draw_watch(drawing, watch, sizeof(watch)))
        query = watch;
    else if (route_changes(route) && luck(dice, 15))
        query = "?dry_run=1";
    else if ((route->flags & ROUTE_LIST) != 0 && luck(dice, 30))
        query = luck(dice, 50) ? "?limit=2" : "?names=1";
    else if (route->query != NULL && strstr(route->query, "raw") != NULL &&
             luck(dice, 50))
        query = "?raw=1&limit=200";
    else if (route->query != NULL && strstr(route->query, "verb") != NULL)
        query = "?verb=workload.get";
    size = strlen(draft->path);
    (void)snprintf(draft->path + size, sizeof(draft->path) - size, "%s",
                   query);
    draft->key[0] = '\0';
    if (route_changes(route) && luck(dice, 10))
        (void)snprintf(draft->key, sizeof(draft->key), "key-%u",
                       (unsigned)roll(dice, 40));
}

/* Fills the draft for a route; who asks is drawn as well. */
static inline void
draw_for(const struct drawing *drawing, const struct route *route)
{
    struct draft *draft = drawing->draft;

    draft->route = route;
    draft->person = luck(drawing->dice, 50)
                        ? (int)roll(drawing->dice, 2) * 2
                        : (int)roll(drawing->dice, WORLD_PEOPLE);
    draw_path(drawing);
    draw_body(drawing);
    draw_query(drawing);
}

/* --- writing it out --- */

/* The words of a tenant in a world: of another length in each. */
struct words {
    const char *word, *text;
};

static inline void
draw_text(const struct draft *draft, const struct words *words,
          struct buffer *out)
{
    const char *at = buffer_text(&draft->body);

    buffer_clear(out);
    while (*at != '\0') {
        size_t size = strcspn(at, DRAW_WORD DRAW_TEXT);

        buffer_add(out, at, size);
        at += size;
        if (*at != '\0')
            buffer_add_text(out, *at++ == '\1' ? words->word : words->text);
    }
}

#endif
