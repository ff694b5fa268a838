/* SPDX-License-Identifier: Apache-2.0 */
#include "control/load.h"

#include <string.h>

#include "base/clock.h"
#include "control/intent.h"
#include "control/journal.h"
#include "control/pruner.h"
#include "core/month.h"
#include "store/row.h"

struct loader {
    struct load *load;
    struct arena *arena;
    enum kind kind;
    struct store_counter *revisions; /* kept until the objects are there */
    size_t revision_count, revision_room;
    int64_t month_ms;
};

static int
reserve_row(void *context, const struct value *values, struct error *err)
{
    struct loader *loader = context;
    struct id id;

    if (values[0].type != VALUE_TEXT ||
        id_parse(schema_get(loader->kind)->prefix, values[0].text, &id) != 0)
        return error_set(err, ERROR_INTERNAL, "a %s has a malformed id",
                         schema_get(loader->kind)->name);
    (void)world_reserve(loader->load->world, loader->kind, id);
    return 0;
}

/* What only informs may be left over when its object is gone; anything else
 * without a parent would be capacity or a right that nobody counts. */
static int
take_orphan(const struct loader *loader, const char *id, struct error *err)
{
    if (loader->kind == KIND_ALARM || loader->kind == KIND_RECEIPT ||
        loader->kind == KIND_SESSION)
        return 0;
    return error_set(err, ERROR_INTERNAL, "%s has no parent", id);
}

static int
load_row(void *context, const struct value *values, struct error *err)
{
    struct loader *loader = context;
    struct world *world = loader->load->world;
    struct arena *arena = arena_new();
    const struct object *object;
    void *image = NULL;
    int rc = object_from_values(world, loader->kind, values, arena, &image,
                                err);

    object = image;
    if (rc == 0 && loader->kind != KIND_PLATFORM &&
        world_get(world, object->parent) == NULL)
        rc = take_orphan(loader, values[0].text, err);
    else if (rc == 0)
        world_load(world, image);
    arena_free(arena);
    return rc;
}

/* What others lie below comes before them: work orders have users, and those
 * have break-glasses, which have alarms. */
static enum kind
kind_at(unsigned place)
{
    static const enum kind first[] = { KIND_PLATFORM, KIND_WORKORDER,
                                       KIND_TENANT, KIND_USER,
                                       KIND_BREAKGLASS };
    const unsigned count = sizeof(first) / sizeof(first[0]);

    if (place < count)
        return first[place];
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
        bool early = false;

        for (unsigned i = 0; i < count; i++)
            early = early || kind == (unsigned)first[i];
        if (!early && place-- == count)
            return (enum kind)kind;
    }
    return KIND_NONE;
}

static int
each_kind(struct loader *loader, struct store_reader *reader,
          store_take *take, struct error *err)
{
    for (unsigned place = 0; place < KIND_COUNT - 1; place++) {
        enum kind kind = kind_at(place);

        if (schema_get(kind)->life != LIFE_OBJECT)
            continue;
        loader->kind = kind;
        if (store_load(reader, loader->kind, take, loader, err) != 0)
            return -1;
    }
    return 0;
}

static void
keep_revision(struct loader *loader, const char *id, int64_t revision)
{
    struct store_counter *grown;

    if (loader->revision_count == loader->revision_room) {
        loader->revision_room = loader->revision_room * 2 + 64;
        grown = arena_alloc(loader->arena,
                            loader->revision_room * sizeof(*grown));
        if (loader->revision_count > 0)
            memcpy(grown, loader->revisions,
                   loader->revision_count * sizeof(*grown));
        loader->revisions = grown;
    }
    loader->revisions[loader->revision_count++] = (struct store_counter){
        .name = arena_strdup(loader->arena, id), .value = revision
    };
}

/* "BOOT MONO": in this boot, or -1. */
static int64_t
parse_mono(const struct store_counter *counter)
{
    const char *boot = clock_boot_id();
    size_t size = strlen(boot);
    char text[128];

    if (counter->bytes == NULL || counter->size >= sizeof(text) ||
        counter->size <= size + 1 || memcmp(counter->bytes, boot, size) != 0)
        return -1;
    memcpy(text, counter->bytes, counter->size);
    text[counter->size] = '\0';
    return strtoll(text + size + 1, NULL, 10);
}

static void
take_restore(struct load *load, const struct store_counter *counter)
{
    load->restored = counter->value != 0;
    if (counter->bytes != NULL && counter->size < sizeof(load->source))
        memcpy(load->source, counter->bytes, counter->size);
}

static int
take_counter(void *context, const struct store_counter *counter,
             struct error *err)
{
    struct loader *loader = context;

    if (strcmp(counter->name, "seq") == 0) {
        world_load_counters(loader->load->world, (uint64_t)counter->value);
    } else if (strcmp(counter->name, "clock") == 0) {
        loader->load->clock_ms = counter->value;
        loader->load->clock_mono_ms = parse_mono(counter);
    } else if (strncmp(counter->name, "revision:", 9) == 0) {
        keep_revision(loader, counter->name + 9, counter->value);
    } else if (strncmp(counter->name, "deleted:", 8) == 0) {
        enum kind kind = schema_find(counter->name + 8);

        loader->load->deleted[kind] = (uint64_t)counter->value;
    } else if (strcmp(counter->name, STORE_RESTORE) == 0) {
        take_restore(loader->load, counter);
    } else if (strncmp(counter->name, "epoch:", 6) == 0) {
        return journal_load_epoch(loader->load->journal, counter->name + 6,
                                  counter->value, err);
    } else if (strncmp(counter->name, "log:", 4) == 0) {
        return journal_load(loader->load->journal, counter->name + 4,
                            (uint64_t)counter->value, counter->bytes,
                            counter->size, err);
    } else if (pruner_load(loader->load->journal, counter) ||
               intents_load(journal_intents(loader->load->journal),
                            counter)) {
        return 0;
    } else if (strcmp(counter->name, STRANGERS_COUNTER) == 0) {
        return strangers_load(journal_strangers(loader->load->journal),
                              counter->value, counter->bytes, counter->size,
                              err);
    }
    return 0;
}

static void
apply_revisions(struct loader *loader)
{
    struct world *world = loader->load->world;

    for (size_t i = 0; i < loader->revision_count; i++) {
        const struct store_counter *counter = &loader->revisions[i];
        struct ref scope = object_find_text(world, counter->name);

        if (!ref_is_none(scope))
            world_load_revision(world, scope, (uint64_t)counter->value);
    }
}

static struct ref
find_ref(const struct world *world, const struct value *value)
{
    struct ref none = { 0 };

    return value->type == VALUE_TEXT ? object_find_text(world, value->text)
                                     : none;
}

static const char *
text_of(const struct value *value)
{
    return value->type == VALUE_TEXT ? value->text : "";
}

static int
take_usage(void *context, const struct value *values, struct error *err)
{
    struct loader *loader = context;
    struct world *world = loader->load->world;
    const struct field *meter = schema_field(KIND_FACT, "meter");
    struct world_usage of = { .project = find_ref(world, &values[0]),
                              .pool = find_ref(world, &values[1]),
                              .class = find_ref(world, &values[2]),
                              .user = find_ref(world, &values[3]),
                              .priority = find_ref(world, &values[4]),
                              .price_nano = values[8].integer };

    (void)err;
    (void)snprintf(of.vendor, sizeof(of.vendor), "%s", text_of(&values[5]));
    (void)snprintf(of.model, sizeof(of.model), "%s", text_of(&values[6]));
    of.meter = schema_enum_parse(meter->names, text_of(&values[7]));
    if (!ref_is_none(of.project))
        world_load_usage(world, &of, loader->month_ms, values[9].integer);
    return 0;
}

static int
load_with(struct loader *loader, struct store_reader *reader,
          struct error *err)
{
    if (store_counters(reader, take_counter, loader, err) != 0 ||
        each_kind(loader, reader, reserve_row, err) != 0 ||
        each_kind(loader, reader, load_row, err) != 0)
        return -1;
    apply_revisions(loader);
    return store_month_usage(reader, loader->month_ms, take_usage, loader,
                             err);
}

int
load_world(struct load *load, struct store_reader *reader, struct error *err)
{
    struct loader loader = { .load = load,
                             .arena = arena_new(),
                             .month_ms = month_start(load->now_ms) };
    int rc = load_with(&loader, reader, err);

    arena_free(loader.arena);
    return rc;
}
