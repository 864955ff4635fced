/* See tsd/api/tree/tree_table.h. */
#include "config.h"

#include "tsd/api/tree/tree_table.h"

#include <stdlib.h>

#include "base/hash.h"
#include "query/model/casefold.h"

static size_t
find_slot(const struct tree_table *t, struct slice key)
{
    size_t at = hash_slice(key, t->seed) & (t->slots_len - 1);

    while (t->slots[at] != 0 &&
           !slice_eq(t->entries[t->slots[at] - 1].key, key))
        at = (at + 1) & (t->slots_len - 1);
    return at;
}

static bool
grow(struct tree_table *t)
{
    size_t cap = t->cap == 0 ? 16 : t->cap * 2;
    struct tree_entry *entries = arena_array(t->arena, cap, sizeof *entries);
    uint32_t *slots = arena_array(t->arena, cap * 2, sizeof *slots);

    if (entries == NULL || slots == NULL || cap > UINT32_MAX / 4)
        return false;
    if (t->len > 0)
        memcpy(entries, t->entries, t->len * sizeof *entries);
    if (t->cap == 0)
        t->seed = hash_random_seed();
    t->entries = entries;
    t->cap = cap;
    t->slots = slots;
    t->slots_len = cap * 2;
    for (size_t i = 0; i < t->len; i++)
        t->slots[find_slot(t, t->entries[i].key)] = (uint32_t)i + 1;
    return true;
}

static bool
copy(struct arena *arena, struct slice *s)
{
    const char *bytes = arena_strdup(arena, *s);

    *s = slice_of(bytes, s->size);
    return bytes != NULL;
}

const struct tree_entry *
tree_table_add(struct tree_table *t, struct slice key, struct slice name,
               struct slice tsuid)
{
    size_t slot;

    if (t->len == t->cap && !grow(t))
        return NULL;
    slot = find_slot(t, key);
    if (t->slots[slot] != 0)
        return &t->entries[t->slots[slot] - 1];
    if (!copy(t->arena, &key) || !copy(t->arena, &name) ||
        !copy(t->arena, &tsuid))
        return NULL;
    t->entries[t->len] = (struct tree_entry){ key, name, tsuid, t->len };
    t->slots[slot] = (uint32_t)t->len + 1;
    return &t->entries[t->len++];
}

const struct tree_entry *
tree_table_find(const struct tree_table *t, struct slice key)
{
    size_t slot;

    if (t->len == 0)
        return NULL;
    slot = find_slot(t, key);
    return t->slots[slot] == 0 ? NULL : &t->entries[t->slots[slot] - 1];
}

static int
compare_names(struct slice a, struct slice b)
{
    size_t n = a.size < b.size ? a.size : b.size;

    for (size_t i = 0; i < n; i++) {
        int c = casefold_at(a, i) - casefold_at(b, i);

        if (c != 0)
            return c;
    }
    return (a.size > b.size) - (a.size < b.size);
}

static int
compare_entries(const void *a, const void *b)
{
    const struct tree_entry *x = a, *y = b;
    int c = compare_names(x->name, y->name);

    return c != 0 ? c : (x->at > y->at) - (x->at < y->at);
}

void
tree_table_sort(struct tree_table *t)
{
    size_t len = 0;

    if (t->len > 0)
        qsort(t->entries, t->len, sizeof *t->entries, compare_entries);
    for (size_t i = 0; i < t->len; i++)
        if (len == 0 ||
            compare_names(t->entries[len - 1].name, t->entries[i].name) != 0)
            t->entries[len++] = t->entries[i];
    t->len = len;
}
