/* Events of other daemons, as they come from a pool: what is taken leaves
 * memory as it should be, and what is not is ST_CORRUPT.
 *
 *     <kind:1> <payload> */
#include "base/obj.h"
#include "tests/storage/kv/kv_shared.h"
#include "uid/meta/record.h"
#include "tests/fuzz/target.h"

static const struct series_rules rules = { true, true, true, 8, false };

struct daemon {
    struct store *store;
    struct uid_table *uids;
    struct series_directory *series;
    struct records *records;
};

static void
must(enum status st)
{
    INSIST(st == ST_OK);
}

static struct daemon
daemon_open(void)
{
    const struct store_options so = { .layout = KEY_LAYOUT_DEFAULT };
    const struct uid_options uo = { .cache_entries = 64 };
    struct daemon d;
    struct tag tag = { slice_str("host"), slice_str("a") };
    struct tsuid tsuid;
    series_ref ref;

    must(store_open(&so, &d.store, NULL));
    must(uid_open(d.store, &uo, &d.uids, NULL));
    must(series_open(d.store, d.uids, &d.series, NULL));
    must(records_open(d.store, d.uids, d.series, &d.records, NULL));
    must(series_resolve(d.series, &rules,
                        &(struct series_text){ 0, slice_str("m"), &tag, 1 },
                        &ref, &tsuid, NULL));
    return d;
}

static void
daemon_close(struct daemon *d)
{
    records_close(&d->records);
    series_close(&d->series);
    uid_close(&d->uids);
    must(store_close(&d->store, NULL));
}

FUZZ_TARGET(data, size)
{
    struct buf answer = BUF_INIT;
    struct daemon d;
    uint64_t id = 0;
    enum status st;

    if (size == 0)
        return 0;
    d = daemon_open();
    st = uid_events_hear(d.records, data[0], slice_of(data + 1, size - 1),
                         &answer, NULL);
    INSIST(st == ST_OK || st == ST_CORRUPT);
    /* Counts only rise, and the engine's names are what they were. */
    INSIST(series_total(d.series) >= 1);
    INSIST(series_total_of(d.series, 1) >= 1);
    INSIST(series_total_of(d.series, 1) <= series_total(d.series));
    INSIST(uid_find(d.uids, UID_TAGV, slice_str("a"), &id, NULL) == ST_OK &&
           id == 1);
    buf_fini(&answer);
    daemon_close(&d);
    return 0;
}
