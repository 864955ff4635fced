/* Reads arbitrary bytes as a record of points: a whole one, written again,
 * gives the same points. */
#include "storage/wal/wal_points.h"

#include "base/obj.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(data, size)
{
    struct wal_points_writer w = { .record = BUF_INIT };
    struct wal_points_reader r, again;
    uint64_t n = 0;

    wal_points_read(&r, slice_of(data, size));
    while (wal_points_next(&r))
        n++;
    INSIST(n <= size * 8);
    if (r.c.failed)
        return 0;
    wal_points_begin(&w, r.bucket);
    wal_points_read(&r, slice_of(data, size));
    while (wal_points_next(&r))
        wal_points_add(&w, r.state.id, r.tsuid, &r.point);
    wal_points_read(&r, slice_of(data, size));
    wal_points_read(&again, wal_points_end(&w));
    while (wal_points_next(&r)) {
        INSIST(wal_points_next(&again));
        INSIST(r.state.id == again.state.id);
        INSIST(slice_eq(r.tsuid, again.tsuid));
        INSIST(r.point.ts_ms == again.point.ts_ms);
        INSIST(r.point.is_float == again.point.is_float);
        INSIST(r.point.v.i == again.point.v.i);
    }
    INSIST(!wal_points_next(&again) && !again.c.failed);
    wal_points_fini(&w);
    return 0;
}
