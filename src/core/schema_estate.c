/* SPDX-License-Identifier: Apache-2.0 */
#include "core/schema_private.h"

/* What the platform owns, and what it remembers. */

/* The names of each enum, in the order of model.h. */
static const char *const pool_kind_names[] = { "shared", "dedicated", NULL };
static const char *const node_state_names[] = { "schedulable", "cordoned",
                                                "draining", "maintenance",
                                                "lost", NULL };
static const char *const health_names[] = { "unknown", "healthy", "suspect",
                                            "degraded", "failed", NULL };
static const char *const handover_names[] = { "clean", "pending", "failed",
                                              NULL };
static const char *const form_names[] = { "whole", "hard", "soft", NULL };
static const char *const meter_names[] = { "card_hour", "token_in",
                                           "token_out", "request",
                                           "storage_gib_hour", "egress_gib",
                                           NULL };
static const char *const maintenance_policy_names[] = { "preempt", "finish",
                                                        NULL };
static const char *const maintenance_state_names[] = { "scheduled", "clearing",
                                                       "open", "over", NULL };
static const char *const usage_names[] = {
    "bound", "reserved", "idle", "scrub", "maintenance", "unhealthy",
    "unknown", NULL
};

static const struct field platform_fields[] = {
    TEXT(platform, currency, U, "ISO 4217 code of all prices"),
    AMOUNT(platform, grace_batch_ms, U, "notice to batch work, ms"),
    AMOUNT(platform, grace_service_ms, U, "notice to services, ms"),
    AMOUNT(platform, grace_max_ms, U, "cap on a workload's grace, ms"),
    AMOUNT(platform, hold_ms, U, "life of a nomination, ms"),
    AMOUNT(platform, lease_ms, U, "silence after which a node is lost, ms"),
    INT(platform, tenant_limit_permille, U, 0, 1000,
        "most of a pool that one tenant may get, permille"),
    INT(platform, burst_factor_permille, U, 1000, 1000000,
        "default limit as a multiple of the guarantee, permille"),
    AMOUNT(platform, free_limit_milli, U,
           "default card limit without a guarantee, milli-cards"),
    AMOUNT(platform, tenant_guarantee_milli, U,
           "guarantee of a new tenant while the estate has room, "
           "milli-cards"),
    AMOUNT(platform, max_run_default_ms, U, "default run time, ms; 0: none"),
    AMOUNT(platform, min_run_ms, U, "run time before a second preemption, ms"),
    INT(platform, restart_max, U, 0, 1000, "most restarts of a workload"),
    INT(platform, bypass_max, U, 0, 1000000,
        "starts of later work before waiting work is booked; 0: no bound"),
    AMOUNT(platform, bypass_ms, U,
           "waiting time before work is booked, ms; 0: no bound"),
    INT(platform, share_half_life_ms, U, 0, SHARE_HALF_LIFE_MAX,
        "half-life of use in fair share, ms; 0: no fair share"),
    DOC(platform, expected, FIELD_SECRET,
        "what work placement expects, and its prices"),
    AMOUNT(platform, expected_upto, FIELD_SECRET,
           "newest workload that is counted in it"),
    AMOUNT(platform, expected_count, FIELD_PLATFORM,
           "submissions that placement has learnt from"),
    TIME(platform, restored_ms, 0, "put back from a backup"),
    BOOL(platform, observing, 0,
         "restored, not yet confirmed: nothing is started"),
};
static const struct field pool_fields[] = {
    ENUM(pool, kind, C, pool_kind_names, "who may use it"),
    DOC(pool, tenants, C | U | FIELD_PLATFORM,
        "ids of the tenants of a dedicated pool"),
    BOOL(pool, lend, C | U, "idle cards of a dedicated pool may be lent"),
    BOOL(pool, overflow, C | U, "open to nodepool tenants that are full"),
};
static const struct field node_fields[] = {
    ENUM(node, state, U, node_state_names, "whether it takes work"),
    ENUM(node, resume, 0, node_state_names,
         "state that it had before it was lost"),
    BYTES(node, public_key, FIELD_PLATFORM, "Ed25519 key of its agent"),
    TEXT(node, boot, FIELD_PLATFORM, "boot id that its agent reported"),
    AMOUNT(node, epoch, FIELD_PLATFORM, "enrolment count"),
    AMOUNT(node, sequence, FIELD_PLATFORM, "last accepted message"),
    AMOUNT(node, cpu_milli, 0, "CPU, milli"),
    AMOUNT(node, memory_mib, 0, "memory, MiB"),
    BOOL(node, simulated, 0, "its cards are simulated"),
    TEXT(node, leaf, U, "nodes behind one leaf switch share it"),
    DOC(node, facts, FIELD_PLATFORM, "versions and kernel"),
    AMOUNT(node, refusals, FIELD_PLATFORM, "failed starts in a row"),
    AMOUNT(node, refused_tenant, FIELD_PLATFORM, "whose was the first"),
    BOOL(node, refused_several, FIELD_PLATFORM, "another's was among them"),
    DOC(node, orphans, FIELD_PLATFORM,
        "containers that a restored platform does not know"),
    REF(node, maintenance, FIELD_PLATFORM, KIND_MAINTENANCE,
        "planned maintenance that it is in"),
    ENUM(node, maintenance_resume, FIELD_PLATFORM, node_state_names,
         "state that it goes back to afterwards"),
};
static const struct field maintenance_fields[] = {
    TIME(maintenance, from_ms, C, "the first window begins; default: now"),
    TIME(maintenance, to_ms, C | R | U, "and ends, not included"),
    ENUM(maintenance, every, C, schema_every_names,
         "once, or again each day or week, UTC"),
    TIME(maintenance, until_ms, C | U, "no window begins from then on"),
    ENUM(maintenance, policy, C | U, maintenance_policy_names,
         "what becomes of work that is there"),
    BOOL(maintenance, lend, C | U,
         "preemptible work may run into it, and gets notice in time"),
    TEXT(maintenance, reason, C | U, "why"),
    ENUM(maintenance, state, 0, maintenance_state_names, "where it is"),
    TIME(maintenance, opens_ms, 0, "this window begins"),
    TIME(maintenance, closes_ms, 0, "this window ends"),
};
static const struct field requirement_fields[] = {
    REF(requirement, class, C, KIND_CLASS, "work of this class; none: any"),
    TEXT(requirement, image, C,
         "work with images whose name begins so; empty: any"),
    NAME(requirement, fact, C | R,
         "driver, vendor or model of the card, or a word of the node's facts"),
    TEXT(requirement, at_least, C | U, "least version"),
    TEXT(requirement, below, C | U, "version that is too new"),
    TEXT(requirement, equals, C | U, "text that it must be"),
    TEXT(requirement, reason, C | U, "why"),
};
static const struct field commitment_fields[] = {
    TEXT(commitment, model, C, "card model; empty: any"),
    INT(commitment, cards, C | R, 1, 1000000, "whole cards"),
    AMOUNT(commitment, nano, C | R,
           "per card-hour, used or not, nano of the currency"),
    TIME(commitment, from_ms, C, "in force from; default: now"),
    TIME(commitment, to_ms, C | R | U, "up to, not including"),
};
static const struct field jointoken_fields[] = {
    BYTES(jointoken, digest, FIELD_SECRET | FIELD_UNIQUE, "of the token"),
    NAME(jointoken, node, C | R, "name of the node that may enrol"),
    TIME(jointoken, expires_ms, C, "not usable from then on"),
    TIME(jointoken, used_ms, 0, "when it was used"),
};
static const struct field card_fields[] = {
    TEXT(card, uuid, 0, "vendor's UUID"),
    TEXT(card, vendor, 0, "vendor"),
    TEXT(card, model, 0, "true model"),
    TEXT(card, pci, FIELD_PLATFORM, "PCI address"),
    TEXT(card, driver, 0, "driver version"),
    AMOUNT(card, memory_mib, 0, "accelerator memory, MiB"),
    AMOUNT(card, compute_units, 0, "compute units"),
    AMOUNT(card, numa, 0, "NUMA node"),
    TEXT(card, island, 0, "cards with direct links share it"),
    ENUM(card, health, U, health_names, "verdict"),
    TEXT(card, health_reason, U, "why"),
    BOOL(card, simulated, 0, "not a real card"),
    BOOL(card, foreign, 0, "a process of nobody's is on it"),
    BOOL(card, missing, 0, "not in the last inventory"),
    ENUM(card, handover, U, handover_names, "between two tenants"),
    BOOL(card, sliced, 0, "cut for hard slices"),
    TEXT(card, dirty, 0, "released slices that wait for their scrub"),
    REF(card, last_tenant, FIELD_PLATFORM, KIND_TENANT, "last holder"),
    TIME(card, cut_ms, FIELD_PLATFORM, "metered up to here"),
};
static const struct field class_fields[] = {
    TEXT(class, vendor, C, "vendor; empty: any"),
    TEXT(class, model, C, "model; empty: any"),
    AMOUNT(class, min_memory_mib, C, "least memory of the card, MiB"),
    INT(class, count, C, 0, 64, "whole cards of one instance"),
    ENUM(class, form, C, form_names, "whole card, hard slice, soft share"),
    INT(class, milli, C, 0, 1000, "share of one card, milli-cards"),
    AMOUNT(class, memory_mib, C,
           "accelerator memory of a share or slice, MiB"),
    TEXT(class, profile, C, "vendor's slice profile"),
};
static const struct field priority_fields[] = {
    INT(priority, value, C | U | R, 0, 1000000, "higher goes first"),
    BOOL(priority, preempt_across, C | U,
         "may preempt burst use of other tenants"),
    DOC(priority, roles, C | U,
        "names of the roles that may use it; null: all"),
    DOC(priority, project_classes, C | U,
        "classes of project that may use it; null: all"),
    DOC(priority, kinds, C | U, "kinds of work that may use it; null: all"),
    BOOL(priority, approval, C | U, "each use needs an approval"),
    INT(priority, share_permille, C | U, 0, 1000,
        "most of a pool's cards at a time, permille; 0: no such rule"),
    USAGE(priority, card_time, C | U,
          "most card time in the UTC month, milli-card-ms; 0: no such rule"),
};
static const struct field price_fields[] = {
    ENUM(price, meter, C | R, meter_names, "what is counted"),
    TEXT(price, model, C, "card model; empty: any"),
    REF(price, tenant, C, KIND_TENANT, "for this tenant alone"),
    AMOUNT(price, nano, C | R, "per unit, nano of the currency"),
    TIME(price, from_ms, C, "in force from"),
    TIME(price, to_ms, C | U, "up to, not including"),
};
static const struct field receipt_fields[] = {
    BYTES(receipt, key, FIELD_SECRET | FIELD_UNIQUE, "of the request's key"),
    BYTES(receipt, digest, FIELD_SECRET, "of the request"),
    INT(receipt, status, 0, 100, 599, "HTTP status"),
    DOC(receipt, answer, FIELD_SECRET, "stored answer"),
    TIME(receipt, expires_ms, 0, "forgotten at"),
    INT(receipt, number, 0, 0, INT64_MAX, "of the subject's answers"),
};
static const struct field source_fields[] = {
    AMOUNT(source, epoch, FIELD_PLATFORM, "count of its starts"),
    AMOUNT(source, sequence, FIELD_PLATFORM, "last accepted"),
    BYTES(source, digest, FIELD_SECRET, "of what was accepted last"),
};
static const struct field recent_fields[] = {
    REF(recent, user, FIELD_PLATFORM, KIND_NONE, "whose use"),
    USAGE(recent, cards, FIELD_PLATFORM, "faded use, milli-card-ms"),
    USAGE(recent, memory, FIELD_PLATFORM, "faded use, MiB-seconds"),
    TIME(recent, at_ms, FIELD_PLATFORM, "faded to this time"),
};
static const struct field fact_fields[] = {
    TEXT(fact, source, 0, "who counted"),
    AMOUNT(fact, epoch, 0, "of the source"),
    AMOUNT(fact, sequence, 0, "dense in source and epoch"),
    TIME(fact, from_ms, 0, "from"),
    TIME(fact, to_ms, 0, "to, not including"),
    ENUM(fact, usage, 0, usage_names, "class of the time"),
    ENUM(fact, meter, 0, meter_names, "what is counted"),
    AMOUNT(fact, milli, 0, "share of the card"),
    AMOUNT(fact, quantity, 0, "milli-card-ms, or a count"),
    REF(fact, card, 0, KIND_CARD, "card"),
    REF(fact, node, 0, KIND_NODE, "node"),
    REF(fact, pool, 0, KIND_POOL, "pool"),
    REF(fact, class, 0, KIND_CLASS, "class"),
    REF(fact, tenant, 0, KIND_TENANT, "tenant"),
    REF(fact, project, 0, KIND_PROJECT, "project"),
    REF(fact, user, 0, KIND_NONE, "user or service account"),
    REF(fact, workload, 0, KIND_WORKLOAD, "workload"),
    REF(fact, priority, 0, KIND_PRIORITY, "priority class"),
    AMOUNT(fact, attempt, 0, "of the workload"),
    TEXT(fact, vendor, 0, "card vendor"),
    TEXT(fact, model, 0, "card model"),
    AMOUNT(fact, price_nano, 0, "per unit of the meter, then in force"),
};
static const struct field event_fields[] = {
    /* "index" is a word of SQL. */
    { "position", FIELD_INT, 0, AT(event, index), 0, AMOUNT_MAX, KIND_NONE,
      NULL, "in its log, dense" },
    TIME(event, time_ms, 0, "when"),
    BYTES(event, leaf, 0, "Merkle leaf hash"),
    DOC(event, body, 0, "the record's entry, base64"),
    DOC(event, personal, FIELD_SECRET, "its personal part, base64"),
    TEXT(event, verb, 0, "what was asked"),
    TEXT(event, actor, 0, "who asked"),
    TEXT(event, target, 0, "about which object"),
    BOOL(event, allowed, 0, "decision"),
};

const struct schema schema_estate[KIND_COUNT] = {
    KIND(PLATFORM, platform, "platform", "pl", LIFE_OBJECT,
         "The root of everything, with the platform's policy."),
    KIND(POOL, pool, "pools", "po", LIFE_OBJECT, "A named set of nodes."),
    KIND(NODE, node, "nodes", "no", LIFE_OBJECT,
         "A machine known by its agent."),
    KIND(JOINTOKEN, jointoken, "jointokens", "jt", LIFE_OBJECT,
         "Lets one node enrol, once."),
    KIND(CARD, card, "cards", "cd", LIFE_OBJECT,
         "One physical (or simulated) accelerator."),
    KIND(CLASS, class, "classes", "cl", LIFE_OBJECT,
         "What one instance gets, on one node."),
    KIND(PRIORITY, priority, "priorities", "pr", LIFE_OBJECT,
         "A priority class."),
    KIND(PRICE, price, "prices", "pc", LIFE_OBJECT, "A price list row."),
    KIND(RECEIPT, receipt, "receipts", "rc", LIFE_OBJECT,
         "The stored answer of an Idempotency-Key."),
    KIND(SOURCE, source, "sources", "so", LIFE_OBJECT,
         "A producer of usage counters."),
    KIND(RECENT, recent, "recents", "re", LIFE_OBJECT,
         "What a user had lately in a project, for fair share."),
    KIND(MAINTENANCE, maintenance, "maintenances", "mt", LIFE_OBJECT,
         "A planned maintenance of a node or pool."),
    KIND(REQUIREMENT, requirement, "requirements", "rm", LIFE_OBJECT,
         "What work of a class or image needs of nodes and cards."),
    KIND(COMMITMENT, commitment, "commitments", "cm", LIFE_OBJECT,
         "Cards that a tenant pays, used or not."),
    KIND(FACT, fact, "facts", "fa", LIFE_HISTORY, "Metered usage."),
    KIND(EVENT, event, "events", "ev", LIFE_HISTORY, "An audit record."),
};
