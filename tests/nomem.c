#include "tests/nomem.h"

#include <stdatomic.h>
#include <stddef.h>

static atomic_long calls;         /* in this round */
static atomic_long fails_at = -1; /* -1: none does */
static bool failed;

void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

/* The linker sends calls of realloc() here. */
void *
__wrap_realloc(void *p, size_t size)
{
    return atomic_fetch_add(&calls, 1) == atomic_load(&fails_at)
               ? NULL
               : __real_realloc(p, size);
}

bool
nomem_begin(unsigned n)
{
    if (n > 0 && !failed)
        return false;
    atomic_store(&calls, 0);
    atomic_store(&fails_at, n);
    return true;
}

void
nomem_end(void)
{
    long at = atomic_exchange(&fails_at, -1);

    failed = at >= 0 && atomic_load(&calls) > at;
}

bool
nomem_failed(void)
{
    return failed;
}
