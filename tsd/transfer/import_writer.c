#include "tsd/transfer/import_writer.h"

#include <sys/stat.h>
#include <time.h>

#include "base/durable.h"
#include "base/mem.h"
#include "base/obj.h"
#include "tsd/api/api.h"
#include "tsd/transfer/json_import.h"
#include "tsd/transfer/source.h"

#define WRITER_MAGIC  FOURCC('I', 'M', 'W', 'R')
#define BUSY_SLEEP_NS 5000000

struct import_writer {
    uint32_t magic;
    const struct api *a;
    struct put_batch *batch;
    struct json_importer *json; /* NULL: lines of puts */
    /* While a block is written. */
    import_bad *bad;
    void *ctx;
    struct import_counts *counts;
    size_t last_bad; /* a line of JSON is bad once */
    bool any_bad;
};

struct put_path *
import_path_new(const struct api *a, bool create_metrics)
{
    struct put_options o = {
        .rules = put_path_rules(a->put),
        .cache_entries = settings_size(a->settings, "halite.put.cache_entries"),
        .cache_bytes = settings_size(a->settings, "halite.put.cache_bytes"),
    };

    o.rules.create_metrics = create_metrics;
    return put_path_new(a->store, a->series, a->uids, &o);
}

const char *
import_store_name(const struct api *a, char out[IMPORT_STORE_MAX])
{
    const char *dir = settings_text(a->settings, "halite.data");
    char *path = files_path(dir == NULL ? "." : dir, "FORMAT");
    struct stat st;

    if (stat(path, &st) != 0)
        st = (struct stat){ 0 };
    free(path);
    (void)snprintf(out, IMPORT_STORE_MAX, "%llx:%llx:%lld.%09ld",
                   (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
                   (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
    return out;
}

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

/* Waits until the store has taken the batch, or will take no more. */
static enum status
writer_flush(void *ctx, struct error *e)
{
    struct import_writer *w = ctx;
    const struct timespec nap = { 0, BUSY_SLEEP_NS };
    size_t stored = 0;
    enum status st;

    while ((st = put_batch_flush(w->batch, &stored)) == ST_BUSY) {
        if (put_batch_rejected(w->batch, e) != ST_OK)
            return ST_BUSY;
        (void)nanosleep(&nap, NULL);
    }
    w->counts->points += stored;
    /* What the store itself rejects goes to put_failed() too; it rejects all
     * when it is full, and then the rest must not be read. */
    return w->any_bad && put_batch_rejected(w->batch, e) != ST_OK ? ST_BUSY
                                                                  : st;
}

struct import_writer *
import_writer_new(const struct api *a, struct put_path *path, bool json)
{
    struct import_writer *w = mem_new(sizeof *w);

    w->magic = WRITER_MAGIC;
    w->a = a;
    w->batch = put_batch_new(path, writer_failed, w);
    if (json) {
        struct series_rules rules = put_path_rules(path);

        w->json = json_importer_new(a, &rules, w->batch, writer_flush, w);
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

        if (line.size == 0 || line.data[0] == '#')
            continue;
        if (slice_starts(line, slice_str("put ")))
            line = slice_of(line.data + 4, line.size - 4);
        put_batch_line(w->batch, line, id, false);
        if (put_batch_is_full(w->batch))
            st = writer_flush(w, e);
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
    }
    return st == ST_OK ? json_importer_flush(w->json, e) : st;
}

enum status
import_writer_write(struct import_writer *w, struct slice block,
                    import_bad *bad, void *ctx, struct import_counts *counts,
                    struct error *e)
{
    OBJ_CHECK(w, WRITER_MAGIC);
    w->bad = bad;
    w->ctx = ctx;
    w->counts = counts;
    w->any_bad = false;
    return w->json != NULL ? write_json(w, block, e)
                           : write_points(w, block, e);
}

enum status
import_writer_commit(struct import_writer *w, bool sync, struct error *e)
{
    OBJ_CHECK(w, WRITER_MAGIC);
    return put_batch_commit(w->batch, sync, e);
}
