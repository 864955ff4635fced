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

int
status_http(enum status status)
{
    static const int codes[] = {
#define X(name, http, text) [name] = (http),
        STATUS_LIST(X)
#undef X
    };

    return (size_t)status < sizeof codes / sizeof codes[0] ? codes[status]
                                                           : 500;
}
