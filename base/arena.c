/* Chunks that double up to 1 MB, in a list; a large request gets its own. */
#include "base/arena.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/obj.h"

/* AddressSanitizer looks between allocations, too. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define GAP ((size_t)32)
#else
#define ASAN_POISON_MEMORY_REGION(p, size)   ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(p, size) ((void)0)
#define GAP                                  ((size_t)0)
#endif

#define ARENA_MAGIC FOURCC('A', 'R', 'N', 'A')

#define CHUNK_MIN ((size_t)4096)
#define CHUNK_MAX ((size_t)1 << 20)
#define ALIGN     ((size_t)16)

struct chunk {
    struct chunk *next;
    struct budget *budget; /* that it counts in, or NULL; referenced */
    size_t size;
    _Alignas(16) uint8_t bytes[];
};

struct arena {
    uint32_t magic;
    struct chunk *chunks; /* the first is the one in use */
    size_t left;          /* bytes free in the first */
    size_t used;
    size_t charged; /* of them, what lies elsewhere */
    size_t max;
    size_t free_bytes;     /* that may still be taken without the budget */
    struct budget *budget; /* of the next chunk; referenced */
};

struct arena *
arena_new(size_t max_bytes)
{
    struct arena *a = mem_new(sizeof *a);

    a->magic = ARENA_MAGIC;
    a->max = max_bytes;
    return a;
}

struct arena *
arena_new_within(size_t max_bytes, struct budget *budget)
{
    struct arena *a = arena_new(max_bytes);

    a->budget = budget_ref(budget);
    return a;
}

struct arena *
arena_new_after(size_t max_bytes, size_t free_bytes, struct budget *budget)
{
    struct arena *a = arena_new_within(max_bytes, budget);

    a->free_bytes = free_bytes;
    return a;
}

struct budget *
arena_budget(const struct arena *a)
{
    OBJ_CHECK(a, ARENA_MAGIC);
    return a->budget;
}

/* Memory that arena_charge() counted moves to the new budget, even if that
 * exceeds the budget's limit. */
void
arena_set_budget(struct arena *a, struct budget *budget)
{
    OBJ_CHECK(a, ARENA_MAGIC);
    budget_return(a->budget, a->charged);
    budget_unref(&a->budget);
    a->budget = budget_ref(budget);
    budget_force(a->budget, a->charged);
}

static void
free_chunk(struct chunk *c)
{
    budget_return(c->budget, sizeof *c + c->size);
    budget_unref(&c->budget);
    free(c);
}

void
arena_free(struct arena **ap)
{
    struct arena *a = OBJ_TAKE(ap, ARENA_MAGIC);

    if (a == NULL)
        return;
    while (a->chunks != NULL) {
        struct chunk *c = a->chunks;

        a->chunks = c->next;
        free_chunk(c);
    }
    budget_return(a->budget, a->charged);
    budget_unref(&a->budget);
    OBJ_FREE(a);
}

static bool
add_chunk(struct arena *a, size_t need)
{
    size_t size = a->chunks == NULL ? CHUNK_MIN : a->chunks->size * 2;
    struct budget *budget;
    struct chunk *c;
    bool is_free;

    if (size > CHUNK_MAX)
        size = CHUNK_MAX;
    if (size < need)
        size = need;
    if (size > SIZE_MAX - sizeof *c)
        return false;
    is_free = sizeof *c + size <= a->free_bytes;
    budget = is_free ? NULL : a->budget;
    if (budget_left(budget) < sizeof *c + size)
        size = need; /* there may still be so much */
    if (!budget_take(budget, sizeof *c + size))
        return false;
    c = mem_try(sizeof *c + size);
    if (c == NULL) {
        budget_return(budget, sizeof *c + size);
        return false;
    }
    if (is_free)
        a->free_bytes -= sizeof *c + size;
    c->budget = budget_ref(budget);
    c->size = size;
    c->next = a->chunks;
    a->chunks = c;
    a->left = size;
    ASAN_POISON_MEMORY_REGION(c->bytes, size);
    return true;
}

/* 'used' with so much more; false past the cap. */
static bool
fits(const struct arena *a, size_t size, size_t *used)
{
    return !__builtin_add_overflow(a->used, size, used) &&
           (a->max == 0 || *used <= a->max);
}

bool
arena_charge(struct arena *a, size_t size)
{
    size_t used;

    OBJ_CHECK(a, ARENA_MAGIC);
    if (!fits(a, size, &used) || !budget_take(a->budget, size))
        return false;
    a->used = used;
    a->charged += size;
    return true;
}

void *
arena_alloc(struct arena *a, size_t size)
{
    size_t need, used;
    void *p;

    OBJ_CHECK(a, ARENA_MAGIC);
    if (__builtin_add_overflow(size == 0 ? 1 : size, ALIGN - 1 + GAP, &need))
        return NULL;
    need &= ~(ALIGN - 1);
    if (!fits(a, need - GAP, &used))
        return NULL;
    if (need > a->left && !add_chunk(a, need))
        return NULL;
    p = a->chunks->bytes + (a->chunks->size - a->left);
    a->left -= need;
    a->used = used;
    ASAN_UNPOISON_MEMORY_REGION(p, size);
    return p;
}

void *
arena_array_raw(struct arena *a, size_t len, size_t size)
{
    size_t bytes;

    return __builtin_mul_overflow(len, size, &bytes) ? NULL
                                                     : arena_alloc(a, bytes);
}

void *
arena_array(struct arena *a, size_t len, size_t size)
{
    void *p = arena_array_raw(a, len, size);

    if (p != NULL)
        memset(p, 0, len * size);
    return p;
}

void *
arena_grow(struct arena *a, void *array, size_t len, size_t *cap, size_t size)
{
    size_t more = *cap == 0 ? 16 : *cap * 2;
    void *bigger;

    if (len < *cap || (array == NULL && len > 0))
        return array;
    bigger = arena_array(a, more, size);
    if (bigger == NULL)
        return NULL;
    if (len > 0)
        memcpy(bigger, array, len * size);
    *cap = more;
    return bigger;
}

void *
arena_copy(struct arena *a, const void *from, size_t size)
{
    void *to = arena_alloc(a, size);

    if (to != NULL && size > 0)
        memcpy(to, from, size);
    return to;
}

char *
arena_strdup(struct arena *a, struct slice s)
{
    char *p;

    if (s.size == SIZE_MAX)
        return NULL;
    p = arena_alloc(a, s.size + 1);
    if (p != NULL) {
        if (s.size > 0)
            memcpy(p, s.data, s.size);
        p[s.size] = '\0';
    }
    return p;
}

bool
arena_keep(struct arena *a, struct slice *s)
{
    *s = slice_of(arena_strdup(a, *s), s->size);
    return s->data != NULL;
}

struct slice
arena_take(struct arena *a, struct buf *b)
{
    struct slice s = buf_slice(b);

    if (b->failed || !arena_keep(a, &s))
        s.data = NULL;
    buf_fini(b);
    return s;
}

bool
arena_absorb(struct arena *a, struct arena **from)
{
    struct arena *b = *from;
    struct chunk **end;
    size_t used;

    OBJ_CHECK(a, ARENA_MAGIC);
    OBJ_CHECK(b, ARENA_MAGIC);
    if (!fits(a, b->used, &used))
        return false;
    a->used = used;
    a->charged += b->charged;
    budget_force(a->budget, b->charged);
    /* Behind the chunk in use, if there is one. */
    if (a->chunks == NULL)
        a->left = b->left;
    end = a->chunks == NULL ? &a->chunks : &a->chunks->next;
    while (*end != NULL)
        end = &(*end)->next;
    *end = b->chunks;
    b->chunks = NULL;
    arena_free(from);
    return true;
}

void
arena_reset(struct arena *a)
{
    OBJ_CHECK(a, ARENA_MAGIC);
    while (a->chunks != NULL && a->chunks->next != NULL) {
        struct chunk *c = a->chunks;

        a->chunks = c->next;
        free_chunk(c);
    }
    a->left = a->chunks == NULL ? 0 : a->chunks->size;
    budget_return(a->budget, a->charged);
    a->used = a->charged = 0;
    if (a->chunks != NULL)
        ASAN_POISON_MEMORY_REGION(a->chunks->bytes, a->left);
}

size_t
arena_left(const struct arena *a)
{
    OBJ_CHECK(a, ARENA_MAGIC);
    if (a->max == 0)
        return 0;
    return a->max > a->used ? a->max - a->used : 1;
}

size_t
arena_used(const struct arena *a)
{
    OBJ_CHECK(a, ARENA_MAGIC);
    return a->used;
}
