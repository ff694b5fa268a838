/* SPDX-License-Identifier: Apache-2.0 */
#include "core/federation.h"
#include "core/schema_private.h"

/* Tenants, their people, their work. */

/* The names of each enum, in the order of model.h. */
static const char *const state_names[] = { "active", "suspended", "deleted",
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
    "spread",
    "compatibility", "maintenance", "image", "at-risk", NULL
};
static const char *const instance_state_names[] = {
    "assigned", "starting", "running", "stopping",
    "exited",   "released", "lost",    NULL
};
static const char *const reservation_state_names[] = {
    "scheduled", "opening", "open", "over", NULL
};
static const char *const apikey_sort_names[] = { "access", "inference",
                                                 NULL };
static const char *const want_names[] = { "run", "notice", "stop", NULL };
static const char *const request_sort_names[] = { "quota", "reservation",
                                                  "class", "priority", NULL };
static const char *const request_state_names[] = { "open", "granted",
                                                   "denied", "withdrawn",
                                                   NULL };
static const char *const volume_state_names[] = { "new", "ready", "deleting",
                                                  "failed", NULL };

static const char *const people_names[] = { "auto", "linked", NULL };

static const struct field tenant_fields[] = {
    TEXT(tenant, display, C | U, "name for people"),
    ENUM(tenant, state, U, state_names, "whether it may act"),
    ENUM(tenant, isolation, C | U, isolation_names, "from other tenants"),
    AMOUNT(tenant, number, FIELD_PLATFORM | FIELD_UNSAID,
           "network and uid plan"),
    DOC(tenant, pools, C | U, "allowed pools; null: the shared ones"),
    DOC(tenant, classes, C | U, "allowed classes; null: all"),
    DOC(tenant, priorities, C | U, "allowed priorities; null: all but "
                                   "those that preempt across tenants"),
    INT(tenant, weight, C | U, 1, SHARE_WEIGHT_MAX,
        "in fair share among all tenants, permille; default 1000"),
    ENUM(tenant, second_factor, C | U, schema_factor_names,
         "when its people prove a second factor, at least"),
    ENUM(tenant, recovery_most, C | U, schema_most_names,
         "how far its work may recover from a lost node"),
    INT(tenant, recovery_limit, C | U, 0, 100,
        "recoveries of a workload at most; 0: as the platform says"),
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
    AMOUNT(user, failures, FIELD_UNSAID, "failed logins since the last good one"),
    TIME(user, locked_ms, FIELD_UNSAID, "no login before"),
    TIME(user, password_ms, 0, "the password is of then"),
    BOOL(user, temporary, 0, "has to change the password first"),
    TEXT(user, factor, FIELD_SECRET, "second factor, sealed"),
    TIME(user, factor_ms, 0, "second factor since; null: none"),
    AMOUNT(user, factor_step, FIELD_SECRET | FIELD_UNSAID, "of the newest code taken"),
    BYTES(user, recovery, FIELD_SECRET, "digests of recovery codes"),
    AMOUNT(user, recovery_left, 0, "recovery codes that are left"),
    REF(user, creator, FIELD_PLATFORM, KIND_NONE, "who made it"),
    REF(user, setter, FIELD_PLATFORM, KIND_NONE,
        "somebody else who set its password last"),
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
    ENUM(apikey, sort, C, apikey_sort_names,
         "access, or inference: for inference alone"),
    REF(apikey, minter, 0, KIND_NONE, "who made it"),
    BYTES(apikey, old_digest, FIELD_SECRET | FIELD_UNIQUE,
          "of the secret before"),
    TIME(apikey, old_until_ms, 0, "the secret before works up to then"),
    TIME(apikey, rotated_ms, 0, "has this secret since; null: the first"),
    TIME(apikey, used_ms, 0, "last use, to some minutes"),
    TEXT(apikey, used_from, 0, "and from which address"),
};
static const struct field session_fields[] = {
    BYTES(session, digest, FIELD_SECRET | FIELD_UNIQUE, "of the token"),
    TIME(session, expires_ms, 0, "not usable from then on"),
    TIME(session, proved_ms, 0, "last proof of identity"),
    TIME(session, factor_ms, 0, "last proof with a second factor"),
    TIME(session, used_ms, 0, "last use, to some minutes"),
    TEXT(session, used_from, 0, "and from which address"),
    TIME(session, revoked_ms, 0, "not usable since"),
    TIME(session, held_ms, 0, "not usable before a review, since"),
    REF(session, provider, 0, KIND_IDENTITYPROVIDER,
        "it came by that identity provider"),
    BYTES(session, sid, FIELD_SECRET, "of the provider's session"),
};
static const struct field identityprovider_fields[] = {
    TEXT(identityprovider, display, C | U, "name for people"),
    ENUM(identityprovider, state, U, state_names, "whether it is asked"),
    TEXT(identityprovider, issuer, C | R, "its issuer URL, as it is in tokens"),
    TEXT(identityprovider, client_id, C | R | U, "who the platform is to it"),
    TEXT(identityprovider, secret, FIELD_SECRET, "of the client, sealed"),
    TEXT(identityprovider, scopes, C | U,
         "asked for beside openid; default: profile"),
    ENUM(identityprovider, people, C | U, people_names,
         "who gets in: auto makes a user for whoever logs in first"),
    DOC(identityprovider, mapping, C | U,
        "list of {claim, value, role, node}: who has the value in the claim "
        "gets the role"),
    DOC(identityprovider, acr, C | U,
        "list of acr values that count as a proof of identity; null: none"),
    INT(identityprovider, fresh_ms, C | U, 0, FEDERATION_FRESH_MAX,
        "what the mapping gave ends that long after a login, ms; 0: 12 h"),
    REF(identityprovider, author, 0, KIND_NONE, "who wrote the mapping"),
};
static const struct field identity_fields[] = {
    REF(identity, provider, C | R, KIND_IDENTITYPROVIDER,
        "identity provider"),
    TEXT(identity, subject, C | R, "\"sub\" there"),
    BYTES(identity, digest, FIELD_SECRET | FIELD_UNIQUE, "of both"),
};
static const struct field role_fields[] = {
    VERBS(role, verbs, C | U | R, "what it allows"),
    VERBS(role, give, C | U, "what it allows to hand out"),
    BOOL(role, builtin, 0, "shipped, cannot be changed"),
};
static const struct field grant_fields[] = {
    REF(grant, subject, C | R | FIELD_INDEX, KIND_NONE,
        "user, service account or group"),
    REF(grant, role, C | R, KIND_ROLE, "role"),
    VERBS(grant, use, C, "at most this of the role; none given: all"),
    VERBS(grant, give, C, "hands out at most this; none given: the role's"),
    TIME(grant, from_ms, C, "valid from"),
    TIME(grant, to_ms, C, "valid up to, not including"),
    TEXT(grant, sources, C, "only from these networks"),
    REF(grant, granter, 0, KIND_NONE, "who gave it"),
    REF(grant, provider, 0, KIND_IDENTITYPROVIDER,
        "identity provider whose mapping made it"),
    DOC(grant, devices, C, "only these nodes, cards and what is below them; "
                           "null: any object"),
    REF(grant, workorder, 0, KIND_WORKORDER, "only while it is open"),
    AMOUNT(grant, proof_ms, C,
           "longest age of the proof of identity, ms; 0: any"),
    BOOL(grant, approval, C, "each change by it needs a second person"),
    BOOL(grant, factor, C, "only in sessions that have shown a second factor"),
};
static const struct field group_fields[] = {
    TEXT(team, display, C | U, "name for people"),
};
static const struct field member_fields[] = {
    REF(membership, subject, C | R | FIELD_INDEX, KIND_NONE,
        "user or service account"),
    REF(membership, adder, 0, KIND_NONE, "who added it"),
    TIME(membership, to_ms, C, "ends then; none: it lasts"),
    REF(membership, provider, 0, KIND_IDENTITYPROVIDER,
        "identity provider whose mapping made it"),
};
static const struct field invitation_fields[] = {
    BYTES(invitation, digest, FIELD_SECRET | FIELD_UNIQUE, "of the token"),
    REF(invitation, user, 0, KIND_USER, "who is invited"),
    TIME(invitation, expires_ms, C, "cannot be accepted from then on"),
    REF(invitation, inviter, 0, KIND_NONE, "who invited"),
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
    BOOL(quota, given, 0,
         "given to a new tenant: it gives way to guarantees that are set"),
    AMOUNT(quota, unmet, 0,
           "of the guarantee, for which too few cards are healthy now"),
    AMOUNT(quota, unkept, 0,
           "of what is unmet, that does not keep work from being stopped"),
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
    ENUM(reservation, every, C, schema_every_names,
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
    AMOUNT(workload, min_accel_memory_mib, C,
           "in place of a class: accelerator memory of an instance on one "
           "card, MiB"),
    REF(workload, pool, C, KIND_POOL, "only in this pool"),
    REF(workload, priority, C | U, KIND_PRIORITY, "priority class"),
    INT(workload, instances, C, 1, 4096, "number of instances (gang)"),
    INT(workload, instances_max, C, 0, 4096,
        "grows up to so many while they are free; 0: it does not"),
    INT(workload, instances_now, 0, 0, 4096, "that it has now"),
    INT(workload, cpu_milli, C, 1, AMOUNT_MAX, "CPU of an instance, milli"),
    INT(workload, memory_mib, C, 1, AMOUNT_MAX,
        "memory of an instance, MiB"),
    TEXT(workload, image, C | R, "name or name@sha256:digest"),
    DOC(workload, spec, C | R, "command, env, volumes, ports"),
    BOOL(workload, preemptible, C, "may be stopped for others"),
    AMOUNT(workload, max_run_ms, C, "longest run, ms; 0: none"),
    AMOUNT(workload, grace_ms, C, "notice before a stop, ms"),
    ENUM(workload, recovery, C, recovery_names, "after a lost node"),
    INT(workload, recovery_limit, C, 0, 100,
        "recoveries at most; 0: 3, or what tenant and platform allow"),
    AMOUNT(workload, recoveries, 0, "recoveries from lost nodes so far"),
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
    TIME(workload, replacing_ms, 0,
         "a card failed under it: it goes before others until it starts"),
    AMOUNT(workload, bypassed, FIELD_PLATFORM | FIELD_UNSAID,
           "starts of later work since then"),
    TIME(workload, booked_ms, 0,
         "starts then at the latest if what runs keeps its longest run"),
    TIME(workload, started_ms, 0, "this attempt runs since"),
    TIME(workload, ended_ms, 0, "ended"),
    TIME(workload, next_try_ms, 0, "not tried before"),
    INT(workload, exit_code, 0, -1, 255, "of the instance that decided"),
    BOOL(workload, oom, 0, "ended by its memory limit"),
    AMOUNT(workload, checkpoint_step, 0, "last observed checkpoint"),
    TIME(workload, checkpoint_ms, 0, "observed at"),
    USAGE(workload, card_time, FIELD_UNSAID,
          "metered, milli-card-ms; of running work up to five minutes ago"),
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
    TIME(instance, lost_ms, 0, "its node was lost"),
    INT(instance, exit_code, 0, -1, 255, "exit code"),
    BOOL(instance, oom, 0, "ended by its memory limit"),
    TEXT(instance, failure, 0, "why it did not start"),
    TEXT(instance, cpus, FIELD_PLATFORM, "CPUs that it may use"),
    TEXT(instance, mems, FIELD_PLATFORM, "NUMA nodes of its memory"),
    TEXT(instance, nics, FIELD_PLATFORM, "networks beside its cards"),
    BOOL(instance, pinned, 0, "its cores are nobody else's"),
    REF(instance, project, FIELD_PLATFORM, KIND_PROJECT, "charged to"),
    REF(instance, pool, FIELD_PLATFORM, KIND_POOL, "charged in"),
    REF(instance, class, 0, KIND_CLASS, "charged as"),
    AMOUNT(instance, cpu_milli, 0, "CPU, milli"),
    AMOUNT(instance, memory_mib, 0, "memory, MiB"),
    AMOUNT(instance, cap_cpu_milli, 0,
           "held to this CPU, milli, as it slows others; 0: no"),
    AMOUNT(instance, cap_io_kib, 0, "of each disk, KiB a second; 0: no"),
    AMOUNT(instance, cap_network_kib, 0,
           "of its network, KiB a second; 0: no"),
    TIME(instance, cap_until_ms, 0, "up to then"),
    AMOUNT(instance, caps, 0, "how often it was"),
    DOC(instance, interference, FIELD_PLATFORM | FIELD_UNSAID,
        "its pace alone and beside others"),
};
static const struct field binding_fields[] = {
    REF(binding, card, FIELD_INDEX | FIELD_ALIAS, KIND_CARD,
        "card; a tenant is shown another name for it in each binding"),
    TEXT(binding, slice, 0, "hard slice of the card: profile@start"),
    INT(binding, milli, 0, 1, 1000, "share, milli-cards"),
    AMOUNT(binding, memory_mib, 0, "accelerator memory, MiB"),
    TIME(binding, from_ms, 0, "bound from"),
    TIME(binding, to_ms, 0, "released, not including"),
    TIME(binding, cut_ms, FIELD_PLATFORM | FIELD_UNSAID, "metered up to here"),
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
    DOC(binding, cleaning, 0,
        "the card's handover after it: each step with its time"),
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
    TIME(wish, from_ms, C, "reservation: from; none: when it is granted"),
    TIME(wish, to_ms, C, "reservation: up to, not including"),
    ENUM(wish, every, C, schema_every_names,
         "reservation: once, or again each day or week, UTC"),
    TIME(wish, until_ms, C, "reservation: no window begins from then on"),
    BOOL(wish, lend, C, "reservation: idle cards go to burst work of others"),
    REF(wish, requester, 0, KIND_NONE, "who asked"),
    REF(wish, decider, FIELD_PLATFORM, KIND_NONE, "who decided"),
    TIME(wish, decided_ms, 0, "when"),
    TEXT(wish, note, 0, "what the decider said"),
};

const struct schema schema_tenant[KIND_COUNT] = {
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
    KIND(IDENTITYPROVIDER, identityprovider, "identityproviders", "idp",
         LIFE_OBJECT, "Who says who somebody is, by OpenID Connect."),
    KIND(IDENTITY, identity, "identities", "idn", LIFE_OBJECT,
         "A user is that person at that identity provider."),
    KIND(ROLE, role, "roles", "ro", LIFE_OBJECT, "A named set of verbs."),
    KIND(GRANT, grant, "grants", "gr", LIFE_OBJECT,
         "A right of a subject at a node of the tree."),
    [KIND_GROUP] = { "group", "groups", "gp", LIFE_OBJECT,
                     sizeof(struct team), group_fields, COUNT(group_fields),
                     "Subjects that have the same rights." },
    [KIND_MEMBER] = { "member", "members", "me", LIFE_OBJECT,
                      sizeof(struct membership), member_fields,
                      COUNT(member_fields),
                      "A subject that has a group's rights." },
    KIND(INVITATION, invitation, "invitations", "iv", LIFE_OBJECT,
         "Lets a new user set the first password."),
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
};
