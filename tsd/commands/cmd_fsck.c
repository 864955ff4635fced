/* 'halite fsck': tells what is wrong with a data folder, and repairs it. */
#include "tsd/commands/commands.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/process/log.h"
#include "base/mem.h"
#include "storage/place/place.h"
#include "tsd/admin/fsck.h"
#include "tsd/admin/pool_store.h"
#include "tsd/tool/fsck_report.h"

struct options {
    const char *store; /* as it was typed */
    struct place place;
    const char *copy;
    int repair;     /* true or false, by getopt_long() */
    int all, quiet; /* true or false, by getopt_long() */
};

static const char fsck_help[] =
    "usage: halite fsck [FLAG]... PLACE\n\n"
    "Verifies a store that is not in use.  Of a folder: FORMAT, the WAL, the\n"
    "engine's files, and every key and value in its tables.  Of a pool,\n"
    "rados:POOL[/NAMESPACE][?conf=FILE&id=NAME]: all tables, after what dead\n"
    "servers left in their WALs was taken over; whoever has it open must end\n"
    "first.  A line for each finding: a code, the key in hexadecimal (\"-\": "
    "it\n"
    "is about a file), and what it means.  docs/RELIABILITY.md explains the\n"
    "codes.\n\n"
    "  --store PLACE  the store, instead of PLACE\n"
    "  --data DIR  short for it\n"
    "  --repair    repair what can be repaired, after a copy of the folder;\n"
    "              what is damaged goes to DIR/aside-DATE, none is deleted.\n"
    "              Of a pool no copy is made ('halite backup', 'halite "
    "copy'),\n"
    "              and what is damaged goes to ./aside-DATE\n"
    "  --copy DIR  where that copy goes (DIR/before-DATE); on the same file\n"
    "              system it shares the engine's tables, which never change.\n"
    "              Of a pool: where what is damaged goes\n"
    "  --all       tell of every finding, not of 100 of a kind\n"
    "  --quiet     tell only how many there are\n"
    "  --verbose   say what is done\n"
    "  --help      this text\n\n"
    "Exit status: 0 nothing is wrong; 1 something is, or was and is repaired;\n"
    "2 it could not be looked at, or its report was not written.\n";

static void
print_line(void *ctx, const char *line)
{
    (void)ctx;
    (void)puts(line);
}

static void
sum_up(const struct options *o, const struct fsck *f,
       const struct fsck_report *r)
{
    bool is_folder = o->place.kind == PLACE_FOLDER;

    if (is_folder)
        (void)printf("looked at %llu files of %llu bytes\n",
                     (unsigned long long)f->files,
                     (unsigned long long)f->bytes);
    if (f->looked_at_all)
        fsck_report_counts(r, is_folder ? "and" : "looked at", &f->counts);
    else
        (void)printf("and not at the tables: the store cannot be opened%s\n",
                     o->repair ? "" : " before it is repaired (--repair)");
    fsck_report_end(r, f->found, f->repaired);
}

static int
fsck_parse(int argc, char **argv, struct options *o)
{
    const struct option table[] = {
        { "repair", no_argument, &o->repair, true },
        { "fix", no_argument, &o->repair, true },
        { "fix-all", no_argument, &o->repair, true },
        { "copy", required_argument, NULL, 'c' },
        { "data", required_argument, NULL, 'd' },
        { "store", required_argument, NULL, 'd' },
        { "all", no_argument, &o->all, true },
        { "quiet", no_argument, &o->quiet, true },
        { "verbose", no_argument, NULL, 'v' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int c;

    log_set_level(LOG_WARN);
    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        if (c == 'c') {
            o->copy = optarg;
        } else if (c == 'd' && o->store != NULL) {
            (void)fprintf(stderr, "halite fsck: two stores, %s and %s\n",
                          o->store, optarg);
            return 2;
        } else if (c == 'd') {
            o->store = optarg;
        } else if (c == 'v') {
            log_set_level(LOG_INFO);
        } else if (c == 'h') {
            (void)fputs(fsck_help, stdout);
            return 0;
        } else if (c == '?') {
            return 2;
        }
    }
    if (o->store == NULL && optind < argc)
        o->store = argv[optind++];
    if (o->store != NULL && optind == argc)
        return -1;
    (void)fputs(fsck_help, stderr);
    return 2;
}

/* DIR/WORD-DATE. */
static char *
dated(const char *dir, const char *word)
{
    size_t size = strlen(dir) + strlen(word) + 32;
    char *path = mem_new(size), date[32];
    time_t now = time(NULL);
    struct tm tm;

    (void)strftime(date, sizeof date, "%Y%m%d-%H%M%S", gmtime_r(&now, &tm));
    (void)snprintf(path, size, "%s/%s-%s", dir, word, date);
    return path;
}

/* Where only what is missing was put there, nothing is aside. */
static void
tell_aside(const char *aside)
{
    if (access(aside, F_OK) == 0)
        (void)printf("what was damaged: %s\n", aside);
}

static enum status
repair(const struct options *o, struct fsck *f, struct error *e)
{
    char *copy = dated(f->dir, "before"), *aside = dated(f->dir, "aside");
    enum status st = fsck_repair(f, o->copy == NULL ? copy : o->copy, aside, e);

    if (st == ST_OK && f->repaired > 0) {
        (void)printf("the folder as it was: %s\n",
                     o->copy == NULL ? copy : o->copy);
        tell_aside(aside);
    }
    free(copy);
    free(aside);
    return st;
}

static enum status
fsck_folder(const struct options *o, struct fsck *f, struct error *e)
{
    f->dir = o->place.at;
    return o->repair ? repair(o, f, e) : fsck_look(f, e);
}

/* A server that comes meanwhile would make its own writes look like damage:
 * that is asked before and after. */
static enum status
fsck_pool(const struct options *o, struct fsck *f, struct error *e)
{
    char *aside = o->copy == NULL ? dated(".", "aside") : mem_strdup(o->copy);
    struct pool_store *p;
    struct error why;
    enum status st = pool_store_open(o->place.at, NULL, &p, e);

    if (st == ST_OK)
        st = pool_store_check_alone(p, e);
    if (st == ST_OK)
        st = pool_store_flush(p, e);
    if (st == ST_OK)
        st = fsck_store(f, pool_store_of(p), o->repair ? aside : NULL, e);
    if (st == ST_OK)
        st = pool_store_check_alone(p, e);
    if (pool_store_close(&p, &why) != ST_OK && st == ST_OK)
        st = error_set(e, ST_IO, "%s", why.text);
    if (st == ST_OK && f->repaired > 0)
        tell_aside(aside);
    free(aside);
    return st;
}

static enum status
fsck_any(struct options *o, struct fsck *f, struct error *e)
{
    enum status st = place_parse(o->store, &o->place, e);

    if (st != ST_OK)
        return st;
    if (o->place.kind == PLACE_MEMORY)
        return error_set(e, ST_INVALID,
                         "a store in memory cannot be looked at");
    return o->place.kind == PLACE_POOL ? fsck_pool(o, f, e)
                                       : fsck_folder(o, f, e);
}

int
cmd_fsck(int argc, char **argv, bool as_tsdb)
{
    struct options o = { .store = NULL };
    struct fsck_report report = { .print = print_line };
    struct fsck f = { .say = fsck_report_finding, .ctx = &report };
    struct error e;
    enum status st;
    int rc;

    if (as_tsdb) /* with OpenTSDB's options, on a store that opens */
        return cmd_tool(argc, argv, as_tsdb);
    rc = fsck_parse(argc, argv, &o);
    if (rc >= 0)
        return rc;
    report.all = o.all != 0;
    report.quiet = o.quiet != 0;
    st = fsck_any(&o, &f, &e);
    if (st != ST_OK) {
        (void)fflush(stdout);
        (void)fprintf(stderr, "halite fsck: %s\n", e.text);
        return 2;
    }
    sum_up(&o, &f, &report);
    if (fflush(stdout) != 0 || ferror(stdout)) /* main() says so */
        return 2;
    return f.found == 0 ? 0 : 1;
}
