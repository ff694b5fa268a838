/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_API_IDP_H
#define TESTS_UNIT_API_IDP_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include "tests/unit/api/client.h"
#include "tests/unit/identity/mint.h"

/*
 * An identity provider on loopback, as hostile as `mode` says.  It hands out
 * the code "c-1", and wants the verifier of the challenge that it was shown.
 */

struct idp {
    int fd;
    char issuer[64];
    struct mint key;       /* signs */
    struct mint published; /* is among the keys */
    const char *_Atomic mode; /* "": an honest one */
    char nonce[64], challenge[64], state[64];
    const char *_Atomic claims; /* further ones, JSON */
    const char *_Atomic info;   /* what userinfo says; NULL: there is none */
    char basic[128];       /* what the client showed, base64 */
    _Atomic unsigned documents, keysets, tokens;
    pthread_mutex_t lock;
    pthread_t thread;
    _Atomic bool stop;
};

static struct idp idp = { .lock = PTHREAD_MUTEX_INITIALIZER };

static inline bool
idp_is(const char *mode)
{
    return strcmp(idp.mode, mode) == 0;
}

static inline void
idp_say(int fd, const char *status, const char *head, const char *body)
{
    scoped_buffer text = { 0 };

    buffer_printf(&text,
                  "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n"
                  "Connection: close\r\n\r\n%s",
                  status, head, strlen(body), body);
    (void)!send(fd, text.bytes, text.size, MSG_NOSIGNAL);
}

static inline void
idp_huge(int fd)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n[";
    char block[4096];

    memset(block, '1', sizeof(block));
    (void)!send(fd, head, sizeof(head) - 1, MSG_NOSIGNAL);
    while (send(fd, block, sizeof(block), MSG_NOSIGNAL) > 0)
        continue;
}

static inline void
idp_slow(int fd)
{
    struct pollfd gone = { .fd = fd, .events = POLLRDHUP };

    (void)poll(&gone, 1, 20000);
}

/* What can go wrong at any of its addresses; true: answered. */
static inline bool
idp_misbehave(int fd, const char *where)
{
    char mode[64];
    const char *what = idp.mode + strlen(where) + 1;

    (void)snprintf(mode, sizeof(mode), "%s-", where);
    if (strncmp(idp.mode, mode, strlen(mode)) != 0)
        return false;
    if (strcmp(what, "huge") == 0)
        idp_huge(fd);
    else if (strcmp(what, "slow") == 0)
        idp_slow(fd);
    else if (strcmp(what, "redirect") == 0)
        idp_say(fd, "302 Found",
                "Location: http://169.254.169.254/latest/meta-data\r\n", "");
    else if (strcmp(what, "text") == 0)
        idp_say(fd, "200 OK", "", "<html>hello</html>");
    else if (strcmp(what, "error") == 0)
        idp_say(fd, "500 Oh", "", "{}");
    else
        return false;
    return true;
}

static inline void
idp_document(int fd)
{
    char body[1024], place_info[128];

    (void)snprintf(place_info, sizeof(place_info),
                   "\"userinfo_endpoint\":\"%s/me\",", idp.issuer);
    idp.documents++;
    if (idp_misbehave(fd, "document"))
        return;
    (void)snprintf(
        body, sizeof(body),
        "{\"issuer\":\"%s\",\"authorization_endpoint\":\"%s/auth\","
        "\"token_endpoint\":\"%s/token\",\"jwks_uri\":\"%s/keys\","
        "%s\"response_types_supported\":[\"code\"]}",
        idp_is("document-issuer") ? "https://other.example" : idp.issuer,
        idp.issuer, idp.issuer,
        idp_is("document-keys") ? "http://169.254.169.254" : idp.issuer,
        idp.info == NULL ? "" : place_info);
    idp_say(fd, "200 OK", "Content-Type: application/json\r\n", body);
}

static inline void
idp_keys(int fd)
{
    scoped_json keys = NULL;
    scoped_buffer text = { 0 };

    idp.keysets++;
    if (idp_misbehave(fd, "keys"))
        return;
    keys = json_pack("{s:[o]}", "keys", mint_jwk(&idp.published));
    json_write(&text, keys);
    idp_say(fd, "200 OK", "", text.bytes);
}

/* Says who it is: an honest token but for the mode. */
static inline char *
idp_id_token(void)
{
    int64_t now_s = harness_wall_ms() / 1000;
    scoped_json claims = json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I}", "iss",
        idp_is("iss") ? "https://evil.example" : idp.issuer, "aud",
        idp_is("aud") ? "somebody-else" : "bulkhead", "sub", "s-1", "nonce",
        idp_is("nonce") ? "another" : idp.nonce, "iat",
        (json_int_t)(idp_is("expired") ? now_s - 3000 : now_s), "exp",
        (json_int_t)(idp_is("expired") ? now_s - 2000 : now_s + 300));
    scoped_json more = json_loads(idp.claims, 0, NULL);
    scoped_json header = mint_header(&idp.key);

    (void)json_object_update(claims, more);
    if (idp_is("none")) {
        struct buffer bare = { 0 };

        (void)json_object_set_new(header, "alg", json_string("none"));
        mint_part(&bare, header);
        buffer_add_byte(&bare, '.');
        mint_part(&bare, claims);
        buffer_add_byte(&bare, '.');
        return buffer_take(&bare);
    }
    if (idp_is("hmac"))
        return mint_hmac(idp.key.kid, "AQAB", 4, claims);
    char *token = mint_token(&idp.key, header, claims);
    if (idp_is("signature")) {
        char *last = token + strlen(token) - 10;

        *last = *last == 'A' ? 'B' : 'A';
    }
    return token;
}

static inline bool
idp_knows(const char *form)
{
    const char *verifier = strstr(form, "code_verifier=");
    scoped_buffer text = { 0 };
    struct digest digest;

    if (verifier == NULL || strstr(form, "code=c-1&") == NULL ||
        strstr(form, "grant_type=authorization_code") == NULL)
        return false;
    verifier += strlen("code_verifier=");
    digest_of(verifier, strcspn(verifier, "&"), &digest);
    base64url_encode(&text, digest.bytes, sizeof(digest.bytes));
    return strcmp(buffer_text(&text), idp.challenge) == 0;
}

static inline void
idp_token(int fd, const char *request)
{
    const char *basic = strstr(request, "Authorization: Basic ");
    const char *form = strstr(request, "\r\n\r\n");
    scoped_json answer = NULL;
    scoped_buffer text = { 0 };
    char *token;

    idp.tokens++;
    (void)pthread_mutex_lock(&idp.lock);
    if (basic != NULL)
        (void)snprintf(idp.basic, sizeof(idp.basic), "%.*s",
                       (int)strcspn(basic + 21, "\r"), basic + 21);
    (void)pthread_mutex_unlock(&idp.lock);
    if (idp_misbehave(fd, "token"))
        return;
    if (form == NULL || !idp_knows(form)) {
        idp_say(fd, "400 Bad", "", "{\"error\":\"invalid_grant\"}");
        return;
    }
    token = idp_id_token();
    answer = json_pack("{s:s, s:s, s:s}", "token_type", "Bearer",
                       "access_token", "at", idp_is("missing") ? "x" : "id_token",
                       token);
    json_write(&text, answer);
    idp_say(fd, "200 OK", "", text.bytes);
    free(token);
}

static inline void
idp_userinfo(int fd, const char *request)
{
    if (idp_misbehave(fd, "userinfo"))
        return;
    if (idp.info == NULL || strstr(request, "Authorization: Bearer at\r\n") == NULL)
        idp_say(fd, "401 No", "", "{}");
    else
        idp_say(fd, "200 OK", "Content-Type: application/json\r\n", idp.info);
}

static inline void *
idp_talk(void *data)
{
    int fd = (int)(intptr_t)data;
    char request[8192] = "";
    size_t used = 0;

    while (used < sizeof(request) - 1) {
        ssize_t size = read(fd, request + used, sizeof(request) - 1 - used);
        const char *end, *length;

        if (size <= 0)
            break;
        used += (size_t)size;
        request[used] = '\0';
        end = strstr(request, "\r\n\r\n");
        length = strstr(request, "Content-Length: ");
        if (end != NULL &&
            (length == NULL || strlen(end + 4) >= strtoul(length + 16, NULL, 10)))
            break;
    }
    if (strncmp(request, "GET /.well-known/openid-configuration ", 38) == 0)
        idp_document(fd);
    else if (strncmp(request, "GET /keys ", 10) == 0)
        idp_keys(fd);
    else if (strncmp(request, "POST /token ", 12) == 0)
        idp_token(fd, request);
    else if (strncmp(request, "GET /me ", 8) == 0)
        idp_userinfo(fd, request);
    else
        idp_say(fd, "404 No", "", "");
    (void)close(fd);
    return NULL;
}

static inline void *
idp_serve(void *data)
{
    (void)data;
    while (!idp.stop) {
        struct pollfd ready = { .fd = idp.fd, .events = POLLIN };
        pthread_t thread;
        int fd;

        if (poll(&ready, 1, 50) <= 0)
            continue;
        fd = accept(idp.fd, NULL, NULL);
        if (fd >= 0 && pthread_create(&thread, NULL, idp_talk,
                                      (void *)(intptr_t)fd) == 0)
            (void)pthread_detach(thread);
    }
    return NULL;
}

static inline void
idp_open(void)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
    } at = { .four = { .sin_family = AF_INET,
                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) } };
    socklen_t size = sizeof(at.four);

    memset(&idp, 0, sizeof(idp));
    idp.mode = "";
    idp.claims = "{}";
    idp.key = idp.published = mint_new("ES256", "k-1");
    idp.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(idp.fd, &at.any, size), 0);
    assert_int_equal(listen(idp.fd, 64), 0);
    assert_int_equal(getsockname(idp.fd, &at.any, &size), 0);
    (void)snprintf(idp.issuer, sizeof(idp.issuer), "http://127.0.0.1:%u",
                   (unsigned)ntohs(at.four.sin_port));
    assert_int_equal(pthread_create(&idp.thread, NULL, idp_serve, NULL), 0);
}

static inline void
idp_close(void)
{
    idp.stop = true;
    (void)pthread_join(idp.thread, NULL);
    (void)close(idp.fd);
}

#endif
