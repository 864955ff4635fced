/* The object "buckets": an entry a bucket. */
#include "storage/lease/buckets.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/obj.h"
#include "storage/rados/ceph_op.h"

#define OBJECT   "buckets"
#define TEXT_MAX 96 /* two names, two numbers of 20 digits, the rest */

static void
entry_write(const struct bucket_owner *o, char out[TEXT_MAX])
{
    out[0] = '\0';
    if (o->member[0] != '\0' && o->from[0] != '\0')
        (void)snprintf(out, TEXT_MAX, "%s %" PRIu64 " from %s %" PRIu64,
                       o->member, o->epoch, o->from, o->from_epoch);
    else if (o->member[0] != '\0')
        (void)snprintf(out, TEXT_MAX, "%s %" PRIu64, o->member, o->epoch);
}

/* What is read is what would be written, byte by byte: it is compared. */
static bool
entry_read(struct slice text, struct bucket_owner *o)
{
    char copy[TEXT_MAX], again[TEXT_MAX];

    *o = (struct bucket_owner){ .epoch = 0 };
    if (text.size == 0 || text.size >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    (void)sscanf(copy, "%16s %" SCNu64 " from %16s %" SCNu64, o->member,
                 &o->epoch, o->from, &o->from_epoch);
    entry_write(o, again);
    return strcmp(copy, again) == 0;
}

static bool
bucket_read(struct slice key, unsigned *bucket)
{
    static const char digits[] = "0123456789abcdef";
    const char *high, *low;

    if (key.size != 2 || key.data[0] == '\0' || key.data[1] == '\0')
        return false;
    high = strchr(digits, key.data[0]);
    low = strchr(digits, key.data[1]);
    if (high == NULL || low == NULL)
        return false;
    *bucket = (unsigned)((high - digits) * 16 + (low - digits));
    return true;
}

static enum status
take_entry(void *ctx, struct slice key, struct slice value, struct error *e)
{
    struct bucket_owner *out = ctx;
    unsigned bucket;

    return bucket_read(key, &bucket) && entry_read(value, &out[bucket])
               ? ST_OK
               : error_set(e, ST_CORRUPT,
                           OBJECT ": the entry \"%.*s\" is malformed",
                           SLICE_ARG(key));
}

enum status
buckets_read(struct ceph *c, struct bucket_owner out[BUCKETS_MAX],
             struct error *e)
{
    for (unsigned i = 0; i < BUCKETS_MAX; i++)
        out[i] = (struct bucket_owner){ .epoch = 0 };
    return ceph_each_omap(c, OBJECT, take_entry, out, e);
}

enum status
buckets_change(struct ceph *c, unsigned bucket, const struct bucket_owner *seen,
               const struct bucket_owner *now, struct error *e)
{
    struct ceph_op *op = ceph_write_new(c);
    char name[3], before[TEXT_MAX], after[TEXT_MAX];
    struct slice key, value;

    INSIST(bucket < BUCKETS_MAX && now->member[0] != '\0' &&
           now->epoch >= seen->epoch);
    (void)snprintf(name, sizeof name, "%02x", bucket);
    entry_write(seen, before);
    entry_write(now, after);
    key = slice_str(name);
    value = slice_str(after);
    ceph_write_create(op, false);
    ceph_write_omap_expect(op, key, slice_str(before));
    ceph_write_omap_set(op, &key, &value, 1);
    return ceph_op_run(op, OBJECT, e);
}

bool
buckets_name(const struct bucket_owner map[BUCKETS_MAX], const char *member)
{
    for (unsigned i = 0; i < BUCKETS_MAX; i++)
        if (strcmp(map[i].member, member) == 0 ||
            strcmp(map[i].from, member) == 0)
            return true;
    return false;
}
