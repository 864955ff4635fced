#include "uid/series/series_tally.h"

#include "base/hash.h"
#include "base/sort.h"
#include "base/table.h"
#include "uid/series/series_index_priv.h"
#include "uid/series/series_priv.h"

struct counter {
    const struct key_layout *widths;
    uint64_t tagk; /* 0: tagks are counted */
    const struct series_pick *picks;
    size_t picks_len;
    struct arena *arena;
    struct hash_table table;
    struct series_tally *all;
    size_t len, cap;
    bool no_memory;
};

static bool
is_id(const void *all, uint32_t i, const void *id)
{
    return ((const struct series_tally *)all)[i].id == *(const uint64_t *)id;
}

/* False: no memory. */
static bool
count(struct counter *c, uint64_t id, uint64_t series)
{
    uint64_t hash = hash_u64(id);
    uint32_t at = table_find(&c->table, hash, is_id, c->all, &id);

    if (at != TABLE_NONE) {
        c->all[at].series += series;
        return true;
    }
    c->all = arena_grow(c->arena, c->all, c->len, &c->cap, sizeof *c->all);
    c->no_memory =
        c->all == NULL || !table_try_add(&c->table, hash, (uint32_t)c->len);
    if (!c->no_memory)
        c->all[c->len++] = (struct series_tally){ id, series };
    return !c->no_memory;
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

    for (size_t i = 0; i < c->picks_len; i++)
        if (!is_picked(c, tsuid, &c->picks[i]))
            return true;
    for (size_t i = 0; on && i < tsuid_tags(c->widths, tsuid); i++) {
        uint64_t tagk = tsuid_tagk_id(c->widths, tsuid, i);

        if (c->tagk == 0)
            on = count(c, tagk, 1);
        else if (c->tagk == tagk)
            on = count(c, tsuid_tagv_id(c->widths, tsuid, i), 1);
    }
    return on;
}

static enum status
count_tagks(struct counter *c, struct series_directory *d, uint64_t metric,
            struct error *e)
{
    struct series_tagk_set *sets;
    size_t len;
    bool on = true;
    enum status st =
        series_tagk_sets(d, metric, false, c->arena, &sets, &len, e);

    for (size_t i = 0; st == ST_OK && i < len; i++)
        for (size_t k = 0; on && k < sets[i].tagks_len; k++)
            on = count(c, sets[i].tagks[k], sets[i].series);
    return st;
}

/* The pick with the fewest values, or one of any. */
static struct series_pick
narrowest(const struct counter *c)
{
    struct series_pick best = { 0, NULL, 0 };

    for (size_t i = 0; i < c->picks_len; i++)
        if (c->picks[i].tagvs != NULL &&
            (best.tagvs == NULL || c->picks[i].tagvs_len < best.tagvs_len))
            best = c->picks[i];
    return best;
}

enum status
series_tally(struct series_directory *d, uint64_t metric, uint64_t tagk,
             const struct series_pick *picks, size_t picks_len,
             struct cancel cancel, struct arena *a, struct series_tally **out,
             size_t *len, struct error *e)
{
    struct counter c = { .widths = &d->widths,
                         .tagk = tagk,
                         .picks = picks,
                         .picks_len = picks_len,
                         .arena = a };
    const struct series_visit visit = { count_series, &c, cancel };
    struct series_pick p = narrowest(&c);
    enum status st;

    OBJ_CHECK(d, SERIES_MAGIC);
    st = tagk == 0 && picks_len == 0
             ? count_tagks(&c, d, metric, e)
             : series_each_with(d, metric, NULL, p.tagk, p.tagvs, p.tagvs_len,
                                &visit, e);
    table_fini(&c.table);
    *out = c.all;
    *len = c.len;
    return st == ST_OK && c.no_memory ? error_no_memory(e) : st;
}

/* Adds an entry of the directory to its metric's, which is the last one. */
static bool
count_added(struct counter *c, uint64_t metric)
{
    if (c->len == 0 || c->all[c->len - 1].id != metric) {
        c->all = arena_grow(c->arena, c->all, c->len, &c->cap, sizeof *c->all);
        c->no_memory = c->all == NULL;
        if (c->no_memory)
            return false;
        c->all[c->len++] = (struct series_tally){ metric, 0 };
    }
    c->all[c->len - 1].series++;
    return true;
}

enum status
series_added(struct series_directory *d, uint64_t metric, uint32_t since_s,
             struct cancel cancel, struct arena *a, struct series_tally **out,
             size_t *len, struct error *e)
{
    struct counter c = { .widths = &d->widths, .arena = a };
    uint8_t start[1 + 8];
    struct slice prefix =
        slice_of(start, key_series_of(&d->widths, metric, start));
    struct kv_iter *it;
    uint64_t steps = 0;
    enum status st;

    OBJ_CHECK(d, SERIES_MAGIC);
    it = kv_iter_open(store_kv(d->store), prefix);
    for (bool on = kv_iter_seek(it, prefix); on; on = kv_iter_next(it)) {
        struct slice key = kv_iter_key(it), value = kv_iter_value(it);

        if (++steps % KEYS_UNCHECKED == 0 && cancel_asked(cancel))
            break;
        if (value.size == 4 && key_get_uint(value.data, 4) >= since_s &&
            !count_added(&c,
                         key_get_uint(key.data + 1, d->widths.metric_width)))
            break;
    }
    *out = c.all;
    *len = c.len;
    st = kv_iter_close(&it, e);
    return st == ST_OK && c.no_memory ? error_no_memory(e) : st;
}
