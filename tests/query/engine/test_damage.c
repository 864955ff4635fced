/* Damage of derived tables, found by the engine's block checksums or by
 * entries' own ones, is read around: queries answer what they answered before.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/process/counters.h"
#include "query/parse/parse.h"
#include "storage/kv/kv.h"
#include "storage/week/week.h"
#include "tests/query/engine/world.h"
#include "tests/tempdir.h"

#define SERIES  3000 /* so many that each table has blocks of its own */
#define WEEK_MS (7 * DAY_MS)
#define WEEKS   2
#define FIRST   (T0 / WEEK_MS * WEEK_MS + WEEK_MS)
#define PLACES  24 /* that are damaged, of each file */

static struct world w;
static char *dir;

static enum status
open_damaged(void)
{
    struct store_options so = { .dir = dir,
                                .layout = KEY_LAYOUT_DEFAULT,
                                .summary_delay_ms = 1 };
    struct uid_options uo = { 0 };
    enum status status;

    so.layout.salt_buckets = 2;
    w = (struct world){ 0 };
    status = store_open(&so, &w.store, &e);
    if (status == ST_OK)
        status = uid_open(w.store, &uo, &w.uids, &e);
    if (status == ST_OK)
        status = series_open(w.store, w.uids, &w.series, &e);
    if (status == ST_OK)
        w.engine = engine_new(w.store, w.uids, w.series,
                              &(struct engine_options){ .threads = 1 });
    return status;
}

static void
close_damaged(void)
{
    engine_free(&w.engine);
    if (w.series != NULL)
        series_close(&w.series);
    if (w.uids != NULL)
        uid_close(&w.uids);
    if (w.store != NULL)
        (void)!store_close(&w.store, &e);
}

static struct slice
value_text(unsigned i, char text[16])
{
    (void)snprintf(text, 16, "v%u", i);
    return slice_str(text);
}

/* A point of each series in each week, 6 h of another one in the second. */
static void
put_all(void)
{
    struct series_rules rules = { true, true, true, 8, false };

    for (unsigned i = 0; i < SERIES; i++) {
        char text[16];
        struct tag tag = { slice_str("a"), value_text(i, text) };
        struct series_point p = { .point.is_float = false };
        struct tsuid tsuid;

        ck_assert_int_eq(
            series_resolve(w.series, &rules,
                           &(struct series_text){ 0, slice_str("m"), &tag, 1 },
                           &p.series, &tsuid, &e),
            ST_OK);
        for (unsigned k = 0; k < WEEKS; k++) {
            p.point.ts_ms = FIRST + k * WEEK_MS + i % 7 * DAY_MS;
            p.point.v.i = i * 7 + k;
            ck_assert_int_eq(store_put(w.store, &p, 1, NULL, &e), ST_OK);
        }
    }
    ck_assert_int_eq(store_flush(w.store, &e), ST_OK);
}

static void
wait_for_weeks(void)
{
    for (int i = 0; i < 60000 && store_counts(w.store).weeks_written <
                                     (uint64_t)SERIES * WEEKS;
         i++)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    ck_assert_uint_ge(store_counts(w.store).weeks_written, SERIES * WEEKS);
}

/* -- answers --------------------------------------------------------------- */

static const char *const ms[] = {
    "none:m", /* rows, and all names */
    "sum:1d-sum:m",
    "none:1d-avg:m",
    "sum:m{a=v17}",
    "sum:m{a=wildcard(v29*)}",
    "none:1d-max:m{a=regexp(v1.3)}",
    "sum:1d-count:m{a=not_literal_or(v17|v18)}",
};
#define QUERIES (sizeof ms / sizeof *ms)

struct answer {
    enum status status;
    size_t groups;
    uint64_t hash; /* of times, values and TSUIDs */
};

static uint64_t
hash_of(const struct query_result *r)
{
    uint64_t h = 0;

    for (size_t i = 0; i < r->groups_len; i++) {
        const struct result_group *g = &r->groups[i];

        for (size_t k = 0; k < g->tsuids_len; k++)
            h = hash_u64(h + hash_slice(g->tsuids[k], 1));
        for (size_t k = 0; k < g->dps.len; k++)
            h = hash_u64(hash_u64(h + (uint64_t)g->dps.ts_ms[k]) +
                         (uint64_t)g->dps.v[k].i);
    }
    return h;
}

static struct answer
ask(const char *m)
{
    const struct parse_options po = { .now_ms = FIRST + 5 * WEEK_MS };
    char start[24], end[24];
    struct query_param params[] = { { slice_str("start"), { 0 } },
                                    { slice_str("end"), { 0 } },
                                    { slice_str("m"), slice_str(m) } };
    struct arena *a = arena_new(0);
    struct query q;
    struct query_result r;
    struct parse_error pe;
    struct answer answer = { .groups = 0 };

    (void)snprintf(start, sizeof start, "%lld", (long long)FIRST);
    (void)snprintf(end, sizeof end, "%lld",
                   (long long)(FIRST + WEEKS * WEEK_MS));
    params[0].value = slice_str(start);
    params[1].value = slice_str(end);
    ck_assert_int_eq(query_parse_uri(params, 3, &po, a, &q, &pe), ST_OK);
    answer.status = engine_run(w.engine, &q, CANCEL_NEVER, NULL, a, &r, &pe);
    if (answer.status == ST_OK) {
        answer.groups = r.groups_len;
        answer.hash = hash_of(&r);
    }
    query_fini(&q);
    arena_free(&a);
    return answer;
}

/* Names are no derived table: where they are damaged, queries may fail. */
static bool
names_are_whole(void)
{
    uint64_t id;
    bool good =
        uid_find(w.uids, UID_METRIC, slice_str("m"), &id, &e) == ST_OK &&
        uid_find(w.uids, UID_TAGK, slice_str("a"), &id, &e) == ST_OK;

    for (unsigned i = 0; i < SERIES && good; i++) {
        char text[16];

        good =
            uid_find(w.uids, UID_TAGV, value_text(i, text), &id, &e) == ST_OK;
    }
    return good;
}

/* -- damage ---------------------------------------------------------------- */

static void
flip(const char *path, off_t at)
{
    int fd = open(path, O_RDWR);
    uint8_t byte;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
    (void)close(fd);
}

/* What the cases at the places of a file came to. */
struct seen {
    unsigned rows_whole, read_around, closed;
};

static void
check_answers(const char *path, off_t at, const struct answer *want,
              struct seen *seen)
{
    uint64_t before = counter_get(CNT_DAMAGE_READ_AROUND);
    struct answer rows = ask(ms[0]);

    if (rows.status != ST_OK || !names_are_whole())
        return;
    seen->rows_whole++;
    for (size_t i = 0; i < QUERIES; i++) {
        struct answer got = ask(ms[i]);

        ck_assert_msg(got.status == ST_OK, "%s at %lld: %s", path,
                      (long long)at, ms[i]);
        ck_assert_msg(got.groups == want[i].groups && got.hash == want[i].hash,
                      "%s at %lld: %s has another answer", path, (long long)at,
                      ms[i]);
    }
    seen->read_around += counter_get(CNT_DAMAGE_READ_AROUND) > before;
}

/* One bit at a time, in a block of each table; the others are whole. */
static void
damage_file(const char *path, const struct answer *want, struct seen *seen)
{
    struct stat st;

    ck_assert_int_eq(stat(path, &st), 0);
    for (off_t at = 100; at < st.st_size; at += st.st_size / PLACES + 1) {
        flip(path, at);
        if (open_damaged() == ST_OK)
            check_answers(path, at, want, seen);
        else
            seen->closed++;
        close_damaged();
        flip(path, at);
    }
}

static void
each_table_file(const struct answer *want, struct seen *seen)
{
    char folder[512], path[1024];
    struct dirent *entry;
    DIR *d;

    (void)snprintf(folder, sizeof folder, "%s/engine", dir);
    d = opendir(folder);
    ck_assert_ptr_nonnull(d);
    while ((entry = readdir(d)) != NULL) {
        const char *dot = strrchr(entry->d_name, '.');

        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (dot != NULL && strcmp(dot, ".ldb") == 0)
            damage_file(path, want, seen);
    }
    (void)closedir(d);
}

START_TEST(flipped_bits_are_read_around)
{
    struct answer want[QUERIES];
    struct seen seen = { 0 };

    dir = tempdir_new();
    ck_assert_int_eq(open_damaged(), ST_OK);
    put_all();
    wait_for_weeks();
    ck_assert_int_eq(kv_sync(store_kv(w.store), NULL), ST_OK);
    close_damaged();
    ck_assert_int_eq(open_damaged(), ST_OK);
    for (size_t i = 0; i < QUERIES; i++) {
        want[i] = ask(ms[i]);
        ck_assert_int_eq(want[i].status, ST_OK);
        ck_assert_uint_gt(want[i].groups, 0);
    }
    close_damaged();
    each_table_file(want, &seen);
    ck_assert_uint_ge(seen.rows_whole, 3);
    ck_assert_uint_ge(seen.read_around, 3);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN("damage", TEST(flipped_bits_are_read_around))
