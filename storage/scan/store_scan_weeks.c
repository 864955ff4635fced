/* Weeks in the place of rows (storage/store/store_weeks_priv.h).  Of each week
 * that the range has days of, first the entries are read, and lent, then follow
 * as rows the series
 *
 *     that have open rows in those days,
 *     whose entries are stale or unfit,
 *     whose weeks the reader rejected.
 *
 * They are few, mostly, and sought one by one; where they are many, all rows
 * are read as without weeks, and the others' stepped over.
 *
 * Where entries outlive rows they are lent also from 'done' on, where a series
 * that has none may have rows: all rows are read there, but those of series
 * whose entries were lent.  To a final entry (store_weeks_priv.h) the hours
 * that came late are added before it is lent, those that the engine has and
 * those that the head has, as a pass of retention will add them.
 *
 * Entries are read after the head was copied and the engine's rows are: what
 * was flushed before that has made them stale, and what was not is in the head.
 *
 * Entries are derived from rows.  One that is damaged is unfit: its rows are
 * read.  Where the engine finds damage it passes over all keys of a block, and
 * nothing tells which: the scan fails with 'weeks_are_damaged', and who reads
 * does so again, by rows.  Such a scan ('rows_first') reads entries only where
 * rows may be dropped, each week with an iterator of its own, and tells when
 * some are lost. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "storage/scan/store_scan_priv.h"

#define DAYS_AT_LEAST 2 /* for less it is not worth a look */
#define FEW           8 /* one of so many series is sought */

struct scan_weeks {
    uint32_t from, to; /* days with from <= time < to are read by weeks */
    uint32_t done;     /* in weeks before it who has points has an entry */
    struct cut_times cut;
    uint32_t day, end; /* those of the week at hand */
    enum { BEFORE, ENTRIES, ROWS, BEHIND } state;
    struct key_walk keys;    /* of the week's entries */
    bool shares;             /* the iterator is closed with a later scan */
    bool is_done;            /* the week is before 'done' */
    bool is_final;           /* the entry that was lent last is */
    struct week week, late;  /* that was lent last; its late hours */
    struct row_blocks parts; /* of a late row */
    size_t entries;          /* of the week at hand, so far */
    /* Of the week at hand: 'in_head', series that have open rows in it, lent
     * from the head's copies; 'entry_used', of these, whose entry is lent all
     * the same, as it does not change any more; 'noted', in 'names', series
     * whose entries are not lent, or in a week that is not done, those whose
     * entries are.  Behind the entries, with those of the head: the series
     * whose rows are read, or with 'but_these' those whose rows are not. */
    struct slice *in_head;
    bool *entry_used;
    size_t in_head_len;
    struct arena *names; /* of all of these */
    struct slice *noted;
    size_t noted_len, noted_cap;
    bool walks_all; /* rows of other series are stepped over */
    bool but_these;
};

/* -- ranges ---------------------------------------------------------------- */

/* The days of which there are entries, from 'done' or the raw cut on backwards,
 * and not older than hourly values are kept. */
static bool
days_of(struct store *s, const struct scan_spec *spec, uint32_t done,
        uint32_t *from, uint32_t *to)
{
    const struct cut_times cut = store_cut_times_of(s, spec->metric);
    uint32_t alone = cut.hourly_s < cut.alone_s ? cut.alone_s : 0;
    uint32_t first =
        spec->from_base > cut.hourly_s ? spec->from_base : cut.hourly_s;
    uint64_t end = (uint64_t)spec->to_base + HOUR_S;

    if (done < alone || spec->rows_first)
        done = alone;
    if (end > done)
        end = done;
    if (end <= first)
        return false;
    /* Where there are no rows, parts of days are read by weeks, too. */
    *from = first < alone ? first - first % DAY_S
                          : first + (DAY_S - first % DAY_S) % DAY_S;
    if (end <= alone)
        end += (DAY_S - end % DAY_S) % DAY_S;
    *to = (uint32_t)(end / DAY_S * DAY_S);
    return *to > *from &&
           (*from < alone || *to - *from >= DAYS_AT_LEAST * DAY_S);
}

/* The iterator has come to its end, or another takes its place. */
static void
end_iterator(struct store_scan *scan)
{
    struct scan_weeks *w = scan->weeks;
    struct error why;
    enum status status = kv_iter_close(&w->keys.it, &why);
    bool is_damage = status == ST_CORRUPT || status == ST_IO;

    if (is_damage) {
        scan->counts.weeks_are_damaged = true;
        scan->counts.lacks_weeks |= scan->spec.rows_first;
        store_note_damage(scan->s, "the table of weeks", "queries read rows",
                          &why);
    }
    if (status != ST_OK && !(is_damage && scan->spec.rows_first) &&
        scan->error.status == ST_OK)
        scan->error = why;
}

static void
lack_memory(struct store_scan *scan)
{
    if (scan->error.status == ST_OK)
        (void)error_no_memory(&scan->error);
}

static void
begin_week(struct store_scan *scan, uint32_t day)
{
    struct scan_weeks *w = scan->weeks;
    uint32_t end = week_base(day) + WEEK_S, first = day;
    size_t len;

    if (scan->spec.rows_first) {
        end_iterator(scan);
        w->keys.it = kv_iter_open(store_kv(scan->s), KEY_TABLE(TABLE_WEEKS));
        kv_iter_deadline(w->keys.it, scan->spec.end_us);
        w->keys.on_key = w->keys.ended = false;
    }
    w->state = ENTRIES;
    w->day = day;
    w->end = end < w->to ? end : w->to;
    w->keys.from = w->keys.to = w->keys.seek_base = week_base(day);
    w->keys.seek_at = 0;
    w->keys.begun = w->walks_all = w->but_these = false;
    w->is_done = week_base(day) < w->done;
    w->entries = w->noted_len = w->noted_cap = 0;
    w->noted = NULL;
    arena_reset(w->names);
    /* The first hour of these days that is in the range and that entries count
     * for: before the cut of hourly values, in the middle of a day, rows do. */
    if (first < w->cut.hourly_s)
        first = w->cut.hourly_s;
    if (first < scan->spec.from_base)
        first = scan->spec.from_base;
    store_scan_stretch(scan, first,
                       w->end - HOUR_S < scan->spec.to_base
                           ? w->end - HOUR_S
                           : scan->spec.to_base);
    len = scan->head_end - scan->head_at;
    w->in_head = arena_array_raw(w->names, len, sizeof *w->in_head);
    w->entry_used = arena_array(w->names, len, sizeof *w->entry_used);
    w->in_head_len = 0;
    if (w->in_head == NULL || w->entry_used == NULL) {
        lack_memory(scan);
        return;
    }
    for (size_t i = 0; i < len; i++)
        w->in_head[i] = scan->head[scan->head_at + i].tsuid;
    w->in_head_len = slices_sort_unique(w->in_head, len);
}

/* Of a series of the head; NULL: it is none. */
static bool *
entry_used_flag(const struct scan_weeks *w, struct slice tsuid)
{
    const struct slice *found = slices_find(w->in_head, w->in_head_len, tsuid);

    return found == NULL ? NULL : &w->entry_used[found - w->in_head];
}

static void
note(struct store_scan *scan, struct slice tsuid)
{
    struct scan_weeks *w = scan->weeks;
    struct slice *noted = arena_grow(w->names, w->noted, w->noted_len,
                                     &w->noted_cap, sizeof *noted);

    if (noted == NULL) {
        lack_memory(scan);
        return;
    }
    w->noted = noted;
    w->noted[w->noted_len++] = tsuid;
}

/* The rows of what is not in entries. */
static void
begin_rows(struct store_scan *scan)
{
    struct scan_weeks *w = scan->weeks;
    const struct scan_spec *spec = &scan->spec;
    bool seeks = spec->path == SCAN_SEEKS;
    size_t to = scan->head_end, len;

    w->state = ROWS;
    for (size_t i = 0; w->is_done && i < w->in_head_len; i++)
        if (!w->entry_used[i])
            note(scan, w->in_head[i]);
    /* What came too late is taken out of the head's rows of the week. */
    for (size_t i = scan->head_end; i-- > scan->head_at;) {
        const bool *used = entry_used_flag(w, scan->head[i].tsuid);

        if (used == NULL || !*used)
            scan->head[--to] = scan->head[i];
    }
    scan->head_at = to;
    len = w->noted_len = slices_sort_unique(w->noted, w->noted_len);
    if (!w->is_done && seeks) { /* instead the series that are not noted */
        const struct slice *noted = w->noted;

        w->noted = NULL;
        w->noted_len = w->noted_cap = 0;
        for (size_t i = 0; i < spec->series_len; i++)
            if (slices_find(noted, len, spec->series[i]) == NULL)
                note(scan, spec->series[i]);
    }
    w->but_these = !w->is_done && !seeks;
    w->walks_all = w->but_these || (!seeks && w->noted_len * FEW > w->entries);
    scan->rows.path = w->walks_all ? spec->path : SCAN_SEEKS;
    scan->rows.series = w->noted;
    scan->rows.series_len = w->noted_len;
}

bool
store_scan_takes(const struct store_scan *scan, struct slice row)
{
    const struct scan_weeks *w = scan->weeks;
    struct tsuid tsuid;
    uint32_t base;

    /* What is damaged is found out behind this. */
    return w->state != ROWS || !w->walks_all ||
           key_row_parse(scan->layout, row, &base, &tsuid, NULL) != ST_OK ||
           (slices_find(w->noted, w->noted_len, tsuid_slice(&tsuid)) == NULL) ==
               w->but_these;
}

bool
store_scan_next_stretch(struct store_scan *scan)
{
    struct scan_weeks *w = scan->weeks;

    if (w->state == BEHIND)
        return false;
    if (w->state == BEFORE || w->end < w->to) {
        begin_week(scan, w->state == BEFORE ? w->from : w->end);
        return true;
    }
    w->state = BEHIND;
    scan->rows.path = scan->spec.path;
    scan->rows.series = scan->spec.series;
    scan->rows.series_len = scan->spec.series_len;
    if (w->to > scan->spec.to_base)
        return false;
    store_scan_stretch(scan, w->to, scan->spec.to_base);
    return true;
}

enum status
store_scans_begin_weeks(struct store *s, struct store_scan **scans, size_t len,
                        struct error *e)
{
    const struct scan_spec *first = len > 0 ? &scans[0]->spec : NULL;
    unsigned *buckets = mem_new_array(len, sizeof *buckets);
    uint32_t *done = mem_new_array(len, sizeof *done);
    struct scan_weeks *last = NULL;
    struct kv_iter *it = NULL;
    enum status status = ST_OK;
    uint32_t from, to;

    for (size_t i = 0; i < len; i++)
        buckets[i] = scans[i]->spec.bucket;
    if (first != NULL && first->want.weeks &&
        days_of(s, first, UINT32_MAX, &from, &to))
        status = store_weeks_done(s, buckets, len, done, e);
    for (size_t i = 0; i < len && status == ST_OK; i++) {
        const struct scan_spec *spec = &scans[i]->spec;
        const struct cut_times cut = store_cut_times_of(s, spec->metric);
        bool cuts = cut.hourly_s < cut.alone_s &&
                    spec->from_base < cut.alone_s &&
                    spec->to_base >= cut.hourly_s;
        struct scan_weeks *w;
        uint32_t rows_end;

        if (!spec->want.weeks || !days_of(s, spec, done[i], &from, &to)) {
            scans[i]->counts.lacks_rows = cuts;
            continue;
        }
        rows_end = from;
        if (it == NULL && !spec->rows_first) {
            it = kv_iter_open(store_kv(s), KEY_TABLE(TABLE_WEEKS));
            kv_iter_deadline(it, first->end_us);
        }
        w = last = scans[i]->weeks = mem_new(sizeof *w);
        *w = (struct scan_weeks){
            .from = from,
            .to = to,
            .done = spec->rows_first ? 0 : done[i],
            .cut = cut,
            .keys = { .it = spec->rows_first ? NULL : it,
                      .table = TABLE_WEEKS,
                      .path = spec->path,
                      .series = spec->series,
                      .series_len = spec->series_len },
            .shares = !spec->rows_first,
            .names = arena_new_within(0, spec->budget),
        };
        memcpy(w->keys.end, scans[i]->begin, scans[i]->end_size);
        w->keys.end[0] = TABLE_WEEKS;
        key_put_uint(w->keys.end + scans[i]->end_size - 4,
                     week_base(to - DAY_S) + 1u, 4);
        /* Rows end where entries begin: see begin_week(). */
        if (from < cut.hourly_s)
            rows_end = cut.hourly_s;
        if (rows_end > spec->from_base)
            store_scan_stretch(scans[i], spec->from_base, rows_end - HOUR_S);
        else
            begin_week(scans[i], from);
    }
    if (last != NULL)
        last->shares = false;
    free(buckets);
    free(done);
    return status;
}

void
store_scan_end_weeks(struct store_scan *scan)
{
    struct scan_weeks *w = scan->weeks;

    if (w == NULL)
        return;
    if (!w->shares)
        end_iterator(scan);
    arena_free(&w->names);
    row_blocks_fini(&w->parts);
    free(w);
    scan->weeks = NULL;
}

/* -- entries --------------------------------------------------------------- */

static void
note_entry(struct store_scan *scan, struct slice tsuid)
{
    if (arena_keep(scan->weeks->names, &tsuid))
        note(scan, tsuid);
    else
        lack_memory(scan);
}

static struct slice
tsuid_of_entry(struct store_scan *scan)
{
    struct slice key = kv_iter_key(scan->weeks->keys.it);
    size_t tags_at = scan->end_size, metric = scan->layout->metric_width;
    size_t tags = key.size - tags_at;

    memcpy(scan->engine_tsuid.bytes, key.data + tags_at - 4 - metric, metric);
    memcpy(scan->engine_tsuid.bytes + metric, key.data + tags_at, tags);
    return slice_of(scan->engine_tsuid.bytes, metric + tags);
}

/* The stretch's copies of the head's rows of a series and hour. */
static const struct open_copy *
copies_of_hour(const struct store_scan *scan, struct slice tsuid, uint32_t base,
               size_t *len)
{
    uint32_t span = key_span_base(scan->layout, base);
    size_t from = scan->head_at, to = scan->head_end;

    /* They are in order of spans, series and hours. */
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const struct open_copy *c = &scan->head[middle];
        int order = slice_cmp(c->tsuid, tsuid);

        if (c->span != span ? c->span < span
            : order != 0    ? order < 0
                            : c->base < base)
            from = middle + 1;
        else
            to = middle;
    }
    for (*len = 0; from + *len < scan->head_end &&
                   scan->head[from + *len].base == base &&
                   slice_eq(scan->head[from + *len].tsuid, tsuid);)
        ++*len;
    return scan->head + from;
}

/* Adds an hour of the late row whose blocks are in 'parts'. */
static enum status
add_late_hour(struct store_scan *scan, struct slice tsuid, uint32_t base,
              struct error *e)
{
    struct scan_weeks *w = scan->weeks;
    struct store_row row = {
        .tsuid = tsuid,
        .base = base,
        .block = w->parts.blocks[row_hour_of(scan->layout, base)],
    };
    enum status status;

    row.open = copies_of_hour(scan, tsuid, base, &row.open_len);
    if ((row.block.size == 0 && row.open_len == 0) ||
        w->week.count[(base - w->week.base) / HOUR_S] > 0)
        return ST_OK;
    if (row_hour_is_elsewhere(row.block)) {
        const struct row_of_parts parts = { store_kv(scan->s), scan->layout,
                                            tsuid,
                                            key_span_base(scan->layout, base) };

        status = row_part_read(&parts, base, &scan->part_value, &row.block, e);
        if (status != ST_OK || (row.block.size == 0 && row.open_len == 0))
            return status;
    }
    points_clear(&scan->scratch);
    status = store_row_points(&row, &scan->scratch, e);
    return status == ST_OK ? week_add_points(&w->late, &scan->scratch, e)
                           : status;
}

/* Adds the hours of the range that came late to the entry, which was read as a
 * whole.  What cannot be added, because it is damaged or makes sums inexact, is
 * left out: it is in the rows, which stay. */
static void
add_late(struct store_scan *scan, struct slice tsuid)
{
    struct scan_weeks *w = scan->weeks;
    const struct key_layout *layout = scan->layout;
    struct kv_iter *it = scan->rows.it;
    uint32_t end = scan->to_base - scan->to_base % HOUR_S;
    uint8_t bytes[ROW_KEY_MAX];
    bool in_engine = w->week.rows == WEEK_ROWS_LATE;
    struct week entry;

    week_init(&w->late, w->week.base);
    kv_iter_bound(it, slice_of(scan->rows.end, scan->end_size));
    memset(w->parts.blocks, 0, sizeof w->parts.blocks);
    for (uint32_t base = scan->from_base; base <= end; base += HOUR_S) {
        bool first =
            base == scan->from_base || base == key_span_base(layout, base);
        enum status status = ST_OK;

        if (in_engine && first) { /* the row of the span, if there is one */
            uint32_t span = key_span_base(layout, base);
            struct slice key =
                slice_of(bytes, key_row(layout, tsuid, span, bytes));

            memset(w->parts.blocks, 0, sizeof w->parts.blocks);
            scan->counts.seeks++;
            if (kv_iter_seek(it, key) && slice_eq(kv_iter_key(it), key)) {
                scan->counts.keys++;
                scan->counts.bytes += key.size + kv_iter_value(it).size;
                status = row_blocks_of(layout, span, kv_iter_value(it),
                                       &w->parts, NULL);
            }
        }
        if (status == ST_OK)
            status = add_late_hour(scan, tsuid, base, NULL);
        if (status != ST_OK && status != ST_CORRUPT) {
            (void)error_set(&scan->error, status,
                            "late rows of a week cannot be read");
            return;
        }
    }
    entry = w->week;
    if (!week_merge(&w->week, &w->late))
        w->week = entry;
}

static void
note_damaged_entry(struct store_scan *scan, struct slice tsuid,
                   const struct error *why)
{
    struct error named = *why;

    (void)key_row_error(tsuid, week_base(scan->weeks->day), why->status,
                        &named);
    scan->counts.lacks_weeks |=
        cut_times_are_alone_in(&scan->weeks->cut, week_base(scan->weeks->day));
    store_note_damage(scan->s, "the hourly values of a week",
                      "queries read its rows", &named);
}

/* Can the entry be read in the place of rows? */
static bool
reads_entry(struct store_scan *scan, struct slice tsuid)
{
    struct scan_weeks *w = scan->weeks;
    struct slice value = kv_iter_value(w->keys.it);
    uint32_t from = scan->spec.from_base > w->cut.hourly_s
                        ? scan->spec.from_base
                        : w->cut.hourly_s;
    uint64_t range_end = (uint64_t)scan->spec.to_base + HOUR_S;
    bool is_part = w->day < from || w->end > range_end;
    /* The range may begin and end within an hour. */
    bool is_edge = cut_times_are_alone_in(&w->cut, week_base(w->day)) &&
                   (w->day <= from || w->end >= range_end);
    bool *entry_used = entry_used_flag(w, tsuid);
    struct error why;
    enum status status;

    scan->counts.bytes += kv_iter_key(w->keys.it).size + value.size;
    w->is_final = false;
    if (value.size == 0)
        return false;
    status = week_decode(value, week_base(w->day),
                         is_part || is_edge || entry_used != NULL ||
                                 week_is_late(value)
                             ? HOURS_ALL
                             : scan->spec.want.hours,
                         &w->week, &why);
    if (status != ST_OK)
        note_damaged_entry(scan, tsuid, &why);
    if (status != ST_OK || w->week.unfit)
        return false;
    w->is_final = week_is_final(&w->week);
    if (!w->is_final && (entry_used != NULL || !w->is_done))
        return false;
    if (w->is_final && (entry_used != NULL || w->week.rows == WEEK_ROWS_LATE))
        add_late(scan, tsuid);
    if (is_part)
        week_crop(&w->week, (int64_t)from * 1000, (int64_t)range_end * 1000);
    if (entry_used != NULL)
        *entry_used = true;
    return true;
}

bool
store_scan_next_week(struct store_scan *scan, struct store_row *row)
{
    struct scan_weeks *w = scan->weeks;
    uint32_t base = week_base(w->day);

    if (w->state != ENTRIES)
        return false;
    while (scan->error.status == ST_OK && store_scan_walk(scan, &w->keys)) {
        bool reads, has_points = false;

        *row = (struct store_row){
            .tsuid = tsuid_of_entry(scan),
            .base = base,
            .week = &w->week,
            .day = (w->day - base) / DAY_S,
            .day_end = (w->end - base) / DAY_S,
        };
        w->entries++;
        reads = reads_entry(scan, row->tsuid);
        row->is_only_source = w->is_final;
        if (reads != w->is_done)
            note_entry(scan, row->tsuid);
        for (unsigned i = row->day; i < row->day_end && reads; i++)
            has_points |= w->week.day[i].count > 0;
        if (has_points) {
            scan->counts.rows++;
            scan->counts.weeks++;
            return true;
        }
    }
    if (scan->error.status == ST_OK)
        begin_rows(scan);
    return false;
}

void
store_scan_reject(struct store_scan *scan)
{
    struct scan_weeks *w;
    bool *entry_used;

    OBJ_CHECK(scan, SCAN_MAGIC);
    w = scan->weeks;
    INSIST(w != NULL && w->state == ENTRIES);
    scan->counts.rows--;
    scan->counts.weeks--;
    scan->counts.lacks_rows |= w->is_final;
    entry_used = entry_used_flag(w, tsuid_of_entry(scan));
    if (entry_used != NULL)
        *entry_used = false;
    if (w->is_done)
        note_entry(scan, tsuid_of_entry(scan));
    else if (w->noted_len > 0) /* 0: there was no memory to note it */
        w->noted_len--;        /* it was lent */
}

void
store_scan_lacks_rows(struct store_scan *scan)
{
    OBJ_CHECK(scan, SCAN_MAGIC);
    scan->counts.lacks_rows = true;
}
