/*
 * What kv.c and the engines share: each engine puts one of these structs at
 * the start of its own, and fills a table of functions.
 *
 * kv.c checks magics and arguments and counts; an engine need not.
 */
#ifndef STORAGE_KV_PRIV_H
#define STORAGE_KV_PRIV_H

#include "base/lock.h"
#include "base/obj.h"
#include "storage/kv.h"

#define KV_MAGIC          FOURCC('K', 'V', 'D', 'B')
#define KV_BATCH_MAGIC    FOURCC('K', 'V', 'B', 'A')
#define KV_SNAPSHOT_MAGIC FOURCC('K', 'V', 'S', 'N')
#define KV_ITER_MAGIC     FOURCC('K', 'V', 'I', 'T')

struct kv_engine {
    void (*close)(struct kv *kv);
    enum status (*get)(struct kv *kv, struct slice key, struct buf *out,
                       struct error *e);
    enum status (*write)(struct kv *kv, const struct kv_batch *b, bool sync,
                         struct error *e);
    enum status (*gather)(struct kv *kv, const struct kv_batch *b,
                          struct error *e); /* NULL: a write */
    enum status (*sync)(struct kv *kv, struct error *e);
    void (*settle)(struct kv *kv, size_t least); /* or NULL */
    struct kv_snapshot *(*snapshot_take)(struct kv *kv);
    void (*snapshot_release)(struct kv *kv, struct kv_snapshot *s);
    struct kv_iter *(*iter_open)(struct kv *kv, struct kv_snapshot *s);
    uint64_t (*approximate_bytes)(struct kv *kv, struct slice from,
                                  struct slice to);
    void (*describe)(struct kv *kv, struct buf *out);
};

/* Each step leaves 'valid', 'key' and 'value' right, and on a failure fills
 * 'error'.  next and prev are called on a valid iterator only, and none after
 * a failure. */
struct kv_iter_engine {
    void (*close)(struct kv_iter *it); /* may find a last failure */
    void (*seek)(struct kv_iter *it, struct slice key);
    void (*before)(struct kv_iter *it, struct slice key);
    void (*last)(struct kv_iter *it);
    void (*next)(struct kv_iter *it);
    void (*prev)(struct kv_iter *it);
    void (*free)(struct kv_iter *it);
};

struct kv {
    uint32_t magic;
    const struct kv_engine *engine;
    struct lock create_lock; /* one kv_create or kv_increment at a time */
};

struct kv_snapshot {
    uint32_t magic;
    struct kv *kv;
};

struct kv_iter {
    uint32_t magic;
    const struct kv_iter_engine *engine;
    bool valid;
    struct slice key, value;
    struct error error; /* status ST_OK: none */
    struct kv_iter_counts counts;
};

MUST_CHECK enum status kv_leveldb_open(const struct kv_options *o,
                                       struct kv **out, struct error *e);
struct kv *kv_mem_open(void);

/* LevelDB's own repair, with all checksums that it looks at.  What it leaves
 * has every table at level 0, where a read may find an older value first: only
 * iterators tell the truth, and kv_salvage() copies what they see. */
MUST_CHECK enum status kv_leveldb_repair(const char *dir, struct error *e);

/* Failed allocations of C++ wait from now on, until there is memory again. */
void kv_make_patient(void);

/* 'inner', which it takes over, with the operations over it.  These stay as
 * they are while it lives.  Slow: for when an engine has failed. */
struct kv_gather;
struct kv_iter *kv_overlay_new(struct kv_iter *inner,
                               const struct kv_gather *over);

/* ST_LIMIT when something did not fit into the batch. */
MUST_CHECK enum status kv_batch_check(const struct kv_batch *b,
                                      struct error *e);

#endif
