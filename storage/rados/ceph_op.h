/*
 * Operations on one object: built step by step, applied by its OSD as a whole
 * or not at all, durable on all replicas when it is done.
 *
 *     op = ceph_write_new(c);           op = ceph_page_new(c, ..);
 *     ceph_write_append(op, bytes);     ceph_op_start(op, "w.00");
 *     ceph_op_start(op, "j.1");         ...
 *     ...                               st = ceph_op_wait(op, e);
 *     st = ceph_op_wait(op, e);         while (ceph_op_next(op, &k, &v))
 *     ceph_op_free(&op);                ceph_op_free(&op);
 *
 * Started ones run side by side; those of one connection to one object in the
 * order of their starts.
 *
 * Owns:    copies of all that it was given.  What ceph_op_next() lends lives
 *          as long as the operation.
 * Threads: owner; different operations: any.
 * Fails:   as ceph_status() says.  A write that compares: ST_CONFLICT.
 */
#pragma once

#include "storage/rados/ceph.h"

struct ceph_op; /* opaque */

/* -- writes ---------------------------------------------------------------- */

struct ceph_op *ceph_write_new(struct ceph *c);

/* The object is made; 'exclusive': ST_CONFLICT if it is there. */
void ceph_write_create(struct ceph_op *op, bool exclusive);
/* ST_NOT_FOUND unless it is there. */
void ceph_write_assert_exists(struct ceph_op *op);

void ceph_write_append(struct ceph_op *op, struct slice bytes);
void ceph_write_full(struct ceph_op *op, struct slice bytes);

void ceph_write_set_xattr(struct ceph_op *op, const char *name,
                          struct slice value);
/* ST_CONFLICT unless it holds that; "" is also what an absent one holds. */
void ceph_write_expect_xattr(struct ceph_op *op, const char *name,
                             struct slice value);

/* Omap: keys of any bytes, ordered as such. */
void ceph_write_omap_set(struct ceph_op *op, const struct slice *keys,
                         const struct slice *values, size_t len);
void ceph_write_omap_remove(struct ceph_op *op, const struct slice *keys,
                            size_t len);
/* As ceph_write_expect_xattr(), of one key.  An object that is not there is
 * ST_NOT_FOUND: create it in the same operation, before. */
void ceph_write_omap_expect(struct ceph_op *op, struct slice key,
                            struct slice value);

/* -- reads ----------------------------------------------------------------- */

/* At most 'max' keys and values of an omap, ascending: those behind 'after'
 * that start with 'prefix', which have no NUL.  A cluster gives 1,024 or 8 MB
 * at a time, whatever was asked for: ceph_op_has_more(). */
#define CEPH_PAGE_MAX 1024
struct ceph_op *ceph_page_new(struct ceph *c, struct slice after,
                              struct slice prefix, unsigned max);
/* Of these keys those that are there, ascending. */
struct ceph_op *ceph_get_new(struct ceph *c, const struct slice *keys,
                             size_t len);
/* The next of either, or false behind the last. */
bool ceph_op_next(struct ceph_op *op, struct slice *key, struct slice *value);
bool ceph_op_has_more(const struct ceph_op *op);

/* 'size' bytes from 'offset' on, or as many as there are: ceph_op_bytes(). */
struct ceph_op *ceph_read_new(struct ceph *c, uint64_t offset, size_t size);
struct slice ceph_op_bytes(const struct ceph_op *op);

/* -- either ---------------------------------------------------------------- */

/* Sends it.  Once. */
void ceph_op_start(struct ceph_op *op, const char *object);
/* Waits for a started one: its status; again, the same. */
MUST_CHECK enum status ceph_op_wait(struct ceph_op *op, struct error *e);
/* Of a read in flight the answer is dropped; a write is waited for. */
void ceph_op_free(struct ceph_op **op);

/* Start, wait and free. */
MUST_CHECK enum status ceph_op_run(struct ceph_op *op, const char *object,
                                   struct error *e);

/* -- calls that come back with it ------------------------------------------ */

/* Replaces what 'out' holds. */
MUST_CHECK enum status ceph_read(struct ceph *c, const char *object,
                                 uint64_t offset, size_t size, struct buf *out,
                                 struct error *e);
MUST_CHECK enum status ceph_size(struct ceph *c, const char *object,
                                 uint64_t *size, struct error *e);
/* ST_NOT_FOUND: no object, or it has no such thing. */
MUST_CHECK enum status ceph_get_xattr(struct ceph *c, const char *object,
                                      const char *name, struct buf *out,
                                      struct error *e);
MUST_CHECK enum status ceph_get_omap(struct ceph *c, const char *object,
                                     struct slice key, struct buf *out,
                                     struct error *e);
/* All of an omap, page by page; no object is an empty one.  'f' fails to end
 * it. */
typedef enum status ceph_omap_fn(void *ctx, struct slice key,
                                 struct slice value, struct error *e);
MUST_CHECK enum status ceph_each_omap(struct ceph *c, const char *object,
                                      ceph_omap_fn *f, void *ctx,
                                      struct error *e);
/* An absent one is removed already. */
MUST_CHECK enum status ceph_remove(struct ceph *c, const char *object,
                                   struct error *e);
