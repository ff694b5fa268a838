/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SCHEMA_PRIVATE_H
#define CORE_SCHEMA_PRIVATE_H

#include "core/model.h"

/* How the tables of schema_*.c are written; for those files and schema.c. */

/* By kind; each kind is in one of them. */
extern const struct schema schema_estate[KIND_COUNT];
extern const struct schema schema_tenant[KIND_COUNT];
extern const struct schema schema_trust[KIND_COUNT];

extern const char *const schema_every_names[];
extern const char *const schema_factor_names[];
extern const char *const schema_most_names[];

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

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

#define KIND(KEY, s, plural, prefix, life, help)                              \
    [KIND_##KEY] = { #s,   plural,      prefix,          life,                \
                     sizeof(struct s), s##_fields, COUNT(s##_fields), help }

#endif
