/* Repairs of a folder, round by round. */
#include "tsd/admin/fsck.h"

#include "storage/week/week.h"
#include "tests/uid/fixture.h"

#define BASE 1356998400 /* an hour begins */

static const struct tag tags[] = { { { (const uint8_t *)"k", 1 },
                                     { (const uint8_t *)"v", 1 } } };

static void
write_one(struct store *s, struct slice key, struct slice value)
{
    struct kv_batch *b = kv_batch_new();

    kv_batch_put(b, key, value);
    OK(store_write(s, b, NULL, &e));
    kv_batch_free(&b);
}

/* A week that is said to be summarised, and has no rows: that stays. */
static void
add_week(struct fixture *f)
{
    static const struct series_rules rules = { true, true, true, 8, false };
    static struct week w;
    struct points one = { 0 }, scratch = { 0 };
    struct buf block = BUF_INIT, entry = BUF_INIT;
    uint8_t key[ROW_KEY_MAX], done[8], state[2];
    struct tsuid tsuid;
    series_ref ref;

    OK(series_resolve(f->series, &rules,
                      &(struct series_text){ 0, slice_str("m"), tags, 1 }, &ref,
                      &tsuid, &e));
    ck_assert(
        points_add(&one, (struct point){ .ts_ms = BASE * INT64_C(1000) }));
    block_encode(&one, BASE, &block);
    week_init(&w, week_base(BASE));
    OK(week_add(&w, buf_slice(&block), BASE, &scratch, &e));
    week_encode(&w, &entry);
    write_one(f->store,
              slice_of(key, key_week(&layout_default, tsuid_slice(&tsuid), BASE,
                                     key)),
              buf_slice(&entry));
    key_put_uint(done, week_base(BASE) + WEEK_S, 4);
    key_put_uint(done + 4, week_base(BASE) + WEEK_S, 4);
    for (unsigned i = 0; i < layout_default.salt_buckets; i++)
        write_one(f->store,
                  slice_of(state, key_weeks_state(&layout_default, i, state)),
                  slice_of(done, sizeof done));
    buf_fini(&block);
    buf_fini(&entry);
    points_fini(&one);
    points_fini(&scratch);
}

static void
count(void *ctx, const struct finding *f)
{
    (void)f;
    ++*(unsigned *)ctx;
}

START_TEST(what_stays_is_told_once)
{
    struct fixture f = fixture_new_on_disk();
    char *dir = tempdir_new(), *copy = tempdir_path(dir, "copy"),
         *aside = tempdir_path(dir, "aside");
    unsigned told = 0;
    struct fsck r = { .dir = f.dir, .say = count, .ctx = &told };

    add_week(&f);
    write_one(f.store, slice_of("w\0\0\0", 4), slice_str("?"));
    fixture_close(&f);
    OK(fsck_repair(&r, copy, aside, &e));
    ck_assert_uint_eq(told, 2);
    ck_assert_uint_eq(r.found, 2);
    ck_assert_uint_eq(r.repaired, 1);
    fixture_open(&f);
    fixture_free(&f);
    free(copy);
    free(aside);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN("fsck", TEST(what_stays_is_told_once))
