/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_AUDIT_WALK_H
#define CLI_AUDIT_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "core/record.h"
#include "core/retention.h"

/*
 * Do the files of one audit log tell the truth about each entry?
 *
 * Reads the directory of one log (identity/audit_dir.h says what is in it)
 * from the first entry to the last, and holds it against heads that somebody
 * vouched for.
 */

/* Ways in which a log can lie; AUDIT_LIE(name, text). */
#define AUDIT_LIES(X)                                                         \
    X(NONE, "none")                                                           \
    X(DAMAGED, "damaged")         /* a file is not what its format says */    \
    X(EDITED, "edited")           /* an entry is not the one logged */        \
    X(DELETED, "deleted")         /* an entry is gone, later ones are there */ \
    X(PRUNED, "pruned")           /* a pruning that the policy does not allow */ \
    X(REORDERED, "reordered")     /* entries changed places */                \
    X(TRUNCATED, "truncated")     /* the tail that was signed is gone */      \
    X(FORKED, "forked")           /* two heads that cannot both be true */    \
    X(UNDECLARED, "undeclared")   /* set back without a record that says so */ \
    X(FORGED, "forged")           /* a checkpoint that the key did not sign */ \
    X(MISSING, "missing")         /* the platform committed to more */        \
    X(UNCOMMITTED, "uncommitted") /* the platform did not commit to it */     \
    X(UNWITNESSED, "unwitnessed") /* the witness did not cosign */            \
    X(SILENT, "silent")           /* no heartbeat, and no restart explains it */ \
    X(TIME, "time")               /* time ran backwards within a boot */      \
    X(OPEN, "open")               /* an intent without an outcome */

enum audit_lie {
#define X(name, text) AUDIT_##name,
    AUDIT_LIES(X)
#undef X
        AUDIT_LIE_COUNT
};

const char *audit_lie_text(enum audit_lie lie);

/* The first lie found. */
struct audit_finding {
    enum audit_lie lie;
    char log[RECORD_ORIGIN_MAX];
    uint64_t index; /* of the first bad entry; the least it can be when only
                       heads tell */
    char text[256]; /* one sentence */
};

/* Fills the finding and err (ERROR_VERIFY) and returns -1. */
int audit_finding_set(struct audit_finding *finding, const char *log,
                      enum audit_lie lie, uint64_t index, struct error *err,
                      const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

/* A head that the entries must give. */
struct audit_mark {
    uint64_t size;
    struct digest root;
    bool committed; /* vouched for by the platform's log, not by the signer */
    unsigned rank;  /* of the signer's key: later keys have higher ones */
};

/* A record that says what was pruned of a log. */
struct audit_prune {
    struct retention_pruning is;
    int64_t wall_ms; /* of the record */
    uint64_t index;
};
/* The platform's policy from some time on. */
struct audit_policy {
    struct retention_policy is;
    int64_t wall_ms;
};

struct audit_policies {
    struct audit_policy *list; /* in their order; owned */
    size_t count, room;
};
/* Of an audit.keep; one that cannot be read is the walk's to tell. */
void audit_policies_add(struct audit_policies *policies,
                        const struct record *record);

/* By size, then root, then who vouched. */
int audit_mark_compare(const void *a, const void *b);

struct audit_walk {
    const char *path;   /* of the log */
    const char *origin; /* that it must have */
    uint64_t size;      /* entries that its head claims */
    const struct audit_mark *marks; /* sorted by audit_mark_compare */
    size_t mark_count;
    int64_t grace_ms; /* intents this much older than the last entry must be
                         closed */
    uint64_t watch;   /* count->watched_ms becomes this entry's time */
    /* What the platform's log says; NULL: nothing is known. */
    const struct audit_prune *prune; /* the furthest of this log */
    const struct audit_policies *policies;
    /* Called for each entry when it is not NULL; -1 ends the walk. */
    int (*visit)(void *context, const struct record *record,
                 struct error *err);
    void *context;
};

/* What of a log is hashes alone, and why. */
struct audit_pruned {
    char log[RECORD_ORIGIN_MAX];
    uint64_t records;       /* pruned */
    uint64_t from, to;      /* the first, and behind the last */
    int64_t keep_ms;        /* of the policy */
    int64_t recorded_ms;    /* the record says so since then */
    uint64_t index;         /* of that record */
    bool elsewhere;         /* it is in the platform's log */
};
#define AUDIT_PRUNED_MAX 16 /* logs that are told of one by one */

struct audit_count {
    uint64_t records;
    uint64_t pruned; /* of these, hashes alone */
    struct audit_pruned prunings[AUDIT_PRUNED_MAX];
    size_t pruning_count; /* logs; may be more than AUDIT_PRUNED_MAX */
    uint64_t erased; /* entries whose personal part is erased */
    uint64_t open;   /* intents within the grace */
    int64_t watched_ms; /* wall time of the watched entry, if it is there */
};

/* The log may grow meanwhile: of a partial tile that was replaced, the wider
 * one is read.
 * 0 when every check holds; adds to count.  -1 with ERROR_VERIFY and the
 * finding for a lie, with another error when a file cannot be read. */
int audit_walk(const struct audit_walk *walk, struct audit_count *count,
               struct audit_finding *finding_out, struct error *err);

/* Appends the file path/tile/... of a log; personal: the bundle of personal
 * parts instead of entries. */
void audit_walk_path(struct buffer *out, const char *path, int level,
                     uint64_t index, unsigned width, bool personal);

#endif
