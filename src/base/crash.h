/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CRASH_H
#define BASE_CRASH_H

/*
 * Where may a process die?  At any instruction; these are the moments between
 * two steps that must not be torn apart by it, each with a name, so that
 * tests/crash can end a process at every one of them.
 *
 * Outside BUILD=crash it is nothing.  There the environment variable
 * BULKHEAD_CRASH names a file; while it holds "NAME COUNT", the COUNTth pass
 * of that moment in one process removes the file and ends the process as
 * SIGKILL would: nothing is flushed, nobody is told.
 */

#ifdef CRASH_POINTS
void crash_point(const char *name);
#define CRASH_POINT(name) crash_point(name)
#else
#define CRASH_POINT(name) ((void)0)
#endif

#endif
