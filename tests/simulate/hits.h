/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIMULATE_HITS_H
#define TESTS_SIMULATE_HITS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/*
 * How often was each rule met?  One that never was proves nothing, so a run
 * with a zero fails.  Cases a property: CASES (20,000).
 */

enum hit {
#define HIT(name, text) HIT_##name,
#include "tests/simulate/hits.def"
#undef HIT
    HIT_COUNT
};

static size_t hits[HIT_COUNT];

static inline void
hit(enum hit what)
{
    hits[what]++;
}

static inline size_t
cases_wanted(void)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    const char *text = getenv("CASES");
    long cases = text == NULL ? 0 : strtol(text, NULL, 10);

    return cases > 0 ? (size_t)cases : 20000;
}

/* from, to: which rules this program is about. */
static inline void
hits_tell(enum hit from, enum hit to)
{
    static const char *const texts[] = {
#define HIT(name, text) [HIT_##name] = text,
#include "tests/simulate/hits.def"
#undef HIT
    };
    int missed = 0;

    for (int i = (int)from; i <= (int)to; i++) {
        print_message("%9zu  %s\n", hits[i], texts[i]);
        missed += hits[i] == 0;
    }
    assert_int_equal(missed, 0);
}

#endif
