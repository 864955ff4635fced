/* Segments as objects.  An operation on an object is atomic and durable, so
 * there are no torn ends, no syncs and no marks; what remains is order: a
 * segment is named in the header before it is made, so that who fences a
 * member knows the one object that it may still append to. */
#include "storage/wal/rados/wal_rados.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/obj.h"
#include "base/text/number.h"
#include "storage/rados/ceph_op.h"

/* OSDs take writes of 90 MB and objects of 128 MB (osd_max_write_size,
 * osd_max_object_size). */
#define MAX_APPEND  ((size_t)60 << 20)
#define MAX_SEGMENT ((size_t)124 << 20)

#define READ_BYTES  ((size_t)8 << 20) /* at once; several are on their way */
#define READ_MAX    ((MAX_SEGMENT + READ_BYTES - 1) / READ_BYTES)
#define EPOCH_XATTR "epoch"
#define OWN_EPOCH   UINT64_C(1)
#define NUMBER_SIZE 21
#define OBJECT_SIZE (2 + WAL_MEMBER_MAX + 1 + NUMBER_SIZE)

struct wal_rados {
    struct wal_medium medium;
    struct ceph *c;
    char member[WAL_MEMBER_MAX + 1];
    char newest[OBJECT_SIZE]; /* segment, "" before the first */
    uint64_t last;            /* of a dead member */
};

static struct wal_rados *
rados_of(struct wal_medium *m)
{
    return (struct wal_rados *)m;
}

/* -- names and numbers ----------------------------------------------------- */

struct number {
    char text[NUMBER_SIZE];
};

static struct number
number_of(uint64_t n)
{
    struct number x;

    (void)snprintf(x.text, sizeof x.text, "%" PRIu64, n);
    return x;
}

static void
header_name(const char *member, char out[OBJECT_SIZE])
{
    (void)snprintf(out, OBJECT_SIZE, "j.%s", member);
}

static void
segment_name(const char *member, uint64_t segment, char out[OBJECT_SIZE])
{
    (void)snprintf(out, OBJECT_SIZE, "j.%s.%" PRIu64, member, segment);
}

static enum status
parse(const char *object, const char *what, const struct buf *text,
      uint64_t *out, struct error *e)
{
    return number_parse_u64(buf_slice(text), out)
               ? ST_OK
               : error_set(e, ST_CORRUPT, "%s: %s is no number", object, what);
}

/* -- steps of operations --------------------------------------------------- */

static void
set_number(struct ceph_op *op, const char *key, uint64_t n)
{
    struct number text = number_of(n);
    struct slice k = slice_str(key), v = slice_str(text.text);

    ceph_write_omap_set(op, &k, &v, 1);
}

static void
set_epoch(struct ceph_op *op, uint64_t epoch)
{
    struct number text = number_of(epoch);

    ceph_write_set_xattr(op, EPOCH_XATTR, slice_str(text.text));
}

static void
expect_epoch(struct ceph_op *op, uint64_t epoch)
{
    struct number text = number_of(epoch);

    ceph_write_expect_xattr(op, EPOCH_XATTR, slice_str(text.text));
}

static enum status
get_number(struct ceph *c, const char *object, const char *key, uint64_t *out,
           struct error *e)
{
    struct buf text = BUF_INIT;
    enum status st = ceph_get_omap(c, object, slice_str(key), &text, e);

    if (st == ST_OK)
        st = parse(object, key, &text, out, e);
    buf_fini(&text);
    return st;
}

/* A header, unless there is one, of a WAL without segments. */
static enum status
make_header(struct ceph *c, const char *header, uint64_t epoch, struct error *e)
{
    struct ceph_op *op = ceph_write_new(c);

    ceph_write_create(op, true);
    set_epoch(op, epoch);
    set_number(op, "first", 1);
    set_number(op, "last", 0);
    return ceph_op_run(op, header, e);
}

/* -- a member's own -------------------------------------------------------- */

/* What does not compare, or is gone, another one has taken. */
static enum status
own_status(const struct wal_rados *r, enum status st, struct error *e)
{
    if (st == ST_OK)
        return st;
    if (st == ST_CONFLICT || st == ST_NOT_FOUND || ceph_is_blocklisted(r->c))
        return error_wrap(e, ST_CONFLICT,
                          "the write-ahead log of member %s was taken over by "
                          "another daemon",
                          r->member);
    return error_wrap(e, ST_IO, "the write-ahead log of member %s", r->member);
}

static enum status
own_open(struct wal_medium *m, struct wal_held *out, struct error *e)
{
    struct wal_rados *r = rados_of(m);
    char header[OBJECT_SIZE];

    header_name(r->member, header);
    *out = (struct wal_held){ 1, 1 };
    return own_status(r, make_header(r->c, header, OWN_EPOCH, e), e);
}

static enum status
note(struct wal_rados *r, const char *end, uint64_t segment, struct error *e)
{
    struct ceph_op *op = ceph_write_new(r->c);
    char header[OBJECT_SIZE];

    header_name(r->member, header);
    expect_epoch(op, OWN_EPOCH);
    set_number(op, end, segment);
    return own_status(r, ceph_op_run(op, header, e), e);
}

static enum status
own_begin(struct wal_medium *m, uint64_t segment, struct slice header,
          struct error *e)
{
    struct wal_rados *r = rados_of(m);
    enum status st = note(r, "last", segment, e);
    char object[OBJECT_SIZE];
    struct ceph_op *op;

    if (st != ST_OK)
        return st;
    segment_name(r->member, segment, object);
    op = ceph_write_new(r->c);
    ceph_write_create(op, true);
    set_epoch(op, OWN_EPOCH);
    ceph_write_append(op, header);
    st = own_status(r, ceph_op_run(op, object, e), e);
    if (st == ST_OK)
        memcpy(r->newest, object, sizeof object);
    return st;
}

static enum status
own_append(struct wal_medium *m, struct slice bytes, uint64_t *writes,
           struct error *e)
{
    struct wal_rados *r = rados_of(m);
    struct ceph_op *op = ceph_write_new(r->c);

    ++*writes;
    expect_epoch(op, OWN_EPOCH);
    ceph_write_append(op, bytes);
    return own_status(r, ceph_op_run(op, r->newest, e), e);
}

static enum status
own_remove(struct wal_medium *m, uint64_t segment, struct error *e)
{
    struct wal_rados *r = rados_of(m);
    enum status st = note(r, "first", segment + 1, e);
    char object[OBJECT_SIZE];

    if (st != ST_OK)
        return st;
    segment_name(r->member, segment, object);
    return own_status(r, ceph_remove(r->c, object, e), e);
}

/* -- reading --------------------------------------------------------------- */

static uint64_t
rados_size(struct wal_medium *m, uint64_t segment)
{
    struct wal_rados *r = rados_of(m);
    char object[OBJECT_SIZE];
    uint64_t size = 0;

    segment_name(r->member, segment, object);
    return ceph_size(r->c, object, &size, NULL) == ST_OK ? size : 0;
}

/* Which segments there are: '*last' is less than '*first' when there are none.
 */
static enum status
read_header(struct ceph *c, const char *member, uint64_t *first, uint64_t *last,
            struct error *e)
{
    char header[OBJECT_SIZE];
    enum status st;

    header_name(member, header);
    st = get_number(c, header, "first", first, e);
    return st == ST_OK ? get_number(c, header, "last", last, e) : st;
}

static enum status
dead_open(struct wal_medium *m, struct wal_held *out, struct error *e)
{
    struct wal_rados *r = rados_of(m);
    uint64_t first;
    enum status st = read_header(r->c, r->member, &first, &r->last, e);

    *out = (struct wal_held){ 1, 1 };
    if (st == ST_OK && first <= r->last)
        *out = (struct wal_held){ first, r->last + 1 };
    return st == ST_NOT_FOUND ? ST_OK : st;
}

/* The last one may have been named and never made. */
static enum status
rados_load(struct wal_medium *m, uint64_t segment, struct wal_segment *out,
           struct error *e)
{
    struct wal_rados *r = rados_of(m);
    char object[OBJECT_SIZE];
    enum status st;
    struct ceph_op *parts[READ_MAX];
    uint64_t size;
    size_t len = 0;

    segment_name(r->member, segment, object);
    *out = (struct wal_segment){ .path = mem_strdup(object),
                                 .segment = segment,
                                 .last = segment == r->last };
    /* All of an object, its parts side by side. */
    st = ceph_size(r->c, object, &size, e);
    if (st == ST_OK && size > READ_MAX * READ_BYTES)
        st = error_set(e, ST_CORRUPT, "%s: %" PRIu64 " bytes are too many",
                       object, size);
    for (uint64_t at = 0; st == ST_OK && at < size; at += READ_BYTES) {
        parts[len] = ceph_read_new(r->c, at, READ_BYTES);
        ceph_op_start(parts[len++], object);
    }
    for (size_t i = 0; i < len; i++) {
        if (st == ST_OK)
            st = ceph_op_wait(parts[i], e);
        if (st == ST_OK)
            buf_put_slice(&out->bytes, ceph_op_bytes(parts[i]));
        ceph_op_free(&parts[i]);
    }
    st = st == ST_OK && out->bytes.failed ? error_no_memory(e) : st;
    if (st != ST_NOT_FOUND)
        return st;
    return out->last ? ST_OK
                     : error_set(e, ST_CORRUPT,
                                 "%s: this segment is missing between others",
                                 object);
}

static void
rados_close(struct wal_medium *m)
{
    free(rados_of(m));
}

static struct wal_medium *
medium_new(const struct wal_medium_ops *ops, struct ceph *c, const char *member)
{
    struct wal_rados *r = mem_new(sizeof *r);

    INSIST(strlen(member) <= WAL_MEMBER_MAX);
    r->medium = (struct wal_medium){ ops, MAX_APPEND, MAX_SEGMENT };
    r->c = c;
    (void)snprintf(r->member, sizeof r->member, "%s", member);
    return &r->medium;
}

struct wal_medium *
wal_rados_new(struct ceph *c, const char *member)
{
    static const struct wal_medium_ops ops = {
        .open = own_open,
        .load = rados_load,
        .begin = own_begin,
        .append = own_append,
        .size = rados_size,
        .remove = own_remove,
        .close = rados_close,
    };

    return medium_new(&ops, c, member);
}

struct wal_medium *
wal_rados_dead(struct ceph *c, const char *member)
{
    static const struct wal_medium_ops ops = {
        .open = dead_open,
        .load = rados_load,
        .size = rados_size,
        .close = rados_close,
    };

    return medium_new(&ops, c, member);
}

/* -- fencing --------------------------------------------------------------- */

static enum status
fence_segment(struct ceph *c, const char *object, uint64_t epoch,
              struct error *e)
{
    enum status st;

    do {
        struct ceph_op *op = ceph_write_new(c);

        ceph_write_assert_exists(op);
        set_epoch(op, epoch);
        st = ceph_op_run(op, object, e);
        if (st == ST_NOT_FOUND) {
            op = ceph_write_new(c);
            ceph_write_create(op, true);
            set_epoch(op, epoch);
            st = ceph_op_run(op, object, e);
        }
    } while (st == ST_CONFLICT);
    return st;
}

enum status
wal_rados_fence(struct ceph *c, const char *member, struct error *e)
{
    char object[OBJECT_SIZE];
    uint64_t epoch, first, last;
    enum status st;

    INSIST(strlen(member) <= WAL_MEMBER_MAX);
    header_name(member, object);
    /* A header that is not there is made, so that the member cannot make it. */
    do {
        uint64_t old = OWN_EPOCH;
        bool absent;
        struct buf text = BUF_INIT;

        st = ceph_get_xattr(c, object, EPOCH_XATTR, &text, e);
        if (st == ST_OK)
            st = parse(object, EPOCH_XATTR, &text, &old, e);
        buf_fini(&text);
        absent = st == ST_NOT_FOUND;
        epoch = old + 1;
        if (absent) {
            st = make_header(c, object, epoch, e);
        } else if (st == ST_OK) {
            struct ceph_op *op = ceph_write_new(c);

            expect_epoch(op, old);
            set_epoch(op, epoch);
            st = ceph_op_run(op, object, e);
        }
    } while (st == ST_CONFLICT);
    if (st == ST_OK)
        st = read_header(c, member, &first, &last, e);
    if (st != ST_OK || last < first)
        return st;
    segment_name(member, last, object);
    return fence_segment(c, object, epoch, e);
}

enum status
wal_rados_remove(struct ceph *c, const char *member, struct error *e)
{
    char object[OBJECT_SIZE];
    uint64_t first, last;
    enum status st = read_header(c, member, &first, &last, e);

    if (st != ST_OK)
        return st == ST_NOT_FOUND ? ST_OK : st;
    /* One before the first may be left of a trim that was interrupted. */
    for (uint64_t i = first - 1; st == ST_OK && i <= last; i++) {
        segment_name(member, i, object);
        st = ceph_remove(c, object, e);
    }
    header_name(member, object);
    return st == ST_OK ? ceph_remove(c, object, e) : st;
}
