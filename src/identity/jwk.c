/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/jwk.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <string.h>

#include "base/arena.h"
#include "base/digest.h"

#define KID_MAX 256
#define NUMBER_MAX 1100 /* bytes: 8,192 bits and a little */

struct jwk {
    char kid[KID_MAX];
    enum jwk_algorithm algorithm;
    EVP_PKEY *key;
};

struct jwk_set {
    size_t count;
    struct jwk keys[JWK_KEYS_MAX];
};

static const char *const names[] = { [JWK_RS256] = "RS256",
                                     [JWK_ES256] = "ES256",
                                     [JWK_EDDSA] = "EdDSA" };

int
jwk_algorithm(const char *name)
{
    for (int i = 0; i < (int)(sizeof(names) / sizeof(*names)); i++)
        if (name != NULL && strcmp(names[i], name) == 0)
            return i;
    return -1;
}

/* --- reading keys --- */

/* Bytes of a base64url member; -1 when it is not there or too long. */
static int
read_bytes(const json_t *key, const char *name, uint8_t *out, size_t room)
{
    const char *text = json_string_value(json_object_get(key, name));

    return text == NULL ? -1
                        : base64url_decode(text, strlen(text), out, room);
}

static EVP_PKEY *
key_from(const char *type, OSSL_PARAM_BLD *builder)
{
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *key = NULL;

    if (params == NULL || context == NULL ||
        EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(params);
    return key;
}

/* An even or tiny exponent is no RSA key; sizes bound what a check costs. */
static EVP_PKEY *
read_rsa(const json_t *json)
{
    uint8_t n[NUMBER_MAX], e[8];
    int n_size = read_bytes(json, "n", n, sizeof(n));
    int e_size = read_bytes(json, "e", e, sizeof(e));
    OSSL_PARAM_BLD *builder;
    EVP_PKEY *key = NULL;
    BIGNUM *modulus, *exponent;
    int bits;

    if (n_size <= 0 || e_size <= 0)
        return NULL;
    modulus = BN_bin2bn(n, n_size, NULL);
    exponent = BN_bin2bn(e, e_size, NULL);
    builder = OSSL_PARAM_BLD_new();
    bits = modulus == NULL ? 0 : BN_num_bits(modulus);
    if (builder != NULL && exponent != NULL && bits >= JWK_RSA_BITS_MIN &&
        bits <= JWK_RSA_BITS_MAX && BN_is_odd(modulus) &&
        BN_is_odd(exponent) && !BN_is_one(exponent) &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent) == 1)
        key = key_from("RSA", builder);
    OSSL_PARAM_BLD_free(builder);
    BN_free(modulus);
    BN_free(exponent);
    return key;
}

/* The library refuses a point that is not on the curve. */
static EVP_PKEY *
read_ec(const json_t *json)
{
    const char *curve = json_string_value(json_object_get(json, "crv"));
    uint8_t point[65] = { 4 };
    OSSL_PARAM_BLD *builder;
    EVP_PKEY *key = NULL;

    if (curve == NULL || strcmp(curve, "P-256") != 0 ||
        read_bytes(json, "x", point + 1, 32) != 32 ||
        read_bytes(json, "y", point + 33, 32) != 32)
        return NULL;
    builder = OSSL_PARAM_BLD_new();
    if (builder != NULL &&
        OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME,
                                        "prime256v1", 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY,
                                         point, sizeof(point)) == 1)
        key = key_from("EC", builder);
    OSSL_PARAM_BLD_free(builder);
    return key;
}

static EVP_PKEY *
read_okp(const json_t *json)
{
    const char *curve = json_string_value(json_object_get(json, "crv"));
    uint8_t x[32];

    if (curve == NULL || strcmp(curve, "Ed25519") != 0 ||
        read_bytes(json, "x", x, sizeof(x)) != 32)
        return NULL;
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, x, sizeof(x));
}

static bool
is_text(const json_t *json, const char *name, const char *want)
{
    const char *text = json_string_value(json_object_get(json, name));

    return text == NULL || strcmp(text, want) == 0;
}

static bool
read_key(const json_t *json, struct jwk *out)
{
    const char *type = json_string_value(json_object_get(json, "kty"));
    const char *kid = json_string_value(json_object_get(json, "kid"));

    memset(out, 0, sizeof(*out));
    if (type == NULL || !is_text(json, "use", "sig") ||
        (kid != NULL && strlen(kid) >= sizeof(out->kid)))
        return false;
    if (kid != NULL)
        memcpy(out->kid, kid, strlen(kid) + 1);
    if (strcmp(type, "RSA") == 0) {
        out->algorithm = JWK_RS256;
        out->key = read_rsa(json);
    } else if (strcmp(type, "EC") == 0) {
        out->algorithm = JWK_ES256;
        out->key = read_ec(json);
    } else if (strcmp(type, "OKP") == 0) {
        out->algorithm = JWK_EDDSA;
        out->key = read_okp(json);
    }
    if (out->key != NULL && is_text(json, "alg", names[out->algorithm]))
        return true;
    EVP_PKEY_free(out->key);
    return false;
}

int
jwk_set_parse(const json_t *document, struct jwk_set **out, struct error *err)
{
    const json_t *list = json_object_get(document, "keys"), *item;
    struct jwk_set *set;
    size_t i;

    if (!json_is_array(list))
        return error_set(err, ERROR_INVALID, "it is no set of keys");
    set = memory_new(1, sizeof(*set));
    json_array_foreach(list, i, item)
        if (set->count < JWK_KEYS_MAX &&
            read_key(item, &set->keys[set->count]))
            set->count++;
    *out = set;
    return 0;
}

void
jwk_set_free(struct jwk_set *set)
{
    if (set == NULL)
        return;
    for (size_t i = 0; i < set->count; i++)
        EVP_PKEY_free(set->keys[i].key);
    free(set);
}

size_t
jwk_set_count(const struct jwk_set *set)
{
    return set->count;
}

/* --- signatures --- */

/* r and s of 32 bytes each (RFC 7518 3.4), as the library wants them. */
static int
ecdsa_der(const uint8_t *signature, size_t size, uint8_t **der)
{
    ECDSA_SIG *pair = size == 64 ? ECDSA_SIG_new() : NULL;
    BIGNUM *r = pair == NULL ? NULL : BN_bin2bn(signature, 32, NULL);
    BIGNUM *s = pair == NULL ? NULL : BN_bin2bn(signature + 32, 32, NULL);
    int length = -1;

    if (r != NULL && s != NULL && ECDSA_SIG_set0(pair, r, s) == 1) {
        length = i2d_ECDSA_SIG(pair, der);
    } else {
        BN_free(r);
        BN_free(s);
    }
    ECDSA_SIG_free(pair);
    return length;
}

static bool
verify(const struct jwk *jwk, const void *bytes, size_t size,
       const uint8_t *signature, size_t signature_size)
{
    const EVP_MD *digest =
        jwk->algorithm == JWK_EDDSA ? NULL : EVP_sha256();
    EVP_MD_CTX *context;
    uint8_t *der = NULL;
    bool good = false;

    if (jwk->algorithm == JWK_ES256) {
        int length = ecdsa_der(signature, signature_size, &der);

        if (length <= 0)
            return false;
        signature = der;
        signature_size = (size_t)length;
    }
    context = EVP_MD_CTX_new();
    if (context != NULL && EVP_DigestVerifyInit(context, NULL, digest, NULL,
                                                jwk->key) == 1)
        good = EVP_DigestVerify(context, signature, signature_size, bytes,
                                size) == 1;
    EVP_MD_CTX_free(context);
    OPENSSL_free(der);
    return good;
}

/* Without an id the key has to be the only one that it could be. */
static const struct jwk *
find(const struct jwk_set *set, const char *kid, enum jwk_algorithm algorithm)
{
    const struct jwk *found = NULL;

    for (size_t i = 0; i < set->count; i++) {
        const struct jwk *jwk = &set->keys[i];

        if (jwk->algorithm != algorithm)
            continue;
        if (kid != NULL && kid[0] != '\0') {
            if (strcmp(jwk->kid, kid) == 0)
                return jwk;
            continue;
        }
        if (found != NULL)
            return NULL;
        found = jwk;
    }
    return found;
}

enum jwk_verdict
jwk_set_verify(const struct jwk_set *set, const char *kid,
               enum jwk_algorithm algorithm, const void *bytes, size_t size,
               const uint8_t *signature, size_t signature_size)
{
    const struct jwk *jwk = find(set, kid, algorithm);

    if (jwk == NULL)
        return JWK_UNKNOWN;
    return verify(jwk, bytes, size, signature, signature_size) ? JWK_GOOD
                                                               : JWK_BAD;
}
