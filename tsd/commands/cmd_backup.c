/* 'halite backup' and 'halite restore'. */
#include "tsd/commands/commands.h"

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
#include "tsd/tool/run/tool_place.h"
#include "web/json/json.h"

static const struct tool_option backup_options[] = {
    { "--server", "ADDRESS", "Ask this server: HOST:PORT or https://.." },
    { "--token", "FILE",
      "Its first line is a token, or NAME:PASSWORD, of an administrator; or "
      "HALITE_TOKEN in the environment." },
    { "--cacert", "FILE", "Certificates (PEM) that servers may have." },
    { 0 },
};

static const struct command_help backup_help = {
    .usage = "backup [FLAG]... PLACE DEST\n"
             "       halite backup --store PLACE [FLAG]... DEST\n"
             "       halite backup --server ADDRESS [FLAG]... DEST\n\n"
             "Copies a store, while its servers go on working, to the folder\n"
             "DEST, which must be absent or empty.  All that was acknowledged\n"
             "before is in it.  Of a folder the server that uses it is found\n"
             "by its file LOCK, and writes the copy itself; without one the\n"
             "folder is opened.  A pool,\n"
             "rados:POOL[/NAMESPACE][?conf=FILE&id=NAME], is copied by this\n"
             "process. The copy is called DEST only when it was opened and\n"
             "looked at as by 'halite fsck'; until then it is DEST.partial.\n",
    .options = backup_options,
    .end = "\nExit status: 0 there is a backup; 1 there is none, and why is\n"
           "told; 2 asked wrongly.\n",
    .words = 2,
    .place = 1,
    .at_server = true,
};

static const struct command_help restore_help = {
    .usage =
        "restore BACKUP PLACE\n"
        "       halite restore --store PLACE BACKUP\n\n"
        "Copies a backup to PLACE, a folder that is absent or empty or an\n"
        "empty namespace of a pool\n"
        "(rados:POOL[/NAMESPACE][?conf=FILE&id=NAME]), and looks at the\n"
        "copy as 'halite fsck' does before it is a store.  In a pool it\n"
        "has 64 salt buckets; 'halite copy' makes others.  No program may\n"
        "use BACKUP meanwhile.\n",
    .end = "\nExit status: 0 done; 1 not, and why is told; 2 asked wrongly.\n",
    .words = 2,
    .place = 2,
};

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

static uint64_t
count_of(const json_t *answer, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(answer, name));
}

/* Lets the server write the copy. */
static enum status
backup_ask(const struct client_options *o, const char *dest,
           struct check_counts *n, struct error *e)
{
    char *to = absolute(dest);
    struct buf path = BUF_INIT, answer = BUF_INIT;
    struct client *c;
    enum status st = client_open(o, &c, e);

    buf_put_str(&path, "/api/backup?to=");
    for (const char *p = to == NULL ? "" : to; *p != '\0'; p++)
        buf_printf(&path, "%%%02x", (uint8_t)*p);
    if (st == ST_OK)
        st = client_post(c, buf_cstr(&path), "text/plain", slice_str(""),
                         &answer, e);
    if (st == ST_OK) {
        /* What /api/backup answers, as this process would have counted it. */
        json_t *json = NULL;

        st = json_parse(buf_slice(&answer), SIZE_MAX, &json, e);
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
    }
    client_close(&c);
    buf_fini(&path);
    buf_fini(&answer);
    free(to);
    return st;
}

int
cmd_backup(int argc, char **argv, bool as_tsdb)
{
    struct client_options o = { 0 };
    struct backup b = { 0 };
    struct tool_args a;
    struct place from = { 0 };
    struct error e;
    char address[FORMAT_NOTE_MAX] = "";
    enum status st = ST_OK;
    int rc = command_read(&backup_help, argc, argv, &a);

    if (rc >= 0)
        return rc;
    log_set_level(LOG_WARN);
    o.address = tool_args_get(&a, "--server");
    o.token_file = tool_args_get(&a, "--token");
    o.cacert = b.ca = tool_args_get(&a, "--cacert");
    b.to = (struct place){ PLACE_FOLDER, a.words[1] };
    if (o.address == NULL) {
        st = place_parse(a.words[0], &from, &e);
        if (st == ST_OK && from.kind == PLACE_FOLDER)
            st = tool_place_server(from.at, address, &e);
        if (address[0] != '\0')
            o.address = address;
    }
    if (st == ST_OK)
        st = o.address != NULL ? backup_ask(&o, a.words[1], &b.counts, &e)
                               : backup_idle(&from, &b, &e);
    if (st == ST_OK)
        backup_report(a.words[1], &b.counts);
    tool_args_fini(&a);
    return st == ST_OK ? 0 : command_fail("backup", e.text);
}

int
cmd_restore(int argc, char **argv, bool as_tsdb)
{
    struct backup b = { 0 };
    struct tool_args a;
    struct error e;
    enum status st;
    int rc = command_read(&restore_help, argc, argv, &a);

    if (rc >= 0)
        return rc;
    log_set_level(LOG_WARN);
    st = format_is_locked(a.words[0])
             ? error_set(&e, ST_BUSY, "the backup is in use")
             : place_parse(a.words[1], &b.to, &e);
    if (st == ST_OK)
        st = backup_restore(a.words[0], &b, &e);
    if (st == ST_OK)
        backup_report(a.words[1], &b.counts);
    tool_args_fini(&a);
    return st == ST_OK ? 0 : command_fail("restore", e.text);
}
