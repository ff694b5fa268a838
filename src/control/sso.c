/* SPDX-License-Identifier: Apache-2.0 */
#include "control/sso.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/sign.h"

#define ATTEMPT_LABEL "a login by an identity provider"
#define SEALED_MAX ((size_t)8192)

/* Keys that a thread may still use after they were replaced. */
struct keyring {
    unsigned refs;
    struct jwk_set *set;
};

struct known {
    char id[ID_TEXT_MAX];
    struct oidc_metadata metadata;
    int64_t metadata_ms; /* monotonic; 0: none */
    int64_t failed_ms;   /* the last failure to get document or keys */
    struct keyring *keys;
    int64_t keys_ms;
    int64_t used_ms;
};

/* What was used and must not be used again. */
struct contact {
    struct digest digest;
    int64_t until_ms; /* wall */
};

struct sso {
    struct sso_options options;
    struct crew *crew;
    pthread_mutex_t lock; /* for what follows */
    struct sso_call *calls;
    struct known known[SSO_PROVIDERS_MAX];
    struct contact seen[SSO_SEEN_MAX];
    size_t seen_next;
};

/* --- used once --- */

/* True when it is new; the oldest is forgotten when there are too many. */
static bool
use_once(struct sso *sso, const char *kind, const char *text,
         int64_t until_ms, int64_t now_ms)
{
    struct contact *free = NULL;
    struct digest digest;
    bool fresh = true;

    digest_of_two(kind, strlen(kind) + 1, text, strlen(text), &digest);
    (void)pthread_mutex_lock(&sso->lock);
    for (size_t i = 0; i < SSO_SEEN_MAX; i++) {
        struct contact *seen = &sso->seen[i];

        if (seen->until_ms > now_ms &&
            digest_compare(&seen->digest, &digest) == 0)
            fresh = false;
        if (seen->until_ms <= now_ms)
            free = seen;
    }
    if (free == NULL)
        free = &sso->seen[sso->seen_next++ % SSO_SEEN_MAX];
    if (fresh)
        *free = (struct contact){ digest, until_ms };
    (void)pthread_mutex_unlock(&sso->lock);
    return fresh;
}

void
sso_seal(const struct sso *sso, const struct sso_attempt *attempt,
         struct buffer *out)
{
    const struct oidc_attempt *secrets = &attempt->secrets;
    scoped_json json = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:I}", "state", secrets->state,
        "nonce", secrets->nonce, "verifier", secrets->verifier, "redirect",
        attempt->redirect, "provider", attempt->provider, "session",
        attempt->session, "expires", (json_int_t)attempt->expires_ms);
    scoped_buffer text = { 0 };

    json_write(&text, json);
    seal_text(sso->options.key, ATTEMPT_LABEL, text.bytes, text.size, out);
    secret_clear(text.bytes, text.size);
}

static bool
take(const json_t *json, const char *key, char *out, size_t room)
{
    const char *text = json_string_value(json_object_get(json, key));

    if (text == NULL || strlen(text) >= room)
        return false;
    memcpy(out, text, strlen(text) + 1);
    return true;
}

static bool
unseal(const struct sso *sso, const char *sealed, struct sso_attempt *out)
{
    scoped_buffer text = { 0 };
    scoped_json json = NULL;
    struct error ignored;

    memset(out, 0, sizeof(*out));
    if (strlen(sealed) > SEALED_MAX ||
        seal_open(sso->options.key, ATTEMPT_LABEL, sealed, &text, &ignored) !=
            0)
        return false;
    json = json_read(text.bytes, text.size, &ignored);
    secret_clear(text.bytes, text.size);
    out->expires_ms = json_integer_value(json_object_get(json, "expires"));
    return take(json, "state", out->secrets.state, OIDC_SECRET_MAX) &&
           take(json, "nonce", out->secrets.nonce, OIDC_SECRET_MAX) &&
           take(json, "verifier", out->secrets.verifier, OIDC_SECRET_MAX) &&
           take(json, "redirect", out->redirect, OIDC_URL_MAX) &&
           take(json, "provider", out->provider, ID_TEXT_MAX) &&
           take(json, "session", out->session, ID_TEXT_MAX);
}

/* A wrong state uses it up too: somebody guesses. */
int
sso_open(struct sso *sso, const char *sealed, const char *state,
         int64_t now_ms, struct sso_attempt *out, struct error *err)
{
    bool good = unseal(sso, sealed, out) && out->expires_ms > now_ms &&
                use_once(sso, "attempt", out->secrets.state, out->expires_ms,
                         now_ms);
    size_t size = strlen(out->secrets.state);

    if (good && strlen(state) == size &&
        secret_compare(out->secrets.state, state, size) == 0)
        return 0;
    (void)error_set(err, ERROR_UNAUTHENTICATED,
                    "this login was not begun here, is over, or was used");
    return error_help(err, "begin it again");
}

/* --- what is known of providers --- */

static void
drop_keys(struct keyring *keys)
{
    if (keys == NULL || --keys->refs > 0)
        return;
    jwk_set_free(keys->set);
    free(keys);
}

/* The lock is held.  A new entry takes the place of the one that was asked for
 * longest ago. */
static struct known *
find(struct sso *sso, const char *id)
{
    struct known *oldest = &sso->known[0];

    for (size_t i = 0; i < SSO_PROVIDERS_MAX; i++) {
        struct known *known = &sso->known[i];

        if (strcmp(known->id, id) == 0) {
            known->used_ms = clock_mono_ms();
            return known;
        }
        if (known->used_ms < oldest->used_ms)
            oldest = known;
    }
    drop_keys(oldest->keys);
    memset(oldest, 0, sizeof(*oldest));
    (void)snprintf(oldest->id, sizeof(oldest->id), "%s", id);
    oldest->used_ms = clock_mono_ms();
    return oldest;
}

static int
fetch_json(const struct sso *sso, const struct egress_request *request,
           long *status_out, json_t **out, struct error *err)
{
    scoped_egress answer = { 0 };

    if (egress_fetch(sso->options.egress, request, &answer, err) != 0)
        return -1;
    *out = json_read(buffer_text(&answer.body), answer.body.size, err);
    secret_clear(answer.body.bytes, answer.body.size);
    *status_out = answer.status;
    return *out == NULL ? -1 : 0;
}

static int
fetch_document(const struct sso *sso, const char *url, json_t **out,
               struct error *err)
{
    struct egress_request request = { .url = url, .max = SSO_DOCUMENT_MAX };
    long status;

    if (fetch_json(sso, &request, &status, out, err) != 0)
        return error_prefix(err, "%.200s", url);
    if (status != 200)
        return error_set(err, ERROR_BUSY, "%.200s: status %ld", url, status);
    return 0;
}

/* Whoever does not answer is left alone for a moment: many who begin logins do
 * not make the platform a tool to ask somebody else's server. */
static bool
is_paused(const struct known *known)
{
    return known->failed_ms != 0 &&
           clock_mono_ms() - known->failed_ms < SSO_PAUSE_MS;
}

static int
note_failure(struct sso *sso, const char *id)
{
    (void)pthread_mutex_lock(&sso->lock);
    find(sso, id)->failed_ms = clock_mono_ms();
    (void)pthread_mutex_unlock(&sso->lock);
    return -1;
}

static int
still_paused(struct error *err)
{
    return error_set(err, ERROR_BUSY,
                     "it was asked a moment ago and did not answer");
}

static int
get_metadata(struct sso *sso, const struct sso_provider *provider,
             struct oidc_metadata *out, struct error *err)
{
    scoped_json document = NULL;
    scoped_buffer url = { 0 };
    struct known *known;
    bool there, paused;

    (void)pthread_mutex_lock(&sso->lock);
    known = find(sso, provider->id);
    paused = is_paused(known);
    there = known->metadata_ms != 0 &&
            clock_mono_ms() - known->metadata_ms < SSO_FRESH_MS;
    *out = known->metadata;
    (void)pthread_mutex_unlock(&sso->lock);
    if (there)
        return 0;
    if (paused)
        return still_paused(err);
    oidc_discovery_url(provider->issuer, &url);
    if (fetch_document(sso, buffer_text(&url), &document, err) != 0 ||
        oidc_metadata_parse(document, provider->issuer, out, err) != 0)
        return note_failure(sso, provider->id);
    (void)pthread_mutex_lock(&sso->lock);
    known = find(sso, provider->id);
    known->metadata = *out;
    known->metadata_ms = clock_mono_ms();
    (void)pthread_mutex_unlock(&sso->lock);
    return 0;
}

/* Notes that they are fetched now, so that others do not. */
static struct keyring *
hold_keys(struct sso *sso, const char *id, bool again, bool *fetch_out)
{
    int64_t now_ms = clock_mono_ms(), bound_ms;
    struct keyring *keys;
    struct known *known;

    (void)pthread_mutex_lock(&sso->lock);
    known = find(sso, id);
    keys = known->keys;
    bound_ms = again ? sso->options.refetch_ms : SSO_FRESH_MS;
    *fetch_out = (keys == NULL || now_ms - known->keys_ms >= bound_ms) &&
                 !is_paused(known);
    if (*fetch_out)
        known->keys_ms = now_ms;
    if (keys != NULL)
        keys->refs++;
    (void)pthread_mutex_unlock(&sso->lock);
    return keys;
}

static void
release_keys(struct sso *sso, struct keyring *keys)
{
    (void)pthread_mutex_lock(&sso->lock);
    drop_keys(keys);
    (void)pthread_mutex_unlock(&sso->lock);
}

static struct keyring *
fetch_keys(struct sso *sso, const char *id, const char *url, struct error *err)
{
    scoped_json document = NULL;
    struct keyring *keys;
    struct jwk_set *set;
    struct known *known;

    if (fetch_document(sso, url, &document, err) != 0 ||
        jwk_set_parse(document, &set, err) != 0) {
        (void)note_failure(sso, id);
        return NULL;
    }
    keys = memory_new(1, sizeof(*keys));
    *keys = (struct keyring){ .refs = 2, .set = set };
    (void)pthread_mutex_lock(&sso->lock);
    known = find(sso, id);
    drop_keys(known->keys);
    known->keys = keys;
    (void)pthread_mutex_unlock(&sso->lock);
    return keys;
}

/* Keys to check with; again: those at hand did not have the right one.  NULL
 * with err, or, again, when it is too early to ask. */
static struct keyring *
get_keys(struct sso *sso, const struct sso_call *call,
         const struct oidc_metadata *metadata, bool again, struct error *err)
{
    bool fetch;
    struct keyring *keys = hold_keys(sso, call->provider.id, again, &fetch);

    if (!fetch && !again && keys != NULL)
        return keys;
    release_keys(sso, keys);
    if (!fetch && !again)
        (void)still_paused(err);
    return fetch ? fetch_keys(sso, call->provider.id, metadata->jwks, err)
                 : NULL;
}

/* --- tasks --- */

/* What the person is told, and what the operator finds in the log. */
static void
give_up(struct sso_call *call, enum error_code code, const char *text,
        const struct error *why)
{
    (void)error_set(&call->error, code, "%s", text);
    (void)snprintf(call->detail, sizeof(call->detail), "%s", why->text);
}

/* Refused by the rules of egress, not there, or silent: one text. */
static void
unreachable(struct sso_call *call, const struct error *why)
{
    give_up(call, ERROR_BUSY,
            "the identity provider does not answer as one",
            why);
    (void)error_help(&call->error, "an operator finds the reason in the log "
                                   "by the request's id");
}

static void
not_held(struct sso_call *call, const struct error *why)
{
    give_up(call, ERROR_UNAUTHENTICATED, "", why);
    (void)error_set(&call->error, ERROR_UNAUTHENTICATED,
                    "the identity provider's answer does not hold: %.300s",
                    why->text);
}

typedef enum jwt_verdict check_token(const struct jwk_set *keys,
                                     const char *token,
                                     const struct jwt_expectation *expected,
                                     json_t **claims_out, struct error *err);

/* A key that is not known may be a new one: then the keys are fetched again,
 * unless that was done a moment ago. */
static void
verify(struct sso *sso, struct sso_call *call,
       const struct oidc_metadata *metadata, const char *token,
       const char *nonce, check_token *check)
{
    const struct jwt_expectation expected = { call->provider.issuer,
                                              call->provider.client_id, nonce,
                                              call->now_ms };
    enum jwt_verdict verdict = JWT_UNKNOWN;
    struct error err = { .code = ERROR_NONE };
    struct error why = { .code = ERROR_NONE };

    for (int round = 0; round < 2 && verdict == JWT_UNKNOWN; round++) {
        struct keyring *keys =
            get_keys(sso, call, metadata, round == 1, &err);

        if (keys == NULL && err.code != ERROR_NONE) {
            unreachable(call, &err);
            return;
        }
        if (keys == NULL)
            break;
        verdict = check(keys->set, token, &expected, &call->claims, &why);
        release_keys(sso, keys);
    }
    if (verdict != JWT_GOOD)
        not_held(call, &why);
}

static void
begin(struct sso *sso, struct sso_call *call)
{
    const struct oidc_client client = { call->provider.client_id, "",
                                        call->provider.scopes,
                                        call->attempt.redirect };
    struct oidc_metadata metadata;
    struct error err;

    if (get_metadata(sso, &call->provider, &metadata, &err) != 0) {
        unreachable(call, &err);
        return;
    }
    oidc_attempt_make(&call->attempt.secrets);
    oidc_authorization_url(&metadata, &client, &call->attempt.secrets,
                           call->provider.acr,
                           call->attempt.session[0] != '\0', &call->url);
}

/* The provider's own word for what went wrong, as far as it is a word. */
static void
refused(struct sso_call *call, long status, const json_t *answer)
{
    const char *word = json_string_value(json_object_get(answer, "error"));
    struct error why;

    if (word == NULL || strlen(word) > 64 ||
        strspn(word, "abcdefghijklmnopqrstuvwxyz_") != strlen(word))
        word = "no error is named";
    (void)error_set(&why, ERROR_UNAUTHENTICATED,
                    "the code was refused: status %ld, %s", status, word);
    not_held(call, &why);
}

static int
ask_token(const struct sso *sso, struct sso_call *call,
          const struct oidc_metadata *metadata, json_t **out)
{
    scoped_buffer secret = { 0 }, form = { 0 }, basic = { 0 };
    const char *sealed = call->provider.secret;
    struct error err;
    long status = 0;
    int rc = 0;

    if (sealed[0] != '\0')
        rc = seal_open(sso->options.key, call->provider.id, sealed, &secret,
                       &err);
    if (rc == 0) {
        const struct oidc_client client = { call->provider.client_id,
                                            buffer_text(&secret),
                                            call->provider.scopes,
                                            call->attempt.redirect };
        struct egress_request request = { .url = metadata->token,
                                          .max = SSO_DOCUMENT_MAX };

        oidc_token_request(metadata, &client, &call->attempt.secrets,
                           call->code, &form, &basic);
        request.form = form.bytes;
        request.basic = basic.bytes;
        rc = fetch_json(sso, &request, &status, out, &err);
    }
    secret_clear(secret.bytes, secret.size);
    secret_clear(form.bytes, form.size);
    secret_clear(basic.bytes, basic.size);
    if (rc != 0)
        unreachable(call, &err);
    else if (status != 200)
        refused(call, status, *out);
    return rc == 0 && status == 200 ? 0 : -1;
}

/* RFC 9207: the code is not one of another provider. */
static bool
is_mixed_up(const struct sso_call *call, const struct oidc_metadata *metadata)
{
    if (call->issuer == NULL)
        return metadata->names_issuer;
    return strcmp(call->issuer, call->provider.issuer) != 0;
}

/* Asked with the token that came with the ID token, and forgotten. */
static void
add_userinfo(const struct sso *sso, struct sso_call *call,
             const struct oidc_metadata *metadata, const char *token)
{
    const struct egress_request request = { .url = metadata->userinfo,
                                            .bearer = token,
                                            .max = SSO_DOCUMENT_MAX };
    scoped_json info = NULL;
    struct error err;
    long status = 0;

    if (metadata->userinfo[0] == '\0' || !oidc_is_bearer(token)) {
        (void)error_set(&err, ERROR_UNAUTHENTICATED,
                        metadata->userinfo[0] == '\0'
                            ? "it has no userinfo endpoint"
                            : "it gave no access token for its userinfo");
        not_held(call, &err);
        return;
    }
    if (fetch_json(sso, &request, &status, &info, &err) != 0) {
        unreachable(call, &err);
        return;
    }
    if (status != 200)
        (void)error_set(&err, ERROR_UNAUTHENTICATED,
                        "its userinfo was refused: status %ld", status);
    if (status != 200 || oidc_add_userinfo(call->claims, info, &err) != 0)
        not_held(call, &err);
}

static void
redeem(struct sso *sso, struct sso_call *call)
{
    struct oidc_metadata metadata;
    scoped_json answer = NULL;
    const char *token;
    struct error err;

    if (get_metadata(sso, &call->provider, &metadata, &err) != 0) {
        unreachable(call, &err);
        return;
    }
    if (is_mixed_up(call, &metadata)) {
        (void)error_set(&err, ERROR_UNAUTHENTICATED,
                        "the redirect's issuer (iss) is another one");
        not_held(call, &err);
        return;
    }
    if (ask_token(sso, call, &metadata, &answer) != 0)
        return;
    token = json_string_value(json_object_get(answer, "id_token"));
    if (token == NULL) {
        (void)error_set(&err, ERROR_UNAUTHENTICATED, "it has no ID token");
        not_held(call, &err);
        return;
    }
    verify(sso, call, &metadata, token, call->attempt.secrets.nonce,
           jwt_check_id);
    if (call->error.code == ERROR_NONE && call->provider.userinfo)
        add_userinfo(sso, call, &metadata,
                     json_string_value(json_object_get(answer,
                                                       "access_token")));
}

static void
log_out(struct sso *sso, struct sso_call *call)
{
    struct oidc_metadata metadata;
    scoped_buffer once = { 0 };
    struct error err;

    if (get_metadata(sso, &call->provider, &metadata, &err) != 0) {
        unreachable(call, &err);
        return;
    }
    verify(sso, call, &metadata, call->token, NULL, jwt_check_logout);
    if (call->error.code != ERROR_NONE)
        return;
    buffer_printf(&once, "%s %s", call->provider.id,
                  json_string_value(json_object_get(call->claims, "jti")));
    if (use_once(sso, "logout", buffer_text(&once),
                 call->now_ms + JWT_AGE_MS + 2 * JWT_SKEW_MS, call->now_ms))
        return;
    (void)error_set(&err, ERROR_UNAUTHENTICATED,
                    "the token's id (jti) was used before");
    not_held(call, &err);
}

/* --- threads --- */

static void
work(void *data, void *context, struct job *job)
{
    struct sso *sso = data;
    struct sso_call *call = job->data;

    (void)context;
    switch (call->task) {
    case SSO_BEGIN:
        begin(sso, call);
        break;
    case SSO_REDEEM:
        redeem(sso, call);
        break;
    case SSO_LOGOUT:
        log_out(sso, call);
        break;
    }
    (void)pthread_mutex_lock(&sso->lock);
    for (struct sso_call **at = &sso->calls; *at != NULL; at = &(*at)->next)
        if (*at == call) {
            *at = call->next;
            break;
        }
    (void)pthread_mutex_unlock(&sso->lock);
    call->done(call);
}

int
sso_push(struct sso *sso, struct sso_call *call, struct error *err)
{
    unsigned count = 0;
    bool taken = false;

    call->job = (struct job){ .data = call };
    (void)pthread_mutex_lock(&sso->lock);
    for (const struct sso_call *at = sso->calls; at != NULL; at = at->next)
        count += id_equal(at->provider.scope, call->provider.scope);
    if (count < SSO_SCOPE_MAX) {
        /* Before it is pushed: a thread may be done with it at once, but
         * takes it off under this lock. */
        call->next = sso->calls;
        sso->calls = call;
        taken = crew_push(sso->crew, &call->job);
        if (!taken)
            sso->calls = call->next;
    }
    (void)pthread_mutex_unlock(&sso->lock);
    if (taken)
        return 0;
    return error_set(err, ERROR_BUSY,
                     "too many logins by this identity provider are under "
                     "way");
}

void
sso_call_release(struct sso_call *call)
{
    json_decref(call->provider.acr);
    json_decref(call->claims);
    buffer_release(&call->url);
    call->provider.acr = call->claims = NULL;
    secret_clear(&call->attempt, sizeof(call->attempt));
}

struct sso *
sso_new(const struct sso_options *options)
{
    struct sso *sso = memory_new(1, sizeof(*sso));
    const struct crew_options crew = { .threads = SSO_THREADS,
                                       .jobs_max = SSO_JOBS_MAX,
                                       .work = work,
                                       .data = sso };

    sso->options = *options;
    if (sso->options.refetch_ms == 0)
        sso->options.refetch_ms = SSO_REFETCH_MS;
    (void)pthread_mutex_init(&sso->lock, NULL);
    sso->crew = crew_new(&crew);
    return sso;
}

void
sso_free(struct sso *sso)
{
    if (sso == NULL)
        return;
    crew_free(sso->crew);
    for (size_t i = 0; i < SSO_PROVIDERS_MAX; i++)
        drop_keys(sso->known[i].keys);
    (void)pthread_mutex_destroy(&sso->lock);
    free(sso);
}
