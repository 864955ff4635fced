/* The arguments of the commands of this room, and their help. */
#include "tsd/commands/commands.h"

#include <stdio.h>
#include <string.h>

static const struct tool_option help_options[] = {
    { "--help", NULL, "This text." },
    { 0 },
};

static const struct tool_option place_options[] = {
    { "--store", "PLACE", "The store: DIR or rados:POOL[/NAMESPACE]." },
    { "--data", "DIR", "Short for it." },
    { "--help", NULL, "This text." },
    { 0 },
};

/* Inserts the place that an option names among the words. */
static bool
insert_place(const struct command_help *h, const char *command,
             struct tool_args *a)
{
    const char *store = tool_args_get(a, "--store");
    const char *data = tool_args_get(a, "--data");
    const char *server = h->at_server ? tool_args_get(a, "--server") : NULL;
    size_t at = h->place - 1;

    if (store != NULL && data != NULL) {
        (void)fprintf(stderr, "halite %s: two stores, %s and %s\n", command,
                      store, data);
        return false;
    }
    if (server != NULL && (store != NULL || data != NULL)) {
        (void)fprintf(stderr,
                      "halite %s: --store and --server exclude another\n",
                      command);
        return false;
    }
    if (a->len < at || (store == NULL && data == NULL && server == NULL))
        return true;
    memmove(a->words + at + 1, a->words + at,
            (a->len++ - at) * sizeof *a->words);
    a->words[at] = store != NULL ? store : data;
    return true;
}

int
command_read(const struct command_help *h, int argc, char **argv,
             struct tool_args *a)
{
    const struct tool_option *common =
        h->place > 0 ? place_options : help_options;
    struct buf text = BUF_INIT;
    struct error e;
    int rc = 2;

    buf_printf(&text, "usage: halite %s\n", h->usage);
    tool_args_describe(h->options, common, &text);
    buf_printf(&text, "%s", h->end == NULL ? "" : h->end);
    if (tool_args_parse(a, h->options, common, (size_t)argc - 1,
                        (const char *const *)argv + 1, &e) != ST_OK) {
        (void)fprintf(stderr, "halite %s: %s\n", argv[0], e.text);
    } else if (tool_args_get(a, "--help") != NULL) {
        (void)fputs(buf_cstr(&text), stdout);
        rc = 0;
    } else if (h->place == 0 || insert_place(h, argv[0], a)) {
        rc = a->len == h->words ? -1 : 2;
        if (rc == 2)
            (void)fputs(buf_cstr(&text), stderr);
    }
    buf_fini(&text);
    if (rc >= 0)
        tool_args_fini(a);
    return rc;
}

int
command_fail(const char *command, const char *why)
{
    (void)fprintf(stderr, "halite %s: %s\n", command, why);
    return 1;
}
