/* The series of a task: found by TSUID for each row, and listed.
 *
 * Rows come by span, and within a span by TSUID. So the series of a row is
 * usually the one of the row before, the next one in the list, or a new one at
 * its end; a hash table is filled only when none of these is right. */
#include "query/fetch/fetch_priv.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

/* At most so many bytes of the table for each series in it. */
#define TABLE_SLOT_BYTES_MOST (3 * sizeof(struct table_slot))

/* Makes room for one more series in the list. */
static bool
grow_series(struct task *t)
{
    size_t cap = t->cap == 0 ? 64 : t->cap * 2;
    size_t size = sizeof(struct fetched *);
    struct budget *budget = t->job->limits->budget;
    struct fetched **series;

    if (t->len < t->cap)
        return true;
    if (!budget_take(budget, (cap - t->cap) * size))
        return false;
    series = mem_try_resize(t->series, cap * size);
    if (series == NULL) {
        budget_return(budget, (cap - t->cap) * size);
        return false;
    }
    t->series = series;
    t->cap = cap;
    return true;
}

/* Returns memory for one more series, or NULL if there is none. */
static struct fetched *
new_fetched(struct task *t)
{
    if (t->room_len == 0) {
        t->room_len = t->len < 4 ? 4 : t->len < 128 ? t->len : 128;
        t->room =
            arena_array_raw(t->batch->arena, t->room_len, sizeof *t->room);
    }
    if (t->room == NULL)
        return NULL;
    t->room_len--;
    return t->room++;
}

static struct fetched *
add_series(struct task *t, const struct store_row *row)
{
    const struct query_reading *reading = t->job->reading;
    size_t functions = reading->functions_len;
    bool waits = reading->form == READ_WHOLE;
    struct slice tsuid = row->tsuid;
    struct bucket_acc *more = NULL;
    struct fetched_rows *rows = NULL;
    struct fetched *f = new_fetched(t);

    /* Of a row that is kept, the head's stays. */
    if (row->block.size > 0 || functions > 0)
        tsuid.data = arena_copy(t->batch->arena, tsuid.data, tsuid.size);
    if (functions > 1)
        more = arena_array(t->batch->arena, functions - 1, sizeof *more);
    if (waits)
        rows = arena_array(t->batch->arena, 1, sizeof *rows);
    if (f == NULL || tsuid.data == NULL || (functions > 1 && more == NULL) ||
        (waits && rows == NULL) || !grow_series(t))
        return NULL;
    *f = (struct fetched){ .tsuid = tsuid, .more = more, .rows = rows };
    t->current = t->len++;
    return t->series[t->current] = f;
}

static inline bool
is_series(const struct task *t, size_t i, struct slice tsuid)
{
    struct slice other = t->series[i]->tsuid;

    return other.data == tsuid.data || slice_eq(other, tsuid);
}

/* For the hash table of a task. */
static bool
is_key(const void *ctx, uint32_t i, const void *key)
{
    return is_series(ctx, i, *(const struct slice *)key);
}

/* Takes what the table needs for twice 'len' series from the budget. */
static bool
grow_table_bytes(struct task *t, size_t len)
{
    size_t bytes = 2 * (len + 64) * TABLE_SLOT_BYTES_MOST;

    if (!budget_take(t->job->limits->budget, bytes - t->table_bytes))
        return false;
    t->table_bytes = bytes;
    return true;
}

/* Adds the series that are not in the table yet. */
static bool
fill_table(struct task *t)
{
    for (size_t i = t->table.len; i < t->len; i++) {
        if (i * TABLE_SLOT_BYTES_MOST >= t->table_bytes &&
            !grow_table_bytes(t, i))
            return false;
        if (!table_try_add(&t->table,
                           hash_slice(t->series[i]->tsuid, t->job->seed),
                           (uint32_t)i))
            return false;
    }
    return true;
}

struct fetched *
task_find_series(struct task *t, const struct store_row *row)
{
    struct slice tsuid = row->tsuid;
    /* In a span that is not the first, the next series is the most likely. */
    size_t next = t->current + 1 < t->len ? t->current + 1 : 0;

    if (t->len > 0 && is_series(t, t->current, tsuid))
        return t->series[t->current];
    if (t->len == 0 || !is_series(t, next, tsuid)) {
        /* The series of the first span ascend: most queries need no table. */
        if (t->table.len == 0 &&
            (t->len == 0 || slice_cmp(t->series[t->len - 1]->tsuid, tsuid) < 0))
            return add_series(t, row);
        if (!fill_table(t))
            return NULL;
        next = table_find(&t->table, hash_slice(tsuid, t->job->seed), is_key, t,
                          &tsuid);
        if (next == TABLE_NONE)
            return add_series(t, row);
    }
    t->current = next;
    return t->series[next];
}

static int
compare_fetched(const void *a, const void *b)
{
    const struct fetched *x = *(struct fetched *const *)a;
    const struct fetched *y = *(struct fetched *const *)b;

    return slice_cmp(x->tsuid, y->tsuid);
}

void
task_end_series(struct task *t)
{
    size_t i = 1, size = sizeof(struct fetched *);
    struct fetched **series;

    /* Nothing has to be sorted for most tasks, whose series ascend already. */
    while (i < t->len &&
           slice_cmp(t->series[i - 1]->tsuid, t->series[i]->tsuid) < 0)
        i++;
    if (i < t->len)
        qsort(t->series, t->len, sizeof *t->series, compare_fetched);
    /* The unused end of the list goes back to the budget. */
    series = t->len == 0 ? NULL : mem_try_resize(t->series, t->len * size);
    if (series == NULL)
        return;
    budget_return(t->job->limits->budget, (t->cap - t->len) * size);
    t->series = series;
    t->cap = t->len;
}
