/* Weeks: each entry is compared with the sum of its rows, and each series that
 * has rows of a week which is said to be summarised must have an entry.  A
 * wrong entry is made stale, so that queries read the rows and the store sums
 * the week up again.
 *
 * Entries and rows are walked side by side, each with an iterator that moves
 * forward: a look-up for each row of a week takes ten times as long. */
#include "uid/fsck/uid_fsck_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "storage/store/store_retention.h"
#include "storage/store/week_rows.h"
#include "storage/week/week.h"

#define CHUNK 256 /* entries of one week that are summed up together */

struct week_entry {
    struct slice key, value, tsuid;
    uint32_t base;
    enum row_state rows;
};

/* Entries of one week that are not compared yet; their bytes are in the
 * arena. */
struct chunk {
    size_t len;
    struct week_entry entries[CHUNK];
    struct slice tsuids[CHUNK];
    struct arena *arena;
    struct week *weeks; /* what their rows say */
};

/* The weeks of one salt bucket. */
struct bucket_weeks {
    unsigned bucket;
    uint32_t done, until; /* store_weeks_priv.h says what they mean */
    struct buf state;     /* the entry that precedes all weeks of the bucket */
    struct buf value;
    bool changed;
    struct week week;
    struct chunk chunk;
};

static void
make_stale(struct tables *t, struct bucket_weeks *b, struct slice key,
           uint32_t base)
{
    check_puts(t, key, slice_of(NULL, 0));
    for (size_t i = WEEKS_STATE_SIZE; i + 4 <= b->state.size; i += 4)
        if (key_get_uint(b->state.data + i, 4) == base)
            return;
    buf_make_room(&b->state, 4);
    buf_put_u32(&b->state, base);
    b->changed = true;
}

/* Compares an entry with 'rows', the sum of its rows. */
static enum status
compare_entry(struct tables *t, struct bucket_weeks *b,
              const struct week_entry *x, const struct week *rows,
              struct error *e)
{
    char name[CHECK_TEXT_MAX];

    /* Without its rows it may be all that is left, if the cut is lost. */
    if (week_is_empty(rows))
        return check_found(t->c, "week-alone", x->key, NULL,
                           "%s: of the week at %u there are no rows",
                           check_describe(t, x->tsuid, name),
                           (unsigned)x->base);
    buf_clear(&b->value);
    week_encode(rows, &b->value);
    if (b->value.failed) /* no damage */
        return error_set(e, ST_LIMIT, "no memory for a week");
    if (!rows->unfit) /* they do not say where they are */
        week_set_rows(&b->value, x->base, x->rows);
    if (slice_eq(buf_slice(&b->value), x->value))
        return ST_OK;
    make_stale(t, b, x->key, x->base);
    return check_found(t->c, "week", x->key, "summed up anew",
                       "%s: the week at %u is not what its rows say",
                       check_describe(t, x->tsuid, name), (unsigned)x->base);
}

static enum status
compare_chunk(struct tables *t, struct bucket_weeks *b, struct error *e)
{
    struct chunk *c = &b->chunk;
    const struct week_rows rows = { t->kv, t->layout, c->tsuids, c->len };
    enum status st = ST_OK;

    if (c->len == 0)
        return ST_OK;
    st = week_rows_sum(&rows, c->entries[0].base, c->weeks, &t->points, e);
    for (size_t i = 0; i < c->len && st == ST_OK; i++)
        st = compare_entry(t, b, &c->entries[i], &c->weeks[i], e);
    c->len = 0;
    arena_reset(c->arena);
    return st;
}

/* A copy; without data when there is no memory. */
static struct slice
copy_slice(struct arena *a, struct slice s)
{
    void *copy = arena_copy(a, s.data, s.size);

    return slice_of(copy, copy == NULL ? 0 : s.size);
}

/* Adds an entry to the chunk, which is compared first if it is full or of
 * another week. */
static enum status
gather_entry(struct tables *t, struct bucket_weeks *b,
             const struct week_entry *x, struct error *e)
{
    struct chunk *c = &b->chunk;
    enum status st = ST_OK;

    if (c->len == CHUNK || (c->len > 0 && c->entries[0].base != x->base))
        st = compare_chunk(t, b, e);
    if (st != ST_OK)
        return st;
    c->tsuids[c->len] = copy_slice(c->arena, x->tsuid);
    c->entries[c->len] = (struct week_entry){
        .key = copy_slice(c->arena, x->key),
        .value = copy_slice(c->arena, x->value),
        .tsuid = c->tsuids[c->len],
        .base = x->base,
        .rows = x->rows,
    };
    if (c->entries[c->len].value.data == NULL)
        return error_set(e, ST_LIMIT, "no memory for the entry of a week");
    c->len++;
    return ST_OK;
}

/* May rows be dropped that the entry of this week was made of? */
static bool
lacks_rows(struct tables *t, struct slice tsuid, uint32_t base,
           enum row_state rows)
{
    uint64_t metric = tsuid_metric_id(t->layout, tsuid);
    int64_t ms = (int64_t)base * 1000;

    return ms < store_hourly_cut_ms(t->store, metric) ||
           (rows != WEEK_ROWS_KEPT && ms < store_alone_ms(t->store, metric));
}

static enum status
check_entry(struct tables *t, struct bucket_weeks *b, struct slice key,
            struct slice value, struct error *e)
{
    struct week_entry x = { .key = key, .value = value };
    struct tsuid tsuid;
    struct error why;
    enum status st;

    t->n.weeks++;
    if (key_week_parse(t->layout, key, &x.base, &tsuid, &why) != ST_OK)
        return check_drops_bad(t, "week-key", key, value, "%s", why.text);
    x.tsuid = tsuid_slice(&tsuid);
    if (check_drops_orphan(t, key, value, x.tsuid) || value.size == 0)
        return ST_OK;
    st = week_decode(value, x.base, HOURS_NONE, &b->week, &why);
    x.rows = b->week.rows;
    if (lacks_rows(t, x.tsuid, x.base,
                   st == ST_OK ? x.rows : WEEK_ROWS_DROPPED))
        return st == ST_OK ? ST_OK
                           : check_drops_bad(t, "week-entry", key, value, "%s",
                                             why.text);
    return x.base >= b->until ? ST_OK : gather_entry(t, b, &x, e);
}

static enum status
check_entries(struct tables *t, struct bucket_weeks *b, struct error *e)
{
    uint8_t prefix[2];
    size_t size = key_weeks_state(t->layout, b->bucket, prefix);
    struct kv_iter *it = kv_iter_open(t->kv, slice_of(prefix, size));
    enum status st = ST_OK;

    for (bool on_key = kv_iter_seek(it, slice_of(prefix, size));
         on_key && st == ST_OK; on_key = kv_iter_next(it))
        if (kv_iter_key(it).size > size)
            st = check_entry(t, b, kv_iter_key(it), kv_iter_value(it), e);
    if (st == ST_OK)
        st = compare_chunk(t, b, e);
    return kv_iter_end(&it, st, e);
}

/* The entries of a bucket, beside its rows. */
struct entries_walk {
    struct kv_iter *it;
    bool on_key;
    uint8_t last[ROW_KEY_MAX]; /* the entry that was looked for last */
    size_t last_size;
};

/* Is there an entry with this key?  Successive keys ascend within a span; the
 * next span of the same week starts again at the week's first series. */
static bool
walk_has(struct entries_walk *w, struct slice key)
{
    if (slice_cmp(key, slice_of(w->last, w->last_size)) < 0)
        w->on_key = kv_iter_seek(w->it, key);
    memcpy(w->last, key.data, key.size);
    w->last_size = key.size;
    return week_rows_find(w->it, &w->on_key, key);
}

/* A row's week has an entry, if only a stale one. */
static enum status
check_has_entry(struct tables *t, struct bucket_weeks *b, struct slice row,
                struct entries_walk *w, struct error *e)
{
    uint8_t bytes[ROW_KEY_MAX];
    struct tsuid tsuid;
    char name[CHECK_TEXT_MAX];
    struct slice series, key;
    uint32_t base;
    enum status st;

    if (key_row_parse(t->layout, row, &base, &tsuid, NULL) != ST_OK)
        return ST_OK;
    series = tsuid_slice(&tsuid);
    if (base >= b->done || !tsuid_tags_begin_at(t->layout, series, 1) ||
        check_is_expired(t, series, base))
        return ST_OK;
    key = slice_of(bytes, key_week(t->layout, series, base, bytes));
    if (walk_has(w, key))
        return ST_OK;
    st = kv_get(t->kv, key, &b->value, e); /* or the walk failed */
    if (st != ST_NOT_FOUND)
        return st;
    make_stale(t, b, key, week_base(base));
    return check_found(t->c, "week-missing", key, "entered",
                       "%s: the week at %u is not summarised",
                       check_describe(t, series, name),
                       (unsigned)week_base(base));
}

static enum status
check_rows(struct tables *t, struct bucket_weeks *b, struct error *e)
{
    const uint8_t prefix[] = { TABLE_ROWS, (uint8_t)b->bucket };
    struct slice start = slice_of(prefix, 1u + t->layout->salt_width);
    struct kv_iter *it = kv_iter_open(t->kv, start);
    struct entries_walk w = {
        .it = kv_iter_open(t->kv, KEY_TABLE(TABLE_WEEKS)),
    };
    enum status st = ST_OK;

    for (bool on_key = kv_iter_seek(it, start); on_key && st == ST_OK;
         on_key = kv_iter_next(it))
        st = check_has_entry(t, b, kv_iter_key(it), &w, e);
    st = kv_iter_end(&w.it, st, e);
    return kv_iter_end(&it, st, e);
}

/* Without a good state nothing is summarised, and all will be. */
static enum status
check_bucket(struct tables *t, struct bucket_weeks *b, struct error *e)
{
    uint8_t bytes[2];
    struct slice key =
        slice_of(bytes, key_weeks_state(t->layout, b->bucket, bytes));
    struct error why;
    enum status st = kv_get(t->kv, key, &b->state, e);

    b->done = b->until = 0;
    b->changed = false;
    if (st == ST_OK) {
        st = store_weeks_state(buf_slice(&b->state), &b->done, &b->until, &why);
        if (st != ST_OK)
            return check_drops_bad(t, "week-key", key, buf_slice(&b->state),
                                   "%s", why.text);
    }
    if (st != ST_OK && st != ST_NOT_FOUND)
        return st;
    st = check_entries(t, b, e);
    if (st == ST_OK && b->done > 0)
        st = check_rows(t, b, e);
    if (b->changed)
        check_puts(t, key, buf_slice(&b->state));
    return st;
}

enum status
check_weeks(struct tables *t, struct error *e)
{
    struct bucket_weeks *b = mem_new(sizeof *b);
    enum status st = ST_OK;

    b->chunk.weeks = mem_new_array(CHUNK, sizeof *b->chunk.weeks);
    b->chunk.arena = arena_new(0);
    for (unsigned i = 0; i < t->layout->salt_buckets && st == ST_OK; i++) {
        b->bucket = i;
        st = check_bucket(t, b, e);
    }
    buf_fini(&b->state);
    buf_fini(&b->value);
    arena_free(&b->chunk.arena);
    free(b->chunk.weeks);
    free(b);
    return st;
}
