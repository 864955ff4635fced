/* 'halite backup' and 'halite restore'. */
#include "tsd/commands/commands.h"

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process/log.h"
#include "base/mem.h"
#include "storage/place/format.h"
#include "tsd/admin/backup.h"
#include "tsd/client/client.h"
#include "web/json/json.h"

struct options {
    struct client_options server; /* its address: NULL, look into PLACE */
    const char *place;            /* --store or --data */
    const char *words[2];         /* PLACE DEST, BACKUP PLACE */
};

static const char backup_help[] =
    "usage: halite backup [FLAG]... PLACE DEST\n"
    "       halite backup --store PLACE [FLAG]... DEST\n"
    "       halite backup --server ADDRESS [FLAG]... DEST\n\n"
    "Copies a store, while its servers go on working, to the folder DEST,\n"
    "which must be absent or empty.  All that was acknowledged before is in\n"
    "it.  Of a folder the server that uses it is found by its file LOCK, and\n"
    "writes the copy itself; without one the folder is opened.  A pool,\n"
    "rados:POOL[/NAMESPACE][?conf=FILE&id=NAME], is copied by this process.\n"
    "The copy is called DEST only when it was opened and looked at as by\n"
    "'halite fsck'; until then it is DEST.partial.\n\n"
    "  --store PLACE     the store: DIR or rados:POOL..\n"
    "  --data DIR        short for it\n"
    "  --server ADDRESS  ask this server: HOST:PORT or https://..\n"
    "  --token FILE      its first line is a token, or NAME:PASSWORD, of an\n"
    "                    administrator; or HALITE_TOKEN in the environment\n"
    "  --cacert FILE     certificates (PEM) that servers may have\n"
    "  --help            this text\n\n"
    "Exit status: 0 there is a backup; 1 there is none, and why is told;\n"
    "2 asked wrongly.\n";

static const char restore_help[] =
    "usage: halite restore BACKUP PLACE\n"
    "       halite restore --store PLACE BACKUP\n\n"
    "Copies a backup to PLACE, a folder that is absent or empty or an empty\n"
    "namespace of a pool (rados:POOL[/NAMESPACE][?conf=FILE&id=NAME]), and\n"
    "looks at the copy as 'halite fsck' does before it is a store.  In a\n"
    "pool it has 64 salt buckets; 'halite copy' makes others.  No program may\n"
    "use BACKUP meanwhile.\n\n"
    "  --store PLACE     where to\n"
    "  --data DIR        short for it\n"
    "  --help            this text\n\n"
    "Exit status: 0 done; 1 not, and why is told; 2 asked wrongly.\n";

/* The words that no flag says; -1: go on; else the exit status. */
static int
take_words(int argc, char **argv, size_t place_at, struct options *o)
{
    bool asks = o->server.address != NULL;

    if (o->place != NULL && asks) {
        (void)fprintf(stderr,
                      "halite %s: --store and --server exclude "
                      "another\n",
                      argv[0]);
        return 2;
    }
    o->words[place_at] = o->place;
    for (size_t i = 0; i < 2; i++) {
        if (i == place_at && (asks || o->place != NULL))
            continue;
        if (optind == argc)
            return 2;
        o->words[i] = argv[optind++];
    }
    return optind == argc ? -1 : 2;
}

/* The same. */
static int
backup_parse(int argc, char **argv, const char *help, size_t place_at,
             struct options *o)
{
    static const struct option table[] = {
        { "server", required_argument, NULL, 's' },
        { "token", required_argument, NULL, 't' },
        { "cacert", required_argument, NULL, 'c' },
        { "store", required_argument, NULL, 'd' },
        { "data", required_argument, NULL, 'd' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int c, rc;

    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        if (c == 's') {
            o->server.address = optarg;
        } else if (c == 't') {
            o->server.token_file = optarg;
        } else if (c == 'c') {
            o->server.cacert = optarg;
        } else if (c == 'd' && o->place != NULL) {
            (void)fprintf(stderr, "halite %s: two stores, %s and %s\n", argv[0],
                          o->place, optarg);
            return 2;
        } else if (c == 'd') {
            o->place = optarg;
        } else if (c == 'h') {
            (void)fputs(help, stdout);
            return 0;
        } else {
            return 2;
        }
    }
    rc = take_words(argc, argv, place_at, o);
    if (rc == 2)
        (void)fputs(help, stderr);
    return rc;
}

static int
backup_fail(const char *command, const char *why)
{
    (void)fprintf(stderr, "halite %s: %s\n", command, why);
    return 1;
}

static void
put_escaped(struct buf *out, const char *path)
{
    for (; *path != '\0'; path++)
        buf_printf(out, "%%%02x", (uint8_t)*path);
}

static char *
absolute(const char *path)
{
    char *cwd = getcwd(NULL, 0), *out = NULL;

    if (path[0] == '/' || cwd == NULL)
        out = mem_strdup(path);
    else if (asprintf(&out, "%s/%s", cwd, path) < 0)
        out = NULL;
    free(cwd);
    return out;
}

static int
done(const struct options *o, const struct check_counts *n)
{
    backup_report(o->words[1], n);
    return 0;
}

static uint64_t
count_of(const json_t *answer, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(answer, name));
}

/* What /api/backup answers, as this process would have counted it. */
static enum status
read_counts(struct slice answer, struct check_counts *n, struct error *e)
{
    json_t *json = NULL;
    enum status st = json_parse(answer, SIZE_MAX, &json, e);

    if (st == ST_OK)
        *n = (struct check_counts){
            .names = count_of(json, "names"),
            .series = count_of(json, "series"),
            .rows = count_of(json, "rows"),
            .points = count_of(json, "points"),
            .histograms = count_of(json, "histograms"),
            .notes = count_of(json, "annotations"),
        };
    json_decref(json);
    return st;
}

static int
backup_ask(const struct options *o)
{
    struct check_counts n;
    char *to = absolute(o->words[1]);
    struct buf path = BUF_INIT, answer = BUF_INIT;
    struct client *c;
    struct error e;
    enum status st = client_open(&o->server, &c, &e);

    buf_put_str(&path, "/api/backup?to=");
    put_escaped(&path, to == NULL ? "" : to);
    if (st == ST_OK)
        st = client_post(c, buf_cstr(&path), "text/plain", slice_str(""),
                         &answer, &e);
    if (st == ST_OK)
        st = read_counts(buf_slice(&answer), &n, &e);
    client_close(&c);
    buf_fini(&path);
    buf_fini(&answer);
    free(to);
    return st == ST_OK ? done(o, &n) : backup_fail("backup", e.text);
}

static int
copy_idle(const struct options *o, const struct place *from)
{
    struct backup b = { .to = { PLACE_FOLDER, o->words[1] },
                        .ca = o->server.cacert };
    struct error e;

    return backup_idle(from, &b, &e) == ST_OK ? done(o, &b.counts)
                                              : backup_fail("backup", e.text);
}

int
cmd_backup(int argc, char **argv, bool as_tsdb)
{
    struct options o = { 0 };
    struct place from;
    struct error e;
    char address[FORMAT_NOTE_MAX];
    int rc = backup_parse(argc, argv, backup_help, 0, &o);

    if (rc >= 0)
        return rc;
    log_set_level(LOG_WARN);
    if (o.server.address != NULL)
        return backup_ask(&o);
    if (place_parse(o.words[0], &from, &e) != ST_OK)
        return backup_fail("backup", e.text);
    if (from.kind != PLACE_FOLDER || !format_is_locked(from.at))
        return copy_idle(&o, &from);
    format_lock_read(from.at, address);
    if (address[0] == '\0')
        return backup_fail("backup",
                           "the folder is in use, and LOCK does not say "
                           "where that daemon listens: see --server");
    o.server.address = address;
    return backup_ask(&o);
}

int
cmd_restore(int argc, char **argv, bool as_tsdb)
{
    struct options o = { 0 };
    struct backup b = { 0 };
    struct error e;
    int rc = backup_parse(argc, argv, restore_help, 1, &o);

    if (rc >= 0)
        return rc;
    log_set_level(LOG_WARN);
    if (format_is_locked(o.words[0]))
        return backup_fail("restore", "the backup is in use");
    if (place_parse(o.words[1], &b.to, &e) != ST_OK ||
        backup_restore(o.words[0], &b, &e) != ST_OK)
        return backup_fail("restore", e.text);
    return done(&o, &b.counts);
}
