#include "tsd/api/tree/tree_table.h"

#include <stdlib.h>

#include "base/hash.h"
#include "query/model/casefold.h"

static bool
is_entry(const void *entries, uint32_t i, const void *key)
{
    const struct tree_entry *all = entries;

    return slice_eq(all[i].key, *(const struct slice *)key);
}

const struct tree_entry *
tree_table_add(struct tree_table *t, struct slice key, struct slice name,
               struct slice tsuid)
{
    uint64_t hash;
    uint32_t i;

    if (t->len == 0)
        t->seed = hash_random_seed();
    hash = hash_slice(key, t->seed);
    i = table_find(&t->table, hash, is_entry, t->entries, &key);
    if (i != TABLE_NONE)
        return &t->entries[i];
    t->entries =
        arena_grow(t->arena, t->entries, t->len, &t->cap, sizeof *t->entries);
    if (t->entries == NULL || !arena_keep(t->arena, &key) ||
        !arena_keep(t->arena, &name) || !arena_keep(t->arena, &tsuid) ||
        !table_try_add(&t->table, hash, (uint32_t)t->len))
        return NULL;
    t->entries[t->len] = (struct tree_entry){ key, name, tsuid, t->len };
    return &t->entries[t->len++];
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
    table_fini(&t->table);
}
