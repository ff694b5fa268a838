/* SPDX-License-Identifier: Apache-2.0 */
#include "api/state.h"

#include <string.h>

#include "api/estimates.h"
#include "api/hub.h"
#include "api/openapi.h"
#include "base/clock.h"
#include "base/sign.h"
#include "control/sso.h"
#include "core/printer.h"
#include "identity/password.h"

#define SLOW_US 100000
/* Everybody's requests wait behind these, so they are few. */
#define HEAVY_MAX 8
#define HEAVY_OWNER_MAX 2
#define SWEEP_MS 1000
/* Of the connections, those of one user of this machine. */
#define USER_SHARE 4

static unsigned
or_default(unsigned value, unsigned otherwise)
{
    return value == 0 ? otherwise : value;
}

static void
sweep(struct loop *loop, void *data)
{
    struct api *api = data;
    (void)loop;
    peers_sweep(api->peers);
    server_mend(api);
}

static void
make_printers(struct api *api)
{
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
        for (int platform = 0; platform < 2; platform++)
            api->printers[kind][platform] =
                printer_new((enum kind)kind, platform == 1);
}

const struct printer *
state_printer(const struct api *api, enum kind kind, bool platform)
{
    return api->printers[kind][platform ? 1 : 0];
}

struct api *
state_new(struct loop *loop, const struct api_options *options)
{
    struct api *api = memory_new(1, sizeof *api);
    api->loop = loop;
    api->options = *options;
    struct api_options *own = &api->options;
    own->connections_max = or_default(own->connections_max, 1024);
    own->flight_max = or_default(own->flight_max, 512);
    own->subject_max = or_default(own->subject_max, 64);
    own->streams_max = or_default(own->streams_max, 256);
    own->timeout_s = or_default(own->timeout_s, 30);
    own->think_ms = or_default(own->think_ms, 20000);
    budget_init(&api->budget, (int64_t)own->think_ms * 1000);
    if (own->version == NULL)
        own->version = "0";
    if (own->password_cost == NULL)
        own->password_cost = &password_cost_default;
    (void)pthread_mutex_init(&api->lock, NULL);
    (void)pthread_cond_init(&api->idle, NULL);
    random_bytes(&api->key, sizeof api->key);
    random_bytes(&api->tries.key, sizeof api->tries.key);
    random_bytes(&api->cursor_key, sizeof api->cursor_key);
    if (own->egress != NULL && own->seal != NULL)
        api->sso = sso_new(&(struct sso_options){
            .egress = own->egress,
            .key = own->seal,
            .refetch_ms = own->refetch_ms,
        });
    random_bytes(&api->seal_key, sizeof api->seal_key);
    if (own->seal != NULL)
        api->seal_key = *own->seal;
    api->openapi = openapi_text(own->version);
    make_printers(api);
    api->hub = hub_new(api);
    api->estimator = estimates_new(api);
    api->peers = peers_new(own->connections_max / USER_SHARE,
                           (int64_t)own->timeout_s * 1000);
    loop_every(loop, SWEEP_MS, sweep, api);
    return api;
}

void
state_free(struct api *api)
{
    estimates_free(api->estimator);
    sso_free(api->sso);
    hub_free(api->hub);
    peers_free(api->peers);
    free(api->openapi);
    budget_release(&api->budget);
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
        for (int platform = 0; platform < 2; platform++)
            printer_free(api->printers[kind][platform]);
    (void)pthread_cond_destroy(&api->idle);
    (void)pthread_mutex_destroy(&api->lock);
    free(api);
}

void
state_drain(struct api *api)
{
    (void)pthread_mutex_lock(&api->lock);
    api->draining = true;
    while (api->flight > 0)
        (void)pthread_cond_wait(&api->idle, &api->lock);
    (void)pthread_mutex_unlock(&api->lock);
    hub_end(api->hub);
    (void)pthread_mutex_lock(&api->lock);
    while (api->tasks > 0)
        (void)pthread_cond_wait(&api->idle, &api->lock);
    (void)pthread_mutex_unlock(&api->lock);
}

int
state_task_begin(struct api *api, struct error *err)
{
    (void)pthread_mutex_lock(&api->lock);
    bool draining = api->draining;
    api->tasks += !draining;
    (void)pthread_mutex_unlock(&api->lock);
    if (!draining)
        return 0;
    return error_set(err, ERROR_BUSY, "the server stops");
}

void
state_task_end(struct api *api)
{
    (void)pthread_mutex_lock(&api->lock);
    if (--api->tasks == 0)
        (void)pthread_cond_broadcast(&api->idle);
    (void)pthread_mutex_unlock(&api->lock);
}

static size_t
bucket_of(const struct api *api, const void *bytes, size_t size)
{
    return hash_bytes(&api->key, bytes, size) & (STATE_BUCKETS - 1);
}

/* The bucket of the subject when the credential is known, else of the
 * credential, else of the source. */
static size_t
owner_bucket(const struct api *api, const struct exchange *exchange)
{
    if (!exchange->has_token)
        return bucket_of(api, exchange->source, strlen(exchange->source));
    size_t token = bucket_of(api, exchange->token, sizeof exchange->token);
    const struct state_known *known = &api->known[token];
    if (memcmp(known->token, exchange->token, sizeof known->token) != 0)
        return token;
    return bucket_of(api, &known->subject, sizeof known->subject);
}

/* Agents wait in long polls; they have a bound of their own in agents.c. */
static bool
counts_by_owner(const struct exchange *exchange)
{
    return (exchange->route->flags & ROUTE_RAW) == 0;
}

static bool
is_heavy(const struct exchange *exchange)
{
    return (exchange->route->flags & ROUTE_HEAVY) != 0;
}

/* With the lock held. */
static int
admit_heavy(const struct api *api, const struct exchange *exchange,
            struct error *err)
{
    if (!is_heavy(exchange) ||
        (api->heavy < HEAVY_MAX &&
         api->heavy_owners[exchange->bucket] < HEAVY_OWNER_MAX))
        return 0;
    return error_set(err, ERROR_RATE,
                     "this costs much: at most %d at a time of one asker, %d "
                     "of all",
                     HEAVY_OWNER_MAX, HEAVY_MAX);
}

static void
enter(struct api *api, struct exchange *exchange)
{
    api->flight++;
    if (counts_by_owner(exchange))
        api->owners[exchange->bucket]++;
    if (is_heavy(exchange)) {
        api->heavy++;
        api->heavy_owners[exchange->bucket]++;
    }
    exchange->counted = true;
}

int
state_admit(struct exchange *exchange, struct error *err)
{
    struct api *api = exchange->api;
    int result = 0;
    (void)pthread_mutex_lock(&api->lock);
    exchange->bucket = owner_bucket(api, exchange);
    unsigned *owner = &api->owners[exchange->bucket];
    if (api->draining || api->flight >= api->options.flight_max)
        result = error_set(err, ERROR_BUSY,
                           "the server has as many requests as it takes");
    else if (counts_by_owner(exchange) &&
             *owner >= api->options.subject_max)
        result = error_set(err, ERROR_RATE,
                           "%u requests of yours are in flight, the limit "
                           "is %u",
                           *owner, api->options.subject_max);
    else
        result = admit_heavy(api, exchange, err);
    if (result == 0)
        enter(api, exchange);
    (void)pthread_mutex_unlock(&api->lock);
    return result;
}

void
state_learn(struct exchange *exchange, struct id subject)
{
    struct api *api = exchange->api;
    (void)pthread_mutex_lock(&api->lock);
    struct state_known *known =
        &api->known[bucket_of(api, exchange->token, sizeof exchange->token)];
    memcpy(known->token, exchange->token, sizeof known->token);
    known->subject = subject;
    (void)pthread_mutex_unlock(&api->lock);
}

int
state_think(struct exchange *exchange, struct id scope, struct error *err)
{
    struct api *api = exchange->api;
    if (!is_heavy(exchange) || exchange->thinks)
        return 0;
    (void)pthread_mutex_lock(&api->lock);
    exchange->thinks =
        budget_enter(&api->budget, scope, clock_mono_ms(),
                     &exchange->answer.retry_s, err) == 0;
    (void)pthread_mutex_unlock(&api->lock);
    exchange->thinker = scope;
    return exchange->thinks ? 0 : -1;
}

static void
leave(struct api *api, struct exchange *exchange)
{
    if (!exchange->counted)
        return;
    exchange->counted = false;
    api->flight--;
    if (counts_by_owner(exchange))
        api->owners[exchange->bucket]--;
    if (is_heavy(exchange)) {
        api->heavy--;
        api->heavy_owners[exchange->bucket]--;
    }
    if (exchange->thinks)
        budget_leave(&api->budget, exchange->thinker, exchange->thought_us,
                     clock_mono_ms());
    exchange->thinks = false;
    if (api->flight == 0)
        (void)pthread_cond_broadcast(&api->idle);
}

void
state_count(struct exchange *exchange)
{
    struct api *api = exchange->api;
    int64_t micros = clock_mono_us() - exchange->start_us;
    (void)pthread_mutex_lock(&api->lock);
    leave(api, exchange);
    struct state_metrics *metrics = &api->metrics;
    metrics->requests[(exchange->answer.status / 100) % 6]++;
    metrics->micros += (uint64_t)micros;
    metrics->slow += micros > SLOW_US;
    (void)pthread_mutex_unlock(&api->lock);
}

void
state_forget(struct exchange *exchange)
{
    struct api *api = exchange->api;
    (void)pthread_mutex_lock(&api->lock);
    leave(api, exchange);
    (void)pthread_mutex_unlock(&api->lock);
    if (exchange->stream != NULL)
        stream_leave(exchange->stream);
    exchange->stream = NULL;
}

struct state_metrics
state_metrics(struct api *api, unsigned *flight_out)
{
    (void)pthread_mutex_lock(&api->lock);
    struct state_metrics metrics = api->metrics;
    *flight_out = api->flight;
    (void)pthread_mutex_unlock(&api->lock);
    return metrics;
}
