/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

/*
 * Structured log: one JSON object a line on standard error.
 * Only the top layer of a program logs; one line per failure, with the request
 * id.  Never pass a secret.
 */

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* Once, from main: the program's name and the least level that is written. */
void log_open(const char *program, enum log_level least);

/* request may be NULL.  Control characters and quotes are escaped. */
void log_write(enum log_level level, const char *request, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define log_info(...) log_write(LOG_INFO, NULL, __VA_ARGS__)
#define log_warn(...) log_write(LOG_WARN, NULL, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, NULL, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, NULL, __VA_ARGS__)

#endif
