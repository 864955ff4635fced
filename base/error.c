/* See base/error.h. */
#include "config.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Macros in their places, for analysers. */
#undef error_set
#undef error_wrap

enum status
error_set(struct error *e, enum status status, const char *fmt, ...)
{
    va_list ap;

    if (e != NULL) {
        e->status = status;
        va_start(ap, fmt);
        (void)vsnprintf(e->text, sizeof e->text, fmt, ap);
        va_end(ap);
    }
    return status;
}

enum status
error_no_memory(struct error *e)
{
    return error_set(e, ST_LIMIT, "the request needs too much memory");
}

enum status
error_wrap(struct error *e, enum status status, const char *fmt, ...)
{
    char old[sizeof e->text];
    va_list ap;
    size_t n;

    if (e == NULL)
        return status;
    memcpy(old, e->text, sizeof old);
    va_start(ap, fmt);
    (void)vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    e->status = status;
    n = strlen(e->text);
    (void)snprintf(e->text + n, sizeof e->text - n, ": %s", old);
    return status;
}

static const struct {
    int http;
    const char *name;
} statuses[] = {
#define X(name, http, text) [name] = { http, #name },
    STATUS_LIST(X)
#undef X
};
#define STATUSES_LEN (sizeof statuses / sizeof statuses[0])

int
status_http(enum status status)
{
    return (size_t)status < STATUSES_LEN ? statuses[status].http : 500;
}

const char *
status_name(enum status status)
{
    return (size_t)status < STATUSES_LEN ? statuses[status].name : "ST_?";
}
