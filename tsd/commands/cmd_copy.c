/* 'halite copy'. */
#include "tsd/commands/commands.h"

#include <stdio.h>

#include "base/process/log.h"
#include "base/text/number.h"
#include "storage/place/place.h"
#include "tsd/admin/backup.h"

static const struct tool_option copy_options[] = {
    { "--buckets", "N",
      "Salt buckets of TO, 1 to 256 (a folder: as many as FROM has; a pool: "
      "64)." },
    { "--cacert", "FILE",
      "Certificates (PEM) that servers of the pool FROM may have, where they "
      "speak TLS (the system's)." },
    { 0 },
};

static const struct command_help copy_help = {
    .usage = "copy [FLAG]... FROM TO\n\n"
             "Makes a store at TO, where nothing is yet, of the one at FROM:\n"
             "each is DIR or rados:POOL[/NAMESPACE][?conf=FILE&id=NAME].  No\n"
             "server may have a folder open (halite backup copies those);\n"
             "servers of a pool go on, and all that they acknowledged before\n"
             "is in the copy.  There is a store at TO only when the copy was\n"
             "looked at as by 'halite fsck'; what a copy left that was cut\n"
             "short (TO.partial, objects in the namespace) is replaced by the\n"
             "next one.\n",
    .options = copy_options,
    .end = "\nExit status: 0 done; 1 not, and why is told; 2 asked wrongly.\n",
    .words = 2,
};

int
cmd_copy(int argc, char **argv, bool as_tsdb)
{
    struct tool_args a;
    struct backup b = { 0 };
    struct place from = { 0 };
    struct error e;
    const char *text;
    int64_t buckets = 1;
    enum status st;
    int rc = command_read(&copy_help, argc, argv, &a);

    (void)as_tsdb;
    if (rc >= 0)
        return rc;
    log_set_level(LOG_WARN);
    text = tool_args_get(&a, "--buckets");
    if (text != NULL) {
        if (!number_parse_i64(slice_str(text), &buckets) || buckets < 1 ||
            buckets > 256) {
            (void)fprintf(stderr,
                          "halite copy: --buckets is 1 to 256, not %s\n", text);
            tool_args_fini(&a);
            return 2;
        }
        b.salt_buckets = (unsigned)buckets;
    }
    b.ca = tool_args_get(&a, "--cacert");
    st = place_parse(a.words[0], &from, &e);
    if (st == ST_OK)
        st = place_parse(a.words[1], &b.to, &e);
    if (st == ST_OK)
        st = backup_idle(&from, &b, &e);
    if (st == ST_OK)
        backup_report(a.words[1], &b.counts);
    tool_args_fini(&a);
    return st == ST_OK ? 0 : command_fail("copy", e.text);
}
