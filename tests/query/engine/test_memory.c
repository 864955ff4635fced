/* The memory of queries, as the allocator counts it, beside their limits; and
 * queries whose allocations fail.
 *
 * The program is linked with wrappers of malloc() and its kin. */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "query/parse/parse.h"
#include "tests/query/engine/world.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t len, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t len, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);

/* -- the allocator --------------------------------------------------------- */

/* What is smaller is no client's to make large. */
#define LARGE ((size_t)32 << 10)

static _Atomic size_t in_use, peak;
static _Atomic size_t large; /* large allocations so far */
/* From this one on they fail; 0: none does. */
static _Atomic size_t fails_from;

static bool
fails(size_t size)
{
    return size >= LARGE &&
           atomic_fetch_add(&large, 1) + 1 >= atomic_load(&fails_from) &&
           atomic_load(&fails_from) != 0;
}

static void *
count_in(void *p)
{
    size_t size = p == NULL ? 0 : malloc_usable_size(p);
    size_t now = atomic_fetch_add(&in_use, size) + size;
    size_t most = atomic_load(&peak);

    while (now > most && !atomic_compare_exchange_weak(&peak, &most, now))
        continue;
    return p;
}

static void
count_out(void *p)
{
    if (p != NULL)
        atomic_fetch_sub(&in_use, malloc_usable_size(p));
}

void *
__wrap_malloc(size_t size)
{
    return fails(size) ? NULL : count_in(__real_malloc(size));
}

void *
__wrap_calloc(size_t len, size_t size)
{
    return fails(len * size) ? NULL : count_in(__real_calloc(len, size));
}

void *
__wrap_realloc(void *p, size_t size)
{
    size_t before = p == NULL ? 0 : malloc_usable_size(p);
    void *q;

    if (fails(size))
        return NULL;
    q = __real_realloc(p, size);
    if (q != NULL || size == 0)
        atomic_fetch_sub(&in_use, before);
    return q == NULL ? NULL : count_in(q);
}

void
__wrap_free(void *p)
{
    count_out(p);
    __real_free(p);
}

/* -- points ---------------------------------------------------------------- */

#define MB       ((size_t)1 << 20)
#define SERIES   24
#define HOURS    30
#define POINTS   (HOURS * 720) /* of a series: one each 5 s */
#define GROUPS   6
#define QUERY_MB 16

static struct world w;
static atomic_bool wrong; /* some query failed in another way */

/* Uneven doubles, even integers, even doubles, and every other one of those. */
static struct point
point_of(unsigned series, int i)
{
    int64_t ts_ms = T0 + i * INT64_C(5000);
    struct point p = { ts_ms, { .i = i % 1000 * (int)(series + 1) }, false };

    if (series % 4 == 0)
        p.ts_ms += i * 37 % 1000;
    if (series % 4 != 1) {
        p.v.d = (double)(i * 7919 % 10007) / 3;
        p.is_float = true;
    }
    return p;
}

static void
put_all(void)
{
    struct series_rules rules = { true, true, true, 8, false };
    struct series_point *p = calloc(POINTS, sizeof *p);

    for (unsigned s = 0; s < SERIES; s++) {
        char text[2][16];
        struct tag tags[] = { { slice_str("a"), { 0 } },
                              { slice_str("g"), { 0 } } };
        struct tsuid tsuid;

        (void)snprintf(text[0], sizeof text[0], "v%u", s);
        (void)snprintf(text[1], sizeof text[1], "g%u", s % GROUPS);
        tags[0].value = slice_str(text[0]);
        tags[1].value = slice_str(text[1]);
        ck_assert_int_eq(
            series_resolve(w.series, &rules,
                           &(struct series_text){ 0, slice_str("m"), tags, 2 },
                           &p[0].series, &tsuid, &e),
            ST_OK);
        for (int i = 0; i < POINTS; i++)
            p[i] = (struct series_point){ .series = p[0].series,
                                          .point = point_of(s, i) };
        ck_assert_int_eq(store_put(w.store, p, POINTS, NULL, &e), ST_OK);
    }
    free(p);
    ck_assert_int_eq(store_flush(w.store, &e), ST_OK);
}

static void
setup(void)
{
    w = open_engine(4,
                    (struct engine_options){ .threads = 2,
                                             .query_bytes = QUERY_MB * MB,
                                             .all_bytes = 2 * QUERY_MB * MB });
    put_all();
}

static void
teardown(void)
{
    atomic_store(&fails_from, 0);
    close_world(&w);
}

/* -- queries --------------------------------------------------------------- */

static const char *const functions[] = {
    "sum",  "avg",    "min",  "count", "first", "last",   "dev",
    "last", "median", "diff", "p50",   "p999",  "ep99r7",
};
static const char *const intervals[] = {
    "1m", "10m", "1h", "7h", "1d", "0all", "1dc",
};
static const char *const fills[] = { "", "-nan", "-zero", "-null" };
static const char *const starts[] = {
    "none:%s%s%sm{a=*}",      "sum:%s%s%sm",
    "avg:%s%s%sm{g=*}",       "p99:%s%s%sm",
    "dev:%s%s%sm{g=*}",       "count:%s%s%sm{a=v1*}",
    "none:rate:%s%s%sm{a=*}", "max:rate{counter}:%s%s%sm",
};
#define PICK(list, n) ((list)[(n) % (sizeof(list) / sizeof *(list))])

static enum status
ask(const char *m, int64_t end_ms)
{
    const struct parse_options po = { .now_ms = T0 + 400 * HOUR_MS };
    char start[24], end[24];
    struct query_param params[] = { { slice_str("start"), { 0 } },
                                    { slice_str("end"), { 0 } },
                                    { slice_str("m"), slice_str(m) } };
    struct arena *a = arena_new(0);
    struct query q;
    struct query_result r;
    struct parse_error pe;
    enum status status;

    (void)snprintf(start, sizeof start, "%lld", (long long)T0);
    (void)snprintf(end, sizeof end, "%lld", (long long)end_ms);
    params[0].value = slice_str(start);
    params[1].value = slice_str(end);
    status = query_parse_uri(params, 3, &po, a, &q, &pe);
    ck_assert_msg(status == ST_OK, "%s: %s", m, pe.message.text);
    status = engine_run(w.engine, &q, CANCEL_NEVER, NULL, a, &r, &pe);
    if (status != ST_OK && status != ST_LIMIT && status != ST_BUSY) {
        (void)fprintf(stderr, "%s: %s\n", m, pe.message.text);
        atomic_store(&wrong, true);
    }
    query_fini(&q);
    arena_free(&a);
    return status;
}

/* The n-th of many, of all kinds; ranges from minutes to some days. */
static void
make_query(uint64_t n, char *m, size_t size, int64_t *end_ms)
{
    char down[64] = "", form[64];

    n = (n + 1) * UINT64_C(0x9e3779b97f4a7c15);
    if (n % 5 != 0)
        (void)snprintf(down, sizeof down, "%s-%s%s:", PICK(intervals, n >> 8),
                       PICK(functions, n >> 16), PICK(fills, n >> 24));
    if (strncmp(down, "1m", 2) != 0 && n % 7 == 0)
        (void)snprintf(down, sizeof down, "1s-%s%s:", PICK(functions, n >> 16),
                       PICK(fills, n >> 24));
    (void)snprintf(form, sizeof form, "%s", PICK(starts, n >> 32));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(m, size, form, down, "", "");
#pragma GCC diagnostic pop
    *end_ms = T0 + (int64_t)((n >> 40) % 60 + 1) * HOUR_MS;
}

/* A query that lacks what others have is told to try again; one that is too
 * large for its own budget is told to ask for less. */
static void
check_whose_memory_is_used_up(void)
{
    struct budget *all = engine_budget(w.engine);
    size_t most = budget_left(all);
    int64_t end_ms = T0 + 60 * HOUR_MS;

    ck_assert_int_eq(ask("none:m", T0 + HOUR_MS), ST_OK);
    ck_assert(budget_take(all, most - 1000));
    ck_assert_int_eq(ask("none:m", T0 + HOUR_MS), ST_BUSY);
    budget_return(all, most - 1000);
    ck_assert_int_eq(ask("none:1s-p99-zero:m", end_ms), ST_LIMIT);
    ck_assert_uint_eq(budget_used(all), 0);
    ck_assert(!atomic_load(&wrong));
}

#define QUERIES 150

START_TEST(queries_keep_to_their_memory)
{
    unsigned answered = 0, refused = 0;

    for (uint64_t n = 0; n < QUERIES; n++) {
        size_t before = atomic_load(&in_use), most;
        char m[128];
        int64_t end_ms;

        make_query(n, m, sizeof m, &end_ms);
        atomic_store(&peak, before);
        if (ask(m, end_ms) == ST_OK)
            answered++;
        else
            refused++;
        most = atomic_load(&peak) - before;
        ck_assert_msg(most <= QUERY_MB * MB + 3 * MB, "%s takes %zu KB", m,
                      most >> 10);
        ck_assert_msg(atomic_load(&in_use) <= before + MB,
                      "%s leaves %zu KB behind", m,
                      (atomic_load(&in_use) - before) >> 10);
        ck_assert_uint_eq(atomic_load(&engine_budget(w.engine)->used), 0);
    }
    ck_assert(!atomic_load(&wrong));
    ck_assert_uint_gt(answered, QUERIES / 3);
    ck_assert_uint_gt(refused, 10);
}
END_TEST

/* -- many at once ---------------------------------------------------------- */

#define CLIENTS 5

static void *
run_client(void *ctx)
{
    uint64_t first = *(const uint64_t *)ctx;

    for (uint64_t n = first; n < QUERIES; n += CLIENTS) {
        char m[128];
        int64_t end_ms;

        make_query(n, m, sizeof m, &end_ms);
        (void)ask(m, end_ms);
    }
    return NULL;
}

START_TEST(all_queries_keep_to_theirs)
{
    pthread_t threads[CLIENTS];
    uint64_t firsts[CLIENTS];
    size_t before;

    check_whose_memory_is_used_up();
    before = atomic_load(&in_use);
    atomic_store(&peak, before);
    for (uint64_t i = 0; i < CLIENTS; i++) {
        firsts[i] = i;
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, run_client, &firsts[i]), 0);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        (void)pthread_join(threads[i], NULL);
    ck_assert_msg(atomic_load(&peak) - before <= 2 * QUERY_MB * MB + 6 * MB,
                  "%zu KB", (atomic_load(&peak) - before) >> 10);
    ck_assert_uint_eq(atomic_load(&engine_budget(w.engine)->used), 0);
    ck_assert(!atomic_load(&wrong));
}
END_TEST

/* -- without memory -------------------------------------------------------- */

/* The first large allocations work, then none does until the query ends: it is
 * refused, or needs no more; nothing waits for memory, and nothing aborts. */
START_TEST(queries_fail_without_memory)
{
    for (uint64_t n = 0; n < QUERIES; n += 3)
        for (size_t works = 0; works < 24; works += 1 + works / 2) {
            char m[128];
            int64_t end_ms;

            make_query(n, m, sizeof m, &end_ms);
            atomic_store(&large, 0);
            atomic_store(&fails_from, works + 1);
            (void)ask(m, end_ms);
            atomic_store(&fails_from, 0);
        }
    ck_assert_uint_eq(atomic_load(&engine_budget(w.engine)->used), 0);
    ck_assert(!atomic_load(&wrong));
}
END_TEST

/* -- many series ----------------------------------------------------------- */

#define MANY     100000 /* series of one point */
#define MANY_SET 4096   /* that are put at once */

static void
put_many(struct world *many)
{
    struct series_rules rules = { true, true, true, 8, false };
    struct series_point *p = calloc(MANY_SET, sizeof *p);

    for (size_t i = 0, n = 0; i < MANY; i++) {
        char text[16];
        struct tag tag = { slice_str("host"), { 0 } };
        struct tsuid tsuid;

        (void)snprintf(text, sizeof text, "h%zu", i);
        tag.value = slice_str(text);
        ck_assert_int_eq(
            series_resolve(many->series, &rules,
                           &(struct series_text){ 0, slice_str("m"), &tag, 1 },
                           &p[n].series, &tsuid, &e),
            ST_OK);
        p[n++].point = (struct point){ T0 + (int64_t)(i % 7) * 1000,
                                       { .i = (int64_t)i },
                                       false };
        if (n < MANY_SET && i + 1 < MANY)
            continue;
        ck_assert_int_eq(store_put(many->store, p, n, NULL, &e), ST_OK);
        n = 0;
    }
    free(p);
}

/* AddressSanitizer makes arenas leave a gap after each allocation. */
#ifdef __SANITIZE_ADDRESS__
#define GAPS 256 /* of a series */
#else
#define GAPS 0
#endif

/* How many bytes of halite.query.bytes a series of one point may take, with
 * what the arenas of the threads and of the scans have left in their chunks. */
static const struct {
    const char *m;
    size_t bytes;
} costs[] = {
    { "sum:m", 640 },        { "count:m", 640 },      { "p99:m", 650 },
    { "sum:1h-sum:m", 460 }, { "max:1h-p99:m", 460 },
};

START_TEST(a_series_takes_few_bytes)
{
    struct world many = open_engine(4, (struct engine_options){ .threads = 2 });
    struct world old = w;

    put_many(&many);
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        struct engine_options eo = { .threads = 2,
                                     .query_bytes =
                                         MANY * (costs[i].bytes + GAPS) };
        enum status status;

        engine_free(&many.engine);
        many.engine = engine_new(many.store, many.uids, many.series, &eo);
        w = many;
        status = ask(costs[i].m, T0 + HOUR_MS);
        w = old;
        ck_assert_msg(status == ST_OK, "%s takes more than %zu bytes a series",
                      costs[i].m, costs[i].bytes);
    }
    close_world(&many);
}
END_TEST

TEST_MAIN_WITH(setup, teardown, "memory", TEST(queries_keep_to_their_memory),
               TEST(a_series_takes_few_bytes), TEST(all_queries_keep_to_theirs),
               TEST(queries_fail_without_memory))
