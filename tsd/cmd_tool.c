/* The tools on the command line: words to a struct tool, and a store that this
 * process opens for it. */
#include "tsd/commands/commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file/file.h"
#include "base/process/log.h"
#include "base/process/memory.h"
#include "base/mem.h"
#include "base/time/timezone.h"
#include "storage/place/format.h"
#include "storage/place/place.h"
#include "tsd/client/client.h"
#include "tsd/config/memory_settings.h"
#include "tsd/database.h"
#include "tsd/pool.h"
#include "tsd/retention/retention.h"
#include "tsd/tool/run/tool_commands.h"
#include "tsd/tool/run/tool_place.h"
#include "tsd/tool/run/tool_remote.h"

static volatile sig_atomic_t signalled;

static void
note_signal(int number)
{
    signalled = 1;
}

static bool
is_signalled(void *ctx)
{
    return signalled != 0;
}

/* Asks the tool to end; a second Ctrl-C ends it at once.  What was ignored is,
 * as in a shell's background. */
static void
end_in_order(struct tool *t)
{
    struct sigaction act = { .sa_handler = note_signal }, old;

    (void)sigaction(SIGTERM, &act, NULL);
    act.sa_flags = (int)SA_RESETHAND;
    if (sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        (void)sigaction(SIGINT, &act, NULL);
    t->cancel.asked = is_signalled;
}

/* As it was typed, the command's own word first. */
struct command_line {
    const char *const *words;
    size_t len;
};

static bool
write_stream(void *ctx, struct slice bytes)
{
    FILE *f = ctx;

    return fwrite(bytes.data, 1, bytes.size, f) == bytes.size && fflush(f) == 0;
}

/* Where what is printed goes: to stdout, or to the file of 'query --graph',
 * whether the tool runs here or at a server; a failed graph leaves what was
 * there. */
struct output {
    char *path; /* NULL: stdout */
    FILE *file; /* NULL: not open yet */
    int error;  /* errno of opening or writing it; 0: none */
};

static bool
write_output(void *ctx, struct slice bytes)
{
    struct output *o = ctx;

    if (o->file == NULL)
        o->file = fopen(o->path, "we");
    if (o->file != NULL && write_stream(o->file, bytes))
        return true;
    o->error = errno;
    return false;
}

static void
output_open(struct output *o, struct tool *t)
{
    const char *base = NULL;
    int n;

    *o = (struct output){ .file = stdout };
    t->out = (struct tool_sink){ .write = write_output, .ctx = o };
    if (strcmp(t->command->name, "query") == 0)
        base = tool_option(t, "--graph");
    if (base == NULL)
        return;
    n = asprintf(&o->path, "%s.png", base);
    INSIST(n > 0);
    o->file = NULL;
}

/* What was not written makes the command fail, and is told here: the tool is
 * cancelled, and says no more.  Who closed a pipe has read enough. */
static int
output_close(struct output *o, int rc)
{
    if (o->path == NULL)
        clearerr(stdout);
    else if (o->file != NULL && fclose(o->file) != 0 && o->error == 0)
        o->error = errno;
    if (o->error != 0 && o->error != EPIPE)
        (void)fprintf(stderr, "%s: %s\n",
                      o->path == NULL ? "halite: standard output" : o->path,
                      strerror(o->error));
    free(o->path);
    return o->error == 0 ? rc : TOOL_FAILED;
}

/* OpenTSDB's file, or the one that is named; as OpenTSDB does, its tools
 * create no metrics unless they are told to. */
static enum status
read_settings(struct settings *s, const struct tool_args *a, bool as_tsdb,
              struct error *e)
{
    const char *path = tool_args_get(a, "--config");
    enum status st = ST_OK;

    if (as_tsdb)
        settings_set(s, "tsd.core.auto_create_metrics", "false");
    if (path != NULL && *path == '\0')
        path = NULL; /* as if it were not there */
    if (path != NULL && access(path, R_OK) != 0)
        return error_set(e, ST_IO, "%s (%s)", path, strerror(errno));
    if (path == NULL)
        path = settings_default_path();
    if (path != NULL)
        st = settings_load(s, path, e);
    if (st == ST_OK)
        st = settings_check(s, e);
    if (st == ST_OK)
        memory_settings_fit(s, memory_limit());
    return st;
}

/* A command that only reads makes no store where there is none. */
static bool
is_nothing_there(const struct tool *t, const char *store)
{
    char address[POOL_ADDRESS_MAX];
    struct place place;
    const char *creates = t->command->creates;
    struct format f;

    if (creates != NULL &&
        (*creates == '\0' ||
         (t->args->len > 0 && strcmp(t->args->words[0], creates) == 0)))
        return false;
    if (place_parse(store, &place, NULL) != ST_OK)
        return false; /* opening it tells why */
    if (place.kind == PLACE_POOL)
        return pool_find_server(place.at, address, NULL) == ST_NOT_FOUND;
    return place.kind == PLACE_FOLDER &&
           format_read(place.at, &f, NULL) == ST_NOT_FOUND;
}

static int
run_here(struct tool *t, struct settings *s, const char *store)
{
    struct database d = { 0 };
    struct error e, why;
    int rc = TOOL_FAILED;
    enum status st;

    settings_set(s, "halite.store", store);
    store = s->store;
    if (is_nothing_there(t, store))
        return tool_fail(t,
                         "%s: there is no store; --store=PLACE names another "
                         "one, --server=ADDRESS a server",
                         store);
    st = database_open(&d, s, &e);
    if (st == ST_OK && (t->command->flags & TOOL_AT_CLIENT) != 0) {
        end_in_order(t);
        st = retention_open(s, d.api.store, d.api.uids, d.api.clock,
                            &d.api.retention, &e);
        if (st == ST_OK)
            retention_check_puts(d.api.retention);
    }
    if (st == ST_OK) {
        t->api = &d.api;
        rc = tool_run(t);
        t->api = NULL;
        if (pool_leave(&d.pool, &why) != ST_OK)
            log_warn("cluster", "left badly: %s", why.text);
    } else {
        tool_say(t, "%s", e.text);
    }
    retention_close(&d.api.retention);
    if (database_close(&d, &why) != ST_OK)
        rc = tool_fail(t, "%s", why.text);
    return rc;
}

static int
run_at_server(struct tool *t, const char *address, bool is_found,
              const struct command_line *c, const char *zone_name)
{
    struct client_options o = {
        .address = address,
        .token_file = tool_option(t, "--token"),
        .cacert = tool_option(t, "--cacert"),
    };
    struct client *remote;
    struct error e;
    int rc;

    if (o.cacert == NULL && is_found) /* a member speaks for its pool */
        o.cacert = t->settings->cluster_ca;
    if (client_open(&o, &remote, &e) != ST_OK)
        return tool_fail(t, "%s", e.text);
    if ((t->command->flags & TOOL_AT_CLIENT) != 0) {
        end_in_order(t);
        t->remote = remote;
        rc = tool_run(t);
    } else {
        rc = tool_remote_run(remote, t, c->words, c->len, zone_name);
    }
    client_close(&remote);
    return rc;
}

/* Reads the settings, and finds the store or the server that has it. */
static enum status
find_place(struct tool *t, struct settings *s, struct tool_place *place,
           char address[FORMAT_NOTE_MAX], struct error *e)
{
    struct place at = { .kind = PLACE_FOLDER };
    enum status st = read_settings(s, t->args, t->as_tsdb, e);

    if (st == ST_OK)
        st = tool_place_find(t->args, s, place, e);
    if (st == ST_OK)
        st = timezone_find(slice_str(tool_zone_name(s)), &t->zone, e);
    if (st != ST_OK || place->server != NULL)
        return st;
    address[0] = '\0';
    st = place_parse(place->store, &at, e);
    if (st == ST_OK && at.kind == PLACE_FOLDER)
        st = tool_place_server(at.at, address, e);
    else if (st == ST_OK && at.kind == PLACE_POOL)
        st = pool_find_server(at.at, address, e);
    place->server = address[0] == '\0' ? NULL : address;
    /* A pool without a store is for the tool to tell. */
    return st == ST_NOT_FOUND && at.kind == PLACE_POOL ? ST_OK : st;
}

static int
run_words(struct tool *t, struct settings *s, const struct command_line *c)
{
    struct tool_place place;
    char address[FORMAT_NOTE_MAX];
    struct error e;
    int rc = tool_check(t);

    if (rc != 0)
        return rc;
    log_set_level(LOG_ERROR);
    if (find_place(t, s, &place, address, &e) != ST_OK)
        return tool_fail(t, "%s", e.text);
    log_set_level(tool_is_verbose(t) ? LOG_INFO : LOG_WARN);
    if (place.server != NULL)
        return run_at_server(t, place.server, place.server == address, c,
                             tool_zone_name(s));
    return run_here(t, s, place.store);
}

int
cmd_tool(int argc, char **argv, bool as_tsdb)
{
    struct tool_args args;
    struct tool t = {
        .command = tool_command_find(argv[0]),
        .args = &args,
        .as_tsdb = as_tsdb,
        .err = { .write = write_stream, .ctx = stderr },
    };
    const struct command_line line = { (const char *const *)argv,
                                       (size_t)argc };
    struct settings *s = settings_new();
    struct buf help = BUF_INIT;
    struct output output;
    struct error e;
    int rc = 0;

    (void)signal(SIGPIPE, SIG_IGN); /* the tool ends in order */
    t.settings = s;
    if (tool_args_parse(&args, t.command->options, tool_common_options,
                        line.len - 1, line.words + 1, &e) != ST_OK) {
        (void)fprintf(stderr, "Invalid usage.  %s\n", e.text);
        rc = TOOL_USAGE;
    } else if (tool_args_get(&args, "--help") != NULL) {
        tool_describe(t.command, &help);
        (void)write_stream(stdout, buf_slice(&help));
    } else {
        output_open(&output, &t);
        rc = output_close(&output, run_words(&t, s, &line));
    }
    buf_fini(&help);
    tool_args_fini(&args);
    settings_free(&s);
    return rc;
}
