/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/token.h"

#include <assert.h>
#include <string.h>

#include "base/sign.h"

#define CHECK_SIZE 5 /* bytes: 8 characters */
#define BODY 7       /* where the random characters begin */
#define CHECK 39     /* where the checksum begins */

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
static const char *const types[TOKEN_TYPE_COUNT] = {
    [TOKEN_KEY] = "key",
    [TOKEN_INFERENCE] = "inf",
    [TOKEN_SESSION] = "ses",
    [TOKEN_ENROL] = "enr",
    [TOKEN_FIRST] = "one",
    [TOKEN_INVITE] = "inv",
};

/* Five bytes are eight characters: no padding, one spelling. */
static void
encode(const uint8_t *bytes, size_t size, char *text)
{
    for (size_t i = 0; i < size; i += 5) {
        uint64_t group = 0;

        for (size_t j = 0; j < 5; j++)
            group = group << 8 | bytes[i + j];
        for (size_t j = 0; j < 8; j++)
            *text++ = alphabet[group >> (35 - 5 * j) & 31];
    }
}

static void
write_check(const char *text, char check[8])
{
    struct digest digest;

    digest_of(text, CHECK, &digest);
    encode(digest.bytes, CHECK_SIZE, check);
}

void
token_format(enum token_type type, const uint8_t bits[TOKEN_RANDOM_SIZE],
             char text[TOKEN_TEXT_MAX])
{
    assert(type < TOKEN_TYPE_COUNT);
    memcpy(text, "bh_", 3);
    memcpy(text + 3, types[type], 3);
    text[6] = '_';
    encode(bits, TOKEN_RANDOM_SIZE, text + BODY);
    write_check(text, text + CHECK);
    text[TOKEN_SIZE] = '\0';
}

void
token_make(enum token_type type, char text[TOKEN_TEXT_MAX])
{
    uint8_t bits[TOKEN_RANDOM_SIZE];

    random_bytes(bits, sizeof(bits));
    token_format(type, bits, text);
    secret_clear(bits, sizeof(bits));
}

static bool
find_type(const char *text, enum token_type *type_out)
{
    for (unsigned type = 0; type < TOKEN_TYPE_COUNT; type++)
        if (memcmp(text + 3, types[type], 3) == 0) {
            *type_out = (enum token_type)type;
            return true;
        }
    return false;
}

int
token_parse(const char *text, enum token_type *type_out, struct error *err)
{
    enum token_type type = TOKEN_KEY;
    char check[8];
    bool ok = strnlen(text, TOKEN_SIZE + 1) == TOKEN_SIZE &&
              memcmp(text, "bh_", 3) == 0 && text[6] == '_' &&
              find_type(text, &type) &&
              strspn(text + BODY, alphabet) == TOKEN_SIZE - BODY;

    if (ok) {
        write_check(text, check);
        ok = secret_compare(check, text + CHECK, sizeof(check)) == 0;
    }
    if (!ok)
        return error_set(err, ERROR_UNAUTHENTICATED, "the token is not valid");
    *type_out = type;
    return 0;
}

void
token_digest(const char *text, struct digest *out)
{
    digest_of(text, strlen(text), out);
}

bool
token_matches(const struct digest *stored, const struct digest *given)
{
    return secret_compare(stored->bytes, given->bytes, DIGEST_SIZE) == 0;
}
