/* Compaction of open rows: see open_row.h. */
#include "storage/head/open_row_priv.h"

#include <stdlib.h>

#include "base/mem.h"

static uint32_t
twice(uint32_t count)
{
    return count > OPEN_ROW_POINTS_MAX / 2 ? OPEN_ROW_POINTS_MAX : 2 * count;
}

bool
compaction_begin(struct compaction *c, struct open_row *r)
{
    *c = (struct compaction){ .bytes = malloc(r->size),
                              .size = r->size,
                              .count = r->count,
                              .base = r->base,
                              .sorted = { .base = r->base } };
    /* Neither another thread nor a lack of memory makes it begin again at
     * once. */
    r->compact_at = twice(r->count);
    if (c->bytes == NULL)
        return false;
    memcpy(c->bytes, r->bytes, r->size);
    return true;
}

bool
compaction_sort(struct compaction *c)
{
    struct points p = { 0 };
    bool good = points_reserve(&p, c->count);

    c->reader = (struct point_reader){ .at = c->bytes,
                                       .ts_ms = (int64_t)c->base * 1000 };
    for (; good && p.len < c->count; p.len++) {
        p.is_float[p.len] = read_point(&c->reader, &p.v[p.len]);
        p.ts_ms[p.len] = c->reader.ts_ms;
    }
    good = good && points_sort_unique(&p);
    for (size_t i = 0; good && i < p.len; i++)
        good = open_row_append(&c->sorted, points_at(&p, i));
    points_fini(&p);
    return good;
}

bool
compaction_end(struct compaction *c, struct open_row *r)
{
    const uint8_t *end = r->bytes + r->size;
    uint32_t count = c->sorted.count;

    /* It may have been compacted, flushed or cut meanwhile. */
    if (r->base != c->base || r->size < c->size || r->count < c->count ||
        memcmp(r->bytes, c->bytes, c->size) != 0)
        return false;
    for (c->reader.at = r->bytes + c->size; c->reader.at < end;) {
        union number v;
        bool is_double = read_point(&c->reader, &v);

        if (!open_row_append(&c->sorted,
                             (struct point){ .ts_ms = c->reader.ts_ms,
                                             .is_float = is_double,
                                             .v = v }))
            return false;
    }
    open_row_fini(r);
    *r = c->sorted;
    r->compact_at = twice(count);
    c->sorted = (struct open_row){ 0 };
    return true;
}

void
compaction_fini(struct compaction *c)
{
    free(c->bytes);
    open_row_fini(&c->sorted);
    *c = (struct compaction){ 0 };
}
