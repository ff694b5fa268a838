/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/oidc.h"

#include <string.h>

#include "base/digest.h"
#include "base/http.h"
#include "base/sign.h"

#define RANDOM_SIZE 32
#define LOGIN_AGE_S 43200 /* a session's life */
#define AGAIN_AGE_S 300   /* of a step-up */

void
oidc_discovery_url(const char *issuer, struct buffer *out)
{
    size_t size = strlen(issuer);

    while (size > 0 && issuer[size - 1] == '/')
        size--;
    buffer_add(out, issuer, size);
    buffer_add_text(out, "/.well-known/openid-configuration");
}

static int
take_url(const json_t *document, const char *name, char out[OIDC_URL_MAX],
         struct error *err)
{
    const char *text = json_string_value(json_object_get(document, name));

    if (text == NULL || strlen(text) >= OIDC_URL_MAX ||
        (strncmp(text, "https://", 8) != 0 &&
         strncmp(text, "http://", 7) != 0) ||
        strchr(text, '#') != NULL)
        return error_set(err, ERROR_INVALID, "its %s is no URL", name);
    for (const char *at = text; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~')
            return error_set(err, ERROR_INVALID, "its %s is no URL", name);
    memcpy(out, text, strlen(text) + 1);
    return 0;
}

static bool
lists(const json_t *document, const char *name, const char *value, bool absent)
{
    const json_t *list = json_object_get(document, name), *item;
    size_t i;

    if (!json_is_array(list))
        return absent;
    json_array_foreach(list, i, item)
        if (json_is_string(item) &&
            strcmp(json_string_value(item), value) == 0)
            return true;
    return false;
}

int
oidc_metadata_parse(const json_t *document, const char *issuer,
                    struct oidc_metadata *out, struct error *err)
{
    static const char methods[] = "token_endpoint_auth_methods_supported";
    const char *name = json_string_value(json_object_get(document, "issuer"));

    memset(out, 0, sizeof(*out));
    if (name == NULL || strcmp(name, issuer) != 0)
        return error_set(err, ERROR_INVALID,
                         "its document is of another issuer");
    if (take_url(document, "authorization_endpoint", out->authorization,
                 err) != 0 ||
        take_url(document, "token_endpoint", out->token, err) != 0 ||
        take_url(document, "jwks_uri", out->jwks, err) != 0)
        return -1;
    if (json_object_get(document, "userinfo_endpoint") != NULL &&
        take_url(document, "userinfo_endpoint", out->userinfo, err) != 0)
        return -1;
    if (!lists(document, "response_types_supported", "code", true))
        return error_set(err, ERROR_INVALID, "it has no code flow");
    out->basic = lists(document, methods, "client_secret_basic", true);
    out->names_issuer = json_is_true(json_object_get(
        document, "authorization_response_iss_parameter_supported"));
    return 0;
}

/* --- what only the userinfo endpoint says --- */

#define BEARER_MAX 4096

bool
oidc_is_bearer(const char *token)
{
    size_t size = token == NULL ? 0 : strlen(token);

    return size > 0 && size <= BEARER_MAX &&
           strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                         "0123456789-._~+/=") == size;
}

/* Of the token itself, and of the proof that it is about. */
static bool
is_tokens_own(const char *claim)
{
    static const char *const names[] = { "iss", "aud",       "exp", "nbf",
                                         "iat", "nonce",     "acr", "amr",
                                         "azp", "auth_time", "sid", "jti" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(claim, names[i]) == 0)
            return true;
    return false;
}

int
oidc_add_userinfo(json_t *claims, const json_t *info, struct error *err)
{
    const char *sub = json_string_value(json_object_get(claims, "sub"));
    const char *other = json_string_value(json_object_get(info, "sub"));
    const char *name;
    json_t *value;

    if (sub == NULL || other == NULL || strcmp(sub, other) != 0)
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "its userinfo is about somebody else");
    json_object_foreach ((json_t *)(uintptr_t)info, name, value)
        if (!is_tokens_own(name) && json_object_get(claims, name) == NULL)
            (void)json_object_set(claims, name, value);
    return 0;
}

/* --- one login --- */

static void
make_secret(char out[OIDC_SECRET_MAX])
{
    uint8_t bytes[RANDOM_SIZE];
    scoped_buffer text = { 0 };

    random_bytes(bytes, sizeof(bytes));
    base64url_encode(&text, bytes, sizeof(bytes));
    memcpy(out, text.bytes, text.size + 1);
}

void
oidc_attempt_make(struct oidc_attempt *out)
{
    memset(out, 0, sizeof(*out));
    make_secret(out->state);
    make_secret(out->nonce);
    make_secret(out->verifier);
}

static bool
is_loopback(const char *redirect)
{
    static const char four[] = "http://127.0.0.1:", six[] = "http://[::1]:";
    const char *at = NULL;
    long port = 0;

    if (strncmp(redirect, four, sizeof(four) - 1) == 0)
        at = redirect + sizeof(four) - 1;
    else if (strncmp(redirect, six, sizeof(six) - 1) == 0)
        at = redirect + sizeof(six) - 1;
    for (; at != NULL && *at >= '0' && *at <= '9' && port < 100000; at++)
        port = port * 10 + (*at - '0');
    return at != NULL && port >= 1024 && port <= 65535 && *at == '/' &&
           strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789/-_") ==
               strlen(at);
}

/* The next entry of a list, without the blanks around it; *at goes on. */
static const char *
next_entry(const char **at, size_t *size)
{
    const char *from = *at + strspn(*at, " ,");

    *size = strcspn(from, ",");
    *at = from + *size;
    while (*size > 0 && from[*size - 1] == ' ')
        --*size;
    return *size > 0 ? from : NULL;
}

static bool
is_listed(const char *redirect, const char *listed)
{
    const char *entry;
    size_t size;

    while (listed != NULL && (entry = next_entry(&listed, &size)) != NULL)
        if (strlen(redirect) == size && memcmp(redirect, entry, size) == 0)
            return true;
    return false;
}

int
oidc_check_redirect(const char *redirect, const char *listed,
                    struct error *err)
{
    if (strlen(redirect) < OIDC_URL_MAX &&
        (is_loopback(redirect) || is_listed(redirect, listed)))
        return 0;
    (void)error_field(err, "/redirect",
                      "a redirect is http://127.0.0.1:PORT/PATH or "
                      "http://[::1]:PORT/PATH with a port from 1024 on, or "
                      "one that the operator listed");
    return error_help(err, "an operator lists others in the configuration of "
                           "bulkheadd: \"redirects\"");
}

int
oidc_check_redirects(const char *list, struct error *err)
{
    static const char begin[] = "https://";
    const char *entry;
    size_t size;

    while ((entry = next_entry(&list, &size)) != NULL) {
        bool plain = size > sizeof(begin) && size < OIDC_URL_MAX &&
                     memcmp(entry, begin, sizeof(begin) - 1) == 0 &&
                     entry[sizeof(begin) - 1] != '/';

        for (size_t i = 0; i < size; i++)
            plain = plain && entry[i] > ' ' && entry[i] <= '~' &&
                    strchr("?#@\\\"<>", entry[i]) == NULL;
        if (!plain)
            return error_field(err, "/redirects",
                               "\"%.*s\" is no https URL with a host and "
                               "nothing but a path",
                               size > 200 ? 200 : (int)size, entry);
    }
    return 0;
}

static void
add_parameter(struct buffer *out, char before, const char *name,
              const char *value)
{
    buffer_add_byte(out, (unsigned char)before);
    buffer_printf(out, "%s=", name);
    http_encode(out, value);
}

static void
add_challenge(struct buffer *out, const char *verifier)
{
    scoped_buffer text = { 0 };
    struct digest digest;

    digest_of(verifier, strlen(verifier), &digest);
    base64url_encode(&text, digest.bytes, sizeof(digest.bytes));
    add_parameter(out, '&', "code_challenge", buffer_text(&text));
    add_parameter(out, '&', "code_challenge_method", "S256");
}

/* With a limit on the age the provider has to say when the person proved
 * itself (Core 3.1.2.1). */
static void
add_proof(struct buffer *out, const json_t *acr, bool again)
{
    scoped_buffer values = { 0 };
    const json_t *item;
    char age[16];
    size_t i;

    json_array_foreach(acr, i, item) {
        if (!json_is_string(item))
            continue;
        if (values.size > 0)
            buffer_add_byte(&values, ' ');
        buffer_add_text(&values, json_string_value(item));
    }
    if (values.size > 0)
        add_parameter(out, '&', "acr_values", buffer_text(&values));
    if (again)
        add_parameter(out, '&', "prompt", "login");
    if (values.size == 0 && !again)
        return;
    (void)snprintf(age, sizeof(age), "%d", again ? AGAIN_AGE_S : LOGIN_AGE_S);
    add_parameter(out, '&', "max_age", age);
}

void
oidc_authorization_url(const struct oidc_metadata *metadata,
                       const struct oidc_client *client,
                       const struct oidc_attempt *attempt, const json_t *acr,
                       bool again, struct buffer *out)
{
    scoped_buffer scope = { 0 };

    buffer_printf(&scope, "openid%s%s", client->scopes[0] == '\0' ? "" : " ",
                  client->scopes);
    buffer_add_text(out, metadata->authorization);
    add_parameter(out,
                  strchr(metadata->authorization, '?') == NULL ? '?' : '&',
                  "response_type", "code");
    add_parameter(out, '&', "client_id", client->id);
    add_parameter(out, '&', "redirect_uri", client->redirect);
    add_parameter(out, '&', "scope", buffer_text(&scope));
    add_parameter(out, '&', "state", attempt->state);
    add_parameter(out, '&', "nonce", attempt->nonce);
    add_challenge(out, attempt->verifier);
    add_proof(out, acr, again);
}

void
oidc_token_request(const struct oidc_metadata *metadata,
                   const struct oidc_client *client,
                   const struct oidc_attempt *attempt, const char *code,
                   struct buffer *form, struct buffer *basic)
{
    bool in_header = client->secret[0] != '\0' && metadata->basic;

    buffer_add_text(form, "grant_type=authorization_code");
    add_parameter(form, '&', "code", code);
    add_parameter(form, '&', "redirect_uri", client->redirect);
    add_parameter(form, '&', "code_verifier", attempt->verifier);
    if (!in_header)
        add_parameter(form, '&', "client_id", client->id);
    if (!in_header && client->secret[0] != '\0')
        add_parameter(form, '&', "client_secret", client->secret);
    if (!in_header)
        return;
    /* RFC 6749 2.3.1: encoded first, then joined. */
    http_encode(basic, client->id);
    buffer_add_byte(basic, ':');
    http_encode(basic, client->secret);
}
