/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/common/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define PASSWORD "correct horse battery"
#define READY_MS 60000

void
daemon_give_up(struct daemon *daemon, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vfprintf(stderr, fmt, args);
    (void)fputc('\n', stderr);
    va_end(args);
    if (daemon != NULL && daemon->pid > 0)
        daemon_stop(daemon);
    if (daemon != NULL && daemon->signer_pid > 0)
        (void)kill(daemon->signer_pid, SIGTERM);
    _exit(1);
}

void
daemon_prepare(struct daemon *daemon, const char *argv0)
{
    const char *slash = strrchr(argv0, '/');
    const char *below = getenv("BENCH_DIR");
    struct error err;
    char data[256];

    memset(daemon, 0, sizeof(*daemon));
    (void)snprintf(
        daemon->program, sizeof(daemon->program), "%.*s/../bulkheadd",
        slash != NULL ? (int)(slash - argv0) : 1, slash != NULL ? argv0 : ".");
    (void)snprintf(daemon->home, sizeof(daemon->home),
                   "%.150s/bulkhead-bench.%d",
                   below != NULL ? below : "/var/tmp", (int)getpid());
    (void)snprintf(data, sizeof(data), "%s/data", daemon->home);
    (void)snprintf(daemon->socket, sizeof(daemon->socket), "%s/api.sock",
                   daemon->home);
    (void)snprintf(daemon->stream, sizeof(daemon->stream), "%s/stream.sock",
                   daemon->home);
    if (file_make_directory(daemon->home, 0700, &err) != 0 ||
        file_make_directory(data, 0700, &err) != 0)
        daemon_give_up(NULL, "%s", err.text);
}

static void
write_log(const struct daemon *daemon)
{
    char log[256];
    int fd;

    (void)snprintf(log, sizeof(log), "%s/log", daemon->home);
    fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd >= 0)
        (void)dup2(fd, STDERR_FILENO);
}

static void
run_signer(const struct daemon *daemon)
{
    char program[320], directory[256], path[256];
    int size = (int)(strrchr(daemon->program, '/') - daemon->program);

    (void)snprintf(program, sizeof(program), "%.*s/bulkhead-signer", size,
                   daemon->program);
    (void)snprintf(directory, sizeof(directory), "%s/signer", daemon->home);
    (void)snprintf(path, sizeof(path), "%s/signer.sock", daemon->home);
    write_log(daemon);
    (void)execl(program, "bulkhead-signer", "--directory", directory,
                "--socket", path, (char *)NULL);
    _exit(127);
}

/* Started once; bulkheadd asks it again until it is there. */
static void
start_signer(struct daemon *daemon)
{
    char directory[256];
    struct error err;

    (void)snprintf(directory, sizeof(directory), "%s/signer", daemon->home);
    if (file_make_directory(directory, 0700, &err) != 0)
        daemon_give_up(NULL, "%s", err.text);
    daemon->signer_pid = fork();
    if (daemon->signer_pid == 0)
        run_signer(daemon);
}

static void
run_daemon(const struct daemon *daemon)
{
    char data[256], signer[256];

    (void)snprintf(data, sizeof(data), "%s/data", daemon->home);
    (void)snprintf(signer, sizeof(signer), "%s/signer.sock", daemon->home);
    write_log(daemon);
    (void)execl(daemon->program, "bulkheadd", "--data", data, "--socket",
                daemon->socket, "--stream-socket", daemon->stream,
                "--signer-socket", signer,
                daemon->config[0] == '\0' ? NULL : "--config",
                daemon->config, (char *)NULL);
    _exit(127);
}

static bool
is_ready(struct daemon *daemon)
{
    struct http_target target = { daemon->socket, "http://bulkhead",
                                  NULL };
    struct http_request request = { .method = "GET", .path = "/readyz" };
    scoped_answer answer = { 0 };
    struct error err;

    return http_send(&target, &request, &answer, &err) == 0 &&
           answer.status == 200;
}

int64_t
daemon_start(struct daemon *daemon)
{
    int64_t start_us;

    if (daemon->signer_pid == 0)
        start_signer(daemon);
    start_us = clock_mono_us();
    daemon->pid = fork();
    if (daemon->pid == 0)
        run_daemon(daemon);
    while (!is_ready(daemon)) {
        if (waitpid(daemon->pid, NULL, WNOHANG) != 0 ||
            clock_mono_us() - start_us > READY_MS * INT64_C(1000))
            daemon_give_up(daemon, "bulkheadd did not start, see %s/log",
                           daemon->home);
        (void)usleep(1000);
    }
    return (clock_mono_us() - start_us) / 1000;
}

void
daemon_stop(struct daemon *daemon)
{
    if (daemon->pid <= 0)
        return;
    (void)kill(daemon->pid, SIGTERM);
    (void)waitpid(daemon->pid, NULL, 0);
    daemon->pid = 0;
}

static int
remove_one(const char *path, const struct stat *status, int type,
           struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

void
daemon_remove(struct daemon *daemon)
{
    if (daemon->signer_pid > 0) {
        (void)kill(daemon->signer_pid, SIGTERM);
        (void)waitpid(daemon->signer_pid, NULL, 0);
        daemon->signer_pid = 0;
    }
    (void)nftw(daemon->home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int
send_to(struct daemon *daemon, const char *method, const char *path,
        const char *body, struct http_answer *answer, struct error *err)
{
    struct http_target target = { daemon->socket, "http://bulkhead",
                                  NULL };
    struct http_request request = { .method = method,
                                    .timeout_ms = 60000,
                                    .body = body };
    char authorization[200], whole[512];
    size_t count = 0;

    (void)snprintf(whole, sizeof(whole), "/api/v1%s", path);
    request.path = whole;
    (void)snprintf(authorization, sizeof(authorization),
                   "Authorization: Bearer %s", daemon->token);
    if (daemon->token[0] != '\0')
        request.headers[count++] = authorization;
    if (body != NULL) {
        request.headers[count++] = "Content-Type: application/json";
        request.body_size = strlen(body);
    }
    if (strcmp(method, "PATCH") == 0)
        request.headers[count++] = "If-Match: *";
    return http_send(&target, &request, answer, err);
}

const char *
daemon_read(struct daemon *daemon, const char *path,
            struct http_answer *answer)
{
    struct error err;
    int64_t start_us = clock_mono_us();

    if (send_to(daemon, "GET", path, NULL, answer, &err) != 0)
        daemon_give_up(daemon, "GET %s: %s", path, err.text);
    daemon->asked_us = clock_mono_us() - start_us;
    if (answer->status != 200)
        daemon_give_up(daemon, "GET %s: %ld %s", path, answer->status,
                       buffer_text(&answer->body));
    return buffer_text(&answer->body);
}

json_t *
daemon_ask(struct daemon *daemon, const char *method, const char *path,
           const char *body, long status)
{
    scoped_answer answer = { 0 };
    struct error err;
    json_error_t why;
    int64_t start_us = clock_mono_us();

    if (send_to(daemon, method, path, body, &answer, &err) != 0)
        daemon_give_up(daemon, "%s %s: %s", method, path, err.text);
    daemon->asked_us = clock_mono_us() - start_us;
    if (answer.status != status)
        daemon_give_up(daemon, "%s %s: %ld %s", method, path, answer.status,
                       buffer_text(&answer.body));
    return json_loadb(buffer_text(&answer.body), answer.body.size, 0, &why);
}

uint64_t
daemon_metric(struct daemon *daemon, const char *name)
{
    scoped_answer answer = { 0 };
    struct error err;
    const char *at;

    if (send_to(daemon, "GET", "/metrics", NULL, &answer, &err) != 0 ||
        answer.status != 200)
        daemon_give_up(daemon, "/metrics cannot be read");
    for (at = buffer_text(&answer.body); at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == ' ')
            return strtoull(at + strlen(name), NULL, 10);
    }
    daemon_give_up(daemon, "there is no metric %s", name);
}

void
daemon_log_in(struct daemon *daemon)
{
    scoped_buffer secret = { 0 };
    char path[256], body[512];
    struct error err;
    json_t *answer;

    (void)snprintf(path, sizeof(path), "%s/data/first-admin", daemon->home);
    if (file_read(path, 256, &secret, &err) != 0)
        daemon_give_up(daemon, "%s", err.text);
    (void)snprintf(body, sizeof(body),
                   "{\"secret\":\"%.*s\",\"name\":\"root\","
                   "\"password\":\"" PASSWORD "\"}",
                   (int)strcspn(buffer_text(&secret), "\n"),
                   buffer_text(&secret));
    json_decref(daemon_ask(daemon, "POST", "/first-admin", body, 201));
    answer =
        daemon_ask(daemon, "POST", "/login",
                   "{\"name\":\"root\",\"password\":\"" PASSWORD "\"}", 201);
    (void)snprintf(daemon->token, sizeof(daemon->token), "%s",
                   json_string_value(json_object_get(answer, "token")));
    json_decref(answer);
}

/* The number behind `key` in a file of /proc of the process. */
static int64_t
proc_number(const struct daemon *daemon, const char *file, const char *key)
{
    scoped_buffer text = { 0 };
    char path[64];
    struct error err;
    const char *at;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)daemon->pid, file);
    if (file_read(path, 65536, &text, &err) != 0)
        return 0;
    at = strstr(buffer_text(&text), key);
    return at != NULL ? strtoll(at + strlen(key), NULL, 10) : 0;
}

/* User and system time, the 14th and 15th field of stat. */
static int64_t
cpu_ticks(const struct daemon *daemon)
{
    scoped_buffer text = { 0 };
    char path[64];
    struct error err;
    char *at;
    int64_t user;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)daemon->pid);
    if (file_read(path, 4096, &text, &err) != 0 ||
        (at = strrchr(text.bytes, ')')) == NULL)
        return 0;
    for (unsigned field = 2; field < 14 && at != NULL; field++)
        at = strchr(at + 1, ' ');
    if (at == NULL)
        return 0;
    user = strtoll(at, &at, 10);
    return user + strtoll(at, NULL, 10);
}

struct daemon_use
daemon_use(const struct daemon *daemon)
{
    struct daemon_use use = {
        .cpu_us = cpu_ticks(daemon) * 1000000 / sysconf(_SC_CLK_TCK),
        .written = proc_number(daemon, "io", "wchar:"),
        .resident_kib = proc_number(daemon, "status", "VmRSS:"),
    };

    return use;
}
