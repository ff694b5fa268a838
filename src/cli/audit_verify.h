/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_AUDIT_VERIFY_H
#define CLI_AUDIT_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/audit_walk.h"
#include "core/checkpoint.h"

/*
 * Is this copy of the audit logs what was logged?
 *
 * Works on an exported directory (identity/audit_dir.h), or on one that grows
 * meanwhile, without a daemon and without a network.  Checked are all hashes, the personal parts that are not
 * erased, every checkpoint's signature, that all checkpoints are heads of the
 * same log, dense sequences, that the platform's log committed the
 * others' entries in time and they have all that it committed, that time does
 * not run backwards within a boot, and that every intent has an outcome.
 */

/* Intents of the last quarter of an hour may still be at work. */
#define AUDIT_VERIFY_GRACE_MS (15 * 60 * 1000)
/* The platform's log commits the others' heads once a minute; an entry that it
 * has not committed two minutes later is a lie. */
#define AUDIT_VERIFY_COMMIT_MS (2 * 60 * 1000)
/* The platform's log has a record a minute; what is silent for longer than this
 * and does not begin again with a start did not write down what happened. */
#define AUDIT_VERIFY_SILENT_MS (3 * 60 * 1000)

struct audit_verify_options {
    /* Of the signer, the oldest first; changes of the key that the directory
     * has are followed from them. */
    const struct checkpoint_key *keys;
    size_t key_count; /* at least 1 */
    const struct checkpoint_key *witness; /* must have cosigned; or NULL */
    const char *tenant; /* only this log and the platform's; or NULL */
    int64_t grace_ms;
    const char *seen; /* directory of a witness (identity/witness_dir.h) whose
                         heads must hold as well; or NULL */
};

struct audit_report {
    uint64_t logs;
    uint64_t checkpoints;
    uint64_t heads;     /* of other logs that the platform's log committed */
    bool platform;      /* the platform's log is there; without it nobody can
                           tell whether a log lost its tail */
    uint64_t uncovered; /* entries behind the newest checkpoints */
    uint64_t unwitnessed; /* entries behind the newest cosigned ones */
    uint64_t rotations;   /* of the signer's key that were followed */
    uint64_t stops;       /* times that the platform wrote nothing for over
                             AUDIT_VERIFY_SILENT_MS, up to a start */
    int64_t longest_stop_ms;
    struct audit_count count;
    struct audit_finding finding; /* AUDIT_NONE when all is well */
};

/* 0 when the logs are intact.  -1 with ERROR_VERIFY and the finding when they
 * lie, ERROR_NOT_FOUND when there is no such log, or another error when a file
 * cannot be read.  The report is filled in each case. */
int audit_verify(const char *directory,
                 const struct audit_verify_options *options,
                 struct audit_report *report_out, struct error *err);

/* A key as NAME+HASH+BASE64, or a file with one a line; at most `room`.
 * Returns how many, at least 1, or -1. */
int audit_verify_keys(const char *text, struct checkpoint_key *keys_out,
                      size_t room, struct error *err);

#endif
