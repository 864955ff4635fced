/* The object "members": an entry a member, lines of a word and a value. */
#include "storage/lease/members.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/number.h"
#include "storage/rados/ceph_lock.h"
#include "storage/rados/ceph_op.h"

#define OBJECT "members"

/* -- an entry -------------------------------------------------------------- */

static bool
take_text(struct slice value, char *out, size_t size)
{
    if (value.size >= size)
        return false;
    memcpy(out, value.data, value.size);
    out[value.size] = '\0';
    return true;
}

/* Words of later versions say nothing here. */
static bool
take_line(struct member *m, struct slice word, struct slice value)
{
    uint64_t n = 0;

    if (slice_eq(word, slice_str("address")))
        return take_text(value, m->address, sizeof m->address);
    if (slice_eq(word, slice_str("rados")))
        return take_text(value, m->rados, sizeof m->rados);
    if (slice_eq(word, slice_str("mode")))
        return take_text(value, m->mode, sizeof m->mode);
    if (slice_eq(word, slice_str("version")))
        return take_text(value, m->version, sizeof m->version);
    if (slice_eq(word, slice_str("tls")))
        m->tls = slice_eq(value, slice_str("1"));
    if (slice_eq(word, slice_str("started")))
        return number_parse_i64(value, &m->started_ms);
    if (slice_eq(word, slice_str("wal-bytes")))
        return number_parse_u64(value, &m->wal_bytes);
    if (!slice_eq(word, slice_str("frame")))
        return true;
    if (!number_parse_u64(value, &n) || n > UINT16_MAX)
        return false;
    m->frame_version = (unsigned)n;
    return true;
}

static enum status
entry_read(struct slice name, struct slice text, struct member *m,
           struct error *e)
{
    *m = (struct member){ .live = false };
    if (name.size != MEMBER_NAME_SIZE - 1)
        return error_set(e, ST_CORRUPT, OBJECT ": a name of %zu characters",
                         name.size);
    (void)take_text(name, m->name, sizeof m->name);
    while (text.size > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        const uint8_t *blank;

        if (end == NULL)
            break;
        blank = memchr(text.data, ' ', (size_t)(end - text.data));
        if (blank == NULL ||
            !take_line(m, slice_of(text.data, (size_t)(blank - text.data)),
                       slice_of(blank + 1, (size_t)(end - blank - 1))))
            break;
        text = slice_of(end + 1, text.size - (size_t)(end + 1 - text.data));
    }
    return text.size == 0 && m->rados[0] != '\0'
               ? ST_OK
               : error_set(e, ST_CORRUPT,
                           OBJECT ": the entry of %s is malformed", m->name);
}

enum status
member_read(struct ceph *c, const char *name, struct member *out,
            struct error *e)
{
    struct buf text = BUF_INIT;
    enum status st = ceph_get_omap(c, OBJECT, slice_str(name), &text, e);

    if (st == ST_OK)
        st = entry_read(slice_str(name), buf_slice(&text), out, e);
    buf_fini(&text);
    return st;
}

enum status
member_write(struct ceph *c, const struct member *m, struct error *e)
{
    struct ceph_op *op = ceph_write_new(c);
    struct buf text = BUF_INIT;
    struct slice key = slice_str(m->name), value;

    buf_printf(&text,
               "address %s\nrados %s\nmode %s\nversion %s\nframe %u\n"
               "started %" PRId64 "\nwal-bytes %" PRIu64 "\ntls %d\n",
               m->address, m->rados, m->mode, m->version, m->frame_version,
               m->started_ms, m->wal_bytes, m->tls);
    value = buf_slice(&text);
    ceph_write_omap_set(op, &key, &value, 1);
    buf_fini(&text);
    return ceph_op_run(op, OBJECT, e);
}

enum status
member_remove(struct ceph *c, const char *name, struct error *e)
{
    struct ceph_op *op = ceph_write_new(c);
    struct slice key = slice_str(name);

    ceph_write_omap_remove(op, &key, 1);
    return ceph_op_run(op, OBJECT, e);
}

/* -- leases ---------------------------------------------------------------- */

void
member_lease_object(const char *name, char out[32])
{
    (void)snprintf(out, 32, "lease.%s", name);
}

enum status
member_lock_read(struct ceph *c, const char *name, bool *live, bool *held,
                 struct error *e)
{
    char object[32], cookie[CEPH_COOKIE_SIZE];
    enum status st;

    member_lease_object(name, object);
    st = ceph_lock_owner(c, object, MEMBER_LOCK, cookie, e);
    *live = strcmp(cookie, name) == 0;
    *held = cookie[0] != '\0';
    return st;
}

/* -- all ------------------------------------------------------------------- */

struct reading {
    struct members *out;
    size_t cap;
};

static enum status
take_entry(void *ctx, struct slice key, struct slice value, struct error *e)
{
    struct reading *r = ctx;
    struct members *m = r->out;

    m->list = mem_grow(m->list, m->len, &r->cap, sizeof *m->list);
    return entry_read(key, value, &m->list[m->len++], e);
}

enum status
members_read(struct ceph *c, struct members *out, struct error *e)
{
    struct reading r = { .out = out };
    enum status st;
    bool held;

    *out = (struct members){ NULL, 0 };
    st = ceph_each_omap(c, OBJECT, take_entry, &r, e);
    for (size_t i = 0; st == ST_OK && i < out->len; i++)
        st = member_lock_read(c, out->list[i].name, &out->list[i].live, &held,
                              e);
    if (st != ST_OK)
        members_fini(out);
    return st;
}

void
members_fini(struct members *m)
{
    free(m->list);
    *m = (struct members){ NULL, 0 };
}

const struct member *
members_find(const struct members *m, const char *name)
{
    for (size_t i = 0; i < m->len; i++)
        if (strcmp(m->list[i].name, name) == 0)
            return &m->list[i];
    return NULL;
}

const struct member *
members_twin(const struct members *m, const struct member *one)
{
    for (size_t i = 0; i < m->len && one->live && one->address[0] != '\0'; i++)
        if (m->list[i].live && strcmp(m->list[i].name, one->name) != 0 &&
            strcmp(m->list[i].address, one->address) == 0)
            return &m->list[i];
    return NULL;
}
