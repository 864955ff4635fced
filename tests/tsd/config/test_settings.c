#include "tsd/config/settings.h"

#include <string.h>
#include <unistd.h>

#include "tests/harness.h"
#include "tsd/config/memory_settings.h"
#include "tsd/config/options.h"
#include "tsd/config/properties.h"

static const struct {
    const char *text, *pairs; /* NULL: rejected */
} files[] = {
    { "", "" },
    { "a = b", "[a|b]" },
    { "a=b\nc:d\ne f\n", "[a|b][c|d][e|f]" },
    { "  a  =  b c \n", "[a|b c ]" },
    { "# c = d\n ! e = f\na=b", "[a|b]" },
    { "a = b\\\n    c\nd = e", "[a|bc][d|e]" },
    { "a = b\\\r\n\tc\r\nd = e\r\n", "[a|bc][d|e]" },
    { "a\rb\r", "[a|][b|]" },
    { "a\\ b\\=c = d\\=\\:", "[a b=c|d=:]" },
    { "a = \\t\\n\\\\x\\q", "[a|\t\n\\xq]" },
    { "a = \\u00e9\\u20AC", "[a|\xc3\xa9\xe2\x82\xac]" },
    { "a = \\u00g9", NULL },
    { "a = \\u00", NULL },
    { "a = b\\", "[a|b]" },
    { "a == b", "[a|= b]" },
    { "a = b\\\\\nc = d", "[a|b\\][c|d]" },
    { "# comment \\\na = b", "[a|b]" },
    { "\n\n  \na\n", "[a|]" },
};

static void
found(void *ctx, const char *key, const char *value, size_t solid, size_t line)
{
    ck_assert_uint_le(solid, strlen(value));
    char *to = ctx;

    (void)snprintf(to + strlen(to), 200, "[%s|%s]", key, value);
}

START_TEST(reads_properties)
{
    char got[1000] = "";
    struct error e;
    enum status st =
        properties_parse(slice_str(files[_i].text), found, got, &e);

    if (files[_i].pairs == NULL) {
        ck_assert_int_eq(st, ST_INVALID);
        ck_assert_ptr_nonnull(strstr(e.text, "line 1"));
    } else {
        ck_assert_int_eq(st, ST_OK);
        ck_assert_str_eq(got, files[_i].pairs);
    }
}
END_TEST

static const struct {
    const char *word;
    const char *error; /* NULL: it is fine */
} words[] = {
    { "tsd.network.port=0", NULL },
    { "tsd.network.port=65535", NULL },
    { "tsd.network.port=65536", "between 0 and 65535" },
    { "tsd.network.port=-1", "between" },
    { "tsd.network.port=4242x", "not a whole number" },
    { "tsd.network.port= 4242 ", NULL },
    { "tsd.network.port=", NULL },
    { "tsd.mode=ro", NULL },
    { "tsd.mode=Wo", NULL },
    { "tsd.mode=r", "must be one of rw|ro|wo" },
    { "tsd.mode=", "must be one of" },
    { "halite.sync=always", NULL },
    { "halite.sync=never", "must be one of always|interval|off" },
    { "halite.store.head_bytes=2M", NULL },
    { "halite.store.head_bytes=64k", "between" },
    { "halite.store.head_bytes=99999999999G", "not a whole number" },
    { "halite.store.head_bytes=M", "not a whole number" },
    { "tsd.core.auto_create_metrics=perhaps", "must be true or false" },
    { "tsd.core.authentication.enable=ture", "must be true or false" },
    { "tsd.core.enable_ui=On", NULL },
    { "tsd.core.enable_ui=NO", NULL },
    { "tsd.core.enable_ui=", NULL },
    { "tsd.core.enable_ui=2", "must be true or false" },
    { "tsd.uid.use_mode=any", NULL },
    { "tsd.core.timezone=Mars", "tsd.core.timezone" },
    { "halite.store=", "halite.store is empty" },
    { "halite.store= ", "halite.store is empty" },
    { "halite.data=data", "no such setting" },
    { "halite.sink=always", "no such setting" },
    { "tsd.plugin.key=1", "no such setting" },
    { "my.own=1", "no such setting" },
    { "=1", "key=value" },
    { "word", "key=value" },
};

START_TEST(checks_values)
{
    struct settings *s = settings_new();
    struct error e = { 0 };
    enum status st = settings_set_word(s, words[_i].word, &e);

    if (st == ST_OK)
        st = settings_check(s, &e);
    if (words[_i].error == NULL) {
        ck_assert_msg(st == ST_OK, "%s", e.text);
    } else {
        ck_assert_int_eq(st, ST_INVALID);
        ck_assert_msg(strstr(e.text, words[_i].error) != NULL, "%s", e.text);
    }
    settings_free(&s);
    ck_assert_ptr_null(s);
}
END_TEST

START_TEST(answers_by_type)
{
    struct settings *s = settings_new();

    ck_assert_uint_eq(s->network_port, 4242);
    ck_assert(s->auto_create_metrics);
    ck_assert(s->timezone == NULL);
    ck_assert_ptr_null(settings_text(s, "tsd.core.timezone"));
    ck_assert(*s->http_header_tag == '\0');
    settings_set(s, "halite.store.head_bytes", "3072k");
    ck_assert_uint_eq(s->store_head_bytes, 3072 << 10);
    settings_set(s, "tsd.core.enable_ui", " YES ");
    ck_assert(s->enable_ui);
    settings_set(s, "tsd.core.enable_ui", "oFF");
    ck_assert(!s->enable_ui);
    settings_set(s, "tsd.core.enable_ui", "");
    ck_assert(s->enable_ui);
    settings_set(s, "my.own", "x");
    ck_assert_str_eq(settings_text(s, "my.own"), "x");
    settings_free(&s);
}
END_TEST

static void
in_order(void *ctx, const char *key, const char *value)
{
    char *last = ctx;

    ck_assert_int_lt(strcmp(last, key), 0);
    (void)snprintf(last, 200, "%s", key);
}

START_TEST(table_is_sound)
{
    struct settings *s = settings_new();
    char last[200] = "";
    struct error e;

#define SETTING(member, name, value, type, unit, min, max, text) \
    ck_assert_msg(strchr(text, '.') != NULL, "%s", name);
#define ACCEPTED(name, value)
#include "tsd/config/settings.def"
#undef ACCEPTED
#undef SETTING
    ck_assert_int_eq(settings_check(s, &e), ST_OK);
    settings_each(s, in_order, last);
    settings_free(&s);
}
END_TEST

START_TEST(later_ones_win)
{
    char path[] = "/tmp/halite-settings-XXXXXX", flag[100];
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    struct options o;
    struct error e;
    char words_[][28] = { "tsd",        "--port=1",
                          "",           "tsd.network.port=3",
                          "--sync",     "always",
                          "--read-only" };
    char *argv[8] = { NULL };

    (void)snprintf(flag, sizeof flag, "--config=%s", path);
    for (size_t i = 0; i < 7; i++)
        argv[i] = i == 2 ? flag : words_[i];
    ck_assert_int_gt(fprintf(f, "tsd.network.port = 2\n"
                                "halite.sync = off\n"
                                "tsd.network.bind = ::1\n"),
                     0);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(options_parse(7, argv, false, &o, &e), ST_OK);
    ck_assert_int_eq(o.action, OPTIONS_RUN);
    ck_assert_uint_eq(o.settings->network_port, 3);
    ck_assert_str_eq(settings_text(o.settings, "halite.sync"), "always");
    ck_assert_str_eq(settings_text(o.settings, "tsd.network.bind"), "::1");
    ck_assert_str_eq(settings_text(o.settings, "tsd.mode"), "ro");
    options_fini(&o);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(options_parse(7, argv, false, &o, &e), ST_NOT_FOUND);
    options_fini(&o);
}
END_TEST

/* OpenTSDB's flags for yes or no: a value, too, behind '=' or as a word. */
static const struct {
    const char *words[4];
    const char *setting, *value;
    enum status status;
} truths[] = {
    { { "--read-only" }, "tsd.mode", "ro", ST_OK },
    { { "--read-only", "true" }, "tsd.mode", "ro", ST_OK },
    { { "--read-only=true" }, "tsd.mode", "ro", ST_OK },
    { { "--read-only", "false" }, "tsd.mode", "rw", ST_OK },
    { { "--read-only=no" }, "tsd.mode", "rw", ST_OK },
    { { "--read-only", "tsd.mode=ro" }, "tsd.mode", "ro", ST_OK },
    { { "tsd.http.show_stack_trace=true", "--read-only", "true", "--port=1" },
      "tsd.mode",
      "ro",
      ST_OK },
    { { "--read-only=maybe" }, NULL, NULL, ST_INVALID },
    { { "--read-only", "no" }, NULL, NULL, ST_INVALID },
    { { "true" }, NULL, NULL, ST_INVALID },
    { { "--disable-ui", "true" }, "tsd.core.enable_ui", "false", ST_OK },
    { { "--disable-ui", "false" }, "tsd.core.enable_ui", "true", ST_OK },
    { { "--disable-api=true" }, "tsd.core.enable_api", "false", ST_OK },
    { { "--disable-api", "false" }, "tsd.core.enable_api", "true", ST_OK },
    { { "--auto-metric=false" },
      "tsd.core.auto_create_metrics",
      "false",
      ST_OK },
    { { "--statswport=1" }, "tsd.core.stats_with_port", "true", ST_OK },
    { { "--memory=true" }, NULL, NULL, ST_INVALID },
    { { "--config=", "--read-only" }, "tsd.mode", "ro", ST_OK },
};

START_TEST(flags_take_true_and_false)
{
    char words_[5][40] = { "tsd" };
    char *argv[6] = { words_[0] };
    struct options o;
    struct error e;
    int argc = 1;

    for (; argc < 5 && truths[_i].words[argc - 1] != NULL; argc++) {
        (void)snprintf(words_[argc], sizeof words_[argc], "%s",
                       truths[_i].words[argc - 1]);
        argv[argc] = words_[argc];
    }
    ck_assert_int_eq(options_parse(argc, argv, false, &o, &e),
                     truths[_i].status);
    if (truths[_i].setting != NULL)
        ck_assert_str_eq(settings_text(o.settings, truths[_i].setting),
                         truths[_i].value);
    options_fini(&o);
}
END_TEST

static const struct {
    const char *text, *word, *error;
} places[] = {
    { "# ours\na = b\n\nhalite.snyc = off", "tsd.mode=rw",
      ":4: \"halite.snyc\": there is no such setting" },
    { "a = b\\\n  c\nhalite.sync = of", "tsd.mode=rw",
      ":3: halite.sync=\"of\": must be" },
    { "halite.retention = * 90", "tsd.mode=rw", ":1: halite.retention: " },
    { "tsd.core.timezone = Mars", "tsd.mode=rw", ":1: tsd.core.timezone: " },
    { "\rhalite.store =", "tsd.mode=rw", ":2: halite.store is empty" },
    { "halite.sync = of", "halite.sync=o", "halite.sync=\"o\": must be" },
    { "halite.sync = of", "halite.sync=off", NULL },
};

/* Which file and line; nothing of a file that the command line corrected. */
static const struct {
    const char *line, *key, *value;
} blanks[] = {
    { "tsd.http.staticroot = a b \t", "tsd.http.staticroot", "a b" },
    { "tsd.http.staticroot = \\ a\\  ", "tsd.http.staticroot", " a " },
    { "my.own = x\\u0020 ", "my.own", "x " },
    { "tsd.core.tag.allow_specialchars = \\u0020!~",
      "tsd.core.tag.allow_specialchars", " !~" },
    { "tsd.core.tag.allow_specialchars =  !~ ",
      "tsd.core.tag.allow_specialchars", "!~ " },
    { "tsd.network.port = 5\\ ", "tsd.network.port", "5" },
    { "tsd.mode = RO\\ ", "tsd.mode", "ro" },
};

/* As Java reads them: those that are escaped stay. */
START_TEST(keeps_blanks)
{
    char path[] = "/tmp/halite-settings-XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w");
    struct settings *s = settings_new();
    struct error e = { 0 };

    ck_assert_int_ge(fputs(blanks[_i].line, f), 0);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(settings_load(s, path, &e), ST_OK);
    ck_assert_int_eq(settings_check(s, &e), ST_OK);
    ck_assert_str_eq(settings_text(s, blanks[_i].key), blanks[_i].value);
    settings_free(&s);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(keeps_blanks_of_words)
{
    struct settings *s = settings_new();
    struct error e;

    ck_assert_int_eq(
        settings_set_word(s, "tsd.core.tag.allow_specialchars= !~ ", &e),
        ST_OK);
    ck_assert_int_eq(settings_set_word(s, "tsd.mode= RO ", &e), ST_OK);
    ck_assert_int_eq(settings_check(s, &e), ST_OK);
    ck_assert_str_eq(settings_text(s, "tsd.core.tag.allow_specialchars"),
                     " !~ ");
    ck_assert_str_eq(settings_text(s, "tsd.mode"), "ro");
    settings_free(&s);
}
END_TEST

START_TEST(tells_where)
{
    char path[] = "/tmp/halite-settings-XXXXXX", wanted[200];
    FILE *f = fdopen(mkstemp(path), "w");
    struct settings *s = settings_new();
    const char *error = places[_i].error;
    struct error e = { 0 };

    ck_assert_int_ge(fputs(places[_i].text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(settings_load(s, path, &e), ST_OK);
    ck_assert_int_eq(settings_set_word(s, places[_i].word, &e), ST_OK);
    ck_assert_int_eq(settings_check(s, &e), error == NULL ? ST_OK : ST_INVALID);
    if (error != NULL) {
        (void)snprintf(wanted, sizeof wanted, "%s%s", *error == ':' ? path : "",
                       error);
        ck_assert_msg(strncmp(e.text, wanted, strlen(wanted)) == 0, "%s",
                      e.text);
    }
    ck_assert_int_eq(unlink(path), 0);
    settings_free(&s);
}
END_TEST

/* Bytes that the process may use, and whether the defaults are lowered. */
static const struct memory {
    uint64_t mb;
    bool lowered;
} memories[] = { { 64, true },    { 200, true },  { 512, true },
                 { 2048, true },  { 4096, true }, { 8192, false },
                 { 65536, false } };

/* What may be held beside each other leaves a third of the memory to the rest;
 * the caches that are counted in entries take at most half of that. */
START_TEST(memory_follows_the_limit)
{
    static const char *const sums[] = {
        "halite.store.head_bytes",
        "halite.store.write_buffer_bytes",
        "halite.store.write_buffer_bytes",
        "halite.store.cache_bytes",
        "halite.put.cache_bytes",
        "halite.queries.bytes",
        "halite.answers.bytes",
        "halite.http.bodies_bytes",
        "halite.telnet.total_bytes",
    };
    static const struct {
        const char *name;
        uint64_t bytes; /* of an entry */
    } counted[] = { { "halite.uid.cache_entries", 200 },
                    { "halite.series.cache_entries", 160 } };
    uint64_t limit = memories[_i].mb << 20, sum = 0, entries = 0;
    struct settings *s = settings_new(), *fresh = settings_new();
    struct error e;

    settings_set(s, "halite.queries.bytes", "100M");
    memory_settings_fit(s, limit);
    ck_assert_uint_eq(s->queries_bytes, 100 << 20);
    settings_free(&s);
    s = settings_new();
    memory_settings_fit(s, limit);
    ck_assert_int_eq(settings_check(s, &e), ST_OK);
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        uint64_t v = settings_number(s, sums[i]);

        ck_assert(!settings_is_given(s, sums[i]));
        ck_assert_uint_le(v, settings_number(fresh, sums[i]));
        if (!memories[_i].lowered)
            ck_assert_uint_eq(v, settings_number(fresh, sums[i]));
        sum += v;
    }
    if (memories[_i].mb >= 200)
        ck_assert_uint_le(sum, limit / 3 * 2);
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
        entries += settings_number(s, counted[i].name) * counted[i].bytes;
    if (memories[_i].mb >= 200 && memories[_i].lowered)
        ck_assert_uint_le(entries, limit / 6);
    ck_assert_uint_le(s->query_answer_bytes * 2, s->answers_bytes);
    ck_assert_uint_le(s->query_bytes * 2, s->queries_bytes);
    ck_assert_uint_le(s->http_body_bytes * 2, s->http_bodies_bytes);
    ck_assert(memories[_i].lowered ==
              (memory_settings_connections(limit) < SIZE_MAX));
    settings_free(&s);
    settings_free(&fresh);
}
END_TEST

TEST_MAIN("settings", LOOP(memory_follows_the_limit, memories),
          LOOP(reads_properties, files), LOOP(checks_values, words),
          TEST(answers_by_type), TEST(table_is_sound), TEST(later_ones_win),
          LOOP(flags_take_true_and_false, truths), LOOP(keeps_blanks, blanks),
          TEST(keeps_blanks_of_words), LOOP(tells_where, places))
