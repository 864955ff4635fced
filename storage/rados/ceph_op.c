/* Operations: librados' write and read operations with their completions. */
#include "storage/rados/ceph_op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/obj.h"
#include "storage/rados/ceph_priv.h"

#define OP_MAGIC    FOURCC('C', 'E', 'O', 'P')
#define OBJECT_SIZE 128

struct ceph_op {
    uint32_t magic;
    struct ceph *c;
    rados_write_op_t write;
    rados_read_op_t read;
    rados_completion_t done; /* NULL: never sent */
    char object[OBJECT_SIZE];
    bool started, has_waited;
    int fault, result;
    /* Of reads.  librados writes to these until it is done. */
    rados_omap_iter_t omap;
    unsigned char more;
    int part_result;
    struct buf bytes;
    size_t bytes_read;
};

static struct ceph_op *
op_new(struct ceph *c)
{
    struct ceph_op *op = mem_new(sizeof *op);

    op->magic = OP_MAGIC;
    op->c = c;
    return op;
}

/* -- writes ---------------------------------------------------------------- */

struct ceph_op *
ceph_write_new(struct ceph *c)
{
    struct ceph_op *op = op_new(c);

    op->write = librados.create_write_op();
    return op;
}

void
ceph_write_create(struct ceph_op *op, bool exclusive)
{
    librados.write_op_create(op->write,
                             exclusive ? LIBRADOS_CREATE_EXCLUSIVE
                                       : LIBRADOS_CREATE_IDEMPOTENT,
                             NULL);
}

void
ceph_write_assert_exists(struct ceph_op *op)
{
    librados.write_op_assert_exists(op->write);
}

void
ceph_write_append(struct ceph_op *op, struct slice bytes)
{
    librados.write_op_append(op->write, (const char *)bytes.data, bytes.size);
}

void
ceph_write_full(struct ceph_op *op, struct slice bytes)
{
    librados.write_op_write_full(op->write, (const char *)bytes.data,
                                 bytes.size);
}

void
ceph_write_set_xattr(struct ceph_op *op, const char *name, struct slice value)
{
    librados.write_op_setxattr(op->write, name, (const char *)value.data,
                               value.size);
}

void
ceph_write_expect_xattr(struct ceph_op *op, const char *name,
                        struct slice value)
{
    librados.write_op_cmpxattr(op->write, name, LIBRADOS_CMPXATTR_OP_EQ,
                               (const char *)value.data, value.size);
}

/* Slices as librados wants them: pointers apart from sizes. */
struct columns {
    const char **data;
    size_t *sizes;
};

static struct columns
columns_of(const struct slice *v, size_t len)
{
    struct columns c = { mem_new_array(len, sizeof *c.data),
                         mem_new_array(len, sizeof *c.sizes) };

    for (size_t i = 0; i < len; i++) {
        c.data[i] = v[i].size == 0 ? "" : (const char *)v[i].data;
        c.sizes[i] = v[i].size;
    }
    return c;
}

static void
columns_free(struct columns c)
{
    free(c.data);
    free(c.sizes);
}

void
ceph_write_omap_set(struct ceph_op *op, const struct slice *keys,
                    const struct slice *values, size_t len)
{
    struct columns k = columns_of(keys, len), v = columns_of(values, len);

    librados.write_op_omap_set2(op->write, k.data, v.data, k.sizes, v.sizes,
                                len);
    columns_free(k);
    columns_free(v);
}

void
ceph_write_omap_remove(struct ceph_op *op, const struct slice *keys, size_t len)
{
    struct columns k = columns_of(keys, len);

    librados.write_op_omap_rm_keys2(op->write, k.data, k.sizes, len);
    columns_free(k);
}

void
ceph_write_omap_expect(struct ceph_op *op, struct slice key, struct slice value)
{
    librados.write_op_omap_cmp2(
        op->write, (const char *)key.data, LIBRADOS_CMPXATTR_OP_EQ,
        (const char *)value.data, key.size, value.size, NULL);
}

/* -- reads ----------------------------------------------------------------- */

struct ceph_op *
ceph_page_new(struct ceph *c, struct slice after, struct slice prefix,
              unsigned max)
{
    struct ceph_op *op = op_new(c);
    char *after_text = mem_strndup(after.data, after.size);
    char *prefix_text = mem_strndup(prefix.data, prefix.size);

    op->read = librados.create_read_op();
    librados.read_op_omap_get_vals2(op->read, after_text, prefix_text, max,
                                    &op->omap, &op->more, &op->part_result);
    free(after_text);
    free(prefix_text);
    return op;
}

struct ceph_op *
ceph_get_new(struct ceph *c, const struct slice *keys, size_t len)
{
    struct ceph_op *op = op_new(c);
    struct columns k = columns_of(keys, len);

    op->read = librados.create_read_op();
    librados.read_op_omap_get_vals_by_keys2(op->read, k.data, len, k.sizes,
                                            &op->omap, &op->part_result);
    columns_free(k);
    return op;
}

bool
ceph_op_next(struct ceph_op *op, struct slice *key, struct slice *value)
{
    char *k = NULL, *v = NULL;
    size_t key_size = 0, value_size = 0;

    INSIST(op->has_waited);
    if (op->result < 0 || op->omap == NULL ||
        librados.omap_get_next2(op->omap, &k, &v, &key_size, &value_size) < 0 ||
        k == NULL)
        return false;
    *key = slice_of((const uint8_t *)k, key_size);
    *value = slice_of((const uint8_t *)v, value_size);
    return true;
}

bool
ceph_op_has_more(const struct ceph_op *op)
{
    INSIST(op->has_waited);
    return op->result >= 0 && op->more != 0;
}

struct ceph_op *
ceph_read_new(struct ceph *c, uint64_t offset, size_t size)
{
    struct ceph_op *op = op_new(c);
    char *room;

    buf_make_room(&op->bytes, size);
    room = (char *)buf_reserve(&op->bytes, size);
    op->read = librados.create_read_op();
    librados.read_op_read(op->read, offset, size, room, &op->bytes_read,
                          &op->part_result);
    return op;
}

struct slice
ceph_op_bytes(const struct ceph_op *op)
{
    INSIST(op->has_waited);
    return slice_of(op->bytes.data, op->result < 0 ? 0 : op->bytes_read);
}

/* -- either ---------------------------------------------------------------- */

void
ceph_op_start(struct ceph_op *op, const char *object)
{
    enum ceph_call call;
    int r;

    OBJ_CHECK(op, OP_MAGIC);
    call = op->write == NULL ? CEPH_CALL_READ : CEPH_CALL_WRITE;
    INSIST(!op->started && strlen(object) < OBJECT_SIZE);
    op->started = true;
    memcpy(op->object, object, strlen(object) + 1);
    op->fault = ceph_enter(op->c, call, object);
    if (op->fault < 0)
        return;
    INSIST(librados.aio_create_completion2(NULL, NULL, &op->done) == 0);
    r = op->write == NULL
            ? librados.aio_read_op_operate(op->read, op->c->pool, op->done,
                                           object, LIBRADOS_OPERATION_NOFLAG)
            : librados.aio_write_op_operate(op->write, op->c->pool, op->done,
                                            object, NULL,
                                            LIBRADOS_OPERATION_NOFLAG);
    if (r < 0) {
        librados.aio_release(op->done);
        op->done = NULL;
        op->fault = r;
    }
}

enum status
ceph_op_wait(struct ceph_op *op, struct error *e)
{
    bool writes;

    OBJ_CHECK(op, OP_MAGIC);
    writes = op->write != NULL;
    INSIST(op->started);
    if (!op->has_waited) {
        if (op->done != NULL) {
            (void)librados.aio_wait_for_complete(op->done);
            op->result = librados.aio_get_return_value(op->done);
            /* A reply that librados cannot decode fails here alone. */
            if (op->result >= 0 && op->part_result < 0)
                op->result = op->part_result;
        }
        op->result = ceph_leave(op->fault, op->result);
        op->has_waited = true;
        if (writes && op->result >= 0)
            atomic_store(&op->c->full, false);
    }
    return writes
               ? ceph_write_status(op->c, op->result, "write to", op->object, e)
               : ceph_status(op->c, op->result, "read", op->object, e);
}

void
ceph_op_free(struct ceph_op **owner)
{
    struct ceph_op *op = OBJ_TAKE(owner, OP_MAGIC);

    if (op == NULL)
        return;
    if (op->done != NULL) {
        if (op->read != NULL && !librados.aio_is_complete(op->done))
            (void)librados.aio_cancel(op->c->pool, op->done);
        (void)librados.aio_wait_for_complete(op->done);
        librados.aio_release(op->done);
    }
    if (op->omap != NULL)
        librados.omap_get_end(op->omap);
    if (op->write != NULL)
        librados.release_write_op(op->write);
    if (op->read != NULL)
        librados.release_read_op(op->read);
    buf_fini(&op->bytes);
    OBJ_FREE(op);
}

enum status
ceph_op_run(struct ceph_op *op, const char *object, struct error *e)
{
    enum status st;

    ceph_op_start(op, object);
    st = ceph_op_wait(op, e);
    ceph_op_free(&op);
    return st;
}

/* -- calls that come back with it ------------------------------------------ */

/* Keeps 'value', if it was found, and frees the operation. */
static enum status
take_value(struct ceph_op *op, enum status st, struct slice value,
           struct buf *out, struct error *e)
{
    buf_clear(out);
    if (st == ST_OK)
        buf_put_slice(out, value);
    ceph_op_free(&op);
    return st == ST_OK && out->failed ? error_no_memory(e) : st;
}

enum status
ceph_read(struct ceph *c, const char *object, uint64_t offset, size_t size,
          struct buf *out, struct error *e)
{
    struct ceph_op *op = ceph_read_new(c, offset, size);
    enum status st;

    ceph_op_start(op, object);
    st = ceph_op_wait(op, e);
    return take_value(op, st, ceph_op_bytes(op), out, e);
}

enum status
ceph_get_omap(struct ceph *c, const char *object, struct slice key,
              struct buf *out, struct error *e)
{
    struct ceph_op *op = ceph_get_new(c, &key, 1);
    struct slice value = { NULL, 0 };
    enum status st;

    ceph_op_start(op, object);
    st = ceph_op_wait(op, e);
    if (st == ST_OK && !ceph_op_next(op, &key, &value))
        st = error_set(e, ST_NOT_FOUND, "read %s: no such key", object);
    return take_value(op, st, value, out, e);
}

enum status
ceph_size(struct ceph *c, const char *object, uint64_t *size, struct error *e)
{
    struct ceph_op *op = op_new(c);

    op->read = librados.create_read_op();
    librados.read_op_stat(op->read, size, NULL, &op->part_result);
    return ceph_op_run(op, object, e);
}

enum status
ceph_get_xattr(struct ceph *c, const char *object, const char *name,
               struct buf *out, struct error *e)
{
    int fault = ceph_enter(c, CEPH_CALL_READ, object), r = 0;

    buf_clear(out);
    if (fault >= 0) {
        char *room = (char *)buf_reserve(out, 4096);

        if (room == NULL)
            return error_no_memory(e);
        r = librados.getxattr(c->pool, object, name, room, 4096);
    }
    r = ceph_leave(fault, r);
    if (r == -ENODATA)
        r = -ENOENT;
    if (r > 0)
        out->size = (size_t)r;
    return ceph_status(c, r, "read an attribute of", object, e);
}

enum status
ceph_each_omap(struct ceph *c, const char *object, ceph_omap_fn *f, void *ctx,
               struct error *e)
{
    struct buf after = BUF_INIT;
    enum status st = ST_OK;

    for (bool more = true; more && st == ST_OK;) {
        struct ceph_op *op =
            ceph_page_new(c, buf_slice(&after), slice_of("", 0), CEPH_PAGE_MAX);
        struct slice key, value;

        ceph_op_start(op, object);
        st = ceph_op_wait(op, e);
        more = st == ST_OK && ceph_op_has_more(op);
        while (st == ST_OK && ceph_op_next(op, &key, &value)) {
            buf_clear(&after);
            buf_make_room(&after, key.size + 1);
            buf_put_slice(&after, key);
            st = f(ctx, key, value, e);
        }
        ceph_op_free(&op);
    }
    buf_fini(&after);
    return st == ST_NOT_FOUND ? ST_OK : st;
}

enum status
ceph_remove(struct ceph *c, const char *object, struct error *e)
{
    struct ceph_op *op = ceph_write_new(c);
    enum status st;

    librados.write_op_remove(op->write);
    st = ceph_op_run(op, object, e);
    return st == ST_NOT_FOUND ? ST_OK : st;
}
