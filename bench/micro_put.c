/* The way of a point, without sockets: lines and bodies into a store in memory,
 * whose series are known.  Each round puts the same points again, which costs
 * as much as new ones do until a row is flushed. */
#include "bench/micro.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "bench/client.h"
#include "bench/workload.h"
#include "tsd/put/put.h"
#include "tsd/put/put_json.h"

struct put_rig {
    struct store *store;
    struct uid_table *uids;
    struct series_directory *series;
    struct put_path *path;
    struct put_batch *batch;
    struct buf text; /* lines, or objects between commas */
    struct slice *lines;
    size_t len;
    struct put_cache *cache;
    struct put_guess guess;
    struct put_key *keys;
    struct put_json_point *points;
};

static void
rejected(void *ctx, size_t id, enum put_fault fault, struct slice why)
{
    client_die("a point was rejected");
}

static bool
keep(void *ctx, const void *data, size_t size)
{
    buf_put(ctx, data, size);
    return true;
}

/* Two steps of so many hosts' points. */
static void
make_text(struct put_rig *r, uint32_t hosts, bool json)
{
    struct workload w = workload_default;
    struct workload_totals t;
    const uint8_t *p;

    w.hosts = hosts;
    w.end = w.start + 2 * w.step;
    w.json = json;
    if (!workload_run(&w, keep, &r->text, &t) || r->text.failed)
        client_die("no memory");
    r->len = t.points;
    r->lines = mem_new_array(r->len, sizeof *r->lines);
    p = r->text.data;
    for (size_t i = 0; i < r->len; i++) {
        const uint8_t *end =
            memchr(p, '\n', r->text.size - (size_t)(p - r->text.data));
        size_t skip = json ? 0 : 4; /* "put " */

        r->lines[i] = slice_of(p + skip, (size_t)(end - p) - skip);
        p = end + 1;
    }
}

static void
open_rig(struct put_rig *r, uint32_t hosts, bool json)
{
    const struct store_options so = { .layout = KEY_LAYOUT_DEFAULT,
                                      .head_bytes = (size_t)1 << 30 };
    const struct uid_options uo = { 0 };
    const struct put_options po = { .rules = { true, true, true, 8, false } };
    struct error e;

    memset(r, 0, sizeof *r);
    if (store_open(&so, &r->store, &e) != ST_OK ||
        uid_open(r->store, &uo, &r->uids, &e) != ST_OK ||
        series_open(r->store, r->uids, &r->series, &e) != ST_OK)
        client_die(e.text);
    r->path = put_path_new(r->store, r->series, r->uids, &po);
    r->batch = put_batch_new(r->path, rejected, NULL);
    make_text(r, hosts, json);
}

static void
close_rig(struct put_rig *r)
{
    struct error e;

    put_batch_free(&r->batch);
    put_path_free(&r->path);
    series_close(&r->series);
    uid_close(&r->uids);
    if (store_close(&r->store, &e) != ST_OK)
        client_die(e.text);
    put_cache_free(&r->cache);
    free(r->keys);
    free(r->points);
    free(r->lines);
    buf_fini(&r->text);
}

static void
flush(struct put_rig *r)
{
    if (put_batch_flush(r->batch, NULL) != ST_OK)
        client_die("the store is busy");
}

static void
put_lines(void *ctx)
{
    struct put_rig *r = ctx;

    for (size_t i = 0; i < r->len; i++) {
        if (put_batch_is_full(r->batch))
            flush(r);
        put_batch_line(r->batch, r->lines[i], i, false);
    }
    flush(r);
}

static void
find_newlines(void *ctx)
{
    struct put_rig *r = ctx;
    const uint8_t *p = r->text.data, *end = p + r->text.size;
    uint64_t n = 0;

    while (p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
        n++;
        p++;
    }
    micro_use(n);
}

static void
read_json(void *ctx)
{
    struct put_rig *r = ctx;
    struct put_json_point p;
    struct put_json reader = { 0 };

    if (!put_json_open(&reader, buf_slice(&r->text)))
        client_die("no JSON");
    for (size_t i = 0; put_json_next(&reader, &p); i++)
        micro_use(p.metric.size);
    if (put_json_status(&reader, NULL) != ST_OK)
        client_die("the body has a fault");
}

static void
put_json_points(void *ctx)
{
    struct put_rig *r = ctx;
    struct put_json reader = { 0 };
    size_t i = 0;

    if (!put_json_open(&reader, buf_slice(&r->text)))
        client_die("no JSON");
    for (; put_json_next(&reader, &r->points[i]); i++) {
        if (put_batch_is_full(r->batch))
            flush(r);
        put_batch_json(r->batch, &r->points[i], i, false);
    }
    flush(r);
}

static void
find_braces(void *ctx)
{
    struct put_rig *r = ctx;
    const uint8_t *p = r->text.data, *end = p + r->text.size;
    uint64_t n = 0;

    while (p < end && (p = memchr(p, '}', (size_t)(end - p))) != NULL) {
        n++;
        p++;
    }
    micro_use(n);
}

static void
hash_keys(void *ctx)
{
    struct put_rig *r = ctx;

    for (size_t i = 0; i < r->len; i++)
        micro_use(hash_bytes(r->keys[i].tags, r->keys[i].tags_size, 1));
}

static void
look_up(void *ctx)
{
    struct put_rig *r = ctx;
    series_ref refs[PUT_BATCH_MAX];

    for (size_t i = 0; i < r->len; i += PUT_BATCH_MAX) {
        size_t n = r->len - i < PUT_BATCH_MAX ? r->len - i : PUT_BATCH_MAX;

        put_cache_find(r->cache, &r->keys[i], n, refs, &r->guess);
        micro_use(refs[0]);
    }
}

/* A cache that knows the metric and tags of every line. */
static void
fill_cache(struct put_rig *r)
{
    r->cache = put_cache_new(0, 0);
    r->keys = mem_new_array(r->len, sizeof *r->keys);
    for (size_t i = 0; i < r->len; i++) {
        struct put_key *k = &r->keys[i];
        struct slice l = r->lines[i];
        const uint8_t *blank = memchr(l.data, ' ', l.size);
        const uint8_t *tags =
            memchr(l.data, 'h', l.size); /* host=, behind digits only */

        while (memcmp(tags, "host=", 5) != 0)
            tags++;
        k->kind = PUT_TELNET;
        k->metric = l.data;
        k->metric_size = (uint32_t)(blank - l.data);
        k->tags = tags;
        k->tags_size = (uint32_t)(l.data + l.size - tags);
        put_cache_add(r->cache, k, i + 1, put_cache_epoch(r->cache));
    }
}

static void
measure_lines(uint32_t hosts, const char *put, const char *find)
{
    struct put_rig r;

    open_rig(&r, hosts, false);
    micro_run(&(struct micro){ put, "line", r.len, put_lines,
                               "newlines by memchr", find_newlines },
              &r);
    fill_cache(&r);
    micro_run(&(struct micro){ find, "line", r.len, look_up, "hash of the tags",
                               hash_keys },
              &r);
    close_rig(&r);
}

static void
measure_json(void)
{
    struct put_rig r;

    open_rig(&r, 100, true);
    for (size_t i = 0; i < r.text.size; i++)
        if (r.text.data[i] == '\n')
            r.text.data[i] = ',';
    r.text.data[r.text.size - 1] = ']';
    r.points = mem_new_array(r.len + 1, sizeof *r.points);
    memmove(buf_reserve(&r.text, 1) == NULL ? r.text.data : r.text.data + 1,
            r.text.data, r.text.size);
    r.text.size++;
    r.text.data[0] = '[';
    micro_run(&(struct micro){ "read a point of a JSON body", "point", r.len,
                               read_json, "closing braces by memchr",
                               find_braces },
              &r);
    micro_run(&(struct micro){ "put a point of a JSON body, 1,000 series",
                               "point", r.len, put_json_points,
                               "closing braces by memchr", find_braces },
              &r);
    close_rig(&r);
}

void
micro_put(void)
{
    measure_lines(100, "put a line, 1,000 series",
                  "look a series up, 1,000 known");
    measure_lines(4000, "put a line, 40,000 series",
                  "look a series up, 40,000 known");
    measure_json();
}
