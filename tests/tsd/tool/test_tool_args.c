/* OpenTSDB's grammar of options, case by case. */
#include "tsd/tool/tool_args.h"

#include "tests/harness.h"

static const struct tool_option own[] = {
    { "--config", "FILE", "A file." },
    { "--flag", NULL, "A flag." },
    { "-i", NULL, "Short." },
    { 0 },
};
static const struct tool_option common[] = {
    { "--data", "DIR", "A folder." },
    { 0 },
};

static const struct {
    const char *argv[6];
    const char *words;                /* joined by ' ' */
    const char *config, *flag, *data; /* values */
    const char *fault;                /* NULL: none */
} cases[] = {
    { { "a", "b" }, "a b", NULL, NULL, NULL, NULL },
    { { "--config", "x", "a" }, "a", "x", NULL, NULL, NULL },
    { { "a", "--config=x=y", "b" }, "a b", "x=y", NULL, NULL, NULL },
    { { "--config", "x", "--config", "y" }, "", "y", NULL, NULL, NULL },
    { { "--config", "--flag" }, "", "--flag", NULL, NULL, NULL },
    { { "--config=" }, "", "", NULL, NULL, NULL },
    { { "a", "--flag", "b" }, "a b", NULL, "", NULL, NULL },
    { { "--flag=no" }, "", NULL, "no", NULL, NULL },
    { { "--data", "d", "-i" }, "", NULL, NULL, "d", NULL },
    { { "--", "--flag", "-5" }, "--flag -5", NULL, NULL, NULL, NULL },
    { { "a", "--", "--" }, "a --", NULL, NULL, NULL, NULL },
    { { "-", "" }, "- ", NULL, NULL, NULL, NULL },
    { { "--bogus" }, "", 0, 0, 0, "Unrecognized option --bogus" },
    { { "--bogus=1" }, "", 0, 0, 0, "Unrecognized option --bogus=1" },
    { { "--conf", "x" }, "", 0, 0, 0, "Unrecognized option --conf" },
    { { "-5" }, "", 0, 0, 0, "Unrecognized option -5" },
    { { "-ii" }, "", 0, 0, 0, "Unrecognized option -ii" },
    { { "a", "--config" }, "", 0, 0, 0, "Missing argument for --config" },
};

static void
same(const char *got, const char *wanted)
{
    ck_assert_ptr_eq(got == NULL ? NULL : "", wanted == NULL ? NULL : "");
    if (wanted != NULL)
        ck_assert_str_eq(got, wanted);
}

START_TEST(parses)
{
    struct tool_args a;
    struct error e = { .text = "" };
    size_t argc = 0;
    enum status st;

    while (cases[_i].argv[argc] != NULL)
        argc++;
    st = tool_args_parse(&a, own, common, argc, cases[_i].argv, &e);
    if (cases[_i].fault != NULL) {
        ck_assert_int_eq(st, ST_INVALID);
        ck_assert_str_eq(e.text, cases[_i].fault);
    } else {
        struct buf words = BUF_INIT;

        ck_assert_int_eq(st, ST_OK);
        for (size_t i = 0; i < a.len; i++)
            buf_printf(&words, "%s%s", i == 0 ? "" : " ", a.words[i]);
        ck_assert_str_eq(buf_cstr(&words), cases[_i].words);
        same(tool_args_get(&a, "--config"), cases[_i].config);
        same(tool_args_get(&a, "--flag"), cases[_i].flag);
        same(tool_args_get(&a, "--data"), cases[_i].data);
        buf_fini(&words);
    }
    tool_args_fini(&a);
}
END_TEST

START_TEST(describes_sorted_and_aligned)
{
    struct buf text = BUF_INIT;

    tool_args_describe(own, common, &text);
    ck_assert_str_eq(buf_cstr(&text), "  --config=FILE A file.\n"
                                      "  --data=DIR    A folder.\n"
                                      "  --flag        A flag.\n"
                                      "  -i            Short.\n");
    buf_fini(&text);
}
END_TEST

TEST_MAIN("tool_args", LOOP(parses, cases), TEST(describes_sorted_and_aligned))
