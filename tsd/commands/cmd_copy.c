/* 'halite copy'. */
#include "tsd/commands/commands.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/process/log.h"
#include "base/text/number.h"
#include "storage/place/place.h"
#include "tsd/admin/backup.h"

static const char copy_help[] =
    "usage: halite copy [FLAG]... FROM TO\n\n"
    "Makes a store at TO, where nothing is yet, of the one at FROM: each is\n"
    "DIR or rados:POOL[/NAMESPACE][?conf=FILE&id=NAME].  No server may have a\n"
    "folder open (halite backup copies those); servers of a pool go on, and\n"
    "all that they acknowledged before is in the copy.  There is a store at\n"
    "TO only when the copy was looked at as by 'halite fsck'; what a copy\n"
    "left that was cut short (TO.partial, objects in the namespace) is\n"
    "replaced by the next one.\n\n"
    "  --buckets N    salt buckets of TO, 1 to 256 (a folder: as many as FROM\n"
    "                 has; a pool: 64)\n"
    "  --cacert FILE  certificates (PEM) that servers of the pool FROM may\n"
    "                 have, where they speak TLS (the system's)\n"
    "  --help         this text\n\n"
    "Exit status: 0 done; 1 not, and why is told; 2 asked wrongly.\n";

struct words {
    const char *from, *to, *cacert;
    int64_t buckets; /* 0: not said */
};

/* -1: go on; else the exit status. */
static int
copy_parse(int argc, char **argv, struct words *w)
{
    static const struct option table[] = {
        { "buckets", required_argument, NULL, 'b' },
        { "cacert", required_argument, NULL, 'c' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int c;

    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        if (c == 'h') {
            (void)fputs(copy_help, stdout);
            return 0;
        }
        if (c == 'c') {
            w->cacert = optarg;
            continue;
        }
        if (c != 'b')
            return 2;
        if (!number_parse_i64(slice_str(optarg), &w->buckets) ||
            w->buckets < 1 || w->buckets > 256) {
            (void)fprintf(
                stderr, "halite copy: --buckets is 1 to 256, not %s\n", optarg);
            return 2;
        }
    }
    if (argc - optind != 2) {
        (void)fputs(copy_help, stderr);
        return 2;
    }
    w->from = argv[optind];
    w->to = argv[optind + 1];
    return -1;
}

int
cmd_copy(int argc, char **argv, bool as_tsdb)
{
    struct words w = { 0 };
    struct backup b = { 0 };
    struct place from = { 0 };
    struct error e;
    int rc = copy_parse(argc, argv, &w);
    enum status st;

    (void)as_tsdb;
    if (rc >= 0)
        return rc;
    log_set_level(LOG_WARN);
    b.salt_buckets = (unsigned)w.buckets;
    b.ca = w.cacert;
    st = place_parse(w.from, &from, &e);
    if (st == ST_OK)
        st = place_parse(w.to, &b.to, &e);
    if (st == ST_OK)
        st = backup_idle(&from, &b, &e);
    if (st != ST_OK) {
        (void)fprintf(stderr, "halite copy: %s\n", e.text);
        return 1;
    }
    backup_report(w.to, &b.counts);
    return 0;
}
