/* Hourly values that outlive their points, held against a model: through late
 * points, deletions, copies and starts. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process/counters.h"
#include "storage/store/week_rows.h"
#include "tests/storage/store/weeks_world.h"

#define HOURLY_CUT (T0 + WEEK_S + DAY_S) /* within a week, on a day */
#define RAW_CUT    (T0 + 3 * WEEK_S)

static const struct store_cut cuts = { 1, RAW_CUT *INT64_C(1000),
                                       HOURLY_CUT *INT64_C(1000) };

static void
set_cuts(struct world *w)
{
    ck_assert_int_eq(store_cuts_set(w->s, &cuts, 1, &e), ST_OK);
    for (size_t i = 0; i < w->len; i++)
        w->points[i].gone |= w->points[i].ts_ms < cuts.hourly_ms;
}

static void
expire(struct world *w)
{
    struct store_drop d = { .before = cuts };

    set_cuts(w);
    ck_assert_msg(store_drop_rows(w->s, &d, &e) == ST_OK, "%s", e.text);
}

/* Rows of raw points before the cut, of series that are no rollups. */
static size_t
count_old_rows(struct world *w)
{
    struct store_drop d = { .before = { 1, RAW_CUT * INT64_C(1000),
                                        RAW_CUT * INT64_C(1000) },
                            .dry_run = true };

    ck_assert_int_eq(store_drop_rows(w->s, &d, &e), ST_OK);
    return d.dropped.rows;
}

static bool
has_points_of(const struct world *w, unsigned series, int64_t ts_ms)
{
    for (size_t i = 0; i < w->len; i++)
        if (w->points[i].series == series && !w->points[i].gone &&
            hour_base(w->points[i].ts_ms) == hour_base(ts_ms))
            return true;
    return false;
}

/* It is accepted, and then it counts, or the hour has points.  Often it comes
 * once more, as from a client that tries again. */
static void
put_late(struct world *w)
{
    unsigned series = (unsigned)below(w, SERIES - 1);
    int64_t ts_ms =
        (HOURLY_CUT + (int64_t)below(w, RAW_CUT - HOURLY_CUT)) * 1000;

    for (uint64_t n = 1 + below(w, 2); n > 0; n--) {
        double v = value_of(w, series);
        enum status st = try_put(w, series, ts_ms, v);

        if (st == ST_OK)
            add_to_model(w, series, ts_ms, v);
        else
            ck_assert(st == ST_CONFLICT && has_points_of(w, series, ts_ms));
    }
}

/* All that can go has gone: rows wait a while for late ones of their week. */
static void
expire_summarised(struct world *w)
{
    for (int i = 0; i < 60000 && count_old_rows(w) > 0; i++) {
        expire(w);
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    ck_assert_uint_eq(count_old_rows(w), 0);
}

static void
expire_all(struct world *w)
{
    summarise(w);
    expire_summarised(w);
}

/* Of days whose points are gone only whole ones can be deleted. */
static void
drop_old(struct world *w)
{
    unsigned series = (unsigned)below(w, SERIES - 1);
    int64_t from = ((int64_t)T0 + (int64_t)below(w, WEEKS * WEEK_S)) * 1000;
    int64_t to = from + (int64_t)below(w, (uint64_t)WEEK_S * 2000);
    uint8_t bytes[15];
    uint64_t deleted, lsn;

    expire_all(w);
    ck_assert_int_eq(
        store_delete(w->s, name(series, bytes), from, to, &deleted, &lsn, &e),
        ST_OK);
    for (size_t i = 0; i < w->len; i++) {
        int64_t ms = w->points[i].ts_ms, day = ms - ms % DAY_MS;
        bool whole = day >= from && day + DAY_MS - 1 <= to;

        w->points[i].gone |=
            w->points[i].series == series &&
            (ms < RAW_CUT * INT64_C(1000) ? whole : ms >= from && ms <= to);
    }
}

static void
forget_states(struct world *w)
{
    struct kv_batch *b = kv_batch_new();

    for (unsigned i = 0; i < store_layout(w->s)->salt_buckets; i++) {
        uint8_t key[2];

        kv_batch_delete(
            b, slice_of(key, key_weeks_state(store_layout(w->s), i, key)));
    }
    ck_assert_int_eq(kv_write(store_kv(w->s), b, &e), ST_OK);
    kv_batch_free(&b);
}

/* As a copy is: nothing is said to be summed up, and nothing will be. */
static void
without_states(struct world *w)
{
    forget_states(w);
    w->options.no_summaries = true;
    reopen(w);
}

static void
check_old(struct world *w)
{
    static struct seen seen;
    uint32_t from = T0 + (uint32_t)below(w, DAYS - 3) * DAY_S;
    uint32_t to =
        from + (2 + (uint32_t)below(w, (END - from) / DAY_S - 2)) * DAY_S;

    check(w, ways[below(w, 3)], from, to - 3600, false, &seen);
    ck_assert(!seen.lacks_rows);
    check(w, ways[below(w, 3)], T0, END - 3600, false, &seen);
    ck_assert(!seen.lacks_rows);
}

/* Of what expired no row is left, and nothing is missing. */
static void
check_all_expired(struct world *w)
{
    summarise(w);
    check_old(w);
    expire_all(w);
    check_old(w);
}

START_TEST(hourly_values_outlive_points)
{
    static struct world w;

    world_open(&w, _i);
    for (int n = 0; n < 600; n++) {
        unsigned series = (unsigned)below(&w, SERIES);
        int64_t at = T0 + (int64_t)below(&w, WEEKS * WEEK_S);

        if (series % 2 == 0 || at < HOURLY_CUT || at >= RAW_CUT)
            put(&w, series, at * 1000);
    }
    summarise(&w);
    ck_assert_uint_gt(count_old_rows(&w), 60);
    expire_all(&w);
    for (int turn = 0; turn < 30; turn++) {
        for (uint64_t n = below(&w, 3); n > 0; n--)
            put_late(&w);
        check_old(&w);
        if (below(&w, 4) == 0)
            drop_old(&w);
        check_old(&w);
        if (below(&w, 3) == 0)
            ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
        check_old(&w);
        if (below(&w, 3) == 0)
            summarise(&w);
        if (below(&w, 3) == 0)
            expire(&w);
        check_old(&w);
        if (below(&w, 6) != 0)
            continue;
        summarise(&w);
        if (w.options.dir != NULL && below(&w, 2) == 0)
            forget_states(&w);
        reopen(&w);
        summarise(&w);
        check_old(&w);
    }
    check_all_expired(&w);
    world_close(&w);
}
END_TEST

/* A series without an entry may have rows, in the head, too. */
START_TEST(hourly_values_need_no_state)
{
    static struct world w;
    static struct seen seen;

    world_open(&w, _i);
    for (int n = 0; n < 250; n++)
        put(&w, (unsigned)below(&w, SERIES / 2),
            (T0 + (int64_t)below(&w, WEEKS * WEEK_S)) * 1000);
    summarise(&w);
    set_cuts(&w);
    without_states(&w);
    for (int turn = 0; turn < 9; turn++)
        check(&w, ways[turn % 3], HOURLY_CUT, END - 3600, true, &seen);
    w.options.no_summaries = false;
    reopen(&w);
    if (w.options.dir != NULL)
        summarise(&w);
    expire_summarised(&w);
    without_states(&w);
    for (int turn = 0; turn < 60; turn++) {
        put_late(&w);
        check_old(&w);
        if (below(&w, 5) == 0)
            ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
    }
    w.options.no_summaries = false;
    reopen(&w);
    if (w.options.dir != NULL)
        check_all_expired(&w);
    world_close(&w);
}
END_TEST

/* The first row is read; then all expire.  No states are copied. */
static void
put_and_expire(void *ctx, struct slice key, struct slice value,
               struct kv_batch *b)
{
    struct world *w = ctx;

    if (key.data[0] != TABLE_WEEKS || key.size > 2)
        kv_batch_put(b, key, value);
    if (key.data[0] == TABLE_ROWS)
        expire(w);
}

static void
put_no_more(void *ctx, struct kv_batch *b)
{
    (void)ctx;
    (void)b;
}

START_TEST(a_copy_has_hourly_values_of_what_expires_meanwhile)
{
    static struct world w;
    struct kv_recode rules = { put_and_expire, put_no_more, &w };
    struct kv_copying copying = { .recode = &rules };
    struct kv *copy;

    world_open(&w, _i);
    put_some(&w, 300, HOURLY_CUT);
    summarise(&w);
    ck_assert_int_eq(
        kv_open(&(struct kv_options){ .place = KV_MEMORY }, &copy, &e), ST_OK);
    ck_assert_int_eq(store_copy(w.s, copy, &copying, &e), ST_OK);
    ck_assert_int_eq(store_close(&w.s, &e), ST_OK);
    w.options.kv = copy;
    w.options.dir = NULL;
    open_store(&w);
    check_old(&w);
    summarise(&w);
    check_old(&w);
    world_close(&w);
}
END_TEST

/* Hourly values before a cut were dropped in the middle of a week. The policy
 * became longer, and points from before that cut come: the entry of their week
 * does not count there, so their rows stay, whatever else is merged. */
START_TEST(a_longer_policy_keeps_points_before_the_cut)
{
    static struct world w;
    const struct store_cut longer = { 1, RAW_CUT * INT64_C(1000),
                                      T0 * INT64_C(1000) };
    const int64_t old_ms = (HOURLY_CUT - 3 * 3600) * INT64_C(1000);
    size_t accepted = 0;

    world_open(&w, _i);
    for (uint32_t t = HOURLY_CUT; t < RAW_CUT; t += 6 * 3600)
        for (unsigned k = 0; k < 4; k++)
            put(&w, k, (int64_t)t * 1000);
    expire_all(&w);
    for (unsigned k = 0; k < 6; k++) /* the last two have no entries */
        put(&w, k, old_ms + k);
    for (uint32_t t = HOURLY_CUT + 3600; t < RAW_CUT; t += DAY_S) {
        put(&w, 1, (int64_t)t * 1000);
        accepted++;
    }
    ck_assert_uint_gt(accepted, 0);
    summarise(&w);
    check_old(&w);
    for (int i = 0; i < 60; i++) {
        struct store_drop d = { .before = longer };

        ck_assert_int_eq(store_cuts_set(w.s, &longer, 1, &e), ST_OK);
        ck_assert_int_eq(store_drop_rows(w.s, &d, &e), ST_OK);
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    check_old(&w);
    ck_assert_uint_eq(count_old_rows(&w), 6);
    world_close(&w);
}
END_TEST

/* Late points that only the log has, more of them than the head takes. */
START_TEST(a_replay_leaves_hourly_values)
{
    static struct world w;

    world_open(&w, _i);
    if (w.options.dir != NULL) {
        put_some(&w, 600, T0);
        expire_all(&w);
        for (int n = 0; n < 400; n++)
            put_late(&w);
        store_flusher_stop(w.s);
        store_destroy(w.s);
        w.options.head_bytes = 1000;
        open_store(&w);
        check_old(&w);
        check_all_expired(&w);
    }
    world_close(&w);
}
END_TEST

/* The same on the day of the cut: entries count from it on, rows before. */
START_TEST(a_longer_policy_keeps_points_of_the_day_of_the_cut)
{
    static struct world w;
    static struct seen seen;
    const int64_t cut = HOURLY_CUT + 12 * 3600;
    const struct store_cut shorter = { 1, RAW_CUT * INT64_C(1000), cut * 1000 };
    const struct store_cut longer = { 1, RAW_CUT * INT64_C(1000),
                                      T0 * INT64_C(1000) };

    world_open(&w, 0); /* spans of 6 hours */
    for (int64_t t = cut; t < RAW_CUT; t += 6 * 3600)
        for (unsigned k = 0; k < 4; k++)
            put(&w, k, t * 1000);
    summarise(&w);
    for (int i = 0; i < 60; i++) {
        struct store_drop d = { .before = i < 30 ? shorter : longer };

        ck_assert_int_eq(store_cuts_set(w.s, &d.before, 1, &e), ST_OK);
        ck_assert_int_eq(store_drop_rows(w.s, &d, &e), ST_OK);
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        for (unsigned k = 0; k < 6 && i == 30; k++) /* two have no entries */
            put(&w, k, (cut - (int64_t)(k + 1) * 3600) * 1000 + k);
        if (i == 40)
            summarise(&w);
        for (int64_t from = T0; from < cut + 2 * DAY_S && i % 8 == 7;
             from += 7 * 3600)
            check(&w, ways[below(&w, 3)], (uint32_t)(from - from % 3600),
                  END - 3600, false, &seen);
    }
    ck_assert_uint_eq(count_old_rows(&w), 6);
    world_close(&w);
}
END_TEST

/* -- blocks that the engine cannot read ------------------------------------ */

/* Flips a bit in the middle of the largest table file: in a block of rows. */
static void
damage_rows(const struct world *w)
{
    char folder[512], path[1024], largest[1024];
    struct dirent *entry;
    struct stat st;
    off_t size = 0;
    uint8_t byte;
    DIR *d;
    int fd;

    (void)snprintf(folder, sizeof folder, "%s/engine", w->dir);
    d = opendir(folder);
    ck_assert_ptr_nonnull(d);
    while ((entry = readdir(d)) != NULL) {
        const char *dot = strrchr(entry->d_name, '.');

        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (dot == NULL || strcmp(dot, ".ldb") != 0 || stat(path, &st) != 0 ||
            st.st_size <= size)
            continue;
        size = st.st_size;
        memcpy(largest, path, sizeof path);
    }
    (void)closedir(d);
    ck_assert_int_gt(size, 8192);
    fd = open(largest, O_RDWR);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, &byte, 1, size / 2), 1);
    byte ^= 1;
    ck_assert_int_eq(pwrite(fd, &byte, 1, size / 2), 1);
    (void)close(fd);
}

START_TEST(rows_beside_an_unreadable_block_are_dropped)
{
    static struct world w;
    const struct store_cut all = { 1, END * INT64_C(1000),
                                   END * INT64_C(1000) };
    struct store_drop d = { .before = all };
    struct store_drop left = { .before = all, .dry_run = true };
    size_t rows = (SERIES - 1) * DAYS * 4;
    uint64_t damaged;

    world_open(&w, 0);
    w.options.no_summaries = true;
    reopen(&w);
    for (unsigned k = 0; k < SERIES - 1; k++)
        for (uint32_t t = T0; t < END; t += 6 * 3600)
            put(&w, k, (int64_t)t * 1000);
    ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
    ck_assert_int_eq(kv_sync(store_kv(w.s), NULL), ST_OK);
    ck_assert_int_eq(store_close(&w.s, &e), ST_OK);
    damage_rows(&w);
    open_store(&w);
    damaged = counter_get(CNT_DAMAGE_READ_AROUND);
    ck_assert_int_eq(store_cuts_set(w.s, &all, 1, &e), ST_OK);
    ck_assert_msg(store_drop_rows(w.s, &d, &e) == ST_OK, "%s", e.text);
    ck_assert_uint_gt(counter_get(CNT_DAMAGE_READ_AROUND), damaged);
    ck_assert_uint_gt(d.dropped.rows, rows / 2);
    ck_assert_uint_lt(d.dropped.rows, rows);
    ck_assert_int_eq(store_drop_rows(w.s, &left, &e), ST_OK);
    ck_assert_uint_eq(left.dropped.rows, 0);
    (void)!store_close(&w.s, &e);
    tempdir_free(&w.dir);
}
END_TEST

/* The week of each series that has no row in the block is summed up as before;
 * of the others it is unfit, or has no row there. */
START_TEST(weeks_beside_an_unreadable_block_are_summed_up)
{
    static struct world w;
    static struct week whole[SERIES - 1], weeks[SERIES - 1];
    static uint8_t names[SERIES - 1][15];
    struct slice tsuids[SERIES - 1];
    struct week_rows r = { .tsuids = tsuids, .len = SERIES - 1 };
    struct points scratch = { 0 };
    size_t unfit = 0, same = 0;

    world_open(&w, 1); /* one salt bucket */
    w.options.no_summaries = true;
    w.options.layout.row_hours = 24;
    reopen(&w);
    for (unsigned k = 0; k < SERIES - 1; k++) {
        tsuids[k] = name(k, names[k]);
        for (uint32_t t = T0; t < T0 + 2 * WEEK_S; t += 6 * 3600)
            put(&w, k, (int64_t)t * 1000);
    }
    for (unsigned turn = 0; turn < 2; turn++) {
        r.kv = store_kv(w.s);
        r.layout = store_layout(w.s);
        if (turn == 0)
            ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
        for (uint32_t week = T0; week < T0 + 2 * WEEK_S; week += WEEK_S) {
            enum status st = week_rows_sum(&r, week, whole, &scratch, &e);

            ck_assert_int_eq(week_rows_sum_each(&r, week, weeks, &scratch, &e),
                             ST_OK);
            ck_assert(turn == 1 || st == ST_OK);
            for (size_t k = 0; k < SERIES - 1; k++) {
                unfit += weeks[k].unfit;
                same +=
                    !weeks[k].unfit && memcmp(weeks[k].count, whole[k].count,
                                              sizeof whole[k].count) == 0;
            }
        }
        if (turn == 1)
            break;
        ck_assert_uint_eq(unfit, 0);
        ck_assert_uint_eq(same, 2 * (SERIES - 1));
        ck_assert_int_eq(kv_sync(store_kv(w.s), NULL), ST_OK);
        ck_assert_int_eq(store_close(&w.s, &e), ST_OK);
        damage_rows(&w);
        open_store(&w);
    }
    ck_assert_uint_gt(unfit, 0);
    points_fini(&scratch);
    (void)!store_close(&w.s, &e);
    tempdir_free(&w.dir);
}
END_TEST

/* Of weeks that are not summarised, nothing goes. */
START_TEST(points_stay_until_they_are_summarised)
{
    static struct world w;
    static struct seen seen;
    struct store_drop d = { .before = cuts };
    struct store_drop foreseen = { .before = cuts,
                                   .dry_run = true,
                                   .foresees = true };

    world_open(&w, _i);
    if (w.options.dir == NULL) {
        world_close(&w);
        return;
    }
    w.options.summary_delay_ms = 3600000;
    reopen(&w);
    put_some(&w, 300, HOURLY_CUT);
    ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
    expire(&w);
    ck_assert_uint_gt(count_old_rows(&w), 50);
    ck_assert_int_eq(store_drop_rows(w.s, &foreseen, &e), ST_OK);
    check(&w, SCAN_RANGE, T0, END - 3600, false, &seen);
    w.options.summary_delay_ms = 1;
    reopen(&w);
    summarise(&w);
    set_cuts(&w);
    for (int i = 0; i < 60000 && d.dropped.rows < foreseen.dropped.rows; i++) {
        ck_assert_int_eq(store_drop_rows(w.s, &d, &e), ST_OK);
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    ck_assert_uint_eq(foreseen.dropped.rows, d.dropped.rows);
    ck_assert_uint_eq(foreseen.dropped.points, d.dropped.points);
    check_all_expired(&w);
    world_close(&w);
}
END_TEST

/* Of a copy, which has entries and no state: late points, or deletions, and
 * then the cut. */
static void
change_a_copy(int layout, bool deletes)
{
    static struct world w;
    static struct seen seen;

    world_open(&w, layout);
    put_some(&w, 600, HOURLY_CUT);
    summarise(&w);
    without_states(&w);
    check(&w, SCAN_RANGE, T0, END - 3600, false, &seen);
    for (int n = 0; n < 20 && !deletes; n++)
        put(&w, (unsigned)below(&w, SERIES - 1),
            (HOURLY_CUT + (int64_t)below(&w, RAW_CUT - HOURLY_CUT)) * 1000);
    for (int n = 0; n < 5 && deletes; n++)
        drop(&w);
    ck_assert_int_eq(store_flush(w.s, &e), ST_OK);
    check(&w, SCAN_RANGE, T0, END - 3600, false, &seen);
    set_cuts(&w);
    check(&w, SCAN_RANGE, T0, END - 3600, false, &seen);
    w.options.no_summaries = false;
    reopen(&w);
    if (w.options.dir != NULL)
        check_all_expired(&w);
    world_close(&w);
}

START_TEST(late_points_in_a_copy_count)
{
    change_a_copy(_i, false);
}
END_TEST

START_TEST(deletions_in_a_copy_count)
{
    change_a_copy(_i, true);
}
END_TEST

/* Where hourly values are all there is, the others are read, and the scan tells
 * that some are lost. */
START_TEST(damaged_hourly_values_are_told)
{
    static struct world w;
    static struct seen all, seen;

    world_open(&w, 0);
    for (unsigned k = 0; k < SERIES - 1; k++)
        for (uint32_t t = HOURLY_CUT; t < END; t += 6 * 3600)
            put(&w, k, (int64_t)t * 1000);
    expire_all(&w);
    check(&w, SCAN_RANGE, HOURLY_CUT, END - 3600, false, &all);
    ck_assert(!all.lacks_weeks);
    damage_entry(&w, 3, HOURLY_CUT);
    for (size_t i = 0; i < 3; i++) {
        memset(&seen, 0, sizeof seen);
        scan(&w, ways[i], HOURLY_CUT, END - 3600, false, &seen);
        ck_assert(seen.lacks_weeks);
        ck_assert_uint_eq(seen.weeks, all.weeks - 1);
        ck_assert_uint_eq(seen.rows, all.rows);
        for (unsigned k = 0; k < SERIES; k++)
            for (size_t day = 0; day < DAYS; day++)
                ck_assert(seen.days[k][day].sum ==
                          (k == 3 && day >= 7 && day < 14
                               ? 0
                               : all.days[k][day].sum));
    }
    world_close(&w);
}
END_TEST

TEST_MAIN("store_weeks_cuts", TEST(damaged_hourly_values_are_told),
          LOOP(hourly_values_outlive_points, layouts),
          LOOP(hourly_values_need_no_state, layouts),
          LOOP(a_copy_has_hourly_values_of_what_expires_meanwhile, layouts),
          TEST(rows_beside_an_unreadable_block_are_dropped),
          TEST(weeks_beside_an_unreadable_block_are_summed_up),
          LOOP(a_longer_policy_keeps_points_before_the_cut, layouts),
          TEST(a_longer_policy_keeps_points_of_the_day_of_the_cut),
          LOOP(a_replay_leaves_hourly_values, layouts),
          LOOP(points_stay_until_they_are_summarised, layouts),
          LOOP(late_points_in_a_copy_count, layouts),
          LOOP(deletions_in_a_copy_count, layouts))
