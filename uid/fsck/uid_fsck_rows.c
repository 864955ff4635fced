/* Rows and histograms: what belongs to a series and a time. */
#include "uid/fsck/uid_fsck_priv.h"

#include "storage/histogram/histogram.h"
#include "storage/block/block.h"
#include "storage/block/row_parts.h"
#include "storage/week/week.h"
#include "storage/store/store_retention.h"
#include "uid/meta/annotation.h"

/* A row or a histogram. */
struct timed_entry {
    struct slice key, value, tsuid;
    uint32_t base; /* s; of a histogram, its time */
};

/* Enters the series of 'x' into the directory if it is not there: no query
 * finds it.  '*known' is false if it cannot be entered. */
static enum status
find_series(struct tables *t, const char *code, const struct timed_entry *x,
            bool *known, struct error *e)
{
    char what[64], name[CHECK_TEXT_MAX];
    enum status st = check_has_series(t, x->tsuid, known, e);

    if (st != ST_OK || *known)
        return st;
    if (!check_ids(t, x->tsuid, what))
        return check_drops_bad(t, code, x->key, x->value, "%s: %s",
                               check_describe(t, x->tsuid, name), what);
    *known = true;
    check_enter_series(t, x->tsuid, x->base);
    return check_found(t->c, code, x->key, "entered",
                       "the series %s is not in the directory",
                       check_describe(t, x->tsuid, name));
}

/* Does the block decode, and is its block summary that of its points? */
static enum status
check_block(struct tables *t, struct slice block, uint32_t base,
            struct error *e)
{
    struct summary s, own;
    enum status st = block_summary(block, base, &s, e);

    points_clear(&t->points);
    if (st == ST_OK)
        st = block_decode(block, base, &t->points, e);
    if (st != ST_OK)
        return st;
    t->n.points += t->points.len;
    own = points_summary(&t->points);
    return own.count == s.count && own.first_ms == s.first_ms &&
                   own.last_ms == s.last_ms && own.all_int == s.all_int &&
                   own.sum.i == s.sum.i && own.min.i == s.min.i &&
                   own.max.i == s.max.i && own.first.i == s.first.i &&
                   own.last.i == s.last.i
               ? ST_OK
               : error_set(
                     e, ST_CORRUPT,
                     "a block whose block summary is not that of its points");
}

/* A row under the wrong salt is never found; it may take its place if that is
 * free. */
static bool
move_row(struct tables *t, struct slice key, struct slice value)
{
    const struct key_layout *w = t->layout;
    uint8_t right[ROW_KEY_MAX];
    struct tsuid tsuid;
    struct slice moved;
    struct buf there = BUF_INIT;
    uint32_t base;
    bool good = false;

    if (w->salt_width == 0 || key.size < 2 || key.size > sizeof right)
        return false;
    memcpy(right, key.data, key.size);
    moved = slice_of(right, key.size);
    for (unsigned i = 0; i < w->salt_buckets && !good; i++) {
        right[1] = (uint8_t)i;
        good = key_row_parse(w, moved, &base, &tsuid, NULL) == ST_OK;
    }
    good = good && kv_get(t->kv, moved, &there, NULL) == ST_NOT_FOUND;
    buf_fini(&there);
    if (!good)
        return false;
    check_drops(t, key, value);
    check_puts(t, moved, value);
    check_found(t->c, "row-salt", key, "moved there",
                "a row in salt bucket %u that belongs in %u", key.data[1],
                right[1]);
    return true;
}

/* Looks at each block; takes the hours of those that are bad out of 'good' and
 * says of the last one why. */
static enum status
check_hours(struct tables *t, const struct timed_entry *x,
            struct row_blocks *good, bool *bad, struct error *why)
{
    *bad = false;
    if (row_is_one_block(t->layout, x->value)) {
        enum status st = check_block(t, x->value, x->base, why);

        *bad = st == ST_CORRUPT;
        if (*bad)
            memset(good->blocks, 0, sizeof good->blocks);
        return *bad ? ST_OK : st;
    }
    for (unsigned i = 0; i < t->layout->row_hours; i++) {
        uint32_t hour = x->base + i * HOUR_S;
        enum status st;

        /* Alone in its row an hour has a block, if it is no good one. */
        if (good->blocks[i].size == 0 && t->layout->row_hours > 1)
            continue;
        if (row_hour_is_elsewhere(good->blocks[i])) {
            /* The part itself is checked where the walk meets it. */
            const struct row_of_parts row = { t->kv, t->layout, x->tsuid,
                                              x->base };
            struct buf value = BUF_INIT;
            struct slice block;

            st = row_part_read(&row, hour, &value, &block, why);
            buf_fini(&value);
        } else {
            st = check_block(t, good->blocks[i], hour, why);
        }
        if (st != ST_OK && st != ST_CORRUPT)
            return st;
        if (st == ST_OK)
            continue;
        *bad = true;
        good->blocks[i].size = 0;
        (void)error_wrap(why, st, "the hour at %u", hour);
    }
    return ST_OK;
}

/* The whole row is moved aside; what is good of it stays. */
static void
drop_hours(struct tables *t, const struct timed_entry *x,
           const struct row_blocks *good, const struct error *why)
{
    char name[CHECK_TEXT_MAX];
    struct buf rest = BUF_INIT;

    check_drops_bad(t, "row-block", x->key, x->value, "%s: %s",
                    check_describe(t, x->tsuid, name), why->text);
    row_value_put(t->layout, x->base, good, &rest);
    if (rest.size > 0)
        check_puts(t, x->key, buf_slice(&rest));
    buf_fini(&rest);
}

/* Late points that the next pass of retention drops: nothing is wrong. */
bool
check_is_expired(struct tables *t, struct slice tsuid, uint32_t base)
{
    uint64_t metric = tsuid_metric_id(t->layout, tsuid);

    return tsuid_tags_begin_at(t->layout, tsuid, 1) &&
           (int64_t)base * 1000 < store_cut_ms(t->store, metric);
}

/* The next pass of retention drops the row, if a policy still says so: where
 * hours are kept for longer, its week must have them. */
static enum status
count_expired(struct tables *t, struct slice tsuid, uint32_t base,
              struct error *e)
{
    uint64_t metric = tsuid_metric_id(t->layout, tsuid);
    struct buf entry = BUF_INIT;
    uint8_t key[ROW_KEY_MAX];
    enum status st = ST_OK;

    if (!check_is_expired(t, tsuid, base))
        return ST_OK;
    if ((int64_t)base * 1000 < store_hourly_cut_ms(t->store, metric)) {
        t->expired++;
        return ST_OK;
    }
    st = kv_get(t->kv, slice_of(key, key_week(t->layout, tsuid, base, key)),
                &entry, e);
    if (st == ST_OK)
        t->expired += week_answers(buf_slice(&entry), week_base(base));
    buf_fini(&entry);
    return st == ST_NOT_FOUND ? ST_OK : st;
}

/* Does its row refer to the part?  A row that is damaged is reported itself. */
static bool
is_unused_part(struct tables *t, struct slice tsuid, uint32_t base)
{
    const struct row_of_parts row = { t->kv, t->layout, tsuid,
                                      key_span_base(t->layout, base) };
    bool used;

    return base != row.span &&
           row_part_is_used(&row, base, &used, NULL) == ST_OK && !used;
}

enum status
check_row(struct tables *t, struct slice key, struct slice value,
          struct error *e)
{
    struct timed_entry x = { key, value, { NULL, 0 }, 0 };
    struct tsuid series;
    struct row_blocks parts = { .blocks = { { NULL, 0 } } };
    struct error why;
    bool known, bad = true;
    enum status st;

    t->n.rows++;
    if (key_row_parse(t->layout, key, &x.base, &series, &why) != ST_OK) {
        if (!move_row(t, key, value))
            check_drops_bad(t, "row-key", key, value, "%s", why.text);
        return ST_OK;
    }
    x.tsuid = tsuid_slice(&series);
    if (check_orphan(t, "row-orphan", key, value, x.tsuid))
        return ST_OK;
    if (is_unused_part(t, x.tsuid, x.base))
        return check_drops_bad(t, "row-part", key, value,
                               "the part of a row that does not refer to it");
    st = find_series(t, "row-series", &x, &known, e);
    if (st != ST_OK || !known)
        return st;
    st = count_expired(t, x.tsuid, x.base, e);
    if (st != ST_OK)
        return st;
    st = row_blocks_of(t->layout, x.base, value, &parts, &why);
    if (st == ST_OK)
        st = check_hours(t, &x, &parts, &bad, &why);
    if (bad && (st == ST_OK || st == ST_CORRUPT))
        drop_hours(t, &x, &parts, &why);
    row_blocks_fini(&parts);
    return st == ST_OK || st == ST_CORRUPT ? ST_OK
                                           : error_set(e, st, "%s", why.text);
}

enum status
check_histogram(struct tables *t, struct slice key, struct slice value,
                struct error *e)
{
    struct slice tsuid;
    struct histogram h;
    struct error why;
    char name[CHECK_TEXT_MAX];
    int64_t ms;
    bool known;
    enum status st = annotation_key_parse(key, &tsuid, &ms, NULL);

    t->n.histograms++;
    /* Keys of histograms are made as those of annotations. */
    if (st != ST_OK || tsuid.size == 0 || tsuid.size > TSUID_MAX ||
        !tsuid_is_valid(t->layout, tsuid))
        return check_drops_bad(t, "histogram-key", key, value,
                               "%zu bytes are no key of a histogram", key.size);
    if (check_orphan(t, "histogram-orphan", key, value, tsuid))
        return ST_OK;
    st = find_series(
        t, "histogram-series",
        &(struct timed_entry){ key, value, tsuid, (uint32_t)(ms / 1000) },
        &known, e);
    if (st != ST_OK || !known)
        return st;
    st = value.size == 0
             ? error_set(&why, ST_CORRUPT, "no bytes")
             : histogram_decode(slice_of(value.data + 1, value.size - 1),
                                t->arena, &h, &why);
    if (st == ST_CORRUPT)
        (void)error_wrap(&why, st, "%s at %lld ms",
                         check_describe(t, tsuid, name), (long long)ms);
    return st == ST_OK
               ? ST_OK
               : check_undecoded(t, "histogram-entry", key, value, &why, e);
}
