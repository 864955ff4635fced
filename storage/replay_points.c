/*
 * The journal's records of points, applied again after a crash
 * (docs/FORMAT.md, "Points"; store_points.c writes them and tells which of them
 * are passed over).
 */
#include "config.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "base/varint.h"
#include "storage/replay_priv.h"

#define SERIES_A_PAGE 1024
#define WAITING_MAX   32

/* -- what is known --------------------------------------------------------- */

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

struct replay_series *
replay_meaning(const struct replay_bucket *m, uint64_t index)
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

bool
replay_define(struct reading *x, uint64_t index, struct slice tsuid)
{
    struct head *h = &x->r->s->head;
    struct replay_series *s;

    if (!tsuid_is_valid(&x->r->s->shape, tsuid) ||
        head_bucket_of(h, tsuid) != x->bucket || index > UINT32_MAX)
        return false;
    s = &make_page(x->m, index / SERIES_A_PAGE)[index % SERIES_A_PAGE];
    s->series = head_series(h, x->bucket, tsuid);
    journaled_define(&s->journaled, (uint32_t)index);
    return true;
}

bool
replay_take(struct reading *x, struct head_series *s, struct point p)
{
    if (p.ts_ms < 0 || p.ts_ms > POINT_MAX_TS_MS ||
        !head_append(&x->r->s->head, x->bucket, s, NULL, p, x->segment,
                     x->now_s))
        return false;
    x->points++;
    return true;
}

/* -- numbers --------------------------------------------------------------- */

/* What a code says. */
enum code {
    CODE_NUMBER,
    CODE_ESCAPE,
    CODE_BAD,
};

/* A number, or the escape that lies at the quotient 'hole'. */
static inline __attribute__((always_inline)) enum code
get_number(struct bits_in *in, uint16_t *width, unsigned hole, uint64_t *out)
{
    unsigned low = journaled_low(*width), zeros;

    bits_fill(in);
    if (in->window == 0)
        return CODE_BAD;
    zeros = (unsigned)__builtin_ctzll(in->window);
    if (zeros > RICE_MAX + 1)
        return CODE_BAD;
    (void)bits_get(in, zeros + 1);
    if (zeros == hole)
        return CODE_ESCAPE;
    zeros -= zeros > hole;
    if (zeros < RICE_MAX)
        *out = (uint64_t)zeros << low |
               (low <= 32 ? bits_get(in, low) : bits_get_long(in, low));
    else if (zeros == RICE_MAX)
        *out = bits_get_long(in, (unsigned)bits_get(in, 6) + 1);
    else
        return CODE_BAD;
    journaled_learn(width, *out);
    return CODE_NUMBER;
}

static __attribute__((noinline)) bool
get_signed(struct bits_in *in, uint16_t *width, int64_t *out)
{
    uint64_t v = 0;
    bool good = get_number(in, width, ESCAPE_NONE, &v) == CODE_NUMBER;

    *out = varint_unzigzag(v);
    return good;
}

/* -- escapes --------------------------------------------------------------- */

/* A series that is not known: what builds on it is sealed, and so is what
 * follows, up to where the bucket begins anew. */
static void
pass_over(struct reading *x)
{
    x->m->begun = false;
    x->r->passed_over++;
}

static bool
is_known(const struct replay_series *s)
{
    return s != NULL && s->series != NULL;
}

static void
skip(struct reading *x)
{
    struct journaled_course *c = &x->m->course;
    const struct replay_series *s = replay_meaning(x->m, c->next);

    if (is_known(s))
        c->next = s->journaled.next;
    else
        pass_over(x);
}

static bool
jump(struct replay_bucket *m, struct bits_in *in)
{
    int64_t by;

    if (m->last == NULL || !get_signed(in, &m->course.jump_width, &by))
        return false;
    m->course.next += (uint32_t)by;
    m->last->journaled.next = m->course.next;
    return true;
}

static bool
get_tsuid(struct reading *x, struct bits_in *in) REQUIRES(x->bucket->lock)
{
    struct journaled_course *c = &x->m->course;
    size_t size = bits_get_long(in, 16);

    if (size > sizeof c->tsuid)
        return false;
    for (size_t i = 0; i < size; i++) {
        bool same;

        bits_fill(in);
        same = bits_get(in, 1) != 0;
        if (same && i >= c->tsuid_size)
            return false;
        if (!same)
            c->tsuid[i] = (uint8_t)bits_get(in, 8);
    }
    c->tsuid_size = (uint16_t)size;
    return in->padding <= in->have &&
           replay_define(x, c->next, slice_of(c->tsuid, size));
}

static bool
get_time(struct journaled_course *c, struct bits_in *in, int64_t *late_ms)
{
    bool seconds;

    bits_fill(in);
    seconds = bits_get(in, 1) != 0;
    return get_signed(in, &c->time_width, late_ms) &&
           (!seconds || !__builtin_mul_overflow(*late_ms, 1000, late_ms));
}

/* Another kind than before, which is one. */
static bool
get_kind(struct replay_series *s, struct bits_in *in)
{
    unsigned kind;

    bits_fill(in);
    kind = (unsigned)bits_get(in, 4);
    if (kind > KIND_DECIMAL_LAST && kind != KIND_DOUBLE)
        return false;
    journaled_turn(&s->journaled, kind);
    return true;
}

static __attribute__((noinline)) bool
get_escape(struct reading *x, struct bits_in *in, int64_t *late_ms)
    REQUIRES(x->bucket->lock)
{
    struct journaled_course *c = &x->m->course;
    unsigned ones;
    struct replay_series *s;

    bits_fill(in);
    ones = (unsigned)__builtin_ctzll(~in->window | 1u << ESCAPE_KIND);
    (void)bits_get(in, ones + (ones < ESCAPE_KIND));
    journaled_escaped(c);
    switch ((enum journaled_escape)ones) {
    case ESCAPE_TIME:
        return get_time(c, in, late_ms);
    case ESCAPE_SKIP:
        skip(x);
        return true;
    case ESCAPE_JUMP:
        return jump(x->m, in);
    case ESCAPE_DEFINE:
        return get_tsuid(x, in);
    case ESCAPE_KIND:
        s = replay_meaning(x->m, c->next);
        return s != NULL && get_kind(s, in);
    }
    return false;
}

/* -- entries --------------------------------------------------------------- */

/* What differs from the last double's bits. */
static bool
get_xored(struct bits_in *in, uint64_t *out)
{
    unsigned top, bottom;

    bits_fill(in);
    top = (unsigned)bits_get(in, 4);
    bottom = (unsigned)bits_get(in, 4);
    if (top + bottom >= 16)
        return false;
    *out = bits_get_long(in, 64 - 4 * (top + bottom)) << 4 * bottom;
    return true;
}

/* The value that a number says, as bits; 'in' has more of a double. */
static inline bool
get_value(struct bits_in *in, uint64_t number, struct journaled_series *x,
          uint64_t *bits)
{
    if (x->kind == KIND_DOUBLE) {
        uint64_t difference = 0;

        if (number > 1 || (number == 0 && !get_xored(in, &difference)))
            return false;
        x->last ^= difference;
    } else {
        x->last += (uint64_t)varint_unzigzag(number);
    }
    *bits = x->last;
    if (journaled_is_decimal(x->kind)) {
        double d =
            (double)(int64_t)x->last / journaled_powers[x->kind - KIND_DECIMAL];

        memcpy(bits, &d, sizeof d);
    }
    return true;
}

/* The index that a record starts with. */
static __attribute__((noinline)) bool
get_start(struct reading *x, struct bits_in *in) REQUIRES(x->bucket->lock)
{
    struct journaled_course *c = &x->m->course;
    struct replay_series *last = NULL;
    uint64_t which = 0;
    uint32_t oldest;
    int64_t by;

    if (get_number(in, &c->which_width, ESCAPE_NONE, &which) != CODE_NUMBER ||
        which > c->ends_len)
        return false;
    if (which < c->ends_len) {
        c->next = c->ends[which].next;
        journaled_drop_end(c, (unsigned)which);
        return true;
    }
    if (!get_signed(in, &c->start_width, &by))
        return false;
    c->next += (uint32_t)by;
    if (journaled_drop_oldest(c, &oldest))
        last = replay_meaning(x->m, oldest);
    if (last != NULL)
        last->journaled.next = c->next;
    return true;
}

/* The series that an entry is of, what its value's code says, and how late it
 * is; NULL when it is damaged, or passed over. */
static struct replay_series *
get_head(struct reading *x, struct bits_in *in, uint64_t *number,
         int64_t *late_ms) REQUIRES(x->bucket->lock)
{
    struct journaled_course *c = &x->m->course;
    struct replay_series *s;
    uint16_t none;
    enum code code;

    if (c->first && !get_start(x, in))
        return NULL;
    for (;;) {
        bool sized;

        s = replay_meaning(x->m, c->next);
        sized = s != NULL && s->journaled.kind != KIND_DOUBLE;
        none = 0;
        code = get_number(in, sized ? &s->journaled.width : &none,
                          journaled_escape_pos(c), number);
        if (code != CODE_ESCAPE)
            break;
        if (!get_escape(x, in, late_ms) || !x->m->begun)
            return NULL;
    }
    if (code == CODE_NUMBER && !is_known(s))
        pass_over(x);
    return code == CODE_NUMBER && is_known(s) ? s : NULL;
}

/* Points that were read wait here for others: a point that is put together in
 * memory and passed on as a whole at once would make the CPU wait for it. */
struct waiting {
    size_t len;
    struct head_series *series[WAITING_MAX];
    struct point points[WAITING_MAX];
};

static bool
take_waiting(struct reading *x, struct waiting *w) REQUIRES(x->bucket->lock)
{
    bool good = true;

    for (size_t i = 0; i < w->len && good; i++)
        good = replay_take(x, w->series[i], w->points[i]);
    w->len = 0;
    return good;
}

static inline bool
wait_for_more(struct reading *x, struct waiting *w, struct head_series *s,
              struct point p) REQUIRES(x->bucket->lock)
{
    w->series[w->len] = s;
    w->points[w->len++] = p;
    __builtin_prefetch(s->rows, 1);
    return w->len < WAITING_MAX || take_waiting(x, w);
}

static inline __attribute__((always_inline)) bool
read_entry(struct reading *x, struct bits_in *in, struct waiting *w)
    REQUIRES(x->bucket->lock)
{
    struct journaled_course *c = &x->m->course;
    struct replay_series *s;
    uint64_t number, bits, ts_ms;
    int64_t late_ms = 0;
    bool steps;

    s = get_head(x, in, &number, &late_ms);
    if (s == NULL || !get_value(in, number, &s->journaled, &bits))
        return false;
    ts_ms =
        (uint64_t)journaled_time(c, &s->journaled, &steps) + (uint64_t)late_ms;
    if (!wait_for_more(x, w, s->series,
                       (struct point){ (int64_t)ts_ms,
                                       { .i = (int64_t)bits },
                                       s->journaled.kind != KIND_INT }))
        return false;
    x->m->last = s;
    x->m->last_index = c->next;
    journaled_came(c, &s->journaled, (int64_t)ts_ms, steps);
    return true;
}

static bool
read_points(struct reading *x, struct cursor *c) REQUIRES(x->bucket->lock)
{
    struct bits_in in = bits_in_of(c);
    struct waiting w;

    w.len = 0;
    if (cursor_left(c) == 0)
        return false;
    bits_fill(&in);
    if (bits_get(&in, 1) != 0) {
        x->m->course = (struct journaled_course){ 0 };
        replay_begin(x);
    }
    x->segment = x->m->segment;
    x->m->course.first = true;
    x->m->last = NULL;
    /* Each entry has a one. */
    for (bits_fill(&in); x->m->begun && in.window != 0; bits_fill(&in))
        if (!read_entry(x, &in, &w) && x->m->begun)
            return false;
    if (x->m->begun) {
        bits_in_done(&in, c);
        if (c->failed || cursor_left(c) > 0)
            return false;
        if (x->m->last != NULL)
            journaled_end(&x->m->course, x->m->last_index, x->m->course.next);
    }
    return take_waiting(x, &w);
}

enum status
record_points_replay(struct replay *r, uint64_t segment, uint8_t type,
                     struct slice payload, struct error *e)
{
    struct cursor c = cursor_of(payload);
    unsigned bucket = record_points_bucket(type, &c);
    struct head *h = &r->s->head;
    struct reading x = { .r = r, .segment = segment, .now_s = store_now_s() };
    bool good;

    if (c.failed || bucket >= h->buckets_len)
        return error_set(e, ST_CORRUPT, "points of no salt bucket");
    x.bucket = &h->buckets[bucket];
    x.m = &r->buckets[bucket];
    lock_take(&x.bucket->lock);
    if (type == RECORD_PLAIN_POINTS)
        good = replay_plain(&x, cursor_bytes(&c, cursor_left(&c)));
    else if (type == RECORD_NIBBLES)
        good = replay_nibbles(&x, cursor_bytes(&c, cursor_left(&c)));
    else
        good = read_points(&x, &c);
    lock_drop(&x.bucket->lock);
    r->points += x.points;
    atomic_fetch_add(&h->points, x.points);
    return good ? ST_OK : error_set(e, ST_CORRUPT, "a record of points");
}
