#include "tsd/config/limits.h"

#include <unistd.h>

#include "tests/harness.h"
#include "tests/tempdir.h"

struct rig {
    char *dir, *path;
    struct settings *settings;
    struct clock clock;
    struct limits *limits;
    enum status opened;
    struct error e;
};

static void
write_file(const struct rig *g, const char *text)
{
    FILE *f = fopen(g->path, "w");

    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

/* Ten bytes, five points, and the file's text, if any. */
static void
rig_open(struct rig *g, const char *text, const char *lift)
{
    g->dir = tempdir_new();
    g->path = tempdir_path(g->dir, "limits.json");
    g->settings = settings_new();
    g->clock = (struct clock){ .fixed_ms = 1000000 };
    if (text != NULL)
        write_file(g, text);
    settings_set(g->settings, "tsd.query.limits.bytes.default", "10");
    settings_set(g->settings, "tsd.query.limits.data_points.default", "5");
    settings_set(g->settings, "tsd.query.limits.bytes.allow_override", lift);
    settings_set(g->settings, "tsd.query.limits.data_points.allow_override",
                 lift);
    settings_set(g->settings, "tsd.query.limits.overrides.config", g->path);
    settings_set(g->settings, "tsd.query.limits.overrides.interval", "500");
    g->opened = limits_open(g->settings, &g->clock, &g->limits, &g->e);
}

static void
rig_close(struct rig *g)
{
    limits_free(&g->limits);
    ck_assert_ptr_null(g->limits);
    settings_free(&g->settings);
    free(g->path);
    tempdir_free(&g->dir);
}

static void
expect(const struct rig *g, const char *metric, uint64_t bytes, uint64_t points)
{
    const struct sub_query sq = { .metric = slice_str(metric) };
    const struct query q = { 0 };
    struct engine_limits got;

    limits_find(g->limits, &q, &sq, &got);
    ck_assert_msg(got.bytes == bytes && got.points == points,
                  "%s: wanted %llu bytes, %llu points, got %llu, %llu", metric,
                  (unsigned long long)bytes, (unsigned long long)points,
                  (unsigned long long)got.bytes,
                  (unsigned long long)got.points);
}

START_TEST(takes_the_first_that_is_found)
{
    struct rig g;

    rig_open(&g,
             "[{\"regex\":\"^sys\\\\.cpu\",\"byteLimit\":100,"
             "\"dataPointsLimit\":50},"
             "{\"regex\":\"cpu\",\"dataPointsLimit\":7}]",
             "false");
    ck_assert_int_eq(g.opened, ST_OK);
    expect(&g, "sys.cpu.user", 100, 50);
    expect(&g, "my.cpu", 0, 7);
    expect(&g, "sys.mem", 10, 5);
    expect(&g, "", 10, 5);
    rig_close(&g);
}
END_TEST

START_TEST(reads_the_file_again)
{
    struct rig g;

    rig_open(&g, "[{\"regex\":\"m\",\"byteLimit\":1}]", "false");
    expect(&g, "m", 1, 0);
    write_file(&g, "[{\"regex\":\"m\",\"byteLimit\":2}]");
    g.clock.fixed_ms += 499;
    expect(&g, "m", 1, 0);
    g.clock.fixed_ms++;
    expect(&g, "m", 2, 0);
    write_file(&g, "[]");
    g.clock.fixed_ms += 500;
    expect(&g, "m", 10, 5);
    /* The clock is put back by a year. */
    write_file(&g, "[{\"regex\":\"m\",\"byteLimit\":3}]");
    g.clock.fixed_ms -= INT64_C(31536000000);
    expect(&g, "m", 3, 0);
    rig_close(&g);
}
END_TEST

static const char *const bad_files[] = {
    NULL,
    "",
    "{",
    "{}",
    "[1]",
    "[{}]",
    "[{\"regex\":\"\"}]",
    "[{\"regex\":\"(\"}]",
    "[{\"regex\":\"m\",\"byteLimit\":-1}]",
    "[{\"regex\":\"m\",\"dataPointsLimit\":\"x\"}]",
    "[{\"regex\":\"m\",\"byteLimit\":9},{\"regex\":1}]",
};

START_TEST(keeps_what_it_has)
{
    struct rig g;

    rig_open(&g, "[{\"regex\":\"m\",\"byteLimit\":1}]", "false");
    if (bad_files[_i] == NULL)
        ck_assert_int_eq(unlink(g.path), 0);
    else
        write_file(&g, bad_files[_i]);
    g.clock.fixed_ms += 500;
    expect(&g, "m", 1, 0);
    expect(&g, "x", 10, 5);
    rig_close(&g);
}
END_TEST

/* No limits are no limits: who asks for them must not get a server without. */
START_TEST(needs_the_file_at_first)
{
    struct rig g;

    rig_open(&g, bad_files[_i], "false");
    ck_assert_int_eq(g.opened, ST_INVALID);
    ck_assert_msg(strstr(g.e.text, "tsd.query.limits.overrides.config: ") !=
                      NULL,
                  "%s", g.e.text);
    rig_close(&g);
}
END_TEST

START_TEST(lifts_if_one_may)
{
    const struct sub_query sq = { .metric = slice_str("m") };
    const struct query bytes = { .override_bytes = true };
    const struct query points = { .override_points = true };
    bool may = _i == 1;
    struct engine_limits got;
    struct rig g;

    rig_open(&g, "[]", may ? "true" : "false");
    limits_find(g.limits, &bytes, &sq, &got);
    ck_assert_uint_eq(got.bytes, may ? 0 : 10);
    ck_assert_uint_eq(got.points, 5);
    limits_find(g.limits, &points, &sq, &got);
    ck_assert_uint_eq(got.bytes, 10);
    ck_assert_uint_eq(got.points, may ? 0 : 5);
    rig_close(&g);
}
END_TEST

TEST_MAIN("limits", TEST(takes_the_first_that_is_found),
          TEST(reads_the_file_again), LOOP(keeps_what_it_has, bad_files),
          LOOP(needs_the_file_at_first, bad_files), TIMES(lifts_if_one_may, 2))
