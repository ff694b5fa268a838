/* SPDX-License-Identifier: Apache-2.0 */
#include "control/eraser.h"

#include <stdatomic.h>
#include <string.h>

#include "core/record.h"
#include "store/row.h"

#define ROWS_MAX 200 /* at a time */
#define ORDERS_MAX 1024
#define NAME_MAX_BYTES (sizeof(ERASER_PREFIX) + 2 * ID_TEXT_MAX)

struct order {
    char name[NAME_MAX_BYTES]; /* of the counter */
    char log[ID_TEXT_MAX];
    char subject[ID_TEXT_MAX];
    int64_t below;
};

struct eraser {
    struct loop *loop;
    struct order orders[ORDERS_MAX];
    size_t count;
    _Atomic bool busy; /* a job is under way */
    /* The owner's, and one of the job under way, which may end later. */
    atomic_uint holds;
};

static void
add_name(struct buffer *out, const char *log, const char *subject)
{
    buffer_printf(out, ERASER_PREFIX "%s:%s", log, subject);
}

void
eraser_order(struct loop *loop, const char *log, const char *subject,
             int64_t below)
{
    scoped_buffer name = { 0 };

    add_name(&name, log, subject);
    loop_counter(loop, name.bytes, below, NULL, 0);
}

struct eraser *
eraser_new(struct loop *loop)
{
    struct eraser *eraser = memory_new(1, sizeof(*eraser));

    eraser->loop = loop;
    atomic_init(&eraser->holds, 1);
    return eraser;
}

void
eraser_free(struct eraser *eraser)
{
    if (atomic_fetch_sub(&eraser->holds, 1) == 1)
        free(eraser);
}

static struct order *
find_order(struct eraser *eraser, const char *name)
{
    for (size_t i = 0; i < eraser->count; i++)
        if (strcmp(eraser->orders[i].name, name) == 0)
            return &eraser->orders[i];
    return NULL;
}

void
eraser_note(struct eraser *eraser, const struct store_counter *counter)
{
    const char *log = counter->name + strlen(ERASER_PREFIX);
    struct order *order;
    const char *colon;

    if (strncmp(counter->name, ERASER_PREFIX, strlen(ERASER_PREFIX)) != 0 ||
        strlen(counter->name) >= NAME_MAX_BYTES)
        return;
    order = find_order(eraser, counter->name);
    colon = strchr(log, ':');
    if (order == NULL && counter->value > 0 && colon != NULL &&
        eraser->count < ORDERS_MAX) {
        order = &eraser->orders[eraser->count++];
        (void)snprintf(order->name, sizeof(order->name), "%s", counter->name);
        (void)snprintf(order->log, sizeof(order->log), "%.*s",
                       (int)(colon - log), log);
        (void)snprintf(order->subject, sizeof(order->subject), "%s",
                       colon + 1);
    }
    if (order != NULL)
        order->below = counter->value;
}

/* --- which records? --- */

/* Records whose personal part goes now. */
struct erasing {
    struct job job;
    struct eraser *eraser;
    char log[ID_TEXT_MAX];
    int64_t positions[ROWS_MAX];
    size_t count;
    char done[NAME_MAX_BYTES]; /* counter of an order that is carried out */
};

static int
take_row(void *context, const struct value *values, struct error *err)
{
    struct erasing *erasing = context;

    (void)err;
    if (row_text(KIND_EVENT, values, "personal") != NULL)
        erasing->positions[erasing->count++] =
            row_int(KIND_EVENT, values, "position");
    return erasing->count == ROWS_MAX ? 1 : 0;
}

static int
collect(const struct order *order, const char *column,
        struct store_reader *reader, struct erasing *erasing,
        struct error *err)
{
    struct store_query query = { .kind = KIND_EVENT,
                                 .order = { "position" } };

    if (erasing->count == ROWS_MAX)
        return 0;
    store_where_text(&query, "parent", STORE_EQUAL, order->log);
    store_where_int(&query, "position", STORE_LESS, order->below);
    store_where_text(&query, column, STORE_EQUAL, order->subject);
    return store_select(reader, &query, take_row, erasing, err);
}

/* --- carrying out --- */

static void
run_erasing(struct loop *loop, struct job *job)
{
    struct erasing *erasing = job->data;

    for (size_t i = 0; i < erasing->count; i++)
        loop_erase_person(loop, erasing->log, erasing->positions[i]);
    if (erasing->done[0] != '\0')
        loop_counter(loop, erasing->done, 0, NULL, 0);
}

static void
end_erasing(struct job *job)
{
    struct erasing *erasing = job->data;
    struct eraser *eraser = erasing->eraser;

    arena_free(job->arena);
    free(erasing);
    atomic_store(&eraser->busy, false);
    eraser_free(eraser);
}

static int
erase_files(struct audit_dir *files, const struct erasing *erasing,
            struct error *err)
{
    for (size_t i = 0; i < erasing->count; i++)
        if ((uint64_t)erasing->positions[i] < files->tree.size &&
            audit_dir_erase(files, (uint64_t)erasing->positions[i], err) != 0)
            return -1;
    return 0;
}

static int
carry_out(struct eraser *eraser, struct order *order,
          struct store_reader *reader, struct audit_dir *files,
          struct error *err)
{
    struct erasing *erasing = memory_new(1, sizeof(*erasing));

    erasing->eraser = eraser;
    (void)snprintf(erasing->log, sizeof(erasing->log), "%s", order->log);
    erasing->job = (struct job){ .run = run_erasing,
                                 .done = end_erasing,
                                 .arena = arena_new(),
                                 .data = erasing };
    atomic_store(&eraser->busy, true);
    atomic_fetch_add(&eraser->holds, 1);
    if (collect(order, "actor", reader, erasing, err) != 0 ||
        collect(order, "target", reader, erasing, err) != 0 ||
        erase_files(files, erasing, err) != 0) {
        end_erasing(&erasing->job);
        return -1;
    }
    if (erasing->count == 0) {
        (void)snprintf(erasing->done, sizeof(erasing->done), "%s",
                       order->name);
        order->below = 0;
    }
    if (loop_post(eraser->loop, &erasing->job, err) != 0) {
        end_erasing(&erasing->job);
        return -1;
    }
    return 0;
}

int
eraser_step(struct eraser *eraser, struct store_reader *reader,
            const char *log, struct audit_dir *files, struct error *err)
{
    for (size_t i = 0; i < eraser->count; i++) {
        struct order *order = &eraser->orders[i];

        if (order->below > 0 && strcmp(order->log, log) == 0 &&
            !atomic_load(&eraser->busy))
            return carry_out(eraser, order, reader, files, err);
    }
    return 0;
}
