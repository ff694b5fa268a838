/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_RECORD_H
#define CORE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"

/*
 * Who did what to which object, who allowed it, and what came of it?
 *
 * One record per command, allowed or refused.  In the log a record is two
 * byte strings:
 *
 *   entry     salt (32 bytes) || version and chain fields || personal digest
 *   personal  salt (32 bytes) || personal fields
 *
 * The leaf of the Merkle tree is SHA-256(0x00 || entry), a salted commitment.
 * The personal digest is SHA-256(personal): destroying the personal bytes
 * erases the person and leaves the chain verifiable.  Fields have a fixed
 * order; integers are little-endian; a text is a u32 length and its bytes with
 * a NUL, length 0 when absent.
 *
 * Texts are UTF-8, NULL when absent, and stay owned by the caller.  Ids are
 * texts as the caller formats them.  Times are ms.  A secret never gets in:
 * params.redacted is the caller's redacted copy.
 */

#define RECORD_VERSION 1U
#define RECORD_SALT_SIZE 32
/* Of one entry and of one personal part: bundles have u16 lengths. */
#define RECORD_SIZE_MAX 65535U

/* action.verb of records that the platform writes about the log itself. */
#define RECORD_VERB_HEADS "audit.heads" /* facts: see record_add_head */
#define RECORD_VERB_EPOCH "audit.epoch" /* facts: the old head, as a head */
#define RECORD_VERB_START "platform.start"

enum record_outcome {
    RECORD_PENDING, /* an intent; a later record with links.parent = its id
                       and another outcome closes it */
    RECORD_SUCCESS,
    RECORD_FAILURE,
    RECORD_PARTIAL,
    RECORD_UNKNOWN, /* of an intent: nobody knows whether it came to be */
    RECORD_OUTCOME_COUNT
};

struct record {
    const char *log; /* origin of the log */
    uint64_t seq;    /* dense in the log from 0: the leaf's index */
    const char *id;
    int64_t wall_ms; /* UTC since 1970 */
    int64_t mono_ms; /* since boot */
    const char *boot;
    struct {
        const char *component;
        const char *version;
        const char *node;
    } observer;
    struct {
        const char *id;
        const char *kind;
        const char *name; /* then; personal */
        const char *tenant;
        const char *session;
        const char *credential;
        const char *credential_kind;
        const char *auth_level;
        int64_t auth_ms;
        const char *on_behalf_of;
    } actor;
    struct {
        const char *ip;    /* of the socket; personal */
        const char *proxy; /* what configured proxies forwarded; personal */
        const char *agent_digest; /* of the user agent; personal */
    } source;
    struct {
        const char *verb;
        const char *route; /* template */
        const char *method;
    } action;
    struct {
        const char *id; /* as resolved, never as the body claims */
        const char *kind;
        const char *tenant;
        const char *project;
        int64_t version_before;
        int64_t version_after;
    } object;
    struct {
        const char *digest;   /* of the canonical parameters, hex */
        const char *redacted; /* JSON; personal */
    } params;
    struct {
        bool allow;
        const char *reason;
        const char *grant;
        const char *ceiling;
        const char *deny;
    } decision;
    struct {
        const char *request;
        const char *approvers; /* separated by commas */
    } approval;
    const char *workorder;
    struct {
        enum record_outcome status;
        const char *code;
    } outcome;
    struct {
        const char *request;
        const char *parent;
    } links;
    uint32_t count;    /* events folded into this record; 0 means 1 */
    const char *facts; /* what the chain itself must keep, never personal */
};

/* Random bytes of the caller, one salt for each part. */
struct record_salts {
    uint8_t entry[RECORD_SALT_SIZE];
    uint8_t personal[RECORD_SALT_SIZE];
};

/* Appends the entry to entry_out and the personal part to personal_out.
 * ERROR_TOO_LARGE when a part is over RECORD_SIZE_MAX; then nothing was
 * appended. */
int record_encode(const struct record *record,
                  const struct record_salts *salts, struct buffer *entry_out,
                  struct buffer *personal_out, struct error *err);

/* The Merkle leaf of an entry. */
void record_leaf(const void *entry, size_t size, struct digest *leaf_out);

/* Reads an entry and, unless personal is NULL or empty (erased), its personal
 * part.  The texts of record_out point into the given bytes.
 * ERROR_INVALID when the entry is not canonical, ERROR_VERIFY when the
 * personal part is not the one that the entry commits to. */
int record_decode(const void *entry, size_t size, const void *personal,
                  size_t personal_size, struct record *record_out,
                  struct error *err);

/* Appends one JSON object and a newline.  Absent fields are left out, control
 * characters escaped. */
void record_add_json(struct buffer *out, const struct record *record);
/* The same event as OCSF 1.3.0 API Activity (class_uid 6003), in
 * record_ocsf.c; docs/audit.md has the table. */
void record_add_ocsf(struct buffer *out, const struct record *record);

/* Bundles of C2SP tlog-tiles: up to 256 items, each a big-endian u16 length and
 * its bytes.  An item of length 0 in a bundle of personal parts is erased. */
void record_add_item(struct buffer *bundle, const void *item, size_t size);
/* Reads the item at *at and moves *at behind it: 1, 0 at the end, -1 when the
 * bundle is cut. */
int record_next_item(const uint8_t **at, const uint8_t *end,
                     const uint8_t **item_out, size_t *size_out);

const char *record_outcome_text(enum record_outcome outcome);

/* A head in the facts of a heads record: "origin size root-base64\n". */
void record_add_head(struct buffer *facts, const char *origin, uint64_t size,
                     const struct digest *root);
/* Reads the head at *facts and moves *facts behind it.  Returns 1, 0 at the
 * end, -1 when it is malformed.  origin has room for RECORD_ORIGIN_MAX. */
#define RECORD_ORIGIN_MAX 128
int record_next_head(const char **facts, char origin[RECORD_ORIGIN_MAX],
                     uint64_t *size_out, struct digest *root_out);

#endif
