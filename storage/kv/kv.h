/* The key-value engine: ordered binary keys, atomic batches.
 *
 * Engines behind one interface: LevelDB in a folder, memory, and a pool of Ceph
 * (storage/kv/rados/).  One test suite runs every case on each, and on one more
 * that is slow and unordered (tests/storage/kv/kv_slow.c).
 *
 * Owns:    what it opened; keys and values lent by an iterator die at its next
 *          step.  Iterators must be closed before the engine.
 * Threads: struct kv: any.  Batches, iterators: owner.
 * Fails:   ST_IO, ST_CORRUPT; an absent key is ST_NOT_FOUND from kv_get only;
 *          what is over the limits below is ST_LIMIT, and changes nothing;
 *          ST_TIMEOUT when an engine gives no answer however often it is asked.
 *          The texts name the engine's own message.  In LevelDB a failed write
 *          or sync is final: later ones fail with the same text until the
 *          engine is opened again, because its state is unknown.
 *          Reading goes on; in a pool, writing too, once there is room. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/slice.h"
#include "storage/kv/kv_types.h"

#define KV_KEY_MAX   65536
#define KV_VALUE_MAX (64 << 20)
#define KV_BATCH_MAX (512 << 20)

MUST_CHECK enum status kv_open(const struct kv_options *o, struct kv **out,
                               struct error *e);
void kv_close(struct kv **kv);
const struct kv_traits *kv_traits(const struct kv *kv);

/* Replaces what 'out' holds. */
MUST_CHECK enum status kv_get(struct kv *kv, struct slice key, struct buf *out,
                              struct error *e);

/* Many keys for the price of few calls: 'f' hears of each at least once, in any
 * order, and until it fails.  An engine far away reads them at once. */
MUST_CHECK enum status kv_get_many(struct kv *kv, const struct slice *keys,
                                   size_t len, kv_value_fn *f, void *ctx,
                                   struct error *e);

/* The same, into 'values': copies in the arena with a NUL after each, or no
 * data for keys that are absent.  ST_LIMIT past the arena's cap. */
MUST_CHECK enum status kv_read_many(struct kv *kv, const struct slice *keys,
                                    size_t len, struct arena *arena,
                                    struct slice *values, struct error *e);

/* Sets the key to 'value' if it holds '*expected' (NULL: if it is absent), or
 * else ST_CONFLICT and nothing; no other write comes between.  All that write
 * to such a key do so by this call or the next.  After a timeout the value
 * shows whether it was done: where two may set the same one, both may get
 * ST_OK. */
MUST_CHECK enum status kv_swap(struct kv *kv, struct slice key,
                               const struct slice *expected, struct slice value,
                               struct error *e);

/* Guarded batches: each is applied if each of its keys holds what is expected
 * of it, or else its status is ST_CONFLICT and it changes nothing; no other
 * write comes between.  All keys of one, expected and written, are of one
 * group. An engine far away has all batches on their way at once.  Returns the
 * first failure, if there is one; conflicts are none.  Timeouts: as above.
 * Durable when it returns where the engine is shared; else after kv_sync(). */
MUST_CHECK enum status kv_write_if_many(struct kv *kv, struct kv_guarded *all,
                                        size_t len, struct error *e);

/* Keys of one group can be in one guarded batch, and a batch of them is applied
 * as a whole.  Engines of one process have one group. */
uint64_t kv_group(const struct kv *kv, struct slice key);

/* Around reading, changing and writing what people change (trees, metadata):
 * of all processes with this place, one at a time is between these two for a
 * name (ASCII).  'ticket' goes from the first to the second.  Where the engine
 * is not shared they do nothing: the caller's own locks do.  ST_BUSY when
 * another one has it for longer than ten seconds; whoever takes longer than
 * that himself has lost it. */
MUST_CHECK enum status kv_exclusive_begin(struct kv *kv, const char *name,
                                          uint64_t *ticket, struct error *e);
void kv_exclusive_end(struct kv *kv, const char *name, uint64_t ticket);

/* The engine keeps the order of batches within each bucket, and within those of
 * none, and no other. */
struct kv_batch *kv_batch_new(void);
void kv_batch_set_bucket(struct kv_batch *b, uint32_t bucket);
uint32_t kv_batch_bucket(const struct kv_batch *b); /* KV_NO_BUCKET */
void kv_batch_free(struct kv_batch **b);
void kv_batch_clear(struct kv_batch *b);
void kv_batch_put(struct kv_batch *b, struct slice key, struct slice value);
void kv_batch_delete(struct kv_batch *b, struct slice key);
/* How many there should be: a batch that lacks some is rejected when it is
 * written, and one that lacks all is not empty. */
size_t kv_batch_len(const struct kv_batch *b);
/* Bytes of its operations. */
size_t kv_batch_bytes(const struct kv_batch *b);
/* What is added after the mark is taken out again by a rewind to it; the batch
 * is as it was, also when it had become too large meanwhile. */
struct kv_batch_mark {
    size_t len, size;
    bool failed, oversize;
};
struct kv_batch_mark kv_batch_mark(const struct kv_batch *b);
void kv_batch_rewind(struct kv_batch *b, struct kv_batch_mark mark);
/* The operations in order: a put, or a delete when 'value' is NULL. */
void kv_batch_each(const struct kv_batch *b,
                   void (*f)(void *ctx, struct slice key,
                             const struct slice *value),
                   void *ctx);

/* The failure after which the engine takes no more writes, until it is opened
 * anew; ST_OK: there was none. */
MUST_CHECK enum status kv_fault(struct kv *kv, struct error *e);

/* ST_LIMIT when something did not fit into the batch. */
MUST_CHECK enum status kv_batch_check(const struct kv_batch *b,
                                      struct error *e);

/* All or nothing.  Before kv_sync() a crash of the process or of the machine
 * may undo it, together with all later writes. */
MUST_CHECK enum status kv_write(struct kv *kv, const struct kv_batch *b,
                                struct error *e);

/* The same, for what the caller has elsewhere until kv_sync(): it
 * may stay in memory until there is more of it, or until an iterator over such
 * keys, or a sync, needs it.  kv_get() sees it always; an iterator over such
 * keys fails when the engine cannot take them any more. */
MUST_CHECK enum status kv_gather(struct kv *kv, const struct kv_batch *b,
                                 struct error *e);

/* All earlier writes are on the disk when it returns.  LevelDB makes a table of
 * them, so call it seldom.  kv_close() does the same, and logs a failure. */
MUST_CHECK enum status kv_sync(struct kv *kv, struct error *e);

/* Iterates over the keys that start with 'prefix' (KV_PREFIX_MAX bytes at most;
 * empty: all keys).  Starts nowhere: seek first.  It sees each key as of some
 * moment between its opening and the step to it.  A failure to open is the
 * iterator's failure. */
struct kv_iter *kv_iter_open(struct kv *kv, struct slice prefix);
/* From the next seek on it ends before 'end', too, which the caller keeps until
 * it sets another: an engine that reads ahead reads nothing from there on. */
void kv_iter_bound(struct kv_iter *it, struct slice end);
/* Why it stopped: the end (ST_OK), or a failure, which sticks. */
MUST_CHECK enum status kv_iter_close(struct kv_iter **it, struct error *e);
/* The same for a loop that may have failed itself, with 'st'. */
MUST_CHECK enum status kv_iter_end(struct kv_iter **it, enum status st,
                                   struct error *e);

/* Until then (monotonic; 0: never) a step that times out is tried again. */
void kv_iter_deadline(struct kv_iter *it, int64_t end_us);
/* The next two return true when the iterator stands on a key afterwards. */
bool kv_iter_seek(struct kv_iter *it, struct slice key); /* first >= key */
bool kv_iter_next(struct kv_iter *it);
struct slice kv_iter_key(const struct kv_iter *it);
struct slice kv_iter_value(const struct kv_iter *it);

struct kv_iter_counts kv_iter_counts(const struct kv_iter *it);

/* -- folders of the engine that are not open --------------------------------
 */

/* Makes a new engine in 'to', which is absent, of all that can be read of the
 * tables in 'from', which need not be a whole engine; 'from' is used up.
 * What cannot be read for another reason than its damage is an error: then 'to'
 * may be there in part. */
MUST_CHECK enum status kv_salvage(const char *from, const char *to,
                                  uint64_t *keys, struct error *e);

/* An engine to copy into: a new one, where nothing is yet. */
MUST_CHECK enum status kv_copy_open(struct kv_place to, struct kv **out,
                                    struct error *e);

/* How the entries of one store are in another: 'put' adds what becomes of one
 * to the batch, 'end' what is left. */
struct kv_recode {
    void (*put)(void *ctx, struct slice key, struct slice value,
                struct kv_batch *b);
    void (*end)(void *ctx, struct kv_batch *b);
    void *ctx;
};

struct kv_copying {
    const struct kv_recode *recode; /* NULL: all as they are */
    struct cancel cancel;           /* ends it with ST_BUSY */
    uint64_t keys;                  /* out: that were read */
};

/* Copies all keys, ascending.  On the disk when it returns. */
MUST_CHECK enum status kv_copy(struct kv *kv, struct kv *to,
                               struct kv_copying *c, struct error *e);

/* Gives the room back that deleted keys in ['from', 'to') take.  It reads and
 * writes what else lies among them, and lets others work meanwhile. */
void kv_compact(struct kv *kv, struct slice from, struct slice to);

/* About how many bytes lie in ['from', 'to'); 0, too, where an engine does not
 * know. */
uint64_t kv_approximate_bytes(struct kv *kv, struct slice from,
                              struct slice to);
