/* What kv.c and the engines share: each engine puts one of these structs at
 * the start of its own, and fills a table of functions.
 *
 * kv.c checks magics and arguments, counts, and calls again what ended with
 * ST_TIMEOUT; an engine need not.  A write that timed out may have happened, or
 * happen yet, but not after a later one of its bucket. */
#pragma once

#include "base/process/lock.h"
#include "base/obj.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"
#include "storage/kv/kv_types.h"

#define KV_MAGIC       FOURCC('K', 'V', 'D', 'B')
#define KV_BATCH_MAGIC FOURCC('K', 'V', 'B', 'A')
#define KV_ITER_MAGIC  FOURCC('K', 'V', 'I', 'T')

typedef enum status kv_get_many_fn(struct kv *kv, const struct slice *keys,
                                   size_t len, kv_value_fn *f, void *ctx,
                                   struct error *e);

struct kv_engine {
    struct kv_traits traits;
    void (*close)(struct kv *kv);
    enum status (*get)(struct kv *kv, struct slice key, struct buf *out,
                       struct error *e);
    enum status (*write)(struct kv *kv, const struct kv_batch *b,
                         struct error *e);
    enum status (*gather)(struct kv *kv, const struct kv_batch *b,
                          struct error *e); /* NULL: a write */
    /* Sets the status of each, also ST_TIMEOUT.  NULL: by the calls above, one
     * after the other under a lock in this process. */
    void (*write_if_many)(struct kv *kv, struct kv_guarded *all, size_t len,
                          struct error *e);
    uint64_t (*group)(const struct kv *kv, struct slice key); /* NULL: one */
    /* NULL: one process alone has the place. */
    enum status (*exclusive_begin)(struct kv *kv, const char *name,
                                   uint64_t *ticket, struct error *e);
    void (*exclusive_end)(struct kv *kv, const char *name, uint64_t ticket);
    kv_get_many_fn *get_many; /* NULL: one by one */
    /* NULL: a write is as durable as it will be when it returns. */
    enum status (*sync)(struct kv *kv, struct error *e);
    /* NULL: what is deleted takes no room. */
    void (*compact)(struct kv *kv, struct slice from, struct slice to);
    struct kv_iter *(*iter_open)(struct kv *kv,
                                 struct slice prefix); /* kv.c filters */
    uint64_t (*approximate_bytes)(struct kv *kv, struct slice from,
                                  struct slice to); /* NULL: unknown */
};

/* Each step leaves 'valid', 'key' and 'value' right, and on a failure fills
 * 'error'; after ST_TIMEOUT all three are as before, for another try.  next is
 * called on a valid iterator only, and none after a failure. */
struct kv_iter_engine {
    void (*close)(struct kv_iter *it); /* may find a last failure; or NULL */
    void (*seek)(struct kv_iter *it, struct slice key);
    void (*next)(struct kv_iter *it);
    void (*free)(struct kv_iter *it);
};

struct kv {
    uint32_t magic;
    const struct kv_engine *engine;
    unsigned timeout_ms;
    struct lock swap_lock; /* one swap at a time, where an engine has none */
    struct lock fault_lock;
    struct error fault GUARDED_BY(fault_lock); /* the last write's failure */
};

/* For an engine's open and close. */
void kv_init(struct kv *kv, const struct kv_engine *engine);
void kv_fini(struct kv *kv);

/* Keeps the first failure after which nothing may be written; the status and
 * the text of what is kept. */
enum status kv_fail(struct kv *kv, const struct error *why, struct error *e);

/* An engine sets 'valid', 'key', 'value' and 'error'. */
struct kv_iter {
    uint32_t magic;
    const struct kv_iter_engine *engine;
    bool valid;
    uint8_t prefix_size;
    uint8_t prefix[KV_PREFIX_MAX];
    struct slice key, value;
    struct slice end;   /* of its keys, exclusive; data NULL: the prefix's */
    struct error error; /* status ST_OK: none */
    struct kv_iter_counts counts;
    struct kv *kv;
    int64_t end_us; /* of trying again; 0: the engine's timeout a step */
};

/* What can be opened, to a NULL; a program of tests links another list. */
struct kv_engine_entry {
    const char *name;
    enum status (*open)(const struct kv_options *o, struct kv **out,
                        struct error *e);
};
extern const struct kv_engine_entry kv_engines[];

MUST_CHECK enum status kv_leveldb_open(const struct kv_options *o,
                                       struct kv **out, struct error *e);
MUST_CHECK enum status kv_mem_open(const struct kv_options *o, struct kv **out,
                                   struct error *e);

MUST_CHECK enum status kv_rados_open(const struct kv_options *o,
                                     struct kv **out, struct error *e);

/* Makes a database of the tables in a folder.  From a damaged table it keeps
 * the good blocks, unless what leads to them is damaged.  Every table is at
 * level 0 then, where a read may find an older value first: only iterators see
 * the newest, and kv_salvage() copies what they see.  ST_IO, ST_LIMIT: a file
 * could not be read or written, whether or not it is damaged. */
MUST_CHECK enum status level_repair(const char *dir, struct error *e);

/* The part of level_repair() that LevelDB does. */
MUST_CHECK enum status kv_leveldb_repair(const char *dir, struct error *e);
