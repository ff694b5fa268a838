/* SPDX-License-Identifier: Apache-2.0 */
#include "core/schema.h"

#include <assert.h>
#include <string.h>

#include "core/model.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* The names of each enum, in the order of model.h. */
static const char *const state_names[] = { "active", "suspended", "deleted",
                                           NULL };
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
static const char *const isolation_names[] = { "namespace", "nodepool",
                                               "cluster", NULL };
static const char *const project_class_names[] = {
    "production", "development", "research", "sandbox", NULL
};
static const char *const dimension_names[] = {
    "cards",   "accel_memory", "cpu",       "memory", "storage", "workloads",
    "instances", "card_time",  "tokens", "cost",   NULL
};
static const char *const quota_action_names[] = { "stop-admitting", "stop",
                                                  NULL };
static const char *const workload_kind_names[] = { "batch", "service",
                                                   "interactive", NULL };
static const char *const workload_state_names[] = {
    "rejected", "held",       "gated",      "queued", "assigned",
    "starting", "running",    "cancelling", "preempting", "lost",
    "succeeded", "failed",    "cancelled",  NULL
};
static const char *const recovery_names[] = { "never", "same-pool", "any",
                                              NULL };
static const char *const reason_names[] = {
    "none",     "not-evaluated", "held-by-user", "shape",
    "policy",   "limit-never",   "limit",        "card-time",
    "priority", "capacity",      "fragmented",   "health",
    "handover", "node",          "reclaiming",   "backoff",
    "suspended", "geometry",     "approval",     "governance",
    NULL
};
static const char *const instance_state_names[] = {
    "assigned", "starting", "running", "stopping",
    "exited",   "released", "lost",    NULL
};
static const char *const reservation_every_names[] = { "once", "day", "week",
                                                       NULL };
static const char *const reservation_state_names[] = {
    "scheduled", "opening", "open", "over", NULL
};
static const char *const want_names[] = { "run", "notice", "stop", NULL };
static const char *const request_sort_names[] = { "quota", "reservation",
                                                  "class", "priority", NULL };
static const char *const request_state_names[] = { "open", "granted",
                                                   "denied", "withdrawn",
                                                   NULL };
static const char *const volume_state_names[] = { "new", "ready", "deleting",
                                                  "failed", NULL };
static const char *const usage_names[] = {
    "bound", "reserved", "idle", "scrub", "maintenance", "unhealthy",
    "unknown", NULL
};

/* One row of a table.  C: set at creation, U: changed later, R: required. */
/* Short names for the table below only. */
#define C FIELD_CREATE
#define U FIELD_UPDATE
#define R FIELD_REQUIRED
#define AT(s, m) offsetof(struct s, m), sizeof(((struct s *)0)->m)
#define NAME(s, m, fl, help)                                                  \
    { #m, FIELD_NAME, fl, AT(s, m), 0, 0, KIND_NONE, NULL, help }
#define TEXT(s, m, fl, help)                                                  \
    { #m, FIELD_TEXT, fl, AT(s, m), 0, 0, KIND_NONE, NULL, help }
#define INT(s, m, fl, lo, hi, help)                                           \
    { #m, FIELD_INT, fl, AT(s, m), lo, hi, KIND_NONE, NULL, help }
#define AMOUNT(s, m, fl, help) INT(s, m, fl, 0, AMOUNT_MAX, help)
#define USAGE(s, m, fl, help) INT(s, m, fl, 0, USAGE_MAX, help)
#define BOOL(s, m, fl, help)                                                  \
    { #m, FIELD_BOOL, fl, AT(s, m), 0, 0, KIND_NONE, NULL, help }
#define ENUM(s, m, fl, list, help)                                            \
    { #m, FIELD_ENUM, fl, AT(s, m), 0, 0, KIND_NONE, list, help }
#define TIME(s, m, fl, help)                                                  \
    { #m, FIELD_TIME, fl, AT(s, m), 0, 0, KIND_NONE, NULL, help }
#define REF(s, m, fl, k, help)                                                \
    { #m, FIELD_REF, fl, AT(s, m), 0, 0, k, NULL, help }
#define DOC(s, m, fl, help)                                                   \
    { #m, FIELD_DOC, fl, AT(s, m), 0, 0, KIND_NONE, NULL, help }
#define BYTES(s, m, fl, help)                                                 \
    { #m, FIELD_BYTES, fl, AT(s, m), 0, 0, KIND_NONE, NULL, help }
#define VERBS(s, m, fl, help)                                                 \
    { #m, FIELD_VERBS, fl, AT(s, m), 0, 0, KIND_NONE, NULL, help }

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
static const struct field tenant_fields[] = {
    TEXT(tenant, display, C | U, "name for people"),
    ENUM(tenant, state, U, state_names, "whether it may act"),
    ENUM(tenant, isolation, C | U, isolation_names, "from other tenants"),
    AMOUNT(tenant, number, FIELD_PLATFORM, "network and uid plan"),
    DOC(tenant, pools, C | U, "allowed pools; null: the shared ones"),
    DOC(tenant, classes, C | U, "allowed classes; null: all"),
    DOC(tenant, priorities, C | U, "allowed priorities; null: all but "
                                   "those that preempt across tenants"),
    INT(tenant, weight, C | U, 1, SHARE_WEIGHT_MAX,
        "in fair share among all tenants, permille; default 1000"),
};
static const struct field unit_fields[] = {
    TEXT(unit, display, C | U, "name for people"),
    ENUM(unit, state, U, state_names, "whether it may act"),
    INT(unit, weight, C | U, 1, SHARE_WEIGHT_MAX,
        "in fair share among its siblings, permille; default 1000"),
};
static const struct field project_fields[] = {
    TEXT(project, display, C | U, "name for people"),
    ENUM(project, class, C | U, project_class_names, "class of project"),
    ENUM(project, state, U, state_names, "whether it may act"),
    INT(project, weight, C | U, 1, SHARE_WEIGHT_MAX,
        "in fair share among its siblings, permille; default 1000"),
};
static const struct field user_fields[] = {
    TEXT(user, display, C | U, "name for people"),
    TEXT(user, password, FIELD_SECRET, "Argon2id"),
    ENUM(user, state, U, state_names, "whether it may act"),
    AMOUNT(user, failures, 0, "failed logins since the last good one"),
    TIME(user, locked_ms, 0, "no login before"),
};
static const struct field serviceaccount_fields[] = {
    TEXT(serviceaccount, display, C | U, "name for people"),
    ENUM(serviceaccount, state, U, state_names, "whether it may act"),
    REF(serviceaccount, creator, 0, KIND_NONE, "who made it"),
};
static const struct field apikey_fields[] = {
    BYTES(apikey, digest, FIELD_SECRET | FIELD_UNIQUE, "of the key"),
    VERBS(apikey, verbs, C, "at most these; none given: all"),
    REF(apikey, subtree, C, KIND_NONE, "only below this object"),
    TEXT(apikey, sources, C, "only from these networks"),
    TIME(apikey, expires_ms, C, "not usable from then on"),
    TIME(apikey, revoked_ms, 0, "not usable since"),
    TIME(apikey, held_ms, 0, "not usable before a review, since"),
};
static const struct field session_fields[] = {
    BYTES(session, digest, FIELD_SECRET | FIELD_UNIQUE, "of the token"),
    TIME(session, expires_ms, 0, "not usable from then on"),
    TIME(session, proved_ms, 0, "last proof of identity"),
    TIME(session, revoked_ms, 0, "not usable since"),
    TIME(session, held_ms, 0, "not usable before a review, since"),
};
static const struct field role_fields[] = {
    VERBS(role, verbs, C | U | R, "what it allows"),
    VERBS(role, give, C | U, "what it allows to hand out"),
    BOOL(role, builtin, 0, "shipped, cannot be changed"),
};
static const struct field grant_fields[] = {
    REF(grant, subject, C | R | FIELD_INDEX, KIND_NONE,
        "user or service account"),
    REF(grant, role, C | R, KIND_ROLE, "role"),
    VERBS(grant, use, C, "at most this of the role; none given: all"),
    VERBS(grant, give, C, "hands out at most this; none given: the role's"),
    TIME(grant, from_ms, C, "valid from"),
    TIME(grant, to_ms, C, "valid up to, not including"),
    TEXT(grant, sources, C, "only from these networks"),
    REF(grant, granter, 0, KIND_NONE, "who gave it"),
};
static const struct field ceiling_fields[] = {
    VERBS(ceiling, verbs, C | U | R, "nothing else is allowed below"),
    AMOUNT(ceiling, key_life_ms, C | U, "longest life of a key, ms"),
    AMOUNT(ceiling, grant_life_ms, C | U, "longest life of a grant, ms"),
    AMOUNT(ceiling, cards_milli, C | U,
           "most milli-cards of a quota at or below; 0: no bound"),
    AMOUNT(ceiling, max_run_ms, C | U,
           "longest run of a workload below, ms; 0: no bound"),
};
static const struct field deny_fields[] = {
    VERBS(deny, verbs, C | R, "forbidden below"),
    TEXT(deny, reason, C, "why"),
};
static const struct field quota_fields[] = {
    ENUM(quota, dimension, C | R, dimension_names, "what is counted"),
    REF(quota, pool, C, KIND_POOL, "only in this pool"),
    REF(quota, class, C, KIND_CLASS, "only of this class"),
    TEXT(quota, vendor, C, "only cards of this vendor"),
    TEXT(quota, model, C, "only cards of this model"),
    REF(quota, user, C | FIELD_INDEX, KIND_NONE,
        "only of this user or service account, in a project"),
    AMOUNT(quota, guaranteed, C | U, "always available"),
    INT(quota, limit, C | U, AMOUNT_NONE, USAGE_MAX,
        "most at a time, burst included, or in the UTC month; -1: none"),
    USAGE(quota, soft, C | U, "an alarm is raised from here on; 0: none"),
    ENUM(quota, action, C | U, quota_action_names,
         "what happens when a month's limit is used up"),
    BOOL(quota, reclaim, C | U,
         "preemptible work above the limit is stopped gracefully"),
    INT(quota, raised_limit, 0, 0, USAGE_MAX, "limit in force for a time"),
    TIME(quota, raised_until_ms, 0, "up to then, not including"),
    REF(quota, raised_by, FIELD_PLATFORM, KIND_NONE, "who raised it"),
    TEXT(quota, raised_reason, 0, "why it was raised"),
};
static const struct field reservation_fields[] = {
    REF(reservation, pool, C | R, KIND_POOL, "where"),
    REF(reservation, class, C, KIND_CLASS, "cards of this class; none: any"),
    INT(reservation, cards, C | R | U, 1, 1000000, "whole cards"),
    TIME(reservation, from_ms, C, "the first window begins; default: now"),
    TIME(reservation, to_ms, C | R | U, "and ends, not included"),
    ENUM(reservation, every, C, reservation_every_names,
         "once, or again each day or week, UTC"),
    TIME(reservation, until_ms, C | U, "no window begins from then on"),
    BOOL(reservation, lend, C | U, "idle cards go to burst work of others"),
    ENUM(reservation, state, 0, reservation_state_names, "where it is"),
    TIME(reservation, opens_ms, 0, "this window begins"),
    TIME(reservation, closes_ms, 0, "this window ends"),
};
static const struct field workload_fields[] = {
    ENUM(workload, kind, C, workload_kind_names, "how it lives"),
    ENUM(workload, state, 0, workload_state_names, "where it is"),
    TIME(workload, state_ms, 0, "since"),
    TIME(workload, submitted_ms, 0, "submitted"),
    REF(workload, user, 0, KIND_NONE, "who submitted it"),
    REF(workload, class, C | R, KIND_CLASS, "what one instance gets"),
    DOC(workload, classes, C,
        "1 to 8 classes, best first: the first with a place; null: class"),
    REF(workload, pool, C, KIND_POOL, "only in this pool"),
    REF(workload, priority, C | U, KIND_PRIORITY, "priority class"),
    INT(workload, instances, C, 1, 4096, "number of instances (gang)"),
    INT(workload, cpu_milli, C, 1, AMOUNT_MAX, "CPU of an instance, milli"),
    INT(workload, memory_mib, C, 1, AMOUNT_MAX,
        "memory of an instance, MiB"),
    TEXT(workload, image, C | R, "name or name@sha256:digest"),
    DOC(workload, spec, C | R, "command, env, volumes, ports"),
    BOOL(workload, preemptible, C, "may be stopped for others"),
    AMOUNT(workload, max_run_ms, C, "longest run, ms; 0: none"),
    AMOUNT(workload, grace_ms, C, "notice before a stop, ms"),
    ENUM(workload, recovery, C, recovery_names, "after a lost node"),
    INT(workload, restarts, C, 0, 1000, "starts after a failed exit"),
    ENUM(workload, reason, 0, reason_names, "why it waits"),
    TEXT(workload, reason_text, 0, "the same as a sentence"),
    REF(workload, reason_quota, 0, KIND_QUOTA, "quota that is full"),
    USAGE(workload, need, 0, "amount asked"),
    USAGE(workload, have, 0, "amount there or used"),
    INT(workload, limit, 0, AMOUNT_NONE, USAGE_MAX, "limit"),
    AMOUNT(workload, attempt, 0, "assignments so far"),
    AMOUNT(workload, failures, 0, "failed starts and exits"),
    AMOUNT(workload, preemptions, 0, "times preempted"),
    TIME(workload, waiting_ms, 0, "waits to start since"),
    AMOUNT(workload, bypassed, 0, "starts of later work since then"),
    TIME(workload, booked_ms, 0,
         "starts then at the latest if what runs keeps its longest run"),
    TIME(workload, started_ms, 0, "this attempt runs since"),
    TIME(workload, ended_ms, 0, "ended"),
    TIME(workload, next_try_ms, 0, "not tried before"),
    INT(workload, exit_code, 0, -1, 255, "of the instance that decided"),
    BOOL(workload, oom, 0, "ended by its memory limit"),
    AMOUNT(workload, checkpoint_step, 0, "last observed checkpoint"),
    TIME(workload, checkpoint_ms, 0, "observed at"),
    USAGE(workload, card_time, 0, "metered, milli-card-ms"),
    DOC(workload, proof, 0, "why it was preempted or what it reclaims"),
    TEXT(workload, priority_rule, 0, "the rule that allowed its priority"),
};
static const struct field instance_fields[] = {
    AMOUNT(instance, number, 0, "index in the workload"),
    AMOUNT(instance, attempt, 0, "of the workload"),
    AMOUNT(instance, incarnation, 0, "starts at this place"),
    REF(instance, node, FIELD_INDEX | FIELD_PLATFORM, KIND_NODE, "where"),
    ENUM(instance, state, 0, instance_state_names, "what was seen"),
    ENUM(instance, want, FIELD_PLATFORM, want_names, "what is ordered"),
    TEXT(instance, want_reason, 0, "why it is stopped"),
    TIME(instance, deadline_ms, 0, "killed after"),
    AMOUNT(instance, uid_base, FIELD_PLATFORM, "first host uid"),
    AMOUNT(instance, address, 0, "host number in the tenant's network"),
    TIME(instance, assigned_ms, 0, "assigned"),
    TIME(instance, started_ms, 0, "running since"),
    TIME(instance, ended_ms, 0, "ended"),
    INT(instance, exit_code, 0, -1, 255, "exit code"),
    BOOL(instance, oom, 0, "ended by its memory limit"),
    TEXT(instance, failure, 0, "why it did not start"),
    REF(instance, project, FIELD_PLATFORM, KIND_PROJECT, "charged to"),
    REF(instance, pool, FIELD_PLATFORM, KIND_POOL, "charged in"),
    REF(instance, class, 0, KIND_CLASS, "charged as"),
    AMOUNT(instance, cpu_milli, 0, "CPU, milli"),
    AMOUNT(instance, memory_mib, 0, "memory, MiB"),
};
static const struct field binding_fields[] = {
    REF(binding, card, FIELD_INDEX | FIELD_ALIAS, KIND_CARD,
        "card; a tenant is shown another name for it in each binding"),
    TEXT(binding, slice, 0, "hard slice of the card: profile@start"),
    INT(binding, milli, 0, 1, 1000, "share, milli-cards"),
    AMOUNT(binding, memory_mib, 0, "accelerator memory, MiB"),
    TIME(binding, from_ms, 0, "bound from"),
    TIME(binding, to_ms, 0, "released, not including"),
    TIME(binding, cut_ms, FIELD_PLATFORM, "metered up to here"),
    TIME(binding, until_ms, 0, "end of its longest run time"),
    REF(binding, workload, 0, KIND_WORKLOAD, "workload"),
    REF(binding, project, 0, KIND_PROJECT, "charged to"),
    REF(binding, user, 0, KIND_NONE, "submitted by"),
    REF(binding, pool, 0, KIND_POOL, "charged in"),
    REF(binding, class, 0, KIND_CLASS, "charged as"),
    REF(binding, priority, 0, KIND_PRIORITY, "charged as"),
    TEXT(binding, vendor, 0, "vendor of the card"),
    TEXT(binding, model, 0, "model of the card"),
    AMOUNT(binding, price_nano, 0, "of a card-hour when it began"),
};
static const struct field hold_fields[] = {
    REF(hold, card, FIELD_INDEX, KIND_CARD, "card"),
    TEXT(hold, slice, 0, "hard slice of the card: profile@start"),
    INT(hold, milli, 0, 1, 1000, "share, milli-cards"),
    AMOUNT(hold, memory_mib, 0, "accelerator memory, MiB"),
    TIME(hold, expires_ms, 0, "given up at"),
};
static const struct field booking_fields[] = {
    REF(booking, card, FIELD_INDEX, KIND_CARD, "card"),
    REF(booking, pool, 0, KIND_POOL, "where it starts"),
    INT(booking, milli, 0, 0, 1000, "share, milli-cards"),
    AMOUNT(booking, memory_mib, 0, "accelerator memory, MiB"),
    TIME(booking, from_ms, 0, "expected start; none: when all is free"),
};
static const struct field volume_fields[] = {
    INT(volume, size_mib, C | R, 1, AMOUNT_MAX, "size, MiB"),
    REF(volume, node, FIELD_INDEX | FIELD_PLATFORM, KIND_NODE, "where"),
    ENUM(volume, state, 0, volume_state_names, "state"),
    TEXT(volume, failure, 0, "why it failed"),
};
static const struct field alarm_fields[] = {
    TEXT(alarm, code, 0, "what kind"),
    TEXT(alarm, text, 0, "sentence"),
    TIME(alarm, raised_ms, 0, "since"),
    TIME(alarm, cleared_ms, 0, "over since"),
};
static const struct field request_fields[] = {
    ENUM(wish, sort, C | R, request_sort_names, "what is asked for"),
    ENUM(wish, state, 0, request_state_names, "what became of it"),
    TEXT(wish, reason, C | R, "why it is needed"),
    ENUM(wish, dimension, C, dimension_names, "quota: of what"),
    REF(wish, pool, C, KIND_POOL, "only in this pool"),
    REF(wish, class, C, KIND_CLASS, "of this class"),
    REF(wish, priority, C, KIND_PRIORITY, "this priority class"),
    REF(wish, workload, 0, KIND_WORKLOAD,
        "priority: the workload that waits for it"),
    TEXT(wish, vendor, C, "quota: only cards of this vendor"),
    TEXT(wish, model, C, "quota: only cards of this model"),
    REF(wish, user, C, KIND_NONE,
        "quota: only of this user or service account, in a project"),
    INT(wish, guaranteed, C, AMOUNT_NONE, AMOUNT_MAX,
        "quota: guarantee that is asked for; -1: as it is"),
    INT(wish, limit, C, AMOUNT_NONE, USAGE_MAX,
        "quota: limit that is asked for; reservation: its amount; -1: as it "
        "is"),
    TIME(wish, from_ms, C, "reservation: from"),
    TIME(wish, to_ms, C, "reservation: up to, not including"),
    REF(wish, requester, 0, KIND_NONE, "who asked"),
    REF(wish, decider, FIELD_PLATFORM, KIND_NONE, "who decided"),
    TIME(wish, decided_ms, 0, "when"),
    TEXT(wish, note, 0, "what the decider said"),
};
static const struct field receipt_fields[] = {
    BYTES(receipt, key, FIELD_SECRET | FIELD_UNIQUE, "of the request's key"),
    BYTES(receipt, digest, FIELD_SECRET, "of the request"),
    INT(receipt, status, 0, 100, 599, "HTTP status"),
    DOC(receipt, answer, FIELD_SECRET, "stored answer"),
    TIME(receipt, expires_ms, 0, "forgotten at"),
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

#define KIND(KEY, s, plural, prefix, life, help)                              \
    [KIND_##KEY] = { #s,   plural,      prefix,          life,                \
                     sizeof(struct s), s##_fields, COUNT(s##_fields), help }
static const struct schema schemas[KIND_COUNT] = {
    KIND(PLATFORM, platform, "platform", "pl", LIFE_OBJECT,
         "The root of everything, with the platform's policy."),
    KIND(POOL, pool, "pools", "po", LIFE_OBJECT, "A named set of nodes."),
    KIND(NODE, node, "nodes", "no", LIFE_OBJECT,
         "A machine known by its agent."),
    KIND(CARD, card, "cards", "cd", LIFE_OBJECT,
         "One physical (or simulated) accelerator."),
    KIND(JOINTOKEN, jointoken, "jointokens", "jt", LIFE_OBJECT,
         "Lets one node enrol, once."),
    KIND(CLASS, class, "classes", "cl", LIFE_OBJECT,
         "What one instance gets, on one node."),
    KIND(PRIORITY, priority, "priorities", "pr", LIFE_OBJECT,
         "A priority class."),
    KIND(PRICE, price, "prices", "pc", LIFE_OBJECT, "A price list row."),
    KIND(TENANT, tenant, "tenants", "tn", LIFE_OBJECT,
         "The boundary of ownership and isolation."),
    KIND(UNIT, unit, "units", "un", LIFE_OBJECT, "An organizational unit."),
    KIND(PROJECT, project, "projects", "pj", LIFE_OBJECT,
         "The working and accounting unit."),
    KIND(USER, user, "users", "us", LIFE_OBJECT, "A person."),
    KIND(SERVICEACCOUNT, serviceaccount, "serviceaccounts", "sa",
         LIFE_OBJECT, "A program that acts for a project."),
    KIND(APIKEY, apikey, "apikeys", "ak", LIFE_OBJECT,
         "A narrowing of one subject."),
    KIND(SESSION, session, "sessions", "se", LIFE_OBJECT, "A login."),
    KIND(ROLE, role, "roles", "ro", LIFE_OBJECT, "A named set of verbs."),
    KIND(GRANT, grant, "grants", "gr", LIFE_OBJECT,
         "A right of a subject at a node of the tree."),
    KIND(CEILING, ceiling, "ceilings", "ce", LIFE_OBJECT,
         "What can be allowed below at most."),
    KIND(DENY, deny, "denies", "de", LIFE_OBJECT, "What is forbidden below."),
    KIND(QUOTA, quota, "quotas", "qu", LIFE_OBJECT,
         "A guarantee and a limit in one dimension."),
    KIND(RESERVATION, reservation, "reservations", "rv", LIFE_OBJECT,
         "Cards promised for a time."),
    KIND(WORKLOAD, workload, "workloads", "wl", LIFE_OBJECT,
         "Work that wants cards."),
    KIND(INSTANCE, instance, "instances", "in", LIFE_OBJECT,
         "One container group on one node."),
    KIND(BINDING, binding, "bindings", "bi", LIFE_OBJECT,
         "An instance holds a card, from..to."),
    KIND(HOLD, hold, "holds", "ho", LIFE_OBJECT,
         "A part of a card kept free for a nominated workload."),
    KIND(BOOKING, booking, "bookings", "bk", LIFE_OBJECT,
         "A start that no later work may delay."),
    KIND(VOLUME, volume, "volumes", "vo", LIFE_OBJECT,
         "Storage of a project with a size limit that holds."),
    KIND(ALARM, alarm, "alarms", "al", LIFE_OBJECT,
         "Something that needs a person."),
    [KIND_REQUEST] = { "request", "requests", "rq", LIFE_OBJECT,
                       sizeof(struct wish), request_fields,
                       COUNT(request_fields),
                       "A wish for more than a node has." },
    KIND(RECEIPT, receipt, "receipts", "rc", LIFE_OBJECT,
         "The stored answer of an Idempotency-Key."),
    KIND(SOURCE, source, "sources", "so", LIFE_OBJECT,
         "A producer of usage counters."),
    KIND(RECENT, recent, "recents", "re", LIFE_OBJECT,
         "What a user had lately in a project, for fair share."),
    KIND(FACT, fact, "facts", "fa", LIFE_HISTORY, "Metered usage."),
    KIND(EVENT, event, "events", "ev", LIFE_HISTORY, "An audit record."),
};

const struct schema *
schema_get(enum kind kind)
{
    assert(kind > KIND_NONE && kind < KIND_COUNT);
    return &schemas[kind];
}

enum kind
schema_find(const char *name)
{
    for (unsigned kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
        if (strcmp(schemas[kind].name, name) == 0 ||
            strcmp(schemas[kind].plural, name) == 0)
            return (enum kind)kind;
    return KIND_NONE;
}

const struct field *
schema_field(enum kind kind, const char *name)
{
    const struct schema *schema = schema_get(kind);

    for (size_t i = 0; i < schema->field_count; i++)
        if (strcmp(schema->fields[i].name, name) == 0)
            return &schema->fields[i];
    return NULL;
}

int
schema_enum_parse(const char *const *names, const char *text)
{
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], text) == 0)
            return i;
    return -1;
}

static bool
is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

int
schema_check_name(const char *pointer, const char *text, struct error *err)
{
    size_t size = strlen(text);
    bool ok = size > 0 && size < NAME_MAX_SIZE && is_alphanumeric(text[0]) &&
              is_alphanumeric(text[size - 1]);

    for (size_t i = 0; ok && i < size; i++)
        ok = is_alphanumeric(text[i]) || text[i] == '-' || text[i] == '.' ||
             text[i] == '_';
    if (ok)
        return 0;
    return error_field(err, pointer,
                       "\"%.80s\" is not a name: 1 to %d of a-z, 0-9 and "
                       "inner - . _",
                       text, NAME_MAX_SIZE - 1);
}

int
schema_check_text(const char *pointer, const char *text, size_t room,
                  struct error *err)
{
    size_t size = strlen(text);

    if (size >= room)
        return error_field(err, pointer,
                           "text of %zu bytes is longer than %zu", size,
                           room - 1);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            return error_field(err, pointer,
                               "text has a control character at byte %zu", i);
    return 0;
}
