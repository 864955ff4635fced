/* The log: one line an event, to stderr:
 *
 *     2026-11-21T12:00:00.123Z warn  uid: cannot assign id: disk full
 *
 * error = an operator must act; warn = we coped; info = start, stop, settings;
 * debug = per request.  Client bytes only through log_quote().
 *
 * Threads: any.  The level and the form of lines are the program's mutable
 *          globals. */
#pragma once

#include "base/error.h"
#include "base/slice.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* Lines begin with "<3>" to "<7>", syslog's priorities, which the journal takes
 * off them.  Call it before there are threads. */
void log_set_priorities(bool on);

/* "error", "warn", "info" or "debug". */
const char *log_level_name(enum log_level level);

void log_line(enum log_level level, const char *module, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) \
    (log_get_level() < LOG_DEBUG ? (void)0 : log_line(LOG_DEBUG, __VA_ARGS__))

/* Client bytes made safe: quoted, controls escaped, cut after 120 bytes. */
struct log_quoted {
    char text[520];
};
struct log_quoted log_quote_bytes(struct slice s);
#define log_quote(s) (log_quote_bytes(s).text)

/* Logs 'what' and a text of a client, such as a query, of any length: where it
 * is longer than a line there are several, each with 'what' and its number. */
void log_text(enum log_level level, const char *module, const char *what,
              struct slice text);

/* Calls 'f' with each of the last lines (at most 1,024), oldest first. */
void log_recent(void (*f)(void *ctx, const char *line), void *ctx);
