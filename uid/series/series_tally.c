#include "uid/series/series_tally.h"

#include "base/hash.h"
#include "base/sort.h"
#include "base/table.h"
#include "uid/series/series_index_priv.h"
#include "uid/series/series_priv.h"

struct counter {
    const struct key_layout *widths;
    const struct series_tally_query *q;
    struct hash_table table;
    struct series_tallies out;
    size_t cap;
    bool no_memory;
};

static bool
is_id(const void *all, uint32_t i, const void *id)
{
    return ((const struct series_tally *)all)[i].id == *(const uint64_t *)id;
}

/* Adds an element to the result.  Returns false if there is no memory. */
static bool
add_tally(struct counter *c, uint64_t id, uint64_t series)
{
    c->out.all = arena_grow(c->q->arena, c->out.all, c->out.len, &c->cap,
                            sizeof *c->out.all);
    c->no_memory = c->out.all == NULL;
    if (!c->no_memory)
        c->out.all[c->out.len++] = (struct series_tally){ id, series };
    return !c->no_memory;
}

static bool
count(struct counter *c, uint64_t id, uint64_t series)
{
    uint64_t hash = hash_u64(id);
    uint32_t at = table_find(&c->table, hash, is_id, c->out.all, &id);

    if (at != TABLE_NONE) {
        c->out.all[at].series += series;
        return true;
    }
    c->no_memory = !table_try_add(&c->table, hash, (uint32_t)c->out.len);
    return !c->no_memory && add_tally(c, id, series);
}

static bool
is_picked(const struct counter *c, struct slice tsuid,
          const struct series_pick *p)
{
    for (size_t i = 0; i < tsuid_tags(c->widths, tsuid); i++)
        if (tsuid_tagk_id(c->widths, tsuid, i) == p->tagk)
            return p->tagvs == NULL ||
                   sort_has_u64(p->tagvs, p->tagvs_len,
                                tsuid_tagv_id(c->widths, tsuid, i));
    return false;
}

static bool
count_series(void *ctx, struct slice tsuid)
{
    struct counter *c = ctx;
    bool on = true;

    for (size_t i = 0; i < c->q->picks_len; i++)
        if (!is_picked(c, tsuid, &c->q->picks[i]))
            return true;
    for (size_t i = 0; on && i < tsuid_tags(c->widths, tsuid); i++) {
        uint64_t tagk = tsuid_tagk_id(c->widths, tsuid, i);

        if (c->q->tagk == 0)
            on = count(c, tagk, 1);
        else if (c->q->tagk == tagk)
            on = count(c, tsuid_tagv_id(c->widths, tsuid, i), 1);
    }
    return on;
}

enum status
series_tally(struct series_directory *d, const struct series_tally_query *q,
             struct series_tallies *out, struct error *e)
{
    struct counter c = { .widths = &d->widths, .q = q };
    const struct series_visit visit = { count_series, &c, q->cancel };
    /* The pick with the fewest values, or one of any. */
    struct series_pick p = { 0, NULL, 0 };
    enum status st;

    OBJ_CHECK(d, SERIES_MAGIC);
    if (q->tagk == 0 && q->picks_len == 0) {
        struct series_tagk_set *sets;
        size_t len;
        bool on = true;

        st = series_tagk_sets(d, q->metric, false, q->arena, &sets, &len, e);
        for (size_t i = 0; st == ST_OK && i < len; i++)
            for (size_t k = 0; on && k < sets[i].tagks_len; k++)
                on = count(&c, sets[i].tagks[k], sets[i].series);
    } else {
        for (size_t i = 0; i < q->picks_len; i++)
            if (q->picks[i].tagvs != NULL &&
                (p.tagvs == NULL || q->picks[i].tagvs_len < p.tagvs_len))
                p = q->picks[i];
        st = series_each_with(d, q->metric, NULL, &p, &visit, e);
    }
    table_fini(&c.table);
    *out = c.out;
    return st == ST_OK && c.no_memory ? error_no_memory(e) : st;
}

enum status
series_added(struct series_directory *d, const struct series_tally_query *q,
             uint32_t since_s, struct series_tallies *out, struct error *e)
{
    struct counter c = { .widths = &d->widths, .q = q };
    uint8_t start[1 + 8];
    struct slice prefix =
        slice_of(start, key_series_of(&d->widths, q->metric, start));
    struct kv_iter *it;
    uint64_t steps = 0;
    enum status st;

    OBJ_CHECK(d, SERIES_MAGIC);
    it = kv_iter_open(store_kv(d->store), prefix);
    for (bool on = kv_iter_seek(it, prefix); on; on = kv_iter_next(it)) {
        struct slice key = kv_iter_key(it), value = kv_iter_value(it);
        uint64_t metric;

        if (++steps % KEYS_UNCHECKED == 0 && cancel_asked(q->cancel))
            break;
        if (value.size != 4 || key_get_uint(value.data, 4) < since_s)
            continue;
        metric = key_get_uint(key.data + 1, d->widths.metric_width);
        if (c.out.len > 0 && c.out.all[c.out.len - 1].id == metric)
            c.out.all[c.out.len - 1].series++;
        else if (!add_tally(&c, metric, 1))
            break;
    }
    *out = c.out;
    st = kv_iter_close(&it, e);
    return st == ST_OK && c.no_memory ? error_no_memory(e) : st;
}
