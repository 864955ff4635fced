#include "storage/store/cuts.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/process/clock.h"
#include "base/process/log.h"
#include "base/mem.h"

void
cuts_init(struct cuts *c)
{
    *c = (struct cuts){ .len = 0 };
    lock_init(&c->lock);
}

void
cuts_fini(struct cuts *c) NO_TS_CHECK
{
    free(c->list);
    lock_fini(&c->lock);
}

/* Of the first whose metric is not less. */
static size_t
cuts_find(const struct cuts *c, uint64_t metric) REQUIRES(c->lock)
{
    size_t from = 0, to = c->len;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (c->list[middle].metric < metric)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct cut
cuts_copy(struct cuts *c, uint64_t metric)
{
    struct cut found = { .metric = metric };
    size_t i;

    lock_take(&c->lock);
    i = cuts_find(c, metric);
    if (i < c->len && c->list[i].metric == metric)
        found = c->list[i];
    lock_drop(&c->lock);
    return found;
}

struct cut_times
cuts_get(struct cuts *c, uint64_t metric)
{
    return cuts_copy(c, metric).now;
}

struct cut_times
cuts_droppable(struct cuts *c, uint64_t metric)
{
    const struct cut found = cuts_copy(c, metric);

    return clock_monotonic_us() < found.since_us ? found.droppable : found.now;
}

void
cuts_raise(struct cuts *c, uint64_t metric, const struct cut_times *to,
           int64_t since_us)
{
    struct cut_times raised;
    struct cut *cut;
    size_t i;

    lock_take(&c->lock);
    i = cuts_find(c, metric);
    if (i == c->len || c->list[i].metric != metric) {
        c->list = mem_grow(c->list, c->len, &c->cap, sizeof *c->list);
        memmove(c->list + i + 1, c->list + i, (c->len - i) * sizeof *c->list);
        c->list[i] = (struct cut){ .metric = metric };
        c->len++;
    }
    cut = &c->list[i];
    raised = cut_times_max(&cut->now, to);
    if (raised.hourly_s < raised.alone_s &&
        atomic_load(&c->youngest_ms) < (int64_t)raised.alone_s * 1000)
        atomic_store(&c->youngest_ms, (int64_t)raised.alone_s * 1000);
    if (!cut_times_equal(&raised, &cut->now)) {
        if (clock_monotonic_us() >= cut->since_us)
            cut->droppable = cut->now;
        cut->now = raised;
        cut->since_us = since_us;
    }
    lock_drop(&c->lock);
}

/* Of raw points alone to the span of 'now_s'; where hourly values stay to its
 * week. */
static struct cut_times
lowered(const struct key_layout *layout, const struct cut_times *t,
        uint32_t now_s)
{
    struct cut_times to = *t;

    if (t->raw_s <= now_s)
        return to;
    to.raw_s = t->hourly_s < t->raw_s ? now_s - now_s % WEEK_S
                                      : key_span_base(layout, now_s);
    if (to.hourly_s > to.raw_s)
        to.hourly_s = to.raw_s;
    if (t->hourly_s == t->alone_s) /* nothing stood alone */
        to.alone_s = to.raw_s;
    return to;
}

bool
cuts_find_future(struct cuts *c, const struct key_layout *layout,
                 uint32_t now_s, uint64_t *metric, struct cut_times *to)
{
    bool found = false;

    lock_take(&c->lock);
    for (size_t i = cuts_find(c, *metric); i < c->len && !found; i++) {
        *to = lowered(layout, &c->list[i].now, now_s);
        found = !cut_times_equal(to, &c->list[i].now);
        *metric = c->list[i].metric;
    }
    lock_drop(&c->lock);
    return found;
}

void
cuts_lower(struct cuts *c, uint64_t metric, const struct cut_times *to)
{
    size_t i;

    lock_take(&c->lock);
    i = cuts_find(c, metric);
    if (i < c->len && c->list[i].metric == metric) {
        struct cut *cut = &c->list[i];
        struct cut_times *const both[] = { &cut->now, &cut->droppable };

        for (size_t k = 0; k < 2; k++) {
            if (both[k]->raw_s > to->raw_s)
                both[k]->raw_s = to->raw_s;
            if (both[k]->hourly_s > to->hourly_s)
                both[k]->hourly_s = to->hourly_s;
            if (both[k]->alone_s > to->alone_s)
                both[k]->alone_s = to->alone_s;
        }
    }
    lock_drop(&c->lock);
}

/* -- bytes ----------------------------------------------------------------- */

size_t
cuts_key(const struct key_layout *layout, uint64_t metric,
         uint8_t out[CUTS_KEY_MAX])
{
    out[0] = TABLE_RETENTION;
    key_put_uint(out + 1, metric, layout->metric_width);
    return 1u + layout->metric_width;
}

void
cuts_put(struct buf *out, const struct cut_times *t)
{
    bool has_fallen = t->alone_s != t->raw_s;

    buf_make_room(out, 12);
    buf_put_u32(out, t->raw_s);
    if (t->hourly_s != t->raw_s || has_fallen)
        buf_put_u32(out, t->hourly_s);
    if (has_fallen)
        buf_put_u32(out, t->alone_s);
}

enum status
cuts_parse(const struct key_layout *layout, struct slice key,
           struct slice value, uint64_t *metric, struct cut_times *out,
           struct error *e)
{
    bool two = value.size == 8, three = value.size == 12;

    if (key.size != 1u + layout->metric_width ||
        (value.size != 4 && !two && !three))
        return error_set(e, ST_CORRUPT,
                         "a cut with a key of %zu and a value of %zu bytes",
                         key.size, value.size);
    *metric = key_get_uint(key.data + 1, layout->metric_width);
    out->raw_s = out->hourly_s = (uint32_t)key_get_uint(value.data, 4);
    if (two || three)
        out->hourly_s = (uint32_t)key_get_uint(value.data + 4, 4);
    out->alone_s = out->raw_s;
    if (three)
        out->alone_s = (uint32_t)key_get_uint(value.data + 8, 4);
    if (three && (out->hourly_s > out->raw_s || out->raw_s >= out->alone_s))
        return error_set(e, ST_CORRUPT,
                         "cuts at %u and %u, of weeks that stand alone at %u",
                         (unsigned)out->raw_s, (unsigned)out->hourly_s,
                         (unsigned)out->alone_s);
    if (two && (out->raw_s % WEEK_S != 0 || out->hourly_s >= out->raw_s ||
                out->hourly_s != key_span_base(layout, out->hourly_s)))
        return error_set(e, ST_CORRUPT,
                         "cuts of raw points at %u and of hourly values at %u",
                         (unsigned)out->raw_s, (unsigned)out->hourly_s);
    return out->raw_s == key_span_base(layout, out->raw_s)
               ? ST_OK
               : error_set(e, ST_CORRUPT,
                           "a cut at %u, where no row of %u hours begins",
                           (unsigned)out->raw_s, layout->row_hours);
}

enum status
cuts_read(struct cuts *c, const struct key_layout *layout, struct kv *kv,
          int64_t since_us, struct error *e)
{
    const struct slice table = KEY_TABLE(TABLE_RETENTION);
    struct kv_iter *it = kv_iter_open(kv, table);
    struct cut_times cut;
    uint64_t metric;
    struct error why;

    for (bool on = kv_iter_seek(it, table); on; on = kv_iter_next(it)) {
        if (cuts_is_other_key(kv_iter_key(it)))
            continue;
        if (cuts_parse(layout, kv_iter_key(it), kv_iter_value(it), &metric,
                       &cut, &why) == ST_OK)
            cuts_raise(c, metric, &cut, since_us);
        else
            log_error("store", "%s is skipped (see: halite fsck)", why.text);
    }
    atomic_store(&c->read_us, clock_monotonic_us());
    return kv_iter_close(&it, e);
}
