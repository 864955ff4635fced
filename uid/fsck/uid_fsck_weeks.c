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

/* The weeks of one salt bucket. */
struct bucket_weeks {
    unsigned bucket;
    uint32_t done, until; /* store_weeks_priv.h says what they mean */
    struct buf state;     /* the entry that precedes all weeks of the bucket */
    struct buf value;
    bool changed;
    struct week week;
    /* Entries of one week that are not compared yet; their bytes are in the
     * arena. */
    struct week_entry entries[CHUNK];
    struct slice tsuids[CHUNK];
    size_t len;
    struct arena *arena;
    struct week *weeks; /* what the rows of these say; CHUNK of them */
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
compare_entries(struct tables *t, struct bucket_weeks *b, struct error *e)
{
    const struct week_rows rows = { t->kv, t->layout, b->tsuids, b->len };
    enum status st = ST_OK;

    if (b->len > 0)
        st = week_rows_sum(&rows, b->entries[0].base, b->weeks, &t->points, e);
    for (size_t i = 0; i < b->len && st == ST_OK; i++)
        st = compare_entry(t, b, &b->entries[i], &b->weeks[i], e);
    b->len = 0;
    arena_reset(b->arena);
    return st;
}

/* A copy; without data when there is no memory. */
static struct slice
copy_slice(struct arena *a, struct slice s)
{
    void *copy = arena_copy(a, s.data, s.size);

    return slice_of(copy, copy == NULL ? 0 : s.size);
}

/* Checks an entry by itself, and keeps it to be compared with its rows together
 * with others of its week. */
static enum status
check_entry(struct tables *t, struct bucket_weeks *b, struct slice key,
            struct slice value, struct error *e)
{
    struct week_entry *x;
    struct tsuid tsuid;
    uint32_t base;
    uint64_t metric;
    int64_t ms;
    bool is_whole;
    struct error why;
    enum status st;

    t->n.weeks++;
    if (key_week_parse(t->layout, key, &base, &tsuid, &why) != ST_OK)
        return check_drops_bad(t, "week-key", key, value, "%s", why.text);
    if (check_drops_orphan(t, key, value, tsuid_slice(&tsuid)) ||
        value.size == 0)
        return ST_OK;
    st = week_decode(value, base, HOURS_NONE, &b->week, &why);
    /* May rows have been dropped that the entry was made of? */
    metric = tsuid_metric_id(t->layout, tsuid_slice(&tsuid));
    ms = (int64_t)base * 1000;
    is_whole = st == ST_OK && b->week.rows == WEEK_ROWS_KEPT;
    if (ms < store_hourly_cut_ms(t->store, metric) ||
        (!is_whole && ms < store_alone_ms(t->store, metric)))
        return st == ST_OK ? ST_OK
                           : check_drops_bad(t, "week-entry", key, value, "%s",
                                             why.text);
    if (base >= b->until)
        return ST_OK;
    if (b->len == CHUNK || (b->len > 0 && b->entries[0].base != base)) {
        st = compare_entries(t, b, e);
        if (st != ST_OK)
            return st;
    }
    x = &b->entries[b->len];
    *x = (struct week_entry){
        .key = copy_slice(b->arena, key),
        .value = copy_slice(b->arena, value),
        .tsuid = copy_slice(b->arena, tsuid_slice(&tsuid)),
        .base = base,
        .rows = b->week.rows,
    };
    if (x->value.data == NULL)
        return error_set(e, ST_LIMIT, "no memory for the entry of a week");
    b->tsuids[b->len++] = x->tsuid;
    return ST_OK;
}

/* A row's week has an entry, if only a stale one. */
static enum status
check_rows(struct tables *t, struct bucket_weeks *b, struct error *e)
{
    const uint8_t prefix[] = { TABLE_ROWS, (uint8_t)b->bucket };
    struct slice start = slice_of(prefix, 1u + t->layout->salt_width);
    struct kv_iter *it = kv_iter_open(t->kv, start);
    struct kv_iter *entries = kv_iter_open(t->kv, KEY_TABLE(TABLE_WEEKS));
    uint8_t bytes[ROW_KEY_MAX], last[ROW_KEY_MAX];
    size_t last_size = 0;
    bool on_entry = false;
    char name[CHECK_TEXT_MAX];
    enum status st = ST_OK;

    for (bool on_key = kv_iter_seek(it, start); on_key && st == ST_OK;
         on_key = kv_iter_next(it)) {
        struct tsuid tsuid;
        struct slice series, key;
        uint32_t base;

        if (key_row_parse(t->layout, kv_iter_key(it), &base, &tsuid, NULL) !=
            ST_OK)
            continue;
        series = tsuid_slice(&tsuid);
        if (base >= b->done || !tsuid_tags_begin_at(t->layout, series, 1) ||
            check_is_expired(t, series, base))
            continue;
        key = slice_of(bytes, key_week(t->layout, series, base, bytes));
        /* Keys ascend within a span; the next span of the same week starts
         * again at the week's first series. */
        if (slice_cmp(key, slice_of(last, last_size)) < 0)
            on_entry = kv_iter_seek(entries, key);
        memcpy(last, key.data, key.size);
        last_size = key.size;
        if (week_rows_find(entries, &on_entry, key))
            continue;
        st = kv_get(t->kv, key, &b->value, e); /* or the iterator failed */
        if (st != ST_NOT_FOUND)
            continue;
        make_stale(t, b, key, week_base(base));
        st = check_found(t->c, "week-missing", key, "entered",
                         "%s: the week at %u is not summarised",
                         check_describe(t, series, name),
                         (unsigned)week_base(base));
    }
    st = kv_iter_end(&entries, st, e);
    return kv_iter_end(&it, st, e);
}

/* Without a good state nothing is summarised, and all will be. */
static enum status
check_bucket(struct tables *t, struct bucket_weeks *b, struct error *e)
{
    uint8_t bytes[2];
    struct slice key =
        slice_of(bytes, key_weeks_state(t->layout, b->bucket, bytes));
    struct kv_iter *it;
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
    st = ST_OK;
    it = kv_iter_open(t->kv, key);
    for (bool on = kv_iter_seek(it, key); on && st == ST_OK;
         on = kv_iter_next(it))
        if (kv_iter_key(it).size > key.size)
            st = check_entry(t, b, kv_iter_key(it), kv_iter_value(it), e);
    if (st == ST_OK)
        st = compare_entries(t, b, e);
    st = kv_iter_end(&it, st, e);
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

    b->weeks = mem_new_array(CHUNK, sizeof *b->weeks);
    b->arena = arena_new(0);
    for (unsigned i = 0; i < t->layout->salt_buckets && st == ST_OK; i++) {
        b->bucket = i;
        st = check_bucket(t, b, e);
    }
    buf_fini(&b->state);
    buf_fini(&b->value);
    arena_free(&b->arena);
    free(b->weeks);
    free(b);
    return st;
}
