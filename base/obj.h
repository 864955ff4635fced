/* Magic numbers: a pointer proves its type, and that it is still alive.
 *
 * Threads: any; nothing here has state. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FOURCC(a, b, c, d)                                            \
    ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | \
     (uint32_t)(d))

/* Our own bug: stop, in every build. */
#define INSIST(cond) \
    ((cond) ? (void)0 : insist_failed(#cond, __FILE__, __LINE__, __func__))

/* A plain store before free() is dead code to a compiler, and goes away. */
#define OBJ_CLEAR(p) ((void)(*(volatile uint32_t *)&(p)->magic = 0))

#define OBJ_CHECK(p, m) INSIST((p) != NULL && (p)->magic == (m))

/* Takes a handle from its owner's variable, for its destructor; NULL when there
 * is none. */
#define OBJ_TAKE(owner, m)                              \
    ({                                                  \
        __typeof__(*(owner)) taken_ = *(owner);         \
        *(owner) = NULL;                                \
        INSIST(taken_ == NULL || taken_->magic == (m)); \
        taken_;                                         \
    })
/* The end of a destructor. */
#define OBJ_FREE(p) (OBJ_CLEAR(p), free(p))

static inline _Noreturn void
insist_failed(const char *what, const char *file, int line, const char *func)
{
    (void)fprintf(stderr, "%s:%d: %s: this must hold: %s\n", file, line, func,
                  what);
    abort();
}
