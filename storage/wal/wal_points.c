/* Writes and reads the points of a record (wal_points.h). */
#include "storage/wal/wal_points.h"

#include "base/varint.h"
#include "storage/block/bits.h"
#include "storage/block/block_columns.h"

#define ENTRY_BITS   ((size_t)512) /* the most, but for a TSUID */
#define RICE_MAX     16            /* a larger quotient: the number is whole */
#define WIDTH_FIRST  (7 * 16)
#define NO_HOLE      RICE_MAX
#define RUN_MAX      ((1u << 14) - 1) /* points that an escape counts */
#define ODD_DECIMALS 3 /* digits looked for, where a WAL_DOUBLE was before */

/* What is not as expected. */
enum {
    FLAG_ID = 1,
    FLAG_TSUID = 2,
    FLAG_TIME = 4,
    FLAG_KIND = 8,
};

/* -- what is expected ------------------------------------------------------ */

static inline void
state_init(struct wal_points_state *s)
{
    memset(s, 0, offsetof(struct wal_points_state, tsuid));
    s->id = UINT32_MAX;
    s->first = true;
    s->decimal = WAL_DECIMAL;
    s->width = WIDTH_FIRST;
}

static inline uint32_t
expected_id(const struct wal_points_state *s)
{
    return s->id + !s->same;
}

static inline int64_t
expected_time(const struct wal_points_state *s)
{
    return (int64_t)((uint64_t)s->ts_ms + (uint64_t)s->step_ms);
}

static inline void
set_id(struct wal_points_state *s, uint32_t id)
{
    s->same = id == s->id;
    if (!s->same)
        s->step_ms = 0;
}

static inline void
came(struct wal_points_state *s, uint32_t id, int64_t ts_ms)
{
    s->id = id;
    s->run += s->run < RUN_MAX;
    s->first = false;
    s->step_ms = s->same ? (int64_t)((uint64_t)ts_ms - (uint64_t)s->ts_ms) : 0;
    s->ts_ms = ts_ms;
}

static inline void
set_kind(struct wal_points_state *s, unsigned kind)
{
    s->kind = (uint8_t)kind;
    s->mean = 0;
    s->has_mean = false;
    if (kind != WAL_INT)
        s->decimal = (uint8_t)kind;
}

/* -- numbers --------------------------------------------------------------- */

static inline unsigned
bits_of(uint64_t v)
{
    return 64 - (unsigned)__builtin_clzll(v | 1);
}

/* How many low bits of the next value are written as they are. */
static inline unsigned
low_bits(unsigned width)
{
    return (width > 8 ? width - 8u : 0) / 16;
}

/* How many zeros the code of an escape has, and no quotient: the fewer, the
 * nearer the last escape is. */
static inline unsigned
escape_of(const struct wal_points_state *s)
{
    return bits_of((uint64_t)s->run << 1) - 1;
}

/* A value was 'z' away from the mean, zigzag.  The first one is the mean. */
static inline void
learn(struct wal_points_state *s, uint64_t z)
{
    int64_t away = varint_unzigzag(z);

    s->width = (uint16_t)(s->width - s->width / 8 + 2 * bits_of(z));
    s->mean = (int64_t)((uint64_t)s->mean +
                        (uint64_t)(s->has_mean ? away / 8 : away));
    s->has_mean = true;
}

/* -- writing --------------------------------------------------------------- */

/* How many bits, less one, in six bits; then these. */
static void
put_sized(struct wal_points_writer *w, uint64_t z)
{
    bits_put(&w->out, bits_of(z) - 1, 6);
    bits_put_long(&w->out, z, bits_of(z));
}

void
wal_points_begin(struct wal_points_writer *w, unsigned bucket)
{
    buf_clear(&w->record);
    buf_put_u8(&w->record, (uint8_t)bucket);
    w->out = bits_out_of(&w->record);
    state_init(&w->state);
}

/* The kind of a double, that of the last one if it will do; and what is written
 * of it. */
static unsigned
kind_of_double(double d, unsigned last, int64_t *out)
{
    unsigned end =
        last == WAL_DOUBLE ? WAL_DECIMAL + ODD_DECIMALS : WAL_DECIMAL_LAST;

    if (last != WAL_DOUBLE && block_decimal_of(d, last - WAL_DECIMAL, out))
        return last;
    for (unsigned kind = WAL_DECIMAL; kind <= end; kind++)
        if (block_decimal_of(d, kind - WAL_DECIMAL, out))
            return kind;
    *out = (int64_t)double_bits(d);
    return WAL_DOUBLE;
}

static __attribute__((noinline)) void
put_large(struct wal_points_writer *w, uint64_t z)
{
    bits_put(&w->out, UINT64_C(1) << RICE_MAX, RICE_MAX + 1);
    put_sized(w, z);
    learn(&w->state, z);
}

/* 'hole': a quotient that is left out. */
static inline void
put_value(struct wal_points_writer *w, int64_t v, unsigned hole)
{
    struct wal_points_state *s = &w->state;
    uint64_t z = varint_zigzag((int64_t)((uint64_t)v - (uint64_t)s->mean));
    unsigned low = low_bits(s->width);
    uint64_t quotient = z >> low;

    if (quotient < RICE_MAX - 1 && low <= 32) {
        unsigned zeros = (unsigned)quotient + (quotient >= hole);

        bits_put(&w->out, ((z & bits_mask(low)) << 1 | 1) << zeros,
                 zeros + 1 + low);
        learn(s, z);
    } else {
        put_large(w, z);
    }
}

/* What differs from what is expected: an escape, flags, and what they say. */
static __attribute__((noinline)) void
put_flags(struct wal_points_writer *w, uint32_t id, struct slice tsuid,
          int64_t ts_ms, unsigned kind)
{
    struct wal_points_state *s = &w->state;
    int64_t by = (int32_t)(id - expected_id(s));
    unsigned flags = (by != 0 ? FLAG_ID : 0u) |
                     (tsuid.size > 0 ? FLAG_TSUID : 0u) |
                     (kind != s->kind ? FLAG_KIND : 0u);

    if (by != 0)
        set_id(s, id);
    if (ts_ms != expected_time(s))
        flags |= FLAG_TIME;
    if (!s->first && s->kind != WAL_DOUBLE)
        bits_put(&w->out, UINT64_C(1) << escape_of(s), escape_of(s) + 1);
    else if (!s->first)
        bits_put(&w->out, 1, 1);
    bits_put(&w->out, flags, 4);
    if (by != 0)
        put_sized(w, varint_zigzag(by));
    if (tsuid.size > 0) {
        /* As many bytes as the last one has, which are the same or follow; then
         * the others. */
        bits_put(&w->out, tsuid.size, 16);
        for (size_t i = 0; i < tsuid.size; i++) {
            bool same = i < s->tsuid_size && s->tsuid[i] == tsuid.data[i];

            bits_put(&w->out, same ? 1 : (uint64_t)tsuid.data[i] << 1,
                     same ? 1 : 9);
        }
        memcpy(s->tsuid, tsuid.data, tsuid.size);
        s->tsuid_size = (uint16_t)tsuid.size;
    }
    if ((flags & FLAG_TIME) != 0) {
        int64_t late_ms =
            (int64_t)((uint64_t)ts_ms - (uint64_t)expected_time(s));
        bool seconds = late_ms % 1000 == 0;

        bits_put(&w->out, seconds, 1);
        put_sized(w, varint_zigzag(seconds ? late_ms / 1000 : late_ms));
    }
    if (kind != s->kind) {
        bits_put(&w->out, kind, 4);
        set_kind(s, kind);
    }
    s->run = 0;
}

static __attribute__((noinline)) void
add_otherwise(struct wal_points_writer *w, uint32_t id, struct slice tsuid,
              const struct point *p)
{
    struct wal_points_state *s = &w->state;
    unsigned kind = WAL_INT, hole = NO_HOLE;
    int64_t v = p->v.i;

    if (!bits_room(&w->out, ENTRY_BITS + 9 * tsuid.size))
        return;
    if (p->is_float)
        kind = kind_of_double(p->v.d, s->decimal, &v);
    if (s->first || id != expected_id(s) || tsuid.size > 0 ||
        p->ts_ms != expected_time(s) || kind != s->kind)
        put_flags(w, id, tsuid, p->ts_ms, kind);
    else if (kind == WAL_DOUBLE)
        bits_put(&w->out, 0, 1);
    else
        hole = escape_of(s);
    came(s, id, p->ts_ms);
    if (kind == WAL_DOUBLE)
        bits_put_long(&w->out, (uint64_t)v, 64);
    else
        put_value(w, v, hole);
}

/* Most points are integers, of the series and at the time expected. */
void
wal_points_add(struct wal_points_writer *w, uint32_t id, struct slice tsuid,
               const struct point *p)
{
    struct wal_points_state *s = &w->state;

    if (id == expected_id(s) && p->ts_ms == expected_time(s) && !s->first &&
        !p->is_float && s->kind == WAL_INT && tsuid.size == 0 &&
        w->record.cap - w->record.size > ENTRY_BITS / 8 + 17) {
        unsigned hole = escape_of(s);

        came(s, id, p->ts_ms);
        put_value(w, p->v.i, hole);
    } else {
        add_otherwise(w, id, tsuid, p);
    }
}

struct slice
wal_points_end(struct wal_points_writer *w)
{
    if (!w->record.failed)
        bits_out_done(&w->out);
    return buf_slice(&w->record);
}

void
wal_points_fini(struct wal_points_writer *w)
{
    buf_fini(&w->record);
}

/* -- reading --------------------------------------------------------------- */

void
wal_points_read(struct wal_points_reader *r, struct slice record)
{
    r->c = cursor_of(record);
    r->bucket = cursor_u8(&r->c);
    r->in = bits_in_of(&r->c);
    state_init(&r->state);
    r->c.failed |= r->in.at == r->in.end; /* no points */
}

static int64_t
get_sized(struct bits_in *in)
{
    bits_fill(in);
    return varint_unzigzag(bits_get_long(in, (unsigned)bits_get(in, 6) + 1));
}

static bool
get_tsuid(struct wal_points_reader *r)
{
    struct wal_points_state *s = &r->state;
    size_t size = bits_get_long(&r->in, 16);

    if (size == 0 || size > sizeof s->tsuid)
        return false;
    for (size_t i = 0; i < size; i++) {
        bool same;

        bits_fill(&r->in);
        same = bits_get(&r->in, 1) != 0;
        if (same && i >= s->tsuid_size)
            return false;
        if (!same)
            s->tsuid[i] = (uint8_t)bits_get(&r->in, 8);
    }
    s->tsuid_size = (uint16_t)size;
    r->tsuid = slice_of(s->tsuid, size);
    return true;
}

static bool
get_kind(struct wal_points_reader *r)
{
    unsigned kind;

    bits_fill(&r->in);
    kind = (unsigned)bits_get(&r->in, 4);
    if (kind > WAL_DECIMAL_LAST && kind != WAL_DOUBLE)
        return false;
    set_kind(&r->state, kind);
    return true;
}

static __attribute__((noinline)) bool
get_flags(struct wal_points_reader *r, unsigned flags, uint32_t *id,
          int64_t *ts_ms)
{
    struct wal_points_state *s = &r->state;

    if ((flags & FLAG_ID) != 0) {
        *id += (uint32_t)get_sized(&r->in);
        set_id(s, *id);
        *ts_ms = expected_time(s);
    }
    if ((flags & FLAG_TSUID) != 0 && !get_tsuid(r))
        return false;
    if ((flags & FLAG_TIME) != 0) {
        uint64_t unit;

        bits_fill(&r->in);
        unit = bits_get(&r->in, 1) != 0 ? 1000 : 1;
        *ts_ms =
            (int64_t)((uint64_t)*ts_ms + (uint64_t)get_sized(&r->in) * unit);
    }
    return (flags & FLAG_KIND) == 0 || get_kind(r);
}

/* A number of zeros, and a one. */
static inline bool
get_zeros(struct bits_in *in, unsigned *zeros)
{
    bits_fill(in);
    *zeros = (unsigned)__builtin_ctzll(in->window | UINT64_C(2) << RICE_MAX);
    (void)bits_get(in, *zeros + 1);
    return *zeros <= RICE_MAX;
}

static inline int64_t
get_value(struct wal_points_reader *r, unsigned zeros, unsigned hole)
{
    struct wal_points_state *s = &r->state;
    unsigned low = low_bits(s->width);
    int64_t mean = s->mean;
    uint64_t z;

    if (zeros == RICE_MAX)
        z = bits_get_long(&r->in, (unsigned)bits_get(&r->in, 6) + 1);
    else
        z = (uint64_t)(zeros - (zeros > hole)) << low |
            (low <= 32 ? bits_get(&r->in, low) : bits_get_long(&r->in, low));
    learn(s, z);
    return (int64_t)((uint64_t)mean + (uint64_t)varint_unzigzag(z));
}

/* The value's zeros, of kinds that have such, or an escape: false when what
 * follows it is malformed. */
static inline bool
get_head(struct wal_points_reader *r, uint32_t *id, int64_t *ts_ms,
         unsigned *zeros, unsigned *hole)
{
    struct wal_points_state *s = &r->state;
    bool escaped = s->first;

    *hole = escape_of(s);
    if (!escaped && s->kind == WAL_DOUBLE)
        escaped = bits_get(&r->in, 1) != 0;
    else if (!escaped && !get_zeros(&r->in, zeros))
        return false;
    else if (!escaped)
        escaped = *zeros == *hole;
    if (!escaped)
        return true;
    bits_fill(&r->in);
    if (!get_flags(r, (unsigned)bits_get(&r->in, 4), id, ts_ms))
        return false;
    s->run = 0;
    *hole = NO_HOLE;
    return s->kind == WAL_DOUBLE || get_zeros(&r->in, zeros);
}

static bool
get_point(struct wal_points_reader *r)
{
    struct wal_points_state *s = &r->state;
    uint32_t id = expected_id(s);
    unsigned zeros = 0, hole;
    int64_t ts_ms = expected_time(s), v;
    struct point *p = &r->point;

    r->tsuid = slice_of(NULL, 0);
    if (!get_head(r, &id, &ts_ms, &zeros, &hole))
        return false;
    came(s, id, ts_ms);
    v = s->kind == WAL_DOUBLE ? (int64_t)bits_get_long(&r->in, 64)
                              : get_value(r, zeros, hole);
    p->ts_ms = ts_ms;
    p->is_float = s->kind != WAL_INT;
    p->v.i = v;
    if (p->is_float && s->kind != WAL_DOUBLE)
        p->v.d = block_decimal_value(v, s->kind - WAL_DECIMAL);
    return r->in.padding <= r->in.have;
}

/* Each point has a bit that is one, so fewer than eight zeros are the end. */
static bool
is_at_end(struct bits_in *in)
{
    bits_fill(in);
    return in->have - in->padding < 8 && in->at == in->end &&
           (in->window & bits_mask((unsigned)(in->have - in->padding))) == 0;
}

bool
wal_points_next(struct wal_points_reader *r)
{
    if (r->c.failed || is_at_end(&r->in))
        return false;
    r->c.failed = !get_point(r);
    return !r->c.failed;
}
