/* The engine in RADOS with a key layout: which objects keys are in, that it
 * merges them as one ordered space, what it reads, and what it does when the
 * cluster fails. */
#include "storage/kv/kv.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "storage/kv/rados/omap_code.h"
#include "storage/kv/rados/omap_objects.h"
#include "tests/storage/kv/kv_calls.h"
#include "tests/storage/rados/rados_rig.h"

#define BUCKETS 4
#define HOUR    UINT32_C(3600)

#define LAYOUT                 \
    {                          \
        1, BUCKETS, 3, 3, 3, 6 \
    }

static const struct key_layout layout = LAYOUT;
static const struct omap_map map = { true, LAYOUT, 24 * HOUR };

struct fixture {
    struct rados_rig rig;
    struct kv *kv, *other;
    struct ceph *c; /* the engine's connection */
};

static struct kv *
open_at(const char *at)
{
    const struct kv_options o = { .place = { "rados", at },
                                  .create = true,
                                  .timeout_ms = 20000,
                                  .layout = &layout };
    struct error e = { 0 };
    struct kv *kv;

    ck_assert_msg(kv_open(&o, &kv, &e) == ST_OK, "%s", e.text);
    return kv;
}

static struct fixture
setup(void)
{
    struct fixture f = { .rig = rados_rig_new("") };

    f.kv = open_at(f.rig.at);
    f.other = open_at(f.rig.other);
    ck_assert_int_eq(ceph_open(f.rig.at, &f.c, NULL), ST_OK);
    return f;
}

static void
teardown(struct fixture *f)
{
    ceph_set_fault(f->c, NULL, NULL);
    ceph_close(&f->c);
    kv_close(&f->kv);
    kv_close(&f->other);
    rados_rig_free(&f->rig);
}

/* -- keys ------------------------------------------------------------------ */

struct key {
    uint8_t bytes[ROW_KEY_MAX];
    size_t size;
};

static struct slice
slice_of_key(const struct key *k)
{
    return slice_of(k->bytes, k->size);
}

static struct key
key_of(struct slice s)
{
    struct key k = { .size = s.size };

    if (s.size > 0)
        memcpy(k.bytes, s.data, s.size);
    return k;
}

static void
add(struct key *k, const void *bytes, size_t size)
{
    memcpy(k->bytes + k->size, bytes, size);
    k->size += size;
}

static struct key
tsuid(unsigned metric, unsigned tagv)
{
    struct key k = { .size = 9 };

    key_put_uint(k.bytes, metric, 3);
    key_put_uint(k.bytes + 3, 1, 3);
    key_put_uint(k.bytes + 6, tagv, 3);
    return k;
}

static struct key
row(unsigned metric, unsigned tagv, uint32_t time)
{
    struct key t = tsuid(metric, tagv), k = { .size = 0 };

    k.size = key_row(&layout, slice_of_key(&t), time, k.bytes);
    return k;
}

static struct key
counted(char table, struct key t, uint64_t ms)
{
    struct key k = { .bytes = { (uint8_t)table, 0, (uint8_t)t.size },
                     .size = 3 };
    uint8_t time[8];

    key_put_uint(time, ms, 8);
    add(&k, t.bytes, t.size);
    add(&k, time, sizeof time);
    return k;
}

static const unsigned metrics[] = { 0, 1, 2, 255, 256, 0xffffff };
static const uint32_t times[] = { 0,           6 * HOUR,    18 * HOUR,
                                  24 * HOUR,   30 * HOUR,   48 * HOUR,
                                  4000 * HOUR, 4008 * HOUR, 700000 * HOUR };

/* A key of any table. */
static struct key
draw_key(uint64_t *state)
{
    unsigned metric = metrics[harness_random(state) % 6];
    unsigned tagv = (unsigned)(harness_random(state) % 5);
    uint32_t time = times[harness_random(state) % 9];
    struct key t = tsuid(metric, tagv), k = { .size = 1 };
    uint8_t salt = (uint8_t)(tagv % BUCKETS);
    static const char names[][8] = { "un", "ui", "uc" };

    switch (harness_random(state) % 12) {
    case 0:
        k.bytes[0] = TABLE_SERIES;
        add(&k, t.bytes, t.size);
        return k;
    case 1:
        k.bytes[0] = TABLE_TAGK_SETS;
        add(&k, t.bytes, 6);
        add(&k, &salt, 1);
        return k;
    case 2:
        return counted('a', t, time);
    case 3:
        return counted('a', (struct key){ .size = 0 }, time);
    case 4:
        return counted('g', t, time);
    case 5:
        k = row(metric, tagv, time);
        memmove(k.bytes + 1, k.bytes, k.size);
        k.bytes[0] = TABLE_QUARANTINE;
        k.size++;
        add(&k, "\0\0\0\0\0\0\0\1", 8);
        return k;
    case 6:
        k.bytes[0] = TABLE_META;
        add(&k, tagv == 0 ? "m" : "t", 1);
        add(&k, t.bytes, tagv == 0 ? 3 : t.size);
        return k;
    case 7:
        k = key_of(slice_str(names[tagv % 3]));
        k.bytes[2] = k.bytes[1];
        k.bytes[1] = (uint8_t)("kmpv"[metric % 4]);
        k.size = 3;
        add(&k, t.bytes, k.bytes[2] == 'c' ? 0 : 3);
        return k;
    case 8:
        k.bytes[0] = TABLE_TREES;
        add(&k, t.bytes, 2);
        return k;
    default:
        return row(metric, tagv, time);
    }
}

START_TEST(codes_keep_the_order_and_come_back)
{
    uint64_t state = harness_seed((unsigned long)_i);

    for (int n = 0; n < 20000; n++) {
        struct buf code[2] = { BUF_INIT, BUF_INIT }, back = BUF_INIT;
        struct buf bare = BUF_INIT;
        uint8_t bytes[2][8];
        struct slice keys[2];

        for (int k = 0; k < 2; k++) {
            size_t size = harness_random(&state) % 6;

            for (size_t b = 0; b < size; b++)
                bytes[k][b] =
                    (uint8_t) "\0\1\2\3\4\5\xfe\xff"[harness_random(&state) %
                                                     8];
            keys[k] = slice_of(bytes[k], size);
            omap_encode_key(&code[k], keys[k]);
            ck_assert(memchr(code[k].data, 0, code[k].size) == NULL);
        }
        ck_assert_int_eq(
            (slice_cmp(keys[0], keys[1]) > 0) -
                (slice_cmp(keys[0], keys[1]) < 0),
            (slice_cmp(buf_slice(&code[0]), buf_slice(&code[1])) > 0) -
                (slice_cmp(buf_slice(&code[0]), buf_slice(&code[1])) < 0));
        ck_assert(omap_decode_key(&back, buf_slice(&code[0])));
        ck_assert(slice_eq(buf_slice(&back), keys[0]));
        /* Without its end it is in front of its key and of no other. */
        omap_encode(&bare, keys[1]);
        ck_assert_int_eq(slice_cmp(buf_slice(&bare), buf_slice(&code[0])) < 0,
                         slice_cmp(keys[1], keys[0]) <= 0);
        buf_fini(&code[0]);
        buf_fini(&code[1]);
        buf_fini(&back);
        buf_fini(&bare);
    }
}
END_TEST

static const struct {
    const char *bytes;
    size_t size;
} no_codes[] = { { "", 0 },         { "a", 1 },       { "\2\1", 2 },
                 { "\2\5\1", 3 },   { "\0\1", 2 },    { "\1\1", 2 },
                 { "ab\2\1\1", 5 }, { "\2\2\2\1", 4 } };

START_TEST(what_is_no_code_is_found)
{
    struct buf out = BUF_INIT;

    ck_assert(!omap_decode_key(
        &out, slice_of(no_codes[_i].bytes, no_codes[_i].size)));
    buf_fini(&out);
}
END_TEST

#define KEY(s)    (s), sizeof(s) - 1
#define MALFORMED NULL

static const struct {
    const char *key;
    size_t size;
    const char *object;
} objects[] = {
    { KEY("r\3\0\0\1\0\0\0\0\0\0\1\0\0\2"), "r.03.00000000" },
    { KEY("r\3\0\0\1\0\1\x51\x80\0\0\1\0\0\2"), "r.03.00015180" },
    { KEY("r\3\0\0\1\0\2\xa2\xff\0\0\1\0\0\2"), "r.03.00015180" },
    { KEY("r\4\0\0\1\0\0\0\0"), MALFORMED },
    { KEY("r\3\0\0\1\0\0\0"), MALFORMED },
    { KEY("h\0\0\1\0\0\1\2"), "s.02" },
    { KEY("h\0\0\1\0\0\1\4"), MALFORMED },
    { KEY("a\0\0\0\0\0\0\0\0\0\1"), "x.61" },
    { KEY("q"
          "r\1\0\0\1\0\0\0\0\0\0\0\0\0\0\0\1"),
      "q.01" },
    { KEY("mm\0\0\1"), "x.6d" },
    { KEY("umc"), "u.m.c" },
    { KEY("umd\0\0\1"), "u.m.d" },
    { KEY("uxn"), MALFORMED },
    { KEY("umx"), MALFORMED },
    { KEY("um"), MALFORMED },
    { KEY("t\0\1"), "x.74" },
    { KEY("b"), "x.62" },
    { KEY("c"), "x.63" },
    { KEY("c\0\0\1"), "x.63" },
    { KEY("z"), MALFORMED },
    { KEY(""), MALFORMED },
};

START_TEST(keys_have_their_objects)
{
    struct slice key = slice_of(objects[_i].key, objects[_i].size);
    struct omap_object object;
    enum status st = omap_object_of(&map, key, &object, NULL);

    ck_assert_int_eq(st, objects[_i].object == MALFORMED ? ST_INVALID : ST_OK);
    if (st == ST_OK)
        ck_assert_str_eq(object.name, objects[_i].object);
}
END_TEST

/* What a bucket's owner writes of a new series is one object's. */
START_TEST(a_series_and_its_tag_key_set_are_of_one_group)
{
    struct fixture f = setup();
    struct key t = tsuid(7, 9), series = { { TABLE_SERIES }, 1 };
    struct key set = { { TABLE_TAGK_SETS }, 1 };
    struct key n = key_of(S("umncpu")), i = key_of(S("umi\0\0\1"));
    uint8_t salt = (uint8_t)key_salt(&layout, slice_of_key(&t));

    add(&series, t.bytes, t.size);
    add(&set, t.bytes, 6);
    add(&set, &salt, 1);
    ck_assert_uint_eq(kv_group(f.kv, slice_of_key(&series)),
                      kv_group(f.kv, slice_of_key(&set)));
    ck_assert_uint_ne(kv_group(f.kv, slice_of_key(&n)),
                      kv_group(f.kv, slice_of_key(&i)));
    teardown(&f);
}
END_TEST

/* -- against the memory engine --------------------------------------------- */

struct world {
    struct fixture f;
    struct kv *model;
    uint64_t state;
};

static void
write_both(struct world *w)
{
    struct kv_batch *b = kv_batch_new();
    struct error e = { 0 };
    uint8_t value[600];

    for (uint64_t n = harness_random(&w->state) % 60; n-- > 0;) {
        struct key k = draw_key(&w->state);
        size_t size = harness_random(&w->state) % sizeof value;

        memset(value, (int)(n % 3), sizeof value);
        if (harness_random(&w->state) % 4 == 0)
            kv_batch_delete(b, slice_of_key(&k));
        else
            kv_batch_put(b, slice_of_key(&k),
                         slice_of(value, size % 5 == 0 ? 0 : size));
    }
    ck_assert_msg(kv_write(w->f.kv, b, &e) == ST_OK, "%s", e.text);
    ck_assert_int_eq(kv_write(w->model, b, NULL), ST_OK);
    kv_batch_free(&b);
}

static void
check_same(struct kv_iter *it, struct kv_iter *expected, bool on, bool is)
{
    if (on != is)
        ck_abort_msg("%s instead of %s", on ? "a key" : "an end",
                     is ? "a key" : "an end");
    if (!on)
        return;
    ck_assert(slice_eq(kv_iter_key(it), kv_iter_key(expected)));
    ck_assert(slice_eq(kv_iter_value(it), kv_iter_value(expected)));
}

/* Seeks and steps, with prefixes and bounds of all lengths. */
static void
walk_both(struct world *w)
{
    struct key prefix = draw_key(&w->state), end;
    struct slice p = slice_of(prefix.bytes, harness_random(&w->state) % 12);
    struct kv_iter *it, *model;
    struct error e = { 0 };

    if (p.size > prefix.size || harness_random(&w->state) % 3 == 0)
        p.size = 0;
    it = kv_iter_open(w->f.other, p);
    model = kv_iter_open(w->model, p);
    for (uint64_t n = harness_random(&w->state) % 8; n-- > 0;) {
        struct key k = draw_key(&w->state);
        struct slice to = slice_of_key(&k);
        bool on;

        if (harness_random(&w->state) % 3 == 0) {
            end = draw_key(&w->state);
            kv_iter_bound(it, slice_of_key(&end));
            kv_iter_bound(model, slice_of_key(&end));
        }
        to.size -= harness_random(&w->state) % to.size;
        if (slice_cmp(to, p) < 0)
            to = p;
        on = kv_iter_seek(it, to);
        check_same(it, model, on, kv_iter_seek(model, to));
        for (uint64_t m = harness_random(&w->state) % 100; m-- > 0 && on;) {
            on = kv_iter_next(it);
            check_same(it, model, on, kv_iter_next(model));
        }
    }
    ck_assert_msg(kv_iter_close(&it, &e) == ST_OK, "%s", e.text);
    close_iter(&model);
}

/* As a query does: rows of a metric in a bucket, from a time up to another. */
static void
scan_both(struct world *w)
{
    unsigned metric = metrics[harness_random(&w->state) % 6];
    unsigned tagv = (unsigned)(harness_random(&w->state) % 5);
    struct key any = row(metric, tagv, 0);
    struct slice prefix = slice_of(any.bytes, 5);
    struct kv_iter *it = kv_iter_open(w->f.other, prefix);
    struct kv_iter *model = kv_iter_open(w->model, prefix);
    struct error e = { 0 };

    for (int round = 0; round < 4; round++) {
        struct key from =
            row(metric, tagv, times[harness_random(&w->state) % 9]);
        struct key end =
            row(metric, tagv, times[harness_random(&w->state) % 9]);
        size_t size = harness_random(&w->state) % 2 == 0 ? 9 : end.size;
        bool on;

        kv_iter_bound(it, slice_of(end.bytes, size));
        kv_iter_bound(model, slice_of(end.bytes, size));
        on = kv_iter_seek(it, slice_of(from.bytes, 9));
        check_same(it, model, on, kv_iter_seek(model, slice_of(from.bytes, 9)));
        while (on) {
            on = kv_iter_next(it);
            check_same(it, model, on, kv_iter_next(model));
        }
    }
    ck_assert_msg(kv_iter_close(&it, &e) == ST_OK, "%s", e.text);
    close_iter(&model);
}

static void
keep(void *ctx, size_t i, const struct slice *value)
{
    struct buf *values = ctx;

    buf_clear(&values[i]);
    buf_put_str(&values[i], value == NULL ? "-" : "+");
    if (value != NULL)
        buf_put_slice(&values[i], *value);
}

#define MANY 40

static void
get_both(struct world *w)
{
    struct buf values[2][MANY] = { { BUF_INIT } };
    struct key keys[MANY];
    struct slice slices[MANY];
    struct error e = { 0 };

    for (size_t i = 0; i < MANY; i++) {
        keys[i] = draw_key(&w->state);
        slices[i] = slice_of_key(&keys[i]);
    }
    ck_assert_msg(kv_get_many(w->f.other, slices, MANY, keep, values[0], &e) ==
                      ST_OK,
                  "%s", e.text);
    ck_assert_int_eq(kv_get_many(w->model, slices, MANY, keep, values[1], NULL),
                     ST_OK);
    for (size_t i = 0; i < MANY; i++) {
        ck_assert(slice_eq(buf_slice(&values[0][i]), buf_slice(&values[1][i])));
        buf_fini(&values[0][i]);
        buf_fini(&values[1][i]);
    }
}

static void
run_world(struct world *w, int steps)
{
    for (int i = 0; i < steps; i++)
        switch (harness_random(&w->state) % 8) {
        case 0:
            write_both(w);
            break;
        case 1:
            get_both(w);
            break;
        case 2:
        case 3:
            scan_both(w);
            break;
        default:
            walk_both(w);
        }
}

static struct world
make_world(unsigned long seed)
{
    const struct kv_options o = { .place = KV_MEMORY, .create = true };
    struct world w = { .f = setup(), .state = harness_seed(seed) };

    ck_assert_int_eq(kv_open(&o, &w.model, NULL), ST_OK);
    return w;
}

START_TEST(objects_are_one_ordered_space)
{
    struct world w = make_world((unsigned long)_i);

    run_world(&w, 150);
    kv_close(&w.model);
    teardown(&w.f);
}
END_TEST

/* Fails one call in 'every', half of them after they were done. */
struct faults {
    uint64_t state;
    unsigned every;
    int error; /* of writes; reads time out */
    atomic_uint failed;
};

static int
fail_some(void *ctx, enum ceph_call call, const char *object)
{
    struct faults *f = ctx;
    uint64_t n = harness_random(&f->state);
    int error = call == CEPH_CALL_WRITE ? f->error : ETIMEDOUT;

    (void)object;
    if (n % f->every != 0)
        return 0;
    atomic_fetch_add(&f->failed, 1);
    return (n >> 32) % 2 == 0 ? error : -error;
}

START_TEST(timeouts_change_nothing)
{
    struct world w = make_world((unsigned long)_i);
    struct faults faults = { .state = 7, .every = 150, .error = ETIMEDOUT };
    struct ceph *other;

    ck_assert_int_eq(ceph_open(w.f.rig.other, &other, NULL), ST_OK);
    ceph_set_fault(w.f.c, fail_some, &faults);
    ceph_set_fault(other, fail_some, &faults);
    run_world(&w, 60);
    ck_assert_uint_gt(atomic_load(&faults.failed), 20);
    ceph_set_fault(other, NULL, NULL);
    ceph_close(&other);
    kv_close(&w.model);
    teardown(&w.f);
}
END_TEST

/* -- what is read ---------------------------------------------------------- */

struct reads {
    char objects[64][OMAP_OBJECT_SIZE];
    atomic_size_t len;
};

static int
note_read(void *ctx, enum ceph_call call, const char *object)
{
    struct reads *r = ctx;
    size_t i;

    if (call != CEPH_CALL_READ)
        return 0;
    i = atomic_fetch_add(&r->len, 1);
    ck_assert_uint_lt(i, 64);
    (void)snprintf(r->objects[i], OMAP_OBJECT_SIZE, "%s", object);
    return 0;
}

/* Rows of a metric from a time on, up to another one. */
static unsigned
count_rows(struct kv *kv, uint32_t from_s, uint32_t to_s)
{
    struct key from = row(5, 0, from_s), to = row(5, 0, to_s);
    struct kv_iter *it = kv_iter_open(kv, slice_of(from.bytes, 5));
    unsigned n = 0;

    kv_iter_bound(it, slice_of(to.bytes, 9));
    for (bool on = kv_iter_seek(it, slice_of(from.bytes, 9)); on;
         on = kv_iter_next(it))
        n++;
    close_iter(&it);
    return n;
}

/* One hour of a series: a page of its window.  Few windows: each; of many their
 * list is read first. */
START_TEST(an_hour_of_a_series_is_one_round_trip)
{
    struct fixture f = setup();
    struct kv_batch *b = kv_batch_new();
    struct key from = row(5, 1, 240 * HOUR), to = from;
    struct slice prefix = slice_of(from.bytes, 5);
    struct reads reads = { .len = 0 };
    struct kv_iter *it;
    unsigned n = 0;

    for (unsigned tagv = 0; tagv < 30; tagv++)
        for (unsigned span = 0; span < 120; span++) {
            struct key k = row(5, tagv, span * 6 * HOUR);

            kv_batch_put(b, slice_of_key(&k), S("v"));
        }
    ck_assert_int_eq(kv_write(f.kv, b, NULL), ST_OK);
    kv_batch_free(&b);
    to.bytes[to.size - 1]++;
    ceph_set_fault(f.c, note_read, &reads);
    it = kv_iter_open(f.kv, prefix);
    kv_iter_bound(it, slice_of_key(&to));
    for (bool on = kv_iter_seek(it, slice_of_key(&from)); on;
         on = kv_iter_next(it))
        n++;
    close_iter(&it);
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(atomic_load(&reads.len), 1);
    ck_assert_int_eq(reads.objects[0][0], 'r');
    ck_assert(strstr(reads.objects[0], ".000d2f00") != NULL);

    atomic_store(&reads.len, 0);
    n = count_rows(f.kv, 240 * HOUR, 336 * HOUR);
    ck_assert_uint_eq(n % 16, 0);
    ck_assert_uint_gt(n, 0);
    for (size_t i = 0; i < atomic_load(&reads.len); i++)
        ck_assert_int_eq(reads.objects[i][0], 'r');
    atomic_store(&reads.len, 0);
    ck_assert_uint_eq(count_rows(f.kv, 240 * HOUR, 342 * HOUR), n / 16 * 17);
    ck_assert_int_eq(reads.objects[0][0], 'w');
    teardown(&f);
}
END_TEST

/* -- failures -------------------------------------------------------------- */

static int
fail_writes(void *ctx, enum ceph_call call, const char *object)
{
    const int *error = ctx;

    (void)object;
    return call == CEPH_CALL_WRITE ? *error : 0;
}

START_TEST(a_full_pool_can_be_read)
{
    struct fixture f = setup();
    struct key k = row(1, 1, 0);
    struct kv_batch *b = kv_batch_new();
    struct slice value = S("old");
    struct error e = { 0 };
    int full = -ENOSPC;

    put(f.kv, slice_of_key(&k), S("old"));
    ceph_set_fault(f.c, fail_writes, &full);
    kv_batch_put(b, slice_of_key(&k), S("new"));
    ck_assert_int_eq(kv_write(f.kv, b, &e), ST_IO);
    ck_assert_msg(strstr(e.text, "the pool is full") != NULL, "%s", e.text);
    ck_assert_int_eq(kv_swap(f.kv, slice_of_key(&k), &value, S("new"), &e),
                     ST_IO);
    ck_assert(holds(f.kv, slice_of_key(&k), S("old")));
    ceph_set_fault(f.c, NULL, NULL);
    ck_assert_int_eq(kv_write(f.kv, b, &e), ST_OK);
    ck_assert(holds(f.other, slice_of_key(&k), S("new")));
    kv_batch_free(&b);
    teardown(&f);
}
END_TEST

START_TEST(a_blocklisted_engine_writes_nothing)
{
    struct fixture f = setup();
    struct key k = row(1, 1, 0);
    struct kv_batch *b = kv_batch_new();
    struct buf address = BUF_INIT;
    struct error e = { 0 };
    struct ceph *other;

    ck_assert_int_eq(ceph_open(f.rig.other, &other, NULL), ST_OK);
    ck_assert_int_eq(ceph_address(other, &address, &e), ST_OK);
    ck_assert_int_eq(ceph_blocklist(f.c, buf_cstr(&address), 60, &e), ST_OK);
    kv_batch_put(b, slice_of_key(&k), S("late"));
    ck_assert_int_eq(kv_write(f.other, b, &e), ST_IO);
    ck_assert(ceph_is_blocklisted(other));
    ck_assert(lacks(f.kv, slice_of_key(&k)));
    ceph_close(&other);
    buf_fini(&address);
    kv_batch_free(&b);
    teardown(&f);
}
END_TEST

/* -- guarded batches, exclusive parts -------------------------------------- */

START_TEST(guarded_batches_of_two_processes)
{
    struct fixture f = setup();
    struct kv_expected expected[] = { { S("umnb"), NULL },
                                      { S("umnb"), NULL } };
    struct kv_guarded many[40];
    struct kv_batch *batches[40], *two = kv_batch_new();
    static char names[40][8];
    struct kv_expected absent[40];
    struct error e = { 0 };

    put(f.kv, S("umnb"), S(""));
    kv_batch_put(two, S("umnb"), S("1"));
    ck_assert_int_eq(write_if(f.other, two, expected, 2),
                     ST_CONFLICT); /* an empty value is not an absent one */
    kv_batch_put(two, S("umc"), S("2"));
    ck_assert_int_eq(write_if(f.kv, two, NULL, 0), ST_INVALID);
    ck_assert(lacks(f.kv, S("umc")));

    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(names[i], sizeof names[i], "umnx%02u", i);
        absent[i] = (struct kv_expected){ slice_str(names[i]), NULL };
        batches[i] = kv_batch_new();
        kv_batch_put(batches[i], slice_str(names[i]), S("id"));
        many[i] = (struct kv_guarded){ batches[i], &absent[i], 1, ST_IO };
    }
    put(f.other, S("umnx07"), S("other"));
    ck_assert_int_eq(kv_write_if_many(f.kv, many, 40, &e), ST_OK);
    for (unsigned i = 0; i < 40; i++) {
        ck_assert_int_eq(many[i].status, i == 7 ? ST_CONFLICT : ST_OK);
        ck_assert(
            holds(f.other, slice_str(names[i]), i == 7 ? S("other") : S("id")));
        kv_batch_free(&batches[i]);
    }
    kv_batch_free(&two);
    teardown(&f);
}
END_TEST

/* Reads, waits, and writes: lost increments unless one is there at a time. */
static void *
count_exclusively(void *ctx)
{
    struct kv *kv = ctx;
    struct buf value = BUF_INIT;
    struct error e = { 0 };
    uint64_t ticket;

    for (int i = 0; i < 15; i++) {
        uint8_t n = 0;

        ck_assert_msg(kv_exclusive_begin(kv, "trees", &ticket, &e) == ST_OK,
                      "%s", e.text);
        if (kv_get(kv, S("t\0\1"), &value, NULL) == ST_OK)
            n = value.data[0];
        n++;
        put(kv, S("t\0\1"), slice_of(&n, 1));
        kv_exclusive_end(kv, "trees", ticket);
    }
    buf_fini(&value);
    return NULL;
}

START_TEST(an_exclusive_part_is_one_process_s)
{
    struct fixture f = setup();
    pthread_t thread;
    uint8_t n = 30;

    ck_assert(!pthread_create(&thread, NULL, count_exclusively, f.other));
    (void)count_exclusively(f.kv);
    ck_assert(!pthread_join(thread, NULL));
    ck_assert(holds(f.kv, S("t\0\1"), slice_of(&n, 1)));
    teardown(&f);
}
END_TEST

RADOS_TEST_MAIN("kv_rados", TIMES(codes_keep_the_order_and_come_back, 2),
                LOOP(what_is_no_code_is_found, no_codes),
                LOOP(keys_have_their_objects, objects),
                TEST(a_series_and_its_tag_key_set_are_of_one_group),
                TIMES(objects_are_one_ordered_space, 4),
                TIMES(timeouts_change_nothing, 2),
                TEST(an_hour_of_a_series_is_one_round_trip),
                TEST(a_full_pool_can_be_read),
                TEST(a_blocklisted_engine_writes_nothing),
                TEST(guarded_batches_of_two_processes),
                TEST(an_exclusive_part_is_one_process_s))
