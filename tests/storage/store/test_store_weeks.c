/* Weeks in the place of rows, held against a model: after late points,
 * deletions and starts. */
#include "storage/store/store_weeks_priv.h"
#include "tests/nomem.h"
#include "tests/storage/store/weeks_world.h"

START_TEST(weeks_stand_for_rows)
{
    static struct world w;
    static struct seen seen;

    world_open(&w, _i);
    for (int turn = 0; turn < 40; turn++) {
        put_some(&w, below(&w, 150), T0);
        if (below(&w, 3) == 0)
            ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
        if (below(&w, 3) == 0)
            drop(&w);
        if (below(&w, 8) == 0)
            reopen(&w);
        check_some(&w, below(&w, 2) == 0);
        if (below(&w, 3) != 0)
            continue;
        summarise(&w);
        check_some(&w, false);
        check_some(&w, true);
        check(&w, ways[below(&w, 3)], T0, END - 3600, false, &seen);
        ck_assert_uint_gt(seen.weeks, 0);
    }
    world_close(&w);
}
END_TEST

/* Of a week that is summarised no row is read, but those of who has late
 * points. */
START_TEST(late_points_cost_their_series_alone)
{
    static struct world w;
    static struct seen seen;

    world_open(&w, 0);
    for (unsigned k = 0; k < SERIES - 1; k++)
        for (uint32_t t = T0; t < END; t += 6 * 3600)
            put(&w, k, (int64_t)t * 1000);
    summarise(&w);
    check(&w, SCAN_RANGE, T0, END - 3600, false, &seen);
    ck_assert_uint_eq(seen.rows, 0);
    ck_assert_uint_eq(seen.weeks, (SERIES - 1) * WEEKS);
    put(&w, 3, (int64_t)(T0 + WEEK_S + 7) * 1000);
    check(&w, SCAN_RANGE, T0, END - 3600, false, &seen);
    ck_assert_uint_eq(seen.weeks, (SERIES - 1) * WEEKS - 1);
    ck_assert_uint_eq(seen.rows, 28);
    summarise(&w);
    check(&w, SCAN_RANGE, T0, END - 3600, false, &seen);
    ck_assert_uint_eq(seen.rows, 0);
    ck_assert_uint_eq(seen.weeks, (SERIES - 1) * WEEKS);
    world_close(&w);
}
END_TEST

/* A start does not wait, and late rows do not hold it up for ever. */
START_TEST(summaries_come_in_time)
{
    static struct world w;
    uint64_t before;

    world_open(&w, 0);
    ck_assert_int_eq(store_close(&w.s, &e), ST_OK);
    w.options.summary_delay_ms = 3600000;
    open_store(&w);
    for (uint32_t t = T0; t < END; t += 6 * 3600)
        put(&w, 1, (int64_t)t * 1000);
    ck_assert_int_eq(store_close(&w.s, &e), ST_OK);
    open_store(&w);
    while (store_counts(w.s).weeks_written < WEEKS)
        (void)usleep(1000);
    ck_assert_int_eq(store_close(&w.s, &e), ST_OK);
    w.options.summary_delay_ms = 50;
    open_store(&w);
    before = store_counts(w.s).weeks_written;
    while (store_counts(w.s).weeks_written == before) {
        (void)try_put(&w, 1, (int64_t)T0 * 1000, 1);
        ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
        (void)usleep(5000);
    }
    world_close(&w);
}
END_TEST

static void
count_whole(void *ctx, struct slice key, const struct slice *value)
{
    (void)key;
    *(unsigned *)ctx += value->size == WEEKS_STATE_SIZE + 4;
}

START_TEST(a_state_needs_its_memory)
{
    static struct world w;

    world_open(&w, 0);
    lock_take(&w.s->flush_lock);
    store_weeks_note_stale(&w.s->weeks[0], T0);
    for (unsigned n = 0; nomem_begin(n); n++) {
        struct kv_batch *b = kv_batch_new();
        unsigned whole = 0;

        store_weeks_put_state(w.s, 0, b);
        nomem_end();
        kv_batch_each(b, count_whole, &whole);
        ck_assert(whole == 1 || kv_batch_check(b, &e) != ST_OK);
        kv_batch_free(&b);
    }
    lock_drop(&w.s->flush_lock);
    world_close(&w);
}
END_TEST

/* Series of several salt buckets, and one point in each week. */
static void
fill_weeks(struct world *w)
{
    for (unsigned k = 0; k < SERIES - 1; k++)
        for (uint32_t t = T0; t < END; t += WEEK_S)
            put(w, k, (int64_t)t * 1000);
}

/* Returns whether the engine lists the week as one with stale entries. */
static bool
is_listed(struct world *w, unsigned bucket, uint32_t week)
{
    struct buf value = BUF_INIT;
    uint8_t key[2];
    bool found = false;

    ck_assert_int_eq(
        kv_get(store_kv(w->s),
               slice_of(key, key_weeks_state(store_layout(w->s), bucket, key)),
               &value, &e),
        ST_OK);
    for (size_t i = WEEKS_STATE_SIZE; i < value.size; i += 4)
        found |= key_get_uint(value.data + i, 4) == week;
    buf_fini(&value);
    return found;
}

/* Takes the flush lock while a stale week is being summed up, and returns its
 * salt bucket; some week becomes stale until that succeeds. */
static unsigned
interrupt_refill(struct world *w)
{
    for (;;) {
        put(w, (unsigned)below(w, SERIES - 1), (int64_t)T0 * 1000 + 1);
        ck_assert_int_eq(store_flush(w->s, &e), ST_OK);
        for (int i = 0; i < 2000; i++) {
            lock_take(&w->s->flush_lock);
            for (unsigned k = 0; k < store_layout(w->s)->salt_buckets; k++)
                if (w->s->weeks[k].next_stale == T0 + WEEK_S &&
                    is_listed(w, k, T0))
                    return k;
            lock_drop(&w->s->flush_lock);
        }
    }
}

/* If the process ended now, the entries of the week that is being summed up
 * would still be known to be stale. */
START_TEST(a_week_is_listed_until_it_is_summed_up)
NO_TS_CHECK
{
    static struct world w;
    static struct seen seen;
    struct kv_batch *stale = kv_batch_new();
    uint8_t bytes[15];
    unsigned bucket;

    world_open(&w, 0);
    fill_weeks(&w);
    summarise(&w);
    bucket = interrupt_refill(&w);
    for (unsigned k = 0; k < SERIES - 1; k++)
        if (key_salt(store_layout(w.s), name(k, bytes)) == bucket) {
            store_weeks_collect_stale(w.s, name(k, bytes), T0, stale);
            store_weeks_collect_stale(w.s, name(k, bytes), T0 + WEEK_S, stale);
        }
    ck_assert_int_eq(store_weeks_mark_stale(w.s, stale, &e), ST_OK);
    ck_assert(is_listed(&w, bucket, T0));
    ck_assert(is_listed(&w, bucket, T0 + WEEK_S));
    lock_drop(&w.s->flush_lock);
    summarise(&w);
    check(&w, SCAN_RANGE, T0, END - 3600, false, &seen);
    ck_assert_uint_eq(seen.rows, 0);
    kv_batch_free(&stale);
    world_close(&w);
}
END_TEST

/* The first pass over the weeks was interrupted: entries are there, but 'done'
 * has not risen. What changes rows meanwhile makes these entries stale. */
START_TEST(a_pass_that_did_not_end_leaves_no_wrong_entries)
{
    static struct world w;
    uint8_t state[WEEKS_STATE_SIZE], key[2], bytes[15];
    struct kv_batch *b = kv_batch_new();
    uint64_t deleted, lsn;

    world_open(&w, 0);
    fill_weeks(&w);
    summarise(&w);
    key_put_uint(state, T0, 4);
    key_put_uint(state + 4, END, 4);
    for (unsigned i = 0; i < store_layout(w.s)->salt_buckets; i++)
        kv_batch_put(b,
                     slice_of(key, key_weeks_state(store_layout(w.s), i, key)),
                     slice_of(state, sizeof state));
    ck_assert_int_eq(kv_write(store_kv(w.s), b, &e), ST_OK);
    w.options.no_summaries = true;
    reopen(&w);
    ck_assert_int_eq(store_delete(w.s, name(2, bytes), T0 * INT64_C(1000),
                                  END * INT64_C(1000), &deleted, &lsn, &e),
                     ST_OK);
    for (size_t i = 0; i < w.len; i++)
        w.points[i].gone |= w.points[i].series == 2;
    put(&w, 3, (T0 + WEEK_S) * INT64_C(1000) + 1);
    w.options.no_summaries = false;
    reopen(&w);
    summarise(&w);
    check_some(&w, false);
    kv_batch_free(&b);
    world_close(&w);
}
END_TEST

/* Its rows are read in the place of a damaged entry. */
START_TEST(damaged_entries_are_read_around)
{
    static struct world w;
    static struct seen seen;

    world_open(&w, 0);
    for (unsigned k = 0; k < SERIES - 1; k++)
        for (uint32_t t = T0; t < END; t += 6 * 3600)
            put(&w, k, (int64_t)t * 1000);
    summarise(&w);
    damage_entry(&w, 3, T0 + WEEK_S);
    for (size_t i = 0; i < 3; i++) {
        check(&w, ways[i], T0, END - 3600, false, &seen);
        ck_assert_uint_eq(seen.rows, 28);
        ck_assert_uint_eq(seen.weeks, (SERIES - 1) * WEEKS - 1);
        ck_assert(!seen.lacks_weeks);
    }
    world_close(&w);
}
END_TEST

TEST_MAIN("store_weeks", TEST(damaged_entries_are_read_around),
          LOOP(weeks_stand_for_rows, layouts),
          TEST(late_points_cost_their_series_alone),
          TEST(summaries_come_in_time), TEST(a_state_needs_its_memory),
          TEST(a_week_is_listed_until_it_is_summed_up),
          TEST(a_pass_that_did_not_end_leaves_no_wrong_entries))
