/*
 * The UID table, both ways.
 *
 * Its two directions lie in different orders, and may not fit into memory.  So
 * one pass adds up a hash of each pair, seen from either side; only when the
 * sums differ does a second one look each name up.
 */
#include "config.h"

#include "uid/fsck/uid_fsck_priv.h"

#include "base/hash.h"

static const uint8_t kind_bytes[UID_KINDS] = { 'm', 'k', 'v' };

/* Sums of the pairs, seen as id -> name and as name -> id. */
struct sums {
    uint64_t by_id, by_name, seed;
};

struct names {
    struct tables *t;
    enum uid_kind kind;
    unsigned width;
    uint64_t counter;
    bool has_counter;
    struct sums sums;
};

typedef enum status names_fn(struct names *n, struct slice key,
                             struct slice value, struct error *e);

static enum status
each(struct names *n, char what, names_fn *f, struct error *e)
{
    const uint8_t prefix[] = { TABLE_UID, kind_bytes[n->kind], (uint8_t)what };
    struct slice from = slice_of(prefix, sizeof prefix);
    struct kv_iter *it = kv_iter_open(n->t->kv, slice_str(""));
    enum status st = ST_OK, closed;

    for (bool on = kv_iter_seek(it, from);
         on && st == ST_OK && slice_starts(kv_iter_key(it), from);
         on = kv_iter_next(it)) {
        st = f(n, kv_iter_key(it), kv_iter_value(it), e);
        if (st == ST_OK)
            st = check_flush(n->t, false, e);
    }
    closed = kv_iter_close(&it, st == ST_OK ? e : NULL);
    return st == ST_OK ? closed : st;
}

static uint64_t
pair(const struct names *n, uint64_t id, struct slice name)
{
    uint64_t h = hash_slice(name, n->sums.seed);
    uint64_t both[2] = { h, id };

    return hash_bytes(both, sizeof both, n->sums.seed);
}

static struct slice
name_of(struct slice key)
{
    return slice_of(key.data + 3, key.size - 3);
}

static bool
is_id_entry(const struct names *n, struct slice key, uint64_t *id)
{
    if (key.size != 3 + n->width)
        return false;
    *id = key_get_uint(key.data + 3, n->width);
    return *id != 0;
}

static bool
is_name_entry(const struct names *n, struct slice key, struct slice value,
              uint64_t *id)
{
    if (key.size == 3 || value.size != n->width + 4)
        return false;
    *id = key_get_uint(value.data, n->width);
    return *id != 0;
}

/* -- the first pass -------------------------------------------------------- */

static enum status
take_counter(struct names *n, struct slice key, struct slice value,
             struct error *e)
{
    (void)e;
    if (key.size == 3 && value.size == 8) {
        n->counter = key_get_uint(value.data, 8);
        n->has_counter = true;
    } else
        check_drops_bad(n->t, "uid-entry", key, value, "a counter of %zu bytes",
                        value.size);
    return ST_OK;
}

static enum status
take_id(struct names *n, struct slice key, struct slice value, struct error *e)
{
    struct tables *t = n->t;
    uint64_t id;

    (void)e;
    t->n.names++;
    if (!is_id_entry(n, key, &id)) {
        check_drops_bad(t, "uid-entry", key, value,
                        "the key of an id of %s has %zu bytes",
                        uid_kind_name(n->kind), key.size);
        return ST_OK;
    }
    id_ranges_add(&t->ids[n->kind], id);
    if (id > t->highest[n->kind])
        t->highest[n->kind] = id;
    if (value.size > 0) /* else the name was deleted */
        n->sums.by_id += pair(n, id, value);
    return ST_OK;
}

static enum status
take_name(struct names *n, struct slice key, struct slice value,
          struct error *e)
{
    uint64_t id;

    (void)e;
    if (is_name_entry(n, key, value, &id))
        n->sums.by_name += pair(n, id, name_of(key));
    else
        check_drops_bad(n->t, "uid-entry", key, value,
                        "the entry of a name of %s has %zu bytes",
                        uid_kind_name(n->kind), value.size);
    return ST_OK;
}

/* -- the second pass ------------------------------------------------------- */

static struct slice
id_key(const struct names *n, uint64_t id, uint8_t out[11])
{
    out[0] = TABLE_UID;
    out[1] = kind_bytes[n->kind];
    out[2] = 'i';
    key_put_uint(out + 3, id, n->width);
    return slice_of(out, 3 + n->width);
}

static void
put_forward(struct names *n, struct buf *key, uint64_t id)
{
    uint8_t entry[12] = { 0 };

    key_put_uint(entry, id, n->width); /* when it was given is not known */
    check_puts(n->t, buf_slice(key), slice_of(entry, n->width + 4));
}

/* An id whose name leads nowhere, or to another id. */
static enum status
judge_id(struct names *n, struct slice key, struct slice name, struct error *e)
{
    struct buf forward = BUF_INIT, value = BUF_INIT;
    struct log_quoted quoted = log_quote_bytes(name);
    bool repairs = check_repairs(n->t);
    uint64_t id, other;
    enum status st = ST_OK;

    if (!is_id_entry(n, key, &id) || name.size == 0)
        return ST_OK;
    buf_put_slice(&forward, slice_of(key.data, 2));
    buf_put_u8(&forward, 'n');
    buf_put_slice(&forward, name);
    st = check_get(n->t, buf_slice(&forward), &value, e);
    if (st == ST_NOT_FOUND ||
        (st == ST_OK &&
         !is_name_entry(n, buf_slice(&forward), buf_slice(&value), &other))) {
        if (repairs)
            put_forward(n, &forward, id);
        check_says(n->t, "uid-no-id", key,
                   repairs ? "it leads there again" : NULL,
                   "the name %s of %s does not lead back to its id",
                   quoted.text, uid_kind_name(n->kind));
        st = ST_OK;
    } else if (st == ST_OK && other != id) {
        if (repairs)
            check_drops(n->t, key, name);
        if (repairs)
            check_puts(n->t, key, slice_of("", 0));
        check_says(n->t, "uid-two-ids", key,
                   repairs ? "the id counts as deleted" : NULL,
                   "the name %s of %s leads to another id", quoted.text,
                   uid_kind_name(n->kind));
    }
    buf_fini(&forward);
    buf_fini(&value);
    return st;
}

/* A name whose id has no name, or another one. */
static enum status
judge_name(struct names *n, struct slice key, struct slice value,
           struct error *e)
{
    struct log_quoted quoted = log_quote_bytes(name_of(key));
    struct buf name = BUF_INIT;
    bool repairs = check_repairs(n->t);
    uint8_t back[11];
    uint64_t id;
    enum status st;

    if (!is_name_entry(n, key, value, &id))
        return ST_OK;
    st = check_get(n->t, id_key(n, id, back), &name, e);
    if (st == ST_NOT_FOUND) {
        if (repairs)
            check_puts(n->t, id_key(n, id, back), name_of(key));
        check_says(n->t, "uid-no-name", key, repairs ? "it has it again" : NULL,
                   "the id of the name %s of %s has no name", quoted.text,
                   uid_kind_name(n->kind));
        st = ST_OK;
    } else if (st == ST_OK && !slice_eq(buf_slice(&name), name_of(key)))
        check_drops_bad(n->t, "uid-two-names", key, value,
                        "the id of the name %s of %s has another one",
                        quoted.text, uid_kind_name(n->kind));
    buf_fini(&name);
    return st;
}

/* Ids that only names know of are in use as well; the ranges want them in
 * order. */
static enum status
collect(struct names *n, struct slice key, struct slice value, struct error *e)
{
    struct id_ranges *r = &n->t->ids[n->kind];
    uint64_t id;

    (void)e;
    if (!is_name_entry(n, key, value, &id) || id_ranges_have(r, id))
        return ST_OK;
    id_ranges_insert(r, id);
    if (id > n->t->highest[n->kind])
        n->t->highest[n->kind] = id;
    return ST_OK;
}

/* -- counters -------------------------------------------------------------- */

/* Metrics may have ids at random, far above; who counts looks whether they are
 * taken. */
static void
judge_counter(struct names *n)
{
    const uint8_t key[] = { TABLE_UID, kind_bytes[n->kind], 'c' };
    uint64_t highest = n->t->highest[n->kind];
    uint8_t value[8];

    if (n->kind == UID_METRIC || n->counter >= highest)
        return;
    key_put_uint(value, highest, 8);
    if (check_repairs(n->t))
        check_puts(n->t, slice_of(key, 3), slice_of(value, 8));
    check_says(n->t, "uid-counter", slice_of(key, 3),
               check_repairs(n->t) ? "set to the highest id" : NULL,
               "the counter of %s says %llu, and there is an id %llu",
               uid_kind_name(n->kind), (unsigned long long)n->counter,
               (unsigned long long)highest);
}

static enum status
check_kind(struct tables *t, enum uid_kind kind, struct error *e)
{
    const unsigned widths[UID_KINDS] = { t->layout->metric_width,
                                         t->layout->tagk_width,
                                         t->layout->tagv_width };
    struct names n = { .t = t, .kind = kind, .width = widths[kind] };
    enum status st;

    n.sums.seed = hash_random_seed();
    st = each(&n, 'c', take_counter, e);
    if (st == ST_OK)
        st = each(&n, 'i', take_id, e);
    if (st == ST_OK)
        st = each(&n, 'n', take_name, e);
    if (st == ST_OK && n.sums.by_id != n.sums.by_name) {
        st = each(&n, 'i', judge_id, e);
        if (st == ST_OK)
            st = each(&n, 'n', judge_name, e);
        if (st == ST_OK)
            st = each(&n, 'n', collect, e);
    }
    if (st == ST_OK)
        judge_counter(&n);
    return st;
}

/* What lies between. */
static enum status
other(struct tables *t, struct slice key, struct slice value, struct error *e)
{
    (void)e;
    if (key.size < 3 || memchr("mkv", key.data[1], 3) == NULL ||
        memchr("cin", key.data[2], 3) == NULL)
        check_drops_bad(t, "uid-entry", key, value,
                        "neither a name nor an id nor a counter");
    return ST_OK;
}

enum status
check_names(struct tables *t, struct error *e)
{
    const uint8_t table[] = { TABLE_UID };
    enum status st = ST_OK;

    for (int kind = 0; kind < UID_KINDS && st == ST_OK; kind++)
        st = check_kind(t, (enum uid_kind)kind, e);
    return st == ST_OK ? check_each(t, slice_of(table, 1), other, e) : st;
}
