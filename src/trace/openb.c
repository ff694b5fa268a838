/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/openb.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "trace/csv.h"

#define NODES_MAX 1000000
#define PODS_MAX 10000000
#define CPU_MAX 100000000
#define MEMORY_MAX 1000000000
#define TIME_MAX 4000000000

#define NODE_FILE "openb_node_list_gpu_node.csv"
#define POD_FILE "openb_pod_list_"
#define PUBLISHED_FILE "published_allocation.csv"

static int
order(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* --- cluster --- */

struct node_line {
    struct value_node node;
    char model[OPENB_MODEL_MAX];
};
struct node_list {
    struct node_line *lines;
    size_t count, room;
};

enum { NODE_CPU, NODE_MEMORY, NODE_CARDS, NODE_MODEL, NODE_COLUMNS };

/* count_out: nodes that the line stands for. */
static int
read_node(const struct csv *csv, const int *at, struct node_line *out,
          int64_t *count_out, struct error *err)
{
    struct value_node *node = &out->node;
    const char *model = csv_text(csv, at[NODE_MODEL]);
    int64_t cards;

    if (csv_int(csv, at[NODE_CPU], CPU_MAX, 0, &node->cpu_milli, err) != 0 ||
        csv_int(csv, at[NODE_MEMORY], MEMORY_MAX, 0, &node->memory_mib,
                err) != 0 ||
        csv_int(csv, at[NODE_CARDS], VALUE_CARDS, 0, &cards, err) != 0 ||
        csv_int(csv, csv_column(csv, "count"), NODES_MAX, 1, count_out,
                err) != 0)
        return -1;
    if (strlen(model) >= OPENB_MODEL_MAX)
        return error_set(err, ERROR_INVALID,
                         "%s line %d: the model is longer than %d", csv->name,
                         csv->line, OPENB_MODEL_MAX - 1);
    (void)snprintf(out->model, sizeof(out->model), "%s", model);
    node->cards = (int32_t)cards;
    for (int64_t i = 0; i < cards; i++)
        node->free[i] = 1000;
    return 0;
}

static int
read_nodes(struct csv *csv, struct node_list *list, struct error *err)
{
    static const char *const names[NODE_COLUMNS] = { "cpu_milli", "memory_mib",
                                                     "gpu", "model" };
    int at[NODE_COLUMNS], more;

    for (int i = 0; i < NODE_COLUMNS; i++)
        if (csv_need(csv, names[i], &at[i], err) != 0)
            return -1;
    while ((more = csv_next(csv, err)) > 0) {
        struct node_line line = { 0 };
        int64_t count;

        if (read_node(csv, at, &line, &count, err) != 0)
            return -1;
        if ((int64_t)list->count + count > NODES_MAX)
            return error_set(err, ERROR_TOO_LARGE, "%s has more than %d nodes",
                             csv->name, NODES_MAX);
        while (list->count + (size_t)count > list->room) {
            list->room = 2 * list->room + 1024;
            list->lines =
                memory_grow(list->lines, list->room, sizeof(*list->lines));
        }
        for (int64_t i = 0; i < count; i++)
            list->lines[list->count++] = line;
    }
    return more;
}

static int
node_order(const void *left, const void *right)
{
    const struct node_line *a = left, *b = right;
    int by;

    if ((by = strcmp(a->model, b->model)) != 0 ||
        (by = order(a->node.cards, b->node.cards)) != 0 ||
        (by = order(a->node.cpu_milli, b->node.cpu_milli)) != 0)
        return by;
    return order(a->node.memory_mib, b->node.memory_mib);
}

/* Lines are in order, so nodes of a kind stand side by side. */
static int
add_node(struct openb_cluster *out, const struct node_line *line,
         const struct node_line *before, struct error *err)
{
    size_t kinds = out->supply.kinds;

    if (before == NULL || node_order(before, line) != 0) {
        if (kinds == VALUE_KINDS)
            return error_set(err, ERROR_INVALID,
                             NODE_FILE " has more than %d kinds of nodes",
                             VALUE_KINDS);
        (void)snprintf(out->models[kinds], OPENB_MODEL_MAX, "%s", line->model);
        out->supply.kinds = ++kinds;
    }
    out->nodes[out->count] = line->node;
    out->nodes[out->count++].kind = (int32_t)kinds - 1;
    out->supply.cards[kinds - 1] += line->node.cards;
    out->milli += 1000 * (int64_t)line->node.cards;
    return 0;
}

static int
fill_cluster(const struct node_line *lines, size_t count, struct arena *arena,
             struct openb_cluster *out, struct error *err)
{
    out->nodes = arena_alloc(arena, count * sizeof(*out->nodes));
    for (size_t i = 0; i < count; i++)
        if (add_node(out, &lines[i], i > 0 ? &lines[i - 1] : NULL, err) != 0)
            return -1;
    return out->milli > 0
               ? 0
               : error_set(err, ERROR_INVALID, NODE_FILE " has no cards");
}

int
openb_read_cluster(const char *directory, struct arena *arena,
                   struct openb_cluster *out, struct error *err)
{
    struct node_list list = { 0 };
    struct csv csv;
    int failed = csv_open(&csv, directory, NODE_FILE, err);

    *out = (struct openb_cluster){ 0 };
    if (!failed)
        failed = read_nodes(&csv, &list, err);
    csv_close(&csv);
    if (!failed) {
        if (list.count > 1)
            qsort(list.lines, list.count, sizeof(*list.lines), node_order);
        failed = fill_cluster(list.lines, list.count, arena, out, err);
    }
    free(list.lines);
    return failed;
}

/* --- pods --- */

struct pod_line {
    struct shape shape;
    int64_t created_s, deleted_s, count;
};

/* Is the model among "A|B"?  All are among "". */
static bool
is_among(const char *model, const char *spec)
{
    size_t length = strlen(model);

    for (const char *at = spec; *at != '\0'; at += *at == '|') {
        size_t size = strcspn(at, "|");

        if (size == length && memcmp(at, model, size) == 0)
            return true;
        at += size;
    }
    return *spec == '\0';
}

/* The kinds of nodes that can ever serve the pod. */
static uint64_t
kinds_of(const struct openb_cluster *cluster, const char *spec,
         const struct shape *shape)
{
    struct shape any = *shape;
    uint64_t kinds = 0;

    any.kinds = UINT64_MAX;
    for (size_t i = 0; i < cluster->count; i++) {
        const struct value_node *node = &cluster->nodes[i];

        if ((i == 0 || node->kind != node[-1].kind) &&
            is_among(cluster->models[node->kind], spec) &&
            value_fits(node, &any))
            kinds |= (uint64_t)1 << node->kind;
    }
    return kinds;
}

struct pod_columns {
    int cpu, memory, cards, milli, spec, created, deleted, count;
};

static int
find_columns(const struct csv *csv, struct pod_columns *out, struct error *err)
{
    out->spec = csv_column(csv, "gpu_spec");
    out->created = csv_column(csv, "creation_time");
    out->deleted = csv_column(csv, "deletion_time");
    out->count = csv_column(csv, "count");
    return csv_need(csv, "cpu_milli", &out->cpu, err) != 0 ||
                   csv_need(csv, "memory_mib", &out->memory, err) != 0 ||
                   csv_need(csv, "num_gpu", &out->cards, err) != 0 ||
                   csv_need(csv, "gpu_milli", &out->milli, err) != 0
               ? -1
               : 0;
}

static int
read_pod(const struct csv *csv, const struct pod_columns *at,
         const struct openb_cluster *cluster, struct pod_line *out,
         struct error *err)
{
    struct shape *shape = &out->shape;

    if (csv_int(csv, at->cpu, CPU_MAX, 0, &shape->cpu_milli, err) != 0 ||
        csv_int(csv, at->memory, MEMORY_MAX, 0, &shape->memory_mib, err) ||
        csv_int(csv, at->cards, VALUE_CARDS, 0, &shape->cards, err) != 0 ||
        csv_int(csv, at->milli, 1000, 0, &shape->milli, err) != 0 ||
        csv_int(csv, at->created, TIME_MAX, -1, &out->created_s, err) != 0 ||
        csv_int(csv, at->deleted, TIME_MAX, -1, &out->deleted_s, err) != 0 ||
        csv_int(csv, at->count, PODS_MAX, 1, &out->count, err) != 0)
        return -1;
    if (shape->cards > 0 &&
        (shape->milli == 0 || (shape->cards > 1 && shape->milli < 1000)))
        return error_set(err, ERROR_INVALID,
                         "%s line %d: gpu_milli is %d with num_gpu %d; a part "
                         "of a card is asked for with num_gpu 1 alone",
                         csv->name, csv->line, (int)shape->milli,
                         (int)shape->cards);
    if (shape->cpu_milli == 0)
        shape->cpu_milli = OPENB_CPU_MILLI;
    if (shape->memory_mib == 0)
        shape->memory_mib = OPENB_MEMORY_MIB;
    if (shape->cards == 0)
        shape->milli = 0;
    else
        shape->kinds = kinds_of(cluster, csv_text(csv, at->spec), shape);
    return 0;
}

struct pod_list {
    struct pod_line *lines;
    size_t count, room;
};

static int
read_pods(struct csv *csv, const struct openb_cluster *cluster,
          struct pod_list *list, struct error *err)
{
    struct pod_columns columns;
    int more;

    if (find_columns(csv, &columns, err) != 0)
        return -1;
    while ((more = csv_next(csv, err)) > 0) {
        struct pod_line line = { 0 };

        if (read_pod(csv, &columns, cluster, &line, err) != 0)
            return -1;
        if ((int64_t)list->count + line.count > PODS_MAX)
            return error_set(err, ERROR_TOO_LARGE, "%s has more than %d pods",
                             csv->name, PODS_MAX);
        while (list->count + (size_t)line.count > list->room) {
            list->room = 2 * list->room + 1024;
            list->lines = memory_grow(list->lines, list->room,
                                      sizeof(*list->lines));
        }
        for (int64_t i = 0; i < line.count; i++)
            list->lines[list->count++] = line;
    }
    return more;
}

static int
shape_order(const struct shape *a, const struct shape *b)
{
    int by;

    if ((by = order(a->cards, b->cards)) != 0 ||
        (by = order(a->milli, b->milli)) != 0 ||
        (by = order(a->cpu_milli, b->cpu_milli)) != 0 ||
        (by = order(a->memory_mib, b->memory_mib)) != 0)
        return by;
    return a->kinds < b->kinds ? -1 : a->kinds > b->kinds;
}

static int
pod_order(const void *left, const void *right)
{
    const struct pod_line *a = left, *b = right;
    int by;

    if ((by = shape_order(&a->shape, &b->shape)) != 0 ||
        (by = order(a->created_s, b->created_s)) != 0)
        return by;
    return order(a->deleted_s, b->deleted_s);
}

static void
fill_trace(const struct pod_list *list, struct arena *arena,
           struct openb_trace *out)
{
    out->count = list->count;
    out->pods = arena_alloc(arena, list->count * sizeof(*out->pods));
    out->classes = arena_alloc(arena, list->count * sizeof(*out->classes));
    out->counts = arena_alloc(arena, list->count * sizeof(*out->counts));
    out->has_times = true;
    for (size_t i = 0; i < list->count; i++) {
        const struct pod_line *line = &list->lines[i];

        if (i == 0 || !shape_equal(&line->shape, &list->lines[i - 1].shape))
            out->classes[out->class_count++] = line->shape;
        out->counts[out->class_count - 1]++;
        out->pods[i] = (struct openb_pod){ (uint32_t)out->class_count - 1,
                                           line->created_s, line->deleted_s };
        out->has_times =
            out->has_times && line->created_s >= 0 && line->deleted_s >= 0;
    }
}

int
openb_read_trace(const char *directory, const char *name,
                 const struct openb_cluster *cluster, struct arena *arena,
                 struct openb_trace *out, struct error *err)
{
    struct pod_list list = { 0 };
    struct csv csv;
    int failed = csv_open(&csv, directory,
                          arena_printf(arena, POD_FILE "%s.csv", name), err);

    *out = (struct openb_trace){ .name = arena_strdup(arena, name) };
    if (!failed)
        failed = read_pods(&csv, cluster, &list, err);
    if (!failed && list.count == 0)
        failed = error_set(err, ERROR_INVALID, "%s has no pods", name);
    csv_close(&csv);
    if (!failed) {
        qsort(list.lines, list.count, sizeof(*list.lines), pod_order);
        fill_trace(&list, arena, out);
    }
    free(list.lines);
    return failed;
}

/* --- what others measured --- */

int
openb_read_published(const char *directory, const char *name,
                     double *at_100_out, double *at_130_out, struct error *err)
{
    struct csv csv;
    int trace, policy, at_100, at_130, more = 0;
    int failed = csv_open(&csv, directory, PUBLISHED_FILE, err);

    *at_100_out = *at_130_out = -1;
    failed = failed || csv_need(&csv, "trace", &trace, err) != 0 ||
             csv_need(&csv, "policy", &policy, err) != 0 ||
             csv_need(&csv, "mean_alloc_percent_at_100", &at_100, err) != 0 ||
             csv_need(&csv, "mean_alloc_percent_at_130", &at_130, err) != 0;
    while (!failed && (more = csv_next(&csv, err)) > 0) {
        const char *text = csv_text(&csv, trace);

        if (strncmp(text, POD_FILE, strlen(POD_FILE)) == 0)
            text += strlen(POD_FILE);
        if (strcmp(text, name) == 0 &&
            strcmp(csv_text(&csv, policy), "FGD") == 0) {
            *at_100_out = strtod(csv_text(&csv, at_100), NULL);
            *at_130_out = strtod(csv_text(&csv, at_130), NULL);
        }
    }
    csv_close(&csv);
    return failed || more < 0 ? -1 : 0;
}

static int
name_order(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

int
openb_list(const char *directory, struct arena *arena, const char ***names_out,
           size_t *count_out, struct error *err)
{
    DIR *open = opendir(directory);
    const char **names = arena_alloc(arena, 1024 * sizeof(*names));
    struct dirent *entry;
    size_t count = 0;

    if (open == NULL)
        return error_set(err, ERROR_NOT_FOUND, "cannot read %s: %s", directory,
                         strerror(errno));
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread reads this one */
    while ((entry = readdir(open)) != NULL && count < 1024) {
        const char *name = entry->d_name;
        size_t size = strlen(name), prefix = strlen(POD_FILE);

        if (size > prefix + 4 && strncmp(name, POD_FILE, prefix) == 0 &&
            strcmp(name + size - 4, ".csv") == 0)
            names[count++] =
                arena_strndup(arena, name + prefix, size - prefix - 4);
    }
    (void)closedir(open);
    qsort(names, count, sizeof(*names), name_order);
    *names_out = names;
    *count_out = count;
    return count > 0 ? 0
                     : error_set(err, ERROR_NOT_FOUND,
                                 "%s has no file " POD_FILE "NAME.csv",
                                 directory);
}
