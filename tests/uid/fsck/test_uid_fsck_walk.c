/* The check of weeks walks rows and entries side by side: it looks up no row,
 * and finds what is wrong with one series among many. */
#include "uid/fsck/uid_fsck.h"

#include "storage/store/week_rows.h"
#include "storage/week/week.h"
#include "tests/uid/fixture.h"

#define SERIES 600 /* more than are summed up together */
#define BASE   1356998400
#define SPANS  3 /* rows of each series */

static _Atomic unsigned row_lookups; /* of single rows, one by one */

enum status __real_kv_get(struct kv *kv, struct slice key, struct buf *out,
                          struct error *e);
enum status __wrap_kv_get(struct kv *kv, struct slice key, struct buf *out,
                          struct error *e);

/* The linker sends calls of kv_get() here. */
enum status
__wrap_kv_get(struct kv *kv, struct slice key, struct buf *out, struct error *e)
{
    row_lookups += key.data[0] == TABLE_ROWS;
    return __real_kv_get(kv, key, out, e);
}

static struct slice
tsuid_of(unsigned i, uint8_t out[9])
{
    key_put_uint(out, 1, 3);
    key_put_uint(out + 3, 1, 3);
    key_put_uint(out + 6, i + 1, 3);
    return slice_of(out, 9);
}

static void
put_points(struct fixture *f, unsigned i)
{
    struct series_point points[SPANS];
    uint8_t bytes[9];
    series_ref ref;

    OK(store_series(f->store, tsuid_of(i, bytes), false, &ref, &e));
    for (int n = 0; n < SPANS; n++)
        points[n] = (struct series_point){
            .series = ref,
            .point = { .ts_ms = (BASE + n * 6 * HOUR_S) * INT64_C(1000),
                       .v.i = i },
        };
    OK(store_put(f->store, points, SPANS, NULL, &e));
}

static void
put_one(struct fixture *f, struct slice key, const struct slice *value)
{
    struct kv_batch *b = kv_batch_new();

    if (value == NULL)
        kv_batch_delete(b, key);
    else
        kv_batch_put(b, key, *value);
    OK(store_write(f->store, b, NULL, &e));
    kv_batch_free(&b);
}

/* The entry of its week, as the summariser would have written it. */
static void
put_week(struct fixture *f, unsigned i)
{
    uint8_t bytes[9], key[ROW_KEY_MAX];
    struct slice tsuid = tsuid_of(i, bytes), v;
    const struct week_rows rows = { store_kv(f->store), &layout_default, &tsuid,
                                    1 };
    static struct week w;
    struct points scratch = { 0 };
    struct buf value = BUF_INIT;

    OK(week_rows_sum(&rows, week_base(BASE), &w, &scratch, &e));
    ck_assert(!week_is_empty(&w));
    week_encode(&w, &value);
    v = buf_slice(&value);
    put_one(f, slice_of(key, key_week(&layout_default, tsuid, BASE, key)), &v);
    buf_fini(&value);
    points_fini(&scratch);
}

static struct fixture
many_weeks(void)
{
    struct fixture f = fixture_new(layout_default);
    uint8_t done[8], key[2];
    struct slice v = slice_of(done, sizeof done);

    for (unsigned i = 0; i < SERIES; i++)
        put_points(&f, i);
    OK(store_flush(f.store, &e));
    for (unsigned i = 0; i < SERIES; i++)
        put_week(&f, i);
    key_put_uint(done, week_base(BASE) + WEEK_S, 4);
    key_put_uint(done + 4, week_base(BASE) + WEEK_S, 4);
    for (unsigned i = 0; i < layout_default.salt_buckets; i++)
        put_one(&f, slice_of(key, key_weeks_state(&layout_default, i, key)),
                &v);
    return f;
}

struct found {
    unsigned wrong, missing;
};

static void
say(void *ctx, const struct finding *x)
{
    struct found *found = ctx;

    found->wrong += strcmp(x->code, "week") == 0;
    found->missing += strcmp(x->code, "week-missing") == 0;
}

static struct found
look(struct fixture *f)
{
    struct found found = { 0 };
    struct check c = { .say = say, .ctx = &found };
    struct check_counts n;

    row_lookups = 0;
    OK(check_tables(f->store, &c, &n, &e));
    ck_assert_uint_eq(row_lookups, 0);
    return found;
}

/* A look-up for each span of each week took longer than all else together. */
START_TEST(weeks_are_compared_without_looking_up_rows)
{
    struct fixture f = many_weeks();
    struct found found = look(&f);

    ck_assert_uint_eq(found.wrong, 0);
    ck_assert_uint_eq(found.missing, 0);
    fixture_free(&f);
}
END_TEST

START_TEST(one_among_many_is_found)
{
    struct fixture f = many_weeks();
    uint8_t bytes[9], key[ROW_KEY_MAX];
    struct found found;

    put_one(
        &f,
        slice_of(key, key_week(&layout_default, tsuid_of(7, bytes), BASE, key)),
        NULL);
    put_one(
        &f,
        slice_of(key, key_row(&layout_default, tsuid_of(8, bytes), BASE, key)),
        NULL);
    found = look(&f);
    ck_assert_uint_eq(found.missing, SPANS); /* each of its rows says so */
    ck_assert_uint_eq(found.wrong, 1);
    fixture_free(&f);
}
END_TEST

TEST_MAIN("check_walk", TEST(weeks_are_compared_without_looking_up_rows),
          TEST(one_among_many_is_found))
