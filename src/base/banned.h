/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

/*
 * Functions that have a better one; included into every file by the Makefile
 * (-include), after the system's own headers that use them.
 *   strcpy, strcat, sprintf, gets: unbounded     -> snprintf, struct buffer
 *   strncpy, strtok: surprising                  -> snprintf, strcspn
 *   atoi, atol: no errors                        -> strtoll, json_int
 *   gmtime, localtime, ctime: static buffers     -> clock_format
 *   rand, srand: predictable                     -> random_bytes, id_next
 *   system, popen: a shell                       -> posix_spawn, execve
 *   tmpnam, mktemp: races                        -> mkostemp
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A call does not compile; the name says why. */
#undef strcpy
#define strcpy(...) strcpy_is_banned_see_banned_h
#undef strcat
#define strcat(...) strcat_is_banned_see_banned_h
#undef sprintf
#define sprintf(...) sprintf_is_banned_see_banned_h
#undef vsprintf
#define vsprintf(...) vsprintf_is_banned_see_banned_h
#undef gets
#define gets(...) gets_is_banned_see_banned_h
#undef strncpy
#define strncpy(...) strncpy_is_banned_see_banned_h
#undef strncat
#define strncat(...) strncat_is_banned_see_banned_h
#undef strtok
#define strtok(...) strtok_is_banned_see_banned_h
#undef atoi
#define atoi(...) atoi_is_banned_see_banned_h
#undef atol
#define atol(...) atol_is_banned_see_banned_h
#undef atoll
#define atoll(...) atoll_is_banned_see_banned_h
#undef gmtime
#define gmtime(...) gmtime_is_banned_see_banned_h
#undef localtime
#define localtime(...) localtime_is_banned_see_banned_h
#undef ctime
#define ctime(...) ctime_is_banned_see_banned_h
#undef asctime
#define asctime(...) asctime_is_banned_see_banned_h
#undef rand
#define rand(...) rand_is_banned_see_banned_h
#undef srand
#define srand(...) srand_is_banned_see_banned_h
#undef random
#define random(...) random_is_banned_see_banned_h
#undef srandom
#define srandom(...) srandom_is_banned_see_banned_h
#undef system
#define system(...) system_is_banned_see_banned_h
#undef popen
#define popen(...) popen_is_banned_see_banned_h
#undef tmpnam
#define tmpnam(...) tmpnam_is_banned_see_banned_h
#undef mktemp
#define mktemp(...) mktemp_is_banned_see_banned_h

#endif
