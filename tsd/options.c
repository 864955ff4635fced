/* See tsd/options.h.  One table of flags makes getopt's array, the settings and
 * the help. */
#include "config.h"

#include "tsd/options.h"

#include <getopt.h>

#include "base/log.h"
#include "query/numbers/timezone.h"

struct flag {
    const char *name;
    const char *argument; /* how the help calls it; NULL: it takes none */
    const char *key;      /* the setting; NULL: see act() */
    const char *value;    /* what a flag without an argument sets */
    const char *text;     /* NULL: OpenTSDB's, without a meaning here */
};

static const struct flag flags[] = {
    { "port", "PORT", "tsd.network.port", NULL,
      "port for HTTP and telnet (4242); 0 takes a free one" },
    { "bind", "ADDR", "tsd.network.bind", NULL,
      "address to listen on (0.0.0.0)" },
    { "data", "DIR", "halite.data", NULL,
      "the store's folder (/var/lib/halite)" },
    { "memory", NULL, "halite.memory", "true",
      "no folder: keep all in memory" },
    { "config", "FILE", NULL, NULL,
      "settings, in OpenTSDB's form (key = value)" },
    { "sync", "HOW", "halite.sync", NULL,
      "when the journal goes to the disk: always, interval or off" },
    { "verbose", NULL, "halite.log.level", "debug", "log each request" },
    { "help", NULL, NULL, NULL, "this text" },
    { "help-settings", NULL, NULL, NULL, "all settings" },
    { "version", NULL, NULL, NULL, "the version" },
    { "auto-metric", NULL, "tsd.core.auto_create_metrics", "true",
      "create metrics that points name (the default)" },
    { "read-only", NULL, "tsd.mode", "ro", "serve only what reads" },
    { "disable-ui", NULL, "tsd.core.enable_ui", "false",
      "serve nothing outside /api" },
    { "disable-api", NULL, "tsd.core.enable_api", "false", "serve no /api" },
    { "max-connections", "N", "tsd.core.connections.limit", NULL,
      "most connections at a time" },
    { "backlog", "N", "tsd.network.backlog", NULL,
      "connections that the kernel queues" },
    { "staticroot", "DIR", "tsd.http.staticroot", NULL,
      "folder to serve below /s/" },
    { "statswport", NULL, "tsd.core.stats_with_port", "true",
      "tag our own statistics with the port" },
    { "help-markdown", NULL, NULL, NULL, NULL },
    { "zkquorum", "HOSTS", "tsd.storage.hbase.zk_quorum", NULL, NULL },
    { "zkbasedir", "PATH", "tsd.storage.hbase.zk_basedir", NULL, NULL },
    { "table", "TABLE", "tsd.storage.hbase.data_table", NULL, NULL },
    { "uidtable", "TABLE", "tsd.storage.hbase.uid_table", NULL, NULL },
    { "cachedir", "DIR", "tsd.http.cachedir", NULL, NULL },
    { "worker-threads", "N", "tsd.network.worker_threads", NULL, NULL },
    { "async-io", "BOOL", "tsd.network.async_io", NULL, NULL },
    { "flush-interval", "MS", "tsd.storage.flush_interval", NULL, NULL },
};
#define FLAGS_LEN (sizeof flags / sizeof flags[0])

static void
act(struct options *o, const struct flag *f)
{
    if (strcmp(f->name, "config") == 0)
        o->config_path = optarg;
    else if (strcmp(f->name, "help") == 0)
        o->action = OPTIONS_HELP;
    else if (strcmp(f->name, "help-settings") == 0)
        o->action = OPTIONS_HELP_SETTINGS;
    else if (strcmp(f->name, "help-markdown") == 0)
        o->action = OPTIONS_MARKDOWN;
    else
        o->action = OPTIONS_VERSION;
}

static void
set(struct options *o, const struct flag *f)
{
    if (f->text == NULL)
        log_warn("settings", "--%s is OpenTSDB's and has no effect here",
                 f->name);
    settings_set(o->settings, f->key, f->argument == NULL ? f->value : optarg);
}

/* One run over the flags.  The file must be read before the settings are set,
 * and its name is a flag: hence two runs, the first for the file and for what
 * is not a setting, the second for the settings. */
static bool
run(int argc, char **argv, bool settings, struct options *o)
{
    struct option table[FLAGS_LEN + 1] = { 0 };
    int at = 0, c;

    for (size_t i = 0; i < FLAGS_LEN; i++)
        table[i] = (struct option){
            .name = flags[i].name,
            .has_arg =
                flags[i].argument == NULL ? no_argument : required_argument,
            .val = 1,
        };
    optind = 0; /* glibc: start anew */
    opterr = !settings;
    while ((c = getopt_long(argc, argv, "vh", table, &at)) != -1) {
        if (c == '?')
            return false;
        if (c == 'h') {
            o->action = OPTIONS_HELP;
        } else if (c == 'v') {
            if (settings)
                settings_set(o->settings, "halite.log.level", "debug");
        } else if (flags[at].key == NULL) {
            act(o, &flags[at]);
        } else if (settings) {
            set(o, &flags[at]);
        }
    }
    return true;
}

static enum status
check(const struct settings *s, struct error *e)
{
    const struct timezone *zone;
    enum status st = settings_check(s, e);

    if (st != ST_OK || !settings_has(s, "tsd.core.timezone"))
        return st;
    st = timezone_find(slice_str(settings_text(s, "tsd.core.timezone")), &zone,
                       e);
    return st == ST_OK ? ST_OK : error_wrap(e, st, "tsd.core.timezone");
}

enum status
options_parse(int argc, char **argv, bool as_tsdb, struct options *out,
              struct error *e)
{
    *out = (struct options){ .settings = settings_new() };
    if (!run(argc, argv, false, out))
        return error_set(e, ST_INVALID, "see --help");
    if (out->action != OPTIONS_RUN)
        return ST_OK;
    if (out->config_path == NULL && as_tsdb)
        out->config_path = settings_default_path();
    if (out->config_path != NULL) {
        enum status st = settings_load(out->settings, out->config_path, e);

        if (st != ST_OK)
            return st;
    }
    (void)run(argc, argv, true, out);
    for (int i = optind; i < argc; i++) {
        enum status st = settings_set_word(out->settings, argv[i], e);

        if (st != ST_OK)
            return st;
    }
    return check(out->settings, e);
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
    (void)fputs("\nTaken without effect, for OpenTSDB's sake:", out);
    for (size_t i = 0; i < FLAGS_LEN; i++)
        if (flags[i].text == NULL && flags[i].key != NULL)
            (void)fprintf(out, " --%s", flags[i].name);
    (void)fputs("\n", out);
}
