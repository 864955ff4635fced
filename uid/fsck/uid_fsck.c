/* See uid/fsck/uid_fsck.h.  The order of things, and how they are repaired. */
#include "config.h"

#include "uid/fsck/uid_fsck.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "uid/fsck/uid_fsck_priv.h"

#define BATCH_BYTES ((size_t)1 << 20)
#define LOST_MAX    1000000 /* ids above the highest that is known */

static const uint8_t kind_bytes[UID_KINDS] = { 'm', 'k', 'v' };

/* -- reading --------------------------------------------------------------- */

enum status
check_each(struct tables *t, struct slice prefix, check_entry_fn *f,
           struct error *e)
{
    struct kv_iter *it = kv_iter_open(t->kv, slice_str(""));
    enum status st = ST_OK, closed;

    for (bool on = kv_iter_seek(it, prefix); on && st == ST_OK;
         on = kv_iter_next(it)) {
        if (!slice_starts(kv_iter_key(it), prefix))
            break;
        st = f(t, kv_iter_key(it), kv_iter_value(it), e);
        arena_reset(t->arena);
        if (st == ST_OK)
            st = check_flush(t, false, e);
    }
    closed = kv_iter_close(&it, st == ST_OK ? e : NULL);
    return st == ST_OK ? closed : st;
}

enum status
check_get(struct tables *t, struct slice key, struct buf *out, struct error *e)
{
    return kv_get(t->kv, key, out, e);
}

/* -- saying and repairing ----------------------------------------------------
 */

void
check_says(struct tables *t, const char *code, struct slice key,
           const char *repaired, const char *fmt, ...)
{
    char text[1024];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    check_found(t->c, code, key, repaired, "%s", text);
}

bool
check_repairs(const struct tables *t)
{
    return t->c->aside != NULL;
}

void
check_puts(struct tables *t, struct slice key, struct slice value)
{
    kv_batch_put(t->batch, key, value);
    t->batch_bytes += key.size + value.size;
}

static void
put_hex(FILE *f, struct slice s)
{
    for (size_t i = 0; i < s.size; i++)
        (void)fprintf(f, "%02x", s.data[i]);
}

void
check_drops(struct tables *t, struct slice key, struct slice value)
{
    put_hex(t->aside, key);
    (void)fputc(' ', t->aside);
    put_hex(t->aside, value);
    (void)fputc('\n', t->aside);
    kv_batch_delete(t->batch, key);
    t->batch_bytes += key.size;
}

void
check_drops_bad(struct tables *t, const char *code, struct slice key,
                struct slice value, const char *fmt, ...)
{
    char text[1024];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (check_repairs(t))
        check_drops(t, key, value);
    check_found(t->c, code, key, check_repairs(t) ? "moved aside" : NULL, "%s",
                text);
}

/* What is moved aside is on the disk before it leaves the store. */
enum status
check_flush(struct tables *t, bool all, struct error *e)
{
    uint64_t lsn;
    enum status st;

    if (!check_repairs(t) || kv_batch_len(t->batch) == 0 ||
        (!all && t->batch_bytes < BATCH_BYTES))
        return ST_OK;
    if (ferror(t->aside) || fflush(t->aside) != 0 ||
        fsync(fileno(t->aside)) != 0)
        return error_set(e, ST_IO, "%s/entries: %m", t->c->aside);
    st = store_write(t->store, t->batch, &lsn, e);
    if (st == ST_OK)
        st = store_commit(t->store, lsn, true, e);
    kv_batch_clear(t->batch);
    t->batch_bytes = 0;
    return st;
}

static enum status
open_aside(struct tables *t, struct error *e)
{
    size_t size = strlen(t->c->aside) + sizeof "/entries";
    char *path = mem_new(size);
    enum status st = ST_OK;

    (void)snprintf(path, size, "%s/entries", t->c->aside);
    if (mkdir(t->c->aside, 0777) != 0 && errno != EEXIST)
        st = error_set(e, ST_IO, "make %s: %m", t->c->aside);
    else if ((t->aside = fopen(path, "abe")) == NULL)
        st = error_set(e, ST_IO, "open %s: %m", path);
    free(path);
    return st;
}

/* -- ids ------------------------------------------------------------------- */

void
id_ranges_add(struct id_ranges *r, uint64_t id)
{
    if (r->len > 0 && id <= r->ranges[r->len - 1].to)
        return;
    if (r->len > 0 && id == r->ranges[r->len - 1].to + 1) {
        r->ranges[r->len - 1].to = id;
        return;
    }
    if (r->len == r->cap) {
        r->cap = r->cap == 0 ? 16 : r->cap * 2;
        r->ranges = mem_resize(r->ranges, r->cap, sizeof *r->ranges);
    }
    r->ranges[r->len++] = (struct id_range){ id, id };
}

void
id_ranges_insert(struct id_ranges *r, uint64_t id)
{
    size_t at = r->len;

    if (id_ranges_have(r, id))
        return;
    id_ranges_add(r, UINT64_MAX); /* makes room for one */
    while (at > 0 && r->ranges[at - 1].from > id) {
        r->ranges[at] = r->ranges[at - 1];
        at--;
    }
    r->ranges[at] = (struct id_range){ id, id };
}

bool
id_ranges_have(const struct id_ranges *r, uint64_t id)
{
    size_t from = 0, to = r->len;

    while (from < to) {
        size_t middle = (from + to) / 2;

        if (id > r->ranges[middle].to)
            from = middle + 1;
        else if (id < r->ranges[middle].from)
            to = middle;
        else
            return true;
    }
    return false;
}

/* Both directions are gone, and something uses the id: a name that says so
 * lets it be found, and renamed.  Not for what no counter can have given. */
static void
name_lost_id(struct tables *t, enum uid_kind kind, struct slice id, uint64_t n)
{
    uint8_t key[3 + 8] = { TABLE_UID, kind_bytes[kind], 'i' };
    uint8_t forward[64] = { TABLE_UID, kind_bytes[kind], 'n' };
    uint8_t entry[8 + 4] = { 0 }, counter[8];
    char *name = (char *)forward + 3;
    int size = snprintf(name, sizeof forward - 3, "lost.%s.%llx",
                        uid_kind_name(kind), (unsigned long long)n);
    char repaired[80];

    memcpy(key + 3, id.data, id.size);
    memcpy(entry, id.data, id.size);
    (void)snprintf(repaired, sizeof repaired, "called %s now", name);
    if (check_repairs(t)) {
        check_puts(t, slice_of(key, 3 + id.size), slice_of(name, (size_t)size));
        check_puts(t, slice_of(forward, 3 + (size_t)size),
                   slice_of(entry, id.size + 4));
    }
    check_says(t, "uid-lost", slice_of(key, 3 + id.size),
               check_repairs(t) ? repaired : NULL,
               "the id %llx of %s is used and has no name",
               (unsigned long long)n, uid_kind_name(kind));
    id_ranges_insert(&t->ids[kind], n);
    if (n <= t->highest[kind] || kind == UID_METRIC || !check_repairs(t))
        return;
    t->highest[kind] = n;
    key[2] = 'c';
    key_put_uint(counter, n, 8);
    check_puts(t, slice_of(key, 3), slice_of(counter, 8));
}

static bool
check_id(struct tables *t, enum uid_kind kind, struct slice id, char what[64])
{
    uint64_t n = key_get_uint(id.data, (unsigned)id.size);

    if (id_ranges_have(&t->ids[kind], n))
        return true;
    if (n == 0 || n > t->highest[kind] + LOST_MAX) {
        (void)snprintf(what, 64, "the id %llx of %s has no name",
                       (unsigned long long)n, uid_kind_name(kind));
        return false;
    }
    name_lost_id(t, kind, id, n);
    return true;
}

bool
check_ids(struct tables *t, struct slice tsuid, char what[64])
{
    const struct key_layout *w = t->layout;

    if (!check_id(t, UID_METRIC, tsuid_metric(w, tsuid), what))
        return false;
    for (size_t i = 0; i < tsuid_tags(w, tsuid); i++) {
        struct slice tagk = tsuid_tagk(w, tsuid, i);
        struct slice tagv = tsuid_tagv(w, tsuid, i);

        if (i == 0 && key_get_uint(tagk.data, w->tagk_width) == 0) {
            uint64_t kind = key_get_uint(tagv.data, w->tagv_width);

            if (id_ranges_have(&t->kinds, kind))
                continue;
            (void)snprintf(what, 64, "there is no kind of rollups %llu",
                           (unsigned long long)kind);
            return false;
        }
        if (!check_id(t, UID_TAGK, tagk, what) ||
            !check_id(t, UID_TAGV, tagv, what))
            return false;
    }
    return true;
}

static void
put_name(struct tables *t, enum uid_kind kind, struct slice id, struct buf *out)
{
    uint8_t key[3 + 8] = { TABLE_UID, kind_bytes[kind], 'i' };
    struct buf name = BUF_INIT;

    memcpy(key + 3, id.data, id.size);
    if (check_get(t, slice_of(key, 3 + id.size), &name, NULL) == ST_OK &&
        name.size > 0 && name.size < 100)
        buf_put_slice(out, buf_slice(&name));
    else
        buf_printf(
            out, "#%llx",
            (unsigned long long)key_get_uint(id.data, (unsigned)id.size));
    buf_fini(&name);
}

const char *
check_describe(struct tables *t, struct slice tsuid, char out[CHECK_TEXT_MAX])
{
    const struct key_layout *w = t->layout;
    struct buf b = BUF_INIT;

    put_name(t, UID_METRIC, tsuid_metric(w, tsuid), &b);
    buf_put_u8(&b, '{');
    for (size_t i = 0; i < tsuid_tags(w, tsuid); i++) {
        if (i > 0)
            buf_put_u8(&b, ',');
        put_name(t, UID_TAGK, tsuid_tagk(w, tsuid, i), &b);
        buf_put_u8(&b, '=');
        put_name(t, UID_TAGV, tsuid_tagv(w, tsuid, i), &b);
    }
    buf_put_u8(&b, '}');
    (void)snprintf(out, CHECK_TEXT_MAX, "%s", buf_cstr(&b));
    for (char *p = out; *p != '\0'; p++)
        if ((uint8_t)*p < ' ' || *p == 0x7f)
            *p = '?';
    buf_fini(&b);
    return out;
}

/* -- all of it ------------------------------------------------------------- */

static void
fini(struct tables *t)
{
    kv_batch_free(&t->batch);
    arena_free(&t->arena);
    tagk_sets_free(&t->tagk_sets);
    points_fini(&t->points);
    free(t->series.slots);
    free(t->kinds.ranges);
    for (int i = 0; i < UID_KINDS; i++)
        free(t->ids[i].ranges);
    if (t->aside != NULL)
        (void)fclose(t->aside);
}

enum status
check_tables(struct store *s, struct check *c, struct check_counts *out,
             struct error *e)
{
    static enum status (*const steps[])(struct tables *, struct error *) = {
        check_names, check_kinds,      check_series,
        check_rows,  check_histograms, check_notes,
    };
    struct tables t = { .c = c, .store = s };
    enum status st = ST_OK;

    t.kv = store_kv(s);
    t.layout = store_layout(s);
    t.arena = arena_new(0);
    t.batch = kv_batch_new();
    t.tagk_sets = tagk_sets_new(t.layout);
    t.series.seed = hash_random_seed();
    if (check_repairs(&t))
        st = open_aside(&t, e);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && st == ST_OK; i++) {
        st = steps[i](&t, e);
        if (st == ST_OK)
            st = check_flush(&t, true, e);
    }
    *out = t.n;
    fini(&t);
    return st;
}
