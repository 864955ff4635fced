#include "base/process/library.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/process/workers.h"
#include "tests/harness.h"

#define MISSING "libhalite-missing.so.1"
#define TASKS   100

#define CALLS(CALL)      \
    CALL(pthread, equal) \
    CALL(pthread, self)

struct functions {
    CALLS(LIBRARY_MEMBER)
};

static const char *const symbols[] = { CALLS(LIBRARY_SYMBOL) };
static const char *const symbols_more[] = { "pthread_equal", "pthread_self_9" };

static struct library
make(const char *first, const char *second, struct functions *f)
{
    return (struct library){
        .purpose = "a test",
        .package = "libc6",
        .file_names = { first, second },
        .symbols = symbols,
        .functions = f,
        .len = 2,
    };
}

static const struct {
    const char *first, *second;
} found[] = {
    { "libc.so.6", NULL },
    { "libc.so.6", MISSING },
    { MISSING, "libc.so.6" },
};

START_TEST(loads)
{
    struct functions f = { 0 };
    struct library l = make(found[_i].first, found[_i].second, &f);
    struct error e = { 0 };

    for (int i = 0; i < 2; i++) {
        ck_assert_msg(library_load(&l, &e) == ST_OK, "%s", e.text);
        ck_assert_int_ne(f.equal(f.self(), pthread_self()), 0);
    }
}
END_TEST

/* The error is the first file's, and the next call tries again. */
START_TEST(misses_the_library)
{
    struct functions f = { 0 };
    struct library l = make(MISSING, "libhalite-missing.so.2", &f);
    struct error e = { 0 };

    ck_assert_int_eq(library_load(&l, &e), ST_IO);
    ck_assert_int_eq(e.status, ST_IO);
    ck_assert_str_eq(e.text, "a test needs Debian's package libc6: " MISSING
                             ": cannot open shared object file: No such file "
                             "or directory");
    ck_assert_int_eq(library_load(&l, NULL), ST_IO);
    l.file_names[1] = "libc.so.6";
    ck_assert_int_eq(library_load(&l, NULL), ST_OK);
    ck_assert_ptr_nonnull(f.self);
}
END_TEST

START_TEST(misses_a_symbol)
{
    struct functions f = { 0 };
    struct library l = make("libc.so.6", NULL, &f);
    struct error e = { 0 };

    l.symbols = symbols_more;
    ck_assert_int_eq(library_load(&l, &e), ST_IO);
    ck_assert_ptr_nonnull(strstr(e.text, "libc.so.6: undefined symbol: "
                                         "pthread_self_9"));
    l.symbols = symbols;
    ck_assert_int_eq(library_load(&l, &e), ST_OK);
}
END_TEST

struct shared {
    struct library l;
    struct functions f;
    _Atomic unsigned equal;
};

static void
load_and_call(void *ctx, size_t i)
{
    struct shared *s = ctx;
    enum status st = library_load(&s->l, NULL);

    if (st == ST_OK && s->f.equal(s->f.self(), pthread_self()))
        atomic_fetch_add(&s->equal, 1);
}

START_TEST(is_for_any_thread)
{
    struct workers *p = workers_new(4);
    struct shared s = { 0 };

    s.l = make(MISSING, "libc.so.6", &s.f);
    workers_run(p, TASKS, load_and_call, &s);
    ck_assert_uint_eq(atomic_load(&s.equal), TASKS);
    workers_free(&p);
}
END_TEST

/* Of this process, in KB. */
static long
rss_of_files(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[256];
    long kb = -1;

    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f) != NULL)
        (void)sscanf(line, "RssFile: %ld", &kb);
    (void)fclose(f);
    return kb;
}

START_TEST(pages_come_back)
{
    struct functions f = { 0 };
    struct library l = make("libc.so.6", NULL, &f);
    long before = rss_of_files();

    library_release_pages();
    ck_assert_int_lt(rss_of_files(), before);
    ck_assert_int_eq(library_load(&l, NULL), ST_OK);
    ck_assert_int_ne(f.equal(f.self(), pthread_self()), 0);
}
END_TEST

TEST_MAIN("library", LOOP(loads, found), TEST(misses_the_library),
          TEST(misses_a_symbol), TEST(is_for_any_thread), TEST(pages_come_back))
