/* 'halite fsck': tells what is wrong with a data folder, and repairs it. */
#include "tsd/commands/commands.h"

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
    struct place place;
    const char *copy;
    bool repair;
};

static const struct tool_option fsck_options[] = {
    { "--repair", NULL,
      "Repair what can be repaired, after a copy of the folder; what is "
      "damaged goes to DIR/aside-DATE, none is deleted.  Of a pool no copy is "
      "made ('halite backup', 'halite copy'), and what is damaged goes to "
      "./aside-DATE." },
    { "--fix", NULL, "OpenTSDB's word for --repair." },
    { "--fix-all", NULL, "OpenTSDB's word for --repair." },
    { "--copy", "DIR",
      "Where that copy goes (DIR/before-DATE); on the same file system it "
      "shares the engine's tables, which never change.  Of a pool: where what "
      "is damaged goes." },
    { "--all", NULL, "Tell of every finding, not of 100 of a kind." },
    { "--quiet", NULL, "Tell only how many there are." },
    { "--verbose", NULL, "Say what is done." },
    { 0 },
};

static const struct command_help fsck_help = {
    .usage = "fsck [FLAG]... PLACE\n\n"
             "Verifies a store that is not in use.  Of a folder: FORMAT, the\n"
             "WAL, the engine's files, and every key and value in its tables.\n"
             "Of a pool, rados:POOL[/NAMESPACE][?conf=FILE&id=NAME]: all\n"
             "tables, after what dead servers left in their WALs was taken\n"
             "over; whoever has it open must end first.  A line for each\n"
             "finding: a code, the key in hexadecimal (\"-\": it is about a\n"
             "file), and what it means.  docs/RELIABILITY.md explains the\n"
             "codes.\n",
    .options = fsck_options,
    .end = "\nExit status: 0 nothing is wrong; 1 something is, or was and is\n"
           "repaired; 2 it could not be looked at, or its report was not\n"
           "written.\n",
    .words = 1,
    .place = 1,
};

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
fsck_folder(const struct options *o, struct fsck *f, struct error *e)
{
    char *copy, *aside;
    enum status st;

    f->dir = o->place.at;
    if (!o->repair)
        return fsck_look(f, e);
    copy = o->copy == NULL ? dated(f->dir, "before") : mem_strdup(o->copy);
    aside = dated(f->dir, "aside");
    st = fsck_repair(f, copy, aside, e);
    if (st == ST_OK && f->repaired > 0) {
        (void)printf("the folder as it was: %s\n", copy);
        tell_aside(aside);
    }
    free(copy);
    free(aside);
    return st;
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

int
cmd_fsck(int argc, char **argv, bool as_tsdb)
{
    struct options o = { 0 };
    struct fsck_report report = { .print = print_line };
    struct fsck f = { .say = fsck_report_finding, .ctx = &report };
    struct tool_args a;
    struct error e;
    enum status st;
    int rc;

    if (as_tsdb) /* with OpenTSDB's options, on a store that opens */
        return cmd_tool(argc, argv, as_tsdb);
    rc = command_read(&fsck_help, argc, argv, &a);
    if (rc >= 0)
        return rc;
    log_set_level(tool_args_get(&a, "--verbose") != NULL ? LOG_INFO : LOG_WARN);
    o.repair = tool_args_get(&a, "--repair") != NULL ||
               tool_args_get(&a, "--fix") != NULL ||
               tool_args_get(&a, "--fix-all") != NULL;
    o.copy = tool_args_get(&a, "--copy");
    report.all = tool_args_get(&a, "--all") != NULL;
    report.quiet = tool_args_get(&a, "--quiet") != NULL;
    st = place_parse(a.words[0], &o.place, &e);
    tool_args_fini(&a);
    if (st == ST_OK && o.place.kind == PLACE_MEMORY)
        st = error_set(&e, ST_INVALID, "a store in memory cannot be looked at");
    if (st == ST_OK)
        st = o.place.kind == PLACE_POOL ? fsck_pool(&o, &f, &e)
                                        : fsck_folder(&o, &f, &e);
    if (st != ST_OK) {
        (void)fflush(stdout);
        (void)command_fail("fsck", e.text);
        return 2;
    }
    sum_up(&o, &f, &report);
    if (fflush(stdout) != 0 || ferror(stdout)) /* main() says so */
        return 2;
    return f.found == 0 ? 0 : 1;
}
