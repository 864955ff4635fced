/* A parser of our own, and Jansson: what both read is the same. */
#include "config.h"

#include "query/parse/tree.h"

#include <stdlib.h>

#include "base/buf.h"
#include "tests/harness.h"

static void
put_value(struct buf *b, const struct tree_value *v)
{
    static const char *const words[] = { "null", "false", "true" };

    if (v->key.data != NULL)
        buf_printf(b, "%.*s=", SLICE_ARG(v->key));
    switch (v->kind) {
    case TREE_NULL:
    case TREE_FALSE:
    case TREE_TRUE:
        buf_put_str(b, words[v->kind]);
        break;
    case TREE_INTEGER:
        buf_printf(b, "%lld", (long long)v->integer);
        break;
    case TREE_REAL:
        buf_printf(b, "%g", v->real);
        break;
    case TREE_STRING:
        buf_printf(b, "'%.*s'", SLICE_ARG(v->text));
        break;
    case TREE_ARRAY:
    case TREE_OBJECT:
        buf_printf(b, "%c%zu", v->kind == TREE_ARRAY ? '[' : '{', v->len);
        for (const struct tree_value *m = v->first; m != NULL; m = m->next) {
            buf_put_u8(b, ' ');
            put_value(b, m);
        }
        buf_put_u8(b, v->kind == TREE_ARRAY ? ']' : '}');
        break;
    }
}

static const struct {
    const char *text, *plain, *any; /* NULL: refused */
} cases[] = {
    { "{}", "{0}", "{0}" },
    { " [ ] ", "[0]", "[0]" },
    { "5", "5", "5" },
    { "-0", "0", "0" },
    { "\"x\"", "'x'", "'x'" },
    { "null", "null", "null" },
    { "{\"a\":1,\"b\":[true,false,null],\"c\":{\"d\":\"\"}}",
      "{3 a=1 b=[3 true false null] c={1 d=''}}",
      "{3 a=1 b=[3 true false null] c={1 d=''}}" },
    { "[[],[[1]],{},2]", "[4 [0] [1 [1 1]] {0} 2]", "[4 [0] [1 [1 1]] {0} 2]" },
    { "\t{\r\n\"a\" :\n-12 }", "{1 a=-12}", "{1 a=-12}" },
    { "999999999999999999", "999999999999999999", "999999999999999999" },
    /* Jansson's alone: */
    { "9223372036854775807", NULL, "9223372036854775807" },
    { "[1.5]", NULL, "[1 1.5]" },
    { "[1e2]", NULL, "[1 100]" },
    { "[\"a\\\"b\"]", NULL, "[1 'a\"b']" },
    { "[\"\xc3\xa9\"]", NULL, "[1 '\xc3\xa9']" },
    { "{\"a\":1,\"b\":2,\"a\":3}", NULL, "{2 a=3 b=2}" },
    { "[1] x", NULL, "[1 1]" },
    /* nobody's */
    { "", NULL, NULL },
    { " ", NULL, NULL },
    { "{", NULL, NULL },
    { "[1", NULL, NULL },
    { "[1,]", NULL, NULL },
    { "[,1]", NULL, NULL },
    { "[1 2]", NULL, NULL },
    { "{\"a\"}", NULL, NULL },
    { "{\"a\":}", NULL, NULL },
    { "{a:1}", NULL, NULL },
    { "{\"a\":1]", NULL, NULL },
    { "[01]", NULL, NULL },
    { "[-]", NULL, NULL },
    { "[+1]", NULL, NULL },
    { "[truex]", NULL, NULL },
    { "[nul]", NULL, NULL },
    { "[\"a\nb\"]", NULL, NULL },
    { "[\"a", NULL, NULL },
    { "[9223372036854775808]", NULL, NULL },
};

/* What was read, as text; NULL when it was refused. */
static char *
show(struct slice body, bool plain)
{
    struct tree t;
    struct buf b = BUF_INIT;
    json_error_t why;
    char *out = NULL;

    if (plain ? tree_load_plain(&t, body) : tree_load(&t, body, &why)) {
        put_value(&b, t.root);
        out = strdup(buf_cstr(&b));
    }
    tree_unload(&t);
    buf_fini(&b);
    return out;
}

static void
expect(struct slice body, bool plain, const char *want)
{
    char *got = show(body, plain);

    if (want == NULL || got == NULL)
        ck_assert_msg(want == NULL && got == NULL, "%.*s: got %s, want %s",
                      SLICE_ARG(body), got, want);
    else
        ck_assert_str_eq(got, want);
    free(got);
}

START_TEST(reads)
{
    struct slice body = slice_str(cases[_i].text);

    expect(body, true, cases[_i].plain);
    expect(body, false, cases[_i].any);
}
END_TEST

/* Whatever our own parser takes, Jansson takes as the same. */
START_TEST(agrees)
{
    static const char *const pieces[] = {
        "{",       "}",    "[",       "]",    ",",     ":",  "\"a\"",
        "\"b\"",   "\"\"", "null",    "true", "1",     "-7", "\"c\":",
        "\"d\":[", " ",    "\"e\":{", "0",    "false", "}]",
    };
    uint64_t state = harness_seed(11);

    for (int round = 0; round < harness_rounds(20000); round++) {
        struct buf b = BUF_INIT;
        uint64_t len = 1 + harness_random(&state) % 12;
        char *got;

        buf_put_str(&b, harness_random(&state) % 2 == 0 ? "{" : "[");
        for (uint64_t i = 0; i < len; i++)
            buf_put_str(&b, pieces[harness_random(&state) % 20]);
        got = show(buf_slice(&b), true);
        if (got != NULL)
            expect(buf_slice(&b), false, got);
        free(got);
        buf_fini(&b);
    }
}
END_TEST

START_TEST(has_a_depth)
{
    char text[200];

    for (size_t depth = 60; depth < 70; depth++) {
        struct tree t;

        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        ck_assert_int_eq(tree_load_plain(&t, slice_of(text, 2 * depth)),
                         depth <= 64);
        tree_unload(&t);
    }
}
END_TEST

TEST_MAIN("tree", TIMES(reads, sizeof cases / sizeof cases[0]), TEST(agrees),
          TEST(has_a_depth))
