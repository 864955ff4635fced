/* Each thread takes file after file. It reads a block, hands it to its taker,
 * and adds the result to the totals under the lock. */
#include "tsd/transfer/import/import.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/lock.h"
#include "base/process/log.h"
#include "base/process/workers.h"
#include "base/mem.h"
#include "base/utf8.h"

#define PROGRESS_US (INT64_C(200) * 1000)
#define STOPPED     "%s: stopped before the end"

struct importing {
    struct import *m;
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
    uint64_t lines;     /* before 'block' */
    uint64_t seen;      /* bytes of the source that the totals include */
    struct slice block; /* the lines that are being taken */
    bool any_bad;       /* a line of 'block' is bad */
};

/* -- blocks ---------------------------------------------------------------- */

/* An import_bad. */
static void
report_bad(void *ctx, size_t offset, struct slice why)
{
    struct reading *r = ctx;
    struct importing *x = r->x;
    struct source_line line = source_line_at(r->block, r->lines, offset);

    r->any_bad = true;
    lock_take(&x->lock);
    x->totals.bad++;
    r->file.totals.bad++;
    x->m->bad(x->m->ctx, r->file.path, &line, why);
    lock_drop(&x->lock);
}

static enum status
take_block(struct reading *r, struct error *e)
{
    struct import_counts counts = { 0 };
    struct importing *x = r->x;
    enum status st;

    r->any_bad = false;
    if (r->block.size == 0)
        return ST_OK;
    st = r->taker->take(r->taker->ctx, r->block, report_bad, r, &counts, e);
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

/* -- a file ---------------------------------------------------------------- */

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
    struct importing *x = r->x;
    uint64_t seen;
    int64_t now;

    while (st == ST_OK && source_next(r->source, &r->block)) {
        if (is_stopped(r->x))
            return error_set(e, ST_BUSY, STOPPED, r->file.path);
        if (r->lines == 0)
            st = begin_text(r, e);
        if (st != ST_OK)
            break;
        st = take_block(r, e);
        r->lines += source_count_lines(r->block);
        seen = source_bytes_read(r->source);
        now = clock_monotonic_us();
        lock_take(&x->lock);
        x->totals.bytes_read += seen - r->seen;
        r->seen = seen;
        if (now >= x->progress_us && x->m->progress != NULL) {
            x->m->progress(x->m->ctx, &x->totals);
            x->progress_us = now + PROGRESS_US;
        }
        lock_drop(&x->lock);
    }
    if (st == ST_OK)
        st = source_status(r->source, e);
    return st == ST_OK ? r->taker->sync(r->taker->ctx, e) : st;
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
    log_info("import", "reading from file:%s", path);
    st = read_blocks(&r, e);
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

    x->m->open(x->m->ctx, &taker);
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

enum status
import_run(struct import *m, struct import_totals *totals, struct error *e)
{
    struct importing x = { .m = m, .totals.bytes_all = sum_sizes(m) };
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t len = m->threads > 0 ? m->threads : cpus > 0 ? (size_t)cpus : 1;
    struct workers *workers;

    len = m->opentsdb ? 1 : len < m->paths_len ? len : m->paths_len;
    workers = workers_new(len);
    lock_init(&x.lock);
    x.progress_us = clock_monotonic_us() + PROGRESS_US;
    workers_run(workers, len, import_some, &x);
    workers_free(&workers);
    if (x.error.status == ST_OK && is_stopped(&x))
        (void)error_set(&x.error, ST_BUSY, STOPPED, "import");
    lock_fini(&x.lock);
    *totals = x.totals;
    *e = x.error;
    return x.error.status;
}
