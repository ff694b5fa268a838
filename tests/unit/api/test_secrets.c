/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <sys/stat.h>

#include "api/handlers.h"
#include "base/seal.h"
#include "identity/factor.h"
#include "tests/unit/api/estate.h"

/*
 * Secrets that people and programs hold are planted, used, and used where they
 * do not belong; then all that the run wrote is searched for them: every page
 * of the store with its write-ahead log, a backup, standard error, argv, and
 * each answer but those that show a secret once.  They are looked for as they
 * are, in hexadecimal, and in base64 wherever they may begin.
 *
 * What people write into work (the environment of a container) is theirs and
 * is kept with it; it is looked for in logs and records alone.
 */

#define FORMS_MAX 600
#define TEXTS_MAX 48

enum where { EVERYWHERE, RECORDS };

struct form {
    char *bytes;
    size_t size;
    size_t of; /* number of the secret */
    enum where where;
};

static const struct seal_key seal = { { 9 } };
static struct estate estate;
static struct form forms[FORMS_MAX];
static size_t form_count, planted;
static char *texts[TEXTS_MAX]; /* as people type them */
static size_t text_count;
static struct buffer answers, records;
static char log_path[] = "/tmp/bulkhead-secrets-XXXXXX";
static char *developer;

/* --- planting --- */

static void
add_form(const void *bytes, size_t size, enum where where)
{
    assert_true(form_count < FORMS_MAX && size >= 8);
    forms[form_count++] =
        (struct form){ memory_new(1, size), size, planted, where };
    memcpy(forms[form_count - 1].bytes, bytes, size);
}

static void
add_hex(const uint8_t *bytes, size_t size, enum where where)
{
    scoped_buffer hex = { 0 };

    for (size_t i = 0; i < size; i++)
        buffer_printf(&hex, "%02x", bytes[i]);
    add_form(hex.bytes, hex.size, where);
}

/* The characters that follow from the secret alone, when `before` bytes of
 * something else stand before it in a group of three. */
static void
add_base64(const uint8_t *bytes, size_t size, size_t before, enum where where)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    scoped_buffer text = { 0 };

    for (size_t bit = (before * 8 + 5) / 6 * 6; bit + 6 <= (before + size) * 8;
         bit += 6) {
        unsigned value = 0;

        for (size_t i = bit - before * 8; i < bit - before * 8 + 6; i++)
            value = value << 1 | (bytes[i / 8] >> (7 - i % 8) & 1);
        buffer_add_byte(&text, (unsigned char)digits[value]);
    }
    add_form(text.bytes, text.size, where);
    for (size_t i = 0; i < text.size; i++)
        text.bytes[i] = text.bytes[i] == '+'   ? '-'
                        : text.bytes[i] == '/' ? '_'
                                               : text.bytes[i];
    if (memcmp(text.bytes, forms[form_count - 1].bytes, text.size) != 0)
        add_form(text.bytes, text.size, where);
}

static void
plant_bytes(const void *bytes, size_t size, enum where where)
{
    add_form(bytes, size, where);
    add_hex(bytes, size, where);
    for (size_t before = 0; before < 3; before++)
        add_base64(bytes, size, before, where);
    planted++;
}

static void
plant(const char *text)
{
    assert_true(text_count < TEXTS_MAX);
    texts[text_count++] = memory_strdup(text);
    plant_bytes(text, strlen(text), EVERYWHERE);
}

/* --- asking --- */

static void
keep(struct buffer *out)
{
    buffer_add_text(out, buffer_text(&estate.place.last.headers));
    buffer_add(out, estate.place.last.body.bytes,
               estate.place.last.body.size);
    buffer_add_text(out, "\n");
}

static long
say(const char *token, const char *method, const char *path, const char *body)
{
    long status = client_send(&estate.place, token, method, path, body);

    keep(&answers);
    return status;
}

/* A secret that the platform makes: shown once, in this answer alone. */
static void
make(const char *token, const char *path, const char *body, long status,
     const char *member)
{
    char *secret =
        ask_text(&estate.place, token, "POST", path, body, status, member);

    plant(secret);
    free(secret);
}

/* --- what is planted --- */

static void
plant_factor(void)
{
    scoped_json begun =
        ask(&estate.place, developer, "POST", "/factor", NULL, 200);
    const char *uri = json_string_value(json_object_get(begun, "uri"));
    const char *at = strstr(uri, "secret=") + 7;
    struct factor_seed seed = { { 0 } };
    char code[FACTOR_DIGITS + 1], body[64], text[64];
    uint64_t bits = 0;
    unsigned have = 0, used = 0;
    scoped_json done = NULL;
    size_t index;
    json_t *item;

    (void)snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, "&"), at);
    plant(text);
    for (size_t i = 0; text[i] != '\0'; i++) {
        bits = bits << 5 |
               (uint64_t)(text[i] >= 'A' ? text[i] - 'A' : text[i] - '2' + 26);
        have += 5;
        if (have >= 8 && used < FACTOR_SEED_SIZE)
            seed.bytes[used++] = (uint8_t)(bits >> (have -= 8));
    }
    plant_bytes(seed.bytes, sizeof(seed.bytes), EVERYWHERE);
    factor_code(&seed, harness_wall, code);
    (void)snprintf(body, sizeof(body), "{\"code\":\"%s\"}", code);
    done = ask(&estate.place, developer, "POST", "/factor/confirm", body, 200);
    json_array_foreach (json_object_get(done, "recovery"), index, item)
        if (index < 4)
            plant(json_string_value(item));
}

static void
plant_work(void)
{
    static const char secret[] = "environment-of-the-work-31";

    (void)say(developer, "POST",
              "/tenants/research/projects/work/workloads",
              "{\"name\":\"w\",\"class\":\"research\",\"image\":\"x\",\"spec\":"
              "{\"command\":[\"x\"],\"env\":{\"KEY\":"
              "\"environment-of-the-work-31\"}}}");
    assert_int_equal(estate.place.last.status, 201);
    plant_bytes(secret, strlen(secret), RECORDS);
}

static void
plant_all(void)
{
    const char *admin = estate.research.admin;

    developer = join(&estate.place, "research", "coder",
                     "/tenants/research/projects/work", "developer");
    plant(PASSWORD);
    plant(estate.place.root);
    plant(admin);
    plant(developer);
    free(join(&estate.place, "research", "other", "", NULL));
    tell(&estate.place, estate.place.root, "POST",
         "/tenants/research/users/other/password",
         "{\"password\":\"plant-a-long-word-77\"}", 204);
    plant("plant-a-long-word-77");
    make(admin, "/tenants/research/users/boss/apikeys",
         "{\"name\":\"planted\"}", 201, "key");
    make(admin, "/tenants/research/users/boss/apikeys/planted/rotate", "{}",
         200, "key");
    tell(&estate.place, estate.place.root, "POST", "/pools",
         "{\"name\":\"p\",\"kind\":\"shared\"}", 201);
    make(estate.place.root, "/pools/p/jointokens", "{\"node\":\"n1\"}",
         201, "token");
    make(admin, "/tenants/research/invitations", "{\"name\":\"newcomer\"}",
         201, "token");
    tell(&estate.place, admin, "POST", "/tenants/research/identityproviders",
         "{\"name\":\"lab\",\"issuer\":\"https://127.0.0.1:9\","
         "\"client_id\":\"bulkhead\"}",
         201);
    tell(&estate.place, admin, "POST",
         "/tenants/research/identityproviders/lab/secret",
         "{\"client_secret\":\"secret-of-the-client-55\"}", 204);
    plant("secret-of-the-client-55");
    plant_work();
    plant_factor();
}

/* --- each where it does not belong --- */

static void
misuse_bodies(const char *secret)
{
    static const struct {
        const char *path, *body;
    } places[] = {
        { "/login", "{\"name\":\"%s\",\"password\":\"x\"}" },
        { "/login",
          "{\"name\":\"boss\",\"tenant\":\"research\",\"password\":\"%s\"}" },
        { "/login", "{\"name\":\"boss\",\"tenant\":\"%s\",\"password\":\"x\"}" },
        { "/login", "{\"name\":\"boss\",\"passwort\":\"%s\"}" },
        { "/login", "{\"name\":\"boss\",\"password\":[\"%s\"]}" },
        { "/login", "{\"name\":\"boss\",\"password\":\"%s\"" },
        { "/login", "%s" },
        { "/login/sso/callback", "{\"state\":\"%s\",\"code\":\"%s\"}" },
        { "/stepup", "{\"password\":\"%s\"}" },
        { "/stepup", "{\"code\":\"%s\"}" },
        { "/stepup", "{\"recovery\":\"%s\"}" },
        { "/invitations/accept", "{\"token\":\"%s\",\"password\":\"x\"}" },
        { "/first-admin",
          "{\"secret\":\"%s\",\"name\":\"x\",\"password\":\"%s\"}" },
        { "/tenants/research/users/other/password",
          "{\"password\":\"%s\",\"more\":1}" },
        { "/tenants/research/users", "{\"name\":\"x\",\"password\":\"%s\"}" },
        { "/tenants/research/users", "{\"name\":\"x\",\"passwort\":\"%s\"}" },
        { "/tenants/research/projects", "{\"name\":\"x\",\"key\":\"%s\"}" },
        { "/tenants/vision/projects", "{\"name\":\"x\",\"token\":\"%s\"}" },
        { "/tenants/research/projects/work/workloads",
          "{\"class\":\"research\",\"image\":\"x\",\"spec\":{\"command\":"
          "[\"x\"],\"password\":\"%s\"}}" },
        { "/tenants/research/identityproviders",
          "{\"name\":\"x\",\"issuer\":\"https://127.0.0.1\",\"client_id\":"
          "\"x\",\"client_secret\":\"%s\"}" },
    };

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        scoped_buffer body = { 0 };
        const char *at = places[i].body, *next;

        while ((next = strstr(at, "%s")) != NULL) {
            buffer_add(&body, at, (size_t)(next - at));
            buffer_add_text(&body, secret);
            at = next + 2;
        }
        buffer_add_text(&body, at);
        (void)say(i % 2 == 0 ? estate.research.admin : developer, "POST",
                  places[i].path, buffer_text(&body));
    }
}

static void
misuse_paths(const char *secret)
{
    static const char *const places[] = {
        "/whoami?%s=1", /* what an error repeats; but no token of ours */
        "/can-i?verb=%s&object=%s",
        "/whoami?token=%s",
        "/whoami?access_token=%s",
        "/tenants?cursor=%s",
        "/tenants?limit=%s",
        "/tenants/research/projects?watch=1&since=%s",
        "/tenants/%s",
        "/tenants/research/users/%s",
        "/tenants/research/users/%s/apikeys/%s",
        "/%s",
        "=/%s",
    };
    char path[400];

    if (strchr(secret, ' ') != NULL)
        return;
    for (size_t i = strncmp(secret, "bh_", 3) == 0 ? 0 : 2;
         i < sizeof(places) / sizeof(places[0]); i++) {
        const char *cut = strstr(places[i], "%s");

        (void)snprintf(path, sizeof(path), "%.*s%s%s",
                       (int)(cut - places[i]), places[i], secret,
                       strcspn(cut + 2, "%") == strlen(cut + 2) ? cut + 2
                                                                : "");
        (void)say(estate.research.admin, "GET", path, NULL);
        (void)say(NULL, "DELETE", path, NULL);
    }
}

static void
misuse_headers(const char *secret)
{
    static const char *const names[] = {
        "Authorization: Basic", "X-Api-Key:", "Cookie: token=",
        "Idempotency-Key:",     "If-Match:",  "Approval:",
        "User-Agent:",          "Origin:",    "X-Request-Id:",
        "Content-Type:",        "Expect:",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char header[256];

        (void)snprintf(header, sizeof(header), "%s %s", names[i], secret);
        estate.place.headers[0] = header;
        (void)say(i == 0 ? NULL : estate.research.admin, "POST",
                  "/tenants/research/projects", "{\"name\":\"x y\"}");
        estate.place.headers[0] = header;
        (void)say(i == 0 ? NULL : estate.research.admin, "PATCH",
                  "/tenants/research", "{\"display\":\"x\"}");
    }
    (void)say(secret, "GET", "/whoami", NULL);
    (void)say(secret, "GET", "/tenants/vision/projects", NULL);
    (void)say(secret, "POST", "/tenants/vision/projects", "{\"name\":\"x\"}");
}

/* --- reading it all --- */

static void
read_all(const char *token)
{
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &route_table[i];
        char path[200];

        if (route->form != ROUTE_READ || strchr(route->path, '{') != NULL)
            continue;
        (void)snprintf(path, sizeof(path), "=%s", route->path);
        (void)say(token, "GET", path, NULL);
    }
    (void)say(token, "GET", "/tenants/research/users", NULL);
    (void)say(token, "GET", "/tenants/research/identityproviders", NULL);
    (void)say(token, "GET", "/tenants/research/users/boss/sessions", NULL);
    (void)say(token, "GET", "/tenants/research/users/boss/apikeys", NULL);
}

/* Whole logs, page by page, as they are exported. */
static unsigned
read_log(const char *token, const char *path)
{
    unsigned pages = 0;
    long long from = 0;

    for (;; pages++) {
        char full[128];
        const char *at;
        size_t lines = 0;

        (void)snprintf(full, sizeof(full), "%s?raw=%u&limit=100&from=%lld",
                       path, pages % 2, from);
        if (client_send(&estate.place, token, "GET", full, NULL) != 200)
            return pages;
        keep(&records);
        at = buffer_text(&estate.place.last.body);
        while ((at = strstr(at, "\"seq\":")) != NULL)
            at++, lines++;
        if (pages % 2 == 1)
            from += 100;
        if (lines == 0 && pages > 40)
            return pages;
    }
}

/* --- searching --- */

static unsigned
search(const char *place, const char *bytes, size_t size, enum where where)
{
    unsigned found = 0;

    for (size_t i = 0; i < form_count; i++) {
        const struct form *form = &forms[i];
        const char *at;

        if (form->where > where ||
            memmem(bytes, size, form->bytes, form->size) == NULL)
            continue;
        at = memmem(bytes, size, form->bytes, form->size);
        print_message("secret %zu is in %s: %.160s\n", form->of, place,
                      at - bytes > 80 ? at - 80 : bytes);
        found++;
    }
    return found;
}

static unsigned
search_file(const char *path, enum where where)
{
    struct error err;
    scoped_buffer bytes = { 0 };

    if (file_read(path, (size_t)1 << 28, &bytes, &err) != 0)
        return 0;
    return search(path, bytes.bytes, bytes.size, where);
}

static size_t files;

static unsigned
search_tree(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    unsigned found = 0;

    if (directory == NULL) {
        files++;
        return search_file(path, EVERYWHERE);
    }
    while ((entry = readdir(directory)) != NULL) {
        char name[600];

        if (strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0)
            continue;
        (void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        found += search_tree(name);
    }
    (void)closedir(directory);
    return found;
}

/* --- standard error --- */

static int kept_error = -1;

static void
take_error(void)
{
    kept_error = dup(2);
    assert_true(kept_error >= 0 && freopen(log_path, "w", stderr) != NULL);
}

static void
give_error_back(void)
{
    if (kept_error < 0)
        return;
    (void)fflush(stderr);
    (void)dup2(kept_error, 2);
    (void)close(kept_error);
    kept_error = -1;
}

/* --- a run --- */

static void
no_secret_is_in_anything_that_a_run_wrote(void **state)
{
    unsigned found;
    char *auditor;

    (void)state;
    take_error();
    plant_all();
    for (size_t i = 0; i < text_count; i++) {
        misuse_bodies(texts[i]);
        misuse_paths(texts[i]);
        misuse_headers(texts[i]);
    }
    read_all(estate.place.root);
    read_all(estate.guard);
    read_all(estate.research.admin);
    read_all(developer);
    tell(&estate.place, estate.place.root, "POST", "/roles",
         "{\"name\":\"reader\",\"verbs\":[\"audit.read\",\"audit.personal\","
         "\"tenant.get\"]}",
         201);
    auditor = join(&estate.place, NULL, "auditor", "", "reader");
    assert_true(read_log(auditor, "/audit") > 2);
    assert_true(read_log(auditor, "/tenants/research/audit") > 2);
    free(auditor);
    give_error_back();
    found = search("an answer", answers.bytes, answers.size, EVERYWHERE);
    found += search("a record", records.bytes, records.size, RECORDS);
    found += search_tree(estate.place.harness.where);
    found += search_file(log_path, RECORDS);
    found += search_file("/proc/self/cmdline", RECORDS);
    assert_int_equal(found, 0);
    assert_true(files >= 2 && answers.size > 200000 && text_count >= 14);
    assert_non_null(strstr(buffer_text(&records), "workload.create"));
    assert_non_null(strstr(buffer_text(&records), "(left out)"));
}

/* The search would find one, in each form. */
static void
a_secret_that_is_written_is_found(void **state)
{
    static const char *const written[] = {
        "xplant-a-long-word-77x",
        "706c616e742d612d6c6f6e672d776f72642d3737",
        "cGxhbnQtYS1sb25nLXdvcmQtNzc=", /* of the word, of one before it, */
        "eHBsYW50LWEtbG9uZy13b3JkLTc3",  /* and of two */
        "eHhwbGFudC1hLWxvbmctd29yZC03Nw==",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++)
        assert_int_equal(search("a plant", written[i], strlen(written[i]),
                                EVERYWHERE),
                         1);
}

static void
tune(struct api_options *options)
{
    options->seal = &seal;
}

static int
set_up(void **state)
{
    int file = mkstemp(log_path);

    (void)state;
    assert_true(file >= 0);
    (void)close(file);
    estate.place.tune = tune;
    estate_open(&estate);
    return 0;
}

static int
tear_down(void **state)
{
    struct error err;
    scoped_buffer said = { 0 };

    (void)state;
    if (kept_error >= 0 && file_read(log_path, 65536, &said, &err) == 0) {
        give_error_back();
        print_message("%s", buffer_text(&said)); /* why it stopped */
    }
    while (form_count > 0)
        free(forms[--form_count].bytes);
    while (text_count > 0)
        free(texts[--text_count]);
    free(developer);
    buffer_release(&answers);
    buffer_release(&records);
    (void)unlink(log_path);
    estate_close(&estate);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_secret_is_in_anything_that_a_run_wrote),
        cmocka_unit_test(a_secret_that_is_written_is_found),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
