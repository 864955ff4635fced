#include "uid/series/series.h"

#include <pthread.h>

#include "base/process/counters.h"
#include "storage/kv/engine.h"
#include "tests/uid/one_fixture.h"

#define TEXT(...) (&(struct series_text){ __VA_ARGS__ })
static struct tsuid last; /* of the series that was resolved last */

static const struct series_rules rules_all = { true, true, true, 8, false };

#define TAG(k, v)                                \
    {                                            \
        { (const uint8_t *)(k), sizeof(k) - 1 }, \
        {                                        \
            (const uint8_t *)(v), sizeof(v) - 1  \
        }                                        \
    }
#define NULLS   \
    {           \
        NULL, 0 \
    }

/* Resolves "metric k=v k=v ..." and returns the TSUID as hex, in memory that
 * the next call reuses. */
static const char *
resolve(const char *text)
{
    static char hex[2 * TSUID_MAX + 1];
    char copy[512], *save = NULL, *word;
    struct tag tags[40];
    struct slice metric;
    series_ref ref = SERIES_REF_NONE;
    size_t len = 0;

    (void)snprintf(copy, sizeof copy, "%s", text);
    metric = slice_str(strtok_r(copy, " ", &save));
    while ((word = strtok_r(NULL, " ", &save)) != NULL) {
        char *equals = strchr(word, '=');

        tags[len].key = slice_of(word, (size_t)(equals - word));
        tags[len++].value = slice_str(equals + 1);
    }
    OK(series_resolve(f.series, &rules_all, TEXT(0, metric, tags, len), &ref,
                      &last, &e));
    ck_assert_uint_ne(ref, SERIES_REF_NONE);
    for (size_t i = 0; i < last.size; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", last.bytes[i]);
    return hex;
}

static uint64_t
id_of(enum uid_kind kind, const char *name)
{
    uint64_t id = 0;

    OK(uid_find(f.uids, kind, slice_str(name), &id, &e));
    return id;
}

/* -- resolve ------------------------------------------------------------- */

START_TEST(tags_are_sorted_by_id)
{
    ck_assert_str_eq(resolve("m host=a"), "000001000001000001");
    ck_assert_str_eq(resolve("m dc=x host=a"),
                     "000001000001000001000002000002");
    ck_assert_str_eq(resolve("m host=a dc=x"),
                     "000001000001000001000002000002");
    ck_assert_str_eq(resolve("m host=a host=a"), "000001000001000001");
    ck_assert_str_eq(resolve("n host=x"), "000002000001000002");
    ck_assert_uint_eq(series_total(f.series), 3);
}
END_TEST

/* New names get their ids in the order of Java's HashMap, key before value. */
START_TEST(ids_follow_java)
{
    (void)resolve("m a=1 b=2 h=3 h8=4 h9=5 host=6 dc=7");
    ck_assert_uint_eq(id_of(UID_TAGK, "h8"), 1);
    ck_assert_uint_eq(id_of(UID_TAGV, "4"), 1);
    ck_assert_uint_eq(id_of(UID_TAGK, "a"), 2); /* the bucket of h9 */
    ck_assert_uint_eq(id_of(UID_TAGK, "h9"), 3);
    ck_assert_uint_eq(id_of(UID_TAGK, "dc"), 7);
}
END_TEST

static const struct {
    struct slice metric;
    struct tag tags[10];
    size_t len;
    const char *text;
} rejected[] = {
    { { (const uint8_t *)"m", 1 },
      { { NULLS, NULLS } },
      0,
      "Need at least one tag (metric=m, tags={})" },
    { { (const uint8_t *)"m!", 2 },
      { { NULLS, NULLS } },
      0,
      "Need at least one tag (metric=m!, tags={})" },
    { { (const uint8_t *)"m!", 2 },
      { TAG("host", "a") },
      1,
      "Invalid metric name (\"m!\"): illegal character: !" },
    { { (const uint8_t *)"", 0 },
      { TAG("host", "a") },
      1,
      "Invalid metric name: empty string" },
    { { (const uint8_t *)"m", 1 },
      { TAG("ho$t", "a") },
      1,
      "Invalid tag name with value [a] (\"ho$t\"): illegal character: $" },
    { { (const uint8_t *)"m", 1 },
      { TAG("host", "a:b") },
      1,
      "Invalid tag value with key [host] (\"a:b\"): illegal character: :" },
    { { (const uint8_t *)"m", 1 },
      { TAG("", "a") },
      1,
      "Invalid tag name with value [a]: empty string" },
    { { (const uint8_t *)"m", 1 },
      { TAG("host", "") },
      1,
      "Invalid tag value with key [host]: empty string" },
    { { (const uint8_t *)"m", 1 },
      { { { (const uint8_t *)"host", 4 }, NULLS } },
      1,
      "Invalid tag value with key [host]: null" },
    { { (const uint8_t *)"m", 1 },
      { TAG("host", "a"), TAG("host", "b") },
      2,
      "duplicate tag: host=b, tags={host=a}" },
    { { (const uint8_t *)"m", 1 },
      { TAG("h", "1"), TAG("h8", "8"), TAG("a", "x"), TAG("h", "2") },
      4,
      "duplicate tag: h=2, tags={h8=8, a=x, h=1}" },
    { { (const uint8_t *)"m", 1 },
      { TAG("h", "1"), TAG("h2", "2"), TAG("h3", "3"), TAG("h4", "4"),
        TAG("h5", "5"), TAG("h6", "6"), TAG("h7", "7"), TAG("h8", "8"),
        TAG("h9", "9") },
      9,
      "Too many tags: 9 maximum allowed: 8, tags: {h8=8, h9=9, h=1, h2=2, "
      "h3=3, h4=4, h5=5, h6=6, h7=7}" },
};

START_TEST(rejects)
{
    series_ref ref;

    FAILS(series_resolve(
              f.series, &rules_all,
              TEXT(0, rejected[_i].metric, rejected[_i].tags, rejected[_i].len),
              &ref, &last, &e),
          ST_INVALID, rejected[_i].text);
    ck_assert_uint_eq(series_total(f.series), 0);
    ck_assert_uint_eq(uid_counts(f.uids, UID_METRIC).ids_used, 0);
    ck_assert_uint_eq(uid_counts(f.uids, UID_TAGK).ids_used, 0);
}
END_TEST

/* n, n + 1, and what no point should have. */
START_TEST(bounds_the_number_of_tags)
{
    static const struct {
        size_t max, len;
        bool ok;
    } cases[] = { { 8, 8, true },    { 8, 9, false },    { 32, 32, true },
                  { 32, 33, false }, { 40, 33, false },  { 8, 64, false },
                  { 8, 65, false },  { 8, 1000, false }, { 0, 1, false } };
    static char names[1000][16];
    static struct tag tags[1000];

    for (size_t i = 0; i < 1000; i++) {
        (void)snprintf(names[i], sizeof names[i], "k%zu", i);
        tags[i].key = tags[i].value = slice_str(names[i]);
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct series_rules rules = rules_all;
        struct error e = { 0 };
        char text[64];
        series_ref ref;
        enum status st;

        rules.max_tags = cases[i].max;
        st = series_resolve(f.series, &rules,
                            TEXT(0, slice_str("m"), tags, cases[i].len), &ref,
                            &last, &e);
        ck_assert_int_eq(st, cases[i].ok ? ST_OK : ST_INVALID);
        if (cases[i].ok)
            continue;
        (void)snprintf(text, sizeof text, "Too many tags: %zu maximum allowed",
                       cases[i].len);
        ck_assert_msg(strncmp(e.text, text, strlen(text)) == 0, "%s", e.text);
    }
}
END_TEST

START_TEST(rules_forbid_creation)
{
    struct series_rules rules = { false, false, false, 8, false };
    const struct tag tag = TAG("host", "a");
    series_ref ref;

#define TRY                                                                  \
    series_resolve(f.series, &rules, TEXT(0, slice_str("m"), &tag, 1), &ref, \
                   &last, &e)
    FAILS(TRY, ST_NOT_FOUND, "No such name for 'metrics': 'm'");
    rules.create_metrics = true;
    FAILS(TRY, ST_NOT_FOUND, "No such name for 'tagk': 'host'");
    rules.create_tagks = true;
    FAILS(TRY, ST_NOT_FOUND, "No such name for 'tagv': 'a'");
    ck_assert_uint_eq(series_total(f.series), 0);
    rules.create_tagvs = true;
    OK(TRY);
    /* Existing names are enough for a new series. */
    rules = (struct series_rules){ false, false, false, 8, false };
    OK(TRY);
#undef TRY
}
END_TEST

START_TEST(odd_widths)
{
    setup_with(
        (struct fixture){ .store_options.layout = { 0, 1, 2, 1, 4, 6 } });
    ck_assert_str_eq(resolve("m host=a dc=b"), "0001010000000102"
                                               "00000002");
    ck_assert_uint_eq(series_total(f.series), 1);
}
END_TEST

/* -- directory and tag-key sets
 * ------------------------------------------------ */

/* "1,2:5;" is a tag-key set of tagks 1 and 2 with five series; sorted by text.
 */
static const char *
tagk_sets_text(uint64_t metric)
{
    static char text[1024];
    char parts[16][64];
    struct arena *a = arena_new(0);
    struct series_tagk_set *tagk_sets;
    size_t len, n = 0;

    OK(series_tagk_sets(f.series, metric, false, a, &tagk_sets, &len, &e));
    ck_assert_uint_le(len, 16);
    for (size_t i = 0; i < len; i++) {
        size_t at = 0;

        for (size_t k = 0; k < tagk_sets[i].tagks_len; k++)
            at +=
                (size_t)snprintf(parts[i] + at, sizeof parts[i] - at, "%s%d",
                                 k == 0 ? "" : ",", (int)tagk_sets[i].tagks[k]);
        (void)snprintf(parts[i] + at, sizeof parts[i] - at, ":%d;",
                       (int)tagk_sets[i].series);
    }
    qsort(parts, len, sizeof parts[0],
          (int (*)(const void *, const void *))strcmp);
    text[0] = '\0';
    for (size_t i = 0; i < len; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s", parts[i]);
    arena_free(&a);
    return text;
}

START_TEST(tagk_sets_count_series)
{
    setup_on_disk();
    ck_assert_str_eq(tagk_sets_text(1), "");
    (void)resolve("m host=a");
    (void)resolve("m host=b");
    (void)resolve("m host=b");
    (void)resolve("m host=a dc=x");
    (void)resolve("m dc=x");
    (void)resolve("n dc=x");
    for (int reopened = 0; reopened < 2; reopened++) {
        ck_assert_str_eq(tagk_sets_text(1), "1,2:1;1:2;2:1;");
        ck_assert_str_eq(tagk_sets_text(2), "2:1;");
        ck_assert_str_eq(tagk_sets_text(3), "");
        ck_assert_uint_eq(series_total(f.series), 5);
        fixture_close(&f);
        fixture_open(&f);
    }
    (void)resolve("m host=c");
    ck_assert_str_eq(tagk_sets_text(1), "1,2:1;1:3;2:1;");
    ck_assert_uint_eq(series_total(f.series), 6);
}
END_TEST

START_TEST(many_tagk_sets)
{
    struct arena *a = arena_new(0);
    struct series_tagk_set *tagk_sets;
    char text[64];
    size_t len;

    for (int i = 0; i < 300; i++) {
        (void)snprintf(text, sizeof text, "m%d k%d=v k%d=v", i % 3, i, i / 2);
        (void)resolve(text);
    }
    for (uint64_t metric = 1; metric <= 3; metric++) {
        OK(series_tagk_sets(f.series, metric, false, a, &tagk_sets, &len, &e));
        ck_assert_uint_eq(len, 100);
    }
    ck_assert_uint_eq(series_total(f.series), 300);
    arena_free(&a);
    a = arena_new(1000);
    ck_assert_int_eq(
        series_tagk_sets(f.series, 1, false, a, &tagk_sets, &len, NULL),
        ST_LIMIT);
    arena_free(&a);
}
END_TEST

START_TEST(exists_and_created)
{
    static const struct {
        struct slice tsuid;
        bool exists;
    } cases[] = {
        { { (const uint8_t *)"\0\0\1\0\0\1\0\0\1", 9 }, true },
        { { (const uint8_t *)"\0\0\1\0\0\1\0\0\2", 9 }, false },
        { { (const uint8_t *)"\0\0\1\0\0\1\0\0", 8 }, false },
        { { (const uint8_t *)"\0\0\1", 3 }, false },
        { { (const uint8_t *)"", 0 }, false },
    };

    (void)resolve("m host=a");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t created_s = 0;

        ck_assert_int_eq(
            series_created(f.series, cases[i].tsuid, &created_s, NULL),
            cases[i].exists ? ST_OK : ST_NOT_FOUND);
        if (cases[i].exists)
            ck_assert_uint_gt(created_s, 1600000000);
    }
}
END_TEST

/* docs/FORMAT.md, "Series". */
START_TEST(documented_bytes)
{
    struct buf v = BUF_INIT;
    uint8_t key[TAGK_SETS_KEY_MAX];
    struct slice set;

    (void)resolve("m host=a");
    OK(kv_get(store_kv(f.store), slice_of("s\0\0\1\0\0\1\0\0\1", 10), &v, &e));
    ck_assert_uint_eq(v.size, 4);
    set =
        tagk_sets_key(&layout_default, slice_of("\0\0\1\0\0\1\0\0\1", 9), key);
    ck_assert(slice_starts(set, slice_of("h\0\0\1\0\0\1", 7)));
    OK(kv_get(store_kv(f.store), set, &v, &e));
    ck_assert(slice_eq(buf_slice(&v), slice_of("\0\0\0\0\0\0\0\1", 8)));
    buf_fini(&v);
}
END_TEST

START_TEST(bad_records_are_read_around)
{
    static const struct {
        struct slice key, value;
    } cases[] = {
        { { (const uint8_t *)"h\0\0\1", 4 },
          { (const uint8_t *)"12345678", 8 } },
        { { (const uint8_t *)"h\0\0\1\0\0\1\0\0", 9 },
          { (const uint8_t *)"12345678", 8 } },
        { { (const uint8_t *)"h\0\0\1\0\0\1", 7 },
          { (const uint8_t *)"1234567", 7 } },
        { { (const uint8_t *)"h", 1 }, { (const uint8_t *)"12345678", 8 } },
    };
    struct kv_batch *b = kv_batch_new();
    struct series_directory *d;
    uint64_t before = counter_get(CNT_DAMAGE_READ_AROUND);

    kv_batch_put(b, cases[_i].key, cases[_i].value);
    OK(store_write(f.store, b, NULL, &e));
    kv_batch_free(&b);
    /* The series are counted instead. */
    ck_assert_int_eq(series_open(f.store, f.uids, &d, NULL), ST_OK);
    ck_assert_uint_eq(counter_get(CNT_DAMAGE_READ_AROUND), before + 1);
    series_close(&d);
}
END_TEST

/* -- each ---------------------------------------------------------------- */

struct seen {
    char text[4096];
    size_t at, left;
};

/* Writes "metric:k=v,k=v;", ids in decimal. */
static bool
see(void *ctx, struct slice tsuid)
{
    struct seen *s = ctx;
    size_t n = tsuid_tags(&layout_default, tsuid);

    s->at += (size_t)snprintf(
        s->text + s->at, sizeof s->text - s->at,
        "%d:", (int)key_get_uint(tsuid_metric(&layout_default, tsuid).data, 3));
    for (size_t i = 0; i < n; i++)
        s->at += (size_t)snprintf(
            s->text + s->at, sizeof s->text - s->at, "%d=%d%s",
            (int)key_get_uint(tsuid_tagk(&layout_default, tsuid, i).data, 3),
            (int)key_get_uint(tsuid_tagv(&layout_default, tsuid, i).data, 3),
            i + 1 < n ? "," : ";");
    return --s->left > 0;
}

static const char *
each(uint64_t metric, const struct mask_set *masks, size_t max)
{
    static struct seen s;

    s = (struct seen){ .left = max };
    OK(series_each(f.series, metric, masks, see, &s, &e));
    return s.text;
}

/* A mask over the series of a metric with one tag, whose values are given. */
static struct mask *
mask_of_one(uint64_t metric, uint64_t tagk, const uint64_t *values, size_t len)
{
    uint8_t fixed[7] = { TABLE_SERIES };
    struct mask *m = mask_new();

    key_put_uint(fixed + 1, metric, 3);
    key_put_uint(fixed + 4, tagk, 3);
    mask_add_fixed(m, slice_of(fixed, sizeof fixed));
    if (values == NULL)
        mask_add_any(m, 3);
    else
        mask_add_set(m, values, len, 3);
    return m;
}

START_TEST(each_by_metric_and_mask)
{
    struct mask_set *masks = mask_set_new();
    struct mask *m;

    ck_assert_str_eq(each(0, NULL, 99), "");
    (void)resolve("m host=a");
    (void)resolve("m host=b");
    (void)resolve("m host=c");
    (void)resolve("m host=b dc=x");
    (void)resolve("m dc=x");
    (void)resolve("n host=b");
    ck_assert_str_eq(each(0, NULL, 99),
                     "1:1=1;1:1=2;1:1=2,2=4;1:1=3;1:2=4;2:1=2;");
    ck_assert_str_eq(each(0, NULL, 2), "1:1=1;1:1=2;");
    ck_assert_str_eq(each(2, NULL, 99), "2:1=2;");
    ck_assert_str_eq(each(3, NULL, 99), "");
    /* An empty set of masks matches nothing. */
    ck_assert_str_eq(each(1, masks, 99), "");
    m = mask_of_one(1, 1, (const uint64_t[]){ 3, 1 }, 2);
    mask_set_give(masks, &m);
    ck_assert_str_eq(each(1, masks, 99), "1:1=1;1:1=3;");
    ck_assert_str_eq(each(0, masks, 1), "1:1=1;");
    m = mask_of_one(1, 2, NULL, 0);
    mask_set_give(masks, &m);
    m = mask_of_one(2, 1, NULL, 0);
    mask_set_give(masks, &m);
    ck_assert_str_eq(each(1, masks, 99), "1:1=1;1:1=3;1:2=4;");
    ck_assert_str_eq(each(2, masks, 99), "2:1=2;");
    ck_assert_str_eq(each(0, masks, 99), "1:1=1;1:1=3;1:2=4;2:1=2;");
    mask_set_free(&masks);
}
END_TEST

/* Seeks over what a mask leaves out. */
START_TEST(each_with_a_sparse_mask)
{
    struct mask_set *masks = mask_set_new();
    struct mask *m;
    static const uint64_t values[] = { 1, 700, 703, 2000 };
    char text[64];

    for (int i = 1; i <= 2000; i++) {
        (void)snprintf(text, sizeof text, "m host=h%d", i);
        (void)resolve(text);
    }
    m = mask_of_one(1, 1, values, 4);
    mask_set_give(masks, &m);
    ck_assert_str_eq(each(1, masks, 99), "1:1=1;1:1=700;1:1=703;1:1=2000;");
    mask_set_free(&masks);
}
END_TEST

/* -- races --------------------------------------------------------------- */

#define THREADS 8
#define SERIES  200

struct racer {
    unsigned number;
    struct tsuid tsuids[SERIES];
    size_t failed;
};

static void *
race(void *arg)
{
    struct racer *r = arg;

    for (unsigned i = 0; i < SERIES; i++) {
        unsigned n = (i * 7 + r->number * 25) % SERIES;
        char host[16], dc[16];
        struct tag tags[2] = { { slice_str("host"), { 0 } },
                               { slice_str("dc"), { 0 } } };
        series_ref ref;

        (void)snprintf(host, sizeof host, "h%u", n);
        (void)snprintf(dc, sizeof dc, "d%u", n % 5);
        tags[0].value = slice_str(host);
        tags[1].value = slice_str(dc);
        if (series_resolve(f.series, &rules_all,
                           TEXT(0, slice_str("m"), tags, 2), &ref,
                           &r->tsuids[n], NULL) != ST_OK ||
            r->tsuids[n].size != 15)
            r->failed++;
    }
    return NULL;
}

START_TEST(racing_threads_enter_once)
{
    struct racer *racers = calloc(THREADS, sizeof *racers);
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        racers[i].number = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, &racers[i]),
                         0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        ck_assert_uint_eq(racers[i].failed, 0);
        for (unsigned n = 0; n < SERIES; n++)
            ck_assert(memcmp(racers[i].tsuids[n].bytes,
                             racers[0].tsuids[n].bytes, 15) == 0);
    }
    ck_assert_uint_eq(series_total(f.series), SERIES);
    ck_assert_str_eq(tagk_sets_text(1), "1,2:200;");
    free(racers);
}
END_TEST

static const char *
resolve_kind(const char *kind_name, bool create)
{
    static char hex[2 * TSUID_MAX + 1];
    const struct tag tag = TAG("host", "a");
    struct tsuid tsuid;
    uint64_t kind = 0;
    series_ref ref = SERIES_REF_NONE;

    OK(series_kind(f.series, kind_name, create, &kind, &e));
    OK(series_resolve(f.series, &rules_all, TEXT(kind, slice_str("m"), &tag, 1),
                      &ref, &tsuid, &e));
    for (size_t i = 0; i < tsuid.size; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", tsuid.bytes[i]);
    return hex;
}

START_TEST(kinds_are_kept_and_hidden)
{
    struct arena *a = arena_new(1 << 16);
    struct series_tagk_set *tagk_sets;
    size_t len;
    uint64_t kind = 0;

    setup_on_disk();
    ck_assert_str_eq(resolve_kind("x-sum", true),
                     "000001000000000001000001000001");
    ck_assert_str_eq(each(0, NULL, 9), "");
    ck_assert_str_eq(tagk_sets_text(1), "");
    (void)resolve("m host=a");
    ck_assert_str_eq(each(0, NULL, 9), "1:1=1;");
    ck_assert_str_eq(tagk_sets_text(1), "1:1;");
    ck_assert_str_eq(resolve_kind("x-count", true),
                     "000001000000000002000001000001");
    OK(series_tagk_sets(f.series, 1, true, a, &tagk_sets, &len, &e));
    ck_assert_uint_eq(len, 1);
    ck_assert_uint_eq(tagk_sets[0].tagks[0], 0);
    ck_assert_uint_eq(tagk_sets[0].series, 2);
    fixture_close(&f);
    fixture_open(&f);
    OK(series_kind(f.series, "x-count", false, &kind, &e));
    ck_assert_uint_eq(kind, 2);
    /* More kinds than tag values: an old series is not taken for a new one. */
    (void)resolve_kind("x-count", true);
    OK(series_tagk_sets(f.series, 1, true, a, &tagk_sets, &len, &e));
    ck_assert_uint_eq(tagk_sets[0].series, 2);
    OK(series_kind(f.series, "x-max", false, &kind, &e));
    ck_assert_uint_eq(kind, 0xffffff);
    ck_assert_str_eq(resolve_kind("x-max", true),
                     "000001000000000003000001000001");
    arena_free(&a);
}
END_TEST

START_TEST(kinds_go_into_tsuids_and_out)
{
    const struct key_layout w = KEY_LAYOUT_DEFAULT;
    uint8_t bytes[TSUID_MAX] = { 0, 0, 7, 0, 0, 1, 0, 0, 2 }, out[TSUID_MAX];
    size_t size = series_add_kind(&w, slice_of(bytes, 9), 5, out);
    const uint8_t with[] = { 0, 0, 7, 0, 0, 0, 0, 0, 5, 0, 0, 1, 0, 0, 2 };

    ck_assert_uint_eq(size, sizeof with);
    ck_assert_mem_eq(out, with, sizeof with);
    ck_assert(series_has_kind(&w, slice_of(out, size)));
    ck_assert(!series_has_kind(&w, slice_of(bytes, 9)));
    ck_assert_uint_eq(series_drop_kind(&w, slice_of(out, size), out), 9);
    ck_assert_mem_eq(out, bytes, 9);
    /* There is no room beside the most tags that there can be. */
    for (size_t i = 0; i < KEY_MAX_TAGS; i++)
        bytes[3 + 6 * i + 2] = (uint8_t)(i + 1);
    ck_assert_uint_eq(
        series_add_kind(&w, slice_of(bytes, 3 + 6 * KEY_MAX_TAGS), 5, out), 0);
}
END_TEST

/* -- the index ----------------------------------------------------------- */

/* Both tag-key sets that there are, with these hosts (tagk 1); "dc" is tagk 2.
 */
static struct mask_set *
masks_of_hosts(const uint64_t *hosts, size_t len)
{
    struct mask_set *set = mask_set_new();
    struct mask *m = mask_of_one(1, 1, hosts, len);
    uint8_t dc[3] = { 0, 0, 2 };

    mask_set_give(set, &m);
    m = mask_of_one(1, 1, hosts, len);
    mask_add_fixed(m, slice_of(dc, sizeof dc));
    mask_add_any(m, 3);
    mask_set_give(set, &m);
    return set;
}

static void
check_index(uint64_t *state)
{
    static struct seen got;
    uint64_t ids[20];
    size_t len = 0;
    struct mask_set *masks;

    for (uint64_t id = 1; id < 60 && len < 20; id++)
        if (harness_random(state) % 4 == 0)
            ids[len++] = id;
    masks = masks_of_hosts(ids, len);
    got = (struct seen){ .left = 999 };
    OK(series_each_with(f.series, 1, masks,
                        &(struct series_pick){ 1, ids, len },
                        &(struct series_visit){ see, &got, CANCEL_NEVER }, &e));
    ck_assert_str_eq(got.text, each(1, masks, 999));
    mask_set_free(&masks);
}

START_TEST(index_agrees_with_the_scan)
{
    uint64_t state = harness_seed(1);
    char text[64];

    (void)resolve("m host=h0");
    (void)resolve("m host=h0 dc=d0");
    for (int i = 0; i < 300; i++) {
        int host = (int)(harness_random(&state) % 40);
        int dc = (int)(harness_random(&state) % 3);

        (void)snprintf(text, sizeof text,
                       dc == 0 ? "m host=h%d" : "m host=h%d dc=d%d", host, dc);
        if (i % 3 == 0)
            (void)resolve(text);
        check_index(&state);
    }
}
END_TEST

struct picky {
    uint64_t without;
    int asked;
};

static enum status
take_some(void *ctx, const uint64_t *tagvs, size_t len, bool *takes)
{
    struct picky *p = ctx;

    p->asked += (int)len;
    for (size_t i = 0; i < len; i++)
        takes[i] = tagvs[i] != p->without;
    return ST_OK;
}

START_TEST(index_tells_values)
{
    struct arena *a = arena_new(0);
    struct picky p = { 0, 0 };
    struct slice key = slice_str("not b");
    struct series_values v = { .known = true };

    (void)resolve("m host=a");
    (void)resolve("m host=c dc=x");
    (void)resolve("m host=b dc=x");
    (void)resolve("n host=d");
    p.without = id_of(UID_TAGV, "b");
#define VALUES(tagk, key)                                                    \
    OK(series_values(f.series,                                               \
                     &(struct series_values_query){ 1, tagk, key, take_some, \
                                                    &p, CANCEL_NEVER, a },   \
                     &v, &e))
    VALUES(1, key);
    ck_assert(!v.known); /* asked for the first time */
    VALUES(1, key);
    ck_assert_uint_eq(v.len, 2);
    ck_assert_uint_eq(v.tagvs[1], id_of(UID_TAGV, "c"));
    VALUES(1, key); /* as before, without asking */
    ck_assert(v.len == 2 && p.asked == 3);
    VALUES(2, slice_str("dc"));
    ck_assert(v.known && v.len == 1);
    for (int i = 0; i < 2000; i++) { /* more than are kept, and larger */
        char name[700];

        (void)snprintf(name, sizeof name, "%0*d", 5 + i % 600, i);
        VALUES(1, slice_str(name));
        ck_assert_uint_eq(v.len, 2);
    }
    (void)resolve("m host=d"); /* it is known, too */
    VALUES(1, key);
    ck_assert_uint_eq(v.len, 3);
#undef VALUES
    arena_free(&a);
}
END_TEST

START_TEST(what_is_not_entered_is_not_counted)
{
    static const uint8_t tsuid_m_b[] = { 0, 0, 1, 0, 0, 1, 0, 0, 2 };
    struct tag tags[] = { TAG("host", "b") };
    struct series_entry entries[3];
    struct error why;

    (void)resolve("m host=a");
    (void)resolve("n host=b");
    for (int i = 0; i < 3; i++)
        entries[i] = (struct series_entry){
            .tsuid = slice_of(tsuid_m_b, sizeof tsuid_m_b),
        };
    if (kv_traits(store_kv(f.store))->shared)
        return; /* it has no such failures */
    (void)error_set(&why, ST_IO, "the engine failed");
    (void)kv_fail(store_kv(f.store), &why, NULL);
    for (int i = 0; i < 3; i++) {
        series_ref ref = SERIES_REF_NONE;

        ck_assert_int_ne(series_resolve(f.series, &rules_all,
                                        TEXT(0, slice_str("m"), tags, 1), &ref,
                                        &last, NULL),
                         ST_OK);
        ck_assert_uint_eq(series_total(f.series), 2);
        ck_assert_uint_eq(series_total_of(f.series, id_of(UID_METRIC, "m")), 1);
    }
    /* It repeats within one call. */
    store_kv(f.store)->fault.status = ST_OK;
    OK(series_enter(f.series, entries, 3, &e));
    ck_assert_uint_eq(series_total_of(f.series, id_of(UID_METRIC, "m")), 2);
}
END_TEST

TEST_MAIN_WITH(setup, teardown, "series", TEST(tags_are_sorted_by_id),
               TEST(ids_follow_java), LOOP(rejects, rejected),
               TEST(bounds_the_number_of_tags), TEST(rules_forbid_creation),
               TEST(odd_widths), TEST(tagk_sets_count_series),
               TEST(many_tagk_sets), TEST(exists_and_created),
               TEST(documented_bytes), TIMES(bad_records_are_read_around, 4),
               TEST(each_by_metric_and_mask), TEST(each_with_a_sparse_mask),
               TEST(racing_threads_enter_once), TEST(kinds_are_kept_and_hidden),
               TEST(kinds_go_into_tsuids_and_out),
               TEST(index_agrees_with_the_scan), TEST(index_tells_values),
               TEST(what_is_not_entered_is_not_counted))
