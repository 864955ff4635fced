#include "uid/meta/annotation.h"

#include <pthread.h>

#include "tests/uid/one_fixture.h"

#define A slice_of("\0\0\1\0\0\1\0\0\1", 9)
#define B slice_of("\0\0\1\0\0\1\0\0\2", 9)
/* A with another pair behind it. */
#define A_LONG slice_of("\0\0\1\0\0\1\0\0\1\0\0\2\0\0\1", 15)
#define GLOBAL slice_of("", 0)

#define T INT64_C(1356998400)

static struct annotation
note(struct slice tsuid, int64_t start, const char *description)
{
    return (struct annotation){ .tsuid = tsuid,
                                .start = start,
                                .description = slice_str(description),
                                .notes = slice_str("") };
}

static void
put(struct annotation n, bool expected)
{
    struct arena *a = arena_new(0);
    bool changed;

    OK(annotation_put(
        f.records, &n,
        &(struct record_change){ ANNOTATION_END | ANNOTATION_DESCRIPTION |
                                     ANNOTATION_NOTES | ANNOTATION_CUSTOM,
                                 false, a },
        &changed, &e));
    ck_assert_int_eq(changed, expected);
    arena_free(&a);
}

struct text {
    char text[1024];
    size_t at, left;
};

/* "start-end:description/notes{k=v};" and the size of the TSUID if any. */
static bool
print(void *ctx, const struct annotation *n)
{
    struct text *t = ctx;

#define ADD(...) \
    (t->at +=    \
     (size_t)snprintf(t->text + t->at, sizeof t->text - t->at, __VA_ARGS__))
    ADD("%lld-%lld:%.*s/%.*s", (long long)n->start, (long long)n->end,
        SLICE_ARG(n->description), SLICE_ARG(n->notes));
    if (n->custom.has) {
        ADD("{");
        for (size_t i = 0; i < n->custom.len; i++)
            ADD("%.*s=%.*s,", SLICE_ARG(n->custom.pairs[i].key),
                SLICE_ARG(n->custom.pairs[i].value));
        ADD("}");
    }
    ADD(";");
#undef ADD
    return --t->left > 0;
}

static const char *
get(struct slice tsuid, int64_t start)
{
    static struct text t;
    struct arena *a = arena_new(0);
    struct annotation n;
    enum status st = annotation_get(f.records, tsuid, start, a, &n, NULL);

    t = (struct text){ .left = 1 };
    ck_assert(st == ST_OK || st == ST_NOT_FOUND);
    if (st == ST_OK) {
        ck_assert(slice_eq(n.tsuid, tsuid));
        (void)print(&t, &n);
    }
    arena_free(&a);
    return t.text;
}

static const char *
listed(const struct slice *tsuids, size_t tsuids_len, int64_t from_ms,
       int64_t to_ms)
{
    static struct text t;
    struct arena *a = arena_new(0);
    struct annotation *notes;
    size_t len;

    t = (struct text){ .left = 99 };
    OK(annotation_list(
        f.records,
        &(struct annotation_query){ tsuids, tsuids_len, from_ms, to_ms, a },
        &notes, &len, &e));
    for (size_t i = 0; i < len; i++)
        (void)print(&t, &notes[i]);
    arena_free(&a);
    return t.text;
}

/* -- one ----------------------------------------------------------------- */

/* Each step is one request on the same moment, and what is stored then. */
static const struct {
    unsigned fields;
    bool overwrite;
    int64_t end;
    const char *description, *notes, *custom; /* custom: "kv" pairs, or NULL */
    bool changed;
    const char *stored;
} steps[] = {
    { 0, false, 0, "ignored", "", NULL, false, "" },
    { ANNOTATION_DESCRIPTION, false, 0, "", "", NULL, false, "" },
    { ANNOTATION_CUSTOM, false, 0, "", "", NULL, false, "" },
    { 15, false, 9, "d", "n", "zyab", true, "5-9:d/n{a=b,z=y,};" },
    { ANNOTATION_DESCRIPTION, false, 7, "changed", "no", "ab", true,
      "5-9:changed/n{a=b,z=y,};" },
    /* The same again is written again, and no 304. */
    { ANNOTATION_DESCRIPTION, false, 0, "changed", "", NULL, true,
      "5-9:changed/n{a=b,z=y,};" },
    /* An empty value is no value. */
    { ANNOTATION_DESCRIPTION | ANNOTATION_NOTES, false, 0, "", "m", NULL, true,
      "5-9:changed/m{a=b,z=y,};" },
    { ANNOTATION_END, false, -3, "", "", NULL, true,
      "5--3:changed/m{a=b,z=y,};" },
    { ANNOTATION_CUSTOM, false, 0, "", "", "", true, "5--3:changed/m{};" },
    { ANNOTATION_CUSTOM, false, 0, "", "", "a1a2b3a4", true,
      "5--3:changed/m{a=4,b=3,};" },
    { ANNOTATION_NOTES, true, 0, "gone", "only", NULL, true, "5-0:/only;" },
    { 0, true, 0, "", "", NULL, false, "5-0:/only;" },
};

START_TEST(merges_and_overwrites)
{
    struct arena *a = arena_new(0);

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct tag pairs[8];
        struct annotation n = note(A, 5, steps[i].description);
        const char *c = steps[i].custom;
        bool changed;

        n.end = steps[i].end;
        n.notes = slice_str(steps[i].notes);
        n.custom.has = c != NULL;
        n.custom.pairs = pairs;
        for (; c != NULL && *c != '\0'; c += 2)
            pairs[n.custom.len++] =
                (struct tag){ slice_of(c, 1), slice_of(c + 1, 1) };
        OK(annotation_put(
            f.records, &n,
            &(struct record_change){ steps[i].fields, steps[i].overwrite, a },
            &changed, &e));
        ck_assert_int_eq(changed, steps[i].changed);
        ck_assert_str_eq(get(A, 5), steps[i].stored);
        if (changed) {
            struct text t = { .left = 1 };

            (void)print(&t, &n);
            ck_assert_str_eq(t.text, steps[i].stored);
        }
    }
    arena_free(&a);
}
END_TEST

START_TEST(texts_of_failures)
{
    struct annotation n = note(A, 0, "d");
    struct arena *a = arena_new(0);
    bool changed;

    FAILS(annotation_get(f.records, A, 5, a, &n, &e), ST_NOT_FOUND,
          "Unable to locate annotation in storage");
    n = note(A, 0, "d");
    FAILS(annotation_put(f.records, &n, &(struct record_change){ 0, false, a },
                         &changed, &e),
          ST_INVALID, "The start timestamp has not been set");
    n.start = -5;
    FAILS(annotation_put(f.records, &n, &(struct record_change){ 15, true, a },
                         &changed, &e),
          ST_INVALID, "The start timestamp has not been set");
    FAILS(annotation_delete(f.records, A, 0, &e), ST_INVALID,
          "The start timestamp has not been set");
    FAILS(annotation_get(f.records, A, 0, a, &n, &e), ST_INVALID,
          "The start timestamp has not been set");
    OK(annotation_delete(f.records, A, 1, &e));
    arena_free(&a);
}
END_TEST

/* Seconds and milliseconds of the same moment are one note. */
START_TEST(timestamps)
{
    put(note(A, T * 1000, "ms"), true);
    ck_assert_str_eq(get(A, T), "1356998400000-0:ms/;");
    put(note(A, T, "s"), true);
    ck_assert_str_eq(get(A, T * 1000), "1356998400-0:s/;");
    put(note(A, T * 1000, "again"), true);
    ck_assert_str_eq(get(A, T), "1356998400-0:again/;");
    put(note(A, T * 1000 + 5, "other"), true);
    ck_assert_str_eq(get(A, T * 1000 + 5), "1356998400005-0:other/;");
    ck_assert_str_eq(get(A, T), "1356998400-0:again/;");
    ck_assert_int_eq(annotation_ms(UINT32_MAX), INT64_C(4294967295000));
    ck_assert_int_eq(annotation_ms(INT64_C(4294967296)), INT64_C(4294967296));
}
END_TEST

START_TEST(bounds_size)
{
    struct arena *a = arena_new(0), *small = arena_new(1000);
    char *big = calloc(1, RECORD_BYTES + 1);
    struct annotation n;
    bool changed;

    memset(big, 'x', RECORD_BYTES);
    n = note(A, T, big);
    FAILS(annotation_put(f.records, &n, &(struct record_change){ 15, false, a },
                         &changed, &e),
          ST_LIMIT, "annotation of more than 1048576 bytes");
    ck_assert(!changed);
    big[RECORD_BYTES - 50] = '\0';
    put(note(A, T, big), true);
    ck_assert_int_eq(annotation_get(f.records, A, T, small, &n, NULL),
                     ST_LIMIT);
    OK(annotation_get(f.records, A, T, a, &n, &e));
    ck_assert_uint_eq(n.description.size, RECORD_BYTES - 50);
    arena_free(&a);
    arena_free(&small);
    free(big);
}
END_TEST

/* -- ranges -------------------------------------------------------------- */

static void
put_some(void)
{
    put(note(A, T, "a0"), true);
    put(note(A, T * 1000 + 1500, "a1"), true);
    put(note(A, T + 2, "a2"), true);
    put(note(B, T + 1, "b1"), true);
    put(note(A_LONG, T + 1, "long"), true);
    put(note(GLOBAL, T + 1, "g1"), true);
    put(note(GLOBAL, T + 3, "g3"), true);
}

static struct slice
tsuid_at(int i)
{
    return i == 0 ? GLOBAL : i == 1 ? A : i == 2 ? B : A_LONG;
}

/* Which series of a metric have notes. */
static const struct {
    uint8_t metric;
    int64_t from_ms, to_ms;
    const char *tsuids;
} noted[] = {
    { 1, INT64_MIN, INT64_MAX, "A B A_LONG " },
    { 1, T * 1000, T * 1000, "A " },
    { 1, T * 1000 + 1, T * 1000 + 999, "" },
    { 1, T * 1000 + 1, T * 1000 + 1500, "A B A_LONG " },
    { 1, T * 1000 + 2000, INT64_MAX, "A " },
    { 1, T * 1000 + 2001, INT64_MAX, "" },
    { 2, INT64_MIN, INT64_MAX, "" },
};

START_TEST(series_with_notes)
{
    struct arena *a = arena_new(0);
    const uint8_t metric[3] = { 0, 0, noted[_i].metric };
    char text[64] = "";
    struct slice *found;
    size_t len;

    put_some();
    OK(annotation_series(f.records, slice_of(metric, 3),
                         &(struct annotation_query){ NULL, 0, noted[_i].from_ms,
                                                     noted[_i].to_ms, a },
                         &found, &len, &e));
    for (size_t i = 0; i < len; i++)
        strcat(text, slice_eq(found[i], A)   ? "A "
                     : slice_eq(found[i], B) ? "B "
                                             : "A_LONG ");
    ck_assert_str_eq(text, noted[_i].tsuids);
    arena_free(&a);
}
END_TEST

START_TEST(deletes_a_range)
{
    uint64_t deleted;

    put_some();
    OK(annotation_delete_range(
        f.records,
        &(struct annotation_query){ (struct slice[]){ A }, 1, T * 1000,
                                    T * 1000 + 1500, NULL },
        &deleted, &e));
    ck_assert_uint_eq(deleted, 2);
    ck_assert_str_eq(listed((struct slice[]){ A }, 1, 0, INT64_MAX),
                     "1356998402-0:a2/;");
    ck_assert_str_eq(get(A_LONG, T + 1), "1356998401-0:long/;");
    OK(annotation_delete_range(
        f.records,
        &(struct annotation_query){ (struct slice[]){ GLOBAL }, 1, 0, INT64_MAX,
                                    NULL },
        &deleted, &e));
    ck_assert_uint_eq(deleted, 2);
    OK(annotation_delete_range(
        f.records,
        &(struct annotation_query){ (struct slice[]){ GLOBAL }, 1, 0, INT64_MAX,
                                    NULL },
        &deleted, &e));
    ck_assert_uint_eq(deleted, 0);
    ck_assert_str_eq(get(B, T + 1), "1356998401-0:b1/;");
    OK(annotation_delete(f.records, B, T + 1, &e));
    ck_assert_str_eq(get(B, T + 1), "");
}
END_TEST

START_TEST(deletes_ranges)
{
    uint64_t deleted;

    put_some();
    OK(annotation_delete_range(f.records,
                               &(struct annotation_query){
                                   (struct slice[]){ A, A_LONG, B }, 3,
                                   (T + 1) * 1000, (T + 1) * 1000 + 999, NULL },
                               &deleted, &e));
    ck_assert_uint_eq(deleted, 3);
    ck_assert_str_eq(
        listed((struct slice[]){ A, A_LONG, B, GLOBAL }, 4, 0, INT64_MAX),
        "1356998400-0:a0/;1356998401-0:g1/;1356998402-0:a2/;"
        "1356998403-0:g3/;");
    for (int64_t n = 0; n < 700; n++) {
        put(note(A, T + n, "x"), true);
        put(note(B, T + n, "x"), true);
    }
    OK(annotation_delete_range(
        f.records,
        &(struct annotation_query){ (struct slice[]){ A, B }, 2, 0,
                                    (T + 600) * 1000, NULL },
        &deleted, &e));
    ck_assert_uint_eq(deleted, 1202);
    OK(annotation_delete_range(
        f.records,
        &(struct annotation_query){ (struct slice[]){ A, B }, 2, 0, INT64_MAX,
                                    NULL },
        &deleted, &e));
    ck_assert_uint_eq(deleted, 198);
}
END_TEST

/* More than one batch deletes. */
START_TEST(deletes_many)
{
    static const struct {
        int64_t len;
    } cases[] = { { 999 }, { 1000 }, { 1001 }, { 2500 } };
    uint64_t deleted;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int64_t n = 0; n <= cases[i].len; n++)
            put(note(B, T + n, "x"), true);
        OK(annotation_delete_range(
            f.records,
            &(struct annotation_query){ (struct slice[]){ B }, 1, 0,
                                        (T + cases[i].len - 1) * 1000, NULL },
            &deleted, &e));
        ck_assert_uint_eq(deleted, (uint64_t)cases[i].len);
        OK(annotation_delete_range(
            f.records,
            &(struct annotation_query){ (struct slice[]){ B }, 1, 0, INT64_MAX,
                                        NULL },
            &deleted, &e));
        ck_assert_uint_eq(deleted, 1);
    }
}
END_TEST

/* -- lists --------------------------------------------------------------- */

static const char *
list(const char *which, int64_t from_ms, int64_t to_ms)
{
    struct slice tsuids[16];

    for (size_t i = 0; which[i] != '\0'; i++)
        tsuids[i] = tsuid_at(which[i] - '0');
    return listed(tsuids, strlen(which), from_ms, to_ms);
}

static const struct {
    const char *tsuids;
    int64_t from_ms, to_ms;
    const char *notes;
} lists[] = {
    { "", 0, INT64_MAX, "" },
    /* By the start as it was written: seconds first. */
    { "1", 0, INT64_MAX,
      "1356998400-0:a0/;1356998402-0:a2/;1356998401500-0:a1/;" },
    { "21", 0, INT64_MAX,
      "1356998400-0:a0/;1356998401-0:b1/;1356998402-0:a2/;"
      "1356998401500-0:a1/;" },
    { "1212", T * 1000 + 1, T * 1000 + 1999,
      "1356998401-0:b1/;1356998401500-0:a1/;" },
    { "3021", T * 1000 + 1000, T * 1000 + 1000,
      "1356998401-0:g1/;1356998401-0:b1/;1356998401-0:long/;" },
    { "3", 0, T * 1000, "" },
    { "32", 5, 4, "" },
    { "1", -5, -4, "" },
    { "1", INT64_MIN, T * 1000, "1356998400-0:a0/;" },
    { "1", T * 1000 + 1, T * 1000 + 1499, "" },
    { "1", T * 1000 + 1500, T * 1000 + 1500, "1356998401500-0:a1/;" },
    { "0", T * 1000 + 3000, INT64_MAX, "1356998403-0:g3/;" },
};

START_TEST(lists_many)
{
    ck_assert_str_eq(list(lists[_i].tsuids, 0, INT64_MAX), "");
    put_some();
    ck_assert_str_eq(list(lists[_i].tsuids, lists[_i].from_ms, lists[_i].to_ms),
                     lists[_i].notes);
}
END_TEST

/* Random notes of random TSUIDs, compared with a table of those that were
 * written. */
START_TEST(lists_what_was_written)
{
    bool has[100][100] = { { false } }; /* by the TSUID's last byte, start */
    uint64_t state = harness_seed(3);

    for (int round = 0; round < 30; round++) {
        struct arena *a = arena_new(0);
        uint8_t bytes[64][2] = { { 0 } };
        struct slice tsuids[64];
        struct annotation *notes;
        size_t len = harness_random(&state) % 50, got, single = 0, wanted = 0;
        int64_t from_s = (int64_t)(harness_random(&state) % 60);
        int64_t to_s = from_s + (int64_t)(harness_random(&state) % 40);

        for (int i = 0; i < 20; i++) {
            uint64_t r = harness_random(&state);
            uint8_t tsuid[2] = { 0, (uint8_t)(r % 100) };

            put(note(slice_of(tsuid, 2), (int64_t)(1 + (r >> 8) % 90), "x"),
                true);
            has[r % 100][1 + (r >> 8) % 90] = true;
        }
        for (size_t i = 0; i < len; i++) {
            bytes[i][1] = (uint8_t)(i * 2 + (size_t)round % 2);
            tsuids[i] = slice_of(bytes[i], 2);
            for (int64_t at = from_s; at <= to_s; at++)
                wanted += has[bytes[i][1]][at];
        }
        OK(annotation_list(f.records,
                           &(struct annotation_query){
                               tsuids, len, from_s * 1000, to_s * 1000, a },
                           &notes, &got, &e));
        ck_assert_uint_eq(got, wanted);
        /* One by one. */
        for (size_t i = 0; i < len; i++) {
            struct annotation *few;
            size_t n;

            OK(annotation_list(
                f.records,
                &(struct annotation_query){
                    &tsuids[i % 2 == 0 ? i / 2 : len - 1 - i / 2], 1,
                    from_s * 1000, to_s * 1000, a },
                &few, &n, &e));
            single += n;
        }
        ck_assert_uint_eq(single, wanted);
        for (size_t i = 1; i < got; i++)
            ck_assert_int_le(notes[i - 1].start, notes[i].start);
        arena_free(&a);
    }
}
END_TEST

/* -- the store ----------------------------------------------------------- */

START_TEST(survives_reopening)
{
    setup_on_disk();
    ck_assert(!annotation_any(f.records));
    put_some();
    ck_assert(annotation_any(f.records));
    fixture_close(&f);
    fixture_open(&f);
    ck_assert(annotation_any(f.records));
    ck_assert_str_eq(list("0", 0, INT64_MAX),
                     "1356998401-0:g1/;1356998403-0:g3/;");
}
END_TEST

/* What is null stays null, and is a value unlike the empty one. */
START_TEST(keeps_nulls)
{
    static const uint8_t value[] = "\x01\x05\x00\x00\x01\x03\x02k\x00"
                                   "\x02l\x01";
    struct tag pairs[] = { { slice_str("k"), { NULL, 0 } },
                           { slice_str("l"), slice_str("") } };
    struct arena *a = arena_new(0);
    struct annotation n = note(A, 5, "d"), out;
    struct buf v = BUF_INIT;

    n.custom.pairs = pairs;
    n.custom.len = 2;
    n.custom.has = true;
    put(n, true);
    n = note(A, 5, "");
    n.description = (struct slice){ NULL, 0 };
    OK(annotation_put(
        f.records, &n,
        &(struct record_change){ ANNOTATION_DESCRIPTION, false, a },
        &(bool){ false }, &e));
    OK(annotation_get(f.records, A, 5, a, &out, &e));
    ck_assert(annotation_is_null(out.description));
    ck_assert(!annotation_is_null(out.notes));
    ck_assert(annotation_is_null(out.custom.pairs[0].value));
    ck_assert(!annotation_is_null(out.custom.pairs[1].value));
    record_encode(&annotation_format, &out, &v);
    ck_assert(slice_eq(buf_slice(&v), slice_of(value, sizeof value - 1)));
    buf_fini(&v);
    arena_free(&a);
}
END_TEST

/* docs/FORMAT.md, "Annotations". */
START_TEST(documented_bytes)
{
    static const uint8_t key[] = "a\0\x09\0\0\1\0\0\1\0\0\1"
                                 "\x00\x00\x01\x3b\xf3\x68\x59\x0a";
    static const uint8_t value[] = "\x01\x8a\xb2\xa1\x9b\xbf\x27\x00\x03hi\x01"
                                   "\x02\x02k\x02v";
    struct tag pair = { slice_str("k"), slice_str("v") };
    struct annotation n = note(A, INT64_C(1356998400266), "hi");
    struct buf v = BUF_INIT;

    n.custom.has = true;
    n.custom.pairs = &pair;
    n.custom.len = 1;
    put(n, true);
    OK(kv_get(store_kv(f.store), slice_of(key, sizeof key - 1), &v, &e));
    ck_assert_uint_eq(v.size, sizeof value - 1);
    ck_assert_mem_eq(v.data, value, v.size);
    buf_fini(&v);
}
END_TEST

/* Any cut, any changed byte: an error or another note, never a crash. */
START_TEST(damaged_bytes)
{
    struct tag pairs[2] = { { slice_str("k"), slice_str("v") },
                            { slice_str("l"), slice_str("") } };
    struct annotation n = note(A, T, "text"), out;
    struct buf b = BUF_INIT;
    struct arena *a = arena_new(100000);

    n.custom.has = true;
    n.custom.pairs = pairs;
    n.custom.len = 2;
    record_encode(&annotation_format, &n, &b);
    OK(annotation_decode(buf_slice(&b), a, &out, &e));
    for (size_t size = 0; size < b.size; size++)
        ck_assert_int_eq(
            annotation_decode(slice_of(b.data, size), a, &out, NULL),
            ST_CORRUPT);
    for (size_t i = 0; i < b.size * 256; i++) {
        uint8_t old = b.data[i / 256];
        enum status st;

        b.data[i / 256] = (uint8_t)i;
        arena_reset(a);
        st = annotation_decode(buf_slice(&b), a, &out, NULL);
        ck_assert(st == ST_OK || st == ST_CORRUPT);
        b.data[i / 256] = old;
    }
    buf_fini(&b);
    arena_free(&a);
}
END_TEST

#define TIMESTAMPS 2000

struct writer {
    pthread_barrier_t *start;
    unsigned field;
};

static void *
write_field(void *arg)
{
    struct writer *w = arg;
    struct arena *a = arena_new(0);
    bool changed;

    (void)pthread_barrier_wait(w->start);
    for (int i = 0; i < TIMESTAMPS; i++) {
        struct annotation n = note(A, T + i, "d");

        n.notes = slice_str("n");
        OK(annotation_put(f.records, &n,
                          &(struct record_change){ w->field, false, a },
                          &changed, &e));
        arena_reset(a);
    }
    arena_free(&a);
    return NULL;
}

/* A description and notes written at the same time are both kept. */
START_TEST(racing_merges_lose_nothing)
{
    struct arena *a = arena_new(0);
    pthread_barrier_t start;
    struct writer one = { &start, ANNOTATION_DESCRIPTION };
    struct writer two = { &start, ANNOTATION_NOTES };
    pthread_t thread;

    ck_assert_int_eq(pthread_barrier_init(&start, NULL, 2), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, write_field, &one), 0);
    (void)write_field(&two);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    for (int i = 0; i < TIMESTAMPS; i++) {
        struct annotation n;

        OK(annotation_get(f.records, A, T + i, a, &n, &e));
        ck_assert(slice_eq_str(n.description, "d"));
        ck_assert(slice_eq_str(n.notes, "n"));
    }
    (void)pthread_barrier_destroy(&start);
    arena_free(&a);
}
END_TEST

TEST_MAIN_WITH(setup, teardown, "annotation", TEST(merges_and_overwrites),
               TEST(texts_of_failures), TEST(timestamps), TEST(bounds_size),
               LOOP(series_with_notes, noted), TEST(deletes_a_range),
               TEST(deletes_ranges), TEST(deletes_many),
               LOOP(lists_many, lists), TEST(lists_what_was_written),
               TEST(survives_reopening), TEST(keeps_nulls),
               TEST(documented_bytes), TEST(damaged_bytes),
               TEST(racing_merges_lose_nothing))
