/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/factor.h"

#include <assert.h>
#include <liboath/oath.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/sign.h"

#define ISSUER "Bulkhead"
#define CODE_CHARACTERS 16
static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/* --- seeds --- */

void
factor_make(struct factor_seed *out)
{
    random_bytes(out->bytes, sizeof(out->bytes));
}

void
factor_seal(const struct seal_key *key, const char *label,
            const struct factor_seed *seed, char out[FACTOR_SEALED_MAX])
{
    scoped_buffer text = { 0 };

    seal_text(key, label, seed->bytes, sizeof(seed->bytes), &text);
    assert(text.size < FACTOR_SEALED_MAX);
    memcpy(out, text.bytes, text.size);
    out[text.size] = '\0';
}

int
factor_open(const struct seal_key *key, const char *label, const char *sealed,
            struct factor_seed *out, struct error *err)
{
    scoped_buffer bytes = { 0 };

    if (seal_open(key, label, sealed, &bytes, err) != 0)
        return -1;
    if (bytes.size != sizeof(out->bytes))
        return error_set(err, ERROR_INVALID, "the seed has another size");
    memcpy(out->bytes, bytes.bytes, sizeof(out->bytes));
    secret_clear(bytes.bytes, bytes.size);
    return 0;
}

/* Upper-case base32 without padding: 20 bytes are 32 characters. */
static void
seed_text(const struct factor_seed *seed, char out[33])
{
    uint64_t bits = 0;
    unsigned have = 0, used = 0;

    for (size_t i = 0; i < sizeof(seed->bytes); i++) {
        bits = bits << 8 | seed->bytes[i];
        for (have += 8; have >= 5; have -= 5)
            out[used++] = upper[bits >> (have - 5) & 31];
    }
    out[used] = '\0';
}

void
factor_uri(const struct factor_seed *seed, const char *account,
           char out[FACTOR_URI_MAX])
{
    char secret[33];

    seed_text(seed, secret);
    (void)snprintf(out, FACTOR_URI_MAX,
                   "otpauth://totp/" ISSUER ":%s?secret=%s&issuer=" ISSUER
                   "&algorithm=SHA1&digits=%d&period=%d",
                   account, secret, FACTOR_DIGITS, FACTOR_STEP_S);
    secret_clear(secret, sizeof(secret));
}

static void
step_code(const struct factor_seed *seed, int64_t step,
          char out[FACTOR_DIGITS + 1])
{
    int rc = oath_hotp_generate((const char *)seed->bytes,
                                sizeof(seed->bytes), (uint64_t)step,
                                FACTOR_DIGITS, false,
                                OATH_HOTP_DYNAMIC_TRUNCATION, out);

    assert(rc == OATH_OK);
}

void
factor_code(const struct factor_seed *seed, int64_t now_ms,
            char out[FACTOR_DIGITS + 1])
{
    step_code(seed, now_ms / (INT64_C(1000) * FACTOR_STEP_S), out);
}

/* All steps are always computed and compared. */
bool
factor_match(const struct factor_seed *seed, const char *code, int64_t now_ms,
             int64_t *step_out)
{
    int64_t now = now_ms / (INT64_C(1000) * FACTOR_STEP_S), found = -1;
    bool right_size = strlen(code) == FACTOR_DIGITS;
    char given[FACTOR_DIGITS + 1] = { 0 };

    if (right_size)
        memcpy(given, code, FACTOR_DIGITS);
    for (int64_t step = now - 1; step <= now + 1; step++) {
        char want[FACTOR_DIGITS + 1];

        step_code(seed, step, want);
        if (secret_compare(want, given, FACTOR_DIGITS) == 0)
            found = step;
    }
    if (!right_size || found < 0)
        return false;
    *step_out = found;
    return true;
}

/* --- recovery codes --- */

bool
factor_code_digest(const char *code, uint8_t digest[FACTOR_CODE_DIGEST])
{
    char plain[CODE_CHARACTERS + 1];
    struct digest full;
    size_t size = 0;

    for (; *code != '\0'; code++) {
        const char *large = strchr(upper, *code);
        char letter = *code;

        if (large != NULL)
            letter = alphabet[large - upper];
        if (letter == '-' || letter == ' ')
            continue;
        if (size == CODE_CHARACTERS || strchr(alphabet, letter) == NULL)
            return false;
        plain[size++] = letter;
    }
    if (size != CODE_CHARACTERS)
        return false;
    digest_of(plain, size, &full);
    memcpy(digest, full.bytes, FACTOR_CODE_DIGEST);
    secret_clear(plain, sizeof(plain));
    return true;
}

static void
make_code(char out[FACTOR_CODE_MAX])
{
    uint8_t bits[CODE_CHARACTERS];
    size_t used = 0;

    random_bytes(bits, sizeof(bits));
    for (size_t i = 0; i < CODE_CHARACTERS; i++) {
        if (i > 0 && i % 4 == 0)
            out[used++] = '-';
        out[used++] = alphabet[bits[i] & 31];
    }
    out[used] = '\0';
}

void
factor_make_codes(char codes[FACTOR_CODES][FACTOR_CODE_MAX],
                  uint8_t digests[FACTOR_CODES][FACTOR_CODE_DIGEST])
{
    for (size_t i = 0; i < FACTOR_CODES; i++) {
        bool ok;

        make_code(codes[i]);
        ok = factor_code_digest(codes[i], digests[i]);
        assert(ok);
    }
}
