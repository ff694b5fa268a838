/* SPDX-License-Identifier: Apache-2.0 */
#include "core/require.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "core/image.h"
#include "core/place.h"

static const char *const card_facts[] = { "driver", "vendor", "model" };
static const char *const node_facts[] = { "kernel", "runtime", "monitor",
                                          "cgroup", "version", "accel" };
#define RULES_MAX (REQUIRE_MAX - 1) /* one is for the image */
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static bool
is_card_fact(const char *fact)
{
    for (size_t i = 0; i < COUNT(card_facts); i++)
        if (strcmp(card_facts[i], fact) == 0)
            return true;
    return false;
}

bool
require_is_fact(const char *fact)
{
    for (size_t i = 0; i < COUNT(node_facts); i++)
        if (strcmp(node_facts[i], fact) == 0)
            return true;
    return is_card_fact(fact);
}

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

bool
require_fact(const struct need *need, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return false;
    if (need->equals[0] != '\0' && strcmp(need->equals, text) != 0)
        return false;
    if (need->at_least[0] != '\0' &&
        require_compare(text, need->at_least) < 0)
        return false;
    return need->below[0] == '\0' ||
           (skip_to_digit(text)[0] != '\0' &&
            require_compare(text, need->below) < 0);
}

/* --- what is said --- */

static const char *
card_fact(const struct card *card, const char *fact)
{
    if (strcmp(fact, "driver") == 0)
        return card->driver;
    return strcmp(fact, "vendor") == 0 ? card->vendor : card->model;
}

/* The text of a member of the node's facts, which are canonical JSON; "" when
 * it is not there or no plain text. */
static const char *
node_fact(const struct node *node, const char *fact,
          char text[VERSION_TEXT_MAX])
{
    char key[NAME_MAX_SIZE + 8];
    const char *at;

    text[0] = '\0';
    (void)snprintf(key, sizeof(key), "\"%s\":\"", fact);
    at = node->facts != NULL ? strstr(node->facts->bytes, key) : NULL;
    if (at != NULL) {
        at += strlen(key);
        (void)snprintf(text, VERSION_TEXT_MAX, "%.*s",
                       (int)strcspn(at, "\"\\"), at);
    }
    return text;
}

bool
require_is_image(const struct need *need)
{
    return strcmp(need->fact, "image") == 0;
}

const struct need *
require_node_misses(const struct need *needs, size_t count,
                    const struct node *node)
{
    char text[VERSION_TEXT_MAX];

    for (size_t i = 0; i < count; i++) {
        const struct need *need = &needs[i];

        if (need->card)
            continue;
        if (require_is_image(need)
                ? !image_may_be_on(node, need->equals, strlen(need->equals))
                : !require_fact(need, node_fact(node, need->fact, text)))
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
    for (size_t i = 0; i < count; i++)
        if (needs[i].card &&
            !require_fact(&needs[i], card_fact(card, needs[i].fact)))
            return false;
    return true;
}

/* --- who needs what --- */

static void
add_rule(const struct requirement *rule, struct need *need)
{
    memset(need, 0, sizeof(*need));
    need->rule = rule->object.self;
    need->card = is_card_fact(rule->fact);
    memcpy(need->fact, rule->fact, sizeof(need->fact));
    memcpy(need->at_least, rule->at_least, sizeof(need->at_least));
    memcpy(need->below, rule->below, sizeof(need->below));
    memcpy(need->equals, rule->equals, sizeof(need->equals));
}

/* Least versions of the manifest: {"requires": {"driver": "550"}}. */
static size_t
add_manifest(const struct workload *workload, struct need *needs,
             size_t count)
{
    struct error ignored;
    scoped_json spec = NULL;
    const char *fact;
    json_t *version;

    /* Most specs require nothing: the parser is spared. */
    if (workload->spec == NULL ||
        strstr(workload->spec->bytes, "\"requires\":{") == NULL)
        return count;
    spec = json_read(workload->spec->bytes, workload->spec->size, &ignored);
    json_object_foreach(json_object_get(spec, "requires"), fact, version)
    {
        struct need *need = &needs[count];

        if (count == RULES_MAX || json_string_value(version) == NULL)
            break;
        memset(need, 0, sizeof(*need));
        need->card = is_card_fact(fact);
        (void)snprintf(need->fact, sizeof(need->fact), "%s", fact);
        (void)snprintf(need->at_least, sizeof(need->at_least), "%s",
                       json_string_value(version));
        count++;
    }
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

const char *
require_text(char text[REQUIRE_TEXT_MAX], const struct world *world,
             const struct need *need)
{
    const struct requirement *rule = world_requirement(world, need->rule);
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
    else
        buffer_printf(&out, " (requirement %s%s%.60s)", rule->object.name,
                      rule->reason[0] != '\0' ? ": " : "", rule->reason);
    (void)snprintf(text, REQUIRE_TEXT_MAX, "%s", buffer_text(&out));
    return text;
}

int64_t
require_missing(const struct world *world, struct ref pool,
                const struct class *class, const struct need *need,
                int64_t *cards_out)
{
    int64_t missing = 0;

    *cards_out = 0;
    world_each_child(world, KIND_NODE, pool, node) {
        bool here = require_node(need, 1, world_node(world, node));

        world_each_child(world, KIND_CARD, node, ref) {
            const struct card *card = world_card(world, ref);

            if (!place_matches(class, card))
                continue;
            ++*cards_out;
            missing += !here || !require_card(need, 1, card);
        }
    }
    return missing;
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
        else if (strcmp(needs[i].fact, "driver") == 0)
            (void)snprintf(card->driver, sizeof(card->driver), "%.31s",
                           value);
    }
    json_write(facts, said);
}
