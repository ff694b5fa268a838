/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sign.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"

#define SEED_SIZE ((size_t)crypto_sign_SEEDBYTES)

static void
key_from_seed(const uint8_t seed[SEED_SIZE], struct sign_key *key)
{
    int ok = sodium_init() >= 0 &&
             crypto_sign_seed_keypair(key->public_key, key->secret_key,
                                      seed) == 0;

    assert(ok);
}

static int
key_make(const char *path, struct sign_key *key_out, struct error *err)
{
    char text[2 * SEED_SIZE + 2];
    uint8_t seed[SEED_SIZE];

    random_bytes(seed, sizeof(seed));
    hex_encode(seed, sizeof(seed), text);
    text[2 * SEED_SIZE] = '\n';
    if (file_write(path, text, 2 * SEED_SIZE + 1, 0600, err) != 0)
        return error_prefix(err, "signing key");
    key_from_seed(seed, key_out);
    sodium_memzero(text, sizeof(text));
    sodium_memzero(seed, sizeof(seed));
    return 0;
}

int
sign_key_open(const char *path, struct sign_key *key_out, struct error *err)
{
    char text[2 * SEED_SIZE + 1] = { 0 };
    uint8_t seed[SEED_SIZE];
    scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat status;
    ssize_t size;

    if (fd < 0 && errno == ENOENT)
        return key_make(path, key_out, err);
    if (fd < 0 || fstat(fd, &status) != 0)
        return error_set(err, ERROR_INTERNAL, "signing key: %s",
                         strerror(errno));
    if ((status.st_mode & 077) != 0)
        return error_set(err, ERROR_INTERNAL,
                         "signing key: the file may be read by others "
                         "(mode %03o, must be 600)",
                         status.st_mode & 0777U);
    size = read(fd, text, 2 * SEED_SIZE);
    if (size < 0 || (size_t)size != 2 * SEED_SIZE || hex_decode(text, seed, SEED_SIZE) != 0)
        return error_set(err, ERROR_INTERNAL,
                         "signing key: the file does not hold a key");
    key_from_seed(seed, key_out);
    sodium_memzero(text, sizeof(text));
    sodium_memzero(seed, sizeof(seed));
    return 0;
}

void
sign_bytes(const struct sign_key *key, const void *bytes, size_t size,
           uint8_t signature[SIGN_SIZE])
{
    int ok = crypto_sign_detached(signature, NULL, bytes, size,
                                  key->secret_key) == 0;

    assert(ok);
}

int
sign_check(const uint8_t public_key[SIGN_PUBLIC_SIZE], const void *bytes,
           size_t size, const uint8_t signature[SIGN_SIZE])
{
    if (sodium_init() < 0)
        return -1;
    return crypto_sign_verify_detached(signature, bytes, size, public_key) ==
                   0
               ? 0
               : -1;
}

void
random_bytes(void *bytes, size_t size)
{
    int ok = sodium_init() >= 0;

    assert(ok);
    randombytes_buf(bytes, size);
}

int
secret_compare(const void *a, const void *b, size_t size)
{
    return sodium_memcmp(a, b, size);
}

void
secret_clear(void *bytes, size_t size)
{
    sodium_memzero(bytes, size);
}
