/* What the engines cost with the same rows, one after the other in one run:
 *
 *     bench/engines leveldb=/tmp/level 'rados=tsdb/bench?conf=/tmp/c/ceph.conf'
 *
 * Rows of METRICS metrics, SERIES series each, SPANS spans, are written bucket
 * by bucket as the flusher does, and read back: all rows of one metric, a
 * bucket at a time on each of THREADS threads, as a query does; many rows by
 * their keys; one row by an iterator.  A row of JSON each: rows a second and
 * CPU of this process. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "base/process/clock.h"
#include "base/mem.h"
#include "storage/kv/kv.h"
#include "storage/row/key.h"

#define METRICS 2
#define SERIES  4000 /* of a metric */
#define SPANS   20   /* five days */
#define VALUE   400  /* bytes */
#define BATCH   1000
#define HOURS   200 /* how often one row is read */
#define THREADS 2   /* of a scan: a query has one a CPU */
#define READS   5   /* of all of a metric */
#define SPAN_S  UINT32_C(21600)
#define FIRST_S (UINT32_C(63000) * SPAN_S)

static const struct key_layout layout = { 1, 16, 3, 3, 3, 6 };

struct timer {
    int64_t from_us;
    double cpu_us;
};

static double
cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static struct timer
timer_start(void)
{
    return (struct timer){ clock_monotonic_us(), cpu_us() };
}

static void
report(const char *engine, const char *what, struct timer t, size_t rows)
{
    double us = (double)(clock_monotonic_us() - t.from_us);
    double cpu = cpu_us() - t.cpu_us;

    printf("{\"engine\":\"%s\",\"what\":\"%s\",\"rows\":%zu,"
           "\"rows_per_s\":%.0f,\"cpu_us_per_row\":%.2f}\n",
           engine, what, rows, (double)rows / us * 1e6, cpu / (double)rows);
    (void)fflush(stdout);
}

static void
check(enum status st, const struct error *e)
{
    if (st == ST_OK)
        return;
    (void)fprintf(stderr, "engines: %s\n", e->text);
    exit(1);
}

static size_t
make_key(unsigned metric, unsigned series, unsigned span, uint8_t *out)
{
    uint8_t tsuid[15];

    key_put_uint(tsuid, metric + 1, 3);
    key_put_uint(tsuid + 3, 1, 3);
    key_put_uint(tsuid + 6, series + 1, 3);
    key_put_uint(tsuid + 9, 2, 3);
    key_put_uint(tsuid + 12, series % 7 + 1, 3);
    return key_row(&layout, slice_of(tsuid, sizeof tsuid),
                   FIRST_S + span * SPAN_S, out);
}

/* Bytes that do not compress, as a row's. */
static void
fill(uint8_t *value, uint64_t *state)
{
    for (size_t i = 0; i < VALUE; i++) {
        *state = *state * UINT64_C(6364136223846793005) + 1442695;
        value[i] = (uint8_t)(*state >> 56);
    }
}

static void
write_bucket(struct kv *kv, unsigned bucket, uint64_t *state)
{
    struct kv_batch *b = kv_batch_new();
    uint8_t key[ROW_KEY_MAX], value[VALUE];
    struct error e = { 0 };

    kv_batch_set_bucket(b, bucket);
    for (unsigned span = 0; span < SPANS; span++)
        for (unsigned m = 0; m < METRICS; m++)
            for (unsigned s = 0; s < SERIES; s++) {
                size_t size = make_key(m, s, span, key);

                if (key[1] != bucket)
                    continue;
                fill(value, state);
                kv_batch_put(b, slice_of(key, size), slice_of(value, VALUE));
                if (kv_batch_len(b) < BATCH)
                    continue;
                check(kv_gather(kv, b, &e), &e);
                kv_batch_clear(b);
            }
    check(kv_gather(kv, b, &e), &e);
    kv_batch_free(&b);
}

struct scan {
    struct kv *kv;
    atomic_uint bucket; /* the next one that nothing reads yet */
    atomic_size_t rows;
};

static void
scan_bucket(struct scan *x, unsigned bucket)
{
    const uint8_t from[] = { TABLE_ROWS, (uint8_t)bucket, 0, 0, 2 };
    const uint8_t to[] = { TABLE_ROWS, (uint8_t)bucket, 0, 0, 3 };
    struct kv_iter *it = kv_iter_open(x->kv, slice_of(from, sizeof from));
    struct error e = { 0 };
    size_t rows = 0;

    kv_iter_bound(it, slice_of(to, sizeof to));
    for (bool on = kv_iter_seek(it, slice_of(from, sizeof from)); on;
         on = kv_iter_next(it))
        rows++;
    check(kv_iter_close(&it, &e), &e);
    atomic_fetch_add(&x->rows, rows);
}

static void *
scan_buckets(void *ctx)
{
    struct scan *x = ctx;
    unsigned bucket;

    while ((bucket = atomic_fetch_add(&x->bucket, 1)) < layout.salt_buckets)
        scan_bucket(x, bucket);
    return NULL;
}

static size_t
scan_metric(struct kv *kv)
{
    struct scan x = { .kv = kv };
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, scan_buckets, &x) != 0)
            abort();
    for (size_t i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    return atomic_load(&x.rows);
}

static void
count_found(void *ctx, size_t i, const struct slice *value)
{
    (void)i;
    *(size_t *)ctx += value != NULL;
}

/* One row of ten of a metric. */
static size_t
get_some(struct kv *kv)
{
    size_t len = 0, found = 0, cap = SERIES * SPANS / 10;
    uint8_t(*keys)[ROW_KEY_MAX] = mem_new_array(cap, sizeof *keys);
    struct slice *slices = mem_new_array(cap, sizeof *slices);
    struct error e = { 0 };

    for (unsigned i = 0; len < cap; i += 10) {
        size_t size = make_key(1, i % SERIES, i / SERIES, keys[len]);

        slices[len] = slice_of(keys[len], size);
        len++;
    }
    check(kv_get_many(kv, slices, len, count_found, &found, &e), &e);
    free(keys);
    free(slices);
    return found;
}

static void
read_one(struct kv *kv, unsigned n)
{
    uint8_t from[ROW_KEY_MAX], to[ROW_KEY_MAX];
    size_t size = make_key(1, n * 37 % SERIES, n % SPANS, from);
    struct kv_iter *it = kv_iter_open(kv, slice_of(from, 5));
    struct error e = { 0 };

    memcpy(to, from, size);
    to[size - 1]++;
    kv_iter_bound(it, slice_of(to, size));
    if (!kv_iter_seek(it, slice_of(from, size)))
        (void)error_set(&e, ST_NOT_FOUND, "a row is missing");
    check(kv_iter_close(&it, &e), &e);
    check(e.status, &e);
}

static struct kv *
open_engine(const char *engine, const char *at)
{
    const struct kv_options o = { .place = { engine, at },
                                  .create = true,
                                  .layout = &layout };
    struct error e = { 0 };
    struct kv *kv;

    check(kv_open(&o, &kv, &e), &e);
    return kv;
}

static void
measure(const char *engine, const char *at)
{
    struct kv *kv = open_engine(engine, at);
    uint64_t state = 1;
    struct error e = { 0 };
    struct timer t = timer_start();
    size_t rows = 0;

    for (unsigned b = 0; b < layout.salt_buckets; b++)
        write_bucket(kv, b, &state);
    check(kv_sync(kv, &e), &e);
    report(engine, "write", t, METRICS * SERIES * SPANS);
    kv_close(&kv);
    kv = open_engine(engine, at);
    for (int i = 0; i < READS; i++) {
        t = timer_start();
        rows = scan_metric(kv);
        report(engine, "scan", t, rows);
    }
    t = timer_start();
    rows = get_some(kv);
    report(engine, "get_many", t, rows);
    t = timer_start();
    for (unsigned n = 0; n < HOURS; n++)
        read_one(kv, n);
    report(engine, "one row", t, HOURS);
    kv_close(&kv);
}

int
main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *at = argv[i], *engine = strsep(&at, "=");

        if (at == NULL) {
            (void)fputs("usage: engines ENGINE=PLACE ...\n", stderr);
            return 2;
        }
        measure(engine, at);
    }
    return 0;
}
