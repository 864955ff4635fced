/* What the tools print, and how they end; tools.sh and transfer.sh have them as
 * processes, and what is about a process or its files. */
#include "tests/tsd/tool/workbench.h"

#include <fnmatch.h>

#include "tsd/put/put.h"

#define WORDS_MAX 32

/* One after another, on one store. */
struct call {
    int status;
    const char *words; /* between blanks, or in single quotes */
    const char *out;   /* but for the last newline */
    const char *err;   /* a pattern; NULL: whatever it is */
};

static const struct call names[] = {
    { 0, "mkmetric a.b c.d a.b",
      "metrics a.b: [0, 0, 1]\n"
      "metrics c.d: [0, 0, 2]\n"
      "metrics a.b: [0, 0, 1]",
      "" },
    { 0, "uid assign tagk host dc",
      "tagk host: [0, 0, 1]\n"
      "tagk dc: [0, 0, 2]",
      NULL },
    { 0, "uid assign tagv Web 7 c.d",
      "tagv Web: [0, 0, 1]\n"
      "tagv 7: [0, 0, 2]\n"
      "tagv c.d: [0, 0, 3]",
      NULL },
    { 1, "mkmetric ok 'not ok'", "",
      "Invalid metric (\"not ok\"): illegal character:  " },
    { 1, "uid metrics ok", "", NULL },
    { 1, "uid assign bogus x", "", "Invalid type requested: bogus" },
    { 2, "uid assign metrics", "", NULL },
    { 2, "mkmetric", "", NULL },
    { 2, "uid tagk a b", "", NULL },
    { 0, "uid c.d",
      "metrics c.d: [0, 0, 2]\n"
      "tagv c.d: [0, 0, 3]",
      NULL },
    { 0, "uid 0002",
      "metrics c.d: [0, 0, 2]\n"
      "tagk dc: [0, 0, 2]\n"
      "tagv 7: [0, 0, 2]",
      NULL },
    { 0, "uid tagk 2", "tagk dc: [0, 0, 2]", NULL },
    { 1, "uid tagv 7", "", "No such unique ID for 'tagv': [[]0, 0, 7]" },
    { 1, "uid metrics nosuch", "", "No such name for 'metrics': 'nosuch'" },
    { 1, "uid nosuch", "", "" },
    { 1, "uid 16777216", "", "16777216 is too large to fit on 3 bytes.*" },
    { 1, "uid --idwidth 2 70000", "",
      "70000 is too large to fit on 2 bytes.*" },
    { 1, "uid --idwidth=4 1", "", NULL },
    { 3, "uid --idwidth 0 1", "", "Negative or 0 --idwidth" },
    { 3, "mkmetric --idwidth=-1 x", "", NULL },
    { 1, "uid --idwidth x 1", "", "For input string: \"x\"" },
    { 1, "uid --idwidth 9 1", "", NULL },

    /* Kinds are merged in the order of names. */
    { 0, "uid grep ''",
      "tagv 7: [0, 0, 2]\n"
      "tagv Web: [0, 0, 1]\n"
      "metrics a.b: [0, 0, 1]\n"
      "metrics c.d: [0, 0, 2]\n"
      "tagv c.d: [0, 0, 3]\n"
      "tagk dc: [0, 0, 2]\n"
      "tagk host: [0, 0, 1]",
      NULL },
    { 0, "uid grep metrics '[ac]\\.'",
      "metrics a.b: [0, 0, 1]\n"
      "metrics c.d: [0, 0, 2]",
      NULL },
    { 0, "uid grep -i '^web$'", "tagv Web: [0, 0, 1]", NULL },
    { 1, "uid grep '^web$'", "", NULL },
    { 1, "uid grep tagv", "", NULL },
    { 1, "uid grep bogus .", "", NULL },
    { 1, "uid grep '['", "", NULL },
    { 2, "uid grep a b c", "", NULL },

    { 0, "uid rename metrics a.b b.c", "metrics a.b -> b.c", NULL },
    { 0, "uid metrics 1", "metrics b.c: [0, 0, 1]", NULL },
    { 0, "uid metrics +1", "metrics b.c: [0, 0, 1]", NULL },
    { 1, "uid metrics -- -1", "", "-1 is too large to fit on 3 bytes.*" },
    { 1, "uid metrics +x", "", "No such name for 'metrics': '+x'" },
    { 1, "uid rename metrics nosuch x", "",
      "No such name for 'metrics': 'nosuch'" },
    { 1, "uid rename metrics b.c c.d", "",
      "When trying rename(\"b.c\", \"c.d\") on *: new name already assigned "
      "ID=*" },
    { 1, "uid rename metrics b.c 'not ok'", "", NULL },
    { 2, "uid rename metrics b.c", "", NULL },
    { 0, "uid delete metrics c.d", "", NULL },
    { 1, "uid metrics c.d", "", NULL },
    { 1, "uid metrics 2", "", NULL },
    { 0, "mkmetric -i new", "metrics new: [0, 0, 3]", NULL },
    { 1, "uid delete metrics c.d", "", "No such name for 'metrics': 'c.d'" },
    { 4, "uid delete bogus c.d", "", NULL },
};

static const char *const points[] = {
    "cpu.user 1356998400 0 host=web01 dc=lga",
    "cpu.user 1356998460 60 host=web01 dc=lga",
    "cpu.user 1357002000 3600 host=web01 dc=lga",
    "cpu.user 1356998400 0 host=web02 dc=lga",
    "cpu.user 1356998460 60 host=web02 dc=lga",
    "cpu.user 1357002000 3600 host=web02 dc=lga",
    "cpu.user 1356998430500 1.5 host=web01 dc=lga",
    "cpu.idle 1356998400 -7 host=web01",
};

static const struct call queries[] = {
    { 0, "query 1356998400 1356998500 sum cpu.user",
      "cpu.user 1356998400000 0.000000 {dc=lga}\n"
      "cpu.user 1356998430500 32.000000 {dc=lga}\n"
      "cpu.user 1356998460000 120 {dc=lga}",
      NULL },
    { 0,
      "query 2013/01/01-00:00:00 2013/01/01-00:05:00 "
      "sum cpu.user host=web02 max cpu.idle",
      "cpu.user 1356998400000 0 {host=web02, dc=lga}\n"
      "cpu.user 1356998460000 60 {host=web02, dc=lga}\n"
      "cpu.idle 1356998400000 -7 {host=web01}",
      NULL },
    { 0, "query --exact 2013/01/01-00:10 2013/01/01-00:20 sum cpu.idle", "",
      NULL },
    { 0, "query --whole-hours 2013/01/01-00:10 2013/01/01-00:20 sum cpu.idle",
      "cpu.idle 1356998400000 -7 {host=web01}", NULL },
    { 0,
      "query 1356998400 1356998500 +title=x sum rate cpu.user "
      "host=regexp(.*2$) 'with points'",
      "cpu.user 1356998460000 1.000000 {host=web02, dc=lga}", NULL },
    { 0,
      "query 1356998400 1356998500 sum downsample 120000 avg cpu.user "
      "host=web02",
      "cpu.user 1356998400000 30.000000 {host=web02, dc=lga}", NULL },
    { 0, "query now sum cpu.user", "", NULL },
    { 2, "query 1h-ago sum", "", "Not enough arguments.*" },
    { 1, "query 1h-ago sum nosuch", "",
      "No such name for 'metrics': 'nosuch'" },
    { 1, "query 1h-ago bogus cpu.user", "", "No such aggregator: bogus" },
    { 1, "query bogus sum cpu.user", "", "Invalid time: bogus*" },
    { 1, "query 20 10 sum cpu.user", "",
      "new end time (10) is less than or equal to start time: 20" },
    { 1, "query 1h-ago sum rate counter,x cpu.user", "",
      "For input string: \"x\"" },
    { 1, "query 1h-ago sum downsample 0 avg cpu.user", "",
      "interval not > 0: 0" },
    { 1, "query 1h-ago sum downsample 60000 avg", "",
      "A query ends before its metric" },
    { 1, "query 1h-ago sum cpu.user host=a host=b", "",
      "duplicate tag: host=b, tags={host=a}" },
    { 2, "query --exact --whole-hours 1h-ago sum cpu.user", "", NULL },

    { 0, "search lookup cpu.user",
      "000001000001000001000002000002 cpu.user host=web01 dc=lga\n"
      "000001000001000003000002000002 cpu.user host=web02 dc=lga",
      NULL },
    { 0, "search lookup cpu.idle host=*",
      "000002000001000001 cpu.idle host=web01", NULL },
    { 0, "search --use-data-table lookup =web02",
      "000001000001000003000002000002 cpu.user host=web02 dc=lga", NULL },
    { 0, "search lookup cpu.idle dc=", "", NULL },
    { 1, "search lookup cpu.user host", "", "invalid tag: host" },
    { 1, "search lookup cpu.user =", "", "Missing tag pair" },
    { 1, "search lookup cpu.user host=nosuch", "",
      "No such name for 'tagv': 'nosuch'" },
    { 2, "search lookup", "", "Not enough arguments*" },
    { 2, "search find x", "", "Unknown sub command: find*" },

    { 0, "uid fsck", "", NULL },
    { 0, "uid -v fsck fix delete_unknown", "", "*No errors found." },
    { 0, "uid fsck bogus", "", NULL },
    { 0, "uid -v delete tagv web02", "", "UID tagv web02 deleted." },
    { 0, "uid fsck", "", NULL },
    { 0, "uid metasync x", "", NULL },
    { 0, "uid -v metasync", "",
      "Completed meta data synchronization in [[]* seconds: 0" },
    { 0, "uid -v metapurge", "",
      "Completed meta data purge in [[]* seconds: 3" },
    { 0, "uid -v metasync", "",
      "Completed meta data synchronization in [[]* seconds: 3" },
    { 0, "uid treesync x", "", "Tree processing is disabled" },
    { 0, "uid treepurge 1", "", NULL },
    { 0, "uid treepurge 1 true x", "", NULL },
    { 2, "uid rename metrics a b c", "", NULL },
    { 3, "uid treepurge one", "", NULL },
    { 2, "uid treepurge", "", NULL },

    { 1, "fsck", "", "Must supply a query or use the '--full-scan' flag*" },
    { 1, "fsck --threads 0 --full-scan", "", "Must have at least one thread" },
    { 1, "fsck --threads 9999 --full-scan", "", NULL },
    { 1, "fsck --threads x --full-scan", "", NULL },
    /* That of web02, whose name was deleted. */
    { 1, "fsck --full-scan --threads 1 --fix-all", "",
      "row-orphan *Unable to resolve * 3 rows of *"
      "row-orphan: 1*1 found, 1 repaired*" },
    { 0, "fsck --full-scan --threads 1 --fix-all", "",
      "looked at * 2 rows of 5 points, *clean*" },
    { 0, "fsck 1h-ago sum cpu.user", "", NULL },
    { 1, "fsck 1h-ago bogus cpu.user", "", "No such aggregator: bogus" },

    { 0, "purge --dry-run cpu.idle",
      "would forget 0 of 2 series, 0 metrics, 0 tag keys, 0 tag values", NULL },
    { 0, "scan --delete 1356998400 1357000000 sum cpu.idle",
      "cpu.idle 1356998400 -7 host=web01", NULL },
    { 0, "purge q*",
      "forgot 0 of 2 series, 0 metrics, 0 tag keys, 0 tag values", NULL },
    { 0, "purge cpu.i*",
      "forgot 1 of 2 series, 1 metrics, 0 tag keys, 0 tag values", NULL },
    { 0, "mkmetric cpu.idle", "metrics cpu.idle: [0, 0, 3]", NULL },
};

static const char *const scanned[] = {
    "s.i 1356998400 1 host=web01 cpu=0",
    "s.i 1356998400500 -2 host=web01 cpu=0",
    "s.i 1357001999 3 host=web01 cpu=0",
    "s.i 1357002000 4 host=web01 cpu=0",
    "s.d 1356998400 0.1 host=web02",
    "s.d 1356998401 4.9E-324 host=web02",
    "s.d 1356998402 -0.0 host=web02",
    "s.d 1356998403 1.7976931348623157E308 host=web02",
};

#define FIRST_HOUR                            \
    "s.i 1356998400 1 host=web01 cpu=0\n"     \
    "s.i 1356998400500 -2 host=web01 cpu=0\n" \
    "s.i 1357001999 3 host=web01 cpu=0"

static const struct call scans[] = {
    { 0, "scan --import 1356998400 sum s.d host=web02",
      "s.d 1356998400 0.1 host=web02\n"
      "s.d 1356998401 4.9E-324 host=web02\n"
      "s.d 1356998402 -0.0 host=web02\n"
      "s.d 1356998403 1.7976931348623157E308 host=web02",
      NULL },
    { 0, "scan --import 2013/01/01-00:30:00 2013/01/01-00:31:00 max rate s.i",
      FIRST_HOUR, NULL },
    { 0, "scan --import 2012/01/01 2012/01/02 sum s.i", "", NULL },
    { 0, "scan 2013/01/01-01:00 2013/01/01-02:00 sum downsample 1000 avg s.i",
      "[0, 0, 0, 1, 80, -30, 53, 16, 0, 0, 1, 0, 0, 1, 0, 0, 2, 0, 0, 2] s.i "
      "1357002000 (Tue Jan 01 01:00:00 UTC 2013) {host=web01, cpu=0}\n"
      "  [0, 0]\t[4]\t0\tl\t1357002000\t(Tue Jan 01 01:00:00 UTC 2013)",
      NULL },
    { 1, "scan 1356998400 sum s.i sum nosuch", "",
      "No such name for 'metrics': 'nosuch'" },
    { 1, "scan 1356998400 sum s.i host=nosuch", "",
      "No such name for 'tagv': 'nosuch'" },
    { 1, "scan 1356998400 bogus s.i", "", "No such aggregator: bogus" },
    { 1, "scan bogus sum s.i", "", "Invalid time: bogus. *" },
    { 1, "scan 1356998400 1356998400 sum s.i", "",
      "new end time (1356998400) is less than or equal to start time: "
      "1356998400" },
    { 1, "scan 1356998400 sum downsample 0 sum s.i", "",
      "interval not > 0: 0" },
    { 2, "scan --delete", "", NULL },
    { 2, "scan", "", NULL },
    { 0, "scan --delete 1356998400 1356998401 sum s.i", FIRST_HOUR, NULL },
    { 0, "scan --import 1356998400 sum s.i",
      "s.i 1357002000 4 host=web01 cpu=0", NULL },
};

static void
put(struct workbench *w, const char *const *lines, size_t len)
{
    struct put_batch *b = put_batch_new(w->db.api.put, NULL, NULL);
    size_t stored = 0;

    for (size_t i = 0; i < len; i++)
        put_batch_line(b, slice_str(lines[i]), i, false);
    ck_assert_int_eq(put_batch_flush(b, &stored), ST_OK);
    ck_assert_uint_eq(stored, len);
    put_batch_free(&b);
}

/* Ends the words in 'text'. */
static void
split(char *text, const char *words[WORDS_MAX])
{
    size_t len = 0;

    while (text != NULL && *text != '\0') {
        const char *quoted = *text == '\'' ? "'" : " ";

        text += *text == '\'';
        ck_assert_uint_lt(len + 1, WORDS_MAX);
        words[len++] = strsep(&text, quoted);
        if (*quoted == '\'' && text != NULL)
            text += *text == ' ';
    }
    words[len] = NULL;
}

/* But for the last newline. */
static const char *
text_of(struct buf *b)
{
    if (b->size > 0 && b->data[b->size - 1] == '\n')
        b->size--;
    return buf_cstr(b);
}

static void
make_calls(struct workbench *w, const struct call *calls, size_t len)
{
    for (const struct call *c = calls; c < calls + len; c++) {
        const char *words[WORDS_MAX], *out, *err;
        char *text = strdup(c->words);
        int status;

        split(text, words);
        status = workbench_run(w, words);
        out = text_of(&w->out);
        err = text_of(&w->err);
        ck_assert_msg(status == c->status && strcmp(out, c->out) == 0 &&
                          (c->err == NULL || fnmatch(c->err, err, 0) == 0),
                      "%s: ended with %d, printed\n%s\nand said %s", c->words,
                      status, out, err);
        free(text);
    }
}

static const struct {
    const char *const *points;
    size_t points_len;
    const struct call *calls;
    size_t len;
} stores[] = {
    { NULL, 0, names, sizeof names / sizeof *names },
    { points, sizeof points / sizeof *points, queries,
      sizeof queries / sizeof *queries },
    { scanned, sizeof scanned / sizeof *scanned, scans,
      sizeof scans / sizeof *scans },
};

START_TEST(tools_print_and_end)
{
    char *dir = tempdir_new();
    struct workbench w;

    (void)setenv("TZ", "UTC", 1);
    workbench_open(&w, dir);
    put(&w, stores[_i].points, stores[_i].points_len);
    make_calls(&w, stores[_i].calls, stores[_i].len);
    workbench_close(&w);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN("tools", LOOP(tools_print_and_end, stores))
