/* What went wrong: a status for the program, a sentence for the human.
 *
 * A call that can fail returns an enum status and takes a struct error as its
 * last argument.  The caller owns it, usually on its stack, and may pass NULL
 * when it has no use for the text.  Reporting a failure allocates nothing.
 *
 * Threads: a struct error belongs to one thread. */
#pragma once

#include <stddef.h>

#define MUST_CHECK        __attribute__((__warn_unused_result__))
#define PRINTF_LIKE(f, a) __attribute__((__format__(__printf__, f, a)))

/* name, HTTP status, what it means */
#define STATUS_LIST(X)                                         \
    X(ST_OK, 200, "ok")                                        \
    X(ST_NOT_FOUND, 404, "no such name or series")             \
    X(ST_INVALID, 400, "the client's request makes no sense")  \
    X(ST_LIMIT, 413, "the request exceeds a configured limit") \
    X(ST_BUSY, 503, "try again later")                         \
    X(ST_CONFLICT, 409, "someone else was faster")             \
    X(ST_TIMEOUT, 503, "the storage gave no answer in time")   \
    X(ST_CORRUPT, 500, "stored bytes break the format")        \
    X(ST_IO, 500, "the disk or the network failed")            \
    X(ST_EXPIRED, 400, "the point is older than its policy")   \
    X(ST_MOVED, 503, "the salt bucket has another owner")

enum status {
#define X(name, http, text) name,
    STATUS_LIST(X)
#undef X
};

struct error {
    enum status status;
    char text[512];
};

/* Fills 'e', if there is one, and returns 'status', so that a failure is one
 * line:  return error_set(e, ST_CORRUPT, "row key of %zu bytes", n); */
enum status error_set(struct error *e, enum status status, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* ST_LIMIT: an arena is at its cap. */
enum status error_no_memory(struct error *e);

/* Puts context before the text: "open data/FORMAT: No such file". */
enum status error_wrap(struct error *e, enum status status, const char *fmt,
                       ...) PRINTF_LIKE(3, 4);

/* So scripts/analyse sees it, too, which looks at one file at a time. */
#if defined(HALITE_ANALYSE)
#define error_set(e, status, ...) \
    ((void)error_set(e, status, __VA_ARGS__), (status))
#define error_wrap(e, status, ...) \
    ((void)error_wrap(e, status, __VA_ARGS__), (status))
#endif

/* The HTTP status that fits, when the caller has none of its own. */
int status_http(enum status status);
