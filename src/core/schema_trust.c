/* SPDX-License-Identifier: Apache-2.0 */
#include "core/schema_private.h"

/* Second persons, emergencies and vendors. */

/* The names of each enum, in the order of model_trust.h. */
static const char *const approval_state_names[] = {
    "open", "approved", "denied", "dropped", "used", "expired", NULL
};
static const char *const workorder_state_names[] = {
    "scheduled", "draining", "open", "closed", "over", "dropped", NULL
};
static const char *const audience_names[] = { "operators", "vendor", NULL };

static const struct field approval_fields[] = {
    ENUM(approval, state, 0, approval_state_names, "what became of it"),
    TEXT(approval, verb, 0, "whose guard it is for"),
    TEXT(approval, method, 0, "of the operation"),
    TEXT(approval, path, 0, "of the operation, with its query"),
    TEXT(approval, target, 0, "id of the object of the operation"),
    AMOUNT(approval, target_version, 0, "of that object, when it was asked"),
    DOC(approval, body, 0, "of the operation; null: none, or a secret"),
    BYTES(approval, query_digest, 0, "SHA-256 of method, route and query"),
    BYTES(approval, body_digest, 0, "SHA-256 of the canonical body"),
    TEXT(approval, reason, 0, "why it is asked for"),
    INT(approval, needed, 0, 0, APPROVAL_PEOPLE_MAX,
        "people who have to approve"),
    DOC(approval, approvers, 0, "who approved, when, and what they said"),
    REF(approval, decider, 0, KIND_NONE, "who denied or dropped it"),
    TEXT(approval, note, 0, "what they said"),
    TIME(approval, expires_ms, 0, "not usable from then on"),
    TIME(approval, decided_ms, 0, "in this state since"),
};
static const struct field guard_fields[] = {
    BOOL(guard, step_up, C | U, "a recent proof of identity"),
    INT(guard, approvers, C | U, 0, APPROVAL_PEOPLE_MAX,
        "other people who have to approve; 0: none"),
};
static const struct field breakglass_fields[] = {
    TEXT(breakglass, reason, C | R, "why there was no time"),
    TIME(breakglass, from_ms, 0, "from"),
    TIME(breakglass, to_ms, C, "up to, not including; default: 1 h"),
    DOC(breakglass, actions, 0, "what was changed meanwhile"),
    AMOUNT(breakglass, count, 0, "changes, also those beyond the list"),
    REF(breakglass, reviewer, 0, KIND_NONE, "who reviewed it"),
    TIME(breakglass, reviewed_ms, 0, "when; null: somebody has to"),
    TEXT(breakglass, review, 0, "what they found"),
};
static const struct field workorder_fields[] = {
    TEXT(workorder, reason, C | R, "what is to be done"),
    NAME(workorder, vendor, C | R, "name of the vendor's user"),
    REF(workorder, subject, 0, KIND_USER, "the vendor's user"),
    REF(workorder, sponsor, C, KIND_USER,
        "who answers for it; default: who asked"),
    DOC(workorder, devices, C | R, "nodes and cards, by id or name"),
    VERBS(workorder, verbs, C, "what the vendor may do; default: look"),
    TIME(workorder, from_ms, C, "its window begins; default: now"),
    TIME(workorder, to_ms, C | R, "and ends, not included"),
    BOOL(workorder, drain, C, "it opens when nothing runs on the devices"),
    ENUM(workorder, state, 0, workorder_state_names, "where it is"),
    TIME(workorder, opened_ms, 0, "open since"),
    TIME(workorder, closed_ms, 0, "over since"),
    DOC(workorder, firmware_before, 0, "as reported before the work"),
    DOC(workorder, firmware_after, 0, "as reported after the work"),
    DOC(workorder, actions, 0, "what the vendor changed"),
    AMOUNT(workorder, count, 0, "changes, also those beyond the list"),
};
static const struct field opdocument_fields[] = {
    ENUM(opdocument, audience, C, audience_names, "who may read it"),
    DOC(opdocument, content, C | R, "the text"),
    REF(opdocument, author, 0, KIND_NONE, "who put it there"),
};
static const struct field visit_fields[] = {
    REF(visit, workorder, FIELD_PLATFORM, KIND_WORKORDER, "of this order"),
    TEXT(visit, vendor, 0, "who"),
    TEXT(visit, reason, 0, "why"),
    DOC(visit, cards, 0, "which cards, as the tenant's bindings name them"),
    TIME(visit, from_ms, 0, "allowed from"),
    TIME(visit, to_ms, 0, "up to, not including"),
    TIME(visit, ended_ms, 0, "ended"),
    DOC(visit, actions, 0, "what was changed on them"),
    AMOUNT(visit, count, 0, "changes, also those beyond the list"),
};

const struct schema schema_trust[KIND_COUNT] = {
    KIND(APPROVAL, approval, "approvals", "ap", LIFE_OBJECT,
         "One exact operation that takes more than one person."),
    KIND(GUARD, guard, "guards", "gd", LIFE_OBJECT,
         "What a verb needs besides a grant, on top of what is shipped."),
    KIND(BREAKGLASS, breakglass, "breakglasses", "bg", LIFE_OBJECT,
         "An emergency: guarded verbs without approval, to be reviewed."),
    KIND(WORKORDER, workorder, "workorders", "wo", LIFE_OBJECT,
         "A vendor's work on devices, for a time."),
    KIND(OPDOCUMENT, opdocument, "opdocuments", "od", LIFE_OBJECT,
         "A text that goes with a work order."),
    KIND(VISIT, visit, "visits", "vi", LIFE_OBJECT,
         "A vendor worked on cards that the tenant held."),
};
