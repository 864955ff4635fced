/* See query/exp/join.h. */
#include "config.h"

#include "query/exp/join.h"

#include <stdlib.h>

#define STEPS_OF_A_SERIES 64

/* A series of an operand, by what tells it apart: ids as bytes, so that keys
 * sort as OpenTSDB's do. */
struct entry {
    struct slice key;
    size_t operand, series;
};

static enum status
no_memory(struct error *e)
{
    return error_set(e, ST_LIMIT, "the expression needs too much memory");
}

/* -- what series are called ------------------------------------------------ */

static int
compare_names(const void *a, const void *b)
{
    const struct id_name *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static int
compare_tags(const void *a, const void *b)
{
    const struct id_tag *x = a, *y = b;

    return compare_names(&x->key, &y->key);
}

/* The parts of a split query may name the same key. */
static size_t
drop_repeated(struct id_name *names, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        if (n == 0 || names[n - 1].id != names[i].id)
            names[n++] = names[i];
    return n;
}

static enum status
resolve(struct uid_table *uids, enum uid_kind kind, struct slice name,
        struct id_name *out, struct error *e)
{
    out->name = name;
    return uid_find(uids, kind, name, &out->id, e);
}

static bool
is_of_histogram(const struct result_group *g)
{
    return g->sub != NULL && g->tsuids_len > 0 &&
           (g->sub->percentiles_len > 0 || g->sub->show_histogram_buckets);
}

/* What is made of a histogram has a name of its own; its metric is the
 * histogram's. */
static enum status
name_histogram(struct uid_table *uids, const struct result_group *g,
               struct arena *a, struct id_name *out, struct error *e)
{
    out->id = key_get_uint(g->tsuids[0].data, uid_width(uids, UID_METRIC));
    return uid_name_dup(uids, UID_METRIC, out->id, a, &out->name, e);
}

enum status
series_meta_of(struct uid_table *uids, const struct result_group *g,
               struct arena *a, struct series_meta *out, struct error *e)
{
    enum status st = ST_OK;

    *out = (struct series_meta){ 0 };
    out->metrics = arena_array(a, 1, sizeof *out->metrics);
    out->tags = arena_array(a, g->tags_len, sizeof *out->tags);
    out->aggregate_tags =
        arena_array(a, g->aggregate_tags_len, sizeof *out->aggregate_tags);
    if (out->metrics == NULL || out->tags == NULL ||
        out->aggregate_tags == NULL)
        return no_memory(e);
    if (g->metric.size > 0) {
        st = is_of_histogram(g)
                 ? name_histogram(uids, g, a, &out->metrics[0], e)
                 : resolve(uids, UID_METRIC, g->metric, &out->metrics[0], e);
        out->metrics_len = 1;
    }
    for (size_t i = 0; i < g->tags_len && st == ST_OK; i++) {
        struct id_tag *t = &out->tags[out->tags_len++];

        st = resolve(uids, UID_TAGK, g->tag_keys[i], &t->key, e);
        if (st == ST_OK)
            st = resolve(uids, UID_TAGV, g->tag_values[i], &t->value, e);
    }
    for (size_t i = 0; i < g->aggregate_tags_len && st == ST_OK; i++)
        st = resolve(uids, UID_TAGK, g->aggregate_tags[i],
                     &out->aggregate_tags[out->aggregate_tags_len++], e);
    qsort(out->tags, out->tags_len, sizeof *out->tags, compare_tags);
    qsort(out->aggregate_tags, out->aggregate_tags_len,
          sizeof *out->aggregate_tags, compare_names);
    out->aggregate_tags_len =
        drop_repeated(out->aggregate_tags, out->aggregate_tags_len);
    return st;
}

static enum status
spend(const struct join_options *o, size_t steps, struct error *e)
{
    return o->deadline == NULL ? ST_OK : deadline_tick(o->deadline, steps, e);
}

/* -- keys ------------------------------------------------------------------ */

static uint8_t *
put_id(uint8_t *p, uint64_t id)
{
    for (int shift = 56; shift >= 0; shift -= 8)
        *p++ = (uint8_t)(id >> shift);
    return p;
}

static bool
is_queried(const struct join_operand *o, uint64_t tagk)
{
    for (size_t i = 0; i < o->query_tagks_len; i++)
        if (o->query_tagks[i] == tagk)
            return true;
    return false;
}

/* A series without tags has an empty key, whatever it aggregates. */
static bool
make_key(const struct join_operand *op, const struct series_meta *m,
         const struct join_options *o, struct arena *a, struct slice *out)
{
    uint8_t *key = arena_alloc(
        a, (m->tags_len * 2 + m->aggregate_tags_len) * sizeof(uint64_t) + 1);
    uint8_t *p = key;

    if (key == NULL)
        return false;
    for (size_t i = 0; i < m->tags_len; i++) {
        if (o->use_query_tags && !is_queried(op, m->tags[i].key.id))
            continue;
        p = put_id(p, m->tags[i].key.id);
        p = put_id(p, m->tags[i].value.id);
    }
    if (o->include_agg_tags && m->tags_len > 0)
        for (size_t i = 0; i < m->aggregate_tags_len; i++)
            p = put_id(p, m->aggregate_tags[i].id);
    *out = slice_of(key, (size_t)(p - key));
    return true;
}

static int
compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int c = slice_cmp(x->key, y->key);

    if (c != 0)
        return c;
    if (x->operand != y->operand)
        return x->operand < y->operand ? -1 : 1;
    return (x->series > y->series) - (x->series < y->series);
}

static enum status
make_entries(const struct join_operand *operands, size_t len,
             const struct join_options *o, struct arena *a,
             struct entry **entries, size_t *entries_len, struct error *e)
{
    size_t total = 0, n = 0;
    struct entry *list;

    for (size_t i = 0; i < len; i++)
        total += operands[i].len;
    list = arena_array(a, total, sizeof *list);
    if (list == NULL)
        return no_memory(e);
    for (size_t i = 0; i < len; i++)
        for (size_t k = 0; k < operands[i].len; k++, n++) {
            enum status st = spend(o, STEPS_OF_A_SERIES, e);

            if (st != ST_OK)
                return st;
            list[n] = (struct entry){ .operand = i, .series = k };
            if (!make_key(&operands[i], &operands[i].series[k], o, a,
                          &list[n].key))
                return no_memory(e);
        }
    qsort(list, n, sizeof *list, compare_entries);
    *entries = list;
    *entries_len = n;
    return ST_OK;
}

/* -- results --------------------------------------------------------------- */

/* Adds those that are new, in order. */
static size_t
add_names(struct id_name *to, size_t len, const struct id_name *from,
          size_t from_len)
{
    for (size_t i = 0; i < from_len; i++) {
        size_t at = 0;

        while (at < len && to[at].id < from[i].id)
            at++;
        if (at < len && to[at].id == from[i].id)
            continue;
        memmove(&to[at + 1], &to[at], (len - at) * sizeof *to);
        to[at] = from[i];
        len++;
    }
    return len;
}

static bool
make_meta(const struct join_operand *operands, size_t len, const size_t *picks,
          struct arena *a, struct series_meta *out)
{
    size_t metrics = 0, tagks = 0;

    *out = (struct series_meta){ 0 };
    for (size_t i = 0; i < len; i++)
        if (picks[i] != JOIN_NONE) {
            metrics += operands[i].series[picks[i]].metrics_len;
            tagks += operands[i].series[picks[i]].aggregate_tags_len;
        }
    out->metrics = arena_array(a, metrics, sizeof *out->metrics);
    out->aggregate_tags = arena_array(a, tagks, sizeof *out->aggregate_tags);
    if (out->metrics == NULL || out->aggregate_tags == NULL)
        return false;
    for (size_t i = 0; i < len; i++) {
        const struct series_meta *m;

        if (picks[i] == JOIN_NONE)
            continue;
        m = &operands[i].series[picks[i]];
        if (i == 0) {
            out->tags = m->tags;
            out->tags_len = m->tags_len;
        }
        out->metrics_len = add_names(out->metrics, out->metrics_len, m->metrics,
                                     m->metrics_len);
        out->aggregate_tags_len =
            add_names(out->aggregate_tags, out->aggregate_tags_len,
                      m->aggregate_tags, m->aggregate_tags_len);
    }
    return true;
}

/* Takes the entries of one key, the first 'n'; false if the operands do not all
 * have it and must. */
static bool
pick_key(const struct entry *entries, size_t n, size_t operands,
         const struct join_options *o, size_t *picks)
{
    bool all = true;

    for (size_t i = 0; i < operands; i++)
        picks[i] = JOIN_NONE;
    for (size_t i = 0; i < n; i++)
        picks[entries[i].operand] = entries[i].series;
    for (size_t i = 0; i < operands; i++)
        all = all && picks[i] != JOIN_NONE;
    return all || !o->intersection;
}

static bool
make_left_out(const struct join_operand *operands, size_t len, struct arena *a,
              struct joined *out)
{
    out->is_left_out = arena_array(a, len, sizeof *out->is_left_out);
    for (size_t i = 0; i < len && out->is_left_out != NULL; i++) {
        out->is_left_out[i] =
            arena_array(a, operands[i].len, sizeof *out->is_left_out[i]);
        if (out->is_left_out[i] == NULL)
            return false;
    }
    return out->is_left_out != NULL;
}

/* A key that an operand lacks: OpenTSDB puts out all series that have it of the
 * operands behind that one, but only the last of each before it. */
static void
join_drop(const struct entry *entries, size_t n, const size_t *picks,
          struct joined *out)
{
    size_t lacking = 0;

    while (picks[lacking] != JOIN_NONE)
        lacking++;
    for (size_t i = 0; i < n; i++) {
        size_t operand = entries[i].operand, series = entries[i].series;

        out->is_left_out[operand][series] =
            operand > lacking || picks[operand] == series;
    }
}

static size_t
same_key(const struct entry *entries, size_t len)
{
    size_t n = 1;

    while (n < len && slice_eq(entries[0].key, entries[n].key))
        n++;
    return n;
}

enum status
join_series(const struct join_operand *operands, size_t len,
            const struct join_options *o, struct arena *a, struct joined *out,
            struct error *e)
{
    struct entry *entries = NULL;
    size_t entries_len = 0, n, room;
    enum status st =
        make_entries(operands, len, o, a, &entries, &entries_len, e);

    *out = (struct joined){ .operands = len };
    if (st != ST_OK)
        return st;
    if (__builtin_mul_overflow(entries_len, len, &room))
        return no_memory(e);
    out->picks = arena_array(a, room, sizeof *out->picks);
    out->meta = arena_array(a, entries_len, sizeof *out->meta);
    if (out->picks == NULL || out->meta == NULL ||
        !make_left_out(operands, len, a, out))
        return no_memory(e);
    for (size_t i = 0; i < entries_len && st == ST_OK; i += n) {
        size_t *picks = out->picks + out->len * len;

        st = spend(o, STEPS_OF_A_SERIES + len, e);
        n = same_key(&entries[i], entries_len - i);
        if (!pick_key(&entries[i], n, len, o, picks)) {
            join_drop(&entries[i], n, picks, out);
            continue;
        }
        if (!make_meta(operands, len, picks, a, &out->meta[out->len++]))
            return no_memory(e);
    }
    if (st != ST_OK)
        return st;
    /* Nothing at all is no failed intersection: OpenTSDB has an empty one. */
    if (o->intersection && out->len == 0 && entries_len > 0)
        return error_set(e, ST_INVALID, "No intersections found: %.*s",
                         SLICE_ARG(o->name));
    return ST_OK;
}
