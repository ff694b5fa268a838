/* SPDX-License-Identifier: Apache-2.0 */
#include "core/require.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "core/image.h"
#include "core/node_type.h"
#include "core/place.h"
#include "core/trait.h"

#define RULES_MAX (REQUIRE_MAX - 1) /* one is for the image */

/* --- versions --- */

static const char *
skip_to_digit(const char *text)
{
    while (*text != '\0' && (*text < '0' || *text > '9'))
        text++;
    return text;
}

/* The number at text, and what is behind it; texts are short, but a number
 * that does not fit is only large. */
static int64_t
take_number(const char **text)
{
    int64_t number = 0;

    for (; **text >= '0' && **text <= '9'; ++*text)
        if (number < INT64_MAX / 10 - 10)
            number = number * 10 + (**text - '0');
    return number;
}

int
require_compare(const char *a, const char *b)
{
    a = skip_to_digit(a);
    b = skip_to_digit(b);
    if (*a == '\0' || *b == '\0')
        return (*a != '\0') - (*b != '\0');
    for (;;) {
        int64_t left = take_number(&a), right = take_number(&b);

        if (left != right)
            return left < right ? -1 : 1;
        /* "1.8" is "1.8.0"; what is no number behind a dot ends it. */
        if (*a == '.' && a[1] >= '0' && a[1] <= '9')
            a++;
        else
            a = "";
        if (*b == '.' && b[1] >= '0' && b[1] <= '9')
            b++;
        else
            b = "";
        if (*a == '\0' && *b == '\0')
            return 0;
    }
}

static bool
is_equal(const struct need *need, const char *text)
{
    switch (trait_kind_of(need->fact)) {
    case TRAIT_WORD:
    case TRAIT_WORDS:
        return trait_has_words(text, need->equals);
    case TRAIT_NONE:
    case TRAIT_VERSION:
    case TRAIT_TEXT:
        break;
    }
    return strcmp(need->equals, text) == 0;
}

bool
require_fact(const struct need *need, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return false;
    if (need->equals[0] != '\0' && !is_equal(need, text))
        return false;
    if (need->at_least[0] != '\0' &&
        require_compare(text, need->at_least) < 0)
        return false;
    return need->below[0] == '\0' ||
           (skip_to_digit(text)[0] != '\0' &&
            require_compare(text, need->below) < 0);
}

/* --- what is said --- */

bool
require_is_image(const struct need *need)
{
    return strcmp(need->fact, "image") == 0;
}

const struct need *
require_node_misses(const struct need *needs, size_t count,
                    const struct node *node)
{
    char text[TRAIT_TEXT_MAX];

    for (size_t i = 0; i < count; i++) {
        const struct need *need = &needs[i];

        if (need->card)
            continue;
        if (require_is_image(need)
                ? !image_may_be_on(node, need->equals, strlen(need->equals))
                : !require_fact(need, trait_of_node(node, need->fact, text)))
            return need;
    }
    return NULL;
}

bool
require_node(const struct need *needs, size_t count, const struct node *node)
{
    return require_node_misses(needs, count, node) == NULL;
}

bool
require_card(const struct need *needs, size_t count, const struct card *card)
{
    char text[TRAIT_TEXT_MAX];

    for (size_t i = 0; i < count; i++)
        if (needs[i].card &&
            !require_fact(&needs[i],
                          trait_of_card(card, needs[i].fact, text)))
            return false;
    return true;
}

/* --- who needs what --- */

static void
add_rule(const struct requirement *rule, struct need *need)
{
    memset(need, 0, sizeof(*need));
    need->rule = rule->object.self;
    need->card = trait_is_of_card(rule->fact);
    memcpy(need->fact, rule->fact, sizeof(need->fact));
    memcpy(need->at_least, rule->at_least, sizeof(need->at_least));
    memcpy(need->below, rule->below, sizeof(need->below));
    memcpy(need->equals, rule->equals, sizeof(need->equals));
}

static void
put(char member[VERSION_TEXT_MAX], const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    (void)snprintf(member, VERSION_TEXT_MAX, "%s", text != NULL ? text : "");
}

/* One fact of a manifest: a text, or an object of bounds. */
static void
read_need(const char *fact, const json_t *value, struct need *need)
{
    bool version = trait_kind_of(fact) == TRAIT_VERSION;
    const char *text = json_string_value(value);

    memset(need, 0, sizeof(*need));
    need->card = trait_is_of_card(fact);
    (void)snprintf(need->fact, sizeof(need->fact), "%s", fact);
    if (text != NULL) {
        (void)snprintf(version ? need->at_least : need->equals,
                       VERSION_TEXT_MAX, "%s", text);
        return;
    }
    put(need->at_least, value, "at_least");
    put(need->below, value, "below");
    put(need->equals, value, "equals");
}

static size_t
add_manifest(const struct workload *workload, struct need *needs,
             size_t count)
{
    struct error ignored;
    scoped_json spec = NULL;
    const char *fact;
    json_t *value;

    /* Most specs require nothing: the parser is spared. */
    if (workload->spec == NULL ||
        strstr(workload->spec->bytes, "\"requires\":{") == NULL)
        return count;
    spec = json_read(workload->spec->bytes, workload->spec->size, &ignored);
    json_object_foreach(json_object_get(spec, "requires"), fact, value)
        if (count < RULES_MAX)
            read_need(fact, value, &needs[count++]);
    return count;
}

/* What the class asks for, at most CLASS_NEEDS. */
#define CLASS_NEEDS 5
static size_t
class_needs(const struct class *class, struct need needs[CLASS_NEEDS])
{
    const struct {
        const char *fact, *at_least, *equals;
    } list[] = { { "driver", class->min_driver, "" },
                 { "capability", class->min_capability, "" },
                 { "arch", "", class->arch },
                 { "features", "", class->features } };
    char runtime[NAME_MAX_SIZE];
    const char *version = "";
    size_t count = 0;

    memset(needs, 0, CLASS_NEEDS * sizeof(*needs));
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        struct need *need = &needs[count];

        if (list[i].at_least[0] == '\0' && list[i].equals[0] == '\0')
            continue;
        (void)snprintf(need->fact, sizeof(need->fact), "%s", list[i].fact);
        (void)snprintf(need->at_least, sizeof(need->at_least), "%s",
                       list[i].at_least);
        (void)snprintf(need->equals, sizeof(need->equals), "%s",
                       list[i].equals);
        count++;
    }
    if (trait_runtime(class->min_runtime, runtime, &version)) {
        (void)snprintf(needs[count].fact, sizeof(needs[count].fact), "%s",
                       runtime);
        (void)snprintf(needs[count].at_least, sizeof(needs[count].at_least),
                       "%s", version);
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        needs[i].card = true;
        needs[i].rule = class->object.self;
    }
    return count;
}

static size_t
add_class(const struct class *class, struct need *needs, size_t count)
{
    struct need own[CLASS_NEEDS];
    size_t more;

    if (class == NULL)
        return count;
    more = class_needs(class, own);
    for (size_t i = 0; i < more && count < RULES_MAX; i++)
        needs[count++] = own[i];
    return count;
}

/* Nodes name no image that is longer. */
static size_t
add_image(const struct workload *workload, struct need *needs, size_t count)
{
    int size = image_name_size(workload->image);
    struct need *need = &needs[count];

    if (count == REQUIRE_MAX || size == 0 || size >= VERSION_TEXT_MAX ||
        strcmp(workload->image, IMAGE_OPEN) == 0)
        return count;
    memset(need, 0, sizeof(*need));
    (void)snprintf(need->fact, sizeof(need->fact), "image");
    (void)snprintf(need->equals, sizeof(need->equals), "%.*s", size,
                   workload->image);
    return count + 1;
}

static bool
is_for_image(const struct requirement *rule, const struct workload *workload)
{
    return strncmp(rule->image, workload->image, strlen(rule->image)) == 0;
}

static uint64_t
hash_of(const struct need *needs, size_t count)
{
    static const struct hash_key any = { 0, 0 }; /* equality alone counts */

    return count > 0 ? hash_bytes(&any, needs, count * sizeof(*needs)) | 1
                     : 0;
}

static size_t
list(const struct world *world, const struct workload *workload,
     bool any_class, bool image, struct need *needs)
{
    size_t count = 0;

    world_each(world, KIND_REQUIREMENT, ref) {
        const struct requirement *rule = world_requirement(world, ref);

        if (count < RULES_MAX && is_for_image(rule, workload) &&
            (any_class || ref_is_none(rule->class) ||
             ref_equal(rule->class, workload->class)))
            add_rule(rule, &needs[count++]);
    }
    count = add_manifest(workload, needs, count);
    if (!any_class)
        count = add_class(world_class(world, workload->class), needs, count);
    return image ? add_image(workload, needs, count) : count;
}

size_t
require_list(const struct world *world, const struct workload *workload,
             bool image, struct need needs_out[REQUIRE_MAX],
             uint64_t *digest_out)
{
    size_t count = list(world, workload, false, image, needs_out);

    *digest_out = hash_of(needs_out, count);
    return count;
}

uint64_t
require_digest(const struct world *world, const struct workload *workload)
{
    struct need needs[REQUIRE_MAX];

    return hash_of(needs, list(world, workload, true, true, needs));
}

/* --- for people --- */

static void
say_rule(struct buffer *out, const struct requirement *rule)
{
    buffer_printf(out, " (requirement %s%s%.60s)", rule->object.name,
                  rule->reason[0] != '\0' ? ": " : "", rule->reason);
}

const char *
require_text(char text[REQUIRE_TEXT_MAX], const struct world *world,
             const struct need *need)
{
    const struct object *rule = world_object(world, need->rule);
    scoped_buffer out = { 0 };

    if (require_is_image(need)) {
        (void)snprintf(text, REQUIRE_TEXT_MAX, "the image \"%s\"",
                       need->equals);
        return text;
    }
    buffer_add_text(&out, need->fact);
    if (need->equals[0] != '\0')
        buffer_printf(&out, " %s", need->equals);
    if (need->at_least[0] != '\0')
        buffer_printf(&out, " at least %s", need->at_least);
    if (need->below[0] != '\0')
        buffer_printf(&out, "%s below %s",
                      need->at_least[0] != '\0' ? " and" : "", need->below);
    if (rule == NULL)
        buffer_add_text(&out, " (its manifest)");
    else if (need->rule.kind == KIND_CLASS)
        buffer_printf(&out, " (class %s)", rule->name);
    else
        say_rule(&out, world_requirement(world, need->rule));
    (void)snprintf(text, REQUIRE_TEXT_MAX, "%s", buffer_text(&out));
    return text;
}

/* --- what is there instead --- */

#define HAVES_MAX 16 /* different texts that are counted */
struct haves {
    struct {
        char text[VERSION_TEXT_MAX];
        int64_t count;
    } list[HAVES_MAX];
    size_t count;
};

static void
count_have(struct haves *haves, const char *text, int64_t cards)
{
    char key[VERSION_TEXT_MAX];
    size_t at = 0;

    (void)snprintf(key, sizeof(key), "%s", text);
    while (at < haves->count && strcmp(haves->list[at].text, key) != 0)
        at++;
    if (at == HAVES_MAX)
        return;
    if (at == haves->count) {
        memcpy(haves->list[at].text, key, sizeof(key));
        haves->list[at].count = 0;
        haves->count++;
    }
    haves->list[at].count += cards;
}

/* The cards of one node, which stands for so many of its type. */
static void
look_at_node(const struct world *world, const struct node_type *type,
             const struct class *class, const struct need *need,
             struct require_lack *lack, struct haves *haves)
{
    const struct node *node = world_node(world, type->first);
    bool misses = !require_node(need, 1, node);

    world_each_child(world, KIND_CARD, type->first, ref) {
        const struct card *card = world_card(world, ref);
        char room[TRAIT_TEXT_MAX];
        const char *text = need->card
                               ? trait_of_card(card, need->fact, room)
                               : trait_of_node(node, need->fact, room);

        if (!place_matches(class, card))
            continue;
        lack->cards += type->count;
        if (!misses && require_card(need, 1, card))
            continue;
        lack->missing += type->count;
        if (text[0] == '\0')
            lack->silent += type->count;
        else
            count_have(haves, text, type->count);
    }
}

void
require_lack(const struct world *world, struct ref pool,
             const struct class *class, const struct need *need,
             struct require_lack *lack_out)
{
    struct require_lack lack = { .cards = 0 };
    struct haves haves = { .count = 0 };
    const struct node_type *types;
    size_t count;

    types = node_type_list(world, &count);
    for (size_t i = 0; i < count; i++)
        if (types[i].count > 0 && ref_equal(types[i].pool, pool))
            look_at_node(world, &types[i], class, need, &lack, &haves);
    for (size_t i = 0; i < haves.count; i++)
        if (haves.list[i].count > lack.have_count ||
            (haves.list[i].count == lack.have_count &&
             strcmp(haves.list[i].text, lack.have) < 0)) {
            lack.have_count = haves.list[i].count;
            memcpy(lack.have, haves.list[i].text, sizeof(lack.have));
        }
    *lack_out = lack;
}

size_t
require_hardest(const struct world *world, struct ref pool,
                const struct class *class, const struct need *needs,
                size_t count, bool cards, struct require_lack *lack_out)
{
    size_t hardest = 0;

    *lack_out = (struct require_lack){ .missing = -1 };
    for (size_t i = 0; i < count; i++) {
        struct require_lack lack;

        if (cards && require_is_image(&needs[i]))
            continue;
        require_lack(world, pool, class, &needs[i], &lack);
        if (lack.missing > lack_out->missing) {
            *lack_out = lack;
            hardest = i;
        }
    }
    return hardest;
}

const char *
require_lack_text(char text[REQUIRE_LACK_MAX], const struct require_lack *lack)
{
    int64_t others = lack->missing - lack->silent - lack->have_count;
    scoped_buffer out = { 0 };

    if (lack->have_count > 0)
        buffer_printf(&out, "%lld ha%s %s", (long long)lack->have_count,
                      lack->have_count == 1 ? "s" : "ve", lack->have);
    if (others > 0)
        buffer_printf(&out, ", %lld have others", (long long)others);
    if (lack->silent > 0)
        buffer_printf(&out, "%s%lld do%s not say",
                      lack->have_count > 0 ? ", " : "",
                      (long long)lack->silent, lack->silent == 1 ? "es" : "");
    (void)snprintf(text, REQUIRE_LACK_MAX, "%s", buffer_text(&out));
    return text;
}

static const char *
value_for(const struct need *need)
{
    if (need->equals[0] != '\0')
        return need->equals;
    return need->at_least[0] != '\0' ? need->at_least : "0";
}

void
require_fulfil(const struct need *needs, size_t count, struct buffer *facts,
               struct card *card)
{
    scoped_json said = json_object();

    for (size_t i = 0; i < count; i++) {
        const char *value = value_for(&needs[i]);

        if (require_is_image(&needs[i]))
            continue; /* it does not say what it has */
        if (!needs[i].card)
            (void)json_object_set_new(said, needs[i].fact,
                                      json_string(value));
        else
            trait_put(card, needs[i].fact, value);
    }
    json_write(facts, said);
}

/* --- what may be asked --- */

static bool
has_digit(const char *text)
{
    return skip_to_digit(text)[0] != '\0';
}

static int
check_version(const char *text, const char *bound, const char *field,
              struct error *err)
{
    if (text[0] == '\0' || has_digit(text))
        return 0;
    return error_field(err, field,
                       "%s is \"%s\": a version has numbers, as in 550.54.14",
                       bound, text);
}

int
require_check(const struct need *need, const char *field, struct error *err)
{
    enum trait_kind kind = trait_kind_of(need->fact);
    bool bounds = need->at_least[0] != '\0' || need->below[0] != '\0';

    if (kind == TRAIT_NONE) {
        (void)error_field(err, field,
                          "\"%s\" is no fact that can be required",
                          need->fact);
        return error_help(
            err, "of cards: driver, vendor, model, arch, capability, features, "
                 "cuda, rocm, level-zero, cann; of nodes: kernel, runtime, "
                 "monitor, cgroup, version, accel");
    }
    if (!bounds && need->equals[0] == '\0')
        return error_field(err, field,
                           "say what %s must be: at_least, below or equals",
                           need->fact);
    if (kind != TRAIT_VERSION && bounds)
        return error_field(err, field,
                           "%s is no version: say what it equals", need->fact);
    if (check_version(need->at_least, "at_least", field, err) != 0 ||
        check_version(need->below, "below", field, err) != 0)
        return -1;
    if (need->at_least[0] != '\0' && need->below[0] != '\0' &&
        require_compare(need->at_least, need->below) >= 0)
        return error_field(err, field, "nothing is at least %s and below %s",
                           need->at_least, need->below);
    return 0;
}

static int
check_bounds(const char *at, const json_t *value, struct error *err)
{
    static const char *const keys[] = { "at_least", "below", "equals", NULL };
    const char *key;
    json_t *item;

    if (json_is_object(value) && json_only(value, keys, err) != 0)
        return error_field(err, at,
                           "%s takes at_least, below and equals", at);
    if (!json_is_object(value) && !json_is_string(value))
        return error_field(err, at, "%s must be text, or an object of bounds",
                           at);
    if (json_is_string(value) &&
        strlen(json_string_value(value)) >= VERSION_TEXT_MAX)
        return error_field(err, at, "%s has more than %d bytes", at,
                           VERSION_TEXT_MAX - 1);
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
        if (!json_is_string(item) ||
            strlen(json_string_value(item)) >= VERSION_TEXT_MAX)
            return error_field(err, at,
                               "%s of %s must be text of at most %d bytes",
                               key, at, VERSION_TEXT_MAX - 1);
    return 0;
}

int
require_check_manifest(const json_t *requires, const char *pointer,
                       struct error *err)
{
    char at[ERROR_FIELD_MAX];
    const char *fact;
    json_t *value;

    if (!json_is_object(requires) ||
        json_object_size(requires) > REQUIRE_MANIFEST_MAX)
        return error_field(err, pointer,
                           "%s must be an object of at most %d facts", pointer,
                           REQUIRE_MANIFEST_MAX);
    json_object_foreach((json_t *)(uintptr_t)requires, fact, value) {
        struct need need;

        (void)snprintf(at, sizeof(at), "%.70s/%.24s", pointer, fact);
        if (check_bounds(at, value, err) != 0)
            return -1;
        read_need(fact, value, &need);
        if (require_check(&need, at, err) != 0)
            return -1;
    }
    return 0;
}

int
require_check_class(const struct class *class, struct error *err)
{
    char trait[NAME_MAX_SIZE];
    const char *version;

    if (check_version(class->min_driver, "min_driver", "/min_driver", err) !=
            0 ||
        check_version(class->min_capability, "min_capability",
                      "/min_capability", err) != 0)
        return -1;
    if (class->min_runtime[0] != '\0' &&
        !trait_runtime(class->min_runtime, trait, &version))
        return error_field(err, "/min_runtime",
                           "\"%s\" is no runtime and version: write CUDA "
                           "12.4, ROCm 6.2, Level-Zero 1.8 or CANN 8.0",
                           class->min_runtime);
    return 0;
}
