#include "query/model/filter.h"

#include "query/model/casefold.h"
#include "tests/harness.h"

/* Values that match, and values that do not. */
static const struct {
    const char *type, *text;
    const char *yes[4], *no[5];
} matches[] = {
    { "literal_or", "web01", { "web01" }, { "WEB01", "web0", "web011", "" } },
    { "literal_or", "b|a|c|a", { "a", "b", "c" }, { "d", "", "a|b" } },
    { "literal_or", "a||", { "a" }, { "" } },
    { "literal_or", "||", { NULL }, { "", "a", "|" } },
    { "literal_or", "|a", { "", "a" }, { "b" } },
    { "iliteral_or", "WEB01|Db", { "web01", "Web01", "DB" }, { "web02" } },
    { "iliteral_or", "é-Cole", { "É-COLE", "é-cole" }, { "e-cole" } },
    { "not_literal_or", "a|b", { "c", "A", "" }, { "a", "b" } },
    { "not_iliteral_or", "a|B", { "c", "" }, { "a", "A", "b" } },
    { "wildcard", "*", { "", "x" }, { NULL } },
    { "wildcard", "***", { "", "x" }, { NULL } },
    { "wildcard", "web*", { "web", "web01" }, { "we", "xweb", "WEB" } },
    { "wildcard", "*lga", { "lga", "xlga", "lgalga" }, { "lgax", "ga" } },
    { "wildcard", "*0*", { "0", "a0b" }, { "", "ab" } },
    { "wildcard", "d*v", { "dv", "dev", "dvv" }, { "dev4", "xdev", "d" } },
    { "wildcard", "a*a", { "aa", "aba" }, { "a" } },
    { "wildcard",
      "a*b*c",
      { "abc", "axbxc", "abbc" },
      { "acb", "ac", "abcd" } },
    { "wildcard", "*b*a*", { "ba", "xbya" }, { "ab", "xab" } },
    { "wildcard", "*|web01", { "x|web01" }, { "web01" } },
    { "iwildcard", "*B0*", { "web01", "B0" }, { "web1" } },
    { "iwildcard", "ÉT*", { "été", "ÉT" }, { "et" } },
    { "regexp", "eb0", { "web01", "eb0" }, { "EB0" } },
    { "regexp", "^(web|db)0[12]$", { "web01", "db02" }, { "web03", "xweb01" } },
    { "regexp", "(?i)worker", { "WORKER", "coworkers" }, { "work" } },
    { "regexp", ".", { "é", "x" }, { "" } },
    /* Where Java and PCRE2 differ. */
    { "regexp", "^(?U)[\\P{Blank}a]$", { "a", "b" }, { " ", "\t" } },
    { "regexp", "^(?U)[\\p{Blank}]$", { " ", "\t" }, { "a" } },
    { "regexp", "^\\u0061\\0142\\x{63}$", { "abc" }, { "u0061" } },
    { "regexp", "^\\p{Lower}+\\P{Alpha}$", { "web1" }, { "WEB1", "web" } },
    { "regexp", "^[\\p{Punct}\\d]+$", { "1.0" }, { "a1" } },
    { "regexp", "^\\p{IsHan}+$", { "日本" }, { "web" } },
    { "regexp", "(?iu)^É$", { "é", "É" }, { "e" } },
    { "regexp", "^(?d:a)$", { "a" }, { "b" } },
    { "regexp", "(?i)^É$", { "É" }, { "é" } },
    { "regexp", "(?i)^[À-Þb-e]$", { "É", "C", "c" }, { "é", "a", "F" } },
    { "regexp", "^((?i)\\x61[^b])c$", { "aCc", "ACc" }, { "acC", "aBc" } },
    { "regexp", "^(?i:x\\Qy.\\E)z\\u0041$", { "XY.zA" }, { "xyaz", "xy.Za" } },
    { "regexp", "(?iu)^ı$", { "i", "I", "ı", "İ" }, { "j" } },
    { "regexp", "(?iu)^[ı]$", { "i", "I" }, { "j" } },
    { "regexp", "(?U)^\\w\\W\\bé$", { "é é" }, { "ééé" } },
    { "regexp", "(?U)^[\\d\\s]\\p{Lower}$", { "٣é" }, { "aé", "1É" } },
    { "regexp", "^\\p{InCyrillic}\\P{InCyrillic}$", { "жa" }, { "aж" } },
    { "regexp", "^a{2}{3}$", { "aa" }, { "aaaaaa" } },
    { "regexp", "^[a&&&b]$", { "a", "b", "&" }, { "c" } },
    { "regexp", "\\1(a)", { NULL }, { "a", "aa" } },
    { "regexp", "^(a)\\11$", { "aa1" }, { "aaa", "a11" } },
    { "regexp", "^\\Qa{(\\E$", { "a{(" }, { "a" } },
    { "regexp", "^(?<n>a)(?<=a)\\k<n>{2,}$", { "aaa" }, { "aa" } },
    { "regexp", "^[a-z&&[^w-z]]+$", { "abc" }, { "web", "A" } },
    { "regexp", "^[a-c[x-z]]+$", { "axz" }, { "axm" } },
    { "regexp", "^[^a-z&&b-d]$", { "A", "e", "é" }, { "b", "aa" } },
    { "regexp", "^[a-z&&[b[d-f]]&&[^e]]$", { "b", "d", "f" }, { "e", "a" } },
    { "regexp", "^[&&a-c&&]$", { "a", "c" }, { "&", "d" } },
    { "regexp", "^[[:alpha:]]$", { ":", "a" }, { "b" } },
    { "regexp", "^[\\d-z]+$", { "1-z" }, { "5a" } },
    { "regexp", "^[]{&^]+$", { "]{&^" }, { "a" } },
    { "regexp", "^.$", { "é", "x" }, { "éé", "\xff\xff" } },
    { "not_key", "", { NULL }, { "", "a" } },
};

static struct filter
make(struct arena *a, const char *type, const char *text)
{
    struct filter f;
    struct error e = { ST_OK, "" };

    ck_assert_msg(
        filter_make(&(struct filter_texts){ slice_str(type), slice_str("host"),
                                            slice_str(text), false },
                    a, &f, &e) == ST_OK,
        "%s", e.text);
    return f;
}

START_TEST(matches_values)
{
    struct arena *a = arena_new(0);
    struct filter f = make(a, matches[_i].type, matches[_i].text);

    for (size_t i = 0; i < 4 && matches[_i].yes[i] != NULL; i++)
        ck_assert_msg(filter_matches(&f, slice_str(matches[_i].yes[i]), NULL),
                      "%s(%s) must match '%s'", matches[_i].type,
                      matches[_i].text, matches[_i].yes[i]);
    for (size_t i = 0; i < 5 && matches[_i].no[i] != NULL; i++)
        ck_assert_msg(!filter_matches(&f, slice_str(matches[_i].no[i]), NULL),
                      "%s(%s) must not match '%s'", matches[_i].type,
                      matches[_i].text, matches[_i].no[i]);
    filter_fini(&f);
    arena_free(&a);
}
END_TEST

static const struct {
    const char *value;
    enum filter_type type;
    const char *text;
    bool ignore_case;
} tags[] = {
    { "web01", FILTER_LITERAL_OR, "web01", false },
    { "a|b", FILTER_LITERAL_OR, "a|b", false },
    { "*", FILTER_WILDCARD, "*", true },
    { "WEB*", FILTER_WILDCARD, "WEB*", true },
    { "*|web01", FILTER_WILDCARD, "*|web01", true },
    { "wildcard(WEB*)", FILTER_WILDCARD, "WEB*", false },
    { "LITERAL_or(a)", FILTER_LITERAL_OR, "a", false },
    { "regexp(^(a|b))", FILTER_REGEXP, "^(a|b)", false },
    { "not_key()", FILTER_NOT_KEY, "", false },
    { "x)", FILTER_LITERAL_OR, "x)", false },
};

START_TEST(reads_tags)
{
    struct arena *a = arena_new(0);
    struct filter f;

    ck_assert_int_eq(filter_from_tag(a, slice_str("k"),
                                     slice_str(tags[_i].value), true, &f, NULL),
                     ST_OK);
    ck_assert_int_eq(f.type, tags[_i].type);
    ck_assert(slice_eq_str(f.text, tags[_i].text));
    ck_assert(slice_eq_str(f.tagk, "k"));
    ck_assert(f.group_by);
    ck_assert_int_eq(f.ignore_case, tags[_i].ignore_case);
    filter_fini(&f);
    arena_free(&a);
}
END_TEST

static const struct {
    const char *type; /* NULL: filter_from_tag() */
    const char *tagk, *text, *error;
} rejected[] = {
    { "", "k", "x", "The filter type cannot be null or empty" },
    { "literal_or", "", "x", "The tagk cannot be null or empty" },
    { "LITERAL_OR", "k", "x",
      "Could not find a tag value filter of the type: LITERAL_OR" },
    { "literal_or", "k", "", "Filter cannot be null or empty" },
    { "not_literal_or", "k", "|", "Filter must contain more than just a pipe" },
    { "wildcard", "k", "web01", "Filter must contain an asterisk" },
    { "wildcard", "k", "", "Filter cannot be null or empty" },
    { "regexp", "k", "", "Filter cannot be null or empty" },
    { "regexp", "k", "a\\Kb",
      "Illegal/unsupported escape sequence near index 1\na\\Kb" },
    { "regexp", "k", "\\u12",
      "Illegal Unicode escape sequence near index 0\n\\u12" },
    { "regexp", "k", "a{", "Illegal repetition near index 1\na{" },
    { "regexp", "k", "(?#c)", "Unknown inline modifier near index 2\n(?#c)" },
    { "regexp", "k", "(*FAIL)",
      "Dangling meta character '*' near index 1\n(*FAIL)" },
    { "regexp", "k", "[[[[[[[[[a]]]]]]]]]",
      "Too many classes within classes near index 8\n[[[[[[[[[a]]]]]]]]]" },
    { "regexp", "k", "\\p{Foo",
      "Unknown character property name near index 0\n\\p{Foo" },
    { "regexp", "k", "[", "Unclosed character class near index 0\n[" },
    { "not_key", "k", "x", "The filter must be empty for the not_key filter" },
    { NULL, "", "x", "Tagk cannot be null or empty" },
    { NULL, "k", "", "Filter cannot be null or empty" },
    { NULL, "k", "literal_or(", "Filter must end with a ')': literal_or(" },
    { NULL, "k", "Bogus(x)",
      "Could not find a tag value filter of the type: bogus" },
};

START_TEST(rejects)
{
    struct arena *a = arena_new(0);
    struct slice tagk = slice_str(rejected[_i].tagk);
    struct slice text = slice_str(rejected[_i].text);
    struct error e;
    struct filter f;
    enum status st;

    if (rejected[_i].type == NULL)
        st = filter_from_tag(a, tagk, text, true, &f, &e);
    else
        st = filter_make(&(struct filter_texts){ slice_str(rejected[_i].type),
                                                 tagk, text, true },
                         a, &f, &e);
    ck_assert_int_eq(st, ST_INVALID);
    ck_assert_str_eq(e.text, rejected[_i].error);
    arena_free(&a);
}
END_TEST

static const struct {
    const char *a_type, *a, *b_type, *b;
    bool equal;
} pairs[] = {
    { "literal_or", "a|b", "literal_or", "b|a|b", true },
    { "literal_or", "a|b", "literal_or", "a", false },
    { "literal_or", "a", "iliteral_or", "a", false },
    { "iliteral_or", "A", "iliteral_or", "a", true },
    { "literal_or", "a", "not_literal_or", "a", false },
    { "wildcard", "a*", "wildcard", "a*", true },
    { "wildcard", "a*", "wildcard", "*a", false },
    { "regexp", "a", "regexp", "a", true },
    { "regexp", "a", "regexp", "b", false },
};

START_TEST(compares)
{
    struct arena *arena = arena_new(0);
    struct filter a = make(arena, pairs[_i].a_type, pairs[_i].a);
    struct filter b = make(arena, pairs[_i].b_type, pairs[_i].b);

    ck_assert_int_eq(filter_equal(&a, &b), pairs[_i].equal);
    ck_assert_int_eq(filter_hash(&a, 7) == filter_hash(&b, 7), pairs[_i].equal);
    if (a.type == FILTER_WILDCARD) {
        struct filter old_form = a;

        old_form.ignore_case = true;
        ck_assert(!filter_equal(&a, &old_form));
    }
    b.tagk = slice_str("other");
    ck_assert(!filter_equal(&a, &b));
    filter_fini(&a);
    filter_fini(&b);
    arena_free(&arena);
}
END_TEST

START_TEST(costly_expressions_end)
{
    struct arena *a = arena_new(0);
    struct filter f = make(a, "regexp", "^(a+)+$");
    struct error e = { ST_OK, "" };

    ck_assert(!filter_matches(
        &f, slice_str("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"), &e));
    ck_assert_int_eq(e.status, ST_INVALID);
    filter_fini(&f);
    arena_free(&a);
}
END_TEST

START_TEST(small_arenas_are_a_limit)
{
    struct error e;
    struct filter f;

    for (size_t cap = 1; cap < 400; cap++) {
        struct arena *a = arena_new(cap);
        enum status st = filter_from_tag(
            a, slice_str("k"), slice_str("iliteral_or(a|b|c|d)"), true, &f, &e);

        ck_assert(st == ST_OK || st == ST_LIMIT);
        arena_free(&a);
    }
}
END_TEST

/* 18 bytes become 50 KB each. */
START_TEST(many_large_expressions_are_a_limit)
{
    struct arena *a = arena_new((size_t)64 << 20);
    struct filter f[100];
    size_t len = 0;
    struct error e;
    enum status st = ST_OK;

    while (st == ST_OK && len < 100) {
        st = filter_make(
            &(struct filter_texts){ slice_str("regexp"), slice_str("k"),
                                    slice_str("(?:[b-y]z){1200}"), true },
            a, &f[len], &e);
        len += st == ST_OK;
    }
    ck_assert_int_eq(st, ST_LIMIT);
    ck_assert_uint_gt(len, 10);
    while (len > 0)
        filter_fini(&f[--len]);
    arena_free(&a);
}
END_TEST

static const struct {
    const char *text, *folded;
} folds[] = {
    { "AZaz09[@`{", "azaz09[@`{" },
    { "ÀÞ×ßàÿ", "àþ×ßàÿ" },
    { "ΑΩα", "αωα" },
    { "АЯЀЏа", "аяѐџа" },
    { "\xc3", "\xc3" },
    { "\x80\xc3\x41", "\x80\xc3\x61" },
    { "漢字", "漢字" },
};

START_TEST(folds_case)
{
    struct slice s = slice_str(folds[_i].text);
    uint8_t out[64];

    casefold_bytes(s, out);
    ck_assert(slice_eq_str(slice_of(out, s.size), folds[_i].folded));
    ck_assert_int_eq(casefold_cmp(s, slice_str(folds[_i].folded)), 0);
    memcpy(out, s.data, s.size);
    casefold_bytes(slice_of(out, s.size), out);
    ck_assert(slice_eq_str(slice_of(out, s.size), folds[_i].folded));
}
END_TEST

/* 'least' to 'most' of the parts, one behind the other. */
static void
random_text(uint64_t *random, const char *const *parts, size_t parts_len,
            size_t least, size_t most, struct buf *out)
{
    size_t len = least + harness_random(random) % (most - least + 1);

    buf_clear(out);
    while (len-- > 0)
        buf_put_str(out, parts[harness_random(random) % parts_len]);
}

/* A name that lacks the text which an expression must find is not tried; in
 * a group there is no such text, so both forms must agree. */
START_TEST(literals_of_expressions_reject_no_match)
{
    static const char *const of_patterns[] = {
        "a",  "b",    "ab",     "web",  "-1",   "_",    "a*",  "b?", "ab+",
        ".",  "a{0}", "b{0,2}", "a{2}", "[ab]", "[^a]", "ab?", "^",  "$",
        ".*", "a*+",  "b??",    "]",    "}",    "é",    "é?",
    };
    static const char *const of_texts[] = { "a",  "b", "ab", "w",   "web",
                                            "-1", "_", "1",  "]",   "}",
                                            "é",  ".", "A",  "\xc3" };
    uint64_t random = harness_seed(29);
    struct buf pattern = BUF_INIT, group = BUF_INIT, text = BUF_INIT;
    size_t matches_len = 0;

    for (int i = 0; i < 3000; i++) {
        struct regexp *plain, *grouped;
        struct error e;
        enum status st;

        random_text(&random, of_patterns,
                    sizeof of_patterns / sizeof *of_patterns, 1, 5, &pattern);
        buf_clear(&group);
        buf_printf(&group, "(?:%s)", buf_cstr(&pattern));
        st = regexp_new(buf_slice(&pattern), &plain, &e);
        ck_assert_int_eq(regexp_new(buf_slice(&group), &grouped, &e), st);
        for (int k = 0; k < 30 && st == ST_OK; k++) {
            random_text(&random, of_texts, sizeof of_texts / sizeof *of_texts,
                        0, 5, &text);
            st = regexp_find(grouped, buf_slice(&text), &e);
            matches_len += st == ST_OK;
            ck_assert_msg(regexp_find(plain, buf_slice(&text), &e) == st,
                          "'%s' in '%s'", buf_cstr(&pattern), buf_cstr(&text));
            st = ST_OK;
        }
        regexp_free(&plain);
        regexp_free(&grouped);
    }
    ck_assert_uint_gt(matches_len, 1000);
    buf_fini(&pattern);
    buf_fini(&group);
    buf_fini(&text);
}
END_TEST

TEST_MAIN("filter", LOOP(matches_values, matches), LOOP(reads_tags, tags),
          LOOP(rejects, rejected), LOOP(compares, pairs),
          TEST(costly_expressions_end), TEST(small_arenas_are_a_limit),
          TEST(many_large_expressions_are_a_limit), LOOP(folds_case, folds),
          TEST(literals_of_expressions_reject_no_match))
