/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_JOURNAL_H
#define CONTROL_JOURNAL_H

#include "base/arena.h"
#include "control/strangers.h"
#include "core/merkle.h"
#include "core/record.h"
#include "core/retention.h"
#include "core/world.h"

/*
 * Which record comes next in which audit log?  One Merkle log for each tenant
 * and one for the platform.  A record goes into the transaction of the change
 * that it is about, and so does the log's new head (counter "log:ID").  World
 * thread only.
 */

struct loop;
struct journal;
struct intents;

struct journal *journal_new(void);
void journal_free(struct journal *journal);
/* A log's head as stored: hashes of the frontier, lowest level first. */
int journal_load(struct journal *journal, const char *id, uint64_t size,
                 const void *frontier, size_t frontier_size,
                 struct error *err);

/* The epoch in which a log is, as stored. */
int journal_load_epoch(struct journal *journal, const char *id, int64_t epoch,
                       struct error *err);
/* Begins an epoch in every log: its first record names the head that the log
 * was restored with.  source: hex digest of the backup, NULL: unknown. */
void journal_begin_epoch(struct loop *loop, struct arena *arena,
                         int64_t epoch, const char *source);
/* 0: the log was never restored. */
int64_t journal_epoch(const struct journal *journal, const char *id);

/* Appends a record to the log of scope (a tenant or the platform): fills in
 * log, seq, id, times and observer version.  A redacted copy that makes the
 * record too large is left out; its digest stays.  id_out may be NULL. */
void journal_append(struct loop *loop, struct arena *arena, struct ref scope,
                    struct record *record, char id_out[ID_TEXT_MAX]);

/* Commits the heads of the tenants' logs that grew to the platform's log;
 * with `always` also when none did: the heartbeat.  Returns whether a record
 * was written. */
bool journal_commit_heads(struct loop *loop, struct arena *arena,
                          bool always);

/* What is kept of a log (control/pruner.h). */
struct journal_keep {
    struct retention_policy policy; /* the log's own */
    uint64_t ordered;               /* may be pruned: below this index */
    uint64_t recorded;              /* position of the record that says so */
    bool elsewhere;  /* and it is in the platform's log: the tenant is gone */
    uint64_t pruned; /* is pruned: below this index */
};
/* What applies before anything is set. */
struct journal_keep journal_keep_default(const char *id);
struct journal_keep journal_keep(const struct journal *journal,
                                 const char *id);
void journal_set_keep(struct journal *journal, const char *id,
                      const struct journal_keep *keep);

/* "ESTATE/platform" or "ESTATE/TENANT", with an epoch "ESTATE~EPOCH/...";
 * false when it does not fit. */
bool journal_origin(const char *estate, int64_t epoch, const char *log,
                    char origin[RECORD_ORIGIN_MAX]);
/* Entries in the log of that id text; 0 when there is no such log. */
uint64_t journal_size(const struct journal *journal, const char *id);

/*
 * Refusals of one subject: the first few of a second are written one by one,
 * the rest as one record with a count.
 */
struct refusal {
    struct ref subject; /* none: nobody known */
    struct ref scope;   /* whose log */
    const char *verb;
    const char *reason;
};
/* True: write it now.  False: it is counted. */
bool journal_admit(struct journal *journal, const struct refusal *refusal,
                   int64_t now_ms);
/* Effects outside of the store that have not ended (control/intent.h). */
struct intents *journal_intents(struct journal *journal);
/* Failures of nobody known; a record a minute tells how many there were. */
struct strangers *journal_strangers(struct journal *journal);
/* Writes the counted ones whose second is over (all: of all). */
void journal_flush(struct loop *loop, struct arena *arena, bool all);

#endif
