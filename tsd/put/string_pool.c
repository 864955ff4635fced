/* See tsd/put/string_pool.h: open addressing, linear probing, half full at
 * most. */
#include "config.h"

#include "tsd/put/string_pool.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/obj.h"

#define TEXTS_MAGIC FOURCC('T', 'X', 'T', 'S')
#define FIRST_SLOTS 64

struct texts {
    uint32_t magic;
    uint64_t seed;
    struct text **slots;
    size_t mask; /* slots - 1 */
    size_t len;
    size_t bytes; /* of the texts */
};

struct texts *
texts_new(uint64_t seed)
{
    struct texts *t = mem_new(sizeof *t);

    t->magic = TEXTS_MAGIC;
    t->seed = seed;
    t->mask = FIRST_SLOTS - 1;
    t->slots = mem_new_array(FIRST_SLOTS, sizeof(struct text *));
    return t;
}

void
texts_free(struct texts **tp)
{
    struct texts *t = *tp;

    *tp = NULL;
    if (t == NULL)
        return;
    OBJ_CHECK(t, TEXTS_MAGIC);
    for (size_t i = 0; i <= t->mask; i++)
        free(t->slots[i]);
    free(t->slots);
    OBJ_CLEAR(t);
    free(t);
}

/* What malloc() adds, too. */
static size_t
heap_of(size_t size)
{
    return (sizeof(struct text) + size + 8 + 15) / 16 * 16;
}

size_t
texts_cost(size_t size)
{
    /* The table doubles when it is half full: four slots each at the most. */
    return heap_of(size) + 4 * sizeof(struct text *);
}

size_t
texts_bytes(const struct texts *t)
{
    return t->bytes + (t->mask + 1) * sizeof(struct text *);
}

static size_t
find(const struct texts *t, uint32_t hash, struct slice s)
{
    size_t at = hash & t->mask;

    while (t->slots[at] != NULL && !(t->slots[at]->hash == hash &&
                                     text_eq(t->slots[at], s.data, s.size)))
        at = (at + 1) & t->mask;
    return at;
}

static void
grow(struct texts *t)
{
    size_t len = 2 * (t->mask + 1);
    struct text **slots = mem_new_array(len, sizeof(struct text *));

    for (size_t i = 0; i <= t->mask; i++) {
        size_t at;

        if (t->slots[i] == NULL)
            continue;
        at = t->slots[i]->hash & (len - 1);
        while (slots[at] != NULL)
            at = (at + 1) & (len - 1);
        slots[at] = t->slots[i];
    }
    free(t->slots);
    t->slots = slots;
    t->mask = len - 1;
}

struct text *
text_take(struct texts *t, struct slice s)
{
    uint32_t hash;
    size_t at;
    struct text *x;

    OBJ_CHECK(t, TEXTS_MAGIC);
    hash = (uint32_t)hash_slice(s, t->seed);
    at = find(t, hash, s);
    x = t->slots[at];
    if (x == NULL) {
        if (2 * (t->len + 1) > t->mask + 1) {
            grow(t);
            at = find(t, hash, s);
        }
        x = mem_new(sizeof *x + s.size);
        x->hash = hash;
        x->size = (uint32_t)s.size;
        memcpy(x->bytes, s.data, s.size);
        t->slots[at] = x;
        t->len++;
        t->bytes += heap_of(s.size);
    }
    x->held++;
    return x;
}

void
text_drop(struct texts *t, struct text *x)
{
    size_t at, next;

    OBJ_CHECK(t, TEXTS_MAGIC);
    if (--x->held > 0)
        return;
    at = find(t, x->hash, slice_of(x->bytes, x->size));
    INSIST(t->slots[at] == x);
    t->len--;
    t->bytes -= heap_of(x->size);
    free(x);
    /* Those behind it that had to evade move back. */
    t->slots[at] = NULL;
    for (next = (at + 1) & t->mask; t->slots[next] != NULL;
         next = (next + 1) & t->mask) {
        size_t home = t->slots[next]->hash & t->mask;

        if (((next - home) & t->mask) < ((next - at) & t->mask))
            continue;
        t->slots[at] = t->slots[next];
        t->slots[next] = NULL;
        at = next;
    }
}
