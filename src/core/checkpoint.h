/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CHECKPOINT_H
#define CORE_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/sign.h"
#include "core/record.h"

/*
 * Which head of which log did the signer vouch for?
 *
 * A checkpoint is the text of C2SP tlog-checkpoint (origin, size, base64 root,
 * a line each) as a C2SP signed note: a blank line and signature lines
 * "— NAME base64(key id || signature)" behind it.  One Ed25519 key signs for
 * all logs of an estate, each time under the name that is the log's origin.
 * A witness adds a cosignature/v1 line under its own name.
 *
 * Origins are "ESTATE/platform" for the platform's log and "ESTATE/TENANT" for
 * a tenant's.
 */

/* Of one note with all its signatures, in bytes. */
#define CHECKPOINT_NOTE_MAX 4096U
#define CHECKPOINT_PLATFORM "platform"

struct checkpoint {
    char origin[RECORD_ORIGIN_MAX];
    uint64_t size;
    struct digest root;
};

/* A key as verifiers are told it: NAME+HASH+BASE64 of the signed-note spec. */
struct checkpoint_key {
    char name[RECORD_ORIGIN_MAX];
    uint8_t public_key[SIGN_PUBLIC_SIZE];
    bool witness; /* signs cosignature/v1 instead of the note itself */
};

/* 1 to RECORD_ORIGIN_MAX - 1 printable ASCII characters, no space, no '+'. */
bool checkpoint_origin_valid(const char *origin);
/* Each restore from a backup begins an epoch: "ESTATE~EPOCH/NAME", larger ones
 * later.  The epoch, 0 for the first, -1 when it is malformed. */
int64_t checkpoint_epoch(const char *origin);
/* Is it one log, whatever the epochs? */
bool checkpoint_same_log(const char *a, const char *b);
/* The log of the platform itself, which commits the heads of the others. */
bool checkpoint_is_platform(const char *origin);

/* Appends the origin as the name of one file: characters other than letters,
 * digits, '-', '_' and '.' (and a '.' in front) become %XX. */
void checkpoint_add_file_name(struct buffer *out, const char *origin);

/* Reads the three lines at the beginning of text; returns their length, 0 when
 * text does not begin with them in their one canonical form. */
size_t checkpoint_parse_body(const char *text, size_t size,
                             struct checkpoint *checkpoint_out);
/* Appends the three lines. */
void checkpoint_add_body(struct buffer *out,
                         const struct checkpoint *checkpoint);
/* Appends the signed note. */
void checkpoint_sign(struct buffer *out, const struct checkpoint *checkpoint,
                     const struct sign_key *key);

/* Reads the note at the beginning of text without looking at signatures;
 * *used_out is its length, so that notes can stand behind each other.
 * Canonical only, no extension lines: ERROR_INVALID. */
int checkpoint_parse(const char *text, size_t size,
                     struct checkpoint *checkpoint_out, size_t *used_out,
                     struct error *err);
/* Reads a note as above and demands a signature by this key under the origin's
 * name: ERROR_VERIFY when there is none that holds. */
int checkpoint_check(const char *text, size_t size,
                     const uint8_t public_key[SIGN_PUBLIC_SIZE],
                     struct checkpoint *checkpoint_out, size_t *used_out,
                     struct error *err);

/* Appends a witness's cosignature line for the note; time_s is UTC. */
void checkpoint_cosign(struct buffer *out, const struct checkpoint *checkpoint,
                       const char *witness, const struct sign_key *key,
                       uint64_t time_s);
/* 0 and the time when the note (of `size` bytes) bears that witness's
 * cosignature, else -1. */
int checkpoint_check_cosignature(const char *text, size_t size,
                                 const struct checkpoint_key *witness,
                                 uint64_t *time_s_out);

void checkpoint_add_key(struct buffer *out, const struct checkpoint_key *key);
/* text may end in white space. */
int checkpoint_parse_key(const char *text, struct checkpoint_key *key_out,
                         struct error *err);

#endif
