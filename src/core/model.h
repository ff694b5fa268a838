/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_MODEL_H
#define CORE_MODEL_H

#include "base/digest.h"
#include "core/geometry.h"
#include "core/health.h"
#include "core/schema.h"

/*
 * The nouns: one struct per kind of object (see docs and schema_*.c for what
 * each field means to a client).  Units: times in ms UTC (0: none), cards in
 * milli-cards, memory and storage in MiB, CPU in milli-CPUs, money in nano
 * units of the platform's currency.  All amounts are >= 0 unless said.
 * Members below a line "derived" are kept by world_apply and never stored.
 */

#define AMOUNT_NONE (-1)            /* a limit that is not set */
#define AMOUNT_MAX INT64_C(1000000000000000) /* 1e15: sums stay exact */
/* Sums over a month: 80,000 cards x 31 days are 2.2e17 milli-card-ms. */
#define USAGE_MAX INT64_C(1000000000000000000) /* 1e18 */

#define SHARE_HALF_LIFE_MS (INT64_C(7) * 24 * 3600000) /* the shipped one */
#define SHARE_HALF_LIFE_MAX (INT64_C(366) * 24 * 3600000)
#define SHARE_WEIGHT 1000 /* of whom nobody gave another: 1.0 */
#define SHARE_WEIGHT_MAX 1000000

#define WORLD_INDEXES 2
struct link {
    uint32_t previous;
    uint32_t next;
};

/* The head of every object. */
struct object {
    struct id id;
    uint64_t seq;      /* order of creation on this platform, > 0 */
    uint64_t version;  /* 1, 2, ...: the ETag */
    uint64_t revision; /* of its scope at the last change */
    int64_t created_ms;
    int64_t updated_ms;
    struct ref self;
    struct ref parent; /* never changes; none for the platform */
    /* derived; also set in a fresh image by change_create */
    struct ref scope;      /* the tenant, or the platform */
    struct link all;       /* list of the kind, by seq */
    struct link siblings;  /* list below the parent, by seq */
    struct link index[WORLD_INDEXES];
    /* stored; behind what each decision looks at */
    char name[NAME_MAX_SIZE];
};

/* When people have to prove a second factor; of platform and tenant the
 * stricter one counts. */
enum second_factor {
    FACTOR_OFF,     /* who enrolled one proves it at a step-up */
    FACTOR_STEP_UP, /* no step-up without one */
    FACTOR_LOGIN,   /* no login without one */
};

enum suspend_work { SUSPEND_KEEP, SUSPEND_DRAIN };

enum state { STATE_ACTIVE, STATE_SUSPENDED, STATE_DELETED };

struct platform {
    struct object object;
    char currency[8];
    int64_t grace_batch_ms;   /* notice before a batch workload is stopped */
    int64_t grace_service_ms; /* the same for services and interactive */
    int64_t grace_max_ms;     /* cap on what a workload may ask */
    int64_t hold_ms;          /* a nomination expires after this */
    int64_t lease_ms;         /* an agent is lost after this silence */
    int64_t tenant_limit_permille; /* limit of one tenant, of a pool */
    int64_t burst_factor_permille; /* default limit = factor x guaranteed */
    int64_t free_limit_milli;      /* default limit with guaranteed 0 */
    int64_t tenant_guarantee_milli; /* of a new tenant, when there is room */
    int64_t max_run_default_ms;    /* 0: none */
    int64_t min_run_ms; /* before a second preemption, except for guarantee */
    int64_t restart_max;
    int64_t bypass_max; /* starts of later work before one is booked; 0: off */
    int64_t bypass_ms;  /* or waiting for that long; 0: off */
    int64_t share_half_life_ms; /* of use, in fair share; 0: off */
    struct blob *expected;  /* classes of requests and kinds of nodes:
                               expect.h */
    int64_t expected_upto;  /* seq of the newest workload that is counted */
    int64_t expected_count; /* submissions that are counted */
    int64_t restored_ms; /* put back from a backup then: the epoch */
    bool observing; /* until somebody confirms: look on, start nothing */
    int second_factor;        /* enum second_factor */
    int64_t password_min;     /* characters; 0: the shipped number */
    int64_t password_life_ms; /* 0: for ever */
    int64_t session_ms;       /* life of a login; 0: the shipped one */
    int64_t session_idle_ms;  /* it ends after so long without use; 0: never */
    int suspend_work;         /* enum suspend_work: of what is suspended */
    struct blob *breakglass_roles; /* JSON list of names; null:
                                      platform-admin */
    int64_t breakglass_ms;    /* longest break-glass; 0: 1 h */
    int64_t workorder_max_ms; /* longest window of one; 0: 4 h */
    bool workorder_drain;     /* each one drains its devices first */
    struct blob *health; /* core/health_policy.h; null: the shipped one */
    int64_t maintenance_horizon_ms; /* maintenance.h; 0: a day */
    int recovery_most;        /* enum recovery_most: of any workload */
    int64_t recovery_limit;   /* of recoveries; 0: each workload's own */
    /* derived */
    uint64_t scope_revision;
};

enum pool_kind { POOL_SHARED, POOL_DEDICATED };
/* What is done about cards that are free and lie too far apart. */
enum defrag_policy { DEFRAG_NEVER, DEFRAG_ADVISE, DEFRAG_AUTO };
enum interference_policy { /* core/interference.h */
    INTERFERENCE_OBSERVE,
    INTERFERENCE_CAP,
    INTERFERENCE_MOVE,
    INTERFERENCE_ISOLATE,
};

struct pool {
    struct object object;
    int kind;             /* enum pool_kind */
    struct blob *tenants; /* dedicated: JSON list of tenant ids */
    bool lend;
    bool overflow;
    int defrag;           /* enum defrag_policy */
    int64_t defrag_moves; /* of workloads in an hour, at most */
    int64_t defrag_gain;  /* whole cards more on one node, at least */
    int64_t defrag_lost;  /* milli-card-ms that a plan loses, at most; 0: any */
    /* Only then, minutes of the UTC day, [from, to); equal: always. */
    int64_t defrag_from, defrag_to;
    int64_t defrag_hour_ms, defrag_moved; /* since then, so many */
    struct blob *health; /* core/health_policy.h; null: the platform's */
    int interference;           /* enum interference_policy */
    int64_t interference_milli; /* index; this and the others, 0: standard */
    int64_t interference_window_ms, interference_hold_ms, interference_fair;
    /* derived */
    int64_t cards;
};

enum node_state {
    NODE_SCHEDULABLE,
    NODE_CORDONED,
    NODE_DRAINING,
    NODE_MAINTENANCE,
    NODE_LOST,
};
struct node { /* below a pool */
    struct object object;
    int state; /* enum node_state */
    int resume; /* the state that a lost node goes back to */
    uint8_t public_key[32];
    char boot[40];
    int64_t epoch;    /* of the agent's key, from enrolment on */
    int64_t sequence; /* of the last accepted message in this boot */
    int64_t cpu_milli;
    int64_t memory_mib;
    bool simulated;
    char leaf[NAME_MAX_SIZE]; /* nodes behind one leaf switch share it */
    struct blob *facts; /* versions, kernel, cgroup mode */
    struct blob *topology; /* packages, memory, switches, networks; null: not
                              told */
    int64_t refusals;   /* starts that failed since one succeeded */
    int64_t refused_tenant; /* number of whose was the first of them */
    bool refused_several;   /* another tenant's was among them */
    struct blob *orphans; /* core/orphan.h; null: none */
    int64_t fenced_ms; /* its loss was made final then; 0: it was not */
    char fence_reason[TEXT_MAX_SIZE];
    struct blob *fenced; /* core/fence.h; null: nothing is left of it */
    struct ref maintenance;  /* planned, that it is in now; none: in none */
    int maintenance_resume; /* the state that it had before */
    /* derived */
    int64_t seen_ms; /* last message; not stored at each heartbeat */
    int64_t used_cpu_milli;
    int64_t used_memory_mib;
};

struct jointoken { /* below a pool: lets one node of that name enrol, once */
    struct object object;
    uint8_t digest[32];
    char node[NAME_MAX_SIZE];
    int64_t expires_ms;
    int64_t used_ms;
};

enum card_handover {
    HANDOVER_CLEAN,
    HANDOVER_PENDING, /* released, scrub and probe not confirmed */
    HANDOVER_FAILED,  /* quarantined */
};
/* As a node read them; -1: not known. */
struct card_readings {
    int64_t looked_ms; /* 0: not since the control plane began */
    int64_t temperature_c, power_mw, busy_permille, memory_used_mib;
    int64_t ecc_corrected, ecc_uncorrected;
    int64_t clock_reasons; /* bits, as in accel/reading.def */
};
struct card { /* below a node; name is "card0", "card1", ... */
    struct object object;
    char uuid[NAME_MAX_SIZE];
    char vendor[32];
    char model[64];
    char pci[32];
    char driver[32];
    char firmware[64];
    char arch[32];   /* what code for it has to be built for */
    char serial[64]; /* of the board */
    char domain[64]; /* "CLUSTER/CLIQUE" of a fabric between nodes; "": none */
    char runtime[32];   /* newest that its driver serves: "CUDA 12.8" */
    char features[128]; /* words, a space between two: "bf16 fp8 mig" */
    int64_t memory_mib;
    int64_t compute_units;
    int64_t numa;    /* -1: not known */
    char island[32]; /* cards of one NVLink/xGMI island share this text; "":
                        it is linked to none */
    char bus[32];    /* the same for the PCIe switch that they are behind */
    int health;      /* enum card_health */
    char health_reason[128];
    int64_t health_ms; /* it is so since then */
    bool tolerated; /* takes work all the same, by the policy of its pool */
    bool stale;     /* nobody has heard of its health for too long */
    bool links_bad; /* not for work on several cards */
    char ill[TEXT_MAX_SIZE]; /* hard slices that are ill while it is not, like
                                dirty */
    bool looked;    /* its node tells of looks; else inventories say how it
                       is */
    struct blob *heard; /* core/card_history.h; null: nothing yet */
    bool simulated;
    bool foreign;  /* a process that the platform did not start is on it */
    bool missing;  /* not in the node's last inventory */
    int handover;  /* enum card_handover */
    bool sliced;   /* cut for hard slices; changed by a scrub alone */
    char dirty[TEXT_MAX_SIZE]; /* released slices that wait for their scrub:
                                  "1g.10gb@6 3g.40gb@0" */
    struct blob *cleaning; /* the last handover, step by step; NULL: none */
    /* As its node sees it: the slices on it, those that the platform did not
     * make, a change that is not over, why the last one failed. */
    char layout[TEXT_MAX_SIZE];
    char foreign_slices[TEXT_MAX_SIZE];
    char layout_change[TEXT_MAX_SIZE];
    char layout_failure[TEXT_MAX_SIZE];
    bool clear_foreign; /* an operator's word: the next scrub may end them */
    struct ref last_tenant;
    int64_t cut_ms; /* metered up to here (remainder classes) */
    /* derived */
    int64_t used_milli, used_memory_mib; /* live bindings */
    int64_t held_milli, held_memory_mib; /* holds */
    struct card_readings read; /* the last; not stored */
};

enum class_form { FORM_WHOLE, FORM_HARD, FORM_SOFT };
enum class_origin {
    CLASS_MADE,
    CLASS_DERIVED, /* from the cards that nodes have */
    CLASS_EDITED,  /* the same, and somebody changed it since */
};
/* What all cards of one instance have in common, on one node. */
enum class_interconnect {
    INTERCONNECT_ANY,
    INTERCONNECT_NUMA,   /* memory beside one part of the CPUs */
    INTERCONNECT_SWITCH, /* the PCIe switch */
    INTERCONNECT_ISLAND, /* direct links */
};
struct class { /* below the platform: what ONE instance gets, on one node */
    struct object object;
    char vendor[32]; /* "": any */
    char model[64];  /* "": any */
    int64_t min_memory_mib; /* of the card */
    int64_t count;          /* whole: cards of an instance; else 1 */
    int form;               /* enum class_form */
    int64_t milli;          /* soft: share of one card, 1..999; hard: most
                               that a slice is charged */
    int64_t memory_mib;     /* of the share or, at most, of the slice */
    char profile[32];       /* hard: vendor profile */
    int origin;             /* enum class_origin */
    int interconnect;       /* enum class_interconnect; whole cards */
    /* What its cards must say of themselves (require.h); "": anything. */
    char min_driver[32], min_runtime[32], min_capability[16];
    char arch[32], features[64];
};

struct priority { /* below the platform */
    struct object object;
    int64_t value; /* higher first */
    bool preempt_across; /* may preempt burst use of other tenants */
    /* Who may use it, and how much of it; NULL, 0: no such rule. */
    struct blob *roles;           /* JSON list of names of roles */
    struct blob *project_classes; /* of enum project_class */
    struct blob *kinds;           /* of enum workload_kind */
    bool approval;          /* each use is approved by somebody above */
    int64_t share_permille; /* of a pool's cards at a time */
    int64_t card_time;      /* milli-card-ms in the UTC month */
    /* derived */
    int64_t used, used_month_ms; /* card time */
};

enum price_meter { METER_CARD_HOUR, METER_TOKEN_IN, METER_TOKEN_OUT,
                   METER_REQUEST, METER_STORAGE_GIB_HOUR, METER_EGRESS_GIB };
struct price { /* below the platform; rows are immutable but for to_ms */
    struct object object;
    int meter;        /* enum price_meter */
    char model[64];   /* of the card; "": any */
    struct ref tenant; /* none: list price */
    int64_t nano;     /* per unit of the meter */
    int64_t from_ms, to_ms; /* [from, to), to 0: open */
};

enum isolation { ISOLATION_NAMESPACE, ISOLATION_NODEPOOL, ISOLATION_CLUSTER };
struct tenant { /* below the platform */
    struct object object;
    int state;      /* enum state */
    int isolation;  /* enum isolation */
    int64_t number; /* small, never reused: network and uid plans */
    struct blob *pools;      /* JSON list of pool ids; null: shared ones */
    struct blob *classes;    /* JSON list of class ids; null: all */
    struct blob *priorities; /* JSON list of priority ids; null: all that do
                                not preempt across tenants */
    int64_t weight;          /* in fair share, 1000: 1.0; 0: that too */
    int second_factor;       /* enum second_factor */
    int recovery_most;       /* enum recovery_most: of its workloads */
    int64_t recovery_limit;  /* of recoveries; 0: as the platform says */
    char display[TEXT_MAX_SIZE];
    /* derived */
    uint64_t scope_revision;
    int64_t used_milli; /* live bindings */
};

struct unit { /* below a tenant or a unit, at most 3 deep */
    struct object object;
    int state; /* enum state */
    int64_t weight;
    char display[TEXT_MAX_SIZE];
};

enum project_class { PROJECT_PRODUCTION, PROJECT_DEVELOPMENT,
                     PROJECT_RESEARCH, PROJECT_SANDBOX };
struct project { /* below a tenant or a unit */
    struct object object;
    int class;
    int state;
    int64_t weight;
    char display[TEXT_MAX_SIZE];
};

struct user { /* below a tenant, or the platform for operators */
    struct object object;
    int state;
    int64_t failures;  /* logins failed since the last success */
    int64_t locked_ms; /* no login before this time */
    int64_t password_ms; /* the password is of then */
    bool temporary;    /* somebody else set it: to be changed first */
    int64_t factor_ms; /* confirmed then; 0: not yet */
    char password[128]; /* Argon2id string, "" before it is set */
    char factor[96];   /* sealed seed of the second factor, "": none */
    char display[TEXT_MAX_SIZE];
    int64_t factor_step; /* of the newest code that was taken */
    uint8_t recovery[160]; /* digests of 10 codes, 0 where one was used */
    int64_t recovery_left;
    struct ref creator; /* who made it */
    struct ref setter;  /* somebody else who set its password last */
};

struct serviceaccount { /* below a project */
    struct object object;
    int state;
    struct ref creator;
    char display[TEXT_MAX_SIZE];
};

/* The last use of a key or session; kept in memory alone. */
struct seen {
    int64_t ms;
    char from[64];
    bool noted; /* to be stored */
};

enum apikey_sort { APIKEY_ACCESS, APIKEY_INFERENCE };
struct apikey { /* below its subject: user or serviceaccount */
    struct object object;
    uint8_t digest[32];
    struct verbs verbs;
    struct ref subtree; /* none: as wide as the subject */
    char sources[TEXT_MAX_SIZE]; /* "": any; CIDRs, comma separated */
    int64_t expires_ms;
    int64_t revoked_ms;
    int64_t held_ms; /* since a restore, until somebody looked at it */
    int sort;        /* enum apikey_sort */
    struct ref minter;
    uint8_t old_digest[32]; /* of the secret before a rotation; 0: none */
    int64_t old_until_ms;   /* it works up to then */
    int64_t rotated_ms;
    int64_t used_ms;    /* last use; stored in batches */
    char used_from[64]; /* and from where */
    /* derived */
    struct seen seen;
};

struct session { /* below a user */
    struct object object;
    int64_t expires_ms;
    int64_t revoked_ms;
    int64_t held_ms; /* since a restore, until somebody looked at it */
    int64_t proved_ms; /* last proof by password or identity provider */
    int64_t factor_ms; /* last proof with a second factor */
    struct ref provider; /* identityprovider that it came by; none: password */
    int64_t used_ms;    /* last use; stored in batches */
    char used_from[64]; /* and from where */
    uint8_t digest[32];
    uint8_t sid[32];     /* digest of the provider's session id; 0: none */
    /* derived */
    struct seen seen;
};

enum provider_people {
    PROVIDER_AUTO,   /* a user is made for who logs in first */
    PROVIDER_LINKED, /* only users that somebody linked */
};
/* Below a tenant, or the platform: it speaks for people of its parent alone. */
struct identityprovider {
    struct object object;
    char display[TEXT_MAX_SIZE];
    int state; /* enum state */
    char issuer[TEXT_MAX_SIZE];
    char client_id[TEXT_MAX_SIZE];
    char secret[512]; /* sealed (base/seal.h); "": a public client */
    char scopes[TEXT_MAX_SIZE]; /* beside openid */
    bool userinfo; /* claims are asked for there too */
    int people; /* enum provider_people */
    struct blob *mapping; /* federation.h; null: none */
    struct blob *acr;     /* JSON list of texts; null: none proves anything */
    int64_t fresh_ms; /* what the mapping gave ends that long after a login */
    struct ref author; /* of the mapping; none while there is none */
};

struct identity { /* below a user */
    struct object object;
    struct ref provider;
    char subject[TEXT_MAX_SIZE]; /* "sub" */
    uint8_t digest[32]; /* of both: federation_digest */
};

struct role { /* below the platform or a tenant */
    struct object object;
    struct verbs verbs; /* to use */
    struct verbs give;  /* to hand out */
    bool builtin;
};

struct grant { /* below platform, tenant, unit or project */
    struct object object;
    struct ref subject; /* indexed */
    struct ref role;
    struct verbs use;  /* mask: may do what the role has and this has */
    struct verbs give; /* mask: the same for handing out */
    int64_t from_ms, to_ms; /* [from, to), 0: open */
    struct blob *devices;   /* JSON list of ids; null: any object */
    struct ref workorder;   /* only while it is open */
    int64_t proof_ms;       /* longest age of the proof of identity; 0: any */
    bool approval;          /* each use needs a second person */
    bool factor;            /* the session has shown a second factor */
    char sources[TEXT_MAX_SIZE];
    struct ref granter;
    struct ref provider; /* identityprovider whose mapping made it, or none */
};

struct team { /* a group: below the platform or a tenant; holds no groups */
    struct object object;
    char display[TEXT_MAX_SIZE];
};

struct membership { /* below its group */
    struct object object;
    struct ref subject; /* user or serviceaccount; indexed */
    struct ref adder;
    int64_t to_ms; /* [.., to); 0: open */
    struct ref provider; /* identityprovider whose mapping made it, or none */
};

/* Below a tenant or the platform; goes when it is accepted. */
struct invitation {
    struct object object;
    uint8_t digest[32];
    struct ref user; /* who sets their first password with it */
    int64_t expires_ms;
    struct ref inviter;
};

struct ceiling { /* below a tenant or project: at most one each */
    struct object object;
    struct verbs verbs;
    int64_t key_life_ms;   /* 0: no bound */
    int64_t grant_life_ms; /* 0: no bound */
    int64_t cards_milli;   /* of a quota at or below; 0: no bound */
    int64_t max_run_ms;    /* of a workload; 0: no bound */
};

struct deny { /* below platform, tenant, unit or project */
    struct object object;
    struct verbs verbs;
    char reason[TEXT_MAX_SIZE];
};

enum dimension {
    DIMENSION_CARDS,        /* milli-cards */
    DIMENSION_ACCEL_MEMORY, /* MiB */
    DIMENSION_CPU,          /* milli */
    DIMENSION_MEMORY,       /* MiB */
    DIMENSION_STORAGE,      /* MiB of volumes */
    DIMENSION_WORKLOADS,    /* concurrent */
    DIMENSION_INSTANCES,    /* concurrent */
    DIMENSION_CARD_TIME,    /* milli-card-ms in the UTC month */
    DIMENSION_TOKENS,       /* in the UTC month */
    DIMENSION_COST,         /* nano in the UTC month */
    DIMENSION_COUNT
};
/* What a usage quota that is used up does. */
enum quota_action { QUOTA_STOP_ADMITTING, QUOTA_STOP };
struct quota { /* below platform, tenant, unit or project */
    struct object object;
    int dimension;       /* enum dimension */
    struct ref pool;     /* none: all pools */
    struct ref class;    /* none: all classes */
    char vendor[32];     /* "": cards of any vendor */
    char model[64];      /* "": cards of any model */
    struct ref user;     /* of a project: this subject's use alone */
    int64_t guaranteed;  /* 0 when none */
    int64_t limit;       /* AMOUNT_NONE: no limit of its own */
    int64_t soft;        /* an alarm from here on; 0: none */
    int action;          /* enum quota_action */
    bool reclaim;        /* work above the limit is stopped gracefully */
    bool given;          /* to a new tenant: it gives way to what is set */
    /* While too few cards are healthy for all guarantees (quota_portion.c): */
    int64_t unmet;  /* of the guarantee: it claims nothing */
    int64_t unkept; /* of that: it keeps nobody from being stopped */
    /* A limit above the own one for a time: a hero right. */
    int64_t raised_limit;
    int64_t raised_until_ms; /* 0: none */
    struct ref raised_by;
    char raised_reason[TEXT_MAX_SIZE];
    /* derived */
    int64_t used; /* capacity dimensions: live use; others: metered in the
                     month of used_month_ms */
    int64_t used_month_ms;
};

enum reservation_every { RESERVATION_ONCE, RESERVATION_DAY,
                         RESERVATION_WEEK };
enum reservation_state {
    RESERVATION_SCHEDULED,
    RESERVATION_OPENING, /* cards are chosen, and freed if need be */
    RESERVATION_OPEN,
    RESERVATION_OVER,
};
struct reservation { /* below a tenant, unit or project */
    struct object object;
    struct ref pool;
    struct ref class;  /* none: any card of the pool */
    int64_t cards;     /* whole cards */
    int64_t from_ms, to_ms; /* the first window, [from, to) */
    int every;         /* enum reservation_every */
    int64_t until_ms;  /* recurring: no window begins from then on */
    bool lend;         /* idle cards go to burst work of others */
    int state;         /* enum reservation_state */
    int64_t opens_ms, closes_ms; /* the window that is opening or open */
};

enum workload_kind { WORKLOAD_BATCH, WORKLOAD_SERVICE, WORKLOAD_INTERACTIVE };
enum workload_state {
    WORKLOAD_REJECTED,
    WORKLOAD_HELD,
    WORKLOAD_GATED,
    WORKLOAD_QUEUED,
    WORKLOAD_ASSIGNED,
    WORKLOAD_STARTING,
    WORKLOAD_RUNNING,
    WORKLOAD_CANCELLING,
    WORKLOAD_PREEMPTING,
    WORKLOAD_LOST,
    WORKLOAD_SUCCEEDED,
    WORKLOAD_FAILED,
    WORKLOAD_CANCELLED,
};
enum recovery { RECOVERY_NEVER, RECOVERY_SAME_POOL, RECOVERY_ANY };
/* What platform and tenant allow of it. */
enum recovery_most { MOST_ANY, MOST_SAME_POOL, MOST_NEVER };
/* Why a workload waits or was refused; text and numbers go with it. */
enum reason {
    REASON_NONE,
    REASON_NOT_EVALUATED,
    REASON_HELD_BY_USER,
    REASON_SHAPE,       /* never: no node could hold it, even empty */
    REASON_POLICY,      /* never: class, pool, priority not allowed */
    REASON_LIMIT_NEVER, /* never: larger than an empty quota */
    REASON_LIMIT,       /* gated: quota node full */
    REASON_CARD_TIME,   /* gated: usage quota */
    REASON_PRIORITY,    /* queued: others go first */
    REASON_CAPACITY,    /* queued: not enough free cards */
    REASON_FRAGMENTED,  /* queued: free, but not on one node */
    REASON_HEALTH,      /* queued: cards not healthy */
    REASON_HANDOVER,    /* queued: scrub not finished */
    REASON_NODE,        /* queued: CPU or memory of the nodes */
    REASON_RECLAIMING,  /* queued: victims are being stopped */
    REASON_BACKOFF,     /* queued: start failed, waits before the next try */
    REASON_SUSPENDED,   /* tenant, project or user suspended */
    REASON_GEOMETRY,    /* queued: free, but no slice of that size fits */
    REASON_APPROVAL,    /* held: its priority needs an approval */
    REASON_GOVERNANCE,  /* gated: its priority class has had its share */
    REASON_SPREAD,      /* queued: free, but not far enough apart */
    REASON_COMPATIBILITY, /* no node or card says what is required */
    REASON_MAINTENANCE, /* queued: it would run into a planned one */
    REASON_IMAGE,       /* no node, or none with room, has its image */
    REASON_AT_RISK,     /* queued: too few cards are healthy for guarantees */
};
struct workload { /* below a project */
    struct object object;
    int kind;            /* enum workload_kind */
    int state;           /* enum workload_state */
    int64_t state_ms;    /* since */
    int64_t submitted_ms;
    struct ref user;     /* user or serviceaccount that submitted it */
    struct ref class;
    int form;            /* enum class_form: of the class */
    struct blob *classes; /* JSON list of class ids, best first; null: class
                             alone (core/alternative.h) */
    int64_t min_accel_memory_mib; /* asked for instead of a class; 0: not */
    struct ref pool;     /* none: any that is allowed */
    struct ref priority;
    int64_t instances;   /* 1..: all of them, or none */
    int64_t instances_max; /* elastic: grows up to that; 0: it does not */
    int64_t instances_now; /* that it has, those told to go left out */
    int64_t cpu_milli;   /* of each instance */
    int64_t memory_mib;  /* of each instance */
    char image[TEXT_MAX_SIZE]; /* name@sha256:... or name */
    struct blob *spec;   /* command, args, env, volumes, ports: JSON object */
    bool preemptible;
    int64_t max_run_ms;  /* 0: none */
    int64_t grace_ms;    /* 0: the platform's */
    int recovery;        /* enum recovery */
    int64_t recovery_limit; /* of recoveries; 0: the shipped number */
    int64_t recoveries;  /* so far */
    int64_t restarts;    /* allowed starts after a failed exit */
    int reason;          /* enum reason */
    char reason_text[TEXT_MAX_SIZE];
    struct ref reason_quota; /* the quota that is full, or none */
    int64_t need, have, limit; /* numbers of the reason */
    int64_t attempt;     /* 0 before the first assignment */
    int64_t failures;    /* failed starts or exits so far */
    int64_t preemptions;
    int64_t waiting_ms;  /* it waits to start since */
    int64_t replacing_ms; /* a card failed under it then: it goes first until
                             it starts again; 0: no */
    int64_t bypassed;    /* starts of later work since then */
    int64_t booked_ms;   /* booked start; 0: none, or none with a time */
    int64_t started_ms;  /* first running instance of this attempt */
    int64_t ended_ms;
    int64_t next_try_ms; /* back-off */
    int64_t exit_code;   /* of the first instance that failed, else 0 */
    bool oom;
    int64_t checkpoint_step; /* observed */
    int64_t checkpoint_ms;
    int64_t card_time;   /* metered so far, milli-card-ms, all attempts */
    struct blob *proof;  /* why it was preempted or what it reclaims */
    char priority_rule[TEXT_MAX_SIZE]; /* what allowed its priority */
};

enum instance_state {
    INSTANCE_ASSIGNED, /* desired on a node, nothing seen yet */
    INSTANCE_STARTING,
    INSTANCE_RUNNING,
    INSTANCE_STOPPING, /* notice given or kill ordered */
    INSTANCE_EXITED,   /* process gone, release not yet confirmed */
    INSTANCE_RELEASED, /* terminal: cards and resources given back */
    INSTANCE_LOST,     /* node's lease is over */
};
enum instance_want { WANT_RUN, WANT_NOTICE, WANT_STOP };
struct instance { /* below a workload; one per attempt and index */
    struct object object;
    int64_t number;      /* index in the workload, 0.. */
    int64_t attempt;
    int64_t incarnation; /* 1, 2, ... restarts at the same place */
    struct ref node;     /* indexed */
    int state;           /* enum instance_state */
    int want;            /* enum instance_want */
    char want_reason[64];   /* for the notice: "preempted", "cancelled" */
    int64_t deadline_ms;    /* WANT_NOTICE: kill after this */
    int64_t uid_base;       /* host uids [base, base + 65536) */
    int64_t address;        /* host part in the tenant's network, 1.. */
    int64_t assigned_ms, started_ms, ended_ms;
    int64_t lost_ms;   /* its node was lost then, last; 0: it was not */
    int64_t exit_code; /* valid when ended */
    bool oom;
    char failure[128]; /* why it could not start, or "" */
    char cpus[TEXT_MAX_SIZE]; /* that it may use, "0-3,8"; "": not told */
    char mems[64];            /* the same for memory: NUMA nodes */
    char nics[TEXT_MAX_SIZE]; /* networks beside its cards: "eth0 mlx5_0" */
    bool pinned; /* its cores are nobody else's */
    /* charge target, fixed at assignment */
    struct ref project;
    struct ref pool;
    struct ref class;
    int64_t cpu_milli, memory_mib;
    /* It disturbed others: held to that, up to then, for the how manieth
     * time. */
    int64_t cap_cpu_milli, cap_io_kib, cap_network_kib;
    int64_t cap_until_ms, caps;
    struct blob *interference; /* core/interference.h; null: nothing yet */
};

struct binding { /* below an instance: card <-> instance, [from, to) */
    struct object object;
    struct ref card; /* indexed */
    char slice[GEOMETRY_NAME_MAX]; /* hard slice of it, "": none */
    int form;                      /* enum class_form */
    int64_t milli;
    int64_t memory_mib;
    int64_t from_ms;
    int64_t to_ms;  /* 0 while live: set when the release is confirmed */
    int64_t cut_ms; /* metered up to here */
    int64_t until_ms; /* its longest run time ends then; 0: open */
    /* charge target, fixed at assignment */
    struct ref workload;
    struct ref project;
    struct ref user;
    struct ref pool;
    struct ref class;
    struct ref priority;
    char vendor[32]; /* of the card */
    char model[64];
    int64_t price_nano; /* of a card-hour then: for what is not metered yet */
    struct blob *cleaning; /* what was done after it; NULL: not yet */
};

struct hold { /* below the beneficiary workload: a part kept free for it */
    struct object object;
    struct ref card; /* indexed */
    char slice[GEOMETRY_NAME_MAX]; /* hard slice of it, "": none */
    int64_t milli;
    int64_t memory_mib;
    int64_t expires_ms;
};

/* Below a workload that waits: a start that no later work may delay. */
struct booking {
    struct object object;
    struct ref card;    /* indexed; none: it waits for quota alone */
    struct ref pool;
    int64_t milli;
    int64_t memory_mib;
    int64_t from_ms;    /* expected start; 0: when all has become free */
};

enum volume_state { VOLUME_NEW, VOLUME_READY, VOLUME_DELETING, VOLUME_FAILED };
struct volume { /* below a project */
    struct object object;
    int64_t size_mib;
    struct ref node; /* indexed; where it lies, none before first use */
    int state;
    char failure[128];
};

struct alarm { /* below the object that it is about */
    struct object object;
    char code[64];
    char text[TEXT_MAX_SIZE];
    int64_t raised_ms;
    int64_t cleared_ms; /* 0 while it stands */
};

enum request_sort { REQUEST_QUOTA, REQUEST_RESERVATION, REQUEST_CLASS,
                    REQUEST_PRIORITY };
enum request_state { REQUEST_OPEN, REQUEST_GRANTED, REQUEST_DENIED,
                     REQUEST_WITHDRAWN };
/* "We need more", below the tenant, unit or project that needs it; the level
 * above decides.  Kind "request"; a request that comes in is another thing. */
struct wish {
    struct object object;
    int sort;  /* enum request_sort */
    int state; /* enum request_state */
    char reason[TEXT_MAX_SIZE];
    int dimension;        /* quota: enum dimension */
    struct ref pool;      /* quota, reservation */
    struct ref class;     /* quota, reservation, class */
    struct ref priority;  /* priority */
    struct ref workload;  /* priority: for this one; none: for all to come */
    char vendor[32];      /* quota */
    char model[64];
    struct ref user;      /* quota: of this subject in the project */
    int64_t guaranteed;   /* quota; AMOUNT_NONE: as it is */
    int64_t limit;        /* quota, reservation; AMOUNT_NONE: as it is */
    int64_t from_ms, to_ms; /* reservation */
    int every;              /* enum reservation_every */
    int64_t until_ms;
    bool lend;
    struct ref requester;
    struct ref decider;
    int64_t decided_ms;
    char note[TEXT_MAX_SIZE]; /* of who decided */
};

struct receipt { /* below the subject */
    struct object object;
    uint8_t key[32];    /* digest of subject, route and Idempotency-Key */
    uint8_t digest[32]; /* of the request */
    int64_t status;     /* of the stored answer */
    struct blob *answer;
    int64_t expires_ms;
    int64_t number; /* from 1, dense within the subject: the oldest goes first */
};

/* A producer of usage counters (a gateway, a node's agent) below the platform:
 * its name is the facts' source.  What it sent last is what tells a repeat. */
struct source {
    struct object object;
    int64_t epoch;      /* 0 before the first fact */
    int64_t sequence;   /* last accepted in this epoch */
    uint8_t digest[32]; /* of what was accepted last */
};

/* What a user had lately in the project above, for fair share (share.h). */
struct recent {
    struct object object; /* named like the user's id */
    struct ref user;      /* or none */
    int64_t cards;  /* milli-card-ms, faded to at_ms */
    int64_t memory; /* MiB-seconds, the same way */
    int64_t at_ms;
};

enum usage_class { USAGE_BOUND, USAGE_RESERVED, USAGE_IDLE, USAGE_SCRUB,
                   USAGE_MAINTENANCE, USAGE_UNHEALTHY, USAGE_UNKNOWN };
/* Ids as in the store: a fact outlives the objects that it names. */
struct fact {
    struct object object;    /* parent: the card or the source's node */
    char source[NAME_MAX_SIZE]; /* "bulkheadd" or a producer */
    int64_t epoch;
    int64_t sequence;        /* dense within (source, epoch) */
    int64_t from_ms, to_ms;  /* one hour at most, never over a boundary */
    int usage;               /* enum usage_class */
    int meter;               /* enum price_meter */
    int64_t milli;           /* share of the card */
    int64_t quantity;        /* card time: milli x (to - from); else count */
    struct ref card, node, pool, class;
    struct ref tenant, project, user, workload, priority;
    int64_t attempt;
    char vendor[32];
    char model[64];
    char form[8];            /* of what was bound: whole, hard, soft; "" */
    int64_t price_nano;      /* per unit of the meter, in force then */
};

/* An audit record in its log (core/record.h has what is inside). */
struct event {
    struct object object; /* parent: the tenant or platform whose log it is */
    int64_t index;        /* in its log, dense from 0 */
    int64_t time_ms;
    uint8_t leaf[32];     /* Merkle leaf hash */
    struct blob *body;     /* the record's entry, base64 */
    struct blob *personal; /* its personal part, base64; NULL: erased */
    char verb[NAME_MAX_SIZE];
    char actor[40];
    char target[40];
    bool allowed;
};

#include "core/model_plan.h"
#include "core/model_trust.h"

#endif
