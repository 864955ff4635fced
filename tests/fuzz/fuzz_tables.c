/* What the engine holds, damaged: names, series, tag-key sets, kinds, rows,
 * annotations, metadata, trees, histograms.  Whoever reads them finds what is
 * there, or says what is wrong.
 *
 * A small store is written as it should be; then comes the input:
 *
 *     { <what> ... }...
 *     0  <key size> <key> <value size:2> <value>   put
 *     1  <i:2> <at:2> <xor>                        bits of the i-th value
 *     2  <i:2> <size:2>                            the i-th value is cut
 *     3  <i:2> <size:2> <value>                    another value
 *     4  <i:2> <at> <xor>                          bits of the i-th key
 *     5  <i:2>                                     the i-th is deleted */
#include "query/engine/engine.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "base/obj.h"
#include "base/process/log.h"
#include "query/fetch/series_points.h"
#include "query/parse/parse.h"
#include "storage/histogram/histogram.h"
#include "storage/histogram/histogram_table.h"
#include "storage/scan/store_scan.h"
#include "storage/store/store_priv.h"
#include "tests/fuzz/target.h"
#include "uid/meta/meta.h"
#include "uid/meta/tree.h"

#define T0   INT64_C(1356998400000)
#define MOST 256

struct pair {
    struct slice key, value;
};

static struct {
    struct pair pairs[MOST];
    size_t len;
} good;

struct world {
    struct store *store;
    struct uid_table *uids;
    struct series_directory *series;
    struct records *records;
    struct engine *engine;
    struct arena *arena;
};

static struct error e;

static void
fine(enum status st)
{
    INSIST(st != ST_IO && st != ST_BUSY);
    INSIST(st == ST_OK || e.text[0] != '\0' || st == ST_NOT_FOUND);
}

static void
must(enum status st)
{
    if (st != ST_OK)
        (void)fprintf(stderr, "%s\n", e.text);
    INSIST(st == ST_OK);
}

/* False: what is opened rejected to be. */
static bool
open_all(struct world *w)
{
    struct uid_options uo = { .cache_entries = 64 };
    struct engine_options eo = { .threads = 1, .histogram_codec = 1 };
    enum status st = uid_open(w->store, &uo, &w->uids, &e);

    if (st == ST_OK)
        st = series_open(w->store, w->uids, &w->series, &e);
    fine(st);
    if (st != ST_OK)
        return false;
    must(records_open(w->store, w->uids, w->series, &w->records, &e));
    eo.records = w->records;
    w->engine = engine_new(w->store, w->uids, w->series, &eo);
    return true;
}

static void
close_all(struct world *w)
{
    /* It counts against the engine's budget. */
    arena_free(&w->arena);
    engine_free(&w->engine);
    records_close(&w->records);
    series_close(&w->series);
    uid_close(&w->uids);
    must(store_close(&w->store, &e));
}

static struct world
new_world(void)
{
    struct store_options o = { .layout = KEY_LAYOUT_DEFAULT };
    struct world w = { .arena = arena_new((size_t)64 << 20) };

    o.layout.salt_buckets = 2;
    must(store_open(&o, &w.store, &e));
    return w;
}

/* -- the store as it should be --------------------------------------------- */

static void
put_points(struct world *w, const char *metric, const char *host, int64_t from)
{
    struct series_rules rules = { true, true, true, 8, false };
    struct tag tags[] = { { slice_str("host"), slice_str(host) },
                          { slice_str("dc"), slice_str("x") } };
    struct series_point p[4] = { 0 };
    struct tsuid tsuid;
    struct histogram_bucket buckets[] = { { 0, 1, 3 }, { 1, 2, 5 } };
    struct histogram h = { .buckets = buckets, .len = 2 };
    struct buf bytes = BUF_INIT;
    struct annotation n = { .description = slice_str("note") };
    struct meta m = meta_empty();
    struct kv_batch *b = kv_batch_new();
    uint64_t lsn;
    bool changed;

    must(series_resolve(w->series, &rules,
                        &(struct series_text){ 0, slice_str(metric), tags, 2 },
                        &p[0].series, &tsuid, &e));
    for (int i = 0; i < 4; i++) {
        p[i].series = p[0].series;
        p[i].point.ts_ms = from + i * 60000;
        p[i].point.v.i = i;
    }
    must(store_put(w->store, p, 4, &lsn, &e));
    buf_put_u8(&bytes, 0);
    histogram_encode(&h, &bytes);
    histogram_put(b, tsuid_slice(&tsuid), from, buf_slice(&bytes));
    buf_fini(&bytes);
    must(store_write(w->store, b, NULL, &e));
    kv_batch_free(&b);
    n.tsuid = tsuid_slice(&tsuid);
    n.start = from / 1000;
    n.notes = slice_str("");
    must(annotation_put(
        w->records, &n,
        &(struct record_change){ ANNOTATION_DESCRIPTION, false, w->arena },
        &changed, &e));
    m.notes = slice_str("said");
    must(meta_put(w->records,
                  (struct meta_of){ META_SERIES, tsuid_slice(&tsuid) }, &m,
                  &(struct record_change){ META_NOTES, false, w->arena }, &e));
}

static void
remember(struct kv *kv)
{
    struct kv_iter *it = kv_iter_open(kv, slice_str(""));

    for (bool on = kv_iter_seek(it, slice_str("")); on && good.len < MOST;
         on = kv_iter_next(it)) {
        struct pair *p = &good.pairs[good.len++];

        p->key = kv_iter_key(it);
        p->value = kv_iter_value(it);
        p->key.data = (uint8_t *)mem_strndup(p->key.data, p->key.size);
        p->value.data = (uint8_t *)mem_strndup(p->value.data, p->value.size);
    }
    must(kv_iter_close(&it, &e));
}

static void
forget(void)
{
    for (size_t i = 0; i < good.len; i++) {
        free((void *)(uintptr_t)good.pairs[i].key.data);
        free((void *)(uintptr_t)good.pairs[i].value.data);
    }
}

static void
make_good(void)
{
    struct world w = new_world();
    struct tree t = { .name = slice_str("t"), .enabled = true };
    struct tree_rule r = { .tree = 1,
                           .type = TREE_RULE_TAGK,
                           .field = slice_str("host") };
    uint64_t kind;
    bool changed;

    log_set_level(LOG_ERROR);
    INSIST(open_all(&w));
    put_points(&w, "m", "a", T0);
    put_points(&w, "m", "b", T0);
    put_points(&w, "n", "a", T0 + HOUR_MS);
    must(tree_create(w.records, &t, &e));
    must(tree_rule_put(w.records, &r, false, w.arena, &changed, &e));
    must(series_kind(w.series, "3600i-sum", true, &kind, &e));
    must(store_flush(w.store, &e));
    remember(store_kv(w.store));
    close_all(&w);
    INSIST(atexit(forget) == 0);
}

/* -- damage -----------------------------------------------------------------
 */

static struct buf
copy_of(struct slice s)
{
    struct buf b = BUF_INIT;

    buf_put_slice(&b, s);
    return b;
}

static void
flip(struct buf *b, size_t at, uint8_t by)
{
    if (b->size > 0)
        b->data[at % b->size] ^= by;
}

/* Puts what the input asks for into the batch; later ones win. */
static void
damage(struct kv_batch *b, struct cursor *c)
{
    uint8_t what = (uint8_t)(cursor_u8(c) % 6);
    struct buf key, value;

    if (what == 0) {
        key = copy_of(cursor_bytes(c, cursor_u8(c)));
        value = copy_of(cursor_bytes(c, cursor_u16(c)));
    } else {
        const struct pair *p = &good.pairs[cursor_u16(c) % good.len];

        key = copy_of(p->key);
        value = copy_of(p->value);
    }
    if (what == 1) {
        uint16_t at = cursor_u16(c);

        flip(&value, at, cursor_u8(c));
    } else if (what == 2) {
        value.size = cursor_u16(c) % (value.size + 1);
    } else if (what == 3) {
        buf_clear(&value);
        buf_put_slice(&value, cursor_bytes(c, cursor_u16(c)));
    } else if (what == 4) {
        uint8_t at = cursor_u8(c);

        kv_batch_delete(b, buf_slice(&key));
        flip(&key, at, cursor_u8(c));
    }
    if (what == 5)
        kv_batch_delete(b, buf_slice(&key));
    else if (!c->failed)
        kv_batch_put(b, buf_slice(&key), buf_slice(&value));
    buf_fini(&key);
    buf_fini(&value);
}

static void
write_damaged(struct store *s, struct cursor c)
{
    struct kv_batch *b = kv_batch_new();

    for (size_t i = 0; i < good.len; i++)
        kv_batch_put(b, good.pairs[i].key, good.pairs[i].value);
    for (int i = 0; i < 64 && cursor_left(&c) > 0 && !c.failed; i++)
        damage(b, &c);
    must(kv_write(store_kv(s), b, &e));
    kv_batch_free(&b);
}

/* -- readers ----------------------------------------------------------------
 */

static bool
see_name(void *ctx, struct slice name, uint64_t id)
{
    struct world *w = ctx;
    struct buf b = BUF_INIT;

    (void)name;
    fine(uid_name(w->uids, UID_TAGV, id, &b, &e));
    buf_fini(&b);
    return true;
}

static void
read_names(struct world *w)
{
    struct meta m;

    for (int k = 0; k < UID_KINDS; k++) {
        fine(uid_suggest(w->uids, (enum uid_kind)k, slice_str(""), 100,
                         see_name, w, &e));
        for (uint64_t id = 1; id < 4; id++) {
            uint8_t bytes[3];

            key_put_uint(bytes, id, 3);
            fine(meta_get(
                w->records,
                (struct meta_of){ (enum meta_kind)k, slice_of(bytes, 3) },
                w->arena, &m, &e));
        }
        (void)uid_counts(w->uids, (enum uid_kind)k);
    }
}

static bool
see_series(void *ctx, struct slice tsuid)
{
    struct world *w = ctx;
    struct meta m;
    struct point p;
    struct series_points sp;
    uint32_t created;

    INSIST(tsuid.size <= TSUID_MAX);
    fine(meta_get(w->records, (struct meta_of){ META_SERIES, tsuid }, w->arena,
                  &m, &e));
    if (!tsuid_is_valid(store_layout(w->store), tsuid))
        return true;
    fine(store_last(w->store, tsuid, INT64_MAX, &p, &e));
    fine(series_created(w->series, tsuid, &created, &e));
    fine(series_points(w->store, &tsuid, 1, &sp, CANCEL_NEVER, &e));
    return true;
}

static void
read_rest(struct world *w)
{
    const struct slice global = slice_str("");
    struct annotation *notes;
    struct tree *trees;
    size_t len;

    fine(tree_list(w->records, w->arena, &trees, &len, &e));
    fine(annotation_list(
        w->records,
        &(struct annotation_query){ &global, 1, 0, INT64_MAX, w->arena },
        &notes, &len, &e));
    fine(meta_each_series(w->records, slice_str(""), see_series, w, &e));
    (void)series_total(w->series);
}

static void
ask(struct world *w, const char *json)
{
    struct parse_options o = { .now_ms = T0 + 2 * HOUR_MS };
    struct parse_error pe = { 0 };
    struct query_result result;
    struct query q;
    enum status st = query_parse_json(slice_str(json), &o, w->arena, &q, &pe);

    INSIST(st == ST_OK);
    st = engine_run(w->engine, &q, CANCEL_NEVER, NULL, w->arena, &result, &pe);
    INSIST(st != ST_IO && st != ST_BUSY);
    if (st == ST_OK)
        for (size_t i = 0; i < result.groups_len; i++)
            for (size_t k = 0; k < result.groups[i].tsuids_len; k++)
                (void)see_series(w, result.groups[i].tsuids[k]);
    query_fini(&q);
}

FUZZ_TARGET(data, size)
{
    struct world w;

    if (good.len == 0)
        make_good();
    w = new_world();
    write_damaged(w.store, cursor_of(slice_of(data, size)));
    if (open_all(&w)) {
        read_names(&w);
        read_rest(&w);
        ask(&w, "{\"start\":1356998400,\"queries\":[{\"aggregator\":\"sum\","
                "\"metric\":\"m\",\"tags\":{\"host\":\"*\"}}]}");
        ask(&w, "{\"start\":1356998400,\"queries\":[{\"aggregator\":\"none\","
                "\"metric\":\"n\"}]}");
        ask(&w, "{\"start\":1356998400,\"queries\":[{\"aggregator\":\"sum\","
                "\"metric\":\"m\",\"percentiles\":[50]}]}");
    }
    close_all(&w);
    return 0;
}
