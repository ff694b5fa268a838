/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/jwt.h"

#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/sign.h"

#define SECONDS_MAX (INT64_C(1) << 40)
#define LOGOUT_EVENT "http://schemas.openid.net/event/backchannel-logout"

/* The three parts of a compact token; bytes are the arena's. */
struct parts {
    size_t signed_size; /* header and claims with the dot between */
    json_t *header;
    json_t *claims;
    uint8_t signature[JWK_RSA_BITS_MAX / 8];
    int signature_size;
};

static void
parts_release(struct parts *parts)
{
    json_decref(parts->header);
    json_decref(parts->claims);
}

static enum jwt_verdict
bad(struct error *err, const char *what)
{
    (void)error_set(err, ERROR_UNAUTHENTICATED, "the token's %s", what);
    return JWT_BAD;
}

static json_t *
read_part(const char *text, size_t size)
{
    uint8_t *bytes = memory_new(1, size + 1);
    int length = base64url_decode(text, size, bytes, size);
    struct error ignored;
    json_t *json = length <= 0 ? NULL
                               : json_read((const char *)bytes,
                                           (size_t)length, &ignored);

    free(bytes);
    if (json_is_object(json))
        return json;
    json_decref(json);
    return NULL;
}

static bool
split(const char *token, struct parts *out)
{
    size_t size = strlen(token), head, body, tail;

    *out = (struct parts){ 0 };
    if (size > JWT_SIZE_MAX)
        return false;
    head = strcspn(token, ".");
    if (token[head] != '.')
        return false;
    body = strcspn(token + head + 1, ".");
    out->signed_size = head + 1 + body;
    if (token[out->signed_size] != '.')
        return false;
    tail = size - out->signed_size - 1;
    out->header = read_part(token, head);
    out->claims = read_part(token + head + 1, body);
    /* A further dot is no digit of base64url, so five parts end here too. */
    out->signature_size =
        base64url_decode(token + out->signed_size + 1, tail, out->signature,
                         sizeof(out->signature));
    return out->header != NULL && out->claims != NULL &&
           out->signature_size > 0;
}

/* The algorithm comes from the list that is taken, never from the key; what a
 * token calls critical is not understood here. */
static enum jwt_verdict
check_signature(const struct jwk_set *keys, const char *token,
                const struct parts *parts, struct error *err)
{
    const json_t *header = parts->header;
    const char *kid = json_string_value(json_object_get(header, "kid"));
    int algorithm = jwk_algorithm(
        json_string_value(json_object_get(header, "alg")));

    if (algorithm < 0)
        return bad(err, "algorithm is none of RS256, ES256, EdDSA");
    if (json_object_get(header, "crit") != NULL ||
        json_object_get(header, "b64") != NULL)
        return bad(err, "header has extensions that are not taken");
    switch (jwk_set_verify(keys, kid, (enum jwk_algorithm)algorithm, token,
                           parts->signed_size, parts->signature,
                           (size_t)parts->signature_size)) {
    case JWK_GOOD:
        return JWT_GOOD;
    case JWK_BAD:
        return bad(err, "signature is wrong");
    case JWK_UNKNOWN:
        (void)bad(err, "key is none of the provider's");
        return JWT_UNKNOWN;
    }
    return JWT_BAD;
}

/* --- claims --- */

static const char *
text_of(const json_t *claims, const char *name)
{
    return json_string_value(json_object_get(claims, name));
}

/* Seconds to ms; -1 when it is not there or absurd. */
static int64_t
time_of(const json_t *claims, const char *name)
{
    const json_t *value = json_object_get(claims, name);
    int64_t seconds =
        json_is_integer(value) ? (int64_t)json_integer_value(value) : -1;

    return seconds < 0 || seconds > SECONDS_MAX ? -1 : seconds * 1000;
}

/* aud is ours; with several, or an azp, the party is ours too. */
static bool
is_for(const json_t *claims, const char *client)
{
    const json_t *aud = json_object_get(claims, "aud"), *item;
    const json_t *azp = json_object_get(claims, "azp");
    bool found = json_is_string(aud) &&
                 strcmp(json_string_value(aud), client) == 0;
    size_t i;

    json_array_foreach(aud, i, item) {
        if (!json_is_string(item))
            return false;
        found = found || strcmp(json_string_value(item), client) == 0;
    }
    if (azp == NULL && json_array_size(aud) > 1)
        return false;
    if (azp != NULL && (!json_is_string(azp) ||
                        strcmp(json_string_value(azp), client) != 0))
        return false;
    return found;
}

static bool
is_subject(const char *text)
{
    size_t size = text == NULL ? 0 : strlen(text);

    if (size == 0 || size > JWT_SUBJECT_MAX)
        return false;
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            return false;
    return true;
}

static enum jwt_verdict
check_common(const json_t *claims, const struct jwt_expectation *expected,
             struct error *err)
{
    const char *issuer = text_of(claims, "iss");
    int64_t iat_ms = time_of(claims, "iat");
    int64_t exp_ms = time_of(claims, "exp");
    int64_t nbf_ms = time_of(claims, "nbf");

    if (issuer == NULL || strcmp(issuer, expected->issuer) != 0)
        return bad(err, "issuer (iss) is another one");
    if (!is_for(claims, expected->client_id))
        return bad(err, "audience (aud, azp) is another one");
    if (exp_ms < 0 || exp_ms + JWT_SKEW_MS <= expected->now_ms)
        return bad(err, "time is over (exp)");
    if (iat_ms < 0 || iat_ms - JWT_SKEW_MS > expected->now_ms)
        return bad(err, "time of issue (iat) is missing or to come");
    if (expected->now_ms - iat_ms > JWT_AGE_MS + JWT_SKEW_MS)
        return bad(err, "time of issue (iat) is long ago");
    if (json_object_get(claims, "nbf") != NULL &&
        (nbf_ms < 0 || nbf_ms - JWT_SKEW_MS > expected->now_ms))
        return bad(err, "time is to come (nbf)");
    return JWT_GOOD;
}

/* By digests, so that the comparison takes the same time. */
static bool
is_same(const char *a, const char *b)
{
    struct digest one, two;

    if (a == NULL)
        return false;
    digest_of(a, strlen(a), &one);
    digest_of(b, strlen(b), &two);
    return secret_compare(&one, &two, sizeof(one)) == 0;
}

static enum jwt_verdict
check_id_claims(const struct parts *parts,
                const struct jwt_expectation *expected, struct error *err)
{
    const json_t *claims = parts->claims;
    const json_t *auth = json_object_get(claims, "auth_time");

    if (check_common(claims, expected, err) != JWT_GOOD)
        return JWT_BAD;
    if (!is_same(text_of(claims, "nonce"), expected->nonce))
        return bad(err, "nonce is another one");
    if (!is_subject(text_of(claims, "sub")))
        return bad(err, "subject (sub) is missing or too long");
    if (json_object_get(claims, "events") != NULL)
        return bad(err, "events make it no ID token");
    if (auth != NULL && time_of(claims, "auth_time") < 0)
        return bad(err, "time of proof (auth_time) is no time");
    return JWT_GOOD;
}

/* A kind of token that says so is not taken for another kind. */
static bool
is_typed(const struct parts *parts, const char *type)
{
    const json_t *typ = json_object_get(parts->header, "typ");

    return typ == NULL ||
           (json_is_string(typ) &&
            (strcasecmp(json_string_value(typ), "JWT") == 0 ||
             strcasecmp(json_string_value(typ), type) == 0));
}

static enum jwt_verdict
check_logout_claims(const struct parts *parts,
                    const struct jwt_expectation *expected, struct error *err)
{
    const json_t *claims = parts->claims;
    const json_t *events = json_object_get(claims, "events");
    const char *sub = text_of(claims, "sub"), *sid = text_of(claims, "sid");

    if (check_common(claims, expected, err) != JWT_GOOD)
        return JWT_BAD;
    if (!json_is_object(json_object_get(events, LOGOUT_EVENT)))
        return bad(err, "events are no logout");
    if (json_object_get(claims, "nonce") != NULL)
        return bad(err, "nonce makes it no logout token");
    if (!is_subject(text_of(claims, "jti")))
        return bad(err, "id (jti) is missing or too long");
    if ((sub == NULL && sid == NULL) || (sub != NULL && !is_subject(sub)) ||
        (sid != NULL && !is_subject(sid)))
        return bad(err, "session (sub, sid) is missing or too long");
    return JWT_GOOD;
}

/* --- tokens --- */

typedef enum jwt_verdict check_claims(const struct parts *parts,
                                      const struct jwt_expectation *expected,
                                      struct error *err);

/* Nothing of the claims is looked at before the signature holds. */
static enum jwt_verdict
check(const struct jwk_set *keys, const char *token, const char *type,
      const struct jwt_expectation *expected, check_claims *check_rest,
      json_t **claims_out, struct error *err)
{
    struct parts parts;
    enum jwt_verdict verdict;

    if (!split(token, &parts))
        verdict = bad(err, "form is not that of a signed JWT");
    else if (!is_typed(&parts, type))
        verdict = bad(err, "type (typ) is another one");
    else
        verdict = check_signature(keys, token, &parts, err);
    if (verdict == JWT_GOOD)
        verdict = check_rest(&parts, expected, err);
    if (verdict == JWT_GOOD)
        *claims_out = json_incref(parts.claims);
    parts_release(&parts);
    return verdict;
}

enum jwt_verdict
jwt_check_id(const struct jwk_set *keys, const char *token,
             const struct jwt_expectation *expected, json_t **claims_out,
             struct error *err)
{
    return check(keys, token, "JWT", expected, check_id_claims, claims_out,
                 err);
}

enum jwt_verdict
jwt_check_logout(const struct jwk_set *keys, const char *token,
                 const struct jwt_expectation *expected, json_t **claims_out,
                 struct error *err)
{
    return check(keys, token, "logout+jwt", expected, check_logout_claims,
                 claims_out, err);
}
