/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_SSO_H
#define CONTROL_SSO_H

#include "base/egress.h"
#include "base/seal.h"
#include "control/crew.h"
#include "core/model.h"
#include "identity/jwt.h"
#include "identity/oidc.h"

/*
 * Who talks to identity providers?  Threads of their own, so that one that
 * answers slowly keeps neither the world nor password logins waiting; a scope
 * (a tenant) has at most SSO_SCOPE_MAX questions under way.
 *
 * What a provider says about itself and its keys are kept for a while.  A token
 * with a key that is not among them makes the keys be fetched again, at most
 * once in SSO_REFETCH_MS for each provider.
 *
 * A login under way lies sealed with who began it, not here: many of them cost
 * nothing, and one that was begun outlives a restart.  Each is used once.
 */

#define SSO_THREADS 16
#define SSO_JOBS_MAX 64
#define SSO_SCOPE_MAX 4
#define SSO_PROVIDERS_MAX 256
#define SSO_FRESH_MS (10 * 60 * INT64_C(1000))
#define SSO_REFETCH_MS (20 * INT64_C(1000))
#define SSO_PAUSE_MS (3 * INT64_C(1000)) /* behind a failure */
#define SSO_ATTEMPT_MS (10 * 60 * INT64_C(1000))
#define SSO_SEEN_MAX 8192
#define SSO_DOCUMENT_MAX ((size_t)256 * 1024)

struct sso;

struct sso_options {
    const struct egress_policy *egress;
    const struct seal_key *key;
    int64_t refetch_ms; /* 0: SSO_REFETCH_MS */
};

struct sso *sso_new(const struct sso_options *options);
void sso_free(struct sso *sso); /* waits for what is under way */

/* --- a login under way --- */

struct sso_attempt {
    struct oidc_attempt secrets;
    char redirect[OIDC_URL_MAX];
    char provider[ID_TEXT_MAX];
    char session[ID_TEXT_MAX]; /* of a step-up; "": a login */
    int64_t expires_ms;
};

void sso_seal(const struct sso *sso, const struct sso_attempt *attempt,
              struct buffer *out);
/* Opens it, and it is used up: ERROR_UNAUTHENTICATED when it is over, was used,
 * is not from here, or the state is not its own. */
int sso_open(struct sso *sso, const char *sealed, const char *state,
             int64_t now_ms, struct sso_attempt *out, struct error *err);

/* --- a question --- */

enum sso_task { SSO_BEGIN, SSO_REDEEM, SSO_LOGOUT };

/* What the world says about a provider, copied. */
struct sso_provider {
    char id[ID_TEXT_MAX];
    struct id scope;
    char issuer[TEXT_MAX_SIZE];
    char client_id[TEXT_MAX_SIZE];
    char scopes[TEXT_MAX_SIZE];
    char secret[sizeof(((struct identityprovider *)0)->secret)];
    bool userinfo;
    json_t *acr; /* NULL: none; freed by sso_call_release */
};

struct sso_call {
    enum sso_task task;
    struct sso_provider provider;
    struct sso_attempt attempt; /* SSO_BEGIN makes its secrets */
    const char *code;           /* SSO_REDEEM */
    const char *issuer;         /* iss of the redirect; NULL: none */
    const char *token;          /* SSO_LOGOUT */
    int64_t now_ms;

    /* the answer: claims, or the URL */
    json_t *claims;
    struct buffer url;
    struct error error; /* code ERROR_NONE: it went well */
    char detail[ERROR_TEXT_MAX]; /* for the operator's log alone */

    /* On one of the threads, last. */
    void (*done)(struct sso_call *call);
    void *data;
    struct job job; /* its own */
    struct sso_call *next;
};

/* ERROR_BUSY when too many of the scope are under way; then done is not
 * called. */
int sso_push(struct sso *sso, struct sso_call *call, struct error *err);
void sso_call_release(struct sso_call *call);

#endif
