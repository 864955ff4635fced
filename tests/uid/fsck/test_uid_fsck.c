/* Faults planted in each table: each is found, told with its code, repaired,
 * and not found again. */
#include "uid/fsck/uid_fsck.h"

#include "storage/histogram/histogram_table.h"
#include "storage/week/week.h"
#include "storage/store/store_retention.h"
#include "tests/nomem.h"
#include "tests/uid/fixture.h"

#define METRIC  "000001"
#define HOST    "000001"
#define TSUID_A METRIC HOST "000001"
#define TSUID_B METRIC HOST "000002"
#define BASE    1356998400

struct rig {
    struct fixture f;
    char *dir, *aside;
    char codes[1000];    /* what was found, in order */
    char repaired[1000]; /* and of these, what was repaired */
    struct check_counts n;
};

static size_t
hex(const char *text, uint8_t *out)
{
    size_t n = strlen(text) / 2;

    for (size_t i = 0; i < n; i++) {
        unsigned v;

        ck_assert_int_eq(sscanf(text + 2 * i, "%2x", &v), 1);
        out[i] = (uint8_t)v;
    }
    return n;
}

static void
write_one(struct rig *r, struct slice key, const struct slice *value)
{
    struct kv_batch *b = kv_batch_new();

    if (value == NULL)
        kv_batch_delete(b, key);
    else
        kv_batch_put(b, key, *value);
    OK(store_write(r->f.store, b, NULL, &e));
    kv_batch_free(&b);
}

/* A tag-key set is counted in each salt bucket: here in that of TSUID_A. */
static struct slice
hex_key(const char *text, uint8_t *out)
{
    size_t n = hex(text, out);
    uint8_t tsuid[100];

    if (out[0] == 'h')
        out[n++] = (uint8_t)key_salt(&layout_default,
                                     slice_of(tsuid, hex(TSUID_A, tsuid)));
    return slice_of(out, n);
}

static void
put(struct rig *r, const char *key, const char *value)
{
    uint8_t k[200], v[200];
    struct slice s = slice_of(v, hex(value, v));

    write_one(r, hex_key(key, k), &s);
}

static void
drop(struct rig *r, const char *key)
{
    uint8_t k[200];

    write_one(r, hex_key(key, k), NULL);
}

static size_t
row_key(const char *tsuid, uint8_t *out)
{
    uint8_t bytes[100];

    return key_row(&layout_default, slice_of(bytes, hex(tsuid, bytes)), BASE,
                   out);
}

static void
add_points(struct rig *r, const char *tsuid)
{
    uint8_t bytes[100];
    struct series_point points[50];
    uint64_t lsn;
    series_ref ref;

    OK(store_series(r->f.store, slice_of(bytes, hex(tsuid, bytes)), false, &ref,
                    &e));
    for (int i = 0; i < 50; i++)
        points[i] = (struct series_point){
            .series = ref,
            .point = { .ts_ms = (BASE + i * 10) * INT64_C(1000),
                       .is_float = i % 2 != 0 },
        };
    for (int i = 0; i < 50; i++)
        if (i % 2 != 0)
            points[i].point.v.d = i / 8.0;
        else
            points[i].point.v.i = i;
    OK(store_put(r->f.store, points, 50, &lsn, &e));
}

static void
add_names(struct rig *r)
{
    uint64_t id;

    OK(uid_assign(r->f.uids, UID_METRIC, slice_str("cpu"), &id, &e));
    OK(uid_assign(r->f.uids, UID_TAGK, slice_str("host"), &id, &e));
    OK(uid_assign(r->f.uids, UID_TAGV, slice_str("a"), &id, &e));
    OK(uid_assign(r->f.uids, UID_TAGV, slice_str("b"), &id, &e));
}

static void
add_others(struct rig *r)
{
    uint8_t tsuid[16];
    struct kv_batch *b = kv_batch_new();

    histogram_put(b, slice_of(tsuid, hex(TSUID_A, tsuid)), BASE * INT64_C(1000),
                  slice_of("\0\0\1\0\0\0\0\x41\x20\0\0\5\0\0", 14));
    OK(store_write(r->f.store, b, NULL, &e));
    kv_batch_free(&b);
    put(r,
        "61000900000100000100000100"
        "00013bf368590a",
        "018ab2a19bbf2700"
        "036869"
        "01"
        "02026b0276");
    put(r, "6d6b000001", "01000a036869010100");
    put(r, "740001", "010001000080d2888705046e65740101");
    put(r, "7400010000000200000003",
        "01030005686f737401010101"
        "0101");
}

static struct slice
tsuid_b(uint8_t out[100])
{
    return slice_of(out, hex(TSUID_B, out));
}

static void
put_tagk_sets(struct rig *r)
{
    uint8_t key[TAGK_SETS_KEY_MAX], b[100];
    struct slice one = slice_of("\0\0\0\0\0\0\0\1", 8);

    put(r, "68" METRIC HOST, "0000000000000001");
    write_one(r, tagk_sets_key(&layout_default, tsuid_b(b), key), &one);
}

static struct rig
rig_new(void)
{
    struct rig r = { .dir = tempdir_new() };

    r.aside = tempdir_path(r.dir, "aside");
    r.f = fixture_new(layout_default);
    add_names(&r);
    for (int i = 1; i <= 2; i++) {
        char tsuid[32];

        (void)snprintf(tsuid, sizeof tsuid, METRIC HOST "%06d", i);
        put(&r, i == 1 ? "73" TSUID_A : "73" TSUID_B, "50e22700");
        add_points(&r, tsuid);
    }
    put_tagk_sets(&r);
    OK(store_flush(r.f.store, &e));
    add_others(&r);
    return r;
}

static void
rig_free(struct rig *r)
{
    fixture_free(&r->f);
    free(r->aside);
    tempdir_free(&r->dir);
}

static void
add_word(char *list, const char *word)
{
    size_t n = strlen(list);

    (void)snprintf(list + n, 1000 - n, "%s%s", n == 0 ? "" : " ", word);
}

static void
say(void *ctx, const struct finding *f)
{
    struct rig *r = ctx;

    if (f->is_note && strcmp(f->code, "row-orphan") == 0)
        return; /* what uid-two-ids leaves */
    ck_assert(!f->is_note);
    ck_assert_ptr_nonnull(f->text);
    add_word(r->codes, f->code);
    if (f->repaired != NULL)
        add_word(r->repaired, f->code);
}

static void
look(struct rig *r, bool repair)
{
    struct check c = { .say = say,
                       .ctx = r,
                       .aside = repair ? r->aside : NULL };

    r->codes[0] = r->repaired[0] = '\0';
    OK(check_tables(r->f.store, &c, &r->n, &e));
}

START_TEST(finds_nothing_where_nothing_is_wrong)
{
    struct rig r = rig_new();

    look(&r, false);
    ck_assert_str_eq(r.codes, "");
    ck_assert_uint_eq(r.n.names, 4);
    ck_assert_uint_eq(r.n.series, 2);
    ck_assert_uint_eq(r.n.tagk_sets, 2);
    ck_assert_uint_eq(r.n.rows, 2);
    ck_assert_uint_eq(r.n.points, 100);
    ck_assert_uint_eq(r.n.histograms, 1);
    ck_assert_uint_eq(r.n.notes, 1);
    ck_assert_uint_eq(r.n.others, 3);
    rig_free(&r);
}
END_TEST

static void
say_note(void *ctx, const struct finding *f)
{
    struct rig *r = ctx;

    ck_assert(f->is_note);
    add_word(r->codes, f->code);
    ck_assert_ptr_nonnull(strstr(f->text, " rows lie before the cut"));
    add_word(r->codes, (char[]){ f->text[0], '\0' }); /* how many */
}

/* Rows that retention has yet to drop are no damage. */
START_TEST(notes_expired_rows)
{
    struct rig r = rig_new();
    struct check c = { .say = say_note, .ctx = &r };
    int64_t cut_ms = (BASE + 21600) * INT64_C(1000);
    struct store_cut cut = { 1, cut_ms, cut_ms };

    OK(store_cuts_set(r.f.store, &cut, 1, &e));
    OK(check_tables(r.f.store, &c, &r.n, &e));
    ck_assert_str_eq(r.codes, "row-expired 2");
    ck_assert_uint_eq(c.found, 0);
    rig_free(&r);
}
END_TEST

/* -- planted --------------------------------------------------------------- */

static void
spoil_block(struct rig *r)
{
    uint8_t key[ROW_KEY_MAX];
    struct slice k = slice_of(key, row_key(TSUID_A, key)), v;
    struct buf value = BUF_INIT;

    OK(kv_get(store_kv(r->f.store), k, &value, &e));
    value.data[value.size / 2] ^= 4;
    v = buf_slice(&value);
    write_one(r, k, &v);
    buf_fini(&value);
}

/* A block under another hour, another series' salt, or half a tag. */
static void
move_block(struct rig *r, size_t at, uint8_t by, bool cut)
{
    uint8_t key[ROW_KEY_MAX];
    struct slice k = slice_of(key, row_key(TSUID_A, key)), v;
    struct buf value = BUF_INIT;

    OK(kv_get(store_kv(r->f.store), k, &value, &e));
    write_one(r, k, NULL);
    key[at] = (uint8_t)(key[at] + by);
    k.size -= cut;
    v = buf_slice(&value);
    write_one(r, k, &v);
    buf_fini(&value);
}

static void
other_span(struct rig *r)
{
    const uint8_t later[] = { 0x50, 0xe2, 0x7b, 0x60 };
    uint8_t key[ROW_KEY_MAX];
    struct slice k = slice_of(key, row_key(TSUID_A, key)), v;
    struct buf value = BUF_INIT;

    OK(kv_get(store_kv(r->f.store), k, &value, &e));
    memcpy(key + 5, later, sizeof later);
    v = buf_slice(&value);
    write_one(r, k, &v);
    buf_fini(&value);
}

#include "tests/uid/fsck/plant_parts.h"

static void
wrong_salt(struct rig *r)
{
    move_block(r, 1, 1, false);
}

static void
half_a_tag(struct rig *r)
{
    move_block(r, 1, 0, true);
}

static void
lost_both_ways(struct rig *r)
{
    drop(r, "756b6e686f7374");
    drop(r, "756b69" HOST);
}

static void
two_names(struct rig *r)
{
    put(r, "756b6e7a", HOST "00000000");
}

static void
two_ids(struct rig *r)
{
    put(r, "756b69000009", "686f7374");
}

static void
swapped(struct rig *r)
{
    put(r,
        "75766900"
        "0001",
        "62");
    put(r,
        "75766900"
        "0002",
        "61");
}

static void
behind_the_counter(struct rig *r)
{
    put(r, "757663", "0000000000000001");
}

static void
series_without_names(struct rig *r)
{
    put(r, "73" METRIC "f00000000001", "50e22700");
}

static void
series_of_no_kind(struct rig *r)
{
    put(r, "73" METRIC "000000000007" HOST "000001", "50e22700");
}

static void
no_series(struct rig *r)
{
    drop(r, "73" TSUID_A);
    drop(r, "68" METRIC HOST);
}

static void
no_directory(struct rig *r)
{
    uint8_t key[TAGK_SETS_KEY_MAX], b[100];

    drop(r, "73" TSUID_A);
    drop(r, "73" TSUID_B);
    drop(r, "68" METRIC HOST);
    write_one(r, tagk_sets_key(&layout_default, tsuid_b(b), key), NULL);
}

static void
orphan_rule(struct rig *r)
{
    drop(r, "740001");
}

/* What the row of a series says of its week; 'more': and one point more. */
static void
put_week(struct rig *r, const char *tsuid, bool more)
{
    static struct week w;
    struct points scratch = { 0 }, one = { 0 };
    struct buf row = BUF_INIT, value = BUF_INIT;
    uint8_t key[ROW_KEY_MAX], bytes[100];
    struct slice series = slice_of(bytes, hex(tsuid, bytes)), v;

    OK(kv_get(store_kv(r->f.store), slice_of(key, row_key(tsuid, key)), &row,
              &e));
    week_init(&w, week_base(BASE));
    OK(week_add_row(
        &w, &(struct row_of_parts){ .layout = &layout_default, .span = BASE },
        buf_slice(&row), &scratch, &e));
    if (more) {
        ck_assert(points_add(
            &one, (struct point){ .ts_ms = (BASE + 7200) * INT64_C(1000) }));
        block_encode(&one, BASE + 7200, &value);
        OK(week_add(&w, buf_slice(&value), BASE + 7200, &scratch, &e));
        buf_clear(&value);
    }
    week_encode(&w, &value);
    v = buf_slice(&value);
    write_one(r, slice_of(key, key_week(&layout_default, series, BASE, key)),
              &v);
    buf_fini(&row);
    buf_fini(&value);
    points_fini(&scratch);
    points_fini(&one);
}

/* All weeks are said to be summarised, or nothing is said. */
static void
write_week_states(struct rig *r, bool are_summarised)
{
    struct slice v;
    uint8_t done[8], key[2];

    key_put_uint(done, week_base(BASE) + WEEK_S, 4);
    key_put_uint(done + 4, week_base(BASE) + WEEK_S, 4);
    v = slice_of(done, sizeof done);
    for (unsigned i = 0; i < layout_default.salt_buckets; i++)
        write_one(r, slice_of(key, key_weeks_state(&layout_default, i, key)),
                  are_summarised ? &v : NULL);
}

static void
put_week_states(struct rig *r)
{
    write_week_states(r, true);
}

static void
right_weeks(struct rig *r)
{
    put_week(r, TSUID_A, false);
    put_week(r, TSUID_B, false);
    put_week_states(r);
}

static void
wrong_week(struct rig *r)
{
    put_week(r, TSUID_A, true);
    put_week(r, TSUID_B, false);
    put_week_states(r);
}

static void
no_week(struct rig *r)
{
    put_week(r, TSUID_B, false);
    put_week_states(r);
}

/* It is told, and stays: its points may have expired. */
START_TEST(a_week_without_rows_stays)
{
    struct rig r = rig_new();
    uint8_t key[ROW_KEY_MAX];

    right_weeks(&r);
    write_one(&r, slice_of(key, row_key(TSUID_A, key)), NULL);
    for (int i = 0; i < 2; i++) {
        look(&r, true);
        ck_assert_str_eq(r.codes, "week-alone");
        ck_assert_str_eq(r.repaired, "");
        ck_assert_uint_eq(r.n.weeks, 2);
    }
    rig_free(&r);
}
END_TEST

/* Of weeks before the cut what is damaged makes way. */
static void
check_damaged_week(bool is_summarised)
{
    struct rig r = rig_new();
    struct store_cut cut = { 1, (int64_t)(week_base(BASE) + WEEK_S) * 1000, 0 };
    uint8_t key[ROW_KEY_MAX], tsuid[100];
    struct slice series = slice_of(tsuid, hex(TSUID_A, tsuid)),
                 junk = slice_str("junk");

    put_week_states(&r);
    OK(store_cuts_set(r.f.store, &cut, 1, &e));
    write_week_states(&r, is_summarised);
    for (int i = 0; i < 2; i++)
        write_one(&r, slice_of(key, row_key(i == 0 ? TSUID_A : TSUID_B, key)),
                  NULL);
    write_one(&r, slice_of(key, key_week(&layout_default, series, BASE, key)),
              &junk);
    look(&r, true);
    ck_assert_str_eq(r.codes, "week-entry");
    ck_assert_str_eq(r.repaired, "week-entry");
    look(&r, false);
    ck_assert_str_eq(r.codes, "");
    rig_free(&r);
}

START_TEST(a_damaged_week_that_stands_alone_is_moved_aside)
{
    check_damaged_week(true);
    check_damaged_week(false);
}
END_TEST

/* What stays until its week has the hourly values is not said to go. */
START_TEST(notes_no_rows_that_stay)
{
    struct rig r = rig_new();
    struct check c = { .say = say_note, .ctx = &r };
    struct store_cut cut = { 1, (int64_t)(week_base(BASE) + WEEK_S) * 1000, 0 };

    put_week_states(&r);
    OK(store_cuts_set(r.f.store, &cut, 1, &e));
    write_week_states(&r, false);
    OK(check_tables(r.f.store, &c, &r.n, &e));
    ck_assert_str_eq(r.codes, "");
    put_week(&r, TSUID_A, false);
    OK(check_tables(r.f.store, &c, &r.n, &e));
    ck_assert_str_eq(r.codes, "row-expired 1");
    ck_assert_uint_eq(c.found, 0);
    rig_free(&r);
}
END_TEST

START_TEST(weeks_are_what_rows_say)
{
    struct rig r = rig_new();

    right_weeks(&r);
    look(&r, false);
    ck_assert_str_eq(r.codes, "");
    ck_assert_uint_eq(r.n.weeks, 2);
    for (unsigned n = 0; nomem_begin(n); n++) { /* no memory is no damage */
        struct check c = { .say = say, .ctx = &r };

        (void)(check_tables(r.f.store, &c, &r.n, NULL) == ST_OK);
        nomem_end();
    }
    ck_assert_str_eq(r.codes, "");
    rig_free(&r);
}
END_TEST

static const struct {
    const char *codes;
    const char *key, *value;        /* planted; value NULL: the key deleted */
    void (*plant)(struct rig *rig); /* or so */
} faults[] = {
    { "week", NULL, NULL, wrong_week },
    { "week-missing", NULL, NULL, no_week },
    { "week-key", "77000000", "00", NULL },
    { "cut-entry", "63" METRIC, "50e2270050e22701", NULL },
    { "cut-entry", "63" METRIC, "0102", NULL },
    { "cut-entry", "63" METRIC, "00000e10", NULL }, /* no span begins */
    { "cut-entry", "63000009", "50e22700", NULL },  /* no such metric */
    { "cut-entry", "630001", "50e22700", NULL },
    { "uid-no-id", "756b6e686f7374", NULL, NULL },
    { "uid-no-name", "756b69" HOST, NULL, NULL },
    { "uid-lost", NULL, NULL, lost_both_ways },
    { "uid-two-names", NULL, NULL, two_names },
    { "uid-two-ids uid-counter", NULL, NULL, two_ids },
    { "uid-two-ids uid-two-ids uid-two-names uid-two-names", NULL, NULL,
      swapped },
    { "uid-counter", NULL, NULL, behind_the_counter },
    { "uid-counter", "756b63", NULL, NULL },
    { "uid-entry", "756b63", "01", NULL },
    { "uid-entry", "75787878", "01", NULL },
    { "uid-entry", "756b6900", "61", NULL },
    { "uid-entry", "756b6e7878", "0000", NULL },
    { "uid-entry", "756b6400", "61", NULL },
    { "uid-entry", "756b64" HOST, "61", NULL },
    { "series-id", NULL, NULL, series_without_names },
    { "series-id", NULL, NULL, series_of_no_kind },
    { "series-key", "73" METRIC, "50e22700", NULL },
    { "series-key", "73" TSUID_A "01", "50e22700", NULL },
    { "series-key", "73" TSUID_A HOST "000002", "50e22700", NULL },
    { "series-entry", "73" TSUID_A, "50", NULL },
    { "tagk-sets", "68" METRIC HOST, "0000000000000003", NULL },
    { "tagk-sets", "68" METRIC HOST, NULL, NULL },
    { "tagk-sets", "68" METRIC "000002", "0000000000000001", NULL },
    { "tagk-sets", "68" METRIC "0002", "0000000000000001", NULL },
    { "row-series", NULL, NULL, no_series },
    { "row-series row-series", NULL, NULL, no_directory },
    { "row-block", NULL, NULL, spoil_block },
    { "row-block", NULL, NULL, other_span },
    { "row-part", NULL, NULL, unused_part },
    { "row-block", NULL, NULL, missing_part },
    { "row-key", NULL, NULL, no_hour },
    { "row-key", NULL, NULL, half_a_tag },
    { "row-salt", NULL, NULL, wrong_salt },
    { "histogram-key", "67000900", "00", NULL },
    { "histogram-entry", "670009" TSUID_A "0000013bf3685800", "000002000000",
      NULL },
    { "note-entry", "6100", "01", NULL },
    { "note-entry",
      "61000900000100000100000100"
      "00013bf368590a",
      "ff", NULL },
    { "meta-entry", "6d6b000001", "0102", NULL },
    { "meta-entry", "6d7a000001", "01000a036869010100", NULL },
    { "tree-entry", "740001", "02", NULL },
    { "tree-entry", NULL, NULL, orphan_rule },
    { "uid-entry", "75706e78", "000001", NULL },
    { "uid-no-name uid-counter", "75706e78", "00000100000000", NULL },
    { "no-table", "70", "00000001", NULL },
    { "quarantine", "7100", "03", NULL },
    { "no-table", "00", "00", NULL },
    { "no-table", "7a7a", "", NULL },
};

START_TEST(finds_and_repairs)
{
    struct rig r = rig_new();
    char codes[1000];

    if (faults[_i].plant != NULL)
        faults[_i].plant(&r);
    else if (faults[_i].value == NULL)
        drop(&r, faults[_i].key);
    else
        put(&r, faults[_i].key, faults[_i].value);
    look(&r, false);
    if (strncmp(faults[_i].codes, "tree", 4) != 0 &&
        strcmp(faults[_i].codes, "uid-entry") != 0)
        ck_assert_str_eq(r.codes, faults[_i].codes);
    ck_assert_msg(
        strncmp(r.codes, faults[_i].codes, strlen(faults[_i].codes)) == 0,
        "%s, not %s", r.codes, faults[_i].codes);
    (void)snprintf(codes, sizeof codes, "%s", r.codes);
    look(&r, true);
    ck_assert_str_eq(r.codes, codes);
    ck_assert_str_eq(r.repaired, codes);
    for (int round = 0; round < 3 && r.codes[0] != '\0'; round++)
        look(&r, true);
    ck_assert_str_eq(r.codes, "");
    look(&r, false);
    ck_assert_str_eq(r.codes, "");
    rig_free(&r);
}
END_TEST

/* What cannot be used is not gone. */
START_TEST(keeps_aside)
{
    struct rig r = rig_new();
    char *path = tempdir_path(r.aside, "entries"), line[4096] = "";
    uint8_t key[ROW_KEY_MAX];
    size_t size = row_key(TSUID_A, key);
    FILE *f;

    spoil_block(&r);
    look(&r, true);
    f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
    for (size_t i = 0; i < size; i++) {
        unsigned v;

        ck_assert_int_eq(sscanf(line + 2 * i, "%2x", &v), 1);
        ck_assert_uint_eq(v, key[i]);
    }
    ck_assert_int_eq(line[2 * size], ' ');
    ck_assert_ptr_null(fgets(line, sizeof line, f));
    (void)fclose(f);
    free(path);
    rig_free(&r);
}
END_TEST

static void
check_orphans(struct rig *r, bool finds, bool drops, const char *codes)
{
    struct check c = { .say = say,
                       .ctx = r,
                       .aside = drops ? r->aside : NULL,
                       .finds_orphans = finds,
                       .drops_orphans = drops };

    r->codes[0] = r->repaired[0] = '\0';
    OK(check_tables(r->f.store, &c, &r->n, &e));
    ck_assert_str_eq(r->codes, codes);
    ck_assert_str_eq(r->repaired, drops ? codes : "");
}

/* Of a series of which a name was deleted nothing is left. */
START_TEST(orphans_go_with_all)
{
    struct rig r = rig_new();
    const char *codes = "row-orphan histogram-orphan note-orphan";

    right_weeks(&r);
    put(&r, "6d74" TSUID_A, "01000000000000");
    OK(uid_delete(r.f.uids, UID_TAGV, slice_str("a"), &e));
    look(&r, true);
    (void)snprintf(r.codes, sizeof r.codes, "%s", "");
    check_orphans(&r, false, false, "");
    check_orphans(&r, true, false, codes);
    check_orphans(&r, true, true, codes);
    check_orphans(&r, true, false, "");
    ck_assert_uint_eq(r.n.series, 1);
    ck_assert_uint_eq(r.n.tagk_sets, 1);
    ck_assert_uint_eq(r.n.rows, 1);
    ck_assert_uint_eq(r.n.weeks, 1);
    ck_assert_uint_eq(r.n.histograms + r.n.notes, 0);
    ck_assert_uint_eq(r.n.others, 3); /* a tag key's metadata, a tree */
    rig_free(&r);
}
END_TEST

/* The metric's cut, too. */
START_TEST(an_orphaned_metric_goes_with_its_cut)
{
    struct rig r = rig_new();
    struct store_cut cut = { 1, INT64_C(3600000), 0 };
    struct buf value = BUF_INIT;
    uint8_t key[8];

    OK(store_cuts_set(r.f.store, &cut, 1, &e));
    OK(uid_delete(r.f.uids, UID_METRIC, slice_str("cpu"), &e));
    check_orphans(&r, true, true,
                  "row-orphan row-orphan histogram-orphan note-orphan");
    check_orphans(&r, true, false, "");
    ck_assert_uint_eq(r.n.series + r.n.tagk_sets + r.n.rows, 0);
    ck_assert_int_eq(kv_get(store_kv(r.f.store),
                            slice_of(key, hex("63" METRIC, key)), &value, NULL),
                     ST_NOT_FOUND);
    buf_fini(&value);
    rig_free(&r);
}
END_TEST

/* A row that was under the wrong salt can be read afterwards. */
START_TEST(moves_to_the_right_salt)
{
    struct rig r = rig_new();
    uint8_t key[ROW_KEY_MAX];
    size_t size = row_key(TSUID_A, key);
    struct buf value = BUF_INIT;

    wrong_salt(&r);
    look(&r, true);
    OK(kv_get(store_kv(r.f.store), slice_of(key, size), &value, &e));
    buf_fini(&value);
    rig_free(&r);
}
END_TEST

TEST_MAIN("check", TEST(finds_nothing_where_nothing_is_wrong),
          TEST(notes_expired_rows), TEST(notes_no_rows_that_stay),
          TEST(weeks_are_what_rows_say), TEST(a_week_without_rows_stays),
          TEST(a_damaged_week_that_stands_alone_is_moved_aside),
          LOOP(finds_and_repairs, faults), TEST(keeps_aside),
          TEST(moves_to_the_right_salt), TEST(orphans_go_with_all),
          TEST(an_orphaned_metric_goes_with_its_cut))
