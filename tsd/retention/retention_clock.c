#include "tsd/retention/retention_clock.h"

#include "base/buf.h"
#include "base/process/log.h"
#include "storage/store/cuts.h"
#include "storage/store/store.h"

/* A restart may find that the last pass was so much earlier than it was. */
#define SAVE_EVERY_MS INT64_C(60000)
/* A clock that is corrected by less has not jumped. */
#define JUMP_US (INT64_C(3600) * 1000000)

static enum status
read_last(struct retention_clock *c, struct error *e)
{
    struct buf value = BUF_INIT;
    enum status st = kv_get(store_kv(c->store), CUTS_CLOCK_KEY, &value, e);

    c->believed_ms = 0;
    if (st == ST_OK && value.size == 8)
        c->believed_ms = (int64_t)key_get_uint(value.data, 8);
    buf_fini(&value);
    return st == ST_NOT_FOUND ? ST_OK : st;
}

static enum status
write_last(struct retention_clock *c, int64_t now_ms, struct error *e)
{
    struct kv_batch *b = kv_batch_new();
    struct buf value = BUF_INIT;
    uint64_t lsn = 0;
    enum status st;

    buf_make_room(&value, 8);
    buf_put_u64(&value, (uint64_t)now_ms);
    kv_batch_put(b, CUTS_CLOCK_KEY, buf_slice(&value));
    st = store_write(c->store, b, &lsn, e);
    if (st == ST_OK && lsn != 0)
        st = store_commit(c->store, lsn, true, e);
    if (st == ST_OK)
        c->believed_ms = now_ms;
    buf_fini(&value);
    kv_batch_free(&b);
    return st;
}

static void
doubt(struct retention_clock *c, int64_t now_ms, int64_t offset_us)
{
    bool again = c->doubted;

    c->doubted = true;
    c->offset_us = offset_us;
    store_watch_clock(c->store, true);
    log_warn("retention",
             "the clock %s to %lld, %lld hours after the last pass (%lld): "
             "nothing is dropped until points with times near it have come for "
             "%lld s. Set the clock right, or confirm it by PUT /api/retention",
             again ? "jumped again," : "went", (long long)now_ms / 1000,
             (long long)(now_ms - c->believed_ms) / 3600000,
             (long long)c->believed_ms / 1000, (long long)c->confirm_ms / 1000);
}

static enum status
believe(struct retention_clock *c, int64_t now_ms, struct error *e)
{
    int64_t since_ms = now_ms - c->believed_ms;
    enum status st = ST_OK;

    if (c->doubted || since_ms >= SAVE_EVERY_MS || since_ms < 0)
        st = write_last(c, now_ms, e);
    if (st != ST_OK)
        return st;
    if (c->doubted) {
        store_watch_clock(c->store, false);
        log_info("retention", "the clock is believed again");
    }
    c->doubted = false;
    return ST_OK;
}

enum status
retention_clock_check(struct retention_clock *c, int64_t most_ms,
                      int64_t *now_ms, struct error *e)
{
    int64_t monotonic_us = clock_monotonic_us(), offset_us, jump_us;
    enum status st = read_last(c, e);

    *now_ms = clock_now_ms(c->clock);
    if (st != ST_OK) {
        c->doubted = true;
        return st;
    }
    offset_us = *now_ms * 1000 - monotonic_us;
    jump_us = offset_us - c->offset_us;
    if (c->believed_ms == 0 || *now_ms - c->believed_ms <= most_ms)
        return believe(c, *now_ms, e);
    if (!c->doubted || jump_us > JUMP_US || jump_us < -JUMP_US)
        doubt(c, *now_ms, offset_us);
    return store_watched_ms(c->store) >= c->confirm_ms ? believe(c, *now_ms, e)
                                                       : ST_OK;
}

enum status
retention_clock_confirm(struct retention_clock *c, struct error *e)
{
    bool doubted = c->doubted;
    enum status st = write_last(c, clock_now_ms(c->clock), e);

    if (st != ST_OK)
        return st;
    c->doubted = false;
    if (doubted) {
        store_watch_clock(c->store, false);
        log_info("retention",
                 "the clock is believed: an operator confirmed it");
    }
    return ST_OK;
}
