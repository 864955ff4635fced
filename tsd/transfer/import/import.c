/* Threads take file after file; each reads a block, has it taken, and adds to
 * the account under the lock. */
#include "tsd/transfer/import/import.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/lock.h"
#include "base/process/workers.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tsd/transfer/import/import_check.h"
#include "tsd/transfer/import/import_journal.h"

#define PROGRESS_US (INT64_C(200) * 1000)
#define JOURNAL_US  (INT64_C(5) * 1000000)
#define STOPPED     "%s: stopped before the end"

struct importing {
    struct import *m;
    struct import_check *check; /* of all files; NULL: not as OpenTSDB */
    struct lock lock;
    size_t next;                 /* file */
    struct import_totals totals; /* of all */
    int64_t progress_us;         /* when it is due */
    struct error error;          /* the first one */
    bool stop;
};

/* One file on its way. */
struct reading {
    struct importing *x;
    struct import_taker *taker;
    struct source *source;
    struct import_file file;
    uint64_t lines;     /* before the block at hand */
    uint64_t offset;    /* up to there blocks were taken */
    uint64_t seen;      /* of the source's bytes, those in the totals */
    struct slice block; /* at hand */
    size_t run;         /* where in it what is being taken begins */
    bool any_bad;       /* in the run */
    bool journal;
    int64_t journal_us; /* when it is due */
};

/* -- bad lines ------------------------------------------------------------- */

static void
report_bad(struct reading *r, size_t offset, struct slice why)
{
    struct importing *x = r->x;
    struct source_line line = source_line_at(r->block, r->lines, offset);

    lock_take(&x->lock);
    x->totals.bad++;
    r->file.totals.bad++;
    x->m->bad(x->m->ctx, r->file.path, &line, why);
    lock_drop(&x->lock);
}

/* An import_bad, of a run. */
static void
on_bad(void *ctx, size_t offset, struct slice why)
{
    struct reading *r = ctx;

    r->any_bad = true;
    report_bad(r, r->run + offset, why);
}

/* -- blocks ---------------------------------------------------------------- */

static enum status
take(struct reading *r, size_t from, size_t to, struct error *e)
{
    struct import_counts counts = { 0 };
    struct importing *x = r->x;
    enum status st;

    r->any_bad = false;
    r->run = from;
    if (from == to)
        return ST_OK;
    st =
        r->taker->take(r->taker->ctx, slice_of(r->block.data + from, to - from),
                       on_bad, r, &counts, e);
    lock_take(&x->lock);
    x->totals.points += counts.points;
    x->totals.records += counts.records;
    lock_drop(&x->lock);
    r->file.totals.points += counts.points;
    r->file.totals.records += counts.records;
    return st == ST_OK && r->any_bad && x->m->stop_at_bad
               ? error_set(e, ST_INVALID, "stopped at a bad line")
               : st;
}

/* As OpenTSDB: what it checks of a line's text is checked here, and the line of
 * a series that was not seen yet is taken alone, so that nothing behind it is
 * when its names are invalid. */
static enum status
take_checked(struct reading *r, struct error *e)
{
    struct slice left = r->block;
    struct buf why = BUF_INIT;
    size_t run = 0;
    enum status st = ST_OK;

    while (left.size > 0 && st == ST_OK) {
        size_t at = (size_t)(left.data - r->block.data), end;
        struct slice line = source_cut_line(&left);
        bool is_new, ok;

        end = r->block.size - left.size;
        buf_clear(&why);
        ok = import_check_line(r->x->check, line, &is_new, &why);
        if (ok && !is_new) {
            import_check_accept(r->x->check);
            continue;
        }
        st = take(r, run, at, e);
        run = end;
        if (st == ST_OK && ok) {
            st = take(r, at, end, e);
            if (st == ST_OK && !r->any_bad)
                import_check_accept(r->x->check);
        } else if (st == ST_OK) {
            report_bad(r, at, buf_slice(&why));
            if (r->x->m->stop_at_bad)
                st = error_set(e, ST_INVALID, "stopped at a bad line");
        }
    }
    buf_fini(&why);
    return st == ST_OK ? take(r, run, r->block.size, e) : st;
}

/* -- a file ---------------------------------------------------------------- */

static void
add_progress(struct reading *r)
{
    struct importing *x = r->x;
    uint64_t seen = source_bytes_read(r->source);
    int64_t now = clock_monotonic_us();

    lock_take(&x->lock);
    x->totals.bytes_read += seen - r->seen;
    r->seen = seen;
    if (now >= x->progress_us && x->m->progress != NULL) {
        x->m->progress(x->m->ctx, &x->totals);
        x->progress_us = now + PROGRESS_US;
    }
    lock_drop(&x->lock);
}

static enum status
sync_taken(struct reading *r, struct error *e)
{
    const struct import *m = r->x->m;
    enum status st = r->taker->sync(r->taker->ctx, e);

    return st == ST_OK && m->sync_bad != NULL ? m->sync_bad(m->ctx, e) : st;
}

/* A journal that cannot be written is left; the import goes on without. */
static enum status
write_journal(struct reading *r, struct error *e)
{
    struct import_mark mark = { r->offset, r->lines, r->file.totals.points,
                                r->file.totals.records, r->file.totals.bad };
    enum status st = sync_taken(r, e);

    if (st != ST_OK)
        return st;
    r->journal_us = clock_monotonic_us() + JOURNAL_US;
    if (import_journal_write(r->file.path, source_identity(r->source),
                             r->x->m->journal_of, &mark, NULL) != ST_OK)
        r->journal = false;
    return ST_OK;
}

static enum status
resume(struct reading *r, struct error *e)
{
    struct import_mark mark;
    enum status st = ST_OK;

    import_journal_read(r->file.path, source_identity(r->source),
                        r->x->m->journal_of, &mark);
    if (mark.offset > 0)
        st = source_skip(r->source, mark.offset, e);
    r->lines = mark.lines;
    r->offset = mark.offset;
    r->file.totals.points = mark.points;
    r->file.totals.records = mark.records;
    r->file.totals.bad = mark.bad;
    lock_take(&r->x->lock);
    r->x->totals.points += mark.points;
    r->x->totals.records += mark.records;
    r->x->totals.bad += mark.bad;
    lock_drop(&r->x->lock);
    return st;
}

static bool
is_stopped(struct importing *x)
{
    bool stop;

    lock_take(&x->lock);
    if (cancel_asked(x->m->cancel))
        x->stop = true;
    stop = x->stop;
    lock_drop(&x->lock);
    return stop;
}

static enum status
stop_reading(struct reading *r, struct error *e)
{
    enum status st = r->journal ? write_journal(r, e) : ST_OK;

    return st == ST_OK ? error_set(e, ST_BUSY, STOPPED, r->file.path) : st;
}

/* At the first block of a file. */
static enum status
begin_text(struct reading *r, struct error *e)
{
    const uint8_t *b = r->block.data;

    /* With or without its mark: no line contains a NUL that early. */
    if (r->block.size >= 2 &&
        (memcmp(b, "\xff\xfe", 2) == 0 || memcmp(b, "\xfe\xff", 2) == 0 ||
         b[0] == '\0' || b[1] == '\0'))
        return error_set(e, ST_INVALID,
                         "%s (is UTF-16 or binary: convert text to UTF-8 "
                         "first, for example by 'iconv -f UTF-16 -t UTF-8')",
                         r->file.path);
    r->block = utf8_skip_mark(r->block);
    return ST_OK;
}

/* A block that is read after the stop is not taken: the last line of a pipe may
 * be cut then. */
static enum status
read_blocks(struct reading *r, struct error *e)
{
    enum status st = ST_OK;

    while (st == ST_OK && source_next(r->source, &r->block)) {
        if (is_stopped(r->x))
            return stop_reading(r, e);
        if (r->offset == 0)
            st = begin_text(r, e);
        if (st != ST_OK)
            break;
        st = r->x->check != NULL ? take_checked(r, e)
                                 : take(r, 0, r->block.size, e);
        r->lines += source_count_lines(r->block);
        r->offset = source_offset(r->source);
        add_progress(r);
        if (st == ST_OK && r->journal && clock_monotonic_us() >= r->journal_us)
            st = write_journal(r, e);
    }
    if (st == ST_OK)
        st = source_status(r->source, e);
    return st == ST_OK ? sync_taken(r, e) : st;
}

static enum status
import_one(struct importing *x, struct import_taker *taker, const char *path,
           struct error *e)
{
    struct reading r = { .x = x, .taker = taker, .file.path = path };
    int64_t from_us = clock_monotonic_us();
    enum status st =
        source_open(path, x->m->opentsdb ? SOURCE_BY_NAME : SOURCE_BY_CONTENT,
                    &r.source, e);

    if (st != ST_OK)
        return st;
    r.journal = x->m->journal_of != NULL && source_size(r.source) > 0 &&
                source_size(r.source) >= x->m->journal_from;
    r.journal_us = from_us + JOURNAL_US;
    if (r.journal)
        st = resume(&r, e);
    if (x->m->began != NULL) {
        lock_take(&x->lock);
        x->m->began(x->m->ctx, path, source_offset(r.source));
        lock_drop(&x->lock);
    }
    if (st == ST_OK)
        st = read_blocks(&r, e);
    if (st == ST_OK && r.journal)
        import_journal_remove(path);
    source_close(&r.source);
    r.file.us = clock_monotonic_us() - from_us;
    if (st == ST_OK && x->m->ended != NULL) {
        lock_take(&x->lock);
        x->m->ended(x->m->ctx, &r.file);
        lock_drop(&x->lock);
    }
    return st;
}

/* -- all of them ----------------------------------------------------------- */

static void
import_fail(struct importing *x, const struct error *e)
{
    lock_take(&x->lock);
    if (x->error.status == ST_OK)
        x->error = *e;
    x->stop = true;
    lock_drop(&x->lock);
}

static const char *
next_path(struct importing *x)
{
    const char *path = NULL;

    lock_take(&x->lock);
    if (!x->stop && x->next < x->m->paths_len)
        path = x->m->paths[x->next++];
    lock_drop(&x->lock);
    return path;
}

/* A task: files until none is left. */
static void
import_some(void *ctx, size_t task)
{
    struct importing *x = ctx;
    struct import_taker taker;
    const char *path;
    struct error e;

    if (!x->m->open(x->m->ctx, &taker, &e)) {
        import_fail(x, &e);
        return;
    }
    while ((path = next_path(x)) != NULL)
        if (import_one(x, &taker, path, &e) != ST_OK)
            import_fail(x, &e);
    x->m->close(x->m->ctx, &taker);
}

/* Of all files, or 0: a pipe has no size. */
static uint64_t
sum_sizes(const struct import *m)
{
    uint64_t all = 0;
    struct stat st;

    for (size_t i = 0; i < m->paths_len; i++) {
        int rc = strcmp(m->paths[i], "-") == 0 ? fstat(STDIN_FILENO, &st)
                                               : stat(m->paths[i], &st);

        if (rc != 0 || !S_ISREG(st.st_mode))
            return 0;
        all += (uint64_t)st.st_size;
    }
    return all;
}

static size_t
import_threads(const struct import *m)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = m->threads > 0 ? m->threads : cpus > 0 ? (size_t)cpus : 1;

    return m->opentsdb ? 1 : n < m->paths_len ? n : m->paths_len;
}

enum status
import_run(struct import *m, struct import_totals *totals, struct error *e)
{
    struct importing x = { .m = m, .totals.bytes_all = sum_sizes(m) };
    size_t len = import_threads(m);
    struct workers *workers = workers_new(len);

    lock_init(&x.lock);
    x.progress_us = clock_monotonic_us() + PROGRESS_US;
    if (m->opentsdb)
        x.check = import_check_new(m->any_order);
    workers_run(workers, len, import_some, &x);
    workers_free(&workers);
    if (x.error.status == ST_OK && is_stopped(&x))
        (void)error_set(&x.error, ST_BUSY, STOPPED, "import");
    import_check_free(&x.check);
    lock_fini(&x.lock);
    *totals = x.totals;
    *e = x.error;
    return x.error.status;
}
