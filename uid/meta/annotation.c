/* Annotations in the store.  The TSUID's size leads its bytes in the key, so
 * that one TSUID being a prefix of another cannot mix their notes. */
#include "config.h"

#include "uid/meta/annotation.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/crash.h"
#include "base/lock.h"
#include "base/mem.h"

#define ANNOTATIONS_MAGIC FOURCC('A', 'N', 'N', 'O')

#define DELETE_AT_ONCE 1000

/* Whether there is any: no query has looked, none was there when one did and
 * none was written since, or one was written. */
enum known { KNOWN_NOT, KNOWN_NONE, KNOWN_WRITTEN };

struct annotations {
    uint32_t magic;
    struct store *store;
    struct lock lock; /* from reading a note to rewriting it */
    _Atomic int known;
};

void
annotations_open(struct store *s, struct annotations **out)
{
    struct annotations *a = mem_new(sizeof *a);

    a->magic = ANNOTATIONS_MAGIC;
    a->store = s;
    lock_init(&a->lock);
    *out = a;
}

void
annotations_close(struct annotations **ap)
{
    struct annotations *a = *ap;

    *ap = NULL;
    if (a == NULL)
        return;
    OBJ_CHECK(a, ANNOTATIONS_MAGIC);
    lock_fini(&a->lock);
    OBJ_CLEAR(a);
    free(a);
}

int64_t
annotation_ms(int64_t time)
{
    return time > UINT32_MAX || time < 0 ? time : time * 1000;
}

static enum status
no_memory(struct error *e)
{
    return error_set(e, ST_LIMIT, "the request needs too much memory");
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

/* -- get ----------------------------------------------------------------- */

/* A copy in the arena, with another slice's bytes. */
static bool
copy_slice(struct arena *arena, struct slice *s)
{
    const char *copy = arena_strdup(arena, *s);

    if (copy == NULL)
        return false;
    *s = slice_of(copy, s->size);
    return true;
}

/* Decodes bytes that do not last. */
static enum status
decode_copy(struct slice bytes, struct slice tsuid, struct arena *arena,
            struct annotation *out, struct error *e)
{
    out->tsuid = tsuid;
    if (!copy_slice(arena, &bytes) || !copy_slice(arena, &out->tsuid))
        return no_memory(e);
    return annotation_decode(bytes, arena, out, e);
}

/* ST_NOT_FOUND without a text. */
static enum status
read_note(struct annotations *a, struct slice tsuid, int64_t start,
          struct arena *arena, struct annotation *out, struct error *e)
{
    uint8_t key[ANNOTATION_KEY_MAX];
    struct buf value = BUF_INIT;
    size_t size = annotation_key(tsuid, annotation_ms(start), key);
    enum status st = kv_get(store_kv(a->store), slice_of(key, size), &value, e);

    if (st == ST_OK)
        st = decode_copy(buf_slice(&value), tsuid, arena, out, e);
    buf_fini(&value);
    return st;
}

enum status
annotation_get(struct annotations *a, struct slice tsuid, int64_t start,
               struct arena *arena, struct annotation *out, struct error *e)
{
    enum status st;

    OBJ_CHECK(a, ANNOTATIONS_MAGIC);
    st = check(tsuid, start, e);
    if (st == ST_OK)
        st = read_note(a, tsuid, start, arena, out, e);
    if (st == ST_NOT_FOUND)
        return error_set(e, st, "Unable to locate annotation in storage");
    return st;
}

/* -- put ----------------------------------------------------------------- */

/* A null does: it empties what is stored. */
static bool
says_something(struct slice text)
{
    return text.size > 0 || annotation_is_null(text);
}

/* Empties what was not named; says what is left, as a set of fields that have
 * a value. */
static unsigned
keep_named(struct annotation *n, unsigned fields)
{
    if (!(fields & ANNOTATION_END))
        n->end = 0;
    if (!(fields & ANNOTATION_DESCRIPTION))
        n->description = slice_str("");
    if (!(fields & ANNOTATION_NOTES))
        n->notes = slice_str("");
    if (!(fields & ANNOTATION_CUSTOM))
        n->has_custom = false;
    if (!n->has_custom) {
        n->custom = NULL;
        n->custom_len = 0;
    }
    return (n->end != 0 ? ANNOTATION_END : 0u) |
           (says_something(n->description) ? ANNOTATION_DESCRIPTION : 0u) |
           (says_something(n->notes) ? ANNOTATION_NOTES : 0u) |
           (n->has_custom ? ANNOTATION_CUSTOM : 0u);
}

/* Fields without a new value take the old one. */
static void
merge(struct annotation *n, const struct annotation *old, unsigned given)
{
    if (!(given & ANNOTATION_END))
        n->end = old->end;
    if (!(given & ANNOTATION_DESCRIPTION))
        n->description = old->description;
    if (!(given & ANNOTATION_NOTES))
        n->notes = old->notes;
    if (!(given & ANNOTATION_CUSTOM)) {
        n->has_custom = old->has_custom;
        n->custom = old->custom;
        n->custom_len = old->custom_len;
    }
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
sort_custom(struct annotation *n, struct arena *arena)
{
    struct placed *all = arena_array(arena, n->custom_len, sizeof *all);
    struct tag *sorted = arena_array(arena, n->custom_len, sizeof *sorted);
    size_t len = 0;

    if (all == NULL || sorted == NULL)
        return false;
    for (size_t i = 0; i < n->custom_len; i++)
        all[i] = (struct placed){ n->custom[i], i };
    if (n->custom_len > 0)
        qsort(all, n->custom_len, sizeof *all, compare_placed);
    for (size_t i = 0; i < n->custom_len; i++) {
        if (len > 0 && slice_eq(sorted[len - 1].key, all[i].pair.key))
            len--;
        sorted[len++] = all[i].pair;
    }
    n->custom = sorted;
    n->custom_len = len;
    return true;
}

static enum status
write_note(struct annotations *a, const struct annotation *n, uint64_t *lsn,
           struct error *e)
{
    uint8_t key[ANNOTATION_KEY_MAX];
    struct buf value;
    struct kv_batch *b;
    enum status st;

    buf_init(&value, ANNOTATION_BYTES);
    annotation_encode(n, &value);
    if (value.failed) {
        buf_fini(&value);
        return error_set(e, ST_LIMIT, "annotation of more than %zu bytes",
                         ANNOTATION_BYTES);
    }
    b = kv_batch_new();
    kv_batch_put(
        b,
        slice_of(key, annotation_key(n->tsuid, annotation_ms(n->start), key)),
        buf_slice(&value));
    atomic_store(&a->known, KNOWN_WRITTEN);
    st = store_write(a->store, b, lsn, e);
    crash_point("annotation-written");
    kv_batch_free(&b);
    buf_fini(&value);
    return st;
}

static enum status
put_locked(struct annotations *a, struct annotation *n, unsigned given,
           bool overwrite, struct arena *arena, uint64_t *lsn, struct error *e)
    REQUIRES(a->lock)
{
    struct annotation old;
    enum status st = read_note(a, n->tsuid, n->start, arena, &old, e);

    if (st == ST_OK) {
        if (old.start < n->start)
            n->start = old.start;
        if (!overwrite)
            merge(n, &old, given);
    }
    return st == ST_OK || st == ST_NOT_FOUND ? write_note(a, n, lsn, e) : st;
}

enum status
annotation_put(struct annotations *a, struct annotation *n, unsigned fields,
               bool overwrite, struct arena *arena, bool *changed,
               struct error *e)
{
    uint64_t lsn;
    unsigned given;
    enum status st;

    OBJ_CHECK(a, ANNOTATIONS_MAGIC);
    *changed = false;
    st = check(n->tsuid, n->start, e);
    if (st != ST_OK)
        return st;
    given = keep_named(n, fields);
    if (given == 0)
        return ST_OK;
    if (!sort_custom(n, arena))
        return no_memory(e);
    lock_take(&a->lock);
    st = put_locked(a, n, given, overwrite, arena, &lsn, e);
    lock_drop(&a->lock);
    if (st == ST_OK)
        st = store_commit(a->store, lsn, false, e);
    *changed = st == ST_OK;
    return st;
}

/* -- each ---------------------------------------------------------------- */

/* The note on which 'it' stands.  False: its key is not within the range. */
static bool
note_at(const struct kv_iter *it, struct slice last, struct slice *tsuid,
        int64_t *ms, struct error *e, enum status *st)
{
    if (slice_cmp(kv_iter_key(it), last) > 0)
        return false;
    *st = annotation_key_parse(kv_iter_key(it), tsuid, ms, e);
    return *st == ST_OK;
}

/* Calls 'f' with each note from the first key to the last, until it has seen
 * enough. */
static enum status
walk(struct annotations *a, struct slice first, struct slice last,
     bool (*f)(void *ctx, const struct annotation *n), void *ctx,
     struct error *e)
{
    struct arena *arena = arena_new(0);
    struct kv_iter *it =
        kv_iter_open(store_kv(a->store), KEY_TABLE(TABLE_ANNOTATIONS));
    enum status st = ST_OK, closed;
    struct annotation n;
    int64_t ms;

    for (bool on = kv_iter_seek(it, first);
         on && note_at(it, last, &n.tsuid, &ms, e, &st);
         on = kv_iter_next(it)) {
        arena_reset(arena);
        st = annotation_decode(kv_iter_value(it), arena, &n, e);
        if (st != ST_OK || !f(ctx, &n))
            break;
    }
    closed = kv_iter_close(&it, st == ST_OK ? e : NULL);
    arena_free(&arena);
    return st == ST_OK ? closed : st;
}

/* Makes the first and the last key of a range; false when it is empty. */
static bool
range_keys(struct slice tsuid, int64_t from_ms, int64_t to_ms, uint8_t *first,
           struct slice *last)
{
    uint8_t *bytes = first + ANNOTATION_KEY_MAX;

    if (to_ms < from_ms || to_ms < 0 || tsuid.size > TSUID_MAX)
        return false;
    (void)annotation_key(tsuid, from_ms < 0 ? 0 : from_ms, first);
    *last = slice_of(bytes, annotation_key(tsuid, to_ms, bytes));
    return true;
}

enum status
annotation_each(struct annotations *a, struct slice tsuid, int64_t from_ms,
                int64_t to_ms, bool (*f)(void *ctx, const struct annotation *n),
                void *ctx, struct error *e)
{
    uint8_t keys[2 * ANNOTATION_KEY_MAX];
    struct slice last;

    OBJ_CHECK(a, ANNOTATIONS_MAGIC);
    if (!range_keys(tsuid, from_ms, to_ms, keys, &last))
        return ST_OK;
    return walk(a, slice_of(keys, last.size), last, f, ctx, e);
}

enum status
annotation_walk(struct annotations *a,
                bool (*f)(void *ctx, const struct annotation *n), void *ctx,
                struct error *e)
{
    uint8_t last[ANNOTATION_KEY_MAX + 1];

    OBJ_CHECK(a, ANNOTATIONS_MAGIC);
    memset(last, 0xff, sizeof last); /* behind the longest */
    last[0] = TABLE_ANNOTATIONS;
    return walk(a, slice_of(last, 1), slice_of(last, sizeof last), f, ctx, e);
}

/* -- delete -------------------------------------------------------------- */

enum status
annotation_delete(struct annotations *a, struct slice tsuid, int64_t start,
                  struct error *e)
{
    uint8_t key[ANNOTATION_KEY_MAX];
    struct kv_batch *b;
    uint64_t lsn;
    enum status st;

    OBJ_CHECK(a, ANNOTATIONS_MAGIC);
    st = check(tsuid, start, e);
    if (st != ST_OK)
        return st;
    b = kv_batch_new();
    kv_batch_delete(
        b, slice_of(key, annotation_key(tsuid, annotation_ms(start), key)));
    lock_take(&a->lock);
    st = store_write(a->store, b, &lsn, e);
    lock_drop(&a->lock);
    kv_batch_free(&b);
    return st != ST_OK ? st : store_commit(a->store, lsn, false, e);
}

/* Collects up to DELETE_AT_ONCE keys, and sets the first key for the next
 * batch behind them; '*more' when it stopped for being full. */
static enum status
collect(struct annotations *a, uint8_t *first, struct slice last,
        struct kv_batch *b, bool *more, struct error *e)
{
    struct kv_iter *it =
        kv_iter_open(store_kv(a->store), KEY_TABLE(TABLE_ANNOTATIONS));
    struct slice tsuid;
    enum status st = ST_OK, closed;
    int64_t ms;

    *more = false;
    for (bool on = kv_iter_seek(it, slice_of(first, last.size));
         on && note_at(it, last, &tsuid, &ms, e, &st); on = kv_iter_next(it)) {
        *more = kv_batch_len(b) == DELETE_AT_ONCE;
        if (*more) {
            memcpy(first, kv_iter_key(it).data, last.size);
            break;
        }
        kv_batch_delete(b, kv_iter_key(it));
    }
    closed = kv_iter_close(&it, st == ST_OK ? e : NULL);
    return st == ST_OK ? closed : st;
}

enum status
annotation_delete_range(struct annotations *a, struct slice tsuid,
                        int64_t from_ms, int64_t to_ms, uint64_t *deleted,
                        struct error *e)
{
    uint8_t keys[2 * ANNOTATION_KEY_MAX];
    struct slice last;
    struct kv_batch *b;
    uint64_t lsn = 0;
    bool more = true;
    enum status st = ST_OK;

    OBJ_CHECK(a, ANNOTATIONS_MAGIC);
    *deleted = 0;
    if (!range_keys(tsuid, from_ms, to_ms, keys, &last))
        return ST_OK;
    b = kv_batch_new();
    while (st == ST_OK && more) {
        kv_batch_clear(b);
        lock_take(&a->lock);
        st = collect(a, keys, last, b, &more, e);
        if (st == ST_OK && kv_batch_len(b) > 0)
            st = store_write(a->store, b, &lsn, e);
        lock_drop(&a->lock);
        if (st == ST_OK)
            *deleted += kv_batch_len(b);
    }
    kv_batch_free(&b);
    if (st == ST_OK && *deleted > 0)
        st = store_commit(a->store, lsn, false, e);
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

struct listed {
    struct annotation note;
    size_t at;
};

static int
compare_listed(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;

    if (x->note.start != y->note.start)
        return x->note.start < y->note.start ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* What grows while notes are found. */
struct list {
    struct arena *arena;
    struct listed *notes;
    size_t len, cap;
};

static enum status
list_add(struct list *l, struct slice tsuid, struct slice bytes,
         struct error *e)
{
    l->notes =
        arena_grow(l->arena, l->notes, l->len, &l->cap, sizeof *l->notes);
    if (l->notes == NULL)
        return no_memory(e);
    l->notes[l->len].at = l->len;
    return decode_copy(bytes, tsuid, l->arena, &l->notes[l->len++].note, e);
}

/* Walks the sorted TSUIDs and the notes together, each leaping to where the
 * other is, so that the shorter of the two sets the cost. */
static enum status
list_walk(struct kv_iter *it, const struct slice *tsuids, size_t len,
          int64_t from_ms, int64_t to_ms, struct list *l, struct error *e)
{
    uint8_t key[ANNOTATION_KEY_MAX];
    size_t i = 0;
    bool on = true, placed = false;

    while (i < len) {
        struct slice tsuid;
        int64_t ms;
        int c;
        enum status st;

        if (!placed)
            on = kv_iter_seek(
                it, slice_of(key, annotation_key(tsuids[i], from_ms, key)));
        if (!on || kv_iter_key(it).data[0] != TABLE_ANNOTATIONS)
            break;
        st = annotation_key_parse(kv_iter_key(it), &tsuid, &ms, e);
        if (st != ST_OK)
            return st;
        c = compare_tsuids(&tsuids[i], &tsuid);
        /* Behind the note's TSUID, or done with this one: the next. */
        if (c < 0 || (c == 0 && ms > to_ms)) {
            i++;
            placed = i < len && compare_tsuids(&tsuids[i], &tsuid) < 0;
            continue;
        }
        placed = c == 0 && ms >= from_ms;
        if (!placed)
            continue;
        st = list_add(l, tsuid, kv_iter_value(it), e);
        if (st != ST_OK)
            return st;
        on = kv_iter_next(it);
    }
    return ST_OK;
}

static enum status
list_all(struct annotations *a, const struct slice *sorted, size_t len,
         int64_t from_ms, int64_t to_ms, struct list *l, struct error *e)
{
    struct kv_iter *it =
        kv_iter_open(store_kv(a->store), KEY_TABLE(TABLE_ANNOTATIONS));
    enum status st = list_walk(it, sorted, len, from_ms, to_ms, l, e);
    enum status closed = kv_iter_close(&it, st == ST_OK ? e : NULL);

    return st == ST_OK ? closed : st;
}

/* A sorted copy without repetitions. */
static struct slice *
sort_tsuids(const struct slice *tsuids, size_t *len, struct arena *arena)
{
    struct slice *sorted = arena_array(arena, *len, sizeof *sorted);
    size_t n = 0;

    if (sorted == NULL)
        return NULL;
    for (size_t i = 0; i < *len; i++)
        if (tsuids[i].size <= TSUID_MAX)
            sorted[n++] = tsuids[i];
    if (n > 0)
        qsort(sorted, n, sizeof *sorted, compare_tsuids);
    *len = 0;
    for (size_t i = 0; i < n; i++)
        if (*len == 0 || compare_tsuids(&sorted[*len - 1], &sorted[i]) != 0)
            sorted[(*len)++] = sorted[i];
    return sorted;
}

enum status
annotation_list(struct annotations *a, const struct slice *tsuids, size_t len,
                int64_t from_ms, int64_t to_ms, struct arena *arena,
                struct annotation **out, size_t *out_len, struct error *e)
{
    struct list l = { .arena = arena };
    struct slice *sorted;
    enum status st;

    OBJ_CHECK(a, ANNOTATIONS_MAGIC);
    *out = NULL;
    *out_len = 0;
    if (to_ms < from_ms || to_ms < 0)
        return ST_OK;
    sorted = sort_tsuids(tsuids, &len, arena);
    if (sorted == NULL)
        return no_memory(e);
    st = list_all(a, sorted, len, from_ms < 0 ? 0 : from_ms, to_ms, &l, e);
    if (st != ST_OK || l.len == 0)
        return st;
    qsort(l.notes, l.len, sizeof *l.notes, compare_listed);
    *out = arena_array(arena, l.len, sizeof **out);
    if (*out == NULL)
        return no_memory(e);
    for (size_t i = 0; i < l.len; i++)
        (*out)[i] = l.notes[i].note;
    *out_len = l.len;
    return ST_OK;
}

/* -- series -------------------------------------------------------------- */

struct noted {
    struct arena *arena;
    struct slice *tsuids;
    size_t len, cap;
};

static enum status
noted_add(struct noted *n, struct slice tsuid, struct error *e)
{
    n->tsuids = arena_grow(n->arena, n->tsuids, n->len, &n->cap, sizeof tsuid);
    if (n->tsuids == NULL)
        return no_memory(e);
    n->tsuids[n->len] = tsuid;
    return copy_slice(n->arena, &n->tsuids[n->len++]) ? ST_OK : no_memory(e);
}

/* Leaps from TSUID to TSUID among those whose keys begin so. */
static enum status
walk_series(struct kv_iter *it, struct slice prefix, int64_t from_ms,
            int64_t to_ms, struct noted *out, struct error *e)
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
            if (ms <= to_ms)
                st = noted_add(out, tsuid, e);
            if (st != ST_OK)
                return st;
            size = annotation_key(tsuid, INT64_MAX, key);
            key[size++] = 0; /* behind all of this TSUID */
        }
        on = kv_iter_seek(it, slice_of(key, size));
    }
    return ST_OK;
}

enum status
annotation_series(struct annotations *a, struct slice metric, int64_t from_ms,
                  int64_t to_ms, struct arena *arena, struct slice **out,
                  size_t *out_len, struct error *e)
{
    const struct key_layout *layout;
    struct noted found = { .arena = arena };
    struct kv_iter *it;
    enum status st = ST_OK, closed;

    OBJ_CHECK(a, ANNOTATIONS_MAGIC);
    layout = store_layout(a->store);
    it = kv_iter_open(store_kv(a->store), KEY_TABLE(TABLE_ANNOTATIONS));
    for (size_t tags = 1; tags <= KEY_MAX_TAGS && st == ST_OK; tags++) {
        uint8_t prefix[1 + 2 + TSUID_MAX] = { TABLE_ANNOTATIONS };

        key_put_uint(prefix + 1,
                     layout->metric_width +
                         tags * (layout->tagk_width + layout->tagv_width),
                     2);
        memcpy(prefix + 3, metric.data, metric.size);
        st = walk_series(it, slice_of(prefix, 3 + metric.size),
                         from_ms < 0 ? 0 : from_ms, to_ms, &found, e);
    }
    closed = kv_iter_close(&it, st == ST_OK ? e : NULL);
    *out = found.tsuids;
    *out_len = found.len;
    return st == ST_OK ? closed : st;
}

enum status
annotation_any(struct annotations *a, bool *any, struct error *e)
{
    const uint8_t table[1] = { TABLE_ANNOTATIONS };
    int before = KNOWN_NOT;
    struct kv_iter *it;
    enum status st;

    OBJ_CHECK(a, ANNOTATIONS_MAGIC);
    *any = false;
    if (atomic_load(&a->known) == KNOWN_NONE)
        return ST_OK;
    it = kv_iter_open(store_kv(a->store), KEY_TABLE(TABLE_ANNOTATIONS));
    *any = kv_iter_seek(it, slice_of(table, 1)) &&
           slice_starts(kv_iter_key(it), slice_of(table, 1));
    st = kv_iter_close(&it, e);
    /* Unless one is being written meanwhile. */
    if (st == ST_OK && !*any)
        (void)atomic_compare_exchange_strong(&a->known, &before, KNOWN_NONE);
    return st;
}
