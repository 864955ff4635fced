#include "tsd/tool/run/tool_commands.h"

#include <string.h>

static const struct tool_option uid_options[] = {
    { "--idwidth", "N", "Bytes of an id (those of the store)." },
    { "--ignore-case", NULL, "grep: upper and lower case are the same." },
    { "-i", NULL, "Short for --ignore-case." },
    { 0 },
};

static const struct tool_option mkmetric_options[] = {
    { "--idwidth", "N", "OpenTSDB's, without effect." },
    { "--ignore-case", NULL, "OpenTSDB's, without effect." },
    { "-i", NULL, "OpenTSDB's, without effect." },
    { 0 },
};

static const struct tool_option import_options[] = {
    { "--auto-metric", NULL,
      "Give new metrics ids (as halite always; tsdb refuses them)." },
    { "--skip-errors", NULL, "Bad lines are no failure." },
    { "--rejects", "FILE", "Append bad lines to this file." },
    { "--json", NULL, "Lines are JSON, as 'scan --json' prints them." },
    { "--from", "URL", "Copy a server (OpenTSDB's API) in place of files." },
    { "--since", "TIME", "With --from: not what is older (1970)." },
    { "--until", "TIME", "With --from: not what is newer (now)." },
    { "--only", "PARTS",
      "With --from: names,trees,metadata,annotations,points,histograms." },
    { "--metrics", "PATTERN",
      "With --from: metrics like this alone ('*': any text)." },
    { "--threads", "N", "Files at once (one a CPU)." },
    { 0 },
};

static const struct tool_option scan_options[] = {
    { "--import", NULL, "Print lines for 'import'." },
    { "--delete", NULL, "Print them, and delete whole hours." },
    { "--json", NULL, "All that is stored, for 'import --json'." },
    { 0 },
};

static const struct tool_option purge_options[] = {
    { "--dry-run", NULL, "Change nothing: tell what would be forgotten." },
    { "--unused-names", NULL,
      "Also names that no series ever had, as those of mkmetric." },
    { 0 },
};

static const struct tool_option query_options[] = {
    { "--exact", NULL, "Only what lies in the range (as halite always)." },
    { "--whole-hours", NULL,
      "Whole hours that the range touches (as tsdb always)." },
    { "--graph", "BASEPATH", "Draw, into BASEPATH.png, and print nothing." },
    { 0 },
};

static const struct tool_option fsck_options[] = {
    { "--full-scan", NULL, "Look at all that is stored." },
    { "--fix", NULL, "Repair, with the flags that say what." },
    { "--fix-all", NULL, "Repair all that can be repaired." },
    { "--compact", NULL, "OpenTSDB's, without effect." },
    { "--delete-bad-compacts", NULL, "Repair blocks that do not decode." },
    { "--delete-bad-rows", NULL, "Repair rows with invalid keys." },
    { "--delete-bad-values", NULL, "Repair blocks that do not decode." },
    { "--delete-orphans", NULL,
      "Delete rows of names that were deleted, and all that is theirs." },
    { "--delete-unknown-columns", NULL, "Repair what belongs to no table." },
    { "--last-write-wins", NULL, "OpenTSDB's; it always does." },
    { "--resolve-duplicates", NULL, "OpenTSDB's; there are none." },
    { "--sync", NULL, "OpenTSDB's, without effect." },
    { "--threads", "N", "OpenTSDB's, without effect." },
    { 0 },
};

static const struct tool_option search_options[] = {
    { "--use-data-table", NULL, "OpenTSDB's, without effect." },
    { 0 },
};

const struct tool_command tool_commands[] = {
    { "fsck", 0, NULL,
      "fsck [FLAG]... --full-scan\n"
      "       fsck [FLAG]... [START [END] QUERY...]\n"
      "Verifies what is stored, and reports as 'halite fsck' does.  What a\n"
      "repair takes out of the store goes to its folder's aside-DATE.\n",
      fsck_options, tool_fsck_check, tool_fsck },
    { "import", TOOL_AT_CLIENT, "",
      "import FILE...                 ('-': standard input)\n"
      "       import --from http://OLD:4242  (all that its API tells)\n"
      "Files may be packed by gzip, xz or zstd.  A line is a point:\n"
      "METRIC TIME VALUE TAGK=TAGV...\n",
      import_options, tool_import_check, tool_import },
    { "mkmetric", 0, "",
      "mkmetric NAME...\n"
      "The same as 'uid assign metrics NAME...'.\n",
      mkmetric_options, tool_mkmetric_check, tool_mkmetric },
    { "purge", 0, NULL,
      "purge [--dry-run] [METRIC]...\n"
      "Forgets series without points, histograms and annotations, and names\n"
      "that only they had.  A METRIC may have stars: 'debug.*'; without one\n"
      "all are looked at.  Ids are not used again.\n",
      purge_options, NULL, tool_purge },
    { "query", TOOL_READS, NULL,
      "query START [END] QUERY...\n"
      "QUERY: FUNC [rate [counter[,MAX[,RESET]]]] [downsample MS FUNC]\n"
      "       METRIC [TAGK=FILTER]...\n"
      "Prints 'METRIC MS VALUE {TAGS}' for each point.  Times: 1h-ago,\n"
      "2013/01/01-00:00:00, seconds or ms.  FILTER: a value, a|b, *, web*,\n"
      "regexp(x) ... as in a server's queries; each one groups.\n",
      query_options, tool_query_check, tool_query },
    { "scan", TOOL_READS, NULL,
      "scan [--import|--delete] START [END] QUERY...\n"
      "       scan --import|--json           the whole store\n"
      "A QUERY is FUNC METRIC [TAGK=FILTER...], as that of 'query'; its hours\n"
      "are printed whole.\n",
      scan_options, tool_scan_check, tool_scan },
    { "search", TOOL_READS, NULL,
      "search lookup [METRIC] [TAGK=TAGV|TAGK=|=TAGV]...\n"
      "Prints the series that have the metric and the tags, a line each:\n"
      "TSUID METRIC TAGK=TAGV...\n"
      "'*' stands for any name.\n",
      search_options, tool_search_check, tool_search },
    { "uid", 0, "assign",
      "uid [KIND] NAME|ID             the id of a name, the name of an id\n"
      "       uid grep [KIND] REGEXP         names that match\n"
      "       uid assign KIND NAME...        give names ids\n"
      "       uid rename KIND NAME NEWNAME   the id keeps its points\n"
      "       uid delete KIND NAME           points of the id stay, nameless\n"
      "       uid fsck [fix] [delete_unknown]\n"
      "                                      names and ids lead to each "
      "other?\n"
      "       uid metasync                   metadata for every series\n"
      "       uid metapurge                  delete all metadata\n"
      "       uid treesync                   (branches need none)\n"
      "       uid treepurge ID [true]        empty a tree; true: delete it\n"
      "KIND is metrics, tagk or tagv; without it all three are looked at.\n"
      "A NAME of digits is an ID.\n",
      uid_options, tool_uid_check, tool_uid },
    { 0 },
};

const struct tool_command *
tool_command_find(const char *name)
{
    for (const struct tool_command *c = tool_commands; c->name != NULL; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}
