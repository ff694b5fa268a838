/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SCHEMA_H
#define CORE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"

/*
 * What does an object of a kind consist of?  One table per kind says it once:
 * SQL columns for every store, JSON in and out, OpenAPI schemas and the
 * canonical bytes of audit digests are all made from these tables
 * (schema_*.c), so they cannot disagree.
 */

enum kind {
    KIND_NONE,
    KIND_PLATFORM,
    KIND_POOL,
    KIND_NODE,
    KIND_CARD,
    KIND_JOINTOKEN,
    KIND_CLASS,
    KIND_PRIORITY,
    KIND_PRICE,
    KIND_TENANT,
    KIND_UNIT,
    KIND_PROJECT,
    KIND_USER,
    KIND_SERVICEACCOUNT,
    KIND_APIKEY,
    KIND_SESSION,
    KIND_ROLE,
    KIND_GRANT,
    KIND_CEILING,
    KIND_DENY,
    KIND_QUOTA,
    KIND_RESERVATION,
    KIND_WORKLOAD,
    KIND_INSTANCE,
    KIND_BINDING,
    KIND_HOLD,
    KIND_BOOKING,
    KIND_VOLUME,
    KIND_ALARM,
    KIND_REQUEST, /* "we need more" */
    KIND_RECEIPT, /* the stored answer of an Idempotency-Key */
    KIND_SOURCE,  /* a producer of counters and how far it has come */
    KIND_RECENT,  /* what a user had lately in a project */
    KIND_MAINTENANCE, /* planned, of a node or pool */
    KIND_REQUIREMENT, /* what work needs of a node or card */
    KIND_COMMITMENT,  /* cards that are paid, used or not */
    KIND_GROUP,   /* of subjects: its grants are theirs */
    KIND_MEMBER,  /* a subject in a group */
    KIND_IDENTITYPROVIDER, /* who says who somebody is: OpenID Connect */
    KIND_IDENTITY,    /* a user is that person at that provider */
    KIND_INVITATION, /* lets a new user set the first password */
    KIND_APPROVAL,    /* one operation that takes more than one person */
    KIND_GUARD,       /* what a verb needs besides a grant */
    KIND_BREAKGLASS,  /* an emergency, to be reviewed */
    KIND_WORKORDER,   /* a vendor's work on devices */
    KIND_OPDOCUMENT,  /* a text of a work order */
    KIND_VISIT,       /* a vendor was at a tenant's cards */
    KIND_FACT,    /* history: usage */
    KIND_EVENT,   /* history: audit record */
    KIND_COUNT
};

/*
 * A reference is the kind and the slot of an object in the world; index 0 is
 * "none".  Outside the world (SQL, JSON, audit) references are ids.
 */
struct ref {
    uint32_t kind;
    uint32_t index;
};

static inline bool
ref_is_none(struct ref ref)
{
    return ref.index == 0;
}

static inline bool
ref_equal(struct ref a, struct ref b)
{
    return a.index == b.index && (a.index == 0 || a.kind == b.kind);
}

/* An immutable, counted byte string: JSON documents inside objects.  Clones
 * of the world share it, on any thread. */
struct blob {
    uint32_t refs;
    uint32_t size;
    char bytes[]; /* NUL behind size */
};

struct blob *blob_new(const char *bytes, size_t size);
struct blob *blob_hold(struct blob *blob); /* NULL stays NULL */
void blob_drop(struct blob *blob);

/* 256 verbs as bits; bit v of word v / 64 is verb number v. */
#define VERB_WORDS 4
struct verbs {
    uint64_t word[VERB_WORDS];
};

#define NAME_MAX_SIZE 64 /* a name has 1 to 63 characters */
#define TEXT_MAX_SIZE 256

enum field_type {
    FIELD_NAME,  /* char[64]: [a-z0-9] and inner [-._a-z0-9], 1..63 */
    FIELD_TEXT,  /* char[size]: UTF-8 without control characters */
    FIELD_INT,   /* int64_t in [min, max] */
    FIELD_BOOL,  /* bool */
    FIELD_ENUM,  /* int, stored by its name in `names` */
    FIELD_TIME,  /* int64_t ms UTC, RFC 3339 in JSON, 0 is null */
    FIELD_REF,   /* struct ref; `kind` KIND_NONE: any kind */
    FIELD_DOC,   /* struct blob *: canonical JSON text, NULL is null */
    FIELD_BYTES, /* uint8_t[size]: hexadecimal in JSON and SQL */
    FIELD_VERBS, /* struct verbs: list of verb names */
};

enum field_flag {
    FIELD_CREATE = 1,    /* a client may set it at creation */
    FIELD_UPDATE = 2,    /* a client may change it afterwards */
    FIELD_REQUIRED = 4,  /* must be given at creation */
    FIELD_SECRET = 8,    /* never in JSON, OpenAPI or audit */
    FIELD_INDEX = 16,    /* FIELD_REF: the world keeps a list per target; at
                            most WORLD_INDEXES per kind */
    FIELD_UNIQUE = 32,   /* FIELD_BYTES of 32: world_find_digest */
    FIELD_PLATFORM = 64, /* in JSON only for platform-level viewers */
    FIELD_ALIAS = 128,   /* FIELD_REF: others than they are shown a name that
                            follows from the object that holds it */
    FIELD_UNSAID = 256,  /* not in the digest of an audit record: it follows
                            from other tenants, and could be found by trying;
                            or it counts attempts (change_unsaid) */
};

struct field {
    const char *name;
    enum field_type type;
    unsigned flags;
    size_t offset;
    size_t size;              /* of the member, bytes */
    int64_t min, max;         /* FIELD_INT */
    enum kind kind;           /* FIELD_REF: kind of the target */
    const char *const *names; /* FIELD_ENUM: NULL-terminated */
    const char *help;         /* one phrase with the unit */
};

/* How an object of the kind lives. */
enum kind_life {
    LIFE_OBJECT,  /* in the world and in the store */
    LIFE_HISTORY, /* in the store only: facts, events */
};

struct schema {
    const char *name;   /* "workload", also the SQL table */
    const char *plural; /* "workloads", in paths */
    const char *prefix; /* of ids: "wl" */
    enum kind_life life;
    size_t size; /* of the struct */
    const struct field *fields;
    size_t field_count;
    const char *help; /* one sentence */
};

/* The table of a kind; kind must be KIND_NONE < kind < KIND_COUNT. */
const struct schema *schema_get(enum kind kind);
/* By singular or plural name; KIND_NONE when there is none. */
enum kind schema_find(const char *name);
const struct field *schema_field(enum kind kind, const char *name);
/* The enum's number for a name, -1 when there is none. */
int schema_enum_parse(const char *const *names, const char *text);

/* Is an id in a FIELD_DOC that is a list of ids?  NULL: in none. */
bool schema_lists_id(const struct blob *list, enum kind kind, struct id id);

/* A member of an object's image. */
static inline const void *
field_at(const struct field *field, const void *object)
{
    return (const char *)object + field->offset;
}

static inline void *
field_of(const struct field *field, void *object)
{
    return (char *)object + field->offset;
}

/* Checks of single values, with sentences that name field, rule and value.
 * pointer is the JSON pointer of the field. */
int schema_check_name(const char *pointer, const char *text,
                      struct error *err);
int schema_check_text(const char *pointer, const char *text, size_t room,
                      struct error *err);

/* In the order of enum class_form; ends in NULL. */
extern const char *const schema_form_names[];

#endif
