/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_IDENTITY_MINT_H
#define TESTS_UNIT_IDENTITY_MINT_H

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/json.h"

/* Keys and tokens of a provider that tests play. */

struct mint {
    const char *algorithm, *kid;
    EVP_PKEY *key;
};

static inline struct mint
mint_new(const char *algorithm, const char *kid)
{
    struct mint mint = { algorithm, kid, NULL };

    if (strcmp(algorithm, "RS256") == 0)
        mint.key = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
    else if (strcmp(algorithm, "ES256") == 0)
        mint.key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    else
        mint.key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    assert_non_null(mint.key);
    return mint;
}

static inline void
mint_free(struct mint *mint)
{
    EVP_PKEY_free(mint->key);
    mint->key = NULL;
}

static inline void
mint_number(const struct mint *mint, const char *name, const char *member,
            json_t *out)
{
    BIGNUM *number = NULL;
    uint8_t bytes[512];
    scoped_buffer text = { 0 };
    int size;

    assert_int_equal(EVP_PKEY_get_bn_param(mint->key, name, &number), 1);
    size = strcmp(mint->algorithm, "ES256") == 0
               ? BN_bn2binpad(number, bytes, 32)
               : BN_bn2bin(number, bytes);
    base64url_encode(&text, bytes, (size_t)size);
    (void)json_object_set_new(out, member, json_string(buffer_text(&text)));
    BN_free(number);
}

/* The public key; a new reference. */
static inline json_t *
mint_jwk(const struct mint *mint)
{
    json_t *out = json_pack("{s:s, s:s, s:s}", "kid", mint->kid, "use", "sig",
                            "alg", mint->algorithm);

    if (strcmp(mint->algorithm, "RS256") == 0) {
        (void)json_object_set_new(out, "kty", json_string("RSA"));
        mint_number(mint, OSSL_PKEY_PARAM_RSA_N, "n", out);
        mint_number(mint, OSSL_PKEY_PARAM_RSA_E, "e", out);
    } else if (strcmp(mint->algorithm, "ES256") == 0) {
        (void)json_object_set_new(out, "kty", json_string("EC"));
        (void)json_object_set_new(out, "crv", json_string("P-256"));
        mint_number(mint, OSSL_PKEY_PARAM_EC_PUB_X, "x", out);
        mint_number(mint, OSSL_PKEY_PARAM_EC_PUB_Y, "y", out);
    } else {
        uint8_t bytes[32];
        size_t size = sizeof(bytes);
        scoped_buffer text = { 0 };

        assert_int_equal(
            EVP_PKEY_get_raw_public_key(mint->key, bytes, &size), 1);
        base64url_encode(&text, bytes, size);
        (void)json_object_set_new(out, "kty", json_string("OKP"));
        (void)json_object_set_new(out, "crv", json_string("Ed25519"));
        (void)json_object_set_new(out, "x", json_string(buffer_text(&text)));
    }
    return out;
}

static inline size_t
mint_sign(const struct mint *mint, const struct buffer *text,
          uint8_t out[1024])
{
    const EVP_MD *digest =
        strcmp(mint->algorithm, "EdDSA") == 0 ? NULL : EVP_sha256();
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t size = 1024;

    assert_int_equal(
        EVP_DigestSignInit(context, NULL, digest, NULL, mint->key), 1);
    assert_int_equal(EVP_DigestSign(context, out, &size,
                                    (const void *)text->bytes, text->size),
                     1);
    EVP_MD_CTX_free(context);
    if (strcmp(mint->algorithm, "ES256") == 0) {
        const uint8_t *at = out;
        ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)size);
        uint8_t raw[64];

        (void)BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw, 32);
        (void)BN_bn2binpad(ECDSA_SIG_get0_s(pair), raw + 32, 32);
        ECDSA_SIG_free(pair);
        memcpy(out, raw, 64);
        return 64;
    }
    return size;
}

static inline void
mint_part(struct buffer *out, const json_t *part)
{
    scoped_buffer text = { 0 };

    json_write(&text, part);
    base64url_encode(out, text.bytes, text.size);
}

/* Header and claims as they are given, whatever they say; freed by the
 * caller. */
static inline char *
mint_token(const struct mint *mint, const json_t *header,
           const json_t *claims)
{
    struct buffer out = { 0 };
    uint8_t signature[1024];
    size_t size;

    mint_part(&out, header);
    buffer_add_byte(&out, '.');
    mint_part(&out, claims);
    size = mint_sign(mint, &out, signature);
    buffer_add_byte(&out, '.');
    base64url_encode(&out, signature, size);
    return buffer_take(&out);
}

static inline json_t *
mint_header(const struct mint *mint)
{
    return json_pack("{s:s, s:s}", "alg", mint->algorithm, "kid", mint->kid);
}

/* HS256 with the bytes of a public key as its secret. */
static inline char *
mint_hmac(const char *kid, const void *secret, size_t secret_size,
          const json_t *claims)
{
    scoped_json header = json_pack("{s:s, s:s}", "alg", "HS256", "kid", kid);
    struct buffer out = { 0 };
    uint8_t mac[32];
    unsigned size = 0;

    mint_part(&out, header);
    buffer_add_byte(&out, '.');
    mint_part(&out, claims);
    (void)HMAC(EVP_sha256(), secret, (int)secret_size,
               (const void *)out.bytes, out.size, mac, &size);
    buffer_add_byte(&out, '.');
    base64url_encode(&out, mac, size);
    return buffer_take(&out);
}

#endif
