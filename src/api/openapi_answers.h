/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_OPENAPI_ANSWERS_H
#define API_OPENAPI_ANSWERS_H

#include <jansson.h>

#include "api/route.h"

/*
 * What does a route answer whose answer is no object and no list of a kind?
 * Told in the terms of JSON Schema, for the OpenAPI document alone.
 */
struct openapi_answer {
    const char *method;
    const char *end;    /* of the route's path */
    int status;         /* of success */
    const char *type;   /* media type, NULL: no body */
    const char *schema; /* JSON with ' for ", NULL: any text */
    int other;          /* another status with the same body, 0: none */
};

/* NULL: the answer follows from the route's kind and flags. */
const struct openapi_answer *openapi_answer_of(const struct route *route);
/* A new reference to what `schema` says. */
json_t *openapi_answer_schema(const char *schema);

/* An object of a kind with members that only this route's answer has. */
struct openapi_more {
    const char *method;
    const char *end;
    enum kind kind;
    const char *properties; /* JSON with ' for " */
};

/* NULL: there are none. */
const struct openapi_more *openapi_more_of(const struct route *route);

#endif
