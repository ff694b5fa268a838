/* SPDX-License-Identifier: Apache-2.0 */
#include "base/http.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"

struct sink {
    struct http_answer *answer;
    bool (*take)(const char *bytes, size_t size, void *data);
    void *data;
    CURL *curl;
};

void
http_answer_release(struct http_answer *answer)
{
    buffer_release(&answer->headers);
    buffer_release(&answer->body);
}

static size_t
on_header(char *bytes, size_t size, size_t count, void *data)
{
    struct sink *sink = data;

    buffer_add(&sink->answer->headers, bytes, size * count);
    return size * count;
}

static size_t
on_body(char *bytes, size_t size, size_t count, void *data)
{
    struct sink *sink = data;
    size_t total = size * count;
    long status = 0;

    /* An error's body is kept whole, also when a stream was asked for. */
    (void)curl_easy_getinfo(sink->curl, CURLINFO_RESPONSE_CODE, &status);
    if (sink->take != NULL && status < 300)
        return sink->take(bytes, total, sink->data) ? total : 0;
    if (sink->answer->body.size + total > HTTP_ANSWER_MAX)
        return 0;
    buffer_add(&sink->answer->body, bytes, total);
    return total;
}

static void
set_options(CURL *curl, const struct http_target *target,
            const struct http_request *request, struct curl_slist *headers,
            struct sink *sink)
{
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, 5000L);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, request->timeout_ms);
    (void)curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 131072L);
    (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    /* A name ".." is a name, not the way to another object. */
    (void)curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, sink);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, sink);
    if (target->unix_path != NULL)
        (void)curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH,
                               target->unix_path);
    if (target->ca_file != NULL)
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, target->ca_file);
    if (strcmp(request->method, "HEAD") == 0)
        (void)curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    if (request->body != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                               (curl_off_t)request->body_size);
    }
}

int
http_stream(const struct http_target *target,
            const struct http_request *request, struct http_answer *answer,
            bool (*take)(const char *bytes, size_t size, void *data),
            void *data, struct error *err)
{
    struct sink sink = { .answer = answer, .take = take, .data = data };
    struct curl_slist *headers = NULL;
    scoped_buffer url = { 0 };
    CURL *curl = curl_easy_init();
    curl_off_t connect_us = 0;
    CURLcode code;

    if (curl == NULL)
        return error_set(err, ERROR_INTERNAL, "no memory for a connection");
    sink.curl = curl;
    headers = curl_slist_append(headers, "Expect:");
    for (int i = 0; i < HTTP_HEADERS_MAX && request->headers[i] != NULL; i++)
        headers = curl_slist_append(headers, request->headers[i]);
    buffer_printf(&url, "%s%s",
                  target->url != NULL ? target->url : "http://localhost",
                  request->path);
    (void)curl_easy_setopt(curl, CURLOPT_URL, url.bytes);
    set_options(curl, target, request, headers, &sink);
    code = curl_easy_perform(curl);
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer->status);
    (void)curl_easy_getinfo(curl, CURLINFO_CONNECT_TIME_T, &connect_us);
    answer->connected = connect_us > 0;
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    /* A stream that the taker stopped is a success. */
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && take != NULL))
        return 0;
    return error_set(err, ERROR_BUSY, "the server did not answer: %s",
                     curl_easy_strerror(code));
}

int
http_send(const struct http_target *target,
          const struct http_request *request, struct http_answer *answer,
          struct error *err)
{
    return http_stream(target, request, answer, NULL, NULL, err);
}

int
http_header(const struct http_answer *answer, const char *name, char *value,
            size_t room)
{
    const char *line = buffer_text(&answer->headers);
    size_t name_size = strlen(name);

    while (*line != '\0') {
        size_t size = strcspn(line, "\r\n");

        if (size > name_size && line[name_size] == ':' &&
            strncasecmp(line, name, name_size) == 0) {
            const char *start = line + name_size + 1;

            start += strspn(start, " \t");
            (void)snprintf(value, room, "%.*s",
                           (int)(line + size - start), start);
            return 0;
        }
        line += size;
        line += strspn(line, "\r\n");
    }
    return -1;
}

void
http_encode(struct buffer *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

    for (; *text != '\0'; text++) {
        if (strchr(plain, *text) != NULL)
            buffer_add_byte(out, (unsigned char)*text);
        else
            buffer_printf(out, "%%%02X", (unsigned)(unsigned char)*text);
    }
}
