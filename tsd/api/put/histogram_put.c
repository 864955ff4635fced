#include "tsd/api/put/histogram_put.h"

#include "base/process/counters.h"
#include "storage/histogram/histogram_table.h"
#include "tsd/put/put_value.h"

#define BATCH_MAX   256
#define ARENA_BYTES ((size_t)64 << 20)

void
histogram_writer_init(struct histogram_writer *w, const struct api *a)
{
    *w = (struct histogram_writer){ .a = a,
                                    .batch = kv_batch_new(),
                                    .arena = arena_new(ARENA_BYTES) };
}

void
histogram_writer_fini(struct histogram_writer *w)
{
    kv_batch_free(&w->batch);
    arena_free(&w->arena);
}

static enum status
reject_time(const struct histogram_point *p, struct slice bytes,
            struct error *e)
{
    struct buf text = BUF_INIT;
    enum status st;

    if (bytes.size > sizeof e->text)
        bytes.size = sizeof e->text;
    buf_printf(&text, "bad timestamp=%lld when trying to add value=",
               (long long)p->time);
    put_bytes_print(&text, bytes);
    buf_printf(&text, "/0 to metric=%.*s, tags=", SLICE_ARG(p->metric));
    put_tags_print(&p->tags, &text);
    st = error_set(e, ST_INVALID, "%s", buf_cstr(&text));
    buf_fini(&text);
    return st;
}

enum status
histogram_writer_add(struct histogram_writer *w,
                     const struct histogram_point *p, struct error *e)
{
    const struct series_rules rules = put_path_rules(w->a->put);
    struct tsuid tsuid;
    series_ref ref;
    int64_t ms = 0;
    struct buf bytes = BUF_INIT;
    enum status st;

    buf_put_u8(&bytes, (uint8_t)w->a->histograms.simple);
    histogram_encode(&p->histogram, &bytes);
    if (bytes.failed)
        st = error_set(e, ST_LIMIT, "no memory for a histogram");
    else if (!put_time_to_ms(p->time, &ms))
        st = reject_time(p, buf_slice(&bytes), e);
    else
        st = series_resolve(
            w->a->series, &rules,
            &(struct series_text){ 0, p->metric, p->tags.tags, p->tags.len },
            &ref, &tsuid, e);
    if (st == ST_OK)
        histogram_put(w->batch, tsuid_slice(&tsuid), ms, buf_slice(&bytes));
    buf_fini(&bytes);
    return st == ST_OK && kv_batch_len(w->batch) >= BATCH_MAX
               ? histogram_writer_flush(w, e)
               : st;
}

enum status
histogram_writer_flush(struct histogram_writer *w, struct error *e)
{
    enum status st = ST_OK;
    uint64_t lsn = 0;

    if (kv_batch_len(w->batch) > 0)
        st = store_write(w->a->store, w->batch, &lsn, e);
    if (st == ST_OK)
        counter_add(CNT_POINTS_ADDED, kv_batch_len(w->batch));
    kv_batch_clear(w->batch);
    if (lsn > w->lsn)
        w->lsn = lsn;
    return st;
}
