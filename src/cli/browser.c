/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/browser.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define PATH "/callback"
#define LINE_MAX_SIZE 8192
#define READ_MS 2000

static const char page[] =
    "HTTP/1.1 200 OK\r\n"
    "Content-Type: text/html; charset=utf-8\r\n"
    "Content-Security-Policy: default-src 'none'\r\n"
    "Cache-Control: no-store\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Connection: close\r\n\r\n"
    "<!DOCTYPE html><html lang=\"en\"><title>Bulkhead</title>"
    "<p>Bulkhead has got the answer. You can close this page and go back to "
    "the terminal.</p></html>\n";
static const char nothing[] = "HTTP/1.1 404 Not Found\r\n"
                              "Content-Length: 0\r\n"
                              "Connection: close\r\n\r\n";

int
browser_open(struct browser *browser, bool paste, struct error *err)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
    } at = { .four = { .sin_family = AF_INET,
                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) } };
    socklen_t size = sizeof(at.four);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, &at.any, size) != 0 || listen(fd, 8) != 0 ||
        getsockname(fd, &at.any, &size) != 0) {
        if (fd >= 0)
            (void)close(fd);
        return error_set(err, ERROR_BUSY, "nothing listens on loopback");
    }
    (void)snprintf(browser->redirect, sizeof(browser->redirect),
                   "http://127.0.0.1:%u" PATH,
                   (unsigned)ntohs(at.four.sin_port));
    browser->fd = fd;
    /* The port is only a name then: nobody is to answer there. */
    if (paste) {
        (void)close(fd);
        browser->fd = -1;
    }
    return 0;
}

void
browser_close(const struct browser *browser)
{
    if (browser->fd >= 0)
        (void)close(browser->fd);
}

void
browser_send(const struct browser *browser, const char *url)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
    const char *program = getenv("BROWSER");
    char *words[3];
    pid_t pid;

    (void)fprintf(stderr, "Open this address and log in there:\n\n  %s\n\n",
                  url);
    if (browser->fd < 0)
        (void)fprintf(stderr, "The browser then ends at an address on "
                              "127.0.0.1 that it cannot open.\nCopy that "
                              "address from its address bar and paste it "
                              "here: ");
    if (browser->fd < 0 || program == NULL || program[0] == '\0')
        return;
    words[0] = strdup(program);
    words[1] = strdup(url);
    words[2] = NULL;
    if (posix_spawnp(&pid, program, NULL, NULL, words, environ) != 0)
        (void)fprintf(stderr, "BROWSER does not start.\n");
    free(words[0]);
    free(words[1]);
}

/* --- reading the address --- */

static int
hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static const char *
decode(const struct cli *cli, const char *text, size_t size)
{
    char *out = arena_alloc(cli->arena, size + 1);
    size_t used = 0;

    for (size_t i = 0; i < size; i++) {
        bool escaped = text[i] == '%' && i + 2 < size &&
                       hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0;

        if (escaped) {
            out[used++] =
                (char)(hex(text[i + 1]) * 16 + hex(text[i + 2]));
            i += 2;
        } else {
            out[used++] = (char)(text[i] == '+' ? ' ' : text[i]);
        }
    }
    return out;
}

/* The query of an address or of a request line; false when it is no answer of
 * a login. */
static bool
read_query(const struct cli *cli, const char *text, struct browser_answer *out)
{
    const struct {
        const char *name;
        const char **place;
    } known[] = { { "state=", &out->state },
                  { "code=", &out->code },
                  { "error=", &out->error },
                  { "iss=", &out->iss } };
    const char *at = strchr(text, '?');

    memset(out, 0, sizeof(*out));
    while (at != NULL && (*at == '?' || *at == '&')) {
        size_t size = strcspn(++at, "&# \t\r\n");

        for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
            size_t name = strlen(known[i].name);

            if (size >= name && strncmp(at, known[i].name, name) == 0)
                *known[i].place = decode(cli, at + name, size - name);
        }
        at += size;
    }
    return out->state != NULL && (out->code != NULL || out->error != NULL);
}

static int
read_typed(const struct cli *cli, struct browser_answer *out,
           struct error *err)
{
    char line[LINE_MAX_SIZE];

    if (fgets(line, sizeof(line), stdin) == NULL)
        return error_set(err, ERROR_INTERRUPTED, "no address was given");
    if (read_query(cli, line, out))
        return 0;
    (void)error_set(err, ERROR_INVALID, "that address has no code and state");
    return error_help(err, "begin again, and paste all of the address");
}

/* --- the listener --- */

/* One request line; whoever sends none is not waited for long. */
static bool
read_line(int fd, char line[LINE_MAX_SIZE])
{
    int64_t end_ms = clock_mono_ms() + READ_MS;
    size_t used = 0;

    while (used < LINE_MAX_SIZE - 1 && clock_mono_ms() < end_ms) {
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        ssize_t size;

        if (poll(&ready, 1, 100) <= 0)
            continue;
        size = read(fd, line + used, LINE_MAX_SIZE - 1 - used);
        if (size <= 0)
            return false;
        used += (size_t)size;
        line[used] = '\0';
        if (strchr(line, '\n') != NULL) {
            line[strcspn(line, "\r\n")] = '\0';
            return true;
        }
    }
    return false;
}

static void
say(int fd, const char *text)
{
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static bool
take_request(const struct cli *cli, int fd, struct browser_answer *out)
{
    static const char wanted[] = "GET " PATH "?";
    char line[LINE_MAX_SIZE];
    bool good = read_line(fd, line) &&
                strncmp(line, wanted, sizeof(wanted) - 1) == 0 &&
                read_query(cli, line, out);

    say(fd, good ? page : nothing);
    return good;
}

int
browser_wait(const struct cli *cli, const struct browser *browser,
             struct browser_answer *out, struct error *err)
{
    int64_t end_ms = clock_mono_ms() + BROWSER_WAIT_MS;

    if (browser->fd < 0)
        return read_typed(cli, out, err);
    while (clock_mono_ms() < end_ms) {
        struct pollfd ready = { .fd = browser->fd, .events = POLLIN };
        bool good;
        int fd;

        if (cli_interrupted())
            return error_set(err, ERROR_INTERRUPTED, "interrupted");
        if (poll(&ready, 1, 200) <= 0)
            continue;
        fd = accept4(browser->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        good = take_request(cli, fd, out);
        (void)close(fd);
        if (good)
            return 0;
    }
    (void)error_set(err, ERROR_BUSY, "no answer came from the browser");
    return error_help(err, "on a machine without a browser use --paste");
}
