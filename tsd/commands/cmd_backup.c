/* 'halite backup' and 'halite restore'. */
#include "tsd/commands/commands.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "storage/store/format.h"
#include "tsd/admin/ask.h"
#include "tsd/admin/backup.h"

struct options {
    const char *server, *token_file;
    char *words[2]; /* DATA DEST, BACKUP DATA */
};

static const char backup_help[] =
    "usage: halite backup [FLAG]... DATA DEST\n"
    "       halite backup --server ADDRESS [FLAG]... DEST\n\n"
    "Copies a data folder, while the daemon goes on working, to DEST, which\n"
    "must be absent or empty.  All that was acknowledged before is in it.\n"
    "The daemon that uses DATA is found by DATA/LOCK and writes the copy\n"
    "itself; without one the folder is opened.  The copy is called DEST\n"
    "only when it was opened and looked at as by 'halite fsck'; until then\n"
    "it is DEST.partial.\n\n"
    "  --server ADDRESS  ask this daemon (127.0.0.1:4242)\n"
    "  --token FILE      its first line is a token of an administrator;\n"
    "                    or HALITE_TOKEN in the environment\n"
    "  --help            this text\n\n"
    "Exit status: 0 there is a backup; 1 there is none, and why is told;\n"
    "2 asked wrongly.\n";

static const char restore_help[] =
    "usage: halite restore BACKUP DATA\n\n"
    "Copies a backup to DATA, which must be absent or empty, and looks at\n"
    "the copy as 'halite fsck' does before it is called DATA.  No program may\n"
    "use BACKUP meanwhile.\n\n"
    "  --help            this text\n\n"
    "Exit status: 0 done; 1 not, and why is told; 2 asked wrongly.\n";

/* -1: go on; else the exit status. */
static int
backup_parse(int argc, char **argv, const char *help, struct options *o)
{
    static const struct option table[] = {
        { "server", required_argument, NULL, 's' },
        { "token", required_argument, NULL, 't' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int c, want;

    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        if (c == 's') {
            o->server = optarg;
        } else if (c == 't') {
            o->token_file = optarg;
        } else if (c == 'h') {
            (void)fputs(help, stdout);
            return 0;
        } else {
            return 2;
        }
    }
    want = o->server == NULL ? 2 : 1;
    if (argc - optind != want) {
        (void)fputs(help, stderr);
        return 2;
    }
    for (int i = 0; i < want; i++)
        o->words[i + 2 - want] = argv[optind + i];
    return -1;
}

static int
backup_fail(const char *command, const char *why)
{
    (void)fprintf(stderr, "halite %s: %s\n", command, why);
    return 1;
}

static int
done(const char *to, const struct check_counts *n)
{
    (void)printf(
        "%s: %llu names, %llu series, %llu rows of %llu points, "
        "%llu histograms, %llu annotations\n",
        to, (unsigned long long)n->names, (unsigned long long)n->series,
        (unsigned long long)n->rows, (unsigned long long)n->points,
        (unsigned long long)n->histograms, (unsigned long long)n->notes);
    return 0;
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
backup_ask(const char *address, const struct options *o)
{
    char *to = absolute(o->words[1]), *token = ask_token(o->token_file);
    struct buf path = BUF_INIT, body = BUF_INIT;
    struct ask ask;
    struct error e;
    unsigned status = 0;
    int rc = 0;

    buf_put_str(&path, "/api/backup?to=");
    put_escaped(&path, to == NULL ? "" : to);
    ask = (struct ask){ .address = address,
                        .path = buf_cstr(&path),
                        .token = token };
    if (ask_post(&ask, &status, &body, &e) != ST_OK) {
        rc = backup_fail("backup", e.text);
    } else if (status != 200) {
        char message[ASK_MESSAGE_SIZE];

        ask_message(&body, message);
        rc = backup_fail("backup", message);
    } else {
        (void)printf("%s: %s\n", o->words[1], buf_cstr(&body));
    }
    buf_fini(&path);
    buf_fini(&body);
    free(token);
    free(to);
    return rc;
}

static int
copy_idle(const struct options *o)
{
    const struct store_options so = { .dir = o->words[0],
                                      .layout = KEY_LAYOUT_DEFAULT,
                                      .min_free_bytes = 1 };
    struct backup b = { .to = o->words[1] };
    struct store *s = NULL;
    struct format f;
    struct error e, why;
    enum status st = format_read(o->words[0], &f, &e);

    if (st == ST_OK)
        st = store_open(&so, &s, &e);
    if (st == ST_OK)
        st = backup_make(s, &b, &e);
    if (store_close(&s, &why) != ST_OK && st == ST_OK)
        st = error_set(&e, ST_IO, "%s", why.text);
    return st == ST_OK ? done(b.to, &b.counts) : backup_fail("backup", e.text);
}

int
cmd_backup(int argc, char **argv, bool as_tsdb)
{
    struct options o = { 0 };
    char address[FORMAT_NOTE_MAX];
    int rc = backup_parse(argc, argv, backup_help, &o);

    if (rc >= 0)
        return rc;
    log_set_level(LOG_WARN);
    if (o.server != NULL)
        return backup_ask(o.server, &o);
    if (!format_is_locked(o.words[0]))
        return copy_idle(&o);
    format_lock_read(o.words[0], address);
    if (address[0] == '\0')
        return backup_fail("backup",
                           "the folder is in use, and LOCK does not say "
                           "where that daemon listens: see --server");
    return backup_ask(address, &o);
}

int
cmd_restore(int argc, char **argv, bool as_tsdb)
{
    struct options o = { 0 };
    struct backup b = { 0 };
    struct error e;
    int rc = backup_parse(argc, argv, restore_help, &o);

    if (rc >= 0)
        return rc;
    log_set_level(LOG_WARN);
    b.to = o.words[1];
    if (format_is_locked(o.words[0]))
        return backup_fail("restore", "the backup is in use");
    if (backup_restore(o.words[0], &b, &e) != ST_OK)
        return backup_fail("restore", e.text);
    return done(b.to, &b.counts);
}
