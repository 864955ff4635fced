/* Annotations in the store.  The TSUID's size leads its bytes in the key, so
 * that one TSUID being a prefix of another cannot mix their notes. */
#include "uid/meta/annotation.h"

#include <stdlib.h>

#include "base/cursor.h"

#define DELETE_AT_ONCE 1000

int64_t
annotation_ms(int64_t time)
{
    return time > UINT32_MAX || time < 0 ? time : time * 1000;
}

static enum status
check(struct slice tsuid, int64_t start, struct error *e)
{
    if (start < 1)
        return error_set(e, ST_INVALID, "The start timestamp has not been set");
    if (tsuid.size > TSUID_MAX)
        return error_set(e, ST_INVALID, "TSUID of %zu bytes", tsuid.size);
    return ST_OK;
}

/* -- bytes ----------------------------------------------------------------- */

size_t
annotation_key(struct slice tsuid, int64_t ms, uint8_t *out)
{
    size_t n = 0;

    INSIST(tsuid.size <= TSUID_MAX);
    out[n++] = TABLE_ANNOTATIONS;
    key_put_uint(out + n, tsuid.size, 2);
    n += 2;
    if (tsuid.size > 0)
        memcpy(out + n, tsuid.data, tsuid.size);
    n += tsuid.size;
    key_put_uint(out + n, (uint64_t)ms, 8);
    return n + 8;
}

enum status
annotation_key_parse(struct slice key, struct slice *tsuid, int64_t *ms,
                     struct error *e)
{
    struct cursor c = cursor_of(key);

    (void)cursor_u8(&c);
    *tsuid = cursor_bytes(&c, cursor_u16(&c));
    *ms = (int64_t)cursor_u64(&c);
    if (c.failed || cursor_left(&c) > 0 || *ms < 0)
        return error_set(e, ST_CORRUPT, "annotation key of %zu bytes",
                         key.size);
    return ST_OK;
}

static const struct record_field note_fields[] = {
    RECORD(UINT, annotation, start, "startTime", 0),
    RECORD(INT, annotation, end, "endTime", ANNOTATION_END),
    RECORD(TEXT_OR_NULL, annotation, description, "description",
           ANNOTATION_DESCRIPTION),
    RECORD(TEXT_OR_NULL, annotation, notes, "notes", ANNOTATION_NOTES),
    RECORD(PAIRS, annotation, custom, "custom", ANNOTATION_CUSTOM),
};

const struct record_format annotation_format = {
    "annotation",
    "annotation",
    note_fields,
    sizeof note_fields / sizeof note_fields[0],
};

enum status
annotation_decode(struct slice bytes, struct arena *arena,
                  struct annotation *out, struct error *e)
{
    enum status st = record_decode(&annotation_format, bytes, arena, out, e);

    return st == ST_OK && out->start < 1
               ? error_set(e, ST_CORRUPT, "annotation that starts at 0")
               : st;
}

/* -- one ------------------------------------------------------------------- */

/* ST_NOT_FOUND without a text. */
static enum status
read_note(struct records *r, struct slice tsuid, int64_t start,
          struct arena *arena, struct annotation *out, struct error *e)
{
    uint8_t key[ANNOTATION_KEY_MAX];
    size_t size = annotation_key(tsuid, annotation_ms(start), key);

    out->tsuid = tsuid;
    return record_read(r, slice_of(key, size), &annotation_format, arena, out,
                       e);
}

enum status
annotation_get(struct records *r, struct slice tsuid, int64_t start,
               struct arena *arena, struct annotation *out, struct error *e)
{
    enum status st;

    st = check(tsuid, start, e);
    if (st == ST_OK)
        st = read_note(r, tsuid, start, arena, out, e);
    if (st == ST_NOT_FOUND)
        return error_set(e, st, "Unable to locate annotation in storage");
    return st;
}

/* A pair and where it stood: of equal keys the last one wins. */
struct placed {
    struct tag pair;
    size_t at;
};

static int
compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    int c = slice_cmp(x->pair.key, y->pair.key);

    return c != 0 ? c : (x->at > y->at) - (x->at < y->at);
}

static bool
sort_custom(struct text_pairs *custom, struct arena *arena)
{
    struct placed *all = arena_array(arena, custom->len, sizeof *all);
    struct tag *sorted = arena_array(arena, custom->len, sizeof *sorted);
    size_t len = 0;

    if (all == NULL || sorted == NULL)
        return false;
    for (size_t i = 0; i < custom->len; i++)
        all[i] = (struct placed){ custom->pairs[i], i };
    if (custom->len > 0)
        qsort(all, custom->len, sizeof *all, compare_placed);
    for (size_t i = 0; i < custom->len; i++) {
        if (len > 0 && slice_eq(sorted[len - 1].key, all[i].pair.key))
            len--;
        sorted[len++] = all[i].pair;
    }
    custom->pairs = sorted;
    custom->len = len;
    return true;
}

enum status
annotation_put(struct records *r, struct annotation *n,
               const struct record_change *c, bool *changed, struct error *e)
{
    const struct annotation none = { .description = slice_str(""),
                                     .notes = slice_str("") };
    uint8_t key[ANNOTATION_KEY_MAX];
    struct annotation old;
    struct kv_batch *b;
    enum status st;

    *changed = false;
    st = check(n->tsuid, n->start, e);
    if (st != ST_OK)
        return st;
    record_merge(&annotation_format, n, &none, ~c->fields);
    if (record_given(&annotation_format, n) == 0)
        return ST_OK;
    if (!sort_custom(&n->custom, c->arena))
        return error_no_memory(e);
    st = records_annotate(r, e);
    if (st != ST_OK)
        return st;
    b = change_begin(r);
    st = read_note(r, n->tsuid, n->start, c->arena, &old, e);
    if (st == ST_OK && old.start < n->start)
        n->start = old.start;
    if (st == ST_OK && !c->overwrite)
        record_merge(&annotation_format, n, &old,
                     ~record_given(&annotation_format, n));
    if (st == ST_OK || st == ST_NOT_FOUND) {
        size_t size = annotation_key(n->tsuid, annotation_ms(n->start), key);

        st = record_put(b, slice_of(key, size), &annotation_format, n, e);
    }
    st = change_end(r, b, st, e);
    *changed = st == ST_OK;
    return st;
}

enum status
annotation_delete(struct records *r, struct slice tsuid, int64_t start,
                  struct error *e)
{
    uint8_t key[ANNOTATION_KEY_MAX];
    struct kv_batch *b;
    enum status st;

    st = check(tsuid, start, e);
    if (st != ST_OK)
        return st;
    b = change_begin(r);
    kv_batch_delete(
        b, slice_of(key, annotation_key(tsuid, annotation_ms(start), key)));
    return change_end(r, b, ST_OK, e);
}

/* -- many ------------------------------------------------------------------ */

static struct kv_iter *
iter_open(struct records *r)
{
    return kv_iter_open(store_kv(r->store), KEY_TABLE(TABLE_ANNOTATIONS));
}

bool
annotation_any(struct records *r)
{
    return atomic_load(&r->annotated);
}

/* What is left to delete: of tsuids[at] the notes from 'from_ms' on. */
struct deletion {
    const struct slice *tsuids;
    size_t len, at;
    int64_t from_ms, to_ms, next_ms;
};

/* Deletes notes of the TSUID at hand, until the batch has DELETE_AT_ONCE. */
static enum status
batch_notes(struct kv_iter *it, struct kv_batch *b, struct deletion *d,
            struct error *e)
{
    uint8_t first[ANNOTATION_KEY_MAX], last[ANNOTATION_KEY_MAX];
    struct slice tsuid = d->tsuids[d->at];
    struct slice from =
        slice_of(first, annotation_key(tsuid, d->next_ms, first));
    struct slice to = slice_of(last, annotation_key(tsuid, d->to_ms, last));
    enum status st = ST_OK;

    for (bool on = kv_iter_seek(it, from);
         on && slice_cmp(kv_iter_key(it), to) <= 0 && st == ST_OK;
         on = kv_iter_next(it)) {
        if (kv_batch_len(b) == DELETE_AT_ONCE)
            return ST_OK;
        st = annotation_key_parse(kv_iter_key(it), &tsuid, &d->next_ms, e);
        if (st == ST_OK)
            kv_batch_delete(b, kv_iter_key(it));
    }
    d->at++;
    d->next_ms = d->from_ms;
    return st;
}

enum status
annotation_delete_range(struct records *r, const struct annotation_query *q,
                        uint64_t *deleted, struct error *e)
{
    struct deletion d = { .tsuids = q->tsuids,
                          .len = q->len,
                          .to_ms = q->to_ms };
    enum status st = ST_OK;

    *deleted = 0;
    if (q->to_ms < q->from_ms || q->to_ms < 0)
        return ST_OK;
    d.next_ms = d.from_ms = q->from_ms < 0 ? 0 : q->from_ms;
    while (st == ST_OK && d.at < d.len) {
        struct kv_batch *b = change_begin(r);
        struct kv_iter *it = iter_open(r);
        size_t n;

        while (st == ST_OK && d.at < d.len &&
               kv_batch_len(b) < DELETE_AT_ONCE) {
            if (d.tsuids[d.at].size <= TSUID_MAX)
                st = batch_notes(it, b, &d, e);
            else
                d.at++;
        }
        st = kv_iter_end(&it, st, e);
        n = kv_batch_len(b);
        st = change_end(r, b, st, e);
        *deleted += st == ST_OK ? n : 0;
    }
    return st;
}

/* -- list ---------------------------------------------------------------- */

/* In the order of their keys. */
static int
compare_tsuids(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;

    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return slice_cmp(*x, *y);
}

static int
compare_notes(const void *a, const void *b)
{
    const struct annotation *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return compare_tsuids(&x->tsuid, &y->tsuid);
}

/* What grows while notes are found. */
struct list {
    struct arena *arena;
    struct annotation *notes;
    struct slice *tsuids; /* or of these alone */
    size_t len, cap;
};

/* Adds the notes of each of the sorted TSUIDs.  Those for which there is none
 * lie between two notes, and cost no seek. */
static enum status
list_walk(struct kv_iter *it, const struct annotation_query *q, struct list *l,
          struct error *e)
{
    const struct slice *tsuids = q->tsuids;
    int64_t from_ms = q->from_ms < 0 ? 0 : q->from_ms;
    uint8_t key[ANNOTATION_KEY_MAX];
    struct slice tsuid = slice_of("", 0); /* on whose note the iterator is */

    for (size_t i = 0; i < q->len; i++) {
        struct slice first =
            slice_of(key, annotation_key(tsuids[i], from_ms, key));
        struct slice note;
        int64_t ms;
        bool on;

        if (i > 0 && compare_tsuids(&tsuids[i], &tsuid) < 0)
            continue;
        for (on = kv_iter_seek(it, first); on; on = kv_iter_next(it)) {
            enum status st =
                annotation_key_parse(kv_iter_key(it), &tsuid, &ms, e);

            if (st == ST_OK &&
                (compare_tsuids(&tsuids[i], &tsuid) != 0 || ms > q->to_ms))
                break;
            if (st != ST_OK)
                return st;
            note = kv_iter_value(it);
            l->notes = arena_grow(l->arena, l->notes, l->len, &l->cap,
                                  sizeof *l->notes);
            if (l->notes == NULL || !arena_keep(l->arena, &tsuid) ||
                !arena_keep(l->arena, &note))
                return error_no_memory(e);
            l->notes[l->len].tsuid = tsuid;
            st = annotation_decode(note, l->arena, &l->notes[l->len++], e);
            if (st != ST_OK)
                return st;
        }
        if (!on)
            break;
    }
    return ST_OK;
}

enum status
annotation_list(struct records *r, const struct annotation_query *q,
                struct annotation **out, size_t *out_len, struct error *e)
{
    struct annotation_query sorted = *q;
    struct slice *tsuids = arena_array(q->arena, q->len, sizeof *tsuids);
    struct list l = { .arena = q->arena };
    struct kv_iter *it;
    size_t n = 0;
    enum status st;

    *out = NULL;
    *out_len = 0;
    if (q->to_ms < q->from_ms || q->to_ms < 0)
        return ST_OK;
    if (tsuids == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < q->len; i++)
        if (q->tsuids[i].size <= TSUID_MAX)
            tsuids[n++] = q->tsuids[i];
    if (n > 0)
        qsort(tsuids, n, sizeof *tsuids, compare_tsuids);
    sorted.tsuids = tsuids;
    sorted.len = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || compare_tsuids(&tsuids[sorted.len - 1], &tsuids[i]) != 0)
            tsuids[sorted.len++] = tsuids[i];
    it = iter_open(r);
    st = list_walk(it, &sorted, &l, e);
    st = kv_iter_end(&it, st, e);
    if (st != ST_OK || l.len == 0)
        return st;
    qsort(l.notes, l.len, sizeof *l.notes, compare_notes);
    *out = l.notes;
    *out_len = l.len;
    return ST_OK;
}

/* The hour that holds this second, in ms; all that lies behind the last row is
 * one time. */
static int64_t
hour_ms(int64_t s)
{
    const int64_t last = INT64_C(1) << 33;

    return (s > last ? last : s) / HOUR_S * HOUR_S * 1000;
}

enum status
annotation_globals(struct records *r, int64_t from_s, int64_t to_s,
                   struct arena *arena, struct annotation **out,
                   size_t *out_len, struct error *e)
{
    const struct slice global = slice_str("");
    size_t len;
    enum status st = annotation_list(
        r,
        &(struct annotation_query){ &global, 1, hour_ms(from_s),
                                    hour_ms(to_s + HOUR_S) - 1, arena },
        out, &len, e);

    *out_len = 0;
    for (size_t i = 0; i < len && st == ST_OK; i++)
        if ((*out)[i].start >= from_s && (*out)[i].end <= to_s)
            (*out)[(*out_len)++] = (*out)[i];
    return st;
}

/* -- series -------------------------------------------------------------- */

/* Leaps from TSUID to TSUID among those whose keys begin so. */
static enum status
walk_series(struct kv_iter *it, struct slice prefix, int64_t from_ms,
            int64_t to_ms, struct list *out, struct error *e)
{
    uint8_t key[ANNOTATION_KEY_MAX + 1];
    bool on = kv_iter_seek(it, prefix);

    while (on && slice_starts(kv_iter_key(it), prefix)) {
        struct slice tsuid;
        int64_t ms;
        size_t size;
        enum status st = annotation_key_parse(kv_iter_key(it), &tsuid, &ms, e);

        if (st != ST_OK)
            return st;
        if (ms < from_ms) {
            size = annotation_key(tsuid, from_ms, key);
        } else {
            size = annotation_key(tsuid, INT64_MAX, key);
            key[size++] = 0; /* behind all of this TSUID */
            if (ms <= to_ms) {
                out->tsuids = arena_grow(out->arena, out->tsuids, out->len,
                                         &out->cap, sizeof *out->tsuids);
                if (out->tsuids == NULL || !arena_keep(out->arena, &tsuid))
                    return error_no_memory(e);
                out->tsuids[out->len++] = tsuid;
            }
        }
        on = kv_iter_seek(it, slice_of(key, size));
    }
    return ST_OK;
}

enum status
annotation_series(struct records *r, struct slice metric,
                  const struct annotation_query *q, struct slice **out,
                  size_t *out_len, struct error *e)
{
    const struct key_layout *layout;
    struct list found = { .arena = q->arena };
    struct kv_iter *it;
    enum status st = ST_OK;

    it = iter_open(r);
    layout = store_layout(r->store);
    for (size_t tags = 1; tags <= KEY_MAX_TAGS && st == ST_OK; tags++) {
        uint8_t prefix[1 + 2 + TSUID_MAX] = { TABLE_ANNOTATIONS };

        key_put_uint(prefix + 1,
                     layout->metric_width +
                         tags * (layout->tagk_width + layout->tagv_width),
                     2);
        memcpy(prefix + 3, metric.data, metric.size);
        st = walk_series(it, slice_of(prefix, 3 + metric.size),
                         q->from_ms < 0 ? 0 : q->from_ms, q->to_ms, &found, e);
    }
    *out = found.tsuids;
    *out_len = found.len;
    return kv_iter_end(&it, st, e);
}
