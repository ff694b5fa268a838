/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/glance.h"
#include "agent/lane.h"
#include "agent/logs.h"
#include "agent/roster.h"
#include "agent/sampler.h"
#include "agent/step.h"
#include "base/clock.h"
#include "base/crash.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/log.h"

#define POLL_MS 8000
#define WATCH_MS 20000
#define RECONCILE_MS 100
#define REPORT_MS 10000 /* also without news: CPU time */
#define SCRUBS_AT_ONCE 8
#define BACKOFF_MIN_MS 200
#define BACKOFF_MAX_MS 5000

/* A log piece on its way to the control plane. */
struct reply {
    struct reply *next;
    struct arena *arena;
    struct report_log fact;
};

/* What the cards looked like; immutable once it is set. */
struct sight {
    struct arena *arena;
    struct report_inventory inventory;
    struct digest digest;
};

struct agent {
    struct engine *engine;
    struct link *link;
    struct logs *logs;
    int inventory_ms, sample_ms;
    struct lane *starts;
    struct lane *quick; /* notices, kills, removals, releases */
    struct lane *volumes;
    struct lane *scrubs; /* one takes as long as its card has memory */
    struct lane *readers;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t work;  /* for main: something to reconcile */
    pthread_cond_t news;  /* for report */
    struct roster *roster;
    struct sampler *sampler;
    bool changed; /* since the last report */
    int64_t orders; /* taken so far */
    int64_t serial; /* of the last */
    struct sight *sight;
    struct digest told; /* digest of the inventory that was taken */
    struct glance *glance; /* NULL: none yet */
    struct reply *replies;
};

/* --- waiting --- */

static void
wait_for(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t ms)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    (void)pthread_cond_timedwait(condition, lock, &until);
}

static void
pause_ms(int64_t ms)
{
    (void)usleep((useconds_t)ms * 1000);
}

static int64_t
longer(int64_t wait_ms)
{
    return wait_ms * 2 < BACKOFF_MAX_MS ? wait_ms * 2 : BACKOFF_MAX_MS;
}

static void
start_thread(void *(*run)(void *data), void *data)
{
    pthread_t thread;
    int failed = pthread_create(&thread, NULL, run, data);

    assert(!failed);
    (void)pthread_detach(thread);
}

/* Under the lock: something is new for both sides. */
static void
stir(struct agent *agent)
{
    agent->changed = true;
    (void)pthread_cond_signal(&agent->work);
    (void)pthread_cond_signal(&agent->news);
}

/* --- logs --- */

struct reading {
    struct lane_work work;
    struct agent *agent;
    struct arena *arena;
    struct order_log wanted;
};

static void
read_log(struct lane_work *work)
{
    struct reading *reading = (struct reading *)work;
    struct agent *agent = reading->agent;
    struct reply *reply = memory_new(1, sizeof(*reply));

    reply->arena = reading->arena;
    logs_read(agent->logs, &reading->wanted, reply->arena, &reply->fact);
    (void)pthread_mutex_lock(&agent->lock);
    reply->next = agent->replies;
    agent->replies = reply;
    stir(agent);
    (void)pthread_mutex_unlock(&agent->lock);
    free(reading);
}

static void
ask_logs(struct agent *agent, const struct order *order)
{
    for (size_t i = 0; i < order->log_count; i++) {
        struct reading *reading = memory_new(1, sizeof(*reading));

        reading->work.run = read_log;
        reading->agent = agent;
        reading->arena = arena_new();
        reading->wanted = order->logs[i];
        reading->wanted.instance =
            arena_strdup(reading->arena, order->logs[i].instance);
        lane_push(agent->readers, &reading->work);
    }
}

/* Takes off what was sent; a piece that cannot be delivered is asked for
 * again by whoever still wants it. */
static void
drop_replies(struct agent *agent, const struct report *report)
{
    struct reply **at = &agent->replies;
    struct reply *reply;

    while ((reply = *at) != NULL) {
        bool sent = false;

        for (size_t i = 0; i < report->log_count && !sent; i++)
            sent = report->logs[i].request == reply->fact.request;
        if (!sent) {
            at = &reply->next;
            continue;
        }
        *at = reply->next;
        arena_free(reply->arena);
        free(reply);
    }
}

/* --- orders --- */

/* Two answers may be on their way at once.  One whose question was asked
 * after the last order came is newer than it; else the serial decides. */
static void
take_order(struct agent *agent, const struct order *order, int64_t asked)
{
    (void)pthread_mutex_lock(&agent->lock);
    ask_logs(agent, order);
    if (agent->orders == asked || order->serial > agent->serial) {
        agent->orders++;
        agent->serial = order->serial;
        roster_order(agent->roster, order, clock_wall_ms());
        if (!order->same)
            stir(agent);
    }
    (void)pthread_mutex_unlock(&agent->lock);
}

/* A node whose key is not taken any more may enrol again; it may be another
 * node then, that nothing was told about. */
static void
sync_failed(struct agent *agent, const struct error *err, const char *what)
{
    struct error second;

    log_warn("%s: %s", what, err->text);
    if (err->code != ERROR_UNAUTHENTICATED)
        return;
    if (link_enrol(agent->link, &second) != 0) {
        log_warn("%s", second.text);
        return;
    }
    (void)pthread_mutex_lock(&agent->lock);
    memset(&agent->told, 0, sizeof(agent->told));
    stir(agent);
    (void)pthread_mutex_unlock(&agent->lock);
}

/* Does the control plane know what is here, as it was read by this agent? */
static bool
is_told(const struct agent *agent)
{
    return agent->sight != NULL && roster_is_viewed(agent->roster) &&
           digest_compare(&agent->sight->digest, &agent->told) == 0;
}

static void *
poll_main(void *data)
{
    struct agent *agent = data;
    int64_t wait_ms = BACKOFF_MIN_MS;

    for (;;) {
        scoped_arena arena = arena_new();
        scoped_json document = NULL;
        struct sync sync = { .wait_ms = POLL_MS, .challenge = "" };
        struct order order;
        struct error err;
        int64_t asked;

        (void)pthread_mutex_lock(&agent->lock);
        sync.known = arena_strdup(arena, roster_revision(agent->roster));
        sync.report.ready = is_told(agent);
        asked = agent->orders;
        (void)pthread_mutex_unlock(&agent->lock);
        if (link_sync(agent->link, &sync, arena, &document, &order, &err) ==
            0) {
            CRASH_POINT("agent.ordered");
            take_order(agent, &order, asked);
            wait_ms = BACKOFF_MIN_MS;
            continue;
        }
        sync_failed(agent, &err, "poll");
        pause_ms(wait_ms);
        wait_ms = longer(wait_ms);
    }
    return NULL;
}

/* --- reports --- */

struct saying {
    struct sync sync;
    struct digest digest; /* of all but what changes all the time */
    struct digest inventory;
    bool has_inventory;
    int64_t uses; /* number of the window that it tells of */
    int64_t asked;
};

static void
say_logs(const struct agent *agent, struct arena *arena,
         struct report *report)
{
    struct report_log *list =
        arena_alloc(arena, REPORT_LOGS_MAX * sizeof(*list));
    size_t count = 0;

    /* The replies stay as they are until drop_replies, by the same thread. */
    for (const struct reply *reply = agent->replies;
         reply != NULL && count < REPORT_LOGS_MAX; reply = reply->next)
        list[count++] = reply->fact;
    report->logs = list;
    report->log_count = count;
}

static void
say_inventory(const struct agent *agent, struct arena *arena,
              struct saying *saying)
{
    struct report_inventory *copy;
    struct report_card *cards;

    if (agent->sight == NULL ||
        digest_compare(&agent->sight->digest, &agent->told) == 0)
        return;
    copy = arena_alloc(arena, sizeof(*copy));
    *copy = agent->sight->inventory;
    /* Written into the message before the lock is given up. */
    cards = arena_alloc(arena, copy->card_count * sizeof(*cards));
    if (copy->card_count > 0)
        memcpy(cards, copy->cards, copy->card_count * sizeof(*cards));
    copy->cards = cards;
    saying->sync.report.inventory = copy;
    saying->inventory = agent->sight->digest;
    saying->has_inventory = true;
}

static void
digest_saying(struct saying *saying, struct arena *arena)
{
    struct sync steady = saying->sync;
    size_t count = steady.report.instance_count;
    struct report_instance *list = arena_alloc(arena, count * sizeof(*list));
    scoped_buffer bytes = { 0 };

    for (size_t i = 0; i < count; i++) {
        list[i] = steady.report.instances[i];
        list[i].cpu_us = 0;
        list[i].use.ms = 0;
    }
    steady.report.instances = list;
    glance_steady(arena, &steady.report);
    steady.known = "";
    sync_write(&bytes, &steady);
    digest_of(bytes.bytes, bytes.size, &saying->digest);
}

/* What there is to say now, as a copy that needs no lock. */
static void
say(struct agent *agent, struct arena *arena, struct saying *saying)
{
    *saying = (struct saying){ .sync.challenge = "" };
    saying->sync.known =
        arena_strdup(arena, roster_revision(agent->roster));
    saying->asked = agent->orders;
    roster_report(agent->roster, arena, &saying->sync.report);
    saying->sync.report.ready =
        agent->sight != NULL && saying->sync.report.instances_known;
    saying->uses = sampler_tell(agent->sampler, arena, &saying->sync.report);
    say_logs(agent, arena, &saying->sync.report);
    say_inventory(agent, arena, saying);
    glance_say(agent->glance, arena, &saying->sync.report);
    digest_saying(saying, arena);
}

static int
send_saying(struct agent *agent, struct arena *arena, struct saying *saying,
            struct error *err)
{
    scoped_json document = NULL;
    struct order order;

    CRASH_POINT("agent.reporting");
    if (link_sync(agent->link, &saying->sync, arena, &document, &order,
                  err) != 0)
        return -1;
    (void)pthread_mutex_lock(&agent->lock);
    roster_acknowledge(agent->roster, &saying->sync.report);
    sampler_told(agent->sampler, saying->uses);
    if (saying->has_inventory)
        agent->told = saying->inventory;
    drop_replies(agent, &saying->sync.report);
    (void)pthread_cond_signal(&agent->work);
    (void)pthread_mutex_unlock(&agent->lock);
    CRASH_POINT("agent.reported");
    take_order(agent, &order, saying->asked);
    return 0;
}

static void *
report_main(void *data)
{
    struct agent *agent = data;
    struct digest last = { 0 };
    int64_t last_ms = 0;
    int64_t wait_ms = BACKOFF_MIN_MS;

    for (;;) {
        scoped_arena arena = arena_new();
        struct saying saying;
        struct error err;

        (void)pthread_mutex_lock(&agent->lock);
        if (!agent->changed)
            wait_for(&agent->news, &agent->lock, REPORT_MS);
        agent->changed = false;
        say(agent, arena, &saying);
        (void)pthread_mutex_unlock(&agent->lock);
        if (digest_compare(&saying.digest, &last) == 0 &&
            clock_mono_ms() - last_ms < REPORT_MS)
            continue;
        if (send_saying(agent, arena, &saying, &err) == 0) {
            last = saying.digest;
            last_ms = clock_mono_ms();
            wait_ms = BACKOFF_MIN_MS;
            continue;
        }
        sync_failed(agent, &err, "report");
        pause_ms(wait_ms);
        wait_ms = longer(wait_ms);
        (void)pthread_mutex_lock(&agent->lock);
        agent->changed = true;
        (void)pthread_mutex_unlock(&agent->lock);
    }
    return NULL;
}

/* --- the engine --- */

static void *
watch_main(void *data)
{
    struct agent *agent = data;
    int64_t revision = 0;
    int wait_ms = 0;

    for (;;) {
        scoped_arena arena = arena_new();
        struct engine_view view;
        struct error err;

        if (agent->engine->ops->observe(agent->engine, revision, wait_ms,
                                        arena, &view, &err) != 0) {
            log_warn("engine: %s", err.text);
            revision = 0;
            wait_ms = 0;
            pause_ms(500);
            continue;
        }
        revision = view.revision;
        wait_ms = WATCH_MS;
        (void)pthread_mutex_lock(&agent->lock);
        roster_observe(agent->roster, &view);
        stir(agent);
        (void)pthread_mutex_unlock(&agent->lock);
    }
    return NULL;
}

static void
free_sight(struct sight *sight)
{
    if (sight == NULL)
        return;
    arena_free(sight->arena);
    free(sight);
}

static struct sight *
look(struct agent *agent, struct error *err)
{
    struct sight *sight = memory_new(1, sizeof(*sight));
    struct sync sync = { .known = "", .challenge = "" };
    scoped_buffer bytes = { 0 };

    sight->arena = arena_new();
    if (agent->engine->ops->inventory(agent->engine, sight->arena,
                                      &sight->inventory, err) != 0) {
        free_sight(sight);
        return NULL;
    }
    sync.report.inventory = &sight->inventory;
    sync_write(&bytes, &sync);
    digest_of(bytes.bytes, bytes.size, &sight->digest);
    return sight;
}

/* A sight that is the same is not set anew: a report may be reading the texts
 * of the old one until it was told, so only a told one is replaced. */
static bool
set_sight(struct agent *agent, struct sight *sight)
{
    bool kept = false;

    (void)pthread_mutex_lock(&agent->lock);
    if (agent->sight == NULL ||
        (digest_compare(&agent->sight->digest, &sight->digest) != 0 &&
         digest_compare(&agent->sight->digest, &agent->told) == 0)) {
        free_sight(agent->sight);
        agent->sight = sight;
        kept = true;
        stir(agent);
    }
    (void)pthread_mutex_unlock(&agent->lock);
    return kept;
}

/* The looks of a sight; tells of them when anything in them is news. */
static void
set_glance(struct agent *agent, const struct report_inventory *inventory)
{
    struct glance *glance = glance_new(inventory->looks, inventory->look_count);
    struct glance *old;

    (void)pthread_mutex_lock(&agent->lock);
    old = agent->glance;
    agent->glance = glance;
    if (glance_is_news(glance, old))
        stir(agent);
    (void)pthread_mutex_unlock(&agent->lock);
    glance_free(old);
}

static void *
inventory_main(void *data)
{
    struct agent *agent = data;

    for (;;) {
        struct error err;
        struct sight *sight = look(agent, &err);

        if (sight == NULL)
            log_warn("inventory: %s", err.text);
        else
            set_glance(agent, &sight->inventory);
        if (sight != NULL && !set_sight(agent, sight))
            free_sight(sight);
        pause_ms(sight == NULL ? 500 : agent->inventory_ms);
    }
    return NULL;
}

/* Every fifth look asks for cards too: their drivers answer slowly. */
static void *
sample_main(void *data)
{
    struct agent *agent = data;

    for (int64_t count = 0;; count++) {
        scoped_arena arena = arena_new();
        struct engine_samples samples;
        struct error err;
        int failed = agent->engine->ops->samples(agent->engine, count % 5 == 0,
                                                 arena, &samples, &err);

        if (failed)
            log_debug("samples: %s", err.text);
        (void)pthread_mutex_lock(&agent->lock);
        if (!failed)
            sampler_take(agent->sampler, &samples);
        (void)pthread_mutex_unlock(&agent->lock);
        pause_ms(agent->sample_ms);
    }
    return NULL;
}

/* --- steps --- */

struct doing {
    struct lane_work work;
    struct agent *agent;
    struct roster_step step;
};

static void
run_step(struct lane_work *work)
{
    struct doing *doing = (struct doing *)work;
    struct agent *agent = doing->agent;
    struct error err;
    bool failed = step_do(agent->engine, agent->logs, &doing->step, &err) != 0;

    if (failed)
        log_write(err.code == ERROR_BUSY || err.code == ERROR_CONFLICT
                      ? LOG_DEBUG
                      : LOG_WARN,
                  NULL, "%s %s: %s", step_name(&doing->step),
                  doing->step.id, err.text);
    (void)pthread_mutex_lock(&agent->lock);
    roster_result(agent->roster, &doing->step, failed ? &err : NULL,
                  clock_wall_ms());
    stir(agent);
    (void)pthread_mutex_unlock(&agent->lock);
    free(doing);
}

static void
hand_out(struct agent *agent, const struct roster_step *step)
{
    struct doing *doing = memory_new(1, sizeof(*doing));
    struct lane *lane = agent->quick;

    if (step->kind == ROSTER_VOLUME)
        lane = agent->volumes;
    else if (step->kind == ROSTER_SCRUB)
        lane = agent->scrubs;
    else if (step->step == DUTY_START)
        lane = agent->starts;
    doing->work.run = run_step;
    doing->agent = agent;
    doing->step = *step;
    lane_push(lane, &doing->work);
}

static void
reconcile(struct agent *agent)
{
    struct roster_step step;

    (void)pthread_mutex_lock(&agent->lock);
    while (roster_next(agent->roster, clock_wall_ms(), &step))
        hand_out(agent, &step);
    wait_for(&agent->work, &agent->lock, RECONCILE_MS);
    (void)pthread_mutex_unlock(&agent->lock);
}

/* --- life --- */

static void
enrol(struct agent *agent, const volatile int *stop)
{
    int64_t wait_ms = BACKOFF_MIN_MS;
    struct error err;

    while (!link_is_enrolled(agent->link) && !*stop) {
        if (link_enrol(agent->link, &err) == 0)
            return;
        log_warn("%s", err.text);
        pause_ms(wait_ms);
        wait_ms = longer(wait_ms);
    }
}

static void
init(struct agent *agent, const struct agent_options *options)
{
    pthread_condattr_t monotonic;
    scoped_buffer path = { 0 };

    agent->engine = options->engine;
    agent->inventory_ms =
        options->inventory_ms > 0 ? options->inventory_ms : 3000;
    buffer_printf(&path, "%s/logs", options->link.state);
    agent->logs = logs_new(agent->engine, path.bytes);
    agent->sample_ms = options->sample_ms > 0 ? options->sample_ms : 1000;
    agent->roster = roster_new();
    agent->sampler = sampler_new();
    agent->starts = lane_new(8);
    agent->quick = lane_new(4);
    agent->volumes = lane_new(2);
    agent->scrubs = lane_new(SCRUBS_AT_ONCE);
    agent->readers = lane_new(4);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&agent->lock, NULL);
    (void)pthread_cond_init(&agent->work, &monotonic);
    (void)pthread_cond_init(&agent->news, &monotonic);
}

int
agent_run(const struct agent_options *options, const volatile int *stop,
          struct error *err)
{
    /* The threads use it until the process is gone. */
    struct agent *agent = memory_new(1, sizeof(*agent));

    if (link_open(&options->link, &agent->link, err) != 0) {
        free(agent);
        return -1;
    }
    init(agent, options);
    enrol(agent, stop);
    if (*stop)
        return 0;
    start_thread(watch_main, agent);
    start_thread(inventory_main, agent);
    if (agent->engine->ops->samples != NULL)
        start_thread(sample_main, agent);
    start_thread(poll_main, agent);
    start_thread(report_main, agent);
    log_info("node %s: at work", options->link.node);
    while (!*stop)
        reconcile(agent);
    return 0;
}
