/* 'halite members'. */
#include "tsd/commands/commands.h"

#include <getopt.h>
#include <stdio.h>

#include "base/process/clock.h"
#include "base/process/log.h"
#include "cluster/view.h"
#include "storage/place/place.h"

static const char members_help[] =
    "usage: halite members [--json] "
    "rados:POOL[/NAMESPACE][?conf=FILE&id=NAME]\n"
    "\n"
    "Tells which daemons share a pool, whether they hold their leases, and "
    "how\n"
    "many salt buckets each owns.\n\n"
    "  --json  as /api/cluster of a daemon says it\n"
    "  --help  this text\n\n"
    "Exit status: 0 each bucket has an owner; 1 some have none, or the pool\n"
    "cannot be read; 2 asked wrongly.\n";

static int
members_fail(const struct error *e)
{
    (void)fprintf(stderr, "halite members: %s\n", e->text);
    return 1;
}

static int
members_show(const char *text, bool json)
{
    struct buf out = BUF_INIT;
    struct cluster_view v;
    struct place place;
    struct error e;
    enum status st = place_parse(text, &place, &e);
    int rc;

    if (st == ST_OK && place.kind != PLACE_POOL)
        st = error_set(&e, ST_INVALID, "%s is no pool: rados:POOL", text);
    if (st != ST_OK)
        return members_fail(&e);
    st = cluster_view_read(place.at, &v, &e);
    if (st != ST_OK) {
        cluster_view_fini(&v);
        return members_fail(&e);
    }
    if (json)
        cluster_view_json(&v, &out);
    else
        cluster_view_text(&v, clock_now_ms(&clock_system), &out);
    (void)fwrite(out.data, 1, out.size, stdout);
    (void)fputs(json ? "\n" : "", stdout);
    rc = cluster_view_unowned(&v) > 0;
    buf_fini(&out);
    cluster_view_fini(&v);
    return rc;
}

int
cmd_members(int argc, char **argv, bool as_tsdb)
{
    static const struct option table[] = {
        { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    bool json = false;
    int c;

    (void)as_tsdb;
    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        if (c == 'h') {
            (void)fputs(members_help, stdout);
            return 0;
        }
        if (c != 'j')
            return 2;
        json = true;
    }
    if (argc - optind != 1) {
        (void)fputs(members_help, stderr);
        return 2;
    }
    log_set_level(LOG_WARN);
    return members_show(argv[optind], json);
}
