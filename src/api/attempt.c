/* SPDX-License-Identifier: Apache-2.0 */
#include "api/attempt.h"

#include <string.h>

#include "api/state.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/sign.h"

/* What an attempt is counted for: at most two sources, each with bounds. */
struct counted {
    struct buffer source;
    unsigned free;
    int64_t most_ms;
};

struct sources {
    struct counted list[2];
    size_t count;
};

static void
release(struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        buffer_release(&sources->list[i].source);
}

static bool
is_local(const char *source)
{
    return source[0] == '\0' || strncmp(source, "127.", 4) == 0 ||
           strcmp(source, "::1") == 0;
}

static struct buffer *
add(struct sources *sources, unsigned free, int64_t most_ms)
{
    struct counted *counted = &sources->list[sources->count++];

    *counted = (struct counted){ .free = free, .most_ms = most_ms };
    return &counted->source;
}

static void
write_account(struct buffer *out, const char *network,
              const struct attempt *attempt)
{
    buffer_printf(out, "account %s %s/%s", network,
                  attempt->place == NULL ? "" : attempt->place,
                  attempt->account);
}

static bool
is_friend(struct api *api, const char *network, const struct attempt *attempt)
{
    scoped_buffer source = { 0 };
    bool known;

    write_account(&source, network, attempt);
    (void)pthread_mutex_lock(&api->lock);
    known = tries_knows(&api->tries, buffer_text(&source));
    (void)pthread_mutex_unlock(&api->lock);
    return known;
}

static void
find_sources(struct exchange *exchange, const struct attempt *attempt,
             struct sources *out)
{
    bool local = is_local(exchange->source);
    char network[64];

    tries_network(exchange->source, network);
    out->count = 0;
    if (attempt != NULL && attempt->session != NULL) {
        buffer_printf(add(out, TRIES_FREE, TRIES_WAIT_MAX_MS), "session %s",
                      attempt->session);
        return;
    }
    if (attempt == NULL) {
        buffer_printf(add(out, TRIES_FREE,
                          local ? ATTEMPT_SHARED_MS : TRIES_WAIT_MAX_MS),
                      "secret %s", network);
        return;
    }
    if (attempt->account != NULL &&
        (local || is_friend(exchange->api, network, attempt))) {
        write_account(add(out, TRIES_FREE, TRIES_WAIT_MAX_MS), network,
                      attempt);
        return;
    }
    buffer_printf(add(out, TRIES_FREE,
                      local ? ATTEMPT_SHARED_MS : TRIES_WAIT_MAX_MS),
                  "place %s %s", network, attempt->place == NULL ? "" : attempt->place);
    buffer_printf(add(out, ATTEMPT_MANY, ATTEMPT_SHARED_MS), "address %s",
                  network);
}

static int64_t
wait_of(struct api *api, const struct sources *sources)
{
    int64_t most_ms = 0;

    (void)pthread_mutex_lock(&api->lock);
    for (size_t i = 0; i < sources->count; i++) {
        int64_t wait_ms =
            tries_wait(&api->tries, buffer_text(&sources->list[i].source),
                       clock_mono_ms());

        if (wait_ms > most_ms)
            most_ms = wait_ms;
    }
    (void)pthread_mutex_unlock(&api->lock);
    return most_ms;
}

static void
count_failure(struct api *api, const struct sources *sources)
{
    (void)pthread_mutex_lock(&api->lock);
    for (size_t i = 0; i < sources->count; i++)
        tries_failed(&api->tries, buffer_text(&sources->list[i].source),
                     sources->list[i].free, sources->list[i].most_ms,
                     clock_mono_ms());
    (void)pthread_mutex_unlock(&api->lock);
}

static unsigned
seconds(int64_t ms)
{
    return (unsigned)((ms + 999) / 1000);
}

int
attempt_check(struct exchange *exchange, const struct attempt *attempt,
              struct error *err)
{
    struct sources sources;
    int64_t wait_ms;

    find_sources(exchange, attempt, &sources);
    wait_ms = wait_of(exchange->api, &sources);
    release(&sources);
    if (wait_ms == 0)
        return 0;
    exchange->answer.retry_s = seconds(wait_ms);
    return error_set(err, ERROR_RATE,
                     "too many failed attempts came from this address; wait "
                     "%u s",
                     exchange->answer.retry_s);
}

void
attempt_failed(struct exchange *exchange, const struct attempt *attempt)
{
    struct sources sources;

    find_sources(exchange, attempt, &sources);
    count_failure(exchange->api, &sources);
    release(&sources);
}

void
attempt_worked(struct exchange *exchange, const struct attempt *attempt)
{
    struct api *api = exchange->api;
    scoped_buffer source = { 0 };
    char network[64];

    tries_network(exchange->source, network);
    write_account(&source, network, attempt);
    (void)pthread_mutex_lock(&api->lock);
    tries_welcome(&api->tries, buffer_text(&source));
    (void)pthread_mutex_unlock(&api->lock);
}

int
attempt_token_failed(struct exchange *exchange, struct error *err)
{
    struct sources sources = { 0 };
    char network[64], credential[2 * DIGEST_SIZE + 1] = "";
    int64_t wait_ms;

    tries_network(exchange->source, network);
    if (is_local(exchange->source))
        hex_encode(exchange->token, DIGEST_SIZE, credential);
    buffer_printf(add(&sources, TRIES_FREE, ATTEMPT_TOKEN_MS),
                  "credential %s %s", network, credential);
    wait_ms = wait_of(exchange->api, &sources);
    if (wait_ms == 0)
        count_failure(exchange->api, &sources);
    release(&sources);
    if (wait_ms == 0)
        return -1;
    exchange->answer.retry_s = seconds(wait_ms);
    (void)error_set(err, ERROR_RATE,
                    "the credential is not valid, and too many that were not "
                    "came from this address; wait %u s",
                    exchange->answer.retry_s);
    return error_help(err, "a valid one is taken at once: log in again");
}
