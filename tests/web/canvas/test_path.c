#include "web/canvas/path.h"

#include <math.h>

#include "tests/harness.h"

#define COLUMNS 50
#define POINTS  2000

static struct path path;
static struct arena *arena;

static void
setup(void)
{
    arena = arena_new(0);
    ck_assert(path_alloc(&path, COLUMNS, arena));
}

/* "M x y L x y" of what is in the path. */
static const char *
text(void)
{
    static const char ops[] = { 'M', 'L', 'C' };
    static char out[2000];
    size_t size = 0;

    out[0] = '\0';
    for (size_t i = 0; i < path.len; i++)
        size += (size_t)snprintf(out + size, sizeof out - size, "%c%g,%g ",
                                 ops[path.vertices[i].op], path.vertices[i].x,
                                 path.vertices[i].y);
    return out;
}

static const struct {
    double points[12]; /* x, y; negative x: the pencil is lifted */
    const char *text;
} cases[] = {
    { { 1, 5 }, "M1,5 " },
    { { 1, 5, 3, 6 }, "M1,5 L3,6 " },
    { { 1, 5, 3, 6, -4, 7, 5, 8 }, "M1,5 L3,6 M4,7 L5,8 " },
    { { 1, 5, 1.5, 9, 1.7, 2, 1.9, 6 }, "M1,5 L1,9 L1,2 L1,6 " },
    { { 1, 5, 1.5, 5, 3, 6 }, "M1,5 L3,6 " },
    { { 1, 5, 1.5, 9, 3, 6 }, "M1,5 L1,9 L1,5 L1,9 L3,6 " },
    /* What is lifted within a column does not show. */
    { { 1, 5, -1.5, 7, 3, 6 }, "M1,5 L1,7 L1,5 L1,7 L3,6 " },
};

START_TEST(thins_columns)
{
    struct pencil n;

    setup();
    n = pencil_new(&path, 1);
    for (int i = 0; i < 12 && cases[_i].points[i] != 0; i += 2)
        pencil_point(&n, fabs(cases[_i].points[i]), cases[_i].points[i + 1],
                     i == 0 || cases[_i].points[i] < 0);
    pencil_end(&n);
    ck_assert_str_eq(text(), cases[_i].text);
    arena_free(&arena);
}
END_TEST

/* Each column shows all that is in it, and no more. */
START_TEST(loses_no_spike)
{
    uint64_t seed = harness_seed(30);
    double low[COLUMNS], high[COLUMNS], x = 0;
    struct pencil n;

    setup();
    for (int i = 0; i < COLUMNS; i++) {
        low[i] = INFINITY;
        high[i] = -INFINITY;
    }
    n = pencil_new(&path, 1);
    for (int i = 0; i < POINTS; i++) {
        double y = (double)(harness_random(&seed) % 100000);

        x += (double)(harness_random(&seed) % 1000) / 1000 * 2 * COLUMNS /
             POINTS;
        if (x >= COLUMNS)
            break;
        low[(int)x] = fmin(low[(int)x], y);
        high[(int)x] = fmax(high[(int)x], y);
        pencil_point(&n, x, y, harness_random(&seed) % 10 == 0);
    }
    pencil_end(&n);
    ck_assert_uint_le(path.len, (size_t)COLUMNS * 4);
    for (size_t i = 0; i < path.len; i++) {
        int column = (int)path.vertices[i].x;

        ck_assert(path.vertices[i].y >= low[column]);
        ck_assert(path.vertices[i].y <= high[column]);
        if (path.vertices[i].y == low[column])
            low[column] = -INFINITY; /* seen */
        if (path.vertices[i].y == high[column])
            high[column] = INFINITY;
    }
    for (int i = 0; i < COLUMNS; i++)
        ck_assert_msg(isinf(low[i]) && isinf(high[i]), "column %d", i);
    arena_free(&arena);
}
END_TEST

static double
bezier(double a, double b, double c, double d, double t)
{
    double u = 1 - t;

    return u * u * u * a + 3 * u * u * t * b + 3 * u * t * t * c +
           t * t * t * d;
}

START_TEST(curves_go_through_points_and_no_higher)
{
    uint64_t seed = harness_seed(31);

    for (int round = 0; round < 200; round++) {
        double ys[COLUMNS / 2];
        struct pencil n;
        size_t points = 0;

        setup();
        n = pencil_new(&path, 1);
        for (int i = 0; i < COLUMNS / 2; i++) {
            ys[i] = (double)(harness_random(&seed) % 100);
            pencil_point(&n, 2 * i, ys[i],
                         i == 0 || harness_random(&seed) % 9 == 0);
        }
        pencil_end(&n);
        path_curve(&path);
        for (size_t i = 0; i < path.len; points++) {
            const struct vertex *v = &path.vertices[i];

            if (v->op == PATH_MOVE) {
                ck_assert(v->y == ys[points]);
                i++;
                continue;
            }
            ck_assert_int_eq(v->op, PATH_CURVE);
            ck_assert(v[2].y == ys[points] && v[2].x == 2.0 * (double)points);
            for (double t = 0; t <= 1; t += 0.125) {
                double y = bezier(v[-1].y, v[0].y, v[1].y, v[2].y, t);

                ck_assert(y > fmin(v[-1].y, v[2].y) - 1e-9);
                ck_assert(y < fmax(v[-1].y, v[2].y) + 1e-9);
            }
            i += 3;
        }
        ck_assert_uint_eq(points, COLUMNS / 2);
        arena_free(&arena);
    }
}
END_TEST

TEST_MAIN("path", LOOP(thins_columns, cases), TEST(loses_no_spike),
          TEST(curves_go_through_points_and_no_higher))
