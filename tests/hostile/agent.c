/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent CONTROL STATE NODE TOKENFILE: enrols as that node and does what it is
 *     told, in words only: cards are clean, instances run, releases are true.
 * agent CONTROL STATE lie WHAT [INSTANCE CARD OTHER...]: one message as that
 *     node that an honest agent would not send.  OTHER: the node's other
 *     instances, for a lie within a list of all.  Prints the status, the code
 *     and, for what is refused, the reason.
 *
 * STATE is a directory for the node's key; messages are made with the
 * project's own codec and then spoiled.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "engine/message.h"
#include "engine/order.h"
#include "engine/sync.h"
#include "wire.h"

#define CARDS 2
#define MORE 300 /* cards that a liar adds */
#define LIST_MAX 64
#define ID_ROOM 64

struct station {
    struct wire wire;
    struct sign_key key;
    char node[64];
    int64_t epoch;
    int64_t sequence;
    const char *boot;
    char challenge[MESSAGE_CHALLENGE_MAX + 1];
    char name[64];
};

static struct station station;
static struct wire_answer answer;

/* --- sending --- */

static void
send_signed(const char *path, const struct message_envelope *envelope,
            const char *signature, const struct buffer *body)
{
    scoped_buffer request = { 0 };

    buffer_printf(&request,
                  "POST %s HTTP/1.1\r\nHost: x\r\nX-Bulkhead-Boot: %s\r\n"
                  "X-Bulkhead-Epoch: %lld\r\nX-Bulkhead-Sequence: %lld\r\n"
                  "X-Bulkhead-Signature: %s\r\nContent-Length: %zu\r\n",
                  path, envelope->boot, (long long)envelope->epoch,
                  (long long)envelope->sequence, signature, body->size);
    if (envelope->node[0] != '\0')
        buffer_printf(&request, "X-Bulkhead-Node: %s\r\n", envelope->node);
    buffer_add_text(&request, "\r\n");
    buffer_add(&request, body->bytes, body->size);
    wire_ask(&station.wire, &request, &answer);
}

static struct message_envelope
next_envelope(void)
{
    int64_t now_us = clock_mono_us();

    station.sequence = now_us > station.sequence ? now_us
                                                 : station.sequence + 1;
    return (struct message_envelope){ station.node, station.boot,
                                      station.epoch, station.sequence };
}

static void
post(const char *path, const struct message_envelope *envelope,
     const struct buffer *body)
{
    char signature[MESSAGE_SIGNATURE_TEXT];

    message_sign_request(&station.key, path, envelope, body->bytes,
                         body->size, signature);
    send_signed(path, envelope, signature, body);
}

/* --- being a node --- */

static int
enrol(const char *token_file)
{
    scoped_arena arena = arena_new();
    scoped_buffer token = { 0 };
    scoped_buffer body = { 0 };
    struct message_envelope envelope;
    struct message_enrol message = { .node = station.name };
    struct message_enrolled enrolled;
    struct error err;

    if (file_read(token_file, 512, &token, &err) != 0)
        return -1;
    token.bytes[strcspn(token.bytes, "\n")] = '\0';
    message.token = token.bytes;
    memcpy(message.public_key, station.key.public_key, SIGN_PUBLIC_SIZE);
    message_enrol_write(&body, &message);
    envelope = next_envelope();
    post(MESSAGE_ENROL_PATH, &envelope, &body);
    if (answer.status != 200 ||
        message_enrolled_parse(arena, answer.body.bytes, answer.body.size,
                               &enrolled, &err) != 0)
        return -1;
    (void)snprintf(station.node, sizeof(station.node), "%s", enrolled.node);
    station.epoch = enrolled.epoch;
    return 0;
}

/* What the node has, and says of it. */
struct stock {
    struct report_card cards[CARDS + MORE];
    struct report_look looks[CARDS];
    char uuids[CARDS][64];
    struct report_inventory inventory;
};

static void
make_cards(struct stock *stock)
{
    for (int i = 0; i < CARDS; i++) {
        (void)snprintf(stock->uuids[i], sizeof(stock->uuids[i]),
                       "SIM-%.40s-%d", station.name, i);
        stock->cards[i] = (struct report_card){
            .uuid = stock->uuids[i], .vendor = "acme", .model = "X",
            .pci = "", .driver = "1",
            .firmware = "", .arch = "", .serial = "", .domain = "", .island = "", .memory_mib = 16384,
            .compute_units = 64, .numa = -1, .health = REPORT_HEALTHY,
            .health_reason = "", .foreign_name = "",
            .layout = "", .foreign_slices = "", .change = "",
            .change_failure = "",
        };
    }
}

/* What the last order makes an honest node say next. */
struct memory {
    struct report_instance instances[LIST_MAX];
    struct report_release releases[LIST_MAX];
    struct report_scrub scrubs[LIST_MAX];
    struct report_volume volumes[LIST_MAX];
};

static void
obey_instance(const struct order_instance *wanted, struct memory *memory,
              struct report *report)
{
    if (wanted->want == ORDER_STOP &&
        report->release_count < LIST_MAX) {
        memory->releases[report->release_count++] = (struct report_release){
            wanted->instance, wanted->incarnation, wanted->cards,
            wanted->card_count
        };
    } else if (wanted->want != ORDER_STOP &&
               report->instance_count < LIST_MAX) {
        memory->instances[report->instance_count++] =
            (struct report_instance){ .instance = wanted->instance,
                                      .incarnation = wanted->incarnation,
                                      .state = REPORT_RUNNING,
                                      .failure = "",
                                      .checkpoint_step = -1 };
    }
}

static void
obey(const struct order *order, struct memory *memory, struct report *report)
{
    report->instances = memory->instances;
    report->releases = memory->releases;
    report->scrubs = memory->scrubs;
    report->volumes = memory->volumes;
    for (size_t i = 0; i < order->instance_count; i++)
        obey_instance(&order->instances[i], memory, report);
    for (size_t i = 0; i < order->scrub_count && i < LIST_MAX; i++)
        memory->scrubs[report->scrub_count++] =
            (struct report_scrub){ order->scrubs[i], true, "said so", NULL,
                                   0 };
    for (size_t i = 0; i < order->volume_count && i < LIST_MAX; i++)
        memory->volumes[report->volume_count++] = (struct report_volume){
            order->volumes[i].volume,
            order->volumes[i].remove ? REPORT_VOLUME_REMOVED
                                     : REPORT_VOLUME_READY,
            ""
        };
}

static void
take_refusal(struct arena *arena)
{
    struct order_refusal refusal;
    struct error ignored;

    if (order_refusal_parse(arena, buffer_text(&answer.body),
                            answer.body.size, &refusal, &ignored) != 0)
        return;
    if (refusal.floor > station.sequence)
        station.sequence = refusal.floor;
    (void)snprintf(station.challenge, sizeof(station.challenge), "%s",
                   refusal.challenge);
}

static void
say(const struct sync *sync)
{
    scoped_buffer body = { 0 };
    struct message_envelope envelope = next_envelope();

    sync_write(&body, sync);
    post(MESSAGE_SYNC_PATH, &envelope, &body);
}

/* All is well with each of them: without a word about it no card is given. */
static void
make_looks(struct stock *stock)
{
    for (int i = 0; i < CARDS; i++)
        stock->looks[i] = (struct report_look){ .uuid = stock->uuids[i],
                                                .health = REPORT_HEALTHY,
                                                .health_reason = "",
                                                .clean = 1,
                                                .temperature_c = 40,
                                                .power_mw = -1,
                                                .busy_permille = -1,
                                                .memory_used_mib = -1,
                                                .ecc_corrected = -1,
                                                .ecc_uncorrected = -1,
                                                .clock_reasons = -1 };
}

static struct sync
make_sync(struct stock *stock)
{
    make_cards(stock);
    make_looks(stock);
    stock->inventory = (struct report_inventory){ .simulated = true,
                                                  .cpu_milli = 16000,
                                                  .memory_mib = 65536,
                                                  .facts = "{}",
                                                  .cards = stock->cards,
                                                  .card_count = CARDS };
    return (struct sync){ .known = "",
                          .challenge = station.challenge,
                          .report = { .inventory = &stock->inventory,
                                      .looks = stock->looks,
                                      .look_count = CARDS,
                                      .ready = true,
                                      .instances_known = true } };
}

/* Until it is ended. */
static void
serve(void)
{
    struct stock stock;
    struct arena *before = arena_new();
    json_t *document = NULL;
    struct order order = { 0 };
    struct memory memory;

    for (;;) {
        struct arena *arena = arena_new();
        struct sync sync = make_sync(&stock);
        struct error err;

        obey(&order, &memory, &sync.report);
        say(&sync);
        json_decref(document);
        document = NULL;
        order = (struct order){ 0 };
        if (answer.status != 200)
            take_refusal(arena);
        else if (order_parse(arena, answer.body.bytes, answer.body.size,
                             &document, &order, &err) != 0)
            fprintf(stderr, "an order is not understood: %s\n", err.text);
        arena_free(before);
        before = arena;
        usleep(100000);
    }
}

static void
keep(const char *state)
{
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/station", state);
    file = fopen(path, "w");
    if (file == NULL)
        return;
    fprintf(file, "%s %s %lld\n", station.name, station.node,
            (long long)station.epoch);
    (void)fclose(file);
}

static int
recall(const char *state)
{
    char path[256];
    long long epoch = 0;
    FILE *file;
    int read;

    (void)snprintf(path, sizeof(path), "%s/station", state);
    file = fopen(path, "r");
    if (file == NULL)
        return -1;
    read = fscanf(file, "%63s %63s %lld", station.name, station.node, &epoch);
    (void)fclose(file);
    station.epoch = epoch;
    return read == 3 ? 0 : -1;
}

/* --- lies about who or when --- */

static void
post_again(void)
{
    struct stock stock;
    struct sync sync = make_sync(&stock);
    scoped_buffer body = { 0 };
    struct message_envelope envelope = next_envelope();

    sync.report.instances_known = false;
    sync_write(&body, &sync);
    post(MESSAGE_SYNC_PATH, &envelope, &body);
    post(MESSAGE_SYNC_PATH, &envelope, &body);
}

static void
post_spoiled(const char *what, const char *other)
{
    struct stock stock;
    struct sync sync = make_sync(&stock);
    scoped_buffer body = { 0 };
    char signature[MESSAGE_SIGNATURE_TEXT];
    struct message_envelope envelope = next_envelope();
    struct sign_key key = station.key;

    sync_write(&body, &sync);
    if (strcmp(what, "old-sequence") == 0)
        envelope.sequence -= INT64_C(3600) * 1000000;
    else if (strcmp(what, "old-epoch") == 0)
        envelope.epoch -= 1;
    else if (strcmp(what, "next-epoch") == 0)
        envelope.epoch += 1;
    else if (strcmp(what, "other-boot") == 0)
        envelope.boot = "00000000-0000-0000-0000-000000000000";
    else if (strcmp(what, "other-node") == 0)
        envelope.node = other;
    else if (strcmp(what, "negative-sequence") == 0)
        envelope.sequence = -1;
    else if (strcmp(what, "last-sequence") == 0)
        envelope.sequence = INT64_MAX;
    if (strcmp(what, "other-key") == 0)
        random_bytes(key.secret_key, sizeof(key.secret_key));
    message_sign_request(&key, MESSAGE_SYNC_PATH, &envelope, body.bytes,
                         body.size, signature);
    if (strcmp(what, "changed-body") == 0)
        body.bytes[body.size / 2] ^= 1;
    else if (strcmp(what, "no-signature") == 0)
        signature[0] = '\0';
    else if (strcmp(what, "short-signature") == 0)
        signature[20] = '\0';
    send_signed(MESSAGE_SYNC_PATH, &envelope, signature, &body);
}

/* Sent later, numbered earlier. */
static void
post_reordered(void)
{
    struct stock stock;
    struct sync sync = make_sync(&stock);
    struct message_envelope first = next_envelope(), second = next_envelope();
    scoped_buffer body = { 0 };

    sync.report.instances_known = false;
    sync_write(&body, &sync);
    post(MESSAGE_SYNC_PATH, &second, &body);
    post(MESSAGE_SYNC_PATH, &first, &body);
}

/* --- bodies that are none --- */

static void
fill(struct buffer *body, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++)
        buffer_add_text(body, text);
}

static void
post_garbage(const char *what)
{
    scoped_buffer body = { 0 };
    struct message_envelope envelope = next_envelope();

    if (strcmp(what, "garbage") == 0)
        buffer_add(&body, "\x00\xff{]\x01", 5);
    else if (strcmp(what, "huge") == 0)
        fill(&body, "0123456789abcdef", 80000);
    else if (strcmp(what, "deep") == 0)
        fill(&body, "[", 100000);
    else if (strcmp(what, "empty") == 0)
        buffer_add_text(&body, "{}");
    else if (strcmp(what, "twice") == 0)
        buffer_add_text(&body, "{\"protocol\":1,\"protocol\":1}");
    else
        buffer_add_text(&body, "{\"protocol\":1,\"more\":true}");
    post(MESSAGE_SYNC_PATH, &envelope, &body);
}

/* --- lies about facts, by the right node at the right time --- */

static int64_t incarnation = 1; /* of the instance that is lied about */

/* INSTANCE@INCARNATION */
static int64_t
read_instance(const char *text, char id[ID_ROOM])
{
    size_t size = strcspn(text, "@");

    (void)snprintf(id, ID_ROOM, "%.*s", (int)size, text);
    return text[size] == '@' ? strtoll(text + size + 1, NULL, 10) : 1;
}

static struct report_instance
runs(const char *instance, int64_t number)
{
    return (struct report_instance){ .instance = instance,
                                     .incarnation = number,
                                     .state = REPORT_RUNNING,
                                     .failure = "",
                                     .checkpoint_step = -1 };
}

/* A whole honest message, but for what the caller puts in. */
struct lie {
    struct stock stock;
    struct sync sync;
};

static void
lie_begin(struct lie *lie)
{
    lie->sync = make_sync(&lie->stock);
    lie->sync.report.instances_known = false;
}

static void
lie_about_instance(const char *what, const char *instance,
                   char *const *others)
{
    struct lie lie;
    struct report_instance facts[LIST_MAX];
    struct report_instance *fact = &facts[0];
    char ids[LIST_MAX][ID_ROOM];
    size_t count = 1;

    lie_begin(&lie);
    facts[0] = runs(instance, incarnation);
    if (strcmp(what, "inflate") == 0)
        fact->cpu_us = INT64_C(1) << 50;
    else if (strcmp(what, "incarnation") == 0)
        fact->incarnation += 7;
    else if (strcmp(what, "foreign-exit") == 0)
        fact->state = REPORT_EXITED;
    for (; *others != NULL && count < LIST_MAX; others++, count++) {
        int64_t number = read_instance(*others, ids[count]);

        facts[count] = runs(ids[count], number);
    }
    lie.sync.report.instances_known = true;
    lie.sync.report.instances = facts;
    lie.sync.report.instance_count = count;
    say(&lie.sync);
}

static void
lie_about_release(const char *what, const char *instance, const char *card)
{
    struct lie lie;
    const char *cards[] = { card };
    struct report_release fact = { instance, incarnation, cards, 1 };

    lie_begin(&lie);
    if (strcmp(what, "release-incarnation") == 0)
        fact.incarnation += 1;
    else if (strcmp(what, "release-no-cards") == 0)
        fact.card_count = 0;
    lie.sync.report.releases = &fact;
    lie.sync.report.release_count = 1;
    say(&lie.sync);
}

static void
lie_about_scrub(const char *card)
{
    struct lie lie;
    struct report_scrub fact = { card, true, "said so", NULL, 0 };

    lie_begin(&lie);
    lie.sync.report.scrubs = &fact;
    lie.sync.report.scrub_count = 1;
    say(&lie.sync);
}

static void
lie_about_volume(const char *volume)
{
    struct lie lie;
    struct report_volume fact = { volume, REPORT_VOLUME_REMOVED, "" };

    lie_begin(&lie);
    lie.sync.report.volumes = &fact;
    lie.sync.report.volume_count = 1;
    say(&lie.sync);
}

static void
lie_about_cards(const char *what, const char *card)
{
    struct lie lie;

    lie_begin(&lie);
    if (strcmp(what, "stolen-card") == 0) {
        lie.stock.cards[CARDS] = lie.stock.cards[0];
        lie.stock.cards[CARDS].uuid = card;
        lie.stock.inventory.card_count = CARDS + 1;
    } else if (strcmp(what, "other-make") == 0) {
        lie.stock.cards[0].memory_mib *= 2;
    } else if (strcmp(what, "twin-card") == 0) {
        lie.stock.cards[1] = lie.stock.cards[0];
    } else {
        for (int i = CARDS; i < CARDS + MORE; i++)
            lie.stock.cards[i] = lie.stock.cards[0];
        lie.stock.inventory.card_count = CARDS + MORE;
    }
    say(&lie.sync);
}

static void
lie(const char *what, const char *about, const char *card,
    char *const *others)
{
    static const char *const garbage[] = { "garbage", "huge", "deep", "empty",
                                           "twice", "unknown-field" };

    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++)
        if (strcmp(what, garbage[i]) == 0) {
            post_garbage(what);
            return;
        }
    if (strcmp(what, "replay") == 0)
        post_again();
    else if (strcmp(what, "reordered") == 0)
        post_reordered();
    else if (strncmp(what, "release", 7) == 0)
        lie_about_release(what, about, card);
    else if (strcmp(what, "scrub") == 0)
        lie_about_scrub(card);
    else if (strcmp(what, "volume") == 0)
        lie_about_volume(about);
    else if (strcmp(what, "stolen-card") == 0 ||
             strcmp(what, "other-make") == 0 ||
             strcmp(what, "twin-card") == 0 || strcmp(what, "many-cards") == 0)
        lie_about_cards(what, card);
    else if (strcmp(what, "inflate") == 0 ||
             strcmp(what, "incarnation") == 0 ||
             strcmp(what, "foreign-instance") == 0 ||
             strcmp(what, "foreign-exit") == 0)
        lie_about_instance(what, about, others);
    else
        post_spoiled(what, about);
}

static void
print_answer(void)
{
    scoped_json body = json_loadb(buffer_text(&answer.body),
                                  answer.body.size, 0, NULL);
    const char *code = json_string_value(json_object_get(body, "code"));
    const char *text = json_string_value(json_object_get(body, "text"));

    printf("%d %s %s\n", answer.status, code != NULL ? code : "",
           text != NULL ? text : "");
}

int
main(int argc, char **argv)
{
    char path[256];
    char about[ID_ROOM] = "";
    struct error err;

    if (argc < 5)
        return 2;
    station.wire = (struct wire){ argv[1], -1 };
    station.boot = clock_boot_id();
    (void)snprintf(path, sizeof(path), "%s/key", argv[2]);
    if (file_make_directory(argv[2], 0700, &err) != 0 ||
        sign_key_open(path, &station.key, &err) != 0)
        return 2;
    if (strcmp(argv[3], "lie") == 0) {
        if (recall(argv[2]) != 0)
            return 2;
        if (argc > 5)
            incarnation = read_instance(argv[5], about);
        lie(argv[4], about, argc > 6 ? argv[6] : "",
            argv + (argc > 7 ? 7 : argc));
        print_answer();
        return 0;
    }
    (void)snprintf(station.name, sizeof(station.name), "%s", argv[3]);
    if (enrol(argv[4]) != 0) {
        print_answer();
        return 1;
    }
    keep(argv[2]);
    serve();
    return 0;
}
