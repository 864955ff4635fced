#include "base/numbers.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

static bool
is_number(const void *list, uint32_t i, const void *key)
{
    return ((const uint64_t *)list)[i] == *(const uint64_t *)key;
}

bool
numbers_have(const struct numbers *n, uint64_t v)
{
    return table_find(&n->table, hash_bytes(&v, sizeof v, 0), is_number,
                      n->list, &v) != TABLE_NONE;
}

void
numbers_add(struct numbers *n, uint64_t v)
{
    size_t len = n->table.len;

    if (numbers_have(n, v))
        return;
    n->list = mem_grow(n->list, len, &n->cap, sizeof *n->list);
    n->list[len] = v;
    table_add(&n->table, hash_bytes(&v, sizeof v, 0), (uint32_t)len);
}

void
numbers_fini(struct numbers *n)
{
    table_fini(&n->table);
    free(n->list);
    *n = (struct numbers){ 0 };
}
