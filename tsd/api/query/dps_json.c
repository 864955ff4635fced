/* See tsd/api/query/dps_json.h.  From one time to the next mostly the last four
 * digits change: what stands before them is kept, with the comma and the quote.
 */
#include "tsd/api/query/dps_json.h"

#include <math.h>

#include "base/text/decimal.h"
#include "base/text/number.h"

/* A comma, a quoted key, a colon, a value, a bracket. */
#define POINT_MAX  ((size_t)2 * NUMBER_TEXT_MAX + 8)
#define AT_A_TIME  ((size_t)256)
#define FRONT_ROOM ((size_t)24)

/* Times from 'from' on, 10,000 of them, begin with 'front'. */
struct time_text {
    uint64_t from;
    size_t size;
    char front[FRONT_ROOM];
};

/* No time is near it. */
#define NO_TIME (UINT64_C(1) << 63)

/* One that begins with other digits than the one before. */
static uint8_t *
put_other_time(struct time_text *t, int64_t v, uint8_t *p)
{
    char text[NUMBER_TEXT_MAX];
    size_t n = number_format_i64(v, text);

    memcpy(p, t->front, 2);
    memcpy(p + 2, text, n);
    if (v < 10000) {
        t->from = NO_TIME;
    } else {
        t->from = (uint64_t)v - (uint64_t)v % 10000;
        t->size = 2 + n - 4;
        memcpy(t->front + 2, text, n - 4);
    }
    return p + 2 + n;
}

static inline uint8_t *
put_time(struct time_text *t, int64_t v, uint8_t *p)
{
    uint64_t low = (uint64_t)v - t->from;

    if (low > 9999)
        return put_other_time(t, v, p);
    memcpy(p, t->front, FRONT_ROOM);
    decimal_put_four(p + t->size, (unsigned)low);
    return p + t->size + 4;
}

/* What is no number in JSON is a text, as Jackson writes it. */
static uint8_t *
put_double(uint8_t *p, double v)
{
    bool quoted = !isfinite(v);

    if (quoted)
        *p++ = '"';
    p += number_format_double(v, (char *)p);
    if (quoted)
        *p++ = '"';
    return p;
}

static inline uint8_t *
put_value(uint8_t *p, union number v, enum dp_kind kind)
{
    switch (kind) {
    case DP_INT:
        if ((uint64_t)v.i < 1000000)
            return p + decimal_put_short(p, (unsigned)v.i);
        return p + number_format_i64(v.i, (char *)p);
    case DP_DOUBLE:
        return put_double(p, v.d);
    case DP_NULL:
        break;
    }
    memcpy(p, "null", 4);
    return p + 4;
}

/* What is written, and how. */
struct points_writer {
    const struct dps *dps;
    size_t at, end;
    bool ms, arrays;
    struct time_text time;
    size_t written;
};

/* There is room for 'len' points. */
static uint8_t *
put_points(struct points_writer *w, size_t len, uint8_t *p)
{
    const int64_t *ts_ms = w->dps->ts_ms;
    const union number *v = w->dps->v;
    const uint8_t *kind = w->dps->kind;
    const char *middle = w->arrays ? "," : "\":";
    size_t middle_size = w->arrays ? 1 : 2, to = w->at + len;
    bool merges = !w->ms && !w->arrays;
    struct time_text t = w->time;
    int64_t ts, next = w->ms ? ts_ms[w->at] : ts_ms[w->at] / 1000;

    for (size_t i = w->at; i < to; i++) {
        ts = next;
        if (i + 1 < w->end) {
            next = w->ms ? ts_ms[i + 1] : ts_ms[i + 1] / 1000;
            if (merges && next == ts)
                continue;
        }
        p = put_time(&t, ts, p);
        t.front[0] = ',';
        memcpy(p, middle, 2);
        p = put_value(p + middle_size, v[i], (enum dp_kind)kind[i]);
        if (w->arrays)
            *p++ = ']';
        w->written++;
    }
    w->time = t;
    w->at = to;
    return p;
}

/* So many as there is room for, when that is less: near the cap of 'b'. */
static size_t
how_many(const struct buf *b, size_t left)
{
    size_t n = left < AT_A_TIME ? left : AT_A_TIME;

    if (b->max == 0 || b->max - b->size >= n * POINT_MAX)
        return n;
    n = (b->max - b->size) / POINT_MAX;
    return n > 0 ? n : 1;
}

/* The points that lie in the range of the query: from..to. */
static void
cut_to_range(const struct query *q, const struct dps *dps, size_t *from,
             size_t *to)
{
    *from = 0;
    *to = dps->len;
    while (*from < *to && dps->ts_ms[*from] < q->start_ms)
        (*from)++;
    while (*to > *from && dps->ts_ms[*to - 1] > q->end_ms)
        (*to)--;
}

size_t
dps_json_write(struct buf *b, const struct query *q, const struct dps *dps)
{
    struct points_writer w = {
        .dps = dps,
        .ms = q->ms_resolution,
        .arrays = q->arrays,
        .time = { .from = NO_TIME },
    };

    cut_to_range(q, dps, &w.at, &w.end);
    /* The first point's comma is the bracket that opens them all. */
    w.time.front[0] = q->arrays ? '[' : '{';
    w.time.front[1] = q->arrays ? '[' : '"';
    while (w.at < w.end) {
        size_t n = how_many(b, w.end - w.at);
        uint8_t *p = buf_reserve(b, n * POINT_MAX);

        if (p == NULL)
            break;
        b->size = (size_t)(put_points(&w, n, p) - b->data);
    }
    if (w.written == 0)
        buf_put_u8(b, q->arrays ? '[' : '{');
    buf_put_u8(b, q->arrays ? ']' : '}');
    return w.written;
}

/* Room for a comma and an element; NULL: there is none. */
static uint8_t *
next_element(struct buf *b, bool first)
{
    uint8_t *p = buf_reserve(b, NUMBER_TEXT_MAX + 4);

    if (p != NULL && !first)
        *p++ = ',';
    return p;
}

static void
put_times(struct buf *b, const struct query *q, const int64_t *ts_ms,
          size_t from, size_t to)
{
    buf_put_str(b, ",\"times\":[");
    for (size_t i = from; i < to && !b->failed; i++) {
        uint8_t *p = next_element(b, i == from);

        if (p == NULL)
            break;
        p += number_format_i64(q->ms_resolution ? ts_ms[i] : ts_ms[i] / 1000,
                               (char *)p);
        b->size = (size_t)(p - b->data);
    }
    buf_put_u8(b, ']');
}

size_t
dps_json_columns(struct buf *b, const struct query *q, const struct dps *dps,
                 const struct dps *before)
{
    size_t from, to;

    cut_to_range(q, dps, &from, &to);
    if (before == NULL || before->len != dps->len || dps->len == 0 ||
        memcmp(before->ts_ms, dps->ts_ms, dps->len * sizeof *dps->ts_ms) != 0)
        put_times(b, q, dps->ts_ms, from, to);
    buf_put_str(b, ",\"values\":[");
    for (size_t i = from; i < to && !b->failed; i++) {
        uint8_t *p = next_element(b, i == from);

        if (p == NULL)
            break;
        p = put_value(p, dps->v[i], (enum dp_kind)dps->kind[i]);
        b->size = (size_t)(p - b->data);
    }
    buf_put_u8(b, ']');
    return to - from;
}
