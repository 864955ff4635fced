/* Asks whether work is to end before it is done: its client closed the
 * connection, say, or the server stops.  What takes long asks now and then.
 *
 * Threads: those that 'asked' allows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef bool cancelled_fn(void *ctx); /* true: end */

struct cancel {
    cancelled_fn *asked; /* NULL: it is never cancelled */
    void *ctx;
};
#define CANCEL_NEVER ((struct cancel){ NULL, NULL })

static inline bool
cancel_asked(struct cancel c)
{
    return c.asked != NULL && c.asked(c.ctx);
}
