#include "bench/workload.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tests/harness.h"

/* What was written, as a number that does not depend on the order of lines. */
struct seen {
    uint64_t lines, bag, order;
    char first[256];
};

static bool
look(void *ctx, const void *data, size_t size)
{
    struct seen *s = ctx;
    const char *p = data, *end = p + size;

    if (s->lines == 0 && size > 0)
        (void)snprintf(s->first, sizeof s->first, "%.*s", (int)strcspn(p, "\n"),
                       p);
    s->order = hash_bytes(data, size, s->order);
    while (p < end) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));

        ck_assert_ptr_nonnull(eol);
        s->bag += hash_bytes(p, (size_t)(eol - p), 1);
        s->lines++;
        p = eol + 1;
    }
    return true;
}

static struct workload
small(void)
{
    struct workload w = workload_default;

    w.hosts = 7;
    w.end = w.start + 3600;
    return w;
}

static struct seen
run(const struct workload *w, struct workload_totals *t)
{
    struct seen s = { 0 };

    ck_assert_str_eq(workload_fault(w), "");
    ck_assert(workload_run(w, look, &s, t));
    ck_assert_uint_eq(s.lines, t->points);
    return s;
}

static const struct {
    enum workload_values values;
    bool json;
    uint32_t jitter_ms, gap_permille;
} kinds[] = {
    { WORKLOAD_INT, false, 0, 0 },      { WORKLOAD_FLOAT, false, 0, 0 },
    { WORKLOAD_COUNTER, false, 0, 0 },  { WORKLOAD_INT, true, 0, 0 },
    { WORKLOAD_FLOAT, true, 900, 100 }, { WORKLOAD_INT, false, 5000, 50 },
    { WORKLOAD_MIXED, false, 0, 0 },
};

/* The same points in any order and in any number of parts. */
START_TEST(the_same_points)
{
    struct workload w = small();
    struct workload_totals all, again, t;
    struct seen a, b;
    uint64_t bag = 0, points = 0;

    w.values = kinds[_i].values;
    w.json = kinds[_i].json;
    w.jitter_ms = kinds[_i].jitter_ms;
    w.gap_permille = kinds[_i].gap_permille;
    a = run(&w, &all);
    b = run(&w, &again);
    ck_assert_uint_eq(a.order, b.order);
    ck_assert_mem_eq(&all, &again, sizeof all);
    if (w.gap_permille == 0)
        ck_assert_uint_eq(all.points, 7 * 10 * 360);
    else
        ck_assert_uint_lt(all.points, 7 * 10 * 360);
    for (int order = WORKLOAD_BY_HOST; order <= WORKLOAD_SHUFFLED; order++) {
        w.order = (enum workload_order)order;
        b = run(&w, &t);
        ck_assert_uint_eq(a.bag, b.bag);
        ck_assert_uint_ne(a.order, b.order);
        ck_assert_mem_eq(&all, &t, sizeof t);
    }
    w.order = WORKLOAD_BY_TIME;
    for (w.parts = 3; w.part < w.parts; w.part++) {
        b = run(&w, &t);
        bag += b.bag;
        points += t.points;
    }
    ck_assert_uint_eq(bag, a.bag);
    ck_assert_uint_eq(points, all.points);
}
END_TEST

START_TEST(another_seed_other_points)
{
    struct workload w = small();
    struct workload_totals t;
    struct seen a = run(&w, &t), b;

    w.seed = 2;
    b = run(&w, &t);
    ck_assert_uint_ne(a.bag, b.bag);
}
END_TEST

static const struct {
    enum workload_values values;
    bool json;
    const char *begins;
} forms[] = {
    { WORKLOAD_INT, false, "put cpu.usage_user 1735689600 " },
    { WORKLOAD_INT, true,
      "{\"metric\":\"cpu.usage_user\",\"timestamp\":1735689600,\"value\":" },
};

START_TEST(is_written_so)
{
    struct workload w = small();
    struct workload_totals t;
    struct seen s;

    w.values = forms[_i].values;
    w.json = forms[_i].json;
    s = run(&w, &t);
    ck_assert_msg(
        strncmp(s.first, forms[_i].begins, strlen(forms[_i].begins)) == 0, "%s",
        s.first);
    ck_assert_ptr_nonnull(
        strstr(s.first, w.json ? "\"host\":\"host_0\"" : " host=host_0 "));
    ck_assert_int_eq(t.last_s, w.end - w.step);
}
END_TEST

struct line {
    char bytes[256];
};

/* The next line of a metric behind those that '*at' has passed. */
static void
next_line(const char **at, const char *metric, struct line *out)
{
    const char *p = strstr(*at, metric), *end;

    ck_assert_ptr_nonnull(p);
    end = strchr(p, '\n');
    ck_assert_ptr_nonnull(end);
    (void)snprintf(out->bytes, sizeof out->bytes, "%.*s", (int)(end - p), p);
    *at = end;
}

struct text {
    char bytes[1 << 16];
    size_t size;
};

static bool
keep(void *ctx, const void *data, size_t size)
{
    struct text *t = ctx;

    ck_assert_uint_lt(t->size + size, sizeof t->bytes);
    memcpy(t->bytes + t->size, data, size);
    t->size += size;
    t->bytes[t->size] = '\0';
    return true;
}

/* Whole numbers, two decimals and counters by turns; names with a prefix. */
START_TEST(mixes_kinds)
{
    static struct text text;
    struct workload w = small();
    struct workload_totals t;
    const char *at = text.bytes;
    struct line line;
    double user, system, idle;
    long long before, after;
    char dot;

    w.hosts = 1;
    w.end = w.start + 2 * w.step;
    w.values = WORKLOAD_MIXED;
    w.prefix = "mixed.";
    text.size = 0;
    ck_assert(workload_run(&w, keep, &text, &t));
    next_line(&at, "mixed.cpu.usage_user ", &line);
    ck_assert_int_eq(sscanf(line.bytes, "%*s %*u %lf%c", &user, &dot), 2);
    ck_assert_int_eq(dot, ' ');
    next_line(&at, "mixed.cpu.usage_system ", &line);
    ck_assert_int_eq(sscanf(line.bytes, "%*s %*u %*u%c%lf", &dot, &system), 2);
    ck_assert_int_eq(dot, '.');
    next_line(&at, "mixed.cpu.usage_idle ", &line);
    ck_assert_int_eq(sscanf(line.bytes, "%*s %*u %lld", &before), 1);
    next_line(&at, "mixed.cpu.usage_idle ", &line);
    ck_assert_int_eq(sscanf(line.bytes, "%*s %*u %lld", &after), 1);
    ck_assert_int_ge(after, before);
    ck_assert_int_le(after, before + 1000);
    idle = (double)t.sums[2] * workload_unit(&w, 2);
    ck_assert_double_eq(idle, (double)(before + after));
    ck_assert_double_eq(workload_unit(&w, 0), 1);
    ck_assert_double_eq(workload_unit(&w, 1), 0.01);
}
END_TEST

static bool
reject(void *ctx, const void *data, size_t size)
{
    return false;
}

START_TEST(says_what_is_wrong)
{
    struct workload w = small();
    struct workload_totals t;

    ck_assert(!workload_run(&w, reject, NULL, &t));
    w.metrics = 11;
    ck_assert_str_ne(workload_fault(&w), "");
    w = small();
    w.end = w.start;
    ck_assert_str_ne(workload_fault(&w), "");
    w = small();
    w.part = 1;
    ck_assert_str_ne(workload_fault(&w), "");
    w = small();
    w.jitter_ms = 10000;
    ck_assert_str_ne(workload_fault(&w), "");
}
END_TEST

TEST_MAIN("workload", LOOP(the_same_points, kinds),
          TEST(another_seed_other_points), LOOP(is_written_so, forms),
          TEST(mixes_kinds), TEST(says_what_is_wrong))
