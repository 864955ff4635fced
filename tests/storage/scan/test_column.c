/* Columns of random hours, against the points that they were made of. */
#include "storage/scan/column.h"

#include "storage/scan/store_scan.h"
#include "tests/storage/made_hour.h"

#define BASE  UINT32_C(1356998400)
#define HOURS 3

static struct error e;
static uint64_t random_state;

static uint64_t
random_below(uint64_t n)
{
    return harness_random(&random_state) % n;
}

/* A series of some hours, and where their bytes are. */
struct made {
    struct points all;
    struct made_hour hours[HOURS];
    struct arena *arena;
    struct column column;
};

static void
add_hour(struct made *m, size_t i, const struct points *p, bool packs)
{
    static const uint8_t tsuid[] = { 0, 0, 1, 0, 0, 1, 0, 0, 2 };
    struct store_row row;
    uint32_t read;

    if (p->len == 0)
        return;
    row = make_hour(&m->hours[i], slice_of(tsuid, sizeof tsuid),
                    BASE + (uint32_t)i * HOUR_S, p, packs);
    ck_assert_int_eq(store_row_points(&row, &m->all, &e), ST_OK);
    ck_assert_int_eq(column_add_row(&m->column, &row, m->arena, &read, &e),
                     ST_OK);
}

/* Mostly even, of one kind. */
static void
make(struct made *m)
{
    int64_t step = 1000 * (1 + (int64_t)random_below(90));
    int64_t at = (int64_t)BASE * 1000 + (int64_t)random_below(2000000);
    int64_t end = (int64_t)BASE * 1000 + HOURS * HOUR_MS, v = 0;
    bool is_float = random_below(2) == 0;
    uint64_t odd = random_below(3) == 0 ? 40 : 1000000;

    *m = (struct made){ .arena = arena_new(0) };
    for (size_t i = 0; i < HOURS; i++) {
        struct points p = { 0 };
        int64_t hour_end = end - (int64_t)(HOURS - 1 - i) * HOUR_MS;

        for (; at < hour_end; at += random_below(odd) == 0 ? step / 2 : step) {
            struct point x = { at,
                               { .i = v += (int64_t)random_below(80) - 40 },
                               is_float != (random_below(odd) == 0) };

            if (x.is_float)
                x.v.d = (double)v / 8;
            ck_assert(points_add(&p, x));
        }
        if (random_below(8) == 0)
            p.len = p.len < 2 ? p.len : 1;
        add_hour(m, i, &p, random_below(2) == 0);
        points_fini(&p);
    }
}

static void
end(struct made *m)
{
    for (size_t i = 0; i < HOURS; i++)
        made_hour_fini(&m->hours[i]);
    points_fini(&m->all);
    arena_free(&m->arena);
}

/* Points from .. to - 1 of all are the column's. */
static void
check(const struct made *m, const struct column *c, size_t from, size_t to)
{
    struct points scratch = { 0 };
    struct column x;

    ck_assert_int_eq(column_unpack(c, &scratch, &x, &e), ST_OK);
    ck_assert_uint_eq(x.len, to - from);
    ck_assert_int_eq(c->first_ms, m->all.ts_ms[from]);
    ck_assert_int_eq(c->last_ms, m->all.ts_ms[to - 1]);
    for (size_t i = 0; i < x.len; i++) {
        ck_assert_int_eq(x.ts_ms[i], m->all.ts_ms[from + i]);
        ck_assert_int_eq(x.v[i].i, m->all.v[from + i].i);
        ck_assert_int_eq(x.is_float[i], m->all.is_float[from + i]);
        if (c->uneven)
            continue;
        ck_assert_int_eq(column_time(c, i), x.ts_ms[i]);
        ck_assert_int_eq(column_is_float(c, i), x.is_float[i]);
    }
    points_fini(&scratch);
}

/* For sanitizers: with open rows, and without. */
static void
fetch(const struct column *c)
{
    for (unsigned step = 0; step < COLUMN_FETCH_STEPS; step++)
        column_fetch(c, step);
}

START_TEST(holds_the_points_of_its_hours)
{
    size_t evens = 0;

    random_state = harness_seed((unsigned long)_i);

    for (size_t n = 0; n < 400; n++) {
        struct made m;

        make(&m);
        fetch(&m.column);
        if (m.all.len > 0)
            check(&m, &m.column, 0, m.all.len);
        evens += !m.column.uneven;
        end(&m);
    }
    ck_assert_uint_gt(evens, 100);
    ck_assert_uint_lt(evens, 390);
}
END_TEST

/* As column_window_range(), point by point. */
static struct value_range
window_of(const struct column_window *w, const struct points *p)
{
    struct value_range r = { times_seek(p->ts_ms, p->len, w->from_ms),
                             times_seek(p->ts_ms, p->len, w->to_ms + 1) };

    for (size_t i = 0; i < w->around; i++) {
        size_t before = r.from, behind = r.end;

        while (r.from > 0 && p->ts_ms[r.from - 1] / w->bucket_ms ==
                                 p->ts_ms[before - 1] / w->bucket_ms)
            r.from--;
        while (r.end < p->len && p->ts_ms[r.end] / w->bucket_ms ==
                                     p->ts_ms[behind] / w->bucket_ms)
            r.end++;
    }
    return r;
}

START_TEST(keeps_a_window_and_its_neighbours)
{
    static const int64_t lengths[] = { 1, 1000, 7000, 60000 };

    random_state = harness_seed((unsigned long)_i);
    for (size_t n = 0; n < 400; n++) {
        int64_t from_ms =
            (int64_t)BASE * 1000 + (int64_t)random_below(HOURS * HOUR_MS);
        int64_t to_ms = from_ms + (int64_t)random_below(HOUR_MS);
        const struct column_window window = { from_ms, to_ms,
                                              1 + random_below(2),
                                              lengths[random_below(4)] };
        struct made m;

        make(&m);
        if (m.all.len > 0 && !m.column.uneven) {
            struct value_range r = window_of(&window, &m.all);

            column_crop(&m.column, &window);
            check(&m, &m.column, r.from, r.end);
        }
        end(&m);
    }
}
END_TEST

/* A block whose header is right and whose values are cut off. */
START_TEST(says_what_is_damaged_when_it_is_unpacked)
{
    struct points p = { 0 };
    struct made m = { .arena = arena_new(0) };
    union number *v;
    uint8_t *bytes;

    for (int64_t i = 0; i < 100; i++)
        ck_assert(
            points_add(&p, (struct point){ BASE * INT64_C(1000) + i * 1000,
                                           { .i = i * i % 37 },
                                           false }));
    add_hour(&m, 0, &p, true);
    bytes = (uint8_t *)(uintptr_t)m.column.hours->block;
    bytes[0] = BLOCK_WITHOUT_CRC;
    m.column.hours->block_size -= BLOCK_CRC_SIZE + 1;
    ck_assert_int_eq(column_values(&m.column, &p, &v, &e), ST_CORRUPT);
    ck_assert_msg(strncmp(e.text,
                          "series 000001000001000002, hour 1356998400: "
                          "block: ",
                          51) == 0,
                  "%s", e.text);
    points_fini(&p);
    end(&m);
}
END_TEST

TEST_MAIN("column", TEST(holds_the_points_of_its_hours),
          TEST(keeps_a_window_and_its_neighbours),
          TEST(says_what_is_damaged_when_it_is_unpacked))
