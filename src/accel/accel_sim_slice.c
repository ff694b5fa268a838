/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hard slices of simulated cards.  A card is cut while it has a directory
 * "sliced"; a slice is a file in it, its memory, named by profile and start.
 * What may stand beside what is the vendor's geometry, as in a driver.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "accel/accel_sim_private.h"
#include "base/file.h"

/* Sizes are whole pieces of a scrub. */
#define PIECE INT64_C(65536)
/* Device nodes of slices lie above those of cards. */
#define SLICE_MINOR 65536U

const struct sim_card *
sim_find(const struct accel *accel, const char *uuid, size_t size,
         struct error *err)
{
    const struct sim *sim = accel->state;

    for (size_t i = 0; i < sim->count; i++)
        if (strlen(sim->cards[i].card.uuid) == size &&
            strncmp(sim->cards[i].card.uuid, uuid, size) == 0)
            return &sim->cards[i];
    (void)error_set(err, ERROR_NOT_FOUND, "there is no card %.*s",
                    (int)(size < 64 ? size : 64), uuid);
    return NULL;
}

static const struct geometry_card *
table_of(const struct sim_card *card)
{
    return geometry_card(card->card.vendor, card->card.model,
                         card->card.memory_mib);
}

int
sim_part(const struct accel *accel, const char *text,
         struct sim_part *part_out, struct error *err)
{
    size_t size = strcspn(text, "/");
    struct sim_part part = { .card = sim_find(accel, text, size, err) };

    if (part.card == NULL)
        return -1;
    part.table = table_of(part.card);
    if (text[size] == '/' &&
        (part.table == NULL ||
         !geometry_parse(part.table, text + size + 1, &part.profile,
                         &part.start)))
        return error_set(err, ERROR_NOT_FOUND,
                         "card %s can have no slice %.40s",
                         part.card->card.uuid, text + size + 1);
    *part_out = part;
    return 0;
}

static void
sliced_path(const struct sim *sim, const struct sim_card *card,
            char path[SIM_PATH_MAX])
{
    (void)snprintf(path, SIM_PATH_MAX, "%s/%s/sliced", sim->state_dir,
                   card->card.uuid);
}

void
sim_memory_path(const struct sim *sim, const struct sim_part *part,
                char path[SIM_PATH_MAX])
{
    char name[GEOMETRY_NAME_MAX];

    if (part->profile == NULL)
        (void)snprintf(path, SIM_PATH_MAX, "%s/%s/memory", sim->state_dir,
                       part->card->card.uuid);
    else
        (void)snprintf(path, SIM_PATH_MAX, "%s/%s/sliced/%s", sim->state_dir,
                       part->card->card.uuid,
                       geometry_format(name, part->profile->name,
                                       part->start));
}

int64_t
sim_memory_size(const struct sim *sim, const struct sim_part *part)
{
    int64_t size = sim->file_mib * 1048576;

    if (part->profile == NULL)
        return size;
    return size * part->profile->size / part->table->units / PIECE * PIECE;
}

unsigned
sim_minor(const struct sim_part *part)
{
    if (part->profile == NULL)
        return part->card->minor;
    return SLICE_MINOR + part->card->minor * GEOMETRY_SLICES_MAX +
           (unsigned)part->start;
}

bool
sim_is_sliced(const struct sim *sim, const struct sim_card *card)
{
    char path[SIM_PATH_MAX];
    struct stat file;

    sliced_path(sim, card, path);
    return lstat(path, &file) == 0 && S_ISDIR(file.st_mode);
}

int
sim_each_slice(const struct sim *sim, const struct sim_card *card,
               int (*step)(void *context, const struct sim_part *slice),
               void *context)
{
    struct sim_part slice = { .card = card, .table = table_of(card) };
    char path[SIM_PATH_MAX];
    const struct dirent *entry;
    DIR *directory;
    int result = 0;

    sliced_path(sim, card, path);
    directory = slice.table != NULL ? opendir(path) : NULL;
    if (directory == NULL)
        return 0;
    while (result == 0 && (entry = readdir(directory)) != NULL)
        if (geometry_parse(slice.table, entry->d_name, &slice.profile,
                           &slice.start))
            result = step(context, &slice);
    (void)closedir(directory);
    return result;
}

int
sim_make_memory(const char *path, int64_t size, struct error *err)
{
    scoped_fd fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat now;

    if (fd < 0 || fstat(fd, &now) != 0 ||
        (now.st_size != size && ftruncate(fd, size) != 0) ||
        (size > 0 && posix_fallocate(fd, 0, size) != 0))
        return error_set(err, ERROR_INTERNAL, "make a card's memory: %s",
                         strerror(errno));
    return 0;
}

/* --- the mode --- */

static int
remove_slice(void *context, const struct sim_part *slice)
{
    const struct sim *sim = context;
    char path[SIM_PATH_MAX];

    sim_memory_path(sim, slice, path);
    return unlink(path);
}

static int
make_whole(const struct sim *sim, const struct sim_part *card,
           struct error *err)
{
    char path[SIM_PATH_MAX];

    (void)sim_each_slice(sim, card->card, remove_slice,
                         (void *)(uintptr_t)sim);
    sliced_path(sim, card->card, path);
    if (rmdir(path) != 0)
        return error_set(err, ERROR_INTERNAL, "make card %s whole: %s",
                         card->card->card.uuid, strerror(errno));
    sim_memory_path(sim, card, path);
    return sim_make_memory(path, sim_memory_size(sim, card), err);
}

/* Its memory is given up first: the slices' has to fit beside it. */
static int
make_sliced(const struct sim *sim, const struct sim_part *card,
            struct error *err)
{
    char path[SIM_PATH_MAX];

    if (card->table == NULL)
        return error_set(err, ERROR_UNSUPPORTED,
                         "a card of model %s cannot be cut",
                         card->card->card.model);
    sim_memory_path(sim, card, path);
    if (truncate(path, 0) != 0)
        return error_set(err, ERROR_INTERNAL, "give up a card's memory: %s",
                         strerror(errno));
    sliced_path(sim, card->card, path);
    return file_make_directory(path, 0700, err);
}

int
sim_cut(struct accel *accel, const char *uuid, bool on, struct error *err)
{
    const struct sim *sim = accel->state;
    struct sim_part card;

    if (sim_part(accel, uuid, &card, err) != 0 ||
        sim_check_free(accel, uuid, err) != 0)
        return -1;
    if (sim_is_sliced(sim, card.card) == on)
        return 0;
    return on ? make_sliced(sim, &card, err) : make_whole(sim, &card, err);
}

/* --- slices --- */

static int
add_slice(void *context, const struct sim_part *slice)
{
    geometry_add(context, slice->profile, slice->start);
    return 0;
}

int
sim_slice_create(struct accel *accel, const char *text, struct error *err)
{
    const struct sim *sim = accel->state;
    struct layout layout = { 0 };
    struct sim_part part;
    char path[SIM_PATH_MAX];
    struct stat file;

    if (sim_part(accel, text, &part, err) != 0)
        return -1;
    if (part.profile == NULL || !sim_is_sliced(sim, part.card))
        return error_set(err, ERROR_CONFLICT, "card %s is not cut",
                         part.card->card.uuid);
    sim_memory_path(sim, &part, path);
    if (lstat(path, &file) == 0)
        return sim_check_free(accel, text, err) != 0
                   ? -1
                   : sim_overwrite(path, sim_memory_size(sim, &part), err);
    (void)sim_each_slice(sim, part.card, add_slice, &layout);
    if (!geometry_fits(part.table, &layout, part.profile, part.start))
        return error_set(err, ERROR_CONFLICT,
                         "slice %s does not fit beside those on the card",
                         text);
    return sim_make_memory(path, sim_memory_size(sim, &part), err);
}

int
sim_slice_destroy(struct accel *accel, const char *text, struct error *err)
{
    const struct sim *sim = accel->state;
    struct sim_part part;
    char path[SIM_PATH_MAX];

    if (sim_part(accel, text, &part, err) != 0 ||
        sim_check_free(accel, text, err) != 0)
        return -1;
    if (part.profile == NULL)
        return error_set(err, ERROR_INVALID, "%s is no slice", text);
    sim_memory_path(sim, &part, path);
    if (unlink(path) != 0 && errno != ENOENT)
        return error_set(err, ERROR_INTERNAL, "destroy slice %s: %s", text,
                         strerror(errno));
    return 0;
}
