#include "tsd/transfer/import/import_writer.h"

#include <unistd.h>

#include "base/process/clock.h"
#include "base/mem.h"
#include "base/obj.h"
#include "tsd/api/api.h"
#include "tsd/transfer/json/json_import.h"
#include "tsd/transfer/import/source.h"

#define WRITER_MAGIC  FOURCC('I', 'M', 'W', 'R')
#define BUSY_SLEEP_US 5000

struct import_writer {
    uint32_t magic;
    const struct api *a;
    struct import_rules rules;
    struct put_batch *batch;
    struct json_importer *json; /* NULL: lines of puts */
    /* While a block is written. */
    import_bad *bad;
    void *ctx;
    struct import_counts *counts;
    size_t last_bad; /* a line of JSON is bad once */
    bool any_bad;
    int64_t wait_us; /* for a busy store; 0: as long as it takes */
    int64_t began_us;
    bool was_busy;
    bool gave_up; /* it was busy for too long */
    size_t taken; /* bytes of the block, with what was counted then */
    struct import_counts taken_counts;
};

static void
report_bad(struct import_writer *w, size_t offset, struct slice why)
{
    if (!w->any_bad || offset != w->last_bad)
        w->bad(w->ctx, offset, why);
    w->any_bad = true;
    w->last_bad = offset;
}

/* A put_failed: lines are known by where they begin. */
static void
writer_failed(void *ctx, size_t id, enum put_fault fault, struct slice why)
{
    report_bad(ctx, id, why);
}

static enum status
give_up(struct import_writer *w, struct error *e)
{
    w->gave_up = true;
    return error_set(e, ST_BUSY,
                     "Please throttle writes: the store cannot keep up");
}

static bool
has_waited(const struct import_writer *w, int64_t since_us)
{
    return w->wait_us > 0 && clock_monotonic_us() - since_us >= w->wait_us;
}

/* See struct json_owner. */
static enum status
writer_wait(void *ctx, int64_t since_us, struct error *e)
{
    struct import_writer *w = ctx;

    w->was_busy = true;
    if (store_may_write(w->a->store, e) != ST_OK)
        return ST_BUSY;
    if (cancel_asked(w->rules.cancel))
        return error_set(e, ST_BUSY, "told to end while it waited: %s",
                         put_batch_why_busy(w->batch));
    if (has_waited(w, since_us))
        return give_up(w, e);
    (void)usleep(BUSY_SLEEP_US);
    return ST_OK;
}

/* Waits until the store has taken the batch, or will take no more. */
static enum status
writer_flush(void *ctx, struct error *e)
{
    struct import_writer *w = ctx;
    int64_t since_us = clock_monotonic_us();
    size_t stored = 0;
    enum status st;

    while ((st = put_batch_flush(w->batch, &stored)) == ST_BUSY)
        if (writer_wait(w, since_us, e) != ST_OK)
            return ST_BUSY;
    w->counts->points += stored;
    /* What the store itself rejects goes to put_failed() too; it rejects all
     * when it is full, and then the rest must not be read. */
    return w->any_bad && put_batch_rejected(w->batch, e) != ST_OK ? ST_BUSY
                                                                  : st;
}

/* All lines before this byte are written. */
static void
mark_taken(struct import_writer *w, size_t taken)
{
    w->taken = taken;
    w->taken_counts = *w->counts;
}

/* A store that is busy again and again keeps the caller no longer than one that
 * is stuck, once some lines were written. */
static bool
is_late(const struct import_writer *w)
{
    return w->was_busy && has_waited(w, w->began_us);
}

struct import_writer *
import_writer_new(const struct api *a, const struct import_rules *rules)
{
    struct import_writer *w = mem_new(sizeof *w);

    w->magic = WRITER_MAGIC;
    w->a = a;
    w->rules = *rules;
    w->wait_us = (int64_t)rules->wait_ms * 1000;
    w->batch = put_batch_new(a->put, writer_failed, w);
    put_batch_create_metrics(w->batch, rules->create_metrics);
    if (rules->json) {
        const struct json_owner owner = { writer_flush, writer_wait, w };
        struct series_rules series = put_path_rules(a->put);

        series.create_metrics = rules->create_metrics;
        w->json = json_importer_new(a, &series, w->batch, &owner);
    }
    return w;
}

void
import_writer_free(struct import_writer **wp)
{
    struct import_writer *w = OBJ_TAKE(wp, WRITER_MAGIC);

    if (w == NULL)
        return;
    json_importer_free(&w->json);
    put_batch_free(&w->batch);
    OBJ_FREE(w);
}

static enum status
write_points(struct import_writer *w, struct slice block, struct error *e)
{
    const uint8_t *from = block.data;
    enum status st = ST_OK;

    while (block.size > 0 && st == ST_OK) {
        size_t id = (size_t)(block.data - from);
        struct slice line = source_cut_line(&block);

        if (!w->rules.stop_at_bad && (line.size == 0 || line.data[0] == '#'))
            continue;
        if (slice_starts(line, slice_str("put ")))
            line = slice_of(line.data + 4, line.size - 4);
        put_batch_line(w->batch, line, id, false);
        if (!w->rules.stop_at_bad && !put_batch_is_full(w->batch))
            continue;
        st = writer_flush(w, e);
        if (st == ST_OK && w->rules.stop_at_bad && w->any_bad)
            break;
        if (st == ST_OK)
            mark_taken(w, (size_t)(block.data - from));
        if (st == ST_OK && is_late(w) && block.size > 0)
            st = give_up(w, e);
    }
    return st == ST_OK ? writer_flush(w, e) : st;
}

static enum status
write_json(struct import_writer *w, struct slice block, struct error *e)
{
    const uint8_t *from = block.data;
    enum status st = ST_OK;
    struct error why;

    while (block.size > 0 && st == ST_OK) {
        size_t id = (size_t)(block.data - from);
        struct slice line = source_cut_line(&block);

        if (line.size == 0)
            continue;
        st = json_importer_add(w->json, line, id, &w->counts->points,
                               &w->counts->records, e);
        if (st == ST_INVALID || st == ST_NOT_FOUND || st == ST_LIMIT) {
            /* First the points before it, some of which may be its own. */
            why = *e;
            st = json_importer_flush(w->json, e);
            report_bad(w, id, slice_str(why.text));
        }
        if (st != ST_OK || !is_late(w) || block.size == 0)
            continue;
        st = json_importer_flush(w->json, e);
        if (st == ST_OK) {
            mark_taken(w, (size_t)(block.data - from));
            st = give_up(w, e);
        }
    }
    return st == ST_OK ? json_importer_flush(w->json, e) : st;
}

enum status
import_writer_write(struct import_writer *w, struct slice block,
                    import_bad *bad, void *ctx, struct import_counts *counts,
                    struct error *e)
{
    enum status st;

    OBJ_CHECK(w, WRITER_MAGIC);
    w->bad = bad;
    w->ctx = ctx;
    w->counts = counts;
    w->any_bad = w->was_busy = false;
    w->began_us = clock_monotonic_us();
    mark_taken(w, 0);
    st = w->json != NULL ? write_json(w, block, e) : write_points(w, block, e);
    if (st == ST_BUSY && w->wait_us > 0)
        *counts = w->taken_counts;
    return st;
}

bool
import_writer_taken(const struct import_writer *w, size_t *taken)
{
    OBJ_CHECK(w, WRITER_MAGIC);
    *taken = w->taken;
    return w->gave_up;
}

enum status
import_writer_commit(struct import_writer *w, bool sync, struct error *e)
{
    OBJ_CHECK(w, WRITER_MAGIC);
    return put_batch_commit(w->batch, sync, e);
}
