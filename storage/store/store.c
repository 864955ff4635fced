/* The store: open, close, batches of other tables, counts. */
#include "storage/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "base/process/crash.h"
#include "base/process/log.h"
#include "base/mem.h"
#include "base/file/durable.h"
#include "base/file/file.h"
#include "storage/place/datadir.h"
#include "storage/place/format.h"
#include "storage/wal/wal_files.h"
#include "storage/wal/wal_medium.h"
#include "storage/block/row_parts.h"
#include "storage/store/store_weeks_priv.h"

#define MB ((size_t)1 << 20)

uint32_t
store_now_s(void)
{
    return (uint32_t)(clock_monotonic_us() / 1000000) + 1;
}

/* -- open and close -------------------------------------------------------- */

static void
fill_defaults(struct store_options *o)
{
    if (o->head_bytes == 0)
        o->head_bytes = 192 * MB;
    if (o->head_series == 0)
        o->head_series = 4000000;
    if (o->series_idle_ms == 0)
        o->series_idle_ms = 3600000;
    if (o->wal_bytes == 0)
        o->wal_bytes = 512 * MB;
    if (o->wal_segment_bytes == 0)
        o->wal_segment_bytes = 64 * MB;
    if (o->flush_delay_ms == 0)
        o->flush_delay_ms = 60000;
    if (o->encode_delay_ms == 0)
        o->encode_delay_ms = 600000;
    if (o->summary_delay_ms == 0)
        o->summary_delay_ms = 70000; /* rows that lie idle are flushed then */
    if (o->row_value_bytes == 0)
        o->row_value_bytes = ROW_VALUE_BYTES;
    if (o->min_free_bytes == 0)
        o->min_free_bytes = 64 * MB;
    if (o->clock == NULL)
        o->clock = &clock_system;
}

/* Nothing is written into a folder that is no store: either it has a FORMAT
 * file, or nothing but what an earlier, unfinished creation made is in it. */
static enum status
check_is_ours(const char *dir, struct error *e)
{
    struct format f;
    const struct dirent *entry;
    enum status status = ST_OK;
    DIR *d;

    if (format_read(dir, &f, NULL) != ST_NOT_FOUND)
        return ST_OK;
    d = opendir(dir);
    if (d == NULL)
        return error_set(e, ST_IO, "%s: %s", dir, strerror(errno));
    while (status == ST_OK && (status = dir_next(d, dir, &entry, e)) == ST_OK &&
           entry != NULL)
        if (strcmp(entry->d_name, "LOCK") != 0 &&
            strcmp(entry->d_name, "FORMAT.1.tmp") != 0)
            status = error_set(
                e, ST_INVALID,
                "%s holds \"%s\" but no FORMAT file: this is no Halite "
                "folder, or a damaged one",
                dir, entry->d_name);
    (void)closedir(d);
    return status;
}

static enum status
open_format(struct store *s, struct format *f, struct error *e)
{
    enum status status = format_read(s->dir, f, e);

    if (status == ST_NOT_FOUND) {
        log_info("store", "making a new store in %s", s->dir);
        format_new(f, &s->options.layout);
        status = format_write(s->dir, f, e);
    } else if (status == ST_OK && f->damaged && f->complete) {
        log_warn("store",
                 "%s: FORMAT or its copy FORMAT.1 is damaged: both are "
                 "written again from the one that checks",
                 s->dir);
        status = format_write(s->dir, f, e);
    }
    if (status == ST_OK)
        s->layout = f->layout;
    return status;
}

static struct wal_options
wal_options_of(const struct store *s)
{
    return (struct wal_options){
        .sync = s->options.sync,
        .interval_ms = s->options.sync_interval_ms,
        .segment_bytes = s->options.wal_segment_bytes,
    };
}

static enum status
open_engine(struct store *s, struct format *f, struct error *e)
{
    char *engine = files_path(s->dir, "engine");
    char *wal = files_path(s->dir, "journal");
    struct kv_options ko = {
        .place = KV_LEVELDB(engine),
        .create = !f->complete,
        .write_buffer_bytes = s->options.engine_write_buffer_bytes,
        .cache_bytes = s->options.engine_cache_bytes,
    };
    struct wal_options jo = wal_options_of(s);
    enum status status = kv_open(&ko, &s->kv, e);

    if (status == ST_OK) {
        jo.medium = wal_files_new(wal);
        status = wal_open(&jo, &s->wal, e);
    }
    if (status == ST_OK && !f->complete) {
        f->complete = true;
        status = format_write(s->dir, f, e);
    }
    free(engine);
    free(wal);
    return status;
}

static enum status
open_files(struct store *s, struct error *e)
{
    struct format f;
    struct error why;
    enum status status = files_make_dir(s->dir, e);

    if (status == ST_OK) /* before LOCK is made */
        status = check_is_ours(s->dir, e);
    if (status == ST_OK)
        status = format_lock(s->dir, &s->lock, e);
    if (status == ST_OK)
        status = open_format(s, &f, e);
    if (status == ST_OK)
        status = open_engine(s, &f, e);
    if (status == ST_OK && folder_delete_leftovers(s->dir, &why) != ST_OK)
        log_warn("store", "what a repair left is not deleted: %s", why.text);
    return status;
}

void
store_destroy(struct store *s)
{
    struct error e;

    if (wal_close(&s->wal, &e) != ST_OK)
        log_error("store", "closing the WAL: %s", e.text);
    if (s->options.wal != NULL) /* it was not opened */
        s->options.wal->ops->close(s->options.wal);
    kv_close(&s->kv);
    format_unlock(&s->lock);
    for (size_t i = 0; s->wal_buckets != NULL && i < s->layout.salt_buckets;
         i++) {
        wal_points_fini(&s->wal_buckets[i].writer);
        buf_fini(&s->wal_buckets[i].owned_record);
    }
    free(s->wal_buckets);
    for (size_t i = 0; s->weeks != NULL && i < s->layout.salt_buckets; i++) {
        free(s->weeks[i].stale);
        free(s->weeks[i].late);
    }
    free(s->weeks);
    free(s->states);
    head_free(&s->head);
    cond_fini(&s->wake);
    cond_fini(&s->room);
    cond_fini(&s->stop);
    cuts_fini(&s->cuts);
    lock_fini(&s->wake_lock);
    lock_fini(&s->write_lock);
    lock_fini(&s->late_lock);
    lock_fini(&s->flush_lock);
    free(s->dir);
    OBJ_FREE(s);
}

/* Damaged ones are for fsck: points are read as if there were no cuts. */
static enum status
open_cuts(struct store *s, struct error *e)
{
    enum status status = store_cuts_read(s, e);

    if (status != ST_CORRUPT)
        return status;
    log_error("store",
              "cuts of retention are unreadable (see: halite fsck): %s",
              e->text);
    return ST_OK;
}

/* The cuts before the replay, which may flush rows that change weeks; and
 * again, as one may be in the log alone. */
static enum status
open_rows(struct store *s, struct error *e)
{
    enum status status = open_cuts(s, e);

    lock_take(&s->flush_lock);
    for (unsigned i = 0; i < s->layout.salt_buckets && status == ST_OK; i++)
        status = store_weeks_load(s, i, e);
    lock_drop(&s->flush_lock);
    if (status == ST_OK)
        status = store_replay(s, e);
    return status == ST_OK ? open_cuts(s, e) : status;
}

enum status
store_open(const struct store_options *o, struct store **out, struct error *e)
{
    struct store *s = mem_new(sizeof *s);
    enum status status;

    *out = NULL;
    s->magic = STORE_MAGIC;
    s->options = *o;
    s->kv = o->kv;
    s->remote = o->remote;
    fill_defaults(&s->options);
    s->lock = (struct format_lock)FORMAT_NOT_LOCKED;
    lock_init(&s->flush_lock);
    lock_init(&s->late_lock);
    lock_init(&s->write_lock);
    lock_init(&s->wake_lock);
    lock_init(&s->cuts.lock);
    cond_init(&s->wake);
    cond_init(&s->room);
    cond_init(&s->stop);
    if (!key_layout_is_valid(&o->layout)) {
        status = error_set(e, ST_INVALID,
                           "a row has 1, 2, 3, 4, 6, 8, 12 or 24 hours "
                           "(halite.store.row_hours), a key 0 or 1 salt bytes "
                           "of at most 256 buckets, an id 1 to 8 bytes");
    } else if (o->kv != NULL) {
        struct wal_options jo = wal_options_of(s);

        s->layout = o->layout;
        jo.medium = s->options.wal;
        s->options.wal = NULL;
        status = jo.medium == NULL ? ST_OK : wal_open(&jo, &s->wal, e);
    } else if (o->dir == NULL) {
        s->layout = o->layout;
        status = kv_open(&(struct kv_options){ .place = KV_MEMORY }, &s->kv, e);
    } else {
        s->dir = mem_strdup(o->dir);
        status = open_files(s, e);
    }
    if (status == ST_OK) {
        s->head = head_new(&s->layout);
        s->weeks = mem_new_array(s->layout.salt_buckets, sizeof *s->weeks);
        if (s->wal != NULL || o->remote != NULL)
            s->wal_buckets =
                mem_new_array(s->layout.salt_buckets, sizeof *s->wal_buckets);
        if (o->remote != NULL)
            store_owners_init(s);
        else
            status = open_rows(s, e);
    }
    if (status == ST_OK && o->read_only)
        store_reject_writes(s);
    if (status == ST_OK)
        status = store_flusher_start(s, e);
    if (status != ST_OK) {
        store_flusher_stop(s);
        store_destroy(s);
        return status;
    }
    *out = s;
    return ST_OK;
}

enum status
store_close(struct store **sp, struct error *e)
{
    struct store *s = OBJ_TAKE(sp, STORE_MAGIC);
    enum status status, closed;

    if (s == NULL)
        return ST_OK;
    store_flusher_stop(s);
    crash_point("close-begun");
    status = store_flush(s, e);
    crash_point("close-flushed");
    closed = wal_close(&s->wal, status == ST_OK ? e : NULL);
    store_destroy(s);
    return status == ST_OK ? closed : status;
}

void
store_announce(struct store *s, const char *address)
{
    OBJ_CHECK(s, STORE_MAGIC);
    format_lock_note(&s->lock, address);
}

const struct key_layout *
store_layout(const struct store *s)
{
    OBJ_CHECK(s, STORE_MAGIC);
    return &s->layout;
}

struct head *
store_head(struct store *s)
{
    OBJ_CHECK(s, STORE_MAGIC);
    return s->head;
}

const struct clock *
store_clock(const struct store *s)
{
    OBJ_CHECK(s, STORE_MAGIC);
    return s->options.clock;
}

const struct store_remote *
store_remote(const struct store *s)
{
    OBJ_CHECK(s, STORE_MAGIC);
    return s->remote;
}

struct kv *
store_kv(struct store *s)
{
    OBJ_CHECK(s, STORE_MAGIC);
    return s->kv;
}

/* -- other tables ---------------------------------------------------------- */

enum status
store_write(struct store *s, struct kv_batch *b, uint64_t *lsn, struct error *e)
{
    struct kv_batch_mark mark = kv_batch_mark(b);
    uint32_t bucket = kv_batch_bucket(b);
    struct buf record = BUF_INIT;
    uint64_t unused;
    enum status status;

    OBJ_CHECK(s, STORE_MAGIC);
    if (lsn == NULL)
        lsn = &unused;
    *lsn = 0;
    if (store_may_write(s, e) != ST_OK)
        return ST_BUSY;
    /* Other processes write to the engine, too.  A batch of no bucket is
     * durable when it is written. */
    if (kv_traits(s->kv)->shared) {
        if (kv_batch_len(b) == 0)
            return ST_OK;
        kv_batch_set_bucket(b, KV_NO_BUCKET);
        status = kv_write(s->kv, b, e);
        kv_batch_set_bucket(b, bucket);
        return status;
    }
    if (s->wal != NULL)
        record_batch(&record, b);
    /* The write lock is held across WAL and engine, so that both see batches in
     * one order and the flusher never trims a batch that the engine lacks.  The
     * batch's number is in it for that time. */
    lock_take(&s->write_lock);
    if (s->wal != NULL)
        record_batch_number(&record, b, s->batches + 1);
    /* What the engine rejects must not come back from the WAL. */
    status = kv_batch_check(b, e);
    if (status == ST_OK)
        status = kv_fault(s->kv, e);
    if (status == ST_OK && record.failed)
        status = error_set(e, ST_BUSY, "no memory for a batch");
    if (status == ST_OK && s->wal != NULL) {
        status = wal_wait_for_room(s->wal, e);
        if (status == ST_OK)
            status =
                wal_append(s->wal, 0, RECORD_BATCH, buf_slice(&record), lsn, e);
        if (status == ST_OK)
            s->batches++;
        status = store_disk_failed(status, e);
    }
    crash_point("batch-logged");
    if (status == ST_OK)
        status = kv_gather(s->kv, b, e);
    crash_point("batch-written");
    lock_drop(&s->write_lock);
    kv_batch_rewind(b, mark);
    buf_fini(&record);
    return status;
}

/* -- counts ---------------------------------------------------------------- */

struct store_counts
store_counts(struct store *s)
{
    struct head_counts head;
    struct store_counts c;

    OBJ_CHECK(s, STORE_MAGIC);
    head = head_counts(s->head);
    c = (struct store_counts){
        .points_added = atomic_load(&s->points_added),
        .head_series = head.series,
        .head_rows = head.rows,
        .head_points = head.points,
        .head_bytes = head.bytes,
        .series_forgotten = head.forgotten,
        .series_renumbered = atomic_load(&s->series_renumbered),
        .hours_encoded = head.encoded,
        .rows_flushed = atomic_load(&s->rows_flushed),
        .rows_merged = atomic_load(&s->rows_merged),
        .rows_rewritten = atomic_load(&s->rows_rewritten),
        .rows_quarantined = atomic_load(&s->rows_quarantined),
        .rows_unreadable = atomic_load(&s->rows_unreadable),
        .rows_set_aside = atomic_load(&s->rows_set_aside),
        .weeks_written = atomic_load(&s->weeks_written),
    };
    c.replay_us = s->replay_us;
    if (s->wal != NULL)
        c.wal = wal_counts(s->wal);
    return c;
}

const struct latency *
store_sync_latency(const struct store *s)
{
    OBJ_CHECK(s, STORE_MAGIC);
    return s->wal == NULL ? NULL : wal_sync_latency(s->wal);
}

uint64_t
store_table_bytes(struct store *s, uint8_t table)
{
    const uint8_t from = table, to = table + 1;

    OBJ_CHECK(s, STORE_MAGIC);
    return kv_approximate_bytes(s->kv, slice_of(&from, 1), slice_of(&to, 1));
}
