#include "tsd/stats/point_range.h"

#include "base/process/clock.h"
#include "base/process/lock.h"
#include "base/mem.h"

#define KEPT_US     INT64_C(60000000)
#define KEPT_LONGER 100 /* times what it took: 1 % of a CPU at most */
#define LEAST_TAGK  1   /* 0: of a kind, a rollup (uid/series/series.h) */
#define RANGE_MAGIC FOURCC('P', 'R', 'N', 'G')

struct point_range {
    uint32_t magic;
    struct lock lock;
    bool is_running GUARDED_BY(lock);
    bool is_known GUARDED_BY(lock);
    struct point_times times GUARDED_BY(lock);
    int64_t found_us GUARDED_BY(lock);
    int64_t until_us GUARDED_BY(lock);
};

struct point_range *
point_range_new(void)
{
    struct point_range *p = mem_new(sizeof *p);

    p->magic = RANGE_MAGIC;
    lock_init(&p->lock);
    return p;
}

void
point_range_free(struct point_range **pp)
{
    struct point_range *p = OBJ_TAKE(pp, RANGE_MAGIC);

    if (p == NULL)
        return;
    lock_fini(&p->lock);
    OBJ_FREE(p);
}

enum status
point_range_get(struct point_range *p, struct store *s, struct cancel cancel,
                struct point_times *out, int64_t *age_ms, struct error *e)
{
    const struct store_times_spec spec = { LEAST_TAGK, cancel };
    int64_t began_us = clock_monotonic_us(), now_us, kept_us;
    enum status st = ST_OK;
    bool looks;

    OBJ_CHECK(p, RANGE_MAGIC);
    lock_take(&p->lock);
    looks = !p->is_running && (!p->is_known || began_us >= p->until_us);
    if (looks)
        p->is_running = true;
    else if (!p->is_known)
        st = error_set(e, ST_BUSY,
                       "the oldest and the newest point are being looked up: "
                       "try again later");
    *out = p->times;
    *age_ms = (began_us - p->found_us) / 1000;
    lock_drop(&p->lock);
    if (!looks)
        return st;
    st = store_times(s, &spec, out, e);
    now_us = clock_monotonic_us();
    kept_us = (now_us - began_us) * KEPT_LONGER;
    *age_ms = 0;
    lock_take(&p->lock);
    p->is_running = false;
    if (st == ST_OK) {
        p->is_known = !point_times_are_none(out); /* that costs nothing */
        p->times = *out;
        p->found_us = now_us;
        p->until_us = now_us + (kept_us > KEPT_US ? kept_us : KEPT_US);
    }
    lock_drop(&p->lock);
    return st;
}
