/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SCRATCH_H
#define TESTS_UNIT_SCRATCH_H

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* A directory of a test's own, and its removal with all in it. */

#define SCRATCH_MAX 64

static inline void
scratch_make(char path[SCRATCH_MAX], const char *name)
{
    (void)snprintf(path, SCRATCH_MAX, "/tmp/bulkhead-%s-XXXXXX", name);
    assert_non_null(mkdtemp(path));
}

static inline int
scratch_remove_one(const char *path, const struct stat *status, int kind,
                   struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static inline void
scratch_remove(const char *path)
{
    (void)nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
