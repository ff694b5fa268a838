/* SPDX-License-Identifier: Apache-2.0 */
#include "core/printer.h"

#include <stdlib.h>

#include "base/json.h"
#include "core/object.h"
#include "tests/unit/core/small.h"

/*
 * The bytes are held against those of object_json, which goes another way
 * (jansson's trees), for images of every kind with anything in their members.
 */

#define ROUNDS 300
#define LINKS_MAX 64

struct play {
    struct small *small;
    uint64_t random;
    struct ref refs[10];
    size_t links;
    char linked[LINKS_MAX][ID_TEXT_MAX];
};

static uint64_t
next(struct play *play)
{
    play->random ^= play->random >> 12;
    play->random ^= play->random << 25;
    play->random ^= play->random >> 27;
    return (play->random * UINT64_C(0x2545f4914f6cdd1d)) >> 16;
}

static void
fill_text(struct play *play, char *at, size_t room)
{
    static const char *const texts[] = {
        "", "plain", "quote \" and \\", "tab\tand\nline", "\x7f\x01",
        "gr\xc3\xbc\xc3\x9f", "bad \xff", "\xe2\x82", "wl_short",
    };
    char id[ID_TEXT_MAX];
    size_t pick = next(play) % 10;

    object_id_text(play->small->world, play->refs[next(play) % 8], id);
    (void)snprintf(at, room, "%s", pick == 9 ? id : texts[pick]);
}

static void
fill_doc(struct play *play, struct blob **at)
{
    static const char *const docs[] = {
        "{\"a\":1,\"b\":[true,null,\"x\"]}", "{\"b\":1,\"a\":2}",
        "[ 1, 2 ]", "not json", "", "{\"a\":\"gr\xc3\xbc\xc3\x9f\"}",
        "{\"a\":1,\"a\":2}",
    };
    size_t pick = next(play) % 8;

    *at = NULL;
    if (pick < 7)
        change_doc(small_begin(play->small), at, docs[pick]);
}

static void
fill_field(struct play *play, const struct field *field, void *image)
{
    void *at = field_of(field, image);
    size_t names = 0;

    switch (field->type) {
    case FIELD_NAME:
    case FIELD_TEXT:
        fill_text(play, at, field->size);
        break;
    case FIELD_INT:
        *(int64_t *)at = (int64_t)(next(play) << (next(play) % 20));
        break;
    case FIELD_TIME:
        *(int64_t *)at = (int64_t)(next(play) % 2 * (next(play) >> 6));
        break;
    case FIELD_BOOL:
        *(bool *)at = next(play) % 2 == 0;
        break;
    case FIELD_ENUM:
        while (field->names[names] != NULL)
            names++;
        *(int *)at = (int)(next(play) % names);
        break;
    case FIELD_REF:
        *(struct ref *)at = play->refs[next(play) % 10];
        break;
    case FIELD_DOC:
        fill_doc(play, at);
        break;
    case FIELD_BYTES:
        for (size_t i = 0; i < field->size; i++)
            ((uint8_t *)at)[i] = (uint8_t)next(play);
        break;
    case FIELD_VERBS:
        for (int i = 0; i < VERB_WORDS; i++)
            ((struct verbs *)at)->word[i] = next(play) << (next(play) % 16);
        break;
    }
}

static void *
make_image(struct play *play, enum kind kind)
{
    const struct schema *schema = schema_get(kind);
    struct object *object =
        arena_alloc(play->small->arena, schema->size);

    for (size_t i = 0; i < schema->field_count; i++)
        fill_field(play, &schema->fields[i], object);
    object->self = (struct ref){ kind, 1 };
    object->id = (struct id){ next(play), next(play) };
    object->parent = play->refs[next(play) % 10];
    object->scope = play->refs[next(play) % 2 == 0 ? 0 : 4];
    object->version = next(play);
    object->revision = next(play);
    object->created_ms = (int64_t)(next(play) >> 6);
    fill_text(play, object->name, sizeof(object->name));
    return object;
}

static void
take_link(void *context, struct ref ref)
{
    struct play *play = context;
    char text[ID_TEXT_MAX];

    object_id_text(play->small->world, ref, text);
    for (size_t i = 0; i < play->links; i++)
        if (strcmp(play->linked[i], text) == 0)
            return;
    assert_true(play->links < LINKS_MAX);
    memcpy(play->linked[play->links++], text, sizeof(text));
}

/* Exactly the texts of the tree that are ids of objects were linked. */
static void
assert_links(struct play *play, json_t *tree)
{
    const char *key;
    json_t *value;
    size_t found = 0;

    json_object_foreach(tree, key, value)
    {
        const char *text = json_string_value(value);

        if (text == NULL || strcmp(key, "id") == 0 ||
            ref_is_none(object_find_text(play->small->world, text)))
            continue;
        for (size_t i = 0; i < play->links; i++)
            if (strcmp(play->linked[i], text) == 0) {
                play->linked[i][0] = '\0';
                found++;
            }
    }
    assert_int_equal(found, play->links);
}

static void
assert_same(struct play *play, enum kind kind, bool platform,
            const struct printer *printer)
{
    const char *without = next(play) % 4 == 0 ? "spec" : NULL;
    void *image = make_image(play, kind);
    scoped_buffer quick = { 0 }, slow = { 0 };
    scoped_json tree = object_json(play->small->world, image, platform);

    if (without != NULL)
        (void)json_object_del(tree, without);
    json_write(&slow, tree);
    play->links = 0;
    printer_add(printer, &quick, play->small->world, image, without,
                take_link, play);
    assert_string_equal(buffer_text(&quick), buffer_text(&slow));
    assert_links(play, tree);
}

static void
every_kind_is_written_as_the_tree_of_its_json(void **state)
{
    struct small *small = *state;
    struct play play = { small, 88172645463325252u, { { 0, 0 } }, 0,
                         { { 0 } } };
    const struct ref refs[] = { small->platform, small->pool, small->node,
                                small->card,     small->tenant,
                                small->project,  small->workload,
                                small->instance };

    memcpy(play.refs, refs, sizeof(refs));
    play.refs[9] = (struct ref){ KIND_POOL, 77 }; /* gone */
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
        for (int platform = 0; platform < 2; platform++) {
            struct printer *printer =
                printer_new((enum kind)kind, platform == 1);

            for (int i = 0; i < ROUNDS; i++)
                assert_same(&play, (enum kind)kind, platform == 1, printer);
            printer_free(printer);
        }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            every_kind_is_written_as_the_tree_of_its_json, small_open,
            small_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
