#include "uid/meta/meta.h"

#include <math.h>

#include "tests/uid/one_fixture.h"

#define ID1 slice_of("\0\0\1", 3)
/* cpu{host=a} */
#define TSUID slice_of("\0\0\1\0\0\1\0\0\1", 9)
#define OTHER slice_of("\0\0\1\0\0\1\0\0\2", 9)

#define ALL 1023u

static struct meta_of
of(enum meta_kind kind, struct slice id)
{
    return (struct meta_of){ kind, id };
}

/* "cpu" of host a and b, with one series. */
static void
enter(void)
{
    struct tag tag = { slice_str("host"), slice_str("a") };
    struct series_rules rules = { true, true, true, 8, false };
    struct tsuid tsuid;
    series_ref ref;
    uint64_t id;

    OK(series_resolve(f.series, &rules,
                      &(struct series_text){ 0, slice_str("cpu"), &tag, 1 },
                      &ref, &tsuid, &e));
    ck_assert(slice_eq(tsuid_slice(&tsuid), TSUID));
    OK(uid_assign(f.uids, UID_TAGV, slice_str("b"), &id, &e));
}

/* "display|description|notes|units|type|retention|max|min{k=v,}". */
static const char *
print(const struct meta *n)
{
    static char text[512];
    size_t at;

    at = (size_t)snprintf(
        text, sizeof text, "%.*s|%.*s|%.*s|%.*s|%.*s|%lld|%g|%g",
        SLICE_ARG(n->display_name), SLICE_ARG(n->description),
        SLICE_ARG(n->notes), SLICE_ARG(n->units), SLICE_ARG(n->data_type),
        (long long)n->retention, isnan(n->max) ? -999 : n->max,
        isnan(n->min) ? -999 : n->min);
    if (n->custom.has)
        at += (size_t)snprintf(text + at, sizeof text - at, "{");
    for (size_t i = 0; i < n->custom.len; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%.*s=%.*s,",
                               SLICE_ARG(n->custom.pairs[i].key),
                               SLICE_ARG(n->custom.pairs[i].value));
    if (n->custom.has)
        (void)snprintf(text + at, sizeof text - at, "}");
    return text;
}

static const char *
get(struct meta_of what, int64_t *created)
{
    struct arena *a = arena_new(0);
    struct meta n;
    const char *text;

    OK(meta_get(f.records, what, a, &n, &e));
    *created = n.created;
    text = print(&n);
    arena_free(&a);
    return text;
}

static void
put(struct meta_of what, struct meta n, unsigned fields, bool overwrite)
{
    struct arena *a = arena_new(0);

    OK(meta_put(f.records, what, &n,
                &(struct record_change){ fields, overwrite, a }, &e));
    arena_free(&a);
}

static struct meta
full(struct tag *pair)
{
    struct meta n = meta_empty();

    *pair = (struct tag){ slice_str("k"), slice_str("v") };
    n.display_name = slice_str("D");
    n.description = slice_str("d");
    n.notes = slice_str("n");
    n.units = slice_str("ms");
    n.data_type = slice_str("gauge");
    n.retention = -30;
    n.max = 100.5;
    n.min = -1;
    n.custom.pairs = pair;
    n.custom.len = 1;
    n.custom.has = true;
    return n;
}

START_TEST(defaults_come_from_the_tables)
{
    int64_t now_s = clock_now_ms(&clock_system) / 1000, created;
    const char *nothing = "|||||0|-999|-999";

    enter();
    ck_assert_str_eq(get(of(META_METRIC, ID1), &created), nothing);
    ck_assert(created >= now_s && created <= now_s + 600);
    ck_assert_str_eq(get(of(META_SERIES, TSUID), &created), nothing);
    ck_assert(created >= now_s && created <= now_s + 600);
}
END_TEST

START_TEST(what_does_not_exist)
{
    struct slice far = slice_of("\0\xff\xff", 3);
    struct arena *a = arena_new(0);
    struct meta n = meta_empty();

    enter();
    FAILS(meta_get(f.records, of(META_METRIC, far), a, &n, &e), ST_NOT_FOUND,
          "No such unique ID for 'metrics': [0, -1, -1]");
    FAILS(meta_put(f.records, of(META_TAGK, far), &n,
                   &(struct record_change){ ALL, false, a }, &e),
          ST_NOT_FOUND, "No such unique ID for 'tagk': [0, -1, -1]");
    ck_assert_int_eq(meta_put(f.records, of(META_SERIES, OTHER), &n,
                              &(struct record_change){ ALL, false, a }, NULL),
                     ST_NOT_FOUND);
    ck_assert_int_eq(meta_get(f.records, of(META_SERIES, ID1), a, &n, NULL),
                     ST_NOT_FOUND);
    OK(meta_delete(f.records, of(META_TAGV, far), &e));
    OK(meta_delete(f.records, of(META_SERIES, OTHER), &e));
    arena_free(&a);
}
END_TEST

static const struct {
    unsigned fields;
    bool overwrite;
    const char *expected;
} merges[] = {
    { 0, false, "D|d|n|ms|gauge|-30|100.5|-1{k=v,}" },
    { META_DISPLAY_NAME, false, "N|d|n|ms|gauge|-30|100.5|-1{k=v,}" },
    { META_DESCRIPTION, false, "D|N|n|ms|gauge|-30|100.5|-1{k=v,}" },
    { META_NOTES, false, "D|d|N|ms|gauge|-30|100.5|-1{k=v,}" },
    { META_UNITS, false, "D|d|n|N|gauge|-30|100.5|-1{k=v,}" },
    { META_DATA_TYPE, false, "D|d|n|ms|N|-30|100.5|-1{k=v,}" },
    { META_RETENTION, false, "D|d|n|ms|gauge|7|100.5|-1{k=v,}" },
    { META_MAX, false, "D|d|n|ms|gauge|-30|-999|-1{k=v,}" },
    { META_MIN, false, "D|d|n|ms|gauge|-30|100.5|2{k=v,}" },
    { META_CUSTOM, false, "D|d|n|ms|gauge|-30|100.5|-1{}" },
    { ALL, false, "N|N|N|N|N|7|-999|2{}" },
    { 0, true, "|||||0|-999|-999" },
    { META_NOTES, true, "||N|||0|-999|-999" },
};

START_TEST(merges_what_is_given)
{
    struct slice text = slice_str("N");
    struct tag pair;
    struct meta n = { false, text, text, text, { NULL, 0, true }, 0, text,
                      text,  7,    NAN,  2 };
    int64_t created;

    enter();
    put(of(META_SERIES, TSUID), full(&pair), ALL, false);
    put(of(META_SERIES, TSUID), n, merges[_i].fields, merges[_i].overwrite);
    ck_assert_str_eq(get(of(META_SERIES, TSUID), &created),
                     merges[_i].expected);
}
END_TEST

START_TEST(the_earliest_creation_stays)
{
    static const int64_t given[][2] = {
        { 50, 50 }, { 90, 50 }, { 0, 50 }, { 20, 20 }, { 50, 20 }
    };
    struct meta n = meta_empty();
    int64_t created;

    enter();
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        n.created = given[i][0];
        put(of(META_METRIC, ID1), n, META_CREATED, i % 2 == 1);
        (void)get(of(META_METRIC, ID1), &created);
        ck_assert_int_eq(created, given[i][1]);
    }
}
END_TEST

START_TEST(records)
{
    struct tag pair;
    bool has = true;

    enter();
    OK(meta_has_record(f.records, of(META_SERIES, TSUID), &has, &e));
    ck_assert(!has);
    put(of(META_SERIES, TSUID), full(&pair), ALL, false);
    OK(meta_has_record(f.records, of(META_SERIES, TSUID), &has, &e));
    ck_assert(has);
}
END_TEST

START_TEST(deletion)
{
    struct arena *a = arena_new(0);
    struct tag pair;
    struct meta n = full(&pair);
    int64_t created;

    setup_on_disk();
    enter();
    put(of(META_TAGV, ID1), n, ALL, false);
    OK(meta_delete(f.records, of(META_TAGV, ID1), &e));
    OK(meta_delete(f.records, of(META_SERIES, TSUID), &e));
    for (int again = 0; again < 2; again++) {
        ck_assert_str_eq(get(of(META_TAGV, ID1), &created), "|||||0|-999|-999");
        ck_assert_int_eq(created, 0);
        FAILS(meta_get(f.records, of(META_SERIES, TSUID), a, &n, &e),
              ST_NOT_FOUND, "the metadata was deleted");
        FAILS(meta_put(f.records, of(META_SERIES, TSUID), &n,
                       &(struct record_change){ ALL, false, a }, &e),
              ST_NOT_FOUND, "the metadata was deleted");
        fixture_close(&f);
        fixture_open(&f);
    }
    n = full(&pair);
    OK(meta_create(f.records, of(META_SERIES, TSUID), &n, &e));
    OK(meta_create(f.records, of(META_SERIES, OTHER), &n, &e));
    fixture_close(&f);
    fixture_open(&f);
    ck_assert_str_eq(get(of(META_SERIES, OTHER), &created),
                     "D|d|n|ms|gauge|-30|100.5|-1{k=v,}");
    ck_assert_str_eq(get(of(META_SERIES, TSUID), &created),
                     "D|d|n|ms|gauge|-30|100.5|-1{k=v,}");
    arena_free(&a);
}
END_TEST

static bool
see(void *ctx, struct slice tsuid)
{
    size_t *seen = ctx;

    ck_assert_uint_eq(tsuid.size, 9);
    *seen = *seen * 10 + tsuid.data[8];
    return true;
}

START_TEST(lists_series_with_records)
{
    struct meta n = meta_empty();
    size_t seen = 0, limit = 0;

    enter();
    OK(meta_each_series(f.records, ID1, see, &seen, &e));
    ck_assert_uint_eq(seen, 0);
    OK(meta_create(f.records, of(META_SERIES, OTHER), &n, &e));
    OK(meta_create(f.records, of(META_SERIES, TSUID), &n, &e));
    put(of(META_TAGV, ID1), n, META_NOTES, true);
    OK(meta_each_series(f.records, ID1, see, &seen, &e));
    ck_assert_uint_eq(seen, 12);
    OK(meta_delete(f.records, of(META_SERIES, TSUID), &e));
    OK(meta_each_series(f.records, slice_str(""), see, &limit, &e));
    ck_assert_uint_eq(limit, 12); /* a deleted one has a record, too */
    OK(meta_each_series(f.records, slice_of("\0\0\2", 3), see, &limit, &e));
    ck_assert_uint_eq(limit, 12);
}
END_TEST

/* docs/FORMAT.md, "Metadata". */
START_TEST(documented_bytes)
{
    struct meta n = meta_empty();
    struct buf v = BUF_INIT;

    enter();
    n.display_name = slice_str("hi");
    n.created = 5;
    put(of(META_TAGK, ID1), n, META_DISPLAY_NAME | META_CREATED, false);
    OK(kv_get(store_kv(f.store), slice_of("mk\0\0\1", 5), &v, &e));
    ck_assert(slice_eq(buf_slice(&v), slice_of("\1\0\x0a\3hi\1\1\0", 9)));
    buf_fini(&v);
}
END_TEST

/* Null texts stay null. */
START_TEST(keeps_nulls)
{
    struct arena *a = arena_new(0);
    struct meta n = meta_empty(), out;
    struct buf v = BUF_INIT;

    enter();
    n.display_name = slice_str("hi");
    n.notes = (struct slice){ NULL, 0 };
    n.created = 5;
    put(of(META_TAGK, ID1), n, META_DISPLAY_NAME | META_NOTES | META_CREATED,
        false);
    OK(kv_get(store_kv(f.store), slice_of("mk\0\0\1", 5), &v, &e));
    ck_assert(slice_eq(buf_slice(&v), slice_of("\1\0\x0a\3hi\1\0\0", 9)));
    OK(meta_get(f.records, of(META_TAGK, ID1), a, &out, &e));
    ck_assert(annotation_is_null(out.notes));
    ck_assert(!annotation_is_null(out.description));
    buf_fini(&v);
    arena_free(&a);
}
END_TEST

/* Every cut of a record, and one with more behind it, is damage. */
START_TEST(damage_is_seen)
{
    struct arena *a = arena_new(0);
    struct buf v = BUF_INIT;
    struct slice key = slice_of("mt\0\0\1\0\0\1\0\0\1", 11);
    struct tag pair;
    struct meta n;

    enter();
    put(of(META_SERIES, TSUID), full(&pair), ALL, false);
    OK(kv_get(store_kv(f.store), key, &v, &e));
    buf_put_u8(&v, 0);
    for (size_t size = 0; size <= v.size; size++) {
        struct kv_batch *b = kv_batch_new();
        enum status st;

        kv_batch_put(b, key, slice_of(v.data, size));
        OK(store_write(f.store, b, NULL, &e));
        kv_batch_free(&b);
        st = meta_get(f.records, of(META_SERIES, TSUID), a, &n, NULL);
        ck_assert_int_eq(st, size == v.size - 1 ? ST_OK : ST_CORRUPT);
    }
    buf_fini(&v);
    arena_free(&a);
}
END_TEST

START_TEST(too_much_is_rejected)
{
    struct arena *a = arena_new(0);
    struct buf text = BUF_INIT;
    struct meta n = meta_empty();

    enter();
    for (size_t i = 0; i <= RECORD_BYTES; i++)
        buf_put_u8(&text, 'x');
    n.notes = buf_slice(&text);
    FAILS(meta_put(f.records, of(META_METRIC, ID1), &n,
                   &(struct record_change){ META_NOTES, false, a }, &e),
          ST_LIMIT, "metadata of more than 1048576 bytes");
    buf_fini(&text);
    arena_free(&a);
}
END_TEST

TEST_MAIN_WITH(setup, teardown, "meta", TEST(defaults_come_from_the_tables),
               TEST(what_does_not_exist),
               TIMES(merges_what_is_given, sizeof merges / sizeof merges[0]),
               TEST(the_earliest_creation_stays), TEST(records), TEST(deletion),
               TEST(lists_series_with_records), TEST(documented_bytes),
               TEST(keeps_nulls), TEST(damage_is_seen),
               TEST(too_much_is_rejected))
