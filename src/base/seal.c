/* SPDX-License-Identifier: Apache-2.0 */
#include "base/seal.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/sign.h"

#define NONCE ((size_t)crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)
#define TAG ((size_t)crypto_aead_xchacha20poly1305_ietf_ABYTES)

_Static_assert(SEAL_KEY_SIZE == crypto_aead_xchacha20poly1305_ietf_KEYBYTES,
               "the key fits the cipher");

/* The file is that of a signing key: 32 random bytes behind the same checks. */
int
seal_key_open(const char *path, struct seal_key *key_out, struct error *err)
{
    struct sign_key seed;

    if (sign_key_open(path, &seed, err) != 0)
        return error_prefix(err, "the key of kept secrets");
    memcpy(key_out->bytes, seed.secret_key, SEAL_KEY_SIZE);
    secret_clear(&seed, sizeof(seed));
    return 0;
}

void
seal_text(const struct seal_key *key, const char *label, const void *bytes,
          size_t size, struct buffer *out)
{
    uint8_t *sealed = memory_new(1, NONCE + size + TAG);
    int rc;

    random_bytes(sealed, NONCE);
    rc = crypto_aead_xchacha20poly1305_ietf_encrypt(
        sealed + NONCE, NULL, bytes, size, (const void *)label, strlen(label),
        NULL, sealed, key->bytes);
    assert(rc == 0);
    base64url_encode(out, sealed, NONCE + size + TAG);
    free(sealed);
}

int
seal_open(const struct seal_key *key, const char *label, const char *text,
          struct buffer *out, struct error *err)
{
    size_t size = strlen(text);
    uint8_t *sealed = memory_new(1, size + 1);
    int read = base64url_decode(text, size, sealed, size);
    size_t plain = read < 0 || (size_t)read < NONCE + TAG
                       ? 0
                       : (size_t)read - NONCE - TAG;
    int rc = -1;

    if (read >= 0 && (size_t)read >= NONCE + TAG)
        rc = crypto_aead_xchacha20poly1305_ietf_decrypt(
            (void *)buffer_room(out, plain), NULL, NULL, sealed + NONCE,
            plain + TAG, (const void *)label, strlen(label), sealed,
            key->bytes);
    if (rc == 0)
        buffer_grew(out, plain);
    free(sealed);
    if (rc != 0)
        return error_set(err, ERROR_INVALID,
                         "it was not sealed here for this");
    return 0;
}
