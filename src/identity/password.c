/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/password.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BYTES_DISTINCT_MIN 5

_Static_assert(PASSWORD_HASH_MAX == crypto_pwhash_argon2id_STRBYTES,
               "room for one hash");

const struct password_cost password_cost_default = {
    .passes = 3,
    .memory_bytes = (uint64_t)64 * 1024 * 1024,
};

static size_t
count_characters(const char *text)
{
    size_t count = 0;

    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

static size_t
count_distinct(const char *text)
{
    bool seen[256] = { false };
    size_t count = 0;

    for (; *text != '\0'; text++) {
        count += !seen[(unsigned char)*text];
        seen[(unsigned char)*text] = true;
    }
    return count;
}

/* The name, with fewer further characters than a password needs. */
static bool
is_around_name(const char *password, const char *name)
{
    size_t size = strlen(password), name_size = strlen(name);

    return name_size > 0 && strcasestr(password, name) != NULL &&
           size - name_size < PASSWORD_CHARACTERS_MIN;
}

int
password_check(const char *password, const char *user_name,
               int64_t characters, struct error *err)
{
    if (characters < PASSWORD_CHARACTERS_MIN)
        characters = PASSWORD_CHARACTERS_MIN;
    if (strnlen(password, PASSWORD_SIZE_MAX + 1) > PASSWORD_SIZE_MAX)
        return error_field(err, "/password",
                           "the password has more than %d bytes",
                           PASSWORD_SIZE_MAX);
    if ((int64_t)count_characters(password) < characters)
        return error_field(err, "/password",
                           "the password has fewer than %lld characters",
                           (long long)characters);
    if (count_distinct(password) < BYTES_DISTINCT_MIN)
        return error_field(err, "/password",
                           "the password uses fewer than %d different "
                           "characters",
                           BYTES_DISTINCT_MIN);
    if (is_around_name(password, user_name))
        return error_field(err, "/password",
                           "the password is built on the user's name");
    if (password_is_common(password))
        return error_field(err, "/password",
                           "the password is one that is tried first");
    return 0;
}

int
password_hash(const char *password, const struct password_cost *cost,
              char hash_out[PASSWORD_HASH_MAX], struct error *err)
{
    char hash[PASSWORD_HASH_MAX];
    int ok = sodium_init() >= 0;

    assert(ok && strlen(password) <= PASSWORD_SIZE_MAX);
    if (crypto_pwhash_str_alg(hash, password, strlen(password), cost->passes,
                              cost->memory_bytes,
                              crypto_pwhash_ALG_ARGON2ID13) != 0)
        return error_set(err, ERROR_BUSY,
                         "no memory to hash a password right now");
    memcpy(hash_out, hash, sizeof(hash));
    return 0;
}

/* A well-formed hash that no password is known for: its tag is not the result
 * of anything, but finding that out costs the same. */
static void
write_dummy(const struct password_cost *cost, char hash[PASSWORD_HASH_MAX])
{
    (void)snprintf(hash, PASSWORD_HASH_MAX,
                   "$argon2id$v=19$m=%llu,t=%llu,p=1$"
                   "YnVsa2hlYWQgbm9ib2R5IQ$"
                   "bm8gcGFzc3dvcmQgaGFzaGVzIHRvIHRoaXMgdGV4dCE",
                   (unsigned long long)(cost->memory_bytes / 1024),
                   (unsigned long long)cost->passes);
}

bool
password_verify(const char *hash, const char *password,
                const struct password_cost *cost)
{
    size_t size = strnlen(password, PASSWORD_SIZE_MAX + 1);
    char text[PASSWORD_HASH_MAX] = { 0 };
    bool real = hash != NULL && size <= PASSWORD_SIZE_MAX, same;
    int ok = sodium_init() >= 0;

    assert(ok);
    if (real)
        (void)snprintf(text, sizeof(text), "%s", hash);
    else
        write_dummy(cost, text);
    same = crypto_pwhash_str_verify(text, password, size) == 0;
    return real && same;
}

bool
password_is_stale(const char *hash, const struct password_cost *cost)
{
    char text[PASSWORD_HASH_MAX] = { 0 };

    (void)snprintf(text, sizeof(text), "%s", hash);
    return crypto_pwhash_str_needs_rehash(text, cost->passes,
                                          cost->memory_bytes) != 0;
}
