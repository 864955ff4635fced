/* 'uid fsck': do names and ids lead to each other? */
#include "tsd/tool/names/tool_uid_priv.h"

#include <stdlib.h>

#include "tsd/tool/points/tool_fsck.h"
#include "uid/fsck/uid_fsck.h"

#define ERRORS_MAX 255 /* an exit status */

int
tool_uid_fsck(struct tool *t)
{
    struct fsck_report report = tool_fsck_report(t);
    struct check c = { .say = fsck_report_finding, .ctx = &report };
    struct check_counts n;
    char *aside = NULL;
    struct error e;
    enum status st;
    bool fix = false;

    /* OpenTSDB's passes over words that are neither of the two. */
    for (size_t i = 1; i < tool_words(t); i++)
        if (slice_eq_str(tool_word(t, i), "fix"))
            fix = true;
        else if (!t->as_tsdb &&
                 !slice_eq_str(tool_word(t, i), "delete_unknown"))
            return tool_usage(t, "Unknown words behind 'fsck'");
    if (fix && (aside = tool_fsck_aside(t)) == NULL)
        return TOOL_FAILED;
    c.aside = aside;
    st = check_uids(t->api->store, &c, &n, &e);
    free(aside);
    if (st != ST_OK)
        return tool_fail(t, "%s", e.text);
    if (tool_is_verbose(t))
        tool_say(t, "%llu names and ids looked at",
                 (unsigned long long)n.names);
    if (c.found > 0)
        tool_say(t, "%llu errors found.", (unsigned long long)c.found);
    else if (tool_is_verbose(t))
        tool_say(t, "No errors found.");
    return c.found < ERRORS_MAX ? (int)c.found : ERRORS_MAX;
}
