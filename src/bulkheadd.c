/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulkheadd: the control plane.  Owns the world and its store, decides,
 * records, and answers people, programs and agents (control/loop.h).
 *
 * Leaves with 0 after SIGTERM, 70 when a commit failed (start it again: it
 * loads what is really stored), 1 when it cannot start.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "api/server.h"
#include "base/address.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/egress.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/seal.h"
#include "base/version.h"
#include "control/agents.h"
#include "control/defragger.h"
#include "control/bootstrap.h"
#include "control/check.h"
#include "control/loop.h"
#include "control/outbox.h"
#include "control/restore.h"
#include "control/space.h"
#include "control/tick.h"
#include "identity/oidc.h"
#include "store/backup.h"

#define CONFIG_MAX ((size_t)64 * 1024)
#define POLL_MS 100
#define SPACE_LOW_MIB 64 /* free on the disk of --data, at least */

struct options {
    const char *data;
    const char *listen; /* ADDRESS:PORT */
    const char *socket;
    const char *stream_socket;
    const char *signer_socket;
    const char *config;
    const char *port_file;
    const char *backup;
    const char *restore;
};

/* What the configuration file may say, with its bounds. */
struct settings {
    char currency[8];
    int64_t clock_jump_ms;
    int64_t usage_cut_ms;
    int64_t jobs_max;
    int64_t connections_max;
    int64_t flight_max;
    int64_t subject_max;
    int64_t streams_max;
    int64_t timeout_s;
    struct egress_policy egress; /* texts are the daemon's */
    const char *redirects;       /* the same; NULL: none */
    const char *proxies;         /* the same */
    int64_t space_low_mib;
};

/* Everything that runs, in the order of starting. */
struct daemon {
    struct arena *arena;
    int lock;
    struct settings settings;
    struct seal_key seal; /* of secrets that are kept */
    struct loop *loop;
    struct tick *tick;
    struct defragger *defragger;
    struct agents *agents;
    struct api *api;
    struct space *space;
    struct outbox *outbox;
};

static const char usage[] =
    "usage: bulkheadd --data DIR [options]\n"
    "\n"
    "The control plane.  All state is in DIR.\n"
    "  --listen ADDRESS:PORT   TCP for clients (loopback; TLS is nginx's)\n"
    "  --socket PATH           Unix socket for clients [DIR/api.sock]\n"
    "  --stream-socket PATH    another one for watches [DIR/stream.sock]\n"
    "  --signer-socket PATH    of bulkhead-signer; none: nothing is signed\n"
    "  --config FILE           JSON object: currency, clock_jump_ms,\n"
    "                          usage_cut_ms, jobs_max, connections_max,\n"
    "                          flight_max, subject_max, streams_max,\n"
    "                          timeout_s, space_low_mib,\n"
    "                          redirects (where logins by an identity\n"
    "                          provider may end, beside loopback),\n"
    "                          proxies (networks whose X-Forwarded-For is\n"
    "                          kept in the audit log),\n"
    "                          egress (whom the platform may ask:\n"
    "                          hosts, networks, ca_file, loopback)\n"
    "  --port-file PATH        write the TCP port there once it listens\n"
    "  --backup FILE           write a backup of DIR to FILE and end; a\n"
    "                          bulkheadd may run meanwhile\n"
    "  --restore FILE          put a backup into DIR and end; what was there\n"
    "                          is moved aside, never removed\n"
    "  --version               print the version\n"
    "  --help                  print this\n";

static int
parse_options(int argc, char **argv, struct options *out)
{
    static const struct option known[] = {
        { "data", required_argument, NULL, 'd' },
        { "listen", required_argument, NULL, 'l' },
        { "socket", required_argument, NULL, 's' },
        { "stream-socket", required_argument, NULL, 't' },
        { "signer-socket", required_argument, NULL, 'g' },
        { "config", required_argument, NULL, 'c' },
        { "port-file", required_argument, NULL, 'p' },
        { "backup", required_argument, NULL, 'b' },
        { "restore", required_argument, NULL, 'r' },
        { "version", no_argument, NULL, 'v' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    const char **const targets[] = {
        ['d'] = &out->data,          ['l'] = &out->listen,
        ['s'] = &out->socket,        ['t'] = &out->stream_socket,
        ['g'] = &out->signer_socket, ['c'] = &out->config,
        ['p'] = &out->port_file,     ['b'] = &out->backup,
        ['r'] = &out->restore,
    };
    int option;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): before there are threads */
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (option == 'v' || option == 'h') {
            (void)fputs(option == 'v' ? "bulkheadd " VERSION "\n" : usage,
                        stdout);
            return 1;
        }
        if (option == '?')
            return -1;
        *targets[option] = optarg;
    }
    return optind == argc && out->data != NULL ? 0 : -1;
}

/* Whom the platform may ask outside (base/egress.h).  The texts live as long
 * as the daemon. */
static int
read_egress(const json_t *json, struct arena *arena, struct egress_policy *out,
            struct error *err)
{
    static const char *const keys[] = { "hosts", "networks", "ca_file",
                                        "loopback", NULL };
    const char *hosts = NULL, *networks = NULL, *ca_file = NULL;

    if (json == NULL)
        return 0;
    if (json_only(json, keys, err) != 0 ||
        json_text(json, "hosts", false, 4096, &hosts, err) != 0 ||
        json_text(json, "networks", false, 4096, &networks, err) != 0 ||
        json_text(json, "ca_file", false, 4096, &ca_file, err) != 0 ||
        json_bool(json, "loopback", false, &out->loopback, err) != 0)
        return error_prefix(err, "egress");
    out->hosts = hosts == NULL ? NULL : arena_strdup(arena, hosts);
    out->networks = networks == NULL ? NULL : arena_strdup(arena, networks);
    out->ca_file = ca_file == NULL ? NULL : arena_strdup(arena, ca_file);
    if (egress_check_policy(out, err) != 0)
        return error_prefix(err, "egress");
    return 0;
}

/* Where a browser may end after a login, e.g. at a console: exact. */
static int
read_redirects(const json_t *json, struct arena *arena, const char **out,
               struct error *err)
{
    const char *list = NULL;

    if (json_text(json, "redirects", false, 4096, &list, err) != 0 ||
        (list != NULL && oidc_check_redirects(list, err) != 0))
        return -1;
    *out = list == NULL ? NULL : arena_strdup(arena, list);
    return 0;
}

/* Who speaks for clients that come through it. */
static int
read_proxies(const json_t *json, struct arena *arena, const char **out,
             struct error *err)
{
    const char *list = NULL;

    if (json_text(json, "proxies", false, 1024, &list, err) != 0 ||
        (list != NULL && address_check_list(list, err) != 0))
        return error_prefix(err, "proxies");
    *out = list == NULL ? NULL : arena_strdup(arena, list);
    return 0;
}

static int
read_settings(struct arena *arena, const char *path, struct settings *out,
              struct error *err)
{
    static const char *const keys[] = {
        "currency",   "clock_jump_ms", "usage_cut_ms",
        "jobs_max",   "connections_max", "flight_max",
        "subject_max", "streams_max",  "timeout_s",    "egress",
        "space_low_mib", "redirects", "proxies",
        NULL
    };
    scoped_buffer text = { 0 };
    scoped_json json = NULL;
    const char *currency = NULL;
    int rc;

    if (file_read(path, CONFIG_MAX, &text, err) != 0)
        return -1;
    json = json_read(buffer_text(&text), text.size, err);
    if (json == NULL || json_only(json, keys, err) != 0)
        return error_prefix(err, "configuration");
    rc = json_text(json, "currency", false, sizeof(out->currency) - 1,
                   &currency, err);
    rc |= json_int(json, "clock_jump_ms", false, 1, INT64_C(1) << 40,
                   &out->clock_jump_ms, err);
    rc |= json_int(json, "usage_cut_ms", false, 1000, 3600000,
                   &out->usage_cut_ms, err);
    rc |= json_int(json, "jobs_max", false, 1, 1000000, &out->jobs_max, err);
    rc |= json_int(json, "connections_max", false, 1, 100000,
                   &out->connections_max, err);
    rc |= json_int(json, "flight_max", false, 1, 100000, &out->flight_max,
                   err);
    rc |= json_int(json, "subject_max", false, 1, 100000, &out->subject_max,
                   err);
    rc |= json_int(json, "streams_max", false, 1, 100000, &out->streams_max,
                   err);
    rc |= json_int(json, "timeout_s", false, 1, 3600, &out->timeout_s, err);
    rc |= json_int(json, "space_low_mib", false, 0, INT64_C(1) << 30,
                   &out->space_low_mib, err);
    rc |= read_egress(json_object_get(json, "egress"), arena, &out->egress,
                      err);
    rc |= read_redirects(json, arena, &out->redirects, err);
    rc |= read_proxies(json, arena, &out->proxies, err);
    if (rc == 0 && currency != NULL)
        (void)snprintf(out->currency, sizeof(out->currency), "%s", currency);
    return rc == 0 ? 0 : error_prefix(err, "configuration");
}

/* One daemon for a data directory. */
static int
take_lock(struct daemon *daemon, const char *data, struct error *err)
{
    const char *path = arena_printf(daemon->arena, "%s/lock", data);

    if (file_make_directory(data, 0700, err) != 0)
        return -1;
    daemon->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (daemon->lock < 0)
        return error_set(err, ERROR_INTERNAL, "lock: errno %d", errno);
    if (flock(daemon->lock, LOCK_EX | LOCK_NB) != 0)
        return error_set(err, ERROR_CONFLICT,
                         "another bulkheadd runs on this data directory");
    return 0;
}

static void
run_check(struct loop *loop, struct job *job)
{
    check_world(job->data, loop_world(loop));
}

/* What was loaded must hold together; if not, somebody has to know, but
 * running work is better off with a control plane than without. */
static int
check_loaded(struct daemon *daemon, struct error *err)
{
    struct check *check = arena_alloc(daemon->arena, sizeof(*check));
    struct job job = { .run = run_check,
                       .arena = daemon->arena,
                       .data = check };

    check_begin(check, daemon->arena, 0);
    if (loop_call(daemon->loop, &job, err) != 0)
        return -1;
    for (size_t i = 0; i < check->broken && i < CHECK_FINDINGS; i++)
        log_error("check: %s: %s %s",
                  check_rule_text(check->findings[i].rule),
                  check->findings[i].object, check->findings[i].text);
    return 0;
}

static int
open_loop(struct daemon *daemon, const struct options *options,
          const struct settings *settings, struct error *err)
{
    struct loop_options loop = {
        .ops = &store_sqlite,
        .where = arena_printf(daemon->arena, "%s/store", options->data),
        .jobs_max = (size_t)settings->jobs_max,
        .jump_ms = settings->clock_jump_ms,
    };
    struct bootstrap bootstrap = {
        .currency = settings->currency[0] != '\0' ? settings->currency : NULL,
        .secret_path =
            arena_printf(daemon->arena, "%s/first-admin", options->data),
    };
    struct tick_options tick = { .usage_ms = settings->usage_cut_ms };

    if (backup_finish(options->data, err) != 0 ||
        loop_open(&loop, &daemon->loop, err) != 0 ||
        restore_declare(daemon->loop, err) != 0 ||
        bootstrap_run(daemon->loop, &bootstrap, err) != 0 ||
        tick_record_start(daemon->loop, err) != 0 ||
        check_loaded(daemon, err) != 0)
        return -1;
    daemon->tick = tick_start(daemon->loop, &tick);
    daemon->defragger = defragger_start(daemon->loop);
    return 0;
}

static const char *
or_in_data(struct daemon *daemon, const char *path, const char *data,
           const char *name)
{
    return path != NULL ? path
                        : arena_printf(daemon->arena, "%s/%s", data, name);
}

static int
split_address(struct daemon *daemon, const char *text,
              struct api_options *out, struct error *err)
{
    const char *colon;
    char *end;
    long port;

    if (text == NULL)
        return 0;
    colon = strrchr(text, ':');
    if (colon == NULL || colon == text)
        return error_set(err, ERROR_INVALID,
                         "--listen wants ADDRESS:PORT, not \"%s\"", text);
    port = strtol(colon + 1, &end, 10);
    if (*end != '\0' || end == colon + 1 || port < 0 || port > 65535)
        return error_set(err, ERROR_INVALID, "\"%s\" is not a port",
                         colon + 1);
    out->address =
        arena_strndup(daemon->arena, text, (size_t)(colon - text));
    out->port = (uint16_t)port;
    return 0;
}

static int
start_api(struct daemon *daemon, const struct options *options,
          const struct settings *settings, struct error *err)
{
    struct agents_options agents = {
        .key_path =
            arena_printf(daemon->arena, "%s/control.key", options->data)
    };
    struct api_options api = {
        .unix_path = or_in_data(daemon, options->socket, options->data,
                                "api.sock"),
        .stream_path = or_in_data(daemon, options->stream_socket,
                                  options->data, "stream.sock"),
        .secret_path =
            arena_printf(daemon->arena, "%s/first-admin", options->data),
        .audit_path = arena_printf(daemon->arena, "%s/audit", options->data),
        .signer_socket = options->signer_socket,
        .store_ops = &store_sqlite,
        .store_path = arena_printf(daemon->arena, "%s/store", options->data),
        .version = VERSION,
        .egress = &settings->egress,
        .redirects = settings->redirects,
        .proxies = settings->proxies,
        .seal = &daemon->seal,
        .connections_max = (unsigned)settings->connections_max,
        .flight_max = (unsigned)settings->flight_max,
        .subject_max = (unsigned)settings->subject_max,
        .streams_max = (unsigned)settings->streams_max,
        .timeout_s = (unsigned)settings->timeout_s,
    };

    if (seal_key_open(arena_printf(daemon->arena, "%s/secrets.key",
                                   options->data),
                      &daemon->seal, err) != 0 ||
        split_address(daemon, options->listen, &api, err) != 0 ||
        agents_start(daemon->loop, &agents, &daemon->agents, err) != 0)
        return -1;
    api.agents = daemon->agents;
    return api_start(daemon->loop, &api, &daemon->api, err);
}

static int
write_port(const struct daemon *daemon, const char *path, struct error *err)
{
    char text[16];

    if (path == NULL)
        return 0;
    (void)snprintf(text, sizeof(text), "%u\n",
                   (unsigned)api_port(daemon->api));
    return file_write(path, text, strlen(text), 0644, err);
}

static int
start(struct daemon *daemon, const struct options *options, struct error *err)
{
    struct settings *settings = &daemon->settings;
    struct space_options space = { .directory = options->data };
    struct outbox_options outbox = {
        .directory = arena_printf(daemon->arena, "%s/audit", options->data),
        .signer_socket = options->signer_socket,
    };

    settings->space_low_mib = SPACE_LOW_MIB;
    if (options->config != NULL &&
        read_settings(daemon->arena, options->config, settings, err) != 0)
        return -1;
    if (take_lock(daemon, options->data, err) != 0 ||
        open_loop(daemon, options, settings, err) != 0 ||
        start_api(daemon, options, settings, err) != 0)
        return -1;
    space.low = settings->space_low_mib * 1024 * 1024;
    daemon->space = space_new(daemon->loop, &space);
    outbox.space = daemon->space;
    if (outbox_start(daemon->loop, &outbox, &daemon->outbox, err) != 0 ||
        loop_start(daemon->loop, err) != 0)
        return -1;
    return write_port(daemon, options->port_file, err);
}

static void
stop(struct daemon *daemon)
{
    if (daemon->agents != NULL)
        agents_stop(daemon->agents);
    api_stop(daemon->api);
    if (daemon->loop != NULL)
        loop_stop(daemon->loop);
    outbox_stop(daemon->outbox);
    space_free(daemon->space);
    agents_free(daemon->agents);
    tick_free(daemon->tick);
    defragger_free(daemon->defragger);
    loop_close(daemon->loop);
    api_free(daemon->api);
    if (daemon->lock >= 0)
        (void)close(daemon->lock);
    arena_free(daemon->arena);
}

/* The signal that ends the daemon, 0 when the loop failed. */
static int
wait_for_end(const struct daemon *daemon, const sigset_t *signals)
{
    const struct timespec period = { 0, POLL_MS * 1000000L };

    for (;;) {
        int number = sigtimedwait(signals, NULL, &period);

        if (number > 0)
            return number;
        if (loop_failed(daemon->loop))
            return 0;
    }
}

static void
block_signals(sigset_t *out)
{
    (void)sigemptyset(out);
    (void)sigaddset(out, SIGTERM);
    (void)sigaddset(out, SIGINT);
    (void)sigaddset(out, SIGHUP);
    /* Before any thread starts, so that all of them inherit it. */
    (void)pthread_sigmask(SIG_BLOCK, out, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a failed write is enough */
}

/* --- work that ends --- */

static void
say(const char *what, const char *path, const struct backup_info *info)
{
    (void)printf("%s %s: %lld bytes, sha256 %s\n"
                 "made %s by version %s, schema %lld, revision %lld\n"
                 "no key is in it: keep control.key and the signer's key "
                 "apart from it\n",
                 what, path, (long long)info->size, info->digest,
                 info->created, info->version, (long long)info->schema,
                 (long long)info->revision);
}

static int
run_backup(struct daemon *daemon, const struct options *options,
           struct error *err)
{
    const char *store = arena_printf(daemon->arena, "%s/store",
                                     options->data);
    const struct backup_source source = {
        .ops = &store_sqlite,
        .store = store,
        .audit = arena_printf(daemon->arena, "%s/audit", options->data),
        .version = VERSION,
        .now_ms = clock_wall_ms(),
    };
    struct backup_info info;

    if (backup_file(&source, options->backup, &info, err) != 0)
        return -1;
    say("wrote", options->backup, &info);
    return 0;
}

static int
run_restore(struct daemon *daemon, const struct options *options,
            struct error *err)
{
    struct backup_info info;

    if (take_lock(daemon, options->data, err) != 0 ||
        backup_restore(&store_sqlite, options->restore, options->data, &info,
                       err) != 0)
        return -1;
    say("restored", options->restore, &info);
    (void)puts("start bulkheadd: it looks on, and starts nothing until "
               "`bulkhead restore confirm`");
    return 0;
}

static int
run_once(struct daemon *daemon, const struct options *options)
{
    struct error err;
    int rc = options->backup != NULL ? run_backup(daemon, options, &err)
                                     : run_restore(daemon, options, &err);

    if (rc != 0)
        (void)fprintf(stderr, "bulkheadd: %s\n", err.text);
    stop(daemon);
    return rc == 0 ? 0 : 1;
}

/* A long list, a copy of the world for estimates or a backup is large and soon
 * freed.  It goes back to the system then, and what stays is what is held: glibc
 * would raise its bound with each such block and keep an arena for each thread
 * at the size of its largest moment. */
static void
tune_memory(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    (void)mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
    (void)mallopt(M_ARENA_MAX, 4);
}

int
main(int argc, char **argv)
{
    struct options options = { 0 };
    struct daemon daemon = { .arena = arena_new(), .lock = -1 };
    struct error err;
    sigset_t signals;
    int rc = parse_options(argc, argv, &options);

    if (rc != 0) {
        if (rc < 0)
            (void)fputs(usage, stderr);
        arena_free(daemon.arena);
        return rc < 0 ? 2 : 0;
    }
    if (options.backup != NULL || options.restore != NULL)
        return run_once(&daemon, &options);
    tune_memory();
    log_open("bulkheadd", LOG_INFO);
    block_signals(&signals);
    if (start(&daemon, &options, &err) != 0) {
        log_error("cannot start: %s", err.text);
        stop(&daemon);
        return 1;
    }
    log_info("bulkheadd %s is ready", VERSION);
    rc = wait_for_end(&daemon, &signals) > 0 ? 0 : LOOP_EXIT;
    log_info(rc == 0 ? "stopping" : "leaving after a failed commit");
    stop(&daemon);
    return rc;
}
