/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_RUNNER_REQUEST_H
#define ENGINE_RUNNER_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "engine/gang.h"

/*
 * What can bulkhead-runner be asked, and in which bytes?
 *
 * A Unix stream socket.  Both directions carry messages: a 4-byte big-endian
 * length, then that many bytes of JSON (requests at most
 * RUNNER_REQUEST_SIZE_MAX, answers at most RUNNER_ANSWER_SIZE_MAX).  A
 * connection carries any number of requests, answered in order; requests on
 * different connections run side by side.  The runner accepts one uid only
 * (SO_PEERCRED against its policy) and closes other connections unanswered.
 *
 * Request: {"protocol": 1, "op": "...", fields of the operation}.  Unknown
 * fields, missing fields, wrong types and values out of bounds are refused
 * (`invalid`, with the field).  Answer: {"ok": true, "result": {...}} or
 * {"ok": false, "error": {"code", "text", "field", "help"}} with the codes of
 * base/error.def.  Every operation may be repeated: it then has no further
 * effect and answers the same.
 *
 * Nothing in a request names a host path, a capability, a hook or a device
 * number: images are named by name and digest inside the policy's image
 * directory, volumes by id, cards by UUID.
 *
 * Common fields
 *   instance     1..64 of [a-z0-9_-], first a letter: the control plane's id
 *   incarnation  1..2^53: counts the starts of one instance.  Only one
 *                incarnation is alive at a time, and a request that names an
 *                older one than is known never touches the newer: `gone`.
 *   tenant       1..4095: the tenant's number on this node; same number, same
 *                network
 *   times        milliseconds UTC since 1970
 *
 * ---- {"op": "node"}
 *   -> {"node", "simulated": bool, "cpus", "memory_mib",
 *       "cgroup": "v1"|"hybrid"|"v2", "topology", "kernel", "boot_id", "version",
 *       "runtime": "crun 1.8.1", "monitor": "conmon 2.1.6", "accel": "sim",
 *       "prefix", "instances": live ones, "uid_base_min", "uid_base_max",
 *       "limits": {"cpu_milli", "memory_mib", "pids", "instances",
 *                  "volume_mib", "image_mib", "log_mib"}}
 *
 * ---- {"op": "cards"}
 *   -> {"accel", "simulated", "cards": [{"uuid", "vendor", "model",
 *       "memory_mib", "compute_units", "pci", "numa", "island", "driver",
 *       "firmware", "arch", "serial", "domain", "runtime", "features", "bus",
 *       "health": "healthy"|"suspect"|"degraded"|"failed"|"unknown",
 *       "health_reason", "links": [{"uuid", "kind", "lanes", "level"}],
 *       "look": {"clean", "asks_nothing", "has_rows", "temperature_c",
 *          "power_mw", "busy_permille", "memory_used_mib", "ecc_corrected",
 *          "ecc_uncorrected", "clock_reasons", -1 where it does not say,
 *          "events": [{"xid", "pid", "instance", "slice", "first_ms",
 *             "last_ms", "count", "has_words", "word", "status"}]},
 *       "sliced": bool, "layout": "1g.10gb@2 3g.40gb@4": the slices on it,
 *       "foreign_slices": those of them that were not made here,
 *       "change": what is being changed, "change_failure": of the last change,
 *       "holders": [{"instance", "incarnation", "slice", "memory_mib"}],
 *       "processes": [{"pid", "uid", "name", "owner", "incarnation"}]}],
 *       "devices": {"checked", "mended", "stopped"}}   of runner/devices.h
 *   holders: instances that were given the card and are not removed.
 *   owner: the instance whose cgroup the process is in, "platform" for one
 *   of the runner's own, which cleans or asks, or "foreign" (then incarnation
 *   is 0): the card is not free.  uid: -1 when it is not known.
 *
 * ---- {"op": "image_list"}
 *   -> {"images": [{"name", "digest", "size_bytes", "prepared": bool,
 *                   "argv": [...]}]}   argv: entry point and command
 *   An image is DIR/<name> (OCI layout directory) or DIR/<name>.tar (OCI
 *   archive); each manifest in its index.json is one row.
 *
 * ---- {"op": "image_prepare", "name", "digest"}
 *   Unpacks into the cache, once for a digest: as an unprivileged id, bounded
 *   in bytes, entries and time; the digest of every blob is checked; setuid
 *   bits and xattrs are dropped; an entry that leaves the root or passes
 *   through a symlink, and device nodes outside dev/, refuse the image.
 *   -> {"name", "digest", "size_bytes", "entries", "skipped", "cached": bool}
 *   errors: not_found, invalid, verify (digest), too_large, unsupported
 *
 * ---- {"op": "start", "instance", "incarnation", "tenant",
 *       "image": {"name", "digest"},
 *       "argv": [..],            0..256 strings; empty or absent: the image's
 *       "env": {"NAME": "text"}, 0..256; BULKHEAD_* is refused
 *       "cwd": "/dir",           absent: the image's, else /
 *       "user": {"uid", "gid"},  0..65535 inside; absent: the image's when
 *                                numeric, else 0
 *       "cpu_milli": 10.., "memory_mib": 8.., "pids_max": 1..,
 *       "pin": "near"|"cores"|"none", which CPUs: those beside its cards (near,
 *                                when absent), whole cores that nobody else
 *                                uses, as many as cpu_milli, or any
 *       "cards": ["UUID"..],     0..64; one after the other they are card0..
 *       "card_memory_mib": N,    0 or absent: whole cards; else a soft share
 *                                of that much memory on each card
 *       "card_milli": 1..1000,   of a soft share: of its multiprocessors,
 *                                where the driver can limit them
 *       "volumes": [{"id", "path": "/abs", "read_only": bool}],   0..32
 *       "checkpoint_dir": "/abs" in or below the path of a writable volume
 *       "network": {"address": 0..4093}, absent: loopback only; 0: the runner
 *                                picks a free one of the tenant
 *       "uid_base": N,           multiple of 65536; 0 or absent: the runner
 *                                picks a free range of the policy
 *       "hostname": label,       absent: the instance id
 *       "gang": engine/gang.h,   absent: it is alone
 *       "read_only_root": bool,  default true
 *       "scratch_mib": 1..,      /tmp, counted in memory_mib; default 64
 *       "log_mib": 1..,          kept of the log; default 16
 *       "notice_signal": "USR1"|"USR2"|"TERM"|"INT"|"HUP"|"NONE" (USR1)}
 *   -> an instance record (below).  The image is prepared first when it is
 *   not.  Repeating the same request answers the present record; the same
 *   incarnation with another content is a `conflict`; an incarnation that is
 *   removed or older is `gone`; while an older one is not removed, a newer
 *   one is a `conflict`.
 *   errors: invalid, not_found (image, volume, card), conflict (card, address
 *   or uid range in use; a foreign process on a card), quota (policy limit),
 *   busy (no room just now), internal (then nothing is left behind)
 *   Inside: env BULKHEAD_INSTANCE, BULKHEAD_INCARNATION, BULKHEAD_NOTICE
 *   (/run/bulkhead/notice.json), BULKHEAD_GANG (/run/bulkhead/gang.json),
 *   BULKHEAD_NUMBER and BULKHEAD_INSTANCES as it began, BULKHEAD_CARDS (card0,card1,.. as below
 *   /dev/bulkhead, "" for none; which cards they are is the platform's), BULKHEAD_CARD_MEMORY_MIB (usable on
 *   each), BULKHEAD_CHECKPOINT_DIR, BULKHEAD_ADDRESS, BULKHEAD_ADDRESS6,
 *   BULKHEAD_SIMULATED=1 when cards are.  Simulated card N: its memory is the
 *   file /dev/bulkhead/cardN, its device node /dev/bulkhead/deviceN.
 *   There is no DNS: the tenant network carries traffic between instances of
 *   the same tenant and nothing else.
 *
 * ---- {"op": "signal", "instance", "incarnation", "signal": "TERM"}
 *   TERM INT HUP QUIT USR1 USR2 WINCH CONT STOP KILL, to the first process
 *   -> record
 * ---- {"op": "notice", "instance", "incarnation", "reason": label text,
 *       "deadline_ms": time}
 *   Writes /run/bulkhead/notice.json {"reason", "deadline" (RFC 3339),
 *   "deadline_ms"} and sends the notice signal.  -> record
 * ---- {"op": "gang", "instance", "incarnation", "gang": {...}}
 *   Replaces /run/bulkhead/gang.json and sends the notice signal when it says
 *   something else than before.  -> record
 * ---- {"op": "kill", "instance", "incarnation"}
 *   KILL to every process of the cgroup; returns when it is empty. -> record
 * ---- {"op": "remove", "instance", "incarnation"}
 *   kill, then unmount, network, cgroup, logs.  -> {"removed": true,
 *   "record": last record, or null when this incarnation was never here}
 * ---- {"op": "list"}  or  {"op": "list", "instance"}
 *   -> {"instances": [record...], "boot_id"}
 * ---- {"op": "wait", "revision", "timeout_ms": 0..30000}
 *   Answers when a record changed since `revision` (0: at once), an instance
 *   ended, or the time is over.
 *   -> {"revision", "instances": [record...], "boot_id"}
 *
 * record = {"instance", "incarnation", "tenant",
 *   "state": "starting"|"running"|"exited"|"failed",
 *   "reason": "" | why failed, for people,
 *   "pid", "uid_base", "image": {"name", "digest"},
 *   "address", "address6", "mac",    "" without network
 *   "cards": ["UUID"..], "card_memory_mib",
 *   "cpus", "mems", "nics", "pinned", "" and false where they are not known:
 *        which CPUs and NUMA nodes it may use, networks beside its cards
 *   "share": {"used_mib", "limit_mib", "over"},   of a soft share only
 *   "started_ms", "exited_ms",       0: not yet
 *   "exit_code": null | 0..255,      128 + signal when a signal ended it
 *   "oom": bool, "oom_kills",        read before the cgroup goes away
 *   "cpu_us", "memory_bytes", "memory_peak_bytes", "processes",
 *   "cap": {"cpu_milli", "io_kib", "network_kib"},      0: none
 *   "notice": null | {"reason", "deadline_ms"},
 *   "checkpoint": null | {"step", "time_ms"}}  the last rename of
 *        checkpoint.json into checkpoint_dir seen in this incarnation
 *
 * ---- {"op": "cap", "instance", "incarnation", "cpu_milli", "io_kib",
 *       "network_kib"}
 *   What it may use at most from now on, though it was started with more:
 *   CPU, and KiB a second of each disk and of the network, each way.  0: as it
 *   was started.  Below what the policy leaves everybody: `quota`.  -> record
 * ---- {"op": "samples", "cards": bool}
 *   Counters of all that runs, since each began, but those of cards: now.
 *   cards: also what the vendors' lists of processes say, which takes longer.
 *   -> {"time_ms": of a clock that is never set,
 *       "instances": [{"instance", "incarnation", "cpu_us",
 *       "wait_us": its tasks could run and did not, "throttled_us",
 *       "periods", "throttled": of the CPU quota, "read_bytes",
 *       "written_bytes", "reads", "writes": disks, "received_bytes",
 *       "sent_bytes": network, "memory_bytes", "card_permille", "card_mib":
 *       -1 not known}],
 *       "throttled_cards": [{"uuid", "reasons": the vendor's bits}]}
 *
 * ---- {"op": "log", "instance", "incarnation", "offset": N, "max": 1..262144}
 *   -> {"bytes": base64, "next": offset for the next call, "complete": bool,
 *       "truncated": bool}
 *   Standard output and error in the order they came.  complete: the instance
 *   has ended and nothing follows.  truncated: the size cap cut the rest off.
 *   Logs live until remove.
 *
 * ---- {"op": "volume_create", "id", "tenant", "size_mib": 4..}
 *   A file system of that size; all its blocks are allocated now.
 *   -> volume record; same id and values: no effect; other values: conflict
 * ---- {"op": "volume_remove", "id"}   in use: conflict.  -> {"removed": true}
 * ---- {"op": "volume_list"}
 *   -> {"volumes": [{"id", "tenant", "size_mib", "used_mib", "mounted",
 *                    "users": ["instance"..]}]}
 *   Files in a volume belong to ids 0..65535 as seen inside; every instance
 *   of the tenant sees the same owners.  Only its tenant's instances mount it.
 *
 * ---- {"op": "card_scrub", "uuid"}
 *   Hands the card over: waits until nobody is on it and its memory is idle,
 *   puts it back to its defaults, cleans it, looks at it once more
 *   (runner/handover.h); a slice is destroyed then, a card left whole, or cut
 *   when the name ends in "/sliced" (engine/part.h).  Refused (`conflict`)
 *   while an instance holds the card, and while it has slices that were not
 *   made here, unless the name ends in "/cleared"; `busy` while it is being
 *   scrubbed.
 *   -> {"uuid", "verified": bool, "text": how it was cleaned, or why it was
 *       not, "scrubbed_bytes", "simulated",
 *       "steps": [{"step", "from_ms", "to_ms", "good": bool, "text"}]}
 *   Until it is verified the runner starts no other tenant's work on it.
 * ---- {"op": "release_check", "instance", "incarnation"}
 *   After kill or remove: is any process left on the cards it had?  What is
 *   being started or runs is never released, whether it opened them or not.
 *   -> {"released": bool, "cards": [{"uuid", "processes": [as in cards]}]}
 *   An incarnation that never ran here has no cards and is released.
 */

#define RUNNER_PROTOCOL 1
#define RUNNER_REQUEST_SIZE_MAX ((size_t)256 * 1024)
#define RUNNER_ANSWER_SIZE_MAX ((size_t)1024 * 1024)

#define RUNNER_ID_MAX 64
#define RUNNER_LABEL_MAX 63
#define RUNNER_TEXT_MAX 4096
#define RUNNER_ARGV_MAX 256
#define RUNNER_ENV_MAX 256
#define RUNNER_CARDS_MAX 64
#define RUNNER_VOLUMES_MAX 32
#define RUNNER_TENANT_MAX 4095
#define RUNNER_ADDRESS_MAX 4093
#define RUNNER_UIDS 65536
#define RUNNER_LOG_CHUNK_MAX 262144
#define RUNNER_WAIT_MAX_MS 30000
#define RUNNER_INCARNATION_MAX (INT64_C(1) << 53)

/* In the order of the words. */
enum runner_pin { RUNNER_PIN_NEAR, RUNNER_PIN_CORES, RUNNER_PIN_NONE };

enum runner_op {
    RUNNER_NODE,
    RUNNER_CARDS,
    RUNNER_IMAGE_LIST,
    RUNNER_IMAGE_PREPARE,
    RUNNER_START,
    RUNNER_SIGNAL,
    RUNNER_NOTICE,
    RUNNER_GANG,
    RUNNER_CAP,
    RUNNER_SAMPLES,
    RUNNER_KILL,
    RUNNER_REMOVE,
    RUNNER_LIST,
    RUNNER_WAIT,
    RUNNER_LOG,
    RUNNER_VOLUME_CREATE,
    RUNNER_VOLUME_REMOVE,
    RUNNER_VOLUME_LIST,
    RUNNER_CARD_SCRUB,
    RUNNER_RELEASE_CHECK,
    RUNNER_OP_COUNT
};

struct runner_image {
    const char *name;
    const char *digest; /* "sha256:" and 64 hexadecimal digits */
};

/* A second; 0: as it was started. */
struct runner_cap {
    int64_t cpu_milli;
    int64_t io_kib;
    int64_t network_kib;
};

struct runner_mount {
    const char *id;
    const char *path; /* absolute inside, normal form */
    bool read_only;
};

struct runner_start {
    struct runner_image image;
    size_t argc;
    const char *argv[RUNNER_ARGV_MAX];
    size_t env_count;
    const char *env[RUNNER_ENV_MAX]; /* "NAME=text" */
    const char *cwd;                 /* NULL: the image's */
    int64_t uid, gid;                /* inside; -1: the image's */
    int64_t cpu_milli;
    int64_t memory_mib;
    int64_t pids_max;
    size_t card_count;
    const char *cards[RUNNER_CARDS_MAX];
    int64_t card_memory_mib; /* 0: whole cards */
    enum runner_pin pin;
    int64_t card_milli;      /* of a soft share; 0: not limited */
    size_t volume_count;
    struct runner_mount volumes[RUNNER_VOLUMES_MAX];
    const char *checkpoint_dir; /* NULL: none */
    size_t checkpoint_volume;   /* index of the volume that holds it */
    bool network;
    int64_t address;      /* 0: the runner picks */
    int64_t uid_base;     /* 0: the runner picks */
    const char *hostname; /* NULL: the instance id */
    struct gang gang;     /* instances 0: alone */
    bool read_only_root;
    int64_t scratch_mib;
    int64_t log_mib;
    int notice_signal; /* 0: none */
};

/* One request, checked.  Strings live in the arena it was parsed with; a
 * field that the operation does not have is zero. */
struct runner_request {
    enum runner_op op;
    const char *instance; /* list: NULL for all */
    int64_t incarnation;
    int64_t tenant;
    int signal;
    const char *reason;
    int64_t deadline_ms;
    int64_t offset;
    int64_t max;
    int64_t revision;
    int64_t timeout_ms;
    const char *id; /* volume */
    int64_t size_mib;
    const char *uuid;
    struct gang gang;
    struct runner_cap cap;
    bool cards; /* samples */
    struct runner_image image; /* image_prepare */
    struct runner_start start;
};

/* Reads and checks one request.  Fails with ERROR_INVALID (and the field) or
 * ERROR_TOO_LARGE. */
int runner_request_parse(struct arena *arena, const char *bytes, size_t size,
                         struct runner_request *request_out,
                         struct error *err);
/* Reads and checks the fields of a start without the envelope: what the
 * journal keeps.  object is only read. */
int runner_request_parse_start(struct arena *arena, const json_t *object,
                               struct runner_start *start_out,
                               struct error *err);
const char *runner_request_op_text(enum runner_op op);

#endif
