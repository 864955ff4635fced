/* Lines of JSON into a store: each is taken or bad, once; what is scanned of
 * the store can be imported into another one, of which the same is scanned. */
#include "base/obj.h"
#include "tsd/database.h"
#include "tsd/transfer/import/import_writer.h"
#include "tsd/transfer/json/json_export.h"
#include "tsd/transfer/import/source.h"
#include "tests/fuzz/target.h"

struct target {
    struct settings *settings;
    struct database d;
    struct buf out;
    size_t bad, last_bad;
};

static void
on_bad(void *ctx, size_t offset, struct slice why)
{
    struct target *t = ctx;

    INSIST(why.size > 0);
    INSIST(t->bad == 0 || offset > t->last_bad);
    t->last_bad = offset;
    t->bad++;
}

static enum status
keep_line(void *ctx, struct slice line, struct error *e)
{
    struct target *t = ctx;

    INSIST(memchr(line.data, '\n', line.size) == line.data + line.size - 1);
    buf_put_slice(&t->out, line);
    return ST_OK;
}

static enum status
keep_row(void *ctx, const struct dump_row *row, struct error *e)
{
    struct target *t = ctx;

    json_export_row(&t->out, row);
    return ST_OK;
}

/* Imports the lines, and scans all that there is then. */
static void
fill(struct target *t, struct slice lines)
{
    struct dump dump = {
        .a = &t->d.api,
        .to_base = hour_base(POINT_MAX_TS_MS),
        .kinds = true,
        .f = keep_row,
        .ctx = t,
    };
    struct import_counts counts = { 0 };
    struct import_writer *w;
    struct error e;

    t->settings = settings_new();
    settings_set(t->settings, "halite.store", "memory");
    settings_set(t->settings, "halite.query.threads", "1");
    INSIST(database_open(&t->d, t->settings, &e) == ST_OK);
    w = import_writer_new(
        &t->d.api,
        &(struct import_rules){ .create_metrics = true, .json = true });
    INSIST(import_writer_write(w, lines, on_bad, t, &counts, &e) == ST_OK);
    INSIST(import_writer_commit(w, false, &e) == ST_OK);
    import_writer_free(&w);
    INSIST(json_export_records(&t->d.api, keep_line, t, &dump.nameless, &e) ==
           ST_OK);
    INSIST(dump_all(&dump, &e) == ST_OK && dump.nameless == 0);
}

static void
empty(struct target *t)
{
    struct error e;

    INSIST(database_close(&t->d, &e) == ST_OK);
    settings_free(&t->settings);
    buf_fini(&t->out);
}

/* The order of rows follows the ids of kinds, which may be others. */
static void
sort_lines(struct buf *text)
{
    struct slice left = buf_slice(text), *lines;
    struct buf sorted = BUF_INIT;
    size_t len = 0, all = 0;

    for (size_t i = 0; i < left.size; i++)
        all += left.data[i] == '\n';
    lines = calloc(all + 1, sizeof *lines);
    INSIST(lines != NULL);
    while (left.size > 0)
        lines[len++] = slice_cut(&left, '\n');
    qsort(lines, len, sizeof *lines, slice_compare);
    for (size_t i = 0; i < len; i++) {
        buf_put_slice(&sorted, lines[i]);
        buf_put_str(&sorted, "\n");
    }
    free(lines);
    buf_fini(text);
    *text = sorted;
}

FUZZ_TARGET_EVERY(7, data, size)
{
    struct target first = { 0 }, second = { 0 };

    fill(&first, slice_of(data, size));
    if (first.out.size == 0) { /* nothing was taken */
        empty(&first);
        return 0;
    }
    fill(&second, buf_slice(&first.out));
    INSIST(second.bad == 0);
    sort_lines(&first.out);
    sort_lines(&second.out);
    INSIST(slice_eq(buf_slice(&first.out), buf_slice(&second.out)));
    empty(&first);
    empty(&second);
    return 0;
}
