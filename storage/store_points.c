/*
 * The journal's records of points: how they are written down, and how they are
 * applied again after a crash (docs/FORMAT.md, "Journal records").
 *
 * Points come in rounds: the same series in the same order, at the same time,
 * a little more or less than before.  So an entry says how it differs from
 * that, and most are a nibble.  What it builds on is kept on both sides: of a
 * bucket the last index and time, of a series its last value.
 *
 * An index is short for a series, within one run of the server.  Each segment
 * defines a series at its first use in it, and begins each bucket anew; the one
 * exception (a segment began between the look at its number and the append)
 * leans on the segment before, which is kept as long as the row that caused it
 * is open.  So on replay an unknown index, and a bucket that goes on from
 * nothing, belong to points that are sealed, and are passed over.  A record
 * that was not appended is built on by nobody: its series are defined anew.
 */
#include "config.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "base/varint.h"
#include "storage/nibbles_priv.h"
#include "storage/store_priv.h"

/* The nibble that an entry begins with; below ENTRY_SIZED: an integer, and this
 * is the zig-zag difference to the series' last one. */
enum entry_code {
    ENTRY_SIZED = 11,  /* an integer: the difference follows */
    ENTRY_THOUSANDTHS, /* a double: of so many thousandths */
    ENTRY_DOUBLE,      /* a double: its bits, XORed with the last ones */
    ENTRY_MOVES,       /* flags, and another code for the value, follow */
    ENTRY_END,         /* fills up the record's last byte */
};

enum move_flags {
    MOVE_INDEX = 1,   /* zig-zag difference to the index expected */
    MOVE_DEFINES = 2, /* the TSUID of this index */
    MOVE_MS = 4,      /* zig-zag difference to the last time, ms */
    MOVE_S = 8,       /* the same, s */
};

/* What a record begins with, behind its bucket. */
enum start_code {
    START_GOES_ON, /* from the bucket's record before */
    START_ANEW,    /* from index and time 0 */
};

#define SERIES_A_PAGE    1024
#define ENTRY_BYTES_MAX  48 /* but for the TSUID */
#define MAX_THOUSANDTHS  ((double)((int64_t)1 << 50))
#define NIBBLES_OF_64BIT 16

static uint64_t
bits_of(double d)
{
    uint64_t bits;

    memcpy(&bits, &d, sizeof bits);
    return bits;
}

/* The integer of which d is the thousandth part, to the bit; false if none. */
static bool
thousandths_of(double d, int64_t *out)
{
    double t = d * 1000;

    if (!(t >= -MAX_THOUSANDTHS && t <= MAX_THOUSANDTHS))
        return false;
    *out = (int64_t)(t < 0 ? t - 0.5 : t + 0.5);
    return bits_of((double)*out / 1000) == bits_of(d);
}

/* What the next double of a series is compared with: 0 unless its last value
 * was one, and is of thousandths. */
static int64_t
last_thousandths(uint64_t bits, bool is_float)
{
    double d;
    int64_t out;

    memcpy(&d, &bits, sizeof d);
    return is_float && thousandths_of(d, &out) ? out : 0;
}

/* -- writing --------------------------------------------------------------- */

void
record_points_start(struct head_journal *j, unsigned bucket, uint64_t segment)
{
    bool goes_on = j->segment == (uint32_t)segment;

    buf_clear(&j->record);
    buf_put_u8(&j->record, (uint8_t)bucket);
    buf_put_u8(&j->record, goes_on ? START_GOES_ON : START_ANEW);
    j->half = true;
    if (goes_on)
        return;
    j->segment = (uint32_t)segment;
    j->next = 0;
    j->ts_ms = 0;
}

static void
put_tsuid(struct nibbles_out *o, const struct head_series *s)
{
    nibbles_put_sized(o, s->tsuid_size);
    for (unsigned i = 0; i < s->tsuid_size; i++)
        nibbles_put(o, s->tsuid[i], 2);
}

/* Index, definition and time, where they are not as expected. */
static void
put_moves(struct nibbles_out *o, const struct head_journal *j,
          const struct head_series *s, bool defines, int64_t step_ms)
{
    bool seconds = step_ms % 1000 == 0;
    uint32_t index = s->index - j->next;

    nibbles_put(o, ENTRY_MOVES, 1);
    nibbles_put(o,
                (index != 0 ? MOVE_INDEX : 0) | (defines ? MOVE_DEFINES : 0) |
                    (step_ms == 0 ? 0
                     : seconds    ? MOVE_S
                                  : MOVE_MS),
                1);
    if (index != 0)
        nibbles_put_sized(o, varint_zigzag((int32_t)index));
    if (defines)
        put_tsuid(o, s);
    if (step_ms != 0)
        nibbles_put_sized(o, varint_zigzag(seconds ? step_ms / 1000 : step_ms));
}

static void
put_int(struct nibbles_out *o, struct head_series *s, int64_t v)
{
    uint64_t last = s->journaled_float ? 0 : s->journaled;
    uint64_t z = varint_zigzag((int64_t)((uint64_t)v - last));

    if (z < ENTRY_SIZED) {
        nibbles_put(o, z, 1);
    } else {
        nibbles_put(o, ENTRY_SIZED, 1);
        nibbles_put_sized(o, z);
    }
    s->journaled = (uint64_t)v;
    s->journaled_float = false;
}

/* Zero nibbles at the top and at the bottom are counted, not written. */
static void
put_xored(struct nibbles_out *o, uint64_t x)
{
    unsigned top = x == 0 ? 15 : (unsigned)__builtin_clzll(x) / 4;
    unsigned bottom = x == 0 ? 0 : (unsigned)__builtin_ctzll(x) / 4;

    nibbles_put(o, ENTRY_DOUBLE, 1);
    nibbles_put(o, top | bottom << 4, 2);
    nibbles_put(o, x >> 4 * bottom, NIBBLES_OF_64BIT - top - bottom);
}

static void
put_double(struct nibbles_out *o, struct head_series *s, double d)
{
    uint64_t last = s->journaled_float ? s->journaled : 0;
    int64_t thousandths;

    if (thousandths_of(d, &thousandths)) {
        nibbles_put(o, ENTRY_THOUSANDTHS, 1);
        nibbles_put_sized(
            o, varint_zigzag(thousandths -
                             last_thousandths(last, s->journaled_float)));
    } else {
        put_xored(o, bits_of(d) ^ last);
    }
    s->journaled = bits_of(d);
    s->journaled_float = true;
}

void
record_points_add(struct head_journal *j, struct head_series *s,
                  uint64_t segment, struct point p)
{
    bool defines = s->defined_segment != (uint32_t)segment;
    struct buf *b = &j->record;
    struct nibbles_out o = { .half = j->half };

    /* buf_reserve() gives the first free byte; half a one may be before. */
    o.at = buf_reserve(b, ENTRY_BYTES_MAX + (defines ? s->tsuid_size : 0));
    if (o.at == NULL)
        return;
    o.at -= o.half;
    if (defines || s->index != j->next || p.ts_ms != j->ts_ms)
        put_moves(&o, j, s, defines, p.ts_ms - j->ts_ms);
    if (defines) {
        s->defined_segment = (uint32_t)segment;
        s->journaled = 0;
        s->journaled_float = false;
    }
    if (p.is_float)
        put_double(&o, s, p.v.d);
    else
        put_int(&o, s, p.v.i);
    j->next = s->index + 1;
    j->ts_ms = p.ts_ms;
    j->half = o.half;
    b->size = (size_t)(o.at - b->data) + o.half;
}

struct slice
record_points_end(struct head_journal *j)
{
    struct buf *b = &j->record;

    if (j->half && !b->failed)
        b->data[b->size - 1] |= ENTRY_END << 4;
    return buf_slice(b);
}

/* -- replay ---------------------------------------------------------------- */

/* What an index means, and the series' last value. */
struct replay_series {
    struct head_series *series; /* NULL: unknown */
    uint64_t last;
    bool is_float;
};

/* The same of a bucket, so far.  By pages: a bad index takes little memory. */
struct replay_bucket {
    struct replay_series **pages; /* of SERIES_A_PAGE, NULL: all unknown */
    size_t pages_len;
    uint32_t next;
    int64_t ts_ms;
    bool begun;
};

void
replay_init(struct replay *r, struct store *s)
{
    *r = (struct replay){ .s = s };
    r->buckets = mem_new_array(s->head.buckets_len, sizeof *r->buckets);
}

static void
fini_bucket(struct replay_bucket *m)
{
    for (size_t i = 0; i < m->pages_len; i++)
        free(m->pages[i]);
    free(m->pages);
}

void
replay_fini(struct replay *r)
{
    for (size_t i = 0; i < r->s->head.buckets_len; i++)
        fini_bucket(&r->buckets[i]);
    free(r->buckets);
    r->buckets = NULL;
}

void
replay_forget(struct replay *r)
{
    for (size_t i = 0; i < r->s->head.buckets_len; i++) {
        fini_bucket(&r->buckets[i]);
        r->buckets[i] = (struct replay_bucket){ 0 };
    }
}

/* NULL when nothing near it is known. */
static struct replay_series *
meaning_of(const struct replay_bucket *m, uint64_t index)
{
    size_t page = index / SERIES_A_PAGE;

    return page < m->pages_len && m->pages[page] != NULL
               ? &m->pages[page][index % SERIES_A_PAGE]
               : NULL;
}

static struct replay_series *
make_page(struct replay_bucket *m, size_t page)
{
    if (page >= m->pages_len) {
        size_t len = m->pages_len == 0 ? 4 : m->pages_len;

        while (len <= page)
            len *= 2;
        m->pages = mem_resize(m->pages, len, sizeof(struct replay_series *));
        for (size_t i = m->pages_len; i < len; i++)
            m->pages[i] = NULL;
        m->pages_len = len;
    }
    if (m->pages[page] == NULL)
        m->pages[page] =
            mem_new_array(SERIES_A_PAGE, sizeof(struct replay_series));
    return m->pages[page];
}

static bool
define(struct replay *r, struct head_bucket *b, struct replay_bucket *m,
       uint64_t index, struct slice tsuid) REQUIRES(b->lock)
{
    if (!tsuid_is_valid(&r->s->shape, tsuid) ||
        head_bucket_of(&r->s->head, tsuid) != b || index > UINT32_MAX)
        return false;
    make_page(m, index / SERIES_A_PAGE)[index % SERIES_A_PAGE] =
        (struct replay_series){ .series = head_series(&r->s->head, b, tsuid) };
    return true;
}

/* A record, while it is read. */
struct reading {
    struct replay *r;
    struct head_bucket *bucket;
    struct replay_bucket *m;
    uint64_t segment;
    uint32_t now_s;
    uint64_t points; /* taken */
};

static bool
take(struct reading *x, struct head_series *s, struct point p)
    REQUIRES(x->bucket->lock)
{
    if (p.ts_ms < 0 || p.ts_ms > POINT_MAX_TS_MS ||
        !head_append(&x->r->s->head, x->bucket, s, NULL, p, x->segment,
                     x->now_s))
        return false;
    x->points++;
    return true;
}

/* Flags of moves, and what they say. */
static bool
read_moves(struct reading *x, struct nibbles_in *in) REQUIRES(x->bucket->lock)
{
    unsigned flags = nibbles_get_one(in);
    uint8_t tsuid[TSUID_MAX];
    uint64_t size = 0, step = 0;

    if ((flags & MOVE_INDEX) != 0)
        x->m->next += (uint32_t)varint_unzigzag(nibbles_get_sized(in));
    if ((flags & MOVE_DEFINES) != 0) {
        size = nibbles_get_sized(in);
        if (size > sizeof tsuid)
            return false;
        for (size_t i = 0; i < size; i++)
            tsuid[i] = (uint8_t)nibbles_get(in, 2);
        if (in->failed ||
            !define(x->r, x->bucket, x->m, x->m->next, slice_of(tsuid, size)))
            return false;
    }
    if ((flags & (MOVE_S | MOVE_MS)) != 0)
        step = (uint64_t)varint_unzigzag(nibbles_get_sized(in));
    if ((flags & MOVE_S) != 0)
        step *= 1000;
    x->m->ts_ms = (int64_t)((uint64_t)x->m->ts_ms + step);
    return (flags & (MOVE_S | MOVE_MS)) != (MOVE_S | MOVE_MS);
}

/* The value that a code begins; 's' is what is known of its series. */
static bool
read_value(struct nibbles_in *in, unsigned code, struct replay_series *s,
           struct point *p)
{
    uint64_t last_int = s->is_float ? 0 : s->last, z, bits;
    unsigned top, bottom;

    p->is_float = code > ENTRY_SIZED;
    switch (code) {
    case ENTRY_THOUSANDTHS:
        z = (uint64_t)last_thousandths(s->last, s->is_float);
        z += (uint64_t)varint_unzigzag(nibbles_get_sized(in));
        p->v.d = (double)(int64_t)z / 1000;
        bits = bits_of(p->v.d);
        break;
    case ENTRY_DOUBLE:
        top = nibbles_get_one(in);
        bottom = nibbles_get_one(in);
        if (top + bottom >= NIBBLES_OF_64BIT)
            return false;
        bits = nibbles_get(in, NIBBLES_OF_64BIT - top - bottom) << 4 * bottom;
        bits ^= s->is_float ? s->last : 0;
        memcpy(&p->v.d, &bits, sizeof bits);
        break;
    case ENTRY_MOVES:
    case ENTRY_END:
        return false;
    default:
        z = code < ENTRY_SIZED ? code : nibbles_get_sized(in);
        bits = last_int + (uint64_t)varint_unzigzag(z);
        p->v.i = (int64_t)bits;
        break;
    }
    s->last = bits;
    s->is_float = p->is_float;
    return true;
}

static bool
read_entry(struct reading *x, struct nibbles_in *in, unsigned code)
    REQUIRES(x->bucket->lock)
{
    struct replay_bucket *m = x->m;
    struct replay_series unknown = { 0 }, *s;
    struct point p;

    if (code == ENTRY_MOVES) {
        if (!read_moves(x, in))
            return false;
        code = nibbles_get_one(in);
    }
    s = meaning_of(m, m->next++);
    if (s == NULL)
        s = &unknown;
    p.ts_ms = m->ts_ms;
    if (!read_value(in, code, s, &p) || in->failed)
        return false;
    if (s->series != NULL)
        return take(x, s->series, p);
    x->r->passed_over++;
    return true;
}

static bool
read_points(struct reading *x, struct slice entries) REQUIRES(x->bucket->lock)
{
    struct nibbles_in in = { entries.data, entries.data + entries.size, false,
                             false };
    unsigned start = nibbles_get_one(&in);

    if (start > START_ANEW || in.failed)
        return false;
    if (start == START_ANEW) {
        x->m->begun = true;
        x->m->next = 0;
        x->m->ts_ms = 0;
    }
    if (!x->m->begun)
        return true;
    while (in.at < in.end) {
        unsigned code = nibbles_get_one(&in);

        if (code == ENTRY_END)
            return in.at == in.end;
        if (!read_entry(x, &in, code))
            return false;
    }
    return true;
}

/* One entry as it was up to format 4:
 *
 *     varint (index << 2 | defines << 1 | double)
 *     [defines: varint size, TSUID]
 *     zig-zag varint: time - time of the entry before, ms
 *     a zig-zag varint, or the 8 bytes of a double */
static bool
read_plain(struct reading *x, struct cursor *c, int64_t *ts_ms)
    REQUIRES(x->bucket->lock)
{
    uint64_t head = cursor_varint(c), index = head >> 2, bits;
    struct point p = { .is_float = (head & 1) != 0 };
    const struct replay_series *s;

    if ((head & 2) != 0) {
        uint64_t size = cursor_varint(c);
        struct slice tsuid =
            cursor_bytes(c, size > cursor_left(c) ? SIZE_MAX : (size_t)size);

        if (!define(x->r, x->bucket, x->m, index, tsuid))
            return false;
    }
    *ts_ms = (int64_t)((uint64_t)*ts_ms + (uint64_t)cursor_zigzag(c));
    p.ts_ms = *ts_ms;
    if (p.is_float) {
        bits = cursor_u64(c);
        memcpy(&p.v.d, &bits, sizeof bits);
    } else {
        p.v.i = cursor_zigzag(c);
    }
    if (c->failed)
        return false;
    s = meaning_of(x->m, index);
    if (s != NULL && s->series != NULL)
        return take(x, s->series, p);
    x->r->passed_over++;
    return true;
}

static bool
read_plain_points(struct reading *x, struct slice entries)
    REQUIRES(x->bucket->lock)
{
    struct cursor c = cursor_of(entries);
    int64_t ts_ms = 0;

    while (cursor_left(&c) > 0)
        if (!read_plain(x, &c, &ts_ms))
            return false;
    return true;
}

enum status
record_points_replay(struct replay *r, uint64_t segment, struct slice payload,
                     bool plain, struct error *e)
{
    struct cursor c = cursor_of(payload);
    unsigned bucket = cursor_u8(&c);
    struct slice entries = cursor_bytes(&c, cursor_left(&c));
    struct head *h = &r->s->head;
    struct reading x = { .r = r, .segment = segment, .now_s = store_now_s() };
    bool good;

    if (c.failed || bucket >= h->buckets_len)
        return error_set(e, ST_CORRUPT, "points of no salt bucket");
    x.bucket = &h->buckets[bucket];
    x.m = &r->buckets[bucket];
    lock_take(&x.bucket->lock);
    good = plain ? read_plain_points(&x, entries) : read_points(&x, entries);
    lock_drop(&x.bucket->lock);
    r->points += x.points;
    atomic_fetch_add(&h->points, x.points);
    return good ? ST_OK : error_set(e, ST_CORRUPT, "a record of points");
}
