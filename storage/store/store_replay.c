/* Recovery: applies the WAL's records to head and engine, in their order.
 * What was flushed already is written over with the same, and changes nothing.
 *
 * The same for some buckets of a dead owner's WAL.  A bucket may have moved
 * away from that owner and come back: what it logged in an earlier ownership is
 * in the engine, and older than what others wrote there since.  So records
 * carry the epoch of their bucket, and only those of the last one count. */
#include "base/process/log.h"
#include "storage/store/store_priv.h"

struct replay {
    struct applier applier;
    uint64_t segment;                  /* of the last record */
    const struct bucket_claim *claims; /* NULL: it is this process's WAL */
    size_t len;
};

/* -- records --------------------------------------------------------------- */

/* The claim on a bucket; NULL: it is not taken. */
static const struct bucket_claim *
claim_of(const struct replay *r, unsigned bucket)
{
    for (size_t i = 0; i < r->len; i++)
        if (r->claims[i].bucket == bucket)
            return &r->claims[i];
    return NULL;
}

static enum status
replay_delete(struct replay *r, uint64_t epoch, struct slice payload,
              struct error *e)
{
    struct store *s = r->applier.log.s;
    const struct bucket_claim *claim;
    struct slice tsuid;
    int64_t from_ms, to_ms;
    uint64_t deleted = 0, lsn = 0;
    enum status st;

    if (!record_read_delete(&s->layout, payload, &tsuid, &from_ms, &to_ms))
        return error_set(e, ST_CORRUPT, "a malformed record of a deletion");
    claim = claim_of(r, key_salt(&s->layout, tsuid));
    if (r->claims != NULL && (claim == NULL || epoch != claim->from_epoch))
        return ST_OK;
    lock_take(&s->flush_lock);
    st = store_apply_delete(s, tsuid, from_ms, to_ms, NULL, &deleted, &lsn, e);
    lock_drop(&s->flush_lock);
    /* The client had that answer; it must not keep the store from opening. */
    if (st == ST_CORRUPT) {
        log_error("store", "replay: a deletion skips a damaged row: %s",
                  e->text);
        st = ST_OK;
    }
    return st;
}

static enum status
replay_record(void *ctx, uint64_t segment, uint8_t type, struct slice payload,
              struct error *e)
{
    struct replay *r = ctx;
    struct store *s = r->applier.log.s;
    const struct bucket_claim *claim;
    struct wal_points_reader in;
    struct kv_batch *b;
    uint64_t epoch = 0, number;
    enum status st = ST_OK;

    if (segment != r->segment)
        applier_forget_ids(&r->applier);
    r->segment = segment;
    if (r->claims == NULL)
        r->applier.segment = segment;
    if (type == RECORD_OWNED &&
        !record_read_owned(payload, &epoch, &type, &payload))
        return error_set(e, ST_CORRUPT, "a malformed record of an owner");
    switch (type) {
    case RECORD_POINTS:
        wal_points_read(&in, payload);
        claim = claim_of(r, in.bucket);
        /* Of another epoch it may still define ids of those behind it. */
        if (r->claims == NULL || claim != NULL)
            st = applier_take(&r->applier, payload,
                              claim != NULL && epoch != claim->from_epoch, e);
        break;
    case RECORD_BATCH:
        if (r->claims != NULL)
            break;
        b = kv_batch_new();
        lock_take(&s->write_lock);
        if (!record_read_batch(payload, b, &number))
            st = error_set(e, ST_CORRUPT, "a malformed record of a batch");
        else if (number == 0 || number > s->batches)
            st = kv_write(s->kv, b, e);
        if (st == ST_OK && number > s->batches)
            s->batches = number;
        lock_drop(&s->write_lock);
        kv_batch_free(&b);
        break;
    case RECORD_DELETE:
        st = replay_delete(r, epoch, payload, e);
        break;
    default:
        st = error_set(e, ST_CORRUPT, "a record of unknown type %u", type);
        break;
    }
    if (st == ST_OK && head_bytes(s->head) > s->options.head_bytes)
        st = store_flush_until(s, s->options.head_bytes / 2, e);
    return st;
}

static enum status
find_newest_batch(struct store *s, struct error *e)
{
    struct buf value = BUF_INIT;
    enum status st = kv_get(s->kv, record_batch_key(), &value, e);

    if (st == ST_OK && value.size != 8)
        st = error_set(e, ST_CORRUPT,
                       "the number of the newest batch has %zu "
                       "bytes, not 8",
                       value.size);
    lock_take(&s->write_lock);
    if (st == ST_OK)
        s->batches = key_get_uint(value.data, 8);
    lock_drop(&s->write_lock);
    buf_fini(&value);
    return st == ST_NOT_FOUND ? ST_OK : st;
}

static enum status
replay_wal(struct replay *r, struct wal *wal, struct error *e)
{
    enum status st = wal_replay(wal, replay_record, r, e);

    applier_fini(&r->applier);
    if (st != ST_OK)
        return error_wrap(e, st, "cannot replay the WAL");
    if (r->applier.skipped > 0)
        log_warn("store",
                 "skipped %llu points of the WAL, whose series was defined "
                 "in a record that is lost",
                 (unsigned long long)r->applier.skipped);
    return ST_OK;
}

enum status
store_replay(struct store *s, struct error *e)
{
    struct replay r = { .segment = 0 };
    int64_t from_us = clock_monotonic_us();
    enum status st;

    if (s->wal == NULL)
        return ST_OK;
    st = find_newest_batch(s, e);
    if (st != ST_OK)
        return st;
    applier_init(&r.applier, s);
    st = replay_wal(&r, s->wal, e);
    s->replay_us = clock_monotonic_us() - from_us;
    if (st == ST_OK && r.applier.points > 0)
        log_info("store", "took %llu points from the WAL in %lld ms",
                 (unsigned long long)r.applier.points,
                 (long long)s->replay_us / 1000);
    return st;
}

/* -- another's WAL --------------------------------------------------------- */

enum status
store_replay_dead(struct store *s, const struct bucket_claim *claims,
                  size_t len, struct wal *dead, struct error *e)
{
    struct replay r = { .claims = claims, .len = len };
    enum status st;

    atomic_fetch_add(&s->replays, 1);
    applier_init(&r.applier, s);
    st = replay_wal(&r, dead, e);
    atomic_fetch_sub(&s->replays, 1);
    if (st == ST_OK)
        log_info("store",
                 "took %llu points of %zu salt buckets from the WAL of a "
                 "dead owner",
                 (unsigned long long)r.applier.points, len);
    return st;
}
