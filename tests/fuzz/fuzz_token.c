/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "identity/token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A token that is taken is exactly one text: each other spelling of it, by a
 * character more, less or changed, is refused. */
static void
check_neighbours(struct arena *arena, const char *token)
{
    size_t size = strlen(token);
    enum token_type type;
    struct error err;

    if (size >= TOKEN_TEXT_MAX)
        __builtin_trap();
    for (size_t i = 0; i < size; i++) {
        char *other = arena_strdup(arena, token);

        other[i] = (char)(other[i] == 'a' ? 'b' : 'a');
        if (token_parse(other, &type, &err) == 0)
            __builtin_trap();
        other[i] = (char)toupper((unsigned char)token[i]);
        if (other[i] != token[i] && token_parse(other, &type, &err) == 0)
            __builtin_trap();
        other[i] = '\0';
        if (token_parse(other, &type, &err) == 0)
            __builtin_trap();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena arena = arena_new();
    char *text = arena_strndup(arena, (const char *)data, size);
    char made[TOKEN_TEXT_MAX];
    enum token_type type;
    struct error err;

    if (token_parse(text, &type, &err) == 0)
        check_neighbours(arena, text);
    /* What is made of any bits is taken, and of its own type. */
    if (size <= TOKEN_RANDOM_SIZE)
        return 0;
    token_format((enum token_type)(data[0] % TOKEN_TYPE_COUNT), data + 1, made);
    if (token_parse(made, &type, &err) != 0 ||
        type != (enum token_type)(data[0] % TOKEN_TYPE_COUNT))
        __builtin_trap();
    check_neighbours(arena, made);
    return 0;
}
