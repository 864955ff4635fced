/* Applies records of points: those of the WAL in recovery, and those that other
 * processes send.
 *
 * A record names series by ids that one segment, or one connection, defines.
 * What a record defines is learnt also where its points are not taken, since
 * those behind it count on it.  An id without a definition is of a record that
 * was lost: its points are skipped, and counted. */
#include <stdlib.h>

#include "base/process/counters.h"
#include "base/mem.h"
#include "storage/store/store_put_priv.h"

#define MAX_IDS ((uint32_t)1 << 26) /* of a bucket, in a segment */

/* The ids of a connection count on from 0; what a peer says takes memory as
 * what it has defined does. */
#define LINK_GAP ((size_t)1 << 12)

/* The series of a bucket's ids; SERIES_REF_NONE when unknown. */
struct applier_bucket {
    series_ref *series;
    size_t len;
};

void
applier_init(struct applier *r, struct store *s)
{
    *r = (struct applier){ .log.s = s };
    r->buckets = mem_new_array(s->layout.salt_buckets, sizeof *r->buckets);
}

void
applier_forget_ids(struct applier *r)
{
    for (size_t i = 0; i < r->log.s->layout.salt_buckets; i++) {
        free(r->buckets[i].series);
        r->buckets[i] = (struct applier_bucket){ 0 };
    }
}

void
applier_fini(struct applier *r)
{
    applier_forget_ids(r);
    free(r->buckets);
}

static void
define_id(struct applier_bucket *m, uint32_t id, series_ref series)
{
    size_t len = m->len == 0 ? 64 : m->len;

    while (len <= id)
        len *= 2;
    if (len > m->len) {
        m->series = mem_resize(m->series, len, sizeof *m->series);
        for (; m->len < len; m->len++)
            m->series[m->len] = SERIES_REF_NONE;
    }
    m->series[id] = series;
}

/* Puts the points that wait.  Others have checked theirs by the hourly values
 * that the engine had then; what has been dropped since is looked at here. */
static enum status
put_waiting(struct applier *r, unsigned bucket, struct error *e) NO_TS_CHECK
{
    struct store *s = r->log.s;
    struct put checked = { .log.s = s, .points = r->put };
    uint16_t order[HEAD_PUT_MAX];
    size_t taken, len = r->put_len;
    struct head_put put = {
        .bucket = bucket,
        .points = r->put,
        .order = order,
        .segment = r->segment,
        .now_s = store_now_s(),
        .log = r->logs && s->wal != NULL ? store_log_points : NULL,
        .is_replay = !r->logs,
        .ctx = r,
    };
    enum status st;

    do {
        int64_t cut_ms = 0;
        bool may_be_late = false;

        put.epoch = r->logs ? head_epoch(s->head) : 0;
        put.len = len;
        if (r->logs)
            cut_ms = atomic_load(&s->cuts.youngest_ms);
        for (size_t i = 0; i < len; i++) {
            order[i] = (uint16_t)i;
            may_be_late |= r->put[i].point.ts_ms < cut_ms;
        }
        if (r->logs && may_be_late) {
            lock_take(&s->late_lock);
            put.epoch = 0;
            put.len = store_put_check_late(&checked, order, len);
        }
        st = head_put(s->head, &put, &taken, e);
        if (r->logs && may_be_late)
            lock_drop(&s->late_lock);
    } while (st == ST_CONFLICT && r->logs);
    if (st == ST_OK && put.len != len)
        st = error_set(e, ST_CONFLICT,
                       "the raw points of some hours were dropped, and their "
                       "hourly values stay as they are");
    r->points += taken;
    r->put_len = 0;
    return st == ST_INVALID ? error_wrap(e, ST_CORRUPT, "a record of points")
                            : st;
}

/* What is to be done with a point that was read. */
static enum status
take_point(struct applier *r, const struct wal_points_reader *in, bool discards,
           struct error *e)
{
    struct store *s = r->log.s;
    const struct key_layout *layout = &s->layout;
    struct applier_bucket *m = &r->buckets[in->bucket];
    series_ref series;

    if (in->tsuid.size > 0) {
        if (!tsuid_is_valid(layout, in->tsuid) ||
            key_salt(layout, in->tsuid) != in->bucket ||
            in->state.id >= MAX_IDS ||
            (r->logs && in->state.id >= m->len + LINK_GAP))
            return error_set(e, ST_CORRUPT,
                             "a record of points with an id that is too large "
                             "or a TSUID of another salt bucket");
        define_id(m, in->state.id,
                  head_series(s->head, in->tsuid, false, store_now_s()));
    }
    series = in->state.id < m->len ? m->series[in->state.id] : SERIES_REF_NONE;
    if (discards)
        return ST_OK;
    if (series == SERIES_REF_NONE) {
        r->skipped++;
        return ST_OK;
    }
    r->put[r->put_len++] = (struct series_point){ series, in->point, ST_OK };
    return r->put_len < HEAD_PUT_MAX ? ST_OK : put_waiting(r, in->bucket, e);
}

/* A failure other than ST_CORRUPT ends the record's points, but not what it
 * defines. */
enum status
applier_take(struct applier *r, struct slice payload, bool discards,
             struct error *e)
{
    struct wal_points_reader in;
    enum status first = ST_OK, st = ST_OK;

    wal_points_read(&in, payload);
    if (in.bucket >= r->log.s->layout.salt_buckets)
        return error_set(e, ST_CORRUPT, "points of salt bucket %u of %u",
                         in.bucket, (unsigned)r->log.s->layout.salt_buckets);
    while (st != ST_CORRUPT && wal_points_next(&in)) {
        struct error why;

        st = take_point(r, &in, discards || first != ST_OK, &why);
        if (st != ST_OK && (first == ST_OK || st == ST_CORRUPT))
            first = error_set(e, st, "%s", why.text);
    }
    if (in.c.failed)
        first = error_set(e, ST_CORRUPT, "a malformed record of points");
    st = put_waiting(r, in.bucket, first == ST_OK ? e : NULL);
    return first == ST_OK ? st : first;
}

/* -- sessions -------------------------------------------------------------- */

#define SESSION_MAGIC FOURCC('S', 'E', 'S', 'S')

struct store_session {
    uint32_t magic;
    struct applier applier;
};

struct store_session *
store_session_new(struct store *s)
{
    struct store_session *ss = mem_new(sizeof *ss);

    OBJ_CHECK(s, STORE_MAGIC);
    ss->magic = SESSION_MAGIC;
    applier_init(&ss->applier, s);
    ss->applier.logs = true;
    return ss;
}

void
store_session_free(struct store_session **ref)
{
    struct store_session *ss = OBJ_TAKE(ref, SESSION_MAGIC);

    if (ss == NULL)
        return;
    applier_fini(&ss->applier);
    OBJ_FREE(ss);
}

enum status
store_session_put(struct store_session *ss, struct slice record, uint64_t *lsn,
                  struct error *e)
{
    struct applier *r = &ss->applier;
    struct store *s = r->log.s;
    struct error why;
    enum status room, st;

    OBJ_CHECK(ss, SESSION_MAGIC);
    room = store_wait_for_room(s, 0, &why);
    if (room == ST_OK && s->wal != NULL)
        room = store_disk_failed(wal_wait_for_room(s->wal, &why), &why);
    r->points = r->skipped = 0;
    r->log.lsn = 0;
    r->segment = s->wal == NULL ? 0 : wal_segment_now(s->wal);
    st = applier_take(r, record, room != ST_OK, e);
    store_count_added(s, r->points);
    counter_add(CNT_POINTS_TAKEN, r->points);
    *lsn = r->log.lsn;
    if (st == ST_OK && room != ST_OK)
        st = error_set(e, room, "%s", why.text);
    /* Skipped, or forgotten since: the sender is to define its ids again. */
    if (st == ST_NOT_FOUND || (st == ST_OK && r->skipped > 0))
        st = error_set(e, ST_MOVED, "points of series that are not known");
    return st;
}
