/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_SIM_PRIVATE_H
#define ACCEL_SIM_PRIVATE_H

#include <jansson.h>
#include <pthread.h>

#include "accel/accel.h"
#include "core/geometry.h"

/* The inside of the simulated cards, for accel_sim.c, accel_sim_slice.c and
 * accel_sim_script.c. */

#define SIM_EVENTS_MAX 100000

struct sim_card {
    struct accel_card card;
    unsigned major, minor;
    int64_t reset_ms; /* the last time, as events count; -1: never */
    int64_t freed_mib; /* by resets, of what was stuck */
};

/* One line of the script. */
struct sim_event {
    int64_t at_ms; /* since the opening */
    const struct sim_card *card;
    enum accel_event_kind kind;
    bool back; /* the card is as new */
    int process; /* 1: a foreign one begins, -1: it ends; 0: not about one */
    char name[32]; /* of the process */
    int64_t number; /* or its pid */
    int32_t instance; /* -1: the whole card */
};

struct sim {
    char *source;
    char *state_dir;
    char node[64];
    int64_t file_mib;
    int64_t opened_ms;
    pthread_mutex_t looking; /* for who has the cards */
    struct topology *topology; /* NULL: not described */
    size_t event_count, told;
    struct sim_event *events; /* in the order of time */
    size_t count;
    struct sim_card cards[]; /* count of them */
};

#define SIM_PATH_MAX 320

/* What "UUID" or "UUID/3g.40gb@4" means on this machine. */
struct sim_part {
    const struct sim_card *card;
    const struct geometry_card *table;      /* NULL: it cannot be cut */
    const struct geometry_profile *profile; /* NULL: the card itself */
    int start;
};

/* The card with that UUID: ERROR_NOT_FOUND. */
const struct sim_card *sim_find(const struct accel *accel, const char *uuid,
                                size_t size, struct error *err);
int sim_part(const struct accel *accel, const char *text,
             struct sim_part *part_out, struct error *err);
/* The file that is the memory of a part, and its size. */
void sim_memory_path(const struct sim *sim, const struct sim_part *part,
                     char path[SIM_PATH_MAX]);
int64_t sim_memory_size(const struct sim *sim, const struct sim_part *part);
unsigned sim_minor(const struct sim_part *part);
bool sim_is_sliced(const struct sim *sim, const struct sim_card *card);
/* Calls for each slice that is there; 0 goes on. */
int sim_each_slice(const struct sim *sim, const struct sim_card *card,
                   int (*step)(void *context, const struct sim_part *slice),
                   void *context);
/* Makes a file of that size with all its room taken. */
int sim_make_memory(const char *path, int64_t size, struct error *err);
/* Fails with ERROR_CONFLICT when a process is on it. */
int sim_check_free(struct accel *accel, const char *uuid, struct error *err);
int sim_overwrite(const char *path, int64_t size, struct error *err);

/* Reads the script; NULL: none. */
int sim_script_open(const struct accel *accel, const json_t *list,
                    struct error *err);
/* What has happened to the card so far; false when it is lost. */
bool sim_script_read(const struct sim *sim, const struct sim_card *card,
                     struct accel_reading *reading_out);
/* Adds the processes that the script has put on the part. */
void sim_script_processes(const struct sim *sim, const struct sim_part *part,
                          struct accel_crew *crew);
int sim_health(struct accel *accel, const char *uuid,
               struct accel_state *state_out, struct error *err);
int sim_scrub(struct accel *accel, const char *text,
              struct accel_scrub *done_out, struct error *err);
int sim_reset(struct accel *accel, const char *uuid, struct error *err);
int sim_read(struct accel *accel, const char *uuid,
             struct accel_reading *reading_out, struct error *err);
int sim_events(struct accel *accel, int wait_ms,
               struct accel_event list[ACCEL_EVENTS_MAX], size_t *count_out,
               struct error *err);
int sim_slices(struct accel *accel, const char *uuid,
               struct accel_slice list[ACCEL_SLICES_MAX], size_t *count_out,
               struct error *err);

int sim_cut(struct accel *accel, const char *uuid, bool on, struct error *err);
int sim_slice_create(struct accel *accel, const char *text, struct error *err);
int sim_slice_destroy(struct accel *accel, const char *text, struct error *err);

/* How much of the part each process has. */
void sim_measure(const struct accel *accel, const char *text,
                 struct accel_crew *crew);

#endif
