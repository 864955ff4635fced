/* Weeks: each is summed up again from its rows, and each series that has rows
 * of a week which is said to be summarised has an entry.  What is wrong is
 * made stale, so that queries read the rows and the store corrects it. */
#include "uid/fsck/uid_fsck_priv.h"

#include "storage/week/week.h"

/* Of one salt bucket. */
struct bucket_weeks {
    unsigned bucket;
    uint32_t done;
    struct buf state; /* of the entry before all others */
    struct buf value;
    bool changed;
    struct week week;
};

static void
make_stale(struct tables *t, struct bucket_weeks *b, struct slice key,
           uint32_t base)
{
    check_puts(t, key, slice_of(NULL, 0));
    for (size_t i = 4; i + 4 <= b->state.size; i += 4)
        if (key_get_uint(b->state.data + i, 4) == base)
            return;
    buf_make_room(&b->state, 4);
    buf_put_u32(&b->state, base);
    b->changed = true;
}

static enum status
sum_up(struct tables *t, struct bucket_weeks *b, struct slice tsuid,
       uint32_t base, struct error *e)
{
    enum status st = ST_OK;
    uint8_t key[ROW_KEY_MAX];

    week_init(&b->week, base);
    for (uint32_t span = base; span - base < WEEK_S && st == ST_OK;
         span += key_span_s(t->layout)) {
        st = kv_get(t->kv, slice_of(key, key_row(t->layout, tsuid, span, key)),
                    &b->value, e);
        if (st == ST_OK)
            st = week_add_row(&b->week, t->layout, span, buf_slice(&b->value),
                              &t->points, e);
        else if (st == ST_NOT_FOUND)
            st = ST_OK;
    }
    return st;
}

/* An entry that is not stale says what its rows do. */
static enum status
check_entry(struct tables *t, struct bucket_weeks *b, struct slice key,
            struct slice value, struct error *e)
{
    struct tsuid tsuid;
    char name[CHECK_TEXT_MAX];
    struct slice series;
    struct buf again = BUF_INIT;
    struct error why;
    uint32_t base;
    enum status st;
    bool same;

    t->n.weeks++;
    if (key_week_parse(t->layout, key, &base, &tsuid, &why) != ST_OK)
        return check_drops_bad(t, "week-key", key, value, "%s", why.text);
    series = tsuid_slice(&tsuid);
    if (check_drops_orphan(t, key, value, series) || value.size == 0)
        return ST_OK;
    if (check_is_expired(t, series, base))
        return week_decode(value, base, HOURS_NONE, &b->week, &why) == ST_OK
                   ? ST_OK
                   : check_drops_bad(t, "week-entry", key, value, "%s",
                                     why.text);
    if (base >= b->done)
        return ST_OK;
    st = sum_up(t, b, series, base, e);
    if (st != ST_OK)
        return st;
    /* Without its rows it may be all that is left, if the cut is lost. */
    if (week_is_empty(&b->week))
        return check_found(t->c, "week-alone", key, NULL,
                           "%s: of the week at %u there are no rows",
                           check_describe(t, series, name), (unsigned)base);
    week_encode(&b->week, &again);
    if (again.failed) /* no damage */
        st = error_set(e, ST_LIMIT, "no memory for a week");
    same = slice_eq(buf_slice(&again), value);
    buf_fini(&again);
    if (st != ST_OK || same)
        return st;
    make_stale(t, b, key, base);
    return check_found(t->c, "week", key, "summed up anew",
                       "%s: the week at %u is not what its rows say",
                       check_describe(t, series, name), (unsigned)base);
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
    return kv_iter_end(&it, st, e);
}

/* A row's week has an entry, if only a stale one. */
static enum status
check_has_entry(struct tables *t, struct bucket_weeks *b, struct slice row,
                struct error *e)
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
    st = kv_get(t->kv, key, &b->value, e);
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
    enum status st = ST_OK;

    for (bool on_key = kv_iter_seek(it, start); on_key && st == ST_OK;
         on_key = kv_iter_next(it))
        st = check_has_entry(t, b, kv_iter_key(it), e);
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

    b->done = 0;
    b->changed = false;
    if (st == ST_OK) {
        st = store_weeks_state(buf_slice(&b->state), &b->done, &why);
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
    struct bucket_weeks b = { .state = BUF_INIT };
    enum status st = ST_OK;

    for (unsigned i = 0; i < t->layout->salt_buckets && st == ST_OK; i++) {
        b.bucket = i;
        st = check_bucket(t, &b, e);
    }
    buf_fini(&b.state);
    buf_fini(&b.value);
    return st;
}
