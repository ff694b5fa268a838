/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/accel_vendor.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "accel/library.h"
#include "accel/remote.h"
#include "base/arena.h"

static const char *const backends[] = { "nvml", "rocm", "zes" };

#define BACKENDS (sizeof(backends) / sizeof(backends[0]))
#define NVIDIA 0 /* among them */
/* NVIDIA's other cards are not asked meanwhile. */
#define RESET_MS 60000

struct known {
    char uuid[ACCEL_ID_MAX + 1];
    size_t backend;
    bool listed;    /* the last time */
    bool described; /* card holds */
    struct accel_card card;
};

struct vendor {
    struct remote *remotes[BACKENDS];
    char *program, *source, *state_dir; /* as they are given */
    int clean_ms;
    pthread_mutex_t lock; /* of all below */
    size_t count;
    struct known *cards; /* ACCEL_CARDS_MAX of them */
};

/* --- opening --- */

/* The worker's program lies where this one does. */
static void
beside(char *out, size_t room)
{
    char own[256];
    ssize_t size = readlink("/proc/self/exe", own, sizeof(own) - 1);
    char *name;

    own[size > 0 ? size : 0] = '\0';
    name = strrchr(own, '/');
    if (name != NULL)
        *name = '\0';
    (void)snprintf(out, room, "%s/bulkhead-cards", own);
}

static void
close_backend(struct accel *accel)
{
    struct vendor *vendor = accel->state;

    if (vendor == NULL)
        return;
    for (size_t i = 0; i < BACKENDS; i++)
        remote_free(vendor->remotes[i]);
    free(vendor->program);
    free(vendor->source);
    free(vendor->state_dir);
    (void)pthread_mutex_destroy(&vendor->lock);
    free(vendor->cards);
    free(vendor);
    accel->state = NULL;
}

int
accel_vendor_open(struct accel *accel_out,
                  const struct accel_vendor_options *options, struct error *err)
{
    char program[288];
    struct vendor *vendor;
    const char *path = options->program;

    if (path == NULL) {
        beside(program, sizeof(program));
        path = program;
    }
    if (access(path, X_OK) != 0) {
        (void)error_set(err, ERROR_NOT_FOUND,
                        "the program bulkhead-cards is not there");
        return error_help(err, "It is installed beside this one.");
    }
    vendor = memory_new(1, sizeof(*vendor));
    vendor->cards = memory_new(ACCEL_CARDS_MAX, sizeof(vendor->cards[0]));
    vendor->program = memory_strdup(path);
    vendor->source =
        options->source != NULL ? memory_strdup(options->source) : NULL;
    vendor->state_dir = memory_strdup(options->state_dir);
    vendor->clean_ms =
        options->clean_ms > 0 ? options->clean_ms : ACCEL_CLEAN_MS;
    (void)pthread_mutex_init(&vendor->lock, NULL);
    for (size_t i = 0; i < BACKENDS; i++)
        vendor->remotes[i] = remote_new(
            &(struct remote_options){ .program = path,
                                      .backend = backends[i],
                                      .source = options->source,
                                      .state_dir = options->state_dir,
                                      .deadline_ms = options->deadline_ms,
                                      .change_ms = options->change_ms });
    *accel_out = (struct accel){ .ops = &accel_vendor_ops, .state = vendor };
    return 0;
}

static int
open_backend(struct accel *accel, const char *source, const char *state_dir,
             struct error *err)
{
    return accel_vendor_open(accel,
                             &(struct accel_vendor_options){
                                 .source = source, .state_dir = state_dir },
                             err);
}

bool
accel_vendor_library(struct accel *accel, size_t number, const char **name_out,
                     struct accel_survey *survey_out, struct error *err)
{
    const struct wire_request request = { .op = WIRE_SURVEY };
    struct vendor *vendor = accel->state;

    if (number >= BACKENDS)
        return false;
    *name_out = backends[number];
    *err = (struct error){ 0 };
    *survey_out = (struct accel_survey){ 0 };
    (void)remote_call(vendor->remotes[number], &request, survey_out,
                      sizeof(*survey_out), NULL, err);
    return true;
}

/* --- which cards --- */

static struct known *
find(struct vendor *vendor, const char *part)
{
    size_t size = strcspn(part, "/");

    for (size_t i = 0; i < vendor->count; i++)
        if (strlen(vendor->cards[i].uuid) == size &&
            strncmp(vendor->cards[i].uuid, part, size) == 0)
            return &vendor->cards[i];
    return NULL;
}

static void
note(struct vendor *vendor, size_t backend, const char *uuid)
{
    struct known *known = find(vendor, uuid);

    if (known == NULL && vendor->count < ACCEL_CARDS_MAX) {
        known = &vendor->cards[vendor->count++];
        *known = (struct known){ .backend = backend };
        (void)snprintf(known->uuid, sizeof(known->uuid), "%.64s", uuid);
    }
    if (known != NULL)
        known->listed = true;
}

/* A library that does not answer lists what it listed before. */
static void
look(struct vendor *vendor, size_t backend)
{
    static const struct wire_request request = { .op = WIRE_LIST };
    struct wire_uuid uuids[ACCEL_CARDS_MAX];
    struct error ignored;
    size_t size = 0;

    if (remote_call(vendor->remotes[backend], &request, uuids, sizeof(uuids),
                    &size, &ignored) != 0)
        return;
    (void)pthread_mutex_lock(&vendor->lock);
    for (size_t i = 0; i < vendor->count; i++)
        if (vendor->cards[i].backend == backend)
            vendor->cards[i].listed = false;
    for (size_t i = 0; i < size / sizeof(uuids[0]); i++) {
        uuids[i].text[ACCEL_ID_MAX] = '\0';
        note(vendor, backend, uuids[i].text);
    }
    (void)pthread_mutex_unlock(&vendor->lock);
}

static int
list(struct accel *accel, struct arena *arena, const char *const **uuids_out,
     size_t *count_out, struct error *err)
{
    struct vendor *vendor = accel->state;
    const char **uuids = arena_alloc(arena, ACCEL_CARDS_MAX * sizeof(*uuids));

    (void)err;
    for (size_t i = 0; i < BACKENDS; i++)
        look(vendor, i);
    (void)pthread_mutex_lock(&vendor->lock);
    for (size_t i = 0; i < vendor->count; i++)
        uuids[i] = arena_strdup(arena, vendor->cards[i].uuid);
    *count_out = vendor->count;
    (void)pthread_mutex_unlock(&vendor->lock);
    *uuids_out = uuids;
    return 0;
}

/* --- one card --- */

/* A copy of what is known; false when there is no such card. */
static bool
recall(struct vendor *vendor, const char *part, struct known *out)
{
    const struct known *known;

    (void)pthread_mutex_lock(&vendor->lock);
    known = find(vendor, part);
    if (known != NULL)
        *out = *known;
    (void)pthread_mutex_unlock(&vendor->lock);
    return known != NULL;
}

/* The same, after one more look. */
static int
resolve(struct accel *accel, const char *part, struct known *out,
        struct error *err)
{
    scoped_arena arena = arena_new();
    struct vendor *vendor = accel->state;
    const char *const *uuids;
    size_t count;

    if (strlen(part) < ACCEL_PART_MAX &&
        (recall(vendor, part, out) ||
         (list(accel, arena, &uuids, &count, err) == 0 &&
          recall(vendor, part, out))))
        return 0;
    return error_set(err, ERROR_NOT_FOUND, "there is no card %.40s", part);
}

static int
ask(struct accel *accel, struct wire_request *request, const char *part,
    void *payload, size_t size, size_t *got, struct error *err)
{
    struct vendor *vendor = accel->state;
    struct known known;

    if (resolve(accel, part, &known, err) != 0)
        return -1;
    (void)snprintf(request->part, sizeof(request->part), "%s", part);
    return remote_call(vendor->remotes[known.backend], request, payload, size,
                       got, err);
}

static int
describe(struct accel *accel, const char *uuid, struct accel_card *card_out,
         struct error *err)
{
    struct wire_request request = { .op = WIRE_DESCRIBE };
    struct vendor *vendor = accel->state;
    struct known known = { .described = false };
    struct known *kept;

    /* Whoever asks what a card is may hold a lock: not through a reset. */
    if (recall(vendor, uuid, &known) && known.described &&
        remote_is_held(vendor->remotes[known.backend])) {
        *card_out = known.card;
        return 0;
    }
    if (ask(accel, &request, uuid, card_out, sizeof(*card_out), NULL, err) !=
        0) {
        if (!recall(vendor, uuid, &known) || !known.described)
            return -1;
        *card_out = known.card;
        return 0;
    }
    (void)pthread_mutex_lock(&vendor->lock);
    kept = find(vendor, uuid);
    if (kept != NULL) {
        kept->card = *card_out;
        kept->described = true;
    }
    (void)pthread_mutex_unlock(&vendor->lock);
    return 0;
}

static void
say(struct accel_state *state, enum accel_health health, const char *reason)
{
    *state = (struct accel_state){ .health = health,
                                   .memory_used_mib = -1,
                                   .busy_permille = -1,
                                   .temperature_c = -1,
                                   .power_mw = -1 };
    (void)snprintf(state->reason, sizeof(state->reason), "%.127s", reason);
}

/* An unknown state is an answer: the reason says whose silence it is. */
static int
health(struct accel *accel, const char *uuid, struct accel_state *state_out,
       struct error *err)
{
    struct wire_request request = { .op = WIRE_HEALTH };
    struct vendor *vendor = accel->state;
    struct known known;
    struct error why = { 0 };

    if (ask(accel, &request, uuid, state_out, sizeof(*state_out), NULL, &why) ==
        0)
        return 0;
    if (!recall(vendor, uuid, &known)) {
        *err = why;
        return -1;
    }
    if (why.code == ERROR_GONE ||
        (why.code == ERROR_NOT_FOUND && !known.listed &&
         !remote_has_nameless(vendor->remotes[known.backend])))
        say(state_out, ACCEL_FAILED,
            why.code == ERROR_GONE ? "the card is lost"
                                   : "the card is gone: its library does not "
                                     "list it any more");
    else
        say(state_out, ACCEL_UNKNOWN,
            why.code == ERROR_NOT_FOUND ? "the card does not give its name"
                                        : why.text);
    return 0;
}

/* The calls that only pass through. */
#define ONE(name, operation, type)                                             \
    static int name(struct accel *accel, const char *part, struct type *out,   \
                    struct error *err)                                         \
    {                                                                          \
        struct wire_request request = { .op = (operation) };                   \
                                                                               \
        return ask(accel, &request, part, out, sizeof(*out), NULL, err);       \
    }
#define MANY(name, operation, type, most)                                      \
    static int name(struct accel *accel, const char *part,                     \
                    struct type list_out[most], size_t *count_out,             \
                    struct error *err)                                         \
    {                                                                          \
        struct wire_request request = { .op = (operation) };                   \
        size_t size = 0;                                                       \
                                                                               \
        if (ask(accel, &request, part, list_out, (most) * sizeof(list_out[0]), \
                &size, err) != 0)                                              \
            return -1;                                                         \
        *count_out = size / sizeof(list_out[0]);                               \
        return 0;                                                              \
    }
#define NONE(name, operation)                                                  \
    static int name(struct accel *accel, const char *part, struct error *err)  \
    {                                                                          \
        struct wire_request request = { .op = (operation) };                   \
                                                                               \
        return ask(accel, &request, part, NULL, 0, NULL, err);                 \
    }
ONE(read_card, WIRE_READ, accel_reading)
MANY(processes, WIRE_PROCESSES, accel_process, ACCEL_PROCESSES_MAX)
MANY(nodes, WIRE_NODES, accel_node, ACCEL_NODES_MAX)
MANY(usage, WIRE_USAGE, accel_usage, ACCEL_PROCESSES_MAX)
MANY(slices, WIRE_SLICES, accel_slice, ACCEL_SLICES_MAX)
NONE(settle, WIRE_SETTLE)
NONE(slice_create, WIRE_SLICE_CREATE)
NONE(slice_destroy, WIRE_SLICE_DESTROY)

static int
cut(struct accel *accel, const char *uuid, bool on, struct error *err)
{
    struct wire_request request = { .op = WIRE_CUT, .on = on };

    return ask(accel, &request, uuid, NULL, 0, NULL, err);
}

/* --- cleaning --- */

/* In a process of its own, which is gone afterwards. */
static int
clean(struct vendor *vendor, enum wire_op op, const char *uuid,
      struct accel_scrub *done_out, struct error *err)
{
    struct wire_request request = { .op = op };
    int reset_ms =
        vendor->clean_ms < RESET_MS ? vendor->clean_ms : RESET_MS;
    struct remote *remote =
        remote_new(&(struct remote_options){ .program = vendor->program,
                                             .backend = "cuda",
                                             .source = vendor->source,
                                             .state_dir = vendor->state_dir,
                                             .change_ms = op == WIRE_RESET
                                                              ? reset_ms
                                                              : vendor->clean_ms });
    int result;

    (void)snprintf(request.part, sizeof(request.part), "%s", uuid);
    result =
        remote_call(remote, &request, done_out,
                    done_out != NULL ? sizeof(*done_out) : 0, NULL, err);
    remote_free(remote);
    return result;
}

/* CUDA knows a slice by its own UUID; one that is not there is clean. */
static int
clean_slice(struct accel *accel, const char *part, struct accel_scrub *done_out,
            struct error *err)
{
    struct accel_slice found[ACCEL_SLICES_MAX];
    const char *slice = part + strcspn(part, "/") + 1;
    size_t count = 0;

    if (slices(accel, part, found, &count, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (strcmp(found[i].name, slice) == 0)
            return found[i].uuid[0] != '\0'
                       ? clean(accel->state, WIRE_SCRUB, found[i].uuid,
                               done_out, err)
                       : error_set(err, ERROR_UNSUPPORTED,
                                   "the driver gives slice %.40s no UUID",
                                   slice);
    *done_out = (struct accel_scrub){ .method = "the slice is gone" };
    return 0;
}

static int
scrub(struct accel *accel, const char *part, struct accel_scrub *done_out,
      struct error *err)
{
    struct wire_request request = { .op = WIRE_SCRUB };
    struct known known;

    if (resolve(accel, part, &known, err) != 0)
        return -1;
    if (known.backend != NVIDIA)
        return ask(accel, &request, part, done_out, sizeof(*done_out), NULL,
                   err);
    return strchr(part, '/') != NULL
               ? clean_slice(accel, part, done_out, err)
               : clean(accel->state, WIRE_SCRUB, part, done_out, err);
}

/* A card that somebody has open is not reset: NVML lets go of it first. */
static int
reset(struct accel *accel, const char *uuid, struct error *err)
{
    struct wire_request request = { .op = WIRE_RESET };
    struct vendor *vendor = accel->state;
    struct known known;
    int result;

    if (resolve(accel, uuid, &known, err) != 0)
        return -1;
    if (known.backend != NVIDIA)
        return ask(accel, &request, uuid, NULL, 0, NULL, err);
    remote_hold(vendor->remotes[NVIDIA]);
    result = clean(vendor, WIRE_RESET, uuid, NULL, err);
    remote_go(vendor->remotes[NVIDIA]);
    return result;
}

/* Whoever listens waits for all libraries: each waits its part. */
static int
events(struct accel *accel, int wait_ms,
       struct accel_event list_out[ACCEL_EVENTS_MAX], size_t *count_out,
       struct error *err)
{
    const struct wire_request request = { .op = WIRE_EVENTS,
                                          .wait_ms = wait_ms / (int)BACKENDS };
    struct vendor *vendor = accel->state;
    size_t count = 0;

    (void)err;
    for (size_t i = 0; i < BACKENDS; i++) {
        struct error ignored;
        size_t size = 0;

        if (remote_call(vendor->remotes[i], &request, &list_out[count],
                        (ACCEL_EVENTS_MAX - count) * sizeof(list_out[0]), &size,
                        &ignored) == 0)
            count += size / sizeof(list_out[0]);
    }
    *count_out = count;
    return 0;
}

const struct accel_ops accel_vendor_ops = {
    .name = "vendor",
    .open = open_backend,
    .close = close_backend,
    .node_name = library_node_name,
    .list = list,
    .describe = describe,
    .health = health,
    .processes = processes,
    .nodes = nodes,
    .settle = settle,
    .reset = reset,
    .scrub = scrub,
    .cut = cut,
    .slice_create = slice_create,
    .slice_destroy = slice_destroy,
    .slices = slices,
    .read = read_card,
    .usage = usage,
    .events = events,
};
