/* Drops expired rows under the flush lock, because a flush writes a row again
 * that it has read before. Batches are small, so that the flusher and deletions
 * wait for milliseconds only. store_retention_cuts.c says up to where rows are
 * expired.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "storage/store/row_values.h"
#include "storage/week/week.h"
#include "storage/store/store_retention.h"
#include "storage/store/store_weeks_priv.h"

#define BATCH_ROWS  512
#define BATCH_BYTES ((uint64_t)1 << 20) /* read */

/* Of a bucket and metric, in a pass. */
#define WORTH_COMPACTING ((uint64_t)256 << 10)

enum fate {
    ROW_STAYS,
    ROW_GOES,
    /* It is the first of its series and week that goes: the entry says so from
     * then on. */
    ROW_GOES_FIRST,
    ROW_IS_LATE, /* it goes once its hours are in the entry */
};

/* A row that goes if its series' week says so; in 'keys'. */
struct expired_row {
    size_t at, size;  /* of its key; that of the week's entry is behind it */
    size_t week_size; /* 0: it goes */
    uint32_t week;
    enum fate fate;
    uint64_t points, bytes;
};

struct dropping {
    struct store *s;
    struct store_drop *d;
    struct cut_times before; /* what expired */
    uint32_t entries_from;   /* no entry counts for rows before this time */
    uint8_t table;           /* rows, and then weeks */
    unsigned bucket;
    uint32_t end;     /* of the spans that go; one begins at it */
    struct buf from;  /* the key where the next batch begins */
    size_t head_size; /* of a key: table, salt, metric */
    struct kv_batch *batch;
    struct store_dropped in_batch;
    struct expired_row *rows; /* BATCH_ROWS, of the batch */
    size_t rows_len, sure;    /* of them so many go anyway */
    uint64_t noted;           /* bytes of these rows */
    bool damaged;             /* some rows of the bucket cannot be read */
    struct buf keys;
    struct row_values entries; /* of the weeks of 'rows' */
};

/* The key behind the rows that go. */
static struct slice
end_key(const struct dropping *x, uint8_t out[ROW_KEY_MAX])
{
    const struct key_place p = { x->table, x->bucket, x->d->before.metric,
                                 x->end };

    return slice_of(out, key_place(&x->s->layout, &p, out));
}

static void
note_row(struct dropping *x, struct slice tsuid, uint32_t base,
         struct slice key, struct slice value)
{
    struct expired_row *row = &x->rows[x->rows_len];
    uint8_t week[ROW_KEY_MAX];
    enum fate fate = ROW_GOES;

    /* The policy was shorter when hourly values before 'entries_from' were
     * dropped. What is left, or came since, has no others, though an entry of
     * its week may exist. */
    if (cut_times_keep_hours(&x->before, base) && base < x->entries_from)
        return;
    if (cut_times_keep_hours(&x->before, base))
        fate = ROW_STAYS; /* unless ask_weeks() finds its hourly values */
    x->rows_len++;
    *row = (struct expired_row){
        .at = x->keys.size,
        .size = key.size,
        .week = base - base % WEEK_S,
        .points = row_points(&x->s->layout, base, value),
        .bytes = key.size + value.size,
        .fate = fate,
    };
    x->noted += row->bytes;
    buf_put_slice(&x->keys, key);
    x->sure += row->fate == ROW_GOES;
    if (row->fate == ROW_GOES)
        return;
    row->week_size = key_week(&x->s->layout, tsuid, base, week);
    buf_put(&x->keys, week, row->week_size);
}

static struct tsuid
tsuid_of_row(const struct dropping *x, const struct expired_row *row)
{
    struct tsuid tsuid;
    uint32_t base;

    INSIST(key_row_parse(&x->s->layout,
                         slice_of(x->keys.data + row->at, row->size), &base,
                         &tsuid, NULL) == ST_OK);
    return tsuid;
}

/* An entry that is final has been made of the row, unless it is a late one. */
static enum fate
fate_of(const struct dropping *x, const struct expired_row *row,
        const struct slice *value) NO_TS_CHECK
{
    struct tsuid tsuid;
    struct week w;

    if (x->d->foresees)
        return value == NULL || !week_is_unfit(*value, row->week) ? ROW_GOES
                                                                  : ROW_STAYS;
    if (value == NULL || value->size == 0 ||
        week_decode(*value, row->week, HOURS_NONE, &w, NULL) != ST_OK ||
        w.unfit)
        return ROW_STAYS;
    if (w.rows == WEEK_ROWS_DROPPED)
        return ROW_GOES;
    /* Are rows of that week still to come? */
    tsuid = tsuid_of_row(x, row);
    if (store_weeks_held(x->s, x->bucket, row->week) ||
        head_has_rows(x->s->head, tsuid_slice(&tsuid), row->week,
                      row->week + WEEK_S))
        return ROW_STAYS;
    return w.rows == WEEK_ROWS_KEPT ? ROW_GOES_FIRST : ROW_IS_LATE;
}

/* Decides about a row; 'value' is the entry of its week, or NULL. The first row
 * that goes makes the entry final. */
static void
decide_row(struct dropping *x, struct expired_row *row,
           const struct slice *value)
{
    struct buf entry = BUF_INIT;

    row->fate = fate_of(x, row, value);
    if (row->fate != ROW_GOES_FIRST || x->d->dry_run)
        return;
    buf_put_slice(&entry, *value);
    if (entry.failed) {
        row->fate = ROW_STAYS;
    } else {
        week_set_rows(&entry, row->week, WEEK_ROWS_DROPPED);
        kv_batch_put(
            x->batch,
            slice_of(x->keys.data + row->at + row->size, row->week_size),
            buf_slice(&entry));
    }
    buf_fini(&entry);
}

/* Finds out which rows' weeks have their hourly values. Where an entry cannot
 * be read, the row stays. A dry run, which does not hold the flush lock, takes
 * it: it guards the list of late weeks. */
static enum status
ask_weeks(struct dropping *x, struct error *e) NO_TS_CHECK
{
    struct row_values *v = &x->entries;
    struct expired_row *asked[BATCH_ROWS];
    bool locks = x->d->dry_run && !x->d->foresees;
    enum status st = ST_OK;

    if (locks)
        lock_take(&x->s->flush_lock);
    for (size_t at = 0; at < x->rows_len && st == ST_OK;) {
        row_values_clear(v);
        for (; at < x->rows_len && v->len < row_values_room(v); at++) {
            struct expired_row *row = &x->rows[at];

            if (row->week_size == 0)
                continue;
            asked[v->len] = row;
            row_values_add(v, slice_of(x->keys.data + row->at + row->size,
                                       row->week_size));
        }
        st = row_values_read(v, x->s->kv, e);
        for (size_t i = 0; i < v->len && st == ST_OK; i++) {
            struct slice value;
            struct error why;
            enum status got = row_values_get(v, x->s->kv, i, &value, &why);

            if (got == ST_OK || got == ST_NOT_FOUND)
                decide_row(x, asked[i], got == ST_OK ? &value : NULL);
            else if (store_pass_over_damage(x->s, got, &why) != ST_OK)
                st = error_set(e, got, "%s", why.text);
        }
    }
    if (locks)
        lock_drop(&x->s->flush_lock);
    return st;
}

static void
drop_noted(struct dropping *x)
{
    x->sure = 0;
    for (size_t i = 0; i < x->rows_len; i++) {
        const struct expired_row *row = &x->rows[i];

        if (row->fate == ROW_STAYS ||
            (row->fate == ROW_IS_LATE && !x->d->dry_run))
            continue;
        x->in_batch.rows++;
        x->in_batch.points += row->points;
        x->in_batch.bytes += row->bytes;
        if (!x->d->dry_run)
            kv_batch_delete(x->batch,
                            slice_of(x->keys.data + row->at, row->size));
    }
}

/* Takes the row where the iterator stands, and steps on.  What is malformed is
 * fsck's. */
static bool
take_row(struct dropping *x, struct kv_iter *it)
{
    const struct key_layout *layout = &x->s->layout;
    struct slice key = kv_iter_key(it), value = kv_iter_value(it);
    size_t tags_at = x->head_size + 4;
    uint8_t first[ROW_KEY_MAX];
    struct tsuid tsuid;
    uint32_t base;

    if (x->table == TABLE_WEEKS) {
        x->in_batch.weeks++;
        x->in_batch.bytes += key.size + value.size;
        if (!x->d->dry_run)
            kv_batch_delete(x->batch, key);
        return kv_iter_next(it);
    }
    if (key_row_parse(layout, key, &base, &tsuid, NULL) != ST_OK)
        return kv_iter_next(it);
    if (!tsuid_tags_begin_at(layout, tsuid_slice(&tsuid), 1)) {
        /* From a row of a rollup to the span's first one of raw points. */
        memcpy(first, key.data, tags_at);
        key_put_uint(first + tags_at, 1, layout->tagk_width);
        return kv_iter_seek(it, slice_of(first, tags_at + layout->tagk_width));
    }
    note_row(x, tsuid_slice(&tsuid), base, key, value);
    return kv_iter_next(it);
}

static bool
has_enough(const struct dropping *x)
{
    const struct store_drop *d = x->d;

    return d->max_rows != 0 && d->dropped.rows + d->dropped.weeks +
                                       x->in_batch.rows + x->in_batch.weeks +
                                       x->sure >=
                                   d->max_rows;
}

/* Gathers a batch; '*more': it did not come to the end. */
static enum status
gather(struct dropping *x, bool *more, struct error *e)
{
    struct kv_iter *it =
        kv_iter_open(x->s->kv, slice_of(x->from.data, x->head_size));
    uint8_t end[ROW_KEY_MAX];
    struct error why;
    size_t steps = 0;
    enum status st;
    bool on;

    x->rows_len = x->sure = 0;
    x->noted = 0;
    buf_clear(&x->keys);
    kv_iter_bound(it, end_key(x, end));
    on = kv_iter_seek(it, buf_slice(&x->from));
    while (on && !has_enough(x) && steps++ < BATCH_ROWS &&
           x->in_batch.bytes + x->noted < BATCH_BYTES)
        on = take_row(x, it);
    if (on) {
        buf_clear(&x->from);
        buf_put_slice(&x->from, kv_iter_key(it));
    }
    /* The iterator has stepped over a block that cannot be read. */
    st = kv_iter_close(&it, &why);
    x->damaged |= st != ST_OK;
    if (st != ST_OK && store_pass_over_damage(x->s, st, &why) != ST_OK)
        return error_set(e, st, "%s", why.text);
    st = ST_OK;
    if (x->keys.failed || x->from.failed)
        st = error_set(e, ST_BUSY, "no memory to drop rows");
    if (st == ST_OK)
        st = ask_weeks(x, e);
    if (st == ST_OK)
        drop_noted(x);
    *more = on && !has_enough(x);
    return st;
}

/* Week by week: late rows are few, or their weeks have many of them. */
static enum status
merge_late(struct dropping *x, struct error *e)
    REQUIRES(x->s->flush_lock, x->s->late_lock)
{
    for (size_t i = 0; i < x->rows_len; i++) {
        struct tsuid tsuid;
        struct error why;
        enum status st;

        if (x->rows[i].fate != ROW_IS_LATE)
            continue;
        tsuid = tsuid_of_row(x, &x->rows[i]);
        st = store_weeks_merge(x->s, tsuid_slice(&tsuid), x->rows[i].week,
                               &x->in_batch, &why);
        if (st != ST_OK && store_pass_over_damage(x->s, st, &why) == ST_OK)
            st = ST_OK; /* its late rows stay */
        if (st != ST_OK)
            return error_set(e, st, "%s", why.text);
    }
    return ST_OK;
}

static enum status
next_batch(struct dropping *x, bool *more, struct error *e)
{
    struct store_dropped *sum = &x->d->dropped;
    enum status st = ST_OK;

    *more = false;
    if (!x->d->dry_run && !store_has_room(x->s))
        return error_set(e, ST_BUSY, "the disk is full");
    kv_batch_clear(x->batch);
    kv_batch_set_bucket(x->batch, x->bucket);
    if (x->d->dry_run) {
        st = gather(x, more, e); /* no row is written again */
    } else {
        lock_take(&x->s->flush_lock);
        lock_take(&x->s->late_lock);
        if (store_bucket_state(x->s, x->bucket) == BUCKET_LOCAL) {
            st = gather(x, more, e);
            if (st == ST_OK)
                st = store_write_owned(x->s, x->batch, e);
            if (st == ST_OK)
                st = merge_late(x, e);
        }
        lock_drop(&x->s->late_lock);
        lock_drop(&x->s->flush_lock);
    }
    if (st == ST_OK) {
        sum->rows += x->in_batch.rows;
        sum->points += x->in_batch.points;
        sum->bytes += x->in_batch.bytes;
        sum->weeks += x->in_batch.weeks;
    }
    x->in_batch = (struct store_dropped){ 0 };
    return st;
}

static enum status
drop_bucket(struct dropping *x, struct error *e)
{
    uint8_t end[ROW_KEY_MAX];
    struct slice to = end_key(x, end), head;
    uint64_t bytes = x->d->dropped.bytes;
    enum status st = ST_OK;
    bool more = true;

    x->damaged = false;
    x->head_size = key_base_at(&x->s->layout);
    head = slice_of(end, x->head_size);
    buf_clear(&x->from);
    buf_put_slice(&x->from, head);
    while (st == ST_OK && more) {
        st = next_batch(x, &more, e);
        if (st != ST_OK || !more)
            break;
        (void)usleep(1000); /* others have the lock, and the disk */
        if (cancel_asked(x->d->cancel))
            st = error_set(e, ST_BUSY, "the dropping of rows was cancelled");
    }
    /* LevelDB keeps deleted rows until it has another reason to look there,
     * and steps over them whenever the metric's first row is looked for. It
     * takes no more writes after a compaction that met a damaged block. */
    if (!x->d->dry_run && !x->damaged &&
        x->d->dropped.bytes - bytes >= WORTH_COMPACTING)
        kv_compact(x->s->kv, head, to);
    return st;
}

static enum status
drop_table(struct dropping *x, uint8_t table, struct error *e)
{
    const struct store_drop *d = x->d;
    size_t buckets = x->s->layout.salt_buckets;
    uint32_t done;
    enum status st = ST_OK;

    x->table = table;
    for (x->bucket = 0; x->bucket < buckets && st == ST_OK && !has_enough(x);
         x->bucket++) {
        if (!d->foresees && store_bucket_state(x->s, x->bucket) != BUCKET_LOCAL)
            continue;
        x->end = table == TABLE_WEEKS ? week_base(x->before.hourly_s)
                                      : x->before.raw_s;
        if (table == TABLE_ROWS && x->before.hourly_s != x->before.raw_s &&
            !d->foresees) {
            /* Rows of weeks behind 'done' may have entries that do not count.
             */
            lock_take(&x->s->flush_lock);
            done = x->s->weeks[x->bucket].done;
            lock_drop(&x->s->flush_lock);
            if (done < x->end)
                x->end = done;
            if (x->end < x->before.hourly_s)
                x->end = x->before.hourly_s;
        }
        if (x->end > 0)
            st = drop_bucket(x, e);
    }
    return st;
}

enum status
store_drop_rows(struct store *s, struct store_drop *d, struct error *e)
{
    struct cut_times droppable = store_cuts_droppable(s, d->before.metric);
    struct dropping x = {
        .s = s,
        .d = d,
        .before = store_times_of_cut(s, &d->before),
        .entries_from = store_cut_times(s, d->before.metric).hourly_s,
        .batch = kv_batch_new(),
    };
    enum status st;

    OBJ_CHECK(s, STORE_MAGIC);
    INSIST(d->dry_run || !d->foresees);
    /* What was put before is in rows now; what comes from here on is checked by
     * the cuts as they are. */
    if (!d->dry_run)
        head_begin_epoch(s->head);
    if (!d->dry_run && x.before.raw_s > droppable.raw_s)
        x.before.raw_s = droppable.raw_s;
    if (!d->dry_run && x.before.hourly_s > droppable.hourly_s)
        x.before.hourly_s = droppable.hourly_s;
    x.rows = mem_new_array(BATCH_ROWS, sizeof *x.rows);
    buf_make_room(&x.from, ROW_KEY_MAX);
    st = drop_table(&x, TABLE_ROWS, e);
    if (st == ST_OK)
        st = drop_table(&x, TABLE_WEEKS, e);
    free(x.rows);
    row_values_fini(&x.entries);
    buf_fini(&x.keys);
    buf_fini(&x.from);
    kv_batch_free(&x.batch);
    return st;
}
