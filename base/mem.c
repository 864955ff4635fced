#include "base/mem.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/obj.h"

/* How often, and after how long, it is tried again: ten seconds in all. */
#define TRIES    1000
#define PAUSE_US 10000

#if defined(__GLIBC__)
#define KEPT_MOST   (32 << 20) /* of a heap, at its end */
#define MAPPED_FROM (4 << 20)  /* what is larger has pages of its own */
#define SMALL       (UINT64_C(4) << 30)
#define HEAP_SHARE                                             \
    (UINT64_C(512) << 20) /* less memory: one heap for so much \
                           */
#endif

void
mem_keep_freed(uint64_t limit)
{
#if defined(__GLIBC__)
    int kept = KEPT_MOST, mapped = MAPPED_FROM;

    if (limit < SMALL) {
        kept = (int)(limit / (SMALL / KEPT_MOST)) + 4096;
        mapped = (int)(limit / (SMALL / MAPPED_FROM)) + 128 * 1024;
        (void)mallopt(M_ARENA_MAX, (int)(limit / HEAP_SHARE) + 1);
    }
    (void)mallopt(M_TRIM_THRESHOLD, kept);
    (void)mallopt(M_MMAP_THRESHOLD, mapped);
#else
    (void)limit;
#endif
}

void
mem_give_back(void)
{
#if defined(__GLIBC__)
    (void)malloc_trim(0);
#endif
}

/* The system gave no memory; requests of others may end and free theirs. */
static bool
wait_for_memory(unsigned *tries)
{
    if (++*tries > TRIES)
        return false;
    (void)usleep(PAUSE_US);
    return true;
}

void *
mem_new(size_t size)
{
    return mem_new_array(1, size);
}

void *
mem_new_array(size_t len, size_t size)
{
    unsigned tries = 0;
    void *p;

    do
        p = calloc(len == 0 ? 1 : len, size == 0 ? 1 : size);
    while (p == NULL && wait_for_memory(&tries));
    INSIST(p != NULL);
    return p;
}

void *
mem_resize(void *p, size_t len, size_t size)
{
    unsigned tries = 0;
    size_t bytes;
    void *q;

    INSIST(!__builtin_mul_overflow(len, size, &bytes));
    do
        q = realloc(p, bytes == 0 ? 1 : bytes);
    while (q == NULL && wait_for_memory(&tries));
    INSIST(q != NULL);
    return q;
}

static atomic_ulong failures;

static void *
note_failure(void *p)
{
    if (p == NULL)
        mem_note_failure();
    return p;
}

void *
mem_try(size_t size)
{
    return note_failure(malloc(size));
}

void *
mem_try_array(size_t len, size_t size)
{
    return note_failure(calloc(len, size));
}

void *
mem_try_resize(void *p, size_t size)
{
    return note_failure(realloc(p, size));
}

unsigned long
mem_failures(void)
{
    return atomic_load_explicit(&failures, memory_order_relaxed);
}

void
mem_note_failure(void)
{
    (void)atomic_fetch_add_explicit(&failures, 1, memory_order_relaxed);
}

void *
mem_grow(void *array, size_t len, size_t *cap, size_t size)
{
    if (len < *cap)
        return array;
    *cap = *cap == 0 ? 16 : *cap * 2;
    return mem_resize(array, *cap, size);
}

char *
mem_strdup(const char *s)
{
    return mem_strndup(s, strlen(s));
}

char *
mem_strndup(const void *s, size_t size)
{
    char *p = mem_new(size + 1);

    if (size > 0)
        memcpy(p, s, size);
    return p;
}
