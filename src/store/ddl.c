/* SPDX-License-Identifier: Apache-2.0 */
#include "store/ddl.h"

#include "core/object.h"

/* Indexes by question; history tables have no key on their random ids, whose
 * upkeep would cost more than the rows. */
static const struct index {
    enum kind kind;
    const char *name;
    const char *columns;
    const char *where; /* partial index, NULL: whole */
    bool unique;
} indexes[] = {
    { KIND_WORKLOAD, "live", "seq", "live = 1", false },
    { KIND_WORKLOAD, "parent", "parent, seq", NULL, false },
    { KIND_INSTANCE, "live", "seq", "live = 1", false },
    { KIND_INSTANCE, "parent", "parent, seq", NULL, false },
    { KIND_BINDING, "live", "seq", "live = 1", false },
    { KIND_BINDING, "card", "card, from_ms", NULL, false },
    { KIND_BINDING, "parent", "parent, from_ms", NULL, false },
    { KIND_BINDING, "project", "project, from_ms", NULL, false },
    { KIND_FACT, "source", "source, epoch, sequence", NULL, true },
    { KIND_FACT, "time", "from_ms", NULL, false },
    { KIND_FACT, "card", "card, from_ms", NULL, false },
    { KIND_FACT, "tenant", "tenant, from_ms", NULL, false },
    { KIND_FACT, "project", "project, from_ms", NULL, false },
    { KIND_EVENT, "log", "parent, position", NULL, true },
    { KIND_EVENT, "target", "target, time_ms", NULL, false },
};

static void
print_table(struct buffer *out, enum kind kind)
{
    const struct schema *schema = schema_get(kind);
    bool keyed = schema->life == LIFE_OBJECT;

    buffer_printf(out, "CREATE TABLE \"%s\" (\n", schema->name);
    for (size_t i = 0; i < object_column_count(kind); i++) {
        bool is_text;
        const char *column = object_column(kind, i, &is_text);

        buffer_printf(out, "    \"%s\" %s%s,\n", column,
                      is_text ? "TEXT" : "INTEGER",
                      i > 0 ? "" : keyed ? " NOT NULL PRIMARY KEY"
                                         : " NOT NULL");
    }
    buffer_add_text(out, "    \"live\" INTEGER NOT NULL DEFAULT 1\n"
                         ") STRICT;\n");
}

static void
print_index(struct buffer *out, const struct index *index)
{
    const char *table = schema_get(index->kind)->name;

    buffer_printf(out, "CREATE %sINDEX \"%s_%s\" ON \"%s\" (%s)%s%s;\n",
                  index->unique ? "UNIQUE " : "", table, index->name, table,
                  index->columns, index->where != NULL ? " WHERE " : "",
                  index->where != NULL ? index->where : "");
}

void
ddl_print(struct buffer *out)
{
    buffer_add_text(out, "-- SPDX-License-Identifier: Apache-2.0\n"
                         "-- Made by tools/make-schema from the tables in "
                         "src/core/schema_*.c.\n");
    buffer_add_text(out, "CREATE TABLE \"store\" (\n"
                         "    \"one\" INTEGER PRIMARY KEY CHECK (one = 1),\n"
                         "    \"epoch\" INTEGER NOT NULL,\n"
                         "    \"revision\" INTEGER NOT NULL\n"
                         ") STRICT;\n"
                         "INSERT INTO \"store\" VALUES (1, 0, 0);\n"
                         "CREATE TABLE \"migration\" (\n"
                         "    \"number\" INTEGER PRIMARY KEY,\n"
                         "    \"digest\" TEXT NOT NULL\n"
                         ") STRICT;\n"
                         "CREATE TABLE \"counter\" (\n"
                         "    \"name\" TEXT NOT NULL PRIMARY KEY,\n"
                         "    \"value\" INTEGER NOT NULL,\n"
                         "    \"bytes\" BLOB\n"
                         ") STRICT, WITHOUT ROWID;\n");
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
        print_table(out, (enum kind)kind);
    for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++)
        print_index(out, &indexes[i]);
}

static void
print_columns(struct buffer *out, enum kind kind)
{
    for (size_t i = 0; i < object_column_count(kind); i++) {
        bool is_text;

        buffer_printf(out, "%s\"%s\"", i > 0 ? ", " : "",
                      object_column(kind, i, &is_text));
    }
}

void
ddl_print_put(struct buffer *out, enum kind kind)
{
    const struct schema *schema = schema_get(kind);
    size_t count = object_column_count(kind);

    buffer_printf(out, "INSERT INTO \"%s\" (", schema->name);
    print_columns(out, kind);
    buffer_add_text(out, ") VALUES (");
    for (size_t i = 0; i < count; i++)
        buffer_printf(out, "%s?%zu", i > 0 ? ", " : "", i + 1);
    buffer_add_text(out, ")");
    if (schema->life != LIFE_OBJECT)
        return;
    buffer_add_text(out, " ON CONFLICT (\"id\") DO UPDATE SET \"live\" = 1");
    for (size_t i = 1; i < count; i++) {
        bool is_text;
        const char *column = object_column(kind, i, &is_text);

        buffer_printf(out, ", \"%s\" = excluded.\"%s\"", column, column);
    }
}
