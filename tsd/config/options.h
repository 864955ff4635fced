/* The command line of the daemon: our flags, OpenTSDB's flags, and settings as
 * "key=value" words, all of which end up in a struct settings.
 *
 * Threads: one at a time (getopt). */
#pragma once

#include "tsd/config/settings.h"

enum options_action {
    OPTIONS_RUN,
    OPTIONS_HELP,
    OPTIONS_VERSION,
    OPTIONS_HELP_SETTINGS,
    OPTIONS_MARKDOWN, /* the settings, for docs/SETTINGS.md */
};

struct options {
    enum options_action action;
    const char *config_path; /* NULL: no file was read; lent by argv */
    struct settings *settings;
    int argc; /* what it was parsed of: lent */
    char **argv;
    bool as_tsdb;
};

/* argv[0] is the command's word.  A file is read if --config names one or, when
 * called 'as_tsdb', where OpenTSDB looks for one.  On ST_OK and OPTIONS_RUN the
 * settings are checked; options_fini() in any case. */
MUST_CHECK enum status options_parse(int argc, char **argv, bool as_tsdb,
                                     struct options *out, struct error *e);
void options_fini(struct options *o);

/* The same command line, with the file as it is now. */
MUST_CHECK enum status options_parse_again(const struct options *o,
                                           struct options *out,
                                           struct error *e);

void options_print_help(FILE *out);
