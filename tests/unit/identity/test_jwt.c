/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/identity/mint.h"

#include "identity/jwt.h"

#define NOW INT64_C(1796040000000)
#define NOW_S (NOW / 1000)

static struct mint rsa, ec, ed, other;
static struct jwk_set *keys;
static const struct jwt_expectation expected = { "https://sso.example",
                                                 "bulkhead", "n-1", NOW };
static const struct jwt_expectation logout = { "https://sso.example",
                                               "bulkhead", NULL, NOW };

static int
set_up(void **state)
{
    scoped_json document = NULL;
    struct error err;

    (void)state;
    rsa = mint_new("RS256", "r");
    ec = mint_new("ES256", "e");
    ed = mint_new("EdDSA", "d");
    other = mint_new("ES256", "e");
    document = json_pack("{s:[o,o,o]}", "keys", mint_jwk(&rsa), mint_jwk(&ec),
                         mint_jwk(&ed));
    return jwk_set_parse(document, &keys, &err);
}

static int
tear_down(void **state)
{
    (void)state;
    jwk_set_free(keys);
    mint_free(&rsa);
    mint_free(&ec);
    mint_free(&ed);
    mint_free(&other);
    return 0;
}

static json_t *
good_claims(void)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I}", "iss",
                     "https://sso.example", "aud", "bulkhead", "sub", "s-1",
                     "nonce", "n-1", "iat", (json_int_t)NOW_S, "exp",
                     (json_int_t)(NOW_S + 300));
}

static json_t *
good_logout(void)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:{s:{}}}", "iss",
        "https://sso.example", "aud", "bulkhead", "sid", "A", "jti", "j-1",
        "iat", (json_int_t)NOW_S, "exp", (json_int_t)(NOW_S + 120), "events",
        "http://schemas.openid.net/event/backchannel-logout");
}

static enum jwt_verdict
check_id(const char *token)
{
    scoped_json claims = NULL;
    struct error err;

    return jwt_check_id(keys, token, &expected, &claims, &err);
}

static enum jwt_verdict
check_signed(const struct mint *mint, json_t *claims, bool is_logout)
{
    scoped_json header = mint_header(mint);
    char *token = mint_token(mint, header, claims);
    scoped_json out = NULL;
    struct error err;
    enum jwt_verdict verdict =
        is_logout ? jwt_check_logout(keys, token, &logout, &out, &err)
                  : jwt_check_id(keys, token, &expected, &out, &err);

    assert_int_equal(verdict == JWT_GOOD, out != NULL);
    free(token);
    json_decref(claims);
    return verdict;
}

static void
a_token_of_each_algorithm_is_good(void **state)
{
    (void)state;
    assert_int_equal(check_signed(&rsa, good_claims(), false), JWT_GOOD);
    assert_int_equal(check_signed(&ec, good_claims(), false), JWT_GOOD);
    assert_int_equal(check_signed(&ed, good_claims(), false), JWT_GOOD);
    assert_int_equal(check_signed(&ec, good_logout(), true), JWT_GOOD);
}

/* RFC 7515 A.2 and A.3, RFC 8037 A.4. */
static void
signatures_of_the_standards_are_good(void **state)
{
    static const char set[] =
        "{\"keys\":["
        "{\"kty\":\"RSA\",\"kid\":\"a2\",\"e\":\"AQAB\",\"n\":\"ofgWCuLjybRlzo"
        "0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPM"
        "EzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9w"
        "Gzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2"
        "CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmo"
        "udF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ\"},"
        "{\"kty\":\"EC\",\"kid\":\"a3\",\"crv\":\"P-256\","
        "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
        "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"},"
        "{\"kty\":\"OKP\",\"kid\":\"a4\",\"crv\":\"Ed25519\","
        "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}";
#define PAYLOAD                                                               \
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLm"  \
    "NvbS9pc19yb290Ijp0cnVlfQ"
    static const struct {
        const char *kid;
        enum jwk_algorithm algorithm;
        const char *text, *signature;
    } known[] = {
        { "a2", JWK_RS256, "eyJhbGciOiJSUzI1NiJ9." PAYLOAD,
          "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AA"
          "uHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAyn"
          "RFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZR"
          "mB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnv"
          "Wh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_Ioy"
          "pGlUPQGe77Rw" },
        { "a3", JWK_ES256, "eyJhbGciOiJFUzI1NiJ9." PAYLOAD,
          "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApm"
          "WQxfKTUJqPP3-Kg6NU1Q" },
        { "a4", JWK_EDDSA,
          "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
          "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhV"
          "sPt9g7sVvpAr_MuM0KAg" },
    };
    scoped_json document = json_loads(set, 0, NULL);
    struct jwk_set *standard = NULL;
    struct error err;

    (void)state;
    assert_int_equal(jwk_set_parse(document, &standard, &err), 0);
    assert_int_equal(jwk_set_count(standard), 3);
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        uint8_t bytes[512];
        int size = base64url_decode(known[i].signature,
                                    strlen(known[i].signature), bytes,
                                    sizeof(bytes));

        assert_true(size > 0);
        assert_int_equal(jwk_set_verify(standard, known[i].kid,
                                        known[i].algorithm, known[i].text,
                                        strlen(known[i].text), bytes,
                                        (size_t)size),
                         JWK_GOOD);
        bytes[5] ^= 1;
        assert_int_equal(jwk_set_verify(standard, known[i].kid,
                                        known[i].algorithm, known[i].text,
                                        strlen(known[i].text), bytes,
                                        (size_t)size),
                         JWK_BAD);
    }
    jwk_set_free(standard);
}

/* [A34] No byte may be another, and none may be missing. */
static void
a_token_that_was_changed_anywhere_is_not_good(void **state)
{
    scoped_json header = mint_header(&ec);
    scoped_json claims = NULL;
    char *token;
    size_t size;

    (void)state;
    claims = good_claims();
    token = mint_token(&ec, header, claims);
    size = strlen(token);
    assert_int_equal(check_id(token), JWT_GOOD);
    for (size_t i = 0; i < size; i++) {
        char was = token[i];

        token[i] = was == 'A' ? 'B' : 'A';
        assert_int_not_equal(check_id(token), JWT_GOOD);
        token[i] = '\0';
        assert_int_not_equal(check_id(token), JWT_GOOD);
        token[i] = was;
    }
    free(token);
}

static void
forms_of_tokens_that_are_not_taken(void **state)
{
    scoped_json claims = good_claims();
    scoped_json jwk = mint_jwk(&rsa);
    scoped_buffer text = { 0 };
    static const char *const headers[] = {
        "{\"alg\":\"none\"}",
        "{\"alg\":\"None\",\"kid\":\"e\"}",
        "{\"alg\":\"RS256\",\"kid\":\"e\"}", /* another type of key */
        "{\"alg\":\"ES384\",\"kid\":\"e\"}",
        "{\"alg\":\"HS256\",\"kid\":\"e\"}",
        "{\"alg\":\"es256\",\"kid\":\"e\"}",
        "{\"kid\":\"e\"}",
        "{\"alg\":[\"ES256\"],\"kid\":\"e\"}",
        "{\"alg\":\"ES256\",\"kid\":\"e\",\"crit\":[\"exp\"]}",
        "{\"alg\":\"ES256\",\"kid\":\"e\",\"b64\":false}",
        "{\"alg\":\"ES256\",\"kid\":\"e\",\"typ\":\"logout+jwt\"}",
        "{\"alg\":\"ES256\",\"kid\":\"e\",\"typ\":\"at+jwt\"}",
        "{\"alg\":\"ES256\",\"kid\":\"x\"}",
    };
    static const char *const texts[] = { "", ".", "..", "a.b", "a.b.c",
                                         "e30.e30.e30.e30.e30" };
    char *token;

    (void)state;
    for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
        scoped_json header = json_loads(headers[i], 0, NULL);

        token = mint_token(&ec, header, claims);
        if (check_id(token) == JWT_GOOD)
            fail_msg("%s is taken", headers[i]);
        free(token);
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_int_equal(check_id(texts[i]), JWT_BAD);
    /* The public key, which everybody knows, as a secret. */
    buffer_add_text(&text, json_string_value(json_object_get(jwk, "n")));
    token = mint_hmac("r", text.bytes, text.size, claims);
    assert_int_equal(check_id(token), JWT_BAD);
    free(token);
    /* No signature at all. */
    {
        scoped_json header = json_loads("{\"alg\":\"none\"}", 0, NULL);
        struct buffer bare = { 0 };

        mint_part(&bare, header);
        buffer_add_byte(&bare, '.');
        mint_part(&bare, claims);
        buffer_add_byte(&bare, '.');
        assert_int_equal(check_id(bare.bytes), JWT_BAD);
        buffer_release(&bare);
    }
}

static void
a_key_of_somebody_else_with_the_same_id_signs_nothing(void **state)
{
    (void)state;
    assert_int_equal(check_signed(&other, good_claims(), false), JWT_BAD);
    other.kid = "new";
    assert_int_equal(check_signed(&other, good_claims(), false), JWT_UNKNOWN);
    other.kid = "e";
}

/* Each: one member set to what is given; without a value it is left out. */
static const struct {
    const char *member, *value;
    bool good;
} id_cases[] = {
    { "iss", "\"https://sso.example/\"", false },
    { "iss", "\"https://evil.example\"", false },
    { "iss", NULL, false },
    { "aud", "\"other\"", false },
    { "aud", "[\"bulkhead\"]", true },
    { "aud", "[\"other\"]", false },
    { "aud", "[\"bulkhead\",\"other\"]", false }, /* whose is it? no azp */
    { "aud", "[\"bulkhead\",1]", false },
    { "aud", "[]", false },
    { "aud", NULL, false },
    { "azp", "\"bulkhead\"", true },
    { "azp", "\"other\"", false },
    { "azp", "1", false },
    { "nonce", "\"n-2\"", false },
    { "nonce", "\"\"", false },
    { "nonce", NULL, false },
    { "sub", "\"\"", false },
    { "sub", NULL, false },
    { "sub", "17", false },
    { "sub", "\"a\\u0001\"", false },
    { "exp", "1796039941", true },  /* 59 s ago: within the leave */
    { "exp", "1796039940", false }, /* 60 s ago */
    { "exp", "\"1796040300\"", false },
    { "exp", "-1", false },
    { "exp", "9223372036854775807", false },
    { "exp", NULL, false },
    { "iat", "1796040060", true },
    { "iat", "1796040061", false },
    { "iat", "1796039340", true }, /* 11 min ago */
    { "iat", "1796039339", false },
    { "iat", NULL, false },
    { "nbf", "1796040060", true },
    { "nbf", "1796040061", false },
    { "nbf", "\"x\"", false },
    { "auth_time", "1796039000", true },
    { "auth_time", "\"x\"", false },
    { "events", "{}", false },
};

static void
set_member(json_t *claims, const char *member, const char *value)
{
    if (value == NULL)
        (void)json_object_del(claims, member);
    else
        (void)json_object_set_new(
            claims, member, json_loads(value, JSON_DECODE_ANY, NULL));
}

static void
each_claim_of_an_id_token_is_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(id_cases) / sizeof(*id_cases); i++) {
        json_t *claims = good_claims();
        enum jwt_verdict verdict;

        set_member(claims, id_cases[i].member, id_cases[i].value);
        verdict = check_signed(&ed, claims, false);
        if ((verdict == JWT_GOOD) != id_cases[i].good)
            fail_msg("%s %s: %d", id_cases[i].member,
                     id_cases[i].value == NULL ? "-" : id_cases[i].value,
                     (int)verdict);
    }
}

static const struct {
    const char *member, *value;
    bool good;
} logout_cases[] = {
    { "sub", "\"s-1\"", true },
    { "sid", NULL, false }, /* neither sub nor sid */
    { "sid", "1", false },
    { "sid", "\"\"", false },
    { "events", NULL, false },
    { "events", "{}", false },
    { "events", "{\"http://schemas.openid.net/event/other\":{}}", false },
    { "events",
      "{\"http://schemas.openid.net/event/backchannel-logout\":1}", false },
    { "nonce", "\"n-1\"", false },
    { "jti", NULL, false },
    { "jti", "\"\"", false },
    { "aud", "\"other\"", false },
    { "iss", "\"https://evil.example\"", false },
    { "exp", "1796039940", false },
    { "exp", NULL, false },
    { "iat", "1796039339", false },
};

static void
each_claim_of_a_logout_token_is_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(logout_cases) / sizeof(*logout_cases);
         i++) {
        json_t *claims = good_logout();
        enum jwt_verdict verdict;

        set_member(claims, logout_cases[i].member, logout_cases[i].value);
        verdict = check_signed(&ed, claims, true);
        if ((verdict == JWT_GOOD) != logout_cases[i].good)
            fail_msg("%s %s: %d", logout_cases[i].member,
                     logout_cases[i].value == NULL ? "-"
                                                   : logout_cases[i].value,
                     (int)verdict);
    }
    /* Neither is taken for the other. */
    assert_int_equal(check_signed(&ec, good_claims(), true), JWT_BAD);
    assert_int_equal(check_signed(&ec, good_logout(), false), JWT_BAD);
}

/* 32 bytes. */
#define ZEROS "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static void
keys_that_are_weak_or_for_something_else_are_passed_over(void **state)
{
    static const char *const wrong[] = {
        "{\"kty\":\"oct\",\"k\":\"AAAA\"}",
        "{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAA\",\"y\":\"AAAA\"}",
        /* on no curve */
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" ZEROS "\",\"y\":\"" ZEROS "\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"AAAA\",\"y\":\"AAAA\"}",
        "{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"" ZEROS "\"}",
        "{\"kty\":7}", "[]", "null",
    };
    scoped_json enc = mint_jwk(&ec);
    scoped_json alg = mint_jwk(&ec);

    (void)state;
    (void)json_object_set_new(enc, "use", json_string("enc"));
    (void)json_object_set_new(alg, "alg", json_string("RS256"));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong) + 2; i++) {
        json_t *key = i < sizeof(wrong) / sizeof(*wrong)
                          ? json_loads(wrong[i], JSON_DECODE_ANY, NULL)
                          : json_incref(i % 2 == 0 ? enc : alg);
        scoped_json document = json_pack("{s:[o]}", "keys", key);
        struct jwk_set *set = NULL;
        struct error err;

        assert_int_equal(jwk_set_parse(document, &set, &err), 0);
        assert_int_equal(jwk_set_count(set), 0);
        jwk_set_free(set);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_of_each_algorithm_is_good),
        cmocka_unit_test(signatures_of_the_standards_are_good),
        cmocka_unit_test(a_token_that_was_changed_anywhere_is_not_good),
        cmocka_unit_test(forms_of_tokens_that_are_not_taken),
        cmocka_unit_test(
            a_key_of_somebody_else_with_the_same_id_signs_nothing),
        cmocka_unit_test(each_claim_of_an_id_token_is_checked),
        cmocka_unit_test(each_claim_of_a_logout_token_is_checked),
        cmocka_unit_test(
            keys_that_are_weak_or_for_something_else_are_passed_over),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
