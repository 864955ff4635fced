/* Series by their tags, with lists in memory and without. */
#include "uid/series/series_index_priv.h"

#include <pthread.h>
#include <sched.h>

#include "tests/uid/fixture.h"
#include "uid/series/series_priv.h"

#define KEY_MAX (1 + TSUID_MAX)

static const struct series_rules rules = { true, true, true, 8, false };

static void
enter(struct fixture *f, uint64_t r)
{
    char metric[16], host[16], other[16];
    struct tag tags[2];
    struct tsuid tsuid;
    series_ref ref;

    (void)snprintf(metric, sizeof metric, "m%d", (int)(r % 3));
    (void)snprintf(host, sizeof host, "v%d", (int)(r >> 8) % 12);
    (void)snprintf(other, sizeof other, "v%d", (int)(r >> 16) % 12);
    tags[0] = (struct tag){ slice_str("host"), slice_str(host) };
    tags[1] =
        (struct tag){ slice_str(r >> 32 & 1 ? "dc" : "a"), slice_str(other) };
    OK(series_resolve(f->series, &rules,
                      &(struct series_text){ 0, slice_str(metric), tags, 2 },
                      &ref, &tsuid, &e));
}

/* TSUIDs one behind the other, each behind its size; those alone that have one
 * of two values, if there are values. */
struct seen {
    struct buf b;
    uint64_t tagk, values[2];
};

static bool
see(void *ctx, struct slice tsuid)
{
    struct seen *s = ctx;
    bool has = s->tagk == 0;

    for (size_t i = 0; i < tsuid_tags(&layout_default, tsuid); i++) {
        uint64_t v =
            key_get_uint(tsuid_tagv(&layout_default, tsuid, i).data, 3);

        has = has || (key_get_uint(tsuid_tagk(&layout_default, tsuid, i).data,
                                   3) == s->tagk &&
                      (v == s->values[0] || v == s->values[1]));
    }
    if (has) {
        buf_put_u8(&s->b, (uint8_t)tsuid.size);
        buf_put_slice(&s->b, tsuid);
    }
    return true;
}

START_TEST(finds_series_by_a_tag)
{
    struct fixture f = fixture_new(layout_default);
    uint64_t state = harness_seed(2);

    for (int i = 0; i < 400; i++) {
        uint64_t r = harness_random(&state), metric = r % 4;
        struct seen want = { .tagk = 1 + (r >> 16) % 3 }, got = { .tagk = 0 };

        want.values[0] = 1 + (r >> 24) % 9;
        want.values[1] = want.values[0] + 1 + (r >> 32) % 3;
        /* Then a while without new ones, so that lists are made. */
        if (i < 100 || i / 50 % 2 == 0)
            enter(&f, harness_random(&state));
        OK(series_each(f.series, metric, NULL, see, &want, &e));
        want.tagk = 0;
        got.tagk = 1 + (r >> 16) % 3;
        memcpy(got.values, want.values, sizeof got.values);
        OK(series_each_tagged(f.series, metric,
                              &(struct series_pick){ got.tagk, got.values, 2 },
                              see, &got, &e));
        ck_assert(slice_eq(buf_slice(&got.b), buf_slice(&want.b)));
        buf_fini(&got.b);
        buf_fini(&want.b);
    }
    fixture_free(&f);
}
END_TEST

static bool
stop(void *ctx, struct slice tsuid)
{
    int *left = ctx;

    (void)tsuid;
    return --*left > 0;
}

START_TEST(stops_where_it_is_told)
{
    struct fixture f = fixture_new(layout_default);
    uint64_t host = 1;

    for (uint64_t r = 0; r < 3; r++) {
        enter(&f, r);
        enter(&f, r | 12 << 16);
    }
    for (int round = 0; round < 4; round++)
        for (int most = 1; most <= 3; most++) {
            int left = most;
            uint64_t v0 = 0;

            OK(uid_find(f.uids, UID_TAGK, slice_str("host"), &host, &e));
            OK(uid_find(f.uids, UID_TAGV, slice_str("v0"), &v0, &e));
            OK(series_each_tagged(f.series, 0,
                                  &(struct series_pick){ host, &v0, 1 }, stop,
                                  &left, &e));
            ck_assert_int_eq(left, 0);
        }
    fixture_free(&f);
}
END_TEST

/* What a list gives back is what it was given, whatever the tag-key sets. */
START_TEST(keeps_keys)
{
    struct series_index *x = series_index_new(&layout_default);
    struct index_list *l = index_list_new(x, 7, 1000);
    static uint8_t keys[1000][KEY_MAX];
    static size_t sizes[1000];
    uint64_t state = harness_seed(3);
    struct index_more *none = NULL;

    for (size_t i = 0; i < 1000; i++) {
        uint64_t tags = 1 + harness_random(&state) % 9;
        uint8_t *at = keys[i];

        *at++ = TABLE_SERIES;
        key_put_uint(at, 7, 3);
        at += 3;
        for (uint64_t k = 0; k < tags; k++, at += 6) {
            key_put_uint(at, k * 2 + harness_random(&state) % 2, 3);
            key_put_uint(at + 3, 1 + harness_random(&state) % 99999, 3);
        }
        sizes[i] = (size_t)(at - keys[i]);
        ck_assert(index_list_add(l, slice_of(keys[i], sizes[i])));
        for (size_t k = 0; k <= i; k += 1 + i / 3)
            ck_assert(
                slice_eq(index_list_key(l, k), slice_of(keys[k], sizes[k])));
    }
    ck_assert_uint_eq(index_list_len(l), 1000);
    series_index_drop(x, &l, &none);
    series_index_free(&x);
}
END_TEST

static struct slice
key_of(uint64_t host, uint8_t *to)
{
    to[0] = TABLE_SERIES;
    key_put_uint(to + 1, 7, 3);
    key_put_uint(to + 4, 1, 3);
    key_put_uint(to + 7, host, 3);
    return slice_of(to, 10);
}

START_TEST(keeps_what_comes_later)
{
    struct series_index *x = series_index_new(&layout_default);
    struct index_more *more;
    struct index_list *l;
    uint8_t key[KEY_MAX];
    bool make;

    ck_assert(series_index_take(x, 7, 1, &more, &make) == NULL && !make);
    series_index_enter(x, 7, key_of(9, key)); /* there is no list yet */
    ck_assert(series_index_take(x, 7, 1, &more, &make) == NULL && !make);
    series_index_spend(x, 7, 1); /* as much as a list costs */
    ck_assert(series_index_take(x, 7, 1, &more, &make) == NULL && make);
    series_index_spend(x, 7, 1);
    ck_assert(series_index_take(x, 7, 1, &more, &make) == NULL && !make);
    l = index_list_new(x, 7, 1);
    ck_assert(index_list_add(l, key_of(5, key)));
    l = series_index_made(x, l, true, true);
    series_index_drop(x, &l, &more);
    for (uint64_t i = 0; i < 3; i++)
        series_index_enter(x, 7, key_of(8 - 2 * i % 3, key));
    series_index_enter(x, 8, key_of(1, key));
    ck_assert(series_index_take(x, 7, 3, &more, &make) == NULL);
    l = series_index_take(x, 7, 4, &more, &make);
    ck_assert(l != NULL && more != NULL && more->len == 3);
    for (uint64_t i = 0; i < 3; i++)
        ck_assert(slice_eq(more->keys[i], key_of(6 + i, key)));
    /* What was taken stays as it is. */
    for (uint64_t i = 0; i < 600; i++)
        series_index_enter(x, 7, key_of(10 + i, key));
    ck_assert_uint_eq(more->len, 3);
    series_index_drop(x, &l, &more);
    ck_assert(series_index_take(x, 7, 604, &more, &make) == NULL);
    series_index_free(&x);
}
END_TEST

static enum status
take_even(void *ctx, const uint64_t *tagvs, size_t len, bool *takes)
{
    (void)ctx;
    for (size_t i = 0; i < len; i++)
        takes[i] = tagvs[i] % 2 == 0;
    return ST_OK;
}

/* Which even values of a tagk there are: bit by bit. */
struct values {
    uint64_t tagk, bits;
};

static bool
note_value(void *ctx, struct slice tsuid)
{
    struct values *s = ctx;

    for (size_t i = 0; i < tsuid_tags(&layout_default, tsuid); i++) {
        uint64_t v =
            key_get_uint(tsuid_tagv(&layout_default, tsuid, i).data, 3);

        if (key_get_uint(tsuid_tagk(&layout_default, tsuid, i).data, 3) ==
                s->tagk &&
            v % 2 == 0)
            s->bits |= UINT64_C(1) << v;
    }
    return true;
}

START_TEST(finds_values)
{
    struct fixture f = fixture_new(layout_default);
    uint64_t state = harness_seed(5);
    struct arena *a = arena_new(0);
    int known_often = 0;

    for (int i = 0; i < 400; i++) {
        uint64_t r = harness_random(&state), metric = 1 + r % 3, bits = 0;
        struct values want = { .tagk = 1 + (r >> 16) % 3 };
        struct slice key = slice_of(&want.tagk, sizeof want.tagk);
        struct series_values got;

        if (i < 50 || i % 5 == 0)
            enter(&f, harness_random(&state));
        OK(series_values(f.series,
                         &(struct series_values_query){ metric, want.tagk, key,
                                                        take_even, NULL,
                                                        CANCEL_NEVER, a },
                         &got, &e));
        if (!got.known)
            continue;
        known_often += i >= 100;
        OK(series_each(f.series, metric, NULL, note_value, &want, &e));
        for (size_t k = 0; k < got.len; k++) {
            ck_assert(k == 0 || got.tagvs[k - 1] < got.tagvs[k]);
            bits |= UINT64_C(1) << got.tagvs[k];
        }
        ck_assert_uint_eq(bits, want.bits);
    }
    ck_assert_int_gt(known_often, 200);
    arena_free(&a);
    fixture_free(&f);
}
END_TEST

/* Each series has a value of its own under each of seven keys. */
static struct slice
wide_key(uint64_t i, uint8_t *to)
{
    to[0] = TABLE_SERIES;
    key_put_uint(to + 1, 7, 3);
    for (size_t k = 0; k < 7; k++) {
        key_put_uint(to + 4 + 6 * k, k + 1, 3);
        key_put_uint(to + 7 + 6 * k, i + 1, 3);
    }
    return slice_of(to, 4 + 6 * 7);
}

START_TEST(tables_of_tags_count)
{
    enum { MANY = 1000000 };
    struct series_index *x = series_index_new(&layout_default);
    struct index_list *l = index_list_new(x, 7, MANY);
    struct index_more *more;
    uint8_t key[KEY_MAX];
    bool make;

    ck_assert(series_index_take(x, 7, MANY, &more, &make) == NULL);
    for (uint64_t i = 0; i < MANY; i++)
        ck_assert(index_list_add(l, wide_key(i, key)));
    l = series_index_made(x, l, true, true);
    series_index_drop(x, &l, &more);
    for (uint64_t tagk = 1; tagk <= 4; tagk++) {
        l = series_index_take(x, 7, MANY, &more, &make);
        ck_assert(l != NULL); /* 50 MB, and 16 for each tag */
        ck_assert_uint_eq(index_list_tag(l, tagk)->len, MANY);
        series_index_drop(x, &l, &more);
    }
    ck_assert(series_index_take(x, 7, MANY, &more, &make) == NULL && !make);
    series_index_spend(x, 7, MANY);
    ck_assert(series_index_take(x, 7, MANY, &more, &make) == NULL && !make);
    series_index_free(&x);
}
END_TEST

START_TEST(too_large_is_remembered)
{
    struct series_index *x = series_index_new(&layout_default);
    struct index_more *more;
    bool make;

    for (int whole = 0; whole < 2; whole++) {
        (void)series_index_take(x, 7, 4, &more, &make);
        series_index_spend(x, 7, 4);
        ck_assert(series_index_take(x, 7, 4, &more, &make) == NULL && make);
        ck_assert(series_index_made(x, index_list_new(x, 7, 4), whole == 0,
                                    false) == NULL);
    }
    series_index_spend(x, 7, 400);
    ck_assert(series_index_take(x, 7, 4, &more, &make) == NULL && !make);
    series_index_free(&x);
}
END_TEST

struct second_writer {
    struct fixture *f;
    atomic_bool counted, ended;
    bool was_counted;
};

static void *
write_second(void *arg)
{
    struct second_writer *w = arg;
    struct tag tag = { slice_str("host"), slice_str("a") };
    struct tsuid tsuid;
    series_ref ref;

    (void)!series_resolve(w->f->series, &rules,
                          &(struct series_text){ 0, slice_str("m"), &tag, 1 },
                          &ref, &tsuid, NULL);
    w->was_counted = atomic_load(&w->counted);
    atomic_store(&w->ended, true);
    return NULL;
}

/* Between a new entry and its count the first writer has the lock.  (Where
 * daemons share the engine, who finds an entry finds its count.) */
START_TEST(a_found_entry_is_counted)
{
    struct fixture f = fixture_new_on_disk();
    struct second_writer w = { .f = &f };
    pthread_t thread;

    (void)write_second(&w);
    w = (struct second_writer){ .f = &f };
    fixture_close(&f);
    fixture_open(&f);
    lock_take(&f.series->lock);
    ck_assert_int_eq(pthread_create(&thread, NULL, write_second, &w), 0);
    for (int i = 0; i < 100000 && !atomic_load(&w.ended); i++)
        (void)sched_yield();
    atomic_store(&w.counted, true);
    lock_drop(&f.series->lock);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert(w.was_counted);
    fixture_free(&f);
}
END_TEST

TEST_MAIN("series_index", ON_LEVELDB(TEST(a_found_entry_is_counted)),
          TEST(tables_of_tags_count), TEST(too_large_is_remembered),
          TEST(finds_series_by_a_tag), TEST(stops_where_it_is_told),
          TEST(keeps_keys), TEST(keeps_what_comes_later), TEST(finds_values))
