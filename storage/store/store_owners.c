/* Which buckets are local, and how they come and go (owners.h).
 *
 * A bucket's state changes with the flush lock held, so a deletion sees one
 * state from its beginning to its end; for points the head says, under the
 * bucket's lock, whether its rows are elsewhere.  So what was put before a
 * bucket leaves is in rows, which are flushed; what comes later is forwarded.
 */
#include <unistd.h>

#include "base/process/crash.h"
#include "base/process/log.h"
#include "base/mem.h"
#include "storage/store/store_weeks_priv.h"

#define RETRY_MS      2
#define RETRY_MOST_MS 100

/* -- states ---------------------------------------------------------------- */

void
store_owners_init(struct store *s)
{
    s->states = mem_new_array(s->layout.salt_buckets, sizeof *s->states);
    for (unsigned i = 0; i < s->layout.salt_buckets; i++) {
        atomic_store(&s->states[i], BUCKET_REMOTE);
        head_set_elsewhere(s->head, i, true);
    }
}

bool
store_bucket_is_local(const struct store *s, unsigned bucket)
{
    OBJ_CHECK(s, STORE_MAGIC);
    return bucket < s->layout.salt_buckets &&
           store_bucket_state(s, bucket) == BUCKET_LOCAL;
}

enum bucket_state
store_bucket_state(const struct store *s, unsigned bucket)
{
    return s->remote == NULL ? BUCKET_LOCAL
                             : (enum bucket_state)atomic_load_explicit(
                                   &s->states[bucket], memory_order_acquire);
}

enum status
store_owns(const struct store *s, struct error *e)
{
    return s->remote == NULL ? ST_OK : s->remote->owns(s->remote->ctx, e);
}

enum status
store_write_owned(struct store *s, const struct kv_batch *b, struct error *e)
{
    enum status status;

    if (kv_batch_len(b) == 0)
        return ST_OK;
    status = store_owns(s, e);
    return status == ST_OK ? kv_write(s->kv, b, e) : status;
}

enum status
store_not_owner(unsigned bucket, struct error *e)
{
    return error_set(e, ST_MOVED, "salt bucket %u is not this process's",
                     bucket);
}

enum status
store_no_owner(unsigned bucket, struct error *e)
{
    return error_set(e, ST_BUSY, "salt bucket %u has no owner now: try again",
                     bucket);
}

/* The flusher may have rows of a bucket that leaves: they are all in it. */
static void
set_state(struct store *s, unsigned bucket, enum bucket_state state)
    REQUIRES(s->flush_lock)
{
    atomic_store(&s->states[bucket], (uint8_t)state);
    head_set_elsewhere(s->head, bucket, state != BUCKET_LOCAL);
}

/* -- again and again ------------------------------------------------------- */

int64_t
store_retry_end(const struct store *s, struct store_retry *r)
{
    if (r->end_us == 0)
        r->end_us = clock_monotonic_us() + (int64_t)s->remote->wait_ms * 1000;
    return r->end_us;
}

bool
store_retry(const struct store *s, struct store_retry *r)
{
    if (clock_monotonic_us() >= store_retry_end(s, r))
        return false;
    r->wait_ms = r->wait_ms == 0 ? RETRY_MS : 2 * r->wait_ms;
    if (r->wait_ms > RETRY_MOST_MS)
        r->wait_ms = RETRY_MOST_MS;
    (void)usleep(r->wait_ms * 1000);
    return true;
}

enum status
store_wait_current(struct store *s, struct error *e)
{
    struct store_retry retry = { .end_us = 0 };
    enum status status;

    OBJ_CHECK(s, STORE_MAGIC);
    do
        status = store_owns(s, e);
    while (status != ST_OK && store_retry(s, &retry));
    return status;
}

/* -- taking and giving ----------------------------------------------------- */

enum status
store_buckets_take(struct store *s, const struct bucket_claim *claims,
                   size_t len, struct wal *dead, struct error *e)
{
    enum status status = ST_OK;

    OBJ_CHECK(s, STORE_MAGIC);
    INSIST(s->remote != NULL);
    for (size_t i = 0; i < len; i++)
        INSIST(claims[i].bucket < s->layout.salt_buckets &&
               store_bucket_state(s, claims[i].bucket) == BUCKET_REMOTE);
    /* What the replay changes is held against the weeks and the cuts of now. */
    status = store_cuts_read(s, e);
    lock_take(&s->flush_lock);
    for (size_t i = 0; i < len && status == ST_OK; i++)
        status = store_weeks_load(s, claims[i].bucket, e);
    lock_drop(&s->flush_lock);
    if (status == ST_OK && dead != NULL)
        status = store_replay_dead(s, claims, len, dead, e);
    crash_point("take-replayed");
    lock_take(&s->flush_lock);
    for (size_t i = 0; i < len && status == ST_OK; i++)
        status = store_flush_bucket(s, claims[i].bucket, e);
    if (status == ST_OK)
        status = kv_sync(s->kv, e);
    for (size_t i = 0; i < len && status != ST_OK; i++)
        head_drop_rows(s->head, claims[i].bucket);
    for (size_t i = 0; i < len && status == ST_OK; i++)
        s->wal_buckets[claims[i].bucket].owned = claims[i].epoch;
    lock_drop(&s->flush_lock);
    crash_point("take-flushed");
    return status;
}

void
store_bucket_serve(struct store *s, unsigned bucket)
{
    OBJ_CHECK(s, STORE_MAGIC);
    INSIST(s->remote != NULL && bucket < s->layout.salt_buckets);
    lock_take(&s->flush_lock);
    set_state(s, bucket, BUCKET_LOCAL);
    lock_drop(&s->flush_lock);
}

enum status
store_bucket_give(struct store *s, unsigned bucket, struct error *e)
{
    enum status status;

    OBJ_CHECK(s, STORE_MAGIC);
    INSIST(s->remote != NULL && bucket < s->layout.salt_buckets);
    lock_take(&s->flush_lock);
    set_state(s, bucket, BUCKET_LEAVING);
    status = store_flush_bucket(s, bucket, e);
    if (status == ST_OK)
        status = kv_sync(s->kv, e);
    set_state(s, bucket, status == ST_OK ? BUCKET_REMOTE : BUCKET_LOCAL);
    lock_drop(&s->flush_lock);
    return status;
}
