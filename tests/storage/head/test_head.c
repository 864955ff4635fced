/* The head's rows: whatever is made, made immutable and dropped, in any order,
 * the newest of each hour is found, and takes points unless it is immutable. */
#include "storage/head/head_priv.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tests/harness.h"

#define SERIES_LEN 6
#define ROWS_MAX   400

/* What should be there, in the order of its making. */
struct model {
    struct head_row *rows[ROWS_MAX];
    size_t len;
};

struct rig {
    struct key_layout layout;
    struct head *head;
    struct head_bucket *b;
    struct head_series *series[SERIES_LEN];
    struct model models[SERIES_LEN];
    uint64_t random;
};

static unsigned
pick(struct rig *r, unsigned n)
{
    return (unsigned)(harness_random(&r->random) % n);
}

NO_TS_CHECK static void
rig_open(struct rig *r)
{
    uint8_t tsuid[9] = { 0, 0, 1, 0, 0, 1, 0, 0, 0 };

    *r = (struct rig){ .layout = { .salt_width = 0,
                                   .salt_buckets = 1,
                                   .metric_width = 3,
                                   .tagk_width = 3,
                                   .tagv_width = 3 } };
    r->head = head_new(&r->layout);
    r->b = &r->head->buckets[0];
    for (unsigned i = 0; i < SERIES_LEN; i++) {
        tsuid[8] = (uint8_t)(i + 1);
        (void)head_series(r->head, slice_of(tsuid, sizeof tsuid), true, 1);
        r->series[i] = head_find(r->head, r->b, slice_of(tsuid, sizeof tsuid));
    }
}

/* The newest of its hour that was made before rows[to]. */
static struct head_row *
newest(const struct model *m, size_t to, uint32_t base)
{
    while (to-- > 0)
        if (m->rows[to]->open.base == base)
            return m->rows[to];
    return NULL;
}

NO_TS_CHECK static void
append(struct rig *r, unsigned i, uint32_t base, bool looked_up)
{
    struct head_series *s = r->series[i];
    struct model *m = &r->models[i];
    struct head_row *was = newest(m, m->len, base);
    uint32_t count = was == NULL ? 0 : was->open.count;
    struct point p = { .ts_ms =
                           (int64_t)base * 1000 + pick(r, (unsigned)HOUR_MS) };

    ck_assert(head_append(
        r->head, r->b, s,
        looked_up ? head_newest_row(r->head, r->b, s, base) : NULL, p, 1, 1));
    if (was == NULL || was->immutable) {
        ck_assert_ptr_ne(s->rows, was);
        ck_assert_uint_eq(s->rows->open.base, base);
        ck_assert_uint_eq(s->rows->open.count, 1);
        m->rows[m->len++] = s->rows;
    } else {
        ck_assert_uint_eq(was->open.count, count + 1);
    }
}

NO_TS_CHECK static void
drop(struct rig *r, struct model *m, size_t at)
{
    head_drop_row(r->head, r->b, m->rows[at]);
    m->len--;
    memmove(m->rows + at, m->rows + at + 1, (m->len - at) * sizeof m->rows[0]);
}

NO_TS_CHECK static void
check(const struct rig *r, uint32_t hours)
{
    size_t rows = 0;

    for (unsigned i = 0; i < SERIES_LEN; i++) {
        const struct model *m = &r->models[i];
        const struct head_row *at = r->series[i]->rows;

        for (uint32_t h = 0; h < hours; h++) {
            const struct head_row *want = newest(m, m->len, h * HOUR_S);

            ck_assert_ptr_eq(
                head_newest_row(r->head, r->b, r->series[i], h * HOUR_S), want);
        }
        for (size_t k = m->len; k-- > 0; at = at->next) {
            ck_assert_ptr_eq(at, m->rows[k]);
            ck_assert_ptr_eq(head_predecessor(at), newest(m, k, at->open.base));
        }
        ck_assert_ptr_null(at);
        rows += m->len;
    }
    ck_assert_uint_eq(r->head->rows, rows);
}

/* Of few hours, so that they come again, and of many. */
static const struct {
    uint32_t hours;
    int marks, drops; /* of a hundred steps */
} cases[] = {
    { 1, 20, 20 }, { 3, 10, 30 }, { 24, 5, 20 }, { 500, 0, 30 }, { 500, 2, 60 },
};

START_TEST(rows_are_found)
{
    uint32_t hours = cases[_i].hours;
    struct rig r;

    rig_open(&r);
    r.random = harness_seed((unsigned long)_i);
    for (int step = 0; step < 1000; step++) {
        unsigned i = pick(&r, SERIES_LEN);
        struct model *m = &r.models[i];
        size_t at = m->len == 0 ? 0 : pick(&r, (unsigned)m->len);
        int what = (int)pick(&r, 100);

        if (m->len > 0 && what < cases[_i].marks) {
            m->rows[at]->immutable = !m->rows[at]->immutable;
        } else if (m->len > 0 && what < cases[_i].marks + cases[_i].drops) {
            drop(&r, m, pick(&r, 2) == 0 ? 0 : at);
        } else if (m->len < ROWS_MAX) {
            append(&r, i, pick(&r, hours) * HOUR_S, pick(&r, 2) == 0);
        }
        if (step % 20 == 0)
            check(&r, hours);
    }
    for (unsigned i = 0; i < SERIES_LEN; i++)
        while (r.models[i].len > 0)
            drop(&r, &r.models[i], 0);
    check(&r, hours);
    ck_assert_uint_eq(r.head->bytes, 0);
    ck_assert_ptr_null(r.b->index);
    head_free(&r.head);
}
END_TEST

/* -- puts ------------------------------------------------------------------ */

struct log {
    size_t calls, len;
    uint32_t ids[8]; /* 0: not taken */
    enum status answer;
};

/* Numbers series from 1 on, each when it first comes. */
static enum status
log_put(void *ctx, const struct head_put *p, struct head_log_id *const *ids,
        struct error *e)
{
    struct log *log = ctx;

    log->calls++;
    for (size_t i = 0; i < p->len; i++) {
        if (ids[i] != NULL && ids[i]->id == 0)
            ids[i]->id = head_log_tsuid(ids[i]).data[8];
        log->ids[log->len++] = ids[i] == NULL ? 0 : ids[i]->id;
    }
    return log->answer == ST_OK ? ST_OK
                                : error_set(e, log->answer, "not logged");
}

static enum status
put(struct rig *r, struct log *log, struct series_point *points, size_t len,
    size_t *taken, struct error *e)
{
    static const uint16_t order[] = { 3, 0, 1, 2 };
    struct head_put p = { .points = points,
                          .order = order,
                          .len = len,
                          .segment = 7,
                          .now_s = 1,
                          .log = log == NULL ? NULL : log_put,
                          .ctx = log };

    return head_put(r->head, &p, taken, e);
}

START_TEST(a_put_logs_what_it_took)
{
    struct log log = { .answer = ST_OK };
    struct series_point points[4];
    struct error e = { 0 };
    struct rig r;
    size_t taken;

    rig_open(&r);
    for (unsigned i = 0; i < 4; i++) {
        uint8_t tsuid[9] = { 0, 0, 1, 0, 0, 1, 0, 0, (uint8_t)(i / 2 + 1) };

        points[i] = (struct series_point){
            head_series(r.head, slice_of(tsuid, sizeof tsuid), false, 1),
            { .ts_ms = 1000 + i },
            ST_CORRUPT,
        };
    }
    points[0].series += UINT64_C(1) << 32; /* of another generation */
    points[1].point.ts_ms = -1;
    ck_assert_int_eq(put(&r, &log, points, 4, &taken, &e), ST_NOT_FOUND);
    ck_assert_str_eq(e.text, "the series was forgotten");
    ck_assert_uint_eq(taken, 2);
    ck_assert_int_eq(points[0].status, ST_NOT_FOUND);
    ck_assert_int_eq(points[1].status, ST_INVALID);
    ck_assert_int_eq(points[2].status, ST_OK);
    ck_assert_int_eq(points[3].status, ST_OK);
    ck_assert_uint_eq(log.calls, 1);
    ck_assert_mem_eq(log.ids, ((uint32_t[]){ 2, 0, 0, 2 }), 16);
    ck_assert_uint_eq(head_oldest_segment(r.head, 9), 7);

    log = (struct log){ .answer = ST_BUSY };
    ck_assert_int_eq(put(&r, &log, points, 4, &taken, &e), ST_BUSY);
    ck_assert_str_eq(e.text, "not logged");
    ck_assert_uint_eq(taken, 0);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_int_eq(points[i].status, ST_BUSY);
    /* The rows hold them all the same. */
    ck_assert_uint_eq(head_counts(r.head).points, 4);

    points[3].series = points[0].series;
    log = (struct log){ .answer = ST_BUSY };
    ck_assert_int_eq(put(&r, &log, points, 1, &taken, &e), ST_NOT_FOUND);
    ck_assert_uint_eq(log.calls, 0); /* there is nothing to log */
    ck_assert_int_eq(put(&r, NULL, points, 4, &taken, &e), ST_NOT_FOUND);
    ck_assert_uint_eq(taken, 1);
    head_free(&r.head);
}
END_TEST

#define WRITERS       2
#define WRITER_TIMES  20000
#define WRITER_ROUNDS 6

/* Writes each WRITERS-th time of one hour, in rounds that go backwards. */
struct writer {
    pthread_t thread;
    struct rig *rig;
    series_ref series;
    unsigned first;
};

static void *
write_backwards(void *ctx)
{
    uint16_t order[HEAD_PUT_MAX];
    const struct writer *w = ctx;
    struct series_point *points = mem_new_array(HEAD_PUT_MAX, sizeof *points);
    struct head_put p = { .points = points, .order = order, .now_s = 1 };
    size_t taken;

    for (uint16_t i = 0; i < HEAD_PUT_MAX; i++)
        order[i] = i;
    for (int64_t i = WRITER_TIMES * WRITER_ROUNDS; i-- > 0;) {
        points[p.len].series = w->series;
        points[p.len++].point =
            (struct point){ .ts_ms = i % WRITER_TIMES * WRITERS + w->first,
                            .v.i = i };
        if (p.len < HEAD_PUT_MAX && i > 0)
            continue;
        ck_assert_int_eq(head_put(w->rig->head, &p, &taken, NULL), ST_OK);
        ck_assert_uint_eq(taken, p.len);
        p.len = 0;
    }
    free(points);
    return NULL;
}

/* Rows are compacted while others write to them: each time keeps the value that
 * was put last, and the head counts what is left. */
NO_TS_CHECK static void
check_compaction(void)
{
    uint8_t tsuid[9] = { 0, 0, 1, 0, 0, 1, 0, 0, 1 };
    struct writer writers[WRITERS];
    const struct open_row *row;
    struct points all = { 0 };
    struct rig r;

    rig_open(&r);
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){
            .rig = &r,
            .series = head_series(r.head, slice_of(tsuid, 9), true, 1),
            .first = i,
        };
        ck_assert_int_eq(pthread_create(&writers[i].thread, NULL,
                                        write_backwards, &writers[i]),
                         0);
    }
    for (unsigned i = 0; i < WRITERS; i++)
        ck_assert_int_eq(pthread_join(writers[i].thread, NULL), 0);
    row = &r.series[0]->rows->open;
    ck_assert_uint_lt(row->count, 5 * WRITERS * WRITER_TIMES);
    ck_assert_uint_eq(head_counts(r.head).points, row->count);
    ck_assert(
        open_row_unpack(slice_of(row->bytes, row->size), row->count, 0, &all));
    ck_assert(points_sort_unique(&all));
    ck_assert_uint_eq(all.len, WRITERS * WRITER_TIMES);
    for (size_t i = 0; i < all.len; i++) {
        ck_assert_int_eq(all.ts_ms[i], (int64_t)i);
        ck_assert_int_eq(all.v[i].i, (int64_t)i / WRITERS);
    }
    head_drop_row(r.head, r.b, r.series[0]->rows);
    ck_assert_uint_eq(head_counts(r.head).bytes, 0);
    ck_assert_uint_eq(head_counts(r.head).points, 0);
    points_fini(&all);
    head_free(&r.head);
}

START_TEST(rows_are_compacted_beside_puts)
{
    check_compaction();
}
END_TEST

/* -- flushing -------------------------------------------------------------- */

static const struct {
    const char *what;
    struct flush_times times;
    bool due;
} timestamps[] = {
    { "just written", { 0, 0, 0, false }, false },
    { "an hour of the span that is now", { 1800, 10, 0, false }, false },
    { "its series went on", { 60, 0, 1, false }, true },
    { "its series went on just now", { 59, 0, 1, true }, false },
    { "the series goes on elsewhere, earlier", { 60, 0, -1, false }, false },
    { "late points for a span before", { 60, 0, -1, true }, true },
    { "the last one of its span", { 60, 60, 0, true }, true },
    { "of old times, while more comes", { 70, 0, 0, true }, false },
    { "of old times, slowly", { 3600, 10, 0, true }, true },
    { "a series that fell silent", { 3600, 3600, 0, false }, true },
    { "times to come", { 3600, 0, 0, false }, false },
    { "times to come, forgotten", { 3600 + 21600, 0, -1, false }, true },
};

START_TEST(rows_are_due)
{
    ck_assert_msg(head_row_is_due(&timestamps[_i].times, 60, 21600) ==
                      timestamps[_i].due,
                  "%s", timestamps[_i].what);
}
END_TEST

/* The TSUIDs of rows, of one metric, each seen once and ascending. */
struct seen {
    uint8_t last[9];
    size_t len;
};

static bool
see(void *ctx, const struct head_row_view *v)
{
    struct seen *s = ctx;

    ck_assert_uint_eq(v->tsuid.size, sizeof s->last);
    ck_assert_int_lt(memcmp(s->last, v->tsuid.data, sizeof s->last), 0);
    memcpy(s->last, v->tsuid.data, sizeof s->last);
    s->len++;
    return true;
}

/* A row for the series, or none any more. */
NO_TS_CHECK static void
toggle_row(struct rig *r, unsigned metric, unsigned tagv, bool has)
{
    uint8_t bytes[9] = { 0, 0, (uint8_t)metric, 0, 0, 1, 0, 0, (uint8_t)tagv };
    struct slice tsuid = slice_of(bytes, sizeof bytes);
    struct point p = { .ts_ms = 1 };

    (void)head_series(r->head, tsuid, true, 1);
    if (has)
        head_drop_row(r->head, r->b, head_find(r->head, r->b, tsuid)->rows);
    else
        ck_assert(head_append(r->head, r->b, head_find(r->head, r->b, tsuid),
                              NULL, p, 1, 1));
}

/* Series come in any order, between looks, and those without rows go. */
START_TEST(rows_of_a_metric_ascend)
{
    static const uint8_t metrics[2][3] = { { 0, 0, 2 }, { 0, 0, 3 } };
    struct rig r;
    bool has[2][256] = { { false } };
    size_t len[2] = { 0 };

    rig_open(&r);
    r.random = harness_seed((unsigned long)_i);
    for (int step = 0; step < 2000; step++) {
        unsigned m = pick(&r, 2), tagv = pick(&r, _i % 2 == 0 ? 256 : 8);
        struct seen seen = { .len = 0 };
        struct head_visit visit = { .metric = slice_of(metrics[m], 3),
                                    .to_base = UINT32_MAX,
                                    .f = see,
                                    .ctx = &seen };

        toggle_row(&r, 2 + m, tagv, has[m][tagv]);
        has[m][tagv] = !has[m][tagv];
        len[m] += has[m][tagv] ? 1 : (size_t)-1;
        if (pick(&r, 30) == 0)
            head_evict(r.head, 0, 2);
        if (pick(&r, 10) != 0)
            continue;
        head_each_row(r.head, &visit);
        ck_assert_uint_eq(seen.len, len[m]);
    }
    head_free(&r.head);
}
END_TEST

/* A put that stood still before it got the bucket's lock has an older segment
 * than rows that were made meanwhile. */
NO_TS_CHECK static void
check_segments(void)
{
    struct rig r;
    struct head_row *rows[3];
    const uint64_t segments[] = { 7, 5, 8 };

    rig_open(&r);
    for (uint32_t i = 0; i < 3; i++) {
        struct point p = { .ts_ms = i * HOUR_MS };

        ck_assert(
            head_append(r.head, r.b, r.series[0], NULL, p, segments[i], 1));
        rows[i] = r.series[0]->rows;
    }
    ck_assert_uint_eq(head_oldest_segment(r.head, 10), 7);
    for (uint32_t i = 1; i < 3; i++)
        ck_assert_uint_ge(rows[i]->segment, rows[i - 1]->segment);
    head_free(&r.head);
}

START_TEST(rows_are_in_the_order_of_segments)
{
    check_segments();
}
END_TEST

/* -- idle series ----------------------------------------------------------- */

#define MANY       20000
#define KEEP_EVERY 50 /* of these one has a row */

static struct slice
many_tsuid(unsigned i, uint8_t out[9])
{
    key_put_uint(out, 2, 3);
    key_put_uint(out + 3, 1, 3);
    key_put_uint(out + 6, i + 1, 3);
    return slice_of(out, 9);
}

static enum status
put_one(struct rig *r, series_ref ref, int64_t ts_ms)
{
    struct series_point p = { .series = ref, .point = { .ts_ms = ts_ms } };
    uint16_t order = 0;
    const struct head_put put = {
        .points = &p, .order = &order, .len = 1, .now_s = 3
    };
    size_t taken;

    return head_put(r->head, &put, &taken, NULL);
}

/* All that are left have their rows, in order, and take points. */
static void
check_left(struct rig *r, const series_ref *refs)
{
    static const uint8_t metric[3] = { 0, 0, 2 };
    struct seen seen = { .len = 0 };
    struct head_visit visit = {
        .metric = slice_of(metric, 3), .to_base = 0, .f = see, .ctx = &seen
    };
    uint8_t bytes[9];

    head_each_row(r->head, &visit);
    ck_assert_uint_eq(seen.len, MANY / KEEP_EVERY);
    for (unsigned i = 0; i < MANY; i += KEEP_EVERY) {
        series_ref ref =
            refs != NULL ? refs[i]
                         : head_series(r->head, many_tsuid(i, bytes), false, 3);

        ck_assert_int_eq(put_one(r, ref, i + 1), ST_OK);
        ck_assert_int_eq(put_one(r, ref, HOUR_MS + i), ST_OK);
    }
}

/* The memory of idle series goes back, whether or not handles stay valid. */
NO_TS_CHECK static void
check_idle(bool renumber)
{
    series_ref *refs = calloc(MANY, sizeof *refs);
    struct rig r;
    uint8_t bytes[9];
    uint64_t evictions;

    rig_open(&r);
    for (unsigned i = 0; i < MANY; i++) {
        refs[i] = head_series(r.head, many_tsuid(i, bytes), true, 1);
        if (i % KEEP_EVERY == 0)
            ck_assert_int_eq(put_one(&r, refs[i], i), ST_OK);
    }
    ck_assert(head_has_series(r.head, many_tsuid(1, bytes), &evictions));
    ck_assert_uint_eq(evictions, 0);
    head_evict(r.head, 0, 2);
    ck_assert(!head_has_series(r.head, many_tsuid(1, bytes), &evictions));
    ck_assert_uint_gt(evictions, 0);
    ck_assert_uint_eq(head_counts(r.head).series, MANY / KEEP_EVERY);
    ck_assert_uint_ge(head_counts(r.head).forgotten, MANY - MANY / KEEP_EVERY);
    check_left(&r, refs);
    ck_assert_int_eq(head_shrink(r.head, renumber), renumber);
    ck_assert_uint_le(arena_used(r.b->memory), MANY / KEEP_EVERY * 100);
    if (renumber) {
        ck_assert_uint_le(r.b->series_cap, MANY / KEEP_EVERY * 2);
        ck_assert_int_eq(put_one(&r, refs[KEEP_EVERY], 1), ST_NOT_FOUND);
    }
    ck_assert_int_eq(put_one(&r, refs[1], 1), ST_NOT_FOUND);
    check_left(&r, renumber ? NULL : refs);
    for (unsigned i = 0; i < MANY; i++) /* they come back */
        ck_assert_int_eq(
            put_one(&r, head_series(r.head, many_tsuid(i, bytes), false, 4), i),
            ST_OK);
    ck_assert_uint_eq(head_counts(r.head).series, MANY);
    head_free(&r.head);
    free(refs);
}

START_TEST(idle_series_leave_memory)
{
    check_idle(_i % 2 != 0);
}
END_TEST

/* A row of a series that is idle for so long is flushed, whatever its time. */
START_TEST(rows_of_idle_series_are_flushed)
{
    static struct head_flushing rows[HEAD_PASS_ROWS + ROW_HOURS_MAX];
    struct flush_rule rule = {
        .idle = true, .idle_s = 60, .forget_s = 10, .now_s = 12
    };
    struct rig r;
    struct head_pass pass;
    uint8_t bytes[9];

    rig_open(&r);
    r.layout.row_hours = 6;
    ck_assert_int_eq(
        put_one(&r, head_series(r.head, many_tsuid(0, bytes), true, 3), 1),
        ST_OK);
    for (; rule.now_s <= 13; rule.now_s++) {
        head_pass_begin(&pass, r.head, 0, &rule, 0);
        ck_assert_uint_eq(head_pass_next(&pass, rows), rule.now_s == 13);
    }
    head_free(&r.head);
}
END_TEST

TEST_MAIN("head", LOOP(rows_are_found, cases), TEST(a_put_logs_what_it_took),
          TEST(rows_are_compacted_beside_puts),
          TEST(rows_are_in_the_order_of_segments),
          LOOP(rows_are_due, timestamps), TIMES(rows_of_a_metric_ascend, 10),
          TIMES(idle_series_leave_memory, 2),
          TEST(rows_of_idle_series_are_flushed))
