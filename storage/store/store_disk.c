/* What a store does when the disk is full, or fails under the WAL.
 *
 *     writing --too little room--> rejecting --room--> writing
 *             --WAL failed---> rejecting --all flushed, WAL anew--'
 *
 * Reading goes on all the time.  After a failed write or fsync it is unknown
 * what the WAL's files hold.  But head and engine have all of it: so the
 * head is flushed, the engine synced, which has files and syncs of its own, and
 * only then is the WAL begun anew.  What waits for its acknowledgement at
 * that time has it rightly then: it is on the disk. */
#include <string.h>
#include <sys/statvfs.h>

#include "base/process/counters.h"
#include "base/process/log.h"
#include "storage/store/store_priv.h"

#define DAMAGE_EVERY_US (INT64_C(60) * 1000000) /* of lines in the log */

enum status
store_may_write(struct store *s, struct error *e)
{
    enum status status = ST_OK;

    if (!atomic_load_explicit(&s->rejecting, memory_order_relaxed))
        return ST_OK;
    lock_take(&s->wake_lock);
    if (atomic_load(&s->rejecting))
        status = error_set(e, ST_BUSY, "nothing is written now: %s",
                           s->rejection.text);
    lock_drop(&s->wake_lock);
    return status;
}

uint64_t
store_free_bytes(const char *dir)
{
    struct statvfs v;

    if (dir == NULL || statvfs(dir, &v) != 0)
        return UINT64_MAX;
    return (uint64_t)v.f_bavail * v.f_frsize;
}

bool
store_has_room(const struct store *s)
{
    return store_free_bytes(s->dir) >= s->options.min_free_bytes / 4;
}

static void
reject(struct store *s, const struct error *why)
{
    lock_take(&s->wake_lock);
    if (!atomic_load(&s->rejecting) ||
        strcmp(why->text, s->rejection.text) != 0)
        log_error("store", "writes are rejected: %s", why->text);
    s->rejection = *why;
    atomic_store(&s->rejecting, true);
    lock_drop(&s->wake_lock);
}

static enum status
restart_wal(void *ctx, struct error *e)
{
    return wal_restart(((struct store *)ctx)->wal, e);
}

/* The write lock keeps batches away that are in the WAL and not yet in the
 * engine. */
static enum status
recover_wal(struct store *s, struct error *e)
{
    enum status status;

    lock_take(&s->flush_lock);
    status = store_flush_all(s, e);
    lock_take(&s->write_lock);
    if (status == ST_OK)
        status = kv_sync(s->kv, e);
    /* No point is on its way then: one that is in the head and not in the WAL
     * is seen, and no record is put together for a segment that will be gone.
     */
    if (status == ST_OK)
        status = head_while_empty(s->head, restart_wal, s, e);
    if (status == ST_OK)
        s->trimmed = wal_segment_now(s->wal);
    lock_drop(&s->write_lock);
    lock_drop(&s->flush_lock);
    return status;
}

void
store_reject_writes(struct store *s)
{
    lock_take(&s->wake_lock);
    (void)error_set(&s->rejection, ST_BUSY,
                    "the store is on a file system that is read-only");
    atomic_store(&s->rejecting, true);
    lock_drop(&s->wake_lock);
}

void
store_check_disk(struct store *s)
{
    uint64_t least = s->options.min_free_bytes;
    struct error why, e;
    enum status status;

    if (s->wal == NULL || s->options.read_only)
        return;
    status = wal_status(s->wal, &why);
    /* Once: while it cannot be begun anew, that is the reason. */
    if (!atomic_exchange(&s->wal_failed, status != ST_OK) && status != ST_OK)
        reject(s, &why);
    if (status == ST_CONFLICT) /* another process has it: nothing is flushed */
        return;
    /* A quarter more than what stops it, so that it does not flutter. */
    if (atomic_load(&s->rejecting))
        least += least / 4;
    if (store_free_bytes(s->dir) < least) {
        (void)error_set(&e, ST_IO,
                        "the disk of %s is full: less than %llu KB are free "
                        "(halite.store.min_free_bytes): make room on it",
                        s->dir,
                        (unsigned long long)s->options.min_free_bytes >> 10);
        reject(s, status != ST_OK ? &why : &e);
        return;
    }
    if (status != ST_OK && recover_wal(s, &e) != ST_OK) {
        (void)error_wrap(&e, ST_IO, "the WAL of %s cannot be begun anew",
                         s->dir == NULL ? "this process" : s->dir);
        reject(s, &e);
        return;
    }
    if (!atomic_load(&s->rejecting))
        return;
    lock_take(&s->wake_lock);
    atomic_store(&s->rejecting, false);
    atomic_store(&s->wal_failed, false);
    lock_drop(&s->wake_lock);
    log_info("store", "writes are taken again");
}

enum status
store_disk_failed(enum status status, struct error *e)
{
    /* ST_CONFLICT: another process has the WAL, and ends this one. */
    return status == ST_IO || status == ST_CONFLICT
               ? error_wrap(e, ST_BUSY, "not acknowledged")
               : status;
}

enum status
store_pass_over_damage(struct store *s, enum status status,
                       const struct error *why)
{
    OBJ_CHECK(s, STORE_MAGIC);
    if (status != ST_CORRUPT && status != ST_IO)
        return status;
    if (status == ST_IO && kv_traits(s->kv)->shared)
        return status; /* the network may be the reason */
    counter_add(CNT_DAMAGE_READ_AROUND, 1);
    if (!atomic_exchange(&s->damage_passed_over, true))
        log_error("store",
                  "rows cannot be read (%s): they are neither summed up nor "
                  "dropped, and all others are. This is logged once: run "
                  "'halite fsck --repair'",
                  why->text);
    return ST_OK;
}

void
store_note_damage(struct store *s, const char *object, const char *instead,
                  const struct error *why)
{
    int64_t now_us = clock_monotonic_us();
    int64_t logged_us = atomic_load(&s->damage_logged_us);

    OBJ_CHECK(s, STORE_MAGIC);
    counter_add(CNT_DAMAGE_READ_AROUND, 1);
    if ((logged_us == 0 || now_us - logged_us > DAMAGE_EVERY_US) &&
        atomic_compare_exchange_strong(&s->damage_logged_us, &logged_us,
                                       now_us))
        log_warn("storage",
                 "%s: damaged (%s); %s instead: run 'halite fsck --repair'",
                 object, why == NULL ? "a checksum" : why->text, instead);
}
