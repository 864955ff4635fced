#include "uid/names/uid.h"

#include <pthread.h>

#include "tests/uid/one_fixture.h"
#include "uid/names/uid_cache_priv.h"

static uint64_t
create(enum uid_kind kind, const char *name)
{
    uint64_t id = 0;

    OK(uid_get_or_create(f.uids, kind, slice_str(name), &id, &e));
    return id;
}

/* The name of an id, in memory that the next call reuses; NULL: none. */
static const char *
name_of(enum uid_kind kind, uint64_t id)
{
    static char text[256];
    struct buf name = BUF_INIT;
    enum status st = uid_name(f.uids, kind, id, &name, NULL);

    ck_assert(st == ST_OK || st == ST_NOT_FOUND);
    (void)snprintf(text, sizeof text, "%s", buf_cstr(&name));
    buf_fini(&name);
    return st == ST_OK ? text : NULL;
}

static uint64_t
find(enum uid_kind kind, const char *name)
{
    uint64_t id = 0;
    enum status st = uid_find(f.uids, kind, slice_str(name), &id, NULL);

    ck_assert(st == ST_OK || st == ST_NOT_FOUND);
    return st == ST_OK ? id : 0;
}

/* -- assignment ---------------------------------------------------------- */

START_TEST(ids_are_dense_by_kind)
{
    ck_assert_uint_eq(create(UID_METRIC, "sys.cpu"), 1);
    ck_assert_uint_eq(create(UID_METRIC, "sys.mem"), 2);
    ck_assert_uint_eq(create(UID_TAGK, "sys.cpu"), 1);
    ck_assert_uint_eq(create(UID_METRIC, "sys.cpu"), 1);
    ck_assert_str_eq(name_of(UID_METRIC, 2), "sys.mem");
    ck_assert_str_eq(name_of(UID_TAGK, 1), "sys.cpu");
    ck_assert_ptr_null(name_of(UID_TAGV, 1));
}
END_TEST

START_TEST(texts_of_failures)
{
    struct buf out = BUF_INIT;
    uint64_t id;

    OK(uid_assign(f.uids, UID_METRIC, slice_str("a"), &id, &e));
    ck_assert_uint_eq(id, 1);
    FAILS(uid_assign(f.uids, UID_METRIC, slice_str("a"), &id, &e), ST_INVALID,
          "Name already exists with UID: 000001");
    FAILS(uid_assign(f.uids, UID_TAGK, slice_str("a b"), &id, &e), ST_INVALID,
          "Invalid tagk (\"a b\"): illegal character:  ");
    FAILS(uid_get_or_create(f.uids, UID_METRIC, slice_str(""), &id, &e),
          ST_INVALID, "Invalid metric: empty string");
    FAILS(uid_find(f.uids, UID_METRIC, slice_str("b"), &id, &e), ST_NOT_FOUND,
          "No such name for 'metrics': 'b'");
    FAILS(uid_find(f.uids, UID_TAGV, slice_str(""), &id, &e), ST_NOT_FOUND,
          "No such name for 'tagv': ''");
    FAILS(uid_name(f.uids, UID_METRIC, 0xffff, &out, &e), ST_NOT_FOUND,
          "No such unique ID for 'metrics': [0, -1, -1]");
    FAILS(uid_name(f.uids, UID_TAGK, 0, &out, &e), ST_NOT_FOUND,
          "No such unique ID for 'tagk': [0, 0, 0]");
    ck_assert_uint_eq(out.size, 0);
}
END_TEST

START_TEST(one_byte_is_used_up)
{
    struct uid_counts counts;
    char name[16];
    uint64_t id;

    setup_with(
        (struct fixture){ .store_options.layout = { 1, 16, 1, 1, 1, 6 } });
    for (unsigned i = 1; i <= 255; i++) {
        (void)snprintf(name, sizeof name, "v%u", i);
        ck_assert_uint_eq(create(UID_TAGV, name), i);
    }
    FAILS(uid_get_or_create(f.uids, UID_TAGV, slice_str("more"), &id, &e),
          ST_LIMIT, "All Unique IDs for tagv on 1 bytes are already assigned!");
    ck_assert_uint_eq(find(UID_TAGV, "more"), 0);
    ck_assert_uint_eq(create(UID_TAGV, "v7"), 7);
    counts = uid_counts(f.uids, UID_TAGV);
    ck_assert_uint_eq(counts.ids_used, 255);
    ck_assert_uint_eq(counts.ids_available, 0);
    ck_assert_uint_eq(create(UID_TAGK, "other"), 1);
}
END_TEST

START_TEST(widths)
{
    uint8_t w = (uint8_t)(_i + 1);
    uint64_t max = w == 8 ? INT64_MAX : (UINT64_C(1) << 8 * w) - 1;

    setup_with(
        (struct fixture){ .store_options.layout = { 1, 16, w, w, w, 6 } });
    ck_assert_uint_eq(uid_width(f.uids, UID_TAGK), w);
    ck_assert_uint_eq(create(UID_METRIC, "m"), 1);
    uid_drop_caches(f.uids);
    ck_assert_uint_eq(find(UID_METRIC, "m"), 1);
    ck_assert_str_eq(name_of(UID_METRIC, 1), "m");
    ck_assert_uint_eq(uid_counts(f.uids, UID_METRIC).ids_available, max - 1);
}
END_TEST

START_TEST(random_ids_are_distinct)
{
    bool seen[256] = { true };
    char name[16];
    uint64_t id;
    size_t given = 0;

    setup_with((struct fixture){ .store_options.layout = { 1, 16, 1, 1, 1, 6 },
                                 .uid_options.random_metrics = true });
    for (unsigned i = 0; i < 255; i++) {
        struct error e = { 0 };
        enum status st;

        (void)snprintf(name, sizeof name, "m%u", i);
        st = uid_get_or_create(f.uids, UID_METRIC, slice_str(name), &id, &e);
        if (st == ST_LIMIT) {
            ck_assert(strstr(e.text, "Failed to assign random ID for "
                                     "kind='metrics' name='m") == e.text);
            continue;
        }
        ck_assert_int_eq(st, ST_OK);
        ck_assert_uint_lt(id, 256);
        ck_assert(!seen[id]);
        seen[id] = true;
        given++;
    }
    ck_assert_uint_gt(given, 100);
    /* In order again: the ids in use are stepped over. */
    uid_close(&f.uids);
    f.uid_options.random_metrics = false;
    OK(uid_open(f.store, &f.uid_options, &f.uids, &e));
    for (; given < 255; given++) {
        (void)snprintf(name, sizeof name, "n%zu", given);
        id = create(UID_METRIC, name);
        ck_assert(!seen[id]);
        seen[id] = true;
    }
    FAILS(uid_get_or_create(f.uids, UID_METRIC, slice_str("x"), &id, &e),
          ST_LIMIT,
          "All Unique IDs for metrics on 1 bytes are already assigned!");
}
END_TEST

START_TEST(survives_reopening)
{
    setup_on_disk();
    (void)create(UID_METRIC, "a");
    (void)create(UID_METRIC, "b");
    (void)create(UID_TAGV, "\xc3\xa9t\xc3\xa9");
    fixture_close(&f);
    fixture_open(&f);
    ck_assert_uint_eq(find(UID_METRIC, "b"), 2);
    ck_assert_str_eq(name_of(UID_TAGV, 1), "\xc3\xa9t\xc3\xa9");
    ck_assert_uint_eq(create(UID_METRIC, "c"), 3);
    ck_assert_uint_eq(uid_counts(f.uids, UID_METRIC).ids_used, 3);
}
END_TEST

START_TEST(a_bad_counter_is_rejected)
{
    struct kv_batch *b = kv_batch_new();
    struct uid_table *u = NULL;

    kv_batch_put(b, slice_str("ukc"), slice_str("abc"));
    OK(store_write(f.store, b, NULL, &e));
    kv_batch_free(&b);
    FAILS(uid_open(f.store, &f.uid_options, &u, &e), ST_CORRUPT,
          "uid counter of tagk: 3 bytes, not 8");
    ck_assert_ptr_null(u);
}
END_TEST

/* docs/FORMAT.md, "UID table". */
START_TEST(documented_bytes)
{
    struct buf v = BUF_INIT;
    uint32_t created_s;

    (void)create(UID_TAGV, "web42");
    OK(kv_get(store_kv(f.store), slice_str("uvnweb42"), &v, &e));
    ck_assert_uint_eq(v.size, 7);
    ck_assert(slice_starts(buf_slice(&v), slice_of("\0\0\1", 3)));
    OK(uid_created(f.uids, UID_TAGV, 1, &created_s, &e));
    ck_assert_uint_eq(key_get_uint(v.data + 3, 4), created_s);
    OK(kv_get(store_kv(f.store), slice_of("uvi\0\0\1", 6), &v, &e));
    ck_assert(slice_eq(buf_slice(&v), slice_str("web42")));
    OK(kv_get(store_kv(f.store), slice_str("uvc"), &v, &e));
    ck_assert(slice_eq(buf_slice(&v), slice_of("\0\0\0\0\0\0\0\1", 8)));
    buf_fini(&v);
}
END_TEST

START_TEST(creation_outlives_a_rename)
{
    struct kv_batch *b = kv_batch_new();
    uint32_t created_s;
    uint64_t now_s = (uint64_t)clock_now_ms(&clock_system) / 1000;

    (void)create(UID_METRIC, "a");
    OK(uid_created(f.uids, UID_METRIC, 1, &created_s, &e));
    ck_assert_uint_ge(created_s, now_s);
    ck_assert_uint_le(created_s, now_s + 600);
    kv_batch_put(b, slice_str("umna"), slice_of("\0\0\1\0\0\1\0", 7));
    OK(store_write(f.store, b, NULL, &e));
    kv_batch_free(&b);
    OK(uid_rename(f.uids, UID_METRIC, slice_str("a"), slice_str("c"), &e));
    OK(uid_created(f.uids, UID_METRIC, 1, &created_s, &e));
    ck_assert_uint_eq(created_s, 256);
}
END_TEST

/* -- rename -------------------------------------------------------------- */

START_TEST(rename_moves_the_id)
{
    (void)create(UID_METRIC, "a");
    (void)create(UID_METRIC, "b");
    OK(uid_rename(f.uids, UID_METRIC, slice_str("a"), slice_str("c"), &e));
    for (int cached = 1; cached >= 0; cached--) {
        ck_assert_uint_eq(find(UID_METRIC, "a"), 0);
        ck_assert_uint_eq(find(UID_METRIC, "c"), 1);
        ck_assert_str_eq(name_of(UID_METRIC, 1), "c");
        uid_drop_caches(f.uids);
    }
    FAILS(uid_rename(f.uids, UID_METRIC, slice_str("c"), slice_str("b"), &e),
          ST_INVALID,
          "When trying rename(\"c\", \"b\") on UniqueId(tsdb-uid, metrics, 3): "
          "new name already assigned ID=[0, 0, 2]");
    FAILS(uid_rename(f.uids, UID_METRIC, slice_str("x"), slice_str("y"), &e),
          ST_NOT_FOUND, "Name(\"x\") does not exist");
    FAILS(uid_rename(f.uids, UID_METRIC, slice_str("c"), slice_str("!"), &e),
          ST_INVALID, "Invalid metric (\"!\"): illegal character: !");
    ck_assert_uint_eq(create(UID_METRIC, "a"), 3);
}
END_TEST

START_TEST(deleting_frees_the_name_and_not_the_id)
{
    struct buf text = BUF_INIT;

    (void)create(UID_METRIC, "a");
    (void)create(UID_METRIC, "b");
    OK(uid_delete(f.uids, UID_METRIC, slice_str("b"), &e));
    for (int cached = 1; cached >= 0; cached--) {
        ck_assert_uint_eq(find(UID_METRIC, "b"), 0);
        FAILS(uid_name(f.uids, UID_METRIC, 2, &text, &e), ST_NOT_FOUND,
              "No such unique ID for 'metrics': [0, 0, 2]");
        ck_assert_uint_eq(find(UID_METRIC, "a"), 1);
        uid_drop_caches(f.uids);
    }
    FAILS(uid_delete(f.uids, UID_METRIC, slice_str("b"), &e), ST_NOT_FOUND,
          "No such name for 'metrics': 'b'");
    ck_assert_uint_eq(create(UID_METRIC, "b"), 3);
    buf_fini(&text);
}
END_TEST

static void
open_again(void)
{
    uid_close(&f.uids);
    OK(uid_open(f.store, &f.uid_options, &f.uids, &e));
}

/* The ids of metrics whose names were deleted, "1 2 ". */
static void
deleted_metrics(char out[64])
{
    struct arena *a = arena_new(0);
    struct nameless found;
    size_t n = 0;

    OK(nameless_find(f.uids, a, &found, &e));
    out[0] = '\0';
    for (size_t i = 0; i < found.ids[UID_METRIC].len; i++) {
        uint64_t id = found.ids[UID_METRIC].ids[i];
        uint8_t tsuid[3];

        key_put_uint(tsuid, id, sizeof tsuid);
        ck_assert(nameless_has(&found, slice_of(tsuid, sizeof tsuid)));
        n += (size_t)snprintf(out + n, 64 - n, "%llu ", (unsigned long long)id);
    }
    ck_assert(!nameless_has(&found, slice_of("\0\0\x63", 3)));
    arena_free(&a);
}

START_TEST(deleted_ids_are_known_after_a_start_too)
{
    static const char *const names[] = { "c", "a", "b", NULL };
    struct buf text = BUF_INIT;
    char ids[64];

    (void)create(UID_METRIC, "a");
    (void)create(UID_METRIC, "b");
    (void)create(UID_METRIC, "c");
    (void)create(UID_METRIC, "d");
    ck_assert(!uid_has_deleted(f.uids));
    /* An id that was never given out is not one of them. */
    ck_assert_int_eq(uid_name(f.uids, UID_METRIC, 99, &text, NULL),
                     ST_NOT_FOUND);
    ck_assert(!uid_has_deleted(f.uids));
    for (const char *const *name = names; *name != NULL; name++)
        OK(uid_delete(f.uids, UID_METRIC, slice_str(*name), &e));
    for (int i = 0; i < 2; i++) {
        ck_assert(uid_has_deleted(f.uids));
        deleted_metrics(ids);
        ck_assert_str_eq(ids, "1 2 3 ");
        open_again();
    }
    buf_fini(&text);
}
END_TEST

/* What an older program deleted has no mark, and is noticed when it is met. */
START_TEST(deleted_ids_without_a_mark_are_learnt)
{
    uint8_t key[UID_KEY_MAX];
    struct kv_batch *b = kv_batch_new();
    struct buf text = BUF_INIT;
    char ids[64];
    uint64_t lsn;

    (void)create(UID_METRIC, "a");
    kv_batch_put(b, uid_key(store_layout(f.store), UID_METRIC, 'i', 1, key),
                 slice_of("", 0));
    OK(store_write(f.store, b, &lsn, &e));
    kv_batch_free(&b);
    open_again();
    ck_assert(!uid_has_deleted(f.uids));
    ck_assert_int_eq(uid_name(f.uids, UID_METRIC, 1, &text, NULL),
                     ST_NOT_FOUND);
    deleted_metrics(ids);
    ck_assert_str_eq(ids, "1 ");
    buf_fini(&text);
}
END_TEST

/* -- suggest ------------------------------------------------------------- */

struct names {
    char text[512];
    size_t len, stop_at;
};

static bool
collect(void *ctx, struct slice name, uint64_t id)
{
    struct names *n = ctx;
    size_t at = strlen(n->text);

    ck_assert_uint_ne(id, 0);
    (void)snprintf(n->text + at, sizeof n->text - at, "%.*s;", SLICE_ARG(name));
    return ++n->len != n->stop_at;
}

static const struct {
    const char *prefix;
    size_t max, stop_at;
    const char *names;
} suggestions[] = {
    { "", 0, 0, "Sys.x;sys;sys.cpu;sys.mem;sysa;web;\xc3\xa9;" },
    { "", 3, 0, "Sys.x;sys;sys.cpu;" },
    { "", 0, 2, "Sys.x;sys;" },
    { "sys", 0, 0, "sys;sys.cpu;sys.mem;sysa;" },
    { "sys.", 0, 0, "sys.cpu;sys.mem;" },
    { "sys.", 1, 0, "sys.cpu;" },
    { "sysa", 9, 0, "sysa;" },
    { "sysab", 9, 0, "" },
    { "\xc3", 0, 0, "\xc3\xa9;" },
    { "z", 0, 0, "" },
};

START_TEST(suggests_in_order)
{
    static const char *const metrics[] = { "web",     "sys.mem", "\xc3\xa9",
                                           "sys.cpu", "sysa",    "Sys.x",
                                           "sys" };
    struct names n = { .stop_at = suggestions[_i].stop_at };

    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        (void)create(UID_METRIC, metrics[i]);
    (void)create(UID_TAGK, "sys.tagk");
    OK(uid_suggest(f.uids, UID_METRIC, slice_str(suggestions[_i].prefix),
                   suggestions[_i].max, collect, &n, &e));
    ck_assert_str_eq(n.text, suggestions[_i].names);
}
END_TEST

/* -- names --------------------------------------------------------------- */

#define REJECTED(name, c) \
    "Invalid metric name (\"" name "\"): illegal character: " c

static const struct {
    const char *name, *specials, *text; /* text NULL: valid */
} names[] = {
    { "abzABZ019-_./", NULL, NULL },
    { "", NULL, "Invalid metric name: empty string" },
    { "a b", NULL, REJECTED("a b", " ") },
    { "a!b", NULL, REJECTED("a!b", "!") },
    { "a!b?", NULL, REJECTED("a!b?", "!") },
    { "a:b", NULL, REJECTED("a:b", ":") },
    { "a,b", NULL, REJECTED("a,b", ",") },
    { "a\tb", NULL, REJECTED("a\tb", "\t") },
    { "a@", NULL, REJECTED("a@", "@") },
    { "a[", NULL, REJECTED("a[", "[") },
    { "a`", NULL, REJECTED("a`", "`") },
    { "a{", NULL, REJECTED("a{", "{") },
    { "a\x7f", NULL, REJECTED("a\x7f", "\x7f") },
    { "a!b", "!", NULL },
    { "a!b?", "?!", NULL },
    { "a!b?", "!", REJECTED("a!b?", "?") },
    { "20\xc2\xb0", "\xc2\xb0", NULL }, /* a degree sign, allowed */
    { "20\xc2\xb0", NULL, REJECTED("20\xc2\xb0", "\xc2\xb0") },
    { "\xc3\xa9t\xc3\xa9", NULL, NULL },        /* French */
    { "\xd0\xbc\xd0\xb8\xd1\x80", NULL, NULL }, /* Russian */
    { "\xe6\x97\xa5\xe6\x9c\xac", NULL, NULL }, /* Japanese */
    { "\xc2\xaa\xc2\xb5\xc2\xba", NULL, NULL }, /* the first letters */
    { "\xc2\xa9", NULL, REJECTED("\xc2\xa9", "\xc2\xa9") }, /* copyright */
    { "\xc3\x97", NULL, REJECTED("\xc3\x97", "\xc3\x97") }, /* times */
    { "\xef\xbf\x9c", NULL, NULL }, /* U+FFDC, the last letter */
    { "\xe2\x82\xac", NULL, REJECTED("\xe2\x82\xac", "\xe2\x82\xac") },
    /* Past U+FFFF nothing is a letter to OpenTSDB. */
    { "\xf0\x9d\x92\xb3", NULL,
      REJECTED("\xf0\x9d\x92\xb3", "\xf0\x9d\x92\xb3") },
    /* No UTF-8: alone, cut off, too long, a surrogate, past the end. */
    { "\xe9", "\xef\xbf\xbd", REJECTED("\xe9", "\xef\xbf\xbd") },
    { "a\xc3", NULL, REJECTED("a\xc3", "\xef\xbf\xbd") },
    { "\xc1\x81", NULL, REJECTED("\xc1\x81", "\xef\xbf\xbd") },
    { "\xe0\x83\xa9", NULL, REJECTED("\xe0\x83\xa9", "\xef\xbf\xbd") },
    { "\xed\xa0\x80", NULL, REJECTED("\xed\xa0\x80", "\xef\xbf\xbd") },
    { "\xf4\x90\x80\x80", NULL, REJECTED("\xf4\x90\x80\x80", "\xef\xbf\xbd") },
    { "\xff", NULL, REJECTED("\xff", "\xef\xbf\xbd") },
};

START_TEST(validates)
{
    struct slice name = slice_str(names[_i].name);

    setup_with((struct fixture){ .store_options.layout = layout_default,
                                 .uid_options.allow_specialchars =
                                     names[_i].specials });
    if (names[_i].text == NULL)
        OK(uid_validate_name(f.uids, "metric name", name, &e));
    else
        FAILS(uid_validate_name(f.uids, "metric name", name, &e), ST_INVALID,
              names[_i].text);
}
END_TEST

START_TEST(validates_sizes)
{
    char *big = malloc(40000);
    uint64_t id;

    memset(big, 'a', 40000);
    FAILS(uid_validate_name(f.uids, "tag", (struct slice){ NULL, 0 }, &e),
          ST_INVALID, "Invalid tag: null");
    OK(uid_get_or_create(f.uids, UID_TAGV, slice_of(big, 32767), &id, &e));
    uid_drop_caches(f.uids);
    OK(uid_find(f.uids, UID_TAGV, slice_of(big, 32767), &id, &e));
    ck_assert_uint_eq(id, 1);
    FAILS(uid_get_or_create(f.uids, UID_TAGV, slice_of(big, 32768), &id, &e),
          ST_INVALID, "Invalid tagv: 32768 bytes, more than the 32767 allowed");
    ck_assert_int_eq(
        uid_find(f.uids, UID_TAGV, slice_of(big, 40000), &id, NULL),
        ST_NOT_FOUND);
    free(big);
}
END_TEST

START_TEST(kinds_by_name)
{
    static const struct {
        const char *name;
        int kind; /* -1: none */
    } kinds[] = {
        { "metric", UID_METRIC },
        { "metrics", UID_METRIC },
        { "METRIC", UID_METRIC },
        { "tagk", UID_TAGK },
        { "tagv", UID_TAGV },
        { "TagV", UID_TAGV },
        { "tag", -1 },
        { "", -1 },
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        enum uid_kind kind = UID_METRIC;
        bool ok = uid_kind_parse(kinds[i].name, &kind);

        ck_assert_int_eq(ok, kinds[i].kind >= 0);
        if (ok)
            ck_assert_int_eq((int)kind, kinds[i].kind);
    }
    ck_assert_str_eq(uid_kind_name(UID_METRIC), "metrics");
}
END_TEST

/* -- caches -------------------------------------------------------------- */

START_TEST(a_full_cache_drops_the_older_half)
{
    struct uid_counts counts;
    char name[16];

    setup_with((struct fixture){ .store_options.layout = layout_default,
                                 .uid_options.cache_entries = 10 });
    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        (void)create(UID_TAGV, name);
    }
    counts = uid_counts(f.uids, UID_TAGV);
    ck_assert_uint_eq(counts.cache_size, 20);
    ck_assert_uint_eq(find(UID_TAGV, "n0"), 1);
    ck_assert_uint_eq(uid_counts(f.uids, UID_TAGV).cache_hits,
                      counts.cache_hits + 1);
    (void)create(UID_TAGV, "n10");
    counts = uid_counts(f.uids, UID_TAGV);
    ck_assert_uint_eq(counts.cache_size, 12);
    ck_assert_uint_eq(find(UID_TAGV, "n10"), 11);
    ck_assert_uint_eq(find(UID_TAGV, "n5"), 6);
    ck_assert_uint_eq(uid_counts(f.uids, UID_TAGV).cache_misses,
                      counts.cache_misses);
    ck_assert_uint_eq(find(UID_TAGV, "n0"), 1);
    ck_assert_uint_eq(uid_counts(f.uids, UID_TAGV).cache_misses,
                      counts.cache_misses + 1);
    ck_assert_str_eq(name_of(UID_TAGV, 3), "n2");
    uid_drop_caches(f.uids);
    ck_assert_uint_eq(uid_counts(f.uids, UID_TAGV).cache_size, 0);
    ck_assert_uint_eq(find(UID_TAGV, "n10"), 11);
}
END_TEST

START_TEST(dup_says_when_the_arena_is_full)
{
    struct arena *a = arena_new(16);
    struct slice s;

    (void)create(UID_METRIC, "short");
    (void)create(UID_METRIC, "a.name.of.more.than.16.bytes");
    OK(uid_name_dup(f.uids, UID_METRIC, 1, a, &s, &e));
    ck_assert(slice_eq_str(s, "short"));
    ck_assert_int_eq(uid_name_dup(f.uids, UID_METRIC, 2, a, &s, NULL),
                     ST_LIMIT);
    ck_assert_ptr_null(s.data);
    arena_free(&a);
}
END_TEST

/* A table in memory that keeps whatever fits, against the cached one. */
START_TEST(small_caches_answer_as_none)
{
    static const size_t sizes[] = { 2, 3, 63, 64, 200, 5000 };
    uint64_t state = harness_seed(7);
    uint64_t ids[400] = { 0 };
    char name[24];

    setup_with((struct fixture){ .store_options.layout = layout_default,
                                 .uid_options.cache_entries = sizes[_i] });
    for (int i = 0; i < 8000; i++) {
        uint64_t r = harness_random(&state);
        size_t n = r % 400;

        (void)snprintf(name, sizeof name, "name.%zu", n * n);
        if (r >> 32 & 1 || ids[n] == 0) {
            uint64_t id = create(UID_TAGV, name);

            if (ids[n] == 0)
                ids[n] = id;
            ck_assert_uint_eq(ids[n], id);
        } else {
            ck_assert_str_eq(name_of(UID_TAGV, ids[n]), name);
        }
        ck_assert_uint_le(uid_counts(f.uids, UID_TAGV).cache_size,
                          2 * sizes[_i]);
    }
}
END_TEST

/* What was read before something was forgotten is not added after it. */
START_TEST(the_cache_takes_nothing_old)
{
    struct uid_cache *c = uid_cache_new(100);
    uint64_t epoch = uid_cache_epoch(c), id;
    struct buf name = BUF_INIT;

    uid_cache_add(c, UID_TAGK, slice_str("a"), 1, epoch);
    ck_assert(uid_cache_find_id(c, UID_TAGK, slice_str("a"), &id));
    ck_assert(!uid_cache_find_id(c, UID_TAGV, slice_str("a"), &id));
    uid_cache_forget(c, UID_TAGK, slice_str("a"), 1);
    uid_cache_add(c, UID_TAGK, slice_str("a"), 1, epoch);
    ck_assert(!uid_cache_find_id(c, UID_TAGK, slice_str("a"), &id));
    ck_assert(!uid_cache_find_name(c, UID_TAGK, 1, &name));
    uid_cache_add(c, UID_TAGK, slice_str("b"), 1, uid_cache_epoch(c));
    ck_assert(uid_cache_find_name(c, UID_TAGK, 1, &name));
    ck_assert_str_eq(buf_cstr(&name), "b");
    buf_fini(&name);
    uid_cache_free(&c);
}
END_TEST

/* -- races --------------------------------------------------------------- */

#define THREADS 8
#define NAMES   200

struct racer {
    struct uid_table *uids;
    pthread_barrier_t *start;
    unsigned number;
    uint64_t ids[NAMES];
};

static void *
race(void *arg)
{
    struct racer *r = arg;
    char name[16];

    (void)pthread_barrier_wait(r->start);
    for (unsigned i = 0; i < NAMES; i++) {
        /* Half of the threads in the same order, half in orders of their own.
         */
        unsigned n = r->number % 2 == 0 ? i : (i * 7 + r->number * 25) % NAMES;

        (void)snprintf(name, sizeof name, "host%u", n);
        if (uid_get_or_create(r->uids, UID_TAGV, slice_str(name), &r->ids[n],
                              NULL) != ST_OK)
            r->ids[n] = 0;
    }
    return NULL;
}

START_TEST(racing_threads_agree)
{
    struct racer *racers = calloc(THREADS, sizeof *racers);
    pthread_barrier_t start;
    pthread_t threads[THREADS];
    bool seen[NAMES * 2 + 1] = { true };
    char name[16];
    unsigned most;

    setup_with(
        (struct fixture){ .store_options.layout = layout_default,
                          .uid_options.cache_entries = (size_t)(_i % 2 * 40) });
    /* Where ids are claimed before names, who is slower wastes one. */
    most = kv_traits(store_kv(f.store))->shared ? NAMES * 2 : NAMES;
    ck_assert_int_eq(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        racers[i].uids = f.uids;
        racers[i].start = &start;
        racers[i].number = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, &racers[i]),
                         0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    for (unsigned n = 0; n < NAMES; n++) {
        uint64_t id = racers[0].ids[n];

        for (unsigned i = 1; i < THREADS; i++)
            ck_assert_uint_eq(racers[i].ids[n], id);
        ck_assert_uint_ge(id, 1);
        ck_assert_uint_le(id, most);
        ck_assert(!seen[id]);
        seen[id] = true;
        (void)snprintf(name, sizeof name, "host%u", n);
        ck_assert_str_eq(name_of(UID_TAGV, id), name);
    }
    (void)pthread_barrier_destroy(&start);
    free(racers);
}
END_TEST

/* Each id has one name, which leads back to it, or none. */
static void
check_ids(void)
{
    struct kv_iter *it = kv_iter_open(store_kv(f.store), slice_str("uvi"));
    size_t named = 0;

    for (bool on = kv_iter_seek(it, slice_str("uvi")); on;
         on = kv_iter_next(it)) {
        struct slice name = kv_iter_value(it);
        uint64_t found, id = key_get_uint(kv_iter_key(it).data + 3, 3);

        if (name.size == 0)
            continue;
        OK(uid_find(f.uids, UID_TAGV, name, &found, &e));
        ck_assert_uint_eq(found, id);
        named++;
    }
    ck_assert_int_eq(kv_iter_close(&it, NULL), ST_OK);
    ck_assert_uint_eq(named, NAMES);
}

/* As of two processes.  Behind all others: it leaves the engine slow. */
START_TEST(two_tables_on_one_engine_agree)
{
    const struct uid_options o = { 0 };
    struct racer *racers = calloc(2, sizeof *racers);
    struct uid_table *other;
    pthread_barrier_t start;
    pthread_t threads[2];

    ck_assert_int_eq(setenv("HALITE_ENGINE", "slow", 1), 0);
    setup_with((struct fixture){ .store_options.layout = layout_default });
    OK(uid_open(f.store, &o, &other, &e));
    ck_assert_int_eq(pthread_barrier_init(&start, NULL, 2), 0);
    for (unsigned i = 0; i < 2; i++) {
        racers[i].uids = i == 0 ? f.uids : other;
        racers[i].start = &start;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, &racers[i]),
                         0);
    }
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    for (unsigned n = 0; n < NAMES; n++) {
        ck_assert_uint_ge(racers[0].ids[n], 1);
        ck_assert_uint_eq(racers[0].ids[n], racers[1].ids[n]);
    }
    check_ids();
    uid_close(&other);
    (void)pthread_barrier_destroy(&start);
    free(racers);
}
END_TEST

static void *
rename_to_and_fro(void *arg)
{
    for (int i = 0; i < 2000; i++) {
        OK(uid_rename(f.uids, UID_TAGK, slice_str("a"), slice_str("b"), &e));
        OK(uid_rename(f.uids, UID_TAGK, slice_str("b"), slice_str("a"), &e));
    }
    return NULL;
}

/* Readers that read the old name must not leave it in the cache. */
START_TEST(renaming_leaves_no_stale_entry)
{
    pthread_t thread;
    uint64_t id = create(UID_TAGK, "a");

    ck_assert_int_eq(pthread_create(&thread, NULL, rename_to_and_fro, NULL), 0);
    for (int i = 0; i < 4000; i++) {
        (void)name_of(UID_TAGK, id);
        (void)find(UID_TAGK, "b");
        (void)find(UID_TAGK, "a");
    }
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_str_eq(name_of(UID_TAGK, id), "a");
    ck_assert_uint_eq(find(UID_TAGK, "a"), id);
    ck_assert_uint_eq(find(UID_TAGK, "b"), 0);
}
END_TEST

TEST_MAIN_WITH(
    setup, teardown, "uid", TEST(ids_are_dense_by_kind),
    TEST(texts_of_failures), TEST(one_byte_is_used_up), TIMES(widths, 8),
    TEST(random_ids_are_distinct), TEST(survives_reopening),
    TEST(a_bad_counter_is_rejected), TEST(documented_bytes),
    TEST(creation_outlives_a_rename), TEST(rename_moves_the_id),
    TEST(deleting_frees_the_name_and_not_the_id),
    TEST(deleted_ids_are_known_after_a_start_too),
    TEST(deleted_ids_without_a_mark_are_learnt),
    LOOP(suggests_in_order, suggestions), LOOP(validates, names),
    TEST(validates_sizes), TEST(kinds_by_name),
    TEST(a_full_cache_drops_the_older_half),
    TEST(dup_says_when_the_arena_is_full), TEST(the_cache_takes_nothing_old),
    TIMES(small_caches_answer_as_none, 6), TIMES(racing_threads_agree, 20),
    TEST(renaming_leaves_no_stale_entry), TEST(two_tables_on_one_engine_agree))
