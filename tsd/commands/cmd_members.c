/* 'halite members'. */
#include "tsd/commands/commands.h"

#include <stdio.h>

#include "base/process/clock.h"
#include "base/process/log.h"
#include "cluster/view.h"
#include "storage/place/place.h"

static const struct tool_option members_options[] = {
    { "--json", NULL, "As /api/cluster of a daemon says it." },
    { 0 },
};

static const struct command_help members_help = {
    .usage = "members [--json] rados:POOL[/NAMESPACE][?conf=FILE&id=NAME]\n\n"
             "Tells which daemons share a pool, whether they hold their\n"
             "leases, and how many salt buckets each owns.\n",
    .options = members_options,
    .end = "\nExit status: 0 each bucket has an owner; 1 some have none, or\n"
           "the pool cannot be read; 2 asked wrongly.\n",
    .words = 1,
};

int
cmd_members(int argc, char **argv, bool as_tsdb)
{
    struct cluster_view v = { 0 };
    struct buf out = BUF_INIT;
    struct tool_args a;
    struct place place;
    struct error e;
    enum status st;
    int rc = command_read(&members_help, argc, argv, &a);

    (void)as_tsdb;
    if (rc >= 0)
        return rc;
    log_set_level(LOG_WARN);
    st = place_parse(a.words[0], &place, &e);
    if (st == ST_OK && place.kind != PLACE_POOL)
        st = error_set(&e, ST_INVALID, "%s is no pool: rados:POOL", a.words[0]);
    if (st == ST_OK)
        st = cluster_view_read(place.at, &v, &e);
    if (st != ST_OK) {
        rc = command_fail("members", e.text);
    } else {
        if (tool_args_get(&a, "--json") != NULL) {
            cluster_view_json(&v, &out);
            buf_put_u8(&out, '\n');
        } else {
            cluster_view_text(&v, clock_now_ms(&clock_system), &out);
        }
        (void)fwrite(out.data, 1, out.size, stdout);
        rc = cluster_view_unowned(&v) > 0;
    }
    buf_fini(&out);
    cluster_view_fini(&v);
    tool_args_fini(&a);
    return rc;
}
