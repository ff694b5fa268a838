/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/egress.h"
#include "base/seal.h"
#include "control/sso.h"
#include "tests/unit/api/idp.h"

#define REDIRECT "http://127.0.0.1:4711/callback"
#define SECRET "s3cret:of the client"

static struct place place;
static char *rita; /* tenant admin of red */
static const struct seal_key key = { { 7 } };
static const struct egress_policy policy = { .loopback = true,
                                             .timeout_ms = 700 };

static void
tune(struct api_options *options)
{
    options->egress = &policy;
    options->seal = &key;
    options->refetch_ms = 1;
}

static char *
text(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *
text(const char *format, ...)
{
    static _Thread_local char out[8][8192];
    static _Thread_local unsigned next;
    char *at = out[next++ % 8];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(at, sizeof(out[0]), format, args);
    va_end(args);
    return at;
}

/* Who has "boss" in groups is tenant-admin of red. */
static char *
make_provider(const char *more)
{
    char *id = ask_text(
        &place, rita, "POST", "/tenants/red/identityproviders",
        text("{\"name\":\"corp\",\"issuer\":\"%s\",\"client_id\":"
             "\"bulkhead\",\"mapping\":[{\"claim\":\"groups\",\"value\":"
             "\"boss\",\"role\":\"tenant-admin\"}]%s}",
             idp.issuer, more),
        201, "id");

    tell(&place, rita, "POST", "/tenants/red/identityproviders/corp/secret",
         "{\"client_secret\":\"" SECRET "\"}", 204);
    return id;
}

static int
set_up(void **state)
{
    (void)state;
    place.tune = tune;
    place_open(&place);
    idp_open();
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"red\"}", 201);
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"blue\"}", 201);
    rita = join(&place, "red", "rita", "/tenants/red", "tenant-admin");
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    free(rita);
    place_close(&place);
    idp_close();
    mint_free(&idp.published);
    return 0;
}

/* --- a browser --- */

struct tab {
    char *attempt;
    char *url;
};

static void
parameter(const char *url, const char *name, char out[64])
{
    const char *at = strstr(url, name);

    assert_non_null(at);
    at += strlen(name);
    (void)snprintf(out, 64, "%.*s", (int)strcspn(at, "&"), at);
}

static void
tab_close(struct tab *tab)
{
    free(tab->attempt);
    free(tab->url);
}

/* The person is at the provider's page, which knows what it was asked. */
static struct tab
begin_at(const char *token, const char *path, const char *body)
{
    scoped_json answer = ask(&place, token, "POST", path, body, 200);
    struct tab tab = {
        memory_strdup(json_string_value(json_object_get(answer, "attempt"))),
        memory_strdup(json_string_value(json_object_get(answer, "url"))),
    };

    parameter(tab.url, "&state=", idp.state);
    parameter(tab.url, "&nonce=", idp.nonce);
    parameter(tab.url, "&code_challenge=", idp.challenge);
    return tab;
}

#define START "{\"provider\":\"corp\",\"tenant\":\"red\",\"redirect\":\"" REDIRECT "\"}"

static struct tab
begin(void)
{
    return begin_at(NULL, "/login/sso", START);
}

static char *
callback(const struct tab *tab, const char *state, const char *code)
{
    return text("{\"attempt\":\"%s\",\"state\":\"%s\",\"code\":\"%s\"}",
                tab->attempt, state, code);
}

/* A whole login; the token. */
static char *
log_in_there(void)
{
    struct tab tab = begin();
    char *token = ask_text(&place, NULL, "POST", "/login/sso/callback",
                           callback(&tab, idp.state, "c-1"), 201, "token");

    tab_close(&tab);
    return token;
}

static void
refused(const struct tab *tab, const char *state, const char *code,
        long status)
{
    tell(&place, NULL, "POST", "/login/sso/callback",
         callback(tab, state, code), status);
}

/* --- logins --- */

static void
a_login_by_the_code_flow_gives_a_session_with_what_was_said(void **state)
{
    char *provider = make_provider(""), *token;
    struct tab tab;
    scoped_json who = NULL;

    (void)state;
    idp.claims = "{\"groups\":[\"boss\"],\"preferred_username\":\"Ada\","
                 "\"name\":\"Ada L\",\"email\":\"rita@red.example\"}";
    tab = begin();
    assert_non_null(strstr(tab.url, "response_type=code"));
    assert_non_null(strstr(tab.url, "code_challenge_method=S256"));
    assert_non_null(strstr(tab.url, "client_id=bulkhead"));
    assert_non_null(strstr(tab.url, "scope=openid%20profile"));
    assert_non_null(
        strstr(tab.url, "redirect_uri=http%3A%2F%2F127.0.0.1%3A4711%2F"));
    /* Neither verifier nor nonce is readable where the login lies. */
    assert_null(strstr(tab.attempt, idp.nonce));
    token = ask_text(&place, NULL, "POST", "/login/sso/callback",
                     callback(&tab, idp.state, "c-1"), 201, "token");
    /* base64 of bulkhead:s3cret%3Aof%20the%20client, by coreutils. */
    assert_string_equal(idp.basic,
                        "YnVsa2hlYWQ6czNjcmV0JTNBb2YlMjB0aGUlMjBjbGllbnQ=");
    who = ask(&place, token, "GET", "/whoami", NULL, 200);
    assert_string_equal(json_string_value(json_object_get(who, "name")),
                        "ada");
    assert_string_equal(json_string_value(json_object_get(who, "tenant_name")),
                        "red");
    tell(&place, token, "GET", "/tenants/red/users", NULL, 200);
    tell(&place, token, "GET", "/tenants/blue", NULL, 404);
    /* Without an acr that counts, guarded verbs take a proof. */
    tell(&place, token, "POST", "/tenants/red/roles",
         "{\"name\":\"r\",\"verbs\":[\"project.get\"]}", 403);
    free(token);
    free(provider);
    tab_close(&tab);
}

/* Claims that are nowhere but there; the token's own stand. */
static void
claims_of_userinfo_count_where_they_are_asked_for(void **state)
{
    char *provider = make_provider(",\"userinfo\":true"), *token;
    struct tab tab;

    (void)state;
    idp.info = "{\"sub\":\"s-1\",\"groups\":[\"boss\"],"
               "\"preferred_username\":\"Mallory\",\"acr\":\"mfa\"}";
    idp.claims = "{\"preferred_username\":\"Ada\"}";
    tab = begin();
    token = ask_text(&place, NULL, "POST", "/login/sso/callback",
                     callback(&tab, idp.state, "c-1"), 201, "token");
    scoped_json who = ask(&place, token, "GET", "/whoami", NULL, 200);
    assert_string_equal(json_string_value(json_object_get(who, "name")),
                        "ada");
    tell(&place, token, "GET", "/tenants/red/users", NULL, 200);
    free(token);
    tab_close(&tab);
    free(provider);
    idp.info = NULL;
}

static void
userinfo_that_does_not_hold_lets_nobody_in(void **state)
{
    static const struct {
        const char *mode, *info;
        long status;
    } cases[] = {
        { "", "{\"sub\":\"s-2\",\"groups\":[\"boss\"]}", 401 },
        { "", "{\"groups\":[\"boss\"]}", 401 },
        { "", "[]", 401 },
        { "userinfo-error", "{\"sub\":\"s-1\"}", 401 },
        { "userinfo-text", "{\"sub\":\"s-1\"}", 503 },
        { "userinfo-redirect", "{\"sub\":\"s-1\"}", 503 },
        { "userinfo-huge", "{\"sub\":\"s-1\"}", 503 },
    };
    char *provider = make_provider(",\"userinfo\":true");

    (void)state;
    idp.claims = "{\"preferred_username\":\"Ada\"}";
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tab tab;

        idp.info = cases[i].info;
        tab = begin();
        idp.mode = cases[i].mode;
        refused(&tab, idp.state, "c-1", cases[i].status);
        idp.mode = "";
        tab_close(&tab);
    }
    idp.info = NULL;
    free(provider);
}

static void
what_the_browser_brings_back_is_taken_once_and_whole(void **state)
{
    char *provider = make_provider("");
    struct tab tab = begin(), other;
    char wrong[64];

    (void)state;
    /* Another state: the login is over. */
    refused(&tab, "x", "c-1", 401);
    refused(&tab, idp.state, "c-1", 401);
    assert_int_equal(idp.tokens, 0);
    tab_close(&tab);
    /* A state of another login. */
    tab = begin();
    memcpy(wrong, idp.state, sizeof(wrong));
    other = begin();
    refused(&other, wrong, "c-1", 401);
    tab_close(&other);
    tab_close(&tab);
    /* Used once. */
    tab = begin();
    tell(&place, NULL, "POST", "/login/sso/callback",
         callback(&tab, idp.state, "c-1"), 201);
    refused(&tab, idp.state, "c-1", 401);
    assert_int_equal(idp.tokens, 1);
    tab_close(&tab);
    /* Over after ten minutes. */
    tab = begin();
    harness_pass(10 * 60 * 1000);
    refused(&tab, idp.state, "c-1", 401);
    tab_close(&tab);
    /* Changed anywhere. */
    tab = begin();
    tab.attempt[20] = tab.attempt[20] == 'A' ? 'B' : 'A';
    refused(&tab, idp.state, "c-1", 401);
    tab_close(&tab);
    free(provider);
}

static void
a_code_that_the_provider_does_not_know_gives_nothing(void **state)
{
    char *provider = make_provider("");
    struct tab tab = begin();

    (void)state;
    refused(&tab, idp.state, "stolen", 401);
    assert_non_null(strstr(buffer_text(&place.last.body), "invalid_grant"));
    tab_close(&tab);
    /* The verifier is bound to its login: a code of another one is useless. */
    tab = begin();
    idp.challenge[3] ^= 1;
    refused(&tab, idp.state, "c-1", 401);
    tab_close(&tab);
    tab = begin();
    tell(&place, NULL, "POST", "/login/sso/callback",
         text("{\"attempt\":\"%s\",\"state\":\"%s\",\"error\":"
              "\"access_denied\"}",
              tab.attempt, idp.state),
         401);
    assert_non_null(strstr(buffer_text(&place.last.body), "access_denied"));
    tab_close(&tab);
    tab = begin();
    tell(&place, NULL, "POST", "/login/sso/callback",
         text("{\"attempt\":\"%s\",\"state\":\"%s\",\"code\":\"c-1\","
              "\"iss\":\"https://mixed-up.example\"}",
              tab.attempt, idp.state),
         401);
    tab_close(&tab);
    free(provider);
}

static void
only_loopback_is_a_place_to_come_back_to(void **state)
{
    static const char *const wrong[] = {
        "https://evil.example/cb",     "http://127.0.0.1.evil.example:80/",
        "http://localhost:4711/cb",    "http://127.0.0.1:80/cb",
        "http://127.0.0.1:4711",       "http://127.0.0.1:4711/cb?x=1",
        "http://127.0.0.1:4711@evil/", "javascript:alert(1)",
        "http://127.0.0.1:99999/cb",   ""
    };
    char *provider = make_provider("");

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        tell(&place, NULL, "POST", "/login/sso",
             text("{\"provider\":\"corp\",\"tenant\":\"red\",\"redirect\":"
                  "\"%s\"}",
                  wrong[i]),
             400);
    free(provider);
}

/* [A36] */
static void
what_is_not_there_or_closed_is_told_alike(void **state)
{
    static const char *const bodies[] = {
        "{\"provider\":\"corp\",\"tenant\":\"blue\",\"redirect\":\"" REDIRECT
        "\"}",
        "{\"provider\":\"corp\",\"tenant\":\"never\",\"redirect\":\"" REDIRECT
        "\"}",
        "{\"provider\":\"corp\",\"redirect\":\"" REDIRECT "\"}",
        START, /* closed by then */
    };
    char *provider = make_provider(""), *first;
    struct tab tab = begin();

    (void)state;
    first = ask_text(&place, NULL, "POST", "/login/sso", bodies[0], 404,
                     "detail");
    place.headers[0] = "If-Match: *";
    tell(&place, rita, "PATCH", "/tenants/red/identityproviders/corp",
         "{\"state\":\"suspended\"}", 200);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
        scoped_json answer =
            ask(&place, NULL, "POST", "/login/sso", bodies[i], 404);

        assert_string_equal(
            json_string_value(json_object_get(answer, "detail")), first);
    }
    free(first);
    /* Begun before, ended after. */
    refused(&tab, idp.state, "c-1", 404);
    tab_close(&tab);
    free(provider);
}

/* [A27] */
static void
the_next_login_takes_away_what_the_provider_took_away(void **state)
{
    char *provider = make_provider(""), *first, *second;

    (void)state;
    idp.claims = "{\"groups\":[\"boss\"]}";
    first = log_in_there();
    tell(&place, first, "POST", "/tenants/red/projects",
         "{\"name\":\"one\"}", 201);
    idp.claims = "{\"groups\":[]}";
    second = log_in_there();
    tell(&place, second, "POST", "/tenants/red/projects",
         "{\"name\":\"two\"}", 403);
    tell(&place, first, "POST", "/tenants/red/projects",
         "{\"name\":\"two\"}", 403);
    free(first);
    free(second);
    free(provider);
}

/* --- a hostile provider --- */

static void
delete_provider(void)
{
    tell(&place, rita, "DELETE", "/tenants/red/identityproviders/corp", NULL,
         204);
}

static void
tokens_that_do_not_hold_give_nothing(void **state)
{
    static const char *const modes[] = { "signature", "none",    "hmac",
                                         "iss",       "aud",     "nonce",
                                         "expired",   "missing" };

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        char *provider = make_provider("");
        struct tab tab;

        idp.mode = "";
        tab = begin();
        idp.mode = modes[i];
        if (client_send(&place, NULL, "POST", "/login/sso/callback",
                        callback(&tab, idp.state, "c-1")) != 401)
            fail_msg("%s: %ld", modes[i], place.last.status);
        tab_close(&tab);
        delete_provider();
        free(provider);
    }
    assert_int_equal(idp.tokens, sizeof(modes) / sizeof(*modes));
}

/* Too much, too slow, elsewhere or nonsense: the same text for all, since
 * whether an address was refused is nobody's business but the operator's. */
static void
answers_that_are_none_give_nothing_and_end_in_time(void **state)
{
    static const struct {
        const char *mode;
        bool at_start;
    } cases[] = {
        { "document-huge", true },   { "document-slow", true },
        { "document-redirect", true }, { "document-text", true },
        { "document-error", true },  { "document-issuer", true },
        { "keys-huge", false },      { "keys-slow", false },
        { "keys-redirect", false },  { "keys-text", false },
        { "keys-error", false },     { "document-keys", false },
        { "token-huge", false },     { "token-slow", false },
        { "token-text", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *provider = make_provider("");
        int64_t from_ms = clock_mono_ms();
        struct tab tab = { 0 };
        long status;

        idp.mode = cases[i].mode;
        if (cases[i].at_start) {
            status = client_send(&place, NULL, "POST", "/login/sso", START);
        } else {
            tab = begin();
            status = client_send(&place, NULL, "POST", "/login/sso/callback",
                                 callback(&tab, idp.state, "c-1"));
            tab_close(&tab);
        }
        if (status != 503 ||
            strstr(buffer_text(&place.last.body),
                   "the identity provider does not answer as one") == NULL)
            fail_msg("%s: %ld %s", cases[i].mode, status,
                     buffer_text(&place.last.body));
        assert_null(strstr(buffer_text(&place.last.body), "169.254"));
        assert_true(clock_mono_ms() - from_ms < 5000);
        idp.mode = "";
        delete_provider();
        free(provider);
    }
}

static void
a_provider_that_failed_is_left_alone_for_a_moment(void **state)
{
    char *provider = make_provider("");

    (void)state;
    idp.mode = "document-error";
    for (int i = 0; i < 5; i++)
        tell(&place, NULL, "POST", "/login/sso", START, 503);
    assert_int_equal(idp.documents, 1);
    free(provider);
}

struct waiting {
    pthread_t thread;
    struct http_answer answer;
};

static void *
wait_for_start(void *data)
{
    struct waiting *waiting = data;
    struct http_request request = {
        .method = "POST",
        .path = "/api/v1/login/sso",
        .body = START,
        .body_size = strlen(START),
        .headers = { "Content-Type: application/json" },
        .timeout_ms = 20000
    };
    struct error err;

    (void)http_send(&place.target, &request, &waiting->answer, &err);
    return NULL;
}

/* More than SSO_SCOPE_MAX wait: the rest is told to come again. */
static void
a_provider_that_is_silent_keeps_nobody_else_waiting(void **state)
{
    struct waiting waiting[SSO_SCOPE_MAX + 2] = { 0 };
    char *provider = make_provider(""), *token;
    unsigned busy = 0;
    int64_t from_ms;

    (void)state;
    idp.mode = "document-slow";
    for (size_t i = 0; i < SSO_SCOPE_MAX + 2; i++)
        assert_int_equal(pthread_create(&waiting[i].thread, NULL,
                                        wait_for_start, &waiting[i]),
                         0);
    from_ms = clock_mono_ms();
    token = log_in(&place, "red", "rita");
    tell(&place, token, "GET", "/whoami", NULL, 200);
    assert_true(clock_mono_ms() - from_ms < 600);
    for (size_t i = 0; i < SSO_SCOPE_MAX + 2; i++) {
        (void)pthread_join(waiting[i].thread, NULL);
        assert_int_equal(waiting[i].answer.status, 503);
        busy += strstr(buffer_text(&waiting[i].answer.body), "too many") !=
                NULL;
        http_answer_release(&waiting[i].answer);
    }
    assert_int_equal(busy, 2);
    free(token);
    free(provider);
}

/* --- keys --- */

static void
new_keys_are_fetched_when_a_token_names_one(void **state)
{
    char *provider = make_provider(""), *token;
    struct mint old;

    (void)state;
    token = log_in_there();
    free(token);
    token = log_in_there();
    free(token);
    assert_int_equal(idp.keysets, 1);
    assert_int_equal(idp.documents, 1);
    old = idp.published;
    idp.key = idp.published = mint_new("RS256", "k-2");
    token = log_in_there();
    free(token);
    assert_int_equal(idp.keysets, 2);
    /* What was taken back signs nothing any more. */
    idp.key = old;
    struct tab tab = begin();
    refused(&tab, idp.state, "c-1", 401);
    tab_close(&tab);
    mint_free(&old);
    free(provider);
}

/* --- step-up --- */

#define STEP_UP "{\"redirect\":\"" REDIRECT "\"}"

static void
prove(const char *token, long status)
{
    struct tab tab = begin_at(token, "/stepup/sso", STEP_UP);

    assert_non_null(strstr(tab.url, "&prompt=login"));
    assert_non_null(strstr(tab.url, "&acr_values=mfa"));
    assert_non_null(strstr(tab.url, "&max_age=300"));
    tell(&place, NULL, "POST", "/stepup/sso/callback",
         callback(&tab, idp.state, "c-1"), status);
    tab_close(&tab);
}

static void
guarded(const char *token, long status)
{
    place.headers[0] = "If-Match: *";
    tell(&place, token, "PATCH", "/tenants/red/identityproviders/corp",
         "{\"display\":\"The company\"}", status);
}

static void
a_step_up_is_a_proof_that_counts_of_the_same_person(void **state)
{
    char *provider = make_provider(",\"acr\":[\"mfa\"]"), *token;
    int64_t now_s = harness_wall_ms() / 1000;
    struct tab tab;

    (void)state;
    idp.claims = "{\"groups\":\"boss\"}";
    token = log_in_there();
    guarded(token, 403);
    idp.claims = text("{\"groups\":\"boss\",\"acr\":\"pwd\","
                      "\"auth_time\":%lld}",
                      (long long)now_s);
    prove(token, 401);
    idp.claims = text("{\"sub\":\"s-2\",\"acr\":\"mfa\",\"auth_time\":%lld}",
                      (long long)now_s);
    prove(token, 401);
    idp.claims = text("{\"acr\":\"mfa\",\"auth_time\":%lld}",
                      (long long)now_s - 400);
    prove(token, 401);
    guarded(token, 403);
    idp.claims =
        text("{\"acr\":\"mfa\",\"auth_time\":%lld}", (long long)now_s);
    prove(token, 204);
    guarded(token, 200);
    /* A step-up is no login, nor the other way round. */
    tab = begin_at(token, "/stepup/sso", STEP_UP);
    tell(&place, NULL, "POST", "/login/sso/callback",
         callback(&tab, idp.state, "c-1"), 401);
    tab_close(&tab);
    tab = begin();
    tell(&place, NULL, "POST", "/stepup/sso/callback",
         callback(&tab, idp.state, "c-1"), 401);
    tab_close(&tab);
    /* A session by password has no provider to go to. */
    tell(&place, rita, "POST", "/stepup/sso", STEP_UP, 403);
    tell(&place, NULL, "POST", "/stepup/sso", STEP_UP, 401);
    free(token);
    free(provider);
}

/* --- logout --- */

static long
tell_logout(const char *provider, const char *jti, const char *more)
{
    int64_t now_s = harness_wall_ms() / 1000;
    scoped_json claims = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:{s:{}}}", "iss", idp.issuer, "aud",
        "bulkhead", "jti", jti, "iat", (json_int_t)now_s, "exp",
        (json_int_t)(now_s + 120), "events",
        "http://schemas.openid.net/event/backchannel-logout");
    scoped_json rest = json_loads(more, 0, NULL);
    scoped_json header = mint_header(&idp.key);
    scoped_buffer body = { 0 };
    char *token;
    long status;

    (void)json_object_update(claims, rest);
    token = mint_token(&idp.key, header, claims);
    buffer_printf(&body, "logout_token=%s", token);
    status = client_send(&place, NULL, "POST",
                         text("/logout/sso/%s", provider), body.bytes);
    free(token);
    return status;
}

struct watching {
    pthread_t thread;
    char *token;
    _Atomic int64_t ended_ms;
    _Atomic bool began; /* with a first piece */
    struct buffer got;  /* to be read when the thread has ended */
};

static bool
take_piece(const char *bytes, size_t size, void *data)
{
    struct watching *watching = data;

    buffer_add(&watching->got, bytes, size);
    watching->began = true;
    return true;
}

static void *
watch(void *data)
{
    struct watching *watching = data;
    struct http_request request = {
        .method = "GET",
        .path = "/api/v1/tenants/red/users?watch=1",
        .headers = { text("Authorization: Bearer %s", watching->token) },
        .timeout_ms = 30000
    };
    scoped_answer answer = { 0 };
    struct error err;

    (void)http_stream(&place.target, &request, &answer, take_piece, watching,
                      &err);
    watching->ended_ms = clock_mono_ms();
    return NULL;
}

static void
a_logout_at_the_provider_ends_sessions_and_streams(void **state)
{
    char *provider = make_provider(""), *other;
    struct watching watching = { 0 };
    int64_t from_ms;

    (void)state;
    idp.claims = "{\"groups\":\"boss\",\"sid\":\"A\"}";
    watching.token = log_in_there();
    idp.claims = "{\"groups\":\"boss\",\"sid\":\"B\"}";
    other = log_in_there();
    assert_int_equal(pthread_create(&watching.thread, NULL, watch, &watching),
                     0);
    for (int i = 0; i < 100 && !watching.began; i++)
        (void)poll(NULL, 0, 20);
    assert_true(watching.began);
    from_ms = clock_mono_ms();
    assert_int_equal(tell_logout(provider, "j-1", "{\"sid\":\"A\"}"), 200);
    tell(&place, watching.token, "GET", "/whoami", NULL, 401);
    tell(&place, other, "GET", "/whoami", NULL, 200);
    (void)pthread_join(watching.thread, NULL);
    assert_true(watching.ended_ms - from_ms < 5000);
    assert_non_null(strstr(buffer_text(&watching.got), "watching"));
    assert_non_null(
        strstr(buffer_text(&watching.got), "unauthenticated"));
    /* The same token again, and one for all that the person has. */
    assert_int_equal(tell_logout(provider, "j-1", "{\"sub\":\"s-1\"}"), 400);
    tell(&place, other, "GET", "/whoami", NULL, 200);
    assert_int_equal(tell_logout(provider, "j-2", "{\"sub\":\"s-1\"}"), 200);
    tell(&place, other, "GET", "/whoami", NULL, 401);
    tell(&place, rita, "GET", "/whoami", NULL, 200);
    free(other);
    free(watching.token);
    buffer_release(&watching.got);
    free(provider);
}

static void
a_logout_that_the_provider_did_not_sign_ends_nothing(void **state)
{
    char *provider = make_provider(""), *token = log_in_there();
    struct mint honest = idp.key;

    (void)state;
    idp.key = mint_new("ES256", "k-1");
    assert_int_equal(tell_logout(provider, "j-1", "{\"sub\":\"s-1\"}"), 400);
    mint_free(&idp.key);
    idp.key = honest;
    assert_int_equal(
        tell_logout(provider, "j-2", "{\"sub\":\"s-1\",\"aud\":\"x\"}"), 400);
    assert_int_equal(client_send(&place, NULL, "POST",
                                 text("/logout/sso/%s", provider),
                                 "token=x"),
                     400);
    assert_int_equal(tell_logout("idp_aaaaaaaaaaaaaaaaaaaaaaaaaa", "j-3",
                                 "{\"sub\":\"s-1\"}"),
                     404);
    tell(&place, token, "GET", "/whoami", NULL, 200);
    free(token);
    free(provider);
}

/* --- what is kept --- */

static void
the_client_secret_is_in_no_answer_and_no_record(void **state)
{
    static const char *const paths[] = {
        "/tenants/red/identityproviders",
        "/tenants/red/identityproviders/corp", "/tenants/red/audit?raw=1"
    };
    char *provider = make_provider("");

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        (void)client_send(&place, rita, "GET", paths[i], NULL);
        assert_int_equal(place.last.status, i < 2 ? 200 : place.last.status);
        assert_null(strstr(buffer_text(&place.last.body), "s3cret"));
        assert_null(strstr(buffer_text(&place.last.body), "\"secret\""));
    }
    tell(&place, rita, "POST", "/tenants/red/identityproviders",
         "{\"name\":\"meta\",\"issuer\":\"https://169.254.169.254\","
         "\"client_id\":\"c\"}",
         400);
    assert_non_null(strstr(buffer_text(&place.last.body), "/issuer"));
    free(provider);
}

int
main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_login_by_the_code_flow_gives_a_session_with_what_was_said),
        CASE(what_the_browser_brings_back_is_taken_once_and_whole),
        CASE(claims_of_userinfo_count_where_they_are_asked_for),
        CASE(userinfo_that_does_not_hold_lets_nobody_in),
        CASE(a_code_that_the_provider_does_not_know_gives_nothing),
        CASE(only_loopback_is_a_place_to_come_back_to),
        CASE(what_is_not_there_or_closed_is_told_alike),
        CASE(the_next_login_takes_away_what_the_provider_took_away),
        CASE(tokens_that_do_not_hold_give_nothing),
        CASE(answers_that_are_none_give_nothing_and_end_in_time),
        CASE(a_provider_that_failed_is_left_alone_for_a_moment),
        CASE(a_provider_that_is_silent_keeps_nobody_else_waiting),
        CASE(new_keys_are_fetched_when_a_token_names_one),
        CASE(a_step_up_is_a_proof_that_counts_of_the_same_person),
        CASE(a_logout_at_the_provider_ends_sessions_and_streams),
        CASE(a_logout_that_the_provider_did_not_sign_ends_nothing),
        CASE(the_client_secret_is_in_no_answer_and_no_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
