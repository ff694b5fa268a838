/* SPDX-License-Identifier: Apache-2.0 */
#include "core/trait.h"

#include <stdio.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const struct {
    const char *name;
    enum trait_kind kind;
    bool card;
    const char *runtime; /* how a card's runtime begins */
} traits[] = {
    { "driver", TRAIT_VERSION, true, NULL },
    { "vendor", TRAIT_TEXT, true, NULL },
    { "model", TRAIT_TEXT, true, NULL },
    { "arch", TRAIT_WORD, true, NULL },
    { "features", TRAIT_WORDS, true, NULL },
    { "capability", TRAIT_VERSION, true, NULL },
    { "cuda", TRAIT_VERSION, true, "CUDA" },
    { "rocm", TRAIT_VERSION, true, "ROCm" },
    { "level-zero", TRAIT_VERSION, true, "Level-Zero" },
    { "cann", TRAIT_VERSION, true, "CANN" },
    { "kernel", TRAIT_VERSION, false, NULL },
    { "runtime", TRAIT_VERSION, false, NULL },
    { "monitor", TRAIT_VERSION, false, NULL },
    { "version", TRAIT_VERSION, false, NULL },
    { "cgroup", TRAIT_VERSION, false, NULL },
    { "accel", TRAIT_TEXT, false, NULL },
};

static size_t
find(const char *trait)
{
    size_t at = 0;

    while (at < COUNT(traits) && strcmp(traits[at].name, trait) != 0)
        at++;
    return at;
}

enum trait_kind
trait_kind_of(const char *trait)
{
    size_t at = find(trait);

    return at < COUNT(traits) ? traits[at].kind : TRAIT_NONE;
}

bool
trait_is_of_card(const char *trait)
{
    size_t at = find(trait);

    return at < COUNT(traits) && traits[at].card;
}

/* --- words --- */

static const char *
next_word(const char *text, size_t *size_out)
{
    text += strspn(text, " ,");
    *size_out = strcspn(text, " ,");
    return text;
}

static bool
has_word(const char *text, const char *word, size_t size)
{
    size_t here;

    for (text = next_word(text, &here); here > 0;
         text = next_word(text + here, &here))
        if (here == size && strncmp(text, word, size) == 0)
            return true;
    return false;
}

bool
trait_has_words(const char *text, const char *words)
{
    size_t size;

    for (words = next_word(words, &size); size > 0;
         words = next_word(words + size, &size))
        if (!has_word(text, words, size))
            return false;
    return true;
}

/* --- what a card says --- */

/* "hopper sm_90" -> "9.0": the last digit is the minor number. */
static void
capability_of(const char *arch, char text[TRAIT_TEXT_MAX])
{
    const char *at = strstr(arch, "sm_");
    size_t size = at != NULL ? strspn(at + 3, "0123456789") : 0;

    text[0] = '\0';
    if (size >= 2 && size < 6)
        (void)snprintf(text, TRAIT_TEXT_MAX, "%.*s.%c", (int)size - 1, at + 3,
                       at[2 + size]);
}

/* Behind the word, when the text begins with it. */
static const char *
after_word(const char *text, const char *word)
{
    size_t size = strlen(word);

    return strncmp(text, word, size) == 0 && text[size] == ' '
               ? text + size + 1
               : NULL;
}

const char *
trait_of_card(const struct card *card, const char *trait,
              char text[TRAIT_TEXT_MAX])
{
    size_t at = find(trait);

    if (at < COUNT(traits) && traits[at].runtime != NULL) {
        const char *version = after_word(card->runtime, traits[at].runtime);

        return version != NULL ? version : "";
    }
    if (strcmp(trait, "capability") == 0) {
        capability_of(card->arch, text);
        return text;
    }
    if (strcmp(trait, "driver") == 0)
        return card->driver;
    if (strcmp(trait, "arch") == 0)
        return card->arch;
    if (strcmp(trait, "features") == 0)
        return card->features;
    return strcmp(trait, "vendor") == 0 ? card->vendor : card->model;
}

/* The facts are canonical JSON; what is no plain text there is not said. */
const char *
trait_of_node(const struct node *node, const char *trait,
              char text[TRAIT_TEXT_MAX])
{
    char key[NAME_MAX_SIZE + 8];
    const char *at;

    text[0] = '\0';
    (void)snprintf(key, sizeof(key), "\"%s\":\"", trait);
    at = node->facts != NULL ? strstr(node->facts->bytes, key) : NULL;
    if (at != NULL) {
        at += strlen(key);
        (void)snprintf(text, TRAIT_TEXT_MAX, "%.*s",
                       (int)strcspn(at, "\"\\"), at);
    }
    return text;
}

/* --- what one is made to say --- */

static void
add_words(char *member, size_t room, const char *words)
{
    size_t size = strlen(member);

    if (!trait_has_words(member, words))
        (void)snprintf(member + size, room - size, "%s%s",
                       size > 0 ? " " : "", words);
}

/* "9.0" -> "sm_90" */
static void
put_capability(struct card *card, const char *text)
{
    size_t whole = strspn(text, "0123456789");
    const char *minor = text[whole] == '.' ? text + whole + 1 : "0";
    char word[16];

    (void)snprintf(word, sizeof(word), "sm_%.*s%.1s", (int)whole, text,
                   minor);
    add_words(card->arch, sizeof(card->arch), word);
}

void
trait_put(struct card *card, const char *trait, const char *text)
{
    size_t at = find(trait);

    if (at == COUNT(traits) || !traits[at].card)
        return;
    if (traits[at].runtime != NULL)
        (void)snprintf(card->runtime, sizeof(card->runtime), "%s %.16s",
                       traits[at].runtime, text);
    else if (strcmp(trait, "driver") == 0)
        (void)snprintf(card->driver, sizeof(card->driver), "%.31s", text);
    else if (strcmp(trait, "capability") == 0)
        put_capability(card, text);
    else if (strcmp(trait, "arch") == 0)
        add_words(card->arch, sizeof(card->arch), text);
    else if (strcmp(trait, "features") == 0)
        add_words(card->features, sizeof(card->features), text);
    else if (strcmp(trait, "vendor") == 0)
        (void)snprintf(card->vendor, sizeof(card->vendor), "%.31s", text);
    else
        (void)snprintf(card->model, sizeof(card->model), "%.63s", text);
}

bool
trait_runtime(const char *text, char trait[NAME_MAX_SIZE],
              const char **version_out)
{
    for (size_t i = 0; i < COUNT(traits); i++) {
        const char *version =
            traits[i].runtime != NULL ? after_word(text, traits[i].runtime)
                                      : NULL;

        if (version == NULL || strcspn(version, "0123456789") != 0 ||
            version[0] == '\0')
            continue;
        (void)snprintf(trait, NAME_MAX_SIZE, "%s", traits[i].name);
        *version_out = version;
        return true;
    }
    return false;
}
