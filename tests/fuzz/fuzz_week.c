/* Entries of weeks: arbitrary bytes are rejected, or are a week that comes back
 * as it is after it was encoded again.  The first byte says whether the
 * checksum is to be put right. */
#include "storage/week/week.h"

#include "base/obj.h"
#include "storage/block/block_columns.h"
#include "tests/fuzz/target.h"

#define BASE UINT32_C(1356566400)

static void
check_days(const struct week *w, bool hours)
{
    for (unsigned i = 0; i < WEEK_DAYS; i++) {
        const struct summary *s = &w->day[i];
        int64_t from = ((int64_t)BASE + (int64_t)i * DAY_S) * 1000;
        uint64_t count = 0;

        for (unsigned h = 24 * i; h < 24 * (i + 1); h++)
            count += w->count[h];
        INSIST(!hours || count == s->count);
        INSIST(s->count == 0 ||
               (s->first_ms >= from && s->last_ms < from + DAY_MS &&
                s->first_ms <= s->last_ms));
    }
}

static void
check_same(const struct week *a, const struct week *b)
{
    INSIST(a->unfit == b->unfit && a->all_int == b->all_int &&
           a->hours == b->hours);
    for (unsigned i = 0; i < WEEK_DAYS; i++) {
        const struct summary *s = &a->day[i], *t = &b->day[i];

        INSIST(s->count == t->count && s->first_ms == t->first_ms &&
               s->last_ms == t->last_ms && s->sum.i == t->sum.i &&
               s->min.i == t->min.i && s->max.i == t->max.i &&
               s->first.i == t->first.i && s->last.i == t->last.i);
    }
    for (unsigned i = 0; i < WEEK_HOURS; i++) {
        const struct week_values *v = &a->hour, *u = &b->hour;

        INSIST(a->count[i] == b->count[i]);
        INSIST(a->count[i] == 0 ||
               (v->sum[i].i == u->sum[i].i && v->first[i].i == u->first[i].i &&
                v->last[i].i == u->last[i].i && v->min[i].i == u->min[i].i &&
                v->max[i].i == u->max[i].i));
    }
}

FUZZ_TARGET(data, size)
{
    struct buf value = BUF_INIT, again = BUF_INIT;
    struct week w, days, back;
    struct error e;
    enum status st;

    if (size < 1)
        return 0;
    buf_put(&value, data + 1, size - 1);
    if (data[0] & 1)
        buf_put_u32(&value, block_crc(buf_slice(&value), BASE));
    st = week_decode(buf_slice(&value), BASE, HOURS_ALL, &w, &e);
    INSIST(st == ST_OK || (st == ST_CORRUPT && e.text[0] != '\0'));
    if (st == ST_OK) {
        INSIST(week_decode(buf_slice(&value), BASE, HOURS_NONE, &days, &e) ==
               ST_OK);
        check_days(&w, true);
        check_days(&days, false);
        INSIST(w.unfit == days.unfit);
        week_encode(&w, &again);
        INSIST(week_decode(buf_slice(&again), BASE, HOURS_ALL, &back, &e) ==
               ST_OK);
        check_same(&w, &back);
    }
    buf_fini(&value);
    buf_fini(&again);
    return 0;
}
