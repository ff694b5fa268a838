/* SPDX-License-Identifier: Apache-2.0 */
#include "base/egress.h"

#include <ctype.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>

#include "base/address.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/sign.h"
#include "base/version.h"

#define HOST_MAX 254
#define HEADERS_MAX ((size_t)65536)
#define CONNECT_MS 4000L

/* Where one hop goes. */
struct target {
    char url[EGRESS_URL_MAX];
    char host[HOST_MAX]; /* lower case, no brackets, no dot at the end */
    long port;
    bool https;
};

/* One hop under way. */
struct visit {
    const struct egress_policy *policy;
    const struct target *target;
    struct egress_answer *answer;
    size_t max;
    size_t headers;
    bool refused; /* an address was */
    bool too_large;
};

/* --- what may be asked --- */

/* *.example.org holds every name below example.org, but not itself. */
static bool
host_matches(const char *item, size_t size, const char *host)
{
    size_t length = strlen(host);

    if (size > 2 && item[0] == '*' && item[1] == '.') {
        item++;
        size--;
        return length > size &&
               strncasecmp(host + length - size, item, size) == 0;
    }
    return length == size && strncasecmp(host, item, size) == 0;
}

static bool
host_allowed(const char *hosts, const char *host)
{
    if (hosts == NULL || hosts[0] == '\0')
        return true;
    while (*hosts != '\0') {
        size_t size = strcspn(hosts, ", ");

        if (size > 0 && host_matches(hosts, size, host))
            return true;
        hosts += size;
        hosts += strspn(hosts, ", ");
    }
    return false;
}

static bool
address_allowed(const struct egress_policy *policy, bool https,
                const struct address *address)
{
    switch (address_kind(address)) {
    case ADDRESS_PUBLIC:
        return https;
    case ADDRESS_PRIVATE:
        return https && policy->networks != NULL &&
               address_in(policy->networks, address);
    case ADDRESS_LOOPBACK:
        return policy->loopback;
    case ADDRESS_NEVER:
        return false;
    }
    return false;
}

static int
refuse_address(const struct target *target, struct error *err)
{
    return error_set(err, ERROR_DENIED,
                     "%s: its address is not one that may be asked",
                     target->host);
}

/* Only what every reader of a URL reads alike. */
static int
check_characters(const char *url, struct error *err)
{
    const char *authority = strstr(url, "://");
    size_t size = strlen(url);

    if (size >= EGRESS_URL_MAX)
        return error_set(err, ERROR_INVALID,
                         "a URL has at most %d characters",
                         EGRESS_URL_MAX - 1);
    for (size_t i = 0; i < size; i++)
        if (url[i] <= ' ' || url[i] > '~' || url[i] == '\\')
            return error_set(err, ERROR_INVALID,
                             "the URL has a blank, a control character, a "
                             "backslash or one that is not ASCII");
    if (authority == NULL)
        return error_set(err, ERROR_INVALID, "the URL has no scheme");
    authority += 3;
    if (memchr(authority, '@', strcspn(authority, "/?#")) != NULL)
        return error_set(err, ERROR_INVALID,
                         "the URL holds a user name or a password");
    return 0;
}

static int
take_host(CURLU *parts, struct target *out, struct error *err)
{
    char *host = NULL, *zone = NULL;
    const char *from;
    size_t size;
    int rc = 0;

    if (curl_url_get(parts, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        curl_url_get(parts, CURLUPART_ZONEID, &zone, 0) == CURLUE_OK) {
        rc = error_set(err, ERROR_INVALID, "the URL has no host");
    } else {
        from = host[0] == '[' ? host + 1 : host;
        size = strcspn(from, "]");
        while (size > 0 && from[size - 1] == '.')
            size--;
        if (size == 0 || size >= sizeof(out->host))
            rc = error_set(err, ERROR_INVALID, "the URL has no host");
        for (size_t i = 0; rc == 0 && i < size; i++)
            out->host[i] = (char)tolower((unsigned char)from[i]);
        if (rc == 0)
            out->host[size] = '\0';
    }
    curl_free(host);
    curl_free(zone);
    return rc;
}

static int
take_scheme(CURLU *parts, const struct egress_policy *policy,
            struct target *out, struct error *err)
{
    char *scheme = NULL, *port = NULL;
    bool http;

    if (curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) !=
            CURLUE_OK) {
        curl_free(scheme);
        return error_set(err, ERROR_INVALID, "the URL cannot be read");
    }
    out->https = strcasecmp(scheme, "https") == 0;
    http = strcasecmp(scheme, "http") == 0;
    out->port = strtol(port, NULL, 10);
    curl_free(scheme);
    curl_free(port);
    if (!out->https && !(http && policy->loopback))
        return error_set(err, ERROR_INVALID, "the URL begins with https://");
    if (out->port != 443 && out->port < 1024)
        return error_set(err, ERROR_DENIED,
                         "port %ld is not asked: 443 and those from 1024 on "
                         "are",
                         out->port);
    return 0;
}

static int
parse(CURLU *parts, const struct egress_policy *policy, const char *url,
      struct target *out, struct error *err)
{
    char *whole = NULL;

    if (curl_url_set(parts, CURLUPART_URL, url, 0) != CURLUE_OK)
        return error_set(err, ERROR_INVALID, "the URL cannot be read");
    if (take_scheme(parts, policy, out, err) != 0 ||
        take_host(parts, out, err) != 0)
        return -1;
    if (curl_url_get(parts, CURLUPART_URL, &whole, 0) != CURLUE_OK ||
        strlen(whole) >= sizeof(out->url)) {
        curl_free(whole);
        return error_set(err, ERROR_INVALID, "the URL cannot be read");
    }
    memcpy(out->url, whole, strlen(whole) + 1);
    curl_free(whole);
    return 0;
}

static int
judge(const struct egress_policy *policy, const char *url, struct target *out,
      struct error *err)
{
    CURLU *parts = curl_url();
    struct address literal;
    int rc;

    if (parts == NULL)
        return error_set(err, ERROR_INTERNAL, "no memory for a URL");
    rc = check_characters(url, err);
    if (rc == 0)
        rc = parse(parts, policy, url, out, err);
    curl_url_cleanup(parts);
    if (rc != 0)
        return -1;
    if (!host_allowed(policy->hosts, out->host))
        return error_set(err, ERROR_DENIED,
                         "%s: not one of the hosts that the operator allows",
                         out->host);
    if (address_parse(out->host, &literal) &&
        !address_allowed(policy, out->https, &literal))
        return refuse_address(out, err);
    return 0;
}

int
egress_check(const struct egress_policy *policy, const char *url,
             struct error *err)
{
    struct target target;

    return judge(policy, url, &target, err);
}

int
egress_check_policy(const struct egress_policy *policy, struct error *err)
{
    const char *hosts = policy->hosts == NULL ? "" : policy->hosts;

    for (; *hosts != '\0'; hosts++)
        if (isalnum((unsigned char)*hosts) == 0 &&
            strchr("-.*:, ", *hosts) == NULL)
            return error_set(err, ERROR_INVALID,
                             "\"%.200s\" is not a list of hosts such as "
                             "sso.example.org, *.example.com",
                             policy->hosts);
    return policy->networks == NULL
               ? 0
               : address_check_list(policy->networks, err);
}

/* --- asking --- */

/* Every connection of a hop begins here, with the very address that it goes
 * to: nothing can come between judgement and use. */
static curl_socket_t
open_socket(void *data, curlsocktype purpose, struct curl_sockaddr *to)
{
    struct visit *visit = data;
    struct address address;

    if (purpose != CURLSOCKTYPE_IPCXN || !address_of(&to->addr, &address) ||
        !address_allowed(visit->policy, visit->target->https, &address)) {
        visit->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

static size_t
/* NOLINTNEXTLINE(readability-non-const-parameter): the type is curl's */
on_header(char *bytes, size_t size, size_t count, void *data)
{
    struct visit *visit = data;

    (void)bytes;
    visit->headers += size * count;
    if (visit->headers <= HEADERS_MAX)
        return size * count;
    visit->too_large = true;
    return 0;
}

static size_t
on_body(char *bytes, size_t size, size_t count, void *data)
{
    struct visit *visit = data;
    size_t total = size * count;

    if (total > visit->max - visit->answer->body.size) {
        visit->too_large = true;
        return 0;
    }
    buffer_add(&visit->answer->body, bytes, total);
    return total;
}

static void
set_bounds(CURL *curl, struct visit *visit, long left_ms)
{
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    (void)curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    (void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_HTTP_VERSION,
                           (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, left_ms);
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                           left_ms < CONNECT_MS ? left_ms : CONNECT_MS);
    (void)curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE,
                           (curl_off_t)visit->max);
    (void)curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    (void)curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, visit);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, visit);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, visit);
    if (visit->policy->ca_file != NULL)
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, visit->policy->ca_file);
}

static struct curl_slist *
make_headers(const struct egress_request *request)
{
    struct curl_slist *headers = NULL;
    scoped_buffer line = { 0 };

    headers = curl_slist_append(headers, "Expect:");
    headers = curl_slist_append(headers, "Accept: application/json");
    headers = curl_slist_append(headers, "User-Agent: bulkhead/" VERSION);
    if (request->basic == NULL && request->bearer == NULL)
        return headers;
    if (request->basic != NULL) {
        buffer_add_text(&line, "Authorization: Basic ");
        base64_encode(&line, request->basic, strlen(request->basic));
    } else {
        buffer_printf(&line, "Authorization: Bearer %s", request->bearer);
    }
    headers = curl_slist_append(headers, buffer_text(&line));
    secret_clear(line.bytes, line.size);
    return headers;
}

static void
free_headers(struct curl_slist *headers)
{
    for (struct curl_slist *at = headers; at != NULL; at = at->next)
        secret_clear(at->data, strlen(at->data));
    curl_slist_free_all(headers);
}

/* The name's address as tests want it, NULL: as the system says. */
static struct curl_slist *
make_resolve(const struct egress_policy *policy, const struct target *target)
{
    scoped_buffer line = { 0 };
    const char *address;

    if (policy->resolve == NULL)
        return NULL;
    address = policy->resolve(policy->data, target->host);
    if (address == NULL)
        return NULL;
    buffer_printf(&line, "%s:%ld:%s", target->host, target->port, address);
    return curl_slist_append(NULL, buffer_text(&line));
}

static int
explain(const struct visit *visit, CURLcode code, struct error *err)
{
    if (visit->too_large || code == CURLE_FILESIZE_EXCEEDED)
        return error_set(err, ERROR_TOO_LARGE,
                         "%s: the answer has more than %zu bytes",
                         visit->target->host, visit->max);
    if (visit->refused)
        return refuse_address(visit->target, err);
    return error_set(err, ERROR_BUSY, "%s: %s", visit->target->host,
                     curl_easy_strerror(code));
}

/* 1: redirected, with the place in next. */
static int
take_answer(CURL *curl, const struct egress_request *request,
            struct egress_answer *answer, char next[EGRESS_URL_MAX],
            struct error *err)
{
    const char *type = NULL, *url = NULL;

    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer->status);
    (void)curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
    (void)curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &url);
    (void)snprintf(answer->type, sizeof(answer->type), "%s",
                   type == NULL ? "" : type);
    if (url == NULL || request->form != NULL)
        return 0;
    if (strlen(url) >= EGRESS_URL_MAX)
        return error_set(err, ERROR_INVALID, "a redirect's URL is too long");
    memcpy(next, url, strlen(url) + 1);
    return 1;
}

static int
hop(const struct egress_request *request, struct visit *visit, long left_ms,
    char next[EGRESS_URL_MAX], struct error *err)
{
    CURL *curl = curl_easy_init();
    struct curl_slist *headers, *resolve;
    CURLcode code;
    int rc;

    if (curl == NULL)
        return error_set(err, ERROR_INTERNAL, "no memory for a connection");
    headers = make_headers(request);
    resolve = make_resolve(visit->policy, visit->target);
    set_bounds(curl, visit, left_ms);
    (void)curl_easy_setopt(curl, CURLOPT_URL, visit->target->url);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(curl, CURLOPT_RESOLVE, resolve);
    if (request->form != NULL)
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->form);
    code = curl_easy_perform(curl);
    rc = code == CURLE_OK
             ? take_answer(curl, request, visit->answer, next, err)
             : explain(visit, code, err);
    curl_easy_cleanup(curl);
    free_headers(headers);
    curl_slist_free_all(resolve);
    return rc;
}

int
egress_fetch(const struct egress_policy *policy,
             const struct egress_request *request,
             struct egress_answer *answer, struct error *err)
{
    long limit_ms =
        policy->timeout_ms > 0 ? policy->timeout_ms : EGRESS_TIMEOUT_MS;
    int64_t end_ms = clock_mono_ms() + limit_ms;
    char url[EGRESS_URL_MAX];
    bool was_https = false;

    if (check_characters(request->url, err) != 0)
        return -1;
    memcpy(url, request->url, strlen(request->url) + 1);
    for (unsigned hops = 0; hops <= EGRESS_REDIRECTS; hops++) {
        struct target target;
        struct visit visit = { .policy = policy,
                               .target = &target,
                               .answer = answer,
                               .max = request->max };
        int64_t left_ms = end_ms - clock_mono_ms();
        int rc;

        if (judge(policy, url, &target, err) != 0)
            return hops > 0 ? error_prefix(err, "redirect") : -1;
        if (was_https && !target.https)
            return error_set(err, ERROR_DENIED,
                             "a redirect leads from https to http");
        if (left_ms <= 0)
            return error_set(err, ERROR_BUSY, "%s: no answer in time",
                             target.host);
        was_https = target.https;
        buffer_clear(&answer->body);
        rc = hop(request, &visit, (long)left_ms, url, err);
        if (rc <= 0)
            return rc;
    }
    return error_set(err, ERROR_DENIED, "more than %d redirects",
                     EGRESS_REDIRECTS);
}
