/* See tsd/config/options.h.  One table of flags makes getopt's array, the
 * settings and the help. */
#include "tsd/config/options.h"

#include <getopt.h>

#include <stdlib.h>

#include "base/process/log.h"
#include "base/process/memory.h"
#include "base/mem.h"
#include "tsd/config/memory_settings.h"

struct flag {
    const char *name;
    const char *argument; /* how the help calls it; NULL: it takes none */
    const char *key;      /* the setting; NULL: the file or the action */
    const char *value;    /* what a flag without an argument sets */
    const char *off;  /* the same with the value false; NULL: it takes none */
    const char *text; /* NULL: OpenTSDB's, without effect here */
};

static const struct flag flags[] = {
    { "port", "PORT", "tsd.network.port", NULL, NULL,
      "port for HTTP and telnet (4242); 0 takes a free one" },
    { "bind", "ADDR", "tsd.network.bind", NULL, NULL,
      "address to listen on (0.0.0.0)" },
    { "data", "DIR", "halite.store", NULL, NULL,
      "the store's folder (/var/lib/halite)" },
    { "store", "PLACE", "halite.store", NULL, NULL,
      "the same, or memory, or rados:POOL[/NAMESPACE], a Ceph cluster's" },
    { "memory", NULL, "halite.store", "memory", NULL,
      "no folder: keep all in memory" },
    { "config", "FILE", NULL, NULL, NULL,
      "settings, in OpenTSDB's form (key = value)" },
    { "sync", "HOW", "halite.sync", NULL, NULL,
      "when the WAL goes to the disk: always, interval or off" },
    { "verbose", NULL, "halite.log.level", "debug", NULL, "log each request" },
    { "help", NULL, NULL, NULL, NULL, "this text" },
    { "help-settings", NULL, NULL, NULL, NULL, "all settings" },
    { "version", NULL, NULL, NULL, NULL, "the version" },
    { "auto-metric", NULL, "tsd.core.auto_create_metrics", "true", "false",
      "create metrics that points name (the default)" },
    { "read-only", NULL, "tsd.mode", "ro", "rw", "serve only what reads" },
    { "disable-ui", NULL, "tsd.core.enable_ui", "false", "true",
      "serve nothing outside /api" },
    { "disable-api", NULL, "tsd.core.enable_api", "false", "true",
      "serve no /api" },
    { "max-connections", "N", "tsd.core.connections.limit", NULL, NULL,
      "most connections at a time" },
    { "backlog", "N", "tsd.network.backlog", NULL, NULL,
      "connections that the kernel queues" },
    { "staticroot", "DIR", "tsd.http.staticroot", NULL, NULL,
      "folder to serve below /s/" },
    { "statswport", NULL, "tsd.core.stats_with_port", "true", "false",
      "tag our own statistics with the port" },
    { "help-markdown", NULL, NULL, NULL, NULL, NULL },
    { "zkquorum", "HOSTS", "tsd.storage.hbase.zk_quorum", NULL, NULL, NULL },
    { "zkbasedir", "PATH", "tsd.storage.hbase.zk_basedir", NULL, NULL, NULL },
    { "table", "TABLE", "tsd.storage.hbase.data_table", NULL, NULL, NULL },
    { "uidtable", "TABLE", "tsd.storage.hbase.uid_table", NULL, NULL, NULL },
    { "cachedir", "DIR", "tsd.http.cachedir", NULL, NULL, NULL },
    { "worker-threads", "N", "tsd.network.worker_threads", NULL, NULL, NULL },
    { "async-io", "BOOL", "tsd.network.async_io", NULL, NULL, NULL },
    { "flush-interval", "MS", "tsd.storage.flush_interval", NULL, NULL, NULL },
};
#define FLAGS_LEN (sizeof flags / sizeof flags[0])

static const char *const action_flags[] = {
    [OPTIONS_HELP] = "help",
    [OPTIONS_VERSION] = "version",
    [OPTIONS_HELP_SETTINGS] = "help-settings",
    [OPTIONS_MARKDOWN] = "help-markdown",
};

/* A setting of the command line, which is applied after those of the file. */
struct override {
    const struct flag *flag;
    const char *value;
};

/* What a flag sets; OpenTSDB's flags for yes or no may have a value, behind a
 * '=' or as the next word.  NULL: it is neither true nor false. */
static const char *
flag_value(const struct flag *f, int argc, char **argv)
{
    const char *value = optarg;
    bool on;

    if (f->argument != NULL)
        return optarg;
    if (f->off != NULL && value == NULL && optind < argc &&
        (strcmp(argv[optind], "true") == 0 ||
         strcmp(argv[optind], "false") == 0))
        value = argv[optind++];
    if (value == NULL)
        return f->value;
    if (settings_parse_bool(value, &on))
        return on ? f->value : f->off;
    (void)fprintf(stderr, "halite tsd: --%s=%s: must be true or false\n",
                  f->name, log_quote(slice_str(value)));
    return NULL;
}

static bool
collect(int argc, char **argv, struct options *o, struct override *overrides,
        size_t *len)
{
    static const struct flag verbose = { .key = "halite.log.level",
                                         .value = "debug",
                                         .text = "" };
    struct option table[FLAGS_LEN + 1] = { 0 };
    int at = 0, c;

    for (size_t i = 0; i < FLAGS_LEN; i++)
        table[i] = (struct option){
            .name = flags[i].name,
            .has_arg = flags[i].argument != NULL ? required_argument
                       : flags[i].off != NULL    ? optional_argument
                                                 : no_argument,
            .val = 1,
        };
    optind = 0; /* glibc: start anew */
    while ((c = getopt_long(argc, argv, "vh", table, &at)) != -1) {
        const struct flag *f = c == 'v' ? &verbose : &flags[at];

        if (c == '?')
            return false;
        if (c == 'h')
            o->action = OPTIONS_HELP;
        else if (f->key != NULL) {
            const char *value = flag_value(f, argc, argv);

            if (value == NULL)
                return false;
            overrides[(*len)++] = (struct override){ f, value };
        } else if (f->argument != NULL)
            o->config_path = optarg;
        else
            for (unsigned i = OPTIONS_HELP; i <= OPTIONS_MARKDOWN; i++)
                if (strcmp(f->name, action_flags[i]) == 0)
                    o->action = i;
    }
    return true;
}

/* The file, then flags, then words. */
static enum status
apply(int argc, char **argv, struct options *o,
      const struct override *overrides, size_t len, struct error *e)
{
    enum status st = ST_OK;

    if (o->config_path != NULL)
        st = settings_load(o->settings, o->config_path, e);
    for (size_t i = 0; i < len; i++)
        settings_set(o->settings, overrides[i].flag->key, overrides[i].value);
    for (int i = optind; i < argc && st == ST_OK; i++)
        st = settings_set_word(o->settings, argv[i], e);
    if (st == ST_OK)
        st = settings_check(o->settings, e);
    if (st == ST_OK)
        memory_settings_fit(o->settings, memory_limit());
    return st;
}

enum status
options_parse(int argc, char **argv, bool as_tsdb, struct options *out,
              struct error *e)
{
    struct override *overrides =
        mem_new_array((size_t)argc + 1, sizeof *overrides);
    size_t len = 0;
    enum status st = ST_OK;

    *out = (struct options){
        .settings = settings_new(),
        .argc = argc,
        .argv = argv,
        .as_tsdb = as_tsdb,
    };
    if (!collect(argc, argv, out, overrides, &len))
        st = error_set(e, ST_INVALID, "see --help");
    if (out->config_path != NULL && *out->config_path == '\0')
        out->config_path = NULL; /* as if it were not there */
    if (out->config_path == NULL && as_tsdb)
        out->config_path = settings_default_path();
    if (st == ST_OK && out->action == OPTIONS_RUN)
        st = apply(argc, argv, out, overrides, len, e);
    free(overrides);
    return st;
}

enum status
options_parse_again(const struct options *o, struct options *out,
                    struct error *e)
{
    return options_parse(o->argc, o->argv, o->as_tsdb, out, e);
}

void
options_fini(struct options *o)
{
    settings_free(&o->settings);
}

void
options_print_help(FILE *out)
{
    (void)fputs("usage: halite tsd [FLAG]... [SETTING=VALUE]...\n\n", out);
    for (size_t i = 0; i < FLAGS_LEN; i++) {
        const struct flag *f = &flags[i];
        char left[40];

        if (f->text == NULL)
            continue;
        (void)snprintf(left, sizeof left, "--%s%s%s", f->name,
                       f->argument == NULL ? "" : "=",
                       f->argument == NULL ? "" : f->argument);
        (void)fprintf(out, "  %-22s  %s\n", left, f->text);
    }
    (void)fputs("\nWith true or false, too, behind a '=' or as the next word:",
                out);
    for (size_t i = 0; i < FLAGS_LEN; i++)
        if (flags[i].off != NULL)
            (void)fprintf(out, " --%s", flags[i].name);
    (void)fputs("\nOpenTSDB's, accepted without effect:", out);
    for (size_t i = 0; i < FLAGS_LEN; i++)
        if (flags[i].text == NULL && flags[i].key != NULL)
            (void)fprintf(out, " --%s", flags[i].name);
    (void)fputs("\n", out);
}
