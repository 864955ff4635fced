#include "uid/series/series_tally.h"

#include "tests/uid/fixture.h"

static const struct series_rules rules = { true, true, true, 8, false };

/* "metric k=v k=v" */
static void
enter(struct fixture *f, uint64_t kind, const char *text)
{
    struct slice left = slice_str(text), metric = slice_cut(&left, ' ');
    struct tag tags[8];
    struct tsuid tsuid;
    series_ref ref;
    size_t len = 0;

    while (left.size > 0) {
        struct slice value = slice_cut(&left, ' ');

        tags[len].key = slice_cut(&value, '=');
        tags[len++].value = value;
    }
    OK(series_resolve(f->series, &rules,
                      &(struct series_text){ kind, metric, tags, len }, &ref,
                      &tsuid, &e));
}

static uint64_t
id_of(struct fixture *f, enum uid_kind kind, const char *name)
{
    uint64_t id = 0;

    OK(uid_find(f->uids, kind, slice_str(name), &id, &e));
    return id;
}

static bool
is_cancelled(void *ctx)
{
    size_t *calls = ctx;

    (*calls)++;
    return false;
}

static const char *
tally(struct fixture *f, const char *tagk, const char *pick, const char *of)
{
    static char text[200];
    struct arena *a = arena_new(0);
    uint64_t value = 0;
    struct series_pick p = { 0, NULL, 0 };
    struct series_tallies found;
    size_t calls = 0;

    if (pick != NULL)
        p.tagk = id_of(f, UID_TAGK, pick);
    if (of != NULL) {
        value = id_of(f, UID_TAGV, of);
        p.tagvs = &value;
        p.tagvs_len = 1;
    }
    OK(series_tally(f->series,
                    &(struct series_tally_query){
                        .metric = id_of(f, UID_METRIC, "m"),
                        .tagk = tagk == NULL ? 0 : id_of(f, UID_TAGK, tagk),
                        .picks = &p,
                        .picks_len = pick != NULL,
                        .cancel = { is_cancelled, &calls },
                        .arena = a },
                    &found, &e));
    text[0] = '\0';
    for (size_t i = 0; i < found.len; i++) {
        struct slice name;
        size_t at = strlen(text);

        OK(uid_name_dup(f->uids, tagk == NULL ? UID_TAGK : UID_TAGV,
                        found.all[i].id, a, &name, &e));
        (void)snprintf(text + at, sizeof text - at, "%.*s=%d ", SLICE_ARG(name),
                       (int)found.all[i].series);
    }
    arena_free(&a);
    return text;
}

/* Each twice and more: from the engine, then from the index, then with what
 * came after it was made. */
START_TEST(counts_tags)
{
    struct fixture f = fixture_new(layout_default);
    uint64_t kind;

    enter(&f, 0, "n host=a dc=z");
    enter(&f, 0, "m host=a dc=x");
    enter(&f, 0, "m host=a dc=y");
    enter(&f, 0, "m host=b dc=x");
    enter(&f, 0, "m dc=x");
    OK(series_kind(f.series, "1h", true, &kind, &e));
    enter(&f, kind, "m host=a");
    for (int i = 0; i < 4; i++) {
        ck_assert_str_eq(tally(&f, NULL, NULL, NULL), "dc=4 host=3 ");
        ck_assert_str_eq(tally(&f, "dc", NULL, NULL), "x=3 y=1 ");
        ck_assert_str_eq(tally(&f, "host", NULL, NULL), "a=2 b=1 ");
        ck_assert_str_eq(tally(&f, "host", "dc", "x"), "a=1 b=1 ");
        ck_assert_str_eq(tally(&f, "dc", "host", NULL), "x=2 y=1 ");
        ck_assert_str_eq(tally(&f, NULL, "dc", "y"), "host=1 dc=1 ");
        ck_assert_str_eq(tally(&f, "host", "dc", "z"), "");
    }
    enter(&f, 0, "m host=c dc=x");
    ck_assert_str_eq(tally(&f, "host", NULL, NULL), "a=2 b=1 c=1 ");
    ck_assert_str_eq(tally(&f, "host", "dc", "x"), "a=1 b=1 c=1 ");
    ck_assert_uint_eq(series_total_of(f.series, id_of(&f, UID_METRIC, "n")), 1);
    fixture_free(&f);
}
END_TEST

/* Entries are made by the clock of the system: all are of now. */
START_TEST(counts_what_was_added)
{
    struct fixture f = fixture_new(layout_default);
    struct arena *a = arena_new(0);
    uint32_t now_s = clock_now_s(&clock_system);
    struct series_tallies found;
    size_t calls = 0;

    enter(&f, 0, "m host=a");
    enter(&f, 0, "n host=a");
    enter(&f, 0, "n host=b");
    OK(series_added(
        f.series,
        &(struct series_tally_query){
            .metric = 0, .cancel = { is_cancelled, &calls }, .arena = a },
        now_s, &found, &e));
    ck_assert_uint_eq(found.len, 2);
    ck_assert_uint_eq(found.all[0].id, id_of(&f, UID_METRIC, "m"));
    ck_assert_uint_eq(found.all[0].series, 1);
    ck_assert_uint_eq(found.all[1].series, 2);
    OK(series_added(
        f.series,
        &(struct series_tally_query){ .metric = found.all[1].id,
                                      .cancel = { is_cancelled, &calls },
                                      .arena = a },
        now_s, &found, &e));
    ck_assert_uint_eq(found.len, 1);
    ck_assert_uint_eq(found.all[0].series, 2);
    OK(series_added(
        f.series,
        &(struct series_tally_query){
            .metric = 0, .cancel = { is_cancelled, &calls }, .arena = a },
        now_s + 3600, &found, &e));
    ck_assert_uint_eq(found.len, 0);
    arena_free(&a);
    fixture_free(&f);
}
END_TEST

TEST_MAIN("series_tally", TEST(counts_tags), TEST(counts_what_was_added))
