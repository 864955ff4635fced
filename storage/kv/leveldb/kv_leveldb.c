/* The LevelDB engine.  What was learnt about LevelDB 1.23, and is done about it
 * here, is a table of storage/README.md.  Its errors are texts, which leave
 * this file as ST_IO or ST_CORRUPT. */
#include "storage/kv/kv.h"

#include <leveldb/c.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file/durable.h"
#include "base/process/log.h"
#include "base/mem.h"
#include "storage/kv/engine.h"
#include "storage/kv/leveldb/level_files.h"
#include "storage/kv/leveldb/level_manifest.h"

#define GATHER_BYTES ((size_t)256 << 10)

struct level {
    struct kv kv;
    char *dir;
    leveldb_t *db;
    leveldb_options_t *options;
    leveldb_cache_t *cache;
    leveldb_filterpolicy_t *bloom;
    leveldb_readoptions_t *read;
    leveldb_writeoptions_t *write;
    struct lock write_lock;                     /* one write at a time */
    struct kv *gathered GUARDED_BY(write_lock); /* puts; NULL: none */
    size_t gathered_bytes GUARDED_BY(write_lock);
    _Atomic uint64_t gathers; /* bits of the tables that have keys in there */
};

struct level_iter {
    struct kv_iter it;
    leveldb_iterator_t *i;
    const char *dir; /* of the engine, which lives longer */
};

static struct level *
level_of(struct kv *kv)
{
    return (struct level *)kv;
}

/* -- errors --------------------------------------------------------------- */

/* The one place where LevelDB's texts become ours.  Frees 'text', which is not
 * NULL. */
static enum status
take_error(char *text, const char *dir, struct error *e)
{
    struct slice s = slice_str(text);
    enum status st = ST_IO;

    if (slice_starts(s, slice_str("IO error: lock "))) {
        if (strstr(text, "already held by process") != NULL)
            st = error_set(e, ST_IO, "'%s' is already open in this process",
                           dir);
        else
            st = error_set(e, ST_IO,
                           "'%s' is in use by another process (LevelDB: %s)",
                           dir, text);
    } else {
        if (slice_starts(s, slice_str("Corruption: ")) ||
            slice_starts(s, slice_str("Invalid argument: ")))
            st = ST_CORRUPT;
        (void)error_set(e, st, "LevelDB in '%s': %s%s", dir, text,
                        st == ST_CORRUPT ? " ('halite fsck' names the file)"
                                         : "");
    }
    leveldb_free(text);
    return st;
}

/* -- reading and writing -------------------------------------------------- */

static enum status
level_get(struct kv *kv, struct slice key, struct buf *out, struct error *e)
{
    struct level *l = level_of(kv);
    char *err = NULL, *value;
    size_t size = 0;
    enum status st;

    if (atomic_load(&l->gathers) != 0) {
        lock_take(&l->write_lock);
        st = l->gathered == NULL ? ST_NOT_FOUND
                                 : kv_get(l->gathered, key, out, e);
        lock_drop(&l->write_lock);
        if (st != ST_NOT_FOUND)
            return st;
    }
    value = leveldb_get(l->db, l->read, (const char *)key.data, key.size, &size,
                        &err);
    if (err != NULL)
        return take_error(err, l->dir, e);
    if (value == NULL)
        return error_set(e, ST_NOT_FOUND, "no such key");
    buf_put(out, value, size);
    leveldb_free(value);
    if (out->failed)
        return error_set(e, ST_LIMIT, "no memory for a value");
    return ST_OK;
}

static void
copy_op(void *ctx, struct slice key, const struct slice *value)
{
    leveldb_writebatch_t *to = ctx;

    if (value == NULL)
        leveldb_writebatch_delete(to, (const char *)key.data, key.size);
    else
        leveldb_writebatch_put(to, (const char *)key.data, key.size,
                               (const char *)value->data, value->size);
}

/* Hands a batch to LevelDB, unless 'st' is a failure already, and frees it. */
static enum status
write_copy(struct level *l, leveldb_writebatch_t *copy, enum status st,
           struct error *e)
{
    char *err = NULL;

    if (st == ST_OK)
        st = kv_fault(&l->kv, e);
    if (st == ST_OK) {
        struct error why;

        leveldb_write(l->db, l->write, copy, &err);
        if (err != NULL) {
            (void)take_error(err, l->dir, &why);
            st = kv_fail(&l->kv, &why, e);
        }
    }
    leveldb_writebatch_destroy(copy);
    return st;
}

/* The table of a key is its first byte; two that share a bit only drain more
 * often than needed.  An empty prefix is every table. */
static uint64_t
table_bit(struct slice key)
{
    return key.size == 0 ? UINT64_MAX : UINT64_C(1) << (key.data[0] & 63);
}

/* What waited becomes one batch, in the order of its keys, so that it is all or
 * nothing.  After a failure it stays, for level_get(). */
static enum status
drain(struct level *l, struct error *e) REQUIRES(l->write_lock)
{
    leveldb_writebatch_t *copy;
    struct kv_iter *it;
    enum status st;

    if (l->gathered == NULL)
        return ST_OK;
    copy = leveldb_writebatch_create();
    it = kv_iter_open(l->gathered, slice_str(""));
    for (bool on = kv_iter_seek(it, slice_str("")); on; on = kv_iter_next(it)) {
        struct slice value = kv_iter_value(it);

        copy_op(copy, kv_iter_key(it), &value);
    }
    st = write_copy(l, copy, kv_iter_close(&it, e), e);
    if (st != ST_OK)
        return st;
    kv_close(&l->gathered);
    l->gathered_bytes = 0;
    atomic_store(&l->gathers, 0);
    return ST_OK;
}

/* Before anything that sees all keys, or those of one table. */
static enum status
drain_first(struct level *l, uint64_t tables, struct error *e)
{
    enum status st;

    if ((atomic_load(&l->gathers) & tables) == 0)
        return ST_OK;
    lock_take(&l->write_lock);
    st = drain(l, e);
    lock_drop(&l->write_lock);
    return st;
}

static enum status
level_write(struct kv *kv, const struct kv_batch *b, struct error *e)
{
    struct level *l = level_of(kv);
    leveldb_writebatch_t *copy = leveldb_writebatch_create();
    enum status st;

    kv_batch_each(b, copy_op, copy);
    lock_take(&l->write_lock);
    st = write_copy(l, copy, drain(l, e), e);
    lock_drop(&l->write_lock);
    return st;
}

/* What a batch is for gathering. */
struct gathering {
    size_t bytes;
    uint64_t tables;
    bool deletes;
};

static void
look_at_op(void *ctx, struct slice key, const struct slice *value)
{
    struct gathering *g = ctx;

    g->bytes += key.size + (value == NULL ? 0 : value->size);
    g->tables |= table_bit(key);
    g->deletes |= value == NULL;
}

/* LevelDB finds the place of a key in its table in memory by looking at some
 * twenty others, which lie anywhere; a key close to the one before finds most
 * of them in the CPU's caches, so some thousands are brought together first:
 * a new series of HTTP bodies of 50 costs 7 % less CPU, and one of a million
 * in another order than their tags', 13 %; telnet's batches are large already.
 */
static enum status
level_gather(struct kv *kv, const struct kv_batch *b, struct error *e)
{
    const struct kv_options memory = { .place = KV_MEMORY };
    struct level *l = level_of(kv);
    struct gathering g = { 0 };
    enum status st;

    kv_batch_each(b, look_at_op, &g);
    if (g.deletes)
        return level_write(kv, b, e);
    lock_take(&l->write_lock);
    st = kv_fault(kv, e);
    if (st == ST_OK && l->gathered == NULL)
        st = kv_open(&memory, &l->gathered, e);
    if (st == ST_OK)
        st = kv_write(l->gathered, b, e);
    if (st == ST_OK) {
        l->gathered_bytes += g.bytes;
        atomic_fetch_or(&l->gathers, g.tables);
        if (l->gathered_bytes >= GATHER_BYTES)
            st = drain(l, e);
    }
    lock_drop(&l->write_lock);
    return st;
}

/* The second edit follows the one that names the table: only the last edit may
 * be cut off at a start (level_manifest.h).  An empty batch is rejected if
 * LevelDB has failed in the background. */
static enum status
level_sync(struct kv *kv, struct error *e)
{
    struct level *l = level_of(kv);
    enum status st = drain_first(l, UINT64_MAX, e);

    if (st == ST_OK)
        st = kv_fault(kv, e);
    if (st != ST_OK)
        return st;
    for (int edits = 0; edits < 2; edits++) {
        static const char behind[] = "\xff\xff";

        /* Makes LevelDB write its memory table to a table file.  It is asked to
         * compact a range in which there are no keys, which does nothing else;
         * it has no way to report a failure.  Of an empty memory table it makes
         * no file, but it writes an edit to the MANIFEST all the same. */
        leveldb_compact_range(l->db, behind, 2, behind, 2);
    }
    return write_copy(l, leveldb_writebatch_create(), ST_OK, e);
}

/* In LevelDB's own thread, which writes full buffers first. */
static void
level_compact(struct kv *kv, struct slice from, struct slice to)
{
    leveldb_compact_range(level_of(kv)->db, (const char *)from.data, from.size,
                          (const char *)to.data, to.size);
}

static uint64_t
level_approximate_bytes(struct kv *kv, struct slice from, struct slice to)
{
    const char *from_key = (const char *)from.data;
    const char *to_key = (const char *)to.data;
    uint64_t size = 0;

    leveldb_approximate_sizes(level_of(kv)->db, 1, &from_key, &from.size,
                              &to_key, &to.size, &size);
    return size;
}

/* -- iterators ------------------------------------------------------------ */

static struct level_iter *
iter_of(struct kv_iter *it)
{
    return (struct level_iter *)it;
}

static void
note_error(struct level_iter *i)
{
    char *err = NULL;

    leveldb_iter_get_error(i->i, &err);
    if (err != NULL && i->it.error.status != ST_OK)
        leveldb_free(err); /* the first one sticks */
    else if (err != NULL)
        (void)take_error(err, i->dir, &i->it.error);
}

static void
level_iter_publish(struct level_iter *i)
{
    i->it.valid = leveldb_iter_valid(i->i) != 0;
    if (i->it.valid) {
        i->it.key.data =
            (const uint8_t *)leveldb_iter_key(i->i, &i->it.key.size);
        i->it.value.data =
            (const uint8_t *)leveldb_iter_value(i->i, &i->it.value.size);
    } else
        note_error(i);
}

static void
level_iter_seek(struct kv_iter *it, struct slice key)
{
    struct level_iter *i = iter_of(it);

    leveldb_iter_seek(i->i, (const char *)key.data, key.size);
    level_iter_publish(i);
}

static void
level_iter_next(struct kv_iter *it)
{
    struct level_iter *i = iter_of(it);

    leveldb_iter_next(i->i);
    level_iter_publish(i);
}

/* A block that cannot be read is stepped over while other files have keys, so
 * a valid iterator may have a failure behind it. */
static void
level_iter_close(struct kv_iter *it)
{
    note_error(iter_of(it));
}

static void
level_iter_free(struct kv_iter *it)
{
    struct level_iter *i = iter_of(it);

    leveldb_iter_destroy(i->i);
    free(i);
}

static const struct kv_iter_engine level_iter_engine = {
    .close = level_iter_close,
    .seek = level_iter_seek,
    .next = level_iter_next,
    .free = level_iter_free,
};

static struct kv_iter *
level_iter_open(struct kv *kv, struct slice prefix)
{
    struct level *l = level_of(kv);
    struct level_iter *i = mem_new(sizeof *i);

    i->it.engine = &level_iter_engine;
    i->dir = l->dir;
    (void)drain_first(l, table_bit(prefix), &i->it.error);
    i->i = leveldb_create_iterator(l->db, l->read);
    return &i->it;
}

/* -- opening -------------------------------------------------------------- */

static void
level_close(struct kv *kv)
{
    struct level *l = level_of(kv);

    if (l->db != NULL) {
        struct error e;

        if (level_sync(&l->kv, &e) != ST_OK)
            log_error("storage", "closing the engine: %s", e.text);
        leveldb_close(l->db);
    }
    leveldb_readoptions_destroy(l->read);
    leveldb_writeoptions_destroy(l->write);
    leveldb_options_destroy(l->options);
    leveldb_cache_destroy(l->cache);
    leveldb_filterpolicy_destroy(l->bloom);
    kv_close(&l->gathered);
    kv_fini(&l->kv);
    lock_fini(&l->write_lock);
    free(l->dir);
    free(l);
}

static const struct kv_engine level_engine = {
    /* A seek takes 1.2 us of CPU, a step 0.3. */
    .traits = { .seek_price = 4, .wants_padding = true },
    .close = level_close,
    .get = level_get,
    .write = level_write,
    .gather = level_gather,
    .sync = level_sync,
    .iter_open = level_iter_open,
    .compact = level_compact,
    .approximate_bytes = level_approximate_bytes,
};

static struct level *
level_new(const struct kv_options *o, bool create)
{
    struct level *l = mem_new(sizeof *l);
    size_t write_buffer = o->write_buffer_bytes;
    size_t cache = o->cache_bytes;

    kv_init(&l->kv, &level_engine);
    l->dir = mem_strdup(o->place.at);
    lock_init(&l->write_lock);
    l->bloom = leveldb_filterpolicy_create_bloom(10);
    l->cache = leveldb_cache_create_lru(cache == 0 ? 32 << 20 : cache);
    l->options = leveldb_options_create();
    leveldb_options_set_paranoid_checks(l->options, 1);
    leveldb_options_set_create_if_missing(l->options, create);
    leveldb_options_set_error_if_exists(l->options, create);
    leveldb_options_set_compression(l->options, leveldb_snappy_compression);
    leveldb_options_set_block_size(l->options, 16 << 10);
    leveldb_options_set_block_restart_interval(l->options, 64);
    leveldb_options_set_filter_policy(l->options, l->bloom);
    leveldb_options_set_cache(l->options, l->cache);
    leveldb_options_set_write_buffer_size(
        l->options, write_buffer == 0 ? 32 << 20 : write_buffer);
    leveldb_options_set_max_open_files(l->options, 500);
    l->read = leveldb_readoptions_create();
    leveldb_readoptions_set_verify_checksums(l->read, 1);
    l->write = leveldb_writeoptions_create();
    return l;
}

static enum status
open_database(struct level *l, bool create, struct error *e)
{
    char *err = NULL;
    enum status st = create ? ST_OK : level_manifest_prepare(l->dir, e);

    if (st == ST_OK)
        st = level_files_delete_logs(l->dir, e);
    if (st != ST_OK)
        return st;
    l->db = leveldb_open(l->options, l->dir, &err);
    if (err != NULL)
        return take_error(err, l->dir, e);
    return files_sync_dir(l->dir, e); /* the name CURRENT is new */
}

enum status
kv_leveldb_open(const struct kv_options *o, struct kv **out, struct error *e)
{
    struct level *l;
    bool create;
    enum status st = level_files_find(o->place.at, o->create, &create, e);

    if (st != ST_OK)
        return st;
    l = level_new(o, create);
    st = open_database(l, create, e);
    if (st != ST_OK) {
        level_close(&l->kv);
        return st;
    }
    *out = &l->kv;
    return ST_OK;
}

enum status
kv_leveldb_repair(const char *dir, struct error *e)
{
    const struct kv_options o = { .place = KV_LEVELDB(dir) };
    struct level *l = level_new(&o, false);
    char *err = NULL;

    leveldb_repair_db(l->options, dir, &err);
    level_close(&l->kv);
    return err == NULL ? ST_OK : take_error(err, dir, e);
}
