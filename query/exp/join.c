#include "query/exp/join.h"

#include <endian.h>
#include <stdlib.h>

#define STEPS_OF_A_NAME   512 /* names of a series are looked up */
#define STEPS_OF_A_SERIES 64

/* A series of an operand, by what distinguishes it: ids as bytes, so that keys
 * sort as OpenTSDB's do. */
struct entry {
    struct slice key;
    size_t operand, series;
    size_t at; /* among the series of all operands */
};

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

/* Each once: parts of a split query, and operands, may name the same. */
static void
sort_names(struct id_name *names, size_t *len)
{
    size_t n = 0;

    qsort(names, *len, sizeof *names, compare_names);
    for (size_t i = 0; i < *len; i++)
        if (n == 0 || names[n - 1].id != names[i].id)
            names[n++] = names[i];
    *len = n;
}

static enum status
resolve(struct uid_table *uids, enum uid_kind kind, struct slice name,
        struct id_name *out, struct error *e)
{
    out->name = name;
    return uid_find(uids, kind, name, &out->id, e);
}

static enum status
describe(struct uid_table *uids, const struct result_group *g, struct arena *a,
         struct series_meta *out, struct error *e)
{
    enum status st = ST_OK;

    out->metrics = arena_array(a, 1, sizeof *out->metrics);
    out->tags = arena_array(a, g->tags_len, sizeof *out->tags);
    out->aggregate_tags =
        arena_array(a, g->aggregate_tags_len, sizeof *out->aggregate_tags);
    if (out->metrics == NULL || out->tags == NULL ||
        out->aggregate_tags == NULL)
        return error_no_memory(e);
    out->metrics_len = g->metric.size > 0;
    /* A series that was computed from a histogram has a name of its own, and
     * the histogram's metric. */
    if (out->metrics_len > 0 && g->tsuids_len > 0 &&
        (g->sub->percentiles_len > 0 || g->sub->show_histogram_buckets)) {
        out->metrics->id =
            key_get_uint(g->tsuids[0].data, uid_width(uids, UID_METRIC));
        st = uid_name_dup(uids, UID_METRIC, out->metrics->id, a,
                          &out->metrics->name, e);
    } else if (out->metrics_len > 0) {
        st = resolve(uids, UID_METRIC, g->metric, out->metrics, e);
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
    sort_names(out->aggregate_tags, &out->aggregate_tags_len);
    return st;
}

enum status
exp_list_read(const struct query_result *result, const struct sub_query *sub,
              struct uid_table *uids, struct deadline *deadline,
              struct arena *a, struct exp_list *out, struct error *e)
{
    const struct result_group *groups = result->groups;
    enum status st = ST_OK;
    size_t from = 0, to;

    while (from < result->groups_len && groups[from].sub != sub)
        from++;
    for (to = from; to < result->groups_len && groups[to].sub == sub;)
        to++;
    *out = (struct exp_list){
        .series = arena_array(a, to - from, sizeof *out->series),
    };
    if (out->series == NULL)
        return error_no_memory(e);
    for (; from < to && st == ST_OK; from++) {
        struct exp_series *s = &out->series[out->len++];

        s->base = &groups[from];
        s->dps = groups[from].dps;
        st = deadline_tick(deadline, STEPS_OF_A_NAME, e);
        if (st == ST_OK)
            st = describe(uids, s->base, a, &s->meta, e);
    }
    return st;
}

/* -- keys ------------------------------------------------------------------ */

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
    uint64_t *key =
        arena_array(a, m->tags_len * 2 + m->aggregate_tags_len, sizeof *key);
    size_t n = 0;

    if (key == NULL)
        return false;
    for (size_t i = 0; i < m->tags_len; i++) {
        if (o->use_query_tags && !is_queried(op, m->tags[i].key.id))
            continue;
        key[n++] = htobe64(m->tags[i].key.id);
        key[n++] = htobe64(m->tags[i].value.id);
    }
    if (o->include_agg_tags && m->tags_len > 0)
        for (size_t i = 0; i < m->aggregate_tags_len; i++)
            key[n++] = htobe64(m->aggregate_tags[i].id);
    *out = slice_of(key, n * sizeof *key);
    return true;
}

static int
compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int c = slice_cmp(x->key, y->key);

    return c != 0 ? c : (x->at > y->at) - (x->at < y->at);
}

/* NULL: it failed, and the error says why. */
static struct entry *
make_entries(const struct join_operand *operands, size_t len,
             const struct join_options *o, struct arena *a, size_t *entries_len,
             struct error *e)
{
    size_t n = 0;
    struct entry *list;
    enum status st = ST_OK;

    for (size_t i = 0; i < len; i++)
        n += operands[i].list.len;
    *entries_len = n;
    list = arena_array(a, n, sizeof *list);
    if (list == NULL)
        st = error_no_memory(e);
    n = 0;
    for (size_t i = 0; i < len; i++)
        for (size_t k = 0; k < operands[i].list.len && st == ST_OK; k++, n++) {
            list[n] = (struct entry){ .operand = i, .series = k, .at = n };
            st = make_key(&operands[i], &operands[i].list.series[k].meta, o, a,
                          &list[n].key)
                     ? deadline_tick(o->deadline, STEPS_OF_A_SERIES, e)
                     : error_no_memory(e);
        }
    if (st != ST_OK)
        return NULL;
    qsort(list, n, sizeof *list, compare_entries);
    return list;
}

/* -- results --------------------------------------------------------------- */

static void
add_names(struct id_name *to, size_t *to_len, const struct id_name *from,
          size_t len)
{
    if (len > 0)
        memcpy(to + *to_len, from, len * sizeof *to);
    *to_len += len;
}

static bool
make_meta(const struct join_operand *operands, size_t len, const size_t *picks,
          struct arena *a, struct series_meta *out)
{
    size_t metrics = 0, tagks = 0;

    for (size_t i = 0; i < len; i++)
        if (picks[i] != JOIN_NONE) {
            const struct series_meta *m =
                &operands[i].list.series[picks[i]].meta;

            metrics += m->metrics_len;
            tagks += m->aggregate_tags_len;
        }
    out->metrics = arena_array(a, metrics, sizeof *out->metrics);
    out->aggregate_tags = arena_array(a, tagks, sizeof *out->aggregate_tags);
    if (out->metrics == NULL || out->aggregate_tags == NULL)
        return false;
    for (size_t i = 0; i < len; i++) {
        const struct series_meta *m;

        if (picks[i] == JOIN_NONE)
            continue;
        m = &operands[i].list.series[picks[i]].meta;
        if (i == 0) {
            out->tags = m->tags;
            out->tags_len = m->tags_len;
        }
        add_names(out->metrics, &out->metrics_len, m->metrics, m->metrics_len);
        add_names(out->aggregate_tags, &out->aggregate_tags_len,
                  m->aggregate_tags, m->aggregate_tags_len);
    }
    sort_names(out->metrics, &out->metrics_len);
    sort_names(out->aggregate_tags, &out->aggregate_tags_len);
    return true;
}

/* Takes the entries of one key, the first 'n'.  Returns the first operand that
 * lacks it, or 'operands'. */
static size_t
pick_key(const struct entry *entries, size_t n, size_t operands, size_t *picks)
{
    size_t lacking = 0;

    for (size_t i = 0; i < operands; i++)
        picks[i] = JOIN_NONE;
    for (size_t i = 0; i < n; i++)
        picks[entries[i].operand] = entries[i].series;
    while (lacking < operands && picks[lacking] != JOIN_NONE)
        lacking++;
    return lacking;
}

/* Of a key that an operand lacks OpenTSDB puts out all series of the operands
 * behind that one, but only the last of each before it. */
enum status
join_series(const struct join_operand *operands, size_t len,
            const struct join_options *o, struct arena *a, struct joined *out,
            struct error *e)
{
    size_t entries_len = 0, n, room;
    struct entry *entries = make_entries(operands, len, o, a, &entries_len, e);
    enum status st = ST_OK;

    *out = (struct joined){ .operands = len };
    if (entries == NULL)
        return e->status;
    if (__builtin_mul_overflow(entries_len, len, &room))
        return error_no_memory(e);
    out->picks = arena_array(a, room, sizeof *out->picks);
    out->list.series = arena_array(a, entries_len, sizeof *out->list.series);
    out->is_left_out = arena_array(a, entries_len, sizeof *out->is_left_out);
    if (out->picks == NULL || out->list.series == NULL ||
        out->is_left_out == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < entries_len && st == ST_OK; i += n) {
        size_t *picks = out->picks + out->list.len * len, lacking;

        n = 1;
        while (n < (entries_len - i) &&
               slice_eq(entries[i].key, entries[i + n].key))
            n++;
        lacking = pick_key(&entries[i], n, len, picks);
        st = deadline_tick(o->deadline, STEPS_OF_A_SERIES + len, e);
        if (lacking == len || !o->intersection) {
            if (!make_meta(operands, len, picks, a,
                           &out->list.series[out->list.len++].meta))
                return error_no_memory(e);
            continue;
        }
        for (size_t k = i; k < i + n; k++)
            out->is_left_out[entries[k].at] =
                entries[k].operand > lacking ||
                picks[entries[k].operand] == entries[k].series;
    }
    /* Nothing at all is no failed intersection: OpenTSDB has an empty one. */
    if (st == ST_OK && o->intersection && out->list.len == 0 && entries_len > 0)
        return error_set(e, ST_INVALID, "No intersections found: %.*s",
                         SLICE_ARG(o->name));
    return st;
}
