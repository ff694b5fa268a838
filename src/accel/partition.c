/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/partition.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel/partition_record.h"
#include "base/clock.h"
#include "base/file.h"

#define POLL_MS 50

struct partition {
    struct partition_options options;
    char directory[300];
    pthread_mutex_t change; /* held through a change */
    pthread_mutex_t lock;   /* of what follows, and of each record */
    size_t count;
    struct partition_record *records[ACCEL_CARDS_MAX];
    const struct partition_record *busy; /* waits for it, or changes it */
};

/* What a change is about. */
struct change {
    struct partition *partition;
    struct partition_record *record;
    const struct record_plan *plan;
    const void *holder;
    int wait_ms;
};

/* --- records --- */

static struct partition_record *
find(const struct partition *partition, const char *uuid)
{
    for (size_t i = 0; i < partition->count; i++)
        if (strcmp(partition->records[i]->uuid, uuid) == 0)
            return partition->records[i];
    return NULL;
}

static struct partition_record *
add(struct partition *partition, const struct partition_record *record)
{
    struct partition_record *kept;

    if (partition->count == ACCEL_CARDS_MAX)
        return NULL;
    kept = memory_new(1, sizeof(*kept));
    *kept = *record;
    partition->records[partition->count++] = kept;
    return kept;
}

/* "UUID" or "UUID/slice" of a card that is there. */
static struct partition_record *
record_of(struct partition *partition, const char *part, struct error *err)
{
    struct partition_record fresh = { .pending = false };
    struct partition_record *record;
    struct accel_card card;
    size_t size = strcspn(part, "/");

    if (size == 0 || size > ACCEL_ID_MAX || part[0] == '.') {
        (void)error_set(err, ERROR_NOT_FOUND, "there is no card %.64s", part);
        return NULL;
    }
    (void)snprintf(fresh.uuid, sizeof(fresh.uuid), "%.*s", (int)size, part);
    (void)pthread_mutex_lock(&partition->lock);
    record = find(partition, fresh.uuid);
    (void)pthread_mutex_unlock(&partition->lock);
    if (record != NULL)
        return record;
    if (accel_describe(partition->options.accel, fresh.uuid, &card, err) != 0)
        return NULL;
    (void)pthread_mutex_lock(&partition->lock);
    record = find(partition, fresh.uuid);
    if (record == NULL)
        record = add(partition, &fresh);
    (void)pthread_mutex_unlock(&partition->lock);
    if (record == NULL)
        (void)error_set(err, ERROR_TOO_LARGE, "too many cards");
    return record;
}

static void
load(struct partition *partition, const char *file)
{
    struct partition_record record = { .pending = false };
    size_t size = strlen(file);
    struct error err = { 0 };
    char uuid[ACCEL_ID_MAX + 1];

    if (size < 6 || size - 5 > ACCEL_ID_MAX || file[0] == '.' ||
        strcmp(file + size - 5, ".json") != 0)
        return;
    (void)snprintf(uuid, sizeof(uuid), "%.*s", (int)(size - 5), file);
    if (record_load(&record, partition->directory, uuid, &err) != 0) {
        record = (struct partition_record){ .failed_ms = clock_wall_ms() };
        (void)snprintf(record.uuid, sizeof(record.uuid), "%s", uuid);
        (void)snprintf(record.failure, sizeof(record.failure),
                       "the record of its slices cannot be read: %.180s",
                       err.text);
    }
    (void)add(partition, &record);
}

int
partition_open(struct partition **out, const struct partition_options *options,
               struct error *err)
{
    struct partition *partition;
    const struct dirent *entry;
    DIR *directory;

    if (file_make_directory(options->directory, 0700, err) != 0)
        return -1;
    directory = opendir(options->directory);
    if (directory == NULL)
        return error_set(err, ERROR_INTERNAL, "read the cards' records: %s",
                         strerror(errno));
    partition = memory_new(1, sizeof(*partition));
    partition->options = *options;
    (void)snprintf(partition->directory, sizeof(partition->directory), "%s",
                   options->directory);
    (void)pthread_mutex_init(&partition->change, NULL);
    (void)pthread_mutex_init(&partition->lock, NULL);
    while ((entry = readdir(directory)) != NULL)
        load(partition, entry->d_name);
    (void)closedir(directory);
    *out = partition;
    return 0;
}

void
partition_close(struct partition *partition)
{
    if (partition == NULL)
        return;
    for (size_t i = 0; i < partition->count; i++)
        free(partition->records[i]);
    (void)pthread_mutex_destroy(&partition->change);
    (void)pthread_mutex_destroy(&partition->lock);
    free(partition);
}

/* --- what is there --- */

struct present {
    bool sliced;
    size_t count;
    struct accel_slice list[ACCEL_SLICES_MAX];
};

/* By their starts. */
static int
compare(const void *a, const void *b)
{
    const struct accel_slice *left = a;
    const struct accel_slice *right = b;
    const char *from = strchr(left->name, '@');
    const char *to = strchr(right->name, '@');
    long apart = from == NULL || to == NULL
                     ? 0
                     : strtol(from + 1, NULL, 10) - strtol(to + 1, NULL, 10);

    if (apart != 0)
        return apart < 0 ? -1 : 1;
    return strcmp(left->name, right->name);
}

static int
look(const struct partition *partition, const char *uuid, struct present *out,
     struct error *err)
{
    struct accel *accel = partition->options.accel;
    struct accel_state state = { .health = ACCEL_UNKNOWN };

    *out = (struct present){ .count = 0 };
    if (accel_health(accel, uuid, &state, err) != 0)
        return -1;
    if (state.health == ACCEL_UNKNOWN && !state.sliced &&
        state.reason[0] != '\0')
        return error_set(err, ERROR_BUSY, "card %s: %.120s", uuid,
                         state.reason);
    out->sliced = state.sliced;
    if (!state.sliced)
        return 0;
    if (accel_slices(accel, uuid, out->list, &out->count, err) != 0)
        return -1;
    qsort(out->list, out->count, sizeof(out->list[0]), compare);
    return 0;
}

static bool
is_there(const struct present *present, const char *name)
{
    for (size_t i = 0; i < present->count; i++)
        if (strcmp(present->list[i].name, name) == 0)
            return true;
    return false;
}

static void
part_of(char part[ACCEL_PART_MAX], const struct change *change,
        const char *name)
{
    (void)snprintf(part, ACCEL_PART_MAX, "%s/%s", change->record->uuid, name);
}

/* --- may it be touched --- */

/* At least once, and until nobody is on it or the time is over. */
static int
await_idle(const struct change *change, const char *part, struct error *err)
{
    struct accel *accel = change->partition->options.accel;
    int64_t until = clock_mono_ms() + change->wait_ms;
    struct accel_process list[ACCEL_PROCESSES_MAX];

    for (;;) {
        size_t count = 0;

        if (accel_processes(accel, part, list, &count, err) != 0)
            return err->code == ERROR_NOT_FOUND ? 0 : -1;
        if (count == 0)
            return 0;
        if (clock_mono_ms() >= until)
            return error_set(err, ERROR_CONFLICT,
                             "%zu processes are on %s, the first is \"%.31s\"",
                             count, part, list[0].name);
        (void)poll(NULL, 0, POLL_MS);
    }
}

static int
check_part(const struct change *change, const char *part, struct error *err)
{
    const struct partition_options *options = &change->partition->options;

    if (options->is_bound != NULL &&
        options->is_bound(options->context, part, change->holder))
        return error_set(err, ERROR_CONFLICT, "an instance holds %s", part);
    return await_idle(change, part, err);
}

/* Before the first call that changes anything. */
static int
check(const struct change *change, struct error *err)
{
    char part[ACCEL_PART_MAX];

    if (change->plan->mode != RECORD_KEEP)
        return check_part(change, change->record->uuid, err);
    for (size_t i = 0; i < change->plan->remove.count; i++) {
        part_of(part, change, change->plan->remove.list[i]);
        if (check_part(change, part, err) != 0)
            return -1;
    }
    return 0;
}

/* --- steps --- */

/* Each step finds what an earlier try has done already. */
static int
remove_slices(const struct change *change, const struct record_names *names,
              struct error *err)
{
    struct present present;
    char part[ACCEL_PART_MAX];

    if (names->count == 0)
        return 0;
    if (look(change->partition, change->record->uuid, &present, err) != 0)
        return -1;
    for (size_t i = 0; i < names->count; i++) {
        part_of(part, change, names->list[i]);
        if (!is_there(&present, names->list[i]))
            continue;
        if (check_part(change, part, err) != 0 ||
            accel_slice_destroy(change->partition->options.accel, part, err) !=
                0)
            return error_prefix(err, "%s", names->list[i]);
    }
    return 0;
}

static int
create_slices(const struct change *change, const struct record_names *names,
              struct error *err)
{
    struct present present;
    char part[ACCEL_PART_MAX];

    if (names->count == 0)
        return 0;
    if (look(change->partition, change->record->uuid, &present, err) != 0)
        return -1;
    for (size_t i = 0; i < names->count; i++) {
        part_of(part, change, names->list[i]);
        if (!is_there(&present, names->list[i]) &&
            accel_slice_create(change->partition->options.accel, part, err) !=
                0)
            return -1;
    }
    return 0;
}

static int
set_mode(const struct change *change, enum record_mode mode, struct error *err)
{
    if (mode == RECORD_KEEP)
        return 0;
    if (check_part(change, change->record->uuid, err) != 0)
        return -1;
    return accel_cut(change->partition->options.accel, change->record->uuid,
                     mode == RECORD_CUT, err);
}

static int
go_forward(const struct change *change, struct error *err)
{
    return remove_slices(change, &change->plan->remove, err) != 0 ||
                   set_mode(change, change->plan->mode, err) != 0 ||
                   create_slices(change, &change->plan->create, err) != 0
               ? -1
               : 0;
}

/* To what was there before.  What was made anew is in both lists. */
static int
go_back(const struct change *change, struct error *err)
{
    static const enum record_mode other[] = { RECORD_KEEP, RECORD_WHOLE,
                                              RECORD_CUT };

    return remove_slices(change, &change->plan->create, err) != 0 ||
                   set_mode(change, other[change->plan->mode], err) != 0 ||
                   create_slices(change, &change->plan->remove, err) != 0
               ? -1
               : 0;
}

/* --- a change --- */

static int
save(struct partition *partition, const struct partition_record *record,
     struct error *err)
{
    return record_save(record, partition->directory, err);
}

/* Takes over an image of the record, whose text others may be reading. */
static void
set(struct partition *partition, struct partition_record *record,
    const struct partition_record *image)
{
    (void)pthread_mutex_lock(&partition->lock);
    *record = *image;
    (void)pthread_mutex_unlock(&partition->lock);
}

static void
fail(struct partition_record *image, const struct record_plan *plan,
     const char *text)
{
    char what[RECORD_TEXT_MAX];

    record_say(plan, what);
    (void)snprintf(image->failure, sizeof(image->failure), "%.80s: %.160s",
                   what, text);
    image->failed_ms = clock_wall_ms();
}

static int
done(const struct change *change, bool forward, const char *failure,
     struct error *err)
{
    struct partition_record image = *change->record;
    const struct record_plan *plan = change->plan;

    image.pending = false;
    image.failure[0] = '\0';
    image.failed_ms = 0;
    if (failure != NULL)
        fail(&image, plan, failure);
    for (size_t i = 0; forward && i < plan->remove.count; i++)
        record_drop(&image.own, plan->remove.list[i]);
    for (size_t i = 0; forward && i < plan->create.count; i++)
        record_add(&image.own, plan->create.list[i]);
    if (save(change->partition, &image, err) != 0)
        return -1;
    set(change->partition, change->record, &image);
    return 0;
}

/* It stays as it is, and is tried again. */
static void
stick(const struct change *change, const struct error *why)
{
    struct partition_record image = *change->record;
    struct error ignored = { 0 };

    fail(&image, change->plan, why->text);
    set(change->partition, change->record, &image);
    (void)save(change->partition, &image, &ignored);
}

/* The outcome of the way forward is in err; the layout that was there is
 * served again when it is left by -1 and nothing is pending. */
static int
take_back(const struct change *change, struct error *err)
{
    struct error why = { 0 };

    if (go_back(change, &why) != 0) {
        stick(change, &why);
        return error_help(err, "The layout before could not be brought back: "
                               "%.160s.  It is tried again.",
                          why.text);
    }
    if (done(change, false, err->text, &why) != 0)
        *err = why;
    return -1;
}

static int
work(const struct change *change, struct error *err)
{
    if (go_forward(change, err) != 0)
        return take_back(change, err);
    return done(change, true, NULL, err);
}

/* What an earlier process, or an earlier try, has left. */
static int
settle(struct partition *partition, struct partition_record *record,
       struct error *err)
{
    struct record_plan plan = record->plan;
    struct change change = { .partition = partition,
                             .record = record,
                             .plan = &plan };
    struct error why = { 0 };

    if (!record->pending)
        return 0;
    if (plan.mode == RECORD_KEEP && plan.remove.count == 0) {
        (void)error_set(&why, ERROR_GONE, "whoever asked for it is gone");
        (void)take_back(&change, &why);
    } else
        (void)work(&change, &why);
    if (!record->pending)
        return 0;
    *err = why;
    return error_prefix(err, "an earlier change of the card is not over");
}

static int
refuse(const struct change *change, struct error *err)
{
    struct partition_record image = *change->record;
    struct error ignored = { 0 };
    char before[RECORD_TEXT_MAX];

    memcpy(before, image.failure, sizeof(before));
    fail(&image, change->plan, err->text);
    set(change->partition, change->record, &image);
    if (strcmp(before, image.failure) != 0)
        (void)save(change->partition, &image, &ignored);
    return -1;
}

/* Under the lock of changes; the record has nothing pending. */
static int
apply(const struct change *change, struct error *err)
{
    struct partition_record image = *change->record;
    int result;

    image.plan = *change->plan;
    (void)pthread_mutex_lock(&change->partition->lock);
    change->record->plan = *change->plan;
    change->partition->busy = change->record;
    (void)pthread_mutex_unlock(&change->partition->lock);
    result = check(change, err);
    if (result != 0)
        (void)refuse(change, err);
    image.pending = true;
    if (result == 0)
        result = save(change->partition, &image, err);
    if (result == 0) {
        set(change->partition, change->record, &image);
        result = work(change, err);
    }
    (void)pthread_mutex_lock(&change->partition->lock);
    change->partition->busy = NULL;
    (void)pthread_mutex_unlock(&change->partition->lock);
    return result;
}

/* Names of slices that a reset or a boot took are no longer ours: the next one
 * of that name may be somebody else's. */
static void
forget_gone(struct partition *partition, struct partition_record *record,
            const struct present *present)
{
    struct partition_record image = *record;
    struct error ignored = { 0 };

    for (size_t i = 0; i < record->own.count; i++)
        if (!is_there(present, record->own.list[i]))
            record_drop(&image.own, record->own.list[i]);
    if (image.own.count != record->own.count &&
        save(partition, &image, &ignored) == 0)
        set(partition, record, &image);
}

/* --- the changes there are --- */

static int
foreign_in_the_way(const char *uuid, const char *name, struct error *err)
{
    (void)error_set(err, ERROR_CONFLICT,
                    "slice %s of card %s was not made by the platform", name,
                    uuid);
    return error_help(err, "Whoever made it removes it, or an operator says "
                           "that it may go: bulkhead set card CARD "
                           "clear_foreign=true");
}

/* Fills the plan; 1: nothing is to be done. */
static int
plan_create(const struct partition_record *record,
            const struct present *present, const char *name,
            struct record_plan *plan, struct error *err)
{
    if (!present->sliced)
        return error_set(err, ERROR_CONFLICT, "card %s is not cut",
                         record->uuid);
    if (is_there(present, name)) {
        if (!record_has(&record->own, name))
            return foreign_in_the_way(record->uuid, name, err);
        record_add(&plan->remove, name);
    }
    record_add(&plan->create, name);
    return 0;
}

static int
plan_destroy(const struct partition_record *record,
             const struct present *present, const char *name,
             struct record_plan *plan, struct error *err)
{
    if (!is_there(present, name))
        return 1;
    if (!record_has(&record->own, name))
        return foreign_in_the_way(record->uuid, name, err);
    record_add(&plan->remove, name);
    return 0;
}

static int
plan_cut(const struct partition_record *record, const struct present *present,
         bool on, bool clear, struct record_plan *plan, struct error *err)
{
    for (size_t i = 0; i < present->count; i++) {
        const char *name = present->list[i].name;

        if (!clear && !record_has(&record->own, name))
            return foreign_in_the_way(record->uuid, name, err);
        record_add(&plan->remove, name);
    }
    if (present->sliced != on)
        plan->mode = on ? RECORD_CUT : RECORD_WHOLE;
    return plan->mode == RECORD_KEEP && plan->remove.count == 0;
}

enum wish { CREATE, DESTROY, CUT };

struct request {
    enum wish wish;
    const char *part;
    bool on, clear;
    const void *holder;
};

static int
plan_of(const struct request *request, const struct partition_record *record,
        const struct present *present, struct record_plan *plan,
        struct error *err)
{
    const char *name = request->part + strcspn(request->part, "/");

    if (request->wish == CUT)
        return plan_cut(record, present, request->on, request->clear, plan,
                        err);
    if (name[0] != '/' || name[1] == '\0' || strlen(name) > RECORD_NAME_MAX)
        return error_set(err, ERROR_INVALID, "%.100s is no slice",
                         request->part);
    return request->wish == CREATE
               ? plan_create(record, present, name + 1, plan, err)
               : plan_destroy(record, present, name + 1, plan, err);
}

static int
ask(struct partition *partition, const struct request *request,
    struct error *err)
{
    struct partition_record *record = record_of(partition, request->part, err);
    struct record_plan plan = { .mode = RECORD_KEEP };
    struct change change = { .partition = partition,
                             .record = record,
                             .plan = &plan,
                             .holder = request->holder,
                             .wait_ms = partition->options.wait_ms };
    struct present present;
    int result;

    if (record == NULL)
        return -1;
    (void)pthread_mutex_lock(&partition->change);
    result = settle(partition, record, err);
    if (result == 0)
        result = look(partition, record->uuid, &present, err);
    if (result == 0) {
        forget_gone(partition, record, &present);
        result = plan_of(request, record, &present, &plan, err);
        if (result == 0)
            result = apply(&change, err);
        else if (result < 0)
            (void)refuse(&change, err);
    }
    (void)pthread_mutex_unlock(&partition->change);
    return result < 0 ? -1 : 0;
}

int
partition_create(struct partition *partition, const char *part,
                 const void *holder, struct error *err)
{
    return ask(partition,
               &(struct request){ .wish = CREATE,
                                  .part = part,
                                  .holder = holder },
               err);
}

int
partition_destroy(struct partition *partition, const char *part,
                  struct error *err)
{
    return ask(partition, &(struct request){ .wish = DESTROY, .part = part },
               err);
}

int
partition_check_own(struct partition *partition, const char *part,
                    struct error *err)
{
    const struct partition_record *record = record_of(partition, part, err);
    const char *name = part + strcspn(part, "/") + 1;
    struct present present;
    bool ours;

    if (record == NULL || look(partition, record->uuid, &present, err) != 0)
        return -1;
    (void)pthread_mutex_lock(&partition->lock);
    ours = record_has(&record->own, name);
    (void)pthread_mutex_unlock(&partition->lock);
    return ours || !is_there(&present, name)
               ? 0
               : foreign_in_the_way(record->uuid, name, err);
}

int
partition_cut(struct partition *partition, const char *uuid, bool on,
              bool clear, struct error *err)
{
    return ask(partition,
               &(struct request){
                   .wish = CUT, .part = uuid, .on = on, .clear = clear },
               err);
}

/* --- the start --- */

static void
forget_after_start(struct partition *partition,
                   struct partition_record *record)
{
    struct error ignored = { 0 };
    struct present present;

    if (record->own.count > 0 &&
        look(partition, record->uuid, &present, &ignored) == 0)
        forget_gone(partition, record, &present);
}

void
partition_resume(struct partition *partition,
                 void (*tell)(void *context, const char *text), void *context)
{
    (void)pthread_mutex_lock(&partition->change);
    for (size_t i = 0; i < partition->count; i++) {
        struct partition_record *record = partition->records[i];
        struct error err = { 0 };
        char text[RECORD_TEXT_MAX * 2];
        char what[RECORD_TEXT_MAX];

        if (!record->pending) {
            forget_after_start(partition, record);
            continue;
        }
        record_say(&record->plan, what);
        if (settle(partition, record, &err) != 0)
            (void)snprintf(text, sizeof(text), "card %s: %.200s: %.200s",
                           record->uuid, what, err.text);
        else
            (void)snprintf(text, sizeof(text), "card %s: %.200s was %s",
                           record->uuid, what,
                           record->failure[0] == '\0' ? "completed"
                                                      : "taken back");
        if (tell != NULL)
            tell(context, text);
    }
    (void)pthread_mutex_unlock(&partition->change);
}

/* --- what is shown --- */

static void
append(char text[PARTITION_TEXT_MAX], const char *name)
{
    size_t used = strlen(text);

    (void)snprintf(text + used, PARTITION_TEXT_MAX - used, "%s%s",
                   used > 0 ? " " : "", name);
}

static void
show(const struct partition *partition, const struct partition_record *record,
     struct partition_view *view)
{
    bool busy = record->pending || partition->busy == record;

    for (size_t i = 0; i < view->count; i++) {
        const char *name = view->slices[i].name;

        append(view->layout, name);
        if (!record_has(&record->own, name) &&
            (!busy || (!record_has(&record->plan.create, name) &&
                       !record_has(&record->plan.remove, name))))
            append(view->foreign, name);
    }
    if (busy)
        record_say(&record->plan, view->intent);
    (void)snprintf(view->failure, sizeof(view->failure), "%s",
                   record->failure);
    view->failed_ms = record->failed_ms;
}

int
partition_look(struct partition *partition, const char *uuid,
               struct partition_view *view_out, struct error *err)
{
    const struct partition_record nothing = { .pending = false };
    const struct partition_record *record;
    struct present present;

    if (look(partition, uuid, &present, err) != 0)
        return -1;
    *view_out = (struct partition_view){ .sliced = present.sliced,
                                         .count = present.count };
    memcpy(view_out->slices, present.list, sizeof(present.list));
    (void)pthread_mutex_lock(&partition->lock);
    record = find(partition, uuid);
    show(partition, record != NULL ? record : &nothing, view_out);
    (void)pthread_mutex_unlock(&partition->lock);
    return 0;
}
